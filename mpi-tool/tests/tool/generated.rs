//! Help, man pages and completions come from one definition.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Outcome, mpi_tool, write_program};

const COMMANDS: [&str; 7] = ["run", "list", "inspect", "new", "build", "completions", "man"];

#[test]
fn every_command_has_help_with_examples() {
    let all = mpi_tool(Path::new("/"), &["--help"]);
    assert_eq!(all.status, Some(0));
    for command in COMMANDS {
        assert!(all.stdout.contains(&format!("\n  {command} ")), "{command}");
        let help = mpi_tool(Path::new("/"), &[command, "--help"]);
        assert_eq!(help.status, Some(0));
        assert!(help.stdout.contains(&format!("Examples:\n  mpi-tool {command}")), "{help:?}");
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
