//! What other processes do with this one's part of a window, compared with what the program itself loads and stores there, which
//! only a sanitizer sees.
//!
//! Whoever uses another process's memory keeps that where all processes of the host see it (`accesses.rs`), and the target looks for
//! it there whenever it may have learned something from others, before it goes on. What has begun after a collective operation that
//! the target has been through, too, and whose process has known of nothing since, comes after nothing that the target has done since:
//! the sanitizer compares it with all of that. It also comes before nothing that the target does next, until its process has come to
//! the end of the epoch and the target may know so.
//!
//! Where something else may have made an order, nothing is said:
//!
//! * Operations of a process that others may have told something since.
//! * Where both processes have had a lock of the same part of a window, and one of them an exclusive one.
//! * Operations under locks in a program that calls `MPI_Win_sync`, as those do that wait for a word which another process changes.
//! * Operations that were over before the target had come to the collective operation, which others had left: it may know so.
//! * Where processes share memory or files.

use core::ffi::{c_int, c_void};

use mpi_tool_layer::Word as _;
use mpi_tool_layer::mpi_sys::{MPI_Aint, MPI_WIN_BASE, MPI_WIN_SIZE, MPI_Win, pmpi};
use rustc_hash::FxHashMap;

use super::{Window, with_all};
use crate::accesses::{self, Access, Collective, Epoch, Locks};
use crate::areas::Area;
use crate::knowledge;
use crate::layouts::Layout;
use crate::sanitizer::{self, Since, Ticket};

/// This process's part of a window.
#[derive(Debug)]
pub(super) struct Target {
    /// Its address.
    base: u64,
    /// How many bytes it has; `None` of a dynamic one, whose displacements are addresses.
    size: Option<u64>,
    /// Locks of any windows' parts that this process has had since the last collective operation.
    held: Locks,
    /// What the sanitizer was told of, by the numbers of the operations, and whether a fence ends it.
    told: FxHashMap<u64, (Ticket, bool)>,
    /// The last fence, as all know it.
    fence: Option<Collective>,
    /// The window is posted: the last collective operation before.
    posted_after: Option<Collective>,
}

impl Target {
    /// Of a window that was just made.
    pub(super) fn of(window: u64) -> Option<Self> {
        let attribute = |key: c_int| {
            let (mut value, mut is_there) = (core::ptr::null_mut::<c_void>(), 0);
            let place = core::ptr::from_mut(&mut value).cast();
            // SAFETY: the window must be valid: MPI has just made it in this call. The keys that are asked for are predefined: of
            // these, an address is written to the first place, and a number to the second one.
            let result = unsafe {
                pmpi::MPI_Win_get_attr(MPI_Win::from_word(window), key, place, &mut is_there)
            };
            (result == 0 && is_there != 0).then_some(value)
        };
        let base = attribute(MPI_WIN_BASE)?;
        let size = attribute(MPI_WIN_SIZE)?.cast::<MPI_Aint>();
        if size.is_null() {
            return None;
        }
        // SAFETY: a number must be there: the value of this key is the address of one, which stays while the window is there.
        let size = u64::try_from(unsafe { *size }).ok()?;
        Some(Self {
            base: base.addr() as u64,
            size: (!base.is_null()).then_some(size),
            held: Locks::default(),
            told: FxHashMap::default(),
            fence: None,
            posted_after: None,
        })
    }

    /// Bytes of the window, where this process has them; `None` of such as are not in it, which is another fault.
    fn area(&self, layout: &Layout) -> Option<Area> {
        let (first, end) = layout.hull()?;
        if first < 0 || self.size.is_some_and(|size| end as u64 > size) {
            return None;
        }
        Area::of_layout(layout.clone().moved(i64::try_from(self.base).ok()?)?)
    }

    /// MPI has accepted that this process posts the window.
    pub(super) fn posted(&mut self) {
        self.posted_after = Some(knowledge::passed());
        sanitizer::exposed();
    }

    /// The exposure is over, in which others have done this.
    pub(super) fn exposure_over(&mut self, found: &[(u32, Access)]) {
        let Some(after) = self.posted_after.take() else { return };
        let told = found.iter().filter(|(_, access)| access.since == Some(after));
        let tickets: Vec<_> =
            told.map(|(origin, access)| self.tell(*origin, access, Since::Exposed)).collect();
        tickets.into_iter().for_each(sanitizer::end);
    }

    fn tell(&self, origin: u32, access: &Access, since: Since) -> Ticket {
        if self.held.may_exclude(access.held) || accesses::may_tell_by_memory() {
            return Ticket::NONE;
        }
        let area = self.area(&access.layout);
        area.map_or(Ticket::NONE, |area| {
            sanitizer::incoming(
                origin,
                access.function,
                access.mark,
                &area,
                !access.only_reads,
                since,
            )
        })
    }

    /// A fence of this process is over.
    pub(super) fn fenced(&mut self) {
        self.told.retain(|_, (ticket, is_of_fence)| {
            if *is_of_fence {
                sanitizer::end(*ticket);
            }
            !*is_of_fence
        });
        self.fence = knowledge::latest();
        sanitizer::exposed();
    }

    /// The window is no more.
    pub(super) fn is_gone(&self) {
        self.told.values().for_each(|(ticket, _)| sanitizer::end(*ticket));
    }
}

impl Window {
    /// All locks of this process.
    pub(super) fn all_locks(windows: &FxHashMap<u64, Self>) -> Locks {
        let mut held = Locks::default();
        for window in windows.values() {
            let Some(common) = &window.common else { continue };
            let mut add =
                |rank: u32, is_alone| held.add(Locks::of(common.identity, rank, is_alone));
            for (rank, (_, is_alone)) in &window.locks {
                u32::try_from(*rank).into_iter().for_each(|rank| add(rank, *is_alone));
            }
            if window.locked_all.is_some() {
                (0..common.comm.size).for_each(|rank| add(rank, false));
            }
        }
        held
    }

    /// This process has been through a collective operation, with these locks.
    pub(super) fn passed(&mut self, held: Locks) {
        self.target.iter_mut().for_each(|target| target.held = held);
    }

    /// This process is about to go into a collective operation. What another one has done behind it, and is over, may be known to be so.
    fn enter(&mut self, passed: Collective) {
        let Some(target) = &mut self.target else { return };
        if let Some(common) = &self.common
            && let Ok(rank) = u32::try_from(common.comm.rank)
        {
            for one in accesses::at_target(common.identity, rank) {
                if one.is_over && one.access.since != Some(passed) {
                    target.told.entry(one.serial).or_default();
                }
            }
        }
    }

    /// What an operation of this process at itself uses of its part.
    pub(super) fn own_part(&self, operation: &super::Operation) -> Option<Area> {
        let target = self.target.as_ref()?;
        // What it does is over by a request, or not: the program may know.
        if operation.has_request {
            return None;
        }
        let own = i64::from(self.common.as_ref()?.comm.rank);
        let start = operation.displacement.checked_mul(i64::from(operation.unit?))?;
        let layout = operation.layout.as_ref().filter(|_| operation.target == own)?;
        target.area(&layout.clone().moved(start)?)
    }

    /// Tells of what others do that was not told yet, and ends what is over.
    fn look(&mut self, passed: Collective) {
        let Some(common) = &self.common else { return };
        let (Some(target), Ok(rank)) = (&mut self.target, u32::try_from(common.comm.rank)) else {
            return;
        };
        let found = accesses::at_target(common.identity, rank);
        target.told.retain(|serial, (ticket, _)| {
            let stays = found.iter().any(|one| one.serial == *serial);
            if !stays {
                sanitizer::end(*ticket);
            }
            stays
        });
        for one in found {
            let access = &one.access;
            if let Some((ticket, is_of_fence)) = target.told.get_mut(&one.serial) {
                if one.is_over && !*is_of_fence {
                    sanitizer::end(core::mem::take(ticket));
                }
                continue;
            }
            let is_of_fence = matches!(access.epoch, Epoch::Fence(_));
            let since = match access.since {
                Some(since) if since == passed => Since::Passed,
                // Not all had come to it when this process went on, but what others do comes after this one's own fence.
                Some(since) if is_of_fence && target.fence == Some(since) => Since::Exposed,
                _ => continue,
            };
            let may_be_ordered = match access.epoch {
                Epoch::Fence(number) => number != common.fences,
                Epoch::Started(_) => true,
                Epoch::Locked { .. } => sanitizer::may_await_words(),
            };
            if may_be_ordered {
                continue;
            }
            let mut ticket = target.tell(one.origin, access, since);
            if !is_of_fence && (one.is_over || access.ends_unseen) {
                sanitizer::end(core::mem::take(&mut ticket));
            }
            target.told.insert(one.serial, (ticket, is_of_fence));
        }
    }
}

/// This process has locked something.
pub(super) fn have_locked() {
    with_all(|windows| {
        let held = Window::all_locks(windows);
        let targets = windows.values_mut().filter_map(|window| window.target.as_mut());
        targets.for_each(|target| target.held.add(held));
    });
}

/// This process is about to go into a collective operation.
pub(super) fn enter() {
    let passed = knowledge::passed();
    with_all(|windows| windows.values_mut().for_each(|window| window.enter(passed)));
}

/// A call that may have brought something from others, or has locked something, has returned, and nothing has been made of it yet.
pub(super) fn look() {
    let passed = knowledge::passed();
    with_all(|windows| windows.values_mut().for_each(|window| window.look(passed)));
}
