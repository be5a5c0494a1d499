//! Call sites in the file: which places a site has, and in which modules they are.

use core::sync::atomic::{
    AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use mpi_facts::watch::{full, header, module, site, slot};
use mpi_tool_layer::{Caller, Clock, CodePlace, PythonPlace, Site, ThisThread, aside};

use crate::state::{Slot, Words, file};

/// Sites up to this number are in the file.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// How many places each has in the file.
static DEPTH: AtomicUsize = AtomicUsize::new(0);

/// One thread at a time adds sites.
static ADDING: Mutex<()> = Mutex::new(());

/// Tells how many places sites have.
pub(crate) fn set_depth(depth: usize) {
    DEPTH.store(depth, Relaxed);
}

/// Is it noted where calls come from?
pub(crate) fn has_sites() -> bool {
    DEPTH.load(Relaxed) != 0
}

/// Writes the site of the thread's call to its slot, and its places to the file if they are not there.
#[inline(always)]
pub(crate) fn note(slot: &'static Slot) {
    match Site::at_once(ThisThread::get()) {
        // Its places are in the file.
        Some(site) => slot.set(slot::SITE, site.number().into()),
        None => {
            aside!(note_slowly, slot);
        }
    }
}

/// Writes site and time where that is another clock's than the cycle counter's.
#[inline(always)]
pub(crate) fn note_by_other_clock(slot: &'static Slot) {
    aside!(note_all_slowly, slot);
}

extern "C" fn note_all_slowly(slot: &'static Slot) -> u64 {
    if DEPTH.load(Relaxed) != 0 {
        note_slowly(slot);
    }
    slot.set(slot::SINCE, Clock::now());
    0
}

/// The same, of a site that is not found at once, or not in the file.
extern "C" fn note_slowly(slot: &'static Slot) -> u64 {
    let caller = Caller::of_this_call();
    let site = caller.site(DEPTH.load(Relaxed));
    slot.set(slot::SITE, site.number().into());
    if site.number() > WRITTEN.load(Acquire) {
        add(slot, site);
        // Where there was no room, each call of the site writes its places to the slot.
        caller.set_slow(site.number() > WRITTEN.load(Acquire));
    } else {
        caller.set_slow(false);
    }
    0
}

/// A site that is not in the file: it and all before it are written there, or to the slot where there is no room.
#[cold]
fn add(slot: &Slot, wanted: Site) {
    let Some(file) = file() else { return };
    let depth = DEPTH.load(Relaxed);
    // Where the thread holds the lock itself, in a signal handler, the site waits for the next call.
    let Ok(_adding) = ADDING.try_lock() else { return };
    let first = WRITTEN.load(Acquire);
    for number in first + 1..=wanted.number().min(site::WORDS as u32) {
        let at = site::AREA + (number as usize - 1) * depth;
        if depth == 0 || at + depth > site::AREA + site::WORDS {
            break;
        }
        let places = Site::from_number(number).places();
        for place in 0..depth {
            file.set(at + place, places.get(place).map_or(0, |place| packed(file, place)));
        }
        WRITTEN.store(number, Release);
        file.set(header::SITES, number.into());
    }
    let places = wanted.places();
    for place in 0..Site::DEEPEST {
        let packed = places.get(place).map_or(0, |place| packed(file, place));
        slot.set(slot::PLACES + place, packed);
    }
}

/// What the file has of a place's module. The end of a path tells what it is, but what Python has begins with its function: of a long one,
/// only the file's name is kept, and `None` if that is too long, too.
fn text_of(place: &CodePlace) -> Option<Cow<'static, str>> {
    let most = module::PATH_WORDS * 8 - 1;
    let whole = place.file();
    match place.python() {
        Some(python) if whole.len() > most => {
            let file = python.file.rsplit('/').next().unwrap_or("");
            let short = PythonPlace { file, ..python }.joined();
            (short.len() <= most).then_some(Cow::Owned(short))
        }
        _ => Some(Cow::Borrowed(whole)),
    }
}

/// A place as a word: its module's number plus 1, and the offset.
fn packed(file: &Words, place: &CodePlace) -> u64 {
    /// The paths of the modules in the file.
    static MODULES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = modules.iter().position(|path| *path == place.file());
    let number = known.or_else(|| {
        let number = modules.len();
        if number == module::COUNT {
            file.mark_full(full::MODULES);
            return None;
        }
        let at = module::AREA + number * module::LENGTH;
        let text = text_of(place)?;
        file.set_text(at + module::PATH, module::PATH_WORDS, text.as_bytes(), true);
        let id = place.build_id();
        file.set(at + module::ID_LENGTH, id.len() as u64);
        for (word, bytes) in id.chunks(8).take(module::ID_WORDS).enumerate() {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            file.set(at + module::ID + word, u64::from_le_bytes(padded));
        }
        modules.push(place.file());
        file.set(header::MODULES, modules.len() as u64);
        Some(number)
    });
    number.map_or(0, |number| (number as u64 + 1) << site::MODULE_SHIFT | place.offset())
}
