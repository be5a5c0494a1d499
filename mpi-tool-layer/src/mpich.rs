//! A tool in the QMPI of MPICH, where that is on: the preloaded tool registers itself by its name,
//! if `MPIR_CVAR_QMPI_TOOL_LIST` has it.
//!
//! MPICH then calls the tool's functions with `(context, tool id)` in front of MPI's arguments, in
//! the order of its list. The tool's exported functions must not see the same calls: they are
//! turned into jumps to what is next. And `PMPI_X` would enter MPICH's stack again, so what the
//! tool itself calls goes to the library's end of it.

use core::arch::global_asm;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{PoisonError, RwLock};

use mpi_sys::{mpi_functions, pmpi, *};

use crate::launcher::launched_rank;
use crate::output::say;
use crate::qmpi::Address;
use crate::{FunctionId, NextFunctions, NextTable};

include!(concat!(env!("OUT_DIR"), "/mpich_qmpi.rs"));

const LIST: &str = "MPIR_CVAR_QMPI_TOOL_LIST";

global_asm! {
    ".pushsection .data.mpi_tool_mpich, \"aw\", @progbits",
    ".balign 8",
    ".hidden mpi_tool_mpich",
    ".globl mpi_tool_mpich",
    "mpi_tool_mpich:",
    ".weak QMPI_Register_tool_name",
    ".quad QMPI_Register_tool_name",
    ".weak QMPI_Register_function",
    ".quad QMPI_Register_function",
    ".weak QMPI_Get_function",
    ".quad QMPI_Get_function",
    ".popsection",
}

/// MPICH's functions; null elsewhere.
#[repr(C)]
struct Functions {
    register_tool: Option<unsafe extern "C" fn(*const c_char, extern "C" fn(c_int)) -> c_int>,
    register_function: Option<unsafe extern "C" fn(c_int, c_int, *const c_void) -> c_int>,
    get_function:
        Option<unsafe extern "C" fn(c_int, c_int, *mut *const c_void, *mut c_int) -> c_int>,
}

unsafe extern "C" {
    // Defined above, with this layout, and relocated before any code runs.
    #[link_name = "mpi_tool_mpich"]
    safe static MPICH: Functions;
}

/// MPICH's number of a function, where its QMPI has it.
fn number(function: FunctionId) -> Option<c_int> {
    let name = function.name().to_ascii_uppercase() + "_T";
    let index = NAMES.iter().position(|known| *known == name)?;
    c_int::try_from(index).ok()
}

/// Registers a tool that the user has listed. False if it stays a PMPI tool.
///
/// Runs in the tool's constructor, when its table is filled.
pub fn register(name: &'static CStr, init: extern "C" fn(c_int), next: &NextTable) -> bool {
    let Some(register_tool) = MPICH.register_tool else { return false };
    // Also a tool that is not listed makes calls, which those that are shall not see.
    go_below();
    let listed = std::env::var(LIST)
        .is_ok_and(|list| list.split(':').any(|listed| listed.as_bytes() == name.to_bytes()));
    if !listed {
        return false;
    }
    let complain = |why: &str| {
        if launched_rank().unwrap_or(0) == 0 {
            let name = name.to_string_lossy();
            say(format_args!(
                "{name}: {why}, so {LIST} does not concern it: it is a PMPI tool here"
            ));
        }
    };
    // The answer says whether QMPI is on. A tool that is listed and does not register crashes
    // MPICH, so one that cannot take part registers, too, and then does nothing.
    // SAFETY: MPICH's function of this name, and a C string.
    if unsafe { register_tool(name.as_ptr(), init) } != MPI_SUCCESS {
        complain("this MPICH was built without QMPI");
        return false;
    }
    let version = library_version();
    let theirs = version.split_once("MPICH Version:").map_or("", |(_, rest)| rest.trim_start());
    if VERSION.is_empty() || theirs.split_whitespace().next() != Some(VERSION) {
        complain("it was built with the header of another MPICH");
        return false;
    }
    if let Err(error) = step_aside(next) {
        complain(&format!("its functions cannot step aside ({error})"));
        return false;
    }
    TAKES_PART.store(true, Release);
    true
}

/// The tool is one of MPICH's stack.
static TAKES_PART: AtomicBool = AtomicBool::new(false);

/// What the library says of itself, by its end of the stack: the rest of it is not there yet.
fn library_version() -> String {
    type Function = unsafe extern "C" fn(*mut c_void, c_int, *mut c_char, *mut c_int) -> c_int;
    let mut text = [0 as c_char; 16 * 1024];
    let mut length = 0;
    // SAFETY: MPICH's function of this name; there is room for more than
    // `MPI_MAX_LIBRARY_VERSION_STRING`, and it ends with NUL.
    unsafe {
        let function = BOTTOM[FunctionId::MPI_Get_library_version as usize].load(Relaxed);
        if function.is_null() {
            return String::new();
        }
        let function: Function = core::mem::transmute(function);
        function(ptr::null_mut(), 0, text.as_mut_ptr(), &mut length);
        CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
    }
}

/// Registers a tool's functions, in MPICH's call of the function that [`register`] gave it.
pub fn start(id: c_int, entries: &'static [Address; FunctionId::COUNT]) {
    let Some(register) = MPICH.register_function.filter(|_| TAKES_PART.load(Acquire)) else {
        return;
    };
    for function in FunctionId::all() {
        if let Some(number) = number(function) {
            let Address(entry) = entries[function as usize];
            // SAFETY: MPICH's function; the entry has its prototype.
            unsafe { register(id, number, entry) };
        }
    }
}

/// Turns the tool's exported functions into jumps to the next ones: they stay in the way of the
/// application's calls, and do nothing.
///
/// The code is changed in a copy, which then takes the place of the original.
fn step_aside(next: &NextTable) -> Result<(), std::io::Error> {
    let failed = || Err(std::io::Error::last_os_error());
    // SAFETY: looks up the functions of this very object, and replaces whole pages of its code by a
    // copy that differs in their first instructions. This runs in a constructor: no other thread
    // is in these functions, and this one is not either.
    unsafe {
        let mut own: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr((&raw const MPICH).cast(), &mut own) == 0 {
            return failed();
        }
        let handle = libc::dlopen(own.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let exported: Vec<(usize, FunctionId)> = FunctionId::all()
            .filter_map(|function| {
                let address = libc::dlsym(handle, function.c_name().as_ptr());
                let mut of: libc::Dl_info = core::mem::zeroed();
                let is_own = libc::dladdr(address, &mut of) != 0 && of.dli_fbase == own.dli_fbase;
                is_own.then_some((address as usize, function))
            })
            .collect();
        libc::dlerror();
        let (Some(first), Some(last)) = (exported.iter().min(), exported.iter().max()) else {
            return Err(std::io::ErrorKind::NotFound.into());
        };
        let start = first.0 & !0xfff;
        let size = (last.0 + 16).next_multiple_of(4096) - start;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let (readable, writable, executable) = (libc::PROT_READ, libc::PROT_WRITE, libc::PROT_EXEC);
        let copy = libc::mmap(ptr::null_mut(), size, readable | writable, flags, -1, 0);
        if copy == libc::MAP_FAILED {
            return failed();
        }
        ptr::copy_nonoverlapping(start as *const u8, copy.cast::<u8>(), size);
        for (address, function) in exported {
            // jmp [rip + distance], six bytes; the shortest of these functions has nine.
            let slot = next.slot(function) as usize;
            let Ok(distance) = i32::try_from(slot.wrapping_sub(address + 6).cast_signed()) else {
                return Err(std::io::ErrorKind::Unsupported.into());
            };
            let code = copy.cast::<u8>().add(address - start);
            ptr::copy_nonoverlapping([0xff, 0x25].as_ptr(), code, 2);
            ptr::copy_nonoverlapping(distance.to_le_bytes().as_ptr(), code.add(2), 4);
        }
        let moved = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        if libc::mprotect(copy, size, readable | executable) != 0
            || libc::mremap(copy, size, size, moved, start as *mut c_void) == libc::MAP_FAILED
        {
            return failed();
        }
    }
    Ok(())
}

/// The library's end of MPICH's stack, by function.
static BOTTOM: [AtomicPtr<c_void>; FunctionId::COUNT] =
    [const { AtomicPtr::new(ptr::null_mut()) }; FunctionId::COUNT];

/// From here on the tool's own calls go there, if this MPICH has its functions: nothing else knows
/// `QMPI_X` in the MPI library itself (a `libqmpi.so` in front of it has other functions of these
/// names).
fn go_below() {
    let Some(init) = pmpi::address(FunctionId::MPI_Init as usize) else { return };
    // SAFETY: looks for names in the object that has MPI's functions; what has such a name there is
    // MPICH's function of this kind. The adapters have the prototypes, and call those.
    unsafe {
        let mut library: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(init.as_ptr(), &mut library) == 0 {
            return;
        }
        let handle = libc::dlopen(library.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            libc::dlerror();
            return;
        }
        for function in FunctionId::all() {
            let name = CString::new(format!("Q{function}")).unwrap_or_default();
            let below = libc::dlsym(handle, name.as_ptr());
            if below.is_null() || function == FunctionId::MPI_Pcontrol {
                continue;
            }
            BOTTOM[function as usize].store(below, Relaxed);
            pmpi::replace(function as usize, ADAPTERS[function as usize].0.cast_mut());
        }
        // Clears the message of those that are not there.
        libc::dlerror();
    }
}

/// What comes after a tool of the stack, by function: null if it is not known.
struct Next([(*const c_void, c_int); FunctionId::COUNT]);

// SAFETY: addresses of code, which is the same for all threads, and numbers.
unsafe impl Sync for Next {}
// SAFETY: as above.
unsafe impl Send for Next {}

/// By the tool's number: the first ones are found at once, the others in a map, so that no two tools
/// share what is next.
const TOOLS: usize = 1024;
static NEXT: [AtomicPtr<Next>; TOOLS] = [const { AtomicPtr::new(ptr::null_mut()) }; TOOLS];
static FURTHER: RwLock<BTreeMap<c_int, &'static Next>> = RwLock::new(BTreeMap::new());

/// The functions below a tool of MPICH's stack.
#[derive(Clone, Copy)]
pub struct MpichBelow {
    /// The tool's number.
    pub id: c_int,
}

impl MpichBelow {
    fn next(&self, function: FunctionId) -> Option<(*const c_void, c_int)> {
        let place = NEXT.get(self.id as usize);
        // SAFETY: null, or made below, and never freed.
        let next = match place.and_then(|place| unsafe { place.load(Acquire).as_ref() }) {
            Some(next) => next,
            None => self.find_or_make(place),
        };
        let (address, id) = next.0[function as usize];
        (!address.is_null()).then_some((address, id))
    }

    #[cold]
    fn find_or_make(&self, place: Option<&AtomicPtr<Next>>) -> &'static Next {
        let Some(place) = place else {
            let known =
                FURTHER.read().unwrap_or_else(PoisonError::into_inner).get(&self.id).copied();
            return known.unwrap_or_else(|| {
                let new = Box::leak(Box::new(self.look_up()));
                let mut further = FURTHER.write().unwrap_or_else(PoisonError::into_inner);
                further.entry(self.id).or_insert(new)
            });
        };
        let new = Box::into_raw(Box::new(self.look_up()));
        let next = match place.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire) {
            Ok(_) => new,
            Err(theirs) => theirs,
        };
        // SAFETY: made above or by another thread, and never freed.
        unsafe { &*next }
    }

    /// Finds all that comes after the tool. MPICH forgets it when MPI ends.
    #[cold]
    fn look_up(&self) -> Next {
        let mut next = Next([(ptr::null(), 0); FunctionId::COUNT]);
        for (function, place) in FunctionId::all().zip(&mut next.0) {
            let (mut found, mut id) = (ptr::null(), 0);
            if let (Some(get), Some(number)) = (MPICH.get_function, number(function)) {
                // SAFETY: MPICH's function.
                let result = unsafe { get(self.id, number, &mut found, &mut id) };
                if result == MPI_SUCCESS {
                    *place = (found, id);
                }
            }
        }
        next
    }
}

macro_rules! below {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        impl NextFunctions for MpichBelow {
            fn available(&self, function: FunctionId) -> bool {
                pmpi::available(function as usize)
            }

            $(
                unsafe fn $name(&self, $($arg: $ty),*) -> $ret {
                    // SAFETY: the function of this name, with what MPICH's have in front of MPI's
                    // arguments; these are the caller's affair.
                    unsafe {
                        if let Some((next, id)) = self.next(FunctionId::$c_name) {
                            type Function =
                                unsafe extern "C" fn(*mut c_void, c_int, $($ty),*) -> $ret;
                            let next: Function = core::mem::transmute(next);
                            next(ptr::null_mut(), id, $($arg),*)
                        } else if pmpi::available(FunctionId::$c_name as usize) {
                            pmpi::$c_name($($arg),*)
                        } else {
                            crate::table::missing::$name($($arg),*)
                        }
                    }
                }
            )*
        }

        /// Functions of MPI's prototype that call the library's end of the stack.
        static ADAPTERS: [Address; FunctionId::COUNT] = [$({
            unsafe extern "C" fn adapter($($arg: $ty),*) -> $ret {
                type Function = unsafe extern "C" fn(*mut c_void, c_int, $($ty),*) -> $ret;
                // SAFETY: `go_below` put the function there before it put this in use.
                unsafe {
                    let below = BOTTOM[FunctionId::$c_name as usize].load(Relaxed);
                    core::mem::transmute::<*mut c_void, Function>(below)(ptr::null_mut(), 0, $($arg),*)
                }
            }
            Address(adapter as *const c_void)
        }),*];
    };
}
mpi_functions! { [below] }

#[doc(hidden)]
#[macro_export]
macro_rules! __qmpi_mpich {
    ([$layer:ty] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        static MPICH: $crate::qmpi::TumLevels<$layer> = $crate::qmpi::TumLevels::new();

        static MPICH_ENTRIES: [Address; $crate::FunctionId::COUNT] = [$({
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn entry(_: *mut c_void, id: c_int, $($arg: $ty),*) -> $ret {
                use $crate::{NextFunctions as _, RawMpiInterceptionLayer as _};
                let instance = MPICH.get(id, &LEVEL);
                let below = $crate::mpich::MpichBelow { id };
                // SAFETY: for the layer that unwraps it.
                let next = |$($arg: $ty),*| unsafe { below.$name($($arg),*) };
                $crate::install::boundary(
                    || instance.layer.$name($crate::UnsafeBox::new(next, &below), $($arg),*),
                    |panic| instance.level.panicked($crate::FunctionId::$c_name, panic),
                )
            }
            Address(entry as *const c_void)
        }),*];

        extern "C" fn start_in_mpich(id: c_int) {
            $crate::mpich::start(id, &MPICH_ENTRIES);
        }
        extern "C" fn register_with_mpich() {
            LEVEL.load(&NEXT);
            let name = match ::core::ffi::CStr::from_bytes_with_nul(&C_NAME) {
                Ok(name) => name,
                Err(_) => return,
            };
            if $crate::mpich::register(name, start_in_mpich, &NEXT) {
                LEVEL.silence();
            }
        }
        #[used]
        #[unsafe(link_section = ".init_array")]
        static REGISTER: extern "C" fn() = register_with_mpich;
    };
}
