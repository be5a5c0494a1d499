//! Calls that move data, where peers are told apart.

use mpi_tool_layer::{Communicators, Flow, Peer, PredefinedDatatype, Tally};

use crate::Now;
use crate::row::Row;

/// A call on its way, of which peers count, too.
pub(crate) struct NowWithPeers<'a>(pub(crate) Now<'a>);

impl<'a> AsRef<Now<'a>> for NowWithPeers<'a> {
    fn as_ref(&self) -> &Now<'a> {
        &self.0
    }
}

impl Tally<Row> for NowWithPeers<'_> {
    fn moved(&self, row: Row, flow: Flow, datatype: PredefinedDatatype, elements: u64) {
        self.0.moved(row, flow, datatype, elements);
    }

    fn kept(&self, row: Row, bytes: u64) -> Row {
        self.0.kept(row, bytes)
    }

    fn communicators(&self) -> Option<&Communicators> {
        Some(&self.0.profile.communicators)
    }

    fn exchanged(&self, row: Row, flow: Flow, peer: Peer, bytes: u64) {
        self.0.profile.exchanged(row, flow, peer, bytes);
    }
}
