//! The memory that the ranks of a host share: findings, collective operations under way, messages under way, and what
//! each rank waits for.
//!
//! It is a file in the run folder, mapped by all ranks. All bits zero is its first state, so nobody must initialise it.
//! Where it cannot be had, each process has such memory of its own, and finds what can be found without others.
//!
//! Each part is written under a lock of its own that is held for some instructions only. Who finds a lock taken for
//! long, as its holder was killed, goes on without.

use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use mpi_tool_layer::run::{Job, host, in_default_folder, named_folder};
use mpi_tool_layer::{InChild, MappedFile, make_room};

use crate::accesses;
use crate::collectives::{Broken, Slot as CollectiveSlot};
use crate::exposures;
use crate::findings::Entry;
use crate::messages;
use crate::names;
use crate::places;
use crate::remotes;
use crate::waits::RankState;

/// How many findings are told apart.
pub(crate) const FINDINGS: usize = 256;
/// How many ranks of a host are known.
pub(crate) const RANKS: usize = 1024;
/// How many collective operations can be under way at once: buckets, and places in each.
pub(crate) const COLLECTIVES: (usize, usize) = (512, 8);

/// Bits of [`Shared::limits`]: what there was no room for.
pub(crate) mod limit {
    pub(crate) const FINDINGS: u32 = 1;
    pub(crate) const COLLECTIVES: u32 = 2;
    pub(crate) const MESSAGES: u32 = 4;
    pub(crate) const HOSTS: u32 = 8;
    pub(crate) const RANKS: u32 = 16;
    /// Nobody can know any more which messages belong together.
    pub(crate) const ORDER: u32 = 32;
    pub(crate) const ACCESSES: u32 = 64;
    /// A program calls functions of messages past the tools.
    pub(crate) const UNSEEN: u32 = 128;
    /// Or functions that other things depend on.
    pub(crate) const UNSEEN_OTHERS: u32 = 256;
    /// Messages cannot be told apart.
    pub(crate) const DOUBT: u32 = ORDER | UNSEEN | UNSEEN_OTHERS;
    /// Communicators with processes on several hosts that have no shadow.
    pub(crate) const SHADOWS: u32 = 512;
    /// One-sided operations, of processes on several hosts.
    pub(crate) const ONE_SIDED: u32 = 1024;
    /// Deadlocks, likewise.
    pub(crate) const DEADLOCKS: u32 = 2048;
    /// Who has posted windows for whom.
    pub(crate) const EXPOSURES: u32 = 4096;
    /// A sanitizer that does not tell the tool what it reports.
    pub(crate) const SANITIZER: u32 = 8192;
    /// Some of what it reports could not be kept.
    pub(crate) const SANITIZER_LOST: u32 = 16384;
    /// It does not see how threads are ordered.
    pub(crate) const SANITIZER_ORDER: u32 = 32768;
}

/// A lock that is held for some instructions: by nobody, [`HELD`], or by a process that must be gone ([`LOST`]).
#[repr(transparent)]
pub(crate) struct Lock(AtomicU32);

const HELD: u32 = 1;
const LOST: u32 = 2;

/// Whoever holds a lock for so long was ended in between, or stopped. Others than these are only without a processor, as on a
/// busy machine.
const PATIENCE: Duration = Duration::from_secs(2);

/// The lock is released when this is dropped.
pub(crate) struct Held<'a>(&'a Lock);

impl Lock {
    /// Takes the lock; `None` if that lasts for so long that whoever holds it must be gone.
    pub(crate) fn take(&self) -> Option<Held<'_>> {
        for _ in 0..64 {
            if let Some(held) = self.try_take() {
                return Some(held);
            }
            core::hint::spin_loop();
        }
        self.take_slowly()
    }

    fn try_take(&self) -> Option<Held<'_>> {
        // A `Held` that nobody has taken would release the lock of who has.
        self.0.compare_exchange(0, HELD, Acquire, Relaxed).is_ok().then(|| Held(self))
    }

    #[cold]
    #[inline(never)]
    fn take_slowly(&self) -> Option<Held<'_>> {
        let begin = Instant::now();
        // Nobody waits a second time.
        while self.0.load(Relaxed) != LOST {
            if let Some(held) = self.try_take() {
                return Some(held);
            }
            match begin.elapsed() {
                time if time > PATIENCE => {
                    let _ = self.0.compare_exchange(HELD, LOST, Relaxed, Relaxed);
                    break;
                }
                time if time > Duration::from_millis(1) => {
                    std::thread::sleep(Duration::from_micros(50));
                }
                _ => std::thread::yield_now(),
            }
        }
        None
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Release);
    }
}

/// Places that share a lock.
#[repr(C)]
pub(crate) struct Bucket<T, const N: usize> {
    pub(crate) lock: Lock,
    pub(crate) slots: [T; N],
}

/// All of it: atomics only, so that whatever others write, each load gives some number.
#[repr(C)]
pub(crate) struct Shared {
    /// How many processes have come.
    pub(crate) joined: AtomicU32,
    /// How many of them have come to `MPI_Finalize`.
    pub(crate) finalizing: AtomicU32,
    /// How many of them have been through `MPI_Finalize`.
    pub(crate) finalized: AtomicU32,
    /// Processes that end.
    pub(crate) ended: AtomicU32,
    /// How many have ended in the middle of MPI.
    pub(crate) broken_off: AtomicU32,
    /// The size of the world.
    pub(crate) size: AtomicU32,
    /// Tells this memory from that of other hosts.
    id: AtomicU64,
    /// If all hosts' findings are in one report, at the host of rank 0: how many there are here, plus 1.
    pub(crate) merged: AtomicU32,
    /// How many faults that report has.
    pub(crate) faults: AtomicU32,
    /// Nobody can find this memory any more.
    is_hidden: AtomicBool,
    /// Is rank 0 of the world one of these processes, so that this host's report is the first one?
    pub(crate) has_first: AtomicBool,
    /// Has one of these processes several threads that may call MPI at once?
    pub(crate) has_threads: AtomicBool,
    pub(crate) limits: AtomicU32,
    pub(crate) broken: Broken,
    pub(crate) findings_lock: Lock,
    pub(crate) findings_count: AtomicU32,
    pub(crate) findings: [Entry; FINDINGS],
    pub(crate) ranks: [RankState; RANKS],
    pub(crate) collectives: [Bucket<CollectiveSlot, { COLLECTIVES.1 }>; COLLECTIVES.0],
    pub(crate) messages: messages::Table,
    pub(crate) probed: messages::Probed,
    pub(crate) accesses: accesses::Table,
    pub(crate) exposures: exposures::Table,
    pub(crate) remotes: remotes::Table,
    pub(crate) names: names::Table,
    pub(crate) python: places::Python,
}

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(core::ptr::null_mut());
static PATH: OnceLock<PathBuf> = OnceLock::new();
/// This process has memory of its own only.
static ALONE: AtomicBool = AtomicBool::new(false);

/// The memory. Before MPI starts, it is the process's own.
pub(crate) fn shared() -> &'static Shared {
    let shared = SHARED.load(Acquire);
    if shared.is_null() {
        return own();
    }
    // SAFETY: the pointer must lead to a `Shared` that stays: `join` and `own` have mapped it for as long as the process
    // lives, and any bits are a `Shared`, which consists of atomics.
    unsafe { &*shared }
}

/// Memory of this process's own.
#[cold]
fn own() -> &'static Shared {
    static OWN: OnceLock<usize> = OnceLock::new();
    let address = *OWN.get_or_init(|| alone().unwrap_or(0));
    assert!(address != 0, "there is memory for the checker's tables");
    // SAFETY: the pointer must lead to a `Shared` that stays: `map` has given the address of zeroed memory of this size, which is
    // there for as long as the process lives.
    unsafe { &*core::ptr::with_exposed_provenance::<Shared>(address) }
}

/// Before MPI starts: this process joins the others of its job. Is it the first one? A reason if it cannot.
pub(crate) fn join() -> Result<bool, String> {
    let job = Job::of_this_process();
    let world = job.world.replace(['/', ' '], "_");
    let name = format!("{}-{world}.check", host());
    let open = |folder: &Path| open(&folder.join(&name));
    let opened = match named_folder() {
        Some(folder) => fs::create_dir_all(&folder)
            .and_then(|()| open(&folder))
            .map_err(|error| format!("{}: {error}", folder.display())),
        None => in_default_folder(&job, open),
    };
    match opened {
        Ok((address, path)) => {
            let _ = PATH.set(path);
            SHARED.store(core::ptr::with_exposed_provenance_mut(address), Release);
            Ok(shared().joined.fetch_add(1, AcqRel) == 0)
        }
        Err(problem) => {
            ALONE.store(true, Relaxed);
            shared().joined.fetch_add(1, AcqRel);
            Err(problem)
        }
    }
}

/// The file, opened or made, and mapped.
fn open(path: &Path) -> io::Result<(usize, PathBuf)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
    // Two processes may do it at once.
    if let Err(problem) = make_room(&file, size_of::<Shared>() as u64) {
        let _ = fs::remove_file(path);
        return Err(problem);
    }
    // Nothing is checked in a child.
    let mapped = MappedFile::new(&file, 0, size_of::<Shared>(), InChild::Zeros)?;
    Ok((mapped.address().as_ptr().expose_provenance(), path.to_owned()))
}

/// Zeroed memory of the size of [`Shared`], of this process alone: its address.
fn alone() -> io::Result<usize> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: `mmap` may choose the address, so nothing that is there is lost.
    let address =
        unsafe { libc::mmap(core::ptr::null_mut(), size_of::<Shared>(), protection, flags, -1, 0) };
    match address == libc::MAP_FAILED {
        true => Err(io::Error::last_os_error()),
        false => Ok(address.expose_provenance()),
    }
}

/// A number that the processes with the same memory have, and no others.
pub(crate) fn host_id() -> u64 {
    let mut hasher = DefaultHasher::new();
    (host(), std::process::id(), SystemTime::now()).hash(&mut hasher);
    let own = hasher.finish() | 1;
    let before = shared().id.compare_exchange(0, own, AcqRel, Acquire);
    before.map_or_else(|id| id, |_| own)
}

/// MPI has started a world of this process alone, though its launcher has started others, too: it has nothing in common with
/// them.
pub(crate) fn leave() {
    remove();
    shared().joined.fetch_sub(1, AcqRel);
    let own = core::ptr::from_ref(own()).cast_mut();
    SHARED.store(own, Release);
    shared().joined.fetch_add(1, AcqRel);
}

/// MPI has started. If all processes that share the memory have it, `are_all_here` says, or that is known by their number, the
/// file is removed: the memory goes when the last of them ends, in whatever way.
pub(crate) fn hide(are_all_here: bool) {
    let shared = shared();
    if are_all_here || shared.joined.load(Acquire) == shared.size.load(Relaxed) {
        remove();
    }
}

/// Nobody needs to find the file any more.
pub(crate) fn remove() {
    let Some(path) = PATH.get() else { return };
    // Another program of the job's may have made a file of this name since.
    if shared().is_hidden.swap(true, AcqRel) {
        return;
    }
    let _ = fs::remove_file(path);
    if named_folder().is_none()
        && let Some(folder) = path.parent()
    {
        let _ = fs::remove_dir(folder);
        let _ = folder.parent().map(fs::remove_dir);
    }
}

impl Shared {
    /// Are all processes of the world here, so that what is not here does not exist?
    pub(crate) fn is_whole(&self) -> bool {
        let size = self.size.load(Relaxed);
        size != 0 && self.joined.load(Relaxed) == size && !ALONE.load(Relaxed) || size == 1
    }

    /// The name of this host, if ranks of the world are on others, and the report is not of all.
    pub(crate) fn one_of_hosts(&self) -> Option<String> {
        let size = self.size.load(Relaxed);
        let is_of_all = self.merged.load(Acquire) != 0 && self.has_first.load(Relaxed);
        (size > self.joined.load(Relaxed) && !ALONE.load(Relaxed) && !is_of_all).then(host)
    }

    /// Are all findings of this host in the report of another one?
    pub(crate) fn is_in_other_report(&self) -> bool {
        let merged = self.merged.load(Acquire);
        !self.has_first.load(Relaxed) && merged == self.findings_count.load(Acquire) + 1
    }

    /// There was no room for something.
    pub(crate) fn reached(&self, limit: u32) {
        if self.limits.load(Relaxed) & limit != limit {
            self.limits.fetch_or(limit, Relaxed);
        }
    }

    pub(crate) fn limits(&self) -> u32 {
        self.limits.load(Relaxed)
    }

    pub(crate) fn has_reached(&self, limit: u32) -> bool {
        self.limits.load(Relaxed) & limit != 0
    }
}

/// Text in shared memory.
#[repr(C)]
pub(crate) struct Text<const N: usize> {
    length: AtomicU32,
    bytes: [AtomicU8; N],
}

impl<const N: usize> Text<N> {
    pub(crate) fn set(&self, text: &str) {
        let mut length = text.len().min(N);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        for (to, from) in self.bytes.iter().zip(&text.as_bytes()[..length]) {
            to.store(*from, Relaxed);
        }
        self.length.store(length as u32, Release);
    }

    pub(crate) fn get(&self) -> String {
        let length = (self.length.load(Acquire) as usize).min(N);
        let bytes: Vec<u8> = self.bytes[..length].iter().map(|byte| byte.load(Relaxed)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who is without a processor for a while has not gone.
    #[test]
    fn a_lock_that_is_held_for_long_is_waited_for() {
        static LOCK: Lock = Lock(AtomicU32::new(0));
        let held = LOCK.take().unwrap();
        let other = std::thread::spawn(|| LOCK.take().is_some());
        std::thread::sleep(Duration::from_millis(300));
        assert!(!other.is_finished());
        drop(held);
        assert!(other.join().unwrap());
    }

    #[test]
    fn a_lock_of_who_has_gone_is_waited_for_once() {
        static LOCK: Lock = Lock(AtomicU32::new(0));
        core::mem::forget(LOCK.take().unwrap());
        let begin = Instant::now();
        assert!(LOCK.take().is_none());
        assert!(begin.elapsed() >= PATIENCE);
        let begin = Instant::now();
        assert!(LOCK.take().is_none());
        assert!(begin.elapsed() < PATIENCE / 2);
    }
}
