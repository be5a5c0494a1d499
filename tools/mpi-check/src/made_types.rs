//! What a new datatype is made of, by the arguments of the call that has made it.

use mpi_tool_layer::mpi_sys::{MPI_Count, MPI_Datatype, MPI_ORDER_C, c_int, pmpi};
use mpi_tool_layer::{AnyCall, Call as _, FunctionId, Word};

use crate::arguments::datatype;
use crate::layouts::Layout;
use crate::objects::{self, Kind};
use crate::types::{Family, Signature, TypeInfo};
use crate::unseen;

/// The arguments of a call by name.
struct Arguments<'c>(AnyCall<'c>);

impl Arguments<'_> {
    fn word(&self, name: &str) -> Option<u64> {
        let mut all = self.0.arguments();
        all.find(|(parameter, _)| parameter.name() == name).map(|(_, word)| word)
    }

    fn number(&self, name: &str) -> Option<u64> {
        u64::try_from(self.word(name)? as i64).ok()
    }

    /// An array of numbers of the width of the call's counts.
    fn numbers(&self, name: &str, count: u64) -> Option<Vec<u64>> {
        let address = self.word(name)?;
        if address == 0 || count > 1 << 20 {
            return None;
        }
        let at = |index: u64| {
            // SAFETY: the array must have the element: MPI has accepted the call, in which it has read all of them.
            unsafe {
                if self.0.is_wide() {
                    *<*const i64>::from_word(address).add(index as usize)
                } else {
                    i64::from(*<*const c_int>::from_word(address).add(index as usize))
                }
            }
        };
        (0..count).map(|index| u64::try_from(at(index)).ok()).collect()
    }

    /// An array of displacements: of addresses, or of numbers of the width of the call's counts.
    fn displacements(&self, count: u64, are_addresses: bool) -> Option<Vec<i64>> {
        let address = self.word("array_of_displacements")?;
        if address == 0 || count > LISTED {
            return None;
        }
        let at = |index: u64| {
            // SAFETY: the array must have the element: MPI has accepted the call, in which it has read all of them.
            // `MPI_Aint` and `MPI_Count` are 64 bits wide.
            unsafe {
                if are_addresses || self.0.is_wide() {
                    *<*const i64>::from_word(address).add(index as usize)
                } else {
                    i64::from(*<*const c_int>::from_word(address).add(index as usize))
                }
            }
        };
        Some((0..count).map(at).collect())
    }

    fn element(&self) -> Option<TypeInfo> {
        datatype(self.word("oldtype")?)
    }
}

/// How many blocks of an array are looked at for a layout, of which most would have too many pieces.
const LISTED: u64 = 256;

/// Where the data of what an accepted call has made lie; `None` where that is not known.
fn layout(arguments: &Arguments<'_>) -> Option<Layout> {
    use FunctionId::{
        MPI_Type_contiguous, MPI_Type_create_hindexed, MPI_Type_create_hindexed_block,
        MPI_Type_create_hvector, MPI_Type_create_indexed_block, MPI_Type_create_resized,
        MPI_Type_create_struct, MPI_Type_create_subarray, MPI_Type_dup, MPI_Type_hindexed,
        MPI_Type_hvector, MPI_Type_indexed, MPI_Type_struct, MPI_Type_vector,
    };
    let function = arguments.0.function();
    let of = |handle: u64| Some((objects::layout(handle)?, datatype(handle)?.extent));
    if matches!(function, MPI_Type_create_struct | MPI_Type_struct) {
        let count = arguments.number("count")?;
        let lengths = arguments.numbers("array_of_blocklengths", count)?;
        let at = arguments.displacements(count, true)?;
        let types = <*const MPI_Datatype>::from_word(arguments.word("array_of_types")?);
        let mut whole = Layout::default();
        for (index, (length, at)) in lengths.into_iter().zip(at).enumerate() {
            // SAFETY: the array must have the element: MPI has accepted the call, in which it has read `count`.
            let (element, extent) = of(unsafe { *types.add(index) }.to_word())?;
            whole = whole.and(&element.repeated(length, extent)?.moved(at)?)?;
        }
        return Some(whole);
    }
    let (element, extent) = of(arguments.word("oldtype")?)?;
    let blocks = |lengths: Vec<u64>, are_addresses: bool| {
        let at = arguments.displacements(lengths.len() as u64, are_addresses)?;
        let unit = if are_addresses { 1 } else { extent };
        let mut whole = Layout::default();
        for (length, at) in lengths.into_iter().zip(at) {
            let block = element.repeated(length, extent)?.moved(at.checked_mul(unit)?)?;
            whole = whole.and(&block)?;
        }
        Some(whole)
    };
    let equal = |are_addresses| {
        let count = arguments.number("count").filter(|count| *count <= LISTED)?;
        blocks(vec![arguments.number("blocklength")?; count as usize], are_addresses)
    };
    let listed = |are_addresses| {
        let count = arguments.number("count").filter(|count| *count <= LISTED)?;
        blocks(arguments.numbers("array_of_blocklengths", count)?, are_addresses)
    };
    match function {
        MPI_Type_contiguous => element.repeated(arguments.number("count")?, extent),
        MPI_Type_vector | MPI_Type_create_hvector | MPI_Type_hvector => {
            let stride = arguments.word("stride")? as i64;
            let unit = if function == MPI_Type_vector { extent } else { 1 };
            let block = element.repeated(arguments.number("blocklength")?, extent)?;
            block.repeated(arguments.number("count")?, stride.checked_mul(unit)?)
        }
        MPI_Type_create_indexed_block => equal(false),
        MPI_Type_create_hindexed_block => equal(true),
        MPI_Type_indexed => listed(false),
        MPI_Type_create_hindexed | MPI_Type_hindexed => listed(true),
        MPI_Type_create_subarray => {
            let count = arguments.number("ndims")?;
            let [sizes, parts, starts] = ["array_of_sizes", "array_of_subsizes", "array_of_starts"]
                .map(|name| arguments.numbers(name, count));
            let (sizes, parts, starts) = (sizes?, parts?, starts?);
            let is_c = arguments.word("order")? as c_int == MPI_ORDER_C;
            let (mut whole, mut distance) = (element, extent);
            for step in 0..sizes.len() {
                let at = if is_c { sizes.len() - 1 - step } else { step };
                let start = i64::try_from(starts[at]).ok()?.checked_mul(distance)?;
                whole = whole.repeated(parts[at], distance)?.moved(start)?;
                distance = distance.checked_mul(i64::try_from(sizes[at]).ok()?)?;
            }
            Some(whole)
        }
        MPI_Type_create_resized | MPI_Type_dup => Some(element),
        _ => None,
    }
}

/// The signature of what an accepted call has made, which has so many bytes; `None` where it is not known.
fn signature(arguments: &Arguments<'_>, size: u64) -> Option<(Signature, bool)> {
    use FunctionId::{
        MPI_Type_contiguous, MPI_Type_create_darray, MPI_Type_create_hindexed,
        MPI_Type_create_hindexed_block, MPI_Type_create_hvector, MPI_Type_create_indexed_block,
        MPI_Type_create_resized, MPI_Type_create_struct, MPI_Type_create_subarray, MPI_Type_dup,
        MPI_Type_hindexed, MPI_Type_hvector, MPI_Type_indexed, MPI_Type_struct, MPI_Type_vector,
    };
    let function = arguments.0.function();
    let times = |times: u64| Some((arguments.element()?.signature.times(times), false));
    match function {
        MPI_Type_contiguous => times(arguments.number("count")?),
        MPI_Type_vector | MPI_Type_create_hvector | MPI_Type_hvector => {
            let count = arguments.number("count")?;
            times(count.checked_mul(arguments.number("blocklength")?)?)
        }
        MPI_Type_create_indexed_block | MPI_Type_create_hindexed_block => {
            let count = arguments.number("count")?;
            times(count.checked_mul(arguments.number("blocklength")?)?)
        }
        MPI_Type_indexed | MPI_Type_create_hindexed | MPI_Type_hindexed => {
            let count = arguments.number("count")?;
            times(arguments.numbers("array_of_blocklengths", count)?.iter().sum())
        }
        MPI_Type_create_subarray => {
            let count = arguments.number("ndims")?;
            times(arguments.numbers("array_of_subsizes", count)?.iter().product())
        }
        MPI_Type_create_resized => times(1),
        MPI_Type_create_darray => {
            // It has so many elements as its size says, all of one datatype.
            let element = arguments.element().filter(|element| element.size > 0)?;
            size.is_multiple_of(element.size)
                .then(|| (element.signature.times(size / element.size), false))
        }
        MPI_Type_dup => {
            let element = arguments.element()?;
            Some((element.signature, element.is_committed))
        }
        MPI_Type_create_struct | MPI_Type_struct => {
            let count = arguments.number("count")?;
            let lengths = arguments.numbers("array_of_blocklengths", count)?;
            let types = <*const MPI_Datatype>::from_word(arguments.word("array_of_types")?);
            let mut signature = Signature::EMPTY;
            for (index, length) in lengths.into_iter().enumerate() {
                // SAFETY: the array must have the element: MPI has accepted the call, in which it has read `count`.
                let element = unsafe { *types.add(index) };
                let part = datatype(element.to_word()).map(|info| info.signature);
                signature = signature.then(part.unwrap_or(Signature::ANY).times(length));
            }
            Some((signature, false))
        }
        _ => None,
    }
}

/// A call that MPI has accepted has made a datatype with this handle.
pub(crate) fn note(call: AnyCall<'_>, handle: u64) {
    use FunctionId::{
        MPI_Type_create_darray, MPI_Type_create_f90_complex, MPI_Type_create_f90_integer,
        MPI_Type_create_f90_real, MPI_Type_match_size,
    };
    let function = call.function();
    if matches!(
        function,
        MPI_Type_create_f90_real
            | MPI_Type_create_f90_complex
            | MPI_Type_create_f90_integer
            | MPI_Type_match_size
    ) {
        return;
    }
    if objects::get(Kind::Datatype, handle).is_none() {
        return;
    }
    let (mut size, mut low, mut extent): (MPI_Count, MPI_Count, MPI_Count) = (0, 0, 0);
    let (mut true_low, mut true_extent): (MPI_Count, MPI_Count) = (0, 0);
    let datatype = MPI_Datatype::from_word(handle);
    // SAFETY: these three want a valid datatype, which MPI has just made, and places for numbers. Every MPI since 3.0
    // has them.
    unsafe {
        pmpi::MPI_Type_size_x(datatype, &mut size);
        pmpi::MPI_Type_get_extent_x(datatype, &mut low, &mut extent);
        pmpi::MPI_Type_get_true_extent_x(datatype, &mut true_low, &mut true_extent);
    }
    let is_dense = size == extent && size == true_extent && low == 0 && true_low == 0;
    let size = u64::try_from(size).unwrap_or(0);
    let arguments = Arguments(call);
    let (signature, is_committed) = signature(&arguments, size).unwrap_or((
        Signature::ANY,
        // What is not known is not accused.
        function != MPI_Type_create_darray,
    ));
    let info = TypeInfo {
        signature,
        size,
        extent,
        span: (true_low, true_low.saturating_add(true_extent)),
        is_dense,
        family: Family::Other,
        is_predefined: false,
        // The program may commit it by a call that is not seen.
        is_committed: is_committed || unseen::hides_all(),
    };
    objects::set_datatype(handle, info, layout(&arguments));
}
