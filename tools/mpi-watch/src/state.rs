//! The mapped file: its words, each thread's slot in it, and the areas that calls write to.
//!
//! All words are atomics that are written by plain stores. Whoever reads them does so in another process, and knows by
//! the order of the stores what belongs together (`mpi_facts::watch`).

use core::ptr::{null_mut, with_exposed_provenance};
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use std::sync::Mutex;

use mpi_facts::watch::{WORDS, full, group, header, slot};
use mpi_tool_layer::{Caller, Clock, FunctionId, NotesMessages, ThreadWord, Word, arch, aside};

use crate::Watch;
use crate::places::has_sites;

/// A file's words, on pages of their own.
#[repr(C, align(4096))]
pub(crate) struct Words([AtomicU64; WORDS]);

/// Where the process's file is mapped: an address that is known when the tool is linked, so that exported functions write
/// there in one instruction. Zeros as long as there is no file.
pub(crate) static MEMORY: Words = Words([const { AtomicU64::new(0) }; WORDS]);

/// The process's file; null as long as there is none.
static FILE: AtomicPtr<Words> = AtomicPtr::new(null_mut());

/// The file, if this process has one.
#[inline(always)]
pub(crate) fn file() -> Option<&'static Words> {
    let file = FILE.load(Acquire);
    // SAFETY: the pointer must be null or lead to words that stay: `set_file` makes it that of a static.
    unsafe { file.as_ref() }
}

/// The process has a file from now on, which is mapped to [`MEMORY`]. How its messages are noted: `way`.
///
/// # Safety
///
/// If the way opens the notes of messages, one thread alone calls MPI, and it is in no call that is noted.
pub(crate) unsafe fn set_file(way: u8) {
    MEMORY.set(slot::AREA + slot::FUNCTION, u64::from(way) << <Watch as NotesMessages>::WAY_SHIFT);
    FILE.store((&raw const MEMORY).cast_mut(), Release);
}

// SAFETY: `MEMORY` is made of atomic words, and longer than its first slot, whose words these are. The way is opened by
// `set_file` alone, which is promised that one thread calls MPI, and is in no call.
unsafe impl NotesMessages for Watch {
    const FUNCTION: usize = in_first_slot(slot::FUNCTION);
    const CALLS: usize = in_first_slot(slot::ENTERED);
    const STACK: usize = in_first_slot(slot::STACK);
    const COMM: usize = in_first_slot(slot::COMM);
    const DESTINATION: usize = in_first_slot(slot::PEER);
    const SOURCE: usize = in_first_slot(slot::SOURCE);
    const TAG: usize = in_first_slot(slot::TAG);
}

/// Where in the file a word of the first slot is, in bytes.
const fn in_first_slot(word: usize) -> usize {
    (slot::AREA + word) * size_of::<AtomicU64>()
}

const _: () = assert!(
    slot::OUTSIDE == (<Watch as NotesMessages>::OPEN as u64) << <Watch as NotesMessages>::WAY_SHIFT,
    "a call is over when the way is open"
);

impl Words {
    /// A word of the file.
    #[inline(always)]
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        &self.0[at]
    }

    #[inline(always)]
    pub(crate) fn set(&self, at: usize, value: u64) {
        self.0[at].store(value, Release);
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.0[at].load(Acquire)
    }

    /// There was no room for something.
    #[cold]
    pub(crate) fn mark_full(&self, what: u64) {
        self.0[header::FULL].fetch_or(what, Relaxed);
    }

    /// Writes bytes, with a NUL behind them: the last ones of a text that is too long, or the first ones.
    pub(crate) fn set_text(&self, at: usize, words: usize, text: &[u8], keep_end: bool) {
        let most = words * 8 - 1;
        let cut = text.len().saturating_sub(most);
        let text = if keep_end { &text[cut..] } else { &text[..text.len() - cut] };
        for word in 0..words {
            let mut bytes = [0; 8];
            for (byte, from) in bytes.iter_mut().zip(text.iter().skip(word * 8)) {
                *byte = *from;
            }
            self.set(at + word, u64::from_le_bytes(bytes));
        }
    }
}

/// What a thread is doing.
#[repr(transparent)]
pub(crate) struct Slot([AtomicU64; slot::LENGTH]);

/// Has a session been started? It may be for several threads.
static SESSION: AtomicBool = AtomicBool::new(false);

/// The slots of threads for which there was none in the file. Nobody reads them.
static FURTHER: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

impl Slot {
    #[inline(always)]
    pub(crate) fn set(&self, at: usize, value: u64) {
        self.0[at].store(value, Release);
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.0[at].load(Relaxed)
    }

    /// One more call.
    #[inline(always)]
    pub(crate) fn count(&self) {
        let calls = self.0[slot::ENTERED].load(Relaxed);
        self.0[slot::ENTERED].store(calls.wrapping_add(1), Release);
    }

    /// The lower half of a word, which is all that is read of an `int`.
    #[inline(always)]
    pub(crate) fn set_int(&self, at: usize, value: i32) {
        let half = (&raw const self.0[at]).cast::<AtomicI32>();
        // SAFETY: the pointer must lead to four bytes of an atomic number that stays. They are the lower half of a word
        // of the slot, where an `int` is in this processor's order; only this thread writes to it, and no other one of
        // this process reads it.
        unsafe { &*half }.store(value, Release);
    }

    /// A handle: its lower half if that is all, as of [`set_int`](Self::set_int).
    #[inline(always)]
    pub(crate) fn set_handle<T: Word>(&self, at: usize, handle: T) {
        if size_of::<T>() == size_of::<i32>() {
            self.set_int(at, handle.to_word() as i32);
        } else {
            self.set(at, handle.to_word());
        }
    }

    /// The thread is in a call of a function from now on.
    #[inline(always)]
    pub(crate) fn set_inside(&self, function: FunctionId) {
        self.set(slot::FUNCTION, function as u64);
    }

    /// A call begins: the thread's slot. `None` of a call inside of another one, and as long as there is no file. To be
    /// followed by [`leave`](Self::leave).
    #[inline(always)]
    pub(crate) fn enter() -> Option<&'static Self> {
        let slot = match Self::of_this_thread() {
            Some(slot) => slot,
            None => {
                let found = aside!(find_slot) as usize;
                // SAFETY: the address must be 0 or that of a slot that stays: `find_slot` returns no others, and has
                // exposed it.
                unsafe { with_exposed_provenance::<Self>(found).as_ref() }?
            }
        };
        slot.note_stack();
        Some(slot)
    }

    /// That of the only thread that calls MPI, where that is known.
    #[inline(always)]
    pub(crate) fn of_only_thread() -> &'static Self {
        MEMORY.slot(slot::AREA)
    }

    /// The slot of a thread that has one and is not in a call.
    #[inline(always)]
    pub(crate) fn of_this_thread() -> Option<&'static Self> {
        let own = with_exposed_provenance::<Self>(ThreadWord::get());
        // SAFETY: the word must be 0 or the address of a slot that stays. Only `find_slot` sets it in this tool, to the
        // address of a slot that `find` has returned, which is leaked or in the file, which is never unmapped. It has
        // exposed it.
        unsafe { own.as_ref() }.filter(|slot| slot.is_outside())
    }

    /// Is the thread in no call?
    #[inline(always)]
    fn is_outside(&self) -> bool {
        const { assert!(slot::OUTSIDE == 1 << 16, "a byte of the word says it") };
        // SAFETY: a byte must be there: it is the slot's, the one with the bit, in this processor's order.
        unsafe {
            arch::is_byte_set::<{ slot::FUNCTION * size_of::<AtomicU64>() + 2 }>(
                self.0.as_ptr().cast(),
            )
        }
    }

    /// Notes where the thread's stack ends: in one step, as of [`set`](Self::set) with `stack_pointer`.
    #[inline(always)]
    pub(crate) fn note_stack(&self) {
        // SAFETY: a word must be there and be nobody else's to write: it is one of the slot's, aligned, and only this thread
        // writes to it.
        unsafe {
            arch::write_stack_pointer::<{ slot::STACK * size_of::<AtomicU64>() }>(
                self.0.as_ptr().cast(),
            );
        }
    }

    /// The same in the first slot.
    #[inline(always)]
    pub(crate) fn note_stack_of_only_thread() {
        // SAFETY: a word must be there that all read and write as a whole: it is one of the static's first slot, aligned.
        unsafe {
            mpi_tool_layer::__write_stack_pointer_to!(MEMORY, in_first_slot(slot::STACK));
        }
    }

    /// Notes when the call began, in cycles.
    #[inline(always)]
    pub(crate) fn note_cycles(&self) {
        let [low, high] = Clock::cycles_in_halves();
        let halves: *const AtomicU32 = (&raw const self.0[slot::SINCE]).cast();
        // SAFETY: the pointer must lead to two atomic numbers that stay. They are the halves of a word of the slot, the lower
        // one first in this processor's order; only this thread writes to them, and no other one of this process reads
        // them.
        unsafe {
            (*halves).store(low, Release);
            (*halves.add(1)).store(high, Release);
        }
    }

    /// The call is over.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        const { assert!(slot::OUTSIDE == 1 << 16) };
        let outside: *const AtomicU8 = (&raw const self.0[slot::FUNCTION]).cast();
        // SAFETY: the pointer must lead to an atomic number that stays. It is the third byte of a word of the slot, where the
        // bit is in this processor's order; only this thread writes to it, and no other one of this process reads it.
        unsafe { &*outside.add(2) }.store(1, Release);
    }

    /// The slot of a thread that has none yet, or that is in a call. A call that it has left by a jump is over when the
    /// thread calls again from where its stack is shorter. Of other calls inside of one, it is noted that there was one.
    #[cold]
    fn find() -> Option<&'static Self> {
        let own = with_exposed_provenance::<Self>(ThreadWord::get());
        // SAFETY: the word must be 0 or the address of a slot that stays: only `find_slot` sets it in this tool, to that of a
        // slot that is leaked or in the file, which is never unmapped.
        if let Some(own) = unsafe { own.as_ref() } {
            let is_over = stack_of_call() > own.get(slot::STACK);
            if is_over {
                own.leave();
                return Some(own);
            }
            own.set(slot::NESTED, own.get(slot::ENTERED));
            own.set(slot::NESTED_CALLS, own.get(slot::NESTED_CALLS).wrapping_add(1));
            return None;
        }
        Self::new()
    }

    /// A slot for a thread that has none.
    fn new() -> Option<&'static Self> {
        let file = file()?;
        // SAFETY: `gettid` takes nothing and always succeeds.
        let thread = unsafe { libc::gettid() } as u64;
        // The first one is for a thread that is alone.
        let slots = || (1..slot::COUNT).map(|number| slot::AREA + number * slot::LENGTH);
        let take = |from: u64, at: usize| {
            let owner = file.word(at + slot::THREAD);
            owner.compare_exchange(from, thread, AcqRel, Relaxed).is_ok()
        };
        let ended = |at: &usize| {
            let owner = file.get(at + slot::THREAD);
            is_gone(owner) && take(owner, *at)
        };
        // A thread that has ended may have had the same number.
        let same = slots().find(|at| file.get(at + slot::THREAD) == thread);
        let free = same.or_else(|| slots().find(|at| take(0, *at))).or_else(|| slots().find(ended));
        let found = match free {
            Some(at) => file.slot(at),
            None => {
                file.mark_full(full::THREADS);
                Self::further(thread)?
            }
        };
        found.leave();
        found.become_own();
        Some(found)
    }

    /// It is this thread's from now on.
    fn become_own(&'static self) {
        ThreadWord::set((&raw const *self).expose_provenance());
    }

    /// This thread is the only one that calls MPI, and is in no call: its calls go to the first slot, and exported functions
    /// of messages write there.
    #[cold]
    pub(crate) fn begin_alone() {
        let (Some(file), Some(own)) = (file(), Self::of_this_thread()) else { return };
        let first = file.slot(slot::AREA);
        // Threads for which there was no room have their slots elsewhere, and nobody reads those. A session may have others.
        if SESSION.load(Relaxed)
            || first.get(slot::ENTERED) != 0
            || file.slots().all(|slot| !core::ptr::eq(slot, own))
        {
            return;
        }
        own.move_to(first);
    }

    /// Further threads may call MPI, by a session: if this one was alone, which it is in no call, its calls go to another slot.
    /// If another one was, that one may be in a call, and what is in its slot may be several threads' from now on.
    #[cold]
    pub(crate) fn end_alone() {
        SESSION.store(true, Relaxed);
        let Some(file) = file() else { return };
        let first = file.slot(slot::AREA);
        if first.get(slot::ENTERED) == 0 {
            return;
        }
        match Self::of_this_thread().filter(|own| core::ptr::eq(*own, first)).zip(Self::new()) {
            Some((own, new)) => {
                own.move_to(new);
                first.set(slot::FUNCTION, u64::from(Watch::BARE) << Watch::WAY_SHIFT);
            }
            None => file.set(header::MIXED, 1),
        }
    }

    /// Has a session been opened at some time?
    pub(crate) fn may_have_sessions() -> bool {
        SESSION.load(Relaxed)
    }

    /// What is known of this thread is in another slot from now on.
    fn move_to(&'static self, other: &'static Self) {
        let calls = self.get(slot::ENTERED);
        for word in [slot::SINCE, slot::SITE, slot::THREAD, slot::NESTED, slot::NESTED_CALLS] {
            other.set(word, self.get(word));
        }
        other.become_own();
        self.set(slot::ENTERED, 0);
        other.set(slot::ENTERED, calls);
        other.set(slot::FUNCTION, self.get(slot::FUNCTION));
        self.set(slot::THREAD, 0);
    }

    /// A slot that is not in the file: that of a thread that has ended, or a new one.
    fn further(thread: u64) -> Option<&'static Self> {
        // Another thread's call is not noted at the same moment, nor one in a signal handler.
        let mut all = FURTHER.try_lock().ok()?;
        let free = all.iter().copied().find(|slot| is_gone(slot.get(slot::THREAD)));
        let slot = free.unwrap_or_else(|| {
            let new: &Self = Box::leak(Box::new(Self(core::array::from_fn(|_| AtomicU64::new(0)))));
            all.push(new);
            new
        });
        slot.set(slot::THREAD, thread);
        Some(slot)
    }
}

/// The address of the slot of a thread that has none yet, or that is in a call, or 0.
extern "C" fn find_slot() -> u64 {
    Slot::find().map_or(0, |slot| (&raw const *slot).expose_provenance() as u64)
}

impl Words {
    /// The slots of the file.
    fn slots(&'static self) -> impl Iterator<Item = &'static Slot> {
        (0..slot::COUNT).map(|number| self.slot(slot::AREA + number * slot::LENGTH))
    }

    /// The entry of a communicator, a window or a file that begins at a word.
    #[inline(always)]
    pub(crate) fn group(&'static self, at: usize) -> &'static [AtomicU64; group::LENGTH] {
        self.0[at..].first_chunk().expect("entries are in the file")
    }

    /// The slot that begins at a word.
    #[inline(always)]
    fn slot(&'static self, at: usize) -> &'static Slot {
        let words: &'static [AtomicU64; slot::LENGTH] =
            self.0[at..].first_chunk().expect("slots are in the file");
        // SAFETY: the pointer must lead to a `Slot`, which is nothing but so many words.
        unsafe { &*(&raw const *words).cast() }
    }
}

/// Where this thread's stack ended when it called MPI, or at this moment if that is not known. A call inside of another one
/// has it below the other one's, and a call after one that was left by a jump may have it at the same place.
fn stack_of_call() -> u64 {
    let noted = if has_sites() { Caller::of_this_call().stack() } else { None };
    noted.map_or_else(arch::stack_pointer, |stack| stack as u64)
}

/// Has a thread of this process ended?
fn is_gone(thread: u64) -> bool {
    // SAFETY: `tgkill` with signal 0 sends nothing, and may be asked about any number.
    let result =
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread as libc::pid_t, 0) };
    result != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}
