//! A program's memory, as the process knows it that has waited for it.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

/// `wait-for FILE PROGRAM …`: runs a program with the tools of `BENCH_PRELOAD`, and writes down the most
/// memory that it had, in MiB.
pub(crate) fn wait_for(arguments: &[String]) -> Result<()> {
    let [file, program, arguments @ ..] = arguments else { bail!("wait-for FILE PROGRAM …") };
    let status = Command::new(program)
        .args(arguments)
        .env("LD_PRELOAD", std::env::var_os("BENCH_PRELOAD").unwrap_or_default())
        .status()?;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: `getrusage` writes one structure, for which there is room, if it succeeds; only then is it taken
    // as initialised.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) != 0 {
            bail!("getrusage: {}", std::io::Error::last_os_error());
        }
        usage.assume_init()
    };
    fs::write(file, (usage.ru_maxrss as f64 / 1024.0).to_string())?;
    if !status.success() {
        bail!("{program}: {status}");
    }
    Ok(())
}
