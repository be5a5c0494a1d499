//! The tables of a page: what ranks have called, from where, on what and with whom.

use std::collections::BTreeMap;

use anyhow::Result;
use maud::{Markup, html};
use mpi_facts::{FunctionClass, FunctionId};

use super::super::phases::{Efficiency, Phase, title, unknown};
use super::super::sites::lines as sites_lines;
use super::super::symbols::Frame;
use super::super::text::{amount, name, shown, sorted};
use super::super::timeline;
use super::super::{By, Communicator, Key, Line, Table, What, lines};
use super::{chart, percent, seconds, source};

/// So many call sites have a line each.
const SITES: usize = 100;

/// So many of them have their source lines.
const WITH_SOURCE: usize = 20;

/// Lines as a table, those with most time first. The first column is what `first` makes of a key, by its number.
fn measured(
    table: &Table,
    of: BTreeMap<Key, Line>,
    what: &str,
    most: usize,
    mut first: impl FnMut(usize, &Key) -> Markup,
) -> Markup {
    let all: u64 = of.values().map(Line::first).fold(0, u64::saturating_add);
    let columns = shown(&of, table);
    let ranks = table.ranks.filter(|_| table.complete).unwrap_or(1) as f64;
    let lines = sorted(of);
    let transfers = columns.iter().any(|(_, column)| column.name == "wait");
    html! {
        div.scroll tabindex="0" role="region" aria-label=(what) {
            table.measured {
                thead {
                    tr {
                        th scope="col" { (what) }
                        th scope="col" { (table.events) }
                        @for (index, column) in &columns {
                            th scope="col" { (column.name) }
                            @if *index == 0 { th scope="col" { "of MPI" } th scope="col" { "imbalance" } }
                            @if column.name == "wait" { th scope="col" { "transfer" } }
                        }
                    }
                }
                tbody {
                    @for (number, (key, line)) in lines.iter().take(most).enumerate() {
                        tr {
                            th scope="row" { (first(number, key)) }
                            td { (line.events) }
                            @for (index, column) in &columns {
                                @let sums = &line.measures[*index];
                                td { @if sums.count > 0 { (amount(sums.sum, &column.unit)) } }
                                @if *index == 0 {
                                    td { (percent(sums.sum as f64 / all.max(1) as f64)) }
                                    td { (imbalance(line, ranks)) }
                                }
                                @if column.name == "wait" && transfers {
                                    td {
                                        @if sums.count > 0 {
                                            (amount(line.first().saturating_sub(sums.sum), &column.unit))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        @if lines.len() > most { p { "And " (lines.len() - most) " lines more, which are in " a href="#data" { "all numbers" } "." } }
    }
}

/// How much longer than the mean of all ranks the slowest one took.
fn imbalance(line: &Line, ranks: f64) -> String {
    let by_rank = line.measures.first().and_then(|sums| sums.by_rank);
    by_rank
        .filter(|of| of.sum > 0.0 && ranks > 1.0)
        .map_or(String::new(), |of| format!("{:.0} %", (of.most / (of.sum / ranks) - 1.0) * 100.0))
}

/// The call sites, each unfoldable to its callers and source lines.
pub(super) fn sites(table: &Table, frames: &[Vec<Frame>]) -> Result<Markup> {
    let mut sources = source::Sources::default();
    let of = sites_lines(table, frames)?;
    Ok(measured(table, of, "call site", SITES, |number, key| {
        let What::Site(site) = key.what else { return html! { (name(table, key, frames)) } };
        let Some((own, callers)) = frames[site].split_first() else {
            return html! { (key.function) };
        };
        html! {
            details {
                summary { b { (key.function) } ", " (own.short()) }
                ol.callers {
                    li { (own.long()) }
                    @for caller in callers { li { "called by " (caller.long()) } }
                }
                @if number < WITH_SOURCE { (sources.around(own)) }
            }
        }
    }))
}

pub(super) fn functions(table: &Table) -> Result<Markup> {
    let of = lines(table, By::Function)?;
    Ok(measured(table, of, "function", usize::MAX, |_, key| html! { (key.function) }))
}

pub(super) fn communicators(table: &Table) -> Result<Markup> {
    if let Some(what_to_do) = table.lacks(By::Communicator) {
        return Ok(missing(&what_to_do));
    }
    let known = table.communicators.iter().flatten();
    let of = lines(table, By::Communicator)?;
    Ok(html! {
        ul { @for communicator in known { li { (Communicator::short(communicator)) } } }
        (measured(table, of, "function, communicator", SITES, |_, key| html! { (name(table, key, &[])) }))
    })
}

pub(super) fn phases(table: &Table) -> Result<Markup> {
    if let Some(what_to_do) = table.lacks(By::Phase) {
        return Ok(missing(&what_to_do));
    }
    let of = lines(table, By::Phase)?;
    let calls = measured(table, of, "function, phase", SITES, |_, key| {
        html! { (name(table, key, &[])) }
    });
    Ok(html! { (efficiencies(table)) (calls) })
}

/// The efficiencies of the phases, or why they are not known.
fn efficiencies(table: &Table) -> Markup {
    if let Some(why) = unknown(table) {
        return html! { p { (why) "." } };
    }
    let known = |phase: &Phase, part: fn(&Efficiency) -> f64| {
        phase.efficiency.as_ref().map_or(String::new(), |of| percent(part(of)))
    };
    let of_hosts = |phase: &Phase, part: fn(&Efficiency) -> Option<f64>| {
        phase.efficiency.as_ref().and_then(part).map_or(String::new(), percent)
    };
    let has_hosts =
        table.phases.iter().any(|phase| !of_hosts(phase, |of| of.within_hosts).is_empty());
    html! {
        @if !table.phases.is_empty() {
            p { "The efficiencies are those of " a href="#efficiency" { "the run" } ", of the time in the phase and of the ranks that had it." }
            div.scroll tabindex="0" role="region" aria-label="efficiencies of phases" {
                table.phases {
                    thead {
                        tr {
                            @for name in ["phase", "ranks", "wall time", "in MPI", "parallel efficiency", "load balance"] {
                                th scope="col" { (name) }
                            }
                            @if has_hosts { th scope="col" { "within hosts" } th scope="col" { "between hosts" } }
                            th scope="col" { "communication efficiency" }
                        }
                    }
                    tbody {
                        @for phase in &table.phases {
                            tr {
                                th scope="row" { (title(table, phase.number)) }
                                td { (phase.ranks) }
                                td { (seconds(phase.wall.most)) }
                                td { (percent(phase.share())) }
                                td { (known(phase, |of| of.parallel)) }
                                td { (known(phase, |of| of.load_balance)) }
                                @if has_hosts {
                                    td { (of_hosts(phase, |of| of.within_hosts)) }
                                    td { (of_hosts(phase, |of| of.between_hosts)) }
                                }
                                td { (known(phase, |of| of.communication)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn sizes(table: &Table) -> Result<Markup> {
    if let Some(what_to_do) = table.lacks(By::Size) {
        return Ok(missing(&what_to_do));
    }
    let of = lines(table, By::Size)?;
    let points: Vec<_> = of
        .iter()
        .filter_map(|(key, line)| match key.what {
            What::Size(most) => {
                Some((most as f64, line.first() as f64 / line.events.max(1) as f64 / 1e9))
            }
            _ => None,
        })
        .collect();
    Ok(html! {
        (chart::logarithmic(&points, "bytes of a call, at most", "seconds of a call"))
        (measured(table, of, "function, size", SITES, |_, key| html! { (name(table, key, &[])) }))
    })
}

/// The picture of the matrix, which the page's script draws.
pub(super) fn matrix(table: &Table) -> Markup {
    if let Some(what_to_do) = table.lacks(By::Peer) {
        return missing(&what_to_do);
    }
    html! {
        p { "Each row is a sender, each column a receiver; the more a cell stands out, the more bytes. Lines separate hosts. "
            "Choose a rank, by its number, by the arrow keys or by a click, to see whom it has sent to." }
        p {
            label { "Rank " input #rank type="number" min="0" value="0"; }
            " "
            label { "as counted by " select #flow { option value="sent" { "senders" } option value="received" { "receivers" } } }
        }
        canvas #picture tabindex="0" role="img" aria-label="matrix of bytes between ranks" width="1" height="1" {}
        p #scale {}
        div.scroll #row tabindex="0" role="region" aria-label="what the rank has sent" {}
        noscript { p { "The picture needs the page's own script. mpi-tool report --matrix prints it as text." } }
    }
}

/// Into so many parts the run is divided in the table beside the picture.
const PARTS: usize = 10;

pub(super) fn timeline(table: &Table) -> Markup {
    let rows = &table.timeline;
    let parts = timeline::parts(rows, PARTS);
    if parts.is_empty() {
        return html! { p { "The report does not tell when in the run the ranks were in MPI." } };
    }
    let together = rows.iter().map(|row| row.ranks).max().unwrap_or(1);
    let one_or_more = |rank: u64| {
        let ranks = rows.iter().find(|row| row.rank == rank).map_or(1, |row| row.ranks);
        if ranks == 1 { format!("rank {rank}") } else { format!("rank {rank} and its neighbours") }
    };
    html! {
        p { "Each row is "
            @if together == 1 { "a rank" } @else { "the mean of up to " (together) " neighbouring ranks" }
            ", each column a stretch of the run of " (seconds(rows[0].width as f64))
            "; the more a cell stands out, the more of it is in MPI. Choose a cell by the arrow keys or by a click." }
        canvas #when tabindex="0" role="img" aria-label="share of MPI, by rank and time" width="1" height="1" {}
        p #moment aria-live="polite" {}
        div.scroll tabindex="0" role="region" aria-label="share of MPI in parts of the run" {
            table {
                thead {
                    tr {
                        th scope="col" { "from, to" } th scope="col" { "in MPI" }
                        th scope="col" { "least" } th scope="col" { "most" }
                    }
                }
                tbody {
                    @for part in &parts {
                        tr {
                            th scope="row" { (seconds(part.from as f64)) ", " (seconds(part.to as f64)) }
                            td { (percent(part.mean)) }
                            td { (percent(part.least.1)) " (" (one_or_more(part.least.0)) ")" }
                            td { (percent(part.most.1)) " (" (one_or_more(part.most.0)) ")" }
                        }
                    }
                }
            }
        }
        noscript { p { "The picture needs the page's own script." } }
    }
}

pub(super) fn hosts(table: &Table) -> Markup {
    if table.hosts.is_empty() {
        return html! { p { "The report does not tell hosts apart." } };
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="hosts" {
            table {
                thead {
                    tr {
                        th scope="col" { "host" } th scope="col" { "ranks" } th scope="col" { "mean useful time" }
                        th scope="col" { "least" } th scope="col" { "most" } th scope="col" { "which ranks" }
                    }
                }
                tbody {
                    @for host in table.hosts.iter().take(SITES) {
                        tr {
                            th scope="row" { (host.name) }
                            td { (host.ranks) }
                            td { (seconds(host.useful.sum / host.ranks.max(1) as f64)) }
                            td { (seconds(host.useful.least)) " (rank " (host.useful.least_rank) ")" }
                            td { (seconds(host.useful.most)) " (rank " (host.useful.most_rank) ")" }
                            td.text { @if let Some(of) = &host.by_rank { (ranges(&of.rank)) } }
                        }
                    }
                }
            }
        }
        @if table.hosts.len() > SITES { p { "And " (table.hosts.len() - SITES) " hosts more." } }
    }
}

/// Numbers with runs of them as `0-3`, at most twelve runs.
fn ranges(numbers: &[u64]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if number.checked_sub(1) == Some(*last) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let more = if runs.len() > 12 { ", …" } else { "" };
    let text = runs.iter().take(12).map(|(first, last)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    });
    text.collect::<Vec<_>>().join(", ") + more
}

/// The calls that read and write files.
pub(super) fn files(table: &Table) -> Result<Markup> {
    let mut of = lines(table, By::Function)?;
    of.retain(|key, _| {
        let function = key.function.parse::<FunctionId>();
        function.is_ok_and(|function| function.class() == FunctionClass::Io)
    });
    if of.is_empty() {
        return Ok(html! { p { "The program has called no function of MPI's files." } });
    }
    Ok(measured(table, of, "function", SITES, |_, key| html! { (key.function) }))
}

/// What a user does for a section that the report has no data for.
pub(super) fn missing(what_to_do: &str) -> Markup {
    html! { p { "Not in this report: " (what_to_do) "." } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_are_short() {
        assert_eq!(ranges(&[3, 0, 1, 7, 2, 9]), "0-3, 7, 9");
        assert_eq!(ranges(&[u64::MAX, 0]), format!("0, {}", u64::MAX));
    }
}
