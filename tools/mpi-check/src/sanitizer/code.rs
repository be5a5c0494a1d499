//! Places in code as addresses, as the runtime has them. An access of MPI's is one by a function of MPI's, called at the place of
//! the program's call. So the runtime's own report shows both, and by both addresses this tool knows its own accesses again.

use core::ffi::{CStr, c_int, c_void};
use core::slice;
use std::ffi::CString;
use std::fs;
use std::sync::{Mutex, PoisonError};

use mpi_tool_layer::{FunctionId, Site};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSymbol as _};
use rustc_hash::FxHashMap;

use super::runtime::address_of;
use crate::places::{self, Mark};

/// Where a call is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin {
    /// In this process.
    Here(Site),
    /// In another one, of this rank, if that is one of the first that have called there.
    Rank(Option<u32>, Mark),
}

/// How many ranks are told apart that call at one place.
const RANKS: usize = 8;

/// A call of MPI's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) function: FunctionId,
    pub(super) origin: Origin,
    /// The thread that has made it, as the system knows it; 0 if there was more than one.
    pub(super) thread: u64,
}

#[derive(Default)]
struct Calls {
    /// By the addresses of the function and of the call.
    all: FxHashMap<[usize; 2], Known>,
    functions: FxHashMap<FunctionId, usize>,
    sites: FxHashMap<u32, usize>,
    marks: FxHashMap<(u64, u64), usize>,
    /// The ranks that have called a function at a place.
    ranks: FxHashMap<(FunctionId, u64, u64), Vec<u32>>,
}

static CALLS: Mutex<Option<Calls>> = Mutex::new(None);

/// The addresses of a function of MPI's, and of a call of it.
pub(super) fn of(function: FunctionId, site: Site) -> [usize; 2] {
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    let calls = calls.get_or_insert_default();
    let caller = *calls.sites.entry(site.number()).or_insert_with(|| address_of_site(site));
    // Return addresses are behind a call.
    let address = calls.address_of(function) + 1;
    calls.note([address, caller], function, Origin::Here(site))
}

/// The same of a call of another process. The function's address is another one for each rank, as all may make the same call.
pub(super) fn of_other(function: FunctionId, mark: Mark, rank: u32) -> [usize; 2] {
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    let calls = calls.get_or_insert_default();
    let place = (mark.module, mark.offset);
    let caller = *calls.marks.entry(place).or_insert_with(|| {
        let found = objects().into_iter().find(|object| mark.is_in(&object.path));
        found.map_or(0, |object| object.bias.wrapping_add(mark.offset as usize) + 1)
    });
    let ranks = calls.ranks.entry((function, place.0, place.1)).or_default();
    if ranks.len() < RANKS && !ranks.contains(&rank) {
        ranks.push(rank);
    }
    let known = ranks.iter().position(|one| *one == rank);
    let address = calls.address_of(function) + 2 + known.unwrap_or(RANKS);
    calls.note([address, caller], function, Origin::Rank(known.map(|_| rank), mark))
}

impl Calls {
    fn address_of(&mut self, function: FunctionId) -> usize {
        *self.functions.entry(function).or_insert_with(|| {
            let name = CString::new(function.name()).unwrap_or_default();
            address_of(&name).map_or(0, |address| address.addr())
        })
    }

    fn note(&mut self, code: [usize; 2], function: FunctionId, origin: Origin) -> [usize; 2] {
        // SAFETY: it takes nothing and only tells something.
        let thread = unsafe { libc::gettid() } as u64;
        let known = self.all.entry(code).or_insert(Known { function, origin, thread });
        if known.thread != thread {
            known.thread = 0;
        }
        code
    }
}

/// The call of MPI's whose addresses these are, if it is one.
pub(super) fn known(code: [usize; 2]) -> Option<Known> {
    let calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    calls.as_ref()?.all.get(&code).copied()
}

/// The return address of a call; 0 if it is not known.
fn address_of_site(site: Site) -> usize {
    let Some(place) = places::place_of(site) else { return 0 };
    let found = objects().into_iter().find(|object| object.path == place.file());
    found.map_or(0, |object| object.bias.wrapping_add(place.offset() as usize) + 1)
}

/// A file that is loaded.
pub(super) struct Loaded {
    pub(super) path: String,
    /// What is added to addresses in the file.
    pub(super) bias: usize,
    begin: usize,
    end: usize,
}

impl Loaded {
    /// Its first byte.
    pub(super) fn begin(&self) -> usize {
        self.begin
    }

    /// Was it compiled with the sanitizer? Only what such code does is known well enough to be told.
    pub(super) fn is_watched(&self) -> bool {
        self.uses(b"__tsan_func_entry")
    }

    /// Does it use a function of another file?
    fn uses(&self, function: &[u8]) -> bool {
        let Ok(contents) = fs::read(&self.path) else { return false };
        let Ok(object) = ElfFile64::<object::Endianness>::parse(&*contents) else { return false };
        object.dynamic_symbols().any(|symbol| {
            symbol.is_undefined() && symbol.name_bytes().is_ok_and(|it| it == function)
        })
    }
}

/// The file that an address is in.
pub(super) fn object_of(address: usize) -> Option<Loaded> {
    objects().into_iter().find(|object| (object.begin..object.end).contains(&address))
}

/// Is a function of MPI's called anywhere but in MPI's own libraries, which pass on what others call?
pub(super) fn is_called(function: FunctionId) -> bool {
    let is_of_mpi = |object: &Loaded| {
        let name = object.path.rsplit('/').next().unwrap_or("");
        ["libmpi", "libpmpi", "libmpich"].iter().any(|start| name.starts_with(start))
    };
    let name = function.name().as_bytes();
    objects().iter().any(|object| !is_of_mpi(object) && object.uses(name))
}

/// How many files are loaded.
pub(super) fn loaded() -> usize {
    objects().len()
}

/// Where the runtime's library begins.
pub(super) fn runtime_begin() -> Option<usize> {
    let address = address_of(c"__tsan_create_fiber")?;
    Some(object_of(address.addr())?.begin)
}

/// Is an address in a function that frees memory? To the runtime, that writes to it.
pub(super) fn frees(address: usize) -> bool {
    let mut info = libc::Dl_info {
        dli_fname: core::ptr::null(),
        dli_fbase: core::ptr::null_mut(),
        dli_sname: core::ptr::null(),
        dli_saddr: core::ptr::null_mut(),
    };
    let code = core::ptr::without_provenance::<c_void>(address);
    // SAFETY: `dladdr` takes any address, and writes to the place, which is this function's.
    if unsafe { libc::dladdr(code, &mut info) } == 0 || info.dli_sname.is_null() {
        return false;
    }
    // SAFETY: the name is a C string of the loaded file's.
    let name = unsafe { CStr::from_ptr(info.dli_sname) }.to_bytes();
    [&b"free"[..], b"realloc", b"__interceptor_free"].contains(&name) || name.starts_with(b"_Zd")
}

/// Is a library with this in its file's name loaded?
pub(super) fn has_library(name: &str) -> bool {
    objects()
        .iter()
        .any(|object| object.path.rsplit('/').next().is_some_and(|it| it.contains(name)))
}

/// All files that are loaded.
fn objects() -> Vec<Loaded> {
    let mut all: Vec<Loaded> = Vec::new();
    let data = core::ptr::from_mut(&mut all).cast::<c_void>();
    // SAFETY: `note` takes what it is called with here, and the vector, which is there until this returns.
    unsafe { libc::dl_iterate_phdr(Some(note), data) };
    all
}

unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker calls this with a description that is there until it returns, and with the vector of `objects`,
    // which nobody else uses meanwhile.
    let (info, all) = unsafe { (&*info, &mut *data.cast::<Vec<Loaded>>()) };
    if info.dlpi_phdr.is_null() || info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: the linker has so many of them there.
    let segments = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    // SAFETY: the name is a C string.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy();
    let path = match &*name {
        // The program itself is the first one, and has no name.
        "" if all.is_empty() => fs::read_link("/proc/self/exe")
            .map_or_else(|_| String::new(), |path| path.to_string_lossy().into_owned()),
        name => name.to_owned(),
    };
    let bias = info.dlpi_addr as usize;
    let loaded = segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD);
    let range = loaded.fold(None, |range: Option<(u64, u64)>, segment| {
        let (begin, end) = (segment.p_vaddr, segment.p_vaddr.saturating_add(segment.p_memsz));
        Some(range.map_or((begin, end), |known| (known.0.min(begin), known.1.max(end))))
    });
    if let Some((begin, end)) = range {
        let at = |address: u64| bias.wrapping_add(address as usize);
        all.push(Loaded { path, bias, begin: at(begin), end: at(end) });
    }
    0
}
