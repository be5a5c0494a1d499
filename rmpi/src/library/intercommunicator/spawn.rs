//! Programs that start others, and programs that were started.

use core::ffi::{CStr, c_char};
use core::sync::atomic::Ordering;

use rmpi_macros::wraps;
use smallvec::SmallVec;

use super::super::communicator::Communicator;
use super::super::context::RmpiContext;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::info::{self, Info};
use super::super::sys::{self, c_int};
use super::InterCommunicator;
use super::object::made;
use crate::running::{PARENT, PARENT_FREE, PARENT_GONE, PARENT_TAKEN};

impl<'ctx> Communicator<'ctx> {
    /// Starts processes that run a program, and connects with them. C: `MPI_Comm_spawn` with
    /// `MPI_ERRCODES_IGNORE`, then `MPI_Comm_set_errhandler`. Collective, blocks until they have called
    /// `MPI_Init`. Only what the root gives counts.
    ///
    /// How many were started is [`remote_size`](InterCommunicator::remote_size). There are no
    /// error codes per process: MPI would write as many as the root asks for, wherever the
    /// others have room.
    ///
    /// # Errors
    /// [`SPAWN`](ErrorClass::SPAWN) and others that MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let workers = world.spawn(c"./worker", &[c"--quiet"], 2, None, 0)?;
    /// workers.barrier()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_spawn)]
    pub fn spawn(
        &self,
        command: &CStr,
        arguments: &[&CStr],
        max_processes: usize,
        info: Option<&Info<'_>>,
        root: usize,
    ) -> RmpiResult<InterCommunicator<'ctx>> {
        self.intra()?;
        let max_processes = c_int::try_from(max_processes)
            .map_err(|_| Error::refused(ErrorClass::ARG, "no MPI starts so many processes"))?;
        let root = self.root(root)?;
        let mut arguments: SmallVec<[*mut c_char; 8]> =
            arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
        arguments.push(core::ptr::null_mut());
        // SAFETY: MPI_Comm_spawn requires an intracommunicator, which `self` holds, as `intra` has
        // found, a rank of it, as `root` has found, an info or the null one, a text, and an array of
        // texts that ends with null. MPI reads these only, and writes one handle to `new`, and no error
        // codes.
        made(output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(
                command.as_ptr(),
                arguments.as_mut_ptr(),
                max_processes,
                info::handle(info),
                root,
                self.as_raw(),
                new,
                sys::MPI_ERRCODES_IGNORE,
            )
        })?)
    }
}

/// A program that [`Communicator::spawn_multiple`] starts: C's command, arguments, `maxprocs` and info.
///
/// ```no_run
/// let ocean = rmpi::Spawn::new(c"./ocean", 4).arguments(&[c"--fine"]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Spawn<'a> {
    command: &'a CStr,
    arguments: &'a [&'a CStr],
    max_processes: usize,
    info: Option<&'a Info<'a>>,
}

impl<'a> Spawn<'a> {
    /// At most so many processes that run a program, without arguments.
    pub const fn new(command: &'a CStr, max_processes: usize) -> Self {
        Self { command, arguments: &[], max_processes, info: None }
    }

    /// The same with these arguments.
    pub const fn arguments(mut self, arguments: &'a [&'a CStr]) -> Self {
        self.arguments = arguments;
        self
    }

    /// The same with hints of how and where it is started.
    pub const fn info(mut self, info: &'a Info<'a>) -> Self {
        self.info = Some(info);
        self
    }
}

impl<'ctx> Communicator<'ctx> {
    /// Starts processes that run several programs, or one with several lists of arguments, in one world, and connects with
    /// them. C: `MPI_Comm_spawn_multiple` with `MPI_ERRCODES_IGNORE`, then `MPI_Comm_set_errhandler`. Collective, blocks until
    /// they have called `MPI_Init`. Only what the root gives counts; the others may give none.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn); [`ARG`](ErrorClass::ARG) at the root if it gives no program, or too
    /// many processes, while the others wait.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// use rmpi::Spawn;
    /// let programs = [Spawn::new(c"./ocean", 4).arguments(&[c"--fine"]), Spawn::new(c"./ice", 2)];
    /// let models = world.spawn_multiple(&programs, 0)?;
    /// models.barrier()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_spawn_multiple)]
    pub fn spawn_multiple(
        &self,
        programs: &[Spawn<'_>],
        root: usize,
    ) -> RmpiResult<InterCommunicator<'ctx>> {
        self.intra()?;
        let root = self.root(root)?;
        let is_root = usize::try_from(root) == Ok(self.known_rank()?);
        let programs = if is_root { programs } else { &[] };
        if programs.is_empty() && is_root {
            return Err(Error::refused(ErrorClass::ARG, "there is no program to start"));
        }
        let too_many = || Error::refused(ErrorClass::ARG, "no MPI starts so many processes");
        let count = c_int::try_from(programs.len()).map_err(|_| too_many())?;
        let mut processes = Vec::with_capacity(programs.len());
        for program in programs {
            processes.push(c_int::try_from(program.max_processes).map_err(|_| too_many())?);
        }
        let mut commands: Vec<*mut c_char> =
            programs.iter().map(|program| program.command.as_ptr().cast_mut()).collect();
        let mut lists: Vec<Vec<*mut c_char>> = Vec::with_capacity(programs.len());
        for program in programs {
            let texts = program.arguments.iter().map(|argument| argument.as_ptr().cast_mut());
            lists.push(texts.chain([core::ptr::null_mut()]).collect());
        }
        let mut arguments: Vec<*mut *mut c_char> = lists.iter_mut().map(Vec::as_mut_ptr).collect();
        let infos: Vec<_> = programs.iter().map(|program| info::handle(program.info)).collect();
        // SAFETY: MPI_Comm_spawn_multiple requires an intracommunicator, which `self` holds, as `intra` has found, a
        // rank of it, as `root` has found, and arrays of `count` texts, arrays of texts that end with null, numbers, and
        // infos or the null one: the vectors are of that length and live on, and so do the programs' texts. MPI reads
        // these only, and writes one handle to `new`, and no error codes.
        made(output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(
                count,
                commands.as_mut_ptr(),
                arguments.as_mut_ptr(),
                processes.as_ptr(),
                infos.as_ptr(),
                root,
                self.as_raw(),
                new,
                sys::MPI_ERRCODES_IGNORE,
            )
        })?)
    }
}

impl RmpiContext {
    /// The processes that spawned this one and its like; none if nobody did, or after it was
    /// disconnected. C: `MPI_Comm_get_parent`, then `MPI_Comm_set_errhandler`. Local.
    ///
    /// # Errors
    /// [`OTHER`](ErrorClass::OTHER) while somebody else has it.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// if let Some(parent) = context.get_parent()? {
    ///     parent.process(0).send(&1, rmpi::Tag::new(0))?;
    ///     parent.disconnect()?;
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_get_parent)]
    pub fn get_parent(&self) -> RmpiResult<Option<InterCommunicator<'_>>> {
        let (free, taken) = (PARENT_FREE, PARENT_TAKEN);
        match PARENT.compare_exchange(free, taken, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {}
            Err(PARENT_GONE) => return Ok(None),
            Err(_) => {
                return Err(Error::refused(ErrorClass::OTHER, "somebody else has the parent"));
            }
        }
        // SAFETY: MPI_Comm_get_parent requires MPI to run, which it does as long as there is a context,
        // and writes one handle to `parent`.
        let parent = output(sys::MPI_COMM_NULL, |parent| unsafe { mpi.call(parent) });
        let result = parent.and_then(|raw| {
            if raw != sys::MPI_COMM_NULL {
                // SAFETY: MPI_Comm_set_errhandler requires a communicator, which MPI has just given,
                // and an error handler, which is predefined.
                check(unsafe { sys::MPI_Comm_set_errhandler(raw, sys::MPI_ERRORS_RETURN) })?;
            }
            Ok(raw)
        });
        match result {
            Ok(raw) if raw != sys::MPI_COMM_NULL => {
                // SAFETY: an intercommunicator whose errors return, which is given to one at a time.
                let mut parent = unsafe { InterCommunicator::from_raw(raw) };
                parent.parent = true;
                Ok(Some(parent))
            }
            none => {
                PARENT.store(PARENT_FREE, Ordering::Release);
                none.map(|_| None)
            }
        }
    }
}
