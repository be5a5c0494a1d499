//! What this machine has for tests that not every machine can run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::environment;

/// What there is, by the names of `tests.toml`.
pub(super) struct Machine {
    has: BTreeSet<&'static str>,
    /// What tests must know of the browser.
    pub(super) browser: Vec<(&'static str, String)>,
    /// What is missing, and why, for people.
    pub(super) lacks: Vec<String>,
}

impl Machine {
    /// Looks, and fetches what can be fetched.
    pub(super) fn look() -> Self {
        let (mut has, mut lacks) = (BTreeSet::new(), Vec::new());
        let mut look = |name, found: anyhow::Result<()>| match found {
            Ok(()) => _ = has.insert(name),
            Err(reason) => lacks.push(format!("{name}: {reason:#}")),
        };
        let program = |name| {
            let found = environment::find_program(name).map(|_| ());
            found.ok_or_else(|| anyhow::anyhow!("{name} is not installed"))
        };
        look("hosts", environment::hosts());
        look("debugger", environment::debugger());
        // Where no debugger can look at a process, neither can a tracer.
        look("strace", program("strace").and_then(|()| environment::debugger()));
        look("slurm", slurm());
        look("ThreadSanitizer", thread_sanitizer());
        for name in ["otf2-print", "smpirun", "tmux", "valgrind"] {
            look(name, program(name));
        }
        let browser = environment::chromium();
        look("browser", browser.as_ref().map(|_| ()).map_err(|error| anyhow::anyhow!("{error:#}")));
        Self { has, browser: browser.unwrap_or_default(), lacks }
    }

    /// What is there for one run.
    pub(super) fn gets(&mut self, name: &'static str) {
        self.has.insert(name);
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.has.contains(name)
    }
}

/// Does the compiler have ThreadSanitizer, and does that run here? With addresses at random as some kernels have them, the runtime of
/// GCC 12 does not start.
fn thread_sanitizer() -> anyhow::Result<()> {
    let folder = environment::root().join("target/thread-sanitizer");
    fs::create_dir_all(&folder)?;
    let (source, program) = (folder.join("empty.c"), folder.join("empty"));
    fs::write(&source, "int main(void) { return 0; }\n")?;
    let mut compiler = Command::new("cc");
    compiler.arg("-fsanitize=thread").arg(&source).arg("-o").arg(&program);
    for mut command in [compiler, Command::new(&program)] {
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "{}", said.lines().next().unwrap_or_default());
    }
    Ok(())
}

/// Can a cluster of Slurm be started in namespaces of its own?
fn slurm() -> anyhow::Result<()> {
    for program in ["slurmctld", "slurmd", "munged", "srun"] {
        let is_there = environment::find_program(program).is_some()
            || Path::new("/usr/sbin").join(program).is_file();
        anyhow::ensure!(
            is_there,
            "there is no {program} (Debian: slurm-wlm slurm-wlm-basic-plugins munge)"
        );
    }
    environment::hosts()
}
