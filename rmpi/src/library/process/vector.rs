//! Receives into a vector that becomes as long as the message.

use super::super::buffer::{RawBuffer, TypeDynamicBufferMut};
use super::super::datatype::ElementOf;
use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::status::Status;
use super::super::sys::MPI_Count;
use super::{Message, Source};
use crate::{MpiDatatype, TagSelector};

impl Source<'_> {
    /// Receives a message of any length as a vector, and tells of it.
    /// C: `MPI_Mprobe`, `MPI_Get_count`, `MPI_Mrecv`. Blocks, not local.
    ///
    /// The vector is made when the length is known, and MPI writes to it: no element is written twice. At
    /// `MPI_THREAD_MULTIPLE`, no other thread can get the message in between.
    ///
    /// # Errors
    /// [`TYPE`](ErrorClass::TYPE) if the message is no whole number of elements, and is gone;
    /// [`NO_MEM`](ErrorClass::NO_MEM) if there is no memory for it; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let (numbers, status) = world.any_source().receive_vec::<f64>(rmpi::AnyTag)?;
    /// println!("{} numbers from {:?}", numbers.len(), status.source());
    ///
    /// let (pairs, _status) = world.process(0).receive_vec::<(u32, f64)>(rmpi::Tag::new(7))?;
    /// # Ok(()) }
    /// ```
    ///
    /// Elements without data have no number:
    ///
    /// ```compile_fail,E0080
    /// # fn main() -> rmpi::RmpiResult {
    /// # let context = rmpi::init()?;
    /// let (nothing, _status) = context.world().process(0).receive_vec::<()>(rmpi::AnyTag)?;
    /// # Ok(()) }
    /// ```
    #[doc(alias = "recv_vec")]
    pub fn receive_vec<T: MpiDatatype>(
        &self,
        tag: impl TagSelector,
    ) -> RmpiResult<(Vec<T>, Status)> {
        let (message, status) = self.mprobe(tag)?;
        message.into_vec(&status)
    }

    /// Receives a message of any length as a vector, if there is one.
    /// C: `MPI_Improbe`, and if there is one `MPI_Get_count`, `MPI_Mrecv`. Local.
    ///
    /// # Errors
    /// As [`receive_vec`](Self::receive_vec).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// while let Some((numbers, _status)) = world.any_source().try_receive_vec::<f64>(rmpi::AnyTag)? {
    ///     println!("{numbers:?}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn try_receive_vec<T: MpiDatatype>(
        &self,
        tag: impl TagSelector,
    ) -> RmpiResult<Option<(Vec<T>, Status)>> {
        let found = self.improbe(tag)?;
        found.map(|(message, status)| message.into_vec(&status)).transpose()
    }
}

impl Message<'_> {
    /// Receives as many values as the status of the probe says.
    fn into_vec<T: MpiDatatype>(self, status: &Status) -> RmpiResult<(Vec<T>, Status)> {
        const {
            assert!(T::TYPE_MAP.size() > 0, "a message of elements without data has no length");
        }
        let Some(values) = status.get_count::<T>()? else {
            // MPICH ends the program if it receives a part of an element. Every message is a number of bytes.
            let length = status.get_count::<u8>()?.unwrap_or(0);
            self.fill::<u8>(length)?;
            return Err(Error::refused(
                ErrorClass::TYPE,
                "the message is no whole number of elements: its sender has another datatype",
            ));
        };
        self.fill(values)
    }

    fn fill<T: MpiDatatype>(self, values: usize) -> RmpiResult<(Vec<T>, Status)> {
        let mut vector = Vec::<T>::new();
        if vector.try_reserve_exact(values).is_err() {
            return Err(Error::refused(ErrorClass::NO_MEM, "no memory for the message"));
        }
        let element = ElementOf::<T>::get()?;
        let raw = RawBuffer {
            pointer: vector.as_mut_ptr().cast(),
            // No more than bytes in memory.
            count: values.saturating_mul(element.per_value) as MPI_Count,
            datatype: element.datatype,
        };
        // SAFETY: `from_raw` asks for memory that MPI may write to as so many elements, that nobody else uses, and
        // that nobody reads before: `vector` has room for so many values, which the elements fill, and `mrecv`
        // only writes.
        let status = self.mrecv(unsafe { TypeDynamicBufferMut::from_raw(raw) })?;
        if status.get_count::<T>()? != Some(values) {
            return Err(Error::refused(ErrorClass::OTHER, "MPI received less than it had found"));
        }
        // SAFETY: `set_len` asks for so many initialised values within the capacity: MPI says that it wrote the
        // data of so many, for which there is room; any bits are values, and what is not data is padding.
        unsafe { vector.set_len(values) };
        Ok((vector, status))
    }
}
