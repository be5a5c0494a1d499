//! The room for what depends on the processor: nothing else in this framework has assembly, but for the tables of addresses in
//! `rmpi-sys`. What `libqmpi.so` makes and reads of x86-64's code is not here yet (`qmpi-shim`, `Entry::of` in `qmpi/stack.rs`).
//!
//! A processor is a folder, with the same things under the same names in each; `data.rs` is the same for all. What is
//! asked of one:
//!
//! | file | what it has |
//! |---|---|
//! | `registers.rs` | `__ask_first!`: a function for calls whose arguments only the caller knows asks a function of Rust where they go on; [`aside!`](crate::aside) and `add_in_cold_code`: calls that leave the registers of arguments alone |
//! | `thread.rs` | words of a thread, and where its stack ends |
//! | `compare.rs` | comparisons and additions in one step, where that is less or a signal handler may come in between |
//! | `clock.rs` | the cycle counter, and what the kernel calls it |
//! | `entries.rs` | what exported functions are made of: notes of the caller, jumps through tables, notes of messages |
//! | `conventions.rs` | ways between calling conventions, for stacks and for Fortran, and the thunks that lead to them |
//! | `stacks.rs` | what a library that runs TUM's stacks exports |
//!
//! What a piece promises stands at it. All of them leave alone what the calling convention of C has a function leave alone, and,
//! where a call of MPI goes on, all registers that may have arguments. A *context* is an address or a number that a jump takes
//! along in a register that has no argument.

use core::ffi::{c_int, c_void};

mod data;

pub(crate) use data::weak_addresses;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64/mod.rs"]
mod here;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64/mod.rs"]
mod here;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!("mpi-tool-layer knows two processors: x86-64 and aarch64");

pub use here::*;

/// What the kit keeps of each thread, by the distance from the first word in bytes.
pub(crate) mod words {
    /// The stack pointer at the last entry into the tool.
    pub(crate) const STACK: usize = 0;
    /// The frame pointer there.
    pub(crate) const FRAME: usize = 8;
    /// The stack pointer of the outermost call.
    pub(crate) const OUTER: usize = 16;
    /// The thread's memory.
    pub(crate) const MEMORY: usize = 24;
    /// A word of the tool's own.
    pub(crate) const OWN: usize = 32;
    /// The second argument of the last `MPI_Pcontrol`.
    pub(crate) const BESIDE_LEVEL: usize = 40;
    /// Where the last call returns to, on processors that have it in a register.
    pub(crate) const RETURNS_TO: usize = 48;
}

/// What becomes of a call whose arguments only its caller knows: the next function, or null and what to
/// return instead.
#[repr(C)]
pub struct Answer {
    /// Gets the call as it came.
    pub next: *const c_void,
    /// The result where there is no next.
    pub result: c_int,
}

/// For [`aside!`](crate::aside): the address to pass, for a function that takes such a reference.
#[doc(hidden)]
#[inline(always)]
pub fn argument_aside<T: Sync>(
    _: extern "C" fn(&'static T) -> u64,
    argument: &'static T,
) -> *const T {
    argument
}
