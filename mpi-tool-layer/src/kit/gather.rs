//! Merging tables and logs over the ranks: a binomial tree. In each round half of the ranks that are left hand what they
//! have to a neighbour and are done; after log2(ranks) rounds rank 0 has all.

use core::ffi::c_int;

use mpi_sys::{MPI_Comm, MPI_Group, pmpi};

use super::log::MergedLog;
use super::merged::Merged;
use crate::host::world::{ActiveWorld, ErrorsReturn, check};

/// A message is sent in pieces of so many bytes, whose number an `int` can hold.
const PIECE: usize = 1 << 28;

/// What is merged, as a message.
pub(crate) trait Gathered: Sized {
    /// The message.
    fn to_bytes(&self) -> Vec<u8>;
    /// What a message says; `None` if it is none.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

impl Gathered for Merged {
    fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes)
    }
}

impl Gathered for MergedLog {
    fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes)
    }
}

/// Merges the tables of all ranks: the result is at rank 0, nothing elsewhere. `add` adds a table to another one.
/// All ranks must call it with the same `fingerprint`. A rank whose neighbour could not send, or sent what is no table,
/// says so to the next one, and does not let it wait.
pub(crate) fn gather<T: Gathered>(
    fingerprint: &[u64; 2],
    own: T,
    add: impl Fn(&mut T, T),
) -> Result<Option<T>, c_int> {
    let world = ActiveWorld::now().ok_or(pmpi::MPI_ERR_COMM)?;
    let _errors = ErrorsReturn::on(world)?;
    world.agree(fingerprint)?;
    let (rank, ranks) = world.position().ok_or(pmpi::MPI_ERR_COMM)?;
    let group = OwnComm::new(world)?;
    let mut table = Ok(own);
    let mut distance = 1;
    while distance < ranks {
        if rank & distance != 0 {
            let bytes = table.as_ref().map_or(Vec::new(), T::to_bytes);
            group.send(&bytes, rank - distance)?;
            return table.map(|_| None);
        }
        if rank + distance < ranks {
            let received = group.receive(rank + distance);
            let other = received.and_then(|bytes| T::from_bytes(&bytes).ok_or(pmpi::MPI_ERR_OTHER));
            match (&mut table, other) {
                (Ok(table), Ok(other)) => add(table, other),
                (_, Err(error)) => table = Err(error),
                (Err(_), _) => {}
            }
        }
        distance *= 2;
    }
    table.map(Some)
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
