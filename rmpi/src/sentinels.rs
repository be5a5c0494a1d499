//! `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY`, in both modes: constants in two ABIs, and in MPICH's
//! variables of the library, to which nothing may refer strongly that loads without MPI.

use core::arch::global_asm;
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use mpi_sys::abi::{openmpi, standard};
use mpi_sys::{ABI, Abi};

global_asm! {
    ".pushsection .data.rel.ro.rmpi_sentinels, \"aw\", @progbits",
    ".balign 8",
    ".weak MPI_UNWEIGHTED",
    ".weak MPI_WEIGHTS_EMPTY",
    ".hidden rmpi_sentinels",
    ".globl rmpi_sentinels",
    "rmpi_sentinels:",
    ".quad MPI_UNWEIGHTED",
    ".quad MPI_WEIGHTS_EMPTY",
    ".popsection",
}

unsafe extern "C" {
    // Safe to name: it is defined above, with two entries, as long as the process, and relocated before any code runs;
    // nobody writes there afterwards.
    #[link_name = "rmpi_sentinels"]
    safe static VARIABLES: [AtomicPtr<*mut c_int>; 2];
}

/// The value of a variable; null in a process without MPI.
fn variable(number: usize) -> *mut c_int {
    let address = VARIABLES[number].load(Relaxed);
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
