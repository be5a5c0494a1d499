//! The report of a table: text, JSON and CSV of schema 2. Nothing here allocates or locks: see `report.rs`.
//!
//! What is reported is a [`View`]: of this process alone, which reads the table's memory as it is, or of all ranks, which has
//! been merged. Both have the same rows, so there is one code for both. Times are nanoseconds in JSON and CSV, and seconds in
//! the text; sizes are bytes.
//!
//! A report may be written in a signal handler. So rows are not sorted, but found one after the other where their order
//! matters, and numbers of functions, sites and communicators are looked up while they are written.

use core::fmt::{self, Write};

use super::hosts::{Host, HostBalance, Hosts, RankTimes};
use super::merged::{Efficiency, Extreme, Measured, Spread};
use super::peers::report::{self as peers, PeerView};
use super::segments::{Segment, Segments};
use super::site::PythonPlace;
use super::size::SizeClass;
use super::table::{AnyTable, Measure, MeasureUnit, PartKind, Parts};
use super::tracking::{KnownComm, TrackedComm};
use super::view::{PhaseView, RowView, ShareView, View};
use crate::FunctionId;
use crate::host::options::Format;
use crate::host::report::{Field, Heading, quote};

/// The schema of reports with a table: a reader checks it, and `docs/report.md` describes it.
pub(crate) const SCHEMA: &str = "mpi-tool-report/2";

/// How many rows the text has: with all other lines it fits on a screen of 25.
const SHOWN: usize = 19;

/// So many segments are shown in the text at most.
const SEGMENTS: usize = 5;

/// What costs less than this part of the run, or of what load imbalance costs, is not worth a line.
const WORTH_SAYING: f64 = 0.05;

/// A report of a table.
pub(crate) struct TableReport<'a> {
    /// The tool, its version, and whose report it is: of all ranks, or of one and why.
    pub(crate) heading: Heading<'a>,
    /// What the columns are: the parts of a key, and the measures.
    pub(crate) table: &'a AnyTable,
    /// What is in the table.
    pub(crate) view: &'a dyn View,
    /// Who has sent how much to whom, if the tool has that.
    pub(crate) peers: Option<&'a dyn PeerView>,
}

impl TableReport<'_> {
    /// Writes the report. An error is the sink's.
    pub(crate) fn write(&self, out: &mut dyn Write, format: Format) -> fmt::Result {
        match format {
            Format::Text => self.text(out),
            Format::Json => self.json(out),
            Format::Csv => self.csv(out),
        }
    }

    /// Calls `each` with all rows; the first error ends it.
    fn try_each_row(
        &self,
        mut each: impl FnMut(RowView, &dyn Fn(usize) -> Measured) -> fmt::Result,
    ) -> fmt::Result {
        let mut result = Ok(());
        self.view.each_row(&mut |row, measures| {
            if result.is_ok() {
                result = each(row, measures);
            }
        });
        result
    }

    /// For people, on one screen: the run, and the rows that took most time.
    ///
    /// The first lines tell of the run: whose report it is, how long it took and how much of that was in MPI, and of several
    /// ranks how efficient they were. A line for each further measure of time follows (waiting, for example), what could not
    /// be counted, and the matrix of messages in a line. Then come the [`SHOWN`] rows with most of the first measure, and how
    /// many there are more.
    fn text(&self, out: &mut dyn Write) -> fmt::Result {
        let Self { table, view, .. } = self;
        let events = table.events();
        self.heading.text(out, events, " of")?;
        let times = view.times();
        let Spread { least, most, ranks, .. } = times.share;
        let percent = |billionths: u64| billionths as f64 / 1e7;
        write!(out, "wall time {:.3} s", times.wall.most.value as f64 / 1e9)?;
        if let Some(hosts) = view.hosts().map(Hosts::count).filter(|hosts| *hosts > 1) {
            write!(out, " on {hosts} hosts")?;
        }
        let has_time = table.measures().iter().any(Measure::is_time);
        if has_time {
            // As `mpi-tool report` reckons it: of all ranks' time, and not the mean of their shares.
            let part = times.inside.sum as f64 / times.wall.sum.max(1) as f64 * 100.0;
            write!(out, ", in MPI {part:.1} % of it")?;
        }
        if has_time && ranks > 1 {
            write!(
                out,
                " (rank {}: {:.1} %, rank {}: {:.1} %)",
                least.rank,
                percent(least.value),
                most.rank,
                percent(most.value)
            )?;
        }
        writeln!(out)?;
        let efficiency = times.efficiency();
        if let Some(efficiency) = efficiency.filter(|_| has_time && ranks > 1) {
            let Efficiency { parallel, load_balance, communication } = efficiency;
            let [parallel, load_balance, communication] =
                [parallel, load_balance, communication].map(|part| part * 100.0);
            write!(
                out,
                "parallel efficiency {parallel:.1} % = load balance {load_balance:.1} % (rank {} is the busiest",
                times.useful.most.rank
            )?;
            if let Some(HostBalance { within, between }) = view.hosts().and_then(Hosts::balance) {
                let [within, between] = [within, between].map(|part| part * 100.0);
                write!(out, "; within hosts {within:.1} %, between them {between:.1} %")?;
            }
            writeln!(out, ") × communication efficiency {communication:.1} %")?;
        } else if has_time && ranks > 1 {
            let rank = times.useful.least.rank;
            writeln!(
                out,
                "efficiencies are not known: several threads of rank {rank} are in MPI at the same time"
            )?;
        }
        let mut shown = SHOWN;
        if let Some(segments) = view.segments().filter(|_| ranks > 1 && efficiency.is_some()) {
            shown -= self.segments_text(out, segments)?;
        }
        for (index, measure) in table.measures().iter().enumerate().skip(1) {
            if measure.is_time() {
                let mut sum = 0_u64;
                view.each_row(&mut |_, measures| {
                    sum = sum.saturating_add(measures(index).moments.sum);
                });
                if sum > 0 {
                    let part = sum as f64 / times.inside.sum.max(1) as f64 * 100.0;
                    writeln!(out, "{} {part:.1} % of the time in MPI", measure.name)?;
                }
            }
        }
        if view.lost() > 0 {
            writeln!(out, "{} {events} could not be counted: no memory", view.lost())?;
        }
        if let Some(matrix) = self.peers {
            peers::text(out, matrix)?;
            shown -= 1;
        }
        // Rows by the first measure, those with most first: found one after the other, since nothing can be
        // sorted without memory.
        let first = table.measures().first();
        let name = first.map_or("", |measure| measure.name);
        // What the rows' first measure is a part of: the time in MPI, or the sum of all rows.
        let (whole, all) = if first.is_some_and(Measure::is_time) {
            ("of MPI", times.inside.sum)
        } else {
            let mut sum = 0_u64;
            view.each_row(&mut |_, measures| sum = sum.saturating_add(measures(0).moments.sum));
            ("of all", sum)
        };
        writeln!(out, "{name:>12} {whole:>7} {events:>12}  what, where")?;
        let mut last = (u64::MAX, Parts::default());
        let mut rows = 0_usize;
        view.each_row(&mut |_, _| rows += 1);
        for _ in 0..rows.min(shown) {
            let mut next: Option<((u64, Parts), RowView)> = None;
            view.each_row(&mut |row, measures| {
                let place = (measures(0).moments.sum, row.key);
                let is_after = place.0 < last.0 || place.0 == last.0 && place.1 > last.1;
                let is_before =
                    |best: (u64, Parts)| place.0 > best.0 || place.0 == best.0 && place.1 < best.1;
                if is_after && next.is_none_or(|(best, _)| is_before(best)) {
                    next = Some((place, row));
                }
            });
            let Some((place, row)) = next else { break };
            last = place;
            self.line(out, row, place.0, all)?;
        }
        if rows > shown {
            writeln!(out, "and {} rows more: MPI_TOOL_FORMAT=json or csv has all", rows - shown)?;
        }
        Ok(())
    }

    /// Where the rank with most useful time takes longer than the mean of all: the places where it loses most, each with what
    /// it takes beyond the mean, and what all others come to. Returns how many lines that are: none if the ranks have the same
    /// work, nearly.
    fn segments_text(&self, out: &mut dyn Write, segments: &Segments) -> Result<usize, fmt::Error> {
        let times = self.view.times();
        let (useful, ranks) = (times.useful, times.useful.ranks.max(1) as f64);
        let cost = useful.most.value as f64 - useful.mean();
        if cost < WORTH_SAYING * times.wall.most.value as f64 {
            return Ok(0);
        }
        let beyond = |of: &Segment| of.busiest as f64 - of.times.sum as f64 / ranks;
        let mut worst: Vec<_> = segments.all.iter().map(|(key, of)| (beyond(of), *key)).collect();
        worst.retain(|(beyond, _)| *beyond >= WORTH_SAYING * cost);
        worst.sort_by(|(one, one_key), (other, other_key)| {
            other.total_cmp(one).then_with(|| one_key.cmp(other_key))
        });
        worst.truncate(SEGMENTS);
        if worst.is_empty() {
            return Ok(0);
        }
        let rank = useful.most.rank;
        for (beyond, [before, from, after, to, phase]) in &worst {
            let seconds = beyond / 1e9;
            write!(out, "rank {rank} computes {seconds:.3} s longer than the mean between ")?;
            write!(out, "{}", function(*before))?;
            self.site(out, *from)?;
            write!(out, " and {}", function(*after))?;
            self.site(out, *to)?;
            match *phase {
                0 => {}
                u32::MAX => out.write_str(", other phases")?,
                phase => self.phase(out, phase)?,
            }
            writeln!(out)?;
        }
        let rest = (cost - worst.iter().map(|(beyond, _)| beyond).sum::<f64>()) / 1e9;
        let than = if rest < 0.0 { "shorter" } else { "longer" };
        writeln!(out, "rank {rank} computes {:.3} s {than} than the mean elsewhere", rest.abs())?;
        Ok(worst.len() + 1)
    }

    /// A row in a line: its first measure (`first`), how much that is of the time in MPI or of all rows (`all`), its events,
    /// and the parts of its key. Nothing is said of parts that tell nothing: the world, no phase, an unknown site.
    fn line(&self, out: &mut dyn Write, row: RowView, first: u64, all: u64) -> fmt::Result {
        let part = first as f64 / all.max(1) as f64 * 100.0;
        let unit = self.table.measures().first().map(|measure| measure.unit);
        match unit {
            Some(MeasureUnit::Ticks) => write!(out, "{:>10.6} s", first as f64 / 1e9)?,
            _ => write!(out, "{first:>12}")?,
        }
        write!(out, " {part:>5.1} % {:>12} ", row.events)?;
        for (part, number) in self.table.parts().iter().zip(row.key) {
            match part.kind {
                PartKind::Function => write!(out, " {}", function(number))?,
                PartKind::Site => self.site(out, number)?,
                PartKind::Communicator => self.communicator(out, number)?,
                PartKind::Size => write!(out, "{}", SizeClass::from_number(number))?,
                PartKind::Phase if number == 0 => {}
                PartKind::Phase if number == u32::MAX => out.write_str(", other phases")?,
                PartKind::Phase => self.phase(out, number)?,
                PartKind::Number => write!(out, " {} {number}", part.name)?,
            }
        }
        writeln!(out)
    }

    /// The first place of a site: its file's name and the offset.
    fn site(&self, out: &mut dyn Write, number: u32) -> fmt::Result {
        match number {
            0 => return Ok(()),
            u32::MAX => return out.write_str(", other places"),
            _ => {}
        }
        let mut result = Ok(());
        let mut count = 0;
        self.view.each_place(number, &mut |path, _, offset| {
            let before = if count == 0 { ", at " } else { " < " };
            count += 1;
            let name = path.rsplit('/').next().unwrap_or(path);
            result = result.and_then(|()| match PythonPlace::of(path, offset) {
                Some(python) => write!(out, "{before}{python}"),
                None => write!(out, "{before}{name}+{offset:#x}"),
            });
        });
        result
    }

    /// The phase of a call, by its number, and its name if it has one.
    fn phase(&self, out: &mut dyn Write, number: u32) -> fmt::Result {
        match self.view.phase_name(number) {
            "" => write!(out, ", phase {number}"),
            name => write!(out, ", phase {number} ({name})"),
        }
    }

    /// The communicator of a call, by its name or how it is otherwise known; nothing if there is none, or if it is the
    /// world, as lines are to be short.
    fn communicator(&self, out: &mut dyn Write, number: u32) -> fmt::Result {
        match (self.view.communicator(number), TrackedComm::from_number(number)) {
            (Some(known), _) if known.is_world() => Ok(()),
            (Some(known), _) => write!(out, ", {known}"),
            (None, TrackedComm::UNKNOWN) => out.write_str(", unknown communicator"),
            (None, TrackedComm::OTHERS) => out.write_str(", other communicators"),
            (None, _) => Ok(()),
        }
    }

    /// One object: what `docs/report.md` describes, with a line a site and a row.
    ///
    /// Sites and communicators have numbers in a report, from 1 on: a row names a site by its place in the list `sites`. The
    /// same site may have another number in another report. A part of a key that is not known is null, and `"others"` of a
    /// row in which a full table has counted what found no room.
    fn json(&self, out: &mut dyn Write) -> fmt::Result {
        let Self { table, view, .. } = self;
        self.heading.json(out, SCHEMA)?;
        let times = view.times();
        out.write_str(",\n\"wall\":")?;
        spread(out, times.wall)?;
        out.write_str(",\n\"active\":")?;
        spread(out, times.active)?;
        out.write_str(",\n\"inside\":")?;
        spread(out, times.inside)?;
        out.write_str(",\n\"share\":")?;
        let Spread { least, most, .. } = times.share;
        let (least_share, most_share) = (least.value as f64 / 1e9, most.value as f64 / 1e9);
        write!(out, "{{\"least\":{least_share},\"least_rank\":{}", least.rank)?;
        write!(out, ",\"most\":{most_share},\"most_rank\":{}}}", most.rank)?;
        out.write_str(",\n\"useful\":")?;
        spread(out, times.useful)?;
        out.write_str(",\n\"overhead\":")?;
        match times.overhead.most.value {
            0 => out.write_str("null")?,
            _ => spread(out, times.overhead)?,
        }
        out.write_str(",\n\"preempted\":")?;
        spread(out, times.preempted)?;
        let mut phases = 0;
        let mut result = Ok(());
        view.phases(&mut |of| {
            let before = if phases == 0 { ",\n\"phases\":[\n  " } else { ",\n  " };
            phases += 1;
            result = result.and_then(|()| out.write_str(before)).and_then(|()| phase(out, of));
        });
        result?;
        if phases > 0 {
            out.write_str("\n]")?;
        }
        out.write_str(",\n\"efficiency\":")?;
        efficiency(out, times.efficiency(), view.hosts().and_then(Hosts::balance))?;
        if let Some(of) = view.segments() {
            segments(out, of, times.useful)?;
        }
        out.write_str(",\n\"hosts\":[")?;
        for (position, (name, Host { useful, ranks })) in
            view.hosts().iter().flat_map(|hosts| &hosts.0).enumerate()
        {
            out.write_str(if position == 0 { "\n  {\"name\":" } else { ",\n  {\"name\":" })?;
            quote(out, name)?;
            write!(out, ",\"ranks\":{},\"useful\":", useful.ranks)?;
            spread(out, *useful)?;
            if !ranks.is_empty() {
                each_rank(out, ranks)?;
            }
            out.write_str("}")?;
        }
        out.write_str("]")?;
        write!(out, ",\n\"lost\":{},\n\"events\":", view.lost())?;
        quote(out, table.events())?;
        out.write_str(",\n\"keys\":[")?;
        for (position, part) in table.parts().iter().enumerate() {
            out.write_str(if position == 0 { "{\"name\":" } else { ",{\"name\":" })?;
            quote(out, part.name)?;
            write!(out, ",\"type\":\"{}\"}}", kind_name(part.kind))?;
        }
        out.write_str("],\n\"measures\":[")?;
        for (position, measure) in table.measures().iter().enumerate() {
            out.write_str(if position == 0 { "{\"name\":" } else { ",{\"name\":" })?;
            quote(out, measure.name)?;
            write!(out, ",\"unit\":\"{}\"}}", unit_name(measure.unit))?;
        }
        out.write_str("],\n\"sites\":[")?;
        for site in 1..=view.sites() {
            out.write_str(if site == 1 { "\n  [" } else { ",\n  [" })?;
            self.places(out, site)?;
            out.write_str("]")?;
        }
        out.write_str("\n],\n\"communicators\":[")?;
        for number in 1..=view.communicators() {
            out.write_str(if number == 1 { "\n  " } else { ",\n  " })?;
            match view.communicator(number) {
                Some(known) => communicator(out, known)?,
                None => out.write_str("null")?,
            }
        }
        out.write_str("\n],\n\"rows\":[")?;
        let mut is_first = true;
        self.try_each_row(|row, measures| {
            out.write_str(if is_first { "\n  {" } else { ",\n  {" })?;
            is_first = false;
            for (part, number) in table.parts().iter().zip(row.key) {
                quote(out, part.name)?;
                out.write_str(":")?;
                match part.kind {
                    PartKind::Function => write!(out, "\"{}\",", function(number))?,
                    PartKind::Number => write!(out, "{number},")?,
                    _ if number == u32::MAX => out.write_str("\"others\",")?,
                    _ if number == 0 => out.write_str("null,")?,
                    PartKind::Communicator if number == TrackedComm::UNKNOWN.number() => {
                        out.write_str("\"unknown\",")?;
                    }
                    PartKind::Site | PartKind::Communicator | PartKind::Phase => {
                        write!(out, "{number},")?;
                    }
                    PartKind::Size => write!(out, "{},", SizeClass::from_number(number).most())?,
                }
            }
            quote(out, table.events())?;
            write!(out, ":{},\"ranks\":{}", row.events, row.ranks)?;
            for (index, measure) in table.measures().iter().enumerate() {
                out.write_str(",")?;
                quote(out, measure.name)?;
                out.write_str(":")?;
                measured(out, measures(index))?;
            }
            out.write_str("}")
        })?;
        out.write_str("\n]")?;
        self.timeline(out)?;
        if let Some(matrix) = self.peers {
            out.write_str(",\n\"matrix\":")?;
            peers::json(out, matrix)?;
        }
        out.write_str("}\n")
    }

    /// When in the run the ranks were in MPI: nothing if the tool does not tell.
    fn timeline(&self, out: &mut dyn Write) -> fmt::Result {
        let (mut result, mut is_first) = (Ok(()), true);
        self.view.timeline(&mut |ShareView { rank, ranks, width, bins }| {
            let mut write = || {
                out.write_str(if is_first { ",\n\"timeline\":[\n  " } else { ",\n  " })?;
                write!(
                    out,
                    "{{\"rank\":{rank},\"ranks\":{ranks},\"width\":{width},\"permille\":["
                )?;
                for (position, share) in bins.iter().enumerate() {
                    write!(out, "{}{share}", if position == 0 { "" } else { "," })?;
                }
                out.write_str("]}")
            };
            if result.is_ok() {
                result = write();
            }
            is_first = false;
        });
        result?;
        out.write_str(if is_first { "" } else { "\n]" })
    }

    /// The places of a site, as a list of JSON without its brackets.
    fn places(&self, out: &mut dyn Write, site: u32) -> fmt::Result {
        let mut result = Ok(());
        let mut is_first = true;
        self.view.each_place(site, &mut |path, build_id, offset| {
            let mut write = || {
                out.write_str(if is_first { "{\"file\":" } else { ",{\"file\":" })?;
                if let Some(PythonPlace { function, file, line }) = PythonPlace::of(path, offset) {
                    // What else would be found in the program's debug information.
                    quote(out, file)?;
                    write!(
                        out,
                        ",\"build_id\":\"\",\"offset\":{line},\"frames\":[{{\"function\":"
                    )?;
                    quote(out, function)?;
                    out.write_str(",\"file\":")?;
                    quote(out, file)?;
                    return match line {
                        0 => out.write_str(",\"line\":null}]}"),
                        line => write!(out, ",\"line\":{line}}}]}}"),
                    };
                }
                quote(out, path)?;
                out.write_str(",\"build_id\":\"")?;
                build_id.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
                write!(out, "\",\"offset\":{offset}}}")
            };
            if result.is_ok() {
                result = write();
            }
            is_first = false;
        });
        result
    }

    /// A header and a line a row. A site is its places, as `FILE+0xOFFSET`, with ` < ` before each caller.
    fn csv(&self, out: &mut dyn Write) -> fmt::Result {
        let table = self.table;
        out.write_str(Heading::COLUMNS)?;
        for part in table.parts() {
            write!(out, ",{}", Field(part.name))?;
        }
        write!(out, ",{},having_ranks", Field(table.events()))?;
        for measure in table.measures() {
            let (name, unit) = (measure.name, unit_name(measure.unit));
            for column in ["count", "sum", "least", "most", "variation", "least_rank", "most_rank"]
            {
                write!(out, ",{name}_{column}")?;
                if ["sum", "least", "most"].contains(&column) {
                    write!(out, "_{unit}")?;
                }
            }
        }
        writeln!(out)?;
        self.try_each_row(|row, measures| {
            self.heading.csv(out, SCHEMA)?;
            for (part, number) in table.parts().iter().zip(row.key) {
                match part.kind {
                    PartKind::Function => write!(out, ",{}", function(number))?,
                    PartKind::Number => write!(out, ",{number}")?,
                    _ if number == 0 => out.write_str(",")?,
                    _ if number == u32::MAX => out.write_str(",others")?,
                    PartKind::Site => self.site_field(out, number)?,
                    PartKind::Communicator => match self.view.communicator(number) {
                        Some(known) => write!(out, ",{:016x}", known.identity)?,
                        None => out.write_str(",unknown")?,
                    },
                    PartKind::Size => write!(out, ",{}", SizeClass::from_number(number).most())?,
                    PartKind::Phase => write!(out, ",{number}")?,
                }
            }
            write!(out, ",{},{}", row.events, row.ranks)?;
            for index in 0..table.measures().len() {
                let Measured { moments, least_rank, most_rank, .. } = measures(index);
                write!(out, ",{},{}", moments.count, moments.sum)?;
                if moments.count == 0 {
                    out.write_str(",,,,,")?;
                    continue;
                }
                write!(out, ",{},{},{}", moments.least, moments.most, moments.variation())?;
                write!(out, ",{least_rank},{most_rank}")?;
            }
            writeln!(out)
        })
    }

    /// A site as a field of CSV, in quotes, as paths may contain anything.
    fn site_field(&self, out: &mut dyn Write, site: u32) -> fmt::Result {
        out.write_str(",\"")?;
        let mut result = Ok(());
        let mut is_first = true;
        self.view.each_place(site, &mut |path, _, offset| {
            let mut write = || {
                out.write_str(if is_first { "" } else { " < " })?;
                let python = PythonPlace::of(path, offset);
                for (position, part) in python.map_or(path, |it| it.file).split('"').enumerate() {
                    out.write_str(if position > 0 { "\"\"" } else { "" })?;
                    out.write_str(part)?;
                }
                match python {
                    Some(PythonPlace { function, line, .. }) => write!(out, ":{line} {function}"),
                    None => write!(out, "+{offset:#x}"),
                }
            };
            if result.is_ok() {
                result = write();
            }
            is_first = false;
        });
        result?;
        out.write_str("\"")
    }
}

/// The name of a function; of what is none, that it is all others.
pub(crate) fn function(number: u32) -> &'static str {
    FunctionId::from_index(number as usize).map_or("others", FunctionId::name)
}

fn kind_name(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Function => "function",
        PartKind::Site => "site",
        PartKind::Communicator => "communicator",
        PartKind::Size => "size",
        PartKind::Phase => "phase",
        PartKind::Number => "number",
    }
}

fn unit_name(unit: MeasureUnit) -> &'static str {
    match unit {
        MeasureUnit::Ticks => "nanoseconds",
        MeasureUnit::Bytes => "bytes",
    }
}

/// What is known of a communicator, as an object. Its identity is text, as many readers of JSON know no such numbers.
fn communicator(out: &mut dyn Write, known: KnownComm<'_>) -> fmt::Result {
    let KnownComm { identity, name, sizes: [size, other], .. } = known;
    write!(out, "{{\"identity\":\"{identity:016x}\",\"name\":")?;
    quote(out, name)?;
    write!(out, ",\"size\":{size},\"remote_size\":")?;
    if other == 0 { out.write_str("null}") } else { write!(out, "{other}}}") }
}

/// A number of each rank, as an object: sum and mean over the ranks, the least and the greatest, and which ranks had these.
fn spread(out: &mut dyn Write, spread: Spread) -> fmt::Result {
    let Spread { sum, least, most, .. } = spread;
    write!(out, "{{\"sum\":{sum},\"mean\":{}", spread.mean())?;
    extremes(out, least, most)?;
    out.write_str("}")
}

/// The times of a phase, of the ranks that had it.
fn phase(out: &mut dyn Write, of: PhaseView<'_>) -> fmt::Result {
    let PhaseView { number, name, times, balance } = of;
    write!(out, "{{\"phase\":{number}")?;
    if !name.is_empty() {
        out.write_str(",\"name\":")?;
        quote(out, name)?;
    }
    write!(out, ",\"ranks\":{}", times.wall.ranks)?;
    for (name, of) in [("wall", times.wall), ("inside", times.inside), ("useful", times.useful)] {
        write!(out, ",\"{name}\":")?;
        spread(out, of)?;
    }
    out.write_str(",\"efficiency\":")?;
    efficiency(out, times.efficiency(), balance)?;
    out.write_str("}")
}

/// Efficiencies, or null if they are not known; with those within and between hosts if there are several.
fn efficiency(
    out: &mut dyn Write,
    of: Option<Efficiency>,
    balance: Option<HostBalance>,
) -> fmt::Result {
    let Some(Efficiency { parallel, load_balance, communication }) = of else {
        return out.write_str("null");
    };
    write!(out, "{{\"parallel\":{parallel},\"load_balance\":{load_balance}")?;
    write!(out, ",\"communication\":{communication}")?;
    if let Some(HostBalance { within, between }) = balance {
        write!(out, ",\"within_hosts\":{within},\"between_hosts\":{between}")?;
    }
    out.write_str("}")
}

/// The times of a host's ranks, as lists of numbers.
fn each_rank(out: &mut dyn Write, ranks: &[RankTimes]) -> fmt::Result {
    let mut list = |before: &str, number: fn(&RankTimes) -> u64| {
        out.write_str(before)?;
        for (position, times) in ranks.iter().enumerate() {
            let before = if position == 0 { "" } else { "," };
            write!(out, "{before}{}", number(times))?;
        }
        Ok(())
    };
    list(",\"by_rank\":{\"rank\":[", |times| times.rank)?;
    list("],\"wall\":[", |times| times.wall)?;
    list("],\"inside\":[", |times| times.inside)?;
    out.write_str("]}")
}

/// The application's own time between two events: each segment, and what belongs to none.
fn segments(out: &mut dyn Write, segments: &Segments, useful: Spread) -> fmt::Result {
    write!(out, ",\n\"segments\":{{\"rank\":{},\"rows\":[", useful.most.rank)?;
    for (position, (key, Segment { times, busiest })) in segments.all.iter().enumerate() {
        let [before, from, after, to, phase] = *key;
        out.write_str(if position == 0 { "\n  {" } else { ",\n  {" })?;
        write!(out, "\"before\":\"{}\",\"before_site\":", function(before))?;
        number(out, from)?;
        write!(out, ",\"after\":\"{}\",\"after_site\":", function(after))?;
        number(out, to)?;
        out.write_str(",\"phase\":")?;
        number(out, phase)?;
        write!(out, ",\"ranks\":{},\"time\":", times.ranks)?;
        spread(out, *times)?;
        write!(out, ",\"busiest\":{busiest}")?;
        if let Some(times) = segments.by_rank.get(key) {
            out.write_str(",\"by_rank\":[")?;
            for (rank, time) in times.iter().enumerate() {
                write!(out, "{}{time}", if rank == 0 { "" } else { "," })?;
            }
            out.write_str("]")?;
        }
        out.write_str("}")?;
    }
    let (sum, busiest) = segments.elsewhere(useful);
    write!(out, "\n],\"elsewhere\":{{\"sum\":{sum},\"busiest\":{busiest}}}}}")
}

/// A site or a phase, by its number.
fn number(out: &mut dyn Write, number: u32) -> fmt::Result {
    match number {
        0 => out.write_str("null"),
        u32::MAX => out.write_str("\"others\""),
        number => write!(out, "{number}"),
    }
}

fn extremes(out: &mut dyn Write, least: Extreme, most: Extreme) -> fmt::Result {
    write!(out, ",\"least\":{},\"least_rank\":{}", least.value, least.rank)?;
    write!(out, ",\"most\":{},\"most_rank\":{}", most.value, most.rank)
}

/// A measure of a row, as an object: how many values there are, their sum and mean, the least and the greatest one with the
/// ranks that had them, how much they vary, and the sums of the ranks; `null` where nothing was measured.
fn measured(out: &mut dyn Write, measured: Measured) -> fmt::Result {
    let Measured { moments, least_rank, most_rank, ranks } = measured;
    if moments.count == 0 {
        return out.write_str("null");
    }
    write!(
        out,
        "{{\"count\":{},\"sum\":{},\"mean\":{}",
        moments.count,
        moments.sum,
        moments.mean()
    )?;
    let least = Extreme { value: moments.least, rank: least_rank };
    let most = Extreme { value: moments.most, rank: most_rank };
    extremes(out, least, most)?;
    write!(out, ",\"variation\":{},\"by_rank\":", moments.variation())?;
    spread(out, ranks)?;
    out.write_str("}")
}
