//! What else is in the process: other tools, and MPI.
//!
//! A preloaded tool stands between the application and MPI, perhaps with other tools before and behind it. It finds
//! its place when the dynamic linker has loaded it ([`ToolInfo::take_place`]):
//!
//! 1. The dynamic linker's order decides who sees a call first: the order of `LD_PRELOAD`, and then that of the
//!    libraries. The next function is what `RTLD_NEXT` finds behind this tool.
//! 2. If that is MPI's own `MPI_X`, the tool calls `PMPI_X` instead, which nobody intercepts.
//! 3. The next tool of this framework exports `mpi_tool_info`. The tools make a chain of these, so that each signal is
//!    told to all, reports of the same tool have different names, and each knows that it is not alone. What another
//!    version of the framework has made is left alone: calls reach it, and nothing else does.
//! 4. A tool exports all 700 functions. Those that this MPI lacks are taken out of the tools' tables ([`settle`]),
//!    as programs ask the dynamic linker which functions there are.
//!
//! MPI may come later, when a program opens it (Python and Julia do). Then the constructor finds none, and the first
//! call looks again ([`find_late_mpi`]).

use core::cell::RefCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};

use std::collections::{BTreeMap, BTreeSet};

use crate::host::launcher::launched_rank;
use crate::host::linker::{Scope, clear_message, find, here, open, open_again};
use crate::host::objects::{Filter, each_object, hash_of, path_of};
use crate::host::options::is_silent;
use crate::host::output::say;
use crate::host::slot::{Host, VERSION, find_next};
use crate::{FunctionClass, FunctionId, NextTable};

/// What tools of this framework know of each other. Every tool exports a pointer to one as
/// `mpi_tool_info`.
#[repr(C)]
pub struct ToolInfo {
    /// [`VERSION`]
    version: u32,
    name: *const c_char,
    /// The next tool behind this one.
    next: AtomicPtr<ToolInfo>,
    /// Writes what there is before a signal ends the process; gets `context`.
    signalled: extern "C" fn(signal: c_int, context: *const c_void),
    context: *const c_void,
}

// SAFETY: threads share the pointers only. `name` is of a string that is never written; any thread may use `context`, as `new`
// is promised. The other fields are `Sync`.
unsafe impl Sync for ToolInfo {}

/// Instead of a signal: the process goes on, and a tool wants to write what there is.
pub(crate) const STILL_RUNNING: c_int = 0;

impl ToolInfo {
    /// Under which name each tool exports a pointer to its own.
    pub(crate) const SYMBOL: &CStr = c"mpi_tool_info";

    /// # Safety
    /// Any thread may call `signalled` with `context`, as long as the process lives.
    #[doc(hidden)]
    pub const unsafe fn new(
        name: &'static CStr,
        signalled: extern "C" fn(c_int, *const c_void),
        context: *const c_void,
    ) -> Self {
        let next = AtomicPtr::new(ptr::null_mut());
        Self { version: VERSION, name: name.as_ptr(), next, signalled, context }
    }

    /// What a library exports that runs tools but is none itself: it has no name.
    #[doc(hidden)]
    pub const fn host() -> Self {
        extern "C" fn nothing(_: c_int, _: *const c_void) {}
        // SAFETY: any thread must be able to call the function, which does nothing.
        unsafe { Self::new(c"", nothing, ptr::null()) }
    }

    /// Puts a chain of tools behind this one, before those that are there.
    #[doc(hidden)]
    pub fn insert(&self, tools: &[&'static ToolInfo]) {
        let mut next = self.next.load(Relaxed);
        for tool in tools.iter().rev() {
            tool.next.store(next, Relaxed);
            next = ptr::from_ref::<ToolInfo>(tool).cast_mut();
        }
        self.next.store(next, Release);
    }

    pub(crate) fn signalled(&self, signal: c_int) {
        (self.signalled)(signal, self.context);
    }

    fn name(&self) -> &CStr {
        // SAFETY: the pointer must be of a C string that stays. `new` has it from a `&'static CStr`.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// The first tool of the process, or this one if the first is of another version.
    pub(crate) fn first(&'static self) -> *const ToolInfo {
        Self::look_up(Scope::Default).unwrap_or(self)
    }

    /// All tools of the process, in stack order, as far as they are of this one's version.
    pub(crate) fn all() -> impl Iterator<Item = &'static ToolInfo> {
        let first = Self::look_up(Scope::Default).unwrap_or(ptr::null());
        // SAFETY: `from` wants null or a tool's information, which is what `look_up` gives: the exported
        // pointer of the first tool, if there is one. Each has had itself never unloaded (`stay`).
        unsafe { Self::from(first) }.filter(|tool| !tool.name().is_empty())
    }

    /// A tool and those behind it. Looks nothing up, so that a signal handler may call it.
    ///
    /// # Safety
    /// `first` is null or points to a tool's information, and neither that tool nor one behind it is ever
    /// unloaded.
    pub(crate) unsafe fn from(first: *const ToolInfo) -> impl Iterator<Item = &'static ToolInfo> {
        let mut next = first;
        core::iter::from_fn(move || {
            // SAFETY: `next` must be null or point to a `ToolInfo` that stays. At first the caller says so;
            // further ones are what `take_place` found as another tool's exported pointer, or what `insert`
            // got by a `&'static` reference.
            let this = unsafe { next.as_ref() }?;
            next = this.next.load(Acquire).cast_const();
            Some(this)
        })
    }

    /// What the exported pointer in a scope points to: null if there is none.
    fn look_up(scope: Scope) -> Result<*const ToolInfo, OtherVersion> {
        // SAFETY: the symbol is this framework's, in whichever version.
        unsafe { Self::exported(find(scope, Self::SYMBOL)) }
    }

    /// What a tool exports as `mpi_tool_info`, if this tool can read it. Null if there is nothing.
    ///
    /// # Safety
    /// The symbol is null, or that of this framework, in whichever version, in a library that stays loaded.
    pub unsafe fn exported(symbol: *mut c_void) -> Result<*const ToolInfo, OtherVersion> {
        // SAFETY: in all versions, the symbol is a static pointer, aligned and never written, to a structure
        // that begins with its version.
        unsafe {
            let Some(info) = symbol.cast::<*const ToolInfo>().as_ref() else {
                return Ok(ptr::null());
            };
            let version = (&raw const (**info).version).read();
            if version == VERSION { Ok(*info) } else { Err(OtherVersion(version)) }
        }
    }

    /// The tools from the next one on are of another version: calls reach them, but this tool cannot know their
    /// names, nor speak for them.
    #[cold]
    fn say_that_strangers_are_here(&self, version: u32) {
        let name = self.name().to_string_lossy();
        // A C tool that is linked to MPI brings it into the launcher, too, which is no rank.
        let is_first = launched_rank().map_or_else(|| mpi_objects().program, |rank| rank == 0);
        if is_first && !is_silent(&name) {
            say(format_args!(
                "{name}: the tool behind it is from another version of this framework ({version}, not \
                 {VERSION}); both work, but reports to the same file may replace each other (build all tools \
                 with one version)"
            ));
        }
    }

    /// What tells this tool from the others in the process, where there are others: its name, with
    /// a number where the same tool is there more than once.
    pub(crate) fn suffix(&self) -> Option<String> {
        if Self::all().count() < 2 {
            return None;
        }
        let name = self.name();
        let (mut before, mut same) = (0, 0);
        for tool in Self::all().filter(|tool| tool.name() == name) {
            same += 1;
            if ptr::eq(tool, self) {
                before = same;
            }
        }
        let name = name.to_string_lossy();
        Some(if same > 1 { format!("{name}-{before}") } else { name.into_owned() })
    }

    /// Finds the tools behind this one, and fills the table with the functions behind it. False if
    /// there are none: a process without MPI, or one that will load it.
    ///
    /// Runs in the tool's constructor. Looking up 700 names takes a fraction of a millisecond, so the dynamic linker is asked
    /// only where there may be somebody else; a process without MPI is left at the first.
    #[doc(hidden)]
    pub fn take_place(&self, table: &NextTable) -> bool {
        Host::take();
        let library = mpi_sys::pmpi::address(FunctionId::MPI_Init as usize)
            .map_or(0..0, |init| object_of(init.as_ptr()));
        let others = Others::find(&library);
        if !library.is_empty() {
            complete_from(&library, others.as_ref());
        }
        let mut stranger = None;
        if Host::get().is_none() {
            match Self::look_up(Scope::Next) {
                Ok(next) => self.next.store(next.cast_mut(), Relaxed),
                Err(other) => stranger = Some(other),
            }
        } else {
            // The host puts it into the chain. It knows that there is MPI, if perhaps a private one.
            fill_late_pmpi();
        }

        let own = object_of((&raw const *self).cast());
        let library = mpi_sys::pmpi::address(FunctionId::MPI_Init as usize)
            .map_or(0..0, |init| object_of(init.as_ptr()));
        let next_init = find_next(FunctionId::MPI_Init.c_name());
        let is_mpi =
            !library.is_empty() || !next_init.is_null() && !own.contains(&next_init.addr());
        if is_mpi {
            let has_fortran = has_fortran();
            // Only where there is somebody else it matters what is behind this tool. A host looks behind itself.
            let others = others.filter(|_| Host::get().is_none());
            let next_of = |function: FunctionId| {
                let known = library_function(function, has_fortran);
                let is_alone =
                    others.as_ref().is_some_and(|others| !others.first[function as usize]);
                if !known.is_null() && is_alone {
                    return known;
                }
                let next = find_next(function.c_name()).cast_const();
                // The library itself is entered by PMPI_.
                let is_library = !known.is_null() && library.contains(&next.addr());
                if next.is_null() || is_library || own.contains(&next.addr()) {
                    known
                } else {
                    next
                }
            };
            // SAFETY: `link` wants functions of the right prototypes, or null. What is found has the name
            // `MPI_X` or `PMPI_X`, and the standard keeps such names for MPI and its tools;
            // `library_function` may have what stands for one of them.
            unsafe { table.link(next_of) };
            settle();
        }
        clear_message();
        if let Some(OtherVersion(version)) = stranger.filter(|_| is_mpi) {
            self.say_that_strangers_are_here(version);
        }
        is_mpi
    }
}

/// Which functions of MPI objects have that are neither this tool nor MPI's library.
struct Others {
    /// `MPI_X`.
    first: [bool; FunctionId::COUNT],
    /// `PMPI_X`, of objects before the library and behind it.
    second: [[bool; 2]; FunctionId::COUNT],
}

static HASHES: [u32; FunctionId::COUNT] = hashes(false);
static SECOND_HASHES: [u32; FunctionId::COUNT] = hashes(true);

/// The hashes of all functions' names, or of those that begin with a P.
const fn hashes(with_p: bool) -> [u32; FunctionId::COUNT] {
    let mut hashes = [0; FunctionId::COUNT];
    let mut index = 0;
    while index < hashes.len() {
        if let Some(function) = FunctionId::from_index(index) {
            let name = if with_p { function.second_name() } else { function.name() };
            hashes[index] = hash_of(name.as_bytes());
        }
        index += 1;
    }
    hashes
}

impl Others {
    /// `None` if that cannot be seen: then only the dynamic linker knows, which takes ten times as long to say it.
    fn find(library: &Range<usize>) -> Option<Self> {
        static FILTER: Filter = Filter::EMPTY.with(&HASHES).with(&SECOND_HASHES);
        let none = [false; FunctionId::COUNT];
        let mut others = Self { first: none, second: [[false; 2]; FunctionId::COUNT] };
        // An audit library may put any function in another's place, in what the dynamic linker finds.
        if library.is_empty() {
            return None;
        }
        let mut is_known = std::env::var_os("LD_AUDIT").is_none();
        let own = object_of(here());
        let mut is_behind = 0;
        each_object(|object| {
            let addresses = object.addresses();
            if addresses == *library {
                is_behind = 1;
                is_known &= object.has_table();
            } else if is_known && addresses != own {
                is_known = object.each_defined(&FILTER, |name| {
                    if ![&b"MPI_"[..], b"PMPI_"].iter().any(|of| name.to_bytes().starts_with(of)) {
                        return;
                    }
                    let name = name.to_str().unwrap_or("");
                    let second = name.strip_prefix('P').and_then(|name| name.parse().ok());
                    match (second, name.parse()) {
                        (Some::<FunctionId>(known), _) => {
                            others.second[known as usize][is_behind] = true;
                        }
                        (None, Ok::<FunctionId, _>(known)) => others.first[known as usize] = true,
                        _ => {}
                    }
                });
            }
        });
        is_known.then_some(others)
    }
}

/// Fills `mpi_sys::pmpi` where MPI is there already, as the dynamic linker would with references to all of it: with the first
/// function of each name. As a rule, all are in the library that has `PMPI_Init`, whose table says where; the dynamic linker is
/// asked of those that another object has.
pub(crate) fn complete_pmpi() {
    if let Some(init) = mpi_sys::pmpi::address(FunctionId::MPI_Init as usize) {
        let library = object_of(init.as_ptr());
        complete_from(&library, Others::find(&library).as_ref());
    }
}

/// The same from a library, where it is known what others have.
fn complete_from(library: &Range<usize>, others: Option<&Others>) {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Relaxed) {
        return;
    }
    let mut known = [None; FunctionId::COUNT];
    each_object(|object| {
        if object.addresses() == *library {
            let name =
                |index| FunctionId::from_index(index).map_or(&[][..], FunctionId::pmpi_bytes);
            let note = |index: usize, address| known[index] = Some(address);
            object.each_function(&SECOND_HASHES, name, note);
        }
    });
    // SAFETY: `fill_each` wants the library's function of each name, or null. The standard keeps the names `PMPI_X` for what they
    // are, and each function is looked up by its name.
    unsafe {
        mpi_sys::pmpi::fill_each(|function| {
            let index = function as usize;
            let second = others.map(|others| others.second[index]);
            match (known[index], second) {
                (Some(address), Some([false, _])) if !address.is_null() => address,
                (None, Some([false, false])) => ptr::null_mut(),
                _ => find(Scope::Default, function.pmpi_name()),
            }
        });
    }
    clear_message();
}

/// The version of a structure that another version of this framework has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherVersion(u32);

/// Has this library stay loaded, also where a program opens it and closes it again: other tools, signal handlers and
/// threads have addresses in it. For the constructor alone: in a call that comes earlier, `dlopen` would run the
/// constructor first.
pub fn stay() {
    if let Some(own) = path_of(here().addr()) {
        open_again(&own, libc::RTLD_NODELETE);
    }
}

/// Takes from the exports of all tools what MPI lacks: programs ask by `dlsym` and weak references which
/// functions there are (mpi4py does). A tool has all of them, since it serves every MPI of its ABI. Where
/// there is no MPI yet, all is left as it is.
///
/// Has a Fortran library convert handles without the tools: Intel MPI's calls `MPI_Comm_fromint` and so
/// on by their public names, for each call of Fortran, which the program knows nothing of.
fn settle() {
    let Some(init) = mpi_sys::pmpi::address(FunctionId::MPI_Init as usize) else { return };
    let library = object_of(init.as_ptr());
    let mut missing = BTreeSet::new();
    each_object(|object| {
        if object.addresses() == library {
            let is_missing = |function: &FunctionId| {
                !mpi_sys::pmpi::available(*function as usize) && !object.exports(function.c_name())
            };
            missing = FunctionId::all().filter(is_missing).map(FunctionId::c_name).collect();
        }
    });
    let conversion = |function: FunctionId| {
        let address = mpi_sys::pmpi::address(function as usize)?.addr().get();
        Some((function.c_name(), address))
    };
    let conversions: BTreeMap<_, _> = FunctionId::all()
        .filter(|function| function.class() == FunctionClass::Conversion)
        .filter_map(conversion)
        .collect();
    // A host looks into the tool that it opens, and nobody else does.
    let hosted = Host::get().map(|_| object_of(here()));
    let mut tools = Vec::new();
    each_object(|object| {
        if object.exports(ToolInfo::SYMBOL) {
            tools.push(object.addresses());
        }
    });
    each_object(|object| {
        if tools.contains(&object.addresses()) {
            if hosted != Some(object.addresses()) {
                object.hide(&missing);
            }
        } else if object.is_fortran_library() {
            object.rebind(|name, _| conversions.get(name).copied());
        } else if !missing.is_empty() {
            object.rebind(|name, reference| {
                let is_of_tool = || tools.iter().any(|tool| tool.contains(&reference.bound));
                (reference.is_weak && missing.contains(name) && is_of_tool()).then_some(0)
            });
        }
    });
}

/// Is MPI's Fortran library there? Without it there are no calls of Fortran to look out for.
fn has_fortran() -> bool {
    !find(Scope::Default, c"pmpi_init_").is_null()
}

/// The library's `PMPI_` function, or null. Where Fortran's callbacks and attributes must be told
/// from C's, a function that does.
fn library_function(function: FunctionId, has_fortran: bool) -> *const c_void {
    let known = mpi_sys::pmpi::address(function as usize);
    known.map_or(ptr::null(), |known| {
        let end = crate::fortran::bottom(function).filter(|_| has_fortran);
        end.unwrap_or(known.as_ptr().cast_const())
    })
}

/// MPI that came after the tool, by `dlopen`: fills the table from it. Where there is none, but the
/// application calls it all the same, it was the tool's exports that made it believe in one (as
/// mpi4py does, which asks for them before it loads anything): then the library is loaded here, by
/// the name that the application would use. False if that fails, too.
pub fn find_late_mpi(table: &NextTable) -> bool {
    let found = fill_late_pmpi()
        || mpi_sys::ABI.library_names().iter().any(|name| {
            open(name, libc::RTLD_LAZY | libc::RTLD_GLOBAL).is_some() && fill_late_pmpi()
        });
    if found {
        let has_fortran = has_fortran();
        // SAFETY: `link` wants functions of the right prototypes, or null: `library_function` gives the
        // library's own, what stands for one of them where Fortran is concerned, or null.
        unsafe { table.link(|function| library_function(function, has_fortran)) };
        settle();
    }
    clear_message();
    found
}

/// Fills `mpi_sys::pmpi` from a library that came after the tool, if it has not been filled.
pub fn fill_late_pmpi() -> bool {
    let is_filled = || mpi_sys::pmpi::available(FunctionId::MPI_Init as usize);
    if is_filled() {
        return true;
    }
    let mut path = None;
    each_object(|object| {
        if object.is_mpi_library() {
            path.get_or_insert_with(|| object.path().to_owned());
        }
    });
    let Some(path) = path else { return false };
    if let Some(library) = open_again(&path, 0) {
        // SAFETY: `fill` wants the library's function of each name, or null. `find` looks into the MPI
        // library, and the standard keeps the names `PMPI_X` for what they are.
        unsafe { mpi_sys::pmpi::fill(|name| library.find(name)) };
    }
    clear_message();
    is_filled()
}

/// The addresses of the loaded object that an address belongs to.
pub fn object_of(address: *const c_void) -> Range<usize> {
    let mut found = 0..0;
    each_object(|object| {
        let range = object.addresses();
        if range.contains(&address.addr()) {
            found = range;
        }
    });
    found
}

/// Functions of which tools do not see all calls: the program has one of the same name itself, which stands before
/// those of the tools, or calls MPI's by its second name (`PMPI_X`). Calls of its libraries are not looked for.
pub fn unseen_functions() -> BTreeSet<FunctionId> {
    let mut found = BTreeSet::new();
    let mut is_program = true;
    each_object(|object| {
        // A program that contains the tool has its functions.
        if !core::mem::take(&mut is_program) || object.exports(ToolInfo::SYMBOL) {
            return;
        }
        found.extend(FunctionId::all().filter(|function| object.defines(function.c_name())));
        let called = RefCell::new(Vec::new());
        object.each_import(|name| {
            let name = name.to_str().ok().and_then(|name| name.strip_prefix('P'));
            called.borrow_mut().extend(name.and_then(|name| name.parse::<FunctionId>().ok()));
        });
        found.extend(called.into_inner());
    });
    found
}

/// What the process has of MPI, seen by the symbol tables or not.
pub(crate) struct MpiObjects {
    /// An object that looks like an MPI library by its name.
    pub(crate) library: bool,
    /// The program itself is linked to one. Else a preloaded C tool may have brought it along.
    pub(crate) program: bool,
}

pub(crate) fn mpi_objects() -> MpiObjects {
    let mut found = MpiObjects { library: false, program: false };
    let mut is_program = true;
    each_object(|object| {
        found.library |= object.is_mpi_library();
        if core::mem::take(&mut is_program) {
            found.program =
                object.needs().any(|name| name.to_str().is_ok_and(mpi_facts::is_part_of_mpi));
        }
    });
    found
}
