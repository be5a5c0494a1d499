//! The programs and libraries of this process, as the dynamic linker has loaded them.
//!
//! `dl_iterate_phdr` visits them, under the dynamic linker's lock, so none is unloaded meanwhile. What is read are the
//! parts of the ELF format that the dynamic linker itself has read before, to load the object: program headers, the
//! dynamic section, symbols and relocations. So they are where the headers say, and have the form that the format
//! demands. Section headers are not loaded, and not used.
//!
//! Two things are changed, both in memory only and never in a file: symbols that a tool exports and MPI lacks are
//! [hidden](Object::hide) from later look-ups, and references that were bound to such a symbol are [bound
//! again](Object::rebind).

mod symbols;
#[cfg(feature = "call-sites")]
mod unwinding;

use crate::arch;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::collections::BTreeSet;
use std::ffi::CString;

pub(crate) use symbols::{Filter, hash_of};

use symbols::SymbolTable;

/// A loaded program or library.
pub(crate) struct Object<'a>(&'a libc::dl_phdr_info);

impl Object<'_> {
    /// The path that it was loaded from; empty of the program itself.
    pub(crate) fn path(&self) -> &CStr {
        if self.0.dlpi_name.is_null() {
            return c"";
        }
        // SAFETY: `dlpi_name` is not null, as was checked, and `dl_iterate_phdr` gives a C string. It lives
        // as long as the object, which cannot be unloaded while it is visited: the dynamic linker holds its
        // lock until then.
        unsafe { CStr::from_ptr(self.0.dlpi_name) }
    }

    /// The name of its file; nothing if it is no text.
    fn file_name(&self) -> &str {
        let path = self.path().to_str().unwrap_or("");
        path.rsplit('/').next().unwrap_or(path)
    }

    /// Is it MPI's library, of whichever MPI, by its file's name?
    pub(crate) fn is_mpi_library(&self) -> bool {
        mpi_facts::is_mpi_library(self.file_name())
    }

    /// Is it MPI's own code, by its file's name: the library, or a part that it loads?
    #[cfg(feature = "call-sites")]
    pub(crate) fn is_mpi_code(&self) -> bool {
        self.is_mpi_library() || mpi_facts::is_mpi_plugin(self.file_name())
    }

    /// Is it a library by which Fortran calls MPI, by its file's name?
    pub(crate) fn is_fortran_library(&self) -> bool {
        mpi_facts::is_fortran_library(self.file_name())
    }

    /// The program headers: which parts of the file are where in memory, and what they are for.
    fn headers(&self) -> &[libc::Elf64_Phdr] {
        // SAFETY: `dl_iterate_phdr` gives the address of the object's program headers, which are `dlpi_phnum`
        // and are never written. They are there as long as the object, which is not unloaded while it is
        // visited.
        unsafe { core::slice::from_raw_parts(self.0.dlpi_phdr, self.0.dlpi_phnum.into()) }
    }

    /// The entries of the dynamic section: tag and value.
    fn dynamic(&self) -> impl Iterator<Item = [u64; 2]> {
        const DT_NULL: u64 = 0;
        let dynamic = self.headers().iter().find(|header| header.p_type == libc::PT_DYNAMIC);
        let entries = dynamic.map(|header| (self.0.dlpi_addr + header.p_vaddr) as *const [u64; 2]);
        (0..).map_while(move |index| {
            // SAFETY: a read needs an entry of the dynamic section. The header says where that is in this
            // loaded object; an entry is two words, and an entry of `DT_NULL` ends them, behind which this
            // does not read.
            let entry = unsafe { *entries?.add(index) };
            (entry[0] != DT_NULL).then_some(entry)
        })
    }

    /// Where a part of the object is that its dynamic section tells of.
    fn part(&self, tag: u64) -> Option<u64> {
        let [_, at] = self.dynamic().find(|entry| entry[0] == tag)?;
        // The dynamic linker has made an address of the offset, but not for every object.
        let base = self.0.dlpi_addr;
        Some(if at < base { base + at } else { at })
    }

    /// The names of the libraries that the object is linked to.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &CStr> {
        const DT_NEEDED: u64 = 1;
        let strings = self.part(DT_STRTAB);
        self.dynamic().filter(|entry| entry[0] == DT_NEEDED).filter_map(move |entry| {
            // SAFETY: a C string must begin there. By the ELF format the value of `DT_NEEDED` is the offset
            // of one in the object's string table, which is loaded with it and stays as long as `self`.
            Some(unsafe { CStr::from_ptr((strings? + entry[1]) as *const c_char) })
        })
    }

    /// Does it export a symbol of this name?
    pub(crate) fn exports(&self, name: &CStr) -> bool {
        self.symbols().is_some_and(|table| table.find(name).is_some())
    }

    /// Where functions are that it has itself: `note` gets the number of each name that its table has, and the address; 0 of
    /// functions of which the object chooses when it is loaded which one they are (`STT_GNU_IFUNC`). `name` gives the names
    /// whose hashes these are, with their NUL.
    pub(crate) fn each_function<'n>(
        &self,
        hashes: &[u32],
        name: impl Fn(usize) -> &'n [u8],
        mut note: impl FnMut(usize, *mut c_void),
    ) {
        const NO_TYPE: u8 = 0;
        const FUNCTION: u8 = 2;
        let Some(table) = self.symbols() else { return };
        for (index, hash) in hashes.iter().enumerate() {
            let Some(symbol) = table.find_hashed(*hash, || name(index)) else { continue };
            // SAFETY: the reads need an entry of the table, which `find_hashed` gives. Nobody writes to it: `hide` takes out
            // functions of tools.
            let (section, info, value) = unsafe {
                let (section, info) = (&raw const (*symbol).st_shndx, &raw const (*symbol).st_info);
                (section.read(), info.read(), (&raw const (*symbol).st_value).read())
            };
            if section != 0 && value != 0 {
                let is_plain = [NO_TYPE, FUNCTION].contains(&(info & 0xf));
                let address = if is_plain { self.0.dlpi_addr + value } else { 0 };
                note(index, ptr::with_exposed_provenance_mut(address as usize));
            }
        }
    }

    /// Has it the table that tells what it exports? Linkers may leave it out (`--hash-style=sysv`).
    pub(crate) fn has_table(&self) -> bool {
        self.symbols().is_some()
    }

    /// Does it export a symbol of this name, or has it no table that tells?
    pub(crate) fn may_export(&self, name: &CStr) -> bool {
        self.symbols().is_none_or(|table| table.find(name).is_some())
    }

    /// Does it have this function itself, and exports it?
    pub(crate) fn defines(&self, name: &CStr) -> bool {
        let Some(symbol) = self.symbols().and_then(|table| table.find(name)) else { return false };
        // A program may export the address by which it calls another object's function: then the symbol has no section.
        // SAFETY: the read needs an entry of the table, which `find` gives. Nobody writes to this field.
        unsafe { (&raw const (*symbol).st_shndx).read() != 0 }
    }

    /// Visits the names of what it exports and has itself, as far as a filter has their hashes. False if the object has no table
    /// that tells.
    pub(crate) fn each_defined(&self, filter: &Filter, visit: impl FnMut(&CStr)) -> bool {
        // The kernel's object of this process has none of a library's functions, and another table in old kernels.
        // SAFETY: `getauxval` takes any number.
        if self.0.dlpi_addr == unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } {
            return true;
        }
        let table = self.symbols();
        table.map(|table| table.each_defined(filter, visit)).is_some()
    }

    /// Visits the names of other objects' symbols that it refers to.
    pub(crate) fn each_import(&self, visit: impl Fn(&CStr)) {
        self.rebind(|name, _| {
            visit(name);
            None
        });
    }

    /// Where the symbol of this name is that it exports.
    pub(crate) fn address_of(&self, name: &CStr) -> Option<*mut c_void> {
        let symbol = self.symbols()?.find(name)?;
        // SAFETY: the read needs an entry of the table, which `find` gives. Nobody writes to it: `hide` takes out
        // functions of MPI.
        let value = unsafe { (&raw const (*symbol).st_value).read() };
        Some(ptr::with_exposed_provenance_mut((self.0.dlpi_addr + value) as usize))
    }

    /// Takes exported symbols out of the object's table, for all that look them up from now on.
    pub(crate) fn hide(&self, names: &BTreeSet<&CStr>) {
        let Some(table) = self.symbols() else { return };
        for symbol in names.iter().filter_map(|name| table.find(name)) {
            // Without a value, a symbol is passed over by look-ups.
            // SAFETY: the pointer must be inside of the table for this. `find` gives entries of it only;
            // nothing is read here.
            self.write(unsafe { &raw mut (*symbol).st_value }, 0);
        }
    }

    /// Has the object's references to other objects' symbols bound to what `target` says of them.
    pub(crate) fn rebind(&self, target: impl Fn(&CStr, Reference) -> Option<usize>) {
        const WEAK: u8 = 2;
        let Some(table) = self.symbols() else { return };
        for (start, bytes) in [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)] {
            let size = self.dynamic().find(|entry| entry[0] == bytes).map_or(0, |entry| entry[1]);
            let Some(start) = self.part(start) else { continue };
            let count = size as usize / size_of::<libc::Elf64_Rela>();
            // The first ones, most often nearly all, name no symbol.
            let relative = self.dynamic().find(|entry| entry[0] == DT_RELACOUNT);
            let relative = relative.filter(|_| bytes == DT_RELASZ).map_or(0, |entry| entry[1]);
            for index in relative as usize..count {
                // SAFETY: the dynamic section says where the relocations are and how many bytes they have,
                // and `index` is below their number. Each names a symbol of the object's table by its number.
                // The dynamic linker has read the same.
                let (slot, (section, info, name)) = unsafe {
                    let relocation = &*(start as *const libc::Elf64_Rela).add(index);
                    let (number, kind) = (relocation.r_info >> 32, relocation.r_info as u32);
                    if number == 0 || !arch::ADDRESSES_OF_SYMBOLS.contains(&kind) {
                        continue;
                    }
                    let slot = (self.0.dlpi_addr + relocation.r_offset) as *mut u64;
                    (slot, table.symbol(number as u32))
                };
                if section != 0 {
                    continue;
                }
                if !slot.is_aligned() {
                    continue;
                }
                // SAFETY: the word must be aligned, which was checked, and stay: the dynamic linker fills it,
                // and it is of this loaded object. Other threads may bind it at this moment, with aligned
                // writes of a word, so the read is atomic.
                let bound = unsafe { AtomicU64::from_ptr(slot) }.load(Relaxed) as usize;
                let reference = Reference { is_weak: info >> 4 == WEAK, bound };
                if let Some(target) = target(name, reference) {
                    self.write(slot, target as u64);
                }
            }
        }
    }

    /// Writes a word of the object, also where it is read-only. Others may read it meanwhile. Where the
    /// system forbids that, all is as it was.
    fn write(&self, word: *mut u64, value: u64) {
        // SAFETY: `sysconf` takes any number and touches no memory of the caller's.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let start = word.addr() / page * page;
        let inside = |header: &&libc::Elf64_Phdr| {
            let from = (self.0.dlpi_addr + header.p_vaddr) as usize;
            let mut to = from + header.p_memsz as usize;
            if header.p_type == libc::PT_GNU_RELRO {
                // The dynamic linker protects whole pages: one with other data behind stays writable.
                to = to / page * page;
            }
            (from..to).contains(&word.addr())
        };
        // In packed data a word may be anywhere, also across two pages: such a one stays as it is.
        if !word.is_aligned() {
            return;
        }
        let segment =
            |kind| self.headers().iter().filter(|header| header.p_type == kind).find(inside);
        let Some(loaded) = segment(libc::PT_LOAD) else { return };
        let mut usual = 0;
        for (flag, access) in [
            (libc::PF_R, libc::PROT_READ),
            (libc::PF_W, libc::PROT_WRITE),
            (libc::PF_X, libc::PROT_EXEC),
        ] {
            usual |= if loaded.p_flags & flag == 0 { 0 } else { access };
        }
        if segment(libc::PT_GNU_RELRO).is_some() {
            usual &= !libc::PROT_WRITE;
        }
        // SAFETY: the page of this word, which stays readable, and executable if it is.
        let protect = |access| unsafe { libc::mprotect(start as *mut c_void, page, access) == 0 };
        let is_writable = usual & libc::PROT_WRITE != 0;
        if is_writable || protect(usual | libc::PROT_WRITE) {
            // SAFETY: aligned, of this object, and writable now.
            unsafe { AtomicU64::from_ptr(word) }.store(value, Relaxed);
            if !is_writable {
                protect(usual);
            }
        }
    }

    fn symbols(&self) -> Option<SymbolTable> {
        let hash = self.part(DT_GNU_HASH)? as *const u32;
        // SAFETY: the dynamic section says where the GNU hash table is; it begins with four words of 32 bits,
        // is aligned to more, and is never written.
        let [buckets, first, bloom, shift] = unsafe { *hash.cast::<[u32; 4]>() };
        Some(SymbolTable {
            // SAFETY: the pointer must stay inside of the table: there are `bloom` words of 64 bits behind the four words.
            bloom: unsafe { hash.add(4) }.cast(),
            blooms: bloom,
            shift,
            symbols: self.part(DT_SYMTAB)? as *mut libc::Elf64_Sym,
            strings: self.part(DT_STRTAB)? as *const c_char,
            // SAFETY: the pointer must stay inside of the table. Behind the four words there are `bloom`
            // words of 64 bits, and behind those the buckets.
            buckets: unsafe { hash.add(4 + 2 * bloom as usize) },
            count: buckets,
            first,
        })
    }

    pub(crate) fn addresses(&self) -> Range<usize> {
        let (mut lowest, mut end) = (usize::MAX, 0);
        for header in self.headers().iter().filter(|header| header.p_type == libc::PT_LOAD) {
            let start = (self.0.dlpi_addr + header.p_vaddr) as usize;
            lowest = lowest.min(start);
            end = end.max(start + header.p_memsz as usize);
        }
        lowest..end
    }
}

/// Code of this process that can be read: the part of a loaded object that was looked at last, which most
/// often has the next address, too.
#[derive(Debug, Default)]
pub struct Code(Range<usize>);

impl Code {
    /// The code from an address to the end of its part of the object; nothing if the address is in no code that
    /// an object was loaded with, or in none that can be read.
    ///
    /// # Safety
    /// If a loaded object has the address, the object is never unloaded.
    pub unsafe fn at(&mut self, address: *const c_void) -> &'static [u8] {
        if !self.0.contains(&address.addr()) {
            self.0 = 0..0;
            each_object(|object| {
                let mut parts = object.headers().iter().filter(|header| {
                    let wanted = libc::PF_R | libc::PF_X;
                    header.p_type == libc::PT_LOAD && header.p_flags & wanted == wanted
                });
                let range = |header: &libc::Elf64_Phdr| {
                    let start = (object.0.dlpi_addr + header.p_vaddr) as usize;
                    start..start + header.p_memsz as usize
                };
                if let Some(part) = parts.find(|part| range(part).contains(&address.addr())) {
                    self.0 = range(part);
                }
            });
        }
        if self.0.is_empty() {
            return &[];
        }
        // SAFETY: the bytes must be readable, never be written, and stay. They are in a part of an object that
        // is loaded to be read and executed, as its header says, up to the end of that part; the caller
        // promises that the object stays. Code is not written to.
        unsafe { core::slice::from_raw_parts(address.cast(), self.0.end - address.addr()) }
    }
}

/// How an object refers to a symbol.
pub(crate) struct Reference {
    /// It may stay null.
    pub(crate) is_weak: bool,
    /// What it is bound to, or code of the object's own that will have it bound.
    pub(crate) bound: usize,
}

/// The path of the object that an address is in, empty of the program itself. `dladdr` would go through all symbols of the
/// object, to find the one that is next.
pub(crate) fn path_of(address: usize) -> Option<CString> {
    let mut found = None;
    each_object(|object| {
        if found.is_none() && object.addresses().contains(&address) {
            found = Some(object.path().to_owned());
        }
    });
    found
}

/// Visits all of them, in the order in which they were loaded.
pub(crate) fn each_object<F: FnMut(Object<'_>)>(mut visit: F) {
    unsafe extern "C" fn one<F: FnMut(Object<'_>)>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: `dl_iterate_phdr` calls this with a valid structure, which stays as it is for the call, and
        // with the pointer that it was given below: to an `F` that nobody else uses meanwhile.
        unsafe { (*visit.cast::<F>())(Object(&*info)) };
        0
    }
    // SAFETY: `dl_iterate_phdr` calls the function only until it returns, with this pointer. `visit` lives
    // longer, and the function takes it for the `F` that it is.
    unsafe { libc::dl_iterate_phdr(Some(one::<F>), (&raw mut visit).cast()) };
}

const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_JMPREL: u64 = 23;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_RELACOUNT: u64 = 0x6fff_fff9;

#[cfg(test)]
mod tests {
    use super::*;

    /// What the dynamic linker finds in an object is in its table, and by the hashes; what it does not, is not.
    #[test]
    fn the_tables_have_what_the_dynamic_linker_finds() {
        let names = [c"malloc", c"MPI_Init", c"qsort", c"no_such_function", c"strtok_r"];
        let hashes = names.map(|name| hash_of(name.to_bytes()));
        // The known one of the format's description.
        assert_eq!(hash_of(b"printf"), 0x156b_2bb8);
        let c_library = path_of(libc::getpid as *const c_void as usize).unwrap();
        let library = crate::host::linker::open_again(&c_library, 0).unwrap();
        let mut seen = 0;
        each_object(|object| {
            if object.path() != &*c_library {
                return;
            }
            seen += 1;
            let (mut noted, mut addresses) = (Vec::new(), Vec::new());
            let filter = Filter::EMPTY.with(&hashes);
            let visit = |name: &CStr| noted.extend(names.iter().position(|known| *known == name));
            assert!(object.each_defined(&filter, visit));
            object.each_function(
                &hashes,
                |index| names[index].to_bytes_with_nul(),
                |index, at| addresses.push((index, at)),
            );
            for (index, name) in names.into_iter().enumerate() {
                let found = library.find(name);
                assert_eq!(noted.contains(&index), !found.is_null(), "{name:?}");
                let address = addresses.iter().find(|(known, _)| *known == index);
                assert_eq!(address.map_or(ptr::null_mut(), |(_, at)| *at), found, "{name:?}");
                assert_eq!(object.defines(name), !found.is_null(), "{name:?}");
                assert_eq!(object.exports(name), !found.is_null(), "{name:?}");
            }
        });
        assert_eq!(seen, 1);
        crate::host::linker::clear_message();
        assert_eq!(path_of(8), None);
    }

    /// A function's code is found to the end of what can be executed, and data is no code.
    #[test]
    fn only_code_is_code() {
        extern "C" fn function() {}
        let mut code = Code::default();
        let data = 0_u64;
        let heap = Box::new(0_u64);
        let known: *const c_void = function as *const c_void;
        for _ in 0..2 {
            // SAFETY: nothing unloads the test, and the other addresses are in no object.
            let [here, on_stack, on_heap, nowhere] = unsafe {
                [
                    code.at(known),
                    code.at((&raw const data).cast()),
                    code.at((&raw const *heap).cast()),
                    code.at(core::ptr::null()),
                ]
            };
            assert_eq!(here.as_ptr().cast(), known);
            assert!([on_stack, on_heap, nowhere].iter().all(|code| code.is_empty()));
            // SAFETY: nothing unloads the test.
            let rest = unsafe { code.at((&raw const here[here.len() - 1]).cast()) };
            assert_eq!(rest.len(), 1);
        }
    }
}
