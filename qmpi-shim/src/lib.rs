//! `libqmpi.so`: runs a stack of QMPI tools, as a replacement for the library of TUM's QMPI.
//!
//! Preloaded or linked, it exports every function of the MPI that it is built for. At the first
//! call it loads the tools that `TOOLS` or `QMPI_STACK` asks for and composes, for each function,
//! the levels that see it: tools of this framework by a few instructions that are made for each
//! level, tools for TUM's QMPI by TUM's structures. `docs/stacks.md` explains the use of it.
#![allow(non_upper_case_globals, non_snake_case, reason = "names that C tools know")]

mod code;
mod config;
mod depth;
mod elf;
mod foreign;
mod pmpi;
mod stack;
mod template;
mod tools;
mod tum;

use core::cell::Cell;
use core::ffi::c_void;
use core::fmt;
use core::sync::atomic::{
    AtomicBool, AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Instant;

use mpi_tool_layer::install::{
    ToolInfo, find_late_mpi, find_next, is_on, launched_rank, linker, missing, wrong_abi,
};
use mpi_tool_layer::mpi_sys::{ABI, mpi_functions, prototypes::*};
use mpi_tool_layer::{FunctionId, NextFunctions, NextTable};

use config::{OnError, Problem};

macro_rules! table {
    ([$(#[$doc:meta])* $table:ident $ready:ident]
        $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        $(#[$doc])*
        // SAFETY: `new` wants functions in the order of their numbers, each of its own prototype: they are made
        // from the list's lines, in its order.
        static $table: NextTable = unsafe {
            NextTable::new([$({
                #[cold]
                unsafe extern "C-unwind" fn early($($arg: $ty),*) -> $ret {
                    // SAFETY: the function of the table, or the one that stands for it, has this prototype and
                    // is as MPI's. Its arguments are the caller's, passed on once.
                    unsafe {
                        match LEVEL.$ready() {
                            Some(table) => NextFunctions::$name(table, $($arg),*),
                            None => missing::$name($($arg),*),
                        }
                    }
                }
                AtomicPtr::new(early as *const c_void as *mut c_void)
            }),*])
        };
    };
}
mpi_functions! { [table] /// What the application calls. It starts with functions that make the stack.
TOP stack }
mpi_functions! { [table] /// What is below all levels.
BOTTOM below }

macro_rules! exports {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        $(
            const _: () = {
                #[unsafe(export_name = stringify!($c_name))]
                #[unsafe(naked)]
                unsafe extern "C" fn function() {
                    mpi_tool_layer::__jump_through! {
                        TOP, FunctionId::$c_name as usize * size_of::<usize>()
                    }
                }
            };
        )*
    };
}
mpi_functions! { [exports] }
mpi_tool_layer::mpi_sys::fortran_entries! { [mpi_tool_layer::__fortran_entries] [__fortran_slot TOP] }
mpi_tool_layer::__fortran! {}

/// What is known of this process.
struct Shim {
    loaded: Once,
    has_mpi: AtomicBool,
    /// The stack is there.
    composed: AtomicBool,
    composing: Mutex<()>,
}

static LEVEL: Shim = Shim {
    loaded: Once::new(),
    has_mpi: AtomicBool::new(false),
    composed: AtomicBool::new(false),
    composing: Mutex::new(()),
};

static INFO: ToolInfo = ToolInfo::host();
/// For the tools of the process, which look it up.
#[unsafe(no_mangle)]
static mpi_tool_info: &ToolInfo = &INFO;
mpi_tool_layer::__exit_functions! { INFO }
const NAME: &str = "qmpi";
mpi_tool_layer::__note! { NAME host }

pub(crate) fn say(line: fmt::Arguments<'_>) {
    mpi_tool_layer::install::say(format_args!("libqmpi: {line}"));
}

impl Shim {
    fn load(&self) {
        self.loaded.call_once(|| {
            self.has_mpi.store(INFO.take_place(&BOTTOM), Release);
            fill_below();
            if (is_on("QMPI_HELP") || is_on("MPI_TOOL_HELP")) && launched_rank().unwrap_or(0) == 0 {
                mpi_tool_layer::install::say(format_args!("{HELP}"));
            }
        });
    }

    fn find_mpi(&self) -> bool {
        self.load();
        if !self.has_mpi.load(Acquire) && find_late_mpi(&BOTTOM) {
            self.has_mpi.store(true, Release);
            fill_below();
        }
        self.has_mpi.load(Acquire)
    }

    /// For calls that find [`BOTTOM`] as it was at first.
    fn below(&self) -> Option<&'static NextTable> {
        self.find_mpi().then_some(&BOTTOM)
    }

    /// For the first calls: makes the stack, if this process has an MPI.
    fn stack(&self) -> Option<&'static NextTable> {
        std::thread_local! {
            static COMPOSING: Cell<bool> = const { Cell::new(false) };
        }
        if !self.find_mpi() {
            return None;
        }
        // A tool's constructor that calls MPI is not above itself.
        if COMPOSING.get() {
            return Some(&BOTTOM);
        }
        let _one = self.composing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.composed.load(Acquire) {
            COMPOSING.set(true);
            compose();
            COMPOSING.set(false);
            self.composed.store(true, Release);
        }
        Some(&TOP)
    }
}

/// Makes the stack, or ends the process.
fn compose() {
    let start = Instant::now();
    let (mut wanted, mut problems) = config::wanted();
    let on_error = config::on_error().unwrap_or_else(|value| {
        say(format_args!(
            "QMPI_ON_ERROR={}: neither stop nor skip (stop is used instead)",
            value.to_string_lossy()
        ));
        OnError::Stop
    });
    let rank = launched_rank().unwrap_or(0);
    if let Some(abi) = wrong_abi().filter(|_| !wanted.is_empty()) {
        wanted.clear();
        let what = format!(
            "this libqmpi.so was built for the {} ABI, but the MPI of this program has the {} ABI; \
             use a build for this MPI",
            ABI.name(),
            abi.name()
        );
        problems.push(Problem { level: None, path: PathBuf::new(), what });
    }
    let levels = tools::load(wanted, rank, &mut problems);
    problems.sort_by_key(|problem| problem.level);
    for problem in &problems {
        say(format_args!("{problem}"));
    }
    if !problems.is_empty() {
        match on_error {
            OnError::Stop => stop(),
            OnError::Skip => say(format_args!("going on without it (QMPI_ON_ERROR=skip)")),
        }
    }
    let count = levels.len();
    // SAFETY: `BOTTOM` has been filled; calls wait for this one.
    let composed = unsafe { stack::compose(levels, &BOTTOM, &TOP, &INFO, is_on("QMPI_KEEP")) };
    let composed = match composed {
        Ok(composed) => composed,
        Err(error) => {
            say(format_args!("no memory for a stack of {count} levels: {error}"));
            if on_error == OnError::Stop {
                stop();
            }
            return TOP.copy(&BOTTOM);
        }
    };
    if is_on("QMPI_VERBOSE") && rank == 0 {
        let each = composed.bytes / count.max(1);
        say(format_args!(
            "{count} levels, {} bytes ({each} a level), made in {:.1} ms",
            composed.bytes,
            start.elapsed().as_secs_f64() * 1e3
        ));
        for line in composed.lines {
            say(format_args!("{line}"));
        }
    }
}

/// Ends the process before MPI is started, so that a run without some of its tools is no surprise
/// at its end.
fn stop() -> ! {
    say(format_args!("stopping (set QMPI_ON_ERROR=skip to go on without it)"));
    std::process::exit(1);
}

/// Fills what the exported `QMPI_X` jump to. MPICH has functions of these names, and where it was
/// built with its own QMPI, it calls them: there they are MPICH's.
fn fill_below() {
    for (id, function) in tum::functions() {
        let name = function.c_name().to_bytes_with_nul();
        let name = CString::from_vec_with_nul([b"Q", name].concat()).unwrap_or_default();
        let theirs = find_next(&name);
        let below = match function {
            _ if !theirs.is_null() => theirs.cast_const(),
            FunctionId::MPI_Pcontrol => tum::pcontrol_below as *const c_void,
            FunctionId::MPI_Wtime => tum::wtime_below as *const c_void,
            FunctionId::MPI_Wtick => tum::wtick_below as *const c_void,
            _ => BOTTOM.entry(function),
        };
        tum::BELOW[id].store(below.cast_mut(), Relaxed);
    }
    // Most MPIs have no function of such a name.
    linker::clear_message();
}

extern "C" fn load() {
    LEVEL.load();
    mpi_tool_layer::install::stay();
}
#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;

const HELP: &str = concat!(
    "libqmpi ",
    env!("CARGO_PKG_VERSION"),
    ": runs a stack of QMPI tools; preload it with LD_PRELOAD into the ranks of an MPI program.

It understands these variables of the environment:
  TOOLS          the tools, a.so:b.so; the first one sees a call first
  QMPI_STACK     instead of TOOLS: a file that lists the tools, with options for each (docs/stacks.md)
  QMPI_ON_ERROR  what happens when a tool cannot be loaded: stop (default) or skip
  QMPI_VERBOSE   1: say what was loaded, and how much memory it takes
  QMPI_KEEP      1: keep also levels that do nothing for a function (to measure)
  QMPI_HELP      1: print this
"
);
