//! What a call returns: C's code as a value that only MPI's success makes, and back.

use core::cell::Cell;
use core::ffi::c_int;
use core::marker::PhantomData;
use core::num::NonZero;

use mpi_sys::pmpi;

use super::Brand;
use crate::FunctionId;
use crate::host::world::is_active;

/// MPI has accepted a call: its handles are valid and its buffers described well.
///
/// It is what a next function returns on success, and what a layer's method must return. It costs
/// nothing: it is a value without contents.
///
/// What asks MPI about a call's arguments, or reads what MPI has written, wants one. A wrong handle
/// is the application's error, and its own call tells it so; asked about by a tool, MPI would call
/// the application's error handler a second time, or end it.
///
/// Accepted does not mean that every argument is valid: MPI need not look at those that are not
/// significant in this process (a receive buffer at other ranks than the root), nor at a datatype
/// whose count is 0. The methods that take an `Accepted` know that.
#[derive(Debug, Clone, Copy)]
pub struct Accepted<'c>(pub(super) Brand<'c>);

/// What MPI says went wrong: an error code, which is any number but `MPI_SUCCESS`. Codes are an
/// implementation's own; what they have in common is the [class](Self::class).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode(NonZero<c_int>);

impl ErrorCode {
    /// `MPI_ERR_OTHER`, for an error of a tool's own.
    pub const OTHER: Self = match Self::new(mpi_sys::MPI_ERR_OTHER) {
        Some(error) => error,
        None => panic!("it is no success"),
    };

    /// The code; none is 0, success.
    pub const fn get(self) -> c_int {
        self.0.get()
    }

    /// An error of a tool's own, for a layer that refuses a call instead of passing it on: a code
    /// of MPI's, such as `MPI_ERR_OTHER`. `None` of 0, which is success. The application's error
    /// handler is called for it if the layer [raises](crate::Communicator::raise) it; else the code is only returned.
    pub const fn new(code: c_int) -> Option<Self> {
        match NonZero::new(code) {
            Some(code) => Some(Self(code)),
            None => None,
        }
    }

    /// The error class of the code (`MPI_Error_class`): the standard's `MPI_ERR_…`, which means the
    /// same under every MPI of an ABI. A question to MPI each time. The code itself where MPI cannot
    /// be asked: if it lacks the function, and, before MPI-4.0, earlier than `MPI_Init` and later than `MPI_Finalize`.
    pub fn class(self) -> c_int {
        let mut class = self.get();
        // Since MPI-4.0, classes may be asked for at any time. An MPI with sessions does so, whatever version it says that
        // it is of (Open MPI 5: 3.1).
        let may_be_asked = || pmpi::available(FunctionId::MPI_Session_init as usize) || is_active();
        if pmpi::available(FunctionId::MPI_Error_class as usize) && may_be_asked() {
            // SAFETY: the function writes one `int`, and may be called now, by any thread: this was asked.
            unsafe { pmpi::MPI_Error_class(self.get(), &mut class) };
        }
        class
    }
}

/// What a call returns: on success the proof of it, which belongs to that call, else the error code
/// that goes back to the application. A layer ends with the result of its next function, as a rule
/// by `?` and `Ok(accepted)`.
pub type CallResult<'c> = Result<Accepted<'c>, ErrorCode>;

/// A C function's result, for a layer. The lifetime is the caller's choice: it is used only in the
/// next function of a high-level method, whose type says which call it is of.
#[inline(always)]
pub(crate) fn result<'c>(code: c_int) -> CallResult<'c> {
    match NonZero::new(code) {
        None => Ok(Accepted(PhantomData)),
        Some(code) => Err(ErrorCode(code)),
    }
}

/// The place where a method keeps what its next function has returned, as C's code. Only the
/// framework can write to it, or make one.
#[allow(unreachable_pub, reason = "in the signature of a hidden function")]
#[derive(Debug)]
pub struct Returns(Cell<Option<c_int>>);

impl Returns {
    /// The next function has not returned.
    #[inline(always)]
    pub(crate) const fn nothing() -> Self {
        Self(Cell::new(None))
    }

    /// The next function has returned this.
    #[inline(always)]
    pub(crate) fn set(&self, code: c_int) {
        self.0.set(Some(code));
    }

    /// What it has returned.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<c_int> {
        self.0.get()
    }
}

/// What a layer returns for a function with many statuses, for C. Its next function has returned
/// `from_next`, if the layer has called it.
///
/// `MPI_ERR_IN_STATUS` says that statuses are set, as success does, and whoever gets it reads them.
/// So only MPI says it: made up by a layer, it becomes `MPI_ERR_OTHER`.
#[inline(always)]
pub(crate) fn code_with_statuses(result: CallResult<'_>, from_next: Option<c_int>) -> c_int {
    match result {
        Err(error) if from_next != Some(error.get()) => without_statuses(error),
        result => code(result),
    }
}

/// Out of line: layers that refuse calls are rare.
#[cold]
#[inline(never)]
fn without_statuses(error: ErrorCode) -> c_int {
    if error.class() == mpi_sys::MPI_ERR_IN_STATUS { mpi_sys::MPI_ERR_OTHER } else { error.get() }
}

/// A layer's result, for C.
#[inline(always)]
pub(crate) fn code(result: CallResult<'_>) -> c_int {
    match result {
        Ok(_) => mpi_sys::MPI_SUCCESS,
        Err(code) => code.get(),
    }
}

/// What an intercepting function returns: an error code, a time, an address. A raw layer's
/// `around_call` is generic in it.
pub trait Returned: Copy {
    /// The error code, if it is one; `None` for the functions that return no code (`MPI_Wtime`,
    /// `MPI_Aint_add`).
    fn as_code(self) -> Option<c_int>;

    /// A result of a function that returns an error code; `None` of other functions.
    #[doc(hidden)]
    fn from_code(code: c_int) -> Option<Self>;
}

impl Returned for c_int {
    #[inline(always)]
    fn as_code(self) -> Option<c_int> {
        Some(self)
    }
    #[inline(always)]
    fn from_code(code: c_int) -> Option<Self> {
        Some(code)
    }
}

/// The results that are no error codes by their type: times, addresses and handles that are
/// pointers. (A conversion that returns an `int` is told by its shape.)
macro_rules! no_code {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Returned for $type {
            #[inline(always)]
            fn as_code(self) -> Option<c_int> {
                None
            }
            #[inline(always)]
            fn from_code(_: c_int) -> Option<Self> {
                None
            }
        }
    )*};
}
no_code! {
    [] f64;
    [] i64;
    [] isize;
    [T] *mut T;
}
