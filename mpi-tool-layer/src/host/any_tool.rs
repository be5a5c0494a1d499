//! A tool without its type: what the framework asks of it.
//!
//! A tool's type is known in the tool's own crate only. All that happens around its layer, its settings, its report and its
//! end, is code of the framework's that is compiled once; it asks the tool by this.

use super::level::{ReportedLog, ReportedTable};
use crate::{Counters, PeerTable, RunningMpi, Setting, Settings, Tool};

/// A [`Tool`] of any type, as a static or a level of a stack has it.
///
/// What reports a table, or a log, comes with it: a tool that has none is without that code, which would be a third of it.
#[doc(hidden)]
pub trait AnyTool: Sync {
    /// [`Tool::SETTINGS`]
    fn settings(&self) -> &'static [Setting];
    /// [`Tool::configure`]
    fn configure(&self, settings: &Settings);
    /// [`Tool::counters`]
    fn counters(&self) -> Option<&dyn Counters>;
    /// [`Tool::table`]
    fn table(&'static self) -> Option<ReportedTable>;
    /// [`Tool::peers`]
    fn peers(&self) -> Option<&PeerTable>;
    /// [`Tool::log`]
    fn log(&'static self) -> Option<ReportedLog>;
    /// [`Tool::started`]
    fn started(&self, mpi: &RunningMpi);
    /// [`Tool::ending`]
    fn ending(&self, mpi: &RunningMpi);
    /// Has the tool [`Tool::ENDS`]?
    fn hears_ends(&self) -> bool;
    /// [`Tool::ENDS`]
    fn ends(&self, how: &'static str);
}

impl<T: Tool> AnyTool for T {
    fn settings(&self) -> &'static [Setting] {
        T::SETTINGS
    }
    fn configure(&self, settings: &Settings) {
        Tool::configure(self, settings);
    }
    fn counters(&self) -> Option<&dyn Counters> {
        Tool::counters(self)
    }
    fn table(&'static self) -> Option<ReportedTable> {
        Tool::table(self).map(ReportedTable::new)
    }
    fn peers(&self) -> Option<&PeerTable> {
        Tool::peers(self)
    }
    fn log(&'static self) -> Option<ReportedLog> {
        Tool::log(self).map(ReportedLog::new)
    }
    fn started(&self, mpi: &RunningMpi) {
        Tool::started(self, mpi);
    }
    fn ending(&self, mpi: &RunningMpi) {
        Tool::ending(self, mpi);
    }
    fn hears_ends(&self) -> bool {
        T::ENDS.is_some()
    }
    fn ends(&self, how: &'static str) {
        if let Some(ends) = T::ENDS {
            ends(self, how);
        }
    }
}
