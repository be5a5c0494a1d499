//! Ways between calling conventions (`qmpi/thunk.rs`, `fortran/mod.rs`): pieces of assembly that move the arguments of any of MPI's
//! functions, and the thunks that lead to them.

use core::arch::{asm, naked_asm};
use core::mem::offset_of;

use crate::qmpi::thunk::{FromMpich, ToMpich, ToTum};
use crate::qmpi::tum::Cell;

/// How many integers and pointers a call has in registers; further ones are on the stack, in a word each.
pub(crate) const ARGUMENTS: usize = 8;

/// The longest thunk, aligned.
pub(crate) const THUNK: usize = 32;

/// Four instructions, and the two words that the first two of them load into x9 and x10.
fn code(last: [u32; 2], words: [usize; 2]) -> Vec<u8> {
    // ldr x9, [pc + 16]; ldr x10, [pc + 20]
    let instructions = [0x5800_0089, 0x5800_00aa, last[0], last[1]];
    let words = words.into_iter().flat_map(|word| (word as u64).to_le_bytes());
    instructions.into_iter().flat_map(u32::to_le_bytes).chain(words).collect()
}

/// br x10
const JUMP: u32 = 0xd61f_0140;

/// The code of a thunk that goes to a piece of assembly below with the address of what that must know in `x9`.
pub(crate) fn thunk(context: usize, target: usize) -> Vec<u8> {
    let nop = 0xd503_201f;
    code([JUMP, nop], [context, target])
}

/// The code of a thunk that goes to an entry with its place where entries want it: see [`Place`](crate::qmpi::Place).
pub(crate) fn thunk_to_entry(place: usize, entry: usize) -> Vec<u8> {
    // fmov d0, x9
    code([0x9e67_0120, JUMP], [place, entry])
}

/// Makes code that was just written visible to the processor, whose instruction caches do not follow stores.
///
/// # Safety
/// The bytes are there.
pub(crate) unsafe fn code_is_written(start: *const u8, length: usize) {
    let end = start.wrapping_add(length);
    // Lines have 16 bytes at least. A line that is named again costs little.
    let lines = || (start.addr() & !15..end.addr()).step_by(16);
    // SAFETY: the instructions write back and forget copies of lines that are there, as the caller says, and change no memory.
    unsafe {
        for line in lines() {
            asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags));
        }
        asm!("dsb ish", options(nostack, preserves_flags));
        for line in lines() {
            asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags));
        }
        asm!("dsb ish", "isb", options(nostack, preserves_flags));
    }
}

/// The address in the floating-point argument of an entry.
#[inline(always)]
pub(crate) fn address_in(argument: f64) -> *const core::ffi::c_void {
    core::ptr::with_exposed_provenance(argument.to_bits() as usize)
}

/// Makes a frame with a record and room for eight words, and saves the registers of arguments there.
macro_rules! enter {
    () => {
        ".cfi_startproc
        stp x29, x30, [sp, #-80]!
        .cfi_def_cfa_offset 80
        .cfi_offset x29, -80
        .cfi_offset x30, -72
        mov x29, sp
        .cfi_def_cfa_register x29
        stp x0, x1, [sp, #16]
        stp x2, x3, [sp, #32]
        stp x4, x5, [sp, #48]
        stp x6, x7, [sp, #64]"
    };
}

/// Restores the registers of arguments.
macro_rules! restore {
    () => {
        "ldp x0, x1, [sp, #16]
        ldp x2, x3, [sp, #32]
        ldp x4, x5, [sp, #48]
        ldp x6, x7, [sp, #64]"
    };
}

/// Leaves the frame.
macro_rules! leave {
    () => {
        "ldp x29, x30, [sp], #80
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30"
    };
}

/// Calls a function of TUM's stack: copies the arguments, up to 16, appends level and stack, and calls.
/// With `x9` a [`ToTum`].
///
/// What is copied of the caller's stack is always ten words, of which the last ones may be no arguments; they are
/// above the frame of a running function, so there is memory.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn to_tum() {
    naked_asm!(
        ".cfi_startproc",
        "ldr x10, [x9, {cell}]",
        "ldrsw x11, [x10, {level}]",
        "ldr x10, [x10, {function}]",
        "cbz x10, 2f",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "sub sp, sp, #144",
        "stp x0, x1, [sp]",
        "stp x2, x3, [sp, #16]",
        "stp x4, x5, [sp, #32]",
        "stp x6, x7, [sp, #48]",
        "ldp x12, x13, [x29, #16]",
        "stp x12, x13, [sp, #64]",
        "ldp x12, x13, [x29, #32]",
        "stp x12, x13, [sp, #80]",
        "ldp x12, x13, [x29, #48]",
        "stp x12, x13, [sp, #96]",
        "ldp x12, x13, [x29, #64]",
        "stp x12, x13, [sp, #112]",
        "ldp x12, x13, [x29, #80]",
        "stp x12, x13, [sp, #128]",
        "ldr x12, [x9, {parameters}]",
        "add x12, sp, x12, lsl #3",
        "ldr x13, [x9, {v}]",
        "stp x11, x13, [x12]",
        "ldp x0, x1, [sp]",
        "ldp x2, x3, [sp, #16]",
        "ldp x4, x5, [sp, #32]",
        "ldp x6, x7, [sp, #48]",
        "add sp, sp, #64",
        "blr x10",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        "2:",
        "ldr x10, [x9, {mpi}]",
        "br x10",
        ".cfi_endproc",
        cell = const offset_of!(ToTum, cell),
        v = const offset_of!(ToTum, v),
        parameters = const offset_of!(ToTum, parameters),
        mpi = const offset_of!(ToTum, mpi),
        function = const offset_of!(Cell, func_ptr),
        level = const offset_of!(Cell, level),
    )
}

/// Calls a function of MPICH's stack: copies the arguments behind a null context and the tool's number, and calls.
/// With `x9` a [`ToMpich`].
///
/// What is copied of the caller's stack is always eight words, as in [`to_tum`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn to_mpich() {
    naked_asm!(
        ".cfi_startproc",
        "ldr x10, [x9, {function}]",
        "cbz x10, 2f",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "sub sp, sp, #80",
        "stp x6, x7, [sp]",
        "ldp x11, x12, [x29, #16]",
        "stp x11, x12, [sp, #16]",
        "ldp x11, x12, [x29, #32]",
        "stp x11, x12, [sp, #32]",
        "ldp x11, x12, [x29, #48]",
        "stp x11, x12, [sp, #48]",
        "ldp x11, x12, [x29, #64]",
        "stp x11, x12, [sp, #64]",
        "mov x7, x5",
        "mov x6, x4",
        "mov x5, x3",
        "mov x4, x2",
        "mov x3, x1",
        "mov x2, x0",
        "ldr w1, [x9, {id}]",
        "mov x0, xzr",
        "blr x10",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        "2:",
        "ldr x10, [x9, {mpi}]",
        "br x10",
        ".cfi_endproc",
        function = const offset_of!(ToMpich, function),
        id = const offset_of!(ToMpich, id),
        mpi = const offset_of!(ToMpich, mpi),
    )
}

/// Where MPICH enters: drops the context and the tool's number, and jumps to the entry. With `x9` a
/// [`FromMpich`].
///
/// Arguments on the stack move down by two words, within the room that they have, which belongs to the function
/// that is called.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn from_mpich() {
    naked_asm!(
        ".cfi_startproc",
        "ldr x10, [x9, {level}]",
        "ldar w11, [x10]",
        "cbz w11, 4f",
        "2:",
        "mov x0, x2",
        "mov x1, x3",
        "mov x2, x4",
        "mov x3, x5",
        "mov x4, x6",
        "mov x5, x7",
        "ldr x10, [x9, {on_stack}]",
        "cbz x10, 6f",
        "ldr x6, [sp]",
        "cmp x10, #1",
        "b.eq 6f",
        "ldr x7, [sp, #8]",
        // Words 2, 3, … become words 0, 1, …
        "sub x10, x10, #2",
        "mov x11, sp",
        "3:",
        "cbz x10, 6f",
        "ldr x12, [x11, #16]",
        "str x12, [x11], #8",
        "sub x10, x10, #1",
        "b 3b",
        "6:",
        "ldr x10, [x9, {entry}]",
        "ldr x9, [x9, {place}]",
        "fmov d0, x9",
        "br x10",
        // The first call of a level.
        "4:",
        "stp x29, x30, [sp, #-80]!",
        ".cfi_def_cfa_offset 80",
        ".cfi_offset x29, -80",
        ".cfi_offset x30, -72",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "stp x9, x2, [sp, #16]",
        "stp x3, x4, [sp, #32]",
        "stp x5, x6, [sp, #48]",
        "str x7, [sp, #64]",
        "mov x0, x10",
        "ldr x11, [x9, {complete}]",
        "blr x11",
        "ldp x9, x2, [sp, #16]",
        "ldp x3, x4, [sp, #32]",
        "ldp x5, x6, [sp, #48]",
        "ldr x7, [sp, #64]",
        "ldp x29, x30, [sp], #80",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "b 2b",
        ".cfi_endproc",
        place = const offset_of!(FromMpich, place),
        entry = const offset_of!(FromMpich, entry),
        on_stack = const offset_of!(FromMpich, on_stack),
        level = const offset_of!(FromMpich, level),
        complete = const offset_of!(FromMpich, complete),
    )
}

/// Where TUM's library enters: `x10` is the tool ([`TumTool`](crate::qmpi::tum::TumTool)), `w9` the number of the
/// function. Asks which level is called, by the arguments behind MPI's, and jumps to the entry, which leaves
/// these alone.
#[doc(hidden)]
#[unsafe(naked)]
pub unsafe extern "C" fn from_tum() {
    naked_asm!(
        enter!(),
        "mov x0, x10",
        "mov w1, w9",
        "add x2, sp, #16",
        "add x3, x29, #80",
        "bl {arrive}",
        "mov x10, x0",
        "mov x9, x1",
        restore!(),
        leave!(),
        "fmov d0, x9",
        "br x10",
        ".cfi_endproc",
        arrive = sym crate::qmpi::tum::arrive,
    )
}

/// What all of Fortran's entry points jump to, with their `Entry` in `x9`: saves the registers that arguments
/// are in and calls `convert`. Where that says so, it jumps on as if nothing had been.
///
/// # Safety
/// Only entry points jump here, with the address of their own static `Entry` in `x9`, and with registers and stack
/// as their caller left them.
#[unsafe(naked)]
pub unsafe extern "C" fn fortran_call() {
    naked_asm!(
        // Exceptions of the application pass through here.
        enter!(),
        "add x0, sp, #16",
        "add x1, x29, #80",
        "mov x2, x9",
        "bl {convert}",
        "cbnz x0, 2f",
        "mov x0, x1",
        ".cfi_remember_state",
        leave!(),
        "ret",
        "2:",
        ".cfi_restore_state",
        "mov x10, x0",
        restore!(),
        leave!(),
        "br x10",
        ".cfi_endproc",
        convert = sym crate::fortran::convert,
    )
}
