//! Buffers of a call: `MPI_IN_PLACE`, null pointers, and such as overlap.

use mpi_facts::{Data, NONE, Pattern};
use mpi_tool_layer::mpi_sys::MPI_IN_PLACE;
use mpi_tool_layer::{FunctionClass, Word as _};

use super::Checked;

impl Checked<'_> {
    /// Buffers: `MPI_IN_PLACE`, null, and such as overlap.
    pub(super) fn check_data(&mut self) {
        let (sent, received) = (self.shape.sent, self.shape.received);
        let in_place = MPI_IN_PLACE.to_word();
        let is_collective = self.shape.class == FunctionClass::Collective;
        let is_inter = self.is_inter();
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
                        Pattern::Gather | Pattern::Reduce => is_sent && self.is_root(),
                        Pattern::Scatter => !is_sent && self.is_root(),
                        _ => is_sent,
                    };
                let matters = is_collective || self.shape.class == FunctionClass::Neighborhood;
                if !allowed && (matters || buffer == u64::MAX) && self.is_in_use(&data) {
                    let name = self.name_of(usize::from(data.buffer));
                    let message = format!("MPI_IN_PLACE is not allowed as {name} here");
                    self.wrong(name, &message, None);
                }
            } else if buffer == 0 && !is_inter && !self.is_for_nobody() && self.is_in_use(&data) {
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
    }

    /// Does this process give or take these data?
    fn is_in_use(&self, data: &Data) -> bool {
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
            && !self.is_inter()
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
        let range = |data: &Data, blocks: u64| {
            // Reductions describe both buffers by one count and one datatype.
            let count = if data.count == NONE { received.count } else { data.count };
            let datatype = if data.datatype == NONE { received.datatype } else { data.datatype };
            let (count, datatype) = match (count, datatype) {
                (NONE, _) | (_, NONE) => (sent.count, sent.datatype),
                both => both,
            };
            let count = u64::try_from(self.int(count)?).ok()?;
            let info = self.datatype(datatype)?;
            let buffer = self.word(data.buffer)?;
            if buffer == 0 || buffer == MPI_IN_PLACE.to_word() {
                return None;
            }
            info.range(buffer, count.checked_mul(blocks)?)
        };
        let (sent_blocks, received_blocks) = match self.shape.pattern {
            Pattern::Gather | Pattern::Allgather => (1, size),
            Pattern::Scatter => (size, 1),
            Pattern::Alltoall => (size, size),
            Pattern::NeighborAllgather | Pattern::NeighborAlltoall => (1, 1),
            Pattern::ReduceScatter => (1, 1),
            _ => (1, 1),
        };
        let both = if received.array_of_counts {
            range(&sent, sent_blocks)
                .zip(self.word(received.buffer).map(|at| (at, at + 1)))
                .filter(|(sent, received)| sent.0 == received.0)
        } else {
            range(&sent, sent_blocks).zip(range(&received, received_blocks))
        };
        let Some((one, other)) = both else { return };
        if one.0 < other.1 && other.0 < one.1 {
            let names = [sent, received].map(|data| self.name_of(usize::from(data.buffer)));
            let message = format!("{} and {} overlap, which is forbidden", names[0], names[1]);
            self.wrong("overlap", &message, None);
        }
    }
}
