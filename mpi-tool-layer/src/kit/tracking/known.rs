//! The communicators that a process has known, by numbers for keys of tables. What is known of one stays after it is
//! freed, as reports tell of it. All can be read without a lock and without an allocation, in a signal handler, too.

use core::fmt;
use core::sync::atomic::{
    AtomicPtr, AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use mpi_sys::MPI_THREAD_MULTIPLE;

use crate::host::world;
use crate::{Part, PartKind, Parts, RowKey};

/// So many communicators a process tells apart; further ones are [`TrackedComm::OTHERS`].
pub(super) const COMMUNICATORS: usize = 4096;

/// A communicator of the application, as a number that stays its own when it has been freed: a part of a
/// [key](crate::RowKey). [`Communicators`](crate::Communicators) tells which one a call has.
///
/// Numbers differ from rank to rank. A merged report has communicators by an identity, which all ranks compute alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrackedComm(u32);

impl TrackedComm {
    /// Of a call that has no communicator.
    pub const NONE: Self = Self(0);
    /// `MPI_COMM_WORLD`.
    pub const WORLD: Self = Self(1);
    /// `MPI_COMM_SELF`. Each rank has its own; reports make no difference between them.
    pub const SELF: Self = Self(2);
    /// What `MPI_Comm_get_parent` returns.
    pub const PARENT: Self = Self(3);
    /// One of which nobody has seen how it was made.
    pub const UNKNOWN: Self = Self(u32::MAX - 1);
    /// All for which there were no numbers.
    pub const OTHERS: Self = Self(u32::MAX);

    /// The number, for a key: 0 of [`NONE`](Self::NONE).
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The communicator of a [number](Self::number).
    #[inline(always)]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// What is known of it; `None` of those that are not told apart.
    pub fn known(self) -> Option<KnownComm<'static>> {
        let Entry { identity, is_counted, sizes, name } = entry(self.0)?;
        let name = name.get().map_or("", |name| name);
        Some(KnownComm { identity: *identity, is_counted: *is_counted, name, sizes: *sizes })
    }

    /// The greatest number that one may have.
    pub(crate) fn count() -> u32 {
        NEXT.load(Relaxed).saturating_sub(1).min(COMMUNICATORS as u32 - 1)
    }

    /// Gives the communicator a name, unless it has one of the application's.
    pub(super) fn set_name(self, name: &str) {
        if let Some(entry) = entry(self.0).filter(|_| !name.is_empty()) {
            // The first name stays: a report may be reading it.
            let _ = entry.name.set(name.into());
        }
    }

    /// One of the predefined communicators, of which the sizes are known by now.
    pub(super) fn predefined(self, sizes: [u32; 2]) -> Self {
        let Some(slot) = ENTRIES.get(self.0 as usize) else { return Self::OTHERS };
        if slot.load(Acquire).is_null() {
            let name = match self {
                Self::WORLD => "MPI_COMM_WORLD",
                Self::SELF => "MPI_COMM_SELF",
                _ => "MPI_Comm_get_parent",
            };
            let name = OnceLock::from(Box::<str>::from(name));
            let entry = Entry { identity: self.0.into(), is_counted: false, sizes, name };
            let entry = Box::into_raw(Box::new(entry));
            if slot.compare_exchange(core::ptr::null_mut(), entry, AcqRel, Relaxed).is_err() {
                // SAFETY: the box must not be used any more: another thread was first, and nobody got this one.
                drop(unsafe { Box::from_raw(entry) });
            }
        }
        self
    }

    /// The communicator with an identity. It gets a number if it is new here and if there are numbers left.
    pub(super) fn with_identity(identity: u64, is_counted: bool, sizes: [u32; 2]) -> Self {
        static NUMBERS: Mutex<Option<HashMap<u64, u32>>> = Mutex::new(None);
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = numbers.get_or_insert_default();
        if let Some(number) = numbers.get(&identity) {
            return Self(*number);
        }
        let number = NEXT.load(Relaxed);
        let Some(slot) = ENTRIES.get(number as usize) else { return Self::OTHERS };
        let entry = Entry { identity, is_counted, sizes, name: OnceLock::new() };
        slot.store(Box::into_raw(Box::new(entry)), Release);
        NEXT.store(number + 1, Relaxed);
        numbers.insert(identity, number);
        Self(number)
    }
}

/// A row for each communicator.
impl RowKey for TrackedComm {
    const PARTS: &'static [Part] = &[Part { name: "communicator", kind: PartKind::Communicator }];
    const COARSE: usize = 1;

    #[inline(always)]
    fn parts(self) -> Parts {
        [self.0, 0, 0, 0, 0]
    }

    fn coarse(_: Parts) -> Parts {
        Self::OTHERS.parts()
    }
}

/// What a report tells of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownComm<'a> {
    /// The same on all ranks of the communicator, and on no rank that of another communicator.
    pub identity: u64,
    /// It is between two groups, or made of such a one: told from others of the same groups by how many there were before.
    pub is_counted: bool,
    /// The name that the application gave it first, or that MPI has for it; empty if there is none.
    pub name: &'a str,
    /// How many processes its group has, and the other group if there is one, or 0.
    pub sizes: [u32; 2],
}

impl KnownComm<'_> {
    /// Is the identity no guess? Where several threads may make communicators at once (`MPI_THREAD_MULTIPLE`), one that is
    /// [counted](Self::is_counted) may have changed places with another one, from rank to rank: the two sides do not know each
    /// other's parent. To be asked between `MPI_Init` and `MPI_Finalize`.
    pub fn is_certain(&self) -> bool {
        !self.is_counted || world::thread_level() != Some(MPI_THREAD_MULTIPLE)
    }

    /// Is it `MPI_COMM_WORLD`?
    pub fn is_world(&self) -> bool {
        self.identity == u64::from(TrackedComm::WORLD.0)
    }
}

/// `columns (4 ranks)`, or the first digits of the identity where nobody has named it.
impl fmt::Display for KnownComm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            "" => write!(f, "communicator {:08x}", self.identity >> 32)?,
            name => f.write_str(name)?,
        }
        match self.sizes {
            [1, 0] => f.write_str(" (1 rank)"),
            [size, 0] => write!(f, " ({size} ranks)"),
            [size, other] => write!(f, " ({size} and {other} ranks)"),
        }
    }
}

/// What is kept of a communicator.
struct Entry {
    identity: u64,
    is_counted: bool,
    sizes: [u32; 2],
    name: OnceLock<Box<str>>,
}

/// By number; null of those that are not taken. Entries are never freed.
static ENTRIES: [AtomicPtr<Entry>; COMMUNICATORS] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; COMMUNICATORS];

/// The next number.
static NEXT: AtomicU32 = AtomicU32::new(TrackedComm::PARENT.0 + 1);

/// What is kept of a number.
fn entry(number: u32) -> Option<&'static Entry> {
    let entry = ENTRIES.get(number as usize)?.load(Acquire);
    // SAFETY: the pointer must be null or of an entry that stays: only boxes that are never freed are put there.
    unsafe { entry.as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In one test, as the numbers are the process's.
    #[test]
    fn communicators_have_numbers_that_stay() {
        let world = TrackedComm::WORLD.predefined([4, 0]);
        assert_eq!(TrackedComm::WORLD.predefined([5, 0]), world);
        let known = world.known().unwrap();
        assert_eq!((known.name, known.sizes), ("MPI_COMM_WORLD", [4, 0]));
        assert_eq!(known.to_string(), "MPI_COMM_WORLD (4 ranks)");
        assert!(known.is_world());

        let rows = TrackedComm::with_identity(0xabcd_ef01_2345_6789, false, [2, 0]);
        let pairs = TrackedComm::with_identity(7, false, [2, 3]);
        assert_eq!(TrackedComm::with_identity(0xabcd_ef01_2345_6789, false, [2, 0]), rows);
        assert_ne!(rows, pairs);
        assert!(pairs.number() <= TrackedComm::count());
        assert_eq!(rows.known().unwrap().to_string(), "communicator abcdef01 (2 ranks)");
        rows.set_name("");
        rows.set_name("rows");
        rows.set_name("later");
        assert_eq!(rows.known().unwrap().to_string(), "rows (2 ranks)");
        assert_eq!(pairs.known().unwrap().to_string(), "communicator 00000000 (2 and 3 ranks)");

        for none in [TrackedComm::NONE, TrackedComm::UNKNOWN, TrackedComm::OTHERS] {
            assert_eq!(none.known(), None);
        }
        let mut identity = 100;
        while TrackedComm::with_identity(identity, false, [1, 0]) != TrackedComm::OTHERS {
            identity += 1;
        }
        assert_eq!(TrackedComm::count() as usize, COMMUNICATORS - 1);
        assert_eq!(TrackedComm::with_identity(7, false, [2, 3]), pairs);
    }
}
