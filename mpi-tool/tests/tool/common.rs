//! What all tests need: programs, `mpi-tool`, and what came of it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A variable that the tests cannot do without.
pub(crate) fn setting(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("{name} is not set; `cargo xtask test` sets it"))
}

pub(crate) use test_support::mpi_name;

/// The ABI of the MPI that is tested with.
pub(crate) fn abi() -> &'static str {
    test_support::abi().name()
}

/// Does mpi4py's wheel find this MPI? It is for the ABIs of MPICH and of Open MPI, and looks for
/// `libmpi.so`, while Debian's MPICH is `libmpich.so`.
pub(crate) fn has_mpi4py() -> bool {
    abi() != "standard" && mpi_name() != "mpich-debian"
}

/// A tool's build for this MPI.
pub(crate) fn tool(name: &str) -> PathBuf {
    let folder = fs::canonicalize(setting("MPI_TOOLS")).expect("xtask has built the tools");
    folder.join(format!("lib{name}.so"))
}

/// Its universal build.
pub(crate) fn universal(name: &str) -> PathBuf {
    let folder = Path::new(&setting("MPI_TOOLS")).with_file_name("universal");
    fs::canonicalize(folder).unwrap().join(format!("lib{name}.so"))
}

/// The same tool, built for another ABI, and that ABI's name: xtask builds both of these.
pub(crate) fn foreign_tool(name: &str) -> (PathBuf, &'static str) {
    let (folder, abi) =
        if abi() == "openmpi" { ("mpich-5.0.2", "mpich") } else { ("openmpi-5.0.11", "openmpi") };
    let tools = Path::new(&setting("MPI_TOOLS")).with_file_name(folder);
    (fs::canonicalize(tools).unwrap().join(format!("lib{name}.so")), abi)
}

/// Compiles `tests/c/NAME.c` with a compiler and flags, once for all tests.
pub(crate) fn compile_with(
    compiler: OsString,
    name: &str,
    output: &str,
    flags: &[&str],
) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/c/{name}.c"));
    test_support::compile_by(compiler, &source, output, &["-O1", "-Wall", "-Werror"], flags)
}

/// An MPI program.
pub(crate) fn compile(name: &str) -> PathBuf {
    compile_with(setting("MPICC"), name, name, &[])
}

/// Compiles a test's own source of an MPI program in a folder.
pub(crate) fn compile_source(folder: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let file = Path::new(name).with_extension("c");
    fs::write(folder.join(&file), source).unwrap();
    let mut cc = limited(setting("MPICC"));
    cc.args(["-g", "-o", name]).arg(file).args(flags).current_dir(folder);
    let outcome = Outcome::of(&mut cc);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    folder.join(name)
}

/// A program without MPI.
pub(crate) fn compile_plain(name: &str, output: &str, flags: &[&str]) -> PathBuf {
    compile_with("cc".into(), name, output, flags)
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn of(command: &mut Command) -> Self {
        // An end of the input ends MPICH's launcher by SIGPIPE if its programs are gone.
        let (input, _never_ends) = std::io::pipe().unwrap();
        let output = test_support::output(command.stdin(input));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            status: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// What `mpi-tool` itself has said, a line each, without its name.
    pub(crate) fn said(&self) -> Vec<&str> {
        self.stderr.lines().filter_map(|line| line.strip_prefix("mpi-tool: ")).collect()
    }

    /// The lines of standard output, sorted, since ranks print in any order.
    pub(crate) fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// A command that ends after two minutes at the latest.
pub(crate) fn limited(program: impl Into<OsString>) -> Command {
    let mut command = Command::new("timeout");
    command.arg("120").arg(program.into());
    command
}

/// `mpi-tool`, in a folder, with the tools of this MPI.
pub(crate) fn mpi_tool(folder: &Path, arguments: &[&str]) -> Outcome {
    Outcome::of(&mut mpi_tool_command(folder, arguments))
}

pub(crate) fn mpi_tool_command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = limited(env!("CARGO_BIN_EXE_mpi-tool"));
    command.args(arguments).current_dir(folder).env("MPI_TOOL_PATH", setting("MPI_TOOLS"));
    command
}

/// `mpiexec -n RANKS`
pub(crate) fn launcher(ranks: &str) -> [String; 3] {
    [setting("MPIEXEC").into_string().unwrap(), "-n".into(), ranks.into()]
}

/// `mpi-tool run OPTIONS -- mpiexec -n 2 PROGRAM`
pub(crate) fn run_two(folder: &Path, options: &[&str], program: &[&str]) -> Outcome {
    let launcher = launcher("2");
    let mut arguments = vec!["run"];
    arguments.extend(options);
    arguments.push("--");
    arguments.extend(launcher.iter().map(String::as_str));
    arguments.extend(program);
    mpi_tool(folder, &arguments)
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Writes a program, such as a script.
pub(crate) fn write_program(path: &Path, content: impl AsRef<[u8]>) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The counters of a JSON report: names (with their class) and totals.
pub(crate) fn counters(report: &Path) -> Vec<(String, u64)> {
    let text =
        fs::read_to_string(report).unwrap_or_else(|error| panic!("{}: {error}", report.display()));
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let counters = report["counters"].as_array().unwrap().iter();
    counters
        .map(|counter| {
            (counter["name"].as_str().unwrap().into(), counter["total"].as_u64().unwrap())
        })
        .collect()
}

/// What `calls.c` calls on so many ranks (more than one).
pub(crate) fn calls(ranks: u64) -> Vec<(String, u64)> {
    [
        ("MPI_Barrier", 7 * ranks),
        ("MPI_Comm_rank", ranks),
        ("MPI_Comm_size", ranks),
        ("MPI_Finalize", ranks),
        ("MPI_Init", ranks),
        ("MPI_Recv", u64::from(ranks > 1)),
        ("MPI_Send", u64::from(ranks > 1)),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .map(|(name, count)| (name.to_owned(), count))
    .collect()
}

pub(crate) const FINE: [&str; 2] = ["rank 0 of 2 is fine", "rank 1 of 2 is fine"];

/// What `trace.json` says of a run of `hosts.c`.
pub(crate) fn expect_one_world(folder: &Path, ranks: u64, hosts: u64) {
    let trace = fs::read_to_string(folder.join("trace.json")).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
    let processes = trace["processes"].as_array().unwrap();
    let all: Vec<_> =
        processes.iter().map(|one| (one["world"].as_u64(), one["rank"].as_u64())).collect();
    let expected: Vec<_> = (0..ranks).map(|rank| (Some(0), Some(rank))).collect();
    assert_eq!(all, expected, "{:#}", trace["processes"]);
    assert_eq!(trace["hosts"], hosts, "{:#}", trace["processes"]);
    let summary = &trace["summary"];
    assert_eq!(summary["messages"], 5 * ranks, "{summary:#}");
    assert_eq!(summary["sends_without_receive"], 0, "{summary:#}");
}
