//! Calls of Fortran programs.
//!
//! A tool exports entry points for Fortran (`mpi_send_`, `mpi_send_f08_`). They convert the arguments
//! as the standard says and call the tool's own C function, so that layers know of C only. One
//! converter serves all functions: it goes by what the list says of each parameter.
//!
//! Callbacks and attributes are of a language: for the functions that take them, the end of the
//! stack calls MPI's own Fortran function, and the levels above see a C call all the same.

mod conversion;
mod exports;
mod held;
mod language;
mod plan;
mod process;
mod to_c;
mod to_fortran;
mod values;

use core::cell::Cell;
use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};
use std::ffi::CString;

use mpi_sys::{ABI, Abi, pmpi};

pub use crate::arch::fortran_call as call;
use conversion::{Arguments, Conversion, NOTHING};
use held::Held;
pub use language::PendingSlot;
pub(crate) use language::bottom;
use language::by_language;
use plan::MOST;
use process::Fortran;

use crate::FunctionId;
use crate::host::linker::{Scope, find};
use crate::host::output::say;
use crate::host::slot::find_next;

/// How an entry point gets its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As `mpif.h` and the module `mpi` have it: addresses.
    Mpif,
    /// As the module `mpi_f08` has it: addresses; the error code is optional.
    F08,
    /// The same, but buffers are descriptors (`CFI_cdesc_t`).
    F08Descriptors,
    /// As C has it.
    Same,
}

/// One entry point of a tool.
pub struct Entry {
    function: FunctionId,
    form: Form,
    name: &'static CStr,
    target: Target,
    /// The [found](Target::Found) target, once it has been looked for.
    found: AtomicPtr<c_void>,
    /// Where MPI's own function of this name is, once it has been looked for.
    next: AtomicPtr<c_void>,
}

/// The C function that an entry point calls.
#[derive(Clone, Copy)]
pub enum Target {
    /// The one that an application that calls it by its name finds, which is looked for when it is first called: most programs
    /// call none of them from Fortran, and hundreds of references would be looked up at each start.
    Found,
    Slot(*const AtomicPtr<c_void>),
}

// SAFETY: threads share the addresses only of slots of static tables, which are atomic. The other fields are `Sync`.
unsafe impl Sync for Entry {}

impl Entry {
    pub const fn new(
        function: FunctionId,
        form: Form,
        name: &'static CStr,
        target: Target,
    ) -> Self {
        let [found, next] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];
        Self { function, form, name, target, found, next }
    }

    /// Null if there is none, which would be strange: the tool itself exports one.
    fn target(&self) -> *const c_void {
        match self.target {
            Target::Found => {
                let mut found = self.found.load(Relaxed);
                if found.is_null() {
                    found = find(Scope::Default, self.function.c_name());
                    self.found.store(found, Relaxed);
                }
                found
            }
            // SAFETY: the pointer must be of an atomic that stays: `Slot` has it from `NextTable::slot` of a static
            // table.
            Target::Slot(slot) => unsafe { (*slot).load(Relaxed) },
        }
    }

    /// MPI's own function, or the next tool's.
    fn next(&self) -> *mut c_void {
        let mut next = self.next.load(Relaxed);
        if next.is_null() {
            next = find_next(self.name);
            if next.is_null() {
                next = crate::host::linker::find_in_fortran_library(self.name);
            }
            self.next.store(next, Relaxed);
        }
        next
    }

    /// The function of MPI's Fortran library that no tool sees.
    fn bottom(&self) -> *mut c_void {
        let name = self.name.to_str().unwrap_or("");
        let hidden = match ABI {
            Abi::Mpich if self.form != Form::Mpif => name.replacen("mpi_", "pmpir_", 1),
            _ if name.starts_with('M') => format!("P{name}"),
            _ => format!("p{name}"),
        };
        let found =
            CString::new(hidden).map_or(ptr::null_mut(), |name| find(Scope::Default, &name));
        if found.is_null() { self.next() } else { found }
    }
}

/// Where a call of Fortran goes on: a function to jump to, or null and what to return.
#[repr(C)]
pub struct Outcome {
    next: *const c_void,
    result: usize,
}

/// Converts a call and makes it.
///
/// # Safety
/// `registers` has the registers of a call of the entry that may have arguments, and `stack` points to the arguments on the stack. The
/// call is as the interface of the entry's function in Fortran says, and its arguments are as the MPI standard asks.
pub(crate) unsafe extern "C-unwind" fn convert(
    registers: *const usize,
    stack: *const usize,
    entry: &'static Entry,
) -> Outcome {
    let arguments = Arguments { registers, stack };
    let Some(fortran) = Fortran::get() else { return pass_on(entry) };
    let target = entry.target();
    if target.is_null() {
        return Outcome { next: next_or_abort(entry), result: 0 };
    }
    let written = [const { Cell::new(NOTHING) }; MOST];
    // SAFETY: all of these want the arguments of a call of this entry, which the caller promises. The target has C's
    // prototype of the function, and `count` is the number of its parameters. The error code is an `INTEGER` of
    // Fortran's, which MPI's own function would write, too.
    unsafe {
        let mut conversion = Conversion::new(fortran, entry, arguments, &written);
        if !conversion.convert() {
            return Outcome { next: next_or_abort(entry), result: 0 };
        }
        let held = Held::of(&conversion);
        let count = conversion.plan.hows.len();
        let result = if conversion.plan.language_bound {
            by_language(&mut conversion, count) as usize
        } else {
            let words = conversion.words;
            let result = Conversion::call(target, &words, count);
            if conversion.plan.has_error {
                conversion.to_fortran(result as c_int);
            }
            held.after(&mut conversion, result as c_int);
            result
        };
        let error = conversion.error();
        if !error.is_null() {
            error.write_unaligned(result as c_int);
        }
        Outcome { next: ptr::null(), result }
    }
}

/// Calls of Fortran go to MPI unseen.
#[cold]
fn pass_on(entry: &'static Entry) -> Outcome {
    static SAID: AtomicBool = AtomicBool::new(false);
    // Without MPI it is somebody else's function of this name.
    if pmpi::available(FunctionId::MPI_Init as usize) && !SAID.swap(true, Relaxed) {
        say(format_args!(
            "mpi-tool: the MPI of this program has another ABI than the tool was built for, or its \
             Fortran library was loaded privately: the tool does not see calls from Fortran"
        ));
    }
    Outcome { next: next_or_abort(entry), result: 0 }
}

/// MPI's own function, or the next tool's. Where there is none, the call cannot go on, and success would be a lie.
fn next_or_abort(entry: &'static Entry) -> *const c_void {
    let next = entry.next();
    if next.is_null() {
        say(format_args!(
            "mpi-tool: {} is not in any library of this process; aborting",
            entry.name.to_string_lossy()
        ));
        std::process::abort();
    }
    next
}
