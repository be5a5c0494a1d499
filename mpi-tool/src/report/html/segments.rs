//! The code between two calls in which one rank computes longer than the others: how long each rank takes there.

use maud::{Markup, html};

use super::super::segments::{Worst, worst as worst_of};
use super::super::symbols::Frame;
use super::super::{By, Table};
use super::{chart, overview, seconds, tables};

/// The worst segments.
pub(super) fn worst(table: &Table, frames: &[Vec<Frame>]) -> Markup {
    if let Some(what_to_do) = table.lacks(By::Segment) {
        return tables::missing(&what_to_do);
    }
    let (worst, rest) = worst_of(table, frames);
    let (Some(useful), false) = (&table.useful, worst.is_empty()) else {
        return html! { p { "Nowhere does the rank with most work compute much longer than the mean of all ranks." } };
    };
    let (rank, ranks) = (useful.most_rank, table.ranks.unwrap_or(1).max(1) as f64);
    let segment = |Worst { name, times, beyond, by_rank, unknown }: &Worst| {
        let mean = times.sum / ranks;
        html! {
            h3 { (overview::capital(name)) }
            p {
                "Rank " (rank) " computes " b { (seconds(*beyond)) } " longer than the mean: "
                (seconds(times.busiest)) ", and the mean is " (seconds(mean)) "."
            }
            @if by_rank.is_empty() {
                p { small { "The report does not say how long each rank takes here." } }
            } @else {
                (chart::strip(by_rank, mean, &format!("how long each rank computes {name}")))
                // One nanosecond of each row may be lost where numbers are rounded.
                @if *unknown >= times.sum * 1e-6 {
                    p { small { "Of " (seconds(*unknown)) " of all ranks' time here, the report does not say which rank took it." } }
                }
            }
        }
    };
    html! {
        p {
            "The rank with most work, rank " (rank) ", computes " (seconds(useful.most)) ", and the average rank "
            (seconds(useful.sum / ranks)) ". Where it is longer than the others, they may wait for it. Elsewhere it computes "
            (seconds(rest.abs())) " " (if rest < 0.0 { "shorter" } else { "longer" }) " than the mean."
        }
        @for worst in &worst { (segment(worst)) }
        p { "All segments are in " a href="#data" { "the tables below" } "." }
    }
}
