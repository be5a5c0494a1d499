//! Words of a thread, and its stack pointer. The words are found at a distance from `tpidr_el0` that the dynamic linker has put
//! into the global offset table (the initial-exec model).

use core::arch::asm;

use crate::arch::words::{OUTER, RETURNS_TO};

/// Where a thread-local symbol of this object is in this thread.
macro_rules! place_of {
    ($symbol:literal) => {{
        let place;
        // SAFETY: the assembly may only read, from memory that is there and does not change: the dynamic linker writes this
        // part of the global offset table before any code of this object runs. Neither stack nor flags change.
        unsafe {
            asm!(
                concat!("adrp {place}, :gottprel:", $symbol),
                concat!("ldr {place}, [{place}, :gottprel_lo12:", $symbol, "]"),
                "mrs {thread}, tpidr_el0",
                "add {place}, {place}, {thread}",
                place = out(reg) place,
                thread = out(reg) _,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        place
    }};
}

/// Where the kit's words are.
#[inline(always)]
fn words() -> *mut usize {
    place_of!("mpi_tool_caller")
}

/// One of this thread's words.
#[inline(always)]
pub(crate) fn word<const AT: usize>() -> usize {
    const { assert!(AT <= RETURNS_TO, "there are seven words") };
    // SAFETY: the word is the thread's own, aligned, and always there. Entries in assembly write it: so it is read each time.
    unsafe { words().byte_add(AT).read_volatile() }
}

/// Changes one of this thread's words.
///
/// # Safety
/// What relies on the word may find this value there.
#[inline(always)]
pub(crate) unsafe fn set_word<const AT: usize>(value: usize) {
    const { assert!(AT <= RETURNS_TO, "there are seven words") };
    // SAFETY: the word is the thread's own, aligned, and always there. That the value may be there says the caller.
    unsafe { words().byte_add(AT).write_volatile(value) };
}

/// The same where the place would be kept for as long as a call takes.
///
/// # Safety
/// As of [`set_word`].
#[inline(always)]
pub(crate) unsafe fn set_word_again<const AT: usize>(value: usize) {
    // SAFETY: it wants what this function does.
    unsafe { set_word::<AT>(value) };
}

/// Makes one of this thread's words 0.
///
/// # Safety
/// As of [`set_word`].
#[inline(always)]
pub(crate) unsafe fn clear_word<const AT: usize>() {
    // SAFETY: it wants what this function does.
    unsafe { set_word::<AT>(0) };
}

/// The same where the place would be kept for as long as a call takes.
///
/// # Safety
/// As of [`set_word`].
#[inline(always)]
pub(crate) unsafe fn clear_word_again<const AT: usize>() {
    // SAFETY: it wants what this function does.
    unsafe { set_word::<AT>(0) };
}

/// Is the stack pointer above the word of the outermost call? Without such a call, that is 0, below all stacks.
#[inline(always)]
pub(crate) fn is_above_outer() -> bool {
    stack_pointer() > word::<OUTER>() as u64
}

/// The outermost call begins here.
#[inline(always)]
pub(crate) fn begin_outer() {
    // SAFETY: the number is compared only.
    unsafe { set_word::<OUTER>(stack_pointer() as usize) };
}

/// Where the word of this thread's counters is.
#[inline(always)]
fn counts() -> *mut u64 {
    place_of!("mpi_tool_counts")
}

/// The word of this thread's counters.
#[inline(always)]
pub(crate) fn counts_word() -> u64 {
    // SAFETY: the word is the thread's own, aligned, and always there.
    unsafe { counts().read_volatile() }
}

/// Changes the word of this thread's counters.
///
/// # Safety
/// What relies on the word may find this value there.
pub(crate) unsafe fn set_counts_word(word: u64) {
    // SAFETY: the word is the thread's own, aligned, and always there. That the value may be there says the caller.
    unsafe { counts().write_volatile(word) };
}

/// How far the words of a name (`__thread_words!`) are from where the thread pointer points: the same for all threads.
#[doc(hidden)]
#[macro_export]
macro_rules! __thread_distance {
    ($name:literal) => {{
        let distance: i64;
        // SAFETY: the assembly reads one word of this object's global offset table, where the dynamic linker
        // has put the distance before any code ran, and changes nothing but the register.
        unsafe {
            ::core::arch::asm!(
                concat!("adrp {distance}, :gottprel:", $name),
                concat!("ldr {distance}, [{distance}, :gottprel_lo12:", $name, "]"),
                distance = out(reg) distance,
                options(readonly, nostack, preserves_flags),
            );
        }
        distance
    }};
}

/// Where the thread pointer points.
fn thread_pointer() -> *mut u64 {
    let pointer;
    // SAFETY: the assembly copies a register.
    unsafe {
        asm!("mrs {pointer}, tpidr_el0", pointer = out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// The word of this thread at a distance from its thread pointer.
///
/// # Safety
/// There is such a word of this thread's, aligned and initialised, to which nobody else writes.
pub unsafe fn word_at_distance(distance: i64) -> u64 {
    // SAFETY: the word is there, as the caller says.
    unsafe { thread_pointer().byte_offset(distance as isize).read_volatile() }
}

/// Changes the word of this thread at a distance from its thread pointer.
///
/// # Safety
/// There is such a word of this thread's, aligned, to which nobody has a reference, and which may have this value.
pub unsafe fn set_word_at_distance(distance: i64, word: u64) {
    // SAFETY: the word is there, as the caller says.
    unsafe { thread_pointer().byte_offset(distance as isize).write_volatile(word) };
}

/// Where this thread's stack ends at this moment.
#[inline(always)]
pub fn stack_pointer() -> u64 {
    let pointer;
    // SAFETY: the assembly copies a register.
    unsafe {
        asm!("mov {pointer}, sp", pointer = out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// How far an address is above the stack pointer.
#[inline(always)]
pub(crate) fn above_stack_pointer(address: usize) -> usize {
    address.wrapping_sub(stack_pointer() as usize)
}

/// Is the place not below the stack pointer?
#[inline(always)]
pub(crate) fn is_in_stack(address: usize) -> bool {
    address >= stack_pointer() as usize
}

/// Writes the stack pointer to a word at a distance from a place.
///
/// # Safety
/// The word is there and aligned, may have any value, and no other thread writes to it.
#[inline(always)]
pub unsafe fn write_stack_pointer<const AT: usize>(base: *const u64) {
    // SAFETY: an aligned word is there that all others read and write as a whole, as the caller says.
    unsafe {
        let word = base.byte_add(AT).cast::<core::sync::atomic::AtomicU64>();
        (*word).store(stack_pointer(), core::sync::atomic::Ordering::Relaxed);
    }
}

/// Writes the stack pointer to a word of a static.
///
/// # Safety
/// To be used in an unsafe block: at so many bytes of the static there is an aligned word, which may have any value and which
/// all others read and write as a whole.
#[doc(hidden)]
#[macro_export]
macro_rules! __write_stack_pointer_to {
    ($memory:path, $at:expr) => {
        $crate::arch::write_stack_pointer::<{ $at }>((&raw const $memory).cast())
    };
}
