//! Windows to which memory is attached.

use core::any::Any;
use core::cell::Cell;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::slice;
use std::rc::Rc;

use rmpi_macros::wraps;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::info::{self, Info};
use super::super::sys::{self, MPI_Aint, MPI_Win};
use super::agreed::*;
use super::local::locked;
use super::meeting::Meeting;
use super::{Active, Dynamic, Passive, Synchronization, Window};
use crate::MpiDatatype;

/// What a dynamic window has beside others.
#[derive(Debug)]
pub(super) struct Attachments {
    /// What is attached, until it is detached. Leaked with the window.
    pub(super) memory: Vec<Option<Memory>>,
    pub(super) number: u64,
}

#[derive(Debug)]
pub(super) struct Memory {
    /// Where it is, unless it is empty.
    address: Option<NonNull<c_void>>,
    pub(super) values: ManuallyDrop<Box<dyn Any>>,
}

impl Attachments {
    /// Before the window is freed, which does the same, but not in Open MPI 4.1 with UCX: it crashes. The processes
    /// of the window have met.
    pub(super) fn detach_all(&self, raw: MPI_Win) -> RmpiResult {
        for address in self.memory.iter().flatten().filter_map(|memory| memory.address) {
            // SAFETY: `MPI_Win_detach` asks for the address of attached memory that no process accesses. What
            // is listed was attached and not detached; all processes free the window, which they do outside of
            // epochs, and have met.
            check(unsafe { sys::MPI_Win_detach(raw, address.as_ptr()) })?;
        }
        Ok(())
    }
}

/// Memory of all processes that was attached to a dynamic window, by [`Window::attach`].
#[derive(Debug)]
#[must_use = "the memory stays attached until it is detached"]
pub struct Attached<T> {
    pub(in super::super) window: u64,
    index: usize,
    memory: *mut T,
    length: usize,
    /// Address and length of each process's.
    pub(in super::super) places: Box<[(MPI_Aint, usize)]>,
}

thread_local! {
    /// How many dynamic windows there were: handles come again, and these do not.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

impl<'w, S: Synchronization> Window<'w, (), S, Dynamic> {
    /// A window without memory, to which the processes [`attach`](Self::attach) some.
    /// C: `MPI_Win_create_dynamic`, and `MPI_Comm_dup`. Collective.
    ///
    /// # Errors
    /// As [`create`](Window::create).
    ///
    /// ```no_run
    /// use rmpi::{Active, Assertion, Window};
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let mut window = Window::create_dynamic(world, None, Active)?;
    /// let numbers = window.attach(vec![0_i64; 10])?;
    /// window.fence(Assertion::NONE, |epoch| epoch.attached(&numbers, 0)?.put(&[3], 0))?;
    /// let numbers: Vec<i64> = window.detach(numbers)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_create_dynamic in Self)]
    pub fn create_dynamic(
        communicator: &Communicator<'w>,
        info: Option<&Info<'_>>,
        synchronization: S,
    ) -> RmpiResult<Self> {
        let _ = synchronization;
        let meeting = Rc::new(Meeting::new(communicator)?);
        let (info, comm) = (info::handle(info), communicator.as_raw());
        // SAFETY: `MPI_Win_create_dynamic` asks for an intracommunicator, which the duplicate has made sure of, and an
        // info or null. It writes a window.
        let mut raw = output(sys::MPI_WIN_NULL, |window| unsafe { mpi.call(info, comm, window) })?;
        let none = NonNull::<u64>::dangling().as_ptr().cast();
        let core = Core::new::<S>(&mut raw, &meeting, none, 0, [0; 2], 0, false)?;
        let number = NUMBER.get() + 1;
        NUMBER.set(number);
        let dynamic = Attachments { memory: Vec::new(), number };
        Ok(Self { core, list: None, dynamic: Some(Box::new(dynamic)), _kind: PhantomData })
    }

    /// Gives memory to the window, and hears of the other processes' in it. C: `MPI_Win_attach`, and
    /// `MPI_Allgather` of the addresses. Collective, unlike in C, where the program has to send the
    /// addresses itself.
    ///
    /// # Errors
    /// [`NOT_SAME`](ErrorClass::NOT_SAME) if the types' maps differ: nothing is attached;
    /// [`RMA_ATTACH`](ErrorClass::RMA_ATTACH) and others that MPI says.
    ///
    /// ```no_run
    /// # fn example(mut window: rmpi::Window<'_, (), rmpi::Active, rmpi::Dynamic>) -> rmpi::RmpiResult {
    /// let numbers = window.attach(vec![0_i64; 10])?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_attach)]
    pub fn attach<T: MpiDatatype + 'static>(&mut self, memory: Vec<T>) -> RmpiResult<Attached<T>> {
        let Some(dynamic) = self.dynamic.as_deref_mut() else { return Err(foreign()) };
        // Leaked where MPI may still know it.
        let mut memory = ManuallyDrop::new(memory);
        let (pointer, length) = (memory.as_mut_ptr(), memory.len());
        // What lies in memory is not too large.
        let size = bytes::<T>(length).ok_or_else(too_large)?;
        let result = if size > 0 {
            // SAFETY: `MPI_Win_attach` asks for a window, and for so many bytes that exist until they are
            // detached: a vector's, which moved in. The window keeps it until then, or it is leaked.
            check(unsafe { mpi.call(self.core.raw, pointer.cast(), size) })
        } else {
            Ok(())
        };
        let (address, element) = (pointer.expose_provenance() as u64, element::<T>());
        // Who could not attach says so: then nobody has.
        let attached = u64::from(result.is_ok());
        let mine = [attached, element[0], element[1], address, length as u64];
        let all = gather(&self.core.meeting, mine)?;
        if all.iter().any(|one| one[..3] != [1, element[0], element[1]]) {
            if result.is_ok() && size > 0 {
                // SAFETY: `MPI_Win_detach` asks for the address of attached memory that no process accesses: it
                // was attached above, and no process gets an `Attached` for it, since all compare the same
                // numbers.
                check(unsafe { sys::MPI_Win_detach(self.core.raw, pointer.cast()) })?;
            }
            drop(ManuallyDrop::into_inner(memory));
            result?;
            return Err(Error::refused(
                ErrorClass::NOT_SAME,
                "another process attached nothing, or other types",
            ));
        }
        let memory: Box<dyn Any> = Box::new(ManuallyDrop::into_inner(memory));
        let address = NonNull::new(pointer.cast()).filter(|_| size > 0);
        dynamic.memory.push(Some(Memory { address, values: ManuallyDrop::new(memory) }));
        Ok(Attached {
            window: dynamic.number,
            index: dynamic.memory.len() - 1,
            memory: pointer,
            length,
            places: all.iter().map(|one| (one[3] as MPI_Aint, one[4] as usize)).collect(),
        })
    }

    /// Takes memory back, when no process accesses it any more. C: `MPI_Win_detach`, after an
    /// `MPI_Allgather` of what each process detaches. Collective, unlike in C: all processes detach what they
    /// attached together.
    ///
    /// # Errors
    /// [`WIN`](ErrorClass::WIN) if it is another window's; [`NOT_SAME`](ErrorClass::NOT_SAME), on all
    /// processes, if they detach different memory, or if a process cannot: nothing is detached, and the
    /// memory stays with the window until that is freed. What MPI says; the memory is leaked then.
    ///
    /// ```no_run
    /// # fn example(
    /// #     mut window: rmpi::Window<'_, (), rmpi::Active, rmpi::Dynamic>,
    /// #     numbers: rmpi::Attached<i64>,
    /// # ) -> rmpi::RmpiResult {
    /// let numbers: Vec<i64> = window.detach(numbers)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_detach)]
    pub fn detach<T: MpiDatatype + 'static>(
        &mut self,
        attached: Attached<T>,
    ) -> RmpiResult<Vec<T>> {
        let own = self.has(&attached);
        let Some(dynamic) = self.dynamic.as_deref_mut() else { return Err(foreign()) };
        // Also who has another window's memory takes part: the others wait.
        let mine = if own.is_ok() { attached.index as u64 } else { u64::MAX };
        let all = gather(&self.core.meeting, [mine])?;
        own?;
        if all.iter().any(|one| one[0] != mine) {
            return Err(Error::refused(
                ErrorClass::NOT_SAME,
                "the processes detach different memory: all detach what they attached together",
            ));
        }
        if attached.length * size_of::<T>() > 0 {
            // SAFETY: `MPI_Win_detach` asks for the address of attached memory that no process accesses:
            // `attached` is of this window and ends here. All processes detach it, which they do outside of
            // epochs, and have met in the gathering.
            check(unsafe { mpi.call(self.core.raw, attached.memory.cast()) })?;
        }
        let memory = dynamic.memory[attached.index].take().ok_or_else(foreign)?;
        let memory =
            ManuallyDrop::into_inner(memory.values).downcast::<Vec<T>>().map_err(|_| foreign())?;
        Ok(*memory)
    }

    fn has<T>(&self, attached: &Attached<T>) -> RmpiResult {
        match &self.dynamic {
            Some(dynamic) if dynamic.number == attached.window => Ok(()),
            _ => Err(foreign()),
        }
    }
}

pub(in super::super) fn foreign() -> Error {
    Error::refused(ErrorClass::WIN, "the memory is attached to another window")
}

impl<S, M, T> Window<'_, T, S, M> {
    /// Which dynamic window it is.
    pub(in super::super) fn number(&self) -> u64 {
        self.dynamic.as_ref().map_or(0, |dynamic| dynamic.number)
    }
}

impl Window<'_, (), Active, Dynamic> {
    /// Memory of this process that is attached, which nobody else accesses outside of epochs.
    ///
    /// # Errors
    /// [`WIN`](ErrorClass::WIN) if it is another window's.
    pub fn local_of<'a, T: MpiDatatype>(
        &'a mut self,
        attached: &'a mut Attached<T>,
    ) -> RmpiResult<&'a mut [T]> {
        self.has(attached)?;
        // SAFETY: `from_raw_parts_mut` asks for so many initialised elements that nobody else uses while the
        // slice lives. They are a vector's, which the window keeps until `attached` ends. As in
        // `Window::local`, only an epoch lets others use them, and window and `attached` are borrowed mutably.
        Ok(unsafe { slice::from_raw_parts_mut(attached.memory, attached.length) })
    }
}

impl Window<'_, (), Passive, Dynamic> {
    /// As [`lock_local`](Window::lock_local), on memory that is attached. C: `MPI_Win_lock` and
    /// `MPI_Win_unlock`.
    ///
    /// # Errors
    /// [`WIN`](ErrorClass::WIN) if it is another window's; what MPI says.
    ///
    /// ```no_run
    /// # fn example(
    /// #     mut window: rmpi::Window<'_, (), rmpi::Passive, rmpi::Dynamic>,
    /// #     numbers: &mut rmpi::Attached<i64>,
    /// # ) -> rmpi::RmpiResult {
    /// window.lock_local_of(numbers, |numbers| numbers[0] = 5)
    /// # }
    /// ```
    #[wraps(MPI_Win_lock)]
    pub fn lock_local_of<T: MpiDatatype, R>(
        &mut self,
        attached: &mut Attached<T>,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> RmpiResult<R> {
        self.has(attached)?;
        let memory = (attached.memory, attached.length);
        // SAFETY: `locked` asks for memory of the window, so many initialised elements that others access with
        // a lock. They are a vector's, which the window keeps until `attached` ends; both are borrowed mutably,
        // so there are neither references nor an epoch.
        unsafe { locked(&mut self.core, memory, mpi, f) }
    }
}
