//! A table's rows in the memory of one thread, found by a hash. Only that thread writes; all may read
//! at any time, as a signal handler does when it reports.
//!
//! The memory is mapped at once and in full, but the system makes its pages when they are touched: rows
//! stand in the order in which they came, so that few rows touch few pages. Nothing ever moves.

use core::marker::PhantomData;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    compiler_fence,
};

use super::moments::{self, Cell, Moments};
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
    /// The coarse key of a key: that of the row that stands in for it in a full table.
    pub(crate) coarsen: fn(Words) -> Words,
}

impl Shape {
    /// The same for the rows of many threads together.
    pub(crate) const fn together(self) -> Self {
        Self { rows: 4 * self.rows, hints: 0, ..self }
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

    /// Where the rows begin, in words from the beginning of the shard. The index stands before them.
    const fn rows_at(self) -> usize {
        HEADER + self.index_length() * size_of::<AtomicU32>() / size_of::<AtomicU64>()
    }

    /// All of a shard's memory, in words.
    pub(crate) const fn words(self) -> usize {
        self.words_before() + self.rows_at() + self.all_rows() * self.row_words()
    }

    /// Words of a row: the key, how many events, and the measures.
    const fn row_words(self) -> usize {
        KEY + 1 + self.measures * moments::WORDS
    }
}

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

    #[inline(always)]
    fn word(self, index: usize) -> &'a AtomicU64 {
        debug_assert!(index < KEY + 1 + self.measures * moments::WORDS);
        // SAFETY: the word must be there for as long as the shard: a row has `row_words` of them, and callers ask
        // for those of the key, for the events, and for those of measures that there are.
        unsafe { &*self.words.add(index) }
    }

    #[inline(always)]
    pub(crate) fn key(self) -> Words {
        [self.word(0).load(Relaxed), self.word(1).load(Relaxed)]
    }

    /// Is it the key's? In fewer instructions than by [`key`](Self::key), as the words are not read atomically.
    ///
    /// # Safety
    /// Nobody writes the key meanwhile.
    #[inline(always)]
    unsafe fn has_key(self, [first, second]: Words) -> bool {
        // SAFETY: a row has two words of a key, which nobody writes, says the caller.
        unsafe { *self.word(0).as_ptr() == first && *self.word(1).as_ptr() == second }
    }

    pub(crate) fn events(self) -> u64 {
        self.word(KEY).load(Relaxed)
    }

    #[inline(always)]
    fn measure(self, index: usize) -> &'a Cell {
        debug_assert!(index < self.measures);
        let first: *const AtomicU64 = self.word(KEY + 1 + index * moments::WORDS);
        // SAFETY: a `Cell` must be there: it is `repr(transparent)` over so many atomic words, which a row has for
        // each of its measures, and of which callers ask only for those that there are. All values of the words are
        // allowed.
        unsafe { &*first.cast::<Cell>() }
    }

    pub(crate) fn moments(self, index: usize) -> Moments {
        self.measure(index).read()
    }

    /// Adds so many events. Only the shard's writer may do so.
    #[inline(always)]
    pub(crate) fn add_events(self, events: u64) {
        let count = self.word(KEY);
        count.store(count.load(Relaxed).wrapping_add(events), Relaxed);
    }

    /// Adds a value to a measure, if there is one.
    ///
    /// # Safety
    /// Only the shard's writer does so.
    #[inline(always)]
    pub(crate) unsafe fn add_value(self, index: usize, value: Option<u64>) {
        if let Some(value) = value {
            // SAFETY: only one thread may add at a time: the shard's writer, says the caller.
            unsafe { self.measure(index).add(value) };
        }
    }

    /// Adds events and values.
    ///
    /// # Safety
    /// Only the shard's writer does so.
    #[inline(always)]
    pub(crate) unsafe fn add(self, events: u64, values: &[Option<u64>]) {
        self.add_events(events);
        for (index, value) in values.iter().enumerate() {
            // SAFETY: it is the writer's, as this.
            unsafe { self.add_value(index, *value) };
        }
    }

    /// Adds what another row has. Only the shard's writer may do so.
    fn add_row(self, other: Row<'_>) {
        self.add_events(other.events());
        for index in 0..self.measures {
            self.measure(index).add_all(other.moments(index));
        }
    }

    /// Forgets all. Only the shard's writer may do so, and nobody may read meanwhile.
    fn clear(self) {
        for index in 0..KEY + 1 + self.measures * moments::WORDS {
            self.word(index).store(0, Relaxed);
        }
    }
}

/// So many measures a table may have whose keys have hints.
pub(crate) const MOST_HINTED: usize = 4;

/// The key of [`Shard::nothing`].
const NOTHING: Words = [u64::MAX, u64::MAX - 1];

/// The rows of one thread.
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
            });
            memory.expose_provenance();
            Some(&*shard)
        }
    }

    /// Begins to change the shard, unless it is being changed: then the answer is no. Whoever begins
    /// [ends](Self::end) it.
    #[inline(always)]
    pub(crate) fn begin(&self) -> bool {
        // Not read atomically, which would take more instructions.
        // SAFETY: no other thread may write to it: only the shard's writer begins and ends.
        if unsafe { *self.busy.as_ptr() } {
            return false;
        }
        self.busy.store(true, Relaxed);
        // A signal handler of this thread sees what comes in between as it stands here.
        compiler_fence(Acquire);
        true
    }

    /// The change is done.
    #[inline(always)]
    pub(crate) fn end(&self) {
        compiler_fence(Release);
        self.busy.store(false, Relaxed);
    }

    /// Until when the thread need not look at what is due. Only the shard's thread asks.
    #[inline(always)]
    pub(crate) fn due(&self) -> u64 {
        // Not read atomically, which would take more instructions.
        // SAFETY: no other thread may write to it: only the shard's own does.
        unsafe { *self.due.as_ptr() }
    }

    /// The thread has looked at what is due.
    pub(crate) fn set_due(&self, until: u64) {
        self.due.store(until, Relaxed);
    }

    /// What is so many words from the beginning of the shard.
    #[inline(always)]
    fn word_at(&self, at: usize) -> *const AtomicU64 {
        // The mapping, not only the shard that is at its beginning.
        let shard = with_exposed_provenance::<AtomicU64>(core::ptr::from_ref(self).addr());
        shard.wrapping_add(at)
    }

    /// The row that begins there: at a word that the index has said, or where the row of a number is.
    #[inline(always)]
    fn row_at(&self, at: usize) -> Row<'_> {
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
        // SAFETY: it wants what the caller says.
        let found = unsafe { self.hinted(hint, hints) }.load(Relaxed);
        let row = self.row_at(found as usize);
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
        // SAFETY: a number must be there: so many are before the shard, and the hint is below that, says the caller.
        unsafe { &*shard.sub(hints).add(hint) }
    }

    /// The row of a key is found by this hint from now on.
    ///
    /// # Safety
    /// As of [`find_by_hint`](Self::find_by_hint).
    pub(crate) unsafe fn keep_hint(&self, row: Row<'_>, hint: usize, hints: usize) {
        let words = row.words.addr() - core::ptr::from_ref(self).addr();
        // A shard has less than 2^32 words.
        let at = (words / size_of::<AtomicU64>()) as u32;
        // SAFETY: it wants what the caller says.
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
            let row = self.row_at(found as usize);
            // SAFETY: nobody may write the key: this is the writer, and rows in the index keep their keys.
            if unsafe { row.has_key([first, second]) } {
                return row;
            }
        }
        self.find_slowly(at, first, second)
    }

    /// The same, of a row that is new, or not where it is first looked for.
    #[inline(never)]
    fn find_slowly(&self, mut at: usize, first: u64, second: u64) -> Row<'_> {
        loop {
            match self.place(at).load(Relaxed) {
                0 => return self.insert(at, [first, second]),
                found => {
                    let row = self.row_at(found as usize);
                    if row.key() == [first, second] {
                        return row;
                    }
                }
            }
            at += 1;
        }
    }

    /// Makes a row, for a key that has none: `at` is where its place is free.
    #[cold]
    #[inline(never)]
    fn insert(&self, at: usize, key: Words) -> Row<'_> {
        let length = self.length.load(Relaxed);
        let Shape { rows, coarse, coarsen, .. } = self.shape;
        let is_coarse = coarsen(key) == key;
        let used = length as usize;
        if key != REST && used >= rows + if is_coarse { coarse } else { 0 } {
            let [first, second] = if is_coarse { REST } else { coarsen(key) };
            return self.find_slowly(hash([first, second]), first, second);
        }
        let begin = self.at(length);
        let row = self.row_at(begin);
        row.word(0).store(key[0], Relaxed);
        row.word(1).store(key[1], Relaxed);
        // Readers look at rows below the length only.
        self.length.store(length + 1, Release);
        // `Table::new` makes sure that a shard has less than 2^32 words.
        self.place(at).store(begin as u32, Relaxed);
        row
    }

    /// Adds events and values to a key's row.
    ///
    /// # Safety
    /// Only the shard's writer does so.
    #[inline(always)]
    pub(crate) unsafe fn add(&self, key: Words, events: u64, values: &[Option<u64>]) {
        // SAFETY: `find` wants to be the writer's, as this.
        unsafe { self.find(key).add(events, values) };
    }

    /// Adds an event and values to the row that was found last by a hint, if it is this key's and no value is less or
    /// greater than all before; else nothing.
    ///
    /// # Safety
    /// As of [`find_by_hint`](Self::find_by_hint), and only the shard's writer does so.
    #[inline(always)]
    pub(crate) unsafe fn add_known<const M: usize>(
        &self,
        key: Words,
        hint: usize,
        hints: usize,
        values: &[Option<u64>; M],
    ) -> bool {
        // SAFETY: it wants what the caller says.
        let Some(row) = (unsafe { self.find_by_hint(key, hint, hints) }) else { return false };
        // SAFETY: this is the writer, and the row is the shard's.
        unsafe { self.add_to(row, values) }
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
                // SAFETY: nobody else may add: this is the writer.
                && unsafe { row.measure(index).is_extreme(*value) }
            {
                return false;
            }
        }
        row.add_events(1);
        for (index, value) in values.iter().enumerate() {
            if let Some(value) = value {
                row.measure(index).add_within(*value);
            }
        }
        true
    }

    /// All rows that there are.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.length.load(Acquire)).map(|number| self.row_at(self.at(number)))
    }

    /// Adds the rows of another shard. Only the shard's writer may do so.
    pub(crate) fn add_all(&self, other: &Shard) {
        for row in other.rows() {
            let [first, second] = row.key();
            self.find_slowly(hash([first, second]), first, second).add_row(row);
        }
    }

    /// Forgets all rows. Only the shard's writer may do so, and nobody may read meanwhile.
    pub(crate) fn clear(&self) {
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

/// Spreads keys, whose parts are small numbers most of the time. The first two parts keep their distances: keys that
/// differ in the first one only have places next to each other. The other two are spread over all places.
#[inline(always)]
fn hash([first, second]: Words) -> usize {
    let far = second.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    first.wrapping_add(first >> 29).wrapping_add(far) as usize
}
