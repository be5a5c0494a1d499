//! What the kit keeps of each thread: four words in thread-local storage, and memory that one of them leads to.
//!
//! The words are found at a distance from `fs` that the dynamic linker has put into the global offset table (the
//! initial-exec model, see `counters/memory.rs`). All parts of the kit share them, so that a call of the application asks
//! once for the distance, and each word is one instruction then.

use core::arch::{asm, global_asm};
use core::sync::atomic::AtomicPtr;

use super::shard::Shard;
use super::site::cache::SiteCache;

/// For how many tables a thread has a place.
pub(crate) const TABLES: usize = 512;

/// A thread's rows of each table, by the table's number; and the call sites that it has called from. Zeros are
/// such memory without anything in it.
#[repr(C)]
pub(crate) struct ThreadMemory {
    pub(crate) tables: [AtomicPtr<Shard>; TABLES],
    pub(crate) sites: SiteCache,
}

// The stack pointer at the last entry into the tool, the frame pointer there, the stack pointer of the outermost call,
// and the thread's memory.
global_asm! {
    ".pushsection .tbss.mpi_tool_caller, \"awT\", @nobits",
    ".balign 8",
    ".hidden mpi_tool_caller",
    ".globl mpi_tool_caller",
    ".type mpi_tool_caller, @object",
    ".size mpi_tool_caller, 32",
    "mpi_tool_caller: .zero 32",
    ".popsection",
}

/// The words, by their distance from the first one.
pub(crate) const STACK: usize = 0;
pub(crate) const FRAME: usize = 8;
pub(crate) const OUTER: usize = 16;
const MEMORY: usize = 24;

/// How far the words are from `fs`: the same in all threads and all the time, so that the compiler may ask once.
#[inline(always)]
fn words() -> usize {
    let distance;
    // SAFETY: the assembly may only read, from memory that is there and does not change: the dynamic linker writes this
    // part of the global offset table before any code of this object runs. Neither stack nor flags change.
    unsafe {
        asm!(
            "mov {distance}, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
            distance = out(reg) distance,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    distance
}

/// One of this thread's words.
#[inline(always)]
pub(crate) fn word<const AT: usize>() -> usize {
    const { assert!(AT <= MEMORY, "there are four words") };
    let word;
    // SAFETY: the assembly may only read, from memory that is there: `words` says how far from `fs` this thread has
    // four words, and `AT` is one of them. Neither stack nor flags change.
    unsafe {
        asm!(
            "mov {word}, qword ptr fs:[{words} + {at}]",
            words = in(reg) words(),
            at = const AT,
            word = out(reg) word,
            options(readonly, nostack, preserves_flags),
        );
    }
    word
}

/// Sets one of the words that are numbers.
#[inline(always)]
pub(crate) fn set_word<const AT: usize>(word: usize) {
    const { assert!(AT < MEMORY, "the memory is set by `set_memory`") };
    // SAFETY: nobody trusts these words: whoever reads an address from them looks first where it leads.
    unsafe { write::<AT>(word) }
}

/// # Safety
/// The word may have that value.
#[inline(always)]
unsafe fn write<const AT: usize>(word: usize) {
    // SAFETY: the assembly writes eight bytes, which must be the thread's own and no others: see `word`. That the value
    // is one that the others rely on is the caller's promise.
    unsafe {
        asm!(
            "mov qword ptr fs:[{words} + {at}], {word}",
            words = in(reg) words(),
            at = const AT,
            word = in(reg) word,
            options(nostack, preserves_flags),
        );
    }
}

/// This thread's memory, if it has some.
#[inline(always)]
pub(crate) fn memory() -> Option<&'static ThreadMemory> {
    let memory = core::ptr::with_exposed_provenance::<ThreadMemory>(word::<MEMORY>());
    // SAFETY: the pointer must be null or of a `ThreadMemory` that stays: `set_memory` is promised that.
    unsafe { memory.as_ref() }
}

/// Gives this thread memory, or takes it away.
///
/// # Safety
/// It is null, or a `ThreadMemory` that is never freed and that no other thread has.
pub(crate) unsafe fn set_memory(memory: *const ThreadMemory) {
    // SAFETY: `memory` relies on what the caller promises.
    unsafe { write::<MEMORY>(memory.expose_provenance()) }
}
