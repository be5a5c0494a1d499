//! The examples, which check themselves, on one, two and four ranks of the MPI in use.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo put the examples when it built this test.
fn examples() -> PathBuf {
    let test = env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples")
}

fn run(name: &str, ranks: usize) -> String {
    run_in(&[], name, ranks)
}

/// Runs an example in what takes a program to run.
fn run_in(wrapper: &[&str], name: &str, ranks: usize) -> String {
    let mpiexec = env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    let output = Command::new("timeout")
        .args(["--kill-after=5", "120"])
        .arg(mpiexec)
        .args(["-n", &ranks.to_string()])
        .args(wrapper)
        .arg(examples().join(name))
        // Open MPI overruns too short a buffer with them: see examples/errors.rs.
        .env("OMPI_MCA_btl_self_flags", "1")
        .env("OMPI_MCA_smsc", "^cma,xpmem,knem")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{name} on {ranks} ranks: {}\n{said}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

/// Tools see one C function a wrapper, and nothing of `pmpi_mode`.
#[test]
fn every_wrapper_calls_what_it_says() {
    let tools = env::var_os("MPI_TOOLS").expect("run the tests by `cargo xtask test`");
    let output = Command::new(examples().join("counted"))
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
    let output = Command::new(examples().join("moved"))
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
    let output = Command::new(examples().join("counted"))
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

/// Under valgrind; `cargo xtask test` leaves it out, and says so, where there is none, or where the MPI
/// has findings of its own.
#[test]
fn valgrind_finds_nothing() {
    for name in NAMES {
        let said = run_in(&["valgrind", "--quiet", "--error-exitcode=9"], name, 2);
        assert!(said.contains("right on 2 ranks"), "{said}");
    }
}

macro_rules! examples {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    $(
        #[test]
        fn $name() {
            for ranks in [1, 2, 4] {
                let said = run(stringify!($name), ranks);
                assert!(said.contains(&format!("right on {ranks} ranks")), "{said}");
            }
        }
    )*

        /// An example that is not listed here would never run.
        #[test]
        fn all_examples_are_tested() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
            let mut names: Vec<_> = std::fs::read_dir(folder)
                .unwrap()
                .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            names.sort();
            assert_eq!(names, NAMES);
        }
    };
}

examples! {
    attributes collectives counted datatypes errors files forgotten groups intercommunicators matrix_rows
    moved owned_buffers point_to_point ring sessions threads topologies typed_messages user_op windows
}
