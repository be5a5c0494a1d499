//! Which arguments of a high-level method can stand in for each other: tried with every pair of
//! parameters of every function.

mod statuses;
mod values;

use std::any::{TypeId, type_name};
use std::collections::BTreeSet;

use super::signatures;
use crate::{Direction, FunctionClass, FunctionId, Parameter, ParameterKind};

/// The type of one argument of a method. Lifetimes are not part of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgumentType {
    id: TypeId,
    name: &'static str,
}

impl ArgumentType {
    /// The type itself, and its name with all parameters.
    fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: type_name::<T>() }
    }

    /// How many of the function's parameters the argument is made of.
    fn width(self) -> usize {
        let path = self.name.split('<').next().unwrap_or(self.name);
        match path.rsplit("::").next().unwrap_or(path) {
            "TypeDynamicBufferRef" | "TypeDynamicBufferMut" => 3,
            "PartitionedRef" | "PartitionedMut" | "Target" => 4,
            "BlocksRef" | "BlocksMut" | "BlocksEachRef" | "BlocksEachMut" => 4,
            "ReductionBuffers" | "ReductionBlocks" => 4,
            "Requests" | "RequestsMut" => 2,
            _ => 1,
        }
    }
}

/// A tuple of a method's arguments.
pub(crate) trait ArgumentTypes {
    fn types() -> Vec<ArgumentType>;
}

/// Tuples of up to ten arguments: no method has more.
macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: 'static),*> ArgumentTypes for ($($name,)*) {
            fn types() -> Vec<ArgumentType> {
                vec![$(ArgumentType::of::<$name>()),*]
            }
        }
    )*};
}
tuples! {
    ;
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
    A B C D E F G H I;
    A B C D E F G H I J;
}

/// Can a value of this kind be anything, without a way to make MPI, or the application, touch other
/// memory? All other kinds say where memory is, how much of it there is, which object describes it, or
/// in which process or state a part of it is significant.
fn is_harmless(kind: ParameterKind) -> bool {
    match kind {
        // What a message is called: MPI compares it and does nothing else with it.
        ParameterKind::Tag => true,
        // Who shall be together with whom, and in which order: any number has a meaning.
        ParameterKind::Color | ParameterKind::Key => true,
        _ => false,
    }
}

/// Arguments of one type can be swapped in safe code.
#[test]
fn only_what_cannot_reach_memory_can_be_swapped() {
    let (mut faults, mut pairs) = (Vec::new(), 0);
    for (function, arguments) in signatures() {
        let parameters = function.parameters();
        let owners: Vec<ArgumentType> =
            arguments.iter().flat_map(|argument| vec![*argument; argument.width()]).collect();
        assert_eq!(owners.len(), parameters.len(), "{function}: {arguments:?}");
        // Where each argument begins: parts of one argument stay together.
        let mut positions = Vec::new();
        for (position, argument) in arguments.iter().enumerate() {
            positions.extend(vec![position; argument.width()]);
        }
        for (i, first) in parameters.iter().enumerate() {
            for (j, second) in parameters.iter().enumerate().skip(i + 1) {
                if positions[i] == positions[j] {
                    continue;
                }
                pairs += 1;
                let harmless = is_harmless(first.kind) && is_harmless(second.kind);
                if owners[i].id == owners[j].id && !harmless {
                    faults.push(format!(
                        "{function}: {} and {} ({})",
                        first.name(),
                        second.name(),
                        owners[i].name
                    ));
                }
            }
        }
    }
    assert!(pairs > 4_000, "only {pairs} pairs");
    assert!(faults.is_empty(), "{} pairs can be swapped:\n{}", faults.len(), faults.join("\n"));
}

/// The test above sees all functions: what is missing here stays raw, as `docs/writing-a-tool.md` says,
/// or is the large-count form of a method.
#[test]
fn all_functions_are_tried() {
    let tried: BTreeSet<FunctionId> = signatures().iter().map(|(function, _)| *function).collect();
    for function in FunctionId::all().filter(|function| !tried.contains(function)) {
        let narrow = function.name().strip_suffix("_c").and_then(|name| name.parse().ok());
        let raw =
            matches!(function.class(), FunctionClass::ToolInterface | FunctionClass::Conversion)
                || ["MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff", "MPI_Pcontrol"]
                    .contains(&function.name());
        assert!(raw || narrow.is_some_and(|narrow| tried.contains(&narrow)), "{function}");
    }
}

/// A result that MPI may leave unwritten though it accepts the call cannot be read without looking at what
/// says so: the flag, or nothing where a request does.
#[test]
fn what_mpi_may_not_have_written_is_not_read() {
    let (mut flags, mut requests) = (0, 0);
    for (function, arguments) in signatures() {
        let parameters = function.parameters();
        let owners: Vec<ArgumentType> =
            arguments.iter().flat_map(|argument| vec![*argument; argument.width()]).collect();
        let is_out =
            |p: &Parameter| p.direction == Direction::Out && p.kind != ParameterKind::Buffer;
        let has = |kind| parameters.iter().any(|p| is_out(p) && p.kind == kind);
        let by_flag = has(ParameterKind::Logical) && parameters.iter().any(|p| p.name() == "flag");
        for (parameter, owner) in parameters.iter().zip(&owners).filter(|(p, _)| is_out(p)) {
            // What has no `get`, or one that wants a flag.
            let bare = owner.name.contains("::Value<") || owner.name.contains("::StatusesMut<");
            if by_flag && parameter.name() != "flag" {
                flags += 1;
                assert!(
                    bare || owner.name.contains("::IfFlag"),
                    "{function}: {parameter:?} {owner:?}"
                );
            } else if has(ParameterKind::Request) && parameter.kind != ParameterKind::Request {
                requests += 1;
                assert!(bare, "{function}: {parameter:?} {owner:?}");
            }
        }
    }
    // Improbe alone has two; Comm_idup and Comm_idup_with_info one each.
    assert!(flags > 10 && requests >= 2, "{flags} {requests}");
}

/// The pairs that were found by hand are among those that are tried, and of one type in C.
#[test]
fn known_pairs_are_told_apart() {
    let known = [
        ("MPI_Dims_create", "nnodes", "ndims"),
        ("MPI_Graph_get", "maxindex", "maxedges"),
        ("MPI_Intercomm_create", "local_comm", "peer_comm"),
        ("MPI_Intercomm_create", "local_leader", "remote_leader"),
        ("MPI_File_set_view", "etype", "filetype"),
        ("MPI_Compare_and_swap", "origin_addr", "compare_addr"),
        ("MPI_Type_get_contents", "max_integers", "max_datatypes"),
        ("MPI_Cart_shift", "rank_source", "rank_dest"),
        ("MPI_Sendrecv", "dest", "source"),
    ];
    let signatures = signatures();
    for (name, first, second) in known {
        let function: FunctionId = name.parse().unwrap();
        let (_, arguments) = signatures.iter().find(|(id, _)| *id == function).unwrap();
        let argument = |name: &str| {
            let mut left = function.parameters().iter().position(|p| p.name() == name).unwrap();
            let of = arguments.iter().find(|argument| {
                let here = left < argument.width();
                left = left.saturating_sub(argument.width());
                here
            });
            *of.unwrap()
        };
        let ty = |name: &str| -> &Parameter {
            function.parameters().iter().find(|p| p.name() == name).unwrap()
        };
        assert_eq!(ty(first).rust_type(), ty(second).rust_type(), "{name}");
        assert_ne!(argument(first).id, argument(second).id, "{name}: {first} and {second}");
    }
}
