//! Where the application's call came from, as the exported functions of a tool note it down that asks
//! for call sites: the stack pointer, at which the return address is, and the frame pointer.

use core::arch::{asm, global_asm};

// Three words of each thread, in the initial-exec model (see `counters/memory.rs`): the stack pointer at the
// last entry into the tool, the frame pointer there, and the stack pointer of the outermost call.
global_asm! {
    ".pushsection .tbss.mpi_tool_caller, \"awT\", @nobits",
    ".balign 8",
    ".hidden mpi_tool_caller",
    ".globl mpi_tool_caller",
    ".type mpi_tool_caller, @object",
    ".size mpi_tool_caller, 24",
    "mpi_tool_caller: .zero 24",
    ".popsection",
}

/// The body of an exported function that notes its caller down and goes on to another function, with all
/// arguments as they are. Only r11 is lost, which a call may change.
#[doc(hidden)]
#[macro_export]
macro_rules! __note_caller {
    ($body:path) => {
        ::core::arch::naked_asm!(
            "mov r11, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
            "mov qword ptr fs:[r11], rsp",
            "mov qword ptr fs:[r11 + 8], rbp",
            "jmp {body}",
            body = sym $body,
        )
    };
}

/// An exported function of a tool that asks for call sites: notes its caller down, and jumps to the function
/// that it would be without that.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_noting_caller {
    (MPI_Pcontrol $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        impl Here {
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                $crate::__ask_first! { $crate::install::entry::exported::$name::<Here> }
            }
        }

        #[unsafe(export_name = "MPI_Pcontrol")]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            $crate::__note_caller! { Here::$name }
        }
    };
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        impl Here {
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
                // SAFETY: it wants what the MPI standard asks of the function's caller, who has called the
                // exported function, which jumps here with all arguments as they are.
                unsafe { $crate::install::entry::exported::$name::<Here>($($arg),*) }
            }
        }

        #[unsafe(export_name = stringify!($c_name))]
        #[unsafe(naked)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            $crate::__note_caller! { Here::$name }
        }
    };
}

/// A call into the tool, as its exported function found the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Where the return address is.
    pub(crate) stack: usize,
    /// The frame pointer, which may be any number in code without frame pointers.
    pub(crate) frame: u64,
}

/// How far below the caller's stack pointer a layer may stand: its method is called by the exported
/// function, most often by a jump.
const NEAR: usize = 64 << 10;

impl Caller {
    /// The caller of the function that this thread is in; `None` if it is not known. That is so in a level
    /// of a stack, whose entries note nothing, and where a signal handler has called MPI in between.
    #[inline(always)]
    pub(crate) fn of_this_call() -> Option<Self> {
        let [stack, frame, here]: [u64; 3];
        // SAFETY: the assembly may only read, from memory that is there: two words of this thread, whose
        // distance from `fs` the dynamic linker has put into the global offset table. Neither stack nor flags
        // change.
        unsafe {
            asm!(
                "mov {words}, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
                "mov {stack}, qword ptr fs:[{words}]",
                "mov {frame}, qword ptr fs:[{words} + 8]",
                "mov {here}, rsp",
                words = out(reg) _,
                stack = out(reg) stack,
                frame = out(reg) frame,
                here = out(reg) here,
                options(readonly, nostack, preserves_flags),
            );
        }
        let is_near = stack.wrapping_sub(here) < NEAR as u64 && stack.is_multiple_of(8);
        is_near.then_some(Self { stack: stack as usize, frame })
    }

    /// Where the call returns to.
    #[inline(always)]
    pub(crate) fn returns_to(self) -> u64 {
        // SAFETY: an aligned word must be there. `of_this_call` has found the address above the stack pointer,
        // in the frames of the calls that this thread is in, and aligned.
        unsafe { (self.stack as *const u64).read_volatile() }
    }
}

/// Is a call inside of another one, of the same thread and the same tool? MPI may call back into the
/// application, which calls MPI, and a library of MPI's may call functions by their public names.
///
/// ```
/// use mpi_tool_layer::Nesting;
///
/// let outer = Nesting::enter();
/// assert!(outer.is_outermost());
/// assert!(!Nesting::enter().is_outermost());
/// drop(outer);
/// assert!(Nesting::enter().is_outermost());
/// ```
#[derive(Debug)]
pub struct Nesting {
    is_outermost: bool,
}

impl Nesting {
    /// Enters a call, which ends when the value is dropped. A call that has not ended, since the
    /// application has jumped out of it, is over when the thread calls again from where its stack is
    /// shorter.
    #[inline(always)]
    pub fn enter() -> Self {
        let (here, outer) = (stack_pointer(), outer());
        let is_outermost = outer == 0 || here > outer;
        if is_outermost {
            set_outer(here);
        }
        Self { is_outermost }
    }

    /// Is the call in no other one?
    #[inline(always)]
    pub fn is_outermost(&self) -> bool {
        self.is_outermost
    }
}

impl Drop for Nesting {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_outermost {
            set_outer(0);
        }
    }
}

#[inline(always)]
fn stack_pointer() -> u64 {
    let here;
    // SAFETY: the assembly only copies a register.
    unsafe { asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags)) };
    here
}

/// The stack pointer of the outermost call of this thread, or 0.
#[inline(always)]
fn outer() -> u64 {
    let outer;
    // SAFETY: as in `Caller::of_this_call`: a word of this thread is read.
    unsafe {
        asm!(
            "mov {words}, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
            "mov {outer}, qword ptr fs:[{words} + 16]",
            words = out(reg) _,
            outer = out(reg) outer,
            options(readonly, nostack, preserves_flags),
        );
    }
    outer
}

#[inline(always)]
fn set_outer(outer: u64) {
    // SAFETY: the assembly writes eight bytes, which must be the thread's own and nobody else's: they are found
    // as in `outer`, which alone reads them.
    unsafe {
        asm!(
            "mov {words}, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
            "mov qword ptr fs:[{words} + 16], {outer}",
            words = out(reg) _,
            outer = in(reg) outer,
            options(nostack, preserves_flags),
        );
    }
}
