//! Rust's standard library without what finds the names of functions for a backtrace.
//!
//! The default panic hook refers to it, so every shared object has it: 200 kB that read debugging information, of which the
//! wheel's files have none. The standard library is compiled already, and no setting leaves it out. So a copy of it is
//! linked in which one function, the only way to all of that, returns at once. A backtrace then has addresses only. The tools
//! say themselves in which MPI function they have panicked.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::step::output;

/// A part of the mangled name of the function, `Cache::with_global` for `resolve`, which returns nothing, and of no other.
const FUNCTION: &str = "12backtrace_rs9symbolize5gimliNtB6_5Cache11with_globalNCNvB6_7resolve";

/// The machine instruction `ret`.
const RETURN: u8 = 0xc3;

/// Makes in `folder` what `rustc --sysroot` takes: all that the compiler has for a target, with this standard library.
pub(super) fn sysroot(folder: &Path, target: &str) -> Result<PathBuf> {
    let original = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let place = Path::new("lib/rustlib").join(target).join("lib");
    let (from, to) = (Path::new(original.trim_end()).join(&place), folder.join(&place));
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(&to)?;
    let mut changed = 0;
    for entry in fs::read_dir(&from).with_context(|| from.display().to_string())? {
        let name = entry?.file_name();
        let (from, to) = (from.join(&name), to.join(&name));
        let text = name.to_string_lossy();
        if text.starts_with("libstd-") && text.ends_with(".rlib") {
            let mut archive = fs::read(&from)?;
            changed += without_function(&mut archive)
                .with_context(|| format!("{} is not as expected", from.display()))?;
            fs::write(to, archive)?;
        } else {
            symlink(from, to)?;
        }
    }
    if changed == 0 {
        eprintln!(
            "    This compiler's standard library has no {FUNCTION}: the wheel is larger by some megabytes."
        );
    }
    Ok(folder.to_owned())
}

/// Has the function return at once in each object of an archive, and returns in how many.
fn without_function(archive: &mut [u8]) -> Result<usize> {
    const MAGIC: &[u8] = b"!<arch>\n";
    const HEADER: usize = 60;
    ensure!(archive.starts_with(MAGIC), "it is no archive");
    let (mut at, mut changed) = (MAGIC.len(), 0);
    while at < archive.len() {
        let header = archive.get(at..at + HEADER).context("a header is cut off")?;
        let size: usize = str::from_utf8(&header[48..58])?.trim_end().parse()?;
        let contents = at + HEADER..at + HEADER + size;
        let object = archive.get_mut(contents.clone()).context("a member is cut off")?;
        if object.starts_with(b"\x7fELF") && empty_function(object)? {
            changed += 1;
        }
        // Members begin at even places.
        at = contents.end + contents.end % 2;
    }
    Ok(changed)
}

/// Shortens the function's section to one instruction, and that of what it refers to to nothing: the linker then leaves out
/// what nothing else refers to. False if it is not there.
fn empty_function(object: &mut [u8]) -> Result<bool> {
    // Offsets in the headers of ELF for 64 bits.
    const SECTIONS: usize = 0x28;
    const NUMBER: usize = 0x3c;
    const NAMES: usize = 0x3e;
    const SECTION: usize = 64;
    const OFFSET: usize = 0x18;
    const SIZE: usize = 0x20;
    let first = number(object, SECTIONS..SECTIONS + 8)?;
    let count = number(object, NUMBER..NUMBER + 2)?;
    let names = first + SECTION * number(object, NAMES..NAMES + 2)?;
    let names = number(object, names + OFFSET..names + OFFSET + 8)?;
    let mut changed = false;
    for section in (0..count).map(|index| first + SECTION * index) {
        let name = names + number(object, section..section + 4)?;
        let name = object.get(name..).and_then(|text| text.split(|byte| *byte == 0).next());
        let name = String::from_utf8_lossy(name.context("a name is cut off")?).into_owned();
        if !name.contains(FUNCTION) {
            continue;
        }
        let size = if name.starts_with(".text.") {
            let code = number(object, section + OFFSET..section + OFFSET + 8)?;
            *object.get_mut(code).context("its code is cut off")? = RETURN;
            changed = true;
            1_u64
        } else if name.starts_with(".rela.text.") {
            0
        } else {
            continue;
        };
        object[section + SIZE..section + SIZE + 8].copy_from_slice(&size.to_le_bytes());
    }
    Ok(changed)
}

/// A number of up to eight bytes, the lowest one first.
fn number(object: &[u8], range: Range<usize>) -> Result<usize> {
    let mut bytes = [0; 8];
    let read = object.get(range).context("a header is cut off")?;
    bytes[..read.len()].copy_from_slice(read);
    Ok(usize::try_from(u64::from_le_bytes(bytes))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that panics is at least 150 kB smaller with the copy, and still prints the message and a backtrace.
    #[test]
    fn a_library_is_small_and_prints_what_it_panics_with() {
        const TARGET: &str = "x86_64-unknown-linux-gnu";
        let folder = tempfile::tempdir().unwrap();
        let sysroot = sysroot(&folder.path().join("sysroot"), TARGET).unwrap();
        let source = folder.path().join("main.rs");
        fs::write(&source, "fn main() { panic!(\"here it is\") }").unwrap();
        let compile = |name: &str, options: &[String]| {
            let program = folder.path().join(name);
            let mut rustc = Command::new("rustc");
            rustc.args(["-O", "-Cstrip=symbols", "--target", TARGET]).args(options);
            assert!(rustc.arg(&source).arg("-o").arg(&program).status().unwrap().success());
            program
        };
        let plain = compile("plain", &[]);
        let small = compile("small", &[format!("--sysroot={}", sysroot.display())]);
        let size = |program: &Path| program.metadata().unwrap().len();
        assert!(size(&small) + 150_000 < size(&plain), "{} {}", size(&small), size(&plain));
        let ran = Command::new(small).env("RUST_BACKTRACE", "full").output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(101), "{said}");
        assert!(said.contains("here it is") && said.contains(" 3: "), "{said}");
    }

    #[test]
    fn what_is_cut_off_is_no_archive() {
        assert!(without_function(&mut b"!<arch>\nshort".to_vec()).is_err());
        assert!(without_function(&mut b"\x7fELF".to_vec()).is_err());
        assert_eq!(without_function(&mut b"!<arch>\n".to_vec()).unwrap(), 0);
    }
}
