//! The programs that are measured: the thesis's, where they are installed, and our own in their place; their
//! arguments, scaled to this machine, and where each says how long it took.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::compile::compile;

/// Paths of installed originals.
#[derive(Args, Default)]
pub(crate) struct Originals {
    /// An installed HPCG 3.1 (xhpcg), in place of our own
    #[arg(long)]
    hpcg: Option<PathBuf>,
    /// An installed AMG 2006, in place of our own
    #[arg(long)]
    amg: Option<PathBuf>,
    /// The folder of an installed hypre, with include and lib: its BoomerAMG, which AMG 2006 is made of, in
    /// place of our own AMG
    #[arg(long, env = "HYPRE_DIR", conflicts_with = "amg")]
    hypre: Option<PathBuf>,
    /// An installed CoMD (CoMD-mpi), in place of our own; its `pots` are beside it or one folder up
    #[arg(long)]
    comd: Option<PathBuf>,
    /// An installed osu_latency, in place of our own
    #[arg(long)]
    osu_latency: Option<PathBuf>,
    /// The driver of hypre, compiled.
    #[arg(skip)]
    boomeramg: Option<PathBuf>,
}

/// What a program says: its time, and parts of it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) time: f64,
    /// Times by what they are of.
    pub(crate) parts: Vec<(String, f64)>,
}

/// A program, and where in its output its own time is. It runs in a folder of its own, whose files are
/// read as output.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// None: one process without a launcher.
    pub(crate) ranks: Option<usize>,
    pub(crate) command: Vec<String>,
    pub(crate) said: fn(&str) -> Option<Said>,
}

/// A program of ours, beside this one.
pub(crate) fn own(name: &str) -> Result<String> {
    let program = std::env::current_exe()?.with_file_name(name);
    Ok(program.to_str().context("a path that is not UTF-8")?.to_owned())
}

fn command(program: &str, arguments: &[&str]) -> Vec<String> {
    std::iter::once(&program).chain(arguments).map(|word| (*word).to_owned()).collect()
}

impl Originals {
    fn installed_or_own(path: Option<&Path>, name: &str) -> Result<String> {
        match path {
            // It does not run in this folder.
            Some(path) => {
                let path = fs::canonicalize(path).with_context(|| path.display().to_string())?;
                Ok(path.display().to_string())
            }
            None => own(name),
        }
    }

    pub(crate) fn hpcg(&self, ranks: usize, quick: bool) -> Result<Program> {
        let program = Self::installed_or_own(self.hpcg.as_deref(), "hpcg")?;
        let points = if quick { "16" } else { "48" };
        let command = match self.hpcg {
            Some(_) => {
                let size = ["x", "y", "z"].map(|axis| format!("--n{axis}={points}"));
                // No time to fill: one set, as in the thesis.
                command(&program, &[&size[0], &size[1], &size[2], "--rt=0"])
            }
            None => command(&program, &["--points", points]),
        };
        let said = |text: &str| {
            let time = number_after(text, "timed seconds")
                .or_else(|| number_after(text, "Benchmark Time Summary::Total"))?;
            Some(Said { time, ..Said::default() })
        };
        Ok(Program { name: "hpcg", ranks: Some(ranks), command, said })
    }

    pub(crate) fn comd(&self, ranks: usize, quick: bool) -> Result<Program> {
        let program = Self::installed_or_own(self.comd.as_deref(), "comd")?;
        let (cells, steps) = if quick { ("8", "50") } else { ("20", "100") };
        let all = ranks.to_string();
        let mut arguments =
            vec!["-e", "-x", cells, "-y", cells, "-z", cells, "-k", &all, "-N", steps];
        let potentials = self.comd.as_ref().and_then(|_| {
            let folders = Path::new(&program).ancestors().skip(1).take(2);
            let folder = folders.map(|folder| folder.join("pots")).find(|pots| pots.is_dir())?;
            Some(folder.display().to_string())
        });
        if let Some(folder) = &potentials {
            arguments.extend(["-d", folder]);
        }
        let said = |text: &str| {
            let time =
                number_after(text, "microseconds an atom and step:").or_else(|| comd_loop(text))?;
            Some(Said { time, ..Said::default() })
        };
        Ok(Program {
            name: "comd",
            ranks: Some(ranks),
            command: command(&program, &arguments),
            said,
        })
    }

    /// Compiles what is a library and no program.
    pub(crate) fn build(&mut self, mpicc: &Path, sources: &Path, folder: &Path) -> Result<()> {
        let Some(hypre) = &self.hypre else { return Ok(()) };
        let program = folder.join("boomeramg");
        let include = format!("-I{}", hypre.join("include").display());
        // Debian's is one folder deeper.
        let deeper = format!("-I{}", hypre.join("include/hypre").display());
        let mut flags = vec!["-O2".into(), include, deeper];
        for library in ["lib", "lib/x86_64-linux-gnu"].map(|name| hypre.join(name)) {
            flags.push(format!("-L{}", library.display()));
            flags.push(format!("-Wl,-rpath,{}", library.display()));
        }
        // Its own libraries are its own matter.
        flags.extend(["-Wl,--allow-shlib-undefined", "-lHYPRE", "-lm"].map(String::from));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        compile(mpicc, &sources.join("boomeramg.c"), &program, &flags)?;
        self.boomeramg = Some(program);
        Ok(())
    }

    pub(crate) fn amg(&self, ranks: usize, quick: bool) -> Result<Program> {
        let path = self.boomeramg.as_deref().or(self.amg.as_deref());
        let program = Self::installed_or_own(path, "amg")?;
        let points = if quick { "32" } else { "85" };
        let all = ranks.to_string();
        let mut arguments = vec!["-P", &all, "1", "1", "-n", points, points, points];
        if self.amg.is_some() {
            arguments.insert(0, "-laplace");
        }
        let said = |text: &str| {
            let time = match number_after(text, "solve seconds:") {
                Some(seconds) => number_after(text, "setup seconds:")? + seconds,
                None => amg_wall(text)?,
            };
            Some(Said { time, ..Said::default() })
        };
        Ok(Program {
            name: if self.boomeramg.is_some() { "boomeramg" } else { "amg" },
            ranks: Some(ranks),
            command: command(&program, &arguments),
            said,
        })
    }

    /// Latency of the smallest message, many times.
    pub(crate) fn latency(&self) -> Result<Program> {
        let program = Self::installed_or_own(self.osu_latency.as_deref(), "osu")?;
        let command = match self.osu_latency {
            Some(_) => command(&program, &["-m", "1:1", "-i", "20000"]),
            None => command(&program, &["latency", "--max", "1", "--iterations", "20000"]),
        };
        let said = |text: &str| {
            let time = latencies(text).first()?.1;
            Some(Said { time, ..Said::default() })
        };
        Ok(Program { name: "osu latency", ranks: Some(2), command, said })
    }

    /// Latency by the size of the message, and the sum of them.
    pub(crate) fn latencies(&self, quick: bool) -> Result<Program> {
        let program = Self::installed_or_own(self.osu_latency.as_deref(), "osu")?;
        let rounds = if quick { "1000" } else { "10000" };
        let command = match self.osu_latency {
            Some(_) => command(&program, &["-i", rounds]),
            None => command(&program, &["latency", "--iterations", rounds]),
        };
        let said = |text: &str| {
            let parts = latencies(text);
            let time = parts.iter().map(|(_, time)| time).sum();
            (!parts.is_empty()).then_some(Said { time, parts })
        };
        Ok(Program { name: "osu latency by size", ranks: Some(2), command, said })
    }
}

/// The number behind a text in a line.
pub(crate) fn number_after(output: &str, text: &str) -> Option<f64> {
    let rest = output.lines().find_map(|line| line.split_once(text))?.1;
    rest.trim_start_matches([':', '=', ' ']).split_whitespace().next()?.parse().ok()
}

/// A table of sizes and latencies.
fn latencies(output: &str) -> Vec<(String, f64)> {
    output
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (size, time) = (words.next()?, words.next()?);
            size.parse::<u64>().ok()?;
            Some((size.to_owned(), time.parse().ok()?))
        })
        .collect()
}

/// CoMD's timer of its loop, in seconds: name, calls, average, total, and per cent.
fn comd_loop(output: &str) -> Option<f64> {
    let line = output.lines().find(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("loop") && words.next().is_some_and(|word| word.parse::<u64>().is_ok())
    })?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// All phases of AMG, each with a line of its own.
fn amg_wall(output: &str) -> Option<f64> {
    let phases: Vec<f64> = output
        .lines()
        .filter_map(|line| number_after(line.trim_start(), "wall clock time"))
        .collect();
    (!phases.is_empty()).then(|| phases.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn originals() -> Originals {
        Originals::default()
    }

    fn time(program: &Program, output: &str) -> Option<f64> {
        (program.said)(output).map(|said| said.time)
    }

    #[test]
    fn our_programs_say_how_long_they_took() {
        let originals = originals();
        let hpcg = originals.hpcg(2, true).unwrap();
        assert_eq!(time(&hpcg, "a\ntimed seconds: 1.25\n"), Some(1.25));
        let comd = originals.comd(2, true).unwrap();
        assert_eq!(time(&comd, "microseconds an atom and step: 0.5\n"), Some(0.5));
        let amg = originals.amg(2, true).unwrap();
        assert_eq!(time(&amg, "setup seconds: 0.25\nsolve seconds: 0.5\n"), Some(0.75));
        let latency = originals.latency().unwrap();
        assert_eq!(time(&latency, "# bytes us\n1    0.54\n"), Some(0.54));
        for program in [&hpcg, &comd, &amg, &latency] {
            assert_eq!(time(program, "# Total=\nnothing\n"), None, "{}", program.name);
        }
    }

    /// HPCG 3.1 says it in a file, where other things have totals, too.
    #[test]
    fn hpcg_s_file() {
        let text = "HPCG-Benchmark version=3.1\nSetup Information::Setup Time=0.01\n\
            Benchmark Time Summary=\nBenchmark Time Summary::Optimization phase=1.4e-07\n\
            Benchmark Time Summary::DDOT=0.09\nBenchmark Time Summary::Total=5.43\n\
            Floating Point Operations Summary::Total=1.2e+10\n";
        assert_eq!(time(&originals().hpcg(2, true).unwrap(), text), Some(5.43));
    }

    #[test]
    fn comd_s_table() {
        let text = "  Timer        # Calls    Avg/Call (s)   Total (s)    % Loop\n____\n\
            total                      1       4.6093        4.6093      100.90\n\
            loop                       1       4.5683        4.5683      100.00\n\
            timestep                  10       0.4568        4.5680       99.99\n\n\
            Timing Statistics Across 2 Ranks:\n\
            loop                 0:    4.5680       1:    4.5690      4.5685      0.0001\n";
        assert_eq!(time(&originals().comd(2, true).unwrap(), text), Some(4.5683));
    }

    #[test]
    fn amg_s_phases() {
        let text = "SStruct Interface:\n  wall clock time = 0.250000 seconds\n\
            \x20 cpu clock time  = 0.240000 seconds\n\nSetup phase times:\n\
            PCG Setup:\n  wall clock time = 1.500000 seconds\n\n\
            PCG Solve:\n  wall clock time = 3.000000 seconds\n";
        assert_eq!(time(&originals().amg(2, true).unwrap(), text), Some(4.75));
    }

    #[test]
    fn osu_s_table() {
        let text = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n\
            0                       0.20\n1                       0.21\n4194304   1210.55\n";
        let said = (originals().latencies(true).unwrap().said)(text).unwrap();
        let parts = [("0", 0.20), ("1", 0.21), ("4194304", 1210.55)];
        assert_eq!(said.parts, parts.map(|(size, time)| (size.to_owned(), time)));
        // Version 7 says more in its head.
        let text = "# OSU MPI Latency Test v7.3\n# Datatype: MPI_CHAR.\n\
            # Size       Avg Latency(us)\n1                       0.21\n";
        assert_eq!(time(&originals().latency().unwrap(), text), Some(0.21));
    }
}
