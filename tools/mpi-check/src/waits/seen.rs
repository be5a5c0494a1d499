//! The picture of what the ranks wait for at one moment, read from shared memory.

use core::sync::atomic::Ordering::{Acquire, Relaxed};
use std::collections::BTreeMap;

use mpi_check_engine::{CallSite, Entered, Need, Operation, Picture, Rank, State};
use mpi_tool_layer::FunctionId;

use super::{NEEDS, NeedState, RankState, locks, state};
use crate::collectives;
use crate::exposures;
use crate::hosts;
use crate::messages;
use crate::names;
use crate::remotes;
use crate::shared::shared;

fn of_rank(rank: &RankState) -> Rank {
    use FunctionId::{MPI_Mprobe, MPI_Probe};
    let count = (rank.count.load(Relaxed) as usize).min(NEEDS);
    let state = match rank.state.load(Acquire) {
        // Another thread may do what it waits for.
        state::BLOCKED | state::POLLING if !rank.tasks.has_one_caller() => State::Running,
        state => State::from_number(state),
    };
    let entered = rank.entered.iter().map(|it| {
        let number = it.number.load(Acquire);
        Entered { identity: it.identity.load(Relaxed), number, size: it.size.load(Relaxed) }
    });
    let function = rank.function.load(Relaxed);
    let site = CallSite { module: rank.module.load(Relaxed), offset: rank.offset.load(Relaxed) };
    Rank {
        state,
        sequence: rank.sequence.load(Acquire),
        function,
        site,
        is_any: rank.is_any.load(Relaxed),
        needs: rank.needs[..count].iter().map(NeedState::get).collect(),
        open: rank.open.load(Acquire),
        has_posted: ![MPI_Probe as u32, MPI_Mprobe as u32].contains(&function),
        taken: rank.taken.load(Acquire),
        sent: rank.sent.load(Relaxed),
        entered: entered.filter(|it| it.identity != 0).collect(),
        has_forgotten: rank.has_forgotten.load(Relaxed),
        locks: locks::of(&rank.locks),
        polls: rank.polls.load(Relaxed),
    }
}

/// What the ranks of this host wait for. They are looked at first, and what they wait for afterwards.
pub(super) fn of_host(size: usize) -> Picture {
    let ranks: Vec<Rank> = shared().ranks[..size].iter().map(of_rank).collect();
    let (unasked, asked) = messages::keys();
    let under_way = messages::under_way();
    let mut picture = Picture {
        under_way,
        unasked,
        asked,
        unsent: messages::unsent(),
        probed: shared().probed.keys(),
        exposures: Some(BTreeMap::new()),
        hosts: hosts::of_ranks(size),
        ..Picture::default()
    };
    ranks.iter().flat_map(|rank| &rank.needs).for_each(|need| add(&mut picture, *need));
    picture.ranks = ranks;
    picture
}

/// Adds what is known of what a need asks about.
fn add(picture: &mut Picture, need: Need) {
    match need {
        Need::Message(wanted) => add_members(picture, wanted.identity),
        Need::Receiver { key, .. } => {
            if let Some(sent) = messages::sent_as(key) {
                picture.channels.insert(key, sent.channel);
                if sent.is_synchronous() {
                    picture.synchronous.insert(key);
                }
            }
        }
        Need::Collective { identity, number, .. } | Need::Attendance { identity, number } => {
            add_operation(picture, identity, number);
        }
        Need::Post { key, .. } | Need::Completion { key, .. } => match exposures::count(key) {
            None => picture.exposures = None,
            Some(count) => {
                picture.exposures.as_mut().map(|counts| counts.insert(key, count));
            }
        },
        Need::OtherGroup { identity, number } => {
            if let Some(other) = remotes::other(identity, number) {
                picture.meetings.insert((identity, number), other);
                add_operation(picture, other.0, other.1);
            }
        }
        Need::Nothing | Need::Entered { .. } | Need::Unlocked(_) | Need::Unready => {}
    }
}

fn add_operation(picture: &mut Picture, identity: u64, number: u64) {
    let Some(operation) = collectives::under_way(identity, number) else { return };
    let come = (0..64).filter(|rank| operation.here >> rank & 1 != 0).collect();
    let operation =
        Operation { root_is_here: operation.root_is_here, expected: operation.expected, come };
    picture.operations.insert((identity, number), operation);
    add_members(picture, identity);
}

fn add_members(picture: &mut Picture, identity: u64) {
    if let Some(members) = names::members(identity) {
        picture.members.insert(identity, members);
    }
}
