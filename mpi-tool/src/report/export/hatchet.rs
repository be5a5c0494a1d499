//! A tree of calls as `hatchet.GraphFrame.from_literal` takes it, in JSON: of LLNL's Hatchet, and of Thicket, which is made of it.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::super::read::Run;
use super::super::symbols::Frame;
use super::pprof::COMPUTING;
use super::stacks::{self, Step};

/// A function with those that it calls.
#[derive(Debug, Default)]
struct Node {
    /// Its own values, without those below it.
    own: Vec<f64>,
    below: BTreeMap<Step, Node>,
}

impl Node {
    fn add(&mut self, steps: Vec<Step>, at: usize, value: f64, width: usize) {
        let mut node = self;
        for step in steps {
            node = node.below.entry(step).or_default();
            node.own.resize(width, 0.0);
        }
        node.own[at] += value;
    }

    /// The literals of those below it, and the sums of their values with all that is below them.
    fn literals(&self, names: &[String]) -> (Vec<Value>, Vec<f64>) {
        let mut sums = vec![0.0; names.len()];
        let literals = self.below.iter().map(|(step, node)| {
            let (children, mut inclusive) = node.literals(names);
            inclusive.iter_mut().zip(&node.own).for_each(|(sum, own)| *sum += own);
            sums.iter_mut().zip(&inclusive).for_each(|(sum, more)| *sum += more);
            let mut metrics = Map::new();
            for ((name, own), inclusive) in names.iter().zip(&node.own).zip(&inclusive) {
                metrics.insert(name.clone(), json!(own));
                metrics.insert(format!("{name} (inc)"), json!(inclusive));
            }
            let mut frame = json!({"name": step.name, "type": "function"});
            if let Some((file, line)) = &step.line {
                (frame["file"], frame["line"]) = (json!(file), json!(line));
            }
            let mut literal = json!({"frame": frame, "metrics": metrics});
            if !children.is_empty() {
                literal["children"] = children.into();
            }
            literal
        });
        (literals.collect(), sums)
    }
}

/// Writes the tree. Its values are sums over all ranks, times in seconds: the calls, each measure, and, if the report has
/// segments, computing between calls; of each function its own, and with all below it (`(inc)`).
pub(in super::super) fn write(out: &mut dyn Write, run: &Run, frames: &[Vec<Frame>]) -> Result<()> {
    let Run { name, table, .. } = run;
    let mut names = vec![table.events.clone()];
    names.extend(table.measures.iter().map(|measure| measure.name.clone()));
    if table.segments.is_some() {
        names.push(COMPUTING.to_owned());
    }
    let mut root = Node { own: vec![0.0; names.len()], ..Node::default() };
    let width = names.len();
    for (steps, line) in stacks::of_calls(run, frames)? {
        root.add(steps.clone(), 0, line.events as f64, width);
        for (at, (measure, sums)) in (1..).zip(table.measures.iter().zip(&line.measures)) {
            let unit = if measure.is_time() { 1e9 } else { 1.0 };
            root.add(steps.clone(), at, sums.sum as f64 / unit, width);
        }
    }
    for (steps, nanoseconds) in stacks::of_segments(table, frames) {
        root.add(steps, width - 1, nanoseconds.max(0.0) / 1e9, width);
    }
    let (literals, _) = root.literals(&names);
    if literals.is_empty() {
        bail!("{name} has no calls");
    }
    writeln!(out, "{:#}", Value::Array(literals))?;
    Ok(())
}
