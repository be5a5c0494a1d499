//! Where the time of a run goes, in the terms of POP, from the moment when `MPI_Init` has returned until `MPI_Finalize` is
//! called: parallel efficiency = load balance × communication efficiency, and the latter = serialization × input and output ×
//! transfer.
//!
//! Input and output are told from serialization by another such run, in which files take no time.
//!
//! Transfer is told from serialization by the run's length on an ideal machine (`ideal.rs`): one without latency, with
//! endless bandwidth, where MPI itself takes no time. `needs.rs`: what each call waits for there. `windows.rs`: the same of
//! parts of the run.

use std::collections::HashMap;

use mpi_facts::FunctionId::{self, MPI_Finalize};

use super::causes::is_init;
use super::messages::{Messages, Place};
use super::path::{Outer, outer};
use super::read::{Thread, Trace};
use super::waits::Operation;
use super::whole;
use ideal::Ideal;
use needs::Needs;
use windows::Window;

mod ideal;
mod needs;
#[cfg(test)]
mod tests;
mod windows;

/// So much of the time in MPI may be kept at most, as a part of 1: otherwise serialization and transfer are not told apart.
const MOST_KEPT: f64 = 0.05;

/// Of all ranks that have initialized MPI, by the threads that have done so.
#[derive(Debug)]
pub(super) struct Efficiency {
    /// When the last `MPI_Init` has returned, or from when on the trace has all calls of all ranks.
    pub(super) started: i64,
    pub(super) factors: Factors,
    /// How long these ranks are in MPI, all together.
    pub(super) mpi: i64,
    /// Of that, in calls of which the trace does not tell what they wait for: they take as long on the ideal machine.
    pub(super) kept: i64,
    /// Why serialization and transfer are not told apart, if they are not.
    pub(super) untold: Option<Untold>,
    /// Parts of the run, of equal length: from when the last `MPI_Init` has returned.
    pub(super) windows: Vec<Window>,
}

/// The times that efficiencies are made of: of a run, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Factors {
    /// The longest rank's, in nanoseconds.
    pub(super) time: i64,
    /// The mean useful time, that is not in MPI.
    pub(super) mean: f64,
    /// The longest useful time.
    pub(super) most: i64,
    /// The longest rank's time on the ideal machine, if it is known.
    pub(super) ideal: Option<i64>,
    /// The same if files took no time, if that is known, and there are any.
    pub(super) without_files: Option<i64>,
}

/// Why serialization and transfer are not told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Untold {
    /// Calls are missing in the trace.
    Missing,
    /// Of too many calls, the trace does not tell what they wait for.
    Kept,
}

impl Untold {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Missing => "calls are missing in the trace",
            Self::Kept => "the trace does not tell of enough calls what they wait for",
        }
    }
}

/// What time is lost by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    LoadImbalance,
    Communication,
    Serialization,
    Files,
    Transfer,
}

fn part(of: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| of / whole)
}

impl Factors {
    /// `None` if there is no time.
    pub(super) fn parallel(&self) -> Option<f64> {
        part(self.mean, self.time as f64)
    }

    /// `None` if nobody computes.
    pub(super) fn load_balance(&self) -> Option<f64> {
        part(self.mean, self.most as f64)
    }

    pub(super) fn communication(&self) -> Option<f64> {
        part(self.most as f64, self.time as f64)
    }

    pub(super) fn serialization(&self) -> Option<f64> {
        part(self.most as f64, self.without_files.or(self.ideal)? as f64)
    }

    pub(super) fn input_and_output(&self) -> Option<f64> {
        part(self.without_files? as f64, self.ideal? as f64)
    }

    pub(super) fn transfer(&self) -> Option<f64> {
        part(self.ideal? as f64, self.time as f64)
    }

    /// Each efficiency: how deep it lies in the tree, its name, and how much it is.
    pub(super) fn tree(&self) -> [(usize, &'static str, Option<f64>); 6] {
        [
            (0, "parallel efficiency", self.parallel()),
            (1, "load balance", self.load_balance()),
            (1, "communication efficiency", self.communication()),
            (2, "serialization efficiency", self.serialization()),
            (2, "input and output efficiency", self.input_and_output()),
            (2, "transfer efficiency", self.transfer()),
        ]
    }

    /// What each leaf of the tree costs, in nanoseconds: all together, the time less the mean useful time.
    fn costs(&self) -> Vec<(Leaf, f64)> {
        let imbalance = (Leaf::LoadImbalance, self.most as f64 - self.mean);
        match self.ideal {
            None => vec![imbalance, (Leaf::Communication, (self.time - self.most) as f64)],
            Some(ideal) => {
                let without_files = self.without_files.unwrap_or(ideal);
                vec![
                    imbalance,
                    (Leaf::Serialization, (without_files - self.most) as f64),
                    (Leaf::Files, (ideal - without_files) as f64),
                    (Leaf::Transfer, (self.time - ideal) as f64),
                ]
            }
        }
    }

    /// The leaf that costs most, and how much. `None` if none costs anything.
    pub(super) fn worst(&self) -> Option<(Leaf, f64)> {
        let costs = self.costs().into_iter().filter(|(_, cost)| *cost > 0.0);
        costs.max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

impl Efficiency {
    /// `None` if no rank's `MPI_Init` is in the trace, or nothing comes behind it, or it [cannot be told](whole::untold).
    pub(super) fn of(trace: &Trace, messages: &Messages, operations: &[Operation]) -> Option<Self> {
        if whole::untold(trace).is_some() {
            return None;
        }
        let ranks = Ranks::of(trace);
        let all = || ranks.all.iter();
        let time = all().map(Rank::time).max()?;
        let most = all().map(Rank::useful).max()?;
        let started = all().map(|rank| rank.started).max()?;
        if most <= 0 || time <= 0 {
            return None;
        }
        let mean = all().map(Rank::useful).sum::<i64>() as f64 / ranks.all.len() as f64;
        let mpi = all().map(Rank::mpi).sum();
        let mut factors = Factors { time, mean, most, ideal: None, without_files: None };
        if is_incomplete(trace) {
            let windows = windows::of(&ranks, None, None, started);
            let untold = Some(Untold::Missing);
            return Some(Self { started, factors, mpi, kept: 0, untold, windows });
        }
        let needs = Needs::of(trace, messages, operations, &ranks);
        let without_files = needs.without_files();
        let ideal = Ideal::of(&ranks, needs);
        let is_known = ideal.kept as f64 <= MOST_KEPT * mpi as f64;
        let without_files =
            without_files.filter(|_| is_known).map(|needs| Ideal::of(&ranks, needs));
        factors.ideal = is_known.then_some(ideal.length);
        factors.without_files =
            without_files.as_ref().map(|of| of.length.clamp(most.min(ideal.length), ideal.length));
        let windows =
            windows::of(&ranks, is_known.then_some(&ideal), without_files.as_ref(), started);
        let untold = (!is_known).then_some(Untold::Kept);
        Some(Self { started, factors, mpi, kept: ideal.kept, untold, windows })
    }
}

/// Are calls missing in a trace that others may have waited for?
fn is_incomplete(trace: &Trace) -> bool {
    use mpi_facts::trace::filter;
    whole::since(trace).is_some()
        || trace.processes.iter().any(|process| process.filter & filter::RANKS != 0)
}

/// A thread that has initialized MPI, from then until it calls `MPI_Finalize`, or until the end of its last call.
#[derive(Debug)]
struct Rank {
    process: usize,
    thread: usize,
    started: i64,
    end: i64,
    /// Those that are not inside of others, one behind the other.
    calls: Vec<Outer>,
    /// The number of the first of them, among all ranks' calls.
    first: u32,
    /// By the thread's calls: the number of the call that each is, or is inside of.
    numbers: Vec<Option<u32>>,
}

impl Rank {
    /// `None` of a thread that has not initialized MPI.
    ///
    /// With a time from which on the trace has all calls, that is a thread of a process of which it does not have `MPI_Init`, too, and
    /// it starts at this time.
    fn of(
        [process, thread]: [usize; 2],
        of: &Thread,
        since: Option<i64>,
        first: u32,
    ) -> Option<Self> {
        let outer = outer(of);
        let find = |is_it: fn(FunctionId) -> bool| {
            outer.iter().find(|call| is_it(of.calls[call.at].function))
        };
        let started = find(is_init).map(|call| call.end).max(since)?;
        let end = find(|function| function == MPI_Finalize)
            .map_or_else(|| outer.iter().map(|call| call.end).max(), |call| Some(call.begin))?;
        let mut last = started;
        let inside = outer
            .iter()
            .filter(|call| (call.begin >= started || call.end > started) && call.end <= end);
        let calls: Vec<Outer> = inside
            .map(|call| {
                let begin = call.begin.max(last);
                last = call.end.max(begin);
                Outer { at: call.at, begin, end: last }
            })
            .collect();
        let mut numbers = vec![None; of.calls.len()];
        for (number, call) in (first..).zip(&calls) {
            numbers[call.at] = Some(number);
        }
        for (number, call) in numbers.iter_mut().zip(&of.calls) {
            let behind = calls.partition_point(|outer| outer.begin <= call.begin);
            if number.is_none()
                && let Some(outer) = behind.checked_sub(1)
                && call.end <= calls[outer].end
            {
                *number = Some(first + outer as u32);
            }
        }
        Some(Self { process, thread, started, end, calls, first, numbers })
    }

    fn time(&self) -> i64 {
        self.end - self.started
    }

    fn mpi(&self) -> i64 {
        self.calls.iter().map(|call| call.end - call.begin).sum()
    }

    fn useful(&self) -> i64 {
        self.time() - self.mpi()
    }

    /// How long it computes before a call, and behind its last one.
    fn computes_before(&self, at: usize) -> i64 {
        let begin = at.checked_sub(1).map_or(self.started, |last| self.calls[last].end);
        let end = self.calls.get(at).map_or(self.end, |call| call.begin);
        end - begin
    }
}

/// All of them.
#[derive(Debug)]
struct Ranks {
    all: Vec<Rank>,
    /// By process and thread: which of them it is.
    known: HashMap<(usize, usize), usize>,
    /// How many calls they have.
    calls: u32,
}

impl Ranks {
    fn of(trace: &Trace) -> Self {
        let mut ranks = Self { all: Vec::new(), known: HashMap::new(), calls: 0 };
        let since = whole::since(trace);
        for (process, all) in trace.processes.iter().enumerate() {
            for (thread, of) in all.threads.iter().enumerate() {
                // Others have nothing to do with MPI.
                let since = since.filter(|_| whole::talks(of));
                let Some(rank) = Rank::of([process, thread], of, since, ranks.calls) else {
                    continue;
                };
                ranks.calls += rank.calls.len() as u32;
                ranks.known.insert((process, thread), ranks.all.len());
                ranks.all.push(rank);
            }
        }
        ranks
    }

    /// The number of the call that one is, or is inside of. `None` if it is of another thread, or of another time.
    fn number(&self, place: Place) -> Option<u32> {
        let rank = *self.known.get(&(place.process(), place.thread()))?;
        self.all[rank].numbers[place.call()]
    }
}
