//! Ways between calling conventions, for all functions alike.
//!
//! A tool has one body for a function in a stack: an entry, which takes MPI's arguments and a
//! [`Place`]. Other stacks call a tool's functions otherwise: TUM's library with two more arguments behind
//! MPI's, MPICH with two in front of them; and they want their own functions called that way. A function for
//! each of 700 in each convention would be most of a tool's code. But MPI's functions have integers and
//! pointers for arguments only, so one piece of assembly can move the arguments of any of them, if it is told
//! how many there are. It is told by a *thunk*: a few instructions, made at run time, that put the address of
//! what there is to know into a register and go on to that piece (`arch`).

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32};

use super::stack::Place;
use super::tum::{Cell, Vector};
use crate::FunctionId;
use crate::arch::{self, THUNK};

/// The arguments that the pieces of assembly have room for, with the two that a convention adds.
pub(crate) const MOST: usize = 16;

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
pub(crate) struct Thunks {
    start: *mut u8,
    size: usize,
    used: usize,
}

impl Thunks {
    /// Room for some thunks.
    pub(crate) fn room(number: usize) -> std::io::Result<Self> {
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

    /// A thunk that goes to `target` with `context` for what it must know. It may be called when [`done`](Self::done) has
    /// returned.
    pub(crate) fn towards<T>(
        &mut self,
        context: &'static T,
        target: unsafe extern "C" fn(),
    ) -> *const c_void {
        self.write(&arch::thunk(ptr::from_ref(context) as usize, target as usize))
    }

    /// A thunk that goes to an entry with its place where entries want it: see [`Place`].
    pub(crate) fn towards_entry(
        &mut self,
        place: &'static Place,
        entry: *const c_void,
    ) -> *const c_void {
        self.write(&arch::thunk_to_entry(ptr::from_ref(place) as usize, entry as usize))
    }

    fn write(&mut self, code: &[u8]) -> *const c_void {
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
    pub(crate) fn done(self) -> std::io::Result<()> {
        // SAFETY: the bytes must be there: the mapping has them.
        unsafe { arch::code_is_written(self.start, self.size) };
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

/// What [`to_tum`](arch::to_tum) must know: the next function in TUM's stack.
#[repr(C)]
pub(crate) struct ToTum {
    /// The next level that has the function. Nothing there: there is only MPI.
    pub(crate) cell: *const Cell,
    pub(crate) v: *const Vector,
    /// How many parameters MPI's function has.
    pub(crate) parameters: usize,
    /// MPI's function.
    pub(crate) mpi: *const c_void,
}

/// What [`to_mpich`](arch::to_mpich) must know: the next function in MPICH's stack.
#[repr(C)]
pub(crate) struct ToMpich {
    /// Null: there is only MPI.
    pub(crate) function: AtomicPtr<c_void>,
    /// The tool that it belongs to; 0 is the library.
    pub(crate) id: AtomicI32,
    /// MPI's function.
    pub(crate) mpi: *const c_void,
}

/// What [`from_mpich`](arch::from_mpich) must know: whom MPICH calls.
#[repr(C)]
pub(crate) struct FromMpich {
    pub(crate) place: *const Place,
    pub(crate) entry: *const c_void,
    /// How many words of arguments are on the stack: MPI's, without the first four.
    pub(crate) on_stack: usize,
    /// The level, whose first number is 0 until its next functions are known.
    pub(crate) level: *const AtomicU32,
    /// Makes them known.
    pub(crate) complete: unsafe extern "C" fn(level: *const AtomicU32),
}

/// Where to go on: the answer of [`tum::arrive`](super::tum::arrive).
#[repr(C)]
pub(crate) struct Arrival {
    pub(crate) entry: *const c_void,
    pub(crate) place: *const Place,
}

/// The registers that may have arguments, as [`from_tum`](arch::from_tum) saves them.
pub(crate) type Registers = [u64; arch::ARGUMENTS];

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
