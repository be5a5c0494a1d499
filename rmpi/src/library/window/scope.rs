//! Windows over borrowed memory, which are freed at the end of a scope.

use core::cell::RefCell;
use core::marker::PhantomData;
use std::rc::Rc;

use super::super::sys::{self, MPI_Win};
use super::meeting::Meeting;

/// Windows over borrowed memory, in the order in which they were made. They are kept here, and not in
/// what the user has, since that can be forgotten.
#[derive(Debug)]
pub(super) struct Windows(pub(super) RefCell<Vec<Listed>>);

/// One of them, null when it is freed.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) raw: MPI_Win,
    pub(super) meeting: Rc<Meeting>,
}

impl Drop for Windows {
    fn drop(&mut self) {
        for Listed { raw, meeting } in self.0.get_mut() {
            if *raw == sys::MPI_WIN_NULL {
                continue;
            }
            // A process that is in an epoch does not come: waiting for it is better than memory that it writes to.
            let met = meeting.wait();
            // SAFETY: `MPI_Win_free` asks for a window that is freed once and has no epoch: `end` makes null of
            // those that were freed, and an epoch ends with a function that borrows the window, within the
            // scope.
            if met.is_err() || unsafe { sys::MPI_Win_free(raw) } != sys::MPI_SUCCESS {
                // Others could go on writing to memory that is another's from now on.
                eprintln!("rmpi: MPI did not free a window of borrowed memory; aborting");
                std::process::abort();
            }
            meeting.end();
        }
    }
}

/// Where windows may borrow memory: see [`window_scope`].
#[derive(Debug)]
pub struct WindowScope<'scope, 'env: 'scope> {
    pub(super) windows: Windows,
    // Invariant, as `Scope` is.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
    _thread: PhantomData<*const ()>,
}

/// Runs a function that may make windows over borrowed memory, by [`Window::create`](super::Window::create), and frees those
/// that it left, be they forgotten, or left by a panic, in the order in which they were made.
///
/// A lifetime of the window alone would not do: `mem::forget` is safe, and the other processes could
/// write to memory that is no longer borrowed. For the same reason, the scope ends when all processes have come to
/// its end: where one leaves it by an error while others go on, all wait, as where one leaves a collective operation
/// out.
///
/// ```no_run
/// use rmpi::{Active, Assertion, Window};
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// // Two windows, on two rows of one matrix.
/// let mut matrix = vec![0.0_f64; 2 * 100];
/// let (first, second) = matrix.split_at_mut(100);
/// rmpi::window_scope(|scope| {
///     let mut first = Window::create(scope, world, first, None, Active)?;
///     let mut second = Window::create(scope, world, second, None, Active)?;
///     first.fence(Assertion::NONE, |epoch| epoch.process(0).put(&[1.0; 10], 0))?;
///     second.fence(Assertion::NONE, |epoch| epoch.process(0).put(&[2.0; 10], 0))
/// })?;
/// println!("{matrix:?}");
/// # Ok(()) }
/// ```
#[inline]
pub fn window_scope<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope WindowScope<'scope, 'env>) -> R,
{
    let scope = WindowScope {
        windows: Windows(RefCell::new(Vec::new())),
        _scope: PhantomData,
        _env: PhantomData,
        _thread: PhantomData,
    };
    // The drop of its list frees, also when the function panics.
    f(&scope)
}
