use super::sys::{self, c_int};

/// By which function a datatype was made (MPI-5.0, 5.1.13).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Combiner(c_int);

macro_rules! combiners {
    ($($name:ident = $constant:ident,)*) => {
        impl Combiner {
            $(
                #[doc = concat!("`", stringify!($constant), "`")]
                pub const $name: Self = Self(sys::$constant);
            )*

            /// The combiner of this number.
            pub const fn from_raw(raw: c_int) -> Self {
                Self(raw)
            }

            /// C's number.
            pub const fn into_raw(self) -> c_int {
                self.0
            }
        }

        impl core::fmt::Debug for Combiner {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.0 {
                    $(sys::$constant => f.write_str(stringify!($constant)),)*
                    other => write!(f, "combiner {other}"),
                }
            }
        }
    };
}

combiners! {
    NAMED = MPI_COMBINER_NAMED,
    DUP = MPI_COMBINER_DUP,
    CONTIGUOUS = MPI_COMBINER_CONTIGUOUS,
    VECTOR = MPI_COMBINER_VECTOR,
    HVECTOR = MPI_COMBINER_HVECTOR,
    INDEXED = MPI_COMBINER_INDEXED,
    HINDEXED = MPI_COMBINER_HINDEXED,
    INDEXED_BLOCK = MPI_COMBINER_INDEXED_BLOCK,
    HINDEXED_BLOCK = MPI_COMBINER_HINDEXED_BLOCK,
    STRUCT = MPI_COMBINER_STRUCT,
    SUBARRAY = MPI_COMBINER_SUBARRAY,
    DARRAY = MPI_COMBINER_DARRAY,
    F90_REAL = MPI_COMBINER_F90_REAL,
    F90_COMPLEX = MPI_COMBINER_F90_COMPLEX,
    F90_INTEGER = MPI_COMBINER_F90_INTEGER,
    RESIZED = MPI_COMBINER_RESIZED,
}
