//! Which process has sent how much to which one: a table by function, peer and direction, and what becomes of it in a
//! report.
//!
//! * `ranks.rs` keeps sets of ranks in little memory, if they are regular.
//! * `merged.rs` adds the peers of several ranks.
//! * `report.rs` writes them.

pub(crate) mod merged;
mod ranks;
pub(crate) mod report;

use super::table::{AnyTable, Measure, MeasureUnit, Part, PartKind, Parts, RowKey, Table};
use crate::{Flow, FunctionId};

/// With whom a piece of data moves, as a layer is told that [asks for it](crate::Tally::communicators).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Peer(u32);

impl Peer {
    /// With no process in particular: by a collective operation, or to a file.
    pub const NONE: Self = Self(u32::MAX - 1);
    /// With a process that is not in this process's `MPI_COMM_WORLD`, such as a spawned one.
    pub const OUTSIDE: Self = Self(u32::MAX - 2);
    /// With a process of a communicator or window of which nobody knows who is in it.
    pub const UNKNOWN: Self = Self(u32::MAX - 3);
    /// With all for whom there was no room.
    pub(crate) const OTHERS: Self = Self(u32::MAX);

    /// With a process by its rank in `MPI_COMM_WORLD`.
    pub const fn of_world(rank: u32) -> Self {
        if rank < Self::UNKNOWN.0 { Self(rank) } else { Self::UNKNOWN }
    }

    /// The rank in `MPI_COMM_WORLD`, if the peer is one process and known.
    pub const fn world_rank(self) -> Option<u32> {
        if self.0 < Self::UNKNOWN.0 { Some(self.0) } else { None }
    }
}

/// Messages and bytes by function and peer, for a layer that wants the matrix of communication in its report:
/// [`Tool::peers`](crate::Tool::peers).
///
/// ```
/// use mpi_tool_layer::{Flow, FunctionId, Peer, PeerTable};
///
/// static PEERS: PeerTable = PeerTable::new();
/// PEERS.add(FunctionId::MPI_Send, Peer::of_world(3), Flow::Sent, 64);
/// ```
#[derive(Debug)]
pub struct PeerTable(Table<Row, 1>);

/// How many different keys a thread has room for: at most half a megabyte, used as far as it is needed.
const ROWS: usize = 8192;

#[derive(Debug, Clone, Copy)]
struct Row {
    function: FunctionId,
    peer: Peer,
    flow: Flow,
}

impl RowKey for Row {
    const PARTS: &'static [Part] = &[
        Part { name: "function", kind: PartKind::Function },
        Part { name: "peer", kind: PartKind::Number },
        Part { name: "flow", kind: PartKind::Number },
    ];

    /// Sent or received, with a peer or with none.
    const COARSE: usize = 4 * FunctionId::COUNT;

    fn parts(self) -> Parts {
        let Self { function, peer, flow } = self;
        [function as u32, peer.0, u32::from(flow == Flow::Received), 0, 0]
    }

    fn coarse([function, peer, flow, ..]: Parts) -> Parts {
        let peer = if peer == Peer::NONE.0 { Peer::NONE } else { Peer::OTHERS };
        [function, peer.0, flow, 0, 0]
    }
}

impl PeerTable {
    /// An empty table.
    pub const fn new() -> Self {
        Self(Table::new("messages", &[Measure { name: "bytes", unit: MeasureUnit::Bytes }], ROWS))
    }

    /// Adds a piece of data. What is contributed to a reduction counts as sent. Takes no lock, and allocates nothing for
    /// a key that the thread has had before.
    pub fn add(&self, function: FunctionId, peer: Peer, flow: Flow, bytes: u64) {
        self.0.add(Row { function, peer, flow }, 1, [Some(bytes)]);
    }

    /// The table as reports want it.
    pub(crate) fn any(&self) -> &AnyTable {
        self.0.any()
    }
}

impl Default for PeerTable {
    fn default() -> Self {
        Self::new()
    }
}

/// What a process has exchanged with a peer by calls of a function.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchanged {
    pub(crate) function: u32,
    pub(crate) received: bool,
    pub(crate) peer: Peer,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl Exchanged {
    /// Of a row of a [`PeerTable`].
    pub(crate) fn of(table: &AnyTable, row: super::shard::Row<'_>) -> Self {
        let [function, peer, flow, ..] = table.layout().parts(row.key());
        Self {
            function,
            received: flow == 1,
            peer: Peer(peer),
            messages: row.events(),
            bytes: row.moments(0).sum,
        }
    }
}
