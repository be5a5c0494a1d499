//! Applications run as without tools, and are counted.

use std::fs;
use std::path::Path;

use crate::common::{
    FINE, Outcome, abi, calls, compile, compile_plain, compile_with, counters, has_mpi4py,
    launcher, limited, mpi_name, mpi_tool, mpi_tool_command, run_two, setting, text, tool,
    universal, write_program,
};

#[test]
fn the_report_is_the_one_of_a_preload_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let [mpiexec, n, two] = launcher("2");
    let by_hand = Outcome::of(
        limited(&mpiexec)
            .args([&n, &two])
            .arg(&program)
            .current_dir(folder.path())
            .env("LD_PRELOAD", tool("call_counter"))
            .env("MPI_TOOL_FORMAT", "json")
            .env("MPI_TOOL_OUTPUT", folder.path().join("by-hand.json")),
    );
    let options = ["--tool", "call-counter", "--format", "json", "--output", "own.json"];
    let own = run_two(folder.path(), &options, &[text(&program)]);
    assert_eq!(own.status, Some(0), "{own:?}");
    assert_eq!(own.said(), [""; 0]);
    assert_eq!(own.lines(), FINE);
    assert_eq!((by_hand.status, by_hand.lines()), (own.status, own.lines()));
    let report = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(report("own.json"), report("by-hand.json"));
    assert_eq!(counters(&folder.path().join("own.json")), calls(2));
}

#[test]
fn two_tools_with_options_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    for qmpi in [&[][..], &["--qmpi"]] {
        let mut options = vec![
            "--tool",
            "call-counter:output=calls.json,format=json",
            "--tool=bandwidth_counter:output=bytes.csv",
            "--format=csv",
        ];
        options.extend(qmpi);
        let outcome = run_two(folder.path(), &options, &[text(&compile("calls"))]);
        assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
        assert_eq!(counters(&folder.path().join("calls.json")), calls(2));
        let bytes = fs::read_to_string(folder.path().join("bytes.csv")).unwrap();
        // Five integers, sent and received.
        for flow in ["sent", "received"] {
            let row = format!(",bytes,{flow} MPI_INT,point-to-point,20,");
            assert_eq!(bytes.matches(&row).count(), 1, "{bytes}");
        }
        for report in ["calls.json", "bytes.csv"] {
            fs::remove_file(folder.path().join(report)).unwrap();
        }
    }
}

/// mpi-check sees what mpi-strict adds only if it stands behind it.
#[test]
fn strict_comes_before_the_checker() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let said = |tools: [&str; 2]| {
        let options = ["--tool", tools[0], "--tool", tools[1], "--dry-run"];
        let outcome = run_two(folder.path(), &options, &[text(&program)]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        outcome.stderr.contains("name --tool mpi-strict first")
    };
    assert!(said(["mpi-check", "mpi-strict"]));
    assert!(!said(["mpi-strict", "mpi-check"]));
}

#[test]
fn a_stack_has_several_levels_of_a_tool() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-tcall-counter", "-tcall-counter", "--qmpi", "-fjson", "-o%t.json"];
    let outcome = run_two(folder.path(), &options, &[text(&compile("calls"))]);
    assert_eq!((outcome.status, outcome.said()), (Some(0), vec![]), "{outcome:?}");
    for level in [1, 2] {
        let report = folder.path().join(format!("call-counter-{level}.json"));
        assert_eq!(counters(&report), calls(2), "level {level}");
    }
}

#[test]
fn the_exit_status_is_the_launchers() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let [mpiexec, n, two] = launcher("2");
    let by_hand = Outcome::of(limited(&mpiexec).args([&n, &two]).arg(&program).arg("3")).status;
    assert_eq!(by_hand, Some(3));
    let options = ["--tool", "call-counter", "--output", "none"];
    assert_eq!(run_two(folder.path(), &options, &[text(&program), "3"]).status, by_hand);
    let alone = mpi_tool(folder.path(), &["run", "--tool=empty-raw", "--", text(&program), "4"]);
    assert_eq!(alone.status, Some(4), "{alone:?}");
    let killed = ["run", "--tool=empty-raw", "--abi", abi(), "--", "sh", "-c", "exit 5"];
    assert_eq!(mpi_tool(folder.path(), &killed).status, Some(5));
    let none = ["run", "--tool=empty-raw", "--", "./mpiexec-that-is-not-there", "-n", "2", "sh"];
    let outcome = mpi_tool(folder.path(), &none);
    assert_eq!(outcome.status, Some(127), "{outcome:?}");
}

#[test]
fn an_application_without_a_launcher_is_one_rank() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let command =
        ["run", "--tool=call-counter", "--format=json", "--output=r.json", "--", text(&program)];
    let outcome = mpi_tool(folder.path(), &command);
    assert_eq!((outcome.status, outcome.lines()), (Some(0), vec!["rank 0 of 1 is fine"]));
    assert_eq!(counters(&folder.path().join("r.json")), calls(1));
}

/// A launcher with Slurm's options, which also notes what it got itself.
#[test]
fn the_launcher_itself_gets_no_tool() {
    let folder = tempfile::tempdir().unwrap();
    let [mpiexec, ..] = launcher("2");
    let script = format!(
        "#!/bin/sh\necho \"preload:$LD_PRELOAD\" > launcher\n\
         [ \"$1 $2 $3\" = '-n2 --mpi pmi2' ] && shift 3\nexec {mpiexec} -n 2 \"$@\"\n"
    );
    write_program(&folder.path().join("srun"), script);
    let program = compile("calls");
    let command = ["run", "-tcall-counter", "-fjson", "-or.json", "--"];
    let words = ["timeout", "100", "./srun", "-n2", "--mpi", "pmi2", "nice", text(&program)];
    let outcome = mpi_tool(folder.path(), &[&command[..], &words[..]].concat());
    assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
    assert_eq!(fs::read_to_string(folder.path().join("launcher")).unwrap(), "preload:\n");
    assert_eq!(counters(&folder.path().join("r.json")), calls(2));
}

#[test]
fn a_script_has_the_launchers_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    write_program(
        &folder.path().join("job"),
        format!("#!/bin/sh\nexec {} \"$@\"\n", text(&program)),
    );
    // What the launcher says of itself does not tell MPI-5's ABI.
    let told: &[&str] = if abi() == "standard" { &["--abi=standard"] } else { &[] };
    for words in [&["./job"][..], &["sh", "-c", "exec ./job"]] {
        let options = [&["-tcall-counter", "-fjson", "-or.json"], told].concat();
        let outcome = run_two(folder.path(), &options, words);
        assert_eq!((outcome.status, outcome.said()), (Some(0), vec![]), "{outcome:?}");
        assert_eq!(outcome.lines(), FINE);
        assert_eq!(counters(&folder.path().join("r.json")), calls(2));
        fs::remove_file(folder.path().join("r.json")).unwrap();
    }
}

/// Nobody says which MPI a script's program has, so it is found in the process.
#[test]
fn a_script_without_a_launcher_has_universal_builds() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    write_program(&folder.path().join("job"), format!("#!/bin/sh\nexec {}\n", text(&program)));
    let command = ["run", "-tcall-counter", "-fjson", "-or.json", "--", "./job"];
    let outcome = mpi_tool(folder.path(), &command);
    assert_eq!((outcome.status, outcome.said()), (Some(0), vec![]), "{outcome:?}");
    assert_eq!(outcome.lines(), ["rank 0 of 1 is fine"]);
    assert_eq!(counters(&folder.path().join("r.json")), calls(1));
}

/// It stands for the builds beside it.
#[test]
fn a_universal_build_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let universal = universal("call_counter");
    let program = compile("calls");
    let options = ["--tool", text(&universal), "-fjson", "-or.json"];
    let outcome = run_two(folder.path(), &options, &[text(&program)]);
    assert_eq!((outcome.status, outcome.said()), (Some(0), vec![]), "{outcome:?}");
    assert_eq!(counters(&folder.path().join("r.json")), calls(2));
    let command = ["run", "--tool", text(&universal), "--dry-run", "--", text(&program)];
    let outcome = mpi_tool(folder.path(), &command);
    let build = format!("LD_PRELOAD={} ", text(&tool("call_counter")));
    assert!(outcome.stdout.contains(&build), "{outcome:?}");
}

#[test]
fn names_that_env_would_misread() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("n=2");
    fs::create_dir(&place).unwrap();
    fs::copy(compile("calls"), place.join("calls")).unwrap();
    let options = ["-tcall-counter", "-fjson", "-or.json"];
    let outcome = run_two(folder.path(), &options, &["./n=2/calls"]);
    assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
    assert_eq!(counters(&folder.path().join("r.json")), calls(2));
}

#[test]
fn several_applications() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let [mpiexec, n, one] = launcher("1");
    let options = ["run", "-tcall-counter", "-fjson", "-or.json", "--"];
    let words = [&mpiexec, &n, &one, text(&program), ":", &n, &one, text(&program)];
    // `--` may be left out: the command begins with the first word that is no option.
    for options in [&options[..], &options[..options.len() - 1]] {
        let outcome = mpi_tool(folder.path(), &[options, &words[..]].concat());
        assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
        assert_eq!(counters(&folder.path().join("r.json")), calls(2));
        fs::remove_file(folder.path().join("r.json")).unwrap();
    }
}

/// The launcher gets the tools of the MPI that the programs of the file use; nothing is said of what is right.
#[test]
fn applications_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    // Open MPI 5.0.11 starts nothing if there is a comment in the file, and says nothing.
    let (option, comment) =
        if abi() == "openmpi" { ("--app", "") } else { ("-configfile", "# two of them\n") };
    let [mpiexec, ..] = launcher("2");
    let run = |jobs: String, options: &[&str]| {
        fs::write(folder.path().join("jobs"), jobs).unwrap();
        let command = ["run", "-tcall-counter", "-fjson", "-or.json"];
        let words = ["--", &mpiexec, option, "jobs"];
        mpi_tool(folder.path(), &[&command, options, &words].concat())
    };
    let program = text(&program);
    let outcome = run(format!("{comment}-n 2 {program}\n"), &[]);
    assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
    assert_eq!(outcome.said(), [""; 0]);
    assert_eq!(counters(&folder.path().join("r.json")), calls(2));

    // What a shell would have to read is not read.
    let outcome = run(format!("-n 2 '{program}'\n"), &["--abi", abi(), "--dry-run"]);
    assert_eq!(
        outcome.said(),
        [format!(
            "{option}: mpi-tool cannot read the applications in that file; the launcher gets the tools, too"
        )]
    );
}

/// What starts a container takes the preload away, so it stands in front of the program inside. (A stand-in: without a container.)
#[test]
fn tools_go_into_a_container() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let starter = "#!/bin/sh\nunset LD_PRELOAD\nwhile [ \"$1\" != image ]; do shift; done\nshift\nexec \"$@\"\n";
    write_program(&folder.path().join("apptainer"), starter);
    let tools = fs::canonicalize(setting("MPI_TOOLS")).unwrap();
    let run = |options: &[&str]| {
        let words = [&["timeout", "60", "./apptainer", "exec", "-e"], options, &["image"]].concat();
        let words = [&words, &["env", "A=b", text(&program)][..]].concat();
        run_two(folder.path(), &["-tcall-counter", "-fjson", "-or.json"], &words)
    };
    let bound = run(&["--bind", text(&tools)]);
    assert_eq!((bound.status, bound.lines()), (Some(0), FINE.to_vec()), "{bound:?}");
    assert_eq!(bound.said(), [""; 0]);
    assert_eq!(counters(&folder.path().join("r.json")), calls(2));

    let hidden = run(&["--contain"]);
    assert_eq!((hidden.status, hidden.lines()), (Some(0), FINE.to_vec()), "{hidden:?}");
    let said = hidden.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("apptainer: the container may not see the tools, which are in "),
        "{said:?}"
    );

    let command = [
        "run",
        "-tcall-counter",
        "--dry-run",
        "--",
        "mpiexec",
        "-n",
        "2",
        "./apptainer",
        "run",
        "image",
    ];
    let outcome = mpi_tool(folder.path(), &command);
    assert!(outcome.stderr.contains("apptainer: the image says which program runs"), "{outcome:?}");
    assert!(!outcome.stdout.contains("LD_PRELOAD"), "{outcome:?}");
}

/// A batch system starts the job elsewhere and later: nothing is queued without tools.
#[test]
fn what_only_queues_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (command, said) in [
        (
            &["sbatch", "-n", "2", "job"][..],
            "sbatch only queues a job: write `mpi-tool run` into its script",
        ),
        (&["timeout", "9", "sbatch", "--wrap", "srun ./a"], "sbatch only queues a job"),
        (
            &["salloc", "-N2", "-J", "sh"],
            "salloc without a command starts a shell, or none: write `mpi-tool run` there",
        ),
    ] {
        let outcome = mpi_tool(folder.path(), &[&["run", "--"], command].concat());
        assert_eq!(outcome.status, Some(127), "{outcome:?}");
        assert!(outcome.stderr.contains(said), "{outcome:?}");
        assert!(outcome.stderr.contains("nothing was started"), "{outcome:?}");
    }
}

#[test]
fn spawned_processes_have_the_tools() {
    if mpi_name() == "mpich-debian" {
        // It fails to spawn, also without tools.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compile("spawn");
    let [mpiexec, n, one] = launcher("1");
    let command =
        ["run", "-tcall-counter", "-fjson", "-or.json", "--", &mpiexec, &n, &one, text(&program)];
    let outcome = mpi_tool(folder.path(), &command);
    assert_eq!((outcome.status, outcome.said()), (Some(0), vec![]), "{outcome:?}");
    let reports: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| counters(&entry.unwrap().path()))
        .collect();
    assert_eq!(reports.len(), 2);
    let of = |name: &str| {
        let both = reports.iter().flatten().filter(|counter| counter.0 == name);
        both.map(|counter| counter.1).sum::<u64>()
    };
    assert_eq!((of("MPI_Comm_spawn"), of("MPI_Barrier"), of("MPI_Finalize")), (1, 1, 2));
}

#[test]
fn variables_that_are_set_go_to_the_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let mut command = mpi_tool_command(
        folder.path(),
        &[
            "run",
            "-tcall-counter",
            "-fjson",
            "--dry-run",
            "--",
            "mpiexec",
            "-n",
            "1",
            text(&program),
        ],
    );
    command.env("MPI_TOOL_OUTPUT", "a b.json").env("LD_PRELOAD", "").env("MPI_TOOL_FORMAT", "csv");
    let outcome = Outcome::of(&mut command);
    assert_eq!(
        outcome.stdout,
        format!(
            "mpiexec -n 1 /usr/bin/env LD_PRELOAD={} 'MPI_TOOL_OUTPUT=a b.json' \
             MPI_TOOL_FORMAT=json {}\n",
            text(&tool("call_counter")),
            text(&program)
        )
    );
}

#[test]
fn a_foreign_tool_stands_last() {
    let folder = tempfile::tempdir().unwrap();
    let c_tool = compile_with(setting("MPICC"), "c_tool", "libc_tool.so", &["-shared", "-fPIC"]);
    let options = ["-tcall-counter", "-t", text(&c_tool), "-fjson", "-or.json"];
    let outcome = run_two(folder.path(), &options, &[text(&compile("calls"))]);
    assert_eq!((outcome.status, outcome.said()), (Some(0), vec![]), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("the C tool sees MPI_Finalize").count(), 2, "{outcome:?}");
    assert_eq!(counters(&folder.path().join("r.json")), calls(2));
}

/// Wherever the user says it.
#[test]
fn what_the_user_preloads_stays() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-shared", "-fPIC"];
    let c_tool = compile_with(setting("MPICC"), "c_tool", "libusers.so", &flags);
    let setting = format!("LD_PRELOAD={}", text(&c_tool));
    let [mpiexec, n, two] = launcher("2");
    let by_launcher: &[&str] = if abi() == "openmpi" {
        &["-x", &setting]
    } else {
        &["-genv", "LD_PRELOAD", text(&c_tool)]
    };
    let program = compile("calls");
    for (variable, option, wrapper) in [
        ("LD_PRELOAD", &[][..], &[][..]),
        ("NOTHING", by_launcher, &[]),
        ("NOTHING", &[], &["env", "A=b", &setting]),
    ] {
        let run = ["run", "-tcall-counter", "-fjson", "-or.json", &mpiexec, &n, &two];
        let words = [&run[..], option, wrapper, &[text(&program)]].concat();
        let mut command = mpi_tool_command(folder.path(), &words);
        let outcome = Outcome::of(command.env(variable, &c_tool));
        assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
        assert_eq!(outcome.stderr.matches("the C tool sees MPI_Finalize").count(), 2, "{words:?}");
        assert_eq!(counters(&folder.path().join("r.json")), calls(2));
        fs::remove_file(folder.path().join("r.json")).unwrap();
    }
}

#[test]
fn a_python_program_has_mpi4pys_mpi() {
    if !has_mpi4py() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "from mpi4py import MPI\nfor i in range(3): MPI.COMM_WORLD.Barrier()\n";
    fs::write(folder.path().join("app.py"), script).unwrap();
    write_program(&folder.path().join("app"), format!("#!/usr/bin/env python3\n{script}"));
    for words in [&["python3", "app.py"][..], &["./app"]] {
        let [mpiexec, n, two] = launcher("2");
        let command = ["run", "-tcall-counter", "-fjson", "-or.json", "--", &mpiexec, &n, &two];
        let mut command = mpi_tool_command(folder.path(), &[&command[..], words].concat());
        let outcome = Outcome::of(command.env("PYTHONPATH", setting("MPI4PY")));
        assert_eq!((outcome.status, outcome.said()), (Some(0), vec![]), "{outcome:?}");
        let counted = counters(&folder.path().join("r.json"));
        for wanted in [("MPI_Barrier", 6), ("MPI_Init_thread", 2), ("MPI_Finalize", 2)] {
            assert!(counted.contains(&(wanted.0.to_owned(), wanted.1)), "{counted:?}");
        }
        fs::remove_file(folder.path().join("r.json")).unwrap();
    }
}

/// Ranks of which some cannot have tools.
#[test]
fn where_some_ranks_have_no_tool_each_reports_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let static_one = compile_plain("nothing", "nothing-static", &["-static"]);
    let program = compile("calls");
    // Not on real ranks: MPI would wait for the ones that do not take part.
    let [mpiexec, ..] = launcher("1");
    let command = ["run", "-tcall-counter", "--dry-run", "--", &mpiexec, "-n", "1", text(&program)];
    let other = [":", "-n", "1", text(&static_one)];
    let outcome = mpi_tool(folder.path(), &[&command[..], &other[..]].concat());
    assert_eq!(
        outcome.said(),
        [
            format!(
                "{}: it is statically linked: nothing can be preloaded; it runs without tools",
                text(&static_one)
            ),
            "not all ranks have all tools; each rank reports for itself".into()
        ]
    );
    assert!(outcome.stdout.contains(" MPI_TOOL_MERGE=0 "), "{outcome:?}");
    assert!(outcome.stdout.ends_with(&format!(": -n 1 {}\n", text(&static_one))), "{outcome:?}");
    assert!(Path::new(&static_one).is_file());
}
