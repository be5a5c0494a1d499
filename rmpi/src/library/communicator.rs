use core::ffi::CStr;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::{AtomicI32, Ordering};

use rmpi_macros::wraps;

use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::runtime::{self, Runtime, sealed};
use super::sys::{self, MPI_Comm, c_int};
use crate::place::{Place, Placed as _};
use crate::{Comparison, Multiple, Single, ThreadLevel};

/// A communicator of the processes of one group (MPI-5.0, chapter 7), which is freed when it is
/// dropped, unless it is the world or `MPI_COMM_SELF`.
///
/// Freeing is collective: all of its processes drop it, in the same order where they drop more than
/// one. It lives no longer than the [`RmpiContext`](super::RmpiContext) or session of which it was
/// made, and stays on its thread, but for a [`Multiple`] one.
///
/// ```no_run
/// let context = rmpi::init()?;
/// let world = context.world();
/// let halves = world.split(Some(world.rank()? as u32 % 2), 0)?.expect("a color was given");
/// halves.barrier()?;
/// # Ok::<(), rmpi::Error>(())
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Communicator<'ctx, L: ThreadLevel = Single> {
    /// A communicator, and valid as long as this value: who makes one promises it, and only `drop` and `free`
    /// end it. Nothing else writes here.
    raw: MPI_Comm,
    /// How many processes it has; 0 until somebody asks. Negative if it is an intercommunicator: [`INTER`]
    /// until somebody asks, then `INTER` less the size of the other group.
    size: AtomicI32,
    /// This process's rank; negative until somebody asks.
    rank: AtomicI32,
    owned: bool,
    _context: PhantomData<&'ctx ()>,
    _thread: PhantomData<L::Marker>,
}

impl<L: ThreadLevel> sealed::Runtime for Communicator<'_, L> {}
impl<L: ThreadLevel> Runtime for Communicator<'_, L> {}

// SAFETY: `Send` requires that any thread may use and free the communicator: at this level all threads
// may call MPI at once, and beside the handle there are only atomics.
unsafe impl Send for Communicator<'_, Multiple> {}
// SAFETY: `Sync` requires that threads may use the communicator at once, which holds for the same
// reasons.
unsafe impl Sync for Communicator<'_, Multiple> {}

impl<'ctx> Deref for Communicator<'ctx, Multiple> {
    type Target = Communicator<'ctx>;
    fn deref(&self) -> &Communicator<'ctx> {
        // SAFETY: the cast requires the same layout: the struct is repr(C), and the two types differ in
        // markers of no size only. What a single thread may do is allowed at this level on each thread,
        // and the reference stays on its thread, since the target is not `Sync`.
        unsafe { &*ptr::from_ref(self).cast() }
    }
}

impl<L: ThreadLevel> Drop for Communicator<'_, L> {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: MPI_Comm_free requires a communicator, freed once: `owned` says that it is this
            // value's, and `free` and `into_raw` do not come here. `free` tells errors.
            unsafe { sys::MPI_Comm_free(&mut self.raw) };
        }
    }
}

impl<'ctx, L: ThreadLevel> Communicator<'ctx, L> {
    /// The communicator of a handle, which is freed with it.
    ///
    /// # Safety
    /// It is an intracommunicator whose errors return, nobody else frees it, and MPI runs for `'ctx`, with
    /// level `L`, and may be called by this thread.
    pub const unsafe fn from_raw(raw: MPI_Comm) -> Self {
        let (size, rank, owned) = (AtomicI32::new(0), AtomicI32::new(-1), true);
        Self { raw, size, rank, owned, _context: PhantomData, _thread: PhantomData }
    }

    /// The communicator of a handle that somebody else keeps.
    ///
    /// # Safety
    /// As for [`from_raw`](Self::from_raw), but that others free it, or nobody does, and not before the end of
    /// `'ctx`.
    pub const unsafe fn borrow_raw(raw: MPI_Comm) -> Self {
        let (size, rank, owned) = (AtomicI32::new(0), AtomicI32::new(-1), false);
        Self { raw, size, rank, owned, _context: PhantomData, _thread: PhantomData }
    }

    /// What is inside an intercommunicator, for its processes; freed with it.
    ///
    /// # Safety
    /// As for [`from_raw`](Self::from_raw), but that it is an intercommunicator.
    pub(super) const unsafe fn inter_from_raw(raw: MPI_Comm) -> Self {
        let (size, rank, owned) = (AtomicI32::new(INTER), AtomicI32::new(-1), true);
        Self { raw, size, rank, owned, _context: PhantomData, _thread: PhantomData }
    }

    /// C's handle, which nobody frees any more.
    pub fn into_raw(self) -> MPI_Comm {
        ManuallyDrop::new(self).raw
    }

    /// C's handle, which the communicator keeps.
    pub const fn as_raw(&self) -> MPI_Comm {
        self.raw
    }

    pub(super) fn into_level<M: ThreadLevel>(self) -> Communicator<'ctx, M> {
        let old = ManuallyDrop::new(self);
        Communicator {
            raw: old.raw,
            size: AtomicI32::new(old.size.load(Ordering::Relaxed)),
            rank: AtomicI32::new(old.rank.load(Ordering::Relaxed)),
            owned: old.owned,
            _context: PhantomData,
            _thread: PhantomData,
        }
    }

    /// Frees the communicator, as its drop does, and says what went wrong. C: `MPI_Comm_free`.
    /// Collective. Nothing happens to the world and to `MPI_COMM_SELF`.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let copy = world.dup()?;
    /// copy.free()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_free)]
    pub fn free(self) -> RmpiResult {
        let mut this = ManuallyDrop::new(self);
        if !this.owned {
            return Ok(());
        }
        // SAFETY: MPI_Comm_free requires a communicator, freed once: `owned` says that it is this
        // value's, and `this` is not dropped.
        check(unsafe { mpi.call(&mut this.raw) })
    }
}

/// A communicator that MPI made, if it made one.
pub(super) fn made<'ctx>(raw: MPI_Comm) -> Option<Communicator<'ctx>> {
    // SAFETY: `from_raw` requires an intracommunicator that nobody else frees, whose errors return, and
    // that MPI runs for `'ctx`: MPI has just made it, for the caller alone. Each caller gives it the
    // lifetime of what it was made of, refuses an intercommunicator before, and has errors return where
    // it does not inherit that.
    (raw != sys::MPI_COMM_NULL).then(|| unsafe { Communicator::from_raw(raw) })
}

/// A communicator that MPI made without its parent's error handler: MPICH does so in
/// `MPI_Comm_create`, `MPI_Comm_create_group` and `MPI_Intercomm_merge`.
pub(super) fn made_returning<'ctx>(mut raw: MPI_Comm) -> RmpiResult<Option<Communicator<'ctx>>> {
    errors_return(&mut raw)?;
    Ok(made(raw))
}

/// Makes a new communicator's errors return, or frees it.
pub(super) fn errors_return(raw: &mut MPI_Comm) -> RmpiResult {
    if *raw == sys::MPI_COMM_NULL {
        return Ok(());
    }
    // SAFETY: MPI_Comm_set_errhandler requires a communicator, which MPI has just made, and an error
    // handler, which is predefined. MPI_Comm_free requires one that is freed once: nobody gets it after
    // an error.
    unsafe {
        let result = check(sys::MPI_Comm_set_errhandler(*raw, sys::MPI_ERRORS_RETURN));
        if result.is_err() {
            sys::MPI_Comm_free(raw);
        }
        result
    }
}

pub(super) fn none_made() -> Error {
    Error::refused(ErrorClass::COMM, "MPI made no communicator")
}

/// In place of a size.
const INTER: c_int = -1;

fn is_inter() -> Error {
    Error::refused(ErrorClass::COMM, "an intercommunicator")
}

impl<'ctx> Communicator<'ctx> {
    /// How many processes it has. C: `MPI_Comm_size`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// println!("{} processes", world.size()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_size)]
    pub fn size(&self) -> RmpiResult<usize> {
        // SAFETY: MPI_Comm_size requires a communicator, which `self` holds, and writes one int to
        // `size`.
        let size = output(0, |size| unsafe { mpi.call(self.raw, size) })?;
        if self.size.load(Ordering::Relaxed) == 0 {
            self.size.store(size, Ordering::Relaxed);
        }
        Ok(size.unsigned_abs() as usize)
    }

    /// The size, which MPI is asked for once: what buffers of collective operations are checked
    /// with.
    ///
    /// # Errors
    /// [`COMM`](ErrorClass::COMM) for what is inside an intercommunicator.
    #[inline]
    pub(super) fn known_size(&self) -> RmpiResult<usize> {
        match self.size.load(Ordering::Relaxed) {
            0 => self.size(),
            size => usize::try_from(size).map_err(|_| is_inter()),
        }
    }

    /// How many processes messages can go to, which MPI is asked for once: all of the communicator, or
    /// those of an intercommunicator's other group.
    #[inline]
    pub(super) fn peers(&self) -> RmpiResult<c_int> {
        match self.size.load(Ordering::Relaxed) {
            size if size > 0 => Ok(size),
            size if size < INTER => Ok(INTER - size),
            size => self.ask_for_peers(size),
        }
    }

    #[cold]
    fn ask_for_peers(&self, size: c_int) -> RmpiResult<c_int> {
        if size == 0 {
            self.size()?;
            return Ok(self.size.load(Ordering::Relaxed));
        }
        // SAFETY: MPI_Comm_remote_size requires an intercommunicator, which a negative `size` says that
        // `self` holds, and writes one int to `size`.
        let size = output(0, |size| unsafe { sys::MPI_Comm_remote_size(self.raw, size) })?;
        self.size.store(INTER - size.max(0), Ordering::Relaxed);
        Ok(size)
    }

    /// C's rank of a root, if there is such a process.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK) if there is none.
    pub(super) fn root(&self, rank: usize) -> RmpiResult<c_int> {
        match c_int::try_from(rank) {
            Ok(root) if rank < self.known_size()? => Ok(root),
            _ => Err(Error::refused(
                ErrorClass::RANK,
                "the communicator has no process of that rank",
            )),
        }
    }

    /// Refuses an intercommunicator, of which no [`Communicator`] may be made.
    #[inline]
    pub(super) fn intra(&self) -> RmpiResult {
        if self.size.load(Ordering::Relaxed) < 0 { Err(is_inter()) } else { Ok(()) }
    }

    /// An error of a function of this communicator, which says so. Asks MPI for what it has to say, which is local.
    #[cold]
    #[inline(never)]
    pub(super) fn blame(&self, error: &mut Error, place: &'static Place) {
        if error.has_place() {
            return;
        }
        let (mut rank, mut size, mut length) = (-1, 0, 0);
        let mut name = [0_u8; sys::MPI_MAX_OBJECT_NAME as usize];
        // SAFETY: MPI_Comm_rank, MPI_Comm_size and MPI_Comm_get_name require a communicator, which `self` holds, and
        // write an int each; the last one also needs room for MPI_MAX_OBJECT_NAME bytes, which `name` has.
        let codes = unsafe {
            [
                sys::MPI_Comm_rank(self.raw, &mut rank),
                sys::MPI_Comm_size(self.raw, &mut size),
                sys::MPI_Comm_get_name(self.raw, name.as_mut_ptr().cast(), &mut length),
            ]
        };
        if codes[..2] != [sys::MPI_SUCCESS; 2] {
            return error.at(place);
        }
        let length = if codes[2] == sys::MPI_SUCCESS { length } else { 0 };
        let name = name.get(..usize::try_from(length).unwrap_or(0)).unwrap_or_default();
        let name = match String::from_utf8_lossy(name) {
            name if name.is_empty() => format!("a communicator of {size}"),
            name => name.into_owned(),
        };
        error.at(place.by(name, rank));
    }

    /// This process's rank. C: `MPI_Comm_rank`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// println!("rank {}", world.rank()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_rank)]
    pub fn rank(&self) -> RmpiResult<usize> {
        // SAFETY: MPI_Comm_rank requires a communicator, which `self` holds, and writes one int to
        // `rank`.
        let rank = output(0, |rank| unsafe { mpi.call(self.raw, rank) })?;
        self.rank.store(rank, Ordering::Relaxed);
        Ok(rank.unsigned_abs() as usize)
    }

    /// The rank, which MPI is asked for once.
    #[inline]
    pub(super) fn known_rank(&self) -> RmpiResult<usize> {
        match usize::try_from(self.rank.load(Ordering::Relaxed)) {
            Ok(rank) => Ok(rank),
            Err(_) => self.rank(),
        }
    }

    /// A communicator of the same processes, for other messages. C: `MPI_Comm_dup`. Collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let for_my_library = world.dup()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_dup)]
    pub fn dup(&self) -> RmpiResult<Communicator<'ctx>> {
        self.intra()?;
        let null = sys::MPI_COMM_NULL;
        // SAFETY: MPI_Comm_dup requires a communicator, which `self` holds, and writes one handle to
        // `new`.
        made(output(null, |new| unsafe { mpi.call(self.raw, new) })?).ok_or_else(none_made)
    }

    /// A communicator for the processes with the same color, in the order of `key`s; none for
    /// those without color. C: `MPI_Comm_split`. Collective.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if the color does not fit an `int`; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let color = (world.rank()? < 4).then_some(0);
    /// if let Some(first_four) = world.split(color, 0)? {
    ///     first_four.barrier()?;
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_split)]
    pub fn split(&self, color: Option<u32>, key: i32) -> RmpiResult<Option<Communicator<'ctx>>> {
        self.intra()?;
        let color = match color {
            None => sys::MPI_UNDEFINED,
            Some(color) => c_int::try_from(color)
                .map_err(|_| Error::refused(ErrorClass::ARG, "a color is at most 2147483647"))?,
        };
        let null = sys::MPI_COMM_NULL;
        // SAFETY: MPI_Comm_split requires a communicator, which `self` holds, and a color that is not
        // negative or MPI_UNDEFINED, which was made so above; it writes one handle to `new`.
        Ok(made(output(null, |new| unsafe { mpi.call(self.raw, color, key, new) })?))
    }

    /// How it compares with another one. C: `MPI_Comm_compare`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// assert_eq!(world.compare(&world.dup()?)?, rmpi::Comparison::Congruent);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_compare)]
    pub fn compare(&self, other: &Communicator<'_>) -> RmpiResult<Comparison> {
        // SAFETY: MPI_Comm_compare requires two communicators, which `self` and `other` hold, and
        // writes one int to `result`.
        let result = output(0, |result| unsafe { mpi.call(self.raw, other.raw, result) })?;
        Comparison::from_raw(result)
            .ok_or(Error::refused(ErrorClass::OTHER, "MPI told an unknown comparison"))
    }

    /// The communicator's name. C: `MPI_Comm_get_name`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// assert_eq!(world.get_name()?, "MPI_COMM_WORLD");
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_get_name)]
    pub fn get_name(&self) -> RmpiResult<String> {
        runtime::text(sys::MPI_MAX_OBJECT_NAME, |text, length| {
            // SAFETY: MPI_Comm_get_name requires a communicator, which `self` holds, and room for
            // MPI_MAX_OBJECT_NAME bytes, which `runtime::text` gives.
            unsafe { mpi.call(self.raw, text, length) }
        })
    }

    /// Names the communicator, for debuggers and tools. C: `MPI_Comm_set_name`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(rows: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// rows.set_name(c"rows")?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_set_name)]
    pub fn set_name(&self, name: &CStr) -> RmpiResult {
        // SAFETY: MPI_Comm_set_name requires a communicator, which `self` holds, and a text that ends
        // with a zero, which MPI copies.
        check(unsafe { mpi.call(self.raw, name.as_ptr()) })
    }

    /// Ends the processes of the communicator, and as a rule all. C: `MPI_Abort`.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) {
    /// world.abort(1);
    /// # }
    /// ```
    #[wraps(MPI_Abort)]
    pub fn abort(&self, error_code: i32) -> ! {
        // SAFETY: MPI_Abort requires a communicator, which `self` holds.
        unsafe { mpi.call(self.raw, error_code) };
        // A tool may have answered the call without ending the process.
        std::process::abort()
    }
}
