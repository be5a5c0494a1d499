//! How long the phases of a program took in this process.
//!
//! A phase has a number, of the program's own. It may begin again and again: its time is added up. Reading takes no lock and
//! allocates nothing, so that a report can be written in a signal handler.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// So many phases have their times told.
const MOST: usize = 64;

#[derive(Debug)]
struct Phase {
    /// 0 if there is none here yet.
    number: AtomicU32,
    /// Of the times that are over.
    ticks: AtomicU64,
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
            all: [const { Phase { number: AtomicU32::new(0), ticks: AtomicU64::new(0) } }; MOST],
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

    fn current(&self) -> Option<&Phase> {
        self.all.get(self.current.load(Relaxed).checked_sub(1)? as usize)
    }

    /// Calls `each` with the number of each phase, and its time up to now.
    pub(crate) fn each(&self, now: u64, mut each: impl FnMut(u32, u64)) {
        for (place, phase) in self.all.iter().enumerate() {
            let number = phase.number.load(Relaxed);
            if number == 0 {
                return;
            }
            let goes_on = self.current.load(Relaxed) == place as u32 + 1;
            let since = if goes_on { self.since.load(Relaxed) } else { now };
            each(number, phase.ticks.load(Relaxed) + now.saturating_sub(since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(phases: &Phases, now: u64) -> Vec<(u32, u64)> {
        let mut told = Vec::new();
        phases.each(now, |number, ticks| told.push((number, ticks)));
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
