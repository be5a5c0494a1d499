//! A tool in the QMPI of MPICH, where that is on: the preloaded tool registers itself by its name,
//! if `MPIR_CVAR_QMPI_TOOL_LIST` has it.
//!
//! MPICH then calls the tool's functions with `(context, tool id)` in front of MPI's arguments, in
//! the order of its list. The tool's exported functions must not see the same calls: they are
//! turned into jumps to what is next. And `PMPI_X` would enter MPICH's stack again, so what the
//! tool itself calls goes to the library's end of it.
//!
//! What happens, in this order:
//!
//! 1. The tool's constructor registers it, if its name is listed ([`register`]). The numbers of functions change with
//!    every version of MPICH, so they are read from the header that belongs to the library ([`read_numbers`]).
//! 2. MPICH calls back, once for each time that the name is listed, with the number of the new level. The level registers
//!    a function for each MPI function that this MPICH has.
//! 3. At its first call, when all tools have registered, a level asks for the next level's functions, and keeps the
//!    answers.
//!
//! A tool that is listed and cannot take part registers all the same and does nothing there, since MPICH crashes
//! otherwise. It says so, and works as a preloaded tool.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{
    AtomicI32, AtomicPtr, AtomicU32,
    Ordering::{Relaxed, Release},
};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

use mpi_sys::{MPI_SUCCESS, pmpi};

use super::foreign::{ForeignLevel, ForeignTool, mpi};
use super::thunk::{self, FromMpich, Thunks, ToMpich};
use crate::arch::{self, weak_addresses};
use crate::host::launcher::launched_rank;
use crate::host::linker::{Scope, clear_message, find, here, locate, open_again};
use crate::host::output::say;
use crate::{FunctionId, NextTable};

const LIST: &str = "MPIR_CVAR_QMPI_TOOL_LIST";
/// The same, and other names that MPICH gives its variables.
const LISTS: [&str; 3] = [LIST, "MPIR_PARAM_QMPI_TOOL_LIST", "MPICH_QMPI_TOOL_LIST"];

/// Where MPICH's headers are, if they are not where its library says.
const INCLUDE: &str = "QMPI_MPICH_INCLUDE";

/// The numbers that the MPICH of this process gives to the functions, -1 where it has none: see [`read_numbers`].
static NUMBERS: OnceLock<[c_int; FunctionId::COUNT]> = OnceLock::new();

weak_addresses! {
    "mpi_tool_mpich": "QMPI_Register_tool_name" "QMPI_Register_function" "QMPI_Get_function"
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
    NUMBERS.get().map(|numbers| numbers[function as usize]).filter(|number| *number >= 0)
}

/// Reads the numbers from the header of this very MPICH: they change with its every version, 4.0.3 has other ones
/// than 4.0.2.
fn read_numbers() -> Result<[c_int; FunctionId::COUNT], String> {
    let folders = include_folders();
    let Some((folder, numbers)) = folders.iter().find_map(|folder| {
        let text = fs::read(folder.join("mpi_proto.h")).ok()?;
        Some((folder, numbers_in(&String::from_utf8_lossy(&text))?))
    }) else {
        let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        return Err(format!(
            "the numbers of its functions are in MPICH's mpi_proto.h, which is not in {}; {INCLUDE} can name the \
             folder",
            folders.join(", ")
        ));
    };
    let header = fs::read(folder.join("mpi.h")).unwrap_or_default();
    let header = String::from_utf8_lossy(&header);
    let version = |line: &str| {
        let version =
            line.trim().strip_prefix("#define")?.trim_start().strip_prefix("MPICH_VERSION")?;
        Some(version.trim().trim_matches('"').to_owned())
    };
    let version = header.lines().find_map(version).unwrap_or_default();
    let library = library_version();
    let theirs = library.split_once("MPICH Version:").map_or("", |(_, rest)| rest.trim_start());
    let theirs = theirs.split_whitespace().next().unwrap_or("");
    if version != theirs {
        let folder = folder.display();
        return Err(format!(
            "this is MPICH {theirs}, and the header in {folder} is of MPICH {version}"
        ));
    }
    Ok(numbers)
}

/// The folders in which the headers of the MPICH of this process may be, by where its library is.
fn include_folders() -> Vec<PathBuf> {
    if let Some(folder) = env::var_os(INCLUDE).filter(|folder| !folder.is_empty()) {
        return vec![folder.into()];
    }
    let Some(library) = library_file() else { return Vec::new() };
    // The file itself, and what links to it: either may be beside the headers.
    let files = [Some(library.clone()), fs::canonicalize(&library).ok()];
    let mut folders = Vec::new();
    for file in files.into_iter().flatten() {
        let mut above = file.ancestors().skip(1);
        let (Some(libraries), Some(prefix)) = (above.next(), above.next()) else { continue };
        // PREFIX/lib/libmpi.so, and PREFIX/lib/ARCHITECTURE/libmpich.so as Debian has it.
        let mut add = |folder: PathBuf| {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        };
        add(prefix.join("include"));
        add(prefix.join("include/mpich"));
        if let (Some(architecture), Some(prefix)) = (libraries.file_name(), above.next()) {
            let include = prefix.join("include").join(architecture);
            add(include.join("mpich"));
            add(include);
        }
    }
    folders
}

/// The numbers in a header's text: the names of an enumeration are counted from 0.
fn numbers_in(header: &str) -> Option<[c_int; FunctionId::COUNT]> {
    let (_, names) = header.split_once("enum QMPI_Functions_enum {")?;
    let (names, _) = names.split_once('}')?;
    let mut numbers = [-1; FunctionId::COUNT];
    for (number, name) in
        names.split(',').map(str::trim).filter(|name| !name.is_empty()).enumerate()
    {
        // A value of its own, or anything else that is no name, and the numbers are not what they seem.
        if !name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            return None;
        }
        if let Some(function) = FunctionId::all().find(|function| {
            name.strip_suffix("_T").is_some_and(|name| name.eq_ignore_ascii_case(function.name()))
        }) {
            numbers[function as usize] = c_int::try_from(number).ok()?;
        }
    }
    Some(numbers)
}

/// The file that MPI's functions are in.
fn library_file() -> Option<PathBuf> {
    let init = LIBRARY_INIT.load(Relaxed);
    let library = locate(init.addr())?;
    // SAFETY: the object must stay loaded: it is MPI's library, which tools take to stay.
    let name = unsafe { library.file() };
    Some(Path::new(OsStr::from_bytes(name.to_bytes())).to_owned())
}

/// `PMPI_Init` of the library, before [`go_below`] puts something else in its place.
static LIBRARY_INIT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Registers a tool that the user has listed. False if it stays a PMPI tool.
///
/// Runs in the tool's constructor, when its table is filled.
pub fn register(name: &'static CStr, init: extern "C" fn(c_int), next: &NextTable) -> bool {
    let Some(register_tool) = MPICH.register_tool else { return false };
    // Also a tool that is not listed makes calls, which those that are shall not see. Where none is, there is nothing to look
    // up, which would take half a millisecond.
    if !LISTS.iter().any(|list| std::env::var_os(list).is_some_and(|list| !list.is_empty())) {
        return false;
    }
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
                "{name}: {why}, so {LIST} has no effect on it: it runs as a PMPI tool"
            ));
        }
    };
    // The answer says whether QMPI is on. A tool that is listed and does not register crashes
    // MPICH, so one that cannot take part registers, too, and then does nothing.
    // SAFETY: MPICH's function of this name wants a C string and a function to call with the tool's number, and may
    // keep both: the name is `'static`, and the function of this tool.
    if unsafe { register_tool(name.as_ptr(), init) } != MPI_SUCCESS {
        complain("this MPICH was built without QMPI");
        return false;
    }
    let numbers = match read_numbers() {
        Ok(numbers) => numbers,
        Err(why) => {
            complain(&why);
            return false;
        }
    };
    if let Err(error) = thunk::can_be_made().and_then(|()| step_aside(next)) {
        complain(&format!("its functions cannot step aside ({error})"));
        return false;
    }
    // From here on the tool is one of MPICH's stack.
    NUMBERS.get_or_init(|| numbers);
    true
}

/// What the library says of itself, by its end of the stack: the rest of it is not there yet.
fn library_version() -> String {
    type Function = unsafe extern "C" fn(*mut c_void, c_int, *mut c_char, *mut c_int) -> c_int;
    let mut text = [0 as c_char; 16 * 1024];
    let mut length = 0;
    // SAFETY: what has the name of MPICH's function is one, and has this prototype: a null context and the library's
    // number 0 in front of MPI's arguments. There is room for more than `MPI_MAX_LIBRARY_VERSION_STRING`, and it ends
    // with NUL.
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

/// A tool in MPICH's stack.
pub struct MpichTool(pub &'static ForeignTool);

impl MpichTool {
    /// Makes the level of a number and registers its functions, in MPICH's call of the function that [`register`]
    /// gave it.
    pub fn start(&self, id: c_int) {
        let Some(register) = MPICH.register_function.filter(|_| NUMBERS.get().is_some()) else {
            return;
        };
        let level = MpichLevel::make(self.0, id);
        for (function, address) in level {
            // SAFETY: MPICH's function wants a number that it has given to a tool, one that its header has for a
            // function, and a function that takes context and number in front of that one's arguments, which the
            // thunks of `make` do.
            unsafe { register(id, function, address) };
        }
    }
}

/// What MPICH must say of a level before its first call, when all tools have registered.
#[repr(C)]
struct MpichLevel {
    /// 1 when the next functions are known.
    ready: AtomicU32,
    id: c_int,
    next: Vec<(c_int, &'static ToMpich)>,
}

impl MpichLevel {
    /// Makes a level and returns the functions that MPICH shall call, by its numbers.
    fn make(tool: &'static ForeignTool, id: c_int) -> Vec<(c_int, *const c_void)> {
        let mut next = Vec::new();
        let level =
            ForeignLevel::new(tool, usize::try_from(id).unwrap_or(0), |function, thunks| {
                let to = Box::leak(Box::new(ToMpich {
                    function: AtomicPtr::new(ptr::null_mut()),
                    id: AtomicI32::new(0),
                    mpi: mpi(function),
                }));
                next.push((number(function)?, &*to));
                Some(thunks.towards(to, arch::to_mpich))
            });
        let this: &'static Self =
            Box::leak(Box::new(MpichLevel { ready: AtomicU32::new(0), id, next }));
        let arrivals = || -> std::io::Result<Vec<_>> {
            let mut thunks = Thunks::room(FunctionId::COUNT)?;
            let mut arrivals = Vec::new();
            for function in FunctionId::all() {
                let Some(number) = number(function) else { continue };
                let from = Box::leak(Box::new(FromMpich {
                    place: level.place(function),
                    entry: tool.entries[function as usize].0,
                    on_stack: (thunk::parameters(function) + 2).saturating_sub(arch::ARGUMENTS),
                    level: &raw const this.ready,
                    complete: Self::complete,
                }));
                arrivals.push((number, thunks.towards(from, arch::from_mpich)));
            }
            thunks.done()?;
            Ok(arrivals)
        };
        // Without functions of its own the level is not in the way of the others'.
        arrivals().unwrap_or_default()
    }

    /// Asks MPICH what is next, for all functions. It forgets that when MPI ends, and does not know it before all
    /// tools have registered.
    ///
    /// # Safety
    /// `ready` is the field of a [`MpichLevel`] that [`make`](Self::make) has made.
    unsafe extern "C" fn complete(ready: *const AtomicU32) {
        // SAFETY: the caller passes the first field of such a structure, which has C's layout, so it is the
        // structure's address; `make` has leaked it, and all that is written there later is atomic.
        let level = unsafe { &*ready.cast::<Self>() };
        let Some(get) = MPICH.get_function else { return };
        for (number, next) in &level.next {
            let (mut found, mut id) = (ptr::null(), 0);
            // SAFETY: MPICH's function wants a tool's number and a function's, which it has given and its header has,
            // and writes one address and one `int`, for which there is room.
            if unsafe { get(level.id, *number, &mut found, &mut id) } == MPI_SUCCESS {
                next.id.store(id, Relaxed);
                next.function.store(found.cast_mut(), Release);
            }
        }
        level.ready.store(1, Release);
    }
}

/// Turns the tool's exported functions into jumps to the next ones: they stay in the way of the
/// application's calls, and do nothing.
///
/// The code is changed in a copy, which then takes the place of the original.
fn step_aside(next: &NextTable) -> Result<(), std::io::Error> {
    let failed = || Err(std::io::Error::last_os_error());
    // SAFETY: reads need mapped code, and what replaces code must do the same for those who run it. The addresses are
    // of functions of this very object, whole pages of which are replaced by a copy that differs in their first
    // instructions. This runs in a constructor: no other thread is in these functions, and this one is not either.
    unsafe {
        let Some(own) = locate(here().addr()) else { return failed() };
        let scope = open_again(own.file(), 0).map_or(Scope::Default, Scope::Library);
        let exported: Vec<(usize, FunctionId)> = FunctionId::all()
            .filter_map(|function| {
                let address = find(scope, function.c_name());
                let is_own = locate(address.addr()).is_some_and(|found| found.base() == own.base());
                is_own.then_some((address as usize, function))
            })
            .collect();
        clear_message();
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
            let Some(jump) = arch::jump_at(address, next.slot(function) as usize) else {
                return Err(std::io::ErrorKind::Unsupported.into());
            };
            let code = copy.cast::<u8>().add(address - start);
            ptr::copy_nonoverlapping(jump.as_ptr(), code, jump.len());
        }
        arch::code_is_written(copy.cast(), size);
        let moved = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        if libc::mprotect(copy, size, readable | executable) != 0
            || libc::mremap(copy, size, size, moved, start as *mut c_void) == libc::MAP_FAILED
        {
            return failed();
        }
        arch::code_is_written(start as *const u8, size);
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
    LIBRARY_INIT.store(init.as_ptr(), Relaxed);
    let Ok(mut thunks) = Thunks::room(FunctionId::COUNT) else { return };
    let mut adapters = Vec::new();
    // SAFETY: `file` wants an object that stays loaded, which MPI's library does. `replace` wants functions of the same
    // prototypes that do what the library's do: the adapters pass their arguments to what has the name `QMPI_X` in MPI's
    // library, which is MPICH's end of its stack for this function.
    unsafe {
        let Some(library) = locate(init.addr().get()) else { return };
        let Some(library) = open_again(library.file(), 0) else { return };
        for function in FunctionId::all() {
            let name = CString::new(format!("Q{function}")).unwrap_or_default();
            let below = library.find(&name);
            if below.is_null() || function == FunctionId::MPI_Pcontrol {
                continue;
            }
            BOTTOM[function as usize].store(below, Relaxed);
            let bottom = ToMpich {
                function: AtomicPtr::new(below),
                id: AtomicI32::new(0),
                mpi: mpi(function),
            };
            adapters.push((function, thunks.towards(Box::leak(Box::new(bottom)), arch::to_mpich)));
        }
        if thunks.done().is_ok() {
            for (function, adapter) in adapters {
                pmpi::replace(function as usize, adapter.cast_mut());
            }
        }
        clear_message();
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! __qmpi_mpich {
    () => {
        static MPICH: $crate::qmpi::MpichTool = $crate::qmpi::MpichTool(&FOREIGN);

        extern "C" fn start_in_mpich(id: c_int) {
            MPICH.start(id);
        }
        extern "C" fn register_with_mpich() {
            LEVEL.load(&NEXT);
            let name = match ::core::ffi::CStr::from_bytes_with_nul(&C_NAME) {
                Ok(name) => name,
                Err(_) => return,
            };
            if $crate::qmpi::register(name, start_in_mpich, &NEXT) {
                LEVEL.silence();
            }
        }
        #[used]
        #[unsafe(link_section = ".init_array")]
        static REGISTER: extern "C" fn() = register_with_mpich;
    };
}

#[cfg(test)]
mod tests {
    use super::numbers_in;
    use crate::FunctionId;

    /// As MPICH 4.3.2's header begins, shortened; the numbers are by C's rule for enumerations.
    #[test]
    fn numbers_are_positions_in_the_enumeration() {
        let header = "struct x;\nenum QMPI_Functions_enum {\n    MPIX_ASYNC_START_T,\n    MPI_COMM_RANK_T,\n    \
            MPI_SEND_C_T,\n    MPI_LAST_FUNC_T\n};\n";
        let numbers = numbers_in(header).expect("an enumeration");
        assert_eq!(numbers[FunctionId::MPI_Comm_rank as usize], 1);
        assert_eq!(numbers[FunctionId::MPI_Send_c as usize], 2);
        assert_eq!(numbers[FunctionId::MPI_Send as usize], -1);
        assert_eq!(numbers.iter().filter(|number| **number >= 0).count(), 2);
        assert!(numbers_in("enum QMPI_Functions_enum { MPI_SEND_T = 7 }").is_none());
        assert!(numbers_in("no enumeration").is_none());
    }
}
