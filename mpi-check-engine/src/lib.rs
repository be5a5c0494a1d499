//! Which ranks of an MPI program can never go on, and who waits for whom: a judge of standstills that needs no MPI.
//!
//! A [`Picture`] of what all ranks do at one moment goes in; a [`Standstill`] comes out, as data, or nothing. There are no statics, no
//! threads and no clock here, and nothing is read: `mpi-check` takes pictures of a program that runs and puts what is found into
//! words; the tests of this crate make pictures of programs that exist nowhere else.
//!
//! ```
//! use mpi_check_engine::{How, Need, Picture, Rank, State, Wanted, Whom};
//!
//! // Two ranks that both call MPI_Recv first (MPI-5.0, section 3.5, example 3.8).
//! let receives = |source| Rank {
//!     state: State::Blocked,
//!     needs: vec![Need::Message(Wanted { identity: 1, source: Some(source), tag: Some(0) })],
//!     has_posted: true,
//!     ..Rank::default()
//! };
//! let picture = Picture { ranks: vec![receives(1), receives(0)], ..Picture::default() };
//! let found = picture.standstill(&How::default()).unwrap();
//! assert_eq!(found.ranks().collect::<Vec<_>>(), [0, 1]);
//! assert_eq!(found.waits[0].whom, Whom::Ranks(vec![1]));
//! assert_eq!(found.cycle(), Some(vec![0, 1]));
//! ```
//!
//! # What is in a picture
//!
//! Each rank is in one of four [states](State): it runs, it stands in a blocking call, it polls, or it has come to `MPI_Finalize`. Of
//! one that stands or polls, the picture has the [needs](Need) of its call, all of which must be met, or one of them
//! (`MPI_Waitany`). A need says what must happen, not when: a message that fits; somebody who receives what was sent; all members of
//! a communicator, or the root, in the operation of some number; a window that is posted, an epoch that is completed, a lock that is
//! given back. What somebody may want to know for that is in the picture, too: messages under way, operations with those who have
//! come to them, members of communicators, who holds which lock.
//!
//! Ranks are those of `MPI_COMM_WORLD`. Communicators and windows are named by numbers that mean nothing here.
//!
//! # What is said, and why it is true
//!
//! A rank *can go on* if it runs, if what its call needs is there, or if somebody who can go on may still do it: whoever runs may do
//! anything that MPI allows. So the judge begins with those who run and adds others until nobody can be added. Those that wait and
//! are left need, each of them, what only ranks can give that are left, too, or that are over: none of them can be the first to
//! go on, whatever the others do. What is not known counts as if it may happen. So nobody is named who can go on, as long as the
//! picture is true, but not all are named who cannot.
//!
//! Some finer points:
//!
//! * A wait for several receives needs a message for each of them: messages are given to receives so that as many as possible have
//!   one. In which order receives were posted is not in the picture.
//! * Only members of a communicator send on it, and only members come to its operations. Where they are known, an operation that
//!   all must come to cannot end once one of them can never come.
//! * MPI may have a copy of what a standard send sends (MPI-5.0, section 3.4). A call that does nothing but send stands because
//!   it has none. One that waits for other things, too, as `MPI_Sendrecv` and `MPI_Waitall` do, waits for its standard sends only if all
//!   else is there for sure.
//! * A receive that waits may get a message only if it asks for it. Receives that are pending besides may ask for anything, and
//!   [`Rank::open`] says how many there are.
//! * A root may leave `MPI_Bcast` before others come, and may not (MPI-5.0, section 6.1). No right program leans on either, so whoever has
//!   stood in an operation for long counts as waiting for all ([`How::is_strict`]).
//! * A rank that polls may stop for a reason that no call shows. It counts as waiting if the one who asks says so ([`How::polling`]);
//!   [`Patience`] says when, from how often it has polled.
//!
//! # When to ask
//!
//! A picture takes a while to take, while ranks go on. Whoever takes it looks at the ranks first, at the rest afterwards, and asks
//! before and after whether they are at the same calls: [`Patience`] counts the looks that show the same.
//!
//! Where ranks are on several hosts, each host has a picture of its own. An [`Exchange`] puts them together, over a [`Board`] that hosts
//! write to and read from, so that what is judged was true at one moment everywhere.
//!
//! # How it is tested
//!
//! `tests/simulator` is a small MPI that goes step by step through whatever the standard allows: which receive gets which message,
//! whether a send is buffered, who returns first. `tests/random.rs` runs random programs of 2 to 8 ranks in it. At any moment, no rank may
//! be named that returns from its call in any way to go on; when nothing can happen any more, all must be named that wait.
//! `tests/known.rs` has answers that the standard gives.

mod hosts;
mod judge;
mod need;
mod patience;
mod picture;
mod standstill;

pub use hosts::{Board, Exchange};
pub use judge::How;
pub use need::{Channel, Lock, Need, Wanted};
pub use patience::{LEAST_POLLS, LOOKS, POLLS, Patience, STRICT, Waiting};
pub use picture::{CallSite, Entered, Operation, Picture, Rank, State};
pub use standstill::{Standstill, Wait, Whom};
