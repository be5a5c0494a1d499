//! The memory of threads: mapped at a thread's first count, and taken over by the next thread that
//! starts when it ends. The end is told by a key of pthreads, whose destructor runs in the thread.
//! Counts stay where they are: the next thread adds to them.

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::arch;
pub(super) use crate::arch::counts_word as word;
use crate::kit::thread::{self, ThreadMemory};

/// A thread's memory for counters, one for all instances of a tool; pages that are not counted in
/// are never made. The lanes of eight instances lie side by side, so that the counters of one
/// function in many levels of a stack are in few pages: the counters of an index stand next to each
/// other, and the next index is a `STRIDE` away.
pub(super) const ARENA: usize = 8 << 20;

/// A thread's word is 0, or the address of its memory with the sign bit set. Of the sum of word and
/// offset the sign bit is clear if both are there, and only then: with `NO_LANE` for an offset it is
/// set beside any address (none is below 64 KiB), and beside 0.
pub(super) const SIGN: u64 = 1 << 63;

/// The beginning of a thread's memory. Lanes begin behind it, at `STRIDE`.
pub(super) struct Arena {
    /// The next one of all.
    pub(super) next: AtomicPtr<Arena>,
    /// What the kit keeps of the thread, once there is something.
    kit: AtomicPtr<ThreadMemory>,
}

/// The memory of all threads, in a list that only grows: new ones come to its head. Whoever has
/// read the head may go through all of it, without a lock.
pub(super) static ARENAS: AtomicPtr<Arena> = AtomicPtr::new(ptr::null_mut());

// The thread's word: 0, or its arena's address with the sign bit set.
crate::__thread_words! { "mpi_tool_counts", 8 bytes }

/// Sets the thread's word.
///
/// # Safety
/// `word` is 0, or the address of an [`Arena`] that is never freed and that no other thread has,
/// with the sign bit set.
unsafe fn set_word(word: u64) {
    // SAFETY: that the value is one that the others rely on is the caller's promise.
    unsafe { arch::set_counts_word(word) };
}

/// This thread's memory, if it has some.
#[inline(always)]
fn own() -> Option<&'static Arena> {
    let address = (word() & !SIGN) as usize;
    // SAFETY: the pointer must be null or of an `Arena` that stays. The word is 0 or the address of one, with
    // the sign bit set, and arenas are never freed.
    unsafe { ptr::with_exposed_provenance::<Arena>(address).as_ref() }
}

/// This thread's memory, which it gets where that is possible.
fn make_own() -> Option<&'static Arena> {
    if word() == 0 {
        take();
    }
    own()
}

/// What the kit keeps of this thread, made where that is possible: `None` if the system gives no memory. The thread
/// finds it by `thread::memory` from then on.
pub(crate) fn make_kit() -> Option<&'static ThreadMemory> {
    let place = &make_own()?.kit;
    if place.load(Acquire).is_null()
        && let Some(new) = zeros_in_small_pages(size_of::<ThreadMemory>())
    {
        // A signal handler may have been faster: its memory stays, and this is not used.
        let _ = place.compare_exchange(ptr::null_mut(), new.cast().as_ptr(), AcqRel, Acquire);
    }
    let kit = place.load(Acquire);
    // SAFETY: it must be null or stay, and be this thread's alone: it was mapped above or for an earlier thread that had
    // this arena, which is this thread's now. Mapped memory is of zeros, which are a `ThreadMemory`.
    unsafe { thread::set_memory(kit) };
    thread::memory()
}

/// Calls `each` with what the kit keeps of all threads, also of those that have ended. Takes no lock.
pub(crate) fn each_kit(mut each: impl FnMut(&'static ThreadMemory)) {
    let mut arena = ARENAS.load(Acquire).cast_const();
    // SAFETY: the pointer must be null or of an `Arena` that stays. They are in a list that only grows, and are never
    // freed.
    while let Some(this) = unsafe { arena.as_ref() } {
        // SAFETY: the pointer must be null or of a `ThreadMemory` that stays: only `make_kit` writes it, with memory that
        // is never freed, of zeros, which are one.
        if let Some(kit) = unsafe { this.kit.load(Acquire).as_ref() } {
            each(kit);
        }
        arena = this.next.load(Acquire);
    }
}

/// Words of arenas whose threads have ended.
static FREE: Mutex<Vec<u64>> = Mutex::new(Vec::new());
/// The key whose destructor tells of a thread's end; `None` if the process has no more keys.
static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

/// Gives the thread memory, where its end can be watched. Else it keeps none, and counts in
/// `shared`: memory that nobody takes over would be lost with each thread that ends.
pub(super) fn take() {
    let key = *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `pthread_key_create` writes one key, and `key` is a place for it.
        // `thread_ends` is a function of the prototype that it wants, and stays where it is:
        // what is preloaded is never unloaded, and no host closes the tools that it has opened.
        let result = unsafe { libc::pthread_key_create(&mut key, Some(thread_ends)) };
        (result == 0).then_some(key)
    });
    let some = ptr::dangling::<libc::c_void>();
    // SAFETY: `pthread_setspecific` wants a key that was created and not deleted, which nobody
    // does. The value is never followed: it is not null so that the thread's end calls the
    // destructor.
    if !key.is_some_and(|key| unsafe { libc::pthread_setspecific(key, some) == 0 }) {
        return;
    }
    let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    if let Some(word) = free.or_else(map) {
        // SAFETY: an `Arena` must be there: the word is one's, and arenas are never freed.
        let arena = unsafe { &*ptr::with_exposed_provenance::<Arena>((word & !SIGN) as usize) };
        let kit = arena.kit.load(Acquire);
        // What an earlier thread has found on its stack is not on this one's.
        // SAFETY: the pointer must be null or of a `ThreadMemory` that stays: only `make_kit` writes it, with memory that is
        // never freed, of zeros, which are one.
        if let Some(kit) = unsafe { kit.as_ref() } {
            kit.sites.clear();
            // Nor did this thread compute since the last call of that one.
            kit.tables.iter().for_each(|table| {
                // SAFETY: the pointer must be null or of a shard that stays: only the memory's own thread writes it, with
                // shards, which are never freed.
                if let Some(shard) = unsafe { table.load(Acquire).as_ref() } {
                    shard.forget_event();
                }
            });
        }
        // SAFETY: both must be this arena's, which no other thread may have. It comes from `FREE`, out of which it was
        // just taken, or from `map`, which has just made it; arenas and what they lead to are never freed.
        unsafe {
            set_word(word);
            thread::set_memory(kit);
        }
    }
}

/// So many new bytes of zeros, aligned to a page, that nobody else knows; `None` if the system gives none. Pages that are not
/// touched are never made.
fn zeros(length: usize) -> Option<NonNull<c_void>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: `mmap` at an address of the kernel's choice touches no memory of others.
    let memory = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
    NonNull::new(memory).filter(|_| memory != libc::MAP_FAILED)
}

/// The same where most of it is never touched: so it has small pages only.
pub(crate) fn zeros_in_small_pages(length: usize) -> Option<NonNull<c_void>> {
    let memory = zeros(length)?;
    // SAFETY: `madvise` wants mapped memory, and changes no contents: so many bytes were mapped for this.
    unsafe { libc::madvise(memory.as_ptr(), length, libc::MADV_NOHUGEPAGE) };
    Some(memory)
}

/// New memory, in the list of all: its word, or `None` if the system gives none.
fn map() -> Option<u64> {
    let arena = zeros_in_small_pages(ARENA)?.cast::<Arena>().as_ptr();
    let mut head = ARENAS.load(Relaxed);
    loop {
        // SAFETY: an `Arena` must be there, with no writer. The memory is mapped, larger than
        // an `Arena`, and of zeros, which are one with a null `next`; it is not shared yet.
        unsafe { (*arena).next.store(head, Relaxed) };
        match ARENAS.compare_exchange_weak(head, arena, Release, Relaxed) {
            Ok(_) => break,
            Err(now) => head = now,
        }
    }
    Some(arena.expose_provenance() as u64 | SIGN)
}

/// The key's destructor: another thread may have the memory. A later destructor of this thread
/// that counts gets memory anew.
unsafe extern "C" fn thread_ends(_: *mut libc::c_void) {
    let word = word();
    // SAFETY: 0 and null are always allowed: the thread has no memory from here on, and asks for some at
    // its next count.
    unsafe {
        set_word(0);
        thread::set_memory(ptr::null());
    }
    if word != 0 {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(word);
    }
}
