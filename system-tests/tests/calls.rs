//! A program on `mpi_sys` under the MPI in use: it links, runs, and tools see `MPI_*` only.

use std::process::Command;

use test_support::{program, setting};

#[test]
fn tools_see_mpi_and_not_pmpi() {
    let mut launcher = Command::new(setting("MPIEXEC"));
    launcher
        .args(["-n", "3"])
        .arg(program("both_ways"))
        .env("LD_PRELOAD", setting("MPI_TOOLS").join("libcall_counter.so"));
    let output = test_support::output(&mut launcher);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "sum 3\n");
    let counted: Vec<_> = errors.lines().filter(|line| line.starts_with("MPI_")).collect();
    let known = ["MPI_Allreduce: 15", "MPI_Comm_rank: 15", "MPI_Finalize: 3", "MPI_Init: 3"];
    assert_eq!(counted, known);
}
