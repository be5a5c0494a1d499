//! Which job this process belongs to: the one place that names runs, worlds and files.
//!
//! All ranks of a world must come to one name, on whichever host and in whichever container they are, and without
//! communication, since most tools want the name before MPI has started. So the name is what the launcher says of the job: the
//! step of Slurm, the namespace of PMIx, the port that Hydra's proxies on all hosts report to. Launchers may be started by
//! others' ranks and in others' jobs, whose variables they leave in the environment: the next one above this process counts. In
//! a container its processes may not be there; then the variables alone must do, and the name that `mpi-tool run` has given
//! the run.

use std::env;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;

use mpi_facts::watch::{JOB_VARIABLE, OF_HOST, PID_SPACE, started_and_parent};

use super::launcher::{launched_rank, launched_ranks};
use super::output::say;
use super::run::{host, named_folder};

/// What this process belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The run folder's name.
    pub name: String,
    /// Tells the worlds of a run apart. Empty if this process has neighbours and cannot know what they call it.
    pub world: String,
    /// When the process started.
    pub started: u64,
    /// Which process has started it.
    pub parent: u64,
}

/// A process, as `/proc/PID/stat` has it.
struct Process {
    name: String,
    started: u64,
    parent: u64,
}

impl Process {
    /// Of a number, or `self`. By three system calls: the kernel gives all of it at once.
    fn of(which: &str) -> Option<Self> {
        let mut bytes = [0; 1024];
        let length = File::open(format!("/proc/{which}/stat")).ok()?.read(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes[..length]);
        let (started, parent) = started_and_parent(&text)?;
        let name = text.split_once('(')?.1.rsplit_once(')')?.0;
        Some(Self { name: name.trim().to_owned(), started, parent })
    }
}

/// A program that starts ranks, as far as it matters where the job's name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Starter {
    /// MPICH's, and those made of it.
    Hydra,
    Slurm,
    /// Open MPI's and PRRTE.
    Pmix,
    Pals,
    Flux,
}

/// Those of Hydra that are between `mpiexec` and a proxy count only if nothing better is above. The kernel cuts names off
/// behind 15 letters.
const STARTERS: [(&str, Starter); 18] = [
    ("hydra_pmi_prox", Starter::Hydra),
    ("hydra_pmi_proxy", Starter::Hydra),
    ("hydra_bstrap_pr", Starter::Hydra),
    ("pmi_proxy", Starter::Hydra),
    ("mpiexec.hydra", Starter::Hydra),
    ("slurmstepd", Starter::Slurm),
    ("srun", Starter::Slurm),
    ("prterun", Starter::Pmix),
    ("prted", Starter::Pmix),
    ("prte", Starter::Pmix),
    ("orterun", Starter::Pmix),
    ("orted", Starter::Pmix),
    ("mpiexec", Starter::Pmix),
    ("mpirun", Starter::Pmix),
    ("mpiexec.openmpi", Starter::Pmix),
    ("mpirun.openmpi", Starter::Pmix),
    ("palsd", Starter::Pals),
    ("flux-shell", Starter::Flux),
];

/// The names of a run and of a world in it.
type Names = (String, String);

/// What a launcher says in its variables, which `set` knows.
struct Variables<F>(F);

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    fn set(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// A step of Slurm. Its parts in several allocations have a number each, and a common one. A job that is queued again has
    /// the numbers that it had.
    fn of_slurm(&self) -> Option<Names> {
        let job = self.set("SLURM_HET_JOB_ID").or_else(|| self.set("SLURM_JOB_ID"))?;
        let again = self.set("SLURM_RESTART_COUNT").filter(|count| count != "0");
        let again = again.map_or_else(String::new, |count| format!("-again{count}"));
        let name = format!("slurm-{job}.{}{again}", self.set("SLURM_STEP_ID")?);
        Some((name.clone(), name))
    }

    /// A namespace of PMIx. Those of the processes that a run spawns differ in the last part: `prterun-host-4711@2`, or the
    /// lower half of a number.
    fn of_pmix(&self) -> Option<Names> {
        let space = self.set("PMIX_NAMESPACE")?;
        let name = match (space.rsplit_once('@'), space.parse::<u32>()) {
            (Some((run, _)), _) => run.to_owned(),
            (None, Ok(number)) => format!("openmpi-{}", number >> 16),
            (None, Err(_)) => space.clone(),
        };
        Some((name, space))
    }

    /// The port that the proxies of one `mpiexec` report to, on whichever host, and the number of the group of processes.
    fn of_hydra(words: &[String]) -> Option<Names> {
        let value = |option: &str| {
            let at = words.iter().position(|word| word == option)?;
            words.get(at + 1).cloned()
        };
        let upstream =
            || Some(format!("{}:{}", value("--upstream-host")?, value("--upstream-port")?));
        let control = value("--control-port").or_else(upstream)?;
        let name = format!("hydra-{}", control.replace(':', "-"));
        let group = value("--pgid").unwrap_or_else(|| "0".into());
        Some((name.clone(), format!("{name}-{group}")))
    }

    fn of_other(&self, launcher: &str, variable: &str) -> Option<Names> {
        let name = format!("{launcher}-{}", self.set(variable)?);
        Some((name.clone(), name))
    }

    fn of(&self, starter: Starter, words: impl FnOnce() -> Vec<String>) -> Option<Names> {
        match starter {
            Starter::Hydra => Self::of_hydra(&words()),
            Starter::Slurm => self.of_slurm(),
            Starter::Pmix => self.of_pmix(),
            Starter::Pals => self.of_other("pals", "PALS_APID"),
            Starter::Flux => self.of_other("flux", "FLUX_JOB_ID"),
        }
    }

    /// By variables alone, where the launcher's processes cannot be seen. A rank of Hydra in a job of Slurm's has the
    /// variables of both: those of a step are believed only if its size is the rank's.
    fn of_none(&self) -> Option<Names> {
        let is_step = || match (self.set("PMI_SIZE"), self.set("SLURM_STEP_NUM_TASKS")) {
            (Some(ranks), tasks) => Some(ranks) == tasks,
            (None, tasks) => tasks.is_some(),
        };
        let is_pmix = || self.set("PMIX_RANK").is_some();
        let named = || {
            let name = self.set(JOB_VARIABLE)?;
            Some((format!("run-{name}"), format!("run-{name}")))
        };
        is_pmix()
            .then(|| self.of_pmix())
            .flatten()
            .or_else(|| is_step().then(|| self.of_slurm()).flatten())
            .or_else(|| self.of(Starter::Pals, Vec::new))
            .or_else(|| self.of(Starter::Flux, Vec::new))
            .or_else(named)
    }

    /// What begins with a number that may come again, after some days or in another folder's life, has the name that
    /// `mpi-tool run` has given the run as well.
    fn unique(&self, (name, world): Names) -> Names {
        match self.set(JOB_VARIABLE) {
            Some(run)
                if ["hydra-", "openmpi-", "prterun-"].iter().any(|it| name.starts_with(it)) =>
            {
                (format!("{name}-{run}"), format!("{world}-{run}"))
            }
            _ => (name, world),
        }
    }
}

/// The words of a process's command.
fn words_of(process: u64) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The number of this process's namespace of process numbers, or 0 if it is not known.
pub(crate) fn pid_space() -> u64 {
    fs::metadata(PID_SPACE).map_or(0, |space| space.ino())
}

/// The first namespace of process numbers, which no container has: the kernel gives it this number.
const FIRST_PID_SPACE: u64 = 0xEFFF_FFFC;

impl Job {
    /// By what the launcher says, and by the processes that this one descends from. All ranks of a job come to the same, or
    /// to an empty world.
    pub fn of_this_process() -> Self {
        // Not by the number: `/proc` may be that of another namespace, in which it is another process's.
        let own = Process::of("self");
        let (started, parent) = own.map_or((0, 0), |own| (own.started, own.parent));
        let variables = Variables(|name: &str| env::var(name).ok());
        let mut ancestor = parent;
        let mut of_host = None;
        for _ in 0..32 {
            let Some(process) = Process::of(&ancestor.to_string()) else { break };
            let starter = STARTERS.iter().find(|(name, _)| *name == process.name);
            if let Some((name, starter)) = starter {
                if let Some(names) = variables.of(*starter, || words_of(ancestor)) {
                    let (name, world) = variables.unique(names);
                    return Self::new(name, world, started, parent);
                }
                let name = format!("{name}-{ancestor}-{}", process.started);
                of_host.get_or_insert(name);
                // Hydra's proxies have their words in another one of its processes. Above others is another launcher.
                if *starter != Starter::Hydra {
                    break;
                }
            } else if of_host.is_some() {
                break;
            }
            ancestor = process.parent;
        }
        if let Some(name) = of_host {
            let world = format!("{OF_HOST}{name}");
            return Self::new(name, world, started, parent);
        }
        if let Some((name, world)) = variables.of_none() {
            return Self::new(name, world, started, parent);
        }
        let name = format!("process-{}-{started}", process_name());
        let is_alone = launched_ranks().unwrap_or(1) == 1;
        let world = if is_alone { format!("{OF_HOST}{name}") } else { String::new() };
        Self::new(name, world, started, parent)
    }

    /// Says that this process cannot see its neighbours, if that is so and the user has not brought them together. To be called
    /// on the lowest rank only.
    pub fn complain_of_unknown(&self, tool: &str) {
        if self.world.is_empty() && named_folder().is_none() {
            say(format_args!(
                "{tool}: the launcher's processes cannot be seen from here, as in a container with process numbers of its own, \
                 and no variable names the job: each rank has a run folder of its own; set MPI_TOOL_RUN to a folder, or start \
                 the ranks with mpi-tool run"
            ));
        }
    }

    fn new(name: String, world: String, started: u64, parent: u64) -> Self {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._@+".contains(letter);
        let plain = |letter: char| if is_plain(letter) { letter } else { '_' };
        Self { name: name.chars().map(plain).collect(), world, started, parent }
    }
}

/// What tells this process from all others of a run on this host: its number, and in a container its namespace of process
/// numbers, in which others have the same one.
fn process_name() -> String {
    let process = std::process::id();
    match pid_space() {
        0 | FIRST_PID_SPACE => process.to_string(),
        space => format!("{process}-{space}"),
    }
}

/// A name for a file of this process's in a run folder: nobody else has it. It begins with the rank, as the launcher says it.
pub fn file_name(extension: &str) -> String {
    let rank = launched_rank().map_or_else(String::new, |rank| format!("rank{rank}-"));
    format!("{rank}{}-{}.{extension}", host(), process_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name and parent are those that the kernel has elsewhere.
    #[test]
    fn a_process_is_read_from_one_file() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim().to_owned()
        };
        let process = Process::of("self").unwrap();
        assert_eq!((process.name, process.parent.to_string()), (field("Name:"), field("PPid:")));
        assert!(process.started > 0);
        assert!(Process::of(&u64::MAX.to_string()).is_none());
    }

    fn names(
        starter: Option<Starter>,
        words: &str,
        variables: &[(&str, &str)],
    ) -> Option<(String, String)> {
        let known =
            |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1.to_owned());
        let variables = Variables(known);
        let words = || words.split(' ').map(str::to_owned).collect();
        let names = match starter {
            Some(starter) => variables.of(starter, words),
            None => variables.of_none(),
        };
        names.map(|names| variables.unique(names))
    }

    /// The same on all hosts, and another one for what is spawned.
    #[test]
    fn worlds_are_named_as_launchers_name_them() {
        let step = [("SLURM_JOB_ID", "7"), ("SLURM_STEP_ID", "2"), ("SLURM_STEP_NUM_TASKS", "4")];
        let is = |of: Option<Names>, name: &str, world: &str| {
            assert_eq!(of, Some((name.to_owned(), world.to_owned())));
        };
        is(names(Some(Starter::Slurm), "", &step), "slurm-7.2", "slurm-7.2");
        let again = [&step[..], &[("SLURM_RESTART_COUNT", "1")]].concat();
        is(names(Some(Starter::Slurm), "", &again), "slurm-7.2-again1", "slurm-7.2-again1");
        let het = [&step[..], &[("SLURM_HET_JOB_ID", "6")]].concat();
        is(names(Some(Starter::Slurm), "", &het), "slurm-6.2", "slurm-6.2");
        let proxy =
            "/bin/hydra_pmi_proxy --control-port n1:4711 --demux poll --pgid 1 --proxy-id 3";
        is(names(Some(Starter::Hydra), proxy, &step), "hydra-n1-4711", "hydra-n1-4711-1");
        let run = [(JOB_VARIABLE, "x1")];
        is(names(Some(Starter::Hydra), proxy, &run), "hydra-n1-4711-x1", "hydra-n1-4711-1-x1");
        let intel = "/bin/hydra_bstrap_proxy --upstream-host n1 --upstream-port 47 --pgid 0";
        is(names(Some(Starter::Hydra), intel, &[]), "hydra-n1-47", "hydra-n1-47-0");
        assert_eq!(names(Some(Starter::Hydra), "mpiexec.hydra -n 4", &[]), None);
        for (space, name) in [
            ("prterun-n1-4711@2", "prterun-n1-4711"),
            ("262145", "openmpi-4"),
            ("slurm.pmix.2.0", "slurm.pmix.2.0"),
        ] {
            let variables = [("PMIX_NAMESPACE", space), ("PMIX_RANK", "0")];
            is(names(Some(Starter::Pmix), "", &variables), name, space);
            is(names(None, "", &variables), name, space);
        }
        is(names(None, "", &step), "slurm-7.2", "slurm-7.2");
        // Of Hydra in a container, in a job of Slurm's.
        let hydra = [&step[..], &[("PMI_SIZE", "3")]].concat();
        assert_eq!(names(None, "", &hydra), None);
        is(names(None, "", &[&hydra[..], &run].concat()), "run-x1", "run-x1");
        is(names(None, "", &[("PALS_APID", "9")]), "pals-9", "pals-9");
        is(names(None, "", &[("FLUX_JOB_ID", "f9")]), "flux-f9", "flux-f9");
        assert_eq!(names(None, "", &[]), None);
    }
}
