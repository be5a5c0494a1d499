//! An ordinary PMPI tool as a level, as it was compiled: its `MPI_X` are the level's functions, and what it
//! calls as `PMPI_X` is made to be the next level's.
//!
//! The dynamic linker has put the addresses of `PMPI_X` into the tool's global offset table, as its
//! relocations say. They are replaced there. What other libraries call for the tool is not.

use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;
use core::ptr;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use mpi_tool_layer::FunctionId;
use mpi_tool_layer::install::linker::{self, Library, LinkMap};
use object::LittleEndian as Little;
use object::elf::{self, Dyn64, Rela64, Sym64};

/// A loaded tool.
pub(crate) struct PmpiTool {
    /// Its functions by number, or null.
    functions: Vec<*const c_void>,
    /// Where it keeps the address of a function that it calls.
    slots: Vec<(FunctionId, *mut *const c_void)>,
    /// What the dynamic linker has made read-only.
    read_only: Range<usize>,
}

/// Returns the file that a library was loaded from; `None` where the dynamic linker has no name for it.
pub(crate) fn file_of(library: Library) -> Option<PathBuf> {
    let map = LinkMap::of(library)?;
    Some(PathBuf::from(OsStr::from_bytes(map.file()?.to_bytes())))
}

impl PmpiTool {
    /// Looks at a loaded tool; `None` if it has none of MPI's functions.
    pub(crate) fn of(library: Library) -> Option<Self> {
        let map = LinkMap::of(library)?;
        let own = |function: FunctionId| {
            let address = crate::tools::find(library, function.c_name()).option()?;
            // It may be of a library that the tool needs, such as MPI.
            (crate::depth::loaded_at(address.addr()) == Some(map.base)).then_some(address)
        };
        let functions: Vec<_> =
            FunctionId::all().map(|function| own(function).unwrap_or(ptr::null())).collect();
        if functions.iter().all(|function| function.is_null()) {
            return None;
        }
        Some(Self { functions, slots: slots(map), read_only: read_only(map.base) })
    }

    /// The tool's function, if it has it.
    pub(crate) fn function(&self, function: FunctionId) -> Option<*const c_void> {
        Some(self.functions[function as usize]).filter(|address| !address.is_null())
    }

    /// Does it call nothing that could be the next level's?
    pub(crate) fn is_the_end(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many functions it has.
    pub(crate) fn count(&self) -> usize {
        self.functions.iter().filter(|function| !function.is_null()).count()
    }

    /// Has the tool call what `next` says, by function.
    ///
    /// # Errors
    /// The system does not let its table be written.
    ///
    /// # Safety
    /// `next` has for each function, at its number, a function of its C prototype that does what the MPI
    /// standard says, may be called from now on, and stays as long as the process.
    pub(crate) unsafe fn link(&self, next: &[*const c_void]) -> io::Result<()> {
        let protect = |protection: c_int| {
            let Range { start, end } = self.read_only;
            let start = ptr::without_provenance_mut(start);
            // SAFETY: `mprotect` must take no access away that somebody needs. It gets the whole pages that the
            // dynamic linker made read-only, of this tool's own data: they stay readable, and are read-only in
            // the end.
            if end > 0 && unsafe { libc::mprotect(start, end - start.addr(), protection) } != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        };
        protect(libc::PROT_READ | libc::PROT_WRITE)?;
        for (function, slot) in &self.slots {
            // SAFETY: a place of the tool's that holds such an address; it is aligned, so that others see
            // the old one or the new one.
            unsafe { slot.write_volatile(next[*function as usize]) };
        }
        protect(libc::PROT_READ)
    }
}

/// The places that relocations fill with the addresses of `PMPI_X`.
fn slots(map: &LinkMap) -> Vec<(FunctionId, *mut *const c_void)> {
    let (mut names, mut symbols) = (0, 0);
    // Two tables: addresses and sizes.
    let mut tables = [(0, 0); 2];
    let mut entry: *const Dyn64<Little> = map.dynamic.cast();
    loop {
        // SAFETY: a read needs an entry of the dynamic section. `link_map` has the address of the first, and an
        // entry of `DT_NULL` is the last, behind which this does not go.
        let (tag, value) = unsafe { ((*entry).d_tag.get(Little), (*entry).d_val.get(Little)) };
        let value = value as usize;
        // glibc has added the base, other linkers have not.
        let address = if value < map.base { map.base + value } else { value };
        match tag {
            elf::DT_NULL => break,
            elf::DT_STRTAB => names = address,
            elf::DT_SYMTAB => symbols = address,
            elf::DT_RELA => tables[0].0 = address,
            elf::DT_RELASZ => tables[0].1 = value,
            elf::DT_JMPREL => tables[1].0 = address,
            elf::DT_PLTRELSZ => tables[1].1 = value,
            _ => {}
        }
        entry = entry.wrapping_add(1);
    }
    let mut slots = Vec::new();
    for (table, size) in tables {
        let table = ptr::with_exposed_provenance::<Rela64<Little>>(table);
        for index in 0..size / size_of::<Rela64<Little>>() {
            // SAFETY: the reads need entries of the tables: `index` is below the number that the table's size
            // gives, the relocation names a symbol of the tool's, and that has the offset of a C string. The
            // dynamic linker has read the same.
            let (relocation, name) = unsafe {
                let relocation = &*table.add(index);
                let symbols = ptr::with_exposed_provenance::<Sym64<Little>>(symbols);
                let symbol = &*symbols.add(relocation.r_sym(Little, false) as usize);
                let name = names + symbol.st_name.get(Little) as usize;
                (relocation, CStr::from_ptr(ptr::with_exposed_provenance(name)))
            };
            let kind = relocation.r_type(Little, false);
            let is_address = [elf::R_X86_64_64, elf::R_X86_64_GLOB_DAT, elf::R_X86_64_JUMP_SLOT];
            if !is_address.contains(&kind) || relocation.r_addend.get(Little) != 0 {
                continue;
            }
            let function = name.to_str().ok().and_then(|name| name.strip_prefix('P'));
            if let Some(function) = function.and_then(|name| name.parse().ok()) {
                let slot = map.base + relocation.r_offset.get(Little) as usize;
                slots.push((function, ptr::with_exposed_provenance_mut(slot)));
            }
        }
    }
    slots
}

/// The pages of a loaded library that became read-only after it was linked.
fn read_only(base: usize) -> Range<usize> {
    struct Search {
        base: usize,
        found: Range<usize>,
    }
    extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: `dl_iterate_phdr` gives a valid structure, which stays as it is for the call, and the pointer
        // that it was given below: to a `Search` that nobody else uses meanwhile.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        if info.dlpi_addr as usize != search.base {
            return 0;
        }
        for index in 0..usize::from(info.dlpi_phnum) {
            // SAFETY: the header must be one of the object's: there are `dlpi_phnum`, and `index` is below
            // that.
            let header = unsafe { &*info.dlpi_phdr.add(index) };
            if header.p_type == libc::PT_GNU_RELRO {
                let start = search.base + header.p_vaddr as usize;
                let end = start + header.p_memsz as usize;
                // Rounded as the dynamic linker does.
                search.found = start & !4095..end & !4095;
            }
        }
        1
    }
    let mut search = Search { base, found: 0..0 };
    // SAFETY: `dl_iterate_phdr` calls the function only until it returns, with this pointer: to a `Search`,
    // which lives longer, and which is what the function takes it for.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// Loads a copy of a tool that is there already: with a state and a table of its own.
///
/// # Errors
/// Why there is none, for people.
pub(crate) fn load_copy(loaded: Library) -> Result<Library, String> {
    let copy = || -> io::Result<fs::File> {
        let path = file_of(loaded).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        // SAFETY: `memfd_create` reads a C string. A `File` must own its descriptor: this one is valid, as was
        // checked, new, and nobody else has it.
        let mut file = unsafe {
            let file = libc::memfd_create(c"level".as_ptr(), libc::MFD_CLOEXEC);
            if file < 0 {
                return Err(io::Error::last_os_error());
            }
            fs::File::from_raw_fd(file)
        };
        file.write_all(&fs::read(path)?)?;
        Ok(file)
    };
    let file = copy().map_err(|error| format!("cannot be loaded a second time: {error}"))?;
    let name = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
    linker::open(&name, libc::RTLD_NOW | libc::RTLD_LOCAL)
        .ok_or_else(|| format!("cannot be loaded a second time: {}", linker::message()))
}
