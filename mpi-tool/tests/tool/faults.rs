//! `mpi-watch` and `mpi-tool hang`: what they say of each fault of `hang.c`, compared with what they say when all is killed
//! and with what a debugger sees. And programs that leave calls by a jump or call MPI from inside of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{limited, text, write_program};
use crate::hang::{Job, LIMIT, culprits, hang, line_of, named, program, verdict};

/// A fault of `hang.c`, which stays as it is.
pub(crate) struct Fault {
    pub(crate) ranks: u32,
    pub(crate) what: &'static str,
    pub(crate) verdict: &'static str,
}

impl Fault {
    /// Does this MPI have what is wrong?
    pub(crate) fn is_possible(&self) -> bool {
        !["persistent", "no part"].contains(&self.what) || has_persistent_collectives()
    }

    /// The program's arguments.
    pub(crate) fn arguments(&self, folder: &Path) -> Vec<String> {
        let file = folder.join(self.what.replace(' ', "-"));
        if self.what == "spawn" {
            // What it starts never calls MPI_Init.
            write_program(&file, "#!/bin/sh\nexec sleep 100\n");
        }
        let mut arguments = vec![self.what.to_owned()];
        if ["spawn", "file lock"].contains(&self.what) {
            arguments.push(text(&file).to_owned());
        }
        arguments
    }
}

/// Each fault is a test of each question.
macro_rules! faults {
    ($($name:ident $ranks:literal $what:literal $verdict:literal,)*) => {
        faults! { @ the_same_is_told_after_a_kill $($name $ranks $what $verdict,)* }
        faults! { @ gdb_sees_the_same $($name $ranks $what $verdict,)* }
    };
    (@ $question:ident $($name:ident $ranks:literal $what:literal $verdict:literal,)*) => {
        mod $question {
            use super::Fault;

            $(#[test]
            fn $name() {
                let fault = Fault { ranks: $ranks, what: $what, verdict: $verdict };
                if fault.is_possible() {
                    super::$question(&fault);
                }
            })*
        }
    };
}

faults! {
    receive_cycle 3 "receive cycle" "deadlock",
    missing_collective 3 "missing collective" "deadlock",
    other_order 3 "other order" "deadlock",
    other_function 3 "other function" "deadlock",
    wrong_tag 2 "wrong tag" "deadlock",
    wrong_communicator 2 "wrong communicator" "deadlock",
    request 2 "request" "deadlock",
    small_sends 3 "small sends" "deadlock",
    window_lock 3 "window lock" "deadlock",
    create_group 3 "create group" "deadlock",
    no_leader 3 "no leader" "deadlock",
    no_member 3 "no member" "deadlock",
    endless_loop 3 "endless loop" "waiting",
    stopped 3 "stopped" "waiting",
    file_lock 2 "file lock" "waiting",
    spawn 1 "spawn" "waiting",
    persistent 3 "persistent" "deadlock",
    no_part 2 "no part" "deadlock",
}

/// Does this MPI have them?
fn has_persistent_collectives() -> bool {
    limited(program()).arg("has persistent").status().expect("the program starts").success()
}

/// Starts a fault, and gives what is said of it when all ranks stand.
fn standing(ranks: u32, arguments: &[String], kind: &str) -> (Job, Value) {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut job = Job::start(ranks, &arguments);
    let answer = job.until(arguments[0], |answer| {
        let ranks_are = answer["ranks"].as_array().unwrap();
        verdict(answer) == kind
            && (kind != "deadlock" || answer["worlds"][0]["certain"] == true)
            && ranks_are.len() == ranks as usize
            && ranks_are.iter().all(|rank| rank["moved"] == 0)
            && !culprits(answer).is_empty()
    });
    (job, answer)
}

/// Of each rank: function, lines, peers and the like.
fn ranks(answer: &Value) -> Vec<Value> {
    let ranks = answer["ranks"].as_array().unwrap().iter();
    let told =
        ["rank", "function", "site", "peers", "tag", "communicator", "number", "pending", "calls"];
    ranks.map(|rank| told.iter().map(|name| rank[name].clone()).collect()).collect()
}

/// The same of a fault before and after `kill -9` of all ranks and of the launcher: which ranks are named, and what each does.
fn the_same_is_told_after_a_kill(fault: &Fault) {
    let folder = tempfile::tempdir().unwrap();
    let (arguments, kind) = (fault.arguments(folder.path()), fault.verdict);
    let (mut job, alive) = standing(fault.ranks, &arguments, kind);
    job.kill();
    let begin = Instant::now();
    let dead = loop {
        let dead = hang(folder.path(), text(&job.run_folder())).unwrap();
        if dead["worlds"][0]["alive"] == false || begin.elapsed() > LIMIT {
            break dead;
        }
        sleep(Duration::from_millis(50));
    };
    assert_eq!(dead["worlds"][0]["alive"], false, "{arguments:?}");
    assert_eq!(verdict(&dead), kind, "{arguments:?}: {dead:#}");
    assert_eq!(ranks(&dead), ranks(&alive), "{arguments:?}");
    // What a process did outside of MPI ends with it.
    let told = |answer: &Value| -> BTreeSet<_> {
        let outside = ["stopped", "computing", "sleeping outside of MPI"];
        let all = culprits(answer).into_iter().map(|(rank, function, line, why)| {
            let why = if outside.contains(&&*why) { "outside of MPI".to_owned() } else { why };
            (rank, function, line, why)
        });
        all.collect()
    };
    assert_eq!(told(&dead), told(&alive), "{arguments:?}");
}

/// A frame of a debugger's: the function, and the line if it is of `hang.c`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) function: String,
    pub(crate) line: Option<u64>,
}

/// The stack of a process's main thread, by gdb.
pub(crate) fn frames(process: u64) -> Vec<Frame> {
    let mut gdb = limited("gdb");
    gdb.args(["-nx", "-batch", "-ex", "set width 0", "-ex", "bt", "-p"]).arg(process.to_string());
    gdb.env("DEBUGINFOD_URLS", "").env_remove("LD_PRELOAD");
    let output = gdb.output().expect("gdb starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let frames: Vec<_> = said.lines().filter_map(frame).collect();
    assert!(!frames.is_empty(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    frames
}

/// `#3  0x0000 in receive_cycle () at /a/hang.c:28`
fn frame(line: &str) -> Option<Frame> {
    let (_, rest) = line.strip_prefix('#')?.split_once(' ')?;
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix("0x") {
        Some(rest) => rest.split_once(" in ")?.1,
        None => rest,
    };
    let (function, place) = rest.split_once(" (")?;
    let line = place.rsplit_once("hang.c:").and_then(|(_, line)| line.trim().parse().ok());
    Some(Frame { function: function.to_owned(), line })
}

#[test]
fn frames_of_a_debugger_are_understood() {
    let read = |text| frame(text).map(|frame| (frame.function, frame.line));
    let call = "#3  0x00007f in receive_cycle () at /a b/hang.c:28";
    assert_eq!(read(call), Some(("receive_cycle".to_owned(), Some(28))));
    let library = "#0  0x00007f in PMPI_Recv () from /lib/libmpi.so.12";
    assert_eq!(read(library), Some(("PMPI_Recv".to_owned(), None)));
    assert_eq!(read("#1  compute () at hang.c:23"), Some(("compute".to_owned(), Some(23))));
    assert_eq!(read("[Thread debugging using libthread_db enabled]"), None);
}

/// The last part of a function's name: of `a::b::waitall::h422743167ee56921` and `<a::Layer>::waitall`, as symbol tables
/// have it, and of `waitall<a::Layer>`, as debugging information has it.
fn own_name(name: &str) -> &str {
    let method = name.strip_prefix('<').and_then(|rest| rest.rsplit_once(">::"));
    let name = method.map_or(name, |(_, method)| method);
    let name = name.split('<').next().unwrap_or(name).trim_end_matches("::");
    let is_hash = |part: &str| {
        part.len() == 17
            && part.starts_with('h')
            && part[1..].bytes().all(|b| b.is_ascii_hexdigit())
    };
    name.rsplit("::").find(|part| !is_hash(part)).unwrap_or(name)
}

#[test]
fn names_of_functions_are_understood() {
    assert_eq!(own_name("a::b::waitall::h422743167ee56921"), "waitall");
    assert_eq!(own_name("waitall<a::Layer>"), "waitall");
    assert_eq!(
        own_name("a[1e0f9f660a26a528]::level::waitall::<b[b19b90abcaf0191d]::Watch>"),
        "waitall"
    );
    assert_eq!(own_name("<a[b19b90abcaf0191d]::_::Here>::waitall"), "waitall");
    assert_eq!(own_name("PMPI_Recv"), "PMPI_Recv");
}

/// The frames of a rank's call site that are in `hang.c`.
pub(crate) fn frames_of_site(rank: &Value) -> Vec<Frame> {
    let site = rank["site"].as_array().unwrap().iter();
    let is_ours =
        |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with("hang.c"));
    site.filter(is_ours)
        .map(|frame| Frame {
            function: frame["function"].as_str().unwrap().to_owned(),
            line: frame["line"].as_u64(),
        })
        .collect()
}

/// What a debugger sees of each rank is what is told of it: in which function of MPI it is, and by which lines it has come
/// there; or that it is in none. `cargo xtask test` leaves tests of this name out where no debugger can look.
fn gdb_sees_the_same(fault: &Fault) {
    let folder = tempfile::tempdir().unwrap();
    let arguments = fault.arguments(folder.path());
    let (_job, answer) = standing(fault.ranks, &arguments, fault.verdict);
    for rank in answer["ranks"].as_array().unwrap() {
        let seen = frames(rank["pid"].as_u64().unwrap());
        let function = rank["function"].as_str().unwrap();
        let (own, of_mpi): (Vec<_>, Vec<_>) =
            seen.into_iter().partition(|frame| frame.line.is_some());
        // MPI's name for it, or the tool's.
        let of_tool = function.trim_start_matches("MPI_").to_lowercase();
        let is_call = |name: &str| {
            let name = own_name(name);
            name.trim_start_matches('P') == function || name == of_tool
        };
        let is_in_it = of_mpi.iter().any(|frame| is_call(&frame.function));
        let what = format!("{arguments:?}: {rank:#}, {own:?}, {of_mpi:?}");
        if rank["inside"] == true {
            assert!(is_in_it, "{what}");
            assert_eq!(frames_of_site(rank), own, "{what}");
        } else {
            assert!(!of_mpi.iter().any(|frame| frame.function.contains("MPI_")), "{what}");
        }
    }
}

/// A debugger has stopped one rank: it is named, and the others are not stuck. `cargo xtask test` leaves tests of this name out
/// where no debugger can look.
#[test]
fn gdb_stops_a_rank_and_nobody_is_accused() {
    let (job, answer) = named(
        3,
        &["traced"],
        "waiting",
        &[(1, "MPI_Barrier", "before the debugger", "stopped by a debugger")],
    );
    let said = answer["worlds"][0]["text"].to_string();
    assert!(said.contains("stopped by a debugger"), "{said}");
    drop(job);
}

/// A debugger's way leads through the exported functions of the tool that note messages themselves.
#[test]
fn gdb_sees_who_has_called_without_call_sites() {
    let settings = [("MPI_TOOL_MPI_WATCH_DEPTH", "0")];
    for (what, comments) in
        [("receive cycle", ["cycle", "cycle"]), ("wrong tag", ["tag 5", "tag 6"])]
    {
        let mut job = Job::with(&program(), 2, &[what], true, &settings);
        let answer = job.until(what, |answer| verdict(answer) == "deadlock");
        for (rank, comment) in answer["ranks"].as_array().unwrap().iter().zip(comments) {
            let seen = frames(rank["pid"].as_u64().unwrap());
            let own = seen.iter().find(|frame| frame.line.is_some());
            assert_eq!(own.unwrap().line, Some(line_of(comment)), "{seen:?}");
        }
    }
}

/// The operation is named by who has made it, at the line of the wait.
#[test]
fn a_persistent_collective_that_is_not_started_is_named() {
    if !has_persistent_collectives() {
        return;
    }
    let (_job, answer) = named(
        3,
        &["persistent"],
        "deadlock",
        &[
            (0, "MPI_Wait", "waits for the start", "cycle"),
            (1, "MPI_Recv", "does not start", "cycle"),
        ],
    );
    let waits = answer["worlds"][0]["waits"].as_array().unwrap();
    let to: BTreeSet<_> =
        waits.iter().filter(|wait| wait["from"] != 1).map(|wait| wait["to"].as_u64()).collect();
    assert_eq!(to, BTreeSet::from([Some(1)]), "{answer:#}");
    let said = answer["worlds"][0]["text"].to_string();
    let start = "waits for rank 1 to start what MPI_Allreduce_init #1 has made for the 2. time";
    assert!(said.contains(start), "{said}");
}

/// Of those who make a communicator together, the one that does not come is named.
#[test]
fn who_does_not_make_a_communicator_of_some_is_named() {
    let waits = (0, "MPI_Comm_create_group", "makes a pair", "cycle");
    let missing = (1, "MPI_Recv", "makes no pair", "cycle");
    let (_job, answer) = named(3, &["create group"], "deadlock", &[waits, missing]);
    let said = answer["worlds"][0]["text"].to_string();
    let wait = "waits for rank 1 to come to MPI_Comm_create_group #2";
    assert!(said.contains(wait), "{said}");
}

/// Between two groups it is the other leader, or one of the own group.
#[test]
fn who_makes_no_communicator_between_two_groups_is_named() {
    let waits = (0, "MPI_Intercomm_create", "between two", "cycle");
    for (what, who) in [("no leader", 2), ("no member", 1)] {
        let missing = (who, "MPI_Recv", "makes nothing between", "cycle");
        let (_job, answer) = named(3, &[what], "deadlock", &[waits, missing]);
        let said = answer["worlds"][0]["text"].to_string();
        let wait = format!("waits for rank {who} to come to MPI_Intercomm_create #1");
        assert!(said.contains(&wait), "{said}");
    }
}

/// Who keeps a part of a message is named, and who does not take it.
#[test]
fn parts_of_messages_that_are_not_ready_are_named() {
    if !has_persistent_collectives() {
        return;
    }
    let waits = (1, "MPI_Wait", "waits for all parts", "cycle");
    let keeps = (0, "MPI_Recv", "keeps a part", "cycle");
    let (_job, answer) = named(2, &["no part"], "deadlock", &[waits, keeps]);
    let said = answer["worlds"][0]["text"].to_string();
    assert!(said.contains("to make all parts of its message ready (MPI_Pready)"), "{said}");
    let waits = (0, "MPI_Wait", "waits for who takes the parts", "cycle");
    let takes_none = (1, "MPI_Recv", "takes no parts", "cycle");
    // Open MPI's may be on its way all the same.
    if crate::common::abi() != "openmpi" {
        named(2, &["no parts"], "deadlock", &[waits, takes_none]);
    }
}

/// Sends that are complete at once, to which MPICH and Open MPI give one request handle, are not what a rank waits for.
#[test]
fn sends_that_are_complete_are_not_waited_for() {
    let missing = (1, "MPI_Barrier", "no message", "cycle");
    let waits = (0, "MPI_Waitall", "waits for all", "cycle");
    let (_job, answer) = named(3, &["small sends"], "deadlock", &[waits, missing]);
    assert_eq!(answer["ranks"][0]["pending"].as_array().unwrap().len(), 1, "{answer:#}");
}

/// A rank that has left a call by a jump, and calls MPI from deeper in the stack, makes calls. It is not accused of standing
/// in the call that it has left.
#[test]
fn a_rank_that_has_jumped_out_of_a_call_is_not_accused() {
    for depth in ["4", "0"] {
        let settings = [("MPI_TOOL_MPI_WATCH_DEPTH", depth)];
        let mut job = Job::with(&program(), 3, &["jumped"], true, &settings);
        let is_there = |answer: &Value| {
            let ranks = answer["ranks"].as_array().unwrap();
            let stands = |rank: &Value, function| {
                rank["function"] == function && rank["inside"] == true && rank["moved"] == 0
            };
            ranks.len() == 3
                && stands(&ranks[0], "MPI_Recv")
                && ranks[1]["moved"].as_u64() > Some(0)
                && stands(&ranks[2], "MPI_Barrier")
        };
        let answer = job.until("jumped", is_there);
        assert_eq!(
            (verdict(&answer), culprits(&answer)),
            ("waiting", BTreeSet::new()),
            "{answer:#}"
        );
    }
}

/// A rank in `MPI_Finalize` may still work there, if `MPI_COMM_SELF` has an attribute.
#[test]
fn a_callback_in_finalize_is_not_accused() {
    let works = [(1, "MPI_Finalize", "works in finalize", "in a call")];
    named(2, &["last callback"], "waiting", &works);
}
