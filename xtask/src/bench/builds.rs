//! How long tools compile.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result};

use crate::environment;
use crate::step::{cargo, output, run, step};
use crate::tools::shipped_packages;

/// What is measured, beside what it took before it was made quicker, and what it shall take.
struct Measurement {
    what: &'static str,
    took: Duration,
    before: &'static str,
    target: Option<u64>,
}

/// Builds tools in release, each from nothing in an empty folder, and prints a table.
///
/// Cargo's packages are fetched beforehand. Nothing of an MPI takes part: the tools are for MPICH's ABI.
pub(super) fn run_all() -> Result<()> {
    let folder = environment::root().join("target/bench-build");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let root = &environment::root();
    run(cargo().args(["fetch", "--quiet"]).current_dir(root))?;
    let author = new_project(&folder)?;
    run(cargo().args(["fetch", "--quiet"]).current_dir(&author))?;

    let (counter, bandwidth) = (["call-counter".to_owned()], ["bandwidth-counter".to_owned()]);
    let all = shipped_packages()?;

    let target = |name: &str| folder.join(name);
    let mut measured = Vec::new();
    let mut measure = |what: &'static str,
                       before: &'static str,
                       seconds: Option<u64>,
                       project: &Path,
                       target: &Path,
                       packages: &[String]|
     -> Result<()> {
        let took = step(what, || timed(&mut build(project, target, packages)))?;
        measured.push(Measurement { what, took, before, target: seconds });
        Ok(())
    };
    let tools = target("counter");
    measure("call counter, from nothing", "61", None, root, &tools, &counter)?;
    touch(&root.join("tools/call-counter/src/lib.rs"))?;
    measure("call counter, after an edit", "32", None, root, &tools, &counter)?;
    measure("then the bandwidth counter", "163", None, root, &tools, &bandwidth)?;
    let tools = target("author");
    measure("an author's first tool, from nothing", "", Some(30), &author, &tools, &[])?;
    touch(&author.join("src/lib.rs"))?;
    measure("an author's first tool, after an edit", "", Some(5), &author, &tools, &[])?;
    let what = "all tools that are shipped, for one ABI, from nothing";
    measure(what, "212", Some(90), root, &target("all"), &all)?;

    println!("\nSeconds, in release, two processors as a rule (here {}):\n", processors());
    println!("| | took | before | shall take |\n|---|---|---|---|");
    for Measurement { what, took, before, target } in &measured {
        let target = target.map_or(String::new(), |target| format!("at most {target}"));
        println!("| {what} | {:.1} | {before} | {target} |", took.as_secs_f64());
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// A project as `mpi-tool new` makes it.
fn new_project(folder: &Path) -> Result<PathBuf> {
    step("Building mpi-tool, which makes an author's project", || {
        run(cargo()
            .args(["build", "--quiet", "--package", "mpi-tool"])
            .current_dir(environment::root()))
    })?;
    let project = folder.join("first-tool");
    let program = environment::root().join("target/debug/mpi-tool");
    output(Command::new(program).arg("new").arg(&project))?;
    Ok(project)
}

fn build(project: &Path, target: &Path, packages: &[String]) -> Command {
    let mut build = cargo();
    build.args(["build", "--release", "--offline", "--quiet", "--target-dir"]).arg(target);
    build.args(packages.iter().map(|package| format!("--package={package}")));
    build.current_dir(project).env("MPI_ABI", "mpich");
    build
}

fn timed(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    run(command)?;
    Ok(start.elapsed())
}

/// As if somebody had written to it.
fn touch(file: &Path) -> Result<()> {
    let opened = File::options().append(true).open(file);
    opened
        .and_then(|opened| opened.set_modified(SystemTime::now()))
        .with_context(|| file.display().to_string())
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}
