//! Messages that have been sent and not received: while the program runs, and at its end.

use core::sync::atomic::Ordering::Relaxed;

use super::{Channel, has};
use crate::findings::{Class, Place, report_of};
use crate::hosts;
use crate::places;
use crate::shared::{limit, shared};
use crate::waits;

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

/// The keys of all messages that are known: those that are under way and that nobody has asked for, and the others.
pub(crate) fn keys() -> (Vec<u64>, Vec<u64>) {
    let (lost, others): (Vec<_>, Vec<_>) =
        shared().messages.all().partition(|(_, slot)| slot.is_lost());
    let keys = |of: Vec<(u64, &super::Slot)>| of.into_iter().map(|(key, _)| key).collect();
    (keys(lost), keys(others))
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
