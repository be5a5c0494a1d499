use core::ffi::CStr;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use rmpi_macros::wraps;

use super::communicator::Communicator;
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::hints;
use super::runtime::{self, Runtime};
use super::sys::{self, MPI_Info, c_int};

/// Keys and values, for hints (MPI-5.0, chapter 10), freed when it is dropped. Where it may be left
/// out, it is an `Option`.
///
/// Some keys are more than hints: MPI believes what they say of the program, and does less. Only
/// [`promise`](Self::promise) sets those, which is unsafe.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let mut info = rmpi::Info::new(world)?;
/// info.set(c"access_style", c"read_once")?;
/// let file = rmpi::File::open(world, "numbers", rmpi::AccessMode::RDONLY, Some(&info))?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Info<'ctx> {
    /// An info, and valid as long as this value: who makes one promises it, and only `drop` and `free` end it.
    raw: MPI_Info,
    owned: bool,
    _context: PhantomData<&'ctx ()>,
    _thread: PhantomData<*const ()>,
}

impl Drop for Info<'_> {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: MPI_Info_free requires an info, freed once: `owned` says that it is this value's,
            // and `free` and `into_raw` do not come here. `free` tells errors.
            unsafe { sys::MPI_Info_free(&mut self.raw) };
        }
    }
}

/// Keys that are promises, beside those that begin with `mpi_assert_`: the standard's for windows (MPI-5.0, 12.2),
/// and those for windows by which MPICH and Open MPI leave out more.
const PROMISES: [&str; 11] = [
    "no_locks",
    "same_size",
    "same_disp_unit",
    "accumulate_ops",
    "accumulate_ordering",
    "which_accumulate_ops",
    "accumulate_max_bytes",
    "disable_shm_accumulate",
    "acc_single_intrinsic",
    "accumulate_noncontig_dtype",
    "coll_attach",
];

/// Would a key be a promise? Spaces and case do not matter, as they may not to an MPI.
fn is_promise(key: &CStr) -> bool {
    let key = key.to_bytes().trim_ascii().to_ascii_lowercase();
    key.starts_with(b"mpi_assert_") || PROMISES.iter().any(|known| known.as_bytes() == key)
}

/// The handle of what may be left out.
pub(super) fn handle(info: Option<&Info<'_>>) -> MPI_Info {
    info.map_or(sys::MPI_INFO_NULL, |info| info.raw)
}

impl<'ctx> Info<'ctx> {
    /// No keys. C: `MPI_Info_create`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let info = rmpi::Info::new(context)?;
    /// assert_eq!(info.get_nkeys()?, 0);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Info_create in Self)]
    pub fn new<R: Runtime>(runtime: &'ctx R) -> RmpiResult<Self> {
        let _ = runtime;
        // SAFETY: MPI_Info_create requires MPI to run, which `runtime` shows, and writes one handle to
        // `new`.
        let raw = output(sys::MPI_INFO_NULL, |new| unsafe { mpi.call(new) })?;
        // SAFETY: `from_raw` requires an info that nobody else frees, and that MPI runs for `'ctx`: MPI
        // has just made it, for this caller alone, and `runtime` shows that MPI runs.
        Ok(unsafe { Self::from_raw(raw) })
    }

    /// `MPI_INFO_ENV`: how the program was started. It cannot be changed.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// println!("{:?}", rmpi::Info::env(context).get(c"command")?);
    /// # Ok(()) }
    /// ```
    pub fn env<R: Runtime>(runtime: &'ctx R) -> Self {
        let _ = runtime;
        // SAFETY: `borrow_raw` requires an info that others free after `'ctx`, for which MPI runs: this
        // one is predefined, nobody frees it, and `runtime` shows that MPI runs.
        unsafe { Self::borrow_raw(sys::MPI_INFO_ENV) }
    }

    /// The info of a handle, which is freed with it.
    ///
    /// # Safety
    /// It is an info that nobody else frees, and MPI runs for `'ctx` and may be called by this thread.
    pub const unsafe fn from_raw(raw: MPI_Info) -> Self {
        Self { raw, owned: true, _context: PhantomData, _thread: PhantomData }
    }

    /// The info of a handle that somebody else keeps.
    ///
    /// # Safety
    /// It is an info that others free, or nobody does, and not before the end of `'ctx`, for which MPI runs and may be
    /// called by this thread.
    pub const unsafe fn borrow_raw(raw: MPI_Info) -> Self {
        Self { raw, owned: false, _context: PhantomData, _thread: PhantomData }
    }

    /// C's handle, which nobody frees any more.
    pub fn into_raw(self) -> MPI_Info {
        ManuallyDrop::new(self).raw
    }

    /// C's handle, which the info keeps.
    pub const fn as_raw(&self) -> MPI_Info {
        self.raw
    }

    /// Sets a key to a value. C: `MPI_Info_set`. Local.
    ///
    /// # Errors
    /// [`INFO_KEY`](ErrorClass::INFO_KEY) if the key is one that [`promise`](Self::promise) sets; this and
    /// [`INFO_VALUE`](ErrorClass::INFO_VALUE) if they are too long; [`INFO_VALUE`](ErrorClass::INFO_VALUE) if an MPI
    /// ends the program or hangs over the value, whichever MPI this one is: `cb_nodes`, `cb_buffer_size`,
    /// `ind_rd_buffer_size` and `ind_wr_buffer_size` are numbers that are neither too small nor too large, and `romio_cb_pfr` is
    /// not enabled; [`INFO`](ErrorClass::INFO) if it is not the program's.
    ///
    /// ```no_run
    /// # fn example(mut info: rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// info.set(c"host", c"node17")?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Info_set)]
    pub fn set(&mut self, key: &CStr, value: &CStr) -> RmpiResult {
        if is_promise(key) {
            return Err(Error::refused(
                ErrorClass::INFO_KEY,
                "MPI believes what this key says of the program: set it by Info::promise, which is unsafe",
            ));
        }
        hints::can_be(key, value)?;
        self.mine()?;
        // SAFETY: MPI_Info_set requires an info that may be changed, as `mine` has found, and two texts
        // that end with a zero, which MPI copies, or refuses where they are too long.
        check(unsafe { mpi.call(self.raw, key.as_ptr(), value.as_ptr()) })
    }

    /// Sets a key by which MPI may leave out what it does otherwise: all that begin with `mpi_assert_`, and, for
    /// windows, `no_locks`, `same_size`, `same_disp_unit`, `accumulate_ops`, `accumulate_ordering`, and some of MPICH's
    /// and Open MPI's own. C: `MPI_Info_set`. Local.
    ///
    /// # Safety
    /// What key and value say is true of every communicator, window or other object that is made with this info or
    /// gets it, with a copy of it, or with what MPI tells of such an object
    /// ([`Window::get_info`](super::Window::get_info)), and on all processes that have the object.
    ///
    /// # Errors
    /// As [`set`](Self::set), but for these keys.
    ///
    /// ```no_run
    /// use rmpi::{Active, Info, Window};
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let mut info = Info::new(world)?;
    /// // SAFETY: an `Active` window has no locks, and this info is given to no other one.
    /// unsafe { info.promise(c"no_locks", c"true")? };
    /// let window = Window::<f64, _>::allocate(world, 10, Some(&info), Active)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Info_set)]
    pub unsafe fn promise(&mut self, key: &CStr, value: &CStr) -> RmpiResult {
        hints::can_be(key, value)?;
        self.mine()?;
        // SAFETY: MPI_Info_set requires an info that may be changed, as `mine` has found, and two texts
        // that end with a zero, which MPI copies, or refuses where they are too long.
        check(unsafe { mpi.call(self.raw, key.as_ptr(), value.as_ptr()) })
    }

    /// Deletes a key. C: `MPI_Info_delete`. Local.
    ///
    /// # Errors
    /// [`INFO_NOKEY`](ErrorClass::INFO_NOKEY) if there is none; [`INFO`](ErrorClass::INFO) if it is not
    /// the program's.
    ///
    /// ```no_run
    /// # fn example(mut info: rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// info.delete(c"host")?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Info_delete)]
    pub fn delete(&mut self, key: &CStr) -> RmpiResult {
        self.mine()?;
        // SAFETY: MPI_Info_delete requires an info that may be changed, as `mine` has found, and a text
        // that ends with a zero.
        check(unsafe { mpi.call(self.raw, key.as_ptr()) })
    }

    fn mine(&self) -> RmpiResult {
        if self.owned {
            return Ok(());
        }
        Err(Error::refused(ErrorClass::INFO, "the info is not the program's to change"))
    }

    /// A key's value. C: `MPI_Info_get`, which every MPI has, with room for the longest. Local.
    ///
    /// # Errors
    /// [`INFO_KEY`](ErrorClass::INFO_KEY) if the key is too long, and others that MPI says.
    ///
    /// ```no_run
    /// # fn example(info: &rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", info.get(c"host")?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Info_get)]
    pub fn get(&self, key: &CStr) -> RmpiResult<Option<String>> {
        let mut flag = 0;
        let value = terminated(sys::MPI_MAX_INFO_VAL, |value| {
            // SAFETY: MPI_Info_get requires an info, which `self` holds, a text that ends with a zero,
            // and room for one byte more than the length says: `terminated` gives MPI_MAX_INFO_VAL and
            // one. It writes one int to `flag`.
            unsafe { mpi.call(self.raw, key.as_ptr(), sys::MPI_MAX_INFO_VAL, value, &mut flag) }
        })?;
        Ok((flag != 0).then_some(value))
    }

    /// A key's value. C: `MPI_Info_get_string`, with room for the longest. Local.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) before
    /// MPI-4.
    ///
    /// ```no_run
    /// # fn example(info: &rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", info.get_string(c"host")?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Info_get_string)]
    pub fn get_string(&self, key: &CStr) -> RmpiResult<Option<String>> {
        let (mut flag, mut length) = (0, sys::MPI_MAX_INFO_VAL + 1);
        let value = terminated(sys::MPI_MAX_INFO_VAL, |value| {
            // SAFETY: MPI_Info_get_string requires an info, which `self` holds, a text that ends with a
            // zero, and room for as many bytes as `length` says: `terminated` gives MPI_MAX_INFO_VAL
            // and one. It writes one int each to `length` and `flag`.
            unsafe { mpi.call(self.raw, key.as_ptr(), &mut length, value, &mut flag) }
        })?;
        Ok((flag != 0).then_some(value))
    }

    /// The length of a key's value, in bytes. C: `MPI_Info_get_valuelen`. Local.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// ```no_run
    /// # fn example(info: &rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", info.get_valuelen(c"host")?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Info_get_valuelen)]
    pub fn get_valuelen(&self, key: &CStr) -> RmpiResult<Option<usize>> {
        // SAFETY: MPI_Info_get_valuelen requires an info, which `self` holds, and a text that ends with
        // a zero; it writes one int each to `length` and `flag`.
        let (length, flag) = output((0, 0), |(length, flag)| unsafe {
            mpi.call(self.raw, key.as_ptr(), length, flag)
        })?;
        Ok((flag != 0).then_some(length.unsigned_abs() as usize))
    }

    /// How many keys there are. C: `MPI_Info_get_nkeys`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(info: &rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// println!("{} keys", info.get_nkeys()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Info_get_nkeys)]
    pub fn get_nkeys(&self) -> RmpiResult<usize> {
        // SAFETY: MPI_Info_get_nkeys requires an info, which `self` holds, and writes one int to
        // `count`.
        output(0, |count| unsafe { mpi.call(self.raw, count) })
            .map(|count: c_int| count.unsigned_abs() as usize)
    }

    /// The key of this number. C: `MPI_Info_get_nthkey`. Local.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if there are not so many.
    ///
    /// ```no_run
    /// # fn example(info: &rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// for n in 0..info.get_nkeys()? {
    ///     println!("{}", info.get_nthkey(n)?);
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Info_get_nthkey)]
    pub fn get_nthkey(&self, n: usize) -> RmpiResult<String> {
        let n = c_int::try_from(n)
            .map_err(|_| Error::refused(ErrorClass::ARG, "no info has so many keys"))?;
        // SAFETY: MPI_Info_get_nthkey requires an info, which `self` holds, and room for
        // MPI_MAX_INFO_KEY bytes, which `terminated` gives. A number that no key has, MPI refuses.
        terminated(sys::MPI_MAX_INFO_KEY, |key| unsafe { mpi.call(self.raw, n, key) })
    }

    /// All keys, as [`get_nkeys`](Self::get_nkeys) and [`get_nthkey`](Self::get_nthkey) tell.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(info: &rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", info.keys()?);
    /// # Ok(()) }
    /// ```
    pub fn keys(&self) -> RmpiResult<Vec<String>> {
        (0..self.get_nkeys()?).map(|n| self.get_nthkey(n)).collect()
    }

    /// The same keys and values. C: `MPI_Info_dup`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(info: &rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// let mut mine = info.dup()?;
    /// mine.set(c"host", c"node17")?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Info_dup)]
    pub fn dup(&self) -> RmpiResult<Info<'ctx>> {
        // SAFETY: MPI_Info_dup requires an info, which `self` holds, and writes one handle to `new`.
        let raw = output(sys::MPI_INFO_NULL, |new| unsafe { mpi.call(self.raw, new) })?;
        // SAFETY: `from_raw` requires an info that nobody else frees, and that MPI runs for `'ctx`: MPI
        // has just made it, for this caller alone, of an info of that lifetime.
        Ok(unsafe { Info::from_raw(raw) })
    }

    /// Frees the info, as its drop does, and says what went wrong. C: `MPI_Info_free`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(info: rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// info.free()
    /// # }
    /// ```
    #[wraps(MPI_Info_free)]
    pub fn free(self) -> RmpiResult {
        let mut this = ManuallyDrop::new(self);
        if !this.owned {
            return Ok(());
        }
        // SAFETY: MPI_Info_free requires an info, freed once: `owned` says that it is this value's, and
        // `this` is not dropped.
        check(unsafe { mpi.call(&mut this.raw) })
    }
}

/// What MPI writes with a zero at its end, of at most that length without it.
pub(super) fn terminated(
    longest: c_int,
    call: impl FnOnce(*mut core::ffi::c_char) -> c_int,
) -> RmpiResult<String> {
    runtime::text(longest, |text, length| {
        let result = call(text);
        // SAFETY: the slice requires that many initialised bytes, to which nobody writes meanwhile:
        // `text` has one more than `longest`, zeros at first, and the call that wrote to it is over.
        let written = unsafe {
            core::slice::from_raw_parts(text.cast::<u8>(), longest.unsigned_abs() as usize)
        };
        let end = written.iter().position(|byte| *byte == 0).unwrap_or(written.len());
        *length = c_int::try_from(end).unwrap_or(0);
        result
    })
}

impl<'ctx> Communicator<'ctx> {
    /// Gives MPI hints for the communicator. C: `MPI_Comm_set_info`. Collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let mut info = rmpi::Info::new(world)?;
    /// // SAFETY: the order of messages in the copy does not matter, and nobody else gets this info.
    /// unsafe { info.promise(c"mpi_assert_allow_overtaking", c"true")? };
    /// world.dup()?.set_info(&info)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_set_info)]
    pub fn set_info(&self, info: &Info<'_>) -> RmpiResult {
        // SAFETY: MPI_Comm_set_info requires a communicator, which `self` holds, and an info, which
        // `info` holds, and of which MPI keeps a copy.
        check(unsafe { mpi.call(self.as_raw(), info.raw) })
    }

    /// The hints that MPI uses. C: `MPI_Comm_get_info`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// println!("{:?}", world.get_info()?.keys()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_get_info)]
    pub fn get_info(&self) -> RmpiResult<Info<'ctx>> {
        let null = sys::MPI_INFO_NULL;
        // SAFETY: MPI_Comm_get_info requires a communicator, which `self` holds, and writes one handle
        // to `info`.
        let raw = output(null, |info| unsafe { mpi.call(self.as_raw(), info) })?;
        // SAFETY: `from_raw` requires an info that nobody else frees, and that MPI runs for `'ctx`: MPI
        // makes a new one, which is the caller's to free, and the communicator has that lifetime.
        Ok(unsafe { Info::from_raw(raw) })
    }
}
