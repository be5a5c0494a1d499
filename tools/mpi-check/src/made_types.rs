//! What a new datatype is made of, by the arguments of the call that has made it.

use mpi_tool_layer::mpi_sys::{MPI_Count, MPI_Datatype, c_int, pmpi};
use mpi_tool_layer::{AnyCall, Call as _, FunctionId, Word};

use crate::arguments::datatype;
use crate::objects::{self, Kind};
use crate::types::{Family, Signature, TypeInfo};

/// The arguments of a call by name.
struct Arguments<'c>(AnyCall<'c>);

impl Arguments<'_> {
    fn word(&self, name: &str) -> Option<u64> {
        let mut all = self.0.arguments();
        all.find(|(parameter, _)| parameter.name == name).map(|(_, word)| word)
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

    fn element(&self) -> Option<TypeInfo> {
        datatype(self.word("oldtype")?)
    }
}

/// The signature of what an accepted call has made; `None` where it is not known.
fn signature(arguments: &Arguments<'_>) -> Option<(Signature, bool)> {
    use FunctionId::{
        MPI_Type_contiguous, MPI_Type_create_hindexed, MPI_Type_create_hindexed_block,
        MPI_Type_create_hvector, MPI_Type_create_indexed_block, MPI_Type_create_resized,
        MPI_Type_create_struct, MPI_Type_create_subarray, MPI_Type_dup, MPI_Type_hindexed,
        MPI_Type_hvector, MPI_Type_indexed, MPI_Type_struct, MPI_Type_vector,
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
        MPI_Type_create_f90_real, MPI_Type_get_contents, MPI_Type_match_size,
    };
    let function = call.function();
    if matches!(
        function,
        MPI_Type_create_f90_real
            | MPI_Type_create_f90_complex
            | MPI_Type_create_f90_integer
            | MPI_Type_get_contents
            | MPI_Type_match_size
    ) {
        return;
    }
    if objects::get(Kind::Datatype, handle).is_none() {
        return;
    }
    let arguments = Arguments(call);
    let (signature, is_committed) = signature(&arguments).unwrap_or((
        Signature::ANY,
        // What is not known is not accused.
        function != MPI_Type_create_darray,
    ));
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
    let info = TypeInfo {
        signature,
        size: u64::try_from(size).unwrap_or(0),
        extent,
        span: (true_low, true_low.saturating_add(true_extent)),
        is_dense: size == extent && size == true_extent && low == 0 && true_low == 0,
        family: Family::Other,
        is_predefined: false,
        is_committed,
    };
    objects::set_datatype(handle, info);
}
