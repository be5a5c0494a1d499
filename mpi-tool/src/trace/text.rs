//! What a trace says, in a page of text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use mpi_facts::trace::filter;

use super::efficiency::{Efficiency, Leaf, Untold};
use super::messages::Messages;
use super::path::{Idle, Path};
use super::polls::is_poll;
use super::read::{Clocks, Site, Trace};
use super::waits::{self, Group, WaitKind};
use super::{Found, causes, whole};

/// What there is, and who waits for whom, in so many lines.
pub(super) fn of(trace: &Trace, messages: &Messages, found: &Found, top: usize) -> String {
    let Found { waits, causes, .. } = found;
    let mut text = heading(trace, messages, found);
    text.push_str(&causes::text(trace, causes, top));
    let groups = waits::grouped(trace, waits);
    if !groups.is_empty() {
        text.push_str("who waits for whom:\n");
    }
    if top == 0 || groups.len() <= top {
        for (group, time, calls) in &groups {
            let who = name(trace, group.waiting);
            let of_whom = name(trace, group.culprit);
            let _ = writeln!(text, "{}", wait(group, [&who, "waits", &of_whom], *time, *calls));
        }
    } else {
        folded(trace, &groups, top, &mut text);
    }
    text.push_str(&critical_path(trace, found, top));
    text
}

/// A line of waits: which ranks wait, and for which ones.
fn wait(group: &Group, [who, waits, of_whom]: [&str; 3], time: i64, calls: u64) -> String {
    let at = |site: &Option<Rc<Site>>| {
        site.as_ref().map_or(String::new(), |site| format!(" at {}", site.path))
    };
    let what = match group.kind {
        WaitKind::LateSender => "to send",
        WaitKind::LateReceiver => "to receive",
        WaitKind::Collective => "to come to it",
    };
    format!(
        "{:>12}  {:<13}  {who}, in {} of {}{}, {waits} for {of_whom} {what}{}",
        seconds(time),
        group.kind.name(),
        count(
            usize::try_from(calls).unwrap_or(usize::MAX),
            if is_poll(group.function) { "loop" } else { "call" }
        ),
        group.function,
        at(&group.site),
        at(&group.until),
    )
}

/// Waits of many pairs of ranks, added up over these, in so many lines and one for the rest.
fn folded(trace: &Trace, groups: &[(Group, i64, u64)], top: usize, text: &mut String) {
    let key = |group: &Group| (group.kind, group.function, group.site.clone(), group.until.clone());
    // Those of one key are the longest first, as all are.
    let mut rows: BTreeMap<_, Vec<&(Group, i64, u64)>> = BTreeMap::new();
    for one in groups {
        rows.entry(key(&one.0)).or_default().push(one);
    }
    let sum = |row: &[&(Group, i64, u64)]| row.iter().map(|(_, time, _)| time).sum::<i64>();
    let mut rows: Vec<_> = rows.into_values().map(|row| (sum(&row), row)).collect();
    rows.sort_by_key(|(time, _)| core::cmp::Reverse(*time));
    let shown = top.min(rows.len());
    for (time, row) in &rows[..shown] {
        let (worst, of_worst, _) = row[0];
        let ranks = |of: fn(&Group) -> usize| {
            let all: BTreeSet<usize> = row.iter().map(|(group, ..)| of(group)).collect();
            match all.len() {
                1 => name(trace, of(worst)),
                many => count(many, "rank"),
            }
        };
        let (who, of_whom) = (ranks(|group| group.waiting), ranks(|group| group.culprit));
        let waits = if who.ends_with("ranks") { "wait" } else { "waits" };
        let calls = row.iter().map(|(.., calls)| calls).sum();
        let _ = write!(text, "{}", wait(worst, [&who, waits, &of_whom], *time, calls));
        let pair = [worst.waiting, worst.culprit].map(|process| name(trace, process));
        let _ = match row.len() {
            1 => writeln!(text),
            _ => writeln!(text, "; longest: {} for {}, {}", pair[0], pair[1], seconds(*of_worst)),
        };
    }
    let rest: i64 = rows[shown..].iter().map(|(time, _)| time).sum();
    let rest = match rows.len() - shown {
        0 => String::new(),
        lines => format!("{} more ({}); ", count(lines, "line"), seconds(rest)),
    };
    let _ = writeln!(text, "… {rest}by {}: --top 0", count(groups.len(), "pair") + " of ranks");
}

/// What the run's length consists of, in so many lines.
pub(super) fn critical_path(trace: &Trace, found: &Found, top: usize) -> String {
    let mut text = String::new();
    if found.untold.is_some() {
        return text;
    }
    let path = Path::of(trace, &found.waits);
    let [computing, mpi] = path.times();
    let whole = computing + mpi;
    if whole == 0 {
        return text;
    }
    let percent = |time: i64| time as f64 * 100.0 / whole as f64;
    let changes = match path.changes {
        0 => "it stays on one rank".to_owned(),
        1 => "it goes over to another rank once".to_owned(),
        many => format!("it goes over to another rank {many} times"),
    };
    let _ = writeln!(
        text,
        "critical path: computing {:.1} %, MPI {:.1} %; {changes}",
        percent(computing),
        percent(mpi),
    );
    let parts = path.parts();
    let shown = if top == 0 { parts.len() } else { top.min(parts.len()) };
    for (process, function, time, pieces) in &parts[..shown] {
        let what = match function {
            None => "computes".to_owned(),
            Some(function) if is_poll(*function) => format!("polls by {function}"),
            Some(function) => format!("is in {} of {function}", count(*pieces, "call")),
        };
        let _ = writeln!(
            text,
            "{:>12}  {:>5.1} %        {} {what}",
            seconds(*time),
            percent(*time),
            name(trace, *process),
        );
    }
    if shown < parts.len() {
        let _ = writeln!(text, "… {} more parts of it", parts.len() - shown);
    }
    text
}

pub(super) fn name(trace: &Trace, process: usize) -> String {
    let process = &trace.processes[process];
    let rank = process.rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
    if process.world == 0 {
        format!("rank {rank}")
    } else {
        format!("rank {rank} of world {}", process.world)
    }
}

/// What there is.
pub(super) fn heading(trace: &Trace, messages: &Messages, found: &Found) -> String {
    let waits = &found.waits;
    let mut text = String::new();
    let calls = trace.calls().count();
    let bytes: u64 = trace.processes.iter().map(|process| process.bytes).sum();
    let moved: u64 = messages.matched.iter().map(|message| message.bytes).sum();
    let _ = writeln!(
        text,
        "# trace of {} on {}, {}",
        count(trace.processes.len(), "rank"),
        count(trace.hosts, "host"),
        seconds(trace.end())
    );
    let _ = writeln!(
        text,
        "{} ({:.1} bytes each in the files), {} ({moved} bytes)",
        count(calls, "call"),
        bytes as f64 / calls.max(1) as f64,
        count(messages.matched.len(), "message"),
    );
    for warning in whole::warnings(trace) {
        let _ = writeln!(text, "{warning}");
    }
    let [sends, receives] = messages.unmatched;
    let number = |number: u64, what| count(usize::try_from(number).unwrap_or(usize::MAX), what);
    if sends + receives > 0 {
        let _ = writeln!(
            text,
            "not in the trace, or not to be told from others: the receives of {}, the sends of {}",
            number(sends, "send"),
            number(receives, "receive"),
        );
    }
    let sum = |of: fn(&super::read::Process) -> u64| trace.processes.iter().map(of).sum::<u64>();
    let (lost, overwritten) = (sum(|process| process.lost), sum(|process| process.overwritten));
    if lost > 0 {
        let _ = writeln!(text, "{lost} calls were not recorded, since there was no room for them");
    }
    if overwritten > 0 {
        let _ = writeln!(
            text,
            "the files keep the last calls only: {overwritten} bytes of earlier ones are gone"
        );
    }
    let left_out = left_out(trace);
    if !left_out.is_empty() {
        let _ = writeln!(text, "left out, as mpi-trace was told: {}", left_out.join(", "));
    }
    let ended = trace.processes.iter().filter(|process| process.is_over).count();
    if ended < trace.processes.len() {
        let _ = writeln!(
            text,
            "{} of {} ranks have not come to MPI_Finalize",
            trace.processes.len() - ended,
            trace.processes.len()
        );
    }
    let (early, most) = messages.violations(trace);
    if let Some(clocks) = clocks(trace) {
        let _ = writeln!(text, "{clocks}");
    }
    if early > 0 {
        let _ = writeln!(
            text,
            "{} before they were sent, by up to {}: the hosts' clocks differ",
            count(early, "message") + if early == 1 { " arrives" } else { " arrive" },
            seconds(most)
        );
    }
    text.push_str(&efficiencies(trace, found));
    let idle = Idle::of(trace, waits);
    let sum = |of: fn(&Idle) -> i64| idle.iter().map(of).sum::<i64>();
    let total = sum(|one| one.waiting.iter().sum());
    let _ = writeln!(
        text,
        "all ranks together are in MPI for {}, of which they wait at least {} for others: {} for senders, {} for receivers, {} at \
         collective operations",
        seconds(sum(|one| one.mpi)),
        seconds(total),
        seconds(sum(|one| one.waiting[0])),
        seconds(sum(|one| one.waiting[1])),
        seconds(sum(|one| one.waiting[2])),
    );
    text
}

/// Start-up, and the tree of efficiencies from there to the end; nothing if no rank has initialized MPI.
pub(super) fn efficiencies(trace: &Trace, found: &Found) -> String {
    if let Some(why) = &found.untold {
        return format!("efficiencies and the critical path are left out: {why}\n");
    }
    let Some(found) = &found.efficiency else { return String::new() };
    let Efficiency { started, factors, mpi, kept, untold, .. } = found;
    let is_whole = trace.processes.iter().all(|process| process.is_over);
    let end = if is_whole { "MPI_Finalize" } else { "the last call" };
    let started = seconds(*started);
    let begin = match whole::since(trace) {
        Some(_) => format!("the trace has all calls of all ranks from {started} on"),
        None => {
            format!("start-up takes {started}, until MPI_Init has returned on the last rank")
        }
    };
    let mut text = format!("{begin}\nfrom there to {end}, {}:\n", seconds(factors.time));
    for (depth, name, part) in factors.tree() {
        if let Some(part) = part {
            let width = 32 - 2 * depth;
            let _ = writeln!(
                text,
                "  {:indent$}{name:<width$}{:5.1} %",
                "",
                part * 100.0,
                indent = 2 * depth
            );
        }
    }
    if let Some((leaf, cost)) = factors.worst() {
        let what = match leaf {
            Leaf::LoadImbalance => "load imbalance: some ranks compute longer than others",
            Leaf::Communication => "communication: also the rank that computes longest is in MPI",
            Leaf::Serialization => {
                "serialization: ranks wait for each other's computing in turn, and would on an ideal network, too"
            }
            Leaf::Files => {
                "input and output: ranks read and write files, or wait for those that do"
            }
            Leaf::Transfer => {
                "transfer: data move and MPI works, which takes no time on an ideal network"
            }
        };
        let cost = seconds(cost.round() as i64);
        let _ = writeln!(text, "most of the loss, {cost} of this time, is {what}");
    }
    let of_mpi = || {
        format!(
            "{} ({:.1} % of the time in MPI)",
            seconds(*kept),
            *kept as f64 * 100.0 / *mpi as f64
        )
    };
    let _ = match untold {
        Some(Untold::Kept) => writeln!(
            text,
            "serialization and transfer are not told apart: of calls that take {}, the trace does not tell what they wait for",
            of_mpi()
        ),
        Some(why) => {
            writeln!(text, "serialization and transfer are not told apart: {}", why.text())
        }
        None if *kept > 0 => writeln!(
            text,
            "of calls that take {}, the trace does not tell what they wait for: for serialization and transfer, they keep their length",
            of_mpi()
        ),
        None => Ok(()),
    };
    text
}

/// How times of different hosts can be compared; nothing of one host.
pub(super) fn clocks(trace: &Trace) -> Option<String> {
    (trace.hosts > 1).then(|| match trace.clocks {
        Clocks::Corrected(error) => format!(
            "the hosts' clocks are put right by the messages between them: a time of one host is right within {} by that of \
             another one",
            seconds(error + 999)
        ),
        Clocks::Uneven => "the hosts' clocks are put right by the messages between them, as far as that can be done: they \
                           did not run evenly"
            .to_owned(),
        Clocks::Unknown => "the hosts' own clocks are compared, of which nobody knows how far they are apart: there are no \
                            messages in both directions between all of them"
            .to_owned(),
    })
}

/// What the user and the application have left out of the trace.
pub(super) fn left_out(trace: &Trace) -> Vec<&'static str> {
    let filters = trace.processes.iter().fold(0, |all, process| all | process.filter);
    let kinds = [
        (filter::FUNCTIONS, "all functions but chosen ones"),
        (filter::RANKS, "all ranks but chosen ones"),
        (filter::SHORT, "short calls that moved no data"),
    ];
    let is_set = |(bit, _): &&(u64, &str)| filters & bit != 0;
    let mut left_out: Vec<_> = kinds.iter().filter(is_set).map(|(_, what)| *what).collect();
    if trace.processes.iter().any(|process| process.off.is_some()) {
        left_out.push("calls while MPI_Pcontrol had switched tracing off");
    }
    left_out
}

pub(super) fn seconds(nanoseconds: i64) -> String {
    format!("{}.{:06} s", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000 / 1_000)
}

/// `1 call`, `2 calls`.
pub(super) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use mpi_facts::FunctionId::{
        MPI_Barrier, MPI_Finalize, MPI_Init, MPI_Recv, MPI_Send, MPI_Win_fence,
    };
    use mpi_facts::trace::Way::{Received, Sent};

    use super::super::read::made_up::{call, process, trace};
    use super::*;

    /// Four ranks compute for 100 ns each, in turn, and a message takes 25 ns to get to the next one; then one in which the last
    /// call keeps its length.
    #[test]
    fn the_tree_is_five_lines() {
        let text = |fence: i64| {
            let rank = |rank: i64| {
                let has = rank * 125;
                let mut calls = vec![call(MPI_Init, 0, 1000)];
                if rank > 0 {
                    let receive = call(MPI_Recv, 1000, 1000 + has);
                    calls.push(receive.with(Received, rank - 1, 8));
                }
                if rank < 3 {
                    let send = call(MPI_Send, 1100 + has, 1100 + has);
                    calls.push(send.with(Sent, rank + 1, 8));
                } else if fence > 0 {
                    calls.push(call(MPI_Win_fence, 1475, 1475 + fence));
                }
                calls.push(call(MPI_Finalize, 1100 + has + fence, 2000));
                process(rank as u32, calls)
            };
            let trace = trace((0..4).map(rank).collect());
            let messages = Messages::of(&trace);
            of(&trace, &messages, &Found::of(&trace, &messages), 20)
        };
        let (from, to) = ("from there to MPI_Finalize", "all ranks together");
        let part = |text: String| {
            let (_, rest) = text.split_once(from).unwrap();
            rest.split_once(to).unwrap().0.to_owned()
        };
        assert_eq!(
            part(text(0)),
            ", 0.000000 s:\n\
             \x20 parallel efficiency              21.1 %\n\
             \x20   load balance                  100.0 %\n\
             \x20   communication efficiency       21.1 %\n\
             \x20     serialization efficiency     25.0 %\n\
             \x20     transfer efficiency          84.2 %\n\
             most of the loss, 0.000000 s of this time, is serialization: ranks wait for each other's computing in turn, and would on \
             an ideal network, too\n"
        );
        // Ranks are in MPI for 125, 250 and 375, and for 50 more of which nobody knows anything: 6.25 %.
        let untold = part(text(50));
        assert!(!untold.contains("transfer efficiency"), "{untold}");
        let why = "serialization and transfer are not told apart: of calls that take 0.000000 s (6.2 % of the time in MPI), the \
                   trace does not tell what they wait for\n";
        assert!(untold.ends_with(why), "{untold}");
        // 25 of 775: 3.2 %.
        let kept = "of calls that take 0.000000 s (3.2 % of the time in MPI), the trace does not tell what they wait for: for \
                    serialization and transfer, they keep their length\n";
        assert!(part(text(25)).ends_with(kept), "{}", part(text(25)));
    }

    /// Two ranks compute for 1,000 and 500 ns up to a barrier at 1,100, and then for 100 and 300 up to another one at 1,400.
    fn two_rounds(change: impl Fn(&mut Vec<super::super::read::Process>)) -> String {
        let rank = |rank: u32, [one, other]: [i64; 2]| {
            let barrier = |begin, end| call(MPI_Barrier, begin, end).on_world();
            let calls = vec![
                call(MPI_Init, 0, 100),
                barrier(100 + one, 1100),
                barrier(1100 + other, 1400),
                call(MPI_Finalize, 1400, 1500),
            ];
            process(rank, calls)
        };
        let mut trace = trace(vec![rank(0, [1000, 100]), rank(1, [500, 300])]);
        change(&mut trace.processes);
        let messages = Messages::of(&trace);
        of(&trace, &messages, &Found::of(&trace, &messages), 20)
    }

    /// Calls that are missing would count as computing.
    #[test]
    fn what_is_not_whole_has_no_efficiencies() {
        let is_told = |text: &str| text.contains("load balance") && text.contains("critical path:");
        let whole = two_rounds(|_| {});
        assert!(is_told(&whole), "{whole}");
        let off = two_rounds(|all| all[1].off = Some((200, None)));
        let lost = two_rounds(|all| all[1].lost = 3);
        let whys = [
            (off, "MPI_Pcontrol had switched tracing off on rank 1 at the end"),
            (lost, "calls of rank 1 were not recorded"),
        ];
        for (text, why) in whys {
            let line = format!(
                "efficiencies and the critical path are left out: {why}, and what is missing would count as computing\n"
            );
            assert!(text.contains(&line) && !is_told(&text), "{text}");
            assert!(!text.contains("critical path: ") && !text.contains("load balance"), "{text}");
        }
    }

    /// A ring of rank 1 begins in the first barrier, at 600, and rank 0 has switched tracing on at 1,100. From there on, rank 0
    /// computes for 100 of 300 and rank 1 for all of them: the load balance is 200 / 300, and the path is rank 1's.
    #[test]
    fn what_all_ranks_have_recorded_is_looked_at() {
        let text = two_rounds(|all| {
            all[0].off = Some((100, Some(1100)));
            all[1].overwritten = 4096;
            all[1].threads[0].calls.remove(0);
        });
        assert!(
            text.contains("the trace has all calls of all ranks from 0.000001 s on\n"),
            "{text}"
        );
        assert!(text.contains("    load balance                   66.7 %\n"), "{text}");
        assert!(text.contains("critical path: computing 100.0 %, MPI 0.0 %; "), "{text}");
        assert!(text.contains("100.0 %        rank 1 computes\n"), "{text}");
        assert!(text.contains("are not told apart: calls are missing in the trace\n"), "{text}");
    }

    /// Of a rank that had ended before another one was recorded, nothing can be compared.
    #[test]
    fn ranks_that_were_not_recorded_together_are_told() {
        let text = two_rounds(|all| all[0].off = Some((100, Some(1450))));
        let why = "left out: the trace has all calls of all ranks from 0.000001 s on only, and rank 0 had ended by then\n";
        assert!(text.contains(why), "{text}");
    }

    /// Forty ranks come to a barrier one after the other: 39 pairs, of which the last one is in each.
    #[test]
    fn waits_of_many_pairs_are_added_up() {
        let rank = |rank: u32| {
            let barrier = call(MPI_Barrier, 10 + 1000 * i64::from(rank), 40_000).on_world();
            process(rank, vec![barrier])
        };
        let trace = trace((0..40).map(rank).collect());
        let messages = Messages::of(&trace);
        let found = Found::of(&trace, &messages);
        let text = of(&trace, &messages, &found, 20);
        let waits = text.split_once("who waits for whom:\n").unwrap().1;
        let lines: Vec<&str> = waits.lines().collect();
        assert_eq!(
            lines[0],
            "  0.000780 s  collective     39 ranks, in 39 calls of MPI_Barrier, wait for rank 39 to come to it; longest: rank 0 \
             for rank 39, 0.000039 s"
        );
        assert_eq!(lines[1], "… by 39 pairs of ranks: --top 0");
        let text = of(&trace, &messages, &found, 0);
        let waits = text.split_once("who waits for whom:\n").unwrap().1;
        assert_eq!(waits.lines().filter(|line| line.contains("waits for rank 39")).count(), 39);
    }
}
