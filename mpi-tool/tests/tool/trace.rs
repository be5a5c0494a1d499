//! `mpi-trace` and `mpi-tool trace`: messages of which it is known which receive has got which, times that the program
//! has measured itself, files of killed programs, and files that are none.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{
    Outcome, compile_with, counters, launcher, limited, mpi_tool, setting, text, tool,
};

/// Runs `trace.c` with tools, with a run folder `run`.
pub(crate) fn traced(folder: &TempDir, ranks: u32, tools: &[&str], arguments: &[&str]) -> Outcome {
    traced_with(folder, ranks, tools, arguments, &[])
}

/// The same, with settings.
pub(crate) fn traced_with(
    folder: &TempDir,
    ranks: u32,
    tools: &[&str],
    arguments: &[&str],
    settings: &[(String, &OsStr)],
) -> Outcome {
    let program = compile_with(setting("MPICC"), "trace", "trace", &["-g", "-pthread"]);
    let [mpiexec, option, ranks] = launcher(&ranks.to_string());
    let mut command = limited(mpiexec);
    command.args([option, ranks]).arg(&program).args(arguments).current_dir(folder.path());
    let tools: Vec<_> = tools.iter().map(|name| tool(name)).collect();
    let tools: Vec<_> = tools.iter().map(|path| text(path)).collect();
    command.env("LD_PRELOAD", tools.join(":"));
    command.env("MPI_TOOL_RUN", folder.path().join("run"));
    command.env("MPI_TOOL_FORMAT", "json").env("MPI_TOOL_CALL_COUNTER_OUTPUT", "calls.json");
    command.envs(settings.iter().map(|(name, value)| (name, value)));
    let outcome = Outcome::of(&mut command);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    outcome
}

/// `mpi-tool trace run OPTIONS`, which succeeds and complains of nothing.
pub(crate) fn printed(folder: &Path, options: &[&str]) -> String {
    let arguments: Vec<_> = ["trace", "run"].iter().chain(options).copied().collect();
    let outcome = mpi_tool(folder, &arguments);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    outcome.stdout
}

/// The calls of a trace, a line each: what each column says.
pub(crate) fn calls(folder: &Path) -> Vec<BTreeMap<String, String>> {
    let csv = printed(folder, &["--to", "csv"]);
    assert!(csv.starts_with("rank,thread,function,begin,end,"), "{csv}");
    csv::Reader::from_reader(csv.as_bytes()).deserialize().map(Result::unwrap).collect()
}

/// The trace as JSON, which is as its schema says.
pub(crate) fn json(folder: &Path) -> Value {
    const SCHEMA: &str = include_str!("../../../docs/schemas/mpi-tool-trace-1.json");
    let trace = serde_json::from_str(&printed(folder, &["--to", "json"])).unwrap();
    let mut compiler = boon::Compiler::new();
    let mut schemas = boon::Schemas::new();
    compiler.add_resource("trace:/1", serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let schema = compiler.compile("trace:/1", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(&trace, schema) {
        panic!("a trace is not as docs/schemas says: {error:#}");
    }
    trace
}

/// Each message has a length of its own, so a wrong pair is seen. Nothing arrives before it was sent, and nothing is
/// left.
fn messages_are_paired(seed: &str, threads: &str) {
    let folder = tempfile::tempdir().unwrap();
    let outcome = traced(&folder, 3, &["mpi_trace"], &["random", seed, threads]);
    let expected: usize = outcome.stdout.lines().map(|line| line.parse::<usize>().unwrap()).sum();
    assert!(expected > 50, "{outcome:?}");
    let trace = json(folder.path());
    let messages = trace["messages"].as_array().unwrap();
    assert_eq!(messages.len(), expected);
    for message in messages {
        assert_eq!(message["bytes"], message["sent_bytes"], "{message:#}");
        let time = |of: &str, at: &str| message[of][at].as_i64().unwrap();
        assert!(time("from", "begin") <= time("to", "end"), "{message:#}");
    }
    let summary = &trace["summary"];
    for none in ["sends_without_receive", "receives_without_send", "messages_before_sending"] {
        assert_eq!(summary[none], 0, "{none}");
    }
}

#[test]
fn each_receive_has_its_send() {
    for seed in ["1", "2", "3"] {
        messages_are_paired(seed, "1");
    }
}

#[test]
fn each_receive_has_its_send_with_threads() {
    for seed in ["4", "5"] {
        messages_are_paired(seed, "4");
    }
}

/// The call counter counts the same. In a file, calls of a thread nest, and their numbers have no gap.
#[test]
fn calls_are_those_that_the_counter_counts() {
    let folder = tempfile::tempdir().unwrap();
    traced(&folder, 2, &["mpi_trace", "call_counter"], &["random", "7", "3"]);
    let counted: BTreeMap<String, u64> = counters(&folder.path().join("calls.json"))
        .into_iter()
        .filter(|(_, calls)| *calls > 0)
        .collect();
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    let mut ends: BTreeMap<(String, String), Vec<(i64, i64)>> = BTreeMap::new();
    for call in calls(folder.path()) {
        *found.entry(call["function"].clone()).or_default() += 1;
        let [begin, end] = ["begin", "end"].map(|at| call[at].parse::<i64>().unwrap());
        let thread = ends.entry((call["rank"].clone(), call["thread"].clone())).or_default();
        thread.retain(|(_, outer)| *outer > begin);
        let is_inside = thread.iter().all(|(_, outer)| *outer >= end);
        assert!(is_inside, "neither inside nor behind: {call:?}");
        thread.push((begin, end));
    }
    assert_eq!(found, counted);
}

/// The program measures how long its ranks wait for the other one. The machine may be busy between a reading of its clock
/// and the call, so they need not agree to the last; on a quiet machine they do within a thousandth.
#[test]
fn waits_are_as_long_as_the_program_says() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = traced(&folder, 2, &["mpi_trace"], &["late"]);
    let trace = json(folder.path());
    let mut causes = 0;
    for line in outcome.stdout.lines() {
        let (what, seconds) = line.rsplit_once(' ').unwrap();
        let (cause, function) = what.rsplit_once(' ').unwrap();
        let expected = seconds.parse::<f64>().unwrap();
        // Four times each: by two sends at once, by a persistent one, and by a synchronous one beside a receive.
        let calls = match function {
            "MPI_Wait" => 4,
            "MPI_Waitall" => 3 * 4,
            _ => 1,
        };
        let waits = trace["waits"].as_array().unwrap().iter();
        let mut times = waits
            .filter(|wait| wait["cause"] == cause && wait["function"] == function)
            .filter(|wait| wait["calls"].as_u64().unwrap() >= calls)
            .map(|wait| wait["time"].as_f64().unwrap() / 1e9);
        let near = times.any(|time| (time - expected).abs() <= 0.5 * expected);
        assert!(near, "{what}: {expected}: {:#}", trace["waits"]);
        causes += 1;
    }
    assert_eq!(causes, 5, "{outcome:?}");
}

/// The lines of both calls, by the program's text, and all else as without call sites.
#[test]
fn the_lines_that_wait_for_each_other_are_told() {
    const SOURCE: &str = include_str!("../c/trace.c");
    let line = |of: &str| {
        let found: Vec<_> =
            (1..).zip(SOURCE.lines()).filter(|(_, line)| line.contains(of)).collect();
        assert_eq!(found.len(), 1, "{of}");
        i64::from(found[0].0)
    };
    let folder = tempfile::tempdir().unwrap();
    let sites = (setting_of_trace("DEPTH"), OsStr::new("2"));
    traced_with(&folder, 2, &["mpi_trace"], &["late"], &[sites]);
    let trace = json(folder.path());
    // In which line of `late` who waits, and for which line.
    for (cause, waiting, awaited) in [
        (
            "late sender",
            "MPI_Recv(&other, 1, MPI_DOUBLE, 0, 0,",
            "MPI_Send(&begin, 1, MPI_DOUBLE, 1, 0,",
        ),
        ("late receiver", "MPI_Ssend(large,", "MPI_Recv(large, 8 << 20, MPI_CHAR, 0, 1,"),
    ] {
        let is_it = |wait: &&Value| {
            let frame = |site: &str, of: &str| {
                let frames = wait[site].as_array().unwrap();
                assert_eq!(frames.len(), 2, "{wait:#}");
                assert_eq!(frames[1]["function"], "main");
                frames[0]["line"] == line(of) && frames[0]["function"] == "late"
            };
            wait["cause"] == cause && frame("site", waiting) && frame("culprit_site", awaited)
        };
        let found = trace["waits"].as_array().unwrap().iter().filter(is_it).count();
        assert_eq!(found, 1, "{cause}: {:#}", trace["waits"]);
    }
    let ssend = line("MPI_Ssend(large,");
    let told = printed(folder.path(), &[]);
    assert!(
        told.contains(&format!("1 call of MPI_Ssend at trace.c:{ssend} late < trace.c:")),
        "{told}"
    );
    for call in calls(folder.path()) {
        let site = &call["site"];
        let [own, main] = [site.split(" < ").next().unwrap(), site.rsplit(" < ").next().unwrap()];
        assert!(main.starts_with("trace.c:") && main.ends_with(" main"), "{call:?}");
        // The line has the call, but for those in several lines.
        let at: usize = own["trace.c:".len()..].split(' ').next().unwrap().parse().unwrap();
        let around = SOURCE.lines().skip(at - 1).take(2).collect::<String>();
        assert!(around.contains(&call["function"]), "{call:?}");
    }
    let page = printed(folder.path(), &["--html"]);
    assert!(page.contains(&format!("trace.c:{ssend} late")));
}

/// What a process has recorded is there when it is killed; a ring keeps the last calls, in as much room as it may have.
#[test]
fn a_killed_program_leaves_its_last_calls() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile_with(setting("MPICC"), "trace", "trace", &["-g", "-pthread"]);
    let [mpiexec, option, ranks] = launcher("2");
    let mut command = limited(mpiexec);
    command.args([option, ranks]).arg(&program).arg("forever").current_dir(folder.path());
    command.env("LD_PRELOAD", tool("mpi_trace")).env("MPI_TOOL_MPI_TRACE_RING", "1");
    command.env("MPI_TOOL_RUN", folder.path().join("run")).stderr(Stdio::null());
    let (input, _never_ends) = std::io::pipe().unwrap();
    let mut job = command.stdin(input).stdout(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    let processes = loop {
        assert!(begin.elapsed() < Duration::from_secs(100), "the ring is never full");
        sleep(Duration::from_millis(200));
        let outcome = mpi_tool(folder.path(), &["trace", "run", "--to", "json"]);
        let Ok(trace) = serde_json::from_str::<Value>(&outcome.stdout) else { continue };
        let processes = trace["processes"].as_array().unwrap().clone();
        let is_full = |one: &Value| one["overwritten_bytes"].as_u64().unwrap() > 0;
        if processes.len() == 2 && processes.iter().all(is_full) {
            break processes;
        }
    };
    for process in &processes {
        let pid = process["pid"].as_u64().unwrap().to_string();
        // The launcher may have ended it, since the other one is gone.
        let mut kill = std::process::Command::new("kill");
        let _ = kill.args(["-s", "KILL", &pid]).stderr(Stdio::null()).status().unwrap();
    }
    let _ = job.wait();
    let trace = json(folder.path());
    for process in trace["processes"].as_array().unwrap() {
        assert_eq!(process["finalized"], false);
        let length =
            fs::metadata(folder.path().join(process["file"].as_str().unwrap())).unwrap().len();
        assert!(length <= 1 << 20, "{length}");
    }
    let events = trace["events"].as_array().unwrap();
    assert!(events.len() > 10_000, "{}", events.len());
    assert!(events.iter().all(|event| event[2] == "MPI_Sendrecv_replace"));
    let text = printed(folder.path(), &[]);
    assert!(text.contains("2 of 2 ranks have not come to MPI_Finalize"), "{text}");
    assert!(text.contains("the files keep the last calls only"), "{text}");
}

/// Calls that come again are short records. None is missing when the process is killed right after the last one, and each has
/// its own arguments.
#[test]
fn calls_to_nobody_are_all_there() {
    const CALLS: usize = 20_000;
    for ring in ["0", "1"] {
        let folder = tempfile::tempdir().unwrap();
        let program = compile_with(setting("MPICC"), "trace", "trace", &["-g", "-pthread"]);
        let [mpiexec, option, ranks] = launcher("1");
        let mut command = limited(mpiexec);
        command.args([option, ranks]).arg(&program).args(["nobody", &CALLS.to_string()]);
        command.env("LD_PRELOAD", tool("mpi_trace")).env("MPI_TOOL_MPI_TRACE_RING", ring);
        command.current_dir(folder.path()).env("MPI_TOOL_RUN", folder.path().join("run"));
        let _ = Outcome::of(&mut command);
        let mut last_end = 0;
        let mut number = 0;
        for call in calls(folder.path()) {
            let [function, tag, received_tag, communicator, destination, own] =
                ["function", "tag", "receive_tag", "communicator", "destination", "number"]
                    .map(|column| call[column].as_str());
            if !function.starts_with("MPI_Send") {
                continue;
            }
            assert!(call["begin"].parse::<i64>().unwrap() >= last_end, "{call:?}");
            last_end = call["end"].parse().unwrap();
            let tags = match number {
                _ if number % 11 == 5 => [(number % 2).to_string(), "9".to_owned()],
                _ if number % 1000 < 900 => ["5".to_owned(), String::new()],
                _ => [(number % 3).to_string(), String::new()],
            };
            assert_eq!([tag, received_tag], [tags[0].as_str(), tags[1].as_str()], "{call:?}");
            assert_eq!(function == "MPI_Sendrecv", number % 11 == 5, "{call:?}");
            assert_eq!(communicator == "MPI_COMM_WORLD", number % 7 != 3, "{call:?}");
            assert_eq!(destination, "null", "{call:?}");
            // Before them were `MPI_Init_thread` and three others.
            assert_eq!(own, (number + 4).to_string(), "{call:?}");
            number += 1;
        }
        assert_eq!(number, CALLS, "with a ring of {ring} MB");
        let trace = json(folder.path());
        let process = &trace["processes"][0];
        assert_eq!(process["finalized"], false);
        let file = folder.path().join(process["file"].as_str().unwrap());
        let length = usize::try_from(fs::metadata(file).unwrap().len()).unwrap();
        assert!(length <= 14 * CALLS, "{length} bytes");
    }
}

/// Calls that repeat others are told of as those are that are written in full, as all are of which some might be left out:
/// each call's arguments and bytes, and each message. Communicators get the handles of others that had other ranks, and
/// messages are shorter than their receives.
#[test]
fn calls_that_come_again_are_what_they_were() {
    // More ranks than processors take turns at every message, so that they get fewer calls.
    for (seed, ranks, number) in [("1", 3, 400), ("2", 2, 2000)] {
        let whole = (setting_of_trace("FUNCTIONS"), OsStr::new("MPI_*"));
        let sites = (setting_of_trace("DEPTH"), OsStr::new("4"));
        let [in_full, repeated, with_sites] = [&[whole][..], &[], &[sites]].map(|settings| {
            let folder = tempfile::tempdir().unwrap();
            traced_with(
                &folder,
                ranks,
                &["mpi_trace"],
                &["again", seed, &number.to_string()],
                settings,
            );
            told(folder.path())
        });
        assert_eq!(in_full.calls.len(), repeated.calls.len());
        for (full, repeated) in in_full.calls.iter().zip(&repeated.calls) {
            assert_eq!(full, repeated);
        }
        assert_eq!(in_full.messages, repeated.messages);
        assert_eq!(in_full.calls, with_sites.calls);
        assert_eq!(in_full.messages, with_sites.messages);
        assert!(repeated.messages.len() > number / 3, "{} messages", repeated.messages.len());
        let calls = repeated.calls.len() as u64;
        assert!(repeated.bytes <= 14 * calls, "{} bytes of {calls} calls", repeated.bytes);
        // Else none was told to repeat another one, and nothing was compared.
        assert_ne!(repeated.bytes, in_full.bytes);
    }
}

/// What arrives again is written by its number, in whatever call it arrives.
#[test]
fn what_arrives_again_is_written_by_its_number() {
    const ROUNDS: usize = 5000;
    let folder = tempfile::tempdir().unwrap();
    traced(&folder, 2, &["mpi_trace"], &["exchange", &ROUNDS.to_string()]);
    let told = told(folder.path());
    assert_eq!(told.messages.len(), 2 * 3 * ROUNDS);
    // By the format, a round: twelve bytes for each of seven calls, four for each message that arrives in MPI_Waitall, and three
    // to seven for that one. Records in full have fewer, and messages in full among calls by their numbers have more.
    let bytes = |of_waitall: usize| 2 * ROUNDS * (7 * 12 + 2 * 4 + of_waitall);
    let told = told.bytes as usize;
    assert!(bytes(3) - 4096 < told && told < bytes(7) + 4096, "{told} bytes");
}

/// What a trace tells, without times.
struct Told {
    calls: Vec<BTreeMap<String, String>>,
    /// By their senders and receivers, in the order of sending: both functions, tag and bytes.
    messages: Vec<([i64; 2], String)>,
    bytes: u64,
}

fn told(folder: &Path) -> Told {
    let mut calls = calls(folder);
    for call in &mut calls {
        call.retain(|column, _| !matches!(column.as_str(), "begin" | "end" | "pid" | "site"));
    }
    // They were in the order of times.
    calls.sort();
    let trace = json(folder);
    let message = |message: &Value| {
        let sides = ["from", "to"].map(|of| &message[of]);
        let [from, to] = sides.map(|side| side["function"].as_str().unwrap());
        let what =
            ["tag", "bytes", "sent_bytes", "communicator"].map(|name| message[name].to_string());
        (sides.map(|side| side["rank"].as_i64().unwrap()), format!("{from} {to} {what:?}"))
    };
    let mut messages: Vec<_> = trace["messages"].as_array().unwrap().iter().map(message).collect();
    messages.sort_by_key(|(ranks, _)| *ranks);
    let processes = trace["processes"].as_array().unwrap();
    let bytes = processes.iter().map(|process| process["bytes"].as_u64().unwrap()).sum();
    Told { calls, messages, bytes }
}

fn setting_of_trace(name: &str) -> String {
    format!("MPI_TOOL_MPI_TRACE_{name}")
}

/// No call, no crash: an answer of one line that names the file.
#[test]
fn files_that_are_no_traces_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let failed = |arguments: &[&str], why: &str| {
        let outcome = mpi_tool(folder.path(), arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        assert!(outcome.stderr.contains(why), "{why}: {outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    };
    failed(&["trace", "run"], "there is no such trace");
    fs::create_dir(&run).unwrap();
    failed(&["trace", "run"], "no trace is there");
    fs::write(run.join("a.trace"), "nothing").unwrap();
    failed(&["trace", "run"], "a.trace: not a trace of mpi-trace");
    fs::remove_file(run.join("a.trace")).unwrap();

    traced(&folder, 2, &["mpi_trace"], &["random", "1", "1"]);
    let files: Vec<_> = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()).collect();
    let whole = fs::read(&files[0]).unwrap();
    // Bytes of the header and of the first piece, changed; and shorter files.
    let mut damaged = 0;
    for at in (0..whole.len().min(4096 + 512)).step_by(37) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(&files[0], &bytes).unwrap();
        let outcome = mpi_tool(folder.path(), &["trace", "run"]);
        assert!(matches!(outcome.status, Some(0 | 2)), "byte {at}: {outcome:?}");
        damaged += usize::from(outcome.status == Some(2));
    }
    assert!(damaged > 0, "{damaged}");
    for length in [0, 7, 8, 4095, 4097, 8191, whole.len() - 1] {
        fs::write(&files[0], &whole[..length]).unwrap();
        let outcome = mpi_tool(folder.path(), &["trace", "run"]);
        assert!(matches!(outcome.status, Some(0 | 2)), "{length} bytes: {outcome:?}");
    }
}

/// A process that writes more to a file than it may (`ulimit -f`) is ended by a signal, SIGXFSZ. The program ends itself by
/// SIGKILL.
#[test]
fn a_limit_of_files_ends_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile_with(setting("MPICC"), "trace", "trace", &["-g", "-pthread"]);
    let run = |bytes: u32, name: &str, calls: u32| {
        let [mpiexec, option, ranks] = launcher("1");
        let mut command = limited(mpiexec);
        // Not by `ulimit`, whose unit depends on the shell and on POSIXLY_CORRECT.
        let script = format!(
            "prlimit --fsize={bytes} env LD_PRELOAD=$TOOL \"$0\" nobody {calls}; echo ended with $?"
        );
        command.args([option, ranks]).args(["bash", "-c", &script]).arg(&program);
        command.env("TOOL", tool(name)).env("MPI_TOOL_RUN", folder.path().join(name));
        let outcome = Outcome::of(command.current_dir(folder.path()));
        assert!(outcome.stdout.contains("ended with 137"), "{name}: {outcome:?}");
        outcome.stderr
    };
    // 72 MB of records, of which 64 may be there.
    let said = run(64 << 20, "mpi_trace", 6_000_000);
    assert_eq!(said.matches("mpi-trace: no room for the trace").count(), 1, "{said}");
    // Other MPIs have longer files themselves.
    if setting("MPI_NAME") == "mpich-5.0.2" {
        run(4500 << 10, "mpi_check", 1);
        run(4500 << 10, "mpi_watch", 1);
    }
}

/// A folder that cannot be written to: a line, and the program goes on.
#[test]
fn without_a_file_the_program_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run"), "in the way").unwrap();
    let outcome = traced(&folder, 2, &["mpi_trace"], &["random", "1", "1"]);
    let said: Vec<_> = outcome.stderr.lines().filter(|line| line.contains("mpi-trace")).collect();
    assert_eq!(said.len(), 1, "{outcome:?}");
    assert!(said[0].contains("nothing is recorded of this run"), "{outcome:?}");
}

/// What is missing of a run is said with what its trace says, and so is what is too much.
#[test]
fn a_trace_that_is_not_of_one_whole_run_says_so() {
    let folder = tempfile::tempdir().unwrap();
    traced(&folder, 3, &["mpi_trace"], &["exchange", "2000"]);
    let run = folder.path().join("run");
    let whole = printed(folder.path(), &[]);
    let file_of = |rank: &str| {
        let name = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path());
        let is_it = |path: &std::path::PathBuf| {
            path.file_name().unwrap().to_str().unwrap().starts_with(rank)
        };
        name.filter(is_it).find(|path| path.extension() == Some(OsStr::new("trace"))).unwrap()
    };
    let path = file_of("rank1");
    let bytes = fs::read(&path).unwrap();
    let says = |what: &str| {
        let trace = |options: &[&str]| {
            let arguments: Vec<_> = ["trace", "run"].iter().chain(options).copied().collect();
            mpi_tool(folder.path(), &arguments)
        };
        let text = trace(&[]);
        assert!(text.stdout.contains(what) && !whole.contains(what), "{text:?}");
        let json: Value = serde_json::from_str(&trace(&["--to", "json"]).stdout).unwrap();
        let warnings = json["summary"]["warnings"].as_array().unwrap().clone();
        assert!(warnings.iter().any(|said| said.as_str().unwrap().contains(what)), "{warnings:?}");
    };
    // Where a piece of the file is cut, or what its calls are named by, the file is refused. At some page, only calls are lost.
    let is_told = |pages: &usize| {
        fs::write(&path, &bytes[..pages * 4096]).unwrap();
        let told = mpi_tool(folder.path(), &["trace", "run"]);
        assert!(told.status == Some(0) || told.stderr.contains("rank1-"), "{told:?}");
        told.stdout.contains("the file of rank 1 is not whole")
    };
    (2..bytes.len() / 4096).find(is_told).expect("some page ends before the last call");
    says("the file of rank 1 is not whole");
    fs::remove_file(&path).unwrap();
    says("rank 1 left no file here: what is told is of the others only");
    let outcome = mpi_tool(folder.path(), &["trace", "run", "--to", "csv"]);
    assert!(outcome.stderr.contains("rank 1 left no file here"), "{outcome:?}");
    // One that was named is what was asked for.
    let one = mpi_tool(folder.path(), &["trace", text(&file_of("rank0"))]);
    assert!(!one.stdout.contains("left no file"), "{one:?}");
    fs::write(&path, &bytes).unwrap();
    sleep(Duration::from_millis(50));
    traced(&folder, 3, &["mpi_trace"], &["exchange", "1000"]);
    says("the files are of several runs");
}
