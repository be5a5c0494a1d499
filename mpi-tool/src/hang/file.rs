//! A state file of `mpi-watch`, as `mpi_facts::watch` describes it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mpi_facts::FunctionId;
use mpi_facts::watch::{
    MAGIC, NO_TIME, UNKNOWN, VERSION, WORDS, epoch, group, has_no_number, header, kind, lock,
    members, module, request, site, slot,
};

use super::graph::{Epochs, Members};
use crate::report::symbols::Place;

/// What a file said at one moment.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) path: PathBuf,
    pub(super) rank: Option<u32>,
    pub(super) size: Option<u32>,
    pub(super) pid: u32,
    /// When the process started, in clock ticks after the machine did.
    pub(super) started: u64,
    pub(super) parent: u32,
    /// When the file was made, in nanoseconds since 1970.
    pub(super) created: u64,
    pub(super) phase: u64,
    /// May other threads than the main one call MPI?
    pub(super) has_threads: bool,
    /// May callbacks of the application's work in `MPI_Finalize`?
    pub(super) has_last_callbacks: bool,
    /// May it work in a reduction operation of the application's?
    pub(super) has_operations: bool,
    /// May it work in an error handler of the application's?
    pub(super) has_error_handlers: bool,
    /// In which namespace its process has this number; 0 if that is not known.
    pub(super) pid_space: u64,
    /// When MPI had started, in nanoseconds after the machine did; 0 as long as it has not.
    pub(super) ready: u64,
    /// The threads that were there then, but the first one; `None` if there were too many.
    pub(super) older: Option<Vec<u32>>,
    /// For what there was no room.
    pub(super) full: u64,
    pub(super) host: String,
    /// On how many hosts the ranks are: 2 for several, 0 if that is not known.
    pub(super) hosts: u64,
    /// How many processes the launcher has started.
    pub(super) launched: Option<u32>,
    pub(super) program: String,
    pub(super) world: String,
    pub(super) threads: Vec<Thread>,
    pub(super) groups: Vec<Group>,
    pub(super) requests: Vec<Request>,
    pub(super) locks: Vec<Lock>,
    /// By window's handle and rank of the world.
    pub(super) epochs: Vec<(u64, u32, Epochs)>,
    pub(super) any_source: i32,
    pub(super) proc_null: i32,
    pub(super) any_tag: i32,
    pub(super) request_null: u64,
    pub(super) request_empty: u64,
    pub(super) has_int_handles: bool,
    ticks: u64,
    rate: f64,
}

/// A thread that has called MPI.
#[derive(Debug, Clone)]
pub(super) struct Thread {
    pub(super) id: u32,
    pub(super) calls: u64,
    /// Calls from inside of others, which are not counted among `calls`.
    pub(super) nested_calls: u64,
    pub(super) is_inside: bool,
    /// Has it called MPI from inside of this call, or left it by a jump, or may other threads have written here? Then nobody
    /// knows what it waits for.
    pub(super) is_nested: bool,
    /// Of the call that it is in, or of its last one.
    pub(super) function: FunctionId,
    pub(super) since: u64,
    pub(super) site: Vec<Place>,
    pub(super) peer: i32,
    pub(super) source: i32,
    pub(super) tag: i32,
    /// Of what `MPI_Sendrecv` receives.
    pub(super) received_tag: i32,
    pub(super) comm: u64,
    pub(super) object: u64,
    pub(super) number: Count,
    pub(super) requests: u64,
    pub(super) handles: Vec<u64>,
}

impl Thread {
    /// Is this thread in the same call, at another moment?
    pub(super) fn is_in_same_call(&self, then: &Self) -> bool {
        self.is_inside
            && then.is_inside
            && self.id == then.id
            && self.calls == then.calls
            && self.nested_calls == then.nested_calls
    }
}

/// How many collective operations there were, with this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(super) struct Count {
    /// Those that have returned an error. Ranks can be compared if they had as many.
    pub(super) failed: u64,
    /// All of them; 0 if this one is not counted.
    pub(super) all: u64,
}

impl Count {
    pub(super) fn of(word: u64) -> Self {
        let failed = word >> group::FAILED_SHIFT;
        Self { failed, all: word & ((1 << group::FAILED_SHIFT) - 1) }
    }
}

/// A communicator, a window or a file.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) kind: u64,
    pub(super) handle: u64,
    pub(super) identity: u64,
    pub(super) number: Count,
    pub(super) history: [u64; group::HISTORY_WORDS],
    pub(super) name: String,
    /// World ranks of both sides; `None` for what is not known, and for processes outside of the world.
    pub(super) own: Option<Members>,
    pub(super) other: Option<Members>,
    pub(super) sizes: [u64; 2],
}

/// A request that is not complete.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) handle: u64,
    pub(super) is_active: bool,
    pub(super) is_persistent: bool,
    /// Is the handle that of several operations, of which some or all are complete?
    pub(super) is_shared: bool,
    pub(super) starts: u64,
    pub(super) function: FunctionId,
    pub(super) peer: i32,
    pub(super) tag: i32,
    pub(super) comm: u64,
    pub(super) number: Count,
    /// Are all parts ready of a message that is sent in parts? That of others is.
    pub(super) is_ready: bool,
    pub(super) site: Vec<Place>,
}

/// A window's lock.
#[derive(Debug, Clone)]
pub(super) struct Lock {
    pub(super) window: u64,
    /// `None` for all.
    pub(super) target: Option<i32>,
    pub(super) is_exclusive: bool,
}

/// No world has more processes: such a file is damaged.
const MOST_MEMBERS: u64 = 1 << 22;

/// The words of a file, and what stands in them. A file has many, of which few are looked at.
struct Words<'a>(&'a [[u8; 8]]);

impl<'a> Words<'a> {
    /// Those of a file of the right length.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks();
        (words.len() == WORDS).then_some(Self(words))
    }

    fn at(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at])
    }

    fn text(&self, at: usize, words: usize) -> String {
        let bytes: Vec<u8> = self.0[at..at + words].as_flattened().to_vec();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        // An application chooses names: what a terminal would obey stays out.
        let is_plain = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
        String::from_utf8_lossy(&bytes[..end]).chars().map(is_plain).collect()
    }

    fn place(&self, word: u64) -> Option<Place> {
        let number = (word >> site::MODULE_SHIFT).checked_sub(1)?;
        let number = usize::try_from(number).ok().filter(|number| *number < module::COUNT)?;
        let at = module::AREA + number * module::LENGTH;
        let id = self.0[at + module::ID..at + module::ID + module::ID_WORDS].as_flattened();
        let length = usize::try_from(self.at(at + module::ID_LENGTH)).unwrap_or(0).min(id.len());
        let build_id = id[..length].iter().map(|byte| format!("{byte:02x}")).collect();
        let file = self.text(at + module::PATH, module::PATH_WORDS);
        Some(Place::new(file, build_id, word & ((1 << site::MODULE_SHIFT) - 1)))
    }

    /// The places of a site by its number; none if it is not there.
    fn site(&self, number: u64) -> Vec<Place> {
        let depth = self.at(header::DEPTH);
        let known = number >= 1 && number <= self.at(header::SITES);
        let at = number.wrapping_sub(1).checked_mul(depth).and_then(|at| usize::try_from(at).ok());
        let (Some(at), true, Ok(depth)) = (at, known, usize::try_from(depth)) else {
            return vec![];
        };
        let places = self.0[site::AREA..].iter().skip(at).take(depth);
        places.map_while(|word| self.place(u64::from_le_bytes(*word))).collect()
    }

    fn thread(&self, at: usize) -> Option<Thread> {
        let word = |offset: usize| self.at(at + offset);
        if word(slot::ENTERED) == 0 {
            return None;
        }
        let function = word(slot::FUNCTION) & !slot::OUTSIDE;
        let function = FunctionId::from_index(usize::try_from(function).ok()?)?;
        let has_no_time = self.at(header::DEPTH) == 0 && NO_TIME[function as usize];
        let mut site = self.site(word(slot::SITE));
        if site.is_empty() && word(slot::SITE) != 0 {
            let places = (0..8).map_while(|place| self.place(word(slot::PLACES + place)));
            site = places.collect();
        }
        let handles = usize::try_from(word(slot::REQUESTS)).unwrap_or(usize::MAX);
        let handles = (0..handles.min(slot::MOST_HANDLES)).map(|i| word(slot::HANDLES + i));
        Some(Thread {
            id: word(slot::THREAD) as u32,
            calls: word(slot::ENTERED),
            nested_calls: word(slot::NESTED_CALLS),
            is_inside: word(slot::FUNCTION) & slot::OUTSIDE == 0,
            is_nested: word(slot::NESTED) == word(slot::ENTERED)
                || at == slot::AREA && self.at(header::MIXED) != 0,
            function,
            since: if has_no_time { 0 } else { word(slot::SINCE) },
            site,
            peer: word(slot::PEER) as i32,
            source: word(slot::SOURCE) as i32,
            tag: word(slot::TAG) as i32,
            received_tag: word(slot::RECEIVED_TAG) as i32,
            comm: if self.at(header::INT_HANDLES) == 0 {
                word(slot::COMM)
            } else {
                i64::from(word(slot::COMM) as i32) as u64
            },
            object: word(slot::OBJECT),
            number: Count::of(if has_no_number(function.class()) { 0 } else { word(slot::NUMBER) }),
            requests: word(slot::REQUESTS),
            handles: handles.collect(),
        })
    }

    fn group(&self, at: usize) -> Option<Group> {
        let word = |offset: usize| self.at(at + offset);
        let sizes = [word(group::OWN + group::SIZE), word(group::OTHER + group::SIZE)];
        (word(group::KIND) != 0).then(|| Group {
            kind: word(group::KIND),
            handle: word(group::HANDLE),
            identity: word(group::IDENTITY),
            number: Count::of(word(group::NUMBER)),
            history: core::array::from_fn(|i| word(group::HISTORY + i)),
            name: self.text(at + group::NAME, group::NAME_WORDS),
            own: self.members(at + group::OWN),
            other: self.members(at + group::OTHER).filter(|other| other.size() > 0),
            sizes,
        })
    }

    fn members(&self, at: usize) -> Option<Members> {
        let word = |offset: usize| self.at(at + offset);
        let (size, first) = (word(group::SIZE), word(group::FIRST));
        match word(group::FORM) {
            _ if size > MOST_MEMBERS => None,
            _ if size == 0 => Some(Members::NONE),
            group::REGULAR => Members::regular(first, word(group::STRIDE) as i64, size),
            group::LISTED => {
                // The list is in the file.
                let last = first.checked_add(size - 1)?;
                (last / 2 < members::WORDS as u64).then_some(())?;
                let member = |half: u64| {
                    let word = self.at(members::AREA + half as usize / 2);
                    let member = (word >> (half % 2 * 32)) as u32;
                    Some(member).filter(|member| *member != group::NOBODY)
                };
                Some((first..=last).map(member).collect())
            }
            _ => None,
        }
    }

    fn request(&self, at: usize) -> Option<Request> {
        let word = |offset: usize| self.at(at + offset);
        let state = word(request::STATE);
        if state == 0 || state & request::CLAIMED != 0 {
            return None;
        }
        let function = usize::try_from(state >> request::FUNCTION_SHIFT).ok()?;
        let function = FunctionId::from_index(function)?;
        let has_parts = function == FunctionId::MPI_Psend_init;
        let number = word(request::NUMBER);
        let is_ready = number >> request::READY_SHIFT >= number & request::PARTITIONS;
        Some(Request {
            handle: word(request::HANDLE),
            is_active: state & request::ACTIVE != 0,
            is_persistent: state & request::PERSISTENT != 0,
            is_shared: state & request::SHARED != 0,
            starts: word(request::STARTS),
            function,
            peer: word(request::PEER) as i32,
            tag: word(request::TAG) as i32,
            comm: word(request::COMM),
            number: Count::of(if has_parts { 0 } else { number }),
            is_ready: is_ready || !has_parts,
            site: self.site(word(request::SITE)),
        })
    }

    fn epochs(&self, at: usize) -> Option<(u64, u32, Epochs)> {
        let word = |offset: usize| self.at(at + offset);
        let window = Some(word(epoch::WINDOW)).filter(|it| ![0, epoch::CLAIMED].contains(it))?;
        let epochs = Epochs {
            posted: word(epoch::POSTED),
            started: word(epoch::STARTED),
            completed: word(epoch::COMPLETED),
            waited: word(epoch::WAITED),
        };
        Some((window, word(epoch::PEER) as u32, epochs))
    }

    fn lock(&self, at: usize) -> Option<Lock> {
        let word = |offset: usize| self.at(at + offset);
        let is_held = word(lock::WINDOW) != 0 && word(lock::WINDOW) != u64::MAX;
        is_held.then(|| Lock {
            window: word(lock::WINDOW),
            target: Some(word(lock::TARGET)).filter(|all| *all != UNKNOWN).map(|rank| rank as i32),
            is_exclusive: word(lock::EXCLUSIVE) != 0,
        })
    }
}

/// The entries of an area.
fn entries(area: usize, count: usize, length: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |number| area + number * length)
}

impl Snapshot {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path)?;
        Self::of(path, &bytes)
    }

    /// What a file's contents say.
    pub(super) fn of(path: &Path, bytes: &[u8]) -> Result<Self> {
        let words = Words::of(bytes).filter(|words| words.at(header::MAGIC) == MAGIC);
        let Some(words) = words else { bail!("{}: not a state file of mpi-watch", path.display()) };
        if words.at(header::VERSION) != VERSION {
            bail!(
                "{}: written by another version of mpi-watch (layout {}, this program reads {VERSION}); \
                 use the mpi-tool of that version",
                path.display(),
                words.at(header::VERSION)
            );
        }
        let word = |at: usize| words.at(at);
        if [header::RANK, header::SIZE]
            .iter()
            .any(|at| word(*at) > MOST_MEMBERS && word(*at) != UNKNOWN)
        {
            bail!("{}: damaged: no world has so many ranks", path.display());
        }
        let number = |at: usize| {
            Some(word(at)).filter(|number| *number != UNKNOWN).map(|number| number as u32)
        };
        Ok(Self {
            path: path.to_owned(),
            rank: number(header::RANK),
            size: number(header::SIZE),
            pid: word(header::PID) as u32,
            started: word(header::STARTED),
            parent: word(header::PARENT) as u32,
            created: word(header::CREATED),
            phase: word(header::PHASE),
            has_threads: word(header::THREADS) != 0,
            has_last_callbacks: word(header::SELF_ATTRIBUTES) != 0,
            has_operations: word(header::OPERATIONS) != 0,
            has_error_handlers: word(header::ERROR_HANDLERS) != 0,
            pid_space: word(header::PID_SPACE),
            ready: word(header::READY),
            older: (header::OLDER..header::OLDER + header::OLDER_COUNT)
                .map(word)
                .filter(|thread| *thread != 0)
                .map(|thread| u32::try_from(thread).ok())
                .collect(),
            full: word(header::FULL),
            host: words.text(header::HOST, header::HOST_WORDS),
            program: words.text(header::PROGRAM, header::PROGRAM_WORDS),
            hosts: words.at(header::HOSTS),
            launched: number(header::LAUNCHED),
            world: words.text(header::WORLD, header::WORLD_WORDS),
            threads: entries(slot::AREA, slot::COUNT, slot::LENGTH)
                .filter_map(|at| words.thread(at))
                .collect(),
            groups: entries(group::AREA, group::COUNT, group::LENGTH)
                .filter_map(|at| words.group(at))
                .collect(),
            requests: entries(request::AREA, request::COUNT, request::LENGTH)
                .filter_map(|at| words.request(at))
                .collect(),
            locks: entries(lock::AREA, lock::COUNT, lock::LENGTH)
                .filter_map(|at| words.lock(at))
                .collect(),
            epochs: entries(epoch::AREA, epoch::COUNT, epoch::LENGTH)
                .filter_map(|at| words.epochs(at))
                .collect(),
            any_source: word(header::ANY_SOURCE) as i32,
            proc_null: word(header::PROC_NULL) as i32,
            any_tag: word(header::ANY_TAG) as i32,
            request_null: word(header::REQUEST_NULL),
            request_empty: word(header::REQUEST_EMPTY),
            has_int_handles: word(header::INT_HANDLES) != 0,
            ticks: word(header::TICKS),
            rate: f64::from_bits(word(header::RATE)),
        })
    }

    /// How long ago, in seconds, a moment of the process's clock was, at a time in nanoseconds since 1970.
    pub(super) fn age(&self, ticks: u64, now: u64) -> Option<f64> {
        let passed = now.checked_sub(self.created)? as f64;
        let then = ticks.checked_sub(self.ticks)? as f64 * self.rate;
        (self.rate > 0.0).then(|| ((passed - then) / 1e9).max(0.0))
    }

    /// How many calls all threads have made.
    pub(super) fn calls(&self) -> u64 {
        self.threads.iter().fold(0, |sum, thread| thread.calls.wrapping_add(sum))
    }

    /// The same, with calls from inside of others: what shows that it moves.
    pub(super) fn steps(&self) -> u64 {
        let nested = |sum: u64, thread: &Thread| sum.wrapping_add(thread.nested_calls);
        self.threads.iter().fold(self.calls(), nested)
    }

    /// What calls of some processes are operations of, by its identity.
    pub(super) fn meeting(&self, identity: u64) -> Option<&Group> {
        let is_it = |group: &&Group| group.kind == kind::MEETING && group.identity == identity;
        self.groups.iter().find(is_it)
    }

    /// Where an operation of a communicator, window or file was called. The file is asked, which only gets more sites; nothing
    /// if it is gone, if the operation was long ago, or if the site had no room.
    pub(super) fn site_of(&self, identity: u64, number: u64) -> Vec<Place> {
        let group = self.groups.iter().find(|group| group.identity == identity);
        let is_kept = |group: &&Group| {
            let later = group.number.all.checked_sub(number);
            later.is_some_and(|later| later < group::HISTORY_WORDS as u64)
        };
        let Some(group) = group.filter(is_kept) else { return vec![] };
        let word = group.history[number as usize % group::HISTORY_WORDS];
        let bytes = fs::read(&self.path).unwrap_or_default();
        Words::of(&bytes).map_or_else(Vec::new, |words| words.site(word >> 32))
    }

    /// A communicator, window or file by its handle.
    pub(super) fn group(&self, kind: u64, handle: u64) -> Option<&Group> {
        self.groups.iter().find(|group| group.kind == kind && group.handle == handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is in a file, reading it fails or gives an answer.
    #[test]
    fn damaged_files_are_read_without_harm() {
        let path = Path::new("x.watch");
        assert!(Snapshot::of(path, b"short").is_err());
        let mut words = vec![0_u64; WORDS];
        let bytes =
            |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        assert!(Snapshot::of(path, &bytes(&words)).is_err());
        words[header::MAGIC] = MAGIC;
        let other = Snapshot::of(path, &bytes(&words)).unwrap_err().to_string();
        assert!(other.contains("another version"), "{other}");
        for seed in 1..200_u64 {
            let mut state = seed;
            for word in &mut words {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed);
                *word = match state >> 62 {
                    0 => 0,
                    1 => u64::MAX,
                    2 => state >> 33 & 7,
                    _ => state,
                };
            }
            (words[header::MAGIC], words[header::VERSION]) = (MAGIC, VERSION);
            if let Ok(read) = Snapshot::of(path, &bytes(&words)) {
                let _ = (read.calls(), read.age(1, u64::MAX));
            }
            (words[header::RANK], words[header::SIZE]) = (1, seed);
            let read = Snapshot::of(path, &bytes(&words)).unwrap();
            let _ = (read.calls(), read.age(1, u64::MAX));
        }
    }
}
