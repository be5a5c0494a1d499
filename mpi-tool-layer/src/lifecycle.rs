//! The layer below every tool's own: it sees a process come and go.

use mpi_sys::*;

use crate::level::Level;
use crate::{RawMpiInterceptionLayer, UnsafeBox};

/// Tells the [`Level`] when MPI starts and ends.
#[doc(hidden)]
pub struct Lifecycle(pub &'static Level);

// SAFETY: every call goes on as it came.
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
        // SAFETY: the application's own call; so are those below.
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
        // SAFETY: as above.
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
        // SAFETY: as above.
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
        // SAFETY: as above.
        unsafe { next_f.unwrap()() }
    }

    fn session_finalize<F>(&self, next_f: UnsafeBox<'_, F>, session: *mut MPI_Session) -> c_int
    where
        F: FnOnce(*mut MPI_Session) -> c_int,
    {
        self.0.session_ends();
        // SAFETY: as above.
        unsafe { next_f.unwrap()(session) }
    }

    fn abort<F>(&self, next_f: UnsafeBox<'_, F>, comm: MPI_Comm, errorcode: c_int) -> c_int
    where
        F: FnOnce(MPI_Comm, c_int) -> c_int,
    {
        self.0.report_process("MPI_Abort");
        // SAFETY: as above.
        unsafe { next_f.unwrap()(comm, errorcode) }
    }
}
