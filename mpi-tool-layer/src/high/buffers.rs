//! Where data are: buffers with their counts and datatypes, as one value each, so that no part of one can
//! go with a part of another.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;

use mpi_sys::{MPI_Aint, MPI_Count, MPI_Datatype, MPI_IN_PLACE};

use super::Datatype;
use crate::call::{Accepted, Brand};
use crate::rmpi;

/// The role of counts that are a part of a buffer: they go to MPI in it and not as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {}

/// Counts or displacements, one for each process or block, `int`s or `MPI_Count`s.
#[derive(Debug, Clone, Copy)]
pub struct Counts<'c, R = Part>(pub(super) Array, Brand<'c>, PhantomData<R>);

#[derive(Debug, Clone, Copy)]
pub(super) enum Array {
    Int(*const c_int),
    Wide(*const MPI_Count),
}

impl<R> Counts<'_, R> {
    #[inline(always)]
    pub(super) const fn int(pointer: *const c_int) -> Self {
        Self(Array::Int(pointer), PhantomData, PhantomData)
    }

    #[inline(always)]
    pub(super) const fn wide(pointer: *const MPI_Count) -> Self {
        Self(Array::Wide(pointer), PhantomData, PhantomData)
    }

    #[inline(always)]
    pub(super) const fn from_c(counts: Self) -> Self {
        counts
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> Self {
        self
    }

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

    /// One of them.
    ///
    /// # Safety
    /// The application's array is that long: MPI says for which function it must be.
    pub unsafe fn get(self, index: usize) -> MPI_Count {
        // SAFETY: the caller's promise.
        unsafe {
            match self.0 {
                Array::Int(counts) => (*counts.add(index)).into(),
                Array::Wide(counts) => *counts.add(index),
            }
        }
    }
}

/// Where a buffer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In memory.
    Memory(*const c_void),
    /// `MPI_BOTTOM`, which is null: the datatype has the addresses, or there is nothing.
    Bottom,
    /// `MPI_IN_PLACE`: a collective operation takes it from the other buffer.
    InPlace,
}

impl Place {
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

macro_rules! buffers {
    ($($(#[$doc:meta])* $name:ident: $pointer:ty, $rmpi:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Nothing of it is trusted: to read it is [a copy](Self::to_vec), or [unsafe](Self::get).
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

            #[inline(always)]
            pub(super) const fn into_c(self) -> ($pointer, MPI_Count, MPI_Datatype) {
                (self.pointer, self.count, self.datatype)
            }

            /// Where it is.
            #[inline(always)]
            pub fn place(self) -> Place {
                Place::of(self.pointer as *const c_void)
            }

            /// How many elements of its datatype it has; negative by mistake only.
            #[inline(always)]
            pub const fn count(self) -> MPI_Count {
                self.count
            }

            /// Its datatype.
            #[inline(always)]
            pub const fn datatype(self) -> Datatype<'b> {
                Datatype::from_c(self.datatype)
            }

            /// How many bytes of data it has (not the memory that they are spread over).
            ///
            /// # Safety
            /// The buffer was significant in this process: it was not one that only a root has, and not
            /// one for `MPI_PROC_NULL`. [`Call::bytes_sent`](crate::Call::bytes_sent) and
            /// [`Call::transfers`](crate::Call::transfers) know that, and are safe.
            pub unsafe fn bytes(self, accepted: Accepted<'_>) -> u64 {
                let Ok(count) = u64::try_from(self.count) else { return 0 };
                if count == 0 {
                    return 0;
                }
                // SAFETY: significant, as the caller says, and of more than no elements.
                count.saturating_mul(unsafe { self.datatype().size(accepted) })
            }

            /// C's arguments.
            pub const fn into_raw(self) -> rmpi::RawBuffer {
                let (pointer, count, datatype) = (self.pointer as *mut _, self.count, self.datatype);
                rmpi::RawBuffer { pointer, count, datatype }
            }

            /// A copy of its elements, if its datatype has the same values as `T`'s: `MPI_INT` has an
            /// `i32`'s.
            ///
            /// The kernel copies, so that an address where nothing is makes an error and no crash,
            /// and memory that others write to, or nobody has written to yet, does no harm. That
            /// takes a system call.
            pub fn to_vec<T: rmpi::MpiDatatype>(self, _: Accepted<'_>) -> Option<Vec<T>> {
                let Place::Memory(address) = self.place() else {
                    return (self.count == 0).then(Vec::new);
                };
                let length = self.into_raw().length_as::<T>().ok().flatten()?;
                copy_memory(address, length)
            }

            /// The buffer as rmpi has it, without a copy.
            ///
            /// # Safety
            /// The application's buffer is as it says: so many elements of the datatype, that
            /// nobody writes to meanwhile, and that have been written to if they are read.
            pub const unsafe fn get(self) -> rmpi::$rmpi<'b> {
                // SAFETY: the caller's promise.
                unsafe { rmpi::$rmpi::from_raw(self.into_raw()) }
            }

            /// Another buffer than the application's.
            ///
            /// # Safety
            /// Where it is passed on, MPI accepts it and not the application's, of which nothing must
            /// be asked then.
            pub unsafe fn new(buffer: rmpi::$rmpi<'b>) -> Self {
                let raw = buffer.into_raw();
                Self::from_c(raw.pointer, raw.count, raw.datatype)
            }
        }
    )*};
}

buffers! {
    /// A buffer of the application's that MPI reads: address, count and datatype.
    TypeDynamicBufferRef: *const c_void, TypeDynamicBufferRef;
    /// A buffer of the application's that MPI writes to: address, count and datatype.
    TypeDynamicBufferMut: *mut c_void, TypeDynamicBufferMut;
}

/// A copy of `length` values at an address of this process, if there is memory.
fn copy_memory<T: rmpi::MpiDatatype>(address: *const c_void, length: usize) -> Option<Vec<T>> {
    let bytes = length.checked_mul(size_of::<T>())?;
    let mut copy = Vec::<T>::new();
    copy.try_reserve_exact(length).ok()?;
    let to = libc::iovec { iov_base: copy.as_mut_ptr().cast(), iov_len: bytes };
    let from = libc::iovec { iov_base: address.cast_mut(), iov_len: bytes };
    // SAFETY: the kernel writes at most `bytes`, into the vector's memory, and checks the address that
    // it reads from.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
    if usize::try_from(copied) != Ok(bytes) {
        return None;
    }
    // SAFETY: all bytes have been written, and an `MpiDatatype` is valid with any.
    unsafe { copy.set_len(length) };
    Some(copy)
}

/// Values of several parts that only the application makes.
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
    /// A buffer with a block for each process, sent from: `MPI_Scatterv`, `MPI_Alltoallv`.
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

    /// A buffer with a block for each process, received into: `MPI_Gatherv`, `MPI_Alltoallv`.
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

    /// The two buffers of a reduction, which share count and datatype: `MPI_Allreduce`.
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

    /// The two buffers of a reduction whose result is scattered in blocks: `MPI_Reduce_scatter`.
    ReductionBlocks<'b> {
        /// What the process contributes; may be `MPI_IN_PLACE`.
        send_address: *const c_void,
        /// Where the process's block goes.
        receive_address: *mut c_void,
        /// How many elements each process gets.
        counts: Counts<'b>,
        /// The datatype of both.
        datatype: MPI_Datatype,
    }

    /// A buffer that is sent in partitions: `MPI_Psend_init`.
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

    /// A buffer that is received in partitions: `MPI_Precv_init`.
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

    /// Which part of whose window one-sided communication is with.
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
    /// What the process contributes.
    pub const fn send(self) -> TypeDynamicBufferRef<'b> {
        TypeDynamicBufferRef::from_c(self.send_address, self.count, self.datatype)
    }

    /// Where the result goes.
    pub const fn receive(self) -> TypeDynamicBufferMut<'b> {
        TypeDynamicBufferMut::from_c(self.receive_address, self.count, self.datatype)
    }
}
