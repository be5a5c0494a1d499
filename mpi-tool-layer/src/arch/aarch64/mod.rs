//! aarch64, as Arm's procedure call standard (AAPCS64) has it on Linux.
//!
//! A context is in x9, a second one in x10: a veneer of the linker's may use x16 and x17, and x8 is where a large result goes. An
//! entry of a stack gets its place in d0. A call returns to what is in x30, which exported functions that note their caller write
//! to a word of the thread's.
//!
//! Where one process writes what another one reads, the order is said by `Release` and `Acquire` in Rust; nothing here relies on
//! the order of plain stores.

mod clock;
mod compare;
mod conventions;
mod entries;
pub mod registers;
mod stacks;
mod thread;
mod unwinding;

pub(crate) use clock::*;
pub use compare::*;
pub use conventions::*;
pub use entries::*;
pub use registers::Registers;
pub(crate) use registers::add_in_cold_code;
pub use thread::*;
pub(crate) use unwinding::*;

/// The relocations by which a word becomes the address of a symbol: R_AARCH64_ABS64, R_AARCH64_GLOB_DAT and R_AARCH64_JUMP_SLOT.
pub(crate) const ADDRESSES_OF_SYMBOLS: [u32; 3] = [257, 1025, 1026];
