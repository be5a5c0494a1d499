//! A report in the formats of other programs.

pub(super) mod folded;
pub(super) mod sarif;
pub(super) mod sqlite;
pub(super) mod talp;
