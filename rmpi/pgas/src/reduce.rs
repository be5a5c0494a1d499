//! Reductions.

use rmpi::MpiOp;

use crate::{Array, Element, Error, Kind, Number, Team};

/// Combines what the processes have. Collective.
pub(crate) fn combine<T: Element>(
    team: &Team<'_>,
    mine: Option<T>,
    combine: impl FnMut(T, T) -> T,
) -> Result<Option<T>, Error> {
    let communicator = team.domain().communicator();
    let (mut present, mut values) = (vec![0_u8; team.size()], vec![T::default(); team.size()]);
    communicator.allgather(&u8::from(mine.is_some()), &mut present[..])?;
    communicator.allgather(&mine.unwrap_or_default(), &mut values[..])?;
    let values = present.into_iter().zip(values).filter(|(present, _)| *present != 0);
    Ok(values.map(|(_, value)| value).reduce(combine))
}

impl<T: Element, K: Kind> Array<'_, T, K> {
    /// Combines all elements, on each process first; `None` if there are none. The function has to be associative
    /// and commutative, and all processes get the same. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn reduce(&self, mut function: impl FnMut(T, T) -> T) -> Result<Option<T>, Error> {
        let mine = self.local().iter().copied().reduce(&mut function);
        combine(self.team, mine, function)
    }
}

impl<T: Number, K: Kind> Array<'_, T, K> {
    /// The sum of all elements. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn sum(&self) -> Result<T, Error> {
        Ok(self.reduce(T::add)?.unwrap_or(T::ZERO))
    }

    /// The product of all elements. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn product(&self) -> Result<T, Error> {
        Ok(self.reduce(T::mul)?.unwrap_or(T::ONE))
    }

    /// The least element. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn min(&self) -> Result<Option<T>, Error> {
        self.reduce(|a, b| if b < a { b } else { a })
    }

    /// The greatest element. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn max(&self) -> Result<Option<T>, Error> {
        self.reduce(|a, b| if b > a { b } else { a })
    }
}

/// The sum over the processes. Collective.
pub(crate) fn total(team: &Team<'_>, mine: u64) -> Result<u64, Error> {
    let mut sum = 0;
    team.domain().communicator().allreduce(&mine, &mut sum, MpiOp::SUM)?;
    Ok(sum)
}
