//! `mpi-watch` and `mpi-tool hang`: ranks that wait for processes of another world. These are named with function and line in
//! both worlds, and it is said what is not judged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{compile_with, setting};
use crate::hang::Job;
use crate::languages::line_of;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/hang_worlds.c")
}

/// Those that are named for waiting for another world: function, line, rank. In the first set the parents, in the second one
/// the children.
fn named(answer: &Value) -> [BTreeSet<(String, u64, u64)>; 2] {
    let mut named = [BTreeSet::new(), BTreeSet::new()];
    for culprit in answer["culprits"].as_array().unwrap() {
        if culprit["why"] != "another world" {
            continue;
        }
        let frames = culprit["site"].as_array().unwrap();
        let is_ours =
            |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with(".c"));
        let line = frames.iter().find(is_ours).and_then(|frame| frame["line"].as_u64());
        let function = culprit["function"].as_str().unwrap_or_default().to_owned();
        let sentence = culprit["sentence"].as_str().unwrap();
        let is_child = sentence.contains("the processes that have spawned it");
        let rank = culprit["rank"].as_u64().unwrap();
        named[usize::from(is_child)].insert((function, line.unwrap_or(0), rank));
    }
    named
}

/// Runs a fault until these are named, in neither world a deadlock is told, and gives all that is said.
fn are_named(what: &str, parents: &[(&str, &str, u64)], children: &[(&str, &str, u64)]) -> String {
    let program = compile_with(setting("MPICC"), "hang_worlds", "hang_worlds", &["-g"]);
    let source = source();
    let set = |of: &[(&str, &str, u64)]| -> BTreeSet<_> {
        let line = |comment: &str| line_of(&source, "/*", &format!("{comment} */"));
        of.iter().map(|(call, comment, rank)| ((*call).to_owned(), line(comment), *rank)).collect()
    };
    let expected = [set(parents), set(children)];
    let mut job = Job::of(&program, 2, &[what], true);
    let answer = job.until(what, |answer| {
        let worlds = answer["worlds"].as_array().unwrap();
        worlds.len() == 2
            && worlds.iter().all(|world| world["verdict"] == "waiting")
            && named(answer) == expected
    });
    let worlds = answer["worlds"].as_array().unwrap().iter();
    let lines = worlds.flat_map(|world| world["text"].as_array().unwrap());
    lines.map(|line| line.as_str().unwrap().to_owned() + "\n").collect()
}

#[test]
fn ranks_that_wait_for_another_world_are_named() {
    let receives = |rank| ("MPI_Recv", "receives", rank);
    let said = are_named("messages", &[receives(0)], &[receives(1)]);
    for part in [
        "it waits for rank 1 of another world; rank 1 of the run's other world: in MPI_Recv on",
        "it waits for rank 0 of the processes that have spawned it; rank 0 of the run's other world: \
         in MPI_Recv on",
        "(what ranks of two worlds wait for is not judged, but of two that receive from each other)",
    ] {
        assert!(said.contains(part), "{part}:\n{said}");
    }
    assert_eq!(said.matches(": each waits for the other one").count(), 2, "{said}");
    let waits = |rank| ("MPI_Wait", "waits for a child", rank);
    let comes = |rank| ("MPI_Barrier", "barrier of the children", rank);
    let said = are_named("collective", &[waits(0), waits(1)], &[comes(0), comes(1)]);
    assert!(!said.contains(": each waits for the other one"), "{said}");
    let barrier = |rank| ("MPI_Barrier", "barrier of both", rank);
    are_named("barrier", &[barrier(0), barrier(1)], &[receives(0), receives(1)]);
}
