//! Ways between calling conventions (`qmpi/thunk.rs`, `fortran/mod.rs`): pieces of assembly that move the arguments of any of MPI's
//! functions, and the thunks that lead to them.

use core::arch::naked_asm;
use core::mem::offset_of;

use crate::qmpi::thunk::{FromMpich, ToMpich, ToTum};
use crate::qmpi::tum::Cell;

/// How many integers and pointers a call has in registers; further ones are on the stack.
pub(crate) const ARGUMENTS: usize = 6;

/// The longest thunk, aligned.
pub(crate) const THUNK: usize = 32;

/// The code of a thunk that goes to a piece of assembly below with the address of what that must know in `r11`.
pub(crate) fn thunk(context: usize, target: usize) -> Vec<u8> {
    // movabs r11, context; movabs r10, target; jmp r10
    let (context, target) = (context.to_le_bytes(), target.to_le_bytes());
    [&[0x49, 0xbb], &context[..], &[0x49, 0xba], &target, &[0x41, 0xff, 0xe2]].concat()
}

/// The code of a thunk that goes to an entry with its place where entries want it: see [`Place`](crate::qmpi::Place).
pub(crate) fn thunk_to_entry(place: usize, entry: usize) -> Vec<u8> {
    // movabs r11, place; movq xmm0, r11; movabs r10, entry; jmp r10
    let (place, entry) = (place.to_le_bytes(), entry.to_le_bytes());
    let movq = [0x66, 0x49, 0x0f, 0x6e, 0xc3];
    [&[0x49, 0xbb], &place[..], &movq, &[0x49, 0xba], &entry, &[0x41, 0xff, 0xe2]].concat()
}

/// The address in the floating-point argument of an entry: an instruction that is done once.
///
/// A caller may do it himself and jump behind it, if the argument is used for nothing else.
#[inline(always)]
pub(crate) fn address_in(argument: f64) -> *const core::ffi::c_void {
    let address;
    // SAFETY: the instruction moves a register and does nothing else.
    unsafe {
        core::arch::asm!(
            "movq {}, {}",
            out(reg) address,
            in(xmm_reg) argument,
            options(nomem, nostack, preserves_flags),
        );
    }
    address
}

/// Calls a function of TUM's stack: copies the arguments, up to 16, appends level and stack, and calls.
/// With `r11` a [`ToTum`].
///
/// What is copied of the caller's stack is always ten words, of which the last ones may be no arguments; they are
/// above the return address of a running function, so there is memory.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn to_tum() {
    naked_asm!(
        ".cfi_startproc",
        "mov r10, [r11 + {cell}]",
        "movsxd rax, dword ptr [r10 + {level}]",
        "mov r10, [r10 + {function}]",
        "test r10, r10",
        "je 2f",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 128",
        crate::__save_general!(),
        // Ten words from behind the return address.
        "xor ecx, ecx",
        "3:",
        "mov rdx, [rbp + 8 * rcx + 16]",
        "mov [rsp + 8 * rcx + 48], rdx",
        "inc ecx",
        "cmp ecx, 10",
        "jne 3b",
        "mov rcx, [r11 + {parameters}]",
        "mov [rsp + 8 * rcx], rax",
        "mov rdx, [r11 + {v}]",
        "mov [rsp + 8 * rcx + 8], rdx",
        crate::__restore_general!("rsp"),
        "add rsp, 48",
        "xor eax, eax",
        "call r10",
        "leave",
        ".cfi_restore rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        "2:",
        "jmp [r11 + {mpi}]",
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
/// With `r11` a [`ToMpich`].
///
/// What is copied of the caller's stack is always eight words, as in [`to_tum`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn to_mpich() {
    naked_asm!(
        ".cfi_startproc",
        "mov r10, [r11 + {function}]",
        "test r10, r10",
        "je 2f",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 80",
        // The seventh argument and those behind it: MPI's fifth, sixth, and what was on the stack.
        "mov [rsp], r8",
        "mov [rsp + 8], r9",
        "mov r8, rdx",
        "mov r9, rcx",
        "xor ecx, ecx",
        "3:",
        "mov rdx, [rbp + 8 * rcx + 16]",
        "mov [rsp + 8 * rcx + 16], rdx",
        "inc ecx",
        "cmp ecx, 8",
        "jne 3b",
        "mov rdx, rdi",
        "mov rcx, rsi",
        "xor edi, edi",
        "mov esi, [r11 + {id}]",
        "xor eax, eax",
        "call r10",
        "leave",
        ".cfi_restore rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        "2:",
        "jmp [r11 + {mpi}]",
        ".cfi_endproc",
        function = const offset_of!(ToMpich, function),
        id = const offset_of!(ToMpich, id),
        mpi = const offset_of!(ToMpich, mpi),
    )
}

/// Where MPICH enters: drops the context and the tool's number, and jumps to the entry. With `r11` a
/// [`FromMpich`].
///
/// Arguments on the stack move down by two words, within the room that they have, which belongs to the function
/// that is called.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn from_mpich() {
    naked_asm!(
        ".cfi_startproc",
        "mov r10, [r11 + {level}]",
        "cmp dword ptr [r10], 0",
        "je 4f",
        "2:",
        "mov rdi, rdx",
        "mov rsi, rcx",
        "mov rdx, r8",
        "mov rcx, r9",
        "mov r10, [r11 + {on_stack}]",
        "test r10, r10",
        "je 6f",
        "mov r8, [rsp + 8]",
        "cmp r10, 1",
        "je 6f",
        "mov r9, [rsp + 16]",
        // Words 2, 3, … become words 0, 1, …
        "xor eax, eax",
        "sub r10, 2",
        "3:",
        "cmp rax, r10",
        "je 6f",
        "push qword ptr [rsp + 8 * rax + 24]",
        "pop qword ptr [rsp + 8 * rax + 8]",
        "inc rax",
        "jmp 3b",
        "6:",
        "mov r10, [r11 + {entry}]",
        "mov r11, [r11 + {place}]",
        "movq xmm0, r11",
        "xor eax, eax",
        "jmp r10",
        // The first call of a level.
        "4:",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push r11",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push r9",
        "mov rdi, r10",
        "call [r11 + {complete}]",
        "pop r9",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop r11",
        "leave",
        ".cfi_restore rbp",
        ".cfi_def_cfa rsp, 8",
        "jmp 2b",
        ".cfi_endproc",
        place = const offset_of!(FromMpich, place),
        entry = const offset_of!(FromMpich, entry),
        on_stack = const offset_of!(FromMpich, on_stack),
        level = const offset_of!(FromMpich, level),
        complete = const offset_of!(FromMpich, complete),
    )
}

/// Where TUM's library enters: `r10` is the tool ([`TumTool`](crate::qmpi::tum::TumTool)), `r11` the number of the
/// function. Asks which level is called, by the arguments behind MPI's, and jumps to the entry, which leaves
/// these alone.
#[doc(hidden)]
#[unsafe(naked)]
pub unsafe extern "C" fn from_tum() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 48",
        crate::__save_general!(),
        "mov rdi, r10",
        "mov esi, r11d",
        "mov rdx, rsp",
        "lea rcx, [rbp + 16]",
        "call {arrive}",
        "mov r10, rax",
        "mov r11, rdx",
        crate::__restore_general!("rsp"),
        "leave",
        ".cfi_restore rbp",
        ".cfi_def_cfa rsp, 8",
        "movq xmm0, r11",
        "xor eax, eax",
        "jmp r10",
        ".cfi_endproc",
        arrive = sym crate::qmpi::tum::arrive,
    )
}

/// What all of Fortran's entry points jump to, with their `Entry` in `r11`: saves the registers that arguments
/// are in and calls `convert`. Where that says so, it jumps on as if nothing had been.
///
/// # Safety
/// Only entry points jump here, with the address of their own static `Entry` in `r11`, and with registers and stack
/// as their caller left them.
#[unsafe(naked)]
pub unsafe extern "C" fn fortran_call() {
    naked_asm!(
        // Exceptions of the application pass through here.
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 48",
        crate::__save_general!(),
        "mov rdi, rsp",
        "lea rsi, [rbp + 16]",
        "mov rdx, r11",
        "call {convert}",
        "test rax, rax",
        "jne 2f",
        "mov rax, rdx",
        ".cfi_remember_state",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        "2:",
        ".cfi_restore_state",
        "mov r11, rax",
        crate::__restore_general!("rsp"),
        "leave",
        ".cfi_def_cfa rsp, 8",
        "jmp r11",
        ".cfi_endproc",
        convert = sym crate::fortran::convert,
    )
}

/// Makes code that was just written visible to the processor: there is nothing to do, as its instruction caches follow stores.
///
/// # Safety
/// None here: other processors read the bytes.
pub(crate) unsafe fn code_is_written(_: *const u8, _: usize) {}
