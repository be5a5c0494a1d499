//! How long the phases of a program took in this process.
//!
//! A phase has a number, of the program's own, and may have a name. It may begin again and again: its time is added up.
//! Reading takes no lock and allocates nothing, so that a report can be written in a signal handler.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::hosts::{HostBalance, balance};
use super::merged::{RunTimes, Spread};

/// So many phases have their times told.
const MOST: usize = 64;

#[derive(Debug)]
struct Phase {
    /// 0 if there is none here yet.
    number: AtomicU32,
    /// Of the times that are over.
    ticks: AtomicU64,
    /// The first one that it was given.
    name: OnceLock<Box<str>>,
}

impl Phase {
    const fn none() -> Self {
        Self { number: AtomicU32::new(0), ticks: AtomicU64::new(0), name: OnceLock::new() }
    }
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Phases {
    all: [Phase; MOST],
    /// The one that goes on, as its place plus one, or 0; and since when.
    current: AtomicU32,
    since: AtomicU64,
    /// Somebody is changing them.
    is_taken: AtomicBool,
}

impl Phases {
    pub(crate) const fn new() -> Self {
        Self {
            all: [const { Phase::none() }; MOST],
            current: AtomicU32::new(0),
            since: AtomicU64::new(0),
            is_taken: AtomicBool::new(false),
        }
    }

    /// A phase begins now, and ends the one before it; 0 only ends that. Threads that say so at once are not ordered, so one
    /// of them is as right as the other, and none waits.
    pub(crate) fn begin(&self, number: u32, now: u64) {
        if self.is_taken.swap(true, Acquire) {
            return;
        }
        if let Some(phase) = self.current() {
            let took = now.saturating_sub(self.since.load(Relaxed));
            phase.ticks.fetch_add(took, Relaxed);
        }
        let is_its = |phase: &Phase| [0, number].contains(&phase.number.load(Relaxed));
        let place = self.all.iter().position(is_its).filter(|_| number != 0);
        self.since.store(now, Relaxed);
        if let Some(place) = place {
            self.all[place].number.store(number, Relaxed);
        }
        self.current.store(place.map_or(0, |place| place as u32 + 1), Relaxed);
        self.is_taken.store(false, Release);
    }

    /// A phase that has begun has this name, unless it has one already. Allocates, if it has none.
    pub(crate) fn name(&self, number: u32, name: &str) {
        if let Some(phase) = self.find(number) {
            phase.name.get_or_init(|| name.into());
        }
    }

    /// A phase's name; empty if it has none.
    pub(crate) fn name_of(&self, number: u32) -> &str {
        self.find(number).and_then(|phase| phase.name.get()).map_or("", |name| name)
    }

    /// A phase that has begun.
    fn find(&self, number: u32) -> Option<&Phase> {
        self.all.iter().find(|phase| number != 0 && phase.number.load(Relaxed) == number)
    }

    fn current(&self) -> Option<&Phase> {
        self.all.get(self.current.load(Relaxed).checked_sub(1)? as usize)
    }

    /// Calls `each` with the number of each phase, its name, which may be empty, and its time up to now.
    pub(crate) fn each(&self, now: u64, mut each: impl FnMut(u32, &str, u64)) {
        for (place, phase) in self.all.iter().enumerate() {
            let number = phase.number.load(Relaxed);
            if number == 0 {
                return;
            }
            let goes_on = self.current.load(Relaxed) == place as u32 + 1;
            let since = if goes_on { self.since.load(Relaxed) } else { now };
            let name = phase.name.get().map_or("", |name| name);
            each(number, name, phase.ticks.load(Relaxed) + now.saturating_sub(since));
        }
    }
}

/// So many hosts have their work in a phase told apart: of more, nothing is said of within and between them.
const MOST_HOSTS: usize = 1024;

/// A phase of one rank or of several.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MergedPhase {
    /// Empty if it has none.
    pub(crate) name: String,
    /// Of the ranks that had it.
    pub(crate) times: RunTimes,
    /// The useful time of these ranks by their host's name; not all of it if there are too many hosts.
    pub(crate) hosts: BTreeMap<String, Spread>,
}

impl MergedPhase {
    /// Of one rank, on a host.
    pub(crate) fn of(name: &str, times: RunTimes, host: String) -> Self {
        Self { name: name.to_owned(), times, hosts: BTreeMap::from([(host, times.useful)]) }
    }

    /// Adds other ranks'.
    pub(crate) fn add(&mut self, other: Self) {
        if self.name.is_empty() {
            self.name = other.name;
        }
        self.times = self.times.and(other.times);
        for (name, useful) in other.hosts {
            let here = self.hosts.entry(name);
            here.and_modify(|here| *here = here.and(useful)).or_insert(useful);
        }
        if self.hosts.len() > MOST_HOSTS {
            self.hosts.clear();
        }
    }

    /// Load balance within and between hosts; none on one host, where not all hosts are known, or if no rank has done
    /// anything of its own.
    pub(crate) fn balance(&self) -> Option<HostBalance> {
        let known: u64 = self.hosts.values().map(|useful| useful.ranks).sum();
        balance(self.hosts.values().copied()).filter(|_| known == self.times.useful.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(phases: &Phases, now: u64) -> Vec<(u32, u64)> {
        let mut told = Vec::new();
        phases.each(now, |number, _, ticks| told.push((number, ticks)));
        told
    }

    /// By hand: phase 7 from 10 to 15 and from 40 to 41, phase 2 from 15 to 30, and from 41 on.
    #[test]
    fn times_of_a_phase_are_added_up() {
        let phases = Phases::new();
        assert_eq!(told(&phases, 5), []);
        for (number, now) in [(7, 10), (2, 15), (0, 30), (7, 40), (2, 41)] {
            phases.begin(number, now);
        }
        assert_eq!(told(&phases, 43), [(7, 6), (2, 17)]);
        phases.begin(0, 50);
        assert_eq!(told(&phases, 60), [(7, 6), (2, 24)]);
    }

    /// The first name stays, and a phase that has not begun gets none.
    #[test]
    fn a_phase_keeps_its_first_name() {
        let phases = Phases::new();
        phases.begin(7, 10);
        for (number, name) in [(7, "solver"), (7, "other"), (0, "none"), (2, "early")] {
            phases.name(number, name);
        }
        phases.begin(2, 15);
        let mut told = Vec::new();
        phases.each(20, |number, name, _| told.push((number, name.to_owned())));
        assert_eq!(told, [(7, "solver".to_owned()), (2, String::new())]);
    }

    #[test]
    fn what_has_no_room_ends_the_phase_before_it() {
        let phases = Phases::new();
        for number in 1..=MOST as u32 + 1 {
            phases.begin(number, u64::from(number));
        }
        let told = told(&phases, 1000);
        assert_eq!((told.len(), told[MOST - 1]), (MOST, (MOST as u32, 1)));
    }
}
