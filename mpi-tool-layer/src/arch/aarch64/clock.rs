//! The counter of the generic timer, which programs may read on Linux. It runs at one rate on all processors.

use core::arch::asm;

use crate::call::CallResult;

/// What the kernel calls this counter where it trusts it.
pub(crate) const CLOCK_SOURCE: &[u8] = b"arch_sys_counter";

/// The counter.
#[inline(always)]
pub(crate) fn cycles() -> u64 {
    let time;
    // SAFETY: the assembly reads a register that Linux lets programs read, and touches no memory.
    unsafe {
        asm!("mrs {time}, cntvct_el0", time = out(reg) time, options(nomem, nostack, preserves_flags));
    }
    time
}

/// The counter before a call: reading it changes no register of an argument.
#[inline(always)]
pub(crate) fn cycles_before_call() -> u64 {
    cycles()
}

/// The counter after a call, and the call's result.
#[inline(always)]
pub(crate) fn cycles_after_call(result: CallResult<'_>) -> (u64, CallResult<'_>) {
    (cycles(), result)
}

/// The halves of the counter, the lower one first.
#[inline(always)]
pub(crate) fn cycles_in_halves() -> [u32; 2] {
    let time = cycles();
    [time as u32, (time >> 32) as u32]
}
