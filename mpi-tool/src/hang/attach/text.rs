//! What is printed of the looks: ranks that do the same in one line.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::seen::{Doing, Held, Job, Rank, Report, Spot, What};
use crate::hang::text::{count, list, list_of_runs};

/// How many functions of a site are shown, and lines of a job.
const DEEPEST: usize = 4;
const THREADS: usize = 3;
/// Looks of several hosts that are further apart, in seconds, say nothing of what ranks did at the same time.
const APART: f64 = 5.0;

/// The whole text. `top` is how many groups of ranks are shown of a job; 0 for all.
pub(super) fn of(report: &Report, top: usize) -> String {
    let mut text = String::new();
    for (number, job) in report.jobs.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", heading(job));
        let groups = groups(job);
        let shown = if top == 0 { groups.len() } else { top };
        for group in groups.iter().take(shown) {
            let _ = writeln!(text, "  {}", group.sentence());
        }
        if groups.len() > shown {
            let rest: usize = groups[shown..].iter().map(|group| group.ranks.len()).sum();
            let _ =
                writeln!(text, "  … and {} that do other things (--top 0 shows all)", count(rest));
        }
        for line in closing(job) {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// `4 ranks of solver (MPICH 5.0.2), looked at twice within 1.0 s; …`
fn heading(job: &Job) -> String {
    let program = job.program.rsplit('/').next().unwrap_or(&job.program);
    let most = job.ranks.iter().flat_map(|rank| &rank.stopped).max().copied().unwrap_or(0);
    let stopped = match most {
        0 => "no rank was stopped for that".to_owned(),
        most => {
            format!("no rank was stopped for longer than {:.1} ms", (most as f64 / 1000.0).max(0.1))
        }
    };
    let seen = count(job.ranks.len());
    let seen = match job.size {
        Some(size) if size as usize > job.ranks.len() => format!("{seen} of {size}"),
        _ => seen,
    };
    format!(
        "# {seen} of {program} ({}), looked at {} within {:.1} s; {stopped}",
        job.mpi,
        if job.looks == 2 { "twice".to_owned() } else { format!("{} times", job.looks) },
        job.seconds
    )
}

/// Ranks that do the same.
pub(super) struct Group<'a> {
    pub(super) ranks: Vec<&'a Rank>,
}

/// Ranks that do the same, the largest group first.
pub(super) fn groups(job: &Job) -> Vec<Group<'_>> {
    let mut groups: Vec<(Vec<String>, Group<'_>)> = Vec::new();
    for rank in &job.ranks {
        let key = key(rank);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.ranks.push(rank),
            None => groups.push((key, Group { ranks: vec![rank] })),
        }
    }
    let mut groups: Vec<_> = groups.into_iter().map(|(_, group)| group).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.ranks.len()));
    groups
}

/// Ranks with the same key are in one group: those that run may be in other lines of the same functions.
fn key(rank: &Rank) -> Vec<String> {
    let mut key: Vec<String> = rank
        .problem
        .clone()
        .into_iter()
        .map(|problem| problem.replace(&rank.pid.to_string(), ""))
        .collect();
    key.extend(rank.threads.iter().map(|thread| {
        let lines = if is_exact(thread) { Lines::All } else { Lines::Callers };
        phrase(thread, 1, lines)
    }));
    // In whichever order they were started.
    if let [_, others @ ..] = &mut key[..] {
        others.sort();
    }
    key.dedup();
    key
}

/// Does a thread stay where it is?
fn is_exact(thread: &Doing) -> bool {
    matches!(thread.what, What::Stands | What::Stays | What::Sleeps) || thread.held.is_some()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    All,
    /// Not the line of the innermost function.
    Callers,
}

impl Group<'_> {
    /// `3 ranks (0-1, 3) are in …`
    pub(super) fn sentence(&self) -> String {
        let numbers: Option<Vec<u32>> = self.ranks.iter().map(|rank| rank.rank).collect();
        let who = match numbers {
            Some(numbers) => format!("{} ({})", count(numbers.len()), list(&numbers)),
            None => {
                let numbers: Vec<u32> = self.ranks.iter().map(|rank| rank.pid).collect();
                let many = if numbers.len() == 1 { "process" } else { "processes" };
                format!("{} {many} ({})", numbers.len(), list(&numbers))
            }
        };
        format!("{who} {}", self.does())
    }

    fn does(&self) -> String {
        let Some(first) = self.ranks.first() else { return String::new() };
        let number = self.ranks.len();
        if let Some(problem) = &first.problem {
            return format!("{} not seen: {problem}", if number == 1 { "is" } else { "are" });
        }
        let mut phrases: Vec<(String, usize)> = Vec::new();
        for (at, thread) in first.threads.iter().enumerate() {
            let is_same = |lines| {
                let own = phrase(thread, 1, lines);
                self.ranks
                    .iter()
                    .all(|rank| rank.threads.iter().any(|other| phrase(other, 1, lines) == own))
            };
            let lines = if is_same(Lines::All) { Lines::All } else { Lines::Callers };
            let text = phrase(thread, if at == 0 { number } else { 1 }, lines);
            match phrases.iter_mut().skip(1).find(|(known, _)| *known == text) {
                Some((_, many)) => *many += 1,
                None => phrases.push((text, 1)),
            }
        }
        let mut text = String::new();
        for (at, (phrase, many)) in phrases.iter().take(1 + THREADS).enumerate() {
            match (at, many) {
                (0, _) => {}
                (_, 1) => text += "; another thread ",
                (_, many) => {
                    let _ = write!(text, "; each of {many} other threads ");
                }
            }
            text += phrase;
        }
        if phrases.len() > 1 + THREADS {
            let _ = write!(text, "; {} more threads do other things", phrases.len() - 1 - THREADS);
        }
        text
    }
}

/// `is in MPI_Recv at each look, called at solver.c:12 solve < solver.c:20 main`
fn phrase(thread: &Doing, number: usize, lines: Lines) -> String {
    let is = if number == 1 { "is" } else { "are" };
    let s = if number == 1 { "s" } else { "" };
    let function = thread.function.as_deref();
    let within = function.map_or_else(String::new, |name| format!(" in {name}"));
    let mut text = match (thread.held, thread.what) {
        (Some(Held::Signal), _) => format!("{is} stopped by a signal{within}"),
        (Some(Held::Debugger), _) => format!("{is} stopped by a debugger{within}"),
        (None, What::Stands) => format!("stand{s}{within}"),
        (None, What::Stays) => format!("{is}{within} at each look"),
        (None, What::Moves) if thread.in_mpi => {
            format!("go{}{within} at the last look", if number == 1 { "es on:" } else { " on:" })
        }
        (None, What::Moves) => {
            format!(
                "go{} outside of MPI at the last look{within}",
                if number == 1 { "es on:" } else { " on:" }
            )
        }
        (None, What::Computes) => format!("compute{s} outside of MPI{within}"),
        (None, What::Sleeps) => format!("sleep{s} outside of MPI{within} at each look"),
        (None, What::Outside) => format!("{is} outside of MPI{within}"),
        (None, What::Unknown) if thread.in_mpi => format!("{is}{within} at the last look"),
        (None, What::Unknown) if !thread.whole => {
            format!("{is} at a place whose callers are not all known{within}")
        }
        (None, What::Unknown) => format!("{is} outside of MPI at the last look{within}"),
    };
    let site = site(&thread.site, lines, thread.whole);
    if !site.is_empty() {
        let called = if function.is_some() { ", called at" } else { " at" };
        let _ = write!(text, "{called} {site}");
    }
    if let Some(own) = thread.inside.first() {
        let _ = write!(text, ", which has called the program at {}", own.text);
    }
    text
}

/// `solver.c:12 solve < solver.c:20 main`
fn site(spots: &[Spot], lines: Lines, is_whole: bool) -> String {
    let mut names: Vec<&str> = spots.iter().take(DEEPEST).map(|spot| &*spot.text).collect();
    if let (Lines::Callers, Some(first), Some(spot)) = (lines, names.first_mut(), spots.first()) {
        *first = spot.function.as_deref().unwrap_or(first);
    }
    if spots.len() > DEEPEST || !is_whole {
        names.push("…");
    }
    names.join(" < ")
}

/// What can be said of all ranks, and what cannot.
pub(super) fn closing(job: &Job) -> Vec<String> {
    let mut lines = Vec::new();
    let numbers = Numbers::of(job);
    lines.extend(likely(job, &numbers));
    if !numbers.double.is_empty() {
        let many = if numbers.double.len() == 1 { ("rank", "is") } else { ("ranks", "are") };
        lines.push(format!(
            "({} {} {} there more than once: these processes are not one job, as when a shell in a job step has started them one by one; \
             whether they wait for each other is not known)",
            many.0,
            list(&numbers.double),
            many.1
        ));
    }
    if let Some((first, last)) = numbers.unseen.first().zip(numbers.unseen.last()) {
        let is_one = first.0 == last.1;
        let many = if is_one { ("rank", "is", "it does") } else { ("ranks", "are", "they do") };
        lines.push(format!(
            "({} {} of {} {} not seen: what {} is not known; on other hosts, run this command there)",
            many.0,
            list_of_runs(&numbers.unseen),
            job.size.unwrap_or(0),
            many.1,
            many.2
        ));
    }
    let unknown = job.ranks.iter().flat_map(|rank| &rank.threads).find_map(|it| it.python.as_ref());
    if let Some(reason) = unknown {
        lines.push(format!(
            "(functions of Python are not known, those of its interpreter are named instead: {reason})"
        ));
    }
    match apart(job) {
        Some(seconds) if seconds <= APART => {}
        Some(seconds) => lines.push(format!(
            "(the hosts were looked at {seconds:.0} s apart, by their clocks: what their ranks did at the same time is not known)"
        )),
        None => lines.push(
            "(when each host was looked at is not known, and so what their ranks did at the same time)".into(),
        ),
    }
    let stays = |rank: &Rank| rank.threads.iter().any(|thread| thread.what == What::Stays);
    if job.ranks.iter().any(stays) {
        lines.push(
            "(a rank that is in the same call at each look may have left it and called it again in between)".into(),
        );
    }
    lines
}

/// How many seconds the looks of several hosts are apart; 0 of one host, `None` if a dump does not say when it was made.
fn apart(job: &Job) -> Option<f64> {
    let hosts: BTreeSet<&str> = job.ranks.iter().map(|rank| &*rank.host).collect();
    if hosts.len() < 2 {
        return Some(0.0);
    }
    Some(job.ended? - job.begun? - job.seconds)
}

/// Which ranks there are.
struct Numbers {
    /// Those that are there more than once.
    double: Vec<u32>,
    /// Those that were not looked at: the first and the last of each run.
    unseen: Vec<(u32, u32)>,
    /// Each of the world's ranks is there once.
    is_complete: bool,
}

impl Numbers {
    fn of(job: &Job) -> Self {
        let mut times: BTreeMap<u32, usize> = BTreeMap::new();
        for rank in job.ranks.iter().filter_map(|rank| rank.rank) {
            *times.entry(rank).or_default() += 1;
        }
        let size = job.size.unwrap_or(0);
        let (mut unseen, mut next) = (Vec::new(), 0);
        for &rank in times.keys().take_while(|rank| **rank < size) {
            if rank > next {
                unseen.push((next, rank - 1));
            }
            next = rank + 1;
        }
        if next < size {
            unseen.push((next, size - 1));
        }
        let double: Vec<u32> =
            times.iter().filter(|(_, times)| **times > 1).map(|(rank, _)| *rank).collect();
        let all = job.ranks.len();
        let is_complete = times.len() == all && unseen.is_empty() && size as usize == all;
        Self { double, unseen, is_complete }
    }
}

/// Who waits for whom, as far as places tell.
fn likely(job: &Job, numbers: &Numbers) -> Option<String> {
    const ONLY: &str = "Only places are known, not messages:";
    if job.ranks.len() < 2 || !numbers.double.is_empty() {
        return None;
    }
    let waits = |rank: &&Rank| rank.threads.first().is_some_and(Doing::may_wait);
    let (waiting, others): (Vec<&Rank>, Vec<&Rank>) = job.ranks.iter().partition(waits);
    if waiting.is_empty() {
        return None;
    }
    let (waiting, others, elsewhere, is_clear) = if others.is_empty() {
        let (most, rest) = by_place(waiting);
        if rest.is_empty() || most.len() <= rest.len() {
            return Some(format!("{ONLY} whom the ranks wait for is not known"));
        }
        let is_clear = rest.iter().all(|rank| no_other_may_wait(rank));
        (most, rest, ", elsewhere in MPI,", is_clear)
    } else {
        let is_clear = others.iter().all(|rank| keeps_others_waiting(rank));
        (waiting, others, "", is_clear)
    };
    let list_of = |ranks: &[&Rank]| -> Option<Vec<u32>> {
        let mut all: Vec<u32> = ranks.iter().map(|rank| rank.rank).collect::<Option<_>>()?;
        all.sort_unstable();
        Some(all)
    };
    let name = |numbers: &[u32]| {
        format!("rank{} {}", if numbers.len() == 1 { "" } else { "s" }, list(numbers))
    };
    let (waiting, others) = (list_of(&waiting)?, list_of(&others)?);
    let wait = if waiting.len() == 1 { "waits" } else { "wait" };
    let (waiting, others) = (name(&waiting), name(&others));
    let is_one_time = apart(job).is_some_and(|seconds| seconds <= APART);
    Some(if is_clear && is_one_time && numbers.is_complete {
        format!("{ONLY} that {waiting} {wait} for {others}{elsewhere} is likely, not proven")
    } else {
        format!("{ONLY} whether {waiting} {wait} for {others}{elsewhere} is not known")
    })
}

/// The ranks at the place where most are, and all others.
fn by_place(ranks: Vec<&Rank>) -> (Vec<&Rank>, Vec<&Rank>) {
    let place = |rank: &Rank| rank.threads.first().map(|it| (it.function.clone(), it.site.clone()));
    let mut places: BTreeMap<_, Vec<&Rank>> = BTreeMap::new();
    for rank in ranks {
        places.entry(place(rank)).or_default().push(rank);
    }
    let mut places: Vec<_> = places.into_values().collect();
    places.sort_by_key(|ranks| Reverse(ranks.len()));
    let rest = places.split_off(places.len().min(1));
    (places.into_iter().flatten().collect(), rest.into_iter().flatten().collect())
}

/// Is a rank where it is not known to wait for others itself, and does it stay there?
fn keeps_others_waiting(rank: &Rank) -> bool {
    let stays = |thread: &Doing| !matches!(thread.what, What::Unknown | What::Moves);
    // A function of MPI that only asks is called again and again, until others come.
    let asks = |thread: &Doing| thread.in_mpi && !thread.may_last;
    rank.problem.is_none()
        && rank.threads.first().is_some_and(|first| stays(first) && !asks(first))
        && no_other_may_wait(rank)
}

/// Is no thread but the first one in MPI?
fn no_other_may_wait(rank: &Rank) -> bool {
    rank.threads.iter().skip(1).all(|thread| !thread.in_mpi || !thread.may_last)
}

#[cfg(test)]
mod tests {
    use super::{Numbers, closing, likely, of};
    use crate::hang::attach::seen::{Doing, Job, Rank, Report, SCHEMA, Spot, What};

    fn doing(what: What, function: Option<&str>, may_last: bool, line: u32) -> Doing {
        let spot = |line| Spot {
            function: Some("solve".into()),
            file: Some("solver.c".into()),
            line: Some(line),
            text: format!("solver.c:{line} solve"),
        };
        Doing {
            thread: 1,
            what,
            held: None,
            function: function.map(str::to_owned),
            in_mpi: function.is_some(),
            may_last,
            site: vec![spot(line)],
            inside: Vec::new(),
            whole: true,
            python: None,
        }
    }

    fn waits(line: u32) -> Doing {
        doing(What::Stands, Some("MPI_Barrier"), true, line)
    }

    fn computes() -> Doing {
        doing(What::Computes, None, false, 7)
    }

    fn job(ranks: Vec<Vec<Doing>>) -> Job {
        let size = u32::try_from(ranks.len()).unwrap();
        let ranks = (0..).zip(ranks).map(|(rank, threads)| Rank {
            rank: Some(rank),
            host: "n1".into(),
            pid: 100 + rank,
            threads,
            stopped: Vec::new(),
            problem: None,
        });
        Job {
            name: "job".into(),
            program: "solver".into(),
            mpi: "MPI".into(),
            size: Some(size),
            looks: 2,
            seconds: 1.0,
            begun: Some(100.0),
            ended: Some(101.0),
            ranks: ranks.collect(),
        }
    }

    fn said(job: &Job) -> String {
        likely(job, &Numbers::of(job)).unwrap_or_default()
    }

    const LIKELY: &str = "that ranks 0-1 wait for rank 2 is likely, not proven";
    const NOT_KNOWN: &str = "whether ranks 0-1 wait for rank 2 is not known";

    #[test]
    fn what_is_likely_is_said_of_who_stays_elsewhere() {
        let with = |thread| job(vec![vec![waits(1)], vec![waits(1)], vec![thread]]);
        assert!(said(&with(computes())).contains(LIKELY));
        assert!(said(&with(doing(What::Sleeps, None, false, 7))).contains(LIKELY));
        for thread in [
            doing(What::Unknown, None, false, 7),
            doing(What::Moves, None, false, 7),
            doing(What::Moves, Some("MPI_Barrier"), true, 1),
            doing(What::Stays, Some("MPI_Test"), false, 7),
        ] {
            assert!(said(&with(thread.clone())).contains(NOT_KNOWN), "{thread:?}");
        }
        let thread = job(vec![vec![waits(1)], vec![waits(1)], vec![computes(), waits(9)]]);
        assert!(said(&thread).contains(NOT_KNOWN));
        let mut unseen = with(computes());
        unseen.ranks[2].problem = Some("it may not be looked at".into());
        unseen.ranks[2].threads.clear();
        assert!(said(&unseen).contains(NOT_KNOWN));
    }

    #[test]
    fn most_ranks_are_those_at_one_place_whatever_their_other_threads_do() {
        // Each of the three has other threads, and so is a line of its own.
        let helper = |line| doing(What::Computes, None, false, line);
        let mut four = job(vec![
            vec![waits(1), helper(20)],
            vec![waits(1), helper(21)],
            vec![waits(1)],
            vec![waits(5)],
        ]);
        let likely = "that ranks 0-2 wait for rank 3, elsewhere in MPI, is likely, not proven";
        assert!(said(&four).contains(likely), "{}", said(&four));
        four.ranks[3].threads.push(waits(9));
        let not_known = "whether ranks 0-2 wait for rank 3, elsewhere in MPI, is not known";
        assert!(said(&four).contains(not_known), "{}", said(&four));
        let halves = job(vec![vec![waits(1)], vec![waits(1)], vec![waits(5)], vec![waits(5)]]);
        assert!(said(&halves).contains("whom the ranks wait for is not known"));
        let alone = job(vec![vec![waits(1)], vec![waits(1)]]);
        assert!(said(&alone).contains("whom the ranks wait for is not known"));
    }

    #[test]
    fn nothing_is_likely_of_a_part() {
        let all = || job(vec![vec![waits(1)], vec![waits(1)], vec![computes()]]);
        for size in [Some(4), None] {
            let part = Job { size, ..all() };
            assert!(said(&part).contains(NOT_KNOWN), "{size:?}");
        }
        let mut double = all();
        double.ranks[1].rank = Some(0);
        assert_eq!(said(&double), "");
        let text = closing(&double).join("\n");
        assert!(
            text.contains("rank 0 is there more than once") && text.contains("not one job"),
            "{text}"
        );
    }

    #[test]
    fn hosts_that_were_looked_at_at_other_times_say_nothing_together() {
        let mut hosts = job(vec![vec![waits(1)], vec![waits(1)], vec![computes()]]);
        hosts.ranks[2].host = "n2".into();
        // From the first look of one to the last of the other, of which each took one second.
        hosts.ended = Some(104.0);
        assert!(said(&hosts).contains(LIKELY));
        hosts.ended = Some(161.0);
        assert!(said(&hosts).contains(NOT_KNOWN));
        assert!(closing(&hosts).join("\n").contains("looked at 60 s apart"));
        hosts.ended = None;
        assert!(said(&hosts).contains(NOT_KNOWN));
        assert!(closing(&hosts).join("\n").contains("when each host was looked at is not known"));
    }

    /// A size from outside costs no memory, and no time.
    #[test]
    fn ranks_that_are_not_seen_are_told_in_runs() {
        let mut job = job(vec![vec![computes()], vec![computes()]]);
        (job.ranks[0].rank, job.ranks[1].rank) = (Some(3), Some(u32::MAX - 1));
        job.size = Some(u32::MAX);
        let runs = Numbers::of(&job).unseen;
        assert_eq!(runs, [(0, 2), (4, u32::MAX - 2)]);
        let report = Report { schema: SCHEMA.into(), jobs: vec![job] };
        let text = of(&report, 20);
        assert!(text.contains("(ranks 0-2, 4-4294967293 of 4294967295 are not seen"), "{text}");
    }
}
