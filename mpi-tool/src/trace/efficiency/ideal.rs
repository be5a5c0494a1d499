//! The run on an ideal machine: without latency, with endless bandwidth, where MPI itself takes no time. Each rank computes
//! as long as it has, and its calls take only as long as they wait for others, or what they are known to need.
//!
//! No call ends later there than it has in the run, so the ideal run is never longer. By that, what a call waits for must
//! have begun before the call has ended. Where clocks contradict that, it counts as begun so much earlier.

use std::collections::HashMap;

use super::Ranks;
use super::needs::{Length, Needs};

/// The ideal run. Ranks begin when they have begun.
#[derive(Debug)]
pub(super) struct Ideal {
    /// By call: when it begins, how long it takes besides waiting, and when it ends.
    pub(super) calls: Vec<Replayed>,
    /// The longest rank's time.
    pub(super) length: i64,
    /// How long calls have taken of which nobody knows what they wait for.
    pub(super) kept: i64,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Replayed {
    pub(super) begin: i64,
    pub(super) kept: i64,
    pub(super) end: i64,
}

/// A moment that has not come.
const NEVER: i64 = i64::MIN;

/// A rank under way.
#[derive(Debug, Clone)]
struct Running {
    at: usize,
    /// Has its call begun?
    is_inside: bool,
    /// When its call begins, or may end by what is known.
    now: i64,
    /// The next of what its call waits for.
    next: usize,
}

/// Who has come to a meeting: how many have not, and when the last one of the others has.
#[derive(Debug, Clone, Copy)]
struct Gathered {
    missing: usize,
    last: i64,
}

struct Replay<'a> {
    ranks: &'a Ranks,
    needs: Needs,
    /// Where what a call waits for begins, and where what needs a moment does.
    waits: Vec<usize>,
    feeds: Vec<usize>,
    /// By call and meeting: when it comes, and when it has come in the run.
    ideal: Vec<i64>,
    measured: Vec<i64>,
    /// By meeting.
    gathered: Vec<Gathered>,
    running: Vec<Running>,
    /// Ranks that wait, by what they wait for, and those that need not any more.
    waiting: HashMap<u32, Vec<usize>>,
    ready: Vec<usize>,
    done: Ideal,
}

/// Where each number's pairs begin, in pairs that are sorted; and the end of all.
fn offsets(pairs: &[(u32, u32)], count: usize) -> Vec<usize> {
    let mut offsets = vec![0; count + 1];
    for (number, _) in pairs {
        offsets[*number as usize + 1] += 1;
    }
    for at in 0..count {
        offsets[at + 1] += offsets[at];
    }
    offsets
}

impl Ideal {
    pub(super) fn of(ranks: &Ranks, needs: Needs) -> Self {
        let (calls, meetings) = (ranks.calls as usize, needs.meetings as usize);
        let mut gathered = vec![Gathered { missing: 0, last: NEVER }; meetings];
        for (_, meeting) in &needs.feeds {
            gathered[*meeting as usize - calls].missing += 1;
        }
        let begins = ranks.all.iter().flat_map(|rank| &rank.calls).map(|call| call.begin);
        let running = |rank: &super::Rank| {
            let now = rank.started + rank.computes_before(0);
            Running { at: 0, is_inside: false, now, next: 0 }
        };
        let mut replay = Replay {
            ranks,
            waits: offsets(&needs.waits, calls),
            feeds: offsets(&needs.feeds, calls + meetings),
            needs,
            ideal: vec![NEVER; calls + meetings],
            measured: begins.chain(core::iter::repeat_n(NEVER, meetings)).collect(),
            gathered,
            running: ranks.all.iter().map(running).collect(),
            waiting: HashMap::new(),
            ready: (0..ranks.all.len()).collect(),
            done: Self { calls: vec![Replayed::default(); calls], length: 0, kept: 0 },
        };
        loop {
            while let Some(rank) = replay.ready.pop() {
                replay.go_on(rank);
            }
            if !replay.release() {
                break;
            }
        }
        for (rank, Running { now, .. }) in ranks.all.iter().zip(&replay.running) {
            replay.done.length = replay.done.length.max(now - rank.started);
        }
        replay.done
    }
}

impl Replay<'_> {
    /// Lets a rank go on until it must wait, or comes to its end.
    fn go_on(&mut self, number: usize) {
        let rank = &self.ranks.all[number];
        while let Some(call) = rank.calls.get(self.running[number].at) {
            let Running { at, is_inside, now, next } = &mut self.running[number];
            let own = rank.first as usize + *at;
            if !*is_inside {
                (*is_inside, *next) = (true, self.waits[own]);
                let begin = *now;
                let length = call.end - call.begin;
                let kept = match self.needs.lengths[own] {
                    Length::Nothing => 0,
                    Length::Files => length,
                    Length::Kept | Length::KeptFiles => {
                        self.done.kept += length;
                        length
                    }
                };
                *now += kept;
                self.done.calls[own] = Replayed { begin, kept, end: 0 };
                self.come(own, begin);
            }
            let Running { at, is_inside, now, next } = &mut self.running[number];
            while *next < self.waits[own + 1] {
                let until = self.needs.waits[*next].1;
                let ideal = self.ideal[until as usize];
                if ideal == NEVER {
                    self.waiting.entry(until).or_default().push(number);
                    return;
                }
                let early = (self.measured[until as usize] - call.end).max(0);
                *now = (*now).max(ideal - early);
                *next += 1;
            }
            self.done.calls[own].end = *now;
            *at += 1;
            *is_inside = false;
            *now += rank.computes_before(*at);
        }
    }

    /// A call has begun: so meetings may have come, and those who wait for these.
    fn come(&mut self, call: usize, ideal: i64) {
        let calls = self.ranks.calls as usize;
        self.ideal[call] = ideal;
        let mut come = vec![call];
        while let Some(one) = come.pop() {
            if let Some(waiting) = self.waiting.remove(&(one as u32)) {
                self.ready.extend(waiting);
            }
            for feed in self.feeds[one]..self.feeds[one + 1] {
                let meeting = self.needs.feeds[feed].1 as usize;
                self.measured[meeting] = self.measured[meeting].max(self.measured[one]);
                let gathered = &mut self.gathered[meeting - calls];
                gathered.missing -= 1;
                gathered.last = gathered.last.max(self.ideal[one]);
                if gathered.missing == 0 {
                    self.ideal[meeting] = gathered.last;
                    come.push(meeting);
                }
            }
        }
    }

    /// Ranks that wait for each other in a circle, which they have not done in the run: so the trace tells something wrong. The
    /// rank whose call ended first in the run goes on. `false` if no rank waits.
    fn release(&mut self) -> bool {
        let blocked = |(number, running): (usize, &Running)| {
            let rank = &self.ranks.all[number];
            let call = rank.calls.get(running.at)?;
            Some((call.end, number, rank.first as usize + running.at, call.end - call.begin))
        };
        let first = self.running.iter().enumerate().filter_map(blocked).min();
        let Some((_, number, call, length)) = first else { return false };
        self.waiting.values_mut().for_each(|waiting| waiting.retain(|one| *one != number));
        let running = &mut self.running[number];
        running.next = self.waits[call + 1];
        let replayed = &mut self.done.calls[call];
        running.now = running.now.max(replayed.begin + length);
        if !matches!(self.needs.lengths[call], Length::Kept | Length::KeptFiles) {
            self.done.kept += length;
        }
        replayed.kept = length;
        self.ready.push(number);
        true
    }
}
