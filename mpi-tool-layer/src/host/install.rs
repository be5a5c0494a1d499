//! From a layer to a tool: what `install_pmpi_layer!` needs at run time, and the macro.
//!
//! Only a `cdylib` itself can export functions, so whatever the dynamic linker must see expands in the tool's crate. It
//! is kept small there, since each tool compiles it anew:
//!
//! * the 700 functions `MPI_X`, each of which calls its body in `entry.rs`, and the entry points for Fortran;
//! * the static instance of the layer, its [`Level`](super::level::Level), and the table of its next functions;
//! * a constructor, which the dynamic linker calls when it has loaded the tool. It has the tool take its place among
//!   the others (`neighbours.rs`) and fills the table. A call that comes before, from another library's constructor,
//!   runs it first;
//! * a destructor, which reports for a process that ends without `MPI_Finalize`, and `_exit` (`ends.rs`);
//! * `mpi_tool_info`, by which tools of this framework find each other, and the note by which `mpi-tool` knows the
//!   file (`note.rs`).
//!
//! With `call_sites`, the exported functions first note down where their caller's stack is (`kit/site/caller.rs`).
//! With `install_qmpi_layer!`, the tool also has what the hosts of stacks ask for (`qmpi/`).

pub use crate::arch::{Answer, Registers};
pub use crate::fortran;
pub use crate::host::ends::{Exit, after_all};
pub use crate::host::entry::{self, Preloaded};
pub use crate::host::forward::to_all_hosts;
pub use crate::host::launcher::launched_rank;
pub use crate::host::level::{Level, LevelRequest};
pub use crate::host::lifecycle::Below;
pub use crate::host::linker;
pub use crate::host::neighbours::{
    ToolInfo, fill_late_pmpi, find_late_mpi, object_of, stay, unseen_functions,
};
pub use crate::host::options::{help, is_on, is_silent};
pub use crate::host::output::say;
pub use crate::host::panics::name_panics;
pub use crate::host::slot::{Host, HostSlot, find_next};
pub use crate::host::unseen::why_nothing_was_seen;
pub use crate::host::world::{abi, wrong_abi};
pub use crate::kit::site::SKIPS_CALLERS;
pub use crate::table::{missing, missing_address};

/// A string with its NUL.
pub const fn c_string<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let mut index = 0;
    while index < text.len() {
        bytes[index] = text.as_bytes()[index];
        index += 1;
    }
    bytes
}

/// Makes a PMPI tool of a layer: exports every MPI function, so that `LD_PRELOAD` puts the tool between a
/// program and any MPI of the ABI that the crate is built for. What the MPI of a process lacks is taken
/// from the exports there.
///
/// To be used once, in a crate of type `cdylib`. The tool's version is the crate's, and so is its
/// name, unless one is given: `install_pmpi_layer!(Layer, name = "my-tool")`.
///
/// A layer that asks for [call sites](crate::Site) says so:
/// `install_pmpi_layer!(Layer, name = "my-tool", call_sites)`, with the feature `call-sites` of this
/// crate. Each exported function has four more instructions then. With `optional_call_sites`, it has six, or two where
/// the tool [does without](crate::Caller::skip_caller_capture) them. With `optional_call_sites, notes = STATIC`, functions
/// of messages look into the static instead, and [note messages down](crate::NotesMessages) there themselves if it says so.
///
/// A tool with a [fast path](crate::FastPath) names it last: `fast_path = Fast`.
#[macro_export]
macro_rules! install_pmpi_layer {
    ($($tool:tt)*) => {
        $crate::__install_as! { [] $($tool)* }
    };
}

/// Makes a tool of a layer that serves in three roles, whichever a process gives it: preloaded, as a
/// PMPI tool (all that [`install_pmpi_layer!`] does); listed in `TOOLS` or a stack file of this
/// framework's `libqmpi.so`, or in `TOOLS` of TUM's, as a level of their stacks. In a stack each
/// level has a layer of its own, also where the same tool is listed twice.
///
/// Used as [`install_pmpi_layer!`] is, in its place.
#[macro_export]
macro_rules! install_qmpi_layer {
    ($($tool:tt)*) => {
        $crate::__install_as! { [__qmpi] $($tool)* }
    };
}

/// What an author may say of a tool, as what the framework makes of it.
#[doc(hidden)]
#[macro_export]
macro_rules! __install_as {
    ([$($more:ident)?] $layer:ty) => {
        $crate::__install_as! { [$($more)?] $layer, name = env!("CARGO_PKG_NAME") }
    };
    ([$($more:ident)?] $layer:ty, name = $name:expr $(, fast_path = $fast:ty)?) => {
        $crate::__install! { $layer, $name, [$($fast)?], __export, $($more)? }
    };
    ([$($more:ident)?] $layer:ty, name = $name:expr, call_sites $(, fast_path = $fast:ty)?) => {
        $crate::__install! { $layer, $name, [$($fast)?], __export_noting_caller, $($more)? }
    };
    ([$($more:ident)?] $layer:ty, name = $name:expr, optional_call_sites $(, fast_path = $fast:ty)?) => {
        $crate::__install! { $layer, $name, [$($fast)?], __export_optionally_noting_caller, $($more)? }
    };
    (
        [$($more:ident)?] $layer:ty, name = $name:expr, optional_call_sites, notes = $notes:path
        $(, fast_path = $fast:ty)?
    ) => {
        const _: () = {
            $crate::__notes! { $layer, $notes }
            $crate::__install! { $layer, $name, [$($fast)?], __export_noting_messages, $($more)? }
        };
    };
}

/// A tool's fast path.
#[doc(hidden)]
#[macro_export]
macro_rules! __fast_path {
    () => {
        $crate::NoFastPath
    };
    ($fast:ty) => {
        $fast
    };
}

/// What both kinds of tools have; `$more` names a macro that adds to it.
#[doc(hidden)]
#[macro_export]
macro_rules! __install {
    ($layer:ty, $name:expr, [$($fast:ty)?], $export:ident, $($more:ident)?) => {
        // In a block, so that nothing of it is in the way of the tool's own names; and with full
        // paths, so that nothing of it hides the layer's name.
        #[allow(non_upper_case_globals, clippy::missing_safety_doc)]
        const _: () = {
            #[allow(unused_imports)]
            use $crate::mpi_sys::prototypes::*;
            use $crate::qmpi::{Address, Instance, Place};

            const NAME: &str = $name;
            static C_NAME: [u8; NAME.len() + 1] = $crate::install::c_string(NAME);

            static PRELOADED: Instance<$layer> = Instance {
                layer: <$layer as $crate::Tool>::NEW,
                below: &BELOW,
                level: &LEVEL,
            };
            static BELOW: $crate::install::Below = $crate::install::Below::new(&LEVEL, &NEXT);
            static LEVEL: $crate::install::Level = $crate::install::Level::new(
                &PRELOADED.layer,
                NAME,
                env!("CARGO_PKG_VERSION"),
                &INFO,
            );
            static ENTRIES: [Address; $crate::FunctionId::COUNT] =
                $crate::install::entry::all::<$layer>();
            // SAFETY: any thread must be able to call `signalled`, which looks at no pointer.
            static INFO: $crate::install::ToolInfo = unsafe {
                $crate::install::ToolInfo::new(
                    match ::core::ffi::CStr::from_bytes_with_nul(&C_NAME) {
                        Ok(name) => name,
                        Err(_) => panic!("a tool's name has no NUL"),
                    },
                    signalled,
                    ::core::ptr::null(),
                )
            };
            // For the other tools, which look it up. This tool must not: the first one's comes
            // before its own.
            #[unsafe(no_mangle)]
            static mpi_tool_info: &$crate::install::ToolInfo = &INFO;

            extern "C" fn signalled(signal: c_int, _: *const c_void) {
                LEVEL.signalled(signal);
                $crate::qmpi::signalled_levels(signal);
            }
            extern "C" fn load() {
                $crate::install::name_panics(&LEVEL, &ENTRIES);
                LEVEL.load(&NEXT);
                $crate::install::stay();
            }
            extern "C" fn unload() {
                $crate::install::after_all(unloaded);
            }
            extern "C" fn unloaded(_: c_int, _: *mut c_void) {
                $crate::qmpi::unload_levels();
                LEVEL.unload();
            }
            #[used]
            #[unsafe(link_section = ".init_array")]
            static LOAD: extern "C" fn() = load;
            #[used]
            #[unsafe(link_section = ".fini_array")]
            static UNLOAD: extern "C" fn() = unload;

            $crate::__exit_functions! { INFO }
            $crate::__pmpi_table! {}
            $crate::__next_table! {}
            $crate::__preloaded! { $layer, $crate::__fast_path!($($fast)?) }
            $crate::mpi_sys::mpi_functions! { [$crate::__exports] $export }
            $crate::mpi_sys::fortran_entries! { [$crate::__fortran_entries] [__fortran_function] }
            $crate::__fortran! {}
            $($crate::$more! { $layer })?
            $crate::__note! { NAME $($more)? }
        };
    };
}

/// The tool's table of next functions. It starts with pieces of code that fill it, for calls that other
/// libraries' constructors make before the tool's, and for MPI that is loaded later than the tool.
#[doc(hidden)]
#[macro_export]
macro_rules! __next_table {
    () => {
        /// For each function some code, which says where it is.
        #[unsafe(naked)]
        unsafe extern "C" fn early_calls() {
            $crate::__early_calls! { $crate::FunctionId::COUNT, early }
        }

        // SAFETY: an entry of the table must have its function's prototype. Each of these is code
        // that leaves arguments and stack alone, and jumps on to the function of its place in the list,
        // whatever that takes.
        static NEXT: $crate::NextTable = unsafe {
            use ::core::sync::atomic::AtomicPtr;
            let mut functions =
                [const { AtomicPtr::new(::core::ptr::null_mut()) }; $crate::FunctionId::COUNT];
            let mut index = 0;
            while index < functions.len() {
                let code = (early_calls as *const c_void)
                    .wrapping_byte_add($crate::arch::EARLY_CALL * index);
                functions[index] = AtomicPtr::new(code.cast_mut());
                index += 1;
            }
            $crate::NextTable::new(functions)
        };

        #[unsafe(naked)]
        unsafe extern "C" fn early() {
            $crate::__ask_first! { ask_early }
        }

        extern "C" fn ask_early(_: usize, inside: usize) -> $crate::install::Answer {
            let index = (inside - (early_calls as *const c_void).addr()) / $crate::arch::EARLY_CALL;
            // The code is there for each function of the list.
            let function = $crate::FunctionId::from_index(index).unwrap();
            let next = if LEVEL.has_mpi(&NEXT) {
                NEXT.entry(function)
            } else {
                $crate::install::missing_address(function)
            };
            $crate::install::Answer { next, result: $crate::mpi_sys::MPI_ERR_INTERN }
        }
    };
}

/// What the bodies of the exported functions are generic over.
#[doc(hidden)]
#[macro_export]
macro_rules! __preloaded {
    ($layer:ty, $fast:ty) => {
        /// For each function a jump to the next one.
        #[unsafe(naked)]
        unsafe extern "C" fn go_on() {
            $crate::__go_on! { $crate::FunctionId::COUNT, NEXT }
        }

        static PLACES: [Place; $crate::FunctionId::COUNT] = {
            const PLACE: Place =
                Place { next: ::core::ptr::null(), instance: (&raw const PRELOADED).cast() };
            let mut places = [PLACE; $crate::FunctionId::COUNT];
            let mut index = 0;
            while index < places.len() {
                places[index].next =
                    (go_on as *const c_void).wrapping_byte_add($crate::arch::GO_ON * index);
                index += 1;
            }
            places
        };

        struct Here;

        impl $crate::install::Preloaded for Here {
            type Layer = $layer;
            type FastPath = $fast;
            #[inline(always)]
            fn instance() -> &'static Instance<$layer> {
                &PRELOADED
            }
            #[inline(always)]
            fn next() -> &'static $crate::NextTable {
                &NEXT
            }
            #[inline(always)]
            fn below() -> &'static $crate::install::Below {
                &BELOW
            }
            #[inline(always)]
            fn places() -> &'static [Place; $crate::FunctionId::COUNT] {
                &PLACES
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __exports {
    // It depends on what a function is about.
    ([__export_noting_messages] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        $($crate::__export_noting_messages! { $class $c_name $name ($($arg: $ty),*) -> $ret })*
    };
    ([$export:ident] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        $($crate::$export! { $c_name $name ($($arg: $ty),*) -> $ret })*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    // Variadic, which Rust cannot define: a few instructions of assembly save the registers that
    // arguments may be in, ask the layer, and jump to the next function as if nothing had been.
    (MPI_Pcontrol $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        #[unsafe(export_name = "MPI_Pcontrol")]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            $crate::__ask_first! { $crate::install::entry::exported::$name::<Here> }
        }
    };
    ($c_name:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        #[unsafe(export_name = stringify!($c_name))]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
            // SAFETY: it wants what the MPI standard asks of the function's caller, who has called this.
            unsafe { $crate::install::entry::exported::$name::<Here>($($arg),*) }
        }
    };
}
