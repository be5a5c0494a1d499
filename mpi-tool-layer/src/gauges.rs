//! Gauges: values that go up and down.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Counter, Counters};

/// Values that go up and down, such as memory in use or the length of a queue. A report has of each the last value that was
/// set, the highest, and the mean of all; over the ranks the greatest, the mean and the least of these, and no sum.
///
/// ```
/// use mpi_tool_layer::{Call, CallResult, Counters, Gauges, MpiInterceptionLayer, Tool};
///
/// /// How many requests calls wait for.
/// struct Waited(Gauges<1>);
///
/// impl MpiInterceptionLayer for Waited {
///     const WATCHES_COMPLETION: bool = true;
///
///     fn around<'c>(
///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         if call.completes_requests() {
///             self.0.set(0, call.requests().len() as u64);
///         }
///         next_f()
///     }
/// }
///
/// impl Tool for Waited {
///     const NEW: Self = Waited(Gauges::new("requests", ["waited for at once"]));
///
///     fn counters(&self) -> Option<&dyn Counters> {
///         Some(&self.0)
///     }
/// }
/// ```
///
/// Any thread may set a value, without a lock: of two at once, either is the last.
#[derive(Debug)]
pub struct Gauges<const COUNT: usize> {
    unit: &'static str,
    names: [&'static str; COUNT],
    gauges: [Gauge; COUNT],
}

#[derive(Debug)]
struct Gauge {
    last: AtomicU64,
    highest: AtomicU64,
    /// The sum of all values, and how many there were.
    all: [AtomicU64; 2],
}

impl Gauge {
    const fn new() -> Self {
        let all = [const { AtomicU64::new(0) }; 2];
        Self { last: AtomicU64::new(0), highest: AtomicU64::new(0), all }
    }
}

/// What is reported of a gauge.
const REPORTED: [&str; 3] = ["highest", "mean", "last"];

impl<const COUNT: usize> Gauges<COUNT> {
    /// Nothing is set. `unit` is what the values are, in the plural: `kB`.
    pub const fn new(unit: &'static str, names: [&'static str; COUNT]) -> Self {
        Self { unit, names, gauges: [const { Gauge::new() }; COUNT] }
    }

    /// The value is this now. A number that no gauge has is ignored.
    pub fn set(&self, gauge: usize, value: u64) {
        let Some(gauge) = self.gauges.get(gauge) else { return };
        gauge.last.store(value, Relaxed);
        gauge.highest.fetch_max(value, Relaxed);
        let [sum, count] = &gauge.all;
        sum.fetch_add(value, Relaxed);
        count.fetch_add(1, Relaxed);
    }
}

impl<const COUNT: usize> Counters for Gauges<COUNT> {
    fn unit(&self) -> &'static str {
        self.unit
    }

    fn len(&self) -> usize {
        COUNT * REPORTED.len()
    }

    fn name(&self, index: usize) -> &'static str {
        self.names[index / REPORTED.len()]
    }

    fn class(&self, index: usize) -> &'static str {
        REPORTED[index % REPORTED.len()]
    }

    fn is_gauge(&self, _: usize) -> bool {
        true
    }

    fn counter(&self, index: usize) -> Counter<'_> {
        let gauge = &self.gauges[index / REPORTED.len()];
        match index % REPORTED.len() {
            0 => Counter::from(&gauge.highest),
            1 => Counter::mean_of(&gauge.all),
            _ => Counter::from(&gauge.last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_tells_the_highest_the_mean_and_the_last_value() {
        let gauges = Gauges::new("kB", ["a", "b"]);
        [4, 10, 1].into_iter().for_each(|value| gauges.set(1, value));
        gauges.set(7, 3);
        let rows: Vec<_> = (0..gauges.len())
            .map(|index| (gauges.name(index), gauges.class(index), gauges.counter(index).value()))
            .collect();
        let of = |name, [highest, mean, last]: [u64; 3]| {
            [(name, "highest", highest), (name, "mean", mean), (name, "last", last)]
        };
        assert_eq!(rows, [of("a", [0, 0, 0]), of("b", [10, 5, 1])].concat());
    }
}
