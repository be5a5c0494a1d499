//! What a page says of the run as a whole.

use std::collections::BTreeMap;

use anyhow::Result;
use maud::{Markup, html};

use super::super::advice::advice;
use super::super::sites;
use super::super::symbols::Frame;
use super::super::text::{amount, name, sorted};
use super::super::{By, Efficiency, Table, lines};
use super::{chart, percent, seconds};

/// Whose report it is.
pub(in super::super) fn whose(table: &Table) -> String {
    let events = &table.events;
    match (table.complete, table.ranks, table.rank) {
        (true, Some(1), _) => format!("{events} of 1 rank"),
        (true, Some(ranks), _) => format!("{events} of {ranks} ranks"),
        (_, Some(ranks), Some(rank)) => format!("{events} of rank {rank} of {ranks} only"),
        (false, Some(ranks), None) => format!("{events} of {ranks} ranks"),
        (_, _, Some(rank)) => format!("{events} of rank {rank} only"),
        _ => format!("{events} of a process"),
    }
}

/// Sentences: what limits the run, how much can be won, and where to look.
pub(super) fn limits(table: &Table, frames: &[Vec<Frame>]) -> Result<Markup> {
    let mut sentences = advice(table, frames);
    if sentences.is_empty()
        && let Some(Efficiency { parallel, .. }) = &table.efficiency
        && table.complete
    {
        sentences.push(if *parallel >= 0.8 {
            format!("neither load imbalance nor communication costs 5 % of the run: the parallel efficiency is {}", percent(*parallel))
        } else {
            format!("the parallel efficiency is {}", percent(*parallel))
        });
    }
    let lines = sites::lines(table, frames)?;
    let all: u64 = lines.values().map(|line| line.first()).fold(0, u64::saturating_add);
    let waiting = table.measures.iter().position(|column| column.name == "wait");
    for (position, (key, line)) in sorted(lines).iter().take(3).enumerate() {
        let part = line.first() as f64 / all.max(1) as f64;
        if part < 0.1 && position > 0 || line.first() == 0 {
            break;
        }
        let mut sentence = format!(
            "look at {}: {} in {} {}, {} of the time in MPI",
            name(table, key, frames),
            amount(line.first(), "nanoseconds"),
            line.events,
            table.events,
            percent(part)
        );
        if let Some(sums) = waiting.and_then(|index| line.measures.get(index))
            && sums.count > 0
        {
            let (wait, how) = (
                amount(sums.sum, "nanoseconds"),
                if sums.is_estimated { " as estimated" } else { "" },
            );
            sentence += &format!("; {wait} of it is waiting{how}, the rest moves data");
        }
        sentences.push(sentence);
    }
    Ok(html! {
        ul.advice { @for sentence in sentences { li { (capital(&sentence)) "." } } }
    })
}

/// With a capital letter at the beginning.
pub(in super::super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Facts of the run.
pub(super) fn run(table: &Table) -> Markup {
    let mean = if table.wall.sum > 0.0 { table.inside.sum / table.wall.sum } else { 0.0 };
    let facts = [
        ("Tool", format!("{} {}", table.tool, table.version)),
        ("Ranks", table.ranks.map_or("not known".into(), |ranks| ranks.to_string())),
        (
            "Hosts",
            if table.hosts.is_empty() { "not known".into() } else { table.hosts.len().to_string() },
        ),
        (
            "Wall time",
            format!(
                "{} (rank {}); the shortest {} (rank {})",
                seconds(table.wall.most),
                table.wall.most_rank,
                seconds(table.wall.least),
                table.wall.least_rank
            ),
        ),
        (
            "In MPI",
            format!("{} of all ranks' time, {} in all", percent(mean), seconds(table.inside.sum)),
        ),
        ("Not counted", format!("{} {}", table.lost, table.events)),
    ];
    html! {
        dl { @for (name, value) in facts { dt { (name) } dd { (value) } } }
    }
}

/// The efficiencies, as a tree of factors.
pub(super) fn efficiency(table: &Table) -> Markup {
    let Some(Efficiency { parallel, load_balance, communication, within_hosts, between_hosts }) =
        &table.efficiency
    else {
        return html! { p { "No rank has time of the program's own." } };
    };
    let leaf = |name: &str, part: f64, means: &str| {
        html! {
            span.factor { b { (name) } " " (percent(part)) " " (chart::gauge(part)) }
            @if !means.is_empty() { " " small { (means) } }
        }
    };
    html! {
        p { "Each factor is the product of those below it." }
        ul.tree {
            li {
                (leaf("Parallel efficiency", *parallel, "mean useful time / wall time"))
                ul {
                    li {
                        (leaf("Load balance", *load_balance, "mean useful time / most useful time"))
                        @if let (Some(within), Some(between)) = (within_hosts, between_hosts) {
                            ul {
                                li { (leaf("Within hosts", *within, "of the ranks of the host whose ranks compute most")) }
                                li { (leaf("Between hosts", *between, "of the hosts' means")) }
                            }
                        }
                    }
                    li { (leaf("Communication efficiency", *communication, "most useful time / wall time")) }
                }
            }
        }
    }
}

/// The share of MPI of each rank, sorted, or what is known of it.
pub(super) fn ranks(table: &Table) -> Markup {
    let share = &table.share;
    let mut ranks: Vec<(u64, f64)> = Vec::new();
    for of in table.hosts.iter().filter_map(|host| host.by_rank.as_ref()) {
        for ((rank, wall), inside) in of.rank.iter().zip(&of.wall).zip(&of.inside) {
            ranks.push((*rank, if *wall > 0 { *inside as f64 / *wall as f64 } else { 0.0 }));
        }
    }
    ranks.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    let known = BTreeMap::from([(share.least_rank, share.least), (share.most_rank, share.most)]);
    let is_of_all = !ranks.is_empty();
    if !is_of_all {
        ranks = known.into_iter().collect();
        ranks.sort_by(|one, other| other.1.total_cmp(&one.1));
    }
    html! {
        p {
            "Least: rank " (share.least_rank) " with " b { (percent(share.least)) }
            ". Most: rank " (share.most_rank) " with " b { (percent(share.most)) } "."
            @if table.rank.is_some() {
                " This report is of one rank."
            } @else if !is_of_all && table.ranks != Some(1) {
                " This report has only these two ranks."
            }
        }
        (chart::shares(&ranks))
    }
}

/// So many nanoseconds a call takes in a tool that has not measured it, about: docs/overhead.md has what was counted.
const CALL: f64 = 60.0;

/// What is known of the tool's own cost.
pub(super) fn cost(table: &Table) -> Result<Markup> {
    let events =
        lines(table, By::Function)?.values().map(|line| line.events).fold(0, u64::saturating_add);
    let ranks = table.ranks.filter(|_| table.complete).unwrap_or(1).max(1);
    let of_each = events as f64 / ranks as f64;
    if let (Some(overhead), true) = (&table.overhead, events > 0) {
        let mean = overhead.sum / ranks as f64;
        let part = overhead.sum / table.wall.sum.max(1.0);
        return Ok(html! {
            p {
                "The tool took about " (format!("{:.6}", mean / 1e9)) " s of each rank in the mean, or "
                (format!("{:.3}", part * 100.0)) " % of the run; most, "
                (format!("{:.6}", overhead.most / 1e9)) " s, of rank " (overhead.most_rank) ". A call that it counts took "
                (format!("{:.0}", overhead.sum / events as f64)) " ns of it, as measured at the end of the run; there were "
                (events) " " (table.events) ", " (format!("{of_each:.0}")) " of each rank in the mean. "
                "What it does once is not in these times: finding each call site, and merging the ranks' tables."
            }
        });
    }
    let time = of_each * CALL;
    let part = if table.wall.most > 0.0 { time / table.wall.most } else { 0.0 };
    Ok(html! {
        p {
            "The tool does not measure its own cost. A call that it counts takes some 200 instructions, about "
            (format!("{CALL:.0}")) " ns, if the data are not told apart by peer. With " (events) " " (table.events)
            ", " (format!("{of_each:.0}")) " of each rank in the mean, that is about "
            (format!("{:.6}", time / 1e9)) " s of each rank, or " (format!("{:.3}", part * 100.0)) " % of the run."
        }
    })
}
