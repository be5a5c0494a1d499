//! What the standard says of a function's parameters.

use core::fmt;

use super::packed::TEXTS;

/// A parameter of an MPI function, as the MPI Forum's machine-readable standard describes it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The numbers of three texts.
    pub(super) name: u16,
    pub(super) rust_type: u16,
    pub(super) length: u16,
    /// Who writes it.
    pub direction: Direction,
    /// What it means, whatever its type is: an `int` may be a rank, a count or a flag.
    pub kind: ParameterKind,
    /// Is only the root's argument significant? At the other ranks it may be anything, also where
    /// the call is accepted.
    pub root_only: bool,
}

impl Parameter {
    pub(super) const NONE: Self = Self {
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
