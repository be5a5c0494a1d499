//! Which of the program's own code makes the others wait: the time between two calls of MPI in which the rank with most work
//! takes longer than the mean of all ranks.
//!
//! What load imbalance costs is the most useful time of a rank less the mean one. That is the sum over all segments, and of what
//! belongs to none, of what the rank with most took there beyond the mean: so the lines add up to it.

pub(super) mod list;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::matching::{Call, Site};
use super::symbols::Frame;
use super::{Extremes, Table, What, phases, sites};

/// So many of them are told at most.
const MOST: usize = 5;

/// What belongs to no segment, in words.
const ELSEWHERE: &str = "elsewhere";

/// What is less than this part of what load imbalance costs has no line of its own.
const WORTH_SAYING: f64 = 0.05;

/// The segments of a report.
#[derive(Debug, Deserialize)]
pub(super) struct Segments {
    /// The rank with most useful time.
    rank: u64,
    rows: Vec<Row>,
    /// What belongs to none.
    elsewhere: Elsewhere,
}

/// A segment.
#[derive(Debug, Deserialize)]
struct Row {
    before: String,
    before_site: Value,
    after: String,
    after_site: Value,
    phase: Value,
    time: Extremes,
    /// The time of the rank with most useful time.
    busiest: f64,
    /// Of the segments that cost most: of each rank, by its number.
    by_rank: Option<Vec<u64>>,
}

impl Row {
    /// What it is known by. `same` says which sites are one.
    fn key(&self, same: &[usize]) -> Key {
        let phase =
            if self.phase.is_string() { u64::MAX } else { self.phase.as_u64().unwrap_or(0) };
        let before = End::of(&self.before, &self.before_site, same);
        let after = End::of(&self.after, &self.after_site, same);
        Key { before, after, phase }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Elsewhere {
    sum: f64,
    busiest: f64,
}

/// One end of a segment: a call, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End {
    pub(super) function: String,
    /// Its number from 0.
    pub(super) site: Option<usize>,
    /// There was no room to tell it from others.
    is_of_others: bool,
}

impl End {
    fn of(function: &str, site: &Value, same: &[usize]) -> Self {
        let index = site.as_u64().and_then(|site| usize::try_from(site).ok()?.checked_sub(1));
        let site_of = |index: usize| same.get(index).copied();
        Self {
            function: function.to_owned(),
            site: index.and_then(site_of),
            is_of_others: site.is_string(),
        }
    }

    /// The call, with its place.
    fn call(&self, frames: &[Vec<Frame>]) -> Call {
        let Self { function, site, is_of_others } = self;
        let of = site.and_then(|site| frames.get(site)).cloned();
        Call {
            function: function.clone(),
            frames: of.unwrap_or_default(),
            is_of_others: *is_of_others,
        }
    }

    /// `MPI_Allreduce at slow.c:9 (norm)`, or with the callers, too.
    pub(super) fn text(&self, frames: &[Vec<Frame>], has_callers: bool) -> String {
        self.call(frames).at(has_callers)
    }
}

/// What a segment is known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) before: End,
    pub(super) after: End,
    /// Of the program's, or 0; the greatest number of those for which there was no room.
    pub(super) phase: u64,
}

/// A segment as a report tells of it, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Times {
    /// All ranks' together.
    pub(super) sum: f64,
    /// The rank's that has most useful time.
    pub(super) busiest: f64,
}

impl Times {
    /// Both together.
    fn and(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, busiest: self.busiest + other.busiest }
    }

    /// What the rank with most useful time took beyond the mean of all ranks.
    pub(super) fn beyond(self, ranks: u64) -> f64 {
        self.busiest - self.sum / ranks.max(1) as f64
    }
}

/// The segments of a report; those of one line of the source are one.
pub(super) fn lines(table: &Table, frames: &[Vec<Frame>]) -> BTreeMap<Key, Times> {
    let mut lines: BTreeMap<Key, Times> = BTreeMap::new();
    let Some(segments) = &table.segments else { return lines };
    let same = sites::same(table, frames);
    for row in &segments.rows {
        let times = lines.entry(row.key(&same)).or_default();
        *times = times.and(Times { sum: row.time.sum, busiest: row.busiest });
    }
    lines
}

/// Whose time of a segment runs are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The rank's with most useful time.
    Busiest,
    /// The mean of the ranks.
    Mean,
}

/// Nobody measures how much the times of a segment vary: they are taken to do so by as much as they are long.
const VARIATION: f64 = 1.0;

/// The segments of a report as runs are compared by them. Those of several phases are one. What belongs to none is the last
/// one, between no calls. `None` where a report does not tell of segments.
///
/// # Errors
/// The report is not as a report should be.
pub(super) fn of_run(
    table: &Table,
    frames: &[Vec<Frame>],
    whose: Whose,
) -> Result<Option<Vec<Site>>> {
    let Some(Segments { elsewhere, .. }) = &table.segments else { return Ok(None) };
    let ranks = table.ranks.unwrap_or(1).max(1) as f64;
    let mut events: BTreeMap<End, u64> = BTreeMap::new();
    for (key, line) in sites::lines(table, frames)? {
        let site = if let What::Site(site) = key.what { Some(site) } else { None };
        let is_of_others = matches!(key.what, What::Others(_));
        let end = End { function: key.function, site, is_of_others };
        let sum = events.entry(end).or_default();
        *sum = sum.saturating_add(line.events);
    }
    let mut united: BTreeMap<(End, End), Times> = BTreeMap::new();
    for (Key { before, after, .. }, times) in lines(table, frames) {
        let sum = united.entry((before, after)).or_default();
        *sum = sum.and(times);
    }
    let site = |calls: Vec<Call>, times: Times, count: f64| {
        let time = if whose == Whose::Mean { times.sum / ranks } else { times.busiest };
        Site { calls, seconds: time / 1e9, count, variation: VARIATION }
    };
    let between = united.into_iter().map(|((before, after), times)| {
        // How often a segment was is not known, but it was not more often than either of its calls.
        let counts = [&before, &after].map(|end| events.get(end).copied().unwrap_or(0));
        let calls = [&before, &after].map(|end| end.call(frames));
        site(calls.into(), times, counts[0].min(counts[1]) as f64 / ranks)
    });
    let Elsewhere { sum, busiest } = *elsewhere;
    // It is less than nothing where several threads compute at the same time: that is no time to compare by.
    let sum = if whose == Whose::Mean { sum.max(0.0) } else { sum };
    let elsewhere = site(Vec::new(), Times { sum, busiest }, 0.0);
    Ok(Some(between.chain([elsewhere]).collect()))
}

/// What segments are called.
struct Names<'a> {
    table: &'a Table,
    frames: &'a [Vec<Frame>],
    /// How many there are of each name without callers.
    short: BTreeMap<String, usize>,
}

impl<'a> Names<'a> {
    fn of(table: &'a Table, frames: &'a [Vec<Frame>], lines: &BTreeMap<Key, Times>) -> Self {
        let mut names = Self { table, frames, short: BTreeMap::new() };
        for key in lines.keys() {
            let name = names.text(key, false);
            *names.short.entry(name).or_default() += 1;
        }
        names
    }

    fn text(&self, key: &Key, has_callers: bool) -> String {
        let Key { before, after, phase } = key;
        let [before, after] = [before, after].map(|end| end.text(self.frames, has_callers));
        let phase = match *phase {
            0 => String::new(),
            u64::MAX => " in other phases".to_owned(),
            phase => format!(" in {}", phases::title(self.table, phase)),
        };
        format!("between {before} and {after}{phase}")
    }

    /// The name of a segment: with the callers, if calls in one line have different ones.
    fn name(&self, key: &Key) -> String {
        let short = self.text(key, false);
        if self.short.get(&short) == Some(&1) { short } else { self.text(key, true) }
    }
}

/// A segment by its name, with the functions around both of its calls; what belongs to none has no calls.
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) calls: Option<[Vec<Frame>; 2]>,
    /// The nanoseconds of all ranks.
    pub(super) sum: f64,
}

/// All segments of a report, and what belongs to none as the last one; none where it does not tell of them.
pub(super) fn all(table: &Table, frames: &[Vec<Frame>]) -> Vec<Listed> {
    let Some(Segments { elsewhere, .. }) = &table.segments else { return Vec::new() };
    let lines = lines(table, frames);
    let names = Names::of(table, frames, &lines);
    let listed = |(key, times): (&Key, &Times)| {
        let calls = [&key.before, &key.after].map(|end| end.call(frames).frames);
        Listed { name: names.name(key), calls: Some(calls), sum: times.sum }
    };
    let elsewhere = Listed { name: ELSEWHERE.to_owned(), calls: None, sum: elsewhere.sum };
    lines.iter().map(listed).chain([elsewhere]).collect()
}

/// Refuses what no tool writes.
pub(super) fn check(table: &Table) -> Result<()> {
    for row in table.segments.iter().flat_map(|segments| &segments.rows) {
        let of_ranks = row.by_rank.as_ref().map(|times| times.len() as u64);
        if of_ranks.is_some_and(|ranks| Some(ranks) != table.ranks) {
            bail!("a segment has the times of another number of ranks");
        }
    }
    Ok(())
}

/// A segment in which the rank with most useful time takes much longer than the mean of all.
pub(super) struct Worst {
    pub(super) name: String,
    pub(super) times: Times,
    /// By how much longer.
    pub(super) beyond: f64,
    /// The time of each rank; none where the report does not have it.
    pub(super) by_rank: Vec<f64>,
    /// What of all ranks' time is not in it.
    pub(super) unknown: f64,
}

/// The worst segments of a report of all ranks, the worst one first, and how long the rank with most useful time computes beyond
/// the mean in all others.
pub(super) fn worst(table: &Table, frames: &[Vec<Frame>]) -> (Vec<Worst>, f64) {
    let (Some(segments), Some(ranks), true) = (&table.segments, table.ranks, table.complete) else {
        return (Vec::new(), 0.0);
    };
    let Elsewhere { sum, busiest } = segments.elsewhere;
    let lines = lines(table, frames);
    let elsewhere = Times { sum, busiest }.beyond(ranks);
    let cost = elsewhere + lines.values().map(|times| times.beyond(ranks)).sum::<f64>();
    let is_worst = |beyond: f64| beyond > 0.0 && beyond >= cost * WORTH_SAYING;
    let mut worst: Vec<_> = lines
        .iter()
        .map(|(key, times)| (times.beyond(ranks), key, times))
        .filter(|(beyond, ..)| is_worst(*beyond))
        .collect();
    worst.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    worst.truncate(MOST);
    let names = Names::of(table, frames, &lines);
    let mut of_ranks: BTreeMap<&Key, Vec<f64>> = BTreeMap::new();
    let same = sites::same(table, frames);
    for (row, times) in segments.rows.iter().filter_map(|row| Some((row, row.by_rank.as_ref()?))) {
        let key = row.key(&same);
        let Some((_, key, _)) = worst.iter().find(|(_, worst, _)| **worst == key) else { continue };
        let sums = of_ranks.entry(key).or_insert_with(|| vec![0.0; times.len()]);
        sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += *time as f64);
    }
    let rest = cost - worst.iter().map(|(beyond, ..)| beyond).sum::<f64>();
    let worst = worst.into_iter().map(|(beyond, key, times)| {
        let by_rank = of_ranks.remove(key).unwrap_or_default();
        let unknown = times.sum - by_rank.iter().sum::<f64>();
        Worst { name: names.name(key), times: *times, beyond, by_rank, unknown }
    });
    (worst.collect(), rest)
}

/// Where the rank with most work takes longer than the mean of all: the worst segments first, each in a sentence, and what is
/// left to what load imbalance costs. Nothing where a report does not tell of segments.
pub(super) fn sentences(table: &Table, frames: &[Vec<Frame>]) -> Vec<String> {
    let Some(Segments { rank, rows, .. }) = &table.segments else { return Vec::new() };
    let (worst, rest) = worst(table, frames);
    let sentence = |Worst { name, beyond, .. }: &Worst| {
        format!("rank {rank} computes {:.3} s longer than the mean {name}", beyond / 1e9)
    };
    let mut sentences: Vec<_> = worst.iter().map(sentence).collect();
    let than = if rest < 0.0 { "shorter" } else { "longer" };
    if rows.is_empty() || !table.complete {
        return sentences;
    }
    if sentences.is_empty() {
        sentences.push(format!(
            "where rank {rank} computes longer is not known: not between two calls of one thread"
        ));
    } else {
        sentences.push(format!(
            "rank {rank} computes {:.3} s {than} than the mean elsewhere",
            rest.abs() / 1e9
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::Format;
    use crate::report::frames;
    use crate::report::symbols::Symbols;

    /// Three ranks, of which rank 2 has most work: places 1 and 2 are one line of `halo`, and place 4 is that line, too, but
    /// called by another function.
    fn table() -> Table {
        let place = |offset: u64, function: &str, line: u64| {
            json!({"file": "/b/app", "build_id": "ab", "offset": offset,
                "frames": [{"function": function, "file": "/s/slow.c", "line": line}]})
        };
        let spread = json!({"sum": 9, "least": 1, "least_rank": 0, "most": 5, "most_rank": 2});
        let time = |seconds: f64| json!({"sum": seconds * 1e9, "least": 0, "least_rank": 0, "most": 0, "most_rank": 2});
        let row = |before_site: Value, after_site: Value, phase: Value, sum: f64, busiest: f64| {
            json!({"before": "MPI_Waitall", "before_site": before_site, "after": "MPI_Allreduce", "after_site": after_site,
                "phase": phase, "ranks": 3, "time": time(sum), "busiest": busiest * 1e9})
        };
        let (main, other) = (place(9, "main", 20), place(8, "other", 30));
        serde_json::from_value(json!({
            "tool": "t", "version": "1", "complete": true, "ranks": 3, "wall": spread, "inside": spread, "share": spread,
            "lost": 0, "events": "calls", "measures": [{"name": "time", "unit": "nanoseconds"}], "rows": [],
            "sites": [
                [place(1, "halo", 8), main], [place(2, "halo", 8), main], [place(3, "norm", 9), main],
                [place(1, "halo", 8), other],
            ],
            "segments": {"rank": 2, "rows": [
                row(1.into(), 3.into(), Value::Null, 3.0, 2.0),
                row(2.into(), 3.into(), Value::Null, 0.3, 0.2),
                row(4.into(), 3.into(), Value::Null, 3.0, 1.5),
                row("others".into(), 3.into(), 7.into(), 0.9, 0.7),
                row(Value::Null, 99.into(), Value::Null, 0.6, 0.1),
            ], "elsewhere": {"sum": 0.3e9, "busiest": 0.15e9}},
        }))
        .unwrap()
    }

    /// By hand: of 3.3 s, the mean is 1.1 s, and rank 2 took 2.2 s; of 3 s it took 1.5 s of a mean of 1 s; of 0.9 s 0.7 s of a
    /// mean of 0.3 s. What is left is 0.1 s less than the mean of 0.2 s, and 0.05 s more than that of 0.1 s.
    #[test]
    fn the_worst_segments_come_first_and_add_up() {
        let table = table();
        let frames = frames(&table, &mut Symbols::default());
        let norm = "MPI_Allreduce at slow.c:9 (norm)";
        assert_eq!(
            sentences(&table, &frames),
            [
                format!(
                    "rank 2 computes 1.100 s longer than the mean between MPI_Waitall at slow.c:8 (halo) < slow.c:20 main \
                     and {norm} < slow.c:20 main"
                ),
                format!(
                    "rank 2 computes 0.500 s longer than the mean between MPI_Waitall at slow.c:8 (halo) < slow.c:30 other \
                     and {norm} < slow.c:20 main"
                ),
                // Of 0.4 s.
                format!(
                    "rank 2 computes 0.400 s longer than the mean between MPI_Waitall at other places and {norm} in phase 7"
                ),
                "rank 2 computes 0.050 s shorter than the mean elsewhere".to_owned(),
            ]
        );
    }

    /// The same numbers as a list: in text, the worst first, in CSV and in JSON.
    #[test]
    fn all_segments_are_listed() {
        let table = table();
        let frames = frames(&table, &mut Symbols::default());
        let written = |to: Format, top: usize| {
            let mut out = Vec::new();
            list::write(&mut out, &table, &frames, to, (top, "REST")).unwrap();
            String::from_utf8(out).unwrap()
        };
        let norm = "MPI_Allreduce at slow.c:9 (norm) < slow.c:20 main";
        assert_eq!(
            written(Format::Text, 2),
            format!(
                "# t 1: code of 3 ranks between two calls\n\
                 rank 2 computes 4.650 s, the average rank 2.700 s\n   \
                 all ranks of useful       rank 2  beyond mean  code\n  \
                 3.300000 s    40.7 %   2.200000 s   1.100000 s  between MPI_Waitall at slow.c:8 (halo) < slow.c:20 main and {norm}\n  \
                 3.000000 s    37.0 %   1.500000 s   0.500000 s  between MPI_Waitall at slow.c:8 (halo) < slow.c:30 other and {norm}\n  \
                 0.300000 s     3.7 %   0.150000 s   0.050000 s  elsewhere\n\
                 and 2 lines more: REST\n"
            )
        );
        assert_eq!(written(Format::Text, 0).lines().count(), 3 + 4 + 1);
        let csv = written(Format::Csv, 2);
        let mut read = ::csv::Reader::from_reader(csv.as_bytes());
        let records: Vec<Vec<String>> = read
            .records()
            .map(|record| record.unwrap().iter().map(str::to_owned).collect())
            .collect();
        let of_others = ["MPI_Waitall", "others", "MPI_Allreduce"];
        let other = records.iter().find(|record| record[..3] == of_others).unwrap();
        assert_eq!(
            other[3..],
            [
                "/s/slow.c:9 norm < /s/slow.c:20 main",
                "7",
                "0.900000000",
                "0.700000000",
                "0.400000000"
            ]
        );
        assert_eq!(records.len(), 5);
        assert_eq!(records[4][..6], ["", "", "", "", "", "0.300000000"]);
        let json: Value = serde_json::from_str(&written(Format::Json, 2)).unwrap();
        let first = &json["rows"][0];
        assert_eq!(
            first["before"]["frames"][0],
            json!({"function": "halo", "file": "/s/slow.c", "line": 8})
        );
        assert_eq!(json["rows"][2]["before"]["frames"], "others");
        assert_eq!((&json["rows"][2]["phase"], &first["phase"]), (&json!(7), &Value::Null));
        let beyond: f64 = json["rows"]
            .as_array()
            .unwrap()
            .iter()
            .chain([&json["elsewhere"]])
            .map(|row| row["beyond"].as_f64().unwrap())
            .sum();
        assert!((beyond - 1.95e9).abs() < 1.0, "{beyond}");
    }

    /// Threads that compute at the same time leave less than nothing for what belongs to no segment: 0 in a list and a comparison.
    #[test]
    fn less_than_nothing_is_not_told() {
        let mut table = table();
        let elsewhere = |sum: f64| Elsewhere { sum, busiest: sum };
        table.segments.as_mut().unwrap().elsewhere = elsewhere(-100.0);
        let frames = frames(&table, &mut Symbols::default());
        let mut out = Vec::new();
        list::write(&mut out, &table, &frames, Format::Text, (1, "")).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\n  0.000000 s     0.0 %   0.000000 s  "), "{text}");
        table.segments.as_mut().unwrap().elsewhere = elsewhere(-5e9);
        let sites = of_run(&table, &frames, Whose::Mean).unwrap().unwrap();
        assert_eq!(sites.last().unwrap().seconds, 0.0);
    }

    /// Two rows are one line: 1 and 2 s of the ranks, and 3 times 0.1 s. Of the third row the report does not say it.
    #[test]
    fn the_times_of_ranks_are_added_up() {
        let mut table = table();
        let rows = &mut table.segments.as_mut().unwrap().rows;
        rows[0].by_rank = Some(vec![0, 1_000_000_000, 2_000_000_000]);
        rows[1].by_rank = Some(vec![100_000_000; 3]);
        check(&table).unwrap();
        let frames = frames(&table, &mut Symbols::default());
        let (worst, rest) = worst(&table, &frames);
        assert_eq!(worst[0].by_rank, [0.1e9, 1.1e9, 2.1e9]);
        assert!(worst[0].unknown.abs() < 1.0 && (rest + 0.05e9).abs() < 1.0);
        assert_eq!((worst[1].by_rank.len(), worst[1].unknown), (0, 3e9));
        table.ranks = Some(4);
        assert!(check(&table).is_err());
    }

    #[test]
    fn reports_without_segments_say_nothing_of_them() {
        let mut table = table();
        table.complete = false;
        assert_eq!(sentences(&table, &[]), [""; 0]);
        table.complete = true;
        table.segments = None;
        assert_eq!(sentences(&table, &[]), [""; 0]);
    }
}
