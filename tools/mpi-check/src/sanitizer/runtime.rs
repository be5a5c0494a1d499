//! The functions of ThreadSanitizer's runtime, found in the process once. They are those of GCC's and of Clang's (`tsan_interface.h`).

use core::ffi::{CStr, c_char, c_int, c_ulong, c_ulonglong, c_void};
use std::sync::OnceLock;

use super::reports;

/// How many return addresses of an access are looked at.
pub(super) const FRAMES: usize = 16;

type Fiber = *mut c_void;
type Pass = unsafe extern "C" fn(*mut c_void);
type Ignore = unsafe extern "C" fn(*const c_char, c_int);
type Range = unsafe extern "C" fn(*mut c_void, c_ulong, *mut c_void);
type ReportData = unsafe extern "C" fn(
    *mut c_void,
    *mut *const c_char,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut *mut c_void,
    c_ulong,
) -> c_int;
type ReportMop = unsafe extern "C" fn(
    *mut c_void,
    c_ulong,
    *mut c_int,
    *mut *mut c_void,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut *mut c_void,
    c_ulong,
) -> c_int;
type ReportThread = unsafe extern "C" fn(
    *mut c_void,
    c_ulong,
    *mut c_int,
    *mut c_ulonglong,
    *mut c_int,
    *mut *const c_char,
    *mut c_int,
    *mut *mut c_void,
    c_ulong,
) -> c_int;

/// What the runtime can do.
pub(super) struct Runtime {
    current: unsafe extern "C" fn() -> Fiber,
    create: unsafe extern "C" fn(u32) -> Fiber,
    switch: unsafe extern "C" fn(Fiber, u32),
    set_name: unsafe extern "C" fn(Fiber, *const c_char),
    acquire: Pass,
    release: Pass,
    enter: Pass,
    exit: unsafe extern "C" fn(),
    read: Range,
    write: Range,
    ignore: Ignore,
    ignore_no_more: Ignore,
    /// What asks for a report; those that are linked into a program do not have these for others.
    report: Option<(ReportData, ReportMop, ReportThread)>,
    /// Its reports come to this tool.
    pub(super) tells: bool,
}

// SAFETY: it has nothing but addresses of functions that any thread may call.
unsafe impl Send for Runtime {}
// SAFETY: likewise.
unsafe impl Sync for Runtime {}

/// The runtime, if this process has it.
pub(super) fn get() -> Option<&'static Runtime> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    RUNTIME.get_or_init(Runtime::find).as_ref()
}

/// The address of a function of this process.
pub(super) fn address_of(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: `dlsym` takes one of its special values and a C string, which `name` is.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// A function of a name, of a type that is told.
macro_rules! function {
    ($name:literal, $type:ty) => {
        // SAFETY: the function must have the type: those of these names have it, in all runtimes since they have fibers.
        address_of($name).map(|address| unsafe { core::mem::transmute::<*mut c_void, $type>(address) })
    };
}

/// Signals do not come to this thread until this is dropped. The system is asked itself: the runtime has functions of its own in the
/// place of the C library's.
struct Blocked {
    /// Those that were blocked before; `None` if the system has refused.
    before: Option<u64>,
}

impl Blocked {
    fn all() -> Self {
        let mut before = 0;
        Self { before: Self::change(libc::SIG_SETMASK, &u64::MAX, &mut before).then_some(before) }
    }

    fn change(how: c_int, new: &u64, before: &mut u64) -> bool {
        // SAFETY: the system reads a set of signals and writes one, each of the size that it is told.
        let result = unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                how,
                core::ptr::from_ref(new),
                core::ptr::from_mut(before),
                size_of::<u64>(),
            )
        };
        result == 0
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            Self::change(libc::SIG_SETMASK, &before, &mut 0);
        }
    }
}

impl Runtime {
    fn find() -> Option<Self> {
        let report = || {
            Some((
                function!(c"__tsan_get_report_data", ReportData)?,
                function!(c"__tsan_get_report_mop", ReportMop)?,
                function!(c"__tsan_get_report_thread", ReportThread)?,
            ))
        };
        let own: unsafe extern "C" fn(*mut c_void) = reports::__tsan_on_report;
        let report = report();
        Some(Self {
            current: function!(c"__tsan_get_current_fiber", unsafe extern "C" fn() -> Fiber)?,
            create: function!(c"__tsan_create_fiber", unsafe extern "C" fn(u32) -> Fiber)?,
            switch: function!(c"__tsan_switch_to_fiber", unsafe extern "C" fn(Fiber, u32))?,
            set_name: function!(
                c"__tsan_set_fiber_name",
                unsafe extern "C" fn(Fiber, *const c_char)
            )?,
            acquire: function!(c"__tsan_acquire", Pass)?,
            release: function!(c"__tsan_release", Pass)?,
            enter: function!(c"__tsan_func_entry", Pass)?,
            exit: function!(c"__tsan_func_exit", unsafe extern "C" fn())?,
            read: function!(c"__tsan_read_range_pc", Range)?,
            write: function!(c"__tsan_write_range_pc", Range)?,
            ignore: function!(c"AnnotateIgnoreReadsBegin", Ignore)?,
            ignore_no_more: function!(c"AnnotateIgnoreReadsEnd", Ignore)?,
            tells: report.is_some()
                && address_of(c"__tsan_on_report").is_some_and(|it| it.addr() == own as usize),
            report,
        })
    }

    /// A new fiber.
    pub(super) fn create(&self, name: &CStr) -> usize {
        // SAFETY: it takes flags, of which there are none, and may be called by any thread.
        let fiber = unsafe { (self.create)(0) };
        // SAFETY: the fiber is the one that was just made, and the name a C string, which is copied.
        unsafe { (self.set_name)(fiber, name.as_ptr()) };
        fiber.expose_provenance()
    }

    /// Does something as a fiber, and is this thread again. Nothing that the runtime watches may be done meanwhile, but what
    /// is meant: the thread that the runtime knows is another one.
    ///
    /// # Safety
    ///
    /// The fiber must be one of [`create`](Self::create), and no other thread may be it.
    pub(super) unsafe fn as_fiber(&self, fiber: usize, action: impl FnOnce()) {
        /// The switch orders nothing.
        const NO_ORDER: u32 = 1;
        // The runtime keeps a signal that comes now for the fiber, which may never be one again.
        let blocked = Blocked::all();
        // SAFETY: it takes nothing and may be called by any thread.
        let own = unsafe { (self.current)() };
        // SAFETY: the fiber is there and nobody's, as the caller promises.
        unsafe { (self.switch)(core::ptr::with_exposed_provenance_mut(fiber), NO_ORDER) };
        action();
        // SAFETY: the fiber is that of this thread.
        unsafe { (self.switch)(own, NO_ORDER) };
        drop(blocked);
    }

    /// What this thread, or fiber, has done is before what those do who acquire the place later.
    pub(super) fn release<T>(&self, place: &'static T) {
        // SAFETY: the place is only a number to the runtime, and one of this object's, which stays.
        unsafe { (self.release)(core::ptr::from_ref(place).cast_mut().cast()) };
    }

    /// The other side of it.
    pub(super) fn acquire<T>(&self, place: &'static T) {
        // SAFETY: as in `release`.
        unsafe { (self.acquire)(core::ptr::from_ref(place).cast_mut().cast()) };
    }

    /// Reads or writes memory as code at an address that was called from another one.
    ///
    /// # Safety
    ///
    /// The memory must be the program's: for any other, the runtime has no shadow.
    pub(super) unsafe fn access(
        &self,
        [code, caller]: [usize; 2],
        blocks: impl Iterator<Item = (u64, u64)>,
        writes: bool,
    ) {
        let pointer = |address: usize| core::ptr::without_provenance_mut::<c_void>(address);
        let range = if writes { self.write } else { self.read };
        // SAFETY: it takes an address, which it only notes down. `exit` takes it away again.
        unsafe { (self.enter)(pointer(caller)) };
        for (begin, length) in blocks {
            // SAFETY: the runtime writes to its shadow of the memory, which it has, as the caller promises.
            unsafe { range(pointer(begin as usize), length, pointer(code)) };
        }
        // SAFETY: it belongs to `enter`.
        unsafe { (self.exit)() };
    }

    /// Nothing that this thread does is looked at until [`look_again`](Self::look_again). Both count.
    pub(super) fn look_away(&self) {
        // SAFETY: it takes a file and a line, which it notes down: the name is there for ever.
        unsafe { (self.ignore)(c"mpi-check".as_ptr(), 0) };
    }

    pub(super) fn look_again(&self) {
        // SAFETY: as in `look_away`; the caller has called that.
        unsafe { (self.ignore_no_more)(c"mpi-check".as_ptr(), 0) };
    }

    /// Copies the accesses of a report that the runtime is making: whether it is about memory that was freed, and for both accesses
    /// whether it writes, the thread's number to the system, and the return addresses. `None` of any other report.
    ///
    /// # Safety
    ///
    /// It must be the report with which the runtime calls `__tsan_on_report` now.
    pub(super) unsafe fn report(&self, report: *mut c_void) -> Option<reports::Report> {
        let (data, mop, thread) = self.report?;
        let mut description = core::ptr::null();
        let mut numbers = [0; 7];
        let [count, stacks, mops, places, mutexes, threads, unique] = &mut numbers;
        let mut frames = [core::ptr::null_mut(); FRAMES];
        // SAFETY: the report is one, as the caller promises. The others are places for what is written, the last one with its
        // length.
        unsafe {
            data(
                report,
                &mut description,
                count,
                stacks,
                mops,
                places,
                mutexes,
                threads,
                unique,
                frames.as_mut_ptr(),
                FRAMES as c_ulong,
            );
        }
        if *mops < 2 || description.is_null() {
            return None;
        }
        let threads = *threads;
        // SAFETY: the runtime has set it to a C string of its own.
        let description = unsafe { CStr::from_ptr(description) }.to_bytes();
        let is_freed = description.starts_with(b"heap-use-after-free");
        if !is_freed && description != b"data-race" {
            return None;
        }
        let thread_of = |number: c_int| {
            (0..threads).find_map(|index| {
                let (mut tid, mut of_system, mut running, mut parent) = (0, 0, 0, 0);
                let mut name = core::ptr::null();
                let mut frames = [core::ptr::null_mut(); FRAMES];
                // SAFETY: as above; the index is below the number of threads.
                unsafe {
                    thread(
                        report,
                        index as c_ulong,
                        &mut tid,
                        &mut of_system,
                        &mut running,
                        &mut name,
                        &mut parent,
                        frames.as_mut_ptr(),
                        FRAMES as c_ulong,
                    );
                }
                (tid == number).then_some(of_system)
            })
        };
        let side = |index: c_ulong| {
            let (mut tid, mut size, mut writes, mut atomic) = (0, 0, 0, 0);
            let mut address = core::ptr::null_mut();
            let mut frames = [core::ptr::null_mut(); FRAMES];
            // SAFETY: as above; there are two accesses.
            unsafe {
                mop(
                    report,
                    index,
                    &mut tid,
                    &mut address,
                    &mut size,
                    &mut writes,
                    &mut atomic,
                    frames.as_mut_ptr(),
                    FRAMES as c_ulong,
                );
            }
            let frames = frames.map(|frame: *mut c_void| frame.addr());
            reports::Side { writes: writes != 0, thread: thread_of(tid).unwrap_or(0), frames }
        };
        Some(reports::Report { is_freed, sides: [side(0), side(1)] })
    }
}
