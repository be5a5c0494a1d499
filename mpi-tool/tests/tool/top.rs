//! `mpi-tool top`: what it says of a program that waits for known times, on paper and on a terminal.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Outcome, compile_with, mpi_tool, setting, text};
use crate::hang::Job;

const SOURCE: &str = include_str!("../c/live.c");

fn line(of: &str) -> u64 {
    let found: Vec<_> =
        (1..).zip(SOURCE.lines()).filter(|(_, line)| line.contains(of)).map(|(at, _)| at).collect();
    assert_eq!(found.len(), 1, "{of}");
    found[0]
}

/// The program on so many ranks, once all of them send a token around.
fn started(ranks: u32, arguments: &[&str]) -> Job {
    let program = compile_with(setting("MPICC"), "live", "live", &["-g"]);
    let mut job = Job::of(&program, ranks, arguments, true);
    job.until("all ranks have a token", |answer| {
        let ranks_are: Vec<_> = answer["ranks"].as_array().into_iter().flatten().collect();
        ranks_are.len() == ranks as usize
            && ranks_are.iter().all(|rank| {
                ["MPI_Comm_size", "MPI_Send", "MPI_Recv"]
                    .iter()
                    .any(|name| rank["function"] == *name)
            })
    });
    job
}

fn top(job: &Job, options: &[&str]) -> Outcome {
    let run = job.run_folder();
    mpi_tool(run.parent().unwrap(), &[&["top", text(&run)], options].concat())
}

/// Rank 0 works for a tenth of a second in each step, and all others wait for it meanwhile, by way of each other.
#[test]
fn who_is_waited_for_is_named_at_its_line() {
    let job = started(4, &[]);
    let outcome = top(&job, &["--once", "--json", "--window", "4s"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let world = &answer["worlds"][0];
    assert_eq!((&answer["schema"], &world["size"]), (&"mpi-tool-top/1".into(), &4.into()));
    assert!(answer["looks"].as_u64().unwrap() >= 5, "{answer:#}");
    let cause = &world["causes"][0];
    assert_eq!((&cause["rank"], &cause["waiting"]), (&0.into(), &Value::from(vec![1, 2, 3])));
    let place = &cause["doing"]["site"][0];
    assert_eq!(
        (&cause["doing"]["state"], &place["line"]),
        (&"outside of MPI".into(), &line("WORKS BEHIND").into()),
        "{answer:#}"
    );
    // A step takes a tenth of a second, and little more.
    assert!(cause["share"].as_f64().unwrap() > 0.7, "{answer:#}");
    for rank in 1..4 {
        let rank = &world["ranks"][rank];
        assert!(rank["in_mpi"].as_f64().unwrap() > 0.8, "{answer:#}");
        assert_eq!(rank["mostly"]["site"][0]["line"], line("WAITS"), "{answer:#}");
        assert_eq!(rank["stands"], false);
    }
    assert!(world["ranks"][0]["in_mpi"].as_f64().unwrap() < 0.2, "{answer:#}");
    let calls = world["ranks"][0]["calls_per_second"].as_f64().unwrap();
    // Two calls in each step, of which there are at most ten a second.
    assert!(calls > 2.0 && calls <= 21.0, "{answer:#}");

    let outcome = top(&job, &["--once", "--window", "1s"]);
    let said: Vec<_> = outcome.stdout.lines().collect();
    let place = format!("after MPI_Comm_size at live.c:{} main", line("WORKS BEHIND"));
    assert!(
        said[1].starts_with("ranks 1-3 wait ")
            && said[1].contains(" for rank 0, which is outside of MPI ")
            && said[1].ends_with(&place),
        "{outcome:?}"
    );
    // So does `mpi-tool hang`, which sees that all go on.
    let run = job.run_folder();
    let outcome = mpi_tool(run.parent().unwrap(), &["hang", text(&run)]);
    assert!(outcome.stdout.contains(&place), "{outcome:?}");
    assert!(outcome.stdout.contains("\nranks 1-3 wait "), "{outcome:?}");
}

#[test]
fn figures_are_kept_in_a_file() {
    let job = started(2, &[]);
    let outcome = top(&job, &["--once", "--window", "500ms", "--openmetrics", "mpi.prom"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
    let text = fs::read_to_string(job.run_folder().parent().unwrap().join("mpi.prom")).unwrap();
    let ranks = text.lines().filter(|line| line.starts_with("mpi_rank_calls_total{")).count();
    assert_eq!((ranks, text.ends_with("# EOF\n")), (2, true), "{text}");
    let outcome = top(&job, &["--once", "--window", "500ms", "--openmetrics", "no/mpi.prom"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("no/mpi.prom: cannot be written"), "{outcome:?}");
}

/// A terminal of thirty lines: keys do what they say, the end of the run is seen, and q ends.
#[test]
fn a_terminal_is_drawn_on() {
    let job = started(2, &["60"]);
    let run = job.run_folder();
    let program = env!("CARGO_BIN_EXE_mpi-tool");
    let command = format!("stty rows 30 cols 120; '{program}' top '{}' --every 200ms", text(&run));
    let mut terminal = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script runs (util-linux)");
    let mut keys = terminal.stdin.take().unwrap();
    for key in [&b"s"[..], b"?", b"?", b"p", b"p"] {
        sleep(Duration::from_millis(700));
        keys.write_all(key).unwrap();
    }
    // Sixty steps are six seconds and a little more.
    sleep(Duration::from_secs(9));
    keys.write_all(b"q").unwrap();
    let output = terminal.wait_with_output().unwrap();
    let drawn = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{drawn}");
    for words in ["sorted by rank", "MPI", "scroll", "paused", "the run is over"] {
        assert!(drawn.contains(words), "{words}: {drawn}");
    }
    // The screen that was there before is there again.
    assert!(drawn.contains("\u{1b}[?1049h") && drawn.contains("\u{1b}[?1049l"), "{drawn}");
}
