//! `mpi-watch` and `mpi-tool hang`: programs that hang by sessions alone, without `MPI_Init`. Rank, line and reason are named as
//! they are in a world.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Outcome, abi, compile_with, launcher, limited, setting, text, tool};
use crate::hang::{Job, verdict};
use crate::languages::{culprits, line_of};

fn program() -> PathBuf {
    compile_with(setting("MPICC"), "hang_sessions", "hang_sessions", &["-g"])
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/hang_sessions.c")
}

/// Does this MPI have sessions?
fn has_sessions() -> bool {
    match limited(program()).arg("has sessions").status().expect("the program starts").code() {
        Some(0) => true,
        Some(1) => false,
        other => panic!("the program ends with {other:?}"),
    }
}

/// Runs a fault until these ranks are named, with function and line, and nothing else can be said. Gives the text.
fn named(
    arguments: &[&str],
    kind: &str,
    named: &[(u64, &str, &str)],
    is_enough: impl Fn(&Value) -> bool,
) -> Option<String> {
    if !has_sessions() {
        return None;
    }
    let source = source();
    let line = |comment: &str| Some(line_of(&source, "/*", &format!("{comment} */")));
    let named: BTreeSet<_> = named
        .iter()
        .map(|(rank, function, comment)| (*rank, (*function).to_owned(), line(comment)))
        .collect();
    let mut job = Job::of(&program(), 3, arguments, true);
    let answer = job.until(arguments[0], |answer| {
        verdict(answer) == kind
            && answer["worlds"][0]["certain"] == true
            && culprits(answer, &source).is_superset(&named)
            && is_enough(answer)
            && answer["worlds"][0]["size"] == 3
            && answer["worlds"].as_array().unwrap().len() == 1
    });
    Some(answer["worlds"][0]["text"].to_string())
}

/// The same, where no others are named.
fn are_named(arguments: &[&str], of: &[(u64, &str, &str)]) -> Option<String> {
    let all = of.len();
    named(arguments, "deadlock", of, |answer| answer["culprits"].as_array().unwrap().len() == all)
}

#[test]
fn receives_in_a_circle_are_named() {
    let call = |rank| (rank, "MPI_Recv", "receives");
    if let Some(said) = are_named(&["receive cycle"], &[call(0), call(1), call(2)]) {
        assert!(said.contains("waits for rank 2 to send it a message with tag 5"), "{said}");
    }
}

#[test]
fn who_does_not_come_to_a_collective_is_named() {
    let missing = (1, "MPI_Recv", "receives");
    let said = are_named(&["missing collective"], &[(0, "MPI_Barrier", "barrier"), missing]);
    if let Some(said) = said {
        assert!(said.contains("waits for rank 1 to come to MPI_Barrier #2"), "{said}");
    }
    are_named(&["window"], &[(0, "MPI_Win_fence", "fence"), missing]);
    // MPICH 5.0.2 ends the program there without the tool, too.
    if abi() == "openmpi" {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        are_named(&["file", text(&file)], &[(0, "MPI_File_write_at_all", "writes"), missing]);
    }
}

/// Ranks of a group that was made by way of others, all of which are freed, are those of the world.
#[test]
fn ranks_of_subsets_are_those_of_the_world() {
    let call = |rank| (rank, "MPI_Recv", "receives");
    if let Some(said) = are_named(&["subset"], &[call(0), call(2)]) {
        assert!(said.contains("MPI_Recv on \\\"pair\\\""), "{said}");
        assert!(said.contains("waits for rank 2") || said.contains("waits for rank 0"), "{said}");
    }
}

#[test]
fn who_does_not_make_a_communicator_of_a_group_is_named() {
    let missing = (1, "MPI_Recv", "receives");
    let waits = (0, "MPI_Comm_create_from_group", "makes one");
    if let Some(said) = are_named(&["no member"], &[waits, missing]) {
        let wait = "waits for rank 1 to come to MPI_Comm_create_from_group #2";
        assert!(said.contains(wait), "{said}");
    }
}

#[test]
fn who_makes_none_between_two_groups_is_named() {
    let missing = (2, "MPI_Recv", "receives");
    let waits = (0, "MPI_Intercomm_create_from_groups", "between two");
    if let Some(said) = are_named(&["between"], &[waits, missing]) {
        let wait = "waits for rank 2 to come to MPI_Intercomm_create_from_groups #1";
        assert!(said.contains(wait), "{said}");
    }
}

/// Where the accesses wait is the MPI's choice.
#[test]
fn who_opens_no_window_is_named() {
    let waits = |answer: &Value| {
        let waits = answer["worlds"][0]["waits"].as_array().unwrap();
        waits.iter().any(|wait| wait["from"] == 1 && wait["to"] == 0 && wait["reason"] == "post")
    };
    named(&["epoch"], "deadlock", &[(0, "MPI_Recv", "receives")], waits);
}

/// A rank that has no session any more may open another one.
#[test]
fn who_has_no_session_any_more_is_not_stuck() {
    let left = [(1, "MPI_Session_finalize", "finalizes")];
    named(&["left"], "waiting", &left, |_| true);
}

/// Nothing is left of a run, and nothing is said.
#[test]
fn nothing_is_left_of_sessions() {
    if !has_sessions() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let [mpiexec, option, ranks] = launcher("3");
    let mut command = limited(mpiexec);
    command.args([option, ranks]).arg(program()).arg("nothing");
    command.env("LD_PRELOAD", tool("mpi_watch")).env("MPI_TOOL_RUN", &run);
    let outcome = Outcome::of(&mut command);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
    assert_eq!(outcome.stderr, "", "{outcome:?}");
    assert_eq!(fs::read_dir(&run).unwrap().count(), 0);
}
