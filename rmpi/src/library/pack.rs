use core::ffi::CStr;

use rmpi_macros::wraps;

use super::buffer::{BufferMut, BufferRef, RawBuffer, TypedBuffer};
use super::communicator::Communicator;
use super::datatype::ElementOf;
use super::error::{Error, ErrorClass, RmpiResult, output};
use super::runtime::Runtime;
use super::sys::{self, MPI_Aint, MPI_Count, c_int};
use crate::SendDatatype;

/// The one representation that MPI defines for data that leaves a program (MPI-5.0, 14.5.2), for
/// [`File::set_view`](super::File::set_view): big-endian, of sizes that are the same everywhere.
pub const EXTERNAL32: &CStr = c"external32";

/// Bytes that [`pack`](Communicator::pack) wrote, to send or receive as `MPI_PACKED`: `Packed(&bytes)`,
/// `Packed(&mut bytes)`, or `Packed(bytes)`, of `u8`s.
///
/// ```no_run
/// use rmpi::{Packed, Tag};
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let mut bytes = vec![0_u8; world.pack_size::<i32>(1)? + world.pack_size::<f64>(3)?];
/// let mut length = 0;
/// world.pack(&7_i32, &mut bytes, &mut length)?;
/// world.pack(&[1.0_f64, 2.0, 3.0], &mut bytes, &mut length)?;
/// world.process(1).send(Packed(&bytes[..length]), Tag::new(0))
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Packed<B>(
    /// The bytes.
    pub B,
);

// SAFETY: the trait requires memory that is readable as so many elements of the datatype as long as the
// value exists: the bytes are, by the promise of the inner buffer, and an element of MPI_PACKED is a
// byte.
unsafe impl<B: TypedBuffer<Element = u8>> BufferRef for Packed<B> {
    fn as_raw(&self) -> RmpiResult<RawBuffer> {
        Ok(RawBuffer { datatype: sys::MPI_PACKED, ..self.0.as_raw()? })
    }
}

// SAFETY: the trait requires memory that is writable, with any bits, to which nobody else has access:
// the bytes are, by the promise of the inner buffer, and an element of MPI_PACKED is a byte.
unsafe impl<B: TypedBuffer<Element = u8> + BufferMut> BufferMut for Packed<B> {
    fn as_raw_mut(&mut self) -> RmpiResult<RawBuffer> {
        Ok(RawBuffer { datatype: sys::MPI_PACKED, ..self.0.as_raw_mut()? })
    }
}

fn too_short() -> Error {
    Error::refused(ErrorClass::TRUNCATE, "the packed data does not lie within the bytes")
}

/// Is there space for a buffer's data, packed without loss? MPIs do not all look.
fn has_space(length: usize, position: usize, buffer: &RawBuffer) -> RmpiResult {
    // SAFETY: MPI_Type_size_x requires a datatype, which a buffer's `as_raw` gives, and writes one
    // number to `size`.
    let size = output(0, |size| unsafe { sys::MPI_Type_size_x(buffer.datatype, size) })?;
    let needed = buffer.count.checked_mul(size).and_then(|size| usize::try_from(size).ok());
    match (needed, length.checked_sub(position)) {
        (Some(needed), Some(left)) if needed <= left => Ok(()),
        _ => Err(too_short()),
    }
}

/// Is there space for a buffer's data in the external representation?
fn has_external_space(length: usize, position: usize, buffer: &RawBuffer) -> RmpiResult {
    let size = match c_int::try_from(buffer.count) {
        // SAFETY: MPI_Pack_external_size requires a datatype, which a buffer's `as_raw` gives, and a
        // text, the one that the standard defines; it writes one number to `size`.
        Ok(count) => output(0, |size: &mut MPI_Aint| unsafe {
            sys::MPI_Pack_external_size(EXTERNAL32.as_ptr(), count, buffer.datatype, size)
        })? as MPI_Count,
        // SAFETY: as above, with a count of the width that this function takes.
        Err(_) => output(0, |size| unsafe {
            let (name, count) = (EXTERNAL32.as_ptr(), buffer.count);
            sys::MPI_Pack_external_size_c(name, count, buffer.datatype, size)
        })?,
    };
    match (usize::try_from(size), length.checked_sub(position)) {
        (Ok(needed), Some(left)) if needed <= left => Ok(()),
        _ => Err(too_short()),
    }
}

/// The position that MPI gives, which has to be one.
fn moved(position: &mut usize, length: usize, to: MPI_Count) -> RmpiResult {
    *position = usize::try_from(to).ok().filter(|to| *to <= length).ok_or_else(too_short)?;
    Ok(())
}

impl Communicator<'_> {
    /// At most how many bytes so many values take, packed at once. C: `MPI_Pack_size`, or
    /// `MPI_Pack_size_c` where they may be more than an `int` counts. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let bytes = vec![0_u8; world.pack_size::<f64>(3)?];
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Pack_size)]
    pub fn pack_size<T: SendDatatype>(&self, count: usize) -> RmpiResult<usize> {
        let element = ElementOf::<T>::get()?;
        let too_many = || Error::refused(ErrorClass::COUNT, "too many values");
        let count = count.checked_mul(element.per_value).ok_or_else(too_many)?;
        let bytes = size_of::<T>().max(1).checked_mul(count);
        let size = match c_int::try_from(count) {
            Ok(count) if bytes.is_some_and(|bytes| bytes < 1 << 30) => {
                // SAFETY: MPI_Pack_size requires a datatype, which `ElementOf` gives, and a
                // communicator, which `self` holds; it writes one int to `size`.
                output(0, |size: &mut c_int| unsafe {
                    mpi.call(count, element.datatype, self.as_raw(), size)
                })?
                .into()
            }
            _ => {
                let count = MPI_Count::try_from(count).map_err(|_| too_many())?;
                // SAFETY: as above, with a count of the width that this function takes.
                output(0, |size| unsafe {
                    sys::MPI_Pack_size_c(count, element.datatype, self.as_raw(), size)
                })?
            }
        };
        usize::try_from(size).map_err(|_| too_many())
    }

    /// Packs a buffer's data into bytes, from a position on, which moves behind it. C: `MPI_Pack`, or
    /// `MPI_Pack_c` where a number does not fit an `int`. Local.
    ///
    /// # Errors
    /// [`TRUNCATE`](ErrorClass::TRUNCATE) if there is no space for it; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let mut bytes = vec![0_u8; world.pack_size::<f64>(3)?];
    /// let mut position = 0;
    /// world.pack(&[1.0_f64, 2.0, 3.0], &mut bytes, &mut position)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Pack)]
    pub fn pack<B: BufferRef>(
        &self,
        buffer: B,
        bytes: &mut [u8],
        position: &mut usize,
    ) -> RmpiResult {
        let raw = buffer.as_raw()?;
        has_space(bytes.len(), *position, &raw)?;
        let out = bytes.as_mut_ptr().cast();
        let to = match (c_int::try_from(raw.count), c_int::try_from(bytes.len())) {
            // SAFETY: MPI_Pack reads the buffer's elements, which are readable during the call, and
            // writes to `length` bytes from the position on: as `has_space` has found, they have space
            // for the data, and the position is no greater than `length`.
            (Ok(count), Ok(length)) => output(*position as c_int, |to| unsafe {
                mpi.call(raw.pointer, count, raw.datatype, out, length, to, self.as_raw())
            })?
            .into(),
            // SAFETY: as above, with numbers of the width that this function takes.
            _ => output(*position as MPI_Count, |to| unsafe {
                let (length, comm) = (bytes.len() as MPI_Count, self.as_raw());
                sys::MPI_Pack_c(raw.pointer, raw.count, raw.datatype, out, length, to, comm)
            })?,
        };
        moved(position, bytes.len(), to)
    }

    /// Unpacks a buffer's data from bytes, from a position on, which moves behind it.
    /// C: `MPI_Unpack`, or `MPI_Unpack_c` where a number does not fit an `int`. Local.
    ///
    /// # Errors
    /// [`TRUNCATE`](ErrorClass::TRUNCATE) if there are not as many bytes; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>, bytes: &[u8]) -> rmpi::RmpiResult {
    /// let (mut number, mut position) = (0_i32, 0);
    /// world.unpack(bytes, &mut position, &mut number)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Unpack)]
    pub fn unpack<B: BufferMut>(
        &self,
        bytes: &[u8],
        position: &mut usize,
        mut buffer: B,
    ) -> RmpiResult {
        let raw = buffer.as_raw_mut()?;
        has_space(bytes.len(), *position, &raw)?;
        let from = bytes.as_ptr().cast();
        let to = match (c_int::try_from(raw.count), c_int::try_from(bytes.len())) {
            // SAFETY: MPI_Unpack reads `length` bytes from the position on, and writes the buffer's
            // elements, which are writable during the call: as `has_space` has found, the bytes have
            // all of the data, and the position is no greater than `length`.
            (Ok(count), Ok(length)) => output(*position as c_int, |to| unsafe {
                mpi.call(from, length, to, raw.pointer, count, raw.datatype, self.as_raw())
            })?
            .into(),
            // SAFETY: as above, with numbers of the width that this function takes.
            _ => output(*position as MPI_Count, |to| unsafe {
                let (length, comm) = (bytes.len() as MPI_Count, self.as_raw());
                sys::MPI_Unpack_c(from, length, to, raw.pointer, raw.count, raw.datatype, comm)
            })?,
        };
        moved(position, bytes.len(), to)
    }
}

/// How many bytes so many values take in the [external](EXTERNAL32) representation.
/// C: `MPI_Pack_external_size`, or `MPI_Pack_external_size_c` where the number does not fit an `int`.
/// Local.
///
/// # Errors
/// What MPI says.
///
/// ```no_run
/// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
/// assert_eq!(rmpi::pack_external_size::<f64>(context, 3)?, 24);
/// # Ok(()) }
/// ```
#[wraps(MPI_Pack_external_size)]
pub fn pack_external_size<T: SendDatatype>(
    runtime: &impl Runtime,
    count: usize,
) -> RmpiResult<usize> {
    let _ = runtime;
    let element = ElementOf::<T>::get()?;
    let too_many = || Error::refused(ErrorClass::COUNT, "too many values");
    let count = count.checked_mul(element.per_value).ok_or_else(too_many)?;
    // The external size of a value is at most twice its size here.
    if size_of::<T>().max(1).checked_mul(count).is_none_or(|bytes| bytes > 1 << 60) {
        return Err(too_many());
    }
    let name = EXTERNAL32.as_ptr();
    let size = match c_int::try_from(count) {
        // SAFETY: MPI_Pack_external_size requires a datatype, which `ElementOf` gives, and a text, the
        // one that the standard defines; it writes one number to `size`.
        Ok(count) => output(0, |size: &mut MPI_Aint| unsafe {
            mpi.call(name, count, element.datatype, size)
        })? as MPI_Count,
        // SAFETY: as above, with a count of the width that this function takes.
        Err(_) => output(0, |size| unsafe {
            sys::MPI_Pack_external_size_c(name, count as MPI_Count, element.datatype, size)
        })?,
    };
    usize::try_from(size).map_err(|_| too_many())
}

/// Packs a buffer's data into bytes in the [external](EXTERNAL32) representation, from a position on,
/// which moves behind it. C: `MPI_Pack_external`, or `MPI_Pack_external_c` where the count does not fit
/// an `int`. Local.
///
/// # Errors
/// As [`pack`](Communicator::pack).
///
/// ```no_run
/// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
/// let (mut bytes, mut position) = ([0_u8; 4], 0);
/// rmpi::pack_external(context, &1_i32, &mut bytes, &mut position)?;
/// assert_eq!(bytes, [0, 0, 0, 1]);
/// # Ok(()) }
/// ```
#[wraps(MPI_Pack_external)]
pub fn pack_external<B: BufferRef>(
    runtime: &impl Runtime,
    buffer: B,
    bytes: &mut [u8],
    position: &mut usize,
) -> RmpiResult {
    let _ = runtime;
    let raw = buffer.as_raw()?;
    has_external_space(bytes.len(), *position, &raw)?;
    let (name, out) = (EXTERNAL32.as_ptr(), bytes.as_mut_ptr().cast());
    let to = match c_int::try_from(raw.count) {
        // SAFETY: MPI_Pack_external reads the buffer's elements, which are readable during the call,
        // and writes to as many bytes as are given from the position on: they have space for the data,
        // as `has_external_space` has found.
        Ok(count) => output(*position as MPI_Aint, |to: &mut MPI_Aint| unsafe {
            mpi.call(name, raw.pointer, count, raw.datatype, out, bytes.len() as MPI_Aint, to)
        })? as MPI_Count,
        // SAFETY: as above, with a count of the width that this function takes.
        Err(_) => output(*position as MPI_Count, |to| unsafe {
            let length = bytes.len() as MPI_Count;
            sys::MPI_Pack_external_c(name, raw.pointer, raw.count, raw.datatype, out, length, to)
        })?,
    };
    moved(position, bytes.len(), to)
}

/// Unpacks a buffer's data from bytes in the [external](EXTERNAL32) representation, from a position
/// on, which moves behind it. C: `MPI_Unpack_external`, or `MPI_Unpack_external_c` where the count does
/// not fit an `int`. Local.
///
/// # Errors
/// As [`unpack`](Communicator::unpack).
///
/// ```no_run
/// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
/// let (mut number, mut position) = (0_i32, 0);
/// rmpi::unpack_external(context, &[0, 0, 0, 1], &mut position, &mut number)?;
/// assert_eq!(number, 1);
/// # Ok(()) }
/// ```
#[wraps(MPI_Unpack_external)]
pub fn unpack_external<B: BufferMut>(
    runtime: &impl Runtime,
    bytes: &[u8],
    position: &mut usize,
    mut buffer: B,
) -> RmpiResult {
    let _ = runtime;
    let raw = buffer.as_raw_mut()?;
    has_external_space(bytes.len(), *position, &raw)?;
    let (name, from) = (EXTERNAL32.as_ptr(), bytes.as_ptr().cast());
    let to = match c_int::try_from(raw.count) {
        // SAFETY: MPI_Unpack_external reads as many bytes as are given from the position on, and writes
        // the buffer's elements, which are writable during the call: the bytes have all of the data, as
        // `has_external_space` has found.
        Ok(count) => output(*position as MPI_Aint, |to: &mut MPI_Aint| unsafe {
            mpi.call(name, from, bytes.len() as MPI_Aint, to, raw.pointer, count, raw.datatype)
        })? as MPI_Count,
        // SAFETY: as above, with a count of the width that this function takes.
        Err(_) => output(*position as MPI_Count, |to| unsafe {
            let length = bytes.len() as MPI_Count;
            sys::MPI_Unpack_external_c(name, from, length, to, raw.pointer, raw.count, raw.datatype)
        })?,
    };
    moved(position, bytes.len(), to)
}
