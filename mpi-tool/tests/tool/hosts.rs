//! Several hosts, which are network namespaces of this machine (`hosts.sh`): the launcher starts ranks
//! there by its own remote agent, which takes nothing of the environment along.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{
    Outcome, abi, compile, compile_with, counters, limited, mpi_name, setting, text, tool,
};

const RANKS: u64 = 4;

/// What `hosts.c` calls.
fn calls() -> Vec<(String, u64)> {
    [
        ("MPI_Comm_rank", RANKS),
        ("MPI_Comm_size", RANKS),
        ("MPI_Finalize", RANKS),
        ("MPI_Get_processor_name", RANKS),
        ("MPI_Init", RANKS),
        ("MPI_Recv", 5 * RANKS),
        ("MPI_Send", 5 * RANKS),
    ]
    .map(|(name, calls)| (name.to_owned(), calls))
    .into()
}

/// The launcher's words for so many hosts, in the language of a shell that knows `$AGENT`.
fn on_hosts(hosts: u64) -> String {
    let names = |slots: &str| -> String {
        let names: Vec<_> = (1..=hosts).map(|host| format!("host{host}{slots}")).collect();
        names.join(",")
    };
    let mpiexec = setting("MPIEXEC").into_string().unwrap();
    if abi() == "openmpi" {
        let policy = "--map-by node:oversubscribe --prtemca plm_ssh_agent";
        format!("{mpiexec} {policy} \"$AGENT\" --host {} -n {RANKS}", names(":4"))
    } else {
        // Debian's launcher has these names, too.
        let agent = "-launcher ssh -launcher-exec \"$AGENT\"";
        format!("{mpiexec} {agent} -hosts {} -n {RANKS}", names(""))
    }
}

/// Runs a shell's command on the first of some hosts.
fn run(folder: &Path, hosts: u64, command: &str, variables: &[(&str, &str)]) -> Outcome {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts.sh");
    let mut libraries = String::new();
    if let Ok(folders) = env::var("LD_LIBRARY_PATH") {
        libraries = format!("LD_LIBRARY_PATH={folders}");
    }
    Outcome::of(
        limited(script)
            .arg(hosts.to_string())
            .args(["sh", "-c", command])
            .current_dir(folder)
            .env("LOGIN", libraries)
            .env("MPI_TOOL_PATH", setting("MPI_TOOLS"))
            .envs(variables.iter().copied()),
    )
}

/// All ranks ran, on all hosts.
fn expect_everywhere(outcome: &Outcome, hosts: u64) {
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let mut ranks = BTreeSet::new();
    let mut places = BTreeSet::new();
    for line in outcome.stdout.lines() {
        // "rank 3 of 4 is on host2"
        let words: Vec<_> = line.split(' ').collect();
        assert_eq!(words.len(), 7, "{outcome:?}");
        ranks.insert(words[1]);
        places.insert(words[6]);
    }
    assert_eq!((ranks.len() as u64, places.len() as u64), (RANKS, hosts), "{outcome:?}");
}

fn mpi_tool_run() -> String {
    format!("{} run", env!("CARGO_BIN_EXE_mpi-tool"))
}

fn program() -> PathBuf {
    compile("hosts")
}

fn reports(folder: &TempDir) -> usize {
    fs::read_dir(folder.path()).unwrap().count()
}

/// `mpi-tool run` brings tools and settings to the ranks of all hosts, whose reports are one.
#[test]
fn mpi_tool_reaches_all_hosts() {
    for hosts in [2, 3] {
        for more in ["", "--qmpi"] {
            let folder = tempfile::tempdir().unwrap();
            let command = format!(
                "{} -tcall-counter -tbandwidth-counter -fjson -o%t.json {more} -- {} {}",
                mpi_tool_run(),
                on_hosts(hosts),
                text(&program())
            );
            let outcome = run(folder.path(), hosts, &command, &[]);
            expect_everywhere(&outcome, hosts);
            assert_eq!(outcome.said(), [""; 0]);
            assert_eq!(counters(&folder.path().join("call-counter.json")), calls());
            let bytes = counters(&folder.path().join("bandwidth-counter.json"));
            // Integers, counted in elements and in bytes.
            for flow in ["sent", "received"] {
                for total in [5 * RANKS, 4 * 5 * RANKS] {
                    assert!(bytes.contains(&(format!("{flow} MPI_INT"), total)), "{bytes:?}");
                }
            }
            assert_eq!(reports(&folder), 2);
        }
    }
}

/// What the user has set arrives as well: each rank reports for itself, to the place that was said.
#[test]
fn settings_reach_all_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let command =
        format!("{} -tcall-counter -- {} {}", mpi_tool_run(), on_hosts(2), text(&program()));
    let output = folder.path().join("own.json");
    let settings =
        [("MPI_TOOL_MERGE", "0"), ("MPI_TOOL_OUTPUT", text(&output)), ("MPI_TOOL_FORMAT", "json")];
    let outcome = run(folder.path(), 2, &command, &settings);
    expect_everywhere(&outcome, 2);
    for rank in 0..RANKS {
        let counted = counters(&folder.path().join(format!("own.json.rank{rank}")));
        assert!(counted.contains(&("MPI_Recv".to_owned(), 5)), "{counted:?}");
    }
    assert_eq!(reports(&folder), 4);
}

/// By hand: with the launcher's option for the environment, and with nothing but a preload in front of
/// the launcher, which Open MPI itself would not pass on to other hosts.
#[test]
fn preloads_by_hand_reach_all_hosts() {
    let library = tool("call_counter");
    let library = text(&library);
    let by_option = if abi() == "openmpi" {
        format!("-x LD_PRELOAD={library} -x MPI_TOOL_FORMAT=json -x MPI_TOOL_OUTPUT=r.json")
    } else {
        format!(
            "-genv LD_PRELOAD {library} -genv MPI_TOOL_FORMAT json -genv MPI_TOOL_OUTPUT r.json"
        )
    };
    let in_environment =
        format!("LD_PRELOAD={library} MPI_TOOL_FORMAT=json MPI_TOOL_OUTPUT=r.json ");
    for hosts in [2, 3] {
        for (variables, option) in [("", by_option.as_str()), (&in_environment, "")] {
            let folder = tempfile::tempdir().unwrap();
            let command = format!("{variables} {} {option} {}", on_hosts(hosts), text(&program()));
            let outcome = run(folder.path(), hosts, &command, &[]);
            expect_everywhere(&outcome, hosts);
            let report = folder.path().join("r.json");
            assert_eq!(counters(&report), calls(), "{command}: {outcome:?}");
            assert_eq!(reports(&folder), 1, "{command}");
        }
    }
    // Something else that the user has the launcher pass on stays with it.
    if mpi_name() == "openmpi-5.0.11" {
        let folder = tempfile::tempdir().unwrap();
        let list = "OMPI_MCA_mca_base_env_list=COLOUR=red";
        let command = format!(
            "{list} {in_environment} {} sh -c '[ \"$COLOUR\" = red ] && exec {}'",
            on_hosts(2),
            text(&program())
        );
        let outcome = run(folder.path(), 2, &command, &[]);
        expect_everywhere(&outcome, 2);
        assert_eq!(counters(&folder.path().join("r.json")), calls(), "{outcome:?}");
    }
}

/// Ranks of all hosts are one world of a trace, in one folder, though the launcher has a process of its own on each host.
#[test]
fn a_trace_of_several_hosts_is_one_world() {
    let by_hand = format!("LD_PRELOAD={}", text(&tool("mpi_trace")));
    for run_by in [format!("{} --tool mpi-trace --", mpi_tool_run()), by_hand] {
        let folder = tempfile::tempdir().unwrap();
        let command = format!(
            "{run_by} {} {} && {} trace mpi-trace-* --to json > trace.json",
            on_hosts(2),
            text(&program()),
            env!("CARGO_BIN_EXE_mpi-tool")
        );
        let outcome = run(folder.path(), 2, &command, &[]);
        expect_everywhere(&outcome, 2);
        crate::common::expect_one_world(folder.path(), RANKS, 2);
    }
}

/// Jobs that hang on two hosts are told alike while they run and after all their processes were killed at once: the
/// launcher, its proxies and all ranks.
#[test]
fn a_hang_on_two_hosts_is_told_before_and_after_the_end() {
    for (fault, kind) in [
        ("receive cycle", "deadlock"),
        ("missing collective", "deadlock"),
        ("wrong tag", "deadlock"),
        ("request", "deadlock"),
        ("endless loop", "waiting"),
    ] {
        is_told_alike(fault, kind);
    }
}

fn is_told_alike(fault: &str, kind: &str) {
    let folder = tempfile::tempdir().unwrap();
    let hang = format!("{} hang --json run", env!("CARGO_BIN_EXE_mpi-tool"));
    // All processes of these hosts but the shell that does this, which are the job's, and the hosts' own. They are
    // stopped, then killed with the ranks first: one that saw Open MPI's daemon die would leave its `MPI_Finalize` by
    // that, and Linux continues stopped processes whose parent dies.
    let job = "for one in /proc/[0-9]*; do read name <$one/comm; case $name in sleep|sh|hosts.sh) ;; *) echo ${one#/proc/}; \
               esac; done 2>/dev/null";
    let command = format!(
        "{} --tool mpi-watch -- {} {} '{fault}' >/dev/null 2>stderr &\n\
         until {hang} 2>/dev/null >before.json && grep -q '\"verdict\": \"{kind}\"' before.json \
               && grep -q '\"certain\": true' before.json \
               && [ $(grep -c '\"moved\": 0' before.json) = {RANKS} ]; do sleep 0.2; done\n\
         job=$({job} | sort -rn); kill -STOP $job; kill -KILL $job; wait\n\
         until [ -z \"$({job})\" ]; do sleep 0.1; done\n\
         {hang} >after.json",
        mpi_tool_run(),
        on_hosts(2),
        text(&crate::hang::program())
    );
    let run_folder = folder.path().join("run");
    let outcome = run(folder.path(), 2, &command, &[("MPI_TOOL_RUN", text(&run_folder))]);
    let read = |name: &str| -> Value {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {outcome:?}"))
    };
    let [before, after] = ["before.json", "after.json"].map(read);
    let hosts: BTreeSet<_> =
        before["ranks"].as_array().unwrap().iter().map(|rank| rank["host"].as_str()).collect();
    assert_eq!(hosts.len(), 2, "{before:#}");
    let told = |answer: &Value| -> Vec<Value> {
        let culprits = answer["culprits"].as_array().unwrap().iter();
        culprits
            .map(|culprit| {
                // Of another host, and of the dead, it is not known that they compute.
                let why = culprit["why"].as_str().unwrap();
                let why = if why == "computing" { "outside of MPI" } else { why };
                json!([culprit["rank"], culprit["function"], culprit["site"][0]["line"], why])
            })
            .collect()
    };
    let ranks = |answer: &Value| -> Vec<Value> {
        let ranks = answer["ranks"].as_array().unwrap().iter();
        let told = ["rank", "host", "pid", "function", "site", "peers", "tag", "number", "calls"];
        ranks.map(|rank| told.iter().map(|name| rank[name].clone()).collect()).collect()
    };
    assert!(!told(&before).is_empty(), "{fault}: {before:#}");
    assert_eq!(told(&before), told(&after), "{fault}: {after:#}");
    assert_eq!(ranks(&before), ranks(&after), "{fault}");
    assert_eq!(before["worlds"][0]["verdict"], after["worlds"][0]["verdict"], "{fault}");
    assert_eq!(before["worlds"][0]["alive"], true, "{fault}");
    assert_eq!(after["worlds"][0]["alive"], false, "{fault}");
}

/// Runs a program with mpi-check on two hosts: what was said, and the report of the first host.
fn checked(
    folder: &TempDir,
    program: &Path,
    arguments: &str,
    more: &[(&str, &str)],
) -> (Outcome, Option<Value>) {
    let command = format!(
        "{} --tool mpi-check -- {} {} {arguments}",
        mpi_tool_run(),
        on_hosts(2),
        text(program)
    );
    let path = folder.path().join("found.json");
    let settings = [("MPI_TOOL_OUTPUT", text(&path)), ("MPI_TOOL_FORMAT", "json")];
    let outcome = run(folder.path(), 2, &command, &[&settings, more].concat());
    let report = fs::read_to_string(&path).ok();
    (outcome, report.map(|report| serde_json::from_str(&report).unwrap()))
}

/// The findings of all hosts are one report, with all ranks of each.
#[test]
fn findings_of_all_hosts_are_one_report() {
    let program = compile_with(setting("MPICC"), "leaks", "leaks", &["-g"]);
    let expected = [("none", vec![]), ("1", vec![json!([1])]), ("all", vec![json!([0, 1, 2, 3])])];
    for (leaking, expected) in expected {
        let folder = tempfile::tempdir().unwrap();
        let (outcome, report) = checked(&folder, &program, leaking, &[]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        let report = report.unwrap();
        let ranks: Vec<_> =
            report["findings"].as_array().unwrap().iter().map(|it| it["ranks"].clone()).collect();
        assert_eq!(ranks, expected, "{report:#}");
        assert_eq!(report["partial"], false, "{report:#}");
        assert_eq!(reports(&folder), 1);
        // And so it is printed, once.
        let command = format!(
            "{} --tool mpi-check -- {} {} {leaking}",
            mpi_tool_run(),
            on_hosts(2),
            text(&program)
        );
        let outcome = run(folder.path(), 2, &command, &[("MPI_TOOL_MPI_CHECK_FAIL", "1")]);
        let heading = if leaking == "none" { "nothing was found" } else { "1 finding" };
        let heading = format!("mpi-check: {heading} (4 ranks)");
        assert_eq!(outcome.stderr.matches(&heading).count(), 1, "{outcome:?}");
        assert_eq!(outcome.status == Some(0), leaking == "none", "{outcome:?}");
    }
}

/// The line of `apart.c` with a comment.
fn line_of(comment: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/apart.c");
    let text = fs::read_to_string(source).unwrap();
    let at = text.lines().position(|line| line.ends_with(&format!("/* {comment} */"))).unwrap();
    format!("apart.c:{} main", at + 1)
}

/// What ranks of several hosts do together is compared as on one host, and the finding has the line and the ranks.
#[test]
fn what_ranks_of_two_hosts_do_together_is_compared() {
    let program = compile_with(setting("MPICC"), "apart", "apart", &["-g"]);
    let cases = [
        ("roots", "collective-mismatch", json!([2, 3])),
        ("functions", "collective-mismatch", json!([2, 3])),
        ("split", "collective-mismatch", json!([0, 1])),
        ("blocks", "collective-mismatch", json!([1, 2])),
        ("near", "collective-mismatch", json!([1, 3])),
        ("types", "datatype-mismatch", json!([0, 3])),
        ("long", "truncation", json!([1, 2])),
        ("lost", "lost-message", json!([3])),
        ("leak", "leak", json!([1])),
    ];
    for (name, class, ranks) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (outcome, report) = checked(&folder, &program, name, &[]);
        // Some stand, and are killed: then each host has the report that was written at once.
        let report = report.unwrap_or_else(|| panic!("{name}: {outcome:?}"));
        let is_named = report["findings"].as_array().unwrap().iter().any(|finding| {
            finding["class"] == class
                && finding["site"] == line_of(name).as_str()
                && finding["ranks"] == ranks
        });
        assert!(is_named, "{name}: {report:#}, {outcome:?}");
        let said = format!("mpi-check: {class} at {}", line_of(name));
        assert!(outcome.stderr.contains(&said), "{name}: {outcome:?}");
    }
}

/// With a run folder that the hosts have in common, ranks that wait for ever are told.
#[test]
fn deadlocks_of_two_hosts_are_told() {
    let program = compile_with(setting("MPICC"), "apart", "apart", &["-g"]);
    for (name, ranks) in [("cycle", json!([0, 1, 2, 3])), ("one", json!([0, 1, 2, 3]))] {
        let folder = tempfile::tempdir().unwrap();
        let run_folder = folder.path().join("run");
        let (outcome, report) =
            checked(&folder, &program, name, &[("MPI_TOOL_RUN", text(&run_folder))]);
        let report = report.unwrap_or_else(|| panic!("{name}: {outcome:?}"));
        let is_named = report["findings"].as_array().unwrap().iter().any(|finding| {
            finding["class"] == "deadlock"
                && finding["ranks"] == ranks
                && finding.to_string().contains(&line_of(name))
        });
        assert!(is_named, "{name}: {report:#}, {outcome:?}");
    }
}

/// Nothing is found in a right program on two hosts, whatever the thread level.
#[test]
fn nothing_is_found_in_a_right_program_on_two_hosts() {
    let program = compile_with(setting("MPICC"), "apart", "apart", &["-g"]);
    for arguments in ["right", "right threads"] {
        let folder = tempfile::tempdir().unwrap();
        let (outcome, report) = checked(&folder, &program, arguments, &[]);
        assert_eq!(outcome.status, Some(0), "{arguments}: {outcome:?}");
        let report = report.unwrap();
        assert_eq!(report["findings"], json!([]), "{arguments}: {report:#}");
        let limits = report["limits"].as_array().unwrap();
        assert!(
            limits.iter().all(|limit| !limit.as_str().unwrap().contains("not compared")),
            "{limits:?}"
        );
    }
}

/// Load balance within and between hosts, of each phase: the mean of the host that works longest over what the longest rank
/// works, and the mean of all over that mean.
#[test]
fn phases_have_load_balance_within_and_between_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let command = format!(
        "{} -tmpi-profile -fjson -oprofile.json -- {} {}",
        mpi_tool_run(),
        on_hosts(2),
        text(&compile("host_phases"))
    );
    let outcome = run(folder.path(), 2, &command, &[]);
    expect_everywhere(&outcome, 2);
    let report = fs::read_to_string(folder.path().join("profile.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let phases = report["phases"].as_array().unwrap();
    // Seconds: 0.4 and 0.2 on the first host, twice 0.2 on the second one; then twice 0.4 and twice 0.2.
    for (number, within, between) in [(2, 0.3 / 0.4, 0.25 / 0.3), (3, 1.0, 0.3 / 0.4)] {
        let phase = phases.iter().find(|phase| phase["phase"] == number).unwrap();
        let efficiency = &phase["efficiency"];
        for (name, expected) in [("within_hosts", within), ("between_hosts", between)] {
            let told = efficiency[name].as_f64().unwrap();
            // A busy machine wakes a rank late.
            assert!((told - expected).abs() < 0.08, "phase {number}, {name}: {phase:#}");
        }
        let [balance, within, between] = ["load_balance", "within_hosts", "between_hosts"]
            .map(|name| efficiency[name].as_f64().unwrap());
        assert!((balance - within * between).abs() < 1e-6, "phase {number}: {phase:#}");
    }
}
