//! What a library exports that runs the stacks of TUM's QMPI: pieces that pass a call's arguments on without knowing them.

/// `QMPI_Table_query`: reads a cell of a table.
#[doc(hidden)]
#[macro_export]
macro_rules! __table_query {
    () => {
        ::core::arch::naked_asm!(
            "shl edi, 4",
            "mov rax, [rdx + rdi]",
            "mov [rsi], rax",
            "mov eax, [rdx + rdi + {is_last}]",
            "ret",
            is_last = const ::core::mem::offset_of!($crate::qmpi::Cell, is_last),
        )
    };
}

/// `exec_func`: a function of our tables has an address in front of it where all is known that its call needs, behind a mark;
/// for others the next level is looked up. Jumps to the code of a table that knows how many arguments there are, with the next
/// level as context.
#[doc(hidden)]
#[macro_export]
macro_rules! __exec_func {
    ($mark:expr, $execute:path) => {
        ::core::arch::naked_asm!(
            "cmp dword ptr [rdi - 4], {mark}",
            "jne 2f",
            "jmp [rdi - 12]",
            "2:",
            "mov rax, [rcx]",
            "movsxd rsi, esi",
            "mov rax, [rax + 8 * rsi]",
            "mov edx, edx",
            "mov r11, rdx",
            "shl r11, 4",
            "mov r11d, [rax + r11 + {level}]",
            "lea rax, [rip + {execute}]",
            "jmp [rax + 8 * rdx]",
            level = const ::core::mem::offset_of!($crate::qmpi::DynamicLib, table)
                + ::core::mem::offset_of!($crate::qmpi::Cell, level),
            execute = sym $execute,
            mark = const $mark,
        )
    };
}

/// What `exec_func` jumps to for the clocks. The result is in both registers: as a `double`, and as
/// the `int` that TUM's header declares.
#[doc(hidden)]
#[macro_export]
macro_rules! __execute_clock {
    () => {
        ::core::arch::naked_asm!(
            "sub rsp, 8",
            "mov rax, rdi",
            "mov edi, r11d",
            "mov rsi, rcx",
            "call rax",
            "cvttsd2si eax, xmm0",
            "add rsp, 8",
            "ret",
        )
    };
}

/// Saves the registers of a call, also of a variadic one, and calls a function with their address and the context; its result
/// is the call's.
#[doc(hidden)]
#[macro_export]
macro_rules! __call_with_registers {
    ($function:path) => {
        ::core::arch::naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "sub rsp, {room}",
            $crate::__save_general!(),
            $crate::__save_variadic!(),
            "lea rax, [rbp + 16]",
            "mov [rsp + {stack}], rax",
            "mov rdi, rsp",
            "mov rsi, r11",
            "call {function}",
            "leave",
            "ret",
            function = sym $function,
            room = const size_of::<$crate::install::Registers>(),
            stack = const ::core::mem::offset_of!($crate::install::Registers, stack),
        )
    };
}

/// Goes on to a function with the context as its second argument.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_with_second {
    ($function:path) => {
        ::core::arch::naked_asm!("mov rsi, r11", "jmp {function}", function = sym $function)
    };
}

/// `(function, first argument, registers)`: calls a function as a call was made whose registers `__call_with_registers!` has
/// saved, but for the first argument. Nobody knows how many arguments there are on the stack: some of what is there is copied.
/// It is readable: the frames of the application's functions are behind it.
#[doc(hidden)]
#[macro_export]
macro_rules! __replay {
    () => {
        ::core::arch::naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "sub rsp, 256",
            "mov r10, rdx",
            "mov r11, rdi",
            "mov edx, esi",
            "mov rsi, [r10 + {stack}]",
            "mov rdi, rsp",
            "mov ecx, 32",
            "rep movsq",
            "mov edi, edx",
            $crate::__restore_general_but_first!("r10"),
            $crate::__restore_variadic!("r10"),
            "call r11",
            "leave",
            "ret",
            stack = const ::core::mem::offset_of!($crate::install::Registers, stack),
        )
    };
}
