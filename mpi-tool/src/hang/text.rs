//! The verdict in sentences, and the table of ranks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mpi_facts::watch::{full, kind, phase};
use mpi_facts::{NONE, Shape};

use super::convert::is_on;
use super::file::{Group, Thread};
use super::graph::{Condition, Culprit, Edge, Kind, Reason, Why};
use super::process::Life;
use super::reading::{Rank, Reading, World};
use super::worlds::far_away;
use crate::report::symbols::{Frame, Symbols};

/// The whole text. `top` is how many lines the table has; 0 for all.
pub(super) fn of(reading: &Reading, symbols: &mut Symbols, top: usize) -> String {
    let mut text = String::new();
    for problem in &reading.problems {
        let _ = writeln!(text, "{problem}");
    }
    for (number, world) in reading.worlds.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", heading(reading, world));
        for group in groups(world, symbols) {
            let _ = writeln!(text, "  {}", group.sentence);
        }
        text.push('\n');
        for line in verdict(reading, world, symbols) {
            let _ = writeln!(text, "{line}");
        }
        text.push('\n');
        table(&mut text, reading, world, symbols, top);
    }
    text
}

/// `# /dev/shm/…: 4 ranks of app`
fn heading(reading: &Reading, world: &World) -> String {
    let folder = reading.folder.display();
    let program = world.ranks.values().next().map_or("", |rank| rank.snapshot.program.as_str());
    let program = program.rsplit('/').next().unwrap_or("");
    let mut text = format!("# {folder}: {} of {program}", count(world.size as usize));
    let unseen = world.seen.unseen().len();
    if unseen > 0 {
        text += &format!(", of which {unseen} {} not seen", if unseen == 1 { "is" } else { "are" });
    }
    if world.is_past {
        let there = world.ranks.values().any(|rank| rank.life == Life::Elsewhere);
        text += if there {
            ", as they stood when the files were last written; their processes cannot be seen from here"
        } else {
            ", as they stood when their processes ended"
        };
    }
    text
}

/// `1 rank`, `5 ranks`.
pub(super) fn count(ranks: usize) -> String {
    if ranks == 1 { "1 rank".into() } else { format!("{ranks} ranks") }
}

/// ` at solver.c:12 solve`, or nothing where that is not known.
fn at(thread: &Thread, symbols: &mut Symbols) -> String {
    let frame = symbols.of_site(&thread.site).into_iter().next();
    frame.map_or_else(String::new, |frame| format!(" at {}", frame.short()))
}

/// A communicator's name, or the first digits of its identity.
pub(super) fn name(group: &Group) -> String {
    match group.name.as_str() {
        "" => format!("communicator {:08x}", group.identity >> 32),
        name if name.starts_with("MPI_COMM_") => name.to_owned(),
        name => format!("\"{name}\""),
    }
}

/// On which communicator, window or file a call is.
fn on(rank: &Rank, thread: &Thread) -> Option<String> {
    let snapshot = &rank.snapshot;
    if is_on(kind::WINDOW, thread.function) {
        return Some(format!("window of {}", name(snapshot.group(kind::WINDOW, thread.object)?)));
    }
    if is_on(kind::FILE, thread.function) {
        return Some(format!("file of {}", name(snapshot.group(kind::FILE, thread.object)?)));
    }
    if !is_on(kind::COMMUNICATOR, thread.function) {
        return None;
    }
    Some(
        snapshot
            .group(kind::COMMUNICATOR, thread.comm)
            .map_or_else(|| "a communicator".into(), name),
    )
}

/// The number of the collective operation that a call is, or 0.
pub(super) fn number(thread: &Thread) -> u64 {
    let all = [kind::COMMUNICATOR, kind::WINDOW, kind::FILE];
    if all.iter().any(|what| is_on(*what, thread.function)) { thread.number.all } else { 0 }
}

/// `MPI_Allreduce #37 on "rows"`
fn call(rank: &Rank, thread: &Thread) -> String {
    let mut text = thread.function.to_string();
    if number(thread) > 0 {
        let _ = write!(text, " #{}", number(thread));
    }
    if let Some(on) = on(rank, thread) {
        let _ = write!(text, " on {on}");
    }
    text
}

/// In which state a rank is, as one word.
pub(super) fn word(rank: &Rank) -> &'static str {
    match (rank.condition, rank.life) {
        (Condition::Stopped, Life::Traced) => "stopped by a debugger",
        (Condition::Stopped, _) => "stopped",
        (Condition::Dead, _) if rank.snapshot.phase == phase::EXITED => "exited",
        (Condition::Dead, _) => "dead",
        (Condition::Finalized, _) => "finalized",
        (Condition::Missing, _) => "missing",
        (Condition::Moving, _) if rank.inside.is_empty() => "making calls",
        (_, _) if !rank.inside.is_empty() => "in a call",
        (_, Life::Gone | Life::Elsewhere) => "outside of MPI",
        (_, _) if rank.sleeps => "sleeping outside of MPI",
        (_, _) => "computing",
    }
}

/// What a rank does, without its number: `in MPI_Recv on MPI_COMM_WORLD at a.c:5 main`.
pub(super) fn doing(rank: &Rank, symbols: &mut Symbols) -> String {
    let Some(thread) = rank.thread() else { return word(rank).to_owned() };
    let place = format!("{}{}", call(rank, thread), at(thread, symbols));
    if rank.condition == Condition::Finalized {
        return "has finalized MPI".into();
    }
    let inside = if rank.inside.is_empty() && !thread.is_inside {
        format!("outside of MPI, after {place}")
    } else {
        format!("in {place}")
    };
    match rank.condition {
        Condition::Stopped | Condition::Dead => format!("{}, {inside}", word(rank)),
        Condition::Moving => format!("making calls, last {place}"),
        _ if rank.inside.is_empty() => format!("{} after {place}", word(rank)),
        _ => inside,
    }
}

/// Ranks that do the same.
pub(super) struct Same {
    pub(super) ranks: Vec<u32>,
    pub(super) doing: String,
    pub(super) sentence: String,
}

/// The groups of ranks, the largest first.
pub(super) fn groups(world: &World, symbols: &mut Symbols) -> Vec<Same> {
    let mut groups: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (number, rank) in &world.ranks {
        groups.entry(doing(rank, symbols)).or_default().push(*number);
    }
    for missing in (0..world.size).filter(|rank| !world.ranks.contains_key(rank)) {
        groups.entry(without_file(world, missing).into()).or_default().push(missing);
    }
    let mut groups: Vec<Same> = groups
        .into_iter()
        .map(|(doing, ranks)| {
            let sentence = format!("{} {doing}: {}", count(ranks.len()), list(&ranks));
            Same { ranks, doing, sentence }
        })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.ranks.len()));
    groups
}

/// `0-5, 7, 9-12`, cut off where it is long.
pub(crate) fn list(ranks: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    list_of_runs(&runs)
}

/// The same of runs, by the first and the last of each.
pub(super) fn list_of_runs(runs: &[(u32, u32)]) -> String {
    let mut words: Vec<String> = runs
        .iter()
        .take(12)
        .map(
            |(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            },
        )
        .collect();
    if runs.len() > words.len() {
        words.push("…".into());
    }
    words.join(", ")
}

/// What is known of a rank that has no file.
fn without_file(world: &World, rank: u32) -> &'static str {
    if world.seen.finalized.contains(&rank) { "has finalized MPI" } else { "not seen" }
}

/// What a rank does, or that nobody knows.
pub(super) fn what(world: &World, rank: u32, symbols: &mut Symbols) -> String {
    let state = world.ranks.get(&rank);
    state.map_or_else(|| without_file(world, rank).into(), |state| doing(state, symbols))
}

/// ` with tag 5`, of a call or of the request that it waits for.
fn with_tag(world: &World, edge: &Edge) -> String {
    let Some(rank) = world.ranks.get(&edge.from) else { return String::new() };
    let Some(thread) = rank.inside.first() else { return String::new() };
    let snapshot = &rank.snapshot;
    let tags = Shape::looked_up(thread.function).tags;
    if tags.0 != NONE {
        let is_received = edge.reason == Reason::Send && tags.1 != tags.0;
        let tag = if is_received { thread.received_tag } else { thread.tag };
        let any = tag == snapshot.any_tag;
        return if any { " with any tag".into() } else { format!(" with tag {tag}") };
    }
    let request =
        snapshot.requests.iter().find(|request| thread.handles.first() == Some(&request.handle));
    let Some(request) = request.filter(|_| thread.handles.len() == 1) else { return String::new() };
    let comm = snapshot.group(kind::COMMUNICATOR, request.comm).map(name).unwrap_or_default();
    format!(" with tag {} on {comm}, by {}", request.tag, request.function)
}

/// `to send it a message with tag 5`
fn reason(world: &World, edge: &Edge, symbols: &mut Symbols) -> String {
    match edge.reason {
        Reason::Send => format!("to send it a message{}", with_tag(world, edge)),
        Reason::Receive => format!("to receive its message{}", with_tag(world, edge)),
        Reason::Missing { number, function } => format!("to come to {function} #{number}"),
        Reason::Again { number, start, function } => {
            let times = if start == 1 { String::new() } else { format!(" for the {start}. time") };
            format!("to start what {function} #{number} has made{times}")
        }
        Reason::Mismatch { number, ours, theirs, .. } => {
            let site = site_of_other(world, edge, symbols);
            let place = site.first().map(|frame| format!(" at {}", frame.short()));
            let place = place.unwrap_or_default();
            format!(
                "to call {ours} as operation #{number}, but that rank has called {theirs}{place}"
            )
        }
        Reason::Lead => "to find the other group's leader".into(),
        Reason::Ready => "to make all parts of its message ready (MPI_Pready)".into(),
        Reason::Unlock => "to unlock the window".into(),
        Reason::Post => "to open its window (MPI_Win_post)".into(),
        Reason::Complete => "to be ready with its window (MPI_Win_complete)".into(),
        Reason::Progress => "to call MPI, where this goes on".into(),
        Reason::Start => "to start MPI".into(),
        Reason::Finalize => "to come to MPI_Finalize".into(),
    }
}

/// Where the rank that is waited for has called another operation than this one; nothing if it is another reason, or if that
/// is not known.
pub(super) fn site_of_other(world: &World, edge: &Edge, symbols: &mut Symbols) -> Vec<Frame> {
    let Reason::Mismatch { on, number, .. } = edge.reason else { return vec![] };
    let rank = world.ranks.get(&edge.to);
    let places = rank.map_or_else(Vec::new, |rank| rank.snapshot.site_of(on, number));
    symbols.of_site(&places)
}

/// A wait in a sentence.
pub(super) fn wait(world: &World, edge: &Edge, symbols: &mut Symbols) -> String {
    format!("rank {}, {}", edge.from, waiting(world, edge, symbols))
}

/// The same without the rank.
fn waiting(world: &World, edge: &Edge, symbols: &mut Symbols) -> String {
    let choice = if edge.is_choice { " or others" } else { "" };
    let doing = what(world, edge.from, symbols);
    format!("{doing}, waits for rank {}{choice} {}", edge.to, reason(world, edge, symbols))
}

/// Why a rank is named, in a sentence.
pub(super) fn why(
    reading: &Reading,
    world: &World,
    culprit: &Culprit,
    symbols: &mut Symbols,
) -> String {
    format!("rank {}, {}", culprit.rank, because(reading, world, culprit, symbols))
}

/// The same without the rank.
fn because(reading: &Reading, world: &World, culprit: &Culprit, symbols: &mut Symbols) -> String {
    let doing = what(world, culprit.rank, symbols);
    let edge = world.verdict.path.iter().find(|edge| edge.from == culprit.rank).copied();
    let has_exited = || {
        let rank = world.ranks.get(&culprit.rank);
        rank.is_some_and(|rank| rank.snapshot.phase == phase::EXITED)
    };
    match (culprit.why, edge) {
        (Why::Cycle | Why::InVain | Why::Mismatch, Some(edge)) => waiting(world, &edge, symbols),
        (Why::Cycle | Why::InVain, None) => format!("{doing}, is waited for"),
        (Why::Mismatch, None) => format!("{doing}, has called another operation than the others"),
        (Why::Finalizing, _) => format!("{doing}, will do nothing any more that others wait for"),
        (Why::Dead, _) if has_exited() => {
            format!("{doing}: its process has ended without MPI_Finalize")
        }
        (Why::Dead, _) => format!("{doing}: its process is gone"),
        (Why::Finalized, _) => doing,
        (Why::Missing, _) if world.seen.finalized.contains(&culprit.rank) => doing,
        (Why::Missing, _) => format!("{doing}: what it does is not known"),
        (Why::Stopped, _) => format!("{doing}: somebody has stopped it"),
        (Why::Computing, _) => {
            let elsewhere =
                world.ranks.get(&culprit.rank).filter(|rank| rank.life == Life::Elsewhere);
            match elsewhere {
                // Whether it lives cannot be seen from here.
                Some(rank) => format!(
                    "{doing}: it is in its own code on {}, or has died there",
                    rank.snapshot.host
                ),
                None if world.ranks.get(&culprit.rank).is_some_and(Rank::works_beside) => {
                    format!("{doing}: another thread of it works outside of MPI")
                }
                None => format!("{doing}: it is in its own code"),
            }
        }
        (Why::World(far), _) => {
            format!(
                "{doing}: it waits for {}",
                far_away(reading, world, culprit.rank, far, symbols)
            )
        }
        (Why::Outside(what), _) => format!("{doing}: it waits for {what}"),
        (Why::InCall, _) => format!("{doing}: whom it waits for is not known"),
    }
}

/// The one word of a culprit for programs to read.
pub(super) fn why_word(world: &World, culprit: &Culprit) -> &'static str {
    match culprit.why {
        Why::Cycle => "cycle",
        Why::InVain => "waits in vain",
        Why::Mismatch => "mismatch",
        Why::Finalizing => "finalizing",
        Why::Finalized => "finalized",
        Why::Missing if world.seen.finalized.contains(&culprit.rank) => "finalized",
        Why::Missing => "missing",
        Why::World(_) => "another world",
        Why::Outside(_) => "outside",
        Why::Computing if world.ranks.get(&culprit.rank).is_some_and(|rank| rank.works) => {
            "computing"
        }
        Why::InCall => "in a call",
        Why::Dead | Why::Stopped | Why::Computing => {
            world.ranks.get(&culprit.rank).map_or("dead", word)
        }
    }
}

/// What has come out, in lines.
pub(super) fn verdict(reading: &Reading, world: &World, symbols: &mut Symbols) -> Vec<String> {
    let verdict = &world.verdict;
    let is_whole = world.seen.sentence().is_none();
    let mut lines = Vec::new();
    match verdict.kind {
        Kind::Deadlock if world.is_uncertain => lines.push(format!(
            "It looks like a deadlock of {}, but they have had too little processor time to be sure:",
            count(verdict.stuck.len())
        )),
        Kind::Deadlock if !world.others.is_empty() => {
            let ranks: Vec<u32> = world.others.iter().map(|(rank, _)| *rank).collect();
            let who = match ranks[..] {
                [rank] => format!("rank {rank} has a thread that sleeps"),
                _ => format!("ranks {} have threads that sleep", list(&ranks)),
            };
            lines.push(format!(
                "It looks like a deadlock of {}, but {who} outside of MPI and may go on:",
                count(verdict.stuck.len())
            ));
        }
        Kind::Deadlock if world.has_handlers => lines.push(format!(
            "It looks like a deadlock of {}, but one of them may be in an error handler of the program's:",
            count(verdict.stuck.len())
        )),
        // A program that went on well when it was killed had its ranks in calls, too.
        Kind::Deadlock if world.is_past => lines.push(format!(
            "If they stood still when their processes ended, which cannot be seen any more, this is a deadlock of {}:",
            count(verdict.stuck.len())
        )),
        Kind::Deadlock => {
            let nobody = verdict.culprits.iter().any(|one| matches!(one.why, Why::Dead | Why::Finalized));
            let what = if nobody { "wait for a rank that has gone" } else { "wait for each other" };
            lines.push(format!("Deadlock: ranks {what}, and {} can never go on:", count(verdict.stuck.len())));
        }
        Kind::Waiting if verdict.culprits.is_empty() => {
            let mut to: Vec<u32> = verdict.edges.iter().map(|edge| edge.to).collect();
            to.sort_unstable();
            to.dedup();
            let who = if is_whole { "Nobody" } else { "No rank that is seen" };
            lines.push(format!("{who} is stuck: ranks wait for others, which make calls ({})", list(&to)));
        }
        Kind::Waiting if verdict.edges.is_empty() => lines.push("No rank waits for another one, but:".into()),
        Kind::Waiting => {
            let mut from: Vec<u32> = verdict.edges.iter().map(|edge| edge.from).collect();
            from.dedup();
            let verb = if from.len() == 1 { "waits" } else { "wait" };
            lines.push(format!("{} {verb} for ranks that are elsewhere:", count(from.len())));
        }
        Kind::Running => {
            let stands = |(_, rank): &(&u32, &Rank)| !rank.inside.is_empty() && rank.moved == 0;
            let standing: Vec<u32> =
                world.ranks.iter().filter(stands).map(|(number, _)| *number).collect();
            let (who, none) = match is_whole {
                true => ("No rank", "no rank"),
                false => ("No rank that is seen", "no rank that is seen"),
            };
            lines.push(match &standing[..] {
                _ if world.moves() => format!("{who} waits for another one"),
                [] => format!("{who} waits for another one, and none has made a call"),
                [rank] => format!("Whom rank {rank} waits for in MPI is not known, and {none} has made a call"),
                ranks => {
                    format!("Whom ranks {} wait for in MPI is not known, and {none} has made a call", list(ranks))
                }
            });
        }
    }
    const MOST: usize = 16;
    // Ranks of which the same is to be said are named together.
    let mut said: Vec<(String, Vec<u32>)> = Vec::new();
    for culprit in &verdict.culprits {
        let because = because(reading, world, culprit, symbols);
        match said.iter_mut().find(|(known, _)| *known == because) {
            Some((_, ranks)) => ranks.push(culprit.rank),
            None => said.push((because, vec![culprit.rank])),
        }
    }
    for (because, ranks) in said.iter().take(MOST) {
        let many = if ranks.len() == 1 { "" } else { "s" };
        lines.push(format!("  rank{many} {}, {because}", list(ranks)));
    }
    if said.len() > MOST {
        lines.push(format!("  … and {} more lines", said.len() - MOST));
    }
    asleep(&mut lines, world, symbols);
    if let Some(sentence) = world.seen.sentence() {
        lines.push(format!("({sentence})"));
    }
    if verdict.culprits.iter().any(|culprit| matches!(culprit.why, Why::World(_))) {
        lines.push(
            "(what ranks of two worlds wait for is not judged, but of two that receive from each other)".into(),
        );
    }
    if world.is_past {
        if verdict.kind == Kind::Waiting {
            lines.push(
                "(if they stood still when their processes ended: that cannot be seen any more)"
                    .into(),
            );
        }
    } else if reading.seconds > 0.0 {
        let moved: u64 = world.ranks.values().map(|rank| rank.moved).sum();
        let each = moved as f64 / reading.seconds;
        lines.push(format!(
            "({moved} calls of all ranks{} in {:.1} s, {each:.0} a second)",
            if is_whole { "" } else { " that are seen" },
            reading.seconds
        ));
    }
    let lacks = |what: u64| world.ranks.values().any(|rank| rank.snapshot.full & what != 0);
    if lacks(
        full::GROUPS | full::MEMBERS | full::REQUESTS | full::THREADS | full::LOCKS | full::EPOCHS,
    ) {
        lines.push(
            "(not all is known: there was no room for all threads, communicators or requests)"
                .into(),
        );
    }
    if lacks(full::MODULES) {
        lines.push("(not all places are known: there was no room for all libraries, or functions of Python)".into());
    }
    lines
}

/// A line for each of some threads that sleep outside of MPI and may go on.
fn asleep(lines: &mut Vec<String>, world: &World, symbols: &mut Symbols) {
    const MOST: usize = 4;
    let all = world.others.iter().flat_map(|(rank, all)| all.iter().map(move |one| (*rank, *one)));
    for (number, thread) in all.take(MOST) {
        let Some(rank) = world.ranks.get(&number) else { continue };
        let last = rank.snapshot.threads.iter().find(|known| known.id == thread);
        let last = last.map_or_else(
            || ", and has not called MPI yet".into(),
            |last| format!(" after {}{}", call(rank, last), at(last, symbols)),
        );
        lines.push(format!("  thread {thread} of rank {number} sleeps outside of MPI{last}"));
    }
}

/// A line for each rank, those that are named first.
fn table(text: &mut String, reading: &Reading, world: &World, symbols: &mut Symbols, top: usize) {
    let _ =
        writeln!(text, "{:>6} {:>8} {:>12} {:>9}  state, where", "rank", "process", "calls", "for");
    let named: Vec<u32> = world.verdict.culprits.iter().map(|culprit| culprit.rank).collect();
    let mut order: Vec<u32> = world.ranks.keys().copied().collect();
    order.sort_by_key(|rank| (!named.contains(rank), *rank));
    let shown = if top == 0 { order.len() } else { top };
    for number in order.iter().take(shown) {
        let rank = &world.ranks[number];
        let since = rank.thread().and_then(|thread| rank.snapshot.age(thread.since, reading.now));
        let since = match since {
            Some(seconds) if !world.is_past => format!("{seconds:.1} s"),
            _ => String::new(),
        };
        let (pid, calls) = (rank.snapshot.pid, rank.snapshot.calls());
        let _ =
            write!(text, "{number:>6} {pid:>8} {calls:>12} {since:>9}  {}", doing(rank, symbols));
        if let Some(thread) = rank.thread() {
            let more: Vec<String> =
                symbols.of_site(&thread.site).iter().skip(1).map(Frame::short).collect();
            if !more.is_empty() {
                let _ = write!(text, " < {}", more.join(" < "));
            }
        }
        text.push('\n');
        for thread in rank.inside.iter().skip(1) {
            let place = at(thread, symbols);
            let _ = writeln!(
                text,
                "{:>6} {:>8} {:>12} {:>9}  thread {}: in {}{place}",
                "",
                "",
                "",
                "",
                thread.id,
                call(rank, thread)
            );
        }
    }
    if order.len() > shown {
        let _ = writeln!(text, "… and {} more (--top 0 shows all)", count(order.len() - shown));
    }
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn lists_of_ranks_are_short() {
        assert_eq!(list(&[3]), "3");
        assert_eq!(list(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
        let odd: Vec<u32> = (0..100).map(|rank| rank * 2 + 1).collect();
        assert_eq!(list(&odd), "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, …");
    }
}
