//! Functions of MPI by the names that their symbols have, in C and in Fortran.

use std::collections::HashMap;
use std::sync::LazyLock;

use mpi_facts::FunctionId;

/// The function that a symbol stands for: `MPI_Recv`, `PMPI_Recv`, and `mpi_recv_`, `mpi_recv_f08ts_` and the like of MPI's
/// Fortran libraries.
pub(super) fn of_mpi(symbol: &str) -> Option<FunctionId> {
    let name = if symbol.starts_with("PMPI_") { &symbol[1..] } else { symbol };
    name.parse().ok().or_else(|| of_fortran(symbol))
}

/// The function that a tool's own function stands for, by its demangled name: `tool::level::type_size::h0123456789abcdef`. A
/// tool's exported functions may only lead to these.
pub(super) fn of_tool(name: &str) -> Option<FunctionId> {
    let is_hash = |part: &str| {
        part.len() == 17
            && part.starts_with('h')
            && part[1..].bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let method = name.strip_prefix('<').and_then(|rest| rest.rsplit_once(">::"));
    let name = method.map_or(name, |(_, method)| method);
    // Not the types that it is made for.
    let name = name.split('<').next().unwrap_or(name).trim_end_matches("::");
    of_method(name.rsplit("::").find(|part| !is_hash(part))?)
}

fn of_method(name: &str) -> Option<FunctionId> {
    static BY_METHOD: LazyLock<HashMap<&'static str, FunctionId>> = LazyLock::new(|| {
        FunctionId::all().map(|function| (function.method_name(), function)).collect()
    });
    BY_METHOD.get(name).copied()
}

fn of_fortran(symbol: &str) -> Option<FunctionId> {
    // Without what compilers of Fortran put behind a name, it may be a function of the program, in C.
    let name = symbol.strip_suffix('_')?;
    let name = name.strip_suffix('_').unwrap_or(name);
    let name = name.strip_prefix('p').unwrap_or(name).strip_prefix("mpi_")?;
    let (name, is_large) = match name.strip_suffix("_large") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let name = ["_f08ts", "_f08", "_cptr"]
        .into_iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    let large = is_large.then(|| format!("{name}_c"));
    of_method(large.as_deref().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::{of_mpi, of_tool};

    #[test]
    fn functions_of_tools_are_known() {
        for (name, function) in [
            (
                "mpi_tool_layer::host::entry::level::type_size::h152e847f23769a79",
                Some("MPI_Type_size"),
            ),
            ("<tool::Layer as layer::Raw>::waitall", Some("MPI_Waitall")),
            (
                "a[1e0f9f660a26a528]::level::waitall::<b[b19b90abcaf0191d]::Watch>",
                Some("MPI_Waitall"),
            ),
            ("core::ops::function::FnOnce::call_once", None),
        ] {
            assert_eq!(of_tool(name).map(|id| id.name()), function, "{name}");
        }
    }

    /// Names of MPICH's and Open MPI's libraries.
    #[test]
    fn functions_are_known_by_their_symbols() {
        for (symbol, function) in [
            ("MPI_Recv", "MPI_Recv"),
            ("PMPI_Recv", "MPI_Recv"),
            ("PMPI_Recv_c", "MPI_Recv_c"),
            ("mpi_recv_", "MPI_Recv"),
            ("pmpi_recv__", "MPI_Recv"),
            ("mpi_recv_f08_", "MPI_Recv"),
            ("mpi_recv_f08ts_", "MPI_Recv"),
            ("mpi_recv_f08ts_large_", "MPI_Recv_c"),
            ("mpi_win_allocate_cptr_", "MPI_Win_allocate"),
            ("mpi_comm_create_from_group_", "MPI_Comm_create_from_group"),
        ] {
            assert_eq!(of_mpi(symbol).map(|id| id.name()), Some(function), "{symbol}");
        }
        for other in
            ["mpi_recv", "MPIR_Recv_impl", "MPI_Receive", "my_mpi_recv_", "ompi_recv_f", "_"]
        {
            assert_eq!(of_mpi(other), None, "{other}");
        }
    }
}
