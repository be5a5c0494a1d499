//! Counters that every thread adds to without a lock, and without a locked instruction.
//!
//! Each thread has a piece of memory, its *arena*, in which all instances of [`ThreadCounters`] of
//! a tool have places. Where an instance's counters are is the same offset in every arena, its
//! *lane*. So a counter's address is the thread's arena plus the instance's lane plus the index: no
//! look-up, and no other thread writes there. A sum goes over all arenas, which are in a list that
//! only grows.
//!
//! Neither is there at first: an instance gets its lane, and a thread its arena, at the first
//! count. Both numbers are written such that the sign of their sum says whether both are there
//! (`SIGN`), so an addition has one branch. The way behind that branch is cold, and is called in a
//! way that leaves all registers alone (`add_in_cold_code`), since the branch stands in
//! intercepting functions, whose arguments are in registers.
//!
//! Where there is no room (an instance after 8 MiB of lanes, or a thread whose end cannot be
//! watched), counts go to `shared`, by locked instructions. They are exact everywhere.
//!
//! Arenas are private pages, made when they are first touched: a thread that counts one function
//! costs one page for eight instances. It is x86-64 and Linux only, as is the assembly.

use core::arch::{asm, global_asm, naked_asm};
use core::ptr;
use core::sync::atomic::{
    AtomicPtr, AtomicU8, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, PoisonError};

use crate::Counter;

/// `N` counters for a layer. Each thread counts in a place of its own; a sum reads them all.
///
/// Counts are exact under any number of threads. An addition is six instructions: where the
/// thread's counts are (two), which of them are the instance's (two), a branch, and one `inc` in
/// memory. The counts of threads that have ended are taken over by threads that start, and never
/// freed: a layer lives as long as its process.
///
/// It is a static as a rule ([`new`](Self::new) is a constant), and may be a part of a layer. Use
/// [`FunctionCounters`](crate::FunctionCounters) for a counter a function, and an atomic number for
/// what is not a sum: there is no way to read and change a counter at once, to set it back, or to
/// find a maximum.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadCounters<const N: usize> {
    /// The first field: the cold code finds `shared` behind it.
    lane: Lane,
    /// For instances and threads that could not get a place.
    shared: [AtomicU64; N],
}

/// Where an instance's counters are in the memory of each thread.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Lane {
    /// [`NO_LANE`] until the first count; then the offset, with the sign bit set.
    offset: AtomicU64,
    /// How many counters it has.
    count: usize,
}

/// A thread's memory for counters, one for all instances of a tool; pages that are not counted in
/// are never made. The lanes of eight instances lie side by side, so that the counters of one
/// function in many levels of a stack are in few pages: the counters of an index stand next to each
/// other, and the next index is a `STRIDE` away.
const ARENA: usize = 8 << 20;
/// How many instances share a group of lanes.
const LANES: usize = 8;
/// From a counter to the next one of the same instance, in bytes: a cache line, in which eight
/// instances have the counter of one index.
const STRIDE: usize = LANES * size_of::<AtomicU64>();

/// A thread's word is 0, or the address of its memory with the sign bit set. Of the sum of word and
/// offset the sign bit is clear if both are there, and only then: with [`NO_LANE`] for an offset
/// it is set beside any address (none is below 64 KiB), and beside 0.
const SIGN: u64 = 1 << 63;
/// The offset of an instance without a lane.
const NO_LANE: u64 = (-0x1_0000_i64) as u64;

/// The beginning of a thread's memory. Lanes begin behind it, at `STRIDE`.
struct Arena {
    /// The next one of all.
    next: AtomicPtr<Arena>,
}

/// The memory of all threads, in a list that only grows: new ones come to its head. Whoever has
/// read the head may go through all of it, without a lock.
static ARENAS: AtomicPtr<Arena> = AtomicPtr::new(ptr::null_mut());

// The thread's word. It is written out here because Rust has no stable way to ask for the
// initial-exec model, which costs a load instead of a call. Eight bytes are little enough for the
// static TLS area also when many tools are loaded late.
global_asm! {
    ".pushsection .tbss.mpi_tool_counts, \"awT\", @nobits",
    ".balign 8",
    ".hidden mpi_tool_counts",
    ".globl mpi_tool_counts",
    ".type mpi_tool_counts, @object",
    ".size mpi_tool_counts, 8",
    "mpi_tool_counts: .zero 8",
    ".popsection",
}

/// The thread's word: 0, or its arena's address with the sign bit set.
#[inline(always)]
fn word() -> u64 {
    let word;
    // SAFETY: the assembly may only read, from memory that is there. The word above is in the
    // thread-local storage of this object, whose distance from `fs` the dynamic linker has put into
    // the global offset table. Neither stack nor flags change.
    unsafe {
        asm!(
            "mov {word}, qword ptr [rip + mpi_tool_counts@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word}]",
            word = out(reg) word,
            options(readonly, nostack, preserves_flags),
        );
    }
    word
}

/// Sets the thread's word.
///
/// # Safety
/// `word` is 0, or the address of an [`Arena`] that is never freed and that no other thread has,
/// with the sign bit set.
unsafe fn set_word(word: u64) {
    // SAFETY: the assembly writes eight bytes, which must be the thread's word and no other: it is
    // found as in `word`. That the value is one that the others rely on is the caller's promise.
    unsafe {
        asm!(
            "mov {place}, qword ptr [rip + mpi_tool_counts@GOTTPOFF]",
            "mov qword ptr fs:[{place}], {word}",
            place = out(reg) _,
            word = in(reg) word,
            options(nostack, preserves_flags),
        );
    }
}

impl<const N: usize> ThreadCounters<N> {
    /// All zero. The instance takes no place in threads' memory before its first count.
    pub const fn new() -> Self {
        Self {
            lane: Lane { offset: AtomicU64::new(NO_LANE), count: N },
            shared: [const { AtomicU64::new(0) }; N],
        }
    }

    /// Adds to a counter. For any thread at any time, but not for signal handlers: the first count
    /// of a thread takes a lock and maps memory. Wraps around at 2^64.
    ///
    /// # Panics
    /// If `index` is not below `N`. Where the index is a constant, nothing is left of the check.
    #[inline(always)]
    pub fn add(&self, index: usize, amount: u64) {
        assert!(index < N);
        let address = self.lane.address();
        if address.cast_signed() < 0 {
            // SAFETY: `add_in_cold_code` wants the lane of a `ThreadCounters` that has the counter,
            // and a pointer for all of it. The lane is the first field (`repr(C)`), the pointer is
            // made of `self`, and `index` is below `N`.
            return unsafe { add_in_cold_code(ptr::from_ref(self).cast(), index, amount) };
        }
        // SAFETY: `counter` wants an address whose sign bit is clear, and the lane to have the
        // counter: both have been checked above.
        increase(unsafe { Lane::counter(address, index) }, amount);
    }

    /// A counter, summed over all threads. Takes no lock and allocates nothing, so that a signal
    /// handler may call it. What other threads add meanwhile may be in it or not.
    ///
    /// # Panics
    /// If `index` is not below `N`.
    pub fn sum(&self, index: usize) -> u64 {
        self.counter(index).value()
    }

    /// A counter, for a report: where it is, to be returned from
    /// [`Counters::counter`](crate::Counters::counter).
    ///
    /// # Panics
    /// If `index` is not below `N`.
    pub fn counter(&self, index: usize) -> Counter<'_> {
        assert!(index < N);
        let number = u32::try_from(index).expect("fewer than 2^32 counters");
        // SAFETY: `of_threads` wants the lane of a `ThreadCounters` that lives as long as the
        // result and has the counter, and a pointer for all of it. The lane is the first field
        // (`repr(C)`) of `self`, which is borrowed, and `index` is below `N`.
        unsafe { Counter::of_threads(ptr::from_ref(self).cast(), number) }
    }
}

impl Lane {
    /// A counter of a [`ThreadCounters`], whose lane this is, summed over all threads.
    ///
    /// # Safety
    /// That is so, it has the counter, and the pointer may be used for all of it.
    pub(crate) unsafe fn sum(this: *const Lane, index: usize) -> u64 {
        // SAFETY: the lane and the counter of this index behind it must be there: the caller
        // promises a `ThreadCounters` (`repr(C)`), whose `shared` begins right behind its lane.
        // Both are atomics, which others may write meanwhile.
        let (mut sum, offset) = unsafe {
            let shared = &*this.add(1).cast::<AtomicU64>().add(index);
            (shared.load(Relaxed), (*this).offset.load(Acquire))
        };
        if offset == NO_LANE {
            return sum;
        }
        let mut arena = ARENAS.load(Acquire).cast_const();
        while !arena.is_null() {
            // SAFETY: the counter and `next` must be in the arena, which must be there. `ARENAS`
            // has mapped memory that is never freed, and `free_lane` gives out offsets only if all
            // of the lane is below `ARENA`; all are atomics, of zeros at first.
            unsafe {
                let counter = arena.byte_add((offset ^ SIGN) as usize + index * STRIDE);
                sum = sum.wrapping_add((*counter.cast::<AtomicU64>()).load(Relaxed));
                arena = (*arena).next.load(Acquire);
            }
        }
        sum
    }

    /// Where the thread's counters of the lane are; with the sign bit set if it has none. The sum
    /// of word and offset: both have the sign bit, so it goes away if both are there.
    #[inline(always)]
    fn address(&self) -> u64 {
        word().wrapping_add(self.offset.load(Relaxed))
    }

    /// A counter of the thread.
    ///
    /// # Safety
    /// `address` is what [`address`](Self::address) has returned in this thread, its sign bit is
    /// clear, and the lane has more counters than `index`.
    #[inline(always)]
    unsafe fn counter<'a>(address: u64, index: usize) -> &'a AtomicU64 {
        // SAFETY: the address must be that of an `AtomicU64` that is never freed. The sign bit is
        // clear only if word and offset are both there, so the lane is in the thread's arena, and
        // it has more counters than `index`, as the caller promises.
        unsafe {
            let lane = ptr::with_exposed_provenance::<AtomicU64>(address as usize);
            &*lane.byte_add(index * STRIDE)
        }
    }

    /// Finds the lane a place, and the thread its memory, where there is room. Afterwards
    /// [`address`](Self::address) says whether there was.
    fn enter(&self) {
        if self.offset.load(Relaxed) == NO_LANE {
            free_lane(&self.offset, self.count);
        }
        if word() == 0 {
            thread_memory::take();
        }
    }

    /// Adds to a counter of a [`ThreadCounters`], whose lane this is: the way of a thread's or an
    /// instance's first count, and of all that have got no place.
    ///
    /// # Safety
    /// `this` is the lane of a `ThreadCounters` with more counters than `index`, and the pointer
    /// may be used for all of it.
    unsafe extern "C" fn add_slowly(this: *const Lane, index: usize, amount: u64) {
        // SAFETY: the lane must be there, with the shared counter behind it, and `counter` wants a
        // clear sign bit, which is checked, and an index below the lane's count. The rest is the
        // caller's promise.
        unsafe {
            (*this).enter();
            let address = (*this).address();
            if address.cast_signed() < 0 {
                let shared = this.add(1).cast::<AtomicU64>();
                (*shared.add(index)).fetch_add(amount, Relaxed);
            } else {
                increase(Lane::counter(address, index), amount);
            }
        }
    }
}

/// Gives a lane of so many counters its offset, where there is room. Instances with the same number
/// of counters share a group of eight lanes, side by side. Lanes are never given back.
fn free_lane(offset: &AtomicU64, count: usize) {
    /// Eight lanes of instances with the same number of counters.
    struct Group {
        count: usize,
        offset: usize,
        taken: usize,
    }
    /// The first free byte of arenas, and the groups that there are. The first stride is the
    /// `Arena`'s own.
    static GROUPS: Mutex<(usize, Vec<Group>)> = Mutex::new((STRIDE, Vec::new()));
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    let (top, groups) = &mut *groups;
    // Another thread may have been faster.
    if offset.load(Relaxed) != NO_LANE {
        return;
    }
    let open = groups.iter_mut().find(|group| group.count == count && group.taken < LANES);
    let group = match open {
        Some(group) => group,
        None if count * STRIDE <= ARENA - *top => {
            groups.push(Group { count, offset: *top, taken: 0 });
            *top += count * STRIDE;
            groups.last_mut().expect("just pushed")
        }
        None => return,
    };
    let lane = group.offset + group.taken * size_of::<AtomicU64>();
    group.taken += 1;
    // Under the lock, so that nobody takes a second one.
    offset.store(lane as u64 | SIGN, Release);
}

impl<const N: usize> Default for ThreadCounters<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Adds to a counter that only this thread writes: a load and a store, which the compiler makes
/// one unlocked instruction on memory.
#[inline(always)]
fn increase(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Calls [`Lane::add_slowly`] such that the caller need not save its registers: an intercepting
/// function has its arguments in them, and would save and restore them at every call for the sake
/// of the first one.
///
/// The lane goes in r10, and index and amount in two floating-point registers, in which no function
/// of MPI has an argument. The stub gets the address to return to in rax and leaves the stack as it
/// is, also the red zone below it.
///
/// # Safety
/// What [`Lane::add_slowly`] asks for.
#[cold]
#[inline(always)]
unsafe fn add_in_cold_code(lane: *const Lane, index: usize, amount: u64) {
    // SAFETY: `add_saving_registers` makes the call with these arguments and comes back to the
    // label, with all registers as they were that are not given here. The numbers travel where no
    // argument of MPI's is.
    unsafe {
        asm!(
            "lea rax, [rip + 2f]",
            "jmp {stub}",
            "2:",
            stub = sym add_saving_registers,
            out("rax") _,
            in("r10") lane,
            inout("xmm0") f64::from_bits(index as u64) => _,
            inout("xmm1") f64::from_bits(amount) => _,
            out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nostack),
        );
    }
}

/// Has this processor registers that a compiler may use and `add_in_cold_code` does not declare as lost:
/// AVX-512's k0 to k7, zmm16 to zmm31, and what zmm0 to zmm15 have beyond AVX?
///
/// They can be declared only in code that is compiled for AVX-512, and it is the tool, compiled after
/// this crate and perhaps with `-C target-cpu=native`, that decides that. So they are saved, where they
/// are.
static WIDE: AtomicU8 = AtomicU8::new(UNKNOWN);
/// Not asked yet.
const UNKNOWN: u8 = 0;
/// It has not, or the system does not save them.
const NO: u8 = 1;
/// It has: the stub saves them.
const YES: u8 = 2;

/// Defines a function that calls another one with r10, xmm0 and xmm1, and jumps to rax. Leaves the
/// caller's red zone alone.
///
/// General registers are pushed; the wide ones, which the caller could not declare as lost, are
/// saved by `xsave` where the system saves them, too. Its area is on the stack, so a thread's first
/// count needs more than 4 KiB of it there.
macro_rules! saving_registers {
    ($name:ident calls $add:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
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
                "push r10",
                "push r11",
                "push rbx",
                // Does the system save AVX-512's registers (bits 5 to 7 of xcr0)? Asked once: `cpuid` may be slow.
                "cmp byte ptr [rip + {wide}], {unknown}",
                "jne 3f",
                "mov eax, 1",
                "xor ecx, ecx",
                "cpuid",
                "mov ebx, {no}",
                // `xgetbv` and `xsave` may be used.
                "bt ecx, 27",
                "jnc 4f",
                "xor ecx, ecx",
                "xgetbv",
                "and eax, {components}",
                "cmp eax, {components}",
                "jne 4f",
                "mov ebx, {yes}",
                "4:",
                "mov byte ptr [rip + {wide}], bl",
                "3:",
                "movzx ebx, byte ptr [rip + {wide}]",
                // `xsave` wants its area at a multiple of 64, and a header of zeros, which is at 512.
                "and rsp, -64",
                "cmp ebx, {yes}",
                "jne 5f",
                "sub rsp, {area}",
                "xor eax, eax",
                "lea rdi, [rsp + 512]",
                "mov ecx, 8",
                "rep stosq",
                "mov eax, {components}",
                "xor edx, edx",
                "xsave64 [rsp]",
                "5:",
                "mov rdi, r10",
                "movq rsi, xmm0",
                "movq rdx, xmm1",
                "call {add}",
                "cmp ebx, {yes}",
                "jne 6f",
                "mov eax, {components}",
                "xor edx, edx",
                "xrstor64 [rsp]",
                "6:",
                "mov rbx, [rbp - 80]",
                "mov rax, [rbp - 8]",
                "mov rdi, [rbp - 16]",
                "mov rsi, [rbp - 24]",
                "mov rdx, [rbp - 32]",
                "mov rcx, [rbp - 40]",
                "mov r8, [rbp - 48]",
                "mov r9, [rbp - 56]",
                "mov r10, [rbp - 64]",
                "mov r11, [rbp - 72]",
                "mov rsp, rbp",
                "pop rbp",
                "lea rsp, [rsp + 128]",
                "jmp rax",
                add = sym $add,
                wide = sym WIDE,
                unknown = const UNKNOWN,
                no = const NO,
                yes = const YES,
                components = const COMPONENTS,
                area = const AREA,
            )
        }
    };
}

saving_registers! { add_saving_registers calls Lane::add_slowly }

/// What `xsave` calls the masks, the upper halves of zmm0 to zmm15, and zmm16 to zmm31: bits 5 to
/// 7.
const COMPONENTS: u32 = 0xe0;

/// More than `xsave` writes for these: they end at 2,688 of what Intel's processors write, and lie lower
/// in AMD's.
const AREA: usize = 4096;

/// The memory of threads: mapped at a thread's first count, and taken over by the next thread that
/// starts when it ends. The end is told by a key of pthreads, whose destructor runs in the thread.
/// Counts stay where they are: the next thread adds to them.
mod thread_memory {
    use super::*;
    use std::sync::OnceLock;

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
            // SAFETY: the word must be an arena's that no other thread has. It comes from `FREE`,
            // out of which it was just taken, or from `map`, which has just made it; arenas are
            // never freed.
            unsafe { set_word(word) };
        }
    }

    /// New memory, in the list of all: its word, or `None` if the system gives none.
    fn map() -> Option<u64> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: `mmap` at an address of the kernel's choice touches no memory of others. The
        // result is `ARENA` bytes of zeros, aligned to a page, that nobody else knows, so `madvise`
        // may have small pages there: most of it is never touched.
        let arena = unsafe {
            let memory = libc::mmap(ptr::null_mut(), ARENA, protection, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                return None;
            }
            libc::madvise(memory, ARENA, libc::MADV_NOHUGEPAGE);
            memory.cast::<Arena>()
        };
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
        // SAFETY: 0 is always allowed: the thread has no memory from here on, and asks for some at
        // its next count.
        unsafe { set_word(0) };
        if word != 0 {
            FREE.lock().unwrap_or_else(PoisonError::into_inner).push(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty times eight threads, so that most of them take over memory of others, and two
    /// instances, which must not mix.
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

    /// 2000 instances of 1000 counters want 16 MB: half of them find no room, and count in
    /// `shared`.
    #[test]
    fn more_instances_than_there_is_room_for_count_too() {
        let many: Vec<ThreadCounters<1000>> = (0..2000).map(|_| ThreadCounters::new()).collect();
        for (rank, counters) in many.iter().enumerate() {
            counters.add(rank % 1000, rank as u64);
            counters.add(rank % 1000, 1);
        }
        for (rank, counters) in many.iter().enumerate() {
            assert_eq!(counters.sum(rank % 1000), rank as u64 + 1);
            assert_eq!(counters.sum((rank + 1) % 1000), 0);
        }
    }

    /// What the first count of a thread calls may use all registers that a C function may use; a caller
    /// that was compiled for AVX-512 has values in them.
    #[test]
    fn registers_of_avx_512_outlive_the_first_count() {
        if !is_x86_feature_detected!("avx512f") || !is_x86_feature_detected!("avx512bw") {
            eprintln!("this processor has no AVX-512: nothing was tested");
            return;
        }
        /// Loses all of them, as the C library's `memset` may.
        #[unsafe(naked)]
        unsafe extern "C" fn loses(_: *const Lane, _: usize, _: u64) {
            naked_asm!(
                ".irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "vpternlogd zmm\\n, zmm\\n, zmm\\n, 255",
                ".endr",
                ".irp n, 0,1,2,3,4,5,6,7",
                "kxnorq k\\n, k\\n, k\\n",
                ".endr",
                "ret",
            )
        }
        saving_registers! { losing calls loses }

        let before: Vec<u64> = (1..=16 * 8 + 8).map(|n| n * 0x0101_0101_0101_0101).collect();
        let mut after = vec![0_u64; before.len()];
        // SAFETY: `losing` comes back to the label with all registers as they were but those given here. The
        // registers of AVX-512 are there, and this function is not compiled to use them. The arrays have
        // 16 registers of 64 bytes and eight of 8.
        unsafe {
            asm!(
                ".irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "vmovdqu64 zmm\\n, [rdi]",
                "add rdi, 64",
                ".endr",
                ".irp n, 0,1,2,3,4,5,6,7",
                "kmovq k\\n, [rdi]",
                "add rdi, 8",
                ".endr",
                "lea rax, [rip + 2f]",
                "jmp {losing}",
                "2:",
                ".irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "vmovdqu64 [rsi], zmm\\n",
                "add rsi, 64",
                ".endr",
                ".irp n, 0,1,2,3,4,5,6,7",
                "kmovq [rsi], k\\n",
                "add rsi, 8",
                ".endr",
                losing = sym losing,
                inout("rdi") before.as_ptr() => _,
                inout("rsi") after.as_mut_ptr() => _,
                out("rax") _,
                in("r10") 0_u64,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            );
        }
        assert_eq!(after, before);
    }
}
