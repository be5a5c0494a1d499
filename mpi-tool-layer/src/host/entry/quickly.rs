//! The bodies of exported functions that have a quick way of the layer's
//! ([`around_quickly`](crate::MpiInterceptionLayer::around_quickly)). `entry.rs` expands the macros.

use crate::call::{CallResult, Returned, Shape, result};
use crate::host::lifecycle::is_watched;
use crate::{FunctionId, RawMpiInterceptionLayer};

macro_rules! always_quick_function {
    (MPI_Pcontrol $($rest:tt)*) => {};
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        #[inline(always)]
        pub unsafe fn $name<T: Preloaded, const HOW: u8>(
            $($arg: $ty,)*
            noting: unsafe extern "C" fn($($ty),*) -> $ret,
        ) -> $ret {
            // SAFETY: all want what this function does.
            unsafe {
                if const { is_quick::<T::Layer>(FunctionId::$c_name) } {
                    ways::$name::<T, HOW>($($arg),*)
                } else if HOW == How::WITH_CALLER {
                    whole::$name::<T>($($arg),*)
                } else {
                    noting($($arg),*)
                }
            }
        }
    };
}

/// Has a layer a quick way for a function?
pub(super) const fn is_quick<L: RawMpiInterceptionLayer>(function: FunctionId) -> bool {
    let is_quick = L::QUICK[function as usize];
    if is_quick {
        assert!(!is_watched(function), "the tool itself watches this function");
        assert!(Shape::of(function).returns_code, "a quick function returns a code");
    }
    is_quick
}

/// What the next function has returned, for a layer's quick way.
#[inline(always)]
pub(super) fn of_next<'c>(returned: impl Returned) -> CallResult<'c> {
    result(returned.as_code().expect("quick functions return a code"))
}

macro_rules! way_function {
    (MPI_Pcontrol $($rest:tt)*) => {};
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty = $kind:ident),*) -> $ret:ty) => {
        #[inline(always)]
        pub(super) unsafe fn $name<T: Preloaded, const HOW: u8>($($arg: $ty),*) -> $ret {
            let words = [$(word!($kind $arg)),*];
            // SAFETY: the words must be the arguments of a call that goes to MPI: they are the application's.
            let before = unsafe { QuickRequests::of::<{ FunctionId::$c_name as usize }>(&words) };
            let Some(before) = before else {
                // SAFETY: it wants what this function does.
                return unsafe { outlined::$name::<T>($($arg),*) };
            };
            let returned = Returns::nothing();
            // SAFETY: the slices and the place must be there until the layer's method has returned, which is called here.
            // They have the words of the arguments, the requests among them, and what the next function returns.
            let call = unsafe {
                KnownCall::<{ FunctionId::$c_name as usize }>::branded(
                    false, &words, before.as_slice(), Some(&returned),
                )
            };
            let way = Quickly::new(
                // SAFETY: MPI's function wants what the MPI standard asks of the application, as the caller promises. The
                // table's entry is a function of this prototype: its constructor and `link` ask for that.
                || unsafe {
                    type Function = unsafe extern "C" fn($($ty),*) -> $ret;
                    let next = T::next().entry(FunctionId::$c_name);
                    let result =
                        of_next(core::mem::transmute::<*const c_void, Function>(next)($($arg),*));
                    returned.set(code(result));
                    result
                },
                // SAFETY: it wants what this function does. A layer takes one of the two ways, once.
                || unsafe {
                    let result = of_next(outlined::$name::<T>($($arg),*));
                    returned.set(code(result));
                    result
                },
                HOW,
            );
            let result = T::instance().layer.around_quickly(call, way);
            let code = if const { Shape::of(FunctionId::$c_name).array_of_statuses } {
                code_with_statuses(result, returned.get())
            } else {
                code(result)
            };
            Returned::from_code(code).expect("quick functions return a code")
        }
    };
}

macro_rules! quick_function {
    (MPI_Pcontrol $($rest:tt)*) => {};
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        #[inline(never)]
        pub(super) unsafe extern "C" fn $name<T: Preloaded>($($arg: $ty),*) -> $ret {
            // SAFETY: it wants what this function does.
            unsafe { ways::$name::<T, { How::WITH_CALLER }>($($arg),*) }
        }
    };
}
