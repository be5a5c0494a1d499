//! Programs that hang (`told.c`), in which one of several lines is the one that a user must be told.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{compile_with, setting, text};
use crate::hang::{Job, LIMIT, hang, verdict};

fn program() -> PathBuf {
    compile_with(setting("MPICC"), "told", "told", &["-g", "-pthread"])
}

/// The line of `told.c` that ends in a comment.
fn line_of(comment: &str) -> u64 {
    let end = format!("/* {comment} */");
    let lines = include_str!("../c/told.c").lines().zip(1..);
    let lines: Vec<u64> =
        lines.filter(|(line, _)| line.ends_with(&end)).map(|(_, number)| number).collect();
    assert_eq!(lines.len(), 1, "one line is {comment}");
    lines[0]
}

/// The innermost line of a call site that is in `told.c`.
fn line_in(site: &Value) -> Option<u64> {
    let is_ours = |frame: &&Value| frame["file"].as_str().is_some_and(|it| it.ends_with("told.c"));
    site.as_array()?.iter().find(is_ours)?["line"].as_u64()
}

/// The ranks that are named, with their functions and lines.
fn named(answer: &Value) -> BTreeSet<(u64, &str, Option<u64>)> {
    let culprits = answer["culprits"].as_array().unwrap().iter();
    let told = culprits.map(|culprit| {
        let function = culprit["function"].as_str().unwrap_or_default();
        (culprit["rank"].as_u64().unwrap(), function, line_in(&culprit["site"]))
    });
    told.collect()
}

fn is_certain(answer: &Value) -> bool {
    verdict(answer) == "deadlock" && answer["worlds"][0]["certain"] == true
}

/// A rank that is a round behind has gone on to other calls: its wrong one is told, before and after a kill.
#[test]
fn the_line_of_a_wrong_operation_is_told() {
    let mut job = Job::of(&program(), 4, &["gone on"], true);
    let is_told = |answer: &Value| {
        let path = answer["worlds"][0]["path"].as_array().unwrap();
        let of_1 = path.iter().filter(|edge| edge["to"] == 1);
        let lines: BTreeSet<_> = of_1
            .map(|edge| (edge["called"]["function"].as_str(), line_in(&edge["called"]["site"])))
            .collect();
        let third = Some(line_of("third round"));
        verdict(answer) == "deadlock"
            && lines == BTreeSet::from([(Some("MPI_Reduce"), Some(line_of("instead")))])
            && named(answer).iter().any(|one| (one.1, one.2) == ("MPI_Allreduce", third))
    };
    let answer = job.until("gone on", |answer| is_certain(answer) && is_told(answer));
    let said = answer["worlds"][0]["text"].to_string();
    let sentence = format!("but that rank has called MPI_Reduce at told.c:{}", line_of("instead"));
    assert!(said.contains(&sentence), "{said}");
    job.kill();
    let (folder, begin) = (tempfile::tempdir().unwrap(), Instant::now());
    loop {
        let dead = hang(folder.path(), text(&job.run_folder())).unwrap();
        if dead["worlds"][0]["alive"] == false {
            assert!(is_told(&dead), "{dead:#}");
            break;
        }
        assert!(begin.elapsed() < LIMIT, "{dead:#}");
        sleep(Duration::from_millis(50));
    }
}

/// Of a rank whose threads are in several calls, the one is told that is in the circle.
#[test]
fn the_thread_that_waits_is_told() {
    let mut job = Job::of(&program(), 4, &["threads"], true);
    let answer = job.until("threads", |answer| is_certain(answer) && named(answer).len() == 2);
    let in_a_thread = (1, "MPI_Recv", Some(line_of("in a thread")));
    assert!(named(&answer).contains(&in_a_thread), "{answer:#}");
    let culprits = answer["culprits"].as_array().unwrap();
    let said = culprits.iter().find(|one| one["rank"] == 1).unwrap()["sentence"].to_string();
    assert!(said.contains("waits for rank 0") && said.contains("with tag 77"), "{said}");
}

/// A rank that was stopped in a call is what others wait for, and it alone is named.
#[test]
fn a_rank_that_was_stopped_in_a_call_is_named() {
    for (what, function, line) in [
        ("stopped inside", "MPI_Recv", "stopped here"),
        ("stopped in barrier", "MPI_Barrier", "stopped in a barrier"),
    ] {
        let mut job = Job::of(&program(), 4, &[what], true);
        let answer = job.until(what, |answer| {
            let ranks = answer["ranks"].as_array().unwrap();
            let waits = answer["worlds"][0]["waits"].as_array().unwrap();
            ranks.len() == 4
                && ranks.iter().all(|rank| rank["inside"] == true && rank["moved"] == 0)
                && waits.iter().any(|wait| wait["from"] == 0 && wait["to"] == 1)
        });
        assert_eq!(verdict(&answer), "waiting", "{answer:#}");
        let expected = BTreeSet::from([(1, function, Some(line_of(line)))]);
        assert_eq!(named(&answer), expected, "{answer:#}");
        assert_eq!(answer["culprits"][0]["why"], "stopped", "{answer:#}");
    }
}
