use rmpi_macros::wraps;
use smallvec::SmallVec;

use super::blocks::{Layout, Layouts, WithCounts, received, sent, share};
use super::buffer::{BufferMut, BufferRef, RawBuffer, TypedBuffer};
use super::collective::collective;
use super::error::{RmpiResult, check, output};
use super::request::{PersistentRequest, Request, Scope};
use super::sys::{self, MPI_Aint, MPI_Count};
use super::topology::Neighborhood;
use crate::call::Array;

macro_rules! on_neighborhood {
    ($($operation:tt)*) => {
        collective! {
            ['scope] []
            "grid: &rmpi::CartCommunicator<'_>", "grid";
            $($operation)*
        }
    };
}

/// Neighbours in the order of the topology; blocks are slices, as in `collective_v`.
impl Neighborhood<'_> {
    on_neighborhood! {
        this, "Sends a buffer to all neighbours, and collects theirs", divided,
        "let mut theirs = vec![0.0; grid.indegree()];", "&1.0, &mut theirs";
        neighbor_allgather ineighbor_allgather neighbor_allgather_init =
            MPI_Neighbor_allgather, MPI_Ineighbor_allgather, MPI_Neighbor_allgather_init;
        [] <S: [BufferRef], R: [BufferMut]>
        (send: S, receive: R) => (S, R) = (send, receive);
        {
            let (from, to) = (sent(send)?, received(receive)?);
            let part = part(&to, this.indegree(), from.count)?;
        }
        (from.pointer, from.count, from.datatype, to.pointer, part, to.datatype, this.as_raw())
    }

    on_neighborhood! {
        this, "Sends a part of a buffer to each neighbour, and collects parts of theirs", divided,
        "let mine = vec![1.0; grid.outdegree()];\nlet mut theirs = vec![0.0; grid.indegree()];",
        "&mine, &mut theirs";
        neighbor_alltoall ineighbor_alltoall neighbor_alltoall_init =
            MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall_init;
        [] <S: [BufferRef], R: [BufferMut]>
        (send: S, receive: R) => (S, R) = (send, receive);
        {
            let (from, to) = (sent(send)?, received(receive)?);
            let sent_part = part(&from, this.outdegree(), share(to.count, this.indegree())?)?;
            let part = part(&to, this.indegree(), sent_part)?;
        }
        (from.pointer, sent_part, from.datatype, to.pointer, part, to.datatype, this.as_raw())
    }

    on_neighborhood! {
        this, "Sends a buffer to all neighbours, and collects theirs, of different lengths, in a block for each", blocks,
        "let mut theirs = vec![vec![0.0]; grid.indegree()];", "&1.0, &mut theirs";
        neighbor_allgatherv ineighbor_allgatherv neighbor_allgatherv_init =
            MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv_init;
        ['b] <S: [BufferRef], R: [TypedBuffer + BufferMut]>
        (send: S, receive: &'b mut [R]) => WithCounts<(S, &'b mut [R])> = (send, receive);
        {
            let from = sent(send)?;
        }
        keep to = Layout::received(receive, this.indegree())?.with_count(from.count);
        (from.pointer, from.count, from.datatype, to.base(), to.counts(), to.displacements(), to.datatype(), this.as_raw())
    }

    on_neighborhood! {
        this, "Sends a block to each neighbour and receives one from each", blocks,
        "let mine = vec![vec![1.0]; grid.outdegree()];\nlet mut theirs = vec![vec![0.0]; grid.indegree()];",
        "&mine, &mut theirs";
        neighbor_alltoallv ineighbor_alltoallv neighbor_alltoallv_init =
            MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv_init;
        ['b] <S: [TypedBuffer], R: [TypedBuffer + BufferMut]>
        (send: &'b [S], receive: &'b mut [R]) => WithCounts<(&'b [S], &'b mut [R])> = (send, receive);
        {}
        keep both = Layouts::new(
            Layout::sent(send, this.outdegree())?,
            Layout::received(receive, this.indegree())?
        );
        (both.send.base(), both.send.counts(), both.send.displacements(), both.send.datatype(), both.receive.base(), both.receive.counts(), both.receive.displacements(), both.receive.datatype(), this.as_raw())
    }

    on_neighborhood! {
        this, "Sends a block to each neighbour and receives one from each, of any datatypes", blocks,
        "let mine = vec![vec![1.0]; grid.outdegree()];\nlet mut theirs = vec![vec![0.0]; grid.indegree()];",
        "&mine, &mut theirs";
        neighbor_alltoallw ineighbor_alltoallw neighbor_alltoallw_init =
            MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init;
        ['b] <S: [BufferRef], R: [BufferMut]>
        (send: &'b [S], receive: &'b mut [R]) => WithCounts<(&'b [S], &'b mut [R])> = (send, receive);
        {}
        keep both = Addressed::new(
            Layout::sent_w(send, this.outdegree())?,
            Layout::received_w(receive, this.indegree())?
        );
        (both.of.send.base(), both.of.send.counts(), both.send.as_ptr(), both.of.send.types(), both.of.receive.base(), both.of.receive.counts(), both.receive.as_ptr(), both.of.receive.types(), this.as_raw())
    }
}

/// A neighbour's part of a buffer. Where there is no neighbour, the other buffer's: Open MPI
/// sends nothing if nothing is received, though others may wait for it.
fn part(buffer: &RawBuffer, neighbors: usize, other: MPI_Count) -> RmpiResult<MPI_Count> {
    if neighbors == 0 { Ok(other) } else { share(buffer.count, neighbors) }
}

/// Layouts with displacements that are addresses, whatever the counts are.
struct Addressed {
    of: Layouts,
    send: SmallVec<[MPI_Aint; 16]>,
    receive: SmallVec<[MPI_Aint; 16]>,
}

impl Addressed {
    fn new(send: Layout, receive: Layout) -> Self {
        let of = Layouts::new(send, receive);
        let (send, receive) = (addresses(&of.send), addresses(&of.receive));
        Self { of, send, receive }
    }
}

fn addresses(layout: &Layout) -> SmallVec<[MPI_Aint; 16]> {
    let displacements = layout.displacements();
    (0..layout.blocks())
        .map(|block| match displacements {
            // SAFETY: the read requires an initialised number within the array: `displacements` gives
            // the address of one for each block, which `layout` keeps, and `block` is less than their
            // number.
            Array::Int(displacements) => unsafe { *displacements.add(block) as MPI_Aint },
            // SAFETY: as above, of numbers of the other width.
            Array::Wide(displacements) => unsafe { *displacements.add(block) as MPI_Aint },
        })
        .collect()
}
