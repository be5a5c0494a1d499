//! Grids.

use rmpi_macros::wraps;
use smallvec::SmallVec;

use super::super::communicator::{Communicator, made, none_made};
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::group::length;
use super::super::process::Process;
use super::super::sys::{self, MPI_Comm, c_int};
use super::Neighborhood;
use super::common::{refused, sizes, topology};
use crate::TopologyKind;
use core::ops::Deref;

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

topology! { CartCommunicator = Cartesian }

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

impl<'ctx> Communicator<'ctx> {
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
}
