//! A level's reports of its table: of all ranks and of this process alone.
//!
//! All of it is reached by a tool's [`ReportedTable`] only, and by nothing that every tool has: so the linker leaves it out
//! of tools that have no table.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use super::Level;
use super::prepared::{Prepared, PreparedTable};
use super::report::Written;
use crate::AnyTable;
use crate::host::output::say;
use crate::host::report::Scope;
use crate::kit::gather::gather;
use crate::kit::merged::{Merged, Renumbered};
use crate::kit::peers::merged::MergedPeers;
use crate::kit::peers::report::{PeerView, ProcessPeers};
use crate::kit::report::TableReport;
use crate::kit::view::{Process, View};

/// A tool's table, and what reports it: tools that have no table are without that code, which would be a third of theirs.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct ReportedTable {
    /// What the tool has measured.
    pub(super) table: &'static AnyTable,
    /// [`Level::report_table_of_world`]
    pub(super) of_world: fn(&Level, &PreparedTable, &Prepared) -> Result<(), c_int>,
    /// [`Level::report_table_of_process`]
    pub(super) of_process: fn(&Level, &PreparedTable, &Prepared, &str),
}

impl ReportedTable {
    /// Of a table, with the functions of a [`Level`] that report it. Inlined into a tool that has no table, nothing of it is
    /// left.
    #[doc(hidden)]
    #[inline(always)]
    pub fn new(table: &'static AnyTable) -> Self {
        Self {
            table,
            of_world: Level::report_table_of_world,
            of_process: Level::report_table_of_process,
        }
    }
}

impl Level {
    /// Merges the tables over the world; rank 0 writes the result. An error is MPI's, or says, then on all ranks,
    /// that not all have the same tool.
    fn report_table_of_world(
        &self,
        prepared_table: &PreparedTable,
        prepared: &Prepared,
    ) -> Result<(), c_int> {
        let PreparedTable { reported_table: ReportedTable { table, .. }, sum, peers, .. } =
            prepared_table;
        let sum = sum.ok_or(mpi_sys::MPI_ERR_NO_MEM);
        let rank = self.known_rank().unwrap_or(0);
        let wall = self.wall_time();
        // A rank without memory takes part in the merging with an empty table, and reports for itself.
        let mut own = match sum {
            Ok(rows) => {
                table.add_up(rows);
                Merged::of(table, rows, wall, rank)
            }
            Err(_) => Merged::empty(wall, rank, table.count()),
        };
        if let Some((peers, rows)) = *peers {
            peers.add_up(rows);
            own.peers = Some(MergedPeers::of(peers, rows, rank));
        }
        let reported = own.events();
        let columns = table.parts().len() + 16 * table.measures().len();
        let renumbered = Renumbered::of(table);
        let merged = gather(&self.fingerprint(columns), own, renumbered, |all, other| {
            all.add(other, renumbered, |key| table.coarse(key));
        })?;
        prepared_table.reported.store(reported, Relaxed);
        prepared_table.merged.store(true, Relaxed);
        if let Some(merged) = merged {
            let ranks = u64::try_from(self.ranks.load(Relaxed)).unwrap_or(1);
            let peers = merged.peers.as_ref().map(|peers| -> &dyn PeerView { peers });
            self.write_table(prepared, Scope::World { ranks }, table, &merged, peers);
        }
        Ok(())
    }

    /// Writes what this process has in its table, if there is news. After the merged report, that is a line which
    /// says how many events came later. May run in a signal handler.
    fn report_table_of_process(
        &self,
        prepared_table: &PreparedTable,
        prepared: &Prepared,
        reason: &str,
    ) {
        let PreparedTable { reported_table, sum, peers, reported, merged } = prepared_table;
        let table = reported_table.table;
        let now = table.count();
        let before = reported.swap(now, Relaxed);
        if now == before {
            return;
        }
        if merged.load(Relaxed) {
            if prepared.prints && prepared.options.output.is_stream() {
                say(format_args!(
                    "{}: {} after the merged report, in MPI_Finalize or later, are not in it: {}",
                    self.label,
                    table.events(),
                    now.wrapping_sub(before)
                ));
            }
            return;
        }
        let Some(rows) = *sum else { return };
        let rank = self.known_rank().unwrap_or(0);
        let process = Process::of(table, rows, self.wall_time(), rank);
        let peers = peers.map(|(peers, rows)| ProcessPeers::of(peers, rows, rank));
        let peers = peers.as_ref().map(|peers| -> &dyn PeerView { peers });
        self.write_table(prepared, self.of_process(reason), table, &process, peers);
    }

    /// Writes a report of a table to where the user wants it.
    fn write_table(
        &self,
        prepared: &Prepared,
        scope: Scope<'_>,
        table: &AnyTable,
        view: &dyn View,
        peers: Option<&dyn PeerView>,
    ) {
        let report = TableReport { heading: self.heading(prepared, scope), table, view, peers };
        self.put(
            prepared,
            &Written {
                scope,
                write: &|sink, format| report.write(sink, format).unwrap_or_default(),
                say_late: &|| {},
            },
        );
    }
}
