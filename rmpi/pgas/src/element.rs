//! What arrays consist of, and what is done with an element.

use rmpi_actors::Message;

/// Plain data that can be an element of an array.
pub trait Element: Message + PartialEq {}

impl<T: Message + PartialEq> Element for T {}

/// What becomes of an element and an operand.
pub trait Operation<T>: Copy + 'static {
    /// The new value. It runs where the element is.
    fn apply(old: T, operand: T) -> T;
}

/// Numbers: integers, whose arithmetic wraps, and floating-point numbers.
pub trait Number: Element + PartialOrd {
    #[doc(hidden)]
    const ZERO: Self;
    #[doc(hidden)]
    const ONE: Self;
    #[doc(hidden)]
    fn add(self, other: Self) -> Self;
    #[doc(hidden)]
    fn sub(self, other: Self) -> Self;
    #[doc(hidden)]
    fn mul(self, other: Self) -> Self;
}

/// Integers: numbers with bits.
pub trait Bits:
    Number
    + core::ops::BitAnd<Output = Self>
    + core::ops::BitOr<Output = Self>
    + core::ops::BitXor<Output = Self>
{
}

macro_rules! integers {
    ($($integer:ident)*) => {$(
        impl Number for $integer {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
        impl Bits for $integer {}
    )*};
}
integers! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }

macro_rules! floats {
    ($($float:ident)*) => {$(
        impl Number for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline]
            fn mul(self, other: Self) -> Self {
                self * other
            }
        }
    )*};
}
floats! { f32 f64 }

/// The operations that arrays have by name. A program can have others.
pub mod operations {
    use super::{Bits, Element, Number, Operation};

    macro_rules! operations {
        ($($(#[$doc:meta])* $name:ident: $bound:ident = |$old:ident, $operand:ident| $value:expr;)*) => {$(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl<T: $bound> Operation<T> for $name {
                #[inline]
                fn apply($old: T, $operand: T) -> T {
                    $value
                }
            }
        )*};
    }

    operations! {
        /// The operand.
        Store: Element = |_old, operand| operand;
        /// The sum.
        Add: Number = |old, operand| old.add(operand);
        /// The difference.
        Sub: Number = |old, operand| old.sub(operand);
        /// The product.
        Mul: Number = |old, operand| old.mul(operand);
        /// The lesser one.
        Min: Number = |old, operand| if operand < old { operand } else { old };
        /// The greater one.
        Max: Number = |old, operand| if operand > old { operand } else { old };
        /// The bits that both have.
        And: Bits = |old, operand| old & operand;
        /// The bits that either has.
        Or: Bits = |old, operand| old | operand;
        /// The bits that one of them has.
        Xor: Bits = |old, operand| old ^ operand;
    }
}
