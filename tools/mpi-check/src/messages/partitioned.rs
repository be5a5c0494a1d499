//! Messages in partitions (`MPI_Psend_init`, `MPI_Precv_init`): a send belongs to a receive by the order in which they were
//! made, once for all starts (MPI-4.0, 4.2). So each such pair has an identity of its own, on which each start is a message.

use mpi_facts::Data;
use mpi_tool_layer::mpi_sys::c_int;

use super::{Channel, Content, Receive, Send, content, with};
use crate::arguments::Checked;
use crate::comms::CommRef;
use crate::findings::rank;
use crate::shared::shared;

/// What a call sends or receives in all of its partitions together.
fn whole(checked: &Checked<'_>, data: &Data) -> Option<Content> {
    let partitions = u64::try_from(checked.int(data.partitions)?).ok()?;
    let one = content(checked, data.count, data.datatype)?;
    let (signature, bytes) =
        (one.signature.times(partitions), one.bytes.saturating_mul(partitions));
    Some(Content { signature, bytes, ..one })
}

/// The communicator of a call, and another process's rank in the world.
fn peer<'c>(checked: &'c Checked<'_>, position: u8) -> Option<(&'c CommRef, u32)> {
    // Nothing of it is told to other hosts.
    let comm = checked.comm.as_ref().filter(|_| shared().is_whole())?;
    Some((comm, comm.world_rank(c_int::try_from(checked.int(position)?).ok()?)?))
}

/// The same channel with the identity of the next send or receive on it.
fn next(mut channel: Channel, is_received: bool) -> Channel {
    let number = with(|counts| {
        let threads = if is_received { &mut counts.receivers } else { &mut counts.senders };
        threads.note(channel);
        let made = counts.partitioned[usize::from(is_received)].entry(channel).or_default();
        *made += 1;
        *made
    });
    let mixed = (channel.identity ^ number.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    channel.identity = mixed ^ mixed >> 29 | 1;
    channel
}

pub(super) fn send_of(checked: &Checked<'_>) -> Option<Send> {
    let shape = checked.shape;
    let (comm, target) = peer(checked, shape.destination)?;
    let tag = checked.int(shape.tags.0)?;
    let content = whole(checked, &shape.sent)?;
    let channel = Channel { identity: comm.identity, source: rank(), target, tag };
    Some(Send { content, channel: next(channel, false), key: 0 })
}

pub(super) fn receive_of(checked: &Checked<'_>) -> Option<Receive> {
    let shape = checked.shape;
    let (comm, source) = peer(checked, shape.source)?;
    let tag = checked.int(shape.tags.1)?;
    let content = whole(checked, &shape.received)?;
    let channel = Channel { identity: comm.identity, source, target: rank(), tag };
    Some(Receive {
        content,
        identity: next(channel, true).identity,
        source: Some(source),
        tag: Some(tag),
        order: 0,
        number: None,
        is_partitioned: true,
        is_untold: false,
        is_cancelled: false,
        comm: comm.clone(),
    })
}
