//! Buffers of a call: `MPI_IN_PLACE`, null pointers, and such as overlap.

use mpi_facts::{Data, NONE, Pattern};
use mpi_tool_layer::mpi_sys::MPI_IN_PLACE;
use mpi_tool_layer::{Call as _, FunctionClass, Word as _};

use super::Checked;
use crate::areas::Area;
use crate::types::TypeInfo;

impl Checked<'_> {
    /// Buffers: `MPI_IN_PLACE`, null, and such as overlap.
    pub(super) fn check_data(&mut self) {
        let (sent, received) = (self.shape.sent, self.shape.received);
        let in_place = MPI_IN_PLACE.to_word();
        let is_collective = self.shape.class == FunctionClass::Collective;
        let may_be_inter = self.may_be_inter();
        let is_inter = self.comm.as_ref().is_some_and(|comm| comm.is_inter);
        // Who is the root of a communicator of which nothing is known is not known, either.
        let may_be_root = self.comm.is_none() || self.is_root();
        for (data, is_sent) in [(sent, true), (received, false)] {
            let Some(buffer) = self.word(data.buffer) else { continue };
            if self.function.parameters()[usize::from(data.buffer)].root_only && !self.is_root()
                || is_sent && self.only_fetches()
            {
                continue;
            }
            if buffer == in_place {
                let allowed = is_collective
                    && !is_inter
                    && sent.buffer != received.buffer
                    && match self.shape.pattern {
                        Pattern::Gather | Pattern::Reduce => is_sent && may_be_root,
                        Pattern::Scatter => !is_sent && may_be_root,
                        _ => is_sent,
                    };
                let matters = is_collective || self.shape.class == FunctionClass::Neighborhood;
                if !allowed && (matters || buffer == u64::MAX) && self.is_in_use(&data) {
                    let name = self.name_of(usize::from(data.buffer));
                    let message = format!("MPI_IN_PLACE is not allowed as {name} here");
                    self.wrong(name, &message, None);
                }
            } else if buffer == 0
                && !may_be_inter
                && !self.is_for_nobody()
                && self.is_in_use(&data)
                // How many neighbours a process has is not known, and it may be none.
                && self.shape.class != FunctionClass::Neighborhood
            {
                // An absolute address is only in a derived datatype.
                let info =
                    if data.array_of_datatypes { None } else { self.datatype(data.datatype) };
                let has_data = !data.array_of_counts
                    && self.int(data.count).is_some_and(|count| count > 0)
                    && data.partitions == NONE;
                if has_data && info.is_some_and(|info| info.is_predefined) {
                    let name = self.name_of(usize::from(data.buffer));
                    let message = format!("{name} is a null pointer");
                    self.wrong(name, &message, None);
                }
            }
        }
        self.check_overlap();
        self.check_blocks();
    }

    /// No place of the receive buffer may be written twice (MPI-4.0, 6.5).
    fn check_blocks(&self) {
        let (sent, received) = (self.shape.sent, self.shape.received);
        let is_gathered = self.shape.class == FunctionClass::Collective
            && matches!(self.shape.pattern, Pattern::Gather | Pattern::Allgather)
            && received.array_of_counts
            && !received.array_of_datatypes
            && !self.may_be_inter()
            && (self.shape.root == NONE || self.is_root());
        let Some(comm) = self.comm.as_ref().filter(|_| is_gathered) else { return };
        // What is there already is not written.
        let in_place = self.word(sent.buffer) == Some(MPI_IN_PLACE.to_word());
        let own = usize::try_from(comm.rank).ok().filter(|_| in_place);
        let size = comm.size as usize;
        let Some(blocks) = self.blocks() else { return };
        let mut hulls: Vec<_> = (0..size)
            .filter(|index| Some(*index) != own)
            .filter_map(|index| blocks.hull(self, index).map(|hull| (hull, index)))
            .collect();
        hulls.sort_unstable();
        let meeting = hulls.windows(2).find(|pair| {
            pair[1].0.0 < pair[0].0.1 && {
                let [one, two] = [pair[0].1, pair[1].1].map(|index| blocks.memory(self, index));
                one.zip(two).is_some_and(|(one, two)| one.meets_at_all(&two))
            }
        });
        if let Some([(_, one), (_, two)]) = meeting {
            let message = format!("what ranks {one} and {two} give is put at the same place");
            self.tell("blocks", &message, None);
        }
    }

    /// Does this process give or take these data?
    fn is_in_use(&self, data: &Data) -> bool {
        // The first process of an exclusive scan gets nothing.
        if self.shape.pattern == Pattern::Exscan
            && data.buffer == self.shape.received.buffer
            && self.comm.as_ref().is_some_and(|comm| comm.rank == 0)
        {
            return false;
        }
        if self.shape.root == NONE || self.is_root() {
            return true;
        }
        let is_sent = data.buffer == self.shape.sent.buffer;
        match self.shape.pattern {
            Pattern::Gather | Pattern::Reduce => is_sent,
            Pattern::Scatter => !is_sent,
            _ => true,
        }
    }

    fn check_overlap(&mut self) {
        let (sent, received) = (self.shape.sent, self.shape.received);
        let simple = matches!(
            self.function.class(),
            FunctionClass::Collective | FunctionClass::Neighborhood | FunctionClass::PointToPoint
        ) && sent.buffer != NONE
            && received.buffer != NONE
            && sent.buffer != received.buffer
            && !self.may_be_inter()
            && (self.shape.root == NONE || self.is_root());
        if !simple || sent.array_of_counts || sent.array_of_datatypes || received.array_of_datatypes
        {
            return;
        }
        if self.shape.destination != NONE && self.is_for_nobody() {
            return;
        }
        let Some(comm) = &self.comm else { return };
        let size = u64::from(comm.size);
        // A scan's first process gets nothing.
        if self.shape.pattern == Pattern::Exscan && comm.rank == 0 {
            return;
        }
        let whole = |data: &Data, blocks: u64| {
            // Reductions describe both buffers by one count and one datatype.
            let count = if data.count == NONE { received.count } else { data.count };
            let datatype = if data.datatype == NONE { received.datatype } else { data.datatype };
            let (count, datatype) = match (count, datatype) {
                (NONE, _) | (_, NONE) => (sent.count, sent.datatype),
                both => both,
            };
            let count = u64::try_from(self.int(count)?).ok()?;
            Area::of(self, self.word(data.buffer)?, count.checked_mul(blocks)?, datatype)
        };
        let (sent_blocks, received_blocks) = match self.shape.pattern {
            Pattern::Gather | Pattern::Allgather => (1, size),
            Pattern::Scatter => (size, 1),
            Pattern::Alltoall => (size, size),
            _ => (1, 1),
        };
        let overlaps = if received.array_of_counts {
            // Only buffers with one address are looked at closely.
            if self.word(sent.buffer) != self.word(received.buffer) {
                return;
            }
            match self.shape.pattern {
                Pattern::ReduceScatter => {
                    let counts = self.word(received.count).filter(|address| *address != 0);
                    let own = usize::try_from(comm.rank).unwrap_or(0);
                    counts.is_some_and(|counts| self.count_at(counts, own) > 0)
                }
                Pattern::Gather | Pattern::Allgather => {
                    whole(&sent, sent_blocks).is_some_and(|sent| self.meets_blocks(&sent, size))
                }
                _ => false,
            }
        } else {
            let both = whole(&sent, sent_blocks).zip(whole(&received, received_blocks));
            both.is_some_and(|(sent, received)| sent.meets_at_all(&received))
        };
        if overlaps {
            let names = [sent, received].map(|data| self.name_of(usize::from(data.buffer)));
            let message = format!("{} and {} overlap, which is forbidden", names[0], names[1]);
            self.wrong("overlap", &message, None);
        }
    }

    /// Does a block that is received, of which each rank has one with a count and a place of its own, meet some memory?
    fn meets_blocks(&self, memory: &Area, size: u64) -> bool {
        let Some(blocks) = self.blocks() else { return false };
        (0..size as usize).any(|index| {
            blocks.memory(self, index).is_some_and(|block| memory.meets_at_all(&block))
        })
    }

    /// What is received from each rank, with a count and a place of its own.
    fn blocks(&self) -> Option<Blocks> {
        let received = self.shape.received;
        let mut places = self.function.parameters().iter().zip(self.call.words());
        let (_, places) =
            places.find(|(parameter, _)| matches!(parameter.name(), "displs" | "rdispls"))?;
        let is_there = |address: &u64| *address != 0;
        Some(Blocks {
            places: Some(*places).filter(is_there)?,
            counts: self.word(received.count).filter(is_there)?,
            base: self.word(received.buffer)?,
            info: self.datatype(received.datatype)?,
        })
    }
}

/// Blocks of a buffer, one for each rank.
struct Blocks {
    /// Addresses of arrays.
    places: u64,
    counts: u64,
    base: u64,
    info: TypeInfo,
}

impl Blocks {
    /// Where a rank's block begins, and how many elements it has.
    fn block(&self, checked: &Checked<'_>, index: usize) -> Option<(u64, u64)> {
        let place = checked.count_at(self.places, index).checked_mul(self.info.extent)?;
        let count = u64::try_from(checked.count_at(self.counts, index)).unwrap_or(0);
        Some((self.base.checked_add_signed(place)?, count))
    }

    /// The first byte, and the one behind the last, if there is any.
    fn hull(&self, checked: &Checked<'_>, index: usize) -> Option<(u64, u64)> {
        let (address, count) = self.block(checked, index)?;
        self.info.range(address, count).filter(|(begin, end)| begin < end)
    }

    fn memory(&self, checked: &Checked<'_>, index: usize) -> Option<Area> {
        let (address, count) = self.block(checked, index)?;
        Area::of(checked, address, count, checked.shape.received.datatype)
    }
}
