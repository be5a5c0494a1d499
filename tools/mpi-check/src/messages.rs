//! Messages, matched by what MPI promises: between two processes, on one communicator and with one tag, they arrive in
//! the order in which they were sent.
//!
//! The sender writes what it sends to a table in shared memory before MPI has it, under a number that counts the messages
//! of this channel. A receive finds the message by the number of those that it has got there. It is known when the
//! receive is posted, unless another one that might get the message is pending, too: then it is left open.

mod doubt;
mod elsewhere;
mod matched;
mod partitioned;
mod pending;
mod problem;
mod races;
mod ready;
mod slot;
mod table;
mod under_way;

use core::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use mpi_facts::{NONE, Pattern, Timing};
use mpi_tool_layer::mpi_sys::{self, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_Status};
use mpi_tool_layer::{FunctionId, received_bytes, received_bytes_at_once};
use rustc_hash::FxHashMap;

use crate::arguments::Checked;
use crate::comms::CommRef;
use crate::findings::rank;
use crate::hosts;
use crate::places::Mark;
use crate::shared::{limit, shared};
use crate::types::Signature;
use doubt::Threads;
use pending::{Pending, Pendings};
use slot::has;

pub(crate) use doubt::{cancelling, has_threads, set_has_threads};
pub(crate) use elsewhere::{await_records, posted};
pub(crate) use matched::{Probed, matched, receive_matched, report_taken};
pub(crate) use mpi_check_engine::{Channel, Wanted};
pub(crate) use problem::tell_held;
pub(crate) use races::tell_races;
pub(crate) use slot::Slot;
pub(crate) use table::Table;
pub(crate) use under_way::{
    buffered, keys, nearly, posted_by, report_lost, sent_as, under_way, unsent,
};

/// What one side says of the data.
#[derive(Debug, Clone, Copy)]
struct Content {
    function: FunctionId,
    signature: Signature,
    bytes: u64,
    mark: Mark,
}

/// What is known of a send.
#[derive(Debug, Clone)]
pub(crate) struct Send {
    content: Content,
    channel: Channel,
    /// The message's key in the table, once it is sent; 0 if it is not there.
    pub(crate) key: u64,
}

/// What is known of a receive.
#[derive(Debug, Clone)]
pub(crate) struct Receive {
    content: Content,
    identity: u64,
    /// The world ranks of those it may come from; `None` for any.
    pub(crate) source: Option<u32>,
    /// `None` for any.
    pub(crate) tag: Option<i64>,
    /// Posted receives in their order.
    order: u64,
    /// The message's number on its channel, where it was known from the start.
    number: Option<u64>,
    /// It comes in partitions: its status says nothing.
    is_partitioned: bool,
    /// Its status says nothing: MPICH, to 5.0.2 at least, writes none for `MPI_Isendrecv`.
    is_untold: bool,
    /// The application has cancelled its request. Only then its status says whether it was: MPI need not write that for others,
    /// and some do not.
    pub(crate) is_cancelled: bool,
    comm: CommRef,
}

impl Send {
    /// The world rank of the receiver.
    pub(crate) fn target(&self) -> u32 {
        self.channel.target
    }
}

impl Receive {
    /// May it get a message of a process of another world?
    pub(crate) fn is_open_to_others(&self) -> bool {
        self.source.is_none() && !self.comm.is_of_world
    }

    /// What it asks for.
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted { identity: self.identity, source: self.source, tag: self.tag }
    }

    /// The one channel that it is for.
    fn channel(&self) -> Option<Channel> {
        let (source, tag) = (self.source?, self.tag?);
        Some(Channel { identity: self.identity, source, target: rank(), tag })
    }
}

/// What a call that looks for a message asks for.
pub(crate) fn wanted_of(checked: &Checked<'_>) -> Option<Wanted> {
    let comm = checked.comm.as_ref().filter(|_| checked.is_sound && is_on())?;
    let (source, tag) = (checked.int(checked.shape.source)?, checked.int(checked.shape.tags.1)?);
    let source = match source {
        any if any == i64::from(MPI_ANY_SOURCE) && !comm.is_of_world => return None,
        any if any == i64::from(MPI_ANY_SOURCE) => None,
        source => Some(comm.world_rank(i32::try_from(source).ok()?)?),
    };
    let tag = (tag != i64::from(MPI_ANY_TAG)).then_some(tag);
    Some(Wanted { identity: comm.identity, source, tag })
}

/// What this process has sent and received.
#[derive(Default)]
struct Counts {
    sent: FxHashMap<Channel, u64>,
    received: FxHashMap<Channel, u64>,
    /// Channels whose receives cannot be told apart.
    loose: FxHashMap<Channel, ()>,
    pending: Pendings,
    order: u64,
    /// How many records are still to come of messages from other hosts of which nobody knows which they were.
    owed: FxHashMap<Channel, u64>,
    /// How many partitioned sends and receives were made for each channel.
    partitioned: [FxHashMap<Channel, u64>; 2],
    /// Which thread uses a channel, where several may.
    senders: Threads,
    receivers: Threads,
}

static COUNTS: Mutex<Option<Counts>> = Mutex::new(None);

fn with<R>(action: impl FnOnce(&mut Counts) -> R) -> R {
    let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    action(counts.get_or_insert_default())
}

fn is_on() -> bool {
    let shared = shared();
    if shared.is_whole() || hosts::is_on() {
        return !shared.has_reached(limit::MESSAGES | limit::DOUBT);
    }
    if shared.size.load(Relaxed) > 1 {
        shared.reached(limit::HOSTS);
    }
    false
}

fn content(checked: &Checked<'_>, count: u8, datatype: u8) -> Option<Content> {
    let count = u64::try_from(checked.int(count)?).ok()?;
    let info = checked.datatype(datatype);
    let (signature, bytes) = match info {
        Some(info) => (info.signature.times(count), info.size.saturating_mul(count)),
        None => (Signature::ANY, u64::MAX),
    };
    Some(Content { function: checked.function, signature, bytes, mark: Mark::of(checked.site) })
}

/// What a call sends, or a persistent request will.
pub(crate) fn send_of(checked: &Checked<'_>) -> Option<Send> {
    let shape = checked.shape;
    if shape.destination == NONE || !checked.is_sound || !is_on() {
        return None;
    }
    if shape.sent.partitions != NONE {
        return partitioned::send_of(checked);
    }
    let comm = checked.comm.as_ref()?;
    let target = comm.world_rank(i32::try_from(checked.int(shape.destination)?).ok()?)?;
    let channel = Channel {
        identity: comm.identity,
        source: rank(),
        target,
        tag: checked.int(shape.tags.0)?,
    };
    let content = content(checked, shape.sent.count, shape.sent.datatype)?;
    Some(Send { content, channel, key: 0 })
}

/// What a call receives, or a persistent request will.
pub(crate) fn receive_of(checked: &Checked<'_>) -> Option<Receive> {
    let shape = checked.shape;
    if shape.source == NONE || shape.received.datatype == NONE || !checked.is_sound || !is_on() {
        return None;
    }
    if shape.received.partitions != NONE {
        return partitioned::receive_of(checked);
    }
    let comm = checked.comm.as_ref()?;
    let source = checked.int(shape.source)?;
    let tag = checked.int(shape.tags.1)?;
    let source = match source {
        any if any == i64::from(MPI_ANY_SOURCE) => None,
        source => Some(comm.world_rank(i32::try_from(source).ok()?)?),
    };
    let content = content(checked, shape.received.count, shape.received.datatype)?;
    Some(Receive {
        content,
        identity: comm.identity,
        source,
        tag: (tag != i64::from(MPI_ANY_TAG)).then_some(tag),
        order: 0,
        number: None,
        is_partitioned: false,
        is_untold: shape.pattern == Pattern::SendReceive
            && shape.timing == Timing::Started
            && !matches!(mpi_sys::ABI, mpi_sys::Abi::OpenMpi),
        is_cancelled: false,
        comm: comm.clone(),
    })
}

/// A message is about to be sent.
pub(crate) fn sending(send: &mut Send) {
    let channel = send.channel;
    let number = with(|counts| {
        counts.senders.note(channel);
        let number = counts.sent.entry(channel).or_default();
        *number += 1;
        *number
    });
    let key = table::key(channel, number);
    if hosts::is_elsewhere(channel.target) {
        elsewhere::post(send, number);
        send.key = key;
        return;
    }
    if ready::is_ready_send(send.content.function) {
        ready::check(send, key);
    }
    send.key = match meet(key, channel, &send.content, has::SENT) {
        true => key,
        false => 0,
    };
}

/// A receive is about to be posted.
pub(crate) fn posting(receive: &mut Receive) {
    let channel = receive.channel();
    let number = with(|counts| {
        counts.order += 1;
        receive.order = counts.order;
        counts.receivers.note_wanted(receive.wanted());
        let number = channel.and_then(|channel| {
            if counts.loose.contains_key(&channel) {
                return None;
            }
            if counts.pending.has_open(channel) {
                return None;
            }
            let number = counts.received.entry(channel).or_default();
            *number += 1;
            Some(*number)
        });
        receive.number = number;
        let (order, wanted) = (receive.order, receive.wanted());
        counts.pending.push(Pending { order, number, wanted });
        number
    });
    if let (Some(channel), Some(number)) = (channel, number) {
        meet(table::key(channel, number), channel, &receive.content, has::POSTED);
    }
}

/// A receive has ended without a message: it was cancelled, or MPI has refused it.
pub(crate) fn withdrawn(receive: &Receive) {
    with(|counts| {
        counts.pending.remove(receive.order);
        let (Some(channel), Some(number)) = (receive.channel(), receive.number) else { return };
        if counts.loose.contains_key(&channel) {
            return;
        }
        let received = counts.received.entry(channel).or_default();
        if *received == number {
            // The next one gets the message.
            *received -= 1;
            forget_posted(table::key(channel, number));
        } else {
            loosen(counts, channel);
        }
    });
}

/// From now on, nobody knows which receive of a channel gets which message: none of them is compared.
fn loosen(counts: &mut Counts, channel: Channel) {
    counts.loose.insert(channel, ());
    counts.pending.open_all(channel, |number| forget_posted(table::key(channel, number)));
}

/// Nobody knows whether a receive has got a message: if not its own, it may get any that fits from now on.
pub(crate) fn unsure(receive: &Receive) {
    with(|counts| {
        counts.pending.remove_numbered(receive.order);
        if let Some(channel) = receive.channel() {
            loosen(counts, channel);
        }
    });
}

/// The application cancels a receive that is under way: nobody knows whether it gets a message before its request is
/// complete.
pub(crate) fn cancelling_receive(receive: &Receive) {
    let (Some(channel), Some(number)) = (receive.channel(), receive.number) else { return };
    with(|counts| {
        if counts.loose.contains_key(&channel) {
            return;
        }
        if counts.received.get(&channel) == Some(&number) {
            counts.pending.open(receive.order);
            forget_posted(table::key(channel, number));
        } else {
            loosen(counts, channel);
        }
    });
}

/// The application frees the request of a receive that is under way: nobody is told when it is complete. The one message
/// that is its own is known; if none is, it may get any that fits from now on.
pub(crate) fn freed(receive: &Receive) {
    with(|counts| counts.pending.remove_numbered(receive.order));
}

/// MPI has refused to receive a message, which is gone.
pub(crate) fn failed(receive: &Receive) {
    let is_loose = with(|counts| {
        counts.pending.remove(receive.order);
        receive.channel().is_some_and(|channel| counts.loose.contains_key(&channel))
    });
    if is_loose {
        return;
    }
    if let (Some(channel), Some(number)) = (receive.channel(), receive.number) {
        let key = table::key(channel, number);
        if hosts::is_elsewhere(channel.source) {
            elsewhere::take(key, channel, &receive.content, None);
        } else {
            take(key, channel, &receive.content);
        }
    } else if receive.channel().is_none() {
        failed_from_anybody(receive);
    }
}

/// MPI has refused to receive a message from anybody, or with any tag. If one that is too long is the only one that it can
/// have been, it was that one.
fn failed_from_anybody(receive: &Receive) {
    hosts::drain();
    let Some((key, slot)) = only_fitting(receive) else { return };
    let bytes = slot.sent.bytes.load(Relaxed);
    if bytes == u64::MAX || bytes <= receive.content.bytes {
        return;
    }
    take_only(key, slot, receive);
}

/// A receive is complete of which nobody knows what it has got: it got the only message that it may have got. If there are
/// several, nothing is known of messages any more.
fn arrived_untold(receive: &Receive) {
    with(|counts| counts.pending.remove(receive.order));
    match only_fitting(receive).filter(|_| !hosts::is_on()) {
        Some((key, slot)) => take_only(key, slot, receive),
        None => cancelling(),
    }
}

/// The message of this host that nobody has asked for by its number and that a receive may get, if there is one only.
fn only_fitting(receive: &Receive) -> Option<(u64, &'static Slot)> {
    let mut fitting = shared().messages.all().filter(|(_, slot)| {
        slot.is_lost()
            && slot.identity.load(Relaxed) == receive.identity
            && slot.target.load(Relaxed) == rank()
            && receive.source.is_none_or(|source| source == slot.source.load(Relaxed))
            && receive.tag.is_none_or(|tag| tag == slot.tag.load(Relaxed) as i64)
    });
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

fn take_only(key: u64, slot: &Slot, receive: &Receive) {
    let channel = slot.channel();
    with(|counts| *counts.received.entry(channel).or_default() += 1);
    take(key, channel, &receive.content);
}

/// Nobody asks for a message any more.
fn forget_posted(key: u64) {
    table::at(key, false, |place| {
        let mask = has::POSTED | has::POSTED_ANY | has::COMPARED;
        if place.slot.has.fetch_and(!mask, Relaxed) & has::SENT == 0 {
            place.free();
        }
    });
}

/// A receive is complete.
pub(crate) fn received(receive: &Receive, status: Option<&MPI_Status>) {
    arrived(receive, status);
}

/// The same: the message's key and channel, and what was sent, if that is known.
fn arrived(receive: &Receive, status: Option<&MPI_Status>) -> Option<(u64, Channel, Content)> {
    let Some(status) = status else {
        failed(receive);
        return None;
    };
    if receive.is_untold && receive.number.is_none() {
        arrived_untold(receive);
        return None;
    }
    let says_nothing = receive.is_partitioned || receive.is_untold;
    let bytes = match says_nothing {
        true => Some(0),
        false if receive.is_cancelled => received_bytes(status),
        false => Some(received_bytes_at_once(status)),
    };
    let Some(bytes) = bytes else {
        withdrawn(receive);
        return None;
    };
    let source = match receive.source {
        Some(source) => Some(source),
        None => u32::try_from(status.MPI_SOURCE)
            .ok()
            .and_then(|rank| receive.comm.peers.world_rank(rank)),
    };
    let Some(source) = source else {
        withdrawn(receive);
        return None;
    };
    let tag = receive.tag.unwrap_or(i64::from(status.MPI_TAG));
    let channel = Channel { identity: receive.identity, source, target: rank(), tag };
    if receive.source.is_none() {
        races::look(receive, channel);
    }
    let number = with(|counts| {
        counts.pending.remove(receive.order);
        counts.receivers.note_received(channel, receive.channel().is_none());
        let is_loose = counts.loose.contains_key(&channel);
        if let Some(number) = receive.number {
            return (!is_loose).then_some(number);
        }
        let number = counts.received.entry(channel).or_default();
        *number += 1;
        let number = *number;
        if is_loose || counts.pending.has_earlier(receive.order, channel) {
            counts.loose.insert(channel, ());
            return None;
        }
        Some(number)
    });
    match number {
        Some(number) => {
            let (key, content) = (table::key(channel, number), &receive.content);
            let sent = match hosts::is_elsewhere(source) {
                true => elsewhere::take(key, channel, content, Some(bytes)),
                false => take(key, channel, content),
            };
            Some((key, channel, sent?))
        }
        None => {
            if !take_any(channel, bytes) && hosts::is_elsewhere(source) {
                elsewhere::owe(channel);
            }
            None
        }
    }
}

/// A place for one side of a message; compares where the other one is there. `false` if there is no room.
fn meet(key: u64, channel: Channel, content: &Content, side: u32) -> bool {
    let met = table::at(key, true, |place| {
        let slot = place.slot;
        if place.is_new {
            slot.begin(channel);
        }
        let (of_side, any) = match side {
            has::SENT => (&slot.sent, has::SENT_ANY),
            _ => (&slot.posted, has::POSTED_ANY),
        };
        of_side.set(content);
        let any = if content.signature.is_any { any } else { 0 };
        let before = slot.has.load(Relaxed);
        slot.has.store(before | side | any, Relaxed);
        if place.is_new || before & has::COMPARED != 0 { None } else { slot.compare() }
    });
    if let Some(Some(problem)) = &met {
        problem.tell(channel, content);
    }
    met.is_some()
}

/// The receive of a message is complete: it is not under way any more. What was sent, if that is known.
fn take(key: u64, channel: Channel, content: &Content) -> Option<Content> {
    let mut sent = None;
    let taken = table::at(key, false, |place| {
        let slot = place.slot;
        place.free();
        if slot.is_sent() {
            sent = slot.sent.get(slot.has.load(Relaxed) & has::SENT_ANY != 0);
        }
        let before = slot.has.load(Relaxed);
        if before & has::POSTED != 0 {
            return None;
        }
        slot.posted.set(content);
        let any = if content.signature.is_any { has::POSTED_ANY } else { 0 };
        slot.has.store(before | has::POSTED | any, Relaxed);
        slot.compare()
    });
    if let Some(Some(problem)) = taken {
        problem.tell(channel, content);
    }
    sent
}

/// One message of a channel has arrived; which one, is not known. `false` if none is known.
fn take_any(channel: Channel, bytes: u64) -> bool {
    let mut found = None;
    for (key, slot) in shared().messages.all() {
        if slot.is_of(channel)
            && slot.is_sent()
            && (found.is_none() || slot.sent.bytes.load(Relaxed) == bytes)
        {
            found = Some(key);
        }
    }
    found.is_some_and(|key| table::at(key, false, |place| place.free()).is_some())
}
