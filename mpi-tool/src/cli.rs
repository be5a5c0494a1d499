//! The command line. Help, man pages and shell completion are made of it.

mod scaling;
mod top;
mod trace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use mpi_facts::Abi;

use crate::demo::Demo;
use crate::doctor::Doctor;
use crate::request::ToolRequest;
pub(crate) use scaling::{Scaling, ScalingFormat};
pub(crate) use top::{Metrics, SortBy, Top};
pub(crate) use trace::{Trace, TraceFormat};

/// Runs MPI programs with interception tools
///
/// Runs MPI programs with interception tools, without recompiling the programs. Finds out which MPI a
/// program uses, chooses the builds of the tools that fit it, and starts the launcher with them.
#[derive(Debug, Parser)]
#[command(name = "mpi-tool", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  mpi-tool doctor                       say which MPIs and tools work here
  mpi-tool demo                         profile an example program
  mpi-tool build                        build the tools for each MPI that is found here
  mpi-tool list                         list the tools
  mpi-tool inspect ./app                check whether the tools will work with a program
  mpi-tool run --tool call-counter -- mpiexec -n 4 ./app
  mpi-tool check -- mpiexec -n 4 ./app  tell what is wrong with a program
  mpi-tool new my-profiler              create a tool of your own

`mpi-tool COMMAND --help` shows more examples.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Check(Check),
    Demo(Demo),
    Doctor(Doctor),
    List(List),
    Inspect(Inspect),
    Report(Report),
    Scaling(Scaling),
    Hang(Hang),
    Top(Top),
    Trace(Trace),
    Clean(Clean),
    #[command(hide = true)]
    Guard(Guard),
    New(New),
    Build(Build),
    Completions(Completions),
    Man(Man),
}

/// Run an MPI program with tools
///
/// Starts a launcher, with the tools preloaded into the application's ranks and not into the
/// launcher. Prints a line before the start for each tool that cannot work, and runs the application
/// without this tool, unless you give --strict. The exit status is the launcher's.
///
/// The report of mpi-profile is printed with source lines when the launcher has ended, unless --output, --format or --no-merge
/// say something else.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool run -- mpiexec -n 4 ./app                  where the time goes (mpi-profile)
  mpi-tool run --format json --output profile.json -- mpiexec -n 4 ./app     the same, to be kept
  mpi-tool run --tool call-counter --tool bandwidth-counter -- mpiexec -n 4 ./app input
  mpi-tool run --tool call-counter --output calls.json --format json -- srun -n 64 ./app
  mpi-tool run --tool call-counter:format=csv,output=calls.csv -- mpirun -np 2 ./a : -np 2 ./b
  mpi-tool run --tool call-counter --tool ./libmy_tool.so --qmpi -- mpiexec -n 2 python3 app.py
  mpi-tool run --tool call-counter -- ./app     (one rank, without a launcher)
  mpi-tool run --live -- mpiexec -n 4 ./app     who waits for whom, on the screen
  mpi-tool run --hang-after 10m --on-hang 'mail -s hangs me@example.org' -- srun ./app

Tools are searched in the folders of MPI_TOOL_PATH, in ../lib/mpi-tools and ../tools relative to the
folder of this program, in that folder, and in target/tools of its source tree and of the working
folder; and in the folders directly below each of these but this program's own. The ranks also get
the variables MPI_TOOL_* that are set.

Exit status: the launcher's; that of --kill; 2 if this command is wrong, or if --strict started
nothing; 127 if the launcher does not exist.")]
pub(crate) struct Run {
    /// A tool: its name, or the path of its shared object. The first tool sees a call first. Options
    /// for this tool only may follow: call-counter:output=PATH,format=json,merge=0,signals=0
    /// [default: mpi-profile]
    #[arg(short, long = "tool", value_name = "TOOL[:OPTION=VALUE,…]")]
    pub(crate) tools: Vec<ToolRequest>,
    /// Where reports go: stderr, stdout, none, or a path (in it, %t is the tool's name, %p the
    /// process id, %h the host)
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<String>,
    /// The format of reports
    #[arg(short, long)]
    pub(crate) format: Option<Format>,
    /// Make a report for each rank, without communication
    #[arg(long)]
    pub(crate) no_merge: bool,
    /// Make no report when a signal ends a process
    #[arg(long)]
    pub(crate) no_signals: bool,
    /// Run the tools as levels of a QMPI stack (libqmpi.so) instead of preloading each
    #[arg(long)]
    pub(crate) qmpi: bool,
    /// Also preload the tools into processes that the application spawns (MPI_Comm_spawn), by the
    /// launcher's environment. A program that seems to spawn processes needs no such option
    #[arg(long)]
    pub(crate) spawned: bool,
    /// Use tools of this ABI, whatever MPI the application seems to use
    #[arg(long, value_parser = abis())]
    pub(crate) abi: Option<Abi>,
    /// Start nothing if a tool will not work, or if launcher and application belong to different MPIs
    #[arg(long)]
    pub(crate) strict: bool,
    /// Report on standard error which ranks hang, once no rank has made an MPI call for so long: 90s, 5m, 1h. Adds the tool
    /// mpi-watch. The ranks of this host are watched, or those of all hosts that share the folder MPI_TOOL_RUN
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) hang_after: Option<Duration>,
    /// End the launcher after that report (SIGTERM, ten seconds later SIGKILL). The exit status is then this one,
    /// 124 if you give none
    #[arg(
        long, requires = "hang_after", value_name = "STATUS", num_args = 0..=1, require_equals = true,
        default_missing_value = "124", value_parser = clap::value_parser!(u8).range(1..)
    )]
    pub(crate) kill: Option<u8>,
    /// Run a command of the shell once, after that report and before --kill ends anything: to notify somebody, or to look at the
    /// ranks. Its standard input is the report, MPI_TOOL_RUN the run folder for `mpi-tool hang "$MPI_TOOL_RUN"`. It is waited for,
    /// and ended after a minute
    #[arg(long, value_name = "COMMAND", requires = "hang_after")]
    pub(crate) on_hang: Option<String>,
    /// Show on the terminal what the ranks do, as `mpi-tool top` does, while the job runs. Adds the tool mpi-watch. What the job
    /// prints goes into a file that the screen names, and is printed when the screen ends: with the job; or by q, and the job goes
    /// on. ^C interrupts the job as without the screen. The job reads nothing from the terminal
    #[arg(long)]
    pub(crate) live: bool,
    /// Print the command that would be started, for a shell, and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The launcher, its options, the application and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Run an MPI program and tell what is wrong with it
///
/// The short form of `run --tool mpi-check`: arguments that are not allowed, objects that are never freed, requests that
/// are never completed, collective operations and messages that do not match, deadlocks. Source lines need debug
/// information (compile with -g).
///
/// Loads and stores of the program itself, in buffers that MPI still uses, are seen in a program that GCC has compiled with
/// -fsanitize=thread -g (mpicc -fsanitize=thread -g …). That makes it slower, and its exit status is 66 if the sanitizer
/// has printed something.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool check -- mpiexec -n 4 ./app
  mpi-tool check --fail -- mpiexec -n 4 ./app       (exit status not 0 if there is a finding)
  mpi-tool check --format json --output findings.json -- mpiexec -n 4 ./app

Exit status: the launcher's.")]
pub(crate) struct Check {
    /// Where the report goes: stderr, stdout, none, or a path (in it, %p is the process id, %h the host)
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<String>,
    /// The format of the report: text or json
    #[arg(short, long)]
    pub(crate) format: Option<Format>,
    /// Ranks of a program with findings end with an exit status that is not 0
    #[arg(long)]
    pub(crate) fail: bool,
    /// A file with findings that are not wanted: lines of `CLASS [FUNCTION [SITE]]`, with * for anything
    #[arg(long, value_name = "FILE")]
    pub(crate) suppress: Option<PathBuf>,
    /// Also check processes that the application spawns (MPI_Comm_spawn). A program that seems to spawn processes needs no
    /// such option
    #[arg(long)]
    pub(crate) spawned: bool,
    /// Use the tool of this ABI, whatever MPI the application seems to use
    #[arg(long, value_parser = abis())]
    pub(crate) abi: Option<Abi>,
    /// Report on standard error which ranks hang, once no rank has made an MPI call for so long: 90s, 5m, 1h. Adds the tool
    /// mpi-watch
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) hang_after: Option<Duration>,
    /// End the launcher after that report (SIGTERM, ten seconds later SIGKILL). The exit status is then this one,
    /// 124 if you give none
    #[arg(
        long, requires = "hang_after", value_name = "STATUS", num_args = 0..=1, require_equals = true,
        default_missing_value = "124", value_parser = clap::value_parser!(u8).range(1..)
    )]
    pub(crate) kill: Option<u8>,
    /// Run a command of the shell once, after that report and before --kill ends anything: to notify somebody, or to look at the
    /// ranks. Its standard input is the report, MPI_TOOL_RUN the run folder for `mpi-tool hang "$MPI_TOOL_RUN"`. It is waited for,
    /// and ended after a minute
    #[arg(long, value_name = "COMMAND", requires = "hang_after")]
    pub(crate) on_hang: Option<String>,
    /// Print the command that would be started, for a shell, and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The launcher, its options, the application and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// How a report looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One object
    Json,
    /// A table
    Csv,
}

/// What is made of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    /// For people
    Text,
    /// One object
    Json,
    /// A table
    Csv,
    /// A page for a browser
    Html,
    /// A database of SQLite, with a table for each list of the report
    Sqlite,
    /// The JSON of DLB's TALP, for talp-pages
    Talp,
    /// Folded stacks, of which flame graphs are made (flamegraph.pl, speedscope)
    Folded,
    /// A profile for pprof: call sites and code between calls, with their callers
    Pprof,
    /// A tree of calls for Hatchet and Thicket: what GraphFrame.from_literal takes, in JSON
    Hatchet,
    /// Findings of mpi-check as SARIF 2.1.0, for code hosts and editors
    Sarif,
}

/// How one gets the lines that a report leaves out.
pub(crate) const PRINTS_ALL: &str = "--top 0 prints all";

/// Print a report, with source lines
///
/// Reads a report that a tool has written as JSON with a table in it, such as mpi-profile's, and prints it with the
/// names of functions, files and lines in place of addresses. The programs and libraries must lie where they lay
/// when they ran, and have their debug information (compile with -g).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool run --tool mpi-profile --format json --output profile.json -- mpiexec -n 4 ./app
  mpi-tool report profile.json
  mpi-tool report profile.json --by function
  mpi-tool report profile.json --by segment
  mpi-tool report profile.json --matrix
  mpi-tool report profile.json --to csv > profile.csv
  mpi-tool report profile.json -o page.html
  mpi-tool report profile.json -o profile.pb.gz     for `go tool pprof`
  mpi-tool report profile.json --trace mpi-trace-…
  mpi-tool report findings.json -o findings.sarif
  mpi-tool report before.json after.json
  mpi-tool report before1.json before2.json -- after1.json after2.json

Exit status: 0; 1 if --fail-above is given and the second side is slower than that; 2 if this command or
a report is wrong.")]
pub(crate) struct Report {
    /// The report, in JSON, or a page made of one; two reports, to compare them
    #[arg(required = true, value_name = "RUN")]
    pub(crate) files: Vec<PathBuf>,
    /// The second side of a comparison; -- says the same
    #[arg(long, num_args = 1.., value_name = "RUN")]
    pub(crate) against: Vec<PathBuf>,
    /// Write to a file. Its name says the format, if --to does not: page.html, profile.json, profile.csv
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// How to print it: text by default
    #[arg(long)]
    pub(crate) to: Option<To>,
    /// What a line is about
    #[arg(long, default_value = "site")]
    pub(crate) by: By,
    /// Print who has sent how many bytes to whom: as the senders say it, or as the receivers do
    #[arg(long, value_name = "FLOW", num_args = 0..=1, require_equals = true, conflicts_with = "by")]
    #[arg(default_missing_value = "sent")]
    pub(crate) matrix: Option<Flow>,
    /// How many lines the text has; 0 for all
    #[arg(long, default_value_t = 20)]
    pub(crate) top: usize,
    /// How one gets the other lines.
    #[arg(skip = PRINTS_ALL)]
    pub(crate) rest: &'static str,
    /// Also tell who waited for whom, by a trace of mpi-trace of the same run: its folder. A trace in the report's own
    /// folder is found without this
    #[arg(long, value_name = "RUN", conflicts_with_all = ["against", "placement", "matrix"])]
    pub(crate) trace: Option<PathBuf>,
    /// Look for an order of ranks on the run's hosts with fewer bytes between hosts. With a file, write
    /// it there for Open MPI, and to FILE.mpich, FILE.cray and FILE.slurm
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[arg(conflicts_with_all = ["by", "matrix", "against"])]
    pub(crate) placement: Option<Option<PathBuf>>,
    /// Exit with status 1 if the second side's wall time, a call site of it, or its code between two
    /// calls is slower by more than this, beyond noise: 5%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) fail_above: Option<f64>,
}

/// The words of a command. In `mpi-tool report A1 A2 -- B1 B2 --to json`, `--` only separates the two sides: options
/// may follow.
pub(crate) fn words(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|command| command == "report")
        && let Some(separator) = words.iter_mut().find(|word| *word == "--")
    {
        *separator = "--against".into();
    }
    words
}

/// `5%` or `5` as a part of 1.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    match number {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number / 100.0),
        _ => Err("is no number of percent, such as 5%".into()),
    }
}

/// What the rows of a table are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Each MPI function, from everywhere
    Function,
    /// Each MPI function, from each place
    Site,
    /// Each MPI function, on each communicator
    Communicator,
    /// Each MPI function, with data of each size, by powers of two
    Size,
    /// Each MPI function, in each phase that the program has begun by MPI_Pcontrol
    Phase,
    /// Each MPI function, with the peers at each distance from the own rank
    Peer,
    /// The program's own code between two calls, by both calls and their places
    Segment,
}

/// Which side's data a matrix shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Flow {
    /// What ranks have sent
    Sent,
    /// What ranks have received
    Received,
}

impl Flow {
    /// As reports have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Received => "received",
        }
    }
}

/// Tell which rank hangs, where, and whom it waits for
///
/// Reads what the ranks of a run with mpi-watch keep in their state files, while the run goes on or after it was killed.
/// Attaches to nothing and stops nobody, unless you give --attach. Names ranks that wait for each other, or that others wait for, with source
/// lines where the programs have debug information (-g).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool run --tool mpi-watch -- mpiexec -n 4 ./app &
  mpi-tool hang                         the newest run of yours on this host
  mpi-tool hang 12345                   the run of this process: a rank, or mpiexec
  mpi-tool hang --json /path/to/folder  a run folder (MPI_TOOL_RUN), or a copy of one
  mpi-tool hang --svg waits.svg
  mpi-tool hang --attach                where the ranks of a job are that has no mpi-watch
  mpi-tool hang --attach --dump n1.json        the same on each of several hosts
  mpi-tool hang n1.json n2.json                and together

Exit status: 0 if there is an answer, whatever it says; 2 if there is no such run.")]
pub(crate) struct Hang {
    /// The run: a folder with state files, or the number of a process that belongs to it [default: the newest run]; or
    /// files that --attach --dump has written, on each host of a job
    #[arg(value_name = "RUN|PID|FILE")]
    pub(crate) run: Vec<String>,
    /// Look at jobs that were started without a tool: those of these processes, which are ranks or have started them
    /// [default: all jobs of yours on this host]
    #[arg(long, value_name = "PID", num_args = 0.., conflicts_with_all = ["run", "watch", "svg"])]
    pub(crate) attach: Option<Vec<u32>>,
    /// With --attach, how often to look: ranks that are in the same call each time are likely to stay there
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=10_000), requires = "attach")]
    pub(crate) looks: u32,
    /// With --attach, how long to wait before each further look: 500ms, 10s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration, requires = "attach")]
    pub(crate) between: Duration,
    /// With --attach, also write what was seen to a file, to be put together with those of other hosts
    #[arg(long, value_name = "FILE", requires = "attach")]
    pub(crate) dump: Option<PathBuf>,
    /// Print one JSON object, for programs to read
    #[arg(long, conflicts_with = "watch")]
    pub(crate) json: bool,
    /// Print anew once a second, until the run is over
    #[arg(long)]
    pub(crate) watch: bool,
    /// Also draw who waits for whom, into this file
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub(crate) svg: Option<PathBuf>,
    /// How many lines the table of ranks has, or of --attach each job; 0 for all
    #[arg(long, default_value_t = 20)]
    pub(crate) top: usize,
}

/// Watch a run until a process has ended: what MPI_TOOL_MPI_WATCH_AFTER starts
#[derive(Debug, Args)]
pub(crate) struct Guard {
    /// The run folder
    pub(crate) folder: PathBuf,
    /// The process: the launcher, or rank 0
    pub(crate) process: u32,
    /// For how many seconds nothing must have moved
    pub(crate) after: u64,
    /// Remove the folder at the end, if it is empty
    #[arg(long)]
    pub(crate) remove: bool,
    /// The run's name, by which ranks know that they are seen
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Is the launcher ended when nothing moves?
    #[arg(skip)]
    pub(crate) kills: bool,
    /// The user's command for that.
    #[arg(skip)]
    pub(crate) on_hang: Option<String>,
}

/// Remove the state files of runs that are over
///
/// Removes the folders of runs with mpi-watch or mpi-check whose processes have all ended without removing their files
/// themselves, as they do in MPI_Finalize. Prints the name of each folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool clean --dry-run      which folders would go
  mpi-tool clean")]
pub(crate) struct Clean {
    /// Remove those of this run folder only [default: all of yours on this host]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,
    /// Print the names only
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// List the tools
///
/// Lists the tools that are found, with the MPI ABIs that they were built for and what each of them
/// does. With a tool's name, also shows the tool's settings.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool list
  mpi-tool list call-counter
  MPI_TOOL_PATH=/opt/mpi-tools mpi-tool list --json

Exit status: 0 if there are tools, 1 if none were found, 2 if no tool has the name that you gave.")]
pub(crate) struct List {
    /// Show only this tool, with its settings
    pub(crate) tool: Option<String>,
    /// Also list builds that are never used, because another build of the same ABI is found first
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object, for programs to read
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tell which MPI a program uses, and whether tools will work with it
///
/// Reads the program's file and the libraries that it will be linked to. Does not run the program.
/// For a Python program, asks Python which MPI mpi4py chooses.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool inspect ./app
  mpi-tool inspect --json ./app
  mpi-tool inspect python3 app.py
  LD_LIBRARY_PATH=/opt/mpich/lib mpi-tool inspect ./app

Exit status: 0 if tools will work, 1 if they will not, 3 if this is unknown.")]
pub(crate) struct Inspect {
    /// Print one JSON object, for programs to read
    #[arg(long)]
    pub(crate) json: bool,
    /// The program and, if you like, its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) program: Vec<String>,
}

/// Create a new tool project
///
/// Creates a folder with a tool that compiles and works: it measures the time that each rank spends
/// in each MPI function. Its README describes the next steps.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool new my-profiler
  mpi-tool new my-profiler --framework ../rmpi
  cd my-profiler && mpi-tool build && mpi-tool run --tool my-profiler -- mpiexec -n 2 ./app")]
pub(crate) struct New {
    /// The tool's name, or the path of the folder to create; the tool gets the folder's name
    pub(crate) path: PathBuf,
    /// The framework that the tool uses: the path of its source tree, or a git URL [default: the
    /// source tree that this program was built from, or the package of crates.io]
    #[arg(long, value_name = "PATH|URL")]
    pub(crate) framework: Option<String>,
}

/// Build tools for each MPI that is found
///
/// Builds the tools of the project in the working folder, or the framework's own tools if there is no
/// project. Builds them for each ABI of the MPIs that are found, or for all ABIs if there is no MPI.
/// Building needs no MPI.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool build
  mpi-tool build --mpicc /opt/mpich/bin/mpicc --mpicc /opt/openmpi/bin/mpicc
  mpi-tool build --abi mpich --abi openmpi
  mpi-tool build --output ~/.local/lib/mpi-tools
  mpi-tool build --universal

MPIs are found by mpicc, mpicc.mpich, mpicc.openmpi and mpicc_abi in PATH, and by MPICC. The builds
are put into target/tools/ABI of the project, where `mpi-tool run` finds them. Universal builds, each
of which opens the build of the right ABI when it is preloaded, are put into target/tools.")]
pub(crate) struct Build {
    /// Build for the MPI of this compiler wrapper, not for the MPIs that are found
    #[arg(long, value_name = "PATH")]
    pub(crate) mpicc: Vec<String>,
    /// Build for this ABI, whether or not an MPI of this ABI is found
    #[arg(long, value_parser = abis())]
    pub(crate) abi: Vec<Abi>,
    /// The project: the folder of its Cargo.toml [default: the working folder if it has tools,
    /// otherwise the framework's source tree, if this program was built from it]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// Put the builds here: in a folder for each ABI, and universal builds beside these folders
    /// [default: target/tools of the project]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Cargo's profile
    #[arg(long, default_value = "release")]
    pub(crate) profile: String,
    /// Build only these packages
    #[arg(short, long)]
    pub(crate) package: Vec<String>,
    /// Also make universal builds, which you can preload by hand under any MPI: each opens the build
    /// for the MPI of the process
    #[arg(long)]
    pub(crate) universal: bool,
}

/// Print a shell's completion script
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool completions bash > ~/.local/share/bash-completion/completions/mpi-tool
  mpi-tool completions zsh > ~/.zfunc/_mpi-tool")]
pub(crate) struct Completions {
    /// The shell to complete for
    pub(crate) shell: Shell,
}

/// Print the man page, or write all of them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool man | man -l -
  mpi-tool man --output ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write the pages of all commands into this folder
    #[arg(short, long, value_name = "FOLDER", action = ArgAction::Set)]
    pub(crate) output: Option<PathBuf>,
}

/// A time: `60`, `60s`, `5m` or `1h`, at least a second.
fn duration(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => 0,
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    match seconds {
        Some(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err("it is a number with s, m or h behind it, such as 90s".into()),
    }
}

/// The ABIs, by their names.
fn abis() -> impl TypedValueParser<Value = Abi> {
    let value = |abi: Abi| {
        PossibleValue::new(abi.name()).help(match abi {
            Abi::Mpich => "MPICH, Intel MPI, Cray MPICH, MVAPICH",
            Abi::OpenMpi => "Open MPI",
            Abi::Standard => "MPI-5's own, of `mpicc_abi`",
        })
    };
    PossibleValuesParser::new(Abi::ALL.map(value))
        .map(|name| Abi::of_name(&name).expect("clap has compared it with the names"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn times_have_units() {
        use super::duration;
        let seconds = |text| duration(text).map(|time| time.as_secs()).ok();
        assert_eq!(["7", "90s", "5m", "1h"].map(seconds), [7, 90, 300, 3600].map(Some));
        assert_eq!(
            ["", "s", "0", "5d", "-1s", "1.5s", "99999999999999999999h"].map(seconds),
            [None; 7]
        );
    }

    #[test]
    fn the_definition_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
