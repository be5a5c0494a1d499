//! A tool for every MPI: what a user preloads who does not know the ABI of a program's MPI.
//!
//! It exports all functions of MPI, for C and for Fortran, each as one jump. When there is an MPI in
//! the process, it opens the build of the tool for that ABI, which lies beside it in a folder of the
//! ABI's name, and sends each function there:
//!
//! ```text
//! tools/libcall_counter.so            this library, under the tool's name
//! tools/mpich/libcall_counter.so      the tool's builds
//! tools/openmpi/libcall_counter.so
//! tools/standard/libcall_counter.so
//! ```
//!
//! It knows no tool and no ABI: a call's arguments stay where they are, and it looks at none. The
//! types of the ABI that it happens to be compiled for are in no code that runs.
#![allow(non_upper_case_globals, reason = "names that other tools know")]

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};
use std::env;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use mpi_tool_layer::install::linker::{
    self, Library, LinkMap, clear_message, find_in_fortran_library, locate, open, open_again,
};
use mpi_tool_layer::install::{
    Answer, Host, HostSlot, ToolInfo, abi, after_all, fill_late_pmpi, find_next, help, is_on,
    is_silent, launched_rank, object_of, say, stay, to_all_hosts, why_nothing_was_seen,
};
use mpi_tool_layer::mpi_sys::{Abi, fortran_symbols, mpi_functions, pmpi};
use mpi_tool_layer::note::build_beside;
use mpi_tool_layer::{FunctionId, NextTable};

const NAME: &str = "universal";
mpi_tool_layer::__note! { NAME universal }
mpi_tool_layer::__fortran! {}

static INFO: ToolInfo = ToolInfo::host();
/// For the tools of the process, which look it up.
#[unsafe(no_mangle)]
static mpi_tool_info: &ToolInfo = &INFO;
mpi_tool_layer::__exit_functions! { INFO }
/// For the tool that is opened.
#[unsafe(no_mangle)]
static mpi_tool_host: HostSlot = HostSlot::HOST;
/// What the tool asks for what is behind it, since it is opened, and stands nowhere.
static HOST: Host = Host::new(next);

macro_rules! functions {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// Where calls of C go.
        // SAFETY: each first function leaves a call's arguments and its stack as they were when it
        // jumps on, so it has any prototype.
        static FUNCTIONS: NextTable = unsafe {
            NextTable::new([$({
                #[unsafe(naked)]
                unsafe extern "C" fn first() {
                    mpi_tool_layer::__jump_with! { number FunctionId::$c_name as usize, go }
                }
                AtomicPtr::new(first as *const c_void as *mut c_void)
            }),*])
        };
        $(
            const _: () = {
                #[unsafe(export_name = stringify!($c_name))]
                #[unsafe(naked)]
                unsafe extern "C" fn function() {
                    mpi_tool_layer::__jump_through! {
                        FUNCTIONS, FunctionId::$c_name as usize * size_of::<usize>()
                    }
                }
            };
        )*
    };
}
mpi_functions! { [functions] }

/// A function of Fortran.
#[repr(C)]
struct Symbol {
    /// Where calls go.
    target: AtomicPtr<c_void>,
    name: &'static CStr,
}

macro_rules! symbols {
    ([] $($symbol:literal)*) => {
        static SYMBOLS: &[&Symbol] = &[$({
            static SYMBOL: Symbol = Symbol {
                target: AtomicPtr::new(first as *const c_void as *mut c_void),
                name: match CStr::from_bytes_with_nul(concat!($symbol, "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a symbol has no NUL"),
                },
            };

            #[unsafe(export_name = $symbol)]
            #[unsafe(naked)]
            unsafe extern "C" fn function() {
                mpi_tool_layer::__jump_through! { SYMBOL, core::mem::offset_of!(Symbol, target) }
            }

            #[unsafe(naked)]
            unsafe extern "C" fn first() {
                mpi_tool_layer::__jump_with! { address SYMBOL, go_in_fortran }
            }
            &SYMBOL
        }),*];
    };
}
fortran_symbols! { [symbols] }

/// What first calls of C jump to, with the function's number as context.
#[unsafe(naked)]
unsafe extern "C" fn go() {
    mpi_tool_layer::__ask_first! { where_to }
}

/// The same for Fortran, with the address of the [`Symbol`].
#[unsafe(naked)]
unsafe extern "C" fn go_in_fortran() {
    mpi_tool_layer::__ask_first! { where_to_in_fortran }
}

extern "C" fn where_to(_: *const c_void, number: usize) -> Answer {
    // Whoever calls MPI believes in one, even if it is not there yet.
    let chosen = choose(true);
    let function = FunctionId::from_index(number).unwrap_or(FunctionId::MPI_Initialized);
    let next = if chosen { FUNCTIONS.entry(function) } else { without_tool(function) };
    Answer { next, result: 0 }
}

extern "C" fn where_to_in_fortran(_: *const c_void, symbol: &'static Symbol) -> Answer {
    let first = symbol.target.load(Relaxed);
    choose(false);
    let mut next = symbol.target.load(Relaxed);
    if next == first {
        // No function of the tool's. Without MPI it is somebody else's of this name.
        next = next_in_fortran(symbol.name);
    }
    if next.is_null() {
        say(format_args!(
            "{}: {} is not in any library of this process; aborting",
            Place::get().tool,
            symbol.name.to_string_lossy()
        ));
        std::process::abort();
    }
    Answer { next, result: 0 }
}

/// A function as it is without the tool, or one that says that there is none.
fn without_tool(function: FunctionId) -> *const c_void {
    let behind = next(function.c_name().as_ptr()).cast_const();
    let library = || pmpi::address(function as usize).map(|address| address.as_ptr().cast_const());
    if !behind.is_null() {
        return behind;
    }
    library().unwrap_or_else(|| NextTable::unlinked().entry(function))
}

fn next_in_fortran(name: &CStr) -> *mut c_void {
    let behind = next(name.as_ptr());
    if behind.is_null() { find_in_fortran_library(name) } else { behind }
}

/// What is behind this library, under a name; null if there is nothing.
extern "C" fn next(name: *const c_char) -> *mut c_void {
    // SAFETY: `name` must be a C string: it is this library's own, or of the tool that it has opened and that
    // asks by `HOST`.
    let found = find_next(unsafe { CStr::from_ptr(name) });
    clear_message();
    if !found.is_null() && own().contains(&found.addr()) { ptr::null_mut() } else { found }
}

/// The addresses of this library.
fn own() -> core::ops::Range<usize> {
    static OWN: OnceLock<core::ops::Range<usize>> = OnceLock::new();
    OWN.get_or_init(|| object_of((&raw const INFO).cast())).clone()
}

/// Where this library is, and what it stands for.
struct Place {
    /// `call-counter` of `libcall_counter.so`
    tool: String,
    folder: PathBuf,
    file: PathBuf,
}

impl Place {
    fn get() -> &'static Self {
        static PLACE: OnceLock<Place> = OnceLock::new();
        PLACE.get_or_init(|| {
            // SAFETY: the object must stay loaded: it is this one.
            let file = locate((&raw const INFO).addr()).map(|own| unsafe { own.file() });
            let path = file.map_or(&b""[..], CStr::to_bytes);
            // The program may go elsewhere before it calls MPI.
            let path = env::current_dir().unwrap_or_default().join(OsStr::from_bytes(path));
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            Place {
                tool: stem.strip_prefix("lib").unwrap_or(&stem).replace('_', "-"),
                folder: path.parent().unwrap_or(Path::new("")).to_owned(),
                file: path.file_name().unwrap_or_default().into(),
            }
        })
    }

    /// Where the build for an ABI is, or should be: beside the name that was preloaded, or beside the
    /// file that it is a link to.
    fn build(&self, abi: Abi) -> PathBuf {
        let preloaded = self.folder.join(&self.file);
        let build = build_beside(&preloaded, abi).unwrap_or_default();
        if build.exists() {
            return build;
        }
        let file = std::fs::canonicalize(preloaded).unwrap_or_default();
        build_beside(&file, abi).filter(|other| other.exists()).unwrap_or(build)
    }
}

/// Calls go where they shall.
static CHOSEN: AtomicBool = AtomicBool::new(false);

/// Opens the tool for the MPI of this process, if there is one; `loads` is for calls that want it to be
/// there. False if there is none, and for calls that come of this.
fn choose(loads: bool) -> bool {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    std::thread_local! {
        static CHOOSING: Cell<bool> = const { Cell::new(false) };
    }
    if CHOSEN.load(Acquire) {
        return true;
    }
    if CHOOSING.get() {
        return false;
    }
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if CHOSEN.load(Acquire) {
        return true;
    }
    CHOOSING.set(true);
    if (fill_late_pmpi() || loads && load_mpi())
        && let Some(abi) = abi()
    {
        link(abi);
        CHOSEN.store(true, Release);
    }
    CHOOSING.set(false);
    clear_message();
    CHOSEN.load(Acquire)
}

/// Loads the MPI that the program would load: mpi4py asks for functions before it does, finds these, and
/// believes that MPI is there.
fn load_mpi() -> bool {
    let mut abis = Abi::ALL;
    if env::vars_os().any(|(name, _)| name.as_bytes().starts_with(b"OMPI_COMM_WORLD_")) {
        // Started by Open MPI's launcher.
        abis.swap(0, 1);
    }
    abis.iter()
        .flat_map(|abi| abi.library_names())
        .any(|name| open(name, libc::RTLD_LAZY | libc::RTLD_GLOBAL).is_some() && fill_late_pmpi())
}

/// Sends each function to the tool, or where there is none for this ABI, to what is behind.
fn link(abi: Abi) {
    let below = NextTable::unlinked();
    INFO.take_place(&below);
    let tool = match Tool::open(abi) {
        Ok(tool) => Some(tool),
        Err(reason) => {
            let Place { tool, .. } = Place::get();
            if launched_rank().unwrap_or(0) == 0 && !is_silent(tool) {
                say(format_args!("{tool}: {reason}; the program runs without this tool"));
            }
            None
        }
    };
    let of_tool = |name: &CStr| tool.as_ref().and_then(|tool| tool.function(name));
    for function in FunctionId::all() {
        let target = of_tool(function.c_name()).unwrap_or_else(|| below.entry(function));
        // SAFETY: `set` wants a function of this prototype: what has the name `MPI_X` in the tool or behind it
        // is one, since the standard keeps such names; and `below` has such functions.
        unsafe { FUNCTIONS.set(function, target) };
    }
    for symbol in SYMBOLS {
        let next = || Some(next_in_fortran(symbol.name).cast_const()).filter(|at| !at.is_null());
        // Else MPI's library for Fortran may still come.
        if let Some(target) = of_tool(symbol.name).or_else(next) {
            symbol.target.store(target.cast_mut(), Relaxed);
        }
    }
}

/// The tool's build for the MPI of the process.
struct Tool {
    library: Library,
    addresses: core::ops::Range<usize>,
}

impl Tool {
    fn open(abi: Abi) -> Result<Self, String> {
        let path = Place::get().build(abi);
        let shown = path.display();
        if !path.exists() {
            return Err(format!(
                "the MPI of this program has the {0} ABI, and there is no build for it: no {shown} \
                 (`mpi-tool build --universal --abi {0}` makes it)",
                abi.name()
            ));
        }
        let name = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        if open_again(&name, 0).is_some() {
            return Err(format!("{shown} is in this process already, and sees its calls"));
        }
        if abi == Abi::OpenMpi {
            make_global();
        }
        let (library, is_hosted) = HOST.open(|| open(&name, libc::RTLD_NOW | libc::RTLD_LOCAL));
        let library = library.ok_or_else(|| {
            format!("its build for this MPI cannot be loaded: {}", linker::message())
        })?;
        let tool = Self { library, addresses: addresses(library) };
        let symbol = library.find(c"mpi_tool_info");
        if tool.contains(symbol) {
            // SAFETY: the pointer is that of the framework's symbol, in a tool that is never closed.
            let info = unsafe { ToolInfo::exported(symbol) }.ok().filter(|_| is_hosted);
            // SAFETY: what the symbol has is the address of the tool's `ToolInfo`, a static.
            let Some(info) = info.and_then(|info| unsafe { info.as_ref() }) else {
                return Err(format!(
                    "{shown} was made by another version of this framework (`mpi-tool build --universal` makes \
                     all tools anew)"
                ));
            };
            INFO.insert(&[info]);
        }
        Ok(tool)
    }

    /// The tool's own, and not one of the libraries that it needs.
    fn function(&self, name: &CStr) -> Option<*const c_void> {
        let found = self.library.find(name);
        Some(found.cast_const()).filter(|address| self.contains(*address))
    }

    fn contains(&self, address: *const c_void) -> bool {
        self.addresses.contains(&address.addr())
    }
}

/// The addresses of an opened library.
fn addresses(library: Library) -> core::ops::Range<usize> {
    LinkMap::of(library).map_or(0..0, |map| object_of(map.dynamic))
}

/// Open MPI's handles are addresses, which the dynamic linker finds for the tool only in a library that
/// is there for all. One that a program has loaded for itself is made so.
fn make_global() {
    let Some(init) = pmpi::address(FunctionId::MPI_Init as usize) else { return };
    if let Some(object) = locate(init.addr().get()) {
        // SAFETY: the object must stay loaded: it is MPI's library, which tools take to stay.
        open_again(unsafe { object.file() }, libc::RTLD_GLOBAL);
    }
}

extern "C" fn load() {
    stay();
    let place = Place::get();
    if choose(false) {
        return;
    }
    // SAFETY: `to_all_hosts` changes the environment, for which a process must have one thread. It does so in a
    // launcher only, where constructors run before it starts threads.
    unsafe { to_all_hosts() };
    if is_on("MPI_TOOL_HELP") && launched_rank().unwrap_or(0) == 0 {
        let folder = place.folder.display();
        say(format_args!(
            "{}\nThis is a universal build: it opens the build of the tool for the MPI of the program, from the\n\
             folders mpich, openmpi and standard in {folder}.",
            help(&place.tool, env!("CARGO_PKG_VERSION"))
        ));
    }
}

extern "C" fn unload() {
    after_all(unloaded);
}

/// The end of a process that has called no MPI: says why that may be, where it is strange.
extern "C" fn unloaded(_: c_int, _: *mut c_void) {
    let tool = &Place::get().tool;
    if !CHOSEN.load(Acquire)
        && launched_rank().unwrap_or(0) == 0
        && let Some(why) = why_nothing_was_seen()
        && !is_silent(tool)
    {
        say(format_args!("{tool}: saw no MPI call in this process: {why}"));
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;
#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOAD: extern "C" fn() = unload;
