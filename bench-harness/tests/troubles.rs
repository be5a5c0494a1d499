//! An experiment whose programs do not start: it has no figures, says why, and the page does too.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn setting(name: &str) -> PathBuf {
    let value = env::var_os(name);
    value.unwrap_or_else(|| panic!("{name} is not set: run the tests by `cargo xtask test`")).into()
}

/// As on a machine on which the compiler finds an MPI and the dynamic linker does not: every program ends with
/// status 127, before its first instruction that is measured.
#[test]
fn programs_that_do_not_start_have_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let libraries = folder.path().join("lib");
    fs::create_dir(&libraries).unwrap();
    for name in ["libmpi.so.12", "libmpi.so.40", "libmpich.so.12", "libmpi_abi.so.0"] {
        fs::write(libraries.join(name), "no library").unwrap();
    }
    let file = |name: &str| folder.path().join(name);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("c");
    let mut overhead = Command::new(env!("CARGO_BIN_EXE_bench-harness"));
    overhead
        .arg("overhead")
        .arg("--mpicc")
        .arg(setting("MPICC"))
        .arg("--tools")
        .arg(setting("MPI_TOOLS"))
        .arg("--sources")
        .arg(sources)
        .args(["--levels", "300", "--runs", "1", "--output"])
        .arg(file("overhead.json"))
        .env("LD_LIBRARY_PATH", &libraries)
        .env("BENCH_FAILURES", file("failures.jsonl"));
    let output = overhead.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}\n{errors}");
    // The rows are all there, each without a figure.
    let rows: Vec<_> = said.lines().filter(|line| line.contains("not measured")).collect();
    assert_eq!(rows.len(), 7 + 4 + 6, "{said}");
    assert!(!said.contains("0.0"), "{said}");
    assert!(errors.contains("Error: not measured:\n  MPI_Comm_rank without tools: "), "{errors}");

    let text = fs::read_to_string(file("overhead.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&text).unwrap();
    for list in ["instructions", "time", "stacks"] {
        assert_eq!(figures[list], serde_json::json!([]), "{list}");
    }
    let mut report = Command::new(env!("CARGO_BIN_EXE_bench-harness"));
    report.arg("report");
    for (option, name) in [
        ("--overhead", "overhead.json"),
        ("--failures", "failures.jsonl"),
        ("--output", "report.html"),
    ] {
        report.arg(option).arg(file(name));
    }
    assert!(report.output().unwrap().status.success());
    let page = fs::read_to_string(file("report.html")).unwrap();
    assert!(page.contains("What did not come out"), "{page}");
    assert!(page.contains("overhead</h3><pre>not measured:"), "{page}");
    assert!(!page.contains("class=met"), "{page}");
}
