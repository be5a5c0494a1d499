//! Epochs in which the targets take part: between fences, and by post and start.

use core::marker::PhantomData;

use rmpi_macros::wraps;

use super::super::error::{RmpiResult, check, output};
use super::super::group::Group;
use super::super::sys;
use super::super::window::{Active, Core, End, Ending, Window};
use super::object::{ALL, run};
use super::{Assertion, Epoch, Fence, Started};

impl<T, M> Window<'_, T, Active, M> {
    /// Runs a function in an epoch between two fences, in which all processes access all, also in
    /// their functions. C: `MPI_Win_fence` before, with `MPI_MODE_NOPRECEDE` and what is asserted,
    /// and after, with `MPI_MODE_NOSUCCEED`. Collective; both block.
    ///
    /// # Errors
    /// What the function says; [`ASSERT`](super::super::ErrorClass::ASSERT) if another assertion than
    /// [`nostore`](Assertion::nostore) and [`noput`](Assertion::noput) is given; what MPI says.
    ///
    /// ```no_run
    /// use rmpi::Assertion;
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Active>) -> rmpi::RmpiResult {
    /// let mut got = [0.0; 4];
    /// // SAFETY: all processes only read.
    /// let reads_only = unsafe { Assertion::noput() };
    /// window.fence(reads_only, |epoch| epoch.process(0).get(&mut got, 0))?;
    /// println!("{got:?} {:?}", window.local());
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_fence)]
    pub fn fence<'env, F, R>(&'env mut self, assertion: Assertion, f: F) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&'e Epoch<'e, 'env, T, Fence>) -> RmpiResult<R>,
    {
        // Said always: the fences of a window come in pairs, on all processes.
        let assert = assertion.within(3)? | sys::MPI_MODE_NOPRECEDE;
        // SAFETY: `MPI_Win_fence` asks for a window in no epoch: each borrows the window mutably, as this one
        // does. That none precedes is true on all processes, since their fences come in pairs; what else is
        // asserted was promised.
        check(unsafe { mpi.call(assert, self.core.raw) })?;
        run!(Epoch::new(&self.core, self.number(), ALL, End::Fence), f)
    }

    /// Runs a function while the processes of a group may access this one's memory. C: `MPI_Win_post`
    /// before, which does not block, and `MPI_Win_wait` after, until they have completed what they
    /// [start](Self::start).
    ///
    /// # Errors
    /// What the function says; [`ASSERT`](super::super::ErrorClass::ASSERT) if the assertion is another function's;
    /// [`GROUP`](super::super::ErrorClass::GROUP) if a process of the group has not the window; what MPI says.
    ///
    /// ```no_run
    /// use rmpi::Assertion;
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Active>, neighbours: &rmpi::Group<'_>) ->
    /// rmpi::RmpiResult { window.post(neighbours, Assertion::NONE, |exposure| {
    ///     exposure.start(neighbours, Assertion::NONE, |epoch| {
    ///         epoch.process(0).put(&[1.0], 0)?;
    ///         epoch.process(2).put(&[1.0], 1)
    ///     })
    /// })
    /// # }
    /// ```
    #[wraps(MPI_Win_post)]
    pub fn post<'env, F, R>(
        &'env mut self,
        group: &Group<'_>,
        assertion: Assertion,
        f: F,
    ) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&mut Exposure<'e, 'env, T>) -> RmpiResult<R>,
    {
        let assert = assertion.within(7)?;
        self.core.members(group)?;
        // SAFETY: `MPI_Win_post` asks for a group of processes that have the window, which `members` has
        // checked, and for a window in no epoch: each borrows the window mutably, as this one does. What is
        // asserted was promised.
        check(unsafe { mpi.call(group.as_raw(), assert, self.core.raw) })?;
        let number = self.number();
        let ending = Ending::new(self.core.raw, End::Wait);
        let mut exposure = Exposure { ending, core: &self.core, number, _kind: PhantomData };
        let result = f(&mut exposure);
        exposure.ending.finish()?;
        result
    }

    /// Runs a function in an epoch of access to the memory of a group's processes, which
    /// [post](Self::post) it. C: `MPI_Win_start` before, and `MPI_Win_complete` after. Either may
    /// block until they have posted.
    ///
    /// # Errors
    /// What the function says; [`ASSERT`](super::super::ErrorClass::ASSERT) if the assertion is another function's;
    /// [`GROUP`](super::super::ErrorClass::GROUP) if a process of the group has not the window; what MPI says.
    ///
    /// ```no_run
    /// use rmpi::Assertion;
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Active>, others: &rmpi::Group<'_>) -> rmpi::RmpiResult {
    /// window.start(others, Assertion::NONE, |epoch| epoch.process(0).put(&[1.0], 0))
    /// # }
    /// ```
    #[wraps(MPI_Win_start)]
    pub fn start<'env, F, R>(
        &'env mut self,
        group: &Group<'_>,
        assertion: Assertion,
        f: F,
    ) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&'e Epoch<'e, 'env, T, Started>) -> RmpiResult<R>,
    {
        let assert = assertion.within(4)?;
        let members = self.core.members(group)?;
        // SAFETY: `MPI_Win_start` asks for a group of processes that have the window, which `members` has
        // checked, and for a window in no epoch: each borrows the window mutably, as this one does. What is
        // asserted was promised.
        check(unsafe { mpi.call(group.as_raw(), assert, self.core.raw) })?;
        run!(Epoch::with_members(&self.core, self.number(), members), f)
    }
}

/// This process's memory is exposed to others: see [`Window::post`].
#[derive(Debug)]
pub struct Exposure<'e, 'env: 'e, T> {
    ending: Ending,
    pub(in super::super) core: &'env Core,
    number: u64,
    // Invariant, so that two cannot change places.
    _kind: PhantomData<(*mut T, &'e mut &'e ())>,
}

impl<'env, T> Exposure<'_, 'env, T> {
    /// As [`Window::start`], while this process's memory is exposed.
    ///
    /// # Errors
    /// As [`Window::start`].
    ///
    /// ```no_run
    /// use rmpi::Assertion;
    /// # fn example(exposure: &mut rmpi::Exposure<'_, '_, f64>, others: &rmpi::Group<'_>) -> rmpi::RmpiResult {
    /// exposure.start(others, Assertion::NONE, |epoch| epoch.process(0).put(&[1.0], 0))
    /// # }
    /// ```
    #[wraps(MPI_Win_start)]
    pub fn start<'here, F, R>(
        &'here mut self,
        group: &Group<'_>,
        assertion: Assertion,
        f: F,
    ) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&'e Epoch<'e, 'here, T, Started>) -> RmpiResult<R>,
    {
        let assert = assertion.within(4)?;
        let members = self.core.members(group)?;
        // SAFETY: `MPI_Win_start` asks for a group of processes that have the window, which `members` has
        // checked, and for a window in no epoch of access: each borrows the exposure mutably, as this one does.
        // What is asserted was promised.
        check(unsafe { mpi.call(group.as_raw(), assert, self.core.raw) })?;
        run!(Epoch::with_members(self.core, self.number, members), f)
    }

    /// Have all completed what they started? If so, nothing is left to wait for. C: `MPI_Win_test`.
    /// Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(exposure: &mut rmpi::Exposure<'_, '_, f64>) -> rmpi::RmpiResult {
    /// while !exposure.test()? {
    ///     println!("still working");
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_test)]
    pub fn test(&mut self) -> RmpiResult<bool> {
        if self.ending.ended.get() {
            return Ok(true);
        }
        // SAFETY: `MPI_Win_test` asks for a window that is exposed, which this one is until `ended` says
        // otherwise. It writes an int to what `output` lends.
        let flag = output(0, |flag| unsafe { mpi.call(self.core.raw, flag) })?;
        self.ending.ended.set(flag != 0);
        Ok(flag != 0)
    }
}
