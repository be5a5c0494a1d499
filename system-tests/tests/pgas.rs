//! Arrays, active messages and their kernels, on one, two and four processes of the MPI in use.

use std::env;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn start(program: &str, arguments: &[&str], variables: &[(&str, &str)], ranks: usize) -> Output {
    let mpiexec = env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "100", &mpiexec, "-n", &ranks.to_string()])
        .arg(test_support::program(program))
        .args(arguments)
        .envs(variables.iter().copied());
    test_support::output(&mut command)
}

fn run(program: &str, arguments: &[&str], variables: &[(&str, &str)], ranks: usize) -> String {
    let output = start(program, arguments, variables, ranks);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {arguments:?} on {ranks} ranks: {}\n{said}\n{errors}",
        output.status
    );
    said
}

#[test]
fn everything_is_right() {
    for ranks in [1, 2, 4] {
        let said = run("pgas_checks", &[], &[], ranks);
        assert!(said.contains(&format!("pgas: right on {ranks} ranks")), "{said}");
    }
}

#[test]
fn a_thread_handles_messages_meanwhile() {
    for ranks in [1, 2, 4] {
        let said = run("pgas_served", &[], &[], ranks);
        assert!(said.contains(&format!("served: right on {ranks} ranks")), "{said}");
    }
}

/// What a program says on two processes under a tool.
fn under(tool: &str, program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let tools = env::var("MPI_TOOLS").expect("run the tests by `cargo xtask test`");
    let mpiexec = env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "100", &mpiexec, "-n", "2", "env"])
        .arg(format!("LD_PRELOAD={tools}/lib{tool}.so"))
        .args(["MPI_TOOL_OUTPUT=stdout", "MPI_TOOL_MPI_CHECK_FAIL=1"])
        .arg(test_support::program(program))
        .args(arguments)
        .envs(variables.iter().copied());
    let output = test_support::output(&mut command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} under {tool}: {}\n{said}\n{errors}", output.status);
    said
}

#[test]
fn the_checker_finds_nothing() {
    let start = Instant::now();
    for (program, arguments) in [("pgas_checks", &[][..]), ("pgas_served", &[])] {
        let said = under("mpi_check", program, arguments, &[]);
        assert!(said.contains("mpi-check: nothing was found (2 ranks)"), "{program}: {said}");
        // Nothing was left out.
        assert!(!said.contains("  note: "), "{program}: {said}");
    }
    // Two seconds; forty if the programs' debug information were read again for each place that calls MPI.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Each kernel verifies itself.
fn kernel(name: &str) {
    for ranks in [1, 2, 4] {
        for (updates, table, buffer) in [("20000", "1000", "1024"), ("1000", "97", "3")] {
            for form in ["array", "am", "plain"] {
                let arguments = ["--updates", updates, "--table", table, "--buffer", buffer];
                let arguments = [&arguments[..], &["--form", form]].concat();
                let said = run("pgas_kernels", &arguments, &[("KERNEL", name)], ranks);
                assert!(said.contains(&format!("{name}: right")), "{said}");
                let rate = said.lines().find_map(|line| line.strip_prefix("million a second: "));
                assert!(rate.unwrap().parse::<f64>().unwrap() > 0.0, "{said}");
            }
        }
    }
}

macro_rules! kernels {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                kernel(stringify!($name));
            }
        )*

        #[test]
        fn all_kernels_are_tested() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rmpi/pgas/examples");
            let mut names: Vec<_> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_file())
                .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            names.sort();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

kernels! {
    histogram index_gather permute_matrix random_permutation triangle_counting triangular_solve
}
