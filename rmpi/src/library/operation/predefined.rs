//! The operations of MPI's own.

use rmpi_macros::wraps;

use super::super::error::{RmpiResult, output};
use super::super::runtime::Runtime;
use super::super::sys::{self, MPI_Op};
use crate::{Predefined, TypeMap};

/// A predefined reduction operation (MPI-5.0, 6.9.2), such as [`MpiOp::SUM`].
///
/// Arrays are reduced element by element: the sum of `[f64; 3]` is that of vectors. Which operation
/// takes which numbers is in MPI-5.0, 6.9.2; with others it is an error of class
/// [`OP`](crate::ErrorClass::OP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpiOp(Kind);

macro_rules! predefined {
    ($($(#[$doc:meta])* $name:ident $variant:ident = $constant:ident;)*) => {
        // No handles, which may be known only as the program runs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Kind {
            $($variant,)*
            Raw(MPI_Op),
        }

        impl MpiOp {
            $(
                $(#[$doc])*
                #[doc = concat!("C: `", stringify!($constant), "`.")]
                pub const $name: Self = Self(Kind::$variant);
            )*

            /// C's handle.
            #[inline]
            pub fn into_raw(self) -> MPI_Op {
                match self.0 {
                    $(Kind::$variant => sys::$constant,)*
                    Kind::Raw(raw) => raw,
                }
            }
        }
    };
}

predefined! {
    /// The sum.
    SUM Sum = MPI_SUM;
    /// The product.
    PROD Prod = MPI_PROD;
    /// The greatest.
    MAX Max = MPI_MAX;
    /// The least.
    MIN Min = MPI_MIN;
    /// Logical and.
    LAND Land = MPI_LAND;
    /// Logical or.
    LOR Lor = MPI_LOR;
    /// Logical exclusive or.
    LXOR Lxor = MPI_LXOR;
    /// And, bit by bit.
    BAND Band = MPI_BAND;
    /// Or, bit by bit.
    BOR Bor = MPI_BOR;
    /// Exclusive or, bit by bit.
    BXOR Bxor = MPI_BXOR;
    /// The greatest value, and where it is: of the pair types, such as [`DoubleInt`](crate::DoubleInt).
    MAXLOC Maxloc = MPI_MAXLOC;
    /// The least value, and where it is.
    MINLOC Minloc = MPI_MINLOC;
    /// What comes replaces what is there; for windows only.
    REPLACE Replace = MPI_REPLACE;
    /// What is there stays; for windows only.
    NO_OP NoOp = MPI_NO_OP;
}

impl MpiOp {
    /// The operation of a handle.
    ///
    /// # Safety
    /// It is an operation that is not freed as long as this value or a copy of it is used, does nothing but reduce, and
    /// takes the predefined datatypes that it is used for, whichever these are: rmpi does not look.
    pub const unsafe fn from_raw(raw: MPI_Op) -> Self {
        Self(Kind::Raw(raw))
    }

    /// May operands change places? C: `MPI_Op_commutative`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// assert!(rmpi::MpiOp::SUM.commutative(context)?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Op_commutative)]
    pub fn commutative(self, runtime: &impl Runtime) -> RmpiResult<bool> {
        let _ = runtime;
        // SAFETY: MPI_Op_commutative requires an operation, which is predefined or was promised to
        // `from_raw`, and MPI to run, which `runtime` shows; it writes one int to `commute`.
        output(0, |commute| unsafe { mpi.call(self.into_raw(), commute) }).map(|flag| flag != 0)
    }
}

macro_rules! integers {
    () => {
        Predefined::I8
            | Predefined::I16
            | Predefined::I32
            | Predefined::I64
            | Predefined::Isize
            | Predefined::U8
            | Predefined::U16
            | Predefined::U32
            | Predefined::U64
            | Predefined::Usize
            | Predefined::Aint
            | Predefined::Count
            | Predefined::Offset
    };
}

macro_rules! floats {
    () => {
        Predefined::F32 | Predefined::F64 | Predefined::LongDouble
    };
}

macro_rules! complex {
    () => {
        Predefined::Complex32 | Predefined::Complex64
    };
}

macro_rules! pairs {
    () => {
        Predefined::FloatInt
            | Predefined::DoubleInt
            | Predefined::LongInt
            | Predefined::TwoInt
            | Predefined::ShortInt
            | Predefined::LongDoubleInt
    };
}

impl MpiOp {
    /// Does it reduce elements of this datatype?
    // MPI-5.0, 6.9.2. Not every MPI refuses the rest: some abort, Open MPI adds bytes.
    #[inline]
    pub(super) fn reduces(self, element: &TypeMap) -> bool {
        let TypeMap::Predefined(element) = element else { return false };
        match self.0 {
            Kind::Sum | Kind::Prod => matches!(element, integers!() | floats!() | complex!()),
            Kind::Max | Kind::Min => matches!(element, integers!() | floats!()),
            Kind::Land | Kind::Lor | Kind::Lxor => {
                matches!(element, integers!() | Predefined::CBool)
            }
            Kind::Band | Kind::Bor | Kind::Bxor => {
                matches!(element, integers!() | Predefined::Byte)
            }
            Kind::Maxloc | Kind::Minloc => matches!(element, pairs!()),
            Kind::Replace | Kind::NoOp => false,
            Kind::Raw(_) => true,
        }
    }

    /// Does it combine elements of this datatype with those of a window, or replace or fetch them?
    #[inline]
    pub(super) fn accumulates(self, element: &TypeMap, fetches: bool) -> bool {
        match self.0 {
            Kind::Replace => matches!(element, TypeMap::Predefined(_)),
            Kind::NoOp => fetches && matches!(element, TypeMap::Predefined(_)),
            _ => self.reduces(element),
        }
    }
}

/// Can elements of this datatype be compared?
#[inline]
pub(super) fn is_comparable(element: &TypeMap) -> bool {
    matches!(element, TypeMap::Predefined(integers!() | Predefined::CBool | Predefined::Byte))
}
