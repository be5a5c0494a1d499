//! Scaling as text, JSON and CSV.

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use super::super::html::percent;
use super::{Certainty, Growth, Kind, Scaling, Size, in_words};

/// For people. `top` lines of each list, or all if that is 0.
pub(super) fn text(out: &mut dyn Write, scaling: &Scaling, top: usize) -> Result<()> {
    writeln!(out, "# {}", title(scaling))?;
    writeln!(out, "{}", scaling.time.words())?;
    writeln!(out, "{}", of_runs(scaling))?;
    for sentence in sentences(scaling) {
        writeln!(out, "{sentence}")?;
    }
    writeln!(
        out,
        "{:>8} {:>12} {:>24} {:>8} {:>10} {:>8} {:>8} {:>8} {:>8} {:>13} {:>11}",
        "", "", "", "", "", "step", "global", "parallel", "load", "communication", "computation"
    )?;
    writeln!(
        out,
        "{:>8} {:>12} {:>24} {:>8} {:>10} {:>8} {:>8} {:>8} {:>8} {:>13} {:>11}",
        "ranks",
        "time",
        "least to most",
        "speedup",
        "efficiency",
        "eff.",
        "eff.",
        "eff.",
        "balance",
        "eff.",
        "scaling"
    )?;
    for size in &scaling.sizes {
        writeln!(
            out,
            "{:>8} {:>12} {:>24} {:>8.2} {:>10} {:>8} {:>8} {:>8} {:>8} {:>13} {:>11}",
            size.ranks,
            seconds(size.time),
            spread(size),
            size.speedup,
            percent(size.efficiency),
            size.step.as_ref().map_or(String::new(), |step| percent(step.efficiency)),
            part(size.global_efficiency),
            part(size.parallel_efficiency),
            part(size.load_balance),
            part(size.communication_efficiency),
            part(size.computation_scaling),
        )?;
    }
    writeln!(out, "{PRODUCTS}")?;
    for (list, of) in lists(scaling) {
        let (shown, left) = grown(list, top);
        if shown.is_empty() {
            writeln!(out, "{}", none_grew(scaling, list, of))?;
            continue;
        }
        writeln!(out, "{}:", heading(scaling, of))?;
        for growth in shown {
            let (from, to) = (percent(growth.smallest()), percent(growth.largest()));
            writeln!(out, "{from:>9} {to:>9}  {}", growth.name)?;
        }
        if left > 0 {
            writeln!(out, "and {left} more: --top 0 prints all that have grown")?;
        }
    }
    for note in &scaling.notes {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

/// What a list is of, in words.
#[derive(Clone, Copy)]
pub(super) struct Of {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) one: &'static str,
    of_what: &'static str,
}

/// The lists that are known.
pub(super) fn lists(scaling: &Scaling) -> impl Iterator<Item = (&[Growth], Of)> {
    let sites = Of {
        id: "sites",
        name: "Call sites",
        one: "call site",
        of_what: "time in MPI as a share of all ranks' time",
    };
    let segments = Of {
        id: "segments",
        name: "Code between two calls",
        one: "code",
        of_what: "time of the rank with most useful time as a share of the run's",
    };
    let known = [(scaling.sites.as_deref(), sites), (scaling.segments.as_deref(), segments)];
    known.into_iter().filter_map(|(list, of)| Some((list?, of)))
}

/// What has grown, and how much more there is.
pub(super) fn grown(list: &[Growth], top: usize) -> (Vec<&Growth>, usize) {
    let mut shown: Vec<_> = list.iter().filter(|growth| growth.is_worth_saying()).collect();
    let all = shown.len();
    if top > 0 {
        shown.truncate(top);
    }
    let left = all - shown.len();
    (shown, left)
}

/// The smallest and the greatest number of ranks.
fn ends(scaling: &Scaling) -> (u64, u64) {
    let ranks = |size: Option<&Size>| size.map_or(0, |size| size.ranks);
    (ranks(scaling.sizes.first()), ranks(scaling.sizes.last()))
}

/// What stands above a list.
pub(super) fn heading(scaling: &Scaling, of: Of) -> String {
    let (few, many) = ends(scaling);
    format!(
        "{} with a growing share from {few} to {many} ranks ({})",
        of.name.to_lowercase(),
        of.of_what
    )
}

/// What stands in place of a list.
pub(super) fn none_grew(scaling: &Scaling, list: &[Growth], of: Of) -> String {
    let (few, many) = ends(scaling);
    let is_judged = list.iter().any(|growth| growth.noise != Certainty::Unknown);
    let beyond = if is_judged { " beyond noise" } else { "" };
    format!(
        "no {} takes 1 % of the run more on {many} ranks than on {few}{beyond} ({})",
        of.one, of.of_what
    )
}

/// What it is.
pub(super) fn title(scaling: &Scaling) -> String {
    let work = match scaling.scaling {
        Kind::Strong => "strong scaling (all ranks together have the same work)",
        Kind::Weak => {
            "weak scaling (each rank has the same work; speedup is that of the work done in a time)"
        }
    };
    let (few, many) = ends(scaling);
    let Scaling { tool, reference, .. } = scaling;
    format!("{tool}: {work}, {few} to {many} ranks, relative to {}", in_words(*reference))
}

/// How the numbers are products of each other.
pub(super) const PRODUCTS: &str = "efficiency = speedup / ideal speedup, step efficiency = the same from one number of ranks to the next; global efficiency = parallel efficiency x computation scaling; \
    parallel efficiency = load balance x communication efficiency";

/// Which runs the numbers are of.
pub(super) fn of_runs(scaling: &Scaling) -> &'static str {
    if scaling.has_repetitions() {
        "of several runs on a number of ranks, the numbers are those of the run of median time (of an even number of runs, the faster \
         one of the middle two)"
    } else {
        "there is one run of each number of ranks, so it is unknown how much runs vary: give several runs of each"
    }
}

/// What follows from the numbers.
pub(super) fn sentences(scaling: &Scaling) -> Vec<String> {
    let mut sentences: Vec<String> =
        scaling.pays.iter().map(|pays| pays.sentence.clone()).collect();
    let steps = |noise: Certainty| {
        let steps = scaling.sizes.iter().filter_map(|size| {
            let step = size.step.as_ref().filter(|step| step.noise == noise)?;
            Some(format!("from {} to {}", step.from, in_words(size.ranks)))
        });
        steps.collect::<Vec<_>>()
    };
    let (noisy, unknown) = (steps(Certainty::Within), steps(Certainty::Unknown));
    if !noisy.is_empty() {
        sentences.push(format!(
            "within noise: {} (Student's t-test of the runs, as in comparisons)",
            noisy.join(", ")
        ));
    }
    if !unknown.is_empty() && scaling.has_repetitions() {
        sentences.push(format!("one run each, so noise is unknown: {}", unknown.join(", ")));
    }
    sentences
}

/// One object.
pub(super) fn json(out: &mut dyn Write, scaling: &Scaling) -> Result<()> {
    writeln!(out, "{:#}", json!(scaling))?;
    Ok(())
}

/// A line for each number of ranks.
pub(super) fn csv(out: &mut dyn Write, scaling: &Scaling) -> Result<()> {
    let mut csv = ::csv::Writer::from_writer(out);
    csv.write_record([
        "ranks",
        "hosts",
        "runs",
        "file",
        "seconds",
        "seconds_least",
        "seconds_most",
        "speedup",
        "speedup_ideal",
        "efficiency",
        "step_speedup",
        "step_efficiency",
        "global_efficiency",
        "parallel_efficiency",
        "load_balance",
        "communication_efficiency",
        "computation_scaling",
        "seconds_useful",
        "seconds_outside",
    ])?;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for size in &scaling.sizes {
        let step = size.step.as_ref();
        csv.write_record([
            size.ranks.to_string(),
            size.hosts.map_or(String::new(), |hosts| hosts.to_string()),
            size.files.len().to_string(),
            size.file.clone(),
            size.time.to_string(),
            size.time_least.to_string(),
            size.time_most.to_string(),
            size.speedup.to_string(),
            size.speedup_ideal.to_string(),
            size.efficiency.to_string(),
            number(step.map(|step| step.speedup)),
            number(step.map(|step| step.efficiency)),
            number(size.global_efficiency),
            number(size.parallel_efficiency),
            number(size.load_balance),
            number(size.communication_efficiency),
            number(size.computation_scaling),
            number(size.useful),
            number(size.outside),
        ])?;
    }
    csv.flush()?;
    Ok(())
}

pub(super) fn seconds(value: f64) -> String {
    format!("{value:.3} s")
}

/// The least and the most time of several runs.
pub(super) fn spread(size: &Size) -> String {
    match size.seconds.len() {
        1 => "one run".to_owned(),
        runs => format!("{:.3} to {:.3} s of {runs}", size.time_least, size.time_most),
    }
}

/// A part in percent, if it is known.
pub(super) fn part(value: Option<f64>) -> String {
    value.map_or("unknown".to_owned(), percent)
}
