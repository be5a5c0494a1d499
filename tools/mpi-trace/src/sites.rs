//! Call sites, if the user wants them: each has a number in the file, which defines its places.

use core::sync::atomic::{
    AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::Mutex;

use mpi_facts::trace::define;
use mpi_tool_layer::{Caller, CodePlace, Site};

use crate::store;

/// How many places a site has; 0 if nobody wants to know sites.
static DEPTH: AtomicUsize = AtomicUsize::new(0);

/// Sites up to this number are in the file.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// The paths of the programs and libraries in the file. One thread at a time adds to what is there.
static MODULES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Tells how many places sites have.
pub(crate) fn set_depth(depth: usize) {
    DEPTH.store(depth, Relaxed);
    Caller::skip_caller_capture(depth == 0);
}

/// How many places sites have.
pub(crate) fn depth() -> usize {
    DEPTH.load(Relaxed)
}

/// The number of the site of this thread's call, 0 if nobody wants to know it. To be asked before the call is passed on.
#[inline(always)]
pub(crate) fn of_this_call() -> u32 {
    if depth() == 0 { 0 } else { number(Caller::of_this_call()) }
}

#[inline(never)]
fn number(caller: Caller) -> u32 {
    let site = caller.site(depth());
    let number = site.number();
    if number > WRITTEN.load(Acquire) {
        add(number);
    }
    // Calls from all places for which there was no room have none.
    if number > WRITTEN.load(Acquire) { 0 } else { number }
}

/// Writes all sites up to this one that are not in the file.
#[cold]
fn add(last: u32) {
    // Where the thread holds the lock itself, in a signal handler, the site waits for the next call.
    let Ok(mut modules) = MODULES.try_lock() else { return };
    for number in WRITTEN.load(Acquire) + 1..=last {
        let places = Site::from_number(number).places();
        if places.is_empty() {
            return;
        }
        let mut numbers = [0; 1 + 2 * Site::DEEPEST];
        numbers[0] = number.into();
        let mut used = 1;
        for place in places.iter().take(Site::DEEPEST) {
            let module = module(&mut modules, place);
            numbers[used..used + 2].copy_from_slice(&[module, place.offset()]);
            used += 2;
        }
        if !store::define(define::SITE, &numbers[..used], "") {
            return;
        }
        WRITTEN.store(number, Release);
    }
}

/// The number of a place's program or library.
fn module(modules: &mut Vec<&'static str>, place: &CodePlace) -> u64 {
    let path = place.file();
    if let Some(known) = modules.iter().position(|known| *known == path) {
        return known as u64;
    }
    let number = modules.len() as u64;
    let mut rest = path;
    while !rest.is_empty() {
        let piece = store::first_piece(rest);
        store::define(define::MODULE, &[number], piece);
        rest = &rest[piece.len()..];
    }
    let id: String = place.build_id().iter().map(|byte| format!("{byte:02x}")).collect();
    store::define(define::BUILD_ID, &[number], &id);
    modules.push(path);
    number
}
