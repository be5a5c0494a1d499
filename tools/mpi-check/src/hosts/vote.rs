//! What the processes of a communicator say of a collective operation, put together as one reduction: what the one with the
//! lowest rank says, and somebody who says something else.
//!
//! MPI puts two values together wherever it likes, also while the application is in another call. So this touches nothing
//! but the two.

use core::ffi::{c_int, c_void};

use mpi_tool_layer::FunctionId;
use mpi_tool_layer::mpi_sys::MPI_Datatype;

use crate::collectives::{BLOCKS, Contribution, What};
use crate::operations;
use crate::places::Mark;
use crate::types::Signature;

/// What one process says.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Side {
    /// Its rank in the world.
    pub(super) rank: u64,
    function: u64,
    module: u64,
    offset: u64,
    /// Bits of [`has`].
    has: u64,
    root: u64,
    operation: u64,
    elements: u64,
    hash: u64,
    uniform: u64,
    counts: u64,
}

mod has {
    pub(super) const ROOT: u64 = 1;
    pub(super) const OPERATION: u64 = 2;
    pub(super) const SIGNATURE: u64 = 4;
    pub(super) const COUNTS: u64 = 8;
    /// It is a root that knows the blocks.
    pub(super) const BLOCKS: u64 = 16;
}

/// What some processes say together.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Vote {
    /// 0, or the number of the [`What`] in which two differ.
    problem: u64,
    /// Of which rank's block the rank and the root say something else, from 1, if that is the problem: then `other` is the
    /// root.
    block: u64,
    first: Side,
    /// If there is a problem.
    other: Side,
    /// The root, if there are blocks, which it knows.
    root: Side,
    /// Elements of each rank's block plus 1, as the rank says, and as the root says.
    own_blocks: [u64; BLOCKS],
    root_blocks: [u64; BLOCKS],
}

/// How many words a vote has.
pub(super) const WORDS: usize = size_of::<Vote>() / size_of::<u64>();

impl Side {
    fn new(function: FunctionId, rank: u32, mark: Mark, own: &Contribution) -> Self {
        let mut has = 0;
        let mut add = |is_there: bool, bit: u64| has |= if is_there { bit } else { 0 };
        let signature = own.signature.filter(|signature| !signature.is_any);
        add(own.root.is_some(), has::ROOT);
        add(own.operation.is_some(), has::OPERATION);
        add(signature.is_some(), has::SIGNATURE);
        add(own.counts.is_some(), has::COUNTS);
        let signature = signature.unwrap_or(Signature::EMPTY);
        Self {
            rank: rank.into(),
            function: function as u64,
            module: mark.module,
            offset: mark.offset,
            has,
            root: own.root.unwrap_or(0) as u64,
            operation: own.operation.unwrap_or(0),
            elements: signature.elements,
            hash: signature.hash,
            uniform: signature.uniform.into(),
            counts: own.counts.unwrap_or(0),
        }
    }

    pub(super) fn function(&self) -> Option<FunctionId> {
        FunctionId::from_index(self.function as usize)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { module: self.module, offset: self.offset }
    }

    fn signature(&self) -> Signature {
        Signature {
            elements: self.elements,
            hash: self.hash,
            uniform: self.uniform as u8,
            ..Signature::EMPTY
        }
    }

    /// In what two differ.
    fn differs(&self, other: &Self) -> Option<What> {
        let both = self.has & other.has;
        if self.function != other.function {
            Some(What::Functions)
        } else if both & has::ROOT != 0 && self.root != other.root {
            Some(What::Roots)
        } else if both & has::OPERATION != 0 && self.operation != other.operation {
            Some(What::Operations)
        } else if both & has::SIGNATURE != 0 && !self.signature().may_equal(other.signature()) {
            Some(What::Data)
        } else if both & has::COUNTS != 0 && self.counts != other.counts {
            Some(self.function().map_or(What::Counts, What::of_hashes))
        } else {
            None
        }
    }

    /// Takes what the other one knows and this one does not.
    fn complete(&mut self, other: &Self) {
        let new = other.has & !self.has;
        if new & has::ROOT != 0 {
            self.root = other.root;
        }
        if new & has::OPERATION != 0 {
            self.operation = other.operation;
        }
        if new & has::SIGNATURE != 0 {
            (self.elements, self.hash, self.uniform) = (other.elements, other.hash, other.uniform);
        }
        if new & has::COUNTS != 0 {
            self.counts = other.counts;
        }
        self.has |= new;
    }

    /// What it says of that in which it differs.
    fn text(&self, what: What, name: &'static str) -> String {
        match what {
            What::Functions => name.into(),
            What::Roots => format!("root {}", self.root as i64),
            What::Operations => operations::name_of_number(self.operation).into(),
            What::Data => self.signature().describe(),
            What::Counts | What::Values | What::Groups => {
                self.function().map_or_else(|| "an array".into(), |of| what.side(of, false))
            }
        }
    }
}

/// Two that differ.
pub(super) struct Difference<'a> {
    pub(super) what: What,
    /// The first one is not known but by its rank in the communicator, which this is.
    pub(super) by_rank: Option<u32>,
    pub(super) sides: [&'a Side; 2],
    /// What each of them says.
    pub(super) texts: [String; 2],
}

impl Vote {
    pub(super) fn new(function: FunctionId, rank: u32, mark: Mark, own: &Contribution) -> Self {
        let mut vote = Self { first: Side::new(function, rank, mark, own), ..Self::default() };
        if let Some((at, elements)) = own.own_block
            && let Some(block) = vote.own_blocks.get_mut(at)
        {
            *block = elements + 1;
        }
        for (block, elements) in vote.root_blocks.iter_mut().zip(&own.root_blocks) {
            *block = elements + 1;
            vote.root = vote.first;
            vote.root.has |= has::BLOCKS;
        }
        vote
    }

    /// What both say together.
    fn and(&self, other: &Self) -> Self {
        let [first, second] =
            if self.first.rank <= other.first.rank { [self, other] } else { [other, self] };
        let mut both = *first;
        for (one, all) in [
            (&second.own_blocks, &mut both.own_blocks),
            (&second.root_blocks, &mut both.root_blocks),
        ] {
            for (one, all) in one.iter().zip(all) {
                *all = (*all).max(*one);
            }
        }
        if second.root.has & has::BLOCKS != 0 {
            both.root = second.root;
        }
        if both.problem != 0 {
            return both;
        }
        if second.problem != 0 {
            (both.problem, both.block) = (second.problem, second.block);
            (both.first, both.other) = (second.first, second.other);
            return both;
        }
        if let Some(what) = first.first.differs(&second.first) {
            both.problem = what as u64;
            both.other = second.first;
            return both;
        }
        both.first.complete(&second.first);
        let mut blocks = both.own_blocks.iter().zip(&both.root_blocks);
        let differ = |(own, root): (&u64, &u64)| *own != 0 && *root != 0 && own != root;
        if let Some(at) = blocks.position(differ) {
            (both.problem, both.block) = (What::Data as u64, at as u64 + 1);
            both.other = both.root;
        }
        both
    }

    /// Two that differ, if there are any.
    pub(super) fn difference(&self) -> Option<Difference<'_>> {
        let what = What::from_number(self.problem)?;
        let sides = [&self.first, &self.other];
        let names = [self.first.function()?.name(), self.other.function()?.name()];
        let texts = match self.block.checked_sub(1) {
            Some(block) => {
                let at = block as usize;
                [self.own_blocks.get(at)?, self.root_blocks.get(at)?]
                    .map(|elements| format!("{} elements of rank {block}", elements - 1))
            }
            None => [sides[0].text(what, names[0]), sides[1].text(what, names[1])],
        };
        let by_rank = self.block.checked_sub(1).map(|rank| rank as u32);
        Some(Difference { what, by_rank, sides, texts })
    }
}

/// MPI puts values together: of `length` votes each, the first ones to the second ones.
pub(super) unsafe extern "C" fn put_together(
    from: *mut c_void,
    to: *mut c_void,
    length: *mut c_int,
    _: *mut MPI_Datatype,
) {
    let (from, to) = (from.cast::<Vote>(), to.cast::<Vote>());
    // SAFETY: the length must be readable: MPI passes it.
    let length = unsafe { *length };
    for at in 0..usize::try_from(length).unwrap_or(0) {
        // SAFETY: both arrays must have as many votes, which MPI may have put at any address: the datatype of the reduction
        // has the size of one, any bits are one, and they are read and written without regard to their alignment.
        unsafe {
            let both = from.add(at).read_unaligned().and(&to.add(at).read_unaligned());
            to.add(at).write_unaligned(both);
        }
    }
}
