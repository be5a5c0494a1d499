//! Which of a function's parameters is what: found at compile time from the list, so that a
//! question that is asked of any call costs as little as one of a known call.
//!
//! The list says of each parameter its kind (a count, a datatype, a rank), its direction and its
//! Rust type. From that [`Shape::of`] finds what a tool wants to know: the buffer that is sent and
//! the one that is received, each with its count and datatype; the peers; the requests and
//! statuses; and a [`Pattern`], which says how data move. Names are looked at where kinds do not
//! tell (a scatter from a gather, a root from a target).
//!
//! It is one `const fn` for all 700 functions, without a list of exceptions. The tests at the end
//! compare it with what the standard says of functions of all kinds. The code is written without
//! traits and iterators, which constants cannot use. The compiler runs it again for each crate that uses a shape in a
//! constant, and it is slow at that: so the code reads the list itself, and not the tables that are made of it.

mod collective;
mod local;

use crate::function::Listed;
use crate::text::{at, contains, ends_with, equals};
use crate::{Direction, FunctionClass, FunctionId, ParameterKind};

pub use collective::{is_collective, is_collective_on_object, is_scan};
pub use local::only_tells;

/// A parameter's position among the function's parameters, from 0, or [`NONE`].
pub type Position = u8;

/// No such parameter.
pub const NONE: Position = Position::MAX;

/// Where the arguments of a call are: positions of parameters, [`NONE`] for those that the function
/// does not have, and what follows from the function itself.
///
/// A field that is a handle means the handle and not its address: of `MPI_Comm_free` the
/// communicator is `NONE`.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// What the function is about, as the list says.
    pub class: FunctionClass,
    /// Who gives what to whom.
    pub pattern: Pattern,
    /// When that happens.
    pub timing: Timing,
    /// The first communicator.
    pub communicator: Position,
    /// The address where the function puts the communicator that it makes.
    pub new_communicator: Position,
    /// The first window.
    pub window: Position,
    /// The first file.
    pub file: Position,
    /// The rank that is called `root`.
    pub root: Position,
    /// The rank that is called `dest`, of a message.
    pub destination: Position,
    /// The rank that is called `source`, of a message.
    pub source: Position,
    /// Any other rank: the target of one-sided communication, for example.
    pub target: Position,
    /// The first tag, a send's, and the last, a receive's: the same where there is one.
    pub tags: (Position, Position),
    /// What the process gives. In a broadcast it is the same buffer as `received`.
    pub sent: Data,
    /// What the process gets.
    pub received: Data,
    /// The reduction operation.
    pub operation: Position,
    /// The group that the function makes.
    pub new_group: Position,
    /// The address where the function puts the request that it makes.
    pub new_request: Position,
    /// The requests that the function is given: an array, the address of one, or one.
    pub requests: Position,
    /// How many these are; `NONE` where it is one.
    pub request_count: Position,
    /// The first status that the function writes, or their array.
    pub statuses: Position,
    /// Are there many statuses, one for each request?
    pub array_of_statuses: bool,
    /// Which of the requests the function completes.
    pub completion: Completion,
    /// The address where the function says whether anything was complete, found or there.
    pub flag: Position,
    /// The address where the function says which request is complete, or the array of such indices.
    pub index: Position,
    /// The address where the function says how many indices there are.
    pub out_count: Position,
    /// Is the function's result an error code? Not of conversions, some of which return an `int`,
    /// too.
    pub returns_code: bool,
}

/// Where a buffer's description is: the parameters that follow the buffer up to its datatype.
#[derive(Debug, Clone, Copy)]
pub struct Data {
    /// The address.
    pub buffer: Position,
    /// The number of elements, or the array of the blocks' numbers.
    pub count: Position,
    /// The datatype, or the array of the blocks' datatypes.
    pub datatype: Position,
    /// The number of partitions, each of which has `count` elements.
    pub partitions: Position,
    /// Has each process's block a count of its own (`MPI_Gatherv`)?
    pub array_of_counts: bool,
    /// Has each process's block a datatype of its own (`MPI_Alltoallw`)?
    pub array_of_datatypes: bool,
}

/// Who gives what to whom. Blocking, started and persistent forms of an operation have one pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// No data moves.
    Nothing,
    /// The buffer goes to the destination.
    Send,
    /// The buffer comes from the source, or from a message that was matched before.
    Receive,
    /// Both, also in one buffer (`MPI_Sendrecv_replace`).
    SendReceive,
    /// The root's buffer goes to all others.
    Broadcast,
    /// The root gets a block from each process.
    Gather,
    /// Each process gets a block from the root.
    Scatter,
    /// Each process gets a block from each.
    Allgather,
    /// Each process gets another block from each.
    Alltoall,
    /// All contribute, the root gets the result.
    Reduce,
    /// All contribute, and all get a result as large as their contribution: also an inclusive scan.
    Allreduce,
    /// The same for all but the first process, which gets nothing.
    Exscan,
    /// All contribute, and each gets its block of the result.
    ReduceScatter,
    /// The same block goes to each neighbour, and one comes from each.
    NeighborAllgather,
    /// Another block goes to each neighbour, and one comes from each.
    NeighborAlltoall,
    /// Into a window.
    Put,
    /// Out of a window.
    Get,
    /// Into a window, by a reduction operation.
    Accumulate,
    /// The same, and what was there before comes back (`MPI_Fetch_and_op`, `MPI_Compare_and_swap`).
    GetAccumulate,
    /// Out of a file.
    Read,
    /// Into a file.
    Write,
    /// The end of a split collective read or write.
    SplitEnd,
}

/// When the data have moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// When the call returns.
    Blocking,
    /// When the epoch of the window ends, or the operation is flushed.
    Epoch,
    /// When the request, or the split collective operation, is complete.
    Started,
    /// Each time that the request is started and complete.
    Persistent,
}

/// Which requests a call completes. It matters only where the function may put null in their place
/// and has statuses: `MPI_Request_free` and `MPI_Request_get_status` complete nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// None.
    None,
    /// The one, or all of them.
    All,
    /// That of an index.
    Any,
    /// Those of some indices.
    Some,
}

/// `==` of kinds, in constants.
const fn is(kind: ParameterKind, other: ParameterKind) -> bool {
    kind as u8 == other as u8
}

/// Is the parameter an address that may be written to?
const fn is_mutable(parameter: &Listed) -> bool {
    // As the compiler writes it: `*mut` or `* mut`.
    let ty = parameter.rust_type.as_bytes();
    is_pointer(parameter) && (at(ty, b"mut ", 1) || at(ty, b"mut ", 2))
}

/// Is the parameter an address or an array, by its Rust type?
const fn is_pointer(parameter: &Listed) -> bool {
    parameter.rust_type.as_bytes()[0] == b'*'
}

impl Timing {
    /// By the standard's rules for names, and by what a function makes.
    const fn of(function: FunctionId) -> Self {
        let (name, parameters) = (function.method_name(), function.listed());
        let large = ends_with(name, "_c");
        let (mut request, mut displacement, mut datatype) = (false, false, false);
        let mut i = 0;
        while i < parameters.len() {
            let parameter = &parameters[i];
            match parameter.kind {
                ParameterKind::Request => {
                    request = request || matches!(parameter.direction, Direction::Out);
                }
                ParameterKind::RmaDisplacement => displacement = true,
                ParameterKind::Datatype => datatype = true,
                _ => {}
            }
            i += 1;
        }
        if ends_with(name, if large { "_init_c" } else { "_init" }) {
            Timing::Persistent
        } else if request || ends_with(name, if large { "_begin_c" } else { "_begin" }) {
            Timing::Started
        } else if matches!(function.class(), FunctionClass::OneSided) && displacement && datatype {
            Timing::Epoch
        } else {
            Timing::Blocking
        }
    }
}

impl Data {
    const NOWHERE: Self = Self {
        buffer: NONE,
        count: NONE,
        datatype: NONE,
        partitions: NONE,
        array_of_counts: false,
        array_of_datatypes: false,
    };

    /// Takes a parameter that follows the buffer, if it describes it. A description begins with a
    /// buffer and ends with a datatype; what stands between them, and is neither a count nor a
    /// number of partitions, is another buffer or displacements.
    const fn describe(&mut self, parameter: &Listed, position: Position) {
        if self.buffer == NONE || self.datatype != NONE {
            return;
        }
        match parameter.kind {
            ParameterKind::XferNumElem if self.count == NONE => {
                self.count = position;
                self.array_of_counts = is_pointer(parameter);
            }
            ParameterKind::Partition => self.partitions = position,
            ParameterKind::Datatype => {
                self.datatype = position;
                self.array_of_datatypes = is_pointer(parameter);
            }
            _ => {}
        }
    }
}

/// The shapes of all functions, for code that serves more than one.
static SHAPES: [Shape; FunctionId::COUNT] = {
    let mut shapes = [Shape::of(FunctionId::MPI_Abort); FunctionId::COUNT];
    let mut index = 0;
    while let Some(function) = FunctionId::from_index(index) {
        shapes[index] = Shape::of(function);
        index += 1;
    }
    shapes
};

impl Shape {
    /// Can another process that is late make a call of the function last longer? So it is with blocking messages and
    /// collective operations, and with all that waits for requests or messages. What only asks (`MPI_Test`), and what
    /// synchronises windows, is not meant.
    pub const fn may_wait(function: FunctionId) -> bool {
        let shape = Self::of(function);
        if !matches!(shape.timing, Timing::Blocking) || shape.flag != NONE {
            return false;
        }
        let name = function.method_name();
        match shape.class {
            FunctionClass::PointToPoint => {
                matches!(shape.pattern, Pattern::Send | Pattern::Receive | Pattern::SendReceive)
                    || contains(name, "probe")
            }
            FunctionClass::Completion => contains(name, "wait"),
            FunctionClass::Collective => shape.is_of_all(),
            FunctionClass::Neighborhood => !matches!(shape.pattern, Pattern::Nothing),
            _ => false,
        }
    }

    /// Does the function wait for one request, as `MPI_Wait` does?
    pub const fn waits_for_one(&self) -> bool {
        self.waits_for_all() && self.request_count == NONE
    }

    /// Does the function wait for all its requests, as `MPI_Wait` and `MPI_Waitall` do?
    pub const fn waits_for_all(&self) -> bool {
        matches!(self.completion, Completion::All) && self.flag == NONE
    }

    /// Is it a collective operation in which all processes of the communicator take part, and which is over when the
    /// call returns: those that `MPI_Barrier` stands for, not those with neighbours only?
    pub const fn is_of_all(&self) -> bool {
        matches!(self.class, FunctionClass::Collective)
            && matches!(self.timing, Timing::Blocking)
            && self.communicator != NONE
    }

    /// The same as [`of`](Self::of), where the function is known when the program runs.
    #[inline]
    pub fn looked_up(function: FunctionId) -> &'static Self {
        &SHAPES[function as usize]
    }

    /// A function's shape. To be evaluated in constants; `looked_up` is for all else.
    pub const fn of(function: FunctionId) -> Self {
        let parameters = function.listed();
        let mut shape = Self {
            class: function.class(),
            pattern: Pattern::Nothing,
            timing: Timing::of(function),
            communicator: NONE,
            new_communicator: NONE,
            window: NONE,
            file: NONE,
            root: NONE,
            destination: NONE,
            source: NONE,
            target: NONE,
            tags: (NONE, NONE),
            sent: Data::NOWHERE,
            received: Data::NOWHERE,
            operation: NONE,
            new_group: NONE,
            new_request: NONE,
            requests: NONE,
            request_count: NONE,
            statuses: NONE,
            array_of_statuses: false,
            completion: Completion::None,
            flag: NONE,
            index: NONE,
            out_count: NONE,
            returns_code: !matches!(function.class(), FunctionClass::Conversion)
                && equals(function.listed_result(), "c_int"),
        };
        let mut message = false;
        let mut position: Position = 0;
        while (position as usize) < parameters.len() {
            let parameter = &parameters[position as usize];
            let pointer = is_pointer(parameter);
            let output = !is(parameter.kind, ParameterKind::Buffer)
                && matches!(parameter.direction, Direction::Out);
            shape.sent.describe(parameter, position);
            shape.received.describe(parameter, position);
            match parameter.kind {
                ParameterKind::Buffer => match parameter.direction {
                    // So the standard says of a buffer that is received in partitions.
                    Direction::In if is_mutable(parameter) => shape.received.buffer = position,
                    Direction::In if shape.sent.buffer == NONE => shape.sent.buffer = position,
                    // What a compare-and-swap compares with.
                    Direction::In => {}
                    Direction::Out => shape.received.buffer = position,
                    Direction::InOut => {
                        shape.received.buffer = position;
                        if shape.sent.buffer == NONE {
                            shape.sent.buffer = position;
                        }
                    }
                },
                ParameterKind::Communicator if !pointer && shape.communicator == NONE => {
                    shape.communicator = position;
                }
                ParameterKind::Communicator if output => shape.new_communicator = position,
                ParameterKind::Window if !pointer && shape.window == NONE => {
                    shape.window = position;
                }
                ParameterKind::File if !pointer && shape.file == NONE => shape.file = position,
                ParameterKind::Operation if !pointer => shape.operation = position,
                ParameterKind::Message => message = true,
                ParameterKind::Tag if !output => {
                    if shape.tags.0 == NONE {
                        shape.tags.0 = position;
                    }
                    shape.tags.1 = position;
                }
                ParameterKind::Rank if !output && !pointer => {
                    if equals(parameter.name, "root") {
                        shape.root = position;
                    } else if equals(parameter.name, "dest") {
                        shape.destination = position;
                    } else if equals(parameter.name, "source") {
                        shape.source = position;
                    } else {
                        shape.target = position;
                    }
                }
                ParameterKind::Group if output => shape.new_group = position,
                ParameterKind::Request if output => shape.new_request = position,
                ParameterKind::Request => {
                    shape.requests = position;
                    if !parameter.length.is_empty() {
                        // The length stands before its array.
                        shape.request_count = position - 1;
                    }
                }
                ParameterKind::Status if output && shape.statuses == NONE => {
                    shape.statuses = position;
                    shape.array_of_statuses = at(parameter.name.as_bytes(), b"array_of_", 0);
                }
                ParameterKind::Logical if output => shape.flag = position,
                ParameterKind::Index if output => shape.index = position,
                ParameterKind::ArrayLength if output => shape.out_count = position,
                _ => {}
            }
            position += 1;
        }
        let name = function.method_name();
        shape.pattern = shape.find_pattern(function.class(), name, message);
        let consumes = is(kind_of(parameters, shape.requests), ParameterKind::Request)
            && matches!(parameters[shape.requests as usize].direction, Direction::InOut)
            && shape.statuses != NONE;
        if consumes {
            shape.completion = if shape.out_count != NONE {
                Completion::Some
            } else if shape.index != NONE {
                Completion::Any
            } else {
                Completion::All
            };
        }
        shape
    }

    /// The pattern, from the class, the positions found before, and, where these do not tell, the
    /// name of the function. `message` says that it receives a matched message.
    const fn find_pattern(&self, class: FunctionClass, name: &str, message: bool) -> Pattern {
        let described = self.sent.datatype != NONE || self.received.datatype != NONE;
        match class {
            FunctionClass::PointToPoint | FunctionClass::Partitioned if described => {
                if self.destination != NONE && self.source != NONE {
                    Pattern::SendReceive
                } else if self.destination != NONE {
                    Pattern::Send
                } else if self.source != NONE || message {
                    Pattern::Receive
                } else {
                    Pattern::Nothing
                }
            }
            FunctionClass::Collective if described && self.communicator != NONE => {
                if self.operation != NONE {
                    if self.root != NONE {
                        Pattern::Reduce
                    } else if contains(name, "scatter") {
                        Pattern::ReduceScatter
                    } else if contains(name, "exscan") {
                        Pattern::Exscan
                    } else {
                        Pattern::Allreduce
                    }
                } else if self.root != NONE {
                    if self.sent.buffer == self.received.buffer {
                        Pattern::Broadcast
                    } else if contains(name, "scatter") {
                        Pattern::Scatter
                    } else {
                        Pattern::Gather
                    }
                } else if contains(name, "allgather") {
                    Pattern::Allgather
                } else {
                    Pattern::Alltoall
                }
            }
            FunctionClass::Neighborhood if described => {
                if contains(name, "allgather") {
                    Pattern::NeighborAllgather
                } else {
                    Pattern::NeighborAlltoall
                }
            }
            FunctionClass::OneSided if described && self.target != NONE => {
                let (gives, gets) = (self.sent.buffer != NONE, self.received.buffer != NONE);
                if gives && gets {
                    Pattern::GetAccumulate
                } else if gets {
                    Pattern::Get
                } else if self.operation != NONE {
                    Pattern::Accumulate
                } else {
                    Pattern::Put
                }
            }
            FunctionClass::Io if described && self.sent.buffer != NONE => Pattern::Write,
            FunctionClass::Io if described && self.received.buffer != NONE => Pattern::Read,
            FunctionClass::Io if self.statuses != NONE => Pattern::SplitEnd,
            _ => Pattern::Nothing,
        }
    }
}

/// The kind of the parameter at a position; one that nobody asks for where there is none.
const fn kind_of(parameters: &[Listed], position: Position) -> ParameterKind {
    if position == NONE { ParameterKind::Info } else { parameters[position as usize].kind }
}

#[cfg(test)]
mod tests;
