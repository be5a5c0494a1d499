//! The run folder: where the tools of one run put files that others read.
//!
//! It is the one that `MPI_TOOL_RUN` names, or one below `/dev/shm`, by the name of the [`Job`] that this process
//! belongs to. All ranks of a job on a host come to the same.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use mpi_facts::watch::run_roots;

pub use super::job::{Job, file_name};
use super::leftovers;
use super::linker::{self, locate};

/// The folder that the user has named.
pub fn named_folder() -> Option<PathBuf> {
    env::var_os("MPI_TOOL_RUN").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The folder that the shared object with this code was loaded from.
pub fn folder_of_tool() -> Option<PathBuf> {
    let located = locate(linker::here().addr())?;
    // SAFETY: the object must stay loaded as long as the name is used: it is the one that this code is in.
    let file = unsafe { located.file() };
    let file = fs::canonicalize(OsStr::from_bytes(file.to_bytes())).ok()?;
    file.parent().map(Path::to_owned)
}

/// What the user reads where there can be no file.
pub fn problem(folder: &Path, error: &io::Error, advice: &str) -> String {
    format!("{}: {error}; {advice}", folder.display())
}

/// What `make` makes in the first default folder that can be had. The folder is this user's, and the job's.
pub fn in_default_folder<T>(job: &Job, make: impl Fn(&Path) -> io::Result<T>) -> Result<T, String> {
    // SAFETY: `geteuid` takes nothing and always succeeds.
    let user = unsafe { libc::geteuid() };
    let mut said = Vec::new();
    for root in run_roots(user) {
        let folder = root.join(&job.name);
        // The last rank of another run may be removing the folders at this moment.
        for attempt in 0.. {
            let made = own_folder(&root, user)
                .and_then(|_| own_folder(&folder, user))
                .map(|is_first| is_first.then(|| leftovers::remove(&root, &folder)))
                .and_then(|_| make(&folder));
            match made {
                Ok(made) => return Ok(made),
                Err(error) if error.kind() == ErrorKind::NotFound && attempt < 8 => {}
                Err(error) => {
                    said.push(problem(&folder, &error, "").trim_end_matches("; ").to_owned());
                    break;
                }
            }
        }
    }
    Err(said.join(", ") + "; set MPI_TOOL_RUN to a folder")
}

/// A folder that is this user's and nobody else's, made if it is not there. Was it made?
fn own_folder(folder: &Path, user: u32) -> io::Result<bool> {
    let is_made = match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        made => made.is_ok(),
    };
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0 {
        return Ok(is_made);
    }
    Err(io::Error::other("it is not a folder that only this user can write to"))
}

/// The host's name, as `/proc/sys/kernel/hostname` has it.
pub fn host() -> String {
    // SAFETY: a `utsname` is arrays of bytes, for which zeros are right.
    let mut names: libc::utsname = unsafe { core::mem::zeroed() };
    // SAFETY: `uname` writes the structure that it is given.
    unsafe { libc::uname(&raw mut names) };
    let name: Vec<u8> =
        names.nodename.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8(name).unwrap_or_default().trim().replace('/', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same name that the kernel has elsewhere.
    #[test]
    fn the_host_has_the_kernels_name() {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert_eq!(host(), name.trim().replace('/', "_"));
    }
}
