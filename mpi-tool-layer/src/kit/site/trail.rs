//! By what a thread's Python functions are known again, in few instructions: the words that led to them, in the order in which they were read.

use core::ffi::{c_int, c_void};
use core::ptr::with_exposed_provenance;

/// `PyGILState_GetThisThreadState`
pub(super) type GetState = unsafe extern "C" fn() -> *mut c_void;
/// `Py_IsFinalizing`
pub(super) type IsFinalizing = unsafe extern "C" fn() -> c_int;

/// What an interpreter says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Functions {
    pub(super) get_state: GetState,
    pub(super) is_finalizing: IsFinalizing,
}

impl Functions {
    /// The address of this thread's state; 0 of a thread that the interpreter does not know. None while the interpreter ends, and after that:
    /// it frees states of threads that are in no Python.
    pub(super) fn state(self) -> Option<u64> {
        // SAFETY: the functions take nothing and only read variables of the interpreter's and the thread's. They need no lock: they are for threads
        // that do not know whether they have one, and the interpreter is never unloaded.
        unsafe { ((self.is_finalizing)() == 0).then(|| (self.get_state)() as u64) }
    }
}

/// What led to the Python functions of a call.
#[derive(Debug)]
pub(crate) struct Trail {
    functions: Functions,
    /// The address of the thread's state; 0 of a thread that the interpreter does not know.
    state: u64,
    words: Box<[[u64; 2]]>,
    bytes: Box<[(u64, Box<[u8]>)]>,
}

impl Trail {
    pub(super) fn new(
        functions: Functions,
        state: u64,
        words: Vec<[u64; 2]>,
        bytes: Vec<(u64, Vec<u8>)>,
    ) -> Self {
        let bytes = bytes.into_iter().map(|(at, bytes)| (at, bytes.into())).collect();
        Self { functions, state, words: words.into(), bytes }
    }

    /// Is this thread in the same functions, at the same instructions?
    pub(super) fn is_there(&self) -> bool {
        if self.functions.state() != Some(self.state) {
            return false;
        }
        let word = |[at, word]: &[u64; 2]| {
            // SAFETY: a word must be there. The first one is in the state of this thread, which lives as long as the thread is in a call of Python's, and the
            // interpreter has just said that it has this one. Each further one is in something that a word before it leads to, which was the same
            // when the trail was made: in a frame, in a code object that a frame holds, or in what a code object holds. All of them live, and do not move,
            // while the thread is in this call.
            let found = unsafe { with_exposed_provenance::<u64>(*at as usize).read_volatile() };
            found == *word
        };
        self.words.iter().all(word)
            && self.bytes.iter().all(|(at, bytes)| {
                // SAFETY: as many bytes must be there: the words say that the object is as long as it was, and it does not change while it lives.
                let found = unsafe {
                    core::slice::from_raw_parts(
                        with_exposed_provenance::<u8>(*at as usize),
                        bytes.len(),
                    )
                };
                *found == **bytes
            })
    }
}
