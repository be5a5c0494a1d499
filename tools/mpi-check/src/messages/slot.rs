//! A message in the table: what is known of both of its sides.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use mpi_tool_layer::FunctionId;

use super::problem::Problem;
use super::{Channel, Content};
use crate::places::Mark;
use crate::types::Signature;

/// A message under way.
#[repr(C, align(64))]
pub(crate) struct Slot {
    pub(super) identity: AtomicU64,
    pub(super) tag: AtomicU64,
    pub(super) source: AtomicU32,
    pub(super) target: AtomicU32,
    /// Bits of [`has`].
    pub(super) has: AtomicU32,
    /// Of a message that was received before its record came: how many bytes it had, as far as they fit.
    pub(super) arrived: AtomicU32,
    pub(super) sent: Side,
    pub(super) posted: Side,
}

/// One side of a message.
#[repr(C)]
pub(super) struct Side {
    pub(super) function: AtomicU32,
    pub(super) uniform: AtomicU32,
    pub(super) elements: AtomicU64,
    pub(super) hash: AtomicU64,
    pub(super) first: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) module: AtomicU64,
    pub(super) offset: AtomicU64,
}

pub(super) mod has {
    /// The message has been sent.
    pub(in super::super) const SENT: u32 = 1;
    /// Somebody has asked for it.
    pub(in super::super) const POSTED: u32 = 2;
    /// Of unknown signature.
    pub(in super::super) const SENT_ANY: u32 = 4;
    pub(in super::super) const POSTED_ANY: u32 = 8;
    /// The two sides have been compared.
    pub(in super::super) const COMPARED: u32 = 16;
    /// The message was received, and what was sent has yet to be told by another host.
    pub(in super::super) const RECEIVED: u32 = 32;
}

impl Side {
    pub(super) fn set(&self, content: &Content) {
        self.function.store(content.function as u32, Relaxed);
        self.uniform.store(content.signature.uniform.into(), Relaxed);
        self.elements.store(content.signature.elements, Relaxed);
        self.hash.store(content.signature.hash, Relaxed);
        self.first.store(content.signature.first, Relaxed);
        self.bytes.store(content.bytes, Relaxed);
        self.module.store(content.mark.module, Relaxed);
        self.offset.store(content.mark.offset, Relaxed);
    }

    pub(super) fn get(&self, is_any: bool) -> Option<Content> {
        Some(Content {
            function: FunctionId::from_index(self.function.load(Relaxed) as usize)?,
            signature: Signature {
                elements: self.elements.load(Relaxed),
                hash: self.hash.load(Relaxed),
                first: self.first.load(Relaxed),
                uniform: self.uniform.load(Relaxed) as u8,
                is_any,
            },
            bytes: self.bytes.load(Relaxed),
            mark: Mark { module: self.module.load(Relaxed), offset: self.offset.load(Relaxed) },
        })
    }
}

impl Slot {
    /// It is for a message of a channel, of which nothing is known yet.
    pub(super) fn begin(&self, channel: Channel) {
        self.has.store(0, Relaxed);
        self.identity.store(channel.identity, Relaxed);
        self.source.store(channel.source, Relaxed);
        self.target.store(channel.target, Relaxed);
        self.tag.store(channel.tag as u64, Relaxed);
    }

    pub(super) fn is_sent(&self) -> bool {
        self.has.load(Relaxed) & has::SENT != 0
    }

    /// Nobody has asked for it.
    pub(super) fn is_lost(&self) -> bool {
        self.is_sent() && self.has.load(Relaxed) & has::POSTED == 0
    }

    pub(super) fn channel(&self) -> Channel {
        Channel {
            identity: self.identity.load(Relaxed),
            source: self.source.load(Relaxed),
            target: self.target.load(Relaxed),
            tag: self.tag.load(Relaxed) as i64,
        }
    }

    pub(super) fn is_of(&self, channel: Channel) -> bool {
        self.channel() == channel
    }

    pub(super) fn compare(&self) -> Option<Problem> {
        let has = self.has.load(Relaxed);
        if has & has::SENT == 0 || has & has::POSTED == 0 {
            return None;
        }
        self.has.store(has | has::COMPARED, Relaxed);
        let sent = self.sent.get(has & has::SENT_ANY != 0)?;
        let posted = self.posted.get(has & has::POSTED_ANY != 0)?;
        Problem::of(sent, posted)
    }
}
