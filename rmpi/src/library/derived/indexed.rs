//! Blocks at displacements of their own.

use rmpi_macros::wraps;
use smallvec::SmallVec;

use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::layout::{Layout, Plan};
use super::super::runtime::Runtime;
use super::super::sys::{MPI_Count, MPI_Datatype};
use super::numbers::{Numbers, Wide, count_of, same_length, wide};
use super::object::made;
use super::{AnyDatatype, Datatype, UncommittedDatatype};

/// Blocks as C has them, without those in which there is nothing, and what they will be.
struct Blocks {
    count: MPI_Count,
    lengths: Wide,
    displacements: Wide,
    plan: Plan,
}

/// Blocks of a length each, at displacements in units of so many bytes.
fn blocks(
    old: &Layout,
    blocks: impl Iterator<Item = (MPI_Count, isize)>,
    unit: i128,
) -> RmpiResult<Blocks> {
    let (mut lengths, mut displacements, mut plan) = (Wide::new(), Wide::new(), Plan::default());
    for (length, displacement) in blocks.filter(|(length, _)| Plan::counts(old, *length)) {
        plan.block(old, (displacement as i128).saturating_mul(unit), length);
        lengths.push(length);
        displacements.push(displacement as MPI_Count);
    }
    plan.check()?;
    Ok(Blocks { count: count_of(lengths.len())?, lengths, displacements, plan })
}

impl<'ctx> Datatype<'ctx> {
    /// Blocks of several lengths at displacements, in elements. C: `MPI_Type_indexed`. Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous), and [`ARG`](ErrorClass::ARG) if the arrays differ in length.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// // The upper triangle of a matrix of 3 rows and columns.
    /// let numbers = DatatypeRef::of::<f64>(context)?;
    /// let triangle = Datatype::indexed(context, &[3, 2, 1], &[0, 4, 8], &numbers)?.commit()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_indexed in Self)]
    pub fn indexed(
        runtime: &'ctx impl Runtime,
        blocklengths: &[usize],
        displacements: &[isize],
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        same_length(&[blocklengths.len(), displacements.len()])?;
        let (layout, lengths) = (old.layout()?, wide(blocklengths)?);
        let all = lengths.into_iter().zip(displacements.iter().copied());
        let Blocks { count, lengths, displacements, plan } =
            blocks(&layout, all, layout.extent.into())?;
        let numbers = Numbers::new([lengths, displacements], &[count]);
        // SAFETY: `MPI_Type_indexed` reads `count` lengths and displacements, of which `blocks` made as many,
        // and `numbers` lives on; and asks for a datatype: `old`, which is borrowed, is one. It writes another one.
        unsafe {
            made(plan, |new| mpi.call(count, numbers.array(0), numbers.array(1), old.raw(), new))
        }
    }

    /// Blocks of one length at displacements, in elements. C: `MPI_Type_create_indexed_block`. Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let chosen = Datatype::indexed_block(context, 1, &[2, 3, 5, 7], &DatatypeRef::of::<u8>(context)?)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_indexed_block in Self)]
    pub fn indexed_block(
        runtime: &'ctx impl Runtime,
        blocklength: usize,
        displacements: &[isize],
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let (layout, length) = (old.layout()?, count_of(blocklength)?);
        let all = displacements.iter().map(|at| (length, *at));
        let Blocks { count, displacements, plan, .. } = blocks(&layout, all, layout.extent.into())?;
        let numbers = Numbers::new([displacements], &[count, length]);
        // SAFETY: `MPI_Type_create_indexed_block` reads `count` displacements, of which `blocks` made as many,
        // and `numbers` lives on; and asks for a datatype: `old`, which is borrowed, is one. It writes another one.
        unsafe { made(plan, |new| mpi.call(count, length, numbers.array(0), old.raw(), new)) }
    }

    /// Blocks of several lengths at displacements, in bytes. C: `MPI_Type_create_hindexed`. Local.
    ///
    /// # Errors
    /// As [`indexed`](Self::indexed).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let pieces = Datatype::hindexed(context, &[1, 2], &[0, 24], &DatatypeRef::of::<f64>(context)?)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_hindexed in Self)]
    pub fn hindexed(
        runtime: &'ctx impl Runtime,
        blocklengths: &[usize],
        displacements: &[isize],
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        same_length(&[blocklengths.len(), displacements.len()])?;
        let all = wide(blocklengths)?.into_iter().zip(displacements.iter().copied());
        let Blocks { count, lengths, displacements, plan } = blocks(&old.layout()?, all, 1)?;
        let lengths = Numbers::new([lengths], &[count]);
        // SAFETY: `MPI_Type_create_hindexed` reads `count` lengths and displacements, of which `blocks` made as
        // many, and both live on; and asks for a datatype: `old`, which is borrowed, is one. It writes another one.
        unsafe {
            made(plan, |new| {
                mpi.call(count, lengths.array(0), displacements.as_ptr(), old.raw(), new)
            })
        }
    }

    /// Blocks of one length at displacements, in bytes. C: `MPI_Type_create_hindexed_block`. Local.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let pieces = Datatype::hindexed_block(context, 1, &[0, 24], &DatatypeRef::of::<f64>(context)?)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_hindexed_block in Self)]
    pub fn hindexed_block(
        runtime: &'ctx impl Runtime,
        blocklength: usize,
        displacements: &[isize],
        old: &impl AnyDatatype,
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        let length = count_of(blocklength)?;
        let all = displacements.iter().map(|at| (length, *at));
        let Blocks { count, displacements, plan, .. } = blocks(&old.layout()?, all, 1)?;
        // SAFETY: `MPI_Type_create_hindexed_block` reads `count` displacements, of which `blocks` made as many,
        // and which live on; and asks for a datatype: `old`, which is borrowed, is one. It writes another one.
        unsafe { made(plan, |new| mpi.call(count, length, displacements.as_ptr(), old.raw(), new)) }
    }

    /// Blocks of several datatypes at displacements, in bytes. C: `MPI_Type_create_struct`. Local.
    ///
    /// A Rust struct has its datatype by the derive of [`MpiDatatype`](crate::MpiDatatype).
    ///
    /// # Errors
    /// As [`indexed`](Self::indexed), and [`ARG`](ErrorClass::ARG) if one of several datatypes has bounds, but no
    /// data, which the standard allows: Open MPI writes elements of the whole elsewhere than it says. To have
    /// these bounds, [resize](Self::resized) the whole.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let (number, byte) = (DatatypeRef::of::<f64>(context)?, DatatypeRef::of::<u8>(context)?);
    /// let record = Datatype::create_struct(context, &[3, 1], &[0, 24], &[&number, &byte])?;
    /// assert_eq!(record.size()?, 25);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Type_create_struct in Self)]
    pub fn create_struct(
        runtime: &'ctx impl Runtime,
        blocklengths: &[usize],
        displacements: &[isize],
        types: &[&dyn AnyDatatype],
    ) -> RmpiResult<UncommittedDatatype<'ctx>> {
        let _ = runtime;
        same_length(&[blocklengths.len(), displacements.len(), types.len()])?;
        let (mut lengths, mut at, mut plan) = (Wide::new(), Wide::new(), Plan::default());
        let (mut raw_types, mut bounds_only) = (SmallVec::<[MPI_Datatype; 8]>::new(), false);
        let all = wide(blocklengths)?.into_iter().zip(displacements).zip(types);
        for ((length, displacement), old) in all {
            let layout = old.layout()?;
            // As with `blocks`.
            if Plan::counts(&layout, length) {
                bounds_only |= layout.size == 0;
                plan.block(&layout, *displacement as i128, length);
                lengths.push(length);
                at.push(*displacement as MPI_Count);
                raw_types.push(old.raw());
            }
        }
        plan.check()?;
        if bounds_only && plan.has_data() {
            // Open MPI places elements of such a type elsewhere than it says.
            return Err(Error::refused(
                ErrorClass::ARG,
                "a datatype with bounds and without data cannot be beside others: resize the whole",
            ));
        }
        let (count, displacements, types) = (count_of(lengths.len())?, at, raw_types);
        let lengths = Numbers::new([lengths], &[count]);
        // SAFETY: `MPI_Type_create_struct` reads `count` lengths, displacements and datatypes: the loop made as
        // many of each, which live on. The datatypes are those that `types` borrows.
        unsafe {
            made(plan, |new| {
                mpi.call(count, lengths.array(0), displacements.as_ptr(), types.as_ptr(), new)
            })
        }
    }
}
