//! Ways between calling conventions, for all functions alike.
//!
//! A tool has one body for a function in a stack: an entry, which takes MPI's arguments and a
//! [`Place`]. Other stacks call a tool's functions otherwise: TUM's library with two more arguments behind
//! MPI's, MPICH with two in front of them; and they want their own functions called that way. A function for
//! each of 700 in each convention would be most of a tool's code. But MPI's functions have integers and
//! pointers for arguments only, so one piece of assembly can move the arguments of any of them, if it is told
//! how many there are. It is told by a *thunk*: a few instructions, made at run time, that put the address of
//! what there is to know into `r11` and go on to that piece.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32};

use super::stack::Place;
use super::tum::{Cell, Vector};
use crate::FunctionId;

/// The arguments that the pieces of assembly below have room for, with the two that a convention adds.
const MOST: usize = 16;

/// How many parameters a function has.
pub(super) const fn parameters(function: FunctionId) -> usize {
    let number = function.parameters().len();
    assert!(number + 2 <= MOST);
    number
}

const _: () = {
    let mut index = 0;
    while let Some(function) = FunctionId::from_index(index) {
        parameters(function);
        index += 1;
    }
};

/// Room for thunks, of which the code is written first and run then.
pub(super) struct Thunks {
    start: *mut u8,
    size: usize,
    used: usize,
}

/// The longest thunk, aligned.
const THUNK: usize = 32;

impl Thunks {
    /// Room for some thunks.
    pub(super) fn room(number: usize) -> std::io::Result<Self> {
        let size = (number.max(1) * THUNK).next_multiple_of(4096);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: `mmap` without `MAP_FIXED` makes a new mapping where there is none, so it touches no memory that is
        // in use.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Self { start: start.cast(), size, used: 0 })
    }

    /// A thunk that goes to `target` with `context` in `r11`. It may be called when [`done`](Self::done) has
    /// returned.
    pub(super) fn towards<T>(
        &mut self,
        context: &'static T,
        target: unsafe extern "C" fn(),
    ) -> *const c_void {
        // movabs r11, context; movabs r10, target; jmp r10
        self.write(&[
            &[0x49, 0xbb],
            &(ptr::from_ref(context) as usize).to_le_bytes(),
            &[0x49, 0xba],
            &(target as usize).to_le_bytes(),
            &[0x41, 0xff, 0xe2],
        ])
    }

    /// A thunk that goes to an entry with its place where entries want it: see [`Place`].
    pub(super) fn towards_entry(
        &mut self,
        place: &'static Place,
        entry: *const c_void,
    ) -> *const c_void {
        // movabs r11, place; movq xmm0, r11; movabs r10, entry; jmp r10
        self.write(&[
            &[0x49, 0xbb],
            &(ptr::from_ref(place) as usize).to_le_bytes(),
            &[0x66, 0x49, 0x0f, 0x6e, 0xc3],
            &[0x49, 0xba],
            &(entry as usize).to_le_bytes(),
            &[0x41, 0xff, 0xe2],
        ])
    }

    fn write(&mut self, parts: &[&[u8]]) -> *const c_void {
        let code = parts.concat();
        assert!(
            code.len() <= THUNK && self.used + THUNK <= self.size,
            "there is room for the thunk"
        );
        // SAFETY: this part of the mapping is inside of it, as was just checked, can be written to until
        // `done`, and nobody else has its address yet.
        let thunk = unsafe {
            let thunk = self.start.add(self.used);
            ptr::copy_nonoverlapping(code.as_ptr(), thunk, code.len());
            thunk
        };
        self.used += THUNK;
        thunk.cast()
    }

    /// Makes the thunks code. They stay as long as the process.
    pub(super) fn done(self) -> std::io::Result<()> {
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: `mprotect` must take no access away that somebody needs. It gets the whole mapping, which only this
        // writes to, and not any more: it is consumed here.
        if unsafe { libc::mprotect(self.start.cast(), self.size, protection) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(())
    }
}

/// Does this process let a tool make code at run time? Hardened systems may not.
pub(super) fn can_be_made() -> std::io::Result<()> {
    Thunks::room(1)?.done()
}

/// What [`to_tum`] must know: the next function in TUM's stack.
#[repr(C)]
pub(super) struct ToTum {
    /// The next level that has the function. Nothing there: there is only MPI.
    pub(super) cell: *const Cell,
    pub(super) v: *const Vector,
    /// How many parameters MPI's function has.
    pub(super) parameters: usize,
    /// MPI's function.
    pub(super) mpi: *const c_void,
}

/// Calls a function of TUM's stack: copies the arguments, up to [`MOST`], appends level and stack, and calls.
/// With `r11` a [`ToTum`].
///
/// What is copied of the caller's stack is always ten words, of which the last ones may be no arguments; they are
/// above the return address of a running function, so there is memory.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn to_tum() {
    naked_asm!(
        ".cfi_startproc",
        "mov r10, [r11 + {cell}]",
        "movsxd rax, dword ptr [r10 + {level}]",
        "mov r10, [r10 + {function}]",
        "test r10, r10",
        "je 2f",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 128",
        crate::__save_general!(),
        // Ten words from behind the return address.
        "xor ecx, ecx",
        "3:",
        "mov rdx, [rbp + 8 * rcx + 16]",
        "mov [rsp + 8 * rcx + 48], rdx",
        "inc ecx",
        "cmp ecx, 10",
        "jne 3b",
        "mov rcx, [r11 + {parameters}]",
        "mov [rsp + 8 * rcx], rax",
        "mov rdx, [r11 + {v}]",
        "mov [rsp + 8 * rcx + 8], rdx",
        crate::__restore_general!("rsp"),
        "add rsp, 48",
        "xor eax, eax",
        "call r10",
        "leave",
        ".cfi_restore rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        "2:",
        "jmp [r11 + {mpi}]",
        ".cfi_endproc",
        cell = const offset_of!(ToTum, cell),
        v = const offset_of!(ToTum, v),
        parameters = const offset_of!(ToTum, parameters),
        mpi = const offset_of!(ToTum, mpi),
        function = const offset_of!(Cell, func_ptr),
        level = const offset_of!(Cell, level),
    )
}

/// What [`to_mpich`] must know: the next function in MPICH's stack.
#[repr(C)]
pub(super) struct ToMpich {
    /// Null: there is only MPI.
    pub(super) function: AtomicPtr<c_void>,
    /// The tool that it belongs to; 0 is the library.
    pub(super) id: AtomicI32,
    /// MPI's function.
    pub(super) mpi: *const c_void,
}

/// Calls a function of MPICH's stack: copies the arguments behind a null context and the tool's number, and calls.
/// With `r11` a [`ToMpich`].
///
/// What is copied of the caller's stack is always eight words, as in [`to_tum`].
#[unsafe(naked)]
pub(super) unsafe extern "C" fn to_mpich() {
    naked_asm!(
        ".cfi_startproc",
        "mov r10, [r11 + {function}]",
        "test r10, r10",
        "je 2f",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 80",
        // The seventh argument and those behind it: MPI's fifth, sixth, and what was on the stack.
        "mov [rsp], r8",
        "mov [rsp + 8], r9",
        "mov r8, rdx",
        "mov r9, rcx",
        "xor ecx, ecx",
        "3:",
        "mov rdx, [rbp + 8 * rcx + 16]",
        "mov [rsp + 8 * rcx + 16], rdx",
        "inc ecx",
        "cmp ecx, 8",
        "jne 3b",
        "mov rdx, rdi",
        "mov rcx, rsi",
        "xor edi, edi",
        "mov esi, [r11 + {id}]",
        "xor eax, eax",
        "call r10",
        "leave",
        ".cfi_restore rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        "2:",
        "jmp [r11 + {mpi}]",
        ".cfi_endproc",
        function = const offset_of!(ToMpich, function),
        id = const offset_of!(ToMpich, id),
        mpi = const offset_of!(ToMpich, mpi),
    )
}

/// What [`from_mpich`] must know: whom MPICH calls.
#[repr(C)]
pub(super) struct FromMpich {
    pub(super) place: *const Place,
    pub(super) entry: *const c_void,
    /// How many words of arguments are on the stack: MPI's, without the first four.
    pub(super) on_stack: usize,
    /// The level, whose first number is 0 until its next functions are known.
    pub(super) level: *const AtomicU32,
    /// Makes them known.
    pub(super) complete: unsafe extern "C" fn(level: *const AtomicU32),
}

/// Where MPICH enters: drops the context and the tool's number, and jumps to the entry. With `r11` a
/// [`FromMpich`].
///
/// Arguments on the stack move down by two words, within the room that they have, which belongs to the function
/// that is called.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn from_mpich() {
    naked_asm!(
        ".cfi_startproc",
        "mov r10, [r11 + {level}]",
        "cmp dword ptr [r10], 0",
        "je 4f",
        "2:",
        "mov rdi, rdx",
        "mov rsi, rcx",
        "mov rdx, r8",
        "mov rcx, r9",
        "mov r10, [r11 + {on_stack}]",
        "test r10, r10",
        "je 6f",
        "mov r8, [rsp + 8]",
        "cmp r10, 1",
        "je 6f",
        "mov r9, [rsp + 16]",
        // Words 2, 3, … become words 0, 1, …
        "xor eax, eax",
        "sub r10, 2",
        "3:",
        "cmp rax, r10",
        "je 6f",
        "push qword ptr [rsp + 8 * rax + 24]",
        "pop qword ptr [rsp + 8 * rax + 8]",
        "inc rax",
        "jmp 3b",
        "6:",
        "mov r10, [r11 + {entry}]",
        "mov r11, [r11 + {place}]",
        "movq xmm0, r11",
        "xor eax, eax",
        "jmp r10",
        // The first call of a level.
        "4:",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push r11",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push r9",
        "mov rdi, r10",
        "call [r11 + {complete}]",
        "pop r9",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop r11",
        "leave",
        ".cfi_restore rbp",
        ".cfi_def_cfa rsp, 8",
        "jmp 2b",
        ".cfi_endproc",
        place = const offset_of!(FromMpich, place),
        entry = const offset_of!(FromMpich, entry),
        on_stack = const offset_of!(FromMpich, on_stack),
        level = const offset_of!(FromMpich, level),
        complete = const offset_of!(FromMpich, complete),
    )
}

/// Where to go on: the answer of [`tum::arrive`](super::tum::arrive).
#[repr(C)]
pub(super) struct Arrival {
    pub(super) entry: *const c_void,
    pub(super) place: *const Place,
}

/// The registers that may have arguments, as [`from_tum`] saves them.
pub(super) type Registers = [u64; 6];

/// Where TUM's library enters: `r10` is the tool ([`TumTool`](super::tum::TumTool)), `r11` the number of the
/// function. Asks which level is called, by the arguments behind MPI's, and jumps to the entry, which leaves
/// these alone.
#[doc(hidden)]
#[unsafe(naked)]
pub unsafe extern "C" fn from_tum() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 48",
        crate::__save_general!(),
        "mov rdi, r10",
        "mov esi, r11d",
        "mov rdx, rsp",
        "lea rcx, [rbp + 16]",
        "call {arrive}",
        "mov r10, rax",
        "mov r11, rdx",
        crate::__restore_general!("rsp"),
        "leave",
        ".cfi_restore rbp",
        ".cfi_def_cfa rsp, 8",
        "movq xmm0, r11",
        "xor eax, eax",
        "jmp r10",
        ".cfi_endproc",
        arrive = sym super::tum::arrive,
    )
}

/// The level and the stack, which TUM's library passes behind the parameters of MPI's function.
///
/// # Safety
/// `registers` and `stack` have the words of a call by TUM's convention of a function with so many parameters: those
/// in registers, and those on the stack from the first one on.
pub(super) unsafe fn behind(
    parameters: usize,
    registers: &Registers,
    stack: *const u64,
) -> (c_int, *const Vector) {
    let word = |index: usize| match registers.get(index) {
        Some(word) => *word,
        // SAFETY: the caller promises that there are two more arguments than parameters; those that find no register
        // are on the stack in this order.
        None => unsafe { *stack.add(index - registers.len()) },
    };
    (word(parameters) as c_int, ptr::with_exposed_provenance(word(parameters + 1) as usize))
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;

    use super::*;

    std::thread_local! {
        /// What a function was called with.
        static SEEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }

    fn seen() -> Vec<u64> {
        SEEN.with_borrow_mut(core::mem::take)
    }

    /// Functions of so many arguments in each convention, and a test that calls them through thunks.
    macro_rules! conventions {
        ($($test:ident $count:literal ($($arg:ident)*);)*) => {$(
            #[test]
            fn $test() {
                extern "C" fn entry($($arg: u64,)* place: f64) -> u64 {
                    SEEN.set(vec![place.to_bits() $(, $arg)*]);
                    77
                }
                extern "C" fn in_mpich(context: u64, id: u64 $(, $arg: u64)*) -> u64 {
                    SEEN.set(vec![context, id & 0xffff_ffff $(, $arg)*]);
                    78
                }
                extern "C" fn in_tum($($arg: u64,)* level: u64, v: u64) -> u64 {
                    SEEN.set(vec![level & 0xffff_ffff, v $(, $arg)*]);
                    79
                }
                unsafe extern "C" fn complete(level: *const AtomicU32) {
                    // SAFETY: the pointer is of the static number below, which is the one in the `FromMpich`.
                    unsafe { &*level }.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
                }
                static LEVEL: AtomicU32 = AtomicU32::new(0);
                let place = Box::leak(Box::new(Place { next: ptr::null(), instance: ptr::null() }));
                let address = ptr::from_ref(place) as u64;
                let from = Box::leak(Box::new(FromMpich {
                    place,
                    entry: entry as *const c_void,
                    on_stack: ($count + 2_usize).saturating_sub(6),
                    level: &LEVEL,
                    complete,
                }));
                let to = Box::leak(Box::new(ToMpich {
                    function: AtomicPtr::new(in_mpich as *mut c_void),
                    id: AtomicI32::new(5),
                    mpi: ptr::null(),
                }));
                let cell = Box::leak(Box::new(Cell {
                    func_ptr: in_tum as *const c_void,
                    level: 6,
                    is_last: -1,
                }));
                let v: *const Vector = ptr::without_provenance(0x1234_5678_9abc);
                let to_tum_of = Box::leak(Box::new(ToTum {
                    cell,
                    v,
                    parameters: $count,
                    mpi: ptr::null(),
                }));
                let mut thunks = Thunks::room(4).expect("memory");
                let from_mpich = thunks.towards(from, from_mpich);
                let to_mpich = thunks.towards(to, to_mpich);
                let to_tum = thunks.towards(to_tum_of, to_tum);
                let to_entry = thunks.towards_entry(place, entry as *const c_void);
                thunks.done().expect("code");

                let arguments: [u64; $count] =
                    core::array::from_fn(|index| 0xfedc_ba98_0000_0000 + index as u64);
                let [$($arg),*] = arguments;
                let expect = |first: &[u64]| [first, &arguments].concat();
                type Plain = unsafe extern "C" fn($(same!($arg)),*) -> u64;
                type Mpich = unsafe extern "C" fn(u64, u64 $(, same!($arg))*) -> u64;
                // SAFETY: each thunk is transmuted to the convention that it is called by, and goes to the test's
                // function of as many arguments; `done` has made them code.
                unsafe {
                    let plain = |thunk| core::mem::transmute::<*const c_void, Plain>(thunk);
                    let from_mpich = core::mem::transmute::<*const c_void, Mpich>(from_mpich);
                    for _ in 0..2 {
                        assert_eq!(from_mpich(0, 9 $(, $arg)*), 77);
                        assert_eq!(seen(), expect(&[address]));
                    }
                    assert_eq!(plain(to_entry)($($arg),*), 77);
                    assert_eq!(seen(), expect(&[address]));
                    assert_eq!(plain(to_mpich)($($arg),*), 78);
                    assert_eq!(seen(), expect(&[0, 5]));
                    assert_eq!(plain(to_tum)($($arg),*), 79);
                    assert_eq!(seen(), expect(&[6, 0x1234_5678_9abc]));
                }
                assert_eq!(LEVEL.load(core::sync::atomic::Ordering::Relaxed), 1);
            }
        )*};
    }
    macro_rules! same {
        ($arg:ident) => {
            u64
        };
    }
    conventions! {
        no_argument 0 ();
        one_argument 1 (a);
        two_arguments 2 (a b);
        three_arguments 3 (a b c);
        four_arguments 4 (a b c d);
        five_arguments 5 (a b c d e);
        six_arguments 6 (a b c d e f);
        seven_arguments 7 (a b c d e f g);
        eight_arguments 8 (a b c d e f g h);
        nine_arguments 9 (a b c d e f g h i);
        ten_arguments 10 (a b c d e f g h i j);
        eleven_arguments 11 (a b c d e f g h i j k);
        twelve_arguments 12 (a b c d e f g h i j k l);
        thirteen_arguments 13 (a b c d e f g h i j k l m);
        fourteen_arguments 14 (a b c d e f g h i j k l m n);
    }
}
