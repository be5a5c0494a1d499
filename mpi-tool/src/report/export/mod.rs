//! A report in the formats of other programs.

pub(super) mod folded;
pub(super) mod hatchet;
pub(super) mod pprof;
pub(super) mod sarif;
pub(crate) mod sqlite;
mod stacks;
pub(super) mod talp;
