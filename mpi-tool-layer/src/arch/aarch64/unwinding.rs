//! What unwinding knows of this processor: a call returns to what is in a register, which functions save on the stack where they
//! like, most often in a frame record; and which they may sign before.

use core::ptr::with_exposed_provenance;

#[cfg(feature = "call-sites")]
pub(crate) use framehop::aarch64::{CacheAarch64 as Rules, UnwinderAarch64 as Unwinder};
#[cfg(feature = "call-sites")]
use framehop::aarch64::{PtrAuthMask, UnwindRegsAarch64 as Registers};

use super::thread::word;
use crate::arch::words::RETURNS_TO;

/// The file name of the dynamic linker.
#[cfg(feature = "call-sites")]
pub(crate) const DYNAMIC_LINKER: &[u8] = b"ld-linux-aarch64.so.1";

/// The registers of the function that has made a call, when its stack ended here. Programs have addresses of 48 bits, unless they
/// ask for others; signatures are above them.
#[cfg(feature = "call-sites")]
pub(crate) fn registers(returns_to: u64, stack: u64, frame: u64) -> Registers {
    Registers::new_with_ptr_auth_mask(PtrAuthMask(u64::MAX >> 16), returns_to, stack, frame)
}

/// Where on the stack the return address is, with which unwinding has gone from the registers of one function to those of its
/// caller: in the frame record, if there is one, and else the only word of the frame that has it. A function without a frame has
/// none.
#[cfg(feature = "call-sites")]
pub(crate) fn place_of_return_address(
    before: &Registers,
    now: &Registers,
    returns_to: u64,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<u64> {
    let mut is_it = |at: u64| read(at).is_ok_and(|word| without_signature(word) == returns_to);
    let frame = before.sp()..now.sp();
    let in_record = before.fp().wrapping_add(8);
    if frame.contains(&in_record) && is_it(in_record) {
        return Some(in_record);
    }
    // No frame of a function is that large.
    if now.sp().checked_sub(before.sp())? > 1 << 16 {
        return None;
    }
    let mut places = frame.step_by(8).filter(|at| is_it(*at));
    let place = places.next()?;
    places.next().is_none().then_some(place)
}

/// Where the call returns to that an exported function has noted down last: its stack ended here.
///
/// # Safety
/// None here: other processors read it where the stack ended.
#[inline(always)]
pub(crate) unsafe fn returns_to(_: usize) -> u64 {
    word::<RETURNS_TO>() as u64
}

/// The return address at a place on the stack.
///
/// # Safety
/// An aligned word can be read.
#[inline(always)]
pub(crate) unsafe fn return_address_at(place: *const u64) -> u64 {
    // SAFETY: a word can be read, as the caller says.
    without_signature(unsafe { place.read_volatile() })
}

/// A place and what is there, for as long as a call is the one that it was, of which stack pointer and return address are known.
#[inline(always)]
pub(crate) fn always_there(_: [u64; 2]) -> [u64; 2] {
    static NOTHING: u64 = 0;
    [(&raw const NOTHING).expose_provenance() as u64, NOTHING]
}

/// A return address without the signature that pointer authentication puts into the upper bits.
#[inline(always)]
pub(crate) fn without_signature(address: u64) -> u64 {
    let stripped;
    // SAFETY: the instruction is `xpaclri`, which changes x30 only, and does nothing on processors without pointer authentication.
    unsafe {
        core::arch::asm!(
            "hint 7",
            inout("x30") address => stripped,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    stripped
}

/// The word at a place, for entries of the cache of call sites.
///
/// # Safety
/// An aligned word can be read there.
#[inline(always)]
pub(super) unsafe fn is_at(place: u64, address: u64) -> bool {
    // SAFETY: a word can be read, as the caller says.
    unsafe { return_address_at(with_exposed_provenance(place as usize)) == address }
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
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "mov sp, x0",
        "mov x0, x2",
        "blr x1",
        "mov sp, x29",
        ".cfi_def_cfa_register sp",
        "ldp x29, x30, [sp], #16",
        "ret",
        ".cfi_endproc",
    )
}
