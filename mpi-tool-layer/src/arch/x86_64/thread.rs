//! Words of a thread, and its stack pointer. The words are found at a distance from `fs` that the dynamic linker has put into
//! the global offset table (the initial-exec model).

use core::arch::asm;

use crate::arch::words::{BESIDE_LEVEL, OUTER};

/// How far the kit's words are from `fs`: the same in all threads and all the time, so that the compiler may ask once.
#[inline(always)]
fn words() -> usize {
    let distance;
    // SAFETY: the assembly may only read, from memory that is there and does not change: the dynamic linker writes this
    // part of the global offset table before any code of this object runs. Neither stack nor flags change.
    unsafe {
        asm!(
            "mov {distance}, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
            distance = out(reg) distance,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    distance
}

/// One of this thread's words.
#[inline(always)]
pub(crate) fn word<const AT: usize>() -> usize {
    const { assert!(AT <= BESIDE_LEVEL, "there are six words") };
    let word;
    // SAFETY: the assembly may only read, from memory that is there: `words` says how far from `fs` this thread has
    // six words, and `AT` is one of them. Neither stack nor flags change.
    unsafe {
        asm!(
            "mov {word}, qword ptr fs:[{words} + {at}]",
            words = in(reg) words(),
            at = const AT,
            word = out(reg) word,
            options(readonly, nostack, preserves_flags),
        );
    }
    word
}

/// Changes one of this thread's words.
///
/// # Safety
/// What relies on the word may find this value there.
#[inline(always)]
pub(crate) unsafe fn set_word<const AT: usize>(value: usize) {
    const { assert!(AT <= BESIDE_LEVEL, "there are six words") };
    // SAFETY: the assembly writes eight bytes, which must be the thread's own and no others: see `word`. That the value may
    // be there says the caller.
    unsafe {
        asm!(
            "mov qword ptr fs:[{words} + {at}], {value}",
            words = in(reg) words(),
            at = const AT,
            value = in(reg) value,
            options(nostack, preserves_flags),
        );
    }
}

/// The same where the distance would be kept for as long as a call takes, which costs more than to load it again.
///
/// # Safety
/// As of [`set_word`].
#[inline(always)]
pub(crate) unsafe fn set_word_again<const AT: usize>(value: usize) {
    const { assert!(AT <= BESIDE_LEVEL, "there are six words") };
    // SAFETY: the assembly writes eight bytes, which must be the thread's own and no others: see `word`. It loads the
    // distance again, which does not change: see `words`. That the value may be there says the caller.
    unsafe {
        asm!(
            "mov {words}, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
            "mov qword ptr fs:[{words} + {at}], {value}",
            words = out(reg) _,
            at = const AT,
            value = in(reg) value,
            options(nostack, preserves_flags),
        );
    }
}

/// Makes one of this thread's words 0.
///
/// # Safety
/// As of [`set_word`].
#[inline(always)]
pub(crate) unsafe fn clear_word<const AT: usize>() {
    const { assert!(AT <= BESIDE_LEVEL, "there are six words") };
    // SAFETY: as in `set_word`.
    unsafe {
        asm!(
            "mov qword ptr fs:[{words} + {at}], 0",
            words = in(reg) words(),
            at = const AT,
            options(nostack, preserves_flags),
        );
    }
}

/// The same where the distance would be kept for as long as a call takes.
///
/// # Safety
/// As of [`set_word`].
#[inline(always)]
pub(crate) unsafe fn clear_word_again<const AT: usize>() {
    const { assert!(AT <= BESIDE_LEVEL, "there are six words") };
    // SAFETY: as in `set_word_again`.
    unsafe {
        asm!(
            "mov {words}, qword ptr [rip + mpi_tool_caller@GOTTPOFF]",
            "mov qword ptr fs:[{words} + {at}], 0",
            words = out(reg) _,
            at = const AT,
            options(nostack, preserves_flags),
        );
    }
}

/// Is the stack pointer above the word of the outermost call? Without such a call, that is 0, below all stacks.
#[inline(always)]
pub(crate) fn is_above_outer() -> bool {
    // SAFETY: the assembly may only read, from memory that is there: it is one of this thread's words (`word`), and neither
    // stack nor registers change.
    unsafe {
        asm!(
            "cmp rsp, qword ptr fs:[{words} + {at}]",
            "jbe {inside}",
            words = in(reg) words(),
            at = const OUTER,
            inside = label { return false },
            options(readonly, nostack),
        );
    }
    true
}

/// The outermost call begins here.
#[inline(always)]
pub(crate) fn begin_outer() {
    // SAFETY: the assembly writes eight bytes, which must be the thread's own and no others: see `word`. The number is
    // compared only.
    unsafe {
        asm!(
            "mov qword ptr fs:[{words} + {at}], rsp",
            words = in(reg) words(),
            at = const OUTER,
            options(nostack, preserves_flags),
        );
    }
}

/// The word of this thread's counters.
#[inline(always)]
pub(crate) fn counts_word() -> u64 {
    let word;
    // SAFETY: the assembly may only read, from memory that is there. The word is in the
    // thread-local storage of this object, whose distance from `fs` the dynamic linker has put into
    // the global offset table. Neither stack nor flags change.
    unsafe {
        asm!(
            "mov {word}, qword ptr [rip + mpi_tool_counts@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word}]",
            word = out(reg) word,
            options(readonly, nostack, preserves_flags),
        );
    }
    word
}

/// Changes the word of this thread's counters.
///
/// # Safety
/// What relies on the word may find this value there.
pub(crate) unsafe fn set_counts_word(word: u64) {
    // SAFETY: the assembly writes eight bytes, which must be the thread's word and no other: it is
    // found as in `counts_word`. That the value may be there says the caller.
    unsafe {
        asm!(
            "mov {place}, qword ptr [rip + mpi_tool_counts@GOTTPOFF]",
            "mov qword ptr fs:[{place}], {word}",
            place = out(reg) _,
            word = in(reg) word,
            options(nostack, preserves_flags),
        );
    }
}

/// How far the words of a name (`__thread_words!`) are from where the thread pointer points: the same for all threads.
#[doc(hidden)]
#[macro_export]
macro_rules! __thread_distance {
    ($name:literal) => {{
        let distance: i64;
        // SAFETY: the instruction reads one word of this object's global offset table, where the dynamic linker
        // has put the distance before any code ran, and changes nothing but the register.
        unsafe {
            ::core::arch::asm!(
                concat!("mov {}, qword ptr [rip + ", $name, "@GOTTPOFF]"),
                out(reg) distance,
                options(readonly, nostack, preserves_flags),
            );
        }
        distance
    }};
}

/// The word of this thread at a distance from its thread pointer.
///
/// # Safety
/// There is such a word of this thread's, aligned and initialised, to which nobody else writes.
pub unsafe fn word_at_distance(distance: i64) -> u64 {
    let word;
    // SAFETY: the instruction reads a word, which is there, as the caller says.
    unsafe {
        asm!(
            "mov {}, qword ptr fs:[{}]",
            out(reg) word,
            in(reg) distance,
            options(readonly, nostack, preserves_flags),
        );
    }
    word
}

/// Changes the word of this thread at a distance from its thread pointer.
///
/// # Safety
/// There is such a word of this thread's, aligned, to which nobody has a reference, and which may have this value.
pub unsafe fn set_word_at_distance(distance: i64, word: u64) {
    // SAFETY: the instruction writes a word, which is there and may be written, as the caller says.
    unsafe {
        asm!(
            "mov qword ptr fs:[{}], {}",
            in(reg) distance,
            in(reg) word,
            options(nostack, preserves_flags),
        );
    }
}

/// Where this thread's stack ends at this moment.
#[inline(always)]
pub fn stack_pointer() -> u64 {
    let pointer;
    // SAFETY: the assembly copies a register.
    unsafe {
        asm!(
            "mov {pointer}, rsp",
            pointer = out(reg) pointer,
            options(nomem, nostack, preserves_flags),
        );
    }
    pointer
}

/// How far an address is above the stack pointer.
#[inline(always)]
pub(crate) fn above_stack_pointer(address: usize) -> usize {
    let distance;
    // SAFETY: the assembly only reckons with registers.
    unsafe {
        asm!(
            "sub {address}, rsp",
            address = inout(reg) address => distance,
            options(nomem, nostack),
        );
    }
    distance
}

/// Is the place not below the stack pointer?
#[inline(always)]
pub(crate) fn is_in_stack(address: usize) -> bool {
    // SAFETY: the assembly compares registers.
    unsafe {
        asm!(
            "cmp {address}, rsp",
            "jb {other}",
            address = in(reg) address,
            other = label { return false },
            options(nomem, nostack),
        );
    }
    true
}

/// Writes the stack pointer to a word at a distance from a place, in one instruction.
///
/// # Safety
/// The word is there and aligned, may have any value, and no other thread writes to it.
#[inline(always)]
pub unsafe fn write_stack_pointer<const AT: usize>(base: *const u64) {
    // SAFETY: the assembly writes a word that is there and may be written, as the caller says, as a whole: it is aligned.
    unsafe {
        asm!(
            "mov qword ptr [{base} + {at}], rsp",
            base = in(reg) base,
            at = const AT,
            options(nostack, preserves_flags),
        );
    }
}

/// Writes the stack pointer to a word of a static, in one instruction.
///
/// # Safety
/// To be used in an unsafe block: at so many bytes of the static there is an aligned word, which may have any value and which
/// all others read and write as a whole.
#[doc(hidden)]
#[macro_export]
macro_rules! __write_stack_pointer_to {
    ($memory:path, $at:expr) => {
        ::core::arch::asm!(
            "mov qword ptr [rip + {memory} + {at}], rsp",
            memory = sym $memory,
            at = const $at,
            options(nostack, preserves_flags),
        )
    };
}
