//! Arrays whose elements nobody guards.
#![allow(
    unsafe_code,
    reason = "functions whose callers promise that accesses do not conflict are declared unsafe; there is no unsafe block"
)]

use core::ops::Range;

use rmpi::{Assertion, LockType, Passive, Window};

use crate::layout::Distribution;
use crate::{Array, Atomic, Element, Error, Kind, LocalLock, ReadOnly, Team};

/// An array whose elements each process reads and writes by itself, without the others, at any time: one-sided, by
/// `MPI_Put` and `MPI_Get`. Nothing orders the accesses of different processes, so that who accesses elements has to
/// know that nobody else does: that is what its unsafe functions ask for. Feature for feature, the other kinds need no
/// `unsafe`, and their batches are faster for scattered elements.
///
/// Its memory is a window of MPI's. Dropping it is collective, and so are the changes to and from other kinds.
///
/// ```no_run
/// # use rmpi_pgas::{Array, Atomic, Error, Layout, Team};
/// # fn example(team: &Team<'_>) -> Result<(), Error> {
/// let array = Array::<u64, Atomic>::new(team, 100 * team.size(), Layout::Block)?;
/// let mut array = array.into_unsafe()?;
/// let next = (team.rank() + 1) % team.size();
/// // SAFETY: `put` requires that nobody else accesses these elements meanwhile: each process writes to the part of
/// // the next one, and `barrier` waits for all of them.
/// unsafe { array.put(100 * next, &[7; 100])? };
/// team.barrier()?;
/// let array = array.into_read_only()?;
/// assert_eq!(array.sum()?, 700 * team.size() as u64);
/// # Ok(()) }
/// ```
///
/// Only unsafe code can:
///
/// ```compile_fail,E0133
/// # fn example(mut array: rmpi_pgas::UnsafeArray<'_, u64>) -> Result<(), rmpi_pgas::Error> {
/// array.put(0, &[1])
/// # }
/// ```
#[derive(Debug)]
pub struct UnsafeArray<'t, T> {
    team: &'t Team<'t>,
    distribution: Distribution,
    window: Window<'t, T, Passive>,
}

impl<'t, T: Element, K: Kind> Array<'t, T, K> {
    /// The array, whose elements nobody guards. Collective. C: `MPI_Win_allocate`.
    ///
    /// # Errors
    /// What MPI says.
    pub fn into_unsafe(self) -> Result<UnsafeArray<'t, T>, Error> {
        let Self { team, distribution, part, .. } = self;
        let communicator = team.domain().communicator();
        let mut window = Window::allocate(communicator, part.len(), None, Passive)?;
        window.lock_local(|memory| memory.copy_from_slice(&part))?;
        // Before others access it.
        team.barrier()?;
        Ok(UnsafeArray { team, distribution, window })
    }
}

impl<'t, T: Element> UnsafeArray<'t, T> {
    /// How many elements it has, on all processes together.
    pub const fn len(&self) -> usize {
        self.distribution.length
    }

    /// Has it no elements?
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The processes that have elements of a range: each with the positions in the range of its elements, of which
    /// one follows the other every so many, and with the first one's place there.
    fn parts(&self, range: &Range<usize>) -> Result<Vec<Part>, Error> {
        let length = self.len();
        if range.start >= range.end {
            return Ok(Vec::new());
        }
        if range.end > length {
            return Err(Error::NoSuchElement { index: range.end - 1, length });
        }
        let step = self.distribution.step();
        let mut parts: Vec<Part> = Vec::new();
        let mut first = range.start;
        while first < range.end && (step == 1 || parts.len() < step) {
            let Some((process, place)) = self.distribution.find(first) else { break };
            // As many as there are on that process from there on.
            let there = self.distribution.length_of(process) - place;
            let count = there.min((range.end - first).div_ceil(step));
            parts.push(Part { process, place, position: first - range.start, count });
            first += if step == 1 { count } else { 1 };
        }
        Ok(parts)
    }

    /// Writes elements from an index on. They are there when the function returns. Not collective. C: `MPI_Put` in an
    /// epoch of `MPI_Win_lock`, for each process that has some of them.
    ///
    /// # Safety
    /// No other process, and no other thread, accesses these elements meanwhile.
    ///
    /// # Errors
    /// [`Error::NoSuchElement`], before anything is written, and what MPI says.
    pub unsafe fn put(&mut self, at: usize, values: &[T]) -> Result<(), Error> {
        let step = self.distribution.step();
        for part in self.parts(&(at..at.saturating_add(values.len())))? {
            let of_process: Vec<T> =
                values[part.position..].iter().step_by(step).take(part.count).copied().collect();
            self.window.lock(LockType::Shared, part.process, Assertion::NONE, |epoch| {
                epoch.target().put(&of_process, part.place)
            })?;
        }
        Ok(())
    }

    /// Reads the elements of a range. Not collective. C: `MPI_Get` in an epoch of `MPI_Win_lock`, for each process
    /// that has some of them.
    ///
    /// # Safety
    /// No other process, and no other thread, writes to these elements meanwhile.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub unsafe fn get(&mut self, range: Range<usize>) -> Result<Vec<T>, Error> {
        let (parts, step) = (self.parts(&range)?, self.distribution.step());
        let mut values = vec![T::default(); range.len()];
        for part in parts {
            let mut of_process = vec![T::default(); part.count];
            self.window.lock(LockType::Shared, part.process, Assertion::NONE, |epoch| {
                epoch.target().get(&mut of_process, part.place)
            })?;
            let places = values[part.position..].iter_mut().step_by(step);
            places.zip(of_process).for_each(|(place, value)| *place = value);
        }
        Ok(values)
    }

    /// Runs a function on the elements of this process, which no other accesses meanwhile: it waits. So it needs no
    /// promise. C: `MPI_Win_lock` with `MPI_LOCK_EXCLUSIVE`, and `MPI_Win_unlock`.
    ///
    /// # Errors
    /// What MPI says.
    pub fn with_local<R>(&mut self, function: impl FnOnce(&mut [T]) -> R) -> Result<R, Error> {
        Ok(self.window.lock_local(function)?)
    }

    fn convert<K: Kind>(mut self) -> Result<Array<'t, T, K>, Error> {
        // No process accesses it any more.
        self.team.barrier()?;
        let part = self.window.lock_local(|memory| memory.to_vec())?;
        let Self { team, distribution, window } = self;
        window.free()?;
        Ok(Array::of_part(team, distribution, part))
    }

    /// The array, to be only read. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn into_read_only(self) -> Result<Array<'t, T, ReadOnly>, Error> {
        self.convert()
    }

    /// The array, whose elements change one at a time. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn into_atomic(self) -> Result<Array<'t, T, Atomic>, Error> {
        self.convert()
    }

    /// The array, whose parts change as a whole. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn into_local_lock(self) -> Result<Array<'t, T, LocalLock>, Error> {
        self.convert()
    }
}

/// Elements of a range that one process has.
#[derive(Clone, Copy, Debug)]
struct Part {
    process: usize,
    place: usize,
    position: usize,
    count: usize,
}
