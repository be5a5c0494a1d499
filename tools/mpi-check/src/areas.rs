//! Memory of the application's that calls use: which bytes, where data have gaps.

use std::sync::Arc;

use mpi_facts::{Data, NONE};
use mpi_tool_layer::mpi_sys::MPI_IN_PLACE;
use mpi_tool_layer::{Word as _, copy_memory};

use crate::arguments::Checked;
use crate::layouts::{Layout, STEPS};
use crate::memory;
use crate::objects;

/// Some memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Area {
    /// The first byte, and the one behind the last.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Which of them are data, from address 0 on, if there are gaps.
    layout: Option<Arc<Layout>>,
}

impl Area {
    /// All bytes of a range.
    pub(crate) fn whole(begin: u64, end: u64) -> Self {
        Self { begin, end, layout: None }
    }

    /// The bytes that a layout has from address 0 on.
    pub(crate) fn of_layout(layout: Layout) -> Option<Self> {
        let (begin, end) = layout.hull()?;
        let (begin, end) = (u64::try_from(begin).ok()?, u64::try_from(end).ok()?);
        (begin < end).then(|| Self { begin, end, layout: Some(Arc::new(layout)) })
    }

    /// What so many elements of a datatype argument take from an address on. `None` of nothing, or if nobody knows.
    pub(crate) fn of(checked: &Checked<'_>, buffer: u64, count: u64, datatype: u8) -> Option<Self> {
        if buffer == 0 || buffer == MPI_IN_PLACE.to_word() {
            return None;
        }
        let info = checked.datatype(datatype)?;
        if info.is_dense {
            let (begin, end) = info.range(buffer, count)?;
            return Some(Self::whole(begin, end));
        }
        let one = objects::layout(checked.word(datatype)?)?;
        Self::of_layout(one.repeated(count, info.extent)?.moved(i64::try_from(buffer).ok()?)?)
    }

    /// The data of a call at a buffer argument, with one count and one datatype; one element if there is no count.
    pub(crate) fn of_data(checked: &Checked<'_>, data: &Data) -> Option<Self> {
        let count = match data.count {
            NONE => 1,
            count => u64::try_from(checked.int(count)?).ok()?,
        };
        Self::of(checked, checked.word(data.buffer)?, count, data.datatype)
    }

    /// Have both a byte in common? `false` if that cannot be said in the steps that are left.
    pub(crate) fn meets(&self, other: &Self, steps: &mut u64) -> bool {
        if self.begin >= other.end || other.begin >= self.end {
            return false;
        }
        let own = |area: &Self| {
            let all = Layout::bytes(area.end - area.begin);
            all.moved(i64::try_from(area.begin).unwrap_or(0)).unwrap_or_default()
        };
        match (self.layout.as_deref(), other.layout.as_deref()) {
            (None, None) => true,
            (Some(one), Some(two)) => one.meets_within(two, steps),
            (Some(one), None) => one.meets_within(&own(other), steps),
            (None, Some(two)) => two.meets_within(&own(self), steps),
        }
    }

    /// The same, if that can be said at all within reason.
    pub(crate) fn meets_at_all(&self, other: &Self) -> bool {
        self.meets(other, &mut { STEPS })
    }

    /// Have both a byte in common, as far as that can be said? Else `true`.
    pub(crate) fn may_meet(&self, other: &Self) -> bool {
        let is_large = |area: &Self| area.layout.as_ref().is_some_and(|it| it.count() > STEPS / 2);
        let mut steps = STEPS;
        self.meets(other, &mut steps) || steps < STEPS / 2 || is_large(self) && is_large(other)
    }

    /// A number that changes when the data do; `None` if they cannot be read.
    pub(crate) fn checksum(&self) -> Option<u64> {
        match &self.layout {
            None => memory::checksum(self.begin, self.end),
            Some(layout) => memory::checksum_of(layout, self.begin, self.end),
        }
    }

    /// The blocks of the data: where each begins, and how many bytes it has. Of very many, the first ones.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        const MOST: usize = 1 << 12;
        let whole = self.layout.is_none().then(|| (self.begin, self.length()));
        let parts = self.layout.iter().flat_map(|layout| layout.blocks());
        whole.into_iter().chain(parts.map(|(begin, length)| (begin as u64, length)).take(MOST))
    }

    /// Is the memory there, as far as its first and its last byte tell?
    pub(crate) fn is_there(&self) -> bool {
        let is_there = |address: u64| copy_memory(address, &mut [0]).is_some();
        self.begin < self.end && is_there(self.begin) && is_there(self.end - 1)
    }

    /// How many bytes there are from its first one to its last one.
    pub(crate) fn length(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }

    /// Is something else there than had a checksum? `false` of memory that is gone, which is another fault.
    pub(crate) fn is_changed(&self, before: Option<u64>) -> bool {
        before.is_some_and(|before| self.checksum().is_some_and(|now| now != before))
    }
}
