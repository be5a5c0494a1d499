//! Is a trace that of a whole run, and of one run? What its figures leave out, or have too much, is said with them.

use std::collections::{BTreeMap, BTreeSet};

use mpi_facts::FunctionId;
use mpi_facts::trace::filter;

use super::causes::{is_init, may_wait};
use super::polls::is_poll;
use super::read::{Opened, Process, Thread, Trace};
use super::text;
use crate::hang::list;

/// The processes of each world.
type Worlds<'a> = BTreeMap<usize, Vec<&'a Process>>;

fn worlds<'a>(processes: impl IntoIterator<Item = &'a Process>) -> Worlds<'a> {
    let mut worlds = Worlds::new();
    for process in processes {
        worlds.entry(process.world).or_default().push(process);
    }
    worlds
}

/// What is wrong with the files, a sentence each.
pub(super) fn warnings(trace: &Trace) -> Vec<String> {
    let worlds = worlds(&trace.processes);
    let mut all = absent(&worlds, trace.are_chosen);
    for (world, processes) in &worlds {
        for process in processes.iter().filter(|process| !is_whole(process)) {
            let rank = process.rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
            all.push(format!(
                "the file of rank {rank}{} is not whole: it does not have the last call, though the rank has come to its end \
                 ({})",
                of_world(&worlds, *world),
                process.path.display()
            ));
        }
    }
    if let Some((before, after)) = apart(&worlds) {
        all.push(format!(
            "the files are of several runs: world {before} had ended before world {after} began. All figures are of both together; \
             to see one run, name its files"
        ));
    }
    all
}

/// The same of files whose calls are not read yet.
pub(super) fn absent_in(opened: &Opened) -> Vec<String> {
    absent(&worlds(opened.processes()), opened.are_chosen())
}

/// Which ranks have no file. Of files that were named one by one, nobody is surprised.
fn absent(worlds: &Worlds<'_>, are_chosen: bool) -> Vec<String> {
    let of = |(world, processes): (&usize, &Vec<&Process>)| {
        let missing = missing(processes);
        let of = of_world(worlds, *world);
        (!missing.is_empty()).then(|| {
            format!("{}{of} left no file here: what is told is of the others only", ranks(&missing))
        })
    };
    if are_chosen { Vec::new() } else { worlds.iter().filter_map(of).collect() }
}

fn of_world(worlds: &Worlds<'_>, world: usize) -> String {
    if worlds.len() > 1 { format!(" of world {world}") } else { String::new() }
}

/// Ranks in words.
fn ranks(ranks: &[u32]) -> String {
    let plural = if ranks.len() == 1 { "" } else { "s" };
    format!("rank{plural} {}", list(ranks))
}

/// The ranks of a world that should have a file and have none.
fn missing(processes: &[&Process]) -> Vec<u32> {
    let chosen = |process: &&Process| process.filter & filter::RANKS != 0;
    let size = processes.iter().find_map(|process| process.size);
    let Some(size) = size.filter(|_| !processes.iter().any(chosen)) else { return Vec::new() };
    let there: BTreeSet<u32> = processes.iter().filter_map(|process| process.rank).collect();
    (0..size).filter(|rank| !there.contains(rank)).collect()
}

/// Has a process that has finalized MPI the call that did so, or was it told to leave calls out?
fn is_whole(process: &Process) -> bool {
    use FunctionId::{MPI_Finalize, MPI_Session_finalize};
    let is_end = |function: FunctionId| matches!(function, MPI_Finalize | MPI_Session_finalize);
    let leaves_out = process.filter != 0 || process.off.is_some() || process.lost > 0;
    !process.is_over
        || leaves_out
        || process
            .threads
            .iter()
            .any(|thread| thread.calls.iter().any(|call| is_end(call.function)))
}

/// Why nobody can say of a trace how much of its time is computing, and what its length consists of.
pub(super) fn untold(trace: &Trace) -> Option<String> {
    let of = |is_it: fn(&Process) -> bool| trace.processes.iter().position(is_it);
    let name = |process| text::name(trace, process);
    if let Some(process) = of(|process| talking_threads(process) > 1) {
        return Some(format!(
            "{} calls MPI from {} threads: what one computes while another one waits, and which of them wait for each other, \
             the trace does not tell",
            name(process),
            talking_threads(&trace.processes[process])
        ));
    }
    let missing = if let Some(process) = of(|process| matches!(process.off, Some((_, None)))) {
        format!("MPI_Pcontrol had switched tracing off on {} at the end", name(process))
    } else if let Some(process) = of(|process| process.lost > 0) {
        format!("calls of {} were not recorded", name(process))
    } else if of(|process| process.filter & filter::FUNCTIONS != 0).is_some() {
        "only chosen functions were recorded".to_owned()
    } else {
        let since = since(trace)?;
        let ended = |process: &Process| last(process).is_none_or(|last| last <= since);
        let process = trace.processes.iter().position(ended)?;
        return Some(format!(
            "the trace has all calls of all ranks from {} on only, and {} had ended by then",
            text::seconds(since),
            name(process)
        ));
    };
    Some(format!("{missing}, and what is missing would count as computing"))
}

/// From when on a trace has the calls of all ranks, if it does not have those before: rings keep the last ones, and tracing may
/// have been switched on late.
pub(super) fn since(trace: &Trace) -> Option<i64> {
    let of = |process: &Process| {
        let on = process.off.and_then(|(_, on)| on);
        let calls = process.threads.iter().filter(|thread| talks(thread));
        let calls = calls.flat_map(|thread| &thread.calls).filter(|_| process.overwritten > 0);
        on.max(calls.map(|call| call.begin).min())
    };
    trace.processes.iter().filter_map(of).max()
}

/// When a process has called `MPI_Finalize`, or its last call has ended.
fn last(process: &Process) -> Option<i64> {
    let calls = process.threads.iter().flat_map(|thread| &thread.calls);
    let finalize = FunctionId::MPI_Finalize;
    calls.map(|call| if call.function == finalize { call.begin } else { call.end }).max()
}

/// Is MPI's time part of the thread's: has it initialized MPI, or called a function that may wait?
pub(super) fn talks(thread: &Thread) -> bool {
    let talks = |function| is_init(function) || is_poll(function) || may_wait(function);
    thread.calls.iter().any(|call| talks(call.function))
}

/// How many threads of a process call functions that may wait, with the one that has initialized MPI.
fn talking_threads(process: &Process) -> usize {
    process.threads.iter().filter(|thread| talks(thread)).count()
}

/// Two worlds of which one had ended before the other one began, while none was there that lasted over both: processes that
/// have spawned others are. A world that has not come to its end may have lasted for ever.
fn apart(worlds: &Worlds<'_>) -> Option<(usize, usize)> {
    let span = |processes: &[&Process]| {
        let calls = processes.iter().flat_map(|process| &process.threads);
        let calls = calls.flat_map(|thread| &thread.calls);
        let both =
            |(begin, end): (i64, i64), (from, to): (i64, i64)| (begin.min(from), end.max(to));
        let (begin, end) = calls.map(|call| (call.begin, call.end)).reduce(both)?;
        let is_over = processes.iter().all(|process| process.is_over);
        Some((begin, if is_over { end } else { i64::MAX }))
    };
    let of = |(world, processes): (&usize, &Vec<&Process>)| Some((span(processes)?, *world));
    let mut spans: Vec<((i64, i64), usize)> = worlds.iter().filter_map(of).collect();
    spans.sort_unstable();
    let mut last: Option<(i64, usize)> = None;
    for ((begin, end), world) in spans {
        if let Some((_, before)) = last.filter(|(end, _)| begin > *end) {
            return Some((before, world));
        }
        last = last.max(Some((end, world)));
    }
    None
}
