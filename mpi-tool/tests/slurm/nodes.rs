//! Where ranks of other nodes are, and what is not seen of them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cluster::{batch, is_left_out, mpi_tool_run, on_cluster, srun};
use crate::common::{Outcome, abi, compile, expect_one_world, mpi_name, setting, text, tool};

fn expect_innocent(outcome: &Outcome) {
    assert_eq!((outcome.status, &*outcome.stdout), (Some(0), "busy: right\n"), "{outcome:?}");
    for accusation in ["mpi-tool: no rank has made", "Deadlock", "ending the launcher"] {
        assert!(!outcome.stderr.contains(accusation), "{outcome:?}");
    }
}

/// Rank 3 works on another node, which cannot be seen from where the job is watched: nothing is said of all ranks, and nothing
/// is ended. Which rank is not seen is said in one line, with what to do.
#[test]
fn ranks_of_other_nodes_are_not_forgotten() {
    if is_left_out("ranks_of_other_nodes_are_not_forgotten") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = mpi_tool_run("--hang-after 2s --kill");
    let busy = compile("busy");
    let outcome = batch(folder.path(), 2, 4, &format!("{run} {} {} 8", srun(), text(&busy)));
    expect_innocent(&outcome);
    let said = "rank 3 of 4 is not seen: the ranks are on several hosts, and the run folder has files of n1 only: set \
                MPI_TOOL_RUN to a folder that all ranks and this command see";
    assert!(outcome.stderr.contains(said), "{outcome:?}");
    assert!(!outcome.stderr.contains("has not started MPI"), "{outcome:?}");

    // With such a folder, all are seen: nothing is said of who works, and who hangs is ended.
    let run = format!("MPI_TOOL_RUN=$PWD/run {run} {} {}", srun(), text(&busy));
    let outcome = batch(folder.path(), 2, 4, &format!("{run} 5"));
    expect_innocent(&outcome);
    assert!(!outcome.stderr.contains("mpi-tool: "), "{outcome:?}");
    let outcome = batch(folder.path(), 2, 4, &format!("{run} 0 stuck"));
    assert_eq!(outcome.status, Some(124), "{outcome:?}");
    assert!(
        outcome.stderr.contains("mpi-tool: no rank has made an MPI call for 2 s"),
        "{outcome:?}"
    );
}

/// From a login node no rank is seen: that is said at once, and nothing else is.
#[test]
fn a_login_node_sees_nobody() {
    if is_left_out("a_login_node_sees_nobody") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = mpi_tool_run("--hang-after 2s --kill");
    let busy = compile("busy");
    let outcome =
        on_cluster(folder.path(), 2, &format!("{run} {} -N2 -n4 {} 6", srun(), text(&busy)));
    expect_innocent(&outcome);
    let said = "mpi-watch: rank 0, on n1, is not seen by mpi-tool run";
    assert_eq!(outcome.stderr.matches(said).count(), 1, "{outcome:?}");
    assert!(outcome.stderr.contains("set MPI_TOOL_RUN to a folder"), "{outcome:?}");
}

/// The ranks of two nodes are one world in a trace, in one folder, and all messages between them are paired.
#[test]
fn a_trace_of_several_nodes_is_one_world() {
    if is_left_out("a_trace_of_several_nodes_is_one_world") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compile("hosts");
    let trace =
        format!("{} trace mpi-trace-* --to json > trace.json", env!("CARGO_BIN_EXE_mpi-tool"));
    let preload = format!("env LD_PRELOAD={}", text(&tool("mpi_trace")));
    for run in [mpi_tool_run("--tool mpi-trace"), String::new()] {
        let by_hand = if run.is_empty() { &*preload } else { "" };
        let line =
            format!("rm -rf mpi-trace-*; {run} {} {by_hand} {} && {trace}", srun(), text(&program));
        let outcome = batch(folder.path(), 2, 4, &line);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        expect_one_world(folder.path(), 4, 2);
    }
}

/// With a wrong `--mpi`, each task is a world of its own: that is said once, with what to try, and no report comes with each.
#[test]
fn a_wrong_way_to_start_is_told_once() {
    let test = "a_wrong_way_to_start_is_told_once";
    if is_left_out(test) {
        return;
    }
    let wrong = match mpi_name().as_str() {
        "mpich-debian" => "srun --mpi=pmix",
        name if name.starts_with("openmpi") => "srun --mpi=pmi2",
        // It ends with an error.
        _ => {
            return eprintln!("left out: {test}: this MPI does not start without its own PMI");
        }
    };
    let program = compile("calls");
    for name in ["mpi-check", "mpi-watch", "mpi-trace"] {
        let folder = tempfile::tempdir().unwrap();
        let run = mpi_tool_run(&format!("--tool {name}"));
        let outcome =
            on_cluster(folder.path(), 1, &format!("{run} {wrong} -n4 {}", text(&program)));
        let said = format!(
            "{name}: MPI knows of this process only, but its launcher says rank 0 of 4 (SLURM_PROCID): does srun's --mpi fit"
        );
        assert_eq!(outcome.stderr.matches(&said).count(), 1, "{outcome:?}");
        assert!(outcome.stderr.matches("nothing was found").count() <= 1, "{outcome:?}");
    }
}

/// In an allocation, it is tried which of srun's `--mpi` makes ranks of one world.
#[test]
fn doctor_says_how_srun_starts_this_mpi() {
    let test = "doctor_says_how_srun_starts_this_mpi";
    if is_left_out(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let doctor = env!("CARGO_BIN_EXE_mpi-tool");
    let launcher = setting("MPIEXEC");
    let bin = Path::new(&launcher).parent().unwrap();
    let command = format!("PATH={}:$PATH {doctor} doctor --json > doctor.json; true", text(bin));
    let outcome = batch(folder.path(), 2, 2, &command);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let said = fs::read_to_string(folder.path().join("doctor.json")).unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    let (fits, fails) = if abi() == "openmpi" { ("pmix", "pmi2") } else { ("pmi2", "pmix") };
    let has = |list: &Value, kind: &str| list.as_array().unwrap().iter().any(|one| one == kind);
    let own = |mpi: &&Value| mpi["launcher"] == *launcher.to_str().unwrap();
    let mut mpis = said["mpis"].as_array().unwrap().iter().filter(own).peekable();
    assert!(mpis.peek().is_some(), "{said:#}");
    for mpi in mpis {
        assert!(has(&mpi["srun"]["fits"], fits) && !has(&mpi["srun"]["fits"], fails), "{mpi:#}");
        assert!(has(&mpi["srun"]["fails"], fails), "{mpi:#}");
    }
}
