//! The kernels in C, with `MPI_Isend` and with `MPI_Alltoallv`: right on one, two and three processes, with buffers
//! that hold all messages of a process and with small ones, where messages have to wait.

#[path = "../src/compile.rs"]
#[allow(dead_code, reason = "the grid's flags are another test's")]
mod compile;

use std::path::{Path, PathBuf};
use std::process::Command;

/// What `cargo xtask test` sets: a compiler and a launcher that belong together.
fn setting(name: &str) -> PathBuf {
    let value = std::env::var_os(name);
    value.unwrap_or_else(|| panic!("{name} is not set: run the tests by `cargo xtask test`")).into()
}

/// Each kernel verifies itself.
fn kernels(program: &str, names: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let built = folder.path().join(program);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(program).with_extension("c");
    let flags = ["-O2", "-Wall", "-Wextra", "-Werror"];
    compile::compile(&setting("MPICC"), &source, &built, &flags).unwrap();
    for name in names {
        for form in ["isend", "alltoallv"] {
            for (updates, table, buffer) in
                [("20000", "1000", "1024"), ("2000", "97", "16"), ("1000", "97", "1")]
            {
                for ranks in ["1", "2", "3"] {
                    let mut command = Command::new("timeout");
                    command.args(["--kill-after=5", "100"]).arg(setting("MPIEXEC"));
                    command.args(["-n", ranks]).arg(&built).args([name, form]);
                    command.args(["--updates", updates, "--table", table, "--buffer", buffer]);
                    let output = test_support::output(&mut command);
                    let said = String::from_utf8_lossy(&output.stdout);
                    let errors = String::from_utf8_lossy(&output.stderr);
                    assert!(
                        output.status.success() && said.contains(&format!("{name}: right")),
                        "{name}, {form} on {ranks} ranks, {updates} {table} {buffer}: {}\n{said}\n{errors}",
                        output.status
                    );
                    let rate =
                        said.lines().find_map(|line| line.strip_prefix("million a second: "));
                    assert!(rate.is_some_and(|rate| rate.parse::<f64>().is_ok()), "{said}");
                }
            }
        }
    }
}

#[test]
fn kernels_in_c_are_right() {
    kernels("kernels", &["histogram", "index_gather", "random_permutation"]);
}

#[test]
fn more_kernels_in_c_are_right() {
    kernels("more_kernels", &["permute_matrix", "triangle_counting", "triangular_solve"]);
}
