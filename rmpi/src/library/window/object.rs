//! The window, and what all kinds of it can do.

use core::ffi::CStr;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use rmpi_macros::wraps;

use super::super::error::{RmpiResult, check, output};
use super::super::group::Group;
use super::super::info::Info;
use super::super::runtime;
use super::super::sys::{self, MPI_Win};
use super::agreed::Core;
use super::dynamic::Attachments;
use super::scope::Windows;

/// Memory of the processes of a communicator that the others read and write without this one's doing
/// (MPI-5.0, chapter 12), as elements of type `T`. Freed when it is dropped.
///
/// Making and freeing it are collective: all of these processes drop it, in the same order where they
/// drop more than one. Its errors return, as those of communicators.
///
/// What it can do depends on three types:
/// * The synchronisation `S`, on which the processes agree when they make it: with [`Active`] all that
///   take part say so, in [`fence`](Window::fence) or [`post`](Window::post) and
///   [`start`](Window::start); with [`Passive`], only who accesses does, in [`lock`](Window::lock) or
///   [`lock_all`](Window::lock_all). MPI forbids to mix them at once.
/// * The memory `M`: [`Private`], of which this process has slices while nobody else accesses it;
///   [`Shared`], which the processes of a node have in their memory; [`Dynamic`], which is attached
///   later.
///
/// An epoch is a function that gets what accesses: an [`Epoch`](super::super::Epoch). It borrows the window,
/// so that neither the memory nor a second epoch is to be had meanwhile; it ends when the function
/// does, also by an error or a panic.
///
/// ```no_run
/// use rmpi::{Active, Assertion, Window};
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let (rank, size) = (world.rank()?, world.size()?);
/// let mut window = Window::<f64, _>::allocate(world, 10, None, Active)?;
/// let mine = [rank as f64; 10];
/// window.fence(Assertion::NONE, |epoch| epoch.process((rank + 1) % size).put(&mine, 0))?;
/// println!("{:?}", window.local());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Window<'w, T, S, M = Private> {
    pub(in super::super) core: Core,
    /// Where it is listed as well, if its memory is borrowed.
    pub(super) list: Option<(&'w Windows, usize)>,
    pub(super) dynamic: Option<Box<Attachments>>,
    // It stays on its thread.
    pub(super) _kind: PhantomData<(&'w (), *mut T, S, M)>,
}

/// The processes that take part in an access all say so (MPI-5.0, 12.5): fences, or
/// post, start, complete and wait.
#[derive(Debug, Clone, Copy, Default)]
pub struct Active;

/// Only who accesses says so (MPI-5.0, 12.5): locks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Passive;

/// How the processes synchronise: [`Active`] or [`Passive`].
pub trait Synchronization: sealed::Synchronization {}
impl Synchronization for Active {}
impl Synchronization for Passive {}

/// Memory that only MPI gives to the other processes.
#[derive(Debug, Clone, Copy)]
pub struct Private;

/// Memory that all processes of the window have in theirs.
#[derive(Debug, Clone, Copy)]
pub struct Shared;

/// Memory that is attached to the window later.
#[derive(Debug, Clone, Copy)]
pub struct Dynamic;

pub(super) mod sealed {
    pub trait Synchronization {
        /// What the processes compare.
        const NUMBER: u64;
    }
    impl Synchronization for super::Active {
        const NUMBER: u64 = 1;
    }
    impl Synchronization for super::Passive {
        const NUMBER: u64 = 2;
    }
}

impl<'w, T, S, M> Window<'w, T, S, M> {
    /// How many processes have the window.
    pub fn size(&self) -> usize {
        self.core.lengths.len()
    }

    /// This process's rank in the window, which is that in its communicator.
    pub const fn rank(&self) -> usize {
        self.core.rank
    }

    /// How many elements a process's memory has, if there is such a process: as it said when the
    /// window was made. None of a dynamic one.
    pub fn length(&self, rank: usize) -> Option<usize> {
        self.core.lengths.get(rank).copied()
    }

    /// C's handle, which the window keeps.
    pub const fn as_raw(&self) -> MPI_Win {
        self.core.raw
    }

    /// Frees the window, as its drop does, and says what went wrong. C: `MPI_Win_free`, after an `MPI_Barrier` of the
    /// window's own, and `MPI_Comm_free` of its communicator. Collective: it waits for the others, and MPI frees
    /// memory that it allocated. What is still attached to a dynamic one is detached before, by `MPI_Win_detach`.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(window: rmpi::Window<'_, f64, rmpi::Active>) -> rmpi::RmpiResult {
    /// window.free()
    /// # }
    /// ```
    #[wraps(MPI_Win_free)]
    pub fn free(mut self) -> RmpiResult {
        // SAFETY: `MPI_Win_free` asks for a window that is freed once and has no epoch: `end` calls it at most
        // once, and an epoch borrows the window.
        self.end(|raw| unsafe { mpi.call(raw) })
    }

    fn end(&mut self, call: impl FnOnce(&mut MPI_Win) -> i32) -> RmpiResult {
        let mut raw = core::mem::replace(&mut self.core.raw, sys::MPI_WIN_NULL);
        if raw == sys::MPI_WIN_NULL {
            return Ok(());
        }
        // After an error, memory that others may still write to stays where it is: attached memory is
        // leaked, and the end of the scope of borrowed memory tries once more.
        self.core.meeting.wait()?;
        let detached = match &self.dynamic {
            Some(attachments) => attachments.detach_all(raw),
            None => Ok(()),
        };
        let freed = check(call(&mut raw));
        // Whatever MPI says: a null window is freed, and must not be freed again.
        if freed.is_ok() {
            raw = sys::MPI_WIN_NULL;
        }
        if let Some((windows, index)) = self.list {
            windows.0.borrow_mut()[index].raw = raw;
        }
        if raw == sys::MPI_WIN_NULL {
            self.core.meeting.end();
        }
        detached.and(freed)?;
        if let Some(attachments) = &mut self.dynamic {
            for memory in attachments.memory.drain(..).flatten() {
                drop(ManuallyDrop::into_inner(memory.values));
            }
        }
        Ok(())
    }

    /// The group of its processes. C: `MPI_Win_get_group`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(window: &rmpi::Window<'_, f64, rmpi::Active>) -> rmpi::RmpiResult {
    /// println!("{} processes", window.get_group()?.size()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_get_group)]
    pub fn get_group(&self) -> RmpiResult<Group<'w>> {
        // SAFETY: `MPI_Win_get_group` asks for a window, which the handle is as long as `self` is borrowed. It
        // writes a group.
        let raw = output(sys::MPI_GROUP_NULL, |group| unsafe { mpi.call(self.core.raw, group) })?;
        // SAFETY: `from_raw` asks for a group that nobody else frees, while MPI runs: MPI made this one for the
        // caller, and MPI runs for `'w`.
        Ok(unsafe { Group::from_raw(raw) })
    }

    /// The window's name. C: `MPI_Win_get_name`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(window: &rmpi::Window<'_, f64, rmpi::Active>) -> rmpi::RmpiResult {
    /// println!("{}", window.get_name()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_get_name)]
    pub fn get_name(&self) -> RmpiResult<String> {
        runtime::text(sys::MPI_MAX_OBJECT_NAME, |text, length| {
            // SAFETY: `MPI_Win_get_name` asks for a window, which the handle is as long as `self` is borrowed,
            // and for room for `MPI_MAX_OBJECT_NAME` bytes, which `text` gives. It writes a length.
            unsafe { mpi.call(self.core.raw, text, length) }
        })
    }

    /// Names the window, for debuggers and tools. C: `MPI_Win_set_name`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(window: &rmpi::Window<'_, f64, rmpi::Active>) -> rmpi::RmpiResult {
    /// window.set_name(c"halo")
    /// # }
    /// ```
    #[wraps(MPI_Win_set_name)]
    pub fn set_name(&self, name: &CStr) -> RmpiResult {
        // SAFETY: `MPI_Win_set_name` asks for a window, which the handle is as long as `self` is borrowed, and
        // for a text that ends with a zero, which it copies.
        check(unsafe { mpi.call(self.core.raw, name.as_ptr()) })
    }

    /// Gives MPI hints. C: `MPI_Win_set_info`, after an `MPI_Barrier` of the window's own. Collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(window: &rmpi::Window<'_, f64, rmpi::Active>, info: &rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// window.set_info(info)
    /// # }
    /// ```
    #[wraps(MPI_Win_set_info)]
    pub fn set_info(&self, info: &Info<'_>) -> RmpiResult {
        // MPI lets nobody go from here to another one's fence, who is then in an epoch of which this process knows
        // nothing.
        self.core.meeting.wait()?;
        // SAFETY: `MPI_Win_set_info` asks for a window, which the handle is as long as `self` is borrowed, and
        // for an info, which it copies.
        check(unsafe { mpi.call(self.core.raw, info.as_raw()) })
    }

    /// The hints that MPI uses. C: `MPI_Win_get_info`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(window: &rmpi::Window<'_, f64, rmpi::Active>) -> rmpi::RmpiResult {
    /// println!("{:?}", window.get_info()?.keys()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_get_info)]
    pub fn get_info(&self) -> RmpiResult<Info<'w>> {
        // SAFETY: `MPI_Win_get_info` asks for a window, which the handle is as long as `self` is borrowed. It
        // writes an info.
        let raw = output(sys::MPI_INFO_NULL, |info| unsafe { mpi.call(self.core.raw, info) })?;
        // SAFETY: `from_raw` asks for an info that nobody else frees, while MPI runs: MPI made this one for the
        // caller, and MPI runs for `'w`.
        Ok(unsafe { Info::from_raw(raw) })
    }
}

impl<T, S, M> Drop for Window<'_, T, S, M> {
    fn drop(&mut self) {
        // SAFETY: `MPI_Win_free` asks for a window that is freed once and has no epoch: `end` calls it at most
        // once, and an epoch borrows the window. `free` tells errors.
        let _ = self.end(|raw| unsafe { sys::MPI_Win_free(raw) });
    }
}
