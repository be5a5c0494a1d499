//! Finds out where a call comes from whose site its thread does not know: unwinds the stack.

use core::cell::Cell;
use core::sync::atomic::Ordering::{Relaxed, Release};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use framehop::{FrameAddress, Unwinder as _};
use mpi_tool_python::{Stack, is_installed, joined};

use super::cache::{Follow, Found, MOST};
use super::modules::{Modules, Role};
use super::python::Python;
use super::stack::OwnStack;
use super::{Caller, CodePlace, File, PLACES, Site};
use crate::arch;
use crate::counters::memory;
use crate::host::linker::{Scope, clear_message, find};

/// What is asked when a thread calls from a place for the first time.
struct Search {
    modules: Modules,
    rules: arch::Rules,
    /// The interpreter of Python, if there is one whose functions are wanted, since objects were loaded last.
    python: Option<Python>,
    /// What stands for files of functions of Python.
    functions: HashMap<String, &'static File>,
    /// The sites, by files and offsets of their places.
    known: HashMap<Vec<(*const File, u64)>, u32>,
    /// The number of the next site.
    next: u32,
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
pub(super) fn new_site(caller: Caller, returns_to: u64, depth: usize) -> Found {
    let unknown = Found { site: Site::UNKNOWN.0, is_of_mpi: false };
    // On a stack that is not aligned, nothing can be unwound.
    if !caller.stack.is_multiple_of(8) {
        return unknown;
    }
    static SEARCH: Mutex<(Option<OwnStack>, Option<Search>)> = Mutex::new((None, None));
    // A thread that is about to end has no such variable any more.
    if SEARCHING.try_with(|searching| searching.replace(true)).unwrap_or(true) {
        return unknown;
    }
    let mut search = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    let (stack, search) = &mut *search;
    if stack.is_none() {
        *stack = OwnStack::new();
    }
    let mut look = || {
        let search = search.get_or_insert_with(|| Search {
            modules: Modules::new(),
            rules: arch::Rules::new(),
            python: None,
            functions: HashMap::new(),
            known: HashMap::new(),
            next: 1,
        });
        search.site(caller, returns_to, depth.min(Site::DEEPEST))
    };
    let site = match stack {
        Some(stack) => stack.run(look),
        None => look(),
    };
    let _ = SEARCHING.try_with(|searching| searching.set(false));
    site
}

impl Search {
    /// The site of a call, of which the thread's cache knows nothing: unwinds the stack, and tells the cache.
    fn site(&mut self, caller: Caller, returns_to: u64, depth: usize) -> Found {
        if self.modules.update() && self.python.is_none() {
            self.python = Python::find();
        }
        let cache = memory::make_kit().map(|memory| &memory.sites);
        // The bounds of the thread's stack do not change, and are kept with what is on it.
        let stack = cache.map_or([0; 2], |cache| {
            let keep = |bounds: [u64; 2]| {
                cache.stack.iter().zip(bounds).for_each(|(kept, bound)| kept.store(bound, Relaxed));
                bounds
            };
            let stack = caller.stack as u64;
            let [begin, end] = cache.stack.each_ref().map(|bound| bound.load(Relaxed));
            // Deeper than what was found out quickly, or elsewhere.
            let is_known = end != 0 && (begin <= stack || end - begin != NEAR);
            if is_known {
                [begin, end]
            } else {
                let near = end_of_first_stack().and_then(|end| near(end, stack));
                keep(near.unwrap_or_else(stack_of_this_thread))
            }
        });
        let mut frames = Frames::new(caller.stack as u64, returns_to);
        if (stack[0]..stack[1]).contains(&(caller.stack as u64)) {
            self.unwind(&mut frames, caller, depth, stack[1]);
        }
        let first = self.first_of_application(&frames);
        let is_of_mpi = self.is_of_mpi(&frames);
        let from = first.unwrap_or(0);
        // What MPI has called back is called by MPI: what is in between is passed over there, too.
        let visible: Vec<_> = frames.0[from..]
            .iter()
            .filter(|frame| first.is_none() || !self.is_between(frame))
            .copied()
            .collect();
        let own = self.own_frame(&visible).filter(|own| *own >= depth);
        // The library's first frames, and the one that has called it, in place of those between.
        let kept = own.map_or(&[][..], |own| &visible[own..=own]);
        let shown = own.map_or(visible.len().min(depth), |_| (depth - 1).max(1));
        let mut places: Vec<_> = visible[..shown]
            .iter()
            .chain(kept)
            .filter_map(|[_, address]| {
                // The instruction behind a call may be another line's, or another function's.
                let at = address.wrapping_sub(1);
                let object = self.modules.of(at)?;
                let role = if self.modules.is_entry(at) { Role::Start } else { object.role };
                let offset = at.wrapping_sub(object.base);
                Some((role, *address, CodePlace { file: object.file, offset }))
            })
            .collect();
        while places.len() > 1 && places.last().is_some_and(|(role, ..)| *role == Role::Start) {
            places.pop();
        }
        let places: Vec<_> =
            places.into_iter().map(|(_, address, place)| (address, place)).collect();
        // What MPI does by itself is not of Python.
        let python = self.python.as_ref().filter(|_| first.is_some());
        let follow = python.map(|_| match cache {
            Some(cache) => cache.follows(frames.0[from]),
            // Nothing is known again: it would be read for each call.
            None => Follow::Others,
        });
        let read = python.filter(|_| follow == Some(Follow::Yes));
        let read = read.map(|python| python.stack(depth));
        let site = match &read {
            Some(Ok((stack, _))) => self.with_python(&places, stack, depth),
            _ if follow == Some(Follow::Others) => self.with_others(&places, depth),
            // The interpreter's functions of C are what is known.
            _ => Some(places.into_iter().map(|(_, place)| place).collect()),
        };
        let site = site.map_or(Site::OTHERS, |places| self.number_of(places));
        if let Some(cache) = cache {
            if first.is_none() && is_of_mpi {
                cache.insert_of_mpi(frames.0[0], &frames.0[1..], site.0);
            } else {
                let call = frames.0[from];
                // As many as an entry has, and the one that the site names.
                let most = frames.0.len().min(from + MOST + own.map_or(1, |_| 0));
                let callers: Vec<_> =
                    frames.0[from + 1..most].iter().chain(kept).copied().collect();
                let callers = &callers[..];
                match follow {
                    None => cache.insert(call, callers, site.0),
                    Some(Follow::Yes) => {
                        let trail = read.and_then(Result::ok).map(|(_, trail)| trail);
                        cache.insert_python(call, callers, site.0, trail);
                    }
                    Some(Follow::NotNow) => {}
                    Some(Follow::Others | Follow::Unknown) => {
                        cache.insert_instead(call, callers, site.0);
                    }
                }
            }
            if from > 0 {
                let above = frames.0[from][0];
                cache.insert_through(frames.0[0], &frames.0[1..from], above, is_of_mpi);
            }
        }
        Found { site: site.0, is_of_mpi }
    }

    /// The places of a call with the functions of Python in them: behind the application's own functions of C that these have called. Functions of
    /// installed libraries and of the interpreter are left out.
    ///
    /// `None` if there is no room for more sites, and so none for more functions.
    fn with_python(
        &mut self,
        places: &[(u64, CodePlace)],
        stack: &Stack,
        depth: usize,
    ) -> Option<Vec<CodePlace>> {
        let Some(python) = self.python.as_ref().filter(|_| !stack.frames.is_empty()) else {
            return Some(places.iter().map(|(_, place)| *place).collect());
        };
        let mut all: Vec<CodePlace> = places
            .iter()
            .take_while(|(address, _)| !python.addresses.contains(address))
            .map(|(_, place)| *place)
            .filter(|place| !is_installed(&place.file.path))
            .collect();
        for frame in &stack.frames {
            let file = self.function(joined(&frame.function, &frame.file))?;
            all.push(CodePlace { file, offset: frame.line.unwrap_or(0).into() });
        }
        all.truncate(depth);
        Some(all)
    }

    /// The places of a call from one of too many functions of Python: it says so, and where it comes from in C.
    fn with_others(&mut self, places: &[(u64, CodePlace)], depth: usize) -> Option<Vec<CodePlace>> {
        let others = CodePlace { file: self.function(joined("<others>", "<python>"))?, offset: 0 };
        let places = places.iter().map(|(_, place)| *place);
        Some(core::iter::once(others).chain(places).take(depth).collect())
    }

    /// What stands for the file of a function of Python.
    fn function(&mut self, path: String) -> Option<&'static File> {
        if let Some(file) = self.functions.get(&path) {
            return Some(file);
        }
        if !self.has_room() {
            return None;
        }
        let file: &File = Box::leak(Box::new(File {
            path: path.clone(),
            build_id: Vec::new(),
            is_library: false,
        }));
        self.functions.insert(path, file);
        Some(file)
    }

    fn has_room(&self) -> bool {
        (self.next as usize) < PLACES.len()
    }

    /// Does MPI's own library make the call, perhaps through other tools?
    fn is_of_mpi(&self, frames: &Frames) -> bool {
        let mut roles = frames
            .0
            .iter()
            .map(|[_, address]| self.modules.of(address.wrapping_sub(1)).map(|object| object.role));
        roles.find(|role| *role != Some(Role::Tool)) == Some(Some(Role::Mpi))
    }

    /// Adds the callers, until there are as many of the application's as are wanted. Nothing is read from
    /// `end` on.
    fn unwind(&mut self, frames: &mut Frames, caller: Caller, depth: usize, end: u64) {
        let mut registers =
            arch::registers(frames.0[0][1], caller.stack as u64, caller.frame as u64);
        let mut read = |address: u64| {
            let is_inside =
                address >= caller.stack as u64 && address <= end - 8 && address.is_multiple_of(8);
            // SAFETY: an aligned word must be there: it is in this thread's stack, above the frame of the call, which has not
            // returned.
            if is_inside { Ok(unsafe { *(address as *const u64) }) } else { Err(()) }
        };
        let mut address = frames.0[0][1];
        let is_enough = |this: &Self, frames: &Frames| {
            let first = this.first_of_application(frames);
            frames.0.len() > MOST
                || first.is_some_and(|first| {
                    frames.0[first..].iter().filter(|frame| !this.is_between(frame)).count()
                        >= depth
                })
        };
        while !is_enough(self, frames) || self.is_in_library(frames) {
            let Some(frame) = FrameAddress::from_return_address(address) else { return };
            let (unwinder, before) = (&self.modules.unwinder, registers);
            match unwinder.unwind_frame(frame, &mut registers, &mut self.rules, &mut read) {
                Ok(Some(next)) => {
                    let place = arch::place_of_return_address(&before, &registers, next, &mut read);
                    let Some(at) = place else { return };
                    let above = frames.0.last().map_or(0, |[place, _]| *place);
                    if at <= above || self.modules.of(next).is_none() {
                        return;
                    }
                    frames.0.push([at, next]);
                    address = next;
                }
                _ => return,
            }
        }
    }

    /// Are all frames of an installed library's, so far, that has been called by one of the program's? In Python, what has called it is
    /// no frame of C's.
    fn is_in_library(&self, frames: &Frames) -> bool {
        self.python.is_none()
            && frames.0.len() < DEEPEST_LIBRARY
            && self.first_of_application(frames).is_some_and(|first| {
                frames.0[first..].iter().all(|frame| self.is_of_library(frame))
            })
    }

    /// Is a frame a library's, or the C library's, which may call it back?
    fn is_of_library(&self, [_, address]: &[u64; 2]) -> bool {
        let object = self.modules.of(address.wrapping_sub(1));
        object.is_some_and(|object| matches!(object.role, Role::Library | Role::Start))
    }

    /// The first frame of the program's own code.
    fn own_frame(&self, frames: &[[u64; 2]]) -> Option<usize> {
        frames.iter().position(|frame| !self.is_of_library(frame))
    }

    /// The first frame that is neither a tool's nor MPI's.
    fn first_of_application(&self, frames: &Frames) -> Option<usize> {
        frames.0.iter().position(|frame| !self.is_between(frame))
    }

    /// Is a frame a tool's or MPI's, which is passed over? In a function that MPI has called, such as an error handler, there are
    /// such frames also behind the application's first ones.
    fn is_between(&self, [_, address]: &[u64; 2]) -> bool {
        let object = self.modules.of(address.wrapping_sub(1));
        object.is_some_and(|object| object.role.is_between())
    }

    /// The number of a site, which gets one if it is new.
    fn number_of(&mut self, places: Vec<CodePlace>) -> Site {
        if places.is_empty() {
            return Site::UNKNOWN;
        }
        let key: Vec<_> =
            places.iter().map(|place| (core::ptr::from_ref(place.file), place.offset)).collect();
        if let Some(number) = self.known.get(&key) {
            return Site(*number);
        }
        // Nothing is kept of those for which there is no room.
        let Some(slot) = PLACES.get(self.next as usize) else { return Site::OTHERS };
        slot.store(Box::leak(Box::new(places.into_boxed_slice())), Release);
        self.known.insert(key, self.next);
        self.next += 1;
        Site(self.next - 1)
    }
}

/// So many frames of a library are looked through for what has called it.
const DEEPEST_LIBRARY: usize = 64;

/// Return addresses of the call and its callers, each with its place on the stack.
struct Frames(Vec<[u64; 2]>);

impl Frames {
    fn new(stack: u64, returns_to: u64) -> Self {
        let mut frames = Vec::with_capacity(MOST + 1);
        frames.push([stack, returns_to]);
        Self(frames)
    }
}

/// So much of the first thread's stack, from its end, is its own for certain: the kernel maps nothing there, unless the stack's
/// limit is less.
const NEAR: u64 = 4 << 20;

/// Bounds within which a part of the first thread's stack is that has an address, if it is near the stack's end.
fn near(end: u64, address: u64) -> Option<[u64; 2]> {
    let begin = end.checked_sub(NEAR)?;
    (begin..end).contains(&address).then_some([begin, end])
}

/// Where the first thread's stack ends, if this is the first thread, and the stack may have [`NEAR`] bytes. The C library's own
/// answer would read `/proc/self/maps`, which takes longer than all else at the start.
fn end_of_first_stack() -> Option<u64> {
    // SAFETY: both take nothing and always succeed.
    if unsafe { libc::gettid() != libc::getpid() } {
        return None;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `getrlimit` writes the structure that it is given.
    let code = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    if code != 0 || limit.rlim_cur < NEAR {
        return None;
    }
    // Other C libraries do not have it.
    let end = find(Scope::Default, c"__libc_stack_end").cast::<u64>();
    if end.is_null() {
        clear_message();
        return None;
    }
    // SAFETY: a word must be there: glibc's symbol of this name, which no program may have for something else, is a pointer to
    // where the stack was when the process began.
    Some(unsafe { end.read() }).filter(|end| *end != 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is near the end is the stack's, and what is elsewhere is left to the C library.
    #[test]
    fn only_what_is_near_the_end_is_taken_for_the_stack() {
        let end = 0x7fff_0000_0000;
        assert_eq!(near(end, end - 8), Some([end - NEAR, end]));
        assert_eq!(near(end, end - NEAR), Some([end - NEAR, end]));
        for elsewhere in [end, end + 8, end - NEAR - 8, 0] {
            assert_eq!(near(end, elsewhere), None);
        }
        assert_eq!(near(NEAR - 1, 8), None);
    }

    /// The first thread's stack ends in the part of the memory that the kernel calls the stack; other threads have others.
    #[test]
    fn the_first_stack_ends_in_the_stack() {
        let found = find(Scope::Default, c"__libc_stack_end").cast::<u64>();
        assert!(!found.is_null());
        // SAFETY: as in `end_of_first_stack`.
        let end = unsafe { found.read() };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let stack = maps.lines().find(|line| line.ends_with("[stack]")).unwrap();
        let (begin, rest) = stack.split_once('-').unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let last = number(rest.split_once(' ').unwrap().0);
        assert!((number(begin)..last).contains(&end));
        std::thread::spawn(|| assert_eq!(end_of_first_stack(), None)).join().unwrap();
    }
}
