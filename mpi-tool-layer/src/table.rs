//! The functions below a level.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use mpi_sys::{mpi_functions, *};

use crate::FunctionId;

/// Calls a function of a table, which wants what the MPI standard asks of its caller. Those who implement [`NextFunctions`]
/// have it in functions that are not generic, and are never inlined: so they are compiled in this crate, and not in each tool.
macro_rules! call_entry {
    ($table:ident $c_name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {{
        type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
        let address = $table.entry(FunctionId::$c_name);
        // SAFETY: the entry is a function of this prototype: `new`, `set` and `link` ask for that, and `unlinked` has such
        // functions. That the arguments are as MPI asks is the promise of the one who calls this.
        core::mem::transmute::<*const core::ffi::c_void, Function>(address)($($arg),*)
    }};
}
pub(crate) use call_entry;

macro_rules! next_functions {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// All functions below a level: what `next_f` is for one function, for all of them.
        ///
        /// Each is the table's, unless whoever implements this watches the function itself.
        #[allow(clippy::missing_safety_doc)]
        pub trait NextFunctions: Sync {
            /// Where the functions are that are not watched.
            #[doc(hidden)]
            fn entries(&self) -> &NextTable;

            /// Has the MPI library of this process the function?
            fn available(&self, function: FunctionId) -> bool {
                self.entries().entry(function) != missing_address(function)
            }

            $(
                #[doc = concat!("`", stringify!($c_name), "` as the levels below do it.")]
                ///
                /// # Safety
                /// What the MPI standard asks of the function's caller: handles that are valid, buffers of
                /// the length and datatype that the arguments say, for as long as the operation runs, and MPI
                /// initialized and not finalized, with a thread level that allows this call.
                unsafe fn $name(&self, $($arg: $ty),*) -> $ret;
            )*
        }

        impl NextFunctions for NextTable {
            fn entries(&self) -> &NextTable {
                self
            }

            $(
                #[inline(never)]
                unsafe fn $name(&self, $($arg: $ty),*) -> $ret {
                    // SAFETY: it wants what this function does.
                    unsafe { call_entry! { self $c_name ($($arg: $ty),*) -> $ret } }
                }
            )*
        }

        /// Stands in for functions that the MPI library of this process lacks.
        #[allow(missing_docs, clippy::missing_safety_doc)]
        pub mod missing {
            use super::*;
            $(
                pub unsafe extern "C" fn $name($(_: $ty),*) -> $ret {
                    say_missing(FunctionId::$c_name);
                    <$ret as mpi_sys::MissingResult>::MISSING
                }
            )*
        }

        /// No functions: all of them fail and say so.
        // SAFETY: `new` wants functions in the order of their numbers, each of its own prototype. The list is
        // in that order, and `missing` has each function with the parameters and the result of its line.
        pub(crate) static NO_FUNCTIONS: NextTable = unsafe {
            NextTable::new([$(AtomicPtr::new(missing::$name as *const c_void as *mut c_void)),*])
        };
    };
}
mpi_functions! { [next_functions] }

/// What stands for a function that MPI lacks.
pub fn missing_address(function: FunctionId) -> *const c_void {
    if function == FunctionId::MPI_Abi_get_version {
        return no_standard_abi as *const c_void;
    }
    NO_FUNCTIONS.entry(function)
}

/// The addresses of the next functions, by [`FunctionId`]; there is always one.
#[derive(Debug)]
#[repr(transparent)]
pub struct NextTable([AtomicPtr<c_void>; FunctionId::COUNT]);

impl NextTable {
    /// A table with functions to begin with.
    ///
    /// # Safety
    /// `functions` has for each [`FunctionId`], at its number, the address of a function of that function's C
    /// prototype, which does what the MPI standard says of it and may be called as long as the table is
    /// there.
    #[doc(hidden)]
    pub const unsafe fn new(functions: [AtomicPtr<c_void>; FunctionId::COUNT]) -> Self {
        Self(functions)
    }

    /// A table without functions: calls fail and say so.
    #[doc(hidden)]
    pub fn unlinked() -> Self {
        Self(core::array::from_fn(|index| {
            let missing = FunctionId::from_index(index).map(missing_address);
            AtomicPtr::new(missing.unwrap_or(core::ptr::null()).cast_mut())
        }))
    }

    /// Puts in a function.
    ///
    /// # Safety
    /// `address` is a function of the C prototype of `function`, which does what the MPI standard says of it
    /// and may be called as long as the table is there.
    #[doc(hidden)]
    pub unsafe fn set(&self, function: FunctionId, address: *const c_void) {
        self.0[function as usize].store(address.cast_mut(), Relaxed);
    }

    /// Takes over another table's functions.
    #[doc(hidden)]
    pub fn copy(&self, other: &NextTable) {
        for (to, from) in self.0.iter().zip(&other.0) {
            to.store(from.load(Relaxed), Relaxed);
        }
    }

    /// Where the address of a next function is.
    #[doc(hidden)]
    pub const fn slot(&self, function: FunctionId) -> *const AtomicPtr<c_void> {
        &raw const self.0[function as usize]
    }

    /// The address of a next function.
    #[inline(always)]
    pub fn entry(&self, function: FunctionId) -> *const c_void {
        self.0[function as usize].load(Relaxed).cast_const()
    }

    /// Puts in what `next_of` finds, and stubs where it finds nothing.
    ///
    /// # Safety
    /// `next_of` gives null or the address of a function of the C prototype of what it is asked for, which
    /// does what the MPI standard says of that and may be called as long as the table is there.
    pub(crate) unsafe fn link(&self, next_of: impl Fn(FunctionId) -> *const c_void) {
        for function in FunctionId::all() {
            let next = next_of(function);
            let next = if next.is_null() { missing_address(function) } else { next };
            self.0[function as usize].store(next.cast_mut(), Relaxed);
        }
    }
}

/// `MPI_Abi_get_version` where MPI lacks it: the answer that MPI-5.0 has for libraries without its ABI.
/// mpi4py finds a tool's function before it has loaded MPI, and wants no error of it.
///
/// # Safety
/// Each pointer is null or valid for a write of an `int`.
unsafe extern "C" fn no_standard_abi(major: *mut c_int, minor: *mut c_int) -> c_int {
    for version in [major, minor] {
        if !version.is_null() {
            // SAFETY: a write needs a valid pointer to an `int`. MPI wants two such of its caller, the
            // application; null, which some pass, was left out above.
            unsafe { version.write(-1) };
        }
    }
    MPI_SUCCESS
}

#[cold]
#[inline(never)]
fn say_missing(function: FunctionId) {
    crate::host::output::say(format_args!(
        "mpi-tool: the MPI library of this process has no {function}; the call failed"
    ));
}
