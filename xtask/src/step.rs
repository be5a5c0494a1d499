//! Running commands so that a person sees what takes so long.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

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

/// Runs a command, shows what it prints, and hands each line to `line`: standard output and standard error as
/// they come, since cargo names the test programs in one and they speak in the other.
pub(crate) fn run_reading(command: &mut Command, mut line: impl FnMut(&str)) -> Result<()> {
    let shown = show(command);
    let (reader, writer) = std::io::pipe()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()
        .with_context(|| format!("cannot run {shown}"))?;
    // The pipe ends when nobody can write to it any more: we do not.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    for text in BufReader::new(reader).split(b'\n') {
        let text = text?;
        let text = String::from_utf8_lossy(&text);
        println!("{text}");
        line(&text);
    }
    let status = child.wait()?;
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
