//! Where calls come into a tool: for each MPI function one body of code for a tool that is preloaded, and one
//! for a level of a stack. They are generic over the layer, and so compiled with the tool, but checked here.
//!
//! Both do the same: they box the next function ([`UnsafeBox`]) and call the layer's method of the same name, which
//! is inlined. They differ in where the next function's address is, and where the layer is:
//!
//! * In a preloaded tool both are statics, at addresses that are known when the tool is linked. An empty layer's
//!   function is two instructions: one loads the address from the table, the other jumps there.
//! * In a stack the same tool may be a level several times. The caller passes a [`Place`], in a register that MPI's
//!   functions do not use for arguments.
//!
//! A function whose code a layer shares ([`Compiled`](crate::Compiled)) has the second body only: the exported function
//! goes there with a place of its own.
//!
//! A function with a [fast path](crate::FastPath) asks first whether a call is for that, in a preloaded tool, and jumps to
//! one of two functions (`fast_paths` and `outlined`), with the arguments where they are.

#[macro_use]
mod fast;

use core::ffi::{c_int, c_void};

use mpi_sys::{mpi_functions, *};

use crate::arch::Answer;
use crate::call::{KnownCall, NONE, Returned, Returns, Shape, code, code_with_statuses, word};
use crate::compiled::Seen;
use crate::high::{FastPath, FastRequests, FastStatuses, How};
use crate::host::lifecycle::{Below, if_watched};
use crate::host::panics::boundary;
use crate::qmpi::{Address, Instance, Place};
use crate::{FunctionId, NextFunctions, NextTable, RawMpiInterceptionLayer, Tool, UnsafeBox};

use fast::{Fast, Lent, has_fast_path, most_lent};

/// What a preloaded tool has of which there is one in a process: the statics that `install_pmpi_layer!` makes.
///
/// It is a trait, since only the tool's own crate can have these statics: this crate does not know the layer, and a
/// generic static does not exist in Rust. The functions are inlined, so that the addresses are constants.
pub trait Preloaded: 'static {
    /// The tool's layer.
    type Layer: Tool;
    /// The tool's fast path.
    type FastPath: FastPath<Self::Layer>;
    /// The layer at work.
    fn instance() -> &'static Instance<Self::Layer>;
    /// The next functions.
    fn next() -> &'static NextTable;
    /// The same, with those that the tool watches itself.
    fn below() -> &'static Below;
    /// For each function a place whose instance is [`instance`](Self::instance), and whose next function goes on
    /// to that of [`next`](Self::next).
    fn places() -> &'static [Place; FunctionId::COUNT];
}

macro_rules! exported_function {
    (MPI_Pcontrol $name:ident ($($arg:ident: $ty:ty = $kind:ident),*) -> $ret:ty) => {
        /// Variadic, which Rust cannot define: the exported function saves the registers that arguments may be
        /// in, asks the layer here, and jumps to the next function as if nothing had been. The layer's `next_f`
        /// says that the call shall go on, and returns success: it goes on when the layer has returned.
        pub extern "C" fn $name<T: Preloaded>($($arg: $ty),*) -> Answer {
            let mut next = core::ptr::null();
            let instance = T::instance();
            let goes_on = |_: c_int| {
                next = T::next().entry(FunctionId::MPI_Pcontrol);
                MPI_SUCCESS
            };
            // SAFETY: `new` wants the arguments of a call: they are the application's.
            let next_f = unsafe { UnsafeBox::new(goes_on, instance.below) };
            let result = boundary(instance.level, FunctionId::MPI_Pcontrol, || {
                instance.layer.$name(next_f, $($arg),*)
            });
            Answer { next, result }
        }
    };
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty = $kind:ident),*) -> $ret:ty) => {
        #[inline(always)]
        pub unsafe fn $name<T: Preloaded>($($arg: $ty),*) -> $ret {
            // SAFETY: both want what this function does.
            unsafe {
                if const { has_fast_path::<T>(FunctionId::$c_name) } {
                    let words = [$(word!($kind $arg)),*];
                    // SAFETY: the slices must be there until the layer's method has returned, which is called in this
                    // block. They have the words of the arguments, and no requests.
                    let call = KnownCall::<{ FunctionId::$c_name as usize }>::branded(false, &words, &[], None);
                    if T::FastPath::takes(&T::instance().layer, call) {
                        fast_paths::$name::<T>($($arg),*)
                    } else {
                        outlined::$name::<T>($($arg),*)
                    }
                } else {
                    whole::$name::<T>($($arg),*)
                }
            }
        }
    };
}

macro_rules! outlined_function {
    (MPI_Pcontrol $($rest:tt)*) => {};
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        #[inline(never)]
        pub unsafe extern "C-unwind" fn $name<T: Preloaded>($($arg: $ty),*) -> $ret {
            // SAFETY: it wants what this function does.
            unsafe { whole::$name::<T>($($arg),*) }
        }
    };
}

macro_rules! whole_function {
    (MPI_Pcontrol $($rest:tt)*) => {};
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        #[inline(always)]
        pub(super) unsafe fn $name<T: Preloaded>($($arg: $ty),*) -> $ret {
            if const { T::Layer::COMPILED.shares_roles(FunctionId::$c_name, Seen::by::<T::Layer>()) } {
                let place = &T::places()[FunctionId::$c_name as usize];
                // SAFETY: an entry wants MPI's arguments, as the caller promises, and a place with a function of
                // this name and an instance of the layer, which `Preloaded` has.
                return unsafe { level::$name::<T::Layer>($($arg,)* place.as_argument()) };
            }
            // SAFETY: calling `next` is for the layer, which unwraps it and vouches for the arguments. The
            // table's entry is a function of this prototype: its constructor and `link` ask for that.
            let next = |$($arg: $ty),*| unsafe {
                if_watched! { $c_name
                    { T::below().$name($($arg),*) }
                    {
                        type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
                        core::mem::transmute::<*const c_void, Function>(
                            T::next().entry(FunctionId::$c_name),
                        )($($arg),*)
                    }
                }
            };
            let instance = T::instance();
            // SAFETY: `new` wants the arguments of a call: they are the application's.
            let next_f = unsafe { UnsafeBox::new(next, T::below()) };
            instance.layer.$name(next_f, $($arg),*)
        }
    };
}

macro_rules! level_entry {
    (MPI_Pcontrol $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name<L: Tool>() {
            crate::__ask_first! { ask_level::<L> }
        }

        extern "C" fn ask_level<L: Tool>($($arg: $ty,)* place: *const Place) -> Answer {
            // SAFETY: who calls this entry passes as context a place whose instance is one of this layer: `create_level`
            // or `ForeignTool::create` has made it, and it lives as long as the process.
            let (place, instance) = unsafe {
                (&*place, &*(*place).instance.cast::<Instance<L>>())
            };
            let mut next = core::ptr::null();
            let goes_on = |_: c_int| {
                next = place.next;
                MPI_SUCCESS
            };
            // SAFETY: `new` wants the arguments of a call: they are the application's.
            let next_f = unsafe { UnsafeBox::new(goes_on, instance.below) };
            let result = boundary(instance.level, FunctionId::MPI_Pcontrol, || {
                instance.layer.$name(next_f, $($arg),*)
            });
            Answer { next, result }
        }
    };
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        // Exported functions that share it jump here: the compiler would put a second copy into each of them.
        #[inline(never)]
        pub(super) unsafe extern "C-unwind" fn $name<L: Tool>($($arg: $ty,)* place: f64) -> $ret {
            // SAFETY: who calls an entry passes, behind MPI's arguments, a place with the next function of this name,
            // and with an instance of this layer, which lives as long as the process.
            let (place, instance) = unsafe {
                let place = Place::from_argument(place);
                (place, &*place.instance.cast::<Instance<L>>())
            };
            // SAFETY: the next function in the place is of this prototype, as said above. Calling it is for the
            // layer, which unwraps it and vouches for the arguments.
            let next = |$($arg: $ty),*| unsafe {
                type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
                core::mem::transmute::<*const c_void, Function>(place.next)($($arg),*)
            };
            // SAFETY: `new` wants the arguments of a call: they are the application's.
            let next_f = unsafe { UnsafeBox::new(next, instance.below) };
            instance.layer.$name(next_f, $($arg),*)
        }
    };
}

macro_rules! entries {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// What the exported functions of a preloaded tool do.
        ///
        /// # Safety
        /// What the MPI standard asks of the function's caller, which is the application.
        #[allow(clippy::missing_safety_doc, missing_docs)]
        pub mod exported {
            use super::*;

            $(exported_function! { $c_name $name ($($arg: $ty = $kind),*) -> $ret })*
        }

        /// What exported functions do that ask nothing before they take their fast path, if they have one. Others, if the caller
        /// has not been noted down, go to a function that does so.
        ///
        /// # Safety
        /// As of [`exported`], for that function, too.
        #[allow(clippy::missing_safety_doc, missing_docs)]
        pub mod always_fast {
            use super::*;

            $(always_fast_function! { $c_name $name ($($arg: $ty),*) -> $ret })*
        }

        /// What exported functions do without a fast path.
        #[allow(clippy::missing_safety_doc)]
        mod whole {
            use super::*;

            $(whole_function! { $c_name $name ($($arg: $ty),*) -> $ret })*
        }

        /// The fast paths.
        #[allow(clippy::missing_safety_doc)]
        mod ways {
            use super::*;

            $(way_function! { $c_name $name ($($arg: $ty = $kind),*) -> $ret })*
        }

        /// The fast paths of exported functions, in functions of their own.
        #[allow(clippy::missing_safety_doc)]
        mod fast_paths {
            use super::*;

            $(fast_function! { $c_name $name ($($arg: $ty),*) -> $ret })*
        }

        /// What exported functions do without them, in functions of their own.
        ///
        /// # Safety
        /// As of [`exported`].
        #[allow(clippy::missing_safety_doc, missing_docs)]
        pub mod outlined {
            use super::*;

            $(outlined_function! { $c_name $name ($($arg: $ty),*) -> $ret })*
        }

        #[allow(clippy::missing_safety_doc)]
        mod level {
            use super::*;

            $(level_entry! { $c_name $name ($($arg: $ty),*) -> $ret })*
        }

        /// The entries of a layer's levels, by [`FunctionId`].
        pub const fn all<L: Tool>() -> [Address; FunctionId::COUNT] {
            [$(Address(level::$name::<L> as *const c_void)),*]
        }
    };
}
mpi_functions! { [entries] }
