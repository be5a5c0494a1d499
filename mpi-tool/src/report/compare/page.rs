//! A comparison as a page for a browser.

use std::io::Write;

use anyhow::Result;
use maud::{Markup, html};
use serde_json::json;

use super::super::html::document;
use super::super::html::overview::capital;
use super::show::{in_words, interval, seconds, side, signed, without_change, without_segments};
use super::{Comparison, Item};

/// So many call sites, phases and ranks have a line each.
const SHOWN: usize = 200;

pub(super) fn write(out: &mut dyn Write, comparison: &Comparison) -> Result<()> {
    let Comparison {
        tool, before, after, changed, rule, run, sites, segments, phases, ranks, ..
    } = comparison;
    let segments = segments.as_deref().unwrap_or_default();
    let lists = [
        ("sites", "Call sites", &sites[..]),
        ("segments", "Code between two calls", segments),
        ("phases", "Phases", phases),
        ("ranks", "Ranks, time in MPI", ranks),
    ];
    let title = format!("{tool}: what has changed");
    let body = html! {
        h1 { (title) }
        p { "Before: " (side(before)) ". After: " (side(after)) "." }
        section #advice aria-label="What has changed" {
            h2 { "What has changed" }
            ul.advice {
                @if !changed { li { (capital(without_change(comparison))) "." } }
                @for item in run.iter().chain(changes(sites)).chain(changes(segments)) {
                    li { (in_words(item)) "." }
                }
                @if let Some(words) = without_segments(comparison) { li { (capital(&words)) "." } }
            }
            p { small { "Rule: " (rule) "." } }
        }
        @for (id, name, items) in lists {
            @if !items.is_empty() {
                section #(id) aria-label=(name) { h2 { (name) } (table(name, items)) }
            }
        }
        section #data aria-label="All numbers" { h2 { "All numbers" } p { "Times are in seconds, the mean of the ranks." } }
    };
    out.write_all(document(&title, &body, &json!(comparison)).as_bytes())?;
    Ok(())
}

/// The first changes of a list.
fn changes(items: &[Item]) -> impl Iterator<Item = &Item> {
    items.iter().filter(|item| item.verdict.is_change()).take(5)
}

fn table(name: &str, items: &[Item]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table.measured {
                thead {
                    tr {
                        th scope="col" { (name) }
                        @for column in ["before", "after", "change", "95 % interval", "verdict"] { th scope="col" { (column) } }
                    }
                }
                tbody {
                    @for item in items.iter().take(SHOWN) {
                        tr {
                            th scope="row" { (item.name) }
                            td { (seconds(item.mean_before)) }
                            td { (seconds(item.mean_after)) }
                            td { @if let Some(change) = item.change { (signed(change)) } }
                            td { (interval(item)) }
                            td { @if item.verdict.is_change() { strong { (item.verdict.words()) } } @else if item.is_judged { "within noise" } @else { "not judged" } }
                        }
                    }
                }
            }
        }
        @if items.len() > SHOWN { p { "And " (items.len() - SHOWN) " lines more, which are in " a href="#data" { "all numbers" } "." } }
    }
}
