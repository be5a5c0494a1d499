//! Wrong programs of further shapes (`stuck.c`): a deadlock is told, and ranks that take part in it are named.

use std::collections::BTreeMap;

use crate::common::{compile_with, setting, text};
use crate::hang::{Job, verdict};

/// Asks until a deadlock is told for certain that has these ranks among those that are named, and these functions.
fn named(what: &str, expected: &[(u64, &str)]) {
    let program = compile_with(setting("MPICC"), "stuck", "stuck", &["-g", "-pthread"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let mut job = Job::of(&program, 4, &[what, text(&file)], true);
    job.until(what, |answer| {
        let culprits = answer["culprits"].as_array().unwrap().iter();
        let named: BTreeMap<_, _> =
            culprits.map(|one| (one["rank"].as_u64().unwrap(), &one["function"])).collect();
        let is_named = |(rank, function): &(u64, &str)| {
            named.get(rank).is_some_and(|own| own.as_str() == Some(*function))
        };
        verdict(answer) == "deadlock"
            && answer["worlds"][0]["certain"] == true
            && expected.iter().all(is_named)
    });
}

#[test]
fn messages_that_never_come_are_named() {
    let all = |function| [0, 1, 2, 3].map(|rank| (rank, function));
    named("exchange", &all("MPI_Sendrecv_replace"));
    named("synchronous ring", &all("MPI_Ssend"));
    named("persistent", &[(0, "MPI_Wait"), (1, "MPI_Barrier")]);
    named("probe", &[(0, "MPI_Mprobe"), (1, "MPI_Barrier")]);
    named("any source", &[(0, "MPI_Recv")]);
    named("itself", &[(0, "MPI_Recv")]);
    named("threads", &[(0, "MPI_Recv")]);
    named("wait some", &[(0, "MPI_Waitsome"), (1, "MPI_Barrier")]);
}

#[test]
fn operations_that_some_do_not_come_to_are_named() {
    named("between", &[(3, "MPI_Recv"), (0, "MPI_Barrier")]);
    named("idup", &[(2, "MPI_Recv"), (0, "MPI_Wait")]);
    named("split", &[(2, "MPI_Recv"), (0, "MPI_Comm_split")]);
    named("scatter", &[(2, "MPI_Recv"), (0, "MPI_Scatter")]);
    named("gather", &[(0, "MPI_Barrier")]);
    let grid = [0, 1, 2, 3].map(|rank| (rank, "MPI_Barrier"));
    named("grid", &grid);
}

#[test]
fn windows_and_files_that_some_do_not_come_to_are_named() {
    named("file", &[(1, "MPI_Recv"), (0, "MPI_File_open")]);
    named("fence", &[(1, "MPI_Recv"), (0, "MPI_Win_fence")]);
    named("window free", &[(1, "MPI_Recv"), (0, "MPI_Win_free")]);
}
