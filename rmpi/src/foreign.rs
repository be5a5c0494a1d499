//! Types of other crates as datatypes, as their bytes.

use bytemuck::{AnyBitPattern, NoUninit, TransparentWrapper};

use crate::{Byte, MpiDatatype, SendDatatype, TypeMap};

/// A value of another crate's type, which travels as its bytes (`MPI_BYTE`). Feature `bytemuck`.
///
/// What can be sent is what `bytemuck` knows to have no padding (`NoUninit`); what can be received is what it also
/// knows to be valid whatever comes (`AnyBitPattern`): together `Pod`. Many crates of vectors, colours and
/// half-precision numbers implement these traits, mostly under a feature that is called `bytemuck`, too.
///
/// A slice of such values becomes one of `Foreign`s, and back, without a copy:
///
/// ```no_run
/// use bytemuck::{Pod, Zeroable};
/// use rmpi::{Foreign, RmpiResult, Tag};
///
/// // As another crate has it.
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[repr(C)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
///
/// # fn example(world: &rmpi::Communicator<'_>) -> RmpiResult {
/// let mut points = vec![Point { x: 1.0, y: 2.0 }; 10];
/// if world.rank()? == 0 {
///     world.process(1).send(Foreign::slice(&points), Tag::new(0))
/// } else {
///     world.process(0).recv(Foreign::slice_mut(&mut points), Tag::new(0))
/// }
/// # }
/// ```
///
/// In a struct with `#[derive(MpiDatatype)]`, a field can be a `Foreign`. Processes of different machines must have
/// the same byte order: MPI converts no bytes.
///
/// A type that only some bits are a value of, such as `bool` or an enumeration (`bytemuck::CheckedBitPattern`), is
/// received as its `Bits`, which `bytemuck::checked` turns into values or an error:
///
/// ```no_run
/// # fn example(from: rmpi::Source<'_>) -> rmpi::RmpiResult {
/// let (bits, _status) = from.receive_vec::<u8>(rmpi::Tag::new(0))?;
/// let flags: Result<&[bool], _> = bytemuck::checked::try_cast_slice(&bits);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Foreign<T>(
    /// The value.
    pub T,
);

// SAFETY: the trait requires one field of the type `T` and no others that have a size, in a `repr(transparent)`:
// that is what `Foreign` is. It has no invariants of its own.
unsafe impl<T> TransparentWrapper<T> for Foreign<T> {}

// SAFETY: the trait requires the layout that the map says, initialised: a `Foreign` has the bytes of its `T`, by
// `repr(transparent)`, and `NoUninit` promises that all of them are initialised in every value, padding being none.
unsafe impl<T: NoUninit> SendDatatype for Foreign<T> {
    const TYPE_MAP: &'static TypeMap =
        &TypeMap::Array { element: Byte::TYPE_MAP, length: size_of::<T>() };
}

// SAFETY: the trait requires that any bits are a value: `AnyBitPattern` promises it of `T`.
unsafe impl<T: NoUninit + AnyBitPattern> MpiDatatype for Foreign<T> {}

impl<T: NoUninit> Foreign<T> {
    /// A slice of values, to send.
    pub fn slice(values: &[T]) -> &[Self] {
        Self::wrap_slice(values)
    }

    /// A value, to send.
    pub fn value(value: &T) -> &Self {
        Self::wrap_ref(value)
    }
}

impl<T: NoUninit + AnyBitPattern> Foreign<T> {
    /// A slice of values, to receive into.
    pub fn slice_mut(values: &mut [T]) -> &mut [Self] {
        Self::wrap_slice_mut(values)
    }

    /// A value, to receive into.
    pub fn value_mut(value: &mut T) -> &mut Self {
        Self::wrap_mut(value)
    }
}

impl<T> Foreign<T> {
    /// The values of a vector, such as one that was [received](crate::Source::receive_vec). Copies nothing.
    ///
    /// ```no_run
    /// # use bytemuck::Pod;
    /// # use rmpi::Foreign;
    /// # fn example<Point: Pod>(from: rmpi::Source<'_>) -> rmpi::RmpiResult<Vec<Point>> {
    /// let (points, _status) = from.receive_vec::<Foreign<Point>>(rmpi::Tag::new(0))?;
    /// Ok(Foreign::into_values(points))
    /// # }
    /// ```
    pub fn into_values(vector: Vec<Self>) -> Vec<T> {
        bytemuck::allocation::TransparentWrapperAlloc::peel_vec(vector)
    }

    /// A vector of values, such as one that moves into an operation. Copies nothing.
    pub fn from_values(vector: Vec<T>) -> Vec<Self> {
        bytemuck::allocation::TransparentWrapperAlloc::wrap_vec(vector)
    }
}
