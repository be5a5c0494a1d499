//! A level's reports of its log: of all ranks and of this process alone. As of a table, nothing that every tool has reaches
//! it, so that the linker leaves it out of tools that have no log.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use super::Level;
use super::prepared::{Prepared, PreparedLog};
use super::report::Written;
use crate::AnyLog;
use crate::host::output::say;
use crate::host::report::Scope;
use crate::kit::gather::gather_log;
use crate::kit::log::{LogReport, Rows};

/// A tool's log, and what reports it.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct ReportedLog {
    /// What the tool has written down.
    pub(super) log: &'static AnyLog,
    /// [`Level::report_log_of_world`]
    pub(super) of_world: fn(&Level, &PreparedLog, &Prepared) -> Result<(), c_int>,
    /// [`Level::report_log_of_process`]
    pub(super) of_process: fn(&Level, &PreparedLog, &Prepared, &str),
}

impl ReportedLog {
    /// Of a log. Inlined into a tool that has none, nothing of it is left.
    #[inline(always)]
    pub(crate) fn new(log: &'static AnyLog) -> Self {
        Self { log, of_world: Level::report_log_of_world, of_process: Level::report_log_of_process }
    }
}

impl Level {
    /// Puts the rows of all ranks together; rank 0 writes them.
    fn report_log_of_world(
        &self,
        prepared_log: &PreparedLog,
        prepared: &Prepared,
    ) -> Result<(), c_int> {
        let log = prepared_log.reported.log;
        let own = log.merged(self.known_rank().unwrap_or(0));
        let added = own.added();
        let fingerprint = self.fingerprint(log.columns().len());
        let merged = gather_log(&fingerprint, own)?;
        prepared_log.rows.store(added, Relaxed);
        prepared_log.merged.store(true, Relaxed);
        if let Some(merged) = merged {
            let ranks = u64::try_from(self.ranks.load(Relaxed)).unwrap_or(1);
            merged.with_rows(|rows| self.write_log(prepared, Scope::World { ranks }, log, rows));
        }
        Ok(())
    }

    /// Writes the rows of this process, if there are new ones. After the merged report, that is a line which says how many
    /// came later. May run in a signal handler.
    fn report_log_of_process(&self, prepared_log: &PreparedLog, prepared: &Prepared, reason: &str) {
        let log = prepared_log.reported.log;
        let now = log.count();
        let before = prepared_log.rows.load(Relaxed);
        if now == before {
            return;
        }
        if prepared_log.merged.load(Relaxed) {
            if prepared.prints && prepared.options.output.is_stream() {
                say(format_args!(
                    "{}: {} after the merged report, in MPI_Finalize or later, are not in it: {}",
                    self.label,
                    log.what(),
                    now.wrapping_sub(before)
                ));
            }
            prepared_log.rows.store(now, Relaxed);
            return;
        }
        let scope = self.of_process(reason);
        let rank = self.known_rank().unwrap_or(0);
        let written = log.with_rows(rank, |rows| self.write_log(prepared, scope, log, rows));
        if written.is_some() {
            prepared_log.rows.store(now, Relaxed);
        } else if prepared.prints {
            say(format_args!(
                "{}: the process ended while a thread wrote to the log, which is not told",
                self.label
            ));
        }
    }

    fn write_log(&self, prepared: &Prepared, scope: Scope<'_>, log: &AnyLog, rows: &Rows<'_>) {
        let report = LogReport { heading: self.heading(prepared, scope), log, rows };
        let written = Written {
            scope,
            write: &|sink, format| report.write(sink, format).unwrap_or_default(),
            say_late: &|| {},
        };
        self.put(prepared, &written);
    }
}
