//! Safe MPI, as close to C as safety allows.
//!
//! Every wrapper calls one C function, every type converts to its C counterpart and back, and
//! [`pmpi_mode`] is the same library over `PMPI_*`, for tools. What safe code cannot do, and how that
//! is kept, is in `docs/rmpi.md`, with tables of what is wrapped.
//!
//! ```no_run
//! use rmpi::{RmpiResult, Tag};
//!
//! fn main() -> RmpiResult {
//!     let context = rmpi::init()?;
//!     let world = context.world();
//!     let mut greeting = [0_u8; 5];
//!     match world.rank()? {
//!         0 => world.process(1).send(b"hello", Tag::new(0))?,
//!         1 => world.process(0).recv(&mut greeting, Tag::new(0))?,
//!         _ => {}
//!     }
//!     Ok(())
//! }
//! ```
//!
//! * [`RmpiContext`] and [`Session`]: MPI runs. [`Communicator`]: collective operations.
//!   [`Process`]: one rank of it, to send to, and as the root of collective operations. [`Source`]: to
//!   receive from.
//! * [`scope()`]: non-blocking operations on borrowed buffers; [`Request`], [`RequestSlice`],
//!   [`PersistentRequest`]. [`OwnedRequest`]: on buffers that move in, also as
//!   a future ([`RequestFuture`]). [`PartitionedCommunicator`]: messages in parts.
//! * [`TypedCommunicator`]: messages that say of which type they are, and of types that `serde` knows.
//! * [`MpiDatatype`] and [`SendDatatype`]: types that MPI may write and read, derivable, and tuples of them;
//!   `Foreign` (feature `bytemuck`): types of other crates. [`BufferRef`] and [`BufferMut`]: what is made of them, and
//!   arrays of `ndarray` (a feature, too). [`Strided`] and [`Sections`]: parts of a slice. [`TypeDynamicBufferRef`]: a datatype that
//!   is known only as the program runs; [`Datatype`]: such a one.
//! * [`Window`]: one-sided communication, in an [`Epoch`]; [`window_scope()`]: over borrowed memory.
//! * [`ToolInterface`]: the MPI library's settings and counters.
//! * [`Error`] and [`ErrorClass`]: everything returns them, nothing panics.
//! * Each `f` has an `f_with` that takes the C function to call, for tools: [`call`].

#[macro_use]
mod functions;
pub mod call;
mod fingerprint;
#[cfg(feature = "bytemuck")]
mod foreign;
mod format;
mod names;
mod place;
mod plain;
pub mod pmpi_mode;
mod running;
mod sentinels;
mod thread_level;
mod timer;
mod tuples;
mod typemap;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(doctest, feature = "bytemuck", feature = "ndarray"))]
#[doc = include_str!("../docs/rmpi.md")]
struct Page;

#[cfg(doctest)]
#[doc = include_str!("../docs/rmpi-from-c.md")]
struct FromC;

#[cfg(all(doctest, feature = "serde"))]
#[doc = include_str!("../docs/messages.md")]
struct Messages;

#[cfg(doctest)]
#[doc = include_str!("../docs/one-sided.md")]
struct OneSidedPage;

use functions::mpi as sys;

#[path = "library/mod.rs"]
mod library;

#[cfg(feature = "bytemuck")]
pub use foreign::Foreign;
pub use format::{Format, Postcard};
pub use library::*;
pub use mpi_sys;
pub use names::*;
pub use plain::Plain;
pub use rmpi_macros::{MpiDatatype, SendDatatype};
pub use thread_level::*;
pub use typemap::*;
