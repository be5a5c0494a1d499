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

/// The host's name.
pub fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().replace('/', "_")
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
        let stat =
            |pid: u64| started_and_parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
        let (started, parent) = stat(own).unwrap_or((0, 0));
        let mut starter = None;
        let mut ancestor = parent;
        for _ in 0..16 {
            let name = fs::read_to_string(format!("/proc/{ancestor}/comm")).unwrap_or_default();
            let Some((begun, above)) = stat(ancestor) else { break };
            if STARTERS.contains(&name.trim()) {
                starter = Some(format!("{}-{ancestor}-{begun}", name.trim()));
                break;
            }
            ancestor = above;
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
