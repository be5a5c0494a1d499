//! Write MPI interception tools in safe Rust.
//!
//! A *layer* implements [`RawMpiInterceptionLayer`], whose methods are the MPI functions; a *tool*
//! is a `cdylib` with a layer and [`install_pmpi_layer!`] under it. Preloaded into a program that
//! nobody recompiled, the tool gets every MPI call first.
//!
//! ```
//! use mpi_tool_layer::{FunctionId, RawMpiInterceptionLayer, Tool, UnsafeBox, mpi_sys};
//! use mpi_sys::{MPI_Comm, MPI_Datatype, c_int, c_void};
//!
//! /// Says what it sends.
//! struct Loud;
//!
//! // SAFETY: every call goes on to MPI as it came.
//! unsafe impl RawMpiInterceptionLayer for Loud {
//!     fn send<F>(
//!         &self, next_f: UnsafeBox<F>, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
//!         dest: c_int, tag: c_int, comm: MPI_Comm,
//!     ) -> c_int
//!     where
//!         F: FnOnce(*const c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm) -> c_int,
//!     {
//!         eprintln!("{count} elements to rank {dest}");
//!         // SAFETY: the application's own call.
//!         unsafe { next_f.unwrap()(buf, count, datatype, dest, tag, comm) }
//!     }
//! }
//!
//! impl Tool for Loud {
//!     const NEW: Self = Loud;
//! }
//! // In a crate of type `cdylib`: mpi_tool_layer::install_pmpi_layer!(Loud);
//! ```
//!
//! A layer that treats all functions alike overrides [`RawMpiInterceptionLayer::around`] alone;
//! [`LayerChain`] makes one layer of two; [`FunctionCounters`] and [`ThreadCounters`] count without
//! locks, and what a tool returns from [`Tool::counters`] is merged over the ranks and written as the
//! user asked ([`options`]).

mod asking;
mod boundary;
mod call;
mod chain;
mod counters;
mod datatypes;
mod file;
#[doc(hidden)]
pub mod fortran;
mod forward;
mod function;
mod function_counters;
mod handles;
mod high;
#[doc(hidden)]
pub mod install;
mod launcher;
mod level;
mod lifecycle;
mod neighbours;
#[doc(hidden)]
pub mod note;
mod objects;
pub mod options;
mod output;
#[doc(hidden)]
pub mod qmpi;
mod raw;
mod report;
mod rows;
mod settings;
mod signals;
mod table;
mod unseen;
mod world;

pub use call::{
    Accepted, AnyCall, Call, CallResult, ErrorCode, Flow, Returned, Transfer, Transfers, Word,
    received_bytes, received_bytes_at_once,
};
pub use chain::LayerChain;
pub use counters::ThreadCounters;
pub use datatypes::{Contents, Datatypes, Derived, PredefinedDatatype};
pub use function::{
    Direction, FunctionClass, FunctionId, MpiVersion, Parameter, ParameterKind, UnknownFunction,
};
pub use function_counters::FunctionCounters;
pub use handles::{HandleMap, PendingRequests};
pub use high::*;
pub use mpi_sys;
pub use raw::{RawMpiInterceptionLayer, UnsafeBox};
pub use report::Counters;
/// Safe MPI for tools: calls that no tool sees.
pub use rmpi::pmpi_mode as rmpi;
pub use rows::Counter;
pub use settings::{Default as SettingDefault, Setting, Settings};
pub use table::{NextFunctions, NextTable};

/// A layer that can be installed.
pub trait Tool: RawMpiInterceptionLayer + Sized + 'static {
    /// The state in which every level of the tool starts.
    const NEW: Self;

    /// Settings of the tool's own, which users set as `MPI_TOOL_<TOOL>_<NAME>` and see with
    /// `MPI_TOOL_HELP=1`.
    const SETTINGS: &'static [Setting] = &[];

    /// Gets the settings: once for each level of the tool, in processes with MPI only, and before the
    /// level's first call. MPI has not been initialized then, and must not be called here.
    fn configure(&self, settings: &Settings) {
        let _ = settings;
    }

    /// What the tool counts, for the report at the program's end. A tool without counters reports
    /// nothing. The framework asks when MPI starts, and in a process without MPI when that ends; never in a
    /// signal handler.
    fn counters(&self) -> Option<&dyn Counters> {
        None
    }
}

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
