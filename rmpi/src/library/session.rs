use core::sync::atomic::{AtomicUsize, Ordering};

/// How many sessions there are in this process.
static SESSIONS: AtomicUsize = AtomicUsize::new(0);

/// Is there a session?
pub(super) fn any() -> bool {
    SESSIONS.load(Ordering::Relaxed) > 0
}
