//! What a tool has counted, as text, JSON or CSV.
//!
//! [`Counters`] is what tools implement. A [`Report`] is what is written: [`Rows`], which were
//! asked for before, with the values of one process or of all. Nothing here allocates or locks, and
//! all goes to a `dyn Write`, so that a report can be written from a signal handler; the compiler
//! makes this code once for all tools. `docs/report.md` describes the formats for their readers.

use core::fmt::{self, Write};

use crate::Counter;
use crate::host::launcher::Launched;
use crate::host::options::Format;
use crate::host::output::say;
use crate::rows::Rows;

/// The schema of JSON and CSV reports: a reader checks it, and `docs/report.md` describes it.
pub(crate) const SCHEMA: &str = "mpi-tool-report/1";

/// What a tool has counted: a fixed list of named counters, the same on all ranks.
///
/// The framework asks once, when MPI starts, and keeps the answers: which counters there are, what
/// they are called, and where they are in memory. What they count is read from there when a report
/// is written, which may be in a signal handler. So these methods are never called in one, and may
/// do what any code may do.
///
/// The report of a run is merged by number: counter 3 of all ranks is one line, with its sum, and
/// in JSON and CSV the smallest, the largest and the mean value of a rank. So the list must not
/// depend on the rank, or on anything that ranks may see differently. It is checked that all ranks
/// have the tool in the same version with as many counters; otherwise each rank reports for itself.
///
/// [`FunctionCounters`](crate::FunctionCounters) implements it. A tool with counters of another
/// kind does so itself, most of the time over [`ThreadCounters`](crate::ThreadCounters).
///
/// What is counted while a report is written may be in it or not. In the report of a run, no count
/// of a rank is lost that was there when the rank entered `MPI_Finalize`; what is counted later,
/// the process reports for itself.
pub trait Counters: Sync {
    /// What is counted, in the plural: `calls`, `bytes`. It is in the first line of a report.
    fn unit(&self) -> &'static str;

    /// How many counters there are; they are reported in order, those that are zero left out.
    /// Thousands are no problem: what is never counted costs 20 bytes, and its place in memory if
    /// it is a [`ThreadCounters`](crate::ThreadCounters)' and its page is used.
    fn len(&self) -> usize;

    /// Are there none?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A counter's name, such as a function's. `index` is below [`len`](Self::len), here and below.
    /// Names should differ within a class, as readers find counters by both.
    fn name(&self, index: usize) -> &'static str;

    /// What the counter belongs to, such as a function's class. In text it is shown only where
    /// there are [several units](Self::unit_of).
    fn class(&self, index: usize) -> &'static str;

    /// Where the counter is: what this process has counted so far is read from there. The memory
    /// must be that of the tool, which is there for ever, and not change its place.
    fn counter(&self, index: usize) -> Counter<'_>;

    /// Is the counter a gauge: a value that goes up and down, such as memory in use, of which ranks have no sum? Reports have
    /// the greatest, the least and the mean value of a rank. [`Gauges`](crate::Gauges) has such.
    fn is_gauge(&self, index: usize) -> bool {
        let _ = index;
        false
    }

    /// The counter's unit, if there are several: then [`unit`](Self::unit) names them all, and
    /// reports say class and unit of each counter. `None`, as by default, means that `unit` is the
    /// counter's.
    fn unit_of(&self, index: usize) -> Option<&'static str> {
        let _ = index;
        None
    }
}

/// A counter over the ranks of a report. In the report of one process, all three are its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The sum over the ranks.
    pub(crate) total: u64,
    /// The smallest of a rank.
    pub(crate) min: u64,
    /// The largest of a rank.
    pub(crate) max: u64,
}

/// Whose counts a report has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// All ranks of `MPI_COMM_WORLD`.
    World { ranks: u64 },
    /// One process, since a merged report was not to be had.
    Process { rank: Option<u64>, ranks: Option<u64>, reason: &'a str },
}

/// What a report of any kind begins with, in each format.
#[derive(Clone, Copy)]
pub(crate) struct Heading<'a> {
    /// The tool's name, or its level's in a stack.
    pub(crate) tool: &'a str,
    pub(crate) version: &'a str,
    /// Whose counts the report has.
    pub(crate) scope: Scope<'a>,
    /// The launcher's opinion, where it is not MPI's.
    pub(crate) elsewhere: Option<Launched>,
}

impl Heading<'_> {
    /// The columns that each line of CSV begins with.
    pub(crate) const COLUMNS: &'static str = "schema,tool,version,complete,ranks,rank";

    /// A line that says what is counted and of whom, and one of the launcher if it says something else. `joined` stands
    /// between the two where it is all ranks.
    pub(crate) fn text(self, out: &mut dyn Write, counted: &str, joined: &str) -> fmt::Result {
        let Self { tool, version, scope, elsewhere } = self;
        write!(out, "# {tool} {version}: {counted}")?;
        match scope {
            Scope::World { ranks } => {
                let plural = if ranks == 1 { "" } else { "s" };
                writeln!(out, "{joined} {ranks} rank{plural}")?;
            }
            Scope::Process { rank, ranks, reason } => {
                match (rank, ranks) {
                    (Some(rank), Some(ranks)) => write!(out, " of rank {rank} of {ranks}")?,
                    (Some(rank), None) => write!(out, " of rank {rank}")?,
                    // SAFETY: `getpid` takes nothing, always succeeds, and may be called anywhere.
                    _ => write!(out, " of process {}", unsafe { libc::getpid() })?,
                }
                writeln!(out, " only, partial: {reason}")?;
            }
        }
        elsewhere.map_or(Ok(()), |launched| writeln!(out, "# {tool}: {launched}"))
    }

    /// The first fields of an object, without a comma behind them.
    pub(crate) fn json(self, out: &mut dyn Write, schema: &str) -> fmt::Result {
        write!(out, "{{\"schema\":\"{schema}\",\"tool\":")?;
        quote(out, self.tool)?;
        out.write_str(",\"version\":")?;
        quote(out, self.version)?;
        match self.scope {
            Scope::World { ranks } => write!(out, ",\"complete\":true,\"ranks\":{ranks}")?,
            Scope::Process { rank, ranks, reason } => {
                out.write_str(",\"complete\":false,\"ranks\":")?;
                number_or(out, ranks, "null")?;
                out.write_str(",\"rank\":")?;
                number_or(out, rank, "null")?;
                out.write_str(",\"reason\":")?;
                quote(out, reason)?;
            }
        }
        let Some(Launched { rank, ranks, variable }) = self.elsewhere else { return Ok(()) };
        write!(out, ",\"launcher\":{{\"rank\":{rank},\"ranks\":{ranks},\"variable\":")?;
        quote(out, variable)?;
        out.write_str("}")
    }

    /// The fields of [`COLUMNS`](Self::COLUMNS), without a comma behind them.
    pub(crate) fn csv(self, out: &mut dyn Write, schema: &str) -> fmt::Result {
        write!(out, "{schema},{},{},", Field(self.tool), Field(self.version))?;
        match self.scope {
            Scope::World { ranks } => write!(out, "true,{ranks},"),
            Scope::Process { rank, ranks, .. } => {
                out.write_str("false,")?;
                number_or(out, ranks, "")?;
                out.write_str(",")?;
                number_or(out, rank, "")
            }
        }
    }
}

/// A report, to be written in any format.
pub(crate) struct Report<'a> {
    pub(crate) heading: Heading<'a>,
    /// What the counters are called.
    pub(crate) counters: &'a Rows,
    /// The values of a counter, by its number.
    pub(crate) row: &'a dyn Fn(usize) -> Row,
}

impl Report<'_> {
    /// The counters that are not zero, by their numbers.
    fn rows(&self) -> impl Iterator<Item = (usize, Row)> {
        (0..self.counters.len())
            .map(|index| (index, (self.row)(index)))
            .filter(|(_, row)| row.total > 0)
    }

    /// The mean over the ranks.
    fn mean(&self, row: Row) -> f64 {
        match self.heading.scope {
            Scope::World { ranks } => row.total as f64 / ranks as f64,
            Scope::Process { .. } => row.total as f64,
        }
    }

    /// Says in a line what came after the merged report: the first five counters.
    pub(crate) fn say_late(&self) {
        struct Rows<'a>(&'a Report<'a>);
        impl fmt::Display for Rows<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                for (position, (index, row)) in self.0.rows().enumerate() {
                    match position {
                        0 => {}
                        SOME => return f.write_str(", …"),
                        _ => f.write_str(", ")?,
                    }
                    write!(f, "{}: {}", self.0.counters.name(index), row.total)?;
                }
                Ok(())
            }
        }
        const SOME: usize = 5;
        say(format_args!(
            "{}: rank 0's counts after the merged report, in MPI_Finalize or later, are not in it ({}); \
             MPI_TOOL_ALL_RANKS=1 reports those of all ranks",
            self.heading.tool,
            Rows(self)
        ));
    }

    /// Writes the report. An error is the sink's.
    pub(crate) fn write(&self, out: &mut dyn Write, format: Format) -> fmt::Result {
        match format {
            Format::Text => self.text(out),
            Format::Json => self.json(out),
            Format::Csv => self.csv(out),
        }
    }

    /// For people: a line that says what is counted and of whom, and a line a counter.
    fn text(&self, out: &mut dyn Write) -> fmt::Result {
        let counters = self.counters;
        let are_gauges = (0..counters.len()).all(|index| counters.is_gauge(index));
        let joined = if are_gauges { ", of" } else { ", summed over" };
        self.heading.text(out, counters.unit(), joined)?;
        for (index, row) in self.rows() {
            let name = counters.name(index);
            if counters.is_gauge(index) {
                let unit = counters.unit_of(index).unwrap_or_default();
                let space = if unit.is_empty() { "" } else { " " };
                write!(out, "{name}, {}: {}{space}{unit}", counters.class(index), row.max)?;
                match self.heading.scope {
                    Scope::World { ranks: 2.. } => {
                        writeln!(
                            out,
                            " (the ranks' mean {:.0}, least {})",
                            self.mean(row),
                            row.min
                        )?;
                    }
                    _ => writeln!(out)?,
                }
                continue;
            }
            match counters.unit_of(index) {
                None => writeln!(out, "{name}: {}", row.total)?,
                Some(unit) => {
                    writeln!(out, "{name}, {}: {} {unit}", counters.class(index), row.total)?;
                }
            }
        }
        Ok(())
    }

    /// One object, with a line a counter in it. Written by hand: a library would allocate.
    fn json(&self, out: &mut dyn Write) -> fmt::Result {
        let counters = self.counters;
        self.heading.json(out, SCHEMA)?;
        out.write_str(",\"unit\":")?;
        quote(out, counters.unit())?;
        out.write_str(",\"counters\":[")?;
        for (position, (index, row)) in self.rows().enumerate() {
            out.write_str(if position == 0 { "\n  {\"name\":" } else { ",\n  {\"name\":" })?;
            quote(out, counters.name(index))?;
            out.write_str(",\"class\":")?;
            quote(out, counters.class(index))?;
            if let Some(unit) = counters.unit_of(index) {
                out.write_str(",\"unit\":")?;
                quote(out, unit)?;
            }
            let (Row { total, min, max }, mean) = (row, self.mean(row));
            match counters.is_gauge(index) {
                true => out.write_str(",\"gauge\":true,\"total\":null")?,
                false => write!(out, ",\"total\":{total}")?,
            }
            write!(out, ",\"min\":{min},\"max\":{max},\"mean\":{mean}}}")?;
        }
        out.write_str("\n]}\n")
    }

    /// A header and a line a counter, each with all that JSON has but the reason.
    fn csv(&self, out: &mut dyn Write) -> fmt::Result {
        let counters = self.counters;
        writeln!(out, "{},unit,name,class,total,min,max,mean", Heading::COLUMNS)?;
        for (index, row) in self.rows() {
            self.heading.csv(out, SCHEMA)?;
            let (Row { total, min, max }, mean) = (row, self.mean(row));
            let unit = counters.unit_of(index).unwrap_or_else(|| counters.unit());
            let (name, class) = (counters.name(index), counters.class(index));
            let [unit, name, class] = [unit, name, class].map(Field);
            write!(out, ",{unit},{name},{class},")?;
            if !counters.is_gauge(index) {
                write!(out, "{total}")?;
            }
            writeln!(out, ",{min},{max},{mean}")?;
        }
        Ok(())
    }
}

/// A number, or something else where there is none.
fn number_or(out: &mut dyn Write, number: Option<u64>, otherwise: &str) -> fmt::Result {
    match number {
        Some(number) => write!(out, "{number}"),
        None => out.write_str(otherwise),
    }
}

/// A field of CSV, as RFC 4180 has it: in quotes where it has a comma, a quote or an end of line in it.
pub(crate) struct Field<'a>(pub(crate) &'a str);

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = *self;
        if !text.contains([',', '"', '\r', '\n']) {
            return f.write_str(text);
        }
        f.write_char('"')?;
        for (position, part) in text.split('"').enumerate() {
            if position > 0 {
                f.write_str("\"\"")?;
            }
            f.write_str(part)?;
        }
        f.write_char('"')
    }
}

/// A JSON string: quotes, backslashes and control characters are escaped.
pub(crate) fn quote(out: &mut dyn Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32)?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicU64;

    use super::*;

    /// A tool whose names need quotes in CSV.
    struct Odd;

    impl Counters for Odd {
        fn unit(&self) -> &'static str {
            "calls, or \"calls\""
        }
        fn len(&self) -> usize {
            2
        }
        fn name(&self, index: usize) -> &'static str {
            ["plain", "a,b\nc"][index]
        }
        fn class(&self, _: usize) -> &'static str {
            "x"
        }
        fn counter(&self, _: usize) -> Counter<'_> {
            static NOTHING: AtomicU64 = AtomicU64::new(0);
            Counter::from(&NOTHING)
        }
    }

    fn report(format: Format, elsewhere: Option<Launched>) -> String {
        let mut text = String::new();
        let report = Report {
            heading: Heading {
                tool: "odd, tool",
                version: "1",
                scope: Scope::World { ranks: 1 },
                elsewhere,
            },
            counters: &Rows::of(&Odd),
            row: &|index| Row { total: index as u64 + 3, min: 1, max: 2 },
        };
        report.write(&mut text, format).unwrap();
        text
    }

    /// The expected text is RFC 4180's rules 5 to 7, applied by hand.
    #[test]
    fn csv_is_quoted_where_it_must_be() {
        let text = report(Format::Csv, None);
        let (header, rows) = text.split_once('\n').unwrap();
        assert!(header.starts_with("schema,tool,version,"));
        assert_eq!(
            rows,
            "mpi-tool-report/1,\"odd, tool\",1,true,1,,\"calls, or \"\"calls\"\"\",plain,x,3,1,2,3\n\
             mpi-tool-report/1,\"odd, tool\",1,true,1,,\"calls, or \"\"calls\"\"\",\"a,b\nc\",x,4,1,2,4\n"
        );
    }

    #[test]
    fn another_opinion_of_the_launcher_is_a_line_and_a_field() {
        let launched = Launched { rank: 2, ranks: 4, variable: "PMI_RANK" };
        let text = report(Format::Text, Some(launched));
        let said = text.lines().filter(|line| line.contains("rank 2 of 4 (PMI_RANK)"));
        assert_eq!(said.count(), 1, "{text}");
        let json: serde_json::Value =
            serde_json::from_str(&report(Format::Json, Some(launched))).unwrap();
        let launcher = serde_json::json!({"rank": 2, "ranks": 4, "variable": "PMI_RANK"});
        assert_eq!(json["launcher"], launcher);
        let plain: serde_json::Value = serde_json::from_str(&report(Format::Json, None)).unwrap();
        assert_eq!(plain.get("launcher"), None);
    }
}
