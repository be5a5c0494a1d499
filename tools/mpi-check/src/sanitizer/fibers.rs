//! Operations of MPI's that are not complete, as fibers of the runtime's. A fiber is used again when its operation is over.

use core::sync::atomic::AtomicU8;
use std::sync::{Mutex, PoisonError};

use mpi_tool_layer::{FunctionId, Site};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::code;
use super::runtime::{self, Runtime};
use crate::areas::Area;

/// How many fibers there are at most. The runtime keeps a part of its history for each. Operations beyond that share them: when
/// one of those is over, the others of the fiber count as over, too, and what comes later is missed.
const MOST: usize = 64;

/// By these places, a fiber comes after what was before, and before what comes after.
static BEGINS: [AtomicU8; MOST] = [const { AtomicU8::new(0) }; MOST];
static ENDS: [AtomicU8; MOST] = [const { AtomicU8::new(0) }; MOST];

/// An operation that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Ticket(u64);

impl Ticket {
    /// Of an operation of which the runtime was not told.
    pub(crate) const NONE: Self = Self(0);
}

/// An operation that is not over.
struct Operation {
    /// Its fiber.
    number: usize,
    /// What it reads, and what it writes.
    areas: SmallVec<[(Area, bool); 2]>,
}

struct Fiber {
    handle: usize,
    /// How many operations it is.
    operations: usize,
}

#[derive(Default)]
struct Fibers {
    all: Vec<Fiber>,
    /// Those that are no operation.
    free: Vec<usize>,
    /// Operations that are not over.
    tickets: FxHashMap<Ticket, Operation>,
    last: u64,
}

static FIBERS: Mutex<Option<Fibers>> = Mutex::new(None);

/// No other thread is a fiber meanwhile.
fn with<R>(action: impl FnOnce(&mut Fibers) -> R) -> R {
    action(FIBERS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

impl Fibers {
    /// A fiber that is no operation, or one that is, if there are too many.
    fn take(&mut self, runtime: &Runtime) -> usize {
        let number = self.free.pop().unwrap_or_else(|| {
            if self.all.len() == MOST {
                return self.last as usize % MOST;
            }
            let handle = runtime.create(c"operation of MPI");
            self.all.push(Fiber { handle, operations: 0 });
            self.all.len() - 1
        });
        self.all[number].operations += 1;
        number
    }

    /// Those of some memory that no operation has, or that all only read. Two operations of MPI's are compared without the runtime,
    /// which would call it a race where both get the same to one place.
    fn without_others<'a>(&self, areas: &[(&'a Area, bool)]) -> SmallVec<[(&'a Area, bool); 2]> {
        let is_free = |(area, writes): &(&Area, bool)| {
            let mut others = self.tickets.values().flat_map(|operation| &operation.areas);
            !others.any(|(other, written)| (*writes || *written) && other.may_meet(area))
        };
        areas.iter().copied().filter(is_free).collect()
    }

    /// What this thread has done until now is before what the fiber does now, which is this.
    fn access(&self, runtime: &Runtime, number: usize, code: [usize; 2], areas: &[(&Area, bool)]) {
        runtime.release(&BEGINS[number]);
        let action = || {
            runtime.acquire(&BEGINS[number]);
            access_by(runtime, code, areas);
        };
        // SAFETY: the fiber is one of the runtime's, and no other thread's, as whoever is one holds the lock of all.
        unsafe { runtime.as_fiber(self.all[number].handle, action) };
    }
}

/// Reads and writes as the code of an operation.
fn access_by(runtime: &Runtime, code: [usize; 2], areas: &[(&Area, bool)]) {
    for (area, writes) in areas {
        // SAFETY: the memory is the program's: it is there, as `Area::is_there` has said before this was called.
        unsafe { runtime.access(code, area.blocks(), *writes) };
    }
}

/// The same as this thread.
pub(super) fn access(runtime: &Runtime, function: FunctionId, site: Site, areas: &[(&Area, bool)]) {
    let areas = with(|fibers| fibers.without_others(areas));
    access_by(runtime, code::of(function, site), &areas);
}

/// An operation has begun.
pub(super) fn begin(function: FunctionId, site: Site, areas: &[(&Area, bool)]) -> Ticket {
    let Some(runtime) = runtime::get() else { return Ticket::NONE };
    let code = code::of(function, site);
    with(|fibers| {
        let areas = fibers.without_others(areas);
        if areas.is_empty() {
            return Ticket::NONE;
        }
        let number = fibers.take(runtime);
        fibers.last += 1;
        let ticket = Ticket(fibers.last);
        fibers.access(runtime, number, code, &areas);
        let areas = areas.iter().map(|(area, writes)| ((*area).clone(), *writes)).collect();
        fibers.tickets.insert(ticket, Operation { number, areas });
        ticket
    })
}

/// Is it of an operation that is not over?
pub(super) fn has(ticket: Ticket) -> bool {
    with(|fibers| fibers.tickets.contains_key(&ticket))
}

/// It reads or writes more.
pub(super) fn add(ticket: Ticket, function: FunctionId, site: Site, areas: &[(&Area, bool)]) {
    let Some(runtime) = runtime::get() else { return };
    let code = code::of(function, site);
    with(|fibers| {
        let areas = fibers.without_others(areas);
        let Some(operation) = fibers.tickets.get_mut(&ticket) else { return };
        let number = operation.number;
        operation.areas.extend(areas.iter().map(|(area, writes)| ((*area).clone(), *writes)));
        fibers.access(runtime, number, code, &areas);
    });
}

/// An operation is over, as this thread knows now: its buffers are the program's again. Of one that is over already, nothing happens.
#[inline]
pub(crate) fn end(ticket: Ticket) {
    if ticket != Ticket::NONE {
        end_slowly(ticket);
    }
}

#[cold]
fn end_slowly(ticket: Ticket) {
    let Some(runtime) = runtime::get() else { return };
    with(|fibers| {
        let Some(Operation { number, .. }) = fibers.tickets.remove(&ticket) else { return };
        let fiber = &mut fibers.all[number];
        fiber.operations -= 1;
        if fiber.operations == 0 {
            fibers.free.push(number);
        }
        let action = || {
            runtime.release(&ENDS[number]);
            // Another thread may learn from a later call that the operation is over, and finds it ended.
            super::release_to_calls(runtime);
        };
        // SAFETY: as in `access`.
        unsafe { runtime.as_fiber(fiber.handle, action) };
        runtime.acquire(&ENDS[number]);
    });
}

/// MPI is over, and with it all operations.
pub(crate) fn end_all() {
    if super::is_on() {
        let all: Vec<Ticket> = with(|fibers| fibers.tickets.keys().copied().collect());
        all.into_iter().for_each(end);
    }
}
