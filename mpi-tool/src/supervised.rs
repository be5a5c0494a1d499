//! A launcher that stays this process's child: so that it can be ended and the exit status be another one, or so that
//! something can be done behind it.
//!
//! For who has started this process, it is as if this were the launcher: a signal that reaches the one reaches the other, what
//! is ignored is ignored by both, and the launcher does not live longer.

use std::ffi::c_int;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, kill_process, set_parent_process_death_signal};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::cli::Guard;
use crate::hang::{Live, parent};
use crate::out::errln;

/// How long a launcher may take to end its ranks when it is told to.
const GRACE: Duration = Duration::from_secs(10);

/// Runs a launcher until its end, with the guard of its run beside it, if there is one. If the guard finds that nothing moves,
/// and there is a status to `kill` with, the launcher is ended, and the exit status is that. Otherwise it is the launcher's, as
/// a shell would say it. A job that is shown `live` has the terminal to itself.
///
/// # Errors
/// It cannot be started.
pub(crate) fn run(
    command: &mut Command,
    guard: Option<Guard>,
    kill: Option<u8>,
    live: Option<Live>,
) -> io::Result<ExitCode> {
    // Before there is a child: none of them is lost.
    let signals = Signals::new(not_ignored([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]))?;
    end_with_this(command);
    if let Some(live) = &live {
        live.prepare(command)?;
    }
    let mut child = command.spawn()?;
    let launcher = Pid::from_child(&child);
    let is_over = Arc::new(AtomicBool::new(false));
    pass_on(signals, launcher, Arc::clone(&is_over));
    let showing = live.map(|live| live.show(Arc::clone(&is_over))).transpose()?;
    let (hung, is_hung) = channel();
    let watching = guard.map(|mut guard| {
        guard.process = child.id();
        thread::spawn(move || {
            guard.watch(|| {
                // Nobody waits for this if the launcher has just ended.
                let _ = hung.send(());
            });
        })
    });
    let (ended, is_killed) = match kill {
        Some(_) => wait(&mut child, launcher, &is_hung)?,
        None => (child.wait()?, false),
    };
    is_over.store(true, Relaxed);
    if let Some(showing) = showing {
        // What the job has printed comes before what is said behind it.
        let _ = showing.join();
    }
    if let Some(watching) = watching {
        // It ends with the launcher, and removes the run folder. If it has failed, it has said so.
        let _ = watching.join();
    }
    Ok(match (ended.code(), kill) {
        (_, Some(status)) if is_killed => status.into(),
        (Some(code), _) => u8::try_from(code).unwrap_or(1).into(),
        (None, _) => u8::try_from(128 + ended.signal().unwrap_or(0)).unwrap_or(1).into(),
    })
}

/// Those of some signals that this process was not started to ignore, as `nohup` does and a shell for what runs behind it: a
/// launcher that this process had become would ignore these, too.
pub(crate) fn not_ignored(signals: impl IntoIterator<Item = c_int>) -> Vec<c_int> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    signals.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}

/// Has the kernel kill the launcher when this process ends, in whatever way.
fn end_with_this(command: &mut Command) {
    let ends = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: what runs between `fork` and `exec` may neither take a lock nor allocate: it makes one system call. The signal
    // comes when the thread ends that has started the child, which is the one that waits for it.
    unsafe { command.pre_exec(ends) };
}

/// Waits for the launcher's end, and ends it when the guard says so. Whether that was so is the second result.
fn wait(
    child: &mut Child,
    launcher: Pid,
    is_hung: &Receiver<()>,
) -> io::Result<(ExitStatus, bool)> {
    let mut grace = None;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, grace.is_some()));
        }
        if grace.is_none() && is_hung.try_recv().is_ok() {
            errln!("mpi-tool: ending the launcher (--kill)");
            // It may have ended in this moment, which is what is wanted.
            let _ = kill_process(launcher, Signal::TERM);
            grace = Some(GRACE);
        }
        thread::sleep(pause);
        if let Some(left) = &mut grace {
            if left.is_zero() {
                // A launcher behind a wrapper, such as `timeout`, would live on, and its ranks with it.
                for process in descendants(launcher) {
                    let _ = kill_process(process, Signal::KILL);
                }
                let _ = kill_process(launcher, Signal::KILL);
            }
            *left = left.saturating_sub(pause);
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// The processes that descend from one, on this host. Only those that are there at this moment: others may follow.
fn descendants(of: Pid) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> =
        all.filter_map(|process| Some((process, parent(process)?))).collect();
    let mut found = vec![of.as_raw_nonzero().get().cast_unsigned()];
    let mut at = 0;
    while let Some(&one) = found.get(at) {
        let children = parents.iter().filter(|(_, parent)| *parent == one);
        let new = children.map(|(child, _)| *child).filter(|child| !found.contains(child));
        let new: Vec<u32> = new.collect();
        found.extend(new);
        at += 1;
    }
    found.iter().skip(1).filter_map(|process| Pid::from_raw(process.cast_signed())).collect()
}

/// Passes signals on to the launcher, but those that it gets itself from the terminal, as we do. When that `is_over`, they mean
/// this process.
fn pass_on(mut signals: Signals, launcher: Pid, is_over: Arc<AtomicBool>) {
    thread::spawn(move || {
        for signal in signals.forever() {
            let is_by_key = [SIGINT, SIGQUIT].contains(&signal) && is_in_foreground();
            if is_over.load(Relaxed) {
                let _ = emulate_default_handler(signal);
            } else if !is_by_key && let Some(signal) = Signal::from_named_raw(signal) {
                let _ = kill_process(launcher, signal);
            }
        }
    });
}

/// Do keys of the terminal reach this process and its children?
fn is_in_foreground() -> bool {
    let here = getpgrp();
    let of = |is_terminal: bool, group: rustix::io::Result<Pid>| is_terminal && group == Ok(here);
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    of(input.is_terminal(), tcgetpgrp(&input))
        || of(output.is_terminal(), tcgetpgrp(&output))
        || of(errors.is_terminal(), tcgetpgrp(&errors))
}
