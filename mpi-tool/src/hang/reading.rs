//! All ranks of a run at two moments, and what has moved in between.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use mpi_facts::watch::phase;

use super::convert::{Ranks, state};
use super::file::{Snapshot, Thread};
use super::find::Run;
use super::graph::{Condition, Kind, State, Verdict, World as Graph};
use super::process::{Effort, Life, Sleep, effort, is_younger, life, sleep_of, threads};
use super::unseen::{Circumstances, Seen, by_world, missing};

/// A run.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) folder: PathBuf,
    pub(super) worlds: Vec<World>,
    /// Files that could not be read.
    pub(super) problems: Vec<String>,
    /// For how long it was looked at; 0 of a run that is over.
    pub(super) seconds: f64,
    /// Nanoseconds since 1970.
    pub(super) now: u64,
}

/// A world of a run: those that are spawned are worlds of their own.
#[derive(Debug)]
pub(super) struct World {
    pub(super) size: u32,
    /// Which of its ranks are seen.
    pub(super) seen: Seen,
    pub(super) ranks: Ranks<Rank>,
    pub(super) states: BTreeMap<u32, State>,
    pub(super) verdict: Verdict,
    /// Is no process there any more?
    pub(super) is_past: bool,
    /// Have those that are to blame had too little of a processor to tell?
    pub(super) is_uncertain: bool,
    /// Ranks that are to blame and have threads outside of MPI that sleep and may do what others wait for: these threads.
    pub(super) others: Vec<(u32, Vec<u32>)>,
    /// May a rank that is to blame be in an error handler of the application's?
    pub(super) has_handlers: bool,
}

/// A rank.
#[derive(Debug)]
pub(super) struct Rank {
    pub(super) snapshot: Snapshot,
    pub(super) life: Life,
    pub(super) condition: Condition,
    /// Calls in the time that it was looked at.
    pub(super) moved: u64,
    /// Does the thread that matters sleep?
    pub(super) sleeps: bool,
    /// The threads that were in one call all the time.
    pub(super) inside: Vec<Thread>,
    /// Does a thread of it work outside of MPI?
    pub(super) works: bool,
    /// Has it had too little of a processor to see a message that may be there?
    pub(super) had_little: bool,
}

impl Rank {
    /// Does a thread of it work outside of MPI while another one waits there?
    pub(super) fn works_beside(&self) -> bool {
        self.works && !self.inside.is_empty()
    }

    /// The thread that says most: one that is in a call, or that has called last.
    pub(super) fn thread(&self) -> Option<&Thread> {
        let last = || self.snapshot.threads.iter().max_by_key(|thread| thread.since);
        self.inside.first().or_else(last)
    }
}

impl World {
    /// Has a rank made calls?
    pub(super) fn moves(&self) -> bool {
        self.ranks.values().any(|rank| rank.moved > 0)
    }
}

impl Reading {
    /// Is no process of the run there any more?
    pub(super) fn is_past(&self) -> bool {
        self.worlds.iter().all(|world| world.is_past)
    }

    /// What keeps the ranks that are seen from being all of the run.
    pub(super) fn missing(&self) -> Option<String> {
        missing(&self.worlds.iter().map(|world| &world.seen).collect::<Vec<_>>())
    }
}

/// How long a run is looked at, at least and at most.
const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(10);
/// How long between two readings.
const PAUSE: Duration = Duration::from_millis(200);
/// A thread that has had so many nanoseconds of a processor would have seen a message that was there, and so would one
/// that has had so many turns: while they wait, MPIs give the processor away after each look, if there are many ranks.
const ENOUGH_TIME: u64 = 30_000_000;
const ENOUGH_TURNS: u64 = 40;

/// So many nanoseconds of a processor are little for a thread that works.
const LITTLE_TIME: u64 = 25_000_000;

/// The files of a run at one moment, with what the kernel says.
struct Look {
    snapshots: Vec<Snapshot>,
    circumstances: Circumstances,
    lives: Vec<Life>,
    /// By process and thread.
    efforts: BTreeMap<(u32, u32), Effort>,
}

fn look(run: &Run, problems: &mut Vec<String>) -> Look {
    let mut snapshots = Vec::new();
    for file in &run.files {
        match Snapshot::read(file) {
            Ok(snapshot) => snapshots.push(snapshot),
            // The rank has finalized meanwhile.
            Err(_) if !file.exists() => {}
            Err(error) => problems.push(error.to_string()),
        }
    }
    if let Some(note) = &run.no_room {
        let folder = note.parent().unwrap_or(note).display();
        problems.push(format!("{folder}: there was no room for the files of some ranks"));
    }
    let lives: Vec<Life> = snapshots.iter().map(life).collect();
    let mut efforts = BTreeMap::new();
    for (snapshot, life) in snapshots.iter().zip(&lives) {
        if !matches!(life, Life::Gone | Life::Elsewhere) {
            // Threads that have not called MPI yet may do so, where the program has asked for it.
            let known = snapshot.threads.iter().map(|thread| thread.id);
            let all = if snapshot.has_threads { threads(snapshot.pid) } else { known.collect() };
            for thread in all {
                if let Some(effort) = effort(snapshot.pid, thread) {
                    efforts.insert((snapshot.pid, thread), effort);
                }
            }
        }
    }
    Look { snapshots, circumstances: Circumstances::of(run), lives, efforts }
}

/// A run as it is in two moments that are far enough apart to tell what stands still.
pub(super) fn settled(run: &Run) -> Result<Reading> {
    Beginning::of(run)?.read(run, SHORTEST, LONGEST)
}

/// The same without waiting longer where that would tell more.
pub(super) fn brief(run: &Run) -> Result<Reading> {
    Beginning::of(run)?.read(run, SHORTEST, SHORTEST)
}

/// A run at a first moment.
pub(super) struct Beginning {
    first: Look,
    problems: Vec<String>,
    at: Instant,
}

impl Beginning {
    pub(super) fn of(run: &Run) -> Result<Self> {
        let mut problems = Vec::new();
        let first = look(run, &mut problems);
        if first.snapshots.is_empty() {
            let why = match problems[..] {
                [] => String::new(),
                _ => format!(": {}", problems.join(", ")),
            };
            bail!("{}: there is no state file that can be read{why}", run.folder.display());
        }
        Ok(Self { first, problems, at: Instant::now() })
    }

    /// What stands still since then, at once if the first moment was long ago.
    pub(super) fn settled(self, run: &Run) -> Result<Reading> {
        self.read(run, SHORTEST, LONGEST)
    }

    fn read(self, run: &Run, shortest: Duration, longest: Duration) -> Result<Reading> {
        let Self { first, problems, at: begin } = self;
        let is_past = |life: &Life| matches!(life, Life::Gone | Life::Elsewhere);
        if first.lives.iter().all(is_past) {
            let worlds = worlds(&first, &first, &first);
            return Ok(reading(run, worlds, problems, 0.0));
        }
        let mut before = None;
        loop {
            sleep(PAUSE);
            let now = look(run, &mut Vec::new());
            let worlds = worlds(&first, before.as_ref().unwrap_or(&first), &now);
            let passed = begin.elapsed();
            let is_enough = passed >= shortest && worlds.iter().all(|world| !world.is_uncertain);
            if now.snapshots.is_empty() || is_enough || passed >= longest {
                if worlds.is_empty() {
                    bail!("{}: the run is over", run.folder.display());
                }
                return Ok(reading(run, worlds, problems, passed.as_secs_f64()));
            }
            before = Some(now);
        }
    }
}

fn reading(run: &Run, worlds: Vec<World>, problems: Vec<String>, seconds: f64) -> Reading {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    Reading { folder: run.folder.clone(), worlds, problems, seconds, now }
}

/// What tells one process from another: not its number, which others in other containers have, too.
fn identity(snapshot: &Snapshot) -> (&Path, u64) {
    (&snapshot.path, snapshot.started)
}

/// The worlds of a run. What a rank does is what the second-last look says, if the last one has found it unchanged.
fn worlds(first: &Look, before: &Look, now: &Look) -> Vec<World> {
    fn by_identity(look: &Look) -> BTreeMap<(&Path, u64), usize> {
        look.snapshots.iter().enumerate().map(|(at, one)| (identity(one), at)).collect()
    }
    let (in_first, in_before) = (by_identity(first), by_identity(before));
    let worlds = by_world(&now.snapshots).into_iter().map(|members| {
        let is_gone = |life: Life| matches!(life, Life::Gone | Life::Elsewhere);
        let is_past = members.iter().all(|at| is_gone(now.lives[*at]));
        let all = members.iter().map(|at| &now.snapshots[*at]);
        let seen = Seen::of(all, &now.circumstances);
        let mut ranks = BTreeMap::new();
        for at in members {
            let snapshot = &now.snapshots[at];
            let Some(rank) = snapshot.rank else { continue };
            let old = in_first.get(&identity(snapshot)).map(|at| &first.snapshots[*at]);
            let last = in_before.get(&identity(snapshot)).map(|at| &before.snapshots[*at]);
            let moved = snapshot.steps().saturating_sub(old.map_or(0, Snapshot::steps));
            let life = now.lives[at];
            let condition = match (snapshot.phase, life) {
                (phase::FINALIZED, _) => Condition::Finalized,
                // Functions that run at the end of a process may still do what others wait for.
                (phase::EXITED, Life::Gone | Life::Elsewhere) => Condition::Dead,
                (_, Life::Gone) if !is_past => Condition::Dead,
                (_, Life::Stopped | Life::Traced) => Condition::Stopped,
                _ if moved > 0 => Condition::Moving,
                _ => Condition::Still,
            };
            // Of one call at both times, so the fields that the earlier look has read are that call's.
            let stands = |thread: &&Thread| {
                snapshot.threads.iter().any(|other| thread.is_in_same_call(other))
            };
            let threads = last.map_or(&[][..], |last| &last.threads);
            let inside: Vec<Thread> = threads.iter().filter(stands).cloned().collect();
            let effort = |look: &Look, id| look.efforts.get(&(snapshot.pid, id)).copied();
            let main = inside.first().or(snapshot.threads.first()).map(|thread| thread.id);
            let sleeps = main.is_some_and(|id| match (effort(first, id), effort(now, id)) {
                (Some(then), Some(now)) => then.sleeps && now.sleeps && then.time == now.time,
                _ => false,
            });
            let snapshot = snapshot.clone();
            let (works, had_little) = (false, false);
            let rank_is =
                Rank { snapshot, life, condition, moved, sleeps, inside, works, had_little };
            ranks.insert(rank, rank_is);
        }
        let largest = ranks.values().filter_map(|rank| rank.snapshot.size).max().unwrap_or(0);
        let size = largest.max(ranks.keys().next_back().map_or(0, |rank| rank + 1));
        let size = size.max(seen.size.unwrap_or(0));
        let mut states: BTreeMap<u32, State> = ranks
            .iter_mut()
            .map(|(number, rank)| {
                // A thread outside of MPI that has a processor may do what others wait for.
                let works = outside(rank, now).any(|(thread, effort)| {
                    let id = (rank.snapshot.pid, thread);
                    let before = first.efforts.get(&id).map_or(0, |before| before.time);
                    let is_known = rank.snapshot.threads.iter().any(|known| known.id == thread);
                    // Libraries have threads that look at something now and then.
                    effort.time > before + if is_known { 0 } else { LITTLE_TIME }
                });
                rank.works = works;
                let threads: Vec<&Thread> = rank.inside.iter().filter(|_| !rank.works).collect();
                (*number, state(&rank.snapshot, &threads, rank.condition))
            })
            .collect();
        let verdict = Graph::new(size, &states).judge();
        // The thread that is named for its call comes first.
        for (rank, call) in &verdict.calls {
            if let (Some(rank), Some(state)) = (ranks.get_mut(rank), states.get_mut(rank)) {
                rank.inside.swap(0, *call);
                state.calls.swap(0, *call);
            }
        }
        let had_little = |rank: &u32| {
            let Some(rank) = ranks.get(rank) else { return false };
            !rank.inside.iter().all(|thread| {
                let effort =
                    |look: &Look| look.efforts.get(&(rank.snapshot.pid, thread.id)).copied();
                match (effort(first), effort(now)) {
                    (Some(then), Some(now)) => {
                        now.sleeps
                            || now.time >= then.time + ENOUGH_TIME
                            || now.turns >= then.turns + ENOUGH_TURNS
                    }
                    _ => true,
                }
            })
        };
        let all_with_little: Vec<u32> = ranks.keys().copied().filter(had_little).collect();
        for rank in all_with_little {
            ranks.entry(rank).and_modify(|rank| rank.had_little = true);
        }
        let had_little = |rank: &u32| ranks.get(rank).is_some_and(|rank: &Rank| rank.had_little);
        let is_deadlock = !is_past && verdict.kind == Kind::Deadlock;
        let mut named = verdict.path.iter().flat_map(|edge| [edge.from, edge.to]);
        let is_uncertain = is_deadlock && named.any(|rank| had_little(&rank));
        let stuck = || verdict.stuck.iter().filter_map(|rank| Some((*rank, ranks.get(rank)?)));
        let others = stuck().filter(|_| is_deadlock);
        let others = others.map(|(number, rank)| (number, may_go_on(rank, now)));
        let others: Vec<_> = others.filter(|(_, threads)| !threads.is_empty()).collect();
        let has_handlers = is_deadlock && stuck().any(|(_, rank)| rank.snapshot.has_error_handlers);
        World { size, seen, ranks, states, verdict, is_past, is_uncertain, others, has_handlers }
    });
    worlds.filter(|world| !world.ranks.is_empty()).collect()
}

/// The threads of a rank that are not in MPI.
fn outside<'a>(rank: &'a Rank, look: &'a Look) -> impl Iterator<Item = (u32, Effort)> + 'a {
    let pid = rank.snapshot.pid;
    let all = look.efforts.range((pid, 0)..=(pid, u32::MAX));
    all.map(|((_, thread), effort)| (*thread, *effort))
        .filter(|(thread, _)| !rank.inside.iter().any(|inside| inside.id == *thread))
}

/// The threads outside of MPI that sleep and may wake up by themselves and do what others wait for. One that waits for another
/// thread does not, and one that was there when MPI had started, has never called it and waits for a socket or the like is a
/// library's, most likely.
fn may_go_on(rank: &Rank, look: &Look) -> Vec<u32> {
    if rank.inside.is_empty() {
        return vec![];
    }
    let Snapshot { pid, ready, older, threads, .. } = &rank.snapshot;
    let is_younger = |thread: &u32| match older {
        Some(older) => *ready != 0 && !older.contains(thread),
        None => is_younger(*pid, *thread, *ready),
    };
    let may = |thread: &u32| match sleep_of(*pid, *thread) {
        Sleep::Thread => false,
        Sleep::Descriptor => threads.iter().any(|known| known.id == *thread) || is_younger(thread),
        Sleep::Other => true,
    };
    outside(rank, look).map(|(thread, _)| thread).filter(may).collect()
}

/// A run at one moment, as far as it tells whether anything moves, and whether all of it is seen.
pub(super) struct Glance {
    /// How many calls each file's process has made.
    pub(super) calls: Vec<(PathBuf, u64)>,
    pub(super) worlds: Vec<Seen>,
}

impl Glance {
    pub(super) fn at(run: &Run) -> Self {
        let snapshots = run.files.iter().filter_map(|file| Snapshot::read(file).ok());
        let snapshots: Vec<Snapshot> = snapshots.collect();
        let circumstances = Circumstances::of(run);
        let worlds = by_world(&snapshots)
            .into_iter()
            .map(|members| Seen::of(members.iter().map(|at| &snapshots[*at]), &circumstances));
        let worlds = worlds.collect();
        let calls = snapshots.iter().map(|it| (it.path.clone(), it.steps())).collect();
        Self { calls, worlds }
    }

    /// What keeps the ranks that are seen from being all of the run.
    pub(super) fn missing(&self) -> Option<String> {
        missing(&self.worlds.iter().collect::<Vec<_>>())
    }
}

/// Is a run over: has each file's process of this host ended? What runs elsewhere may go on.
pub(super) fn is_stale(run: &Run) -> bool {
    run.files.iter().all(|file| {
        Snapshot::read(file)
            .map_or_else(|_| !file.exists(), |snapshot| life(&snapshot) == Life::Gone)
    })
}
