//! How MPI calls the function of an operation.

use core::any::type_name;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::panic::AssertUnwindSafe;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::super::sys::{MPI_Datatype, c_int};
use crate::MpiDatatype;

/// MPI tells a user's function no more than which one it is: so each operation has one of its own,
/// that finds the closure here.
pub(super) struct Slot {
    taken: AtomicBool,
    function: AtomicPtr<()>,
    /// An [`Invoke`], for the types of the closure.
    call: AtomicPtr<()>,
}

type Invoke = unsafe fn(function: *const (), input: *const u8, inout: *mut u8, length: usize);
type Trampoline = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);

impl Slot {
    /// A slot that nobody has, and the function that MPI calls for it.
    pub(super) fn take() -> Option<(&'static Self, Trampoline)> {
        SLOTS.iter().zip(TRAMPOLINES).find(|(slot, _)| {
            !slot.taken.load(Ordering::Relaxed) && !slot.taken.swap(true, Ordering::Acquire)
        })
    }

    /// Sets the function, which is found here when MPI calls.
    pub(super) fn set<T: MpiDatatype, F: Fn(&[T], &mut [T])>(&self, function: *mut F) {
        self.function.store(function.cast(), Ordering::Relaxed);
        self.call.store(invoke::<T, F> as *mut (), Ordering::Release);
    }

    /// # Safety
    /// `take` gave the slot to the caller, who gives it back once, and nobody calls its function any more.
    pub(super) unsafe fn give_back(&self) {
        self.call.store(ptr::null_mut(), Ordering::Relaxed);
        self.taken.store(false, Ordering::Release);
    }
}

/// What MPI calls for the operation in this slot.
///
/// # Safety
/// What MPI promises to a user's function (MPI-5.0, 6.9.5): `length` points to an int, and `input` and `inout` are the
/// data of so many elements of the datatype of the reduction, which is that of the slot's function.
unsafe extern "C" fn trampoline<const SLOT: usize>(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut c_int,
    _datatype: *mut MPI_Datatype,
) {
    let slot = &SLOTS[SLOT];
    let call = slot.call.load(Ordering::Acquire);
    if call.is_null() || length.is_null() {
        return;
    }
    // SAFETY: an address that is not null is that of an `Invoke`, which `set` put there, as it put a
    // function beside it for which that one is. `Invoke` requires the data of that many `T`s: MPI gives
    // two arrays of as many elements of the datatype of the reduction, which is `T`'s, as far as their
    // data goes, and the address of their number.
    unsafe {
        let Ok(length) = usize::try_from(*length) else { return };
        let call = core::mem::transmute::<*mut (), Invoke>(call);
        call(slot.function.load(Ordering::Relaxed), input.cast(), inout.cast(), length);
    }
}

/// Calls the function on what MPI gives.
///
/// Memory of MPI's own is as long as the data is: it begins with the first byte of data of the first
/// element, and ends with the last one of the last element. Padding before and behind these is memory of
/// others, so where `T` has such padding, the first or the last element is copied.
///
/// # Safety
/// The function is an `F`, and lives during the call. `input` and `inout` are the data of that many `T`s, aligned or
/// not: the one is readable, the other writable, too, they do not overlap, and nobody else writes to them during the
/// call.
unsafe fn invoke<T: MpiDatatype, F: Fn(&[T], &mut [T])>(
    function: *const (),
    input: *const u8,
    inout: *mut u8,
    length: usize,
) {
    let (input, inout): (*const T, *mut T) = (input.cast(), inout.cast());
    if length == 0 || ((input.is_null() || inout.is_null()) && size_of::<T>() != 0) {
        return;
    }
    let function: *const F = function.cast();
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the function is an `F`, and the memory is the data of `length` elements, as the
        // caller promises. Slices require whole, aligned elements: `whole` leaves out those of which
        // MPI's memory may not have all, and both addresses are aligned. MPI's arrays do not overlap,
        // and nobody else uses them during the call.
        unsafe {
            let function = &*function;
            let data = const { T::TYPE_MAP.data() };
            if size_of::<T>() == 0 {
                let (input, inout) = (NonNull::dangling(), NonNull::dangling());
                function(
                    NonNull::slice_from_raw_parts(input, length).as_ref(),
                    NonNull::slice_from_raw_parts(inout, length).as_mut(),
                );
            } else if input.is_aligned() && inout.is_aligned() {
                let first = usize::from(data.start > 0);
                let end = if data.end < size_of::<T>() { length - 1 } else { length };
                let whole = first..end.max(first);
                one_by_one(function, input, inout, 0..first);
                if !whole.is_empty() {
                    function(
                        core::slice::from_raw_parts(input.wrapping_add(whole.start), whole.len()),
                        core::slice::from_raw_parts_mut(
                            inout.wrapping_add(whole.start),
                            whole.len(),
                        ),
                    );
                }
                one_by_one(function, input, inout, whole.end..length);
            } else {
                one_by_one(function, input, inout, 0..length);
            }
        }
    }));
    if result.is_err() {
        // The message of the panic was printed by the panic hook.
        eprintln!(
            "rmpi: the reduction operation {} on {} panicked, which MPI cannot go on from; aborting",
            type_name::<F>(),
            type_name::<T>(),
        );
        std::process::abort();
    }
}

/// A value of zeros.
fn zeros<T: MpiDatatype>() -> T {
    // SAFETY: `assume_init` requires a valid value: an `MpiDatatype` is one with any bits, zeros, too.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Calls the function on some elements, one after the other, by copies of them: for memory of MPI's own
/// that is not aligned as `T` is, or that does not have all of an element. Bytes are copied, as MPI's are.
///
/// # Safety
/// As for [`invoke`]; the elements are among those.
unsafe fn one_by_one<T: MpiDatatype, F: Fn(&[T], &mut [T])>(
    function: &F,
    input: *const T,
    inout: *mut T,
    elements: Range<usize>,
) {
    let Range { start, end } = const { T::TYPE_MAP.data() };
    for i in elements {
        let (mut a, mut b) = (zeros::<T>(), zeros::<T>());
        // Wrapping: the start of the first element can lie before MPI's memory.
        let from = input.wrapping_add(i).cast::<u8>().wrapping_add(start);
        let to = inout.wrapping_add(i).cast::<u8>().wrapping_add(start);
        // SAFETY: copies require readable and writable bytes that do not overlap: an element's bytes
        // from `start` to `end` are its data, all of which MPI's memory has, and `a` and `b` are whole
        // values.
        unsafe {
            ptr::copy_nonoverlapping(from, (&raw mut a).cast::<u8>().add(start), end - start);
            ptr::copy_nonoverlapping(to, (&raw mut b).cast::<u8>().add(start), end - start);
        }
        function(core::slice::from_ref(&a), core::slice::from_mut(&mut b));
        // SAFETY: as above, with the data of `b` written to where it came from.
        unsafe {
            ptr::copy_nonoverlapping((&raw const b).cast::<u8>().add(start), to, end - start);
        }
    }
}

macro_rules! slots {
    ($($index:literal)*) => {
        static TRAMPOLINES: [Trampoline; 64] = [$(trampoline::<$index>),*];
    };
}
slots! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
}

static SLOTS: [Slot; 64] = [const {
    Slot {
        taken: AtomicBool::new(false),
        function: AtomicPtr::new(ptr::null_mut()),
        call: AtomicPtr::new(ptr::null_mut()),
    }
}; 64];
