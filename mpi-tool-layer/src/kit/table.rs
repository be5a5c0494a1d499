//! Tables: measures by key, for tools that want to know more than a fixed list of counters can tell.

use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use mpi_sys::MPI_THREAD_MULTIPLE;

use super::Clock;
use super::layout::Layout;
use super::moments::Moments;
use super::own_time::OwnTime;
use super::phases::Phases;
use super::shard::{MOST_HINTED, Row, Shape, Shard, Sum};
use super::thread::{TABLES, ThisThread};
use super::timeline::{Shares, Stretch, Timeline};
use crate::counters::memory;
use crate::host::neighbours::{STILL_RUNNING, ToolInfo};
use crate::host::world::thread_level;

/// The numbers of a key's parts, in the order of [`RowKey::PARTS`]; those that the key does not have are 0.
/// `u32::MAX` stands for all that have no row of their own.
pub type Parts = [u32; 5];

/// What a row of a [`Table`] is about: up to five numbers, the key's *parts*.
pub trait RowKey: Copy {
    /// The parts, in their order: at most five, which need 128 bits together ([`PartKind::bits`]).
    const PARTS: &'static [Part];

    /// How many different [coarse](Self::coarse) keys there may be. A table keeps room for a row of each.
    const COARSE: usize;

    /// How many different [hints](Self::hint) there are: a power of two of at least 16, or 0 without hints. Each takes
    /// four bytes of a thread's memory, which is used only where the hints are.
    const HINTS: usize = 0;

    /// Does the table keep segments, the times between two events of a thread? The first measure is an event's time then, an
    /// event's moment is that of its end, and an event without such a value is inside of another one. The first one
    /// begins with [`Table::begin_segments`].
    const SEGMENTS: bool = false;

    /// The values of the parts; those that the key does not have are 0.
    fn parts(self) -> Parts;

    /// A number that differs between the keys that a thread uses in turn, most of the time, and that takes an instruction
    /// or two to know: the number of one of the parts, for example. By it [`Table::add_known`] finds the row of the key that
    /// the thread has last used with this hint. What is above the number of [hints](Self::HINTS) is cut off.
    #[inline(always)]
    fn hint(self) -> usize {
        0
    }

    /// The key of the row that a full table counts in, instead of making a row of its own for this key: the
    /// same with fewer parts. The coarse key of a coarse key is itself.
    fn coarse(parts: Parts) -> Parts;
}

/// A part of a key: its name in reports, and what its number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The name of the column.
    pub name: &'static str,
    /// What the numbers are.
    pub kind: PartKind,
}

/// What the numbers of a key's part are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartKind {
    /// [`FunctionId`](crate::FunctionId) as a number.
    Function,
    /// [`Site::number`](crate::Site::number).
    Site,
    /// [`TrackedComm::number`](crate::TrackedComm::number).
    Communicator,
    /// [`SizeClass::number`](crate::SizeClass::number).
    Size,
    /// A phase of the application's, which has the same number on all ranks; 0 of what is in none.
    Phase,
    /// A number that means the same on all ranks.
    Number,
}

impl PartKind {
    /// How many bits of a key such a part takes: 16 or 32. What does not fit is cut off, but for `u32::MAX`.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Function | Self::Size => 16,
            Self::Site | Self::Communicator | Self::Phase | Self::Number => 32,
        }
    }
}

/// A measure: a column of a [`Table`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// The name of the column.
    pub name: &'static str,
    /// What the values are.
    pub unit: MeasureUnit,
}

impl Measure {
    /// Are the values times?
    pub(crate) fn is_time(&self) -> bool {
        self.unit == MeasureUnit::Ticks
    }
}

/// What a measure's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeasureUnit {
    /// Ticks of the [`Clock`](crate::Clock), which are reported as nanoseconds.
    Ticks,
    /// Bytes.
    Bytes,
}

/// Measures by key: each row has `M` measures and a number of events, for a layer that wants to know where
/// and how something happens.
///
/// Each thread has rows of its own, so that adding takes no lock, and for a key that the thread has had
/// before no allocation. All rows can be read at any time, in a signal handler, too. A table has room for
/// so many keys in each thread; when that is used up, further keys are counted in the rows of their
/// [coarse](RowKey::coarse) keys: what is reported is less detailed then, and the report says so, but no
/// total is lost.
///
/// What [`Tool::table`](crate::Tool::table) returns is merged over the ranks and reported.
///
/// ```
/// use mpi_tool_layer::{Measure, MeasureUnit, Part, PartKind, Parts, RowKey, Table};
///
/// /// Messages by their tag.
/// #[derive(Clone, Copy)]
/// struct ByTag(u32);
///
/// impl RowKey for ByTag {
///     const PARTS: &'static [Part] = &[Part { name: "tag", kind: PartKind::Number }];
///     // Tags that find no room are counted as tag 2^32 - 1.
///     const COARSE: usize = 1;
///     fn parts(self) -> Parts { [self.0, 0, 0, 0, 0] }
///     fn coarse(_: Parts) -> Parts { [u32::MAX, 0, 0, 0, 0] }
/// }
///
/// const MEASURES: &[Measure] = &[Measure { name: "sent", unit: MeasureUnit::Bytes }];
/// static MESSAGES: Table<ByTag, 1> = Table::new("messages", MEASURES, 1000);
///
/// MESSAGES.add(ByTag(7), 1, [Some(64)]);
/// MESSAGES.add(ByTag(7), 1, [Some(36)]);
/// let mut seen = Vec::new();
/// MESSAGES.each(|parts, events, [sent]| seen.push((parts[0], events, sent.sum)));
/// assert_eq!(seen, [(7, 2, 100)]);
/// ```
pub struct Table<K, const M: usize> {
    any: AnyTable,
    key: PhantomData<fn(K)>,
}

impl<K: RowKey, const M: usize> Table<K, M> {
    /// Where the parts of a key are in its words.
    const LAYOUT: Layout = Layout::of(K::PARTS);

    /// An empty table, with room for so many keys in each thread, and for all coarse ones. `events` is what is counted, in
    /// the plural: `calls`. A row takes 24 bytes and 40 for each measure, of memory that is used only when the row is.
    ///
    /// # Panics
    /// If there are not as many measures as the type says, or if the parts of a key are too many.
    pub const fn new(events: &'static str, measures: &'static [Measure], rows: usize) -> Self {
        assert!(measures.len() == M, "a table has as many measures as its type says");
        assert!(rows < 1 << 24 && K::COARSE < 1 << 24, "a table has less than 2^24 rows");
        let coarsen = |key| Self::LAYOUT.words(K::coarse(Self::LAYOUT.parts(key)));
        assert!(K::HINTS == 0 || K::HINTS.is_power_of_two() && K::HINTS >= 16);
        assert!(K::HINTS == 0 || M <= MOST_HINTED, "keys of so many measures have no hints");
        let (coarse, hints, segments) = (K::COARSE, K::HINTS, K::SEGMENTS);
        assert!(!segments || hints > 0 && M > 0, "segments are kept of times, of keys with hints");
        let shape = Shape { measures: M, rows, coarse, hints, segments, coarsen };
        assert!(shape.words() < 1 << 32, "the rows of a thread take less than 2^35 bytes");
        Self { any: AnyTable::new(shape, events, K::PARTS, measures), key: PhantomData }
    }

    /// Adds so many events to a key's row, and to each measure its value, if there is one. For any
    /// thread at any time; not for signal handlers, as a thread's first row takes locks and maps memory.
    /// A handler's call that interrupts another one of the same thread is counted all the same.
    #[inline(always)]
    pub fn add(&self, key: K, events: u64, values: [Option<u64>; M]) {
        let [first, second] = const { Self::LAYOUT }.words(key.parts());
        match self.any.own() {
            // SAFETY: this must be the shard's own thread: it is.
            Some(shard) if unsafe { shard.begin() } => {
                // SAFETY: this thread must be the shard's only writer: the shard is its own, and nobody else has begun. Its
                // rows have `M` measures, as its table.
                unsafe {
                    shard.add([first, second], events, &values);
                    shard.end();
                }
            }
            _ => {
                // Copies, so that the values themselves need not be in memory.
                let values: [_; M] = core::array::from_fn(|index| values[index]);
                // SAFETY: the values must be as many as the table's measures: both are `M`.
                unsafe { self.any.add_slowly(first, second, events, &values) };
            }
        }
    }

    /// Adds an event to a key's row if that takes a few instructions only, and calls no function: if the thread has last
    /// [added](Self::add_call) to this key of those with its [hint](RowKey::hint), no value is less or greater than all
    /// before, and the event's moment is not behind the one until which the thread need not look at what is due. Else
    /// nothing is added, and the answer is no.
    #[inline(always)]
    pub fn add_known(
        &self,
        thread: ThisThread,
        key: K,
        moment: u64,
        values: [Option<u64>; M],
    ) -> bool {
        const { assert!(K::HINTS > 0, "the key has hints") };
        let Some(shard) = self.any.own_in(thread) else { return false };
        // SAFETY: this must be the shard's own thread: it is.
        if unsafe { moment > shard.due() || !shard.begin() } {
            return false;
        }
        let words = const { Self::LAYOUT }.words(key.parts());
        let hint = key.hint() & (K::HINTS - 1);
        // SAFETY: this thread must be the shard's only writer: the shard is its own, and nobody else has begun. The
        // shard's shape is the table's, whose hints are the key's, and `new` looks at the measures.
        unsafe {
            let Some(row) = shard.find_by_hint(words, hint, K::HINTS) else {
                shard.end();
                return false;
            };
            add_quickly::<K, M, true>(shard, row, moment, &values)
        }
    }

    /// Adds an event that has come at a moment, as [`add`](Self::add) does, for [`add_known`](Self::add_known) to know the
    /// row next time. If the moment is behind the one that `look` has returned last in this thread, `look` is called
    /// before: so something can be done now and then, for a comparison in each call.
    pub fn add_call(
        &self,
        key: K,
        moment: u64,
        values: [Option<u64>; M],
        look: impl FnOnce() -> u64,
    ) {
        let [first, second] = const { Self::LAYOUT }.words(key.parts());
        match self.any.own() {
            // SAFETY: this must be the shard's own thread: it is.
            Some(shard) if unsafe { moment <= shard.due() } => {}
            Some(shard) => {
                let until = look();
                // SAFETY: this must be the shard's own thread: it is.
                unsafe { shard.set_due(until) };
            }
            None => _ = look(),
        }
        // Also the first event of a thread begins a segment.
        match self.any.own().or_else(|| self.any.make_own()) {
            // SAFETY: this must be the shard's own thread: it is.
            Some(shard) if unsafe { shard.begin() } => {
                // SAFETY: this thread must be the shard's only writer: the shard is its own, and nobody else has begun.
                // The shard's shape is the table's, whose hints are the key's, and `new` looks at the measures.
                unsafe {
                    let row = shard.find([first, second]);
                    if K::HINTS > 0 {
                        shard.keep_hint(row, key.hint() & (K::HINTS - 1), K::HINTS);
                    }
                    add_slowly::<K, M>(shard, row, moment, &values);
                    shard.end();
                }
            }
            // SAFETY: the values must be as many as the table's measures: both are `M`.
            _ => unsafe { self.any.add_slowly(first, second, 1, &values) },
        }
    }

    /// The application's own time begins at this moment, with the end of an event of this key, which has been
    /// [added](Self::add_call): what was before belongs to no segment. Later calls only say that it goes on, if it has
    /// [ended](Self::end_segments).
    pub fn begin_segments(&self, key: K, moment: u64) {
        const { assert!(K::SEGMENTS, "the table keeps segments") };
        if self.any.own_time.begin(moment, || self.any.time()) {
            self.segment_before(key, moment, true);
        }
    }

    /// The application's own time ends at this moment, with an event of this key, which has been [added](Self::add_call) and
    /// takes no time. It goes on if another one [begins](Self::begin_segments) it.
    pub fn end_segments(&self, key: K, moment: u64) {
        const { assert!(K::SEGMENTS, "the table keeps segments") };
        self.any.own_time.finish(moment);
        self.segment_before(key, moment, false);
    }

    /// An event of this key comes at this moment and takes no time: the segment before it ends, and the next one begins.
    fn segment_before(&self, key: K, moment: u64, is_first: bool) {
        let words = const { Self::LAYOUT }.words(key.parts());
        // SAFETY: `begin` must be called by the shard's own thread, which this is; then nobody else writes, and the shard is
        // one of a table that keeps segments: both callers are.
        unsafe {
            if let Some(shard) = self.any.own()
                && shard.begin()
            {
                if is_first {
                    shard.forget_segments();
                }
                shard.add_any_segment(shard.find(words), moment, moment);
                shard.end();
            }
        }
    }

    /// Reads all rows: calls `each` with key, events and measures of each row of each thread, so that a key
    /// may come several times. Takes no lock and allocates nothing.
    pub fn each(&self, mut each: impl FnMut(Parts, u64, [Moments; M])) {
        self.any.each(|row| {
            each(
                Self::LAYOUT.parts(row.key()),
                row.events(),
                core::array::from_fn(|index| row.moments(index)),
            );
        });
    }

    /// The table as reports want it.
    pub fn any(&self) -> &AnyTable {
        &self.any
    }
}

/// Adds an event to a row, and the segment before it if segments are kept, in a few instructions, and
/// [ends](Shard::end) the change; nothing is added, and the answer is no, if that would take more.
///
/// # Safety
/// This is the shard's writer, which has begun. The row is the shard's, of a table of such keys.
#[inline(always)]
unsafe fn add_quickly<K: RowKey, const M: usize, const ALL_SEGMENTS: bool>(
    shard: &Shard,
    row: Row<'_>,
    moment: u64,
    values: &[Option<u64>; M],
) -> bool {
    // SAFETY: all of it must be done by the writer, with a row of the shard's with so many measures, and of segments only in
    // a table that keeps them: the caller promises the one, and the key's type says the other.
    unsafe {
        let segment = match values.first() {
            Some(Some(time)) if K::SEGMENTS => {
                let segment = shard.segment_to(row);
                if segment.is_none() && !ALL_SEGMENTS {
                    shard.end();
                    return false;
                }
                Some((segment, moment.wrapping_sub(*time)))
            }
            _ => None,
        };
        if !shard.add_to(row, values) {
            shard.end();
            return false;
        }
        match segment {
            Some((Some(segment), start)) => shard.add_segment(segment, row, start, moment),
            Some((None, start)) => shard.add_any_segment(row, start, moment),
            None => {}
        }
        shard.end();
    }
    true
}

/// The same of any event; the change goes on.
///
/// # Safety
/// As of [`add_quickly`].
unsafe fn add_slowly<K: RowKey, const M: usize>(
    shard: &Shard,
    row: Row<'_>,
    moment: u64,
    values: &[Option<u64>; M],
) {
    // SAFETY: as in `add_quickly`.
    unsafe {
        row.add(1, values);
        if K::SEGMENTS
            && let Some(Some(time)) = values.first()
        {
            shard.add_any_segment(row, moment.wrapping_sub(*time), moment);
        }
    }
}

impl<K, const M: usize> fmt::Debug for Table<K, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.any.fmt(f)
    }
}

/// A [`Table`] of any key and any measures: what the framework reports.
#[derive(Debug)]
pub struct AnyTable {
    shape: Shape,
    events: &'static str,
    parts: &'static [Part],
    measures: &'static [Measure],
    /// The number of the table in each thread's memory; 0 as long as it has none, and `TABLES` if there are no more.
    number: AtomicU32,
    /// For threads without memory of their own, for tables without a number, and for what interrupts a
    /// thread at work on its rows.
    shared: AtomicPtr<Shard>,
    /// The thread that writes to `shared`; 0 if there is none.
    writer: AtomicI32,
    /// Events that could not be counted: the system gave no memory.
    lost: AtomicU64,
    /// The tool that reports it, once MPI has started.
    tool: AtomicPtr<ToolInfo>,
    /// When in the run the time was spent, if the tool tells.
    timeline: Timeline,
    /// How long the program's phases took, if the tool tells.
    phases: Phases,
    /// How many ticks the tool takes for an event, as the bits of a number; 0 if it does not tell.
    overhead: AtomicU64,
    /// Since when the application's own time counts.
    own_time: OwnTime,
    /// Reports do not tell of segments.
    no_segments: AtomicBool,
}

impl AnyTable {
    const fn new(
        shape: Shape,
        events: &'static str,
        parts: &'static [Part],
        measures: &'static [Measure],
    ) -> Self {
        Self {
            shape,
            events,
            parts,
            measures,
            number: AtomicU32::new(0),
            shared: AtomicPtr::new(core::ptr::null_mut()),
            writer: AtomicI32::new(0),
            lost: AtomicU64::new(0),
            tool: AtomicPtr::new(core::ptr::null_mut()),
            timeline: Timeline::new(),
            phases: Phases::new(),
            overhead: AtomicU64::new(0),
            own_time: OwnTime::new(),
            no_segments: AtomicBool::new(false),
        }
    }

    /// Whether reports tell of segments, as they do at first.
    pub fn tell_segments(&self, are_told: bool) {
        self.no_segments.store(!are_told, Relaxed);
    }

    /// Of so long a run with so much time in events, in nanoseconds: how long the time is that counts, from the moment of
    /// [`Table::begin_segments`] until it ends, or all of it; and what of it is the application's own.
    pub(crate) fn useful(&self, wall: u64, inside: u64) -> [u64; 2] {
        let Some((ticks, before)) = self.own_time.since(Clock::now()) else {
            return [wall, wall.saturating_sub(inside)];
        };
        let rate = Clock::nanoseconds_per_tick();
        let nanoseconds = |ticks: u64| (ticks as f64 * rate) as u64;
        let since = nanoseconds(ticks).min(wall);
        [since, since.saturating_sub(inside.saturating_sub(nanoseconds(before)))]
    }

    /// Are several threads in events at the same time, as far as anybody can tell? MPI allows it, and more than one has a hundredth of
    /// so long a time, in nanoseconds. Then it is not known what of the time is the application's own.
    pub(crate) fn is_of_several_threads(&self, active: u64) -> bool {
        let Some(time) = self.measures.iter().position(Measure::is_time) else { return false };
        let rate = Clock::nanoseconds_per_tick();
        let mut threads = 0;
        self.each_shard(|shard| {
            let ticks: u64 = shard.rows().map(|row| row.moments(time).sum).sum();
            threads += usize::from(ticks as f64 * rate >= active as f64 / 100.0 && ticks > 0);
        });
        threads > 1 && thread_level().is_none_or(|level| level == MPI_THREAD_MULTIPLE)
    }

    /// Calls `each` with the key of each segment (function and site of the event before and of the one after, and the phase of
    /// the one before, in which the time is) and its ticks: several times of the same one, perhaps.
    pub(crate) fn each_segment(&self, mut each: impl FnMut(Parts, u64)) {
        if self.no_segments.load(Relaxed) {
            return;
        }
        let layout = self.layout();
        let part = |kind| self.parts.iter().position(|part| part.kind == kind);
        let [function, site, phase] =
            [PartKind::Function, PartKind::Site, PartKind::Phase].map(part);
        self.each_shard(|shard| {
            shard.each_segment(|before, after, ticks| {
                let [before, after] = [before, after].map(|key| layout.parts(key));
                let of = |key: &Parts, part: Option<usize>| part.map_or(0, |part| key[part]);
                let key = [
                    of(&before, function),
                    of(&before, site),
                    of(&after, function),
                    of(&after, site),
                    of(&before, phase),
                ];
                // What runs backwards is the difference of two processors' clocks.
                each(key, u64::try_from(ticks.cast_signed()).unwrap_or(0));
            });
        });
    }

    /// Has a tool report the table.
    pub(crate) fn set_tool(&self, tool: &'static ToolInfo) {
        self.tool.store(core::ptr::from_ref(tool).cast_mut(), Release);
    }

    /// Writes what this process has in its table by now into the process's file, of a program that goes on: so not all is
    /// lost if it is killed, and one can see how it is getting on. The report says that the program is still running, and
    /// goes away when the report of all ranks is there. Nothing happens where reports do not go to files, before MPI has
    /// started, and after the report of all ranks.
    pub fn write_early(&self) {
        // SAFETY: the pointer must be null or of a `ToolInfo` that stays: `set_tool` has it from a `&'static ToolInfo`.
        if let Some(tool) = unsafe { self.tool.load(Acquire).as_ref() } {
            tool.signalled(STILL_RUNNING);
        }
    }

    /// Tells when in the run the table's time is spent, for the report's picture of rank by time: a call took from `start`
    /// to `end`, in ticks of the [`Clock`](super::Clock), and its time is to be added to the table now. It is enough to tell
    /// this of calls that begin or end outside of the [`Stretch`] that was returned last, and of the first one; so a tool
    /// keeps the stretch and compares. Nothing is returned if another thread is telling the same. Takes no lock and
    /// allocates nothing.
    pub fn tell(&self, start: u64, end: u64) -> Option<Stretch> {
        self.timeline.call(start, end, self.time())
    }

    /// Tells that a phase of the program begins now and ends the one before it, or, with 0, that none begins: the report says
    /// how long each took. The keys have a part of the kind [`PartKind::Phase`]. Takes no lock and allocates nothing.
    pub fn begin_phase(&self, number: u32) {
        self.phases.begin(number, Clock::now());
    }

    /// Tells the name of a phase that has begun, which the report has beside its number. The first one stays. Allocates, the
    /// first time.
    pub fn name_phase(&self, number: u32, name: &str) {
        self.phases.name(number, name);
    }

    /// A phase's name; empty if it has none.
    pub(crate) fn phase_name(&self, number: u32) -> &str {
        self.phases.name_of(number)
    }

    /// Calls `each` with the number of each phase, its name, its time up to now, and how much of it is in `rows`, both in
    /// nanoseconds.
    /// None is called for if there are rows of which the phase is not known, since there was no room.
    pub(crate) fn each_phase(&self, rows: Sum, mut each: impl FnMut(u32, &str, u64, u64)) {
        let (Some(part), Some(time)) = (
            self.parts.iter().position(|part| part.kind == PartKind::Phase),
            self.measures.iter().position(Measure::is_time),
        ) else {
            return;
        };
        let (layout, rate) = (self.layout(), Clock::nanoseconds_per_tick());
        let phase = |row: &Row<'_>| layout.parts(row.key())[part];
        if rows.rows().any(|row| phase(&row) == u32::MAX) {
            return;
        }
        let nanoseconds = |ticks: u64| (ticks as f64 * rate) as u64;
        self.phases.each(Clock::now(), |number, name, ticks| {
            let of_phase = rows.rows().filter(|row| phase(row) == number);
            let inside = of_phase.map(|row| row.moments(time).sum).sum();
            each(number, name, nanoseconds(ticks), nanoseconds(inside));
        });
    }

    /// Tells how many ticks of the [`Clock`](super::Clock) the tool itself takes for an event, as it has measured that in this
    /// run: the report says how much time of each rank that is.
    pub fn set_overhead(&self, ticks: f64) {
        self.overhead.store(ticks.to_bits(), Relaxed);
    }

    /// The time that the tool itself has taken for all events up to now, in nanoseconds; 0 if it does not tell.
    pub(crate) fn overhead(&self) -> u64 {
        let ticks = f64::from_bits(self.overhead.load(Relaxed));
        (self.count() as f64 * ticks * Clock::nanoseconds_per_tick()) as u64
    }

    /// The sum of the first measure in ticks, over all rows.
    pub(crate) fn time(&self) -> u64 {
        let Some(index) = self.measures.iter().position(Measure::is_time) else { return 0 };
        let mut sum = 0_u64;
        self.each(|row| sum = sum.wrapping_add(row.moments(index).sum));
        sum
    }

    /// When in the run the time was spent, up to now.
    pub(crate) fn shares(&self) -> Shares {
        self.timeline.shares(Clock::now(), self.time())
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// What is counted.
    pub(crate) fn events(&self) -> &'static str {
        self.events
    }

    /// How many of it there are.
    pub(crate) fn count(&self) -> u64 {
        let mut count = 0_u64;
        self.each(|row| count = count.wrapping_add(row.events()));
        count
    }

    /// Adds up the rows of all threads in a shard that nobody else uses meanwhile.
    pub(crate) fn add_up(&self, rows: Sum) {
        rows.clear();
        self.each_shard(|shard| rows.add_all(shard));
    }

    pub(crate) fn parts(&self) -> &'static [Part] {
        self.parts
    }

    /// Where the parts of a key are in its words.
    pub(crate) fn layout(&self) -> Layout {
        Layout::of(self.parts)
    }

    /// The coarse key of a key.
    pub(crate) fn coarse(&self, key: Parts) -> Parts {
        let layout = self.layout();
        layout.parts((self.shape.coarsen)(layout.words(key)))
    }

    pub(crate) fn measures(&self) -> &'static [Measure] {
        self.measures
    }

    /// How many events could not be counted.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// This thread's rows, once it has some.
    #[inline(always)]
    fn own(&self) -> Option<&'static Shard> {
        self.own_in(ThisThread::get())
    }

    /// The same, for who has found this thread already.
    #[inline(always)]
    fn own_in(&self, thread: ThisThread) -> Option<&'static Shard> {
        let memory = thread.memory?;
        // Numbers 0 and `TABLES` have no shard.
        let number = self.number.load(Relaxed) as usize;
        // SAFETY: the number must be a table's: `take_number` gives none above `TABLES`, for which there is a place, too.
        let shard = unsafe { memory.tables.get_unchecked(number) }.load(Relaxed);
        // SAFETY: the pointer must be null or of a shard that stays: only `make_own` writes it, with one that
        // `Shard::map` has made, in this thread or in one that this thread has taken the directory over from.
        unsafe { shard.as_ref() }
    }

    /// Where a thread has no rows yet, or is at work on them.
    ///
    /// # Safety
    /// There are as many values as the table has measures.
    #[cold]
    #[inline(never)]
    unsafe fn add_slowly(&self, first: u64, second: u64, events: u64, values: &[Option<u64>]) {
        let key = [first, second];
        if let Some(own) = self.own().or_else(|| self.make_own())
            // SAFETY: this must be the shard's own thread: it is.
            && unsafe { own.begin() }
        {
            // SAFETY: this thread must be the shard's only writer: the shard is its own, and nobody else has begun. Its rows
            // have as many measures as the table, and so as there are values, as the caller promises.
            unsafe {
                own.add(key, events, values);
                own.end();
            }
            return;
        }
        // SAFETY: `gettid` takes nothing, always succeeds, and may be called anywhere.
        let thread = unsafe { libc::gettid() };
        loop {
            match self.writer.compare_exchange(0, thread, Acquire, Relaxed) {
                Ok(_) => break,
                // A signal handler's call, in the middle of this.
                Err(writer) if writer == thread => {
                    self.lost.fetch_add(events, Relaxed);
                    return;
                }
                Err(_) => std::thread::yield_now(),
            }
        }
        let mut shared = self.shared.load(Relaxed).cast_const();
        if shared.is_null()
            && let Some(new) = Shard::map(self.shape)
        {
            shared = new;
            self.shared.store(shared.cast_mut(), Release);
        }
        // SAFETY: the pointer must be null or of a shard that stays: it is one that `Shard::map` has made.
        match unsafe { shared.as_ref() } {
            // SAFETY: this thread must be the shard's only writer: it is the one that `writer` names. The shard's rows have as
            // many measures as the table, and so as there are values, as the caller promises.
            Some(shard) => unsafe { shard.add(key, events, values) },
            None => {
                self.lost.fetch_add(events, Relaxed);
            }
        }
        self.writer.store(0, Release);
    }

    /// Gives the thread rows of its own, where that is possible.
    #[cold]
    #[inline(never)]
    fn make_own(&self) -> Option<&'static Shard> {
        let memory = memory::make_kit()?;
        let slot = memory.tables[..TABLES].get(self.take_number() as usize)?;
        let shard = Shard::map(self.shape)?;
        // A signal handler may have been faster; its rows stay.
        match slot.compare_exchange(
            core::ptr::null_mut(),
            core::ptr::from_ref(shard).cast_mut(),
            AcqRel,
            Acquire,
        ) {
            Ok(_) => Some(shard),
            Err(_) => self.own(),
        }
    }

    /// The table's number, which it takes when it is first asked.
    fn take_number(&self) -> u32 {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = self.number.load(Relaxed);
        if number != 0 {
            return number;
        }
        let new = NEXT.fetch_add(1, Relaxed).min(TABLES as u32);
        // Numbers that are taken and not used are no loss worth a lock.
        self.number.compare_exchange(0, new, Relaxed, Relaxed).map_or_else(|taken| taken, |_| new)
    }

    /// Calls `each` with all rows of all threads.
    pub(crate) fn each(&self, mut each: impl FnMut(Row<'_>)) {
        self.each_shard(|shard| shard.rows().for_each(&mut each));
    }

    /// Calls `each` with the rows of each thread.
    pub(crate) fn each_shard(&self, mut each: impl FnMut(&Shard)) {
        // SAFETY: the pointer must be null or of a shard that stays: `add_slowly` has one that `Shard::map` has made.
        if let Some(shared) = unsafe { self.shared.load(Acquire).as_ref() } {
            each(shared);
        }
        let number = self.number.load(Relaxed) as usize;
        memory::each_kit(|memory| {
            let Some(slot) = memory.tables[..TABLES].get(number) else { return };
            // SAFETY: the pointer must be null or of a shard that stays: only `make_own` writes it, with one that `Shard::map` has
            // made.
            if let Some(shard) = unsafe { slot.load(Acquire).as_ref() } {
                each(shard);
            }
        });
    }
}

mod known;
#[cfg(test)]
mod tests;

pub use known::KnownRow;
