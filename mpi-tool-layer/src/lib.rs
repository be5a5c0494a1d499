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
//!
//! # What an author decides
//!
//! 1. *Which kind of layer.* [`MpiInterceptionLayer`] gets arguments that are grouped and typed,
//!    merges `MPI_Send` and `MPI_Send_c` into one method, and is written without `unsafe`; it is
//!    the right one for nearly every tool. [`RawMpiInterceptionLayer`] gets C's arguments as they
//!    are, and is the one for layers that replace calls by other calls, or that want the arguments
//!    of functions that return no error code (`MPI_Wtime`), of `MPI_Pcontrol`, of the `MPI_T_*` or of
//!    the conversions of handles. A high-level layer can see these functions without their arguments
//!    ([`MpiInterceptionLayer::around_untyped`]). Each high-level layer is a raw one as well, so
//!    whatever takes a raw layer takes both.
//!
//! 2. *Which functions.* One method for each function of interest, or `around` for all that have no
//!    method of their own. What a layer does not override costs nothing.
//!
//! 3. *What to count.* [`FunctionCounters`] for a number a function, [`ThreadCounters`] for any
//!    other fixed set of numbers, an atomic of the tool's own for what is no sum over threads. What
//!    [`Tool::counters`] returns is reported; whoever wants another report writes it, and has
//!    `rmpi` to communicate with (the feature of that name).
//!
//! 4. *What to measure.* Where the names of the numbers are not known beforehand, or a sum is not
//!    enough, a [`Table`] adds up measures by a key of the author's own: how many values there were,
//!    their sum, the least and the greatest with their ranks, and how much they vary.
//!    [`Clock`] tells the time, [`Site`] where in the application a call comes from, and [`Traffic`]
//!    which data have moved and for which call. A table that [`Tool::table`] returns is merged over
//!    the ranks and written, too; `mpi-tool report` shows its call sites as source lines.
//!
//!    What is to be told one by one goes to a [`Log`], and what goes up and down to [`Gauges`].
//!
//! 5. *What users can set.* [`Tool::SETTINGS`] declares it, [`Tool::configure`] gets it.
//!
//! 6. *How it is installed.* [`install_pmpi_layer!`] for `LD_PRELOAD` alone,
//!    [`install_qmpi_layer!`] for a tool that can also be a level of a stack. A tool that asks for call
//!    sites says so there.
//!
//! # What holds for every layer
//!
//! * *Threads.* A layer is `Sync` and is used through `&self`. Several threads are in it at once if
//!   the application runs with `MPI_THREAD_MULTIPLE`, and a thread is in it several times over
//!   where MPI calls back into the application, which calls MPI. So no lock may be held while the
//!   next function runs.
//!
//! * *Time.* A call may come before `MPI_Init` (`MPI_Initialized`, `MPI_Session_init`) and after
//!   `MPI_Finalize` (`MPI_Finalized`). Constructors of other libraries may call before the tool's
//!   own constructor has run.
//!
//! * *Processes.* The tool is loaded into every process that inherits `LD_PRELOAD`, launchers and
//!   shells included, most of which never call MPI. A forked child has the tool's memory and
//!   reports nothing.
//!
//! * *Arguments.* They are the application's, right or wrong. Nothing may be read through a
//!   pointer, and MPI must not be asked about a handle, before MPI has accepted the call; the types
//!   of the high-level layer see to that ([`Accepted`]).
//!
//! * *Results.* The application must not notice the tool: results, statuses and error codes go back
//!   as MPI gave them, and a tool prints nothing of its own that grows with the number of ranks.
//!
//! * *Panics.* A panic in a layer does not reach the application. It is reported with the tool, the
//!   rank and the function, and ends the process by `abort`. A layer cannot catch one of its own in a call. Exceptions that
//!   callbacks of the application throw pass through layers, as through MPI.
//!
//! * *Calls of the tool's own* go through `rmpi` or [`mpi_sys::pmpi`], past all tools. What goes
//!   through the next functions ([`UnsafeBox::table`]) is seen by the tools below.
//!
//! # Where what is
//!
//! | for | see |
//! |---|---|
//! | what can be asked of any call | [`Call`], [`Transfer`], [`Flow`] |
//! | the types of arguments | [`TypeDynamicBufferRef`], [`RankOf`], [`Communicator`], [`Out`], [`Value`], [`arg`] |
//! | the types of next functions | [`next`] |
//! | functions, parameters and their kinds as data | [`FunctionId`], [`Parameter`], [`FunctionClass`] |
//! | sizes and contents of datatypes | [`Datatypes`], [`PredefinedDatatype`] |
//! | what is kept of objects and of requests | [`HandleMap`], [`PendingRequests`] |
//! | counters and reports | [`Counters`], [`Counter`], [`Gauges`], [`Log`] |
//! | when MPI starts and ends | [`Tool::started`], [`Tool::ending`], [`RunningMpi`] |
//! | time, measures by key, call sites, data on their way | [`Clock`], [`Table`], [`Site`], [`Caller`], [`Traffic`], [`Nesting`], [`Files`] |
//! | what makes a tool fast, and is never needed | [`FastPath`], [`OutOfLine`], [`Compiled`] |
//! | two layers in one tool | [`LayerChain`] |
//!
//! `docs/writing-a-tool.md` leads through the first tools, and the crate's `examples` are whole
//! ones. `docs/architecture.md` names the files of this crate in the order in which to read them.
//!
//! # For those who change this crate
//!
//! Most of it is written once for all functions, by macros over the list in `mpi-sys`. In reading
//! order:
//!
//! * `function.rs`, `call/word.rs`: functions and arguments as data. `raw.rs`, `table.rs`,
//!   `chain.rs`: layers over C's types, the functions below them, and two layers as one.
//!
//! * `call/`: what can be asked of a call. `values.rs` has ranks, tags and handles, `transfers.rs` finds out what data
//!   move. `asking.rs` alone asks MPI about the application's objects, and takes proofs instead of handles.
//!
//! * `high/`: layers over types that say what they are. What expands for each function is in
//!   `tool-macros`.
//!
//! * `kit/`: what measuring tools use, and the reports of tables.
//!
//! * `counters/`, `function_counters.rs`: counting. `datatypes.rs`, `handles.rs`: what layers
//!   remember of datatypes, objects and requests.
//!
//! * `host/`: from a layer to a tool, a tool's life in a process, what else is in the process, and the report. Its
//!   `mod.rs` names the files. `registers.rs`: assembly that leaves the registers of a call as they are.
//!
//! * `rows.rs`, `settings.rs`: what an author says of counters and of settings.
//!
//! * `qmpi/`: a tool as a level of a stack, ours or another. `fortran/`: calls of Fortran as calls
//!   of C.
//!
//! Code that reports may run in a signal handler: no allocation, no lock, and nothing of a tool's
//! author. Code in intercepting functions is `#[inline(always)]`, or cold and out of line;
//! `tests/code.rs` looks at the instructions that come out.

#[doc(hidden)]
pub mod arch;
mod call;
mod chain;
mod compiled;
mod counters;
mod datatypes;
#[doc(hidden)]
pub mod fortran;
mod function_counters;
mod functions;
mod gauges;
mod handles;
mod high;
mod host;
mod kit;
mod pending_requests;
#[doc(hidden)]
pub mod qmpi;
mod raw;
mod rows;
mod settings;
mod table;

#[doc(hidden)]
pub use arch::argument_aside;
pub use call::{
    Accepted, AnyCall, Call, CallResult, ErrorCode, Flow, OutOfLine, Returned, Transfer, Transfers,
    Word, may_be_one_of, received_bytes, received_bytes_at_once,
};
pub use chain::LayerChain;
pub use compiled::Compiled;
pub use counters::ThreadCounters;
pub use datatypes::{Contents, Datatypes, Derived, PredefinedDatatype};
pub use function_counters::FunctionCounters;
pub use gauges::Gauges;
pub use handles::HandleMap;
pub use high::*;
pub use host::ends::after_all;
pub use host::launcher::{
    launched_on_one_host, launched_rank, launched_ranks, rank_among_strangers,
};
pub use host::mapped::{InChild, MappedFile, in_forked_children, is_forked_child};
pub use host::noted::NotesMessages;
pub use host::options;
pub use host::output::{print, say};
pub use host::report::Counters;
pub use host::room::{make_room, may_have_bytes};
pub use host::running::RunningMpi;
pub use host::world::position as world_position;
pub use host::writing::without_signals;
#[doc(hidden)]
pub use host::{entry, install, linker, marks, note, run};
pub use kit::{
    AnyLog, AnyTable, Caller, Cell, Clock, CodePlace, CommunicatorLayer, Communicators, Complete,
    Exchange, Files, Keeps, KeptMessage, KnownComm, KnownGroups, KnownRow, Log, Measure,
    MeasureUnit, Members, Moments, Nesting, Part, PartKind, Parts, Peer, PeerTable, PythonPlace,
    RowKey, STARTED_MESSAGES, Site, SizeClass, Stretch, TRAFFIC, Table, Tally, ThisThread,
    ThreadWord, TrackedComm, Traffic, copy_memory,
};
pub use mpi_facts::{
    Direction, FunctionClass, FunctionId, MpiVersion, Parameter, ParameterKind, UnknownFunction,
};
pub use mpi_sys;
pub use pending_requests::PendingRequests;
pub use raw::{RawMpiInterceptionLayer, UnsafeBox};
/// Safe MPI for tools: calls that no tool sees. With the feature `rmpi`.
#[cfg(feature = "rmpi")]
pub use rmpi::pmpi_mode as rmpi;
pub use rows::Counter;
pub use settings::{Default as SettingDefault, Setting, Settings};
pub use table::{NextFunctions, NextTable};

/// A layer that can be installed: what [`install_pmpi_layer!`] and [`install_qmpi_layer!`] take.
///
/// The layer says what happens to calls, the tool what there is around them: a beginning, settings,
/// and counters for a report. Everything but [`NEW`](Self::NEW) has a default. A preloaded tool is
/// one static value of the type; in a stack each level of the tool is another value, with settings
/// and a report of its own.
///
/// Nothing is dropped: a tool lives as long as its process.
pub trait Tool: RawMpiInterceptionLayer + Sized + 'static {
    /// The state in which every level of the tool starts. It is a constant, since the tool is a
    /// static that is there before any code of the process runs; what must be computed at run time
    /// waits for [`configure`](Self::configure) or for the first call (`OnceLock`).
    const NEW: Self;

    /// Settings of the tool's own, which users set as `MPI_TOOL_<TOOL>_<NAME>` and see with
    /// `MPI_TOOL_HELP=1`. Names that all tools understand (`OUTPUT`, `FORMAT` and so on:
    /// [`options`]) are the framework's and must not be declared. A value that a setting cannot
    /// have is reported once a run, and the default is used instead.
    const SETTINGS: &'static [Setting] = &[];

    /// Gets the settings: once for each level of the tool, in processes with MPI only, and before
    /// the level's first call. MPI has not been initialized then, and must not be called here. It
    /// is called only if the tool declares settings, as a rule from the tool's constructor, before
    /// `main`; so it should be short, and store what it reads in atomics or a `OnceLock`.
    fn configure(&self, settings: &Settings) {
        let _ = settings;
    }

    /// What the tool counts, for the report at the program's end. A tool without counters reports
    /// nothing.
    ///
    /// The framework asks when MPI starts, and in a process without MPI when that ends; never in a
    /// signal handler. What it is told then is kept, so the answer must not depend on when the
    /// question comes. Reports read the counters' memory themselves: merged over the ranks in
    /// `MPI_Finalize`, and of a single process where there is no such end.
    fn counters(&self) -> Option<&dyn Counters> {
        None
    }

    /// What the tool measures by key ([`Table::any`]), for the report at the program's end: asked for and reported as
    /// [counters](Self::counters) are. A tool that has a table reports that, and no counters.
    fn table(&self) -> Option<&AnyTable> {
        None
    }

    /// Who has sent how much to whom, for the matrix in the report of the [table](Self::table): asked for as that is.
    fn peers(&self) -> Option<&PeerTable> {
        None
    }

    /// Rows that the tool has written down ([`Log::any`]), for the report at the program's end: asked for and reported as
    /// [counters](Self::counters) are. A tool that has a table reports that, and one that has a log reports that, and no
    /// counters.
    fn log(&self) -> Option<&AnyLog> {
        None
    }

    /// MPI has started: `MPI_Init` or `MPI_Init_thread` has succeeded and not returned yet, or `MPI_Session_init` has in a
    /// process that had neither a world nor a session just now. So a process may hear of it several times.
    fn started(&self, mpi: &RunningMpi) {
        let _ = mpi;
    }

    /// MPI is about to end: `MPI_Finalize` has been called and not passed on yet, or `MPI_Session_finalize` of the last session
    /// of a process that has no world. The report is written afterwards, so what is counted here is in it.
    fn ending(&self, mpi: &RunningMpi) {
        let _ = mpi;
    }

    /// What the tool does when the process is about to end in the middle of MPI: by a signal that the program does not handle, by
    /// `_exit` or `quick_exit`, or by `MPI_Abort`. It gets the words of a report's `reason`.
    ///
    /// May run in a signal handler, which may have interrupted anything: it must not allocate, lock or call MPI. It may be
    /// called more than once, and the process may go on all the same. A process that returns from `main` or calls `exit`
    /// runs [destructors](after_all) instead.
    const ENDS: Option<fn(&Self, &'static str)> = None;
}

/// The examples of this crate's README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
