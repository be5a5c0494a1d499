//! `mpi-tool trace` of messages and collective operations that are hard to tell apart: calls are missing in the trace, or
//! `MPI_Mprobe` has changed the order. Each message has a length of its own, so a wrong pair is seen.

use std::ffi::OsStr;

use serde_json::Value;

use crate::common::{Outcome, compile_with, launcher, limited, setting, tool};
use crate::trace::{json, printed};

/// A program's trace, and what the program has printed.
fn traced(case: &str, settings: &[(&str, &str)]) -> (Value, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = compile_with(setting("MPICC"), "missing", "missing", &["-pthread"]);
    let [mpiexec, option, ranks] = launcher("2");
    let mut command = limited(mpiexec);
    command.args([option.as_str(), &ranks]).arg(&program).arg(case).current_dir(folder.path());
    command.env("LD_PRELOAD", tool("mpi_trace")).env("MPI_TOOL_RUN", folder.path().join("run"));
    command.envs(settings.iter().map(|(name, value)| (name, OsStr::new(value))));
    let outcome = Outcome::of(&mut command);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let trace = json(folder.path());
    (trace, printed(folder.path(), &[]), outcome.stdout)
}

/// The lengths of messages that are paired, sorted, and how many sends and receives are left. No pair is wrong.
fn lengths(trace: &Value) -> (Vec<u64>, [u64; 2]) {
    let messages = trace["messages"].as_array().unwrap();
    let mut lengths: Vec<u64> = messages
        .iter()
        .map(|message| {
            assert_eq!(message["bytes"], message["sent_bytes"], "{message:#}");
            message["bytes"].as_u64().unwrap()
        })
        .collect();
    lengths.sort_unstable();
    let left = |what: &str| trace["summary"][what].as_u64().unwrap();
    (lengths, [left("sends_without_receive"), left("receives_without_send")])
}

#[test]
fn matched_messages_keep_their_order() {
    let (trace, ..) = traced("matched", &[]);
    assert_eq!(lengths(&trace), (vec![11, 12, 21, 22, 31, 41, 51, 52], [0, 0]));
}

/// One send and one barrier are missing. Behind them all is known again, as the program has come to its end.
#[test]
fn what_is_switched_off_shifts_nothing() {
    let (trace, text, _) = traced("off", &[]);
    assert_eq!(lengths(&trace), (vec![10, 12], [0, 1]));
    let waits = trace["waits"].as_array().unwrap();
    for (rank, expected) in [(0, 0.5), (1, 0.3)] {
        let is_it = |wait: &&Value| wait["cause"] == "collective" && wait["rank"] == rank;
        let wait = waits.iter().find(is_it).unwrap_or_else(|| panic!("{waits:#?}"));
        let time = wait["time"].as_f64().unwrap() / 1e9;
        assert!(time > 0.8 * expected, "{waits:#?}");
    }
    let left_out = "calls while MPI_Pcontrol had switched tracing off";
    assert_eq!(trace["summary"]["left_out"], serde_json::json!([left_out]));
    assert!(text.contains(left_out), "{text}");
    assert!(text.contains("the receives of 0 sends, the sends of 1 receive"), "{text}");
}

/// Rank 0 has called `MPI_Send`, too: which of its messages that of `MPI_Ssend` is, nobody knows.
#[test]
fn what_is_filtered_shifts_nothing() {
    let name = "MPI_TOOL_MPI_TRACE_FUNCTIONS";
    let (trace, ..) = traced("filter", &[(name, "MPI_Recv,MPI_Ssend,MPI_Finalize")]);
    assert_eq!(lengths(&trace), (vec![], [1, 2]));
    // Nothing that has to do with messages was called and left out.
    let (trace, ..) = traced("filter", &[(name, "MPI_Recv,MPI_Ssend,MPI_Send")]);
    assert_eq!(lengths(&trace), (vec![11, 12], [0, 0]));
}

#[test]
fn receives_that_fail_shift_nothing() {
    let (trace, ..) = traced("failed", &[]);
    assert_eq!(lengths(&trace), (vec![12, 13, 22], [2, 0]));
}

#[test]
fn communicators_without_a_number_are_not_taken_for_one() {
    let (trace, ..) = traced("many", &[]);
    assert_eq!(lengths(&trace), (vec![13], [2, 2]));
}

/// The critical path goes over to the late sender then.
#[test]
fn probes_wait_for_senders() {
    let (trace, _, said) = traced("probe", &[]);
    assert_eq!(lengths(&trace), (vec![10, 11], [0, 0]));
    let mut probes = 0;
    for line in said.lines() {
        let (function, seconds) = line.split_once(' ').unwrap();
        let expected = seconds.parse::<f64>().unwrap();
        let waits = trace["waits"].as_array().unwrap().iter();
        let mut times = waits
            .filter(|wait| wait["cause"] == "late sender" && wait["function"] == function)
            .map(|wait| wait["time"].as_f64().unwrap() / 1e9);
        let near = times.any(|time| (time - expected).abs() <= 0.3 * expected);
        assert!(near, "{function}: {expected}: {:#}", trace["waits"]);
        let parts = trace["critical_path"]["parts"].as_array().unwrap();
        let is_long = |part: &&Value| part["time"].as_f64().unwrap() > 0.1e9;
        assert!(!parts.iter().filter(is_long).any(|part| part["function"] == function));
        probes += 1;
    }
    assert_eq!(probes, 2, "{said}");
}

/// A tag that a call has named is not written again for what it receives. One that it has not named is, so both take as much
/// room, but for the times. Else it would be some 8000 bytes more.
#[test]
fn tags_that_are_known_take_no_room() {
    let [named, any] = ["tags", "any"].map(|case| {
        let (trace, ..) = traced(case, &[]);
        let messages = trace["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2000);
        assert!(messages.iter().all(|message| message["tag"].as_i64().unwrap() >= 32767));
        let processes = trace["processes"].as_array().unwrap().iter();
        processes.map(|process| process["bytes"].as_u64().unwrap()).sum::<u64>()
    });
    assert!(named < any + 4000, "{named} {any}");
}
