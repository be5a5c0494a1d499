//! Actors and their kernels, on one, two and four processes of the MPI in use.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn examples() -> PathBuf {
    let test = env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples")
}

fn start(program: &str, arguments: &[&str], variables: &[(&str, &str)], ranks: usize) -> Output {
    let mpiexec = env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    Command::new("timeout")
        .args(["--kill-after=5", "100", &mpiexec, "-n", &ranks.to_string()])
        .arg(examples().join(program))
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
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

fn check(name: &str, ranks: &[usize]) {
    for &ranks in ranks {
        let said = run("actor_checks", &[name], &[], ranks);
        assert!(said.contains(&format!("{name}: right on {ranks} ranks")), "{said}");
    }
}

#[test]
fn scopes_end_when_no_message_is_left() {
    check("walks", &[1, 2, 4]);
}

#[test]
fn scopes_are_nested() {
    check("nested", &[1, 2, 4]);
}

#[test]
fn messages_come_once() {
    check("once", &[1, 2, 4, 8]);
}

/// Programs that chance has written, beside what one process computes, and a counter of messages in flight.
#[test]
fn random_programs_of_handlers_that_send_on() {
    for ranks in [1, 2, 4] {
        let said = run("actor_properties", &[], &[], ranks);
        assert!(said.contains(&format!("properties: right on {ranks} ranks")), "{said}");
    }
}

#[test]
fn errors_come_out_where_they_belong() {
    check("errors", &[1, 2, 4]);
}

#[test]
fn any_communicator_has_actors() {
    check("communicators", &[1, 2, 4]);
}

#[test]
fn tools_can_have_actors() {
    check("pmpi", &[1, 2, 4]);
}

#[test]
fn a_panic_in_a_handler_ends_all_processes() {
    for ranks in [1, 2, 4] {
        let output = start("actor_checks", &["panic"], &[], ranks);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.status.code() != Some(124), "{said}");
        let expected = format!(
            "rank {}: the handler of mailbox `u64` panicked in a message from rank 0: no twos here",
            ranks - 1
        );
        assert!(said.contains(&expected), "{said}");
    }
}

/// Each kernel verifies itself.
fn kernel(name: &str) {
    for ranks in [1, 2, 4] {
        for (updates, table, buffer) in [("20000", "1000", "1024"), ("1000", "97", "3")] {
            let arguments = ["--updates", updates, "--table", table, "--buffer", buffer];
            let said = run("actor_kernels", &arguments, &[("KERNEL", name)], ranks);
            assert!(said.contains(&format!("{name}: right")), "{said}");
            let rate = said.lines().find_map(|line| line.strip_prefix("million a second: "));
            assert!(rate.unwrap().parse::<f64>().unwrap() > 0.0, "{said}");
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
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
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
