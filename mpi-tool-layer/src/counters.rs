//! Counters that every thread adds to without a lock, and without a locked instruction.

use core::arch::{asm, global_asm, naked_asm};
use core::ptr;
use core::sync::atomic::{
    AtomicPtr, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::{Counters, FunctionId};

/// `N` counters for a layer. Each thread counts in a block of its own; a sum reads them all.
///
/// Counts are exact under any number of threads. An addition is six instructions: where the
/// thread's pointers are, which of them is this instance's, that pointer, a test and a branch, and
/// one `add` to memory. Blocks of threads that have ended are taken over, with their counts, by
/// threads that start. Blocks are never freed: a layer lives as long as its process.
#[derive(Debug)]
pub struct ThreadCounters<const N: usize> {
    /// Which of a thread's pointers is this instance's, in bytes; 0 until the first count.
    slot: AtomicUsize,
    /// All blocks there are, in a list that only grows.
    blocks: AtomicPtr<Block<N>>,
    /// For instances and threads that could not get a block.
    shared: [AtomicU64; N],
}

#[derive(Debug)]
struct Block<const N: usize> {
    counts: [AtomicU64; N],
    next: AtomicPtr<Block<N>>,
}

/// How many instances of a process have blocks; the others count in their shared counters, which
/// costs a locked instruction. Pointer 0 is nobody's and stays null.
const SLOTS: usize = 16;
const POINTER: usize = size_of::<*mut ()>();

// A thread's pointers to its blocks, by instance. They are written out here because Rust has no
// stable way to ask for the initial-exec model, which costs a load instead of a call. 128 bytes
// are little enough for the static TLS area also when a tool is loaded late.
global_asm! {
    ".pushsection .tbss.mpi_tool_blocks, \"awT\", @nobits",
    ".balign 8",
    ".hidden mpi_tool_blocks",
    ".globl mpi_tool_blocks",
    ".type mpi_tool_blocks, @object",
    ".size mpi_tool_blocks, {size}",
    "mpi_tool_blocks: .zero {size}",
    ".popsection",
    size = const SLOTS * POINTER,
}

/// The thread's pointer in a slot.
///
/// # Safety
/// `slot` is a multiple of the size of a pointer, below `SLOTS` pointers.
#[inline(always)]
unsafe fn block_in(slot: usize) -> *mut () {
    let block;
    // SAFETY: reads from the thread-local array above.
    unsafe {
        asm!(
            "mov {block}, qword ptr [rip + mpi_tool_blocks@GOTTPOFF]",
            "mov {block}, qword ptr fs:[{block} + {slot}]",
            block = out(reg) block,
            slot = in(reg) slot,
            options(readonly, nostack, preserves_flags),
        );
    }
    block
}

/// # Safety
/// As for [`block_in`]; `block` is null or of the instance that has the slot.
unsafe fn set_block_in(slot: usize, block: *mut ()) {
    // SAFETY: writes to the thread-local array above.
    unsafe {
        asm!(
            "mov {place}, qword ptr [rip + mpi_tool_blocks@GOTTPOFF]",
            "mov qword ptr fs:[{place} + {slot}], {block}",
            place = out(reg) _,
            slot = in(reg) slot,
            block = in(reg) block,
            options(nostack, preserves_flags),
        );
    }
}

impl<const N: usize> ThreadCounters<N> {
    /// All zero.
    pub const fn new() -> Self {
        Self {
            slot: AtomicUsize::new(0),
            blocks: AtomicPtr::new(ptr::null_mut()),
            shared: [const { AtomicU64::new(0) }; N],
        }
    }

    /// Adds to a counter.
    ///
    /// # Panics
    /// If `index` is not below `N`.
    #[inline(always)]
    pub fn add(&self, index: usize, amount: u64) {
        if let Some(counts) = self.own_counts() {
            return increase(&counts[index], amount);
        }
        enter_in_cold_code(self);
        match self.own_counts() {
            Some(counts) => increase(&counts[index], amount),
            None => {
                self.shared[index].fetch_add(amount, Relaxed);
            }
        }
    }

    /// The thread's counters, if it has counted here before.
    #[inline(always)]
    fn own_counts(&self) -> Option<&[AtomicU64; N]> {
        // SAFETY: `slot` is what `free_slot` gave, and only this instance has it. A block is never
        // freed, and only this thread changes the pointer.
        unsafe {
            let block = block_in(self.slot.load(Relaxed)).cast::<Block<N>>();
            block.as_ref().map(|block| &block.counts)
        }
    }

    /// Gives the thread a block, where there is room.
    extern "C" fn enter(&self) {
        let slot = match self.slot.load(Relaxed) {
            0 => match free_slot(&self.slot) {
                Some(slot) => slot,
                None => return,
            },
            slot => slot,
        };
        if !thread_exit::watched() || self.own_counts().is_some() {
            return;
        }
        let block = Box::into_raw(Box::new(Block::<N> {
            counts: [const { AtomicU64::new(0) }; N],
            next: AtomicPtr::new(ptr::null_mut()),
        }));
        let mut head = self.blocks.load(Relaxed);
        loop {
            // SAFETY: just made, and not shared yet.
            unsafe { (*block).next.store(head, Relaxed) };
            match self.blocks.compare_exchange_weak(head, block, Release, Relaxed) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        // SAFETY: this instance's slot and block.
        unsafe { set_block_in(slot, block.cast()) };
    }

    /// A counter, summed over all threads. Takes no lock and allocates nothing, so that a signal
    /// handler may call it.
    pub fn sum(&self, index: usize) -> u64 {
        let mut sum = self.shared[index].load(Relaxed);
        let mut block = self.blocks.load(Acquire).cast_const();
        // SAFETY: blocks of the list are never freed.
        while let Some(this) = unsafe { block.as_ref() } {
            sum = sum.wrapping_add(this.counts[index].load(Relaxed));
            block = this.next.load(Acquire);
        }
        sum
    }
}

impl<const N: usize> Default for ThreadCounters<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// A counter for each MPI function, as a report wants them.
#[derive(Debug)]
pub struct FunctionCounters {
    unit: &'static str,
    counts: ThreadCounters<{ FunctionId::COUNT }>,
}

impl FunctionCounters {
    /// All zero. `unit` is what is counted, in the plural.
    pub const fn new(unit: &'static str) -> Self {
        Self { unit, counts: ThreadCounters::new() }
    }

    /// Adds to a function's counter.
    #[inline(always)]
    pub fn add(&self, function: FunctionId, amount: u64) {
        self.counts.add(function as usize, amount);
    }
}

impl Counters for FunctionCounters {
    fn unit(&self) -> &'static str {
        self.unit
    }

    fn len(&self) -> usize {
        FunctionId::COUNT
    }

    fn name(&self, index: usize) -> &'static str {
        FunctionId::from_index(index).map_or("", FunctionId::name)
    }

    fn class(&self, index: usize) -> &'static str {
        FunctionId::from_index(index).map_or("", |function| function.class().name())
    }

    fn value(&self, index: usize) -> u64 {
        self.counts.sum(index)
    }
}

/// Adds to a counter that only this thread writes: a load and a store, which the compiler makes
/// one unlocked instruction on memory.
#[inline(always)]
fn increase(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Calls [`ThreadCounters::enter`] such that the caller need not save its registers: an
/// intercepting function has its arguments in them, and would save and restore them at every call
/// for the sake of the first one.
#[cold]
#[inline(always)]
fn enter_in_cold_code<const N: usize>(counters: &ThreadCounters<N>) {
    let enter: extern "C" fn(&ThreadCounters<N>) = ThreadCounters::enter;
    // SAFETY: `enter_saving_registers` calls `enter` with this reference and comes back to the
    // label, with all registers as they were that are not given here.
    unsafe {
        asm!(
            "lea rax, [rip + 2f]",
            "jmp {stub}",
            "2:",
            stub = sym enter_saving_registers,
            out("rax") _,
            inout("r10") counters => _,
            inout("r11") enter => _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nostack),
        );
    }
}

/// Calls the function in r11 with r10 and jumps to rax. Leaves the caller's red zone alone.
#[unsafe(naked)]
unsafe extern "C" fn enter_saving_registers() {
    naked_asm!(
        "lea rsp, [rsp - 128]",
        "push rbp",
        "mov rbp, rsp",
        "push rax",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "and rsp, -16",
        "mov rdi, r10",
        "call r11",
        "mov rax, [rbp - 8]",
        "mov rdi, [rbp - 16]",
        "mov rsi, [rbp - 24]",
        "mov rdx, [rbp - 32]",
        "mov rcx, [rbp - 40]",
        "mov r8, [rbp - 48]",
        "mov r9, [rbp - 56]",
        "mov rsp, rbp",
        "pop rbp",
        "lea rsp, [rsp + 128]",
        "jmp rax",
    )
}

/// Takes a slot for the instance whose it is, once.
fn free_slot(slot: &AtomicUsize) -> Option<usize> {
    static TAKEN: AtomicUsize = AtomicUsize::new(1);
    let number = TAKEN.fetch_update(Relaxed, Relaxed, |taken| (taken < SLOTS).then_some(taken + 1));
    let offset = number.ok()? * POINTER;
    match slot.compare_exchange(0, offset, Relaxed, Relaxed) {
        Ok(_) => Some(offset),
        // Another thread was faster; the number stays unused.
        Err(theirs) => Some(theirs),
    }
}

/// What happens to a thread's blocks when it ends: the next thread that starts takes them over.
mod thread_exit {
    use super::*;
    use std::sync::{Mutex, OnceLock, PoisonError};

    /// A thread's pointers, while it has ended.
    struct Pointers([*mut (); SLOTS]);
    // SAFETY: they belong to no thread.
    unsafe impl Send for Pointers {}

    static FREE: Mutex<Vec<Pointers>> = Mutex::new(Vec::new());
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

    /// Has the end of this thread watched, and at the first time gives it the blocks of one that
    /// has ended. False if the thread cannot have blocks.
    pub(super) fn watched() -> bool {
        let key = *KEY.get_or_init(|| {
            let mut key = 0;
            // SAFETY: `key` is there to be written.
            let result = unsafe { libc::pthread_key_create(&mut key, Some(thread_ends)) };
            (result == 0).then_some(key)
        });
        let Some(key) = key else { return false };
        let some = ptr::dangling::<libc::c_void>();
        // SAFETY: the key is valid for the process's life. Its value says only that there is one.
        unsafe {
            if libc::pthread_getspecific(key) == some.cast_mut() {
                return true;
            }
            if libc::pthread_setspecific(key, some) != 0 {
                return false;
            }
        }
        let pointers = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        for (slot, block) in pointers.iter().flat_map(|pointers| pointers.0.iter().enumerate()) {
            // SAFETY: slot and block belong together since `thread_ends` read them.
            unsafe { set_block_in(slot * POINTER, *block) };
        }
        true
    }

    unsafe extern "C" fn thread_ends(_: *mut libc::c_void) {
        let mut pointers = Pointers([ptr::null_mut(); SLOTS]);
        for (slot, block) in pointers.0.iter_mut().enumerate() {
            // SAFETY: a slot that there is; null goes with any.
            unsafe {
                *block = block_in(slot * POINTER);
                set_block_in(slot * POINTER, ptr::null_mut());
            }
        }
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(pointers);
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadCounters;

    #[test]
    fn counts_of_all_threads_are_summed_also_when_blocks_are_taken_over() {
        static FIRST: ThreadCounters<3> = ThreadCounters::new();
        static SECOND: ThreadCounters<3> = ThreadCounters::new();
        for _ in 0..20 {
            std::thread::scope(|scope| {
                for thread in 0..8_u64 {
                    scope.spawn(move || {
                        for _ in 0..1000 {
                            FIRST.add(1, 1);
                            SECOND.add(2, thread);
                        }
                    });
                }
            });
        }
        assert_eq!([0, 1, 2].map(|i| FIRST.sum(i)), [0, 20 * 8 * 1000, 0]);
        assert_eq!([0, 1, 2].map(|i| SECOND.sum(i)), [0, 0, 20 * 1000 * 28]);
    }

    #[test]
    fn more_instances_than_slots_count_too() {
        let many: Vec<ThreadCounters<1>> = (0..600).map(|_| ThreadCounters::new()).collect();
        for (rank, counters) in many.iter().enumerate() {
            counters.add(0, rank as u64);
            counters.add(0, 1);
        }
        for (rank, counters) in many.iter().enumerate() {
            assert_eq!(counters.sum(0), rank as u64 + 1);
        }
    }
}
