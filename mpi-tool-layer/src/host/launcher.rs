//! What a launcher tells a process by its environment: for as long as MPI has not said it, and
//! where MPI says something else.

use core::fmt;

use super::options::is_silent;
use super::output::say;
use super::world::is_spawned;

/// A process's place among those that a launcher has started, by the variables of that launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launched {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// The variable that says so.
    pub(crate) variable: &'static str,
}

/// Launchers' variables for rank and size. Of Slurm's, the size is the step's: a batch script has a
/// `SLURM_NTASKS`, too, and is no rank.
const PLACES: [(&str, &str); 4] = [
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
];

/// A variable's number, if it has one.
fn number(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The rank that the launcher gave this process, as long as MPI has not said it. `None` in a
/// process that no known launcher has started.
pub fn launched_rank() -> Option<u32> {
    ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"].into_iter().find_map(number)
}

/// How many processes the launcher has started, where it says so.
pub fn launched_ranks() -> Option<u64> {
    PLACES.into_iter().find_map(|(_, size)| number(size)).map(u64::from)
}

/// Are all ranks of a world of so many on this host, as the launcher says it? `None` where no launcher does. All ranks of a
/// world get the same answer.
pub fn launched_on_one_host(ranks: u32) -> Option<bool> {
    on_one_host(ranks, number)
}

/// The same, of the variables that `number` knows.
fn on_one_host(ranks: u32, number: impl Fn(&str) -> Option<u32>) -> Option<bool> {
    /// Launchers' variables for the size of the world, and how many of its ranks are on this host.
    const LOCAL: [(&str, &str); 3] = [
        ("PMI_SIZE", "MPI_LOCALNRANKS"),
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ];
    // A launcher within another one leaves the other one's variables, which tell of another world.
    let is_of_world = |size: &str| number(size) == Some(ranks);
    let local = LOCAL.into_iter().filter(|(size, _)| is_of_world(size));
    if let Some(here) = local.into_iter().find_map(|(_, here)| number(here)) {
        return Some(here == ranks);
    }
    let hosts = number("SLURM_STEP_NUM_NODES").filter(|_| is_of_world("SLURM_STEP_NUM_TASKS"))?;
    Some(hosts == 1)
}

/// The place that a launcher gave this process among others, where MPI's world has so many `ranks`
/// and should have the others: the launcher is then of another MPI, as a rule. `None` where MPI and
/// any of the launchers around the process agree.
pub(crate) fn launched_elsewhere(ranks: u64) -> Option<Launched> {
    elsewhere(ranks, number)
}

impl fmt::Display for Launched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, ranks, variable } = self;
        let question = if variable.starts_with("SLURM_") {
            "does srun's --mpi fit this MPI (pmi2 for most MPICHs, pmix for Open MPI)?"
        } else {
            "was it started by the launcher of another MPI?"
        };
        write!(
            f,
            "MPI knows of this process only, but its launcher says rank {rank} of {ranks} ({variable}): {question}"
        )
    }
}

/// The rank that a launcher gave this process among others, where MPI has started a world of so many `ranks` without these:
/// there are as many such worlds as processes. Of the first one, `tool` says so.
pub fn rank_among_strangers(tool: &str, ranks: u32) -> Option<u32> {
    let launched = launched_elsewhere(ranks.into()).filter(|_| !is_spawned())?;
    if launched.rank == 0 && !is_silent(tool) {
        say(format_args!("{tool}: {launched}"));
    }
    Some(launched.rank)
}

/// The same, of the variables that `number` knows.
fn elsewhere(ranks: u64, number: impl Fn(&str) -> Option<u32>) -> Option<Launched> {
    if ranks != 1 {
        return None;
    }
    let places = PLACES.into_iter().filter_map(|(variable, size)| {
        Some(Launched { rank: number(variable)?, ranks: number(size)?, variable })
    });
    let mut found: Option<Launched> = None;
    for place in places {
        if place.ranks == 1 {
            // One launcher within another, and the inner one agrees with MPI.
            return None;
        }
        // Slurm's come last: of a step, `srun` has set the others.
        let is_same = |first: Launched| (first.rank, first.ranks) == (place.rank, place.ranks);
        if found.is_none_or(is_same) {
            found = Some(place);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a process is elsewhere, with these variables in its environment.
    fn place(ranks: u64, variables: &[(&str, u32)]) -> Option<(u32, u32, &'static str)> {
        let number = |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1);
        let Launched { rank, ranks, variable } = elsewhere(ranks, number)?;
        Some((rank, ranks, variable))
    }

    /// The launcher of this world is asked, and no other one.
    #[test]
    fn the_launcher_of_the_world_knows_its_hosts() {
        let place = |ranks, variables: &[(&str, u32)]| {
            let known = |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1);
            on_one_host(ranks, known)
        };
        let hydra = [("PMI_SIZE", 4), ("MPI_LOCALNRANKS", 2)];
        assert_eq!(place(4, &hydra), Some(false));
        assert_eq!(place(4, &[("PMI_SIZE", 4), ("MPI_LOCALNRANKS", 4)]), Some(true));
        // This world was started by somebody else.
        assert_eq!(place(2, &hydra), None);
        let openmpi = [("OMPI_COMM_WORLD_SIZE", 2), ("OMPI_COMM_WORLD_LOCAL_SIZE", 2)];
        assert_eq!(place(2, &[hydra, openmpi].concat()), Some(true));
        let slurm = [("SLURM_STEP_NUM_TASKS", 8), ("SLURM_STEP_NUM_NODES", 2)];
        assert_eq!((place(8, &slurm), place(4, &slurm)), (Some(false), None));
        assert_eq!(place(4, &[]), None);
    }

    /// One rank for MPI and several for the launcher.
    #[test]
    fn a_singleton_among_others_is_told() {
        let openmpi = [("OMPI_COMM_WORLD_RANK", 2), ("OMPI_COMM_WORLD_SIZE", 4)];
        assert_eq!(place(1, &openmpi), Some((2, 4, "OMPI_COMM_WORLD_RANK")));
        assert_eq!(place(1, &[("PMI_RANK", 0), ("PMI_SIZE", 2)]), Some((0, 2, "PMI_RANK")));
        let srun =
            [("PMI_RANK", 1), ("PMI_SIZE", 2), ("SLURM_PROCID", 1), ("SLURM_STEP_NUM_TASKS", 2)];
        assert_eq!(place(1, &srun), Some((1, 2, "SLURM_PROCID")));
        assert_eq!(place(4, &openmpi), None);
    }

    /// Nothing is said where MPI and one of the launchers agree, or where nobody knows the number
    /// of ranks.
    #[test]
    fn what_may_be_right_is_not() {
        assert_eq!(place(1, &[]), None);
        assert_eq!(place(1, &[("PMI_RANK", 0), ("PMI_SIZE", 1)]), None);
        assert_eq!(place(1, &[("PMIX_RANK", 3)]), None);
        // A batch script, which is no step of several tasks.
        assert_eq!(place(1, &[("SLURM_PROCID", 0), ("SLURM_NTASKS", 16)]), None);
        // `mpiexec -n 1` of MPICH, started by a rank of Open MPI or in a step of Slurm.
        let within = [
            ("OMPI_COMM_WORLD_RANK", 2),
            ("OMPI_COMM_WORLD_SIZE", 4),
            ("PMI_RANK", 0),
            ("PMI_SIZE", 1),
        ];
        assert_eq!(place(1, &within), None);
    }
}
