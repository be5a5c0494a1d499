//! Libraries that wrap MPI, as rmpi does: a finding is at the line of the program that has called them, and not at theirs.
//!
//! Only of programs that contain one, more than the call's own place is found out. That shows in the names of their
//! functions.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};

use mpi_tool_layer::Site;
use rustc_hash::FxHashMap;

/// How many callers a call's site has.
static DEPTH: AtomicUsize = AtomicUsize::new(1);

/// How many callers a call's site has.
#[inline(always)]
pub(crate) fn depth() -> usize {
    DEPTH.load(Relaxed)
}

/// Before MPI starts: looks at what the program contains.
pub(crate) fn prepare() {
    if contains("/proc/self/exe", b"4rmpi").unwrap_or(false) {
        DEPTH.store(Site::DEEPEST, Relaxed);
    }
}

/// Is a function one of the library's, or of Rust's, which may stand in between?
pub(crate) fn is_wrapper(function: &str) -> bool {
    depth() > 1 && mpi_facts::is_wrapper(function)
}

/// Which of a site's places is the program's: found out once.
pub(crate) fn known_place(site: u32, find: impl FnOnce() -> Option<usize>) -> usize {
    static KNOWN: Mutex<Option<FxHashMap<u32, usize>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.get_or_insert_default().entry(site).or_insert_with(|| find().unwrap_or(0))
}

/// Has a program a symbol with this in its name? `None` if that cannot be read.
fn contains(path: &str, name: &[u8]) -> Option<bool> {
    let file = File::open(path).ok()?;
    let bytes = |at: u64, length: usize| {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    };
    // The header of a 64-bit ELF file, and the sections that it says there are.
    let header = bytes(0, 64)?;
    let number = |bytes: &[u8], at: usize, length: usize| {
        let bytes = bytes.get(at..at + length)?;
        Some(bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (sections, size, count) =
        (number(&header, 40, 8)?, number(&header, 58, 2)?, number(&header, 60, 2)?);
    for section in 0..count {
        const STRINGS: u64 = 3;
        let section = bytes(sections.checked_add(section * size)?, 64)?;
        if number(&section, 4, 4)? != STRINGS {
            continue;
        }
        let (mut at, mut left) = (number(&section, 24, 8)?, number(&section, 32, 8)?);
        while left >= name.len() as u64 {
            let piece = bytes(at, left.min(1 << 20) as usize)?;
            if piece.windows(name.len()).any(|window| window == name) {
                return Some(true);
            }
            // The name may begin in this piece and end in the next one.
            let step = (piece.len() - name.len() + 1) as u64;
            at += step;
            left -= step;
        }
    }
    Some(false)
}
