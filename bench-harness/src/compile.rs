//! The C counterparts.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Compiles a C source by an MPI's compiler.
///
/// # Errors
/// The compiler does not run, or refuses.
pub(crate) fn compile(mpicc: &Path, source: &Path, output: &Path, flags: &[&str]) -> Result<()> {
    let status = Command::new(mpicc)
        .arg("-o")
        .arg(output)
        .arg(source)
        .args(flags)
        .status()
        .with_context(|| format!("{} does not run", mpicc.display()))?;
    if !status.success() {
        bail!("{} was not compiled", source.display());
    }
    Ok(())
}

/// For the grid, which has to compute what Rust does: no product and sum in one step.
pub(crate) const GRID_FLAGS: &[&str] = &["-O3", "-ffp-contract=off", "-shared", "-fPIC", "-lm"];
