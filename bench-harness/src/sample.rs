//! Medians, and how sure they are.

/// The median and a 95 % interval of it, from resampling.
#[derive(Clone, Copy)]
pub(crate) struct Estimate {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Estimate {
    /// What is the same at every run.
    pub(crate) fn exact(value: f64) -> Self {
        Self { median: value, low: value, high: value }
    }
}

/// The slope of a line through points that a few bad ones do not turn: the median of the slopes of all
/// pairs (Theil 1950, Sen 1968). None where no two points have different places.
pub(crate) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let mut slopes: Vec<f64> = points
        .iter()
        .enumerate()
        .flat_map(|(number, a)| points[..number].iter().map(move |b| (a, b)))
        .filter(|(a, b)| a.0 != b.0)
        .map(|(a, b)| (a.1 - b.1) / (a.0 - b.0))
        .collect();
    (!slopes.is_empty()).then(|| median(&mut slopes))
}

/// The points that are not on the line through the first two, as (place, value, the line's value there).
///
/// Each value is as exact as `resolution` says, and so is the line at the first two points; further on it is less
/// exact the further it goes: by as many times the resolution of the slope, which is the difference of two
/// values. More than that and a half is another line.
pub(crate) fn off_the_line(points: &[(f64, f64)], resolution: f64) -> Vec<(f64, f64, f64)> {
    let [first, second, rest @ ..] = points else { return Vec::new() };
    let each = (second.1 - first.1) / (second.0 - first.0);
    rest.iter()
        .map(|&(x, y)| (x, y, first.1 + each * (x - first.0)))
        .filter(|(x, y, line)| {
            let steps = (x - first.0) / (second.0 - first.0);
            (y - line).abs() > 0.5 + 2.0 * resolution * steps
        })
        .collect()
}

/// The slope, and a 95 % interval of it, from resampling the points of each place.
pub(crate) fn slope_estimate(points: &[(f64, f64)]) -> Option<Estimate> {
    const RESAMPLES: usize = 200;
    let median = slope(points)?;
    let mut places: Vec<f64> = points.iter().map(|point| point.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let by_place: Vec<Vec<(f64, f64)>> = places
        .iter()
        .map(|place| points.iter().copied().filter(|point| point.0 == *place).collect())
        .collect();
    let mut random = Random::new();
    let mut slopes: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let sample: Vec<_> = by_place
                .iter()
                .flat_map(|of| of.iter().map(|_| of[random.below(of.len())]).collect::<Vec<_>>())
                .collect();
            slope(&sample)
        })
        .collect();
    slopes.sort_by(f64::total_cmp);
    let at = |share: usize| slopes[(slopes.len() - 1) * share / 1000];
    Some(Estimate { median, low: at(25), high: at(975) })
}

/// Small and good enough to shuffle and to resample; the same at every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// Below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// The bootstrap's estimate of the median.
pub(crate) fn estimate(values: &[f64]) -> Estimate {
    const RESAMPLES: usize = 2000;
    let mut random = Random::new();
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let mut sample: Vec<f64> =
                values.iter().map(|_| values[random.below(values.len())]).collect();
            median(&mut sample)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    Estimate {
        median: median(&mut values.to_vec()),
        low: medians[RESAMPLES / 40],
        high: medians[RESAMPLES - RESAMPLES / 40 - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_median_and_shrinks_with_the_spread() {
        let narrow = estimate(&[1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0]);
        let wide = estimate(&[1.0, 2.0, 0.1, 1.0, 3.0, 0.5, 1.0]);
        for estimate in [&narrow, &wide] {
            assert!(estimate.low <= estimate.median && estimate.median <= estimate.high);
        }
        assert_eq!(narrow.median, 1.0);
        assert!(narrow.high - narrow.low < wide.high - wide.low);
    }

    /// One and 50 instructions a level, read within a hundredth: what a level's first two say of the 300th is
    /// exact to some instructions only.
    #[test]
    fn a_straight_line_is_one() {
        let levels = |second: f64, last: f64| [(1.0, 56.0), (2.0, second), (300.0, last)];
        for (second, last) in [(106.0, 15006.0), (106.01, 15006.0), (105.99, 15006.01)] {
            assert_eq!(off_the_line(&levels(second, last), 0.01), [], "{second} {last}");
        }
        // An instruction in ten levels, or one that comes with the depth, is no line any more.
        for last in [15036.0, 14976.0, 15006.0 + 0.001 * 299.0 * 298.0] {
            let off = off_the_line(&levels(106.0, last), 0.01);
            assert_eq!(off, [(300.0, last, 15006.0)]);
        }
        let near = [(1.0, 56.0), (2.0, 106.0), (5.0, 257.0), (10.0, 506.0)];
        assert_eq!(off_the_line(&near, 0.01), [(5.0, 257.0, 256.0)]);
        assert_eq!(off_the_line(&near[..1], 0.01), []);
    }

    #[test]
    fn one_bad_point_does_not_turn_the_line() {
        let points = [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 100.0), (4.0, 9.0), (5.0, 11.0)];
        assert_eq!(slope(&points), Some(2.0));
        assert_eq!(slope(&points[..1]), None);
        let all: Vec<_> =
            [0.9, 1.0, 1.1].iter().flat_map(|f| points.map(|(x, y)| (x, y * f))).collect();
        let estimate = slope_estimate(&all).unwrap();
        assert!(estimate.low <= 2.0 && 2.0 <= estimate.high, "{} {}", estimate.low, estimate.high);
    }
}
