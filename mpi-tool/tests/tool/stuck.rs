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

const fn all(function: &str) -> [(u64, &str); 4] {
    [(0, function), (1, function), (2, function), (3, function)]
}

/// Each program is a test.
macro_rules! each {
    ($($group:ident { $($name:ident $what:literal $expected:expr,)* })*) => {
        $(mod $group {
            #[allow(unused_imports, reason = "not every group has a program in which all do the same")]
            use super::{all, named};

            $(#[test]
            fn $name() {
                named($what, &$expected);
            })*
        })*
    };
}

each! {
    messages_that_never_come_are_named {
        exchange "exchange" all("MPI_Sendrecv_replace"),
        synchronous_ring "synchronous ring" all("MPI_Ssend"),
        persistent "persistent" [(0, "MPI_Wait"), (1, "MPI_Barrier")],
        probe "probe" [(0, "MPI_Mprobe"), (1, "MPI_Barrier")],
        any_source "any source" [(0, "MPI_Recv")],
        itself "itself" [(0, "MPI_Recv")],
        threads "threads" [(0, "MPI_Recv")],
        wait_some "wait some" [(0, "MPI_Waitsome"), (1, "MPI_Barrier")],
    }
    operations_that_some_do_not_come_to_are_named {
        between "between" [(3, "MPI_Recv"), (0, "MPI_Barrier")],
        idup "idup" [(2, "MPI_Recv"), (0, "MPI_Wait")],
        split "split" [(2, "MPI_Recv"), (0, "MPI_Comm_split")],
        scatter "scatter" [(2, "MPI_Recv"), (0, "MPI_Scatter")],
        gather "gather" [(0, "MPI_Barrier")],
        grid "grid" all("MPI_Barrier"),
    }
    windows_and_files_that_some_do_not_come_to_are_named {
        file "file" [(1, "MPI_Recv"), (0, "MPI_File_open")],
        fence "fence" [(1, "MPI_Recv"), (0, "MPI_Win_fence")],
        window_free "window free" [(1, "MPI_Recv"), (0, "MPI_Win_free")],
    }
}
