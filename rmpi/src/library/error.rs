use core::fmt;

use super::sys::{self, c_int};
use crate::place::{Place, Placed};

/// What MPI returns: an error where C has another code than `MPI_SUCCESS`.
pub type RmpiResult<T = ()> = Result<T, Error>;

/// An error code of MPI (MPI-5.0, 9.4), or something that rmpi refused before MPI saw it, with the
/// class that MPI has for it.
///
/// ```no_run
/// let context = rmpi::init()?;
/// let world = context.world();
/// let error = world.process(world.size()?).send(&1_i32, rmpi::Tag::new(0)).unwrap_err();
/// assert_eq!(error.class(), rmpi::ErrorClass::RANK);
/// println!("{error}");
/// # Ok::<(), rmpi::Error>(())
/// ```
/// It knows the function that returned it, and if that was a function of a communicator, this process's rank in it:
/// `invalid rank (MPI_ERR_RANK; MPI_Send, rank 1 of MPI_COMM_WORLD)`. Errors are equal if their codes are, wherever they come from.
#[derive(Clone, Copy)]
pub struct Error {
    /// A code that MPI gave, or where there is a reason, a class of the standard's.
    code: c_int,
    /// What rmpi found, where it was not MPI.
    reason: Option<&'static str>,
    /// The class, once somebody has asked MPI for it.
    class: Option<c_int>,
    /// Where it comes from.
    place: Option<&'static Place>,
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        (self.code, self.reason) == (other.code, other.reason)
    }
}

impl Eq for Error {}

impl Placed for Error {
    #[cold]
    #[inline(never)]
    fn at(&mut self, place: &'static Place) {
        if self.place.is_none() {
            self.place = Some(place);
            // When MPI has ended, as where `main` returns the error, it cannot be asked any more.
            self.class = self.asked().map(|class| class.0);
        }
    }
}

impl Error {
    /// The error of a C function's result; `None` for `MPI_SUCCESS`.
    ///
    /// # Safety
    /// It is a code that MPI gave in this process, or the number of a class that MPI has: some MPIs crash when they
    /// are asked about others.
    pub const unsafe fn from_raw(code: c_int) -> Option<Self> {
        if code == sys::MPI_SUCCESS { None } else { Some(Self::of(code)) }
    }

    /// The error of a code that MPI gave.
    const fn of(code: c_int) -> Self {
        Self { code, reason: None, class: None, place: None }
    }

    pub(super) const fn refused(class: ErrorClass, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Self::of(class.into_raw()) }
    }

    /// Does it know where it comes from?
    pub(super) const fn has_place(&self) -> bool {
        self.place.is_some()
    }

    /// The function of MPI that returned the error, by its name in C, or for which rmpi refused the arguments, if that is
    /// known. Local.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let error = world.process(usize::MAX).send(&1, rmpi::Tag::new(0)).unwrap_err();
    /// assert_eq!(error.function(), Some("MPI_Send"));
    /// # Ok(()) }
    /// ```
    pub fn function(&self) -> Option<&'static str> {
        self.place.map(|place| place.function)
    }

    /// The communicator of that function, by its name, or by its size if it has none; if it was a function of one. Local.
    pub fn communicator(&self) -> Option<&'static str> {
        self.place
            .and_then(|place| place.member.as_ref())
            .map(|(communicator, _)| &communicator[..])
    }

    /// The rank of the process that got the error, in that communicator. Local.
    pub fn rank(&self) -> Option<usize> {
        let (_, rank) = self.place?.member.as_ref()?;
        usize::try_from(*rank).ok()
    }

    /// The code that MPI returned.
    pub const fn code(&self) -> i32 {
        self.code
    }

    /// The code, as what a C function returns.
    pub const fn into_raw(self) -> c_int {
        self.code
    }

    /// The class of the error, which is portable. C: `MPI_Error_class`. Local.
    pub fn class(&self) -> ErrorClass {
        if self.reason.is_some() {
            return ErrorClass(self.code);
        }
        if let Some(class) = self.class {
            return ErrorClass(class);
        }
        self.asked().unwrap_or(ErrorClass(self.code))
    }

    /// The class that MPI says, where it can be asked.
    fn asked(&self) -> Option<ErrorClass> {
        if self.reason.is_some() {
            return Some(ErrorClass(self.code));
        }
        if ErrorClass(self.code).is_of_tools() {
            // These are classes, too. MPICH with the standard's ABI takes them for others.
            return Some(ErrorClass(self.code));
        }
        let _calling = super::calling::calling()?;
        let mut class = sys::MPI_ERR_UNKNOWN;
        // SAFETY: MPI_Error_class requires MPI to run, which `_calling` shows, and a code that MPI
        // gave, which `code` is where there is no `reason`; it writes one int to `class`.
        let result = unsafe { sys::MPI_Error_class(self.code, &mut class) };
        Some(ErrorClass(if result == sys::MPI_SUCCESS { class } else { sys::MPI_ERR_UNKNOWN }))
    }

    /// What MPI says of the error. C: `MPI_Error_string`. Local.
    pub fn text(&self) -> String {
        if let Some(reason) = self.reason {
            return reason.to_owned();
        }
        let Some(_calling) = super::calling::calling() else {
            return format!("MPI error code {}", self.code);
        };
        let mut text = [0_u8; sys::MPI_MAX_ERROR_STRING as usize];
        let mut length = 0;
        // SAFETY: MPI_Error_string requires MPI to run, which `_calling` shows, a code that MPI gave,
        // which `code` is where there is no `reason`, and room for MPI_MAX_ERROR_STRING bytes, which
        // `text` has.
        let result =
            unsafe { sys::MPI_Error_string(self.code, text.as_mut_ptr().cast(), &mut length) };
        if result != sys::MPI_SUCCESS {
            return format!("MPI error code {}", self.code);
        }
        let length = usize::try_from(length).unwrap_or(0).min(text.len());
        String::from_utf8_lossy(&text[..length]).into_owned()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Error");
        debug.field("code", &self.code);
        debug.field("class", &self.class()).field("text", &self.text());
        if let Some(place) = self.place {
            debug.field("function", &format_args!("{}", place.function));
            if let Some((communicator, rank)) = &place.member {
                debug.field("communicator", communicator).field("rank", rank);
            }
        }
        debug.finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}", self.text(), self.class())?;
        if let Some(place) = self.place {
            write!(f, "; {}", place.function)?;
            if let Some((communicator, rank)) = &place.member {
                write!(f, ", rank {rank} of {communicator}")?;
            }
        }
        f.write_str(")")
    }
}

impl std::error::Error for Error {}

/// The result of a C function.
#[inline]
pub(super) fn check(code: c_int) -> RmpiResult {
    if code == sys::MPI_SUCCESS { Ok(()) } else { Err(Error::of(code)) }
}

/// What a C function wrote, if it succeeded.
#[inline]
pub(super) fn output<T>(initial: T, call: impl FnOnce(&mut T) -> c_int) -> RmpiResult<T> {
    let mut value = initial;
    check(call(&mut value))?;
    Ok(value)
}

/// The class of an [`Error`]: one of the standard's, or one that the MPI library or a program added.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorClass(c_int);

macro_rules! classes {
    ($($name:ident = $constant:ident,)*) => {
        impl ErrorClass {
            $(
                #[doc = concat!("`", stringify!($constant), "`")]
                pub const $name: Self = Self(sys::$constant);
            )*

            /// Is it one of the standard's?
            fn is_standard(self) -> bool {
                [$(sys::$constant),*].contains(&self.0)
            }
        }

        impl fmt::Debug for ErrorClass {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $(sys::$constant => f.write_str(stringify!($constant)),)*
                    other => match Self::FAILURES.iter().find(|(class, _)| class.0 == other) {
                        Some((_, name)) => f.write_str(name),
                        None => write!(f, "error class {other}"),
                    },
                }
            }
        }
    };
}

classes! {
    ACCESS = MPI_ERR_ACCESS,
    AMODE = MPI_ERR_AMODE,
    ARG = MPI_ERR_ARG,
    ASSERT = MPI_ERR_ASSERT,
    BAD_FILE = MPI_ERR_BAD_FILE,
    BASE = MPI_ERR_BASE,
    BUFFER = MPI_ERR_BUFFER,
    COMM = MPI_ERR_COMM,
    CONVERSION = MPI_ERR_CONVERSION,
    COUNT = MPI_ERR_COUNT,
    DIMS = MPI_ERR_DIMS,
    DISP = MPI_ERR_DISP,
    DUP_DATAREP = MPI_ERR_DUP_DATAREP,
    FILE = MPI_ERR_FILE,
    FILE_EXISTS = MPI_ERR_FILE_EXISTS,
    FILE_IN_USE = MPI_ERR_FILE_IN_USE,
    GROUP = MPI_ERR_GROUP,
    IN_STATUS = MPI_ERR_IN_STATUS,
    INFO = MPI_ERR_INFO,
    INFO_KEY = MPI_ERR_INFO_KEY,
    INFO_NOKEY = MPI_ERR_INFO_NOKEY,
    INFO_VALUE = MPI_ERR_INFO_VALUE,
    INTERN = MPI_ERR_INTERN,
    IO = MPI_ERR_IO,
    KEYVAL = MPI_ERR_KEYVAL,
    LOCKTYPE = MPI_ERR_LOCKTYPE,
    NAME = MPI_ERR_NAME,
    NO_MEM = MPI_ERR_NO_MEM,
    NO_SPACE = MPI_ERR_NO_SPACE,
    NO_SUCH_FILE = MPI_ERR_NO_SUCH_FILE,
    NOT_SAME = MPI_ERR_NOT_SAME,
    OP = MPI_ERR_OP,
    OTHER = MPI_ERR_OTHER,
    PENDING = MPI_ERR_PENDING,
    PORT = MPI_ERR_PORT,
    PROC_ABORTED = MPI_ERR_PROC_ABORTED,
    QUOTA = MPI_ERR_QUOTA,
    RANK = MPI_ERR_RANK,
    READ_ONLY = MPI_ERR_READ_ONLY,
    REQUEST = MPI_ERR_REQUEST,
    RMA_ATTACH = MPI_ERR_RMA_ATTACH,
    RMA_CONFLICT = MPI_ERR_RMA_CONFLICT,
    RMA_FLAVOR = MPI_ERR_RMA_FLAVOR,
    RMA_RANGE = MPI_ERR_RMA_RANGE,
    RMA_SHARED = MPI_ERR_RMA_SHARED,
    RMA_SYNC = MPI_ERR_RMA_SYNC,
    ROOT = MPI_ERR_ROOT,
    SERVICE = MPI_ERR_SERVICE,
    SESSION = MPI_ERR_SESSION,
    SIZE = MPI_ERR_SIZE,
    SPAWN = MPI_ERR_SPAWN,
    TAG = MPI_ERR_TAG,
    T_CANNOT_INIT = MPI_T_ERR_CANNOT_INIT,
    T_CVAR_SET_NEVER = MPI_T_ERR_CVAR_SET_NEVER,
    T_CVAR_SET_NOT_NOW = MPI_T_ERR_CVAR_SET_NOT_NOW,
    T_INVALID = MPI_T_ERR_INVALID,
    T_INVALID_HANDLE = MPI_T_ERR_INVALID_HANDLE,
    T_INVALID_INDEX = MPI_T_ERR_INVALID_INDEX,
    T_INVALID_ITEM = MPI_T_ERR_INVALID_ITEM,
    T_INVALID_NAME = MPI_T_ERR_INVALID_NAME,
    T_INVALID_SESSION = MPI_T_ERR_INVALID_SESSION,
    T_MEMORY = MPI_T_ERR_MEMORY,
    T_NOT_INITIALIZED = MPI_T_ERR_NOT_INITIALIZED,
    T_OUT_OF_HANDLES = MPI_T_ERR_OUT_OF_HANDLES,
    T_OUT_OF_SESSIONS = MPI_T_ERR_OUT_OF_SESSIONS,
    T_PVAR_NO_ATOMIC = MPI_T_ERR_PVAR_NO_ATOMIC,
    T_PVAR_NO_STARTSTOP = MPI_T_ERR_PVAR_NO_STARTSTOP,
    T_PVAR_NO_WRITE = MPI_T_ERR_PVAR_NO_WRITE,
    TOPOLOGY = MPI_ERR_TOPOLOGY,
    TRUNCATE = MPI_ERR_TRUNCATE,
    TYPE = MPI_ERR_TYPE,
    UNKNOWN = MPI_ERR_UNKNOWN,
    UNSUPPORTED_DATAREP = MPI_ERR_UNSUPPORTED_DATAREP,
    UNSUPPORTED_OPERATION = MPI_ERR_UNSUPPORTED_OPERATION,
    VALUE_TOO_LARGE = MPI_ERR_VALUE_TOO_LARGE,
    WIN = MPI_ERR_WIN,
}

impl ErrorClass {
    /// Is it one of `MPI_T`, whose functions return classes?
    fn is_of_tools(self) -> bool {
        [
            Self::T_CANNOT_INIT,
            Self::T_CVAR_SET_NEVER,
            Self::T_CVAR_SET_NOT_NOW,
            Self::T_INVALID,
            Self::T_INVALID_HANDLE,
            Self::T_INVALID_INDEX,
            Self::T_INVALID_ITEM,
            Self::T_INVALID_NAME,
            Self::T_INVALID_SESSION,
            Self::T_MEMORY,
            Self::T_NOT_INITIALIZED,
            Self::T_OUT_OF_HANDLES,
            Self::T_OUT_OF_SESSIONS,
            Self::T_PVAR_NO_ATOMIC,
            Self::T_PVAR_NO_STARTSTOP,
            Self::T_PVAR_NO_WRITE,
        ]
        .contains(&self)
    }
}

/// Classes of the extensions for processes that fail, whose numbers are each library's own; where a library has none, they
/// are no class's.
const fn failure(mpich: c_int, open_mpi: c_int) -> ErrorClass {
    ErrorClass(match mpi_sys::ABI {
        mpi_sys::Abi::Mpich => mpich,
        mpi_sys::Abi::OpenMpi => open_mpi,
        mpi_sys::Abi::Standard => -mpich,
    })
}

impl ErrorClass {
    /// `MPIX_ERR_PROC_FAILED`: a process has failed, and the operation with it.
    pub const PROC_FAILED: Self = failure(101, 75);
    /// `MPIX_ERR_PROC_FAILED_PENDING`: a process has failed that a receive from any may wait for. It still waits.
    pub const PROC_FAILED_PENDING: Self = failure(102, 76);
    /// `MPIX_ERR_REVOKED`: a process has [revoked](super::Communicator::revoke) the communicator.
    pub const REVOKED: Self = failure(103, 77);

    const FAILURES: [(Self, &'static str); 3] = [
        (Self::PROC_FAILED, "MPIX_ERR_PROC_FAILED"),
        (Self::PROC_FAILED_PENDING, "MPIX_ERR_PROC_FAILED_PENDING"),
        (Self::REVOKED, "MPIX_ERR_REVOKED"),
    ];
}

/// The classes that this program added, in either mode of the library.
pub(super) static ADDED: &std::sync::Mutex<Vec<c_int>> = &crate::running::ADDED_CLASSES;

impl ErrorClass {
    /// The class of this number, to compare with. Whether there is such a class, MPI knows; what rmpi passes
    /// to MPI is one of the standard's or one that was [added](super::add_error_class).
    pub const fn from_raw(raw: c_int) -> Self {
        Self(raw)
    }

    /// Is it known to be a class of MPI's? Some MPIs believe any number, and crash when they are asked for
    /// its text.
    pub(super) fn exists(self) -> bool {
        let added =
            || ADDED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).contains(&self.0);
        self.is_standard() || added()
    }

    /// C's number.
    pub const fn into_raw(self) -> c_int {
        self.0
    }
}
