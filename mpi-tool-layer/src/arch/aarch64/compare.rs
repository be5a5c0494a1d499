//! Comparisons with memory: this processor loads first in any case.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Is the byte of a static this number? To be used as the end of a function, which it leaves.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_is_byte {
    ($byte:path, $which:expr) => {
        return ::core::sync::atomic::AtomicU8::load(&$byte, ::core::sync::atomic::Ordering::Relaxed)
            == $which
    };
}

/// Is the byte at a distance from a place not 0?
///
/// # Safety
/// The byte is there.
#[inline(always)]
pub unsafe fn is_byte_set<const AT: usize>(base: *const u8) -> bool {
    // SAFETY: a byte can be read, as the caller says. It may be changed meanwhile: it is read whole, and once.
    unsafe { base.add(AT).read_volatile() != 0 }
}

/// Is a word this number?
#[inline(always)]
pub fn is_word(word: &AtomicU64, number: u64) -> bool {
    word.load(Relaxed) == number
}

/// Is the lower half of a word that of this number?
#[inline(always)]
pub fn is_lower_half(word: &AtomicU64, number: u64) -> bool {
    word.load(Relaxed) as u32 == number as u32
}

/// Is an entry of the cache of call sites one of this call? Stack pointer, return address and what is at the places of three
/// frames are compared.
///
/// # Safety
/// The entry has the stack pointer, the return address, and three frames of a place and what was there, at these distances, all
/// written atomically; a word can be read at the places if stack pointer and return address are those of the entry.
#[inline(always)]
pub(crate) unsafe fn is_call<const STACK: usize, const RETURNS_TO: usize, const FRAMES: usize>(
    entry: *const u8,
    stack: usize,
) -> bool {
    // SAFETY: the words are those of an entry, which is made of such, and stays as long as the thread, as the caller says.
    let word = |at: usize| unsafe { (*entry.add(at).cast::<AtomicU64>()).load(Relaxed) };
    // SAFETY: `returns_to` requires nothing on this processor: it reads a word of the thread's.
    let returns_to = unsafe { super::returns_to(stack) };
    word(STACK) == stack as u64
        && word(RETURNS_TO) == returns_to
        && (0..3).all(|frame| {
            // SAFETY: a word can be read, as the caller says.
            unsafe {
                super::unwinding::is_at(word(FRAMES + 16 * frame), word(FRAMES + 16 * frame + 8))
            }
        })
}

/// Adds to a number that only this thread and its signal handlers have, at a distance from a place, and returns what it was: a
/// signal handler comes before that or after it.
///
/// # Safety
/// The number is there and aligned, may have any value, and no other thread reads or writes it.
#[inline(always)]
pub unsafe fn add_in_one_step<const AT: usize>(base: *const u8, amount: usize) -> usize {
    // SAFETY: an aligned number is there that is accessed by atomics, or by this thread alone, as the caller says.
    unsafe { (*base.add(AT).cast::<AtomicUsize>()).fetch_add(amount, Relaxed) }
}

/// The same pointer.
#[inline(always)]
pub(crate) fn kept<T>(pointer: *const T) -> *const T {
    pointer
}
