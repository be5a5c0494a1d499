//! What variables are, in numbers of C's.

use super::super::sys::{self, c_int};

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $constant:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(#[doc = concat!("`", stringify!($constant), "`")] $variant,)*
            /// A number that this library does not know.
            Other(i32),
        }

        impl $name {
            pub(super) fn from_raw(raw: c_int) -> Self {
                match raw {
                    $(sys::$constant => Self::$variant,)*
                    other => Self::Other(other),
                }
            }

            /// C's number.
            pub const fn into_raw(self) -> c_int {
                match self {
                    $(Self::$variant => sys::$constant,)*
                    Self::Other(other) => other,
                }
            }
        }
    )*};
}

kinds! {
    /// For whom a variable is, and how far it goes into details.
    Verbosity {
        UserBasic = MPI_T_VERBOSITY_USER_BASIC,
        UserDetail = MPI_T_VERBOSITY_USER_DETAIL,
        UserAll = MPI_T_VERBOSITY_USER_ALL,
        TunerBasic = MPI_T_VERBOSITY_TUNER_BASIC,
        TunerDetail = MPI_T_VERBOSITY_TUNER_DETAIL,
        TunerAll = MPI_T_VERBOSITY_TUNER_ALL,
        DeveloperBasic = MPI_T_VERBOSITY_MPIDEV_BASIC,
        DeveloperDetail = MPI_T_VERBOSITY_MPIDEV_DETAIL,
        DeveloperAll = MPI_T_VERBOSITY_MPIDEV_ALL,
    }

    /// When, and on which processes together, a control variable may change.
    VariableScope {
        Constant = MPI_T_SCOPE_CONSTANT,
        ReadOnly = MPI_T_SCOPE_READONLY,
        Local = MPI_T_SCOPE_LOCAL,
        Group = MPI_T_SCOPE_GROUP,
        GroupEqual = MPI_T_SCOPE_GROUP_EQ,
        All = MPI_T_SCOPE_ALL,
        AllEqual = MPI_T_SCOPE_ALL_EQ,
    }

    /// Of what object a variable is.
    Binding {
        NoObject = MPI_T_BIND_NO_OBJECT,
        Communicator = MPI_T_BIND_MPI_COMM,
        Datatype = MPI_T_BIND_MPI_DATATYPE,
        Errhandler = MPI_T_BIND_MPI_ERRHANDLER,
        File = MPI_T_BIND_MPI_FILE,
        Group = MPI_T_BIND_MPI_GROUP,
        Operation = MPI_T_BIND_MPI_OP,
        Request = MPI_T_BIND_MPI_REQUEST,
        Window = MPI_T_BIND_MPI_WIN,
        Message = MPI_T_BIND_MPI_MESSAGE,
        Info = MPI_T_BIND_MPI_INFO,
    }

    /// What a performance variable tells.
    PerformanceClass {
        State = MPI_T_PVAR_CLASS_STATE,
        Level = MPI_T_PVAR_CLASS_LEVEL,
        Size = MPI_T_PVAR_CLASS_SIZE,
        Percentage = MPI_T_PVAR_CLASS_PERCENTAGE,
        HighWatermark = MPI_T_PVAR_CLASS_HIGHWATERMARK,
        LowWatermark = MPI_T_PVAR_CLASS_LOWWATERMARK,
        Counter = MPI_T_PVAR_CLASS_COUNTER,
        Aggregate = MPI_T_PVAR_CLASS_AGGREGATE,
        Timer = MPI_T_PVAR_CLASS_TIMER,
        Generic = MPI_T_PVAR_CLASS_GENERIC,
    }
}
