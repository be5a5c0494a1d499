//! Compiling C programs and running them under a launcher, with and without tools.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod profile;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use mpi_tool_layer::{FunctionId, mpi_sys};
use tempfile::TempDir;

/// What `cargo xtask test` sets.
pub(crate) fn setting(name: &str) -> PathBuf {
    std::env::var_os(name)
        .unwrap_or_else(|| panic!("{name} is not set: run the tests by `cargo xtask test`"))
        .into()
}

/// The shared object of a tool.
pub(crate) fn tool(name: &str) -> PathBuf {
    setting("MPI_TOOLS").join(format!("lib{name}.so"))
}

/// The universal build of a tool: the same file whichever the MPI is.
pub(crate) fn universal(name: &str) -> PathBuf {
    setting("MPI_TOOLS").with_file_name("universal").join(format!("lib{name}.so"))
}

/// A tool of `examples/`, which `cargo test` has built.
pub(crate) fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().unwrap().parent().unwrap().join("examples");
    folder.join(format!("lib{name}.so"))
}

/// The tools that change nothing, which programs of others run with: the names of their shared
/// objects, and those of the tools that report.
pub(crate) const TOOLS: [(&str, Option<&str>); 4] = [
    ("bandwidth_counter", Some("bandwidth-counter")),
    ("call_counter", Some("call-counter")),
    ("empty_high", None),
    ("empty_raw", None),
];

/// Is this Open MPI?
pub(crate) fn is_openmpi() -> bool {
    mpi_sys::ABI == mpi_sys::Abi::OpenMpi
}

/// Is this Open MPI 4?
pub(crate) fn is_openmpi_4() -> bool {
    let name = setting("MPI_NAME");
    name.to_string_lossy().starts_with("openmpi-4") || name.as_os_str() == "openmpi-debian"
}

/// Is this Debian's MPICH 4.0.2?
pub(crate) fn is_debian() -> bool {
    setting("MPI_NAME").to_string_lossy() == "mpich-debian"
}

/// Is this MPICH 3 or 4?
pub(crate) fn is_mpich_before_5() -> bool {
    let name = setting("MPI_NAME");
    let name = name.to_string_lossy();
    is_debian() || ["mpich-3", "mpich-4"].iter().any(|old| name.starts_with(old))
}

/// The functions that a tool exports: all.
pub(crate) fn exported() -> Vec<FunctionId> {
    FunctionId::all().collect()
}

macro_rules! present {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// The functions that the MPI library has which the tools are built for.
        pub(crate) fn present() -> Vec<FunctionId> {
            let mut all = BTreeSet::new();
            $(mpi_sys::if_exported! { $c_name { all.insert(FunctionId::$c_name); } })*
            all.into_iter().collect()
        }
    };
}
mpi_sys::mpi_functions! { [present] }

/// The folder with what is compiled, kept for all tests of a file.
pub(crate) fn build_folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let mut calls = String::new();
            for function in present() {
                let _ = writeln!(
                    calls,
                    "#define HAVE_{function} 1\n#ifndef {function}\n\
                     #define {function}(...) (expect_call(\"{function}\"), {function}(__VA_ARGS__))\n#endif"
                );
            }
            fs::write(folder.path().join("calls.h"), calls).unwrap();
            folder
        })
        .path()
}

/// Makes a file once for all tests that use it: a program that is written anew cannot be started meanwhile.
pub(crate) fn once(file: PathBuf, make: impl FnOnce()) -> PathBuf {
    static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if !made.contains(&file) {
        make();
        made.insert(file.clone());
    }
    file
}

/// Compiles `tests/c/NAME.c`, once for all tests that run it.
pub(crate) fn compile(name: &str) -> PathBuf {
    once(build_folder().join(name), || {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
        let flags = ["-pthread", "-Wall", "-Werror", "-Wno-deprecated-declarations"];
        compile_with(&folder.join(format!("{name}.c")), name, &flags);
    })
}

/// Compiles `tests/c/NAME.cc`.
pub(crate) fn compile_cxx(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(format!("{name}.cc"));
    compile_with(&source, name, &["-pthread", "-Wno-deprecated-declarations", "-lstdc++"])
}

/// Compiles a source with more flags.
pub(crate) fn compile_with(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let program = build_folder().join(name);
    let mut mpicc = Command::new(setting("MPICC"));
    mpicc.args(["-g", "-O1", "-o"]).arg(&program).arg(source).args(flags).arg("-lm");
    mpicc.arg("-I").arg(build_folder()).arg("-I").arg(source.parent().unwrap());
    let output = mpicc.output().expect("mpicc runs");
    assert!(output.status.success(), "{mpicc:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// A run of a program.
pub(crate) struct Run {
    program: PathBuf,
    arguments: Vec<String>,
    ranks: u32,
    tools: Vec<PathBuf>,
    variables: Vec<(String, String)>,
    seconds: u64,
    /// Runs in it, and finds there what it wrote.
    pub(crate) folder: TempDir,
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// What the program says that it called, over all processes.
    pub(crate) expected: BTreeMap<String, u64>,
    /// What the call counter reported, if it reported to the folder.
    pub(crate) counted: BTreeMap<String, u64>,
    /// The reports, as JSON.
    pub(crate) reports: Vec<serde_json::Value>,
}

impl Run {
    pub(crate) fn new(program: &Path, ranks: u32) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            ranks,
            tools: Vec::new(),
            variables: Vec::new(),
            seconds: 180,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// Preloads a tool, behind those before.
    pub(crate) fn preload(mut self, tool: impl Into<PathBuf>) -> Self {
        self.tools.push(tool.into());
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// For how long it may run.
    pub(crate) fn seconds(mut self, seconds: u64) -> Self {
        self.seconds = seconds;
        self
    }

    /// Has the call counter preloaded and report in JSON into the folder.
    pub(crate) fn count(self) -> Self {
        self.count_with(&tool("call_counter"))
    }

    /// The same with another build of the call counter.
    pub(crate) fn count_with(self, counter: &Path) -> Self {
        let report = self.folder.path().join("report.json");
        self.preload(counter)
            .variable("MPI_TOOL_CALL_COUNTER_FORMAT", "json")
            // Every call of every rank, those after MPI_Finalize included.
            .variable("MPI_TOOL_CALL_COUNTER_ALL_RANKS", "1")
            .variable("MPI_TOOL_CALL_COUNTER_OUTPUT", report.to_str().unwrap())
    }

    fn command(&self) -> Command {
        let mut launcher;
        if self.ranks == 0 {
            launcher = Command::new(&self.program);
        } else {
            launcher = Command::new(setting("MPIEXEC"));
            launcher.args(["-n", &self.ranks.to_string()]).arg(&self.program);
        }
        launcher.args(&self.arguments);
        let expected = self.folder.path().join("expected");
        fs::create_dir_all(&expected).unwrap();
        launcher.current_dir(self.folder.path()).env("EXPECT_DIR", expected);
        launcher.env("TMPDIR", std::env::temp_dir());
        launcher.envs(self.variables.iter().cloned());
        if !self.tools.is_empty() {
            let tools: Vec<_> = self.tools.iter().map(|tool| tool.display().to_string()).collect();
            launcher.env("LD_PRELOAD", tools.join(" "));
        }
        launcher
    }

    pub(crate) fn run(&self) -> Outcome {
        let output = self.output();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut expected = BTreeMap::new();
        for entry in fs::read_dir(self.folder.path().join("expected")).unwrap() {
            for line in fs::read_to_string(entry.unwrap().path()).unwrap().lines() {
                let (name, count) = line.split_once(' ').unwrap();
                *expected.entry(name.to_owned()).or_default() += count.parse::<u64>().unwrap();
            }
        }
        let mut counted = BTreeMap::new();
        let mut reports = Vec::new();
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            // A process that was killed while it reported leaves a part.
            if !name.starts_with("report") || name.ends_with(".part") {
                continue;
            }
            let report: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(&path).unwrap())
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for counter in report["counters"].as_array().unwrap() {
                let name = counter["name"].as_str().unwrap().to_owned();
                *counted.entry(name).or_default() += counter["total"].as_u64().unwrap();
            }
            reports.push(report);
        }
        Outcome {
            status: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            expected,
            counted,
            reports,
        }
    }

    /// Runs it, for at most three minutes unless told otherwise: a program that hangs is a failed test, not a hung one.
    pub(crate) fn output(&self) -> Output {
        let mut command = self.command();
        let files = ["stdout", "stderr"].map(|name| self.folder.path().join(name));
        let [stdout, stderr] = [0, 1].map(|i| fs::File::create(&files[i]).unwrap());
        // Nothing to read, and no end of it: MPICH's launcher passes the end on to programs, and ends by SIGPIPE, with
        // all that they have said, if they are gone (one run of twenty on a busy machine, without any tool).
        let (input, _never_ends) = std::io::pipe().unwrap();
        command.stdin(input).stdout(stdout).stderr(stderr);
        let mut launcher = command.spawn().expect("the launcher runs");
        let start = Instant::now();
        let mut asked = false;
        let status = loop {
            if let Some(status) = launcher.try_wait().unwrap() {
                break status;
            }
            let seconds = start.elapsed().as_secs();
            if seconds > self.seconds && !asked {
                asked = true;
                let id = launcher.id().try_into().unwrap();
                // SAFETY: `kill` touches no memory of the caller's, and must not hit another process: this is
                // our own child, whose number stays its own until it has been waited for.
                unsafe { libc::kill(id, libc::SIGTERM) };
            } else if seconds > self.seconds + 10 {
                launcher.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let [stdout, stderr] = files.map(|path| fs::read(path).unwrap());
        let said = String::from_utf8_lossy(&stderr);
        assert!(!asked, "{command:?} did not end:\n{}\n{said}", String::from_utf8_lossy(&stdout));
        Output { status, stdout, stderr }
    }
}

impl Outcome {
    /// The lines of standard output, sorted, since ranks print in any order; without the process
    /// ids in launchers' words about a bad end.
    pub(crate) fn lines(&self) -> Vec<&str> {
        let names_process =
            |line: &str| line.starts_with("=   PID") || line.starts_with("=   RANK");
        let mut lines: Vec<_> = self.stdout.lines().filter(|line| !names_process(line)).collect();
        lines.sort_unstable();
        lines
    }

    pub(crate) fn expect_success(&self, what: &str) {
        assert_eq!(self.status, Some(0), "{what} failed\n{}\n{}", self.stdout, self.stderr);
    }
}
