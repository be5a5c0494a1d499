//! The matrix of a report: who has sent how much to whom.
//!
//! A report has a peer as its distance from the own rank, and ranks that have exchanged the same are one entry. Here
//! they become pairs of ranks again, one after the other: nothing is kept of pairs but what is printed.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ::csv::Writer;
use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Table;
use super::text::amount;
use crate::cli::{Flow, Format, PRINTS_ALL};

/// What each rank of a set has exchanged with a peer.
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    pub(super) function: String,
    pub(super) flow: String,
    peer: Option<Relative>,
    messages: u64,
    bytes: u64,
    /// Of each block how long its first run is and where it begins, the distance between runs, and how many there
    /// are. If there is none, nobody knows which ranks these are, and the numbers are sums.
    ranks: Option<Vec<[u64; 4]>>,
}

/// A peer: by its rank less the own one, or what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(untagged)]
enum Relative {
    Distance(i64),
    Word(String),
}

/// A row or a column of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Process {
    /// By its rank in the world; of a block of ranks, the number of the block.
    Rank(u64),
    Word(String),
}

impl Process {
    fn name(&self) -> String {
        match self {
            Self::Rank(rank) => rank.to_string(),
            Self::Word(word) => word.clone(),
        }
    }
}

/// How many pairs of ranks a report may tell of in all.
const MOST_PAIRS: u64 = 1 << 27;

/// Checks that the matrix speaks of ranks of this world only, and of so few pairs that they can be gone through.
pub(super) fn check(table: &Table) -> Result<()> {
    let entries = table.matrix.as_deref().unwrap_or_default();
    let pairs = entries.iter().map(Entry::ranks).fold(0, u64::saturating_add);
    if pairs > MOST_PAIRS {
        bail!("the matrix has {pairs} pairs of ranks, which is too many");
    }
    let world = table.ranks.unwrap_or(MOST_RANKS);
    for entry in entries {
        for [first, length, stride, count] in entry.ranks.iter().flatten().copied() {
            let last = count.checked_sub(1).and_then(|runs| {
                stride.checked_mul(runs)?.checked_add(first)?.checked_add(length)?.checked_sub(1)
            });
            let Some(last) = last.filter(|last| *last < world && length > 0) else {
                bail!("the matrix has ranks that are not in this world");
            };
            if let Some(Relative::Distance(distance)) = entry.peer {
                let peers = [first, last].map(|rank| rank.checked_add_signed(distance));
                if peers.iter().any(|peer| peer.is_none_or(|peer| peer >= world)) {
                    bail!("the matrix has a peer that is not in this world");
                }
            }
        }
    }
    Ok(())
}

/// Messages and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    messages: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, messages: u64, bytes: u64) {
        self.messages = self.messages.saturating_add(messages);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// So many rows a printed matrix has at most.
const MOST_ROWS: u64 = 32;

/// How many ranks a report may speak of: more are no world's.
const MOST_RANKS: u64 = 1 << 32;

impl Entry {
    /// How many ranks the entry is of; 1 if nobody knows it.
    fn ranks(&self) -> u64 {
        let Some(blocks) = &self.ranks else { return 1 };
        let of_block = |[_, length, _, count]: &[u64; 4]| length.saturating_mul(*count);
        blocks.iter().map(of_block).fold(0, u64::saturating_add)
    }

    /// Calls `each` with the own rank and the peer of each pair.
    fn each_pair(&self, mut each: impl FnMut(Process, Process) -> Result<()>) -> Result<()> {
        let word = |word: &str| Process::Word(word.to_owned());
        let peer = |rank: u64| -> Result<Process> {
            Ok(match &self.peer {
                None => word("nobody"),
                Some(Relative::Word(name)) => word(name),
                Some(Relative::Distance(distance)) => {
                    Process::Rank(rank.checked_add_signed(*distance).context("a peer is no rank")?)
                }
            })
        };
        let Some(blocks) = &self.ranks else { return each(word("others"), word("others")) };
        for [first, length, stride, count] in blocks {
            let end = stride.checked_mul(*count).and_then(|all| all.checked_add(first + length));
            if *first > MOST_RANKS || *length > MOST_RANKS || end.is_none_or(|end| end > MOST_RANKS)
            {
                bail!("an entry of the matrix has too many ranks");
            }
            for run in 0..*count {
                for rank in 0..*length {
                    let rank = first + run * stride + rank;
                    each(Process::Rank(rank), peer(rank)?)?;
                }
            }
        }
        Ok(())
    }
}

/// Calls `each` with the two ranks and the bytes of each pair, where both are known.
pub(super) fn each_pair_of_ranks(
    entry: &Entry,
    mut each: impl FnMut(usize, usize, u64),
) -> Result<()> {
    entry.each_pair(|own, peer| {
        if let (Process::Rank(own), Process::Rank(peer)) = (own, peer)
            && let (Ok(own), Ok(peer)) = (usize::try_from(own), usize::try_from(peer))
        {
            each(own, peer, entry.bytes);
        }
        Ok(())
    })
}

/// The pairs of a flow, added up over functions: by source and destination. Several ranks are one row or column, if
/// `block` is more than 1.
fn added_up(
    entries: &[Entry],
    flow: Flow,
    block: u64,
) -> Result<BTreeMap<(Process, Process), Sum>> {
    let mut sums: BTreeMap<_, Sum> = BTreeMap::new();
    let blocked = |process: Process| match process {
        Process::Rank(rank) => Process::Rank(rank / block),
        word @ Process::Word(_) => word,
    };
    for entry in entries.iter().filter(|entry| entry.flow == flow.name()) {
        entry.each_pair(|own, peer| {
            let (own, peer) = (blocked(own), blocked(peer));
            let pair = if flow == Flow::Sent { (own, peer) } else { (peer, own) };
            sums.entry(pair).or_default().add(entry.messages, entry.bytes);
            Ok(())
        })?;
    }
    Ok(sums)
}

/// Writes the matrix of a report.
pub(super) fn write(
    out: &mut dyn Write,
    table: &Table,
    entries: &[Entry],
    flow: Flow,
    to: Format,
) -> Result<()> {
    match to {
        Format::Csv => {
            let mut csv = Writer::from_writer(out);
            csv.write_record(["source", "destination", "messages", "bytes"])?;
            for ((source, destination), Sum { messages, bytes }) in added_up(entries, flow, 1)? {
                let numbers = [messages.to_string(), bytes.to_string()];
                let [messages, bytes] = numbers;
                csv.write_record([source.name(), destination.name(), messages, bytes])?;
            }
            csv.flush()?;
        }
        Format::Json => {
            let process = |process: &Process| match process {
                Process::Rank(rank) => json!(rank),
                Process::Word(word) => json!(word),
            };
            let pairs: Vec<Value> = added_up(entries, flow, 1)?
                .iter()
                .map(|((source, destination), Sum { messages, bytes })| {
                    json!({"source": process(source), "destination": process(destination),
                        "messages": messages, "bytes": bytes})
                })
                .collect();
            let matrix = json!({
                "tool": table.tool, "version": table.version, "complete": table.complete,
                "ranks": table.ranks, "rank": table.rank, "reason": table.reason,
                "flow": flow.name(), "pairs": pairs,
            });
            writeln!(out, "{matrix:#}")?;
        }
        Format::Text => text(out, table, entries, flow)?,
    }
    Ok(())
}

/// For people: a table of bytes, with a row for each source.
fn text(out: &mut dyn Write, table: &Table, entries: &[Entry], flow: Flow) -> Result<()> {
    let ranks = table.ranks.unwrap_or(MOST_ROWS).max(1);
    let block = ranks.div_ceil(MOST_ROWS);
    let sums = added_up(entries, flow, block)?;
    let words = match flow {
        Flow::Sent => "bytes that ranks (rows) have sent to others (columns)",
        Flow::Received => "bytes that have come from ranks (rows) to others (columns)",
    };
    writeln!(out, "# {} {}: {words}", table.tool, table.version)?;
    if !table.complete {
        let reason = table.reason.as_deref().unwrap_or("it is of one process");
        writeln!(out, "partial: {reason}")?;
    }
    if block > 1 {
        writeln!(out, "each row and column is {block} ranks, of which the first one is named")?;
    }
    let mut rows: Vec<&Process> = sums.keys().map(|(source, _)| source).collect();
    let mut columns: Vec<&Process> = sums.keys().map(|(_, destination)| destination).collect();
    for list in [&mut rows, &mut columns] {
        list.sort_unstable();
        list.dedup();
    }
    let name = |process: &Process| match process {
        Process::Rank(number) => (number * block).to_string(),
        Process::Word(word) => word.clone(),
    };
    write!(out, "{:>8}", "")?;
    for column in &columns {
        write!(out, " {:>8}", name(column))?;
    }
    writeln!(out, " {:>8}", "sum")?;
    for row in rows {
        write!(out, "{:>8}", name(row))?;
        let mut all = Sum::default();
        for column in &columns {
            match sums.get(&(row.clone(), (*column).clone())) {
                None => write!(out, " {:>8}", "-")?,
                Some(Sum { messages, bytes }) => {
                    all.add(*messages, *bytes);
                    write!(out, " {:>8}", amount(*bytes, "bytes"))?;
                }
            }
        }
        writeln!(out, " {:>8}", amount(all.bytes, "bytes"))?;
    }
    Ok(())
}

/// What all ranks have exchanged by a function with peers at a distance.
#[derive(Debug, Clone, Copy, Default)]
struct Exchanged {
    sent: Sum,
    received: Sum,
}

/// Writes what ranks have exchanged, by function and by the distance of the peer from the own rank.
pub(super) fn write_distances(
    out: &mut dyn Write,
    table: &Table,
    entries: &[Entry],
    to: Format,
    top: usize,
) -> Result<()> {
    let mut sums: BTreeMap<(&str, Option<&Relative>), Exchanged> = BTreeMap::new();
    for entry in entries {
        let sum = sums.entry((&entry.function, entry.peer.as_ref())).or_default();
        let sum = if entry.flow == Flow::Sent.name() { &mut sum.sent } else { &mut sum.received };
        let ranks = entry.ranks();
        sum.add(entry.messages.saturating_mul(ranks), entry.bytes.saturating_mul(ranks));
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    match to {
        Format::Text => {
            let all = |exchanged: &Exchanged| exchanged.sent.bytes + exchanged.received.bytes;
            sums.sort_by_key(|(_, exchanged)| core::cmp::Reverse(all(exchanged)));
            distances_as_text(out, table, &sums, top)?;
        }
        Format::Csv => {
            let mut csv = Writer::from_writer(out);
            csv.write_record([
                "function",
                "peer",
                "messages_sent",
                "bytes_sent",
                "messages_received",
                "bytes_received",
            ])?;
            for ((function, peer), Exchanged { sent, received }) in sums {
                let numbers = [sent.messages, sent.bytes, received.messages, received.bytes];
                let [a, b, c, d] = numbers.map(|number| number.to_string());
                csv.write_record([function.to_owned(), distance(peer), a, b, c, d])?;
            }
            csv.flush()?;
        }
        Format::Json => {
            let rows = sums.into_iter().map(|((function, peer), Exchanged { sent, received })| {
                let peer = match peer {
                    None => Value::Null,
                    Some(Relative::Distance(distance)) => json!(distance),
                    Some(Relative::Word(word)) => json!(word),
                };
                let sum = |sum: Sum| json!({"messages": sum.messages, "bytes": sum.bytes});
                json!({"function": function, "peer": peer, "sent": sum(sent),
                    "received": sum(received)})
            });
            let rows: Vec<_> = rows.collect();
            let report = json!({
                "tool": table.tool, "version": table.version, "complete": table.complete,
                "ranks": table.ranks, "rank": table.rank, "reason": table.reason, "rows": rows,
            });
            writeln!(out, "{report:#}")?;
        }
    }
    Ok(())
}

/// `+1`, or what is known of the peer.
fn distance(peer: Option<&Relative>) -> String {
    match peer {
        None => "nobody".to_owned(),
        Some(Relative::Distance(distance)) => format!("{distance:+}"),
        Some(Relative::Word(word)) => word.clone(),
    }
}

fn distances_as_text(
    out: &mut dyn Write,
    table: &Table,
    sums: &[((&str, Option<&Relative>), Exchanged)],
    top: usize,
) -> io::Result<()> {
    writeln!(out, "# {} {}: data by the peer's rank less the own one", table.tool, table.version)?;
    writeln!(
        out,
        "{:>12} {:>12} {:>12} {:>12}  what, with whom",
        "messages out", "sent", "messages in", "received"
    )?;
    let shown = if top == 0 { sums.len() } else { top.min(sums.len()) };
    for ((function, peer), Exchanged { sent, received }) in &sums[..shown] {
        let peer = match peer {
            None => "no single process".to_owned(),
            Some(Relative::Distance(_)) => format!("rank {}", distance(*peer)),
            Some(Relative::Word(word)) if word == "outside" => "outside of the world".to_owned(),
            Some(Relative::Word(word)) => format!("{word} processes"),
        };
        let [sent_bytes, received_bytes] = [sent, received].map(|sum| amount(sum.bytes, "bytes"));
        writeln!(
            out,
            "{:>12} {sent_bytes:>12} {:>12} {received_bytes:>12}  {function}, {peer}",
            sent.messages, received.messages
        )?;
    }
    if sums.len() > shown {
        writeln!(out, "and {} lines more: {PRINTS_ALL}", sums.len() - shown)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(ranks: u64) -> Table {
        let extremes = json!({"sum": 1.0, "least": 1, "least_rank": 0, "most": 1, "most_rank": 0});
        serde_json::from_value(json!({
            "tool": "t", "version": "1", "complete": true, "ranks": ranks, "wall": extremes,
            "inside": extremes, "share": extremes, "lost": 0, "events": "calls", "measures": [],
            "sites": [], "rows": [],
        }))
        .unwrap()
    }

    fn entries() -> Vec<Entry> {
        serde_json::from_value(json!([
            {"function": "MPI_Send", "flow": "sent", "peer": 1, "messages": 2, "bytes": 1500,
                "ranks": [[0, 2, 0, 1]]},
            {"function": "MPI_Isend", "flow": "sent", "peer": 1, "messages": 1, "bytes": 500,
                "ranks": [[1, 1, 0, 1]]},
            {"function": "MPI_Bcast", "flow": "sent", "peer": null, "messages": 1, "bytes": 7,
                "ranks": [[0, 1, 0, 1]]},
            {"function": "MPI_Recv", "flow": "received", "peer": -1, "messages": 2, "bytes": 1500,
                "ranks": [[1, 2, 0, 1]]},
        ]))
        .unwrap()
    }

    fn written(table: &Table, entries: &[Entry], flow: Flow, to: Format) -> String {
        let mut out = Vec::new();
        write(&mut out, table, entries, flow, to).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Three ranks in a line: by hand.
    #[test]
    fn pairs_are_sources_and_destinations() {
        let (table, entries) = (table(3), entries());
        assert_eq!(
            written(&table, &entries, Flow::Sent, Format::Csv),
            "source,destination,messages,bytes\n0,1,2,1500\n0,nobody,1,7\n1,2,3,2000\n"
        );
        assert_eq!(
            written(&table, &entries, Flow::Received, Format::Csv),
            "source,destination,messages,bytes\n0,1,2,1500\n1,2,2,1500\n"
        );
        assert_eq!(
            written(&table, &entries, Flow::Sent, Format::Text),
            "# t 1: bytes that ranks (rows) have sent to others (columns)\n\
             \x20               1        2   nobody      sum\n\
             \x20      0   1.5 kB        -      7 B   1.5 kB\n\
             \x20      1        -   2.0 kB        -   2.0 kB\n"
        );
    }

    /// In a world of 64 ranks two of them are one row; each sends a byte to the next one.
    #[test]
    fn many_ranks_are_blocks() {
        let entries: Vec<Entry> = serde_json::from_value(json!([
            {"function": "MPI_Send", "flow": "sent", "peer": 1, "messages": 1, "bytes": 1,
                "ranks": [[0, 1, 2, 32], [1, 1, 2, 31]]},
        ]))
        .unwrap();
        let text = written(&table(64), &entries, Flow::Sent, Format::Text);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3 + 32);
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(lines[3])[..7], ["0", "1", "B", "1", "B", "-", "-"]);
        assert_eq!(words(lines[34])[32..], ["1", "B", "1", "B"]);
        assert!(written(&table(64), &entries, Flow::Sent, Format::Csv).lines().count() == 64);
    }

    #[test]
    fn distances_are_added_up_by_function() {
        let mut out = Vec::new();
        write_distances(&mut out, &table(3), &entries(), Format::Csv, 0).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "function,peer,messages_sent,bytes_sent,messages_received,bytes_received\n\
             MPI_Bcast,nobody,1,7,0,0\nMPI_Isend,+1,1,500,0,0\nMPI_Recv,-1,0,0,4,3000\n\
             MPI_Send,+1,4,3000,0,0\n"
        );
    }

    /// What no tool writes is an error, and not endless.
    #[test]
    fn what_is_no_matrix_is_refused() {
        for (peer, ranks) in
            [(json!(-5), json!([[0, 1, 0, 1]])), (json!(1), json!([[0, 1, 1, u64::MAX]]))]
        {
            let entries: Vec<Entry> = serde_json::from_value(json!([
                {"function": "f", "flow": "sent", "peer": peer, "messages": 1, "bytes": 1,
                    "ranks": ranks},
            ]))
            .unwrap();
            assert!(added_up(&entries, Flow::Sent, 1).is_err());
        }
    }
}
