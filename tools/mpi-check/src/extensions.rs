//! Functions that this tool does not see, of the program and of its libraries: those of an MPI that are no part of the standard
//! (`MPIX_…`), and those of the profiling interface (`PMPI_…`). They may make objects, free them, and complete requests.

use std::collections::{BTreeSet, HashSet};
use std::sync::OnceLock;
use std::{fs, io};

use mpi_tool_layer::FunctionId;
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSymbol as _};

use crate::unseen;

/// What may be called.
#[derive(Clone, Copy, Default)]
struct Calls {
    /// Functions that are no part of the standard.
    extensions: bool,
    /// Functions of the standard, past this tool.
    past: bool,
}

/// May the program, or a library of its, call functions that are no part of the standard?
pub(crate) fn may_be_called() -> bool {
    calls().extensions
}

/// May the program, or a library of its, call functions of MPI past this tool, of which something depends that is told? What a
/// library calls in functions of its own with MPI's names, as profilers do, belongs to calls that the tool has seen.
pub(crate) fn may_be_past() -> bool {
    calls().past
}

/// May it call any of both?
pub(crate) fn are_unseen() -> bool {
    may_be_called() || may_be_past()
}

/// Read from the files when this is first asked; a file that cannot be read may call all.
fn calls() -> Calls {
    static ANSWER: OnceLock<Calls> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let all = Calls { extensions: true, past: true };
        let Ok(paths) = loaded() else { return all };
        let of = |path: &String| fs::read(path).map_or(all, |contents| calls_of(&contents));
        paths.iter().map(of).fold(Calls::default(), |one, other| Calls {
            extensions: one.extensions || other.extensions,
            past: one.past || other.past,
        })
    })
}

/// The files that this process has loaded code from.
fn loaded() -> io::Result<BTreeSet<String>> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let paths = maps.lines().filter_map(|line| {
        let (range_and_rights, path) = line.split_once('/')?;
        range_and_rights.contains(" r-xp ").then(|| format!("/{path}"))
    });
    Ok(paths.collect())
}

/// What an object calls. An MPI's own libraries call all, and are not asked: they have functions with the names of the profiling
/// interface.
fn calls_of(contents: &[u8]) -> Calls {
    let Ok(object) = ElfFile64::<object::Endianness>::parse(contents) else {
        return Calls { extensions: true, past: true };
    };
    let mut calls = Calls::default();
    let (mut own, mut past) = (HashSet::new(), Vec::new());
    for symbol in object.dynamic_symbols() {
        let name = symbol.name_bytes().unwrap_or_default();
        let is_profiling = name.starts_with(b"PMPI_") || name.starts_with(b"pmpi_");
        if !symbol.is_undefined() && is_profiling {
            return Calls::default();
        }
        if !symbol.is_undefined() {
            own.extend((name.starts_with(b"MPI_") || name.starts_with(b"mpi_")).then_some(name));
        } else if is_profiling {
            past.push(&name[1..]);
        }
        calls.extensions |= symbol.is_undefined() && name.starts_with(b"MPIX_");
    }
    calls.past = past.iter().any(|name| !own.contains(name) && matters(name));
    calls
}

/// Does something that is told depend on calls of a function? Fortran's names may be any.
fn matters(name: &[u8]) -> bool {
    let known = FunctionId::all().find(|function| function.name().as_bytes() == name);
    known.is_none_or(unseen::matters)
}
