//! The command line. Help, man pages and shell completion are made of it.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::mpi::Abi;
use crate::request::ToolRequest;

/// Runs MPI programs with interception tools
///
/// Runs MPI programs with interception tools, without recompiling the programs: finds which MPI a
/// program uses, takes the builds of the tools that fit it, and starts the launcher with them.
#[derive(Debug, Parser)]
#[command(name = "mpi-tool", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  mpi-tool build                        make the tools for each MPI that is found here
  mpi-tool list                         see which tools there are
  mpi-tool inspect ./app                see whether they will work with a program
  mpi-tool run --tool call-counter -- mpiexec -n 4 ./app
  mpi-tool new my-profiler              start a tool of your own

`mpi-tool COMMAND --help` has more examples.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    List(List),
    Inspect(Inspect),
    New(New),
    Build(Build),
    Completions(Completions),
    Man(Man),
}

/// Run an MPI program with tools
///
/// Starts a launcher as it stands, with the tools preloaded into the application's ranks and not
/// into the launcher. What cannot work is told before the start, in a line each, and the application
/// then runs without it, unless you say --strict. The exit status is the launcher's.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool run --tool call-counter --tool bandwidth-counter -- mpiexec -n 4 ./app input
  mpi-tool run --tool call-counter --output calls.json --format json -- srun -n 64 ./app
  mpi-tool run --tool call-counter:format=csv,output=calls.csv -- mpirun -np 2 ./a : -np 2 ./b
  mpi-tool run --tool call-counter --tool ./libmy_tool.so --qmpi -- mpiexec -n 2 python3 app.py
  mpi-tool run --tool call-counter -- ./app     (one rank, without a launcher)

Tools are looked for in the folders of MPI_TOOL_PATH, in ../lib/mpi-tools and ../tools beside this
program, in its own folder, and in target/tools of its source tree and of the working folder; in
each, also one folder deeper. Variables MPI_TOOL_* that are set go to the ranks, too.

Exit status: the launcher's; 2 if something in this command is wrong, or if --strict started nothing;
127 if there is no such launcher.")]
pub(crate) struct Run {
    /// A tool: its name, or the path of its shared object; the first one sees a call first. Options
    /// for it alone may follow: call-counter:output=PATH,format=json,merge=0,signals=0
    #[arg(short, long = "tool", value_name = "TOOL[:OPTION=VALUE,…]", required = true)]
    pub(crate) tools: Vec<ToolRequest>,
    /// Where reports go: stderr, stdout, none, or a path (in it, %t is the tool's name, %p the
    /// process id, %h the host)
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<String>,
    /// How reports look
    #[arg(short, long)]
    pub(crate) format: Option<Format>,
    /// Make a report for each rank, without communication
    #[arg(long)]
    pub(crate) no_merge: bool,
    /// Make no report when a signal ends a process
    #[arg(long)]
    pub(crate) no_signals: bool,
    /// Make the tools levels of a QMPI stack (libqmpi.so) rather than preload each
    #[arg(long)]
    pub(crate) qmpi: bool,
    /// Bring the tools also into processes that the application spawns (MPI_Comm_spawn), by the
    /// launcher's environment. Programs that seem to spawn some get this without the option
    #[arg(long)]
    pub(crate) spawned: bool,
    /// Take tools of this ABI, whatever the application seems to use
    #[arg(long)]
    pub(crate) abi: Option<Abi>,
    /// Start nothing if a tool will not work, or if launcher and application belong to different MPIs
    #[arg(long)]
    pub(crate) strict: bool,
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

/// Show the tools that there are
///
/// Shows the tools that are found, for which MPI ABIs they were built, and what each of them does;
/// with a tool's name, also what can be set for it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool list
  mpi-tool list call-counter
  MPI_TOOL_PATH=/opt/mpi-tools mpi-tool list --json

Exit status: 0 if there are tools, 1 if none were found, 2 if there is none of the name that you gave.")]
pub(crate) struct List {
    /// Only this tool, with its options
    pub(crate) tool: Option<String>,
    /// Also builds that are never taken, because another of the same ABI is found first
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object, for programs to read
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say which MPI a program uses, and whether tools will work with it
///
/// Looks at a program's file and at the libraries that it will be linked to; the program is not
/// run. Of a Python program, Python is asked which MPI mpi4py chooses.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool inspect ./app
  mpi-tool inspect --json ./app
  mpi-tool inspect python3 app.py
  LD_LIBRARY_PATH=/opt/mpich/lib mpi-tool inspect ./app

Exit status: 0 if tools will work, 1 if they will not, 3 if that cannot be told.")]
pub(crate) struct Inspect {
    /// Print one JSON object, for programs to read
    #[arg(long)]
    pub(crate) json: bool,
    /// The program, and perhaps its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) program: Vec<String>,
}

/// Make a new tool project
///
/// Makes a folder with a tool that compiles and works: it measures the time that is spent in each
/// MPI function. Its README says how to go on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool new my-profiler
  mpi-tool new my-profiler --framework ../rmpi
  cd my-profiler && mpi-tool build && mpi-tool run --tool my-profiler -- mpiexec -n 2 ./app")]
pub(crate) struct New {
    /// The tool's name, or the path of the folder to make; the tool is called as the folder is
    pub(crate) path: PathBuf,
    /// The framework that it is made of: the path of its source tree, or a git URL [default: the
    /// source tree that this program was built from]
    #[arg(long, value_name = "PATH|URL")]
    pub(crate) framework: Option<String>,
}

/// Build tools for each MPI that is found
///
/// Builds the tools of the project in the working folder, or, where there is none, the framework's
/// own: once for each ABI of the MPIs that are found, or for all ABIs where there is no MPI. Tools
/// need no MPI to be built.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool build
  mpi-tool build --mpicc /opt/mpich/bin/mpicc --mpicc /opt/openmpi/bin/mpicc
  mpi-tool build --abi mpich --abi openmpi
  mpi-tool build --output ~/.local/lib/mpi-tools
  mpi-tool build --universal

MPIs are found by mpicc, mpicc.mpich, mpicc.openmpi and mpicc_abi in PATH, and by MPICC. The tools
go to target/tools/ABI of the project, where `mpi-tool run` finds them; universal builds, each of
which takes the one of the right ABI when it is preloaded, to target/tools.")]
pub(crate) struct Build {
    /// Build for the MPI of this compiler wrapper, and not for those that are found
    #[arg(long, value_name = "PATH")]
    pub(crate) mpicc: Vec<String>,
    /// Build for this ABI, whether an MPI of it is found or not
    #[arg(long)]
    pub(crate) abi: Vec<Abi>,
    /// The project: the folder of a Cargo.toml [default: the working folder, if it has tools, else
    /// the framework's source tree]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// Where to put the tools: into a folder for each ABI, universal builds beside these [default: target/tools of the project]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Cargo's profile
    #[arg(long, default_value = "release")]
    pub(crate) profile: String,
    /// Only these packages
    #[arg(short, long)]
    pub(crate) package: Vec<String>,
    /// Also make universal builds, to be preloaded by hand whatever the MPI is: each opens the build
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
