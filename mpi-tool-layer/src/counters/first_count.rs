//! The call to cold code of a first count, which leaves the caller's registers alone.

use core::arch::{asm, naked_asm};
use core::sync::atomic::AtomicU8;

use super::lane::Lane;

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
pub(super) unsafe fn add_in_cold_code(lane: *const Lane, index: usize, amount: u64) {
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

/// Has this processor registers that a compiler may use and `add_in_cold_code` does not declare as lost:
/// AVX-512's k0 to k7, zmm16 to zmm31, and what zmm0 to zmm15 have beyond AVX?
///
/// They can be declared only in code that is compiled for AVX-512, and it is the tool, compiled after
/// this crate and perhaps with `-C target-cpu=native`, that decides that. So they are saved, where they
/// are.
static WIDE: AtomicU8 = AtomicU8::new(UNKNOWN);
/// Not asked yet.
const UNKNOWN: u8 = 0;
/// It has not, or the system does not save them.
const NO: u8 = 1;
/// It has: the stub saves them.
const YES: u8 = 2;

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
            naked_asm!(
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
                wide = sym WIDE,
                unknown = const UNKNOWN,
                no = const NO,
                yes = const YES,
                components = const COMPONENTS,
                area = const AREA,
            )
        }
    };
}

saving_registers! { add_saving_registers calls Lane::add_slowly }

/// What `xsave` calls the masks, the upper halves of zmm0 to zmm15, and zmm16 to zmm31: bits 5 to
/// 7.
const COMPONENTS: u32 = 0xe0;

/// More than `xsave` writes for these: they end at 2,688 of what Intel's processors write, and lie lower
/// in AMD's.
const AREA: usize = 4096;

#[cfg(test)]
mod tests {
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
