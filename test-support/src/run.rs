//! Runs a program under a launcher, with and without tools.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::settings::{is_openmpi, setting, tool};

/// A run of a program.
pub struct Run {
    program: PathBuf,
    arguments: Vec<String>,
    ranks: u32,
    tools: Vec<PathBuf>,
    variables: Vec<(String, String)>,
    seconds: u64,
    /// It may be ended soon after this text is in this file.
    enough: Option<(PathBuf, String)>,
    /// Runs in it, and finds there what it wrote.
    pub folder: TempDir,
}

/// What came of it.
pub struct Outcome {
    /// How it ended: the exit status of the launcher.
    pub status: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// What the program says that it called, over all processes.
    pub expected: BTreeMap<String, u64>,
    /// What the call counter reported, if it reported to the folder.
    pub counted: BTreeMap<String, u64>,
    /// The reports, as JSON.
    pub reports: Vec<serde_json::Value>,
}

/// What a command says, started again where Open MPI's launcher [has not begun](has_not_begun).
pub fn output(command: &mut Command) -> Output {
    let mut run = || command.output().expect("the command starts");
    let first = run();
    if has_not_begun(&first.stderr) { run() } else { first }
}

/// Has Open MPI's launcher not begun, by what it has said? It cannot start itself now and then (one start of some thousands,
/// more on a busy machine), and no rank is there then. Open MPI 4's launchers share one folder: one that ends may remove it
/// while another one makes it.
pub fn has_not_begun(stderr: &[u8]) -> bool {
    let words: [&[u8]; 2] = [b"listener thread failed to start", b"orte_session_dir failed"];
    words.iter().any(|words| stderr.windows(words.len()).any(|found| found == *words))
}

/// How long a program may go on that has said enough.
const GRACE: Duration = Duration::from_millis(400);

impl Run {
    /// A program on so many ranks, under the launcher; without it for none.
    pub fn new(program: &Path, ranks: u32) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            ranks,
            tools: Vec::new(),
            variables: Vec::new(),
            seconds: 180,
            enough: None,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Adds arguments of the program.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// Preloads a tool, behind those before.
    pub fn preload(mut self, tool: impl Into<PathBuf>) -> Self {
        self.tools.push(tool.into());
        self
    }

    /// Sets a variable.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// For how long it may run.
    pub fn seconds(mut self, seconds: u64) -> Self {
        self.seconds = seconds;
        self
    }

    /// Nobody needs to wait for the end of a program that hangs once a file in the folder has a text. Not under Open MPI, whose
    /// launcher may say that it ends all, and stay.
    pub fn is_enough(mut self, file: &str, text: &str) -> Self {
        if !is_openmpi() {
            self.enough = Some((self.folder.path().join(file), text.to_owned()));
        }
        self
    }

    /// Has the call counter preloaded and report in JSON into the folder.
    pub fn count(self) -> Self {
        self.count_with(&tool("call_counter"))
    }

    /// The same with another build of the call counter.
    pub fn count_with(self, counter: &Path) -> Self {
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

    /// Runs it, and reads what it and the call counter say.
    pub fn run(&self) -> Outcome {
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
        // In the order of their names: the program's own is first, and then those of worlds that it spawned.
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap().to_string_lossy();
            // A process that was killed while it reported leaves a part.
            if !name.starts_with("report") || name.ends_with(".part") {
                continue;
            }
            let report = crate::schema::report(&fs::read_to_string(&path).unwrap());
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
    pub fn output(&self) -> Output {
        let output = self.launch().filter(|output| !has_not_begun(&output.stderr));
        let again = || self.launch().expect("the launcher does not stay without processes twice");
        output.unwrap_or_else(again)
    }

    /// Has it written what it was run for?
    fn has_enough(&self) -> bool {
        self.enough.as_ref().is_some_and(|(file, text)| {
            fs::read_to_string(file).is_ok_and(|written| written.contains(text))
        })
    }

    /// `None` if Open MPI's launcher has stayed when all its processes were gone. It does so now and then (one run of some fifty
    /// on a busy machine, if a signal ends the ranks).
    fn launch(&self) -> Option<Output> {
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
        let mut enough_since = None;
        let mut is_ended = false;
        let status = loop {
            if let Some(status) = launcher.try_wait().unwrap() {
                break status;
            }
            let seconds = start.elapsed().as_secs();
            if enough_since.is_none() && self.has_enough() {
                enough_since = Some(Instant::now());
            }
            // What else it says comes at once.
            let is_enough =
                !is_ended && enough_since.is_some_and(|since: Instant| since.elapsed() > GRACE);
            if is_enough {
                is_ended = true;
                end(&launcher);
            } else if seconds > self.seconds && !asked {
                asked = true;
                if has_no_processes(launcher.id()) {
                    launcher.kill().unwrap();
                    launcher.wait().unwrap();
                    return None;
                }
                end(&launcher);
            } else if seconds > self.seconds + 10 {
                launcher.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let [stdout, stderr] = files.map(|path| fs::read(path).unwrap());
        let said = String::from_utf8_lossy(&stderr);
        assert!(!asked, "{command:?} did not end:\n{}\n{said}", String::from_utf8_lossy(&stdout));
        Some(Output { status, stdout, stderr })
    }
}

/// Asks a process to end.
fn end(child: &Child) {
    let id = child.id().try_into().unwrap();
    // SAFETY: `kill` touches no memory of the caller's, and must not hit another process: this is our own child, whose number
    // stays its own until it has been waited for, for which its owner must be asked.
    unsafe { libc::kill(id, libc::SIGTERM) };
}

/// Has a process no children that run? One that has ended and that it has not waited for does not.
fn has_no_processes(id: u32) -> bool {
    let runs = |child: &str| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        // The state comes behind the name, which is in parentheses.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let mut children = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    children.all(|children| children.is_ok_and(|children| !children.split_whitespace().any(runs)))
}

impl Outcome {
    /// The lines of standard output, sorted, since ranks print in any order; without the process
    /// ids in launchers' words about a bad end.
    pub fn lines(&self) -> Vec<&str> {
        let names_process =
            |line: &str| line.starts_with("=   PID") || line.starts_with("=   RANK");
        let mut lines: Vec<_> = self.stdout.lines().filter(|line| !names_process(line)).collect();
        lines.sort_unstable();
        lines
    }

    /// Fails, with what it said, where it did not end well.
    pub fn expect_success(&self, what: &str) {
        assert_eq!(self.status, Some(0), "{what} failed\n{}\n{}", self.stdout, self.stderr);
    }
}
