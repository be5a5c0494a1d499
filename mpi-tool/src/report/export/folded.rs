//! Folded stacks, of which flame graphs are made (flamegraph.pl, inferno, speedscope): a line for each call site, from the
//! outermost caller to the MPI function, and the time in it.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, bail};

use super::super::read::Run;
use super::super::symbols::Frame;
use super::stacks;

/// Writes one line for each stack. Its number is the sum over all ranks of the nanoseconds in the function; where nobody has
/// measured time, of the calls.
pub(in super::super) fn write(out: &mut dyn Write, run: &Run, frames: &[Vec<Frame>]) -> Result<()> {
    let Run { name, table, .. } = run;
    let time = table.measures.iter().position(|measure| measure.is_time());
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for (steps, line) in stacks::of_calls(run, frames)? {
        let number = match time {
            Some(at) => line.measures.get(at).map_or(0, |sums| sums.sum),
            None => line.events,
        };
        let stack: Vec<String> = steps.iter().map(|step| word(&step.short)).collect();
        let sum = stacks.entry(stack.join(";")).or_default();
        *sum = sum.saturating_add(number);
    }
    // Who reads them refuses stacks without any weight.
    stacks.retain(|_, number| *number > 0);
    if stacks.is_empty() {
        bail!("{name} has no time in any call");
    }
    for (stack, number) in stacks {
        writeln!(out, "{stack} {number}")?;
    }
    Ok(())
}

/// A frame as a line can have it: what separates frames and lines is no part of it.
fn word(frame: &str) -> String {
    frame.replace(';', ",").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::frames;
    use super::super::super::symbols::Symbols;
    use super::*;

    /// By hand: the outermost caller comes first, two calls of one line are one stack, and what took no time is left out.
    #[test]
    fn stacks_are_from_the_outermost_caller() {
        let frame = |function: &str, line: u64| json!([{"function": function, "file": "/s/a.c", "line": line}]);
        let place = |offset: u64, frames: Value| json!({"file": "/b/app", "build_id": "ab", "offset": offset, "frames": frames});
        let site =
            |offset: u64| json!([place(offset, frame("operator;", 3)), place(9, frame("main", 7))]);
        let spread = json!({"sum": 9, "least": 1, "least_rank": 0, "most": 5, "most_rank": 1});
        let row = |site: u64, function: &str, sum: u64| json!({"function": function, "site": site, "calls": 2, "ranks": 2, "time": {"count": 2, "sum": sum}});
        let value = json!({
            "tool": "t", "version": "1", "complete": true, "ranks": 2, "wall": spread, "inside": spread, "share": spread,
            "lost": 0, "events": "calls", "measures": [{"name": "time", "unit": "nanoseconds"}],
            "sites": [site(1), site(2)],
            "rows": [row(1, "MPI_Send", 10), row(2, "MPI_Send", 20), row(1, "MPI_Recv", 0), {
                "function": "MPI_Init", "site": null, "calls": 2, "ranks": 2, "time": {"count": 2, "sum": 5}}],
        });
        let table = serde_json::from_value(value.clone()).unwrap();
        let frames = frames(&table, &mut Symbols::default());
        let run = Run { name: "x".into(), value, table };
        let mut out = Vec::new();
        write(&mut out, &run, &frames).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "MPI_Init 5\na.c:7 main;a.c:3 operator,;MPI_Send 30\n"
        );
    }
}
