//! Comparisons with memory in one instruction: the compiler loads first what is loaded atomically, and compares then.

use core::arch::asm;
use core::sync::atomic::AtomicU64;

/// Is the byte of a static this number? To be used as the end of a function, which it leaves.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_is_byte {
    ($byte:path, $which:expr) => {
        // SAFETY: the assembly reads one byte, which is there and is read whole.
        unsafe {
            let _: &::core::sync::atomic::AtomicU8 = &$byte;
            ::core::arch::asm!(
                "cmp byte ptr [rip + {byte}], {which}",
                "jne {other}",
                byte = sym $byte,
                which = const $which,
                other = label { return false },
                options(readonly, nostack),
            );
        }
        return true
    };
}

/// Is the byte at a distance from a place not 0?
///
/// # Safety
/// The byte is there.
#[inline(always)]
pub unsafe fn is_byte_set<const AT: usize>(base: *const u8) -> bool {
    // SAFETY: the assembly reads one byte, which is there, as the caller says, and is read whole.
    unsafe {
        asm!(
            "cmp byte ptr [{base} + {at}], 0",
            "je {zero}",
            base = in(reg) base,
            at = const AT,
            zero = label { return false },
            options(readonly, nostack),
        );
    }
    true
}

/// Is a word this number?
#[inline(always)]
pub fn is_word(word: &AtomicU64, number: u64) -> bool {
    // SAFETY: the assembly reads a word that is there, whole: it is aligned.
    unsafe {
        asm!(
            "cmp qword ptr [{word}], {number}",
            "jne {other}",
            word = in(reg) word,
            number = in(reg) number,
            other = label { return false },
            options(readonly, nostack),
        );
    }
    true
}

/// Is the lower half of a word that of this number?
#[inline(always)]
pub fn is_lower_half(word: &AtomicU64, number: u64) -> bool {
    // SAFETY: the assembly reads the lower half of a word that is there, whole: it is aligned.
    unsafe {
        asm!(
            "cmp dword ptr [{word}], {number:e}",
            "jne {other}",
            word = in(reg) word,
            number = in(reg) number,
            other = label { return false },
            options(readonly, nostack),
        );
    }
    true
}

/// Is an entry of the cache of call sites one of this call? Stack pointer, return address and what is at the places of three
/// frames are compared. The compiler would take a load and a comparison for each of these comparisons, since what they load is
/// atomic, and more registers, of which few are free in the middle of a call: so the return address is read again.
///
/// # Safety
/// The entry has the stack pointer, the return address, and three frames of a place and what was there, at these distances; a
/// word can be read where the stack pointer leads, and at the places if stack pointer and return address are those of the entry.
#[inline(always)]
pub(crate) unsafe fn is_call<const STACK: usize, const RETURNS_TO: usize, const FRAMES: usize>(
    entry: *const u8,
    stack: usize,
) -> bool {
    // SAFETY: the assembly may only read, from memory that is there, as the caller says.
    unsafe {
        asm!(
            "cmp {stack}, qword ptr [{entry} + {own_stack}]",
            "jne {other}",
            "mov {word}, qword ptr [{stack}]",
            "cmp {word}, qword ptr [{entry} + {own_returns_to}]",
            "jne {other}",
            "mov {word}, qword ptr [{entry} + {frames}]",
            "mov {word}, qword ptr [{word}]",
            "cmp {word}, qword ptr [{entry} + {frames} + 8]",
            "jne {other}",
            "mov {word}, qword ptr [{entry} + {frames} + 16]",
            "mov {word}, qword ptr [{word}]",
            "cmp {word}, qword ptr [{entry} + {frames} + 24]",
            "jne {other}",
            "mov {word}, qword ptr [{entry} + {frames} + 32]",
            "mov {word}, qword ptr [{word}]",
            "cmp {word}, qword ptr [{entry} + {frames} + 40]",
            "jne {other}",
            entry = in(reg) entry,
            stack = in(reg) stack,
            word = out(reg) _,
            own_stack = const STACK,
            own_returns_to = const RETURNS_TO,
            frames = const FRAMES,
            other = label { return false },
            options(readonly, nostack),
        );
    }
    true
}

/// Adds to a number that only this thread and its signal handlers have, at a distance from a place, and returns what it was: a
/// signal handler comes before that or after it.
///
/// # Safety
/// The number is there and aligned, may have any value, and no other thread reads or writes it.
#[inline(always)]
pub unsafe fn add_in_one_step<const AT: usize>(base: *const u8, amount: usize) -> usize {
    let mut before = amount;
    // SAFETY: the assembly adds to a number, which is there and nobody else's, as the caller says.
    unsafe {
        asm!(
            "xadd qword ptr [{base} + {at}], {before}",
            base = in(reg) base,
            at = const AT,
            before = inout(reg) before,
            options(nostack),
        );
    }
    before
}

/// The same pointer: the compiler forgets how it was made, where it would make it of its parts again for each use.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block, reason = "the assembly is empty")]
pub(crate) fn kept<T>(mut pointer: *const T) -> *const T {
    // SAFETY: the assembly is empty, so that the value is what it was.
    unsafe {
        asm!("/* {pointer} */", pointer = inout(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}
