//! `mpi-tool hang` and ranks that wait for one that works: it is named, and nobody is said to be stuck for ever.

use std::fs;

use serde_json::Value;

use crate::common::{compile_with, setting};
use crate::hang::{Job, verdict};

fn job(what: &str) -> Job {
    let program = compile_with(setting("MPICC"), "innocent", "innocent", &["-g", "-pthread"]);
    Job::of(&program, 4, &[what], true)
}

/// Rank, and why it is named.
fn named(answer: &Value) -> Vec<(u64, &str)> {
    let culprits = answer["culprits"].as_array().unwrap().iter();
    culprits.map(|one| (one["rank"].as_u64().unwrap(), one["why"].as_str().unwrap())).collect()
}

/// How many of the other ranks are in a call.
fn waiting(answer: &Value) -> usize {
    let ranks = answer["ranks"].as_array().unwrap().iter();
    ranks.filter(|rank| rank["inside"] == true && rank["rank"] != 2).count()
}

fn a_rank_that_works_is_named(what: &str) {
    let mut job = job(what);
    let is_right = |answer: &Value| {
        verdict(answer) == "waiting" && waiting(answer) == 3 && named(answer) == [(2, "computing")]
    };
    job.until(what, is_right);
    // It stays so.
    for _ in 0..2 {
        let answer = job.until(what, |answer| waiting(answer) == 3);
        assert!(is_right(&answer), "{what}: {answer:#}");
    }
}

mod a_rank_that_works_is_what_others_wait_for {
    use super::a_rank_that_works_is_named;

    #[test]
    fn shared_locks() {
        a_rank_that_works_is_named("shared locks");
    }

    #[test]
    fn freed_communicator() {
        a_rank_that_works_is_named("freed communicator");
    }

    #[test]
    fn begun() {
        a_rank_that_works_is_named("begun");
    }

    #[test]
    fn window_free() {
        a_rank_that_works_is_named("window free");
    }
}

/// A thread that sleeps may do what its rank waits for, so nothing is certain.
#[test]
fn a_thread_that_sleeps_may_go_on() {
    let mut job = job("other thread");
    let answer = job.until("other thread", |answer| {
        waiting(answer) == 3
            && verdict(answer) == "deadlock"
            && named(answer).contains(&(2, "cycle"))
    });
    assert_eq!(answer["worlds"][0]["certain"], false);
    let text = answer["worlds"][0]["text"][0].as_str().unwrap();
    assert!(text.contains("outside of MPI and may go on"), "{text}");
}

/// What is said of processes that have ended is not certain.
#[test]
fn what_has_ended_is_not_certain() {
    let mut job = job("window free");
    job.until("window free", |answer| waiting(answer) == 3);
    let copy = tempfile::tempdir().unwrap();
    for file in fs::read_dir(job.run_folder()).unwrap() {
        let file = file.unwrap().path();
        fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
    }
    job.kill();
    let answer = crate::hang::hang(copy.path(), copy.path().to_str().unwrap()).unwrap();
    assert_eq!(answer["worlds"][0]["certain"], false);
    assert_eq!(answer["worlds"][0]["alive"], false);
}
