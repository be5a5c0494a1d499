//! All segments of a report, as text, JSON and CSV.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::super::symbols::Frame;
use super::{ELSEWHERE, Elsewhere, End, Key, Names, Segments, Table, Times, lines};
use crate::cli::Format;

/// Writes the segments of a report that has them, those first in which the rank with most useful time takes longest beyond the
/// mean. The text has so many of them as `top` says, or all if that is 0, and then how one gets the rest.
pub(in super::super) fn write(
    out: &mut dyn Write,
    table: &Table,
    frames: &[Vec<Frame>],
    to: Format,
    (top, rest): (usize, &str),
) -> Result<()> {
    let Some(segments) = &table.segments else { return Ok(()) };
    let lines = lines(table, frames);
    match to {
        Format::Text => text(out, table, segments, &lines, frames, (top, rest))?,
        Format::Json => {
            let rows = worst_first(table, &lines).into_iter().map(|(key, times)| {
                let [before, after] = [&key.before, &key.after].map(|end| end.json(frames));
                row(table, json!({"before": before, "after": after, "phase": key.phase()}), times)
            });
            let Elsewhere { sum, busiest } = segments.elsewhere;
            let object = json!({
                "tool": table.tool, "version": table.version, "ranks": table.ranks, "rank": segments.rank,
                "rows": rows.collect::<Vec<_>>(), "elsewhere": row(table, json!({}), Times { sum, busiest }),
            });
            writeln!(out, "{object:#}")?;
        }
        Format::Csv => csv(out, table, segments, &lines, frames)?,
    }
    Ok(())
}

impl Table {
    fn number_of_ranks(&self) -> u64 {
        self.ranks.unwrap_or(1)
    }
}

impl End {
    fn json(&self, frames: &[Vec<Frame>]) -> Value {
        let call = self.call(frames);
        let frames: Value = call.frames.iter().map(Frame::to_json).collect();
        json!({"function": call.function, "frames": if call.is_of_others { "others".into() } else { frames }})
    }

    /// The place of the call and its callers, with the paths of their files.
    fn place(&self, frames: &[Vec<Frame>]) -> String {
        let call = self.call(frames);
        match call.is_of_others {
            true => "others".to_owned(),
            false => call.frames.iter().map(Frame::long).collect::<Vec<_>>().join(" < "),
        }
    }
}

impl Key {
    /// As rows of reports have it.
    fn phase(&self) -> Value {
        match self.phase {
            0 => Value::Null,
            u64::MAX => "others".into(),
            phase => phase.into(),
        }
    }
}

/// An object with the times of a segment, in nanoseconds.
fn row(table: &Table, mut row: Value, times: Times) -> Value {
    row["time"] = times.sum.into();
    row["busiest"] = times.busiest.into();
    row["beyond"] = times.beyond(table.number_of_ranks()).into();
    row
}

fn worst_first<'a>(table: &Table, lines: &'a BTreeMap<Key, Times>) -> Vec<(&'a Key, Times)> {
    let mut all: Vec<_> = lines.iter().map(|(key, times)| (key, *times)).collect();
    let beyond = |times: Times| times.beyond(table.number_of_ranks());
    all.sort_by(|(_, one), (_, other)| beyond(*other).total_cmp(&beyond(*one)));
    all
}

fn text(
    out: &mut dyn Write,
    table: &Table,
    segments: &Segments,
    lines: &BTreeMap<Key, Times>,
    frames: &[Vec<Frame>],
    (top, rest): (usize, &str),
) -> Result<()> {
    let (rank, ranks) = (segments.rank, table.number_of_ranks());
    let Elsewhere { sum, busiest } = segments.elsewhere;
    let elsewhere = Times { sum, busiest };
    let of_all = |times: Times| lines.values().fold(times, |all, more| all.and(*more));
    let all = of_all(elsewhere);
    writeln!(out, "# {} {}: code of {ranks} ranks between two calls", table.tool, table.version)?;
    writeln!(
        out,
        "rank {rank} computes {:.3} s, the average rank {:.3} s",
        all.busiest / 1e9,
        all.sum / ranks as f64 / 1e9
    )?;
    let rank = format!("rank {rank}");
    writeln!(out, "{:>12} {:>9} {rank:>12} {:>12}  code", "all ranks", "of useful", "beyond mean")?;
    let mut line = |times: Times, name: &str| {
        let [sum, busiest, beyond] = [times.sum, times.busiest, times.beyond(ranks)]
            .map(|time| format!("{:.6} s", (time / 1e3).round() / 1e6 + 0.0));
        // Nothing is not less than nothing, which rounding would make of it.
        let part = (times.sum / all.sum.max(1.0) * 1000.0).round() / 10.0 + 0.0;
        writeln!(out, "{sum:>12} {part:>7.1} % {busiest:>12} {beyond:>12}  {name}")
    };
    let names = Names::of(table, frames, lines);
    let worst = worst_first(table, lines);
    let printed = if top == 0 { worst.len() } else { top.min(worst.len()) };
    for (key, times) in &worst[..printed] {
        line(*times, &names.name(key))?;
    }
    line(elsewhere, ELSEWHERE)?;
    if worst.len() > printed {
        writeln!(out, "and {} lines more: {rest}", worst.len() - printed)?;
    }
    Ok(())
}

fn csv(
    out: &mut dyn Write,
    table: &Table,
    segments: &Segments,
    lines: &BTreeMap<Key, Times>,
    frames: &[Vec<Frame>],
) -> Result<()> {
    let mut csv = ::csv::Writer::from_writer(out);
    csv.write_record([
        "before",
        "before_site",
        "after",
        "after_site",
        "phase",
        "seconds",
        "seconds_busiest",
        "seconds_beyond_mean",
    ])?;
    let numbers = |times: Times| {
        [times.sum, times.busiest, times.beyond(table.number_of_ranks())]
            .map(|time| format!("{:.9}", time / 1e9))
    };
    for (key, times) in lines {
        let phase = match key.phase {
            0 => String::new(),
            u64::MAX => "others".to_owned(),
            phase => phase.to_string(),
        };
        let [before, after] =
            [&key.before, &key.after].map(|end| [end.function.clone(), end.place(frames)]);
        csv.write_record(before.into_iter().chain(after).chain([phase]).chain(numbers(*times)))?;
    }
    let Elsewhere { sum, busiest } = segments.elsewhere;
    let empty = [const { String::new() }; 5];
    csv.write_record(empty.into_iter().chain(numbers(Times { sum, busiest })))?;
    csv.flush()?;
    Ok(())
}
