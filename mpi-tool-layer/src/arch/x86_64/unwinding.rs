//! What unwinding knows of this processor: return addresses are on the stack, where `call` has put them.

#[cfg(feature = "call-sites")]
use framehop::x86_64::UnwindRegsX86_64 as Registers;
#[cfg(feature = "call-sites")]
pub(crate) use framehop::x86_64::{CacheX86_64 as Rules, UnwinderX86_64 as Unwinder};

/// The file name of the dynamic linker.
#[cfg(feature = "call-sites")]
pub(crate) const DYNAMIC_LINKER: &[u8] = b"ld-linux-x86-64.so.2";

/// The registers of the function that has made a call, when its stack ended here.
#[cfg(feature = "call-sites")]
pub(crate) fn registers(returns_to: u64, stack: u64, frame: u64) -> Registers {
    Registers::new(returns_to, stack + 8, frame)
}

/// Where on the stack the return address is, with which unwinding has gone from the registers of one function to those of its
/// caller.
#[cfg(feature = "call-sites")]
pub(crate) fn place_of_return_address(
    _: &Registers,
    now: &Registers,
    returns_to: u64,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<u64> {
    // The word below the caller's stack.
    let at = now.sp().wrapping_sub(8);
    (read(at) == Ok(returns_to)).then_some(at)
}

/// Where a call returns to, whose stack ended there.
///
/// # Safety
/// A word can be read where the stack ended.
#[inline(always)]
pub(crate) unsafe fn returns_to(stack: usize) -> u64 {
    // SAFETY: a word can be read, as the caller says.
    unsafe { core::ptr::with_exposed_provenance::<u64>(stack).read_unaligned() }
}

/// The return address at a place on the stack.
///
/// # Safety
/// An aligned word can be read.
#[inline(always)]
pub(crate) unsafe fn return_address_at(place: *const u64) -> u64 {
    // SAFETY: a word can be read, as the caller says.
    unsafe { place.read_volatile() }
}

/// A place and what is there, for as long as a call is the one that it was, of which stack pointer and return address are known.
#[inline(always)]
pub(crate) fn always_there(call: [u64; 2]) -> [u64; 2] {
    call
}

/// Calls a function with an argument, on a stack that ends at another place, and comes back to this one.
///
/// # Safety
/// The end is a multiple of 16. Below it there is memory for all that the function does, which nobody else uses meanwhile. The
/// function does not unwind, and may be called with the argument.
#[cfg(feature = "call-sites")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_on_stack(
    end: *mut u8,
    function: unsafe extern "C" fn(*mut core::ffi::c_void),
    argument: *mut core::ffi::c_void,
) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}
