//! Who else may call MPI in a process whose level allows several threads: nobody, as long as it has only the thread that has started
//! MPI, and those that MPI has made meanwhile.

use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::fs;

use crate::findings::rank;
use crate::shared::shared;

/// The threads that a process has.
#[repr(C)]
pub(super) struct Tasks {
    process: AtomicU32,
    /// This tool's own one.
    helper: AtomicU32,
    /// A hash of the threads that were there when MPI had started, all of which are known; [`ANY`] if one is not; 0 if no other
    /// one may call MPI.
    known: AtomicU64,
}

/// Any thread may call MPI.
const ANY: u64 = 1;

/// When MPI started, the process had one thread.
static WAS_ALONE: AtomicBool = AtomicBool::new(false);

/// The thread that has started MPI, where others may call it; 0 else.
static OWNER: AtomicUsize = AtomicUsize::new(0);

fn this_thread() -> usize {
    // SAFETY: `pthread_self` asks for nothing, and returns the calling thread's number.
    unsafe { libc::pthread_self() as usize }
}

/// Is this the thread that has started MPI, where others may call it?
#[cold]
pub(super) fn is_owner() -> bool {
    let owner = OWNER.load(Relaxed);
    owner != 0 && owner == this_thread()
}

/// The threads of a process, but for one; `None` if they cannot be seen.
fn of_process(process: u32, helper: u32) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let number = entry.ok()?.file_name().to_str()?.parse().ok()?;
        if number != helper {
            all.push(number);
        }
    }
    all.sort_unstable();
    Some(all)
}

fn hash(tasks: &[u32]) -> u64 {
    let mix = |hash: u64, task: &u32| {
        let mixed = (hash ^ u64::from(*task)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 31
    };
    tasks.iter().fold(0x1234_5678_9abc_def1, mix) | 2
}

/// MPI is about to start.
pub(crate) fn starting() {
    let tasks = of_process(std::process::id(), 0);
    WAS_ALONE.store(tasks.is_some_and(|tasks| tasks.len() == 1), Relaxed);
}

/// MPI has started in this thread, and others may call it.
pub(super) fn note_own() {
    let Some(own) = shared().ranks.get(rank() as usize) else { return };
    OWNER.store(this_thread(), Relaxed);
    let process = std::process::id();
    let known = of_process(process, 0).filter(|_| WAS_ALONE.load(Relaxed));
    own.tasks.process.store(process, Relaxed);
    own.tasks.known.store(known.map_or(ANY, |tasks| hash(&tasks)), Release);
}

/// This thread is the tool's, and calls no MPI.
pub(super) fn note_helper() {
    if let Some(own) = shared().ranks.get(rank() as usize) {
        // SAFETY: `gettid` takes nothing and always succeeds.
        own.tasks.helper.store(unsafe { libc::gettid() } as u32, Relaxed);
    }
}

impl Tasks {
    /// May no other thread than the one whose call is known call MPI?
    pub(super) fn has_one_caller(&self) -> bool {
        let known = self.known.load(Acquire);
        if known == 0 || known == ANY {
            return known == 0;
        }
        let now = of_process(self.process.load(Relaxed), self.helper.load(Relaxed));
        now.is_some_and(|tasks| hash(&tasks) == known)
    }
}
