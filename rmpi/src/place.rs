//! Where an error comes from: the function of MPI, and the process as its communicator knows it. One for both modes of
//! the library.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// What an error says of its origin.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Its name in C.
    pub(crate) function: &'static str,
    /// The communicator, as its name or its size tells, and this process's rank in it.
    pub(crate) member: Option<(String, i32)>,
}

/// How many places of communicators are kept, since errors that are copied cannot own them: programs that give each
/// of many communicators a name have more.
const MOST: usize = 1024;

static KNOWN: Mutex<Option<HashSet<&'static Place>>> = Mutex::new(None);

impl Place {
    pub(crate) const fn of(function: &'static str) -> Self {
        Self { function, member: None }
    }

    /// The same function, called by a process of a communicator.
    #[cold]
    pub(crate) fn by(&'static self, communicator: String, rank: i32) -> &'static Self {
        let place = Self { function: self.function, member: Some((communicator, rank)) };
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if let Some(place) = known.get(&place) {
            return place;
        }
        if known.len() >= MOST {
            return self;
        }
        let place: &'static Self = Box::leak(Box::new(place));
        known.insert(place);
        place
    }
}

/// An error that can say where it comes from; it does not forget what it knows already.
pub(crate) trait Placed {
    fn at(&mut self, place: &'static Place);
}

/// Who called the function: communicators and processes have a method of this name of their own, which also says who
/// they are.
pub(crate) trait Caller {
    #[cold]
    fn blame<E: Placed>(&self, error: &mut E, place: &'static Place) {
        error.at(place);
    }
}

impl<T: ?Sized> Caller for T {}
