//! Merging tables and logs over the ranks: a binomial tree. In each round half of the ranks that are left hand what they
//! have to a neighbour; after log2(ranks) rounds rank 0 has all. Of tables, rank 0 then asks all ranks, down the same tree, for their own
//! times of the segments that cost most, which it knows only now.

use core::ffi::c_int;

use mpi_sys::{MPI_Comm, MPI_Group, pmpi};

use super::log::MergedLog;
use super::merged::{Merged, Renumbered};
use super::message::{bytes_of, numbers_of};
use crate::host::world::{ActiveWorld, ErrorsReturn, check};

/// A message is sent in pieces of so many bytes, whose number an `int` can hold.
const PIECE: usize = 1 << 28;

/// What is merged, as a message.
trait Gathered: Sized {
    /// The message.
    fn bytes(&self) -> Vec<u8>;
    /// Reads a message; `None` if the bytes are not a message of this kind.
    fn of(bytes: &[u8]) -> Option<Self>;
}

impl Gathered for Merged {
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
    fn of(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes)
    }
}

impl Gathered for MergedLog {
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
    fn of(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes)
    }
}

/// This rank, when it has handed what it has to another one.
struct HandedUp<T> {
    group: OwnComm,
    tree: Tree,
    /// Its own, with what others have handed to it: of all ranks at rank 0.
    merged: Result<T, c_int>,
    /// Could it be handed on?
    sent: Result<(), c_int>,
    /// Who has handed it something, and who could not.
    heard: Vec<u32>,
    silent: Vec<u32>,
}

/// Hands what all ranks have up the tree. `add` adds what another one has. All ranks must call it with the same `fingerprint`. A
/// rank whose neighbour could not send, or sent what it should not, says so to the next one, and does not let it wait.
fn hand_up<T: Gathered>(
    fingerprint: &[u64; 2],
    own: T,
    add: impl Fn(&mut T, T),
) -> Result<HandedUp<T>, c_int> {
    let world = ActiveWorld::now().ok_or(pmpi::MPI_ERR_COMM)?;
    world.agree(fingerprint)?;
    let (rank, ranks) = world.position().ok_or(pmpi::MPI_ERR_COMM)?;
    let group = OwnComm::new(world)?;
    let tree = Tree::of(rank, ranks);
    let mut merged = Ok(own);
    let (mut heard, mut silent) = (Vec::new(), Vec::new());
    for child in tree.children() {
        let received = group.receive(child);
        if received.is_ok() { &mut heard } else { &mut silent }.push(child);
        let other = received.and_then(|bytes| T::of(&bytes).ok_or(pmpi::MPI_ERR_OTHER));
        match (&mut merged, other) {
            (Ok(merged), Ok(other)) => add(merged, other),
            (_, Err(error)) => merged = Err(error),
            (Err(_), _) => {}
        }
    }
    let sent = tree
        .parent
        .map_or(Ok(()), |parent| group.send(&merged.as_ref().map_or(Vec::new(), T::bytes), parent));
    Ok(HandedUp { group, tree, merged, sent, heard, silent })
}

/// Merges the logs of all ranks: the result is at rank 0, nothing elsewhere. All ranks must call it with the same `fingerprint`.
pub(crate) fn gather_log(
    fingerprint: &[u64; 2],
    own: MergedLog,
) -> Result<Option<MergedLog>, c_int> {
    let world = ActiveWorld::now().ok_or(pmpi::MPI_ERR_COMM)?;
    let _errors = ErrorsReturn::on(world)?;
    let HandedUp { tree, merged, sent, .. } = hand_up(fingerprint, own, MergedLog::add)?;
    sent?;
    merged.map(|merged| tree.parent.is_none().then_some(merged))
}

/// Merges the tables of all ranks: the result is at rank 0, nothing elsewhere. `add` adds a table to another one. All ranks must
/// call it with the same `fingerprint`.
pub(crate) fn gather(
    fingerprint: &[u64; 2],
    own: Merged,
    renumbered: Renumbered,
    add: impl Fn(&mut Merged, Merged),
) -> Result<Option<Merged>, c_int> {
    let world = ActiveWorld::now().ok_or(pmpi::MPI_ERR_COMM)?;
    let _errors = ErrorsReturn::on(world)?;
    let segments = own.only_segments();
    let HandedUp { group, tree, merged: table, sent, heard, silent } =
        hand_up(fingerprint, own, add)?;
    if let Err(error) = sent {
        // Nobody below is asked anything. If this rank was heard all the same, its parent asks it.
        ask(&group, tree.parent, &[&heard[..], &silent].concat(), None, |_| Vec::new());
        return Err(error);
    }
    ask_nothing(&group, &silent);
    let is_root = tree.parent.is_none();
    let question = table.as_ref().ok().filter(|_| is_root).and_then(Merged::question);
    let answers = ask(&group, tree.parent, &heard, question, |question| {
        question.answer(segments, tree.rank.into(), renumbered)
    });
    match table {
        Ok(mut table) if is_root => {
            table.take_answers(&answers);
            Ok(Some(table))
        }
        table => table.map(|_| None),
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
    // Whoever was asked waits for an answer, also for that of a rank that cannot give any.
    let mut answers = Merged::from_bytes(&question).map_or(Vec::new(), answer);
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
pub(crate) struct OwnComm {
    comm: MPI_Comm,
    _world: ActiveWorld,
}

impl OwnComm {
    /// Makes it. All ranks of the world do so at the same point; each waits for the others.
    pub(crate) fn new(world: ActiveWorld) -> Result<Self, c_int> {
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

    /// Its handle, which is valid as long as this is there.
    #[cfg(feature = "rmpi")]
    pub(crate) fn comm(&self) -> MPI_Comm {
        self.comm
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
