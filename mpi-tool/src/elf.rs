//! What an ELF file says of itself. Nothing is loaded or run.

use std::fs;
use std::io::Read as _;
use std::mem;
use std::path::{Path, PathBuf};

use mpi_facts::note;
use object::elf::{
    DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, EM_AARCH64, EM_X86_64, FileHeader64, PT_INTERP,
    SHT_DYNSYM, SHT_SYMTAB,
};
use object::read::elf::{
    Dyn as _, FileHeader as _, ProgramHeader as _, SectionHeader as _, SectionTable, Sym as _,
};
use object::{Endianness, ReadCache, ReadRef, SymbolIndex};

/// A kind of processor, with addresses of 64 bits, that the tools are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    X86_64,
    Aarch64,
}

impl Machine {
    /// The one that this program is for, and so the tools that come with it.
    pub(crate) const OWN: Self =
        if cfg!(target_arch = "aarch64") { Self::Aarch64 } else { Self::X86_64 };

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86-64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Where its libraries are in Debian's folders.
    pub(crate) fn triplet(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu",
            Self::Aarch64 => "aarch64-linux-gnu",
        }
    }
}

fn machine_of(header: &FileHeader64<Endianness>, endian: Endianness) -> Option<Machine> {
    match header.e_machine(endian) {
        EM_X86_64 => Some(Machine::X86_64),
        // The other order of bytes has the same number.
        EM_AARCH64 if endian == Endianness::Little => Some(Machine::Aarch64),
        _ => None,
    }
}

/// An ELF file.
#[derive(Debug, Default, Clone)]
pub(crate) struct Elf {
    pub(crate) path: PathBuf,
    /// Bits of an address: 64 or 32.
    pub(crate) bits: u8,
    /// The kind of processor that it is for, if it is one that tools may be for.
    pub(crate) machine: Option<Machine>,
    /// It asks for a dynamic linker, or is a shared object.
    pub(crate) dynamic: bool,
    pub(crate) soname: Option<String>,
    /// The libraries that it is linked to.
    pub(crate) needed: Vec<String>,
    /// Where it looks for libraries, and those that it needs do, unless it has a `runpath`.
    pub(crate) rpath: Vec<String>,
    /// Where it looks for its own libraries.
    pub(crate) runpath: Vec<String>,
    /// Names that others must define.
    pub(crate) imports: Vec<String>,
    /// Names that it defines for others.
    pub(crate) exports: Vec<String>,
    /// Names of MPI functions that it defines, for itself too, unless they were stripped.
    pub(crate) defines: Vec<String>,
    /// The note of a tool: `mpi_facts::note`.
    pub(crate) note: Option<String>,
}

impl Elf {
    /// Reads a file; `None` if it is something else than an ELF file.
    pub(crate) fn read(path: &Path) -> std::io::Result<Option<Self>> {
        let Some(mut file) = open(path)? else { return Ok(None) };
        let mut data = MAGIC.to_vec();
        file.read_to_end(&mut data)?;
        let mut elf = Self { path: path.into(), ..Self::default() };
        // EI_CLASS: 1 is 32-bit, 2 is 64-bit.
        match data.get(4) {
            Some(1) => elf.bits = 32,
            Some(2) => {
                elf.bits = 64;
                // What is cut off or damaged stays unknown.
                let _ = elf.parse(&data);
            }
            _ => return Ok(None),
        }
        Ok(Some(elf))
    }

    fn parse(&mut self, data: &[u8]) -> object::Result<()> {
        let header = FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        self.machine = machine_of(header, endian);
        let segments = header.program_headers(endian, data)?;
        self.dynamic = segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP);

        let sections = header.sections(endian, data)?;
        for section in sections.iter() {
            if let Some((entries, strings)) = section.dynamic(endian, data)? {
                let strings = sections.strings(endian, data, strings)?;
                for entry in entries {
                    let text = || {
                        let offset = u32::try_from(entry.d_val(endian)).ok()?;
                        Some(String::from_utf8_lossy(strings.get(offset).ok()?).into_owned())
                    };
                    match entry.d_tag(endian) {
                        DT_NEEDED => self.needed.extend(text()),
                        DT_SONAME => self.soname = text(),
                        DT_RPATH => self.rpath = folders(text()),
                        DT_RUNPATH => self.runpath = folders(text()),
                        _ => {}
                    }
                }
            }
        }
        self.note = note_in(&sections, endian, data)?;
        // A static executable that can be moved has a dynamic section, and nothing to link.
        self.dynamic |= self.soname.is_some() || !self.needed.is_empty();

        for kind in [SHT_DYNSYM, SHT_SYMTAB] {
            let symbols = sections.symbols(endian, data, kind)?;
            for symbol in symbols.iter().skip(SymbolIndex(1).0) {
                let Ok(name) = symbol.name(endian, symbols.strings()) else { continue };
                let is_of_mpi =
                    [&b"MPI_"[..], b"PMPI_", b"mpi_"].iter().any(|p| name.starts_with(p));
                if name.is_empty() || (kind == SHT_SYMTAB && !is_of_mpi) {
                    continue;
                }
                let name = String::from_utf8_lossy(name).into_owned();
                match (kind, symbol.is_undefined(endian)) {
                    (SHT_DYNSYM, true) => self.imports.push(name),
                    (SHT_DYNSYM, false) => self.exports.push(name),
                    (_, false) => self.defines.push(name),
                    (_, true) => {}
                }
            }
        }
        Ok(())
    }

    /// Does it define a function, for others or for itself?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.exports.iter().chain(&self.defines).any(|defined| defined == name)
    }
}

/// The note of a tool (`mpi_facts::note`) and the processor that it is for. Nothing else of the file is read: most libraries
/// in a folder are no tools, and tools are large.
pub(crate) fn note(path: &Path) -> Option<(String, Option<Machine>)> {
    let data = ReadCache::new(open(path).ok()??);
    let header = FileHeader64::<Endianness>::parse(&data).ok()?;
    let endian = header.endian().ok()?;
    let note = note_in(&header.sections(endian, &data).ok()?, endian, &data).ok()??;
    Some((note, machine_of(header, endian)))
}

fn note_in<'data, R: ReadRef<'data>>(
    sections: &SectionTable<'data, FileHeader64<Endianness>, R>,
    endian: Endianness,
    data: R,
) -> object::Result<Option<String>> {
    for section in sections.iter() {
        if sections.section_name(endian, section) == Ok(note::SECTION.as_bytes())
            && let Some(mut notes) = section.notes(endian, data)?
            && let Some(found) = notes.next()?
            && found.name() == note::OWNER.as_bytes()
        {
            return Ok(Some(String::from_utf8_lossy(found.desc()).into_owned()));
        }
    }
    Ok(None)
}

/// What an ELF file begins with.
const MAGIC: [u8; 4] = *b"\x7fELF";

/// Opens a file and reads the [magic](MAGIC); `None` if it is something else than an ELF file.
fn open(path: &Path) -> std::io::Result<Option<fs::File>> {
    // A pipe would be waited for, and some devices never end.
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut file = fs::File::open(path)?;
    let mut magic = [0; MAGIC.len()];
    Ok((file.read_exact(&mut magic).is_ok() && magic == MAGIC).then_some(file))
}

fn folders(text: Option<String>) -> Vec<String> {
    text.unwrap_or_default().split(':').filter(|part| !part.is_empty()).map(Into::into).collect()
}

/// The texts of a file's data that end with a NUL, as messages and names do.
pub(crate) fn texts(data: &[u8]) -> impl Iterator<Item = &str> {
    let ends = memchr::memchr_iter(0, data).chain([data.len()]);
    let texts = ends.scan(0, move |start, end| Some(&data[mem::replace(start, end + 1)..end]));
    texts
        .filter(|text| !text.is_empty() && text.iter().all(|byte| (0x09..0x7f).contains(byte)))
        .filter_map(|text| std::str::from_utf8(text).ok())
}

#[cfg(test)]
mod tests {
    use super::{Elf, Machine};

    /// The ELF specification: bytes 18 and 19 are 62 for x86-64, 183 for AArch64, 243 for RISC-V.
    #[test]
    fn machines_are_known() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let machine = |number: u8| {
            let mut head = [0_u8; 64];
            head[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
            (head[16], head[18], head[20], head[52]) = (3, number, 1, 64);
            std::fs::write(file.path(), head).unwrap();
            Elf::read(file.path()).unwrap().unwrap().machine
        };
        assert_eq!(machine(62), Some(Machine::X86_64));
        assert_eq!(machine(183), Some(Machine::Aarch64));
        assert_eq!(machine(243), None);
        // The test itself is a program of this machine.
        let own = Elf::read(&std::env::current_exe().unwrap()).unwrap().unwrap();
        assert_eq!(own.machine, Some(Machine::OWN));
    }

    #[test]
    fn texts_end_with_a_nul_or_the_data() {
        let texts = |data| super::texts(data).collect::<Vec<_>>();
        assert_eq!(texts(b"\0one\0\0\xfftwo\0three\0four"), ["one", "three", "four"]);
        assert_eq!(texts(b"one\0"), ["one"]);
        assert!(texts(b"").is_empty() && texts(b"\0").is_empty());
    }
}
