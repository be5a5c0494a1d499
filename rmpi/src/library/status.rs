use super::datatype::ElementOf;
use super::error::{RmpiResult, output};
use super::runtime::callable;
use super::sys::{self, MPI_Status, c_int};
use crate::{SendDatatype, Tag};
use rmpi_macros::wraps;

/// What a receive, a probe or a completion tells (MPI-5.0, 3.2.5).
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Status(MPI_Status);

impl Status {
    /// The status of C.
    ///
    /// # Safety
    /// MPI wrote it, in this process, or it is a copy of one that MPI wrote. MPI computes with its numbers: of some that
    /// nobody counted, MPICH counts elements of a structure for years.
    pub const unsafe fn from_raw(raw: MPI_Status) -> Self {
        Self(raw)
    }

    /// C's status.
    pub const fn into_raw(self) -> MPI_Status {
        self.0
    }

    /// The sender's rank; `None` where it is `MPI_PROC_NULL` or, in the status of what is no
    /// receive, `MPI_ANY_SOURCE`.
    pub fn source(&self) -> Option<usize> {
        self.0.MPI_SOURCE.try_into().ok()
    }

    /// The message's tag; `None` where there is no message and so no tag: in the status of a receive from
    /// `MPI_PROC_NULL`, or of what is no receive, it is `MPI_ANY_TAG`.
    pub fn tag(&self) -> Option<Tag> {
        Tag::from_raw(self.0.MPI_TAG)
    }

    /// How many elements of the type arrived; `None` if it was no whole number.
    /// C: `MPI_Get_count`, or `MPI_Get_count_c` where the number does not fit an `int`. Local.
    ///
    /// # Errors
    /// What MPI says, such as [`TYPE`](crate::ErrorClass::TYPE).
    ///
    /// ```no_run
    /// # fn example(from: &rmpi::Source<'_>) -> rmpi::RmpiResult {
    /// let mut text = [0_u8; 80];
    /// let status = from.recv_status(&mut text, rmpi::AnyTag)?;
    /// let length = status.get_count::<u8>()?.unwrap_or(0);
    /// println!("{}", String::from_utf8_lossy(&text[..length]));
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Get_count)]
    pub fn get_count<T: SendDatatype>(&self) -> RmpiResult<Option<usize>> {
        let _calling = callable()?;
        let element = ElementOf::<T>::get()?;
        // SAFETY: MPI_Get_count requires a status, which `self` is, as who made it promised, and a
        // datatype; it writes one int to `count`.
        let count =
            output(0, |count: &mut c_int| unsafe { mpi.call(&self.0, element.datatype, count) })?;
        let count = if count == sys::MPI_UNDEFINED && self.is_long() {
            // SAFETY: as above.
            output(0, |count| unsafe { sys::MPI_Get_count_c(&self.0, element.datatype, count) })?
        } else {
            count.into()
        };
        // Negative: MPI_UNDEFINED.
        let Ok(count) = usize::try_from(count) else { return Ok(None) };
        if element.per_value == 0 {
            return Ok(None);
        }
        Ok((count % element.per_value == 0).then_some(count / element.per_value))
    }

    /// Did more arrive than an `int` counts?
    fn is_long(&self) -> bool {
        let mut bytes = 0;
        // SAFETY: MPI_Get_elements_x requires a status, which `self` is, as who made it promised, and a
        // datatype, which is predefined; it writes one number to `bytes`.
        let result = unsafe { sys::MPI_Get_elements_x(&self.0, sys::MPI_BYTE, &mut bytes) };
        result == sys::MPI_SUCCESS && bytes > c_int::MAX.into()
    }

    /// How many elements of predefined types arrived, counting in what the type is made of.
    /// C: `MPI_Get_elements_x`. Local.
    ///
    /// # Errors
    /// What MPI says, such as [`TYPE`](crate::ErrorClass::TYPE).
    ///
    /// ```no_run
    /// # fn example(status: rmpi::Status) -> rmpi::RmpiResult {
    /// println!("{:?} numbers", status.get_elements::<[f64; 3]>()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Get_elements_x)]
    pub fn get_elements<T: SendDatatype>(&self) -> RmpiResult<Option<usize>> {
        let _calling = callable()?;
        let element = ElementOf::<T>::get()?;
        // SAFETY: MPI_Get_elements_x requires a status, which `self` is, as who made it promised, and a
        // datatype; it writes one number to `count`.
        let count = output(0, |count| unsafe { mpi.call(&self.0, element.datatype, count) })?;
        Ok(usize::try_from(count).ok())
    }

    /// Was the operation cancelled? C: `MPI_Test_cancelled`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(status: rmpi::Status) -> rmpi::RmpiResult {
    /// if status.test_cancelled()? {
    ///     println!("nothing came");
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Test_cancelled)]
    pub fn test_cancelled(&self) -> RmpiResult<bool> {
        let _calling = callable()?;
        // SAFETY: MPI_Test_cancelled requires a status, which `self` is, as who made it promised, and writes one
        // int to `flag`.
        output(0, |flag| unsafe { mpi.call(&self.0, flag) }).map(|flag| flag != 0)
    }
}

/// A status for MPI to write to.
pub(super) const fn empty() -> MPI_Status {
    // SAFETY: `zeroed` requires a type of which zeros are a value: a status consists of integers in all
    // ABIs.
    unsafe { core::mem::zeroed() }
}
