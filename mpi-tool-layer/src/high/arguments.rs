//! The values that the methods of a high-level layer get: the application's arguments, grouped, each
//! of a type that says what it is.
//!
//! Values are made of any bits that an application passes, and go on as the same bits. What is looked
//! at without asking MPI is there at once; what MPI must be asked for wants the proof that MPI has
//! [accepted](Accepted) the call. Values that only an application can have, such as handles and
//! lengths, cannot be made in safe code.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;

use mpi_sys::pmpi;
use mpi_sys::*;

use crate::asking::UsedDatatype;
use crate::call::{Accepted, Brand};
use crate::rmpi;

/// An integer in a type that has all of its values: as `From`, which knows nothing of `isize`, the
/// standard ABI's `MPI_Aint`.
pub(super) trait Widen<W> {
    fn widen(self) -> W;
}

macro_rules! widen {
    ($($narrow:ty => $wide:ty;)*) => {$(
        impl Widen<$wide> for $narrow {
            #[inline(always)]
            fn widen(self) -> $wide {
                const { assert!(size_of::<$narrow>() <= size_of::<$wide>()) };
                self as $wide
            }
        }
    )*};
}
widen! {
    i32 => i64;
    i32 => isize;
    i64 => i64;
    isize => i64;
}

/// A narrow count as a wide one.
#[inline(always)]
pub(super) fn widen<W>(narrow: impl Widen<W>) -> W {
    narrow.widen()
}

/// Does a narrowed count stand for the same number?
#[inline(always)]
pub(super) fn fits<W: Copy + PartialEq>(wide: W, narrow: impl Widen<W>) -> bool {
    wide == narrow.widen()
}

/// A rank, or what stands for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rank(c_int);

/// What a rank argument says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RankKind {
    /// A process, by its rank in the communicator, window or group of the call.
    Rank(u32),
    /// `MPI_ANY_SOURCE`.
    AnySource,
    /// `MPI_PROC_NULL`: nobody.
    ProcNull,
    /// `MPI_ROOT`: this process is the root of a collective operation between groups.
    Root,
    /// No rank: the application's mistake.
    Invalid(c_int),
}

impl Rank {
    /// Of C's value.
    #[inline(always)]
    pub const fn new(raw: c_int) -> Self {
        Self(raw)
    }

    /// C's value.
    #[inline(always)]
    pub const fn raw(self) -> c_int {
        self.0
    }

    #[inline(always)]
    pub(super) const fn from_c(raw: c_int) -> Self {
        Self(raw)
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> c_int {
        self.0
    }

    /// What it says.
    pub const fn kind(self) -> RankKind {
        match self.0 {
            MPI_ANY_SOURCE => RankKind::AnySource,
            MPI_PROC_NULL => RankKind::ProcNull,
            MPI_ROOT => RankKind::Root,
            rank if rank >= 0 => RankKind::Rank(rank as u32),
            invalid => RankKind::Invalid(invalid),
        }
    }
}

/// A tag, or any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(c_int);

/// What a tag argument says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TagKind {
    /// This one.
    Tag(u32),
    /// `MPI_ANY_TAG`.
    Any,
    /// No tag: the application's mistake.
    Invalid(c_int),
}

impl Tag {
    /// Of C's value.
    #[inline(always)]
    pub const fn new(raw: c_int) -> Self {
        Self(raw)
    }

    /// C's value.
    #[inline(always)]
    pub const fn raw(self) -> c_int {
        self.0
    }

    #[inline(always)]
    pub(super) const fn from_c(raw: c_int) -> Self {
        Self(raw)
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> c_int {
        self.0
    }

    /// What it says.
    pub const fn kind(self) -> TagKind {
        match self.0 {
            MPI_ANY_TAG => TagKind::Any,
            tag if tag >= 0 => TagKind::Tag(tag as u32),
            invalid => TagKind::Invalid(invalid),
        }
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: $raw:ty, $null:path;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name<'c> {
            raw: $raw,
            brand: Brand<'c>,
        }

        impl $name<'_> {
            #[inline(always)]
            pub(crate) const fn from_c(raw: $raw) -> Self {
                Self { raw, brand: PhantomData }
            }

            #[inline(always)]
            pub(crate) const fn into_c(self) -> $raw {
                self.raw
            }

            /// C's handle: whatever the application has passed.
            #[inline(always)]
            pub const fn raw(self) -> $raw {
                self.raw
            }

            /// Another handle than the application's.
            ///
            /// # Safety
            /// As MPI asks of the function that it is passed to.
            #[inline(always)]
            pub const unsafe fn from_raw(raw: $raw) -> Self {
                Self::from_c(raw)
            }

            /// Is it the null handle?
            #[inline(always)]
            pub fn is_null(self) -> bool {
                self.raw == $null
            }
        }
    )*};
}

handles! {
    /// A communicator, as the application has passed it.
    Communicator: MPI_Comm, pmpi::MPI_COMM_NULL;
    /// A datatype, as the application has passed it.
    Datatype: MPI_Datatype, pmpi::MPI_DATATYPE_NULL;
    /// A group, as the application has passed it.
    Group: MPI_Group, pmpi::MPI_GROUP_NULL;
    /// A reduction operation, as the application has passed it.
    Operation: MPI_Op, pmpi::MPI_OP_NULL;
    /// A window, as the application has passed it.
    Window: MPI_Win, pmpi::MPI_WIN_NULL;
    /// A file, as the application has passed it.
    File: MPI_File, pmpi::MPI_FILE_NULL;
    /// A session, as the application has passed it.
    Session: MPI_Session, pmpi::MPI_SESSION_NULL;
    /// An info object, as the application has passed it.
    Info: MPI_Info, pmpi::MPI_INFO_NULL;
    /// An error handler, as the application has passed it.
    Errhandler: MPI_Errhandler, pmpi::MPI_ERRHANDLER_NULL;
    /// A request that the function only looks at.
    Request: MPI_Request, pmpi::MPI_REQUEST_NULL;
}

impl Datatype<'_> {
    /// How many bytes of data an element has (`MPI_Type_size`); 0 of `MPI_DATATYPE_NULL`.
    ///
    /// # Safety
    /// MPI has used the datatype in the call. That a call was accepted does not say so: MPI need not
    /// look at a datatype where the count is 0, where the other process is `MPI_PROC_NULL`, or
    /// where the argument is significant in other processes only. Asked about a wrong handle, MPI calls the
    /// application's error handler. [`Transfer::bytes`](crate::Transfer::bytes) knows all that
    /// and is safe.
    pub unsafe fn size(self, _: Accepted<'_>) -> u64 {
        // SAFETY: the caller's promise; the call is not over as long as there is its `Accepted`.
        unsafe { UsedDatatype::assume(self.raw) }.map_or(0, UsedDatatype::size)
    }
}

/// An argument that has no type of its own: can be looked at and passed on.
#[derive(Debug, Clone, Copy)]
pub struct Value<'c, T> {
    value: T,
    brand: Brand<'c>,
}

impl<T: Copy> Value<'_, T> {
    #[inline(always)]
    pub(super) const fn from_c(value: T) -> Self {
        Self { value, brand: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> T {
        self.value
    }

    /// C's value.
    #[inline(always)]
    pub const fn get(self) -> T {
        self.value
    }

    /// Another value than the application's.
    ///
    /// # Safety
    /// As MPI asks of the function that it is passed to.
    #[inline(always)]
    pub const unsafe fn new(value: T) -> Self {
        Self::from_c(value)
    }
}

/// Addresses of the application's variables.
macro_rules! addresses {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'c, T> {
            pointer: *mut T,
            brand: Brand<'c>,
        }

        impl<T: Copy> $name<'_, T> {
            #[inline(always)]
            pub(super) const fn from_c(pointer: *mut T) -> Self {
                Self { pointer, brand: PhantomData }
            }

            #[inline(always)]
            pub(super) const fn into_c(self) -> *mut T {
                self.pointer
            }

            /// C's pointer.
            #[inline(always)]
            pub const fn as_ptr(self) -> *mut T {
                self.pointer
            }
        }
    )*};
}

addresses! {
    /// Where a function puts a result.
    Out;
    /// Something of the application's that a function reads and changes: a handle.
    InOut;
}

impl<'c, T: Copy> Out<'c, T> {
    /// What MPI has put there.
    #[inline(always)]
    pub fn get(self, _: Accepted<'c>) -> T {
        // SAFETY: MPI has written it in this call.
        unsafe { *self.pointer }
    }
}

impl<T: Copy> InOut<'_, T> {
    /// What it is now; nothing, if the application has passed a null pointer.
    #[inline(always)]
    pub fn get(self) -> Option<T> {
        self.as_slice().first().copied()
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[T] {
        if self.pointer.is_null() {
            return &[];
        }
        // SAFETY: the application passes the address of a handle, or null, as it must; MPI reads it in
        // this call, too.
        unsafe { core::slice::from_raw_parts(self.pointer, 1) }
    }
}

/// Where a function puts a status, if the application does not ignore it.
#[derive(Debug, Clone, Copy)]
pub struct StatusMut<'s> {
    pointer: *mut MPI_Status,
    memory: PhantomData<&'s MPI_Status>,
}

impl<'s> StatusMut<'s> {
    #[inline(always)]
    pub(crate) const fn from_c(pointer: *mut MPI_Status) -> Self {
        Self { pointer, memory: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> *mut MPI_Status {
        self.pointer
    }

    /// A status of the layer's own.
    pub const fn new(status: &'s mut MPI_Status) -> Self {
        Self::from_c(status)
    }

    /// Is it `MPI_STATUS_IGNORE`?
    #[inline(always)]
    pub fn is_ignored(self) -> bool {
        self.pointer == MPI_STATUS_IGNORE
    }

    /// The status that MPI has set; nothing if it is ignored. In functions with a flag, only if that
    /// is true.
    #[inline(always)]
    pub fn get(self, _: Accepted<'_>) -> Option<&'s MPI_Status> {
        // SAFETY: not ignored, so MPI has set it; it is the application's or the layer's, and there.
        (!self.is_ignored()).then(|| unsafe { &*self.pointer.cast_const() })
    }
}

/// Where a function puts a status for each of its requests, if the application does not ignore them.
#[derive(Debug, Clone, Copy)]
pub struct StatusesMut<'c, 's> {
    pointer: *mut MPI_Status,
    memory: PhantomData<&'s MPI_Status>,
    brand: Brand<'c>,
}

impl StatusesMut<'_, '_> {
    #[inline(always)]
    pub(super) const fn from_c(pointer: *mut MPI_Status) -> Self {
        Self { pointer, memory: PhantomData, brand: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> *mut MPI_Status {
        self.pointer
    }

    /// Is it `MPI_STATUSES_IGNORE`?
    #[inline(always)]
    pub fn is_ignored(self) -> bool {
        self.pointer == MPI_STATUSES_IGNORE
    }

    /// C's pointer.
    pub const fn as_ptr(self) -> *mut MPI_Status {
        self.pointer
    }
}

macro_rules! requests {
    ($($(#[$doc:meta])* $name:ident: $pointer:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'c> {
            count: c_int,
            pointer: $pointer,
            brand: Brand<'c>,
        }

        impl $name<'_> {
            #[inline(always)]
            pub(super) const fn from_c(count: c_int, pointer: $pointer) -> Self {
                Self { count, pointer, brand: PhantomData }
            }

            #[inline(always)]
            pub(super) const fn into_c(self) -> (c_int, $pointer) {
                (self.count, self.pointer)
            }

            /// How many there are: none, if the application's number is negative or its array null.
            #[inline(always)]
            pub fn len(&self) -> usize {
                if self.pointer.is_null() { 0 } else { usize::try_from(self.count).unwrap_or(0) }
            }

            /// Are there none?
            #[inline(always)]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The requests as they are now; `None` where one is null.
            pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<MPI_Request>> + '_ {
                let some = |request: &MPI_Request| {
                    (*request != pmpi::MPI_REQUEST_NULL).then_some(*request)
                };
                self.as_slice().iter().map(some)
            }

            #[inline(always)]
            pub(super) fn as_slice(&self) -> &[MPI_Request] {
                if self.is_empty() {
                    return &[];
                }
                // SAFETY: the application passes an array of that length, as it must; MPI reads it in
                // this call, too.
                unsafe { core::slice::from_raw_parts(self.pointer, self.len()) }
            }
        }
    )*};
}

requests! {
    /// Requests that a function looks at.
    Requests: *const MPI_Request;
    /// Requests that a function starts or completes.
    RequestsMut: *mut MPI_Request;
}

/// Counts or displacements, one for each process or block, `int`s or `MPI_Count`s.
#[derive(Debug, Clone, Copy)]
pub struct Counts<'c>(pub(super) Array, PhantomData<&'c [MPI_Count]>);

#[derive(Debug, Clone, Copy)]
pub(super) enum Array {
    Int(*const c_int),
    Wide(*const MPI_Count),
}

impl Counts<'_> {
    #[inline(always)]
    pub(super) const fn int(pointer: *const c_int) -> Self {
        Self(Array::Int(pointer), PhantomData)
    }

    #[inline(always)]
    pub(super) const fn wide(pointer: *const MPI_Count) -> Self {
        Self(Array::Wide(pointer), PhantomData)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::call::Word;

    /// Any bits, those at the edges more often.
    fn word() -> impl Strategy<Value = u64> {
        let edge =
            prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(1 << 31), Just(u64::MAX >> 33)];
        prop_oneof![3 => any::<u64>(), 1 => edge]
    }

    proptest! {
        #[test]
        fn ranks_and_tags_say_what_they_are(raw: c_int) {
            for raw in [raw, raw % 8] {
                prop_assert_eq!(Rank::from_c(raw).into_c(), raw);
                prop_assert_eq!(Tag::from_c(raw).into_c(), raw);
                match Rank::new(raw).kind() {
                    RankKind::Rank(rank) => prop_assert_eq!(i64::from(rank), i64::from(raw)),
                    RankKind::AnySource => prop_assert_eq!(raw, MPI_ANY_SOURCE),
                    RankKind::ProcNull => prop_assert_eq!(raw, MPI_PROC_NULL),
                    RankKind::Root => prop_assert_eq!(raw, MPI_ROOT),
                    RankKind::Invalid(invalid) => prop_assert!(invalid == raw && raw < 0),
                }
                match Tag::new(raw).kind() {
                    TagKind::Tag(tag) => prop_assert_eq!(i64::from(tag), i64::from(raw)),
                    TagKind::Any => prop_assert_eq!(raw, MPI_ANY_TAG),
                    TagKind::Invalid(invalid) => prop_assert!(invalid == raw && raw < 0),
                }
            }
        }

        /// Nothing here is an address: what is made of it is not looked at.
        #[test]
        fn values_go_on_as_the_same_bits(words in [word(), word(), word(), word()]) {
            macro_rules! same {
                ($($name:ident: $raw:ty;)*) => {$(
                    let raw = <$raw>::from_word(words[0]);
                    prop_assert!($name::from_c(raw).into_c() == raw);
                )*};
            }
            same! {
                Communicator: MPI_Comm;
                Datatype: MPI_Datatype;
                Group: MPI_Group;
                Operation: MPI_Op;
                Window: MPI_Win;
                File: MPI_File;
                Session: MPI_Session;
                Info: MPI_Info;
                Errhandler: MPI_Errhandler;
                Request: MPI_Request;
                Value: MPI_Count;
                Value: c_int;
                Out: *mut MPI_Comm;
                InOut: *mut MPI_Request;
                StatusMut: *mut MPI_Status;
                StatusesMut: *mut MPI_Status;
            }
            let [address, count, datatype, displacement] = words;
            let read = <*const c_void>::from_word(address);
            let written = <*mut c_void>::from_word(address);
            let length = c_int::from_word(count);
            let count = MPI_Count::from_word(count);
            let datatype = MPI_Datatype::from_word(datatype);
            let buffer = TypeDynamicBufferRef::from_c(read, count, datatype);
            prop_assert!(buffer.into_c() == (read, count, datatype));
            let placed = match buffer.place() {
                Place::Memory(memory) => memory,
                Place::Bottom => core::ptr::null(),
                Place::InPlace => MPI_IN_PLACE.cast_const(),
            };
            prop_assert_eq!(placed, read);
            let buffer = TypeDynamicBufferMut::from_c(written, count, datatype);
            prop_assert!(buffer.into_c() == (written, count, datatype));
            let partitioned = PartitionedMut::from_c(written, length, count, datatype);
            prop_assert!(partitioned.into_c() == (written, length, count, datatype));
            let reduction = ReductionBuffers::from_c(read, written, count, datatype);
            prop_assert!(reduction.into_c() == (read, written, count, datatype));
            prop_assert!(reduction.send().into_c() == (read, count, datatype));
            prop_assert!(reduction.receive().into_c() == (written, count, datatype));
            let displacement = MPI_Aint::from_word(displacement);
            let target = Target::from_c(length, displacement, count, datatype);
            prop_assert!(target.into_c() == (length, displacement, count, datatype));

            let requests = <*mut MPI_Request>::from_word(address);
            let requests = RequestsMut::from_c(length, requests);
            prop_assert!(requests.into_c() == (length, <*mut MPI_Request>::from_word(address)));
            let some = length > 0 && address != 0;
            prop_assert_eq!(requests.len(), if some { length as usize } else { 0 });
            prop_assert_eq!(requests.is_empty(), !some);
            let wide = Counts::wide(<*const MPI_Count>::from_word(address));
            let narrow = Counts::int(<*const c_int>::from_word(address));
            prop_assert_eq!((wide.address(), narrow.address()), (address, address));
            prop_assert!(wide.is_wide() && !narrow.is_wide());
        }

        /// Handles that are there, and those where a null pointer says that there are none.
        #[test]
        fn handles_are_read_as_they_are(words in proptest::collection::vec(word(), 0..40)) {
            let mut handles: Vec<_> = words.iter().copied().map(MPI_Request::from_word).collect();
            let length = c_int::try_from(handles.len()).unwrap();
            let requests = RequestsMut::from_c(length, handles.as_mut_ptr());
            prop_assert!(requests.as_slice() == handles);
            let null = pmpi::MPI_REQUEST_NULL;
            let some = handles.iter().map(|&request| (request != null).then_some(request));
            prop_assert!(requests.iter().eq(some));
            if let Some(first) = handles.first_mut() {
                let value = *first;
                prop_assert!(InOut::from_c(&raw mut *first).get() == Some(value));
            }
            let nothing = InOut::from_c(core::ptr::null_mut::<MPI_Request>());
            prop_assert!(nothing.get().is_none() && nothing.as_slice().is_empty());
            prop_assert!(RequestsMut::from_c(length, core::ptr::null_mut()).as_slice().is_empty());
            prop_assert!(RequestsMut::from_c(-1 - length, handles.as_mut_ptr()).as_slice().is_empty());
        }

        #[test]
        fn only_what_fits_is_narrowed(wide: i64, narrow: i32) {
            for wide in [wide, i64::from(narrow), i64::from(narrow) << 1] {
                prop_assert_eq!(fits(wide, wide as i32), i32::try_from(wide).is_ok());
            }
            prop_assert_eq!(widen::<i64>(narrow), i64::from(narrow));
        }
    }
}
