//! How long ranks must stand before they are judged: in looks, of which there are four in a second.
//!
//! A rank that polls may stop at any time, for a reason that no call shows: a file, a clock, a word in memory. So it counts as
//! waiting only if it has done nothing else for ten seconds, without a pause between its looks, and if besides nobody else can
//! do anything.

use std::time::Duration;

use crate::judge::How;
use crate::picture::{Picture, State};

/// How many looks must show the same.
pub const LOOKS: u32 = 5;
/// The same where somebody is in an operation that need not wait, and does.
pub const STRICT: u32 = 15;
/// The same where somebody polls.
pub const POLLS: u32 = 40;
/// Who polls less often in a second does something else between, or sleeps.
pub const LEAST_POLLS: f64 = 4000.0;

/// A rank that waits, and how many calls it has begun and ended.
pub type Waiting = (u32, u64);

/// How long the same ranks have been at the same calls.
#[derive(Debug, Clone, Default)]
pub struct Patience {
    before: Vec<Waiting>,
    same: u32,
    /// How often ranks had polled when they had stood for a while.
    polls: Option<(Duration, Vec<u64>)>,
}

impl Patience {
    /// A look: have the ranks that wait been the same at the same calls for long enough to be judged? `is_over`: nobody of this host
    /// waits, but others may wait for what its ranks will not do any more.
    pub fn look(&mut self, waiting: Vec<Waiting>, is_over: impl FnOnce() -> bool) -> bool {
        if waiting.is_empty() && !is_over() || waiting != self.before {
            self.before = waiting;
            self.same = 0;
            return false;
        }
        self.same = (self.same + 1).min(POLLS);
        self.same >= LOOKS
    }

    /// Not all is known.
    pub fn forget(&mut self) {
        self.before.clear();
    }

    /// Are the ranks still at the calls of the last look?
    pub fn is_same(&self, waiting: &[Waiting]) -> bool {
        self.before == waiting
    }

    /// What counts as waiting in a picture that was taken at `now`, by any clock.
    pub fn how(&mut self, now: Duration, picture: &Picture) -> How {
        if self.same == LOOKS {
            let polls = picture.ranks.iter().map(|of| of.polls).collect();
            self.polls = Some((now, polls));
        }
        let polling = if self.same >= POLLS { self.spinning(now, picture) } else { Vec::new() };
        How { is_strict: self.same >= STRICT, polling }
    }

    /// The ranks that have polled without a pause since.
    fn spinning(&self, now: Duration, picture: &Picture) -> Vec<usize> {
        let Some((begin, before)) = &self.polls else { return Vec::new() };
        let least = now.saturating_sub(*begin).as_secs_f64() * LEAST_POLLS;
        let is_spinning = |rank: &usize| {
            let of = &picture.ranks[*rank];
            let polls = of.polls.saturating_sub(before.get(*rank).copied().unwrap_or(0));
            of.state == State::Polling && polls as f64 >= least
        };
        (0..picture.ranks.len()).filter(is_spinning).collect()
    }
}
