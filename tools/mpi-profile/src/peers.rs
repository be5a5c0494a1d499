//! Calls that move data, where peers are told apart.

use core::cell::Cell;

use mpi_tool_layer::{Communicators, Flow, Peer, PredefinedDatatype, Tally};

use crate::Now;
use crate::row::Row;

/// A call on its way, of which peers count, too.
pub(crate) struct NowWithPeers<'a> {
    now: Now<'a>,
    /// Bytes of the piece of data that is being told of.
    piece: Cell<u64>,
}

impl<'a> NowWithPeers<'a> {
    pub(crate) const fn new(now: Now<'a>) -> Self {
        Self { now, piece: Cell::new(0) }
    }
}

impl<'a> AsRef<Now<'a>> for NowWithPeers<'a> {
    fn as_ref(&self) -> &Now<'a> {
        &self.now
    }
}

impl Tally<Row> for NowWithPeers<'_> {
    fn moved(&self, row: Row, flow: Flow, datatype: PredefinedDatatype, elements: u64) {
        let bytes = elements.wrapping_mul(datatype.size());
        self.piece.set(self.piece.get().wrapping_add(bytes));
        self.now.moved(row, flow, datatype, elements);
    }

    fn kept(&self, row: Row, bytes: u64) -> Row {
        self.now.kept(row, bytes)
    }

    fn communicators(&self) -> Option<&Communicators> {
        Some(&self.now.profile.communicators)
    }

    fn exchanged(&self, row: Row, flow: Flow, peer: Peer) {
        self.now.profile.peers.add(row.function, peer, flow, self.piece.take());
    }
}
