//! Which ranks of an MPI program can never go on, and why. Page to be written.

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
