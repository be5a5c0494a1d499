//! Where data are: buffers with their counts and datatypes, as one value each, so that no part of
//! one can go with a part of another.
//!
//! Buffers are descriptions. That there is memory at the address, that it has been written to, and
//! that the count is not too large is the application's claim, and often it is not even that: a
//! receive buffer means nothing at the other ranks of a gather. So contents are read by the kernel
//! (`to_vec`), which finds out without a crash, or by `unsafe` code. Both take types of
//! [rmpi](crate::rmpi), and are there with the feature `rmpi`.
//!
//! In a layer's method, a buffer has the call's lifetime `'c`. The next function of a blocking call
//! takes buffers of any lifetime, so that a layer can lend MPI memory of its own; that of a call
//! that only starts an operation takes `'c` only.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;

use mpi_sys::{MPI_Aint, MPI_Count, MPI_Datatype, MPI_IN_PLACE};

use super::Datatype;
use crate::call::{Accepted, Brand};
#[cfg(feature = "rmpi")]
use crate::rmpi;

/// The role of counts that are a part of a buffer: they go to MPI in it and not as an argument of
/// their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {}

/// Counts or displacements, one for each process or block, `int`s or `MPI_Count`s: an address, as
/// the application has passed it. Which of the two it is depends on whether the application has
/// called the large-count twin. How many there are is the function's matter: as many as the
/// communicator has processes, for example.
#[derive(Debug, Clone, Copy)]
pub struct Counts<'c, R = Part>(pub(super) Array, Brand<'c>, PhantomData<R>);

/// The array as C has it. The next function is the one that takes such arrays.
#[derive(Debug, Clone, Copy)]
pub(super) enum Array {
    /// Of the function without `_c`.
    Int(*const c_int),
    /// Of its large-count twin. Displacements are `MPI_Aint`s there, which are as wide; those of
    /// `MPI_Neighbor_alltoallw` are so in both forms.
    Wide(*const MPI_Count),
}

impl<R> Counts<'_, R> {
    /// An array of `int`s, of the function that has no `_c` in its name.
    #[inline(always)]
    pub(super) const fn int(pointer: *const c_int) -> Self {
        Self(Array::Int(pointer), PhantomData, PhantomData)
    }

    /// An array of `MPI_Count`s, or of `MPI_Aint`s, which are as wide.
    #[inline(always)]
    pub(super) const fn wide(pointer: *const MPI_Count) -> Self {
        Self(Array::Wide(pointer), PhantomData, PhantomData)
    }

    /// The expansion lifts arrays by `int` and `wide`; this only keeps it the same for all types.
    #[inline(always)]
    pub(super) const fn from_c(counts: Self) -> Self {
        counts
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> Self {
        self
    }

    /// As the word of a [`Call`](crate::Call).
    #[inline(always)]
    pub(super) fn address(self) -> u64 {
        use crate::call::Word;
        match self.0 {
            Array::Int(pointer) => pointer.to_word(),
            Array::Wide(pointer) => pointer.to_word(),
        }
    }

    /// Are they of the large-count form?
    #[inline(always)]
    pub const fn is_wide(self) -> bool {
        matches!(self.0, Array::Wide(_))
    }

    /// One of them, from 0: the count or displacement of the process or block of that number.
    ///
    /// # Safety
    /// The application's array has more elements than `index`, is readable, and nobody writes to it
    /// meanwhile. MPI says for which function and in which process the array must be there at all.
    pub unsafe fn get(self, index: usize) -> MPI_Count {
        // SAFETY: element `index` of an array of this width must be readable, with no writer. The
        // caller promises that of the application's array, and its width is that of the function
        // that the application has called (`int`, `wide`).
        unsafe {
            match self.0 {
                Array::Int(counts) => (*counts.add(index)).into(),
                Array::Wide(counts) => *counts.add(index),
            }
        }
    }
}

/// Where a buffer is: an address, or one of the values that MPI has for other cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// In memory, if the application is right. It is not known how much there is.
    Memory(*const c_void),
    /// `MPI_BOTTOM`, which is null: the datatype has the addresses, or there is nothing.
    Bottom,
    /// `MPI_IN_PLACE`: a collective operation takes the contribution from the other buffer, or
    /// leaves the result there.
    InPlace,
}

impl Place {
    /// Tells the special addresses from others. `MPI_IN_PLACE` is -1 or 1, by the ABI, where no
    /// data can be.
    #[inline(always)]
    fn of(buffer: *const c_void) -> Self {
        if buffer == MPI_IN_PLACE.cast_const() {
            Self::InPlace
        } else if buffer.is_null() {
            Self::Bottom
        } else {
            Self::Memory(buffer)
        }
    }
}

/// The two kinds of buffers, for reading and for writing: the same but for their pointers.
macro_rules! buffers {
    ($($(#[$doc:meta])* $name:ident: $pointer:ty, $rmpi:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Nothing of it is trusted: to read it is a copy (`to_vec`), or unsafe (`get`), both with the feature `rmpi`.
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'b> {
            pointer: $pointer,
            count: MPI_Count,
            datatype: MPI_Datatype,
            memory: PhantomData<&'b [u8]>,
        }

        impl<'b> $name<'b> {
            #[inline(always)]
            pub(super) const fn from_c(
                pointer: $pointer,
                count: MPI_Count,
                datatype: MPI_Datatype,
            ) -> Self {
                Self { pointer, count, datatype, memory: PhantomData }
            }

            /// The value, as C's three arguments.
            #[inline(always)]
            pub(super) const fn into_c(self) -> ($pointer, MPI_Count, MPI_Datatype) {
                (self.pointer, self.count, self.datatype)
            }

            /// Where it is. Costs two comparisons.
            #[inline(always)]
            pub fn place(self) -> Place {
                Place::of(self.pointer as *const c_void)
            }

            /// How many elements of its datatype it has; negative by mistake only. Of a receive,
            /// how many there is room for: a status says how many came
            /// ([`received_bytes`](crate::received_bytes)).
            #[inline(always)]
            pub const fn count(self) -> MPI_Count {
                self.count
            }

            /// Its datatype, which may be null or wrong where MPI need not look at it.
            #[inline(always)]
            pub const fn datatype(self) -> Datatype<'b> {
                Datatype::from_c(self.datatype)
            }

            /// How many bytes of data it has (not the memory that they are spread over). 0 of a
            /// count that is not positive, without a question to MPI; otherwise MPI is asked for
            /// the datatype's size.
            ///
            /// # Safety
            /// The buffer was significant in this process in the call that `accepted` is of: it was
            /// not one that only a root has, and not one for `MPI_PROC_NULL`.
            /// [`Call::bytes_sent`](crate::Call::bytes_sent) and
            /// [`Call::transfers`](crate::Call::transfers) know that, and are safe.
            pub unsafe fn bytes(self, accepted: Accepted<'_>) -> u64 {
                let Ok(count) = u64::try_from(self.count) else { return 0 };
                if count == 0 {
                    return 0;
                }
                // SAFETY: `size` wants a datatype that MPI has used in this call. It has: the
                // buffer was significant, as the caller promises, and has elements, as was checked.
                count.saturating_mul(unsafe { self.datatype().size(accepted) })
            }

            /// C's arguments, all three of them. The address is without its `const`: whether it may
            /// be written to, the buffer's type has said.
            #[cfg(feature = "rmpi")]
            pub const fn into_raw(self) -> rmpi::RawBuffer {
                let (pointer, count, datatype) = (self.pointer as *mut _, self.count, self.datatype);
                rmpi::RawBuffer { pointer, count, datatype }
            }

            /// A copy of its elements, if its datatype has the same values as `T`'s: `MPI_INT` has
            /// an `i32`'s. `None` of any other datatype (a derived one, for example), of a buffer
            /// that is [not in memory](Self::place) though its count is not 0, of memory that
            /// cannot be read, and of a copy that there is no memory for. An empty `Vec` of no
            /// elements.
            ///
            /// The kernel copies, so that an address where nothing is makes an error and no crash,
            /// and memory that others write to, or nobody has written to yet, does no harm. That
            /// takes a system call.
            ///
            /// The whole buffer is copied: what a shorter message did not reach is what was there
            /// before. It is to be called when the call is over that moves the data; of a call that
            /// only starts an operation, a receive buffer is not filled yet.
            #[cfg(feature = "rmpi")]
            pub fn to_vec<T: rmpi::MpiDatatype>(self, _: Accepted<'_>) -> Option<Vec<T>> {
                let Place::Memory(address) = self.place() else {
                    return (self.count == 0).then(Vec::new);
                };
                let length = self.into_raw().length_as::<T>().ok().flatten()?;
                copy_memory(address, length)
            }

            /// The buffer as rmpi has it, without a copy: to send it on, or to look at it through
            /// rmpi's types.
            ///
            /// # Safety
            /// The application's buffer is as it says for all of `'b`: so many elements of the
            /// datatype, that nobody writes to meanwhile, and that have been written to if they are
            /// read. The datatype is valid and committed.
            #[cfg(feature = "rmpi")]
            pub const unsafe fn get(self) -> rmpi::$rmpi<'b> {
                // SAFETY: `from_raw` wants a buffer of so many elements of a valid datatype, which
                // nobody writes to for `'b`, and which has been written to if it is read. That is
                // the caller's promise, word for word.
                unsafe { rmpi::$rmpi::from_raw(self.into_raw()) }
            }

            /// Another buffer than the application's, such as a copy that the layer has changed.
            ///
            /// # Safety
            /// Where it is passed on, MPI accepts it and not the application's, of which nothing
            /// must be asked then. What is sent fits what the other process receives, and what is
            /// received into it gets into the application's buffer.
            #[cfg(feature = "rmpi")]
            pub unsafe fn new(buffer: rmpi::$rmpi<'b>) -> Self {
                let raw = buffer.into_raw();
                Self::from_c(raw.pointer, raw.count, raw.datatype)
            }
        }
    )*};
}

buffers! {
    /// A buffer of the application's that MPI reads: address, count and datatype, as in
    /// `MPI_Send(buf, count, datatype, …)`.
    TypeDynamicBufferRef: *const c_void, TypeDynamicBufferRef;
    /// A buffer of the application's that MPI writes to: address, count and datatype, as in
    /// `MPI_Recv(buf, count, datatype, …)`. What MPI reads and writes is one, too (`MPI_Bcast`,
    /// `MPI_Sendrecv_replace`).
    TypeDynamicBufferMut: *mut c_void, TypeDynamicBufferMut;
}

/// A copy of `length` values at an address of this process; `None` if there is nothing to be read,
/// or no memory for the copy.
#[cfg(feature = "rmpi")]
fn copy_memory<T: rmpi::MpiDatatype>(address: *const c_void, length: usize) -> Option<Vec<T>> {
    let bytes = length.checked_mul(size_of::<T>())?;
    let mut copy = Vec::<T>::new();
    copy.try_reserve_exact(length).ok()?;
    let to = libc::iovec { iov_base: copy.as_mut_ptr().cast(), iov_len: bytes };
    let from = libc::iovec { iov_base: address.cast_mut(), iov_len: bytes };
    // SAFETY: `process_vm_readv` wants two lists of one `iovec` each, which `to` and `from` are,
    // and memory to write to: it writes at most `bytes`, for which the vector has room. The address
    // that it reads from the kernel checks itself.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
    if usize::try_from(copied) != Ok(bytes) {
        return None;
    }
    // SAFETY: `set_len` wants as many initialised values, within the capacity. All bytes have been
    // written, and an `MpiDatatype` is valid with any; room for `length` values was reserved.
    unsafe { copy.set_len(length) };
    Some(copy)
}

/// Values of several parts that only the application makes. Their parts can be looked at, each by a
/// method of its name. Addresses are C's; what a layer reads through them is its own `unsafe`.
macro_rules! composites {
    ($($(#[$doc:meta])* $name:ident<$life:lifetime> {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<$life> {
            $(pub(super) $field: $type,)*
            memory: PhantomData<&$life [u8]>,
        }

        impl<$life> $name<$life> {
            #[inline(always)]
            pub(super) const fn from_c($($field: $type),*) -> Self {
                Self { $($field,)* memory: PhantomData }
            }

            #[inline(always)]
            pub(super) const fn into_c(self) -> ($($type,)*) {
                ($(self.$field,)*)
            }

            $(
                $(#[$field_doc])*
                #[inline(always)]
                pub const fn $field(self) -> $type {
                    self.$field
                }
            )*
        }
    )*};
}

composites! {
    /// A buffer with a block for each process, sent from: the four arguments from `sendbuf` on of
    /// `MPI_Scatterv` and `MPI_Alltoallv`. Significant at the root only, where there is one. May be
    /// `MPI_IN_PLACE`, and then counts, displacements and datatype mean nothing.
    BlocksRef<'b> {
        /// Its address.
        address: *const c_void,
        /// How many elements each block has.
        counts: Counts<'b>,
        /// Where each block begins, in elements.
        displacements: Counts<'b>,
        /// The datatype of all of them.
        datatype: MPI_Datatype,
    }

    /// A buffer with a block for each process, received into: the four arguments from `recvbuf` on
    /// of `MPI_Gatherv`, `MPI_Allgatherv` and `MPI_Alltoallv`. Significant at the root only, where
    /// there is one.
    BlocksMut<'b> {
        /// Its address.
        address: *mut c_void,
        /// How many elements each block has.
        counts: Counts<'b>,
        /// Where each block begins, in elements.
        displacements: Counts<'b>,
        /// The datatype of all of them.
        datatype: MPI_Datatype,
    }

    /// A buffer with a block for each process, each of a datatype of its own, sent from:
    /// `MPI_Alltoallw`.
    BlocksEachRef<'b> {
        /// Its address.
        address: *const c_void,
        /// How many elements each block has.
        counts: Counts<'b>,
        /// Where each block begins, in bytes.
        displacements: Counts<'b>,
        /// The datatype of each.
        datatypes: *const MPI_Datatype,
    }

    /// A buffer with a block for each process, each of a datatype of its own, received into:
    /// `MPI_Alltoallw`.
    BlocksEachMut<'b> {
        /// Its address.
        address: *mut c_void,
        /// How many elements each block has.
        counts: Counts<'b>,
        /// Where each block begins, in bytes.
        displacements: Counts<'b>,
        /// The datatype of each.
        datatypes: *const MPI_Datatype,
    }

    /// The two buffers of a reduction, which share count and datatype: the four arguments from
    /// `sendbuf` on of `MPI_Allreduce`, `MPI_Reduce`, `MPI_Scan` and their kin.
    ReductionBuffers<'b> {
        /// What the process contributes; may be `MPI_IN_PLACE`.
        send_address: *const c_void,
        /// Where the result goes, where there is one; the contribution too, in place.
        receive_address: *mut c_void,
        /// How many elements each has.
        count: MPI_Count,
        /// The datatype of both.
        datatype: MPI_Datatype,
    }

    /// The two buffers of a reduction whose result is scattered in blocks: the four arguments from
    /// `sendbuf` on of `MPI_Reduce_scatter`. The contribution has as many elements as all blocks
    /// together.
    ReductionBlocks<'b> {
        /// What the process contributes; may be `MPI_IN_PLACE`.
        send_address: *const c_void,
        /// Where the process's block goes; with `MPI_IN_PLACE`, the contribution is taken from
        /// here, all blocks of it.
        receive_address: *mut c_void,
        /// How many elements each process gets.
        counts: Counts<'b>,
        /// The datatype of both.
        datatype: MPI_Datatype,
    }

    /// A buffer that is sent in partitions: the four arguments from `buf` on of `MPI_Psend_init`.
    /// The buffer has `partitions` times `count` elements.
    PartitionedRef<'b> {
        /// Its address.
        address: *const c_void,
        /// How many partitions it has.
        partitions: c_int,
        /// How many elements each partition has.
        count: MPI_Count,
        /// The datatype.
        datatype: MPI_Datatype,
    }

    /// A buffer that is received in partitions: the four arguments from `buf` on of
    /// `MPI_Precv_init`. Its partitions need not be those of the sender, but the number of elements
    /// is the same.
    PartitionedMut<'b> {
        /// Its address.
        address: *mut c_void,
        /// How many partitions it has.
        partitions: c_int,
        /// How many elements each partition has.
        count: MPI_Count,
        /// The datatype.
        datatype: MPI_Datatype,
    }

    /// Which part of whose window one-sided communication is with: the four arguments from
    /// `target_rank` on of `MPI_Put`, `MPI_Get`, `MPI_Accumulate` and their kin. Nothing is checked
    /// here; the memory is another process's.
    Target<'c> {
        /// The rank in the window's group.
        rank: c_int,
        /// Where it begins, in the window's displacement units.
        displacement: MPI_Aint,
        /// How many elements.
        count: MPI_Count,
        /// Their datatype.
        datatype: MPI_Datatype,
    }
}

impl<'b> ReductionBuffers<'b> {
    /// What the process contributes, as one buffer. It may be `MPI_IN_PLACE`, and then the
    /// contribution is in the other.
    pub const fn send(self) -> TypeDynamicBufferRef<'b> {
        TypeDynamicBufferRef::from_c(self.send_address, self.count, self.datatype)
    }

    /// Where the result goes, as one buffer. At the other ranks than the root of an `MPI_Reduce`
    /// its address may be anything.
    pub const fn receive(self) -> TypeDynamicBufferMut<'b> {
        TypeDynamicBufferMut::from_c(self.receive_address, self.count, self.datatype)
    }
}
