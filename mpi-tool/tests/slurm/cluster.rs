//! A cluster of Slurm, whose nodes are processes of this machine (`cluster.sh`), each with a name and a `/dev/shm` of its own.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Outcome, abi, mpi_name, setting};

/// Why there is no cluster here; `None` if there can be one.
fn no_cluster() -> Option<&'static str> {
    let has = |program: &str| {
        let folders = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&folders).chain(["/usr/sbin".into(), "/sbin".into()]);
        folders.into_iter().any(|folder: std::path::PathBuf| folder.join(program).is_file())
    };
    if !["slurmctld", "slurmd", "munged", "srun", "sbatch"].into_iter().all(has) {
        return Some(
            "Slurm is not installed: apt-get install slurm-wlm slurm-wlm-basic-plugins munge",
        );
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let is_root = status.lines().any(|line| line.starts_with("Uid:\t0\t"));
    if !is_root {
        return Some("only root can start Slurm's daemons and give each node a name");
    }
    let plugin = Path::new("/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so");
    if abi() == "openmpi" && !plugin.exists() {
        return Some("Slurm's plugin for PMIx finds no library: apt-get install libpmix-dev");
    }
    match mpi_name().as_str() {
        // Debian's Open MPI 4.1 wants the PMIx of its own packages, which Slurm's plugin is for, too.
        "mpich-5.0.2" | "mpich-debian" | "openmpi-5.0.11" | "openmpi-debian" => None,
        _ => Some("these tests are for MPICH with pmi2 and Open MPI with pmix"),
    }
}

/// Says why a test is left out, if it is.
pub(crate) fn is_left_out(test: &str) -> bool {
    let reason = no_cluster();
    if let Some(reason) = reason {
        eprintln!("left out: {test}: {reason}");
    }
    reason.is_some()
}

/// `srun` with what this MPI starts by.
pub(crate) fn srun() -> &'static str {
    if abi() == "openmpi" { "srun --mpi=pmix" } else { "srun --mpi=pmi2" }
}

/// Runs a shell's command on the login node of a cluster.
pub(crate) fn on_cluster(folder: &Path, nodes: u32, command: &str) -> Outcome {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slurm/cluster.sh");
    // The script's own processes end by this signal only.
    let mut limited = Command::new("timeout");
    limited.args(["-s", "KILL", "120"]).arg(script).arg(nodes.to_string());
    limited.args(["sh", "-c", command]).current_dir(folder);
    limited.env("MPI_TOOL_PATH", setting("MPI_TOOLS"));
    // Slurm's own programs, wherever else the search path leads.
    limited.env("PATH", format!("/usr/bin:/bin:/usr/sbin:/sbin:{}", env::var("PATH").unwrap()));
    Outcome::of(&mut limited)
}

/// Runs a shell's command as a batch script on nodes, with so many tasks: the status, and what is said.
pub(crate) fn batch(folder: &Path, nodes: u32, tasks: u32, command: &str) -> Outcome {
    fs::write(folder.join("job"), format!("#!/bin/sh\n{command}\n")).unwrap();
    let line = format!("sbatch --wait --quiet -N{nodes} -n{tasks} -o out -e err job");
    let mut outcome = on_cluster(folder, nodes, &line);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    outcome.stdout += &read("out");
    outcome.stderr += &read("err");
    outcome
}

pub(crate) fn mpi_tool_run(options: &str) -> String {
    format!("{} run {options} --", env!("CARGO_BIN_EXE_mpi-tool"))
}
