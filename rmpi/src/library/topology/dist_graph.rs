//! Graphs of which each process knows its own part.

use rmpi_macros::wraps;

use super::super::communicator::{Communicator, made, none_made};
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::group::{Ints, ints, length};
use super::super::info::{self, Info};
use super::super::sys::{self, MPI_Comm, c_int};
use super::Neighborhood;
use super::common::{sizes, topology};
use crate::TopologyKind;
use crate::sentinels;
use core::ops::Deref;

/// A communicator whose processes are the nodes of a graph of which each knows its neighbours; freed
/// when it is dropped.
#[derive(Debug)]
pub struct DistGraphCommunicator<'ctx> {
    neighborhood: Neighborhood<'ctx>,
    weighted: bool,
}

topology! { DistGraphCommunicator = DistGraph }

/// Neighbours of a process in a distributed graph, with the weights of the edges where it has some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistNeighbors {
    /// Whom it receives from.
    pub sources: Vec<usize>,
    /// Whom it sends to.
    pub destinations: Vec<usize>,
    /// Of the edges from the sources, and to the destinations.
    pub weights: Option<(Vec<u32>, Vec<u32>)>,
}

/// Weights as C has them.
fn weights(weights: Option<&[u32]>, edges: usize) -> RmpiResult<Option<Ints>> {
    let Some(weights) = weights else { return Ok(None) };
    if weights.len() != edges {
        return Err(Error::refused(ErrorClass::ARG, "as many weights are needed as edges"));
    }
    let weights = weights.iter().map(|weight| c_int::try_from(*weight));
    weights
        .collect::<Result<_, _>>()
        .map(Some)
        .map_err(|_| Error::refused(ErrorClass::ARG, "a weight is at most 2147483647"))
}

/// C's argument for weights.
fn weights_pointer(weights: Option<&Ints>) -> *const c_int {
    match weights {
        None => sentinels::unweighted(),
        Some(weights) if weights.is_empty() => sentinels::weights_empty(),
        Some(weights) => weights.as_ptr(),
    }
}

impl<'ctx> DistGraphCommunicator<'ctx> {
    fn known(communicator: Communicator<'ctx>) -> RmpiResult<Self> {
        let raw = communicator.as_raw();
        // SAFETY: MPI_Dist_graph_neighbors_count requires a communicator with a distributed graph,
        // which `new` has found it to have, and writes an int to each of its other arguments.
        let (indegree, outdegree, weighted) =
            output((0, 0, 0), |(indegree, outdegree, weighted)| unsafe {
                sys::MPI_Dist_graph_neighbors_count(raw, indegree, outdegree, weighted)
            })?;
        let (indegree, outdegree) =
            (indegree.unsigned_abs() as usize, outdegree.unsigned_abs() as usize);
        let neighborhood = Neighborhood { communicator, indegree, outdegree };
        Ok(Self { neighborhood, weighted: weighted != 0 })
    }

    /// Do the edges have weights? Asked for when it was made.
    pub const fn weighted(&self) -> bool {
        self.weighted
    }

    /// This process's neighbours. C: `MPI_Dist_graph_neighbors`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(graph: &rmpi::DistGraphCommunicator<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", graph.neighbors()?.sources);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Dist_graph_neighbors)]
    pub fn neighbors(&self) -> RmpiResult<DistNeighbors> {
        let (indegree, outdegree) = (self.indegree(), self.outdegree());
        let mut sources = Ints::from_elem(0, indegree);
        let mut destinations = Ints::from_elem(0, outdegree);
        let mut source_weights = Ints::from_elem(0, indegree);
        let mut destination_weights = Ints::from_elem(0, outdegree);
        let pointer = |weights: &mut Ints| {
            if self.weighted { weights.as_mut_ptr() } else { sentinels::unweighted() }
        };
        // SAFETY: MPI_Dist_graph_neighbors requires a communicator with a distributed graph, which
        // `self` holds, and writes at most `indegree` ints to the first two arrays and `outdegree` to
        // the others, which are their lengths. Without weights, MPI_UNWEIGHTED stands for an array.
        check(unsafe {
            mpi.call(
                self.as_raw(),
                indegree as c_int,
                sources.as_mut_ptr(),
                pointer(&mut source_weights),
                outdegree as c_int,
                destinations.as_mut_ptr(),
                pointer(&mut destination_weights),
            )
        })?;
        let unsigned =
            |weights: &Ints| weights.iter().map(|weight| weight.unsigned_abs()).collect();
        let weights = (unsigned(&source_weights), unsigned(&destination_weights));
        Ok(DistNeighbors {
            sources: sizes(&sources),
            destinations: sizes(&destinations),
            weights: self.weighted.then_some(weights),
        })
    }
}

impl<'ctx> Communicator<'ctx> {
    /// A graph of which each process tells its neighbours, and the weights of the edges to and from
    /// them: all do, or none. C: `MPI_Dist_graph_create_adjacent`. Collective.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK) if a neighbour is no process; [`ARG`](ErrorClass::ARG) if there are
    /// not as many weights as neighbours.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let (rank, size) = (world.rank()?, world.size()?);
    /// let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    /// let ring = world.dist_graph_create_adjacent(&[left], &[right], None, None, false)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Dist_graph_create_adjacent)]
    pub fn dist_graph_create_adjacent(
        &self,
        sources: &[usize],
        destinations: &[usize],
        edge_weights: Option<(&[u32], &[u32])>,
        info: Option<&Info<'_>>,
        reorder: bool,
    ) -> RmpiResult<DistGraphCommunicator<'ctx>> {
        let size = self.known_size()?;
        let (sources, destinations) = (nodes(sources, size)?, nodes(destinations, size)?);
        let from_weights = weights(edge_weights.map(|both| both.0), sources.len())?;
        let to_weights = weights(edge_weights.map(|both| both.1), destinations.len())?;
        let (indegree, outdegree) = (length(&sources)?, length(&destinations)?);
        // SAFETY: MPI_Dist_graph_create_adjacent requires an intracommunicator, which `self` holds, as
        // `known_size` has found, ranks of it, as `nodes` has found, weights that are not negative, and
        // an info or the null one; it reads as many ranks and weights as the degrees say, which are the
        // arrays' lengths, and writes one handle to `new`.
        let raw = output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(
                self.as_raw(),
                indegree,
                sources.as_ptr(),
                weights_pointer(from_weights.as_ref()),
                outdegree,
                destinations.as_ptr(),
                weights_pointer(to_weights.as_ref()),
                info::handle(info),
                reorder.into(),
                new,
            )
        })?;
        DistGraphCommunicator::new(made(raw).ok_or_else(none_made)?)
    }

    /// A graph of which each process tells some edges, whosever: from each source to as many of the
    /// destinations as its degree says; and their weights: all do, or none.
    /// C: `MPI_Dist_graph_create`. Collective.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK) if an end is no process; [`ARG`](ErrorClass::ARG) if there are not
    /// as many degrees as sources, destinations as the degrees say, or weights as destinations.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let (rank, size) = (world.rank()?, world.size()?);
    /// let right = (rank + 1) % size;
    /// let ring = world.dist_graph_create(&[rank], &[1], &[right], None, None, false)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Dist_graph_create)]
    pub fn dist_graph_create(
        &self,
        sources: &[usize],
        degrees: &[usize],
        destinations: &[usize],
        edge_weights: Option<&[u32]>,
        info: Option<&Info<'_>>,
        reorder: bool,
    ) -> RmpiResult<DistGraphCommunicator<'ctx>> {
        let size = self.known_size()?;
        let edges = degrees.iter().try_fold(0_usize, |edges, degree| edges.checked_add(*degree));
        if degrees.len() != sources.len() || edges != Some(destinations.len()) {
            return Err(Error::refused(ErrorClass::ARG, "the degrees do not fit the other arrays"));
        }
        let (sources, destinations) = (nodes(sources, size)?, nodes(destinations, size)?);
        let degrees = ints(degrees, ErrorClass::ARG, "a degree is at most 2147483647")?;
        let edge_weights = weights(edge_weights, destinations.len())?;
        let count = length(&sources)?;
        length(&destinations)?;
        // SAFETY: MPI_Dist_graph_create requires an intracommunicator, which `self` holds, as
        // `known_size` has found, ranks of it, as `nodes` has found, weights that are not negative, and
        // an info or the null one; it reads `count` sources and degrees, and as many destinations and
        // weights as the degrees are together, as was asked above, and writes one handle to `new`.
        let raw = output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(
                self.as_raw(),
                count,
                sources.as_ptr(),
                degrees.as_ptr(),
                destinations.as_ptr(),
                weights_pointer(edge_weights.as_ref()),
                info::handle(info),
                reorder.into(),
                new,
            )
        })?;
        DistGraphCommunicator::new(made(raw).ok_or_else(none_made)?)
    }
}

/// Ranks of a communicator of this size.
pub(super) fn nodes(ranks: &[usize], size: usize) -> RmpiResult<Ints> {
    if ranks.iter().any(|rank| *rank >= size) {
        return Err(Error::refused(ErrorClass::RANK, "there is no process of that rank"));
    }
    // They fit, since they are less than a size of MPI.
    Ok(ranks.iter().map(|rank| *rank as c_int).collect())
}
