//! Numbers of functions and of communicators in the file, which defines each when it is used for the first time.

use core::sync::atomic::{
    AtomicBool, AtomicU16,
    Ordering::{AcqRel, Acquire, Relaxed},
};

use mpi_facts::trace::{CALL, define};
use mpi_tool_layer::{FunctionId, TrackedComm, world_position};

use crate::store;

/// By function: the kind of record that its calls are, or 0 as long as it has no number. The first functions that a
/// program calls get small numbers, which are short.
static KINDS: [AtomicU16; FunctionId::COUNT] = [const { AtomicU16::new(0) }; FunctionId::COUNT];

/// How many functions have a number.
static NUMBERED: AtomicU16 = AtomicU16::new(0);

/// The kind of record that a function's calls are.
#[inline(always)]
pub(crate) fn kind_of(function: FunctionId) -> u64 {
    match KINDS[function as usize].load(Relaxed) {
        0 => number(function),
        kind => kind.into(),
    }
}

#[cold]
#[inline(never)]
fn number(function: FunctionId) -> u64 {
    // Two threads that come at once take a number each, and the file defines both.
    let number = NUMBERED.fetch_add(1, Relaxed);
    store::define(define::FUNCTION, &[number.into()], function.name());
    let kind = CALL as u16 + number;
    let _ = KINDS[function as usize].compare_exchange(0, kind, AcqRel, Acquire);
    kind.into()
}

/// How many communicators a process tells apart.
const COMMUNICATORS: u32 = 4096;

/// By communicator: is it defined in the file, or need not be?
static DEFINED: [AtomicBool; COMMUNICATORS as usize] = {
    let mut defined = [const { AtomicBool::new(false) }; COMMUNICATORS as usize];
    defined[TrackedComm::NONE.number() as usize] = AtomicBool::new(true);
    defined
};

/// The number of a communicator: 0 of none, 4096 of all that are not known.
#[inline(always)]
pub(crate) fn of_communicator(comm: TrackedComm) -> u64 {
    let number = comm.number();
    let Some(defined) = DEFINED.get(number as usize) else { return COMMUNICATORS.into() };
    if !defined.load(Relaxed) {
        define(comm);
    }
    number.into()
}

/// Does the number of a communicator mean this one only?
pub(crate) fn is_told_apart(number: u64) -> bool {
    number != u64::from(TrackedComm::NONE.number()) && number < u64::from(COMMUNICATORS)
}

/// The communicator has got a name.
#[cold]
pub(crate) fn renamed(comm: TrackedComm) {
    if comm.known().is_some() {
        define(comm);
    }
}

#[cold]
#[inline(never)]
fn define(comm: TrackedComm) {
    let Some(known) = comm.known() else { return };
    let number = comm.number();
    let [own, other] = known.sizes.map(u64::from);
    // What is guessed must not be taken for another rank's: messages would be paired wrongly.
    let guess = world_position().map_or(u64::MAX, |(rank, _)| u64::from(rank) + 1);
    let own_only = if known.is_certain() { 0 } else { guess.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
    let numbers = [number.into(), known.identity ^ own_only, own, other];
    let defined = store::define(define::COMMUNICATOR, &numbers, known.name);
    if defined && let Some(place) = DEFINED.get(number as usize) {
        place.store(true, Relaxed);
    }
}
