//! Parts of arrays of several dimensions.

use rmpi_macros::wraps;
use smallvec::SmallVec;

use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::layout::{Layout, Plan};
use super::super::runtime::Runtime;
use super::super::sys::{self, MPI_Count, c_int};
use super::numbers::{Numbers, Wide, count_of, same_length, wide};
use super::object::made;
use super::{AnyDatatype, Datatype, UncommittedDatatype};

/// Which index of an array of several dimensions changes from an element to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last (`MPI_ORDER_C`).
    C,
    /// The first (`MPI_ORDER_FORTRAN`).
    Fortran,
}

impl Order {
    /// C's number.
    pub const fn into_raw(self) -> c_int {
        match self {
            Self::C => sys::MPI_ORDER_C,
            Self::Fortran => sys::MPI_ORDER_FORTRAN,
        }
    }
}

/// How a dimension of an array is distributed (MPI-5.0, 5.1.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// Not (`MPI_DISTRIBUTE_NONE`): its one process has all.
    None,
    /// In one block a process (`MPI_DISTRIBUTE_BLOCK`), of this many elements, or as many as it takes.
    Block(Option<usize>),
    /// In turn (`MPI_DISTRIBUTE_CYCLIC`), so many elements at a time, or one.
    Cyclic(Option<usize>),
}

impl Distribution {
    /// C's number, and the argument if it is not the default.
    const fn into_raw(self) -> (c_int, Option<usize>) {
        match self {
            Self::None => (sys::MPI_DISTRIBUTE_NONE, None),
            Self::Block(size) => (sys::MPI_DISTRIBUTE_BLOCK, size),
            Self::Cyclic(size) => (sys::MPI_DISTRIBUTE_CYCLIC, size),
        }
    }
}

/// A dimension of a [distributed array](Datatype::darray).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dimension {
    /// How many elements there are, on all processes.
    pub size: usize,
    /// Who has which.
    pub distribution: Distribution,
    /// Over how many processes.
    pub processes: usize,
}

impl Dimension {
    /// The first and the last element of a process, and how many it has. After [`check`](Self::check).
    fn part(&self, process: usize) -> (MPI_Count, MPI_Count, MPI_Count) {
        let block = match self.distribution {
            Distribution::None => self.size,
            Distribution::Block(None) => self.size.div_ceil(self.processes),
            Distribution::Cyclic(None) => 1,
            Distribution::Block(Some(block)) | Distribution::Cyclic(Some(block)) => block,
        };
        // All of a round of blocks, one a process. Too great a one has all elements in its first.
        let round = block.saturating_mul(self.processes);
        let first = block.saturating_mul(process);
        if first >= self.size {
            return (0, 0, 0);
        }
        let rounds = (self.size - 1 - first) / round;
        let last_block = first + rounds * round;
        let in_last = block.min(self.size - last_block);
        let count = rounds * block + in_last;
        (first as MPI_Count, (last_block + in_last - 1) as MPI_Count, count as MPI_Count)
    }

    fn check(&self) -> RmpiResult {
        let right = match self.distribution {
            Distribution::None => self.processes == 1,
            Distribution::Block(Some(block)) => {
                block > 0 && block.checked_mul(self.processes).is_some_and(|all| all >= self.size)
            }
            Distribution::Cyclic(Some(block)) => block > 0,
            Distribution::Block(None) | Distribution::Cyclic(None) => true,
        };
        if !right || self.size == 0 || self.processes == 0 {
            return Err(Error::refused(ErrorClass::ARG, "not a distribution of that dimension"));
        }
        Ok(())
    }
}

impl<'ctx> Datatype<'ctx> {
    /// A part of an array of several dimensions: `subsizes` elements of `sizes`, from `starts` on.
    /// C: `MPI_Type_create_subarray`. Local.
    ///
    /// # Errors
    /// As [`indexed`](Self::indexed), and [`ARG`](ErrorClass::ARG) if the part is empty or not within.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef, Order};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // A matrix of 10 rows and 20 columns without its border.
    /// let old = DatatypeRef::of::<f64>(context)?;
    /// let inner = Datatype::subarray(context, &[10, 20], &[8, 18], &[1, 1], Order::C, &old)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_subarray in Self)]
    pub fn subarray(
        runtime: &'ctx impl Runtime,
        sizes: &[usize],
        subsizes: &[usize],
        starts: &[usize],
        order: Order,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let dimensions = same_length(&[sizes.len(), subsizes.len(), starts.len()])?;
        let (sizes, subsizes, starts) = (wide(sizes)?, wide(subsizes)?, wide(starts)?);
        for ((size, subsize), start) in sizes.iter().zip(&subsizes).zip(&starts) {
            if *subsize < 1 || start.checked_add(*subsize).is_none_or(|end| end > *size) {
                return Err(Error::refused(ErrorClass::ARG, "empty, or not a part of the array"));
            }
        }
        let parts = subsizes.iter().zip(&starts);
        let parts = parts.map(|(subsize, start)| (*start, *start + *subsize - 1, *subsize));
        let (dimensions, plan) = array(dimensions, &sizes, parts, order, &old.layout()?)?;
        let numbers = Numbers::new([sizes, subsizes, starts], &[]);
        // SAFETY: `MPI_Type_create_subarray` reads three arrays of `dimensions` numbers: `same_length` has seen
        // to it that they have as many, and `numbers` lives on. It asks for a datatype: `old`, which is
        // borrowed, is one.
        unsafe {
            made(plan, |new| {
                mpi.call(
                    dimensions,
                    numbers.array(0),
                    numbers.array(1),
                    numbers.array(2),
                    order.into_raw(),
                    old.raw(),
                    new,
                )
            })
        }
    }

    /// The part of process `rank` of `size` of an array that is distributed over all of them.
    /// C: `MPI_Type_create_darray`. Local.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if the processes of the dimensions are not `size` in all, or the blocks
    /// do not cover the array; else as [`contiguous`](Self::contiguous).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef, Dimension, Distribution, Order};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // The rows in turn, on two processes; all of a row on one.
    /// let rows = Dimension { size: 100, distribution: Distribution::Cyclic(None), processes: 2 };
    /// let columns = Dimension { size: 50, distribution: Distribution::None, processes: 1 };
    /// let old = DatatypeRef::of::<f64>(context)?;
    /// let mine = Datatype::darray(context, 2, 0, &[rows, columns], Order::C, &old)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_darray in Self)]
    pub fn darray(
        runtime: &'ctx impl Runtime,
        size: usize,
        rank: usize,
        dimensions: &[Dimension],
        order: Order,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        type Ints = SmallVec<[c_int; 8]>;
        let _ = runtime;
        let refused = |_| Error::refused(ErrorClass::ARG, "not a number of processes or elements");
        let sizes = dimensions.iter().map(|it| count_of(it.size)).collect::<RmpiResult<Wide>>()?;
        let (mut distributions, mut arguments) = (Ints::new(), Ints::new());
        let mut processes = Ints::new();
        let mut product = 1_i128;
        for dimension in dimensions {
            dimension.check()?;
            let (distribution, argument) = dimension.distribution.into_raw();
            distributions.push(distribution);
            arguments.push(argument.map_or(Ok(sys::MPI_DISTRIBUTE_DFLT_DARG), |argument| {
                c_int::try_from(argument).map_err(refused)
            })?);
            processes.push(c_int::try_from(dimension.processes).map_err(refused)?);
            product = product.saturating_mul(dimension.processes as i128);
        }
        if product != size as i128 || rank >= size {
            return Err(Error::refused(ErrorClass::ARG, "not the processes of the dimensions"));
        }
        let (size, rank) = (c_int::try_from(size).map_err(refused)?, rank as c_int);
        let mut parts = SmallVec::<[_; 8]>::new();
        // The last dimension's process changes first, whatever the order of the elements (MPI-5.0, 5.1.4).
        let mut processes_before = rank as usize;
        for dimension in dimensions.iter().rev() {
            parts.push(dimension.part(processes_before % dimension.processes));
            processes_before /= dimension.processes;
        }
        parts.reverse();
        let count = count_of(dimensions.len())?;
        let (dimensions, plan) = array(count, &sizes, parts.into_iter(), order, &old.layout()?)?;
        let sizes = Numbers::new([sizes], &[]);
        // SAFETY: `MPI_Type_create_darray` reads four arrays of `dimensions` numbers: the loops made one for
        // each dimension, and they live on. It asks for a datatype: `old`, which is borrowed, is one. It writes another one.
        unsafe {
            made(plan, |new| {
                mpi.call(
                    size,
                    rank,
                    dimensions,
                    sizes.array(0),
                    distributions.as_ptr(),
                    arguments.as_ptr(),
                    processes.as_ptr(),
                    order.into_raw(),
                    old.raw(),
                    new,
                )
            })
        }
    }
}

/// How many dimensions an array has, and what a part of it will be: in each dimension the first and the last
/// of its elements, and how many there are.
fn array(
    dimensions: MPI_Count,
    sizes: &[MPI_Count],
    parts: impl Iterator<Item = (MPI_Count, MPI_Count, MPI_Count)>,
    order: Order,
    old: &Layout,
) -> RmpiResult<(c_int, Plan)> {
    let wide = |number: MPI_Count| i128::from(number);
    let mut parts: SmallVec<[_; 8]> =
        parts.map(|(first, last, count)| (wide(first), wide(last), wide(count))).collect();
    let elements = parts.iter().fold(1_i128, |all, part| all.saturating_mul(part.2));
    // How many elements lie between one and the next, in each dimension.
    let mut stride = 1_i128;
    let mut set_stride = |index: usize| {
        parts[index].2 = stride;
        stride = stride.saturating_mul(wide(sizes[index]).max(1));
    };
    match order {
        Order::C => (0..sizes.len()).rev().for_each(&mut set_stride),
        Order::Fortran => (0..sizes.len()).for_each(&mut set_stride),
    }
    let mut plan = Plan::default();
    plan.elements_of_array(old, &parts, elements, stride);
    plan.check()?;
    let dimensions = c_int::try_from(dimensions)
        .map_err(|_| Error::refused(ErrorClass::DIMS, "too many dimensions"))?;
    Ok((dimensions, plan))
}
