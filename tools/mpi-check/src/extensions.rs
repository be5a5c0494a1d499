//! Functions of an MPI that are no part of the standard (`MPIX_…`): they may make objects, and complete requests, and this tool
//! does not see them.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::{fs, io};

use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSymbol as _};

/// May the program, or a library of its, call such functions? Read from the files when this is first asked; a file that
/// cannot be read may.
pub(crate) fn may_be_called() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let Ok(paths) = loaded() else { return true };
        paths.iter().any(|path| fs::read(path).map_or(true, |contents| calls_them(&contents)))
    })
}

/// The files that this process has loaded code from.
fn loaded() -> io::Result<BTreeSet<String>> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let paths = maps.lines().filter_map(|line| {
        let (range_and_rights, path) = line.split_once('/')?;
        range_and_rights.contains(" r-xp ").then(|| format!("/{path}"))
    });
    Ok(paths.collect())
}

/// Does an object call functions with such names? An MPI's own libraries may, and are not asked: they have functions with
/// the names of the profiling interface.
fn calls_them(contents: &[u8]) -> bool {
    let Ok(object) = ElfFile64::<object::Endianness>::parse(contents) else { return true };
    let mut calls = false;
    for symbol in object.dynamic_symbols() {
        let name = symbol.name_bytes().unwrap_or_default();
        if !symbol.is_undefined() && (name.starts_with(b"PMPI_") || name.starts_with(b"pmpi_")) {
            return false;
        }
        calls |= symbol.is_undefined() && name.starts_with(b"MPIX_");
    }
    calls
}
