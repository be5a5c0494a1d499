//! Which ranks are shown: `--filter`, and `/` on the screen.

use std::fmt;
use std::str::FromStr;

use super::sample::How;
use super::text::Known;
use super::window::{LITTLE, RankSummary, Summary};
use crate::report::symbols::Symbols;

/// Words that all must fit a rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// As they were written.
    text: String,
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    /// It is those ranks that do not fit.
    is_not: bool,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// From the first rank to the last one of each.
    Ranks(Vec<(u32, u32)>),
    Now(How),
    Stands,
    Waits,
    /// In small letters.
    Text(String),
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        Ok(Self { text, words: words.into_iter().map(word).collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn word(word: &str) -> Result<Word, String> {
    let (is_not, text) = word.strip_prefix('!').map_or((false, word), |text| (true, text));
    let what = match text {
        "" => return Err("! stands in front of a word: !MPI_Recv".into()),
        "in-mpi" => What::Now(How::InMpi),
        "outside" => What::Now(How::Outside),
        "stopped" => What::Now(How::Stopped),
        "finalized" => What::Now(How::Finalized),
        "gone" => What::Now(How::Gone),
        "stands" => What::Stands,
        "waits" => What::Waits,
        // A name may begin with a digit, but has something else in it, too.
        _ if text.bytes().all(|byte| byte.is_ascii_digit() || b",-".contains(&byte)) => {
            What::Ranks(ranks(text)?)
        }
        _ => What::Text(text.to_lowercase()),
    };
    Ok(Word { is_not, what })
}

/// `0-7,12`
fn ranks(text: &str) -> Result<Vec<(u32, u32)>, String> {
    let number = |digits: &str| digits.parse::<u32>().ok();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        number(first).zip(number(last)).filter(|(first, last)| first <= last)
    };
    let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
    ranges.ok_or_else(|| format!("{text}: ranks are written as 3 or 0-7,12"))
}

impl Filter {
    fn fits(&self, rank: &RankSummary, known: &mut Known, symbols: &mut Symbols) -> bool {
        self.words.iter().all(|Word { is_not, what }| {
            let fits = match what {
                What::Ranks(ranges) => {
                    ranges.iter().any(|(first, last)| (*first..=*last).contains(&rank.rank))
                }
                What::Now(how) => rank.now == *how,
                What::Stands => rank.stands,
                What::Waits => rank.waits.first().is_some_and(|(_, share)| *share >= LITTLE),
                What::Text(text) => {
                    let at = known.mostly(rank, symbols).to_lowercase();
                    at.contains(text) || rank.host.to_lowercase().contains(text)
                }
            };
            fits != *is_not
        })
    }

    /// Leaves out ranks that do not fit, and waits of which no rank fits.
    pub(super) fn apply(&self, summary: &mut Summary, symbols: &mut Symbols) {
        if self.words.is_empty() {
            return;
        }
        let mut known = Known::default();
        for world in summary.worlds.values_mut() {
            let all = world.ranks.len();
            world.ranks.retain(|rank| self.fits(rank, &mut known, symbols));
            world.hidden += all - world.ranks.len();
            // They are in the order of their numbers.
            let ranks = &world.ranks;
            let has = |rank: &u32| ranks.binary_search_by_key(rank, |one| one.rank).is_ok();
            world.causes.retain(|cause| has(&cause.rank) || cause.waiting.iter().any(has));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hang::live::window::tests::example;

    /// Of rank 0, which works behind `MPI_Send`, and rank 1, which stands in `MPI_Recv` and waits for it.
    fn shown(filter: &str) -> (Vec<u32>, usize, usize) {
        let mut summary = example().summary();
        let filter: Filter = filter.parse().unwrap();
        filter.apply(&mut summary, &mut Symbols::default());
        let world = &summary.worlds[""];
        (world.ranks.iter().map(|rank| rank.rank).collect(), world.hidden, world.causes.len())
    }

    #[test]
    fn all_words_must_fit() {
        for (filter, ranks) in [
            ("", &[0, 1][..]),
            ("MPI_Recv", &[1]),
            ("mpi_recv", &[1]),
            ("!mpi_recv", &[0]),
            ("mpi_ node", &[0, 1]),
            ("in-mpi", &[0, 1]),
            ("outside", &[]),
            ("stands", &[1]),
            ("!stands", &[0]),
            ("waits", &[1]),
            ("0", &[0]),
            ("0,1-9", &[0, 1]),
            ("!0-0", &[1]),
            ("0 stands", &[]),
            ("app+0x2", &[1]),
            ("elsewhere", &[]),
        ] {
            let causes = usize::from(!ranks.is_empty());
            assert_eq!(shown(filter), (ranks.to_vec(), 2 - ranks.len(), causes), "{filter}");
        }
    }

    #[test]
    fn what_is_no_filter_is_told() {
        for wrong in ["!", "7-3", "1,,2", "-", "99999999999"] {
            assert!(wrong.parse::<Filter>().is_err(), "{wrong}");
        }
        assert!("2d_solver.c".parse::<Filter>().is_ok());
    }
}
