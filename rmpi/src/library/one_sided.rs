use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::mem::needs_drop;
use core::ops::Range;
use core::ptr;

use tool_macros::wraps;

use super::buffer::{
    BufferMut, BufferRef, ElementOf, RawBuffer, TypeDynamicBufferMut, TypeDynamicBufferRef,
    TypedBuffer,
};
use super::context::Runtime;
use super::datatype::DatatypeRef;
use super::derived::{Datatype, no_padding};
use super::epoch::{AccessesPassively, Ending, Epoch};
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::operation::{MpiOp, Reduction};
use super::request::{Request, Scope};
use super::strided::{self, Strided, StridedMut};
use super::sys::{self, MPI_Aint, MPI_Count, MPI_Datatype};
use super::window::Exposed;
use crate::MpiDatatype;

/// Values of `T` of this process that an operation reads: `&[T]`, `&[T; N]`, `&T`, `&Vec<T>`, and their
/// mutable kin; `&`[`Strided`]`<T>`; [`TypeDynamicBufferRef`]; [`Exposed`], this process's own part of a
/// window. To begin a request with, also `Vec<T>` and `Box<[T]>`.
///
/// # Safety
/// `as_origin` gives memory that is readable as that many elements of that datatype, all of whose data is
/// initialised; they are as much data as so many values of `T`. It is so as long as the value exists, wherever
/// the value moves meanwhile; if that has no drop, for all of its lifetime. The datatype is committed, and not
/// freed as long.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no origin of `{T}`s",
    note = "one-sided operations take elements of the window's type: slices and values by reference"
)]
pub unsafe trait Origin<T> {
    /// The values as C has them.
    ///
    /// # Errors
    /// If MPI cannot make the datatype; if they are no whole values of `T`.
    fn as_origin(&self) -> RmpiResult<(RawBuffer, usize)>;
}

/// Values of `T` of this process that an operation writes to: `&mut [T]`, `&mut [T; N]`, `&mut T`,
/// `&mut Vec<T>`, `&mut `[`StridedMut`]`<T>`, [`TypeDynamicBufferMut`], [`Exposed`].
///
/// # Safety
/// As for [`Origin`], but the memory is writable, with any bits. There are no references to it, and only MPI,
/// and other processes where it is a window's, access it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing to get `{T}`s into",
    note = "one-sided operations take elements of the window's type: slices and values by mutable reference"
)]
pub unsafe trait OriginMut<T> {
    /// The values as C has them.
    ///
    /// # Errors
    /// As [`Origin::as_origin`].
    fn as_origin_mut(&mut self) -> RmpiResult<(RawBuffer, usize)>;
}

/// Origins whose elements are for sure those of `T`: for what computes with them.
pub trait TypedOrigin<T>: Origin<T> {}
/// As [`TypedOrigin`], for writing.
pub trait TypedOriginMut<T>: OriginMut<T> {}

/// What buffers of values of `T` are, and arrays of them by reference.
macro_rules! origins {
    ($([$($generics:tt)*] $type:ty, $self:ident => $buffer:expr;)*) => {$(
        // SAFETY: the memory and the datatype are what `BufferRef` promises, and `TypedBuffer` how many values
        // of `T` they are. What has no drop is a reference, whose memory is borrowed for its lifetime.
        unsafe impl<$($generics)* T: MpiDatatype> Origin<T> for $type {
            #[inline]
            fn as_origin(&self) -> RmpiResult<(RawBuffer, usize)> {
                let $self = self;
                let buffer = $buffer;
                Ok((buffer.as_raw()?, buffer.as_elements().1))
            }
        }
        impl<$($generics)* T: MpiDatatype> TypedOrigin<T> for $type {}
    )*};
}

origins! {
    ['b,] &'b [T], it => it;
    ['b,] &'b T, it => it;
    ['b,] &'b Vec<T>, it => it;
    ['b, const N: usize,] &'b [T; N], it => it.as_slice();
    ['b,] &'b mut [T], it => it;
    ['b,] &'b mut T, it => it;
    ['b,] &'b mut Vec<T>, it => it;
    ['b, const N: usize,] &'b mut [T; N], it => it.as_slice();
    [] Vec<T>, it => it;
    [] Box<[T]>, it => it;
    [] Box<T>, it => it;
}

macro_rules! origins_mut {
    ($([$($generics:tt)*] $type:ty, $self:ident => $buffer:expr;)*) => {$(
        // SAFETY: the memory is what `BufferMut` promises, writable and nobody else's, and `TypedBuffer` says
        // how many values of `T` it has. What has no drop is a reference, whose memory is borrowed for its
        // lifetime.
        unsafe impl<$($generics)* T: MpiDatatype> OriginMut<T> for $type {
            #[inline]
            fn as_origin_mut(&mut self) -> RmpiResult<(RawBuffer, usize)> {
                let $self = self;
                #[allow(unused_mut, reason = "some are references to references")]
                let mut buffer = $buffer;
                let values = buffer.as_elements().1;
                Ok((buffer.as_raw_mut()?, values))
            }
        }
        impl<$($generics)* T: MpiDatatype> TypedOriginMut<T> for $type {}
    )*};
}

origins_mut! {
    ['b,] &'b mut [T], it => it;
    ['b,] &'b mut T, it => it;
    ['b,] &'b mut Vec<T>, it => it;
    ['b, const N: usize,] &'b mut [T; N], it => it.as_mut_slice();
    [] Vec<T>, it => it;
    [] Box<[T]>, it => it;
    [] Box<T>, it => it;
}

// SAFETY: the memory is what `BufferRef` promises of strided blocks, which have `values` values. Slice and
// datatype are borrowed as long as the reference lives.
unsafe impl<T: MpiDatatype> Origin<T> for &Strided<'_, T> {
    fn as_origin(&self) -> RmpiResult<(RawBuffer, usize)> {
        Ok((self.as_raw()?, self.values))
    }
}
impl<T: MpiDatatype> TypedOrigin<T> for &Strided<'_, T> {}

// SAFETY: the memory is what `BufferMut` promises of strided blocks, which have `values` values. Slice and
// datatype are borrowed mutably as long as the reference lives.
unsafe impl<T: MpiDatatype> OriginMut<T> for &mut StridedMut<'_, T> {
    fn as_origin_mut(&mut self) -> RmpiResult<(RawBuffer, usize)> {
        let values = self.values;
        Ok((self.as_raw_mut()?, values))
    }
}
impl<T: MpiDatatype> TypedOriginMut<T> for &mut StridedMut<'_, T> {}

// SAFETY: `length` elements of a window's memory, which are initialised, and which the lifetime's borrow of the
// window keeps. There are no references to them, so that MPI may read what others write meanwhile.
unsafe impl<T: MpiDatatype> Origin<T> for Exposed<'_, T> {
    #[inline]
    fn as_origin(&self) -> RmpiResult<(RawBuffer, usize)> {
        Ok((contiguous::<T>(self.memory.cast(), self.length)?, self.length))
    }
}
impl<T: MpiDatatype> TypedOrigin<T> for Exposed<'_, T> {}

// SAFETY: `length` elements of a window's memory, which the lifetime's borrow of the window keeps; there are no
// references to them, and any bits are values.
unsafe impl<T: MpiDatatype> OriginMut<T> for Exposed<'_, T> {
    #[inline]
    fn as_origin_mut(&mut self) -> RmpiResult<(RawBuffer, usize)> {
        self.as_origin()
    }
}
impl<T: MpiDatatype> TypedOriginMut<T> for Exposed<'_, T> {}

// SAFETY: the memory and the datatype are what the buffer's maker promised for its lifetime; `values_in` says
// how many values of `T` are as much data. It has no drop.
unsafe impl<T: MpiDatatype> Origin<T> for TypeDynamicBufferRef<'_> {
    fn as_origin(&self) -> RmpiResult<(RawBuffer, usize)> {
        let raw = self.as_raw()?;
        Ok((raw, values_in::<T>(&raw)?))
    }
}

// SAFETY: the memory and the datatype are what the buffer's maker promised for its lifetime, writable and
// nobody else's; `values_in` says how many values of `T` are as much data. It has no drop.
unsafe impl<T: MpiDatatype> OriginMut<T> for TypeDynamicBufferMut<'_> {
    fn as_origin_mut(&mut self) -> RmpiResult<(RawBuffer, usize)> {
        let raw = self.as_raw_mut()?;
        Ok((raw, values_in::<T>(&raw)?))
    }
}

#[inline]
fn contiguous<T: MpiDatatype>(pointer: *mut c_void, values: usize) -> RmpiResult<RawBuffer> {
    let element = ElementOf::<T>::get()?;
    let count = values.checked_mul(element.per_value).and_then(|count| count.try_into().ok());
    let count = count.ok_or(Error::refused(ErrorClass::COUNT, "more elements than MPI counts"))?;
    Ok(RawBuffer { pointer, count, datatype: element.datatype })
}

/// How many values of `T` are as much data.
fn values_in<T: MpiDatatype>(raw: &RawBuffer) -> RmpiResult<usize> {
    // SAFETY: `MPI_Type_size_x` asks for a datatype, which the callers have of a buffer or a `DatatypeRef`. It
    // writes a number to what `output` lends.
    let size = output(0, |size| unsafe { sys::MPI_Type_size_x(raw.datatype, size) })?;
    let bytes = size.checked_mul(raw.count).and_then(|bytes| usize::try_from(bytes).ok());
    let one = T::TYPE_MAP.size();
    match bytes {
        Some(0) => Ok(0),
        Some(bytes) if one > 0 && bytes % one == 0 => Ok(bytes / one),
        _ => Err(Error::refused(ErrorClass::COUNT, "no whole values of the window's type")),
    }
}

/// Refuses an origin that shares memory with the result: of a window's memory there may be several [`Exposed`].
/// Borrowed memory is within no other buffer's.
fn disjoint<T>(origin: &RawBuffer, result: &RawBuffer, values: usize) -> RmpiResult {
    let bytes = values.saturating_mul(size_of::<T>());
    if origin.count > 0 && origin.pointer.addr().abs_diff(result.pointer.addr()) < bytes {
        return Err(Error::refused(ErrorClass::BUFFER, "origin and result share memory"));
    }
    Ok(())
}

/// Where some values lie in a process's memory, from a displacement on, if not one after the other:
/// `(displacement, &TargetLayout)` is a [`Place`].
///
/// ```no_run
/// use rmpi::{Assertion, TargetLayout};
/// # fn example(
/// #     context: &rmpi::RmpiContext,
/// #     mut window: rmpi::Window<'_, f64, rmpi::Active>,
/// # ) -> rmpi::RmpiResult {
/// // Column 2 of the matrix of 10 rows and 20 columns that each process has.
/// let column = TargetLayout::strided(context, 10, 1, 20)?;
/// window.fence(Assertion::NONE, |epoch| epoch.process(0).put(&[1.0; 10], (2, &column)))
/// # }
/// ```
#[derive(Debug)]
pub struct TargetLayout<'d, T> {
    datatype: Kept<'d>,
    count: MPI_Count,
    /// So many elements lie between the displacement and the end of the last value.
    span: usize,
    values: usize,
    typed: bool,
    _type: PhantomData<T>,
}

#[derive(Debug)]
enum Kept<'d> {
    Own(Datatype<'d>),
    Borrowed(DatatypeRef<'d>),
}

impl<'d, T: MpiDatatype> TargetLayout<'d, T> {
    /// `count` blocks of `blocklength` values; from the start of one to that of the next are `stride`.
    /// C: `MPI_Type_vector` and `MPI_Type_commit`. Local.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if blocks overlap, [`COUNT`](ErrorClass::COUNT) if they are too far
    /// apart; what MPI says.
    pub fn strided(
        runtime: &'d impl Runtime,
        count: usize,
        blocklength: usize,
        stride: usize,
    ) -> RmpiResult<Self> {
        if stride < blocklength {
            return Err(Error::refused(ErrorClass::ARG, "the blocks overlap"));
        }
        let large = Error::refused(ErrorClass::COUNT, "the layout is too large");
        let last = count.saturating_sub(1).checked_mul(stride).ok_or(large)?;
        let span = if count == 0 { 0 } else { last.checked_add(blocklength).ok_or(large)? };
        let datatype = strided::vector::<T>(runtime, span, count, blocklength, stride)?;
        let values = count.checked_mul(blocklength).ok_or(large)?;
        let datatype = Kept::Own(datatype);
        Ok(Self { datatype, count: 1, span, values, typed: true, _type: PhantomData })
    }

    /// `count` elements of a datatype, of which none lies before the displacement. Local. C, where rmpi did not
    /// make the datatype: `MPI_Type_size_x`, `MPI_Type_get_extent_x` and `MPI_Type_get_true_extent_x`.
    ///
    /// # Errors
    /// [`TYPE`](ErrorClass::TYPE) if `T` has padding, which the datatype might name;
    /// [`ARG`](ErrorClass::ARG) if an element has data before its displacement,
    /// [`COUNT`](ErrorClass::COUNT) if its data is no whole values of `T`; what MPI says.
    pub fn of(datatype: DatatypeRef<'d>, count: usize) -> RmpiResult<Self> {
        no_padding::<T>()?;
        let large = Error::refused(ErrorClass::COUNT, "the layout is too large");
        let elements = count;
        let count = MPI_Count::try_from(count).map_err(|_| large)?;
        let raw = RawBuffer { pointer: ptr::null_mut(), count, datatype: datatype.into_raw() };
        let values = values_in::<T>(&raw)?;
        let end = datatype.known_layout()?.end_of(elements).ok_or(Error::refused(
            ErrorClass::ARG,
            "the datatype reaches before its start, or too far",
        ))?;
        let span = end.div_ceil(size_of::<T>().max(1));
        let datatype = Kept::Borrowed(datatype);
        Ok(Self { datatype, count, span, values, typed: false, _type: PhantomData })
    }

    /// How many values it has.
    pub const fn values(&self) -> usize {
        self.values
    }

    fn datatype(&self) -> MPI_Datatype {
        match &self.datatype {
            Kept::Own(datatype) => datatype.as_raw(),
            Kept::Borrowed(datatype) => datatype.into_raw(),
        }
    }
}

/// Where in a process's memory an operation reads or writes, in elements: a displacement, from which
/// on as many lie as the origin has; a range of just as many; or `(displacement, &`[`TargetLayout`]`)`.
pub trait Place<T>: sealed::Place<T> {}
impl<T: MpiDatatype> Place<T> for usize {}
impl<T: MpiDatatype> Place<T> for Range<usize> {}
impl<T: MpiDatatype> Place<T> for (usize, &TargetLayout<'_, T>) {}

mod sealed {
    use super::{MPI_Count, MPI_Datatype, RmpiResult};

    /// A place, and what C has of it but the displacement.
    #[derive(Clone, Copy)]
    pub struct Extent {
        pub start: usize,
        pub span: usize,
        pub count: MPI_Count,
        pub datatype: MPI_Datatype,
        pub typed: bool,
    }

    pub trait Place<T> {
        fn extent(self, values: usize) -> RmpiResult<Extent>;
    }
}
use sealed::Extent;

fn another_count() -> Error {
    Error::refused(ErrorClass::COUNT, "the place has another number of values than the origin")
}

impl<T: MpiDatatype> sealed::Place<T> for usize {
    #[inline]
    fn extent(self, values: usize) -> RmpiResult<Extent> {
        let RawBuffer { count, datatype, .. } = contiguous::<T>(ptr::null_mut(), values)?;
        Ok(Extent { start: self, span: values, count, datatype, typed: true })
    }
}

impl<T: MpiDatatype> sealed::Place<T> for Range<usize> {
    #[inline]
    fn extent(self, values: usize) -> RmpiResult<Extent> {
        if self.len() != values {
            return Err(another_count());
        }
        sealed::Place::<T>::extent(self.start, values)
    }
}

impl<T: MpiDatatype> sealed::Place<T> for (usize, &TargetLayout<'_, T>) {
    fn extent(self, values: usize) -> RmpiResult<Extent> {
        let (start, layout) = self;
        if layout.values != values {
            return Err(another_count());
        }
        let TargetLayout { span, count, typed, .. } = *layout;
        Ok(Extent { start, span, count, datatype: layout.datatype(), typed })
    }
}

/// The memory of one process in an [`Epoch`], to read and write: of `T`s.
///
/// The operations do not block, and are complete when the epoch ends, or a
/// [`flush`](Epoch::flush) after them; buffers are borrowed until then. In the same epoch, operations
/// on the same elements are in no order, but accumulates of the same operation. The origin must not
/// overlap the place, where it is a process's [own](Epoch::own) part of the window.
#[derive(Debug)]
pub struct Target<'e, 'env, T, K> {
    scope: &'e Scope<'e, 'env>,
    ending: &'e Ending,
    rank: c_int,
    /// Where its memory begins, in what displacements count.
    base: MPI_Aint,
    /// How much displacements count an element.
    unit: MPI_Aint,
    /// How many elements it has; none if there is no such process.
    length: Option<usize>,
    _kind: PhantomData<(*mut T, K)>,
}

/// C's arguments of a place.
struct At {
    displacement: MPI_Aint,
    count: MPI_Count,
    datatype: MPI_Datatype,
}

impl<'e, 'env, T, K> Target<'e, 'env, T, K> {
    #[inline]
    pub(super) fn new<U>(epoch: &'e Epoch<'e, 'env, U, K>, rank: usize) -> Self {
        let Epoch { scope, ending, core, .. } = epoch;
        let length = core.lengths.get(rank).copied().filter(|_| epoch.accesses(rank));
        let (base, unit) = core.origin(rank, size_of::<T>());
        let rank = rank as c_int;
        Self { scope, ending, rank, base, unit, length, _kind: PhantomData }
    }

    pub(super) fn null(epoch: &'e Epoch<'e, 'env, T, K>) -> Self {
        let Epoch { scope, ending, .. } = epoch;
        let (rank, length) = (sys::MPI_PROC_NULL, Some(usize::MAX));
        Self { scope, ending, rank, base: 0, unit: 1, length, _kind: PhantomData }
    }

    pub(super) fn attached<U>(
        epoch: &'e Epoch<'e, 'env, U, K>,
        rank: usize,
        base: MPI_Aint,
        length: usize,
    ) -> Self {
        let Epoch { scope, ending, .. } = epoch;
        let (rank, length, unit) = (rank as c_int, Some(length), size_of::<T>() as MPI_Aint);
        Self { scope, ending, rank, base, unit, length, _kind: PhantomData }
    }

    /// How many elements it has; `None` if there is no such process.
    pub const fn length(&self) -> Option<usize> {
        self.length
    }

    /// The place, if it lies within the process's memory.
    #[inline]
    fn at(&self, extent: Extent) -> RmpiResult<At> {
        let Some(length) = self.length else {
            return Err(Error::refused(
                ErrorClass::RANK,
                "the window has no process of that rank, or the epoch does not access it",
            ));
        };
        let Extent { start, span, count, datatype, .. } = extent;
        if start > length || span > length - start {
            return Err(Error::refused(
                ErrorClass::RMA_RANGE,
                "the place does not lie within the process's memory",
            ));
        }
        // MPI uses the buffers from here on, if the call succeeds.
        self.ending.begun.set(true);
        // An address plus what lies within the memory there; of nobody's memory, whatever.
        let offset = (start as MPI_Aint).wrapping_mul(self.unit);
        Ok(At { displacement: self.base.wrapping_add(offset), count, datatype })
    }
}

/// A buffer is gone when its operation has begun, but for what it borrows.
const fn borrows<B>() {
    assert!(
        !needs_drop::<B>(),
        "give one-sided operations references: a buffer that moves in would be dropped too early"
    );
}

fn untyped() -> Error {
    Error::refused(ErrorClass::TYPE, "to compute with, only layouts of the window's type")
}

/// What computes needs to know what it computes with.
fn typed(extent: Extent) -> RmpiResult<Extent> {
    if extent.typed { Ok(extent) } else { Err(untyped()) }
}

impl<'e, T: MpiDatatype, K> Target<'e, '_, T, K> {
    /// Writes values. C: `MPI_Put`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// [`RMA_RANGE`](ErrorClass::RMA_RANGE) if the place does not lie within the process's memory,
    /// [`COUNT`](ErrorClass::COUNT) if the numbers of values differ, [`RANK`](ErrorClass::RANK) if there
    /// is no such process; what MPI says.
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.put(numbers, 3)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Put)]
    pub fn put<B: Origin<T> + 'e>(&self, buffer: B, place: impl Place<T>) -> RmpiResult {
        const { borrows::<B>() };
        let (raw, values) = buffer.as_origin()?;
        let at = self.at(place.extent(values)?)?;
        // SAFETY: `MPI_Put` reads the buffer until the epoch, or its part, ends, and writes to the target.
        // `Origin` and `B: 'e` keep the buffer readable as long; `extent` and `at` have checked that the place
        // is within the target's memory and has as many values. Epoch and rank are the affair of the `Target`'s
        // maker.
        check(unsafe {
            mpi.call(
                raw.pointer,
                raw.count,
                raw.datatype,
                self.rank,
                at.displacement,
                at.count,
                at.datatype,
                self.ending.raw,
            )
        })
    }

    /// Reads values. C: `MPI_Get`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.get(got, 3)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Get)]
    pub fn get<B: OriginMut<T> + 'e>(&self, mut buffer: B, place: impl Place<T>) -> RmpiResult {
        const { borrows::<B>() };
        let (raw, values) = buffer.as_origin_mut()?;
        let at = self.at(place.extent(values)?)?;
        // SAFETY: `MPI_Get` writes to the buffer until the epoch, or its part, ends. `OriginMut` and `B: 'e`
        // keep it writable, and others from it, as long; `extent` and `at` have checked that the place is
        // within the target's memory and has as many values. Epoch and rank are the affair of the `Target`'s
        // maker.
        check(unsafe {
            mpi.call(
                raw.pointer,
                raw.count,
                raw.datatype,
                self.rank,
                at.displacement,
                at.count,
                at.datatype,
                self.ending.raw,
            )
        })
    }

    /// Combines values with what is there, element by element; other accumulates of the same
    /// operation on the same elements may happen at once. C: `MPI_Accumulate`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`put`](Self::put); [`OP`](ErrorClass::OP) if the operation does not take such elements,
    /// [`TYPE`](ErrorClass::TYPE) if the layout was made of another datatype.
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.accumulate(numbers, 3, rmpi::MpiOp::SUM)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Accumulate)]
    pub fn accumulate<B: TypedOrigin<T> + 'e>(
        &self,
        buffer: B,
        place: impl Place<T>,
        op: MpiOp,
    ) -> RmpiResult {
        const { borrows::<B>() };
        let (raw, values) = buffer.as_origin()?;
        let reduction = Reduction::one_sided::<T>(op, false)?;
        let at = self.at(typed(place.extent(values)?)?)?;
        // SAFETY: `MPI_Accumulate` reads the buffer until the epoch, or its part, ends, and writes to the
        // target. `Origin` and `B: 'e` keep the buffer readable as long; `extent` and `at` have checked that
        // the place is within the target's memory and has as many values. `one_sided` and `typed` have checked
        // that the operation takes such elements. Epoch and rank are the affair of the `Target`'s maker.
        check(unsafe {
            mpi.call(
                raw.pointer,
                raw.count,
                raw.datatype,
                self.rank,
                at.displacement,
                at.count,
                at.datatype,
                reduction.op,
                self.ending.raw,
            )
        })
    }

    /// As [`accumulate`](Self::accumulate), and reads what was there before. With
    /// [`NO_OP`](MpiOp::NO_OP) only that, and the origin does not matter. C: `MPI_Get_accumulate`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate); [`BUFFER`](ErrorClass::BUFFER) if origin and result share memory.
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.get_accumulate(numbers, got, 3, rmpi::MpiOp::SUM)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Get_accumulate)]
    pub fn get_accumulate<B: TypedOrigin<T> + 'e, R: TypedOriginMut<T> + 'e>(
        &self,
        buffer: B,
        mut result: R,
        place: impl Place<T>,
        op: MpiOp,
    ) -> RmpiResult {
        const { borrows::<B>() };
        const { borrows::<R>() };
        let reduction = Reduction::one_sided::<T>(op, true)?;
        let (result_raw, values) = result.as_origin_mut()?;
        let (mut raw, origin_values) = buffer.as_origin()?;
        if op == MpiOp::NO_OP {
            // Nothing is read.
            raw = RawBuffer { pointer: ptr::null_mut(), count: 0, datatype: reduction.datatype };
        } else if origin_values != values {
            return Err(another_count());
        }
        disjoint::<T>(&raw, &result_raw, values)?;
        let at = self.at(typed(place.extent(values)?)?)?;
        // SAFETY: `MPI_Get_accumulate` reads the origin, if it is not empty, and writes to result and target
        // until the epoch, or its part, ends; the two buffers have no memory in common, as `disjoint` has found.
        // The buffers' traits and `'e` keep them accessible as long;
        // `extent` and `at` have checked that the place is within the target's memory and has as many values,
        // as both buffers have. `one_sided` and `typed` have checked that the operation takes such elements.
        // Epoch and rank are the affair of the `Target`'s maker.
        check(unsafe {
            mpi.call(
                raw.pointer,
                raw.count,
                raw.datatype,
                result_raw.pointer,
                result_raw.count,
                result_raw.datatype,
                self.rank,
                at.displacement,
                at.count,
                at.datatype,
                reduction.op,
                self.ending.raw,
            )
        })
    }

    /// As [`get_accumulate`](Self::get_accumulate), of one element of a predefined datatype. C: `MPI_Fetch_and_op`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.fetch_and_op(&numbers[0], &mut got[0], 3, rmpi::MpiOp::SUM)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Fetch_and_op)]
    pub fn fetch_and_op(
        &self,
        value: &'e T,
        result: &'e mut T,
        displacement: usize,
        op: MpiOp,
    ) -> RmpiResult {
        let reduction = Reduction::one_sided::<T>(op, true)?;
        if reduction.count(1)? != 1 {
            return Err(untyped());
        }
        let at = self.at(sealed::Place::<T>::extent(displacement, 1)?)?;
        let (value, result) = (ptr::from_ref(value).cast(), ptr::from_mut(result).cast());
        let (rank, win) = (self.rank, self.ending.raw);
        // SAFETY: `MPI_Fetch_and_op` asks for an element to read and another one to write, both of a predefined
        // datatype, until the epoch, or its part, ends. Both are borrowed for `'e`; the operation takes such
        // elements, of which a `T` is one; and the place lies within the target's memory. Epoch and rank are
        // the affair of the `Target`'s maker.
        check(unsafe {
            mpi.call(value, result, at.datatype, rank, at.displacement, reduction.op, win)
        })
    }

    /// Replaces an integer if it equals `compare`, and reads what was there before. C: `MPI_Compare_and_swap`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.compare_and_swap(&numbers[0], &numbers[1], &mut got[0], 3)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Compare_and_swap)]
    pub fn compare_and_swap(
        &self,
        value: &'e T,
        compare: &'e T,
        result: &'e mut T,
        displacement: usize,
    ) -> RmpiResult {
        let datatype = Reduction::comparable::<T>()?;
        let at = self.at(sealed::Place::<T>::extent(displacement, 1)?)?;
        let (value, compare) = (ptr::from_ref(value).cast(), ptr::from_ref(compare).cast());
        let result = ptr::from_mut(result).cast();
        let (rank, win) = (self.rank, self.ending.raw);
        // SAFETY: `MPI_Compare_and_swap` asks for two elements to read and another one to write, of a datatype
        // that can be compared, until the epoch, or its part, ends. They are borrowed for `'e`; `comparable`
        // accepts no other datatypes; and the place lies within the target's memory. Epoch and rank are the
        // affair of the `Target`'s maker.
        check(unsafe { mpi.call(value, compare, result, datatype, rank, at.displacement, win) })
    }
}

/// The forms with a request, for epochs of passive targets. A request that is forgotten is waited for
/// before the epoch ends; its buffer may be one that moves in.
impl<'e, T: MpiDatatype, K: AccessesPassively> Target<'e, '_, T, K> {
    /// As [`put`](Self::put); the request is complete when the buffer is free again. C: `MPI_Rput`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// let numbers = target.rput(numbers, 3)?.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Rput)]
    pub fn rput<B: Origin<T> + 'e>(
        &self,
        buffer: B,
        place: impl Place<T>,
    ) -> RmpiResult<Request<'e, B>> {
        // SAFETY: `begin_lasting` asks for memory that is the buffer's wherever that moves, and valid for `'e`:
        // `Origin` and `B: 'e` say so. `MPI_Rput` reads it until the request ends. `extent` and `at` have
        // checked that the place is within the target's memory and has as many values. Epoch and rank are the
        // affair of the `Target`'s maker.
        unsafe {
            self.scope.begin_lasting(buffer, |buffer| {
                let (raw, values) = buffer.as_origin()?;
                let at = self.at(place.extent(values)?)?;
                output(sys::MPI_REQUEST_NULL, |request| {
                    mpi.call(
                        raw.pointer,
                        raw.count,
                        raw.datatype,
                        self.rank,
                        at.displacement,
                        at.count,
                        at.datatype,
                        self.ending.raw,
                        request,
                    )
                })
            })
        }
    }

    /// As [`get`](Self::get); the request is complete when the values are there. C: `MPI_Rget`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// println!("{:?}", target.rget(got, 3)?.wait()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Rget)]
    pub fn rget<B: OriginMut<T> + 'e>(
        &self,
        buffer: B,
        place: impl Place<T>,
    ) -> RmpiResult<Request<'e, B>> {
        // SAFETY: `begin_lasting` asks for memory that is the buffer's wherever that moves, and valid for `'e`:
        // `OriginMut` and `B: 'e` say so. `MPI_Rget` writes to it until the request ends. `extent` and `at`
        // have checked that the place is within the target's memory and has as many values. Epoch and rank are
        // the affair of the `Target`'s maker.
        unsafe {
            self.scope.begin_lasting(buffer, |buffer| {
                let (raw, values) = buffer.as_origin_mut()?;
                let at = self.at(place.extent(values)?)?;
                output(sys::MPI_REQUEST_NULL, |request| {
                    mpi.call(
                        raw.pointer,
                        raw.count,
                        raw.datatype,
                        self.rank,
                        at.displacement,
                        at.count,
                        at.datatype,
                        self.ending.raw,
                        request,
                    )
                })
            })
        }
    }

    /// As [`accumulate`](Self::accumulate); the request is complete when the buffer is free again. C: `MPI_Raccumulate`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.raccumulate(numbers, 3, rmpi::MpiOp::SUM)?.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Raccumulate)]
    pub fn raccumulate<B: TypedOrigin<T> + 'e>(
        &self,
        buffer: B,
        place: impl Place<T>,
        op: MpiOp,
    ) -> RmpiResult<Request<'e, B>> {
        let reduction = Reduction::one_sided::<T>(op, false)?;
        // SAFETY: `begin_lasting` asks for memory that is the buffer's wherever that moves, and valid for `'e`:
        // `Origin` and `B: 'e` say so. `MPI_Raccumulate` reads it until the request ends. `extent` and `at`
        // have checked that the place is within the target's memory and has as many values; `one_sided` and
        // `typed`, that the operation takes such elements. Epoch and rank are the affair of the `Target`'s
        // maker.
        unsafe {
            self.scope.begin_lasting(buffer, |buffer| {
                let (raw, values) = buffer.as_origin()?;
                let at = self.at(typed(place.extent(values)?)?)?;
                output(sys::MPI_REQUEST_NULL, |request| {
                    mpi.call(
                        raw.pointer,
                        raw.count,
                        raw.datatype,
                        self.rank,
                        at.displacement,
                        at.count,
                        at.datatype,
                        reduction.op,
                        self.ending.raw,
                        request,
                    )
                })
            })
        }
    }

    /// As [`get_accumulate`](Self::get_accumulate); the request is complete when the values are
    /// there. C: `MPI_Rget_accumulate`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`get_accumulate`](Self::get_accumulate).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// let (_, got) = target.rget_accumulate(numbers, got, 3, rmpi::MpiOp::SUM)?.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Rget_accumulate)]
    pub fn rget_accumulate<B: TypedOrigin<T> + 'e, R: TypedOriginMut<T> + 'e>(
        &self,
        buffer: B,
        result: R,
        place: impl Place<T>,
        op: MpiOp,
    ) -> RmpiResult<Request<'e, (B, R)>> {
        let reduction = Reduction::one_sided::<T>(op, true)?;
        // SAFETY: `begin_lasting` asks for memory that is the buffers' wherever they move, and valid for `'e`:
        // their traits and `'e` say so. `MPI_Rget_accumulate` reads the origin, if it is not empty, and writes
        // to the result until the request ends; they have no memory in common, as `disjoint` finds. `extent` and `at` have checked that the place is within the
        // target's memory and has as many values, as both buffers have; `one_sided` and `typed`, that the
        // operation takes such elements. Epoch and rank are the affair of the `Target`'s maker.
        unsafe {
            self.scope.begin_lasting((buffer, result), |(buffer, result)| {
                let (result, values) = result.as_origin_mut()?;
                let (mut raw, origin_values) = buffer.as_origin()?;
                if op == MpiOp::NO_OP {
                    // Nothing is read.
                    let (pointer, datatype) = (ptr::null_mut(), reduction.datatype);
                    raw = RawBuffer { pointer, count: 0, datatype };
                } else if origin_values != values {
                    return Err(another_count());
                }
                disjoint::<T>(&raw, &result, values)?;
                let at = self.at(typed(place.extent(values)?)?)?;
                output(sys::MPI_REQUEST_NULL, |request| {
                    mpi.call(
                        raw.pointer,
                        raw.count,
                        raw.datatype,
                        result.pointer,
                        result.count,
                        result.datatype,
                        self.rank,
                        at.displacement,
                        at.count,
                        at.datatype,
                        reduction.op,
                        self.ending.raw,
                        request,
                    )
                })
            })
        }
    }
}
