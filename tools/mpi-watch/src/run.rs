//! The run folder, and this process's file in it: made before `MPI_Init`, removed after `MPI_Finalize`.

use core::ptr::NonNull;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU64,
    Ordering::{AcqRel, Relaxed, Release},
};
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use mpi_facts::watch::{
    EXTENSION, GUARD, GUARD_VARIABLE, LEFT, MAGIC, NO_ROOM, PID_SPACE, UNKNOWN, VERSION, header,
    phase,
};
use mpi_tool_layer::mpi_sys::{self, pmpi};
use mpi_tool_layer::run::{Job, file_name, host, in_default_folder, named_folder, problem};
use mpi_tool_layer::{
    Clock, MappedFile, Word as _, launched_on_one_host, launched_rank, launched_ranks, make_room,
    options, rank_among_strangers, say, without_signals, world_position,
};

use crate::guard;
use crate::state::{MEMORY, Slot, Words, file, set_file};

/// The path of this process's file.
static PATH: AtomicPtr<PathBuf> = AtomicPtr::new(core::ptr::null_mut());

/// The path of the file that says that there was no room for all ranks, if this process has made it.
static NO_ROOM_PATH: AtomicPtr<PathBuf> = AtomicPtr::new(core::ptr::null_mut());

/// The process whose files they are: a forked child removes nothing.
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// Before MPI starts: the file is made. What goes wrong is said once, and the application runs.
///
/// Messages are noted in one `way`. With `after`, rank 0 starts what reports when no rank has moved for so many seconds.
///
/// # Safety
///
/// As of [`set_file`].
pub(crate) unsafe fn begin(depth: usize, way: u8, after: u64) {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.swap(true, AcqRel) {
        return;
    }
    PROCESS.store(std::process::id().into(), Relaxed);
    let is_first = launched_rank().unwrap_or(0) == 0;
    let job = Job::of_this_process();
    if is_first && !options::is_silent("mpi-watch") {
        complain_of_guard();
        job.complain_of_unknown("mpi-watch");
    }
    // SAFETY: the caller promises the same.
    let made = unsafe { make(&job, depth, way) };
    let (problem, effect, says_so) = match made {
        // Others may have found room: the first one that has found none says so.
        Err(problem) => match is_first_without_room(&job) {
            Ok(says_so) => (problem, "not all ranks of this run are recorded", says_so),
            Err(_) => (problem, "nothing is recorded of this run", is_first),
        },
        Ok(folder) if is_first && after > 0 => match guard::start(&folder, after) {
            Err(problem) => (problem, "nobody tells when the ranks hang (AFTER)", true),
            Ok(()) => return,
        },
        Ok(_) => return,
    };
    if says_so && !options::is_silent("mpi-watch") {
        say(format_args!("mpi-watch: {problem}; {effect}"));
    }
}

/// Says that who watches the run sees nothing of rank 0, and most likely of no rank. Of other ranks that it does not see, it
/// knows by rank 0's file that they are there, and says so itself.
fn complain_of_guard() {
    let Ok(guard) = env::var(GUARD_VARIABLE) else { return };
    let Some(folder) = named_folder().filter(|_| !guard.is_empty()) else { return };
    if !folder.join(format!("{GUARD}{guard}")).exists() {
        say(format_args!(
            "mpi-watch: rank 0, on {}, is not seen by mpi-tool run, which watches {}: that is another folder here, as on \
             another host or in a container with a file system of its own; a hang is not reported, and nothing is ended \
             (--hang-after): set MPI_TOOL_RUN to a folder that all ranks and mpi-tool run see",
            host(),
            folder.display()
        ));
    }
}

/// Is this the first rank that has found no room in the folder? That is noted there, in a file without a length.
///
/// # Errors
/// Nothing can be noted there: as a rule, nobody can have a file.
fn is_first_without_room(job: &Job) -> Result<bool, String> {
    let note = |folder: &Path| {
        let path = folder.join(NO_ROOM);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(error),
        }
        NO_ROOM_PATH.store(Box::into_raw(Box::new(path)), Release);
        // SAFETY: `atexit` takes a function that may run at the end of the process, as `room_is_there` may. Tools are never
        // unloaded, and the C library takes the function off its list where one is.
        unsafe { libc::atexit(room_is_there) };
        Ok(true)
    };
    match named_folder() {
        Some(folder) => note(&folder).map_err(|error| problem(&folder, &error, "")),
        None => in_default_folder(job, note),
    }
}

/// At the process's end: nobody needs the note any more.
extern "C" fn room_is_there() {
    // SAFETY: the place must have a box's pointer, or null: it has that of one, or none.
    if let Some(path) = unsafe { taken(&NO_ROOM_PATH) } {
        remove(&path);
    }
}

/// Takes a path out of its place.
///
/// # Safety
///
/// What is put into the place is null or `Box::into_raw` of a path.
unsafe fn taken(place: &AtomicPtr<PathBuf>) -> Option<Box<PathBuf>> {
    let path = place.swap(core::ptr::null_mut(), AcqRel);
    // SAFETY: the pointer must be of a box that nobody else has: it was taken out of where it was put, so once.
    (!path.is_null()).then(|| unsafe { Box::from_raw(path) })
}

/// Removes a file of this process, and its folder if that is empty then and the user has not named it.
fn remove(path: &Path) {
    if PROCESS.load(Relaxed) != u64::from(std::process::id()) {
        return;
    }
    let _ = fs::remove_file(path);
    let Some(folder) = path.parent() else { return };
    remove_what_is_left(folder);
    if named_folder().is_none() {
        let _ = fs::remove_dir(folder);
        let _ = folder.parent().map(fs::remove_dir);
    }
}

/// Of what was to be finalized, only the others need to know who has done so: when nobody is there any more, that goes. As a
/// rule the first name that is looked at is another rank's file.
fn remove_what_is_left(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut left = Vec::new();
    for entry in entries {
        let name = entry.file_name();
        if name.as_bytes().starts_with(LEFT.as_bytes()) {
            left.push(entry.path());
        } else if Path::new(&name).extension().is_some_and(|it| it == EXTENSION) {
            return;
        }
    }
    for file in left {
        let _ = fs::remove_file(file);
    }
}

/// Tells those that look at the folder that this rank has finalized MPI, and is not only out of sight.
fn note_end(folder: &Path, file: &Words) {
    let rank = file.get(header::RANK);
    let Some(world) = WORLD.get().filter(|_| rank != UNKNOWN) else { return };
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    if let Ok(mut file) = options.open(folder.join(format!("{LEFT}{}", host()))) {
        // In one write, which several processes of a host may do at once. What cannot be written is not known.
        let line = format!("{rank} {world}\n");
        let _ = without_signals(|| file.write_all(line.as_bytes()));
    }
}

/// The name of the world, as the file has it.
static WORLD: OnceLock<String> = OnceLock::new();

/// After MPI has started: rank and size are known.
pub(crate) fn started() {
    let Some(file) = file() else { return };
    if let Some((rank, size)) = world_position() {
        file.set(header::RANK, rank.into());
        file.set(header::SIZE, size.into());
        let hosts = launched_on_one_host(size).map_or(0, |is_one| if is_one { 1 } else { 2 });
        file.set(header::HOSTS, hosts);
        rank_among_strangers("mpi-watch", size);
        let mut level = 0;
        // SAFETY: `MPI_Query_thread` may be called from `MPI_Init` to `MPI_Finalize`, which the position shows, and writes
        // one `int`.
        unsafe { pmpi::MPI_Query_thread(&mut level) };
        // What a session is for is not known.
        let has_threads = level > mpi_sys::MPI_THREAD_FUNNELED || Slot::may_have_sessions();
        file.set(header::THREADS, has_threads.into());
        if !has_threads && file.get(header::DEPTH) == 0 {
            Slot::begin_alone();
        }
    }
    // Later sessions change nothing about it.
    if file.get(header::READY) == 0 {
        note_threads(file);
        file.set(header::READY, since_boot());
    }
    // Open MPI's is an address, which is known when MPI is there.
    file.set(header::REQUEST_NULL, pmpi::MPI_REQUEST_NULL.to_word());
    // SAFETY: `dlsym` may look for any name, and what it finds is only compared.
    let empty = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"ompi_request_empty".as_ptr()) };
    file.set(header::REQUEST_EMPTY, empty.addr() as u64);
    file.set(header::RATE, Clock::nanoseconds_per_tick().to_bits());
    file.set(header::PHASE, phase::RUNNING);
}

/// After a session was opened: rank and size are known by it where there is no world. It may be for several threads.
pub(crate) fn session_started(position: Option<(u32, u32)>) {
    let Some(file) = file() else { return };
    file.set(header::THREADS, 1);
    if let Some((rank, size)) = position.filter(|_| world_position().is_none()) {
        file.set(header::RANK, rank.into());
        file.set(header::SIZE, size.into());
    }
}

/// After the last session was finalized. Where there is no world, the process may open another one: it is in its own code until
/// then. Its file is removed at its end.
pub(crate) fn sessions_finished() {
    if let Some(file) = file().filter(|_| world_position().is_none()) {
        file.set(header::PHASE, phase::BETWEEN);
    }
}

/// Threads that are there when MPI has started are not all the application's. The kernel says when a thread started, but in steps
/// of 10 ms, in which MPI may have come to an end of starting: hence their numbers.
fn note_threads(file: &Words) {
    let entries = fs::read_dir("/proc/self/task");
    let numbers = entries.into_iter().flatten().filter_map(Result::ok);
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    let mut others = numbers.filter(|number| *number != u64::from(std::process::id()));
    for (at, number) in (header::OLDER..).zip(others.by_ref().take(header::OLDER_COUNT)) {
        file.set(at, number);
    }
    if others.next().is_some() {
        file.set(header::OLDER + header::OLDER_COUNT - 1, UNKNOWN);
    }
}

/// Nanoseconds since the machine has started, as the kernel counts them for processes.
fn since_boot() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `clock_gettime` writes the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// After `MPI_Finalize`: the process has nothing to tell any more. The last one removes the folder.
pub(crate) fn finished() {
    let Some(file) = file() else { return };
    file.set(header::PHASE, phase::FINALIZED);
    // SAFETY: the place must have a box's pointer, or null: `make` puts one there.
    let Some(path) = (unsafe { taken(&PATH) }) else { return };
    if let Some(folder) = path.parent().filter(|_| is_of_several(file)) {
        note_end(folder, file);
    }
    // Folders are empty when the last rank has left.
    remove(&path);
}

/// May there be others that look for this rank?
fn is_of_several(file: &Words) -> bool {
    PROCESS.load(Relaxed) == u64::from(std::process::id()) && file.get(header::SIZE) > 1
}

/// At the process's end: if MPI has not been finalized, the file stays, and says so.
extern "C" fn exited() {
    let Some(file) = file().filter(|_| PROCESS.load(Relaxed) == u64::from(std::process::id()))
    else {
        return;
    };
    match file.get(header::PHASE) {
        phase::FINALIZED => {}
        phase::BETWEEN => finished(),
        _ => file.set(header::PHASE, phase::EXITED),
    }
}

/// Makes the file and fills its header. Gives the folder that it is in.
///
/// # Safety
///
/// As of [`set_file`].
unsafe fn make(job: &Job, depth: usize, way: u8) -> Result<PathBuf, String> {
    let ((), path) = match named_folder() {
        Some(folder) => fs::create_dir_all(&folder)
            .and_then(|()| make_file(&folder))
            .map_err(|error| problem(&folder, &error, "set MPI_TOOL_RUN to another folder"))?,
        None => in_default_folder(job, make_file)?,
    };
    // SAFETY: the caller promises the same.
    unsafe { set_file(way) };
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let Some(file) = file() else { return Ok(folder) };
    let (rank, size) = (launched_rank().map_or(UNKNOWN, u64::from), UNKNOWN);
    let pid = std::process::id().into();
    PATH.store(Box::into_raw(Box::new(path)), Release);
    file.set(header::VERSION, VERSION);
    file.set(header::RANK, rank);
    file.set(header::SIZE, size);
    file.set(header::LAUNCHED, launched_ranks().unwrap_or(UNKNOWN));
    file.set(header::PID, pid);
    file.set(header::STARTED, job.started);
    file.set(header::PARENT, job.parent);
    file.set(header::PID_SPACE, fs::metadata(PID_SPACE).map_or(0, |space| space.ino()));
    file.set(header::DEPTH, depth as u64);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    file.set(header::TICKS, Clock::now());
    file.set(header::CREATED, now);
    file.set_text(header::HOST, header::HOST_WORDS, host().as_bytes(), false);
    let has_int_handles = size_of::<mpi_sys::MPI_Comm>() == size_of::<i32>();
    file.set(header::INT_HANDLES, has_int_handles.into());
    file.set(header::ANY_SOURCE, mpi_sys::MPI_ANY_SOURCE.to_word());
    file.set(header::PROC_NULL, mpi_sys::MPI_PROC_NULL.to_word());
    file.set(header::ANY_TAG, mpi_sys::MPI_ANY_TAG.to_word());
    let program = env::current_exe().unwrap_or_default();
    file.set_text(header::PROGRAM, header::PROGRAM_WORDS, program.as_os_str().as_bytes(), true);
    file.set_text(header::WORLD, header::WORLD_WORDS, job.world.as_bytes(), true);
    let _ = WORLD.set(job.world.clone());
    file.set(header::PHASE, phase::STARTING);
    file.set(header::MAGIC, MAGIC);
    // SAFETY: `atexit` takes a function that may run at the end of the process: `exited` writes to the mapped file
    // only.
    // Tools are never unloaded, and the C library takes the function off its list where one is.
    unsafe { libc::atexit(exited) };
    Ok(folder)
}

/// A new file in a folder, mapped.
fn make_file(folder: &Path) -> io::Result<((), PathBuf)> {
    let path = folder.join(file_name(EXTENSION));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW);
    let file = match options.open(&path) {
        // Of an earlier process with this number.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(&path)?;
            options.open(&path)
        }
        opened => opened,
    }?;
    let mapped = map(&file);
    if mapped.is_err() {
        let _ = fs::remove_file(&path);
    }
    Ok((mapped?, path))
}

/// Maps a new file to [`MEMORY`], for as long as the process lives. The file's memory is there at once, so that no store can
/// fail later.
fn map(file: &fs::File) -> io::Result<()> {
    let length = size_of::<Words>();
    make_room(file, length as u64)?;
    let address = NonNull::from(&MEMORY).cast();
    // SAFETY: the pages must be nobody else's: they are all of a static's, which begins at a page and has a whole number of them. It
    // has atomic numbers only, all of them 0, and so have the new pages.
    unsafe { MappedFile::in_place_of(address, file, length) }.map(drop)
}
