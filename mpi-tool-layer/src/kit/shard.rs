//! A table's rows in the memory of one thread, found by a hash. Only that thread writes; all may read
//! at any time, as a signal handler does when it reports.
//!
//! The memory is mapped at once and in full, but the system makes its pages when they are touched: rows
//! stand in the order in which they came, so that few rows touch few pages. Nothing ever moves.

use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
    compiler_fence,
};

use super::moments::{self, Cell, Moments};
use super::segments::{Before, CELLS, PAIRS, Pair};
use crate::arch;
use crate::counters::memory::zeros_in_small_pages;

/// A row's key, as the table keeps it.
pub(crate) type Words = [u64; 2];

/// The key of the row that takes what has no other: only if there are more coarse keys than the table
/// was promised.
pub(crate) const REST: Words = [u64::MAX; 2];

/// How a table's memory is laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// How many measures a row has.
    pub(crate) measures: usize,
    /// How many rows there may be of any keys.
    pub(crate) rows: usize,
    /// How many more there may be of coarse keys.
    pub(crate) coarse: usize,
    /// How many [hints](super::table::RowKey::hint) there are, a power of two, or 0.
    pub(crate) hints: usize,
    /// Are the [segments](super::segments) before each row kept?
    pub(crate) segments: bool,
    /// The coarse key of a key: that of the row that stands in for it in a full table.
    pub(crate) coarsen: fn(Words) -> Words,
}

impl Shape {
    /// The same for the rows of many threads together.
    pub(crate) const fn together(self) -> Self {
        Self { rows: 4 * self.rows, hints: 0, segments: false, ..self }
    }

    /// Words before the shard: the rows that were found last by their hints, which are at the same distance from it in
    /// all shards of a key.
    const fn words_before(self) -> usize {
        self.hints * size_of::<AtomicU32>() / size_of::<AtomicU64>()
    }

    /// A power of two, at least twice as many as there are rows, so that a place is found soon.
    const fn index_length(self) -> usize {
        (2 * self.all_rows()).next_power_of_two()
    }

    /// With the row for [`REST`].
    const fn all_rows(self) -> usize {
        self.rows + self.coarse + 1
    }

    /// Where the rows begin, in words from the beginning of the shard. The index stands before them, and the first row's
    /// segments.
    const fn rows_at(self) -> usize {
        HEADER
            + self.index_length() * size_of::<AtomicU32>() / size_of::<AtomicU64>()
            + self.segment_words()
    }

    /// Where the segments are that a row has no place for, in words from the beginning of the shard.
    const fn pairs_at(self) -> usize {
        self.rows_at() + self.all_rows() * self.row_words()
    }

    /// Words of the segments before a row.
    const fn segment_words(self) -> usize {
        if self.segments { SEGMENTS } else { 0 }
    }

    /// All of a shard's memory, in words.
    pub(crate) const fn words(self) -> usize {
        let pairs =
            if self.segments { PAIRS * size_of::<Pair>() / size_of::<AtomicU64>() } else { 0 };
        self.words_before() + self.pairs_at() + pairs
    }

    /// Words of a row: the key, how many events, the measures, and the segments of the row that comes next.
    const fn row_words(self) -> usize {
        KEY + 1 + self.measures * moments::WORDS + self.segment_words()
    }
}

/// Words of the segments before a row.
const SEGMENTS: usize = CELLS * size_of::<Before>() / size_of::<AtomicU64>();

/// Words of a key.
const KEY: usize = 2;

/// Words before the index.
const HEADER: usize = size_of::<Shard>().next_multiple_of(64) / size_of::<AtomicU64>();

/// A row of a shard.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    /// The key, the events, and the measures.
    words: *const AtomicU64,
    measures: usize,
    shard: PhantomData<&'a Shard>,
}

impl<'a> Row<'a> {
    /// The row's words.
    #[inline(always)]
    pub(crate) fn words(self) -> *const AtomicU64 {
        self.words
    }

    /// The row again.
    ///
    /// # Safety
    /// The words are those of a row of the shard, whose rows have so many measures.
    #[inline(always)]
    pub(crate) unsafe fn of_words(words: *const AtomicU64, measures: usize, _: &'a Shard) -> Self {
        Self { words, measures, shard: PhantomData }
    }

    /// A word of the row: one of its key, its events, or a word of one of its measures.
    ///
    /// # Safety
    /// The row has so many words.
    #[inline(always)]
    unsafe fn word(self, index: usize) -> &'a AtomicU64 {
        debug_assert!(index < KEY + 1 + self.measures * moments::WORDS);
        // SAFETY: the word must be there for as long as the shard: it is one of the row's, as the caller promises.
        unsafe { &*self.words.add(index) }
    }

    #[inline(always)]
    pub(crate) fn key(self) -> Words {
        // SAFETY: every row begins with the words of its key, which are two.
        unsafe { [self.word(0).load(Relaxed), self.word(1).load(Relaxed)] }
    }

    /// Is it the key's? In fewer instructions than by [`key`](Self::key), as the words are not read atomically.
    ///
    /// # Safety
    /// Nobody writes the key meanwhile.
    #[inline(always)]
    unsafe fn has_key(self, [first, second]: Words) -> bool {
        // SAFETY: every row begins with the two words of its key, which nobody writes, as the caller promises.
        unsafe { *self.word(0).as_ptr() == first && *self.word(1).as_ptr() == second }
    }

    /// Where the events are counted.
    #[inline(always)]
    fn count(self) -> &'a AtomicU64 {
        // SAFETY: every row has the word behind its key's.
        unsafe { self.word(KEY) }
    }

    pub(crate) fn events(self) -> u64 {
        self.count().load(Relaxed)
    }

    /// A measure.
    ///
    /// # Safety
    /// The row has so many.
    #[inline(always)]
    unsafe fn measure(self, index: usize) -> &'a Cell {
        debug_assert!(index < self.measures);
        // SAFETY: a `Cell` must be there: it is `repr(transparent)` over so many atomic words, which a row has for each of
        // its measures, and so for this one, as the caller promises. All values of the words are allowed.
        unsafe {
            let first: *const AtomicU64 = self.word(KEY + 1 + index * moments::WORDS);
            &*first.cast::<Cell>()
        }
    }

    /// What a measure has. For reports.
    ///
    /// # Panics
    /// If the row has no such measure.
    pub(crate) fn moments(self, index: usize) -> Moments {
        assert!(index < self.measures, "a row of {} measures", self.measures);
        // SAFETY: the row must have the measure, as was just asked.
        unsafe { self.measure(index) }.read()
    }

    /// Adds so many events. Only the shard's writer counts right.
    #[inline(always)]
    pub(crate) fn add_events(self, events: u64) {
        let count = self.count();
        count.store(count.load(Relaxed).wrapping_add(events), Relaxed);
    }

    /// Adds a value to a measure, if there is one.
    ///
    /// # Safety
    /// Only the shard's writer does so. The row has so many measures.
    #[inline(always)]
    pub(crate) unsafe fn add_value(self, index: usize, value: Option<u64>) {
        if let Some(value) = value {
            // SAFETY: the row must have the measure, and only one thread may add at a time, the shard's writer: the caller
            // promises both.
            unsafe { self.measure(index).add(value) };
        }
    }

    /// Adds events and values.
    ///
    /// # Safety
    /// Only the shard's writer does so. The row has as many measures as there are values.
    #[inline(always)]
    pub(crate) unsafe fn add(self, events: u64, values: &[Option<u64>]) {
        self.add_events(events);
        for (index, value) in values.iter().enumerate() {
            // SAFETY: the row must have the measure, and this must be the writer: the caller promises both.
            unsafe { self.add_value(index, *value) };
        }
    }

    /// Where the time between an event of a row and the next one, of this row, is added up: one of a few places, by the
    /// address of the row before.
    ///
    /// # Safety
    /// The shard keeps segments.
    #[inline(always)]
    unsafe fn segment_after(self, before: usize) -> &'a Before {
        // Rows take an odd number of words, so that neighbours have different places.
        let place = before / size_of::<AtomicU64>() % CELLS;
        let there = self.words.cast::<Before>().wrapping_add(place);
        // Without this the compiler takes three instructions for the address, which it makes of its parts again for each use.
        // SAFETY: so many places must be before the row: they are, in a shard that keeps segments. All values of their words
        // are allowed.
        unsafe { &*arch::kept(there).sub(CELLS) }
    }

    /// Adds what another row of so many measures has.
    ///
    /// # Safety
    /// This is the shard's writer, or the shard is a [`Sum`]'s.
    unsafe fn add_row(self, other: Row<'_>) {
        self.add_events(other.events());
        for index in 0..self.measures {
            let more = other.moments(index);
            // SAFETY: the row must have the measure, which is below their number, and nobody else may add a value: this is the
            // writer, or nobody adds values to a `Sum`.
            unsafe { self.measure(index).add_all(more) };
        }
    }

    /// Forgets all.
    fn clear(self) {
        for index in 0..KEY + 1 + self.measures * moments::WORDS {
            // SAFETY: the row must have the word, which is below their number.
            unsafe { self.word(index) }.store(0, Relaxed);
        }
    }
}

/// So many measures a table may have whose keys have hints.
pub(crate) const MOST_HINTED: usize = 4;

/// Stands for the row of the event before, where there was none: no row has this address.
const NO_EVENT: usize = 1;

/// The key of [`Shard::nothing`].
const NOTHING: Words = [u64::MAX, u64::MAX - 1];

/// The rows of one thread, its writer; or a [`Sum`]'s.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Shard {
    /// What a hint leads to by which nothing was found yet, 0: a row, which nobody reads. Its key is none that a tool has:
    /// a tool that asks for it all the same adds to nothing.
    nothing: [AtomicU64; KEY + 1 + MOST_HINTED * moments::WORDS],
    shape: Shape,
    /// A thread is changing it: what comes meanwhile, by a signal, is counted elsewhere.
    busy: AtomicBool,
    /// How many rows there are.
    length: AtomicU32,
    /// Until when the thread need not look at what is due.
    due: AtomicU64,
    /// Places of the hash table, less one: a power of two, less one.
    mask: usize,
    /// Where the rows begin.
    rows_at: usize,
    row_words: usize,
    /// The address of the row of the event that was the thread's last one, or [`NO_EVENT`]; and when it ended.
    before: AtomicUsize,
    before_end: AtomicU64,
    // Behind this, in the same mapping: for each place of the hash table where a row begins, or 0; and the rows. All
    // are counted in words from the beginning of the shard. Before this: for each hint where the row begins that was
    // found by it last, or 0.
}

impl Shard {
    /// New memory without rows; `None` if the system gives none. It is never freed.
    pub(crate) fn map(shape: Shape) -> Option<&'static Shard> {
        let memory = zeros_in_small_pages(shape.words() * size_of::<AtomicU64>())?;
        let memory = memory.cast::<AtomicU64>().as_ptr();
        // SAFETY: the memory is new, aligned to a page, and has room for a shard between the hints, which are a multiple
        // of 64 bytes (`Table::new`), and the index. It is never freed, and its address is exposed, as `word_at` wants it.
        unsafe {
            let shard = memory.add(shape.words_before()).cast::<Shard>();
            shard.write(Shard {
                nothing: core::array::from_fn(|word| {
                    AtomicU64::new(NOTHING.get(word).copied().unwrap_or(0))
                }),
                shape,
                busy: AtomicBool::new(false),
                length: AtomicU32::new(0),
                due: AtomicU64::new(0),
                mask: shape.index_length() - 1,
                rows_at: shape.rows_at(),
                row_words: shape.row_words(),
                before: AtomicUsize::new(NO_EVENT),
                before_end: AtomicU64::new(0),
            });
            memory.expose_provenance();
            Some(&*shard)
        }
    }

    /// Begins to change the shard, unless it is being changed: then the answer is no. Whoever begins
    /// [ends](Self::end) it.
    ///
    /// # Safety
    /// This is the shard's own thread.
    #[inline(always)]
    pub(crate) unsafe fn begin(&self) -> bool {
        // Not read atomically, which would take more instructions.
        // SAFETY: no other thread may write to it: only the shard's own begins and ends.
        if unsafe { *self.busy.as_ptr() } {
            return false;
        }
        self.busy.store(true, Relaxed);
        // A signal handler of this thread sees what comes in between as it stands here.
        compiler_fence(Acquire);
        true
    }

    /// The change is done.
    ///
    /// # Safety
    /// This is the shard's own thread, which has begun.
    #[inline(always)]
    pub(crate) unsafe fn end(&self) {
        compiler_fence(Release);
        self.busy.store(false, Relaxed);
    }

    /// Until when the thread need not look at what is due.
    ///
    /// # Safety
    /// This is the shard's own thread.
    #[inline(always)]
    pub(crate) unsafe fn due(&self) -> u64 {
        // Not read atomically, which would take more instructions.
        // SAFETY: no other thread may write to it: only the shard's own one does.
        unsafe { *self.due.as_ptr() }
    }

    /// The thread has looked at what is due.
    ///
    /// # Safety
    /// This is the shard's own thread.
    pub(crate) unsafe fn set_due(&self, until: u64) {
        self.due.store(until, Relaxed);
    }

    /// What is so many words from the beginning of the shard.
    #[inline(always)]
    fn word_at(&self, at: usize) -> *const AtomicU64 {
        // The mapping, not only the shard that is at its beginning.
        let shard = with_exposed_provenance::<AtomicU64>(core::ptr::from_ref(self).addr());
        shard.wrapping_add(at)
    }

    /// The row that begins there.
    ///
    /// # Safety
    /// A row begins there: the index or a hint says so, or it is [where](Self::at) the row of a number is. If nothing was
    /// found by the hint yet, the shard's rows have [`MOST_HINTED`] measures at most.
    #[inline(always)]
    unsafe fn row_at(&self, at: usize) -> Row<'_> {
        Row { words: self.word_at(at), measures: self.shape.measures, shard: PhantomData }
    }

    /// Where a row begins, by its number: below `length`, or that of the row that comes next. So it is below
    /// `all_rows`, for which the mapping has room.
    fn at(&self, number: u32) -> usize {
        self.rows_at + number as usize * self.row_words
    }

    /// A place of the hash table.
    #[inline(always)]
    fn place(&self, at: usize) -> &AtomicU32 {
        let index = self.word_at(HEADER).cast::<AtomicU32>();
        // SAFETY: the place must be there: the index begins behind the header, and the mask is the number of its
        // places less one.
        unsafe { &*index.add(at & self.mask) }
    }

    /// The row that was found last by a hint, if it is this key's.
    ///
    /// # Safety
    /// Only the shard's writer asks. The shard has so many hints, the given one is below that, and the shard's rows have
    /// [`MOST_HINTED`] measures at most.
    #[inline(always)]
    pub(crate) unsafe fn find_by_hint(
        &self,
        key: Words,
        hint: usize,
        hints: usize,
    ) -> Option<Row<'_>> {
        // SAFETY: `hinted` and `row_at` want what the caller promises; of the hints, only `keep_hint` writes them.
        let row = unsafe {
            let found = self.hinted(hint, hints).load(Relaxed);
            self.row_at(found as usize)
        };
        // SAFETY: nobody may write the key: this is the writer, and rows keep their keys.
        unsafe { row.has_key(key) }.then_some(row)
    }

    /// Where the row begins that was found last by a hint.
    ///
    /// # Safety
    /// The shard has so many hints, and the given one is below that.
    #[inline(always)]
    unsafe fn hinted(&self, hint: usize, hints: usize) -> &AtomicU32 {
        let shard = with_exposed_provenance::<AtomicU32>(core::ptr::from_ref(self).addr());
        // SAFETY: a number must be there: so many are before the shard, and the hint is below that, as the caller promises.
        unsafe { &*shard.sub(hints).add(hint) }
    }

    /// The row of a key is found by this hint from now on.
    ///
    /// # Safety
    /// As of [`find_by_hint`](Self::find_by_hint). The row is the shard's.
    pub(crate) unsafe fn keep_hint(&self, row: Row<'_>, hint: usize, hints: usize) {
        let words = row.words.addr() - core::ptr::from_ref(self).addr();
        // A shard has less than 2^32 words.
        let at = (words / size_of::<AtomicU64>()) as u32;
        // SAFETY: `hinted` wants what the caller promises.
        unsafe { self.hinted(hint, hints) }.store(at, Relaxed);
    }

    /// The row of a key, which is made if it is new; that of its coarse key if the table is full.
    ///
    /// # Safety
    /// Only the shard's writer asks.
    #[inline(always)]
    pub(crate) unsafe fn find(&self, [first, second]: Words) -> Row<'_> {
        let at = hash([first, second]);
        let found = self.place(at).load(Relaxed);
        if found != 0 {
            // SAFETY: a row must begin there: the index says so.
            let row = unsafe { self.row_at(found as usize) };
            // SAFETY: nobody may write the key: this is the writer, and rows in the index keep their keys.
            if unsafe { row.has_key([first, second]) } {
                return row;
            }
        }
        // SAFETY: it wants the writer, which this is.
        unsafe { self.find_slowly(at, first, second) }
    }

    /// The same, of a row that is new, or not where it is first looked for.
    ///
    /// # Safety
    /// This is the shard's writer, or the shard is a [`Sum`]'s.
    #[inline(never)]
    unsafe fn find_slowly(&self, mut at: usize, first: u64, second: u64) -> Row<'_> {
        loop {
            match self.place(at).load(Relaxed) {
                // SAFETY: it wants what the caller promises.
                0 => return unsafe { self.insert(at, [first, second]) },
                found => {
                    // SAFETY: a row must begin there: the index says so.
                    let row = unsafe { self.row_at(found as usize) };
                    if row.key() == [first, second] {
                        return row;
                    }
                }
            }
            at += 1;
        }
    }

    /// Makes a row, for a key that has none: `at` is where its place is free.
    ///
    /// # Safety
    /// This is the shard's writer, or the shard is a [`Sum`]'s.
    #[cold]
    #[inline(never)]
    unsafe fn insert(&self, at: usize, key: Words) -> Row<'_> {
        let length = self.length.load(Relaxed);
        let Shape { rows, coarse, coarsen, .. } = self.shape;
        let is_coarse = coarsen(key) == key;
        let used = length as usize;
        if key != REST && used >= rows + if is_coarse { coarse } else { 0 } {
            let [first, second] = if is_coarse { REST } else { coarsen(key) };
            // SAFETY: it wants what the caller promises.
            return unsafe { self.find_slowly(hash([first, second]), first, second) };
        }
        // The last one is kept for `REST`: to a sum two may come for it at once.
        let number = length.min(self.shape.all_rows() as u32 - 1);
        let begin = self.at(number);
        // SAFETY: a row must begin there: its number is below that of all rows. Every row begins with the two words of its key.
        let row = unsafe {
            let row = self.row_at(begin);
            row.word(0).store(key[0], Relaxed);
            row.word(1).store(key[1], Relaxed);
            row
        };
        // Readers look at rows below the length only.
        self.length.store(number + 1, Release);
        // `Table::new` makes sure that a shard has less than 2^32 words.
        self.place(at).store(begin as u32, Relaxed);
        row
    }

    /// Adds events and values to a key's row.
    ///
    /// # Safety
    /// Only the shard's writer does so. The shard's rows have as many measures as there are values.
    #[inline(always)]
    pub(crate) unsafe fn add(&self, key: Words, events: u64, values: &[Option<u64>]) {
        // SAFETY: both want the writer, which this is, and as many measures as the caller promises.
        unsafe { self.find(key).add(events, values) };
    }

    /// Adds an event and values to a row if no value is less or greater than all before; else nothing.
    ///
    /// # Safety
    /// Only the shard's writer does so. The row is the shard's, and has as many measures as there are values.
    #[inline(always)]
    #[allow(clippy::unused_self, reason = "whoever has the shard may add to its rows")]
    pub(crate) unsafe fn add_to<const M: usize>(
        &self,
        row: Row<'_>,
        values: &[Option<u64>; M],
    ) -> bool {
        // These are loops and not closures, which the compiler would not take apart.
        for (index, value) in values.iter().enumerate() {
            if let Some(value) = value
                // SAFETY: the row must have the measure, as the caller promises. Nobody else may add: this is the writer.
                && unsafe { row.measure(index).is_extreme(*value) }
            {
                return false;
            }
        }
        row.add_events(1);
        for (index, value) in values.iter().enumerate() {
            if let Some(value) = value {
                // SAFETY: the row must have the measure, as the caller promises.
                unsafe { row.measure(index) }.add_within(*value);
            }
        }
        true
    }

    /// Where the time since the thread's event before is added up if an event of this row comes now, if that takes a few
    /// instructions only: if the segment of both rows has a place at this one.
    ///
    /// # Safety
    /// Only the shard's writer asks. The row is the shard's, which keeps segments.
    #[inline(always)]
    pub(crate) unsafe fn segment_to<'a>(&'a self, row: Row<'a>) -> Option<&'a Before> {
        // Neither is read atomically, which would take more instructions.
        // SAFETY: nobody else may write them: this is the writer, as the caller promises, who also says that there are
        // segments.
        unsafe {
            let before = *self.before.as_ptr();
            let segment = row.segment_after(before);
            (*segment.row.as_ptr() == before).then_some(segment)
        }
    }

    /// An event of a row took from `start` to `end`, and this is where the time since the thread's event before is added up.
    ///
    /// # Safety
    /// Only the shard's writer does so. The row is the shard's.
    #[inline(always)]
    pub(crate) unsafe fn add_segment(&self, segment: &Before, row: Row<'_>, start: u64, end: u64) {
        // Not read atomically, which would take more instructions.
        // SAFETY: nobody else may write it: this is the writer, as the caller promises.
        segment.add(start.wrapping_sub(unsafe { *self.before_end.as_ptr() }));
        self.before.store(row.words.addr(), Relaxed);
        self.before_end.store(end, Relaxed);
    }

    /// The same of any event: also where another segment has the place, or where there was no event before.
    ///
    /// # Safety
    /// Only the shard's writer does so. The row is the shard's, which keeps segments.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn add_any_segment(&self, row: Row<'_>, start: u64, end: u64) {
        let before = self.before.load(Relaxed);
        if before != NO_EVENT {
            // SAFETY: the shard must keep segments, as the caller promises.
            let segment = unsafe { row.segment_after(before) };
            if segment.row.load(Relaxed) != before {
                let (other, ticks) = segment.take();
                if other != 0 {
                    self.add_pair(other, row.words.addr(), ticks);
                }
                segment.row.store(before, Relaxed);
            }
            segment.add(start.wrapping_sub(self.before_end.load(Relaxed)));
        }
        self.before.store(row.words.addr(), Relaxed);
        self.before_end.store(end, Relaxed);
    }

    /// Forgets all segments and the thread's event before.
    ///
    /// # Safety
    /// Only the shard's writer does so. The shard keeps segments.
    pub(crate) unsafe fn forget_segments(&self) {
        for row in self.rows() {
            for place in 0..CELLS {
                // SAFETY: the shard must keep segments, as the caller promises.
                let segment = unsafe { row.segment_after(place * size_of::<AtomicU64>()) };
                segment.take();
                segment.row.store(0, Relaxed);
            }
        }
        self.pairs().iter().for_each(Pair::clear);
        self.before.store(NO_EVENT, Relaxed);
    }

    /// The thread's next event is the first one of another thread, which has the shard from now on.
    pub(crate) fn forget_event(&self) {
        self.before.store(NO_EVENT, Relaxed);
    }

    /// Where the segments are that a row has no place for; none in a shard that keeps no segments.
    fn pairs(&self) -> &[Pair] {
        if !self.shape.segments {
            return &[];
        }
        let first = self.word_at(self.shape.pairs_at()).cast::<Pair>();
        // SAFETY: so many must be there: `Shape::words` has room for them in a shard that keeps segments, and all values of
        // their words are allowed. The mapping is never freed.
        unsafe { core::slice::from_raw_parts(first, PAIRS) }
    }

    /// Keeps a segment that has lost its place at its row. Where there is no room, its time belongs to no segment.
    fn add_pair(&self, before: usize, after: usize, ticks: u64) {
        let pairs = self.pairs();
        let first = hash([before as u64 >> 3, after as u64 >> 3]);
        for try_ in 0..PAIRS.min(32) {
            let pair = &pairs[first.wrapping_add(try_) % PAIRS];
            if pair.add(before, after, ticks) {
                return;
            }
        }
    }

    /// Calls `each` with the keys of each segment's rows, and its ticks: several times of the same one, perhaps.
    pub(crate) fn each_segment(&self, mut each: impl FnMut(Words, Words, u64)) {
        if !self.shape.segments {
            return;
        }
        let key_at = |address: usize| {
            let at =
                address.wrapping_sub(core::ptr::from_ref(self).addr()) / size_of::<AtomicU64>();
            // SAFETY: a row must begin there: only addresses of the shard's rows are kept of events before and after.
            unsafe { self.row_at(at) }.key()
        };
        for row in self.rows() {
            for place in 0..CELLS {
                // SAFETY: the shard must keep segments, as was just asked.
                let (before, ticks) =
                    unsafe { row.segment_after(place * size_of::<AtomicU64>()) }.get();
                if before != 0 {
                    each(key_at(before), row.key(), ticks);
                }
            }
        }
        for (before, after, ticks) in self.pairs().iter().filter_map(Pair::get) {
            each(key_at(before), key_at(after), ticks);
        }
    }

    /// All rows that there are.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        // SAFETY: a row must begin there: its number is below how many there are.
        (0..self.length.load(Acquire)).map(|number| unsafe { self.row_at(self.at(number)) })
    }
}

/// A shard that is no thread's: whoever reports adds up the threads' rows in it. All is done by atomic words, as a signal
/// handler may report in the middle of a report: both are wrong then, but stay within the memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum(&'static Shard);

impl Sum {
    /// As [`Shard::map`], with room for the rows of many threads.
    pub(crate) fn map(shape: Shape) -> Option<Self> {
        Shard::map(shape.together()).map(Self)
    }

    /// Adds the rows of a thread, which have as many measures.
    pub(crate) fn add_all(self, other: &Shard) {
        for row in other.rows() {
            let [first, second] = row.key();
            // SAFETY: both want a sum's shard, which this is.
            unsafe { self.0.find_slowly(hash([first, second]), first, second).add_row(row) };
        }
    }

    /// Forgets all rows.
    pub(crate) fn clear(self) {
        for row in self.rows() {
            row.clear();
        }
        for at in 0..=self.mask {
            if self.place(at).load(Relaxed) != 0 {
                self.place(at).store(0, Relaxed);
            }
        }
        self.length.store(0, Release);
    }
}

impl Deref for Sum {
    type Target = Shard;

    fn deref(&self) -> &Shard {
        self.0
    }
}

/// Spreads keys, whose parts are small numbers most of the time. The first two parts keep their distances: keys that
/// differ in the first one only have places next to each other. The other two are spread over all places.
#[inline(always)]
fn hash([first, second]: Words) -> usize {
    let far = second.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    first.wrapping_add(first >> 29).wrapping_add(far) as usize
}
