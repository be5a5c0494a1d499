//! What the kit keeps of each thread: six words in thread-local storage, and memory that one of them leads to.
//!
//! The words are found at a distance from the thread pointer that the dynamic linker has put into the global offset table (the
//! initial-exec model). All parts of the kit share them, so that a call of the application asks
//! once for the distance, and each word is one instruction then.

use core::marker::PhantomData;
use core::sync::atomic::AtomicPtr;

use super::shard::Shard;
use super::site::cache::SiteCache;
use crate::arch::words::{BESIDE_LEVEL, MEMORY, OUTER, OWN};
use crate::arch::{self, word};

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

// The words of `arch::words`.
crate::__thread_words! { "mpi_tool_caller", 56 bytes }

/// What the last `MPI_Pcontrol` of this thread had as its second argument, if it had one, and 0 from now on.
pub(crate) fn take_beside_level() -> usize {
    let beside = word::<BESIDE_LEVEL>();
    // SAFETY: nothing relies on the word but this function.
    unsafe { arch::clear_word_again::<BESIDE_LEVEL>() };
    beside
}

/// The outermost call is over. The distance is loaded again: to keep it for as long as a call takes would cost more.
#[inline(always)]
pub(crate) fn end_outer() {
    // SAFETY: the number is compared only.
    unsafe { arch::clear_word_again::<OUTER>() };
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
    // SAFETY: `memory` relies on the address, for which the caller vouches.
    unsafe { arch::set_word::<MEMORY>(memory.expose_provenance()) };
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
        // SAFETY: the kit relies on no value of the word.
        unsafe { arch::clear_word::<OWN>() };
    }

    /// Changes this thread's word.
    #[inline(always)]
    pub fn set(own: usize) {
        // SAFETY: the kit relies on no value of the word.
        unsafe { arch::set_word_again::<OWN>(own) };
    }
}
