//! Windows whose epochs two sides open and end (`MPI_Win_post`, `start`, `complete`, `wait`), and exchanges with other tags.

use crate::hang::{Job, culprits, line_of, named, verdict};

/// Runs a fault until a deadlock is told in which this rank is named, in this call, and one of these of another rank.
fn both(what: &str, culprit: (u64, &str, &str), waits: u64, at: &[&str]) {
    let mut job = Job::start(4, &[what]);
    let answer = job.until(what, |answer| {
        verdict(answer) == "deadlock" && answer["worlds"][0]["certain"] == true
    });
    let named = culprits(&answer);
    let (rank, function, comment) = culprit;
    let expected = (rank, function.to_owned(), line_of(comment), "cycle".to_owned());
    assert!(named.contains(&expected), "{named:?}");
    let lines: Vec<u64> = at.iter().map(|comment| line_of(comment)).collect();
    assert!(
        named.iter().any(|(rank, _, line, _)| *rank == waits && lines.contains(line)),
        "{named:?}"
    );
}

/// Where the first one is waited for is the MPI's choice.
#[test]
fn a_window_that_is_not_opened_is_named() {
    both(
        "no post",
        (0, "MPI_Recv", "opens nothing"),
        1,
        &["starts", "puts to the first", "completes"],
    );
}

#[test]
fn an_access_that_does_not_end_is_named() {
    both("no complete", (2, "MPI_Recv", "ends nothing"), 0, &["waits for accesses"]);
}

/// What `MPI_Sendrecv` receives has a tag of its own.
#[test]
fn an_exchange_with_other_tags_is_named() {
    let all = [0, 1].map(|rank| (rank, "MPI_Sendrecv", "other tags", "cycle"));
    let (_job, answer) = named(2, &["exchange tags"], "deadlock", &all);
    let said = answer["worlds"][0]["text"].to_string();
    assert!(said.contains("with tag 3") || said.contains("with tag 4"), "{said}");
}
