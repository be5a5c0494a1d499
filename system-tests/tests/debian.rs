//! Debian's packages of real programs, with and without tools: what they compute stays the same, and
//! the call counter counts what a counter in C counts that knows no prototype (`c/independent.c`).
//!
//! `cargo xtask test` runs these under Debian's MPICH and Open MPI, which the programs are linked to,
//! with the tools of the other MPI of the same ABI; under MPICH without those named `_of_openmpi`.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use test_support::profile::{is_as_counted, profiled, profiles};
use test_support::{Outcome, Run, TOOLS, build_folder, is_openmpi, made, setting, tool};

/// The part of a program's words that is the same in every run.
type Printed = Box<dyn Fn(&str) -> Vec<String>>;

/// The part of a file that is the same in every run.
type Same = fn(&[u8]) -> Vec<u8>;

/// A program, and what is known of it.
struct Case {
    program: PathBuf,
    ranks: u32,
    arguments: Vec<&'static str>,
    /// Files that it reads: names and contents.
    inputs: Vec<(String, Vec<u8>)>,
    /// Files that it writes, each as the part that must be the same in every run.
    outputs: Vec<(&'static str, Same)>,
    /// The part of what it prints that must be the same in every run.
    printed: Printed,
    /// It calls these as often as time allows; they are compared within a run only.
    timed: &'static [&'static str],
}

/// What came of a run.
struct Result {
    outcome: Outcome,
    printed: Vec<String>,
    files: Vec<Vec<u8>>,
    /// Reports of mpi-profile, if it was there.
    profiles: Vec<serde_json::Value>,
}

impl Case {
    fn new(program: PathBuf, ranks: u32) -> Self {
        Self {
            program,
            ranks,
            arguments: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            printed: Box::new(|text| text.lines().map(str::to_owned).collect()),
            timed: &[],
        }
    }

    fn run(&self, prepare: impl FnOnce(Run) -> Run) -> Result {
        let run = Run::new(&self.program, self.ranks)
            .arguments(&self.arguments)
            .variable("OMP_NUM_THREADS", "1")
            .variable("OPENBLAS_NUM_THREADS", "1");
        for (name, contents) in &self.inputs {
            fs::write(run.folder.path().join(name), contents).unwrap();
        }
        let run = prepare(run);
        // MPICH's processes wait busily: not in the way of other tests'.
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = run.run();
        drop(alone);
        let what = self.program.display();
        outcome.expect_success(&what.to_string());
        let file = |(name, same): &(&str, Same)| {
            let path = run.folder.path().join(name);
            let contents = fs::read(&path).unwrap_or_else(|e| panic!("{what}: {name}: {e}"));
            assert!(!contents.is_empty(), "{what}: {name} is empty");
            same(&contents)
        };
        let files = self.outputs.iter().map(file).collect();
        let mut printed = (self.printed)(&outcome.stdout);
        printed.sort_unstable();
        Result { outcome, printed, files, profiles: profiles(&run) }
    }

    /// Runs it without tools, with the independent counter, the call counter, both, and all tools. Returns
    /// the calls, and how many bytes messages carried.
    fn transparent_and_exact(&self) -> (Counts, u64) {
        let what = self.program.file_name().unwrap().display();
        let plain = self.run(|run| run);
        let same = |result: &Result, with: &str| {
            let differences = result.printed.iter().zip(&plain.printed);
            let differences: Vec<_> = differences.filter(|(one, other)| one != other).collect();
            assert!(differences.is_empty(), "{what} with {with}: {differences:?}");
            assert_eq!(result.printed.len(), plain.printed.len(), "{what} with {with}");
            for ((name, _), (with_it, without)) in
                self.outputs.iter().zip(result.files.iter().zip(&plain.files))
            {
                assert!(with_it == without, "{what} with {with}: {name} is another one");
            }
        };
        let independent = self.run(|run| run.preload(independent_counter()));
        same(&independent, "the independent counter");
        let expected = independent.outcome.expected.iter();
        let expected = expected.fold(Counts::new(), |mut counts, (symbol, calls)| {
            *counts.entry(function_of(symbol)).or_default() += calls;
            counts
        });
        assert_eq!(expected.get("MPI_FINALIZE"), Some(&self.ranks.into()), "{what}: {expected:?}");

        let counted = self.run(Run::count);
        same(&counted, "call-counter");
        let of_counter = counts_of(&counted.outcome, "call-counter", self.ranks);
        let (stable, expected_stable) = (self.stable(&of_counter), self.stable(&expected));
        assert_eq!(stable, expected_stable, "{what}: counted, and what C counted");

        // One behind the other, where also those agree that depend on time.
        let both = self.run(|run| run.count().preload(independent_counter()));
        same(&both, "call-counter and the independent counter");
        let in_c = both.outcome.expected.iter();
        let in_c: Counts = in_c.map(|(name, calls)| (function_of(name), *calls)).collect();
        assert_eq!(counts_of(&both.outcome, "call-counter", self.ranks), in_c, "{what}");

        let all = self.run(|run| {
            let report = run.folder.path().join("report-%t.json").display().to_string();
            TOOLS
                .iter()
                .fold(profiled(run), |run, (name, _)| run.preload(tool(name)))
                .variable("MPI_TOOL_FORMAT", "json")
                .variable("MPI_TOOL_ALL_RANKS", "1")
                .variable("MPI_TOOL_OUTPUT", &report)
        });
        same(&all, "all tools");
        let of_all = counts_of(&all.outcome, "call-counter", self.ranks);
        assert_eq!(self.stable(&of_all), expected_stable, "{what} with all tools");
        let [profile] = &all.profiles[..] else { panic!("{what}: {:?}", all.profiles) };
        assert_eq!(profile["lost"], 0, "{what}");
        is_as_counted(profile, &all.outcome, &what.to_string());
        // Nothing is lost on the way.
        let bytes = |way: &str| {
            let counters = counters(&all.outcome, "bandwidth-counter", self.ranks);
            let of_way = counters.iter().filter(|counter| {
                counter["class"] == "point-to-point"
                    && counter["unit"] == "bytes"
                    && counter["name"].as_str().unwrap().starts_with(way)
            });
            of_way.map(|counter| counter["total"].as_u64().unwrap()).sum::<u64>()
        };
        assert_eq!(bytes("sent"), bytes("received"), "{what}");
        (expected, bytes("sent"))
    }

    fn stable(&self, counts: &Counts) -> Counts {
        let is_stable = |name: &str| !self.timed.iter().any(|timed| function_of(timed) == name);
        counts.iter().filter(|(name, _)| is_stable(name)).map(|(n, c)| (n.clone(), *c)).collect()
    }
}

/// Calls by function, in capitals, since Fortran's symbols do not tell which letters are.
type Counts = BTreeMap<String, u64>;

/// The function of a symbol of C or Fortran: of `MPI_Send` and of `mpi_send_`.
fn function_of(symbol: &str) -> String {
    symbol.trim_end_matches('_').to_uppercase()
}

fn counters<'a>(outcome: &'a Outcome, tool: &str, ranks: u32) -> &'a Vec<serde_json::Value> {
    let mut reports = outcome.reports.iter().filter(|report| report["tool"] == tool);
    let report = reports.next().unwrap_or_else(|| panic!("no report: {}", outcome.stderr));
    assert!(reports.next().is_none(), "several reports: {}", outcome.stderr);
    assert_eq!((&report["complete"], &report["ranks"]), (&true.into(), &ranks.into()));
    report["counters"].as_array().unwrap()
}

fn counts_of(outcome: &Outcome, tool: &str, ranks: u32) -> Counts {
    let counter = |counter: &serde_json::Value| {
        (function_of(counter["name"].as_str().unwrap()), counter["total"].as_u64().unwrap())
    };
    counters(outcome, tool, ranks).iter().map(counter).collect()
}

/// `c/independent.c` for the functions that Debian's MPI has.
fn independent_counter() -> &'static Path {
    static COUNTER: OnceLock<PathBuf> = OnceLock::new();
    COUNTER.get_or_init(|| {
        // What MPICH's Fortran library does, the counter sees by the C functions that it calls;
        // Open MPI's calls PMPI_ only.
        let libraries: &[_] = if is_openmpi() {
            &[("libmpi.so.40", "PMPI_"), ("libmpi_mpifh.so.40", "pmpi_")]
        } else {
            &[("libmpich.so.12", "PMPI_")]
        };
        let mut entries = String::new();
        for (library, beginning) in libraries {
            for symbol in symbols(&find_library(library)) {
                let of_c = *beginning == "PMPI_";
                // pmpi_send__ and others are for other compilers' names.
                let is_it = symbol.starts_with(beginning)
                    && (of_c || symbol.ends_with('_') && !symbol.ends_with("__"));
                if is_it {
                    writeln!(entries, "ENTRY({}, {symbol})", &symbol[1..]).unwrap();
                }
            }
        }
        let folder = build_folder().join("independent");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("entries.h"), entries).unwrap();
        let object = folder.join("libindependent.so");
        let mut cc = Command::new("cc");
        // Launchers have the functions' names only, and lack what they jump to.
        cc.args(["-O1", "-Wall", "-Werror", "-fPIC", "-shared", "-Wl,-z,lazy", "-o"]).arg(&object);
        cc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/independent.c"));
        made(cc.arg("-I").arg(&folder));
        object
    })
}

/// The functions that a library defines for others.
fn symbols(library: &Path) -> Vec<String> {
    let mut nm = Command::new("nm");
    let output = nm.args(["-D", "--defined-only"]).arg(library).output().expect("nm runs");
    assert!(output.status.success(), "{nm:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    // 0000000000050b20 W pmpi_send_
    let function = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        matches!(words.next(), Some("T" | "W")).then(|| words.next().unwrap().to_owned())
    };
    text.lines().filter_map(function).collect()
}

fn find_library(name: &str) -> PathBuf {
    let folders = env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let mut files = folders
        .split(':')
        .chain(["/usr/lib/x86_64-linux-gnu"])
        .map(|folder| Path::new(folder).join(name));
    files.find(|file| file.exists()).unwrap_or_else(|| panic!("{name} is not there"))
}

/// A file of the packages.
fn packaged(path: &str) -> PathBuf {
    let prefixes = setting("PROGRAMS");
    let mut files = env::split_paths(&prefixes).map(|prefix| prefix.join(path));
    files.find(|file| file.exists()).unwrap_or_else(|| panic!("no {path} in {prefixes:?}"))
}

fn same_bytes(contents: &[u8]) -> Vec<u8> {
    contents.into()
}

fn input(name: &str) -> Vec<u8> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    fs::read(programs.join(name)).unwrap()
}

/// LAMMPS, in C++: molecular dynamics, balancing, a minimization. Debian links it to Open MPI.
#[test]
fn debian_lammps_of_openmpi() {
    for ranks in [2, 4] {
        let mut case = Case::new(packaged("bin/lmp"), ranks);
        case.arguments = vec!["-in", "in.lammps"];
        case.inputs = vec![("in.lammps".into(), input("in.lammps"))];
        // All atoms, with places, velocities and types.
        case.outputs = vec![
            ("atoms.dump", same_bytes),
            ("atoms.data", same_bytes),
            ("atoms.restart", same_bytes),
        ];
        case.printed = Box::new(|text| {
            // How long things took: their lines, and the rows of the table of times.
            let is_time = |line: &&str| {
                ["Loop time", "Performance:", "Total wall time", "  create_atoms CPU"]
                    .iter()
                    .any(|beginning| line.starts_with(beginning))
                    || line.contains("% CPU use with")
                    || ["Pair", "Neigh", "Comm", "Output", "Modify", "Other"]
                        .iter()
                        .any(|part| line.starts_with(&format!("{part:8}|")))
            };
            let lines: Vec<_> =
                text.lines().filter(|line| !is_time(line)).map(str::to_owned).collect();
            // Two tables of six and two pairs of lines, and three lines once.
            assert_eq!(text.lines().count() - lines.len(), 12 + 4 + 3, "{text}");
            lines
        });
        let (counts, bytes) = case.transparent_and_exact();
        // It is what it is thought to be.
        assert!(counts["MPI_IRECV"] > 500 && counts["MPI_ALLREDUCE"] > 100, "{counts:?}");
        assert!(bytes > 1 << 20, "{bytes}");
    }
}

/// HPC Challenge, in C: LINPACK, transposition, random access, FFT, latency and bandwidth. Debian
/// links it to Open MPI.
#[test]
fn debian_hpcc_of_openmpi() {
    let mut case = Case::new(packaged("bin/hpcc"), 2);
    case.inputs = vec![("hpccinf.txt".into(), input("hpccinf.txt"))];
    case.outputs = vec![("hpccoutf.txt", |contents| {
        // What is not measured: the summary's other lines, and verdicts.
        let text = String::from_utf8_lossy(contents);
        let is_measured = |name: &str| {
            ["time", "Time", "GUPs", "flops", "GBs", "GBytes", "usec"]
                .iter()
                .any(|unit| name.ends_with(unit) || name.starts_with("MPIFFT_time"))
                || name.contains("STREAM_")
                    && !["VectorSize", "Threads"].iter().any(|n| name.ends_with(n))
        };
        let kept: Vec<_> = text
            .lines()
            .filter(|line| match line.split_once('=') {
                Some((name, _)) if !name.contains(' ') => !is_measured(name),
                _ => line.starts_with("Found ") || line.contains(" tests completed and "),
            })
            .collect();
        assert!(kept.contains(&"Success=1") && kept.len() > 100, "{text}");
        kept.join("\n").into_bytes()
    })];
    // Random access polls for messages, and takes as many updates at once as there are; the measurement of
    // latency and bandwidth repeats what is too short to be measured.
    case.timed = &[
        "MPI_Allreduce",
        "MPI_Bcast",
        "MPI_Get_count",
        "MPI_Iprobe",
        "MPI_Irecv",
        "MPI_Isend",
        "MPI_Recv",
        "MPI_Send",
        "MPI_Sendrecv",
        "MPI_Test",
        "MPI_Testany",
        "MPI_Wait",
        "MPI_Waitall",
        "MPI_Waitany",
        "MPI_Wtime",
    ];
    let (_, bytes) = case.transparent_and_exact();
    assert!(bytes > 1 << 20, "{bytes}");
}

/// NetPIPE, in C, with either MPI: messages of up to 64 KiB, so and so many of each size, by blocking calls, by
/// others, synchronous, from any source, in both directions at once, with a look at what they carry.
fn netpipe(options: &[&[&'static str]]) {
    let program = packaged(if is_openmpi() { "bin/NPopenmpi" } else { "bin/NPmpich2" });
    for options in options {
        let mut case = Case::new(program.clone(), 2);
        case.arguments = [&["-n", "20", "-u", "65536", "-o", "sizes"], *options].concat();
        if !options.contains(&"-i") {
            // The sizes, without how fast they were.
            case.outputs = vec![("sizes", |contents| {
                let text = String::from_utf8_lossy(contents);
                let sizes: Vec<_> =
                    text.lines().filter_map(|line| line.split_whitespace().next()).collect();
                assert!(sizes.len() > 80, "{text}");
                sizes.join(" ").into_bytes()
            })];
        }
        // Both ranks print in pieces of lines.
        case.printed = Box::new(|text| text.chars().map(String::from).collect());
        let (counts, bytes) = case.transparent_and_exact();
        assert!(bytes > 1 << 20, "{bytes}");
        let receives = ["MPI_RECV", "MPI_IRECV"].iter().filter_map(|name| counts.get(*name));
        assert!(receives.sum::<u64>() > 1000, "{counts:?}");
    }
}

#[test]
fn debian_netpipe() {
    netpipe(&[&[], &["-a"], &["-S"], &["-2", "-a"], &["-i"]]);
}

/// Under MPICH it hangs, also without tools.
#[test]
fn debian_netpipe_from_any_source_of_openmpi() {
    netpipe(&[&["-z"]]);
}

/// ScaLAPACK's tests, in Fortran over a library in C, with either MPI: of each kind of problem one, with the
/// package's own input, and how many of a row's decimals are times and speeds. From three processes on, BLACS
/// sums in the order of arrival: residuals differ from run to run, verdicts do not.
///
/// Returns how many bytes messages carried.
fn scalapack(ranks: u32, kinds: &[(&str, usize)]) -> u64 {
    let kind = if is_openmpi() { "openmpi" } else { "mpich" };
    let folder = packaged(&format!("lib/x86_64-linux-gnu/scalapack/{kind}-tests"));
    let mut all_bytes = 0;
    for &(name, times) in kinds {
        let program = folder.join(name);
        let mut case = Case::new(program.clone(), ranks);
        for file in fs::read_dir(program.parent().unwrap()).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|extension| extension == "dat") {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                case.inputs.push((name, fs::read(&file).unwrap()));
            }
        }
        case.printed = Box::new(move |text| {
            let failed = text.lines().find(|line| line.trim_end().ends_with("FAILED"));
            assert_eq!(failed, None);
            let lines: Vec<_> = text.lines().map(|line| without_times(line, times)).collect();
            let verdicts = if times == 0 { "  |  P" } else { "PASSED" };
            assert!(lines.iter().filter(|line| line.contains(verdicts)).count() > 5, "{text}");
            lines
        });
        // BLACS looks whether its buffers have been sent.
        case.timed = &["MPI_Testall", "MPI_Waitall"];
        all_bytes += case.transparent_and_exact().1;
    }
    all_bytes
}

#[test]
fn debian_scalapack() {
    let bytes = scalapack(
        2,
        &[
            ("xdqr", 2),
            ("xcnep", 2),
            ("xzpbllt", 4),
            ("xcinv", 3),
            ("PBLAS/dpb1tst", 0),
            ("PBLAS/zpb2tst", 0),
            ("PBLAS/spb3tst", 0),
        ],
    );
    // On two processes, some of them have collective operations only.
    assert!(bytes > 1 << 10, "{bytes}");
}

/// Under MPICH that takes minutes on two cores: its processes wait busily.
#[test]
fn debian_scalapack_on_four_ranks_of_openmpi() {
    let bytes = scalapack(4, &[("xdhrd", usize::MAX), ("xssep", usize::MAX)]);
    assert!(bytes > 1 << 10, "{bytes}");
}

/// A row with a verdict, without its first decimals.
fn without_times(line: &str, times: usize) -> String {
    if !line.contains("PASSED") || times == 0 {
        return line.into();
    }
    let is_decimal = |word: &&str| word.contains('.') && word.parse::<f64>().is_ok();
    let mut left = times;
    let mut words: Vec<_> = line.split_whitespace().collect();
    words.retain(|word| {
        let is_time = left > 0 && is_decimal(word);
        left -= usize::from(is_time);
        !is_time
    });
    words.join(" ")
}
