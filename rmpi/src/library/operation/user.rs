//! Operations that are functions of the program.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use rmpi_macros::wraps;

use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::runtime::Runtime;
use super::super::sys::{self, MPI_Op, c_int};
use super::slots::Slot;
use crate::MpiDatatype;

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
        slot.set::<T, F>(function);
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
