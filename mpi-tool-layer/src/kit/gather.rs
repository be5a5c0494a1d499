//! Merging tables over the ranks: a binomial tree. In each round half of the ranks that are left hand what they
//! have to a neighbour; after log2(ranks) rounds rank 0 has all. Then rank 0 asks all ranks, down the same tree, for their own
//! times of the segments that cost most, which it knows only now.

use core::ffi::c_int;

use mpi_sys::{MPI_Comm, MPI_Group, pmpi};

use super::merged::{Merged, Renumbered};
use super::message::{bytes_of, numbers_of};
use crate::host::world::{ActiveWorld, ErrorsReturn, check};

/// A message is sent in pieces of so many bytes, whose number an `int` can hold.
const PIECE: usize = 1 << 28;

/// Merges the tables of all ranks: the result is at rank 0, nothing elsewhere. `add` adds a table to another one.
/// All ranks must call it with the same `fingerprint`. A rank whose neighbour could not send, or sent what is no table,
/// says so to the next one, and does not let it wait.
pub(crate) fn gather(
    fingerprint: &[u64; 2],
    own: Merged,
    renumbered: Renumbered,
    add: impl Fn(&mut Merged, Merged),
) -> Result<Option<Merged>, c_int> {
    let world = ActiveWorld::now().ok_or(pmpi::MPI_ERR_COMM)?;
    let _errors = ErrorsReturn::on(world)?;
    world.agree(fingerprint)?;
    let (rank, ranks) = world.position().ok_or(pmpi::MPI_ERR_COMM)?;
    let group = OwnComm::new(world)?;
    let tree = Tree::of(rank, ranks);
    let segments = own.only_segments();
    let mut table = Ok(own);
    let (mut heard, mut silent) = (Vec::new(), Vec::new());
    for child in tree.children() {
        let received = group.receive(child);
        if received.is_ok() { &mut heard } else { &mut silent }.push(child);
        let other =
            received.and_then(|bytes| Merged::from_bytes(&bytes).ok_or(pmpi::MPI_ERR_OTHER));
        match (&mut table, other) {
            (Ok(table), Ok(other)) => add(table, other),
            (_, Err(error)) => table = Err(error),
            (Err(_), _) => {}
        }
    }
    if let Some(parent) = tree.parent {
        let bytes = table.as_ref().map_or(Vec::new(), Merged::to_bytes);
        if let Err(error) = group.send(&bytes, parent) {
            silent.append(&mut heard);
            ask_nothing(&group, &silent);
            return Err(error);
        }
    }
    ask_nothing(&group, &silent);
    let question = table.as_ref().ok().filter(|_| rank == 0).and_then(Merged::question);
    let answers = ask(&group, tree.parent, &heard, question, |question| {
        question.answer(segments, rank.into(), renumbered)
    });
    match (table, tree.parent) {
        (Ok(mut table), None) => {
            table.take_answers(&answers);
            Ok(Some(table))
        }
        (table, _) => table.map(|_| None),
    }
}

/// Tells ranks that there is no question, so that they do not wait for one.
fn ask_nothing(group: &OwnComm, children: &[u32]) {
    for child in children {
        // Who cannot be reached does not wait, either.
        let _ = group.send(&[], *child);
    }
}

/// Hands a question of rank 0 down the tree, and the answers of all ranks up: rank 0 has them, one behind the other, in any order.
/// The table is merged by then: where a rank cannot send or receive, its answer is missing, and nothing else.
fn ask(
    group: &OwnComm,
    parent: Option<u32>,
    children: &[u32],
    question: Option<Merged>,
    answer: impl FnOnce(Merged) -> Vec<u64>,
) -> Vec<u64> {
    let question = match parent {
        None => question.as_ref().map_or(Vec::new(), Merged::to_bytes),
        Some(parent) => group.receive(parent).unwrap_or_default(),
    };
    // Who has most ranks below it is asked first.
    let reached: Vec<u32> = children
        .iter()
        .copied()
        .rev()
        .filter(|child| group.send(&question, *child).is_ok())
        .collect();
    let Some(question) = Merged::from_bytes(&question) else { return Vec::new() };
    let mut answers = answer(question);
    for child in reached.into_iter().rev() {
        answers.extend(numbers_of(&group.receive(child).unwrap_or_default()));
    }
    if let Some(parent) = parent {
        let _ = group.send(&bytes_of(&answers), parent);
    }
    answers
}

/// A rank's place in the binomial tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tree {
    rank: u32,
    ranks: u32,
    /// To whom it hands what it has; none of rank 0.
    parent: Option<u32>,
}

impl Tree {
    fn of(rank: u32, ranks: u32) -> Self {
        Self { rank, ranks, parent: (rank != 0).then(|| rank & (rank - 1)) }
    }

    /// Those that hand theirs to this rank, the nearest first.
    fn children(self) -> impl Iterator<Item = u32> {
        let Self { rank, ranks, .. } = self;
        let distances = (0..u32::BITS).map(|power| 1 << power);
        let own = distances.take_while(move |distance| rank & distance == 0);
        own.map_while(move |distance| rank.checked_add(distance).filter(|child| *child < ranks))
    }
}

/// A communicator of all ranks that the application does not know, so that its messages are not met.
/// It is made of the world's group: a copy of the world would run the application's callbacks for attributes.
struct OwnComm {
    comm: MPI_Comm,
    _world: ActiveWorld,
}

impl OwnComm {
    /// Makes it. All ranks of the world do so at the same point; each waits for the others.
    fn new(world: ActiveWorld) -> Result<Self, c_int> {
        let mut group: MPI_Group = pmpi::MPI_GROUP_NULL;
        let mut comm = pmpi::MPI_COMM_NULL;
        // SAFETY: the functions want a valid communicator, which the world is while it is active, its group, which is valid
        // once the first one has succeeded, and a place for a handle each. The group is freed once.
        unsafe {
            check(pmpi::MPI_Comm_group(pmpi::MPI_COMM_WORLD, &mut group))?;
            let made = check(pmpi::MPI_Comm_create(pmpi::MPI_COMM_WORLD, group, &mut comm));
            pmpi::MPI_Group_free(&mut group);
            made?;
            let this = Self { comm, _world: world };
            check(pmpi::MPI_Comm_set_errhandler(comm, pmpi::MPI_ERRORS_RETURN))?;
            Ok(this)
        }
    }

    /// Sends bytes to a rank: how many they are, and then the bytes in pieces. Blocks until they are received, or MPI
    /// has kept them.
    fn send(&self, bytes: &[u8], to: u32) -> Result<(), c_int> {
        let to = to.try_into().map_err(|_| pmpi::MPI_ERR_RANK)?;
        let length = (bytes.len() as u64).to_ne_bytes();
        for piece in [&length[..]].into_iter().chain(bytes.chunks(PIECE)) {
            // SAFETY: `MPI_Send` reads as many bytes as it is told, which the piece has. The communicator is this
            // one's, and has the rank.
            check(unsafe {
                let count = piece.len() as c_int;
                pmpi::MPI_Send(piece.as_ptr().cast(), count, pmpi::MPI_BYTE, to, 0, self.comm)
            })?;
        }
        Ok(())
    }

    /// Receives what a rank has sent by [`send`](Self::send). Blocks until then.
    fn receive(&self, from: u32) -> Result<Vec<u8>, c_int> {
        let from = from.try_into().map_err(|_| pmpi::MPI_ERR_RANK)?;
        let mut length = [0; 8];
        self.receive_into(&mut length, from)?;
        let length =
            usize::try_from(u64::from_ne_bytes(length)).map_err(|_| pmpi::MPI_ERR_COUNT)?;
        let mut bytes = vec![0; length];
        for piece in bytes.chunks_mut(PIECE) {
            self.receive_into(piece, from)?;
        }
        Ok(bytes)
    }

    /// Receives a piece, which is as long as what was sent.
    fn receive_into(&self, piece: &mut [u8], from: c_int) -> Result<(), c_int> {
        // SAFETY: `MPI_Recv` writes at most as many bytes as it is told, for which the piece has room. The
        // communicator is this one's, and has the rank.
        check(unsafe {
            pmpi::MPI_Recv(
                piece.as_mut_ptr().cast(),
                piece.len() as c_int,
                pmpi::MPI_BYTE,
                from,
                0,
                self.comm,
                mpi_sys::MPI_STATUS_IGNORE,
            )
        })
    }
}

impl Drop for OwnComm {
    fn drop(&mut self) {
        // SAFETY: the communicator must be valid: `new` has made it, only this frees it, and the world is active as long as
        // there is an `ActiveWorld`.
        unsafe { pmpi::MPI_Comm_free(&mut self.comm) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of any number of ranks, each but rank 0 is a child of one other rank: its parent.
    #[test]
    fn everybody_has_one_parent() {
        for ranks in [1, 2, 3, 7, 8, 9, 100, 1024] {
            let mut parents = vec![None; ranks as usize];
            for rank in 0..ranks {
                for child in Tree::of(rank, ranks).children() {
                    assert_eq!(parents[child as usize].replace(rank), None, "{child} of {ranks}");
                }
            }
            let expected: Vec<_> = (0..ranks).map(|rank| Tree::of(rank, ranks).parent).collect();
            assert_eq!(parents, expected);
            assert!(parents[1..].iter().all(Option::is_some));
        }
        assert_eq!(Tree::of(4, 8).children().collect::<Vec<_>>(), [5, 6]);
    }
}
