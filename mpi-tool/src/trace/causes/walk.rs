//! What made one rank come later than the other: both of their pasts, back to the moment that they have in common, and what
//! the past of the late one has beyond the other's.

use super::lines::{Activity, Back, Lines, SpotNumber};

/// Where a walk back in time is.
#[derive(Debug, Clone, Copy)]
struct Head {
    line: u32,
    time: i64,
    /// The process that waited when the walk came to this thread.
    via: u32,
    /// How many waits there were one behind the other without a step back in time.
    jumps: usize,
}

/// A piece of the late rank's past.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    activity: Activity,
    process: u32,
    via: u32,
    length: i64,
    begin: i64,
}

/// A part of a wait, and its cause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) activity: Activity,
    /// The process that did it.
    pub(super) process: u32,
    /// The process that waited for it, and passed that on.
    pub(super) via: u32,
    /// In nanoseconds.
    pub(super) time: f64,
    /// The longest piece of it: when it began, and how long it took.
    pub(super) longest: (i64, i64),
}

/// What both sides have of an activity.
#[derive(Debug, Clone)]
struct Compared {
    activity: Activity,
    /// Where its pieces of the late side are.
    late: core::ops::Range<usize>,
    /// How often the early side has it, and how long.
    early: (usize, i64),
    /// What the late side has beyond the early one; less than 0 if it is the other way round.
    excess: f64,
}

/// Compares pasts. Its memory is used again for each wait.
pub(super) struct Walker<'a> {
    lines: &'a Lines,
    late: Vec<Piece>,
    early: Vec<(Activity, i64)>,
    compared: Vec<Compared>,
    parts: Vec<Part>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(lines: &'a Lines) -> Self {
        let (late, early, compared, parts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { lines, late, early, compared, parts }
    }

    /// Distributes a wait over its causes: a thread has waited from `begin` until `end` for another one. At most so many steps
    /// are taken. Returns the parts, whose sum is the wait's time, how many steps it took, and whether these were enough to
    /// come to the moment that both have in common.
    pub(super) fn causes(
        &mut self,
        waiting: u32,
        begin: i64,
        until: u32,
        end: i64,
        most: usize,
    ) -> (&[Part], usize, bool) {
        self.late.clear();
        self.early.clear();
        let via = self.lines.process(waiting);
        let mut late = Head { line: until, time: end, via, jumps: 0 };
        let mut early = Head { line: waiting, time: begin, via, jumps: 0 };
        let mut steps = 0;
        let is_whole = loop {
            let is_met = late.line == early.line && late.time == early.time;
            if is_met || late.time <= 0 && early.time <= 0 {
                break true;
            }
            if steps >= most {
                break false;
            }
            steps += 1;
            // The later one goes back, so that neither passes the moment when they were together without the other's noticing.
            if late.time >= early.time {
                let from = late;
                let floor = if late.line == early.line { early.time } else { i64::MIN };
                if let Some(activity) = late.back(self.lines, floor) {
                    self.late.push(Piece {
                        activity,
                        process: self.lines.process(from.line),
                        via: from.via,
                        length: from.time - late.time,
                        begin: late.time,
                    });
                }
            } else {
                let from = early;
                let floor = if late.line == early.line { late.time } else { i64::MIN };
                if let Some(activity) = early.back(self.lines, floor) {
                    self.early.push((activity, from.time - early.time));
                }
            }
        };
        self.compare();
        self.distribute((end - begin) as f64);
        (&self.parts, steps, is_whole)
    }

    /// Finds what the late side has of each activity beyond the early one.
    fn compare(&mut self) {
        self.late.sort_unstable();
        self.early.sort_unstable();
        self.compared.clear();
        let mut early = self.early.chunk_by(|one, other| one.0 == other.0).peekable();
        let of = |chunk: &[(Activity, i64)]| {
            (chunk.len(), chunk.iter().map(|(_, time)| time).sum::<i64>())
        };
        let mut from = 0;
        for chunk in self.late.chunk_by(|one, other| one.activity == other.activity) {
            let activity = chunk[0].activity;
            while let Some(only) = early.next_if(|chunk| chunk[0].0 < activity) {
                self.compared.push(Compared::new(only[0].0, from..from, 0, of(only)));
            }
            let of_early = early.next_if(|chunk| chunk[0].0 == activity).map_or((0, 0), of);
            let time = chunk.iter().map(|piece| piece.length).sum();
            let range = from..from + chunk.len();
            from = range.end;
            self.compared.push(Compared::new(activity, range, time, of_early));
        }
        for only in early {
            self.compared.push(Compared::new(only[0].0, from..from, 0, of(only)));
        }
        // The same code ends in another call on ranks that have other neighbours, or begins behind another one.
        let computing = |activity: Activity| match activity {
            Activity::Computing { before, after } => Some((before, after)),
            _ => None,
        };
        cancel(&mut self.compared, |activity| computing(activity).and_then(|(before, _)| before));
        cancel(&mut self.compared, |activity| computing(activity).and_then(|(_, after)| after));
        // And MPI's own time is in the sends of one rank where it is in another one's receives.
        let transfer = |activity| matches!(activity, Activity::Transfer(_)).then_some(0);
        cancel(&mut self.compared, transfer);
    }

    /// Distributes a time over what the late side has beyond the early one.
    fn distribute(&mut self, time: f64) {
        self.parts.clear();
        let excess = |one: &Compared| one.excess.max(0.0);
        let whole: f64 = self.compared.iter().map(excess).sum();
        // Nothing is left if the walk was too short: then the late side's past is all that is known.
        let is_known = whole > 0.0;
        let all: i64 = self.late.iter().map(|piece| piece.length).sum();
        for one in &self.compared {
            let pieces = &self.late[one.late.clone()];
            let length: i64 = pieces.iter().map(|piece| piece.length).sum();
            let share =
                if is_known { excess(one) / whole } else { length as f64 / (all as f64).max(1.0) };
            if share <= 0.0 {
                continue;
            }
            // Of several ranks, those have caused it whose pieces are longer than the early side's.
            let mean = one.early.1 as f64 / (one.early.0 as f64).max(1.0);
            let same =
                |one: &Piece, other: &Piece| (one.process, one.via) == (other.process, other.via);
            let of = |pieces: &[Piece]| {
                let time = pieces.iter().map(|piece| piece.length).sum::<i64>() as f64;
                (time, (time - pieces.len() as f64 * mean).max(0.0))
            };
            let beyond: f64 = pieces.chunk_by(same).map(|pieces| of(pieces).1).sum();
            for pieces in pieces.chunk_by(same) {
                let (length_of_this, beyond_of_this) = of(pieces);
                let of_this = if beyond > 0.0 {
                    beyond_of_this / beyond
                } else {
                    length_of_this / length as f64
                };
                let longest = pieces.last().map_or((0, 0), |last| (last.begin, last.length));
                let Piece { activity, process, via, .. } = pieces[0];
                if of_this > 0.0 {
                    let time = time * share * of_this;
                    self.parts.push(Part { activity, process, via, time, longest });
                }
            }
        }
    }
}

impl Compared {
    fn new(
        activity: Activity,
        late: core::ops::Range<usize>,
        time: i64,
        early: (usize, i64),
    ) -> Self {
        Self { activity, late, early, excess: (time - early.1) as f64 }
    }
}

/// Sets off what one side has more of one activity against what the other one has more of another one, among those with one
/// key.
fn cancel(compared: &mut [Compared], key: impl Fn(Activity) -> Option<SpotNumber>) {
    if compared.iter().all(|one| one.excess >= 0.0) {
        return;
    }
    let mut order: Vec<(SpotNumber, usize)> =
        (0..).zip(compared.iter()).filter_map(|(at, one)| Some((key(one.activity)?, at))).collect();
    order.sort_unstable();
    for group in order.chunk_by(|one, other| one.0 == other.0) {
        let sum = |of: fn(f64) -> f64| -> f64 {
            group.iter().map(|(_, at)| of(compared[*at].excess)).sum()
        };
        let (more, less) = (sum(|excess| excess.max(0.0)), sum(|excess| (-excess).max(0.0)));
        let both = more.min(less);
        if both > 0.0 {
            for (_, at) in group {
                let excess = &mut compared[*at].excess;
                *excess *= 1.0 - both / if *excess > 0.0 { more } else { less };
            }
        }
    }
}

impl Head {
    /// Goes back by one step, not beyond a time. Returns what the thread did; `None` if it waited, and another one is to be
    /// looked at.
    fn back(&mut self, lines: &Lines, floor: i64) -> Option<Activity> {
        let (begin, activity) = match lines.back(self.line, self.time) {
            Back::Waited { until, .. } if self.jumps <= lines.count() => {
                self.via = lines.process(self.line);
                self.line = until;
                self.jumps += 1;
                return None;
            }
            Back::Waited { since, .. } => (since, Activity::Missing(super::lines::Reason::Clocks)),
            Back::Did { begin, activity } => (begin, activity),
        };
        self.jumps = 0;
        self.time = begin.max(floor).max(0).min(self.time);
        Some(activity)
    }
}
