//! What `mpi-tool trace` writes for other programs as folders, read by these programs where they are installed: OTF2's and
//! SimGrid's. And traces of which something is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Outcome, counters, limited, mpi_tool, mpi_tool_command};
use crate::trace::{calls, json, printed, traced, traced_with};

/// Is there such a program? A test of what it does ends without it.
fn has(program: &str) -> bool {
    let is_there = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !is_there {
        eprintln!("{program} is not installed: nothing is tested with it");
    }
    is_there
}

/// How many messages there are by sender, receiver, tag and bytes.
type Sent = BTreeMap<[i64; 4], usize>;

fn add(sent: &mut Sent, message: [i64; 4]) {
    *sent.entry(message).or_default() += 1;
}

/// The messages of a trace.
fn sent(trace: &Value) -> Sent {
    let mut sent = Sent::new();
    for message in trace["messages"].as_array().unwrap() {
        let number = |value: &Value| value.as_i64().unwrap();
        let [from, to] = ["from", "to"].map(|side| number(&message[side]["rank"]));
        add(&mut sent, [from, to, number(&message["tag"]), number(&message["bytes"])]);
    }
    sent
}

/// Messages without their tags: a trace for SimGrid has others.
fn without_tags(sent: &Sent) -> Sent {
    let mut all = Sent::new();
    for ([from, to, _, bytes], count) in sent {
        *all.entry([*from, *to, 0, *bytes]).or_default() += count;
    }
    all
}

/// The files of a time-independent trace that a list names: all sends, which are as many as receives.
fn read_ti(list: &Path) -> Sent {
    let mut sent = Sent::new();
    let mut received = Sent::new();
    let mut ranks = BTreeSet::new();
    for file in fs::read_to_string(list).unwrap().lines() {
        for line in fs::read_to_string(file).unwrap().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words[at].parse::<f64>().unwrap() as i64;
            let rank = number(0);
            ranks.insert(rank);
            match words[1] {
                "send" | "isend" => add(&mut sent, [rank, number(2), number(3), number(4)]),
                "recv" | "irecv" => add(&mut received, [number(2), rank, number(3), number(4)]),
                "compute" => assert!(number(2) > 0, "{line}"),
                "init" | "finalize" | "wait" | "barrier" => {}
                _ => panic!("{line}"),
            }
        }
    }
    assert_eq!(ranks.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(sent, received);
    sent
}

/// SimGrid replays the run to its end, and has sent the same messages then, as it writes itself.
#[test]
fn simgrid_replays_the_same_messages() {
    let folder = tempfile::tempdir().unwrap();
    traced(&folder, 3, &["mpi_trace"], &["random", "2", "1"]);
    let expected = without_tags(&sent(&json(folder.path())));
    printed(folder.path(), &["--to", "ti", "-o", "ti"]);
    let written = read_ti(&folder.path().join("ti/trace.txt"));
    assert_eq!(without_tags(&written), expected);
    if !has("smpirun") {
        return;
    }
    let platform = "<?xml version='1.0'?>\n\
        <!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
        <platform version=\"4.1\"><cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-2\" speed=\"1Gf\" bw=\"1GBps\" \
        lat=\"1us\"/></platform>\n";
    fs::write(folder.path().join("platform.xml"), platform).unwrap();
    fs::write(folder.path().join("hosts"), "h0\nh1\nh2\n").unwrap();
    let mut replay = limited("smpirun");
    replay.args(["-np", "3", "-platform", "platform.xml", "-hostfile", "hosts", "-trace-ti"]);
    replay.args(["--cfg=tracing/filename:replayed", "-replay", "ti/trace.txt"]);
    let outcome = Outcome::of(replay.current_dir(folder.path()));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("Simulation time"), "{outcome:?}");
    let files = folder.path().join("replayed_files");
    let files = fs::read_dir(files).unwrap().map(|entry| entry.unwrap().path());
    let list: Vec<String> = files.map(|file| file.display().to_string()).collect();
    fs::write(folder.path().join("list"), list.join("\n")).unwrap();
    assert_eq!(read_ti(&folder.path().join("list")), written);
}

/// What cannot be written is said in one line.
#[test]
fn folders_that_cannot_be_written_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    traced(&folder, 2, &["mpi_trace"], &["random", "1", "2"]);
    let failed = |arguments: &[&str], why: &str| {
        let mut command = mpi_tool_command(folder.path(), &["trace", "run", "--to"]);
        let outcome = Outcome::of(command.args(arguments).env("MPI_TOOL_OTF2", "/no/library"));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        assert!(outcome.stderr.contains(why), "{why}: {outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    };
    failed(&["otf2"], "name it with -o");
    failed(&["ti"], "name it with -o");
    failed(&["otf2", "-o", "new"], "MPI_TOOL_OTF2: /no/library: cannot open it");
    failed(&["otf2", "-o", "run"], "run: something is there already");
    failed(&["ti", "-o", "new"], "have one thread a rank");
}

/// A field of one of `otf2-print`'s lines: `Name: number` or `Name: "text" <number>`.
fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let rest = line.split_once(&format!("{name}: ")).unwrap_or_else(|| panic!("{name}: {line}")).1;
    rest.split([' ', ',', '(']).next().unwrap()
}

/// Debian's `otf2-print` reads as many calls of each function as the call counter has counted, and each message at both of
/// its sides. It complains of nothing.
#[test]
fn otf2_has_the_calls_and_the_messages() {
    let folder = tempfile::tempdir().unwrap();
    let tools = ["mpi_trace", "call_counter"];
    traced(&folder, 3, &tools, &["random", "6", "3"]);
    if !has("otf2-print") {
        return;
    }
    printed(folder.path(), &["--to", "otf2", "-o", "otf2"]);
    let mut print = limited("otf2-print");
    let outcome = Outcome::of(print.arg("otf2/trace.otf2").current_dir(folder.path()));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let mut calls: BTreeMap<String, u64> = BTreeMap::new();
    let (mut sides, mut requests) = ([Sent::new(), Sent::new()], BTreeSet::new());
    let mut depth: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in outcome.stdout.lines() {
        let mut words = line.split_whitespace();
        let Some(kind) = words.next() else { continue };
        let Some(location) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
            continue;
        };
        let own = (location & 0xffff_ffff) as i64;
        let number = |name: &str| field(line, name).parse::<i64>().unwrap();
        // `0 ("MPI Rank 0" <0>)`: the communicator has the ranks in their order, so a rank there is one of the world.
        let message = |peer: &str| (number(peer), number("Tag"), number("Length"));
        match kind {
            "ENTER" => {
                let name = field(line, "Region").trim_matches('"').to_owned();
                *calls.entry(name.clone()).or_default() += 1;
                depth.entry(location).or_default().push(name);
            }
            "LEAVE" => {
                let name = field(line, "Region").trim_matches('"').to_owned();
                assert_eq!(depth.get_mut(&location).unwrap().pop(), Some(name), "{line}");
            }
            "MPI_SEND" | "MPI_ISEND" => {
                let (peer, tag, bytes) = message("Receiver");
                add(&mut sides[0], [own, peer, tag, bytes]);
            }
            "MPI_RECV" | "MPI_IRECV" => {
                let (peer, tag, bytes) = message("Sender");
                add(&mut sides[1], [peer, own, tag, bytes]);
                if kind == "MPI_IRECV" {
                    assert!(requests.remove(&(own, number("Request"))), "{line}");
                }
            }
            "MPI_IRECV_REQUEST" => _ = requests.insert((own, number("Request"))),
            _ => {}
        }
    }
    let counted: BTreeMap<String, u64> = counters(&folder.path().join("calls.json"))
        .into_iter()
        .filter(|(_, calls)| *calls > 0)
        .collect();
    assert_eq!(calls, counted);
    let expected = sent(&json(folder.path()));
    assert!(expected.len() > 50);
    assert_eq!(sides, [expected.clone(), expected]);
    assert!(depth.values().all(Vec::is_empty), "{depth:?}");
}

/// Python's own SQLite finds the calls that the call counter has counted, and the messages of the JSON; the causes of each wait
/// add up to it.
#[test]
fn a_database_has_the_calls_and_the_messages() {
    let folder = tempfile::tempdir().unwrap();
    traced(&folder, 3, &["mpi_trace", "call_counter"], &["random", "6", "3"]);
    printed(folder.path(), &["--to", "sqlite", "-o", "run.sqlite"]);
    let program = r#"
import json, sqlite3
ask = lambda words: sqlite3.connect("run.sqlite").execute(words).fetchall()
print(json.dumps({
    "calls": dict(ask("select function, count(*) from calls group by function")),
    "messages": ask("""
        select one.rank, other.rank, messages.tag, bytes, count(*) from messages
        join calls as sent on sent.call = sent_in join calls as received on received.call = received_in
        join processes as one on one.process = sent.process join processes as other on other.process = received.process
        group by 1, 2, 3, 4
    """),
    "wrong": ask("""
        select wait, waits.time, sum(wait_causes.time) from waits left join wait_causes using (wait)
        group by wait having abs(waits.time - ifnull(sum(wait_causes.time), 0)) > 1e-6 * waits.time
    """),
    "waiting": ask("select waiting, (select sum(time) from waits) from run"),
}))
"#;
    let mut python = limited("python3");
    let outcome = Outcome::of(python.args(["-c", program]).current_dir(folder.path()));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let counted: BTreeMap<String, u64> = counters(&folder.path().join("calls.json"))
        .into_iter()
        .filter(|(_, calls)| *calls > 0)
        .collect();
    assert_eq!(found["calls"], serde_json::json!(counted));
    let trace = json(folder.path());
    let messages = sent(&trace);
    let messages: Vec<_> = messages
        .iter()
        .map(|([from, to, tag, bytes], count)| serde_json::json!([from, to, tag, bytes, count]))
        .collect();
    assert_eq!(found["messages"], Value::Array(messages));
    assert_eq!(found["wrong"], serde_json::json!([]));
    let waiting = &trace["causes"]["waiting"];
    assert_eq!(found["waiting"], serde_json::json!([[waiting, waiting]]));
    let without_a_file = mpi_tool(folder.path(), &["trace", "run", "--to", "sqlite"]);
    assert_eq!(without_a_file.status, Some(2), "{without_a_file:?}");
}

/// The functions that a trace has, and its ranks.
fn functions(folder: &Path) -> (BTreeMap<String, usize>, BTreeSet<String>) {
    let (mut functions, mut ranks) = (BTreeMap::new(), BTreeSet::new());
    for call in calls(folder) {
        *functions.entry(call["function"].clone()).or_default() += 1;
        ranks.insert(call["rank"].clone());
    }
    (functions, ranks)
}

/// Only what was chosen is recorded, and the trace says so.
#[test]
fn chosen_functions_and_ranks_are_recorded() {
    let run = |settings: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        let settings: Vec<_> = settings
            .iter()
            .map(|(name, value)| (format!("MPI_TOOL_MPI_TRACE_{name}"), OsStr::new(*value)))
            .collect();
        let outcome = traced_with(&folder, 2, &["mpi_trace"], &["random", "3", "1"], &settings);
        (folder, outcome)
    };
    let (folder, _) = run(&[]);
    let (all, _) = functions(folder.path());

    let (folder, _) =
        run(&[("FUNCTIONS", "MPI_Is*, MPI_Mprobe,Collective"), ("LEAST", "60000000")]);
    let (chosen, ranks) = functions(folder.path());
    let expected: BTreeMap<String, usize> = all
        .iter()
        .filter(|(name, _)| {
            name.starts_with("MPI_Is") || ["MPI_Mprobe", "MPI_Barrier"].contains(&name.as_str())
        })
        .map(|(name, count)| (name.clone(), *count))
        .collect();
    assert_eq!(chosen, expected);
    assert_eq!(ranks.len(), 2);
    let text = printed(folder.path(), &[]);
    let said = "left out, as mpi-trace was told: all functions but chosen ones, short calls that moved no data";
    assert!(text.contains(said), "{text}");
    assert_eq!(json(folder.path())["summary"]["left_out"].as_array().unwrap().len(), 2);

    // Calls that have moved data are there, however short they are, and others are not: all messages are paired.
    let (folder, _) = run(&[("LEAST", "60000000")]);
    let (long, _) = functions(folder.path());
    assert!(!long.contains_key("MPI_Comm_rank") && all.contains_key("MPI_Comm_rank"), "{long:?}");
    for function in
        ["MPI_Isend", "MPI_Issend", "MPI_Recv", "MPI_Mprobe", "MPI_Barrier", "MPI_Start"]
    {
        assert_eq!(long.get(function), all.get(function), "{function}");
    }
    let trace = json(folder.path());
    assert_eq!(trace["summary"]["sends_without_receive"], 0);
    assert_eq!(trace["summary"]["receives_without_send"], 0);

    let (folder, _) = run(&[("RANKS", "1,5-7")]);
    assert_eq!(functions(folder.path()).1, BTreeSet::from(["1".to_owned()]));
    assert_eq!(fs::read_dir(folder.path().join("run")).unwrap().count(), 1);

    // What cannot be understood is said once, and nothing is left out.
    let (folder, outcome) = run(&[("FUNCTIONS", "MPI_Sent"), ("RANKS", "all")]);
    assert_eq!(functions(folder.path()).0, all);
    for said in ["\"MPI_Sent\" is no function", "\"all\" is neither a rank nor a range"] {
        assert_eq!(outcome.stderr.matches(said).count(), 1, "{outcome:?}");
    }
}

/// A profile's report tells of the trace in its folder, or of the one that is named.
#[test]
fn a_report_tells_of_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let output = ("MPI_TOOL_MPI_PROFILE_OUTPUT".to_owned(), OsStr::new("run/profile.json"));
    fs::create_dir(folder.path().join("run")).unwrap();
    traced_with(&folder, 2, &["mpi_trace", "mpi_profile"], &["late"], &[output]);
    let report = |arguments: &[&str]| {
        let arguments: Vec<_> = ["report"].iter().chain(arguments).copied().collect();
        let outcome = mpi_tool(folder.path(), &arguments);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        outcome.stdout
    };
    let beside = report(&["run/profile.json"]);
    assert_eq!(report(&["run"]), beside);
    fs::rename(folder.path().join("run/profile.json"), folder.path().join("alone.json")).unwrap();
    let alone = report(&["alone.json"]);
    let named = report(&["alone.json", "--trace", "run"]);
    assert_eq!(beside, named);
    let told = named.strip_prefix(&alone).unwrap();
    assert!(told.starts_with("by the trace in run, ranks wait for others in 1."), "{told}");
    // On a busy machine, ranks wait for each other elsewhere, too.
    for (what, whom) in [
        ("  late sender    MPI_Recv, ", "% of it for rank 0"),
        ("  late receiver  MPI_Ssend, ", "% of it for rank 1"),
        ("  collective     MPI_Allreduce, ", "% of it for rank 0"),
        ("critical path: computing ", "%"),
        // The tree, as `mpi-tool trace` prints it.
        ("      serialization efficiency ", " %"),
        ("      transfer efficiency ", " %"),
    ] {
        let is_told = told.lines().any(|line| line.contains(what) && line.contains(whom));
        assert!(is_told, "{what}{whom}: {told}");
    }
    let wrong = mpi_tool(folder.path(), &["report", "alone.json", "--trace", "run", "--to", "csv"]);
    assert_eq!(wrong.status, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("--trace adds to the text only"), "{wrong:?}");
}
