//! Programs that find each other by ports and names.

use core::ffi::{CStr, c_char};
use std::ffi::CString;
use std::sync::PoisonError;

use rmpi_macros::wraps;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::info::{self, Info};
use super::super::runtime::Runtime;
use super::super::sys::{self, c_int};
use super::InterCommunicator;
use super::object::made;
use crate::running::OPEN_PORTS;

macro_rules! connects {
    ($($(#[$doc:meta])* $name:ident = $function:ident;)*) => {
        impl<'ctx> Communicator<'ctx> {$(
            $(#[$doc])*
            #[doc = concat!("C: `", stringify!($function), "`, then `MPI_Comm_set_errhandler`.")]
            /// Collective, blocks. Only what the root gives counts.
            ///
            /// # Safety
            /// The port is one that [`open_port`] made, in whatever process, and that is not closed yet: MPICH
            /// crashes on made-up ones. What [`lookup_name`] gives is one if who published it did not make it up.
            ///
            /// # Errors
            /// [`PORT`](ErrorClass::PORT) and others that MPI says.
            ///
            /// ```no_run
            /// # fn example(world: &rmpi::Communicator<'_>, port: &std::ffi::CStr) -> rmpi::RmpiResult {
            /// // SAFETY: `open_port` made it, and it is still open.
            #[doc = concat!("let other = unsafe { world.", stringify!($name), "(port, None, 0)? };")]
            /// # Ok(()) }
            /// ```
            #[wraps($function)]
            pub unsafe fn $name(
                &self,
                port: &CStr,
                info: Option<&Info<'_>>,
                root: usize,
            ) -> RmpiResult<InterCommunicator<'ctx>> {
                self.intra()?;
                fits_port(port)?;
                let root = self.root(root)?;
                // SAFETY: the function requires an intracommunicator, which `self` holds, as `intra`
                // has found, a rank of it, as `root` has found, an info or the null one, and a port,
                // which the caller promises; it writes one handle to `new`.
                made(output(sys::MPI_COMM_NULL, |new| unsafe {
                    mpi.call(port.as_ptr(), info::handle(info), root, self.as_raw(), new)
                })?)
            }
        )*}
    };
}

connects! {
    /// Waits for processes that connect to a port of the root. See [`open_port`].
    accept = MPI_Comm_accept;
    /// Connects with the processes that accept at a port.
    connect = MPI_Comm_connect;
}

fn fits_port(port: &CStr) -> RmpiResult {
    if port.to_bytes_with_nul().len() <= sys::MPI_MAX_PORT_NAME.unsigned_abs() as usize {
        return Ok(());
    }
    Err(Error::refused(ErrorClass::PORT, "the name is too long"))
}

/// MPICH's launcher ends the program over a name that is empty or has lines, or is longer than a port's.
fn is_service(service: &CStr) -> RmpiResult {
    let bytes = service.to_bytes();
    if bytes.is_empty() || bytes.iter().any(u8::is_ascii_control) {
        return Err(Error::refused(
            ErrorClass::NAME,
            "a service has a name, without control characters",
        ));
    }
    fits_port(service)
}

/// What MPI writes, of at most the length of a port's name.
fn port_name(call: impl FnOnce(*mut c_char) -> c_int) -> RmpiResult<CString> {
    let name = info::terminated(sys::MPI_MAX_PORT_NAME, call)?;
    CString::new(name).map_err(|_| Error::refused(ErrorClass::PORT, "a port's name has a zero"))
}

/// Makes a port at which other programs can connect. C: `MPI_Open_port`. Local.
///
/// # Errors
/// What MPI says.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let port = rmpi::open_port(world, None)?;
/// println!("{}", port.to_string_lossy());
/// // SAFETY: `open_port` made it above, and it is closed below.
/// let other = unsafe { world.accept(&port, None, 0)? };
/// rmpi::close_port(world, &port)?;
/// # Ok(()) }
/// ```
#[wraps(MPI_Open_port)]
pub fn open_port<R: Runtime>(runtime: &R, info: Option<&Info<'_>>) -> RmpiResult<CString> {
    let _ = runtime;
    // SAFETY: MPI_Open_port requires MPI to run, which `runtime` shows, an info or the null one, and
    // room for MPI_MAX_PORT_NAME bytes, which `port_name` gives.
    let port = port_name(|name| unsafe { mpi.call(info::handle(info), name) })?;
    OPEN_PORTS.lock().unwrap_or_else(PoisonError::into_inner).push(port.clone());
    Ok(port)
}

/// Ends a port that [`open_port`] made in this process. C: `MPI_Close_port`. Local.
///
/// # Errors
/// [`PORT`](ErrorClass::PORT) if it did not, or if the port is closed: MPICH crashes on such names. What MPI says;
/// the port counts as closed then.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let port = rmpi::open_port(world, None)?;
/// rmpi::close_port(world, &port)
/// # }
/// ```
#[wraps(MPI_Close_port)]
pub fn close_port<R: Runtime>(runtime: &R, port: &CStr) -> RmpiResult {
    let _ = runtime;
    let mut open = OPEN_PORTS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(index) = open.iter().position(|known| known.as_c_str() == port) else {
        return Err(Error::refused(
            ErrorClass::PORT,
            "no open port of this process: close what `open_port` made, once",
        ));
    };
    open.swap_remove(index);
    drop(open);
    // SAFETY: MPI_Close_port requires MPI to run, which `runtime` shows, and an open port of this process, which
    // was found above, and is in the list no more.
    check(unsafe { mpi.call(port.as_ptr()) })
}

macro_rules! publishes {
    ($($(#[$doc:meta])* $name:ident = $function:ident;)*) => {$(
        $(#[$doc])*
        #[doc = concat!("C: `", stringify!($function), "`. Local.")]
        ///
        /// # Errors
        /// [`SERVICE`](ErrorClass::SERVICE), [`NAME`](ErrorClass::NAME) and others that MPI says.
        ///
        /// ```no_run
        /// # fn example(world: &rmpi::Communicator<'_>, port: &std::ffi::CStr) -> rmpi::RmpiResult {
        #[doc = concat!("rmpi::", stringify!($name), "(world, c\"ocean\", None, port)?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name<R: Runtime>(
            runtime: &R,
            service: &CStr,
            info: Option<&Info<'_>>,
            port: &CStr,
        ) -> RmpiResult {
            let _ = runtime;
            // The launcher keeps both.
            if is_service(port).is_err() {
                return Err(Error::refused(ErrorClass::PORT, "that is no name of a port"));
            }
            is_service(service)?;
            // SAFETY: the function requires MPI to run, which `runtime` shows, an info or the null one,
            // and two texts, which `is_service` has found to be such that the launcher bears them. Nobody reads
            // what is in the port but who connects to it, which is unsafe.
            check(unsafe { mpi.call(service.as_ptr(), info::handle(info), port.as_ptr()) })
        }
    )*};
}

publishes! {
    /// Tells other programs a port by a name. An empty one, or one with control characters, is refused: MPICH's
    /// launcher ends the program.
    publish_name = MPI_Publish_name;
    /// Takes a name back.
    unpublish_name = MPI_Unpublish_name;
}

/// The port of this name. C: `MPI_Lookup_name`. Local.
///
/// # Errors
/// [`NAME`](ErrorClass::NAME) if nobody published it, or if it is empty or has control characters, and others that
/// MPI says.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let port = rmpi::lookup_name(world, c"ocean", None)?;
/// // SAFETY: the other program opens a port, and publishes that one.
/// let ocean = unsafe { world.connect(&port, None, 0)? };
/// # Ok(()) }
/// ```
#[wraps(MPI_Lookup_name)]
pub fn lookup_name<R: Runtime>(
    runtime: &R,
    service: &CStr,
    info: Option<&Info<'_>>,
) -> RmpiResult<CString> {
    let _ = runtime;
    is_service(service)?;
    // SAFETY: MPI_Lookup_name requires MPI to run, which `runtime` shows, an info or the null one, a
    // text, which `is_service` has found to be such that the launcher bears it, and room for
    // MPI_MAX_PORT_NAME bytes, which `port_name` gives.
    port_name(|name| unsafe { mpi.call(service.as_ptr(), info::handle(info), name) })
}
