//! A look at a tool's file before it is loaded.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use mpi_tool_layer::mpi_sys::{ABI, Abi};
use mpi_tool_layer::note;
use object::elf::{DT_NEEDED, DT_NULL, DT_SONAME, EM_X86_64, ET_DYN, FileHeader64, SHT_DYNSYM};
use object::read::elf::{Dyn as _, FileHeader as _, SectionHeader as _, Sym as _};
use object::{Endianness, SymbolIndex};

const NO_OBJECT: &str = "not a shared object";

pub(crate) const NO_TOOL: &str =
    "not a tool: it exports neither get_interceptions, as QMPI tools do, nor functions of MPI";

pub(crate) const ONLY_PRELOADED: &str = "made by install_pmpi_layer!, so it can only be preloaded; \
     install_qmpi_layer! makes a tool that can also be a level";

const RUNS_STACKS: &str = "libqmpi.so itself, which runs a stack and cannot be a level of one; list \
     tools only";

/// What decides whether a shared object can be a level.
#[derive(Debug, Default)]
struct Facts {
    soname: Option<Vec<u8>>,
    /// The ABIs of the MPIs that it needs.
    abis: Vec<Abi>,
    /// A tool for TUM's QMPI, or one of this framework that can be a level.
    interceptions: bool,
    functions_of_mpi: bool,
    /// An MPI library has these; a PMPI tool calls them.
    pmpi_init: bool,
    /// A function of TUM's library, and of ours.
    table_query: bool,
    of_this_framework: bool,
    universal: bool,
}

/// Finds out why a file cannot be a tool of this process.
///
/// # Errors
/// The reason, for people.
pub(crate) fn check(path: &Path) -> Result<(), String> {
    let facts = Facts::read(&contents(path)?)?;
    let library = facts.soname.as_deref().filter(|name| abi_of_library(name).is_some());
    if facts.pmpi_init {
        return Err(no_mpi("it defines PMPI_Init"));
    }
    // Some builds of MPI have their PMPI_X in a library of its own.
    if let Some(name) = library.filter(|_| facts.functions_of_mpi && !facts.interceptions) {
        return Err(no_mpi(&format!("its soname is {}", String::from_utf8_lossy(name))));
    }
    if facts.table_query && !facts.interceptions {
        return Err(RUNS_STACKS.into());
    }
    if let Some(abi) = facts.abis.iter().find(|abi| **abi != ABI) {
        return Err(other_abi(*abi));
    }
    if facts.universal {
        let file = path.file_name().unwrap_or_default().display();
        return Err(format!(
            "a universal build, but the build for this MPI, {}/{file} beside it, is missing",
            ABI.name()
        ));
    }
    if !facts.interceptions && facts.of_this_framework {
        return Err(ONLY_PRELOADED.into());
    }
    if !facts.interceptions && !facts.functions_of_mpi {
        return Err(NO_TOOL.into());
    }
    Ok(())
}

fn no_mpi(why: &str) -> String {
    format!("an MPI library, not a tool ({why}); the program loads its own MPI, so list only tools")
}

/// Reads a file, but nothing that might never end.
fn contents(path: &Path) -> Result<Vec<u8>, String> {
    let kind = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        _ => format!("cannot be opened: {error}"),
    })?;
    if kind.is_dir() {
        return Err("a directory, not a shared object".into());
    }
    if !kind.is_file() {
        return Err("a pipe, a device or a socket, not a shared object".into());
    }
    let mut data = Vec::new();
    fs::File::open(path)
        .map_err(|error| format!("cannot be opened: {error}"))?
        .read_to_end(&mut data)
        .map_err(|error| format!("cannot be read: {error}"))?;
    Ok(data)
}

impl Facts {
    fn read(data: &[u8]) -> Result<Self, String> {
        // EI_CLASS: 1 is 32-bit.
        if data.starts_with(b"\x7fELF\x01") {
            return Err("a 32-bit shared object; this process is a 64-bit one".into());
        }
        let header = FileHeader64::<Endianness>::parse(data).map_err(|_| NO_OBJECT)?;
        let endian = header.endian().map_err(|_| NO_OBJECT)?;
        if header.e_machine(endian) != EM_X86_64 {
            return Err("a shared object for another kind of processor".into());
        }
        if header.e_type(endian) != ET_DYN {
            return Err("an object file or a program, not a shared object".into());
        }
        Self::parse(data, header, endian)
            .map_err(|error| format!("damaged or cut off, so it cannot be read: {error}"))
    }

    fn parse(
        data: &[u8],
        header: &FileHeader64<Endianness>,
        endian: Endianness,
    ) -> object::Result<Self> {
        let mut facts = Self::default();
        let sections = header.sections(endian, data)?;
        for section in sections.iter() {
            let Some((entries, strings)) = section.dynamic(endian, data)? else { continue };
            let strings = sections.strings(endian, data, strings)?;
            for entry in entries {
                let name = || strings.get(u32::try_from(entry.d_val(endian)).ok()?).ok();
                match entry.d_tag(endian) {
                    DT_NULL => break,
                    DT_NEEDED => facts.abis.extend(name().and_then(abi_of_library)),
                    DT_SONAME => facts.soname = name().map(Into::into),
                    _ => {}
                }
            }
        }
        let symbols = sections.symbols(endian, data, SHT_DYNSYM)?;
        for symbol in symbols.iter().skip(SymbolIndex(1).0) {
            let name = symbol.name(endian, symbols.strings()).unwrap_or(b"");
            if symbol.is_undefined(endian) {
                if name.starts_with(b"ompi_mpi_") && symbol.st_bind() == object::elf::STB_GLOBAL {
                    facts.abis.push(Abi::OpenMpi);
                }
                continue;
            }
            match name {
                b"get_interceptions" | b"mpi_tool_stack" => facts.interceptions = true,
                b"PMPI_Init" => facts.pmpi_init = true,
                b"QMPI_Table_query" => facts.table_query = true,
                b"mpi_tool_info" => facts.of_this_framework = true,
                b"mpi_tool_host" => facts.universal = true,
                _ => facts.functions_of_mpi |= name.starts_with(b"MPI_"),
            }
        }
        Ok(facts)
    }
}

/// The tool's build for this ABI, where a file is a universal build and this lies beside it.
pub(crate) fn build_beside(path: &Path) -> Option<PathBuf> {
    let beside = |path: &Path| note::build_beside(path, ABI).filter(|build| build.exists());
    let build = beside(path).or_else(|| beside(&fs::canonicalize(path).ok()?))?;
    let facts = Facts::read(&contents(path).ok()?).ok()?;
    facts.universal.then_some(build)
}

pub(crate) fn other_abi(abi: Abi) -> String {
    format!(
        "built for the {} ABI, but the MPI of this program has the {} ABI; use a build for this MPI",
        abi.name(),
        ABI.name()
    )
}

/// The ABI of an MPI library, by the name that binaries know it by.
fn abi_of_library(name: &[u8]) -> Option<Abi> {
    Abi::of_library(core::str::from_utf8(name).ok()?)
}
