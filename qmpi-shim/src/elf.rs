//! A look at a tool's file before it is loaded.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use mpi_tool_layer::mpi_sys::Abi;
use object::elf::{DT_NEEDED, DT_NULL, EM_X86_64, ET_DYN, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader as _, SectionHeader as _, Sym as _};
use object::{Endianness, SymbolIndex};

pub(crate) const NO_TOOL: &str =
    "no tool: it exports neither get_interceptions, as QMPI tools do, nor functions of MPI";

pub(crate) const ONLY_PRELOADED: &str = "made by install_pmpi_layer!, so it can only be preloaded; \
     install_qmpi_layer! makes a level of a tool, too";

/// What a file is, where it cannot be a tool for this process: why.
pub(crate) fn check(path: &Path) -> Result<(), String> {
    let mut file = fs::File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        _ => format!("cannot be opened: {error}"),
    })?;
    let mut data = Vec::new();
    file.read_to_end(&mut data).map_err(|error| format!("cannot be read: {error}"))?;
    let wrong = |_| "not a shared object".to_owned();
    let header = FileHeader64::<Endianness>::parse(&*data).map_err(wrong)?;
    let endian = header.endian().map_err(wrong)?;
    if header.e_type(endian) != ET_DYN {
        return Err("not a shared object".into());
    }
    if header.e_machine(endian) != EM_X86_64 {
        return Err("a shared object for another kind of processor".into());
    }
    let sections = header.sections(endian, &*data).map_err(wrong)?;
    let symbols = sections.symbols(endian, &*data, object::elf::SHT_DYNSYM).map_err(wrong)?;

    let mut abis = Vec::new();
    for section in sections.iter() {
        let Some((entries, strings)) = section.dynamic(endian, &*data).map_err(wrong)? else {
            continue;
        };
        let strings = sections.strings(endian, &*data, strings).map_err(wrong)?;
        for entry in entries {
            let tag = entry.d_tag(endian);
            if tag == DT_NULL {
                break;
            }
            if tag == DT_NEEDED
                && let Ok(offset) = u32::try_from(entry.d_val(endian))
                && let Ok(name) = strings.get(offset)
            {
                abis.extend(abi_of_library(name));
            }
        }
    }
    let mut interceptions = false;
    let mut functions_of_mpi = false;
    let mut of_this_framework = false;
    for (index, symbol) in symbols.iter().enumerate().skip(SymbolIndex(1).0) {
        let _ = index;
        let name = symbol.name(endian, symbols.strings()).unwrap_or(b"");
        if symbol.is_undefined(endian) {
            if name.starts_with(b"ompi_mpi_") && symbol.st_bind() == object::elf::STB_GLOBAL {
                abis.push(Abi::OpenMpi);
            }
        } else {
            interceptions |= name == b"get_interceptions" || name == b"mpi_tool_stack";
            functions_of_mpi |= name.starts_with(b"MPI_");
            of_this_framework |= name == b"mpi_tool_info";
        }
    }
    if let Some(abi) = abis.iter().find(|abi| **abi != Abi::CURRENT) {
        return Err(other_abi(*abi));
    }
    if !interceptions && of_this_framework {
        return Err(ONLY_PRELOADED.into());
    }
    if !interceptions && !functions_of_mpi {
        return Err(NO_TOOL.into());
    }
    Ok(())
}

/// The tool's build for this ABI, where a file is a universal build and this lies beside it.
pub(crate) fn build_beside(path: &Path) -> Option<PathBuf> {
    let beside = |path: &Path| {
        let build = path.parent()?.join(Abi::CURRENT.name()).join(path.file_name()?);
        build.exists().then_some(build)
    };
    let build = beside(path).or_else(|| beside(&fs::canonicalize(path).ok()?))?;
    let data = fs::read(path).ok()?;
    let header = FileHeader64::<Endianness>::parse(&*data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, &*data).ok()?;
    let symbols = sections.symbols(endian, &*data, object::elf::SHT_DYNSYM).ok()?;
    let is_host = symbols.iter().any(|symbol| {
        symbol.name(endian, symbols.strings()).is_ok_and(|name| name == b"mpi_tool_host")
    });
    is_host.then_some(build)
}

pub(crate) fn other_abi(abi: Abi) -> String {
    format!(
        "built for the {} ABI, but the MPI of this program has the {} ABI; use a build for this MPI",
        abi.name(),
        Abi::CURRENT.name()
    )
}

/// The ABI of an MPI library, by the name that binaries know it by.
fn abi_of_library(name: &[u8]) -> Option<Abi> {
    if name.starts_with(b"libmpi_abi.so") {
        Some(Abi::Standard)
    } else if name.starts_with(b"libmpich.so") || name == b"libmpi.so.12" {
        Some(Abi::Mpich)
    } else if name.starts_with(b"libmpi.so.") {
        Some(Abi::OpenMpi)
    } else {
        None
    }
}
