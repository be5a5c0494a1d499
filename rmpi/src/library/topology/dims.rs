//! Dimensions for a grid.

use rmpi_macros::wraps;

use super::super::error::{Error, ErrorClass, RmpiResult, check};
use super::super::group::{ints, length};
use super::super::runtime::Runtime;
use super::super::sys::c_int;
use super::common::refused;

/// Dimensions of a grid of so many points, as equal as can be; those that are not 0 stay.
/// C: `MPI_Dims_create`. Local.
///
/// # Errors
/// [`DIMS`](ErrorClass::DIMS), among others, if the number is no multiple of the dimensions that are
/// there.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let mut dims = [0, 0, 2];
/// rmpi::dims_create(world, 24, &mut dims)?;
/// assert_eq!(dims, [4, 3, 2]);
/// # Ok(()) }
/// ```
#[wraps(MPI_Dims_create)]
pub fn dims_create<R: Runtime>(runtime: &R, nodes: usize, dims: &mut [usize]) -> RmpiResult {
    let _ = runtime;
    const TOO_LARGE: &str = "a number is greater than 2147483647";
    let Ok(count) = c_int::try_from(nodes) else { return refused(TOO_LARGE) };
    let ndims = length(dims)?;
    // MPICH divides by zero, or does not come to an end.
    let given =
        dims.iter().filter(|dim| **dim > 0).try_fold(1_usize, |all, dim| all.checked_mul(*dim));
    let divisible = given.is_some_and(|given| nodes.is_multiple_of(given));
    if nodes == 0 || nodes == c_int::MAX as usize || !divisible {
        return Err(Error::refused(
            ErrorClass::DIMS,
            "the number of nodes is no multiple of the given dimensions, or not one to divide",
        ));
    }
    let mut raw = ints(dims, ErrorClass::DIMS, TOO_LARGE)?;
    // SAFETY: MPI_Dims_create reads and writes `ndims` ints, which is the array's length, and requires
    // a number that is a multiple of those that are not 0, as was asked above.
    check(unsafe { mpi.call(count, ndims, raw.as_mut_ptr()) })?;
    for (dim, raw) in dims.iter_mut().zip(&raw) {
        *dim = raw.unsigned_abs() as usize;
    }
    Ok(())
}
