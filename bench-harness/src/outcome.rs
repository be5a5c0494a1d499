//! What experiments share: programs that print their samples, the file of the figures, targets.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Runs a program on ranks, and reads the lines of JSON that it prints.
pub(crate) fn samples<T: DeserializeOwned>(
    mpiexec: &Path,
    ranks: usize,
    program: &mut Command,
) -> Result<Vec<T>> {
    let output = Command::new(mpiexec)
        .args(["-n", &ranks.to_string()])
        .arg(program.get_program())
        .args(program.get_args())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{} does not run", mpiexec.display()))?;
    if !output.status.success() {
        bail!("{} failed: {}", program.get_program().display(), output.status);
    }
    let lines = String::from_utf8(output.stdout)?;
    let samples = lines.lines().filter(|line| line.starts_with('{'));
    samples.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Writes the figures.
///
/// # Errors
/// Which targets were missed.
pub(crate) fn finish(
    figures: &impl Serialize,
    output: Option<&Path>,
    missed: &[String],
) -> Result<()> {
    if let Some(path) = output {
        std::fs::write(path, serde_json::to_string_pretty(figures)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("\nFigures in {}", path.display());
    }
    if !missed.is_empty() {
        bail!("targets missed:\n  {}", missed.join("\n  "));
    }
    println!("\nAll targets met.");
    Ok(())
}
