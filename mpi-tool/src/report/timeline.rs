//! When in the run the ranks were in MPI.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::Table;

/// The share of MPI of a rank, or of neighbours in the mean, in stretches of the run.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Stretches {
    /// The lowest of the ranks.
    pub(super) rank: u64,
    pub(super) ranks: u64,
    /// How long a stretch is, in nanoseconds.
    pub(super) width: u64,
    /// The share of each stretch, in thousandths.
    pub(super) permille: Vec<u16>,
}

/// So many rows and stretches a report has at most.
const MOST: usize = 4096;

/// Refuses what no tool writes, and what would make too large a picture.
pub(super) fn check(table: &Table) -> Result<()> {
    let rows = &table.timeline;
    if rows.len() > MOST {
        bail!("the timeline has {} rows, and at most {MOST} are allowed", rows.len());
    }
    for row in rows {
        if row.width == 0 || row.width != rows[0].width {
            bail!("the timeline has stretches of {} ns beside others", row.width);
        }
        if row.permille.len() > MOST || row.permille.iter().any(|share| *share > 1000) {
            bail!("the timeline of rank {} is not of shares in thousandths", row.rank);
        }
    }
    Ok(())
}

/// What happened in a part of the run.
#[derive(Debug, PartialEq)]
pub(super) struct Part {
    /// When it begins and ends, in nanoseconds.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The mean share of MPI.
    pub(super) mean: f64,
    /// The rows with least and with most of it, by their first ranks, and their shares.
    pub(super) least: (u64, f64),
    pub(super) most: (u64, f64),
}

/// The run in at most so many parts of equal length.
pub(super) fn parts(rows: &[Stretches], most: usize) -> Vec<Part> {
    let Some(first) = rows.first() else { return Vec::new() };
    let length = rows.iter().map(|row| row.permille.len()).max().unwrap_or(0);
    let each = length.div_ceil(most.max(1)).max(1);
    let part = |begin: usize| {
        let end = (begin + each).min(length);
        let (mut sum, mut ranks) = (0.0, 0);
        let mut lowest: Option<(u64, f64)> = None;
        let mut highest = lowest;
        for row in rows {
            let Some(shares) = row.permille.get(begin..end.min(row.permille.len())) else {
                continue;
            };
            if shares.is_empty() {
                continue;
            }
            let share = shares.iter().map(|share| f64::from(*share)).sum::<f64>()
                / shares.len() as f64
                / 1000.0;
            sum += share * row.ranks as f64;
            ranks += row.ranks;
            if lowest.is_none_or(|(_, least)| share < least) {
                lowest = Some((row.rank, share));
            }
            if highest.is_none_or(|(_, most)| share > most) {
                highest = Some((row.rank, share));
            }
        }
        let (least, most) = (lowest?, highest?);
        let moment = |bin: usize| (bin as u64).saturating_mul(first.width);
        Some(Part {
            from: moment(begin),
            to: moment(end),
            mean: sum / ranks.max(1) as f64,
            least,
            most,
        })
    };
    (0..length).step_by(each).filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: rank 0 has 25, 75, 50 % and ranks 1 to 3 together 50, 100 %; in two parts of two stretches, the means of
    /// which are 50 and 75 %, so (50 + 3 * 75) / 4, and 50 % of rank 0, since the others have ended.
    #[test]
    fn parts_of_a_run() {
        let row = |rank, ranks, permille: &[u16]| Stretches {
            rank,
            ranks,
            width: 5,
            permille: permille.to_vec(),
        };
        let rows = [row(0, 1, &[250, 750, 500]), row(1, 3, &[500, 1000])];
        let two = parts(&rows, 2);
        assert_eq!(
            two,
            [
                Part { from: 0, to: 10, mean: 0.6875, least: (0, 0.5), most: (1, 0.75) },
                Part { from: 10, to: 15, mean: 0.5, least: (0, 0.5), most: (0, 0.5) },
            ]
        );
        assert_eq!(parts(&rows, 100).len(), 3);
        assert!(parts(&[], 10).is_empty());
    }
}
