use core::ffi::CStr;
use std::sync::PoisonError;

use mpi_sys::{ABI, Abi};
use rmpi_macros::wraps;

use super::communicator::Communicator;
use super::error::{ADDED, Error, ErrorClass, RmpiResult, check, output};
use super::runtime::{Runtime, get_version};
use super::sys::{self, MPI_Errhandler, c_int};

/// What MPI does about an error (MPI-5.0, 9.3). rmpi has all errors return; the others end the
/// process.
///
/// There are no handlers that are Rust functions: C calls handlers as functions with variable
/// arguments, which stable Rust cannot define. A program sees all errors anyway: they return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorHandler {
    /// The call returns it. (`MPI_ERRORS_RETURN`)
    Return,
    /// The communicator's processes end. (`MPI_ERRORS_ABORT`, MPI-4)
    Abort,
    /// All connected processes end. (`MPI_ERRORS_ARE_FATAL`)
    Fatal,
}

impl ErrorHandler {
    /// What C's handle says; `None` for one that a program made.
    pub fn from_raw(raw: MPI_Errhandler) -> Option<Self> {
        [Self::Return, Self::Abort, Self::Fatal].into_iter().find(|known| known.into_raw() == raw)
    }

    /// C's handle.
    pub fn into_raw(self) -> MPI_Errhandler {
        match self {
            Self::Return => sys::MPI_ERRORS_RETURN,
            Self::Abort => sys::MPI_ERRORS_ABORT,
            Self::Fatal => sys::MPI_ERRORS_ARE_FATAL,
        }
    }
}

/// Has the MPI library `MPI_ERRORS_ABORT`? Old ones take what stands for it for the place of a handler.
fn has_abort() -> RmpiResult<bool> {
    Ok(match ABI {
        // A number, in all versions.
        Abi::Mpich => get_version()? >= (4, 0),
        // The address of a variable: null where the library has none.
        Abi::OpenMpi => sys::MPI_ERRORS_ABORT as usize != 0,
        Abi::Standard => true,
    })
}

impl Communicator<'_> {
    /// Says what MPI does about errors with the communicator. C: `MPI_Comm_set_errhandler`. Local.
    ///
    /// # Errors
    /// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) if the MPI library has no
    /// [`Abort`](ErrorHandler::Abort), which came with MPI-4; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// world.dup()?.set_errhandler(rmpi::ErrorHandler::Fatal)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_set_errhandler)]
    pub fn set_errhandler(&self, handler: ErrorHandler) -> RmpiResult {
        if handler == ErrorHandler::Abort && !has_abort()? {
            return Err(Error::refused(
                ErrorClass::UNSUPPORTED_OPERATION,
                "the MPI library has no MPI_ERRORS_ABORT",
            ));
        }
        // SAFETY: MPI_Comm_set_errhandler requires a communicator, which `self` holds, and an error
        // handler, which is predefined, and which the library has.
        check(unsafe { mpi.call(self.as_raw(), handler.into_raw()) })
    }

    /// What MPI does about errors with the communicator; `None` if another language set a handler.
    /// C: `MPI_Comm_get_errhandler`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// assert_eq!(world.get_errhandler()?, Some(rmpi::ErrorHandler::Return));
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_get_errhandler)]
    pub fn get_errhandler(&self) -> RmpiResult<Option<ErrorHandler>> {
        // SAFETY: MPI_Comm_get_errhandler requires a communicator, which `self` holds, and writes one
        // handle to `handler`.
        let mut raw = output(sys::MPI_ERRHANDLER_NULL, |handler| unsafe {
            mpi.call(self.as_raw(), handler)
        })?;
        let handler = ErrorHandler::from_raw(raw);
        if handler.is_none() && raw != sys::MPI_ERRHANDLER_NULL {
            // SAFETY: MPI_Errhandler_free requires an error handler, freed once:
            // MPI_Comm_get_errhandler gave a reference of its own, and the handle ends here.
            check(unsafe { sys::MPI_Errhandler_free(&mut raw) })?;
        }
        Ok(handler)
    }

    /// Has the communicator's handler deal with an error: with [`ErrorHandler::Return`], nothing
    /// happens. C: `MPI_Comm_call_errhandler`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>, error: rmpi::Error) -> rmpi::RmpiResult {
    /// world.call_errhandler(error)
    /// # }
    /// ```
    #[wraps(MPI_Comm_call_errhandler)]
    pub fn call_errhandler(&self, error: Error) -> RmpiResult {
        // SAFETY: MPI_Comm_call_errhandler requires a communicator, which `self` holds, and an error
        // code, which an `Error` holds: one that MPI gave, or a class.
        check(unsafe { mpi.call(self.as_raw(), error.code()) })
    }
}

/// A new class of errors. C: `MPI_Add_error_class`. Local.
///
/// # Errors
/// What MPI says.
///
/// ```no_run
/// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
/// let diverged = rmpi::add_error_class(context)?;
/// let at_first = rmpi::add_error_code(context, diverged)?;
/// rmpi::add_error_string(context, at_first, c"the first step diverges")?;
/// assert_eq!(at_first.class(), diverged);
/// # Ok(()) }
/// ```
#[wraps(MPI_Add_error_class)]
pub fn add_error_class<R: Runtime>(runtime: &R) -> RmpiResult<ErrorClass> {
    let _ = runtime;
    // SAFETY: MPI_Add_error_class requires MPI to run, which `runtime` shows, and writes one int to
    // `class`.
    let class = output(0, |class| unsafe { mpi.call(class) })?;
    ADDED.lock().unwrap_or_else(PoisonError::into_inner).push(class);
    Ok(ErrorClass::from_raw(class))
}

/// A new error of a class. C: `MPI_Add_error_code`. Local.
///
/// # Errors
/// [`ARG`](ErrorClass::ARG) if the class is neither one of the standard's nor one that
/// [`add_error_class`] gave; what MPI says.
///
/// ```no_run
/// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
/// let error = rmpi::add_error_code(context, rmpi::ErrorClass::OTHER)?;
/// # Ok(()) }
/// ```
#[wraps(MPI_Add_error_code)]
pub fn add_error_code<R: Runtime>(runtime: &R, class: ErrorClass) -> RmpiResult<Error> {
    let _ = runtime;
    if !class.exists() {
        return Err(Error::refused(ErrorClass::ARG, "there is no such class of errors"));
    }
    // SAFETY: MPI_Add_error_code requires MPI to run, which `runtime` shows, and a class of errors,
    // which `exists` has found it to be; it writes one int to `code`.
    let code: c_int = output(0, |code| unsafe { mpi.call(class.into_raw(), code) })?;
    // SAFETY: `from_raw` requires a code that MPI gave: it has just done so.
    unsafe { Error::from_raw(code) }
        .ok_or(Error::refused(ErrorClass::OTHER, "MPI gave success as an error"))
}

/// The text of an error that was added. C: `MPI_Add_error_string`. Local.
///
/// # Errors
/// What MPI says, if it is one of MPI's own or the text is too long.
///
/// ```no_run
/// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
/// let error = rmpi::add_error_code(context, rmpi::ErrorClass::OTHER)?;
/// rmpi::add_error_string(context, error, c"the first step diverges")?;
/// assert_eq!(error.text(), "the first step diverges");
/// # Ok(()) }
/// ```
#[wraps(MPI_Add_error_string)]
pub fn add_error_string<R: Runtime>(runtime: &R, error: Error, text: &CStr) -> RmpiResult {
    let _ = runtime;
    if text.to_bytes_with_nul().len() > sys::MPI_MAX_ERROR_STRING.unsigned_abs() as usize {
        return Err(Error::refused(ErrorClass::ARG, "the text is too long"));
    }
    // SAFETY: MPI_Add_error_string requires MPI to run, which `runtime` shows, an error code, which an
    // `Error` holds, and a text of at most MPI_MAX_ERROR_STRING bytes with its zero, which was asked
    // above. MPI copies it.
    check(unsafe { mpi.call(error.code(), text.as_ptr()) })
}
