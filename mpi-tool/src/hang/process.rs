//! What the kernel says of processes: whether they are there, run, sleep or are stopped.

use std::fs;
use std::path::Path;

use mpi_facts::watch::started_and_parent;

use super::file::Snapshot;

/// How a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// It is there.
    Alive,
    /// A signal has stopped it.
    Stopped,
    /// A debugger has stopped it.
    Traced,
    /// It is not there any more.
    Gone,
    /// It runs on another host.
    Elsewhere,
}

/// A process that another one may descend from, by its number.
pub(super) fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    u32::try_from(started_and_parent(&stat)?.1).ok()
}

/// When a process started; `None` if it is not there, or has ended and nobody has asked for its status.
pub(super) fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (started, _) = started_and_parent(&stat)?;
    (!matches!(state(&stat), Some('Z' | 'X') | None)).then_some(started)
}

/// How a rank's process is. One with the same number that started at another time is another one.
pub(super) fn life(snapshot: &Snapshot) -> Life {
    if snapshot.host != host() || !Path::new("/proc/self/stat").exists() {
        return Life::Elsewhere;
    }
    let stat = fs::read_to_string(format!("/proc/{}/stat", snapshot.pid)).unwrap_or_default();
    let is_it = started_and_parent(&stat).is_some_and(|(started, _)| started == snapshot.started);
    match state(&stat) {
        _ if !is_it => Life::Gone,
        Some('Z' | 'X' | 'x') | None => Life::Gone,
        Some('T') => Life::Stopped,
        Some('t') => Life::Traced,
        Some(_) => Life::Alive,
    }
}

/// Does a thread sleep, and how much of a processor has it had, in clock ticks?
pub(super) fn effort(pid: u32, thread: u32) -> Option<(bool, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let time = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some((matches!(state(&stat)?, 'S' | 'D'), time(11)? + time(12)?))
}

/// The letter for a process's state.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// This host's name, as the tool writes it.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    // As much of it as there is room for.
    let name: Vec<u8> = name.trim().replace('/', "_").into_bytes().into_iter().take(63).collect();
    String::from_utf8_lossy(&name).into_owned()
}
