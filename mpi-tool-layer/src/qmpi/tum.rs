//! A tool in the stack of TUM's library: its structures, which that library's own tools share, and how its calls
//! arrive at the tool's entries.
//!
//! The library opens a tool, asks `get_interceptions` for the names of its functions, and calls these with the
//! level and the stack behind MPI's arguments. All 360 of the tool's are the same few instructions, which
//! go to [`from_tum`](crate::arch::from_tum) and from there to the entry of the function.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::foreign::{ForeignLevel, ForeignTool};
use super::pcontrol::Pcontrol;
use super::thunk::{self, Arrival, Registers, ToTum};
use crate::host::output::say;
use crate::{FunctionId, arch};

/// TUM's `vector`: the levels, of which level 0 is the library.
#[repr(C)]
#[derive(Debug)]
pub struct Vector {
    /// One a level.
    pub items: *mut *mut DynamicLib,
    /// Room for so many.
    pub capacity: c_int,
    /// So many there are.
    pub total: c_int,
}

/// TUM's `cell`: the next level that has a function, null where there is none.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// Its function.
    pub func_ptr: *const c_void,
    /// Its number.
    pub level: c_int,
    /// Nobody's, in TUM's library. Ours: there is only MPI behind it.
    pub is_last: c_int,
}

/// How many functions TUM's QMPI has.
pub const TUM_FUNCTIONS: usize = 360;

/// TUM's `dynamic_lib`: a level.
#[repr(C)]
#[derive(Debug)]
pub struct DynamicLib {
    /// As much of the tool's path as there is room for.
    pub path: [u8; 100],
    /// What `dlopen` gave.
    pub handle: *mut c_void,
    /// What `get_interceptions` gave.
    pub interceptions: [*const c_char; TUM_FUNCTIONS],
    /// What comes after this level, by function.
    pub table: [Cell; TUM_FUNCTIONS],
    /// The tool's own.
    pub context: *mut c_void,
}

const _: () = {
    assert!(core::mem::offset_of!(DynamicLib, handle) == 104);
    assert!(core::mem::offset_of!(DynamicLib, interceptions) == 112);
    assert!(core::mem::offset_of!(DynamicLib, table) == 2992);
    assert!(core::mem::offset_of!(DynamicLib, context) == 8752);
    assert!(
        size_of::<DynamicLib>() == 8760 && size_of::<Vector>() == 16 && size_of::<Cell>() == 16
    );
};

/// A tool in the stack of TUM's library, with its levels.
pub struct TumTool {
    tool: &'static ForeignTool,
    /// By level, some at a time: see [`Some1024`].
    levels: [AtomicPtr<Some1024>; 1024],
    can_take_part: OnceLock<bool>,
}

/// A part of the levels, made when one of them is first called.
type Some1024 = [AtomicPtr<ForeignLevel>; 1024];

impl TumTool {
    /// One without levels.
    pub const fn new(tool: &'static ForeignTool) -> Self {
        Self {
            tool,
            levels: [const { AtomicPtr::new(ptr::null_mut()) }; 1024],
            can_take_part: OnceLock::new(),
        }
    }

    /// Can the tool be a level in this process? If not, says why, once: the library then goes on without it.
    pub fn can_take_part(&self) -> bool {
        *self.can_take_part.get_or_init(|| match thunk::can_be_made() {
            Ok(()) => true,
            Err(error) => {
                let (name, _) = self.tool.own.tool_and_version();
                say(format_args!(
                    "{name}: this system does not let a process make code at run time ({error}), so TUM's library \
                     runs without this tool; this framework's libqmpi.so can run it"
                ));
                false
            }
        })
    }

    /// The level of a number, which is made at its first call.
    fn level(&self, v: *const Vector, level: c_int) -> &'static ForeignLevel {
        let number = usize::try_from(level).unwrap_or(usize::MAX);
        let some = self.levels.get(number / 1024).map(|some| some.load(Acquire));
        // SAFETY: the pointers must be null or of what stays. `make` has put there what it made, complete before it
        // was stored with `Release`, and nothing frees it.
        let made = some.and_then(|some| unsafe {
            let level = some.as_ref()?[number % 1024].load(Acquire);
            level.as_ref()
        });
        made.unwrap_or_else(|| self.make(v, level))
    }

    #[cold]
    fn make(&self, v: *const Vector, level: c_int) -> &'static ForeignLevel {
        static MAKING: Mutex<()> = Mutex::new(());
        let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        let number = usize::try_from(level).unwrap_or(usize::MAX);
        let Some(some) = self.levels.get(number / 1024) else {
            let (name, _) = self.tool.own.tool_and_version();
            say(format_args!(
                "{name}: TUM's library calls its level {level}, which no stack has; aborting"
            ));
            std::process::abort();
        };
        if some.load(Acquire).is_null() {
            let new: Box<Some1024> = Box::new([const { AtomicPtr::new(ptr::null_mut()) }; 1024]);
            some.store(Box::into_raw(new), Release);
        }
        // SAFETY: the pointer is not null: these levels were made just now, or before. They are never freed.
        let place = &unsafe { &*some.load(Acquire) }[number % 1024];
        // SAFETY: the pointer must be null or of a level that stays: it is what another thread has made meanwhile,
        // which is never freed.
        if let Some(level) = unsafe { place.load(Acquire).as_ref() } {
            return level;
        }
        let made = ForeignLevel::new(self.tool, number, |function, thunks| {
            let id = usize::from(function.tum_qmpi_id()?);
            // SAFETY: the pointer must be null or of a `Vector`. TUM's library passes the address of its own, which
            // it has filled before it calls a tool.
            let stack = unsafe { v.as_ref() }?;
            if !usize::try_from(stack.total).is_ok_and(|total| number < total) {
                return None;
            }
            // SAFETY: `items` has `total` pointers, and `number` is below that; each is to a level with a table of
            // TUM's ids, of which this is one. Only the address of a cell is taken.
            let cell = unsafe { &raw const (**stack.items.add(number)).table[id] };
            let next = ToTum {
                cell,
                v,
                parameters: thunk::parameters(function),
                mpi: super::foreign::mpi(function),
            };
            Some(thunks.towards(Box::leak(Box::new(next)), arch::to_tum))
        });
        place.store(ptr::from_ref(made).cast_mut(), Release);
        made
    }
}

/// Where a call of TUM's library goes on.
///
/// # Safety
/// `registers` and `stack` have the words of a call of TUM's library, as [`from_tum`](crate::arch::from_tum) has
/// saved them: MPI's arguments of this function of the list, then a level and a pointer to TUM's structures, which
/// nobody writes to meanwhile.
pub(crate) unsafe extern "C" fn arrive(
    tool: &'static TumTool,
    function: u32,
    registers: &Registers,
    stack: *const u64,
) -> Arrival {
    let Some(function) = FunctionId::from_index(function as usize) else { std::process::abort() };
    // SAFETY: `behind` wants the words of a call with two arguments behind the parameters of MPI's function: the
    // caller promises such a call.
    let (level, v) = unsafe { thunk::behind(thunk::parameters(function), registers, stack) };
    let entry = tool.tool.entries[function as usize].0;
    if function == FunctionId::MPI_Pcontrol {
        // SAFETY: `of` wants null or TUM's structures, which the library has passed: the caller promises that.
        let call = unsafe { Pcontrol::of(level, v) };
        let level = tool.level(v, call.level);
        let place = if call.goes_on { level.place(function) } else { level.ends_here() };
        return Arrival { entry, place };
    }
    Arrival { entry, place: tool.level(v, level).place(function) }
}

/// An id of TUM's list, where there is one.
#[doc(hidden)]
#[macro_export]
macro_rules! __tum_id {
    (-) => {
        None
    };
    ($id:literal) => {
        Some($id)
    };
}

/// A function as TUM's library calls it.
#[doc(hidden)]
#[macro_export]
macro_rules! __qmpi_tum {
    (- $c_name:ident) => {};
    ($tum:literal $c_name:ident) => {
        const _: () = {
            #[unsafe(export_name = concat!("mpi_tool_", stringify!($c_name)))]
            #[unsafe(naked)]
            unsafe extern "C" fn arrives() {
                $crate::__jump_with! {
                    both TUM, $crate::FunctionId::$c_name as u32, $crate::qmpi::from_tum
                }
            }
        };
    };
}
