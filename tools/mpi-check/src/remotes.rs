//! Which two groups meet in `MPI_Intercomm_create`: their leaders write it down, for those who look for deadlocks.

use core::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Release},
};

use crate::shared::shared;

/// How many groups are known.
const MOST: usize = 512;

/// Zeros are an empty table.
#[repr(C)]
pub(crate) struct Table([Entry; MOST]);

/// A group that has come to the call.
#[repr(C)]
struct Entry {
    /// As [`crate::collectives`] knows its members' calls: the identity, and the number of the last one.
    identity: AtomicU64,
    number: AtomicU64,
    /// The two leaders' call, of which one gets the number and the other one the same with another last bit; 0 while that is
    /// written.
    meeting: AtomicU64,
}

/// This process, the leader of a group, comes to its group's call of a number, and meets the other leader.
pub(crate) fn meet(identity: u64, number: u64, meeting: u64, is_first: bool) {
    let own = shared().remotes.0.iter().find(|entry| {
        let before = entry.identity.compare_exchange(0, identity, AcqRel, Acquire);
        before.map_or_else(|known| known == identity, |_| true)
    });
    if let Some(own) = own {
        own.meeting.store(0, Release);
        own.number.store(number, Release);
        own.meeting.store((meeting | 1) ^ u64::from(is_first), Release);
    }
}

/// The other group's identity and number, if both leaders have come.
pub(crate) fn other(identity: u64, number: u64) -> Option<(u64, u64)> {
    let all = || shared().remotes.0.iter();
    let own = all().find(|entry| entry.identity.load(Acquire) == identity)?;
    let meeting = own.meeting.load(Acquire);
    if meeting == 0 || own.number.load(Acquire) != number {
        return None;
    }
    let theirs = all().find(|entry| entry.meeting.load(Acquire) == meeting ^ 1)?;
    Some((theirs.identity.load(Acquire), theirs.number.load(Acquire)))
}
