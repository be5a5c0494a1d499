//! What a level's reports need: what is set for it, its counters and its files.
//!
//! A report may be written in a signal handler, or when the process is about to end, where nothing can be allocated and
//! no lock taken. So everything that costs memory is made before, once: options are read, paths are put together with
//! rank and host in them, counters are asked for their addresses, and a table gets memory in which the rows of all
//! threads can be added up.
//!
//! That happens when MPI has started, since rank and size are a part of it, or at the end of a process that has called
//! MPI without starting it.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::ffi::CString;

use mpi_sys::ABI;

use super::log::ReportedLog;
use super::table::ReportedTable;
use super::{Level, process_id};
use crate::host::file::ReportFile;
use crate::host::launcher::{Launched, launched_elsewhere, launched_rank, launched_ranks};
use crate::host::neighbours::ToolInfo;
use crate::host::options::{Options, Output};
use crate::host::output::{is_terminal, say};
use crate::host::{ends, marks, options, signals, world};
use crate::kit::shard::Sum;
use crate::rows::Rows;
use crate::{AnyTable, PeerTable};

/// What a report needs, made where allocation is allowed: at the first start of MPI in the process,
/// or at its end if MPI has not started. It does not change any more, but for its atomics.
pub(super) struct Prepared {
    /// What the user has set.
    pub(super) options: Options,
    /// What the tool counts. The tool is not asked again: a signal handler runs none of its code.
    pub(super) rows: Option<Rows>,
    /// The tool's table, if it has one.
    pub(super) table: Option<PreparedTable>,
    /// The tool's log, if it has one.
    pub(super) log: Option<PreparedLog>,
    /// Where the merged report goes and that of this process alone, if to files.
    pub(super) files: Option<[ReportFile; 2]>,
    /// Of all processes of a run, this one prints: rank 0.
    pub(super) prints: bool,
    /// There are others, by MPI's word or the launcher's.
    pub(super) others: bool,
    /// What a launcher says that MPI knows nothing of.
    pub(super) elsewhere: Option<Launched>,
    /// Does the tool say which file a report is in?
    pub(super) says_where: bool,
    /// What the merged report had of this process.
    pub(super) merged: Box<[AtomicU64]>,
    /// There is a merged report.
    pub(super) is_merged: AtomicBool,
    /// The sum of all counters at the last report.
    pub(super) last_sum: AtomicU64,
}

/// What the report of a table needs.
pub(super) struct PreparedTable {
    /// The table, and what reports it.
    pub(super) reported_table: ReportedTable,
    /// Where the rows of all threads are added up, if the system gives memory for it.
    pub(super) sum: Option<Sum>,
    /// The tool's peers, and where they are added up, if the tool has any.
    pub(super) peers: Option<(&'static AnyTable, Sum)>,
    /// How many events the last report had.
    pub(super) reported: AtomicU64,
    /// Is there a merged report?
    pub(super) merged: AtomicBool,
}

impl PreparedTable {
    fn of(
        reported_table: ReportedTable,
        peers: Option<&'static PeerTable>,
        info: &'static ToolInfo,
    ) -> Self {
        let table = reported_table.table;
        table.set_tool(info);
        let sum_of = |table: &AnyTable| Sum::map(table.shape());
        let peers = peers.map(PeerTable::any);
        Self {
            reported_table,
            sum: sum_of(table),
            peers: peers.and_then(|peers| Some((peers, sum_of(peers)?))),
            reported: AtomicU64::new(0),
            merged: AtomicBool::new(false),
        }
    }
}

/// What the report of a log needs.
pub(super) struct PreparedLog {
    /// The log, and what reports it.
    pub(super) reported: ReportedLog,
    /// How many rows the last report had.
    pub(super) rows: AtomicU64,
    /// Is there a merged report?
    pub(super) merged: AtomicBool,
}

impl PreparedLog {
    fn of(reported: ReportedLog) -> Self {
        Self { reported, rows: AtomicU64::new(0), merged: AtomicBool::new(false) }
    }
}

impl Level {
    /// Reads what is set for this level: the common variables, the tool's, and the level's own.
    pub(super) fn options(&self) -> Options {
        // In a stack that is not ours the tools do not know of each other.
        let own = || (self.label != self.name).then(|| self.label.to_owned());
        let suffix = self.info.suffix().or_else(own);
        let mut options = Options::read(self.name, suffix.as_deref(), self.tool.settings());
        if !self.speaks.load(Relaxed) {
            options.complaints.clear();
        }
        options.add(self.settings, self.label);
        options
    }

    /// What reports need, made at the first question. Must not be asked in a signal handler, which
    /// looks at `self.prepared` and goes without if it is empty.
    pub(super) fn prepared(&self) -> &Prepared {
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
            let rows = self.tool.counters().map(Rows::of);
            let table = self.tool.table();
            let table = table.map(|table| PreparedTable::of(table, self.tool.peers(), self.info));
            let log = self.tool.log().map(PreparedLog::of);
            let count = rows.as_ref().map_or(0, Rows::len);
            let has_report = count > 0 || table.is_some() || log.is_some();
            if has_report || self.tool.hears_ends() {
                ends::watch(self.info);
                if options.signals {
                    signals::watch();
                }
            }
            if has_report && options.output != Output::None {
                marks::started();
            }
            let merged = (0..count).map(|_| AtomicU64::new(0)).collect();
            let says_where = options.verbose.unwrap_or_else(is_terminal);
            let (is_merged, last_sum) = (AtomicBool::new(false), AtomicU64::new(0));
            Prepared {
                options,
                rows,
                table,
                log,
                files,
                prints,
                others,
                elsewhere,
                says_where,
                merged,
                is_merged,
                last_sum,
            }
        })
    }

    /// Says once a run what is wrong with the settings.
    pub(super) fn complain(&self, prepared: &Prepared) {
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
                self.name,
                ABI.name(),
                abi.name()
            ));
        }
    }
}
