//! Why ranks wait: each wait goes back to the code that made another rank late.
//!
//! A rank waits until another one comes. When that one comes, and when the first one came, are the ends of two pasts. Each of
//! them is walked back: through what the thread did, and where it has waited itself, over to the thread that it waited for, at
//! the moment when the wait ended. What a thread did before it waited is in no past, as it would not have been earlier without
//! it. Both pasts begin at the last moment that they have in common. So the wait is exactly as long as what the late past has
//! beyond the other one, and what it has beyond is the cause: of each activity (computing between two calls, by their call
//! sites; transfer in a call; start-up; files), the late side's time less the early side's. Where the early side has more of
//! another activity, the others' shares become less in proportion, so that the sum is the wait.
//!
//! A cause is direct if the rank that is waited for has done it, and indirect if that one was late since it had waited itself.
//!
//! Paths are those of Meira, `LeBlanc` and Poulos (Carnival, 1996), who explain a wait by comparing them; shares in proportion
//! to excess, and direct and indirect costs of delays, are those of Böhme et al. (ICPP 2010).

use std::collections::{BTreeMap, HashMap};

use super::messages::Messages;
use super::read::Trace;
use super::waits::{Operation, Wait};

mod lines;
#[cfg(test)]
pub(super) mod simulated;
#[cfg(test)]
mod tests;
mod text;
mod walk;

use lines::Lines;
pub(super) use lines::{Activity, Described, Reason, Spot, SpotNumber, is_init, may_wait};
pub(super) use text::{Row, lines as text, rows, share};
use walk::{Part, Walker};

/// All causes of waiting.
#[derive(Debug, Default)]
pub(super) struct Causes {
    /// What costs most is first.
    pub(super) all: Vec<Cause>,
    /// How long ranks wait, in nanoseconds: the sum of all causes.
    pub(super) waiting: i64,
    /// How much of it was compared over a part of both pasts only, since these are long.
    pub(super) shortened: i64,
    /// The calls that activities name.
    pub(super) spots: Vec<Spot>,
}

/// What makes ranks wait.
#[derive(Debug)]
pub(super) struct Cause {
    pub(super) activity: Activity,
    /// How long ranks wait for it, in nanoseconds.
    pub(super) time: f64,
    /// Of that, how long they wait for the rank itself that causes it, and not for one that has waited for it.
    pub(super) direct: f64,
    /// By the rank that causes it, the worst first.
    pub(super) ranks: Vec<OfRank>,
    /// By the rank that causes it, the one that passes it on, and the one that waits.
    pub(super) links: Vec<Link>,
}

/// A rank's part of a cause.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfRank {
    pub(super) process: usize,
    pub(super) time: f64,
    /// The longest piece of it: when it began, and how long it took.
    pub(super) longest: (i64, i64),
}

/// How a cause gets to a rank that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) process: usize,
    /// The first rank that has waited, unless it is the last one.
    pub(super) via: Option<usize>,
    pub(super) waiting: usize,
    pub(super) time: f64,
}

/// A part of a wait, by the wait's place among all.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfWait {
    pub(super) wait: usize,
    pub(super) activity: Activity,
    /// The process that causes it.
    pub(super) process: usize,
    /// The one that has waited for it first, and passed it on, unless that is the one that waits.
    pub(super) via: Option<usize>,
    /// In nanoseconds.
    pub(super) time: f64,
    /// The longest piece of the cause: when it began, and how long it took.
    pub(super) longest: (i64, i64),
}

/// So many steps back are free; and how many more there are for each step that a rank has taken, on the average.
const STEPS: usize = 1 << 20;
const STEPS_PER_CALL: usize = 32;

impl Causes {
    pub(super) fn of(
        trace: &Trace,
        messages: &Messages,
        operations: &[Operation],
        waits: &[Wait],
    ) -> Self {
        Self::within(trace, messages, operations, waits, STEPS, |_, _| {})
    }

    /// The same, and the causes of each wait.
    pub(super) fn with_parts(
        trace: &Trace,
        messages: &Messages,
        operations: &[Operation],
        waits: &[Wait],
    ) -> (Self, Vec<OfWait>) {
        let mut all = Vec::new();
        let causes = Self::within(trace, messages, operations, waits, STEPS, |wait, parts| {
            let waiting = waits[wait].call.process();
            all.extend(parts.iter().map(|part| {
                let Part { activity, process, via, time, longest } = *part;
                let via = (via as usize != waiting).then_some(via as usize);
                OfWait { wait, activity, process: process as usize, via, time, longest }
            }));
        });
        (causes, all)
    }

    /// With so many steps back that are free. `each` gets the parts of each wait, by its place among all.
    fn within(
        trace: &Trace,
        messages: &Messages,
        operations: &[Operation],
        waits: &[Wait],
        free: usize,
        mut each: impl FnMut(usize, &[Part]),
    ) -> Self {
        let mut lines = Lines::of(trace, messages, operations, waits);
        let mut causes = Self::default();
        let mut links: HashMap<(Activity, u32, u32, u32), f64> = HashMap::new();
        let mut longest: HashMap<(Activity, u32), (i64, i64)> = HashMap::new();
        // So the time that this takes does not grow with the square of the trace's length, whatever is in it.
        let calls = trace.calls().count();
        let more = 64 + STEPS_PER_CALL * calls / waits.len().max(1);
        let mut left = free;
        let mut walker = Walker::new(&lines);
        for (number, wait) in waits.iter().enumerate() {
            let begin = wait.begin;
            let [waiting, until] = [wait.call, wait.until]
                .map(|place| lines.number(place.process(), place.thread()) as u32);
            left += more;
            let most = (left / 2).max(64);
            let (parts, steps, is_whole) =
                walker.causes(waiting, begin, until, begin + wait.time, most);
            left = left.saturating_sub(steps);
            causes.waiting += wait.time;
            causes.shortened += if is_whole { 0 } else { wait.time };
            let waiting = wait.call.process() as u32;
            each(number, parts);
            for part in parts {
                let key = (part.activity, part.process, part.via, waiting);
                *links.entry(key).or_default() += part.time;
                let longest = longest.entry((part.activity, part.process)).or_default();
                if part.longest.1 > longest.1 {
                    *longest = part.longest;
                }
            }
        }
        causes.add_up(links, &longest);
        causes.spots = core::mem::take(&mut lines.spots);
        causes
    }

    fn add_up(
        &mut self,
        links: HashMap<(Activity, u32, u32, u32), f64>,
        longest: &HashMap<(Activity, u32), (i64, i64)>,
    ) {
        let mut links: Vec<_> = links.into_iter().collect();
        links.sort_unstable_by_key(|(key, _)| *key);
        for of_activity in links.chunk_by(|one, other| one.0.0 == other.0.0) {
            let activity = of_activity[0].0.0;
            let mut cause =
                Cause { activity, time: 0.0, direct: 0.0, ranks: Vec::new(), links: Vec::new() };
            for of_rank in of_activity.chunk_by(|one, other| one.0.1 == other.0.1) {
                let process = of_rank[0].0.1;
                let time = of_rank.iter().map(|(_, time)| time).sum();
                let longest = longest.get(&(activity, process)).copied().unwrap_or_default();
                cause.ranks.push(OfRank { process: process as usize, time, longest });
                cause.time += time;
                for ((_, _, via, waiting), time) in of_rank {
                    let process = process as usize;
                    let via = (via != waiting).then_some(*via as usize);
                    if via.is_none() {
                        cause.direct += time;
                    }
                    let waiting = *waiting as usize;
                    cause.links.push(Link { process, via, waiting, time: *time });
                }
            }
            cause.ranks.sort_by(|one, other| {
                other.time.total_cmp(&one.time).then(one.process.cmp(&other.process))
            });
            cause.links.sort_by(|one, other| {
                let key = |link: &Link| (link.process, link.via, link.waiting);
                other.time.total_cmp(&one.time).then(key(one).cmp(&key(other)))
            });
            self.all.push(cause);
        }
        self.all.sort_by(|one, other| {
            other.time.total_cmp(&one.time).then(one.activity.cmp(&other.activity))
        });
    }
}

impl Cause {
    /// How long each rank waits for it, the longest first.
    pub(super) fn waiting(&self) -> Vec<(usize, f64)> {
        sums(self.links.iter().map(|link| (link.waiting, link.time)))
    }

    /// How long ranks wait for it that others pass on, by these, the longest first.
    pub(super) fn passed_on(&self) -> Vec<(usize, f64)> {
        sums(self.links.iter().filter_map(|link| Some((link.via?, link.time))))
    }

    /// Is it none, as the trace does not tell what it is?
    pub(super) const fn is_unknown(&self) -> bool {
        matches!(self.activity, Activity::Unjudged(_) | Activity::Missing(_))
    }
}

fn sums(parts: impl Iterator<Item = (usize, f64)>) -> Vec<(usize, f64)> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    parts.for_each(|(of, time)| *sums.entry(of).or_default() += time);
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    sums
}
