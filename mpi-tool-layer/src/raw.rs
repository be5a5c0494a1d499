//! The raw layer: C types, one method per MPI function.

use core::mem::ManuallyDrop;

use mpi_sys::{mpi_functions, *};

use crate::call::{AnyCall, Call, KnownCall, Once, Returned};
use crate::compiled::Seen;
use crate::{Compiled, FunctionId, NextFunctions};

/// Holds what is unsafe to use, in a signature that is safe to write.
///
/// The methods of a layer get the next function in such a box: only `unsafe { next_f.unwrap() }`
/// reaches it, so that a layer's unsafe lines are those that call MPI.
///
/// ```
/// # use mpi_tool_layer::{FunctionId, RawMpiInterceptionLayer, UnsafeBox};
/// # struct Layer;
/// # // SAFETY: every call goes on.
/// unsafe impl RawMpiInterceptionLayer for Layer {
///     fn around<F, R>(&self, _: FunctionId, call: UnsafeBox<'_, F>) -> R
///     where
///         F: FnOnce() -> R,
///     {
///         unsafe { call.unwrap()() }
///     }
/// }
/// ```
///
/// Safe code cannot call MPI:
///
/// ```compile_fail,E0133
/// # use mpi_tool_layer::{FunctionId, RawMpiInterceptionLayer, UnsafeBox};
/// # struct Layer;
/// # // SAFETY: every call goes on.
/// unsafe impl RawMpiInterceptionLayer for Layer {
///     fn around<F, R>(&self, _: FunctionId, call: UnsafeBox<'_, F>) -> R
///     where
///         F: FnOnce() -> R,
///     {
///         call.unwrap()()
///     }
/// }
/// ```
///
/// nor through the table:
///
/// ```compile_fail,E0133
/// # use mpi_tool_layer::UnsafeBox;
/// fn finalize<F>(next_f: UnsafeBox<'_, F>) -> i32 {
///     next_f.table().finalize()
/// }
/// ```
///
/// Nor can it call a layer's method, which may read what the arguments point to: a box is made by `unsafe`.
///
/// ```
/// # use mpi_tool_layer::{NextFunctions, RawMpiInterceptionLayer, UnsafeBox};
/// fn call(layer: &impl RawMpiInterceptionLayer, below: &dyn NextFunctions) -> i32 {
///     layer.finalize(unsafe { UnsafeBox::new(|| 0, below) })
/// }
/// ```
///
/// ```compile_fail,E0133
/// # use mpi_tool_layer::{NextFunctions, RawMpiInterceptionLayer, UnsafeBox};
/// fn call(layer: &impl RawMpiInterceptionLayer, below: &dyn NextFunctions) -> i32 {
///     layer.finalize(UnsafeBox::new(|| 0, below))
/// }
/// ```
///
/// and a layer promises by `unsafe impl` to behave like MPI:
///
/// ```compile_fail,E0200
/// # struct Layer;
/// impl mpi_tool_layer::RawMpiInterceptionLayer for Layer {}
/// ```
///
/// A call cannot be passed on twice, nor a layer be shared between threads that is not `Sync`:
///
/// ```compile_fail,E0382
/// # use mpi_tool_layer::UnsafeBox;
/// fn twice<F: FnOnce() -> i32>(call: UnsafeBox<'_, F>) -> i32 {
///     unsafe { call.unwrap()() + call.unwrap()() }
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use mpi_tool_layer::RawMpiInterceptionLayer;
/// struct Layer(std::cell::Cell<u64>);
/// # // SAFETY: every call goes on.
/// unsafe impl RawMpiInterceptionLayer for Layer {}
/// ```
pub struct UnsafeBox<'a, F> {
    content: F,
    table: &'a dyn NextFunctions,
}

impl<'a, F> UnsafeBox<'a, F> {
    /// Boxes a function, with all functions of the level that it belongs to: to call a layer's method.
    ///
    /// # Safety
    /// The box goes, once, to the method of a layer for the function that it stands for, and the other
    /// arguments of that method are as the MPI standard asks of a call of this function now, by this
    /// thread: the layer may read what they point to. The application's own arguments are taken to be
    /// so.
    #[inline(always)]
    pub unsafe fn new(content: F, table: &'a dyn NextFunctions) -> Self {
        Self { content, table }
    }

    /// The content.
    ///
    /// # Safety
    /// To call the function is to call MPI: its arguments must be as the MPI standard asks, in an MPI that
    /// runs, on a thread that may call it. The application's own arguments, passed on once and before the
    /// layer's method returns, are as good as without the tool.
    #[inline(always)]
    pub unsafe fn unwrap(self) -> F {
        self.content
    }

    /// All next functions, for a layer that answers a call with other calls (`MPI_Send` with
    /// `MPI_Isend` and `MPI_Wait`): the tools below see those instead.
    #[inline(always)]
    pub fn table(&self) -> &'a dyn NextFunctions {
        self.table
    }
}

/// A layer's `around_call` for all functions that share it.
#[inline(never)]
fn around_any<'c, L: RawMpiInterceptionLayer + ?Sized, R: Returned>(
    layer: &L,
    call: AnyCall<'c>,
    next: Once<'_, R>,
    table: &dyn NextFunctions,
) -> R {
    // SAFETY: `new` wants the arguments of a call: they are those of the box that the caller, a layer's default
    // method, was called with.
    let next = unsafe { UnsafeBox::new(|| next.call(), table) };
    layer.around_call(call, next)
}

/// What a layer does with a call whose method it does not override: [`around_call`], compiled for the function or shared
/// with others.
///
/// [`around_call`]: RawMpiInterceptionLayer::around_call
///
/// # Safety
/// `next` calls MPI's function with this number, with arguments as the standard asks of the call, and `words` are these.
#[inline(always)]
unsafe fn not_overridden<const FUNCTION: usize, L, F, R>(
    layer: &L,
    words: &[u64],
    next: F,
    table: &dyn NextFunctions,
) -> R
where
    L: RawMpiInterceptionLayer + ?Sized,
    F: FnOnce() -> R,
    R: Returned,
{
    let wide = const { KnownCall::<FUNCTION>::ID.is_large_count() };
    if const { L::COMPILED.shares(KnownCall::<FUNCTION>::ID, Seen::by::<L>()) } {
        // SAFETY: the slices must be there until `around` has returned. The caller lends `words` for longer; the other
        // slice is empty.
        let call = unsafe { AnyCall::branded(KnownCall::<FUNCTION>::ID, wide, words, &[], None) };
        let mut next = ManuallyDrop::new(next);
        // SAFETY: the variable must be used for nothing else afterwards, which it is not.
        let next = unsafe { Once::new(&mut next) };
        return around_any(layer, call, next, table);
    }
    // SAFETY: the slices must be there until `around` has returned. The caller lends `words` for longer; the other slice is
    // empty.
    let call = unsafe { KnownCall::<FUNCTION>::branded(wide, words, &[], None) };
    // SAFETY: `new` wants the arguments of a call: the caller promises that `next` has them.
    let next = unsafe { UnsafeBox::new(next, table) };
    layer.around_call(call, next)
}

macro_rules! raw_layer {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// An interception layer over C types, with a method for each MPI function.
        ///
        /// A method gets the next function in an [`UnsafeBox`] and the arguments of the call, and
        /// returns what the application shall see. One that is not overridden goes through
        /// [`around`](Self::around), and if that is not overridden either, costs nothing.
        ///
        /// # Safety
        /// The application relies on MPI's behaviour. An implementation must do what the MPI standard says of
        /// each function, which passing the call on does: it returns success only where the operation has
        /// been done or started, and writes nothing that MPI would not. It is called by all threads that call
        /// MPI, at the same time too.
        ///
        /// # What a method may rely on
        /// The methods are safe functions with pointers among their arguments. What these point to, a
        /// method may read and write in an `unsafe` block of its own, as MPI itself would in this call: to
        /// call a method takes a box, and whoever makes one promises that the arguments are those of a call
        /// ([`UnsafeBox::new`]). A layer that hands its own box on, to the method of another layer, answers
        /// by its `unsafe impl` for the arguments that go with it. What an application passes may be wrong
        /// all the same, and need not be there where MPI does not look at it.
        pub unsafe trait RawMpiInterceptionLayer: Sync {
            /// For which functions [`around`](Self::around) and [`around_call`](Self::around_call) are
            /// compiled.
            const COMPILED: Compiled = Compiled::ForEachFunction;

            /// The functions that a high-level layer's `around` sees.
            #[doc(hidden)]
            const AROUND: &'static [bool; FunctionId::COUNT] = &[true; FunctionId::COUNT];

            /// Does [`around`](Self::around) see functions without a high-level method, too?
            #[doc(hidden)]
            const SEES_RAW: bool = true;

            /// Every call whose own method is not overridden, for layers that treat all functions
            /// alike: counters, timers. `call` is the intercepted call with its arguments.
            #[inline(always)]
            fn around<F, R>(&self, function: FunctionId, call: UnsafeBox<'_, F>) -> R
            where
                F: FnOnce() -> R,
            {
                let _ = function;
                // SAFETY: to call the function is to call MPI, whose arguments must be as the standard asks.
                // They are the application's own, passed on once.
                unsafe { call.unwrap()() }
            }

            /// The same with the call's arguments, for layers that [ask](Call) about them.
            #[inline(always)]
            fn around_call<'c, F, R>(&self, call: impl Call<'c>, next: UnsafeBox<'_, F>) -> R
            where
                F: FnOnce() -> R,
                R: Returned,
            {
                self.around(call.function(), next)
            }

            $(
                #[doc = concat!("`", stringify!($c_name), "`, since MPI-", stringify!($version), ".")]
                ///
                #[doc = concat!("Parameters:" $(, "\n* `", stringify!($arg), ": ", stringify!($ty),
                    "`, ", stringify!($dir), ", ", stringify!($kind)
                    $(, " of length `", stringify!($len), "`")?
                    $(, ", significant only at ", stringify!($root))?
                )*)]
                #[inline(always)]
                fn $name<F>(&self, next_f: UnsafeBox<'_, F>, $($arg: $ty),*) -> $ret
                where
                    F: FnOnce($($ty),*) -> $ret,
                {
                    let table = next_f.table();
                    // SAFETY: the function wants arguments as MPI asks. They are the application's; and who
                    // calls the closure has unwrapped it from the box below, and has promised to call MPI
                    // with it only as the standard allows.
                    let call = move || unsafe { next_f.unwrap()($($arg),*) };
                    let words = [$(crate::call::word!($kind $arg)),*];
                    // SAFETY: `words` and `call` have the arguments of the box that this method was called with.
                    unsafe {
                        not_overridden::<{ FunctionId::$c_name as usize }, _, _, _>(self, &words, call, table)
                    }
                }
            )*
        }
    };
}
mpi_functions! { [raw_layer] }
