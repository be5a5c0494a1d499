//! Processes that fail, where the MPI library lets the others go on: `MPIX_` functions of Open MPI 5 and MPICH, which
//! other libraries lack.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::{self, NonNull};

use super::communicator::{Communicator, errors_return};
use super::error::{Error, ErrorClass, RmpiResult, check};
use super::group::Group;
use super::sys::{self, MPI_Comm, MPI_Group, c_int};
use crate::place::Place;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// What all that the process has loaded calls so.
fn symbol(name: &'static CStr) -> Option<NonNull<c_void>> {
    // SAFETY: dlsym asks for a handle, of which null means all that the process has loaded, and for a text that ends with a
    // zero.
    NonNull::new(unsafe { dlsym(ptr::null_mut(), name.as_ptr()) })
}

const fn unsupported(reason: &'static str) -> Error {
    Error::refused(ErrorClass::UNSUPPORTED_OPERATION, reason)
}

/// Was Open MPI started so that processes go on where others fail? `None` if it does not say. For where there is a
/// communicator.
pub(super) fn open_mpi_goes_on() -> Option<bool> {
    // SAFETY: a read asks for a value at the address: Open MPI's variable of this name is a `bool`, which it sets when it is
    // initialized, as it is where there is a communicator, and not again.
    symbol(c"ompi_ftmpi_enabled").map(|enabled| unsafe { enabled.cast::<u8>().read() } != 0)
}

/// A function of the process by its name; with the name after the first letter in the mode that has no `P`.
fn find(p_name: &'static CStr) -> RmpiResult<NonNull<c_void>> {
    let function = symbol(if sys::PROFILING { p_name } else { &p_name[1..] })
        .ok_or(unsupported("the MPI library lacks this function: Open MPI 5 has it"))?;
    match mpi_sys::ABI {
        // What it has for these are assertions that fail.
        mpi_sys::Abi::Mpich if !super::get_library_version()?.contains("ch3:") => Err(unsupported(
            "MPICH ends the program in this function, unless it is built for the device ch3",
        )),
        mpi_sys::Abi::OpenMpi if open_mpi_goes_on() == Some(false) => Err(unsupported(
            "Open MPI lets nobody go on after a failure, unless it is started so: mpiexec --with-ft ulfm",
        )),
        _ => Ok(function),
    }
}

macro_rules! extensions {
    ($($name:ident = $place:literal $p_name:literal ($($argument:ident: $type:ty),*);)*) => {$(
        /// # Errors
        /// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) if this MPI does not have the function; what MPI says.
        ///
        /// # Safety
        /// As the function of that name asks.
        unsafe fn $name(communicator: &Communicator<'_>, $($argument: $type),*) -> RmpiResult {
            type Function = unsafe extern "C" fn(MPI_Comm, $($type),*) -> c_int;
            let result = find($p_name).and_then(|address| {
                // SAFETY: `transmute` asks for a function of that type at the address: MPI libraries that have one of this
                // name have it with this prototype.
                let function = unsafe { core::mem::transmute::<NonNull<c_void>, Function>(address) };
                // SAFETY: the function asks for a communicator, which is here, and for what the caller promises.
                check(unsafe { function(communicator.as_raw(), $($argument),*) })
            });
            result.map_err(|mut error| {
                communicator.blame(&mut error, const { &Place::of($place) });
                error
            })
        }
    )*};
}

extensions! {
    comm_revoke = "MPIX_Comm_revoke" c"PMPIX_Comm_revoke" ();
    comm_is_revoked = "MPIX_Comm_is_revoked" c"PMPIX_Comm_is_revoked" (flag: *mut c_int);
    comm_shrink = "MPIX_Comm_shrink" c"PMPIX_Comm_shrink" (new: *mut MPI_Comm);
    comm_agree = "MPIX_Comm_agree" c"PMPIX_Comm_agree" (flag: *mut c_int);
    comm_failure_ack = "MPIX_Comm_failure_ack" c"PMPIX_Comm_failure_ack" ();
    comm_failure_get_acked =
        "MPIX_Comm_failure_get_acked" c"PMPIX_Comm_failure_get_acked" (group: *mut MPI_Group);
}

/// Where a process fails, an operation with it returns an error of class [`PROC_FAILED`](ErrorClass::PROC_FAILED), if the MPI
/// library can go on, and its launcher lets it: Open MPI 5 with `mpiexec --with-ft ulfm`. Elsewhere all processes end. These
/// functions let those that are left go on; each is an error of class
/// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) if the library lacks it, or would end the program or hang in
/// it: Open MPI that was started otherwise, and MPICH, unless it is built for its device ch3.
impl<'ctx> Communicator<'ctx> {
    /// Has all operations of the communicator fail from now on, on all processes, with class
    /// [`REVOKED`](ErrorClass::REVOKED), so that nobody waits for a process that has left it. Only
    /// [`shrink`](Self::shrink), [`agree`](Self::agree) and the like still work. C: `MPIX_Comm_revoke`. Not collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let world = world.dup()?;
    /// if let Err(error) = world.barrier() {
    ///     println!("{error}");
    ///     world.revoke()?;
    /// }
    /// let rest = world.shrink()?;
    /// # Ok(()) }
    /// ```
    pub fn revoke(&self) -> RmpiResult {
        // SAFETY: MPIX_Comm_revoke asks for a communicator.
        unsafe { comm_revoke(self) }
    }

    /// Did a process revoke the communicator? C: `MPIX_Comm_is_revoked`, which MPICH lacks. Local.
    ///
    /// # Errors
    /// What MPI says.
    pub fn is_revoked(&self) -> RmpiResult<bool> {
        let mut flag = 0;
        // SAFETY: MPIX_Comm_is_revoked asks for a communicator, and writes one int.
        unsafe { comm_is_revoked(self, &mut flag) }?;
        Ok(flag != 0)
    }

    /// A communicator of the processes that have not failed, in their order. C: `MPIX_Comm_shrink`. Collective over those.
    ///
    /// # Errors
    /// What MPI says.
    pub fn shrink(&self) -> RmpiResult<Communicator<'ctx>> {
        self.intra()?;
        let mut new = sys::MPI_COMM_NULL;
        // SAFETY: MPIX_Comm_shrink asks for a communicator, and writes one handle.
        unsafe { comm_shrink(self, &mut new) }?;
        if new == sys::MPI_COMM_NULL {
            return Err(Error::refused(ErrorClass::COMM, "MPI made no communicator"));
        }
        errors_return(&mut new)?;
        // SAFETY: `from_raw` asks for an intracommunicator that nobody else frees, whose errors return, while MPI runs for
        // `'ctx`: MPI has just made it of such a one.
        Ok(unsafe { Communicator::from_raw(new) })
    }

    /// The bits that all processes have set that have not failed: the same for all of them, also where one fails meanwhile.
    /// C: `MPIX_Comm_agree`. Collective over those.
    ///
    /// # Errors
    /// [`PROC_FAILED`](ErrorClass::PROC_FAILED) for all, if a process has failed, and one of them has not
    /// [acknowledged](Self::failure_ack) that: `flag` has what was agreed on all the same. What MPI says.
    pub fn agree(&self, flag: &mut i32) -> RmpiResult {
        // SAFETY: MPIX_Comm_agree asks for a communicator, and reads and writes one int.
        unsafe { comm_agree(self, flag) }
    }

    /// Takes note of the processes that are known to have failed: receives from [any](Self::any_source) work again, and
    /// [`agree`](Self::agree) is no error because of them. C: `MPIX_Comm_failure_ack`. Local.
    ///
    /// # Errors
    /// What MPI says.
    pub fn failure_ack(&self) -> RmpiResult {
        // SAFETY: MPIX_Comm_failure_ack asks for a communicator.
        unsafe { comm_failure_ack(self) }
    }

    /// The processes that were acknowledged to have failed. C: `MPIX_Comm_failure_get_acked`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// world.failure_ack()?;
    /// println!("{} have failed", world.failure_get_acked()?.size()?);
    /// # Ok(()) }
    /// ```
    pub fn failure_get_acked(&self) -> RmpiResult<Group<'ctx>> {
        let mut group = sys::MPI_GROUP_NULL;
        // SAFETY: MPIX_Comm_failure_get_acked asks for a communicator, and writes one handle.
        unsafe { comm_failure_get_acked(self, &mut group) }?;
        // SAFETY: `from_raw` asks for a group that nobody else frees, while MPI runs: MPI has just made it, for this
        // caller alone, and it lives no longer than what the communicator was made of.
        Ok(unsafe { Group::from_raw(group) })
    }
}
