//! Strings, descriptors of arrays, and lengths that only MPI knows.

use core::ffi::c_int;
use core::ptr;

use mpi_sys::{ABI, Abi, prototypes::*};

use super::conversion::read;
use super::plan::Length;
use crate::call::asking::{Topology, UsedComm};
use crate::{FunctionClass, FunctionId};

pub(super) fn pack(values: &[c_int]) -> Vec<u64> {
    let pair = |pair: &[c_int]| {
        let word = |at: usize| u64::from(pair.get(at).map_or(0, |value| value.cast_unsigned()));
        word(0) | word(1) << 32
    };
    values.chunks(2).map(pair).collect()
}

/// `MPI_MAX_LIBRARY_VERSION_STRING`, the longest of the constants, and an info value's, which MPI
/// does not bound by what the application says.
pub(super) const LONGEST_TEXT: usize = {
    let (version, value) = (MPI_MAX_LIBRARY_VERSION_STRING, MPI_MAX_INFO_VAL);
    (if version > value { version } else { value }) as usize
};

/// A `CHARACTER` as a C string, without the blanks behind it and before it, as MPI's own conversions have it.
///
/// # Safety
/// `from` is the address of `length` characters, or `length` is 0.
pub(super) unsafe fn stripped(from: usize, length: usize) -> Vec<u8> {
    // SAFETY: `trimmed` wants as many characters at this address, which the caller promises.
    let mut text = unsafe { trimmed(from, length) };
    let leading = text.iter().take_while(|byte| **byte == b' ').count();
    text.drain(..leading);
    text
}

/// One of an array of them: without the blanks behind it, and those before it where MPI's own conversion
/// strips them there, too.
///
/// # Safety
/// `from` is the address of `length` characters, or `length` is 0.
pub(super) unsafe fn trimmed(from: usize, length: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(length + 1);
    let first = ptr::with_exposed_provenance::<u8>(from);
    // SAFETY: each read needs a character: the caller promises as many. Of a `CHARACTER` of length 0, which has any
    // address, nothing is read.
    text.extend((0..length).map(|at| unsafe { first.add(at).read() }));
    while text.last() == Some(&b' ') {
        text.pop();
    }
    if ABI == Abi::OpenMpi {
        let leading = text.iter().take_while(|byte| **byte == b' ').count();
        text.drain(..leading);
    }
    text.push(0);
    text
}

/// The strings up to the first blank one.
///
/// # Safety
/// At `from`, and every `distance` bytes behind it, are `length` characters, up to and with the first ones that are
/// all blank.
pub(super) unsafe fn texts(from: usize, length: usize, distance: usize) -> Vec<Vec<u8>> {
    // SAFETY: `trimmed` wants as many characters at each address. The caller promises them up to the first blank
    // string, behind which none is asked for.
    let each = (0..).map(|at| unsafe { trimmed(from + at * distance, length) });
    each.take_while(|text| text.len() > 1).collect()
}

/// Writes a C string as a `CHARACTER`, cut or with blanks.
///
/// # Safety
/// `to` is valid for writes of `length` bytes that nobody else uses meanwhile.
pub(super) unsafe fn pad(text: &[u8], to: *mut u8, length: usize) {
    let mut ended = false;
    for at in 0..length {
        let byte = text.get(at).map_or(0, read);
        ended |= byte == 0;
        // SAFETY: the byte is inside of the `length` bytes that the caller promises room for.
        unsafe { to.add(at).write(if ended { b' ' } else { byte }) };
    }
}

/// How many processes data goes to or comes from, or how many dimensions there are.
///
/// # Safety
/// `comm` is the communicator of a call of this function that goes to MPI next, which has this tool's ABI.
pub(super) unsafe fn partners(comm: MPI_Comm, what: Length, function: FunctionId) -> c_int {
    // SAFETY: `assume` wants what the caller promises.
    let Some(comm) = (unsafe { UsedComm::assume(comm) }) else { return 0 };
    if matches!(what, Length::Dimensions) {
        // SAFETY: the communicator must be that of a call that wants a Cartesian topology, and goes to MPI next: it has as many
        // numbers as there are dimensions.
        return unsafe { comm.dimensions() };
    }
    if function.class() != FunctionClass::Neighborhood {
        return comm.others();
    }
    match comm.topology() {
        Topology::Grid(grid) => grid.count(),
        Topology::Graph { sources, .. } if matches!(what, Length::Sources) => sources,
        Topology::Graph { destinations, .. } => destinations,
        Topology::None => 0,
    }
}

/// The beginning of a `CFI_cdesc_t`, as GNU Fortran has it.
#[repr(C)]
pub(super) struct Descriptor {
    base: usize,
    element: usize,
    version: c_int,
    rank: i8,
    attribute: i8,
    kind: i16,
}

/// The address of what a descriptor describes, if it lies in one piece.
///
/// # Safety
/// `descriptor` points to a `CFI_cdesc_t` as GNU Fortran lays it out, which nobody writes to meanwhile.
pub(super) unsafe fn contiguous(descriptor: *const Descriptor) -> Option<usize> {
    #[repr(C)]
    struct Dimension {
        lower: isize,
        extent: isize,
        stride: isize,
    }
    // SAFETY: the caller promises a descriptor, behind whose beginning there are as many dimensions as its rank says.
    unsafe {
        let Descriptor { base, element, rank, .. } = *descriptor;
        let dimensions = descriptor.add(1).cast::<Dimension>();
        let mut stride = element.cast_signed();
        for at in 0..usize::try_from(rank).ok()? {
            let dimension = &*dimensions.add(at);
            if dimension.extent != 1 && dimension.stride != stride {
                return None;
            }
            // An array of assumed size ends the description.
            stride = stride.checked_mul(dimension.extent)?;
        }
        Some(base)
    }
}
