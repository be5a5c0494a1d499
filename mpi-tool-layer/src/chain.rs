//! Two layers as one.

use mpi_sys::{mpi_functions, *};

use crate::{Counters, FunctionId, NextFunctions, RawMpiInterceptionLayer, Tool, UnsafeBox};

/// The first layer above the second: the first sees a call of the application first, and its next
/// functions are the second's methods.
#[derive(Debug)]
pub struct LayerChain<A, B>(pub A, pub B);

/// What layer `B` makes of the functions below it: the next functions of the layer above.
struct Over<'a, B> {
    layer: &'a B,
    below: &'a dyn NextFunctions,
}

macro_rules! chain {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        impl<B: RawMpiInterceptionLayer> NextFunctions for Over<'_, B> {
            fn available(&self, function: FunctionId) -> bool {
                self.below.available(function)
            }

            $(
                unsafe fn $name(&self, $($arg: $ty),*) -> $ret {
                    let below = self.below;
                    // SAFETY: for the one who calls this.
                    let next = move |$($arg: $ty),*| unsafe { below.$name($($arg),*) };
                    self.layer.$name(UnsafeBox::new(next, below), $($arg),*)
                }
            )*
        }

        // SAFETY: both layers do what the standard says, so one above the other does.
        unsafe impl<A: RawMpiInterceptionLayer, B: RawMpiInterceptionLayer> RawMpiInterceptionLayer
            for LayerChain<A, B>
        {
            $(
                #[inline(always)]
                fn $name<F>(&self, next_f: UnsafeBox<'_, F>, $($arg: $ty),*) -> $ret
                where
                    F: FnOnce($($ty),*) -> $ret,
                {
                    let over = Over { layer: &self.1, below: next_f.table() };
                    let next = |$($arg: $ty),*| self.1.$name(next_f, $($arg),*);
                    self.0.$name(UnsafeBox::new(next, &over), $($arg),*)
                }
            )*
        }
    };
}
mpi_functions! { [chain] }

/// Two tools as one, which reports what the first of them that has counters has counted.
impl<A: Tool, B: Tool> Tool for LayerChain<A, B> {
    const NEW: Self = LayerChain(A::NEW, B::NEW);

    fn counters(&self) -> Option<&dyn Counters> {
        self.0.counters().or_else(|| self.1.counters())
    }
}
