//! The structured grid, in C and on rmpi: the same to the last bit as one process's, on any number of
//! ranks; and what comes out solves the equation.

#[path = "../src/compile.rs"]
mod compile;

use std::path::{Path, PathBuf};
use std::process::Command;

/// What `cargo xtask test` sets: a compiler and a launcher that belong together.
fn setting(name: &str) -> PathBuf {
    let value = std::env::var_os(name);
    value.unwrap_or_else(|| panic!("{name} is not set: run the tests by `cargo xtask test`")).into()
}

/// What the program says of a grid of so many rows in all.
fn run(ranks: usize, rows: usize, columns: usize, steps: usize) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libmessages.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/messages.c");
    compile::compile(&setting("MPICC"), &source, &library, compile::GRID_FLAGS).unwrap();
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "60"])
        .arg(setting("MPIEXEC"))
        .args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_messages")])
        .arg(&library)
        .arg("grid")
        .args([rows / ranks, columns, steps].map(|number| number.to_string()));
    let output = test_support::output(&mut command);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(said.lines().find(|line| line.starts_with('{')).unwrap()).unwrap()
}

#[test]
fn c_and_rust_and_one_process_agree_to_the_last_bit() {
    let said = [1, 2, 4].map(|ranks| run(ranks, 24, 17, 7));
    let (change, error) = (&said[0]["change"], &said[0]["error"]);
    for (said, ranks) in said.iter().zip([1, 2, 4]) {
        assert_eq!(said["ranks"], ranks);
        // However it is distributed.
        assert_eq!(*change, said["change"]);
        assert_eq!(*error, said["error"]);
    }
    // Not there yet: these are no numbers of a grid that never changed.
    assert!(said[0]["change"].as_f64().unwrap() > 1e-4, "{}", said[0]);
}

#[test]
fn the_grid_solves_the_equation() {
    for ranks in [1, 2] {
        let said = run(ranks, 16, 18, 1500);
        assert!(said["error"].as_f64().unwrap() < 1e-12, "{said}");
    }
}
