//! Windows are made, over borrowed memory and over memory of MPI's.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use std::rc::Rc;

use rmpi_macros::wraps;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::info::{self, Info};
use super::super::sys::{self, MPI_Aint};
use super::agreed::*;
use super::meeting::Meeting;
use super::scope::Listed;
use super::{Exposed, Shared, Synchronization, Window, WindowScope};
use crate::MpiDatatype;

impl<'w, T: MpiDatatype, S: Synchronization> Window<'w, T, S> {
    /// A window over memory that is borrowed as long as the scope. C: `MPI_Win_create`, after `MPI_Comm_dup` for
    /// what its processes have to agree on. Collective.
    ///
    /// The processes give as much as they like, of types with the same type map: the same predefined
    /// datatypes at the same places, and so the same padding.
    ///
    /// # Errors
    /// [`NOT_SAME`](ErrorClass::NOT_SAME), on all processes, if the types' maps or the synchronisations differ;
    /// [`COMM`](ErrorClass::COMM) if it is an intercommunicator, which is so on all; what MPI says. A process on
    /// which only MPI fails has no window, and the others may wait for it, as in C.
    ///
    /// ```no_run
    /// use rmpi::{Passive, Window};
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let mut numbers = [0_i64; 10];
    /// rmpi::window_scope(|scope| {
    ///     let window = Window::create(scope, world, &mut numbers, None, Passive)?;
    ///     window.free()
    /// })
    /// # }
    /// ```
    #[wraps(MPI_Win_create in Self)]
    pub fn create(
        scope: &'w WindowScope<'w, '_>,
        communicator: &Communicator<'w>,
        memory: &'w mut [T],
        info: Option<&Info<'_>>,
        synchronization: S,
    ) -> RmpiResult<Self> {
        let _ = synchronization;
        communicator.intra()?;
        let length = memory.len();
        // What lies in memory is not too large.
        let size = bytes::<T>(length).ok_or_else(too_large)?;
        let memory: *mut c_void = memory.as_mut_ptr().cast();
        let shift = if size == 0 { 0 } else { shift(memory)? };
        let begin = memory.wrapping_byte_sub(shift);
        let (size, unit) =
            if shift == 0 { (size, unit::<T>()) } else { (size + shift as MPI_Aint, 1) };
        let meeting = Rc::new(Meeting::new(communicator)?);
        let (info, comm) = (info::handle(info), communicator.as_raw());
        // SAFETY: `MPI_Win_create` asks for an intracommunicator, which `intra` has made sure of, and an info
        // or null; and for `size` bytes that nobody else uses until the window is freed. The memory is borrowed
        // for `'w`, and the window freed by its drop, or at the end of the scope. No operation is given a place
        // in the bytes before the memory.
        let mut raw = output(sys::MPI_WIN_NULL, |window| unsafe {
            mpi.call(begin, size, unit, info, comm, window)
        })?;
        let element = element::<T>();
        let core = Core::new::<S>(&mut raw, &meeting, memory, length, element, shift, false);
        // Also one that was refused and not freed: the end of the scope tries once more.
        let mut list = scope.windows.0.borrow_mut();
        list.push(Listed { raw, meeting });
        let list = Some((&scope.windows, list.len() - 1));
        Ok(Self { core: core?, list, dynamic: None, _kind: PhantomData })
    }

    /// A window of so many elements, zero at first, which MPI allocates and frees.
    /// C: `MPI_Win_allocate`, after `MPI_Comm_dup` as [`create`](Self::create). Collective.
    ///
    /// # Errors
    /// As [`create`](Self::create), and, on all processes, [`SIZE`](ErrorClass::SIZE) if one asks for more memory
    /// than there can be, and [`NO_MEM`](ErrorClass::NO_MEM) if the memory that MPI allocates on one is not aligned
    /// as `T` is, which happens where that is more than 16 bytes.
    ///
    /// ```no_run
    /// use rmpi::{Active, Window};
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let mut window = Window::<f64, _>::allocate(world, 10, None, Active)?;
    /// window.local_mut()[3] = 1.5;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_allocate in Self)]
    pub fn allocate(
        communicator: &Communicator<'w>,
        length: usize,
        info: Option<&Info<'_>>,
        synchronization: S,
    ) -> RmpiResult<Self> {
        let _ = synchronization;
        communicator.intra()?;
        let (size, unit) = (bytes::<T>(length), unit::<T>());
        let asked = padded(size.unwrap_or(0))?;
        let meeting = Rc::new(Meeting::new(communicator)?);
        let (info, comm) = (info::handle(info), communicator.as_raw());
        let mut memory: *mut c_void = ptr::null_mut();
        // SAFETY: `MPI_Win_allocate` asks for an intracommunicator, which `intra` has made sure of, and an info
        // or null. It writes a window, and the address of its memory to what its argument points to, which is a
        // pointer.
        let mut raw = output(sys::MPI_WIN_NULL, |window| unsafe {
            mpi.call(asked, unit, info, comm, ptr::from_mut(&mut memory).cast(), window)
        })?;
        let (memory, element) = zeroed::<T>(memory, length, size);
        let core = Core::new::<S>(&mut raw, &meeting, memory, length, element, 0, false)?;
        Ok(Self { core, list: None, dynamic: None, _kind: PhantomData })
    }
}

/// Fills memory of MPI with zeros, which are elements as all bits are. The other processes have no
/// window yet, and get none if this process has no memory, or none that is aligned as `T` is: it says [`TOO_LARGE`]
/// or [`NO_MEMORY`] for its elements then. `size` is what `bytes` says.
fn zeroed<T: MpiDatatype>(
    memory: *mut c_void,
    length: usize,
    size: Option<MPI_Aint>,
) -> (*mut c_void, [u64; 2]) {
    let memory: *mut T = memory.cast();
    let dangling = NonNull::<T>::dangling().as_ptr().cast();
    match size {
        None => return (dangling, TOO_LARGE),
        Some(0) => return (dangling, element::<T>()),
        Some(_) if memory.is_null() || !memory.is_aligned() => return (dangling, NO_MEMORY),
        Some(_) => {}
    }
    // SAFETY: `write_bytes` asks for aligned memory of so many elements: MPI has allocated so many bytes, as they
    // are not too many, and null and misaligned memory were sorted out above. No other process can access it yet. Zeros are values,
    // as any bits are.
    unsafe { ptr::write_bytes(memory, 0, length) };
    (memory.cast(), element::<T>())
}

impl<'w, T: MpiDatatype, S: Synchronization> Window<'w, T, S, Shared> {
    /// A window of so many elements, zero at first, in memory that all of its processes have, which
    /// have to be of one node. C: `MPI_Win_allocate_shared`, after `MPI_Comm_dup` as
    /// [`create`](Window::create). Collective. See [`split_type`](Communicator::split_type).
    ///
    /// The other processes write to it as they like, so there are no slices of it, but copies:
    /// [`segment`](Self::segment).
    ///
    /// # Errors
    /// As [`allocate`](Window::allocate), and [`RMA_SHARED`](ErrorClass::RMA_SHARED) if the memory cannot
    /// be shared.
    ///
    /// ```no_run
    /// use rmpi::{Passive, Window};
    /// # fn example(node: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let window = Window::<f64, _, _>::allocate_shared(node, 10, None, Passive)?;
    /// window.segment(node.rank()?)?.set(3, 1.5)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_allocate_shared in Self)]
    pub fn allocate_shared(
        communicator: &Communicator<'w>,
        length: usize,
        info: Option<&Info<'_>>,
        synchronization: S,
    ) -> RmpiResult<Self> {
        let _ = synchronization;
        communicator.intra()?;
        let (size, unit) = (bytes::<T>(length), unit::<T>());
        let asked = size.unwrap_or(0);
        let meeting = Rc::new(Meeting::new(communicator)?);
        let (info, comm) = (info::handle(info), communicator.as_raw());
        let mut memory: *mut c_void = ptr::null_mut();
        // SAFETY: `MPI_Win_allocate_shared` asks for an intracommunicator, which `intra` has made sure of, and
        // an info or null. It writes a window, and the address of its memory to what its argument points to,
        // which is a pointer.
        let mut raw = output(sys::MPI_WIN_NULL, |window| unsafe {
            mpi.call(asked, unit, info, comm, ptr::from_mut(&mut memory).cast(), window)
        })?;
        let (memory, element) = zeroed::<T>(memory, length, size);
        let core = Core::new::<S>(&mut raw, &meeting, memory, length, element, 0, true)?;
        Ok(Self { core, list: None, dynamic: None, _kind: PhantomData })
    }

    /// A process's part of the memory, as this one has it. C: `MPI_Win_shared_query`. Local.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK) if there is no such process; what MPI says.
    ///
    /// ```no_run
    /// # fn example(window: &rmpi::Window<'_, f64, rmpi::Passive, rmpi::Shared>) -> rmpi::RmpiResult {
    /// println!("{}", window.segment(0)?.get(3)?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_shared_query)]
    pub fn segment(&self, rank: usize) -> RmpiResult<Exposed<'_, T>> {
        segment(&self.core, rank, mpi)
    }
}

/// What `MPI_Win_shared_query` says of a process's memory.
pub(in super::super) fn segment<'a, T: MpiDatatype>(
    core: &'a Core,
    rank: usize,
    mpi: impl crate::call::MPI_Win_shared_query,
) -> RmpiResult<Exposed<'a, T>> {
    let Some(length) = core.lengths.get(rank).copied() else {
        return Err(Error::refused(ErrorClass::RANK, "the window has no process of that rank"));
    };
    if !core.shared {
        return Err(Error::refused(ErrorClass::RMA_FLAVOR, "the window's memory is not shared"));
    }
    let (mut size, mut unit) = (0, 0);
    let mut memory: *mut c_void = ptr::null_mut();
    // SAFETY: `MPI_Win_shared_query` asks for a window of shared memory and a rank of it, which were checked
    // above. It writes a size, a unit, and an address to what its last argument points to, which is a pointer.
    check(unsafe {
        mpi.call(core.raw, rank as i32, &mut size, &mut unit, ptr::from_mut(&mut memory).cast())
    })?;
    if length == 0 || size_of::<T>() == 0 {
        memory = NonNull::<T>::dangling().as_ptr().cast();
    } else if (size as usize) < length * size_of::<T>() || !memory.cast::<T>().is_aligned() {
        return Err(Error::refused(ErrorClass::RMA_SHARED, "MPI told of other memory"));
    }
    Ok(Exposed { memory: memory.cast(), length, _window: PhantomData })
}
