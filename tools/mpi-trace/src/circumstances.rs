//! Under which circumstances calls may repeat what others have recorded: the same as when that was learned.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Why calls are not recorded in a few instructions, in the lowest bits, 0 as a rule; and above them how often handles
/// have lost their meaning.
static NOW: AtomicU64 = AtomicU64::new(UNREADY);

/// The application has switched tracing off.
pub(crate) const PAUSED: u64 = 1;
/// The user has left this rank out.
pub(crate) const LEFT_OUT: u64 = 2;
/// The user has left calls out.
pub(crate) const FILTERED: u64 = 4;
/// The clock is not the cycle counter, or nobody has looked yet.
pub(crate) const UNREADY: u64 = 8;
/// The user wants to know where calls come from.
pub(crate) const SITES: u64 = 16;
/// No circumstances are these: of what is not known.
pub(crate) const NEVER: u64 = 32;

const UNUSUAL: u64 = 63;

/// What they are.
#[inline(always)]
pub(crate) fn now() -> u64 {
    NOW.load(Relaxed)
}

/// May anything be learned in these, and be recorded in a few instructions?
pub(crate) const fn are_usual(now: u64) -> bool {
    now & UNUSUAL == 0
}

/// Calls are unusual for a reason from now on.
pub(crate) fn begin(why: u64) {
    NOW.fetch_or(why, Relaxed);
}

/// They are no longer.
pub(crate) fn end(why: u64) {
    NOW.fetch_and(!why, Relaxed);
}

/// Handles of communicators may mean others from now on.
pub(crate) fn lose_handles() {
    NOW.fetch_add(UNUSUAL + 1, Relaxed);
}
