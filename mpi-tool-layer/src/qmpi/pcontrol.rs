//! `MPI_Pcontrol` in the stack of TUM's library, which counts its levels wrong there.
//!
//! Every other function enters TUM's stack at the first level that has it, with that level's number, and each
//! level passes it on. `MPI_Pcontrol` is variadic, so the library hands it to all levels by a loop of its own:
//!
//! ```c
//! for (int i = 0; i < vector_total(&v) - 1; i = v.items[i]->table[_MPI_Pcontrol].level)
//!     v.items[i]->table[_MPI_Pcontrol].func_ptr(level, i, &v);
//! ```
//!
//! So a level's function gets the number of the level *in front of* it, the first one that of the library
//! itself, 0. A tool that believed this would count the call for a level 0 that does not exist, and, if it
//! passed the call on, each further level would see it several times. [`Pcontrol`] tells such a call from one
//! that comes from the level above.

use core::cell::Cell as LocalCell;
use core::ffi::{c_int, c_void};
use core::ops::Range;
use std::sync::OnceLock;

use crate::FunctionId;
use crate::host::neighbours::object_of;
use crate::qmpi::{Cell, Vector};

/// A call of a level's `MPI_Pcontrol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pcontrol {
    /// The level that the call is for.
    pub(super) level: c_int,
    /// Whether the level passes the call on. Where the loop hands it to further levels, it does not.
    pub(super) goes_on: bool,
    by_loop: bool,
}

std::thread_local! {
    /// The level that the thread's loop has last called, if that is one of this tool's.
    static LAST: LocalCell<c_int> = const { LocalCell::new(0) };
}

impl Pcontrol {
    /// Finds out which level a call is for that came with a number and a stack. To be asked once for each call, before
    /// the level gets it.
    ///
    /// # Safety
    /// `v` is null or points to TUM's structures: a [`Vector`] with `total` pointers, each null or to a level with
    /// its table. Nobody writes to them meanwhile.
    pub(super) unsafe fn of(given: c_int, v: *const Vector) -> Self {
        static OWN: OnceLock<Range<usize>> = OnceLock::new();
        let own = OWN.get_or_init(|| object_of((&raw const OWN).cast()));
        let is_own = |function: *const c_void| own.contains(&function.addr());
        // SAFETY: the pointer must be null or of a `Vector` that nobody writes to meanwhile, which the caller
        // promises.
        let (levels, last_level) = match unsafe { v.as_ref() } {
            // SAFETY: `next` wants TUM's structures, which the caller promises that `v` points to.
            Some(stack) => (|level| unsafe { next(stack, level) }, stack.total - 1),
            None => return Self { level: given, goes_on: true, by_loop: false },
        };
        let call = Self::find(given, last_level, levels, is_own, LAST.get());
        if call.by_loop {
            LAST.set(call.level);
        }
        call
    }

    /// The same for levels that are known by who comes behind each. `last` is what the loop has called last.
    fn find(
        given: c_int,
        last_level: c_int,
        next: impl Fn(c_int) -> Option<Cell>,
        is_own: impl Fn(*const c_void) -> bool,
        last: c_int,
    ) -> Self {
        let from_above = Self { level: given, goes_on: true, by_loop: false };
        // The loop's call is for the level behind the one whose number came.
        let Some(behind) = next(given).filter(|cell| is_own(cell.func_ptr)) else {
            return from_above;
        };
        // If the number is of a level that is not this tool's, only the loop can have called. If it is, two of
        // this tool's levels follow each other: then the loop comes to the second right after the first.
        let by_loop = given == 0 || !is_own(function_of(given, next)) || last == given;
        if !by_loop {
            return from_above;
        }
        Self { level: behind.level, goes_on: behind.level >= last_level, by_loop }
    }
}

/// What comes behind a level, if it is what such a table can have.
///
/// # Safety
/// The stack is TUM's structures: `total` pointers, each null or to a level with its table. Nobody writes to them
/// meanwhile.
unsafe fn next(stack: &Vector, level: c_int) -> Option<Cell> {
    let id: usize = FunctionId::MPI_Pcontrol.tum_qmpi_id()?.into();
    if !(0..stack.total).contains(&level) {
        return None;
    }
    // SAFETY: the level must be one of the stack's: `items` has `total` pointers, and `level` is below that; each is
    // null or of a level, as the caller promises.
    let cell = unsafe { (*stack.items.add(level as usize)).as_ref()?.table[id] };
    let is_further = (level + 1..stack.total).contains(&cell.level);
    (is_further && !cell.func_ptr.is_null()).then_some(cell)
}

/// The function that a level has, by the table of the one in front of it; null if there is none.
fn function_of(level: c_int, next: impl Fn(c_int) -> Option<Cell>) -> *const c_void {
    let mut at = 0;
    while let Some(cell) = next(at) {
        if cell.level >= level {
            return if cell.level == level { cell.func_ptr } else { core::ptr::null() };
        }
        at = cell.level;
    }
    core::ptr::null()
}

#[cfg(test)]
mod tests {
    use core::ptr;

    use super::{Cell, Pcontrol, c_int, c_void};

    /// What a stack hears of one call under TUM's loop. `tools` says for each level which tool it is of.
    fn heard(tools: &[usize], tool: usize) -> Vec<(c_int, bool)> {
        let next = |level: c_int| {
            let function = *tools.get(usize::try_from(level).unwrap())?;
            let func_ptr = ptr::without_provenance(100 + function);
            Some(Cell { func_ptr, level: level + 1, is_last: 0 })
        };
        let is_own = |function: *const c_void| function.addr() == 100 + tool;
        let mut last = 0;
        let mut heard = Vec::new();
        for round in 0..2 {
            heard.clear();
            for given in 0..tools.len() {
                if tools[given] != tool {
                    continue;
                }
                let total = tools.len() as c_int;
                let call = Pcontrol::find(given as c_int, total, next, is_own, last);
                assert!(call.by_loop, "{tools:?} {given} {round}");
                last = call.level;
                heard.push((call.level, call.goes_on));
            }
        }
        heard
    }

    #[test]
    fn the_loop_reaches_each_level_once() {
        assert_eq!(heard(&[0], 0), [(1, true)]);
        assert_eq!(heard(&[0, 0, 0], 0), [(1, false), (2, false), (3, true)]);
        assert_eq!(heard(&[1, 0, 0, 1, 0], 0), [(2, false), (3, false), (5, true)]);
        assert_eq!(heard(&[0, 0, 1], 0), [(1, false), (2, false)]);
    }

    #[test]
    fn a_call_from_the_level_above_is_for_the_level_that_it_says() {
        let next = |level: c_int| {
            let func_ptr = ptr::without_provenance(100);
            (level < 3).then_some(Cell { func_ptr, level: level + 1, is_last: 0 })
        };
        for level in 1..=3 {
            let call = Pcontrol::find(level, 3, next, |_| true, 0);
            assert_eq!((call.level, call.goes_on, call.by_loop), (level, true, false));
        }
        // Behind another tool's level: the levels 1 and 3 are not ours.
        let is_own = |function: *const c_void| function.addr() != 7;
        let mixed = |level: c_int| {
            let func_ptr = ptr::without_provenance(if level == 1 { 100 } else { 7 });
            (level < 3).then_some(Cell { func_ptr, level: level + 1, is_last: 0 })
        };
        let call = Pcontrol::find(2, 3, mixed, is_own, 2);
        assert_eq!((call.level, call.by_loop), (2, false));
    }
}
