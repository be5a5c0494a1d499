//! Distributed arrays.

use core::marker::PhantomData;

use rmpi::MpiOp;

use crate::layout::Distribution;
use crate::{Atomic, Element, Error, Indices, Kind, Layout, LocalLock, ReadOnly, Team, Writable};

/// An array whose elements are distributed over the processes of a team. `K` says what it allows: [`ReadOnly`],
/// [`Atomic`] or [`LocalLock`].
///
/// While the program changes its part, nobody else can have it:
///
/// ```compile_fail,E0499
/// fn example(mut array: rmpi_pgas::Array<'_, u64, rmpi_pgas::Atomic>) {
///     let (one, other) = (array.local_mut(), array.local_mut());
///     one[0] = other[0];
/// }
/// ```
///
/// An array whose kind was changed is used by its new value only:
///
/// ```compile_fail,E0382
/// # fn example(mut array: rmpi_pgas::Array<'_, u64, rmpi_pgas::Atomic>) -> Result<(), rmpi_pgas::Error> {
/// let read_only = array.into_read_only()?;
/// array.batch_add(&[0], 1)
/// # }
/// ```
///
/// and one that is read-only does not change:
///
/// ```compile_fail,E0599
/// # fn example(mut array: rmpi_pgas::Array<'_, u64, rmpi_pgas::ReadOnly>) {
/// array.local_mut()[0] = 1;
/// # }
/// ```
#[derive(Debug)]
pub struct Array<'t, T, K> {
    pub(crate) team: &'t Team<'t>,
    pub(crate) distribution: Distribution,
    pub(crate) part: Vec<T>,
    kind: PhantomData<K>,
}

impl<'t, T: Element, K: Kind> Array<'t, T, K> {
    /// An array of default values, zeros for numbers. Collective.
    ///
    /// # Errors
    /// [`Error::Differs`] if processes want different arrays, [`Error::TooLong`], and what MPI says.
    pub fn new(team: &'t Team<'t>, length: usize, layout: Layout) -> Result<Self, Error> {
        team.agree("the length of an array", length as u64)?;
        team.agree("the layout of an array", layout as u64)?;
        let distribution = Distribution::new(layout, length, team.size());
        let longest = distribution.length_of(0);
        if u32::try_from(longest).is_err() {
            return Err(Error::TooLong(longest));
        }
        let part = vec![T::default(); distribution.length_of(team.rank())];
        Ok(Self { team, distribution, part, kind: PhantomData })
    }

    /// An array whose elements a function makes of their indices. Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_fn(
        team: &'t Team<'t>,
        length: usize,
        layout: Layout,
        mut element: impl FnMut(usize) -> T,
    ) -> Result<Self, Error> {
        let mut array = Self::new(team, length, layout)?;
        let (distribution, rank) = (array.distribution, team.rank());
        for (place, value) in array.part.iter_mut().enumerate() {
            *value = element(distribution.index(rank, place));
        }
        Ok(array)
    }

    /// How many elements it has, on all processes together.
    pub const fn len(&self) -> usize {
        self.distribution.length
    }

    /// Has it no elements?
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the elements are distributed.
    pub const fn layout(&self) -> Layout {
        self.distribution.layout()
    }

    /// The team.
    pub const fn team(&self) -> &'t Team<'t> {
        self.team
    }

    /// The elements of this process.
    pub fn local(&self) -> &[T] {
        &self.part
    }

    /// The process that has an element, and its place in the part there.
    pub fn find(&self, index: usize) -> Option<(usize, usize)> {
        self.distribution.find(index)
    }

    /// The index of an element of this process.
    pub fn global_index(&self, place: usize) -> Option<usize> {
        (place < self.part.len()).then(|| self.distribution.index(self.team.rank(), place))
    }

    /// The array of this part.
    pub(crate) const fn of_part(
        team: &'t Team<'t>,
        distribution: Distribution,
        part: Vec<T>,
    ) -> Self {
        Self { team, distribution, part, kind: PhantomData }
    }

    /// The same array, and another kind from now on. Collective.
    fn convert<L: Kind>(self) -> Result<Array<'t, T, L>, Error> {
        self.team.barrier()?;
        let Self { team, distribution, part, .. } = self;
        Ok(Array { team, distribution, part, kind: PhantomData })
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

    /// Refuses indices that are none, on all processes. Collective.
    pub(crate) fn check(&self, indices: impl Indices, values: Option<usize>) -> Result<(), Error> {
        let count = indices.count();
        let mine = indices.check(&self.distribution).and_then(|()| match values {
            Some(values) if values != count => Err(Error::Lengths { indices: count, values }),
            _ if u32::try_from(count).is_err() => Err(Error::TooLong(count)),
            _ => Ok(()),
        });
        self.team.all_right(mine)
    }

    /// The operand of each process for all of its indices, if each has such a one. Collective.
    pub(crate) fn singles(&self, mine: Option<T>) -> Result<Option<Vec<T>>, Error> {
        let communicator = self.team.domain().communicator();
        let mut without = 0_u64;
        communicator.allreduce(&u64::from(mine.is_none()), &mut without, MpiOp::SUM)?;
        if without > 0 {
            return Ok(None);
        }
        let mut singles = vec![T::default(); self.team.size()];
        communicator.allgather(&mine.unwrap_or_default(), &mut singles[..])?;
        Ok(Some(singles))
    }
}

impl<T: Element, K: Writable> Array<'_, T, K> {
    /// The elements of this process, to change.
    pub fn local_mut(&mut self) -> &mut [T] {
        &mut self.part
    }
}
