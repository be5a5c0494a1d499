//! A tool in a process: its life, its options, its report.

use core::any::Any;
use core::ffi::{CStr, c_int};
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::ffi::CString;
use std::sync::{Once, OnceLock};

use mpi_sys::{Abi, pmpi};

use crate::neighbours::{ToolInfo, fill_late_pmpi, find_late_mpi, mpi_objects};
use crate::options::{Format, Options, Output};
use crate::output::{Sink, reason, rename, say};
use crate::report::{Report, Row, Scope};
use crate::rows::Rows;
use crate::{Counters, FunctionId, NextTable, options, signals, world};

/// One tool of a process. `install_pmpi_layer!` makes it a static of the tool.
pub struct Level {
    tool: &'static str,
    version: &'static str,
    /// What reports call it: the tool's name, or that of its level in a stack.
    label: &'static str,
    info: &'static ToolInfo,
    counters: Source,
    /// Options of this level alone, by their names without `MPI_TOOL_`.
    settings: &'static [(String, String)],
    /// Of several levels in a stack one speaks about what concerns all.
    speaks: AtomicBool,
    /// The process that the counts are of; a forked child is another one.
    process: AtomicI32,
    /// In `MPI_COMM_WORLD`; -1 as long as that is not known.
    rank: AtomicI64,
    ranks: AtomicI64,
    /// Is there a world to merge the report over?
    world: AtomicBool,
    sessions: AtomicUsize,
    /// Set at the first start of MPI in the process.
    prepared: OnceLock<Prepared>,
    /// A report is being written.
    writing: AtomicBool,
    loaded: Once,
    /// The table has been filled.
    has_mpi: AtomicBool,
}

/// Where the counters are: a function, and what it gets.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Source {
    find: fn(*const ()) -> Option<&'static dyn Counters>,
    of: *const (),
}

// SAFETY: `of` is a layer's address, and layers are `Sync`.
unsafe impl Send for Source {}
// SAFETY: as above.
unsafe impl Sync for Source {}

impl Source {
    #[doc(hidden)]
    pub const fn new(find: fn(*const ()) -> Option<&'static dyn Counters>, of: *const ()) -> Self {
        Self { find, of }
    }

    fn get(&self) -> Option<&'static dyn Counters> {
        (self.find)(self.of)
    }
}

/// What a report needs, made where allocation is allowed.
struct Prepared {
    options: Options,
    /// What the tool counts. The tool is not asked again: a signal handler runs none of its code.
    rows: Option<Rows>,
    /// Where the report of this process alone goes, if to a file; and until it is complete, since what
    /// ends the process may not wait for that.
    process_file: Option<(CString, CString)>,
    /// What the merged report had of this process.
    merged: Box<[AtomicU64]>,
    /// The sum of all counters at the last report.
    last_sum: AtomicU64,
}

/// How a level of a stack differs from the tool alone.
#[doc(hidden)]
pub struct LevelRequest {
    pub label: &'static str,
    pub settings: &'static [(String, String)],
    pub speaks: bool,
}

impl Level {
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

    pub(crate) fn tool_and_version(&self) -> (&'static str, &'static str) {
        (self.tool, self.version)
    }

    /// The tool has another role in this process: nobody is surprised that it sees nothing here.
    #[doc(hidden)]
    pub fn silence(&self) {
        self.speaks.store(false, Relaxed);
    }

    /// The tool's constructor: runs in every process that the tool is loaded into. A call that
    /// comes before the constructor runs it.
    #[doc(hidden)]
    pub fn load(&self, table: &NextTable) {
        self.loaded.call_once(|| {
            self.process.store(process_id(), Relaxed);
            self.has_mpi.store(self.info.take_place(table), Release);
            if !self.has_mpi.load(Relaxed) {
                // SAFETY: a launcher's constructors run before it starts threads.
                unsafe { crate::forward::to_all_hosts() };
            }
            if options::is_on("MPI_TOOL_HELP") && launched_rank().unwrap_or(0) == 0 {
                say(format_args!("{}", options::help(self.tool, self.version)));
            }
        });
    }

    /// For a call that finds the table as it was at first: has this process an MPI by now?
    #[doc(hidden)]
    pub fn has_mpi(&self, table: &NextTable) -> bool {
        self.load(table);
        if !self.has_mpi.load(Acquire) && find_late_mpi(table) {
            self.has_mpi.store(true, Release);
        }
        self.has_mpi.load(Acquire)
    }

    /// The tool's destructor.
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

    /// After `MPI_Init` or `MPI_Init_thread`.
    pub(crate) fn world_started(&self) {
        self.started();
        if let Some((rank, ranks)) = world::position() {
            self.rank.store(rank.into(), Relaxed);
            self.ranks.store(ranks.into(), Relaxed);
            self.world.store(true, Release);
        }
        let prepared = self.prepared();
        self.complain(&prepared.options);
    }

    /// After `MPI_Session_init`.
    pub(crate) fn session_started(&self) {
        self.started();
        self.sessions.fetch_add(1, AcqRel);
        let first = self.prepared.get().is_none();
        let prepared = self.prepared();
        if first {
            self.complain(&prepared.options);
        }
    }

    fn started(&self) {
        self.process.store(process_id(), Relaxed);
        // A tool in front of others sees the next one's functions, and MPI may have come later.
        fill_late_pmpi();
        if let Some(rank) = launched_rank() {
            // Until MPI says it.
            let _ = self.rank.compare_exchange(-1, rank.into(), Relaxed, Relaxed);
        }
    }

    /// Before `MPI_Finalize`.
    pub(crate) fn world_ends(&self) {
        if !self.world.swap(false, AcqRel) || !world::is_active() {
            return;
        }
        let prepared = self.prepared();
        let Some(rows) = &prepared.rows else { return };
        if !prepared.options.merge {
            self.report_process("MPI_TOOL_MERGE=0");
        } else if self.report_world(rows, prepared).is_err() {
            self.report_process("the ranks' reports could not be merged");
        }
    }

    /// Before `MPI_Session_finalize`.
    pub(crate) fn session_ends(&self) {
        let last =
            self.sessions.fetch_update(AcqRel, Acquire, |count| count.checked_sub(1)) == Ok(1);
        if last && !self.world.load(Acquire) {
            self.report_process(self.why_alone("sessions have no world to merge over"));
        }
    }

    /// For [`ToolInfo`]: a signal is about to end the process.
    #[doc(hidden)]
    pub fn signalled(&self, signal: c_int) {
        if self.prepared.get().is_some_and(|prepared| prepared.options.signals) {
            self.report_process(signals::name(signal));
        }
    }

    /// A panic in the layer: nothing that MPI or the application could do about it.
    #[doc(hidden)]
    #[cold]
    pub fn panicked(&self, function: FunctionId, panic: &(dyn Any + Send)) -> ! {
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
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

    fn options(&self) -> Options {
        // In a stack that is not ours the tools do not know of each other.
        let own = || (self.label != self.tool).then(|| self.label.to_owned());
        let suffix = self.info.suffix().or_else(own);
        let mut options = Options::read(self.tool, suffix.as_deref());
        if !self.speaks.load(Relaxed) {
            options.complaints.clear();
        }
        options.add(self.settings, self.label);
        options
    }

    fn known_rank(&self) -> Option<u64> {
        u64::try_from(self.rank.load(Relaxed)).ok()
    }

    fn prepared(&self) -> &Prepared {
        self.prepared.get_or_init(|| {
            let mut options = self.options();
            // A device or a pipe has no neighbour files.
            let mut process_file = None;
            if let Output::File(path) = &mut options.output
                && !path.as_bytes().starts_with(b"/dev/")
            {
                let extended = |path: &CStr, with: String| {
                    CString::new([path.to_bytes(), with.as_bytes()].concat()).ok()
                };
                // A world that another one spawned has a report of its own.
                if let Some(spawned) = world::is_spawned()
                    .then(|| extended(path, format!(".spawned{}", process_id())))
                    .flatten()
                {
                    *path = spawned;
                }
                let process = match self.known_rank() {
                    Some(rank) => format!(".rank{rank}"),
                    None => format!(".process{}", process_id()),
                };
                let unfinished = extended(path, format!("{process}.part"));
                process_file = extended(path, process).zip(unfinished);
            }
            let rows = self.counters.get().map(Rows::of);
            let count = rows.as_ref().map_or(0, Rows::len);
            if options.signals && count > 0 {
                signals::watch();
            }
            let merged = (0..count).map(|_| AtomicU64::new(0)).collect();
            Prepared { options, rows, process_file, merged, last_sum: AtomicU64::new(0) }
        })
    }

    /// Says once a world what is wrong with the settings.
    fn complain(&self, options: &Options) {
        if self.known_rank().unwrap_or(0) != 0 || options.output == Output::None {
            return;
        }
        for complaint in &options.complaints {
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

    /// Merges the counts over the world; rank 0 writes them.
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

    /// The same on all ranks that have the same tool.
    fn fingerprint(&self, counters: &Rows) -> [u64; 2] {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ counters.len() as u64;
        for byte in self.label.bytes().chain(self.version.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        [hash, !hash]
    }

    /// Writes what this process has counted since the merged report, if there is news. A later
    /// report of the process takes the place of an earlier one. May run in a signal handler.
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

    fn write(
        &self,
        prepared: &Prepared,
        scope: Scope<'_>,
        counters: &Rows,
        row: &dyn Fn(usize) -> Row,
    ) {
        let report = Report { tool: self.label, version: self.version, scope, counters, row };
        let Options { output, format, .. } = &prepared.options;
        let (file, unfinished) = match (output, scope) {
            (Output::None, _) => return,
            (Output::Stderr, _) => return report_to(&report, libc::STDERR_FILENO, *format),
            (Output::Stdout, _) => return report_to(&report, libc::STDOUT_FILENO, *format),
            (Output::File(file), Scope::World { .. }) => (file, None),
            (Output::File(file), Scope::Process { .. }) => match &prepared.process_file {
                Some((file, unfinished)) => (file, Some(unfinished)),
                None => (file, None),
            },
        };
        let written = Sink::create(unfinished.unwrap_or(file)).and_then(|mut sink| {
            let _ = report.write(&mut sink, *format);
            sink.finish()?;
            unfinished.map_or(Ok(()), |unfinished| rename(unfinished, file))
        });
        let path = Path(file);
        match written {
            Ok(()) => say(format_args!("{}: report in {path}", self.label)),
            Err(errno) => {
                let reason = reason(errno);
                say(format_args!("{}: cannot write {path}: {reason}; it follows here", self.label));
                report_to(&report, libc::STDERR_FILENO, Format::Text);
            }
        }
    }

    /// Why the process reports for itself, in a life with or without a world.
    fn why_alone(&self, without_world: &'static str) -> &'static str {
        let world_is_over = self.ranks.load(Relaxed) >= 0 && !self.world.load(Acquire);
        let otherwise = if world_is_over { "calls after the merged report" } else { without_world };
        world::out_of_reach().unwrap_or(otherwise)
    }

    /// A process with MPI of which the tool saw nothing: say why that may be.
    fn say_nothing_seen(&self) {
        if launched_rank().unwrap_or(0) != 0 || !self.speaks.load(Relaxed) {
            return;
        }
        let Some(why) = why_nothing_was_seen() else { return };
        if self.options().output != Output::None {
            // A tool without counters knows of the start only.
            let what =
                if self.counters.get().is_some() { "no MPI call" } else { "no start of MPI" };
            say(format_args!("{}: saw {what} in this process: {why}", self.tool));
        }
    }
}

/// Says whether something was counted since; wraps around at worst.
fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::wrapping_add)
}

/// A path for a message, without allocation.
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

fn report_to(report: &Report<'_>, descriptor: c_int, format: Format) {
    let mut sink = Sink::new(descriptor);
    let _ = report.write(&mut sink, format);
    let _ = sink.finish();
}

fn process_id() -> i32 {
    // SAFETY: always succeeds.
    unsafe { libc::getpid() }
}

/// The rank that the launcher gave this process, as long as MPI has not said it.
pub fn launched_rank() -> Option<u32> {
    ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"]
        .iter()
        .find_map(|variable| std::env::var(variable).ok()?.parse().ok())
}

/// Why a tool may have seen nothing in a process with MPI; `None` in other processes.
pub fn why_nothing_was_seen() -> Option<&'static str> {
    let objects = mpi_objects();
    let known = pmpi::available(FunctionId::MPI_Init as usize);
    if objects.library && !known {
        Some("MPI was loaded privately (dlopen); preload its library behind the tool")
    } else if objects.program {
        Some("the program made none, or another tool in front of this one kept them")
    } else if launched_rank().is_some() && static_mpi_in_program() {
        Some("MPI is linked statically into the program, which no preloaded tool can intercept")
    } else {
        None
    }
}

/// Has the program's file MPI's functions in its own symbol table, or, where that was stripped, what an MPI
/// library says when it is called too early?
fn static_mpi_in_program() -> bool {
    const LARGEST: u64 = 1 << 28;
    const SIGNS: [&[u8]; 3] = [
        b"\0PMPI_Init\0",
        b"Attempting to use an MPI routine",
        b"function was called before MPI_INIT was invoked",
    ];
    std::fs::metadata("/proc/self/exe").is_ok_and(|file| file.len() < LARGEST)
        && std::fs::read("/proc/self/exe").is_ok_and(|program| {
            SIGNS.iter().any(|sign| program.windows(sign.len()).any(|window| window == *sign))
        })
}
