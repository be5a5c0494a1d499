//! Universal builds: one file under every MPI. `cargo xtask test` runs this under each of them, with the
//! same `target/tools/universal`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_facts::fortran::FortranEntry;
use mpi_facts::{Abi, FunctionId};
use test_support::{Run, build_folder, compile, compile_with, exported, setting, tool, universal};

/// Nobody says which MPI there is, and the program runs as it does alone, with each of its calls counted
/// once.
#[test]
fn programs_are_counted_without_a_word_on_their_mpi() {
    for (name, ranks) in
        [("attributes", 3), ("collectives", 3), ("errors", 2), ("p2p", 3), ("sessions", 3)]
    {
        let program = compile(name);
        let plain = Run::new(&program, ranks).run();
        let counted = Run::new(&program, ranks).count_with(&universal("call_counter")).run();
        let said = (&counted.stderr, name);
        assert_eq!((counted.status, counted.lines()), (plain.status, plain.lines()), "{said:?}");
        assert!(counted.expected.len() > 5, "{said:?}");
        assert_eq!(counted.counted, counted.expected, "{said:?}");
    }
}

/// A universal build of the call counter that no other test has opened: a process opens a file once.
fn counter(name: &str) -> PathBuf {
    let folder = build_folder().join(name);
    let builds = folder.join(test_support::abi().name());
    fs::create_dir_all(&builds).unwrap();
    let file = format!("lib{name}.so");
    fs::copy(tool("call_counter"), builds.join(&file)).unwrap();
    fs::copy(universal("call_counter"), folder.join(&file)).unwrap();
    folder.join(file)
}

/// An ordinary copy.
fn ordinary(name: &str) -> PathBuf {
    let file = build_folder().join(format!("lib{name}.so"));
    fs::copy(tool("call_counter"), &file).unwrap();
    file
}

#[test]
fn tools_before_and_behind_see_each_call_once() {
    let [a, b] = ["first", "second"].map(counter);
    let [c, d] = ["third", "fourth"].map(ordinary);
    let program = compile("p2p");
    let plain = Run::new(&program, 2).run();
    for tools in [vec![&a, &b], vec![&a, &c], vec![&c, &a], vec![&c, &a, &d, &b]] {
        let run = Run::new(&program, 2);
        let report = run.folder.path().join("report.json");
        let mut run = run
            .variable("MPI_TOOL_FORMAT", "json")
            .variable("MPI_TOOL_ALL_RANKS", "1")
            .variable("MPI_TOOL_OUTPUT", report.to_str().unwrap());
        for tool in &tools {
            run = run.preload(tool);
        }
        let outcome = run.run();
        let said = (&tools, &outcome.stderr);
        assert_eq!((outcome.status, outcome.lines()), (plain.status, plain.lines()), "{said:?}");
        assert_eq!(outcome.reports.len(), tools.len(), "{said:?}");
        for report in &outcome.reports {
            assert_eq!((&report["complete"], &report["ranks"]), (&true.into(), &2.into()));
            let counters = report["counters"].as_array().unwrap().iter();
            let counted: BTreeMap<_, _> = counters
                .map(|counter| {
                    let name = counter["name"].as_str().unwrap().to_owned();
                    (name, counter["total"].as_u64().unwrap())
                })
                .collect();
            assert_eq!(counted, outcome.expected, "{said:?}");
        }
    }
}

/// MPI comes by `dlopen`, for its user alone. Under Open MPI, too, the reports are merged.
#[test]
fn mpi_that_comes_late_is_found_at_the_first_call() {
    let program = build_folder().join("late");
    let source = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
    let mut cc = Command::new("cc");
    assert!(
        cc.arg("-o").arg(&program).arg(source("late.c")).arg("-ldl").status().unwrap().success()
    );
    let module = compile_with(&source("late_module.c"), "late_module.so", &["-shared", "-fPIC"]);
    let run = || Run::new(&program, 2).arguments(&[module.to_str().unwrap()]);
    let plain = run().run();
    plain.expect_success("late");
    assert_eq!(plain.lines(), ["2 ranks, sum 1"]);
    let counters = ["late_first", "late_second"].map(counter);
    for tools in [&counters[..1], &counters] {
        let mut run = run();
        for tool in tools {
            run = run.preload(tool);
        }
        let report = run.folder.path().join("report.json");
        let outcome = run
            .variable("MPI_TOOL_FORMAT", "json")
            .variable("MPI_TOOL_ALL_RANKS", "1")
            .variable("MPI_TOOL_OUTPUT", report.to_str().unwrap())
            .run();
        outcome.expect_success("late");
        assert_eq!(outcome.lines(), plain.lines(), "{}", outcome.stderr);
        assert_eq!(outcome.reports.len(), tools.len(), "{}", outcome.stderr);
        for report in &outcome.reports {
            assert_eq!((&report["complete"], &report["ranks"]), (&true.into(), &2.into()));
        }
        let known =
            [("Allreduce", 20), ("Comm_rank", 2), ("Comm_size", 2), ("Finalize", 2), ("Init", 2)];
        let all = known.map(|(name, calls)| (format!("MPI_{name}"), calls * tools.len() as u64));
        assert_eq!(outcome.counted, BTreeMap::from(all), "{}", outcome.stderr);
    }
}

#[test]
fn processes_without_mpi_are_left_alone() {
    let run = |variables: &[(&str, &str)]| {
        let mut bash = Command::new("bash");
        bash.args(["-c", "/bin/true; echo here"]).env("LD_PRELOAD", universal("call_counter"));
        let output = bash.envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success());
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run(&[]), ("here\n".to_owned(), String::new()));
    let (said, help) = run(&[("MPI_TOOL_HELP", "1")]);
    assert_eq!(said, "here\n");
    assert!(
        help.contains("MPI_TOOL_CALL_COUNTER_OUTPUT") && help.contains("universal build"),
        "{help}"
    );
}

#[test]
fn a_build_that_is_not_there_is_missed_in_one_line() {
    let folder = build_folder().join("alone");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("libcall_counter.so");
    fs::copy(universal("call_counter"), &file).unwrap();
    let program = compile("p2p");
    let plain = Run::new(&program, 2).run();
    let outcome = Run::new(&program, 2).preload(&file).run();
    assert_eq!((outcome.status, outcome.lines()), (plain.status, plain.lines()));
    let abi = test_support::abi().name();
    let missing = folder.join(abi).join("libcall_counter.so");
    let words = [
        format!("call-counter: the MPI of this program has the {abi} ABI"),
        format!("no {} ", missing.display()),
        "runs without this tool".into(),
    ];
    let of_tool: Vec<_> =
        outcome.stderr.lines().filter(|line| line.starts_with("call-counter")).collect();
    assert_eq!(of_tool.len(), 1, "{}", outcome.stderr);
    assert!(words.iter().all(|words| of_tool[0].contains(words)), "{}", of_tool[0]);
    // Others behind it, and in front of it, are not in its way.
    for order in [[&file, &tool("call_counter")], [&tool("call_counter"), &file]] {
        let mut run = Run::new(&program, 2).variable("MPI_TOOL_CALL_COUNTER_FORMAT", "json");
        let report = run.folder.path().join("report.json");
        run = run.variable("MPI_TOOL_CALL_COUNTER_OUTPUT", report.to_str().unwrap());
        let outcome = run.preload(order[0]).preload(order[1]).run();
        assert_eq!(outcome.lines(), plain.lines(), "{}", outcome.stderr);
        assert_eq!(outcome.counted, outcome.expected, "{}", outcome.stderr);
    }
    let silent = Run::new(&program, 2).preload(&file).variable("MPI_TOOL_OUTPUT", "none").run();
    assert!(!silent.stderr.contains("call-counter"), "{}", silent.stderr);
}

/// A link to a universal build, in a folder without builds, and a preload by a relative path.
#[test]
fn builds_are_found_beside_the_file_itself() {
    let link = build_folder().join("libcall_counter.so");
    symlink(universal("call_counter"), &link).unwrap();
    let program = compile("p2p");
    let outcome = Run::new(&program, 2).count_with(&link).run();
    assert_eq!(outcome.counted, outcome.expected, "{}", outcome.stderr);
    let run = Run::new(&program, 2);
    symlink(universal("call_counter").parent().unwrap(), run.folder.path().join("here")).unwrap();
    let outcome = run.count_with(Path::new("./here/libcall_counter.so")).run();
    assert_eq!(outcome.counted, outcome.expected, "{}", outcome.stderr);
}

/// The tool's build is preloaded, too: a mistake, but no endless loop.
#[test]
fn a_build_that_is_preloaded_too_counts_alone() {
    let program = compile("p2p");
    let both = [universal("call_counter"), {
        // By the name that the universal build gives it.
        let file = universal("call_counter");
        file.with_file_name(test_support::abi().name()).join(file.file_name().unwrap())
    }];
    for order in [[0, 1], [1, 0]] {
        let run = Run::new(&program, 2).preload(&both[order[0]]).count_with(&both[order[1]]);
        let outcome = run.run();
        outcome.expect_success("p2p");
        assert_eq!(outcome.counted, outcome.expected, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("is in this process already"), "{}", outcome.stderr);
    }
}

/// mpi4py asks for functions before it loads its MPI, and loads it for itself.
#[test]
fn mpi4py_is_counted_without_a_word_on_its_mpi() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/visibility/ring.py");
    let run = || {
        Run::new(Path::new("python3"), 2)
            .arguments(&[script.to_str().unwrap()])
            .variable("PYTHONPATH", setting("MPI4PY").to_str().unwrap())
    };
    let plain = run().run();
    plain.expect_success("ring.py");
    let counted = run().count_with(&universal("call_counter")).run();
    counted.expect_success("ring.py");
    assert_eq!(counted.lines(), plain.lines());
    assert_eq!(counted.reports.len(), 1, "{}", counted.stderr);
    assert_eq!(counted.reports[0]["complete"], true);
    // mpi4py takes MPI_X_c where MPI has it.
    let calls = |name: &str| -> u64 {
        let names = [format!("MPI_{name}"), format!("MPI_{name}_c")];
        names.iter().filter_map(|name| counted.counted.get(name)).sum()
    };
    for (name, each) in
        [("Irecv", 5), ("Isend", 5), ("Sendrecv", 5), ("Wait", 10), ("Allreduce", 1)]
    {
        assert_eq!(calls(name), 2 * each, "{name}: {:?}", counted.counted);
    }
}

/// One instruction for each function, whatever it is compiled with; and the names of all ABIs.
#[test]
fn each_function_is_one_jump() {
    let library = universal("call_counter");
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).arg(&library).output().unwrap();
        assert!(output.status.success(), "{program}");
        String::from_utf8(output.stdout).unwrap()
    };
    let code = run("objdump", &["--disassemble", "--no-show-raw-insn", "--section=.text"]);
    let mut lines = code.lines();
    let mut jumps = Vec::new();
    while let Some(line) = lines.next() {
        let name = line.strip_suffix(">:").and_then(|line| Some(line.split_once('<')?.1));
        let Some(name) = name.filter(|name| name.to_lowercase().starts_with("mpi_")) else {
            continue;
        };
        let first = lines.next().unwrap().split_once(":\t").unwrap().1;
        assert!(first.starts_with("jmp ") && first.contains("*0x"), "{name}: {first}");
        jumps.push(name);
    }
    let mut wanted: Vec<_> = exported().into_iter().map(FunctionId::name).collect();
    // Fortran's names under all ABIs.
    let fortran: BTreeSet<String> =
        Abi::ALL.into_iter().flat_map(FortranEntry::all).map(|entry| entry.name + "_").collect();
    wanted.extend(fortran.iter().map(String::as_str));
    wanted.sort_unstable();
    jumps.sort_unstable();
    assert_eq!(jumps, wanted);
    assert!(!run("readelf", &["--dynamic"]).contains("libmpi"));
}
