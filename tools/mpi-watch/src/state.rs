//! The mapped file: its words, each thread's slot in it, and the areas that calls write to.
//!
//! All words are atomics that are written by plain stores. Whoever reads them does so in another process, and knows by
//! the order of the stores what belongs together (`mpi_facts::watch`).

use core::ptr::{null_mut, with_exposed_provenance};
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use std::sync::Mutex;

use mpi_facts::watch::{WORDS, full, group, header, lock, request, slot};
use mpi_tool_layer::mpi_sys::MPI_Request;
use mpi_tool_layer::{Caller, Clock, FunctionId, NotesMessages, ThreadWord, Word};

use crate::Watch;
use crate::aside::aside;
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
pub(crate) fn set_file(way: u8) {
    MEMORY.set(slot::AREA + slot::FUNCTION, u64::from(way) << <Watch as NotesMessages>::WAY_SHIFT);
    FILE.store((&raw const MEMORY).cast_mut(), Release);
}

// SAFETY: `MEMORY` is made of atomic words, and longer than its first slot, whose words these are. The way is opened by
// `set_file`, where the callers of that have one thread that calls MPI, and are in no call.
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

/// What is passed where a thread has no slot yet.
static NONE: Slot = Slot([const { AtomicU64::new(0) }; slot::LENGTH]);

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
                let found = aside!(find_slot, &raw const NONE);
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

    /// Is the thread in no call? In two instructions: what is loaded atomically is not compared in the same one.
    #[inline(always)]
    fn is_outside(&self) -> bool {
        const { assert!(slot::OUTSIDE == 1 << 16) };
        // SAFETY: the assembly reads one byte of the slot, which is there and is read whole: the one with the bit, in this
        // processor's order.
        unsafe {
            core::arch::asm!(
                "cmp byte ptr [{slot} + {at}], 0",
                "je {inside}",
                slot = in(reg) self.0.as_ptr(),
                at = const slot::FUNCTION * size_of::<AtomicU64>() + 2,
                inside = label { return false },
                options(readonly, nostack),
            );
        }
        true
    }

    /// Notes where the thread's stack ends: in one instruction, as of [`set`](Self::set) with [`stack_pointer`].
    #[inline(always)]
    pub(crate) fn note_stack(&self) {
        // SAFETY: the assembly writes a word that must be there and be written whole: it is one of the slot's, aligned, and
        // only this thread writes to it.
        unsafe {
            core::arch::asm!(
                "mov qword ptr [{slot} + {at}], rsp",
                slot = in(reg) self.0.as_ptr(),
                at = const slot::STACK * size_of::<AtomicU64>(),
                options(nostack, preserves_flags),
            );
        }
    }

    /// The same in the first slot.
    #[inline(always)]
    pub(crate) fn note_stack_of_only_thread() {
        // SAFETY: as above, of the first slot of a static.
        unsafe {
            core::arch::asm!(
                "mov qword ptr [rip + {memory} + {at}], rsp",
                memory = sym MEMORY,
                at = const in_first_slot(slot::STACK),
                options(nostack, preserves_flags),
            );
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
        // SAFETY: as in `of_this_thread`.
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
extern "C" fn find_slot(_: &'static Slot) -> usize {
    Slot::find().map_or(0, |slot| (&raw const *slot).expose_provenance())
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
    noted.map_or_else(stack_pointer, |stack| stack as u64)
}

/// Where this thread's stack ends at this moment.
#[inline(always)]
fn stack_pointer() -> u64 {
    let pointer;
    // SAFETY: the assembly copies a register.
    unsafe {
        core::arch::asm!(
            "mov {pointer}, rsp",
            pointer = out(reg) pointer,
            options(nomem, nostack, preserves_flags),
        );
    }
    pointer
}

/// Has a thread of this process ended?
fn is_gone(thread: u64) -> bool {
    // SAFETY: `tgkill` with signal 0 sends nothing, and may be asked about any number.
    let result =
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread as libc::pid_t, 0) };
    result != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// A request that a call has made.
#[derive(Clone, Copy)]
pub(crate) struct NewRequest {
    /// Its handle.
    pub(crate) handle: u64,
    /// The function's number.
    pub(crate) function: u64,
    /// Is it started by `MPI_Start`?
    pub(crate) is_persistent: bool,
    /// The other rank, as the application has passed it.
    pub(crate) peer: u64,
    /// The tag.
    pub(crate) tag: u64,
    /// The communicator's handle.
    pub(crate) comm: u64,
    /// The call's site.
    pub(crate) site: u64,
    /// The number of the collective operation.
    pub(crate) number: u64,
}

/// How many requests have entries that are not the ones where they are first looked for.
static DISPLACED: AtomicUsize = AtomicUsize::new(0);

/// Are handles `int`s?
const HAS_INT_HANDLES: bool = size_of::<MPI_Request>() == size_of::<i32>();

/// The entry where a request is first looked for.
#[inline(always)]
const fn first_entry(handle: u64) -> usize {
    request::AREA + request::place(handle) * request::LENGTH
}

/// The entries in which a request may be.
#[inline(always)]
fn entries(handle: u64) -> impl Iterator<Item = usize> {
    let first = request::place(handle);
    (first..first + request::REACH)
        .map(|number| request::AREA + number % request::COUNT * request::LENGTH)
}

impl Words {
    /// The entry of a request.
    #[inline(always)]
    fn request(&self, handle: u64) -> Option<usize> {
        entries(handle).find(|at| {
            self.get(at + request::HANDLE) == handle && self.get(at + request::STATE) != 0
        })
    }

    /// Is a handle that of operations that are complete when their functions return?
    #[inline(always)]
    fn is_complete_at_once(&self, handle: u64) -> bool {
        let empty = if HAS_INT_HANDLES { 0 } else { self.get(header::REQUEST_EMPTY) };
        request::is_complete_at_once(handle, HAS_INT_HANDLES, empty)
    }

    /// A request has been made. `is_alone`: by the only thread that calls MPI.
    #[inline(always)]
    pub(crate) fn add_request(&self, new: NewRequest, is_alone: bool) {
        if self.is_complete_at_once(new.handle) {
            return;
        }
        let at = first_entry(new.handle);
        let state = self.word(at + request::STATE);
        // The handle may be elsewhere.
        let is_usual = state.load(Relaxed) == 0 && DISPLACED.load(Relaxed) == 0;
        let is_taken = || {
            is_alone || state.compare_exchange(0, request::CLAIMED, AcqRel, Relaxed).is_ok()
        };
        if is_usual && is_taken() {
            self.fill_request(at, &new);
            let kind = if new.is_persistent { request::PERSISTENT } else { request::ACTIVE };
            state.store(new.function << request::FUNCTION_SHIFT | kind, Release);
        } else {
            // Only here is it in memory.
            let copy = new;
            self.add_request_slowly(&copy);
        }
    }

    /// What is kept of a request but for its state.
    #[inline(always)]
    fn fill_request(&self, at: usize, new: &NewRequest) {
        self.set(at + request::HANDLE, new.handle);
        self.set(at + request::PEER, new.peer);
        self.set(at + request::TAG, new.tag);
        self.set(at + request::COMM, new.comm);
        self.set(at + request::SITE, new.site);
        self.set(at + request::NUMBER, new.number);
        if new.is_persistent {
            self.set(at + request::STARTS, 0);
        }
    }

    /// The same of a request that is not put where it is first looked for, or of which that is not known.
    #[cold]
    #[inline(never)]
    fn add_request_slowly(&self, new: &NewRequest) {
        // What had the handle before is gone, whether anybody has seen that or not, or complete like this one.
        let same = self.request(new.handle);
        let is_shared = same.is_some_and(|at| self.get(at + request::STATE) & request::ACTIVE != 0);
        let at = same.or_else(|| {
            entries(new.handle).find(|at| {
                let state = self.word(at + request::STATE);
                state.load(Relaxed) == 0
                    && state.compare_exchange(0, request::CLAIMED, AcqRel, Relaxed).is_ok()
            })
        });
        let Some(at) = at else {
            self.mark_full(full::REQUESTS);
            return;
        };
        self.set(at + request::STATE, request::CLAIMED);
        if same.is_none() && at != first_entry(new.handle) {
            DISPLACED.fetch_add(1, Relaxed);
        }
        self.fill_request(at, new);
        let kind = if new.is_persistent { request::PERSISTENT } else { request::ACTIVE };
        let kind = if is_shared { kind | request::SHARED } else { kind };
        self.set(at + request::STATE, new.function << request::FUNCTION_SHIFT | kind);
    }

    /// A persistent request has been started.
    pub(crate) fn start_request(&self, handle: u64) {
        if let Some(at) = self.request(handle) {
            let starts = self.get(at + request::STARTS);
            self.set(at + request::STARTS, starts.wrapping_add(1));
            self.word(at + request::STATE).fetch_or(request::ACTIVE, AcqRel);
        }
    }

    /// A request is complete.
    #[inline(always)]
    pub(crate) fn end_request(&self, handle: u64) {
        if self.is_complete_at_once(handle) {
            return;
        }
        let at = first_entry(handle);
        let state = self.word(at + request::STATE);
        let is_usual = state.load(Relaxed) & request::KIND == request::ACTIVE;
        if is_usual && self.get(at + request::HANDLE) == handle {
            state.store(0, Release);
        } else {
            self.end_request_slowly(handle);
        }
    }

    /// The same of a request that stays, or that is not where it is first looked for.
    #[inline(never)]
    fn end_request_slowly(&self, handle: u64) {
        if let Some(at) = self.request(handle) {
            let state = self.get(at + request::STATE);
            if state & request::PERSISTENT != 0 {
                self.set(at + request::STATE, state & !request::ACTIVE);
            } else {
                self.remove_request(at, handle);
            }
        }
    }

    /// A request has been freed.
    pub(crate) fn free_request(&self, handle: u64) {
        if let Some(at) = self.request(handle) {
            self.remove_request(at, handle);
        }
    }

    fn remove_request(&self, at: usize, handle: u64) {
        self.set(at + request::STATE, 0);
        if at != first_entry(handle) {
            DISPLACED.fetch_sub(1, Relaxed);
        }
    }

    /// This process has locked a window.
    pub(crate) fn add_lock(&self, window: u64, target: u64, is_exclusive: bool, site: u64) {
        for at in (0..lock::COUNT).map(|number| lock::AREA + number * lock::LENGTH) {
            let free = self.word(at + lock::WINDOW);
            if free.compare_exchange(0, u64::MAX, AcqRel, Relaxed).is_ok() {
                self.set(at + lock::TARGET, target);
                self.set(at + lock::EXCLUSIVE, is_exclusive.into());
                self.set(at + lock::SITE, site);
                self.set(at + lock::WINDOW, window);
                return;
            }
        }
        self.mark_full(full::LOCKS);
    }

    /// This process has unlocked a window.
    pub(crate) fn end_lock(&self, window: u64, target: u64) {
        for at in (0..lock::COUNT).map(|number| lock::AREA + number * lock::LENGTH) {
            if self.get(at + lock::WINDOW) == window && self.get(at + lock::TARGET) == target {
                self.set(at + lock::WINDOW, 0);
                return;
            }
        }
    }
}
