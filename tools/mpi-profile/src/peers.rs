//! Calls that move data, of which peers may be told apart.

use mpi_tool_layer::{Communicators, Exchange, Flow, PredefinedDatatype, Tally};

use crate::Now;
use crate::row::Row;

/// A call on its way, of which peers count, too, if the user wants them.
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
        self.0.profile.communicators_of_peers()
    }

    fn exchanged(&self, row: Row, exchange: Exchange) {
        self.0.profile.exchanged(row, exchange);
    }
}
