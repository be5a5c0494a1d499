//! Efficiencies of parts of the run.
//!
//! Useful times of a window are what each rank computes in it. The ideal run has no windows of its own, as ranks get ahead of
//! each other there as they do not in the run. It is taken to have come so far, at a moment of the run, as the rank is that has
//! come furthest in it: what each rank has done until then, it has done there, too. By so much as that grows in a window, the
//! window lasts on the ideal machine, but no shorter than the longest useful time in it. So it is never longer than the window
//! either, and serialization × transfer = communication. What it lasts there if files take no time lies between the two.

use super::ideal::Ideal;
use super::{Factors, Rank, Ranks};

/// So many there are.
pub(super) const COUNT: i64 = 20;

/// A part of the run.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::trace) struct Window {
    pub(in crate::trace) begin: i64,
    pub(in crate::trace) end: i64,
    pub(in crate::trace) factors: Factors,
}

/// From a moment to the last rank's end; none if that is too short.
pub(super) fn of(
    ranks: &Ranks,
    ideal: Option<&Ideal>,
    without_files: Option<&Ideal>,
    begin: i64,
) -> Vec<Window> {
    let end = ranks.all.iter().map(|rank| rank.end).max().unwrap_or(begin);
    if end - begin < COUNT {
        return Vec::new();
    }
    let step = |number| begin + ((i128::from(end - begin) * number) / i128::from(COUNT)) as i64;
    let times: Vec<i64> = (0..=i128::from(COUNT)).map(step).collect();
    let mut useful = vec![Vec::with_capacity(ranks.all.len()); times.len() - 1];
    // How far the rank has come that has come furthest; and the same if files took no time.
    let mut furthest = vec![i64::MIN; times.len()];
    let mut furthest_without = furthest.clone();
    for rank in &ranks.all {
        if without_files.is_some() {
            let progress = progress(rank, without_files, &times);
            for (furthest, (_, ideal)) in furthest_without.iter_mut().zip(&progress) {
                *furthest = (*furthest).max(*ideal);
            }
        }
        let progress = progress(rank, ideal, &times);
        for (at, two) in progress.windows(2).enumerate() {
            useful[at].push(two[1].0 - two[0].0);
        }
        for (furthest, (_, ideal)) in furthest.iter_mut().zip(&progress) {
            *furthest = (*furthest).max(*ideal);
        }
    }
    let window = |(at, useful): (usize, Vec<i64>)| {
        let (begin, end) = (times[at], times[at + 1]);
        let most = useful.iter().copied().max().unwrap_or(0);
        let mean = useful.iter().sum::<i64>() as f64 / useful.len().max(1) as f64;
        let ideal = ideal.map(|_| (furthest[at + 1] - furthest[at]).max(most));
        let without_files = ideal.zip(without_files).map(|(ideal, _)| {
            (furthest_without[at + 1] - furthest_without[at]).clamp(most.min(ideal), ideal)
        });
        let factors = Factors { time: end - begin, mean, most, ideal, without_files };
        Window { begin, end, factors }
    };
    useful.into_iter().enumerate().map(window).collect()
}

/// Of a rank, at each of these times: how long it has computed, and how far it has come in the ideal run.
fn progress(rank: &Rank, ideal: Option<&Ideal>, times: &[i64]) -> Vec<(i64, i64)> {
    let replayed = |at: usize| ideal.map(|ideal| ideal.calls[rank.first as usize + at]);
    let mut useful = 0;
    // How many calls have begun.
    let mut begun = 0;
    let at_time = |time: &i64| {
        let time = (*time).clamp(rank.started, rank.end);
        while let Some(call) = rank.calls.get(begun)
            && call.begin <= time
        {
            useful += rank.computes_before(begun);
            begun += 1;
        }
        let Some(last) = begun.checked_sub(1) else {
            return (time - rank.started, time);
        };
        let call = &rank.calls[last];
        let more = (time - call.end).max(0);
        let ideal = replayed(last).map_or(0, |replayed| {
            if time < call.end {
                replayed.begin + replayed.kept.min(time - call.begin)
            } else {
                replayed.end + more
            }
        });
        (useful + more, ideal)
    };
    times.iter().map(at_time).collect()
}
