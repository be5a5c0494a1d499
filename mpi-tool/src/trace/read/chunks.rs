//! The pieces that a process's file consists of.

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

/// A piece of the file.
pub(super) struct Chunk<'a> {
    pub(super) thread: u64,
    pub(super) sequence: u64,
    pub(super) first: u64,
    pub(super) time: u64,
    pub(super) records: &'a [u8],
}

/// All pieces that have been begun.
pub(super) fn chunks(bytes: &[u8]) -> Result<Vec<Chunk<'_>>> {
    let mut chunks = Vec::new();
    let mut at = HEADER;
    while at + PAGE <= bytes.len() {
        let whole = &bytes[at..];
        let word = |number| word(whole, number).unwrap_or(0);
        let length = word(chunk::LENGTH);
        if length == 0 {
            // The process was killed between making room and using it.
            at += PAGE;
            continue;
        }
        let length = usize::try_from(length).ok().filter(|length| length % PAGE == 0);
        let Some(whole) = length.and_then(|length| whole.get(..length)) else {
            bail!(
                "it is damaged at byte {at}, or not whole: a piece of it is longer than the rest"
            );
        };
        let used = usize::try_from(word(chunk::USED)).ok();
        let Some(records) = used
            .and_then(|used| used.checked_add(chunk::RECORDS))
            .and_then(|end| whole.get(chunk::RECORDS..end))
        else {
            bail!(
                "it is damaged at byte {at}: more is said to be in a piece of it than it has room for"
            );
        };
        chunks.push(Chunk {
            thread: word(chunk::THREAD),
            sequence: word(chunk::SEQUENCE),
            first: word(chunk::FIRST),
            time: word(chunk::TIME),
            records,
        });
        at += whole.len();
    }
    Ok(chunks)
}
