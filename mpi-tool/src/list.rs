//! `mpi-tool list`: the tools, their ABIs, and what can be set.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::cli::List;
use crate::mpi::Abi;
use crate::tools::{self, Build, STACK_LIBRARY};

impl List {
    pub(crate) fn run(&self) -> Result<()> {
        let builds = match &self.tool {
            Some(name) => tools::of_name(name)?,
            None => tools::all(),
        };
        if self.json {
            let tools: Vec<_> = builds.iter().map(as_json).collect();
            println!("{:#}", json!({ "schema": "mpi-tool-list/1", "tools": tools }));
            return Ok(());
        }
        if builds.is_empty() {
            println!("No tools found. `mpi-tool build` makes them; it was looked in:");
            for folder in tools::folders() {
                println!("  {}", folder.display());
            }
            return Ok(());
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
            println!("{name} {}: {}", first.version, first.description);
            for abi in Abi::ALL {
                // The others of an ABI are never taken: the first one found is.
                for (index, build) in
                    builds.iter().filter(|build| build.abi == Some(abi)).enumerate()
                {
                    if index == 0 || self.all {
                        println!("  {:<9}{}{}", abi.name(), build.path.display(), remarks(build));
                    }
                }
            }
            for (index, build) in builds.iter().filter(|build| build.universal).enumerate() {
                if index == 0 || self.all {
                    println!("  {:<9}{}", "any", build.path.display());
                }
            }
        }
        if self.tool.is_some() {
            println!("\n{}", help(&builds[0])?.trim_end());
        } else {
            println!("\nOptions of a tool: mpi-tool list NAME");
        }
        Ok(())
    }
}

fn remarks(build: &Build) -> String {
    let mut remarks = Vec::new();
    if !build.mpi.is_empty() {
        remarks.push(build.mpi.as_str());
    }
    if build.name != STACK_LIBRARY && !build.is_level {
        remarks.push("not for QMPI stacks");
    }
    if build.fortran {
        remarks.push("Fortran");
    }
    if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join(", ")) }
}

fn as_json(build: &Build) -> serde_json::Value {
    json!({
        "name": build.name,
        "version": build.version,
        "description": build.description,
        "abi": build.abi,
        "mpi": build.mpi,
        "level": build.is_level,
        "fortran": build.fortran,
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
