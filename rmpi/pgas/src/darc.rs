//! Distributed reference counts.

use core::any::Any;
use core::fmt;
use core::ops::Deref;
use std::collections::BTreeMap;
use std::rc::Rc;

use rmpi::{MpiDatatype, MpiOp};

use crate::{Error, Team};

/// What a team keeps of its distributed values.
#[derive(Default)]
pub(crate) struct Registry {
    values: BTreeMap<u64, Rc<dyn Any>>,
    next: u64,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("values", &self.values.len()).finish()
    }
}

/// A value on each process of a team, which lives as long as any process uses it: until a
/// [`Team::collect`] finds that none does, or the team ends.
///
/// It derefs to this process's value. Its [`id`](Self::id) can be sent in messages.
pub struct Darc<T> {
    value: Rc<T>,
    id: u64,
}

/// The name of a [`Darc`] in messages. It does not keep the value, but no value is collected while messages are on
/// their way, since [`Team::collect`] is collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, MpiDatatype)]
pub struct DarcId(u64);

impl<T> Clone for Darc<T> {
    fn clone(&self) -> Self {
        Self { value: Rc::clone(&self.value), id: self.id }
    }
}

impl<T> Deref for Darc<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Darc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Darc").field("id", &self.id).field("value", &self.value).finish()
    }
}

impl<T> Darc<T> {
    /// Its name in messages, with which the receiver finds its own value.
    pub const fn id(&self) -> DarcId {
        DarcId(self.id)
    }

    /// How many there are of it on this process.
    pub fn local_count(&self) -> usize {
        // One is the registry's.
        Rc::strong_count(&self.value) - 1
    }
}

impl Team<'_> {
    /// A value on each process, of one name. Collective, and in one order on all processes.
    ///
    /// # Errors
    /// [`Error::Differs`] if the order is not the same, and what MPI says.
    pub fn darc<T: 'static>(&self, value: T) -> Result<Darc<T>, Error> {
        let id = self.darcs.borrow().next;
        self.agree("the order of distributed values", id)?;
        let value = Rc::new(value);
        let mut registry = self.darcs.borrow_mut();
        registry.next += 1;
        registry.values.insert(id, value.clone());
        Ok(Darc { value, id })
    }

    /// This process's value of a name that came in a message.
    ///
    /// # Errors
    /// [`Error::NoSuchDarc`] if it was collected, or has another type.
    pub fn find_darc<T: 'static>(&self, DarcId(id): DarcId) -> Result<Darc<T>, Error> {
        let value = self.darcs.borrow().values.get(&id).cloned().ok_or(Error::NoSuchDarc(id))?;
        let value = value.downcast().map_err(|_| Error::NoSuchDarc(id))?;
        Ok(Darc { value, id })
    }

    /// Drops the values that no process uses any more, and returns how many. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn collect(&self) -> Result<usize, Error> {
        let ids: Vec<u64> = self.darcs.borrow().values.keys().copied().collect();
        if ids.is_empty() {
            self.barrier()?;
            return Ok(0);
        }
        let mut uses: Vec<u8> = {
            let registry = self.darcs.borrow();
            registry.values.values().map(|value| u8::from(Rc::strong_count(value) > 1)).collect()
        };
        let communicator = self.domain().communicator();
        communicator.allreduce_in_place(&mut uses[..], MpiOp::MAX)?;
        let unused = ids.into_iter().zip(uses).filter(|(_, uses)| *uses == 0);
        // Dropped without a borrow of the registry, since a drop may use the team.
        let dropped: Vec<_> =
            unused.filter_map(|(id, _)| self.darcs.borrow_mut().values.remove(&id)).collect();
        Ok(dropped.len())
    }
}
