use core::ops::Deref;

use smallvec::SmallVec;
use tool_macros::wraps;

use super::communicator::{Communicator, made, none_made};
use super::context::Runtime;
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::group::{Ints, ints, length};
use super::info::{self, Info};
use super::process::Process;
use super::sys::{self, MPI_Comm, c_int};
use crate::{TopologyKind, sentinels};

/// A communicator whose processes have neighbours: what the three topologies have in common (MPI-5.0,
/// chapter 8), with the neighbourhood collective operations.
#[derive(Debug)]
pub struct Neighborhood<'ctx> {
    communicator: Communicator<'ctx>,
    /// As MPI told when this value was made; MPI has it in the communicator, which does not change.
    indegree: usize,
    outdegree: usize,
}

impl<'ctx> Deref for Neighborhood<'ctx> {
    type Target = Communicator<'ctx>;
    fn deref(&self) -> &Communicator<'ctx> {
        &self.communicator
    }
}

impl Neighborhood<'_> {
    /// How many neighbours this process receives from; some may be `MPI_PROC_NULL`.
    pub const fn indegree(&self) -> usize {
        self.indegree
    }

    /// How many neighbours this process sends to; some may be `MPI_PROC_NULL`.
    pub const fn outdegree(&self) -> usize {
        self.outdegree
    }
}

/// A communicator whose processes are the points of a grid, or of a torus; freed when it is dropped.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let mut dims = [0, 0];
/// rmpi::dims_create(world, world.size()?, &mut dims)?;
/// if let Some(grid) = world.cart_create(&dims, &[true, false], true)? {
///     let (below, above) = grid.shift(0, 1)?;
///     let mut from_below = 0;
///     let tag = rmpi::Tag::new(0);
///     above.sendrecv(&grid.rank()?, tag, &below, &mut from_below, tag)?;
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct CartCommunicator<'ctx> {
    neighborhood: Neighborhood<'ctx>,
    dims: SmallVec<[c_int; 4]>,
    periods: SmallVec<[c_int; 4]>,
}

/// A communicator whose processes are the nodes of a graph that all of them know; freed when it is
/// dropped.
#[derive(Debug)]
pub struct GraphCommunicator<'ctx> {
    neighborhood: Neighborhood<'ctx>,
}

/// A communicator whose processes are the nodes of a graph of which each knows its neighbours; freed
/// when it is dropped.
#[derive(Debug)]
pub struct DistGraphCommunicator<'ctx> {
    neighborhood: Neighborhood<'ctx>,
    weighted: bool,
}

macro_rules! topologies {
    ($($name:ident = $kind:ident;)*) => {$(
        impl<'ctx> Deref for $name<'ctx> {
            type Target = Neighborhood<'ctx>;
            fn deref(&self) -> &Neighborhood<'ctx> {
                &self.neighborhood
            }
        }

        impl<'ctx> $name<'ctx> {
            /// The topology of a communicator that has such a one, such as a duplicate.
            ///
            /// # Errors
            /// [`TOPOLOGY`](ErrorClass::TOPOLOGY) if it has not; the communicator is freed.
            pub fn new(communicator: Communicator<'ctx>) -> RmpiResult<Self> {
                if communicator.topo_test()? != TopologyKind::$kind {
                    return Err(Error::refused(
                        ErrorClass::TOPOLOGY,
                        "the communicator has not this topology",
                    ));
                }
                Self::known(communicator)
            }

            /// The communicator of a handle, which is freed with it.
            ///
            /// # Safety
            /// As for [`Communicator::from_raw`], at the level [`Single`](crate::Single).
            ///
            /// # Errors
            /// As [`new`](Self::new).
            pub unsafe fn from_raw(raw: MPI_Comm) -> RmpiResult<Self> {
                // SAFETY: `Communicator::from_raw` requires what this function's caller promises.
                Self::new(unsafe { Communicator::from_raw(raw) })
            }

            /// C's handle, which nobody frees any more.
            pub fn into_raw(self) -> MPI_Comm {
                self.into_communicator().into_raw()
            }

            /// The communicator, of which MPI still knows the topology.
            pub fn into_communicator(self) -> Communicator<'ctx> {
                self.neighborhood.communicator
            }
        }
    )*};
}

topologies! {
    CartCommunicator = Cartesian;
    GraphCommunicator = Graph;
    DistGraphCommunicator = DistGraph;
}

fn refused<T>(reason: &'static str) -> RmpiResult<T> {
    Err(Error::refused(ErrorClass::DIMS, reason))
}

/// Numbers of MPI that are not negative.
fn sizes(numbers: &[c_int]) -> Vec<usize> {
    numbers.iter().map(|number| usize::try_from(*number).unwrap_or(0)).collect()
}

type GridInts = SmallVec<[c_int; 4]>;

/// Dimensions and periods as C has them.
fn grid(dims: &[usize], periods: &[bool], size: usize) -> RmpiResult<(GridInts, GridInts)> {
    if dims.len() != periods.len() {
        return refused("as many periods are needed as dimensions");
    }
    length(dims)?;
    // MPICH's neighbourhood collectives crash with twenty.
    if dims.len() > 16 {
        return refused("a grid has at most 16 dimensions");
    }
    let nodes = dims.iter().try_fold(1_usize, |nodes, dim| nodes.checked_mul(*dim));
    if !nodes.is_some_and(|nodes| (1..=size).contains(&nodes)) {
        return refused("the grid has no points, or more than the communicator has processes");
    }
    // No dimension is greater than the communicator.
    let dims = dims.iter().map(|dim| *dim as c_int).collect();
    Ok((dims, periods.iter().map(|period| (*period).into()).collect()))
}

impl<'ctx> CartCommunicator<'ctx> {
    fn known(communicator: Communicator<'ctx>) -> RmpiResult<Self> {
        let raw = communicator.as_raw();
        // SAFETY: MPI_Cartdim_get requires a communicator with a Cartesian topology, which `new` has
        // found it to have, and writes one int to `ndims`.
        let ndims = output(0, |ndims| unsafe { sys::MPI_Cartdim_get(raw, ndims) })?;
        let zeros = || GridInts::from_elem(0, ndims.unsigned_abs() as usize);
        let (mut dims, mut periods, mut coords) = (zeros(), zeros(), zeros());
        // SAFETY: MPI_Cart_get requires such a communicator, too, and writes `ndims` ints to each
        // array, which all have that length.
        check(unsafe {
            let (dims, periods) = (dims.as_mut_ptr(), periods.as_mut_ptr());
            sys::MPI_Cart_get(raw, ndims, dims, periods, coords.as_mut_ptr())
        })?;
        let neighbors = 2 * dims.len();
        let neighborhood = Neighborhood { communicator, indegree: neighbors, outdegree: neighbors };
        Ok(Self { neighborhood, dims, periods })
    }

    /// How many dimensions it has; asked for when it was made.
    pub fn ndims(&self) -> usize {
        self.dims.len()
    }

    /// The coordinates of a process. C: `MPI_Cart_coords`. Local.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK) if there is no such process.
    ///
    /// ```no_run
    /// # fn example(grid: &rmpi::CartCommunicator<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", grid.coords(grid.rank()?)?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Cart_coords)]
    pub fn coords(&self, rank: usize) -> RmpiResult<Vec<usize>> {
        if rank >= self.known_size()? {
            return Err(Error::refused(ErrorClass::RANK, "there is no process of that rank"));
        }
        let mut coords = GridInts::from_elem(0, self.ndims());
        // SAFETY: MPI_Cart_coords requires a Cartesian communicator, which `self` holds, and a rank of
        // it, as was asked above; it writes as many ints as the grid has dimensions, which is the
        // array's length.
        check(unsafe {
            mpi.call(self.as_raw(), rank as c_int, coords.len() as c_int, coords.as_mut_ptr())
        })?;
        Ok(sizes(&coords))
    }

    /// The rank of the process at these coordinates; they wrap around where the grid is periodic.
    /// C: `MPI_Cart_rank`. Local.
    ///
    /// # Errors
    /// [`DIMS`](ErrorClass::DIMS) if they are not as many as the dimensions, or out of range.
    ///
    /// ```no_run
    /// # fn example(torus: &rmpi::CartCommunicator<'_>) -> rmpi::RmpiResult {
    /// let corner = torus.process(torus.rank_at(&[-1, -1])?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Cart_rank)]
    pub fn rank_at(&self, coords: &[i32]) -> RmpiResult<usize> {
        if coords.len() != self.ndims() {
            return refused("as many coordinates are needed as the grid has dimensions");
        }
        let mut inside = GridInts::new();
        for ((coord, dim), period) in coords.iter().zip(&self.dims).zip(&self.periods) {
            if *period == 0 && !(0..*dim).contains(coord) {
                return refused("a coordinate is outside of the grid");
            }
            inside.push(coord.checked_rem_euclid(*dim).unwrap_or(0));
        }
        // SAFETY: MPI_Cart_rank requires a Cartesian communicator, which `self` holds, and reads as
        // many ints as the grid has dimensions: `inside` has one for each, within the grid. It writes
        // one int to `rank`.
        output(0, |rank| unsafe { mpi.call(self.as_raw(), inside.as_ptr(), rank) })
            .map(|rank| rank.unsigned_abs() as usize)
    }

    /// The neighbours at a distance along a dimension: the one to receive from and the one to send
    /// to. Beyond the edge of a grid they are `MPI_PROC_NULL`. C: `MPI_Cart_shift`. Local.
    ///
    /// # Errors
    /// [`DIMS`](ErrorClass::DIMS) if there is no such dimension.
    ///
    /// ```no_run
    /// # fn example(grid: &rmpi::CartCommunicator<'_>) -> rmpi::RmpiResult {
    /// let (from, to) = grid.shift(0, 1)?;
    /// let tag = rmpi::Tag::new(0);
    /// to.sendrecv_replace(&mut [1.0; 10], tag, &from, tag)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Cart_shift)]
    pub fn shift(
        &self,
        direction: usize,
        displacement: i32,
    ) -> RmpiResult<(Process<'_>, Process<'_>)> {
        let Some(dim) = self.dims.get(direction) else {
            return refused("there is no such dimension");
        };
        // The same neighbours, and no overflow in MPI.
        let displacement = if self.periods[direction] == 0 {
            displacement.clamp(-dim, *dim)
        } else {
            displacement.checked_rem(*dim).unwrap_or(0)
        };
        // SAFETY: MPI_Cart_shift requires a Cartesian communicator, which `self` holds, and the number
        // of one of its dimensions, as was asked above; it writes one int each to `source` and
        // `destination`.
        let (source, destination) = output((0, 0), |(source, destination)| unsafe {
            mpi.call(self.as_raw(), direction as c_int, displacement, source, destination)
        })?;
        // SAFETY: `Process::from_raw` requires a rank or MPI_PROC_NULL: MPI gives nothing else here.
        Ok(unsafe { (Process::from_raw(self, source), Process::from_raw(self, destination)) })
    }

    /// The part of the grid in which this process is and which has the dimensions for which `keep`
    /// is true. C: `MPI_Cart_sub`. Collective.
    ///
    /// # Errors
    /// [`DIMS`](ErrorClass::DIMS) if `keep` is not as long as there are dimensions.
    ///
    /// ```no_run
    /// # fn example(grid: &rmpi::CartCommunicator<'_>) -> rmpi::RmpiResult {
    /// let row = grid.sub(&[false, true])?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Cart_sub)]
    pub fn sub(&self, keep: &[bool]) -> RmpiResult<CartCommunicator<'ctx>> {
        if keep.len() != self.ndims() {
            return refused("which dimensions are kept is needed for all");
        }
        let keep: GridInts = keep.iter().map(|keep| (*keep).into()).collect();
        // SAFETY: MPI_Cart_sub requires a Cartesian communicator, which `self` holds, and reads as many
        // ints as the grid has dimensions, which is the array's length, as was asked above; it writes
        // one handle to `new`.
        let raw = output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(self.as_raw(), keep.as_ptr(), new)
        })?;
        CartCommunicator::new(made(raw).ok_or_else(none_made)?)
    }

    /// Its dimensions, where it is periodic, and this process's coordinates. C: `MPI_Cart_get`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(grid: &rmpi::CartCommunicator<'_>) -> rmpi::RmpiResult {
    /// let (dims, periods, coords) = grid.get()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Cart_get)]
    pub fn get(&self) -> RmpiResult<(Vec<usize>, Vec<bool>, Vec<usize>)> {
        let zeros = || GridInts::from_elem(0, self.ndims());
        let (mut dims, mut periods, mut coords) = (zeros(), zeros(), zeros());
        // SAFETY: MPI_Cart_get requires a Cartesian communicator, which `self` holds, and writes as
        // many ints to each array as the grid has dimensions, which is their length.
        check(unsafe {
            mpi.call(
                self.as_raw(),
                dims.len() as c_int,
                dims.as_mut_ptr(),
                periods.as_mut_ptr(),
                coords.as_mut_ptr(),
            )
        })?;
        let periods = periods.iter().map(|period| *period != 0).collect();
        Ok((sizes(&dims), periods, sizes(&coords)))
    }
}

/// Dimensions of a grid of so many points, as equal as can be; those that are not 0 stay.
/// C: `MPI_Dims_create`. Local.
///
/// # Errors
/// [`DIMS`](ErrorClass::DIMS), among others, if the number is no multiple of the dimensions that are
/// there.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let mut dims = [0, 0, 2];
/// rmpi::dims_create(world, 24, &mut dims)?;
/// assert_eq!(dims, [4, 3, 2]);
/// # Ok(()) }
/// ```
#[wraps(MPI_Dims_create)]
pub fn dims_create<R: Runtime>(runtime: &R, nodes: usize, dims: &mut [usize]) -> RmpiResult {
    let _ = runtime;
    const TOO_LARGE: &str = "a number is greater than 2147483647";
    let Ok(count) = c_int::try_from(nodes) else { return refused(TOO_LARGE) };
    let ndims = length(dims)?;
    // MPICH divides by zero, or does not come to an end.
    let given =
        dims.iter().filter(|dim| **dim > 0).try_fold(1_usize, |all, dim| all.checked_mul(*dim));
    let divisible = given.is_some_and(|given| nodes.is_multiple_of(given));
    if nodes == 0 || nodes == c_int::MAX as usize || !divisible {
        return Err(Error::refused(
            ErrorClass::DIMS,
            "the number of nodes is no multiple of the given dimensions, or not one to divide",
        ));
    }
    let mut raw = ints(dims, ErrorClass::DIMS, TOO_LARGE)?;
    // SAFETY: MPI_Dims_create reads and writes `ndims` ints, which is the array's length, and requires
    // a number that is a multiple of those that are not 0, as was asked above.
    check(unsafe { mpi.call(count, ndims, raw.as_mut_ptr()) })?;
    for (dim, raw) in dims.iter_mut().zip(&raw) {
        *dim = raw.unsigned_abs() as usize;
    }
    Ok(())
}

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
    /// Which topology it has. C: `MPI_Topo_test`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// assert_eq!(world.topo_test()?, rmpi::TopologyKind::Undefined);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Topo_test)]
    pub fn topo_test(&self) -> RmpiResult<TopologyKind> {
        // SAFETY: MPI_Topo_test requires a communicator, which `self` holds, and writes one int to
        // `kind`.
        let kind = output(sys::MPI_UNDEFINED, |kind| unsafe { mpi.call(self.as_raw(), kind) })?;
        TopologyKind::from_raw(kind)
            .ok_or(Error::refused(ErrorClass::TOPOLOGY, "MPI told an unknown topology"))
    }

    /// A grid of these dimensions, with wraparound where it is periodic; none for processes beyond its
    /// size. C: `MPI_Cart_create`. Collective.
    ///
    /// # Errors
    /// [`DIMS`](ErrorClass::DIMS) if the grid has no points or more than there are processes.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let ring = world.cart_create(&[world.size()?], &[true], false)?.expect("all are in it");
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Cart_create)]
    pub fn cart_create(
        &self,
        dims: &[usize],
        periods: &[bool],
        reorder: bool,
    ) -> RmpiResult<Option<CartCommunicator<'ctx>>> {
        let (dims, periods) = grid(dims, periods, self.known_size()?)?;
        let (ndims, dims, periods) = (dims.len() as c_int, dims.as_ptr(), periods.as_ptr());
        // SAFETY: MPI_Cart_create requires an intracommunicator, which `self` holds, as `known_size`
        // has found, and a grid no greater than it, as `grid` has found; it reads `ndims` ints from
        // each array, which have one for each dimension, and writes one handle to `new`.
        let raw = output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(self.as_raw(), ndims, dims, periods, reorder.into(), new)
        })?;
        made(raw).map(CartCommunicator::new).transpose()
    }

    /// The rank that this process had best in such a grid; `None` if it is not in it.
    /// C: `MPI_Cart_map`. Local.
    ///
    /// # Errors
    /// As [`cart_create`](Self::cart_create).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", world.cart_map(&[world.size()?], &[true])?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Cart_map)]
    pub fn cart_map(&self, dims: &[usize], periods: &[bool]) -> RmpiResult<Option<usize>> {
        let (dims, periods) = grid(dims, periods, self.known_size()?)?;
        let ndims = dims.len() as c_int;
        // SAFETY: MPI_Cart_map requires an intracommunicator, which `self` holds, as `known_size` has
        // found, and a grid no greater than it, as `grid` has found; it reads `ndims` ints from each
        // array, which have one for each dimension, and writes one int to `rank`.
        let rank = output(sys::MPI_UNDEFINED, |rank| unsafe {
            mpi.call(self.as_raw(), ndims, dims.as_ptr(), periods.as_ptr(), rank)
        })?;
        Ok(rank.try_into().ok())
    }

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
fn nodes(ranks: &[usize], size: usize) -> RmpiResult<Ints> {
    if ranks.iter().any(|rank| *rank >= size) {
        return Err(Error::refused(ErrorClass::RANK, "there is no process of that rank"));
    }
    // They fit, since they are less than a size of MPI.
    Ok(ranks.iter().map(|rank| *rank as c_int).collect())
}
