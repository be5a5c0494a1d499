//! What is said of a message whose two sides do not go together.

use std::sync::{Mutex, PoisonError};

use super::{Channel, Content};
use crate::findings::{Class, Other, Place, report_of};
use crate::hosts;
use crate::places;
use crate::shared::{limit, shared};

/// What is found of messages between hosts while several threads may send: whether their order is known, all ranks must say.
static HELD: Mutex<Vec<(Problem, Channel, Content)>> = Mutex::new(Vec::new());
const MOST_HELD: usize = 64;

/// All ranks have said what they know of the order of messages.
pub(crate) fn tell_held() {
    let held = core::mem::take(&mut *HELD.lock().unwrap_or_else(PoisonError::into_inner));
    if shared().has_reached(limit::ORDER) {
        return;
    }
    for (problem, channel, own) in held {
        problem.say(channel, &own);
    }
}

/// What is wrong with a message.
#[derive(Clone)]
pub(super) struct Problem {
    pub(super) class: Class,
    pub(super) sent: Content,
    pub(super) posted: Content,
}

impl Problem {
    /// What is wrong with the two sides of a message, if anything is.
    pub(super) fn of(sent: Content, posted: Content) -> Option<Self> {
        let is_longer =
            sent.bytes != u64::MAX && posted.bytes != u64::MAX && sent.bytes > posted.bytes;
        if !sent.signature.may_begin(posted.signature) {
            return Some(Self { class: Class::DatatypeMismatch, sent, posted });
        }
        is_longer.then_some(Self { class: Class::Truncation, sent, posted })
    }

    pub(super) fn tell(&self, channel: Channel, own: &Content) {
        if shared().has_reached(limit::DOUBT) {
            return;
        }
        if hosts::must_wait()
            && [channel.source, channel.target].into_iter().any(hosts::is_elsewhere)
        {
            let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
            if held.len() < MOST_HELD {
                held.push((self.clone(), channel, *own));
            }
            return;
        }
        self.say(channel, own);
    }

    fn say(&self, channel: Channel, own: &Content) {
        let at = |mark| {
            let place = places::of_mark(mark);
            if place.is_empty() { String::new() } else { format!(" at {place}") }
        };
        let what = match self.class {
            Class::Truncation => "is longer than what is received",
            _ => "has other datatypes than what is received",
        };
        let message = format!(
            "the message with tag {} from rank {} {what}: {} ({} bytes) by {}{}, {} ({} bytes) by {}{}",
            channel.tag,
            channel.source,
            self.sent.signature.describe(),
            self.sent.bytes,
            self.sent.function,
            at(self.sent.mark),
            self.posted.signature.describe(),
            self.posted.bytes,
            self.posted.function,
            at(self.posted.mark),
        );
        // The receiver's line is the finding's, whoever has found it.
        let place = places::of_mark(self.posted.mark);
        let function = if place.is_empty() { own.function } else { self.posted.function };
        let other = (self.sent.mark, "sent at");
        report_of(
            self.class,
            function,
            Place::Text(&place),
            "message",
            &message,
            Some(Other::at(other.1, other.0)),
            &[channel.source, channel.target],
        );
    }
}
