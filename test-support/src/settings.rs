//! The MPI in use, and where the tools are.

use std::path::PathBuf;

use mpi_facts::FunctionId;

/// What `cargo xtask test` sets.
pub fn setting(name: &str) -> PathBuf {
    std::env::var_os(name)
        .unwrap_or_else(|| panic!("{name} is not set: run the tests by `cargo xtask test`"))
        .into()
}

/// The shared object of a tool.
pub fn tool(name: &str) -> PathBuf {
    setting("MPI_TOOLS").join(format!("lib{name}.so"))
}

/// The universal build of a tool: the same file whichever the MPI is.
pub fn universal(name: &str) -> PathBuf {
    setting("MPI_TOOLS").with_file_name("universal").join(format!("lib{name}.so"))
}

/// A tool of `examples/` or `tests/tools/`, which `cargo test` has built.
pub fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().unwrap().parent().unwrap().join("examples");
    folder.join(format!("lib{name}.so"))
}

/// The tools that change nothing, which programs of others run with: the names of their shared
/// objects, and those of the tools that report.
pub const TOOLS: [(&str, Option<&str>); 4] = [
    ("bandwidth_counter", Some("bandwidth-counter")),
    ("call_counter", Some("call-counter")),
    ("empty_high", None),
    ("empty_raw", None),
];

/// Is this Open MPI?
pub fn is_openmpi() -> bool {
    mpi_sys::ABI == mpi_sys::Abi::OpenMpi
}

/// Is this Open MPI 4?
pub fn is_openmpi_4() -> bool {
    let name = setting("MPI_NAME");
    name.to_string_lossy().starts_with("openmpi-4") || name.as_os_str() == "openmpi-debian"
}

/// Is this Debian's MPICH 4.0.2?
pub fn is_debian() -> bool {
    setting("MPI_NAME").to_string_lossy() == "mpich-debian"
}

/// Is this MPICH 3 or 4?
pub fn is_mpich_before_5() -> bool {
    let name = setting("MPI_NAME");
    let name = name.to_string_lossy();
    is_debian() || ["mpich-3", "mpich-4"].iter().any(|old| name.starts_with(old))
}

/// The functions that a tool exports: all.
pub fn exported() -> Vec<FunctionId> {
    FunctionId::all().collect()
}
