//! x86-64, as the System V ABI has it.
//!
//! A context is in r11, a second one in r10. An entry of a stack gets its place in xmm0.

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

/// The relocations by which a word becomes the address of a symbol: R_X86_64_64, R_X86_64_GLOB_DAT and R_X86_64_JUMP_SLOT.
pub(crate) const ADDRESSES_OF_SYMBOLS: [u32; 3] = [1, 6, 7];
