//! Saving the registers of a call, for code that stands in its way: the one place that says which they are on x86-64.
//!
//! * [`Registers`]: those that may have arguments, also of a variadic function; and `__ask_first!`, which asks a
//!   function of Rust where such a call goes on.
//!
//! * `saving_registers!`: all that a call may lose, for code that wants the call to be none; `add_in_cold_code` is such a call.
//!
//! * [`aside!`](crate::aside): those that may have arguments, where a layer calls what it rarely needs: the compiler must not
//!   move a call's arguments out of the way each time.
//!
//! The macros that save and restore give lines of assembly. The code around them has made the room at `rsp` that they
//! write to: 48 bytes for the general registers, a whole [`Registers`] for all, which `movaps` wants at a multiple of
//! 16. They change no other register, no flag and no other memory.

use core::arch::asm;
use core::sync::atomic::AtomicU8;

use crate::counters::lane::Lane;

/// The registers that may have arguments, as the macros below save them at the end of the stack. The six general ones
/// come first, and may be saved alone.
#[doc(hidden)]
#[repr(C, align(16))]
pub struct Registers {
    /// `rdi`, `rsi`, `rdx`, `rcx`, `r8` and `r9`.
    pub general: [u64; 6],
    /// How many floating-point registers have arguments of a variadic function.
    pub rax: u64,
    /// Not a register: where the arguments on the stack are, if the code says so.
    pub stack: *const u64,
    /// `xmm0` to `xmm7`.
    pub vector: [[u64; 2]; 8],
}

/// Saves the general registers at `rsp`, which has 48 bytes for them.
#[doc(hidden)]
#[macro_export]
macro_rules! __save_general {
    () => {
        "mov [rsp], rdi
        mov [rsp + 8], rsi
        mov [rsp + 16], rdx
        mov [rsp + 24], rcx
        mov [rsp + 32], r8
        mov [rsp + 40], r9"
    };
}

/// Saves `rax` and the floating-point registers, behind the general ones, in the rest of a [`Registers`] at `rsp`.
#[doc(hidden)]
#[macro_export]
macro_rules! __save_variadic {
    () => {
        "mov [rsp + 48], rax
        movaps [rsp + 64], xmm0
        movaps [rsp + 80], xmm1
        movaps [rsp + 96], xmm2
        movaps [rsp + 112], xmm3
        movaps [rsp + 128], xmm4
        movaps [rsp + 144], xmm5
        movaps [rsp + 160], xmm6
        movaps [rsp + 176], xmm7"
    };
}

/// Restores the general registers from what a register points to.
#[doc(hidden)]
#[macro_export]
macro_rules! __restore_general {
    ($from:literal) => {
        concat!("mov rdi, [", $from, "]\n", $crate::__restore_general_but_first!($from))
    };
}

/// Restores the general registers from what a register points to, but for `rdi`.
#[doc(hidden)]
#[macro_export]
macro_rules! __restore_general_but_first {
    ($from:literal) => {
        concat! {
            "mov rsi, [", $from, " + 8]\n",
            "mov rdx, [", $from, " + 16]\n",
            "mov rcx, [", $from, " + 24]\n",
            "mov r8, [", $from, " + 32]\n",
            "mov r9, [", $from, " + 40]\n",
        }
    };
}

/// Restores `rax` and the floating-point registers from what a register points to.
#[doc(hidden)]
#[macro_export]
macro_rules! __restore_variadic {
    ($from:literal) => {
        concat! {
            "mov rax, [", $from, " + 48]\n",
            "movaps xmm0, [", $from, " + 64]\n",
            "movaps xmm1, [", $from, " + 80]\n",
            "movaps xmm2, [", $from, " + 96]\n",
            "movaps xmm3, [", $from, " + 112]\n",
            "movaps xmm4, [", $from, " + 128]\n",
            "movaps xmm5, [", $from, " + 144]\n",
            "movaps xmm6, [", $from, " + 160]\n",
            "movaps xmm7, [", $from, " + 176]\n",
        }
    };
}

/// The body of a naked function, for calls whose arguments only the caller knows: saves the registers that
/// arguments may be in, asks a function that gets the first one and r11, restores them, and jumps to
/// where its [`Answer`](crate::arch::Answer) says.
#[doc(hidden)]
#[macro_export]
macro_rules! __ask_first {
    ($ask:path) => {
        ::core::arch::naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "sub rsp, {room}",
            $crate::__save_general!(),
            $crate::__save_variadic!(),
            // A level of a stack has its place in r11.
            "mov rsi, r11",
            "call {ask}",
            "mov r11, rax",
            "mov r10, rdx",
            $crate::__restore_general!("rsp"),
            $crate::__restore_variadic!("rsp"),
            "leave",
            "test r11, r11",
            "je 2f",
            "jmp r11",
            "2:",
            "mov eax, r10d",
            "ret",
            ask = sym $ask,
            room = const size_of::<$crate::install::Registers>(),
        )
    };
}

/// Has this processor registers that a compiler may use and that the assembly around a call of such a function does
/// not declare as lost: AVX-512's k0 to k7, zmm16 to zmm31, and what zmm0 to zmm15 have beyond AVX?
///
/// They can be declared only in code that is compiled for AVX-512, and it is the tool, compiled after
/// this crate and perhaps with `-C target-cpu=native`, that decides that. So they are saved, where they
/// are.
pub(crate) static WIDE: AtomicU8 = AtomicU8::new(UNKNOWN);
/// Not asked yet.
pub(crate) const UNKNOWN: u8 = 0;
/// It has not, or the system does not save them.
pub(crate) const NO: u8 = 1;
/// It has: the stub saves them.
pub(crate) const YES: u8 = 2;

/// What `xsave` calls the masks, the upper halves of zmm0 to zmm15, and zmm16 to zmm31: bits 5 to
/// 7.
pub(crate) const COMPONENTS: u32 = 0xe0;

/// More than `xsave` writes for these: they end at 2,688 of what Intel's processors write, and lie lower
/// in AMD's.
pub(crate) const AREA: usize = 4096;

/// Defines a function that calls another one with r10, xmm0 and xmm1, and jumps to rax. Leaves the
/// caller's red zone alone.
///
/// General registers are pushed; the wide ones, which the caller could not declare as lost, are
/// saved by `xsave` where the system saves them, too. Its area is on the stack, so a thread's first
/// count needs more than 4 KiB of it there.
macro_rules! saving_registers {
    ($name:ident calls $add:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            ::core::arch::naked_asm!(
                "lea rsp, [rsp - 128]",
                "push rbp",
                "mov rbp, rsp",
                "push rax",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push r10",
                "push r11",
                "push rbx",
                // Does the system save AVX-512's registers (bits 5 to 7 of xcr0)? Asked once: `cpuid` may be slow.
                "cmp byte ptr [rip + {wide}], {unknown}",
                "jne 3f",
                "mov eax, 1",
                "xor ecx, ecx",
                "cpuid",
                "mov ebx, {no}",
                // `xgetbv` and `xsave` may be used.
                "bt ecx, 27",
                "jnc 4f",
                "xor ecx, ecx",
                "xgetbv",
                "and eax, {components}",
                "cmp eax, {components}",
                "jne 4f",
                "mov ebx, {yes}",
                "4:",
                "mov byte ptr [rip + {wide}], bl",
                "3:",
                "movzx ebx, byte ptr [rip + {wide}]",
                // `xsave` wants its area at a multiple of 64, and a header of zeros, which is at 512.
                "and rsp, -64",
                "cmp ebx, {yes}",
                "jne 5f",
                "sub rsp, {area}",
                "xor eax, eax",
                "lea rdi, [rsp + 512]",
                "mov ecx, 8",
                "rep stosq",
                "mov eax, {components}",
                "xor edx, edx",
                "xsave64 [rsp]",
                "5:",
                "mov rdi, r10",
                "movq rsi, xmm0",
                "movq rdx, xmm1",
                "call {add}",
                "cmp ebx, {yes}",
                "jne 6f",
                "mov eax, {components}",
                "xor edx, edx",
                "xrstor64 [rsp]",
                "6:",
                "mov rbx, [rbp - 80]",
                "mov rax, [rbp - 8]",
                "mov rdi, [rbp - 16]",
                "mov rsi, [rbp - 24]",
                "mov rdx, [rbp - 32]",
                "mov rcx, [rbp - 40]",
                "mov r8, [rbp - 48]",
                "mov r9, [rbp - 56]",
                "mov r10, [rbp - 64]",
                "mov r11, [rbp - 72]",
                "mov rsp, rbp",
                "pop rbp",
                "lea rsp, [rsp + 128]",
                "jmp rax",
                add = sym $add,
                wide = sym $crate::arch::here::registers::WIDE,
                unknown = const $crate::arch::here::registers::UNKNOWN,
                no = const $crate::arch::here::registers::NO,
                yes = const $crate::arch::here::registers::YES,
                components = const $crate::arch::here::registers::COMPONENTS,
                area = const $crate::arch::here::registers::AREA,
            )
        }
    };
}

/// Calls [`Lane::add_slowly`] such that the caller need not save its registers: an intercepting
/// function has its arguments in them, and would save and restore them at every call for the sake
/// of the first one.
///
/// The lane goes in r10, and index and amount in two floating-point registers, in which no function
/// of MPI has an argument. The stub gets the address to return to in rax and leaves the stack as it
/// is, also the red zone below it.
///
/// # Safety
/// What [`Lane::add_slowly`] asks for.
#[cold]
#[inline(always)]
pub(crate) unsafe fn add_in_cold_code(lane: *const Lane, index: usize, amount: u64) {
    // SAFETY: `add_saving_registers` makes the call with these arguments and comes back to the
    // label, with all registers as they were that are not given here. The numbers travel where no
    // argument of MPI's is.
    unsafe {
        asm!(
            "lea rax, [rip + 2f]",
            "jmp {stub}",
            "2:",
            stub = sym add_saving_registers,
            out("rax") _,
            in("r10") lane,
            inout("xmm0") f64::from_bits(index as u64) => _,
            inout("xmm1") f64::from_bits(amount) => _,
            out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nostack),
        );
    }
}

saving_registers! { add_saving_registers calls Lane::add_slowly }

/// Calls a safe `extern "C"` function without arguments, or with a reference that lives as long as the process, and returns what
/// it returns, a `u64`. All registers in which MPI's functions have arguments are as they were: for what a layer rarely needs
/// before it passes a call on.
///
/// ```
/// extern "C" fn seven() -> u64 {
///     7
/// }
/// extern "C" fn twice(number: &'static u64) -> u64 {
///     2 * *number
/// }
/// static NUMBER: u64 = 21;
/// assert_eq!(mpi_tool_layer::aside!(seven), 7);
/// assert_eq!(mpi_tool_layer::aside!(twice, &NUMBER), 42);
/// ```
#[macro_export]
macro_rules! aside {
    ($function:path) => {{
        const _: extern "C" fn() -> u64 = $function;
        $crate::aside! { saving $function, ::core::ptr::null::<u8>() }
    }};
    ($function:path, $argument:expr) => {{
        let argument = $crate::argument_aside($function, $argument);
        $crate::aside! { saving $function, argument }
    }};
    (saving $function:path, $argument:expr) => {{
        #[unsafe(naked)]
        extern "C" fn saving() {
            ::core::arch::naked_asm!(
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "push r11",
                "sub rsp, 8",
                "mov rdi, rax",
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
        let result: u64;
        // SAFETY: the assembly calls a function that leaves all registers as they were but those that are named here: it saves
        // the general ones that C's calling convention lets a function change, names the others, also those that only newer
        // processors have (a tool may be compiled for such), and those that are left are saved by `$function`, which is one of
        // C's. `$function` is safe, and its type and its argument are checked above. The stack is aligned for calls in assembly
        // that may use it, and is so again after nine words and the return address.
        unsafe {
            ::core::arch::asm!(
                "call {saving}",
                saving = sym saving,
                inout("rax") $argument => result,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                out("xmm16") _, out("xmm17") _, out("xmm18") _, out("xmm19") _,
                out("xmm20") _, out("xmm21") _, out("xmm22") _, out("xmm23") _,
                out("xmm24") _, out("xmm25") _, out("xmm26") _, out("xmm27") _,
                out("xmm28") _, out("xmm29") _, out("xmm30") _, out("xmm31") _,
                out("k0") _, out("k1") _, out("k2") _, out("k3") _,
                out("k4") _, out("k5") _, out("k6") _, out("k7") _,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                out("mm0") _, out("mm1") _, out("mm2") _, out("mm3") _,
                out("mm4") _, out("mm5") _, out("mm6") _, out("mm7") _,
            );
        }
        result
    }};
}

#[cfg(test)]
mod tests {
    use core::arch::{asm, naked_asm};

    use super::*;

    /// What the first count of a thread calls may use all registers that a C function may use; a caller
    /// that was compiled for AVX-512 has values in them.
    #[test]
    fn registers_of_avx_512_outlive_the_first_count() {
        if !is_x86_feature_detected!("avx512f") || !is_x86_feature_detected!("avx512bw") {
            eprintln!("this processor has no AVX-512: nothing was tested");
            return;
        }
        /// Loses all of them, as the C library's `memset` may.
        #[unsafe(naked)]
        unsafe extern "C" fn loses(_: *const Lane, _: usize, _: u64) {
            naked_asm!(
                ".irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "vpternlogd zmm\\n, zmm\\n, zmm\\n, 255",
                ".endr",
                ".irp n, 0,1,2,3,4,5,6,7",
                "kxnorq k\\n, k\\n, k\\n",
                ".endr",
                "ret",
            )
        }
        saving_registers! { losing calls loses }

        let before: Vec<u64> = (1..=16 * 8 + 8).map(|n| n * 0x0101_0101_0101_0101).collect();
        let mut after = vec![0_u64; before.len()];
        // SAFETY: `losing` comes back to the label with all registers as they were but those given here. The
        // registers of AVX-512 are there, and this function is not compiled to use them. The arrays have
        // 16 registers of 64 bytes and eight of 8.
        unsafe {
            asm!(
                ".irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "vmovdqu64 zmm\\n, [rdi]",
                "add rdi, 64",
                ".endr",
                ".irp n, 0,1,2,3,4,5,6,7",
                "kmovq k\\n, [rdi]",
                "add rdi, 8",
                ".endr",
                "lea rax, [rip + 2f]",
                "jmp {losing}",
                "2:",
                ".irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "vmovdqu64 [rsi], zmm\\n",
                "add rsi, 64",
                ".endr",
                ".irp n, 0,1,2,3,4,5,6,7",
                "kmovq [rsi], k\\n",
                "add rsi, 8",
                ".endr",
                losing = sym losing,
                inout("rdi") before.as_ptr() => _,
                inout("rsi") after.as_mut_ptr() => _,
                out("rax") _,
                in("r10") 0_u64,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            );
        }
        assert_eq!(after, before);
    }
}
