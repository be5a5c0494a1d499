//! The functions of MPI under their own names, over `PMPI_*`: no tool sees these calls.
//!
//! A tool is loaded into processes that have no MPI, where an undefined symbol would be fatal, so
//! nothing here refers to the library by a strong symbol: the dynamic linker fills a table of weak
//! references, and a call goes through it. Where the table has a hole, [`available`] says so, and
//! where MPI was loaded later than the table, [`fill`] takes it from there. A tool's crate puts a table of its own into this
//! one's place, with one reference, and fills it from the library: 700 references are a large part of what it costs to load.

use core::arch::global_asm;
use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use mpi_facts::{FunctionId, mpi_functions};

use crate::current::address_handles;
#[doc(no_inline)]
pub use crate::current::*;
pub use crate::{c_char, c_int, c_void};

/// Is the library's `PMPI_` function of this number (its rank in the list) in this process?
pub fn available(number: usize) -> bool {
    address(number).is_some()
}

/// The address of the library's `PMPI_` function of this number, where there is one.
pub fn address(number: usize) -> Option<core::ptr::NonNull<c_void>> {
    core::ptr::NonNull::new(TABLE.get(number)?.load(Relaxed))
}

/// Fills the table's holes: `find` gets the names, `PMPI_Send`, and gives addresses or null.
///
/// # Safety
/// What `find` gives for a name is null, or the MPI library's function of that name, of the prototype that the list
/// has, and stays loaded as long as the process calls it.
pub unsafe fn fill(find: impl Fn(&CStr) -> *mut c_void) {
    // SAFETY: it wants what this function does.
    unsafe { fill_each(|function| find(function.pmpi_name())) };
}

/// The same: `find` gets the functions.
///
/// # Safety
/// As of [`fill`].
#[doc(hidden)]
pub unsafe fn fill_each(find: impl Fn(FunctionId) -> *mut c_void) {
    for (entry, function) in TABLE.iter().zip(FunctionId::all()) {
        if entry.load(Relaxed).is_null() {
            entry.store(find(function), Relaxed);
        }
    }
}

/// Puts another function in the place of the library's.
///
/// # Safety
/// The function has the prototype that the list has for this number, does what the library's does, for no tool to
/// see, and stays loaded as long as the process calls it.
#[doc(hidden)]
pub unsafe fn replace(number: usize, function: *mut c_void) {
    TABLE[number].store(function, Relaxed);
}

macro_rules! table {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        global_asm! {
            ".pushsection .data.mpi_sys_pmpi, \"aw\", @progbits",
            ".balign 8",
            ".hidden mpi_sys_pmpi",
            // A tool has a table of its own in this one's place, with one reference, and fills the rest itself.
            ".weak mpi_sys_pmpi",
            "mpi_sys_pmpi:",
            $(concat!(".weak P", stringify!($c_name), "\n.quad P", stringify!($c_name)),)*
            ".popsection",
        }

        $(
            #[doc = concat!("`P", stringify!($c_name), "`, since MPI-", stringify!($version), ".")]
            ///
            /// # Safety
            /// The function is [`available`], and its arguments, the thread and the time are such as the MPI standard
            /// asks of a caller.
            #[allow(non_snake_case)]
            #[inline]
            pub unsafe fn $c_name($($arg: $ty),*) -> $ret {
                let function = TABLE[FunctionId::$c_name as usize].load(Relaxed);
                // SAFETY: the transmute requires the address of a function of this prototype: the
                // linker put that of the library's function of this name there, or `fill` or `replace`,
                // whose callers promise the same. That it is not null, and what the function asks for,
                // is promised by the caller.
                unsafe {
                    core::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($ty),*) -> $ret>(
                        function,
                    )($($arg),*)
                }
            }
        )*
    };
}
mpi_functions! { [table] }

type Table = [AtomicPtr<c_void>; FunctionId::COUNT];

unsafe extern "C" {
    // Safe to name: it is defined above, with an entry for each function's number, as long as the process, and
    // relocated before any code runs; an entry is written by atomics only.
    #[link_name = "mpi_sys_pmpi"]
    safe static TABLE: Table;
}

/// The predefined handles that are addresses in the library: null in a process without MPI.
macro_rules! weak_handles {
    ([] $($name:ident: $ty:ty = $symbol:ident;)*) => {
        global_asm! {
            ".pushsection .data.rel.ro.mpi_sys_handles, \"aw\", @progbits",
            ".balign 8",
            $(concat!(
                ".weak ", stringify!($symbol), "\n",
                ".hidden mpi_sys_", stringify!($name), "\n",
                ".globl mpi_sys_", stringify!($name), "\n",
                "mpi_sys_", stringify!($name), ": .quad ", stringify!($symbol),
            ),)*
            ".popsection",
        }
        /// The predefined handles that are addresses in the library, without a strong reference to it.
        #[allow(missing_docs)]
        pub mod weak_handles {
            #[allow(unused_imports, reason = "one ABI has handles that are addresses")]
            use super::*;
            // Safe to name: all are defined above, as long as the process, relocated before any code runs, and
            // written by nobody afterwards.
            unsafe extern "C" {
                $(
                    #[link_name = concat!("mpi_sys_", stringify!($name))]
                    pub safe static $name: $ty;
                )*
            }
        }
    };
}
address_handles! { weak_handles }
#[allow(unused_imports, unreachable_pub, reason = "as above")]
pub use weak_handles::*;

global_asm! {
    ".pushsection .data.rel.ro.mpi_sys_sentinels, \"aw\", @progbits",
    ".balign 8",
    ".weak MPI_UNWEIGHTED",
    ".weak MPI_WEIGHTS_EMPTY",
    ".hidden mpi_sys_sentinels",
    ".globl mpi_sys_sentinels",
    "mpi_sys_sentinels:",
    ".quad MPI_UNWEIGHTED",
    ".quad MPI_WEIGHTS_EMPTY",
    ".popsection",
}

unsafe extern "C" {
    /// The variables `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY`, where the library has them as MPICH does: null elsewhere.
    // Safe to name: it is defined above, with two entries, as long as the process, and relocated before any code runs;
    // nobody writes there afterwards.
    #[doc(hidden)]
    #[link_name = "mpi_sys_sentinels"]
    pub safe static SENTINELS: [AtomicPtr<*mut c_int>; 2];
}
