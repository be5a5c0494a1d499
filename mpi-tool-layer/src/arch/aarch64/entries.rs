//! What naked functions are made of: jumps that leave a call's arguments where they are, and notes of the caller. A call may
//! lose x9 to x17, and nothing else.

/// Notes the caller down: three words of the thread's.
#[doc(hidden)]
#[macro_export]
macro_rules! __noting {
    () => {
        "adrp x9, :gottprel:mpi_tool_caller
        ldr x9, [x9, :gottprel_lo12:mpi_tool_caller]
        mrs x10, tpidr_el0
        add x9, x9, x10
        mov x10, sp
        stp x10, x29, [x9]
        str x30, [x9, #48]"
    };
}

/// A function that notes its caller down and goes on to another function.
#[doc(hidden)]
#[macro_export]
macro_rules! __note_caller {
    ($body:path) => {
        ::core::arch::naked_asm!($crate::__noting!(), "b {body}", body = sym $body)
    };
}

/// The same of `MPI_Pcontrol`, whose second argument it notes down, too, if there is one.
#[doc(hidden)]
#[macro_export]
macro_rules! __note_caller_and_second {
    ($body:path) => {
        ::core::arch::naked_asm!(
            $crate::__noting!(),
            "str x1, [x9, #40]",
            "b {body}",
            body = sym $body,
        )
    };
}

/// The same, or, where a static's byte is not 0, to a third function without a note.
#[doc(hidden)]
#[macro_export]
macro_rules! __note_caller_unless {
    ($is_spared:path, $bare:path, $body:path) => {
        ::core::arch::naked_asm!(
            "adrp x9, {is_spared}",
            "ldrb w9, [x9, :lo12:{is_spared}]",
            "cbnz w9, 2f",
            $crate::__noting!(),
            "b {body}",
            "2:",
            "b {bare}",
            is_spared = sym $is_spared,
            bare = sym $bare,
            body = sym $body,
        )
    };
}

/// A function that jumps to where a table says at so many bytes.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_through {
    ($table:path, $offset:expr) => {
        ::core::arch::naked_asm!(
            "adrp x16, {table} + {offset}",
            "ldr x16, [x16, :lo12:{table} + {offset}]",
            "br x16",
            table = sym $table,
            offset = const $offset,
        )
    };
}

/// A function that jumps to another one with a number or the address of a static as its context: what `__ask_first!` passes on.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_with {
    (number $number:expr, $target:path) => {
        ::core::arch::naked_asm!(
            "mov w9, {number}",
            "b {target}",
            number = const $number,
            target = sym $target,
        )
    };
    (address $context:path, $target:path) => {
        ::core::arch::naked_asm!(
            "adrp x9, {context}",
            "add x9, x9, :lo12:{context}",
            "b {target}",
            context = sym $context,
            target = sym $target,
        )
    };
    (both $address:path, $number:expr, $target:path) => {
        ::core::arch::naked_asm!(
            "adrp x10, {address}",
            "add x10, x10, :lo12:{address}",
            "mov w9, {number}",
            "b {target}",
            address = sym $address,
            number = const $number,
            target = sym $target,
        )
    };
}

/// How many bytes of code `__early_calls!` has for each function.
#[doc(hidden)]
pub const EARLY_CALL: usize = 8;

/// For each function so many bytes of code, which jump on with their address as context.
#[doc(hidden)]
#[macro_export]
macro_rules! __early_calls {
    ($count:expr, $early:path) => {
        ::core::arch::naked_asm!(
            ".rept {count}",
            "adr x9, .",
            "b {early}",
            ".endr",
            count = const $count,
            early = sym $early,
        )
    };
}

/// How many bytes of code `__go_on!` has for each function.
#[doc(hidden)]
pub const GO_ON: usize = 16;

/// For each function a jump to the next one.
#[doc(hidden)]
#[macro_export]
macro_rules! __go_on {
    ($count:expr, $next:path) => {
        ::core::arch::naked_asm!(
            ".set .Lmpi_tool_slot, 0",
            ".rept {count}",
            "adrp x16, {next} + .Lmpi_tool_slot",
            "ldr x16, [x16, :lo12:{next} + .Lmpi_tool_slot]",
            "br x16",
            "nop",
            ".set .Lmpi_tool_slot, .Lmpi_tool_slot + 8",
            ".endr",
            count = const $count,
            next = sym $next,
        )
    };
}

/// Bytes of the code of an exported function that do nothing but jump to where a slot says: what code at an address is turned into.
/// `None` if the slot is too far away.
pub(crate) fn jump_at(address: usize, slot: usize) -> Option<[u8; 12]> {
    let pages = (slot >> 12).wrapping_sub(address >> 12).cast_signed();
    if !(-(1 << 20)..1 << 20).contains(&pages) || slot % 8 != 0 {
        return None;
    }
    let pages = pages as u32 & 0x1f_ffff;
    // adrp x16, slot; ldr x16, [x16, #(slot & 0xfff)]; br x16
    let adrp = 0x9000_0010 | (pages & 3) << 29 | (pages >> 2) << 5;
    let load = 0xf940_0210 | ((slot as u32 & 0xfff) / 8) << 10;
    let jump = 0xd61f_0200_u32;
    let mut code = [0; 12];
    for (bytes, instruction) in code.chunks_mut(4).zip([adrp, load, jump]) {
        bytes.copy_from_slice(&instruction.to_le_bytes());
    }
    Some(code)
}

/// The code of an exported function of a tool that is installed with `notes`: by the byte of the way it is a quick one without a
/// note of the caller, a quick one with a note, or neither. Where it is open, messages are left to the layer's other methods, too.
#[doc(hidden)]
#[macro_export]
macro_rules! __noted {
    ($how:ident $function:expr, $alone:path, $bare:path, $with_caller:path, $slowly:path) => {
        ::core::arch::naked_asm!(
            "adrp x9, {notes} + {way}",
            "add x9, x9, :lo12:{notes} + {way}",
            "ldrb w11, [x9]",
            "cmp w11, {bare_way}",
            "b.eq 2f",
            $crate::__noting!(),
            "cmp w11, {caller_way}",
            "b.eq 3f",
            "b {slowly}",
            "2:",
            "b {bare}",
            "3:",
            "b {with_caller}",
            notes = sym NOTES,
            way = const Notes::WAY,
            bare_way = const Notes::BARE,
            caller_way = const Notes::WITH_CALLER,
            bare = sym $bare,
            with_caller = sym $with_caller,
            slowly = sym $slowly,
        )
    };
}
