//! Reads the files of a run: calls with their times in nanoseconds, and the data that they have moved.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, bail};
use mpi_facts::FunctionId;
use mpi_facts::trace::{EXTENSION, HEADER, MAGIC, Reader, UNKNOWN, VERSION, define, header};
use mpi_facts::watch::may_be_one_world;

mod call;
mod chunks;
mod clock;
#[cfg(test)]
pub(super) mod made_up;
mod progress;
mod room;
#[cfg(test)]
mod rounded;
mod sites;
mod stream;

pub(super) use call::{Call, Thread, sums};
use chunks::{Bytes, Chunk, chunks, text, word};
use clock::Clock;
use progress::Progress;
use sites::Modules;
pub(super) use sites::Site;
pub(super) use stream::{Single, Stream};

use crate::report::symbols::Place;

/// A run.
pub(super) struct Trace {
    /// By world, then by rank.
    pub(super) processes: Vec<Process>,
    /// How many hosts there are.
    pub(super) hosts: usize,
    pub(super) clocks: Clocks,
    /// The files were named one by one.
    pub(super) are_chosen: bool,
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
    /// Does the file say where calls come from?
    has_sites: bool,
    /// Call sites, by their numbers in the file.
    sites: HashMap<u32, Rc<Site>>,
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

/// A communicator.
#[derive(Debug, Clone)]
pub(super) struct Communicator {
    pub(super) identity: u64,
    pub(super) sizes: [u64; 2],
    pub(super) name: String,
}

/// A run of whose files nothing is read yet but what they begin with.
pub(super) struct Opened {
    /// By world, then by rank.
    files: Vec<(Process, Source)>,
    hosts: usize,
    are_chosen: bool,
    progress: Progress,
}

/// Where a process's calls are read from.
struct Source {
    file: Bytes,
    /// By thread, in the order in which they were written.
    chunks: Vec<Chunk>,
    functions: HashMap<u64, FunctionId>,
    /// The places of call sites, by their numbers, until they are [looked up](sites::look_up).
    sites: HashMap<u32, Vec<Place>>,
}

impl Opened {
    /// Of folders, or of single files.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self> {
        let mut paths_of_files = Vec::new();
        for path in paths {
            paths_of_files.extend(files_of(path)?);
        }
        paths_of_files.sort();
        paths_of_files.dedup();
        if paths_of_files.is_empty() {
            bail!(
                "{}: no trace is there (no file *.{EXTENSION}); to make one: mpi-tool run --tool mpi-trace -- mpiexec …",
                paths.first().map_or_else(String::new, |path| path.display().to_string())
            );
        }
        let mut files = Vec::new();
        for path in paths_of_files {
            let file = File::open(&path)
                .with_context(|| format!("{}: cannot read the trace", path.display()))?;
            let opened = Process::open(&path, file)
                .with_context(|| format!("{}: not a trace of mpi-trace", path.display()))?;
            files.push(opened);
        }
        set_worlds(files.iter_mut().map(|(process, _)| process));
        files.sort_by_key(|(process, _)| (process.world, process.rank, process.pid));
        sites::look_up(&mut files);
        let hosts = clock::share(files.iter_mut().map(|(process, _)| process));
        let are_chosen = paths.iter().all(|path| path.is_file());
        Ok(Self { files, hosts, are_chosen, progress: Progress::new() })
    }

    pub(super) const fn hosts(&self) -> usize {
        self.hosts
    }

    pub(super) const fn are_chosen(&self) -> bool {
        self.are_chosen
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = &Process> {
        self.files.iter().map(|(process, _)| process)
    }

    /// How many bytes of records there are.
    fn bytes(&self) -> u64 {
        let chunks = self.files.iter().flat_map(|(_, source)| &source.chunks);
        chunks.map(|chunk| chunk.length as u64).sum()
    }

    /// Reads all calls.
    pub(super) fn read(self) -> Result<Trace> {
        room::check(&self)?;
        self.progress.expect(self.bytes());
        let mut processes = Vec::new();
        let mut records = Vec::new();
        for (mut process, Source { file, chunks, functions, .. }) in self.files {
            for chunk in &chunks {
                let mut read = || -> Result<()> {
                    if chunk.read(&file, &mut records)? {
                        process.add(chunk, &records, &functions)?;
                    }
                    Ok(())
                };
                read().with_context(|| not_a_trace(&process))?;
                self.progress.add(chunk.length as u64);
            }
            processes.push(process);
        }
        clock::set_times(&mut processes);
        self.progress.end();
        let (hosts, are_chosen) = (self.hosts, self.are_chosen);
        Ok(Trace { processes, hosts, clocks: Clocks::Unknown, are_chosen })
    }
}

/// Sets which world each process belongs to: by its name, and no world has a rank twice. A folder may have the files of an
/// earlier run with the name, whose processes are older.
fn set_worlds<'a>(processes: impl Iterator<Item = &'a mut Process>) {
    /// What is known of a world: its last process, and its ranks.
    struct World {
        name: String,
        host: String,
        size: Option<u32>,
        ranks: HashSet<u32>,
    }
    let mut processes: Vec<&mut Process> = processes.collect();
    processes.sort_by_key(|process| process.clock.created);
    let mut worlds: Vec<World> = Vec::new();
    for process in processes {
        let fits = |world: &World| {
            may_be_one_world((&world.name, &world.host), (&process.world_name, &process.host))
                && process.rank.is_none_or(|rank| !world.ranks.contains(&rank))
                && (world.size == process.size || world.size.is_none() || process.size.is_none())
        };
        process.world = worlds.iter().rposition(fits).unwrap_or(worlds.len());
        if process.world == worlds.len() {
            let (name, host) = (process.world_name.clone(), process.host.clone());
            worlds.push(World { name, host, size: None, ranks: HashSet::new() });
        }
        let world = &mut worlds[process.world];
        // A name that is known is worth more than none.
        if !process.world_name.is_empty() {
            (world.name, world.host) = (process.world_name.clone(), process.host.clone());
        }
        world.size = world.size.or(process.size);
        world.ranks.extend(process.rank);
    }
}

fn not_a_trace(process: &Process) -> String {
    format!("{}: not a trace of mpi-trace", process.path.display())
}

impl Trace {
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

impl Process {
    /// When tracing was switched off and on.
    pub(super) fn off_times(&mut self) -> impl Iterator<Item = &mut i64> {
        self.off.iter_mut().flat_map(|(from, to)| core::iter::once(from).chain(to))
    }

    /// The identity of the communicator with a number. `None` of communicators that nobody can tell from others.
    pub(super) fn identity(&self, number: Option<u64>) -> Option<u64> {
        self.communicators.get(&number?).map(|communicator| communicator.identity)
    }

    /// Reads what a file begins with, its definitions, and where its calls are.
    fn open(path: &Path, file: File) -> Result<(Self, Source)> {
        let mut bytes = [0; HEADER];
        let file = Bytes::of(file)?;
        if file.read(&mut bytes, 0).is_err() || word(&bytes, header::MAGIC) != Some(MAGIC) {
            bail!("it does not begin as a trace does, or the process was killed at its beginning");
        }
        let word = |at| word(&bytes, at).unwrap_or(0);
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
            host: text(&bytes, header::HOST, header::HOST_WORDS).unwrap_or_default(),
            program: text(&bytes, header::PROGRAM, header::PROGRAM_WORDS).unwrap_or_default(),
            world: 0,
            world_name: text(&bytes, header::WORLD, header::WORLD_WORDS).unwrap_or_default(),
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
            has_sites: word(header::DEPTH) != 0,
            sites: HashMap::new(),
            clock: Clock {
                shift: shift as u32,
                rate: f64::from_bits(word(header::RATE)),
                ticks: word(header::TICKS),
                created: word(header::CREATED),
                end_ticks: word(header::END_TICKS),
                ended: word(header::ENDED),
            },
        };
        let (mut chunks, definitions): (Vec<_>, Vec<_>) =
            chunks(&file)?.into_iter().partition(|chunk| chunk.thread != UNKNOWN);
        let mut records = Vec::new();
        chunks.sort_by_key(|chunk| (chunk.thread, chunk.sequence));
        let (functions, sites) = (HashMap::new(), HashMap::new());
        let mut source = Source { file, chunks, functions, sites };
        let mut modules = Modules::default();
        for chunk in definitions {
            if chunk.read(&source.file, &mut records)? {
                process.define(&records, &mut source, &mut modules)?;
            }
        }
        Ok((process, source))
    }

    /// Reads definitions.
    fn define(&mut self, records: &[u8], source: &mut Source, modules: &mut Modules) -> Result<()> {
        let mut records = Reader::new(records);
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
                if kind == define::SITE {
                    let places = modules.places(&mut rest)?;
                    source.sites.insert(u32::try_from(number).ok()?, places);
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
                    source.functions.insert(number, function);
                }
                define::COMMUNICATOR => {
                    let sizes = [own, other];
                    self.communicators.insert(number, Communicator { identity, sizes, name });
                }
                define::MODULE => modules.0.entry(number).or_default().0.push_str(&name),
                define::BUILD_ID => modules.0.entry(number).or_default().1 = name,
                define::LEFT_OUT => self.left_out.extend(name.parse::<FunctionId>()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads a piece of a thread's calls.
    fn add(
        &mut self,
        chunk: &Chunk,
        records: &[u8],
        functions: &HashMap<u64, FunctionId>,
    ) -> Result<()> {
        let number = usize::try_from(chunk.thread).unwrap_or(usize::MAX);
        if number > 1 << 20 {
            bail!("it is damaged: there is no thread {number}");
        }
        while self.threads.len() <= number {
            self.threads.push(Thread::new(self.has_sites));
        }
        self.bytes += records.len() as u64;
        let thread = &mut self.threads[number];
        self.lost += thread.read(chunk, records, functions, self.clock.shift)?;
        Ok(())
    }
}
