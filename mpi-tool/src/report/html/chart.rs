//! Pictures, as SVG in the page. All of them also say their numbers in words.

use maud::{Markup, html};

use super::percent;

/// A bar for a part of 1.
pub(super) fn gauge(part: f64) -> Markup {
    let width = (part.clamp(0.0, 1.0) * 100.0).round();
    html! {
        svg.gauge viewBox="0 0 100 8" aria-hidden="true" {
            rect.whole width="100" height="8" {}
            rect.part width=(width) height="8" {}
        }
    }
}

/// With so many ranks, each has a line of its own.
const EACH: usize = 24;

/// Parts of 1 of ranks, those with most first.
pub(super) fn shares(ranks: &[(u64, f64)]) -> Markup {
    if ranks.len() <= EACH {
        return html! {
            table.bars {
                thead { tr { th scope="col" { "rank" } th scope="col" { "in MPI" } th scope="col" aria-hidden="true" {} } }
                tbody {
                    @for (rank, share) in ranks {
                        tr { th scope="row" { (rank) } td { (percent(*share)) } td { (gauge(*share)) } }
                    }
                }
            }
        };
    }
    // A staircase: one path, however many ranks there are.
    let count = ranks.len();
    let mut path = "M0 100".to_owned();
    let mut last = None;
    for (position, (_, share)) in ranks.iter().enumerate() {
        let height = 100.0 - share.clamp(0.0, 1.0) * 100.0;
        let height = (height * 10.0).round() / 10.0;
        if last != Some(height) {
            path += &format!("H{position}V{height}");
            last = Some(height);
        }
    }
    path += &format!("H{count}V100Z");
    let at = |part: f64| ranks[((count - 1) as f64 * part) as usize];
    let marks = [0.0, 0.25, 0.5, 0.75, 1.0].map(at);
    html! {
        figure {
            svg.shares viewBox=(format!("0 0 {count} 100")) preserveAspectRatio="none" role="img"
                aria-label=(format!("share of MPI of {count} ranks, those with most first")) {
                path.part d=(path) {}
            }
            figcaption {
                "Ranks with most first, from 0 to 100 %. From left to right, in quarters: "
                @for (index, (rank, share)) in marks.iter().enumerate() {
                    @if index > 0 { ", " }
                    "rank " (rank) " " (percent(*share))
                }
                ". All ranks are in " a href="#data" { "the tables below" } "."
            }
        }
    }
}

/// A strip has at most so many steps: of more ranks, neighbours share one.
const STEPS: usize = 1024;

/// The times of ranks in nanoseconds, by rank: a staircase from 0 to the longest, with a line for the mean.
pub(super) fn strip(times: &[f64], mean: f64, what: &str) -> Markup {
    let ranked = || times.iter().copied().enumerate();
    let most = ranked().rev().max_by(|(_, one), (_, other)| one.total_cmp(other));
    let least = ranked().min_by(|(_, one), (_, other)| one.total_cmp(other));
    let (Some((most_rank, most)), Some((least_rank, least))) = (most, least) else {
        return html! {};
    };
    // In thousandths: a pixel or less.
    let height = |time: f64| 1000 - (time / most.max(1.0) * 1000.0).round() as i64;
    let together = times.len().div_ceil(STEPS);
    let steps: Vec<f64> =
        times.chunks(together).map(|chunk| chunk.iter().copied().fold(0.0, f64::max)).collect();
    let (mut path, mut last) = ("M0 1000".to_owned(), None);
    for (position, height) in steps.iter().map(|time| height(*time)).enumerate() {
        if last != Some(height) {
            path += &format!("H{position}V{height}");
            last = Some(height);
        }
    }
    path += &format!("H{}V1000Z", steps.len());
    let seconds = |time: f64| format!("{:.6} s", time / 1e9);
    html! {
        figure {
            svg.strip viewBox=(format!("0 0 {} 1000", steps.len())) preserveAspectRatio="none" role="img" aria-label=(what) {
                path.part d=(path) {}
                line.mean x1="0" x2=(steps.len()) y1=(height(mean)) y2=(height(mean)) vector-effect="non-scaling-stroke" {}
            }
            figcaption {
                "Ranks 0 to " (times.len() - 1) " from left to right, from 0 to " (seconds(most)) " (rank " (most_rank)
                "); the line is the mean, " (seconds(mean)) ". Rank " (least_rank) " takes least, " (seconds(least)) "."
                @if together > 1 { " A step is the longest of " (together) " ranks." }
            }
            @if times.len() <= EACH {
                table.bars {
                    thead { tr { th scope="col" { "rank" } th scope="col" { "computes" } th scope="col" aria-hidden="true" {} } }
                    tbody {
                        @for (rank, time) in ranked() {
                            tr { th scope="row" { (rank) } td { (seconds(time)) } td { (gauge(time / most.max(1.0))) } }
                        }
                    }
                }
            }
        }
    }
}

/// Points whose coordinates are more than 0, with logarithms on both axes.
pub(super) fn logarithmic(points: &[(f64, f64)], across: &str, up: &str) -> Markup {
    let points: Vec<_> = points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).copied().collect();
    if points.is_empty() {
        return html! {};
    }
    let range = |of: fn(&(f64, f64)) -> f64| {
        let logs = points.iter().map(|point| of(point).log10());
        let (least, most) =
            logs.fold((f64::MAX, f64::MIN), |(least, most), log| (least.min(log), most.max(log)));
        (least.floor(), most.ceil().max(least.floor() + 1.0))
    };
    let (across_range, up_range) = (range(|point| point.0), range(|point| point.1));
    let (left, right, top, bottom) = (60.0, 620.0, 10.0, 250.0);
    let place = |value: f64, (least, most): (f64, f64), from: f64, to: f64| {
        from + (value.log10() - least) / (most - least) * (to - from)
    };
    let x = |value: f64| place(value, across_range, left, right);
    let y = |value: f64| place(value, up_range, bottom, top);
    let powers =
        |(least, most): (f64, f64)| (least as i32..=most as i32).map(|power| 10_f64.powi(power));
    html! {
        figure {
            svg.log viewBox="0 0 640 290" role="img" aria-label=(format!("{up} over {across}, both logarithmic")) {
                @for power in powers(across_range) {
                    line.grid x1=(tenth(x(power))) x2=(tenth(x(power))) y1=(top) y2=(bottom) {}
                    text x=(tenth(x(power))) y="266" text-anchor="middle" { (short(power)) }
                }
                @for power in powers(up_range) {
                    line.grid x1=(left) x2=(right) y1=(tenth(y(power))) y2=(tenth(y(power))) {}
                    text x="54" y=(tenth(y(power) + 4.0)) text-anchor="end" { (short(power)) }
                }
                @for (size, value) in &points {
                    circle.part cx=(tenth(x(*size))) cy=(tenth(y(*value))) r="4" {}
                }
                text x="340" y="284" text-anchor="middle" { (across) }
            }
            figcaption { (up) " over " (across) ", both logarithmic. The table has the numbers." }
        }
    }
}

/// A curve: what it is of, and its value at each position, where that is known.
pub(crate) struct Curve<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: Vec<Option<f64>>,
}

/// How values lie above each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Twice as much is one step more. Values are more than 0.
    Doubling,
    /// Parts of 1, or a little more.
    Parts,
}

/// So far apart are labels at least.
const APART: f64 = 30.0;

/// What curves are over.
pub(crate) struct Axis {
    /// What it is.
    pub(crate) name: &'static str,
    /// Where each value lies, from 0 to 1, in order, and what it is called.
    places: Vec<(f64, String)>,
}

impl Axis {
    /// Numbers, in order, which lie as their logarithms do.
    pub(crate) fn logarithmic(name: &'static str, numbers: &[u64]) -> Self {
        let log = |number: u64| (number as f64).max(1.0).log2();
        let first = log(numbers.first().copied().unwrap_or(1));
        let width = log(numbers.last().copied().unwrap_or(1)) - first;
        if width <= 1e-6 {
            return Self::even(name, numbers.iter().map(u64::to_string).collect());
        }
        let place = |number: &u64| ((log(*number) - first) / width, number.to_string());
        Self { name, places: numbers.iter().map(place).collect() }
    }

    /// What lies equally far apart.
    pub(crate) fn even(name: &'static str, names: Vec<String>) -> Self {
        let last = names.len().saturating_sub(1).max(1) as f64;
        let place = |(at, name): (usize, String)| (at as f64 / last, name);
        Self { name, places: names.into_iter().enumerate().map(place).collect() }
    }
}

/// Up to five curves.
pub(crate) fn curves(curves: &[Curve<'_>], across: &Axis, up: &str, scale: Scale) -> Markup {
    let (left, right, top, bottom) = (60.0, 620.0, 10.0, 250.0);
    let x = |at: usize| left + across.places[at].0 * (right - left);
    let Axis { name: across, places } = across;
    let height = |value: f64| if scale == Scale::Doubling { value.log2() } else { value };
    let heights =
        curves.iter().flat_map(|curve| curve.values.iter().flatten()).map(|value| height(*value));
    let heights = heights.filter(|height| height.is_finite());
    let (least, most) = heights
        .fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
    if least > most {
        return html! { p { "No value is known." } };
    }
    let (floor, ceiling, step) = match scale {
        Scale::Doubling => {
            let floor = least.floor();
            let ceiling = most.ceil().max(floor + 1.0);
            (floor, ceiling, ((ceiling - floor) / 8.0).ceil())
        }
        Scale::Parts => {
            let ceiling = (most * 4.0).ceil().max(4.0) / 4.0;
            (0.0, ceiling, (ceiling * 4.0 / 8.0).ceil() / 4.0)
        }
    };
    let y = |height: f64| bottom - (height - floor) / (ceiling - floor) * (bottom - top);
    let lines = (0..=((ceiling - floor) / step) as u32).map(|at| floor + f64::from(at) * step);
    let written = |value: f64| match scale {
        Scale::Doubling => format!("{value:.2}"),
        Scale::Parts => super::percent(value),
    };
    let label = |height: f64| match scale {
        Scale::Doubling => height.exp2().to_string(),
        Scale::Parts => format!("{:.0} %", height * 100.0),
    };
    let mut labelled = Vec::new();
    for at in 0..places.len() {
        if labelled.last().is_none_or(|last| x(at) - x(*last) >= APART) {
            labelled.push(at);
        }
    }
    html! {
        figure {
            svg.log viewBox="0 0 640 290" role="img" aria-label=(format!("{up} over {across}; the table has the numbers")) {
                @for at in lines {
                    line.grid x1=(left) x2=(right) y1=(tenth(y(at))) y2=(tenth(y(at))) {}
                    text x="50" y=(tenth(y(at) + 4.0)) text-anchor="end" { (label(at)) }
                }
                @for at in labelled {
                    line.grid x1=(tenth(x(at))) x2=(tenth(x(at))) y1=(top) y2=(bottom) {}
                    text x=(tenth(x(at))) y="266" text-anchor="middle" { (places[at].1) }
                }
                @for (index, curve) in curves.iter().enumerate() {
                    @let points: Vec<_> = curve.values.iter().enumerate().filter_map(|(at, value)| {
                        let value = (*value)?;
                        height(value).is_finite().then(|| (at, value, tenth(x(at)), tenth(y(height(value)))))
                    }).collect();
                    path class={ "curve c" (index) } d=(path(&points)) {}
                    @for (at, value, x, y) in &points {
                        circle class={ "curve c" (index) } cx=(x) cy=(y) r="4" {
                            title { (curve.name) ", " (places[*at].1) " " (across) ": " (written(*value)) }
                        }
                    }
                }
                text x="340" y="284" text-anchor="middle" { (across) }
            }
            figcaption {
                (up) " over " (across) ": "
                @for (index, curve) in curves.iter().enumerate() {
                    @if index > 0 { ", " }
                    span.entry {
                        svg.key viewBox="0 0 40 8" aria-hidden="true" { path class={ "curve c" (index) } d="M0 4H40" {} }
                        " " (curve.name)
                    }
                }
                ". The table has the numbers."
            }
        }
    }
}

/// A line through points next to each other; where a value is not known, there is a gap.
fn path(points: &[(usize, f64, f64, f64)]) -> String {
    let mut path = String::new();
    let mut last = None;
    for (at, _, x, y) in points {
        let is_next = last.is_some_and(|last| last + 1 == *at);
        path += &format!("{}{x} {y}", if is_next { "L" } else { "M" });
        last = Some(*at);
    }
    path
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A power of ten: `1000`, or `1e6`.
fn short(power: f64) -> String {
    if (0.01..1e5).contains(&power) { power.to_string() } else { format!("{power:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 10 and 100 bytes in 1, 10 and 100 s: a diagonal from corner to corner.
    #[test]
    fn logarithms_lie_on_a_line() {
        let picture =
            logarithmic(&[(1.0, 1.0), (10.0, 10.0), (100.0, 100.0), (0.0, 5.0)], "bytes", "s")
                .into_string();
        for place in ["cx=\"60\" cy=\"250\"", "cx=\"340\" cy=\"130\"", "cx=\"620\" cy=\"10\""] {
            assert!(picture.contains(place), "{picture}");
        }
        assert_eq!(picture.matches("<circle").count(), 3);
    }

    /// A quarter, all and a half of 2 s: one path, by rank.
    #[test]
    fn a_strip_has_a_step_for_each_rank() {
        let picture = strip(&[0.5e9, 2e9, 2e9, 1e9], 1.375e9, "it").into_string();
        assert!(picture.contains("M0 1000H0V750H1V0H3V500H4V1000Z"), "{picture}");
        assert!(
            picture.contains("2.000000 s (rank 1)")
                && picture.contains("Rank 0 takes least, 0.500000 s"),
            "{picture}"
        );
        assert!(picture.contains("y1=\"313\"") || picture.contains("y1=\"312\""), "{picture}");
        // Of many ranks, each peak is there.
        let mut many = vec![1e9; 5000];
        many[4321] = 4e9;
        let picture = strip(&many, 1e9, "it").into_string();
        assert!(picture.contains("M0 1000H0V750H864V0H865V750H1000V1000Z"), "{picture}");
        assert!(picture.contains("A step is the longest of 5 ranks."), "{picture}");
    }

    #[test]
    fn many_ranks_are_one_path() {
        let ranks: Vec<_> = (0..1000).map(|rank| (rank, 0.5)).collect();
        let picture = shares(&ranks).into_string();
        assert!(picture.contains("M0 100H0V50H1000V100Z"), "{picture}");
    }
}
