//! What is a change and what is noise.
//!
//! With several runs of a side, the runs say how much they vary: a difference of means is a change if it is beyond what
//! Student's t-test allows, with a variance that both sides share, and with as many tests as there are things to
//! compare. With one run of each side nothing says how runs vary. Then a call site has changed only if its change is
//! beyond three measures of noise: a fixed part, what the variation of its calls makes likely, and how much the other
//! call sites have changed. What cannot be judged so, as a site with few calls, is not called a change.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::super::advice::SHARED;
use super::Item;

/// A change that is a smaller part of the run than this is not worth a word.
pub(super) const WORTH: f64 = 0.0002;

/// Of several runs: a change is at least such a part of what it was.
const LEAST_CHANGE: f64 = 0.02;

/// Of single runs: a change is at least such a part of what it was.
const LEAST_CHANGE_OF_ONE: f64 = 0.05;

/// Of single runs: a change is at least such a part of the run, and so many seconds. A process that loses its processor for a
/// moment makes a site with little time many times slower, and no call says that this was nothing of the program's.
const WORTH_OF_ONE: f64 = 0.02;
const MOMENT: f64 = 0.1;

/// Of single runs: the start and the end of a run vary by so many seconds.
const START: f64 = 0.5;

/// Of single runs: how many standard errors and how many times the others' scatter a change is at least.
const STANDARD_ERRORS: f64 = 4.0;
const SCATTERS: f64 = 5.0;

/// Of single runs: a site with fewer calls of each rank is not judged.
const FEWEST_CALLS: f64 = 10.0;

/// Of single runs: so many other sites say how much sites change; of fewer, this is assumed.
const FEWEST_SITES: usize = 3;
const ASSUMED_SCATTER: f64 = 0.1;

/// The probability that anything at all is called a change when nothing is.
const FALSE_ALARM: f64 = 0.05;

/// What is said of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in super::super) enum Verdict {
    Slower,
    Faster,
    /// Only the second side has it, and it takes time.
    New,
    /// Only the first side has it, and it took time.
    Gone,
    /// No change, or one within noise.
    Noise,
}

impl Verdict {
    pub(super) fn is_change(self) -> bool {
        self != Self::Noise
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Noise => "",
        }
    }
}

/// What single runs say of the noise of something.
#[derive(Debug, Clone, Copy)]
pub(super) enum Noise {
    /// The relative variance of the difference, as calls vary, and the fewest calls of a rank.
    OfCalls {
        variance: f64,
        calls: f64,
    },
    /// It is a time of the whole run.
    OfRun,
    Unknown,
}

/// Judges the items of a comparison.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge {
    counts: [usize; 2],
    /// How often in a second a rank lost its processor in one of the runs.
    preemptions: f64,
}

impl Judge {
    pub(super) fn new(counts: [usize; 2], preemptions: f64) -> Self {
        Self { counts, preemptions }
    }

    /// Does one run of each side say nothing, since other processes had a part in it?
    fn is_shared(self) -> bool {
        self.preemptions >= SHARED
    }

    pub(super) fn has_repetitions(self) -> bool {
        self.counts.iter().any(|count| *count > 1)
    }

    /// Is there enough to tell noise from change?
    pub(super) fn can_judge(self, noise: Noise) -> bool {
        self.has_repetitions()
            || !self.is_shared()
                && match noise {
                    Noise::OfCalls { calls, .. } => calls >= FEWEST_CALLS,
                    Noise::OfRun => true,
                    Noise::Unknown => false,
                }
    }

    /// The rule, for people.
    pub(super) fn rule(self) -> String {
        if self.is_shared() && !self.has_repetitions() {
            format!(
                "a rank lost its processor {:.0} times a second to another process, so one run of each side does not say what \
                 has changed: give several runs of each side (A1 A2 A3 -- B1 B2 B3)",
                self.preemptions
            )
        } else if self.has_repetitions() {
            let rule = "a change is beyond what the runs of a side vary: Student's t-test, with 5 % for all that is compared \
                        together, and at least 2 %";
            if self.is_shared() {
                let rate = self.preemptions;
                format!(
                    "{rule}; a rank lost its processor {rate:.0} times a second to another process, which may have changed, too"
                )
            } else {
                rule.to_owned()
            }
        } else {
            "one run of each side does not say how runs vary: only what is far beyond noise is called a change; \
             give several runs of each side (A1 A2 A3 -- B1 B2 B3) to find smaller ones"
                .to_owned()
        }
    }

    /// How much sites change, as a standard deviation: by the median of the logarithms of their changes. What has changed all
    /// of them, as another load of the machine does, is noise here, too.
    pub(super) fn scatter(self, sites: &[(Item, Noise)]) -> f64 {
        let changes = sites.iter().filter_map(|(item, noise)| match noise {
            Noise::OfCalls { calls, .. } if *calls >= FEWEST_CALLS => {
                let is_there = item.mean_before > 0.0 && item.mean_after > 0.0;
                is_there.then(|| (item.mean_after / item.mean_before).ln().abs())
            }
            _ => None,
        });
        let mut changes: Vec<f64> = changes.collect();
        // The one in question is one of them.
        if changes.len() <= FEWEST_SITES {
            return ASSUMED_SCATTER;
        }
        // As the median of the sizes of normally distributed numbers is.
        1.4826 * median(&mut changes)
    }

    /// The interval of a change, and what it is called. `wall` is how long the first side ran; `tests` is how many things are
    /// judged in all.
    pub(super) fn judge(
        self,
        item: &Item,
        noise: Noise,
        scatter: f64,
        wall: f64,
        tests: usize,
    ) -> (Option<(f64, f64)>, Verdict) {
        let difference = item.difference();
        let is_worth = difference.abs() >= WORTH * wall && difference != 0.0;
        if self.has_repetitions() {
            return self.by_runs(item, is_worth, tests);
        }
        let (before, after) = (item.mean_before, item.mean_after);
        if !is_worth || self.is_shared() || !self.can_judge(noise) {
            return (None, Verdict::Noise);
        }
        if difference.abs() < MOMENT.max(WORTH_OF_ONE * wall) {
            return (None, Verdict::Noise);
        }
        if before == 0.0 || after == 0.0 {
            // What a new call costs and what an old one has cost is no noise, but little of it may be.
            let is_much = difference.abs() >= LEAST_CHANGE_OF_ONE * wall;
            let verdict = if before == 0.0 { Verdict::New } else { Verdict::Gone };
            return (None, if is_much { verdict } else { Verdict::Noise });
        }
        let error = match noise {
            Noise::OfCalls { variance, .. } => STANDARD_ERRORS * variance.sqrt(),
            _ => START / wall.max(f64::MIN_POSITIVE),
        };
        let least = LEAST_CHANGE_OF_ONE.max(error).max(SCATTERS * scatter);
        (None, named((after / before).ln(), least))
    }

    /// By the variance of runs.
    fn by_runs(self, item: &Item, is_worth: bool, tests: usize) -> (Option<(f64, f64)>, Verdict) {
        let [many, more] = self.counts.map(|count| count as f64);
        let freedom = many + more - 2.0;
        let squares = |values: &[f64], mean: f64| {
            values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        };
        let sum = squares(&item.before, item.mean_before) + squares(&item.after, item.mean_after);
        let error = (sum / freedom * (1.0 / many + 1.0 / more)).sqrt();
        let Ok(student) = StudentsT::new(0.0, 1.0, freedom) else { return (None, Verdict::Noise) };
        let reach = |probability: f64| student.inverse_cdf(1.0 - probability / 2.0) * error;
        let difference = item.difference();
        let interval = (item.mean_before > 0.0).then(|| {
            let reach = reach(0.05);
            ((difference - reach) / item.mean_before, (difference + reach) / item.mean_before)
        });
        let is_beyond = difference.abs() > reach(FALSE_ALARM / tests.max(1) as f64);
        if !is_worth || !is_beyond {
            return (interval, Verdict::Noise);
        }
        let verdict = match (item.mean_before > 0.0, item.mean_after > 0.0) {
            (false, _) => Verdict::New,
            (_, false) => Verdict::Gone,
            _ => named(difference / item.mean_before, LEAST_CHANGE),
        };
        (interval, verdict)
    }
}

/// A change, if it is at least so much.
fn named(change: f64, least: f64) -> Verdict {
    if change.is_nan() || change.abs() < least {
        Verdict::Noise
    } else if change > 0.0 {
        Verdict::Slower
    } else {
        Verdict::Faster
    }
}

/// The middle of some values; 0 of none.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(before: &[f64], after: &[f64]) -> Item {
        Item::new("x".into(), None, [before.to_vec(), after.to_vec()])
    }

    /// By hand: means 10 and 12, variances 1 and 1, so the error is the square root of 2 / 3, and t with four degrees of
    /// freedom is 2.776 for 95 % (Student's table): 2 ± 2.267.
    #[test]
    fn intervals_are_those_of_the_table() {
        let judge = Judge::new([3, 3], 1000.0);
        let noisy = item(&[9.0, 10.0, 11.0], &[11.0, 12.0, 13.0]);
        let (interval, verdict) = judge.judge(&noisy, Noise::Unknown, 0.0, 10.0, 1);
        let (low, high) = interval.unwrap();
        assert!((low + 0.0267).abs() < 1e-3 && (high - 0.4267).abs() < 1e-3, "{low} {high}");
        assert_eq!(verdict, Verdict::Noise);
        let quiet = item(&[9.9, 10.0, 10.1], &[10.9, 11.0, 11.1]);
        assert_eq!(judge.judge(&quiet, Noise::Unknown, 0.0, 10.0, 20).1, Verdict::Slower);
        let faster = item(&[10.9, 11.0, 11.1], &[9.9, 10.0, 10.1]);
        assert_eq!(judge.judge(&faster, Noise::Unknown, 0.0, 10.0, 20).1, Verdict::Faster);
    }

    #[test]
    fn single_runs_are_judged_with_care() {
        let judge = Judge::new([1, 1], 0.0);
        let quiet = Noise::OfCalls { variance: 1e-6, calls: 1000.0 };
        let slower = item(&[2.0], &[2.2]);
        assert_eq!(judge.judge(&slower, quiet, 0.001, 9.0, 5).1, Verdict::Slower);
        assert_eq!(judge.judge(&slower, quiet, 0.05, 9.0, 5).1, Verdict::Noise);
        let noisy = Noise::OfCalls { variance: 1e-2, calls: 1000.0 };
        assert_eq!(judge.judge(&slower, noisy, 0.001, 9.0, 5).1, Verdict::Noise);
        let few = Noise::OfCalls { variance: 0.0, calls: 1.0 };
        assert_eq!(judge.judge(&slower, few, 0.001, 9.0, 5).1, Verdict::Noise);
        assert_eq!(judge.judge(&slower, quiet, 0.001, 11.0, 5).1, Verdict::Noise);
        let shared = Judge::new([1, 1], 100.0);
        assert_eq!(shared.judge(&slower, quiet, 0.001, 9.0, 5).1, Verdict::Noise);
        assert!(shared.rule().contains("100 times a second"));
        // A moment without a processor, in a short run.
        let moment = item(&[0.006], &[0.078]);
        assert_eq!(judge.judge(&moment, quiet, 0.001, 1.8, 5).1, Verdict::Noise);
        assert_eq!(judge.judge(&item(&[1.0], &[1.0]), quiet, 0.0, 0.0, 5).1, Verdict::Noise);
    }
}
