use core::ffi::c_void;
use core::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use super::datatype::{DatatypeRef, ElementOf, same_values};
use super::error::{Error, ErrorClass, RmpiResult};
use super::runtime::Runtime;
use super::sys::{self, MPI_Count, MPI_Datatype};
use crate::{MpiDatatype, SendDatatype};

/// A buffer as C's three arguments.
#[derive(Debug, Clone, Copy)]
pub struct RawBuffer {
    /// Where it begins.
    pub pointer: *mut c_void,
    /// How many elements of the datatype it has.
    pub count: MPI_Count,
    /// The datatype.
    pub datatype: MPI_Datatype,
}

impl RawBuffer {
    /// How many values of a type its elements are, if they are of that type: if its datatype has the
    /// same values as theirs (`MPI_INT` has an `i32`'s), and it has no padding. Reads none of the buffer's memory.
    ///
    /// # Errors
    /// If MPI cannot make the datatype.
    pub fn length_as<T: MpiDatatype>(&self) -> RmpiResult<Option<usize>> {
        let element = ElementOf::<T>::get()?;
        let Ok(count) = usize::try_from(self.count) else { return Ok(None) };
        let per_value = element.per_value;
        // Padding is neither within the buffer for sure, nor may it be written to as bytes.
        if T::TYPE_MAP.size() != size_of::<T>() {
            return Ok(None);
        }
        if per_value == 0 || count % per_value != 0 || !same_values(element.datatype, self.datatype)
        {
            return Ok(None);
        }
        Ok(Some(count / per_value))
    }
}

/// What MPI may read: `&[T]`, `&T`, `&Vec<T>`, and their mutable kin; what owns its elements: `Vec<T>`,
/// `Box<[T]>`, `Box<T>`, `Arc` and `Rc` of a slice or a vector; of a [`SendDatatype`]; a `String`'s bytes;
/// [`TypeDynamicBufferRef`], [`Strided`](super::Strided), [`NullBuffer`]. With the feature `ndarray`, arrays and views
/// of that crate whose elements lie one after the other in their order.
///
/// Arrays count as their elements: `&[[f64; 3]]` of length 2 is six `MPI_DOUBLE`s.
///
/// # Safety
/// What `as_raw` gives is readable as that many elements of that datatype, all of whose data is initialised,
/// and is not written to, for as long as the value exists, also if it is leaked, wherever it moves meanwhile.
/// The datatype is committed, and freed only after that, or when MPI ends.
#[diagnostic::on_unimplemented(
    message = "MPI cannot send from `{Self}`",
    note = "what can be sent are slices, vectors and values, by reference, of types that are `SendDatatype`: `&buffer`",
    note = "where there is a block for each process, give a slice of such buffers, one for each: \
            `rmpi::split_blocks_ref(&all, &lengths)` makes one of a single vector",
    note = "if this is the tag, the scope is missing: what begins an operation (`isend`, `irecv`, `ibcast`, …) takes a \
            scope before the buffer: `rmpi::scope(|scope| right.isend(scope, &buffer, tag)?.wait())`"
)]
pub unsafe trait BufferRef {
    /// The buffer as C has it; for reading only.
    ///
    /// # Errors
    /// If MPI cannot make the datatype.
    fn as_raw(&self) -> RmpiResult<RawBuffer>;
}

/// What MPI may write to: `&mut [T]`, `&mut T`, `&mut Vec<T>` (its elements), `Vec<T>`, of an
/// [`MpiDatatype`]; [`TypeDynamicBufferMut`], [`StridedMut`](super::StridedMut), [`NullBuffer`]. With the feature
/// `ndarray`, as [`BufferRef`].
///
/// # Safety
/// What `as_raw_mut` gives is writable, with any bits, as that many elements of that datatype for as long as
/// the value exists, also if it is leaked, wherever it moves meanwhile, and nobody else has access. The
/// datatype is committed, and freed only after that, or when MPI ends.
#[diagnostic::on_unimplemented(
    message = "MPI cannot receive into `{Self}`",
    note = "what can be received into are slices, vectors and values, by mutable reference, of types \
            that are `MpiDatatype`: `&mut buffer` (a buffer without `&mut` is dropped with what came). They are valid \
            whatever bits arrive, which `bool`, `char` and enums are not: receive into an `rmpi::CBool`, a `u32` or the \
            enum's integer",
    note = "where there is a block for each process, give a slice of such buffers, one for each: \
            `rmpi::split_blocks(&mut all, &lengths)` makes one of a single vector",
    note = "if this is the tag, the scope is missing: what begins an operation (`isend`, `irecv`, `ibcast`, …) takes a \
            scope before the buffer: `rmpi::scope(|scope| left.irecv(scope, &mut buffer, tag)?.wait())`"
)]
pub unsafe trait BufferMut: BufferRef {
    /// The buffer as C has it.
    ///
    /// # Errors
    /// If MPI cannot make the datatype.
    fn as_raw_mut(&mut self) -> RmpiResult<RawBuffer>;
}

/// A buffer whose elements have a static type, for what needs to know it: blocks per rank,
/// reductions.
///
/// # Safety
/// `as_elements` gives a pointer that is aligned and not null, and how many values of `Element` lie there.
/// `as_raw`, and `as_raw_mut` if it is a [`BufferMut`], give this memory, as elements of what `Element`'s type
/// map says.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no buffer: needed is a buffer of elements of one type, or a slice of such buffers, one for each \
               process",
    label = "a buffer is needed here, or a slice of buffers",
    note = "where there is a block for each process, give a slice of buffers, one for each, such as a \
            `Vec<Vec<f64>>`. A single vector becomes one by `rmpi::split_blocks(&mut all, &lengths)` to receive \
            into, and by `rmpi::split_blocks_ref(&all, &lengths)` to send. If all lengths are the same, \
            `allgather`, `alltoall`, `gather` and `scatter` take the vector as it is. If the lengths of what comes are \
            not known, `allgatherv_vec`, `gatherv_vec` and `alltoallv_flat` find them out",
    note = "otherwise give a slice, a vector or a value by reference, of a type that is `SendDatatype`"
)]
pub unsafe trait TypedBuffer: BufferRef {
    /// The type of the elements.
    type Element: SendDatatype;
    /// Where the elements are, and how many.
    fn as_elements(&self) -> (*const Self::Element, usize);
}

#[inline]
fn raw<T: SendDatatype>(pointer: *const T, length: usize) -> RmpiResult<RawBuffer> {
    let element = ElementOf::<T>::get()?;
    // Elements that lie in memory are not so many; those of size 0 can be.
    let count = length.checked_mul(element.per_value).and_then(|count| count.try_into().ok());
    let Some(count) = count else {
        return Err(Error::refused(ErrorClass::COUNT, "more elements than MPI counts"));
    };
    Ok(RawBuffer { pointer: pointer.cast_mut().cast(), count, datatype: element.datatype })
}

macro_rules! buffers {
    ($([$($generics:tt)*] $type:ty, $self:ident => $pointer:expr, $length:expr;)*) => {$(
        // SAFETY: a slice's elements or one value, as many as `raw` counts, initialised as far as the type map
        // goes. They are borrowed, or on the heap, where they stay when the value moves. Nobody writes to them
        // meanwhile: a share of an `Rc` or `Arc` keeps others from mutable access. The datatype lives as long
        // as MPI runs.
        unsafe impl<$($generics)* T: SendDatatype> BufferRef for $type {
            #[inline]
            fn as_raw(&self) -> RmpiResult<RawBuffer> {
                let $self = self;
                raw::<T>($pointer, $length)
            }
        }

        // SAFETY: pointer and length are a slice's, or a reference's and 1, as in `as_raw` above and in
        // `as_raw_mut` below: not null, aligned, and of values of `T`.
        unsafe impl<$($generics)* T: SendDatatype> TypedBuffer for $type {
            type Element = T;
            #[inline]
            fn as_elements(&self) -> (*const T, usize) {
                let $self = self;
                ($pointer, $length)
            }
        }
    )*};
}

buffers! {
    ['b,] &'b [T], it => it.as_ptr(), it.len();
    ['b,] &'b T, it => core::ptr::from_ref::<T>(it), 1;
    ['b,] &'b Vec<T>, it => it.as_ptr(), it.len();
    ['b,] &'b mut [T], it => it.as_ptr(), it.len();
    ['b,] &'b mut T, it => core::ptr::from_ref::<T>(it), 1;
    ['b,] &'b mut Vec<T>, it => it.as_ptr(), it.len();
    [] Vec<T>, it => it.as_ptr(), it.len();
    [] Box<[T]>, it => it.as_ptr(), it.len();
    [] Box<T>, it => core::ptr::from_ref::<T>(it), 1;
    [] Rc<[T]>, it => it.as_ptr(), it.len();
    [] Rc<Vec<T>>, it => it.as_ptr(), it.len();
    [] Arc<[T]>, it => it.as_ptr(), it.len();
    [] Arc<Vec<T>>, it => it.as_ptr(), it.len();
}

// SAFETY: its bytes, which are initialised. They lie on the heap, where they stay when the value moves, and
// nobody writes to them while the value is here.
unsafe impl BufferRef for String {
    #[inline]
    fn as_raw(&self) -> RmpiResult<RawBuffer> {
        self.as_bytes().as_raw()
    }
}

macro_rules! buffers_mut {
    ($([$($generics:tt)*] $type:ty, $self:ident => $pointer:expr, $length:expr;)*) => {$(
        // SAFETY: a slice's elements or one value, which only this value has access to, since it owns them or
        // borrows them mutably. They stay where they are when the value moves, and any bits are a `T`.
        unsafe impl<$($generics)* T: MpiDatatype> BufferMut for $type {
            #[inline]
            fn as_raw_mut(&mut self) -> RmpiResult<RawBuffer> {
                let $self = self;
                let (pointer, length): (*mut T, usize) = ($pointer, $length);
                raw::<T>(pointer, length)
            }
        }
    )*};
}

buffers_mut! {
    ['b,] &'b mut [T], it => it.as_mut_ptr(), it.len();
    ['b,] &'b mut T, it => core::ptr::from_mut::<T>(it), 1;
    ['b,] &'b mut Vec<T>, it => it.as_mut_ptr(), it.len();
    [] Vec<T>, it => it.as_mut_ptr(), it.len();
    [] Box<[T]>, it => it.as_mut_ptr(), it.len();
    [] Box<T>, it => core::ptr::from_mut::<T>(it), 1;
}

/// No buffer: null, of length 0.
#[derive(Debug, Clone, Copy)]
pub struct NullBuffer;

// SAFETY: there are no elements to be readable; the datatype is predefined.
unsafe impl BufferRef for NullBuffer {
    fn as_raw(&self) -> RmpiResult<RawBuffer> {
        Ok(RawBuffer { pointer: core::ptr::null_mut(), count: 0, datatype: sys::MPI_BYTE })
    }
}

// SAFETY: there are no elements to be writable; the datatype is predefined.
unsafe impl BufferMut for NullBuffer {
    fn as_raw_mut(&mut self) -> RmpiResult<RawBuffer> {
        self.as_raw()
    }
}

/// A buffer whose datatype is known only as the program runs; for reading.
///
/// ```no_run
/// use rmpi::TypeDynamicBufferRef;
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let numbers = [1.0_f64, 2.0];
/// let buffer = TypeDynamicBufferRef::from_slice(&numbers, world)?;
/// assert_eq!(buffer.as_slice::<f64>()?, Some(&numbers[..]));
/// assert_eq!(buffer.as_slice::<i64>()?, None);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TypeDynamicBufferRef<'b> {
    raw: RawBuffer,
    _borrow: PhantomData<&'b [u8]>,
}

/// A buffer whose datatype is known only as the program runs; for writing.
#[derive(Debug)]
pub struct TypeDynamicBufferMut<'b> {
    raw: RawBuffer,
    _borrow: PhantomData<&'b mut [u8]>,
}

impl<'b> TypeDynamicBufferRef<'b> {
    /// A slice's elements.
    ///
    /// # Errors
    /// If MPI cannot make the datatype.
    pub fn from_slice<T: SendDatatype>(
        slice: &'b [T],
        runtime: &'b impl Runtime,
    ) -> RmpiResult<Self> {
        // The datatype is as long as MPI runs.
        let _ = runtime;
        Ok(Self { raw: slice.as_raw()?, _borrow: PhantomData })
    }

    /// Bytes as `count` elements of a datatype.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if so many elements do not lie within the bytes.
    pub fn from_bytes(
        bytes: &'b [u8],
        count: usize,
        datatype: DatatypeRef<'b>,
    ) -> RmpiResult<Self> {
        within(bytes.len(), count, datatype)?;
        let pointer = bytes.as_ptr().cast_mut().cast();
        let raw = RawBuffer { pointer, count: count as MPI_Count, datatype: datatype.into_raw() };
        Ok(Self { raw, _borrow: PhantomData })
    }

    /// What C passes.
    ///
    /// # Safety
    /// The memory is readable as [`BufferRef`] asks, and the datatype is committed and not freed, for `'b`.
    pub const unsafe fn from_raw(raw: RawBuffer) -> Self {
        Self { raw, _borrow: PhantomData }
    }

    /// C's arguments.
    pub const fn into_raw(self) -> RawBuffer {
        self.raw
    }

    /// How many elements of its datatype it has.
    pub const fn count(&self) -> MPI_Count {
        self.raw.count
    }

    /// Its datatype.
    pub const fn datatype(&self) -> DatatypeRef<'b> {
        // SAFETY: `from_raw` asks for a datatype that is not freed in `'b`: the buffer has one of a Rust type
        // while the runtime is borrowed, a `DatatypeRef`'s for `'b`, or one of which its maker promised it.
        unsafe { DatatypeRef::from_raw(self.raw.datatype) }
    }

    /// The same buffer for a shorter time.
    pub const fn reborrow(&self) -> TypeDynamicBufferRef<'_> {
        TypeDynamicBufferRef { raw: self.raw, _borrow: PhantomData }
    }

    /// The elements, if they are of this type: if its datatype has the same values as the buffer's
    /// (`MPI_INT` has an `i32`'s), and it has no padding.
    ///
    /// # Errors
    /// If MPI cannot make the datatype.
    pub fn as_slice<T: MpiDatatype>(&self) -> RmpiResult<Option<&[T]>> {
        Ok(slice_of::<T>(&self.raw)?.map(|(pointer, length)| {
            // SAFETY: `from_raw_parts` asks for so many values, aligned and not null, to which nobody writes
            // while the slice lives. `slice_of` has checked that the elements are such values and where they
            // lie; they are readable for `'b`, which outlives the borrow of `self`.
            unsafe { core::slice::from_raw_parts(pointer, length) }
        }))
    }
}

impl<'b> TypeDynamicBufferMut<'b> {
    /// A slice's elements.
    ///
    /// # Errors
    /// If MPI cannot make the datatype.
    pub fn from_slice<T: MpiDatatype>(
        mut slice: &'b mut [T],
        runtime: &'b impl Runtime,
    ) -> RmpiResult<Self> {
        let _ = runtime;
        Ok(Self { raw: slice.as_raw_mut()?, _borrow: PhantomData })
    }

    /// Bytes as `count` elements of a datatype.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if so many elements do not lie within the bytes.
    pub fn from_bytes(
        bytes: &'b mut [u8],
        count: usize,
        datatype: DatatypeRef<'b>,
    ) -> RmpiResult<Self> {
        within(bytes.len(), count, datatype)?;
        let pointer = bytes.as_mut_ptr().cast();
        let raw = RawBuffer { pointer, count: count as MPI_Count, datatype: datatype.into_raw() };
        Ok(Self { raw, _borrow: PhantomData })
    }

    /// What C passes.
    ///
    /// # Safety
    /// The memory is writable as [`BufferMut`] asks, and the datatype is committed and not freed, for `'b`. The
    /// memory's data is initialised before anything reads it: the buffer as a [`BufferRef`], or its slices.
    pub const unsafe fn from_raw(raw: RawBuffer) -> Self {
        Self { raw, _borrow: PhantomData }
    }

    /// C's arguments.
    pub const fn into_raw(self) -> RawBuffer {
        self.raw
    }

    /// How many elements of its datatype it has.
    pub const fn count(&self) -> MPI_Count {
        self.raw.count
    }

    /// Its datatype.
    pub const fn datatype(&self) -> DatatypeRef<'b> {
        // SAFETY: `from_raw` asks for a datatype that is not freed in `'b`: the buffer has one of a Rust type
        // while the runtime is borrowed, a `DatatypeRef`'s for `'b`, or one of which its maker promised it.
        unsafe { DatatypeRef::from_raw(self.raw.datatype) }
    }

    /// The same buffer for a shorter time.
    pub const fn reborrow(&mut self) -> TypeDynamicBufferMut<'_> {
        TypeDynamicBufferMut { raw: self.raw, _borrow: PhantomData }
    }

    /// The same buffer, for reading.
    pub const fn as_ref(&self) -> TypeDynamicBufferRef<'_> {
        TypeDynamicBufferRef { raw: self.raw, _borrow: PhantomData }
    }

    /// The elements, if they are of this type: if its datatype has the same values as the buffer's
    /// (`MPI_INT` has an `i32`'s), and it has no padding.
    ///
    /// # Errors
    /// If MPI cannot make the datatype.
    pub fn as_slice<T: MpiDatatype>(&self) -> RmpiResult<Option<&[T]>> {
        Ok(slice_of::<T>(&self.raw)?.map(|(pointer, length)| {
            // SAFETY: `from_raw_parts` asks for so many values, aligned and not null, to which nobody writes
            // while the slice lives. `slice_of` has checked that the elements are such values and where they
            // lie; nobody but this buffer has access, and `self` is borrowed.
            unsafe { core::slice::from_raw_parts(pointer, length) }
        }))
    }

    /// The elements, if they are of this type: if its datatype has the same values as the buffer's
    /// (`MPI_INT` has an `i32`'s), and it has no padding.
    ///
    /// # Errors
    /// If MPI cannot make the datatype.
    pub fn as_mut_slice<T: MpiDatatype>(&mut self) -> RmpiResult<Option<&mut [T]>> {
        Ok(slice_of::<T>(&self.raw)?.map(|(pointer, length)| {
            // SAFETY: `from_raw_parts_mut` asks for so many values, aligned and not null, that nobody else uses
            // while the slice lives. `slice_of` has checked that the elements are such values and where they
            // lie; nobody but this buffer has access, and `self` is borrowed mutably.
            unsafe { core::slice::from_raw_parts_mut(pointer, length) }
        }))
    }
}

/// Where the elements are and how many, if the buffer's are of this type.
fn slice_of<T: MpiDatatype>(buffer: &RawBuffer) -> RmpiResult<Option<(*mut T, usize)>> {
    let Some(length) = buffer.length_as::<T>()? else { return Ok(None) };
    let pointer: *mut T = buffer.pointer.cast();
    if length == 0 {
        return Ok(Some((core::ptr::NonNull::dangling().as_ptr(), 0)));
    }
    Ok((!pointer.is_null() && pointer.is_aligned()).then_some((pointer, length)))
}

/// Do so many elements lie within so many bytes?
fn within(bytes: usize, count: usize, datatype: DatatypeRef<'_>) -> RmpiResult {
    if count == 0 {
        return Ok(());
    }
    if datatype.known_layout()?.end_of(count).is_none_or(|end| end > bytes) {
        return Err(Error::refused(
            ErrorClass::COUNT,
            "so many elements of the datatype do not lie within the buffer",
        ));
    }
    Ok(())
}

// SAFETY: the memory and the datatype are what `from_raw`'s caller promised for `'b`, or a slice's, or bytes in
// which `within` found the elements to lie; `'b` borrows them.
unsafe impl BufferRef for TypeDynamicBufferRef<'_> {
    #[inline]
    fn as_raw(&self) -> RmpiResult<RawBuffer> {
        Ok(self.raw)
    }
}

// SAFETY: the memory and the datatype are what `from_raw`'s caller promised for `'b`, or a slice's, or bytes in
// which `within` found the elements to lie; `'b` borrows them.
unsafe impl BufferRef for TypeDynamicBufferMut<'_> {
    #[inline]
    fn as_raw(&self) -> RmpiResult<RawBuffer> {
        Ok(self.raw)
    }
}

// SAFETY: the memory and the datatype are what `from_raw`'s caller promised for `'b`, or a slice's, or bytes in
// which `within` found the elements to lie; `'b` borrows them mutably, and any bits may be written.
unsafe impl BufferMut for TypeDynamicBufferMut<'_> {
    #[inline]
    fn as_raw_mut(&mut self) -> RmpiResult<RawBuffer> {
        Ok(self.raw)
    }
}
