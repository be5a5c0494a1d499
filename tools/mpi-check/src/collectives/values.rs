//! Arguments that must be the same on all processes, but for roots, operations and data.

use mpi_tool_layer::mpi_sys::{MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED, MPI_UNDEFINED, c_int};
use mpi_tool_layer::{Call as _, FunctionId, Word};

use crate::arguments::Checked;

/// How many numbers of an array are looked at.
const MOST: u64 = 1 << 20;

/// What the arguments are that must be the same.
pub(super) fn name(function: FunctionId) -> &'static str {
    use FunctionId::*;
    match function {
        MPI_Cart_create => "dims and periods",
        MPI_Graph_create => "nodes and edges",
        MPI_Comm_split_type => "split_type",
        MPI_File_open => "amode",
        MPI_File_set_size | MPI_File_preallocate => "size",
        MPI_File_set_atomicity => "flag",
        MPI_Win_fence => "assert",
        _ => "arguments",
    }
}

fn add(hash: u64, number: i64) -> u64 {
    let hash = (hash ^ number as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ hash >> 32
}

/// A hash of them, which is not 0; `None` if there are none, or if this process takes part with any.
pub(super) fn hash(checked: &Checked<'_>) -> Option<u64> {
    use FunctionId::*;
    let words = checked.call.words();
    let number = |at: usize| i64::from(words[at] as c_int);
    let array = |hash: u64, at: usize, length: u64, is_logical: bool| {
        let address = words[at];
        if address == 0 || length > MOST {
            return None;
        }
        let all = (0..length as usize).map(|index| {
            // SAFETY: the array must have the element: the application says that it has so many, and MPI, which the call goes
            // to next, reads them all.
            let number = unsafe { *<*const c_int>::from_word(address).add(index) };
            i64::from(if is_logical { c_int::from(number != 0) } else { number })
        });
        Some(all.fold(hash, add))
    };
    if !checked.is_sound {
        return None;
    }
    let hash = match checked.function {
        MPI_Cart_create => {
            let hash = add(0, number(1));
            array(array(hash, 2, words[1], false)?, 3, words[1], true)?
        }
        MPI_Graph_create => {
            let hash = array(add(0, number(1)), 2, words[1], false)?;
            let nodes = usize::try_from(number(1)).ok().filter(|nodes| *nodes > 0)?;
            // SAFETY: the array must have the element: it is no null pointer, and the application says that it has one for each
            // node, all of which MPI, which the call goes to next, reads.
            let edges = unsafe { *<*const c_int>::from_word(words[2]).add(nodes - 1) };
            array(hash, 3, u64::try_from(edges).ok()?, false)?
        }
        MPI_Comm_split_type if number(1) == i64::from(MPI_UNDEFINED) => return None,
        MPI_Comm_split_type | MPI_File_set_atomicity => add(0, number(1)),
        MPI_File_open => add(0, number(2)),
        MPI_File_set_size | MPI_File_preallocate => add(0, words[1] as i64),
        // The other assertions are about this process only (MPI-4.0, 12.5.5).
        MPI_Win_fence => add(0, number(0) & i64::from(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)),
        _ => return None,
    };
    Some(hash | 1)
}
