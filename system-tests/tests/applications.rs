//! Programs that nobody here wrote.

use std::path::Path;
use std::process::Command;

use mpi_facts::Abi;
use test_support::profile::{is_as_counted, profile, profiled};
use test_support::{Run, TOOLS, setting, tool};

/// The Intel MPI Benchmarks, whose binaries are of MPICH's ABI: all benchmarks of all programs (but
/// `Stencil3D`, which wants eight ranks), the same numbers of messages with and without tools.
/// `IMB-MT` looks at the data that it receives; the others have no option for that.
#[test]
fn intel_mpi_benchmarks() {
    assert_eq!(test_support::abi(), Abi::Mpich, "`cargo xtask test` leaves this out on other ABIs");
    let small = ["-npmin", "2", "-iter", "4", "-iter_policy", "off", "-msglog", "4"];
    let messages = ["-iter", "4", "-msglog", "4", "-msgrd", "on", "-msgwr", "on"];
    let cases: [(&str, u32, &[&str]); 6] = [
        ("IMB-MPI1", 2, &small),
        ("IMB-NBC", 2, &small),
        ("IMB-RMA", 2, &small),
        ("IMB-P2P", 2, &messages),
        // Of no other number of ranks.
        ("IMB-P2P", 4, &messages),
        (
            "IMB-MT",
            2,
            &[
                "-thread_level",
                "multiple",
                "-check",
                "on",
                "-repeat",
                "4",
                "-warmup",
                "1",
                "-count",
                "1,16,256",
            ],
        ),
    ];
    let libraries = format!("{}:{}", mpich_libraries(), setting("OPENMP").display());
    for (name, ranks, limits) in cases {
        let program = setting("IMB").join(name);
        let run = |ranks| {
            Run::new(&program, ranks)
                .variable("LD_LIBRARY_PATH", &libraries)
                .variable("OMP_NUM_THREADS", "2")
        };
        // Also those that do not run unless they are asked for.
        let benchmarks = benchmarks(&run(0).arguments(&["-list"]).run().stdout);
        assert!(benchmarks.len() >= 8, "{name}: {benchmarks:?}");
        let benchmarks: Vec<_> = benchmarks
            .iter()
            .map(String::as_str)
            .filter(|name| *name != "Stencil3D" && (*name == "Stencil2D") == (ranks == 4))
            .collect();
        let run = || run(ranks).arguments(&benchmarks).arguments(limits);
        let plain = run().run();
        plain.expect_success("without tools");
        let rows = rows(&plain.stdout);
        for benchmark in &benchmarks {
            let of_it = rows.iter().filter(|(name, _)| name == benchmark).count();
            assert!(of_it > 0, "{benchmark} of {name} did not run:\n{}", plain.stdout);
        }
        let all = TOOLS.iter().map(|(tool, _)| *tool);
        let stacks = all.clone().map(|tool| vec![tool]).chain([all.collect()]);
        for tools in stacks {
            let what = format!("{name} with {}", tools.join(" and "));
            let mut tooled = run();
            let report = tooled.folder.path().join("report-%t.json");
            tooled = tooled
                .variable("MPI_TOOL_FORMAT", "json")
                .variable("MPI_TOOL_OUTPUT", report.to_str().unwrap());
            for name in &tools {
                tooled = tooled.preload(tool(name));
            }
            let are_all = tools.len() == TOOLS.len();
            if are_all {
                tooled = profiled(tooled).variable("MPI_TOOL_MPI_PROFILE_SIZE", "1");
            }
            let outcome = tooled.run();
            outcome.expect_success(&what);
            if are_all {
                is_as_counted(&profile(&tooled), &outcome, &what);
            }
            assert_eq!(self::rows(&outcome.stdout), rows, "{what}");
            // The check of IMB-MT says so, and lets the program end well.
            assert!(!outcome.stdout.contains("CHECK FAILURES"), "{what}:\n{}", outcome.stdout);
            assert!(!outcome.stderr.contains("CHECK FAILURES"), "{what}:\n{}", outcome.stderr);
            let reporting =
                TOOLS.iter().filter(|(name, reports)| reports.is_some() && tools.contains(name));
            assert_eq!(outcome.reports.len(), reporting.count(), "{what}: {}", outcome.stderr);
            for report in &outcome.reports {
                assert_eq!(report["complete"], true, "{what}: {report}");
                assert_eq!(report["ranks"], ranks, "{what}: {report}");
            }
            if tools.contains(&"call_counter") {
                let finalized = outcome.counted["MPI_Finalize"];
                assert_eq!(finalized, u64::from(ranks), "{what}: {:?}", outcome.counted);
            }
        }
    }
}

/// The names in what a program of the benchmarks answers to `-list`.
fn benchmarks(list: &str) -> Vec<String> {
    list.lines()
        // "    Uniband (non-default)", or "# PingPong"; some have an indented explanation.
        .filter_map(|line| line.strip_prefix("    ").or_else(|| line.strip_prefix("# ")))
        .filter(|line| !line.starts_with(' ') && !line.ends_with(':'))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// The rows of the tables: which benchmark's, and the first columns, bytes and repetitions. Times
/// differ.
fn rows(text: &str) -> Vec<(String, Vec<u64>)> {
    let mut benchmark = String::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# Benchmarking ") {
            // "Stencil2D (2 x 2)"
            benchmark = name.split_whitespace().next().unwrap().to_owned();
        }
        let words: Vec<_> = line.split_whitespace().collect();
        if words.len() < 2 || words.iter().any(|word| word.parse::<f64>().is_err()) {
            continue;
        }
        // Barriers send no bytes, and have one column less.
        let columns = words.iter().take(2).map_while(|word| word.parse().ok()).collect();
        rows.push((benchmark.clone(), columns));
    }
    rows
}

/// The folders with the `libmpi.so.12` that the benchmarks want: Debian calls it `libmpich.so.12`.
fn mpich_libraries() -> String {
    let folders = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    if !test_support::is_debian() {
        return folders;
    }
    let renamed = test_support::build_folder().join("renamed");
    std::fs::create_dir_all(&renamed).unwrap();
    let library = folders
        .split(':')
        .chain(["/usr/lib/x86_64-linux-gnu"])
        .map(|folder| Path::new(folder).join("libmpich.so.12"))
        .find(|file| file.exists())
        .expect("Debian's MPICH has a libmpich.so.12");
    let _ = std::os::unix::fs::symlink(library, renamed.join("libmpi.so.12"));
    format!("{}:{folders}", renamed.display())
}

/// A program behind `bash`, as job scripts start them: one report, and nothing of the shell.
#[test]
fn through_a_shell_script() {
    let program = test_support::compile("ring");
    let mut launcher = Command::new(setting("MPIEXEC"));
    let script = format!("for i in 1 2; do true; done; exec {}", program.display());
    launcher.args(["-n", "2", "bash", "-c", &script]).env("LD_PRELOAD", tool("call_counter"));
    let output = test_support::output(&mut launcher);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert_eq!(errors.matches("MPI_Send: 200\n").count(), 1, "{errors}");
    assert_eq!(errors.matches("saw no").count(), 0, "{errors}");
}
