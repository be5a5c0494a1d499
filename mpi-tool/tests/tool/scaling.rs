//! What scaling says of a program that sleeps for a known time on any number of ranks, and says how long.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Outcome, compile_with, launcher, limited, mpi_tool, setting, tool};

const SOURCE: &str = include_str!("../c/scaling.c");

/// The line with a text, by its number.
fn line(of: &str) -> usize {
    let found: Vec<_> =
        (1..).zip(SOURCE.lines()).filter(|(_, line)| line.contains(of)).map(|(at, _)| at).collect();
    assert_eq!(found.len(), 1, "{of}");
    found[0]
}

/// What the program says by its own clock: how long it took on the rank for which that was longest, how long rank 0 was alone, and
/// how long all ranks together have slept.
struct Said {
    seconds: f64,
    alone: f64,
    slept: f64,
}

/// Runs the program and leaves its profile.
fn profiled(folder: &Path, ranks: &str, file: &str) -> Said {
    let executable = compile_with(setting("MPICC"), "scaling", "scaling", &["-g"]);
    let [mpiexec, option, ranks] = launcher(ranks);
    let mut command = limited(mpiexec);
    command.args([option, ranks]).arg(&executable).current_dir(folder);
    command.env("LD_PRELOAD", tool("mpi_profile")).env("MPI_TOOL_FORMAT", "json");
    command.env("MPI_TOOL_OUTPUT", folder.join(file));
    let outcome = Outcome::of(&mut command);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let mut said = Said { seconds: 0.0, alone: 0.0, slept: 0.0 };
    for line in outcome.lines() {
        let numbers: Vec<f64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        said.seconds = said.seconds.max(numbers[0]);
        said.alone += numbers[1];
        said.slept += numbers[2];
    }
    said
}

/// One, two and four ranks.
fn all() -> (TempDir, [Said; 3]) {
    let folder = tempfile::tempdir().unwrap();
    let said =
        ["1", "2", "4"].map(|ranks| profiled(folder.path(), ranks, &format!("{ranks}.json")));
    (folder, said)
}

fn scaling(folder: &Path, options: &[&str]) -> String {
    let outcome = mpi_tool(folder, &[&["scaling", "4.json", "1.json", "2.json"], options].concat());
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    outcome.stdout
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("{of} is no number"))
}

fn close(told: &Value, expected: f64) {
    let told = number(told);
    assert!((told - expected).abs() < 0.04 * expected, "{told}, {expected}");
}

/// Speedup is as by the program's own clock, and the part that rank 0 does alone is what grows.
#[test]
fn the_serial_part_of_a_program_is_found() {
    let (folder, all) = all();
    let told: Value = serde_json::from_str(&scaling(folder.path(), &["--to", "json"])).unwrap();
    for (at, said) in all.iter().enumerate() {
        let size = &told["sizes"][at];
        assert_eq!(size["ranks"], 1 << at);
        close(&size["time"], said.seconds);
        let speedup = size["speedup"].clone();
        close(&speedup, all[0].seconds / said.seconds);
        let factor = |name: &str| number(&size[name]);
        assert_eq!(
            factor("parallel_efficiency"),
            factor("load_balance") * factor("communication_efficiency")
        );
        assert_eq!(
            factor("global_efficiency"),
            factor("parallel_efficiency") * factor("computation_scaling")
        );
        close(&size["computation_scaling"], all[0].slept / said.slept);
    }
    let segment = &told["segments"][0];
    let between = format!(
        "between MPI_Comm_test_inter at scaling.c:{} (round_of) and MPI_Bcast at scaling.c:{} (round_of)",
        line("before what rank 0 does alone"),
        line("behind what rank 0 does alone")
    );
    assert_eq!(segment["name"], *between, "{told:#}");
    for (at, said) in all.iter().enumerate() {
        close(&segment["shares"][at], said.alone / said.seconds);
    }
    // Of all ranks' time, it is the broadcast in which those that wait for rank 0 are.
    let site = told["sites"][0]["name"].as_str().unwrap();
    let broadcast = format!("MPI_Bcast, scaling.c:{} ", line("behind what rank 0 does alone"));
    assert!(site.starts_with(&broadcast), "{told:#}");
    // The same in the text.
    let text = scaling(folder.path(), &[]);
    let mut lines = text.lines().skip_while(|line| !line.starts_with("code between two calls "));
    assert!(lines.nth(1).is_some_and(|line| line.ends_with(&between)), "{text}");
    // Its own JSON as TALP writes it says the same of speedup and efficiencies.
    for ranks in ["1", "2", "4"] {
        let (from, to) = (format!("{ranks}.json"), format!("talp{ranks}.json"));
        let outcome = mpi_tool(folder.path(), &["report", &from, "--to", "talp", "-o", &to]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
    }
    let files = ["scaling", "talp1.json", "talp2.json", "talp4.json", "--to", "json"];
    let talp: Value = serde_json::from_str(&mpi_tool(folder.path(), &files).stdout).unwrap();
    for at in 0..3 {
        for name in ["speedup", "parallel_efficiency", "load_balance", "computation_scaling"] {
            let [one, other] = [&told, &talp].map(|of| number(&of["sizes"][at][name]));
            assert!((one - other).abs() < 1e-6, "{name}: {one}, {other}");
        }
    }
}

#[test]
fn runs_that_say_nothing_of_scaling_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    profiled(folder.path(), "1", "1.json");
    let whole = fs::read_to_string(folder.path().join("1.json")).unwrap();
    fs::write(folder.path().join("cut.json"), &whole[..whole.len() / 2]).unwrap();
    for (files, expected) in [
        (
            &["1.json"][..],
            "mpi-tool: all reports are of 1 rank: give reports of two numbers of ranks",
        ),
        (&["1.json", "1.json"], "mpi-tool: 1.json and 1.json are the same report"),
        (&["1.json", "cut.json"], "mpi-tool: cut.json is no report in JSON"),
        (&["1.json", "none.json"], "mpi-tool: none.json: No such file"),
    ] {
        let outcome = mpi_tool(folder.path(), &[&["scaling"], files].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        assert!(outcome.stderr.starts_with(expected), "{outcome:?}");
    }
}
