//! What becomes of a panic in a layer: it ends the process, names tool, function and rank, and never reaches the
//! application.
//!
//! A tool's functions are `extern "C-unwind"`: an exception of the application's, thrown by a callback that MPI has called, passes
//! through them as through MPI. A panic would, too. So the panic hook looks for the function on the stack, and ends the process
//! before anything unwinds. Nothing of this is in the functions themselves: `catch_unwind` in each of them is a third of what
//! compiling a tool takes, and would stop an exception.

use core::any::Any;
use core::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::FunctionId;
use crate::host::level::Level;
use crate::host::linker::{here, locate};
use crate::qmpi::{Address, only_level};

/// Calls the layer in a function that is not among the entries: `MPI_Pcontrol`'s.
pub(crate) fn boundary<R>(level: &Level, function: FunctionId, call: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result,
        Err(panic) => level.panicked(function, message(&*panic)),
    }
}

/// Has panics in a layer end the process, and say where: `entries` are the functions of its levels. Panics of threads that are
/// in no MPI function of the tool's go on as always.
pub fn name_panics(level: &'static Level, entries: &'static [Address; FunctionId::COUNT]) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
            previous(panic);
            if let Some(function) = function_on_stack(entries) {
                only_level().unwrap_or(level).panicked(function, message(panic.payload()));
            }
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// The innermost MPI function of this tool that has been called and has not returned.
fn function_on_stack(entries: &'static [Address; FunctionId::COUNT]) -> Option<FunctionId> {
    /// What the stack is searched for.
    struct Search {
        entries: &'static [Address; FunctionId::COUNT],
        found: Option<FunctionId>,
    }

    unsafe extern "C" {
        fn _Unwind_Backtrace(
            each: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
            argument: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(frame: *mut c_void) -> usize;
        fn _Unwind_FindEnclosingFunction(address: *mut c_void) -> *mut c_void;
    }

    /// # Safety
    /// For `_Unwind_Backtrace`, with a `Search` as its argument.
    unsafe extern "C" fn each(frame: *mut c_void, search: *mut c_void) -> c_int {
        const GO_ON: c_int = 0;
        const STOP: c_int = 5;
        // SAFETY: the pointer must be of a `Search` that nobody else uses: it is the one that `_Unwind_Backtrace` got.
        let search = unsafe { &mut *search.cast::<Search>() };
        // SAFETY: `_Unwind_GetIP` wants the frame that `_Unwind_Backtrace` passes.
        let inside = unsafe { _Unwind_GetIP(frame) }.wrapping_sub(1);
        // SAFETY: any address is right; of one that is in no function comes null.
        let function = unsafe { _Unwind_FindEnclosingFunction(inside as *mut c_void) };
        if function.is_null() {
            return GO_ON;
        }
        search.found = entry_of(function, search.entries).or_else(|| exported(function));
        if search.found.is_some() { STOP } else { GO_ON }
    }

    let mut search = Search { entries, found: None };
    // SAFETY: `each` is a function as it wants, and gets the `Search`, which is there meanwhile.
    unsafe { _Unwind_Backtrace(each, (&raw mut search).cast()) };
    search.found
}

/// Which function's entry begins here?
fn entry_of(address: *const c_void, entries: &[Address; FunctionId::COUNT]) -> Option<FunctionId> {
    FunctionId::from_index(entries.iter().position(|entry| entry.0 == address)?)
}

/// Which function does this tool export here?
fn exported(address: *const c_void) -> Option<FunctionId> {
    let (found, own) = (locate(address.addr())?, locate(here().addr())?);
    if found.base() != own.base() {
        return None;
    }
    // SAFETY: the object must stay loaded: it is this one, whose code runs.
    let (name, beginning) = unsafe { found.symbol() }?;
    if beginning != address {
        return None;
    }
    name.to_str().ok()?.parse().ok()
}
