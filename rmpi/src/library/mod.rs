// The safe library; compiled over `MPI_*` as the crate's root and over `PMPI_*` as `pmpi_mode`.
// Nothing here names a C function but through `Library`, or `sys`, of its mode.

use super::sys;

mod attribute;
mod blocks;
mod buffer;
mod calling;
mod collective;
mod collective_reduce;
mod collective_v;
mod combiner;
mod communicator;
mod context;
mod datatype;
mod derived;
mod epoch;
mod errhandler;
mod error;
mod failure;
mod file;
mod group;
mod hints;
mod info;
mod intercommunicator;
mod layout;
#[cfg(feature = "ndarray")]
mod nd;
mod neighborhood;
mod one_sided;
mod operation;
mod pack;
mod partitioned;
mod process;
mod request;
mod runtime;
mod sections;
mod session;
mod settings;
mod status;
mod strided;
mod tool_interface;
mod topology;
mod typed;
#[cfg(feature = "serde")]
mod typed_collective;
mod vectors;
mod window;

pub use attribute::*;
pub use blocks::*;
pub use buffer::*;
pub use combiner::*;
pub use communicator::*;
pub use context::*;
pub use datatype::*;
pub use derived::*;
pub use epoch::*;
pub use errhandler::*;
pub use error::*;
pub use file::*;
pub use group::*;
pub use info::*;
pub use intercommunicator::*;
pub use one_sided::*;
pub use operation::*;
pub use pack::*;
pub use partitioned::*;
pub use process::*;
pub use request::*;
pub use runtime::*;
pub use sections::*;
pub use session::*;
pub use status::*;
pub use strided::*;
pub use tool_interface::*;
pub use topology::*;
pub use typed::*;
pub use window::*;

/// The MPI library: can be called as any function of [`call`](crate::call).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Library;

mod library_calls {
    use core::ffi::{c_char, c_int, c_void};

    use super::{Library, sys};
    use mpi_sys::prototypes::*;

    rmpi_macros::call_library! {}
}
