//! The kit for measuring tools: a clock, tables, call sites, and what becomes of them in a report.
//!
//! Each part stands for itself: a tool takes what it needs. `docs/writing-a-tool.md` shows a tool that uses
//! them.

mod clock;
pub(crate) mod gather;
pub(crate) mod merged;
mod message;
mod moments;
pub(crate) mod report;
pub(crate) mod shard;
pub(crate) mod site;
pub(crate) mod table;
mod traffic;
pub(crate) mod view;

pub use clock::Clock;
pub use moments::Moments;
pub use site::{CodePlace, Nesting, Site};
pub use table::{AnyTable, Key, Measure, MeasureUnit, Part, PartKind, Table};
pub use traffic::{Tally, Traffic};
