//! What every tool has below its own layer: it sees a process come and go.
//!
//! Six functions say when MPI begins and ends. A tool must know, whether its layer overrides them or not: settings are
//! read and signals are watched after the first of them, and reports are made before the last. So the six are watched
//! *below* the layer, in the functions that the layer calls as its next ones ([`Below`]). A layer that answers a call
//! with another one, such as `MPI_Init` with `MPI_Init_thread`, is seen right, too.
//!
//! All other functions of [`Below`] are those of the table, one jump each, and the exported functions of a tool do not
//! even take that: they call the table's entry.

use mpi_sys::{mpi_functions, *};

use crate::host::level::Level;
use crate::host::signals;
use crate::table::call_entry;
use crate::{FunctionId, NextFunctions, NextTable, RawMpiInterceptionLayer, UnsafeBox};

/// One of two pieces of code, by a function's name: for those that [`Lifecycle`] watches, or for all others.
#[doc(hidden)]
#[macro_export]
macro_rules! __if_watched {
    (MPI_Init { $($watched:tt)* } { $($other:tt)* }) => { $($watched)* };
    (MPI_Init_thread { $($watched:tt)* } { $($other:tt)* }) => { $($watched)* };
    (MPI_Session_init { $($watched:tt)* } { $($other:tt)* }) => { $($watched)* };
    (MPI_Finalize { $($watched:tt)* } { $($other:tt)* }) => { $($watched)* };
    (MPI_Session_finalize { $($watched:tt)* } { $($other:tt)* }) => { $($watched)* };
    (MPI_Abort { $($watched:tt)* } { $($other:tt)* }) => { $($watched)* };
    ($c_name:ident { $($watched:tt)* } { $($other:tt)* }) => { $($other)* };
}
pub(crate) use __if_watched as if_watched;

/// The functions below a preloaded tool's layer: those of its table, some of which are watched.
pub struct Below {
    level: &'static Level,
    next: &'static NextTable,
}

impl Below {
    /// The functions of a table, with what its tool watches.
    pub const fn new(level: &'static Level, next: &'static NextTable) -> Self {
        Self { level, next }
    }
}

macro_rules! below {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// Does every tool watch the function itself?
        pub(crate) const fn is_watched(function: FunctionId) -> bool {
            const WATCHED: [bool; FunctionId::COUNT] =
                [$(if_watched! { $c_name { true } { false } }),*];
            WATCHED[function as usize]
        }

        impl NextFunctions for Below {
            fn entries(&self) -> &NextTable {
                self.next
            }

            $(if_watched! { $c_name
                {
                    unsafe fn $name(&self, $($arg: $ty),*) -> $ret {
                        // SAFETY: the next function wants arguments as the MPI standard asks, which the
                        // caller of this function promises.
                        let next = |$($arg: $ty),*| unsafe { self.next.$name($($arg),*) };
                        // SAFETY: `new` wants the arguments of a call: the caller promises them.
                        let next_f = unsafe { UnsafeBox::new(next, self.next) };
                        Lifecycle(self.level).$name(next_f, $($arg),*)
                    }
                }
                {
                    #[inline(never)]
                    unsafe fn $name(&self, $($arg: $ty),*) -> $ret {
                        let next = self.next;
                        // SAFETY: it wants what this function does.
                        unsafe { call_entry! { next $c_name ($($arg: $ty),*) -> $ret } }
                    }
                }
            })*
        }
    };
}
mpi_functions! { [below] }

/// Tells the [`Level`] when MPI starts and ends.
pub(crate) struct Lifecycle(pub(crate) &'static Level);

// SAFETY: a layer must do what the MPI standard says. Every call goes on to MPI as it came, once, and its
// result goes back; what the level does beside that writes to nothing of the application's.
unsafe impl RawMpiInterceptionLayer for Lifecycle {
    fn init<F>(
        &self,
        next_f: UnsafeBox<'_, F>,
        argc: *mut c_int,
        argv: *mut *mut *mut c_char,
    ) -> c_int
    where
        F: FnOnce(*mut c_int, *mut *mut *mut c_char) -> c_int,
    {
        signals::before_mpi();
        // SAFETY: MPI_Init wants what the application has passed: these are its arguments, passed on once.
        let result = unsafe { next_f.unwrap()(argc, argv) };
        if result == MPI_SUCCESS {
            self.0.world_started();
        }
        result
    }

    fn init_thread<F>(
        &self,
        next_f: UnsafeBox<'_, F>,
        argc: *mut c_int,
        argv: *mut *mut *mut c_char,
        required: c_int,
        provided: *mut c_int,
    ) -> c_int
    where
        F: FnOnce(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int,
    {
        signals::before_mpi();
        // SAFETY: as MPI asks: the application's arguments, passed on once.
        let result = unsafe { next_f.unwrap()(argc, argv, required, provided) };
        if result == MPI_SUCCESS {
            self.0.world_started();
        }
        result
    }

    fn session_init<F>(
        &self,
        next_f: UnsafeBox<'_, F>,
        info: MPI_Info,
        errhandler: MPI_Errhandler,
        session: *mut MPI_Session,
    ) -> c_int
    where
        F: FnOnce(MPI_Info, MPI_Errhandler, *mut MPI_Session) -> c_int,
    {
        signals::before_mpi();
        // SAFETY: as MPI asks: the application's arguments, passed on once.
        let result = unsafe { next_f.unwrap()(info, errhandler, session) };
        if result == MPI_SUCCESS {
            self.0.session_started();
        }
        result
    }

    fn finalize<F>(&self, next_f: UnsafeBox<'_, F>) -> c_int
    where
        F: FnOnce() -> c_int,
    {
        self.0.world_ends();
        // SAFETY: MPI_Finalize must be called once, when the process's communication is over: this is the
        // application's call of it, passed on once. The level has completed its own communication before.
        unsafe { next_f.unwrap()() }
    }

    fn session_finalize<F>(&self, next_f: UnsafeBox<'_, F>, session: *mut MPI_Session) -> c_int
    where
        F: FnOnce(*mut MPI_Session) -> c_int,
    {
        self.0.session_ends();
        // SAFETY: as MPI asks: the application's session, passed on once.
        unsafe { next_f.unwrap()(session) }
    }

    fn abort<F>(&self, next_f: UnsafeBox<'_, F>, comm: MPI_Comm, errorcode: c_int) -> c_int
    where
        F: FnOnce(MPI_Comm, c_int) -> c_int,
    {
        self.0.ends("MPI_Abort");
        // SAFETY: as MPI asks: the application's arguments, passed on once.
        unsafe { next_f.unwrap()(comm, errorcode) }
    }
}
