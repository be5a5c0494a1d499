//! Running commands so that a person sees what takes so long.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};

use crate::environment;

/// Says what comes now, and how long it took.
pub(crate) fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("==> {what}");
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f32();
    match &result {
        Ok(_) => eprintln!("    {what}: done in {seconds:.1} s"),
        Err(_) => eprintln!("    {what}: FAILED after {seconds:.1} s"),
    }
    result
}

/// Runs a command with its output on the terminal.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("cannot run {shown}"))?;
    if !status.success() {
        bail!("{shown} failed ({status})");
    }
    Ok(())
}

/// Runs a command and returns what it printed on standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {shown}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} failed ({}):\n{}", output.status, errors.trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn show(command: &Command) -> String {
    let mut words = vec![command.get_program()];
    words.extend(command.get_args());
    let words: Vec<_> = words.into_iter().map(OsStr::to_string_lossy).collect();
    words.join(" ")
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    if std::env::var_os("CI").is_some() {
        // Ten gigabytes that make a second build faster.
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    cargo
}

/// The program of a package of crates.io, which is compiled once into `target`: without optimization and what is only
/// needed for a debugger, which would take a minute and a gigabyte more.
pub(crate) fn installed_crate(package: &str, version: &str, options: &[&str]) -> Result<PathBuf> {
    let folder = environment::root().join("target").join(package);
    let program = folder.join("bin").join(package);
    let marker = folder.join("version");
    let is_there =
        || program.is_file() && fs::read_to_string(&marker).is_ok_and(|found| found == version);
    if !is_there() {
        step(&format!("Installing {package} {version} into {}", folder.display()), || {
            let build = folder.join("build");
            run(cargo()
                .args(["install", "--quiet", "--locked", "--debug", "--force", package])
                .args(["--version", version])
                .args(options)
                .arg("--root")
                .arg(&folder)
                .arg("--target-dir")
                .arg(&build)
                .env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
            if build.exists() {
                fs::remove_dir_all(&build)?;
            }
            fs::write(&marker, version).with_context(|| marker.display().to_string())
        })?;
        ensure!(program.is_file(), "{package} has no program {}", program.display());
    }
    Ok(program)
}
