//! A tool in a process: its life, its options, its report.
//!
//! Every tool has a [`Level`] in a static, and every level of a stack has one of its own. It is
//! told what happens in the process:
//!
//! 1. `load`, from the tool's constructor: it takes its place among the tools, and has the layer
//!    configured, if there is an MPI;
//! 2. `world_started` or `session_started`, when MPI has started: it reads the options, asks the
//!    tool for its counters, and watches signals. What reports need later is made now
//!    ([`Prepared`]), as a signal handler cannot allocate;
//! 3. `world_ends`, before `MPI_Finalize`: it merges the counts over all ranks, and rank 0 writes
//!    the report;
//! 4. `signalled`, `report_process`, `unload`: a process that ends in another way, or counts
//!    afterwards, reports for itself.
//!
//! A report of a process has what it has counted since the merged one, and says why it is there.
//! Nothing is reported twice: the sum of all counters tells whether there is news.
//!
//! Most fields are atomics, and nothing is locked: calls, threads and a signal handler may come at
//! once. A forked child inherits all of it and says nothing: the level knows which process it
//! counts in.

use core::ffi::{CStr, c_int};
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::ffi::CString;
use std::sync::{Once, OnceLock};

use mpi_sys::Abi;

use crate::file::ReportFile;
use crate::launcher::{Launched, launched_elsewhere, launched_rank, launched_ranks};
use crate::neighbours::{ToolInfo, fill_late_pmpi, find_late_mpi};
use crate::options::{Format, Options, Output};
use crate::output::{Sink, is_terminal, reason, say};
use crate::report::{Report, Row, Scope};
use crate::rows::Rows;
use crate::settings::Setup;
use crate::unseen::why_nothing_was_seen;
use crate::{Counters, FunctionId, NextTable, options, signals, world};

/// Why a process reports for itself: all is well otherwise, and its merged report is there. What it
/// has counted came after that.
const LATE: &str = "calls after the merged report";
/// The user wants a report a rank.
const NOT_MERGED: &str = "MPI_TOOL_MERGE=0";

/// One tool of a process, or one level of a stack. `install_pmpi_layer!` makes it a static of the
/// tool. The layer itself is not in it: its counters and its settings are reached through functions
/// ([`Source`], [`Setup`]), so that this code is compiled once, with the framework, and not with
/// each tool.
pub struct Level {
    /// The tool's name, which the tool's own variables have in them.
    tool: &'static str,
    /// The tool's version, for reports and to compare ranks by.
    version: &'static str,
    /// What reports call it: the tool's name, or that of its level in a stack.
    label: &'static str,
    /// What other tools of the process know of this one.
    info: &'static ToolInfo,
    /// How to ask the layer for its counters.
    counters: Source,
    /// The tool's own settings.
    setup: Setup,
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
    /// Is there a world to merge the report over?
    world: AtomicBool,
    /// How many sessions are open.
    sessions: AtomicUsize,
    /// Set at the first start of MPI in the process.
    prepared: OnceLock<Prepared>,
    /// A report is being written.
    writing: AtomicBool,
    /// The constructor's work is done.
    loaded: Once,
    /// The table has been filled.
    has_mpi: AtomicBool,
}

/// Where the counters are: a function, and what it gets. For a preloaded tool that is null, since
/// the function knows its static; for a level of a stack it is the level's layer.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Source {
    find: fn(*const ()) -> Option<&'static dyn Counters>,
    of: *const (),
}

// SAFETY: A value must be usable in other threads. `of` is null or the address of a level's
// instance with its layer, which is `Sync` and lives as long as the process; only `find` and the
// setup's `configure` use it, by a shared reference.
unsafe impl Send for Source {}
// SAFETY: as above: threads share nothing but that address.
unsafe impl Sync for Source {}

impl Source {
    /// Counters that `find` gets from `of`: null, or a layer's address that is valid for ever.
    #[doc(hidden)]
    pub const fn new(find: fn(*const ()) -> Option<&'static dyn Counters>, of: *const ()) -> Self {
        Self { find, of }
    }

    /// Asks the tool. Runs its code, so not in a signal handler.
    fn get(&self) -> Option<&'static dyn Counters> {
        (self.find)(self.of)
    }
}

/// What a report needs, made where allocation is allowed: at the first start of MPI in the process,
/// or at its end if MPI has not started. It does not change any more, but for its atomics.
struct Prepared {
    /// What the user has set.
    options: Options,
    /// What the tool counts. The tool is not asked again: a signal handler runs none of its code.
    rows: Option<Rows>,
    /// Where the merged report goes and that of this process alone, if to files.
    files: Option<[ReportFile; 2]>,
    /// Of all processes of a run, this one prints: rank 0.
    prints: bool,
    /// There are others, by MPI's word or the launcher's.
    others: bool,
    /// What a launcher says that MPI knows nothing of.
    elsewhere: Option<Launched>,
    /// Does the tool say which file a report is in?
    says_where: bool,
    /// What the merged report had of this process.
    merged: Box<[AtomicU64]>,
    /// The sum of all counters at the last report.
    last_sum: AtomicU64,
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
        tool: &'static str,
        version: &'static str,
        info: &'static ToolInfo,
        counters: Source,
    ) -> Self {
        Self {
            tool,
            version,
            label: tool,
            info,
            counters,
            setup: Setup::NONE,
            configured: Once::new(),
            settings: &[],
            speaks: AtomicBool::new(true),
            process: AtomicI32::new(0),
            rank: AtomicI64::new(-1),
            ranks: AtomicI64::new(-1),
            world: AtomicBool::new(false),
            sessions: AtomicUsize::new(0),
            prepared: OnceLock::new(),
            writing: AtomicBool::new(false),
            loaded: Once::new(),
            has_mpi: AtomicBool::new(false),
        }
    }

    /// The same for a tool with settings of its own.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_setup(mut self, setup: Setup) -> Self {
        self.setup = setup;
        self
    }

    /// The same for a level of a stack, in the process that it is made in.
    #[doc(hidden)]
    pub fn in_stack(
        tool: &'static str,
        version: &'static str,
        info: &'static ToolInfo,
        counters: Source,
        request: LevelRequest,
    ) -> Self {
        Self {
            label: request.label,
            settings: request.settings,
            speaks: AtomicBool::new(request.speaks),
            process: AtomicI32::new(process_id()),
            ..Self::new(tool, version, info, counters)
        }
    }

    /// The tool's name and version: other stacks that run the tool are told both.
    pub(crate) fn tool_and_version(&self) -> (&'static str, &'static str) {
        (self.tool, self.version)
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
            self.has_mpi.store(self.info.take_place(table), Release);
            if !self.has_mpi.load(Relaxed) {
                // SAFETY: `to_all_hosts` changes the environment in Open MPI's launcher only, and
                // wants one thread there. This runs in a constructor of the launcher, before its
                // `main`, which starts its threads.
                unsafe { crate::forward::to_all_hosts() };
            }
            if self.has_mpi.load(Relaxed) {
                self.configure();
            }
            if options::is_on("MPI_TOOL_HELP") && launched_rank().unwrap_or(0) == 0 {
                let help = options::help_with(self.tool, self.version, self.setup.declared);
                say(format_args!("{help}"));
            }
        });
    }

    /// For a call that finds the table as it was at first: has this process an MPI by now?
    #[doc(hidden)]
    pub fn has_mpi(&self, table: &NextTable) -> bool {
        self.load(table);
        if !self.has_mpi.load(Acquire) && find_late_mpi(table) {
            self.configure();
            self.has_mpi.store(true, Release);
        }
        self.has_mpi.load(Acquire)
    }

    /// Gives the layer its settings, once. Nothing is read where there are none.
    pub(crate) fn configure(&self) {
        if self.setup.declared.is_empty() {
            return;
        }
        self.configured.call_once(|| (self.setup.configure)(self.counters.of, &self.options().own));
    }

    /// The tool's destructor, at the end of the process: reports what has not been reported, or
    /// says why nothing was seen. A forked child's does nothing.
    #[doc(hidden)]
    pub fn unload(&self) {
        if self.process.load(Relaxed) != process_id() {
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
        let Some(rows) = self.counters.get().map(Rows::of) else { return false };
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
    }

    /// After `MPI_Session_init`. A session has no rank; the launcher's is used where it says one.
    pub(crate) fn session_started(&self) {
        self.started();
        self.sessions.fetch_add(1, AcqRel);
        let first = self.prepared.get().is_none();
        let prepared = self.prepared();
        if first {
            self.complain(prepared);
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
        if !self.world.swap(false, AcqRel) || !world::is_active() {
            return;
        }
        let prepared = self.prepared();
        let Some(rows) = &prepared.rows else { return };
        if !prepared.options.merge {
            self.report_process(NOT_MERGED);
        } else if self.report_world(rows, prepared).is_err() {
            self.report_process("the ranks' reports could not be merged");
        }
    }

    /// Before `MPI_Session_finalize`: the last one of a process without a world makes a report of
    /// the process.
    pub(crate) fn session_ends(&self) {
        let last =
            self.sessions.fetch_update(AcqRel, Acquire, |count| count.checked_sub(1)) == Ok(1);
        if last && !self.world.load(Acquire) {
            self.report_process(self.why_alone("sessions have no world to merge over"));
        }
    }

    /// For [`ToolInfo`]: a signal is about to end the process. Runs in the signal's handler, so it
    /// takes what is prepared, and does nothing before MPI has started.
    #[doc(hidden)]
    pub fn signalled(&self, signal: c_int) {
        if self.prepared.get().is_some_and(|prepared| prepared.options.signals) {
            self.report_process(signals::name(signal));
        }
    }

    /// A panic in the layer: nothing that MPI or the application could do about it.
    #[doc(hidden)]
    #[cold]
    pub fn panicked(&self, function: FunctionId, message: &str) -> ! {
        let tool = self.label;
        match self.known_rank() {
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

    /// Reads what is set for this level: the common variables, the tool's, and the level's own.
    fn options(&self) -> Options {
        // In a stack that is not ours the tools do not know of each other.
        let own = || (self.label != self.tool).then(|| self.label.to_owned());
        let suffix = self.info.suffix().or_else(own);
        let mut options = Options::read(self.tool, suffix.as_deref(), self.setup.declared);
        if !self.speaks.load(Relaxed) {
            options.complaints.clear();
        }
        options.add(self.settings, self.label);
        options
    }

    /// The rank in `MPI_COMM_WORLD`, or the launcher's as long as MPI has not said one.
    fn known_rank(&self) -> Option<u64> {
        u64::try_from(self.rank.load(Relaxed)).ok()
    }

    /// What reports need, made at the first question. Must not be asked in a signal handler, which
    /// looks at `self.prepared` and goes without if it is empty.
    fn prepared(&self) -> &Prepared {
        self.prepared.get_or_init(|| {
            let options = self.options();
            let spawned = world::is_spawned();
            let ranks = u64::try_from(self.ranks.load(Relaxed)).ok();
            let elsewhere = ranks.filter(|_| !spawned).and_then(launched_elsewhere);
            let rank = match elsewhere {
                Some(Launched { rank, .. }) => Some(rank.into()),
                None => self.known_rank(),
            };
            let prints = rank.or_else(|| Some(launched_rank()?.into())).unwrap_or(0) == 0;
            let others = elsewhere.is_some() || ranks.or_else(launched_ranks).unwrap_or(1) > 1;
            let mut files = None;
            if let Output::File(path) = &options.output {
                let extended = |path: &CStr, with: &str| {
                    CString::new([path.to_bytes(), with.as_bytes()].concat()).ok()
                };
                // A device or a pipe has no neighbour files.
                let is_device = path.as_bytes().starts_with(b"/dev/");
                let own = |with: String| if is_device { String::new() } else { with };
                // A world that another one spawned has a report of its own, and so has one that a
                // launcher started among others, of which MPI does not know.
                let world = match elsewhere {
                    _ if spawned => own(format!(".spawned{}", process_id())),
                    Some(Launched { rank: 1.., .. }) => own(format!(".process{}", process_id())),
                    _ => String::new(),
                };
                let process = own(match rank {
                    Some(rank) => format!(".rank{rank}"),
                    None => format!(".process{}", process_id()),
                });
                // What was spawned has ranks of its own.
                let process = if spawned { world.clone() + &process } else { process };
                let host = options::host_name().replace('/', "_");
                let file = |with: &str| ReportFile::new(&extended(path, with)?, &host);
                files = file(&world).zip(file(&process)).map(|(world, process)| [world, process]);
            }
            let rows = self.counters.get().map(Rows::of);
            let count = rows.as_ref().map_or(0, Rows::len);
            if options.signals && count > 0 {
                signals::watch();
            }
            let merged = (0..count).map(|_| AtomicU64::new(0)).collect();
            let says_where = options.verbose || is_terminal();
            let last_sum = AtomicU64::new(0);
            Prepared {
                options,
                rows,
                files,
                prints,
                others,
                elsewhere,
                says_where,
                merged,
                last_sum,
            }
        })
    }

    /// Says once a run what is wrong with the settings.
    fn complain(&self, prepared: &Prepared) {
        if !prepared.prints || prepared.options.output == Output::None {
            return;
        }
        for complaint in &prepared.options.complaints {
            say(format_args!("{}: {complaint}", self.label));
        }
        if let Some(abi) = world::wrong_abi() {
            say(format_args!(
                "{}: built for the {} ABI, but the MPI of this program has the {} ABI: calls are \
                 seen, but reports cannot be merged over ranks; use a build of the tool for this MPI",
                self.tool,
                Abi::CURRENT.name(),
                abi.name()
            ));
        }
    }

    /// Merges the counts over the world; rank 0 writes them. Keeps what this process had, for a
    /// later report of its own. An error is MPI's, or says, then on all ranks, that not all have
    /// the same tool.
    fn report_world(&self, counters: &Rows, prepared: &Prepared) -> Result<(), c_int> {
        let values: Vec<u64> = (0..counters.len()).map(|index| counters.value(index)).collect();
        let merged = world::merge(&self.fingerprint(counters), &values)?;
        for (merged, value) in prepared.merged.iter().zip(&values) {
            merged.store(*value, Relaxed);
        }
        prepared.last_sum.store(sum(values.iter().copied()), Relaxed);
        if let Some(rows) = merged {
            let ranks = u64::try_from(self.ranks.load(Relaxed)).unwrap_or(1);
            self.write(prepared, Scope::World { ranks }, counters, &|index| rows[index]);
        }
        Ok(())
    }

    /// The same on all ranks that have the same tool: a hash (FNV-1a) of name, version and number
    /// of counters, and its complement, of which the least over all ranks fit each other only if
    /// all are equal.
    fn fingerprint(&self, counters: &Rows) -> [u64; 2] {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ counters.len() as u64;
        for byte in self.label.bytes().chain(self.version.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        [hash, !hash]
    }

    /// Writes what this process has counted since the merged report, if there is news. A later
    /// report of the process takes the place of an earlier one. May run in a signal handler, and in
    /// several threads at once: while one writes, others leave it at that.
    pub(crate) fn report_process(&self, reason: &str) {
        let Some(prepared) = self.prepared.get() else { return };
        let Some(counters) = &prepared.rows else { return };
        if self.process.load(Relaxed) != process_id() || self.writing.swap(true, AcqRel) {
            return;
        }
        let now = sum((0..counters.len()).map(|index| counters.value(index)));
        if prepared.last_sum.swap(now, Relaxed) != now {
            let scope = Scope::Process {
                rank: self.known_rank(),
                ranks: u64::try_from(self.ranks.load(Relaxed)).ok(),
                reason,
            };
            let row = |index: usize| {
                let merged = prepared.merged[index].load(Relaxed);
                let new = counters.value(index).wrapping_sub(merged);
                Row { total: new, min: new, max: new }
            };
            self.write(prepared, scope, counters, &row);
        }
        self.writing.store(false, Release);
    }

    /// Writes a report to where the user wants it, or says in a line why not all of it is shown.
    /// What is printed of other ranks than 0 is decided here. May run in a signal handler.
    fn write(
        &self,
        prepared: &Prepared,
        scope: Scope<'_>,
        counters: &Rows,
        row: &dyn Fn(usize) -> Row,
    ) {
        let elsewhere = prepared.elsewhere;
        let report =
            Report { tool: self.label, version: self.version, scope, elsewhere, counters, row };
        let Options { output, format, all_ranks, .. } = &prepared.options;
        let (reason, late) = match scope {
            Scope::World { .. } => ("", false),
            Scope::Process { reason, .. } => (reason, reason == LATE),
        };
        // Nothing that is printed unasked grows with the number of ranks.
        let asked = *all_ranks || reason == NOT_MERGED;
        let descriptor = match output {
            Output::None => return,
            Output::Stderr => libc::STDERR_FILENO,
            Output::Stdout => libc::STDOUT_FILENO,
            // Nor does the number of files, where the merged report has nearly everything.
            Output::File(_) if late && !prepared.prints && !asked => return,
            Output::File(_) => {
                return self.write_file(prepared, &report, asked);
            }
        };
        if !prepared.prints && !asked {
            return;
        }
        if late && !asked {
            return report.say_late();
        }
        report_to(&report, descriptor, *format);
        if matches!(scope, Scope::Process { .. }) && prepared.others && !asked {
            say(format_args!(
                "{}: what the other ranks counted is not shown: MPI_TOOL_ALL_RANKS=1 prints it, \
                 MPI_TOOL_OUTPUT=PATH writes it to files",
                self.label
            ));
        }
    }

    /// Writes a report to its file, and to standard error if that fails.
    fn write_file(&self, prepared: &Prepared, report: &Report<'_>, asked: bool) {
        let Some([world, process]) = &prepared.files else { return };
        let file = match report.scope {
            Scope::World { .. } => world,
            Scope::Process { .. } => process,
        };
        let tool = self.label;
        let format = prepared.options.format;
        // The sink keeps its first error.
        match file.write(|sink| report.write(sink, format).unwrap_or_default()) {
            Ok(path) if prepared.says_where && prepared.prints => {
                say(format_args!("{tool}: report in {}", Path(path)));
            }
            Ok(_) => {}
            Err(errno) if prepared.prints || asked => {
                let (path, reason) = (Path(file.path()), reason(errno));
                say(format_args!("{tool}: cannot write {path}: {reason}; it follows here"));
                report_to(report, libc::STDERR_FILENO, Format::Text);
            }
            Err(_) => {}
        }
    }

    /// Why the process reports for itself, in a life with or without a world.
    fn why_alone(&self, without_world: &'static str) -> &'static str {
        let world_is_over = self.ranks.load(Relaxed) >= 0 && !self.world.load(Acquire);
        let otherwise = if world_is_over { LATE } else { without_world };
        world::out_of_reach().unwrap_or(otherwise)
    }

    /// A process with MPI of which the tool saw nothing: say why that may be.
    fn say_nothing_seen(&self) {
        if launched_rank().unwrap_or(0) != 0 || !self.speaks.load(Relaxed) {
            return;
        }
        let Some(why) = why_nothing_was_seen() else { return };
        if self.options().output != Output::None {
            // The tool may watch some functions only, and the program have called others.
            let counted = if self.counters.get().is_some() { ", and counted nothing" } else { "" };
            say(format_args!("{}: saw no start of MPI in this process{counted}: {why}", self.tool));
        }
    }
}

/// The sum of all counters: says whether something was counted since; wraps around at worst.
fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::wrapping_add)
}

/// A path for a message, without allocation. What is no UTF-8 is shown as bytes.
struct Path<'a>(&'a CStr);

impl core::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for chunk in self.0.to_bytes().utf8_chunks() {
            f.write_str(chunk.valid())?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Prints a report. Errors of standard output and standard error are nobody's.
fn report_to(report: &Report<'_>, descriptor: c_int, format: Format) {
    let mut sink = Sink::new(descriptor);
    let _ = report.write(&mut sink, format);
    let _ = sink.finish();
}

/// The process, by which a forked child is told from its parent.
fn process_id() -> i32 {
    // SAFETY: `getpid` takes nothing, always succeeds, and may be called anywhere.
    unsafe { libc::getpid() }
}
