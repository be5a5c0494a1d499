//! The cycle counter: `rdtsc`, which every x86-64 processor has. It touches no memory. A system may forbid it to programs, but
//! then its kernel does not name it as the clock that programs read by `clock_gettime`.

use core::arch::asm;

use crate::call::{self, CallResult};

/// What the kernel calls this counter where it trusts it.
pub(crate) const CLOCK_SOURCE: &[u8] = b"tsc";

/// The counter.
#[inline(always)]
pub(crate) fn cycles() -> u64 {
    // SAFETY: `rdtsc` touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The counter before a call of a function with three arguments and more. To read it changes the register that the
/// third one is in: this puts that back, in fewer instructions than the compiler would.
#[inline(always)]
pub(crate) fn cycles_before_call() -> u64 {
    let time;
    // SAFETY: the assembly reads the counter, which every x86-64 processor has, touches no memory, and leaves all
    // registers as they were but those that it names.
    unsafe {
        asm!(
            "mov {time}, rdx",
            "rdtsc",
            "shl rdx, 32",
            "or rdx, rax",
            "xchg {time}, rdx",
            time = out(reg) time,
            out("rax") _,
            options(nomem, nostack),
        );
    }
    time
}

/// The counter after a call, and the call's result, which was in a register that reading the counter changes.
#[inline(always)]
pub(crate) fn cycles_after_call(result: CallResult<'_>) -> (u64, CallResult<'_>) {
    let (time, kept): (u64, i32);
    // SAFETY: the assembly reads the counter, which every x86-64 processor has, touches no memory, and leaves all
    // registers as they were but those that it names.
    unsafe {
        asm!(
            "mov {kept:e}, eax",
            "rdtsc",
            "shl rdx, 32",
            "lea {time}, [rax + rdx]",
            time = lateout(reg) time,
            kept = out(reg) kept,
            inout("eax") call::code(result) => _,
            out("rdx") _,
            options(nomem, nostack),
        );
    }
    (time, call::result(kept))
}

/// The halves of the counter, the lower one first, as the processor has them: to make one number of them takes two instructions.
#[inline(always)]
pub(crate) fn cycles_in_halves() -> [u32; 2] {
    let (low, high);
    // SAFETY: the assembly reads the counter, which every x86-64 processor has, into the registers that it names, and
    // touches no memory.
    unsafe {
        asm!(
            "rdtsc",
            out("eax") low,
            out("edx") high,
            options(nomem, nostack, preserves_flags),
        );
    }
    [low, high]
}
