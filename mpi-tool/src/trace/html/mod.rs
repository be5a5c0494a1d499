//! A trace as one page for a browser, without any reference outside of its file: time lines that one can zoom into and
//! move, arrows for messages, and who waits for whom.

use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;

use anyhow::Result;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::Found;
use super::causes::{self, Row};
use super::csv;
use super::efficiency::Efficiency;
use super::messages::Messages;
use super::read::{Site, Trace};
use super::text;
use super::waits;
use crate::report::html::chart::{Axis, Curve, Scale, curves};
use crate::report::html::{STYLE, page};

const OWN_STYLE: &str = include_str!("timeline.css");
const SCRIPT: &str = include_str!("timeline.js");
const DATA: &str = "<script type=\"application/json\" id=\"mpi-tool-trace\">";

/// So many calls are in a page, and so many messages: what a browser draws without delay.
const MOST_CALLS: usize = 200_000;
const MOST_MESSAGES: usize = 50_000;

/// Writes the page.
pub(super) fn write(
    out: &mut dyn Write,
    trace: &Trace,
    messages: &Messages,
    found: &Found,
) -> Result<()> {
    let Found { waits, causes, efficiency, .. } = found;
    let (data, left_out) = data(trace, messages);
    let groups = waits::grouped(trace, waits);
    let has_sites = groups.iter().any(|(group, ..)| group.site.is_some() || group.until.is_some());
    let at =
        |site: &Option<Rc<Site>>| site.as_ref().map_or(String::new(), |site| site.path.clone());
    let title = format!("Trace of {}", text::count(trace.processes.len(), "rank"));
    let body = html! {
        h1 { (title) }
        pre { (text::heading(trace, messages, found)) }
        @if let Some(left_out) = &left_out { p.partial { (left_out) } }
        section #timeline aria-label="Time lines" {
            h2 { "Time lines" }
            p #help {
                "Turn the wheel or press + and - to zoom, drag or press the arrow keys to move, 0 for all. Point at a call to read \
                 what it is. Arrows are messages: from the beginning of the send to the end of the call that received it."
            }
            noscript { p { "The time lines need the page's own script." } }
            p #legend {}
            div #lanes { canvas #canvas tabindex="0" aria-label="Time lines of all ranks" aria-describedby="help pointed" {} }
            p #pointed aria-live="polite" { "…" }
        }
        @if let Some(efficiency) = efficiency { (efficiencies(efficiency)) }
        @if causes.waiting > 0 {
            section #causes aria-label="Why ranks wait" {
                h2 { "Why ranks wait" }
                div.scroll tabindex="0" {
                    table {
                        thead { tr { th scope="col" { "seconds" } th scope="col" { "%" } th scope="col" { "cause" } } }
                        tbody {
                            @for Row { time, text } in causes::rows(trace, causes, 10) {
                                tr {
                                    td { (format!("{:.6}", time / 1e9)) }
                                    td { (format!("{:.1}", causes::share(causes, time))) }
                                    td.text { (text) }
                                }
                            }
                        }
                    }
                }
            }
        }
        section #waits aria-label="Who waits for whom" {
            h2 { "Who waits for whom" }
            div.scroll tabindex="0" {
                table {
                    thead { tr { th scope="col" { "cause" } th scope="col" { "rank" } th scope="col" { "in" }
                        @if has_sites { th scope="col" { "at" } }
                        th scope="col" { "waits for rank" }
                        @if has_sites { th scope="col" { "at" } }
                        th scope="col" { "calls" } th scope="col" { "seconds" } } }
                    tbody {
                        @for (group, time, calls) in groups.iter().take(200) {
                            tr {
                                td.text { (group.kind.name()) }
                                td { (rank(trace, group.waiting)) }
                                td.text { (group.function.name()) }
                                @if has_sites { td.text { (at(&group.site)) } }
                                td { (rank(trace, group.culprit)) }
                                @if has_sites { td.text { (at(&group.until)) } }
                                td { (calls) }
                                td { (format!("{:.6}", *time as f64 / 1e9)) }
                            }
                        }
                    }
                }
            }
        }
    };
    out.write_all(page(&title, &body, [STYLE, OWN_STYLE], DATA, &data, SCRIPT).as_bytes())?;
    Ok(())
}

/// Efficiencies over the time of the run, as curves and as a table.
fn efficiencies(efficiency: &Efficiency) -> Markup {
    let windows = &efficiency.windows;
    let Some(first) = windows.first() else { return html! {} };
    let curve = |at: usize| {
        let values = windows.iter().map(|window| window.factors.tree()[at].2).collect();
        Curve { name: first.factors.tree()[at].1, values }
    };
    let known = |curve: &Curve<'_>| curve.values.iter().any(Option::is_some);
    let of: Vec<_> = (0..first.factors.tree().len()).map(curve).filter(known).collect();
    let second = |time: i64| format!("{:.3}", time as f64 / 1e9);
    let axis = Axis::even("seconds", windows.iter().map(|window| second(window.begin)).collect());
    html! {
        section #efficiencies aria-label="Efficiencies over time" {
            h2 { "Efficiencies over time" }
            p {
                "From when the last MPI_Init has returned to the end, in " (windows.len()) " windows of equal length, by their \
                 beginnings."
            }
            (curves(&of, &axis, "efficiency", Scale::Parts))
            div.scroll tabindex="0" {
                table {
                    thead { tr {
                        th scope="col" { "from, s" }
                        @for curve in &of { th scope="col" { (curve.name.trim_end_matches(" efficiency")) ", %" } }
                    } }
                    tbody {
                        @for (at, window) in windows.iter().enumerate() {
                            tr {
                                td { (second(window.begin)) }
                                @for curve in &of {
                                    td { (curve.values[at].map_or_else(String::new, |part| format!("{:.1}", part * 100.0))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn rank(trace: &Trace, process: usize) -> String {
    trace.processes[process].rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string())
}

/// What the script draws, and what is left out of it.
fn data(trace: &Trace, messages: &Messages) -> (Value, Option<String>) {
    let mut durations: Vec<i64> = trace.calls().map(|(.., call)| call.end - call.begin).collect();
    let all = durations.len();
    let shortest = if all > MOST_CALLS {
        let (_, shortest, _) = durations.select_nth_unstable(all - MOST_CALLS);
        *shortest + 1
    } else {
        0
    };
    let mut functions: BTreeMap<&str, usize> = BTreeMap::new();
    let mut sites: BTreeMap<Rc<Site>, usize> = BTreeMap::new();
    let mut lanes = Vec::new();
    let mut lane_of = BTreeMap::new();
    let mut shown = 0;
    for (at, process) in trace.processes.iter().enumerate() {
        for (number, thread) in process.threads.iter().enumerate() {
            let name = match (process.rank, number) {
                (Some(rank), 0) => rank.to_string(),
                (Some(rank), number) => format!("{rank}.{number}"),
                (None, number) => format!("pid {}.{number}", process.pid),
            };
            lane_of.insert((at, number), lanes.len());
            let mut calls: Vec<_> =
                thread.calls.iter().filter(|call| call.end - call.begin >= shortest).collect();
            // Those inside of others are drawn later.
            calls.sort_by_key(|call| (call.begin, core::cmp::Reverse(call.end)));
            let mut last = 0;
            let calls: Vec<Value> = calls
                .into_iter()
                .map(|call| {
                    let next = functions.len();
                    let function = *functions.entry(call.function.name()).or_insert(next);
                    let begin = call.begin - last;
                    last = call.begin;
                    let [sent, received, reduced] = csv::bytes(process, number, call);
                    let bytes = sent.saturating_add(received).saturating_add(reduced);
                    let length = call.end - call.begin;
                    let site = process.site(call).map(|site| {
                        let next = sites.len();
                        *sites.entry(Rc::clone(site)).or_insert(next)
                    });
                    match (csv::peer(process, number, call), bytes, site) {
                        (None, 0, None) => json!([begin, length, function]),
                        (peer, bytes, None) => json!([begin, length, function, bytes, peer]),
                        (peer, bytes, site) => {
                            json!([begin, length, function, bytes, peer, site])
                        }
                    }
                })
                .collect();
            shown += calls.len();
            lanes.push(json!({"name": name, "host": process.host, "calls": calls}));
        }
    }
    let mut largest: Vec<_> = messages.matched.iter().collect();
    largest.sort_by_key(|message| core::cmp::Reverse(message.bytes));
    let sent = largest.iter().take(MOST_MESSAGES).map(|message| {
        let lane = |place: super::messages::Place| lane_of[&(place.process(), place.thread())];
        let (from, to) = (message.sent.of(trace).begin, message.received.of(trace).end);
        json!([lane(message.sent), from, lane(message.received), to, message.bytes, message.tag])
    });
    let mut names = vec![""; functions.len()];
    functions.iter().for_each(|(name, number)| names[*number] = *name);
    let mut paths = vec![""; sites.len()];
    sites.iter().for_each(|(site, number)| paths[*number] = &site.path);
    let data = json!({
        "schema": "mpi-tool-timeline/1",
        "end": trace.end(),
        "functions": names,
        "sites": paths,
        "lanes": lanes,
        "messages": sent.collect::<Vec<_>>(),
    });
    let left_out = (shown < all || messages.matched.len() > MOST_MESSAGES).then(|| {
        format!(
            "The time lines show {shown} of {all} calls, those that took {shortest} ns and more, and {} of {} messages, the \
             largest. mpi-tool trace --to perfetto writes all.",
            messages.matched.len().min(MOST_MESSAGES),
            messages.matched.len()
        )
    });
    (data, left_out)
}

#[cfg(test)]
mod tests {
    use super::super::causes::simulated::at_random;
    use super::*;

    /// There is a curve for each efficiency that is known, and a line of the table for each window.
    #[test]
    fn efficiencies_are_curves() {
        for (filter, curves) in [(0, 5), (mpi_facts::trace::filter::RANKS, 3)] {
            let mut trace = at_random(1, false).0.run();
            trace.processes[0].filter = filter;
            let messages = Messages::of(&trace);
            let mut page = Vec::new();
            write(&mut page, &trace, &messages, &Found::of(&trace, &messages)).unwrap();
            let page = String::from_utf8(page).unwrap();
            let section = page.split_once("id=\"efficiencies\"").unwrap().1;
            let section = section.split_once("</section>").unwrap().0;
            let lines = section.split("<path").filter(|path| path.contains(" d=\"M0 4H40\""));
            assert_eq!(lines.count(), curves);
            assert_eq!(section.matches("<tr>").count(), 21);
            assert_eq!(section.contains("transfer, %"), filter == 0);
        }
    }
}
