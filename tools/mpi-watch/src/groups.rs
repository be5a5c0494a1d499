//! Communicators, windows and files in the file: who is in them, and how many collective operations there were.

use core::ptr::null_mut;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Mutex, PoisonError};

use mpi_facts::watch::{full, group, kind, members};
use mpi_tool_layer::mpi_sys::MPI_Comm;
use mpi_tool_layer::{HandleMap, Members, TrackedComm, Word, arch};

use crate::state::{MEMORY, Words, file};

/// How many communicators a process tells apart.
const COMMUNICATORS: usize = 4096;

/// The entries of communicators, by their numbers, plus 1.
static ENTRIES: [AtomicU8; COMMUNICATORS] = [const { AtomicU8::new(0) }; COMMUNICATORS];

/// The entries of windows and files, by their handles.
static OBJECTS: HandleMap<usize> = HandleMap::new();

/// How many halves of words of members are taken.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Entries are made by one thread at a time.
static MAKING: Mutex<()> = Mutex::new(());

/// Something with members, on which collective operations are.
#[derive(Clone, Copy)]
pub(crate) struct Group(usize);

impl Group {
    /// A communicator's.
    #[inline(always)]
    pub(crate) fn of(comm: TrackedComm) -> Option<Self> {
        let entry = ENTRIES.get(comm.number() as usize)?.load(Acquire);
        (entry != 0).then(|| Self(group::AREA + (usize::from(entry) - 1) * group::LENGTH))
    }

    /// A window's or a file's.
    pub(crate) fn of_object(handle: u64) -> Option<Self> {
        OBJECTS.get(handle as i64).map(Self)
    }

    /// The next call on this communicator finds it at once.
    pub(crate) fn remember(self, file: &'static Words) {
        LAST.store((&raw const *file.group(self.0)).cast_mut(), Release);
    }

    /// One more collective operation begins: its number.
    #[inline(always)]
    pub(crate) fn next(self, file: &'static Words, function: u64, site: u64) -> u64 {
        QuickGroup(file.group(self.0)).next(function, site)
    }

    /// A collective operation has returned an error: whether the others have counted it, too, is not known.
    pub(crate) fn fail(self, file: &Words) {
        let number = file.get(self.0 + group::NUMBER);
        file.set(self.0 + group::NUMBER, number.wrapping_add(1 << group::FAILED_SHIFT));
    }

    /// The identity, and the number of the last collective operation.
    pub(crate) fn last(self, file: &Words) -> (u64, u64) {
        (file.get(self.0 + group::IDENTITY), file.get(self.0 + group::NUMBER))
    }

    /// The call of some processes is over: what is known of it stays, as long as there is room.
    pub(crate) fn end(self, file: &Words) {
        file.set(self.0 + group::KIND, kind::GONE);
    }

    /// The communicator has got a name.
    pub(crate) fn set_name(self, file: &Words, name: &str) {
        file.set_text(self.0 + group::NAME, group::NAME_WORDS, name.as_bytes(), false);
    }
}

/// A communicator's entry that is found at once: the first one's, which is the world's as a rule, or that of the last
/// communicator that was looked up.
#[derive(Clone, Copy)]
pub(crate) struct QuickGroup(&'static GroupWords);

type GroupWords = [AtomicU64; group::LENGTH];

/// The last communicator that was looked up; null if there was none.
static LAST: AtomicPtr<GroupWords> = AtomicPtr::new(null_mut());

impl QuickGroup {
    /// A communicator's, if it is one of the two. Entries of what is gone have no handle, and windows and files have others than
    /// communicators.
    #[inline(always)]
    pub(crate) fn of(comm: MPI_Comm) -> Option<Self> {
        let first = MEMORY.group(group::AREA);
        if is_handle(&first[group::HANDLE], comm) {
            return Some(Self(first));
        }
        // SAFETY: the pointer must be null or lead to an entry that stays: only `remember` writes it.
        let last = unsafe { LAST.load(Acquire).as_ref() };
        last.filter(|last| is_handle(&last[group::HANDLE], comm)).map(Self)
    }

    /// As [`Group::next`].
    #[inline(always)]
    pub(crate) fn next(self, function: u64, site: u64) -> u64 {
        let number = self.0[group::NUMBER].load(Relaxed).wrapping_add(1);
        let at = group::HISTORY + number as usize % group::HISTORY_WORDS;
        self.0[at].store(function | site << 32, Release);
        self.0[group::NUMBER].store(number, Release);
        number
    }
}

/// Is a word this handle?
#[inline(always)]
fn is_handle(word: &AtomicU64, comm: MPI_Comm) -> bool {
    if size_of::<MPI_Comm>() == size_of::<i32>() {
        arch::is_lower_half(word, comm.to_word())
    } else {
        arch::is_word(word, comm.to_word())
    }
}

/// A free entry, filled but for its kind, which makes it one. To be called with the lock.
fn fill(file: &Words, handle: u64, identity: u64) -> Option<usize> {
    /// Where the next entry of something that is gone is looked for: each of them stays as long as possible.
    static OLDEST: AtomicUsize = AtomicUsize::new(0);
    let with = |kind| {
        let first = OLDEST.load(Relaxed);
        let numbers = (0..group::COUNT).map(move |number| (first + number) % group::COUNT);
        numbers
            .map(|number| group::AREA + number * group::LENGTH)
            .find(|at| file.get(at + group::KIND) == kind)
    };
    let at = match with(0) {
        Some(at) => at,
        None => {
            let Some(at) = with(kind::GONE) else {
                file.mark_full(full::GROUPS);
                return None;
            };
            file.mark_full(full::GONE);
            file.set(at + group::KIND, 0);
            at
        }
    };
    OLDEST.store((at - group::AREA) / group::LENGTH + 1, Relaxed);
    for word in 0..group::LENGTH {
        file.set(at + word, 0);
    }
    file.set(at + group::HANDLE, handle);
    file.set(at + group::IDENTITY, identity);
    Some(at)
}

/// A communicator has been made, or is there from the start.
pub(crate) fn add_comm(comm: TrackedComm, handle: u64, groups: (Members, Option<Members>)) {
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(file) = file() else { return };
    let (Some(known), Some(entry)) = (comm.known(), ENTRIES.get(comm.number() as usize)) else {
        file.mark_full(full::GROUPS);
        return;
    };
    // What `MPI_Comm_get_parent` returns is there from its first call.
    if Group::of(comm).is_some_and(|Group(at)| file.get(at + group::HANDLE) == handle) {
        return;
    }
    // One handle means one communicator, and what had it before is gone.
    end_handle(file, handle, kind::COMMUNICATOR);
    if entry.load(Acquire) != 0 {
        return;
    }
    let Some(at) = fill(file, handle, known.identity) else { return };
    file.set_text(at + group::NAME, group::NAME_WORDS, known.name.as_bytes(), false);
    set_members(file, at + group::OWN, &groups.0);
    if let Some(other) = &groups.1 {
        set_members(file, at + group::OTHER, other);
    }
    file.set(at + group::KIND, kind::COMMUNICATOR);
    entry.store(((at - group::AREA) / group::LENGTH) as u8 + 1, Release);
}

/// There is a communicator that is not told apart, as there was no room, or as nobody knows what it is: others may know.
pub(crate) fn no_room(is_full: bool) {
    if let Some(file) = file() {
        file.mark_full(if is_full { full::GROUPS } else { full::GONE });
    }
}

/// A window or a file has been made, of a communicator.
pub(crate) fn add_object(what: u64, handle: u64, parent: Group) {
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(file) = file() else { return };
    end_handle(file, handle, what);
    // The call that has made it was the communicator's last one.
    let (identity, number) = parent.last(file);
    let identity = identity.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number << 2 | what);
    let Some(at) = fill(file, handle, identity) else { return };
    for word in group::NAME..group::LENGTH {
        file.set(at + word, file.get(parent.0 + word));
    }
    file.set(at + group::KIND, what);
    OBJECTS.insert(handle as i64, at);
}

/// What calls of some processes are operations of, by its identity.
pub(crate) fn meeting(file: &Words, identity: u64) -> Option<Group> {
    let all = (0..group::COUNT).map(|number| group::AREA + number * group::LENGTH);
    let is_it = |at: &usize| {
        file.get(at + group::IDENTITY) == identity && file.get(at + group::KIND) == kind::MEETING
    };
    all.filter(|_| identity != 0).find_map(|at| is_it(&at).then_some(Group(at)))
}

/// One more call of some processes begins: its number. `None` if there is no room.
pub(crate) fn meet(identity: u64, who: &Members, function: u64, site: u64) -> Option<u64> {
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = file()?;
    let mut all = (0..group::COUNT).map(|number| group::AREA + number * group::LENGTH);
    let known = all
        .find(|at| file.get(at + group::IDENTITY) == identity && file.get(at + group::KIND) != 0);
    let at = match known {
        Some(at) => at,
        None => {
            let at = fill(file, group::NO_HANDLE, identity)?;
            set_members(file, at + group::OWN, who);
            at
        }
    };
    // Before the kind, so that nobody sees it without the number.
    let number = Group(at).next(file, function, site);
    file.set(at + group::KIND, kind::MEETING);
    Some(number)
}

/// A communicator is gone.
pub(crate) fn end_comm(handle: u64) {
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = file() {
        end_handle(file, handle, kind::COMMUNICATOR);
    }
}

/// A window or a file is gone.
pub(crate) fn end_object(what: u64, handle: u64) {
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = file() {
        end_handle(file, handle, what);
        OBJECTS.remove(handle as i64);
    }
}

/// What a handle stood for is gone. Lists of members stay taken, as windows and files may share them.
fn end_handle(file: &Words, handle: u64, what: u64) {
    for number in 0..group::COUNT {
        let at = group::AREA + number * group::LENGTH;
        if file.get(at + group::KIND) == what && file.get(at + group::HANDLE) == handle {
            file.set(at + group::HANDLE, group::NO_HANDLE);
            file.set(at + group::KIND, kind::GONE);
            if what == kind::COMMUNICATOR {
                let entry =
                    ENTRIES.iter().find(|entry| usize::from(entry.load(Relaxed)) == number + 1);
                if let Some(entry) = entry {
                    entry.store(0, Release);
                }
            }
        }
    }
}

/// Writes who is in a group.
fn set_members(file: &Words, at: usize, who: &Members) {
    file.set(at + group::SIZE, who.size().into());
    if let Members::Regular { first, stride, .. } = who {
        file.set(at + group::FIRST, (*first).into());
        file.set(at + group::STRIDE, stride.to_word());
        file.set(at + group::FORM, group::REGULAR);
        return;
    }
    let size = who.size() as usize;
    let room = members::WORDS * 2;
    let taken = TAKEN.load(Acquire);
    if size > room - taken {
        file.mark_full(full::MEMBERS);
        return;
    }
    TAKEN.store(taken + size, Release);
    for (rank, half) in (0..who.size()).zip(taken..) {
        let member = u64::from(who.world_rank(rank).unwrap_or(group::NOBODY));
        let word = members::AREA + half / 2;
        let before = file.get(word);
        let merged = if half % 2 == 0 {
            before & !0xffff_ffff | member
        } else {
            before & 0xffff_ffff | member << 32
        };
        file.set(word, merged);
    }
    file.set(at + group::FIRST, taken as u64);
    file.set(at + group::FORM, group::LISTED);
}

/// Has this process a world of its own in the file? It is put there once.
pub(crate) fn is_first_world() -> bool {
    static DONE: AtomicBool = AtomicBool::new(false);
    !DONE.fetch_or(true, AcqRel)
}
