//! Stacks in real MPI programs, stack files, and everything that can be wrong with them.

mod stack;

use std::fs;
use std::path::Path;
use std::process::Command;

use stack::{
    compile, count, expect_bad_level, expect_fine, expect_skip, expect_stop, program, with_library,
    with_tools,
};
use test_support::{Run, build_folder, example, is_openmpi, setting, tool, universal};

/// With a stack file in the folder of the run.
fn with_file(text: &str) -> Run {
    let run = Run::new(program(), 2).preload(tool("qmpi"));
    let file = run.folder.path().join("stack.toml");
    fs::write(&file, text).unwrap();
    run.variable("QMPI_STACK", file.to_str().unwrap())
}

/// What the C tool says of a level: calls of Comm_rank and of Send on a rank.
fn c_line(level: usize, rank: usize) -> String {
    format!("count: level {level} on rank {rank}: {} ranks, {} sends", 4 + rank, 10 * (1 - rank))
}

#[test]
fn tools_of_both_kinds_count_on_real_ranks() {
    let counter = tool("call_counter");
    let outcome =
        with_tools(&[count(), &counter, count(), &counter, &tool("empty_raw"), count()]).run();
    expect_fine(&outcome);
    for level in [1, 3, 6] {
        for rank in 0..2 {
            let line = c_line(level, rank);
            assert_eq!(outcome.stderr.matches(&line).count(), 1, "{line}\n{}", outcome.stderr);
        }
    }
    for name in ["call-counter-1", "call-counter-2"] {
        let (_, report) = outcome
            .stderr
            .split_once(&format!("# {name} 0.1.0: calls, summed over 2 ranks\n"))
            .unwrap();
        let report: Vec<_> = report.lines().take_while(|line| line.starts_with("MPI_")).collect();
        assert!(report.contains(&"MPI_Comm_rank: 9"), "{report:?}");
        assert!(report.contains(&"MPI_Send: 10"), "{report:?}");
        assert!(report.contains(&"MPI_Init: 2"), "{report:?}");
    }
}

/// A universal `libqmpi.so` opens the one for this MPI, and levels that are universal builds are those
/// beside them.
#[test]
fn universal_builds_are_the_builds_beside_them() {
    let counter = universal("call_counter");
    let ours = [counter.as_path(), &tool("empty_raw"), &tool("call_counter")];
    // Tools for TUM's library look for its functions among those that are there for all, where a library
    // that was opened for one has none.
    let all = [&ours[..], &[count()]].concat();
    for (libqmpi, tools) in [(tool("qmpi"), &all[..]), (universal("qmpi"), &ours)] {
        let outcome = with_library(&libqmpi, tools).run();
        expect_fine(&outcome);
        for rank in 0..2 {
            let lines = outcome.stderr.matches(&c_line(4, rank)).count();
            assert_eq!(lines, tools.len() - ours.len(), "{}", outcome.stderr);
        }
        for name in ["call-counter-1", "call-counter-2"] {
            let title = format!("# {name} 0.1.0: calls, summed over 2 ranks\n");
            let (_, report) = outcome.stderr.split_once(&title).unwrap();
            let report: Vec<_> =
                report.lines().take_while(|line| line.starts_with("MPI_")).collect();
            assert!(report.contains(&"MPI_Comm_rank: 9"), "{report:?}");
            assert!(report.contains(&"MPI_Send: 10"), "{report:?}");
        }
    }
}

#[test]
fn three_hundred_levels_in_a_real_program() {
    let counter = tool("call_counter");
    for tool in [counter.as_path(), count()] {
        let counts = tempfile::tempdir().unwrap();
        let run = with_tools(&vec![tool; 300])
            .variable("QMPI_VERBOSE", "1")
            .variable("COUNT_DIR", counts.path().to_str().unwrap())
            .variable("MPI_TOOL_OUTPUT", "r-%t.csv")
            .variable("MPI_TOOL_FORMAT", "csv");
        let outcome = run.run();
        expect_fine(&outcome);
        // Memory is reported, in all and for each level.
        let line = outcome.stderr.lines().find(|line| line.contains("300 levels, ")).unwrap();
        assert!(line.contains(" bytes (") && line.contains(" a level), made in "), "{line}");
        if tool == counter {
            for level in 1..=300 {
                let report = run.folder.path().join(format!("r-call-counter-{level}.csv"));
                let report = fs::read_to_string(&report).unwrap();
                for wanted in ["MPI_Comm_rank,communicator,9,", "MPI_Send,point-to-point,10,"] {
                    assert!(report.contains(wanted), "level {level}: {report}");
                }
            }
        } else {
            for rank in 0..2 {
                let said = fs::read_to_string(counts.path().join(rank.to_string())).unwrap();
                for level in 1..=300 {
                    let line = format!("{}\n", c_line(level, rank));
                    assert_eq!(said.matches(&line).count(), 1, "{line}");
                }
            }
        }
    }
}

#[test]
fn a_stack_file_names_levels_and_gives_them_options_ranks_and_functions() {
    let (counter, c) = (tool("call_counter"), count());
    let run = with_file(&format!(
        "[[level]]\npath = {counter:?}\nname = \"before\"\n\
         options = {{ output = \"before.json\", format = \"json\" }}\n\n\
         [[level]]\npath = {c:?}\nranks = 1\n\n\
         [[level]]\npath = {c:?}\nfunctions = [\"MPI_Comm_*\", \"MPI_Finalize\"]\n\n\
         [[level]]\npath = {counter:?}\nname = \"sends\"\n\
         functions = [\"MPI_Send\"]\noptions = {{ output = \"sends.csv\", format = \"csv\" }}\n\n\
         [[level]]\npath = {counter:?}\nranks = \"1-7\"\n\
         options = {{ output = \"one-%t.csv\", format = \"csv\" }}\n",
    ));
    let outcome = run.run();
    expect_fine(&outcome);
    let read = |name: &str| fs::read_to_string(run.folder.path().join(name)).unwrap();

    let before: serde_json::Value = serde_json::from_str(&read("before.json")).unwrap();
    assert_eq!(before["tool"], "before");
    assert_eq!(before["ranks"], 2);
    // The level sees one function, and still knows when MPI starts and ends.
    let sends = read("sends.csv");
    let rows: Vec<_> = sends.lines().skip(1).collect();
    assert_eq!(rows.len(), 1, "{sends}");
    assert!(
        rows[0].contains(",sends,") && rows[0].contains("MPI_Send,point-to-point,10,"),
        "{sends}"
    );
    // On one rank, so it did not merge.
    let one = read("one-call-counter.csv.rank1");
    assert!(one.contains("MPI_Comm_rank,communicator,5,"), "{one}");
    assert!(!run.folder.path().join("one-call-counter.csv.rank0").exists());

    let said = &outcome.stderr;
    assert!(!said.contains("on rank 0: 4 ranks, 10 sends"), "{said}");
    assert!(said.contains("count: level 2 on rank 1: 5 ranks, 0 sends"), "{said}");
    // Rank 0 has one level less above this one.
    assert!(said.contains("count: level 2 on rank 0: 4 ranks, 0 sends"), "{said}");
    assert!(said.contains("count: level 3 on rank 1: 5 ranks, 0 sends"), "{said}");
}

#[test]
fn a_path_that_is_not_there() {
    expect_bad_level(Path::new("/nowhere/libtool.so"), "no such file");
    // 300 characters, in folders that may exist.
    let long = format!("/{}/libtool.so", ["a"; 144].join("/"));
    assert_eq!(long.len(), 299);
    expect_bad_level(Path::new(&long), "no such file");
}

#[test]
fn a_path_of_three_hundred_characters_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut path = folder.path().to_owned();
    while path.as_os_str().len() < 290 {
        path.push("folder");
    }
    fs::create_dir_all(&path).unwrap();
    path.push("libtool.so");
    assert!(path.as_os_str().len() >= 300);
    for original in [tool("call_counter"), count().to_owned()] {
        let _ = fs::remove_file(&path);
        fs::copy(&original, &path).unwrap();
        let outcome = with_tools(&[&path, &tool("call_counter"), &path]).run();
        expect_fine(&outcome);
        assert!(outcome.stderr.contains("MPI_Send: 10"), "{}", outcome.stderr);
    }
}

#[test]
fn a_file_that_is_no_shared_object() {
    expect_bad_level(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")),
        "not a shared object",
    );
    expect_bad_level(build_folder(), "a directory, not a shared object");
}

#[test]
fn a_shared_object_that_is_no_tool() {
    let none = compile("nothing.c", "libnothing.so", &["-shared", "-fPIC"]);
    expect_bad_level(
        &none,
        "not a tool: it exports neither get_interceptions, as QMPI tools do, nor",
    );
    // One of this framework that is made to be preloaded, and one that finds what is next in another way.
    expect_bad_level(&example("chain"), "made by install_pmpi_layer!");
    let chain = Path::new("../../../../bench-harness/c/chain.c");
    let chain = compile(chain.to_str().unwrap(), "libchain.so", &["-shared", "-fPIC", "-ldl"]);
    expect_bad_level(&chain, "a PMPI tool that calls no PMPI_ function itself");
}

/// As compiled, twice, in the middle of a stack of all kinds; what a level calls, those below see.
#[test]
fn ordinary_pmpi_tools_are_levels() {
    let counter = tool("call_counter");
    for flags in ["-Wl,-z,lazy", "-Wl,-z,now"] {
        let name = format!("libpmpi{}.so", &flags[7..]);
        let pmpi = compile("pmpi_count.c", &name, &["-shared", "-fPIC", "-Wl,-z,relro", flags]);
        let levels = [&counter, &pmpi, &counter, &pmpi, count(), &counter];
        let outcome = with_tools(&levels.map(AsRef::as_ref)).run();
        expect_fine(&outcome);
        let said = &outcome.stderr;
        for rank in 0..2 {
            let sends = 10 * (1 - rank);
            for ranks in [4 + rank, 5 + rank] {
                let line = format!("pmpi: rank {rank}: {ranks} ranks, {sends} sends\n");
                assert!(said.contains(&line), "{line}\n{said}");
            }
            let line = format!("level 5 on rank {rank}: {} ranks, {sends} sends\n", 6 + rank);
            assert!(said.contains(&line), "{line}\n{said}");
        }
        for (number, ranks) in [(1, 9), (2, 11), (3, 13)] {
            let (_, report) = said.split_once(&format!("# call-counter-{number} ")).unwrap();
            let report: Vec<_> =
                report.lines().skip(1).take_while(|line| line.starts_with("MPI_")).collect();
            let ranks = format!("MPI_Comm_rank: {ranks}");
            assert!(report.contains(&&*ranks), "{ranks}\n{said}");
            assert!(report.contains(&"MPI_Send: 10"), "{said}");
        }
    }
}

#[test]
fn a_tool_for_another_abi() {
    let (name, abi) =
        if is_openmpi() { ("mpich-5.0.2", "mpich") } else { ("openmpi-5.0.11", "openmpi") };
    let other = setting("MPI_TOOLS").parent().unwrap().join(name).join("libcall_counter.so");
    let what = format!(
        "built for the {abi} ABI, but the MPI of this program has the {} ABI",
        test_support::abi().name()
    );
    expect_bad_level(&other, &what);

    // A tool in C brings its MPI along, by name; that must not be loaded.
    let fake = build_folder().join("fake");
    fs::create_dir_all(&fake).unwrap();
    let library = if is_openmpi() { "libmpi.so.12" } else { "libmpi.so.40" };
    let run = |arguments: &[&str]| {
        let done = Command::new("cc").args(arguments).current_dir(&fake).status().unwrap();
        assert!(done.success());
    };
    fs::write(fake.join("fake.c"), "int fake;").unwrap();
    fs::write(
        fake.join("tool.c"),
        "extern int fake; int *f = &fake; char *get_interceptions(int id) { return \"NULL\"; }",
    )
    .unwrap();
    run(&["-shared", "-fPIC", "fake.c", &format!("-Wl,-soname,{library}"), "-o", library]);
    run(&["-shared", "-fPIC", "tool.c", library, "-o", "libother.so"]);
    expect_bad_level(&fake.join("libother.so"), &what);
}

#[test]
fn a_name_that_does_not_resolve() {
    let tool = compile("unresolved.c", "libunresolved.so", &["-shared", "-fPIC"]);
    expect_bad_level(
        &tool,
        "it says that Missing_Send intercepts MPI_Send, but has no Missing_Send",
    );
}

#[test]
fn lists_with_nothing_in_them() {
    let counter = tool("call_counter");
    let counter = counter.to_str().unwrap();
    let run = |tools: &str| Run::new(program(), 2).preload(tool("qmpi")).variable("TOOLS", tools);
    expect_stop(&run(""), &["libqmpi: TOOLS is empty"]);
    expect_skip(run(""), &["libqmpi: TOOLS is empty"], false);
    for (tools, level) in
        [(format!("{counter}::"), 2), (format!(":{counter}"), 1), (format!("{counter}:"), 2)]
    {
        let line = format!("libqmpi: level {level} (): an empty path in TOOLS");
        expect_stop(&run(&tools), &[&line]);
        expect_skip(run(&tools), &[&line], true);
    }
}

#[test]
fn stack_files_with_mistakes() {
    let counter = tool("call_counter");
    let good = format!("[[level]]\npath = {counter:?}\n");
    for (more, wanted) in [
        ("[[level]]\npath = \"/x/y.so\"\nrank = 1\n", "level 2 (/x/y.so): unknown field `rank`"),
        ("[[level]]\nname = \"x\"\n", "level 2 (no path): missing field `path`"),
        ("[[level]]\npath = \"\"\n", "level 2 (): an empty path"),
        (
            "[[level]]\npath = \"/x.so\"\nranks = \"3-1\"\n",
            "level 2 (/x.so): ranks = \"3-1\": \"3-1\" is neither",
        ),
        (
            "[[level]]\npath = \"/x.so\"\nfunctions = [\"MPI_Sned\"]\n",
            "level 2 (/x.so): functions: \"MPI_Sned\" is not the name of an MPI",
        ),
        (
            "[[level]]\npath = \"/x.so\"\noptions = { colour = 1 }\n",
            "level 2 (/x.so): no such file",
        ),
        (
            &format!("{good}options = {{ format = \"csv\", colour = 1 }}\n"),
            ": colour is no option of this tool; its options are output, format, merge, signals, all_ranks, verbose",
        ),
        (
            &format!("{good}options = {{ format = 1.5 }}\n"),
            ": options: format is not a text, a number from 0, true or false",
        ),
        (
            "[[level]]\npath = \"/x.so\"\nranks = 0\noptions = { merge = true }\n",
            "level 2 (/x.so): a level on some of the ranks cannot merge",
        ),
    ] {
        expect_stop(&with_file(&format!("{good}{more}")), &[wanted]);
        expect_skip(with_file(&format!("{good}{more}")), &[wanted], true);
    }
    expect_stop(&with_file("level = 3 4"), &["stack.toml: TOML parse error"]);
    let missing =
        Run::new(program(), 2).preload(tool("qmpi")).variable("QMPI_STACK", "/nowhere/stack.toml");
    expect_stop(&missing, &["libqmpi: /nowhere/stack.toml: cannot be read"]);
    let both = with_file(&good).variable("TOOLS", "/x.so");
    expect_stop(&both, &["libqmpi: TOOLS and QMPI_STACK are both set"]);
}

/// A setting of a tool's own, of two levels of the same tool: no call takes hours, and each takes nothing or more.
#[test]
fn levels_have_settings_of_their_tools_own() {
    let slow = example("slow_calls");
    let level = |name: &str, microseconds: u64| {
        format!(
            "[[level]]\npath = {slow:?}\nname = {name:?}\n\
             options = {{ microseconds = {microseconds}, output = \"{name}.csv\", format = \"csv\" }}\n"
        )
    };
    let run = with_file(&(level("none", 0) + &level("hours", 3_600_000_000)))
        .variable("MPI_TOOL_SLOW_CALLS_MICROSECONDS", "3600000000");
    expect_fine(&run.run());
    let read = |name: &str| fs::read_to_string(run.folder.path().join(name)).unwrap();
    assert!(read("none.csv").contains(",MPI_Send,point-to-point,10,"), "{}", read("none.csv"));
    assert_eq!(read("hours.csv").lines().count(), 1, "{}", read("hours.csv"));
}

/// Relative to the file, wherever the program runs.
#[test]
fn paths_in_a_stack_file_are_relative_to_it() {
    let run = with_file("[[level]]\npath = \"./tools/libtool.so\"\n");
    let tools = run.folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::copy(tool("call_counter"), tools.join("libtool.so")).unwrap();
    let outcome = run.run();
    expect_fine(&outcome);
    assert!(outcome.stderr.contains("MPI_Send: 10"), "{}", outcome.stderr);
}

/// A level that calls the function that it intercepts, below it and from above; and other ones.
#[test]
fn levels_that_call_mpi_themselves() {
    let tool_c = compile("recursive.c", "librecursive.so", &["-shared", "-fPIC"]);
    let counter = tool("call_counter");
    let outcome = with_tools(&[&counter, &tool_c, &counter]).run();
    expect_fine(&outcome);
    let report = |name: &str| {
        let (_, report) = outcome.stderr.split_once(&format!("# {name} ")).unwrap();
        let lines = report.lines().skip(1).take_while(|line| line.starts_with("MPI_"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    // Nine calls of the application. The tool makes three calls below it of each call that it gets,
    // and once, while it is in the first one of a rank, calls from above.
    assert!(report("call-counter-1").contains(&"MPI_Comm_rank: 11".into()), "{}", outcome.stderr);
    assert!(report("call-counter-2").contains(&"MPI_Comm_rank: 33".into()), "{}", outcome.stderr);
}

/// A tool that calls what it intercepts from above, each time.
#[test]
fn a_tool_that_calls_itself_without_end_is_told() {
    let (tool_c, counter) =
        (compile("endless.c", "libendless.so", &["-shared", "-fPIC"]), tool("call_counter"));
    let run = with_tools(&[&counter, count(), &tool_c]);
    let line = format!("libqmpi: level 3 ({}): calls MPI through the top", tool_c.display());
    expect_stop(&run, &[&line]);
    // What an application does deep in its stack, on a thread's, and on one of its own, is its affair.
    let deep = compile("deep.c", "deep", &[]);
    let run = Run::new(&deep, 1).preload(tool("qmpi"));
    let outcome = run.variable("TOOLS", count().to_str().unwrap()).run();
    outcome.expect_success("the program");
    let calls = outcome.lines()[0].to_owned();
    assert!(calls.parse::<u32>().unwrap() > 3000, "{calls}");
    let line = format!("count: level 1 on rank 0: {calls} ranks");
    assert!(outcome.stderr.contains(&line), "{line}\n{}", outcome.stderr);
}

/// Processes that have no MPI, linked programs, and programs that were linked to the library.
#[test]
fn it_loads_where_there_is_no_mpi_and_can_be_linked() {
    let counter = tool("call_counter");
    let output = Command::new("true")
        .env("LD_PRELOAD", tool("qmpi"))
        .env("TOOLS", "/nowhere/libtool.so")
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");

    let folder = setting("MPI_TOOLS");
    let folder = folder.to_str().unwrap();
    let flags =
        [&format!("-L{folder}"), "-Wl,--no-as-needed", "-lqmpi", &format!("-Wl,-rpath,{folder}")];
    let linked = compile("program.c", "linked", &flags);
    let tools = format!("{}:{}", counter.display(), count().display());
    let outcome = Run::new(&linked, 2).variable("TOOLS", &tools).run();
    expect_fine(&outcome);
    assert!(outcome.stderr.contains("MPI_Send: 10"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(&c_line(2, 1)), "{}", outcome.stderr);
}

/// The variables that it understands, once, and nothing on standard output.
#[test]
fn help() {
    let output = Command::new("true")
        .env("LD_PRELOAD", tool("qmpi"))
        .env("QMPI_HELP", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    for name in ["TOOLS", "QMPI_STACK", "QMPI_ON_ERROR", "QMPI_VERBOSE", "QMPI_KEEP"] {
        assert!(said.contains(&format!("\n  {name} ")), "{said}");
    }
    assert!(output.stdout.is_empty());
}

/// A level's own report when a signal ends the process, for each of two levels.
#[test]
fn a_signal_leaves_reports_of_all_levels() {
    let source = compile("terminated.c", "terminated", &[]);
    let counter = tool("call_counter");
    let tools = format!("{0}:{0}", counter.display());
    let outcome = Run::new(&source, 0).preload(tool("qmpi")).variable("TOOLS", &tools).run();
    for name in ["call-counter-1", "call-counter-2"] {
        let wanted = format!(
            "# {name} 0.1.0: calls of rank 0 of 1 only, partial: SIGTERM\nMPI_Comm_rank: 1\n"
        );
        assert!(outcome.stderr.contains(&wanted), "{}", outcome.stderr);
    }
}
