//! Collective operations with a block for each process. Blocks are slices, where C has one buffer,
//! counts and displacements: so the borrow checker sees that those to receive into do not overlap.

use core::ptr;

use rmpi_macros::wraps;

use super::blocks::{Layout, Layouts, WithCounts, received, sent};
use super::buffer::{BufferMut, BufferRef, TypedBuffer};
use super::collective::{collective, on_communicator, on_process};
use super::communicator::Communicator;
use super::error::{RmpiResult, check, output};
use super::process::Process;
use super::request::{PersistentRequest, Request, Scope};
use super::sys;

impl Communicator<'_> {
    on_communicator! {
        this, "Collects the buffers of all processes, of different lengths, in a block for each", blocks,
        "let mine = [1.0, 2.0];\nlet mut blocks = vec![vec![0.0; 2]; world.size()?];", "&mine, &mut blocks";
        allgatherv iallgatherv allgatherv_init = MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init;
        ['b] <S: [BufferRef], R: [TypedBuffer + BufferMut]>
        (send: S, receive: &'b mut [R]) => WithCounts<(S, &'b mut [R])> = (send, receive);
        {
            let from = sent(send)?;
            let size = this.known_size()?;
        }
        keep to = Layout::received(receive, size)?.with_count(from.count);
        (from.pointer, from.count, from.datatype, to.base(), to.counts(), to.displacements(), to.datatype(), this.as_raw())
    }

    on_communicator! {
        this, "Collects blocks, of which each process has the one of its rank, at all of them", blocks,
        "let mut blocks = vec![vec![0.0; 2]; world.size()?];", "&mut blocks";
        allgatherv_in_place iallgatherv_in_place allgatherv_in_place_init = MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init;
        ['b] <R: [TypedBuffer + BufferMut]>
        (blocks: &'b mut [R]) => WithCounts<&'b mut [R]> = blocks;
        {
            let size = this.known_size()?;
        }
        keep to = Layout::received(blocks, size)?;
        (sys::MPI_IN_PLACE, 0, to.datatype(), to.base(), to.counts(), to.displacements(), to.datatype(), this.as_raw())
    }

    on_communicator! {
        this, "Sends a block to each process and receives one from each", blocks,
        "let send = vec![vec![1.0; 2]; world.size()?];\nlet mut receive = send.clone();", "&send, &mut receive";
        alltoallv ialltoallv alltoallv_init = MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init;
        ['b] <S: [TypedBuffer], R: [TypedBuffer + BufferMut]>
        (send: &'b [S], receive: &'b mut [R]) => WithCounts<(&'b [S], &'b mut [R])> = (send, receive);
        {
            let size = this.known_size()?;
        }
        keep both = Layouts::new(Layout::sent(send, size)?, Layout::received(receive, size)?);
        (both.send.base(), both.send.counts(), both.send.displacements(), both.send.datatype(), both.receive.base(), both.receive.counts(), both.receive.displacements(), both.receive.datatype(), this.as_raw())
    }

    on_communicator! {
        this, "Exchanges blocks with all processes", blocks,
        "let mut blocks = vec![vec![1.0; 2]; world.size()?];", "&mut blocks";
        alltoallv_in_place ialltoallv_in_place alltoallv_in_place_init = MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init;
        ['b] <R: [TypedBuffer + BufferMut]>
        (blocks: &'b mut [R]) => WithCounts<&'b mut [R]> = blocks;
        {
            let size = this.known_size()?;
        }
        keep to = Layout::received(blocks, size)?;
        (sys::MPI_IN_PLACE, to.counts(), to.displacements(), to.datatype(), to.base(), to.counts(), to.displacements(), to.datatype(), this.as_raw())
    }

    on_communicator! {
        this, "Sends a block to each process and receives one from each, of any datatypes", blocks,
        "let send = vec![rmpi::TypeDynamicBufferRef::from_slice(&[1.0, 2.0], world)?; world.size()?];\nlet mut receive = vec![vec![0.0; 2]; world.size()?];", "&send, &mut receive";
        alltoallw ialltoallw alltoallw_init = MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init;
        ['b] <S: [BufferRef], R: [BufferMut]>
        (send: &'b [S], receive: &'b mut [R]) => WithCounts<(&'b [S], &'b mut [R])> = (send, receive);
        {
            let size = this.known_size()?;
        }
        keep both = Layouts::new(Layout::sent_w(send, size)?, Layout::received_w(receive, size)?);
        (both.send.base(), both.send.counts(), both.send.displacements(), both.send.types(), both.receive.base(), both.receive.counts(), both.receive.displacements(), both.receive.types(), this.as_raw())
    }

    on_communicator! {
        this, "Exchanges blocks of any datatypes with all processes", blocks,
        "let mut blocks = vec![vec![1.0; 2]; world.size()?];", "&mut blocks";
        alltoallw_in_place ialltoallw_in_place alltoallw_in_place_init = MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init;
        ['b] <R: [BufferMut]>
        (blocks: &'b mut [R]) => WithCounts<&'b mut [R]> = blocks;
        {
            let size = this.known_size()?;
        }
        keep to = Layout::received_w(blocks, size)?;
        (sys::MPI_IN_PLACE, to.counts(), to.displacements(), to.types(), to.base(), to.counts(), to.displacements(), to.types(), this.as_raw())
    }
}

impl<'c> Process<'c> {
    on_process! {
        this, "Sends a buffer to the root, which collects them in a block for each", not_root,
        "let mine = [1.0, 2.0];", "&mine";
        gatherv igatherv gatherv_init = MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init;
        [] <S: [BufferRef]>
        (send: S) => WithCounts<S> = send;
        {
            let rank = this.root()?;
            this.check_not_root()?;
            let from = sent(send)?;
        }
        keep to = Layout::none().with_count(from.count);
        (from.pointer, from.count, from.datatype, ptr::null_mut(), to.counts(), to.displacements(), from.datatype, rank, this.comm())
    }

    on_process! {
        this, "Collects the buffers of all processes, of different lengths, in a block for each at the root", blocks,
        "let mine = [1.0, 2.0];\nlet mut blocks = vec![vec![0.0; 2]; root.communicator().size()?];", "&mine, &mut blocks";
        gatherv_root igatherv_root gatherv_root_init = MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init;
        ['b] <S: [BufferRef], R: [TypedBuffer + BufferMut]>
        (send: S, receive: &'b mut [R]) => WithCounts<(S, &'b mut [R])> = (send, receive);
        {
            let rank = this.root()?;
            let from = sent(send)?;
            let size = this.communicator.known_size()?;
        }
        keep to = Layout::received(receive, size)?.with_count(from.count);
        (from.pointer, from.count, from.datatype, to.base(), to.counts(), to.displacements(), to.datatype(), rank, this.comm())
    }

    on_process! {
        this, "Collects the buffers of all processes in a block for each at the root, whose own block is there already", blocks_in_place,
        "let mut blocks = vec![vec![0.0; 2]; root.communicator().size()?];", "&mut blocks";
        gatherv_in_place igatherv_in_place gatherv_in_place_init = MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init;
        ['b] <R: [TypedBuffer + BufferMut]>
        (blocks: &'b mut [R]) => WithCounts<&'b mut [R]> = blocks;
        {
            let rank = this.root()?;
            this.check_root()?;
            let size = this.communicator.known_size()?;
        }
        keep to = Layout::received(blocks, size)?;
        (sys::MPI_IN_PLACE, 0, to.datatype(), to.base(), to.counts(), to.displacements(), to.datatype(), rank, this.comm())
    }

    on_process! {
        this, "Receives this process's block of the root's", not_root,
        "let mut mine = [0.0; 2];", "&mut mine";
        scatterv iscatterv scatterv_init = MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init;
        [] <R: [BufferMut]>
        (receive: R) => WithCounts<R> = receive;
        {
            let rank = this.root()?;
            this.check_not_root()?;
            let to = received(receive)?;
        }
        keep from = Layout::none().with_count(to.count);
        (ptr::null(), from.counts(), from.displacements(), to.datatype, to.pointer, to.count, to.datatype, rank, this.comm())
    }

    on_process! {
        this, "Sends a block of the root's to each process", blocks,
        "let blocks = vec![vec![1.0; 2]; root.communicator().size()?];\nlet mut mine = [0.0; 2];", "&blocks, &mut mine";
        scatterv_root iscatterv_root scatterv_root_init = MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init;
        ['b] <S: [TypedBuffer], R: [BufferMut]>
        (send: &'b [S], receive: R) => WithCounts<(&'b [S], R)> = (send, receive);
        {
            let rank = this.root()?;
            let to = received(receive)?;
            let size = this.communicator.known_size()?;
        }
        keep from = Layout::sent(send, size)?.with_count(to.count);
        (from.base(), from.counts(), from.displacements(), from.datatype(), to.pointer, to.count, to.datatype, rank, this.comm())
    }

    on_process! {
        this, "Sends a block of the root's to each process, and leaves the root's own where it is", blocks_in_place,
        "let blocks = vec![vec![1.0; 2]; root.communicator().size()?];", "&blocks";
        scatterv_in_place iscatterv_in_place scatterv_in_place_init = MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init;
        ['b] <S: [TypedBuffer]>
        (blocks: &'b [S]) => WithCounts<&'b [S]> = blocks;
        {
            let rank = this.root()?;
            this.check_root()?;
            let size = this.communicator.known_size()?;
        }
        keep from = Layout::sent(blocks, size)?;
        (from.base(), from.counts(), from.displacements(), from.datatype(), sys::MPI_IN_PLACE, 0, from.datatype(), rank, this.comm())
    }
}
