//! The thread levels as types (MPI-5.0, 11.6).

use core::cell::Cell;
use core::fmt::Debug;
use core::marker::PhantomData;

use mpi_sys::c_int;

mod sealed {
    pub trait Sealed {}
}

/// A level of thread support, known when the program is compiled: what
/// [`RmpiContext`](crate::RmpiContext) and communicators may do between threads.
pub trait ThreadLevel: sealed::Sealed + Copy + Debug + 'static {
    /// MPI's constant.
    const RAW: c_int;
    /// The level's name in the standard.
    const NAME: &'static str;
    #[doc(hidden)]
    type Marker: Debug;
}

macro_rules! levels {
    ($($(#[$doc:meta])* $name:ident = $constant:ident, $marker:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl ThreadLevel for $name {
            const RAW: c_int = mpi_sys::$constant;
            const NAME: &'static str = stringify!($constant);
            type Marker = PhantomData<$marker>;
        }
    )*};
}

levels! {
    /// `MPI_THREAD_SINGLE`: one thread, which calls MPI.
    Single = MPI_THREAD_SINGLE, *const ();
    /// `MPI_THREAD_FUNNELED`: more threads, of which the first calls MPI. Context and communicators
    /// stay on it.
    Funneled = MPI_THREAD_FUNNELED, *const ();
    /// `MPI_THREAD_SERIALIZED`: any thread, one at a time. The context may move between threads;
    /// since communicators borrow it, nobody else has any then.
    Serialized = MPI_THREAD_SERIALIZED, Cell<()>;
    /// `MPI_THREAD_MULTIPLE`: all threads at once. Context and communicators may be shared.
    Multiple = MPI_THREAD_MULTIPLE, ();
}
