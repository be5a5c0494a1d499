//! A function that is called once, behind a pointer: for code that is compiled once for all functions.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;

/// Borrows a function that stands in somebody's variable, and calls it at most once. `dyn FnOnce` would want a
/// box, and `dyn FnMut` a table of functions for each of them.
pub(crate) struct Once<'a, R> {
    function: *mut (),
    call: unsafe fn(*mut ()) -> R,
    borrowed: PhantomData<&'a mut ()>,
}

impl<'a, R> Once<'a, R> {
    /// Lends a function.
    ///
    /// # Safety
    /// The variable is used for nothing else afterwards: its content may be gone.
    #[inline(always)]
    pub(crate) unsafe fn new<F: FnOnce() -> R>(function: &'a mut ManuallyDrop<F>) -> Self {
        /// # Safety
        /// `function` points to a function of this type, which nobody else has and which has not been taken.
        unsafe fn call<R, F: FnOnce() -> R>(function: *mut ()) -> R {
            // SAFETY: the content must be there and be taken once: the caller promises it.
            unsafe { ManuallyDrop::take(&mut *function.cast::<ManuallyDrop<F>>())() }
        }
        let function = core::ptr::from_mut(function).cast();
        Self { function, call: call::<R, F>, borrowed: PhantomData }
    }

    /// Calls it.
    #[inline(always)]
    pub(crate) fn call(self) -> R {
        // SAFETY: the pointer must be of a function of the type that `call` is for, borrowed and not taken: `new` has
        // made both of one variable, whose borrow lasts as long as `self`, and `self` is used up here.
        unsafe { (self.call)(self.function) }
    }
}
