// The safe library; compiled over `MPI_*` as the crate's root and over `PMPI_*` as `pmpi_mode`.
// Nothing here names a C function but through `Library`, or `sys`, of its mode.

use super::sys;

mod buffer;
mod communicator;
mod context;
mod datatype;
mod error;
mod process;
mod request;
mod session;
mod status;

pub use buffer::*;
pub use communicator::*;
pub use context::*;
pub use datatype::*;
pub use error::*;
pub use process::*;
pub use request::*;
pub use status::*;

/// The MPI library: can be called as any function of [`call`](crate::call).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Library;

mod library_calls {
    use core::ffi::{c_char, c_int, c_void};

    use super::{Library, sys};
    use mpi_sys::prototypes::*;

    mpi_sys::mpi_functions! { [tool_macros::call_library] }
}
