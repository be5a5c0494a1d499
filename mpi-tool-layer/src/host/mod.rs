//! What makes a layer a tool: its place in a process and in a run of many processes, from the first call to the report.
//!
//! * *Calls.* `install.rs` exports the functions, `entry.rs` is what they do, `noted.rs` what those of messages do that need
//!   not ask the layer, `lifecycle.rs` watches where MPI starts and ends, and `panics.rs` stops a panic.
//! * *The life of a tool.* `level/` begins it, gives it its settings and reports for it, without knowing its type
//!   (`any_tool.rs`). `running.rs` is what it is given of MPI.
//! * *The process.* `linker.rs` and `objects.rs` ask the dynamic linker what is loaded. `neighbours.rs` finds the other
//!   tools and MPI, which `slot.rs` lets talk to each other. `unseen.rs` says why a tool saw nothing. `note.rs` is what
//!   a tool's file says of itself.
//! * *The run.* `launcher.rs` and `forward.rs`: what launchers say, and what they must be told. `job.rs`: which job this
//!   process belongs to, and how its files are named. `run.rs`: where they go. `mapped.rs`: what of them is in memory, and is no child's. `leftovers.rs`
//!   removes those of runs that are over. `world.rs` asks all ranks.
//! * *Users.* `options.rs`: what they set. `report.rs`, `file.rs`, `output.rs`: what they read. `ends.rs`, `signals.rs`: how processes end, when it is written. `marks.rs`: whether it was, for `mpi-tool run`.

pub(crate) mod any_tool;
pub(crate) mod ends;
pub mod entry;
mod file;
mod forward;
pub mod install;
mod job;
pub(crate) mod launcher;
mod leftovers;
pub(crate) mod level;
pub(crate) mod lifecycle;
pub mod linker;
pub(crate) mod mapped;
pub mod marks;
pub(crate) mod neighbours;
pub mod note;
pub(crate) mod noted;
pub(crate) mod objects;
pub mod options;
pub(crate) mod output;
mod panics;
pub(crate) mod report;
pub(crate) mod room;
#[doc(hidden)]
pub mod run;
pub(crate) mod running;
mod signals;
pub(crate) mod slot;
mod unseen;
pub(crate) mod world;
pub(crate) mod writing;
