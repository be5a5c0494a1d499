//! Functions with callbacks or attributes, which are of a language: at the end of the stack, MPI's own
//! Fortran function is called for a call that came from Fortran.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};

use mpi_sys::{language_bound_functions, pmpi, prototypes::*};

use super::conversion::{Conversion, read};
use super::plan::How;
use crate::host::slot::Slot;
use crate::qmpi::list_fingerprint;
use crate::{Direction, FunctionId};

/// A call of Fortran on its way down the stack, whose end calls MPI's Fortran function.
#[repr(C)]
pub struct Pending {
    function: u32,
    run: unsafe extern "C-unwind" fn(pending: *const Pending, words: *const usize) -> c_int,
    conversion: *const c_void,
    result: Cell<c_int>,
    done: Cell<bool>,
}

/// The thread's pending call: what a tool exports as `mpi_tool_fortran`. Tools of another version, or with
/// another list of functions, do not see it: they are what a C tool is at the end of the stack.
pub type PendingSlot = Slot<Pending>;

impl PendingSlot {
    /// This tool's.
    pub const FORTRAN: Self = Self::new(list_fingerprint(), slot);
}

extern "C" fn slot() -> *const Cell<*const Pending> {
    std::thread_local! {
        static PENDING: Cell<*const Pending> = const { Cell::new(ptr::null()) };
    }
    PENDING.with(ptr::from_ref)
}

fn pending() -> &'static Cell<*const Pending> {
    static OWN: PendingSlot = PendingSlot::FORTRAN;
    static FIRST: AtomicPtr<PendingSlot> = AtomicPtr::new(ptr::null_mut());
    let mut first = FIRST.load(Acquire).cast_const();
    if first.is_null() {
        // SAFETY: the symbol is the framework's, which exports it only as a `PendingSlot`, in tools, which stay
        // loaded (`stay`).
        first = unsafe { OWN.first(c"mpi_tool_fortran") }.unwrap_or(&OWN);
        FIRST.store(first.cast_mut(), Release);
    }
    // SAFETY: the pointer is of a `PendingSlot` that stays: it was a `&'static` above. It gives a `Cell` that is this
    // thread's, lives as long as the thread, and is not kept beyond the call.
    unsafe { &*(*first).cell() }
}

/// Makes a call whose callbacks or attributes are Fortran's.
///
/// # Safety
/// As for the call: its arguments are as the MPI standard asks, and `conversion` has converted them to C, for a
/// function with `count` parameters, of which there are at most six.
pub(super) unsafe fn by_language(conversion: &mut Conversion<'_>, count: usize) -> c_int {
    let call = Pending {
        function: conversion.entry.function as u32,
        run,
        conversion: ptr::from_mut(conversion).cast(),
        result: Cell::new(MPI_SUCCESS),
        done: Cell::new(false),
    };
    /// Puts back the call that this one is inside of, however this one ends: an exception of the application's may leave it.
    struct Outer {
        slot: &'static Cell<*const Pending>,
        call: *const Pending,
    }

    impl Drop for Outer {
        fn drop(&mut self) {
            self.slot.set(self.call);
        }
    }

    let slot = pending();
    let outer = Outer { slot, call: slot.replace(&call) };
    // SAFETY: the target has C's prototype of this function, and the words are its arguments, as the caller promises.
    // What they and `call` point to is there until it returns.
    let result = unsafe {
        let words = conversion.words;
        Conversion::call(conversion.entry.target(), &words, count) as c_int
    };
    drop(outer);
    if call.done.get() {
        return result;
    }
    // A tool at the end of the stack called PMPI_* itself.
    // SAFETY: `run` wants a pending call of this thread, whose conversion is there: it is this function's.
    unsafe { run(&call, ptr::null()) }
}

/// Calls MPI's Fortran function, and gives C what it has written, where `words` says.
///
/// # Safety
/// `pending` points to a call that [`by_language`] has made on this thread, and which waits for this. `words` is
/// null, or has C's arguments of the function as the end of the stack got them.
unsafe extern "C-unwind" fn run(pending: *const Pending, words: *const usize) -> c_int {
    // SAFETY: as said; `by_language` has put the conversion there, and waits.
    unsafe {
        let pending = &*pending;
        pending.done.set(true);
        let conversion = &*pending.conversion.cast::<Conversion<'_>>();
        let plan = conversion.plan;
        let mut result = MPI_ERR_UNSUPPORTED_OPERATION;
        let bottom = conversion.entry.bottom();
        // An MPI that no longer has the function, as `end` says of C's.
        if !bottom.is_null() {
            let mut given = conversion.given;
            given[plan.fortran] = (&raw mut result).expose_provenance();
            Conversion::call(bottom, &given, plan.words());
        }
        let result = read(&result);
        pending.result.set(result);
        if words.is_null() || result != MPI_SUCCESS {
            return result;
        }
        let mut next = 0;
        for (index, how) in plan.hows.iter().enumerate() {
            if matches!(how, How::Absent) {
                continue;
            }
            let from = conversion.given[next] as *const c_int;
            next += 1;
            let to = *words.add(index);
            match how {
                How::HandleOut(handle) => {
                    *(to as *mut usize) = handle.to_c(from.read_unaligned());
                }
                How::LogicalOut => *(to as *mut c_int) = c_int::from(from.read_unaligned() != 0),
                How::AttributeOut if conversion.is_narrow() => {
                    *(to as *mut isize) = from.read_unaligned() as isize;
                }
                How::AttributeOut => {
                    *(to as *mut usize) = from.cast::<usize>().read_unaligned();
                }
                // A tool in between has its own place for it.
                How::Address if to != from.addr() && is_out(conversion.entry.function, index) => {
                    *(to as *mut c_int) = from.read_unaligned();
                }
                _ => {}
            }
        }
        result
    }
}

/// Is it something that MPI writes, an `int` or what is one?
pub(super) fn is_out(function: FunctionId, index: usize) -> bool {
    let parameter = &function.parameters()[index];
    parameter.direction != Direction::In && parameter.rust_type().contains("mut ")
}

/// The end of the stack for a function with callbacks or attributes.
///
/// # Safety
/// `words` begins with the arguments of a call of the function as C has them, which are as the MPI standard asks.
unsafe fn end(function: FunctionId, words: &[usize; 6]) -> usize {
    let slot = pending();
    // SAFETY: `run` of a pending call wants it to be this thread's, and to wait: the slot is this thread's, and
    // `by_language` takes it out before it returns. The library's function takes its arguments from the first words,
    // which the caller promises, and none of these functions has more than six.
    unsafe {
        if let Some(call) = slot.get().as_ref()
            && call.function == function as u32
        {
            // What it calls back is no part of this call.
            slot.set(ptr::null());
            let result = (call.run)(call, words.as_ptr());
            return result as usize;
        }
        let Some(library) = pmpi::address(function as usize) else {
            return MPI_ERR_UNSUPPORTED_OPERATION as usize;
        };
        let [a, b, c, d, e, f] = *words;
        type Function =
            unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> usize;
        transmute::<*mut c_void, Function>(library.as_ptr())(a, b, c, d, e, f)
    }
}

macro_rules! ends {
    ([] $($c_name:ident $name:ident;)*) => {
        /// What is at the end of the stack in the library's place, for functions with callbacks or
        /// attributes.
        pub(crate) fn bottom(function: FunctionId) -> Option<*const c_void> {
            match function {
                $(FunctionId::$c_name => {
                    unsafe extern "C-unwind" fn $name(
                        a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
                    ) -> usize {
                        // SAFETY: `end` wants the arguments of such a call. Who calls this has passed them to a
                        // function of this prototype; words behind them are not looked at.
                        unsafe { end(FunctionId::$c_name, &[a, b, c, d, e, f]) }
                    }
                    Some($name as *const c_void)
                })*
                _ => None,
            }
        }
    };
}
language_bound_functions! { [ends] }
