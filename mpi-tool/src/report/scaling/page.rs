//! Scaling as a page for a browser, with curves.

use std::io::Write;

use anyhow::Result;
use maud::{Markup, html};
use serde_json::json;

use super::super::html::chart::{Axis, Curve, Scale, curves};
use super::super::html::overview::capital;
use super::super::html::{document, percent};
use super::show::{
    PRODUCTS, grown, heading, lists, none_grew, of_runs, part, seconds, sentences, spread, title,
};
use super::{Scaling, Size, in_words};

pub(super) fn write(out: &mut dyn Write, scaling: &Scaling, top: usize) -> Result<()> {
    let title = title(scaling);
    let body = html! {
        h1 { (title) }
        p { (capital(scaling.time.words())) ". " (capital(of_runs(scaling))) "." }
        section #advice aria-label="What adding ranks brings" {
            h2 { "What adding ranks brings" }
            ul.advice {
                @for sentence in sentences(scaling) { li { (capital(&sentence)) "." } }
                @for note in &scaling.notes { li { "Note: " (note) "." } }
            }
        }
        section #speedup aria-label="Speedup" { h2 { "Speedup" } (speedup(scaling)) }
        section #efficiency aria-label="Efficiencies" {
            h2 { "Efficiencies" }
            (efficiencies(scaling))
            p { small { (capital(PRODUCTS)) "." } }
        }
        section #sizes aria-label="Numbers of ranks" { h2 { "Numbers of ranks" } (table(scaling)) }
        @for (list, of) in lists(scaling) {
            section #(of.id) aria-label=(of.name) {
                h2 { (of.name) }
                @let (shown, left) = grown(list, top);
                @if shown.is_empty() { p { (capital(&none_grew(scaling, list, of))) "." } } @else {
                    p { (capital(&heading(scaling, of))) "." }
                    div.scroll tabindex="0" role="region" aria-label={ "Growth: " (of.name) } {
                        table.measured {
                            thead {
                                tr {
                                    th scope="col" { (of.name) }
                                    @for size in &scaling.sizes { th scope="col" { (in_words(size.ranks)) } }
                                    th scope="col" { "growth, points" }
                                }
                            }
                            tbody {
                                @for growth in shown {
                                    tr {
                                        th scope="row" { (growth.name) }
                                        @for share in &growth.shares { td { (percent(*share)) } }
                                        td { (format!("{:+.1}", growth.growth * 100.0)) }
                                    }
                                }
                            }
                        }
                    }
                    @if left > 0 { p { "And " (left) " more, which are in " a href="#data" { "all numbers" } "." } }
                }
            }
        }
        section #data aria-label="All numbers" { h2 { "All numbers" } p { "Times are in seconds, shares and efficiencies parts of 1." } }
    };
    out.write_all(document(&title, &body, &json!(scaling)).as_bytes())?;
    Ok(())
}

/// The values of a curve, at each number of ranks.
fn curve<'a>(scaling: &Scaling, name: &'a str, of: impl Fn(&Size) -> Option<f64>) -> Curve<'a> {
    Curve { name, values: scaling.sizes.iter().map(of).collect() }
}

fn ranks(scaling: &Scaling) -> Axis {
    let ranks: Vec<u64> = scaling.sizes.iter().map(|size| size.ranks).collect();
    Axis::logarithmic("ranks", &ranks)
}

fn speedup(scaling: &Scaling) -> Markup {
    let of = [
        curve(scaling, "measured", |size| Some(size.speedup)),
        curve(scaling, "ideal", |size| Some(size.speedup_ideal)),
    ];
    curves(&of, &ranks(scaling), "speedup", Scale::Doubling)
}

fn efficiencies(scaling: &Scaling) -> Markup {
    let of = [
        curve(scaling, "global efficiency", |size| size.global_efficiency),
        curve(scaling, "parallel efficiency", |size| size.parallel_efficiency),
        curve(scaling, "load balance", |size| size.load_balance),
        curve(scaling, "communication efficiency", |size| size.communication_efficiency),
        curve(scaling, "computation scaling", |size| size.computation_scaling),
    ];
    curves(&of, &ranks(scaling), "efficiency", Scale::Parts)
}

fn table(scaling: &Scaling) -> Markup {
    let columns = [
        "ranks",
        "time",
        "least to most",
        "speedup",
        "ideal",
        "efficiency",
        "step efficiency",
        "global efficiency",
        "parallel efficiency",
        "load balance",
        "communication efficiency",
        "computation scaling",
    ];
    html! {
        div.scroll tabindex="0" role="region" aria-label="Table of numbers of ranks" {
            table {
                thead { tr { @for column in columns { th scope="col" { (column) } } } }
                tbody {
                    @for size in &scaling.sizes {
                        tr {
                            th scope="row" { (size.ranks) }
                            td { (seconds(size.time)) }
                            td { (spread(size)) }
                            td { (format!("{:.2}", size.speedup)) }
                            td { (format!("{:.2}", size.speedup_ideal)) }
                            td { (percent(size.efficiency)) }
                            td { @if let Some(step) = &size.step { (percent(step.efficiency)) } }
                            td { (part(size.global_efficiency)) }
                            td { (part(size.parallel_efficiency)) }
                            td { (part(size.load_balance)) }
                            td { (part(size.communication_efficiency)) }
                            td { (part(size.computation_scaling)) }
                        }
                    }
                }
            }
        }
    }
}
