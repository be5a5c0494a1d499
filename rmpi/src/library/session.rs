use core::ffi::CStr;
use core::marker::PhantomData;

use rmpi_macros::wraps;

use super::communicator::Communicator;
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::group::Group;
use super::info::{self, Info};
use super::runtime::{Runtime, enter, sealed};
use super::sys::{self, MPI_Session, c_int};
use crate::running::{end, leave};
use crate::{Funneled, Multiple, Serialized, Single, ThreadLevel};

/// A session (MPI-5.0, 11.3): MPI for a part of a program, of which other parts need not know. Its
/// drop finalizes it, which is collective over the processes that it is connected with.
///
/// Everything made of it borrows it. Errors return. At levels below [`Multiple`] all sessions and
/// the context of a process are on one thread.
///
/// ```no_run
/// let session = rmpi::Session::init()?;
/// let group = session.group_from_pset(c"mpi://WORLD")?;
/// let world = rmpi::Communicator::create_from_group(&group, c"org.example", None)?;
/// println!("{} of {}", world.rank()?, world.size()?);
/// # Ok::<(), rmpi::Error>(())
/// ```
#[derive(Debug)]
pub struct Session<L: ThreadLevel = Single> {
    /// A session, and valid as long as this value: MPI made it, or who called `from_raw` promised it, and only `drop`
    /// and `finalize` end it.
    raw: MPI_Session,
    _thread: PhantomData<L::Marker>,
}

impl<L: ThreadLevel> sealed::Runtime for Session<L> {}
impl<L: ThreadLevel> Runtime for Session<L> {}

// Said here, whatever a handle is in the MPI's ABI: where it is a number, the compiler would say as much, and where
// it is a pointer, less.
// SAFETY: `Send` requires that another thread may use and finalize the session: at this level any thread may call
// MPI, one at a time. A session that moves is not borrowed, and what calls MPI borrows it, but for what
// `running::calling` lets the thread that began MPI ask. There is no other session or context beside it.
unsafe impl Send for Session<Serialized> {}
// SAFETY: `Send` requires that any thread may use and finalize the session: at this level all threads may call MPI.
unsafe impl Send for Session<Multiple> {}
// SAFETY: `Sync` requires that threads may use the session at once: at this level all may call MPI at once, and
// beside the handle, which nobody changes, there is nothing.
unsafe impl Sync for Session<Multiple> {}

impl<L: ThreadLevel> Drop for Session<L> {
    fn drop(&mut self) {
        end();
        // SAFETY: MPI_Session_finalize requires a session, once, and that nobody uses what was made of
        // it: all of that borrows the session, which is dropped here. `finalize` tells errors.
        unsafe { sys::MPI_Session_finalize(&mut self.raw) };
    }
}

impl Session {
    /// Begins a session for one thread. C: `MPI_Session_init`. Local.
    ///
    /// # Errors
    /// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) before MPI-4;
    /// [`OTHER`](ErrorClass::OTHER) if there is a context or session on another thread or of level
    /// [`Multiple`] or [`Serialized`].
    ///
    /// ```no_run
    /// let session = rmpi::Session::init()?;
    /// println!("{} process sets", session.get_num_psets()?);
    /// # Ok::<(), rmpi::Error>(())
    /// ```
    #[wraps(MPI_Session_init in Self)]
    pub fn init() -> RmpiResult<Self> {
        enter::<Single>()?;
        super::settings::choose::<Single>();
        let (info, errors_return) = (sys::MPI_INFO_NULL, sys::MPI_ERRORS_RETURN);
        // SAFETY: MPI_Session_init may be called at any time; it requires an info, here the null one,
        // and an error handler, which is predefined, and writes one handle to `new`. `enter` has found
        // that its level goes with what runs.
        let raw =
            output(sys::MPI_SESSION_NULL, |new| unsafe { mpi.call(info, errors_return, new) });
        Self::entered(raw)
    }
}

impl<L: ThreadLevel> Session<L> {
    /// Begins a session with a thread level. C: `MPI_Session_init`, with an info that says so; then
    /// `MPI_Session_get_info`. Local.
    ///
    /// # Errors
    /// As [`init`](Session::init), and [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION)
    /// if MPI provides a lower level only.
    ///
    /// ```no_run
    /// let session = rmpi::Session::init_thread(rmpi::Multiple)?;
    /// # Ok::<(), rmpi::Error>(())
    /// ```
    #[wraps(MPI_Session_init in Self)]
    pub fn init_thread(level: L) -> RmpiResult<Self> {
        let _ = level;
        // Before MPI-4, no info may be made before MPI runs.
        if !sys::has_sessions() {
            return Err(Error::refused(
                ErrorClass::UNSUPPORTED_OPERATION,
                "the MPI library has no sessions",
            ));
        }
        enter::<L>()?;
        super::settings::choose::<L>();
        let errors_return = sys::MPI_ERRORS_RETURN;
        let raw = level_info::<L>().and_then(|info| {
            // SAFETY: MPI_Session_init may be called at any time; it requires an info, which `info`
            // holds, and an error handler, which is predefined, and writes one handle to `new`. `enter`
            // has found that its level goes with what runs.
            output(sys::MPI_SESSION_NULL, |new| unsafe {
                mpi.call(info.as_raw(), errors_return, new)
            })
        });
        let session = Self::entered(raw)?;
        let provided = session.get_info()?.get(LEVEL)?;
        if LEVELS.iter().position(|name| Some(*name) == provided.as_deref())
            < LEVELS.iter().position(|name| *name == L::NAME)
        {
            return Err(Error::refused(
                ErrorClass::UNSUPPORTED_OPERATION,
                "MPI provides a lower thread level than was asked for",
            ));
        }
        Ok(session)
    }

    /// The session that MPI made after [`enter`].
    fn entered(raw: RmpiResult<MPI_Session>) -> RmpiResult<Self> {
        match raw {
            Ok(raw) => Ok(Self { raw, _thread: PhantomData }),
            Err(error) => {
                leave();
                Err(error)
            }
        }
    }

    /// The session of a handle, which is finalized with it.
    ///
    /// # Safety
    /// It is a session of this level whose errors return and that nobody else finalizes, and this thread may call
    /// MPI; at a level below [`Multiple`] nobody else calls MPI at the same time. That includes [`Error`] and
    /// [`Status`](super::Status) values on other threads, which ask MPI what they mean without borrowing anything.
    pub unsafe fn from_raw(raw: MPI_Session) -> Self {
        crate::running::adopt::<L>();
        Self { raw, _thread: PhantomData }
    }

    /// C's handle, which nobody finalizes any more. For rmpi, MPI runs from now on for ever.
    pub fn into_raw(self) -> MPI_Session {
        core::mem::ManuallyDrop::new(self).raw
    }

    /// C's handle, which the session keeps.
    pub const fn as_raw(&self) -> MPI_Session {
        self.raw
    }

    /// Ends the session, as its drop does, and says what went wrong. C: `MPI_Session_finalize`.
    /// Collective over the processes that it is connected with.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// let session = rmpi::Session::init()?;
    /// session.finalize()?;
    /// # Ok::<(), rmpi::Error>(())
    /// ```
    #[wraps(MPI_Session_finalize)]
    pub fn finalize(self) -> RmpiResult {
        let mut this = core::mem::ManuallyDrop::new(self);
        end();
        // SAFETY: MPI_Session_finalize requires a session, once, and that nobody uses what was made of
        // it: all of that borrows the session, which is moved here, and `this` is not dropped.
        check(unsafe { mpi.call(&mut this.raw) })
    }

    /// What MPI knows of the session, such as `thread_level`. C: `MPI_Session_get_info`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(session: &rmpi::Session) -> rmpi::RmpiResult {
    /// println!("{:?}", session.get_info()?.get(c"thread_level")?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Session_get_info)]
    pub fn get_info(&self) -> RmpiResult<Info<'_>> {
        // SAFETY: MPI_Session_get_info requires a session, which `self` holds, and writes one handle to
        // `info`.
        let raw = output(sys::MPI_INFO_NULL, |info| unsafe { mpi.call(self.raw, info) })?;
        // SAFETY: `from_raw` requires an info that nobody else frees, while MPI runs: MPI has just made
        // it, for this caller alone, and it borrows the session.
        Ok(unsafe { Info::from_raw(raw) })
    }

    /// How many process sets there are. C: `MPI_Session_get_num_psets`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(session: &rmpi::Session) -> rmpi::RmpiResult {
    /// println!("{} process sets", session.get_num_psets()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Session_get_num_psets)]
    pub fn get_num_psets(&self) -> RmpiResult<usize> {
        // SAFETY: MPI_Session_get_num_psets requires a session, which `self` holds, and an info, here
        // the null one; it writes one int to `count`.
        let count: c_int =
            output(0, |count| unsafe { mpi.call(self.raw, sys::MPI_INFO_NULL, count) })?;
        Ok(count.unsigned_abs() as usize)
    }

    /// The name of the process set of this number. C: `MPI_Session_get_nth_pset`. Local.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if there are not so many.
    ///
    /// ```no_run
    /// # fn example(session: &rmpi::Session) -> rmpi::RmpiResult {
    /// for n in 0..session.get_num_psets()? {
    ///     println!("{}", session.get_nth_pset(n)?);
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Session_get_nth_pset)]
    pub fn get_nth_pset(&self, n: usize) -> RmpiResult<String> {
        let n = c_int::try_from(n)
            .map_err(|_| Error::refused(ErrorClass::ARG, "there are not so many process sets"))?;
        let mut length = sys::MPI_MAX_PSET_NAME_LEN;
        // SAFETY: MPI_Session_get_nth_pset requires a session, which `self` holds, an info, here the
        // null one, and room for as many bytes as `length` says, which `terminated` gives. A number
        // that no set has, MPI refuses.
        info::terminated(length, |name| unsafe {
            mpi.call(self.raw, sys::MPI_INFO_NULL, n, &mut length, name)
        })
    }

    /// What MPI knows of a process set, such as `mpi_size`. C: `MPI_Session_get_pset_info`. Local.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if there is no such set.
    ///
    /// ```no_run
    /// # fn example(session: &rmpi::Session) -> rmpi::RmpiResult {
    /// println!("{:?}", session.get_pset_info(c"mpi://WORLD")?.get(c"mpi_size")?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Session_get_pset_info)]
    pub fn get_pset_info(&self, name: &CStr) -> RmpiResult<Info<'_>> {
        let null = sys::MPI_INFO_NULL;
        // SAFETY: MPI_Session_get_pset_info requires a session, which `self` holds, and a text that
        // ends with a zero; it writes one handle to `info`.
        let raw = output(null, |info| unsafe { mpi.call(self.raw, name.as_ptr(), info) })?;
        // SAFETY: `from_raw` requires an info that nobody else frees, while MPI runs: MPI has just made
        // it, for this caller alone, and it borrows the session.
        Ok(unsafe { Info::from_raw(raw) })
    }

    /// The processes of a set, `mpi://WORLD` and `mpi://SELF` among them.
    /// C: `MPI_Group_from_session_pset`. Local.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if there is no such set.
    ///
    /// ```no_run
    /// # fn example(session: &rmpi::Session) -> rmpi::RmpiResult {
    /// let all = session.group_from_pset(c"mpi://WORLD")?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Group_from_session_pset)]
    pub fn group_from_pset(&self, name: &CStr) -> RmpiResult<Group<'_>> {
        let null = sys::MPI_GROUP_NULL;
        // SAFETY: MPI_Group_from_session_pset requires a session, which `self` holds, and a text that
        // ends with a zero; it writes one handle to `group`.
        let raw = output(null, |group| unsafe { mpi.call(self.raw, name.as_ptr(), group) })?;
        // SAFETY: `from_raw` requires a group that nobody else frees, while MPI runs: MPI has just made
        // it, for this caller alone, and it borrows the session.
        Ok(unsafe { Group::from_raw(raw) })
    }
}

impl Session<Multiple> {
    /// A communicator for all threads.
    ///
    /// ```no_run
    /// let session = rmpi::Session::init_thread(rmpi::Multiple)?;
    /// let group = session.group_from_pset(c"mpi://SELF")?;
    /// let mine = rmpi::Communicator::create_from_group(&group, c"org.example", None)?;
    /// let mine = session.share(mine);
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| mine.rank());
    /// });
    /// # Ok::<(), rmpi::Error>(())
    /// ```
    pub fn share<'s>(&'s self, communicator: Communicator<'s>) -> Communicator<'s, Multiple> {
        communicator.into_level()
    }
}

const LEVEL: &CStr = c"thread_level";
const LEVELS: [&str; 4] = [Single::NAME, Funneled::NAME, Serialized::NAME, Multiple::NAME];

/// An info that asks for a level, where there are sessions. Infos can be made before MPI runs there.
fn level_info<L: ThreadLevel>() -> RmpiResult<Info<'static>> {
    // SAFETY: MPI_Info_create may be called at any time since MPI-4, as may the functions of sessions, which the
    // library has; it writes one handle to `new`.
    let raw = output(sys::MPI_INFO_NULL, |new| unsafe { sys::MPI_Info_create(new) })?;
    // SAFETY: `from_raw` requires an info that nobody else frees, and MPI to run as long as it is used:
    // MPI has just made it, for this caller alone; its functions may be called at any time, and it ends
    // in `init_thread`.
    let mut info = unsafe { Info::from_raw(raw) };
    let name = std::ffi::CString::new(L::NAME)
        .map_err(|_| Error::refused(ErrorClass::ARG, "a level's name has no zero"))?;
    info.set(LEVEL, &name)?;
    Ok(info)
}
