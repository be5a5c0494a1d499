//! The file, and what is done with it as a whole.

use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rmpi_macros::wraps;

use super::super::buffer::RawBuffer;
use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::group::Group;
use super::super::info::{self, Info};
use super::super::runtime::{Runtime, sealed};
use super::super::sys::{self, MPI_File, MPI_Offset};
use super::steps::*;
use super::{AccessMode, Whence};

/// A file that the processes of a communicator opened together (MPI-5.0, chapter 14), which is closed
/// when it is dropped.
///
/// Opening and closing are collective: all of these processes drop it, in the same order where they
/// drop more than one. It lives no longer than the [`RmpiContext`](super::super::RmpiContext) or session, and
/// stays on its thread.
///
/// What changes the file as a whole ([`set_view`](Self::set_view), [`set_size`](Self::set_size),
/// [`preallocate`](Self::preallocate), [`sync`](Self::sync)) borrows it mutably, since MPI allows it only where no
/// operation of the file is pending: after the [`scope`](super::super::scope()) of non-blocking ones, and after the end
/// of split ones.
///
/// Where data is in the file is said in elements of the [view](Self::set_view)'s elementary type,
/// bytes at first. A read at the end of the file is a short one: its [`Status`](super::super::Status) tells how
/// much there was, and the rest of the buffer stays as it was.
///
/// ```no_run
/// use rmpi::{AccessMode, File};
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let mode = AccessMode::CREATE | AccessMode::WRONLY;
/// let file = File::open(world, "numbers", mode, None)?;
/// let rank = world.rank()?;
/// file.write_at_all(rank as u64 * 80, &[rank as f64; 10])?;
/// file.close()
/// # }
/// ```
#[derive(Debug)]
pub struct File<'ctx> {
    pub(super) raw: MPI_File,
    /// A split collective operation was begun and has not ended.
    pub(super) split: Cell<bool>,
    /// MPI refused a view, and must not use what it has of it.
    pub(super) broken: bool,
    pub(super) steps: Steps,
    _context: PhantomData<(&'ctx (), *const ())>,
}

impl sealed::Runtime for File<'_> {}
impl Runtime for File<'_> {}

impl Drop for File<'_> {
    fn drop(&mut self) {
        // A split operation that was forgotten uses the file for ever.
        if !self.split.get() && !self.broken {
            // SAFETY: `MPI_File_close` asks for an open file, which is closed once and on which no operation is
            // left. `close` and `into_raw` forget the file; requests borrow it until their scope has waited; a
            // split operation was looked for above. `close` tells errors.
            unsafe { sys::MPI_File_close(&mut self.raw) };
        }
    }
}

fn text(path: &Path) -> RmpiResult<CString> {
    // Open MPI crashes with longer ones than the system's.
    if path.as_os_str().len() >= 4096 {
        return Err(Error::refused(ErrorClass::BAD_FILE, "a path of 4096 bytes or more"));
    }
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::refused(ErrorClass::BAD_FILE, "a zero byte in the path"))
}

/// Deletes a file. C: `MPI_File_delete`. Local.
///
/// # Errors
/// [`NO_SUCH_FILE`](ErrorClass::NO_SUCH_FILE) if there is none; what MPI says.
///
/// ```no_run
/// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
/// rmpi::file_delete(context, "numbers", None)
/// # }
/// ```
#[wraps(MPI_File_delete)]
pub fn file_delete<R: Runtime>(
    runtime: &R,
    path: impl AsRef<Path>,
    info: Option<&Info<'_>>,
) -> RmpiResult {
    let _ = runtime;
    let path = text(path.as_ref())?;
    // SAFETY: `MPI_File_delete` asks for a text that ends with a zero, and an info or null. MPI runs, as
    // `runtime` shows.
    check(unsafe { mpi.call(path.as_ptr(), info::handle(info)) })
}

/// Functions of an offset or a size.
macro_rules! of_number {
    ($($(#[$doc:meta])* $name:ident($argument:ident) = $function:ident, $kind:literal, $example:literal;)*) => {$(
        $(#[$doc])*
        #[doc = concat!(" C: `", stringify!($function), "`. ", $kind)]
        ///
        /// # Errors
        /// [`ARG`](ErrorClass::ARG) if it is more than `i64::MAX`; [`REQUEST`](ErrorClass::REQUEST) if a split
        /// operation was forgotten; what MPI says.
        ///
        /// ```no_run
        /// # fn example(file: &mut rmpi::File<'_>) -> rmpi::RmpiResult {
        #[doc = concat!("file.", $example, "?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&mut self, $argument: u64) -> RmpiResult {
            self.not_split()?;
            let $argument = offset_of($argument)?;
            // SAFETY: the function asks for an open file on which no operation is pending, and for a number that
            // is not negative. Requests borrow the file until their scope has waited, and it is borrowed mutably
            // here; a split operation was looked for above; `offset_of` gives such a number.
            check(unsafe { mpi.call(self.raw, $argument) })
        }
    )*};
}

/// Functions that tell an offset or a size.
macro_rules! to_number {
    ($($(#[$doc:meta])* $name:ident = $function:ident;)*) => {$(
        $(#[$doc])*
        #[doc = concat!(" C: `", stringify!($function), "`. Local.")]
        ///
        /// # Errors
        /// [`FILE`](ErrorClass::FILE) after MPI has refused a view; what MPI says.
        ///
        /// ```no_run
        /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
        #[doc = concat!("println!(\"{}\", file.", stringify!($name), "()?);")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self) -> RmpiResult<u64> {
            self.whole()?;
            // SAFETY: the function asks for an open file with a view, which `self` is until it is closed, as
            // `whole` has found. It writes a number to what `output` lends.
            unsigned(output(0, |offset| unsafe { mpi.call(self.raw, offset) })?)
        }
    )*};
}

/// Moves of a file pointer.
macro_rules! seeks {
    ($($(#[$doc:meta])* $name:ident $(from $position:ident)? = $function:ident, $kind:literal, $usable:ident, $errors:literal;)*) => {$(
        $(#[$doc])*
        #[doc = concat!(" C: `", stringify!($function), "`. ", $kind)]
        ///
        /// # Errors
        #[doc = $errors]
        /// [`ARG`](ErrorClass::ARG) if the place is 2<sup>62</sup> bytes or more from the start of the file. What MPI
        /// says, as of a place before the start of the view.
        ///
        /// ```no_run
        /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
        #[doc = concat!("file.", stringify!($name), "(-10, rmpi::Whence::End)?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self, offset: i64, whence: Whence) -> RmpiResult {
            self.$usable()?;
            self.at(offset.unsigned_abs())?;
            // Before the start of the view, MPI refuses it. Where the shared pointer is, nobody can know: another process
            // may have moved it in this very call.
            $(if whence == Whence::Current && offset > 0 {
                self.at(self.$position()?.saturating_add(offset.unsigned_abs()))?;
            })?
            // SAFETY: the function asks for an open file with a view, which `self` is until it is closed, as was
            // asked above, an offset that it can compute with, as `at` has found, and one of the three constants.
            check(unsafe { mpi.call(self.raw, offset, whence.into_raw()) })
        }
    )*};
}

impl<'ctx> File<'ctx> {
    /// Opens a file, with all processes of a communicator. C: `MPI_File_open`. Collective.
    ///
    /// # Errors
    /// [`NO_SUCH_FILE`](ErrorClass::NO_SUCH_FILE), [`FILE_EXISTS`](ErrorClass::FILE_EXISTS),
    /// [`ACCESS`](ErrorClass::ACCESS), [`AMODE`](ErrorClass::AMODE) and others that MPI says;
    /// [`COMM`](ErrorClass::COMM) if it is an intercommunicator.
    ///
    /// ```no_run
    /// use rmpi::{AccessMode, File};
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let file = File::open(world, "numbers", AccessMode::RDONLY, None)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_open in Self)]
    pub fn open(
        communicator: &Communicator<'ctx>,
        path: impl AsRef<Path>,
        mode: AccessMode,
        info: Option<&Info<'_>>,
    ) -> RmpiResult<Self> {
        communicator.intra()?;
        let path = text(path.as_ref())?;
        let comm = communicator.as_raw();
        // SAFETY: `MPI_File_open` asks for an intracommunicator, which `intra` has made sure of, a text that ends
        // with a zero, and an info or null. It writes a file.
        let raw = output(sys::MPI_FILE_NULL, |file| unsafe {
            mpi.call(comm, path.as_ptr(), mode.0, info::handle(info), file)
        })?;
        // SAFETY: `from_raw` asks for an open file whose errors return, that nobody else closes, while MPI
        // runs. MPI has just opened this one for the caller, its errors return, since nobody changes that of
        // MPI_FILE_NULL, and MPI runs for `'ctx`.
        Ok(unsafe { Self::from_raw(raw) })
    }

    /// The file of a handle, which is closed with it.
    ///
    /// # Safety
    /// It is an open file whose errors return. Nobody else closes it, and what others began on it ends before it
    /// is closed, or borrowed mutably. If it has another view than one of bytes, offsets are only given that MPI can
    /// compute with. MPI runs for `'ctx`, and this thread may call it.
    pub const unsafe fn from_raw(raw: MPI_File) -> Self {
        Self {
            raw,
            split: Cell::new(false),
            broken: false,
            steps: Steps::BYTES,
            _context: PhantomData,
        }
    }

    /// C's handle, which nobody closes any more.
    pub fn into_raw(self) -> MPI_File {
        ManuallyDrop::new(self).raw
    }

    /// C's handle, which the file keeps.
    pub const fn as_raw(&self) -> MPI_File {
        self.raw
    }

    /// Closes the file, as its drop does, and says what went wrong. C: `MPI_File_close`. Collective.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if a split operation was forgotten: the file stays open; what
    /// MPI says.
    ///
    /// ```no_run
    /// # fn example(file: rmpi::File<'_>) -> rmpi::RmpiResult {
    /// file.close()
    /// # }
    /// ```
    #[wraps(MPI_File_close)]
    pub fn close(self) -> RmpiResult {
        self.not_split()?;
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `MPI_File_close` asks for an open file, which is closed once and on which no operation is
        // left. `this` is not dropped; requests borrow the file until their scope has waited; a split operation
        // was looked for above.
        check(unsafe { mpi.call(&mut this.raw) })
    }

    pub(super) fn whole(&self) -> RmpiResult {
        if self.broken {
            return Err(Error::refused(ErrorClass::FILE, "MPI refused the file's view"));
        }
        Ok(())
    }

    /// C's offset, if it leads to a place in the file.
    pub(super) fn at(&self, offset: u64) -> RmpiResult<MPI_Offset> {
        self.steps.within(offset_of(offset)?)
    }

    /// Refuses data that reaches too far. MPI is asked how much it is where the view has large holes.
    pub(super) fn fits(&self, raw: &RawBuffer) -> RmpiResult {
        if self.steps.dense {
            return Ok(());
        }
        // SAFETY: `MPI_Type_size_x` asks for a datatype, which a buffer has. It writes a number to what `output`
        // lends.
        let size = output(0, |size| unsafe { sys::MPI_Type_size_x(raw.datatype, size) })?;
        let reach = size.checked_mul(raw.count).and_then(|bytes| self.steps.reach(bytes));
        reach.map(drop).ok_or_else(too_far)
    }

    /// As [`fits`](Self::fits), from where this process's file pointer is. Where the view has no holes, it comes
    /// nowhere by what memory has; where it has, few reads of nothing behind the end move it far.
    pub(super) fn fits_here(&self, raw: &RawBuffer) -> RmpiResult {
        if self.steps.extent > self.steps.size {
            self.at(self.get_position()?)?;
        }
        self.fits(raw)
    }

    pub(super) fn not_split(&self) -> RmpiResult {
        self.whole()?;
        if self.split.get() {
            return Err(Error::refused(
                ErrorClass::REQUEST,
                "a split collective operation on the file has not ended",
            ));
        }
        Ok(())
    }

    of_number! {
        /// Makes the file so many bytes long.
        set_size(size) = MPI_File_set_size, "Collective.", "set_size(4096)";
        /// Makes sure that there is space for so many bytes.
        preallocate(size) = MPI_File_preallocate, "Collective.", "preallocate(4096)";
    }

    to_number! {
        /// The file's size in bytes.
        get_size = MPI_File_get_size;
        /// Where this process's file pointer is, in elements of the view.
        get_position = MPI_File_get_position;
        /// Where the shared file pointer is, in elements of the view.
        get_position_shared = MPI_File_get_position_shared;
    }

    seeks! {
        /// Moves this process's file pointer.
        seek from get_position = MPI_File_seek, "Local.", whole,
            "[`FILE`](ErrorClass::FILE) after MPI has refused a view.";
        /// Moves the shared file pointer, by the same on all processes.
        seek_shared = MPI_File_seek_shared, "Collective.", not_split,
            "[`FILE`](ErrorClass::FILE) after MPI has refused a view; [`REQUEST`](ErrorClass::REQUEST) while a \
            split operation has not ended.";
    }

    /// The byte of the file at an offset in elements of the view. C: `MPI_File_get_byte_offset`. Local.
    ///
    /// # Errors
    /// [`FILE`](ErrorClass::FILE) after MPI has refused a view; what MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// println!("{}", file.get_byte_offset(10)?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_get_byte_offset)]
    pub fn get_byte_offset(&self, offset: u64) -> RmpiResult<u64> {
        self.whole()?;
        let offset = self.at(offset)?;
        // SAFETY: `MPI_File_get_byte_offset` asks for an open file with a view, which `self` is until it is
        // closed, as `whole` has found, and an offset that it can compute with, as `at` has found. It writes a
        // number to what `output` lends.
        unsigned(output(0, |byte| unsafe { mpi.call(self.raw, offset, byte) })?)
    }

    /// How the file was opened. C: `MPI_File_get_amode`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// assert!(file.get_amode()?.contains(rmpi::AccessMode::RDWR));
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_get_amode)]
    pub fn get_amode(&self) -> RmpiResult<AccessMode> {
        // SAFETY: `MPI_File_get_amode` asks for an open file, which `self` is until it is closed. It writes an
        // int to what `output` lends.
        output(0, |mode| unsafe { mpi.call(self.raw, mode) }).map(AccessMode)
    }

    /// The group of the processes that opened it. C: `MPI_File_get_group`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// println!("{} processes", file.get_group()?.size()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_get_group)]
    pub fn get_group(&self) -> RmpiResult<Group<'ctx>> {
        // SAFETY: `MPI_File_get_group` asks for an open file, which `self` is until it is closed. It writes a
        // group.
        let raw = output(sys::MPI_GROUP_NULL, |group| unsafe { mpi.call(self.raw, group) })?;
        // SAFETY: `from_raw` asks for a group that nobody else frees, while MPI runs: MPI made this one for the
        // caller, and MPI runs for `'ctx`.
        Ok(unsafe { Group::from_raw(raw) })
    }

    /// Gives MPI hints. C: `MPI_File_set_info`. Collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>, info: &rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// file.set_info(info)
    /// # }
    /// ```
    #[wraps(MPI_File_set_info)]
    pub fn set_info(&self, info: &Info<'_>) -> RmpiResult {
        // SAFETY: `MPI_File_set_info` asks for an open file, which `self` is until it is closed, and for an
        // info, which it copies.
        check(unsafe { mpi.call(self.raw, info.as_raw()) })
    }

    /// The hints that MPI uses. C: `MPI_File_get_info`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", file.get_info()?.keys()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_get_info)]
    pub fn get_info(&self) -> RmpiResult<Info<'ctx>> {
        // SAFETY: `MPI_File_get_info` asks for an open file, which `self` is until it is closed. It writes an
        // info.
        let raw = output(sys::MPI_INFO_NULL, |info| unsafe { mpi.call(self.raw, info) })?;
        // SAFETY: `from_raw` asks for an info that nobody else frees, while MPI runs: MPI made this one for the
        // caller, and MPI runs for `'ctx`.
        Ok(unsafe { Info::from_raw(raw) })
    }

    /// Makes accesses of this file happen one after the other, or not. C: `MPI_File_set_atomicity`.
    /// Collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// file.set_atomicity(true)
    /// # }
    /// ```
    #[wraps(MPI_File_set_atomicity)]
    pub fn set_atomicity(&self, atomic: bool) -> RmpiResult {
        // SAFETY: `MPI_File_set_atomicity` asks for an open file, which `self` is until it is closed.
        check(unsafe { mpi.call(self.raw, atomic.into()) })
    }

    /// Do accesses of this file happen one after the other? C: `MPI_File_get_atomicity`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// assert!(!file.get_atomicity()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_get_atomicity)]
    pub fn get_atomicity(&self) -> RmpiResult<bool> {
        // SAFETY: `MPI_File_get_atomicity` asks for an open file, which `self` is until it is closed. It writes
        // an int to what `output` lends.
        output(0, |flag| unsafe { mpi.call(self.raw, flag) }).map(|flag| flag != 0)
    }

    /// Brings what was written to the storage, where others see it. C: `MPI_File_sync`. Collective.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if a split operation was forgotten; what MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &mut rmpi::File<'_>) -> rmpi::RmpiResult {
    /// file.sync()
    /// # }
    /// ```
    #[wraps(MPI_File_sync)]
    pub fn sync(&mut self) -> RmpiResult {
        self.not_split()?;
        // SAFETY: `MPI_File_sync` asks for an open file on which no operation is pending. Requests borrow the file
        // until their scope has waited, and it is borrowed mutably here; a split operation was looked for above.
        check(unsafe { mpi.call(self.raw) })
    }
}
