//! Where the application's call came from, as the exported functions of a tool note it down that asks
//! for call sites: the stack pointer, at which the return address is, and the frame pointer.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::super::memory::text_at;
use super::super::thread::{end_outer, take_beside_level};
use crate::arch::words::{FRAME, STACK};
use crate::arch::{self, begin_outer, is_above_outer, word};

/// An exported function of a tool that asks for call sites: notes its caller down, and jumps to the function
/// that it would be without that.
#[cfg(feature = "call-sites")]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_noting_caller {
    (MPI_Pcontrol $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        impl Here {
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                $crate::__ask_first! { $crate::install::entry::exported::$name::<Here> }
            }
        }

        // Notes its second argument down, too, if there is one.
        #[unsafe(export_name = "MPI_Pcontrol")]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            $crate::__note_caller_and_second! { Here::$name }
        }
    };
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        impl Here {
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
                // SAFETY: it wants what the MPI standard asks of the function's caller, who has called the
                // exported function, which jumps here with all arguments as they are.
                unsafe { $crate::install::entry::exported::$name::<Here>($($arg),*) }
            }
        }

        #[unsafe(export_name = stringify!($c_name))]
        #[unsafe(naked)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            $crate::__note_caller! { Here::$name }
        }
    };
}

/// The same of a tool that may [do without](Caller::skip_caller_capture) the note: two instructions more.
#[cfg(feature = "call-sites")]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_optionally_noting_caller {
    (MPI_Pcontrol $($rest:tt)*) => {
        $crate::__export_noting_caller! { MPI_Pcontrol $($rest)* }
    };
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        impl Here {
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
                // SAFETY: it wants what the MPI standard asks of the function's caller, who has called the
                // exported function, which jumps here with all arguments as they are.
                unsafe {
                    $crate::install::entry::always_fast::$name::<Here, { $crate::How::WITH_CALLER }>(
                        $($arg,)* Here::$name
                    )
                }
            }
        }

        #[unsafe(export_name = stringify!($c_name))]
        #[unsafe(naked)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            unsafe extern "C-unwind" fn bare($($arg: $ty),*) -> $ret {
                // SAFETY: it wants what the MPI standard asks of the function's caller, who has called the
                // exported function, which jumps here with all arguments as they are.
                unsafe {
                    $crate::install::entry::always_fast::$name::<Here, { $crate::How::BARE }>(
                        $($arg,)* Here::$name
                    )
                }
            }
            $crate::__note_caller_unless! { $crate::install::SKIPS_CALLERS, bare, Here::$name }
        }
    };
}

#[cfg(not(feature = "call-sites"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_noting_caller {
    (MPI_Init $($rest:tt)*) => {
        compile_error!(
            "call_sites needs a feature: mpi-tool-layer = { …, features = [\"call-sites\"] } in Cargo.toml"
        );
    };
    ($($rest:tt)*) => {};
}

#[cfg(not(feature = "call-sites"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_optionally_noting_caller {
    ($($rest:tt)*) => {
        $crate::__export_noting_caller! { $($rest)* }
    };
}

/// Where the application's call came from, as the tool's exported function has noted it down: to be looked up as a
/// [`Site`](super::Site) before or after the call is passed on.
///
/// It costs three instructions, before the call. After the call it would be too late: the application may have called
/// MPI from inside of it.
///
/// ```
/// use mpi_tool_layer::{Caller, Site};
///
/// let caller = Caller::of_this_call();
/// // … the call is passed on …
/// let site = caller.site(4);
/// # assert_eq!(site, Site::UNKNOWN, "this is no tool");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// Where the return address is, if the note is of this call.
    pub(super) stack: usize,
    /// The frame pointer, which may be any number in code without frame pointers.
    pub(super) frame: usize,
    /// Stacks are threads' own.
    not_send: PhantomData<*const ()>,
}

/// Do calls on a fast path come without a note of their caller?
#[doc(hidden)]
pub static SKIPS_CALLERS: AtomicU8 = AtomicU8::new(0);

/// How far below the caller's stack pointer a layer may stand: its method is called by the exported
/// function, most often by a jump.
const NEAR: usize = 64 << 10;

impl Caller {
    /// The caller of the function that this thread is in.
    #[inline(always)]
    pub fn of_this_call() -> Self {
        Self { stack: word::<STACK>(), frame: word::<FRAME>(), not_send: PhantomData }
    }

    /// Tells a tool that is installed with `optional_call_sites` to note down no caller of calls on their
    /// [fast path](crate::FastPath): for users who want to know no call sites. What such a call leaves to the layer has no
    /// site, or any one. To be said in [`configure`](crate::Tool::configure).
    pub fn skip_caller_capture(is_skipped: bool) {
        SKIPS_CALLERS.store(is_skipped.into(), Relaxed);
    }

    /// Where the stack ended when the exported function was called: at its return address. `None` if that is not known.
    #[inline]
    pub fn stack(&self) -> Option<usize> {
        self.is_near().then_some(self.stack)
    }

    /// The text that the program gives `MPI_Pcontrol` beside the level, as `MPI_Pcontrol(2, "solver")` does: of at most 63
    /// bytes, in UTF-8. To be asked in [`profiling_level`](crate::MpiInterceptionLayer::profiling_level) at each call, of
    /// programs only whose user says that they give one: nobody can tell whether there is a second argument, and where there is
    /// none, there may be another text. What is no text is `None`, as in calls from Fortran, and in a level of a stack.
    pub fn text_beside_level(&self) -> Option<String> {
        let address = take_beside_level();
        if address == 0 || !self.is_near() { None } else { text_at(address as u64, 64) }
    }

    /// The caller without the frame pointer: for a site that is known already.
    #[inline(always)]
    pub(super) fn without_frame() -> Self {
        Self { stack: word::<STACK>(), frame: 0, not_send: PhantomData }
    }

    /// Is that known? It is not in a level of a stack, whose entries note nothing, and where a signal handler has called
    /// MPI in between.
    #[inline(always)]
    pub(super) fn is_near(&self) -> bool {
        arch::above_stack_pointer(self.stack) < NEAR
    }

    /// Where the call returns to; `None` if that is not known.
    #[inline(always)]
    pub(super) fn returns_to(&self) -> Option<u64> {
        // SAFETY: a word must be there. It is above the stack pointer, and was so in a call that this thread was in: so
        // it is on the part of the thread's stack that is in use.
        self.is_near().then(|| unsafe { arch::returns_to(self.stack) })
    }

    /// Is the place above the stack pointer, as that of a call is that has just been noted down? In fewer instructions than
    /// [`is_near`](Self::is_near). It is not if a signal handler has called MPI since, and in a level of a stack.
    #[inline(always)]
    pub(super) fn is_above_stack_pointer(&self) -> bool {
        arch::is_in_stack(self.stack)
    }
}

/// Is a call inside of another one, of the same thread and the same tool? MPI may call back into the
/// application, which calls MPI, and a library of MPI's may call functions by their public names.
///
/// ```
/// use mpi_tool_layer::Nesting;
///
/// let outer = Nesting::enter();
/// assert!(outer.is_outermost());
/// assert!(!Nesting::enter().is_outermost());
/// drop(outer);
/// assert!(Nesting::enter().is_outermost());
/// ```
#[derive(Debug)]
pub struct Nesting {
    is_outermost: bool,
}

impl Nesting {
    /// Enters a call, which ends when the value is dropped. A call that has not ended, since the
    /// application has jumped out of it, is over when the thread calls again from where its stack is
    /// shorter.
    #[inline(always)]
    pub fn enter() -> Self {
        let is_outermost = is_above_outer();
        if is_outermost {
            begin_outer();
        }
        Self { is_outermost }
    }

    /// Is the application in a call already? Asked at the beginning of the next one.
    #[inline(always)]
    pub fn is_inside() -> bool {
        !is_above_outer()
    }

    /// Enters a call that is in no other one, as [`is_inside`](Self::is_inside) has just said: in fewer instructions than
    /// by [`enter`](Self::enter).
    #[inline(always)]
    pub fn enter_outermost() -> Self {
        begin_outer();
        Self { is_outermost: true }
    }

    /// Is the call in no other one?
    #[inline(always)]
    pub fn is_outermost(&self) -> bool {
        self.is_outermost
    }
}

impl Drop for Nesting {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_outermost {
            end_outer();
        }
    }
}
