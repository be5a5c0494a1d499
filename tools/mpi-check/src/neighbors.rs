//! Neighbours in the topology of a communicator, as neighbourhood collectives have them.

use mpi_tool_layer::mpi_sys::{self, MPI_Comm, MPI_SUCCESS, c_int, pmpi};

/// How many neighbours of a process are looked at.
const MOST: c_int = 1 << 16;

/// The ranks of those that a process gets blocks from, and of those that it gives blocks to, in their order.
/// `u32::MAX` where there is nobody.
#[derive(Debug)]
pub(crate) struct Neighbors {
    pub(crate) sources: Vec<u32>,
    pub(crate) targets: Vec<u32>,
}

impl Neighbors {
    /// The neighbours that are there, with their places.
    pub(crate) fn there(all: &[u32]) -> impl Iterator<Item = (usize, u32)> {
        all.iter().copied().enumerate().filter(|(_, rank)| *rank != u32::MAX)
    }
}

/// What MPI says of a communicator's topology: `None` if it has none, or one that is too large.
///
/// # Safety
///
/// The communicator must be valid.
pub(crate) unsafe fn of(comm: MPI_Comm) -> Option<Neighbors> {
    // SAFETY: the communicator must be valid, as the caller promises, and have the topology that MPI has just told.
    unsafe {
        match kind(comm)? {
            mpi_sys::MPI_CART => of_grid(comm),
            mpi_sys::MPI_GRAPH => of_graph(comm),
            mpi_sys::MPI_DIST_GRAPH => of_distributed_graph(comm),
            _ => None,
        }
    }
}

/// Has the communicator a grid? `None` if nobody knows.
///
/// # Safety
///
/// The communicator must be valid.
pub(crate) unsafe fn has_grid(comm: MPI_Comm) -> Option<bool> {
    // SAFETY: the caller promises the same.
    unsafe { kind(comm) }.map(|kind| kind == mpi_sys::MPI_CART)
}

/// Is it sure that the communicator has no topology?
///
/// # Safety
///
/// The communicator must be valid.
pub(crate) unsafe fn has_none(comm: MPI_Comm) -> bool {
    // SAFETY: the caller promises the same.
    unsafe { kind(comm) == Some(mpi_sys::MPI_UNDEFINED) }
}

/// The kind of its topology; `None` if MPI does not say it.
///
/// # Safety
///
/// The communicator must be valid.
unsafe fn kind(comm: MPI_Comm) -> Option<c_int> {
    let mut kind = 0;
    // SAFETY: the call wants a valid communicator, as the caller promises, and writes one `int`.
    let code = unsafe { pmpi::MPI_Topo_test(comm, &mut kind) };
    (code == MPI_SUCCESS).then_some(kind)
}

fn ranks(numbers: &[c_int]) -> Vec<u32> {
    numbers.iter().map(|rank| u32::try_from(*rank).unwrap_or(u32::MAX)).collect()
}

/// How many places a grid has in each dimension, and whether it is periodic there. `None` if the communicator has none.
///
/// # Safety
///
/// The communicator must be valid.
pub(crate) unsafe fn grid(comm: MPI_Comm) -> Option<Vec<(c_int, bool)>> {
    // SAFETY: the caller promises the same.
    if unsafe { has_grid(comm) } != Some(true) {
        return None;
    }
    let mut count = 0;
    // SAFETY: the communicator has a grid, as `has_grid` has said; the call writes one `int`.
    let code = unsafe { pmpi::MPI_Cartdim_get(comm, &mut count) };
    if code != MPI_SUCCESS || !(1..=MOST).contains(&count) {
        return None;
    }
    let mut lengths = vec![0; count as usize];
    let (mut periods, mut own) = (lengths.clone(), lengths.clone());
    // SAFETY: the communicator has a grid; each array has `count` elements, which the call writes at most.
    let code = unsafe {
        pmpi::MPI_Cart_get(
            comm,
            count,
            lengths.as_mut_ptr(),
            periods.as_mut_ptr(),
            own.as_mut_ptr(),
        )
    };
    let places = lengths.into_iter().zip(periods);
    (code == MPI_SUCCESS).then(|| places.map(|(length, period)| (length, period != 0)).collect())
}

/// Two in each dimension: the one before, and the one behind.
///
/// # Safety
///
/// The communicator must be valid, and have a grid.
unsafe fn of_grid(comm: MPI_Comm) -> Option<Neighbors> {
    let mut dimensions = 0;
    // SAFETY: the communicator has a grid, as the caller promises; the call writes one `int`.
    let code = unsafe { pmpi::MPI_Cartdim_get(comm, &mut dimensions) };
    if code != MPI_SUCCESS {
        return None;
    }
    let mut all = Vec::new();
    for dimension in 0..dimensions {
        let (mut before, mut behind) = (0, 0);
        // SAFETY: the communicator has a grid, and the dimension is one of it; the call writes two `int`s.
        let code = unsafe { pmpi::MPI_Cart_shift(comm, dimension, 1, &mut before, &mut behind) };
        if code != MPI_SUCCESS {
            return None;
        }
        all.extend([before, behind]);
    }
    Some(Neighbors { sources: ranks(&all), targets: ranks(&all) })
}

/// # Safety
///
/// The communicator must be valid, and have a graph.
unsafe fn of_graph(comm: MPI_Comm) -> Option<Neighbors> {
    let (mut own, mut count) = (0, 0);
    // SAFETY: the communicator has a graph, as the caller promises; each call writes one `int`.
    let codes = unsafe {
        [
            pmpi::MPI_Comm_rank(comm, &mut own),
            pmpi::MPI_Graph_neighbors_count(comm, own, &mut count),
        ]
    };
    if codes != [MPI_SUCCESS; 2] || !(0..=MOST).contains(&count) {
        return None;
    }
    let mut all = vec![-1; count as usize];
    // SAFETY: the communicator has a graph; the array has `count` elements, which the call writes at most.
    let code = unsafe { pmpi::MPI_Graph_neighbors(comm, own, count, all.as_mut_ptr()) };
    (code == MPI_SUCCESS).then(|| Neighbors { sources: ranks(&all), targets: ranks(&all) })
}

/// # Safety
///
/// The communicator must be valid, and have a distributed graph.
unsafe fn of_distributed_graph(comm: MPI_Comm) -> Option<Neighbors> {
    let (mut sources, mut targets, mut weighted) = (0, 0, 0);
    // SAFETY: the communicator has a distributed graph, as the caller promises; the call writes three `int`s.
    let code = unsafe {
        pmpi::MPI_Dist_graph_neighbors_count(comm, &mut sources, &mut targets, &mut weighted)
    };
    if code != MPI_SUCCESS || !(0..=MOST).contains(&sources) || !(0..=MOST).contains(&targets) {
        return None;
    }
    let [mut from, mut to] = [sources, targets].map(|count| vec![-1; count as usize]);
    let [mut of_from, mut of_to] = [from.clone(), to.clone()];
    // SAFETY: the communicator has a distributed graph; each array has as many elements as the count before it says, which the
    // call writes at most.
    let code = unsafe {
        pmpi::MPI_Dist_graph_neighbors(
            comm,
            sources,
            from.as_mut_ptr(),
            of_from.as_mut_ptr(),
            targets,
            to.as_mut_ptr(),
            of_to.as_mut_ptr(),
        )
    };
    (code == MPI_SUCCESS).then(|| Neighbors { sources: ranks(&from), targets: ranks(&to) })
}
