//! The boundary to C: a panic of a layer ends the process and does not reach the application.

use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::FunctionId;
use crate::level::Level;

/// Calls the layer. (Something to be dropped when the stack unwinds would be less code in every function, but
/// a stack only unwinds if somebody catches, and applications in C do not.)
#[inline(always)]
pub fn boundary<R>(level: &Level, function: FunctionId, call: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result,
        Err(panic) => panicked(level, function, panic),
    }
}

#[cold]
#[inline(never)]
fn panicked(level: &Level, function: FunctionId, panic: Box<dyn Any + Send>) -> ! {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    level.panicked(function, message)
}
