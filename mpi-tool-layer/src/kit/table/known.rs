//! A row that is found before what is added to it is known: so that nothing but the row must be kept meanwhile.

use core::marker::PhantomData;
use core::sync::atomic::AtomicU64;

use super::{RowKey, Table, ThisThread, add_quickly, add_slowly};
use crate::kit::shard::{Row, Shard};

/// A row of a thread's, as [`Table::known`] finds it.
pub struct KnownRow<'a, K, const M: usize> {
    /// The thread's own shard.
    shard: &'a Shard,
    /// The row's words, which are the shard's: a pointer, so that the value stays in the thread.
    row: *const AtomicU64,
    key: PhantomData<fn(K)>,
}

impl<K: RowKey, const M: usize> Table<K, M> {
    /// The row of a key, if that takes a few instructions only and calls no function: if the thread has last
    /// [added](Self::add_call) to this key of those with its [hint](RowKey::hint).
    ///
    /// ```
    /// # use mpi_tool_layer::{Measure, MeasureUnit, Part, PartKind, Parts, RowKey, Table, ThisThread};
    /// # #[derive(Clone, Copy)]
    /// # struct ByTag(u32);
    /// # impl RowKey for ByTag {
    /// #     const PARTS: &'static [Part] = &[Part { name: "tag", kind: PartKind::Number }];
    /// #     const COARSE: usize = 1;
    /// #     const HINTS: usize = 16;
    /// #     fn parts(self) -> Parts { [self.0, 0, 0, 0, 0] }
    /// #     fn coarse(_: Parts) -> Parts { [u32::MAX, 0, 0, 0, 0] }
    /// # }
    /// # const MEASURES: &[Measure] = &[Measure { name: "sent", unit: MeasureUnit::Bytes }];
    /// static MESSAGES: Table<ByTag, 1> = Table::new("messages", MEASURES, 1000);
    ///
    /// assert!(MESSAGES.known(ThisThread::get(), ByTag(7)).is_none());
    /// for (moment, size) in [(1, 64), (2, 36), (3, 50)] {
    ///     let known = MESSAGES.known(ThisThread::get(), ByTag(7));
    ///     // … the call is passed on …
    ///     if !known.is_some_and(|known| known.add(moment, [Some(size)])) {
    ///         MESSAGES.add_call(ByTag(7), moment, [Some(size)], || u64::MAX);
    ///     }
    /// }
    /// MESSAGES.each(|_, events, [sent]| assert_eq!((events, sent.sum, sent.least), (3, 150, 36)));
    /// ```
    #[inline(always)]
    pub fn known(&self, thread: ThisThread, key: K) -> Option<KnownRow<'_, K, M>> {
        const { assert!(K::HINTS > 0, "the key has hints") };
        let shard = self.any.own_in(thread)?;
        let words = const { Self::LAYOUT }.words(key.parts());
        let hint = key.hint() & (K::HINTS - 1);
        // SAFETY: this thread must be the shard's writer, which it is, since the shard is its own. The shard's shape is the
        // table's, whose hints are the key's, and `new` looks at the measures.
        let row = unsafe { shard.find_by_hint(words, hint, K::HINTS) }?;
        Some(KnownRow { shard, row: row.words(), key: PhantomData })
    }

    /// Adds an event to a row that was found before it, as [`add_call`](Self::add_call) does: for what [`KnownRow::add`] has
    /// not added.
    pub fn add_to_known(
        &self,
        known: KnownRow<'_, K, M>,
        moment: u64,
        values: [Option<u64>; M],
        look: impl FnOnce() -> u64,
    ) {
        let shard = known.shard;
        // SAFETY: this thread must be the shard's own: the row is that of the thread that has asked for it, which cannot have
        // been sent to another one.
        if moment > unsafe { shard.due() } {
            let until = look();
            // SAFETY: this thread must be the shard's own, as said above.
            unsafe { shard.set_due(until) };
        }
        // SAFETY: this thread must be the shard's only writer: the shard is its own, as said above, and nobody else has begun.
        // The row has `M` measures, as its table.
        unsafe {
            if shard.begin() {
                add_slowly::<K, M>(shard, known.row(), moment, &values);
                shard.end();
                return;
            }
        }
        let [first, second] = known.row().key();
        // SAFETY: the values must be as many as the table's measures: both are `M`.
        unsafe { self.any.add_slowly(first, second, 1, &values) };
    }
}

impl<K, const M: usize> Clone for KnownRow<'_, K, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, const M: usize> Copy for KnownRow<'_, K, M> {}

impl<'a, K: RowKey, const M: usize> KnownRow<'a, K, M> {
    #[inline(always)]
    fn row(self) -> Row<'a> {
        // SAFETY: the words must be those of a row of the shard with so many measures: they are, of a table of `M`.
        unsafe { Row::of_words(self.row, M, self.shard) }
    }

    /// Adds an event to the row, as [`Table::add_known`] does: nothing is added, and the answer is no, if a value is less or
    /// greater than all before, or if the moment is behind the one until which the thread need not look at what is due.
    #[inline(always)]
    pub fn add(self, moment: u64, values: [Option<u64>; M]) -> bool {
        // SAFETY: this thread must be the shard's only writer: the shard is that of the thread that has asked for the row,
        // which cannot have been sent to another one, and nobody else has begun. The row has `M` measures, as its table.
        unsafe {
            if moment > self.shard.due() || !self.shard.begin() {
                return false;
            }
            add_quickly::<K, M, false>(self.shard, self.row(), moment, &values)
        }
    }
}

impl<K: RowKey, const M: usize> core::fmt::Debug for KnownRow<'_, K, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "KnownRow({:?})", self.row().key())
    }
}
