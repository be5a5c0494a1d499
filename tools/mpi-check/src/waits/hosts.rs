//! Deadlocks of ranks on several hosts, where these have a run folder in common (`MPI_TOOL_RUN`).
//!
//! The thread of each host that looks for deadlocks writes what its ranks wait for to a file there, when the thread of rank
//! 0's host has asked for that and none of its ranks can move by itself. That one asks twice. If all answers are the same
//! both times, each rank was in its call all the while between the last answer to the first question and the second question:
//! at that moment nobody could do anything. If besides as many records of messages were taken as sent, but for those of
//! messages in whose sending a rank stands, all messages between hosts are known. Then the ranks that need what nobody can give
//! any more wait for ever.
//!
//! A folder that shows files late makes this late, and one that is not in common lets nobody be accused.

use std::fs;
use std::path::{Path, PathBuf};

use mpi_tool_layer::run::{host, named_folder};

use super::seen::{Seen, SeenRank};
use super::{How, Need, state};
use crate::hosts::{self, Numbers};
use crate::messages::Channel;
use crate::places::Mark;
use crate::shared::{limit, shared};

const MAGIC: u64 = u64::from_le_bytes(*b"waits  1");
/// What makes the knowledge of messages incomplete.
const LIMITS: u32 = limit::MESSAGES | limit::ORDER | limit::COLLECTIVES | limit::RANKS;

/// What is asked and answered.
#[derive(Default)]
pub(super) struct Exchange {
    /// The last question that this host has asked or answered.
    round: u64,
    /// The answers to the first question.
    first: Option<Vec<Vec<u64>>>,
}

impl Exchange {
    /// The ranks of this host have been at the same calls for a while. Was a deadlock told?
    pub(super) fn look(&mut self, seen: &Seen) -> bool {
        let (Some(numbers), Some(folder)) = (hosts::numbers(), named_folder()) else {
            return false;
        };
        let Some(own) = to_words(seen) else {
            self.first = None;
            return false;
        };
        if numbers.own != numbers.first {
            self.answer(&folder, &numbers, seen.ranks.len());
            return false;
        }
        if self.round != 0
            && let Some(answers) = self.answers(&folder, &numbers, own)
        {
            match self.first.take() {
                None => self.first = Some(answers),
                Some(first) => {
                    if first == answers && tell(&answers, seen.ranks.len()) {
                        return true;
                    }
                }
            }
        } else if self.round != 0 {
            return false;
        }
        self.round += 1;
        write(&folder, &numbers, &[MAGIC, self.round]);
        false
    }

    /// Answers a question that is new.
    fn answer(&mut self, folder: &Path, numbers: &Numbers, size: usize) {
        let Some(asked) = read(folder, numbers, numbers.first) else { return };
        let [MAGIC, round] = asked[..] else { return };
        if round <= self.round {
            return;
        }
        // What was seen before the question was read is no answer.
        if let Some(words) = to_words(&Seen::of_host(size)) {
            write(folder, numbers, &[&[MAGIC, round], &words[..]].concat());
            self.round = round;
        }
    }

    /// The answers of all hosts to the last question, if they are there.
    fn answers(&self, folder: &Path, numbers: &Numbers, own: Vec<u64>) -> Option<Vec<Vec<u64>>> {
        let of = |number: u32| {
            if number == numbers.own {
                return Some(own.clone());
            }
            let words = read(folder, numbers, number)?;
            let (begin, rest) = words.split_at_checked(2)?;
            (begin == [MAGIC, self.round]).then(|| rest.to_vec())
        };
        (0..numbers.count).map(of).collect()
    }
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
    if fs::write(&part, bytes).is_ok() {
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

/// What the ranks of this host wait for; `None` if one of them can move by itself, or if not all is known.
fn to_words(seen: &Seen) -> Option<Vec<u64>> {
    if shared().has_reached(LIMITS) {
        return None;
    }
    let here =
        || seen.ranks.iter().enumerate().filter(|(rank, _)| !hosts::is_elsewhere(*rank as u32));
    if here().any(|(_, rank)| matches!(rank.state, state::RUNNING | state::POLLING)) {
        return None;
    }
    let mut words = vec![here().count() as u64];
    for (at, rank) in here() {
        words.extend([
            at as u64,
            rank.state.into(),
            rank.sequence,
            rank.function.into(),
            rank.mark.module,
            rank.mark.offset,
            rank.is_any.into(),
            rank.open.into(),
            rank.sent,
            rank.taken,
            rank.has_forgotten.into(),
            rank.needs.len() as u64,
            rank.entered.len() as u64,
        ]);
        for need in &rank.needs {
            let (kind, of_need) = need.to_words();
            words.push(kind.into());
            words.extend(of_need);
        }
        words.extend(rank.entered.iter().flatten());
    }
    words.push(seen.under_way.len() as u64);
    for channel in &seen.under_way {
        let ranks = u64::from(channel.source) << 32 | u64::from(channel.target);
        words.extend([channel.identity, ranks, channel.tag as u64]);
    }
    words.push(seen.unasked.len() as u64);
    words.extend(&seen.unasked);
    words.extend(&seen.asked);
    Some(words)
}

/// Adds what the ranks of a host wait for.
fn add(seen: &mut Seen, words: &[u64]) -> Option<()> {
    let mut words = words.iter().copied();
    let mut next = || words.next();
    for _ in 0..next()? {
        let at = next()? as usize;
        let mut rank = SeenRank {
            state: next()? as u32,
            sequence: next()?,
            function: next()? as u32,
            mark: Mark { module: next()?, offset: next()? },
            is_any: next()? != 0,
            open: next()? as u32,
            sent: next()?,
            taken: next()?,
            has_forgotten: next()? != 0,
            ..SeenRank::default()
        };
        let (needs, entered) = (next()?, next()?);
        for _ in 0..needs {
            rank.needs.push(Need::from_words(next()? as u32, [next()?, next()?, next()?]));
        }
        for _ in 0..entered {
            rank.entered.push([next()?, next()?, next()?]);
        }
        *seen.ranks.get_mut(at)? = rank;
    }
    for _ in 0..next()? {
        let (identity, ranks, tag) = (next()?, next()?, next()? as i64);
        let (source, target) = ((ranks >> 32) as u32, ranks as u32);
        seen.under_way.push(Channel { identity, source, target, tag });
    }
    for _ in 0..next()? {
        seen.unasked.push(next()?);
    }
    seen.asked.extend(words);
    Some(())
}

/// Tells which ranks can never go on, if there are any.
fn tell(answers: &[Vec<u64>], size: usize) -> bool {
    let ranks = vec![SeenRank::default(); size];
    let mut seen = Seen { ranks, is_of_all: true, ..Seen::default() };
    if answers.iter().any(|words| add(&mut seen, words).is_none()) {
        return false;
    }
    let sum = |of: fn(&SeenRank) -> u64| seen.ranks.iter().map(of).fold(0, u64::wrapping_add);
    let under_way = sum(|rank| rank.sent).wrapping_sub(sum(|rank| rank.taken));
    // Each that is not explained may be of a message that somebody waits for.
    if under_way != seen.records_under_way() {
        return false;
    }
    let stuck = seen.stuck(&How { is_strict: false, polling: Vec::new() });
    if !stuck.is_empty() {
        seen.tell(&stuck);
    }
    !stuck.is_empty()
}
