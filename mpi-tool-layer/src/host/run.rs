//! The run folder: where the tools of one run put files that others read.
//!
//! It is the one that `MPI_TOOL_RUN` names, or one below `/dev/shm`, by the name of the [`Job`] that this process
//! belongs to. All ranks of a job on a host come to the same.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use mpi_facts::watch::{run_roots, started_and_parent};

use super::linker::{self, locate};

/// Programs that start ranks. What all ranks of a job on a host descend from is one of them.
const STARTERS: [&str; 12] = [
    "hydra_pmi_prox",
    "hydra_pmi_proxy",
    "pmi_proxy",
    "prterun",
    "prted",
    "orted",
    "mpiexec",
    "mpirun",
    "mpiexec.hydra",
    "slurmstepd",
    "srun",
    "palsd",
];

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
                .and_then(|()| own_folder(&folder, user))
                .and_then(|()| make(&folder));
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

/// A folder that is this user's and nobody else's, made if it is not there.
fn own_folder(folder: &Path, user: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0 {
        return Ok(());
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

/// A process, as `/proc/PID/stat` has it.
struct Process {
    name: String,
    started: u64,
    parent: u64,
}

impl Process {
    /// By three system calls: the kernel gives all of it at once.
    fn of(pid: u64) -> Option<Self> {
        let mut bytes = [0; 1024];
        let length = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes[..length]);
        let (started, parent) = started_and_parent(&text)?;
        let name = text.split_once('(')?.1.rsplit_once(')')?.0;
        Some(Self { name: name.to_owned(), started, parent })
    }
}

/// What this process belongs to.
#[derive(Debug)]
pub struct Job {
    /// The run folder's name.
    pub name: String,
    /// Tells the worlds of a run apart.
    pub world: String,
    /// When the process started.
    pub started: u64,
    /// Which process has started it.
    pub parent: u64,
}

impl Job {
    /// By what the launcher says, and by the processes that this one descends from. All ranks of a job on a host come
    /// to the same.
    pub fn of_this_process() -> Self {
        let own = u64::from(std::process::id());
        let (started, parent) =
            Process::of(own).map_or((0, 0), |process| (process.started, process.parent));
        let mut starter = None;
        let mut ancestor = parent;
        for _ in 0..16 {
            let Some(process) = Process::of(ancestor) else { break };
            let name = process.name.trim();
            if STARTERS.contains(&name) {
                starter = Some(format!("{name}-{ancestor}-{}", process.started));
                break;
            }
            ancestor = process.parent;
        }
        let set = |variable| env::var(variable).ok().filter(|value| !value.is_empty());
        let slurm = || Some(format!("slurm-{}.{}", set("SLURM_JOB_ID")?, set("SLURM_STEP_ID")?));
        let space = set("PMIX_NAMESPACE");
        let alone = || format!("process-{own}-{started}");
        let name = starter.or_else(slurm).or_else(|| space.clone()).unwrap_or_else(alone);
        let world = space.unwrap_or_else(|| name.clone());
        Self { name: name.replace('/', "_"), world, started, parent }
    }
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

    /// Name and parent are those that the kernel has elsewhere.
    #[test]
    fn a_process_is_read_from_one_file() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim().to_owned()
        };
        let process = Process::of(std::process::id().into()).unwrap();
        assert_eq!((process.name, process.parent.to_string()), (field("Name:"), field("PPid:")));
        assert!(process.started > 0);
        assert!(Process::of(u64::MAX).is_none());
    }
}
