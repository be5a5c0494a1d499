//! `cargo xtask demo` shows what `mpi-tool demo` shows where it is installed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a command prints on standard output.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn xtask(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments);
    command
}

/// The folder of the launcher of the MPI that `cargo xtask demo` takes.
fn launchers() -> PathBuf {
    let variables = printed(&mut xtask(&["env", "mpich"]));
    let launcher = variables.lines().find_map(|line| line.strip_prefix("export MPIEXEC='"));
    Path::new(launcher.unwrap().trim_end_matches('\'')).parent().unwrap().into()
}

/// Sentences that depend on what was measured: how much is worth saying, and whether processors were shared.
const MEASURED: [&str; 7] = [
    "load imbalance costs ",
    " than the mean ",
    " computes longer is not known: ",
    "communication costs ",
    "start-up and shutdown take ",
    " times a second (more processes than cores?)",
    "mpi-profile itself took ",
];

/// What does not depend on the run: each line with its numbers and paths replaced, and the lines of the table, which are
/// sorted by time, in one order.
fn structure(output: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut table = Vec::new();
    for line in output.lines().filter(|line| !MEASURED.iter().any(|text| line.contains(text))) {
        // A place in the program is no number that was measured.
        let is_row = line.starts_with("  ") && line.contains("  MPI_");
        if let Some((_, place)) = line.rsplit_once("  ").filter(|_| is_row) {
            table.push(place.to_owned());
        } else if line.starts_with("example: ") || line.starts_with("# ") {
            lines.push(line.to_owned());
        } else {
            lines.push(line.split_whitespace().map(replaced).collect::<Vec<_>>().join(" "));
        }
    }
    table.sort();
    lines.extend(table);
    lines
}

fn replaced(word: &str) -> &str {
    if word.starts_with('/') {
        return "PATH";
    }
    let number = word.trim_matches(['(', ')', ',', ':']);
    if number.parse::<f64>().is_ok() { "NUMBER" } else { word }
}

#[test]
fn structures_differ_where_programs_do() {
    let shown = "wall time 1.0 s (rank 3: 30.7 %)\n  0.1 s  74.1 %  200  MPI_Send, a.c:1 main\n$ /x/mpiexec -n 4";
    let other = "wall time 2.5 s (rank 2: 99 %)\n  9.1 s   4.1 %    1  MPI_Send, a.c:1 main\n$ /y/mpiexec -n 4";
    assert_eq!(structure(shown), structure(other));
    for (from, to) in [("a.c:1", "a.c:2"), ("mpiexec -n 4", "mpiexec -m 4"), ("wall", "wait")] {
        assert_ne!(structure(shown), structure(&other.replace(from, to)), "{from}");
    }
}

/// The installation is laid out as the wheel is, with the tool as tests and the wheel have it: optimized.
#[test]
fn both_demos_show_the_same() {
    let Some(tools) = env::var_os("MPI_TOOLS") else {
        panic!("MPI_TOOLS is not set; `cargo xtask test` sets it")
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let launchers = launchers();
    let of_tree = printed(&mut xtask(&["demo"]));
    let prefix = tempfile::tempdir().unwrap();
    let library = "libmpi_profile.so";
    let tool = Path::new(&tools).with_file_name("mpich-5.0.2").join(library);
    for (from, to) in [
        (root.join("target/demo/bin/mpi-tool"), "bin/mpi-tool".to_owned()),
        (tool, format!("lib/mpi-tools/mpich/{library}")),
    ] {
        let to = prefix.path().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
    let path =
        env::join_paths([prefix.path().join("bin"), launchers, "/usr/bin".into(), "/bin".into()]);
    let mut installed = Command::new(prefix.path().join("bin/mpi-tool"));
    installed.arg("demo").env_clear().env("PATH", path.unwrap()).current_dir("/");
    let installed = printed(&mut installed);
    assert_eq!(structure(&of_tree), structure(&installed), "{of_tree}\n{installed}");
    let lines: Vec<_> = of_tree.lines().collect();
    assert!(lines[0].starts_with("A program in which later ranks work more, on 4 ranks of MPICH "));
    assert!(of_tree.contains("MPI_Allreduce, example.c:101 all_changes"), "{of_tree}");
}
