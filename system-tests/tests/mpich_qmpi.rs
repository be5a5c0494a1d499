//! Tools in MPICH's own QMPI, which `cargo xtask test-mpich-qmpi` builds; and in an MPICH that was
//! built without it.

use std::path::{Path, PathBuf};

use mpi_facts::Abi;
use test_support::{Outcome, Run, compile_by, setting, tool};

fn program() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stack/c/program.c");
    compile_by(setting("MPICC").into(), &source, "program", &[], &[])
}

fn run(list: Option<&str>, preload: &[&str]) -> Outcome {
    let mut run = Run::new(&program(), 2);
    for name in preload {
        run = run.preload(tool(name));
    }
    if let Some(list) = list {
        run = run.variable("MPIR_CVAR_QMPI_TOOL_LIST", list);
    }
    let outcome = run.run();
    outcome.expect_success("the program");
    assert_eq!(outcome.lines(), ["rank 0 of 2 is fine", "rank 1 of 2 is fine"]);
    outcome
}

/// What the program calls, over both ranks.
const REPORT: &str = " 0.1.0: calls, summed over 2 ranks
MPI_Comm_rank: 9
MPI_Comm_size: 2
MPI_Finalize: 2
MPI_Init: 2
MPI_Recv: 10
MPI_Send: 10
";

/// In each role once: a preloaded tool in an MPICH whose QMPI is on, listed and not, and twice.
#[test]
#[ignore = "needs an MPICH with QMPI: cargo xtask test-mpich-qmpi"]
fn each_call_is_counted_once_in_each_role() {
    for (list, reports) in [
        (None, vec!["# call-counter"]),
        (Some("call-counter"), vec!["# call-counter"]),
        (Some("call-counter:empty-raw:call-counter"), vec!["# call-counter", "# call-counter-3"]),
    ] {
        let outcome = run(list, &["call_counter", "empty_raw"]);
        assert_eq!(outcome.stderr.matches("# ").count(), reports.len(), "{}", outcome.stderr);
        for report in reports {
            let wanted = format!("{report}{REPORT}");
            assert_eq!(outcome.stderr.matches(&wanted).count(), 1, "{list:?}\n{}", outcome.stderr);
        }
    }
}

/// Its libmpi calls functions of the names that `libqmpi.so` exports.
#[test]
#[ignore = "needs an MPICH with QMPI: cargo xtask test-mpich-qmpi"]
fn our_stacks_run_in_an_mpich_that_has_its_own() {
    let counter = tool("call_counter");
    let run = Run::new(&program(), 2)
        .preload(tool("qmpi"))
        .variable("TOOLS", &format!("{0}:{0}", counter.display()));
    let outcome = run.run();
    outcome.expect_success("the program");
    for name in ["# call-counter-1", "# call-counter-2"] {
        assert!(outcome.stderr.contains(&format!("{name}{REPORT}")), "{}", outcome.stderr);
    }
}

/// Packaged MPICHs have the functions, which answer that there is no QMPI.
#[test]
fn a_listed_tool_stays_a_pmpi_tool_where_mpich_has_no_qmpi() {
    if test_support::abi() != Abi::Mpich || setting("MPI_NAME").to_string_lossy() == "mpich-qmpi" {
        return;
    }
    let outcome = run(Some("call-counter"), &["call_counter"]);
    assert!(outcome.stderr.contains(&format!("# call-counter{REPORT}")), "{}", outcome.stderr);
    let line = "call-counter: this MPICH was built without QMPI, so MPIR_CVAR_QMPI_TOOL_LIST has no effect on it";
    assert_eq!(outcome.stderr.matches(line).count(), 1, "{}", outcome.stderr);
}
