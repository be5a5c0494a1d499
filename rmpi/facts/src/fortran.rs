//! Which entry points a tool has for Fortran.
//!
//! They follow from the ABI and not from the Fortran library of one MPI, which may have none: a tool serves all MPIs of its
//! ABI.

use crate::{Abi, Direction, FunctionClass, FunctionId, Parameter, ParameterKind};

/// An entry point that a tool has for Fortran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FortranEntry {
    /// The function that it stands for.
    pub function: FunctionId,
    /// How arguments are passed: a name that `mpi-tool-layer` knows.
    pub form: &'static str,
    /// Its name, of which Fortran compilers make symbols: `mpi_send` becomes `mpi_send_`.
    pub name: String,
}

impl FortranEntry {
    /// Those under an ABI.
    pub fn all(abi: Abi) -> impl Iterator<Item = Self> {
        functions().flat_map(move |function| {
            let entry = move |(form, name)| {
                let form = if function.result() == "f64" { "Same" } else { form };
                Self { function, form, name }
            };
            of_function(function, abi).into_iter().map(entry)
        })
    }
}

/// Does a function have callbacks or attributes, of which MPI remembers the language that gave them?
pub fn is_bound_to_its_language(function: FunctionId) -> bool {
    has_fortran(function)
        && (has(function, ParameterKind::Function) || has(function, ParameterKind::AttributeVal))
}

fn functions() -> impl Iterator<Item = FunctionId> {
    FunctionId::all().filter(|function| has_fortran(*function))
}

fn has_fortran(function: FunctionId) -> bool {
    !matches!(function.class(), FunctionClass::Conversion | FunctionClass::ToolInterface)
}

fn has(function: FunctionId, kind: ParameterKind) -> bool {
    function.parameters().iter().any(|parameter| parameter.kind == kind)
}

/// The forms and names of a function's entry points.
fn of_function(function: FunctionId, abi: Abi) -> Vec<(&'static str, String)> {
    let method = function.method_name();
    let large = method.strip_suffix("_c");
    let base = large.unwrap_or(method);
    let mut entries = Vec::new();
    let mut entry = |form, name| entries.push((form, name));
    match abi {
        // Its Fortran functions call PMPI_*.
        Abi::OpenMpi if large.is_none() => {
            entry("Mpif", format!("mpi_{method}"));
            entry("F08", format!("mpi_{method}_f08"));
            let is_c_pointer = |parameter: &Parameter| {
                parameter.kind == ParameterKind::CBuffer && parameter.direction == Direction::Out
            };
            if function.parameters().iter().any(is_c_pointer) {
                entry("F08", format!("mpi_{method}_cptr"));
            }
        }
        // Those of mpif.h call MPI_*, but not where attributes are concerned; for files they
        // call more than the function. Those of mpi_f08 with buffers call MPI_*, the others
        // PMPI_*.
        Abi::Mpich => {
            let is_file = |parameter: &Parameter| parameter.rust_type().ends_with("MPI_File");
            let has_file = function.parameters().iter().any(is_file);
            if large.is_none() && (has_file || has(function, ParameterKind::AttributeVal)) {
                entry("Mpif", format!("mpi_{method}"));
            }
            let width = if large.is_some() { "_large" } else { "" };
            if !has(function, ParameterKind::Buffer) {
                entry("F08", format!("mpi_{base}_f08{width}"));
            } else if has_file {
                entry("F08Descriptors", format!("mpi_{base}_f08ts{width}"));
            }
        }
        _ => {}
    }
    entries
}
