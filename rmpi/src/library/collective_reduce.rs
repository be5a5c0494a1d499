//! Reductions: collective operations that combine elements of all processes.

use core::ptr;

use rmpi_macros::wraps;

use super::blocks::{WithCounts, received, sent};
use super::buffer::{BufferMut, TypedBuffer};
use super::collective::{collective, on_communicator, on_process};
use super::communicator::Communicator;
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::operation::{Operation, Reduction};
use super::process::Process;
use super::request::{PersistentRequest, Request, Scope};
use super::sys;
use crate::MpiDatatype;

/// The length of a process's part.
fn part(length: usize, size: usize) -> RmpiResult<usize> {
    if size == 0 || !length.is_multiple_of(size) {
        return Err(Error::refused(
            ErrorClass::COUNT,
            "the buffer's length is no multiple of the number of processes",
        ));
    }
    Ok(length / size)
}

/// The length of this process's part, of parts of a buffer of this length.
fn my_part(communicator: &Communicator<'_>, lengths: &[usize], buffer: usize) -> RmpiResult<usize> {
    let sum = lengths.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length));
    if lengths.len() != communicator.known_size()? || sum != Some(buffer) {
        return Err(Error::refused(
            ErrorClass::COUNT,
            "there is a length for each process, and together they are the buffer's",
        ));
    }
    lengths
        .get(communicator.known_rank()?)
        .copied()
        .ok_or(Error::refused(ErrorClass::RANK, "MPI told a rank beyond the communicator's size"))
}

impl Communicator<'_> {
    on_communicator! {
        this, "Reduces the elements of all processes; all have the result", reduction,
        "let mine = [1.0, 2.0];\nlet mut result = [0.0; 2];", "&mine, &mut result, rmpi::MpiOp::SUM";
        allreduce iallreduce allreduce_init = MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init;
        [] <T: [MpiDatatype], S: [TypedBuffer<Element = T>], R: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (send: S, receive: R, op: O) => (S, R) = (send, receive);
        {
            this.intra()?;
            let reduction = Reduction::of::<T, O>(&op)?;
            let (from, to) = (sent(send)?, received(receive)?);
            let count = reduction.same_count(send.as_elements().1, receive.as_elements().1)?;
        }
        (from.pointer, to.pointer, count, reduction.datatype, reduction.op, this.as_raw())
    }

    on_communicator! {
        this, "Reduces the elements of all processes and replaces them by the result", reduction,
        "let mut numbers = [1.0, 2.0];", "&mut numbers, rmpi::MpiOp::SUM";
        allreduce_in_place iallreduce_in_place allreduce_in_place_init = MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init;
        [] <T: [MpiDatatype], B: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (buffer: B, op: O) => B = buffer;
        {
            this.intra()?;
            let reduction = Reduction::of::<T, O>(&op)?;
            let to = received(buffer)?;
            let count = reduction.count(buffer.as_elements().1)?;
        }
        (sys::MPI_IN_PLACE, to.pointer, count, reduction.datatype, reduction.op, this.as_raw())
    }

    on_communicator! {
        this, "Reduces the elements of the processes up to this one", reduction,
        "let mine = [1.0, 2.0];\nlet mut result = [0.0; 2];", "&mine, &mut result, rmpi::MpiOp::SUM";
        scan iscan scan_init = MPI_Scan, MPI_Iscan, MPI_Scan_init;
        [] <T: [MpiDatatype], S: [TypedBuffer<Element = T>], R: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (send: S, receive: R, op: O) => (S, R) = (send, receive);
        {
            this.intra()?;
            let reduction = Reduction::of::<T, O>(&op)?;
            let (from, to) = (sent(send)?, received(receive)?);
            let count = reduction.same_count(send.as_elements().1, receive.as_elements().1)?;
        }
        (from.pointer, to.pointer, count, reduction.datatype, reduction.op, this.as_raw())
    }

    on_communicator! {
        this, "Reduces the elements of the processes up to this one and replaces them by the result", reduction,
        "let mut numbers = [1.0, 2.0];", "&mut numbers, rmpi::MpiOp::SUM";
        scan_in_place iscan_in_place scan_in_place_init = MPI_Scan, MPI_Iscan, MPI_Scan_init;
        [] <T: [MpiDatatype], B: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (buffer: B, op: O) => B = buffer;
        {
            this.intra()?;
            let reduction = Reduction::of::<T, O>(&op)?;
            let to = received(buffer)?;
            let count = reduction.count(buffer.as_elements().1)?;
        }
        (sys::MPI_IN_PLACE, to.pointer, count, reduction.datatype, reduction.op, this.as_raw())
    }

    on_communicator! {
        this, "Reduces the elements of the processes before this one; the first one's buffer stays as it is", reduction,
        "let mine = [1.0, 2.0];\nlet mut result = [0.0; 2];", "&mine, &mut result, rmpi::MpiOp::SUM";
        exscan iexscan exscan_init = MPI_Exscan, MPI_Iexscan, MPI_Exscan_init;
        [] <T: [MpiDatatype], S: [TypedBuffer<Element = T>], R: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (send: S, receive: R, op: O) => (S, R) = (send, receive);
        {
            this.intra()?;
            let reduction = Reduction::of::<T, O>(&op)?;
            let (from, to) = (sent(send)?, received(receive)?);
            let count = reduction.same_count(send.as_elements().1, receive.as_elements().1)?;
        }
        (from.pointer, to.pointer, count, reduction.datatype, reduction.op, this.as_raw())
    }

    on_communicator! {
        this, "Reduces the elements of the processes before this one and replaces them by the result, but for the first one's", reduction,
        "let mut numbers = [1.0, 2.0];", "&mut numbers, rmpi::MpiOp::SUM";
        exscan_in_place iexscan_in_place exscan_in_place_init = MPI_Exscan, MPI_Iexscan, MPI_Exscan_init;
        [] <T: [MpiDatatype], B: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (buffer: B, op: O) => B = buffer;
        {
            this.intra()?;
            let reduction = Reduction::of::<T, O>(&op)?;
            let to = received(buffer)?;
            let count = reduction.count(buffer.as_elements().1)?;
        }
        (sys::MPI_IN_PLACE, to.pointer, count, reduction.datatype, reduction.op, this.as_raw())
    }

    on_communicator! {
        this, "Reduces the elements of all processes; each has the part of the result of its rank", reduction,
        "let numbers = vec![1.0; 2 * world.size()?];\nlet mut part = [0.0; 2];", "&numbers, &mut part[..], rmpi::MpiOp::SUM";
        reduce_scatter_block ireduce_scatter_block reduce_scatter_block_init = MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init;
        [] <T: [MpiDatatype], S: [TypedBuffer<Element = T>], R: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (send: S, receive: R, op: O) => (S, R) = (send, receive);
        {
            let reduction = Reduction::of::<T, O>(&op)?;
            let (from, to) = (sent(send)?, received(receive)?);
            let part = part(send.as_elements().1, this.known_size()?)?;
            let count = reduction.same_count(part, receive.as_elements().1)?;
        }
        (from.pointer, to.pointer, count, reduction.datatype, reduction.op, this.as_raw())
    }

    on_communicator! {
        this, "Reduces the elements of all processes; each has the part of the result of its rank, at the start of the buffer", reduction,
        "let mut numbers = vec![1.0; 2 * world.size()?];", "&mut numbers, rmpi::MpiOp::SUM";
        reduce_scatter_block_in_place ireduce_scatter_block_in_place reduce_scatter_block_in_place_init = MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init;
        [] <T: [MpiDatatype], B: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (buffer: B, op: O) => B = buffer;
        {
            let reduction = Reduction::of::<T, O>(&op)?;
            let to = received(buffer)?;
            let part = part(buffer.as_elements().1, this.known_size()?)?;
            let count = reduction.count(part)?;
        }
        (sys::MPI_IN_PLACE, to.pointer, count, reduction.datatype, reduction.op, this.as_raw())
    }

    on_communicator! {
        this, "Reduces the elements of all processes; each has a part of the result, of which there is a length for each", reduction,
        "let lengths: Vec<usize> = (0..world.size()?).collect();\nlet numbers = vec![1.0; lengths.iter().sum()];\nlet mut part = vec![0.0; lengths[world.rank()?]];", "&numbers, &lengths, &mut part, rmpi::MpiOp::SUM";
        reduce_scatter ireduce_scatter reduce_scatter_init = MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init;
        [] <T: [MpiDatatype], S: [TypedBuffer<Element = T>], R: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (send: S, lengths: &[usize], receive: R, op: O) => WithCounts<(S, R)> = (send, receive);
        {
            let reduction = Reduction::of::<T, O>(&op)?;
            let (from, to) = (sent(send)?, received(receive)?);
            let mine = my_part(this, lengths, send.as_elements().1)?;
            reduction.same_count(mine, receive.as_elements().1)?;
        }
        keep counts = reduction.counts(lengths)?;
        (from.pointer, to.pointer, counts.array(), reduction.datatype, reduction.op, this.as_raw())
    }

    on_communicator! {
        this, "Reduces the elements of all processes; each has a part of the result, of which there is a length for each, at the start of the buffer", reduction,
        "let lengths: Vec<usize> = (0..world.size()?).collect();\nlet mut numbers = vec![1.0; lengths.iter().sum()];", "&mut numbers, &lengths, rmpi::MpiOp::SUM";
        reduce_scatter_in_place ireduce_scatter_in_place reduce_scatter_in_place_init = MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init;
        [] <T: [MpiDatatype], B: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (buffer: B, lengths: &[usize], op: O) => WithCounts<B> = buffer;
        {
            let reduction = Reduction::of::<T, O>(&op)?;
            let to = received(buffer)?;
            my_part(this, lengths, buffer.as_elements().1)?;
        }
        keep counts = reduction.counts(lengths)?;
        (sys::MPI_IN_PLACE, to.pointer, counts.array(), reduction.datatype, reduction.op, this.as_raw())
    }
}

impl<'c> Process<'c> {
    on_process! {
        this, "Sends elements to the root, which has the result of the reduction", reduction_not_root,
        "let mine = [1.0, 2.0];", "&mine, rmpi::MpiOp::SUM";
        reduce ireduce reduce_init = MPI_Reduce, MPI_Ireduce, MPI_Reduce_init;
        [] <T: [MpiDatatype], S: [TypedBuffer<Element = T>], O: [Operation<T>]>
        (send: S, op: O) => S = send;
        {
            let rank = this.root()?;
            this.check_not_root()?;
            let reduction = Reduction::of::<T, O>(&op)?;
            let from = sent(send)?;
            let count = reduction.count(send.as_elements().1)?;
        }
        (from.pointer, ptr::null_mut(), count, reduction.datatype, reduction.op, rank, this.comm())
    }

    on_process! {
        this, "Reduces the elements of all processes; the root has the result", reduction,
        "let mine = [1.0, 2.0];\nlet mut result = [0.0; 2];", "&mine, &mut result, rmpi::MpiOp::SUM";
        reduce_root ireduce_root reduce_root_init = MPI_Reduce, MPI_Ireduce, MPI_Reduce_init;
        [] <T: [MpiDatatype], S: [TypedBuffer<Element = T>], R: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (send: S, receive: R, op: O) => (S, R) = (send, receive);
        {
            let rank = this.root()?;
            this.communicator.intra()?;
            let reduction = Reduction::of::<T, O>(&op)?;
            let (from, to) = (sent(send)?, received(receive)?);
            let count = reduction.same_count(send.as_elements().1, receive.as_elements().1)?;
        }
        (from.pointer, to.pointer, count, reduction.datatype, reduction.op, rank, this.comm())
    }

    on_process! {
        this, "Reduces the elements of all processes and replaces those of the root by the result", reduction_in_place,
        "let mut numbers = [1.0, 2.0];", "&mut numbers, rmpi::MpiOp::SUM";
        reduce_in_place ireduce_in_place reduce_in_place_init = MPI_Reduce, MPI_Ireduce, MPI_Reduce_init;
        [] <T: [MpiDatatype], B: [TypedBuffer<Element = T> + BufferMut], O: [Operation<T>]>
        (buffer: B, op: O) => B = buffer;
        {
            let rank = this.root()?;
            this.check_root()?;
            let reduction = Reduction::of::<T, O>(&op)?;
            let to = received(buffer)?;
            let count = reduction.count(buffer.as_elements().1)?;
        }
        (sys::MPI_IN_PLACE, to.pointer, count, reduction.datatype, reduction.op, rank, this.comm())
    }
}
