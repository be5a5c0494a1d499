//! Which calls are recorded, if not all: those of functions and ranks that the user has chosen, and not the shortest ones.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::OnceLock;

use mpi_facts::trace::{Hidden, define, filter};
use mpi_tool_layer::{Clock, FunctionClass, FunctionId, launched_rank, say};

use crate::store;

/// By function: are its calls not recorded ([`LEFT_OUT`], [`SAID`])? 0 of those that are.
static FUNCTIONS: [AtomicU8; FunctionId::COUNT] = [const { AtomicU8::new(0) }; FunctionId::COUNT];

/// They are not, and none has been made yet.
const LEFT_OUT: u8 = 1;
/// They are not, and the file says that there were some, as far as somebody has to know.
const SAID: u8 = 2;

/// Calls that move nothing are recorded if they take so many ticks.
static LEAST: AtomicU64 = AtomicU64::new(0);

/// The ranks that are recorded, from and to, if not all are.
static RANKS: OnceLock<Vec<(u32, u32)>> = OnceLock::new();

/// What is left out, for the file's header.
static KINDS: AtomicU64 = AtomicU64::new(0);

/// Are the function's calls left out?
#[inline(always)]
pub(crate) fn leaves_out(function: FunctionId) -> bool {
    match FUNCTIONS[function as usize].load(Relaxed) {
        0 => false,
        SAID => true,
        _ => {
            first_left_out(function);
            true
        }
    }
}

/// The first call of a function that is left out: what it hides is not whole in the file, which says so.
#[cold]
#[inline(never)]
fn first_left_out(function: FunctionId) {
    let is_hidden = Hidden::by(function).is_any();
    if !is_hidden || store::define(define::LEFT_OUT, &[0], function.name()) {
        FUNCTIONS[function as usize].store(SAID, Relaxed);
    }
}

/// Is a call that has moved nothing too short to be recorded?
#[inline(always)]
pub(crate) fn is_too_short(function: FunctionId, ticks: u64) -> bool {
    let least = LEAST.load(Relaxed);
    least != 0 && ticks < least && says_nothing(function)
}

/// Does nobody miss a call of the function that has moved nothing? Collective operations are counted, to tell which ones
/// belong together, and matched probes tell the communicators of messages.
const fn says_nothing(function: FunctionId) -> bool {
    use FunctionClass::{Collective, Neighborhood, OneSided, Partitioned, PointToPoint, Process};
    match function.class() {
        PointToPoint => matches!(function, FunctionId::MPI_Iprobe),
        Collective | Neighborhood | OneSided | Partitioned | Process => false,
        _ => true,
    }
}

/// Is the rank recorded?
pub(crate) fn has_rank(rank: u32) -> bool {
    RANKS.get().is_none_or(|ranks| ranks.iter().any(|(from, to)| (*from..=*to).contains(&rank)))
}

/// What is left out, for the file's header.
pub(crate) fn kinds() -> u64 {
    KINDS.load(Relaxed)
}

/// Takes over what the user has set. What cannot be understood is said, and leaves nothing out.
pub(crate) fn configure(functions: &str, ranks: &str, least: u64) {
    let chosen = |text: &str| !text.trim().is_empty();
    if chosen(functions) {
        match of_functions(functions) {
            Ok(selected) => {
                for (state, selected) in FUNCTIONS.iter().zip(selected) {
                    state.store(if selected { 0 } else { LEFT_OUT }, Relaxed);
                }
                KINDS.fetch_or(filter::FUNCTIONS, Relaxed);
            }
            Err(part) => complain(format_args!(
                "MPI_TOOL_MPI_TRACE_FUNCTIONS: {part:?} is no function, no beginning of one with * behind it, and no class; \
                 all functions are recorded; classes are {}",
                FunctionClass::ALL.iter().map(|class| class.name()).collect::<Vec<_>>().join(", ")
            )),
        }
    }
    if chosen(ranks) {
        match of_ranks(ranks) {
            Ok(ranks) => {
                let _ = RANKS.set(ranks);
                KINDS.fetch_or(filter::RANKS, Relaxed);
            }
            Err(part) => complain(format_args!(
                "MPI_TOOL_MPI_TRACE_RANKS: {part:?} is neither a rank nor a range, as in 0,4-7; all ranks are recorded"
            )),
        }
    }
    if least > 0 {
        LEAST.store(Clock::ticks(least.saturating_mul(1000)).max(1), Relaxed);
        KINDS.fetch_or(filter::SHORT, Relaxed);
    }
}

fn complain(what: core::fmt::Arguments<'_>) {
    if launched_rank().unwrap_or(0) == 0 {
        say(format_args!("mpi-trace: {what}"));
    }
}

/// By function: is it one of those that a text names? An error is the part that names none.
fn of_functions(text: &str) -> Result<Vec<bool>, &str> {
    let mut selected = vec![false; FunctionId::COUNT];
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let mut is_known = false;
        for function in (0..FunctionId::COUNT).filter_map(FunctionId::from_index) {
            let is_named = match part.strip_suffix('*') {
                Some(beginning) => function.name().starts_with(beginning),
                None => {
                    function.name() == part || function.class().name().eq_ignore_ascii_case(part)
                }
            };
            selected[function as usize] |= is_named;
            is_known |= is_named;
        }
        if !is_known {
            return Err(part);
        }
    }
    Ok(selected)
}

/// Ranks and ranges of them. An error is the part that is neither.
fn of_ranks(text: &str) -> Result<Vec<(u32, u32)>, &str> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        (from <= to).then_some((from, to))
    };
    parts.map(|part| range(part).ok_or(part)).collect()
}
