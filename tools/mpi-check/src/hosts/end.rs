//! All ranks are in `MPI_Finalize`: what was posted is taken, and the findings of all hosts become one report, which the host
//! of rank 0 writes.

use core::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use super::comm::{self, OwnComm, begin_barrier};
use super::{Hosts, agreement, post};
use crate::findings::{self, rank};
use crate::messages;
use crate::shared::{limit, shared};

const TAG: i32 = 2;

/// This process is in `MPI_Finalize`, and so are all others, or will be. Its own findings are all told.
pub(crate) fn finalizing() {
    let Some(hosts) = super::get() else { return };
    // What fails, fails for all: each host has a report of its own then.
    let _ = exchange(hosts);
    post::end();
}

/// The least rank of each host speaks for it.
fn speaks(hosts: &Hosts, of: u32) -> bool {
    let host = hosts.of[of as usize];
    hosts.of.iter().position(|other| *other == host) == Some(of as usize)
}

fn exchange(hosts: &Hosts) -> comm::Result<()> {
    take_all(hosts.post)?;
    agreement::end();
    // What one rank knows of messages is so for all. All have told what they have found then.
    // SAFETY: all processes must make the same collective calls on the communicator: all are here, and what fails, fails for all.
    let limits = unsafe { hosts.post.any(shared().limits.load(Relaxed).into())? };
    shared().limits.fetch_or(limits as u32, Relaxed);
    messages::tell_held();
    let is_speaker = speaks(hosts, rank());
    if is_speaker {
        messages::report_lost();
    }
    // Held findings are told by all.
    // SAFETY: all processes must make the same collective calls on the communicator: all come here.
    unsafe { hosts.post.least([0])? };
    let is_first = rank() == 0;
    let mut findings = Vec::new();
    if is_speaker && !is_first {
        findings = findings::to_bytes();
    }
    // SAFETY: all processes must make the same collective calls on the communicator: all come here. It has the ranks of the
    // world, each of which is on a host of the list.
    let lengths =
        unsafe { hosts.post.gather(findings.len() as u64, hosts.of.len() as u32, is_first)? };
    if is_first {
        for (from, length) in (0..).zip(lengths).filter(|(_, length)| *length != 0) {
            findings::add_bytes(&hosts.post.receive(length as usize, from, TAG)?);
        }
    } else if !findings.is_empty() {
        hosts.post.send(&findings, 0, TAG)?;
    }
    let own = if is_first { findings::count_faults() } else { 0 };
    // SAFETY: all processes must make the same collective calls on the communicator: all come here.
    let [faults] = unsafe { hosts.post.sum([own as u64])? };
    findings::merged(faults as u32);
    Ok(())
}

/// Takes records until nobody has any more. First all come here, so that each has somebody who takes what it has sent; then
/// each comes to a second barrier when that was taken.
fn take_all(comm: OwnComm) -> comm::Result<()> {
    /// An MPI that does not get them there must not keep the program from its end.
    const MOST: Duration = Duration::from_secs(10);
    let mut rounds = 0_u32;
    let mut drain = || {
        post::drain();
        rounds += 1;
        if rounds < 1000 {
            thread::yield_now();
        } else {
            // The others may need long.
            thread::sleep(Duration::from_millis(1));
        }
    };
    // SAFETY: all processes must make the same collective calls on the communicator: all are in `MPI_Finalize`, and come here.
    let mut all_are_here = unsafe { begin_barrier(comm)? };
    while !all_are_here.test()? {
        drain();
    }
    let begin = Instant::now();
    while !post::is_all_taken() {
        if begin.elapsed() > MOST {
            shared().reached(limit::MESSAGES);
            break;
        }
        drain();
    }
    // SAFETY: all processes must make the same collective calls on the communicator: all come here.
    let mut all_are_taken = unsafe { begin_barrier(comm)? };
    while !all_are_taken.test()? {
        drain();
    }
    // What the last ones have sent has come here, and MPI may have yet to say so.
    for _ in 0..16 {
        post::drain();
    }
    Ok(())
}
