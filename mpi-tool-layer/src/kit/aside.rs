//! Calls of functions that leave the registers as they are: what is rarely needed on the way of a call must not make the
//! compiler move the call's arguments out of the way each time.

/// Calls a safe `extern "C"` function without arguments, and returns what it returns, a `u64`. All registers but `rax` and
/// those for floating-point numbers, which no MPI function takes, are as they were: for what a layer rarely needs before it
/// passes a call on.
///
/// ```
/// extern "C" fn seven() -> u64 {
///     7
/// }
/// assert_eq!(mpi_tool_layer::aside!(seven), 7);
/// ```
#[macro_export]
macro_rules! aside {
    ($function:path) => {{
        #[unsafe(naked)]
        extern "C" fn saving() {
            core::arch::naked_asm!(
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "push r11",
                "sub rsp, 8",
                "call {function}",
                "add rsp, 8",
                "pop r11",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "ret",
                function = sym $function,
            )
        }
        const _: extern "C" fn() -> u64 = $function;
        let result: u64;
        // SAFETY: the assembly calls a function that leaves all registers as they were but those that are named here: it
        // saves what C's calling convention lets a function change, and the others are saved by `$function`, which is one
        // of C's, safe, and of the type that is checked above. The stack is aligned for calls in assembly that may use
        // it, and is so again after nine words and the return address.
        unsafe {
            core::arch::asm!(
                "call {saving}",
                saving = sym saving,
                out("rax") result,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            );
        }
        result
    }};
}
