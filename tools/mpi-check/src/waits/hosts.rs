//! Deadlocks of ranks on several hosts, where these have a run folder in common (`MPI_TOOL_RUN`).
//!
//! The thread of each host that looks for deadlocks writes what its ranks wait for to a file there, when the engine says so
//! ([`Exchange`]), and reads what others have written.
//!
//! A folder that shows files late makes this late, and one that is not in common lets nobody be accused.

use std::fs;
use std::path::{Path, PathBuf};

use mpi_check_engine::{Board, Exchange, Picture};
use mpi_tool_layer::run::{host, named_folder};
use mpi_tool_layer::without_signals;

use super::{seen, tell};
use crate::hosts::{self, Numbers};
use crate::shared::{limit, shared};

/// What makes the knowledge of messages incomplete.
const LIMITS: u32 = limit::MESSAGES | limit::ORDER | limit::COLLECTIVES | limit::RANKS;

/// The files of the hosts.
struct Files {
    folder: PathBuf,
    numbers: Numbers,
    /// How many ranks are known.
    size: usize,
}

impl Board for Files {
    fn own(&self) -> u32 {
        self.numbers.own
    }

    fn first(&self) -> u32 {
        self.numbers.first
    }

    fn count(&self) -> u32 {
        self.numbers.count
    }

    fn write(&mut self, words: &[u64]) {
        write(&self.folder, &self.numbers, words);
    }

    fn read(&self, host: u32) -> Option<Vec<u64>> {
        read(&self.folder, &self.numbers, host)
    }

    fn look(&self) -> Picture {
        seen::of_host(self.size)
    }

    fn is_complete(&self) -> bool {
        !shared().has_reached(LIMITS)
    }
}

/// The ranks of this host have been at the same calls for a while. Was a deadlock told?
pub(super) fn look(exchange: &mut Exchange, seen: &Picture) -> bool {
    let (Some(numbers), Some(folder)) = (hosts::numbers(), named_folder()) else {
        return false;
    };
    let mut files = Files { folder, numbers, size: seen.ranks.len() };
    let found = exchange.look(seen, &mut files);
    if let Some((all, found)) = &found {
        tell::tell(all, found, 0, 0);
    }
    found.is_some()
}

/// Where the file of a host is: its name begins with the host's, by which `mpi-tool clean` knows whose it is.
fn path(folder: &Path, numbers: &Numbers, number: u32) -> Option<PathBuf> {
    let end = format!("-{:016x}-{number}.check", numbers.token);
    if number == numbers.own {
        return Some(folder.join(host() + &end));
    }
    let entries = fs::read_dir(folder).ok()?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.find(|path| path.to_string_lossy().ends_with(&end))
}

fn write(folder: &Path, numbers: &Numbers, words: &[u64]) {
    let Some(path) = path(folder, numbers, numbers.own) else { return };
    let part = path.with_extension("check.part");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    // What cannot be written is not told.
    if without_signals(|| fs::write(&part, bytes)).is_ok() {
        let _ = fs::rename(part, path);
    }
}

fn read(folder: &Path, numbers: &Numbers, number: u32) -> Option<Vec<u64>> {
    let bytes = fs::read(path(folder, numbers, number)?).ok()?;
    let words = bytes.chunks_exact(8).map(|word| word.try_into().map(u64::from_le_bytes));
    words.collect::<Result<_, _>>().ok()
}

/// The program is over.
pub(crate) fn remove() {
    if let (Some(numbers), Some(folder)) = (hosts::numbers(), named_folder())
        && let Some(path) = path(&folder, &numbers, numbers.own)
    {
        // It is there only if somebody has asked.
        let _ = fs::remove_file(path);
    }
}
