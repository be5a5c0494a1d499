use tool_macros::wraps;

use super::calling::calling;
use super::error::{Error, ErrorClass, RmpiResult, output};
use super::sys::{self, c_int};
use crate::ThreadLevel;
use crate::running::Calling;

/// MPI runs: what has to be shown for making what is freed before MPI ends.
/// [`RmpiContext`](super::RmpiContext), [`Session`](super::Session), [`Communicator`](super::Communicator).
pub trait Runtime: sealed::Runtime {}

pub(super) mod sealed {
    pub trait Runtime {}
}

/// A context or session is about to be made.
///
/// # Errors
/// [`OTHER`](ErrorClass::OTHER) if it does not go with those that there are.
pub(super) fn enter<L: ThreadLevel>() -> RmpiResult {
    if crate::running::is_over() && get_library_version().is_ok_and(|text| begins_once(&text)) {
        return Err(Error::refused(
            ErrorClass::OTHER,
            "MPI has ended, and this MPI library crashes where it begins again",
        ));
    }
    crate::running::enter::<L>().map_err(|reason| Error::refused(ErrorClass::OTHER, reason))
}

/// Does an MPI of this version crash where it begins again after its end? Open MPI does, and MPICH 4.0 (its issue
/// 6101).
fn begins_once(library_version: &str) -> bool {
    let mpich = || {
        let version = library_version.strip_prefix("MPICH Version:")?.trim_start();
        Some(version.starts_with("4.0"))
    };
    library_version.starts_with("Open MPI") || mpich().unwrap_or(false)
}

/// # Errors
/// [`OTHER`](ErrorClass::OTHER) if this thread may not call MPI now.
pub(super) fn callable() -> RmpiResult<Calling> {
    calling().ok_or(Error::refused(ErrorClass::OTHER, "MPI does not run, or not for this thread"))
}

/// Was MPI initialized, by whomever? C: `MPI_Initialized`. Local, at any time, on any thread.
///
/// # Errors
/// What MPI says.
///
/// ```
/// assert!(!rmpi::initialized()?);
/// # Ok::<(), rmpi::Error>(())
/// ```
#[wraps(MPI_Initialized)]
pub fn initialized() -> RmpiResult<bool> {
    // SAFETY: MPI_Initialized may be called at any time by any thread, and writes one int to `flag`.
    output(0, |flag| unsafe { mpi.call(flag) }).map(|flag| flag != 0)
}

/// Was MPI finalized? C: `MPI_Finalized`. Local, at any time, on any thread.
///
/// # Errors
/// What MPI says.
///
/// ```
/// assert!(!rmpi::finalized()?);
/// # Ok::<(), rmpi::Error>(())
/// ```
#[wraps(MPI_Finalized)]
pub fn finalized() -> RmpiResult<bool> {
    // SAFETY: MPI_Finalized may be called at any time by any thread, and writes one int to `flag`.
    output(0, |flag| unsafe { mpi.call(flag) }).map(|flag| flag != 0)
}

/// The version of the standard, such as `(5, 0)`. C: `MPI_Get_version`. Local, at any time.
///
/// # Errors
/// What MPI says.
///
/// ```
/// let (version, _subversion) = rmpi::get_version()?;
/// assert!(version >= 3);
/// # Ok::<(), rmpi::Error>(())
/// ```
#[wraps(MPI_Get_version)]
pub fn get_version() -> RmpiResult<(u32, u32)> {
    // SAFETY: MPI_Get_version may be called at any time by any thread, and writes one int to each of
    // its arguments.
    let (version, subversion) =
        output((0, 0), |(version, subversion)| unsafe { mpi.call(version, subversion) })?;
    Ok((version.unsigned_abs(), subversion.unsigned_abs()))
}

/// What the MPI library calls itself. C: `MPI_Get_library_version`. Local, at any time.
///
/// # Errors
/// What MPI says.
///
/// ```
/// println!("{}", rmpi::get_library_version()?);
/// # Ok::<(), rmpi::Error>(())
/// ```
#[wraps(MPI_Get_library_version)]
pub fn get_library_version() -> RmpiResult<String> {
    text(sys::MPI_MAX_LIBRARY_VERSION_STRING, |text, length| {
        // SAFETY: MPI_Get_library_version may be called at any time by any thread, and requires room
        // for MPI_MAX_LIBRARY_VERSION_STRING bytes, which `self::text` gives.
        unsafe { mpi.call(text, length) }
    })
}

/// What MPI writes into a text of a maximal length, whose length it gives.
pub(super) fn text(
    longest: c_int,
    call: impl FnOnce(*mut core::ffi::c_char, &mut c_int) -> c_int,
) -> RmpiResult<String> {
    // MPI may write a final zero after the longest text.
    let mut text = vec![0_u8; longest.unsigned_abs() as usize + 1];
    let length = output(0, |length| call(text.as_mut_ptr().cast(), length))?;
    text.truncate(length.unsigned_abs() as usize);
    Ok(String::from_utf8(text)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
