//! One time for all hosts, whose clocks differ by an offset and in their rates.
//!
//! No message arrives before it was sent, and nobody leaves a barrier before the last one has come. Each such pair of events
//! on two hosts says how far their clocks are apart at least or at most. What fits between all of these bounds are straight
//! lines, one of which is the truth if clocks run evenly. The line with most room on both sides corrects the times, and
//! how far other lines are from it is how wrong the correction may be. So nothing need be measured while the program runs.
//!
//! Hosts are corrected one after the other: each by the one that is known best of those that it has exchanged messages with,
//! beginning with the host of rank 0.

use std::collections::HashMap;

use mpi_facts::{FunctionId, Pattern, Shape, Timing};

use super::messages::{Messages, Place};
use super::read::{Clocks, Trace};
use super::waits;

/// By how much clocks' rates may differ: the kernel puts its clock right by half of that at most.
const RATE: f64 = 1e-3;

/// Times in the files are rounded down by less, in nanoseconds.
const ROUNDED: f64 = 50.0;

/// Steps of searches, each of which leaves two thirds of the range at most.
const STEPS: usize = 120;

/// A time, and a bound for the distance of two clocks at that time.
type Point = (f64, f64);

/// A straight line: `offset + rate * time`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    offset: f64,
    rate: f64,
}

impl Line {
    fn at(self, time: f64) -> f64 {
        self.offset + self.rate * time
    }
}

/// A line between bounds.
#[derive(Debug, Clone, Copy)]
struct Fit {
    line: Line,
    /// How far another line between the bounds may be from it. Below 0 if no line is between them.
    error: f64,
}

/// Of events on one host that come before events on another one, the times of both.
type Orders = HashMap<(usize, usize), Vec<(i64, i64)>>;

/// Corrects all times by those of the first process's host.
pub(super) fn correct(trace: &mut Trace, messages: &mut Messages) {
    if trace.hosts < 2 {
        return;
    }
    let mut names: Vec<String> = Vec::new();
    let hosts: Vec<usize> = trace
        .processes
        .iter()
        .map(|process| {
            names.iter().position(|name| *name == process.host).unwrap_or_else(|| {
                names.push(process.host.clone());
                names.len() - 1
            })
        })
        .collect();
    let orders = orders(trace, messages, &hosts);
    let mut ranges = vec![(f64::MAX, f64::MIN); names.len()];
    for (process, host) in trace.processes.iter().zip(&hosts) {
        let range = &mut ranges[*host];
        for call in process.threads.iter().flat_map(|thread| &thread.calls) {
            *range = (range.0.min(call.begin as f64), range.1.max(call.end as f64));
        }
    }
    let (lines, clocks) = lines(&orders, &ranges);
    let mut first = i64::MAX;
    for (process, host) in trace.processes.iter_mut().zip(&hosts) {
        let line = lines[*host];
        for time in process.off_times() {
            *time = time.wrapping_add(line.at(*time as f64).round() as i64);
        }
        for call in process.threads.iter_mut().flat_map(|thread| &mut thread.calls) {
            for time in [&mut call.begin, &mut call.end] {
                *time += line.at(*time as f64).round() as i64;
            }
            first = first.min(call.begin);
        }
    }
    for process in &mut trace.processes {
        process.off_times().for_each(|time| *time = time.wrapping_sub(first));
        for call in process.threads.iter_mut().flat_map(|thread| &mut thread.calls) {
            call.begin -= first;
            call.end -= first;
        }
    }
    trace.clocks = clocks;
    messages.sort(trace);
}

/// What comes before what, on different hosts.
fn orders(trace: &Trace, messages: &Messages, hosts: &[usize]) -> Orders {
    let mut orders = Orders::new();
    let mut add = |before: Place, after: Place| {
        let key = (hosts[before.process()], hosts[after.process()]);
        if key.0 != key.1 {
            let times = (before.of(trace).begin, after.of(trace).end);
            orders.entry(key).or_default().push(times);
        }
    };
    for message in &messages.matched {
        add(message.sent, message.received);
    }
    for operation in waits::operations(trace) {
        let shape = Shape::looked_up(operation.function);
        if shape.timing != Timing::Blocking {
            continue;
        }
        let root = operation.root(trace);
        match (shape.pattern, root) {
            (Pattern::Broadcast | Pattern::Scatter, Some(root)) => {
                operation.calls.iter().for_each(|call| add(root, *call));
            }
            (Pattern::Gather | Pattern::Reduce, Some(root)) => {
                operation.calls.iter().for_each(|call| add(*call, root));
            }
            (Pattern::Allgather | Pattern::Alltoall | Pattern::Allreduce, _)
            | (Pattern::ReduceScatter | Pattern::Nothing, _)
                if operation.function != FunctionId::MPI_Scan =>
            {
                // The last one of each host to come, and the first one of each to leave.
                let mut last: HashMap<usize, Place> = HashMap::new();
                let mut left: HashMap<usize, Place> = HashMap::new();
                for call in &operation.calls {
                    let host = hosts[call.process()];
                    let come = last.entry(host).or_insert(*call);
                    if come.of(trace).begin < call.of(trace).begin {
                        *come = *call;
                    }
                    let gone = left.entry(host).or_insert(*call);
                    if gone.of(trace).end > call.of(trace).end {
                        *gone = *call;
                    }
                }
                for come in last.values() {
                    left.values().for_each(|gone| add(*come, *gone));
                }
            }
            _ => {}
        }
    }
    orders
}

/// The correction of each host, and how good all of them are.
fn lines(orders: &Orders, ranges: &[(f64, f64)]) -> (Vec<Line>, Clocks) {
    let mut lines = vec![Line { offset: 0.0, rate: 0.0 }; ranges.len()];
    // The error of each host that is known.
    let mut known: HashMap<usize, f64> = HashMap::from([(0, 0.0)]);
    let mut is_even = true;
    while known.len() < ranges.len() {
        let mut best: Option<(f64, usize, Fit, usize)> = None;
        for (of, by) in orders.keys().map(|(one, other)| (*one, *other)) {
            for (of, by) in [(of, by), (by, of)] {
                let (Some(error), false) = (known.get(&by), known.contains_key(&of)) else {
                    continue;
                };
                if let Some(fit) = fit(orders, of, by, ranges[of]) {
                    let error = error + fit.error.abs();
                    if best.is_none_or(|(least, ..)| error < least) {
                        best = Some((error, of, fit, by));
                    }
                }
            }
        }
        let Some((error, of, fit, by)) = best else { return (lines, Clocks::Unknown) };
        is_even &= fit.error >= 0.0;
        // By the other host's clock, which is corrected itself.
        let (own, other) = (fit.line, lines[by]);
        lines[of] = Line {
            offset: own.offset + other.at(own.offset),
            rate: own.rate + other.rate * (1.0 + own.rate),
        };
        known.insert(of, error);
    }
    let most = known.values().copied().fold(0.0, f64::max);
    // Of two hosts, both may be wrong.
    let sum = if ranges.len() > 2 { 2.0 * most } else { most };
    (lines, if is_even { Clocks::Corrected(sum.ceil() as i64) } else { Clocks::Uneven })
}

/// What is to be added to a host's times, to make them those of another host: `None` if nothing bounds it from both sides.
fn fit(orders: &Orders, of: usize, by: usize, range: (f64, f64)) -> Option<Fit> {
    let before = orders.get(&(by, of))?;
    let after = orders.get(&(of, by))?;
    let middle = (range.0 + range.1) / 2.0;
    // An event here comes later than one there, and so is at least ...
    let least =
        before.iter().map(|(there, here)| (*here as f64 - middle, (there - here) as f64 - ROUNDED));
    let most =
        after.iter().map(|(here, there)| (*here as f64 - middle, (there - here) as f64 + ROUNDED));
    let fit = between(
        &hull(least.collect(), 1.0),
        &hull(most.collect(), -1.0),
        [range.0 - middle, range.1 - middle],
    );
    let Line { offset, rate } = fit.line;
    let line = Line { offset: offset - rate * middle, rate };
    Some(Fit { line, error: fit.error })
}

/// Those of points that no line above all of them (`side` 1), or below (-1), can touch all others before: their convex hull
/// on that side.
fn hull(mut points: Vec<Point>, side: f64) -> Vec<Point> {
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut hull: Vec<Point> = Vec::new();
    for point in points {
        while let [.., first, second] = hull[..] {
            let turn = (second.0 - first.0) * (point.1 - first.1)
                - (second.1 - first.1) * (point.0 - first.0);
            if turn * side < 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// The line between points with most room, and how far others are from it between two times.
fn between(least: &[Point], most: &[Point], times: [f64; 2]) -> Fit {
    // For each rate, between which offsets the line may be.
    let low =
        |rate: f64| least.iter().map(|(time, bound)| bound - rate * time).fold(f64::MIN, f64::max);
    let high =
        |rate: f64| most.iter().map(|(time, bound)| bound - rate * time).fold(f64::MAX, f64::min);
    let room = |rate: f64| high(rate) - low(rate);
    let rate = greatest([-RATE, RATE], room);
    let line = Line { offset: f64::midpoint(low(rate), high(rate)), rate };
    if room(rate) < 0.0 {
        return Fit { line, error: room(rate) };
    }
    // All rates with which there is a line: room is a concave function of the rate.
    let edge = |mut outside: f64| {
        let mut inside = rate;
        if room(outside) >= 0.0 {
            return outside;
        }
        for _ in 0..STEPS {
            let middle = f64::midpoint(inside, outside);
            *if room(middle) >= 0.0 { &mut inside } else { &mut outside } = middle;
        }
        outside
    };
    let rates = [edge(-RATE), edge(RATE)];
    let error = times.map(|time| {
        let above = greatest(rates, |rate| high(rate) + rate * time);
        let below = greatest(rates, |rate| -(low(rate) + rate * time));
        let (above, below) = (high(above) + above * time, low(below) + below * time);
        (above - line.at(time)).max(line.at(time) - below)
    });
    Fit { line, error: error[0].max(error[1]) + ROUNDED }
}

/// Where a concave function is greatest.
fn greatest([mut from, mut to]: [f64; 2], of: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..STEPS {
        let third = (to - from) / 3.0;
        let [left, right] = [from + third, to - third];
        if of(left) < of(right) {
            from = left;
        } else {
            to = right;
        }
    }
    f64::midpoint(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: at time 0 the distance is between 10 and 20, at 100 between 30 and 34. The widest strip has its middle at 15
    /// and 32 (rate 0.17), if any rate may be.
    #[test]
    fn the_line_is_in_the_middle_of_its_bounds() {
        let scale = 1e-4;
        let least = [(0.0, 10.0 * scale), (100.0, 30.0 * scale)];
        let most = [(0.0, 20.0 * scale), (100.0, 34.0 * scale)];
        let fit = between(&least, &most, [0.0, 100.0]);
        // Whatever the rate, there is room of 4 at most at time 100, and each line has half of that on both sides there.
        assert!((fit.line.at(100.0) - 32.0 * scale).abs() < 1e-9, "{fit:?}");
        assert!((10.0 * scale..=20.0 * scale).contains(&fit.line.at(0.0)), "{fit:?}");
        assert!(fit.error >= 5.0 * scale + ROUNDED, "{fit:?}");
    }

    /// The last bound of three contradicts the others.
    #[test]
    fn uneven_clocks_are_seen() {
        let fit = between(&[(0.0, 10.0), (100.0, 10.0)], &[(50.0, 5.0)], [0.0, 100.0]);
        assert!(fit.error < 0.0, "{fit:?}");
    }

    #[test]
    fn the_hull_has_what_lines_can_touch() {
        let points = vec![(0.0, 0.0), (1.0, 5.0), (2.0, 1.0), (3.0, 6.0), (4.0, 0.0)];
        assert_eq!(hull(points.clone(), 1.0), [(0.0, 0.0), (1.0, 5.0), (3.0, 6.0), (4.0, 0.0)]);
        assert_eq!(hull(points, -1.0), [(0.0, 0.0), (4.0, 0.0)]);
    }

    /// Three hosts in a row, the clocks of two of which are off by seconds and by 50 and -80 millionths: what they say of
    /// true times, and messages between neighbours that take from 2 to 30 µs.
    #[test]
    fn known_clocks_are_corrected_within_the_error_that_is_said() {
        let clocks = [(0.0, 0.0), (3e9, 50e-6), (-7e9, -80e-6)];
        let says = |host: usize, time: f64| {
            let (offset, rate) = clocks[host];
            (time * (1.0 + rate) + offset).floor() as i64
        };
        let mut state = 1_u32;
        let mut random = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from((state >> 8) % most)
        };
        let end = 20e9;
        let mut orders = Orders::new();
        for number in 0..2000 {
            let time = f64::from(number) * end / 2000.0;
            let left = usize::from(random(2) > 0.0);
            let key = if random(2) > 0.0 { (left, left + 1) } else { (left + 1, left) };
            let takes = 2000.0 + random(28_000);
            let times = (says(key.0, time), says(key.1, time + takes));
            orders.entry(key).or_default().push(times);
        }
        let ranges = [0, 1, 2].map(|host| (says(host, 0.0) as f64, says(host, end) as f64));
        let (lines, quality) = lines(&orders, &ranges);
        let Clocks::Corrected(error) = quality else { panic!("{quality:?}") };
        assert!(error < 50_000, "{error}");
        for step in 0..=100 {
            let time = f64::from(step) * end / 100.0;
            for (host, line) in lines.iter().enumerate() {
                let own = says(host, time) as f64;
                let wrong = (own + line.at(own) - time).abs();
                assert!(wrong <= error as f64, "host {host} at {time}: {wrong}, {error}");
            }
        }
        for ((before, after), times) in &orders {
            let corrected = |host: usize, time: i64| time as f64 + lines[host].at(time as f64);
            let is_early =
                |(sent, come): &&(i64, i64)| corrected(*before, *sent) > corrected(*after, *come);
            assert_eq!(times.iter().find(is_early), None);
        }
        // Without messages back, nobody knows.
        orders.remove(&(2, 1));
        assert_eq!(super::lines(&orders, &ranges).1, Clocks::Unknown);
    }
}
