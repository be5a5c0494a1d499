//! The bodies of exported functions that have a [fast path](crate::FastPath). `entry.rs` expands the macros.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;

use mpi_facts::Pattern;
use mpi_sys::{MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, MPI_Status};

use super::Preloaded;
use crate::FunctionId;
use crate::call::{CallResult, KnownCall, NONE, Returns, Shape, result};
use crate::high::{FastCall, FastPath, FastStatuses, How, MOST_FAST, OfTheFramework};
use crate::host::lifecycle::is_watched;

macro_rules! always_fast_function {
    (MPI_Pcontrol $($rest:tt)*) => {};
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        #[inline(always)]
        pub unsafe fn $name<T: Preloaded, const HOW: u8>(
            $($arg: $ty,)*
            noting: unsafe extern "C-unwind" fn($($ty),*) -> $ret,
        ) -> $ret {
            // SAFETY: all want what this function does.
            unsafe {
                if const { has_fast_path::<T>(FunctionId::$c_name) } {
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

/// Has a tool a fast path for a function?
pub(super) const fn has_fast_path<T: Preloaded>(function: FunctionId) -> bool {
    let has_one = T::FastPath::FUNCTIONS[function as usize];
    if has_one {
        assert!(!is_watched(function), "the tool itself watches this function");
        assert!(Shape::of(function).returns_code, "a function with a fast path returns a code");
    }
    has_one
}

/// How many statuses calls of a function may have on their fast path where the application ignores its own: one of
/// functions that have received something when they return, and as many as requests of those that wait for all of them.
pub(super) const fn most_lent(function: FunctionId) -> usize {
    let shape = Shape::of(function);
    let is_received = !matches!(shape.pattern, Pattern::Nothing) && !shape.array_of_statuses;
    if shape.statuses == NONE || shape.flag != NONE {
        0
    } else if is_received || shape.waits_for_one() {
        1
    } else if shape.waits_for_all() {
        MOST_FAST
    } else {
        0
    }
}

/// An argument of a parameter for statuses.
pub(super) trait Lent {
    /// The argument, or statuses of the framework's if the application ignores its own: one, or as many as there are requests,
    /// if the parameter is an array.
    fn or_own<const MOST: usize>(
        self,
        own: &mut FastStatuses<MOST>,
        is_array: bool,
        requests: usize,
    ) -> Self;
}

impl Lent for *mut MPI_Status {
    #[inline(always)]
    fn or_own<const MOST: usize>(
        self,
        own: &mut FastStatuses<MOST>,
        is_array: bool,
        requests: usize,
    ) -> Self {
        if is_array {
            own.unless_kept(self, MPI_STATUSES_IGNORE, requests)
        } else {
            own.unless_kept(self, MPI_STATUS_IGNORE, 1)
        }
    }
}

/// What the function reads.
impl Lent for *const MPI_Status {
    #[inline(always)]
    fn or_own<const MOST: usize>(self, _: &mut FastStatuses<MOST>, _: bool, _: usize) -> Self {
        self
    }
}

/// An argument as MPI gets it: statuses are the framework's where it [lends](most_lent) some.
macro_rules! lent {
    ($lends:expr, $own:ident, $is_array:expr, $requests:expr, Status $argument:ident) => {
        if $lends { $argument.or_own(&mut $own, $is_array, $requests) } else { $argument }
    };
    ($lends:expr, $own:ident, $is_array:expr, $requests:expr, $kind:ident $argument:ident) => {
        $argument
    };
}

/// A call of a function, whose number is `FUNCTION`, on its fast path.
pub(super) struct Fast<'a, T, A, const FUNCTION: usize, const HOW: u8> {
    /// As the application has passed them.
    arguments: A,
    /// As MPI gets them.
    lent: A,
    /// What the layer is called by: a function of the same prototype.
    layered: *const c_void,
    /// Where it is kept what the next function has returned.
    returned: Option<&'a Returns>,
    tool: PhantomData<T>,
}

impl<'a, T: Preloaded, A: Arguments, const FUNCTION: usize, const HOW: u8>
    Fast<'a, T, A, FUNCTION, HOW>
{
    /// Of a call with these arguments.
    ///
    /// # Safety
    /// `layered` and the function of this number in [`Preloaded::next`] take arguments of these types and return an error
    /// code, by C's rules, and the arguments, these and the `lent` ones, are as the standard asks of the call, also when a
    /// method of this is called.
    #[inline(always)]
    pub(super) unsafe fn new(
        arguments: A,
        lent: A,
        layered: *const c_void,
        returned: Option<&'a Returns>,
    ) -> Self {
        Self { arguments, lent, layered, returned, tool: PhantomData }
    }
}

impl<T, A, const FUNCTION: usize, const HOW: u8> OfTheFramework for Fast<'_, T, A, FUNCTION, HOW> {}

impl<'c, T: Preloaded, A: Arguments, const FUNCTION: usize, const HOW: u8> FastCall<'c>
    for Fast<'_, T, A, FUNCTION, HOW>
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
        let next = T::next().entry(KnownCall::<FUNCTION>::ID);
        // SAFETY: the function and its arguments must be as `new` asks it of the next function and of `lent`.
        returned(unsafe { self.lent.call(next) }, self.returned)
    }

    #[inline(always)]
    fn fall_back(self) -> CallResult<'c> {
        // SAFETY: the function and its arguments must be as `new` asks it of `layered` and of `arguments`.
        returned(unsafe { self.arguments.call(self.layered) }, self.returned)
    }
}

/// The result of a call, which is kept.
#[inline(always)]
fn returned<'c>(code_of_call: c_int, kept: Option<&Returns>) -> CallResult<'c> {
    let result = result(code_of_call);
    if let Some(kept) = kept {
        kept.set(code_of_call);
    }
    result
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
                        unsafe extern "C-unwind" fn($($ty),*) -> c_int,
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
            let arguments = ($($arg,)*);
            const SHAPE: Shape = Shape::of(FunctionId::$c_name);
            let words = [$(word!($kind $arg)),*];
            // SAFETY: the words must be the arguments of a call that goes to MPI: they are the application's.
            let before = unsafe { FastRequests::of::<{ FunctionId::$c_name as usize }>(&words) };
            let Some(before) = before else {
                let ($($arg,)*) = arguments;
                // SAFETY: it wants what this function does.
                return unsafe { outlined::$name::<T>($($arg),*) };
            };
            // MPI writes there during the call, which is over before this is.
            #[allow(unused_mut, unused_variables, reason = "most functions have no status")]
            let mut own_statuses = FastStatuses::<{ most_lent(FunctionId::$c_name) }>::new();
            $(let $arg = lent!(
                const { T::FastPath::LENDS_STATUS },
                own_statuses, SHAPE.array_of_statuses, before.as_slice().len(), $kind $arg
            );)*
            let words = [$(word!($kind $arg)),*];
            // Of other functions nobody asks what they have returned.
            const HAS_REQUESTS: bool = SHAPE.requests != NONE;
            let returned = Returns::nothing();
            // SAFETY: the slices and the place must be there until the layer's method has returned, which is called here.
            // They have the words of the arguments, with statuses that are there instead of those that the application
            // ignores, the requests as they are before the call, and what the next function returns.
            let call = unsafe {
                KnownCall::<{ FunctionId::$c_name as usize }>::branded(
                    false, &words, before.as_slice(), HAS_REQUESTS.then_some(&returned),
                )
            };
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
            let layered: Function = outlined::$name::<T>;
            // SAFETY: both functions must take these arguments, as the standard asks it: they have the prototype of the
            // exported function, as the constructor of the table of next functions and `link` ask for it, and return a
            // code, as `has_fast_path` asserts. The arguments are the application's, whose call lasts until the layer's method
            // has returned, and so does the status that MPI may get instead of one that the application ignores.
            let next = unsafe {
                Fast::<T, _, { FunctionId::$c_name as usize }, HOW>::new(
                    arguments,
                    ($($arg,)*),
                    layered as *const c_void,
                    HAS_REQUESTS.then_some(&returned),
                )
            };
            let result = T::FastPath::around(&T::instance().layer, call, next);
            let code = if SHAPE.array_of_statuses {
                code_with_statuses(result, returned.get())
            } else {
                code(result)
            };
            Returned::from_code(code).expect("functions with a fast path return a code")
        }
    };
}

macro_rules! fast_function {
    (MPI_Pcontrol $($rest:tt)*) => {};
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        #[inline(never)]
        pub(super) unsafe extern "C-unwind" fn $name<T: Preloaded>($($arg: $ty),*) -> $ret {
            // SAFETY: it wants what this function does.
            unsafe { ways::$name::<T, { How::WITH_CALLER }>($($arg),*) }
        }
    };
}
