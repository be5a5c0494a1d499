//! Is there memory for a whole run?

use std::fs;

use anyhow::{Result, bail};

use super::Opened;

/// Shorter runs need less memory than is free as a rule, in bytes of records.
const SHORT: u64 = 1 << 26;

/// What a call needs, and a piece of data that it has moved: with the message that this is a part of.
const CALL: u64 = 94;
const MOVED: u64 = 230;

/// Refuses a run that is too long for the memory that is free: without it, the kernel would end this program, or others.
pub(super) fn check(opened: &Opened) -> Result<()> {
    if opened.bytes() < SHORT {
        return Ok(());
    }
    let Some(free) = free() else { return Ok(()) };
    opened.progress.expect(opened.bytes());
    let (mut calls, mut moved) = (0_u64, 0_u64);
    for mut thread in opened.threads() {
        while thread.read()? {
            let [of_piece, data] = thread.count();
            calls += of_piece;
            moved += data;
        }
    }
    let need = calls * CALL + moved * MOVED;
    if need > free {
        opened.progress.end();
        bail!(
            "the trace has {calls} calls, for which this needs some {} of memory, and {} are free. In --to csv, calls are \
             written one by one, which needs little memory. A shorter trace: MPI_TOOL_MPI_TRACE_RING keeps the last calls \
             only, and MPI_Pcontrol switches tracing off and on (docs/mpi-trace.md)",
            size(need),
            size(free)
        );
    }
    Ok(())
}

/// Bytes of memory that programs may have without others being moved out; `None` if nobody says so.
fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn size(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
