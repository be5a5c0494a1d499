//! Operations in which each process gives each other one a block of its own, or each neighbour (`MPI_Alltoallv`): what one
//! gives must be what the other one takes.
//!
//! Each process adds a number for each block that it gives, made of giver, taker and signature, and takes away the same for
//! each block that it gets. When all have come, the sums are 0, or some block is not the same on both sides. There are
//! `BLOCKS` sums by givers and as many by takers, so that it can be said who these are. So the memory does not grow with the
//! ranks, and no process looks at more than it gives MPI.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::fmt::Write as _;

use mpi_facts::{Data, NONE, Pattern};
use mpi_tool_layer::mpi_sys::{MPI_Datatype, MPI_IN_PLACE};
use mpi_tool_layer::{FunctionClass, Word};

use super::{BLOCKS, Slot, has};
use crate::arguments::{self, Checked};
use crate::comms::Comm;
use crate::findings::{Class, Place, rank, report, report_of};
use crate::neighbors::Neighbors;
use crate::types::Signature;

/// What a process adds to the sums.
pub(super) struct Pairs {
    given: [u64; BLOCKS],
    taken: [u64; BLOCKS],
}

/// One side's blocks.
struct Blocks<'r, 'c> {
    checked: &'r Checked<'c>,
    data: Data,
    /// The same block goes to each.
    is_one: bool,
}

impl Blocks<'_, '_> {
    /// The signature of a block; `None` if nobody knows.
    fn signature(&self, index: usize) -> Option<Signature> {
        let Self { checked, data, is_one } = self;
        let count = match checked.word(data.count)? {
            _ if *is_one || !data.array_of_counts => checked.int(data.count)?,
            0 => return None,
            address => checked.count_at(address, index),
        };
        let count = u64::try_from(count).ok()?;
        if count == 0 {
            return Some(Signature::EMPTY);
        }
        let info = match checked.word(data.datatype)? {
            0 if data.array_of_datatypes => return None,
            address if data.array_of_datatypes => {
                // SAFETY: the array must have the element: the standard asks for as many as there are blocks, and MPI,
                // which the call goes to next, reads them all.
                let handle = unsafe { *<*const MPI_Datatype>::from_word(address).add(index) };
                arguments::datatype(handle.to_word())?
            }
            _ => checked.datatype(data.datatype)?,
        };
        Some(info.signature.times(count)).filter(|signature| !signature.is_any)
    }
}

/// Is the operation one of those that are compared so?
pub(super) fn is_paired(checked: &Checked<'_>, comm: &Comm) -> bool {
    let shape = checked.shape;
    let has_blocks = match shape.class {
        FunctionClass::Collective => {
            shape.pattern == Pattern::Alltoall && shape.received.array_of_counts
        }
        FunctionClass::Neighborhood => {
            matches!(shape.pattern, Pattern::NeighborAllgather | Pattern::NeighborAlltoall)
        }
        _ => false,
    };
    has_blocks && !comm.is_inter
}

impl Pairs {
    /// What this process adds; `None` if not all of its blocks are known.
    pub(super) fn of(checked: &Checked<'_>, comm: &Comm) -> Option<Self> {
        if !checked.is_sound || !is_paired(checked, comm) {
            return None;
        }
        let shape = checked.shape;
        let is_neighborhood = shape.class == FunctionClass::Neighborhood;
        let is_in_place = checked.word(shape.sent.buffer) == Some(MPI_IN_PLACE.to_word());
        if is_in_place && is_neighborhood {
            return None;
        }
        let given = if is_in_place { shape.received } else { shape.sent };
        let is_one = shape.pattern == Pattern::NeighborAllgather;
        let given = Blocks { checked, data: given, is_one };
        let taken = Blocks { checked, data: shape.received, is_one: false };
        let own = u32::try_from(comm.rank).ok()?;
        let mut pairs = Self { given: [0; BLOCKS], taken: [0; BLOCKS] };
        if is_neighborhood {
            let neighbors = comm.neighbors(checked)?;
            for (index, target) in Neighbors::there(&neighbors.targets) {
                pairs.add(u64::wrapping_add, own, target, given.signature(index)?);
            }
            for (index, source) in Neighbors::there(&neighbors.sources) {
                pairs.add(u64::wrapping_sub, source, own, taken.signature(index)?);
            }
        } else {
            for other in 0..comm.size {
                pairs.add(u64::wrapping_add, own, other, given.signature(other as usize)?);
                pairs.add(u64::wrapping_sub, other, own, taken.signature(other as usize)?);
            }
        }
        Some(pairs)
    }

    fn add(&mut self, with: fn(u64, u64) -> u64, from: u32, to: u32, signature: Signature) {
        let number = number(from, to, signature);
        for (sums, at) in [(&mut self.given, from), (&mut self.taken, to)] {
            let sum = &mut sums[at as usize % BLOCKS];
            *sum = with(*sum, number);
        }
    }
}

/// A block as a number; 0 for one that is empty, as those who do not name it have it.
fn number(from: u32, to: u32, signature: Signature) -> u64 {
    if signature.elements == 0 {
        return 0;
    }
    let pair = u64::from(from) << 32 | u64::from(to);
    let mut mixed = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ signature.elements.wrapping_mul(0xc4ce_b9fe_1a85_ec53)
        ^ signature.hash;
    for multiplier in [0xff51_afd7_ed55_8ccd_u64, 0xbf58_476d_1ce4_e5b9] {
        mixed = (mixed ^ mixed >> 31).wrapping_mul(multiplier);
    }
    mixed ^ mixed >> 29
}

impl Slot {
    /// Adds what a process gives and takes.
    pub(super) fn add_pairs(&self, own: Option<&Pairs>) {
        let Some(own) = own else {
            _ = self.has.fetch_or(has::UNKNOWN_PAIRS, Relaxed);
            return;
        };
        let add = |to: &[AtomicU64; BLOCKS], from: &[u64; BLOCKS]| {
            for (to, from) in to.iter().zip(from) {
                to.store(to.load(Relaxed).wrapping_add(*from), Relaxed);
            }
        };
        add(&self.own_blocks, &own.given);
        add(&self.root_blocks, &own.taken);
    }

    /// All have come: those who give what is not taken, and those who do not take what they are given.
    pub(super) fn unequal_pairs(&self) -> Option<[Vec<u32>; 2]> {
        if self.has.load(Relaxed) & (has::UNKNOWN_PAIRS | has::TOLD) != 0 {
            return None;
        }
        let not_zero = |sums: &[AtomicU64; BLOCKS]| {
            let all = (0..).zip(sums);
            all.filter(|(_, sum)| sum.load(Relaxed) != 0).map(|(at, _)| at).collect::<Vec<u32>>()
        };
        let both = [not_zero(&self.own_blocks), not_zero(&self.root_blocks)];
        both.iter().any(|ranks| !ranks.is_empty()).then_some(both)
    }
}

/// Says that some blocks are not the same on both sides.
pub(super) fn tell(checked: &Checked<'_>, comm: &Comm, [givers, takers]: &[Vec<u32>; 2]) {
    let (function, name) = (checked.function, comm.describe());
    let rule = "count and datatype must describe the same data on both sides";
    let mut ranks = vec![rank()];
    let is_exact = comm.size as usize <= BLOCKS && (givers.len() == 1 || takers.len() == 1);
    let message = if is_exact {
        let world = |rank: &u32| comm.world_rank(*rank as i32);
        let [from, to] =
            [givers, takers].map(|all| all.iter().filter_map(world).collect::<Vec<u32>>());
        let message = format!(
            "in {function} on {name}, what {} does not match what {}: {rule}",
            named(&from, "sends", "send"),
            named(&to, "receives from there", "receive from there"),
        );
        ranks = [from, to].concat();
        ranks.sort_unstable();
        ranks.dedup();
        message
    } else {
        format!(
            "in {function} on {name}, what some ranks send does not match what others receive: {rule}"
        )
    };
    let place = Place::Here(checked.site);
    report_of(Class::CollectiveMismatch, function, place, "pairs", &message, None, &ranks);
}

/// Some ranks, and what they do.
fn named(ranks: &[u32], one: &str, many: &str) -> String {
    let mut text = String::from(if ranks.len() == 1 { "rank" } else { "ranks" });
    for (index, rank) in ranks.iter().enumerate() {
        let _ = write!(text, "{} {rank}", if index == 0 { "" } else { "," });
    }
    let verb = if ranks.len() == 1 { one } else { many };
    format!("{text} {verb}")
}

/// What a process gives itself in an operation of blocks must be what it takes.
pub(super) fn check_own(checked: &Checked<'_>, comm: &Comm) {
    let shape = checked.shape;
    let is_in_place = [shape.sent.buffer, shape.received.buffer]
        .into_iter()
        .any(|buffer| checked.word(buffer) == Some(MPI_IN_PLACE.to_word()));
    let is_meant = shape.class == FunctionClass::Collective
        && match shape.pattern {
            Pattern::Gather | Pattern::Scatter | Pattern::Allgather => checked.is_root(),
            Pattern::Alltoall => !shape.received.array_of_counts,
            _ => false,
        };
    if !is_meant || is_in_place || comm.is_inter || !checked.is_sound {
        return;
    }
    if [shape.sent.datatype, shape.received.datatype].contains(&NONE) {
        return;
    }
    let Ok(own) = usize::try_from(comm.rank) else { return };
    let of = |data: Data| Blocks { checked, data, is_one: false }.signature(own);
    let Some((given, taken)) = of(shape.sent).zip(of(shape.received)) else { return };
    if given.may_equal(taken) {
        return;
    }
    let message = format!(
        "in {} on {}, what this rank sends to itself does not match what it receives from itself: {}, {}",
        checked.function,
        comm.describe(),
        given.describe(),
        taken.describe(),
    );
    report(Class::CollectiveMismatch, checked.function, checked.site, "own block", &message, None);
}
