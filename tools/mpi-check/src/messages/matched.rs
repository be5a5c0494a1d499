//! Messages that a probe has taken (`MPI_Mprobe`): what was sent is kept until somebody receives it by its handle.

use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, PoisonError};

use mpi_tool_layer::mpi_sys::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_Message, MPI_Status};
use mpi_tool_layer::{Call as _, ParameterKind, Word};
use rustc_hash::FxHashMap;

use super::problem::Problem;
use super::{Channel, Content, Receive, arrived, content, is_on, with};
use crate::arguments::Checked;
use crate::findings::{Class, Other, Place, report_of};
use crate::places::{self, Mark};
use crate::shared::{limit, shared};
use crate::types::Signature;

/// How many messages are kept.
const MOST: usize = 1 << 12;

/// By their handles.
static TAKEN: Mutex<Option<FxHashMap<u64, Taken>>> = Mutex::new(None);

/// A message that was taken.
struct Taken {
    key: u64,
    channel: Channel,
    sent: Content,
    /// Where.
    at: Mark,
}

/// The keys of some messages that were taken and not received yet, for those who look for deadlocks. Zeros are none.
#[repr(C)]
pub(crate) struct Probed([AtomicU64; 64]);

impl Probed {
    fn add(&self, key: u64) {
        let is_ours = |place: &AtomicU64| place.compare_exchange(0, key, Release, Relaxed).is_ok();
        let _ = self.0.iter().any(is_ours);
    }

    fn remove(&self, key: u64) {
        let is_it = |place: &AtomicU64| place.compare_exchange(key, 0, Release, Relaxed).is_ok();
        let _ = self.0.iter().any(is_it);
    }

    /// All of them.
    pub(crate) fn keys(&self) -> Vec<u64> {
        let keys = self.0.iter().map(|place| place.load(Acquire));
        keys.filter(|key| *key != 0).collect()
    }
}

/// A probe has taken a message out of the queue: it can be received by its handle only.
pub(crate) fn matched(checked: &Checked<'_>, status: &MPI_Status) {
    let shape = checked.shape;
    let Some(comm) = checked.comm.as_ref().filter(|_| is_on()) else { return };
    let (Some(source), Some(tag)) = (checked.int(shape.source), checked.int(shape.tags.1)) else {
        return;
    };
    let source = match source {
        any if any == i64::from(MPI_ANY_SOURCE) => None,
        source => match i32::try_from(source).ok().and_then(|source| comm.world_rank(source)) {
            None => return,
            known => known,
        },
    };
    let content = Content {
        function: checked.function,
        signature: Signature::ANY,
        bytes: u64::MAX,
        mark: Mark::of(checked.site),
    };
    let order = with(|counts| {
        counts.order += 1;
        counts.order
    });
    let receive = Receive {
        content,
        identity: comm.identity,
        source,
        tag: (tag != i64::from(MPI_ANY_TAG)).then_some(tag),
        order,
        number: None,
        is_partitioned: false,
        is_untold: false,
        is_cancelled: false,
        comm: comm.clone(),
    };
    let Some((key, channel, sent)) = arrived(&receive, Some(status)) else { return };
    if let Some(handle) = message(checked) {
        shared().probed.add(key);
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = taken.get_or_insert_default();
        if taken.len() < MOST {
            taken.insert(handle, Taken { key, channel, sent, at: receive.content.mark });
        }
    }
}

/// A call is about to receive a message that a probe has taken: compares what was sent with what it receives.
pub(crate) fn receive_matched(checked: &Checked<'_>) {
    let Some(handle) = message(checked) else { return };
    let sent = {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken.get_or_insert_default().remove(&handle)
    };
    let Some(Taken { key, channel, sent, .. }) = sent else { return };
    shared().probed.remove(key);
    if !checked.is_sound || !is_on() {
        return;
    }
    let received = checked.shape.received;
    let Some(posted) = content(checked, received.count, received.datatype) else { return };
    if let Some(problem) = Problem::of(sent, posted) {
        problem.tell(channel, &posted);
    }
}

/// MPI is over: messages that probes have taken and nobody has received.
pub(crate) fn report_taken() {
    let taken = {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(taken.get_or_insert_default())
    };
    if shared().has_reached(limit::DOUBT) {
        return;
    }
    for Taken { channel, sent, at: mark, .. } in taken.into_values() {
        let (source, target) = (channel.source, channel.target);
        let message = format!(
            "the message of {} with tag {} from rank {source} was taken by MPI_Mprobe on rank {target}, and never received",
            sent.signature.describe(),
            channel.tag,
        );
        let place = places::of_mark(sent.mark);
        let place = Place::Text(&place);
        let other = Some(Other::at("taken at", mark));
        report_of(Class::LostMessage, sent.function, place, "taken", &message, other, &[source]);
    }
}

/// The message whose address a call has.
fn message(checked: &Checked<'_>) -> Option<u64> {
    let mut arguments = checked.call.arguments();
    let (_, address) = arguments.find(|(parameter, _)| parameter.kind == ParameterKind::Message)?;
    // SAFETY: the address must be that of a message's handle, unless it is null: MPI has written it, or reads it next.
    unsafe { <*const MPI_Message>::from_word(address).as_ref() }.map(|it| it.to_word())
}
