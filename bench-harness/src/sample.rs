//! Medians, and how sure they are.

/// The median and a 95 % interval of it, from resampling.
pub(crate) struct Estimate {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
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
}
