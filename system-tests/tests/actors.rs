//! Actors and their kernels, on one, two and four processes of the MPI in use.

use std::env;
use std::path::Path;
use std::process::{Command, Output};

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
fn requests_are_answered_in_order() {
    check("asked", &[1, 2, 4]);
}

#[test]
fn tags_of_living_selectors_are_not_taken() {
    check("tags", &[1, 2]);
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
fn memory_is_bounded_by_the_settings() {
    check("memory", &[1, 2, 4]);
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
    for (check, ranks) in
        ["panic", "panic-asked"].into_iter().flat_map(|c| [1, 2, 4].map(|n| (c, n)))
    {
        let output = start("actor_checks", &[check], &[], ranks);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.status.code() != Some(124), "{said}");
        let expected = format!(
            "rank {}: the handler of mailbox `u64` panicked in a message from rank 0: no twos here",
            ranks - 1
        );
        assert!(said.contains(&expected), "{said}");
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
    for (program, arguments) in [
        ("actor_checks", &["walks"][..]),
        ("actor_checks", &["errors"]),
        ("actor_checks", &["asked"]),
        ("actor_properties", &["5"]),
    ] {
        let said = under("mpi_check", program, arguments, &[]);
        assert!(said.contains("mpi-check: nothing was found (2 ranks)"), "{program}: {said}");
    }
}

/// Index gather sends each request and each reply that is not for the process itself, and the tools see just these.
#[test]
fn tools_see_every_message() {
    let arguments = ["--updates", "20000", "--buffer", "100"];
    let kernel = [("KERNEL", "index_gather")];
    let number = |said: &str, line: &str| -> u64 {
        let found = said.lines().find_map(|said| said.strip_prefix(line));
        let number = found.and_then(|text| text.split(' ').next());
        number
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no {line} in {said}"))
    };
    let said = under("bandwidth_counter", "actor_kernels", &arguments, &kernel);
    // Two numbers of 32 bits, and two of 64.
    let requests = number(&said, "sent MPI_UINT32_T, point-to-point: ");
    assert!((15_000..25_000).contains(&(requests / 2)), "{said}");
    for line in [
        "received MPI_UINT32_T, point-to-point: ",
        "sent MPI_UINT64_T, point-to-point: ",
        "received MPI_UINT64_T, point-to-point: ",
    ] {
        assert_eq!(number(&said, line), requests, "{said}");
    }
    let said = under("call_counter", "actor_kernels", &arguments, &kernel);
    let buffers = number(&said, "MPI_Isend: ");
    assert!(buffers >= requests / 100, "{said}");
    assert_eq!(number(&said, "MPI_Get_count: "), buffers, "{said}");
    let said = under("mpi_profile", "actor_kernels", &arguments, &kernel);
    for function in ["MPI_Isend", "MPI_Irecv", "MPI_Test", "MPI_Iallreduce"] {
        assert!(said.contains(function), "{function}: {said}");
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
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rmpi/actors/examples");
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
