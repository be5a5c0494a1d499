//! Messages between hosts: the sender posts what it sends to the receiver's host, where it is kept as if it had been written
//! there, under the same number. It may come after the message.

use core::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use mpi_tool_layer::FunctionId;

use super::problem::Problem;
use super::{Channel, Content, Receive, Send, has, table, with};
use crate::findings::Class;
use crate::hosts::{self, Record};
use crate::places::Mark;
use crate::shared::{limit, shared};
use crate::types::Signature;
use crate::waits;

/// What a record is about.
mod kind {
    pub(super) const MESSAGE: u64 = 1;
    /// Nobody can know any more which messages belong together.
    pub(super) const DOUBT: u64 = 2;
}

/// A message is about to be sent to another host, as this one of its channel.
pub(super) fn post(send: &Send, number: u64) {
    let (channel, content) = (send.channel, &send.content);
    let signature = content.signature;
    let bits = u64::from(signature.uniform) << 32 | u64::from(signature.is_any) << 40;
    let record = [
        kind::MESSAGE,
        channel.identity,
        u64::from(channel.source) << 32 | u64::from(channel.target),
        channel.tag as u64,
        number,
        content.function as u64 | bits,
        signature.elements,
        signature.hash,
        signature.first,
        content.bytes,
        content.mark.module,
        content.mark.offset,
    ];
    hosts::drain();
    hosts::send(record, channel.target);
}

/// Tells the hosts to which this process has sent that messages must not be compared any more.
pub(super) fn doubt() {
    if !hosts::is_on() {
        return;
    }
    let mut targets: Vec<u32> =
        with(|counts| counts.sent.keys().map(|channel| channel.target).collect());
    targets.sort_unstable();
    targets.dedup();
    for target in targets.into_iter().filter(|target| hosts::is_elsewhere(*target)) {
        let mut record = Record::default();
        record[0] = kind::DOUBT;
        hosts::send(record, target);
    }
}

/// A record has come.
pub(crate) fn posted(record: &Record) {
    let [kind, identity, ranks, tag, number, bits, elements, hash, first, bytes, module, offset] =
        *record;
    if kind == kind::DOUBT {
        shared().reached(limit::ORDER);
        return;
    }
    let Some(function) = FunctionId::from_index(bits as u32 as usize) else { return };
    if shared().has_reached(limit::MESSAGES | limit::ORDER) {
        return;
    }
    let channel =
        Channel { identity, source: (ranks >> 32) as u32, target: ranks as u32, tag: tag as i64 };
    let is_owed = with(|counts| {
        let owed = counts.owed.get_mut(&channel).filter(|owed| **owed != 0);
        owed.map(|owed| *owed -= 1).is_some()
    });
    if is_owed {
        waits::count_records(0, 1);
        return;
    }
    let (uniform, is_any) = ((bits >> 32) as u8, bits >> 40 & 1 != 0);
    let signature = Signature { elements, hash, uniform, first, is_any };
    let content = Content { function, signature, bytes, mark: Mark { module, offset } };
    let problem = table::at(table::key(channel, number), true, |place| {
        let slot = place.slot;
        if place.is_new {
            slot.begin(channel);
        }
        slot.sent.set(&content);
        let any = if signature.is_any { has::SENT_ANY } else { 0 };
        let before = slot.has.fetch_or(has::SENT | any, Relaxed);
        if before & has::RECEIVED == 0 {
            return if place.is_new { None } else { slot.compare() };
        }
        let problem = slot.compare();
        let arrived = slot.arrived.load(Relaxed);
        place.free();
        problem.filter(|problem| is_that(problem, arrived))
    });
    if let Some(Some(problem)) = problem {
        let own = problem.posted;
        problem.tell(channel, &own);
    }
}

/// The receive of a message of another host is complete, or has failed if there are no bytes. What was sent, if that is known.
pub(super) fn take(
    key: u64,
    channel: Channel,
    content: &Content,
    bytes: Option<u64>,
) -> Option<Content> {
    hosts::drain();
    let arrived = bytes.map_or(u32::MAX, |bytes| bytes as u32);
    let mut sent = None;
    let problem = table::at(key, true, |place| {
        let slot = place.slot;
        if place.is_new {
            slot.begin(channel);
        }
        let before = slot.has.load(Relaxed);
        if slot.is_sent() {
            sent = slot.sent.get(before & has::SENT_ANY != 0);
        }
        if before & has::POSTED == 0 {
            slot.posted.set(content);
            let any = if content.signature.is_any { has::POSTED_ANY } else { 0 };
            slot.has.fetch_or(has::POSTED | any, Relaxed);
        }
        if sent.is_none() {
            // Its record is on its way.
            slot.arrived.store(arrived, Relaxed);
            slot.has.fetch_or(has::RECEIVED, Relaxed);
            return None;
        }
        let problem = if before & has::COMPARED == 0 { slot.compare() } else { None };
        place.free();
        problem.filter(|problem| is_that(problem, arrived))
    });
    if let Some(Some(problem)) = problem {
        problem.tell(channel, content);
    }
    sent
}

/// Is the message that has arrived the one whose record this is? If its size is another one, a message before it was not sent
/// after all, and nobody knows any more which belong together.
fn is_that(problem: &Problem, arrived: u32) -> bool {
    let is = match arrived {
        u32::MAX => problem.class == Class::Truncation,
        arrived => problem.sent.bytes == u64::MAX || problem.sent.bytes as u32 == arrived,
    };
    if !is && arrived != u32::MAX {
        shared().reached(limit::ORDER);
    }
    is
}

/// A message has arrived whose record is on its way, and nobody will know which one it was. Until then, nobody can say that
/// all records are known.
pub(super) fn owe(channel: Channel) {
    waits::count_records(1, 0);
    with(|counts| *counts.owed.entry(channel).or_default() += 1);
}

/// Before a call that waits for all of some receives: takes records, for a while, until those of all that come from other
/// hosts are there. They are sent before the messages, so this waits for nothing that the call would not wait for.
pub(crate) fn await_records<'a>(receives: impl Iterator<Item = &'a Receive>) {
    const MOST: Duration = Duration::from_millis(50);
    let key = |receive: &Receive| {
        let channel = receive.channel().filter(|channel| hosts::is_elsewhere(channel.source))?;
        Some(table::key(channel, receive.number?))
    };
    hosts::drain();
    let mut left: Vec<u64> = receives.filter_map(key).collect();
    let is_missing = |key: &u64| !shared().messages.look(*key).is_some_and(|slot| slot.is_sent());
    let begin = Instant::now();
    loop {
        left.retain(is_missing);
        if left.is_empty() || begin.elapsed() > MOST {
            return;
        }
        thread::yield_now();
        hosts::drain();
    }
}
