//! Elements in a row, and blocks at equal distances.

use rmpi_macros::wraps;

use super::super::error::RmpiResult;
use super::super::layout::{Layout, Plan, negative};
use super::super::runtime::Runtime;
use super::super::sys::MPI_Count;
use super::numbers::count_of;
use super::object::made;
use super::{AnyDatatype, Datatype, UncommittedDatatype};

impl<'ctx> Datatype<'ctx> {
    /// `count` elements one after the other. C: `MPI_Type_contiguous`. Local.
    ///
    /// # Errors
    /// What MPI says; [`COUNT`](super::super::ErrorClass::COUNT) if the datatype would be larger than 2<sup>60</sup>
    /// bytes, as with all that follow.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let three = Datatype::contiguous(context, 3, &DatatypeRef::of::<f64>(context)?)?;
    /// assert_eq!(three.get_extent()?, (0, 24));
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_contiguous in Self)]
    pub fn contiguous(
        runtime: &'ctx impl Runtime,
        count: usize,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let count = count_of(count)?;
        let (layout, mut plan) = (old.layout()?, Plan::default());
        plan.block(&layout, 0, count);
        plan.check()?;
        let count = if Plan::counts(&layout, count) { count } else { 0 };
        // SAFETY: `MPI_Type_contiguous` asks for a datatype: `old`, which is borrowed, is one. It writes
        // another one.
        unsafe { made(plan, |new| mpi.call(count, old.raw(), new)) }
    }

    /// `count` blocks of `blocklength` elements; from the start of one to that of the next are
    /// `stride` elements. C: `MPI_Type_vector`. Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // A column of a matrix of 10 rows and 20 columns.
    /// let column = Datatype::vector(context, 10, 1, 20, &DatatypeRef::of::<f64>(context)?)?.commit()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_vector in Self)]
    pub fn vector(
        runtime: &'ctx impl Runtime,
        count: usize,
        blocklength: usize,
        stride: isize,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let layout = old.layout()?;
        let stride = stride as MPI_Count;
        let bytes = i128::from(layout.extent).saturating_mul(stride.into());
        let (count, blocklength, plan) = vector_of(&layout, count, blocklength, bytes)?;
        // SAFETY: `MPI_Type_vector` asks for a datatype: `old`, which is borrowed, is one. It writes another
        // one.
        unsafe { made(plan, |new| mpi.call(count, blocklength, stride, old.raw(), new)) }
    }

    /// As [`vector`](Self::vector), with the stride in bytes. C: `MPI_Type_create_hvector`. Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let every_other = Datatype::hvector(context, 10, 1, 16, &DatatypeRef::of::<f64>(context)?)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_hvector in Self)]
    pub fn hvector(
        runtime: &'ctx impl Runtime,
        count: usize,
        blocklength: usize,
        stride: isize,
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let (count, blocklength, plan) =
            vector_of(&old.layout()?, count, blocklength, stride as i128)?;
        // SAFETY: `MPI_Type_create_hvector` asks for a datatype: `old`, which is borrowed, is one. It writes
        // another one.
        unsafe {
            made(plan, |new| mpi.call(count, blocklength, stride as MPI_Count, old.raw(), new))
        }
    }

    /// The same data with another lower bound and extent, in bytes. C: `MPI_Type_create_resized`.
    /// Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous), and [`ARG`](super::super::ErrorClass::ARG) if the extent is
    /// negative, which the standard allows: MPICH writes such elements elsewhere than it says.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // Columns that begin one number after the other.
    /// let column = Datatype::vector(context, 10, 1, 20, &DatatypeRef::of::<f64>(context)?)?;
    /// let columns = Datatype::resized(context, &column, 0, 8)?.commit()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_resized in Self)]
    pub fn resized(
        runtime: &'ctx impl Runtime,
        old: &impl AnyDatatype,
        lower_bound: isize,
        extent: isize,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        if extent < 0 {
            return Err(negative());
        }
        let (lower_bound, extent) = (lower_bound as MPI_Count, extent as MPI_Count);
        let mut layout = old.layout()?;
        (layout.lower, layout.extent) = (lower_bound, extent);
        let plan = Plan::same(&layout);
        plan.check()?;
        // SAFETY: `MPI_Type_create_resized` asks for a datatype: `old`, which is borrowed, is one. It writes
        // another one.
        unsafe { made(plan, |new| mpi.call(old.raw(), lower_bound, extent, new)) }
    }
}

/// The counts of a vector whose blocks begin every so many bytes, and what it will be.
fn vector_of(
    old: &Layout,
    count: usize,
    blocklength: usize,
    stride: i128,
) -> RmpiResult<(MPI_Count, MPI_Count, Plan)> {
    let (count, blocklength) = (count_of(count)?, count_of(blocklength)?);
    let mut plan = Plan::default();
    plan.blocks(old, count, stride, blocklength);
    plan.check()?;
    let count = if Plan::counts(old, blocklength) { count } else { 0 };
    Ok((count, blocklength, plan))
}
