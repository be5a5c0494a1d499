//! A row that is found before what is added to it is known: so that nothing but the row must be kept meanwhile.

use core::sync::atomic::AtomicU64;

use super::{RowKey, Table, ThisThread};
use crate::kit::shard::{Row, Shard};

/// A row of a thread's, as [`Table::known`] finds it.
#[derive(Clone, Copy)]
pub struct KnownRow<'a, const M: usize> {
    shard: &'a Shard,
    /// The row's words, which are the shard's: a pointer, so that only its thread adds to it.
    row: *const AtomicU64,
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
    pub fn known(&self, thread: ThisThread, key: K) -> Option<KnownRow<'_, M>> {
        const { assert!(K::HINTS > 0, "the key has hints") };
        let shard = self.any.own_in(thread)?;
        let words = const { Self::LAYOUT }.words(key.parts());
        let hint = key.hint() & (K::HINTS - 1);
        // SAFETY: this thread must be the shard's writer, which it is, since the shard is its own. The shard's shape is the
        // table's, whose hints are the key's, and `new` looks at the measures.
        let row = unsafe { shard.find_by_hint(words, hint, K::HINTS) }?;
        Some(KnownRow { shard, row: row.words() })
    }

    /// Adds an event to a row that was found before it, as [`add_call`](Self::add_call) does: for what [`KnownRow::add`] has
    /// not added.
    pub fn add_to_known(
        &self,
        known: KnownRow<'_, M>,
        moment: u64,
        values: [Option<u64>; M],
        look: impl FnOnce() -> u64,
    ) {
        if moment > known.shard.due() {
            known.shard.set_due(look());
        }
        if known.shard.begin() {
            // SAFETY: this thread must be the shard's only writer: see `KnownRow::add`.
            unsafe { known.row().add(1, &values) };
            known.shard.end();
        } else {
            let [first, second] = known.row().key();
            self.any.add_slowly(first, second, 1, &values);
        }
    }
}

impl<'a, const M: usize> KnownRow<'a, M> {
    #[inline(always)]
    fn row(self) -> Row<'a> {
        // SAFETY: the words must be those of a row of the shard with so many measures: they are, of a table of `M`.
        unsafe { Row::of_words(self.row, M, self.shard) }
    }

    /// Adds an event to the row, as [`Table::add_known`] does: nothing is added, and the answer is no, if a value is less or
    /// greater than all before, or if the moment is behind the one until which the thread need not look at what is due.
    #[inline(always)]
    pub fn add(self, moment: u64, values: [Option<u64>; M]) -> bool {
        if moment > self.shard.due() || !self.shard.begin() {
            return false;
        }
        // SAFETY: this thread must be the shard's only writer: the shard is that of the thread that has asked for the row,
        // which cannot have been sent to another one, and nobody else has begun. The row has `M` measures, as its table.
        let is_added = unsafe { self.shard.add_to(self.row(), &values) };
        self.shard.end();
        is_added
    }
}

impl<const M: usize> core::fmt::Debug for KnownRow<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "KnownRow({:?})", self.row().key())
    }
}
