//! Where reports go, whose they are, and what is printed: of runs as users have them, on several ranks, under the wrong
//! launcher, in stacks of others.

use std::fs;
use std::path::Path;
use std::process::Command;

use test_support::{Run, build_folder, compile, compile_with, example, is_openmpi, setting, tool};

/// What is printed unasked does not grow with the number of ranks: a report, and a line.
#[test]
fn calls_after_finalize_are_a_line_of_rank_0() {
    let program = compile("outside");
    let run = |ranks, variable: Option<(&str, &str)>| {
        let mut run = Run::new(&program, ranks).preload(tool("call_counter"));
        if let Some((name, value)) = variable {
            run = run.variable(name, value);
        }
        let outcome = run.run();
        outcome.expect_success("outside");
        (outcome.stderr, run)
    };
    let count = |text: &str, what: &str| text.lines().filter(|line| line.contains(what)).count();
    for ranks in [1, 3] {
        let (stderr, _) = run(ranks, None);
        assert_eq!(count(&stderr, "# call-counter "), 1, "{stderr}");
        let line = "call-counter: rank 0's counts after the merged report";
        assert_eq!(count(&stderr, line), 1, "{stderr}");
        // In the report, and in the line.
        assert_eq!(count(&stderr, "MPI_Finalized: "), 2, "{stderr}");
    }
    let (all, _) = run(3, Some(("MPI_TOOL_ALL_RANKS", "1")));
    assert_eq!(count(&all, "# call-counter "), 4, "{all}");
    assert_eq!(count(&all, "partial: calls after the merged report"), 3, "{all}");
    // In files: the merged report, and rank 0's.
    let (stderr, files) = run(3, Some(("MPI_TOOL_OUTPUT", "calls")));
    assert_eq!(stderr, "");
    let mut names: Vec<_> = fs::read_dir(files.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("calls"))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["calls", "calls.rank0"]);
}

/// Reports that cannot be merged: rank 0's is printed, and a line says that there are others.
#[test]
fn reports_of_ranks_do_not_fill_the_screen() {
    let program = compile("no_finalize");
    let outcome = Run::new(&program, 1).preload(tool("call_counter")).run();
    assert_eq!(outcome.stderr.matches("# call-counter ").count(), 1, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("other ranks"), "{}", outcome.stderr);
}

/// A tool of another ABI cannot merge.
#[test]
fn reports_of_a_tool_of_another_abi_do_not_fill_the_screen() {
    let other = if is_openmpi() { "mpich-5.0.2" } else { "openmpi-5.0.11" };
    let foreign = setting("MPI_TOOLS").with_file_name(other).join("libcall_counter.so");
    let program = compile("ring");
    for (all, reports) in [("0", 1), ("1", 3)] {
        let run = Run::new(&program, 3).preload(&foreign).variable("MPI_TOOL_ALL_RANKS", all);
        let outcome = run.run();
        outcome.expect_success("ring");
        assert_eq!(
            outcome.stderr.matches("# call-counter ").count(),
            reports,
            "{}",
            outcome.stderr
        );
        let told =
            outcome.stderr.matches("call-counter: what the other ranks counted is not shown");
        assert_eq!(told.count(), usize::from(all == "0"), "{}", outcome.stderr);
    }
}

/// A program under the launcher of another MPI becomes singletons. Each says so in its report, one of them
/// prints, and no report is lost.
#[test]
fn singletons_under_another_launcher_keep_their_reports_apart() {
    let program = compile("collectives_few");
    let [rank_name, size_name] = if is_openmpi() {
        ["PMI_RANK", "PMI_SIZE"]
    } else {
        ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"]
    };
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let run = |rank: &str, output: Option<&Path>| {
        let mut command = Command::new(&program);
        command.current_dir(folder.path()).env(rank_name, rank).env(size_name, "2");
        command.env("LD_PRELOAD", tool("call_counter"));
        if let Some(output) = output {
            command.env("MPI_TOOL_OUTPUT", output).env("MPI_TOOL_FORMAT", "json");
        }
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        stderr
    };
    let said = |rank: &str| run(rank, None).matches("launcher says rank").count();
    assert_eq!([said("0"), said("1")], [1, 0]);
    run("0", Some(&report));
    run("1", Some(&report));
    let mut ranks: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("report"))
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let report: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&report["complete"], &report["ranks"]), (&true.into(), &1.into()));
            let launcher = &report["launcher"];
            assert_eq!((&launcher["ranks"], &launcher["variable"]), (&2.into(), &rank_name.into()));
            launcher["rank"].as_u64().unwrap()
        })
        .collect();
    ranks.sort_unstable();
    assert_eq!(ranks, [0, 1]);
}

/// Two processes that know nothing of each other and write to one path at the same time.
#[test]
fn processes_without_a_launcher_keep_their_reports_apart() {
    let program = compile("collectives_few");
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = Command::new(&program);
        command.current_dir(folder.path()).env("LD_PRELOAD", tool("call_counter"));
        command.env("MPI_TOOL_OUTPUT", "report").spawn().unwrap()
    };
    let mut processes = [start(), start(), start()];
    for process in &mut processes {
        assert!(process.wait().unwrap().success());
    }
    let reports = fs::read_dir(folder.path()).unwrap();
    let reports: Vec<_> = reports.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(reports.len(), 3, "{reports:?}");
    for path in reports {
        assert!(fs::read_to_string(&path).unwrap().contains("MPI_Finalize: 1\n"), "{path:?}");
    }
}

#[test]
fn a_tool_has_settings_of_its_own() {
    let program = compile("ring");
    let run = |value: Option<&str>| {
        // Another tool in the process is not told of it.
        let mut run = Run::new(&program, 2).preload(example("slow_calls")).count();
        if let Some(value) = value {
            run = run.variable("MPI_TOOL_SLOW_CALLS_MICROSECONDS", value);
        }
        let outcome = run.run();
        outcome.expect_success("ring");
        outcome.stderr
    };
    assert!(run(Some("0")).contains("\nMPI_Send: 200\n"));
    assert!(!run(Some("1000000000")).contains("MPI_"));
    let wrong = run(Some("many"));
    let line = "MPI_TOOL_SLOW_CALLS_MICROSECONDS=many: not a number";
    assert_eq!(wrong.matches(line).count(), 1, "{wrong}");
    let help = Command::new("/bin/true")
        .env("LD_PRELOAD", example("slow_calls"))
        .env("MPI_TOOL_HELP", "1")
        .output()
        .unwrap();
    let help = String::from_utf8_lossy(&help.stderr);
    let line = "  MPI_TOOL_SLOW_CALLS_MICROSECONDS  how long a call takes that is slow (a number; default 1000)";
    assert!(help.contains(line), "{help}");
}

/// Levels of a stack that others made, as TUM's library calls them, however high their numbers are: each has a
/// state and a report of its own.
#[test]
fn levels_with_high_numbers_share_nothing() {
    let source = build_folder().join("levels.c");
    let c = "#include <mpi.h>\n#include <dlfcn.h>\n#include <string.h>\n
        int main(int argc, char **argv) {
            static const int levels[] = {1, 1023, 1024, 4095, 4096, 5000, 5000};
            int flag, calls = 0;
            MPI_Initialized(&flag);
            void *tool = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : 0;
            if (!tool) return 1;
            char *(*get)(int) = (char *(*)(int))dlsym(tool, \"get_interceptions\");
            for (int id = 0; id < 360; id++) {
                char *name = get(id);
                if (!strstr(name, \"MPI_Initialized\")) continue;
                int (*f)(int *, int, void *) = (int (*)(int *, int, void *))dlsym(tool, name);
                for (int i = 0; f && i < 7; i++, calls++) f(&flag, levels[i], 0);
            }
            return calls == 7 ? 0 : 2; }";
    fs::write(&source, c).unwrap();
    let program = compile_with(&source, "levels", &["-ldl"]);
    let outcome = Run::new(&program, 0).arguments(&[tool("call_counter").to_str().unwrap()]).run();
    outcome.expect_success("levels");
    // The first level has the tool's name.
    let reports: Vec<_> = outcome.stderr.split("# call-counter").skip(1).collect();
    let numbers = ["", "-1023", "-1024", "-4095", "-4096", "-5000"];
    assert_eq!(reports.len(), numbers.len(), "{}", outcome.stderr);
    for (report, number) in reports.iter().zip(numbers) {
        let calls = if number == "-5000" { 2 } else { 1 };
        assert!(report.starts_with(&format!("{number} ")), "{number}: {}", outcome.stderr);
        assert!(report.contains(&format!("\nMPI_Initialized: {calls}\n")), "{}", outcome.stderr);
    }
}
