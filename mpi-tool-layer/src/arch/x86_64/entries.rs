//! What naked functions are made of: jumps that leave a call's arguments where they are, and notes of the caller. A call may
//! lose r10 and r11, and nothing else.

/// Notes the caller down: two words of the thread's. Leaves the flags alone.
#[doc(hidden)]
#[macro_export]
macro_rules! __noting {
    () => {
        "mov r11, qword ptr [rip + mpi_tool_caller@GOTTPOFF]
        mov qword ptr fs:[r11], rsp
        mov qword ptr fs:[r11 + 8], rbp"
    };
}

/// A function that notes its caller down and goes on to another function.
#[doc(hidden)]
#[macro_export]
macro_rules! __note_caller {
    ($body:path) => {
        ::core::arch::naked_asm!(
            $crate::__noting!(),
            "jmp {body}",
            body = sym $body,
        )
    };
}

/// The same of `MPI_Pcontrol`, whose second argument it notes down, too, if there is one.
#[doc(hidden)]
#[macro_export]
macro_rules! __note_caller_and_second {
    ($body:path) => {
        ::core::arch::naked_asm!(
            $crate::__noting!(),
            "mov qword ptr fs:[r11 + 40], rsi",
            "jmp {body}",
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
            "cmp byte ptr [rip + {is_spared}], 0",
            "jne {bare}",
            $crate::__noting!(),
            "jmp {body}",
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
            "jmp qword ptr [rip + {table} + {offset}]",
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
            "mov r11d, {number}",
            "jmp {target}",
            number = const $number,
            target = sym $target,
        )
    };
    (address $context:path, $target:path) => {
        ::core::arch::naked_asm!(
            "lea r11, [rip + {context}]",
            "jmp {target}",
            context = sym $context,
            target = sym $target,
        )
    };
    (both $address:path, $number:expr, $target:path) => {
        ::core::arch::naked_asm!(
            "lea r10, [rip + {address}]",
            "mov r11d, {number}",
            "jmp {target}",
            address = sym $address,
            number = const $number,
            target = sym $target,
        )
    };
}

/// How many bytes of code `__early_calls!` has for each function.
#[doc(hidden)]
pub const EARLY_CALL: usize = 16;

/// For each function so many bytes of code, which jump on with the address of what is behind their first instruction as
/// context.
#[doc(hidden)]
#[macro_export]
macro_rules! __early_calls {
    ($count:expr, $early:path) => {
        ::core::arch::naked_asm!(
            ".balign 16, 0xcc",
            ".rept {count}",
            "lea r11, [rip]",
            "jmp {early}",
            ".balign 16, 0xcc",
            ".endr",
            count = const $count,
            early = sym $early,
        )
    };
}

/// How many bytes of code `__go_on!` has for each function: as many as an address in the table has, so that
/// all of them have the same distance to what they read.
#[doc(hidden)]
pub const GO_ON: usize = 8;

/// For each function a jump to the next one.
#[doc(hidden)]
#[macro_export]
macro_rules! __go_on {
    ($count:expr, $next:path) => {
        ::core::arch::naked_asm!(
            ".balign 8, 0xcc",
            "2:",
            ".rept {count}",
            // jmp [rip + distance]
            ".byte 0xff, 0x25",
            ".long {next} - 2b - 6",
            ".balign 8, 0xcc",
            ".endr",
            count = const $count,
            next = sym $next,
        )
    };
}

/// Bytes of the code of an exported function that do nothing but jump to where a slot says: what code at an address is turned into. `None` if
/// the slot is too far away.
pub(crate) fn jump_at(address: usize, slot: usize) -> Option<[u8; 6]> {
    // jmp [rip + distance], six bytes; the shortest of the exported functions has nine.
    let distance = i32::try_from(slot.wrapping_sub(address + 6).cast_signed()).ok()?;
    let [a, b, c, d] = distance.to_le_bytes();
    Some([0xff, 0x25, a, b, c, d])
}

/// What is behind the byte of the way, by the flags that it was compared with
/// [`NotesMessages::OPEN`](crate::NotesMessages::OPEN): 2 is above 1, and 0x80 is too far below it as a signed number.
#[doc(hidden)]
#[macro_export]
macro_rules! __other_ways {
    () => {
        concat!(
            "2:\njo {bare}\n",
            $crate::__noting!(),
            "\nja {with_caller}\njmp {slowly}\n.cfi_endproc",
        )
    };
}

/// The code of an exported function. Parameters are in the registers that C's calling convention says; what a call may
/// change is not used for anything else before it.
#[doc(hidden)]
#[macro_export]
macro_rules! __noted {
    (sent $function:expr, $alone:path, $bare:path, $with_caller:path, $slowly:path) => {
        ::core::arch::naked_asm!(
            ".cfi_startproc",
            "cmp byte ptr [rip + {notes} + {way}], {open}",
            "jne 2f",
            "inc qword ptr [rip + {notes} + {calls}]",
            "mov qword ptr [rip + {notes} + {stack}], rsp",
            "mov dword ptr [rip + {notes} + {destination}], ecx",
            "mov dword ptr [rip + {notes} + {tag}], r8d",
            "mov qword ptr [rip + {notes} + {comm}], r9",
            "mov qword ptr [rip + {notes} + {function}], {inside}",
            "push {outside}",
            ".cfi_adjust_cfa_offset 8",
            "call qword ptr [rip + {next} + {number} * 8]",
            "pop qword ptr [rip + {notes} + {function}]",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            $crate::__other_ways!(),
            notes = sym NOTES,
            next = sym NEXT,
            number = const $function as usize,
            inside = const $function as usize,
            outside = const Notes::outside($function),
            open = const Notes::OPEN,
            way = const Notes::WAY,
            calls = const Notes::CALLS,
            stack = const Notes::STACK,
            comm = const Notes::COMM,
            destination = const Notes::DESTINATION,
            tag = const Notes::TAG,
            function = const Notes::FUNCTION,
            bare = sym $bare,
            with_caller = sym $with_caller,
            slowly = sym $slowly,
        )
    };
    // The status is on the stack, and so there is no room for the word that says that the call is over.
    (received $function:expr, $alone:path, $bare:path, $with_caller:path, $slowly:path) => {
        ::core::arch::naked_asm!(
            ".cfi_startproc",
            "cmp byte ptr [rip + {notes} + {way}], {open}",
            "jne 2f",
            "inc qword ptr [rip + {notes} + {calls}]",
            "mov qword ptr [rip + {notes} + {stack}], rsp",
            "mov dword ptr [rip + {notes} + {source}], ecx",
            "mov dword ptr [rip + {notes} + {tag}], r8d",
            "mov qword ptr [rip + {notes} + {comm}], r9",
            "mov qword ptr [rip + {notes} + {function}], {inside}",
            "push qword ptr [rsp + 8]",
            ".cfi_adjust_cfa_offset 8",
            "call qword ptr [rip + {next} + {number} * 8]",
            "mov byte ptr [rip + {notes} + {way}], {open}",
            "pop rcx",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            $crate::__other_ways!(),
            notes = sym NOTES,
            next = sym NEXT,
            number = const $function as usize,
            inside = const $function as usize,
            open = const Notes::OPEN,
            way = const Notes::WAY,
            calls = const Notes::CALLS,
            stack = const Notes::STACK,
            comm = const Notes::COMM,
            source = const Notes::SOURCE,
            tag = const Notes::TAG,
            function = const Notes::FUNCTION,
            bare = sym $bare,
            with_caller = sym $with_caller,
            slowly = sym $slowly,
        )
    };
    (neither $function:expr, $alone:path, $bare:path, $with_caller:path, $slowly:path) => {
        ::core::arch::naked_asm!(
            ".cfi_startproc",
            "cmp byte ptr [rip + {notes} + {way}], {open}",
            "je {alone}",
            $crate::__other_ways!(),
            notes = sym NOTES,
            open = const Notes::OPEN,
            way = const Notes::WAY,
            alone = sym $alone,
            bare = sym $bare,
            with_caller = sym $with_caller,
            slowly = sym $slowly,
        )
    };
}
