//! Finds out where a call comes from whose site its thread does not know: unwinds the stack.

use core::cell::Cell;
use core::sync::atomic::{
    AtomicU32,
    Ordering::{Relaxed, Release},
};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};
use framehop::{FrameAddress, Unwinder as _};

use super::cache::MOST;
use super::modules::{Modules, Role};
use super::{Caller, CodePlace, File, PLACES, Site};
use crate::counters::memory;

/// What is asked when a thread calls from a place for the first time.
struct Search {
    modules: Modules,
    rules: CacheX86_64,
    /// The sites, by files and offsets of their places.
    known: HashMap<Vec<(*const File, u64)>, u32>,
}

// SAFETY: a value must be usable in other threads. Its pointers are compared only.
unsafe impl Send for Search {}

std::thread_local! {
    /// This thread is in `new_site`: a signal handler's call must not wait for it.
    static SEARCHING: Cell<bool> = const { Cell::new(false) };
}

/// Finds out where a call comes from.
#[cold]
#[inline(never)]
pub(super) fn new_site(caller: Caller, returns_to: u64, depth: usize) -> Site {
    // On a stack that is not aligned, nothing can be unwound.
    if !caller.stack.is_multiple_of(8) {
        return Site::UNKNOWN;
    }
    static SEARCH: Mutex<Option<Search>> = Mutex::new(None);
    // A thread that is about to end has no such variable any more.
    if SEARCHING.try_with(|searching| searching.replace(true)).unwrap_or(true) {
        return Site::UNKNOWN;
    }
    let mut search = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    let search = search.get_or_insert_with(|| Search {
        modules: Modules::new(),
        rules: CacheX86_64::new(),
        known: HashMap::new(),
    });
    let site = search.site(caller, returns_to, depth.min(Site::DEEPEST));
    let _ = SEARCHING.try_with(|searching| searching.set(false));
    site
}

impl Search {
    /// The site of a call, of which the thread's cache knows nothing: unwinds the stack, and tells the cache.
    fn site(&mut self, caller: Caller, returns_to: u64, depth: usize) -> Site {
        self.modules.update();
        let cache = memory::make_kit().map(|memory| &memory.sites);
        // The bounds of the thread's stack do not change, and are kept with what is on it.
        let stack = cache.map_or([0; 2], |cache| {
            if cache.stack[1].load(Relaxed) == 0 {
                let bounds = stack_of_this_thread();
                cache.stack.iter().zip(bounds).for_each(|(kept, bound)| kept.store(bound, Relaxed));
            }
            cache.stack.each_ref().map(|bound| bound.load(Relaxed))
        });
        let mut frames = Frames::new(caller.stack as u64, returns_to);
        if (stack[0]..stack[1]).contains(&(caller.stack as u64)) {
            self.unwind(&mut frames, caller, depth, stack[1]);
        }
        let from = self.first_of_application(&frames).unwrap_or(0);
        let mut places: Vec<_> = frames.0[from..]
            .iter()
            .filter_map(|[_, address]| {
                // The instruction behind a call may be another line's, or another function's.
                let at = address.wrapping_sub(1);
                let object = self.modules.of(at)?;
                let role = if self.modules.is_entry(at) { Role::Start } else { object.role };
                Some((role, CodePlace { file: object.file, offset: at.wrapping_sub(object.base) }))
            })
            .collect();
        while places.len() > 1 && places.last().is_some_and(|(role, _)| *role == Role::Start) {
            places.pop();
        }
        let places: Vec<_> = places.into_iter().map(|(_, place)| place).collect();
        let site = self.number_of(places);
        if let Some(cache) = cache {
            cache.insert(frames.0[from], &frames.0[from + 1..], site.0);
            if from > 0 {
                cache.insert_through(frames.0[0], &frames.0[1..from], frames.0[from][0]);
            }
        }
        site
    }

    /// Adds the callers, until there are as many of the application's as are wanted. Nothing is read from
    /// `end` on.
    fn unwind(&mut self, frames: &mut Frames, caller: Caller, depth: usize, end: u64) {
        let mut registers =
            UnwindRegsX86_64::new(frames.0[0][1], caller.stack as u64 + 8, caller.frame as u64);
        let mut read = |address: u64| {
            let is_inside =
                address >= caller.stack as u64 && address <= end - 8 && address.is_multiple_of(8);
            // SAFETY: an aligned word must be there: it is in this thread's stack, above the frame that this
            // code runs in.
            if is_inside { Ok(unsafe { *(address as *const u64) }) } else { Err(()) }
        };
        let mut address = frames.0[0][1];
        let is_enough = |this: &Self, frames: &Frames| {
            let first = this.first_of_application(frames);
            frames.0.len() > MOST || first.is_some_and(|first| frames.0.len() >= first + depth)
        };
        while !is_enough(self, frames) {
            let Some(frame) = FrameAddress::from_return_address(address) else { return };
            let unwinder = &self.modules.unwinder;
            match unwinder.unwind_frame(frame, &mut registers, &mut self.rules, &mut read) {
                Ok(Some(next)) => {
                    // On x86-64 the return address is the word below the caller's stack.
                    let at = registers.sp().wrapping_sub(8);
                    let above = frames.0.last().map_or(0, |[place, _]| *place);
                    if at <= above || read(at) != Ok(next) || self.modules.of(next).is_none() {
                        return;
                    }
                    frames.0.push([at, next]);
                    address = next;
                }
                _ => return,
            }
        }
    }

    /// The first frame that is neither a tool's nor MPI's.
    fn first_of_application(&self, frames: &Frames) -> Option<usize> {
        let is_between = |[_, address]: &[u64; 2]| {
            let object = self.modules.of(address.wrapping_sub(1));
            object.is_some_and(|object| object.role == Role::Between)
        };
        frames.0.iter().position(|frame| !is_between(frame))
    }

    /// The number of a site, which gets one if it is new.
    fn number_of(&mut self, places: Vec<CodePlace>) -> Site {
        if places.is_empty() {
            return Site::UNKNOWN;
        }
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let key = places.iter().map(|place| (core::ptr::from_ref(place.file), place.offset));
        Site(*self.known.entry(key.collect()).or_insert_with(|| {
            let number = NEXT.load(Relaxed);
            let Some(slot) = PLACES.get(number as usize) else { return Site::OTHERS.0 };
            NEXT.store(number + 1, Relaxed);
            slot.store(Box::leak(Box::new(places.into_boxed_slice())), Release);
            number
        }))
    }
}

/// Return addresses of the call and its callers, each with its place on the stack.
struct Frames(Vec<[u64; 2]>);

impl Frames {
    fn new(stack: u64, returns_to: u64) -> Self {
        let mut frames = Vec::with_capacity(MOST + 1);
        frames.push([stack, returns_to]);
        Self(frames)
    }
}

/// Begin and end of this thread's stack; zeros if they are not known.
fn stack_of_this_thread() -> [u64; 2] {
    // SAFETY: the functions want this thread, which runs, and attributes: `pthread_getattr_np` makes them, and
    // they are read and freed only where it has. The address that comes out is not followed here.
    unsafe {
        let mut attributes = core::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return [0; 2];
        }
        let (mut start, mut length) = (core::ptr::null_mut(), 0);
        let result = libc::pthread_attr_getstack(&attributes, &mut start, &mut length);
        libc::pthread_attr_destroy(&mut attributes);
        if result != 0 {
            return [0; 2];
        }
        [start.addr() as u64, (start.addr() + length) as u64]
    }
}
