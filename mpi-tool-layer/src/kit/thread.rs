//! What the kit keeps of each thread: six words in thread-local storage, and memory that one of them leads to.
//!
//! The words are found at a distance from `fs` that the dynamic linker has put into the global offset table (the
//! initial-exec model, see `counters/memory.rs`). All parts of the kit share them, so that a call of the application asks
//! once for the distance, and each word is one instruction then.

use core::arch::{asm, global_asm};
use core::marker::PhantomData;
use core::sync::atomic::AtomicPtr;

use super::shard::Shard;
use super::site::cache::SiteCache;

/// For how many tables a thread has a place.
pub(crate) const TABLES: usize = 512;

/// The call sites that a thread has called from; and its rows of each table, by the table's number. Zeros are
/// such memory without anything in it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ThreadMemory {
    pub(crate) sites: SiteCache,
    /// The last place stays empty: it is that of tables for which there is no other.
    pub(crate) tables: [AtomicPtr<Shard>; TABLES + 1],
}

// The stack pointer at the last entry into the tool, the frame pointer there, the stack pointer of the outermost call,
// the thread's memory, a word of the tool's own, and the second argument of the last `MPI_Pcontrol`.
global_asm! {
    ".pushsection .tbss.mpi_tool_caller, \"awT\", @nobits",
    ".balign 8",
    ".hidden mpi_tool_caller",
    ".globl mpi_tool_caller",
    ".type mpi_tool_caller, @object",
    ".size mpi_tool_caller, 48",
    "mpi_tool_caller: .zero 48",
    ".popsection",
}

/// The words, by their distance from the first one.
pub(crate) const STACK: usize = 0;
pub(crate) const FRAME: usize = 8;
const OUTER: usize = 16;
const MEMORY: usize = 24;
const OWN: usize = 32;
const BESIDE_LEVEL: usize = 40;

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
    const { assert!(AT <= BESIDE_LEVEL, "there are six words") };
    let word;
    // SAFETY: the assembly may only read, from memory that is there: `words` says how far from `fs` this thread has
    // six words, and `AT` is one of them. Neither stack nor flags change.
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

/// What the last `MPI_Pcontrol` of this thread had as its second argument, if it had one, and 0 from now on.
pub(crate) fn take_beside_level() -> usize {
    let beside = word::<BESIDE_LEVEL>();
    // SAFETY: the assembly writes eight bytes, which must be the thread's own and no others: see `word`. It loads the
    // distance again, as in `end_outer`: see `words`.
    unsafe {
        asm!(
            "mov {words}, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
            "mov qword ptr fs:[{words} + {at}], 0",
            words = out(reg) _,
            at = const BESIDE_LEVEL,
            options(nostack, preserves_flags),
        );
    }
    beside
}

/// Is the stack pointer above the word of the outermost call? Without such a call, that is 0, below all stacks.
#[inline(always)]
pub(crate) fn is_above_outer() -> bool {
    // SAFETY: the assembly may only read, from memory that is there: it is one of this thread's words (`word`), and neither
    // stack nor registers change.
    unsafe {
        asm!(
            "cmp rsp, qword ptr fs:[{words} + {at}]",
            "jbe {inside}",
            words = in(reg) words(),
            at = const OUTER,
            inside = label { return false },
            options(readonly, nostack),
        );
    }
    true
}

/// The outermost call begins here.
#[inline(always)]
pub(crate) fn begin_outer() {
    // SAFETY: the assembly writes eight bytes, which must be the thread's own and no others: see `word`. The number is
    // compared only.
    unsafe {
        asm!(
            "mov qword ptr fs:[{words} + {at}], rsp",
            words = in(reg) words(),
            at = const OUTER,
            options(nostack, preserves_flags),
        );
    }
}

/// The outermost call is over. The distance is loaded again: to keep it for as long as a call takes would cost more.
#[inline(always)]
pub(crate) fn end_outer() {
    // SAFETY: the assembly writes eight bytes, which must be the thread's own and no others: see `word`. It loads the
    // distance again, which does not change: see `words`.
    unsafe {
        asm!(
            "mov {words}, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
            "mov qword ptr fs:[{words} + {at}], 0",
            words = out(reg) _,
            at = const OUTER,
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

/// What the kit keeps of the thread that this code runs in. Whoever asks several parts of the kit of one thread finds it once
/// for all of them.
///
/// ```
/// use mpi_tool_layer::{Caller, ThisThread};
///
/// let caller = Caller::of_this_call();
/// let site = caller.known_site(ThisThread::get(), 4).unwrap_or_else(|| caller.site(4));
/// # let _ = site;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ThisThread {
    pub(super) memory: Option<&'static ThreadMemory>,
    /// Another thread must not have it.
    not_send: PhantomData<*const ()>,
}

impl ThisThread {
    /// Of the thread that asks.
    #[inline(always)]
    pub fn get() -> Self {
        Self { memory: memory(), not_send: PhantomData }
    }
}

/// Gives this thread memory, or takes it away.
///
/// # Safety
/// It is null, or a `ThreadMemory` that is never freed and that no other thread has.
pub(crate) unsafe fn set_memory(memory: *const ThreadMemory) {
    // SAFETY: the assembly writes eight bytes, which must be the thread's own and no others: see `word`. `memory` relies
    // on the address, for which the caller vouches.
    unsafe {
        asm!(
            "mov qword ptr fs:[{words} + {at}], {memory}",
            words = in(reg) words(),
            at = const MEMORY,
            memory = in(reg) memory.expose_provenance(),
            options(nostack, preserves_flags),
        );
    }
}

/// A word of each thread's for the tool's own use, 0 at first: found in two instructions, without a lock and in signal
/// handlers, too. A tool has one, all its levels together.
///
/// ```
/// use mpi_tool_layer::ThreadWord;
///
/// assert_eq!(ThreadWord::get(), 0);
/// ThreadWord::set(7);
/// assert_eq!(ThreadWord::get(), 7);
/// ThreadWord::clear();
/// assert_eq!(ThreadWord::get(), 0);
/// std::thread::spawn(|| assert_eq!(ThreadWord::get(), 0)).join().unwrap();
/// ```
#[derive(Debug)]
pub struct ThreadWord;

impl ThreadWord {
    /// This thread's word.
    #[inline(always)]
    pub fn get() -> usize {
        word::<OWN>()
    }

    /// Makes this thread's word 0, in an instruction less than [`set`](Self::set).
    #[inline(always)]
    pub fn clear() {
        // SAFETY: the assembly writes eight bytes, which must be the thread's own and no others: see `word`.
        unsafe {
            asm!(
                "mov qword ptr fs:[{words} + {at}], 0",
                words = in(reg) words(),
                at = const OWN,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Changes this thread's word.
    #[inline(always)]
    pub fn set(own: usize) {
        // SAFETY: the assembly writes eight bytes, which must be the thread's own and no others: see `word`. It loads the
        // distance again, as in `end_outer`: see `words`.
        unsafe {
            asm!(
                "mov {words}, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
                "mov qword ptr fs:[{words} + {at}], {own}",
                words = out(reg) _,
                at = const OWN,
                own = in(reg) own,
                options(nostack, preserves_flags),
            );
        }
    }
}
