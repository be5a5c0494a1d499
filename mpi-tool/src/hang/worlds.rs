//! Ranks that wait for processes of another world: what is known of these.

use std::collections::BTreeSet;

use mpi_facts::FunctionId;
use mpi_facts::watch::kind;

use super::graph::{Condition, Far, What};
use super::reading::{Rank, Reading, World};
use super::text::what;
use crate::report::symbols::Symbols;

/// Who they are, and what the one does that a rank waits for, where that can be told.
pub(super) fn far_away(
    reading: &Reading,
    world: &World,
    rank: u32,
    far: Far,
    symbols: &mut Symbols,
) -> String {
    let which = far.rank.map_or_else(String::new, |rank| format!("rank {rank} of "));
    let who = if far.have_spawned { "the processes that have spawned it" } else { "another world" };
    let mut others = reading.worlds.iter().filter(|other| !std::ptr::eq(*other, world));
    let there = match (others.next(), others.next(), far.rank) {
        (None, ..) => {
            "; none of their files is in this run: they have not started MPI, have finalized it, or \
             are recorded elsewhere"
                .to_owned()
        }
        // There is one that it can be.
        (Some(other), None, Some(to)) if u64::from(other.size) == far.size => {
            let does = what(other, to, symbols);
            let mutual =
                if wait_for_each_other([(world, rank), (other, to)]) { ": each waits for the other one" } else { "" };
            format!("; rank {to} of the run's other world: {does}{mutual}")
        }
        _ => String::new(),
    };
    format!("{which}{who}{there}")
}

/// Do two ranks of a run's two worlds receive from each other, and nothing else, and have they had time to see a message?
/// One world has spawned the other one, and each of the two ranks has never had a communicator with another one.
fn wait_for_each_other(of: [(&World, u32); 2]) -> bool {
    let [Some(one), Some(other)] = of.map(|(world, rank)| receives(world, rank)) else {
        return false;
    };
    let fits = |far: Far, (world, rank): (&World, u32)| {
        far.rank == Some(rank) && far.size == u64::from(world.size)
    };
    fits(one, of[1]) && fits(other, of[0]) && one.have_spawned != other.have_spawned
}

/// The process of another world from which a rank receives, if that is all that it does.
fn receives(world: &World, rank: u32) -> Option<Far> {
    use FunctionId::{MPI_Mprobe, MPI_Probe, MPI_Recv};
    let (of, state) = (world.ranks.get(&rank)?, world.states.get(&rank)?);
    let [call] = &state.calls[..] else { return None };
    let What::World(far) = call.what else { return None };
    let is_it = matches!(call.function, MPI_Recv | MPI_Probe | MPI_Mprobe)
        && state.condition == Condition::Still
        && of.inside.len() == 1
        && !of.had_little
        && !of.snapshot.has_threads
        && !of.snapshot.has_error_handlers
        && of.snapshot.full == 0
        && has_one_other_world(of);
    is_it.then_some(far)
}

/// Has a rank had one communicator with processes of another world, and no more?
fn has_one_other_world(rank: &Rank) -> bool {
    let is_far = |other: &super::graph::Members| other.iter().next().is_none();
    let groups = rank.snapshot.groups.iter().filter(|group| {
        [kind::COMMUNICATOR, kind::GONE].contains(&group.kind)
            && group.sizes[1] > 0
            && group.other.as_ref().is_none_or(is_far)
    });
    let all: BTreeSet<u64> = groups.map(|group| group.identity).collect();
    all.len() == 1
}
