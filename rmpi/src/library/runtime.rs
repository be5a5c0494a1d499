use rmpi_macros::wraps;

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
    if crate::running::is_over() && !get_library_version().is_ok_and(|text| begins_again(&text)) {
        return Err(Error::refused(
            ErrorClass::OTHER,
            "MPI has ended, and this MPI library does not begin again: it crashes or aborts",
        ));
    }
    crate::running::enter::<L>().map_err(|reason| Error::refused(ErrorClass::OTHER, reason))
}

/// Can an MPI of this version begin again after its end? MPICH 5 can. MPICH 4 (tried: 4.0.2, 4.1.3, 4.2.3, 4.3.2),
/// Intel MPI 2021 and Open MPI crash or abort, so no other MPI is trusted.
fn begins_again(library_version: &str) -> bool {
    let version = library_version.strip_prefix("MPICH Version:").unwrap_or_default().trim_start();
    let major = version.split('.').next().and_then(|major| major.parse().ok());
    major.is_some_and(|major: u32| major >= 5)
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

#[cfg(test)]
mod tests {
    #[test]
    fn only_mpich_5_begins_again() {
        // As the libraries write it.
        for version in ["5.0.2", "5.1", "6.0.0a1", "10.0"] {
            assert!(super::begins_again(&format!(
                "MPICH Version:      {version}\nMPICH Release date: "
            )));
        }
        for version in ["4.0.2", "4.3.2", "3.4.3"] {
            assert!(!super::begins_again(&format!(
                "MPICH Version:      {version}\nMPICH Release date: "
            )));
        }
        assert!(!super::begins_again("Intel(R) MPI Library 2021.19 for Linux* OS\n"));
        assert!(!super::begins_again("Open MPI v5.0.11, package: Open MPI, ident: 5.0.11"));
        assert!(!super::begins_again(""));
    }
}
