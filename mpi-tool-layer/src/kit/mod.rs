//! The kit for measuring tools: a clock, tables, call sites, and what becomes of them in a report.
//!
//! Each part stands for itself: a tool takes what it needs. `docs/writing-a-tool.md` shows a tool that uses
//! them. The files, in the order of a measurement:
//!
//! 1. *When.* `clock.rs` tells the time in ticks. They become nanoseconds when a report is written.
//! 2. *Where.* `site/` finds out which call of the application this is: `caller.rs` notes down where the call came
//!    from, `cache.rs` knows what was seen before, and the rest unwinds what is new.
//! 3. *How much.* `traffic/` tells which data have moved, and for which call, also if they arrive in a later one.
//! 4. *With whom.* `tracking/` knows the application's communicators: which one a call has, and who is in it. `size.rs`
//!    puts sizes into classes.
//! 5. *Adding up.* `table.rs` is what authors see of a table, `layout.rs` puts the parts of a key together, `shard.rs` is a
//!    thread's part of it, and `moments.rs` is what a measure remembers of its values. `peers/` is the table of who has
//!    sent how much to whom. `thread.rs` is how a thread finds what is its own.
//!    `timeline.rs` tells when in the run the time was spent, and `phases.rs` how long the program's phases took.
//!    `log.rs` keeps what is not to be added up: rows with numbers and text.
//! 6. *All ranks.* `merged.rs` adds tables of several ranks, `message.rs` makes bytes of one, and `gather.rs` sends
//!    them to rank 0 in a tree. `hosts.rs` knows where the ranks ran.
//! 7. *Showing.* `view.rs` is what a report reads, of one process or of all, and `report.rs` writes it.
//!
//! # What holds for all parts
//!
//! * *Cost.* What an application's call does for a known key takes no lock and allocates nothing. A new key, a new
//!   site and a thread's first call may do both.
//! * *Threads.* A thread writes to memory of its own. Readers look at the memory of all threads at any time, and see
//!   each number as it was at some moment, not all numbers of the same moment.
//! * *Signals.* A handler may read everything and write a report. A call that a handler makes while the same thread is
//!   changing its table counts elsewhere, and is not lost.
//! * *Memory.* Each part says how much it takes at most. What is full counts in coarser rows, so totals stay right,
//!   and the report says that it did.
//! * *Ranks.* A number in a key means the same on all ranks, or it is a site or a communicator. These have other numbers
//!   on each rank and are compared by files and offsets, and by identities.

mod clock;
pub(crate) mod gather;
mod hosts;
mod layout;
pub(crate) mod log;
mod memory;
pub(crate) mod merged;
mod message;
mod moments;
mod own_time;
pub(crate) mod peers;
mod phases;
pub(crate) mod report;
mod segments;
pub(crate) mod shard;
pub(crate) mod site;
mod size;
pub(crate) mod table;
pub(crate) mod thread;
mod timeline;
mod tracking;
mod traffic;
pub(crate) mod view;

pub use clock::Clock;
pub use log::{AnyLog, Cell, Log};
pub use memory::copy_memory;
pub use moments::Moments;
pub use peers::{Peer, PeerTable};
pub use site::{Caller, CodePlace, Nesting, PythonPlace, Site};
pub use size::SizeClass;
pub use table::{AnyTable, KnownRow, Measure, MeasureUnit, Part, PartKind, Parts, RowKey, Table};
pub use thread::{ThisThread, ThreadWord};
pub use timeline::Stretch;
pub use tracking::{
    CommunicatorLayer, Communicators, Files, KnownComm, KnownGroups, Members, TrackedComm,
};
pub use traffic::{
    Complete, Exchange, Keeps, KeptMessage, STARTED_MESSAGES, TRAFFIC, Tally, Traffic,
};
