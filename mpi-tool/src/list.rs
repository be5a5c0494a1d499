//! `mpi-tool list`: the tools, their ABIs, and what can be set.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result};
use mpi_facts::Abi;
use serde_json::json;

use crate::cli::List;
use crate::out::{outln, say};
use crate::tools::{self, Build, STACK_LIBRARY};

impl List {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let builds = match &self.tool {
            Some(name) => tools::of_name(name)?,
            None => tools::all(),
        };
        self.show(&builds)
    }

    fn show(&self, builds: &[Build]) -> Result<ExitCode> {
        if self.json {
            let tools: Vec<_> = builds.iter().map(as_json).collect();
            outln!("{:#}", json!({ "schema": "mpi-tool-list/1", "tools": tools }));
        }
        if builds.is_empty() {
            say(format_args!("{}", nothing_found()));
            return Ok(ExitCode::FAILURE);
        }
        if self.json {
            return Ok(ExitCode::SUCCESS);
        }
        let mut by_name: BTreeMap<&str, Vec<&Build>> = BTreeMap::new();
        // Universal builds say nothing of the tool, so they are last.
        let (universal, others): (Vec<_>, Vec<_>) =
            builds.iter().partition(|build| build.universal);
        for build in others.into_iter().chain(universal) {
            by_name.entry(&build.name).or_default().push(build);
        }
        for (name, builds) in by_name {
            let first = builds[0];
            outln!("{name} {}: {}", first.version, first.description);
            for abi in Abi::ALL {
                // The others of an ABI are never taken: the first one found is.
                for (index, build) in
                    builds.iter().filter(|build| build.abi == Some(abi)).enumerate()
                {
                    if index == 0 || self.all {
                        outln!("  {:<9}{}{}", abi.name(), build.path.display(), remarks(build));
                    }
                }
            }
            for (index, build) in builds.iter().filter(|build| build.universal).enumerate() {
                if index == 0 || self.all {
                    outln!("  {:<9}{}", "any", build.path.display());
                }
            }
        }
        if self.tool.is_some() {
            outln!("\n{}", help(&builds[0])?.trim_end());
        } else {
            outln!("\nOptions of a tool: mpi-tool list NAME");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What to do where there are no tools, and where they were looked for.
fn nothing_found() -> String {
    let mut text = String::from(
        "mpi-tool: no tools found. `mpi-tool build` makes them. If you have some, set MPI_TOOL_PATH to \
         the folders that they are in, separated by colons. These folders were searched, and the folders \
         in them:\n",
    );
    let mut seen = Vec::new();
    for folder in tools::folders() {
        let shown = std::path::absolute(&folder).unwrap_or_else(|_| folder.clone());
        let shown = fs::canonicalize(&folder).unwrap_or(shown);
        if seen.contains(&shown) {
            continue;
        }
        let remark = if shown.is_dir() { "no tools there" } else { "no such folder" };
        text += &format!("  {} ({remark})\n", shown.display());
        seen.push(shown);
    }
    text
}

fn remarks(build: &Build) -> String {
    let mut remarks = Vec::new();
    if !build.mpi.is_empty() {
        remarks.push(build.mpi.as_str());
    }
    if build.name != STACK_LIBRARY && !build.is_level {
        remarks.push("not for QMPI stacks");
    }
    if build.has_fortran() {
        remarks.push("Fortran");
    }
    if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join(", ")) }
}

fn as_json(build: &Build) -> serde_json::Value {
    json!({
        "name": build.name,
        "version": build.version,
        "description": build.description,
        "abi": build.abi.map(Abi::name),
        "mpi": build.mpi,
        "level": build.is_level,
        "fortran": build.has_fortran(),
        "universal": build.universal,
        "path": build.path,
    })
}

/// What the tool says of itself, in a program that does nothing.
fn help(build: &Build) -> Result<String> {
    let output = Command::new("true")
        .env("LD_PRELOAD", &build.path)
        .env("MPI_TOOL_HELP", "1")
        .env("QMPI_HELP", "1")
        .stdin(Stdio::null())
        .output()
        .context("cannot start `true` with the tool")?;
    Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[cfg(test)]
mod tests {
    use std::process::ExitCode;

    use super::{List, nothing_found};

    #[test]
    fn no_tools_are_a_failure_that_says_what_to_do() {
        for json in [false, true] {
            let list = List { tool: None, all: false, json };
            let status = list.show(&[]).unwrap();
            assert_eq!(format!("{status:?}"), format!("{:?}", ExitCode::FAILURE));
        }
        let said = nothing_found();
        let folders = said.lines().filter(|line| line.starts_with("  /")).count();
        assert!(folders >= 4, "{said}");
        for part in ["`mpi-tool build`", "MPI_TOOL_PATH", "target/tools ("] {
            assert!(said.contains(part), "{said}");
        }
    }
}
