//! A report for people.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::advice::advice;
use super::symbols::Frame;
use super::{Column, Communicator, Efficiency, Key, Line, Table, What, phases};

/// The tool's own part of the run is told if it is as much as this.
const TOLD: f64 = 0.01;

/// So many lines tell of collective operations by communicator.
const COLLECTIVES: usize = 5;

/// Writes the run, and the lines with most of the first measure: `top` of them, or all if that is 0, and then how one gets the
/// rest. Behind them come the collective operations, if there are any.
pub(super) fn write(
    out: &mut dyn Write,
    table: &Table,
    lines: BTreeMap<Key, Line>,
    collectives: BTreeMap<Key, Line>,
    frames: &[Vec<Frame>],
    (top, rest): (usize, &str),
) -> io::Result<()> {
    let Table { tool, version, events, .. } = table;
    write!(out, "# {tool} {version}: {events} of ")?;
    match (table.complete, table.ranks, table.rank) {
        (true, Some(1), _) | (false, Some(1), None) => write!(out, "1 rank")?,
        (true, Some(ranks), _) => write!(out, "{ranks} ranks")?,
        (_, Some(ranks), Some(rank)) => write!(out, "rank {rank} of {ranks} only")?,
        (false, Some(ranks), None) => write!(out, "{ranks} ranks")?,
        (_, _, Some(rank)) => write!(out, "rank {rank} only")?,
        _ => write!(out, "a process")?,
    }
    match &table.reason {
        Some(reason) => {
            let ended = reason.contains("SIG");
            let running =
                if ended { "; calls that had not returned then are not in it" } else { "" };
            writeln!(out, ", partial: {reason}{running}")?;
        }
        None => writeln!(out)?,
    }
    let (wall, share) = (&table.wall, &table.share);
    let mean = if wall.sum > 0.0 { table.inside.sum / wall.sum * 100.0 } else { 0.0 };
    write!(out, "wall time {:.3} s", wall.most / 1e9)?;
    if table.hosts.len() > 1 {
        write!(out, " on {} hosts", table.hosts.len())?;
    }
    let has_time = table.measures.iter().any(Column::is_time);
    if has_time {
        write!(out, ", in MPI {mean:.1} % of it")?;
    }
    if has_time && table.complete && table.ranks != Some(1) {
        let [least, most] = [share.least, share.most].map(|share| share * 100.0);
        let (low, high) = (share.least_rank, share.most_rank);
        write!(out, " (rank {low}: {least:.1} %, rank {high}: {most:.1} %)")?;
    }
    writeln!(out)?;
    if let (Some(useful), Some(efficiency), true) =
        (&table.useful, &table.efficiency, has_time && table.complete && table.ranks != Some(1))
    {
        let Efficiency { parallel, load_balance, communication, within_hosts, between_hosts } =
            efficiency;
        let [parallel, load_balance, communication] =
            [parallel, load_balance, communication].map(|part| part * 100.0);
        write!(
            out,
            "parallel efficiency {parallel:.1} % = load balance {load_balance:.1} % (rank {} is the busiest",
            useful.most_rank
        )?;
        if let (Some(within), Some(between)) = (within_hosts, between_hosts) {
            let [within, between] = [within, between].map(|part| part * 100.0);
            write!(out, "; within hosts {within:.1} %, between them {between:.1} %")?;
        }
        writeln!(out, ") × communication efficiency {communication:.1} %")?;
    } else if let (Some(useful), None, true) =
        (&table.useful, &table.efficiency, has_time && table.complete && table.ranks != Some(1))
    {
        writeln!(
            out,
            "efficiencies are not known: several threads of rank {} are in MPI at the same time",
            useful.least_rank
        )?;
    }
    phases::write(out, table)?;
    for sentence in advice(table, frames) {
        writeln!(out, "{sentence}")?;
    }
    let overhead = table.overhead.as_ref().map_or(0.0, |overhead| overhead.sum);
    let part = overhead / table.wall.sum.max(1.0);
    if part >= TOLD {
        writeln!(out, "{} itself took {:.1} % of the run", table.tool, part * 100.0)?;
    }
    if table.lost > 0 {
        writeln!(out, "{} {events} could not be counted: no memory", table.lost)?;
    }
    let all = lines.values().map(Line::first).fold(0, u64::saturating_add);
    let shown = shown(&lines, table);
    for (index, column) in shown.iter().copied().filter(|(index, _)| *index > 0) {
        let of = |line: &Line| line.measures[index].sum;
        let is_estimated = lines.values().any(|line| line.measures[index].is_estimated);
        if column.is_time() {
            let sum = lines.values().map(of).fold(0, u64::saturating_add);
            let part = sum as f64 / all.max(1) as f64 * 100.0;
            let how = if is_estimated { ", as estimated" } else { "" };
            writeln!(out, "{} {part:.1} % of the time in MPI{how}", column.name)?;
        }
    }
    let mut header = String::new();
    let first_is_time = table.measures.first().is_some_and(Column::is_time);
    let whole = if first_is_time { "of MPI" } else { "of all" };
    for (index, column) in shown.iter().copied() {
        header += &format!("{:>12}", column.name);
        if index == 0 {
            header += &format!(" {whole:>7} {:>9} {events:>12}", "imbalance");
        }
    }
    writeln!(out, "{header}  what, where")?;
    let lines = sorted(lines);
    let printed = if top == 0 { lines.len() } else { top.min(lines.len()) };
    for (key, line) in &lines[..printed] {
        writeln!(out, "{}  {}", numbers(table, &shown, line, all), name(table, key, frames))?;
    }
    if lines.len() > printed {
        writeln!(out, "and {} lines more: {rest}", lines.len() - printed)?;
    }
    if !collectives.is_empty() {
        writeln!(out, "collective operations by communicator:")?;
    }
    for (key, line) in sorted(collectives).iter().take(COLLECTIVES) {
        writeln!(out, "{}  {}", numbers(table, &shown, line, all), name(table, key, frames))?;
    }
    Ok(())
}

/// The measures that are printed, with their positions: the first one, and all of which there are values, or which count
/// anything but time.
pub(super) fn shown<'a>(lines: &BTreeMap<Key, Line>, table: &'a Table) -> Vec<(usize, &'a Column)> {
    let is_measured = |index: usize| lines.values().any(|line| line.measures[index].count > 0);
    let columns = table.measures.iter().enumerate();
    columns
        .filter(|(index, column)| *index == 0 || !column.is_time() || is_measured(*index))
        .collect()
}

/// Those with most of the first measure first.
pub(super) fn sorted(lines: BTreeMap<Key, Line>) -> Vec<(Key, Line)> {
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by(|(one_key, one), (other_key, other)| {
        other.first().cmp(&one.first()).then_with(|| one_key.cmp(other_key))
    });
    lines
}

/// The numbers of a line. `all` is the sum of the first measure over all lines.
fn numbers(table: &Table, shown: &[(usize, &Column)], line: &Line, all: u64) -> String {
    let mut text = String::new();
    for (index, column) in shown.iter().copied() {
        let sums = &line.measures[index];
        text += &format!("{:>12}", amount(sums.sum, &column.unit));
        if index == 0 {
            let part = sums.sum as f64 / all.max(1) as f64 * 100.0;
            let ranks = table.ranks.filter(|_| table.complete).unwrap_or(1) as f64;
            // How much longer than the mean of all ranks the slowest one took.
            let imbalance = sums.by_rank.filter(|of| of.sum > 0.0 && ranks > 1.0);
            let imbalance = imbalance.map_or(String::new(), |of| {
                format!("{:.0} %", (of.most / (of.sum / ranks) - 1.0) * 100.0)
            });
            text += &format!(" {part:>5.1} % {imbalance:>9} {:>12}", line.events);
        }
    }
    text
}

/// What a line is about.
pub(super) fn name(table: &Table, key: &Key, frames: &[Vec<Frame>]) -> String {
    let function = &key.function;
    match key.what {
        What::All => function.clone(),
        What::Others(others) => format!("{function}, {others}"),
        What::Unknown => format!("{function}, unknown communicator"),
        What::Site(site) => {
            let frames: Vec<_> = frames[site].iter().map(Frame::short).collect();
            format!("{function}, {}", frames.join(" < "))
        }
        What::Communicator(number) => {
            let known = table.communicators[number].as_ref();
            format!("{function}, {}", known.map_or(String::new(), Communicator::short))
        }
        What::Size(most) => format!("{function}, up to {}", amount(most, "bytes")),
        What::Phase(phase) => format!("{function}, {}", phases::title(table, phase)),
    }
}

/// A number with its unit, in a few digits.
pub(super) fn amount(value: u64, unit: &str) -> String {
    let value = value as f64;
    match unit {
        "nanoseconds" => format!("{:.6} s", value / 1e9),
        "bytes" if value < 1e3 => format!("{value} B"),
        "bytes" => {
            let (factor, name) = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")]
                .into_iter()
                .find(|(factor, _)| value >= *factor)
                .unwrap_or((1.0, "B"));
            format!("{:.1} {name}", value / factor)
        }
        _ => value.to_string(),
    }
}
