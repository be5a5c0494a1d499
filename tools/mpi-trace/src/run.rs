//! The process's file in the run folder, and what its header says of the process.

use core::sync::atomic::{
    AtomicBool,
    Ordering::{AcqRel, Relaxed},
};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use mpi_facts::trace::{EXTENSION, MAGIC, UNKNOWN, VERSION, header};
use mpi_tool_layer::mpi_sys;
use mpi_tool_layer::run::{self, Job};
use mpi_tool_layer::{
    Clock, Word as _, launched_rank, options, rank_among_strangers, say, world_position,
};

use crate::{filter, recorder, sites, store};

/// This process's rank in `MPI_COMM_WORLD`, and how many ranks there are, once that is known.
static POSITION: OnceLock<(u32, u32)> = OnceLock::new();

/// This process's rank in `MPI_COMM_WORLD`, or 0 as long as that is not known: then no message has come or gone.
#[inline(always)]
pub(crate) fn rank() -> u32 {
    POSITION.get().map_or(0, |(rank, _)| *rank)
}

/// The launcher has started others as this process, and MPI knows none of them.
static IS_ONE_OF_MANY: AtomicBool = AtomicBool::new(false);

/// The folder, if there is a file in it.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// This process's file, if there is one.
static FILE: OnceLock<PathBuf> = OnceLock::new();

/// The first call of the process: the file is made, unless the user has left the rank out. What goes wrong is said once,
/// and the application runs.
#[cold]
pub(crate) fn begin() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.load(Relaxed) || BEGUN.swap(true, AcqRel) {
        return;
    }
    let job = Job::of_this_process();
    let folder = folder(&job);
    if launched_rank().is_some_and(|rank| !filter::has_rank(rank)) {
        let _ = FOLDER.set(folder);
        return;
    }
    match make(&job, &folder) {
        Ok(()) => {
            if launched_rank() == Some(0) && !options::is_silent("mpi-trace") {
                job.complain_of_unknown("mpi-trace");
            }
            _ = FOLDER.set(folder);
        }
        Err(error) => {
            if launched_rank().unwrap_or(0) == 0 && !options::is_silent("mpi-trace") {
                say(format_args!(
                    "mpi-trace: {}: {error}; nothing is recorded of this run; set MPI_TOOL_RUN to a folder that can be \
                     written to",
                    folder.display()
                ));
            }
        }
    }
}

/// The folder of the run: the user's, or one in the working folder, named by the job.
fn folder(job: &Job) -> PathBuf {
    run::named_folder().unwrap_or_else(|| format!("mpi-trace-{}", job.name).into())
}

/// Makes the file and fills its header.
fn make(job: &Job, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let host = run::host();
    let path = folder.join(run::file_name(EXTENSION));
    // Of an earlier process with this number.
    let _ = fs::remove_file(&path);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    let file: File = options.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(&path)?;
    let shift = if Clock::counts_cycles() { 5 } else { 3 };
    recorder::set_shift(shift);
    let program = env::current_exe().unwrap_or_default();
    let opened = store::open(file, |set| {
        set(header::VERSION, VERSION);
        set(header::RANK, launched_rank().map_or(UNKNOWN, u64::from));
        set(header::SIZE, UNKNOWN);
        set(header::FILTER, filter::kinds());
        set(header::DEPTH, sites::depth() as u64);
        set(header::PID, std::process::id().into());
        set(header::SHIFT, shift);
        set(header::TICKS, Clock::now());
        set(header::CREATED, now());
        set(header::ANY_SOURCE, mpi_sys::MPI_ANY_SOURCE.to_word());
        set(header::ANY_TAG, mpi_sys::MPI_ANY_TAG.to_word());
        set(header::PROC_NULL, mpi_sys::MPI_PROC_NULL.to_word());
        text(set, header::HOST, header::HOST_WORDS, host.as_bytes());
        text(set, header::PROGRAM, header::PROGRAM_WORDS, program.as_os_str().as_bytes());
        text(set, header::WORLD, header::WORLD_WORDS, job.world.as_bytes());
        set(header::MAGIC, MAGIC);
    });
    match opened {
        Ok(()) => _ = FILE.set(path),
        Err(_) => _ = fs::remove_file(&path),
    }
    opened
}

/// Writes bytes, the last ones of a text that is too long, with a NUL behind them.
fn text(set: &dyn Fn(usize, u64), at: usize, words: usize, text: &[u8]) {
    let cut = text.len().saturating_sub(words * 8 - 1);
    for (word, bytes) in (at..at + words).zip(text[cut..].chunks(8)) {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        set(word, u64::from_le_bytes(all));
    }
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}

/// MPI has started: rank and size are known. `false` if the user has left the rank out, which the launcher had not told.
#[cold]
pub(crate) fn started() -> bool {
    if let Some((rank, size)) = world_position() {
        let _ = POSITION.set((rank, size));
        // Of many worlds of one process, one says where the trace is.
        if rank_among_strangers("mpi-trace", size).is_some_and(|rank| rank > 0) {
            IS_ONE_OF_MANY.store(true, Relaxed);
        }
        store::set(header::RANK, rank.into());
        store::set(header::SIZE, size.into());
        if !filter::has_rank(rank) {
            if let Some(file) = FILE.get() {
                let _ = fs::remove_file(file);
            }
            return false;
        }
    }
    store::set(header::RATE, Clock::nanoseconds_per_tick().to_bits());
    true
}

/// The application switches tracing off: calls that begin from now on may be missing.
#[cold]
pub(crate) fn paused() {
    static HAS_BEEN: AtomicBool = AtomicBool::new(false);
    if !HAS_BEEN.swap(true, Relaxed) {
        store::set(header::FIRST_OFF, Clock::now());
    }
    store::set(header::LAST_ON, UNKNOWN);
}

/// It has switched tracing on.
#[cold]
pub(crate) fn resumed() {
    store::set(header::LAST_ON, Clock::now());
}

/// MPI is about to end.
#[cold]
pub(crate) fn ends() {
    store::set(header::RATE, Clock::nanoseconds_per_tick().to_bits());
    store::set(header::END_TICKS, Clock::now());
    store::set(header::ENDED, now());
}

/// MPI has ended. Rank 0 says where the trace is.
#[cold]
pub(crate) fn ended() {
    static SAID: AtomicBool = AtomicBool::new(false);
    let Some((0, ranks)) = POSITION.get() else { return };
    let Some(folder) = FOLDER.get() else { return };
    let is_talkative = options::is_talkative("mpi-trace") && !IS_ONE_OF_MANY.load(Relaxed);
    if is_talkative && !SAID.swap(true, Relaxed) {
        let folder = folder.display();
        let many = if *ranks == 1 { "" } else { "s" };
        say(format_args!(
            "# mpi-trace: {ranks} rank{many}, in {folder}; to read it: mpi-tool trace {folder}"
        ));
    }
}
