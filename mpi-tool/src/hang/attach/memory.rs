//! The memory of another process. Reading it stops nobody.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

#[derive(Debug)]
pub(super) struct Memory(File);

impl Memory {
    pub(super) fn of(pid: u32) -> io::Result<Self> {
        File::open(format!("/proc/{pid}/mem")).map(Self)
    }

    /// As much as there is of so many bytes.
    pub(super) fn read(&self, begin: u64, length: u64) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let mut read = 0;
        while read < bytes.len() {
            match self.0.read_at(&mut bytes[read..], begin + read as u64) {
                Ok(0) | Err(_) => break,
                Ok(more) => read += more,
            }
        }
        bytes.truncate(read);
        bytes
    }
}

/// The same for many small pieces: each page is read once, and is as it was then.
pub(super) struct Pages<'memory> {
    memory: &'memory Memory,
    pages: RefCell<HashMap<u64, Vec<u8>>>,
}

const PAGE: u64 = 4096;

impl<'memory> Pages<'memory> {
    pub(super) fn new(memory: &'memory Memory) -> Self {
        Self { memory, pages: RefCell::default() }
    }
}

impl mpi_tool_python::Memory for Pages<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let mut pages = self.pages.borrow_mut();
        let mut at = address;
        let mut rest = bytes;
        while !rest.is_empty() {
            let inside = (at % PAGE) as usize;
            let page =
                pages.entry(at - at % PAGE).or_insert_with_key(|at| self.memory.read(*at, PAGE));
            let Some(there) = page.get(inside..).filter(|there| !there.is_empty()) else {
                return false;
            };
            let length = there.len().min(rest.len());
            let (now, later) = rest.split_at_mut(length);
            now.copy_from_slice(&there[..length]);
            let Some(next) = at.checked_add(length as u64) else { return false };
            (at, rest) = (next, later);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use mpi_tool_python::Memory as _;

    use super::{Memory, Pages};

    #[test]
    fn pieces_are_what_is_there() {
        let own = Memory::of(std::process::id()).unwrap();
        let pages = Pages::new(&own);
        let bytes: Vec<u8> = (0..20_000_u32).map(|number| (number % 251) as u8).collect();
        let begin = bytes.as_ptr().expose_provenance() as u64;
        let mut some = vec![0; 9000];
        assert!(pages.read(begin + 1234, &mut some));
        assert_eq!(some, bytes[1234..10_234]);
        for nowhere in [8, u64::MAX - 3] {
            assert!(!pages.read(nowhere, &mut [0; 8]));
        }
    }
}
