//! Up to which number of ranks adding ranks made the program faster.

use serde::Serialize;

use super::{Certainty, Size, in_words};

/// From where on adding ranks did not pay, as far as was measured.
#[derive(Debug, Serialize)]
pub(super) struct Pays {
    /// The smallest number of ranks than which no greater one was better.
    pub(super) until: u64,
    /// Was it told from noise wherever that mattered?
    pub(super) noise_is_known: bool,
    pub(super) sentence: String,
}

/// What of work a run did in its time: with weak scaling, twice as many ranks do twice as much.
pub(super) fn costs(size: &Size, is_weak: bool) -> Vec<f64> {
    let of = if is_weak { size.ranks as f64 } else { 1.0 };
    size.seconds.iter().map(|seconds| seconds / of).collect()
}

/// Finds that number. The sizes are sorted.
pub(super) fn of(sizes: &[Size], is_weak: bool) -> Option<Pays> {
    let tests = sizes.len().saturating_sub(1);
    let mut noise_is_known = true;
    let mut is_better = |greater: &Size, smaller: &Size| {
        if greater.speedup <= smaller.speedup {
            return false;
        }
        let certainty = Certainty::of(&costs(smaller, is_weak), &costs(greater, is_weak), tests);
        noise_is_known &= certainty != Certainty::Unknown;
        certainty != Certainty::Within
    };
    let until = (0..sizes.len())
        .find(|at| !sizes[at + 1..].iter().any(|greater| is_better(greater, &sizes[*at])))?;
    let best = &sizes[until];
    let largest = sizes.last()?;
    let done = if is_weak { "did more work in the same time" } else { "was faster" };
    let (mut sentence, noise) = if best.ranks == largest.ranks {
        let step = best.step.as_ref()?;
        let sentence = format!(
            "adding ranks paid up to {}, the most that were measured: from {} to {}, the program {}, {:.0} % of what ideal scaling \
             gives",
            in_words(best.ranks),
            step.from,
            best.ranks,
            times(step.speedup, is_weak),
            step.efficiency * 100.0
        );
        (sentence, step.noise)
    } else {
        // The best of the greater ones.
        let next =
            sizes[until + 1..].iter().max_by(|one, other| one.speedup.total_cmp(&other.speedup))?;
        let sentence = format!(
            "beyond {}, adding ranks did not pay: no greater number {done}; on {}, the best of them, the program {}",
            in_words(best.ranks),
            in_words(next.ranks),
            times(next.speedup / best.speedup, is_weak)
        );
        (sentence, Certainty::of(&costs(best, is_weak), &costs(next, is_weak), tests))
    };
    sentence += match noise {
        Certainty::Unknown => " (single runs do not say how much of that is noise)",
        Certainty::Within => ", which is within noise",
        Certainty::Beyond => "",
    };
    sentence += &format!("; more than {} were not measured", in_words(largest.ranks));
    noise_is_known &= noise != Certainty::Unknown;
    Some(Pays { until: best.ranks, noise_is_known, sentence })
}

/// `ran 1.35 times as fast`.
fn times(speedup: f64, is_weak: bool) -> String {
    let what = if is_weak { "did" } else { "ran" };
    let how = if is_weak { "times as much work in the same time" } else { "times as fast" };
    format!("{what} {speedup:.2} {how}")
}
