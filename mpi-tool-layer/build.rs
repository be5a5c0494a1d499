//! MPICH's QMPI knows functions by numbers that change with every version: they are taken from the
//! header of the MPI that is built for. Other MPIs have none.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const PROBE: &str = "#include <mpi.h>\nMPI_TOOL_MPICH: MPICH_VERSION\n";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=MPICC");
    println!("cargo::rerun-if-env-changed=PATH");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let header = preprocessed(&folder).unwrap_or_default();
    let version = header
        .lines()
        .find_map(|line| line.trim().strip_prefix("MPI_TOOL_MPICH: \""))
        .and_then(|rest| rest.split('"').next())
        .unwrap_or("");
    let names: Vec<&str> = header
        .split_once("enum QMPI_Functions_enum {")
        .and_then(|(_, rest)| rest.split_once('}'))
        .map(|(names, _)| names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
        .unwrap_or_default();
    // Without values of their own, they are counted from 0.
    let plain = names
        .iter()
        .all(|name| name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()));
    let names = if plain { names } else { Vec::new() };
    let mut out =
        format!("const VERSION: &str = {version:?};\nstatic NAMES: [&str; {}] = [\n", names.len());
    for name in names {
        let _ = writeln!(out, "    {name:?},");
    }
    out.push_str("];\n");
    fs::write(folder.join("mpich_qmpi.rs"), out).expect("OUT_DIR can be written to");
}

/// What the compiler makes of the header; nothing where there is none, which the crate for MPI's
/// types has complained about already.
fn preprocessed(folder: &PathBuf) -> Option<String> {
    fs::write(folder.join("mpich_qmpi.c"), PROBE).ok()?;
    let mpicc = env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    let mut words = mpicc.split_whitespace();
    let output = Command::new(words.next()?)
        .args(words)
        .args(["-E", "-P", "mpich_qmpi.c"])
        .current_dir(folder)
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
