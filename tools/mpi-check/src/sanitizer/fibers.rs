//! Operations of MPI's that are not complete, as fibers of the runtime's. A fiber is used again when its operation is over.
//!
//! What other processes do with this one's memory has two fibers of its own, which come after what this process did before its last
//! collective operation, and before it last exposed a window.

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

/// The fibers of others, behind those of this process.
const OF_OTHERS: usize = 2;
const ALL: usize = MOST + OF_OTHERS;

/// By these places, a fiber comes after what was before, and before what comes after.
static BEGINS: [AtomicU8; ALL] = [const { AtomicU8::new(0) }; ALL];
static ENDS: [AtomicU8; ALL] = [const { AtomicU8::new(0) }; ALL];

/// After what an operation of another process comes at the earliest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// After the last collective operation.
    Passed,
    /// After the last fence of this process, or after it posted a window.
    Exposed,
}

impl Since {
    const fn number(self) -> usize {
        MOST + self as usize
    }
}

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

#[derive(Clone, Copy)]
struct Fiber {
    handle: usize,
    /// How many operations it is.
    operations: usize,
}

struct Fibers {
    all: [Option<Fiber>; ALL],
    /// Those of this process that are no operation.
    free: Vec<usize>,
    /// Operations that are not over.
    tickets: FxHashMap<Ticket, Operation>,
    last: u64,
    /// What operations of this process's have used of its own windows since its last collective operation.
    own_parts: Vec<Area>,
}

/// How many of these are kept. If there are more, others' operations are not compared with anything.
const OWN_PARTS: usize = 256;

impl Default for Fibers {
    fn default() -> Self {
        Self {
            all: [None; ALL],
            // The first one is taken first.
            free: (0..MOST).rev().collect(),
            tickets: FxHashMap::default(),
            last: 0,
            own_parts: Vec::new(),
        }
    }
}

static FIBERS: Mutex<Option<Fibers>> = Mutex::new(None);

/// No other thread is a fiber meanwhile.
fn with<R>(action: impl FnOnce(&mut Fibers) -> R) -> R {
    action(FIBERS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

impl Fibers {
    fn get(&mut self, runtime: &Runtime, number: usize) -> &mut Fiber {
        self.all[number].get_or_insert_with(|| {
            let name =
                if number < MOST { c"operation of MPI" } else { c"operations of other ranks" };
            Fiber { handle: runtime.create(name), operations: 0 }
        })
    }

    /// A fiber that is no operation, or one that is, if there are too many.
    fn take(&mut self) -> usize {
        self.free.pop().unwrap_or(self.last as usize % MOST)
    }

    /// An operation by a fiber.
    fn insert(&mut self, runtime: &Runtime, number: usize, areas: &[(&Area, bool)]) -> Ticket {
        self.get(runtime, number).operations += 1;
        self.last += 1;
        let areas = areas.iter().map(|(area, writes)| ((*area).clone(), *writes)).collect();
        self.tickets.insert(Ticket(self.last), Operation { number, areas });
        Ticket(self.last)
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

    /// A fiber does this, after what was released for it.
    fn access(
        &mut self,
        runtime: &Runtime,
        number: usize,
        code: [usize; 2],
        areas: &[(&Area, bool)],
    ) {
        let action = || {
            runtime.acquire(&BEGINS[number]);
            access_by(runtime, code, areas);
        };
        let handle = self.get(runtime, number).handle;
        // SAFETY: the fiber is one of the runtime's, and no other thread's, as whoever is one holds the lock of all.
        unsafe { runtime.as_fiber(handle, action) };
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
        let number = fibers.take();
        // What this thread has done until now is before it.
        runtime.release(&BEGINS[number]);
        fibers.access(runtime, number, code, &areas);
        fibers.insert(runtime, number, &areas)
    })
}

/// This process has been through a collective operation, or exposed a window: what others do after that comes after what this thread
/// has done until now.
pub(super) fn passed(since: Since) {
    if let Some(runtime) = runtime::get() {
        // A fiber comes after what was before it was made.
        with(|fibers| {
            fibers.get(runtime, since.number());
            if since == Since::Passed {
                fibers.own_parts.clear();
            }
        });
        runtime.release(&BEGINS[since.number()]);
    }
}

/// See [`sanitizer::uses_own_part`](super::uses_own_part).
pub(super) fn uses_own_part(area: &Area) {
    with(|fibers| {
        if fibers.own_parts.len() < OWN_PARTS && !fibers.own_parts.contains(area) {
            fibers.own_parts.push(area.clone());
        }
    });
}

/// An operation of another process has begun at any time since then.
pub(super) fn incoming(code: [usize; 2], area: &Area, writes: bool, since: Since) -> Ticket {
    let Some(runtime) = runtime::get() else { return Ticket::NONE };
    let number = since.number();
    with(|fibers| {
        let areas = fibers.without_others(&[(area, writes)]);
        let is_own = fibers.own_parts.len() == OWN_PARTS
            || fibers.own_parts.iter().any(|own| own.may_meet(area));
        if areas.is_empty() || is_own {
            return Ticket::NONE;
        }
        fibers.access(runtime, number, code, &areas);
        fibers.insert(runtime, number, &areas)
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
        runtime.release(&BEGINS[number]);
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
        let fiber = fibers.get(runtime, number);
        fiber.operations -= 1;
        let Fiber { handle, operations } = *fiber;
        if operations == 0 && number < MOST {
            fibers.free.push(number);
        }
        let action = || {
            runtime.release(&ENDS[number]);
            // Another thread may learn from a later call that the operation is over, and finds it ended.
            super::release_to_calls(runtime);
        };
        // SAFETY: as in `access`.
        unsafe { runtime.as_fiber(handle, action) };
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
