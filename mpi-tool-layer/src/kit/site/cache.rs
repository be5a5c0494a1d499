//! The call sites that a thread has called from before, by return address and stack pointer.
//!
//! The same return address at the same place of the stack does not make the same callers. So an entry has
//! the places on the stack where the callers' return addresses were, and what was there: a call is of this site
//! only if all of them are there still.
//!
//! The entry where a call's is most often is compared in each function's own code, with as many callers as a site has
//! by default; what is elsewhere, or has more callers, in a function of its own.

use core::mem::offset_of;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::{
    AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst, compiler_fence,
};

use super::trail::Trail;
use crate::arch;

/// How many return addresses an entry may have beside its own: the callers, and the frames of MPI's
/// libraries that are passed over.
pub(crate) const MOST: usize = 12;

/// How many of them are compared at once. An entry that has fewer has its own return address in their place, which is
/// where it should be as the entry is looked at for that.
const QUICK: usize = 3;

/// Entries that a return address and a stack pointer may have, for different callers.
const WAYS: usize = 4;
const ENTRIES: usize = 512;

/// An entry's further frames, if it is no site but leads on: the call came through a library of MPI's, from a place
/// on the stack.
const LEADS_ON: u32 = 1 << 31;

/// The same, if MPI's own library makes the call.
const OF_MPI: u32 = 1 << 30;

/// The same, if it is known only as long as the functions of Python are the same: the entry has a trail.
const PYTHON: u32 = 1 << 29;

/// Sites of calls that C cannot tell apart, as functions of Python that call each other take nothing of C's stack: by what tells them apart, in the
/// order in which they came.
#[derive(Default)]
struct Trails {
    all: Vec<(Trail, u32)>,
    /// The one that was found last: the next call is of the same functions most often, or of those that came next before.
    last: usize,
    /// How many calls there were whose functions could not be told.
    unknown: usize,
}

impl Trails {
    fn add(&mut self, trail: Trail, site: u32) {
        self.last = self.all.len();
        self.all.push((trail, site));
    }

    fn find(&mut self) -> Option<u32> {
        let (before, from) = self.all.split_at(self.last.min(self.all.len()));
        let at = from.iter().chain(before).position(|(trail, _)| trail.is_there())?;
        self.last = (self.last + at) % self.all.len();
        Some(self.all[self.last].1)
    }
}

/// So many trails an entry may have. A call that has none costs a thousand times as much as one that has: so an entry for which more come is
/// one of C's only from then on, and so is one for which functions could not be told so many times.
pub(crate) const MOST_TRAILS: usize = 128;
const MOST_UNKNOWN: usize = 16;

/// For so many calls of a thread functions are read, whatever entries they are of: entries are overwritten, and begin anew.
pub(crate) const MOST_READ: u32 = 4096;

/// Whether functions of Python are to be read for a call that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// They are.
    Yes,
    /// Not now: a signal handler's call has come while the thread looks at trails.
    NotNow,
    /// Not any more, for calls that C does not tell from this one; others before may have sites by them.
    Others,
    /// Not any more: they were never known.
    Unknown,
}

/// What the stack pointer of an entry has in addition that has further frames, that leads on, or that somebody wants to be
/// so: it is not found in a hurry. Stack pointers of calls are multiples of 8.
const MARK: u64 = 1;

/// A thread's cache. Only its thread uses it, and its signal handlers: all is atomic for their sake, and an
/// entry in the making has stack pointer 0, which no call has. Zeros are an empty cache.
#[derive(Debug)]
pub(crate) struct SiteCache {
    entries: [Entry; ENTRIES],
    /// How many entries have been made: it says which one of several is overwritten next.
    made: AtomicU64,
    /// How many calls were found elsewhere than where they are looked for at once.
    elsewhere: AtomicU32,
    /// Trails are being looked at, or entries moved: a signal handler's call must do neither, nor write entries.
    following: AtomicU32,
    /// For how many calls functions of Python were read.
    read: AtomicU32,
    /// The bounds of the thread's stack, once they are known.
    pub(super) stack: [AtomicU64; 2],
}

/// In a power of two of bytes, so that an entry is found by a mask.
#[repr(C, align(256))]
#[derive(Debug)]
struct Entry {
    /// With [`MARK`], if there is more to the entry.
    stack: AtomicU64,
    returns_to: AtomicU64,
    /// The site's number.
    site: AtomicU32,
    /// How many frames there are beyond the [`QUICK`] ones, and [`LEADS_ON`]: 0 in most entries, which have no mark.
    further: AtomicU32,
    /// Where the application's call is on the stack, if the entry leads on.
    leads_to: AtomicU64,
    /// Places on the stack, all at `stack` or above and in the thread's stack, and what was there.
    frames: [[AtomicU64; 2]; MOST],
    /// Of calls that come from Python, or might: the entry owns them.
    trails: AtomicPtr<Trails>,
}

impl SiteCache {
    /// The number of a caller's site, if it is known and its entry is where it is most often.
    ///
    /// # Safety
    /// A word can be read where the stack pointer leads.
    #[inline(always)]
    pub(crate) unsafe fn find(&self, stack: usize) -> Option<u32> {
        // SAFETY: a word can be read, as the caller says.
        let returns_to = unsafe { arch::returns_to(stack) };
        let entry = &self.entries[place(stack, returns_to)];
        // `Entry::is_of`, of an entry without further frames, as others are [marked](MARK).
        // SAFETY: the entry has these places, of three frames; a word can be read where the stack pointer leads, as the caller says,
        // and where the frames are, for which `is_there` gives the reason, once stack pointer and return address are the entry's.
        let is_it = unsafe {
            arch::is_call::<
                { offset_of!(Entry, stack) },
                { offset_of!(Entry, returns_to) },
                { offset_of!(Entry, frames) },
            >(core::ptr::from_ref(entry).cast(), stack)
        };
        if !is_it {
            return None;
        }
        Some(entry.site.load(Relaxed))
    }

    /// The same, of what is elsewhere, has more callers, or came through a library of MPI's.
    pub(crate) fn find_slowly(&self, stack: usize, returns_to: u64) -> Option<Found> {
        let (entry, site) = self.entry(stack, returns_to)?;
        let further = entry.further.load(Relaxed);
        let is_of_mpi = further & OF_MPI != 0;
        if further & LEADS_ON == 0 {
            if further == 0 {
                self.bring_forward(entry, stack, returns_to);
            }
            return Some(Found { site, is_of_mpi });
        }
        let at = entry.leads_to.load(Relaxed) as usize;
        // SAFETY: an aligned word must be there. As the entry's frames, the place was on this thread's stack when the
        // entry was made, above the stack pointer, and is so again.
        let returns_to = unsafe { arch::return_address_at(with_exposed_provenance(at)) };
        let (entry, site) = self.entry(at, returns_to)?;
        let is_site = entry.further.load(Relaxed) & LEADS_ON == 0;
        is_site.then_some(Found { site, is_of_mpi })
    }

    /// Where several callers share the place at which a call is looked for at once, the one that calls often is to be there: one
    /// call in sixteen that are found elsewhere makes room for its caller.
    fn bring_forward(&self, entry: &Entry, stack: usize, returns_to: u64) {
        let first = &self.entries[place(stack, returns_to)];
        if core::ptr::eq(first, entry) || self.elsewhere.fetch_add(1, Relaxed) % 16 != 15 {
            return;
        }
        // Who wrote to them in between would free trails that are about to come back.
        if self.following.swap(1, Relaxed) != 0 {
            return;
        }
        compiler_fence(SeqCst);
        let (ours, theirs) = (entry.content(), first.content());
        // A signal handler of this thread finds the entries as they were, or none, or as they are to be, and writes none.
        entry.stack.store(0, Relaxed);
        first.stack.store(0, Relaxed);
        compiler_fence(SeqCst);
        entry.fill(&theirs);
        first.fill(&ours);
        compiler_fence(SeqCst);
        self.following.store(0, Relaxed);
    }

    /// From now on a caller's site is found slowly only; or at once again, if it ever is.
    pub(crate) fn set_slow(&self, stack: usize, returns_to: u64, is_slow: bool) {
        if let Some((entry, _)) = self.entry(stack, returns_to) {
            let is_marked = is_slow || entry.further.load(Relaxed) != 0;
            entry.stack.store(stack as u64 | if is_marked { MARK } else { 0 }, Relaxed);
        }
    }

    /// The entry of a caller, and its site.
    fn entry(&self, stack: usize, returns_to: u64) -> Option<(&Entry, u32)> {
        let site = |entry| Some((entry, self.site_of(entry)?));
        self.all_of(stack, returns_to).find_map(site)
    }

    /// The entries of a caller, as far as C tells: several, if they have different numbers of frames.
    fn all_of(&self, stack: usize, returns_to: u64) -> impl Iterator<Item = &Entry> {
        let is_it = move |entry: &&Entry| entry.is_of(stack, returns_to) && entry.is_of_further();
        self.ways(stack, returns_to).filter(is_it)
    }

    /// The site of an entry, if it is not known only by functions of Python; else the one to which they lead.
    fn site_of(&self, entry: &Entry) -> Option<u32> {
        if entry.further.load(Relaxed) & PYTHON == 0 {
            return Some(entry.site.load(Relaxed));
        }
        self.with_trails(entry, Trails::find)
    }

    /// Has a function look at an entry's trails; not in a signal handler whose call has come while that was being done.
    fn with_trails(
        &self,
        entry: &Entry,
        look: impl FnOnce(&mut Trails) -> Option<u32>,
    ) -> Option<u32> {
        if self.following.load(Relaxed) != 0 {
            return None;
        }
        self.following.store(1, Relaxed);
        compiler_fence(SeqCst);
        // SAFETY: the pointer must be null or of trails that nobody else uses: entries have such ones only, each its own, this thread alone uses them, and
        // as long as `following` says so, its signal handlers neither look at trails nor free them.
        let trails = unsafe { entry.trails.load(Relaxed).as_mut() };
        let result = trails.and_then(look);
        compiler_fence(SeqCst);
        self.following.store(0, Relaxed);
        result
    }

    /// The entries that may be a caller's, the first one first.
    fn ways(&self, stack: usize, returns_to: u64) -> impl Iterator<Item = &Entry> {
        let first = place(stack, returns_to);
        (0..WAYS).map(move |way| &self.entries[first ^ way])
    }

    /// Remembers the site of a call: by its place on the stack with its return address, and by those of
    /// its callers.
    pub(crate) fn insert(&self, call: [u64; 2], callers: &[[u64; 2]], site: u32) {
        self.write(call, callers, site, None, false);
    }

    /// Are functions of Python to be read for a call that is not known? Counts it as one for which they are.
    pub(crate) fn follows(&self, call: [u64; 2]) -> Follow {
        if self.following.load(Relaxed) != 0 {
            return Follow::NotNow;
        }
        let mut follow = Follow::Yes;
        if let Some(entry) = self.of_python(call) {
            self.with_trails(entry, |trails| {
                let is_known = !trails.all.is_empty();
                if trails.all.len() >= MOST_TRAILS || is_known && trails.unknown >= MOST_UNKNOWN {
                    follow = Follow::Others;
                } else if trails.unknown >= MOST_UNKNOWN {
                    follow = Follow::Unknown;
                }
                None
            });
        }
        if follow == Follow::Yes && self.read.load(Relaxed) >= MOST_READ {
            follow = Follow::Others;
        }
        if follow == Follow::Yes {
            self.read.fetch_add(1, Relaxed);
        }
        follow
    }

    /// The same of a call in a process with Python, whose site is this one only as long as a trail is there. Without a trail, it is not known
    /// again, but counted.
    pub(crate) fn insert_python(
        &self,
        call: [u64; 2],
        callers: &[[u64; 2]],
        site: u32,
        trail: Option<Trail>,
    ) {
        if self.following.load(Relaxed) != 0 {
            return;
        }
        let entry = self.of_python(call).or_else(|| {
            let entry = self.write(call, callers, 0, None, false)?;
            // Nobody finds it at once: without trails, it has no site.
            let stack = entry.stack.swap(0, Relaxed);
            compiler_fence(SeqCst);
            entry.further.fetch_or(PYTHON, Relaxed);
            entry.trails.store(Box::into_raw(Box::default()), Relaxed);
            compiler_fence(SeqCst);
            entry.stack.store(stack | MARK, Relaxed);
            Some(entry)
        });
        let Some(entry) = entry else { return };
        self.with_trails(entry, |trails| {
            match trail {
                Some(trail) => trails.add(trail, site),
                None => trails.unknown += 1,
            }
            None
        });
    }

    /// Functions of Python do not count any more for calls that C does not tell from this one: all have this site, and are found as other calls
    /// of C.
    pub(crate) fn insert_instead(&self, call: [u64; 2], callers: &[[u64; 2]], site: u32) {
        if self.following.load(Relaxed) != 0 {
            return;
        }
        if let Some(entry) = self.of_python(call) {
            entry.stack.store(0, Relaxed);
            compiler_fence(SeqCst);
            entry.drop_trails();
        }
        self.write(call, callers, site, None, false);
    }

    /// The entry of a call that has trails.
    fn of_python(&self, call: [u64; 2]) -> Option<&Entry> {
        self.all_of(call[0] as usize, call[1])
            .find(|entry| entry.further.load(Relaxed) & PYTHON != 0)
    }

    /// The same of a call that MPI's own library makes, and no code of the application's above it.
    pub(crate) fn insert_of_mpi(&self, call: [u64; 2], callers: &[[u64; 2]], site: u32) {
        self.write(call, callers, site, None, true);
    }

    /// Remembers that a call has come through a library: by the library's frames, and the place on the stack of
    /// the application's call, above these frames. `is_of_mpi`: MPI's own library makes the call.
    pub(crate) fn insert_through(
        &self,
        call: [u64; 2],
        library: &[[u64; 2]],
        at: u64,
        is_of_mpi: bool,
    ) {
        let leads_there = |entry: &Entry| {
            entry.further.load(Relaxed) & LEADS_ON != 0 && entry.leads_to.load(Relaxed) == at
        };
        // The application's call alone was new.
        if !self.all_of(call[0] as usize, call[1]).any(leads_there) {
            self.write(call, library, 0, Some(at), is_of_mpi);
        }
    }

    fn write(
        &self,
        call: [u64; 2],
        frames: &[[u64; 2]],
        site: u32,
        leads_to: Option<u64>,
        is_of_mpi: bool,
    ) -> Option<&Entry> {
        let (stack, returns_to) = (call[0] as usize, call[1]);
        // In a signal handler, whose call may have come while trails were looked at.
        if frames.len() > MOST || self.following.load(Relaxed) != 0 {
            return None;
        }
        let way = self.made.fetch_add(1, Relaxed) as usize % WAYS;
        let free = self.ways(stack, returns_to).find(|entry| entry.stack.load(Relaxed) == 0);
        let entry = free.or_else(|| self.ways(stack, returns_to).nth(way))?;
        entry.stack.store(0, Relaxed);
        // A signal handler of this thread finds the entry as it was, or none, or as it is to be.
        compiler_fence(SeqCst);
        entry.drop_trails();
        entry.returns_to.store(returns_to, Relaxed);
        entry.site.store(site, Relaxed);
        let further = frames.len().saturating_sub(QUICK) as u32;
        let further = further | leads_to.map_or(0, |_| LEADS_ON);
        let further = further | if is_of_mpi { OF_MPI } else { 0 };
        entry.further.store(further, Relaxed);
        entry.leads_to.store(leads_to.unwrap_or(0), Relaxed);
        let fill = arch::always_there(call);
        let fill = core::iter::repeat(&fill);
        for ([place, value], [at, was]) in entry.frames.iter().zip(frames.iter().chain(fill)) {
            place.store(*at, Relaxed);
            value.store(*was, Relaxed);
        }
        compiler_fence(SeqCst);
        let mark = if further == 0 { 0 } else { MARK };
        entry.stack.store(stack as u64 | mark, Relaxed);
        Some(entry)
    }

    /// Forgets all, when another thread takes the memory over.
    pub(crate) fn clear(&self) {
        if self.made.swap(0, Relaxed) == 0 {
            return;
        }
        for entry in &self.entries {
            entry.stack.store(0, Relaxed);
            entry.drop_trails();
        }
        self.read.store(0, Relaxed);
        self.stack.iter().for_each(|bound| bound.store(0, Relaxed));
    }
}

/// What is known of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The site's number.
    pub(crate) site: u32,
    /// MPI's own library makes the call.
    pub(crate) is_of_mpi: bool,
}

/// What is in an entry.
#[derive(Clone, Copy)]
struct Content {
    stack: u64,
    returns_to: u64,
    site: u32,
    further: u32,
    leads_to: u64,
    frames: [[u64; 2]; MOST],
    trails: *mut Trails,
}

impl Entry {
    fn content(&self) -> Content {
        Content {
            stack: self.stack.load(Relaxed),
            returns_to: self.returns_to.load(Relaxed),
            site: self.site.load(Relaxed),
            further: self.further.load(Relaxed),
            leads_to: self.leads_to.load(Relaxed),
            frames: self
                .frames
                .each_ref()
                .map(|frame| frame.each_ref().map(|word| word.load(Relaxed))),
            trails: self.trails.load(Relaxed),
        }
    }

    /// Of an entry of which nobody knows at the moment.
    fn drop_trails(&self) {
        let trails = self.trails.swap(core::ptr::null_mut(), Relaxed);
        if !trails.is_null() {
            // SAFETY: the pointer must be of a box that nobody else frees: `insert_python` has made it, entries swap them but do not share them, and this one has lost it now.
            drop(unsafe { Box::from_raw(trails) });
        }
    }

    /// Writes all of it to an entry of which nobody knows at the moment.
    fn fill(&self, content: &Content) {
        self.returns_to.store(content.returns_to, Relaxed);
        self.site.store(content.site, Relaxed);
        self.further.store(content.further, Relaxed);
        self.leads_to.store(content.leads_to, Relaxed);
        for (frame, [at, was]) in self.frames.iter().zip(&content.frames) {
            frame[0].store(*at, Relaxed);
            frame[1].store(*was, Relaxed);
        }
        self.trails.store(content.trails, Relaxed);
        compiler_fence(SeqCst);
        self.stack.store(content.stack, Relaxed);
    }

    /// Is it of this call, as far as the first callers tell?
    fn is_of(&self, stack: usize, returns_to: u64) -> bool {
        self.stack.load(Relaxed) & !MARK == stack as u64
            && self.returns_to.load(Relaxed) == returns_to
            && self.frames[..QUICK].iter().all(is_there)
    }

    /// The same of the others. Only of an entry of which [`is_of`](Self::is_of) says so.
    fn is_of_further(&self) -> bool {
        let further = (self.further.load(Relaxed) & !(LEADS_ON | OF_MPI | PYTHON)) as usize;
        self.frames[QUICK..].iter().take(further).all(is_there)
    }
}

/// Is what was at a place there still? Only for the frames of an entry whose call stands where it stood.
fn is_there([place, value]: &[AtomicU64; 2]) -> bool {
    let place = with_exposed_provenance::<u64>(place.load(Relaxed) as usize);
    // SAFETY: an aligned word must be there. The place was on this thread's stack when the entry was made, aligned and
    // not below the stack pointer of that time, which is where the call stands again. So it is on the part of the same
    // stack that is in use.
    unsafe { arch::return_address_at(place) == value.load(Relaxed) }
}

/// The entry of a caller where it is first looked for.
#[inline(always)]
fn place(stack: usize, returns_to: u64) -> usize {
    // Stacks of calls are multiples of 16, and what follows calls is anywhere.
    let mixed = returns_to.wrapping_mul(0x3779_b97f).wrapping_add(stack as u64 * 8);
    (mixed >> 8) as usize % ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As calls look, first at one place and then at the others: what is found at once is what is found slowly.
    fn find(cache: &SiteCache, stack: usize, returns_to: u64) -> Option<u32> {
        let known = cache.find_slowly(stack, returns_to).map(|found| found.site);
        let at_once = find_at_once(cache, stack, returns_to);
        assert!(at_once.is_none() || at_once == known, "{at_once:?} {known:?}");
        known
    }

    /// The call's return address may be another one than what stands where the stack pointer leads: so it is put there.
    fn find_at_once(cache: &SiteCache, stack: usize, returns_to: u64) -> Option<u32> {
        let place = with_exposed_provenance::<AtomicU64>(stack);
        // SAFETY: a word must be there: all calls of these tests are in the tests' own memory, which is used only by
        // them.
        unsafe {
            let was = (*place).swap(returns_to, Relaxed);
            let found = cache.find(stack);
            (*place).store(was, Relaxed);
            found
        }
    }

    fn empty() -> Box<SiteCache> {
        // SAFETY: zeros are an empty cache: all of it is atomic numbers.
        unsafe { Box::new_zeroed().assume_init() }
    }

    /// A stack in the test's own memory: words, of which each has an address.
    fn frame(stack: &[u64], at: usize) -> [u64; 2] {
        [(&raw const stack[at]).expose_provenance() as u64, stack[at]]
    }

    /// Calls with 0 to 12 callers: each is known as long as all its callers are there, and only then.
    #[test]
    fn a_site_is_known_by_all_its_callers() {
        let mut stack: Vec<u64> = (0..16).map(|word| 0x40_0000 + 7 * word).collect();
        for callers in 0..=MOST {
            let cache = empty();
            let call = frame(&stack, 0);
            let frames: Vec<_> = (1..=callers).map(|at| frame(&stack, at)).collect();
            cache.insert(call, &frames, 77);
            let known = |cache: &SiteCache| find(cache, call[0] as usize, call[1]);
            assert_eq!(known(&cache), Some(77), "{callers} callers");
            let at_once = find_at_once(&cache, call[0] as usize, call[1]);
            assert_eq!(at_once.is_some(), callers <= QUICK, "{callers} callers");
            (1..=callers).for_each(|other| {
                let was = core::mem::replace(&mut stack[other], 1);
                assert_eq!(known(&cache), None, "{callers} callers, another {other}");
                stack[other] = was;
            });
            stack[callers + 1] += 1;
            assert_eq!(known(&cache), Some(77), "what is beyond {callers} callers does not count");
            assert_eq!(find(&cache, call[0] as usize, call[1] + 1), None, "another return address");
            assert_eq!(find(&cache, call[0] as usize + 8, call[1]), None, "another place");
            cache.clear();
            assert_eq!(known(&cache), None);
        }
    }

    /// One place that is called from four others, in turn: all four are kept. Of more, those that came last are.
    #[test]
    fn a_place_has_several_callers() {
        let cache = empty();
        let mut stack = vec![0x1000_u64, 0, 0x3000];
        let call = frame(&stack, 0);
        for caller in 0..5 {
            stack[1] = 0x2000 + caller;
            let frames = [frame(&stack, 1), frame(&stack, 2)];
            cache.insert(call, &frames, 100 + caller as u32);
        }
        let known: Vec<_> = (0..5)
            .map(|caller| {
                stack[1] = 0x2000 + caller;
                find(&cache, call[0] as usize, call[1])
            })
            .collect();
        assert_eq!(known.iter().flatten().count(), WAYS, "{known:?}");
        assert_eq!(known[4], Some(104));
        for (caller, number) in known.into_iter().enumerate() {
            assert!(number.is_none_or(|number| number == 100 + caller as u32));
        }
    }

    /// Of callers that share a place, the one that calls again and again is found at once, and the others as before.
    #[test]
    fn who_calls_often_is_found_at_once() {
        let cache = empty();
        let mut stack = vec![0x1000_u64, 0, 0x3000];
        let call = frame(&stack, 0);
        let set = |stack: &mut Vec<u64>, caller: u64| stack[1] = 0x2000 + caller;
        for caller in 0..WAYS as u64 {
            set(&mut stack, caller);
            let frames = [frame(&stack, 1), frame(&stack, 2)];
            cache.insert(call, &frames, 100 + caller as u32);
        }
        for often in [3, 1, 0, 2] {
            set(&mut stack, often);
            let at_once = || find_at_once(&cache, call[0] as usize, call[1]);
            let turns = (0..100).take_while(|_| {
                assert_eq!(find(&cache, call[0] as usize, call[1]), Some(100 + often as u32));
                at_once().is_none()
            });
            assert!(turns.count() < 20);
            for caller in 0..WAYS as u64 {
                set(&mut stack, caller);
                let known = find(&cache, call[0] as usize, call[1]);
                assert_eq!(known, Some(100 + caller as u32));
            }
        }
    }

    /// A site that is not to be found at once is found slowly, until it may be found at once again.
    #[test]
    fn a_site_may_be_found_slowly_only() {
        let stack: Vec<u64> = (1..=6).map(|word| 0x1000 * word).collect();
        for callers in [1, 5] {
            let cache = empty();
            let call = frame(&stack, 0);
            let frames: Vec<_> = (1..=callers).map(|at| frame(&stack, at)).collect();
            cache.insert(call, &frames, 9);
            let (at, returns_to) = (call[0] as usize, call[1]);
            for is_slow in [true, false] {
                cache.set_slow(at, returns_to, is_slow);
                let at_once = find_at_once(&cache, at, returns_to);
                assert_eq!(at_once.is_some(), !is_slow && callers <= QUICK);
                assert_eq!(find(&cache, at, returns_to), Some(9));
            }
        }
    }

    /// A call by way of a library's two frames: its site is that of the application's call.
    #[test]
    fn a_library_leads_on() {
        let cache = empty();
        let mut stack: Vec<u64> = (1..=5).map(|word| 0x1000 * word).collect();
        let [inner, library, application] = [0, 1, 2].map(|at| frame(&stack, at));
        cache.insert_through(inner, &[library, application], application[0], false);
        let known = |cache: &SiteCache| find(cache, inner[0] as usize, inner[1]);
        assert_eq!(known(&cache), None, "the application's call is not known yet");
        cache.insert(application, &[frame(&stack, 3)], 5);
        assert_eq!(known(&cache), Some(5));
        stack[3] += 1;
        assert_eq!(known(&cache), None, "the application's caller is another one");
    }

    /// What is Python's own in these tests: a thread without a state, and a switch.
    fn functions() -> super::super::trail::Functions {
        unsafe extern "C" fn no_state() -> *mut core::ffi::c_void {
            core::ptr::null_mut()
        }
        unsafe extern "C" fn is_finalizing() -> core::ffi::c_int {
            IS_FINALIZING.with(core::cell::Cell::get).into()
        }
        super::super::trail::Functions { get_state: no_state, is_finalizing }
    }

    std::thread_local! {
        static IS_FINALIZING: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
    }

    /// A function of Python that runs, and by which a trail tells it from others.
    struct Running(Box<AtomicU64>);

    impl Running {
        fn trail(&self) -> Trail {
            let at = core::ptr::from_ref(&*self.0).expose_provenance() as u64;
            Trail::new(functions(), 0, vec![[at, self.0.load(Relaxed)]], Vec::new())
        }
    }

    /// A call as `search.rs` does it, of a function of Python; the number of `others` is 9999. Was it read?
    fn call(cache: &SiteCache, stack: &[u64], running: &Running, function: u64) -> (u32, bool) {
        running.0.store(function, Relaxed);
        let (call, callers) = (frame(stack, 0), [frame(stack, 1)]);
        if let Some(site) = find(cache, call[0] as usize, call[1]) {
            return (site, false);
        }
        match cache.follows(call) {
            Follow::Yes => {
                let site = function as u32;
                cache.insert_python(call, &callers, site, Some(running.trail()));
                (site, true)
            }
            Follow::Others => {
                cache.insert_instead(call, &callers, 9999);
                (9999, false)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Functions by turns, as many as fit: each is read once. One more, and no function is read any more: calls are found as C's are.
    #[test]
    fn more_trails_than_fit_are_given_up() {
        let (cache, stack) = (empty(), vec![0x1000_u64, 0x2000]);
        let running = Running(Box::default());
        let most = MOST_TRAILS as u64;
        for turn in 0..5 {
            for function in 1..=most {
                let told = call(&cache, &stack, &running, function);
                assert_eq!(told, (function as u32, turn == 0));
            }
        }
        for function in (1..=200).cycle().skip(MOST_TRAILS).take(1000) {
            assert_eq!(call(&cache, &stack, &running, function), (9999, false), "{function}");
        }
        let [at, returns_to] = frame(&stack, 0);
        assert_eq!(find_at_once(&cache, at as usize, returns_to), Some(9999));
        cache.clear();
        assert_eq!(call(&cache, &stack, &running, 3), (3, true));
    }

    /// More places than the cache has entries, by turns, each with functions of its own: entries are lost again and again, and the thread
    /// stops reading for all that.
    #[test]
    fn a_thread_reads_so_often_only() {
        let cache = empty();
        let stacks: Vec<u64> = (0..4 * ENTRIES as u64).map(|word| 0x1000 + 16 * word).collect();
        let running = Running(Box::default());
        let places = || (0..stacks.len() - 1).step_by(2);
        let calls = (0..20).flat_map(|_| places());
        let read = calls.filter(|at| call(&cache, &stacks[*at..], &running, 5).1).count();
        assert_eq!(read, MOST_READ as usize);
    }

    /// Functions that cannot be told are looked for again, but not for ever.
    #[test]
    fn what_is_never_told_is_given_up() {
        for is_told_first in [false, true] {
            let (cache, stack) = (empty(), vec![0x1000_u64, 0x2000]);
            let running = Running(Box::default());
            if is_told_first {
                assert_eq!(call(&cache, &stack, &running, 1), (1, true));
            }
            let (call, callers) = (frame(&stack, 0), [frame(&stack, 1)]);
            for _ in 0..MOST_UNKNOWN {
                assert_eq!(cache.follows(call), Follow::Yes);
                cache.insert_python(call, &callers, 7, None);
            }
            let expected = if is_told_first { Follow::Others } else { Follow::Unknown };
            assert_eq!(cache.follows(call), expected);
            let known = find(&cache, call[0] as usize, call[1]);
            assert_eq!(known, is_told_first.then_some(1));
        }
    }

    /// Nothing of an interpreter that ends is looked at.
    #[test]
    fn trails_end_with_the_interpreter() {
        let (cache, stack) = (empty(), vec![0x1000_u64, 0x2000]);
        let running = Running(Box::default());
        call(&cache, &stack, &running, 1);
        let [at, returns_to] = frame(&stack, 0);
        assert_eq!(find(&cache, at as usize, returns_to), Some(1));
        IS_FINALIZING.set(true);
        assert_eq!(find(&cache, at as usize, returns_to), None);
    }

    /// A library that leads to where functions of Python come and go is remembered once.
    #[test]
    fn a_library_leads_on_once() {
        let cache = empty();
        let stack: Vec<u64> = (1..=5).map(|word| 0x1000 * word).collect();
        let [inner, library, application] = [0, 1, 2].map(|at| frame(&stack, at));
        for _ in 0..10 {
            cache.insert_through(inner, &[library], application[0], false);
        }
        assert_eq!(cache.all_of(inner[0] as usize, inner[1]).count(), 1);
    }
}
