//! A log: rows with numbers and text, for what is to be told one by one and not added up.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use crate::Clock;
use crate::host::options::Format;
use crate::host::report::{Field, Heading, Scope, quote};

/// The schema of reports with a log: a reader checks it, and `docs/report.md` describes it.
pub(crate) const SCHEMA: &str = "mpi-tool-log/1";

/// How many rows the text has: with all other lines it fits on a screen of 25.
const SHOWN: usize = 20;

/// So wide is a column of the text at most.
const WIDEST: usize = 40;

/// A value in a row of a [`Log`].
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing is known.
    Unknown,
    /// A number.
    Number(i64),
    /// A stretch of time, or a moment since the process began, in ticks of the [`Clock`]. Reports have seconds in text and
    /// nanoseconds in JSON and CSV.
    Ticks(u64),
    /// A text, such as a file's name, which several rows may share.
    Text(Arc<str>),
    /// A text that is known when the tool is compiled, such as a function's name.
    Name(&'static str),
}

impl Cell {
    /// A moment, as [`Clock::now`] tells it, as the time since the process's first reading of the clock, which is when the tool
    /// was loaded.
    pub fn moment(ticks: u64) -> Self {
        Self::Ticks(ticks.saturating_sub(Clock::start()))
    }
}

impl From<&'static str> for Cell {
    fn from(name: &'static str) -> Self {
        Self::Name(name)
    }
}

impl From<Arc<str>> for Cell {
    fn from(text: Arc<str>) -> Self {
        Self::Text(text)
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl From<$number> for Cell {
            fn from(number: $number) -> Self {
                i64::try_from(number).map_or(Self::Unknown, Self::Number)
            }
        })*
    };
}
numbers! { i32 u32 i64 u64 usize }

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Into::into)
    }
}

/// Rows, each with a value for each column, that a tool writes down one after the other: what it returns from
/// [`Tool::log`](crate::Tool::log) is put together over all ranks, by rank and then in the order of time, and reported as the
/// user asked.
///
/// ```
/// use mpi_tool_layer::{Call, CallResult, Cell, Clock, Log, MpiInterceptionLayer, Tool};
///
/// /// When each communicator was made, and by what.
/// struct Made(Log<2>);
///
/// impl MpiInterceptionLayer for Made {
///     fn around<'c>(
///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         let accepted = next_f()?;
///         if call.makes_communicator() {
///             self.0.add([call.function().name().into(), Cell::moment(Clock::now())]);
///         }
///         Ok(accepted)
///     }
/// }
///
/// impl Tool for Made {
///     const NEW: Self = Made(Log::new("communicators", ["function", "at"]));
///
///     fn log(&self) -> Option<&mpi_tool_layer::AnyLog> {
///         Some(self.0.any())
///     }
/// }
/// ```
///
/// A row takes a lock and an allocation: it is for what happens thousands of times, not millions. A process keeps a million
/// rows; reports say how many more there were.
#[derive(Debug)]
pub struct Log<const COLUMNS: usize> {
    any: AnyLog,
}

impl<const COLUMNS: usize> Log<COLUMNS> {
    /// An empty one. `rows` is what a row is, in the plural: `accesses`. `columns` are the names of the columns.
    pub const fn new(rows: &'static str, columns: [&'static str; COLUMNS]) -> Self {
        assert!(COLUMNS <= MOST_COLUMNS, "a log has at most 16 columns");
        let (mut all, mut index) = ([""; MOST_COLUMNS], 0);
        while index < COLUMNS {
            all[index] = columns[index];
            index += 1;
        }
        let any = AnyLog {
            what: rows,
            columns: all,
            count: COLUMNS,
            rows: Mutex::new(Vec::new()),
            added: AtomicU64::new(0),
        };
        Self { any }
    }

    /// Adds a row.
    pub fn add(&self, row: [Cell; COLUMNS]) {
        let mut rows = self.any.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.len() < MOST_ROWS {
            rows.push(Box::new(row));
        }
        // Under the lock: who has it sees as many rows.
        self.any.added.fetch_add(1, Relaxed);
    }

    /// The log without the number of its columns, for [`Tool::log`](crate::Tool::log).
    pub const fn any(&self) -> &AnyLog {
        &self.any
    }
}

const MOST_COLUMNS: usize = 16;
const MOST_ROWS: usize = 1 << 20;

/// A row without the number of its columns.
type Row = Box<[Cell]>;

/// A [`Log`] with any columns.
#[derive(Debug)]
pub struct AnyLog {
    what: &'static str,
    columns: [&'static str; MOST_COLUMNS],
    count: usize,
    rows: Mutex<Vec<Row>>,
    /// How many there were, also of those that found no room.
    added: AtomicU64,
}

impl AnyLog {
    /// How many rows were added.
    pub(crate) fn count(&self) -> u64 {
        self.added.load(Relaxed)
    }

    /// What a row is, in the plural.
    pub(crate) fn what(&self) -> &'static str {
        self.what
    }

    pub(crate) fn columns(&self) -> &[&'static str] {
        &self.columns[..self.count]
    }

    /// The rows of this process, if no thread is adding one just now. For signal handlers, too.
    pub(crate) fn with_rows<R>(&self, rank: u64, read: impl FnOnce(&Rows<'_>) -> R) -> Option<R> {
        let rows = match self.rows.try_lock() {
            Ok(rows) => rows,
            Err(TryLockError::Poisoned(rows)) => rows.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let all = |each: &mut dyn FnMut(u64, &[Cell])| {
            rows.iter().for_each(|row| each(rank, row));
        };
        let lost = self.count().saturating_sub(rows.len() as u64);
        Some(read(&Rows { all: &all, count: rows.len(), lost }))
    }

    /// The rows of this process, as those of all ranks begin.
    pub(crate) fn merged(&self, rank: u64) -> MergedLog {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = self.count().saturating_sub(rows.len() as u64);
        MergedLog { rows: rows.iter().map(|row| (rank, row.clone())).collect(), lost }
    }
}

/// Calls a function with each row and its rank. Nothing is allocated for it: a signal handler reports, too.
type AllRows<'a> = dyn Fn(&mut dyn FnMut(u64, &[Cell])) + 'a;

/// What a report reads: rows with their ranks, in the order in which they are told.
pub(crate) struct Rows<'a> {
    pub(crate) all: &'a AllRows<'a>,
    pub(crate) count: usize,
    /// How many more there were.
    pub(crate) lost: u64,
}

/// The rows of several ranks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MergedLog {
    rows: Vec<(u64, Row)>,
    lost: u64,
}

impl MergedLog {
    /// Adds the rows of higher ranks.
    pub(crate) fn add(&mut self, other: Self) {
        self.rows.extend(other.rows);
        self.lost += other.lost;
    }

    /// How many rows there were.
    pub(crate) fn added(&self) -> u64 {
        self.rows.len() as u64 + self.lost
    }

    pub(crate) fn with_rows<R>(&self, read: impl FnOnce(&Rows<'_>) -> R) -> R {
        let all = |each: &mut dyn FnMut(u64, &[Cell])| {
            self.rows.iter().for_each(|(rank, row)| each(*rank, row));
        };
        read(&Rows { all: &all, count: self.rows.len(), lost: self.lost })
    }

    /// As a message. Times are nanoseconds in it: another rank has other ticks.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |number: u64| bytes.extend_from_slice(&number.to_le_bytes());
        put(self.lost);
        put(self.rows.len() as u64);
        for (rank, row) in &self.rows {
            for number in [*rank, row.len() as u64] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            for cell in row {
                let (kind, number, text) = match cell {
                    Cell::Unknown => (0_u8, 0, ""),
                    Cell::Number(number) => (1, number.cast_unsigned(), ""),
                    Cell::Ticks(ticks) => (2, Clock::nanoseconds(*ticks), ""),
                    Cell::Text(text) => (3, text.len() as u64, &**text),
                    Cell::Name(name) => (3, name.len() as u64, *name),
                };
                bytes.push(kind);
                bytes.extend_from_slice(&number.to_le_bytes());
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        bytes
    }

    /// Reads a message; `None` if the bytes are not a message of this kind.
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut take = |length: usize| {
            let (taken, rest) = bytes.split_at_checked(length)?;
            bytes = rest;
            Some(taken)
        };
        let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let lost = number(take(8)?)?;
        let count = number(take(8)?)?;
        let mut rows = Vec::new();
        for _ in 0..count {
            let (rank, length) = (number(take(8)?)?, number(take(8)?)?);
            let mut row = Vec::new();
            for _ in 0..length {
                let kind = take(1)?[0];
                let value = number(take(8)?)?;
                row.push(match kind {
                    0 => Cell::Unknown,
                    1 => Cell::Number(value.cast_signed()),
                    2 => Cell::Ticks(Clock::ticks(value)),
                    3 => {
                        let text = take(usize::try_from(value).ok()?)?;
                        Cell::Text(String::from_utf8_lossy(text).into())
                    }
                    _ => return None,
                });
            }
            rows.push((rank, row.into()));
        }
        bytes.is_empty().then_some(Self { rows, lost })
    }
}

/// A report of a log. Nothing here allocates: see `report.rs`.
pub(crate) struct LogReport<'a> {
    pub(crate) heading: Heading<'a>,
    pub(crate) log: &'a AnyLog,
    pub(crate) rows: &'a Rows<'a>,
}

impl LogReport<'_> {
    /// Writes the report. An error is the sink's.
    pub(crate) fn write(&self, out: &mut dyn Write, format: Format) -> fmt::Result {
        match format {
            Format::Text => self.text(out),
            Format::Json => self.json(out),
            Format::Csv => self.csv(out),
        }
    }

    /// Calls `each` with the rows; the first error ends it.
    fn try_each(&self, mut each: impl FnMut(u64, &[Cell]) -> fmt::Result) -> fmt::Result {
        let mut result = Ok(());
        (self.rows.all)(&mut |rank, row| {
            if result.is_ok() {
                result = each(rank, row);
            }
        });
        result
    }

    /// For people: the first rows, in columns.
    fn text(&self, out: &mut dyn Write) -> fmt::Result {
        let (what, columns) = (self.log.what, self.log.columns());
        self.heading.text(out, what, " of")?;
        if self.rows.lost > 0 {
            writeln!(out, "{} more {what} could not be kept", self.rows.lost)?;
        }
        let mut widths = [0; MOST_COLUMNS];
        for (width, name) in widths.iter_mut().zip(columns) {
            *width = name.len();
        }
        let mut shown = 0;
        self.try_each(|_, row| {
            for (width, cell) in widths.iter_mut().zip(row).filter(|_| shown < SHOWN) {
                let mut counted = Counted(0);
                cell.text(&mut counted)?;
                *width = counted.0.min(WIDEST).max(*width);
            }
            shown += 1;
            Ok(())
        })?;
        out.write_str("  rank")?;
        for (name, width) in columns.iter().zip(widths) {
            write!(out, "  {name:>width$}")?;
        }
        out.write_str("\n")?;
        let mut number = 0;
        self.try_each(|rank, row| {
            number += 1;
            if number > SHOWN {
                return Ok(());
            }
            write!(out, "{rank:>6}")?;
            for (cell, width) in row.iter().zip(widths) {
                let mut counted = Counted(0);
                cell.text(&mut counted)?;
                write!(out, "  {:>1$}", "", width.saturating_sub(counted.0))?;
                cell.text(out)?;
            }
            out.write_str("\n")
        })?;
        if self.rows.count > SHOWN {
            let more = self.rows.count - SHOWN;
            writeln!(out, "and {more} rows more: MPI_TOOL_FORMAT=json or csv has all")?;
        }
        Ok(())
    }

    /// One object, with a line a row: what `docs/report.md` describes.
    fn json(&self, out: &mut dyn Write) -> fmt::Result {
        self.heading.json(out, SCHEMA)?;
        out.write_str(",\"rows_are\":")?;
        quote(out, self.log.what)?;
        write!(out, ",\"lost\":{},\"columns\":[\"rank\"", self.rows.lost)?;
        for name in self.log.columns() {
            out.write_str(",")?;
            quote(out, name)?;
        }
        out.write_str("],\"rows\":[")?;
        let mut before = "\n  ";
        self.try_each(|rank, row| {
            write!(out, "{before}[{rank}")?;
            before = ",\n  ";
            for cell in row {
                out.write_str(",")?;
                match cell {
                    Cell::Unknown => out.write_str("null")?,
                    Cell::Number(number) => write!(out, "{number}")?,
                    Cell::Ticks(ticks) => write!(out, "{}", Clock::nanoseconds(*ticks))?,
                    Cell::Text(text) => quote(out, text)?,
                    Cell::Name(name) => quote(out, name)?,
                }
            }
            out.write_str("]")
        })?;
        out.write_str("\n]}\n")
    }

    /// A header, and a line a row. The column `rank` is the row's.
    fn csv(&self, out: &mut dyn Write) -> fmt::Result {
        let Heading { tool, version, scope, .. } = self.heading;
        let (is_complete, ranks) = match scope {
            Scope::World { ranks } => (true, Some(ranks)),
            Scope::Process { ranks, .. } => (false, ranks),
        };
        out.write_str(Heading::COLUMNS)?;
        for name in self.log.columns() {
            write!(out, ",{}", Field(name))?;
        }
        out.write_str("\n")?;
        self.try_each(|rank, row| {
            write!(out, "{SCHEMA},{},{},{is_complete},", Field(tool), Field(version))?;
            ranks.map_or(Ok(()), |ranks| write!(out, "{ranks}"))?;
            write!(out, ",{rank}")?;
            for cell in row {
                out.write_str(",")?;
                match cell {
                    Cell::Unknown => {}
                    Cell::Number(number) => write!(out, "{number}")?,
                    Cell::Ticks(ticks) => write!(out, "{}", Clock::nanoseconds(*ticks))?,
                    Cell::Text(text) => write!(out, "{}", Field(text))?,
                    Cell::Name(name) => write!(out, "{}", Field(name))?,
                }
            }
            out.write_str("\n")
        })
    }
}

impl Cell {
    /// As people read it.
    fn text(&self, out: &mut dyn Write) -> fmt::Result {
        match self {
            Self::Unknown => out.write_str("?"),
            Self::Number(number) => write!(out, "{number}"),
            Self::Ticks(ticks) => write!(out, "{:.6} s", Clock::nanoseconds(*ticks) as f64 / 1e9),
            Self::Text(text) => out.write_str(text),
            Self::Name(name) => out.write_str(name),
        }
    }
}

/// Counts the characters that are written.
struct Counted(usize);

impl Write for Counted {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.chars().count();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Log<3> {
        let log = Log::new("accesses", ["function", "file, quoted", "bytes"]);
        let file: Arc<str> = "a \"file\", and more".into();
        log.add(["MPI_File_open".into(), file.clone().into(), None::<i64>.into()]);
        log.add(["MPI_File_read".into(), file.into(), 4096_u64.into()]);
        log
    }

    fn report(log: &AnyLog, merged: &MergedLog, format: Format) -> String {
        let mut text = String::new();
        let scope = Scope::World { ranks: 2 };
        let heading = Heading { tool: "io", version: "1", scope, elsewhere: None };
        merged.with_rows(|rows| LogReport { heading, log, rows }.write(&mut text, format)).unwrap();
        text
    }

    #[test]
    fn rows_of_all_ranks_come_in_their_order_and_survive_the_way() {
        let log = log();
        let mut merged = log.any().merged(0);
        let theirs = MergedLog::from_bytes(&log.any().merged(1).to_bytes()).unwrap();
        merged.add(theirs);
        let mut ranks = Vec::new();
        merged.with_rows(|rows| (rows.all)(&mut |rank, row| ranks.push((rank, row.len()))));
        assert_eq!(ranks, [(0, 3), (0, 3), (1, 3), (1, 3)]);
        let bytes = merged.to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(MergedLog::from_bytes(&bytes[..length]), None, "{length} bytes");
        }
    }

    /// The expected text is RFC 4180's rules 5 to 7 and JSON's, applied by hand.
    #[test]
    fn csv_and_json_quote_what_they_must() {
        let log = log();
        let merged = log.any().merged(0);
        let csv = report(log.any(), &merged, Format::Csv);
        assert_eq!(
            csv,
            "schema,tool,version,complete,ranks,rank,function,\"file, quoted\",bytes\n\
             mpi-tool-log/1,io,1,true,2,0,MPI_File_open,\"a \"\"file\"\", and more\",\n\
             mpi-tool-log/1,io,1,true,2,0,MPI_File_read,\"a \"\"file\"\", and more\",4096\n"
        );
        let json: serde_json::Value =
            serde_json::from_str(&report(log.any(), &merged, Format::Json)).unwrap();
        assert_eq!(json["columns"][2], "file, quoted");
        assert_eq!(
            json["rows"][0],
            serde_json::json!([0, "MPI_File_open", "a \"file\", and more", null])
        );
        assert_eq!(json["rows"][1][3], 4096);
    }

    #[test]
    fn the_text_does_not_grow_with_the_rows() {
        let log = Log::new("numbers", ["number"]);
        (0..1000_u32).for_each(|number| log.add([number.into()]));
        let text = report(log.any(), &log.any().merged(0), Format::Text);
        assert_eq!(text.lines().count(), SHOWN + 3, "{text}");
        assert!(
            text.ends_with("and 980 rows more: MPI_TOOL_FORMAT=json or csv has all\n"),
            "{text}"
        );
    }
}
