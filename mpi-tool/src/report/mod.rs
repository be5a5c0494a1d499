//! `mpi-tool report`: reads a report with a table, and prints it with source lines.

mod csv;
mod symbols;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::{By, Format, Report};
use symbols::{Frame, Symbols};

/// A report as tools write it: what is used of it. `docs/report.md` describes all.
#[derive(Debug, Deserialize)]
struct Table {
    tool: String,
    version: String,
    complete: bool,
    ranks: Option<u64>,
    rank: Option<u64>,
    reason: Option<String>,
    wall: Extremes,
    share: Extremes,
    inside: Extremes,
    /// Reports of earlier versions have neither.
    useful: Option<Extremes>,
    efficiency: Option<Efficiency>,
    lost: u64,
    events: String,
    measures: Vec<Column>,
    sites: Vec<Vec<Place>>,
    rows: Vec<Value>,
}

/// A number of each rank.
#[derive(Debug, Deserialize)]
struct Extremes {
    #[serde(default)]
    sum: f64,
    least: f64,
    least_rank: u64,
    most: f64,
    most_rank: u64,
}

/// How much of the ranks' time is time of the program's own, and why not all of it.
#[derive(Debug, Deserialize)]
struct Efficiency {
    parallel: f64,
    load_balance: f64,
    communication: f64,
}

#[derive(Debug, Deserialize)]
struct Column {
    name: String,
    unit: String,
}

/// A place in a program or library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Place {
    file: String,
    build_id: String,
    offset: u64,
}

/// What a line of the printed report is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    function: String,
    site: Where,
}

/// From where a function was called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Where {
    /// From everywhere, or nobody knows.
    Anywhere,
    /// From places for which there was no room.
    Others,
    /// By the site's number, from 0.
    Site(usize),
}

/// What is said of it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Line {
    events: u64,
    measures: Vec<Sums>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Sums {
    count: u64,
    sum: u64,
    least: Option<u64>,
    most: Option<u64>,
    /// The most of a rank, and the mean of all: only where a line is one row.
    by_rank: Option<(f64, f64)>,
}

impl Sums {
    fn of(value: &Value) -> Self {
        let number = |name: &str| value[name].as_u64();
        let by_rank = &value["by_rank"];
        Self {
            count: number("count").unwrap_or(0),
            sum: number("sum").unwrap_or(0),
            least: number("least"),
            most: number("most"),
            by_rank: by_rank["most"].as_f64().zip(by_rank["sum"].as_f64()),
        }
    }

    fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.least = [self.least, other.least].into_iter().flatten().min();
        self.most = self.most.max(other.most);
        self.by_rank = None;
    }
}

impl Report {
    pub(crate) fn run(&self) -> Result<()> {
        let name = self.file.display();
        let text = fs::read_to_string(&self.file).with_context(|| name.to_string())?;
        let mut value: Value =
            serde_json::from_str(&text).with_context(|| format!("{name} is no report in JSON"))?;
        match value["schema"].as_str() {
            Some("mpi-tool-report/2") => {}
            Some(other) => {
                bail!("{name} is a report of schema {other}, which has no table to print")
            }
            None => bail!("{name} is no report of a tool"),
        }
        let is_broken = || format!("{name} is not as a report should be");
        let table: Table = serde_json::from_value(value.clone()).with_context(is_broken)?;
        let mut symbols = Symbols::default();
        let mut out = Vec::new();
        let frames = |symbols: &mut Symbols| -> Vec<Vec<Frame>> {
            let of_site =
                |site: &Vec<Place>| site.iter().flat_map(|place| symbols.of(place)).collect();
            table.sites.iter().map(of_site).collect()
        };
        match (self.to, self.by) {
            (Format::Json, By::Site) => {
                with_frames(&mut value, &table, &mut symbols);
                writeln!(out, "{value:#}")?;
            }
            (Format::Json, By::Function) => {
                writeln!(out, "{:#}", by_function(&table).with_context(is_broken)?)?;
            }
            (Format::Csv, by) => {
                let lines = lines(&table, by).with_context(is_broken)?;
                csv::write(&mut out, &table, &lines, by, &frames(&mut symbols))?;
            }
            (Format::Text, by) => {
                let lines = lines(&table, by).with_context(is_broken)?;
                let frames = if by == By::Site { frames(&mut symbols) } else { Vec::new() };
                text::write(&mut out, &table, lines, &frames, self.top)?;
            }
        }
        symbols.complain();
        match io::stdout().write_all(&out) {
            // Whoever reads it may stop before its end.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// The rows of a table, added up.
fn lines(table: &Table, by: By) -> Result<BTreeMap<Key, Line>> {
    let mut lines: BTreeMap<Key, Line> = BTreeMap::new();
    for row in &table.rows {
        let function = row["function"].as_str().context("a row has no function")?.to_owned();
        let site = match (&row["site"], by) {
            (_, By::Function) | (Value::Null, _) => Where::Anywhere,
            (Value::String(_), _) => Where::Others,
            (number, _) => {
                let number = number.as_u64().and_then(|number| usize::try_from(number).ok());
                let index = number.and_then(|number| number.checked_sub(1));
                let index = index.filter(|index| *index < table.sites.len());
                Where::Site(index.context("a row has a site that is not there")?)
            }
        };
        let events = row[&table.events].as_u64().context("a row has no number of events")?;
        let measures: Vec<_> =
            table.measures.iter().map(|column| Sums::of(&row[&column.name])).collect();
        lines
            .entry(Key { function, site })
            .and_modify(|line| {
                line.events = line.events.saturating_add(events);
                for (sum, more) in line.measures.iter_mut().zip(&measures) {
                    sum.add(more);
                }
            })
            .or_insert(Line { events, measures });
    }
    Ok(lines)
}

/// Adds the source lines to each place of a report.
fn with_frames(report: &mut Value, table: &Table, symbols: &mut Symbols) {
    let sites = report["sites"].as_array_mut().into_iter().flatten();
    for (site, places) in sites.zip(&table.sites) {
        for (value, place) in site.as_array_mut().into_iter().flatten().zip(places) {
            let frames = symbols.of(place);
            value["frames"] = frames.iter().map(Frame::to_json).collect();
        }
    }
}

/// The functions as an object.
fn by_function(table: &Table) -> Result<Value> {
    let rows = lines(table, By::Function)?.into_iter().map(|(key, line)| {
        let mut row = json!({"function": key.function});
        row[&table.events] = line.events.into();
        for (column, sums) in table.measures.iter().zip(&line.measures) {
            let Sums { count, sum, least, most, .. } = sums;
            row[&column.name] = json!({"count": count, "sum": sum, "least": least, "most": most});
        }
        row
    });
    let rows: Vec<_> = rows.collect();
    Ok(json!({
        "tool": table.tool, "version": table.version, "complete": table.complete,
        "ranks": table.ranks, "rank": table.rank, "reason": table.reason, "rows": rows,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sites of one function, and another function: by hand.
    #[test]
    fn rows_are_added_up_by_function() {
        let measured = |count: u64, sum: u64, least: u64, most: u64| {
            json!({"count": count, "sum": sum, "least": least, "most": most,
                "by_rank": {"sum": sum, "most": sum}})
        };
        let extremes = json!({"sum": 1.0, "least": 1, "least_rank": 0, "most": 1, "most_rank": 0});
        let table: Table = serde_json::from_value(json!({
            "tool": "t", "version": "1", "complete": true, "ranks": 1,
            "wall": extremes, "inside": extremes, "share": extremes, "lost": 0, "events": "calls",
            "measures": [{"name": "time", "unit": "nanoseconds"}],
            "sites": [
                [{"file": "/a", "build_id": "", "offset": 1}],
                [{"file": "/a", "build_id": "", "offset": 2}],
            ],
            "rows": [
                {"function": "MPI_Send", "site": 1, "calls": 2, "time": measured(2, 10, 4, 6)},
                {"function": "MPI_Send", "site": 2, "calls": 1, "time": measured(1, 3, 3, 3)},
                {"function": "MPI_Send", "site": "others", "calls": 5, "time": null},
                {"function": "MPI_Recv", "site": null, "calls": 1, "time": measured(1, 7, 7, 7)},
            ],
        }))
        .unwrap();
        let functions = lines(&table, By::Function).unwrap();
        let sum = |function: &str| {
            let key = Key { function: function.into(), site: Where::Anywhere };
            let line = &functions[&key];
            let Sums { count, sum, least, most, .. } = line.measures[0];
            (line.events, count, sum, least, most)
        };
        assert_eq!(functions.len(), 2);
        assert_eq!(sum("MPI_Send"), (8, 3, 13, Some(3), Some(6)));
        assert_eq!(sum("MPI_Recv"), (1, 1, 7, Some(7), Some(7)));
        assert_eq!(lines(&table, By::Site).unwrap().len(), 4);
        let mut out = Vec::new();
        csv::write(&mut out, &table, &functions, By::Function, &[]).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "function,calls,seconds,seconds_least,seconds_most\n\
             MPI_Recv,1,0.000000007,0.000000007,0.000000007\n\
             MPI_Send,8,0.000000013,0.000000003,0.000000006\n"
        );
    }
}
