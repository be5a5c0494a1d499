//! What `mpi-tool trace` says makes ranks wait, of programs that sleep in known places and say how long.

use serde_json::Value;

use crate::common::{Outcome, compile_with, launcher, limited, setting, tool};
use crate::trace::{json, printed};

const SOURCE: &str = include_str!("../c/causes.c");

/// The line with a text, by its number.
fn line(of: &str) -> u64 {
    let found: Vec<u64> =
        (1..).zip(SOURCE.lines()).filter(|(_, line)| line.contains(of)).map(|(at, _)| at).collect();
    assert_eq!(found.len(), 1, "{of}");
    found[0]
}

/// Four ranks, of which one is late between two lines. Returns the trace, and what the text says.
fn found(program: &str, late: u64, before: &str, after: &str) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let executable = compile_with(setting("MPICC"), "causes", "causes", &["-g"]);
    let [mpiexec, option, ranks] = launcher("4");
    let mut command = limited(mpiexec);
    command.args([option, ranks]).arg(&executable).arg(program).current_dir(folder.path());
    command.env("LD_PRELOAD", tool("mpi_trace")).env("MPI_TOOL_MPI_TRACE_DEPTH", "1");
    command.env("MPI_TOOL_RUN", folder.path().join("run"));
    let outcome = Outcome::of(&mut command);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let slept: f64 = outcome.stdout.trim().parse().unwrap();
    let trace = json(folder.path());
    let causes = &trace["causes"];
    let time = |of: &Value| of["time"].as_f64().unwrap();
    // Nothing is left over, and nothing is told twice.
    let sum: f64 = causes["all"].as_array().unwrap().iter().map(time).sum();
    let waiting: f64 = trace["waits"].as_array().unwrap().iter().map(time).sum();
    assert_eq!(causes["waiting"].as_f64(), Some(waiting));
    assert!((sum - waiting).abs() < 1e-6 * waiting, "{sum}, {waiting}");
    // The three others wait, for as long as one rank has slept too long, in its lines.
    let worst = &causes["all"][0];
    assert_eq!((&worst["kind"], &worst["ranks"][0]["rank"]), (&"computing".into(), &late.into()));
    let at = |of: &str| worst[of]["site"][0]["line"].as_u64();
    assert_eq!((at("before"), at("after")), (Some(line(before)), Some(line(after))), "{worst:#}");
    let expected = 3.0 * slept * 1e9;
    let caused = time(&worst["ranks"][0]);
    assert!((caused - expected).abs() < 0.03 * expected, "{caused}, {expected}: {causes:#}");
    let text = printed(folder.path(), &[]);
    let what = format!("of waiting by 3 ranks: rank {late} computes too long between ");
    assert!(text.contains(&what), "{text}");
    (trace, text)
}

#[test]
fn a_chain_leads_to_its_first_rank() {
    let (trace, text) = found("chain", 0, "before the slow part", "behind the slow part");
    let worst = &trace["causes"]["all"][0];
    // A third of it is rank 1's, and all else passes through rank 1.
    let [time, direct] = ["time", "direct"].map(|of| worst[of].as_f64().unwrap());
    assert!((direct / time - 1.0 / 3.0).abs() < 0.03, "{worst:#}");
    for link in worst["links"].as_array().unwrap() {
        let via = if link["waiting"] == 1 { Value::Null } else { 1.into() };
        assert_eq!(link["via"], via, "{link:#}");
    }
    assert!(text.contains(" reach 2 ranks by way of rank 1"), "{text}");
}

#[test]
fn what_a_rank_does_while_others_wait_is_not_blamed() {
    found("skew", 3, "before what is too long", "behind what is too long");
}
