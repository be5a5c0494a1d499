//! What MPI's library and this tool do themselves, which the runtime is not to look at, and how calls order threads.

use core::cell::Cell;
use core::sync::atomic::AtomicU8;

use super::runtime::{self, Runtime};
use super::{is_on, reports};
use crate::messages;

thread_local! {
    /// How many things this thread is in whose accesses are not looked at.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// When the thread ends.
    static END: End = const { End };
}

/// A call that is left by a jump, or by the end of the process, leaves the thread as it was in it; the runtime would end the
/// process for that, with a status of its own.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        look_again();
    }
}

/// All that the thread does is looked at from now on.
fn look_again() {
    let depth = DEPTH.replace(0);
    if depth > 0
        && let Some(runtime) = runtime::get()
    {
        (0..depth).for_each(|_| runtime.look_again());
    }
}

/// The process is about to end by `_exit`, at which no thread ends: as [`End`].
pub(crate) fn ends_at_once() {
    if is_on() {
        look_again();
    }
}

/// Nothing that this thread does is looked at until this is dropped.
pub(crate) struct Quiet {
    runtime: &'static Runtime,
    /// The call may be ordered with those of other threads.
    is_call: bool,
}

impl Quiet {
    /// If the runtime is there.
    #[inline(always)]
    pub(crate) fn begin() -> Option<Self> {
        if is_on() { Self::begin_slowly() } else { None }
    }

    #[cold]
    fn begin_slowly() -> Option<Self> {
        let runtime = runtime::get()?;
        // A thread that is ending has had its end already: it is in nothing that could be left by a jump.
        _ = END.try_with(|_| ());
        DEPTH.set(DEPTH.get() + 1);
        runtime.look_away();
        Some(Self { runtime, is_call: false })
    }

    /// It is of a call of MPI that begins.
    #[cold]
    pub(crate) fn is_of_call(&mut self) {
        self.is_call = true;
        reports::tell();
        release_to_calls(self.runtime);
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if self.is_call {
            reports::tell();
            if messages::has_threads() {
                self.runtime.acquire(&CALLS);
            }
        }
        let depth = DEPTH.get();
        if depth > 0 {
            DEPTH.set(depth - 1);
            self.runtime.look_again();
        }
    }
}

/// A message orders threads that send and receive it, by way of other processes, too, and the runtime does not see it. So what a
/// thread has done before a call counts as done before what other threads do after later calls, and so does an operation that is
/// over. That hides races, and makes up none.
static CALLS: AtomicU8 = AtomicU8::new(0);

/// What this thread, or fiber, has done is before what threads do after calls that end from now on.
pub(super) fn release_to_calls(runtime: &Runtime) {
    if messages::has_threads() {
        runtime.release(&CALLS);
    }
}
