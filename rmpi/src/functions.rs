//! The C functions of the two modes, all 700 in each: what the MPI library lacks returns an error.

/// `MPI_*`. Which of them exist is known when the crate is built.
///
/// The handles are the weak ones here, too: a strong reference in this half of the crate would outweigh
/// the other half's in every tool, which could no longer be loaded without MPI.
pub(crate) mod mpi {
    #[allow(unused_imports, reason = "one ABI has handles that are addresses")]
    pub(crate) use mpi_sys::pmpi::weak_handles::*;
    pub(crate) use mpi_sys::prototypes::*;

    macro_rules! missing {
        ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
            ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
        ) => {
            $(mpi_sys::if_exported! { $c_name {
                #[allow(unused_imports)]
                pub(crate) use mpi_sys::$c_name;
            } })*
            $(mpi_sys::if_missing! { $c_name {
                #[allow(dead_code, non_snake_case)]
                pub(crate) unsafe fn $c_name($(_: $ty),*) -> $ret {
                    <$ret as mpi_sys::MissingResult>::MISSING
                }
            } })*
        };
    }
    mpi_sys::mpi_functions! { [missing] }

    /// Do names begin with `PMPI`?
    pub(crate) const PROFILING: bool = false;

    mpi_sys::if_exported! { MPI_Session_init {
        /// Has the library sessions?
        pub(crate) const fn has_sessions() -> bool {
            true
        }
    } }
    mpi_sys::if_missing! { MPI_Session_init {
        /// Has the library sessions?
        pub(crate) const fn has_sessions() -> bool {
            false
        }
    } }
}

/// `PMPI_*`. Which of them exist is known when the process runs.
pub(crate) mod pmpi {
    use mpi_facts::FunctionId;
    pub(crate) use mpi_sys::pmpi::*;

    /// Do names begin with `PMPI`?
    pub(crate) const PROFILING: bool = true;

    macro_rules! checked {
        ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
            ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
        ) => {
            $(
                #[allow(dead_code, non_snake_case)]
                #[inline]
                pub(crate) unsafe fn $c_name($($arg: $ty),*) -> $ret {
                    if mpi_sys::pmpi::available(FunctionId::$c_name as usize) {
                        // SAFETY: the function requires what the MPI standard asks of its caller, and
                        // that it is there: the first is promised by this function's caller, the second
                        // was asked above.
                        unsafe { mpi_sys::pmpi::$c_name($($arg),*) }
                    } else {
                        <$ret as mpi_sys::MissingResult>::MISSING
                    }
                }
            )*
        };
    }
    mpi_sys::mpi_functions! { [checked] }

    /// Has the library sessions?
    pub(crate) fn has_sessions() -> bool {
        mpi_sys::pmpi::available(FunctionId::MPI_Session_init as usize)
    }
}
