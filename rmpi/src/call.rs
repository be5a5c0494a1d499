//! What can be called as an MPI function: closures of the C prototype.
//!
//! Every wrapper of this crate has a form for tools, `send_with`, that takes the C function to call,
//! such as the next function of a tool stack. Here are the traits of these arguments, one a function
//! of MPI, each implemented by all closures of its prototype.
//!
//! A function and its large-count twin are one: `call::MPI_Send` has an `MPI_Count`, and stands for
//! `MPI_Send` and `MPI_Send_c`. Arrays of counts come in either width, as an [`Array`].

#![allow(non_camel_case_types, reason = "MPI's names")]

use core::ffi::{c_char, c_int, c_void};

use mpi_sys::prototypes::*;

/// An array of counts or displacements, as the function's two forms have it.
#[derive(Debug, Clone, Copy)]
pub enum Array {
    /// `int`s.
    Int(*const c_int),
    /// `MPI_Count`s, or `MPI_Aint`s, which look the same.
    Wide(*const MPI_Count),
}

const _: () = assert!(size_of::<MPI_Count>() == size_of::<MPI_Aint>());

rmpi_macros::call_traits! {}
