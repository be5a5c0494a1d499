//! Call sites: where in the application a call comes from.
//!
//! `caller.rs` notes down stack pointer and frame pointer when a call comes into the tool, `cache.rs` knows the
//! sites that a thread has called from before. For one that it does not know, `search.rs` unwinds the stack, by the
//! tables that compilers make for exceptions (`.eh_frame`), which need no frame pointers. `modules.rs` knows the
//! loaded objects, and `python.rs` the functions of Python, which `trail.rs` knows again. These are compiled with the feature `call-sites` only, but `trail.rs`.
//!
//! Nothing is read beyond the thread's own stack, whatever the tables say. On other stacks (of fibers, and of signal
//! handlers), nothing is unwound: the call's own return address is the site.

#[cfg_attr(not(feature = "call-sites"), allow(dead_code))]
pub(crate) mod cache;
#[cfg_attr(not(feature = "call-sites"), allow(dead_code))]
pub(crate) mod caller;
#[cfg(feature = "call-sites")]
mod modules;
#[cfg(feature = "call-sites")]
mod python;
#[cfg(feature = "call-sites")]
mod search;
#[cfg(feature = "call-sites")]
mod stack;
#[cfg_attr(not(feature = "call-sites"), allow(dead_code))]
mod trail;

use core::sync::atomic::{AtomicPtr, Ordering::Acquire};

use super::thread::{self, ThisThread};
use cache::Found;
pub use caller::{Caller, Nesting, SKIPS_CALLERS};
#[cfg(feature = "call-sites")]
use search::new_site;

/// Where in the application a call comes from: the place of the call, and the places of the calls of the
/// functions around it, up to a depth.
///
/// A tool that asks for call sites has the feature `call-sites` of this crate, is installed with `call_sites`, and asks
/// at the beginning of its `around`, or of its method for a function:
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
/// which Fortran calls. Where an installed library has made the call and its callers, as many as are wanted, the last place is
/// that in the program which has called the library, however deep; of a depth of 1, there are two places then. In a level of a stack, calls have no site: [`UNKNOWN`](Self::UNKNOWN).
///
/// A site that the thread has called from before costs some thirty instructions, and a few more for each caller beyond
/// three; one that is new some microseconds. Where functions of Python are [followed](Self::follow_python), it costs several hundred
/// instructions, and about a millisecond if it is new.
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

    /// The site of the call that this thread is in, if it is found where most are: without calling a function. `None`
    /// does not mean that it is not known.
    #[inline(always)]
    pub fn at_once(thread: ThisThread) -> Option<Self> {
        let caller = Caller::without_frame();
        if !caller.is_above_stack_pointer() {
            return None;
        }
        let sites = &thread.memory?.sites;
        // SAFETY: a word must be there. The last call into the tool of this thread has noted the place down, where its
        // return address was: this call, or one of a signal handler's that has come since. The place of this call is on
        // the part of the stack that is in use. A handler's call on the same stack was below, and is left out. One on
        // an alternative stack was on memory of this thread's that the system may use for the next signal.
        unsafe { sites.find(caller.stack) }.map(Self)
    }

    /// Sites of this process are to have functions of Python, where a call comes through its interpreter: CPython 3.9 to 3.14, not free-threaded.
    /// To be said in [`configure`](crate::Tool::configure), by tools that know [such places](CodePlace::python). Then such a call costs
    /// several hundred instructions more. One from functions, or instructions of these, that are new to the thread costs about a millisecond more,
    /// as the kernel is asked for each piece of what the interpreter has. So a place of C's stack has up to 128 such ways through Python, and a
    /// thread reads up to 4096. Calls that come when there are more have the function `<others>` in `<python>` as their place, and those of C
    /// behind it, and cost as much as in other programs.
    #[cfg(feature = "call-sites")]
    pub fn follow_python() {
        python::want();
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
            // SAFETY: a word is there, as `returns_to` has just read it.
            && let Some(number) = unsafe { memory.sites.find(self.stack) }
        {
            return Site(number);
        }
        self.site_slowly(returns_to, depth)
    }

    /// The same, if it is found where most are: without calling a function. `None` does not mean that the site is not
    /// known.
    #[inline(always)]
    pub fn known_site(self, thread: ThisThread, depth: usize) -> Option<Site> {
        if depth == 0 {
            return Some(Site::UNKNOWN);
        }
        if !self.is_near() {
            return Some(Site::UNKNOWN);
        }
        // SAFETY: a word must be there: of a call that is near, as `Caller::returns_to` says.
        unsafe { thread.memory?.sites.find(self.stack) }.map(Site)
    }

    /// The call's site, which has been asked for, is not to be found by [`Site::at_once`] from now on, or it may be again:
    /// for a tool that has more to do with some sites than with others.
    pub fn set_slow(self, is_slow: bool) {
        if let (Some(memory), Some(returns_to)) = (thread::memory(), self.returns_to()) {
            memory.sites.set_slow(self.stack, returns_to, is_slow);
        }
    }

    /// The same, of a site that is not where it is first looked for.
    #[inline(never)]
    fn site_slowly(self, returns_to: u64, depth: usize) -> Site {
        Site(self.find_slowly(returns_to, depth).site)
    }

    fn find_slowly(self, returns_to: u64, depth: usize) -> Found {
        let sites = thread::memory().map(|memory| &memory.sites);
        let known = sites.and_then(|sites| sites.find_slowly(self.stack, returns_to));
        known.unwrap_or_else(|| new_site(self, returns_to, depth))
    }

    /// The same as [`site`](Self::site), of a call of the application's: `None` if MPI's own library makes the call, inside of one
    /// of the application's or by itself. Some libraries call functions of MPI by their public names, for objects and
    /// messages of their own: as MPICH 4.0's files make datatypes in `MPI_File_set_view`. What MPI's libraries for other
    /// languages call is the application's call, and so is what functions of the application's do that MPI calls.
    ///
    /// As many instructions as by [`site`](Self::site), unless the call comes from MPI.
    #[inline(always)]
    pub fn application_site(self, depth: usize) -> Option<Site> {
        if depth == 0 {
            return Some(Site::UNKNOWN);
        }
        let Some(returns_to) = self.returns_to() else { return Some(Site::UNKNOWN) };
        // What comes from MPI is never found at once.
        if let Some(memory) = thread::memory()
            // SAFETY: a word is there, as `returns_to` has just read it.
            && let Some(number) = unsafe { memory.sites.find(self.stack) }
        {
            return Some(Site(number));
        }
        self.application_site_slowly(returns_to, depth)
    }

    #[inline(never)]
    fn application_site_slowly(self, returns_to: u64, depth: usize) -> Option<Site> {
        let found = self.find_slowly(returns_to, depth);
        (!found.is_of_mpi).then_some(Site(found.site))
    }
}

/// Without the feature, no call has a site: a tool cannot be installed with `call_sites`.
#[cfg(not(feature = "call-sites"))]
fn new_site(_: Caller, _: u64, _: usize) -> Found {
    Found { site: Site::UNKNOWN.0, is_of_mpi: false }
}

/// A program or library, as reports name it. It is never freed: reports may come when it has been unloaded.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path.
    pub(crate) path: String,
    /// The build ID that its linker gave it; empty if there is none.
    pub(crate) build_id: Vec<u8>,
    /// It is a library that somebody has installed, and not the program's own.
    pub(crate) is_library: bool,
}

/// A place in the code of a program or a library.
#[derive(Debug, Clone, Copy)]
pub struct CodePlace {
    file: &'static File,
    offset: u64,
}

impl CodePlace {
    /// The function of Python, if it is one. Then [`file`](Self::file) has it in words for `mpi-tool`, and [`offset`](Self::offset) the line.
    pub fn python(&self) -> Option<PythonPlace<'static>> {
        PythonPlace::of(self.file(), self.offset)
    }

    /// Is it in a library that somebody has installed: in the system's folders, one that is known by its name, or one that
    /// `MPI_TOOL_LIBRARIES` names?
    pub fn is_of_library(&self) -> bool {
        self.file.is_library
    }

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

/// A function of Python, as a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PythonPlace<'place> {
    /// With its class and the functions around it; its own name only before Python 3.11.
    pub function: &'place str,
    /// As the compiler was told it: most often a path.
    pub file: &'place str,
    /// 0 if it has none.
    pub line: u64,
}

impl<'place> PythonPlace<'place> {
    /// Of what a place has as its [file](CodePlace::file) and [offset](CodePlace::offset); `None` of a place in a program.
    #[cfg(feature = "call-sites")]
    pub fn of(file: &'place str, offset: u64) -> Option<Self> {
        let (function, file) = mpi_tool_python::split(file)?;
        Some(Self { function, file, line: offset })
    }

    /// `None`: a tool without call sites has no places.
    #[cfg(not(feature = "call-sites"))]
    pub fn of(_: &'place str, _: u64) -> Option<Self> {
        None
    }
}

#[cfg(feature = "call-sites")]
impl PythonPlace<'_> {
    /// What a place in Python has as its [file](CodePlace::file): function and file, for [`of`](Self::of).
    pub fn joined(&self) -> String {
        mpi_tool_python::joined(self.function, self.file)
    }
}

/// `script.py:12 function`
impl core::fmt::Display for PythonPlace<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.file.rsplit('/').next().unwrap_or(""))?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, " {}", self.function)
    }
}

/// `program+0x1234`, `script.py:12 function`
impl core::fmt::Display for CodePlace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if let Some(python) = self.python() {
            return python.fmt(f);
        }
        let name = self.file().rsplit('/').next().unwrap_or("");
        write!(f, "{name}+{:#x}", self.offset)
    }
}
