//! Races: a receive from anybody that might have got another message. That is no fault, so it is told only if the user asks.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::{Channel, Receive, has};
use crate::findings::{Class, Other, Place, report_of};
use crate::places;
use crate::shared::{limit, shared};

static IS_ON: AtomicBool = AtomicBool::new(false);

/// The user asks for races.
pub(crate) fn tell_races(tell: bool) {
    IS_ON.store(tell, Relaxed);
}

/// A receive from anybody has got a message: was another one under way that it might have got?
pub(super) fn look(receive: &Receive, got: Channel) {
    static TOLD: Mutex<Option<HashSet<(u64, u64)>>> = Mutex::new(None);
    if !IS_ON.load(Relaxed) || shared().has_reached(limit::MESSAGES | limit::DOUBT) {
        return;
    }
    let mark = receive.content.mark;
    let place = (mark.module, mark.offset);
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.get_or_insert_default().contains(&place) {
        return;
    }
    let other = shared().messages.all().find(|(_, slot)| {
        slot.is_lost()
            && slot.identity.load(Relaxed) == got.identity
            && slot.target.load(Relaxed) == got.target
            && slot.source.load(Relaxed) != got.source
            && receive.tag.is_none_or(|tag| tag == slot.tag.load(Relaxed) as i64)
    });
    let Some((_, slot)) = other else { return };
    told.get_or_insert_default().insert(place);
    drop(told);
    let (source, tag) = (slot.source.load(Relaxed), slot.tag.load(Relaxed) as i64);
    let sent = slot.sent.get(slot.has.load(Relaxed) & has::SENT_ANY != 0);
    let function = receive.content.function;
    let message = format!(
        "{function} from anybody has got the message with tag {} from rank {}, and might have got the one with tag {tag} from \
         rank {source}: the order of messages is not the same in each run",
        got.tag, got.source,
    );
    let place = places::of_mark(mark);
    let other = sent.map(|sent| Other::at("the other one is sent at", sent.mark));
    let ranks = [got.target];
    report_of(Class::MessageRace, function, Place::Text(&place), "race", &message, other, &ranks);
}
