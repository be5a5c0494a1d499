//! One-sided operations of different processes at one target that must not meet: kept in shared memory, under the window's
//! identity and the target, as bytes of the target's window.
//!
//! Only what no communication can have ordered is told:
//!
//! * Operations of one epoch of fences: none is complete before its end.
//! * Those that one exposure of `MPI_Win_post` takes in: the target compares them at its end.
//! * Under shared locks: an operation that begins while the other one is not complete, as its process has not come to the
//!   call that completes it. And one that begins when its process can know of nothing that came after a collective
//!   operation which the other one's process had been through before.
//!
//! Exclusive locks order what is done under them.
//!
//! Where a sanitizer watches the program, a target also asks for what others do with its part of a window, to compare it with what
//! it loads and stores there itself (`epochs/targets.rs`). Operations under exclusive locks are kept for that alone.

use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mpi_tool_layer::FunctionId;

use crate::findings::{Class, Other, Place, rank, report_of};
use crate::layouts::{Layout, PIECES, Piece};
use crate::memory;
use crate::places::{self, Mark};
use crate::shared::{Lock, RANKS, limit, shared};

/// How many windows' ends are known: one for each window and process.
const UNITS: usize = 2048;
const BUCKETS: usize = 128;
const SLOTS: usize = 32;

/// Of all windows of the job. Zeros are an empty table.
#[repr(C)]
pub(crate) struct Table {
    ends: [(AtomicU64, AtomicU32, AtomicU64); UNITS],
    /// How many operations each rank has been the target of.
    pub(crate) incoming: [AtomicU32; RANKS],
    /// A process of the job has asked for memory that processes share: they can tell each other something without a call.
    has_shared_memory: AtomicU32,
    /// A sanitizer watches a program of the job: targets ask for what others do.
    is_watched: AtomicU32,
    /// Numbers of operations, for targets.
    last_serial: AtomicU64,
    buckets: [Bucket; BUCKETS],
}

#[repr(C)]
struct Bucket {
    lock: Lock,
    slots: [Slot; SLOTS],
}

#[repr(C)]
struct Slot {
    /// 0 if the place is free.
    window: AtomicU64,
    target: AtomicU32,
    origin: AtomicU32,
    kind: AtomicU32,
    epoch: AtomicU64,
    passed: [AtomicU64; 2],
    /// What [`Access::since`] is, or zeros where that is `None`.
    since: [AtomicU64; 2],
    flags: AtomicU32,
    held: [AtomicU64; 2],
    /// Changes with what the place says of an operation.
    serial: AtomicU64,
    /// Its process has come to the call that completes it.
    is_over: AtomicU32,
    action: AtomicU32,
    operation: AtomicU32,
    basic: AtomicU32,
    checksum: AtomicU64,
    function: AtomicU32,
    module: AtomicU64,
    offset: AtomicU64,
    pieces: [[AtomicU64; 4]; PIECES],
}

/// What an operation does at its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Action {
    Put,
    Get,
    /// Atomic, by an operation and a basic datatype.
    Accumulate,
}

/// Which epoch an operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Epoch {
    /// The number of the fence that has begun it.
    Fence(u64),
    /// How often this process has started an epoch with the target.
    Started(u64),
    /// A shared lock of this target, or of all.
    Locked { all: bool },
}

/// An operation, as far as the target's memory goes.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) window: u64,
    /// In the window's communicator.
    pub(crate) target: u32,
    pub(crate) epoch: Epoch,
    pub(crate) action: Action,
    /// By [`operations::number`]; 0 if it is not known.
    pub(crate) operation: u32,
    /// The basic datatype of an accumulation, if it is one.
    pub(crate) basic: Option<Basic>,
    /// Of what is put.
    pub(crate) checksum: Option<u64>,
    pub(crate) function: FunctionId,
    pub(crate) mark: Mark,
    pub(crate) layout: Layout,
    /// The collective operation that its process has its last knowledge of others from, if it is one: the operation has begun
    /// after that, and what others have done since does not come before it.
    pub(crate) since: Option<Collective>,
    /// It is not compared with other operations, and kept for its target alone.
    pub(crate) is_for_target: bool,
    /// A request completes it: when, nobody here knows.
    pub(crate) ends_unseen: bool,
    /// All locks of its process.
    pub(crate) held: Locks,
    /// It only reads at the target, whatever its action is.
    pub(crate) only_reads: bool,
}

/// Locks of parts of windows, a bit for each: two may have the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Locks {
    pub(crate) all: u64,
    /// Those that nobody else has.
    pub(crate) alone: u64,
}

impl Locks {
    /// The lock of a rank's part of a window.
    pub(crate) fn of(window: u64, rank: u32, is_alone: bool) -> Self {
        let bit = 1 << (key(window, rank) >> 58);
        Self { all: bit, alone: if is_alone { bit } else { 0 } }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.all |= other.all;
        self.alone |= other.alone;
    }

    /// May one of them keep out whoever has these?
    pub(crate) fn may_exclude(self, other: Self) -> bool {
        self.alone & other.all != 0 || self.all & other.alone != 0
    }
}

/// Bits of `Slot::flags`.
const FOR_TARGET: u32 = 1;
const UNSEEN: u32 = 2;
const READS: u32 = 4;

/// A basic datatype: its number, and how many bytes it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Basic {
    pub(crate) code: u8,
    pub(crate) size: u16,
}

impl Basic {
    fn to_word(this: Option<Self>) -> u32 {
        this.map_or(0, |Self { code, size }| u32::from(code) | u32::from(size) << 8)
    }

    fn of_word(word: u32) -> Option<Self> {
        (word != 0).then_some(Self { code: word as u8, size: (word >> 8) as u16 })
    }
}

/// A collective operation: its communicator's identity, and its number there.
pub(crate) type Collective = (u64, u64);

/// Where this process keeps an operation: its bucket, and the place in it.
pub(crate) type Kept = (usize, usize);

fn key(window: u64, rank: u32) -> u64 {
    let mixed = (window ^ u64::from(rank).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ mixed >> 31).wrapping_mul(0xc4ce_b9fe_1a85_ec53) | 1
}

/// A process's end of a window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// How many bytes a displacement counts.
    pub(crate) unit: u32,
    /// How many bytes it has, if that is known.
    pub(crate) size: Option<u64>,
}

/// All places of windows' ends, from the one that is a key's on: the key, the unit, and the size plus 1.
fn ends(key: u64) -> impl Iterator<Item = &'static (AtomicU64, AtomicU32, AtomicU64)> {
    let ends = &shared().accesses.ends;
    (0..UNITS).map(move |step| &ends[(key as usize).wrapping_add(step) % UNITS])
}

/// This process makes its end of a window.
pub(crate) fn publish(window: u64, rank: u32, end: End) {
    let key = key(window, rank);
    for (place, unit, size) in ends(key) {
        if place.compare_exchange(0, key, AcqRel, Acquire).is_ok() {
            size.store(end.size.map_or(0, |size| size.saturating_add(1)), Release);
            unit.store(end.unit, Release);
            return;
        }
    }
    shared().reached(limit::ACCESSES);
}

/// A target's end of a window, if it is known.
pub(crate) fn end(window: u64, rank: u32) -> Option<End> {
    let key = key(window, rank);
    let (_, unit, size) = ends(key).find(|(place, ..)| place.load(Acquire) == key)?;
    let unit = Some(unit.load(Acquire)).filter(|unit| *unit != 0)?;
    Some(End { unit, size: size.load(Acquire).checked_sub(1) })
}

/// This process's end of a window is gone.
pub(crate) fn withdraw(window: u64, rank: u32) {
    let key = key(window, rank);
    if let Some((place, unit, _)) = ends(key).find(|(place, ..)| place.load(Acquire) == key) {
        unit.store(0, Release);
        place.store(0, Release);
    }
}

/// Processes of the job share memory, by which they can tell each other something without a call.
pub(crate) fn note_shared_memory() {
    shared().accesses.has_shared_memory.store(1, Release);
}

/// A sanitizer watches this process.
pub(crate) fn set_watched() {
    shared().accesses.is_watched.store(1, Release);
}

/// Does one watch a process of the job?
pub(crate) fn is_watched() -> bool {
    shared().accesses.is_watched.load(Acquire) != 0
}

/// How often a rank of the world has been a target of what a target does not learn from a call of its own.
pub(crate) fn incoming(rank: u32) -> u32 {
    shared().accesses.incoming.get(rank as usize).map_or(0, |count| count.load(Acquire))
}

/// A rank of the world is about to be a target.
pub(crate) fn note_incoming(rank: u32) {
    if let Some(count) = shared().accesses.incoming.get(rank as usize) {
        count.fetch_add(1, AcqRel);
    }
}

/// Two operations that meet: what is told of each.
struct Conflict {
    ours: (u32, FunctionId, Mark, Action),
    theirs: (u32, FunctionId, Mark, Action),
    target: u32,
    /// Theirs is complete, but its process cannot have told ours so by MPI.
    is_over: bool,
}

/// Adds an operation that is about to be passed on, and says with which one of another process it conflicts. `passed`: the
/// last collective operation that this process has been through after all had come to it.
pub(crate) fn add(access: &Access, passed: Collective) -> Option<Kept> {
    // There is no room for more pieces.
    if access.layout.pieces().len() > PIECES {
        return None;
    }
    let at = bucket_of(access.window, access.target);
    let bucket = &shared().accesses.buckets[at];
    let mut conflict = None;
    let kept = {
        let Some(_held) = bucket.lock.take() else {
            shared().reached(limit::ACCESSES);
            return None;
        };
        let own = rank();
        let (kind, number) = access.epoch.words();
        let known = access.since.filter(|_| !has_shared_memory());
        let others = bucket.slots.iter().filter(|_| kind != STARTED && !access.is_for_target);
        for slot in others {
            let is_there = slot.window.load(Relaxed) == access.window
                && slot.target.load(Relaxed) == access.target
                && slot.origin.load(Relaxed) != own
                && slot.flags.load(Relaxed) & FOR_TARGET == 0;
            if !is_there {
                continue;
            }
            let is_together = match access.epoch {
                Epoch::Locked { .. } => {
                    let passed = [0, 1].map(|at: usize| slot.passed[at].load(Relaxed));
                    slot.kind.load(Relaxed) >= LOCKED
                        && (slot.is_over.load(Relaxed) == 0
                            || known == Some((passed[0], passed[1])))
                }
                _ => slot.kind.load(Relaxed) == kind && slot.epoch.load(Relaxed) == number,
            };
            if is_together
                && let Some(other) = slot.get()
                && access.conflicts(&other)
            {
                let theirs = (slot.origin.load(Relaxed), other.function, other.mark, other.action);
                let ours = (own, access.function, access.mark, access.action);
                let is_over = slot.is_over.load(Relaxed) != 0;
                conflict = Some(Conflict { ours, theirs, target: access.target, is_over });
                break;
            }
        }
        keep(bucket, access, passed).map(|slot| (at, slot))
    };
    if let Some(conflict) = conflict
        && !(conflict.is_over && memory::has_shared_file())
    {
        conflict.tell();
    }
    kept
}

/// Gives an operation a place.
fn keep(bucket: &Bucket, access: &Access, passed: Collective) -> Option<usize> {
    let own = rank();
    let (kind, number) = access.epoch.words();
    let mine = |slot: &Slot| {
        slot.window.load(Relaxed) == access.window
            && slot.target.load(Relaxed) == access.target
            && slot.origin.load(Relaxed) == own
            && slot.kind.load(Relaxed) == kind
            && slot.epoch.load(Relaxed) == number
            && slot.is_over.load(Relaxed) == 0
            && slot.offset.load(Relaxed) == access.mark.offset
    };
    // The next piece of what the same line has done before, or the same again.
    for (at, slot) in bucket.slots.iter().enumerate() {
        if mine(slot)
            && let Some(before) = slot.get()
            && before.action == access.action
            && (before.operation, before.basic) == (access.operation, access.basic)
            && before.since == access.since
            && (before.held, slot.flags.load(Relaxed)) == (access.held, access.flags())
        {
            if before.layout == access.layout && before.checksum == access.checksum {
                return Some(at);
            }
            let both = before.layout.and(&access.layout);
            if let Some(both) = both.filter(|both| both.pieces().len() == 1) {
                slot.set_layout(&both);
                slot.checksum.store(0, Relaxed);
                slot.number();
                return Some(at);
            }
        }
    }
    let Some(at) = bucket.slots.iter().position(|slot| slot.window.load(Relaxed) == 0) else {
        shared().reached(limit::ACCESSES);
        return None;
    };
    let slot = &bucket.slots[at];
    slot.target.store(access.target, Relaxed);
    slot.origin.store(own, Relaxed);
    slot.kind.store(kind, Relaxed);
    slot.epoch.store(number, Relaxed);
    slot.passed[0].store(passed.0, Relaxed);
    slot.passed[1].store(passed.1, Relaxed);
    let since = access.since.unwrap_or_default();
    slot.since[0].store(since.0, Relaxed);
    slot.since[1].store(since.1, Relaxed);
    slot.flags.store(access.flags(), Relaxed);
    slot.held[0].store(access.held.all, Relaxed);
    slot.held[1].store(access.held.alone, Relaxed);
    slot.number();
    slot.is_over.store(0, Relaxed);
    slot.action.store(access.action as u32, Relaxed);
    slot.operation.store(access.operation, Relaxed);
    slot.basic.store(Basic::to_word(access.basic), Relaxed);
    slot.checksum.store(access.checksum.unwrap_or(0), Relaxed);
    slot.function.store(access.function as u32, Relaxed);
    slot.module.store(access.mark.module, Relaxed);
    slot.offset.store(access.mark.offset, Relaxed);
    slot.set_layout(&access.layout);
    slot.window.store(access.window, Relaxed);
    Some(at)
}

/// This process comes to the call that completes its operation.
pub(crate) fn over(kept: Kept) {
    shared().accesses.buckets[kept.0].slots[kept.1].is_over.store(1, Release);
}

/// Nothing can meet this process's operation any more.
pub(crate) fn forget(kept: Kept) {
    let bucket = &shared().accesses.buckets[kept.0];
    if let Some(_held) = bucket.lock.take() {
        bucket.slots[kept.1].window.store(0, Relaxed);
    }
}

/// An operation of another process at this one's part of a window.
pub(crate) struct Incoming {
    /// No other operation has it.
    pub(crate) serial: u64,
    /// In the world.
    pub(crate) origin: u32,
    /// Its process has come to the call that completes it.
    pub(crate) is_over: bool,
    pub(crate) access: Access,
}

/// All that other processes do, or have done not long ago, with this process's part of a window.
pub(crate) fn at_target(window: u64, target: u32) -> Vec<Incoming> {
    let bucket = &shared().accesses.buckets[bucket_of(window, target)];
    let Some(_held) = bucket.lock.take() else { return Vec::new() };
    let own = rank();
    let slots = bucket.slots.iter().filter(|slot| {
        slot.window.load(Relaxed) == window
            && slot.target.load(Relaxed) == target
            && slot.origin.load(Relaxed) != own
    });
    slots
        .filter_map(|slot| {
            Some(Incoming {
                serial: slot.serial.load(Relaxed),
                origin: slot.origin.load(Relaxed),
                is_over: slot.is_over.load(Acquire) != 0,
                access: slot.get()?,
            })
        })
        .collect()
}

/// Can processes tell each other something by memory that they share?
fn has_shared_memory() -> bool {
    shared().accesses.has_shared_memory.load(Acquire) != 0
}

/// Can they do so by that or by a file?
pub(crate) fn may_tell_by_memory() -> bool {
    /// A file that was seen, and when one was last looked for, and how long that took.
    static FILE: Mutex<(bool, Option<(Instant, Duration)>)> = Mutex::new((false, None));
    if has_shared_memory() {
        return true;
    }
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    // Looking for one takes milliseconds where much is mapped.
    let is_due = file.1.is_none_or(|(when, took)| when.elapsed() > took * 20);
    if !file.0 && is_due {
        let begin = Instant::now();
        file.0 = memory::has_shared_file();
        file.1 = Some((Instant::now(), begin.elapsed()));
    }
    file.0
}

fn bucket_of(window: u64, target: u32) -> usize {
    key(window, target) as usize >> 20 & (BUCKETS - 1)
}

/// An exposure of this process, a target, is over: what has met in it, and who has done what. `origins`: the ranks in the world of
/// those that it was for, and how often each has had one.
pub(crate) fn exposure_over(
    window: u64,
    target: u32,
    origins: &[(u32, u64)],
) -> Vec<(u32, Access)> {
    let bucket = &shared().accesses.buckets[bucket_of(window, target)];
    let mut found: Vec<(u32, Access)> = Vec::new();
    {
        let Some(_held) = bucket.lock.take() else { return found };
        for slot in &bucket.slots {
            let of = (slot.origin.load(Relaxed), slot.epoch.load(Relaxed));
            if slot.window.load(Relaxed) == window
                && slot.target.load(Relaxed) == target
                && slot.kind.load(Relaxed) == STARTED
                && origins.contains(&of)
            {
                found.extend(slot.get().map(|access| (of.0, access)));
                slot.window.store(0, Relaxed);
            }
        }
    }
    for (at, (origin, access)) in found.iter().enumerate() {
        let mut others = found[..at].iter();
        if let Some((other, theirs)) =
            others.find(|(other, theirs)| other != origin && access.conflicts(theirs))
        {
            let of =
                |rank: u32, access: &Access| (rank, access.function, access.mark, access.action);
            let (ours, theirs) = (of(*origin, access), of(*other, theirs));
            Conflict { ours, theirs, target, is_over: false }.tell();
        }
    }
    found
}

const FENCE: u32 = 0;
const STARTED: u32 = 1;
const LOCKED: u32 = 2;
const LOCKED_ALL: u32 = 3;

impl Epoch {
    fn words(self) -> (u32, u64) {
        match self {
            Self::Fence(number) => (FENCE, number),
            Self::Started(number) => (STARTED, number),
            Self::Locked { all: false } => (LOCKED, 0),
            Self::Locked { all: true } => (LOCKED_ALL, 0),
        }
    }
}

impl Slot {
    fn get(&self) -> Option<Access> {
        let pieces = self.pieces.iter().map(|words| {
            let [start, length, stride, count] =
                [0, 1, 2, 3].map(|at: usize| words[at].load(Relaxed));
            Piece { start: start as i64, length, stride: stride as i64, count }
        });
        Some(Access {
            window: self.window.load(Relaxed),
            target: self.target.load(Relaxed),
            epoch: match self.kind.load(Relaxed) {
                FENCE => Epoch::Fence(self.epoch.load(Relaxed)),
                STARTED => Epoch::Started(self.epoch.load(Relaxed)),
                kind => Epoch::Locked { all: kind == LOCKED_ALL },
            },
            action: match self.action.load(Relaxed) {
                0 => Action::Put,
                1 => Action::Get,
                _ => Action::Accumulate,
            },
            operation: self.operation.load(Relaxed),
            basic: Basic::of_word(self.basic.load(Relaxed)),
            checksum: Some(self.checksum.load(Relaxed)).filter(|checksum| *checksum != 0),
            function: FunctionId::from_index(self.function.load(Relaxed) as usize)?,
            mark: Mark { module: self.module.load(Relaxed), offset: self.offset.load(Relaxed) },
            layout: Layout::of(pieces),
            since: Some([0, 1].map(|at: usize| self.since[at].load(Relaxed)))
                .filter(|since| *since != [0, 0])
                .map(|[identity, number]| (identity, number)),
            is_for_target: self.flags.load(Relaxed) & FOR_TARGET != 0,
            held: Locks { all: self.held[0].load(Relaxed), alone: self.held[1].load(Relaxed) },
            ends_unseen: self.flags.load(Relaxed) & UNSEEN != 0,
            only_reads: self.flags.load(Relaxed) & READS != 0,
        })
    }

    /// Gives the operation a number of its own.
    fn number(&self) {
        self.serial.store(shared().accesses.last_serial.fetch_add(1, Relaxed) + 1, Relaxed);
    }

    fn set_layout(&self, layout: &Layout) {
        let none = Piece { start: 0, length: 0, stride: 0, count: 0 };
        let pieces = layout.pieces().iter().chain(core::iter::repeat(&none));
        for (words, piece) in self.pieces.iter().zip(pieces) {
            let values = [piece.start as u64, piece.length, piece.stride as u64, piece.count];
            for (word, value) in words.iter().zip(values) {
                word.store(value, Relaxed);
            }
        }
    }
}

impl Access {
    fn flags(&self) -> u32 {
        let bits = [
            (self.is_for_target, FOR_TARGET),
            (self.ends_unseen, UNSEEN),
            (self.only_reads, READS),
        ];
        bits.into_iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, bit)| flags | bit)
    }

    /// Is the outcome of both undefined if nothing orders them? `false` if nobody can say so.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        use Action::{Accumulate, Get, Put};
        let is_locked = matches!(self.epoch, Epoch::Locked { .. });
        let reads = |access: &Self| access.only_reads;
        if reads(self) && reads(other) {
            return false;
        }
        let may_conflict = match (self.action, other.action) {
            (Get, Get) => false,
            // Many processes may put the same.
            (Put, Put) => match (self.checksum, other.checksum) {
                (Some(ours), Some(theirs)) => ours != theirs || self.layout != other.layout,
                _ => false,
            },
            (Accumulate, Accumulate) => {
                // What is written under locks is often a lock or a counter by itself, with operations of several kinds.
                !is_locked
                    && self.operation != 0
                    && other.operation != 0
                    && !reads(self)
                    && !reads(other)
                    && (self.operation != other.operation
                        || self.basic.zip(other.basic).is_some_and(|(own, theirs)| {
                            own != theirs || self.layout.is_askew(&other.layout, own.size.into())
                        }))
            }
            // Some programs wait for a word that somebody else changes.
            (Get, _) | (_, Get) if is_locked => {
                let all = |access: &Self| access.epoch == Epoch::Locked { all: true };
                let is_word = |access: &Self| access.action == Get && access.layout.size() <= 8;
                !(all(self) && is_word(self) || all(other) && is_word(other))
            }
            _ => true,
        };
        may_conflict && self.layout.meets(&other.layout)
    }
}

impl Conflict {
    fn tell(&self) {
        let verb = |action| match action {
            Action::Put => "puts",
            Action::Get => "gets",
            Action::Accumulate => "accumulates",
        };
        let ((our_rank, function, mark, action), (their_rank, other, other_mark, other_action)) =
            (self.ours, self.theirs);
        let message = format!(
            "rank {our_rank} {} by {function} at rank {} of the window what rank {their_rank} {} by {other}, and nothing \
             orders the two",
            verb(action),
            self.target,
            verb(other_action),
        );
        let place = places::of_mark(mark);
        report_of(
            Class::RmaConflict,
            function,
            Place::Text(&place),
            "processes",
            &message,
            Some(Other::at("the other one at", other_mark)),
            &[our_rank, their_rank],
        );
    }
}
