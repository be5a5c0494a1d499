//! A tool's counters as data: what a report reads, also in a signal handler.
//!
//! A signal may come while the tool's own code runs, in the middle of an allocation or with a lock
//! held. So the handler runs no code of a tool: when MPI starts, and before any signal is watched,
//! the framework asks the tool once for names and places of its counters and keeps them here.
//!
//! A stack may have hundreds of levels with thousands of counters each, of which few are ever
//! counted. So a row is five numbers; texts and the description of a place in memory, which most
//! rows of a tool share, are kept once.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::collections::HashMap;

use crate::counters::lane::Lane;
use crate::{Counters, PredefinedDatatype};

/// Where a counter is in memory: what [`Counters::counter`] returns, and a report reads. Not a
/// value: it says what the counter has counted whenever it is [read](Self::value).
///
/// [`ThreadCounters::counter`](crate::ThreadCounters::counter) makes one, and so does a reference
/// to an [`AtomicU64`] of the tool's own:
///
/// ```
/// # use std::sync::atomic::AtomicU64;
/// # use mpi_tool_layer::{Counter, Counters};
/// struct Longest(AtomicU64);
///
/// impl Counters for Longest {
///     fn unit(&self) -> &'static str { "bytes" }
///     fn len(&self) -> usize { 1 }
///     fn name(&self, _: usize) -> &'static str { "longest" }
///     fn class(&self, _: usize) -> &'static str { "point-to-point" }
///     fn counter(&self, _: usize) -> Counter<'_> { Counter::from(&self.0) }
/// }
/// ```
///
/// Reports have the sum, the smallest, the largest and the mean value over the ranks.
/// [`times`](Self::times) and [`times_size_of`](Self::times_size_of) are for counters of something
/// else than is reported: elements, for example, where the report has bytes.
#[derive(Debug, Clone, Copy)]
pub struct Counter<'a> {
    measure: Measure,
    /// Which of the measure's counters.
    index: u32,
    memory: PhantomData<&'a AtomicU64>,
}

/// What counters have in common: where they are, and what they are multiplied by. Thousands of rows
/// have a few of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Measure {
    place: Place,
    /// What the counter is multiplied by.
    factor: u64,
    /// A further factor, which is read with the counter.
    size: Option<PredefinedDatatype>,
}

/// The memory that a counter is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// The counters of a [`ThreadCounters`](crate::ThreadCounters).
    Threads(*const Lane),
    /// One number.
    Single(*const AtomicU64),
    /// The mean of values: their sum, and how many there are.
    Mean(*const [AtomicU64; 2]),
}

impl Measure {
    /// Reads a counter, and multiplies it.
    ///
    /// # Safety
    /// The memory that the measure was made of is still there, with a counter of that index.
    unsafe fn value(self, index: u32) -> u64 {
        // SAFETY: the memory must be there, with a counter of that index: the caller's promise. It
        // is atomic, so threads may count meanwhile.
        let value = unsafe {
            match self.place {
                Place::Threads(lane) => Lane::sum(lane, index as usize),
                Place::Single(number) => (*number).load(Relaxed),
                Place::Mean(of) => {
                    let [sum, count] = &*of;
                    sum.load(Relaxed) / count.load(Relaxed).max(1)
                }
            }
        };
        value.wrapping_mul(self.factor).wrapping_mul(self.size.map_or(1, PredefinedDatatype::size))
    }
}

impl<'a> Counter<'a> {
    /// A counter of a [`ThreadCounters`](crate::ThreadCounters), by its lane.
    ///
    /// # Safety
    /// The lane is at the beginning of a `ThreadCounters` that lives for `'a` and has a counter of
    /// this index; the pointer may be used for all of it.
    pub(crate) unsafe fn of_threads(lane: *const Lane, index: u32) -> Self {
        let measure = Measure { place: Place::Threads(lane), factor: 1, size: None };
        Self { measure, index, memory: PhantomData }
    }

    /// The counter times a constant: of elements that have 8 bytes each, the bytes. Several factors
    /// are multiplied; all wraps around at 2^64.
    #[must_use]
    pub const fn times(mut self, factor: u64) -> Self {
        self.measure.factor = self.measure.factor.wrapping_mul(factor);
        self
    }

    /// The bytes of so many elements of a datatype. Its [size](PredefinedDatatype::size) is not
    /// known before the application has used it, so it is read when the counter is. A counter of a
    /// datatype that was never used is 0 either way. It takes the place of an earlier datatype.
    #[must_use]
    pub const fn times_size_of(mut self, datatype: PredefinedDatatype) -> Self {
        self.measure.size = Some(datatype);
        self
    }

    /// What has been counted so far, by all threads. Takes no lock and allocates nothing.
    pub fn value(self) -> u64 {
        // SAFETY: the memory lives for `'a`, and has the counter: `of_threads` wants a promise of
        // that, and a single number has no others.
        unsafe { self.measure.value(self.index) }
    }
}

impl<'a> Counter<'a> {
    /// The mean of values: of their sum, and how many there are.
    pub(crate) fn mean_of(of: &'a [AtomicU64; 2]) -> Self {
        let measure = Measure { place: Place::Mean(of), factor: 1, size: None };
        Self { measure, index: 0, memory: PhantomData }
    }
}

impl<'a> From<&'a AtomicU64> for Counter<'a> {
    fn from(number: &'a AtomicU64) -> Self {
        let measure = Measure { place: Place::Single(number), factor: 1, size: None };
        Self { measure, index: 0, memory: PhantomData }
    }
}

/// All that a report reads of a tool: names, classes, units, and where the counters are. Reading
/// runs none of the tool's code, takes no lock and allocates nothing.
#[derive(Debug)]
pub(crate) struct Rows {
    unit: &'static str,
    /// Names, classes and units, each once: a tool may have thousands of rows, in hundreds of levels.
    texts: Box<[&'static str]>,
    /// Where counters are, each once.
    measures: Box<[Measure]>,
    /// The counters, in the tool's order.
    rows: Box<[Row]>,
}

/// A counter of the tool: positions in the lists of [`Rows`], 24 bytes.
#[derive(Debug)]
struct Row {
    name: u32,
    class: u32,
    /// [`NO_UNIT`] where the rows' common unit is meant.
    unit: u32,
    measure: u32,
    index: u32,
    is_gauge: bool,
}

const NO_UNIT: u32 = u32::MAX;

// SAFETY: values of the type must be usable in other threads. Its pointers are to atomics that live
// as long as the process, since `Rows::of` makes them of a `&'static dyn Counters`, and they are
// only read.
unsafe impl Send for Rows {}
// SAFETY: several threads at once must be able to use a value of the type. Its pointers are to atomics that live as long as
// the process, and that any thread may read.
unsafe impl Sync for Rows {}

impl Rows {
    /// Asks a tool for its counters. Runs the tool's code and allocates, so it is for places where
    /// a tool may run: at MPI's start, or in the destructor of a process without MPI.
    pub(crate) fn of(counters: &'static dyn Counters) -> Self {
        let (mut texts, mut measures) = (Distinct::default(), Distinct::default());
        let rows = (0..counters.len())
            .map(|index| {
                let counter: Counter<'static> = counters.counter(index);
                Row {
                    name: texts.position(counters.name(index)),
                    class: texts.position(counters.class(index)),
                    unit: counters.unit_of(index).map_or(NO_UNIT, |unit| texts.position(unit)),
                    measure: measures.position(counter.measure),
                    index: counter.index,
                    is_gauge: counters.is_gauge(index),
                }
            })
            .collect();
        Self {
            unit: counters.unit(),
            texts: texts.values.into(),
            measures: measures.values.into(),
            rows,
        }
    }

    pub(crate) fn unit(&self) -> &'static str {
        self.unit
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn name(&self, index: usize) -> &'static str {
        self.texts[self.rows[index].name as usize]
    }

    pub(crate) fn class(&self, index: usize) -> &'static str {
        self.texts[self.rows[index].class as usize]
    }

    /// Has it no sum over the ranks?
    pub(crate) fn is_gauge(&self, index: usize) -> bool {
        self.rows[index].is_gauge
    }

    pub(crate) fn unit_of(&self, index: usize) -> Option<&'static str> {
        let unit = self.rows[index].unit;
        (unit != NO_UNIT).then(|| self.texts[unit as usize])
    }

    /// What a counter of this process has counted so far. For signal handlers, too.
    pub(crate) fn value(&self, index: usize) -> u64 {
        let row = &self.rows[index];
        // SAFETY: the measure's memory must be there and have a counter of that index. Both come
        // from one `Counter<'static>`, which `Rows::of` has got from the tool.
        unsafe { self.measures[row.measure as usize].value(row.index) }
    }
}

/// Values, each once, and where they are: for the making of [`Rows`].
struct Distinct<T> {
    values: Vec<T>,
    positions: HashMap<T, u32>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self { values: Vec::new(), positions: HashMap::new() }
    }
}

impl<T: Copy + Eq + core::hash::Hash> Distinct<T> {
    /// Where a value is, which is put at the end if it is new.
    fn position(&mut self, value: T) -> u32 {
        *self.positions.entry(value).or_insert_with(|| {
            self.values.push(value);
            u32::try_from(self.values.len() - 1).expect("fewer than 2^32 rows")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadCounters;

    /// Two words of its own and three counters of threads.
    struct Mixed {
        single: [AtomicU64; 2],
        threads: ThreadCounters<3>,
    }

    impl Counters for Mixed {
        fn unit(&self) -> &'static str {
            "things"
        }
        fn len(&self) -> usize {
            8
        }
        fn name(&self, index: usize) -> &'static str {
            ["a", "b", "c", "d"][index % 4]
        }
        fn class(&self, index: usize) -> &'static str {
            if index < 4 { "first" } else { "b" }
        }
        fn unit_of(&self, index: usize) -> Option<&'static str> {
            (index % 2 == 1).then_some("eighths")
        }
        fn counter(&self, index: usize) -> Counter<'_> {
            match index {
                0 | 1 => Counter::from(&self.single[index]),
                2..5 => self.threads.counter(index - 2),
                _ => self.threads.counter(index - 5).times(2).times(4),
            }
        }
    }

    /// What the tool says itself is the known answer, also after more was counted.
    #[test]
    fn rows_say_what_the_tool_said_and_count_on() {
        static MIXED: Mixed = Mixed {
            single: [AtomicU64::new(5), AtomicU64::new(6)],
            threads: ThreadCounters::new(),
        };
        let rows = Rows::of(&MIXED);
        MIXED.threads.add(0, 7);
        std::thread::scope(|scope| {
            scope.spawn(|| MIXED.threads.add(0, 1));
        });
        MIXED.threads.add(2, u64::MAX);
        MIXED.single[1].store(9, Relaxed);
        let expected = [
            ("a", "first", None, 5),
            ("b", "first", Some("eighths"), 9),
            ("c", "first", None, 8),
            ("d", "first", Some("eighths"), 0),
            ("a", "b", None, u64::MAX),
            ("b", "b", Some("eighths"), 64),
            ("c", "b", None, 0),
            ("d", "b", Some("eighths"), u64::MAX - 7),
        ];
        assert_eq!((rows.len(), rows.unit()), (8, "things"));
        for (index, row) in expected.into_iter().enumerate() {
            let said =
                (rows.name(index), rows.class(index), rows.unit_of(index), rows.value(index));
            assert_eq!(said, row, "row {index}");
            assert_eq!(MIXED.counter(index).value(), row.3, "row {index}");
        }
    }
}
