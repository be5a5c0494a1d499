//! Saving the registers of a call, for code that stands in its way: the one place that says which they are on aarch64.

use crate::counters::lane::Lane;

/// The registers that may have arguments, as `__ask_first!` saves them. The eight general ones come first.
#[doc(hidden)]
#[repr(C, align(16))]
pub struct Registers {
    /// `x0` to `x7`.
    pub general: [u64; 8],
    /// `x8`: where a large result goes.
    pub x8: u64,
    /// Not a register: where the arguments on the stack are, if the code says so.
    pub stack: *const u64,
    /// `q0` to `q7`.
    pub vector: [[u64; 2]; 8],
}

/// Makes room for a [`Registers`] below a frame record, and saves the registers there.
#[doc(hidden)]
#[macro_export]
macro_rules! __save_registers {
    () => {
        "stp x29, x30, [sp, #-224]!
        mov x29, sp
        stp x0, x1, [sp, #16]
        stp x2, x3, [sp, #32]
        stp x4, x5, [sp, #48]
        stp x6, x7, [sp, #64]
        str x8, [sp, #80]
        stp q0, q1, [sp, #96]
        stp q2, q3, [sp, #128]
        stp q4, q5, [sp, #160]
        stp q6, q7, [sp, #192]"
    };
}

/// Restores them and leaves the frame.
#[doc(hidden)]
#[macro_export]
macro_rules! __restore_registers {
    () => {
        "ldp x0, x1, [sp, #16]
        ldp x2, x3, [sp, #32]
        ldp x4, x5, [sp, #48]
        ldp x6, x7, [sp, #64]
        ldr x8, [sp, #80]
        ldp q0, q1, [sp, #96]
        ldp q2, q3, [sp, #128]
        ldp q4, q5, [sp, #160]
        ldp q6, q7, [sp, #192]
        ldp x29, x30, [sp], #224"
    };
}

const _: () = assert!(size_of::<Registers>() == 224 - 16, "the macros above have the distances");

/// The body of a naked function, for calls whose arguments only the caller knows: saves the registers that
/// arguments may be in, asks a function that gets the first one and the context, restores them, and jumps to
/// where its [`Answer`](crate::arch::Answer) says.
#[doc(hidden)]
#[macro_export]
macro_rules! __ask_first {
    ($ask:path) => {
        ::core::arch::naked_asm!(
            $crate::__save_registers!(),
            "mov x1, x9",
            "bl {ask}",
            "mov x10, x0",
            "mov x11, x1",
            $crate::__restore_registers!(),
            "cbz x10, 2f",
            "br x10",
            "2:",
            "mov w0, w11",
            "ret",
            ask = sym $ask,
        )
    };
}

/// Calls [`Lane::add_slowly`], in cold code.
///
/// # Safety
/// What [`Lane::add_slowly`] asks for.
#[cold]
#[inline(never)]
pub(crate) unsafe fn add_in_cold_code(lane: *const Lane, index: usize, amount: u64) {
    // SAFETY: it wants what this function does.
    unsafe { Lane::add_slowly(lane, index, amount) }
}

/// Calls a safe `extern "C"` function without arguments, or with a reference that lives as long as the process, and returns what
/// it returns, a `u64`: for what a layer rarely needs before it passes a call on. On x86-64 all registers in which MPI's functions
/// have arguments are as they were.
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
        let function: extern "C" fn() -> u64 = $function;
        function()
    }};
    ($function:path, $argument:expr) => {
        $function($argument)
    };
}
