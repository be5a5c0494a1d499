//! Programs and libraries that processes have loaded: tables for unwinding, and names of functions. Each file is read once,
//! however many ranks have it.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, LittleEndian, UnwindSection as _};
use mpi_facts::{FunctionId, is_mpi_plugin, is_part_of_mpi};
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _, ReadCache,
    ReadRef, SymbolKind,
};
use rustix::fs::{major, minor};

use super::maps::Mapping;
use super::memory::Memory;
use super::names;
use crate::elf;
use crate::out::errln;
use crate::words::base;

/// What a file is to somebody who asks where a rank is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// MPI's own code.
    Mpi,
    /// A tool that was preloaded.
    Tool,
    /// The C library, which calls `main` and starts threads.
    Start,
    /// The program, and what it uses.
    Program,
}

/// A part of a section, and where it lies in the file's own addresses.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) addresses: Range<u64>,
    pub(super) bytes: Arc<[u8]>,
}

/// A program or library.
#[derive(Debug)]
pub(super) struct Image {
    /// Where it can be read.
    pub(super) path: String,
    pub(super) build_id: String,
    pub(super) role: Role,
    /// Of which address in the file's own addresses, size, and place in the file.
    segments: Vec<(Range<u64>, u64)>,
    pub(super) frames: Option<Table>,
    pub(super) frames_index: Option<Table>,
    /// The note that tells the file from others.
    identity: Option<Table>,
    entry: u64,
    symbols: Vec<Symbol>,
    code: Code,
    pub(super) python: Option<Python>,
}

/// A file that has Python's interpreter: where things of it are in the file's own addresses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Python {
    /// `_PyRuntime`
    pub(super) runtime: u64,
    /// `Py_Version`, which there is since 3.11.
    pub(super) version: Option<u64>,
}

#[derive(Debug)]
struct Symbol {
    address: u64,
    size: u64,
    name: String,
}

/// Where the instructions can be read.
#[derive(Debug)]
enum Code {
    File(File),
    Bytes(Arc<[u8]>),
}

/// What tells files from each other: device, number, and path.
type Key = ((u32, u32), u64, String);

/// All files that were read.
#[derive(Debug, Default)]
pub(super) struct Images {
    files: HashMap<Key, Option<Arc<Image>>>,
    /// Files that are not known to be those that a process has.
    others: BTreeSet<String>,
    /// The kernel's own, which all processes have.
    kernel: Option<Arc<Image>>,
}

impl Images {
    /// The file of a part of a process's memory. `None` if it cannot be read, or is not the one that the process has.
    pub(super) fn of(
        &mut self,
        pid: u32,
        mapping: &Mapping,
        memory: &Memory,
    ) -> Option<Arc<Image>> {
        if !mapping.path.starts_with('/') {
            return None;
        }
        let key = (mapping.device, mapping.inode, mapping.path.clone());
        if let Some(known) = self.files.get(&key) {
            return known.clone();
        }
        let read = |path: &PathBuf| {
            let role = || role(&mapping.path, path);
            Image::read(path.to_str()?, role)
        };
        let paths = paths_of(pid, mapping);
        let same = paths.iter().find(|path| is_file_of(path, mapping));
        let image = same.and_then(read).or_else(|| {
            // Some file systems tell a process's memory another number than everybody else.
            paths.iter().filter_map(read).find(|image| image.is_in(mapping, memory))
        });
        if image.is_none() && paths.iter().filter_map(read).next().is_some() {
            self.others.insert(mapping.path.clone());
        }
        let image = image.map(Arc::new);
        self.files.insert(key, image.clone());
        image
    }

    /// Says which files were left out.
    pub(super) fn complain(&self) {
        if let Some(first) = self.others.first() {
            let more = match self.others.len() {
                1 => String::new(),
                all => format!(" (and {} more)", all - 1),
            };
            errln!(
                "mpi-tool: {first}{more}: this file is not known to be the one that a process has loaded, and may have been replaced since: its functions are not named, and callers behind them are not known"
            );
        }
    }

    /// What the kernel puts into each process, by its bytes there.
    pub(super) fn of_kernel(&mut self, bytes: impl FnOnce() -> Vec<u8>) -> Option<Arc<Image>> {
        if self.kernel.is_none() {
            let bytes: Arc<[u8]> = bytes().into();
            let code = Code::Bytes(bytes.clone());
            self.kernel = Image::parse(&*bytes, "[vdso]".into(), Role::Program, code).map(Arc::new);
        }
        self.kernel.clone()
    }
}

/// Where the file of a process may be read: under its name, under its name in the container of the process, or, where it has
/// been removed, as the kernel keeps it.
fn paths_of(pid: u32, mapping: &Mapping) -> Vec<PathBuf> {
    let Range { start, end } = mapping.addresses;
    let part = PathBuf::from(format!("/proc/{pid}/map_files/{start:x}-{end:x}"));
    let program = PathBuf::from(format!("/proc/{pid}/exe"));
    let inside = PathBuf::from(format!("/proc/{pid}/root{}", mapping.path));
    let mut paths = vec![PathBuf::from(&mapping.path), inside, part, program];
    if mapping.is_deleted {
        paths.drain(..2);
    }
    paths.retain(|path| path.is_file());
    paths
}

/// Has a file the numbers of the one that a process has?
fn is_file_of(path: &Path, mapping: &Mapping) -> bool {
    fs::metadata(path).is_ok_and(|file| {
        let device = (major(file.dev()), minor(file.dev()));
        (device, file.ino()) == (mapping.device, mapping.inode)
    })
}

fn role(name: &str, path: &Path) -> Role {
    let name = base(name);
    let starts = ["libc.so", "libc-", "libpthread", "ld-linux", "ld-"];
    if is_part_of_mpi(name) || is_mpi_plugin(name) {
        Role::Mpi
    } else if starts.iter().any(|start| name.starts_with(start)) {
        Role::Start
    } else if elf::note(path).is_some() {
        Role::Tool
    } else {
        Role::Program
    }
}

impl Image {
    fn read(path: &str, role: impl FnOnce() -> Role) -> Option<Self> {
        let file = File::open(path).ok()?;
        let data = ReadCache::new(file.try_clone().ok()?);
        Self::parse(&data, path.to_owned(), role(), Code::File(file))
    }

    fn parse<'data, R: ReadRef<'data>>(
        data: R,
        path: String,
        role: Role,
        code: Code,
    ) -> Option<Self> {
        let file = ElfFile64::<Endianness, R>::parse(data).ok()?;
        let segments = file.segments().map(|segment| {
            let (offset, size) = segment.file_range();
            (segment.address()..segment.address().saturating_add(size), offset)
        });
        let table = |name| {
            let section = file.section_by_name(name)?;
            let bytes = section.data().ok().filter(|bytes| !bytes.is_empty())?;
            let start = section.address();
            let addresses = start..start.checked_add(bytes.len() as u64)?;
            Some(Table { addresses, bytes: bytes.into() })
        };
        let mut symbols: Vec<Symbol> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            .filter_map(|symbol| {
                let name = symbol.name().ok().filter(|name| !name.is_empty())?.to_owned();
                Some(Symbol { address: symbol.address(), size: symbol.size(), name })
            })
            .collect();
        // Names without underscores first: those are the ones that people know.
        symbols.sort_by(|one, other| {
            let key = |symbol: &Symbol| {
                let underscores = symbol.name.len() - symbol.name.trim_start_matches('_').len();
                (symbol.address, underscores, symbol.name.len())
            };
            (key(one), &one.name).cmp(&(key(other), &other.name))
        });
        symbols.dedup_by(|one, other| one.address == other.address && one.name == other.name);
        let variable = |name: &str| {
            let mut all = file.dynamic_symbols().chain(file.symbols());
            all.find(|symbol| symbol.is_definition() && symbol.name() == Ok(name))
                .map(|symbol| symbol.address())
        };
        let runtime = variable("_PyRuntime");
        let python = runtime.map(|runtime| Python { runtime, version: variable("Py_Version") });
        let build_id = file.build_id().ok().flatten().unwrap_or_default();
        Some(Self {
            path,
            build_id: build_id.iter().map(|byte| format!("{byte:02x}")).collect(),
            role,
            segments: segments.collect(),
            frames: table(".eh_frame"),
            frames_index: table(".eh_frame_hdr"),
            identity: table(".note.gnu.build-id"),
            entry: file.entry(),
            symbols,
            code,
            python,
        })
    }

    /// With functions of 16 bytes each.
    #[cfg(test)]
    pub(super) fn made_up(path: &str, role: Role, functions: &[(u64, &str)]) -> Self {
        let symbol =
            |&(address, name): &(u64, &str)| Symbol { address, size: 0x10, name: name.into() };
        Self {
            path: path.into(),
            build_id: String::new(),
            role,
            segments: Vec::new(),
            frames: None,
            frames_index: None,
            identity: None,
            entry: 0,
            symbols: functions.iter().map(symbol).collect(),
            code: Code::Bytes(Arc::new([])),
            python: None,
        }
    }

    /// What is to be added to the file's own addresses, for a part of it in memory.
    pub(super) fn base(&self, mapping: &Mapping) -> Option<u64> {
        // The part begins with the page in which a segment does.
        let page = |offset: u64| offset & !0xfff;
        let (addresses, offset) = self.segments.iter().rfind(|(addresses, offset)| {
            let size = addresses.end - addresses.start;
            (page(*offset)..offset.saturating_add(size)).contains(&mapping.offset)
        })?;
        let own = addresses.start.wrapping_sub(*offset).wrapping_add(mapping.offset);
        Some(mapping.addresses.start.wrapping_sub(own))
    }

    /// Is it the file of a part of a process's memory, by the note that is there?
    fn is_in(&self, mapping: &Mapping, memory: &Memory) -> bool {
        let (Some(note), Some(base)) = (&self.identity, self.base(mapping)) else { return false };
        let begin = base.wrapping_add(note.addresses.start);
        memory.read(begin, note.bytes.len() as u64) == *note.bytes
    }

    /// Do tables say how the caller of an address is found?
    pub(super) fn has_frame_table(&self, address: u64) -> bool {
        let Some(frames) = &self.frames else { return false };
        let section = EhFrame::new(&frames.bytes, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(frames.addresses.start);
        let all = || section.fde_for_address(&bases, address, EhFrame::cie_from_offset).map(|_| ());
        let Some(index) = &self.frames_index else { return all().is_ok() };
        let with_index = bases.clone().set_eh_frame_hdr(index.addresses.start);
        let header = EhFrameHdr::new(&index.bytes, LittleEndian).parse(&with_index, 8);
        let found = header.and_then(|header| match header.table() {
            Some(table) => table
                .fde_for_address(&section, &with_index, address, EhFrame::cie_from_offset)
                .map(|_| ()),
            None => all(),
        });
        found.is_ok()
    }

    /// All addresses of the file in memory.
    pub(super) fn extent(&self, base: u64) -> Range<u64> {
        let starts = self.segments.iter().map(|(addresses, _)| addresses.start);
        let ends = self.segments.iter().map(|(addresses, _)| addresses.end);
        let at = |own: Option<u64>| base.wrapping_add(own.unwrap_or(0));
        at(starts.min())..at(ends.max())
    }

    /// The names of the function that an address is in: those that people know first.
    fn names(&self, address: u64) -> impl Iterator<Item = &str> {
        let end = self.symbols.partition_point(|symbol| symbol.address <= address);
        let last = self.symbols[..end].last().map_or(0, |symbol| symbol.address);
        let begin = self.symbols[..end].partition_point(|symbol| symbol.address < last);
        let is_inside = move |symbol: &&Symbol| {
            symbol.size == 0 || address < symbol.address.saturating_add(symbol.size)
        };
        self.symbols[begin..end].iter().filter(is_inside).map(|symbol| &*symbol.name)
    }

    pub(super) fn name(&self, address: u64) -> Option<&str> {
        self.names(address).next()
    }

    /// The function of MPI that an address is in, by its names in C and Fortran, or as tools call it.
    pub(super) fn function_of_mpi(&self, address: u64) -> Option<FunctionId> {
        self.names(address).find_map(names::of_mpi).or_else(|| {
            let name = self.name(address).filter(|_| self.role == Role::Tool)?;
            names::of_tool(&addr2line::demangle_auto(name.into(), None))
        })
    }

    /// Is an address in the function that runs Python functions?
    pub(super) fn evaluates_python(&self, address: u64) -> bool {
        self.python.is_some()
            && self.names(address).any(|name| {
                // Compilers take parts out of it: `_PyEval_EvalFrameDefault.cold`.
                name.split('.').next() == Some("_PyEval_EvalFrameDefault")
                    || name.starts_with("_TAIL_CALL_")
            })
    }

    /// Is an address in other code of an interpreter of Python?
    pub(super) fn is_of_python(&self, address: u64) -> bool {
        let mut names = self.names(address).map(|name| name.trim_start_matches('_'));
        // A program may have an interpreter in itself, beside its own functions.
        self.python.is_some()
            && (base(&self.path).contains("python") || names.any(|name| name.starts_with("Py")))
    }

    /// Is an address in the code that the kernel starts, or that starts `main` and threads?
    pub(super) fn is_start(&self, address: u64) -> bool {
        self.role == Role::Start || self.is_entry(address)
    }

    /// Is an address in the code that the kernel starts?
    pub(super) fn is_entry(&self, address: u64) -> bool {
        self.entry != 0 && (self.entry..self.entry.saturating_add(64)).contains(&address)
    }

    /// Is an address behind a call instruction, as that of a caller is?
    pub(super) fn is_behind_call(&self, address: u64) -> bool {
        let bytes = address.checked_sub(7).and_then(|begin| self.code(begin));
        bytes.is_some_and(|bytes| is_call_at_end(&bytes))
    }

    /// Is there what a handler of a signal returns to, which asks the kernel to go on?
    pub(super) fn is_end_of_handler(&self, address: u64) -> bool {
        // mov $15, %rax; syscall
        self.code(address) == Some([0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05])
    }

    /// Some bytes of the code.
    fn code<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let holds = |segment: &&(Range<u64>, u64)| segment.0.contains(&address);
        let (addresses, offset) = self.segments.iter().find(holds)?;
        let offset = address.checked_sub(addresses.start)?.checked_add(*offset)?;
        match &self.code {
            Code::File(file) => {
                let mut bytes = [0; N];
                file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
            }
            Code::Bytes(all) => {
                let offset = usize::try_from(offset).ok()?;
                all.get(offset..offset.checked_add(N)?)?.try_into().ok()
            }
        }
    }
}

/// Do some bytes end with a call, as one of the processor's two kinds that compilers make: of a distance, or of what a register
/// or memory has?
fn is_call_at_end(bytes: &[u8; 7]) -> bool {
    let is_indirect = |length: usize| {
        let at = bytes.len() - length;
        let (operation, operand) = (bytes[at], bytes[at + 1]);
        let (kind, register, memory) = (operand >> 6, operand >> 3 & 7, operand & 7);
        let with_index = usize::from(kind != 3 && memory == 4);
        let distance = match (kind, memory) {
            (0, 5) | (2, _) => 4,
            (0, 4) if length > 2 && bytes[at + 2] & 7 == 5 => 4,
            (1, _) => 1,
            _ => 0,
        };
        operation == 0xff && register == 2 && length == 2 + with_index + distance
    };
    bytes[2] == 0xe8 || [2, 3, 4, 6, 7].into_iter().any(is_indirect)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Image, Images, Role, is_call_at_end, is_file_of};
    use crate::hang::attach::maps;
    use crate::hang::attach::memory::Memory;

    /// This process's C library is the one in its memory, and a shell is not.
    #[test]
    fn another_file_is_not_taken_for_the_one_in_memory() {
        let maps = maps::parse(&fs::read_to_string("/proc/self/maps").unwrap());
        let of_libc = |part: &&maps::Mapping| part.is_code && part.path.ends_with("/libc.so.6");
        let Some(libc) = maps.iter().find(of_libc) else { return };
        let own = std::process::id();
        let memory = Memory::of(own).unwrap();
        let image = Images::default().of(own, libc, &memory).unwrap();
        assert_eq!(image.path, libc.path);
        assert!(image.identity.is_none() || image.is_in(libc, &memory));
        let shell = Path::new("/bin/sh");
        assert!(!is_file_of(shell, libc));
        let shell = Image::read("/bin/sh", || Role::Program).unwrap();
        assert!(!shell.is_in(libc, &memory));
    }

    /// By the processor's manual: `call rel32` is `e8` and four bytes; `call r/m64` is `ff /2`.
    #[test]
    fn calls_are_known() {
        for call in [
            "90 90 e8 10 20 30 40", // call +0x40302010
            "90 90 90 90 90 ff d0", // call *%rax
            "90 90 90 90 41 ff d4", // call *%r12
            "90 90 90 90 ff 50 18", // call *0x18(%rax)
            "90 ff 15 10 20 30 40", // call *0x40302010(%rip)
            "90 90 90 90 ff 14 c7", // call *(%rdi,%rax,8)
            "90 90 90 ff 54 c7 08", // call *8(%rdi,%rax,8)
            "ff 14 c5 10 20 30 40", // call *0x40302010(,%rax,8)
            "ff 94 c7 10 20 30 40", // call *0x40302010(%rdi,%rax,8)
            "90 90 90 90 90 ff 10", // call *(%rax)
        ] {
            assert!(is_call_at_end(&bytes(call)), "{call}");
        }
        for other in [
            "90 90 e9 10 20 30 40", // jmp
            "90 90 90 90 90 ff e0", // jmp *%rax
            "90 90 90 90 90 0f 05", // syscall
            "90 90 90 90 90 90 c3", // ret
            "90 90 90 90 90 ff 70", // the beginning of a push
        ] {
            assert!(!is_call_at_end(&bytes(other)), "{other}");
        }
    }

    fn bytes(text: &str) -> [u8; 7] {
        let bytes: Vec<u8> =
            text.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        bytes.try_into().unwrap()
    }
}
