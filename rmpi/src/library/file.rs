use core::cell::Cell;
use core::ffi::{CStr, c_void};
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tool_macros::wraps;

use super::buffer::{BufferMut, BufferRef, RawBuffer};
use super::communicator::Communicator;
use super::context::{Runtime, sealed};
use super::datatype::DatatypeRef;
use super::derived::Datatype;
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::group::Group;
use super::info::{self, Info};
use super::request::{Request, Scope, placed};
use super::status::{self, Status};
use super::sys::{self, MPI_Datatype, MPI_File, MPI_Offset, c_int};

/// A file that the processes of a communicator opened together (MPI-5.0, chapter 14), which is closed
/// when it is dropped.
///
/// Opening and closing are collective: all of these processes drop it, in the same order where they
/// drop more than one. It lives no longer than the [`RmpiContext`](super::RmpiContext) or session, and
/// stays on its thread.
///
/// Where data is in the file is said in elements of the [view](Self::set_view)'s elementary type,
/// bytes at first. A read at the end of the file is a short one: its [`Status`] tells how much there
/// was, and the rest of the buffer stays as it was.
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
    raw: MPI_File,
    /// A split collective operation was begun and has not ended.
    split: Cell<bool>,
    /// MPI refused a view, and must not use what it has of it.
    broken: Cell<bool>,
    _context: PhantomData<(&'ctx (), *const ())>,
}

impl sealed::Runtime for File<'_> {}
impl Runtime for File<'_> {}

impl Drop for File<'_> {
    fn drop(&mut self) {
        // A split operation that was forgotten uses the file for ever.
        if !self.split.get() && !self.broken.get() {
            // SAFETY: `MPI_File_close` asks for an open file, which is closed once and on which no operation is
            // left. `close` and `into_raw` forget the file; requests borrow it until their scope has waited; a
            // split operation was looked for above. `close` tells errors.
            unsafe { sys::MPI_File_close(&mut self.raw) };
        }
    }
}

/// How a file is opened (MPI-5.0, 14.2.1): exactly one of [`RDONLY`](Self::RDONLY),
/// [`WRONLY`](Self::WRONLY) and [`RDWR`](Self::RDWR), and others with it.
///
/// ```
/// use rmpi::AccessMode;
/// let mode = AccessMode::CREATE | AccessMode::RDWR;
/// assert!(mode.contains(AccessMode::CREATE) && !mode.contains(AccessMode::EXCL));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccessMode(c_int);

macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident = $constant:ident,)*) => {
        impl AccessMode {$(
            $(#[$doc])*
            #[doc = concat!(" (`", stringify!($constant), "`)")]
            pub const $name: Self = Self(sys::$constant);
        )*}
    };
}

modes! {
    /// Only reads.
    RDONLY = MPI_MODE_RDONLY,
    /// Only writes.
    WRONLY = MPI_MODE_WRONLY,
    /// Reads and writes.
    RDWR = MPI_MODE_RDWR,
    /// Creates the file if there is none.
    CREATE = MPI_MODE_CREATE,
    /// With [`CREATE`](Self::CREATE), an error if there is one.
    EXCL = MPI_MODE_EXCL,
    /// Deletes the file when it is closed.
    DELETE_ON_CLOSE = MPI_MODE_DELETE_ON_CLOSE,
    /// Nobody else opens the file.
    UNIQUE_OPEN = MPI_MODE_UNIQUE_OPEN,
    /// Only sequential access, by the shared file pointer.
    SEQUENTIAL = MPI_MODE_SEQUENTIAL,
    /// All file pointers begin at the end.
    APPEND = MPI_MODE_APPEND,
}

impl AccessMode {
    /// The mode of C's number.
    pub const fn from_raw(raw: c_int) -> Self {
        Self(raw)
    }

    /// C's number.
    pub const fn into_raw(self) -> c_int {
        self.0
    }

    /// Does it have all flags of the other?
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl core::ops::BitOr for AccessMode {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What the offset of a [`seek`](File::seek) starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whence {
    /// The start of the view (`MPI_SEEK_SET`).
    Set,
    /// Where the pointer is (`MPI_SEEK_CUR`).
    Current,
    /// The end of the file (`MPI_SEEK_END`).
    End,
}

impl Whence {
    /// C's number.
    pub const fn into_raw(self) -> c_int {
        match self {
            Self::Set => sys::MPI_SEEK_SET,
            Self::Current => sys::MPI_SEEK_CUR,
            Self::End => sys::MPI_SEEK_END,
        }
    }
}

/// What a process sees of a file (MPI-5.0, 14.3): see [`File::get_view`].
#[derive(Debug)]
pub struct View<'ctx> {
    /// Bytes before the first element.
    pub displacement: u64,
    /// What offsets count.
    pub etype: Datatype<'ctx>,
    /// Which elements are there, again and again.
    pub filetype: Datatype<'ctx>,
    /// How they look in the file: `native`, `internal`, `external32` or another.
    pub datarep: String,
}

fn text(path: &Path) -> RmpiResult<CString> {
    // Open MPI crashes with longer ones than the system's.
    if path.as_os_str().len() >= 4096 {
        return Err(Error::refused(ErrorClass::BAD_FILE, "a path of 4096 bytes or more"));
    }
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::refused(ErrorClass::BAD_FILE, "a zero byte in the path"))
}

fn offset_of(offset: u64) -> RmpiResult<MPI_Offset> {
    MPI_Offset::try_from(offset)
        .map_err(|_| Error::refused(ErrorClass::ARG, "the offset is too large"))
}

fn unsigned(offset: MPI_Offset) -> RmpiResult<u64> {
    u64::try_from(offset).map_err(|_| Error::refused(ErrorClass::IO, "MPI told a negative offset"))
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
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
        #[doc = concat!("file.", $example, "?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self, $argument: u64) -> RmpiResult {
            let $argument = offset_of($argument)?;
            // SAFETY: a file.
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
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
        #[doc = concat!("println!(\"{}\", file.", stringify!($name), "()?);")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self) -> RmpiResult<u64> {
            // SAFETY: the function asks for an open file, which `self` is until it is closed. It writes a
            // number to what `output` lends.
            unsigned(output(0, |offset| unsafe { mpi.call(self.raw, offset) })?)
        }
    )*};
}

/// Moves of a file pointer.
macro_rules! seeks {
    ($($(#[$doc:meta])* $name:ident = $function:ident, $kind:literal;)*) => {$(
        $(#[$doc])*
        #[doc = concat!(" C: `", stringify!($function), "`. ", $kind)]
        ///
        /// # Errors
        /// What MPI says, as of a place before the start of the view.
        ///
        /// ```no_run
        /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
        #[doc = concat!("file.", stringify!($name), "(-10, rmpi::Whence::End)?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self, offset: i64, whence: Whence) -> RmpiResult {
            // SAFETY: the function asks for an open file, which `self` is until it is closed, and one of the
            // three constants.
            check(unsafe { mpi.call(self.raw, offset, whence.into_raw()) })
        }
    )*};
}

impl<'ctx> File<'ctx> {
    /// Opens a file, with all processes of a communicator. C: `MPI_File_open`. Collective.
    ///
    /// # Errors
    /// [`NO_SUCH_FILE`](ErrorClass::NO_SUCH_FILE), [`FILE_EXISTS`](ErrorClass::FILE_EXISTS),
    /// [`ACCESS`](ErrorClass::ACCESS), [`AMODE`](ErrorClass::AMODE) and others that MPI says.
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
        let path = text(path.as_ref())?;
        let comm = communicator.as_raw();
        // SAFETY: a communicator, a text, and an info or none.
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
    /// is closed. MPI runs for `'ctx`, and this thread may call it.
    pub const unsafe fn from_raw(raw: MPI_File) -> Self {
        Self { raw, split: Cell::new(false), broken: Cell::new(false), _context: PhantomData }
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

    fn whole(&self) -> RmpiResult {
        if self.broken.get() {
            return Err(Error::refused(ErrorClass::FILE, "MPI refused the file's view"));
        }
        Ok(())
    }

    fn not_split(&self) -> RmpiResult {
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
        seek = MPI_File_seek, "Local.";
        /// Moves the shared file pointer, by the same on all processes.
        seek_shared = MPI_File_seek_shared, "Collective.";
    }

    /// The byte of the file at an offset in elements of the view. C: `MPI_File_get_byte_offset`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// println!("{}", file.get_byte_offset(10)?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_get_byte_offset)]
    pub fn get_byte_offset(&self, offset: u64) -> RmpiResult<u64> {
        let offset = offset_of(offset)?;
        // SAFETY: `MPI_File_get_byte_offset` asks for an open file, which `self` is until it is closed. It
        // writes a number to what `output` lends.
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

    /// Says what this process sees of the file (MPI-5.0, 14.3): from byte `displacement` on, what
    /// `filetype` names, again and again, in elements of `etype`; and how it looks there: `c"native"`,
    /// `c"internal"` or [`EXTERNAL32`](super::EXTERNAL32). C: `MPI_File_set_view`. Collective.
    ///
    /// The displacements in `filetype` do not decrease, nor overlap if the file is written.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if `filetype` is not made of `etype`s, or has no data or extent;
    /// [`UNSUPPORTED_DATAREP`](ErrorClass::UNSUPPORTED_DATAREP); what MPI says. The file cannot be used
    /// any more then.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef};
    /// # fn example(world: &rmpi::Communicator<'_>, file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// // Every process has every `size`th number.
    /// let number = DatatypeRef::of::<f64>(file)?;
    /// let extent = world.size()? as isize * 8;
    /// let mine = Datatype::resized(world, &number, 0, extent)?.commit()?;
    /// file.set_view(world.rank()? as u64 * 8, number, mine.as_ref(), c"native", None)?;
    /// file.write_all(&[1.0_f64; 10])?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_set_view)]
    pub fn set_view(
        &self,
        displacement: u64,
        etype: DatatypeRef<'_>,
        filetype: DatatypeRef<'_>,
        datarep: &CStr,
        info: Option<&Info<'_>>,
    ) -> RmpiResult {
        self.whole()?;
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
        let (etype, filetype) = (etype.into_raw(), filetype.into_raw());
        let info = info::handle(info);
        // SAFETY: a file, committed datatypes, which MPI keeps, a text, and an info or none.
        let result = check(unsafe {
            mpi.call(self.raw, displacement, etype, filetype, datarep.as_ptr(), info)
        });
        // MPICH crashes when it uses a view that it has refused.
        self.broken.set(result.is_err());
        result
    }

    /// What this process sees of the file. C: `MPI_File_get_view`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// println!("{}", file.get_view()?.etype.get_name()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_File_get_view)]
    pub fn get_view(&self) -> RmpiResult<View<'ctx>> {
        let null: MPI_Datatype = sys::MPI_DATATYPE_NULL;
        let mut name = [0_u8; sys::MPI_MAX_DATAREP_STRING as usize + 1];
        // SAFETY: `MPI_File_get_view` asks for an open file, which `self` is until it is closed, and for room
        // for `MPI_MAX_DATAREP_STRING` bytes, which `name` has. It writes an offset and two datatypes to what
        // `output` lends.
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
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
    /// file.sync()
    /// # }
    /// ```
    #[wraps(MPI_File_sync)]
    pub fn sync(&self) -> RmpiResult {
        // SAFETY: a file.
        check(unsafe { mpi.call(self.raw) })
    }
}

/// Reads and writes that block.
macro_rules! accesses {
    ($buffer:ident $as_raw:ident $what:literal, $example:literal; $(
        $name:ident($($offset:ident)?) = $function:ident, $where:literal, $kind:literal;
    )*) => {
        impl File<'_> {$(
            #[doc = concat!($what, $where, ". C: `", stringify!($function), "`. ", $kind)]
            ///
            /// # Errors
            /// What MPI says.
            ///
            /// ```no_run
            /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
            /// let mut numbers = [0.0_f64; 10];
            #[doc = concat!(
                "let status = file.", stringify!($name), "(",
                $("10 /* ", stringify!($offset), " */, ",)? $example, ")?;"
            )]
            /// println!("{:?}", status.get_count::<f64>()?);
            /// # Ok(()) }
            /// ```
            #[wraps($function)]
            #[allow(unused_mut, reason = "reads need it")]
            pub fn $name<B: $buffer>(
                &self,
                $($offset: u64,)?
                mut buffer: B,
            ) -> RmpiResult<Status> {
                self.whole()?;
                $(let $offset = offset_of($offset)?;)?
                let raw = buffer.$as_raw()?;
                // SAFETY: the function asks for an open file, which `self` is until it is closed, and a buffer
                // that is accessible during the call: its trait promises that of what `$as_raw` gave, and
                // `buffer` lives on. It writes a status to what `output` lends.
                output(status::empty(), |status| unsafe {
                    mpi.call(self.raw, $($offset,)? raw.pointer, raw.count, raw.datatype, status)
                })
                .map(Status::from_raw)
            }
        )*}
    };
}

accesses! {
    BufferMut as_raw_mut "Reads into a buffer", "&mut numbers";
    read() = MPI_File_read, " from where this process's file pointer is, which moves",
        "Blocks, local.";
    read_all() = MPI_File_read_all, " from where this process's file pointer is, which moves",
        "Blocks, collective.";
    read_at(offset) = MPI_File_read_at, ", at an offset", "Blocks, local.";
    read_at_all(offset) = MPI_File_read_at_all, ", at an offset", "Blocks, collective.";
    read_shared() = MPI_File_read_shared, " from where the shared file pointer is, which moves",
        "Blocks, not local.";
    read_ordered() = MPI_File_read_ordered,
        " from where the shared file pointer is, one process after the other", "Blocks, collective.";
}

accesses! {
    BufferRef as_raw "Writes a buffer", "&numbers";
    write() = MPI_File_write, " to where this process's file pointer is, which moves",
        "Blocks, local.";
    write_all() = MPI_File_write_all, " to where this process's file pointer is, which moves",
        "Blocks, collective.";
    write_at(offset) = MPI_File_write_at, ", at an offset", "Blocks, local.";
    write_at_all(offset) = MPI_File_write_at_all, ", at an offset", "Blocks, collective.";
    write_shared() = MPI_File_write_shared, " to where the shared file pointer is, which moves",
        "Blocks, not local.";
    write_ordered() = MPI_File_write_ordered,
        " to where the shared file pointer is, one process after the other", "Blocks, collective.";
}

/// Reads and writes in a scope.
macro_rules! accesses_later {
    ($buffer:ident $as_raw:ident $what:literal, $example:literal; $(
        $name:ident($($offset:ident)?) = $function:ident, $like:ident, $kind:literal;
    )*) => {
        impl File<'_> {$(
            #[doc = concat!("Begins to ", $what, " as [`", stringify!($like), "`](Self::",
                stringify!($like), ") does. C: `", stringify!($function), "`. ", $kind)]
            ///
            /// The file lives longer than the scope, since it must not be closed before.
            ///
            /// # Errors
            /// What MPI says.
            ///
            /// ```no_run
            /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
            /// let mut numbers = [0.0_f64; 10];
            /// rmpi::scope(|scope| {
            #[doc = concat!(
                "    let request = file.", stringify!($name), "(scope, ",
                $("10 /* ", stringify!($offset), " */, ",)? $example, ")?;"
            )]
            ///     let (_numbers, status) = request.wait_status()?;
            ///     println!("{:?}", status.get_count::<f64>()?);
            ///     Ok(())
            /// })
            /// # }
            /// ```
            #[wraps($function)]
            #[allow(unused_mut, reason = "reads need it")]
            pub fn $name<'scope, B: $buffer + 'scope>(
                &'scope self,
                scope: &'scope Scope<'scope, '_>,
                $($offset: u64,)?
                buffer: B,
            ) -> RmpiResult<Request<'scope, B>> {
                self.whole()?;
                $(let $offset = offset_of($offset)?;)?
                // SAFETY: `begin_lasting` asks for memory that is the buffer's wherever that moves, and valid
                // for `'scope`: its trait and `B: 'scope` say so. The file is borrowed for `'scope`, and so is
                // not closed before the scope has waited.
                unsafe {
                    scope.begin_lasting(buffer, |buffer| {
                        let raw = buffer.$as_raw()?;
                        output(sys::MPI_REQUEST_NULL, |request| {
                            let RawBuffer { pointer, count, datatype } = raw;
                            mpi.call(self.raw, $($offset,)? pointer, count, datatype, request)
                        })
                    })
                }
            }
        )*}
    };
}

accesses_later! {
    BufferMut as_raw_mut "read", "&mut numbers";
    iread() = MPI_File_iread, read, "Local.";
    iread_all() = MPI_File_iread_all, read_all, "Collective, does not block.";
    iread_at(offset) = MPI_File_iread_at, read_at, "Local.";
    iread_at_all(offset) = MPI_File_iread_at_all, read_at_all, "Collective, does not block.";
    iread_shared() = MPI_File_iread_shared, read_shared, "Does not block.";
}

accesses_later! {
    BufferRef as_raw "write", "&numbers";
    iwrite() = MPI_File_iwrite, write, "Local.";
    iwrite_all() = MPI_File_iwrite_all, write_all, "Collective, does not block.";
    iwrite_at(offset) = MPI_File_iwrite_at, write_at, "Local.";
    iwrite_at_all(offset) = MPI_File_iwrite_at_all, write_at_all, "Collective, does not block.";
    iwrite_shared() = MPI_File_iwrite_shared, write_shared, "Does not block.";
}

/// A split collective operation (MPI-5.0, 14.4.5) that was begun, and keeps its buffer. Dropped, it is
/// ended, which is collective. Forgotten, or dropped by a panic, it leaks the buffer, and the file stays
/// open.
#[derive(Debug)]
struct Split<'f, B> {
    file: &'f Cell<bool>,
    raw: MPI_File,
    pointer: *mut c_void,
    buffer: MaybeUninit<B>,
}

impl<'f, B> Split<'f, B> {
    /// After MPI ended it.
    fn ended(self, status: RmpiResult<sys::MPI_Status>) -> RmpiResult<(B, Status)> {
        let status = status?;
        self.file.set(false);
        // SAFETY: `assume_init` asks for a value, which `buffer` was made of. The operation has ended without
        // an error, so MPI does not use it any more.
        Ok((unsafe { self.buffer.assume_init() }, Status::from_raw(status)))
    }
}

/// Collective reads and writes in two calls.
macro_rules! splits {
    ($buffer:ident $as_raw:ident $what:literal; $(
        $name:ident($($offset:ident)?) = $begin:ident, $like:ident;
        $guard:ident = $end:ident;
    )*) => {$(
        #[doc = concat!("What [`", stringify!($name), "`](File::", stringify!($name), ") began, and its buffer.")]
        ///
        /// Dropped, it is [ended](Self::end), with all other processes. Forgotten, or dropped by a
        /// panic, it leaks the buffer, and the file is never closed.
        #[derive(Debug)]
        #[must_use = "it is ended when it is dropped"]
        pub struct $guard<'f, B>(Option<Split<'f, B>>);

        impl File<'_> {
            #[doc = concat!("Begins to ", $what, " as [`", stringify!($like), "`](Self::",
                stringify!($like), ") does; one such operation at a time. C: `", stringify!($begin),
                "`. Collective, does not block.")]
            ///
            /// # Errors
            /// [`REQUEST`](ErrorClass::REQUEST) if another one has not ended; what MPI says.
            ///
            /// ```no_run
            /// # fn example(file: &rmpi::File<'_>) -> rmpi::RmpiResult {
            #[doc = concat!(
                "let operation = file.", stringify!($name), "(",
                $("10 /* ", stringify!($offset), " */, ",)? "vec![0.0_f64; 10])?;"
            )]
            /// let (numbers, _status) = operation.end()?;
            /// # Ok(()) }
            /// ```
            #[wraps($begin)]
            #[allow(unused_mut, reason = "reads need it")]
            pub fn $name<B: $buffer + 'static>(
                &self,
                $($offset: u64,)?
                buffer: B,
            ) -> RmpiResult<$guard<'_, B>> {
                self.not_split()?;
                $(let $offset = offset_of($offset)?;)?
                let (pointer, buffer) = placed(buffer, |buffer| {
                    let raw = buffer.$as_raw()?;
                    // SAFETY: the function asks for an open file without another split operation, which was
                    // looked for above, and for memory that stays until the operation has ended: the buffer's
                    // trait promises it wherever the buffer moves, and the guard keeps the buffer, or leaks it;
                    // it borrows nothing, as it is `'static`.
                    check(unsafe {
                        mpi.call(self.raw, $($offset,)? raw.pointer, raw.count, raw.datatype)
                    })?;
                    Ok(raw.pointer)
                })?;
                self.split.set(true);
                Ok($guard(Some(Split { file: &self.split, raw: self.raw, pointer, buffer })))
            }
        }

        impl<B> $guard<'_, B> {
            #[doc = concat!("Waits until the operation is complete, and gives the buffer back. C: `",
                stringify!($end), "`. Blocks, collective.")]
            ///
            /// # Errors
            /// What MPI says; the buffer is leaked then.
            ///
            /// ```no_run
            #[doc = concat!("# fn example(operation: rmpi::", stringify!($guard), "<'_, Vec<f64>>) -> rmpi::RmpiResult {")]
            /// let (numbers, _status) = operation.end()?;
            /// # Ok(()) }
            /// ```
            #[wraps($end)]
            pub fn end(mut self) -> RmpiResult<(B, Status)> {
                let Some(split) = self.0.take() else {
                    return Err(Error::refused(ErrorClass::REQUEST, "it has ended"));
                };
                // SAFETY: the function asks for a file and the buffer of the split operation on it that has not
                // ended: the guard was made with both, borrows the file, and gives them once.
                let status = output(status::empty(), |status| unsafe {
                    mpi.call(split.raw, split.pointer, status)
                });
                split.ended(status)
            }
        }

        impl<B> Drop for $guard<'_, B> {
            fn drop(&mut self) {
                if let Some(split) = self.0.take() && !std::thread::panicking() {
                    // SAFETY: the function asks for a file and the buffer of the split operation on it that has
                    // not ended: the guard was made with both, borrows the file, and `end` has not taken them.
                    let status = output(status::empty(), |status| unsafe {
                        sys::$end(split.raw, split.pointer, status)
                    });
                    // An error leaks the buffer; `end` tells it.
                    let _ = split.ended(status);
                }
            }
        }
    )*};
}

splits! {
    BufferMut as_raw_mut "read";
    read_all_begin() = MPI_File_read_all_begin, read_all;
    ReadAll = MPI_File_read_all_end;
    read_at_all_begin(offset) = MPI_File_read_at_all_begin, read_at_all;
    ReadAtAll = MPI_File_read_at_all_end;
    read_ordered_begin() = MPI_File_read_ordered_begin, read_ordered;
    ReadOrdered = MPI_File_read_ordered_end;
}

splits! {
    BufferRef as_raw "write";
    write_all_begin() = MPI_File_write_all_begin, write_all;
    WriteAll = MPI_File_write_all_end;
    write_at_all_begin(offset) = MPI_File_write_at_all_begin, write_at_all;
    WriteAtAll = MPI_File_write_at_all_end;
    write_ordered_begin() = MPI_File_write_ordered_begin, write_ordered;
    WriteOrdered = MPI_File_write_ordered_end;
}
