//! What a window says, in lines for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::sample::{Call, How};
use super::window::{Cause, RankSummary, Summary, WorldSummary, sort};
use crate::cli::SortBy;
use crate::hang::text::{count, list};
use crate::report::symbols::Symbols;

/// A line of the table.
pub(super) struct Line {
    pub(super) text: String,
    /// Its ranks have stood in one call all the time.
    pub(super) stands: bool,
}

/// The columns of [`lines`].
pub(super) const HEAD: &str = "     in MPI      calls/s  mostly";

/// All that is printed once.
pub(super) fn of(summary: &Summary, by: SortBy, top: usize, symbols: &mut Symbols) -> String {
    let mut text = String::new();
    for world in summary.worlds.values() {
        for sentence in sentences(summary, world, symbols) {
            let _ = writeln!(text, "{sentence}");
        }
        let lines = lines(world, by, symbols);
        let shown = if top == 0 { lines.len() } else { top };
        let _ = writeln!(text, "{HEAD}");
        for line in lines.iter().take(shown) {
            let _ = writeln!(text, "{}", line.text);
        }
        if lines.len() > shown {
            let _ = writeln!(text, "… and {} more lines (--top 0 has all)", lines.len() - shown);
        }
    }
    text
}

/// What is said first: how many ranks were seen for how long, and who waits for whom.
pub(super) fn sentences(
    summary: &Summary,
    world: &WorldSummary,
    symbols: &mut Symbols,
) -> Vec<String> {
    let seconds = summary.seconds;
    let of_hosts = match world.hosts {
        1 => String::new(),
        hosts => format!(" on {hosts} hosts"),
    };
    let shown = match world.hidden {
        0 => String::new(),
        _ => format!("; the filter shows {} of them", world.ranks.len()),
    };
    let mut sentences = vec![format!(
        "{} of {}{of_hosts}, looked at {} times in {seconds:.1} s{shown}",
        count(world.ranks.len() + world.hidden),
        world.size,
        summary.looks
    )];
    sentences.extend(world.unseen.clone());
    sentences.extend(causes(summary, world, symbols).lines().map(str::to_owned));
    let standing: Vec<u32> =
        world.ranks.iter().filter(|rank| rank.stands).map(|rank| rank.rank).collect();
    if !standing.is_empty() {
        sentences.push(format!(
            "{} {}: in one call for all of that time ({})",
            if standing.len() == 1 { "rank" } else { "ranks" },
            list(&standing),
            "mpi-tool hang tells whether they can go on"
        ));
    }
    sentences
}

/// Who waits for whom: a line for each of those that cost most.
pub(super) fn causes(summary: &Summary, world: &WorldSummary, symbols: &mut Symbols) -> String {
    let told = world.causes.iter().take(3);
    let mut text: String = told.map(|one| cause(one, summary.seconds, symbols) + "\n").collect();
    if world.causes.len() > 3 {
        let _ = writeln!(text, "others wait for {} more ranks", world.causes.len() - 3);
    }
    text
}

/// `ranks 1-3 wait 97 % of the last 5.0 s for rank 0, which is outside of MPI after MPI_Barrier at chain.c:14 main`
fn cause(cause: &Cause, seconds: f64, symbols: &mut Symbols) -> String {
    let (ranks, wait) = match cause.waiting[..] {
        [rank] => (format!("rank {rank}"), "waits"),
        _ => (format!("ranks {}", list(&cause.waiting)), "wait"),
    };
    let which = match &cause.doing {
        Some((how, call)) => format!(", which {}", doing(*how, call, symbols)),
        None => String::new(),
    };
    format!(
        "{ranks} {wait} {:.0} % of the last {seconds:.1} s for rank {}{which}",
        100.0 * cause.share,
        cause.rank
    )
}

/// What a rank does, behind "which".
pub(super) fn doing(how: How, call: &Call, symbols: &mut Symbols) -> String {
    let (function, site) = call;
    let frame = symbols.of_site(site).into_iter().next();
    let at = frame.map_or_else(String::new, |frame| format!(" at {}", frame.short()));
    match how {
        How::Outside => format!("is outside of MPI after {function}{at}"),
        How::InMpi => format!("is in {function}{at}"),
        How::Stopped => format!("is stopped, in or after {function}{at}"),
        How::Finalized => "has finalized MPI".into(),
        How::Gone => format!("is gone, after {function}{at}"),
    }
}

/// What ranks were found to do, in words: that of a place is looked up once, as many ranks are at the same one.
#[derive(Default)]
pub(super) struct Known(BTreeMap<(How, Call), String>);

impl Known {
    pub(super) fn mostly(&mut self, rank: &RankSummary, symbols: &mut Symbols) -> String {
        match &rank.mostly {
            _ if rank.now == How::Gone => "is gone".into(),
            _ if rank.now == How::Finalized => "has finalized MPI".into(),
            Some((how, call, _)) => {
                let known = self.0.entry((*how, call.clone()));
                known.or_insert_with(|| doing(*how, call, symbols)).clone()
            }
            None => "has made no call".into(),
        }
    }
}

/// A line for each rank, or for ranks that were found in the same place most.
pub(super) fn lines(world: &WorldSummary, by: SortBy, symbols: &mut Symbols) -> Vec<Line> {
    let mut ranks = world.ranks.clone();
    sort(&mut ranks, &world.causes, by);
    let mut order: Vec<String> = Vec::new();
    let mut groups: BTreeMap<String, Vec<RankSummary>> = BTreeMap::new();
    let mut known = Known::default();
    for rank in ranks {
        let what = known.mostly(&rank, symbols);
        if !groups.contains_key(&what) {
            order.push(what.clone());
        }
        groups.entry(what).or_default().push(rank);
    }
    order.into_iter().map(|what| line(&groups[&what], &what)).collect()
}

fn line(ranks: &[RankSummary], what: &str) -> Line {
    let shares = ranks.iter().map(|rank| 100.0 * rank.in_mpi);
    let (least, most) = shares
        .fold((100.0_f64, 0.0_f64), |(least, most), share| (least.min(share), most.max(share)));
    let share =
        if most - least < 1.0 { format!("{most:.0} %") } else { format!("{least:.0}-{most:.0} %") };
    let calls = ranks.iter().map(|rank| rank.calls_per_second).sum::<f64>() / ranks.len() as f64;
    let mut numbers: Vec<u32> = ranks.iter().map(|rank| rank.rank).collect();
    numbers.sort_unstable();
    let who = match numbers[..] {
        [rank] => format!("rank {rank}"),
        _ => format!("ranks {}", list(&numbers)),
    };
    let calls = format!("{calls:.1}");
    Line {
        text: format!("{share:>11} {calls:>12}  {who} {}", plural(ranks.len(), what)),
        stands: ranks.iter().any(|rank| rank.stands),
    }
}

/// `is` and `has` become `are` and `have` of several.
fn plural(ranks: usize, what: &str) -> String {
    let words = [("is ", "are "), ("has ", "have ")];
    let several =
        || words.iter().find_map(|(one, all)| Some(format!("{all}{}", what.strip_prefix(one)?)));
    if ranks == 1 { what.to_owned() } else { several().unwrap_or_else(|| what.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hang::live::window::tests::example;

    #[test]
    fn a_sentence_speaks_of_the_window() {
        let summary = example().summary();
        let said = of(&summary, SortBy::Rank, 20, &mut Symbols::default());
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines[0], "2 ranks of 2, looked at 10 times in 0.9 s");
        assert!(
            lines[1].starts_with("rank 1 waits 80 % of the last 0.9 s for rank 0, which is outside of MPI after MPI_Send"),
            "{said}"
        );
        assert!(lines[2].starts_with("rank 1: in one call for all of that time"), "{said}");
        assert_eq!(lines[3], HEAD);
        assert!(
            lines[4]
                .starts_with("       20 %         10.0  rank 0 is outside of MPI after MPI_Send"),
            "{said}"
        );
        assert!(lines[5].starts_with("      100 %          0.0  rank 1 is in MPI_Recv"), "{said}");
    }
}
