//! What tools add to calls, in instructions, is what docs/overhead.md says.
//!
//! callgrind counts the same instructions in each run, but for what tools do now and then. With `--accept`, the page's table is
//! written anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use test_support::{compile_with, tool};

/// How often each call is made: what comes once in some thousand calls shall not look like something of every call.
const ROUNDS: u32 = 2000;

/// A column of the table: what it is called there, the tool, and a setting.
type Column = (&'static str, &'static str, Option<(&'static str, &'static str)>);

const COLUMNS: [Column; 12] = [
    ("empty-raw", "empty_raw", None),
    ("empty-high", "empty_high", None),
    ("call-counter", "call_counter", None),
    ("bandwidth-counter", "bandwidth_counter", None),
    ("mpi-profile", "mpi_profile", None),
    ("…, no call sites", "mpi_profile", Some(("MPI_TOOL_MPI_PROFILE_DEPTH", "0"))),
    ("…, peers", "mpi_profile", Some(("MPI_TOOL_MPI_PROFILE_PEER", "1"))),
    ("mpi-watch", "mpi_watch", None),
    ("…, no call sites", "mpi_watch", Some(("MPI_TOOL_MPI_WATCH_DEPTH", "0"))),
    ("mpi-trace", "mpi_trace", None),
    ("…, call sites", "mpi_trace", Some(("MPI_TOOL_MPI_TRACE_DEPTH", "4"))),
    ("mpi-check", "mpi_check", None),
];

/// A row of the table: the name of a loop of the program, and what the page says of it.
const ROWS: [(&str, &str); 20] = [
    ("wtime", "`MPI_Wtime`"),
    ("comm_rank", "`MPI_Comm_rank`"),
    ("type_size", "`MPI_Type_size`"),
    ("send_to_nobody", "`MPI_Send` to `MPI_PROC_NULL`"),
    ("four_sends_in_turn", "the same with four tags in turn"),
    ("recv_from_nobody", "`MPI_Recv` from `MPI_PROC_NULL`"),
    ("sendrecv_with_nobody", "`MPI_Sendrecv` with `MPI_PROC_NULL`"),
    ("isend_wait_to_nobody", "`MPI_Isend` to `MPI_PROC_NULL`, `MPI_Wait`"),
    ("iprobe", "`MPI_Iprobe` that finds nothing"),
    ("test", "`MPI_Test` of what is not complete"),
    ("sendrecv_to_itself", "`MPI_Sendrecv` to itself"),
    ("irecv_send_wait", "`MPI_Irecv`, `MPI_Send` to itself, `MPI_Wait`"),
    ("irecv_isend_two_waits", "`MPI_Irecv`, `MPI_Isend` to itself, twice `MPI_Wait`"),
    ("irecv_isend_waitall", "`MPI_Irecv`, `MPI_Isend` to itself, `MPI_Waitall`"),
    ("barrier", "`MPI_Barrier`"),
    ("barrier_of_two_in_turn", "`MPI_Barrier` of two communicators in turn"),
    ("bcast", "`MPI_Bcast`"),
    ("allreduce", "`MPI_Allreduce`"),
    ("reduce", "`MPI_Reduce`"),
    ("gather", "`MPI_Gather`"),
];

/// Instructions of each loop, by its name.
type Counts = BTreeMap<String, u64>;

/// Counts the instructions of all loops, with a tool or without.
fn count(program: &Path, column: Option<Column>) -> Counts {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--collect-atstart=no", "--callgrind-out-file=counts"])
        .arg(program)
        .arg(ROUNDS.to_string())
        .current_dir(folder.path())
        .env("MPI_TOOL_OUTPUT", folder.path().join("report"));
    if let Some((_, name, setting)) = column {
        command.env("LD_PRELOAD", tool(name)).envs(setting);
    }
    let output = command.output().expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"over\n", "{column:?}: {said}");
    // A file for each loop, whose name is what had it written.
    let mut counts = Counts::new();
    for file in fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        if !path.is_file() || !path.to_string_lossy().contains("counts.") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let of = |start| text.lines().find_map(|line| line.strip_prefix(start));
        if let Some(name) = of("desc: Trigger: Client Request: ") {
            counts.insert(name.to_owned(), of("totals: ").unwrap().trim().parse().unwrap());
        }
    }
    let missing: Vec<_> = ROWS.iter().filter(|(name, _)| !counts.contains_key(*name)).collect();
    assert!(missing.is_empty() && counts.len() == ROWS.len(), "{missing:?}: {said}");
    counts
}

/// What each column adds to a round of each row's calls.
fn measure(program: &Path) -> Vec<Vec<f64>> {
    // The first is without a tool.
    let runs: Vec<_> = [None].into_iter().chain(COLUMNS.map(Some)).collect();
    let results: Mutex<Vec<Option<Counts>>> = Mutex::new(vec![None; runs.len()]);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(column) = runs.get(at) else { break };
                    let counts = count(program, *column);
                    results.lock().unwrap()[at] = Some(counts);
                }
            });
        }
    });
    let counts: Vec<Counts> = results.into_inner().unwrap().into_iter().flatten().collect();
    let (plain, tools) = counts.split_first().unwrap();
    let added =
        |tool: &Counts, name: &str| (tool[name] as f64 - plain[name] as f64) / f64::from(ROUNDS);
    tools.iter().map(|tool| ROWS.iter().map(|(name, _)| added(tool, name)).collect()).collect()
}

/// The comments of the page between which the table is.
const BEGIN: &str =
    "<!-- instructions: written by `cargo xtask test --suite instructions --accept` -->\n";
const END: &str = "<!-- end of instructions -->";

fn table(added: &[Vec<f64>]) -> String {
    let mut text = String::from("| calls |");
    COLUMNS.iter().for_each(|(name, ..)| write!(text, " {name} |").unwrap());
    text.push_str("\n|---|");
    COLUMNS.iter().for_each(|_| text.push_str("---|"));
    text.push('\n');
    for (row, (_, says)) in ROWS.iter().enumerate() {
        write!(text, "| {says} |").unwrap();
        added.iter().for_each(|column| write!(text, " {} |", grouped(column[row])).unwrap());
        text.push('\n');
    }
    text
}

fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    if digits.len() <= 3 {
        digits
    } else {
        format!("{},{}", &digits[..digits.len() - 3], &digits[digits.len() - 3..])
    }
}

/// The figures of the page's table, by column, if it has the rows and columns that there are.
fn figures(table: &str) -> Option<Vec<Vec<f64>>> {
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let (head, rows) = (lines.first()?, lines.get(2..)?);
    let is_same = head[1..].iter().copied().eq(COLUMNS.iter().map(|(name, ..)| *name))
        && rows.iter().map(|row| row[0]).eq(ROWS.iter().map(|(_, says)| *says));
    let figure =
        |row: usize, column: usize| rows[row].get(column + 1)?.replace(',', "").parse().ok();
    is_same
        .then(|| {
            (0..COLUMNS.len())
                .map(|column| (0..ROWS.len()).map(|row| figure(row, column)).collect())
        })?
        .collect()
}

/// How far a tool's count may be from the page's: what happens now and then does not happen equally often in each run. mpi-trace
/// also writes times, in as many bytes as they take, and so does less or more by how long calls take.
fn tolerance(tool: &str, figure: f64) -> f64 {
    1.5 + figure / if tool == "mpi_trace" { 5.0 } else { 50.0 }
}

#[test]
fn tools_add_what_the_page_says() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let program =
        compile_with(&folder.join("tests/instructions/loops.c"), "loops", &["-Wall", "-Werror"]);
    let added = measure(&program);
    let page = folder.join("../docs/overhead.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) =
        text.split_once(BEGIN).expect("docs/overhead.md has a comment that begins the table");
    let (old, behind) =
        rest.split_once(END).expect("docs/overhead.md has a comment that ends the table");
    let new = table(&added);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&page, format!("{before}{BEGIN}{new}{END}{behind}")).unwrap();
        return;
    }
    let figures = figures(old)
        .unwrap_or_else(|| panic!("the table of the page has other rows or columns than {new}"));
    let mut wrong = Vec::new();
    for (column, (name, tool, _)) in COLUMNS.iter().enumerate() {
        for (row, (calls, _)) in ROWS.iter().enumerate() {
            let (is, was) = (added[column][row], figures[column][row]);
            if (is - was).abs() > tolerance(tool, was) {
                wrong.push(format!("{tool} ({name}), {calls}: {is:.1}, and {was} by the page"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "instructions that tools add to calls:\n  {}\nIf that must be so: cargo xtask test --suite instructions --accept\n{new}",
        wrong.join("\n  ")
    );
}
