use core::ops::Deref;
use core::ptr;
use std::sync::{Mutex, PoisonError};

use rmpi_macros::wraps;

use super::communicator::Communicator;
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::runtime::{Runtime, enter, initialized, sealed, text};
use super::settings;
use super::sys;
use crate::running::{end_of_the_world, leave};
use crate::{Level, Multiple, Single, ThreadLevel};

/// MPI between its initialization and its finalization, which the context's drop is
/// (MPI-5.0, 11.2).
///
/// Everything that calls MPI borrows it, directly or not, so nothing does afterwards. It stays on
/// its thread, or moves, or is shared, as its [`ThreadLevel`] allows.
///
/// Errors return: rmpi sets `MPI_ERRORS_RETURN` on the world and on `MPI_COMM_SELF`, and other
/// communicators inherit it.
#[derive(Debug)]
#[repr(C)]
pub struct RmpiContext<L: ThreadLevel = Single> {
    finalizes: bool,
    // As long as the context, which is as long as anybody can borrow them.
    world: Communicator<'static, L>,
    comm_self: Communicator<'static, L>,
}

impl<L: ThreadLevel> sealed::Runtime for RmpiContext<L> {}
impl<L: ThreadLevel> Runtime for RmpiContext<L> {}

/// Starts MPI with one thread. C: `MPI_Init`, after `MPI_Initialized`, and
/// `MPI_Comm_set_errhandler` for the world and for `MPI_COMM_SELF`. Collective over all processes.
///
/// # Errors
/// [`OTHER`](ErrorClass::OTHER) if MPI was started before: once in a process is all it allows.
///
/// ```no_run
/// let context = rmpi::init()?;
/// println!("{} of {}", context.world().rank()?, context.world().size()?);
/// # Ok::<(), rmpi::Error>(())
/// ```
pub fn init() -> RmpiResult<RmpiContext> {
    begin::<Single>()?;
    settings::choose::<Single>();
    // SAFETY: MPI_Init may be called once in a process; its arguments may be null. `begin` has seen that nobody
    // called it, and lets one caller through.
    check(unsafe { sys::MPI_Init(ptr::null_mut(), ptr::null_mut()) }).inspect_err(|_| leave())?;
    RmpiContext::started()
}

/// Starts MPI with a thread level: [`Funneled`](crate::Funneled), [`Serialized`](crate::Serialized)
/// or [`Multiple`]. C: `MPI_Init_thread`, else as [`init`]. Collective over all processes.
///
/// # Errors
/// As [`init`], and [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) if MPI provides a
/// lower level only; it has been finalized then.
///
/// ```no_run
/// let context = rmpi::init_thread(rmpi::Multiple)?;
/// std::thread::scope(|threads| {
///     for _ in 0..4 {
///         threads.spawn(|| println!("rank {:?}", context.world().rank()));
///     }
/// });
/// # Ok::<(), rmpi::Error>(())
/// ```
pub fn init_thread<L: ThreadLevel>(level: L) -> RmpiResult<RmpiContext<L>> {
    let _ = level;
    begin::<L>()?;
    settings::choose::<L>();
    // SAFETY: MPI_Init_thread may be called once in a process; its arguments may be null, and it writes
    // one int to `provided`. `begin` has seen that nobody called it, and lets one caller through.
    let provided = output(0, |provided| unsafe {
        sys::MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), L::RAW, provided)
    })
    .inspect_err(|_| leave())?;
    let context = RmpiContext::started()?;
    if provided < L::RAW {
        drop(context);
        return Err(Error::refused(
            ErrorClass::UNSUPPORTED_OPERATION,
            "MPI provides a lower thread level than was asked for",
        ));
    }
    Ok(context)
}

/// A context is about to be made, once in a process. One that does not go with the sessions that there are does
/// not count: MPI is not called then.
fn begin<L: ThreadLevel>() -> RmpiResult {
    let again = Error::refused(ErrorClass::OTHER, "MPI has been initialized before");
    if initialized()? {
        return Err(again);
    }
    enter::<L>()?;
    if !crate::running::starts() {
        leave();
        return Err(again);
    }
    Ok(())
}

impl<L: ThreadLevel> RmpiContext<L> {
    fn started() -> RmpiResult<Self> {
        // SAFETY: `of_world` requires MPI to run with this level while the context is used,
        // and errors to return: MPI was just initialized, the context's end finalizes it, and the loop
        // below has errors return. Where MPI provides a lower level, `init_thread` gives the context to
        // nobody.
        let context = unsafe { Self::of_world(true) };
        crate::running::initializes_here();
        for raw in [sys::MPI_COMM_WORLD, sys::MPI_COMM_SELF] {
            // SAFETY: MPI_Comm_set_errhandler requires a communicator and an error handler: all three
            // are predefined, and MPI runs.
            check(unsafe { sys::MPI_Comm_set_errhandler(raw, sys::MPI_ERRORS_RETURN) })?;
        }
        Ok(context)
    }

    /// The context of an MPI that somebody else initialized and will finalize: for tools, and for
    /// libraries of programs in other languages.
    ///
    /// # Safety
    /// MPI runs as long as the context is used, or what was made of it, with thread level `L`, and may be called by
    /// this thread; errors of the world and of `MPI_COMM_SELF` return; and at a level below [`Multiple`] nobody
    /// else calls MPI at the same time. That includes [`Error`] and [`Status`](super::Status) values on other threads,
    /// which ask MPI what they mean without borrowing anything. From the first such context of a process on, MPI does
    /// not end and begin again, as it can with sessions: rmpi keeps the datatypes of Rust types, until `MPI_Finalize`, which
    /// calls rmpi to free them. So the code that calls this stays loaded until then.
    pub unsafe fn assume_initialized() -> Self {
        crate::running::assume();
        // SAFETY: `of_world` requires MPI to run with this level while the context is used, and errors to
        // return, which the caller promises.
        unsafe { Self::of_world(false) }
    }

    /// The context of an MPI that somebody else initialized and will finalize, until what it returns is dropped: for tools that
    /// are called while MPI is theirs. What outlives that and asks MPI what it means without borrowing anything, as an [`Error`]
    /// does, asks nothing any more, and datatypes of Rust types are freed then.
    ///
    /// # Errors
    /// [`OTHER`](ErrorClass::OTHER) if this library has a context or session whose thread level does not go with this one.
    ///
    /// # Safety
    /// Until it is dropped, MPI runs with thread level `L`, may be called by this thread, and at a level below [`Multiple`] is
    /// called by nobody else meanwhile. As long as the context in it is used, errors of the world and of `MPI_COMM_SELF` return.
    pub unsafe fn lend() -> RmpiResult<LentContext<L>> {
        crate::running::enter::<L>().map_err(|why| Error::refused(ErrorClass::OTHER, why))?;
        // SAFETY: `of_world` requires MPI to run with this level while the context is used, and errors to
        // return, which the caller promises.
        Ok(LentContext(unsafe { Self::of_world(false) }))
    }

    /// # Safety
    /// MPI runs as long as the context is used, with thread level `L`, and may be called by this thread; errors of
    /// the world and of `MPI_COMM_SELF` return before anybody else gets the context.
    unsafe fn of_world(finalizes: bool) -> Self {
        // SAFETY: `borrow_raw` requires communicators that nobody frees while MPI runs, and the rest as
        // the caller promises: the two are predefined. MPI may end within `'static`, but they are given
        // out only by references that borrow the context.
        unsafe {
            Self {
                finalizes,
                world: Communicator::borrow_raw(sys::MPI_COMM_WORLD),
                comm_self: Communicator::borrow_raw(sys::MPI_COMM_SELF),
            }
        }
    }

    /// Ends MPI, as the context's drop does, and says what went wrong. C: `MPI_Finalize`.
    /// Collective over all connected processes.
    ///
    /// Datatypes of Rust types are freed before.
    ///
    /// # Errors
    /// [`OTHER`](ErrorClass::OTHER) on another thread than the one that initialized MPI, where the standard
    /// forbids it (MPI-5.0, 11.6): MPI is not finalized then. What MPI says.
    ///
    /// ```no_run
    /// let context = rmpi::init()?;
    /// context.finalize()?;
    /// assert!(rmpi::finalized()?);
    /// # Ok::<(), rmpi::Error>(())
    /// ```
    #[wraps(MPI_Finalize)]
    pub fn finalize(mut self) -> RmpiResult {
        if !core::mem::take(&mut self.finalizes) {
            return Ok(());
        }
        if !crate::running::initialized_here() {
            return Err(Error::refused(ErrorClass::OTHER, OTHER_THREAD));
        }
        end_of_the_world();
        // SAFETY: MPI_Finalize is called once, when nobody calls MPI any more, by the thread that
        // initialized MPI, which was asked above. What calls MPI borrows the context, which is moved
        // here; what borrows nothing was waited for by `end_of_the_world`.
        check(unsafe { mpi.call() })
    }
}

/// A context for a while: what [`RmpiContext::lend`] returns.
#[derive(Debug)]
pub struct LentContext<L: ThreadLevel = Single>(RmpiContext<L>);

impl<L: ThreadLevel> Deref for LentContext<L> {
    type Target = RmpiContext<L>;

    fn deref(&self) -> &RmpiContext<L> {
        &self.0
    }
}

impl<L: ThreadLevel> Drop for LentContext<L> {
    fn drop(&mut self) {
        leave();
    }
}

/// What is said where a context ends on the wrong thread.
const OTHER_THREAD: &str = "MPI is not finalized: a context ended on another thread than the one that \
    called init or init_thread, and MPI_Finalize may be called on that one only; move the context back";

/// Where a panic drops it, and there are other processes, it ends them all, by `MPI_Abort` with error code 101:
/// `MPI_Finalize` would wait for processes that may wait for this one, and nobody would end.
///
/// On another thread than the one that initialized MPI, it says so on standard error and leaves MPI as it
/// is: the standard allows `MPI_Finalize` on that thread only.
impl<L: ThreadLevel> Drop for RmpiContext<L> {
    fn drop(&mut self) {
        if !self.finalizes {
            return;
        }
        if !crate::running::initialized_here() {
            eprintln!("rmpi: {OTHER_THREAD}");
            return;
        }
        if std::thread::panicking() {
            abort_others();
        }
        end_of_the_world();
        // SAFETY: MPI_Finalize is called once, when nobody calls MPI any more, by the thread that
        // initialized MPI, which was asked above. What calls MPI borrows the context, which is dropped
        // here; what borrows nothing was waited for by `end_of_the_world`. `finalize` tells errors.
        unsafe { sys::MPI_Finalize() };
    }
}

/// Ends all processes of the world, if there are others than this one.
#[cold]
fn abort_others() {
    let mut size = 0;
    // SAFETY: MPI_Comm_size requires MPI to run, which it does as long as there is a context, and writes one int to
    // `size`. MPI_Abort requires MPI to run.
    unsafe {
        if sys::MPI_Comm_size(sys::MPI_COMM_WORLD, &mut size) == sys::MPI_SUCCESS && size > 1 {
            sys::MPI_Abort(sys::MPI_COMM_WORLD, 101);
        }
    }
}

// SAFETY: `Send` requires that another thread may use and drop the context: at this level any thread
// may call MPI, one at a time. A context that moves is not borrowed, and what calls MPI borrows it, but
// for what `running::calling` lets the thread that began MPI ask (`docs/rmpi.md`). On another thread
// its drop does not call MPI_Finalize.
unsafe impl Send for RmpiContext<crate::Serialized> {}

/// A context of whatever level can do what one with a single thread can, on the thread where the
/// reference is.
macro_rules! deref {
    ($($level:ident)*) => {$(
        impl Deref for RmpiContext<crate::$level> {
            type Target = RmpiContext;
            fn deref(&self) -> &RmpiContext {
                // SAFETY: the cast requires the same layout: the struct is repr(C), and the two types
                // differ in markers of no size only. What a single thread may do is allowed at this
                // level on the thread that has the reference.
                unsafe { &*ptr::from_ref(self).cast() }
            }
        }
    )*};
}
deref! { Funneled Serialized Multiple }

impl RmpiContext {
    /// `MPI_COMM_WORLD`: all processes.
    ///
    /// ```no_run
    /// let context = rmpi::init()?;
    /// let world = context.world();
    /// # Ok::<(), rmpi::Error>(())
    /// ```
    pub const fn world(&self) -> &Communicator<'_> {
        &self.world
    }

    /// `MPI_COMM_SELF`: this process.
    ///
    /// ```no_run
    /// let context = rmpi::init()?;
    /// assert_eq!(context.comm_self().size()?, 1);
    /// # Ok::<(), rmpi::Error>(())
    /// ```
    pub const fn comm_self(&self) -> &Communicator<'_> {
        &self.comm_self
    }

    /// The thread level that MPI provides. C: `MPI_Query_thread`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// println!("{:?}", context.query_thread()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Query_thread)]
    pub fn query_thread(&self) -> RmpiResult<Level> {
        // SAFETY: MPI_Query_thread requires MPI to run, which it does as long as there is a context,
        // and writes one int to `provided`.
        let provided = output(0, |provided| unsafe { mpi.call(provided) })?;
        Level::from_raw(provided)
            .ok_or(Error::refused(ErrorClass::OTHER, "MPI told an unknown thread level"))
    }

    /// Is this the thread that initialized MPI? C: `MPI_Is_thread_main`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// assert!(context.is_thread_main()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Is_thread_main)]
    pub fn is_thread_main(&self) -> RmpiResult<bool> {
        // SAFETY: MPI_Is_thread_main requires MPI to run, which it does as long as there is a context,
        // and writes one int to `flag`.
        output(0, |flag| unsafe { mpi.call(flag) }).map(|flag| flag != 0)
    }

    /// Seconds since some time in the past. C: `MPI_Wtime`. Local.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) {
    /// let start = context.wtime();
    /// println!("{} s", context.wtime() - start);
    /// # }
    /// ```
    #[wraps(MPI_Wtime)]
    pub fn wtime(&self) -> f64 {
        // SAFETY: MPI_Wtime requires MPI to run, which it does as long as there is a context.
        unsafe { mpi.call() }
    }

    /// Seconds between ticks of [`wtime`](Self::wtime). C: `MPI_Wtick`. Local.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) {
    /// assert!(context.wtick() < 1.0);
    /// # }
    /// ```
    #[wraps(MPI_Wtick)]
    pub fn wtick(&self) -> f64 {
        // SAFETY: MPI_Wtick requires MPI to run, which it does as long as there is a context.
        unsafe { mpi.call() }
    }

    /// What the machine is called. C: `MPI_Get_processor_name`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// println!("on {}", context.get_processor_name()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Get_processor_name)]
    pub fn get_processor_name(&self) -> RmpiResult<String> {
        text(sys::MPI_MAX_PROCESSOR_NAME, |text, length| {
            // SAFETY: MPI_Get_processor_name requires MPI to run, which it does as long as there is a
            // context, and room for MPI_MAX_PROCESSOR_NAME bytes, which `self::text` gives.
            unsafe { mpi.call(text, length) }
        })
    }

    /// Gives MPI memory for buffered sends (MPI-5.0, 3.6), at least
    /// [`BSEND_OVERHEAD`] bytes more a message than its packed data.
    /// C: `MPI_Buffer_attach`. Local.
    ///
    /// # Errors
    /// [`BUFFER`](ErrorClass::BUFFER), among others, if there is such a buffer already.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext, to: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// context.buffer_attach(vec![0; 1000 + rmpi::BSEND_OVERHEAD])?;
    /// to.bsend(&[1.0_f64; 10], rmpi::Tag::new(0))?;
    /// let buffer = context.buffer_detach()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Buffer_attach)]
    pub fn buffer_attach(&self, buffer: Vec<u8>) -> RmpiResult {
        let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
        if attached.is_some() {
            return Err(Error::refused(ErrorClass::BUFFER, "a buffer is attached already"));
        }
        let size = buffer.len() as sys::MPI_Count;
        // From now on memory that only MPI knows; leaked if nobody detaches it.
        let mut buffer = core::mem::ManuallyDrop::new(buffer);
        // SAFETY: MPI_Buffer_attach requires that many bytes of memory that nobody else uses until they
        // are detached, and no other buffer: `attached` was empty, and keeps the buffer from here on.
        let result = check(unsafe { mpi.call(buffer.as_mut_ptr().cast(), size) });
        if result.is_ok() {
            *attached = Some(Attached(buffer));
        } else {
            // SAFETY: `ManuallyDrop::drop` requires that the value is not used any more: MPI did not
            // take it, and this function returns.
            unsafe { core::mem::ManuallyDrop::drop(&mut buffer) };
        }
        result
    }

    /// Takes the memory for buffered sends back, once all messages in it have left.
    /// C: `MPI_Buffer_detach`. Local, but blocks until then.
    ///
    /// # Errors
    /// [`BUFFER`](ErrorClass::BUFFER) if none was attached.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// let buffer: Vec<u8> = context.buffer_detach()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Buffer_detach)]
    pub fn buffer_detach(&self) -> RmpiResult<Vec<u8>> {
        let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Attached(buffer)) = attached.take() else {
            return Err(Error::refused(ErrorClass::BUFFER, "no buffer is attached"));
        };
        let mut pointer: *mut core::ffi::c_void = ptr::null_mut();
        let mut size = 0;
        // SAFETY: MPI_Buffer_detach writes the buffer's address to where the first argument points,
        // which is a pointer, and its size to the second. A buffer is attached, as `attached` says.
        match check(unsafe { mpi.call(ptr::from_mut(&mut pointer).cast(), &mut size) }) {
            Ok(()) => Ok(core::mem::ManuallyDrop::into_inner(buffer)),
            Err(error) => {
                *attached = Some(Attached(buffer));
                Err(error)
            }
        }
    }
}

struct Attached(core::mem::ManuallyDrop<Vec<u8>>);
static ATTACHED: Mutex<Option<Attached>> = Mutex::new(None);

/// Bytes that MPI may need for a message in an attached buffer, beside its data.
pub const BSEND_OVERHEAD: usize = sys::MPI_BSEND_OVERHEAD as usize;

impl RmpiContext<Multiple> {
    /// `MPI_COMM_WORLD`, for all threads.
    ///
    /// ```no_run
    /// let context = rmpi::init_thread(rmpi::Multiple)?;
    /// let world = context.world();
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| world.rank());
    /// });
    /// # Ok::<(), rmpi::Error>(())
    /// ```
    pub const fn world(&self) -> &Communicator<'_, Multiple> {
        &self.world
    }

    /// A communicator for all threads.
    ///
    /// ```no_run
    /// let context = rmpi::init_thread(rmpi::Multiple)?;
    /// let mine = context.share(context.world().dup()?);
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| mine.rank());
    /// });
    /// # Ok::<(), rmpi::Error>(())
    /// ```
    pub fn share<'ctx>(
        &'ctx self,
        communicator: Communicator<'ctx>,
    ) -> Communicator<'ctx, Multiple> {
        communicator.into_level()
    }
}
