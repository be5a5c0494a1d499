//! Questions to MPI about the application's objects: the only place that asks them.
//!
//! MPI answers a question about a handle that it does not know by an error, and an error goes to an error handler of the
//! application's, which ends the application by default. A tool that asks about such a handle breaks a program that is
//! right: `MPI_DATATYPE_NULL` passes MPICH where the count is 0, and an argument that is significant at a root only may be
//! anything elsewhere.
//!
//! So the functions here do not take handles. They take [`UsedDatatype`] and [`UsedComm`], which are made only from a call
//! that MPI has accepted and that cannot have been accepted without a valid handle. Handles of what may be null, freed or
//! never set are then asked about by nobody, whoever adds a question. They are not made either where MPI has another ABI
//! than the tool was built for: handles mean something else there. `tests/questions.rs` reads the sources: no other file
//! calls MPI's functions about datatypes and communicators.
//!
//! What remains is an application that frees an object in one thread while another one's call with it is not over, or that
//! passes wrong handles to an MPI that was built to check none. MPI itself may then do anything.

use core::ffi::c_int;
use std::sync::OnceLock;

use mpi_sys::{
    MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Group, MPI_Session, MPI_Status, pmpi,
};

use super::{Accepted, AnyCall, Call, Transfer};
use crate::FunctionId;
use crate::host::world::{has_handles, is_active, wrong_abi};

/// Does MPI understand this tool's questions? Not if it has another ABI. Only for calls that MPI has
/// got, so that it is known which MPI there is.
#[inline]
fn is_understood() -> bool {
    static UNDERSTOOD: OnceLock<bool> = OnceLock::new();
    *UNDERSTOOD.get_or_init(|| wrong_abi().is_none())
}

/// A datatype that MPI has used: at least one element of it has moved, or will when the request of the call is complete. So
/// its handle is valid as long as the call is not over, and MPI can be asked about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsedDatatype(MPI_Datatype);

impl UsedDatatype {
    /// The datatype of data that an accepted call moves. `None` if there are no data: then MPI need
    /// not have looked at the handle.
    pub(crate) fn of<'c>(transfer: &Transfer<'c>, _: Accepted<'c>) -> Option<Self> {
        // A transfer tells only of arguments that are significant in this process, and of a peer that is
        // not `MPI_PROC_NULL`. With a count above 0, MPI needs the datatype to know what to move.
        if transfer.count() == 0 {
            return None;
        }
        // SAFETY: MPI must have used the datatype in a call that is not over: in this one (`'c`), as said above.
        unsafe { Self::assume(transfer.datatype()) }
    }

    /// For a datatype that is known to be valid by other means. `None` of the null handle, about
    /// which MPI is never asked, and where MPI has another ABI.
    ///
    /// # Safety
    /// MPI has used the datatype in a call that is not over: the argument was significant in this
    /// process, and the count was not 0. Or MPI has made it for the caller, who has not freed it.
    pub(crate) unsafe fn assume(datatype: MPI_Datatype) -> Option<Self> {
        (datatype != pmpi::MPI_DATATYPE_NULL && is_understood()).then_some(Self(datatype))
    }

    /// The handle.
    pub(crate) fn handle(self) -> MPI_Datatype {
        self.0
    }

    /// How many bytes of data an element has; 0 if MPI does not say so.
    pub(crate) fn size(self) -> u64 {
        let mut size: MPI_Count = 0;
        // SAFETY: `MPI_Type_size_x` wants a valid datatype, which a `UsedDatatype` is, and writes
        // one `MPI_Count` to `size`. Every MPI since 3.0 has the function.
        unsafe { pmpi::MPI_Type_size_x(self.0, &mut size) };
        u64::try_from(size).unwrap_or(0)
    }

    /// How the datatype was made (`MPI_Type_get_envelope`), by the large-count function where MPI
    /// has it: only that one tells of datatypes with large counts. `None` of what has no contents: a predefined datatype,
    /// or Fortran's parametrised one.
    pub(crate) fn envelope(self) -> Option<Envelope> {
        let mut combiner = 0;
        let mut envelope =
            Envelope { datatype: self, integers: 0, addresses: 0, large_counts: 0, datatypes: 0 };
        // SAFETY: both functions want a valid datatype, which a `UsedDatatype` is, and write one
        // number to each of their results. The large-count one is called only where MPI has it.
        unsafe {
            if pmpi::available(FunctionId::MPI_Type_get_envelope_c as usize) {
                pmpi::MPI_Type_get_envelope_c(
                    self.0,
                    &mut envelope.integers,
                    &mut envelope.addresses,
                    &mut envelope.large_counts,
                    &mut envelope.datatypes,
                    &mut combiner,
                );
            } else {
                let mut numbers = [0; 3];
                let [integers, addresses, datatypes] = &mut numbers;
                pmpi::MPI_Type_get_envelope(self.0, integers, addresses, datatypes, &mut combiner);
                [envelope.integers, envelope.addresses, envelope.datatypes] =
                    numbers.map(MPI_Count::from);
            }
        }
        let has_contents = !matches!(
            combiner,
            mpi_sys::MPI_COMBINER_NAMED
                | mpi_sys::MPI_COMBINER_F90_REAL
                | mpi_sys::MPI_COMBINER_F90_COMPLEX
                | mpi_sys::MPI_COMBINER_F90_INTEGER
        );
        has_contents.then_some(envelope)
    }

    /// Frees a datatype.
    ///
    /// # Safety
    /// [`Envelope::contents`] has returned it, it is not predefined, and nothing uses it any
    /// more. It is freed once for each time that it was returned.
    pub(crate) unsafe fn free(mut self) {
        // SAFETY: `MPI_Type_free` wants a valid derived datatype that its caller may free. MPI has
        // made it anew for `contents`, and nobody uses it any more, as the caller promises.
        unsafe { pmpi::MPI_Type_free(&mut self.0) };
    }
}

/// The numbers of what a derived datatype was made with (MPI-5.0, 5.1.13): how long the lists of its
/// contents are.
pub(crate) struct Envelope {
    /// The datatype.
    datatype: UsedDatatype,
    /// How many `int`s: lengths, strides, numbers of blocks.
    integers: MPI_Count,
    /// How many `MPI_Aint`s: displacements.
    addresses: MPI_Count,
    /// How many `MPI_Count`s: what a large-count function was given instead of `int`s.
    large_counts: MPI_Count,
    /// How many datatypes.
    datatypes: MPI_Count,
}

impl Envelope {
    /// What the datatype was made with: the numbers, of whichever width, and the datatypes, which MPI has made anew
    /// and [`UsedDatatype::free`] frees, unless they are predefined. `None` if MPI does not say it.
    pub(crate) fn contents(&self) -> Option<(Vec<MPI_Count>, Vec<UsedDatatype>)> {
        let length = |count: MPI_Count| usize::try_from(count).ok();
        let mut integers = vec![0 as c_int; length(self.integers)?];
        let mut addresses = vec![0 as MPI_Aint; length(self.addresses)?];
        let mut large_counts = vec![0 as MPI_Count; length(self.large_counts)?];
        let mut datatypes = vec![pmpi::MPI_DATATYPE_NULL; length(self.datatypes)?];
        // SAFETY: the datatype must be valid, which a `UsedDatatype` is, and have contents, as one with an envelope has.
        // MPI writes no more numbers than it is told that the arrays have, which are as long as the envelope says.
        let code = unsafe {
            if pmpi::available(FunctionId::MPI_Type_get_contents_c as usize) {
                pmpi::MPI_Type_get_contents_c(
                    self.datatype.0,
                    self.integers,
                    self.addresses,
                    self.large_counts,
                    self.datatypes,
                    integers.as_mut_ptr(),
                    addresses.as_mut_ptr(),
                    large_counts.as_mut_ptr(),
                    datatypes.as_mut_ptr(),
                )
            } else {
                pmpi::MPI_Type_get_contents(
                    self.datatype.0,
                    c_int::try_from(self.integers).ok()?,
                    c_int::try_from(self.addresses).ok()?,
                    c_int::try_from(self.datatypes).ok()?,
                    integers.as_mut_ptr(),
                    addresses.as_mut_ptr(),
                    datatypes.as_mut_ptr(),
                )
            }
        };
        if code != mpi_sys::MPI_SUCCESS {
            return None;
        }
        let numbers = if large_counts.is_empty() {
            integers.into_iter().map(MPI_Count::from).collect()
        } else {
            large_counts
        };
        // SAFETY: MPI must have made the datatypes for this caller: it has just given them out.
        let used = |datatype| unsafe { UsedDatatype::assume(datatype) };
        let datatypes = datatypes.into_iter().map(used).collect::<Option<_>>()?;
        Some((numbers, datatypes))
    }
}

/// A group that MPI has made, and that the application has not freed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsedGroup(MPI_Group);

impl UsedGroup {
    /// The group that an accepted call has made. `None` if it makes none, and where MPI has another ABI.
    pub(crate) fn made<'c>(call: AnyCall<'c>, _: Accepted<'c>) -> Option<Self> {
        let new: *const MPI_Group = call.get(call.shape().new_group)?;
        if new.is_null() || !is_understood() {
            return None;
        }
        // SAFETY: the pointer must lead to a handle. It is the argument of a parameter by which the function returns the
        // group that it makes, and MPI has written it, since it has accepted this call (`'c`), which has not returned yet.
        let group = unsafe { *new };
        (group != pmpi::MPI_GROUP_NULL).then_some(Self(group))
    }

    /// For a group that is known to be valid by other means.
    ///
    /// # Safety
    /// MPI has made the group, and the application has not freed it.
    pub(crate) unsafe fn assume(group: MPI_Group) -> Self {
        Self(group)
    }

    /// The handle.
    pub(crate) fn handle(self) -> MPI_Group {
        self.0
    }

    /// As [`UsedComm::world_ranks`].
    ///
    /// # Safety
    /// The group is not a session's.
    pub(crate) unsafe fn world_ranks(self) -> Option<Vec<c_int>> {
        if !has_handles() || !is_active() {
            return None;
        }
        let mut world = pmpi::MPI_GROUP_NULL;
        // SAFETY: the world is a valid communicator while it is active. Its group is made here, asked about, and freed once. The
        // other group is valid, and not a session's, as the caller promises.
        unsafe {
            if pmpi::MPI_Comm_group(pmpi::MPI_COMM_WORLD, &mut world) != pmpi::MPI_SUCCESS {
                return None;
            }
            let ranks = translated(self.0, world);
            pmpi::MPI_Group_free(&mut world);
            ranks
        }
    }
}

/// A session that MPI has opened, and that the application has not finalized. Its methods ask for ranks in the process set
/// `mpi://WORLD`, which each session has: a group of it is made for that, and freed at once, as a session may refuse to end while
/// there are groups of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsedSession(MPI_Session);

impl UsedSession {
    /// The session that an accepted call of `MPI_Session_init` has opened. `None` where MPI has another ABI.
    pub(crate) fn made(call: AnyCall<'_>, _: Accepted<'_>) -> Option<Self> {
        if call.function() != FunctionId::MPI_Session_init {
            return None;
        }
        let new: *const MPI_Session = call.get(2)?;
        if new.is_null() || !is_understood() {
            return None;
        }
        // SAFETY: the pointer must lead to a handle. It is the argument by which the function returns the session, and MPI has
        // written it, since it has accepted this call, which has not returned yet.
        unsafe { Self::assume(*new) }
    }

    /// For a session that is known to be open by other means. `None` of the null handle.
    ///
    /// # Safety
    /// MPI has opened the session, and the application does not finalize it as long as this value is there.
    pub(crate) unsafe fn assume(session: MPI_Session) -> Option<Self> {
        (session != pmpi::MPI_SESSION_NULL).then_some(Self(session))
    }

    /// The handle.
    pub(crate) fn handle(self) -> MPI_Session {
        self.0
    }

    /// This process's rank in `mpi://WORLD`, and how many there are; `None` if MPI does not say it.
    pub(crate) fn position(self) -> Option<(c_int, c_int)> {
        self.in_world(|world| {
            let (mut rank, mut size) = (mpi_sys::MPI_UNDEFINED, 0);
            // SAFETY: both functions want a valid group, which `in_world` has made, and write one `int`.
            let codes = unsafe {
                [pmpi::MPI_Group_rank(world, &mut rank), pmpi::MPI_Group_size(world, &mut size)]
            };
            (codes == [pmpi::MPI_SUCCESS; 2]).then_some((rank, size))
        })
    }

    /// The ranks in `mpi://WORLD` of the processes of a group of this session: `MPI_UNDEFINED` of those that are not in it.
    /// `None` if MPI does not say it.
    ///
    /// # Safety
    /// The group is of this session.
    pub(crate) unsafe fn ranks_of_group(self, group: UsedGroup) -> Option<Vec<c_int>> {
        // SAFETY: both groups must be valid, and of one session: a `UsedGroup` is valid, the caller promises that it is of this
        // session, and `in_world` has made the other one.
        self.in_world(|world| unsafe { translated(group.0, world) })
    }

    /// The same of all processes of a communicator, or of its other group.
    ///
    /// # Safety
    /// The communicator is of this session. It is between two groups if the other one is asked for.
    pub(crate) unsafe fn ranks_of_comm(
        self,
        comm: UsedComm,
        of_other_group: bool,
    ) -> Option<Vec<c_int>> {
        self.in_world(|world| {
            let mut group = pmpi::MPI_GROUP_NULL;
            // SAFETY: the functions want a valid communicator, between two groups where it is about the other one: a `UsedComm` is
            // valid, and the caller promises the rest. They write one group, which is asked about and freed if it was written,
            // once. It is of this session, as its communicator.
            unsafe {
                if comm.group_of(of_other_group)(comm.0, &mut group) != pmpi::MPI_SUCCESS {
                    return None;
                }
                let ranks = translated(group, world);
                pmpi::MPI_Group_free(&mut group);
                ranks
            }
        })
    }

    /// Does something with the group of `mpi://WORLD`. `None` if there is none.
    fn in_world<T>(self, ask: impl FnOnce(MPI_Group) -> Option<T>) -> Option<T> {
        if !pmpi::available(FunctionId::MPI_Group_from_session_pset as usize) {
            return None;
        }
        let (name, mut world) = (c"mpi://WORLD".as_ptr(), pmpi::MPI_GROUP_NULL);
        // SAFETY: the function is there, and wants a session that is open, which a `UsedSession` is, and the name of a process
        // set, which each session has. It communicates with nobody, and writes one group, which is freed here, once.
        unsafe {
            let code = pmpi::MPI_Group_from_session_pset(self.0, name, &mut world);
            if code != pmpi::MPI_SUCCESS || world == pmpi::MPI_GROUP_NULL {
                return None;
            }
            let answer = ask(world);
            pmpi::MPI_Group_free(&mut world);
            answer
        }
    }
}

/// The ranks in another group of all processes of a group; `None` if MPI does not say it.
///
/// # Safety
/// Both groups are valid, and none of them is a session's, or both are of one session.
unsafe fn translated(group: MPI_Group, other: MPI_Group) -> Option<Vec<c_int>> {
    let mut size = 0;
    // SAFETY: the functions want valid groups, as the caller promises. `MPI_Group_translate_ranks` reads and writes as many
    // ranks as it is told, which both lists have, and all of them are ranks of the group.
    unsafe {
        if pmpi::MPI_Group_size(group, &mut size) != pmpi::MPI_SUCCESS {
            return None;
        }
        let theirs: Vec<c_int> = (0..size).collect();
        let mut ours = vec![mpi_sys::MPI_UNDEFINED; theirs.len()];
        let (from, to) = (theirs.as_ptr(), ours.as_mut_ptr());
        let code = pmpi::MPI_Group_translate_ranks(group, size, from, other, to);
        (code == pmpi::MPI_SUCCESS).then_some(ours)
    }
}

/// A valid communicator, of an MPI that this tool understands: MPI has accepted it in an operation, or has made it. Or the
/// application's own call is about to hand it to MPI; if it is wrong, MPI would say so there as well. The methods are questions
/// to MPI, none of which communicates but [`barrier`](Self::barrier).
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsedComm(MPI_Comm);

impl UsedComm {
    /// The communicator of an accepted call: it is significant in every process, also where no data move. MPI accepts no
    /// null handle there. `None` if the call has none, and where MPI has another ABI.
    #[inline(always)]
    pub(crate) fn of<'c>(call: impl Call<'c>, _: Accepted<'c>) -> Option<Self> {
        let comm = call.get(call.shape().communicator)?;
        is_understood().then_some(Self(comm))
    }

    /// For a call that MPI has not seen yet, where its arguments must be known before: what Fortran's
    /// are converted to. `None` of the null handle, about which MPI is never asked.
    ///
    /// # Safety
    /// The handle is the communicator of a call that goes to MPI next, which has this tool's ABI: if
    /// it is wrong, that is an error of the application's own call, too.
    pub(crate) unsafe fn assume(comm: MPI_Comm) -> Option<Self> {
        (comm != pmpi::MPI_COMM_NULL).then_some(Self(comm))
    }

    /// The communicator that an accepted call has made. `None` if it has made none in this process, and where MPI has
    /// another ABI. What a nonblocking call makes is not to be asked about before its request is complete.
    pub(crate) fn made<'c>(call: AnyCall<'c>, _: Accepted<'c>) -> Option<Self> {
        let new: *const MPI_Comm = call.get(call.shape().new_communicator)?;
        if new.is_null() || !is_understood() {
            return None;
        }
        // SAFETY: the pointer must lead to a handle. It is the argument of a parameter by which the function returns the
        // communicator that it makes, and MPI has written it, since it has accepted this call (`'c`), which has not
        // returned yet. The nonblocking functions write it when they are called, in MPICH and Open MPI, as
        // `tests/communicators.rs` has seen; another MPI may do so later, and then it is what the application had there.
        unsafe { Self::assume(*new) }
    }

    /// The handle.
    pub(crate) fn handle(self) -> MPI_Comm {
        self.0
    }

    /// The ranks in `MPI_COMM_WORLD` of all processes of its group, or of the other group if it is between two:
    /// `MPI_UNDEFINED` of those that are not in the world. `None` if there is no world, or if MPI does not say it.
    ///
    /// # Safety
    /// The communicator is not a session's. It is between two groups if the other one is asked for.
    pub(crate) unsafe fn world_ranks(self, of_other_group: bool) -> Option<Vec<c_int>> {
        if !has_handles() || !is_active() {
            return None;
        }
        let group_of = self.group_of(of_other_group);
        let size_of = if of_other_group { pmpi::MPI_Comm_remote_size } else { pmpi::MPI_Comm_size };
        let mut groups = [pmpi::MPI_GROUP_NULL; 2];
        let [group, world] = &mut groups;
        let mut size = -1;
        let mut ranks = None;
        // SAFETY: the functions want a valid communicator, between two groups where it is about the other one: a `UsedComm`
        // is valid, the caller promises the rest, and the world is valid while it is active. They write one number, and one
        // group each, which are asked about and freed only if they were written, once. None of them is a session's.
        unsafe {
            if size_of(self.0, &mut size) == pmpi::MPI_SUCCESS
                && group_of(self.0, group) == pmpi::MPI_SUCCESS
                && pmpi::MPI_Comm_group(pmpi::MPI_COMM_WORLD, world) == pmpi::MPI_SUCCESS
            {
                // MPICH 5.0.2 gives a topology of fewer processes than its old communicator that one's group, of which the
                // first ones are its own.
                ranks = translated(*group, *world).and_then(|mut ranks| {
                    ranks.truncate(size as usize);
                    (ranks.len() == size as usize).then_some(ranks)
                });
            }
            for mut group in groups.into_iter().filter(|group| *group != pmpi::MPI_GROUP_NULL) {
                pmpi::MPI_Group_free(&mut group);
            }
        }
        ranks
    }

    /// The function that makes the group of its processes, or of the other ones.
    fn group_of(self, of_other_group: bool) -> unsafe fn(MPI_Comm, *mut MPI_Group) -> c_int {
        if of_other_group { pmpi::MPI_Comm_remote_group } else { pmpi::MPI_Comm_group }
    }

    /// The communicator's name; empty if it has none.
    pub(crate) fn name(self) -> String {
        let mut name = [0_u8; mpi_sys::MPI_MAX_OBJECT_NAME as usize + 1];
        let mut length = 0;
        // SAFETY: `MPI_Comm_get_name` wants a valid communicator, which a `UsedComm` is, and writes at most `MPI_MAX_OBJECT_NAME` bytes to `name`, and one `int` to `length`.
        unsafe { pmpi::MPI_Comm_get_name(self.0, name.as_mut_ptr().cast(), &mut length) };
        let name = name.split(|byte| *byte == 0).next().unwrap_or(&[]);
        String::from_utf8_lossy(name).into_owned()
    }

    /// This process's rank; -1 if MPI does not say it.
    #[inline]
    pub(crate) fn rank(self) -> c_int {
        // What no root is, in case that MPI does not answer.
        let mut rank = -1;
        // SAFETY: `MPI_Comm_rank` wants a valid communicator, which a `UsedComm` is, and writes one `int` to `rank`.
        unsafe { pmpi::MPI_Comm_rank(self.0, &mut rank) };
        rank
    }

    /// Waits for all processes of the communicator, of which each does the same; `false` if MPI refuses.
    pub(crate) fn barrier(self) -> bool {
        // SAFETY: `MPI_Barrier` wants a valid communicator, which a `UsedComm` is.
        unsafe { pmpi::MPI_Barrier(self.0) == pmpi::MPI_SUCCESS }
    }

    /// Is it between two groups?
    #[inline]
    pub(crate) fn is_inter(self) -> bool {
        let mut inter = 0;
        // SAFETY: `MPI_Comm_test_inter` wants a valid communicator, which a `UsedComm` is, and writes one `int` to `inter`.
        unsafe { pmpi::MPI_Comm_test_inter(self.0, &mut inter) };
        inter != 0
    }

    /// The number of processes in one's own group; 0 if MPI does not say it.
    pub(crate) fn size(self) -> c_int {
        let mut size = 0;
        // SAFETY: `MPI_Comm_size` wants a valid communicator, which a `UsedComm` is, and writes one `int` to `size`.
        unsafe { pmpi::MPI_Comm_size(self.0, &mut size) };
        size
    }

    /// The number of processes that one communicates with: of the other group, where there is one.
    pub(crate) fn others(self) -> c_int {
        if !self.is_inter() {
            return self.size();
        }
        let mut size = 0;
        // SAFETY: `MPI_Comm_remote_size` wants a valid communicator between two groups, which
        // `is_inter` has just said of this one, and writes one `int` to `size`.
        unsafe { pmpi::MPI_Comm_remote_size(self.0, &mut size) };
        size
    }

    /// How the processes lie, as far as this process knows: for neighbourhood collectives, which
    /// have a block for each neighbour.
    pub(crate) fn topology(self) -> Topology {
        let mut kind = 0;
        // SAFETY: `MPI_Topo_test` wants a valid communicator, which a `UsedComm` is. Each further function wants one with the
        // topology that MPI has just told, and writes one `int` to each of its results.
        unsafe {
            pmpi::MPI_Topo_test(self.0, &mut kind);
            match kind {
                mpi_sys::MPI_CART => {
                    Topology::Grid(Grid { comm: self, dimensions: self.dimensions() })
                }
                mpi_sys::MPI_GRAPH => {
                    let mut neighbours = 0;
                    pmpi::MPI_Graph_neighbors_count(self.0, self.rank(), &mut neighbours);
                    Topology::Graph { sources: neighbours, destinations: neighbours }
                }
                mpi_sys::MPI_DIST_GRAPH => {
                    let (mut sources, mut destinations, mut weighted) = (0, 0, 0);
                    pmpi::MPI_Dist_graph_neighbors_count(
                        self.0,
                        &mut sources,
                        &mut destinations,
                        &mut weighted,
                    );
                    Topology::Graph { sources, destinations }
                }
                _ => Topology::None,
            }
        }
    }

    /// How many dimensions a grid has.
    ///
    /// # Safety
    /// The communicator has a Cartesian topology, or it is that of a call that goes to MPI next and wants such a one.
    pub(crate) unsafe fn dimensions(self) -> c_int {
        let mut dimensions = 0;
        // SAFETY: `MPI_Cartdim_get` wants a communicator with a Cartesian topology, as the caller promises, and writes one
        // `int` to `dimensions`.
        unsafe { pmpi::MPI_Cartdim_get(self.0, &mut dimensions) };
        dimensions
    }

    /// The neighbours in a graph, to receive from and to send to, in the order of their blocks. They are as many as
    /// [`topology`](Self::topology) has told.
    pub(crate) fn graph_neighbours(
        self,
        sources: c_int,
        destinations: c_int,
    ) -> (Vec<c_int>, Vec<c_int>) {
        // What is no rank, in case that MPI does not answer.
        let none = mpi_sys::MPI_UNDEFINED;
        let list = |length: c_int| vec![none; usize::try_from(length).unwrap_or(0)];
        let (mut from, mut to) = (list(sources), list(destinations));
        let mut kind = 0;
        // SAFETY: `MPI_Topo_test` wants a valid communicator, which a `UsedComm` is. Each further function wants one with the topology that MPI has just told, and writes at most as
        // many ranks, and as many weights, as it is told, for which the lists have room.
        unsafe {
            pmpi::MPI_Topo_test(self.0, &mut kind);
            if kind == mpi_sys::MPI_GRAPH {
                pmpi::MPI_Graph_neighbors(self.0, self.rank(), sources, from.as_mut_ptr());
                to.clone_from(&from);
            } else if kind == mpi_sys::MPI_DIST_GRAPH {
                let mut weights = [list(sources), list(destinations)];
                let [of_sources, of_destinations] = &mut weights;
                pmpi::MPI_Dist_graph_neighbors(
                    self.0,
                    sources,
                    from.as_mut_ptr(),
                    of_sources.as_mut_ptr(),
                    destinations,
                    to.as_mut_ptr(),
                    of_destinations.as_mut_ptr(),
                );
            }
        }
        (from, to)
    }
}

/// A virtual topology.
pub(crate) enum Topology {
    /// There is none.
    None,
    /// Cartesian.
    Grid(Grid),
    /// A graph, with so many edges of this process.
    Graph { sources: c_int, destinations: c_int },
}

/// A communicator with a Cartesian topology, as MPI has told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    comm: UsedComm,
    /// How many dimensions it has.
    dimensions: c_int,
}

impl Grid {
    /// How many neighbours a process has, of which some may not exist.
    pub(crate) fn count(self) -> c_int {
        2 * self.dimensions
    }

    /// The neighbours in the order of their blocks: those in each dimension, the lower one first. They are `MPI_PROC_NULL`
    /// at a border.
    pub(crate) fn neighbours(self) -> Vec<c_int> {
        let in_dimension = |dimension| {
            let (mut below, mut above) = (mpi_sys::MPI_PROC_NULL, mpi_sys::MPI_PROC_NULL);
            // SAFETY: `MPI_Cart_shift` wants a communicator with a Cartesian topology, which this is, and a dimension below
            // its number of dimensions, as those here are; it writes one `int` to each result.
            unsafe { pmpi::MPI_Cart_shift(self.comm.0, dimension, 1, &mut below, &mut above) };
            [below, above]
        };
        (0..self.dimensions).flat_map(in_dimension).collect()
    }
}

/// How many bytes a status tells of, and whether the operation was cancelled, by MPI's functions. They
/// know no handle but `MPI_BYTE`, and take every status that MPI has set.
#[inline(never)]
pub(crate) fn bytes_and_cancelled(status: &MPI_Status) -> (u64, bool) {
    let (mut bytes, mut cancelled): (MPI_Count, _) = (0, 0);
    if !is_understood() {
        return (0, false);
    }
    // SAFETY: both functions read a status and write one number. MPI has set the status, or it is zeros, which is a status
    // of no bytes, or it is the application's, whatever that has put there: a status is numbers only, which these functions
    // turn into other numbers; the datatype, `MPI_BYTE`, is predefined. Every MPI since 3.0 has the functions.
    unsafe {
        pmpi::MPI_Test_cancelled(status, &mut cancelled);
        pmpi::MPI_Get_elements_x(status, pmpi::MPI_BYTE, &mut bytes);
    }
    (u64::try_from(bytes).unwrap_or(0), cancelled != 0)
}
