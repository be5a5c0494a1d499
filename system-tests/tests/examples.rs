//! The examples, and the programs of `tests/programs`, which check themselves, on one, two and four ranks of the MPI in use.

use std::env;
use std::path::Path;
use std::process::Command;

use test_support::program;

fn run(name: &str, ranks: usize) -> String {
    run_in(&[], name, ranks, &[], &[])
}

/// What rmpi sets itself: the programs run as a user's do, who set nothing.
const OURS: [&str; 5] = [
    "OMPI_MCA_pml_ob1_max_rdma_per_request",
    "OMPI_MCA_osc_rdma_priority",
    // What the tests' environment sets for Open MPI, and what would hide the same.
    "OMPI_MCA_smsc",
    "OMPI_MCA_btl_vader_single_copy_mechanism",
    "OMPI_MCA_btl_self_flags",
];

/// Runs a program in what takes a program to run, with arguments and settings.
fn run_in(
    wrapper: &[&str],
    name: &str,
    ranks: usize,
    arguments: &[&str],
    settings: &[(&str, &str)],
) -> String {
    // Twice as long as the longest of them takes.
    let seconds = if settings.is_empty() { "120" } else { "7200" };
    let mpiexec = env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    let mut command = Command::new("timeout");
    OURS.iter().for_each(|name| {
        command.env_remove(name);
    });
    // That is for the one test that says so.
    command.env_remove("RMPI_RANDOM_SECONDS");
    command
        .args(["--kill-after=5", seconds])
        .arg(mpiexec)
        .args(["-n", &ranks.to_string()])
        .args(wrapper)
        .arg(program(name))
        .args(arguments)
        .envs(settings.iter().copied());
    let output = test_support::output(&mut command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{name} on {ranks} ranks: {}\n{said}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

/// mpi-check finds nothing in right programs: all that rmpi has made for them is freed when MPI ends, also where somebody
/// else ends it.
#[test]
fn nothing_is_left_when_mpi_ends() {
    let tools = env::var("MPI_TOOLS").expect("run the tests by `cargo xtask test`");
    let preload = format!("LD_PRELOAD={tools}/libmpi_check.so");
    let wrapper = ["env", &preload, "MPI_TOOL_OUTPUT=stdout", "MPI_TOOL_MPI_CHECK_FAIL=1"];
    for (name, arguments) in [
        ("halo", &[][..]),
        ("typed_messages", &["typed"]),
        ("collectives", &[]),
        ("assumed", &[]),
        ("lent", &[]),
    ] {
        let said = run_in(&wrapper, name, 2, arguments, &[]);
        assert!(said.contains("mpi-check: nothing was found (2 ranks)"), "{name}: {said}");
        assert!(!said.contains("  note: "), "what was left out, {name}: {said}");
    }
}

/// Tools see one C function a wrapper, and nothing of `pmpi_mode`.
#[test]
fn every_wrapper_calls_what_it_says() {
    let tools = env::var_os("MPI_TOOLS").expect("run the tests by `cargo xtask test`");
    let output = Command::new(program("counted"))
        .env("LD_PRELOAD", Path::new(&tools).join("libcall_counter.so"))
        .output()
        .unwrap();
    let (said, counted) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{counted}");
    let calls = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("MPI_")).map(str::to_owned).collect()
    };
    assert_eq!(calls(&counted), calls(&said), "{counted}");
    assert!(calls(&said).len() > 10);
}

/// Tools see every byte of owned and typed messages, and no other.
#[test]
fn every_message_moves_what_it_says() {
    let tools = env::var_os("MPI_TOOLS").expect("run the tests by `cargo xtask test`");
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let output = Command::new(program("moved"))
        .env("LD_PRELOAD", Path::new(&tools).join("libbandwidth_counter.so"))
        .env("MPI_TOOL_BANDWIDTH_COUNTER_FORMAT", "json")
        .env("MPI_TOOL_BANDWIDTH_COUNTER_OUTPUT", &report)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let mut expected: Vec<&str> = said.lines().filter(|line| line.contains('|')).collect();
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let mut measured = Vec::new();
    for counter in report["counters"].as_array().unwrap() {
        let text = |field: &str| counter[field].as_str().unwrap();
        let (flow, datatype) = text("name").split_once(' ').unwrap();
        let total = &counter["total"];
        measured.push(format!("{}|{flow}|{}|{datatype} {total}", text("unit"), text("class")));
    }
    expected.sort_unstable();
    measured.sort();
    assert_eq!(measured, expected);
    assert!(measured.len() > 10);
}

/// One-sided communication of `counted`, in elements of 8 bytes: 2 put, 1 put with a request, 1 replaced
/// and 1 swapped are sent; 4 are combined with what is there; each of the two gets and of the four
/// functions that fetch receives 1.
#[test]
fn tools_see_every_byte_of_windows() {
    let tools = env::var_os("MPI_TOOLS").expect("run the tests by `cargo xtask test`");
    let output = Command::new(program("counted"))
        .env("LD_PRELOAD", Path::new(&tools).join("libbandwidth_counter.so"))
        .output()
        .unwrap();
    let counted = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{counted}");
    let one_sided: Vec<_> = counted.lines().filter(|line| line.contains("one-sided")).collect();
    let expected: Vec<_> = [("sent", 5), ("received", 6), ("reduced", 4)]
        .into_iter()
        .flat_map(|(flow, elements)| {
            let name = format!("{flow} MPI_INT64_T, one-sided");
            [format!("{name}: {elements} elements"), format!("{name}: {} bytes", 8 * elements)]
        })
        .collect();
    assert_eq!(one_sided, expected, "{counted}");
}

/// A minute of random datatypes, or as long as `RMPI_RANDOM_SECONDS` says, on two ranks with types of their own.
#[test]
fn random_types_for_a_minute() {
    let seconds = env::var("RMPI_RANDOM_SECONDS").unwrap_or_else(|_| "60".into());
    let said = run_in(&[], "random_types", 2, &[], &[("RMPI_RANDOM_SECONDS", &seconds)]);
    assert!(said.contains("right on 2 ranks"), "{said}");
}

/// As long as `RMPI_RANDOM_SECONDS` says, an hour if it says nothing; with other types each time.
#[test]
#[ignore = "takes an hour"]
fn random_types_for_an_hour() {
    let seconds = env::var("RMPI_RANDOM_SECONDS").unwrap_or_else(|_| "3600".into());
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = since.as_secs().to_string();
    let settings = [("RMPI_RANDOM_SECONDS", &*seconds), ("RMPI_RANDOM_SEED", &*seed)];
    println!("{}", run_in(&[], "random_types", 1, &[], &settings));
}

/// Where Open MPI does not look at ranks and tags itself, rmpi does.
#[test]
fn refusals_without_the_checks_of_mpi() {
    let unchecked = [("OMPI_MCA_mpi_param_check", "0")];
    for ranks in [1, 2] {
        let said = run_in(&[], "refusals", ranks, &[], &unchecked);
        assert!(said.contains("right on"), "{said}");
    }
}

/// The first process panics while the others wait for it: all of them end, and the message is there.
#[test]
fn a_panic_ends_all_processes() {
    let mpiexec = env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    for ranks in ["1", "2", "4"] {
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", "60", &mpiexec, "-n", ranks])
            .arg(program("panics"))
            .arg("alone");
        let output = test_support::output(&mut command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("the first process panics alone"), "{ranks} ranks: {said}");
        // That of a panic; the limit of time would be 124.
        assert_eq!(output.status.code(), Some(101), "{ranks} ranks: {said}");
    }
}

/// One process dies, and the others go on, under an MPI that lets them; under others, this says so.
#[test]
fn processes_go_on_where_one_has_failed() {
    if !test_support::is_openmpi() || test_support::is_openmpi_4() {
        println!("left out: this MPI ends all processes");
        return;
    }
    let mpiexec = env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    for (arguments, right) in [
        (&[][..], "failures: right on 4 ranks, with what MPI calls fault tolerance"),
        (&["one fails"], "failures: 3 of 4 went on"),
    ] {
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", "120", &mpiexec, "--with-ft", "ulfm", "-n", "4"])
            .arg(program("failures"))
            .args(arguments);
        // The launcher's status is that of the process that died.
        let output = test_support::output(&mut command);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(right), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Lengths that differ between processes: nothing is written behind the shorter buffer. The program ends
/// in the middle of an operation, so that only what it says counts, and what it did not come to say is no
/// news: MPI may have ended it, or wait.
#[test]
fn unequal_lengths_write_nothing_behind() {
    let mpiexec = env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    let operations = [
        "recv",
        "irecv",
        "self",
        "bcast",
        "gather",
        "scatter",
        "allgather",
        "alltoall",
        "allreduce",
        "scan",
    ];
    let mut said_something = 0;
    for operation in operations {
        for long in ["100", "1000", "100000"] {
            let mut command = Command::new("timeout");
            OURS.iter().for_each(|name| {
                command.env_remove(name);
            });
            let output = command
                .args(["--kill-after=2", "5", &mpiexec, "-n", "2"])
                .arg(program("unequal_lengths"))
                .args([operation, long])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            for line in said.lines().filter(|line| line.contains("words behind")) {
                assert!(line.contains(": 0 words behind"), "{long}: {line}");
                said_something += 1;
            }
        }
    }
    // Most do come so far.
    assert!(said_something > operations.len(), "{said_something} lines");
}

/// A process leaves a window while the others begin an epoch: nobody writes to what was given back. The program may
/// wait for ever then, so that only what it says counts.
#[test]
fn a_window_that_is_left_is_not_written_to() {
    let mpiexec = env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    for how in ["scope", "hints"] {
        let mut command = Command::new("timeout");
        OURS.iter().for_each(|name| {
            command.env_remove(name);
        });
        let output = command
            .args(["--kill-after=2", "10", &mpiexec, "-n", "2"])
            .arg(program("window_left"))
            .arg(how)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("rank 1 begins an epoch"), "{how}: {said}");
        for line in said.lines().filter(|line| line.contains("words changed")) {
            assert!(line.contains(": 0 words changed"), "{how}: {line}");
        }
    }
}

/// Whatever Open MPI takes to move messages and for windows, rmpi's own settings let it check lengths, and leave it what
/// windows need. Under other MPIs, they do nothing.
#[test]
fn windows_and_lengths_over_each_transport() {
    // Open MPI's choice; Debian's; and the oldest way of messages, with windows that take what it has for them.
    for settings in [
        &[][..],
        &[("OMPI_MCA_pml", "^ucx"), ("OMPI_MCA_osc", "^ucx,pt2pt")],
        &[("OMPI_MCA_pml", "ob1"), ("OMPI_MCA_osc", "^ucx")],
    ] {
        let mut wrapper = vec!["env"];
        // What the tests' environment says.
        wrapper.extend(OURS.iter().flat_map(|name| ["-u", *name]));
        if settings.is_empty() {
            wrapper.extend(["-u", "OMPI_MCA_pml", "-u", "OMPI_MCA_osc"]);
        }
        for arguments in [&[][..], &["multiple"]] {
            let said = run_in(&wrapper, "transports", 2, arguments, settings);
            assert!(said.contains("right on 2 ranks"), "{settings:?}: {said}");
        }
    }
}

/// Under valgrind; `cargo xtask test` leaves it out, and says so, where there is none, or where the MPI
/// has findings of its own.
#[test]
fn valgrind_finds_nothing() {
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/valgrind.supp");
    let known = format!("--suppressions={}", known.display());
    for name in NAMES {
        let said =
            run_in(&["valgrind", "--quiet", "--error-exitcode=9", &known], name, 2, &[], &[]);
        assert!(said.contains("right on 2 ranks"), "{said}");
    }
}

fn is_right(name: &str, ranks: usize) {
    let said = run(name, ranks);
    assert!(said.contains(&format!("right on {ranks} ranks")), "{said}");
}

macro_rules! examples {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    $(
        mod $name {
            #[test]
            fn on_1_rank() {
                super::is_right(stringify!($name), 1);
            }

            #[test]
            fn on_2_ranks() {
                super::is_right(stringify!($name), 2);
            }

            #[test]
            fn on_4_ranks() {
                super::is_right(stringify!($name), 4);
            }
        }
    )*

        /// A program that is not listed here would never run.
        #[test]
        fn all_examples_are_tested() {
            let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rmpi");
            let mut names: Vec<_> = ["examples", "tests/programs"]
                .into_iter()
                .flat_map(|folder| std::fs::read_dir(own.join(folder)).unwrap())
                .map(|file| file.unwrap().path())
                // Those of `side_by_side` are in a folder.
                .filter(|file| file.is_file())
                .map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            names.sort();
            assert_eq!(names, NAMES);
        }
    };
}

examples! {
    another_thread assumed attributes bounds changed_handles collectives counted datatypes disagreements errors extent
    failures files foreign_types forgotten from_c futures groups halo halo_object heat hints intercommunicators lent matrix_rows moved
    owned_buffers panics partitioned point_to_point random_types refusals ring sample_sort sessions threads tool_variables topologies
    transports
    typed_collectives typed_messages unequal_lengths unknown_lengths user_op values vectors window_left windows work
}

/// The programs of `docs/side-by-side.md` print what the page shows on four processes, and the same in each language.
mod side_by_side {
    use std::fs;
    use std::path::{Path, PathBuf};

    use test_support::{Run, compile_with, is_openmpi, program, setting};

    /// They are in alphabetical order.
    const PROGRAMS: [&str; 4] = ["array", "heat", "sort", "work"];

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../rmpi/examples/side_by_side")
    }

    fn page() -> String {
        fs::read_to_string(folder().join("../../../docs/side-by-side.md")).unwrap()
    }

    fn in_c(name: &str, ranks: u32) -> Run {
        let source = folder().join(format!("{name}.c"));
        // MPICH 4 declares `MPI_STATUSES_IGNORE` so that the compiler takes it for an array without room.
        let known = "-Wno-stringop-overflow";
        let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", known];
        Run::new(&compile_with(&source, &format!("side_by_side_{name}"), &flags), ranks)
    }

    fn in_python(name: &str, ranks: u32) -> Run {
        let source = folder().join(format!("{name}.py"));
        Run::new(Path::new("python3"), ranks)
            .arguments(&[source.to_str().unwrap()])
            .variable("PYTHONPATH", setting("MPI4PY").to_str().unwrap())
            .variable("MPI4PY_MPIABI", if is_openmpi() { "openmpi" } else { "mpich" })
    }

    fn in_rust(name: &str, ranks: u32) -> Run {
        Run::new(&program(&format!("side_by_side_{name}")), ranks)
    }

    /// What a program prints. If it is the one that writes a file: the file has the numbers from 0 on, in order.
    fn printed(program: impl Fn(&str, u32) -> Run, name: &str, ranks: u32) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("numbers");
        let mut run = program(name, ranks);
        if name == "array" {
            run = run.arguments(&[file.to_str().unwrap()]);
        }
        let outcome = run.run();
        outcome.expect_success(name);
        if name == "array" {
            let expected: Vec<u8> = (0..288).flat_map(|i| f64::from(i).to_ne_bytes()).collect();
            assert!(fs::read(file).unwrap() == expected, "{ranks} ranks");
        }
        outcome.stdout
    }

    fn print_the_same(program: impl Fn(&str, u32) -> Run) {
        let page = page();
        for name in PROGRAMS {
            for ranks in [2, 3] {
                let said = printed(&program, name, ranks);
                assert!(!said.is_empty(), "{name} on {ranks} ranks");
                assert_eq!(said, printed(in_c, name, ranks), "{name} on {ranks} ranks");
            }
            let start = format!("<!-- printed by {name} -->\n```text\n");
            let (_, shown) = page.split_once(&start).expect(name);
            let (shown, _) = shown.split_once("```").expect(name);
            assert_eq!(printed(&program, name, 4), shown, "{name} on 4 ranks");
        }
    }

    #[test]
    fn in_c_they_print_what_the_page_shows() {
        print_the_same(in_c);
        // The heat, and the work that is done, are the same on any number of processes.
        for name in ["heat", "work"] {
            assert_eq!(printed(in_c, name, 3), printed(in_c, name, 2));
        }
    }

    #[test]
    fn with_mpi4py_they_print_the_same() {
        print_the_same(in_python);
    }

    #[test]
    fn with_rmpi_they_print_the_same() {
        print_the_same(in_rust);
    }

    /// Each file stands on the page, and each is of a program that is run.
    #[test]
    fn the_page_has_the_files() {
        let page = page();
        let mut names = Vec::new();
        for entry in fs::read_dir(folder()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let language = match path.extension().unwrap().to_str().unwrap() {
                "c" => "c",
                "py" => "python",
                "rs" => "rust,no_run",
                other => panic!("{other} is none of the three languages"),
            };
            let text = fs::read_to_string(&path).unwrap();
            let block = format!("<!-- file {name} -->\n```{language}\n{text}```\n");
            assert!(page.contains(&block), "docs/side-by-side.md should have this:\n\n{block}");
            names.push(name);
        }
        names.sort();
        let all =
            PROGRAMS.iter().flat_map(|name| ["c", "py", "rs"].map(|end| format!("{name}.{end}")));
        assert_eq!(names, all.collect::<Vec<_>>());
        assert_eq!(page.matches("<!-- file ").count(), names.len());
    }
}
