//! The ways in which a process can end, and what a tool leaves in each: as docs/report.md says, for each MPI.

use std::fs;
use std::path::Path;

use serde_json::Value;
use test_support::Run;

use crate::common::{
    Outcome, compile, compile_source, launcher, limited, mpi_name, mpi_tool, setting, text, tool,
    universal,
};

/// What the table says of this MPI: the rows' ways, and what is left.
fn documented() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report.md");
    let page = fs::read_to_string(page).unwrap();
    let table: Vec<Vec<&str>> = page
        .lines()
        .skip_while(|line| !line.starts_with("| `ends.c` |"))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let name = mpi_name();
    // MPI-5's ABI is MPICH's, and Open MPI 4 has no column.
    let name = name.trim_end_matches("-abi");
    let column = table[0].iter().position(|head| head.trim_matches('`') == name);
    let Some(column) = column else { return Vec::new() };
    let rows = table[2..].iter();
    rows.map(|row| (row[0].trim_matches('`').to_owned(), row[column].to_owned())).collect()
}

/// The program's own lines: launchers add others, with process numbers in them.
fn own(outcome: &Outcome) -> Vec<&str> {
    outcome.lines().into_iter().filter(|line| *line == "before the end").collect()
}

/// A program on one rank with the call counter, whose report is to be `left.json`.
fn counted(folder: &Path, program: &[&str]) -> Outcome {
    let [mpiexec, n, one] = launcher("1");
    let options = ["--tool", "call-counter", "--format", "json", "--output", "left.json", "--"];
    let launcher = [mpiexec.as_str(), &n, &one];
    mpi_tool(folder, &[&["run"], &options[..], &launcher, program].concat())
}

/// What is left of a run, in the table's words.
fn left(folder: &Path, outcome: &Outcome) -> String {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut reports: Vec<_> = names.filter(|path| text(path).contains("/left.json")).collect();
    reports.sort();
    let is_said = outcome.stderr.contains("mpi-tool: no rank on this host left a report: ");
    let Some(report) = reports.first() else {
        return if is_said { "nothing".into() } else { format!("nothing, unsaid: {outcome:?}") };
    };
    assert!(!is_said, "{outcome:?}");
    let report: Value = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    let counters = report["counters"].as_array().unwrap();
    let calls = counters.iter().find(|counter| counter["name"] == "MPI_Allreduce").unwrap();
    assert_eq!(calls["total"], 5, "{report}");
    match report["complete"].as_bool() {
        Some(true) => "the report".into(),
        _ => report["reason"].as_str().unwrap().to_owned(),
    }
}

#[test]
fn what_is_left_is_what_docs_say() {
    let program = compile("ends");
    let [mpiexec, n, one] = launcher("1");
    let ways = documented();
    let mut differences = Vec::new();
    for (way, expected) in &ways {
        let folder = tempfile::tempdir().unwrap();
        let plain = Outcome::of(limited(&mpiexec).args([&n, &one]).arg(&program).arg(way));
        let outcome = counted(folder.path(), &[text(&program), way]);
        assert_eq!(outcome.status, plain.status, "{way}\n{outcome:?}");
        assert_eq!(own(&outcome), own(&plain), "{way}\n{outcome:?}");
        let found = left(folder.path(), &outcome);
        if found != *expected {
            differences.push(format!("{way}: {found}, not {expected}"));
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
    assert!(ways.len() > 15 || test_support::is_openmpi_4(), "{ways:?}");
}

/// Each tool leaves the exit status and the output as they are, alone, as a level, and in a universal build.
#[test]
fn no_tool_changes_an_end() {
    let program = compile("ends");
    let tools = fs::read_dir(setting("MPI_TOOLS")).unwrap().map(|entry| entry.unwrap().path());
    let mut tools: Vec<_> = tools.filter(|tool| !tool.ends_with("libqmpi.so")).collect();
    tools.sort();
    let levels: Vec<_> = tools.iter().map(|tool| tool.display().to_string()).collect();
    let levels = levels.join(":");
    for way in ["_exit", "quick_exit", "exec", "abort", "fault", "overflow", "finalize-at-exit"] {
        let plain = Run::new(&program, 1).arguments(&[way]).run();
        let others = [tool("qmpi"), universal("call_counter")];
        for tool in tools.iter().chain(&others) {
            let mut run = Run::new(&program, 1).arguments(&[way]).preload(tool);
            if tool.ends_with("libqmpi.so") {
                run = run.variable("TOOLS", &levels);
            }
            let outcome = run.variable("MPI_TOOL_OUTPUT", "said").run();
            let tool = tool.display();
            assert_eq!(outcome.status, plain.status, "{way}, {tool}\n{}", outcome.stderr);
            assert_eq!(outcome.lines(), plain.lines(), "{way}, {tool}\n{}", outcome.stderr);
        }
    }
}

/// A library that starts MPI in its constructor and ends it in its destructor has one report: the whole one. A library whose
/// destructor ends the process once more leaves what there is.
#[test]
fn a_library_that_has_mpi_to_itself_has_one_report() {
    let library = r#"
        #include <mpi.h>
        #include <stdlib.h>
        #include <string.h>
        static void finalize(void) { MPI_Finalize(); }
        __attribute__((constructor)) static void begin(void)
        {
            int given;
            MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &given);
            if (!getenv("NEVER_FINALIZED")) atexit(finalize);
        }
        __attribute__((destructor)) static void end(void) { if (getenv("EXIT_AGAIN")) exit(4); }
        void work(void)
        {
            int one = 1, sum;
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
    "#;
    let program =
        "void work(void); int main(void) { for (int i = 0; i < 5; i++) work(); return 3; }";
    let folder = tempfile::tempdir().unwrap();
    compile_source(folder.path(), "liblibrary.so", library, &["-shared", "-fPIC"]);
    let flags = ["-L.", "-llibrary", "-Wl,-rpath,$ORIGIN"];
    compile_source(folder.path(), "program", program, &flags);
    for (variable, expected) in [
        (None, "the report"),
        (Some("EXIT_AGAIN"), "the report"),
        (Some("NEVER_FINALIZED"), "the process ended without MPI_Finalize"),
    ] {
        let variable = variable.map(|variable| format!("{variable}=1"));
        let words = variable.iter().map(String::as_str).chain(["./program"]);
        let words: Vec<_> = ["env"].into_iter().chain(words).collect();
        let outcome = counted(folder.path(), &words);
        assert_eq!(left(folder.path(), &outcome), expected, "{variable:?}: {outcome:?}");
        for path in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
            if text(&path).contains("/left.json") {
                assert_eq!(path.file_name().unwrap() == "left.json", expected == "the report");
                fs::remove_file(path).unwrap();
            }
        }
    }
}

/// What a program opens in the place of a closed standard stream gets nothing of a report, which goes where the stream went.
#[test]
fn a_report_goes_to_no_file_of_the_programs() {
    let source = r#"
        #include <mpi.h>
        #include <fcntl.h>
        #include <string.h>
        #include <unistd.h>
        int main(int argc, char **argv)
        {
            int is_late = !strcmp(argv[1], "after");
            if (is_late) MPI_Init(&argc, &argv);
            close(0); close(1); close(2);
            open("/dev/null", O_RDONLY); open("/dev/null", O_WRONLY);
            int file = open(argv[2], O_CREAT | O_TRUNC | O_WRONLY, 0644);
            if (!is_late) MPI_Init(&argc, &argv);
            if (write(file, "data\n", 5) != 5) return 1;
            MPI_Barrier(MPI_COMM_WORLD);
            if (strcmp(argv[1], "never")) MPI_Finalize();
            return file == 2 ? 0 : 9;
        }
    "#;
    let folder = tempfile::tempdir().unwrap();
    let program = compile_source(folder.path(), "streams", source, &[]);
    for way in ["before", "after", "never"] {
        for output in ["stderr", "stdout"] {
            let run = Run::new(&program, 1).preload(tool("call_counter"));
            let data = run.folder.path().join("data");
            let run = run.arguments(&[way, text(&data)]).variable("MPI_TOOL_OUTPUT", output);
            let outcome = run.run();
            let data = fs::read_to_string(data).unwrap();
            assert_eq!((data.as_str(), outcome.stdout.as_str()), ("data\n", ""), "{way}, {output}");
            let is_there = outcome.stderr.contains("\nMPI_Barrier: 1\n");
            assert!(is_there, "{way}, {output}: {}", outcome.stderr);
        }
    }
}

/// A path means what it meant where the program was started.
#[test]
fn a_program_that_goes_elsewhere_leaves_its_report_here() {
    let source = r#"
        #include <mpi.h>
        #include <unistd.h>
        int main(int argc, char **argv)
        {
            if (chdir("/") != 0) return 1;
            MPI_Init(&argc, &argv);
            MPI_Barrier(MPI_COMM_WORLD);
            return MPI_Finalize();
        }
    "#;
    let folder = tempfile::tempdir().unwrap();
    compile_source(folder.path(), "moves", source, &[]);
    let [mpiexec, n, one] = launcher("1");
    for tool in [tool("call_counter"), universal("call_counter")] {
        let mut command = limited(&mpiexec);
        command.args([&n, &one, "./moves"]).current_dir(folder.path());
        command.env("LD_PRELOAD", tool).env("MPI_TOOL_OUTPUT", "report.txt");
        let outcome = Outcome::of(&mut command);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
        let report = folder.path().join("report.txt");
        assert!(fs::read_to_string(&report).unwrap().contains("\nMPI_Barrier: 1\n"));
        fs::remove_file(report).unwrap();
    }
}
