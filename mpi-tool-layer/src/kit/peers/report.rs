//! How a report shows peers. Nothing here allocates or locks, as the report of a process is written in a signal handler.

use core::fmt::{self, Write};

use super::Exchanged;
use super::merged::{Coarse, MergedPeers, Pair, Relative};
use super::ranks::Block;
use crate::host::report::quote;
use crate::kit::report::function;
use crate::kit::shard::Sum;
use crate::kit::table::AnyTable;

/// Gets a pair and the ranks that it is of; no ranks if they are not known, and then the numbers are sums.
pub(crate) type EachPair<'a> = dyn FnMut(Pair, &[Block]) + 'a;

/// Peers to be reported.
pub(crate) trait PeerView {
    /// Calls `each` with all pairs, in any order.
    fn each_pair(&self, each: &mut EachPair<'_>);
}

/// All ranks.
impl PeerView for MergedPeers {
    fn each_pair(&self, each: &mut EachPair<'_>) {
        self.pairs().for_each(|(pair, ranks)| each(pair, ranks));
        for ((function, received), Coarse { messages, bytes }) in self.coarse() {
            each(Pair { function, received, peer: Relative::Others, messages, bytes }, &[]);
        }
    }
}

/// This process: the rows of all threads, added up.
pub(crate) struct ProcessPeers<'a> {
    table: &'a AnyTable,
    rows: Sum,
    rank: u64,
}

impl<'a> ProcessPeers<'a> {
    /// Adds up what all threads have by now. Nobody else uses `rows` meanwhile.
    pub(crate) fn of(table: &'a AnyTable, rows: Sum, rank: u64) -> Self {
        table.add_up(rows);
        Self { table, rows, rank }
    }
}

impl PeerView for ProcessPeers<'_> {
    fn each_pair(&self, each: &mut EachPair<'_>) {
        for row in self.rows.rows() {
            let Exchanged { function, received, peer, messages, bytes } =
                Exchanged::of(self.table, row);
            let peer = Relative::of(peer, self.rank);
            each(Pair { function, received, peer, messages, bytes }, &[Block::run(self.rank, 1)]);
        }
    }
}

/// The matrix as a list of JSON, with a line for each pair.
pub(crate) fn json(out: &mut dyn Write, peers: &dyn PeerView) -> fmt::Result {
    out.write_str("[")?;
    let (mut result, mut is_first) = (Ok(()), true);
    peers.each_pair(&mut |pair, ranks| {
        if result.is_ok() {
            result = out.write_str(if is_first { "\n  " } else { ",\n  " });
            result = result.and_then(|()| line(out, pair, ranks));
        }
        is_first = false;
    });
    result?;
    out.write_str("\n]")
}

fn line(out: &mut dyn Write, pair: Pair, ranks: &[Block]) -> fmt::Result {
    let Pair { function: number, received, peer, messages, bytes } = pair;
    out.write_str("{\"function\":")?;
    quote(out, function(number))?;
    write!(out, ",\"flow\":\"{}\",\"peer\":", if received { "received" } else { "sent" })?;
    match peer {
        Relative::Distance(distance) => write!(out, "{distance}")?,
        Relative::None => out.write_str("null")?,
        Relative::Outside => out.write_str("\"outside\"")?,
        Relative::Unknown => out.write_str("\"unknown\"")?,
        Relative::Others => out.write_str("\"others\"")?,
    }
    write!(out, ",\"messages\":{messages},\"bytes\":{bytes},\"ranks\":")?;
    if ranks.is_empty() {
        return out.write_str("null}");
    }
    for (position, Block { first, length, stride, count }) in ranks.iter().enumerate() {
        out.write_str(if position == 0 { "[" } else { "," })?;
        write!(out, "[{first},{length},{stride},{count}]")?;
    }
    out.write_str("]}")
}

/// A line of text: how much has been sent from process to process.
pub(crate) fn text(out: &mut dyn Write, peers: &dyn PeerView) -> fmt::Result {
    let (mut messages, mut bytes) = (0_u64, 0_u64);
    let mut is_exact = true;
    peers.each_pair(&mut |pair, ranks| {
        if pair.received || pair.peer == Relative::None {
            return;
        }
        is_exact &= pair.peer != Relative::Others;
        let each = |block: &Block| block.length.saturating_mul(block.count);
        let ranks = ranks.iter().map(each).fold(0, u64::saturating_add);
        let number = ranks.max(1);
        messages = messages.saturating_add(pair.messages.saturating_mul(number));
        bytes = bytes.saturating_add(pair.bytes.saturating_mul(number));
    });
    write!(out, "sent from rank to rank: {bytes} bytes in {messages} messages")?;
    let more = if is_exact { "" } else { ", not all of them told apart" };
    writeln!(out, "{more}; MPI_TOOL_FORMAT=json has the matrix")
}
