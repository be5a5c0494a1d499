//! Processes without MPI, and the many ways in which an MPI process can end: nothing breaks, and no
//! report is lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use test_support::{
    Outcome, Run, build_folder, compile, compile_with, example, is_openmpi, setting, tool,
    universal,
};

fn same_as_plain(name: &str, ranks: u32) -> Outcome {
    let program = compile(name);
    let plain = Run::new(&program, ranks).run();
    let counted = Run::new(&program, ranks).count().run();
    assert_eq!(counted.status, plain.status, "{name}\n{}\n{}", plain.stderr, counted.stderr);
    assert_eq!(counted.lines(), plain.lines(), "{name}\n{}", counted.stderr);
    counted
}

#[test]
fn programs_without_mpi_are_left_alone() {
    let cases: [(&str, &[&str]); 5] = [
        ("/bin/true", &[]),
        ("/bin/false", &[]),
        ("bash", &["-c", "echo hello; (exit 3) || echo $?; exit 5"]),
        ("python3", &["-c", "import ctypes, subprocess; print(subprocess.call(['true']))"]),
        ("sh", &["-c", "kill -TERM $$"]),
    ];
    let both = format!("{} {}", tool("call_counter").display(), tool("empty_raw").display());
    for (program, arguments) in cases {
        let run = |preload: Option<&str>| {
            let mut command = Command::new(program);
            command.args(arguments).env_remove("PYTHONPATH");
            // As a launcher's child too, where a program without MPI is no reason for a message.
            command.env("PMI_RANK", "0");
            if let Some(preload) = preload {
                command.env("LD_PRELOAD", preload);
            }
            command.output().unwrap()
        };
        let (plain, with) = (run(None), run(Some(&both)));
        assert_eq!(plain.status, with.status, "{program}");
        assert_eq!(plain.stdout, with.stdout, "{program}");
        assert_eq!(plain.stderr, with.stderr, "{program}");
    }
}

#[test]
fn the_launcher_is_left_alone() {
    let run = |preload: bool| {
        let mut command = Command::new(setting("MPIEXEC"));
        // Programs that are gone before MPICH's launcher has read the end of its input, and passed it on, end it by
        // SIGPIPE now and then, without any tool.
        command.args(["-n", "2", "/bin/sleep", "0.3"]);
        if preload {
            command.env("LD_PRELOAD", tool("call_counter"));
        }
        test_support::output(&mut command)
    };
    let (plain, with) = (run(false), run(true));
    assert_eq!(plain.status, with.status);
    assert_eq!(String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&with.stdout));
    assert_eq!(String::from_utf8_lossy(&plain.stderr), String::from_utf8_lossy(&with.stderr));
}

/// A C tool is linked to MPI and brings it into every process, the launcher's too: that makes no
/// MPI program of them.
#[test]
fn a_c_tool_behind_makes_no_mpi_program_of_others() {
    let source = build_folder().join("c_tool.c");
    let c = "#include <mpi.h>\n#include <stdio.h>\nstatic int sends;
        int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
            sends++; return PMPI_Send(b, n, t, to, tag, c); }
        int MPI_Finalize(void) { printf(\"C tool: %d\\n\", sends); return PMPI_Finalize(); }";
    fs::write(&source, c).unwrap();
    let c_tool = compile_with(&source, "libc_tool.so", &["-shared", "-fPIC"]);
    let program = compile("ring");
    let outcome = Run::new(&program, 2).count().preload(&c_tool).run();
    outcome.expect_success("with a C tool");
    assert_eq!(outcome.counted, outcome.expected);
    assert_eq!(outcome.lines(), ["C tool: 100", "C tool: 100", "token 100"]);
    assert!(!outcome.stderr.contains("saw no"), "{}", outcome.stderr);
    let shell = Run::new("/bin/true".as_ref(), 2).count().preload(&c_tool).run();
    shell.expect_success("/bin/true");
    assert!(!shell.stderr.contains("saw no"), "{}", shell.stderr);
}

#[test]
fn a_program_that_calls_nothing_is_told_so_once() {
    let program = compile("nothing");
    let outcome = Run::new(&program, 2).preload(tool("call_counter")).run();
    outcome.expect_success("nothing");
    let line = "call-counter: did not see MPI start in this process, and counted nothing: the program did \
                not start it, or a tool in front of this one did not pass its calls on\n";
    assert_eq!(outcome.stderr.matches(line).count(), 1, "{}", outcome.stderr);
    let quiet =
        Run::new(&program, 2).preload(tool("call_counter")).variable("MPI_TOOL_OUTPUT", "none");
    assert_eq!(quiet.run().stderr, "");
}

/// A program that calls what this tool does not watch has made calls, and is not told otherwise.
#[test]
fn a_program_that_is_not_watched_is_not_told_that_it_called_nothing() {
    let source = build_folder().join("version.c");
    let c = "#include <mpi.h>\nint main(void) { int a, b; return MPI_Get_version(&a, &b); }";
    fs::write(&source, c).unwrap();
    let program = compile_with(&source, "version", &[]);
    let outcome = Run::new(&program, 2).preload(tool("bandwidth_counter")).run();
    outcome.expect_success("version");
    assert!(!outcome.stderr.contains("no MPI call"), "{}", outcome.stderr);
    let said = outcome.stderr.matches("bandwidth-counter: did not see MPI start in this process");
    assert_eq!(said.count(), 1, "{}", outcome.stderr);
    // Who counts it reports it.
    let counted = Run::new(&program, 1).preload(tool("call_counter")).run();
    assert!(counted.stderr.contains("\nMPI_Get_version: 1\n"), "{}", counted.stderr);
}

/// As one that is linked to a `libmpi.a`, with symbols and stripped.
#[test]
fn a_program_that_contains_its_mpi_is_told_so_once() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/static_mpi.c");
    for flag in ["-g", "-s"] {
        let program = build_folder().join(format!("static{flag}"));
        let mut cc = Command::new("cc");
        let cc = cc.args(["-O1", "-Wall", "-Werror", flag, "-o"]).arg(&program).arg(&source);
        assert!(cc.status().unwrap().success());
        let outcome = Run::new(&program, 2).preload(tool("call_counter")).run();
        outcome.expect_success(flag);
        assert_eq!(outcome.lines(), ["an MPI of its own"; 2]);
        let line = "call-counter: did not see MPI start in this process, and counted nothing: MPI is linked \
                    statically into the program, which no preloaded tool can intercept\n";
        assert_eq!(outcome.stderr.matches(line).count(), 1, "{flag}: {}", outcome.stderr);
    }
}

/// A tool needs at most 16 KiB of the stack of a thread that calls MPI, besides what the MPI itself needs.
#[test]
fn threads_may_have_small_stacks() {
    let program = compile_with(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/small_stack.c"),
        "small_stack",
        &["-pthread"],
    );
    let run = |kib: u32| Run::new(&program, 2).arguments(&[&(kib << 10).to_string()]);
    // A thread has no less, and some MPIs need more.
    let least = [16, 32, 64].into_iter().find(|kib| run(*kib).run().status == Some(0));
    let kib = least.unwrap_or(128) + 16;
    for name in
        ["call_counter", "bandwidth_counter", "mpi_profile", "mpi_trace", "mpi_watch", "mpi_check"]
    {
        run(kib).preload(tool(name)).run().expect_success(&format!("{name}, {kib} KiB"));
    }
}

/// What nobody reads is lost, and the program goes on.
#[test]
fn a_reader_that_is_gone_ends_no_program() {
    let source = build_folder().join("quiet.c");
    let c = "#include <mpi.h>\nint main(int argc, char **argv) {
        MPI_Init(&argc, &argv); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }";
    fs::write(&source, c).unwrap();
    let program = compile_with(&source, "quiet", &[]);
    for name in ["call_counter", "mpi_profile", "mpi_trace", "mpi_watch", "mpi_check"] {
        for stream in ["stderr", "stdout"] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let folder = tempfile::tempdir().unwrap();
            let mut command = Command::new(&program);
            command.current_dir(folder.path()).env("LD_PRELOAD", tool(name));
            command.env("MPI_TOOL_OUTPUT", stream);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            match stream {
                "stderr" => command.stderr(writer),
                _ => command.stdout(writer),
            };
            // Rust's own programs ignore the signal, and so would what they start.
            // SAFETY: `signal` may be called between `fork` and `exec`, and the default takes nothing of this program's.
            unsafe {
                std::os::unix::process::CommandExt::pre_exec(&mut command, || {
                    libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                    Ok(())
                });
            }
            let status = command.status().unwrap();
            assert!(status.success(), "{name}, {stream}: {status}");
        }
    }
}

#[test]
fn an_abort_leaves_the_report_of_its_rank() {
    let program = compile("abort");
    let plain = Run::new(&program, 3).run();
    let counted = Run::new(&program, 3).count().run();
    assert_eq!(counted.status, plain.status);
    let report =
        counted.reports.iter().find(|report| report["rank"] == 1).expect("rank 1's report");
    assert_eq!(report["complete"], false);
    assert_eq!(report["reason"], "MPI_Abort");
    for (name, calls) in &counted.expected {
        let counters = report["counters"].as_array().unwrap();
        let counter = counters.iter().find(|counter| counter["name"] == **name);
        let counter = counter.unwrap_or_else(|| panic!("{name} is not in {report}"));
        assert_eq!(counter["total"], *calls, "{name}");
    }
}

#[test]
fn an_abort_with_code_zero_leaves_a_report() {
    let outcome = same_as_plain("abort_zero", 1);
    assert_eq!(outcome.reports.len(), 1, "{}", outcome.stderr);
    assert_eq!(outcome.counted.get("MPI_Abort"), Some(&1));
}

#[test]
fn an_end_without_finalize_leaves_a_report_a_rank() {
    let program = compile("no_finalize");
    // Not the status: without any tool, MPICH's launcher reports 1 once in a hundred times, when it
    // sees the connection end before the process.
    let outcome = Run::new(&program, 1).count().run();
    assert_eq!(outcome.lines(), Run::new(&program, 1).run().lines(), "{}", outcome.stderr);
    assert_eq!(outcome.reports.len(), 1, "{}", outcome.stderr);
    assert_eq!(outcome.counted, outcome.expected);
    for report in &outcome.reports {
        assert_eq!(report["complete"], false);
        assert_eq!(report["ranks"], 1);
        assert_eq!(report["reason"], "the process ended without MPI_Finalize");
    }
}

#[test]
fn a_signal_leaves_a_report_and_the_status_it_had() {
    let outcome = same_as_plain("terminated", 1);
    assert_eq!(outcome.reports.len(), 1, "{}", outcome.stderr);
    assert_eq!(outcome.reports[0]["reason"], "SIGTERM");
    assert_eq!(outcome.counted, outcome.expected);
    let unwatched =
        Run::new(&compile("terminated"), 1).count().variable("MPI_TOOL_SIGNALS", "0").run();
    assert_eq!(unwatched.status, outcome.status);
    assert_eq!(unwatched.reports.len(), 0);
}

#[test]
fn a_signal_leaves_the_reports_of_all_tools() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("libsecond.so");
    fs::copy(tool("call_counter"), &copy).unwrap();
    // One without a report in front.
    let run = Run::new(&compile("terminated"), 1).preload(tool("empty_raw")).count().preload(&copy);
    let outcome = run.run();
    assert_eq!(outcome.reports.len(), 2, "{}", outcome.stderr);
}

/// A handler may have interrupted the tool's code anywhere, so it runs none of it.
#[test]
fn no_code_of_a_tool_runs_in_a_signal_handler() {
    let tool = example("tells_when_asked");
    let outcome = Run::new(&compile("terminated"), 1).preload(&tool).run();
    assert_eq!(outcome.status, Run::new(&compile("terminated"), 1).run().status);
    assert!(outcome.stderr.contains("barriers: 1\n"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("partial: SIGTERM"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("asked for"), "{}", outcome.stderr);
}

#[test]
fn a_second_init_ends_as_it_would() {
    let outcome = same_as_plain("init_twice", 1);
    if test_support::is_openmpi_4() {
        // It ends the process by `_exit`, of which nobody in the process hears.
        return;
    }
    assert!(!outcome.reports.is_empty(), "{}", outcome.stderr);
}

#[test]
fn a_forked_child_makes_no_report() {
    let outcome = same_as_plain("fork", 2);
    assert_eq!(outcome.reports.len(), 1, "{}", outcome.stderr);
    assert_eq!(outcome.counted, outcome.expected);
}

#[test]
fn calls_after_finalize_are_reported_too() {
    let outcome = same_as_plain("outside", 2);
    assert_eq!(outcome.counted, outcome.expected);
    let late = outcome.reports.iter().filter(|report| report["complete"] == false);
    for report in late.clone() {
        assert_eq!(report["reason"], "calls after the merged report");
    }
    assert_eq!(late.count(), 2, "{}", outcome.stderr);
}

#[test]
fn a_panic_names_tool_rank_and_function_and_aborts() {
    let program = compile("collectives_few");
    let outcome = Run::new(&program, 2).preload(example("panics")).run();
    assert_ne!(outcome.status, Some(0));
    let wanted = "panics: panic in MPI_Barrier on rank 1: rank 1 was not expected; aborting";
    assert!(outcome.stderr.contains(wanted), "{}", outcome.stderr);
    // On one rank there is nothing to panic about.
    Run::new(&program, 1).preload(example("panics")).run().expect_success("one rank");
}

#[test]
fn a_tool_can_answer_a_call_with_others_that_the_tools_below_see() {
    let program = compile("ring");
    let below = Run::new(&program, 2).preload(example("send_as_isend")).count().run();
    below.expect_success("send-as-isend");
    assert_eq!(below.counted.get("MPI_Send"), None);
    assert_eq!(below.counted["MPI_Isend"], below.expected["MPI_Send"]);
    assert_eq!(below.counted["MPI_Wait"], below.expected["MPI_Send"]);
    let above = Run::new(&program, 2).count().preload(example("send_as_isend")).run();
    assert_eq!(above.counted, above.expected);
}

/// `rmpi` in pmpi mode: no tool sees it, and it loads where there is no MPI.
#[test]
fn a_tool_can_use_rmpi() {
    let program = compile("ring");
    let outcome = Run::new(&program, 3).preload(example("sum_of_ranks")).count().run();
    outcome.expect_success("sum-of-ranks");
    assert!(outcome.stderr.contains("sum of ranks: 3"), "{}", outcome.stderr);
    assert_eq!(outcome.counted, outcome.expected);
    let without = Command::new("/bin/true")
        .env_remove("LD_LIBRARY_PATH")
        .env("LD_PRELOAD", example("sum_of_ranks"))
        .output()
        .unwrap();
    assert!(without.status.success() && without.stderr.is_empty(), "{without:?}");
}

#[test]
fn a_chain_is_two_layers_in_order() {
    let outcome = Run::new(&compile("collectives_few"), 2).preload(example("chain")).run();
    outcome.expect_success("chain");
    let line = |name: &str| {
        let line = outcome.stderr.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.strip_prefix(": ")).map(|count| count.parse::<u64>().unwrap())
    };
    assert_eq!(line("MPI_Ssend"), None, "{}", outcome.stderr);
    for name in ["MPI_Issend", "MPI_Wait"] {
        let own = outcome.expected.get(name).copied().unwrap_or(0);
        assert_eq!(line(name), Some(own + outcome.expected["MPI_Ssend"]), "{name}");
    }
    assert_eq!(line("MPI_Barrier"), Some(outcome.expected["MPI_Barrier"]));
}

#[test]
fn settings_that_mean_nothing_are_told_once_and_change_nothing() {
    let program = compile("ring");
    let run = Run::new(&program, 2)
        .preload(tool("call_counter"))
        .variable("MPI_TOOL_FORMATT", "json")
        .variable("MPI_TOOL_FORMAT", "xml");
    let outcome = run.run();
    outcome.expect_success("ring");
    assert_eq!(outcome.stderr.matches("MPI_TOOL_FORMATT is not an option").count(), 1);
    assert_eq!(outcome.stderr.matches("MPI_TOOL_FORMAT=xml: not a format").count(), 1);
    assert!(outcome.stderr.contains("MPI_Send: 200\n"), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, Run::new(&program, 2).run().stdout);
}

#[test]
fn a_report_that_cannot_be_written_goes_to_standard_error() {
    let program = compile("ring");
    for (path, reason) in [
        ("/dev/full", "no space left on device"),
        ("/no/such/folder/report", "no such directory"),
        ("/tmp", "is a directory"),
    ] {
        let run = Run::new(&program, 2)
            .preload(tool("call_counter"))
            .variable("MPI_TOOL_OUTPUT", path)
            .variable("MPI_TOOL_FORMAT", "json");
        let outcome = run.run();
        outcome.expect_success(path);
        let line = format!("call-counter: cannot write {path}: {reason}; it follows here\n");
        assert_eq!(outcome.stderr.matches(&line).count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("MPI_Send: 200\n"), "{}", outcome.stderr);
    }
}

#[test]
fn a_report_can_go_anywhere() {
    let program = compile("ring");
    let with = |name: &str, value: &str| {
        let run = Run::new(&program, 2).preload(tool("call_counter")).variable(name, value);
        (run.run(), run)
    };
    let (outcome, _) = with("MPI_TOOL_OUTPUT", "stdout");
    assert!(outcome.stdout.contains("MPI_Send: 200\n") && outcome.stderr.is_empty());
    let (outcome, _) = with("MPI_TOOL_OUTPUT", "none");
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("token 100\n", ""));
    // Where it is, is said when asked, once, and nothing else is: some compare what a program prints.
    let (outcome, run) = with("MPI_TOOL_OUTPUT", "a%t-%%.txt");
    let file = run.folder.path().join("acall-counter-%.txt");
    assert_eq!(outcome.stderr, "");
    for merge in ["1", "0"] {
        let run = Run::new(&program, 2).preload(tool("call_counter"));
        let run = run.variable("MPI_TOOL_OUTPUT", "calls").variable("MPI_TOOL_MERGE", merge);
        let stderr = run.variable("MPI_TOOL_VERBOSE", "1").run().stderr;
        assert_eq!(stderr.matches("call-counter: report in /").count(), 1, "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains("MPI_Send: 200\n"), "{text}");
    // Each rank for itself, without communication.
    let run = Run::new(&program, 2).count().variable("MPI_TOOL_MERGE", "0");
    let outcome = run.run();
    assert_eq!(outcome.reports.len(), 2);
    assert_eq!(outcome.counted, outcome.expected);
}

#[test]
fn a_tool_on_some_ranks_only_reports_without_merging() {
    // rank 0 with the tool, rank 1 without: with MPI_TOOL_MERGE=0 nobody waits for anybody.
    let program = compile("ring");
    let (env, none) = if is_openmpi() { ("-x", "") } else { ("-env", "") };
    let mut launcher = Command::new(setting("MPIEXEC"));
    launcher.args(["-n", "1"]).arg(env);
    if is_openmpi() {
        launcher.arg(format!("LD_PRELOAD={}", tool("call_counter").display()));
    } else {
        launcher.arg("LD_PRELOAD").arg(tool("call_counter"));
    }
    launcher.arg(&program).args([":", "-n", "1"]).arg(&program).arg(none);
    let output = test_support::output(launcher.env("MPI_TOOL_MERGE", "0"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("calls of rank 0 of 2 only, partial: MPI_TOOL_MERGE=0"), "{errors}");
}

/// A tool built for another ABI counts, says that it cannot merge, and harms nobody.
#[test]
fn a_tool_of_another_abi_reports_a_rank_at_a_time() {
    let other = if is_openmpi() { "mpich-5.0.2" } else { "openmpi-5.0.11" };
    let foreign = setting("MPI_TOOLS").with_file_name(other).join("libcall_counter.so");
    assert!(foreign.exists(), "{} is not built", foreign.display());
    let program = compile("ring");
    let outcome = Run::new(&program, 2).count_with(&foreign).run();
    outcome.expect_success("a tool of another ABI");
    assert_eq!(outcome.stdout, Run::new(&program, 2).run().stdout);
    assert_eq!(outcome.counted, outcome.expected);
    assert_eq!(outcome.reports.len(), 2);
    assert_eq!(outcome.reports[0]["reason"], "the tool was built for another ABI");
    assert_eq!(outcome.stderr.matches("reports cannot be merged over ranks").count(), 1);
}

/// A program that is not linked to MPI, and finds its functions in the process, as mpi4py does:
/// with the library loaded privately before, and with the tool's exports alone.
#[test]
fn mpi_that_is_loaded_late_is_seen() {
    let names = test_support::abi().library_names();
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    let source = build_folder().join("late.c");
    let c = format!(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n
        static const char *names[] = {{{}, 0}};
        int main(int argc, char **argv) {{
            for (int i = 0; argc > 1 && names[i]; i++) dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
            int (*version)(int *, int *) = dlsym(RTLD_DEFAULT, \"MPI_Get_version\");
            int (*init)(int *, char ***) = dlsym(RTLD_DEFAULT, \"MPI_Init\");
            int (*finalize)(void) = dlsym(RTLD_DEFAULT, \"MPI_Finalize\");
            if (!version || !init || !finalize) return 1;
            int a, b, wrong = version(&a, &b) || init(&argc, &argv) || finalize();
            return wrong || a < 3; }}",
        names.join(", ")
    );
    fs::write(&source, c).unwrap();
    let program = build_folder().join("late");
    let cc = Command::new("cc").arg("-o").arg(&program).arg(&source).arg("-ldl").status().unwrap();
    assert!(cc.success());
    for arguments in [&[][..], &["privately"]] {
        for (before, behind) in [(false, false), (true, false), (false, true)] {
            let mut run = Run::new(&program, 2).arguments(arguments);
            if before {
                run = run.preload(tool("empty_raw"));
            }
            run = run.count();
            if behind {
                run = run.preload(tool("empty_raw"));
            }
            let outcome = run.run();
            outcome.expect_success("late");
            for name in ["MPI_Get_version", "MPI_Init", "MPI_Finalize"] {
                assert_eq!(outcome.counted.get(name), Some(&2), "{name}\n{}", outcome.stderr);
            }
            let merged = if is_openmpi() { 2 } else { 1 };
            assert_eq!(outcome.reports.len(), merged, "{}", outcome.stderr);
        }
    }
}

/// Other tools, threads and signal handlers have addresses in a tool.
#[test]
fn a_tool_that_is_closed_stays_loaded() {
    let program = compile("closed");
    let files = ["empty_raw", "call_counter", "qmpi"].map(tool).into_iter();
    for file in files.chain([universal("call_counter")]) {
        let output = Command::new(&program).arg(&file).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "it stays\n", "{file:?}: {output:?}");
        assert_eq!(output.status.code(), Some(0), "{file:?}: {output:?}");
    }
}

#[test]
fn help_lists_every_option() {
    let output = Command::new("/bin/true")
        .env("LD_PRELOAD", tool("call_counter"))
        .env("MPI_TOOL_HELP", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    for option in ["OUTPUT", "FORMAT", "MERGE", "SIGNALS", "ALL_RANKS", "VERBOSE", "HELP"] {
        assert!(text.contains(&format!("MPI_TOOL_{option} ")), "{text}");
    }
    assert_eq!(output.status.code(), Some(0));
}
