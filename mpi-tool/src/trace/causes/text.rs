//! Causes of waiting, as sentences.

use std::fmt::Write as _;

use mpi_facts::FunctionId;

use super::super::polls::is_poll;
use super::super::read::Trace;
use super::super::text::{count, name as rank, seconds};
use super::super::waits::passes_data_on;
use super::{Activity, Cause, Causes, Reason, Spot, SpotNumber};

/// A screen has so many causes.
const SCREEN: usize = 10;

/// Of the others, those are named that cost at least this share of all waiting.
const LEAST_SHARE: f64 = 0.005;

/// What ranks wait for, what costs most first, in so many lines at most; 0 for all.
pub(in crate::trace) fn lines(trace: &Trace, causes: &Causes, top: usize) -> String {
    let mut text = String::new();
    if causes.waiting == 0 {
        return text;
    }
    let _ = writeln!(text, "causes of waiting ({} in all):", seconds(causes.waiting));
    for Row { time, text: row } in rows(trace, causes, top) {
        let share = share(causes, time);
        let _ = writeln!(text, "{:>12}  {share:>5.1} %  {row}", seconds(time as i64));
    }
    if causes.have_no_lines() {
        let hint = "source lines of these calls: record with MPI_TOOL_MPI_TRACE_DEPTH=1";
        let _ = writeln!(text, "({hint})");
    }
    text
}

/// A cause, or several, in a sentence.
pub(in crate::trace) struct Row {
    /// How long ranks wait for it, in nanoseconds.
    pub(in crate::trace) time: f64,
    pub(in crate::trace) text: String,
}

/// In percent of all waiting.
pub(in crate::trace) fn share(causes: &Causes, time: f64) -> f64 {
    time * 100.0 / causes.waiting.max(1) as f64
}

/// So many causes, a row for the others, and one for what has no known cause. 0 is all causes.
pub(in crate::trace) fn rows(trace: &Trace, causes: &Causes, top: usize) -> Vec<Row> {
    let (unknown, known): (Vec<&Cause>, Vec<&Cause>) =
        causes.all.iter().partition(|cause| cause.is_unknown());
    let is_worth_a_line = |cause: &&&Cause| cause.time >= LEAST_SHARE * causes.waiting as f64;
    let most = match top {
        0 => known.len(),
        _ => known.iter().take_while(is_worth_a_line).count().max(1).min(top).min(SCREEN),
    };
    let (shown, rest) = known.split_at(most.min(known.len()));
    let sum = |causes: &[&Cause]| causes.iter().map(|cause| cause.time).sum::<f64>();
    let mut rows = Vec::new();
    for cause in shown {
        rows.push(Row { time: cause.time, text: sentence(trace, causes, cause) });
    }
    if !rest.is_empty() {
        let text = format!("{}: --top 0", count(rest.len(), "other cause"));
        rows.push(Row { time: sum(rest), text });
    }
    if !unknown.is_empty() {
        let mut why: Vec<String> = Vec::new();
        for cause in unknown.iter().take(3) {
            let ranks = of_ranks(trace, cause);
            let is = if cause.is_of_one() { "is" } else { "are" };
            let what = match cause.activity {
                Activity::Unjudged(number) => format!(
                    "{ranks} {is} in {}, and the trace does not say for whom it waits",
                    spot(causes, number)
                ),
                Activity::Missing(reason) => format!("of {ranks} {}", reason.text()),
                _ => continue,
            };
            why.push(format!("{what} ({})", short(cause.time)));
        }
        if unknown.len() > 3 {
            why.push("and more".to_owned());
        }
        let text = format!("has no known cause: {}", why.join("; "));
        rows.push(Row { time: sum(&unknown), text });
    }
    if causes.shortened as f64 > 0.01 * causes.waiting as f64 {
        let text = "of this is compared over the last part only of what the ranks did before: they were not together for long";
        rows.push(Row { time: causes.shortened as f64, text: text.to_owned() });
    }
    rows
}

/// A time in a sentence.
fn short(time: f64) -> String {
    match time {
        time if time >= 1e6 => format!("{:.3} s", time / 1e9),
        time => format!("{:.1} µs", time / 1e3),
    }
}

/// A call, by its function and where it is.
fn spot(causes: &Causes, number: SpotNumber) -> String {
    let Spot { function, site } = &causes.spots[number as usize];
    let at = site.as_ref().map_or_else(String::new, |site| format!(" at {}", site.path));
    format!("{function}{at}")
}

/// What a cause is, without its ranks: `computes too long between …`, after one rank or after several.
fn name(causes: &Causes, activity: Activity, is_one: bool) -> String {
    let spot = |number| spot(causes, number);
    let verb = |one: &'static str, several: &'static str| if is_one { one } else { several };
    let function = |number: SpotNumber| causes.spots[number as usize].function;
    let is_polled = |before, after| {
        let may_be = |function| is_poll(function) || function == FunctionId::MPI_Wtime;
        let both = [function(before), function(after)];
        both.into_iter().all(may_be) && both.into_iter().any(is_poll)
    };
    let compute = match activity {
        Activity::Computing { before: Some(before), after: Some(after) }
            if is_polled(before, after) =>
        {
            verb("polls, or computes too long,", "poll, or compute too long,")
        }
        _ => verb("computes too long", "compute too long"),
    };
    match activity {
        Activity::Computing { before: Some(before), after: Some(after) } if before == after => {
            format!("{compute} between calls of {}", spot(before))
        }
        Activity::Computing { before: Some(before), after: Some(after) } => {
            format!("{compute} between {} and {}", spot(before), spot(after))
        }
        Activity::Computing { before: Some(before), after: None } => {
            format!("{compute} after {}", spot(before))
        }
        Activity::Computing { before: None, after: Some(after) } => {
            format!("{compute} before {}", spot(after))
        }
        Activity::Computing { before: None, after: None } => compute.to_owned(),
        Activity::Transfer(number) => {
            let takes = verb("takes", "take");
            let function = causes.spots[number as usize].function;
            let call = spot(number);
            if is_poll(function) {
                return format!("{} longer by calls of {call}", verb("polls", "poll"));
            }
            let why = if passes_data_on(function) {
                "(transfer, preempted, or another rank is missing that passes data on)"
            } else {
                "when nobody is missing (transfer, or preempted)"
            };
            format!("{takes} longer inside {call} {why}")
        }
        Activity::Files(number) => {
            let takes = verb("takes", "take");
            format!("{takes} longer for input and output, in {}", spot(number))
        }
        Activity::StartUp => {
            format!("{} up late (MPI_Init returns late)", verb("starts", "start"))
        }
        // These have a sentence of their own.
        Activity::Unjudged(number) => format!("{} in {}", verb("is", "are"), spot(number)),
        Activity::Missing(reason) => reason.text().to_owned(),
    }
}

impl Reason {
    /// Of ranks.
    pub(in crate::trace) const fn text(self) -> &'static str {
        match self {
            Self::Overwritten => "earlier calls are gone, as the files keep the last ones only",
            Self::NoRoom => "calls were not recorded, since there was no room for them",
            Self::Off => "calls are missing while MPI_Pcontrol had switched tracing off",
            Self::Clocks => "the times contradict each other, since the hosts' clocks differ",
        }
    }
}

impl Causes {
    /// Would call sites tell more of the worst cause?
    fn have_no_lines(&self) -> bool {
        let known = self.all.iter().find(|cause| !cause.is_unknown());
        known.is_some_and(|cause| cause.has_no_lines(&self.spots))
    }
}

impl Cause {
    /// Does one rank cause all of it, but for a hundredth?
    fn is_of_one(&self) -> bool {
        self.ranks.first().is_some_and(|worst| worst.time >= 0.99 * self.time)
    }

    /// Would call sites tell more?
    fn has_no_lines(&self, spots: &[Spot]) -> bool {
        match self.activity {
            Activity::Computing { before, after } => [before, after]
                .into_iter()
                .flatten()
                .any(|number| spots[number as usize].site.is_none()),
            _ => false,
        }
    }
}

/// `of waiting by 3 ranks: rank 2 computes too long between A and B; of this 0.4 s reach rank 0 by way of rank 1`.
fn sentence(trace: &Trace, causes: &Causes, cause: &Cause) -> String {
    let waiting = cause.waiting();
    let by = match &waiting[..] {
        [(only, _)] => rank(trace, *only),
        several => count(several.len(), "rank"),
    };
    let ranks = of_ranks(trace, cause);
    let what = name(causes, cause.activity, cause.is_of_one());
    let mut text = format!("of waiting by {by}: {ranks} {what}");
    if cause.has_no_lines(&causes.spots)
        && let Some(worst) = cause.ranks.first()
    {
        let (begin, length) = worst.longest;
        let _ = write!(text, ", longest at {} for {}", seconds(begin), short(length as f64));
    }
    let passed_on = cause.passed_on();
    let indirect: f64 = passed_on.iter().map(|(_, time)| time).sum();
    // Less is noise.
    if indirect >= 0.01 * cause.time
        && let [(most, most_time), others @ ..] = &passed_on[..]
    {
        let mut reached: Vec<usize> =
            cause.links.iter().filter(|link| link.via.is_some()).map(|link| link.waiting).collect();
        reached.sort_unstable();
        reached.dedup();
        let reached = match &reached[..] {
            [only] => rank(trace, *only),
            several => count(several.len(), "rank"),
        };
        let reach = short(indirect);
        let _ = match others {
            [] => {
                write!(text, "; of this {reach} reach {reached} by way of {}", rank(trace, *most))
            }
            _ => write!(
                text,
                "; of this {reach} reach {reached} by way of others, most ({}) by way of {}",
                short(*most_time),
                rank(trace, *most)
            ),
        };
    }
    text
}

/// The ranks that cause it. Those that cause little of it are only counted.
fn of_ranks(trace: &Trace, cause: &Cause) -> String {
    match &cause.ranks[..] {
        [worst, ..] if cause.is_of_one() => rank(trace, worst.process),
        [one, other] => format!(
            "{} ({}) and {} ({})",
            rank(trace, one.process),
            short(one.time),
            rank(trace, other.process),
            short(other.time)
        ),
        several => {
            let worst: Vec<String> = several[..2]
                .iter()
                .map(|of| format!("{} ({})", rank(trace, of.process), short(of.time)))
                .collect();
            format!("{} and {}", worst.join(", "), count(several.len() - 2, "other"))
        }
    }
}
