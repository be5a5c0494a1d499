//! What the objects of this framework in a process pass to each other: a pointer for each thread ([`Slot`]), and what opens a
//! tool that was not preloaded itself ([`Host`]).

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};

use crate::host::linker::{Scope, find};
use crate::host::objects::each_object;

/// The version of what the tools of a process tell each other by exported symbols: of the layout and the
/// meaning of [`ToolInfo`], of a [`Slot`] and of what slots pass on ([`Host`], and a pending call of Fortran).
/// Neighbours may come from other versions of this crate. Each exported structure begins with this number in all
/// versions, and a tool reads no more than the number if it is not its own.
pub(crate) const VERSION: u32 = 1;

/// What stands in a tool's place among the objects of the process: a universal build, which opens the
/// tool by `dlopen`. What comes next is what is behind the host, and the dynamic linker tells that to the
/// host only.
#[repr(C)]
pub struct Host {
    /// The address of a symbol behind the host, or null.
    next: extern "C" fn(name: *const c_char) -> *mut c_void,
}

/// A pointer for each thread, which an object exports for all tools of the process. They use that of
/// the first object of their version.
#[repr(C)]
pub struct Slot<T> {
    /// [`VERSION`]
    version: u32,
    /// What the numbers of functions mean, if they are passed on; else 0.
    functions: u64,
    /// The thread's pointer.
    cell: extern "C" fn() -> *const Cell<*const T>,
}

impl<T> Slot<T> {
    pub(crate) const fn new(
        functions: u64,
        cell: extern "C" fn() -> *const Cell<*const T>,
    ) -> Self {
        Self { version: VERSION, functions, cell }
    }

    /// The first one of the process that is of this one's version: behind those of other versions, if these come
    /// first. All tools of one version agree on it.
    ///
    /// # Safety
    /// The symbol is one that this framework exports only as a `Slot<T>`, in a library that stays loaded.
    pub(crate) unsafe fn first(&self, symbol: &CStr) -> Option<&'static Self> {
        let first = find(Scope::Default, symbol);
        // SAFETY: the caller promises what the symbol is.
        let mut found = unsafe { self.known(first) };
        if found.is_none() && !first.is_null() {
            each_object(|object| {
                if found.is_none() {
                    let exported = object.address_of(symbol).unwrap_or(ptr::null_mut());
                    // SAFETY: the caller promises what the symbol is; the object exports it under this name.
                    found = unsafe { self.known(exported) };
                }
            });
        }
        found
    }

    /// What is exported, if it is of this one's version.
    ///
    /// # Safety
    /// It is null, or a `Slot<T>` of this framework's, in whichever version, in a library that stays loaded.
    unsafe fn known(&self, exported: *mut c_void) -> Option<&'static Self> {
        let exported = exported.cast::<Self>().cast_const();
        if exported.is_null() {
            return None;
        }
        // SAFETY: a number must be there: it is the first field in all versions of this structure, which is
        // aligned and never written. It is read alone, since other versions may have other fields behind it.
        let version = unsafe { (&raw const (*exported).version).read() };
        if version != VERSION {
            return None;
        }
        // SAFETY: the pointer must be of a `Slot<T>` that stays. The caller says so of this version's.
        let exported = unsafe { &*exported };
        (exported.functions == self.functions).then_some(exported)
    }

    /// The thread's pointer.
    pub(crate) fn cell(&self) -> *const Cell<*const T> {
        (self.cell)()
    }
}

/// The thread's host that opens a tool: what universal builds export as `mpi_tool_host`.
pub type HostSlot = Slot<Host>;

impl HostSlot {
    /// This object's.
    #[doc(hidden)]
    pub const HOST: Self = Self::new(0, host_slot);
}

extern "C" fn host_slot() -> *const Cell<*const Host> {
    std::thread_local! {
        static OPENING: Cell<*const Host> = const { Cell::new(ptr::null()) };
    }
    OPENING.with(ptr::from_ref)
}

/// What opened this tool; null where it was preloaded.
static HOST: AtomicPtr<Host> = AtomicPtr::new(ptr::null_mut());

impl Host {
    #[doc(hidden)]
    pub const fn new(next: extern "C" fn(name: *const c_char) -> *mut c_void) -> Self {
        Self { next }
    }

    /// The thread's slot, if the process has a universal build.
    fn slot() -> Option<&'static Cell<*const Host>> {
        // SAFETY: the symbol is this framework's: a universal build's static of type `HostSlot`, in a library
        // that stays loaded (`stay`). The pointer that it gives is of this thread, lives as long as the thread,
        // and is a `Cell`, which nobody but this thread uses.
        unsafe { HostSlot::HOST.first(c"mpi_tool_host")?.cell().as_ref() }
    }

    /// Has `open` open a tool, for which this stands. The second value says whether the tool took it so.
    #[doc(hidden)]
    pub fn open<R>(&'static self, open: impl FnOnce() -> R) -> (R, bool) {
        let slot = Self::slot();
        let outer = slot.map(|slot| slot.replace(self));
        let opened = open();
        let left = slot.zip(outer).map(|(slot, outer)| slot.replace(outer));
        (opened, left.is_some_and(|left| left.is_null()))
    }

    /// In a tool's constructor: what opens it. Nobody whom this one opens finds it again.
    pub(crate) fn take() {
        if let Some(slot) = Self::slot() {
            HOST.store(slot.replace(ptr::null()).cast_mut(), Release);
        }
    }

    pub(crate) fn get() -> Option<&'static Self> {
        // SAFETY: the pointer must be null or of a `Host` that stays. `take` has put it there from the slot,
        // where only `open` puts what it was called on: a `&'static Self`.
        unsafe { HOST.load(Acquire).as_ref() }
    }
}

/// The symbol of a name behind this tool.
pub fn find_next(name: &CStr) -> *mut c_void {
    match Host::get() {
        Some(host) => (host.next)(name.as_ptr()),
        None => find(Scope::Next, name),
    }
}
