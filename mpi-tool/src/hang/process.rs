//! What the kernel says of processes: whether they are there, run, sleep or are stopped.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use mpi_facts::watch::{PID_SPACE, started_and_parent};

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
pub(crate) fn parent(pid: u32) -> Option<u32> {
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
    // Numbers of another namespace are those of other processes here.
    let own = || fs::metadata(PID_SPACE).map_or(0, |space| space.ino());
    let is_here = || snapshot.pid_space == 0 || snapshot.pid_space == own();
    if snapshot.host != host() || !is_here() || !Path::new("/proc/self/stat").exists() {
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

/// The threads of a process, by their numbers.
pub(super) fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    let entries = entries.into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What a thread that sleeps waits for, if that cannot end by time alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sleep {
    /// Another thread, such as one that it joins.
    Thread,
    /// A socket, a pipe or the like.
    Descriptor,
    /// Time, or what cannot be told.
    Other,
}

/// What a thread sleeps for, by the system call that it is in.
pub(super) fn sleep_of(pid: u32, thread: u32) -> Sleep {
    let call = fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).unwrap_or_default();
    let words: Vec<&str> = call.split_ascii_whitespace().collect();
    let number = words.first().and_then(|number| number.parse::<i64>().ok());
    // Another process may wake who waits for a word that processes may share, unless that is the number of a thread: the end
    // of one is waited for in that way.
    let argument = |at: usize| {
        let digits = words.get(at).and_then(|word| word.strip_prefix("0x"));
        digits.and_then(|digits| u64::from_str_radix(digits, 16).ok())
    };
    let is_own = || {
        let is_private = argument(2).is_some_and(|operation| operation & FUTEX_PRIVATE_FLAG != 0);
        let thread = argument(3).map(|value| format!("/proc/{pid}/task/{}", value as u32));
        is_private || thread.is_some_and(|thread| Path::new(&thread).exists())
    };
    match number.map(i64::cast_unsigned) {
        // futex, whose fourth argument is the time that it ends at.
        Some(202) if words.get(4) == Some(&"0x0") && is_own() => Sleep::Thread,
        // poll, select, pselect6, ppoll, epoll_wait, epoll_pwait, epoll_pwait2.
        Some(7 | 23 | 270 | 271 | 232 | 281 | 441) => Sleep::Descriptor,
        _ => Sleep::Other,
    }
}

/// May a thread have been started after a moment, in nanoseconds after the machine was? A moment that is not known is 0.
pub(super) fn is_younger(pid: u32, thread: u32, moment: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).unwrap_or_default();
    // In clock ticks, of which a second has 100.
    let started = started_and_parent(&stat).map_or(0, |(started, _)| started);
    moment != 0 && started >= moment / 10_000_000
}

/// Of a futex's operation: the word is for threads of one process.
const FUTEX_PRIVATE_FLAG: u64 = 128;

/// What a thread has had of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effort {
    /// Does it sleep?
    pub(super) sleeps: bool,
    /// For how long it has run, in nanoseconds.
    pub(super) time: u64,
    /// How often it was given a processor; 0 if the kernel does not say that.
    pub(super) turns: u64,
}

/// What a thread has had of a processor so far.
pub(super) fn effort(pid: u32, thread: u32) -> Option<Effort> {
    let folder = format!("/proc/{pid}/task/{thread}");
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    let sleeps = matches!(state(&stat)?, 'S' | 'D');
    let scheduled = fs::read_to_string(format!("{folder}/schedstat")).unwrap_or_default();
    let numbers: Vec<u64> =
        scheduled.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect();
    if let [time, _, turns] = numbers[..] {
        return Some(Effort { sleeps, time, turns });
    }
    // In clock ticks, of which a second has 100.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Effort { sleeps, time: (ticks(11)? + ticks(12)?) * 10_000_000, turns: 0 })
}

/// The letter for a process's state.
pub(super) fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// This host's name, as the tool writes it.
pub(super) fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    // As much of it as there is room for.
    let name: Vec<u8> = name.trim().replace('/', "_").into_bytes().into_iter().take(63).collect();
    String::from_utf8_lossy(&name).into_owned()
}
