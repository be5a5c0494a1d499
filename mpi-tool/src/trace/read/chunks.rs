//! The pieces that a process's file consists of.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;

use anyhow::{Result, bail};
use mpi_facts::trace::{HEADER, PAGE, chunk};

/// A word of bytes that are long enough.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at * 8..at * 8 + 8)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// The text that begins at a word.
pub(super) fn text(bytes: &[u8], at: usize, words: usize) -> Option<String> {
    let bytes = bytes.get(at * 8..(at + words) * 8)?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// A file whose process may still write to it. A short one is read at once, so that little changes meanwhile.
pub(super) enum Bytes {
    InMemory(Vec<u8>),
    InFile(File),
}

/// Longer files stay where they are, in bytes.
const SHORT: u64 = 1 << 22;

impl Bytes {
    pub(super) fn of(mut file: File) -> io::Result<Self> {
        if file.metadata()?.len() > SHORT {
            return Ok(Self::InFile(file));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::InMemory(bytes))
    }

    fn length(&self) -> io::Result<u64> {
        match self {
            Self::InMemory(bytes) => Ok(bytes.len() as u64),
            Self::InFile(file) => Ok(file.metadata()?.len()),
        }
    }

    pub(super) fn read(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Self::InMemory(bytes) => {
                let from = usize::try_from(at).ok().and_then(|at| bytes.get(at..at + into.len()));
                into.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Self::InFile(file) => file.read_exact_at(into, at),
        }
    }
}

/// A piece of the file: where its records are.
pub(super) struct Chunk {
    pub(super) thread: u64,
    pub(super) sequence: u64,
    pub(super) first: u64,
    pub(super) time: u64,
    pub(super) at: u64,
    pub(super) length: usize,
}

impl Chunk {
    /// Reads its records. `false` if the process has begun to write others there meanwhile: then the piece is gone.
    pub(super) fn read(&self, file: &Bytes, records: &mut Vec<u8>) -> Result<bool> {
        records.resize(self.length, 0);
        file.read(records, self.at)?;
        let mut head = [0; chunk::RECORDS];
        file.read(&mut head, self.at - chunk::RECORDS as u64)?;
        let word = |number| word(&head, number).unwrap_or(0);
        let is_same = [word(chunk::THREAD), word(chunk::SEQUENCE)] == [self.thread, self.sequence];
        Ok(is_same && word(chunk::USED) >= self.length as u64)
    }
}

/// All pieces that have been begun.
pub(super) fn chunks(file: &Bytes) -> Result<Vec<Chunk>> {
    let whole = file.length()?;
    let mut chunks = Vec::new();
    let mut at = HEADER as u64;
    let mut head = [0; chunk::RECORDS];
    while at + PAGE as u64 <= whole {
        file.read(&mut head, at)?;
        let word = |number| word(&head, number).unwrap_or(0);
        let length = word(chunk::LENGTH);
        if length == 0 {
            // The process was killed between making room and using it.
            at += PAGE as u64;
            continue;
        }
        if length % PAGE as u64 != 0 || length > whole - at {
            bail!(
                "it is damaged at byte {at}, or not whole: a piece of it is longer than the rest"
            );
        }
        let used = word(chunk::USED);
        if used > length - chunk::RECORDS as u64 {
            bail!(
                "it is damaged at byte {at}: more is said to be in a piece of it than it has room for"
            );
        }
        chunks.push(Chunk {
            thread: word(chunk::THREAD),
            sequence: word(chunk::SEQUENCE),
            first: word(chunk::FIRST),
            time: word(chunk::TIME),
            at: at + chunk::RECORDS as u64,
            length: usize::try_from(used)?,
        });
        at += length;
    }
    Ok(chunks)
}
