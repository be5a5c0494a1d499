//! The buffer of a partitioned message, cut in parts of one length.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::super::buffer::{BufferRef as _, RawBuffer};
use super::super::datatype::ElementOf;
use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::sys::{MPI_Comm, c_int};
use crate::SendDatatype;

/// A vector's memory, without a claim on its elements: MPI and several threads use parts of it at the same time. Dropped,
/// it is leaked.
#[derive(Debug)]
pub(super) struct Parts<T> {
    /// A vector's elements, which are initialised, `length` of them.
    pointer: NonNull<T>,
    length: usize,
    capacity: usize,
    /// At least 1.
    parts: usize,
}

/// What the sender tells: how many elements of the datatype there are, and how many bytes each has, on which both sides have
/// to agree; how many parts; and the tag of the parts' request.
pub(super) type Agreed = [u64; 4];

/// Open MPI 5.0.11 takes a send that is started again for complete, before its parts are ready, if any function of MPI is
/// called in between: waits do not wait then, and it crashes or hangs. So each start has a request of its own there.
pub(super) const ANEW: bool = matches!(mpi_sys::ABI, mpi_sys::Abi::OpenMpi);

/// With whom a request of parts is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Envelope {
    pub(super) communicator: MPI_Comm,
    pub(super) rank: c_int,
    /// No other message of the sender has it.
    pub(super) tag: c_int,
}

impl<T: SendDatatype> Parts<T> {
    /// Cuts a vector in so many parts.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if that are parts of different lengths or of none, [`TYPE`](ErrorClass::TYPE) and
    /// [`COUNT`](ErrorClass::COUNT) if some MPI places them wrongly; the vector is dropped.
    pub(super) fn new(buffer: Vec<T>, parts: usize) -> RmpiResult<Self> {
        let per_part = buffer.len().checked_div(parts).unwrap_or(0);
        if per_part == 0 || per_part * parts != buffer.len() || c_int::try_from(parts).is_err() {
            return Err(Error::refused(
                ErrorClass::ARG,
                "partitions have one length, of at least one element: the buffer's length is not so many times theirs",
            ));
        }
        if T::TYPE_MAP.size() != size_of::<T>() || size_of::<T>() == 0 {
            // Open MPI places parts as if there were no padding: it would send others than those that are ready.
            return Err(Error::refused(
                ErrorClass::TYPE,
                "partitions are of elements that have data and no padding, which not every MPI places where they are",
            ));
        }
        if mpi_sys::ABI == mpi_sys::Abi::OpenMpi
            && c_int::try_from(size_of::<T>() * per_part).is_err()
        {
            return Err(Error::refused(
                ErrorClass::COUNT,
                "Open MPI has the length of partitions in 32 bits, and would send other memory: make more of them",
            ));
        }
        let mut buffer = ManuallyDrop::new(buffer);
        let (length, capacity) = (buffer.len(), buffer.capacity());
        let pointer =
            NonNull::new(buffer.as_mut_ptr()).ok_or(Error::refused(ErrorClass::BUFFER, "null"))?;
        Ok(Self { pointer, length, capacity, parts })
    }

    /// C's arguments: the buffer's address, and of each part how many elements of which datatype it has.
    pub(super) fn as_raw(&self) -> RmpiResult<RawBuffer> {
        let part = self.part(0)?;
        // SAFETY: a reference asks for initialised values to which nobody writes while it lives: those of the vector,
        // which nobody else has yet when a request is prepared. `as_raw` reads nothing.
        let raw = unsafe { &*part }.as_raw()?;
        Ok(RawBuffer { pointer: self.pointer.as_ptr().cast(), ..raw })
    }

    /// The message by which the sender describes its buffer to the receiver.
    pub(super) fn agreed(&self, tag: c_int) -> Agreed {
        let (map, per_value) = ElementOf::<T>::FLAT;
        let elements = self.length as u64 * per_value as u64;
        [elements, map.size() as u64, self.parts as u64, tag.unsigned_abs().into()]
    }
}

impl<T> Parts<T> {
    pub(super) const fn len(&self) -> usize {
        self.parts
    }

    /// C's number of a part, if there is such a one.
    pub(super) fn number(&self, part: usize) -> RmpiResult<c_int> {
        match c_int::try_from(part) {
            Ok(number) if part < self.parts => Ok(number),
            _ => Err(Error::refused(ErrorClass::ARG, "there is no partition of that number")),
        }
    }

    /// A part of the memory, which is valid as long as the memory is not [taken](Self::take).
    pub(super) fn part(&self, number: usize) -> RmpiResult<*mut [T]> {
        self.number(number)?;
        let per_part = self.length / self.parts;
        // SAFETY: `add` asks that both addresses are in the vector, as they are: `number` is less than `parts`, which
        // are so long together as the vector.
        let first = unsafe { self.pointer.as_ptr().add(number * per_part) };
        Ok(core::ptr::slice_from_raw_parts_mut(first, per_part))
    }

    /// The whole memory, as `part` of parts.
    pub(super) const fn all(&self) -> *mut [T] {
        core::ptr::slice_from_raw_parts_mut(self.pointer.as_ptr(), self.length)
    }

    /// The vector.
    ///
    /// # Safety
    /// Nobody uses the memory any more, and this is called once.
    pub(super) unsafe fn take(&self) -> Vec<T> {
        // SAFETY: `from_raw_parts` asks for what was a vector, once: `new` has taken one apart, and the caller promises
        // the second.
        unsafe { Vec::from_raw_parts(self.pointer.as_ptr(), self.length, self.capacity) }
    }
}

/// Refuses where the MPI library does not do what it must with threads.
pub(super) fn for_threads() -> RmpiResult {
    if mpi_sys::ABI == mpi_sys::Abi::OpenMpi {
        return Err(Error::refused(
            ErrorClass::UNSUPPORTED_OPERATION,
            "Open MPI loses partitions if threads call it at once: threads can fill them, and one makes them ready",
        ));
    }
    Ok(())
}
