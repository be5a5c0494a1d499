//! Help, man pages and completions come from one definition.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Outcome, mpi_tool, text, tool, write_program};

pub(crate) const COMMANDS: [&str; 16] = [
    "run",
    "check",
    "hang",
    "top",
    "trace",
    "report",
    "scaling",
    "clean",
    "demo",
    "doctor",
    "list",
    "inspect",
    "new",
    "build",
    "completions",
    "man",
];

#[test]
fn every_command_has_help_with_examples() {
    let all = mpi_tool(Path::new("/"), &["--help"]);
    assert_eq!(all.status, Some(0));
    for command in COMMANDS {
        assert!(all.stdout.contains(&format!("\n  {command} ")), "{command}");
        let help = mpi_tool(Path::new("/"), &[command, "--help"]);
        assert_eq!(help.status, Some(0));
        let (_, examples) = help.stdout.split_once("Examples:\n").expect(command);
        assert!(examples.contains(&format!("  mpi-tool {command}")), "{help:?}");
    }
}

#[test]
fn there_is_a_man_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = mpi_tool(folder.path(), &["man", "--output", "pages"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    for command in COMMANDS {
        let page = folder.path().join(format!("pages/mpi-tool-{command}.1"));
        assert!(fs::read_to_string(page).unwrap().contains(".SH NAME"));
    }
    let page = mpi_tool(folder.path(), &["man"]);
    assert!(page.stdout.starts_with(".ie") || page.stdout.starts_with(".TH"), "{page:?}");
}

/// Bash completes by it.
#[test]
fn bash_completes() {
    let folder = tempfile::tempdir().unwrap();
    let script = mpi_tool(folder.path(), &["completions", "bash"]);
    assert_eq!(script.status, Some(0));
    write_program(&folder.path().join("completions"), &script.stdout);
    let ask = "source ./completions; COMP_WORDS=(mpi-tool ins); COMP_CWORD=1; \
               _mpi__tool mpi-tool ins mpi-tool; echo \"${COMPREPLY[@]}\"";
    let outcome = Outcome::of(Command::new("bash").args(["-c", ask]).current_dir(folder.path()));
    assert_eq!(outcome.stdout, "inspect\n", "{outcome:?}");
}

/// Whoever reads may stop before the end, as `head` does: that is no error, and nobody hears of it.
#[test]
fn a_reader_may_stop() {
    for arguments in [&["list"][..], &["list", "--json"], &["inspect", "/bin/sh"], &["man"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_mpi-tool"));
        command.args(arguments).env("MPI_TOOL_PATH", tool("call_counter").parent().unwrap());
        let output = command.stdout(writer).output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

fn page(name: &str) -> String {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(tree.join(name)).unwrap()
}

/// The line that shows a tool's variables works as it stands in bash, where `true` alone would be no program.
#[test]
fn the_documented_way_to_a_tools_help_works() {
    for (name, beginning) in [
        ("docs/install.md", "`MPI_TOOL_HELP=1 LD_PRELOAD=./libcall_counter.so "),
        (
            "docs/writing-a-tool.md",
            "`MPI_TOOL_HELP=1 LD_PRELOAD=$PWD/target/release/libmpi_time.so ",
        ),
    ] {
        let page = page(name);
        let (_, rest) = page.split_once(beginning).expect(name);
        let (program, _) = rest.split_once('`').unwrap();
        let library = tool("call_counter");
        let script = format!("MPI_TOOL_HELP=1 LD_PRELOAD={} {program}", text(&library));
        let outcome = Outcome::of(Command::new("bash").args(["-c", &script]));
        assert!(outcome.stderr.contains("MPI_TOOL_FORMAT"), "{script}: {outcome:?}");
        assert_eq!(outcome.stderr.matches("MPI_TOOL_FORMAT ").count(), 1, "{outcome:?}");
    }
}

/// As it is documented, the versions of `Cargo.lock` are taken. Without that, Cargo would warn of each profile
/// for a package that mpi-tool does not need.
#[test]
fn the_documented_installation_takes_the_locked_versions() {
    for name in ["README.md", "docs/install.md", "docs/mpi-tool.md"] {
        let page = page(name);
        let installs: Vec<_> = page.lines().filter(|line| line.contains("cargo install")).collect();
        assert!(!installs.is_empty(), "{name}");
        for line in installs {
            assert!(line.contains("--locked"), "{name}: {line}");
        }
    }
    assert!(
        !page("Cargo.toml")
            .lines()
            .any(|line| { line.starts_with("[profile.") && line.contains(".package.") })
    );
}
