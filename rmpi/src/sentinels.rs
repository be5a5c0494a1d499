//! `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY`, in both modes: constants in two ABIs, and in MPICH's
//! variables of the library, to which nothing may refer strongly that loads without MPI.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use mpi_sys::abi::{openmpi, standard};
use mpi_sys::{ABI, Abi};

/// The value of a variable; null in a process without MPI.
fn variable(number: usize) -> *mut c_int {
    let address = mpi_sys::pmpi::SENTINELS[number].load(Relaxed);
    // SAFETY: `as_ref` requires null, or an address to read from to which nobody writes: it is null
    // where there is no MPI, and else that of the library's variable, a pointer that is set when the
    // library is loaded and never again.
    unsafe { address.as_ref() }.copied().unwrap_or(core::ptr::null_mut())
}

pub(crate) fn unweighted() -> *mut c_int {
    match ABI {
        Abi::Mpich => variable(0),
        Abi::OpenMpi => openmpi::MPI_UNWEIGHTED,
        Abi::Standard => standard::MPI_UNWEIGHTED,
    }
}

pub(crate) fn weights_empty() -> *mut c_int {
    match ABI {
        Abi::Mpich => variable(1),
        Abi::OpenMpi => openmpi::MPI_WEIGHTS_EMPTY,
        Abi::Standard => standard::MPI_WEIGHTS_EMPTY,
    }
}
