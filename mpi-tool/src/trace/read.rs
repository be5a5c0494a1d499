//! Reads the files of a run: calls with their times in nanoseconds, and the data that they have moved.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use mpi_facts::FunctionId;
use mpi_facts::trace::{
    CALL, DEFINES, EXTENSION, FOUND, Fields, HEADER, MAGIC, MATCHED, MOST_DEFINED, MOST_MOVED,
    Moved, Partner, REPEATS, Reader, STARTS, UNKNOWN, VERSION, define, header,
};

mod chunks;
#[cfg(test)]
pub(super) mod made_up;
#[cfg(test)]
mod rounded;

use chunks::{Chunk, chunks, text, word};

/// A run.
pub(super) struct Trace {
    /// By world, then by rank.
    pub(super) processes: Vec<Process>,
    /// How many hosts there are.
    pub(super) hosts: usize,
    pub(super) clocks: Clocks,
}

/// How times of different hosts can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clocks {
    /// They are what the hosts' own clocks say.
    Unknown,
    /// They are corrected, and right within so many nanoseconds.
    Corrected(i64),
    /// They are corrected, but clocks did not run evenly, so nobody knows how right they are.
    Uneven,
}

/// A process of the run.
pub(super) struct Process {
    pub(super) path: PathBuf,
    /// `None` if the process was killed before `MPI_Init` had returned.
    pub(super) rank: Option<u32>,
    pub(super) size: Option<u32>,
    pub(super) pid: u64,
    pub(super) host: String,
    pub(super) program: String,
    /// Which of the run's worlds it belongs to, from 0.
    pub(super) world: usize,
    world_name: String,
    /// By thread: its calls, in the order in which they ended.
    pub(super) threads: Vec<Thread>,
    pub(super) communicators: HashMap<u64, Communicator>,
    pub(super) lost: u64,
    pub(super) overwritten: u64,
    /// Bytes of records.
    pub(super) bytes: u64,
    /// MPI was finalized.
    pub(super) is_over: bool,
    /// What the user has left out: bits of [`mpi_facts::trace::filter`].
    pub(super) filter: u64,
    /// Functions that were left out, and called, as far as other calls have lost their numbers by that.
    pub(super) left_out: Vec<FunctionId>,
    /// From when until when the application had switched tracing off at times; without an end it still had.
    pub(super) off: Option<(i64, Option<i64>)>,
    pub(super) special: Special,
    clock: Clock,
}

/// Numbers that stand for no rank or tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Special {
    any_source: i64,
    any_tag: i64,
    proc_null: i64,
}

impl Special {
    /// A rank, as a text.
    pub(super) fn rank(self, rank: i64) -> String {
        match rank {
            rank if rank == self.any_source => "any".to_owned(),
            rank if rank == self.proc_null => "null".to_owned(),
            rank => rank.to_string(),
        }
    }

    /// Is a source or a destination `MPI_PROC_NULL`?
    pub(super) fn is_nobody(self, rank: Option<i64>) -> bool {
        rank == Some(self.proc_null)
    }

    /// A tag, unless it is `MPI_ANY_TAG`.
    pub(super) fn named_tag(self, tag: Option<i64>) -> Option<i64> {
        tag.filter(|tag| *tag != self.any_tag)
    }

    /// A tag, as a text.
    pub(super) fn tag(self, tag: i64) -> String {
        if tag == self.any_tag { "any".to_owned() } else { tag.to_string() }
    }
}

#[derive(Debug, Clone, Copy)]
struct Clock {
    shift: u32,
    rate: f64,
    ticks: u64,
    created: u64,
    end_ticks: u64,
    ended: u64,
}

/// A communicator.
#[derive(Debug, Clone)]
pub(super) struct Communicator {
    pub(super) identity: u64,
    pub(super) sizes: [u64; 2],
    pub(super) name: String,
}

/// A thread's calls.
#[derive(Default)]
pub(super) struct Thread {
    pub(super) calls: Vec<Call>,
    pub(super) data: Vec<Moved>,
    /// Which calls, by their places, have started what the calls of a thread and a number have prepared.
    pub(super) starts: Vec<(usize, (u64, u64))>,
    /// By the places of probes: the sender and the tag of the message that each has found.
    pub(super) found: HashMap<usize, (Partner, i64)>,
    /// By the places of calls that receive what was matched before: the thread and the number of the call that has done so.
    pub(super) matched: HashMap<usize, (u64, u64)>,
    /// Where the data begin that belong to the next call.
    begun: usize,
    /// The sequence number of the next chunk, if none was overwritten.
    sequence: u64,
    /// Functions with their arguments that have numbers, and what such a call moves, by these.
    defined: HashMap<u32, (Call, Vec<Moved>)>,
}

/// A call that is over.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) function: FunctionId,
    /// Nanoseconds: since 1970 as long as the file is read, later since the trace's beginning.
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) has_failed: bool,
    pub(super) communicator: Option<u64>,
    pub(super) tag: Option<i64>,
    pub(super) received_tag: Option<i64>,
    pub(super) source: Option<i64>,
    pub(super) destination: Option<i64>,
    pub(super) root: Option<i64>,
    /// Its number in its thread.
    pub(super) number: u64,
    /// Where its data are among the thread's.
    data: (usize, usize),
}

impl Call {
    /// With the arguments that a record has, without times.
    fn read(function: FunctionId, records: &mut Reader<'_>) -> Option<Self> {
        let fields = Fields::of(function);
        let communicator = if fields.communicator { Some(records.number()?) } else { None };
        let mut signed = |has| if has { Some(Some(records.signed()?)) } else { Some(None) };
        Some(Self {
            function,
            begin: 0,
            end: 0,
            has_failed: false,
            communicator,
            tag: signed(fields.tag)?,
            received_tag: signed(fields.received_tag)?,
            source: signed(fields.source)?,
            destination: signed(fields.destination)?,
            root: signed(fields.root)?,
            number: 0,
            data: (0, 0),
        })
    }
}

impl Thread {
    /// The data that have moved in a call.
    pub(super) fn data(&self, call: &Call) -> &[Moved] {
        &self.data[call.data.0..call.data.1]
    }

    /// A call is over. The data are its own that were read since the one before it.
    fn add(&mut self, call: Call) {
        let data = (self.begun, self.data.len());
        self.calls.push(Call { data, ..call });
        self.begun = self.data.len();
    }

    /// Where the call of a number is, if it is in the file.
    pub(super) fn place(&self, number: u64) -> Option<usize> {
        let at = self.calls.partition_point(|call| call.number < number);
        self.calls.get(at).is_some_and(|call| call.number == number).then_some(at)
    }
}

impl Trace {
    /// Of folders, or of single files.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            files.extend(files_of(path)?);
        }
        files.sort();
        files.dedup();
        if files.is_empty() {
            bail!(
                "{}: no trace is there (no file *.{EXTENSION}); to make one: mpi-tool run --tool mpi-trace -- mpiexec …",
                paths.first().map_or_else(String::new, |path| path.display().to_string())
            );
        }
        let mut processes = Vec::new();
        for file in files {
            let bytes = fs::read(&file)
                .with_context(|| format!("{}: cannot read the trace", file.display()))?;
            let process = Process::of(&file, &bytes)
                .with_context(|| format!("{}: not a trace of mpi-trace", file.display()))?;
            processes.push(process);
        }
        let mut worlds: Vec<String> = Vec::new();
        for process in &mut processes {
            let name = process.world_name.clone();
            process.world = worlds.iter().position(|world| *world == name).unwrap_or_else(|| {
                worlds.push(name);
                worlds.len() - 1
            });
        }
        processes.sort_by_key(|process| (process.world, process.rank, process.pid));
        let hosts = set_times(&mut processes);
        Ok(Self { processes, hosts, clocks: Clocks::Unknown })
    }

    /// When the last call ended, in nanoseconds.
    pub(super) fn end(&self) -> i64 {
        self.calls().map(|(_, _, call)| call.end).max().unwrap_or(0)
    }

    /// All calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&Process, usize, &Call)> {
        self.processes.iter().flat_map(|process| {
            process.threads.iter().enumerate().flat_map(move |(number, thread)| {
                thread.calls.iter().map(move |call| (process, number, call))
            })
        })
    }
}

/// Does a folder have files of a trace?
pub(super) fn has_trace(folder: &Path) -> bool {
    files_of(folder).is_ok_and(|files| !files.is_empty())
}

fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    let meta = fs::metadata(path)
        .with_context(|| format!("{}: there is no such trace", path.display()))?;
    if meta.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path)
        .with_context(|| format!("{}: cannot read the folder", path.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            files.push(path);
        }
    }
    Ok(files)
}

/// Makes all times nanoseconds since the first call of all, by one clock a host. Returns how many hosts there are.
fn set_times(processes: &mut [Process]) -> usize {
    let mut clocks: HashMap<String, Clock> = HashMap::new();
    for process in processes.iter() {
        let clock = process.clock;
        // The longer a process has run, the better it knows how long a tick is.
        let known = clocks.entry(process.host.clone()).or_insert(clock);
        if clock.length() > known.length() {
            *known = clock;
        }
    }
    let hosts = clocks.len();
    let mut first = i64::MAX;
    for process in processes.iter_mut() {
        let clock = clocks[&process.host];
        process.off_times().for_each(|time| *time = clock.time(*time));
        for call in process.threads.iter_mut().flat_map(|thread| thread.calls.iter_mut()) {
            call.begin = clock.time(call.begin);
            call.end = clock.time(call.end);
            first = first.min(call.begin);
        }
    }
    for process in processes.iter_mut() {
        process.off_times().for_each(|time| *time = time.wrapping_sub(first));
        for call in process.threads.iter_mut().flat_map(|thread| thread.calls.iter_mut()) {
            call.begin = call.begin.wrapping_sub(first);
            call.end = call.end.wrapping_sub(first);
        }
    }
    hosts
}

impl Clock {
    /// Over how many ticks its rate is known.
    fn length(self) -> u64 {
        self.end_ticks.saturating_sub(self.ticks)
    }

    /// Nanoseconds since 1970, of ticks.
    fn time(self, ticks: i64) -> i64 {
        let ticks = ticks.wrapping_sub(self.ticks.cast_signed());
        self.created.cast_signed().wrapping_add((ticks as f64 * self.rate()) as i64)
    }

    fn rate(self) -> f64 {
        // The realtime clock may be set while the program runs; the rate that the process has measured cannot.
        let measured = self.ended.saturating_sub(self.created) as f64 / self.length().max(1) as f64;
        if self.rate <= 0.0 { measured } else { self.rate }
    }
}

impl Process {
    /// When tracing was switched off and on.
    pub(super) fn off_times(&mut self) -> impl Iterator<Item = &mut i64> {
        self.off.iter_mut().flat_map(|(from, to)| core::iter::once(from).chain(to))
    }

    /// The identity of the communicator with a number. `None` of communicators that nobody can tell from others.
    pub(super) fn identity(&self, number: Option<u64>) -> Option<u64> {
        self.communicators.get(&number?).map(|communicator| communicator.identity)
    }

    fn of(path: &Path, bytes: &[u8]) -> Result<Self> {
        if word(bytes, header::MAGIC) != Some(MAGIC) || bytes.len() < HEADER {
            bail!("it does not begin as a trace does, or the process was killed at its beginning");
        }
        let word = |at| word(bytes, at).unwrap_or(0);
        let version = word(header::VERSION);
        if version != VERSION {
            bail!(
                "its format is of version {version}, and this mpi-tool reads version {VERSION}: use the mpi-tool of the \
                 tool's own version"
            );
        }
        let shift = word(header::SHIFT);
        if shift > 32 {
            bail!("it is damaged: ticks cannot be shifted by {shift} bits");
        }
        let rank = |at| Some(word(at)).filter(|word| *word != UNKNOWN).map(|word| word as u32);
        let int = |at| i64::from(word(at) as u32 as i32);
        let mut process = Self {
            path: path.to_owned(),
            rank: rank(header::RANK),
            size: rank(header::SIZE),
            pid: word(header::PID),
            host: text(bytes, header::HOST, header::HOST_WORDS).unwrap_or_default(),
            program: text(bytes, header::PROGRAM, header::PROGRAM_WORDS).unwrap_or_default(),
            world: 0,
            world_name: text(bytes, header::WORLD, header::WORLD_WORDS).unwrap_or_default(),
            threads: Vec::new(),
            communicators: HashMap::new(),
            lost: word(header::LOST),
            overwritten: word(header::OVERWRITTEN),
            bytes: 0,
            is_over: word(header::END_TICKS) != 0,
            filter: word(header::FILTER),
            left_out: Vec::new(),
            off: Some(word(header::FIRST_OFF)).filter(|first| *first > 0).map(|first| {
                let last = Some(word(header::LAST_ON)).filter(|last| *last != UNKNOWN);
                (first.cast_signed(), last.map(u64::cast_signed))
            }),
            special: Special {
                any_source: int(header::ANY_SOURCE),
                any_tag: int(header::ANY_TAG),
                proc_null: int(header::PROC_NULL),
            },
            clock: Clock {
                shift: shift as u32,
                rate: f64::from_bits(word(header::RATE)),
                ticks: word(header::TICKS),
                created: word(header::CREATED),
                end_ticks: word(header::END_TICKS),
                ended: word(header::ENDED),
            },
        };
        let mut chunks = chunks(bytes)?;
        let mut functions = HashMap::new();
        for chunk in chunks.iter().filter(|chunk| chunk.thread == UNKNOWN) {
            process.define(chunk, &mut functions)?;
        }
        chunks.sort_by_key(|chunk| (chunk.thread, chunk.sequence));
        for chunk in chunks.iter().filter(|chunk| chunk.thread != UNKNOWN) {
            process.add(chunk, &functions)?;
        }
        Ok(process)
    }

    /// Reads definitions.
    fn define(
        &mut self,
        chunk: &Chunk<'_>,
        functions: &mut HashMap<u64, FunctionId>,
    ) -> Result<()> {
        let mut records = Reader::new(chunk.records);
        while !records.is_empty() {
            let mut one = || {
                let kind = records.number()?;
                let length = records.number()?;
                let mut rest = Reader::new(records.bytes(length)?);
                let number = rest.number()?;
                let mut numbers = [0; 3];
                if kind == define::COMMUNICATOR {
                    for place in &mut numbers {
                        *place = rest.number()?;
                    }
                }
                Some((kind, number, numbers, String::from_utf8_lossy(rest.rest()).into_owned()))
            };
            let Some((kind, number, [identity, own, other], name)) = one() else {
                bail!("it is damaged: a definition ends in the middle");
            };
            match kind {
                define::FUNCTION => {
                    let Ok(function) = name.parse() else {
                        bail!("it is damaged, or of another version: {name:?} is no MPI function")
                    };
                    functions.insert(number, function);
                }
                define::COMMUNICATOR => {
                    let sizes = [own, other];
                    self.communicators.insert(number, Communicator { identity, sizes, name });
                }
                define::LEFT_OUT => self.left_out.extend(name.parse::<FunctionId>()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads a thread's calls.
    fn add(&mut self, chunk: &Chunk<'_>, functions: &HashMap<u64, FunctionId>) -> Result<()> {
        let number = usize::try_from(chunk.thread).unwrap_or(usize::MAX);
        if number > 1 << 20 {
            bail!("it is damaged: there is no thread {number}");
        }
        while self.threads.len() <= number {
            self.threads.push(Thread::default());
        }
        self.bytes += chunk.records.len() as u64;
        let shift = self.clock.shift;
        let thread = &mut self.threads[number];
        if thread.sequence != chunk.sequence {
            // Calls between are not there, and what is left of the data before them was one of these calls'.
            thread.begun = thread.data.len();
        }
        thread.sequence = chunk.sequence.wrapping_add(1);
        let mut next = chunk.first;
        // The end of the last call: as the next distance counts from it, and as it is told.
        let mut last = chunk.time;
        let mut ended = last;
        let mut records = Reader::new(chunk.records);
        while !records.is_empty() {
            let mut one = || {
                let kind = records.number()?;
                if kind == STARTS {
                    let prepared = (records.number()?, records.number()?);
                    thread.starts.push((thread.calls.len(), prepared));
                    return Some(());
                }
                if kind == DEFINES {
                    let number = u32::try_from(records.number()?).ok()?;
                    let function = *functions.get(&records.number()?.checked_sub(CALL)?)?;
                    let call = Call::read(function, &mut records)?;
                    let count = usize::try_from(records.number()?).ok()?;
                    if number >= MOST_DEFINED || count > MOST_MOVED {
                        return None;
                    }
                    let mut piece = || {
                        let kind = records.number()?;
                        records.moved(kind)
                    };
                    let moved = (0..count).map(|_| piece()).collect::<Option<_>>()?;
                    thread.defined.insert(number, (call, moved));
                    return Some(());
                }
                if kind == FOUND {
                    let found = (records.partner()?, records.signed()?);
                    thread.found.insert(thread.calls.len(), found);
                    return Some(());
                }
                if kind == MATCHED {
                    let matched = (records.number()?, records.number()?);
                    thread.matched.insert(thread.calls.len(), matched);
                    return Some(());
                }
                if kind == REPEATS {
                    let (number, begin, end) = records.repeat(last)?;
                    last = end;
                    ended = last;
                    // What it repeats was overwritten, of a call that was under way when its thread went on to another
                    // chunk.
                    let Some((call, moved)) = thread.defined.get(&number) else {
                        self.lost += 1;
                        next += 1;
                        return Some(());
                    };
                    let (begin, end) = (begin.cast_signed(), last.cast_signed());
                    let call = Call { begin, end, number: next, ..call.clone() };
                    thread.data.extend_from_slice(moved);
                    thread.add(call);
                    next += 1;
                    return Some(());
                }
                if kind < CALL {
                    thread.data.push(records.moved(kind)?);
                    return Some(());
                }
                let function = *functions.get(&(kind - CALL))?;
                let begin = (last >> shift).wrapping_add(records.signed()?.cast_unsigned());
                let duration = records.number()?;
                let end = begin.wrapping_add(duration >> 1) << shift;
                last = end;
                let mut begin = begin << shift;
                // A repeated call before it has ended in the same unit, and exactly: that was earlier.
                if ended.wrapping_sub(begin) >> shift == 0 {
                    begin = ended;
                }
                ended = end.max(begin);
                let call = Call::read(function, &mut records)?;
                thread.add(Call {
                    begin: begin.cast_signed(),
                    end: ended.cast_signed(),
                    has_failed: duration & 1 == 1,
                    number: next,
                    ..call
                });
                next += 1;
                Some(())
            };
            if one().is_none() {
                bail!("it is damaged: a call cannot be read");
            }
        }
        Ok(())
    }
}
