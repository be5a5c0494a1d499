//! Programs that nobody here wrote.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Run, setting, tool};
use mpi_tool_layer::mpi_sys::Abi;

/// The Intel MPI Benchmarks, whose binaries are of MPICH's ABI: the same numbers of messages with
/// and without tools, checks on.
#[test]
fn intel_mpi_benchmarks() {
    assert_eq!(Abi::CURRENT, Abi::Mpich, "`cargo xtask test` leaves this out on other ABIs");
    let libraries = mpich_libraries();
    let cases: [(&str, &[&str]); 3] = [
        ("IMB-MPI1", &["PingPong", "Allreduce", "Alltoallv", "Sendrecv"]),
        ("IMB-NBC", &["Ibcast", "Iallgather"]),
        ("IMB-RMA", &["Unidir_put", "Accumulate"]),
    ];
    for (program, benchmarks) in cases {
        let program = setting("IMB").join(program);
        let run = || {
            let limits = ["-npmin", "2", "-iter", "20", "-iter_policy", "off", "-msglog", "8"];
            Run::new(&program, 2)
                .arguments(benchmarks)
                .arguments(&limits)
                .variable("LD_LIBRARY_PATH", &libraries)
        };
        let plain = run().run();
        plain.expect_success("without tools");
        let counted = run().count().preload(tool("empty_raw")).run();
        counted.expect_success("with the call counter");
        // The tables' first columns: bytes and repetitions. Times differ.
        let columns = |text: &str| -> Vec<Vec<String>> {
            text.lines()
                .map(|line| line.split_whitespace().take(2).map(str::to_owned).collect())
                .filter(|columns: &Vec<String>| columns.iter().all(|c| c.parse::<u64>().is_ok()))
                .collect()
        };
        assert!(columns(&plain.stdout).len() > 10, "{}", plain.stdout);
        assert_eq!(columns(&plain.stdout), columns(&counted.stdout));
        assert_eq!(counted.reports.len(), 1);
        assert_eq!(counted.reports[0]["complete"], true);
        assert_eq!(counted.counted["MPI_Finalize"], 2, "{:?}", counted.counted);
    }
}

/// The folders with the `libmpi.so.12` that the benchmarks want: Debian calls it `libmpich.so.12`.
fn mpich_libraries() -> String {
    let folders = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    if !common::is_debian() {
        return folders;
    }
    let renamed = common::build_folder().join("renamed");
    std::fs::create_dir_all(&renamed).unwrap();
    let library = folders
        .split(':')
        .chain(["/usr/lib/x86_64-linux-gnu"])
        .map(|folder| Path::new(folder).join("libmpich.so.12"))
        .find(|file| file.exists())
        .expect("Debian's MPICH has a libmpich.so.12");
    let _ = std::os::unix::fs::symlink(library, renamed.join("libmpi.so.12"));
    format!("{}:{folders}", renamed.display())
}

/// A program behind `bash`, as job scripts start them: one report, and nothing of the shell.
#[test]
fn through_a_shell_script() {
    let program = common::compile("ring");
    let mut launcher = Command::new(setting("MPIEXEC"));
    let script = format!("for i in 1 2; do true; done; exec {}", program.display());
    let output = launcher
        .args(["-n", "2", "bash", "-c", &script])
        .env("LD_PRELOAD", tool("call_counter"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert_eq!(errors.matches("MPI_Send: 2000").count(), 1, "{errors}");
    assert_eq!(errors.matches("saw no MPI call").count(), 0, "{errors}");
}
