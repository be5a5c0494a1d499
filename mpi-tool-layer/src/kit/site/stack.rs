//! A stack for looking up call sites: unwinding needs more of one than a thread of the application may have.

use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use crate::arch::call_on_stack;

/// Unwinding and reading debug information take some 40 KiB.
const LENGTH: usize = 512 << 10;

/// A stack's memory, which is never unmapped. Pages that cannot be used lie below it, so that an overflow ends the process.
pub(super) struct OwnStack(NonNull<u8>);

// SAFETY: a value must be usable in other threads. It is memory that no other value leads to.
unsafe impl Send for OwnStack {}

impl OwnStack {
    /// `None` if the system has no memory.
    pub(super) fn new() -> Option<Self> {
        const GUARD: usize = 64 << 10;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: `mmap` may choose the address, so nothing that is there is lost, and `mprotect` gets a part of what it has made.
        unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let begin = libc::mmap(core::ptr::null_mut(), GUARD + LENGTH, protection, flags, -1, 0);
            if begin == libc::MAP_FAILED || libc::mprotect(begin, GUARD, libc::PROT_NONE) != 0 {
                return None;
            }
            NonNull::new(begin.cast::<u8>().add(GUARD + LENGTH)).map(Self)
        }
    }

    /// Runs a function on it. A panic there ends the process, as it does in all that a tool does for the application.
    pub(super) fn run<R>(&mut self, function: impl FnOnce() -> R) -> R {
        /// What is called, and what has come of it.
        union Work<F, R> {
            function: ManuallyDrop<F>,
            result: ManuallyDrop<R>,
        }
        unsafe extern "C" fn run<F: FnOnce() -> R, R>(work: *mut c_void) {
            // SAFETY: the address must lead to work whose function is there: `OwnStack::run` gives it so, once.
            unsafe {
                let work = &mut *work.cast::<Work<F, R>>();
                let function = ManuallyDrop::take(&mut work.function);
                work.result = ManuallyDrop::new(function());
            }
        }
        fn entry<F: FnOnce() -> R, R>(_: &F) -> unsafe extern "C" fn(*mut c_void) {
            run::<F, R>
        }
        let entry = entry(&function);
        let mut work = Work { function: ManuallyDrop::new(function) };
        // SAFETY: the end is a page's, and the memory below it is this value's, which is borrowed here alone. `run` unwinds
        // nowhere, as it is `extern "C"`, and gets the work that it asks for. It has put the result there.
        unsafe {
            call_on_stack(self.0.as_ptr(), entry, (&raw mut work).cast());
            ManuallyDrop::into_inner(work.result)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LENGTH, OwnStack};

    #[test]
    fn what_runs_there_is_on_it() {
        let mut stack = OwnStack::new().unwrap();
        let end = stack.0.as_ptr().addr();
        let words = [1_u64, 2, 3].map(|word| word.to_string());
        let (here, sum) = stack.run(|| {
            let large = [7_u8; 100_000];
            let sum = std::hint::black_box(&large).iter().map(|byte| u64::from(*byte)).sum::<u64>();
            (
                (&raw const large).addr(),
                sum + words.iter().map(|word| word.len() as u64).sum::<u64>(),
            )
        });
        assert!((end - LENGTH..end).contains(&here));
        assert_eq!(sum, 700_003);
    }
}
