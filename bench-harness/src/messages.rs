//! What typed messages cost beside raw ones, values beside their serialisation, and a structured grid
//! on rmpi beside one in C.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::compile::compile;
use crate::outcome::{Troubles, finish, samples};
use crate::sample::{estimate, median};

#[derive(Args)]
pub(crate) struct Messages {
    /// The MPI's C compiler
    #[arg(long, env = "MPICC")]
    mpicc: PathBuf,
    /// The launcher of the same MPI, which `cargo xtask bench` finds
    #[arg(long, env = "MPIEXEC")]
    mpiexec: PathBuf,
    /// The folder with the C programs
    #[arg(long)]
    sources: PathBuf,
    /// Numbers of ranks; messages take two
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    ranks: Vec<usize>,
    /// Paired samples of each pattern and size
    #[arg(long, default_value_t = 100)]
    samples: usize,
    /// Messages of a sample
    #[arg(long, default_value_t = 1000)]
    messages: usize,
    /// Write the figures here, as JSON
    #[arg(long)]
    output: Option<PathBuf>,
}

/// What `messages` prints: seconds of each sample.
#[derive(Deserialize)]
struct Sampled {
    pattern: String,
    ranks: usize,
    bytes: u64,
    alone: Option<f64>,
    reference: Vec<f64>,
    ours: Vec<f64>,
}

#[derive(Serialize)]
struct Ratio {
    pattern: String,
    ranks: usize,
    bytes: u64,
    /// Our time by the reference's, in the same pair: the median, and a 95 % interval of it.
    ratio: f64,
    low: f64,
    high: f64,
    /// The reference's median, in seconds a sample.
    reference: f64,
    /// Serialisation's part of it, where there is one.
    serialisation: Option<f64>,
}

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    mpi: String,
    messages: usize,
    ratios: Vec<Ratio>,
}

impl Messages {
    pub(crate) fn run(self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let c = folder.path().join("libmessages.so");
        compile(&self.mpicc, &self.sources.join("messages.c"), &c, crate::compile::GRID_FLAGS)?;
        let program = std::env::current_exe()?.with_file_name("messages");
        let mut figures = Figures {
            schema: "rmpi-messages/1",
            mpi: self.mpicc.display().to_string(),
            messages: self.messages,
            ratios: Vec::new(),
        };
        let mut troubles = Troubles::default();
        println!(
            "Plain messages beside MPI_Send and MPI_Recv in C, values beside the same serialisation by"
        );
        println!(
            "hand, a grid beside one in C; {} pairs, {} messages each",
            self.samples, self.messages
        );
        println!("(a tenth of values)\n");
        println!("| pattern | ranks | bytes | median ratio | 95 % interval |");
        println!("|---|---|---|---|---|");
        for ranks in &self.ranks {
            let mut program = Command::new(&program);
            program.arg(&c).args([self.samples.to_string(), self.messages.to_string()]);
            let sampled = samples(&self.mpiexec, *ranks, &mut program);
            let what = format!("messages on {ranks} ranks");
            for sampled in troubles.note(&what, sampled).unwrap_or_default() {
                let Sampled { pattern, ranks, bytes, alone, mut reference, ours } = sampled;
                let ratios: Vec<_> = ours.iter().zip(&reference).map(|(a, b)| a / b).collect();
                let ratio = estimate(&ratios);
                println!(
                    "| {pattern} | {ranks} | {bytes} | {:.3} | {:.3} to {:.3} |",
                    ratio.median, ratio.low, ratio.high
                );
                // Outside for sure: the interval does not reach into what is allowed. The grid's time is
                // mostly that of its loops: two compilers are compared there.
                if pattern != "grid" && ratio.low > 1.1 {
                    troubles
                        .missed
                        .push(format!("{pattern} of {bytes} bytes is {:.3}", ratio.median));
                }
                let reference = median(&mut reference);
                figures.ratios.push(Ratio {
                    pattern,
                    ranks,
                    bytes,
                    ratio: ratio.median,
                    low: ratio.low,
                    high: ratio.high,
                    reference,
                    serialisation: alone.map(|alone| alone / reference),
                });
            }
        }
        finish(&figures, self.output.as_deref(), &troubles)
    }
}
