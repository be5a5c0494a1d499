//! The place of the safe MPI library, over [`mpi_sys`]. It has no functions yet: programs and tools
//! use `mpi_sys` and `mpi-tool-layer`.

pub use mpi_sys;
