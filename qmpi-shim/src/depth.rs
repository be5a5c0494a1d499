//! A tool that calls itself without end is told, in place of a crash.
//!
//! In a tool in C, `MPI_X` enters the stack at the top again. A tool that has no end to that would
//! use up the thread's stack. So calls that will come to such a tool first look whether there is much
//! of it left: two instructions, since each thread keeps how far down it may be.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use mpi_tool_layer::arch::{set_word_at_distance, word_at_distance};
use mpi_tool_layer::install::Answer;
use mpi_tool_layer::install::linker::locate;

/// What is left of a thread's stack when it is looked at: enough for the look, for reports, and for what a
/// tool may have in one call.
const MARGIN: usize = 256 << 10;
/// Stacks without a limit are looked at here, too.
const FAR: usize = 1 << 30;
/// So much of the stack is read then.
const READ: usize = 1 << 20;
/// A tool that is there so often, from one place of its code, calls itself.
const OFTEN: usize = 16;

// The thread's lowest address that needs no look. At first all do.
mpi_tool_layer::__thread_words! { "qmpi_lowest", value "-1" }

/// Where that is, from where the thread pointer points; the same for all threads.
pub(crate) fn offset() -> i32 {
    let distance = mpi_tool_layer::__thread_distance!("qmpi_lowest");
    i32::try_from(distance).expect("static TLS is near the thread pointer")
}

fn lowest() -> usize {
    // SAFETY: a word of this thread's must be there: the one above is at this distance in each thread, aligned and
    // initialised, and only its thread writes it.
    unsafe { word_at_distance(offset().into()) as usize }
}

fn set_lowest(lowest: usize) {
    // SAFETY: a word of this thread's must be there, to which nobody has a reference: the one above, which only its
    // thread reads or writes. Any number is one.
    unsafe { set_word_at_distance(offset().into(), lowest as u64) };
}

/// The foreign tools: where each is loaded, and what to call it.
static TOOLS: OnceLock<HashMap<usize, String>> = OnceLock::new();

/// Makes foreign tools known: a function of each, and what to call it.
pub(crate) fn watch(tools: impl Iterator<Item = (*const c_void, String)>) {
    let mut known = HashMap::new();
    for (function, name) in tools {
        if let Some(base) = loaded_at(function.addr()) {
            known.entry(base).or_insert(name);
        }
    }
    let _ = TOOLS.set(known);
}

/// Where the shared object is loaded that an address is in.
pub(crate) fn loaded_at(address: usize) -> Option<usize> {
    locate(address).map(|object| object.base())
}

/// Where calls go that are deep in the stack, with the function that they were for as context.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn look() {
    mpi_tool_layer::__ask_first! { ask }
}

extern "C" fn ask(_: c_int, next: *const c_void) -> Answer {
    let here = ptr::from_ref(&next).addr();
    // Once, but for the first call of a thread. A stack of the application's own making is anywhere.
    let first = lowest() == usize::MAX;
    set_lowest(0);
    if let Some(stack) = stack().filter(|stack| stack.contains(&here)) {
        let limit = (stack.start + MARGIN).max(stack.end.saturating_sub(FAR));
        if first && here > limit {
            set_lowest(limit);
        } else if let Some(tool) = repeated(here..stack.end.min(here + READ)) {
            crate::say(format_args!(
                "{tool}: calls MPI through the top of the stack, and so calls itself without end; a \
                 tool reaches the next level by QMPI_Table_query, and MPI by PMPI_ functions"
            ));
            crate::say(format_args!("stopping: there is no memory left for further calls"));
            std::process::exit(1);
        }
    }
    Answer { next, result: 0 }
}

/// The calling thread's stack.
fn stack() -> Option<Range<usize>> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut size) = (ptr::null_mut(), 0);
    // SAFETY: `pthread_getattr_np` initialises the attributes where it returns 0, and only then are they asked,
    // and destroyed once. The other pointers are of locals.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let failed = libc::pthread_attr_getstack(attributes.as_ptr(), &mut start, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (failed == 0).then(|| start.addr()..start.addr() + size)
    }
}

/// The tool whose code is on a part of the stack most recently, and again and again.
fn repeated(stack: Range<usize>) -> Option<&'static str> {
    let tools = TOOLS.get()?;
    let mut times: HashMap<usize, (usize, &str)> = HashMap::new();
    let mut order = Vec::new();
    for address in stack.step_by(size_of::<usize>()) {
        // SAFETY: the read needs an aligned word of memory that is there: it is on the thread's own stack,
        // between a local of the caller's and the stack's end. Other code may have left anything there, which
        // is read as a number.
        let word = unsafe { ptr::read_volatile(ptr::with_exposed_provenance::<usize>(address)) };
        if let Some((count, _)) = times.get_mut(&word) {
            *count += 1;
        } else if let Some(tool) = loaded_at(word).and_then(|base| tools.get(&base)) {
            times.insert(word, (1, tool));
            order.push(word);
        }
    }
    order.iter().map(|word| times[word]).find(|(count, _)| *count >= OFTEN).map(|(_, tool)| tool)
}
