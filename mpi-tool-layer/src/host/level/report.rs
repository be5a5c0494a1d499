//! A level's reports: of all ranks and of this process alone, and where they go.
//!
//! | when | scope | who writes |
//! |---|---|---|
//! | in `MPI_Finalize` | all ranks, merged | rank 0 |
//! | in `MPI_Finalize`, with `MPI_TOOL_MERGE=0` | this process | each process |
//! | a signal ends the process, or MPI aborts it | this process | each process to its own file; rank 0 prints |
//! | at the end of a process in which MPI was not finalized (`ends.rs`) | this process | the same |
//! | at the end, if calls came after the merged report | what came since | rank 0, in a line, or all of it to a file |
//!
//! Where a report goes is what the user has set, and nothing that is printed without being asked for grows with the
//! number of ranks ([`put`](Level::put) decides that alone). If a file cannot be written, the report goes to standard
//! error and says why, so that nothing is lost.

use core::ffi::{CStr, c_int};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::Level;
use super::prepared::Prepared;
use crate::host::options::{Format, Options, Output};
use crate::host::output::{STANDARD_ERROR, STANDARD_OUTPUT, Sink, Stream, reason, say};
use crate::host::report::{Heading, Report, Row, Scope};
use crate::host::{marks, world};
use crate::rows::Rows;

/// Why a process reports for itself: all is well otherwise, and its merged report is there. What it
/// has counted came after that.
const LATE: &str = "calls after the merged report";
/// The user wants a report a rank.
pub(super) const NOT_MERGED: &str = "MPI_TOOL_MERGE=0";

/// The process goes on.
pub(super) const EARLY: &str = "the program is still running";

/// A report of any kind, to be put where the user wants it.
pub(super) struct Written<'a> {
    pub(super) scope: Scope<'a>,
    /// Writes it. The sink keeps its first error.
    pub(super) write: &'a dyn Fn(&mut Sink, Format),
    /// Says in a line what came after the merged report.
    pub(super) say_late: &'a dyn Fn(),
}

impl Level {
    /// Merges the counts over the world; rank 0 writes them. Keeps what this process had, for a
    /// later report of its own. An error is MPI's, or says, then on all ranks, that not all have
    /// the same tool.
    pub(super) fn report_world(&self, counters: &Rows, prepared: &Prepared) -> Result<(), c_int> {
        let values: Vec<u64> = (0..counters.len()).map(|index| counters.value(index)).collect();
        let merged = world::merge(&self.fingerprint(counters.len()), &values)?;
        for (merged, value) in prepared.merged.iter().zip(&values) {
            merged.store(*value, Relaxed);
        }
        prepared.is_merged.store(true, Relaxed);
        prepared.last_sum.store(self.counted(counters, prepared), Relaxed);
        if let Some(rows) = merged {
            let ranks = u64::try_from(self.ranks.load(Relaxed)).unwrap_or(1);
            self.write(prepared, Scope::World { ranks }, counters, &|index| rows[index]);
        }
        Ok(())
    }

    /// The same on all ranks that have the same tool: a hash (FNV-1a) of name, version and number
    /// of counters, and its complement, of which the least over all ranks fit each other only if
    /// all are equal.
    pub(super) fn fingerprint(&self, counters: usize) -> [u64; 2] {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ counters as u64;
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
        if prepared.rows.is_none() && prepared.table.is_none() && prepared.log.is_none() {
            return;
        }
        if self.is_child() || self.writing.swap(true, AcqRel) {
            return;
        }
        if let Some(table) = &prepared.table {
            (table.reported_table.of_process)(self, table, prepared, reason);
        } else if let Some(log) = &prepared.log {
            (log.reported.of_process)(self, log, prepared, reason);
        } else if let Some(counters) = &prepared.rows {
            self.report_counters(counters, prepared, reason);
        }
        if reason != EARLY {
            marks::reported();
        }
        self.writing.store(false, Release);
    }

    /// Writes what this process has counted by now, if reports go to files and there is no merged one.
    pub(super) fn report_early(&self) {
        let Some(prepared) = self.prepared.get() else { return };
        let is_over = prepared.table.as_ref().is_none_or(|table| table.merged.load(Relaxed));
        if matches!(prepared.options.output, Output::File(_)) && !is_over {
            self.report_process(EARLY);
        }
    }

    /// The sum of all counters: says whether something was counted since; wraps around at worst. What a gauge shows after the
    /// merged report is no news.
    fn counted(&self, counters: &Rows, prepared: &Prepared) -> u64 {
        let is_merged = prepared.is_merged.load(Relaxed);
        let counts = (0..counters.len()).filter(|index| !(is_merged && counters.is_gauge(*index)));
        counts.map(|index| counters.value(index)).fold(0, u64::wrapping_add)
    }

    /// The report of this process's counters.
    fn report_counters(&self, counters: &Rows, prepared: &Prepared, reason: &str) {
        let now = self.counted(counters, prepared);
        if prepared.last_sum.swap(now, Relaxed) != now {
            let scope = self.of_process(reason);
            let row = |index: usize| {
                let merged = prepared.merged[index].load(Relaxed);
                let value = counters.value(index);
                let is_gauge = counters.is_gauge(index);
                let new = match is_gauge {
                    // What the merged report has is no news.
                    true if prepared.is_merged.load(Relaxed) => 0,
                    true => value,
                    false => value.wrapping_sub(merged),
                };
                Row { total: new, min: new, max: new }
            };
            self.write(prepared, scope, counters, &row);
        }
    }

    /// A report of this process alone.
    pub(super) fn of_process<'a>(&self, reason: &'a str) -> Scope<'a> {
        Scope::Process {
            rank: self.known_rank(),
            ranks: u64::try_from(self.ranks.load(Relaxed)).ok(),
            reason,
        }
    }

    /// What a report of this level begins with.
    pub(super) fn heading<'a>(&self, prepared: &Prepared, scope: Scope<'a>) -> Heading<'a> {
        let (tool, version) = (self.label, self.version);
        Heading { tool, version, scope, elsewhere: prepared.elsewhere }
    }

    /// Writes a report of counters.
    fn write(
        &self,
        prepared: &Prepared,
        scope: Scope<'_>,
        counters: &Rows,
        row: &dyn Fn(usize) -> Row,
    ) {
        let report = Report { heading: self.heading(prepared, scope), counters, row };
        let written = Written {
            scope,
            write: &|sink, format| report.write(sink, format).unwrap_or_default(),
            say_late: &|| report.say_late(),
        };
        self.put(prepared, &written);
    }

    /// Writes a report to where the user wants it, or says in a line why not all of it is shown.
    /// What is printed of other ranks than 0 is decided here. May run in a signal handler.
    pub(super) fn put(&self, prepared: &Prepared, report: &Written<'_>) {
        let scope = report.scope;
        let Options { output, format, all_ranks, .. } = &prepared.options;
        let (reason, late) = match scope {
            Scope::World { .. } => ("", false),
            Scope::Process { reason, .. } => (reason, reason == LATE),
        };
        // Nothing that is printed unasked grows with the number of ranks.
        let asked = *all_ranks || reason == NOT_MERGED;
        let stream = match output {
            Output::None => return,
            Output::Stderr => &STANDARD_ERROR,
            Output::Stdout => &STANDARD_OUTPUT,
            // Nor does the number of files, where the merged report has nearly everything.
            Output::File(_) if late && !prepared.prints && !asked => return,
            Output::File(_) => {
                return self.write_file(prepared, report, asked);
            }
        };
        if !prepared.prints && !asked {
            return;
        }
        if late && !asked {
            return (report.say_late)();
        }
        report_to(report, stream, *format);
        if matches!(scope, Scope::Process { .. }) && prepared.others && !asked {
            say(format_args!(
                "{}: what the other ranks counted is not shown: MPI_TOOL_ALL_RANKS=1 prints it, \
                 MPI_TOOL_OUTPUT=PATH writes it to files",
                self.label
            ));
        }
    }

    /// Writes a report to its file, and to standard error if that fails.
    fn write_file(&self, prepared: &Prepared, report: &Written<'_>, asked: bool) {
        let Some([world, process]) = &prepared.files else { return };
        let (file, is_early) = match report.scope {
            Scope::World { .. } => (world, false),
            Scope::Process { reason, .. } => (process, reason == EARLY),
        };
        let tool = self.label;
        let format = prepared.options.format;
        match file.write(|sink| (report.write)(sink, format)) {
            // Another one will come, which tells of what is wrong.
            _ if is_early => {}
            Ok(path) if prepared.says_where && prepared.prints => {
                say(format_args!("{tool}: report in {}", Path(path)));
            }
            Ok(_) => {}
            Err(errno) if prepared.prints || asked => {
                let (path, reason) = (Path(file.path()), reason(errno));
                say(format_args!("{tool}: cannot write {path}: {reason}; it follows here"));
                report_to(report, &STANDARD_ERROR, Format::Text);
            }
            Err(_) => {}
        }
    }

    /// Why the process reports for itself, in a life with or without a world.
    pub(super) fn why_alone(&self, without_world: &'static str) -> &'static str {
        let world_is_over = self.ranks.load(Relaxed) >= 0 && !self.world.load(Acquire);
        let otherwise = if world_is_over { LATE } else { without_world };
        world::out_of_reach().unwrap_or(otherwise)
    }
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
fn report_to(report: &Written<'_>, stream: &Stream, format: Format) {
    let mut sink = Sink::to(stream);
    (report.write)(&mut sink, format);
    let _ = sink.finish();
}
