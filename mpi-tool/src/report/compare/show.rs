//! A comparison as text, JSON and CSV.

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use super::{Comparison, Item, Side};
use crate::cli::PRINTS_ALL;

/// So many segments are told of, also if fewer have changed.
const SEGMENTS: usize = 5;

/// For people: what has changed first. `top` lines, or all if that is 0.
pub(super) fn text(out: &mut dyn Write, comparison: &Comparison, top: usize) -> Result<()> {
    let Comparison { before, after, run, sites, segments, phases, ranks, rule, tool, .. } =
        comparison;
    let segments = segments.as_deref().unwrap_or_default();
    writeln!(out, "# {tool}: {} compared with {}", side(after), side(before))?;
    if before.ranks != after.ranks {
        writeln!(out, "the sides have different numbers of ranks: times are means of the ranks")?;
    }
    for item in run {
        writeln!(out, "{}", in_words(item))?;
    }
    let count = |items: &[Item]| items.iter().filter(|item| item.verdict.is_change()).count();
    if comparison.changed {
        let [segments, phases, ranks] = [segments, phases, ranks].map(count);
        write!(out, "changed beyond noise: {} call sites", count(sites))?;
        for (number, what) in [(segments, "segments"), (phases, "phases"), (ranks, "ranks")] {
            if number > 0 {
                write!(out, ", {number} {what}")?;
            }
        }
        writeln!(out)?;
    } else {
        writeln!(out, "{}", without_change(comparison))?;
    }
    writeln!(out, "({rule})")?;
    if let Some(words) = without_segments(comparison) {
        writeln!(out, "{words}")?;
    }
    let lists = [
        (&sites[..], "what, where"),
        (segments, "code"),
        (phases, "phase"),
        (ranks, "rank, time in MPI"),
    ];
    for (items, what) in lists {
        if items.is_empty() {
            continue;
        }
        // Ranks and phases are only told of where they have changed, and so are segments, but for a few.
        let shown = match (what, top) {
            ("what, where" | "code", 0) => items.len(),
            ("what, where", top) => top.min(items.len()),
            ("code", top) => count(items).max(SEGMENTS).min(top).min(items.len()),
            _ => count(items).min(10),
        };
        if shown == 0 {
            continue;
        }
        writeln!(
            out,
            "{:>12} {:>12} {:>9} {:>20} {:>8}  {what}",
            "before", "after", "change", "interval", ""
        )?;
        for item in &items[..shown] {
            writeln!(
                out,
                "{:>12} {:>12} {:>9} {:>20} {:>8}  {}",
                seconds(item.mean_before),
                seconds(item.mean_after),
                item.change.map_or(String::new(), signed),
                interval(item),
                item.verdict.words(),
                item.name
            )?;
        }
        if what == "what, where" && items.len() > shown {
            writeln!(out, "and {} lines more: {PRINTS_ALL}", items.len() - shown)?;
        }
    }
    Ok(())
}

/// One object.
pub(super) fn json(out: &mut dyn Write, comparison: &Comparison) -> Result<()> {
    writeln!(out, "{:#}", json!(comparison))?;
    Ok(())
}

/// A line for each thing that is compared.
pub(super) fn csv(out: &mut dyn Write, comparison: &Comparison) -> Result<()> {
    let mut csv = ::csv::Writer::from_writer(out);
    let header = [
        "what",
        "name",
        "seconds_before",
        "seconds_after",
        "change",
        "change_least",
        "change_most",
        "verdict",
    ];
    csv.write_record(header)?;
    let Comparison { run, sites, segments, phases, ranks, .. } = comparison;
    let segments = segments.as_deref().unwrap_or_default();
    let lists = [
        ("run", &run[..]),
        ("site", sites),
        ("segment", segments),
        ("phase", phases),
        ("rank", ranks),
    ];
    for (what, items) in lists {
        for item in items {
            let number =
                |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let (least, most) = item.interval.unzip();
            csv.write_record([
                what.to_owned(),
                item.name.clone(),
                item.mean_before.to_string(),
                item.mean_after.to_string(),
                number(item.change),
                number(least),
                number(most),
                item.verdict.words().to_owned(),
            ])?;
        }
    }
    csv.flush()?;
    Ok(())
}

/// What is said where nothing is called a change.
pub(super) fn without_change(comparison: &Comparison) -> &'static str {
    match comparison.run.iter().any(|item| item.is_judged) {
        true => "no change beyond noise",
        false => "nothing is called a change: how much of it is noise is not known",
    }
}

/// Why nothing is said of segments, though some reports tell of them.
pub(super) fn without_segments(comparison: &Comparison) -> Option<String> {
    let name = comparison.without_segments.as_ref()?;
    Some(format!(
        "{name} has no segments, so it is unknown which code between calls has changed (an earlier version of the tool wrote it, \
         or MPI_TOOL_MPI_PROFILE_SEGMENTS=0 was set)"
    ))
}

/// The runs of a side, in words.
pub(super) fn side(side: &Side) -> String {
    let files = match &side.files[..] {
        [file] => file.clone(),
        [first, .., last] => format!("{} runs ({first} to {last})", side.files.len()),
        [] => "nothing".to_owned(),
    };
    match side.ranks {
        Some(ranks) => format!("{files}, {ranks} ranks"),
        None => files,
    }
}

/// `wall time 1.000 s, before 0.900 s: +11.1 % (…), slower`.
pub(super) fn in_words(item: &Item) -> String {
    let Item { name, mean_before, mean_after, change, verdict, is_judged, .. } = item;
    let mut text = format!("{name} {}, before {}", seconds(*mean_after), seconds(*mean_before));
    if let Some(change) = change {
        text += &format!(": {}", signed(*change));
    }
    let between = interval(item);
    if !between.is_empty() {
        text += &format!(" (95 % interval {between})");
    }
    let what = match (verdict.is_change(), is_judged) {
        (true, _) => verdict.words(),
        (false, true) => "within noise",
        (false, false) => "not judged",
    };
    format!("{text}, {what}")
}

/// The interval of a change.
pub(super) fn interval(item: &Item) -> String {
    item.interval
        .map_or(String::new(), |(least, most)| format!("{} to {}", signed(least), signed(most)))
}

pub(super) fn seconds(value: f64) -> String {
    format!("{value:.6} s")
}

/// A part in percent, with its sign.
pub(super) fn signed(part: f64) -> String {
    format!("{:+.1} %", part * 100.0)
}
