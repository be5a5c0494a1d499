//! A launcher that stays this process's child, so that it can be ended, and the exit status be another one.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::cli::Guard;
use crate::hang::parent;
use crate::out::errln;

/// How long a launcher may take to end its ranks when it is told to.
const GRACE: Duration = Duration::from_secs(10);

/// Runs a launcher until its end, with the guard of its run beside it. If the guard finds that nothing moves, the
/// launcher is ended, and the exit status is `status`. Otherwise it is the launcher's, as a shell would say it.
///
/// # Errors
/// It cannot be started.
pub(crate) fn run(command: &mut Command, mut guard: Guard, status: u8) -> io::Result<ExitCode> {
    // Before there is a child: none of them is lost.
    let signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])?;
    let mut child = command.spawn()?;
    guard.process = child.id();
    let launcher = Pid::from_child(&child);
    pass_on(signals, launcher);
    let (hung, is_hung) = channel();
    thread::spawn(move || {
        guard.watch(|| {
            // Nobody waits for this if the launcher has just ended.
            let _ = hung.send(());
        });
    });
    let (ended, killed) = wait(&mut child, launcher, &is_hung)?;
    Ok(match ended.code() {
        _ if killed => status.into(),
        Some(code) => u8::try_from(code).unwrap_or(1).into(),
        None => u8::try_from(128 + ended.signal().unwrap_or(0)).unwrap_or(1).into(),
    })
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

/// Passes signals on to the launcher, but those that it gets itself from the terminal, as we do.
fn pass_on(mut signals: Signals, launcher: Pid) {
    thread::spawn(move || {
        for signal in signals.forever() {
            let is_by_key = [SIGINT, SIGQUIT].contains(&signal) && is_in_foreground();
            if !is_by_key && let Some(signal) = Signal::from_named_raw(signal) {
                let _ = kill_process(launcher, signal);
            }
        }
    });
}

/// Do keys of the terminal reach this process and its children?
fn is_in_foreground() -> bool {
    let here = getpgrp();
    let of = |is_terminal: bool, group: rustix::io::Result<Pid>| is_terminal && group == Ok(here);
    let (input, errors) = (io::stdin(), io::stderr());
    of(input.is_terminal(), tcgetpgrp(&input)) || of(errors.is_terminal(), tcgetpgrp(&errors))
}
