//! `mpi-tool report`: reads a report with a table, and prints it with source lines.

mod advice;
mod compare;
mod csv;
pub(crate) mod export;
#[cfg(test)]
mod hostile;
pub(crate) mod html;
mod matching;
mod matrix;
mod partial;
mod phases;
mod placement;
mod read;
pub(crate) mod samples;
mod scaling;
pub(crate) mod screen;
mod segments;
mod sites;
pub(crate) mod symbols;
mod text;
mod timeline;
mod wait;
mod what;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use mpi_facts::{FunctionClass, FunctionId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cli::{By, Flow, Format, PRINTS_ALL, Report, To};
use crate::out::deliver;
use crate::trace::section;
use compare::Comparison;
use phases::Efficiency;
use read::Run;
use symbols::{Frame, Place, Symbols};
use what::What;

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
    /// What of the wall time efficiencies are of. Reports of earlier versions do not have it: all of it.
    active: Option<Extremes>,
    share: Extremes,
    inside: Extremes,
    /// Reports of earlier versions have neither.
    useful: Option<Extremes>,
    efficiency: Option<Efficiency>,
    /// The tool's own time, if it has measured it.
    overhead: Option<Extremes>,
    /// How often ranks lost their processors, if it tells.
    preempted: Option<Extremes>,
    /// Reports of earlier versions have none.
    #[serde(default)]
    hosts: Vec<Host>,
    lost: u64,
    events: String,
    measures: Vec<Column>,
    sites: Vec<Vec<Place>>,
    #[serde(default)]
    communicators: Vec<Option<Communicator>>,
    rows: Vec<Value>,
    /// When in the run the ranks were in MPI, where the tool tells.
    #[serde(default)]
    timeline: Vec<timeline::Stretches>,
    /// Only where the program has told phases.
    #[serde(default)]
    phases: Vec<phases::Phase>,
    /// Only of several ranks' reports, where the tool keeps them.
    segments: Option<segments::Segments>,
    /// Only where the tool tells peers apart.
    matrix: Option<Vec<matrix::Entry>>,
}

/// A communicator of the application's.
#[derive(Debug, Deserialize, Serialize)]
struct Communicator {
    identity: String,
    name: String,
    size: u64,
    remote_size: Option<u64>,
}

impl Communicator {
    /// Its name, or the first digits of its identity where nobody has named it, with its size.
    fn short(&self) -> String {
        let name = match self.name.as_str() {
            "" => format!("communicator {}", self.identity.get(..8).unwrap_or(&self.identity)),
            name => name.to_owned(),
        };
        match (self.size, self.remote_size) {
            (1, None) => format!("{name} (1 rank)"),
            (size, None) => format!("{name} ({size} ranks)"),
            (size, Some(other)) => format!("{name} ({size} and {other} ranks)"),
        }
    }
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

/// A host, and the ranks there.
#[derive(Debug, Deserialize)]
struct Host {
    name: String,
    ranks: u64,
    useful: Extremes,
    /// Each of its ranks. Reports of earlier versions do not have it, nor do those of very many ranks.
    by_rank: Option<ByRank>,
}

/// Of each rank of a host the number, the wall time and the time in MPI.
#[derive(Debug, Deserialize)]
struct ByRank {
    rank: Vec<u64>,
    wall: Vec<u64>,
    inside: Vec<u64>,
}

#[derive(Debug, Deserialize)]
struct Column {
    name: String,
    unit: String,
}

impl Column {
    /// Are the values times?
    fn is_time(&self) -> bool {
        self.unit == "nanoseconds"
    }
}

/// What a line of the printed report is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    function: String,
    what: What,
}

/// What is said of it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Line {
    events: u64,
    measures: Vec<Sums>,
}

impl Line {
    fn add(&mut self, other: &Self) {
        self.events = self.events.saturating_add(other.events);
        for (sum, more) in self.measures.iter_mut().zip(&other.measures) {
            sum.add(more);
        }
    }

    /// The sum of the first measure.
    fn first(&self) -> u64 {
        self.measures.first().map_or(0, |sums| sums.sum)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Sums {
    count: u64,
    sum: u64,
    least: Option<u64>,
    most: Option<u64>,
    /// Only where it is known of the ranks' sums.
    by_rank: Option<OfRanks>,
    /// Nobody has measured it.
    is_estimated: bool,
}

/// The sums of the ranks: the most, whose it is, and all.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OfRanks {
    most: f64,
    most_rank: u64,
    sum: f64,
}

impl OfRanks {
    fn of(value: &Value) -> Option<Self> {
        let [most, sum] = [&value["most"], &value["sum"]].map(Value::as_f64);
        Some(Self { most: most?, most_rank: value["most_rank"].as_u64()?, sum: sum? })
    }

    /// Who has most of both has most of what both are together. Of others it is not known.
    fn and(self, other: Self) -> Option<Self> {
        let Self { most, most_rank, sum } = other;
        (self.most_rank == most_rank).then_some(Self {
            most: self.most + most,
            most_rank,
            sum: self.sum + sum,
        })
    }
}

impl Sums {
    fn of(value: &Value) -> Self {
        let number = |name: &str| value[name].as_u64();
        Self {
            count: number("count").unwrap_or(0),
            sum: number("sum").unwrap_or(0),
            least: number("least"),
            most: number("most"),
            by_rank: OfRanks::of(&value["by_rank"]),
            is_estimated: value["estimated"] == true,
        }
    }

    fn add(&mut self, other: &Self) {
        self.by_rank = match (self.by_rank, other.by_rank) {
            (Some(one), Some(other)) => one.and(other),
            // Nothing was measured there.
            (known, None) if other.count == 0 => known,
            (None, known) if self.count == 0 => known,
            _ => None,
        };
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.least = [self.least, other.least].into_iter().flatten().min();
        self.most = self.most.max(other.most);
        self.is_estimated |= other.is_estimated;
    }
}

impl Report {
    /// What is asked for of a file without options.
    pub(crate) fn of(file: impl Into<PathBuf>) -> Self {
        Self {
            files: vec![file.into()],
            against: Vec::new(),
            output: None,
            to: None,
            by: By::Site,
            matrix: None,
            top: 20,
            rest: PRINTS_ALL,
            fail_above: None,
            placement: None,
            trace: None,
        }
    }

    /// Prints a report, makes a page of it, or compares runs. The status is 1 if something is slower than the user
    /// accepts.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let (before, after) = self.sides()?;
        let to = self.format();
        if !after.is_empty() {
            return self.compare(before, after, to);
        }
        let [file] = before else { bail!("several runs are compared as A1 A2 -- B1 B2") };
        if to == To::Sarif {
            return self.deliver(&export::sarif::of(file)?).map(|()| ExitCode::SUCCESS);
        }
        let (name, value) = read::json(file)?;
        if samples::is(&value) {
            let text = samples::of(self, &name, value)?;
            return self.deliver(text.as_bytes()).map(|()| ExitCode::SUCCESS);
        }
        let run = Run::of(name, value)?;
        let mut symbols = Symbols::default();
        let mut out = Vec::new();
        if self.trace.is_some() && to != To::Text {
            bail!(
                "--trace adds to the text only: leave out --to, and -o with a name of another format"
            );
        }
        let mut look_up = || frames(&run.table, &mut symbols);
        let waiting = match (&self.trace, to, self.matrix) {
            (Some(trace), ..) => Some(section::of(trace, run.table.ranks, &look_up())?),
            (None, To::Text, None) => section::beside(file, run.table.ranks, look_up),
            _ => None,
        };
        if let Some(file) = &self.placement {
            placement::write(&mut out, &run, to, file.as_deref())?;
            self.deliver(&out)?;
            return Ok(ExitCode::SUCCESS);
        }
        match to {
            To::Html => html::write(&mut out, run, &mut symbols)?,
            To::Text => {
                self.print(&mut out, run, &mut symbols, Format::Text)?;
                out.extend(waiting.unwrap_or_default().as_bytes());
            }
            To::Json => self.print(&mut out, run, &mut symbols, Format::Json)?,
            To::Csv => self.print(&mut out, run, &mut symbols, Format::Csv)?,
            To::Talp => export::talp::write(&mut out, &run)?,
            To::Folded => {
                let frames = frames(&run.table, &mut symbols);
                export::folded::write(&mut out, &run, &frames)?;
            }
            To::Pprof => {
                let frames = frames(&run.table, &mut symbols);
                export::pprof::write(&mut out, &run, &frames)?;
            }
            To::Hatchet => {
                let frames = frames(&run.table, &mut symbols);
                export::hatchet::write(&mut out, &run, &frames)?;
            }
            To::Sarif => unreachable!("findings have no table"),
            To::Sqlite => {
                let Some(path) = &self.output else {
                    bail!("a database is written to a file: add -o profile.sqlite");
                };
                let frames = frames(&run.table, &mut symbols);
                export::sqlite::write(path, &run, &frames)?;
                symbols.complain();
                return Ok(ExitCode::SUCCESS);
            }
        }
        symbols.complain();
        self.deliver(&out).map(|()| ExitCode::SUCCESS)
    }

    /// Compares the runs of two sides.
    fn compare(&self, before: &[PathBuf], after: &[PathBuf], to: To) -> Result<ExitCode> {
        let read = |paths: &[PathBuf]| -> Result<Vec<Run>> {
            paths.iter().map(|path| Run::read(path)).collect()
        };
        let mut symbols = Symbols::default();
        let comparison = Comparison::of(&read(before)?, &read(after)?, &mut symbols)?;
        let mut out = Vec::new();
        comparison.write(&mut out, to, self.top)?;
        symbols.complain();
        self.deliver(&out)?;
        let is_slower = self.fail_above.is_some_and(|part| comparison.is_slower(part));
        Ok(ExitCode::from(u8::from(is_slower)))
    }

    /// The runs of each side; the second side is empty if nothing is compared.
    fn sides(&self) -> Result<(&[PathBuf], &[PathBuf])> {
        Ok(match (&self.files[..], &self.against[..]) {
            ([before, after], []) => (std::slice::from_ref(before), std::slice::from_ref(after)),
            ([_, _, _, ..], []) => {
                bail!("two runs are compared, or several of each side: A1 A2 A3 -- B1 B2 B3")
            }
            sides => sides,
        })
    }

    /// What the user asks for, or what the name of the file is of.
    fn format(&self) -> To {
        let name = self.output.as_ref().and_then(|path| path.extension()?.to_str());
        self.to.unwrap_or(match name {
            Some("html" | "htm") => To::Html,
            Some("json") => To::Json,
            Some("csv") => To::Csv,
            Some("folded") => To::Folded,
            Some("gz") if self.is_named(".pb.gz") => To::Pprof,
            Some("sarif") => To::Sarif,
            Some("sqlite" | "sqlite3" | "db") => To::Sqlite,
            _ => To::Text,
        })
    }

    /// Does the name of the file end so?
    fn is_named(&self, end: &str) -> bool {
        self.output.as_ref().is_some_and(|path| path.to_string_lossy().ends_with(end))
    }

    /// Writes what was made to the file that the user names, or prints it.
    fn deliver(&self, out: &[u8]) -> Result<()> {
        deliver(self.output.as_deref(), out)
    }

    /// Prints one report.
    fn print(&self, out: &mut Vec<u8>, run: Run, symbols: &mut Symbols, to: Format) -> Result<()> {
        let Run { name, mut value, table } = run;
        let is_broken = || format!("{name} is not as a report should be");
        let by = if self.matrix.is_some() { By::Peer } else { self.by };
        if let Some(what_to_do) = table.lacks(by) {
            bail!("{name} does not tell that apart: {what_to_do}");
        }
        let matrix = table.matrix.as_deref().unwrap_or_default();
        match (to, by) {
            (to, By::Peer) if self.matrix.is_some() => {
                let flow = self.matrix.unwrap_or(Flow::Sent);
                matrix::write(out, &table, matrix, flow, to).with_context(is_broken)?;
            }
            (to, By::Peer) => {
                matrix::write_distances(out, &table, matrix, to, self.top)
                    .with_context(is_broken)?;
            }
            (to, By::Segment) => {
                let frames = frames(&table, symbols);
                segments::list::write(out, &table, &frames, to, (self.top, self.rest))?;
            }
            (Format::Json, By::Site) => {
                with_frames(&mut value, &table, symbols);
                writeln!(out, "{value:#}")?;
            }
            (Format::Json, by) => {
                writeln!(out, "{:#}", added_up(&table, by).with_context(is_broken)?)?;
            }
            (Format::Csv, by) => {
                let frames = frames(&table, symbols);
                let lines = lines_of(&table, by, &frames).with_context(is_broken)?;
                csv::write(out, &table, &lines, by, &frames)?;
            }
            (Format::Text, by) => {
                let frames = frames(&table, symbols);
                let lines = lines_of(&table, by, &frames).with_context(is_broken)?;
                let collectives = match by {
                    By::Site => collectives(&table).with_context(is_broken)?,
                    _ => BTreeMap::new(),
                };
                let top = (self.top, self.rest);
                text::write(out, &table, lines, collectives, &frames, top)?;
            }
        }
        Ok(())
    }
}

/// The rows of a table, added up; call sites by function and line.
fn lines_of(table: &Table, by: By, frames: &[Vec<Frame>]) -> Result<BTreeMap<Key, Line>> {
    if by == By::Site { sites::lines(table, frames) } else { lines(table, by) }
}

/// The functions of each site, the call's own first.
fn frames(table: &Table, symbols: &mut Symbols) -> Vec<Vec<Frame>> {
    table.sites.iter().map(|site| symbols.of_site(site)).collect()
}

impl Table {
    /// What of the wall time efficiencies are of.
    fn active(&self) -> &Extremes {
        self.active.as_ref().unwrap_or(&self.wall)
    }

    /// How rows would tell apart what lines are about, if they do not.
    fn lacks(&self, by: By) -> Option<String> {
        let key = match by {
            By::Function | By::Site => return None,
            By::Communicator => "communicator",
            By::Size => "size",
            By::Phase => "phase",
            By::Peer => "peer",
            By::Segment => "segments",
        };
        let tool = self.tool.to_uppercase().replace('-', "_");
        let is_told = match by {
            By::Peer => self.matrix.is_some(),
            By::Segment => self.segments.is_some(),
            _ => self.rows.iter().any(|row| !row[key].is_null()),
        };
        (!is_told).then(|| match by {
            By::Phase => {
                "have the program begin phases by MPI_Pcontrol, with levels from 2".to_owned()
            }
            By::Segment => {
                "give a report of all ranks, by mpi-profile without MPI_TOOL_MPI_PROFILE_SEGMENTS=0"
                    .to_owned()
            }
            _ => format!("set MPI_TOOL_{tool}_{}=1 when the program runs", key.to_uppercase()),
        })
    }
}

/// The rows of a table, added up.
fn lines(table: &Table, by: By) -> Result<BTreeMap<Key, Line>> {
    let mut lines: BTreeMap<Key, Line> = BTreeMap::new();
    for row in &table.rows {
        let function = row["function"].as_str().context("a row has no function")?.to_owned();
        let what = What::of(table, row, by)?;
        let events = row[&table.events].as_u64().context("a row has no number of events")?;
        let measures: Vec<_> =
            table.measures.iter().map(|column| Sums::of(&row[&column.name])).collect();
        let line = Line { events, measures };
        match lines.entry(Key { function, what }) {
            Entry::Occupied(mut known) => known.get_mut().add(&line),
            Entry::Vacant(free) => {
                free.insert(line);
            }
        }
    }
    Ok(lines)
}

/// The collective operations by communicator; none if there is only one communicator.
fn collectives(table: &Table) -> Result<BTreeMap<Key, Line>> {
    let mut lines = lines(table, By::Communicator)?;
    let is_collective = |key: &Key| {
        let function = key.function.parse::<FunctionId>();
        function.is_ok_and(|function| function.class() == FunctionClass::Collective)
    };
    lines.retain(|key, _| is_collective(key) && key.what != What::All);
    let communicators: BTreeSet<_> = lines.keys().map(|key| key.what).collect();
    Ok(if communicators.len() > 1 { lines } else { BTreeMap::new() })
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

/// The functions, with what tells their calls apart, as an object.
fn added_up(table: &Table, by: By) -> Result<Value> {
    let rows = lines(table, by)?.into_iter().map(|(key, line)| {
        let mut row = json!({"function": key.function});
        let what = match key.what {
            What::All | What::Site(_) => Value::Null,
            What::Others(_) => "others".into(),
            What::Unknown => "unknown".into(),
            What::Communicator(number) => json!(table.communicators[number]),
            What::Size(most) => most.into(),
            What::Phase(phase) => phase.into(),
        };
        match by {
            By::Function | By::Peer | By::Segment | By::Site => {}
            By::Communicator => row["communicator"] = what,
            By::Size => row["size"] = what,
            By::Phase => row["phase"] = what,
        }
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
            "communicators": [
                {"identity": "0000000000000001", "name": "W", "size": 4, "remote_size": null},
                {"identity": "0123456789abcdef", "name": "", "size": 2, "remote_size": 3},
                null,
            ],
            "rows": [
                {"function": "MPI_Send", "site": 1, "communicator": 2, "size": 8, "calls": 2,
                    "time": measured(2, 10, 4, 6)},
                {"function": "MPI_Send", "site": 2, "communicator": 1, "size": 8, "calls": 1,
                    "time": measured(1, 3, 3, 3)},
                {"function": "MPI_Send", "site": "others", "communicator": 2, "size": 0,
                    "calls": 5, "time": null},
                {"function": "MPI_Recv", "site": null, "calls": 1, "time": measured(1, 7, 7, 7)},
            ],
        }))
        .unwrap();
        let functions = lines(&table, By::Function).unwrap();
        let sum = |function: &str| {
            let key = Key { function: function.into(), what: What::All };
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
        let csv = |by| {
            let mut out = Vec::new();
            csv::write(&mut out, &table, &lines(&table, by).unwrap(), by, &[]).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            csv(By::Communicator),
            "function,communicator,identity,size,remote_size,calls,seconds,seconds_least,seconds_most\n\
             MPI_Recv,,,,,1,0.000000007,0.000000007,0.000000007\n\
             MPI_Send,W,0000000000000001,4,,1,0.000000003,0.000000003,0.000000003\n\
             MPI_Send,,0123456789abcdef,2,3,7,0.000000010,0.000000004,0.000000006\n"
        );
        assert_eq!(
            csv(By::Size),
            "function,size,calls,seconds,seconds_least,seconds_most\n\
             MPI_Recv,,1,0.000000007,0.000000007,0.000000007\n\
             MPI_Send,0,5,0.000000000,,\n\
             MPI_Send,8,3,0.000000013,0.000000003,0.000000006\n"
        );
        let objects = added_up(&table, By::Communicator).unwrap();
        let object = &objects["rows"][2];
        assert_eq!(
            (&object["calls"], &object["communicator"]["remote_size"]),
            (&7.into(), &3.into())
        );
        assert_eq!(
            table.communicators[1].as_ref().unwrap().short(),
            "communicator 01234567 (2 and 3 ranks)"
        );
        assert_eq!(table.lacks(By::Size), None);
    }
}
