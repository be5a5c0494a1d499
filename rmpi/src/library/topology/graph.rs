//! Graphs that all processes know.

use rmpi_macros::wraps;

use super::super::communicator::{Communicator, made};
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::group::{Ints, length};
use super::super::sys::{self, MPI_Comm, c_int};
use super::Neighborhood;
use super::common::{refused, sizes, topology};
use crate::TopologyKind;
use core::ops::Deref;

/// A communicator whose processes are the nodes of a graph that all of them know; freed when it is
/// dropped.
#[derive(Debug)]
pub struct GraphCommunicator<'ctx> {
    neighborhood: Neighborhood<'ctx>,
}

topology! { GraphCommunicator = Graph }

/// The graph as C has it: up to where each node's neighbours go in the second array.
fn graph<N: AsRef<[usize]>>(neighbors: &[N], size: usize) -> RmpiResult<(Ints, Ints)> {
    if neighbors.len() > size {
        return refused("the graph has more nodes than the communicator has processes");
    }
    let (mut index, mut edges) = (Ints::new(), Ints::new());
    for of_node in neighbors {
        for neighbor in of_node.as_ref() {
            if *neighbor >= neighbors.len() {
                return Err(Error::refused(ErrorClass::RANK, "a neighbor is no node of the graph"));
            }
            edges.push(*neighbor as c_int);
        }
        index.push(length(&edges)?);
    }
    Ok((index, edges))
}

impl<'ctx> GraphCommunicator<'ctx> {
    fn known(communicator: Communicator<'ctx>) -> RmpiResult<Self> {
        let (raw, rank) = (communicator.as_raw(), communicator.rank()?);
        // SAFETY: MPI_Graph_neighbors_count requires a communicator with a graph, which `new` has found
        // it to have, and a rank of it, here this process's; it writes one int to `count`.
        let count = output(0, |count| unsafe {
            sys::MPI_Graph_neighbors_count(raw, rank as c_int, count)
        })?;
        let count = count.unsigned_abs() as usize;
        let neighborhood = Neighborhood { communicator, indegree: count, outdegree: count };
        Ok(Self { neighborhood })
    }

    /// How many neighbours a process has. C: `MPI_Graph_neighbors_count`. Local.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK) if there is no such process.
    ///
    /// ```no_run
    /// # fn example(graph: &rmpi::GraphCommunicator<'_>) -> rmpi::RmpiResult {
    /// println!("{}", graph.neighbors_count(0)?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Graph_neighbors_count)]
    pub fn neighbors_count(&self, rank: usize) -> RmpiResult<usize> {
        let rank = self.node(rank)?;
        // SAFETY: MPI_Graph_neighbors_count requires a communicator with a graph, which `self` holds,
        // and a rank of it, as `node` has found; it writes one int to `count`.
        output(0, |count| unsafe { mpi.call(self.as_raw(), rank, count) })
            .map(|count| count.unsigned_abs() as usize)
    }

    /// The neighbours of a process. C: `MPI_Graph_neighbors`, after `MPI_Graph_neighbors_count`. Local.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK) if there is no such process.
    ///
    /// ```no_run
    /// # fn example(graph: &rmpi::GraphCommunicator<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", graph.neighbors(graph.rank()?)?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Graph_neighbors)]
    pub fn neighbors(&self, rank: usize) -> RmpiResult<Vec<usize>> {
        let mut neighbors = Ints::from_elem(0, self.neighbors_count(rank)?);
        let (rank, count) = (self.node(rank)?, neighbors.len() as c_int);
        // SAFETY: MPI_Graph_neighbors requires a communicator with a graph, which `self` holds, and a
        // rank of it, as `node` has found; it writes at most `count` ints, which is the array's length.
        check(unsafe { mpi.call(self.as_raw(), rank, count, neighbors.as_mut_ptr()) })?;
        Ok(sizes(&neighbors))
    }

    fn node(&self, rank: usize) -> RmpiResult<c_int> {
        if rank >= self.known_size()? {
            return Err(Error::refused(ErrorClass::RANK, "there is no process of that rank"));
        }
        Ok(rank as c_int)
    }

    /// How many nodes the graph has, and how many edges. C: `MPI_Graphdims_get`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(graph: &rmpi::GraphCommunicator<'_>) -> rmpi::RmpiResult {
    /// let (nodes, edges) = graph.dims_get()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Graphdims_get)]
    pub fn dims_get(&self) -> RmpiResult<(usize, usize)> {
        // SAFETY: MPI_Graphdims_get requires a communicator with a graph, which `self` holds, and
        // writes one int each to `nodes` and `edges`.
        let (nodes, edges) =
            output((0, 0), |(nodes, edges)| unsafe { mpi.call(self.as_raw(), nodes, edges) })?;
        Ok((nodes.unsigned_abs() as usize, edges.unsigned_abs() as usize))
    }

    /// The neighbours of each node. C: `MPI_Graph_get`, after `MPI_Graphdims_get`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(graph: &rmpi::GraphCommunicator<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", graph.get()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Graph_get)]
    pub fn get(&self) -> RmpiResult<Vec<Vec<usize>>> {
        let (nodes, edges) = self.dims_get()?;
        let (mut index, mut neighbors) = (Ints::from_elem(0, nodes), Ints::from_elem(0, edges));
        // SAFETY: MPI_Graph_get requires a communicator with a graph, which `self` holds, and writes at
        // most `nodes` ints to one array and `edges` to the other, which are their lengths.
        check(unsafe {
            let (nodes, edges) = (nodes as c_int, edges as c_int);
            mpi.call(self.as_raw(), nodes, edges, index.as_mut_ptr(), neighbors.as_mut_ptr())
        })?;
        let mut start = 0;
        Ok(sizes(&index)
            .into_iter()
            .map(|end| {
                sizes(neighbors.get(core::mem::replace(&mut start, end)..end).unwrap_or(&[]))
            })
            .collect())
    }
}

impl<'ctx> Communicator<'ctx> {
    /// A graph in which each node has these neighbours; none for processes beyond its size.
    /// C: `MPI_Graph_create`. Collective; all give the same graph.
    ///
    /// # Errors
    /// [`DIMS`](ErrorClass::DIMS) if it has more nodes than there are processes;
    /// [`RANK`](ErrorClass::RANK) if a neighbour is no node.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let star = world.graph_create(&[&[1, 2][..], &[0], &[0]], false)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Graph_create)]
    pub fn graph_create<N: AsRef<[usize]>>(
        &self,
        neighbors: &[N],
        reorder: bool,
    ) -> RmpiResult<Option<GraphCommunicator<'ctx>>> {
        let (index, edges) = graph(neighbors, self.known_size()?)?;
        let (nodes, index, edges) = (index.len() as c_int, index.as_ptr(), edges.as_ptr());
        // SAFETY: MPI_Graph_create requires an intracommunicator, which `self` holds, as `known_size`
        // has found, and a graph no greater than it, as `graph` has found; it reads `nodes` ints of
        // `index`, and as many edges as its last one says, as `graph` made them, and writes one handle
        // to `new`.
        let raw = output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(self.as_raw(), nodes, index, edges, reorder.into(), new)
        })?;
        made(raw).map(GraphCommunicator::new).transpose()
    }

    /// The rank that this process had best in such a graph; `None` if it is not in it.
    /// C: `MPI_Graph_map`. Local.
    ///
    /// # Errors
    /// As [`graph_create`](Self::graph_create).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", world.graph_map(&[&[1], &[0]])?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Graph_map)]
    pub fn graph_map<N: AsRef<[usize]>>(&self, neighbors: &[N]) -> RmpiResult<Option<usize>> {
        let (index, edges) = graph(neighbors, self.known_size()?)?;
        let nodes = index.len() as c_int;
        // SAFETY: MPI_Graph_map requires an intracommunicator, which `self` holds, as `known_size` has
        // found, and a graph no greater than it, as `graph` has found; it reads `nodes` ints of
        // `index`, and as many edges as its last one says, as `graph` made them, and writes one int to
        // `rank`.
        let rank = output(sys::MPI_UNDEFINED, |rank| unsafe {
            mpi.call(self.as_raw(), nodes, index.as_ptr(), edges.as_ptr(), rank)
        })?;
        Ok(rank.try_into().ok())
    }
}
