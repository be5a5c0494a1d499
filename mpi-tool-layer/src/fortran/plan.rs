//! How the calls of each function are converted: from what the list says of its parameters.
//!
//! Fortran passes addresses: of numbers, of handles, which are `INTEGER`s, and of arrays. C wants most of them as values,
//! handles of its own type, and other constants. What must be done with an argument follows from its type, its kind,
//! its direction and its length, all of which are in the list. So there is no code for any one function: a [`Plan`]
//! has a [`How`] for each parameter, `to_c.rs` makes C's arguments by it, and `to_fortran.rs` gives results back.
//!
//! A plan is made when a process calls from Fortran for the first time, for all functions, and does not change.

use core::ffi::c_void;
use core::mem::transmute;

use mpi_sys::{ABI, Abi, MPI_Fint, pmpi};

use super::language::bottom;
use crate::{Direction, FunctionClass, FunctionId, MpiVersion, Parameter, ParameterKind};

/// Most words that a call has, in either language.
pub(super) const MOST: usize = 24;

/// A class of handles, with the functions that convert them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Handle {
    to_c: FunctionId,
    to_fortran: FunctionId,
    /// The same integer in both languages.
    same: bool,
}

impl Handle {
    pub(super) fn of(rust_type: &str) -> Option<Self> {
        let name = rust_type.trim_start_matches("*const ").trim_start_matches("*mut ");
        let name = if name == "MPI_Datatype" { "MPI_Type" } else { name };
        Some(Self {
            to_c: format!("{name}_f2c").parse().ok()?,
            to_fortran: format!("{name}_c2f").parse().ok()?,
            same: ABI == Abi::Mpich && name != "MPI_File",
        })
        .filter(|_| name != "MPI_Status")
    }

    pub(super) fn to_c(self, handle: MPI_Fint) -> usize {
        match pmpi::address(self.to_c as usize).filter(|_| !self.same) {
            // SAFETY: the library's `MPI_X_f2c` takes one `INTEGER`, of any value, and gives a handle, which is an
            // address here: where handles are integers (`same`), this is not called.
            Some(function) => unsafe {
                transmute::<*mut c_void, extern "C" fn(MPI_Fint) -> usize>(function.as_ptr())(
                    handle,
                )
            },
            None => handle.cast_unsigned() as usize,
        }
    }

    /// The handle as Fortran's.
    ///
    /// # Safety
    /// MPI has given or accepted it.
    pub(super) unsafe fn to_fortran(self, handle: usize) -> MPI_Fint {
        match pmpi::address(self.to_fortran as usize).filter(|_| !self.same) {
            // SAFETY: the library's `MPI_X_c2f` takes a handle, as the caller promises, which is an address here: where handles
            // are integers (`same`), this is not called. It gives an `INTEGER`.
            Some(function) => unsafe {
                transmute::<*mut c_void, extern "C" fn(usize) -> MPI_Fint>(function.as_ptr())(
                    handle,
                )
            },
            None => handle as MPI_Fint,
        }
    }
}

/// How long an array is.
#[derive(Clone, Copy)]
pub(super) enum Length {
    /// As this parameter says.
    Parameter(usize),
    /// A datatype for each process that data goes to.
    Targets,
    /// A datatype for each process that data comes from.
    Sources,
    /// The dimensions of the communicator's Cartesian topology.
    Dimensions,
}

/// How a parameter is converted.
#[derive(Clone, Copy)]
pub(super) enum How {
    /// C has it, Fortran has not.
    Absent,
    /// An address in both.
    Address,
    /// A number of four bytes, which C gets as a value.
    Int,
    /// A number of eight bytes, which C gets as a value.
    Long,
    /// A buffer for data: an address, a descriptor of `mpi_f08`, or a constant such as `MPI_IN_PLACE`.
    Buffer,
    /// The address of memory, which only `mpi_f08` gets.
    Memory,
    /// A handle that C gets as a value.
    Handle(Handle),
    /// A handle that MPI makes.
    HandleOut(Handle),
    /// A handle that MPI may set to null, such as a request's.
    HandleInOut(Handle),
    /// An array of handles that MPI reads.
    Handles(Handle, Length),
    /// An array of handles that MPI makes.
    HandlesOut(Handle, Length),
    /// An array of handles that MPI may set to null.
    HandlesInOut(Handle, Length),
    /// A status, of as many `INTEGER`s, or the constant by which it is ignored.
    Status,
    /// An array of statuses, or the constant by which they are ignored.
    Statuses(Length),
    /// `LOGICAL`, which is 0 or 1 in C.
    Logical,
    /// `LOGICAL` that MPI sets.
    LogicalOut,
    /// An array of `LOGICAL` that MPI reads.
    Logicals(Length),
    /// An array of `LOGICAL` that MPI sets.
    LogicalsOut(Length),
    /// A string, which Fortran fills with blanks and C ends with a NUL.
    Text,
    /// A string that MPI writes. C's has as many bytes as the parameter says, if there is one that does.
    TextOut(Option<usize>),
    /// `argv`: strings up to a blank one.
    Texts,
    /// So many strings.
    Commands(Length),
    /// So many `argv`.
    TextsOfCommands(Length),
    /// The length of a text, which in C counts the NUL.
    TextLength,
    /// The position of a request in an array, which Fortran counts from 1.
    IndexOut,
    /// How many positions there are, or `MPI_UNDEFINED`.
    IndexCount,
    /// Positions, as many as that parameter says.
    Indices(usize),
    /// The error codes of processes to be spawned, or the constant by which they are ignored.
    ErrorCodes,
    /// The weights of a graph's edges, or one of two constants.
    Weights,
    /// An address that an old function has in an `INTEGER`.
    NarrowOut,
    /// An array of these.
    Narrows(Length),
    /// The value of an attribute.
    Attribute,
    /// An attribute's value, which MPI gives.
    AttributeOut,
}

/// How the calls of a function are converted.
pub(super) struct Plan {
    pub(super) hows: Vec<How>,
    /// The arguments of Fortran, without error code and lengths of strings.
    pub(super) fortran: usize,
    pub(super) has_error: bool,
    pub(super) strings: usize,
    /// Of callbacks or attributes.
    pub(super) language_bound: bool,
    /// The parameters `root` and `comm`, where strings or arrays are significant at the root only.
    pub(super) root: Option<(usize, usize)>,
    pub(super) comm: Option<usize>,
    pub(super) comm_handle: Option<Handle>,
    /// The request that the function makes, if MPI may read arrays that are converted until it is complete.
    pub(super) reads_until: Option<usize>,
    /// The requests, or the one, that the function may complete or free.
    pub(super) requests: Option<usize>,
    /// A narrow address in an attribute, of the functions that MPI-2 replaced.
    pub(super) old: bool,
}

impl Plan {
    pub(super) fn new(function: FunctionId) -> Self {
        let parameters = function.parameters();
        let old = function.first_version() < MpiVersion { major: 2, minor: 0 };
        let position =
            |name: &str| parameters.iter().position(|parameter| parameter.name() == name);
        let hows: Vec<How> =
            parameters.iter().map(|parameter| how(function, parameter, old, &position)).collect();
        let absent = hows.iter().filter(|how| matches!(how, How::Absent)).count();
        let strings = hows.iter().filter(|how| how.is_text()).count();
        let converts_at_root = parameters.iter().zip(&hows).any(|(parameter, how)| {
            parameter.root_only
                && (how.is_text() || matches!(how, How::Handles(..) | How::ErrorCodes))
        });
        let comm = parameters.iter().position(|parameter| parameter.rust_type() == "MPI_Comm");
        let reads_types = hows
            .iter()
            .any(|how| matches!(how, How::Handles(_, Length::Targets | Length::Sources)));
        let request = |is: fn(How) -> bool| {
            let all = parameters.iter().zip(&hows);
            all.clone()
                .position(|(parameter, how)| parameter.kind == ParameterKind::Request && is(*how))
        };
        let new_request = request(|how| matches!(how, How::HandleOut(_)));
        Self {
            fortran: hows.len() - absent,
            has_error: function.result() == "c_int" && function != FunctionId::MPI_Pcontrol,
            strings,
            language_bound: bottom(function).is_some(),
            root: position("root").zip(comm).filter(|_| converts_at_root),
            comm,
            comm_handle: Handle::of("MPI_Comm"),
            reads_until: new_request.filter(|_| reads_types),
            requests: request(|how| matches!(how, How::HandleInOut(_) | How::HandlesInOut(..))),
            old,
            hows,
        }
    }

    /// All that Fortran passes.
    pub(super) fn words(&self) -> usize {
        self.fortran + usize::from(self.has_error) + self.strings
    }
}

impl How {
    pub(super) fn is_text(self) -> bool {
        matches!(
            self,
            How::Text | How::TextOut(_) | How::Texts | How::Commands(_) | How::TextsOfCommands(_)
        )
    }
}

pub(super) fn how(
    function: FunctionId,
    parameter: &Parameter,
    old: bool,
    position: &dyn Fn(&str) -> Option<usize>,
) -> How {
    use ParameterKind as Kind;
    let Parameter { kind, direction, .. } = *parameter;
    // The compiler may write a blank behind a star.
    let rust_type = parameter.rust_type().replace("* ", "*");
    let rust_type = rust_type.as_str();
    let is_in = rust_type.starts_with("*const");
    let is_pointer = rust_type.starts_with('*');
    let is_out = is_pointer && direction == Direction::Out;
    let is_array = parameter.name().starts_with("array_of_");
    let length = parameter.length().and_then(position).map(Length::Parameter);
    let count = || position("count").or_else(|| position("incount")).map(Length::Parameter);
    if let Some(handle) = Handle::of(rust_type) {
        let length = length.or_else(|| match parameter.name() {
            "sendtypes" => Some(Length::Targets),
            "recvtypes" => Some(Length::Sources),
            _ if is_array => count(),
            _ => None,
        });
        return match length.filter(|_| is_pointer) {
            _ if handle.same => {
                if is_pointer {
                    How::Address
                } else {
                    How::Int
                }
            }
            Some(length) if is_in => How::Handles(handle, length),
            Some(length) if is_out => How::HandlesOut(handle, length),
            Some(length) => How::HandlesInOut(handle, length),
            None if !is_pointer => How::Handle(handle),
            None if is_out => How::HandleOut(handle),
            None => How::HandleInOut(handle),
        };
    }
    match kind {
        Kind::ArgumentCount | Kind::ArgumentList => How::Absent,
        Kind::AttributeVal if direction == Direction::In => How::Attribute,
        Kind::AttributeVal => How::AttributeOut,
        Kind::Buffer => How::Buffer,
        Kind::CBuffer if function.class() == FunctionClass::Buffering => How::Memory,
        Kind::Status if is_array => match count() {
            Some(length) => How::Statuses(length),
            None => How::Address,
        },
        Kind::Status => How::Status,
        Kind::Logical => match (is_pointer, is_in, length) {
            (false, ..) => How::Logical,
            (_, true, length) => How::Logicals(length.unwrap_or(Length::Dimensions)),
            (_, _, Some(length)) => How::LogicalsOut(length),
            (_, _, None) => How::LogicalOut,
        },
        Kind::String if is_in => How::Text,
        Kind::String => {
            let known = ["valuelen", "buflen", "pset_len"];
            How::TextOut(known.iter().find_map(|name| position(name)))
        }
        Kind::StringArray if is_array => match count() {
            Some(length) => How::Commands(length),
            None => How::Texts,
        },
        Kind::StringArray => How::Texts,
        Kind::String2darray => match count() {
            Some(length) => How::TextsOfCommands(length),
            None => How::Address,
        },
        Kind::InfoValueLength if is_pointer && direction == Direction::InOut => How::TextLength,
        Kind::Index if is_out && function.class() == FunctionClass::Completion => {
            match position("outcount") {
                Some(outcount) if is_array => How::Indices(outcount),
                _ => How::IndexOut,
            }
        }
        _ if parameter.name() == "outcount" && position("array_of_indices").is_some() => {
            How::IndexCount
        }
        Kind::ErrorCode if is_array => How::ErrorCodes,
        Kind::Weight => How::Weights,
        _ if old && rust_type == "*mut MPI_Aint" => How::NarrowOut,
        _ if old && rust_type == "*const MPI_Aint" => match length {
            Some(length) => How::Narrows(length),
            None => How::Address,
        },
        _ if rust_type == "c_int" || old && rust_type == "MPI_Aint" => How::Int,
        _ if ["MPI_Aint", "MPI_Count", "MPI_Offset"].contains(&rust_type) => How::Long,
        // Also functions, which Fortran passes as their addresses.
        _ => How::Address,
    }
}
