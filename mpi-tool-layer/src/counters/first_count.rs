//! The call to cold code of a first count, which leaves the caller's registers alone.

use core::arch::asm;

use super::lane::Lane;
use crate::registers::saving_registers;

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

saving_registers! { add_saving_registers calls Lane::add_slowly }

#[cfg(test)]
mod tests {
    use core::arch::naked_asm;

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
