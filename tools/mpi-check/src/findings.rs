//! Findings: what is wrong, kept once for all ranks of the host, said when it is found, and reported at the end.
//!
//! The first rank that finds something says so at once, as the program may not live much longer. Whoever finds the
//! same at the same place only counts. The last process in `MPI_Finalize` writes the report.

mod limits;
mod merge;
mod report;

use core::fmt::Write as _;
use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, OnceLock, PoisonError};

use mpi_tool_layer::options::{Format, Output, report_options};
use mpi_tool_layer::{FunctionId, Site, launched_rank, marks, say};

use crate::collectives;
use crate::hosts;
use crate::messages;
use crate::objects;
use crate::order;
use crate::places::{self, Mark};
use crate::process;
use crate::requests;
use crate::shared::{self, FINDINGS, RANKS, Shared, Text, limit, shared};
use crate::suppress;
use crate::unseen;
use crate::waits;
pub(crate) use merge::{add_bytes, merged, to_bytes};
pub(crate) use report::say_only_what_is_found;
use report::{write_newest, write_report};

/// What kind of fault a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub(crate) enum Class {
    InvalidArgument,
    CallOrder,
    CollectiveMismatch,
    DatatypeMismatch,
    Truncation,
    LostMessage,
    Deadlock,
    BufferInUse,
    RequestLifecycle,
    Leak,
    EpochLifecycle,
    RmaConflict,
    /// No fault: told if the user asks for it.
    MessageRace,
}

impl Class {
    const NAMES: [&str; 13] = [
        "invalid-argument",
        "call-order",
        "collective-mismatch",
        "datatype-mismatch",
        "truncation",
        "lost-message",
        "deadlock",
        "buffer-in-use",
        "request-lifecycle",
        "leak",
        "epoch-lifecycle",
        "rma-conflict",
        "message-race",
    ];

    /// As reports have it.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The names of all.
    pub(crate) fn all() -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter()
    }
}

/// A finding in shared memory.
#[repr(C)]
pub(crate) struct Entry {
    key: AtomicU64,
    class: AtomicU32,
    function: AtomicU32,
    count: AtomicU64,
    ranks: [AtomicU64; RANKS / 64],
    /// Ranks beyond those are among them.
    others: AtomicBool,
    /// The user does not want to see it.
    is_suppressed: AtomicBool,
    /// It was said, and is in the report's file.
    is_told: AtomicBool,
    /// It holds as long as the host's ranks [stand as they did](waits::standing), if this is not 0.
    standing: AtomicU64,
    site: Text<200>,
    other_site: Text<200>,
    message: Text<2000>,
}

/// What a call site tells of a finding: the place, and a word for what it is.
pub(crate) struct Other<'a> {
    /// Such as `started at`.
    what: &'a str,
    /// A place in this process.
    site: Site,
    /// Or one in any.
    mark: Option<Mark>,
}

impl<'a> Other<'a> {
    /// A place in this process.
    pub(crate) fn new(what: &'a str, site: Site) -> Self {
        Self { what, site, mark: None }
    }

    /// A place in any process of the host.
    pub(crate) fn at(what: &'a str, mark: Mark) -> Self {
        Self { what, site: Site::UNKNOWN, mark: Some(mark) }
    }

    fn describe(&self) -> String {
        self.mark.map_or_else(|| places::describe(self.site), places::of_mark)
    }
}

/// The rank in the world, or what is known of it.
static RANK: AtomicU32 = AtomicU32::new(u32::MAX);

/// MPI has told the rank.
pub(crate) fn set_rank(rank: u32) {
    RANK.store(rank, Relaxed);
}

/// This process's rank.
pub(crate) fn rank() -> u32 {
    match RANK.load(Relaxed) {
        u32::MAX => launched_rank().unwrap_or(0),
        rank => rank,
    }
}

/// Something is wrong. `what` tells faults of one class at one place apart, and is the same in each call that has it;
/// `message` says it in words.
#[cold]
pub(crate) fn report(
    class: Class,
    function: FunctionId,
    site: Site,
    what: &str,
    message: &str,
    other: Option<Other<'_>>,
) {
    let others = [rank()];
    report_of(class, function, Place::Here(site), what, message, other, &others);
}

/// Class, function, site and what it is about.
type LocalKey = (u32, u32, u32, u64);

/// Where a finding is.
pub(crate) enum Place<'a> {
    /// In this process.
    Here(Site),
    /// Described by another one.
    Text(&'a str),
    /// The same, of a call that its own process counts.
    Counted(&'a str),
}

/// The same, with ranks of the world.
#[cold]
pub(crate) fn report_of(
    class: Class,
    function: FunctionId,
    place: Place<'_>,
    what: &str,
    message: &str,
    other: Option<Other<'_>>,
    ranks: &[u32],
) {
    report_while(0, class, function, place, what, message, other, ranks);
}

/// The same, of what holds as long as the host's ranks [stand so](waits::standing); for ever if this is 0.
#[cold]
#[allow(clippy::too_many_arguments)]
pub(crate) fn report_while(
    standing: u64,
    class: Class,
    function: FunctionId,
    place: Place<'_>,
    what: &str,
    message: &str,
    other: Option<Other<'_>>,
    ranks: &[u32],
) {
    if class != Class::InvalidArgument && unseen::hides_all() {
        return;
    }
    // What a forked child does is nobody's: its calls are no rank's.
    if process::is_child() {
        return;
    }
    /// The keys of what this process has found.
    static KNOWN: Mutex<Option<HashMap<LocalKey, u64>>> = Mutex::new(None);
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    let number = match place {
        Place::Here(site) => site.number(),
        Place::Text(text) | Place::Counted(text) => {
            text.hash(&mut hasher);
            0
        }
    };
    let times = u64::from(!matches!(place, Place::Counted(_)));
    let local = (class as u32, function as u32, number, hasher.finish());
    let known = {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_default().get(&local).copied()
    };
    if let Some(key) = known {
        count_again(key, ranks, times);
        return;
    }
    let text = match place {
        Place::Here(site) => places::describe(site),
        Place::Text(text) | Place::Counted(text) => text.to_owned(),
    };
    // The same on all ranks: by texts.
    let mut hasher = DefaultHasher::new();
    (class, function as u32, &text, what).hash(&mut hasher);
    let key = hasher.finish() | 1;
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(local, key);
    let other = other.map(|other| (other.what, other.describe()));
    let other = match other {
        Some((what, place)) if !place.is_empty() => format!("{what} {place}"),
        _ => String::new(),
    };
    let shared = shared();
    let is_suppressed = suppress::is_suppressed(class, function, &text);
    let found = {
        let _held = shared.findings_lock.take();
        match find(shared, key) {
            Some(entry) => {
                entry.add(ranks, times);
                Some((entry, false))
            }
            None => {
                let texts = [&*text, &other, message];
                add(shared, key, standing, class, function, texts, ranks, times, is_suppressed)
                    .map(|entry| (entry, true))
            }
        }
    };
    match found {
        Some((entry, true)) if !is_suppressed => {
            let mut ranks = ranks.to_vec();
            ranks.sort_unstable();
            let possible = if standing == 0 { "" } else { "possible " };
            announce(&format!("{possible}{}", class.name()), &text, &other, message, &ranks);
            write_newest();
            entry.is_told.store(true, Release);
        }
        Some((entry, false)) => entry.wait_until_told(),
        _ => {}
    }
}

fn find(shared: &Shared, key: u64) -> Option<&Entry> {
    let count = (shared.findings_count.load(Acquire) as usize).min(FINDINGS);
    shared.findings[..count].iter().find(|entry| entry.key.load(Relaxed) == key)
}

fn count_again(key: u64, ranks: &[u32], times: u64) {
    if let Some(entry) = find(shared(), key) {
        entry.add(ranks, times);
    }
}

/// A finding that is not there; `None` if there is no room.
#[allow(clippy::too_many_arguments)]
fn add<'a>(
    shared: &'a Shared,
    key: u64,
    standing: u64,
    class: Class,
    function: FunctionId,
    [site, other, message]: [&str; 3],
    ranks: &[u32],
    times: u64,
    is_suppressed: bool,
) -> Option<&'a Entry> {
    let number = shared.findings_count.load(Relaxed);
    let Some(entry) = shared.findings.get(number as usize) else {
        shared.reached(limit::FINDINGS);
        return None;
    };
    entry.class.store(class as u32, Relaxed);
    entry.function.store(function as u32, Relaxed);
    entry.is_suppressed.store(is_suppressed, Relaxed);
    entry.is_told.store(is_suppressed, Relaxed);
    entry.standing.store(standing, Relaxed);
    entry.site.set(site);
    entry.other_site.set(other);
    entry.message.set(message);
    entry.add(ranks, times);
    entry.key.store(key, Relaxed);
    shared.findings_count.store(number + 1, Release);
    Some(entry)
}

impl Entry {
    /// Another process is telling it. The call that this one goes on with may be the job's last, so it waits, but not for
    /// one that is gone.
    fn wait_until_told(&self) {
        for _ in 0..500 {
            if self.is_told.load(Acquire) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Is it still so?
    fn holds(&self) -> bool {
        let standing = self.standing.load(Relaxed);
        standing == 0 || standing == waits::standing()
    }

    fn add(&self, ranks: &[u32], times: u64) {
        self.count.fetch_add(times, Relaxed);
        for rank in ranks {
            match self.ranks.get(*rank as usize / 64) {
                Some(word) => {
                    word.fetch_or(1 << (rank % 64), Relaxed);
                }
                None => self.others.store(true, Relaxed),
            }
        }
    }

    fn ranks(&self) -> Vec<u32> {
        let has =
            |rank: &u32| self.ranks[*rank as usize / 64].load(Relaxed) >> (rank % 64) & 1 != 0;
        (0..RANKS as u32).filter(has).collect()
    }
}

/// `0-3, 5`, bounded.
fn list(ranks: &[u32]) -> String {
    let mut text = String::new();
    let mut parts = 0;
    let mut at = 0;
    while at < ranks.len() {
        let mut end = at;
        while ranks.get(end + 1) == Some(&(ranks[end] + 1)) {
            end += 1;
        }
        if parts == 8 {
            let _ = write!(text, " and {} more", ranks.len() - at);
            break;
        }
        let comma = if parts == 0 { "" } else { ", " };
        let _ = match end - at {
            0 => write!(text, "{comma}{}", ranks[at]),
            _ => write!(text, "{comma}{}-{}", ranks[at], ranks[end]),
        };
        parts += 1;
        at = end + 1;
    }
    text
}

/// `rank 3`, `ranks 0-2, 7`
pub(crate) fn ranks_text(ranks: &[u32]) -> String {
    match ranks {
        [one] => format!("rank {one}"),
        _ => format!("ranks {}", list(ranks)),
    }
}

struct Settings {
    output: Output,
    format: Format,
}

fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let (output, format) = report_options("mpi-check");
        Settings { output, format }
    })
}

/// Reads where the report goes, before the program changes its folder.
pub(crate) fn prepare() {
    settings();
    suppress::prepare();
}

/// Is nothing to be printed?
pub(crate) fn is_silent() -> bool {
    settings().output == Output::None
}

/// A line at once.
fn announce(class: &str, site: &str, other: &str, message: &str, ranks: &[u32]) {
    if is_silent() {
        return;
    }
    marks::reported();
    let at = if site.is_empty() { String::new() } else { format!(" at {site}") };
    let other = if other.is_empty() { String::new() } else { format!(" ({other})") };
    // Both ends of a message may be one rank.
    let mut ranks = ranks.to_owned();
    ranks.dedup();
    say(format_args!("mpi-check: {class}{at}, {}: {message}{other}", ranks_text(&ranks)));
}

/// How many faults there are that the user wants to see, on all hosts if that is known.
pub(crate) fn count_faults() -> usize {
    let is_fault = |entry: &&Entry| entry.class.load(Relaxed) != Class::MessageRace as u32;
    let here = entries(shared()).filter(is_fault).count();
    here.max(shared().faults.load(Relaxed) as usize)
}

fn entries(shared: &Shared) -> impl Iterator<Item = &Entry> {
    all_entries(shared).filter(|entry| !entry.is_suppressed.load(Relaxed))
}

fn all_entries(shared: &Shared) -> impl Iterator<Item = &Entry> {
    let count = (shared.findings_count.load(Acquire) as usize).min(FINDINGS);
    shared.findings[..count].iter().filter(|entry| entry.holds())
}

/// A finding that held as long as these ranks [stood so](waits::standing) holds no longer: the ranks have gone on.
pub(crate) fn withdraw(standing: u64, ranks: &[u32]) {
    let shared = shared();
    let count = (shared.findings_count.load(Acquire) as usize).min(FINDINGS);
    let was_told = shared.findings[..count].iter().any(|entry| {
        entry.standing.load(Relaxed) == standing && !entry.is_suppressed.load(Relaxed)
    });
    if was_told && !is_silent() {
        let (ranks, has) = (ranks_text(ranks), if ranks.len() == 1 { "has" } else { "have" });
        say(format_args!("mpi-check: no deadlock: {ranks} {has} gone on"));
    }
    write_newest();
}

/// This process comes to `MPI_Finalize`. When all have come, nobody receives any more.
pub(crate) fn finalizing() {
    let shared = shared();
    let here = shared.finalizing.fetch_add(1, AcqRel) + 1;
    if hosts::is_on() {
        objects::report_leaks_early();
        if !order::has_sessions() {
            requests::report_left();
        }
        hosts::finalizing();
    } else if here == shared.joined.load(Acquire) {
        messages::report_lost();
        collectives::report_left();
    }
}

/// This process is through `MPI_Finalize`. The last one of the host writes the report.
pub(crate) fn finished() {
    let shared = shared();
    let here = shared.finalized.fetch_add(1, AcqRel) + 1;
    if here < shared.joined.load(Acquire) {
        return;
    }
    write_report();
    marks::reported();
    waits::remove_exchanged();
    shared::remove();
}

/// Is this the first process of the host that ends too early, where the user reads what is printed?
pub(crate) fn is_first_to_break_off() -> bool {
    let is_read = matches!(settings().output, Output::Stderr | Output::Stdout);
    is_read && shared().broken_off.fetch_add(1, AcqRel) == 0
}

/// This process ends. Is it the last one of those that the report is of?
pub(crate) fn is_last_to_end() -> bool {
    let shared = shared();
    let ended = shared.ended.fetch_add(1, AcqRel) + 1;
    ended == shared.joined.load(Acquire) && !shared.is_in_other_report()
}
