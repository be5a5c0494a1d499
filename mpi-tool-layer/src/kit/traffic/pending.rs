//! What is to be counted of an operation that is not complete.
//!
//! A call that starts an operation has the arguments, and the call that completes it has the status. So what the
//! arguments say is kept by the request until then: the layer's tag, and of each piece of data which way it goes, what
//! its elements are and how many there is room for. A receive has one piece, which needs no allocation.
//!
//! A persistent request is kept until it is freed, and counts at each start and each completion.

use super::whom::Kept;
use crate::{Contents, Flow, FunctionClass};

/// The data of an operation, of one kind.
#[derive(Debug, Clone)]
pub(super) struct Amount {
    pub(super) flow: Flow,
    /// Of each element.
    pub(super) contents: Contents,
    pub(super) count: u64,
    /// Does the status say how much it is?
    pub(super) at_most: bool,
}

/// Are data counted when their operation starts? What arrives, or what a status tells, is not.
pub(super) fn is_at_start(flow: Flow, at_most: bool) -> bool {
    flow != Flow::Received && !at_most
}

impl Amount {
    fn is_at_start(&self) -> bool {
        is_at_start(self.flow, self.at_most)
    }
}

/// An operation that is not complete, or a persistent one.
#[derive(Debug, Clone)]
pub(super) struct Pending<T> {
    tag: T,
    class: FunctionClass,
    persistent: bool,
    /// Started and not complete. An inactive persistent request may be waited for, too.
    active: bool,
    first: Amount,
    /// With whom the first piece moves, if the layer wants to know it.
    peer: Option<Kept>,
    /// As a rule there is nothing, and nothing is allocated.
    more: Option<Box<More>>,
}

/// Pieces of data but the first one, each with its peer: what few operations have. One word elsewhere.
#[derive(Debug, Clone, Default)]
struct More(Vec<(Amount, Option<Kept>)>);

impl<T: Copy> Pending<T> {
    /// An operation with one piece of data, and with whom that moves, if the layer wants to know it.
    #[inline(always)]
    pub(super) fn new(
        tag: T,
        class: FunctionClass,
        persistent: bool,
        first: Amount,
        peer: Option<Kept>,
    ) -> Self {
        Self { tag, class, persistent, active: !persistent, first, peer, more: None }
    }

    /// Adds a piece.
    #[cold]
    pub(super) fn push(&mut self, amount: Amount, peer: Option<Kept>) {
        self.more.get_or_insert_default().0.push((amount, peer));
    }

    /// The one amount and its peer, if there is only one and a status says how much it is: a receive.
    #[inline(always)]
    pub(super) fn as_receive(&self) -> Option<(&Amount, Option<&Kept>)> {
        (self.more.is_none() && self.first.at_most).then_some((&self.first, self.peer.as_ref()))
    }

    /// Is it a message that is sent, and nothing that arrives?
    #[inline(always)]
    pub(super) fn is_send(&self) -> bool {
        self.class == FunctionClass::PointToPoint
            && self.first.flow == Flow::Sent
            && self.more.is_none()
    }

    /// What the layer wanted to be remembered.
    pub(super) fn tag(&self) -> T {
        self.tag
    }

    /// Has something else remembered.
    pub(super) fn set_tag(&mut self, tag: T) {
        self.tag = tag;
    }

    /// The class of the function that has started it.
    pub(super) fn class(&self) -> FunctionClass {
        self.class
    }

    pub(super) fn is_persistent(&self) -> bool {
        self.persistent
    }

    pub(super) fn start(&mut self) {
        self.active = true;
    }

    /// Was the operation active?
    pub(super) fn finish(&mut self) -> bool {
        core::mem::replace(&mut self.active, false)
    }

    fn amounts(&self) -> impl Iterator<Item = (&Amount, Option<&Kept>)> {
        let others = self.more.iter().flat_map(|more| more.0.iter());
        let others = others.map(|(amount, peer)| (amount, peer.as_ref()));
        std::iter::once((&self.first, self.peer.as_ref())).chain(others)
    }

    /// What counts each time that a persistent operation is started.
    pub(super) fn at_start(&self) -> impl Iterator<Item = (&Amount, Option<&Kept>)> {
        self.amounts().filter(|(amount, _)| amount.is_at_start())
    }

    /// What counts when the operation is complete.
    pub(super) fn at_completion(&self) -> impl Iterator<Item = (&Amount, Option<&Kept>)> {
        self.amounts().filter(|(amount, _)| !amount.is_at_start())
    }
}
