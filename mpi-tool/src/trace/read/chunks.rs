//! The pieces that a process's file consists of.

use std::fs::File;
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
    /// Reads its records.
    pub(super) fn read(&self, file: &File, records: &mut Vec<u8>) -> Result<()> {
        records.resize(self.length, 0);
        Ok(file.read_exact_at(records, self.at)?)
    }
}

/// All pieces that have been begun.
pub(super) fn chunks(file: &File) -> Result<Vec<Chunk>> {
    let whole = file.metadata()?.len();
    let mut chunks = Vec::new();
    let mut at = HEADER as u64;
    let mut head = [0; chunk::RECORDS];
    while at + PAGE as u64 <= whole {
        file.read_exact_at(&mut head, at)?;
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
