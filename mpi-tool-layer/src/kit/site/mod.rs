//! Call sites: where in the application a call comes from.
//!
//! `caller.rs` notes down stack pointer and frame pointer when a call comes into the tool, `cache.rs` knows the
//! sites that a thread has called from before. For one that it does not know, the stack is unwound here, by the
//! tables that compilers make for exceptions (`.eh_frame`), which need no frame pointers. `modules.rs` knows the
//! loaded objects.
//!
//! Nothing is read beyond the thread's own stack, whatever the tables say. On other stacks (of fibers, and of signal
//! handlers), nothing is unwound: the call's own return address is the site.

pub(crate) mod cache;
pub(crate) mod caller;
mod modules;

use core::cell::Cell;
use core::sync::atomic::{
    AtomicPtr, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};
use framehop::{FrameAddress, Unwinder as _};

use super::thread;
use crate::counters::memory;
use cache::MOST;
pub use caller::{Caller, Nesting};
pub(crate) use modules::File;
use modules::{Modules, Role};

/// Where in the application a call comes from: the place of the call, and the places of the calls of the
/// functions around it, up to a depth.
///
/// A tool that asks for call sites is installed with `call_sites`, and asks at the beginning of its `around`, or of
/// its method for a function:
///
/// ```
/// use mpi_tool_layer::{Call, CallResult, Compiled, MpiInterceptionLayer, Site, Tool};
///
/// struct Where;
///
/// impl MpiInterceptionLayer for Where {
///     const COMPILED: Compiled = Compiled::Once;
///
///     fn around<'c>(
///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         if let [place, ..] = Site::of_this_call(1).places()[..] {
///             eprintln!("{} at {place}", call.function());
///         }
///         next_f()
///     }
/// }
///
/// impl Tool for Where {
///     const NEW: Self = Where;
/// }
/// // In a crate of type `cdylib`: mpi_tool_layer::install_pmpi_layer!(Where, name = "where", call_sites);
/// ```
///
/// What stands between the application and the tool is passed over: other tools, and the libraries of MPI's by
/// which Fortran calls. In a level of a stack, calls have no site: [`UNKNOWN`](Self::UNKNOWN).
///
/// A site that the thread has called from before costs some thirty instructions, and a few more for each caller beyond
/// three; one that is new some microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(u32);

/// How many sites a process may have.
pub(crate) const SITES: usize = 1 << 16;

/// The places of each site, by its number; null of those that are not taken.
static PLACES: [AtomicPtr<Box<[CodePlace]>>; SITES] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; SITES];

impl Site {
    /// Of a call that came from nobody knows where, or was not asked about.
    pub const UNKNOWN: Self = Self(0);

    /// Of calls from all places for which there was no room.
    pub const OTHERS: Self = Self(u32::MAX);

    /// How many callers a site may have, with the call itself.
    pub const DEEPEST: usize = 8;

    /// The site of the call that this thread is in, with so many places: the call's own, and those of its callers.
    #[inline(always)]
    pub fn of_this_call(depth: usize) -> Self {
        Caller::of_this_call().site(depth)
    }

    /// The site as a number, for a part of a [key](crate::RowKey): it means something in this process only.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The site of a number.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// The places, the call's own first; none of a site that is not known. Takes no lock and allocates nothing.
    pub fn places(self) -> &'static [CodePlace] {
        let Some(place) = PLACES.get(self.0 as usize) else { return &[] };
        // SAFETY: the pointer must be null or of what stays: `number_of` has leaked it.
        unsafe { place.load(Acquire).as_ref() }.map_or(&[], |places| places)
    }
}

impl Caller {
    /// The site of the call, with so many places: the call's own, and those of its callers. To be asked in the function
    /// that has [asked for the caller](Self::of_this_call), before it returns: else the site is any one, or not known.
    #[inline(always)]
    pub fn site(self, depth: usize) -> Site {
        if depth == 0 {
            return Site::UNKNOWN;
        }
        let Some(returns_to) = self.returns_to() else { return Site::UNKNOWN };
        if let Some(memory) = thread::memory()
            && let Some(number) = memory.sites.find(self.stack, returns_to)
        {
            return Site(number);
        }
        self.site_slowly(returns_to, depth)
    }

    /// The same, of a site that is not where it is first looked for.
    #[inline(never)]
    fn site_slowly(self, returns_to: u64, depth: usize) -> Site {
        let sites = thread::memory().map(|memory| &memory.sites);
        let known = sites.and_then(|sites| sites.find_slowly(self.stack, returns_to));
        known.map_or_else(|| new_site(self, returns_to, depth), Site)
    }
}

/// A place in the code of a program or a library.
#[derive(Debug, Clone, Copy)]
pub struct CodePlace {
    file: &'static File,
    offset: u64,
}

impl CodePlace {
    /// The path of the program or library.
    pub fn file(&self) -> &'static str {
        &self.file.path
    }

    /// The file's build ID, by which it is known wherever it lies; empty if it has none.
    pub fn build_id(&self) -> &'static [u8] {
        &self.file.build_id
    }

    /// The last byte of the call instruction, as an address in the file: what `addr2line` wants.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

/// `program+0x1234`
impl core::fmt::Display for CodePlace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let name = self.file().rsplit('/').next().unwrap_or("");
        write!(f, "{name}+{:#x}", self.offset)
    }
}

/// What is asked when a thread calls from a place for the first time.
struct Search {
    modules: Modules,
    rules: CacheX86_64,
    /// The sites, by files and offsets of their places.
    known: HashMap<Vec<(*const File, u64)>, u32>,
}

// SAFETY: a value must be usable in other threads. Its pointers are compared only.
unsafe impl Send for Search {}

std::thread_local! {
    /// This thread is in `new_site`: a signal handler's call must not wait for it.
    static SEARCHING: Cell<bool> = const { Cell::new(false) };
}

/// Finds out where a call comes from.
#[cold]
#[inline(never)]
fn new_site(caller: Caller, returns_to: u64, depth: usize) -> Site {
    // On a stack that is not aligned, nothing can be unwound.
    if !caller.stack.is_multiple_of(8) {
        return Site::UNKNOWN;
    }
    static SEARCH: Mutex<Option<Search>> = Mutex::new(None);
    // A thread that is about to end has no such variable any more.
    if SEARCHING.try_with(|searching| searching.replace(true)).unwrap_or(true) {
        return Site::UNKNOWN;
    }
    let mut search = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    let search = search.get_or_insert_with(|| Search {
        modules: Modules::new(),
        rules: CacheX86_64::new(),
        known: HashMap::new(),
    });
    let site = search.site(caller, returns_to, depth.min(Site::DEEPEST));
    let _ = SEARCHING.try_with(|searching| searching.set(false));
    site
}

impl Search {
    /// The site of a call, of which the thread's cache knows nothing: unwinds the stack, and tells the cache.
    fn site(&mut self, caller: Caller, returns_to: u64, depth: usize) -> Site {
        self.modules.update();
        let cache = memory::make_kit().map(|memory| &memory.sites);
        // The bounds of the thread's stack do not change, and are kept with what is on it.
        let stack = cache.map_or([0; 2], |cache| {
            if cache.stack[1].load(Relaxed) == 0 {
                let bounds = stack_of_this_thread();
                cache.stack.iter().zip(bounds).for_each(|(kept, bound)| kept.store(bound, Relaxed));
            }
            cache.stack.each_ref().map(|bound| bound.load(Relaxed))
        });
        let mut frames = Frames::new(caller.stack as u64, returns_to);
        if (stack[0]..stack[1]).contains(&(caller.stack as u64)) {
            self.unwind(&mut frames, caller, depth, stack[1]);
        }
        let from = self.first_of_application(&frames).unwrap_or(0);
        let mut places: Vec<_> = frames.0[from..]
            .iter()
            .filter_map(|[_, address]| {
                // The instruction behind a call may be another line's, or another function's.
                let at = address.wrapping_sub(1);
                let object = self.modules.of(at)?;
                let role = if self.modules.is_entry(at) { Role::Start } else { object.role };
                Some((role, CodePlace { file: object.file, offset: at.wrapping_sub(object.base) }))
            })
            .collect();
        while places.len() > 1 && places.last().is_some_and(|(role, _)| *role == Role::Start) {
            places.pop();
        }
        let places: Vec<_> = places.into_iter().map(|(_, place)| place).collect();
        let site = self.number_of(places);
        if let Some(cache) = cache {
            cache.insert(frames.0[from], &frames.0[from + 1..], site.0);
            if from > 0 {
                cache.insert_through(frames.0[0], &frames.0[1..from], frames.0[from][0]);
            }
        }
        site
    }

    /// Adds the callers, until there are as many of the application's as are wanted. Nothing is read from
    /// `end` on.
    fn unwind(&mut self, frames: &mut Frames, caller: Caller, depth: usize, end: u64) {
        let mut registers =
            UnwindRegsX86_64::new(frames.0[0][1], caller.stack as u64 + 8, caller.frame as u64);
        let mut read = |address: u64| {
            let is_inside =
                address >= caller.stack as u64 && address <= end - 8 && address.is_multiple_of(8);
            // SAFETY: an aligned word must be there: it is in this thread's stack, above the frame that this
            // code runs in.
            if is_inside { Ok(unsafe { *(address as *const u64) }) } else { Err(()) }
        };
        let mut address = frames.0[0][1];
        let is_enough = |this: &Self, frames: &Frames| {
            let first = this.first_of_application(frames);
            frames.0.len() > MOST || first.is_some_and(|first| frames.0.len() >= first + depth)
        };
        while !is_enough(self, frames) {
            let Some(frame) = FrameAddress::from_return_address(address) else { return };
            let unwinder = &self.modules.unwinder;
            match unwinder.unwind_frame(frame, &mut registers, &mut self.rules, &mut read) {
                Ok(Some(next)) => {
                    // On x86-64 the return address is the word below the caller's stack.
                    let at = registers.sp().wrapping_sub(8);
                    let above = frames.0.last().map_or(0, |[place, _]| *place);
                    if at <= above || read(at) != Ok(next) || self.modules.of(next).is_none() {
                        return;
                    }
                    frames.0.push([at, next]);
                    address = next;
                }
                _ => return,
            }
        }
    }

    /// The first frame that is neither a tool's nor MPI's.
    fn first_of_application(&self, frames: &Frames) -> Option<usize> {
        let is_between = |[_, address]: &[u64; 2]| {
            let object = self.modules.of(address.wrapping_sub(1));
            object.is_some_and(|object| object.role == Role::Between)
        };
        frames.0.iter().position(|frame| !is_between(frame))
    }

    /// The number of a site, which gets one if it is new.
    fn number_of(&mut self, places: Vec<CodePlace>) -> Site {
        if places.is_empty() {
            return Site::UNKNOWN;
        }
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let key = places.iter().map(|place| (core::ptr::from_ref(place.file), place.offset));
        Site(*self.known.entry(key.collect()).or_insert_with(|| {
            let number = NEXT.load(Relaxed);
            let Some(slot) = PLACES.get(number as usize) else { return Site::OTHERS.0 };
            NEXT.store(number + 1, Relaxed);
            slot.store(Box::leak(Box::new(places.into_boxed_slice())), Release);
            number
        }))
    }
}

/// Return addresses of the call and its callers, each with its place on the stack.
struct Frames(Vec<[u64; 2]>);

impl Frames {
    fn new(stack: u64, returns_to: u64) -> Self {
        let mut frames = Vec::with_capacity(MOST + 1);
        frames.push([stack, returns_to]);
        Self(frames)
    }
}

/// Begin and end of this thread's stack; zeros if they are not known.
fn stack_of_this_thread() -> [u64; 2] {
    // SAFETY: the functions want this thread, which runs, and attributes: `pthread_getattr_np` makes them, and
    // they are read and freed only where it has. The address that comes out is not followed here.
    unsafe {
        let mut attributes = core::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return [0; 2];
        }
        let (mut start, mut length) = (core::ptr::null_mut(), 0);
        let result = libc::pthread_attr_getstack(&attributes, &mut start, &mut length);
        libc::pthread_attr_destroy(&mut attributes);
        if result != 0 {
            return [0; 2];
        }
        [start.addr() as u64, (start.addr() + length) as u64]
    }
}
