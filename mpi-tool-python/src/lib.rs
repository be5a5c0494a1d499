//! The Python functions that a thread is in, read as memory: nothing of Python is called, and no lock is taken.
//!
//! The memory is this process's own or another one's: [`Memory`] says how it is read. What is read is of one thread, which must not run
//! meanwhile, or be the one that reads: then its frames, and all that they hold, stay as they are. Nothing else is taken for granted: sizes and
//! lengths of lists have bounds, objects must be of the types that they should be of, and what cannot be right is [`Unknown`].
//!
//! * `layout.rs`: where things are, by version. `walk.rs`: threads and frames. `lines.rs`: lines of instructions.
//!
//! CPython 3.9 to 3.14 with 64-bit addresses, without the free-threaded builds.

mod layout;
mod lines;
mod walk;

use core::fmt;

pub use walk::{Frame, Interpreter, Stack, ThreadState, Trail};

/// Where memory is read from.
pub trait Memory {
    /// Fills `bytes` with what is at an address. `false` if it is not there, or not all of it.
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool;
}

/// Why something is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The interpreter is of a version that this crate does not know.
    Version,
    /// The interpreter is a free-threaded build.
    FreeThreaded,
    /// Memory could not be read where something should be.
    Memory,
    /// What is there cannot be right.
    Wrong,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "its version is not one of 3.9 to 3.14",
            Self::FreeThreaded => "it is a free-threaded build",
            Self::Memory => "its memory cannot be read",
            Self::Wrong => "its memory does not have the layout of its version",
        })
    }
}

impl core::error::Error for Unknown {}

/// Is a file of Python's own library, or of a package that was installed, and not of the application's?
pub fn is_of_library(file: &str) -> bool {
    let is_of_python = |folder: &str| {
        let version = folder.strip_prefix("python3").map(|rest| rest.trim_start_matches('.'));
        version.is_some_and(|version| {
            version.trim_end_matches('t').bytes().all(|it| it.is_ascii_digit())
        })
    };
    let folders: Vec<&str> = file.split('/').collect();
    file.starts_with("<frozen ")
        || folders.iter().any(|folder| matches!(*folder, "site-packages" | "dist-packages"))
        || folders.windows(2).any(|pair| pair[0].starts_with("lib") && is_of_python(pair[1]))
}

/// The same of a file of C as well: or one of the system's. mpi4py is one wherever it lies.
pub fn is_installed(file: &str) -> bool {
    is_of_library(file)
        || ["/usr/lib", "/lib"].iter().any(|folder| file.starts_with(folder))
        || file.contains("/mpi4py/MPI.")
}

/// A function and its file in one text, where tools have a program's path otherwise: `python FUNCTION FILE`. The line stands where the place in the
/// program does; 0: no line.
pub fn joined(function: &str, file: &str) -> String {
    format!("python {} {file}", function.replace(' ', "_"))
}

/// Function and file of a text of [`joined`]; `None` of a program's path.
pub fn split(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("python ")?.split_once(' ')
}

/// The version of an interpreter by the name of its program or library, as `libpython3.9.so.1.0`: what [`Interpreter::new`] takes.
pub fn version_by_name(file: &str) -> Option<u32> {
    let rest = file.split_once("python3.")?.1;
    let digits = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse::<u8>().ok().map(|minor| 0x0300_0000 | u32::from(minor) << 16)
}

fn read<const N: usize>(memory: &impl Memory, address: u64) -> Result<[u8; N], Unknown> {
    let mut bytes = [0; N];
    if address != 0 && memory.read(address, &mut bytes) { Ok(bytes) } else { Err(Unknown::Memory) }
}

fn read_word(memory: &impl Memory, address: u64) -> Result<u64, Unknown> {
    read(memory, address).map(u64::from_le_bytes)
}

fn read_number(memory: &impl Memory, address: u64) -> Result<i32, Unknown> {
    read(memory, address).map(i32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::{is_of_library, joined, split, version_by_name};

    #[test]
    fn functions_and_files_are_told_apart() {
        for (function, file) in
            [("Solver.step", "/a b/c.py"), ("<module>", "<string>"), ("f.<locals>.g", "")]
        {
            assert_eq!(split(&joined(function, file)), Some((function, file)));
        }
        assert_eq!(split(&joined("a b", "c")), Some(("a_b", "c")));
        assert_eq!([split("/usr/bin/python f x"), split("python"), split("python3.11")], [None; 3]);
    }

    #[test]
    fn files_of_libraries_are_known() {
        for library in [
            "/opt/env/lib/python3.11/threading.py",
            "/usr/lib/python3/dist-packages/mpi4py/futures/pool.py",
            "/home/a/lib64/python3.13t/site-packages/dask/core.py",
            "<frozen importlib._bootstrap>",
        ] {
            assert!(is_of_library(library), "{library}");
        }
        for own in [
            "/home/a/solver.py",
            "<string>",
            "/home/a/lib/python3-tools/a.py",
            "python3.11",
            "lib/python/a.py",
        ] {
            assert!(!is_of_library(own), "{own}");
        }
    }

    #[test]
    fn versions_are_in_names() {
        assert_eq!(version_by_name("libpython3.9.so.1.0"), Some(0x0309_0000));
        assert_eq!(version_by_name("python3.10"), Some(0x030a_0000));
        assert_eq!(version_by_name("python3"), None);
        assert_eq!(version_by_name("solver"), None);
    }
}
