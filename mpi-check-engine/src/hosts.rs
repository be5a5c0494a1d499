//! Standstills of ranks on several hosts, each of which has a picture of its own.
//!
//! A host writes what its ranks wait for where all others can read it, when that of rank 0 has asked for it and none of its ranks
//! can move by itself. That one asks twice. If all answers are the same both times, each rank was in its call all the while between
//! the last answer to the first question and the second question: at that moment nobody could do anything. If besides as many
//! records of messages were taken as sent, but for those of messages in whose sending a rank stands, all messages between hosts are
//! known. Then the ranks that need what nobody can give any more wait for ever.

use crate::judge::How;
use crate::need::{Channel, Need};
use crate::picture::{CallSite, Entered, Picture, Rank, State};
use crate::standstill::Standstill;

const MAGIC: u64 = u64::from_le_bytes(*b"waits  1");

/// Where hosts read what others have written.
pub trait Board {
    /// This host's number.
    fn own(&self) -> u32;
    /// That of rank 0's host.
    fn first(&self) -> u32;
    /// How many hosts there are.
    fn count(&self) -> u32;
    /// Replaces what this host has written.
    fn write(&mut self, words: &[u64]);
    /// What a host has written, if it can be read.
    fn read(&self, host: u32) -> Option<Vec<u64>>;
    /// What the ranks of this host do now.
    fn look(&self) -> Picture;
    /// Is all known that a picture is of?
    fn is_complete(&self) -> bool;
}

/// What is asked and answered.
#[derive(Debug, Default)]
pub struct Exchange {
    /// The last question that this host has asked or answered.
    round: u64,
    /// The answers to the first question.
    first: Option<Vec<Vec<u64>>>,
}

impl Exchange {
    /// The ranks of this host have been at the same calls for a while. What is found of all hosts' ranks, with their picture.
    pub fn look(
        &mut self,
        picture: &Picture,
        board: &mut impl Board,
    ) -> Option<(Picture, Standstill)> {
        let Some(own) = to_words(picture, board) else {
            self.first = None;
            return None;
        };
        if board.own() != board.first() {
            self.answer(board);
            return None;
        }
        if self.round != 0 {
            let answers = self.answers(board, own)?;
            match self.first.take() {
                None => self.first = Some(answers),
                Some(first) => {
                    let is_same = first == answers;
                    if let Some(found) = is_same.then(|| judge(&answers, &picture.hosts)).flatten()
                    {
                        return Some(found);
                    }
                }
            }
        }
        self.round += 1;
        board.write(&[MAGIC, self.round]);
        None
    }

    /// Answers a question that is new.
    fn answer(&mut self, board: &mut impl Board) {
        let Some(asked) = board.read(board.first()) else { return };
        let [MAGIC, round] = asked[..] else { return };
        if round <= self.round {
            return;
        }
        // What was seen before the question was read is no answer.
        if let Some(words) = to_words(&board.look(), board) {
            board.write(&[&[MAGIC, round], &words[..]].concat());
            self.round = round;
        }
    }

    /// The answers of all hosts to the last question, if they are there.
    fn answers(&self, board: &impl Board, own: Vec<u64>) -> Option<Vec<Vec<u64>>> {
        let of = |number: u32| {
            if number == board.own() {
                return Some(own.clone());
            }
            let words = board.read(number)?;
            let (begin, rest) = words.split_at_checked(2)?;
            (begin == [MAGIC, self.round]).then(|| rest.to_vec())
        };
        (0..board.count()).map(of).collect()
    }
}

/// What the ranks of this host wait for; `None` if one of them can move by itself, or if not all is known.
fn to_words(picture: &Picture, board: &impl Board) -> Option<Vec<u64>> {
    if !board.is_complete() {
        return None;
    }
    let own = board.own();
    let is_here = |rank: &(usize, &Rank)| picture.hosts.get(rank.0) == Some(&own);
    let here = || picture.ranks.iter().enumerate().filter(is_here);
    if here().any(|(_, rank)| matches!(rank.state, State::Running | State::Polling)) {
        return None;
    }
    let mut words = vec![here().count() as u64];
    for (at, rank) in here() {
        words.extend([
            at as u64,
            rank.state as u64,
            rank.sequence,
            rank.function.into(),
            rank.site.module,
            rank.site.offset,
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
        words.extend(rank.entered.iter().flat_map(|it| [it.identity, it.number, it.size]));
    }
    words.push(picture.under_way.len() as u64);
    for channel in &picture.under_way {
        let ranks = u64::from(channel.source) << 32 | u64::from(channel.target);
        words.extend([channel.identity, ranks, channel.tag as u64]);
    }
    words.push(picture.unasked.len() as u64);
    words.extend(&picture.unasked);
    words.extend(&picture.asked);
    Some(words)
}

/// Adds what the ranks of a host wait for.
fn add(picture: &mut Picture, words: &[u64]) -> Option<()> {
    let mut words = words.iter().copied();
    let mut next = || words.next();
    for _ in 0..next()? {
        let at = next()? as usize;
        let mut rank = Rank {
            state: State::from_number(next()? as u32),
            sequence: next()?,
            function: next()? as u32,
            site: CallSite { module: next()?, offset: next()? },
            is_any: next()? != 0,
            open: next()? as u32,
            sent: next()?,
            taken: next()?,
            has_forgotten: next()? != 0,
            ..Rank::default()
        };
        let (needs, entered) = (next()?, next()?);
        for _ in 0..needs {
            rank.needs.push(Need::from_words(next()? as u32, [next()?, next()?, next()?]));
        }
        for _ in 0..entered {
            rank.entered.push(Entered { identity: next()?, number: next()?, size: next()? });
        }
        *picture.ranks.get_mut(at)? = rank;
    }
    for _ in 0..next()? {
        let (identity, ranks, tag) = (next()?, next()?, next()? as i64);
        let (source, target) = ((ranks >> 32) as u32, ranks as u32);
        picture.under_way.push(Channel { identity, source, target, tag });
    }
    for _ in 0..next()? {
        picture.unasked.push(next()?);
    }
    picture.asked.extend(words);
    Some(())
}

/// Which ranks can never go on, if there are any. `hosts`: the host of each rank.
fn judge(answers: &[Vec<u64>], hosts: &[u32]) -> Option<(Picture, Standstill)> {
    let ranks = vec![Rank::default(); hosts.len()];
    let mut all = Picture { ranks, hosts: hosts.to_vec(), is_of_all: true, ..Picture::default() };
    answers.iter().try_for_each(|words| add(&mut all, words))?;
    let sum = |of: fn(&Rank) -> u64| all.ranks.iter().map(of).fold(0, u64::wrapping_add);
    let under_way = sum(|rank| rank.sent).wrapping_sub(sum(|rank| rank.taken));
    // Each that is not explained may be of a message that somebody waits for.
    if under_way != all.records_under_way() {
        return None;
    }
    let found = all.standstill(&How::default())?;
    Some((all, found))
}
