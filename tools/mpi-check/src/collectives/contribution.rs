//! What a rank says of a collective operation that it comes to.

use mpi_facts::{NONE, Pattern};
use mpi_tool_layer::mpi_sys::{MPI_IN_PLACE, MPI_PROC_NULL, MPI_ROOT};
use mpi_tool_layer::{FunctionClass, FunctionId, Word as _};

use super::{BLOCKS, values};
use crate::arguments::Checked;
use crate::comms::Comm;
use crate::findings::{rank, ranks_text};
use crate::groups;
use crate::operations;
use crate::types::Signature;

/// What this rank calls.
#[derive(Default)]
pub(crate) struct Contribution {
    pub(crate) root: Option<i64>,
    pub(crate) operation: Option<u64>,
    pub(crate) signature: Option<Signature>,
    pub(crate) counts: Option<u64>,
    pub(crate) own_block: Option<(usize, u64)>,
    pub(crate) root_blocks: Vec<u64>,
    /// The processes of the group that `MPI_Comm_create` gets.
    pub(crate) group: Option<Group>,
}

/// A group of processes that all are among the first 64 of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    /// A bit for each of them.
    pub(crate) members: u64,
    /// A hash of their order.
    pub(crate) order: u32,
}

impl Group {
    fn of(ranks: &[u32]) -> Option<Self> {
        let bit = |all: u64, rank: &u32| Some(all | 1_u64.checked_shl(*rank)?);
        let members = ranks.iter().try_fold(0, bit)?;
        let next = |hash: u32, rank: &u32| (hash ^ *rank).wrapping_mul(0x0100_0193);
        Some(Self { members, order: ranks.iter().fold(0x811c_9dc5, next) })
    }

    /// Its members, in words.
    pub(super) fn describe(self) -> String {
        let members: Vec<u32> = (0..64).filter(|rank| self.members >> rank & 1 != 0).collect();
        format!("a group of {}", ranks_text(&members))
    }
}

/// Signature of a buffer with one count and one datatype.
fn signature(checked: &Checked<'_>, count: u8, datatype: u8) -> Option<Signature> {
    let count = u64::try_from(checked.int(count)?).ok()?;
    Some(checked.datatype(datatype)?.signature.times(count))
}

/// What a rank says of an operation.
pub(super) fn contribution(checked: &Checked<'_>, comm: &Comm) -> Contribution {
    let mut own = Contribution::default();
    let shape = checked.shape;
    if comm.is_inter {
        contribute_between(checked, comm, &mut own);
        return own;
    }
    if shape.class != FunctionClass::Collective {
        own.counts = values::hash(checked);
        if checked.function == FunctionId::MPI_Comm_create && checked.is_sound {
            own.group = groups::world_ranks(checked.call).and_then(|ranks| Group::of(&ranks));
        }
        return own;
    }
    own.root = checked.int(shape.root);
    own.operation = checked.word(shape.operation).map(operations::number);
    if !checked.is_sound {
        return own;
    }
    let (sent, received) = (shape.sent, shape.received);
    let in_place = |position| checked.word(position) == Some(MPI_IN_PLACE.to_word());
    let simple_sent = || signature(checked, sent.count, sent.datatype);
    let simple_received = || signature(checked, received.count, received.datatype);
    let is_root = checked.is_root();
    match shape.pattern {
        Pattern::Broadcast => own.signature = simple_received(),
        Pattern::Reduce | Pattern::Allreduce | Pattern::Exscan => {
            let (count, datatype) = one_description(checked);
            own.signature = signature(checked, count, datatype);
        }
        Pattern::ReduceScatter => {
            let (count, datatype) = one_description(checked);
            if checked.shape.received.array_of_counts || checked.shape.sent.array_of_counts {
                own.counts = counts_hash(checked, comm, count);
                own.signature = checked.datatype(datatype).map(|info| info.signature);
            } else {
                own.signature = signature(checked, count, datatype);
            }
        }
        Pattern::Gather | Pattern::Scatter => {
            let is_gather = shape.pattern == Pattern::Gather;
            // The many blocks are at the root.
            let (at_root, elsewhere) = if is_gather { (received, sent) } else { (sent, received) };
            if !at_root.array_of_counts {
                let of = if is_root { at_root } else { elsewhere };
                own.signature = signature(checked, of.count, of.datatype);
            } else if is_root {
                own.root_blocks = block_elements(checked, comm, at_root.count, at_root.datatype);
                if !in_place(elsewhere.buffer) {
                    own.own_block = own_block(checked, comm, elsewhere.count, elsewhere.datatype);
                }
            } else {
                own.own_block = own_block(checked, comm, elsewhere.count, elsewhere.datatype);
            }
        }
        Pattern::Allgather if received.array_of_counts => {
            own.counts = blocks_hash(checked, comm, received.count, received.datatype);
        }
        Pattern::Allgather | Pattern::Alltoall if !received.array_of_counts => {
            own.signature = simple_received().or_else(simple_sent);
        }
        _ => {}
    }
    own
}

/// The same of an operation between two groups: the root, as a rank of the world, and what goes from one group to the other.
fn contribute_between(checked: &Checked<'_>, comm: &Comm, own: &mut Contribution) {
    let shape = checked.shape;
    if shape.class != FunctionClass::Collective || !checked.is_sound {
        return;
    }
    let root = checked.int(shape.root);
    own.root = match root {
        Some(root) if root == i64::from(MPI_ROOT) => Some(i64::from(rank())),
        // The root is another one of this group.
        Some(root) if root == i64::from(MPI_PROC_NULL) => return,
        Some(root) => {
            i32::try_from(root).ok().and_then(|root| comm.world_rank(root)).map(i64::from)
        }
        None => None,
    };
    own.operation = checked.word(shape.operation).map(operations::number);
    own.signature = match shape.pattern {
        Pattern::Broadcast => signature(checked, shape.received.count, shape.received.datatype),
        Pattern::Reduce | Pattern::Allreduce => {
            let (count, datatype) = one_description(checked);
            signature(checked, count, datatype)
        }
        _ => None,
    };
}

/// Count and datatype of a reduction.
fn one_description(checked: &Checked<'_>) -> (u8, u8) {
    let shape = checked.shape;
    match shape.received.datatype {
        NONE => (shape.sent.count, shape.sent.datatype),
        datatype if shape.received.count != NONE => (shape.received.count, datatype),
        datatype => (shape.sent.count, datatype),
    }
}

fn counts_hash(checked: &Checked<'_>, comm: &Comm, position: u8) -> Option<u64> {
    let address = checked.word(position).filter(|address| *address != 0)?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for index in 0..comm.size as usize {
        hash = (hash ^ checked.count_at(address, index) as u64).wrapping_mul(0x100_0000_01b3);
    }
    Some(hash | 1)
}

/// A hash of what each rank gives, as signatures: datatypes may differ from rank to rank.
fn blocks_hash(checked: &Checked<'_>, comm: &Comm, counts: u8, datatype: u8) -> Option<u64> {
    let address = checked.word(counts).filter(|address| *address != 0)?;
    let signature = checked.datatype(datatype)?.signature;
    if signature.is_any {
        return None;
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for index in 0..comm.size as usize {
        let count = u64::try_from(checked.count_at(address, index)).ok()?;
        let block = signature.times(count);
        for part in [block.elements, block.hash] {
            hash = (hash ^ part).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash ^= hash >> 32;
        }
    }
    Some(hash | 1)
}

fn own_block(checked: &Checked<'_>, comm: &Comm, count: u8, datatype: u8) -> Option<(usize, u64)> {
    let signature = signature(checked, count, datatype).filter(|found| !found.is_any)?;
    Some((usize::try_from(comm.rank).ok()?, signature.elements))
}

fn block_elements(checked: &Checked<'_>, comm: &Comm, counts: u8, datatype: u8) -> Vec<u64> {
    let (Some(address), Some(info)) = (checked.word(counts), checked.datatype(datatype)) else {
        return Vec::new();
    };
    if address == 0 || info.signature.is_any || comm.size as usize > BLOCKS {
        return Vec::new();
    }
    (0..comm.size as usize)
        .map(|index| checked.count_at(address, index).max(0) as u64 * info.signature.elements)
        .collect()
}
