use core::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use rmpi_macros::wraps;

use super::super::error::{RmpiResult, output};
use super::super::runtime::Runtime;
use super::super::sys;

/// The MPI library's variables (`MPI_T`): its settings, which are control variables, and what it counts, which are
/// performance variables. They differ between libraries and versions.
///
/// MPI counts how often the interface was initialized: there can be several of these, and others may use it, too. Each
/// borrows a context, a session or a communicator, so that it is used only while MPI runs, and stays on its thread.
///
/// ```no_run
/// let context = rmpi::init()?;
/// let tools = rmpi::ToolInterface::new(&context)?;
/// for variable in tools.control_variables()? {
///     let variable = variable?;
///     println!("{}: {}", variable.name(), variable.description());
///     if variable.binding() == rmpi::Binding::NoObject {
///         println!("    {:?}", variable.read()?);
///     }
/// }
/// # drop(tools);
/// # Ok::<(), rmpi::Error>(())
/// ```
#[derive(Debug)]
pub struct ToolInterface<'r> {
    // MPI runs; and this stays on its thread.
    _runtime: PhantomData<(&'r (), *const ())>,
}

impl<'r> ToolInterface<'r> {
    /// Initializes the interface, for threads too. C: `MPI_T_init_thread`, under MPICH once more the first time, and not
    /// finalized then. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let tools = rmpi::ToolInterface::new(context)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_T_init_thread in Self)]
    pub fn new(runtime: &'r impl Runtime) -> RmpiResult<Self> {
        let _ = runtime;
        stays_initialized()?;
        // At level `Multiple`, several threads may have interfaces at once; at others, all are on one thread, since what
        // is borrowed is.
        let level = sys::MPI_THREAD_MULTIPLE;
        // SAFETY: MPI_T_init_thread may be called at any time, and writes one int to `provided`. Each call has one of
        // MPI_T_finalize, in `drop`.
        output(0, |provided| unsafe { mpi.call(level, provided) })?;
        Ok(Self { _runtime: PhantomData })
    }
}

/// MPICH 4.0.2 crashes when it is asked for performance variables after its interface was finalized and initialized again, so
/// that rmpi initializes it once more than it finalizes it.
fn stays_initialized() -> RmpiResult {
    static DONE: Mutex<bool> = Mutex::new(false);
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if mpi_sys::ABI == mpi_sys::Abi::Mpich && !*done {
        // SAFETY: MPI_T_init_thread may be called at any time, and writes one int to `provided`.
        output(0, |provided| unsafe {
            sys::MPI_T_init_thread(sys::MPI_THREAD_MULTIPLE, provided)
        })?;
        *done = true;
    }
    Ok(())
}

impl Drop for ToolInterface<'_> {
    fn drop(&mut self) {
        // SAFETY: MPI_T_finalize asks for an interface that was initialized, which `new` did, and that nobody uses what was
        // made of it: that borrows `self`.
        unsafe { sys::MPI_T_finalize() };
    }
}
