//! The bodies of exported functions that have a quick way of the layer's
//! ([`around_quickly`](crate::MpiInterceptionLayer::around_quickly)). `entry.rs` expands the macros.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;

use super::Preloaded;
use crate::call::{CallResult, KnownCall, Returns, Shape, code, result};
use crate::high::{How, OfTheFramework, QuickWay};
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

/// A call of a function, whose number is `FUNCTION`, on its quick way.
pub(super) struct Quickly<'a, T, A, const FUNCTION: usize, const HOW: u8> {
    arguments: A,
    /// What the layer's other methods are called by: a function of the same prototype.
    slowly: *const c_void,
    /// Where it is kept what the next function has returned.
    returned: Option<&'a Returns>,
    tool: PhantomData<T>,
}

impl<'a, T: Preloaded, A: Arguments, const FUNCTION: usize, const HOW: u8>
    Quickly<'a, T, A, FUNCTION, HOW>
{
    /// Of a call with these arguments.
    ///
    /// # Safety
    /// `slowly` and the function of this number in [`Preloaded::next`] take arguments of these types and return an error
    /// code, by C's rules, and the arguments are as the standard asks of the call, also when a method of this is called.
    #[inline(always)]
    pub(super) unsafe fn new(
        arguments: A,
        slowly: *const c_void,
        returned: Option<&'a Returns>,
    ) -> Self {
        Self { arguments, slowly, returned, tool: PhantomData }
    }

    #[inline(always)]
    fn call<'c>(self, function: *const c_void) -> CallResult<'c> {
        // SAFETY: the function must be as `new` asks it of both: it is one of these.
        let result = result(unsafe { self.arguments.call(function) });
        if let Some(returned) = self.returned {
            returned.set(code(result));
        }
        result
    }
}

impl<T, A, const FUNCTION: usize, const HOW: u8> OfTheFramework
    for Quickly<'_, T, A, FUNCTION, HOW>
{
}

impl<'c, T: Preloaded, A: Arguments, const FUNCTION: usize, const HOW: u8> QuickWay<'c>
    for Quickly<'_, T, A, FUNCTION, HOW>
{
    #[inline(always)]
    fn has_caller(&self) -> bool {
        HOW == How::WITH_CALLER
    }

    #[inline(always)]
    fn is_alone(&self) -> bool {
        HOW == How::ALONE
    }

    #[inline(always)]
    fn pass_on(self) -> CallResult<'c> {
        self.call(T::next().entry(KnownCall::<FUNCTION>::ID))
    }

    #[inline(always)]
    fn go_slowly(self) -> CallResult<'c> {
        let slowly = self.slowly;
        self.call(slowly)
    }
}

/// The arguments of a call, as C has them.
pub(super) trait Arguments {
    /// Calls a function with them.
    ///
    /// # Safety
    /// It takes arguments of these types, returns a `c_int`, and may be called with these ones.
    unsafe fn call(self, function: *const c_void) -> c_int;
}

macro_rules! arguments {
    ($($argument:ident: $ty:ident),*) => {
        impl<$($ty),*> Arguments for ($($ty,)*) {
            #[inline(always)]
            unsafe fn call(self, function: *const c_void) -> c_int {
                let ($($argument,)*) = self;
                // SAFETY: the function must have this type, and what it asks of its arguments: so the caller promises.
                unsafe {
                    core::mem::transmute::<
                        *const c_void,
                        unsafe extern "C" fn($($ty),*) -> c_int,
                    >(function)($($argument),*)
                }
            }
        }
    };
}

macro_rules! up_to {
    () => {
        arguments! {}
    };
    ($argument:ident: $ty:ident $(, $arguments:ident: $types:ident)*) => {
        arguments! { $argument: $ty $(, $arguments: $types)* }
        up_to! { $($arguments: $types),* }
    };
}

up_to! { a: A, b: B, c: C, d: D, e: E, f: F, g: G, h: H, i: I, j: J, k: K, l: L, m: M, n: N }

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
            const SHAPE: Shape = Shape::of(FunctionId::$c_name);
            // Of other functions nobody asks what they have returned.
            const HAS_REQUESTS: bool = SHAPE.requests != NONE;
            let returned = Returns::nothing();
            // SAFETY: the slices and the place must be there until the layer's method has returned, which is called here.
            // They have the words of the arguments, the requests among them, and what the next function returns.
            let call = unsafe {
                KnownCall::<{ FunctionId::$c_name as usize }>::branded(
                    false, &words, before.as_slice(), HAS_REQUESTS.then_some(&returned),
                )
            };
            type Function = unsafe extern "C" fn($($ty),*) -> $ret;
            let slowly: Function = outlined::$name::<T>;
            // SAFETY: both functions must take these arguments, as the standard asks it: they have the prototype of the
            // exported function, as the constructor of the table of next functions and `link` ask for it, and return a
            // code, as `is_quick` asserts. The arguments are the application's, whose call lasts until the layer's method
            // has returned.
            let way = unsafe {
                Quickly::<T, _, { FunctionId::$c_name as usize }, HOW>::new(
                    ($($arg,)*),
                    slowly as *const c_void,
                    HAS_REQUESTS.then_some(&returned),
                )
            };
            let result = T::instance().layer.around_quickly(call, way);
            let code = if SHAPE.array_of_statuses {
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
