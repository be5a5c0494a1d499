//! What a process sees of a file.

use core::ffi::CStr;

use rmpi_macros::wraps;

use super::super::datatype::DatatypeRef;
use super::super::derived::Datatype;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::info::{self, Info};
use super::super::layout::MOST_DATA;
use super::super::sys::{self, MPI_Datatype};
use super::steps::*;
use super::{File, View};

impl<'ctx> File<'ctx> {
    /// Says what this process sees of the file (MPI-5.0, 14.3): from byte `displacement` on, what
    /// `filetype` names, again and again, in elements of `etype`; and how it looks there: `c"native"`,
    /// `c"internal"` or [`EXTERNAL32`](super::super::EXTERNAL32). C: `MPI_File_set_view`. Collective.
    ///
    /// The displacements in `filetype` do not decrease, nor overlap if the file is written.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if `filetype` is not made of `etype`s, or has no data or extent, or leads
    /// 2<sup>62</sup> bytes or more from the start of the file;
    /// [`REQUEST`](ErrorClass::REQUEST) if a split operation was forgotten;
    /// [`UNSUPPORTED_DATAREP`](ErrorClass::UNSUPPORTED_DATAREP); what MPI says. After an error of MPI's the file
    /// cannot be used any more.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(world: &rmpi::Communicator<'_>, file: &mut rmpi::File<'_>) -> rmpi::RmpiResult {
    /// // Every process has every `size`th number.
    /// let number = DatatypeRef::of::<f64>(world)?;
    /// let extent = world.size()? as isize * 8;
    /// let mine = Datatype::resized(world, &number, 0, extent)?.commit()?;
    /// file.set_view(world.rank()? as u64 * 8, number, mine.as_ref(), c"native", None)?;
    /// file.write_all(&[1.0_f64; 10])?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_set_view)]
    pub fn set_view(
        &mut self,
        displacement: u64,
        etype: DatatypeRef<'_>,
        filetype: DatatypeRef<'_>,
        datarep: &CStr,
        info: Option<&Info<'_>>,
    ) -> RmpiResult {
        self.not_split()?;
        let displacement = offset_of(displacement)?;
        // MPIs divide by these.
        let (element, size) = (etype.size()?, filetype.size()?);
        let (lower, extent) = filetype.get_true_extent()?;
        let within = lower >= 0 && extent > 0 && filetype.get_extent()?.1 > 0;
        if element <= 0 || size <= 0 || size % element != 0 || !within {
            return Err(Error::refused(
                ErrorClass::ARG,
                "the file type has no data or extent, begins before 0, or is not made of the other",
            ));
        }
        // Of the last one, all of its data counts.
        let extent = (lower + extent).max(filetype.get_extent()?.1);
        let mut steps = Steps { displacement, element, size, extent, dense: false };
        steps.within(0)?;
        steps.dense = steps.reach(MOST_DATA).is_some();
        let (etype, filetype) = (etype.into_raw(), filetype.into_raw());
        let info = info::handle(info);
        // SAFETY: `MPI_File_set_view` asks for an open file on which no operation is pending, committed datatypes,
        // which MPI keeps, a text that ends with a zero, and an info or null. Requests borrow the file until their
        // scope has waited, and it is borrowed mutably here; a split operation was looked for above.
        let result = check(unsafe {
            mpi.call(self.raw, displacement, etype, filetype, datarep.as_ptr(), info)
        });
        // MPICH crashes when it uses a view that it has refused.
        self.broken = result.is_err();
        self.steps = steps;
        result
    }

    /// What this process sees of the file. C: `MPI_File_get_view`. Local.
    ///
    /// # Errors
    /// [`FILE`](ErrorClass::FILE) after MPI has refused a view; what MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// println!("{}", file.get_view()?.etype.get_name()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_get_view)]
    pub fn get_view(&self) -> RmpiResult<View<'ctx>> {
        self.whole()?;
        let null: MPI_Datatype = sys::MPI_DATATYPE_NULL;
        let mut name = [0_u8; sys::MPI_MAX_DATAREP_STRING as usize + 1];
        // SAFETY: `MPI_File_get_view` asks for an open file with a view, which `self` is until it is closed, as
        // `whole` has found, and for room for `MPI_MAX_DATAREP_STRING` bytes, which `name` has. It writes an
        // offset and two datatypes to what `output` lends.
        let view = output((0, null, null), |(displacement, etype, filetype)| unsafe {
            mpi.call(self.raw, displacement, etype, filetype, name.as_mut_ptr().cast())
        })?;
        // SAFETY: `from_given` asks for committed datatypes that nobody else frees, unless they are predefined,
        // while MPI runs: MPI gives the caller such ones, and runs for `'ctx`.
        let (etype, filetype) =
            unsafe { (Datatype::from_given(view.1), Datatype::from_given(view.2)) };
        let datarep = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(View {
            displacement: unsigned(view.0)?,
            etype,
            filetype,
            datarep: datarep.to_string_lossy().into_owned(),
        })
    }

    /// How far apart elements of a datatype are in the file, in bytes. C: `MPI_File_get_type_extent`.
    /// Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// let extent = file.get_type_extent(rmpi::DatatypeRef::of::<f64>(file)?)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_get_type_extent)]
    pub fn get_type_extent(&self, datatype: DatatypeRef<'_>) -> RmpiResult<i64> {
        // SAFETY: `MPI_File_get_type_extent` asks for an open file, which `self` is until it is closed, and for
        // a datatype, which a `DatatypeRef` is. It writes a number.
        let extent = output(0, |extent: &mut sys::MPI_Aint| unsafe {
            mpi.call(self.raw, datatype.into_raw(), extent)
        })?;
        Ok(extent as i64)
    }
}
