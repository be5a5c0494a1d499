//! mpi4py's own test suite: each test comes out the same with and without tools, on each rank, and mpi-check finds nothing
//! but what is wrong there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use test_support::profile::{is_as_counted, profiled, profiles};
use test_support::{Outcome, Run, TOOLS, is_openmpi, setting, tool};

/// Tests and modules that fail on their own: on how many ranks and more, and why.
const NEVER: [(&str, u32, &str); 3] = [
    ("test_util_sync.*", 2, "hangs now and then without tools"),
    ("test_util_pool.*.test_apply_async", 1, "fails on a busy machine: within two seconds"),
    ("test_util_pool.*.test_apply_async_timeout", 1, "fails on a busy machine: within 0.2 seconds"),
];

/// Modules that take seconds to minutes: on how many ranks and more. `cargo xtask test --long` runs
/// them.
const LONG: [(&str, u32); 17] = [
    // On Open MPI.
    ("test_spawn", 1),
    // Little MPI: compares NumPy's types with MPI's.
    ("test_util_dtlib", 2),
    ("test_cco_buf", 4),
    ("test_cco_nb_buf", 4),
    ("test_cco_nb_vec", 4),
    ("test_cco_ngh_buf", 4),
    ("test_cco_pr_buf", 4),
    ("test_cco_pr_ngh_buf", 4),
    ("test_cco_pr_vec", 4),
    ("test_cco_vec", 4),
    ("test_datatype", 4),
    ("test_io", 4),
    ("test_msgspec", 4),
    ("test_p2p_buf_part", 4),
    ("test_pack", 4),
    ("test_rma", 4),
    ("test_rma_nb", 4),
];

/// What is wrong in the suite, most of it on purpose, to see MPI's errors: the class of the finding, and a part of its
/// message, before the call with its arguments.
const WRONG: [(&str, &str); 13] = [
    ("invalid-argument", "_NULL"),
    ("invalid-argument", "MPI_KEYVAL_INVALID"),
    ("invalid-argument", "of a predefined"),
    ("invalid-argument", "the root is MPI_ANY_SOURCE"),
    ("invalid-argument", "the info object does not have the key"),
    ("invalid-argument", "n is 0, but the info object has 0 keys"),
    // The standard asks for at least one element in each dimension.
    ("invalid-argument", "is not in an array of 0"),
    // mpi4py itself sets an error handler before the request is complete, and so do functions that it makes of that one.
    ("invalid-argument", "does not exist before the request of MPI_Comm_idup"),
    // `MPI_BYTE` stands for itself only.
    ("datatype-mismatch", "MPI_UNSIGNED_CHAR"),
    // All ranks put to one place.
    ("rma-conflict", "puts by MPI_Put"),
    // mpi4py makes `MPIX_Comm_iagree` of it where MPI has none, and the suite has a barrier in another order.
    ("collective-mismatch", "MPI_Iallreduce on rank"),
    ("leak", "MPI_Info_create_env"),
    ("leak", "MPI_Get_hw_resource_info"),
];

/// Runs of one rank and of more would disturb each other on few cores.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn mpi4py_suite_on_one_rank() {
    same_with_tools(1);
}

#[test]
fn mpi4py_suite_on_two_ranks() {
    same_with_tools(2);
}

#[test]
fn mpi4py_suite_on_four_ranks() {
    same_with_tools(4);
}

fn long() -> bool {
    setting("LONG") == Path::new("1")
}

/// Runs the suite without tools, with all of them, and, where there is time, with each alone.
fn same_with_tools(ranks: u32) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let all: Vec<_> = TOOLS.iter().collect();
    let plain = || Suite::run(ranks, &[], Load::OnItsOwn);
    let tools = || Suite::run(ranks, &all, Load::First);
    let (plain, tools) = if ranks == 1 {
        std::thread::scope(|scope| {
            let plain = scope.spawn(plain);
            let tools = tools();
            (plain.join().unwrap(), tools)
        })
    } else {
        (plain(), tools())
    };
    tools.expect_reports(ranks, &all);
    let (profile, of_others) = tools.profiles.split_first().expect("mpi-profile has reported");
    // Only on one rank, other worlds are spawned.
    assert!(of_others.is_empty() || ranks == 1, "{of_others:?}");
    is_as_counted(profile, &tools.outcome, "mpi4py's suite");
    if ranks > 1 {
        tools.expect_findings();
    }
    tools.expect_same(&plain, "all tools");
    if long() {
        for one in all {
            let tools = Suite::run(ranks, &[one], Load::OnItsOwn);
            tools.expect_same(&plain, one.0);
        }
    }
}

/// How the program comes to its MPI.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    /// By `dlopen`, as mpi4py does.
    OnItsOwn,
    /// Open MPI's handles are known to a tool only if its library is there from the start, and
    /// without them reports are not merged.
    First,
}

/// A run of the suite.
struct Suite {
    outcome: Outcome,
    /// What came of each test, on each rank.
    results: Vec<BTreeMap<String, String>>,
    /// Reports of mpi-profile, which runs beside all other tools.
    profiles: Vec<serde_json::Value>,
    folder: tempfile::TempDir,
}

impl Suite {
    fn run(ranks: u32, tools: &[&(&str, Option<&str>)], load: Load) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/suite.py");
        let path = std::env::join_paths([setting("MPI4PY_SUITE"), setting("MPI4PY")]).unwrap();
        let mut run = Run::new(Path::new("python3"), ranks)
            .arguments(&[script.to_str().unwrap(), "results"])
            .seconds(if long() { 3600 } else { 900 })
            .variable("PYTHONPATH", path.to_str().unwrap())
            .variable("MPI4PY_MPIABI", if is_openmpi() { "openmpi" } else { "mpich" });
        for (tests, from, _) in NEVER {
            if ranks >= from {
                run = run.arguments(&["-x", tests]);
            }
        }
        for (module, from) in LONG {
            let takes_long = ranks >= from && (module != "test_spawn" || is_openmpi() || ranks > 1);
            if takes_long && !long() {
                run = run.arguments(&["-e", &format!(r"^{module}\.py$")]);
            }
        }
        let report = run.folder.path().join("report-%t.json");
        run = run
            .variable("MPI_TOOL_FORMAT", "json")
            .variable("MPI_TOOL_ALL_RANKS", "1")
            .variable("MPI_TOOL_OUTPUT", report.to_str().unwrap());
        for (name, _) in tools {
            run = run.preload(tool(name));
        }
        if tools.len() == TOOLS.len() {
            let findings = run.folder.path().join("findings.json");
            run = profiled(run)
                .preload(tool("mpi_check"))
                .variable("MPI_TOOL_MPI_CHECK_OUTPUT", findings.to_str().unwrap());
        }
        if load == Load::First && is_openmpi() {
            run = run.preload(openmpi_library());
        }
        let outcome = run.run();
        let results = (0..ranks).map(|rank| results(&run, rank, &outcome)).collect();
        let profiles = profiles(&run);
        Suite { outcome, results, profiles, folder: run.folder }
    }

    /// The tools that report have written one merged report, of all ranks.
    fn expect_reports(&self, ranks: u32, tools: &[&(&str, Option<&str>)]) {
        for name in tools.iter().filter_map(|(_, reports)| *reports) {
            let path = self.folder.path().join(format!("report-{name}.json"));
            let said = &self.outcome.stderr;
            let report = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}\n{said}", path.display()));
            let report: serde_json::Value = serde_json::from_str(&report).unwrap();
            assert_eq!(report["complete"], true, "{name}: {report}");
            assert_eq!(report["ranks"], ranks, "{name}: {report}");
            assert!(report["counters"].as_array().unwrap().len() > 10, "{name}: {report}");
        }
    }

    /// mpi-check has found what is wrong, and nothing else.
    fn expect_findings(&self) {
        let text = fs::read_to_string(self.folder.path().join("findings.json")).unwrap();
        let report = test_support::schema::report(&text);
        let findings = report["findings"].as_array().unwrap();
        assert!(findings.len() > 40, "{findings:?}");
        let is_wrong = |finding: &serde_json::Value| {
            let said = finding["message"].as_str().unwrap().split(", in MPI_").next().unwrap();
            WRONG.iter().any(|(class, part)| finding["class"] == *class && said.contains(part))
        };
        let others: Vec<_> = findings.iter().filter(|finding| !is_wrong(finding)).collect();
        assert!(others.is_empty(), "{others:#?}");
    }

    fn expect_same(&self, plain: &Suite, tools: &str) {
        let mut differences = String::new();
        for (rank, (with, without)) in self.results.iter().zip(&plain.results).enumerate() {
            let came_well = without.values().filter(|outcome| *outcome == "ok").count();
            assert!(came_well > 1000, "rank {rank}: only {came_well} tests come out well");
            let names = with.keys().chain(without.keys().filter(|name| !with.contains_key(*name)));
            for name in names {
                let [with, without] = [with, without]
                    .map(|results| results.get(name).map_or("not run", String::as_str));
                if with != without {
                    let _ = writeln!(
                        differences,
                        "rank {rank}: {name}: {without} without tools, {with} with {tools}"
                    );
                }
            }
        }
        let said = (&plain.outcome.stderr, &self.outcome.stderr);
        assert!(
            differences.is_empty(),
            "{differences}\nwithout tools:\n{}\nwith {tools}:\n{}",
            said.0,
            said.1
        );
        assert_eq!(self.outcome.status, plain.outcome.status, "{}\n{}", said.0, said.1);
    }
}

/// What a rank says of its tests.
fn results(run: &Run, rank: u32, outcome: &Outcome) -> BTreeMap<String, String> {
    let path = run.folder.path().join(format!("results.{rank}"));
    let text = fs::read_to_string(&path).unwrap_or_default();
    let mut lines: Vec<_> = text.lines().collect();
    let end = lines.pop();
    assert_eq!(
        end,
        Some("end"),
        "rank {rank} is not through\n{}\n{}",
        outcome.stdout,
        outcome.stderr
    );
    let mut results = BTreeMap::new();
    for line in lines {
        let (name, came) = line.split_once(' ').unwrap();
        // The setting up of a class has the name of no test, but may say more than one thing.
        let all: &mut String = results.entry(name.to_owned()).or_default();
        all.push_str(came);
    }
    results
}

/// Where Open MPI's library is.
fn openmpi_library() -> PathBuf {
    std::env::split_paths(&setting("LD_LIBRARY_PATH"))
        .map(|folder| folder.join("libmpi.so.40"))
        .find(|file| file.exists())
        .expect("LD_LIBRARY_PATH has Open MPI's library")
}
