//! All 700 functions of MPI as Rust sees C: declarations, types and constants of the three ABIs.
//!
//! * the crate's root: `MPI_*`, which tools can intercept, and the types and constants of the ABI
//!   of the MPI that `$MPICC` (default `mpicc`) stands for;
//! * [`pmpi`]: the same names over `PMPI_*`, which no tool can intercept. `use mpi_sys::pmpi as
//!   mpi_sys;` turns any code into such code. It refers to the library weakly, so that what is
//!   built on it loads into processes without MPI;
//! * [`abi`]: types and constants of all ABIs, whichever the crate is built for;
//! * [`mpi_functions!`]: the list from which all of it expands, of the crate `rmpi-facts`.
//!
//! Everything here is `unsafe` as C is: a call asks for what the MPI standard asks for.

pub mod abi;
pub mod pmpi;

#[cfg(mpi_abi = "mpich")]
use abi::mpich as current;
#[cfg(mpi_abi = "openmpi")]
use abi::openmpi as current;
#[cfg(mpi_abi = "standard")]
use abi::standard as current;

#[allow(unused_imports, unreachable_pub, reason = "one ABI has no handles that are addresses")]
pub use current::handles::*;
pub use current::*;

#[doc(no_inline)]
pub use core::ffi::{c_char, c_int, c_void};
#[doc(no_inline)]
pub use mpi_facts::{Abi, mpi_functions};

/// What the list's prototypes are made of and no more, for the macros of other crates.
pub mod prototypes {
    pub use crate::current::*;
    #[doc(no_inline)]
    pub use core::ffi::{c_char, c_int, c_void};
}

include!(concat!(env!("OUT_DIR"), "/probed.rs"));

/// The example of the README is compiled.
#[cfg(all(doctest, feature = "link"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The ABI that this crate was built for.
pub const ABI: Abi = if cfg!(mpi_abi = "mpich") {
    Abi::Mpich
} else if cfg!(mpi_abi = "openmpi") {
    Abi::OpenMpi
} else {
    Abi::Standard
};

/// What a function returns that the MPI library lacks: an error, where it can say so.
pub trait MissingResult {
    /// That value.
    const MISSING: Self;
}

impl MissingResult for c_int {
    const MISSING: Self = MPI_ERR_UNSUPPORTED_OPERATION;
}

impl MissingResult for f64 {
    const MISSING: Self = 0.0;
}

impl MissingResult for MPI_Aint {
    const MISSING: Self = 0;
}

impl<T> MissingResult for *mut T {
    const MISSING: Self = core::ptr::null_mut();
}

macro_rules! declare {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        #[allow(clashing_extern_declarations, reason = "Open MPI's event types are stand-ins")]
        // The prototypes are the header's: `tests/headers.rs` compares them with those of the MPI in use.
        unsafe extern "C" {
            $(
                #[doc = concat!("`", stringify!($c_name), "`, since MPI-", stringify!($version), ".")]
                pub fn $c_name($($arg: $ty),*) -> $ret;
            )*
        }
    };
}
mpi_functions! { [declare] }
