//! Saving the registers of a call, for code that stands in its way: the one place that says which they are.
//!
//! * [`Registers`]: those that may have arguments, also of a variadic function; and `__ask_first!`, which asks a
//!   function of Rust where such a call goes on.
//!
//! * `saving_registers!`: all that a call may lose, for code that wants the call to be none.
//!
//! The macros that save and restore give lines of assembly. The code around them has made the room at `rsp` that they
//! write to: 48 bytes for the general registers, a whole [`Registers`] for all, which `movaps` wants at a multiple of
//! 16. They change no other register, no flag and no other memory.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU8;

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

/// What becomes of a call whose arguments only its caller knows: the next function, or null and what to
/// return instead.
#[repr(C)]
pub struct Answer {
    /// Gets the call as it came.
    pub next: *const c_void,
    /// The result where there is no next.
    pub result: c_int,
}

/// The body of a naked function, for calls whose arguments only the caller knows: saves the registers that
/// arguments may be in, asks a function that gets the first one and r11, restores them, and jumps to
/// where its [`Answer`] says.
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
                wide = sym $crate::registers::WIDE,
                unknown = const $crate::registers::UNKNOWN,
                no = const $crate::registers::NO,
                yes = const $crate::registers::YES,
                components = const $crate::registers::COMPONENTS,
                area = const $crate::registers::AREA,
            )
        }
    };
}
pub(crate) use saving_registers;
