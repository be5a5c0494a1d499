//! The call sites and segments of a report as stacks, from the outermost caller to what is measured.

use anyhow::{Context as _, Result};

use super::super::read::Run;
use super::super::segments::{self, Listed};
use super::super::symbols::Frame;
use super::super::{By, Key, Line, Table, What, lines_of};

/// A function on a stack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Step {
    /// The function; of code between two calls, what it is between.
    pub(super) name: String,
    /// Where it calls the next one, if that is known.
    pub(super) line: Option<(String, u32)>,
    /// As people read it: `solver.c:12 solve`.
    pub(super) short: String,
}

impl Step {
    fn of_frame(frame: &Frame) -> Self {
        Self {
            name: frame.function.clone().unwrap_or_else(|| frame.place.clone()),
            line: frame.line.clone(),
            short: frame.short(),
        }
    }

    fn named(name: String) -> Self {
        Self { short: name.clone(), line: None, name }
    }
}

/// The calls of a report: each function with its callers.
pub(super) fn of_calls(run: &Run, frames: &[Vec<Frame>]) -> Result<Vec<(Vec<Step>, Line)>> {
    let lines = lines_of(&run.table, By::Site, frames)
        .with_context(|| format!("{} is not as a report should be", run.name))?;
    let stack = |(Key { function, what }, line)| {
        let callers: &[Frame] = match what {
            What::Site(site) => frames.get(site).map_or(&[], Vec::as_slice),
            _ => &[],
        };
        let callers = callers.iter().rev().map(Step::of_frame);
        (callers.chain([Step::named(function)]).collect(), line)
    };
    Ok(lines.into_iter().map(stack).collect())
}

/// The code between two calls, with the nanoseconds that all ranks compute there: below the functions that both calls have in
/// common, the last of them at the line from where the first call was made. What belongs to no segment comes last.
pub(super) fn of_segments(table: &Table, frames: &[Vec<Frame>]) -> Vec<(Vec<Step>, f64)> {
    let stack = |Listed { name, calls, sum }: Listed| {
        let mut steps: Vec<Step> = match &calls {
            Some([before, after]) => {
                common(before, after).into_iter().map(Step::of_frame).collect()
            }
            None => Vec::new(),
        };
        steps.push(Step::named(name));
        (steps, sum)
    };
    segments::all(table, frames).into_iter().map(stack).collect()
}

/// The functions that two calls have in common, the outermost first. Of callers that are not known, those of the first call are
/// taken.
fn common<'a>(before: &'a [Frame], after: &[Frame]) -> Vec<&'a Frame> {
    let mut common = Vec::new();
    for (one, other) in before.iter().rev().zip(after.iter().rev()) {
        let file = |frame: &Frame| frame.line.as_ref().map(|(file, _)| file.clone());
        if one.function != other.function || file(one) != file(other) {
            break;
        }
        common.push(one);
        if one.line != other.line {
            break;
        }
    }
    if common.is_empty() { before.iter().rev().collect() } else { common }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_in_the_last_function_that_both_calls_have() {
        let frames = |of: &[(&str, u32)]| -> Vec<Frame> {
            let frame = |(function, line): &(&str, u32)| Frame {
                function: Some((*function).to_owned()),
                line: Some(("a.c".to_owned(), *line)),
                place: String::new(),
            };
            of.iter().map(frame).collect()
        };
        let of = |one: &[(&str, u32)], other: &[(&str, u32)]| -> Vec<String> {
            let (one, other) = (frames(one), frames(other));
            common(&one, &other).into_iter().map(Frame::short).collect()
        };
        let halo = [("halo", 8), ("step", 30), ("main", 90)];
        // In `step`, behind line 30.
        assert_eq!(
            of(&halo, &[("norm", 9), ("step", 31), ("main", 90)]),
            ["a.c:90 main", "a.c:30 step"]
        );
        assert_eq!(
            of(&halo, &[("halo", 9), ("step", 30), ("main", 90)]),
            ["a.c:90 main", "a.c:30 step", "a.c:8 halo"]
        );
        assert_eq!(of(&halo, &[("main", 99)]), ["a.c:90 main"]);
        // Only the innermost functions are known.
        assert_eq!(of(&[("f", 1), ("g", 2)], &[("x", 1)]), ["a.c:2 g", "a.c:1 f"]);
    }
}
