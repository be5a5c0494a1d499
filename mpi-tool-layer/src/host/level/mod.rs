//! A tool in a process: its life, its options, its report.
//!
//! Every tool has a [`Level`] in a static, and every level of a stack has one of its own. It is
//! told what happens in the process:
//!
//! 1. `load`, from the tool's constructor: it takes its place among the tools, and has the layer
//!    configured, if there is an MPI;
//! 2. `world_started` or `session_started`, when MPI has started: it reads the options, asks the
//!    tool for its counters, and watches signals. What reports need later is made now
//!    ([`Prepared`], in `prepared.rs`), as a signal handler cannot allocate;
//! 3. `world_ends`, before `MPI_Finalize`: it merges the counts over all ranks, and rank 0 writes
//!    the report;
//! 4. `signalled`, `report_process`, `unload`: a process that ends in another way, or counts
//!    afterwards, reports for itself.
//!
//! A report of a process has what it has counted since the merged one, and says why it is there.
//! Nothing is reported twice: the sum of all counters tells whether there is news (`report.rs`).
//!
//! Most fields are atomics, and nothing is locked: calls, threads and a signal handler may come at
//! once. A forked child inherits all of it and says nothing: the level knows which process it
//! counts in.

mod log;
mod prepared;
mod report;
mod table;

use core::ffi::c_int;
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Once, OnceLock};

pub(crate) use log::ReportedLog;
use prepared::Prepared;
use report::NOT_MERGED;
pub(crate) use table::ReportedTable;

use crate::host::any_tool::AnyTool;
use crate::host::launcher::launched_rank;
use crate::host::neighbours::{STILL_RUNNING, ToolInfo, fill_late_pmpi, find_late_mpi};
use crate::host::options::Output;
use crate::host::output::{remember_streams, say};
use crate::host::unseen::why_nothing_was_seen;
use crate::host::{marks, options, signals, world};
use crate::rows::Rows;
use crate::{Clock, FunctionId, NextTable, RunningMpi};

/// One tool of a process, or one level of a stack. `install_pmpi_layer!` makes it a static of the
/// tool. It asks the tool by its `AnyTool`, so that this code is compiled once, with the framework, and not with each
/// tool.
pub struct Level {
    /// The tool itself.
    tool: &'static dyn AnyTool,
    /// The tool's name, which the tool's own variables have in them.
    name: &'static str,
    /// The tool's version, for reports and to compare ranks by.
    version: &'static str,
    /// What reports call it: the tool's name, or that of its level in a stack.
    label: &'static str,
    /// What other tools of the process know of this one.
    info: &'static ToolInfo,
    /// The layer has got its settings.
    configured: Once,
    /// Options of this level alone, by their names without `MPI_TOOL_`.
    settings: &'static [(String, String)],
    /// Of several levels in a stack one speaks about what concerns all.
    speaks: AtomicBool,
    /// The process that the counts are of; a forked child is another one.
    process: AtomicI32,
    /// In `MPI_COMM_WORLD`; -1 as long as that is not known.
    rank: AtomicI64,
    /// The size of `MPI_COMM_WORLD`; -1 as long as that is not known.
    ranks: AtomicI64,
    /// The tool has heard that the world has started, and not that it ends.
    has_started: AtomicBool,
    /// Is there a world to merge the report over?
    world: AtomicBool,
    /// How many sessions are open.
    sessions: AtomicUsize,
    /// Set at the first start of MPI in the process.
    prepared: OnceLock<Prepared>,
    /// A report is being written.
    writing: AtomicBool,
    /// When the tool saw the process first, by its clock; 0 if nobody asks.
    began: AtomicU64,
    /// The constructor's work is done.
    loaded: Once,
    /// The table has been filled.
    has_mpi: AtomicBool,
}

/// How a level of a stack differs from the tool alone: its name, its options, and whether it is the
/// one that speaks.
#[doc(hidden)]
pub struct LevelRequest {
    /// What reports call the level; its file names have it, too.
    pub label: &'static str,
    /// Options of this level alone, by their names without `MPI_TOOL_`.
    pub settings: &'static [(String, String)],
    /// Is it the level that says what concerns all?
    pub speaks: bool,
}

impl Level {
    /// A preloaded tool, before anything has happened: a constant, as the tool is a static.
    #[doc(hidden)]
    pub const fn new(
        tool: &'static dyn AnyTool,
        name: &'static str,
        version: &'static str,
        info: &'static ToolInfo,
    ) -> Self {
        Self {
            tool,
            name,
            version,
            label: name,
            info,
            configured: Once::new(),
            settings: &[],
            speaks: AtomicBool::new(true),
            process: AtomicI32::new(0),
            rank: AtomicI64::new(-1),
            ranks: AtomicI64::new(-1),
            has_started: AtomicBool::new(false),
            world: AtomicBool::new(false),
            sessions: AtomicUsize::new(0),
            prepared: OnceLock::new(),
            writing: AtomicBool::new(false),
            began: AtomicU64::new(0),
            loaded: Once::new(),
            has_mpi: AtomicBool::new(false),
        }
    }

    /// The same for a level of a stack, in the process that it is made in.
    #[doc(hidden)]
    pub fn in_stack(
        tool: &'static dyn AnyTool,
        name: &'static str,
        version: &'static str,
        info: &'static ToolInfo,
        request: LevelRequest,
    ) -> Self {
        Self {
            label: request.label,
            settings: request.settings,
            speaks: AtomicBool::new(request.speaks),
            process: AtomicI32::new(process_id()),
            ..Self::new(tool, name, version, info)
        }
    }

    /// The tool's name and version: other stacks that run the tool are told both.
    pub(crate) fn tool_and_version(&self) -> (&'static str, &'static str) {
        (self.name, self.version)
    }

    /// The tool has another role in this process: nobody is surprised that it sees nothing here.
    #[doc(hidden)]
    pub fn silence(&self) {
        self.speaks.store(false, Relaxed);
    }

    /// The tool's constructor: runs in every process that the tool is loaded into, launchers and
    /// shells included, so it does little where there is no MPI. A call that comes before the
    /// constructor runs it; it runs once.
    #[doc(hidden)]
    pub fn load(&self, table: &NextTable) {
        self.loaded.call_once(|| {
            self.process.store(process_id(), Relaxed);
            options::remember_folder();
            self.has_mpi.store(self.info.take_place(table), Release);
            if !self.has_mpi.load(Relaxed) {
                // SAFETY: `to_all_hosts` changes the environment in Open MPI's launcher only, and
                // wants one thread there. This runs in a constructor of the launcher, before its
                // `main`, which starts its threads.
                unsafe { crate::host::forward::to_all_hosts() };
            }
            if self.has_mpi.load(Relaxed) {
                self.begin();
            }
            if options::is_on("MPI_TOOL_HELP") && launched_rank().unwrap_or(0) == 0 {
                let help = options::help_with(self.name, self.version, self.tool.settings());
                say(format_args!("{help}"));
            }
        });
    }

    /// For a call that finds the table as it was at first: has this process an MPI by now?
    #[doc(hidden)]
    pub fn has_mpi(&self, table: &NextTable) -> bool {
        self.load(table);
        if !self.has_mpi.load(Acquire) && find_late_mpi(table) {
            self.begin();
            self.has_mpi.store(true, Release);
        }
        self.has_mpi.load(Acquire)
    }

    /// In a process with MPI, before the layer's first call.
    pub(crate) fn begin(&self) {
        remember_streams();
        self.configure();
        if self.tool.table().is_some() || self.tool.log().is_some() {
            self.began.store(Clock::now(), Relaxed);
        }
    }

    /// For how long the tool has watched the process, in nanoseconds.
    fn wall_time(&self) -> u64 {
        let began = self.began.load(Relaxed);
        if began == 0 { 0 } else { Clock::nanoseconds(Clock::now().saturating_sub(began)) }
    }

    /// Gives the layer its settings, once. Nothing is read where there are none.
    pub(crate) fn configure(&self) {
        if self.tool.settings().is_empty() {
            return;
        }
        self.configured.call_once(|| self.tool.configure(&self.options().own));
    }

    /// The tool's destructor, at the end of the process: reports what has not been reported, or
    /// says why nothing was seen. A forked child's does nothing.
    #[doc(hidden)]
    pub fn unload(&self) {
        if self.is_child() {
            return;
        }
        if self.prepared.get().is_some() {
            self.report_process(self.why_alone("the process ended without MPI_Finalize"));
        } else if self.has_counted() {
            self.prepared();
            self.report_process("MPI was never initialized");
        } else {
            self.say_nothing_seen();
        }
    }

    /// Has the tool counted anything? For a process in which MPI has not started.
    fn has_counted(&self) -> bool {
        if let Some(ReportedTable { table, .. }) = self.tool.table() {
            return table.count() > 0;
        }
        if let Some(ReportedLog { log, .. }) = self.tool.log() {
            return log.count() > 0;
        }
        let Some(rows) = self.tool.counters().map(Rows::of) else { return false };
        (0..rows.len()).any(|index| rows.value(index) > 0)
    }

    /// After `MPI_Init` or `MPI_Init_thread`: rank and size are known from here on.
    pub(crate) fn world_started(&self) {
        self.started();
        if let Some((rank, ranks)) = world::position() {
            self.rank.store(rank.into(), Relaxed);
            self.ranks.store(ranks.into(), Relaxed);
            self.world.store(true, Release);
        }
        let prepared = self.prepared();
        self.complain(prepared);
        self.has_started.store(true, Release);
        self.tool.started(&RunningMpi::new());
    }

    /// After `MPI_Session_init`. A session has no rank; the launcher's is used where it says one.
    pub(crate) fn session_started(&self) {
        self.started();
        let runs = self.sessions.fetch_add(1, AcqRel) > 0 || self.world.load(Acquire);
        let first = self.prepared.get().is_none();
        let prepared = self.prepared();
        if first {
            self.complain(prepared);
        }
        if !runs {
            self.tool.started(&RunningMpi::without_world());
        }
    }

    /// What both starts have in common.
    fn started(&self) {
        self.process.store(process_id(), Relaxed);
        // A tool in front of others sees the next one's functions, and MPI may have come later.
        fill_late_pmpi();
        if let Some(rank) = launched_rank() {
            // Until MPI says it.
            let _ = self.rank.compare_exchange(-1, rank.into(), Relaxed, Relaxed);
        }
    }

    /// Before `MPI_Finalize`, the first time: the report of all ranks. Collective, as
    /// `MPI_Finalize` is. A failure to merge ends in a report of each process, and never in an
    /// error of the application's.
    pub(crate) fn world_ends(&self) {
        // The rank is the process that has forked, and not its child, which may call MPI_Finalize all the same (mpi4py does so
        // in its handler of `exit`). A child must not take part in what the ranks do together.
        if self.is_child() {
            return;
        }
        if self.has_started.swap(false, AcqRel) {
            self.tool.ending(&RunningMpi::new());
        }
        if !self.world.swap(false, AcqRel) || !world::is_active() {
            return;
        }
        let prepared = self.prepared();
        let report = || match prepared {
            Prepared { table: Some(table), .. } => {
                (table.reported_table.of_world)(self, table, prepared)
            }
            Prepared { log: Some(log), .. } => (log.reported.of_world)(self, log, prepared),
            Prepared { rows: Some(rows), .. } => self.report_world(rows, prepared),
            _ => Ok(()),
        };
        if !prepared.options.merge {
            self.report_process(NOT_MERGED);
        } else if report().is_err() {
            self.report_process("the ranks' reports could not be merged");
        } else {
            marks::reported();
            // All that this process's earlier report had is in the merged one.
            if let Some([_, process]) = &prepared.files {
                process.remove_own();
            }
        }
    }

    /// Before `MPI_Session_finalize`: the last one of a process without a world makes a report of
    /// the process.
    pub(crate) fn session_ends(&self) {
        let last =
            self.sessions.fetch_update(AcqRel, Acquire, |count| count.checked_sub(1)) == Ok(1);
        if last && !self.world.load(Acquire) && !self.is_child() {
            self.tool.ending(&RunningMpi::without_world());
            self.report_process(self.why_alone("sessions have no world to merge over"));
        }
    }

    /// For [`ToolInfo`]: a signal is about to end the process, or the process ends in another way (`ends.rs`), or it does not
    /// ([`STILL_RUNNING`]). May run in a signal's handler, so it takes what is prepared, and does nothing before MPI has
    /// started.
    #[doc(hidden)]
    pub fn signalled(&self, signal: c_int) {
        if signal == STILL_RUNNING {
            return self.report_early();
        }
        let is_wanted = |prepared: &Prepared| signal < 0 || prepared.options.signals;
        if self.prepared.get().is_some_and(is_wanted) {
            self.ends(signals::name(signal));
        }
    }

    /// Is this another process than the one that is counted in?
    fn is_child(&self) -> bool {
        self.process.load(Relaxed) != process_id()
    }

    /// The process is about to end in the middle of MPI. May run in a signal handler.
    pub(crate) fn ends(&self, how: &'static str) {
        if !self.is_child() {
            self.tool.ends(how);
        }
        self.report_process(how);
    }

    /// A panic in the layer: nothing that MPI or the application could do about it.
    #[doc(hidden)]
    #[cold]
    pub fn panicked(&self, function: FunctionId, message: &str) -> ! {
        let tool = self.label;
        match self.known_rank().or_else(|| launched_rank().map(u64::from)) {
            Some(rank) => {
                say(format_args!(
                    "{tool}: panic in {function} on rank {rank}: {message}; aborting"
                ));
            }
            None => say(format_args!(
                "{tool}: panic in {function} in process {} (no rank yet): {message}; aborting",
                process_id()
            )),
        }
        std::process::abort();
    }

    /// The rank in `MPI_COMM_WORLD`, or the launcher's as long as MPI has not said one.
    fn known_rank(&self) -> Option<u64> {
        u64::try_from(self.rank.load(Relaxed)).ok()
    }

    /// A process with MPI of which the tool saw nothing: say why that may be.
    fn say_nothing_seen(&self) {
        if launched_rank().unwrap_or(0) != 0 || !self.speaks.load(Relaxed) {
            return;
        }
        let Some(why) = why_nothing_was_seen() else { return };
        if self.options().output != Output::None {
            // The tool may watch some functions only, and the program have called others.
            let counts = self.tool.counters().is_some()
                || self.tool.table().is_some()
                || self.tool.log().is_some();
            let counted = if counts { ", and counted nothing" } else { "" };
            say(format_args!(
                "{}: did not see MPI start in this process{counted}: {why}",
                self.name
            ));
        }
    }
}

/// The process, by which a forked child is told from its parent.
fn process_id() -> i32 {
    // SAFETY: `getpid` takes nothing, always succeeds, and may be called anywhere.
    unsafe { libc::getpid() }
}
