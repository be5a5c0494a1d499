//! Reduction operations: their names, and for which datatypes they are.

use mpi_facts::Pattern;
use mpi_tool_layer::Word;
use mpi_tool_layer::mpi_sys::{MPI_Op, pmpi};

use crate::arguments::Checked;
use crate::types::Family;

/// The predefined operations.
fn all() -> [(MPI_Op, &'static str); 14] {
    [
        (pmpi::MPI_SUM, "MPI_SUM"),
        (pmpi::MPI_MIN, "MPI_MIN"),
        (pmpi::MPI_MAX, "MPI_MAX"),
        (pmpi::MPI_PROD, "MPI_PROD"),
        (pmpi::MPI_BAND, "MPI_BAND"),
        (pmpi::MPI_BOR, "MPI_BOR"),
        (pmpi::MPI_BXOR, "MPI_BXOR"),
        (pmpi::MPI_LAND, "MPI_LAND"),
        (pmpi::MPI_LOR, "MPI_LOR"),
        (pmpi::MPI_LXOR, "MPI_LXOR"),
        (pmpi::MPI_MINLOC, "MPI_MINLOC"),
        (pmpi::MPI_MAXLOC, "MPI_MAXLOC"),
        (pmpi::MPI_REPLACE, "MPI_REPLACE"),
        (pmpi::MPI_NO_OP, "MPI_NO_OP"),
    ]
}

/// The number of a predefined operation, from 1, and 0 of one of the application's own. The same on all ranks.
pub(crate) fn number(handle: u64) -> u64 {
    let found = all().iter().position(|(op, _)| op.to_word() == handle);
    found.map_or(0, |number| number as u64 + 1)
}

/// The name of an operation by its number.
pub(crate) fn name_of_number(number: u64) -> &'static str {
    match number {
        0 => "an operation of its own",
        number => all().get(number as usize - 1).map_or("?", |(_, name)| name),
    }
}

/// An operation in words.
pub(crate) fn name(handle: u64) -> &'static str {
    if handle == pmpi::MPI_OP_NULL.to_word() {
        return "MPI_OP_NULL";
    }
    name_of_number(number(handle))
}

/// Is the predefined operation of a call one for its datatype?
pub(crate) fn check(checked: &mut Checked<'_>) {
    use Family::{Byte, Complex, Float, Integer, Logical, Pair};
    let Some(op) = checked.word(checked.shape.operation) else { return };
    if !matches!(
        checked.shape.pattern,
        Pattern::Reduce | Pattern::Allreduce | Pattern::Exscan | Pattern::ReduceScatter
    ) {
        return;
    }
    let name = name(op);
    let datatype = [checked.shape.received.datatype, checked.shape.sent.datatype]
        .into_iter()
        .find(|position| *position != mpi_facts::NONE);
    let Some(position) = datatype else { return };
    let Some(info) = checked.datatype(position) else { return };
    if info.signature.is_any {
        return;
    }
    let is_own = number(op) == 0;
    if is_own {
        return;
    }
    if matches!(name, "MPI_REPLACE" | "MPI_NO_OP") {
        checked.wrong_operation(&format!("{name} is for one-sided communication only"));
        return;
    }
    if !info.is_predefined {
        checked.wrong_operation(&format!(
            "{name} is for predefined datatypes, and not for derived ones"
        ));
        return;
    }
    let fits = match name {
        "MPI_SUM" | "MPI_PROD" => matches!(info.family, Integer | Float | Complex),
        "MPI_MIN" | "MPI_MAX" => matches!(info.family, Integer | Float),
        "MPI_BAND" | "MPI_BOR" | "MPI_BXOR" => matches!(info.family, Integer | Byte),
        "MPI_LAND" | "MPI_LOR" | "MPI_LXOR" => matches!(info.family, Integer | Logical),
        "MPI_MINLOC" | "MPI_MAXLOC" => matches!(info.family, Pair),
        _ => true,
    };
    // Some MPIs take characters as numbers, and many programs do.
    if !fits && info.family != Family::Character && info.family != Family::Other {
        checked.wrong_operation(&format!("{name} is not for {}", info.signature.describe()));
    }
}
