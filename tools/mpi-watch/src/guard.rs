//! `MPI_TOOL_MPI_WATCH_AFTER`: the process beside rank 0 that reports once when no rank moves any more.
//!
//! It is `mpi-tool guard`, so nothing runs in the ranks for it: no thread, no signal.

use std::env;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mpi_tool_layer::run::folder_of_tool;

/// Where `mpi-tool` is, relative to the folder of this tool: as wheels and packages have it, as builds have it, and
/// beside it.
const PLACES: [&str; 5] =
    ["../../bin/mpi-tool", "../../../bin/mpi-tool", "../bin/mpi-tool", "mpi-tool", "../mpi-tool"];

/// Starts the process that watches the run folder until this process ends.
///
/// # Errors
/// There is no `mpi-tool`, or it cannot be started: a reason for the user.
pub(crate) fn start(folder: &Path, seconds: u64) -> Result<(), String> {
    let program = program().ok_or("there is no program mpi-tool in PATH to watch the run")?;
    // Nobody's child, so that an application which waits for its children does not meet it.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#""$0" guard "$@" &"#]).arg(&program).arg(folder);
    shell.args([std::process::id().to_string(), seconds.to_string()]);
    shell.env_remove("LD_PRELOAD").stdin(Stdio::null()).stdout(Stdio::null());
    // SAFETY: between fork and exec, the closure may do what a signal handler may: `close_range` makes one system call.
    unsafe { shell.pre_exec(close_others) };
    let error = match shell.status() {
        Ok(status) if status.success() => return Ok(()),
        // An application that ignores its children's end is not told how they ended.
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
        Ok(status) => format!("/bin/sh: {status}"),
        Err(error) => format!("/bin/sh: {error}"),
    };
    Err(format!("{} cannot be started: {error}", program.display()))
}

/// Closes all files but standard input, output and error when the next program is executed: launchers wait until nobody
/// has a rank's connection any more. Kernels before 5.11 do not know it, and leave them open.
#[expect(clippy::unnecessary_wraps, reason = "that is what a child's preparation returns")]
fn close_others() -> io::Result<()> {
    let last = libc::c_uint::MAX;
    // SAFETY: `close_range` takes numbers. With this flag, it closes nothing that this code still uses.
    unsafe { libc::syscall(libc::SYS_close_range, 3, last, libc::CLOSE_RANGE_CLOEXEC) };
    Ok(())
}

/// The program `mpi-tool`: the one that belongs to this tool, or one in `PATH`.
fn program() -> Option<PathBuf> {
    let beside = folder_of_tool().into_iter().flat_map(|folder| PLACES.map(|at| folder.join(at)));
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<_> = env::split_paths(&path).map(|folder| folder.join("mpi-tool")).collect();
    beside.chain(in_path).find(|file| {
        file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    })
}
