use core::any::type_name;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::Range;
use core::panic::AssertUnwindSafe;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use smallvec::SmallVec;
use tool_macros::wraps;

use super::blocks::ReceiveCounts;
use super::buffer::{BufferMut, ElementOf};
use super::context::Runtime;
use super::datatype::handle;
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::sys::{self, MPI_Count, MPI_Datatype, MPI_Op, c_int};
use crate::{MpiDatatype, Predefined, TypeMap};

/// A predefined reduction operation (MPI-5.0, 6.9.2), such as [`MpiOp::SUM`].
///
/// Arrays are reduced element by element: the sum of `[f64; 3]` is that of vectors. Which operation
/// takes which numbers is in MPI-5.0, 6.9.2; with others it is an error of class
/// [`OP`](crate::ErrorClass::OP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpiOp(Kind);

macro_rules! predefined {
    ($($(#[$doc:meta])* $name:ident $variant:ident = $constant:ident;)*) => {
        // No handles, which may be known only as the program runs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Kind {
            $($variant,)*
            Raw(MPI_Op),
        }

        impl MpiOp {
            $(
                $(#[$doc])*
                #[doc = concat!("C: `", stringify!($constant), "`.")]
                pub const $name: Self = Self(Kind::$variant);
            )*

            /// C's handle.
            #[inline]
            pub fn into_raw(self) -> MPI_Op {
                match self.0 {
                    $(Kind::$variant => sys::$constant,)*
                    Kind::Raw(raw) => raw,
                }
            }
        }
    };
}

predefined! {
    /// The sum.
    SUM Sum = MPI_SUM;
    /// The product.
    PROD Prod = MPI_PROD;
    /// The greatest.
    MAX Max = MPI_MAX;
    /// The least.
    MIN Min = MPI_MIN;
    /// Logical and.
    LAND Land = MPI_LAND;
    /// Logical or.
    LOR Lor = MPI_LOR;
    /// Logical exclusive or.
    LXOR Lxor = MPI_LXOR;
    /// And, bit by bit.
    BAND Band = MPI_BAND;
    /// Or, bit by bit.
    BOR Bor = MPI_BOR;
    /// Exclusive or, bit by bit.
    BXOR Bxor = MPI_BXOR;
    /// The greatest value, and where it is: of the pair types, such as [`DoubleInt`](crate::DoubleInt).
    MAXLOC Maxloc = MPI_MAXLOC;
    /// The least value, and where it is.
    MINLOC Minloc = MPI_MINLOC;
    /// What comes replaces what is there; for windows only.
    REPLACE Replace = MPI_REPLACE;
    /// What is there stays; for windows only.
    NO_OP NoOp = MPI_NO_OP;
}

impl MpiOp {
    /// The operation of a handle.
    ///
    /// # Safety
    /// It is an operation that is not freed as long as this value or a copy of it is used, does nothing but reduce, and
    /// takes the predefined datatypes that it is used for, whichever these are: rmpi does not look.
    pub const unsafe fn from_raw(raw: MPI_Op) -> Self {
        Self(Kind::Raw(raw))
    }

    /// May operands change places? C: `MPI_Op_commutative`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// assert!(rmpi::MpiOp::SUM.commutative(context)?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Op_commutative)]
    pub fn commutative(self, runtime: &impl Runtime) -> RmpiResult<bool> {
        let _ = runtime;
        // SAFETY: MPI_Op_commutative requires an operation, which is predefined or was promised to
        // `from_raw`, and MPI to run, which `runtime` shows; it writes one int to `commute`.
        output(0, |commute| unsafe { mpi.call(self.into_raw(), commute) }).map(|flag| flag != 0)
    }
}

macro_rules! integers {
    () => {
        Predefined::I8
            | Predefined::I16
            | Predefined::I32
            | Predefined::I64
            | Predefined::Isize
            | Predefined::U8
            | Predefined::U16
            | Predefined::U32
            | Predefined::U64
            | Predefined::Usize
            | Predefined::Aint
            | Predefined::Count
            | Predefined::Offset
    };
}

macro_rules! floats {
    () => {
        Predefined::F32 | Predefined::F64 | Predefined::LongDouble
    };
}

macro_rules! complex {
    () => {
        Predefined::Complex32 | Predefined::Complex64
    };
}

macro_rules! pairs {
    () => {
        Predefined::FloatInt
            | Predefined::DoubleInt
            | Predefined::LongInt
            | Predefined::TwoInt
            | Predefined::ShortInt
            | Predefined::LongDoubleInt
    };
}

mod sealed {
    pub trait Sealed {}
}

/// What reduces elements of type `T`: an [`MpiOp`], or a `&`[`UserOp`]`<T>`.
///
/// # Safety
/// `as_raw` gives an operation of MPI's that is valid as long as the value, and that does nothing but reduce what it
/// is given, if that is of the datatype that [`WHOLE`](Self::WHOLE) says, and if `takes` lets that pass.
pub unsafe trait Operation<T>: sealed::Sealed {
    /// Is it given elements of the datatype of `T`, and not what arrays consist of?
    const WHOLE: bool;

    /// C's handle.
    fn as_raw(&self) -> MPI_Op;

    /// Does it reduce elements of this datatype?
    #[doc(hidden)]
    fn takes(&self, element: &TypeMap) -> bool;
}

impl sealed::Sealed for MpiOp {}

// SAFETY: the trait requires an operation that does nothing but reduce elements of the datatypes that
// it is called with: MPI's own do so with those that `takes` lets pass, and others were promised to
// `from_raw`.
unsafe impl<T: MpiDatatype> Operation<T> for MpiOp {
    const WHOLE: bool = false;

    #[inline]
    fn as_raw(&self) -> MPI_Op {
        self.into_raw()
    }

    // MPI-5.0, 6.9.2. Not every MPI refuses the rest: some abort, Open MPI adds bytes.
    #[inline]
    fn takes(&self, element: &TypeMap) -> bool {
        let TypeMap::Predefined(element) = element else { return false };
        match self.0 {
            Kind::Sum | Kind::Prod => matches!(element, integers!() | floats!() | complex!()),
            Kind::Max | Kind::Min => matches!(element, integers!() | floats!()),
            Kind::Land | Kind::Lor | Kind::Lxor => {
                matches!(element, integers!() | Predefined::CBool)
            }
            Kind::Band | Kind::Bor | Kind::Bxor => {
                matches!(element, integers!() | Predefined::Byte)
            }
            Kind::Maxloc | Kind::Minloc => matches!(element, pairs!()),
            Kind::Replace | Kind::NoOp => false,
            Kind::Raw(_) => true,
        }
    }
}

impl<T> sealed::Sealed for &UserOp<'_, '_, T> {}

// SAFETY: the trait requires an operation that does nothing but reduce elements of the datatype of `T`,
// as `WHOLE` says: the trampoline calls a safe function of slices of `T`, and the reference keeps the
// operation.
unsafe impl<T: MpiDatatype> Operation<T> for &UserOp<'_, '_, T> {
    const WHOLE: bool = true;

    #[inline]
    fn as_raw(&self) -> MPI_Op {
        self.raw
    }

    #[inline]
    fn takes(&self, _element: &TypeMap) -> bool {
        true
    }
}

/// C's arguments of a reduction of elements of type `T`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reduction {
    pub(super) datatype: MPI_Datatype,
    pub(super) op: MPI_Op,
    /// How many elements of the datatype a `T` is.
    per_value: usize,
}

impl Reduction {
    #[inline]
    pub(super) fn of<T: MpiDatatype, O: Operation<T>>(op: &O) -> RmpiResult<Self> {
        if !op.takes(ElementOf::<T>::FLAT.0) {
            return Err(Error::refused(
                ErrorClass::OP,
                "the predefined operation does not take such elements; a UserOp takes any",
            ));
        }
        let op = op.as_raw();
        if O::WHOLE {
            return Ok(Self { datatype: handle(T::TYPE_MAP)?, op, per_value: 1 });
        }
        let element = ElementOf::<T>::get()?;
        Ok(Self { datatype: element.datatype, op, per_value: element.per_value })
    }

    /// Of an operation of one-sided communication, which also replaces, or fetches only.
    #[inline]
    pub(super) fn one_sided<T: MpiDatatype>(op: MpiOp, fetches: bool) -> RmpiResult<Self> {
        let element = ElementOf::<T>::FLAT.0;
        let takes = match op.0 {
            Kind::Replace => matches!(element, TypeMap::Predefined(_)),
            Kind::NoOp => fetches && matches!(element, TypeMap::Predefined(_)),
            _ => Operation::<T>::takes(&op, element),
        };
        if !takes {
            return Err(Error::refused(
                ErrorClass::OP,
                "the operation does not take such elements, or not here",
            ));
        }
        let element = ElementOf::<T>::get()?;
        Ok(Self { datatype: element.datatype, op: op.into_raw(), per_value: element.per_value })
    }

    /// Can elements of this type be compared, and exchanged if they are equal?
    #[inline]
    pub(super) fn comparable<T: MpiDatatype>() -> RmpiResult<MPI_Datatype> {
        match T::TYPE_MAP {
            TypeMap::Predefined(integers!() | Predefined::CBool | Predefined::Byte) => {
                handle(T::TYPE_MAP)
            }
            _ => {
                Err(Error::refused(ErrorClass::TYPE, "only integers, CBool and Byte are compared"))
            }
        }
    }

    /// The count of so many `T`s.
    #[inline]
    pub(super) fn count(&self, values: usize) -> RmpiResult<MPI_Count> {
        let count = values.checked_mul(self.per_value).and_then(|count| count.try_into().ok());
        count.ok_or(Error::refused(ErrorClass::COUNT, "more elements than MPI counts"))
    }

    /// The counts of parts of these lengths.
    pub(super) fn counts(&self, lengths: &[usize]) -> RmpiResult<ReceiveCounts> {
        let counts = lengths.iter().map(|length| self.count(*length));
        Ok(ReceiveCounts::new(&counts.collect::<RmpiResult<SmallVec<[_; 16]>>>()?))
    }

    /// The count of buffers that have the same length.
    #[inline]
    pub(super) fn same_count(&self, one: usize, other: usize) -> RmpiResult<MPI_Count> {
        if one != other {
            return Err(Error::refused(
                ErrorClass::COUNT,
                "the two buffers of a reduction have different lengths",
            ));
        }
        self.count(one)
    }
}

/// Reduces elements of this process alone: `inout[i] = input[i] op inout[i]`.
/// C: `MPI_Reduce_local`. Local.
///
/// # Errors
/// [`COUNT`](crate::ErrorClass::COUNT) if the lengths differ, [`OP`](crate::ErrorClass::OP) if the operation does
/// not take such elements; what MPI says.
///
/// ```no_run
/// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
/// let mut sums = [10, 20];
/// rmpi::reduce_local(context, &[1, 2], &mut sums, rmpi::MpiOp::SUM)?;
/// assert_eq!(sums, [11, 22]);
/// # Ok(()) }
/// ```
#[wraps(MPI_Reduce_local)]
pub fn reduce_local<T: MpiDatatype, O: Operation<T>>(
    runtime: &impl Runtime,
    input: &[T],
    mut inout: &mut [T],
    op: O,
) -> RmpiResult {
    let _ = runtime;
    let reduction = Reduction::of::<T, O>(&op)?;
    let count = reduction.same_count(input.len(), inout.len())?;
    let pointer = inout.as_raw_mut()?.pointer;
    // SAFETY: MPI_Reduce_local reads as many elements from the first buffer as the count says, and
    // reads and writes as many in the second: the slices have the same length, as `same_count` has
    // found, and do not overlap, since one is exclusive. The operation takes such elements, as `of` has
    // found.
    check(unsafe {
        mpi.call(input.as_ptr().cast(), pointer, count, reduction.datatype, reduction.op)
    })
}

/// A reduction operation that is a function of this program (MPI-5.0, 6.9.5), freed when it is
/// dropped.
///
/// The function gets `input` and `inout`, of the same length, and makes
/// `inout[i] = input[i] op inout[i]`. The operation has to be associative; where it does not commute,
/// MPI keeps the order of the ranks.
///
/// MPI may call it on any thread that calls MPI or that is MPI's own, and often with parts of a
/// buffer. It must not call MPI. If it panics, the process aborts, since MPI cannot be unwound.
///
/// ```no_run
/// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
/// let modulus = 1_000_007;
/// let product = rmpi::UserOp::create(context, true, move |input: &[u64], inout: &mut [u64]| {
///     for (a, b) in input.iter().zip(inout) {
///         *b = *a * *b % modulus;
///     }
/// })?;
/// let mut result = 0;
/// context.world().allreduce(&3, &mut result, &product)?;
/// # Ok(()) }
/// ```
// The lifetimes: MPI's, and that of what the function borrows. Forgotten, it stays in its slot, and
// nobody calls it: who may be calling borrows the `UserOp` until that is over.
pub struct UserOp<'ctx, 'f, T> {
    /// An operation, and valid as long as this value: only `drop` and `free` end it.
    raw: MPI_Op,
    /// This operation's alone, and holds its function.
    slot: &'static Slot,
    /// Of a box.
    function: NonNull<dyn Function<T> + 'f>,
    // Freed on its thread.
    _context: PhantomData<(&'ctx (), *const ())>,
}

impl<T> core::fmt::Debug for UserOp<'_, '_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("UserOp").field("raw", &self.raw).finish_non_exhaustive()
    }
}

/// For the name.
trait Function<T>: Fn(&[T], &mut [T]) + Send + Sync {}
impl<T, F: Fn(&[T], &mut [T]) + Send + Sync> Function<T> for F {}

impl<'ctx, 'f, T: MpiDatatype> UserOp<'ctx, 'f, T> {
    /// Makes an operation of a function. `commute`: may the operands change places?
    /// C: `MPI_Op_create`. Local.
    ///
    /// # Errors
    /// [`NO_SPACE`](crate::ErrorClass::NO_SPACE) if there are 64 of them already, or what MPI says.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // Composition of x -> a x + b, which does not commute.
    /// let compose = rmpi::UserOp::create(context, false, |f: &[[f64; 2]], g: &mut [[f64; 2]]| {
    ///     for (f, g) in f.iter().zip(g) {
    ///         *g = [f[0] * g[0], f[0] * g[1] + f[1]];
    ///     }
    /// })?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Op_create in Self)]
    pub fn create<F>(runtime: &'ctx impl Runtime, commute: bool, function: F) -> RmpiResult<Self>
    where
        F: Fn(&[T], &mut [T]) + Send + Sync + 'f,
    {
        let _ = runtime;
        let Some((slot, trampoline)) = Slot::take() else {
            return Err(Error::refused(
                ErrorClass::NO_SPACE,
                "too many user operations at a time: 64 are possible",
            ));
        };
        let function: *mut F = Box::into_raw(Box::new(function));
        slot.function.store(function.cast(), Ordering::Relaxed);
        slot.call.store(invoke::<T, F> as *mut (), Ordering::Release);
        // SAFETY: MPI_Op_create requires a function of this prototype that can be called as long as the
        // operation is used: it is one of this program. MPI runs, which `runtime` shows. It writes one
        // handle to `op`.
        let result = output(sys::MPI_OP_NULL, |op| unsafe {
            mpi.call(Some(trampoline), c_int::from(commute), op)
        });
        match result {
            Ok(raw) => {
                let function: *mut (dyn Function<T> + 'f) = function;
                // SAFETY: `new_unchecked` requires a pointer that is not null: it is a box's.
                let function = unsafe { NonNull::new_unchecked(function) };
                Ok(Self { raw, slot, function, _context: PhantomData })
            }
            Err(error) => {
                // SAFETY: `give_back` requires a slot that is the caller's and a function that nobody
                // calls any more, `Box::from_raw` the pointer of a box, once: both were made above, and
                // MPI has made no operation that could call it.
                unsafe {
                    slot.give_back();
                    drop(Box::from_raw(function));
                }
                Err(error)
            }
        }
    }
}

impl<T> UserOp<'_, '_, T> {
    /// C's handle, for elements of the datatype of `T`.
    pub const fn as_raw(&self) -> MPI_Op {
        self.raw
    }

    /// May operands change places? C: `MPI_Op_commutative`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(op: &rmpi::UserOp<'_, '_, f64>) -> rmpi::RmpiResult {
    /// println!("{}", op.commutative()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Op_commutative)]
    pub fn commutative(&self) -> RmpiResult<bool> {
        // SAFETY: MPI_Op_commutative requires an operation, which `self` holds, and writes one int to
        // `commute`.
        output(0, |commute| unsafe { mpi.call(self.raw, commute) }).map(|flag| flag != 0)
    }

    /// Frees the operation, as its drop does, and says what went wrong. C: `MPI_Op_free`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(op: rmpi::UserOp<'_, '_, f64>) -> rmpi::RmpiResult {
    /// op.free()
    /// # }
    /// ```
    #[wraps(MPI_Op_free)]
    pub fn free(self) -> RmpiResult {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: MPI_Op_free requires an operation, freed once: `this` is not dropped. Who uses it
        // borrows it, so nobody does.
        check(unsafe { mpi.call(&mut this.raw) })?;
        // SAFETY: `forget_function` requires that it is called once, when nobody calls the function any
        // more: `this` is not dropped, and MPI has forgotten the operation.
        unsafe { this.forget_function() };
        Ok(())
    }

    /// # Safety
    /// It is called once in the life of the operation, and nobody calls the function any more, then or later.
    unsafe fn forget_function(&mut self) {
        // SAFETY: `give_back` requires a slot that is the caller's and a function that nobody calls any
        // more, `Box::from_raw` the pointer of a box, once: the slot is this operation's, `create` made
        // the box, and the caller promises the rest. The slot is given back first: a drop may panic.
        unsafe {
            self.slot.give_back();
            drop(Box::from_raw(self.function.as_ptr()));
        }
    }
}

impl<T> Drop for UserOp<'_, '_, T> {
    fn drop(&mut self) {
        // SAFETY: MPI_Op_free requires an operation, freed once, and `forget_function` that nobody
        // calls the function any more: `free` does not come here, who uses the operation borrows it,
        // and MPI has forgotten it where it says so.
        unsafe {
            if sys::MPI_Op_free(&mut self.raw) == sys::MPI_SUCCESS {
                self.forget_function();
            }
        }
    }
}

/// MPI tells a user's function no more than which one it is: so each operation has one of its own,
/// that finds the closure here.
struct Slot {
    taken: AtomicBool,
    function: AtomicPtr<()>,
    /// An [`Invoke`], for the types of the closure.
    call: AtomicPtr<()>,
}

type Invoke = unsafe fn(function: *const (), input: *const u8, inout: *mut u8, length: usize);
type Trampoline = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);

impl Slot {
    fn take() -> Option<(&'static Self, Trampoline)> {
        SLOTS.iter().zip(TRAMPOLINES).find(|(slot, _)| {
            !slot.taken.load(Ordering::Relaxed) && !slot.taken.swap(true, Ordering::Acquire)
        })
    }

    /// # Safety
    /// `take` gave the slot to the caller, who gives it back once, and nobody calls its function any more.
    unsafe fn give_back(&self) {
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
    // SAFETY: an address that is not null is that of an `Invoke`, which `create` put there, as it put a
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
