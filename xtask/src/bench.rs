//! Measurements.

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// What a tool adds to a call: instructions, and time against C tools
    Overhead,
}

impl Bench {
    pub(crate) fn run(self) -> Result<()> {
        Ok(())
    }
}
