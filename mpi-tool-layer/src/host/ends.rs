//! How a process ends without a signal, and where tools hear of it.
//!
//! | the process calls | tools hear of it by | when |
//! |---|---|---|
//! | `exit`, or returns from `main` | the object's destructor | when all other destructors have run ([`after_all`]) |
//! | `_exit`, `_Exit` | the function itself, which tools export | at once |
//! | `quick_exit` | the C library's list of functions | when the application's own on that list have run |
//! | a system call, `exec` | nothing | |
//!
//! An application, or a library of it, may call `MPI_Finalize` in any destructor: so what a tool says at the end of a process
//! waits for all of them.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};

use crate::host::linker::{Scope, find};
use crate::host::neighbours::ToolInfo;

/// In a signal's place, for [`ToolInfo`]: the process ends by `_exit`.
pub(crate) const AT_ONCE: c_int = -1;
/// The same: by `quick_exit`.
pub(crate) const QUICKLY: c_int = -2;

unsafe extern "C" {
    /// The C library's: a function that runs at the end of the process, and gets the exit status.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    /// What `at_quick_exit` is made of.
    fn __cxa_at_quick_exit(function: extern "C" fn(*mut c_void), object: *mut c_void) -> c_int;
}

/// Has a function run at the end of the process, and gives it the exit status. If a destructor of an object that stays loaded
/// asks for it, the function runs when the destructors of all objects have run.
pub fn after_all(function: extern "C" fn(c_int, *mut c_void)) {
    // SAFETY: `on_exit` takes a function that may run at the end of the process: a safe one may run at any time. It is there
    // then, since tools are never unloaded (`stay`). The function gets a pointer that it can do nothing with.
    unsafe { on_exit(function, ptr::null_mut()) };
}

/// The first tool that this one can speak for, since a signal handler must not look it up.
static FIRST: AtomicPtr<ToolInfo> = AtomicPtr::new(ptr::null_mut());

/// Has the process's tools write what they have when it ends by `quick_exit`. Signals are told to the same tools.
pub(crate) fn watch(own: &'static ToolInfo) {
    extern "C" fn quickly(_: *mut c_void) {
        tell_all(QUICKLY);
    }
    FIRST.store(own.first().cast_mut(), Release);
    // SAFETY: `__cxa_at_quick_exit` takes a function that may run at the end of the process, as `quickly` may, and null for the
    // object that it is of: none that is unloaded.
    unsafe { __cxa_at_quick_exit(quickly, ptr::null_mut()) };
}

/// Tells the process's tools how it ends: nobody before [`watch`]. For signal handlers, too.
pub(crate) fn tell_all(how: c_int) {
    // SAFETY: `tell` wants null or a tool's information that stays: `watch` has stored such a pointer, and each tool has had
    // itself never unloaded (`stay`).
    unsafe { tell(FIRST.load(Acquire), how) };
}

/// Tells a tool and those behind it how the process ends.
///
/// # Safety
/// As [`ToolInfo::from`] wants it.
unsafe fn tell(first: *const ToolInfo, how: c_int) {
    // SAFETY: the caller promises it.
    for tool in unsafe { ToolInfo::from(first) } {
        tool.signalled(how);
    }
}

/// Where an object's exported `_exit` goes on.
#[doc(hidden)]
pub struct Exit(AtomicPtr<c_void>);

impl Exit {
    #[doc(hidden)]
    #[allow(clippy::new_without_default, reason = "a static's value")]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Looks up what is behind this object: for its constructor, since `_exit` may be called in a signal handler, and in a
    /// child that has its parent's memory.
    #[doc(hidden)]
    pub fn find(&self) {
        self.0.store(find(Scope::Next, c"_exit"), Release);
    }

    /// The process ends by `_exit`: the object's tools write what they have, unless it is a child of their process.
    #[doc(hidden)]
    pub fn leave(&self, tools: &'static ToolInfo, status: c_int) -> ! {
        // SAFETY: `tools` is an object's own, and those behind it are of tools that stay.
        unsafe { tell(tools, AT_ONCE) };
        let next = self.0.load(Acquire);
        if !next.is_null() {
            // SAFETY: what the dynamic linker finds by the name `_exit` is the C library's function or stands for it: it takes
            // an `int` and does not return.
            let next =
                unsafe { core::mem::transmute::<*mut c_void, extern "C" fn(c_int) -> !>(next) };
            next(status);
        }
        loop {
            // SAFETY: the system call takes a number, and ends the process.
            unsafe { libc::syscall(libc::SYS_exit_group, status) };
        }
    }
}

/// Exports `_exit` and `_Exit` of the C library, for an object whose [`ToolInfo`] is the static `$info`.
#[doc(hidden)]
#[macro_export]
macro_rules! __exit_functions {
    ($info:path) => {
        const _: () = {
            static EXIT: $crate::install::Exit = $crate::install::Exit::new();
            #[unsafe(export_name = "_exit")]
            extern "C" fn leave(status: ::core::ffi::c_int) -> ! {
                EXIT.leave(&$info, status)
            }
            #[unsafe(export_name = "_Exit")]
            extern "C" fn leave_by_standard(status: ::core::ffi::c_int) -> ! {
                EXIT.leave(&$info, status)
            }
            extern "C" fn find() {
                EXIT.find();
            }
            #[used]
            #[unsafe(link_section = ".init_array")]
            static FIND: extern "C" fn() = find;
        };
    };
}
