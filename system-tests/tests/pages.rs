//! The programs that pages show are the examples that the compiler has seen, and do what they say.

use std::fs;
use std::path::Path;

use test_support::{Run, compile, example};

/// Each program of the page stands behind a line that says which example it is.
#[test]
fn programs_of_the_page_are_the_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/writing-a-tool.md")).unwrap();
    let mut programs = 0;
    for part in page.split("<!-- ").skip(1) {
        let (path, rest) = part.split_once(" -->\n```rust\n").expect("a program after its path");
        let (program, _) = rest.split_once("```\n").expect("the end of the program");
        assert_eq!(program, fs::read_to_string(root.join(path)).unwrap(), "{path}");
        programs += 1;
    }
    assert_eq!(programs, page.matches("```rust\n").count());
}

/// A hundred rounds of one integer on two ranks.
fn ring_with(tool: &str) -> String {
    let outcome = Run::new(&compile("ring"), 2).preload(example(tool)).run();
    outcome.expect_success(tool);
    assert_eq!(outcome.lines(), ["token 100"], "{tool}");
    outcome.stderr
}

#[test]
fn time_is_measured_in_every_function() {
    let report = ring_with("mpi_time");
    let functions: Vec<_> = report
        .lines()
        .filter(|line| line.starts_with("MPI_"))
        .map(|line| line.split_once(": ").expect("a name and a number"))
        .collect();
    let names: Vec<_> = functions.iter().map(|(name, _)| *name).collect();
    // Finalize is not over when the report is made.
    let expected = ["MPI_Comm_rank", "MPI_Comm_size", "MPI_Init", "MPI_Recv", "MPI_Send"];
    assert_eq!(names, expected, "{report}");
    assert!(functions.iter().all(|(_, time)| time.parse::<u64>().unwrap() > 0), "{report}");
}

#[test]
fn messages_are_counted_by_their_size() {
    let report = ring_with("message_sizes");
    let lines: Vec<_> = report.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["1 to 64 B: 200"], "{report}");
}

#[test]
fn what_is_received_can_be_looked_at() {
    let said = ring_with("received");
    // Two ranks may write into one line.
    assert_eq!(said.matches("received 4").count(), 200, "{said}");
    // Rank 1 adds one to the token and gives it back.
    for line in ["from rank 0, the first value: Some(0)", "from rank 1, the first value: Some(1)"] {
        assert!(said.contains(line), "{said}");
    }
}
