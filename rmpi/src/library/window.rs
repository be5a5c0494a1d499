use core::any::Any;
use core::cell::{Cell, RefCell};
use core::ffi::{CStr, c_void};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Range;
use core::ptr::{self, NonNull};
use core::slice;
use std::rc::Rc;
use std::sync::OnceLock;

use tool_macros::wraps;

use super::communicator::Communicator;
use super::context;
use super::epoch::{End, Ending};
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::group::Group;
use super::info::{self, Info};
use super::sys::{self, MPI_Aint, MPI_Win};
use crate::MpiDatatype;

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
/// An epoch is a function that gets what accesses: an [`Epoch`](super::Epoch). It borrows the window,
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
    pub(super) core: Core,
    /// Where it is listed as well, if its memory is borrowed.
    list: Option<(&'w Windows, usize)>,
    dynamic: Option<Box<Attachments>>,
    // It stays on its thread.
    _kind: PhantomData<(&'w (), *mut T, S, M)>,
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

mod sealed {
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

/// The number of a group, and which processes of the window are in it.
type Known = (u64, Rc<[bool]>);

/// A window without its types.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) raw: MPI_Win,
    /// This process's memory; dangling if there is none.
    pub(super) memory: *mut c_void,
    pub(super) rank: usize,
    /// How many elements each process's memory has.
    pub(super) lengths: Box<[usize]>,
    /// Where each process's memory begins in its window, in bytes; there displacements count bytes, unless
    /// it begins with the window.
    shifts: Box<[usize]>,
    pub(super) shared: bool,
    /// Groups whose processes all have the window, by their numbers, with the ranks in it: the last one posted
    /// to, and the last one started with, as a rule.
    groups: RefCell<[Option<Known>; 2]>,
}

impl Core {
    /// The window that MPI made, if all processes mean the same by it; else it is freed.
    fn new<S: Synchronization>(
        mut raw: MPI_Win,
        communicator: &Communicator<'_>,
        memory: *mut c_void,
        length: usize,
        element: [u64; 2],
        shift: usize,
        shared: bool,
    ) -> RmpiResult<Self> {
        // SAFETY: `MPI_Win_set_errhandler` asks for a window and an error handler: the caller has just made the
        // one, and the other is predefined.
        let returning = check(unsafe { sys::MPI_Win_set_errhandler(raw, sys::MPI_ERRORS_RETURN) });
        let mine = [element[0], element[1], S::NUMBER, length as u64, shift as u64];
        let agreed = returning.and_then(|()| gather(communicator, mine)).and_then(|all| {
            if all.iter().any(|one| one[..2] == MISALIGNED) {
                return Err(Error::refused(
                    ErrorClass::NO_MEM,
                    "MPI allocated memory that is not aligned as the type is",
                ));
            }
            if all.iter().any(|one| one[..3] != mine[..3]) {
                return Err(Error::refused(
                    ErrorClass::NOT_SAME,
                    "the processes give different types or ways to synchronise",
                ));
            }
            Ok((
                all.iter().map(|one| one[3] as usize).collect(),
                all.iter().map(|one| one[4] as usize).collect(),
            ))
        });
        match agreed.and_then(|agreed| Ok((agreed, communicator.known_rank()?))) {
            Ok(((lengths, shifts), rank)) => Ok(Self {
                raw,
                memory,
                rank,
                lengths,
                shifts,
                shared,
                groups: RefCell::new([None, None]),
            }),
            Err(error) => {
                // SAFETY: `MPI_Win_free` asks for a window that is freed once and has no epoch: this one is
                // new, and nobody gets it.
                unsafe { sys::MPI_Win_free(&mut raw) };
                Err(error)
            }
        }
    }

    pub(super) fn length(&self) -> usize {
        self.lengths[self.rank]
    }

    /// Which processes of the window are in a group. Refuses one of which not all have the window: MPICH
    /// crashes, or waits for those for ever. Asks MPI about a group once, as long as no more than two are in
    /// use.
    #[inline]
    pub(super) fn members(&self, group: &Group<'_>) -> RmpiResult<Rc<[bool]>> {
        let number = group.number();
        if let Some((_, members)) =
            self.groups.borrow().iter().flatten().find(|known| known.0 == number)
        {
            return Ok(Rc::clone(members));
        }
        self.ask_for_members(group)
    }

    #[cold]
    fn ask_for_members(&self, group: &Group<'_>) -> RmpiResult<Rc<[bool]>> {
        // SAFETY: `MPI_Win_get_group` asks for a window, which `self.raw` is until its `Window` ends, and
        // writes a group.
        let all = output(sys::MPI_GROUP_NULL, |group| unsafe {
            sys::MPI_Win_get_group(self.raw, group)
        })?;
        // SAFETY: `from_raw` asks for a group that nobody else frees, while MPI runs: MPI made this one for the
        // caller, and it is dropped here, while the window exists.
        let all = unsafe { Group::from_raw(all) };
        let members = group.members_in(&all)?.ok_or(Error::refused(
            ErrorClass::GROUP,
            "not all processes of the group have the window",
        ))?;
        let mut groups = self.groups.borrow_mut();
        groups.rotate_right(1);
        groups[0] = Some((group.number(), Rc::clone(&members)));
        Ok(members)
    }

    /// Where a process's memory begins, and how much an element is, in what displacements count.
    #[inline]
    pub(super) fn origin(&self, rank: usize, element: usize) -> (MPI_Aint, MPI_Aint) {
        match self.shifts.get(rank) {
            Some(shift) if *shift != 0 => (*shift as MPI_Aint, element as MPI_Aint),
            _ => (0, 1),
        }
    }
}

/// In place of what they compare, where MPI gave memory that is not aligned as the type is.
const MISALIGNED: [u64; 2] = [u64::MAX; 2];

/// What the processes compare of a window's type: where in an element there is data, and of what kind. The
/// rest is padding, which no other process may read, since it need not be initialised.
fn element<T: MpiDatatype>() -> [u64; 2] {
    let identity = T::TYPE_MAP.identity();
    [identity as u64, (identity >> 64) as u64]
}

/// Some numbers of all processes.
fn gather<const N: usize>(
    communicator: &Communicator<'_>,
    mine: [u64; N],
) -> RmpiResult<Vec<[u64; N]>> {
    let mut all = vec![[0; N]; communicator.known_size()?];
    // SAFETY: `MPI_Allgather` reads `N` numbers of `mine` and writes as many of each process to `all`, which
    // has room for those of `known_size` processes; an intercommunicator is refused there. All processes gather
    // as many.
    check(unsafe {
        sys::MPI_Allgather(
            mine.as_ptr().cast(),
            N as i32,
            sys::MPI_UINT64_T,
            all.as_mut_ptr().cast(),
            N as i32,
            sys::MPI_UINT64_T,
            communicator.as_raw(),
        )
    })?;
    Ok(all)
}

/// MPICH over UCX (seen in Debian's 4.0.2) writes to the multiple of 16 bytes below, where a window begins at
/// none: into what is another's. What windows begin at there.
const UCX_ALIGNMENT: usize = 16;

/// Does this MPI move data by UCX? Asks once.
fn over_ucx() -> RmpiResult<bool> {
    static OVER_UCX: OnceLock<bool> = OnceLock::new();
    if let Some(known) = OVER_UCX.get() {
        return Ok(*known);
    }
    let version = context::get_library_version()?;
    Ok(*OVER_UCX.get_or_init(|| version.contains("ch4:ucx")))
}

/// How many bytes a window has to begin before its memory.
fn shift(memory: *mut c_void) -> RmpiResult<usize> {
    let shift = memory.addr() % UCX_ALIGNMENT;
    Ok(if shift != 0 && over_ucx()? { shift } else { 0 })
}

/// How many bytes MPI has to allocate, so that those of the next process begin where they should.
fn padded(size: MPI_Aint) -> RmpiResult<MPI_Aint> {
    let alignment = UCX_ALIGNMENT as MPI_Aint;
    let padding = (alignment - size % alignment) % alignment;
    Ok(if padding != 0 && over_ucx()? { size.saturating_add(padding) } else { size })
}

/// More bytes than a process of x86-64 can address: MPIs crash when they add such sizes up.
const TOO_MUCH: MPI_Aint = 1 << 47;

/// Bytes of so many elements, and of one: what a displacement counts, which is never 0.
fn bytes<T>(length: usize) -> RmpiResult<(MPI_Aint, MPI_Aint)> {
    let size = length.checked_mul(size_of::<T>()).and_then(|size| size.try_into().ok());
    let size = size.filter(|size| *size < TOO_MUCH);
    let size = size.ok_or(Error::refused(ErrorClass::SIZE, "more memory than there is"))?;
    Ok((size, size_of::<T>().max(1) as MPI_Aint))
}

/// Windows over borrowed memory, in the order in which they were made. They are kept here, and not in
/// what the user has, since that can be forgotten.
#[derive(Debug)]
struct Windows(RefCell<Vec<MPI_Win>>);

impl Drop for Windows {
    fn drop(&mut self) {
        for raw in self.0.get_mut() {
            if *raw == sys::MPI_WIN_NULL {
                continue;
            }
            // SAFETY: `MPI_Win_free` asks for a window that is freed once and has no epoch: `end` makes null of
            // those that were freed, and an epoch ends with a function that borrows the window, within the
            // scope.
            if unsafe { sys::MPI_Win_free(raw) } != sys::MPI_SUCCESS {
                // Others could go on writing to memory that is another's from now on.
                eprintln!("rmpi: MPI_Win_free did not free a window of borrowed memory; aborting");
                std::process::abort();
            }
        }
    }
}

/// Where windows may borrow memory: see [`window_scope`].
#[derive(Debug)]
pub struct WindowScope<'scope, 'env: 'scope> {
    windows: Windows,
    // Invariant, as `Scope` is.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
    _thread: PhantomData<*const ()>,
}

/// Runs a function that may make windows over borrowed memory, by [`Window::create`], and frees those
/// that it left, be they forgotten, or left by a panic, in the order in which they were made.
///
/// A lifetime of the window alone would not do: `mem::forget` is safe, and the other processes could
/// write to memory that is no longer borrowed.
///
/// ```no_run
/// use rmpi::{Active, Assertion, Window};
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// // Two windows, on two rows of one matrix.
/// let mut matrix = vec![0.0_f64; 2 * 100];
/// let (first, second) = matrix.split_at_mut(100);
/// rmpi::window_scope(|scope| {
///     let mut first = Window::create(scope, world, first, None, Active)?;
///     let mut second = Window::create(scope, world, second, None, Active)?;
///     first.fence(Assertion::NONE, |epoch| epoch.process(0).put(&[1.0; 10], 0))?;
///     second.fence(Assertion::NONE, |epoch| epoch.process(0).put(&[2.0; 10], 0))
/// })?;
/// println!("{matrix:?}");
/// # Ok(()) }
/// ```
#[inline]
pub fn window_scope<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope WindowScope<'scope, 'env>) -> R,
{
    let scope = WindowScope {
        windows: Windows(RefCell::new(Vec::new())),
        _scope: PhantomData,
        _env: PhantomData,
        _thread: PhantomData,
    };
    // The drop of its list frees, also when the function panics.
    f(&scope)
}

impl<'w, T: MpiDatatype, S: Synchronization> Window<'w, T, S> {
    /// A window over memory that is borrowed as long as the scope. C: `MPI_Win_create`. Collective.
    ///
    /// The processes give as much as they like, of types with the same type map: the same predefined
    /// datatypes at the same places, and so the same padding.
    ///
    /// # Errors
    /// [`NOT_SAME`](ErrorClass::NOT_SAME) if the types' maps or the synchronisations differ; what MPI
    /// says.
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
        let (size, unit) = bytes::<T>(length)?;
        let memory: *mut c_void = memory.as_mut_ptr().cast();
        let shift = if size == 0 { 0 } else { shift(memory)? };
        let begin = memory.wrapping_byte_sub(shift);
        let (size, unit) = if shift == 0 { (size, unit) } else { (size + shift as MPI_Aint, 1) };
        let (info, comm) = (info::handle(info), communicator.as_raw());
        // SAFETY: `MPI_Win_create` asks for an intracommunicator, which `intra` has made sure of, and an info
        // or null; and for `size` bytes that nobody else uses until the window is freed. The memory is borrowed
        // for `'w`, and the window freed by its drop, or at the end of the scope. No operation is given a place
        // in the bytes before the memory.
        let raw = output(sys::MPI_WIN_NULL, |window| unsafe {
            mpi.call(begin, size, unit, info, comm, window)
        })?;
        let core = Core::new::<S>(raw, communicator, memory, length, element::<T>(), shift, false)?;
        let mut list = scope.windows.0.borrow_mut();
        list.push(raw);
        let list = Some((&scope.windows, list.len() - 1));
        Ok(Self { core, list, dynamic: None, _kind: PhantomData })
    }

    /// A window of so many elements, zero at first, which MPI allocates and frees.
    /// C: `MPI_Win_allocate`. Collective.
    ///
    /// # Errors
    /// As [`create`](Self::create), and [`NO_MEM`](ErrorClass::NO_MEM), on all processes, if the memory that MPI
    /// allocates is not aligned as `T` is, which happens where that is more than 16 bytes.
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
        let (size, unit) = bytes::<T>(length)?;
        let size = padded(size)?;
        let (info, comm) = (info::handle(info), communicator.as_raw());
        let mut memory: *mut c_void = ptr::null_mut();
        // SAFETY: `MPI_Win_allocate` asks for an intracommunicator, which `intra` has made sure of, and an info
        // or null. It writes a window, and the address of its memory to what its argument points to, which is a
        // pointer.
        let raw = output(sys::MPI_WIN_NULL, |window| unsafe {
            mpi.call(size, unit, info, comm, ptr::from_mut(&mut memory).cast(), window)
        })?;
        let (memory, element) = zeroed::<T>(memory, length);
        let core = Core::new::<S>(raw, communicator, memory, length, element, 0, false)?;
        Ok(Self { core, list: None, dynamic: None, _kind: PhantomData })
    }
}

/// Fills memory of MPI with zeros, which are elements as all bits are. The other processes have no
/// window yet, and get none if this process's memory is not aligned as `T` is: it says [`MISALIGNED`] for its
/// elements then.
fn zeroed<T: MpiDatatype>(memory: *mut c_void, length: usize) -> (*mut c_void, [u64; 2]) {
    let memory: *mut T = memory.cast();
    if length == 0 || size_of::<T>() == 0 || memory.is_null() {
        return (NonNull::<T>::dangling().as_ptr().cast(), element::<T>());
    }
    if !memory.is_aligned() {
        return (memory.cast(), MISALIGNED);
    }
    // SAFETY: `write_bytes` asks for aligned memory of so many elements: MPI has allocated so many bytes, and
    // null and misaligned memory were sorted out above. No other process can access it yet. Zeros are values,
    // as any bits are.
    unsafe { ptr::write_bytes(memory, 0, length) };
    (memory.cast(), element::<T>())
}

impl<'w, T: MpiDatatype, S: Synchronization> Window<'w, T, S, Shared> {
    /// A window of so many elements, zero at first, in memory that all of its processes have, which
    /// have to be of one node. C: `MPI_Win_allocate_shared`. Collective. See
    /// [`split_type`](Communicator::split_type).
    ///
    /// The other processes write to it as they like, so there are no slices of it, but copies:
    /// [`segment`](Self::segment).
    ///
    /// # Errors
    /// As [`create`](Window::create), and [`RMA_SHARED`](ErrorClass::RMA_SHARED) if the memory cannot
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
        let (size, unit) = bytes::<T>(length)?;
        let (info, comm) = (info::handle(info), communicator.as_raw());
        let mut memory: *mut c_void = ptr::null_mut();
        // SAFETY: `MPI_Win_allocate_shared` asks for an intracommunicator, which `intra` has made sure of, and
        // an info or null. It writes a window, and the address of its memory to what its argument points to,
        // which is a pointer.
        let raw = output(sys::MPI_WIN_NULL, |window| unsafe {
            mpi.call(size, unit, info, comm, ptr::from_mut(&mut memory).cast(), window)
        })?;
        let (memory, element) = zeroed::<T>(memory, length);
        let core = Core::new::<S>(raw, communicator, memory, length, element, 0, true)?;
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
pub(super) fn segment<'a, T: MpiDatatype>(
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

/// Memory of a window that other processes may write to meanwhile. There are no references to it,
/// but copies.
///
/// A copy is of what the memory has at the time: where nothing synchronises the processes, of
/// elements before and after an access of another process, and of parts of them. Any bits are a
/// value.
#[derive(Debug, Clone, Copy)]
pub struct Exposed<'e, T> {
    pub(super) memory: *mut T,
    pub(super) length: usize,
    pub(super) _window: PhantomData<&'e T>,
}

fn outside() -> Error {
    Error::refused(ErrorClass::RMA_RANGE, "not within the window's memory")
}

impl<T: MpiDatatype> Exposed<'_, T> {
    /// How many elements it has.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Has it no elements?
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Some of the elements.
    ///
    /// # Errors
    /// [`RMA_RANGE`](ErrorClass::RMA_RANGE) if it does not have them.
    pub fn range(&self, range: Range<usize>) -> RmpiResult<Self> {
        if range.start > range.end || range.end > self.length {
            return Err(outside());
        }
        // SAFETY: `add` asks for a place within the memory or at its end: `range.start` is at most its length.
        let memory = unsafe { self.memory.add(range.start) };
        Ok(Self { memory, length: range.len(), _window: PhantomData })
    }

    /// A copy of an element.
    ///
    /// # Errors
    /// [`RMA_RANGE`](ErrorClass::RMA_RANGE) if there is no such element.
    #[inline]
    pub fn get(&self, index: usize) -> RmpiResult<T> {
        if index >= self.length {
            return Err(outside());
        }
        // SAFETY: `read_volatile` asks for an aligned address within the memory, of a value: the index is less
        // than the length, and any bits are a `T`. Volatile, since other processes may write.
        Ok(unsafe { self.memory.add(index).read_volatile() })
    }

    /// Writes an element.
    ///
    /// # Errors
    /// [`RMA_RANGE`](ErrorClass::RMA_RANGE) if there is no such element.
    #[inline]
    pub fn set(&self, index: usize, value: T) -> RmpiResult {
        if index >= self.length {
            return Err(outside());
        }
        // SAFETY: `write_volatile` asks for an aligned address within the memory: the index is less than the
        // length. There are no references to the memory: of shared memory there are none, and other memory is
        // `Exposed` in an epoch only, which borrows the window mutably.
        unsafe { self.memory.add(index).write_volatile(value) };
        Ok(())
    }

    /// Copies all elements.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if the slice has another length.
    pub fn copy_to(&self, slice: &mut [T]) -> RmpiResult {
        self.same_length(slice.len())?;
        (0..self.length).try_for_each(|i| self.get(i).map(|value| slice[i] = value))
    }

    /// Writes all elements.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if the slice has another length.
    pub fn copy_from(&self, slice: &[T]) -> RmpiResult {
        self.same_length(slice.len())?;
        (0..self.length).try_for_each(|i| self.set(i, slice[i]))
    }

    fn same_length(&self, length: usize) -> RmpiResult {
        if length == self.length {
            return Ok(());
        }
        Err(Error::refused(ErrorClass::COUNT, "the slice has another length than the memory"))
    }
}

impl<T: MpiDatatype> Window<'_, T, Active> {
    /// This process's memory, which nobody else accesses outside of epochs.
    pub fn local(&self) -> &[T] {
        // SAFETY: `from_raw_parts` asks for so many initialised elements to which nobody writes while the slice
        // lives. The memory has so many, or dangles if they have no bytes. The other processes access it only
        // in an epoch of theirs that MPI lets begin with one of this process's, which borrows the window
        // mutably.
        unsafe { slice::from_raw_parts(self.core.memory.cast(), self.core.length()) }
    }

    /// This process's memory, which nobody else accesses outside of epochs.
    pub fn local_mut(&mut self) -> &mut [T] {
        // SAFETY: `from_raw_parts_mut` asks for so many initialised elements that nobody else uses while the
        // slice lives. As in `local`, only an epoch lets others use them, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.core.memory.cast(), self.core.length()) }
    }
}

impl<T: MpiDatatype> Window<'_, T, Passive> {
    /// Runs a function on this process's memory while no other accesses it: in an exclusive lock. C: `MPI_Win_lock` with
    /// `MPI_LOCK_EXCLUSIVE` and this process's rank, and `MPI_Win_unlock`. Blocks while others have
    /// the lock.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Passive>) -> rmpi::RmpiResult {
    /// let sum: f64 = window.lock_local(|memory| memory.iter().sum())?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_lock)]
    pub fn lock_local<R>(&mut self, f: impl FnOnce(&mut [T]) -> R) -> RmpiResult<R> {
        let memory = (self.core.memory.cast(), self.core.length());
        // SAFETY: `locked` asks for the window's memory, so many initialised elements that others access with a
        // lock: `core` has its address and length, and windows with `Passive` epochs have no others.
        unsafe { locked(&mut self.core, memory, mpi, f) }
    }
}

/// Runs a function on memory of this process, in an exclusive lock.
///
/// # Safety
/// The memory is this process's in the window, so many initialised elements of which any bits are values, or it
/// dangles if they have no bytes. There are no references to it, and other processes access it only in epochs
/// with a lock. The window is in no epoch.
unsafe fn locked<T, R>(
    core: &mut Core,
    (memory, length): (*mut T, usize),
    mpi: impl crate::call::MPI_Win_lock,
    f: impl FnOnce(&mut [T]) -> R,
) -> RmpiResult<R> {
    let rank = core.rank as i32;
    // SAFETY: `MPI_Win_lock` asks for a window in no epoch, which the caller promises, and a rank of it, which
    // this process's is.
    check(unsafe { mpi.call(sys::MPI_LOCK_EXCLUSIVE, rank, 0, core.raw) })?;
    // Its drop unlocks, also when the function panics.
    let end = Ending::new(core.raw, End::Unlock(rank));
    // SAFETY: `from_raw_parts_mut` asks for so many elements that nobody else uses while the slice lives: the
    // caller promises them. Other processes need a lock, which they do not get until `end` has unlocked; here,
    // `core` is borrowed.
    let result = f(unsafe { slice::from_raw_parts_mut(memory, length) });
    end.finish()?;
    Ok(result)
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

    /// Frees the window, as its drop does, and says what went wrong. C: `MPI_Win_free`. Collective:
    /// it waits for the others, and MPI frees memory that it allocated. What is still attached to a dynamic
    /// one is detached before: `MPI_Barrier` and `MPI_Win_detach`.
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
        if let Some(attachments) = &self.dynamic {
            attachments.detach_all(raw)?;
        }
        // After an error, memory that others may still write to stays where it is: attached memory is
        // leaked, and the end of the scope of borrowed memory tries once more.
        check(call(&mut raw))?;
        if let Some((windows, index)) = self.list {
            windows.0.borrow_mut()[index] = sys::MPI_WIN_NULL;
        }
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
        context::text(sys::MPI_MAX_OBJECT_NAME, |text, length| {
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

    /// Gives MPI hints. C: `MPI_Win_set_info`. Collective.
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

/// What a dynamic window has beside others.
#[derive(Debug)]
struct Attachments {
    /// Of the window's processes, for attaching and detaching together.
    communicator: Communicator<'static>,
    /// What is attached, until it is detached. Leaked with the window.
    memory: Vec<Option<Memory>>,
    number: u64,
}

#[derive(Debug)]
struct Memory {
    /// Where it is, unless it is empty.
    address: Option<NonNull<c_void>>,
    values: ManuallyDrop<Box<dyn Any>>,
}

impl Attachments {
    /// Before the window is freed, which does the same, but not in Open MPI 4.1 with UCX: it crashes.
    fn detach_all(&self, raw: MPI_Win) -> RmpiResult {
        // Attached together, so all processes have some, or none.
        if self.memory.iter().all(Option::is_none) {
            return Ok(());
        }
        self.communicator.barrier()?;
        for address in self.memory.iter().flatten().filter_map(|memory| memory.address) {
            // SAFETY: `MPI_Win_detach` asks for the address of attached memory that no process accesses. What
            // is listed was attached and not detached; all processes free the window, which they do outside of
            // epochs, and have met in the barrier.
            check(unsafe { sys::MPI_Win_detach(raw, address.as_ptr()) })?;
        }
        Ok(())
    }
}

/// Memory of all processes that was attached to a dynamic window, by [`Window::attach`].
#[derive(Debug)]
#[must_use = "the memory stays attached until it is detached"]
pub struct Attached<T> {
    pub(super) window: u64,
    index: usize,
    memory: *mut T,
    length: usize,
    /// Address and length of each process's.
    pub(super) places: Box<[(MPI_Aint, usize)]>,
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
        let copy = communicator.dup()?;
        // SAFETY: `from_raw` asks for an intracommunicator whose errors return, which nobody else frees, while
        // MPI runs for its lifetime. `dup` made one, with its parent's error handler. It is dropped with the
        // window, and no later, and MPI runs for `'w`.
        let copy = unsafe { Communicator::<'static>::from_raw(copy.into_raw()) };
        let (info, comm) = (info::handle(info), communicator.as_raw());
        // SAFETY: `MPI_Win_create_dynamic` asks for an intracommunicator, which `dup` has made sure of, and an
        // info or null. It writes a window.
        let raw = output(sys::MPI_WIN_NULL, |window| unsafe { mpi.call(info, comm, window) })?;
        let none = NonNull::<u64>::dangling().as_ptr().cast();
        let core = Core::new::<S>(raw, communicator, none, 0, [0; 2], 0, false)?;
        let number = NUMBER.get() + 1;
        NUMBER.set(number);
        let dynamic = Attachments { communicator: copy, memory: Vec::new(), number };
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
        let (size, _) = bytes::<T>(length)?;
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
        let all = gather(&dynamic.communicator, mine)?;
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
        let all = gather(&dynamic.communicator, [mine])?;
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

pub(super) fn foreign() -> Error {
    Error::refused(ErrorClass::WIN, "the memory is attached to another window")
}

impl<S, M, T> Window<'_, T, S, M> {
    /// Which dynamic window it is.
    pub(super) fn number(&self) -> u64 {
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
