//! Texts that a person has read and found right: what each command says of itself, and what it says of a command line that
//! makes no sense. A text that has changed is shown; `cargo xtask test --accept texts::` takes it as it is.

use std::path::Path;

use insta::assert_snapshot;

use crate::common::mpi_tool;
use crate::generated::COMMANDS;

#[test]
fn help() {
    assert_snapshot!("help", mpi_tool(Path::new("/"), &["--help"]).stdout);
    for command in COMMANDS {
        let said = mpi_tool(Path::new("/"), &[command, "--help"]);
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        assert_snapshot!(format!("help-{command}"), said.stdout);
    }
}

#[test]
fn mistakes() {
    for (name, words) in [
        ("nothing-to-run", &["run"][..]),
        ("no-such-program", &["run", "--", "/no/such/program"]),
        ("no-such-tool", &["run", "--tool", "no-such-tool", "--", "true"]),
        ("no-such-option", &["run", "--hang-afer", "1s", "--", "true"]),
        ("no-time", &["run", "--hang-after", "soon", "--", "true"]),
        ("no-report", &["report", "/no/such/report"]),
        ("no-trace", &["trace", "/no/such/trace"]),
        ("no-run", &["hang", "/no/such/run"]),
        ("no-file", &["inspect", "/no/such/file"]),
    ] {
        let said = mpi_tool(Path::new("/"), words);
        assert_ne!(said.status, Some(0), "{name}");
        // Where tools are looked for is another place on each machine.
        let (text, folders) = match said.stderr.split_once(" has looked in ") {
            Some((text, folders)) => (format!("{text} has looked in FOLDERS\n"), folders),
            None => (said.stderr.clone(), ""),
        };
        assert!(folders.is_empty() || folders.contains("/tools, "), "{folders}");
        assert_snapshot!(format!("mistake-{name}"), text);
    }
}
