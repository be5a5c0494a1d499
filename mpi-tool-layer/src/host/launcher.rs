//! What a launcher tells a process by its environment: for as long as MPI has not said it, and
//! where MPI says something else.

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
pub(crate) fn launched_ranks() -> Option<u64> {
    PLACES.into_iter().find_map(|(_, size)| number(size)).map(u64::from)
}

/// The place that a launcher gave this process among others, where MPI's world has so many `ranks`
/// and should have the others: the launcher is then of another MPI, as a rule. `None` where MPI and
/// any of the launchers around the process agree.
pub(crate) fn launched_elsewhere(ranks: u64) -> Option<Launched> {
    elsewhere(ranks, number)
}

/// The same, of the variables that `number` knows.
fn elsewhere(ranks: u64, number: impl Fn(&str) -> Option<u32>) -> Option<Launched> {
    if ranks != 1 {
        return None;
    }
    let places = PLACES.into_iter().filter_map(|(variable, size)| {
        Some(Launched { rank: number(variable)?, ranks: number(size)?, variable })
    });
    let mut found = None;
    for place in places {
        if place.ranks == 1 {
            // One launcher within another, and the inner one agrees with MPI.
            return None;
        }
        found = found.or(Some(place));
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

    /// One rank for MPI and several for the launcher.
    #[test]
    fn a_singleton_among_others_is_told() {
        let openmpi = [("OMPI_COMM_WORLD_RANK", 2), ("OMPI_COMM_WORLD_SIZE", 4)];
        assert_eq!(place(1, &openmpi), Some((2, 4, "OMPI_COMM_WORLD_RANK")));
        assert_eq!(place(1, &[("PMI_RANK", 0), ("PMI_SIZE", 2)]), Some((0, 2, "PMI_RANK")));
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
