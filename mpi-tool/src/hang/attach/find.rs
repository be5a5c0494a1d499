//! The MPI processes of this host: which there are, and which of them are ranks of one job.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mpi_facts::{Abi, is_mpi_library};

use super::maps;
use super::refused::why_not;
use crate::elf::Elf;
use crate::hang::find::user;
use crate::hang::process::{host, parent, started};
use crate::mpi::Mpi;
use crate::words::{base, is_launcher};

/// No world has more ranks. What says more is no launcher's number.
const MOST_RANKS: u32 = 1 << 24;

/// A process that uses MPI.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) started: u64,
    pub(super) rank: Option<u32>,
    /// How many ranks its world has, as the launcher says.
    pub(super) size: Option<u32>,
    pub(super) program: String,
    /// MPI's library; nothing if it is a part of the program.
    pub(super) library: Option<PathBuf>,
    /// What all ranks of its job have in common.
    job: String,
}

/// Ranks of one world, on this host.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) ranks: Vec<Process>,
}

impl Job {
    /// `MPICH 5.0.2`
    pub(super) fn mpi(&self) -> String {
        let library = self.ranks.iter().find_map(|rank| rank.library.as_ref());
        library
            .and_then(|path| Mpi::in_file(path))
            .map_or_else(|| "MPI in the program itself".to_owned(), |mpi| mpi.title())
    }
}

/// The jobs that are meant: all of this user, or those that some processes belong to.
pub(super) fn jobs(pids: &[u32]) -> Result<Vec<Job>> {
    let user = user()?;
    let all = all_processes();
    for pid in pids {
        if !all.contains(pid) {
            bail!(
                "{pid}: there is no such process on this host, or it is in a container that hides it"
            );
        }
    }
    let is_ours =
        |pid: &u32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == user);
    let mut found = Vec::new();
    for pid in &all {
        match process(*pid) {
            Ok(process) => found.extend(process),
            // Of others' processes, those that are meant matter.
            Err(error) if pids.contains(pid) && started(*pid).is_some() => {
                bail!("{}", why_not(*pid, &error.to_string()))
            }
            Err(_) => {}
        }
    }
    without_children(&mut found);
    let meant: BTreeSet<String> = if pids.is_empty() {
        found.iter().filter(|one| is_ours(&one.pid)).map(|one| one.job.clone()).collect()
    } else {
        let mut meant = BTreeSet::new();
        for pid in pids {
            let own: Vec<_> = found
                .iter()
                .filter(|one| one.pid == *pid || descends(one.pid, *pid))
                .map(|one| one.job.clone())
                .collect();
            if own.is_empty() {
                bail!("{}", no_rank(*pid, &all));
            }
            meant.extend(own);
        }
        meant
    };
    let mut jobs: BTreeMap<String, Vec<Process>> = BTreeMap::new();
    for process in found.into_iter().filter(|process| meant.contains(&process.job)) {
        jobs.entry(process.job.clone()).or_default().push(process);
    }
    if jobs.is_empty() {
        bail!(
            "no process of this user uses MPI on this host: give the number of a rank or of its launcher if it is another user's; \
             ranks on other hosts are seen there only"
        );
    }
    let mut jobs: Vec<_> = jobs.into_iter().map(|(name, ranks)| Job { name, ranks }).collect();
    for job in &mut jobs {
        job.ranks.sort_by_key(|process| (process.rank, process.pid));
    }
    // In the order in which they were started.
    jobs.sort_by_key(|job| job.ranks.iter().map(|rank| (rank.started, rank.pid)).min());
    Ok(jobs)
}

/// Why a process is of no use here.
fn no_rank(pid: u32, all: &[u32]) -> String {
    let below = all.iter().filter(|other| descends(**other, pid));
    let unreadable = below
        .copied()
        .find_map(|other| process(other).err().map(|error| why_not(other, &error.to_string())));
    unreadable.unwrap_or_else(|| {
        format!(
            "{pid}: this process does not use MPI, and has started none that does on this host (have the ranks come to their program yet?)"
        )
    })
}

fn all_processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let mut all: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    all.sort_unstable();
    all
}

/// A process, if it uses MPI.
fn process(pid: u32) -> std::io::Result<Option<Process>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let maps = maps::parse(&maps);
    let library = maps.iter().find(|part| part.is_code && is_mpi_library(base(&part.path)));
    let environment = fs::read(format!("/proc/{pid}/environ"))?;
    let environment = Environment::of(&environment);
    let path = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    if library.is_none() && !(environment.has_rank() && has_mpi_inside(pid)) {
        return Ok(None);
    }
    let Some(started) = started(pid) else { return Ok(None) };
    let library = library.map(|part| PathBuf::from(&part.path));
    let abi = library.as_deref().and_then(abi_of);
    let program = path.to_string_lossy();
    Ok(Some(Process {
        pid,
        started,
        rank: environment.rank(abi),
        size: environment.size(abi),
        program: program.strip_suffix(" (deleted)").unwrap_or(&program).to_owned(),
        library,
        job: environment.job(abi, pid),
    }))
}

fn abi_of(library: &Path) -> Option<Abi> {
    let name = library.file_name()?.to_str()?;
    Abi::of_library(name).or_else(|| Mpi::in_file(library).map(|mpi| mpi.abi))
}

/// Is MPI a part of the program itself?
fn has_mpi_inside(pid: u32) -> bool {
    let program = PathBuf::from(format!("/proc/{pid}/exe"));
    Elf::read(&program).is_ok_and(|program| program.is_some_and(|elf| elf.has("MPI_Init")))
}

/// Has one process started another one, in some steps?
fn descends(pid: u32, from: u32) -> bool {
    above(pid).any(|above| above == from)
}

/// The processes that one descends from, the nearest first.
fn above(pid: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(parent(pid), |above| parent(*above))
        .take_while(|above| *above > 1)
        .take(64)
}

/// Without what a rank has forked and what has its memory and its number.
fn without_children(found: &mut Vec<Process>) {
    let known: HashMap<u32, (String, Option<u32>)> =
        found.iter().map(|one| (one.pid, (one.job.clone(), one.rank))).collect();
    found.retain(|one| {
        one.rank.is_none()
            || !above(one.pid).any(|above| {
                known.get(&above).is_some_and(|(job, rank)| *job == one.job && *rank == one.rank)
            })
    });
}

/// What the launcher has told a process.
struct Environment(HashMap<String, String>);

impl Environment {
    fn of(bytes: &[u8]) -> Self {
        let variables = bytes.split(|byte| *byte == 0).filter_map(|variable| {
            let (name, value) = std::str::from_utf8(variable).ok()?.split_once('=')?;
            (!value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        });
        Self(variables.collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok()
    }

    /// The variables that count for an MPI: launchers leave those of others around them in the environment.
    fn first_number(&self, abi: Option<Abi>, names: [&[&str]; 2]) -> Option<u32> {
        let [mut open_mpi, mut others] = names;
        if abi != Some(Abi::OpenMpi) {
            (open_mpi, others) = (others, open_mpi);
        }
        open_mpi.iter().chain(others).find_map(|name| self.number(name))
    }

    fn rank(&self, abi: Option<Abi>) -> Option<u32> {
        self.first_number(
            abi,
            [
                &["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"],
                &[
                    "PMI_RANK",
                    "MV2_COMM_WORLD_RANK",
                    "PMIX_RANK",
                    "SLURM_PROCID",
                    "PALS_RANKID",
                    "FLUX_TASK_RANK",
                ],
            ],
        )
    }

    fn size(&self, abi: Option<Abi>) -> Option<u32> {
        self.first_number(
            abi,
            [
                &["OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"],
                &["PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "FLUX_JOB_SIZE"],
            ],
        )
        .filter(|size| *size <= MOST_RANKS)
    }

    fn has_rank(&self) -> bool {
        self.rank(None).is_some()
    }

    /// What the ranks of a job have in common: what their launcher calls the job, or the launcher itself.
    fn job(&self, abi: Option<Abi>, pid: u32) -> String {
        let named = |name: &str| self.get(name).map(|value| format!("{name} {value}"));
        let slurm =
            || Some(format!("slurm {}.{}", self.get("SLURM_JOB_ID")?, self.get("SLURM_STEP_ID")?));
        let pmix = || named("PMIX_NAMESPACE");
        let hydra = || above(pid).find_map(hydra);
        let name = if abi == Some(Abi::OpenMpi) {
            pmix().or_else(slurm)
        } else {
            hydra().or_else(slurm).or_else(pmix)
        };
        name.or_else(|| named("PALS_APID")).or_else(|| named("FLUX_JOB_ID")).unwrap_or_else(|| {
            let launcher = above(pid)
                .find(|above| is_launcher(&words(*above).into_iter().next().unwrap_or_default()));
            own_name(launcher.unwrap_or(pid))
        })
    }
}

/// What a job without a name of its own is called after: other hosts have processes with the same number.
fn own_name(pid: u32) -> String {
    format!("process {pid} on {}", host())
}

/// The words of a process's command.
fn words(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The group of processes that Hydra's proxy has started: the port to which all proxies of one launcher report, and its number.
fn hydra(pid: u32) -> Option<String> {
    let words = words(pid);
    if !base(words.first()?).ends_with("pmi_proxy") {
        return None;
    }
    let value = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1).cloned()
    };
    let upstream = || Some(format!("{}:{}", value("--upstream-host")?, value("--upstream-port")?));
    let port = value("--control-port").or_else(upstream).unwrap_or_else(|| own_name(pid));
    Some(format!("hydra {port} {}", value("--pgid").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use mpi_facts::Abi;

    use super::Environment;

    /// A launcher within another one leaves the other one's variables.
    #[test]
    fn the_nearest_launcher_says_the_rank() {
        let both = b"PMI_RANK=3\0PMI_SIZE=8\0OMPI_COMM_WORLD_RANK=1\0OMPI_COMM_WORLD_SIZE=2\0EMPTY=\0none\0";
        let both = Environment::of(both);
        assert_eq!(
            (both.rank(Some(Abi::OpenMpi)), both.size(Some(Abi::OpenMpi))),
            (Some(1), Some(2))
        );
        assert_eq!((both.rank(Some(Abi::Mpich)), both.size(Some(Abi::Mpich))), (Some(3), Some(8)));
        assert!(both.has_rank());
        let none = Environment::of(b"SLURM_JOB_ID=1\0SLURM_PROCID=x\0");
        assert!(!none.has_rank());
    }

    /// A number from outside decides over no memory.
    #[test]
    fn no_world_has_billions_of_ranks() {
        let sizes = |text: &str| {
            let environment = Environment::of(format!("PMI_RANK=0\0PMI_SIZE={text}\0").as_bytes());
            environment.size(Some(Abi::Mpich))
        };
        assert_eq!(sizes("16777216"), Some(16_777_216));
        assert_eq!([sizes("16777217"), sizes("4294967295"), sizes("-1")], [None; 3]);
    }

    /// Two hosts have processes of the same number.
    #[test]
    fn a_job_without_a_name_is_one_of_this_host() {
        let name = Environment::of(b"").job(None, std::process::id());
        assert!(name.ends_with(&format!(" on {}", crate::hang::process::host())), "{name}");
    }
}
