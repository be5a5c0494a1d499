//! What all ranks of a run do at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mpi_facts::FunctionId;
use mpi_facts::watch::phase;

use crate::hang::convert::state;
use crate::hang::file::{Snapshot, Thread};
use crate::hang::find::Run;
use crate::hang::graph::{Condition, Edge, State, World as Graph};
use crate::hang::process::{Life, life};
use crate::hang::unseen::{Circumstances, Seen, by_world};
use crate::report::symbols::Place;

/// A call: which function, and from where.
pub(super) type Call = (FunctionId, Vec<Place>);

/// A run at one moment.
pub(super) struct Sample {
    pub(super) at: Instant,
    /// By what the job's worlds are called.
    pub(super) worlds: BTreeMap<String, World>,
}

/// A world.
pub(super) struct World {
    pub(super) size: u32,
    /// The path of a rank's program.
    pub(super) program: String,
    pub(super) ranks: BTreeMap<u32, Rank>,
    /// Why ranks are not seen, in a sentence.
    pub(super) unseen: Option<String>,
}

/// A rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rank {
    pub(super) host: String,
    pub(super) how: How,
    /// The call that it is in, or its last one.
    pub(super) call: Option<Call>,
    /// How many calls it has made.
    pub(super) calls: u64,
    /// For whom it waits, by way of others that wait, too: ranks that do not wait themselves. Nobody if that is not known.
    pub(super) for_whom: Vec<u32>,
}

/// How a rank is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum How {
    /// Outside of MPI.
    Outside,
    /// In a call, with one thread at least.
    InMpi,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It has left MPI.
    Finalized,
    /// Its process is gone.
    Gone,
}

/// A file that was read twice.
struct Twice<'a> {
    first: &'a Snapshot,
    second: &'a Snapshot,
    life: Life,
}

impl Twice<'_> {
    /// The threads that were in one call both times: all of what the first reading says of them is of that call.
    fn inside(&self) -> Vec<&Thread> {
        let stays = |thread: &&Thread| {
            self.second.threads.iter().any(|other| thread.is_in_same_call(other))
        };
        self.first.threads.iter().filter(stays).collect()
    }

    fn how(&self) -> How {
        match (self.second.phase, self.life) {
            (phase::FINALIZED, _) => How::Finalized,
            (_, Life::Gone) => How::Gone,
            (_, Life::Stopped | Life::Traced) => How::Stopped,
            _ if self.second.threads.iter().any(|thread| thread.is_inside) => How::InMpi,
            _ => How::Outside,
        }
    }

    fn condition(&self) -> Condition {
        match self.how() {
            How::Finalized => Condition::Finalized,
            How::Gone => Condition::Dead,
            How::Stopped => Condition::Stopped,
            How::InMpi | How::Outside => Condition::Still,
        }
    }

    /// What the graph is to know: a rank waits if all of its threads that have ever called MPI do.
    fn state(&self) -> State {
        let inside = self.inside();
        let waits = inside.len() == self.first.threads.len();
        state(self.first, if waits { &inside } else { &[] }, self.condition())
    }

    fn rank(&self) -> Rank {
        let threads = &self.second.threads;
        let inside = threads.iter().find(|thread| thread.is_inside);
        let thread = inside.or_else(|| threads.iter().max_by_key(|thread| thread.since));
        Rank {
            host: self.second.host.clone(),
            how: self.how(),
            call: thread.map(|thread| (thread.function, thread.site.clone())),
            calls: self.second.calls(),
            for_whom: Vec::new(),
        }
    }
}

impl Sample {
    /// Reads all files of a run twice: what is the same both times of each rank was so of all of them at the moment between.
    pub(super) fn of(run: &Run) -> Self {
        let read = || run.files.iter().map(|file| Snapshot::read(file).ok());
        let first: Vec<_> = read().collect();
        let at = Instant::now();
        // One that is gone has finalized meanwhile.
        let both = first.into_iter().zip(read()).filter_map(|(first, second)| first.zip(second));
        let (first, second): (Vec<Snapshot>, Vec<Snapshot>) = both.unzip();
        let circumstances = Circumstances::of(run);
        let mut worlds = BTreeMap::new();
        for members in by_world(&second) {
            let seen = Seen::of(members.iter().map(|at| &second[*at]), &circumstances);
            let twice = |at: &usize| {
                let (first, second) = (&first[*at], &second[*at]);
                Twice { first, second, life: life(second) }
            };
            let members: Vec<Twice<'_>> = members.iter().map(twice).collect();
            let name = members.first().map_or("", |one| &one.second.world);
            // Worlds that were spawned may have the name of the one before.
            let others = worlds.keys().filter(|other: &&String| other.starts_with(name)).count();
            let name = if others == 0 { name.into() } else { format!("{name} ({})", others + 1) };
            worlds.insert(name, World::of(&members, &seen));
        }
        Self { at, worlds }
    }

    /// Are all ranks that are seen at their end?
    pub(super) fn is_over(&self) -> bool {
        let is_over = |rank: &Rank| matches!(rank.how, How::Gone | How::Finalized);
        self.worlds.values().all(|world| world.ranks.values().all(is_over))
    }
}

impl World {
    fn of(members: &[Twice<'_>], seen: &Seen) -> Self {
        let numbered = || members.iter().filter_map(|twice| Some((twice.second.rank?, twice)));
        let states: BTreeMap<u32, State> =
            numbered().map(|(rank, twice)| (rank, twice.state())).collect();
        let largest = numbered().filter_map(|(_, twice)| twice.second.size).max().unwrap_or(0);
        let size = largest
            .max(seen.size.unwrap_or(0))
            .max(states.keys().next_back().map_or(0, |rank| rank + 1));
        let waits = Waits::of(&Graph::new(size, &states).judge().edges);
        let ranks = numbered().map(|(number, twice)| {
            let for_whom = waits.for_whom(number);
            (number, Rank { for_whom, ..twice.rank() })
        });
        let program = members.first().map_or(String::new(), |one| one.second.program.clone());
        Self { size, program, ranks: ranks.collect(), unseen: seen.sentence() }
    }
}

/// Who waits for whom.
struct Waits(BTreeMap<u32, Vec<u32>>);

/// So many of those that one waits for are told.
const MOST: usize = 4;

impl Waits {
    /// A rank that waits for one of several, nobody knows which, waits for nobody here.
    fn of(edges: &[Edge]) -> Self {
        let mut waits: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut choices: BTreeMap<u32, usize> = BTreeMap::new();
        for edge in edges {
            waits.entry(edge.from).or_default().push(edge.to);
            if edge.is_choice {
                *choices.entry(edge.from).or_default() += 1;
            }
        }
        for (rank, count) in choices {
            if count > 1
                && let Some(whom) = waits.get_mut(&rank)
            {
                whom.clear();
            }
        }
        Self(waits)
    }

    /// At the ends of all ways from a rank: those that do not wait.
    fn for_whom(&self, rank: u32) -> Vec<u32> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::from([rank]);
        let mut open = self.0.get(&rank).cloned().unwrap_or_default();
        while let Some(next) = open.pop() {
            if !seen.insert(next) {
                continue;
            }
            match self.0.get(&next) {
                Some(further) => open.extend(further),
                None => found.push(next),
            }
        }
        found.sort_unstable();
        found.truncate(MOST);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hang::graph::Reason;

    fn edge(from: u32, to: u32, is_choice: bool) -> Edge {
        Edge { from, to, reason: Reason::Send, is_choice }
    }

    /// 3 waits for 2, which waits for 1, which waits for 0: all wait for 0.
    #[test]
    fn the_end_of_a_chain_is_waited_for() {
        let waits = Waits::of(&[edge(1, 0, false), edge(2, 1, false), edge(3, 2, false)]);
        for rank in 1..4 {
            assert_eq!(waits.for_whom(rank), [0], "{rank}");
        }
        assert_eq!(waits.for_whom(0), [0_u32; 0]);
    }

    #[test]
    fn a_circle_waits_for_nobody_else() {
        let waits = Waits::of(&[edge(0, 1, false), edge(1, 0, false)]);
        assert!(waits.for_whom(0).is_empty());
    }

    /// Nobody knows which of several it is; of one there is no choice.
    #[test]
    fn one_of_several_is_nobody() {
        let waits = Waits::of(&[edge(0, 1, true), edge(0, 2, true), edge(3, 1, true)]);
        assert!(waits.for_whom(0).is_empty());
        assert_eq!(waits.for_whom(3), [1]);
    }

    #[test]
    fn an_operation_of_all_waits_for_those_that_have_not_come() {
        let edges: Vec<_> =
            (2..5).flat_map(|from| [edge(from, 0, false), edge(from, 1, false)]).collect();
        assert_eq!(Waits::of(&edges).for_whom(4), [0, 1]);
    }
}
