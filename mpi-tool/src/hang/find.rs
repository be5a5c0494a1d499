//! Which run is meant: the newest one, that of a process, or a folder.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use mpi_facts::watch::{EXTENSION, GUARD, LEFT, NO_ROOM, run_roots};

use super::file::Snapshot;
use super::process::{host, parent};
use crate::words::in_path;

/// A folder with state files.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) folder: PathBuf,
    /// In the order of their names.
    pub(super) files: Vec<PathBuf>,
    /// Memory that the ranks share for `mpi-check`.
    pub(super) shared: Vec<PathBuf>,
    /// What says that there was no room for all files.
    pub(super) no_room: Option<PathBuf>,
    /// What says which ranks have finalized MPI.
    pub(super) left: Vec<PathBuf>,
    /// What says that the run is watched.
    pub(super) guards: Vec<PathBuf>,
}

/// The files of `mpi-check`: the host's name begins theirs.
const SHARED_EXTENSION: &str = "check";

impl Run {
    /// The run in a folder.
    pub(super) fn in_folder(folder: &Path) -> Result<Self> {
        let entries = fs::read_dir(folder)
            .with_context(|| format!("{}: cannot be read", folder.display()))?;
        let is_of = |path: &Path, of: &str| path.extension().is_some_and(|own| own == of);
        let begins = |path: &Path, with: &str| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(with))
        };
        let (mut files, mut shared, mut no_room) = (Vec::new(), Vec::new(), None);
        let (mut left, mut guards) = (Vec::new(), Vec::new());
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if is_of(&path, EXTENSION) {
                files.push(path);
            } else if is_of(&path, SHARED_EXTENSION) {
                shared.push(path);
            } else if path.file_name().is_some_and(|name| name == NO_ROOM) {
                no_room = Some(path);
            } else if begins(&path, LEFT) {
                left.push(path);
            } else if begins(&path, GUARD) {
                guards.push(path);
            }
        }
        files.sort();
        shared.sort();
        Ok(Self { folder: folder.to_owned(), files, shared, no_room, left, guards })
    }

    /// Is there memory of `mpi-check` in use, or on another host, where nobody can tell?
    pub(super) fn shares_memory(&self) -> bool {
        let own = format!("{}-", host());
        let is_in_use = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            !name.starts_with(&own) || is_mapped(path)
        };
        self.shared.iter().any(is_in_use)
    }

    /// The folders below which this user's runs have theirs.
    pub(super) fn roots() -> Result<[PathBuf; 2]> {
        Ok(run_roots(user()?))
    }

    /// All runs of this user on this host.
    pub(super) fn all() -> Result<Vec<Self>> {
        let user = user()?;
        let mut runs = Vec::new();
        let named = env::var_os("MPI_TOOL_RUN").filter(|folder| !folder.is_empty());
        runs.extend(named.and_then(|folder| Self::in_folder(Path::new(&folder)).ok()));
        for root in run_roots(user) {
            // Somebody else's folder with the name is none of this user's runs.
            if !fs::symlink_metadata(&root).is_ok_and(|found| found.is_dir() && found.uid() == user)
            {
                continue;
            }
            let Ok(entries) = fs::read_dir(&root) else { continue };
            let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
            runs.extend(folders.filter_map(|folder| Self::in_folder(&folder).ok()));
        }
        runs.retain(|run| !run.files.is_empty() || !run.shared.is_empty());
        Ok(runs)
    }

    /// The run that the user means.
    pub(super) fn find(what: Option<&str>) -> Result<Self> {
        let Some(what) = what else { return Self::newest() };
        if let Ok(pid) = what.parse::<u32>()
            && !Path::new(what).is_dir()
        {
            return Self::of_process(pid);
        }
        let run = Self::in_folder(Path::new(what))?;
        if run.files.is_empty() {
            bail!("{what}: there are no state files (*.{EXTENSION}) in this folder; {ADVICE}");
        }
        Ok(run)
    }

    fn newest() -> Result<Self> {
        let created = |run: &Self| {
            let read = run.files.iter().filter_map(|file| Snapshot::read(file).ok());
            read.map(|snapshot| snapshot.created).max()
        };
        let runs = Self::all()?.into_iter();
        let newest =
            runs.filter_map(|run| Some((created(&run)?, run))).max_by_key(|(created, _)| *created);
        let Some((_, run)) = newest else {
            bail!("there is no run of this user's on this host; {}", advice())
        };
        Ok(run)
    }

    /// The run that a process belongs to: a rank, a launcher, or what has started one.
    fn of_process(pid: u32) -> Result<Self> {
        let mut found: Option<(u64, Self)> = None;
        for run in Self::all()? {
            for file in &run.files {
                let Ok(snapshot) = Snapshot::read(file) else { continue };
                let is_newer =
                    found.as_ref().is_none_or(|(created, _)| snapshot.created > *created);
                if is_newer && descends(&snapshot, pid) {
                    found = Some((snapshot.created, run.clone()));
                }
            }
        }
        let Some((_, run)) = found else {
            bail!(
                "process {pid} is no rank of a run on this host, and has started none; {}",
                advice()
            );
        };
        Ok(run)
    }
}

/// Has a process of this user the file in its memory? Others have none of this user's files.
fn is_mapped(path: &Path) -> bool {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let path = path.to_string_lossy();
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    let maps =
        processes.filter_map(|process| fs::read_to_string(process.ok()?.path().join("maps")).ok());
    maps.into_iter().any(|maps| maps.lines().any(|line| line.ends_with(&*path)))
}

/// This user's number: `/proc/self` belongs to the user that this process runs as.
pub(super) fn user() -> Result<u32> {
    Ok(fs::metadata("/proc/self").context("/proc/self")?.uid())
}

/// Is a process a rank, or has it started one? Of a rank that is gone, its parent is known.
fn descends(snapshot: &Snapshot, pid: u32) -> bool {
    if snapshot.pid == pid || snapshot.parent == pid {
        return true;
    }
    let mut above = parent(snapshot.pid).unwrap_or(snapshot.parent);
    for _ in 0..32 {
        if above == pid {
            return true;
        }
        match parent(above) {
            Some(next) if next > 1 => above = next,
            _ => return false,
        }
    }
    false
}

/// What to do where nothing is found.
const ADVICE: &str = "start the program with mpi-watch: mpi-tool run --tool mpi-watch -- mpiexec …";

/// The same of runs on this host: one of Slurm's may be on other ones.
fn advice() -> String {
    if in_path("srun").is_none() {
        return ADVICE.to_owned();
    }
    let job = env::var("SLURM_JOB_ID").unwrap_or_else(|_| "JOB".into());
    format!(
        "{ADVICE}; to ask on the nodes of a job of Slurm: srun --overlap --jobid={job} --ntasks-per-node=1 mpi-tool hang"
    )
}
