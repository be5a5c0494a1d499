//! What communicators are called, for those who look for deadlocks: each process writes down those that it uses, in memory that the
//! ranks of the host share.

use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};

use mpi_facts::{Shape, Timing};
use mpi_tool_layer::{FunctionId, Site};

use crate::comms::{self, Comm};
use crate::places::{self, Mark};
use crate::shared::{Text, shared};

/// How many communicators are known.
const MOST: usize = 256;

/// Zeros are an empty table.
#[repr(C)]
pub(crate) struct Table([Entry; MOST]);

#[repr(C)]
struct Entry {
    /// 0 if the place is free.
    identity: AtomicU64,
    size: AtomicU32,
    /// It is a window or a file, of which a communicator may have several.
    is_object: AtomicBool,
    /// How many processes the other group of an intercommunicator has; 0 of an intracommunicator.
    others: AtomicU32,
    /// What has made it; 0 if that is not known.
    function: AtomicU32,
    module: AtomicU64,
    offset: AtomicU64,
    /// A bit for each of the first 64 ranks of the world that is in it; 0 if others are, too.
    members: AtomicU64,
    name: Text<56>,
}

fn find(identity: u64) -> Option<&'static Entry> {
    shared().names.0.iter().find(|entry| entry.identity.load(Acquire) == identity)
}

/// A process uses a communicator, or an object of its processes. `made`: by which call it was made, and where.
#[cold]
pub(crate) fn note(comm: &Comm, made: Option<(FunctionId, Site)>) {
    if find(comm.identity).is_some() {
        return;
    }
    let is_ours =
        |entry: &&Entry| entry.identity.compare_exchange(0, comm.identity, AcqRel, Acquire).is_ok();
    let Some(entry) = shared().names.0.iter().find(is_ours) else { return };
    if let Some((function, site)) = made {
        let mark = Mark::of(site);
        entry.module.store(mark.module, Relaxed);
        entry.offset.store(mark.offset, Relaxed);
        entry.function.store(function as u32 + 1, Relaxed);
    }
    entry.size.store(comm.size, Relaxed);
    entry.is_object.store(comm.is_object, Relaxed);
    entry.others.store(if comm.is_inter { comm.peer_count() } else { 0 }, Relaxed);
    entry.members.store(comm.members().unwrap_or(0), Relaxed);
    entry.name.set(&comm.name);
}

/// A persistent collective operation was made on a communicator: to those who wait for it, it is another one. Only one half of
/// the table is for them.
pub(crate) fn note_persistent(identity: u64, comm: &Comm, function: FunctionId, site: Site) {
    if find(identity).is_some() {
        return;
    }
    let is_ours =
        |entry: &&Entry| entry.identity.compare_exchange(0, identity, AcqRel, Acquire).is_ok();
    let Some(entry) = shared().names.0[MOST / 2..].iter().find(is_ours) else { return };
    let mark = Mark::of(site);
    entry.module.store(mark.module, Relaxed);
    entry.offset.store(mark.offset, Relaxed);
    entry.function.store(function as u32 + 1, Relaxed);
    entry.size.store(comm.size, Relaxed);
    entry.name.set(&comm.describe());
}

/// What has made a persistent operation, and where; `None` of anything else.
pub(crate) fn persistent(identity: u64) -> Option<(FunctionId, Mark)> {
    let entry = find(identity)?;
    let function = entry.function.load(Relaxed).checked_sub(1)?;
    let function = FunctionId::from_index(function as usize)?;
    let mark = Mark { module: entry.module.load(Relaxed), offset: entry.offset.load(Relaxed) };
    (Shape::of(function).timing == Timing::Persistent).then_some((function, mark))
}

/// The application has given one a name.
pub(crate) fn renamed(identity: u64, name: &str) {
    if let Some(entry) = find(identity) {
        entry.name.set(name);
    }
}

/// ` on rows`, or what else is known of it; empty if nothing is.
pub(crate) fn on(identity: u64) -> String {
    let Some(entry) = find(identity) else { return String::new() };
    let name = entry.name.get();
    if !name.is_empty() && !entry.is_object.load(Relaxed) {
        return format!(" on {name}");
    }
    let kind = match name.is_empty() {
        true => comms::kind(entry.size.load(Relaxed), entry.others.load(Relaxed)),
        false => name,
    };
    let function = entry.function.load(Relaxed).checked_sub(1);
    let function = function.and_then(|function| FunctionId::from_index(function as usize));
    let Some(function) = function else {
        return format!(" on {kind}");
    };
    let mark = Mark { module: entry.module.load(Relaxed), offset: entry.offset.load(Relaxed) };
    let place = places::of_mark(mark);
    let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
    format!(" on {kind} ({function}{at})")
}

/// The ranks of the world that are in it, if they are known.
pub(crate) fn members(identity: u64) -> Option<Vec<u32>> {
    let members = find(identity)?.members.load(Relaxed);
    let all = || (0..64).filter(|rank| members >> rank & 1 != 0);
    (members != 0).then(|| all().collect())
}
