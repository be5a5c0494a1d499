//! Messages that have been sent and not received: while the program runs, and at its end.

use core::sync::atomic::Ordering::Relaxed;

use mpi_tool_layer::FunctionId;
use smallvec::SmallVec;

use super::{Channel, Slot, Wanted, has};
use crate::findings::{Class, Place, rank, report_of};
use crate::hosts;
use crate::names;
use crate::places::{self, Mark};
use crate::shared::{limit, shared};
use crate::waits::{self, Need};

/// The channels of all messages that have been sent and not received.
pub(crate) fn under_way() -> Vec<Channel> {
    let sent = shared().messages.all().filter(|(_, slot)| slot.is_sent());
    sent.map(|(_, slot)| Channel {
        identity: slot.identity.load(Relaxed),
        source: slot.source.load(Relaxed),
        target: slot.target.load(Relaxed),
        tag: slot.tag.load(Relaxed) as i64,
    })
    .collect()
}

/// The channels of all messages that somebody has asked for and that were not sent.
pub(crate) fn unsent() -> Vec<Channel> {
    let is_unsent = |slot: &&Slot| !slot.is_sent() && slot.has.load(Relaxed) & has::POSTED != 0;
    shared().messages.all().map(|(_, slot)| slot).filter(is_unsent).map(Slot::channel).collect()
}

/// The keys of all messages that are known: those that are under way and that nobody has asked for, and the others.
pub(crate) fn keys() -> (Vec<u64>, Vec<u64>) {
    let (lost, others): (Vec<_>, Vec<_>) =
        shared().messages.all().partition(|(_, slot)| slot.is_lost());
    let keys = |of: Vec<(u64, &super::Slot)>| of.into_iter().map(|(key, _)| key).collect();
    (keys(lost), keys(others))
}

/// A message that a rank has sent.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) channel: Channel,
    pub(crate) function: FunctionId,
    pub(crate) mark: Mark,
}

impl Sent {
    fn of(slot: &Slot) -> Option<Self> {
        let sent = slot.sent.get(false).filter(|_| slot.is_sent())?;
        Some(Self { channel: slot.channel(), function: sent.function, mark: sent.mark })
    }

    /// Is it in a buffer that the program has given MPI for that?
    fn is_buffered(&self) -> bool {
        use FunctionId::{
            MPI_Bsend, MPI_Bsend_c, MPI_Bsend_init, MPI_Bsend_init_c, MPI_Ibsend, MPI_Ibsend_c,
        };
        matches!(
            self.function,
            MPI_Bsend | MPI_Bsend_c | MPI_Bsend_init | MPI_Bsend_init_c | MPI_Ibsend | MPI_Ibsend_c
        )
    }

    /// Does the send wait for a receive, whatever MPI does?
    pub(crate) fn is_synchronous(&self) -> bool {
        use FunctionId::{
            MPI_Issend, MPI_Issend_c, MPI_Ssend, MPI_Ssend_c, MPI_Ssend_init, MPI_Ssend_init_c,
        };
        matches!(
            self.function,
            MPI_Issend | MPI_Issend_c | MPI_Ssend | MPI_Ssend_c | MPI_Ssend_init | MPI_Ssend_init_c
        )
    }
}

/// What must come for a call that waits until this process's buffered messages have left their buffer: the receiver of any of those
/// that nobody has asked for. MPI may have sent some of them without, but as long as the call stands not all of them. Nothing
/// if one of them is on its way: that alone may take long.
pub(crate) fn buffered() -> SmallVec<[Need; 4]> {
    let own = |slot: &Slot| slot.is_sent() && slot.source.load(Relaxed) == rank();
    let all = shared().messages.all().filter(|(_, slot)| own(slot));
    let all = all.filter(|(_, slot)| Sent::of(slot).is_some_and(|sent| sent.is_buffered()));
    let need = |(key, slot): (u64, &Slot)| {
        let target = slot.target.load(Relaxed);
        slot.is_lost().then_some(Need::Receiver { key, target })
    };
    all.map(need).collect::<Option<_>>().unwrap_or_default()
}

/// The message of a key, if it is under way.
pub(crate) fn sent_as(key: u64) -> Option<Sent> {
    Sent::of(shared().messages.look(key)?)
}

/// By which call a rank has asked for a message that was not sent, and where.
pub(crate) fn posted_by(rank: u32, wanted: Wanted) -> Option<(FunctionId, Mark)> {
    let channel = Channel {
        identity: wanted.identity,
        source: wanted.source?,
        target: rank,
        tag: wanted.tag?,
    };
    let is_it = |slot: &&Slot| {
        !slot.is_sent() && slot.has.load(Relaxed) & has::POSTED != 0 && slot.is_of(channel)
    };
    let posted = shared().messages.all().map(|(_, slot)| slot).find(is_it)?.posted.get(false)?;
    Some((posted.function, posted.mark))
}

/// The message that lies there for a rank that waits for another one which differs from it in one thing, in words; empty if there
/// is none.
pub(crate) fn nearly(rank: u32, wanted: Wanted) -> String {
    let lost = || {
        let all = shared().messages.all().map(|(_, slot)| slot);
        all.filter(|slot| slot.is_lost() && slot.target.load(Relaxed) == rank)
    };
    let differences = |slot: &&Slot| {
        let of = slot.channel();
        let differs = [
            of.identity != wanted.identity,
            wanted.source.is_some_and(|source| source != of.source),
            wanted.tag.is_some_and(|tag| tag != of.tag),
        ];
        differs.iter().filter(|it| **it).count()
    };
    let Some(slot) = lost().find(|slot| differences(slot) == 1) else { return String::new() };
    let Some(sent) = Sent::of(slot) else { return String::new() };
    let place = places::of_mark(sent.mark);
    let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
    format!(
        ", and has one with tag {}{} from rank {} ({}{at})",
        sent.channel.tag,
        names::on(sent.channel.identity),
        slot.source.load(Relaxed),
        sent.function,
    )
}

/// All ranks are through: what was sent and is still there was never received.
pub(crate) fn report_lost() {
    let shared = shared();
    if !(shared.is_whole() || hosts::is_on()) || shared.has_reached(limit::MESSAGES | limit::DOUBT)
    {
        return;
    }
    for (_, slot) in shared.messages.all().filter(|(_, slot)| slot.is_lost()) {
        // A receive that nobody has completed, since it was freed for example, may have got it.
        if waits::has_open(slot.target.load(Relaxed)) {
            continue;
        }
        let Some(sent) = slot.sent.get(slot.has.load(Relaxed) & has::SENT_ANY != 0) else {
            continue;
        };
        let (source, target) = (slot.source.load(Relaxed), slot.target.load(Relaxed));
        let message = format!(
            "the message of {} with tag {} from rank {source} to rank {target} was never received",
            sent.signature.describe(),
            slot.tag.load(Relaxed) as i64,
        );
        let place = places::of_mark(sent.mark);
        let ranks = [source];
        let place = Place::Text(&place);
        report_of(Class::LostMessage, sent.function, place, "lost", &message, None, &ranks);
    }
}
