//! What data a call moves, by its arguments.
//!
//! A function's [`Pattern`] says who gives what to whom; the counts and datatypes are arguments.
//! Patterns that need nothing more (messages, one-sided communication, files, reductions to all)
//! are answered in place, by code that the compiler reduces to a few instructions. The other
//! collective operations need this process's rank, the number of processes or the topology, which
//! MPI is asked for, and go through one function that is compiled once (`collective`).
//!
//! The rules are those of `docs/report.md`, for all functions alike: a contribution counts once;
//! what stays in place does not count; nothing moves to or from `MPI_PROC_NULL`; and nothing is
//! read that is not significant in this process.
//!
//! What that means for a process among `n`, in one group:
//!
//! | operation | pieces |
//! |---|---|
//! | send, write, put | what it gives, sent |
//! | receive, read, get | what it has room for, received |
//! | accumulate | its contribution, reduced; with `MPI_REPLACE` sent; with `MPI_NO_OP` none |
//! | broadcast | at the root sent once, elsewhere received |
//! | gather | at the root `n` blocks received and its own sent, elsewhere its own sent |
//! | scatter | at the root `n` blocks sent and its own received, elsewhere its own received |
//! | gather to all | its own sent once, `n` received |
//! | all to all | `n` sent, `n` received |
//! | reduction | its contribution, reduced; where there is a result, that received |
//! | reduction and scatter | `n` blocks reduced, its own received |
//! | exclusive scan | as a reduction, without a result in the first process |
//! | neighbourhood | as gather to all or all to all, of the neighbours that exist |
//!
//! In place, one's own block is neither sent nor received where it would stay where it is. Between
//! two groups, `n` is the other group's size, and the root is in one of them.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;

use mpi_sys::pmpi;
use mpi_sys::{MPI_Count, MPI_Datatype, MPI_IN_PLACE, MPI_Op, MPI_PROC_NULL, MPI_ROOT};

use super::asking::{Topology, UsedComm, UsedDatatype};
use super::kinds::may_be;
use super::{Accepted, AnyCall, Brand, Call, Data, NONE, Pattern, Rank, Timing};

/// Which way data go, as this process sees it. The order is that of [`ALL`](Self::ALL), and `flow
/// as usize` an index into what has a place for each. What a tool adds up over ranks must not mix
/// them: what one process sends another receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flow {
    /// From this process: messages, what it gives to a collective operation or puts into a window,
    /// what it writes to a file.
    Sent,
    /// To this process, by the same ways.
    Received,
    /// Into a reduction: what this process contributes, also by `MPI_Accumulate`. It is kept apart
    /// from what is sent, as an implementation may combine contributions on their way.
    Reduced,
}

impl Flow {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sent, Self::Received, Self::Reduced];
}

/// A piece of the data that a call moves: so many elements of a datatype, in one direction. Only a
/// call makes one, so that its datatype is the one that MPI has used.
///
/// Arguments tell it, and not what has happened: a receive's transfer is what there was room for
/// ([`at_most`](Self::at_most)). It has no address, as blocks are told of by their sum where all
/// have the same count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer<'c> {
    /// Which way the data go.
    pub flow: Flow,
    /// May it be less, and a status says how much it is? So it is with receives, reads and writes.
    /// Otherwise the count is what moves if the operation succeeds.
    pub at_most: bool,
    /// The other process, where it is one: its rank in the call's communicator or window,
    /// `MPI_ANY_SOURCE` if the receive says so. `None` for files, for data of collective operations
    /// that are not told of block by block, and for what goes to all neighbours alike.
    pub peer: Option<Rank>,
    datatype: MPI_Datatype,
    count: u64,
    brand: Brand<'c>,
}

impl<'c> Transfer<'c> {
    /// The datatype. If the [count](Self::count) is 0, MPI need not have looked at it: it may be null.
    #[inline(always)]
    pub const fn datatype(&self) -> MPI_Datatype {
        self.datatype
    }

    /// How many elements of the datatype; 0 if the application passed a negative number. Of several
    /// blocks or partitions, their sum.
    #[inline(always)]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How many bytes of data: the count times the datatype's size (`MPI_Type_size`), without gaps.
    /// MPI is asked for the size each time, unless the count is 0;
    /// [`Datatypes::contents`](crate::Datatypes::contents) asks once a datatype. Stops at the
    /// largest number instead of overflowing.
    pub fn bytes(&self, accepted: Accepted<'c>) -> u64 {
        let size = UsedDatatype::of(self, accepted).map_or(0, UsedDatatype::size);
        self.count.saturating_mul(size)
    }
}

/// Is it a description of data that stay where they are?
fn in_place(buffer: *const c_void) -> bool {
    buffer == MPI_IN_PLACE.cast_const()
}

/// The data that a call moves, piece by piece: [`Call::transfers`]. An iterator whose first two
/// pieces are in itself, so that calls with no more allocate nothing.
#[derive(Debug)]
pub struct Transfers<'c> {
    /// The first piece, unless it was taken.
    first: Option<Transfer<'c>>,
    second: Option<Transfer<'c>>,
    /// All others: of functions with a count for each process.
    others: std::vec::IntoIter<Transfer<'c>>,
}

impl<'c> Iterator for Transfers<'c> {
    type Item = Transfer<'c>;

    #[inline(always)]
    fn next(&mut self) -> Option<Transfer<'c>> {
        self.first.take().or_else(|| self.second.take()).or_else(|| self.others.next())
    }
}

impl<'c> Transfers<'c> {
    /// One or two pieces allocate nothing.
    #[inline(always)]
    pub(super) fn of(call: impl Call<'c>, accepted: Accepted<'c>) -> Self {
        match few(call, accepted) {
            Some([first, second]) => Self { first, second, others: Vec::new().into_iter() },
            None => collective(call.erase(), accepted),
        }
    }
}

/// The pieces of a call that moves at most two, in this process and in any. `None` for all other collective operations.
#[inline(always)]
pub(super) fn few<'c, C: Call<'c>>(
    call: C,
    accepted: Accepted<'c>,
) -> Option<[Option<Transfer<'c>>; 2]> {
    let shape = call.shape();
    // Each arm asks again, of the type: what a known function has not is not even compiled for it.
    Some(match shape.pattern {
        Pattern::Nothing | Pattern::SplitEnd => [None, None],
        Pattern::Send if const { may_be::<C>(Pattern::Send) } => [message(call, Flow::Sent), None],
        Pattern::Receive if const { may_be::<C>(Pattern::Receive) } => {
            [message(call, Flow::Received), None]
        }
        Pattern::SendReceive if const { may_be::<C>(Pattern::SendReceive) } => {
            [message(call, Flow::Sent), message(call, Flow::Received)]
        }
        Pattern::Read => [one(call, shape.received, Flow::Received, true, None), None],
        Pattern::Write => [one(call, shape.sent, Flow::Sent, true, None), None],
        Pattern::Put | Pattern::Get | Pattern::Accumulate | Pattern::GetAccumulate
            if const { may_access::<C>() } =>
        {
            one_sided(call)
        }
        // Whichever process, in whichever communicator.
        Pattern::Allreduce => [
            one(call, shape.sent, Flow::Reduced, false, None),
            one(call, shape.received, Flow::Received, false, None),
        ],
        Pattern::Broadcast if const { may_be::<C>(Pattern::Broadcast) } => {
            [broadcast(call, accepted), None]
        }
        _ => return None,
    })
}

/// Can a call of this type move two pieces of data?
pub(crate) const fn may_move_two<'c, C: Call<'c>>() -> bool {
    may_be::<C>(Pattern::SendReceive) || may_be::<C>(Pattern::Allreduce) || may_access::<C>()
}

/// Can a call of this type access a window?
const fn may_access<'c, C: Call<'c>>() -> bool {
    may_be::<C>(Pattern::Put)
        || may_be::<C>(Pattern::Get)
        || may_be::<C>(Pattern::Accumulate)
        || may_be::<C>(Pattern::GetAccumulate)
}

/// The number of elements of a datatype, of data whose count is one number; 1 where the function
/// has no count (`MPI_Compare_and_swap`). With partitions, the count is of each.
#[inline(always)]
fn count<'c>(call: impl Call<'c>, data: Data) -> u64 {
    let number = |position| call.get::<MPI_Count>(position).map(|n| u64::try_from(n).unwrap_or(0));
    number(data.count).unwrap_or(1) * number(data.partitions).unwrap_or(1)
}

/// The one piece of data that a description stands for, without a question to MPI. `None` if the
/// function has no datatype there.
#[inline(always)]
fn one<'c>(
    call: impl Call<'c>,
    data: Data,
    flow: Flow,
    at_most: bool,
    peer: Option<Rank>,
) -> Option<Transfer<'c>> {
    let datatype = call.get(data.datatype)?;
    Some(Transfer { flow, at_most, peer, datatype, count: count(call, data), brand: PhantomData })
}

/// A message, sent or received; none to or from `MPI_PROC_NULL`.
#[inline(always)]
fn message<'c>(call: impl Call<'c>, flow: Flow) -> Option<Transfer<'c>> {
    let shape = call.shape();
    let (data, peer) = match flow {
        Flow::Received => (shape.received, shape.source),
        _ => (shape.sent, shape.destination),
    };
    // A matched message has no source here.
    let peer: Option<c_int> = call.get(peer);
    if peer == Some(MPI_PROC_NULL) {
        return None;
    }
    // All partitions arrive whole. MPICH, to 5.0.2 at least, writes no status for MPI_Isendrecv.
    let untold = shape.pattern == Pattern::SendReceive
        && shape.timing == Timing::Started
        && !matches!(mpi_sys::ABI, mpi_sys::Abi::OpenMpi);
    let at_most = flow == Flow::Received && data.partitions == NONE && !untold;
    one(call, data, flow, at_most, peer.map(Rank::new))
}

/// What an origin gives to a window and gets from it. Whether that is sent or reduced is the
/// operation's matter.
#[inline(always)]
fn one_sided<'c>(call: impl Call<'c>) -> [Option<Transfer<'c>>; 2] {
    let shape = call.shape();
    let target = call.get(shape.target).unwrap_or(MPI_PROC_NULL);
    if target == MPI_PROC_NULL {
        return [None, None];
    }
    let peer = Some(Rank::new(target));
    let operation: Option<MPI_Op> = call.get(shape.operation);
    // MPI_NO_OP reads only, MPI_REPLACE and a compare-and-swap put.
    let gives = shape.sent.buffer != NONE && operation != Some(pmpi::MPI_NO_OP);
    let puts = operation.is_none_or(|operation| operation == pmpi::MPI_REPLACE);
    let flow = if puts { Flow::Sent } else { Flow::Reduced };
    let gets = shape.received.buffer != NONE;
    [
        gives.then(|| one(call, shape.sent, flow, false, peer)).flatten(),
        gets.then(|| one(call, shape.received, Flow::Received, false, peer)).flatten(),
    ]
}

/// The same arguments are sent at the root and received elsewhere, so MPI is asked for the rank.
#[inline(always)]
fn broadcast<'c>(call: impl Call<'c>, accepted: Accepted<'c>) -> Option<Transfer<'c>> {
    let shape = call.shape();
    let comm = UsedComm::of(call, accepted)?;
    match role(comm, call.get(shape.root)?) {
        Role::Root => one(call, shape.sent, Flow::Sent, false, None),
        Role::Other => one(call, shape.received, Flow::Received, false, None),
        Role::Spectator => None,
    }
}

/// All other collective operations, in one piece of code for all of them: they cost so much
/// themselves that a look at the table of shapes and some questions to MPI do not show.
#[inline(never)]
fn collective<'c>(call: AnyCall<'c>, accepted: Accepted<'c>) -> Transfers<'c> {
    let (mut first, mut second, mut others) = (None, None, Vec::new());
    if let Some(comm) = UsedComm::of(call, accepted) {
        Collective { call, comm }.transfers(&mut |transfer| {
            if first.is_none() {
                first = Some(transfer);
            } else if second.is_none() {
                second = Some(transfer);
            } else {
                others.push(transfer);
            }
        });
    }
    Transfers { first, second, others: others.into_iter() }
}

/// What a process does in a rooted operation. Spectators are the root's neighbours in the root's
/// group of an inter-communicator: they pass `MPI_PROC_NULL` and take no part.
enum Role {
    /// Gives to all, or gets from all; in a group of its own, also its own block.
    Root,
    /// Gives to the root, or gets from it.
    Other,
    Spectator,
}

/// This process's role.
#[inline(always)]
fn role(comm: UsedComm, root: c_int) -> Role {
    match root {
        MPI_ROOT => Role::Root,
        MPI_PROC_NULL => Role::Spectator,
        // Between groups, the root is the other group's.
        root if root == comm.rank() && !comm.is_inter() => Role::Root,
        _ => Role::Other,
    }
}

/// A number of processes that MPI has told; 0 if it told none.
fn number(number: c_int) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// A collective call with its communicator, which MPI has accepted and can be asked about.
struct Collective<'c> {
    call: AnyCall<'c>,
    comm: UsedComm,
}

impl<'c> Collective<'c> {
    /// This process's role in the call. Operations without a root have none, which nobody asks for.
    fn role(&self) -> Role {
        self.call.get(self.call.shape().root).map_or(Role::Other, |root| role(self.comm, root))
    }

    /// This process's position among the blocks of its own group.
    fn me(&self) -> usize {
        number(self.comm.rank())
    }

    fn is_in_place(&self, data: Data) -> bool {
        self.call.get(data.buffer).is_some_and(in_place)
    }

    /// One block of data: the `i`th, if each process has its own count.
    ///
    /// # Safety
    /// The data's arguments are significant in this process, and there are more than `i` processes or neighbours that it
    /// has blocks for.
    unsafe fn block(&self, data: Data, i: usize, flow: Flow, each: &mut dyn FnMut(Transfer<'c>)) {
        let call = self.call;
        let count = if data.array_of_counts {
            // SAFETY: element `i` of the array must be there. The array is significant in this
            // process and has an element for each process or neighbour, below whose number `i` is,
            // as the caller promises; MPI has accepted the call, for which it reads it.
            let count = unsafe {
                if call.is_wide() {
                    call.get::<*const MPI_Count>(data.count).map(|counts| *counts.add(i))
                } else {
                    call.get::<*const c_int>(data.count).map(|counts| (*counts.add(i)).into())
                }
            };
            u64::try_from(count.unwrap_or(0)).unwrap_or(0)
        } else {
            count(call, data)
        };
        let datatype = if data.array_of_datatypes {
            // SAFETY: element `i` of the array must be there: an array of datatypes has as many as that
            // of counts.
            call.get::<*const MPI_Datatype>(data.datatype).map(|types| unsafe { *types.add(i) })
        } else {
            call.get(data.datatype)
        };
        if let Some(datatype) = datatype
            && count > 0
        {
            let peer = c_int::try_from(i).ok().map(Rank::new).filter(|_| data.array_of_counts);
            let brand = PhantomData;
            each(Transfer { flow, at_most: false, peer, datatype, count, brand });
        }
    }

    /// A buffer with a block for each of `number` processes but `without`: one by one where each
    /// has a count of its own, and otherwise as one piece with the sum of them.
    ///
    /// # Safety
    /// The data's arguments are significant in this process, and it has blocks for so many processes.
    unsafe fn blocks(
        &self,
        data: Data,
        number: usize,
        without: Option<usize>,
        flow: Flow,
        each: &mut dyn FnMut(Transfer<'c>),
    ) {
        if data.array_of_counts {
            for i in (0..number).filter(|i| Some(*i) != without) {
                // SAFETY: the block must be there: it is below their number, as the caller promises.
                unsafe { self.block(data, i, flow, each) };
            }
        } else {
            let number = (number - usize::from(without.is_some() && number > 0)) as u64;
            let mut all = |transfer: Transfer<'c>| {
                let count = transfer.count * number;
                if count > 0 {
                    each(Transfer { count, ..transfer });
                }
            };
            // SAFETY: the arguments must be significant, as the caller promises. There is no array.
            unsafe { self.block(data, 0, flow, &mut all) };
        }
    }

    /// Tells of each piece, by the rules for the function's pattern. Which arguments are
    /// significant in this process is decided here, and nothing else is read: at a gather's other
    /// ranks, for example, the receive buffer's arguments may be anything.
    fn transfers(&self, each: &mut dyn FnMut(Transfer<'c>)) {
        use Flow::{Received, Reduced, Sent};
        let shape = self.call.shape();
        let (sent, received) = (shape.sent, shape.received);
        // SAFETY: the arguments that are asked for must be significant in this process, and arrays have as many blocks as are
        // asked for: the standard says so of each pattern (MPI-5.0, 6.5 to 6.11 and 8.6), and MPI has accepted the call.
        unsafe {
            match shape.pattern {
                Pattern::Gather => match self.role() {
                    Role::Root => self.to_root(received, sent, Received, Sent, each),
                    Role::Other => self.block(sent, 0, Sent, each),
                    Role::Spectator => {}
                },
                Pattern::Scatter => match self.role() {
                    Role::Root => self.to_root(sent, received, Sent, Received, each),
                    Role::Other => self.block(received, 0, Received, each),
                    Role::Spectator => {}
                },
                Pattern::Allgather => {
                    if self.is_in_place(sent) {
                        let me = self.me();
                        self.block(received, me, Sent, each);
                        self.blocks(received, number(self.comm.size()), Some(me), Received, each);
                    } else {
                        self.block(sent, 0, Sent, each);
                        self.blocks(received, number(self.comm.others()), None, Received, each);
                    }
                }
                Pattern::Alltoall => {
                    let (number, in_place) = (number(self.comm.others()), self.is_in_place(sent));
                    let (sent, without) =
                        if in_place { (received, Some(self.me())) } else { (sent, None) };
                    self.blocks(sent, number, without, Sent, each);
                    self.blocks(received, number, without, Received, each);
                }
                Pattern::Reduce => match self.role() {
                    Role::Root => {
                        // Between groups, the root contributes nothing.
                        if self.call.get(shape.root) != Some(MPI_ROOT) {
                            self.block(received, 0, Reduced, each);
                        }
                        self.block(received, 0, Received, each);
                    }
                    Role::Other => self.block(sent, 0, Reduced, each),
                    Role::Spectator => {}
                },
                Pattern::Exscan => {
                    self.block(sent, 0, Reduced, each);
                    if self.me() != 0 {
                        self.block(received, 0, Received, each);
                    }
                }
                Pattern::ReduceScatter => {
                    // One's own group has the blocks, between groups, too.
                    self.blocks(sent, number(self.comm.size()), None, Reduced, each);
                    self.block(received, self.me(), Received, each);
                }
                Pattern::NeighborAllgather => {
                    let (sources, destinations) = self.neighbours();
                    // Once, as in any collective operation, if there is anybody to send to.
                    if destinations.iter().any(|rank| *rank != MPI_PROC_NULL) {
                        self.block(sent, 0, Sent, each);
                    }
                    self.neighbour_blocks(received, &sources, Received, each);
                }
                Pattern::NeighborAlltoall => {
                    let (sources, destinations) = self.neighbours();
                    self.neighbour_blocks(sent, &destinations, Sent, each);
                    self.neighbour_blocks(received, &sources, Received, each);
                }
                _ => {}
            }
        }
    }

    /// At the root of a gather or scatter: a block for each process in one buffer, and one's own in
    /// another, if there is one, or in its place.
    ///
    /// # Safety
    /// This is the root, where the arguments of both are significant.
    unsafe fn to_root(
        &self,
        all: Data,
        own: Data,
        all_flow: Flow,
        own_flow: Flow,
        each: &mut dyn FnMut(Transfer<'c>),
    ) {
        let inter = self.call.get(self.call.shape().root) == Some(MPI_ROOT);
        let in_place = self.is_in_place(own);
        let without = (in_place && !inter).then(|| self.me());
        // SAFETY: the arguments must be significant: at the root all are, but for the own ones in place of which there are
        // none. The root has a block for each process.
        unsafe {
            self.blocks(all, number(self.comm.others()), without, all_flow, each);
            if !in_place && !inter {
                self.block(own, 0, own_flow, each);
            }
        }
    }

    /// A block for each neighbour that exists, by its position among the neighbours.
    ///
    /// # Safety
    /// The data's arguments are significant, and the neighbours are those of the communicator.
    unsafe fn neighbour_blocks(
        &self,
        data: Data,
        neighbours: &[c_int],
        flow: Flow,
        each: &mut dyn FnMut(Transfer<'c>),
    ) {
        for (i, rank) in neighbours.iter().enumerate() {
            if *rank != MPI_PROC_NULL {
                let peer = Some(Rank::new(*rank));
                let mut with_peer = |transfer| each(Transfer { peer, ..transfer });
                // SAFETY: the block must be there: there is one for each neighbour, as the caller promises.
                unsafe { self.block(data, i, flow, &mut with_peer) };
            }
        }
    }

    /// The ranks of the process's neighbours, to receive from and to send to: at the border of a
    /// grid they are `MPI_PROC_NULL`.
    fn neighbours(&self) -> (Vec<c_int>, Vec<c_int>) {
        match self.comm.topology() {
            Topology::Grid(grid) => {
                let neighbours = grid.neighbours();
                (neighbours.clone(), neighbours)
            }
            Topology::Graph { sources, destinations } => {
                self.comm.graph_neighbours(sources, destinations)
            }
            Topology::None => (Vec::new(), Vec::new()),
        }
    }
}
