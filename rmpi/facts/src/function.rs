//! Which function a call is of, and what the standard says of it.
//!
//! [`FunctionId`] and what is known of each function expand from the list of functions
//! (`list.rs`), which the tests of `mpi-sys` compare with the MPI Forum's data. All of it is constant data: questions that the compiler can answer cost nothing.

use core::ffi::CStr;
use core::fmt;
use core::str::FromStr;

use packed::{
    CLASS_OF, COUNTS, FIRSTS, Listed, PARAMETERS, RESULT_TEXTS, STARTS, TEXTS, TUM_ID_OF,
    VERSION_OF, piece,
};

/// `FunctionId` and the descriptions, from the lines of the list.
macro_rules! functions {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// One of the 700 MPI functions: the 690 of MPI-5.0 and the ten that MPI-3.0 removed. The
        /// number is its rank in the order of the C names, so it is an index into arrays of
        /// [`COUNT`](Self::COUNT) elements; it changes when a version of MPI adds functions.
        ///
        /// Whether the MPI of a process has a function is another question
        /// (`NextFunctions::available` of mpi-tool-layer). Of a function and its
        /// large-count twin each is one here. A text becomes one by [`parse`](str::parse), if it is
        /// the exact C name.
        #[allow(non_camel_case_types)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum FunctionId {
            $(
                #[doc = concat!("`", stringify!($c_name), "`, since MPI-", stringify!($version), ".")]
                $c_name,
            )*
        }

        /// All functions, by their numbers.
        const ALL: &[FunctionId] = &[$(FunctionId::$c_name),*];

        const CLASSES: [FunctionClass; ALL.len()] = [$(FunctionClass::$class),*];
        const VERSIONS: [MpiVersion; ALL.len()] = [$(MpiVersion::parse(stringify!($version))),*];
        const TUM_IDS: [Option<u16>; ALL.len()] = [$(tum_qmpi!($tum)),*];
        static METHODS: [&str; ALL.len()] = [$(stringify!($name)),*];

        /// The names of the library's own functions, one behind the other: those of the list follow the `P`.
        const NAMES: &str = concat!($("P", stringify!($c_name), "\0"),*);

        /// How many parameters each function has.
        const NUMBERS: [usize; ALL.len()] = [$({
            const NAMES: &[&str] = &[$(stringify!($arg)),*];
            NAMES.len()
        }),*];

        /// The parameters of all functions, one behind the other.
        const LISTED: &[Listed] = &[$($(
            Listed {
                name: stringify!($arg),
                rust_type: stringify!($ty),
                length: concat!($(stringify!($len))?),
                direction: direction!($dir),
                kind: ParameterKind::$kind,
                root_only: is_given!($($root)?),
            },
        )*)*];

        const RESULTS: [&str; ALL.len()] = [$(stringify!($ret)),*];
    };
}

/// Is an optional part there?
macro_rules! is_given {
    () => {
        false
    };
    ($part:ident) => {
        true
    };
}

macro_rules! tum_qmpi {
    (-) => {
        None
    };
    ($id:literal) => {
        Some($id)
    };
}

/// The list's word for a direction, as a value.
macro_rules! direction {
    (in) => {
        Direction::In
    };
    (out) => {
        Direction::Out
    };
    (inout) => {
        Direction::InOut
    };
}

mpi_functions! { [functions] }

impl FunctionId {
    /// How many functions there are.
    pub const COUNT: usize = ALL.len();

    /// All functions, sorted by name: in the order of their numbers.
    pub fn all() -> impl ExactSizeIterator<Item = FunctionId> + DoubleEndedIterator {
        ALL.iter().copied()
    }

    /// The function of a number below [`COUNT`](Self::COUNT): the inverse of `function as usize`.
    /// `None` of other numbers.
    pub const fn from_index(index: usize) -> Option<FunctionId> {
        if index < ALL.len() { Some(ALL[index]) } else { None }
    }

    /// The name of the library's own function, with its NUL.
    const fn whole_name(self) -> &'static str {
        let (start, end) = (STARTS[self as usize] as usize, STARTS[self as usize + 1] as usize);
        NAMES.split_at(end).0.split_at(start).1
    }

    /// The C name, `MPI_Send`.
    pub const fn name(self) -> &'static str {
        let whole = self.whole_name();
        whole.split_at(whole.len() - 1).0.split_at(1).1
    }

    /// The C name, as C wants it: with a NUL at its end.
    pub fn c_name(self) -> &'static CStr {
        c_string(&self.whole_name()[1..])
    }

    /// The name under which the library has the function for tools, `PMPI_Send`, with a NUL at its end.
    pub fn pmpi_name(self) -> &'static CStr {
        c_string(self.whole_name())
    }

    /// The name of the layers' method, `send`: the C name in lower case, without `MPI_`. A
    /// high-level layer has no method of its own for `send_c`.
    pub const fn method_name(self) -> &'static str {
        METHODS[self as usize]
    }

    /// Is it the large-count twin of another function (`MPI_Send_c`)? By its name.
    pub const fn is_large_count(self) -> bool {
        matches!(self.name().as_bytes(), [.., b'_', b'c'])
    }

    /// What the function is about: the name of its group in reports.
    pub const fn class(self) -> FunctionClass {
        CLASS_OF[self as usize]
    }

    /// The first version of the standard that has the function. For the ten that MPI-3.0 removed,
    /// too, it is the one that brought them.
    pub fn first_version(self) -> MpiVersion {
        VERSION_OF[self as usize]
    }

    /// The function's id in TUM's QMPI, where it has one: 360 functions do.
    pub fn tum_qmpi_id(self) -> Option<u16> {
        TUM_ID_OF[self as usize]
    }

    /// What the function returns, as Rust writes it: `c_int`, mostly an error code.
    pub const fn result(self) -> &'static str {
        TEXTS[RESULT_TEXTS[self as usize] as usize]
    }

    /// The parameters, in order: as many as `Call::arguments` of mpi-tool-layer has words.
    pub const fn parameters(self) -> &'static [Parameter] {
        let (first, count) = (FIRSTS[self as usize], COUNTS[self as usize]);
        piece(&PARAMETERS, first as usize, count as usize)
    }
}

/// A text of [`NAMES`], each of which ends with a NUL and has no other one.
fn c_string(text: &'static str) -> &'static CStr {
    CStr::from_bytes_with_nul(text.as_bytes()).expect("an identifier has no NUL")
}

impl fmt::Display for FunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no MPI function's: what [`FunctionId`]'s `from_str` returns. Its text says what
/// names look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownFunction;

impl fmt::Display for UnknownFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no MPI function of this name (C names, as in MPI_Send)")
    }
}

impl core::error::Error for UnknownFunction {}

impl FromStr for FunctionId {
    type Err = UnknownFunction;

    fn from_str(name: &str) -> Result<Self, UnknownFunction> {
        let rank = ALL.binary_search_by(|function| function.name().cmp(name));
        rank.map(|index| ALL[index]).map_err(|_| UnknownFunction)
    }
}

/// Declares an enum whose variants have a name for people.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The name in reports.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

named! {
    /// What a function is about; the chapters of MPI-5.0, the large ones divided.
    FunctionClass {
        /// Sends, receives and probes, persistent ones too (chapter 3).
        PointToPoint = "point-to-point",
        /// Completion, start and cancellation of requests (3.7, 3.9).
        Completion = "completion",
        /// What a status tells (3.2.5).
        Status = "status",
        /// Buffers of buffered sends (3.6).
        Buffering = "buffering",
        /// Partitioned communication (chapter 4).
        Partitioned = "partitioned",
        /// Datatypes, packing, addresses (chapter 5).
        Datatype = "datatype",
        /// Collective communication (chapter 6).
        Collective = "collective",
        /// Reduction operations (6.9).
        Operation = "operation",
        /// Groups (7.3).
        Group = "group",
        /// Communicators (7.4, 7.6).
        Communicator = "communicator",
        /// Keyvals and attributes (7.7).
        Attribute = "attribute",
        /// Virtual topologies (chapter 8).
        Topology = "topology",
        /// Neighbourhood collectives (8.6).
        Neighborhood = "neighborhood",
        /// Versions, clocks, memory, the ABI (chapters 9, 15, 20).
        Environment = "environment",
        /// Error handlers, classes and codes (9.3 to 9.5).
        ErrorHandling = "error handling",
        /// Info objects (chapter 10).
        Info = "info",
        /// Start and end, sessions, spawn and connect (chapter 11).
        Process = "process",
        /// Windows and one-sided communication (chapter 12).
        OneSided = "one-sided",
        /// Generalized requests (13.2).
        GeneralizedRequest = "generalized request",
        /// Files (chapter 14).
        Io = "I/O",
        /// The tool information interface (15.3).
        ToolInterface = "tool interface",
        /// Handles between languages (chapters 19, 20).
        Conversion = "conversion",
    }
}

/// A version of the MPI standard. Versions are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MpiVersion {
    /// 5 in MPI-5.0.
    pub major: u8,
    /// 0 in MPI-5.0.
    pub minor: u8,
}

impl MpiVersion {
    /// A version as the list has it: two digits and a dot.
    const fn parse(text: &str) -> Self {
        let [major, b'.', minor] = text.as_bytes() else { panic!("a version is x.y") };
        Self { major: *major - b'0', minor: *minor - b'0' }
    }
}

impl fmt::Display for MpiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A parameter of an MPI function, as the MPI Forum's machine-readable standard describes it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The numbers of three texts.
    name: u16,
    rust_type: u16,
    length: u16,
    /// Who writes it.
    pub direction: Direction,
    /// What it means, whatever its type is: an `int` may be a rank, a count or a flag.
    pub kind: ParameterKind,
    /// Is only the root's argument significant? At the other ranks it may be anything, also where
    /// the call is accepted.
    pub root_only: bool,
}

impl Parameter {
    const NONE: Self = Self {
        name: 0,
        rust_type: 0,
        length: 0,
        direction: Direction::In,
        kind: ParameterKind::Buffer,
        root_only: false,
    };

    /// The standard's name, `sendbuf`. Unique in the function.
    pub const fn name(&self) -> &'static str {
        TEXTS[self.name as usize]
    }

    /// The C type, as Rust writes it: `*const c_void`, `MPI_Comm`.
    pub const fn rust_type(&self) -> &'static str {
        TEXTS[self.rust_type as usize]
    }

    /// For an array, the parameter or constant that gives its length, where there is one: of
    /// `MPI_Waitall`'s requests, `count`. `None` of all that is no array, and of arrays whose
    /// length follows from something else, such as the size of a communicator.
    pub const fn length(&self) -> Option<&'static str> {
        let text = TEXTS[self.length as usize];
        if text.is_empty() { None } else { Some(text) }
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parameter")
            .field("name", &self.name())
            .field("rust_type", &self.rust_type())
            .field("length", &self.length())
            .field("direction", &self.direction)
            .field("kind", &self.kind)
            .field("root_only", &self.root_only)
            .finish()
    }
}

/// Who writes an argument, in the standard's language-independent terms. A buffer that is received
/// in partitions is `In` there, though MPI writes to it later; the Rust type, `*mut`, says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The caller. A handle, too, whose object the function does not change.
    In,
    /// MPI: an address where it puts something.
    Out,
    /// Both, or the object behind a handle changes.
    InOut,
}

/// What a parameter means: the kinds of the MPI Forum's machine-readable standard, without their
/// value ranges and widths (`POLYXFER_NUM_ELEM_NNI` is `XferNumElem`: a number of elements to
/// transfer).
///
/// Those that tools meet most:
///
/// | kind | |
/// |---|---|
/// | `Buffer` | the address of data that MPI moves |
/// | `XferNumElem`, `DtypeNumElem` | how many elements to move; how many a datatype is made of |
/// | `Partition` | how many partitions, or which |
/// | `Displacement`, `RmaDisplacement` | where a block begins, in elements or bytes; where in a window, in its units |
/// | `Rank`, `Tag` | the other process, the name of a message; their special values, too |
/// | `Communicator`, `Datatype`, `Window`, `Request` … | a handle, or the address of one |
/// | `Status`, `Logical`, `Index` | the addresses of statuses, flags and indices that MPI writes |
/// | `ArrayLength` | how long an array among the parameters is, or how much of it MPI has written |
/// | `Function`, `ExtraState` | a callback, and what it gets |
#[allow(missing_docs, reason = "the MPI Forum's terms")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[rustfmt::skip]
pub enum ParameterKind {
    AccessMode, AllocMemNumBytes, ArgumentCount, ArgumentList, ArrayLength, Assert,
    AttributeVal, BindType, Buffer, CBuffer, CallbackSafety, CatIndex, Color, Combiner,
    CommComparison, CommSize, Communicator, Coordinate, Cvar, CvarIndex, Datatype, Degree,
    Dimension, Displacement, DisplacementAintCount, DisplacementCount, Dispoffset,
    DistribEnum, DtypeDistribution, DtypeNumElem, DtypePackSize, DtypeStrideBytes,
    Errhandler, ErrorClass, ErrorCode, EventCbFunction, EventDropCbFunction,
    EventFreeCbFunction, EventIndex, EventInstance, EventRegistration, ExtraState,
    F08Status, F90Comm, F90Datatype, F90Errhandler, F90File, F90Group, F90Info, F90Message,
    F90Op, F90Request, F90Session, F90Status, F90Win, File, FileDescriptor, Function,
    GenericDtypeCount, GenericDtypeInt, Group, GroupComparison, Index, Info,
    InfoValueLength, Key, KeyIndex, Keyval, Location, LockType, Logical, LogicalVoid, Math,
    Message, NumBytes, NumDims, NumParamValues, Offset, Operation, Order, Partition,
    ProcessGridSize, ProfileLevel, Pvar, PvarClass, PvarIndex, PvarSession, Rank, Request,
    RmaDisplacement, Session, SourceIndex, SourceOrdering, SplitType, Status, String,
    String2darray, StringArray, StringLength, Tag, ThreadLevel, ToolMpiObj, ToolVarValue,
    ToolVarVerbosity, ToolenumIndex, ToolenumSize, ToolsEnum, ToolsNumElem, ToolsTickCount,
    TopologyType, Typeclass, TypeclassSize, UpdateMode, UpdateNumber, VariableScope,
    Version, Weight, WinAttachSize, Window, WindowSize, XferNumElem,
}

mod packed;
mod texts;

#[cfg(test)]
mod tests;
