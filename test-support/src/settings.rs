//! The MPI in use, and where what it runs is.

use std::path::PathBuf;

use mpi_facts::{Abi, FunctionId};

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

/// A program in Rust for the MPI in use: an example of a package, or what its manifest declares as one.
pub fn program(name: &str) -> PathBuf {
    setting("MPI_PROGRAMS").join(name)
}

/// A tool that is an example of `mpi-tool-layer`, or one of those that only tests use.
pub fn example(name: &str) -> PathBuf {
    program(&format!("lib{name}.so"))
}

/// The tools that change nothing, which programs of others run with: the names of their shared
/// objects, and those of the tools that report.
pub const TOOLS: [(&str, Option<&str>); 4] = [
    ("bandwidth_counter", Some("bandwidth-counter")),
    ("call_counter", Some("call-counter")),
    ("empty_high", None),
    ("empty_raw", None),
];

/// What `cargo xtask` calls the MPI in use: `mpich-5.0.2`.
pub fn mpi_name() -> String {
    setting("MPI_NAME").into_os_string().into_string().expect("names of MPIs are ASCII")
}

/// The ABI of the MPI in use.
pub fn abi() -> Abi {
    match mpi_name() {
        name if name.starts_with("openmpi") => Abi::OpenMpi,
        name if name.ends_with("-abi") => Abi::Standard,
        _ => Abi::Mpich,
    }
}

/// Is this Open MPI?
pub fn is_openmpi() -> bool {
    abi() == Abi::OpenMpi
}

/// Is this Open MPI 4?
pub fn is_openmpi_4() -> bool {
    let name = mpi_name();
    name.starts_with("openmpi-4") || name == "openmpi-debian"
}

/// Is this Debian's MPICH 4.0.2?
pub fn is_debian() -> bool {
    mpi_name() == "mpich-debian"
}

/// Is this MPICH 3 or 4?
pub fn is_mpich_before_5() -> bool {
    is_debian() || ["mpich-3", "mpich-4"].iter().any(|old| mpi_name().starts_with(old))
}

/// The functions that a tool exports: all.
pub fn exported() -> Vec<FunctionId> {
    FunctionId::all().collect()
}

/// A type of C of the size and register class that a type of the list, as Rust writes it, has under the ABI of the MPI
/// in use.
///
/// # Panics
/// If the list has a type that is not known here.
pub fn c_type(listed: &str) -> &'static str {
    // Others are types of functions, which are passed as pointers, too.
    let is_address =
        listed.contains('*') || listed.ends_with("_function") || listed.ends_with("_function_c");
    let handles_are_integers = abi() == Abi::Mpich;
    match listed {
        "f64" => "double",
        "c_int" | "MPI_Fint" | "MPI_T_cb_safety" => "unsigned int",
        "MPI_Comm" | "MPI_Datatype" | "MPI_Errhandler" | "MPI_Group" | "MPI_Info"
        | "MPI_Message" | "MPI_Op" | "MPI_Request" | "MPI_Session" | "MPI_Win"
            if handles_are_integers =>
        {
            "unsigned int"
        }
        "MPI_Comm" | "MPI_Datatype" | "MPI_Errhandler" | "MPI_Group" | "MPI_Info"
        | "MPI_Message" | "MPI_Op" | "MPI_Request" | "MPI_Session" | "MPI_Win" | "MPI_File" => {
            "unsigned long"
        }
        "MPI_Aint" | "MPI_Count" | "MPI_Offset" => "unsigned long",
        _ if is_address || listed.starts_with("MPI_T_") => "unsigned long",
        other => panic!("no type of C is known for {other}"),
    }
}
