//! The place of the procedural macros: `derive(MpiDatatype)` comes with the safe library.
//! There are none yet.
