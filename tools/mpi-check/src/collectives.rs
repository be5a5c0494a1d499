//! Collective operations, matched before they are entered: by a table in shared memory with an entry for each operation
//! under way, found by the communicator's identity and the number of the operation on it.
//!
//! The first rank that comes writes what it calls, all others compare. When all have come, the entry is free again.

mod contribution;
mod left;
mod pairs;
mod values;

use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

use mpi_facts::{NONE, Timing};
use mpi_tool_layer::{FunctionClass, FunctionId};

use crate::arguments::Checked;
use crate::at_once;
use crate::comms::{Comm, CommRef};
use crate::findings::{Class, Place, rank, report_of};
use crate::hosts;
use crate::messages::has_threads;
use crate::operations;
use crate::places::{self, Mark};
use crate::shared::{COLLECTIVES, Shared, limit, shared};
use crate::types::Signature;
use crate::waits;
use pairs::Pairs;

pub(crate) use contribution::Contribution;
use contribution::{Group, contribution};
pub(crate) use left::report_left;

/// How many ranks of an operation with a count for each are compared pairwise.
pub(crate) const BLOCKS: usize = 16;
/// How many communicators can be left alone, because their ranks do not agree any more.
const BROKEN: usize = 16;

/// An operation under way.
#[repr(C)]
pub(crate) struct Slot {
    /// 0 if the place is free.
    key: AtomicU64,
    identity: AtomicU64,
    number: AtomicU64,
    arrived: AtomicU32,
    expected: AtomicU32,
    /// A bit for each of the first 64 ranks of the world that has come.
    here: AtomicU64,
    function: AtomicU32,
    rank: AtomicU32,
    root: AtomicU64,
    operation: AtomicU64,
    elements: AtomicU64,
    hash: AtomicU64,
    uniform: AtomicU32,
    /// Bits of [`has`].
    has: AtomicU32,
    /// The root has come.
    root_is_here: AtomicU32,
    module: AtomicU64,
    offset: AtomicU64,
    /// A hash of counts that are the same on all ranks.
    counts: AtomicU64,
    /// Elements of each rank's block plus 1, as the rank says, and as the root says. Where all give and take blocks, the
    /// sums of `pairs.rs`.
    own_blocks: [AtomicU64; BLOCKS],
    root_blocks: [AtomicU64; BLOCKS],
}

mod has {
    pub(super) const SIGNATURE: u32 = 1;
    pub(super) const TOLD: u32 = 2;
    /// Not all blocks are known that are given and taken.
    pub(super) const UNKNOWN_PAIRS: u32 = 4;
}

/// In what two calls differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Functions = 1,
    Roots,
    Operations,
    Data,
    Counts,
    Values,
    Groups,
}

impl What {
    const ALL: [Self; 7] = [
        Self::Functions,
        Self::Roots,
        Self::Operations,
        Self::Data,
        Self::Counts,
        Self::Values,
        Self::Groups,
    ];

    /// The difference of hashes that calls of a function have.
    pub(crate) fn of_hashes(function: FunctionId) -> Self {
        match function.class() {
            FunctionClass::Collective | FunctionClass::Neighborhood => Self::Counts,
            _ => Self::Values,
        }
    }

    /// What a side has that has one of them, in words.
    pub(crate) fn side(self, function: FunctionId, is_other: bool) -> String {
        match self {
            Self::Values if is_other => format!("other {}", values::name(function)),
            Self::Values => values::name(function).into(),
            _ if is_other => "another array".into(),
            _ => "an array".into(),
        }
    }

    pub(crate) fn from_number(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|what| *what as u64 == number)
    }

    /// In words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Functions => "the functions",
            Self::Roots => "the roots",
            Self::Operations => "the operations",
            Self::Data => "the data",
            Self::Counts => "the arrays of counts",
            Self::Values => "the arguments",
            Self::Groups => "the groups",
        }
    }
}

/// Is the call one that all processes of its communicator make in the same order?
pub(crate) fn is_ordered(checked: &Checked<'_>) -> bool {
    mpi_facts::is_collective(
        checked.function,
        checked.shape.class,
        checked.shape.new_communicator != NONE,
    )
}

/// Compares a call with those of the others. To be called before it is passed on.
pub(crate) fn enter(checked: &Checked<'_>, comm: &CommRef) -> u64 {
    let number = comm.next();
    enter_as(checked, comm, number);
    number
}

/// The same as the operation of a number.
pub(crate) fn enter_as(checked: &Checked<'_>, comm: &CommRef, number: u64) {
    let expected =
        u64::from(comm.size) + if comm.is_inter { u64::from(comm.peer_count()) } else { 0 };
    let shared = shared();
    pairs::check_own(checked, comm);
    if expected == 1 {
        return;
    }
    if has_threads() {
        at_once::entered(checked, comm);
    }
    if !shared.is_whole() {
        if !hosts::is_on() {
            if shared.size.load(Relaxed) > 1 {
                shared.reached(limit::HOSTS);
            }
            return;
        }
        waits::entering(comm.identity, number, expected as u32);
        if let Some(shadow) = comm.shadow.get() {
            hosts::compare(checked, comm, *shadow, number, &contribution(checked, comm));
            return;
        }
        if !comm.is_here() {
            shared.reached(limit::SHADOWS);
            return;
        }
    }
    if waits_for_some(checked, comm) && shared.is_whole() {
        waits::entering(comm.identity, number, expected as u32);
    }
    if shared.has_reached(limit::COLLECTIVES) {
        return;
    }
    let compares = match find_broken(comm.identity) {
        None => true,
        Some(has_failed) if has_failed & 1 != 0 => return,
        // Who comes to what is known all the same, for those who wait.
        Some(_) => false,
    };
    let own = if compares { contribution(checked, comm) } else { Contribution::default() };
    match meet(shared, checked, comm, number, expected as u32, &own, compares) {
        Some(Found::Other(problem)) => problem.tell(checked, comm),
        Some(Found::Pairs(ranks)) => pairs::tell(checked, comm, &ranks),
        None => {}
    }
}

/// Is the call one in which a process waits for some others only: its neighbours, those before it, or the other group?
fn waits_for_some(checked: &Checked<'_>, comm: &Comm) -> bool {
    let has_order = checked.shape.class == FunctionClass::Neighborhood || checked.facts.is_scan;
    (has_order || comm.is_inter) && checked.shape.timing != Timing::Persistent
}

/// What is found when a rank comes to an operation.
enum Found {
    /// Something that differs from what another rank calls.
    Other(Problem),
    /// Those who give what is not taken, and those who do not take what they are given.
    Pairs([Vec<u32>; 2]),
}

/// How two calls differ.
struct Problem {
    what: What,
    /// What the other one has.
    theirs: String,
    ours: String,
    rank: u32,
    function: FunctionId,
    mark: Mark,
}

impl Problem {
    fn tell(&self, checked: &Checked<'_>, comm: &Comm) {
        let place = places::of_mark(self.mark);
        let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
        let side = |what: &str, function: FunctionId, rank: u32| match self.what {
            What::Functions => format!("{function} on rank {rank}"),
            _ => format!("{what} in {function} on rank {rank}"),
        };
        let message = format!(
            "{} of the same collective operation on {} differ: {}, {}{at}",
            self.what.name(),
            comm.describe(),
            side(&self.ours, checked.function, rank()),
            side(&self.theirs, self.function, self.rank),
        );
        report_of(
            Class::CollectiveMismatch,
            checked.function,
            Place::Here(checked.site),
            self.what.name(),
            &message,
            None,
            &[rank(), self.rank],
        );
    }
}

fn bucket_of(key: u64) -> usize {
    (key >> 40) as usize % COLLECTIVES.0
}

fn key_of(identity: u64, number: u64) -> u64 {
    let mixed =
        (identity ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ mixed >> 29).wrapping_mul(0xc4ce_b9fe_1a85_ec53) | 1
}

/// Has an operation ended?
pub(crate) fn is_over(identity: u64, number: u64) -> bool {
    let key = key_of(identity, number);
    let bucket = &shared().collectives[bucket_of(key)];
    !bucket.slots.iter().any(|slot| slot.key.load(Acquire) == key)
}

fn meet(
    shared: &Shared,
    checked: &Checked<'_>,
    comm: &Comm,
    number: u64,
    expected: u32,
    own: &Contribution,
    compares: bool,
) -> Option<Found> {
    let key = key_of(comm.identity, number);
    let is_paired = compares && pairs::is_paired(checked, comm);
    let own_pairs = if is_paired { Pairs::of(checked, comm) } else { None };
    // Debug information may be read for it, which takes longer than others wait for a lock.
    let mark = Mark::of(checked.site);
    let bucket = &shared.collectives[bucket_of(key)];
    let Some(_held) = bucket.lock.take() else {
        shared.reached(limit::COLLECTIVES);
        return None;
    };
    if let Some(slot) = bucket.slots.iter().find(|slot| slot.key.load(Relaxed) == key) {
        let problem = if compares { slot.compare(checked, own) } else { None };
        if checked.is_root() {
            slot.root_is_here.store(1, Release);
        }
        if problem.as_ref().is_some_and(|problem| problem.what == What::Functions) {
            mark_broken(comm.identity);
        }
        let arrived = slot.arrived.load(Relaxed) + 1;
        slot.here.store(slot.here.load(Relaxed) | bit_of(rank()), Relaxed);
        slot.arrived.store(arrived, Release);
        let mut found = problem.map(Found::Other);
        if is_paired {
            slot.add_pairs(own_pairs.as_ref());
        }
        if arrived >= slot.expected.load(Relaxed) {
            if is_paired && found.is_none() {
                found = slot.unequal_pairs().map(Found::Pairs);
            }
            slot.key.store(0, Release);
        }
        return found;
    }
    let Some(slot) = bucket.slots.iter().find(|slot| slot.key.load(Relaxed) == 0) else {
        shared.reached(limit::COLLECTIVES);
        return None;
    };
    slot.identity.store(comm.identity, Relaxed);
    slot.number.store(number, Relaxed);
    slot.expected.store(expected, Relaxed);
    slot.fill(checked, own, mark);
    if is_paired {
        slot.add_pairs(own_pairs.as_ref());
    }
    slot.arrived.store(1, Relaxed);
    slot.here.store(bit_of(rank()), Relaxed);
    slot.key.store(key, Release);
    None
}

fn bit_of(rank: u32) -> u64 {
    1_u64.checked_shl(rank).unwrap_or(0)
}

/// An operation under way, as those who look for deadlocks see it.
pub(crate) struct UnderWay {
    pub(crate) function: FunctionId,
    /// The rank that has come first, and where it has.
    pub(crate) first: (u32, Mark),
    /// A bit for each of the first 64 ranks of the world that has come.
    pub(crate) here: u64,
    /// How many must come.
    pub(crate) expected: u32,
    /// The root has come.
    pub(crate) root_is_here: bool,
}

/// What is known of an operation, if not all have come to it.
pub(crate) fn under_way(identity: u64, number: u64) -> Option<UnderWay> {
    let key = key_of(identity, number);
    let bucket = &shared().collectives[bucket_of(key)];
    let slot = bucket.slots.iter().find(|slot| slot.key.load(Acquire) == key)?;
    let mark = Mark { module: slot.module.load(Relaxed), offset: slot.offset.load(Relaxed) };
    let found = UnderWay {
        function: FunctionId::from_index(slot.function.load(Relaxed) as usize)?,
        first: (slot.rank.load(Relaxed), mark),
        here: slot.here.load(Relaxed),
        expected: slot.expected.load(Relaxed),
        root_is_here: slot.root_is_here.load(Relaxed) != 0,
    };
    // The last one may have come meanwhile, and another operation may have got the place.
    fence(Acquire);
    (slot.key.load(Relaxed) == key).then_some(found)
}

impl Slot {
    fn fill(&self, checked: &Checked<'_>, own: &Contribution, mark: Mark) {
        self.function.store(checked.function as u32, Relaxed);
        self.root_is_here.store(checked.is_root().into(), Relaxed);
        self.rank.store(rank(), Relaxed);
        self.module.store(mark.module, Relaxed);
        self.offset.store(mark.offset, Relaxed);
        self.root.store(own.root.map_or(u64::MAX, |root| root as u64), Relaxed);
        self.operation.store(own.operation.unwrap_or(u64::MAX), Relaxed);
        self.counts.store(own.counts.unwrap_or(0), Relaxed);
        self.has.store(0, Relaxed);
        for block in self.own_blocks.iter().chain(&self.root_blocks) {
            block.store(0, Relaxed);
        }
        self.add_signature(own);
        self.add_blocks(own);
        self.add_group(own);
    }

    /// Keeps the group that this rank gives `MPI_Comm_create`, where other functions have blocks: who has said so is in the upper
    /// half beside its order.
    fn add_group(&self, own: &Contribution) {
        let Some(group) = own.group.filter(|group| group.members != 0) else { return };
        let mut places = self.own_blocks.iter().zip(&self.root_blocks);
        let place = places.find(|(members, _)| members.load(Relaxed) == 0);
        if let Some((members, order)) = place {
            members.store(group.members, Relaxed);
            order.store(u64::from(rank()) << 32 | u64::from(group.order), Relaxed);
        }
    }

    /// Another group with some of the same processes (MPI-5.0, section 7.4.2), and who has said so.
    fn other_group(&self, own: &Contribution) -> Option<(Group, u32)> {
        let ours = own.group?;
        let groups = self.own_blocks.iter().zip(&self.root_blocks).map(|(members, said)| {
            let said = said.load(Relaxed);
            let group = Group { members: members.load(Relaxed), order: said as u32 };
            (group, (said >> 32) as u32)
        });
        let meets =
            |(theirs, _): &(Group, u32)| theirs.members & ours.members != 0 && *theirs != ours;
        groups.take_while(|(theirs, _)| theirs.members != 0).find(meets)
    }

    fn add_signature(&self, own: &Contribution) {
        if let Some(signature) = own.signature.filter(|signature| !signature.is_any) {
            self.elements.store(signature.elements, Relaxed);
            self.hash.store(signature.hash, Relaxed);
            self.uniform.store(signature.uniform.into(), Relaxed);
            self.has.fetch_or(has::SIGNATURE, Relaxed);
        }
    }

    fn add_blocks(&self, own: &Contribution) {
        if let Some((at, elements)) = own.own_block
            && let Some(block) = self.own_blocks.get(at)
        {
            block.store(elements + 1, Relaxed);
        }
        for (block, elements) in self.root_blocks.iter().zip(&own.root_blocks) {
            block.store(elements + 1, Relaxed);
        }
    }

    fn compare(&self, checked: &Checked<'_>, own: &Contribution) -> Option<Problem> {
        let problem = self.difference(checked, own);
        if self.has.load(Relaxed) & has::SIGNATURE == 0 {
            self.add_signature(own);
        }
        if let Some(root) = own.root.filter(|_| self.root.load(Relaxed) == u64::MAX) {
            self.root.store(root as u64, Relaxed);
        }
        if let Some(counts) = own.counts.filter(|_| self.counts.load(Relaxed) == 0) {
            self.counts.store(counts, Relaxed);
        }
        self.add_blocks(own);
        let other_group = self.other_group(own).map(|(_, rank)| rank);
        self.add_group(own);
        let (what, ours, theirs) = problem?;
        // One finding for one operation.
        if self.has.fetch_or(has::TOLD, Relaxed) & has::TOLD != 0 {
            return None;
        }
        let first = self.rank.load(Relaxed);
        let rank = other_group.filter(|_| what == What::Groups).unwrap_or(first);
        let of_first =
            || Mark { module: self.module.load(Relaxed), offset: self.offset.load(Relaxed) };
        Some(Problem {
            what,
            theirs,
            ours,
            rank,
            function: FunctionId::from_index(self.function.load(Relaxed) as usize)?,
            mark: if rank == first { of_first() } else { Mark::default() },
        })
    }

    fn difference(
        &self,
        checked: &Checked<'_>,
        own: &Contribution,
    ) -> Option<(What, String, String)> {
        let theirs = self.function.load(Relaxed);
        if theirs != checked.function as u32 {
            let name = FunctionId::from_index(theirs as usize).map_or("?", FunctionId::name);
            return Some((What::Functions, checked.function.to_string(), name.into()));
        }
        let root = self.root.load(Relaxed);
        if let Some(ours) = own.root
            && root != u64::MAX
            && ours as u64 != root
        {
            return Some((What::Roots, format!("root {ours}"), format!("root {}", root as i64)));
        }
        let operation = self.operation.load(Relaxed);
        if let Some(ours) = own.operation
            && operation != u64::MAX
            && ours != operation
        {
            let names = [ours, operation].map(|number| operations::name_of_number(number).into());
            let [ours, theirs] = names;
            return Some((What::Operations, ours, theirs));
        }
        if let Some(ours) = own.signature.filter(|ours| !ours.is_any)
            && self.has.load(Relaxed) & has::SIGNATURE != 0
        {
            let theirs = Signature {
                elements: self.elements.load(Relaxed),
                hash: self.hash.load(Relaxed),
                uniform: self.uniform.load(Relaxed) as u8,
                ..Signature::EMPTY
            };
            if !ours.may_equal(theirs) {
                return Some((What::Data, ours.describe(), theirs.describe()));
            }
        }
        if let Some((theirs, _)) = self.other_group(own)
            && let Some(ours) = own.group
        {
            let is_same = theirs.members == ours.members;
            let in_order = |is_other| if is_same && is_other { " in another order" } else { "" };
            let ours = format!("{}{}", ours.describe(), in_order(false));
            return Some((What::Groups, ours, format!("{}{}", theirs.describe(), in_order(true))));
        }
        let counts = self.counts.load(Relaxed);
        if let Some(ours) = own.counts
            && counts != 0
            && ours != counts
        {
            let what = What::of_hashes(checked.function);
            let [ours, theirs] =
                [false, true].map(|is_other| what.side(checked.function, is_other));
            return Some((what, ours, theirs));
        }
        if let Some((at, ours)) = own.own_block
            && let Some(theirs) = self.root_blocks.get(at).map(|block| block.load(Relaxed))
            && theirs != 0
            && theirs - 1 != ours
        {
            let [ours, theirs] =
                [ours, theirs - 1].map(|count| format!("{count} elements of rank {at}"));
            return Some((What::Data, ours, theirs));
        }
        for (at, ours) in own.root_blocks.iter().enumerate() {
            let Some(theirs) = self.own_blocks.get(at).map(|block| block.load(Relaxed)) else {
                break;
            };
            if theirs != 0 && theirs - 1 != *ours {
                let [ours, theirs] =
                    [*ours, theirs - 1].map(|count| format!("{count} elements of rank {at}"));
                return Some((What::Data, ours, theirs));
            }
        }
        None
    }
}

/// MPI has returned an error from the operation of a number. It refuses wrong arguments before it meets the others; of other
/// errors nobody knows. So what comes next on the communicator may not belong together, and nothing is compared. Only what can
/// fail in a right program, and on all processes then, still is: files that are not there, programs that cannot be started.
pub(crate) fn failed(checked: &Checked<'_>, comm: &Comm, number: u64) {
    let is_of_data =
        matches!(checked.shape.class, FunctionClass::Collective | FunctionClass::Neighborhood);
    if !checked.is_sound {
        comm.take_back(number);
    }
    if !is_of_data && checked.is_sound {
        return;
    }
    let failed = entry(comm.identity, true);
    let is_known = |place: &&AtomicU64| place.load(Relaxed) | 1 == failed;
    match shared().broken.iter().find(is_known) {
        Some(place) => _ = place.fetch_or(1, Relaxed),
        None => add_broken(failed),
    }
}

/// The ranks of a communicator do not agree any more: to compare what comes on it would only repeat that.
pub(crate) fn mark_broken(identity: u64) {
    if !is_broken(identity) {
        add_broken(entry(identity, false));
    }
}

fn add_broken(entry: u64) {
    let shared = shared();
    let is_ours = |place: &AtomicU64| place.compare_exchange(0, entry, Relaxed, Relaxed).is_ok();
    if !shared.broken.iter().any(is_ours) {
        shared.reached(limit::COLLECTIVES);
    }
}

/// As the list of broken communicators has one: its last bit says that an operation has failed.
const fn entry(identity: u64, has_failed: bool) -> u64 {
    let identity = if identity << 1 == 0 { 2 } else { identity << 1 };
    identity | has_failed as u64
}

/// The list's entry of a communicator. It is filled from its beginning on.
#[inline]
fn find_broken(identity: u64) -> Option<u64> {
    let entries = shared().broken.iter().map(|place| place.load(Relaxed));
    let mut entries = entries.take_while(|known| *known != 0);
    entries.find(|known| *known | 1 == entry(identity, true))
}

/// Do the ranks of a communicator not agree any more, or has an operation failed?
pub(crate) fn is_broken(identity: u64) -> bool {
    find_broken(identity).is_some()
}

/// Communicators whose ranks do not agree any more.
pub(crate) type Broken = [AtomicU64; BROKEN];
