//! Numbers of functions and of communicators in the file, which defines each when it is used for the first time.

use core::sync::atomic::{
    AtomicU16, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};

use mpi_facts::trace::define;
use mpi_tool_layer::{FunctionId, TrackedComm};

use crate::store;

/// By function: its number plus 1, or 0 as long as it has none. The first functions that a program calls get small numbers,
/// which are short.
static FUNCTIONS: [AtomicU16; FunctionId::COUNT] = [const { AtomicU16::new(0) }; FunctionId::COUNT];

/// How many functions have a number.
static NUMBERED: AtomicU16 = AtomicU16::new(0);

/// The number of a function.
#[inline(always)]
pub(crate) fn of_function(function: FunctionId) -> u64 {
    match FUNCTIONS[function as usize].load(Relaxed) {
        0 => number(function),
        number => u64::from(number) - 1,
    }
}

#[cold]
#[inline(never)]
fn number(function: FunctionId) -> u64 {
    // Two threads that come at once take a number each, and the file defines both.
    let number = NUMBERED.fetch_add(1, Relaxed);
    store::define(define::FUNCTION, &[number.into()], function.name());
    let _ = FUNCTIONS[function as usize].compare_exchange(0, number + 1, AcqRel, Acquire);
    number.into()
}

/// How many communicators a process tells apart.
const COMMUNICATORS: u32 = 4096;

/// By communicator, a bit: it is defined in the file.
static DEFINED: [AtomicU64; COMMUNICATORS as usize / 64] =
    [const { AtomicU64::new(0) }; COMMUNICATORS as usize / 64];

/// The number of a communicator: 0 of none, 4096 of all that are not known.
#[inline(always)]
pub(crate) fn of_communicator(comm: TrackedComm) -> u64 {
    let number = comm.number();
    let Some(defined) = DEFINED.get(number as usize / 64) else { return COMMUNICATORS.into() };
    if defined.load(Relaxed) & 1 << (number % 64) == 0 && number != 0 {
        define(comm);
    }
    number.into()
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
    let numbers = [number.into(), known.identity, own, other];
    let defined = store::define(define::COMMUNICATOR, &numbers, known.name);
    if defined && let Some(word) = DEFINED.get(number as usize / 64) {
        word.fetch_or(1 << (number % 64), Relaxed);
    }
}
