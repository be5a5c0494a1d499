//! A tool's level in a stack that is not this framework's: the calls of TUM's library and of MPICH end in the same
//! entries as those of `libqmpi.so`, which are called with a [`Place`] for each function.

use core::ffi::{CStr, c_int, c_void};
use std::ffi::CString;
use std::sync::PoisonError;

use mpi_sys::{MPI_SUCCESS, pmpi};

use super::stack::{Address, Created, Entry, LEVELS, LIFECYCLE, Place};
use super::thunk::Thunks;
use crate::FunctionId;
use crate::host::level::Level;
use crate::host::objects::Code;
use crate::host::output::say;
use crate::table::missing_address;

/// What such stacks need of a tool.
pub struct ForeignTool {
    /// The layer's functions, as in [`StackTool`](super::StackTool).
    pub entries: &'static [Address; FunctionId::COUNT],
    /// The tool as it is when preloaded, where it has no level.
    pub own: &'static Level,
    /// Makes an instance of the layer. The second argument is as in [`Request::speaks`](super::Request::speaks).
    pub create: fn(label: &'static CStr, speaks: bool) -> Created,
}

/// One level: an instance of the layer, and where it stands for each function.
pub(super) struct ForeignLevel {
    places: Box<[Place]>,
    ends_here: Place,
}

// SAFETY: threads share the pointers of places, which are constant once they are made. They are of code, and of
// instances of layers, which are `Sync` and live as long as the process.
unsafe impl Sync for ForeignLevel {}
// SAFETY: what a thread gets is as for `Sync`; and nothing is ever dropped.
unsafe impl Send for ForeignLevel {}

impl ForeignLevel {
    /// Makes the level of a number. `next_of` says by what thunk the next function is called, where there is more
    /// below than MPI.
    pub(super) fn new(
        tool: &'static ForeignTool,
        number: usize,
        next_of: impl FnMut(FunctionId, &mut Thunks) -> Option<*const c_void>,
    ) -> &'static Self {
        tool.own.silence();
        let (name, _) = tool.own.tool_and_version();
        let first = LEVELS.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        let label = if first { name.to_owned() } else { format!("{name}-{number}") };
        let label: &'static CStr =
            Box::leak(CString::new(label).unwrap_or_default().into_boxed_c_str());
        let made = (tool.create)(label, first);
        match Self::linked(&made, next_of) {
            Ok(level) => level,
            Err(error) => {
                // There is no way back: the stack has called this level, and nobody else knows the next one.
                say(format_args!(
                    "{name}: no memory for code of level {number} ({error}); aborting"
                ));
                std::process::abort();
            }
        }
    }

    fn linked(
        made: &Created,
        mut next_of: impl FnMut(FunctionId, &mut Thunks) -> Option<*const c_void>,
    ) -> std::io::Result<&'static Self> {
        let mut thunks = Thunks::room(2 * FunctionId::COUNT)?;
        let mut code = Code::default();
        // SAFETY: `below` must point to a table that stays. It is of the instance that `create` has just made, which
        // lives as long as the process.
        let below = unsafe { &*made.below };
        let places = FunctionId::all().map(|function| {
            let mut next = next_of(function, &mut thunks).unwrap_or_else(|| mpi(function));
            // SAFETY: `set` wants a function of this prototype: it is a thunk to one, which can be called when `done`
            // has returned, before anybody has this level; or MPI's own, or what stands for one that MPI lacks.
            unsafe { below.set(function, next) };
            let Address(watches) = LIFECYCLE[function as usize];
            // SAFETY: `at` wants an object that stays loaded: the entries of `LIFECYCLE` are this tool's own code.
            if !watches.is_null() && !Entry::of(unsafe { code.at(watches) }).does_nothing {
                let place = Box::leak(Box::new(Place { next, instance: made.level }));
                next = thunks.towards_entry(place, watches);
            }
            Place { next, instance: made.instance }
        });
        let places = places.collect();
        thunks.done()?;
        let ends_here =
            Place { next: pcontrol_ends_here as *const c_void, instance: made.instance };
        Ok(Box::leak(Box::new(Self { places, ends_here })))
    }

    /// Where the level stands for a call of `MPI_Pcontrol` that it does not pass on.
    pub(super) fn ends_here(&self) -> &Place {
        &self.ends_here
    }

    /// Where the level stands for a function.
    pub(super) fn place(&self, function: FunctionId) -> &Place {
        &self.places[function as usize]
    }
}

/// Stands for the function that is next where there is none: the stack itself calls the further levels.
extern "C" fn pcontrol_ends_here() -> c_int {
    MPI_SUCCESS
}

/// MPI's own function, or what stands for it where MPI lacks it.
pub(super) fn mpi(function: FunctionId) -> *const c_void {
    match pmpi::address(function as usize) {
        Some(address) => address.as_ptr().cast_const(),
        None => missing_address(function),
    }
}
