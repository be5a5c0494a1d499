//! The state file of `mpi-watch`: where each number stands, for the tool that writes it and the program that reads it.
//!
//! A file is an array of [`WORDS`] 64-bit words in the processor's order. Areas of it are tables of entries with one
//! length each; a constant names the first word of an area, and constants of an entry are relative to the entry.
//! The files of all ranks of a run lie in one folder, and nothing in them is an address that a reader could follow.
//!
//! # How a moment is read
//!
//! The process writes with plain stores in this order: [`slot::ENTERED`] becomes one more, then come the call's
//! fields, then [`slot::FUNCTION`] without [`slot::OUTSIDE`], which is set when the call is over. Whoever copies the whole
//! file twice, one after the other, and finds one `ENTERED` in both and no `OUTSIDE` in the first, has fields of one call
//! in the first. What a function has no parameter for is not written: those words are an earlier call's.

use std::env;
use std::path::PathBuf;

use crate::{Completion, FunctionClass, FunctionId, NONE, Pattern, Shape, Timing, only_tells};

/// The first word, written last: `MPIWATCH`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"MPIWATCH");
/// Which layout this is. It becomes another one whenever a constant here does.
pub const VERSION: u64 = 10;
/// The length of a file.
pub const WORDS: usize = 9216;
/// How a file's name ends.
pub const EXTENSION: &str = "watch";
/// The file whose number is [`header::PID_SPACE`].
pub const PID_SPACE: &str = "/proc/self/ns/pid";
/// A file beside these, of no length: there was no room for all of them.
pub const NO_ROOM: &str = "no-room";
/// How the names begin of files beside these that say which ranks have finalized MPI, as these have no file any more: one of
/// each host, a line for each rank, with its rank and the name of its world.
pub const LEFT: &str = "left-";
/// How the name begins of a file beside these, of no length, by which a rank knows that the process which watches the run
/// sees this folder. What follows is the value of [`GUARD_VARIABLE`].
pub const GUARD: &str = "guard-";
/// The variable of the environment that tells ranks that a process watches the run.
pub const GUARD_VARIABLE: &str = "MPI_TOOL_GUARD";
/// The variable with a name for the run that no other one has: `mpi-tool run` sets it.
pub const JOB_VARIABLE: &str = "MPI_TOOL_JOB";
/// How names of worlds begin that only this host's processes know the world by: launchers have a process of their own on each
/// host. Other names are the same on all hosts. An empty name is one that is not known.
pub const OF_HOST: char = '~';
/// A number that is not known.
pub const UNKNOWN: u64 = u64::MAX;

/// Words of the header.
pub mod header {
    /// [`super::MAGIC`]
    pub const MAGIC: usize = 0;
    /// [`super::VERSION`]
    pub const VERSION: usize = 1;
    /// The rank in `MPI_COMM_WORLD`, or in the process set `mpi://WORLD`, or [`super::UNKNOWN`].
    pub const RANK: usize = 2;
    /// The size of `MPI_COMM_WORLD`, or [`super::UNKNOWN`].
    pub const SIZE: usize = 3;
    /// The process.
    pub const PID: usize = 4;
    /// When the process started, as `/proc/PID/stat` says it.
    pub const STARTED: usize = 5;
    /// When the file was made, in nanoseconds since 1970, and the clock's ticks at that moment.
    pub const CREATED: usize = 6;
    /// The ticks at [`CREATED`].
    pub const TICKS: usize = 7;
    /// Nanoseconds a tick, as the bits of a `f64`; 0 as long as that is not known.
    pub const RATE: usize = 8;
    /// What has become of the process: [`super::phase`].
    pub const PHASE: usize = 9;
    /// For what there was no room: [`super::full`].
    pub const FULL: usize = 10;
    /// How many places a call site has.
    pub const DEPTH: usize = 11;
    /// How many modules there are.
    pub const MODULES: usize = 12;
    /// How many sites there are.
    pub const SITES: usize = 13;
    /// The process that started this one.
    pub const PARENT: usize = 14;
    /// Are the MPI's handles `int`s, 1, or addresses, 0?
    pub const INT_HANDLES: usize = 15;
    /// The host's name, in bytes up to a NUL.
    pub const HOST: usize = 16;
    /// Its words.
    pub const HOST_WORDS: usize = 8;
    /// The program's path, its last bytes if it is long.
    pub const PROGRAM: usize = 24;
    /// Its words.
    pub const PROGRAM_WORDS: usize = 24;
    /// What tells worlds apart: the launcher's name for the job.
    pub const WORLD: usize = 48;
    /// Its words.
    pub const WORLD_WORDS: usize = 11;
    /// May other threads than the main one call MPI, 1, or not, 0?
    pub const THREADS: usize = 59;
    /// The MPI's `MPI_ANY_SOURCE`, whose number depends on the ABI.
    pub const ANY_SOURCE: usize = 60;
    /// `MPI_PROC_NULL`.
    pub const PROC_NULL: usize = 61;
    /// `MPI_ANY_TAG`.
    pub const ANY_TAG: usize = 62;
    /// `MPI_REQUEST_NULL`.
    pub const REQUEST_NULL: usize = 63;
    /// Has `MPI_COMM_SELF` got an attribute, 1, or not, 0? Its callback may still work in `MPI_Finalize`.
    pub const SELF_ATTRIBUTES: usize = 64;
    /// Open MPI's request of operations that are complete at once, `ompi_request_empty`; 0 where that is not known.
    pub const REQUEST_EMPTY: usize = 65;
    /// Has the program made reduction operations of its own, 1, or not, 0? A rank may work in one of them, in a call.
    pub const OPERATIONS: usize = 66;
    /// Has it made error handlers? A rank may work in one of them, in any call.
    pub const ERROR_HANDLERS: usize = 67;
    /// The number of the process's namespace of process numbers, in which [`PID`] is one; 0 if it is not known.
    pub const PID_SPACE: usize = 68;
    /// When MPI had started, in nanoseconds after the machine did: threads that are older are not all the application's.
    /// [`OLDER`] is written before.
    pub const READY: usize = 69;
    /// May the first slot be several threads', 1, or not, 0? Then nobody knows what the call waits for that is in it.
    pub const MIXED: usize = 70;
    /// The threads that were there when MPI had started, but the first one, and zeros: their numbers. Where there were more, the
    /// last one is [`super::UNKNOWN`].
    pub const OLDER: usize = 71;
    /// How many there may be.
    pub const OLDER_COUNT: usize = 9;
    /// Are the ranks of the world on one host, 1, or on several, 2? 0 if the launcher does not say that.
    pub const HOSTS: usize = 80;
    /// How many processes the launcher has started, or [`super::UNKNOWN`]: for as long as MPI has not said the size.
    pub const LAUNCHED: usize = 81;
    /// The header's length.
    pub const LENGTH: usize = 88;
}

/// Values of [`header::PHASE`].
pub mod phase {
    /// Before `MPI_Init` has returned.
    pub const STARTING: u64 = 0;
    /// In between.
    pub const RUNNING: u64 = 1;
    /// `MPI_Finalize` has returned.
    pub const FINALIZED: u64 = 2;
    /// The process has ended without `MPI_Finalize`.
    pub const EXITED: u64 = 3;
    /// All sessions are finalized, and there is no world. Others may be opened.
    pub const BETWEEN: u64 = 4;
}

/// Bits of [`header::FULL`].
pub mod full {
    /// Threads.
    pub const THREADS: u64 = 1;
    /// Communicators, windows and files.
    pub const GROUPS: u64 = 2;
    /// Members of them.
    pub const MEMBERS: u64 = 4;
    /// Requests.
    pub const REQUESTS: u64 = 8;
    /// Window locks.
    pub const LOCKS: u64 = 16;
    /// Modules.
    pub const MODULES: u64 = 32;
    /// Communicators, windows and files that were freed: not all of these are there any more. Or some of those that are there
    /// are not known.
    pub const GONE: u64 = 64;
    /// Epochs of windows, or somebody whom they are with.
    pub const EPOCHS: u64 = 128;
}

/// Programs and libraries that call sites are in. A function of Python is one by itself.
pub mod module {
    /// The first one's first word.
    pub const AREA: usize = super::header::LENGTH;
    /// How many there may be.
    pub const COUNT: usize = 48;
    /// The path, in bytes up to a NUL; of a function of Python, that and the file, as places have them.
    pub const PATH: usize = 0;
    /// Its words.
    pub const PATH_WORDS: usize = 27;
    /// How many bytes the build ID has.
    pub const ID_LENGTH: usize = 27;
    /// The build ID.
    pub const ID: usize = 28;
    /// Its words.
    pub const ID_WORDS: usize = 4;
    /// The length of an entry.
    pub const LENGTH: usize = 32;
}

/// What a thread is doing.
pub mod slot {
    /// The first one's first word.
    pub const AREA: usize = super::module::AREA + super::module::COUNT * super::module::LENGTH;
    /// How many threads may have one, beside the first one.
    pub const THREADS: usize = 8;
    /// How many there are. The first one is for the only thread that calls MPI, where that is known.
    pub const COUNT: usize = 1 + THREADS;
    /// How many calls the thread has made, with the one that it is in. As long as it is 0, nothing else means anything.
    pub const ENTERED: usize = 0;
    /// The call (the value of [`ENTERED`]) from inside of which the thread has called MPI again, and how often it has done so
    /// in all. Or it has left that call by a jump. Nobody knows what the thread does until its next call.
    pub const NESTED: usize = 1;
    /// How often.
    pub const NESTED_CALLS: usize = 8;
    /// The function of the call, or of the last one: the index of a [`FunctionId`](crate::FunctionId), with [`OUTSIDE`].
    pub const FUNCTION: usize = 2;
    /// A bit beside the function: the thread is not in the call any more.
    pub const OUTSIDE: u64 = 1 << 16;
    /// When it was entered, in ticks. Not written without call sites by messages ([`super::NO_TIME`]).
    pub const SINCE: usize = 3;
    /// The number of the call's site.
    pub const SITE: usize = 4;
    /// Destination, target or root, as the application has passed it.
    pub const PEER: usize = 5;
    /// The source, as the application has passed it.
    pub const SOURCE: usize = 6;
    /// The first tag. In `MPI_Win_lock`: whether the lock is to be exclusive, 1, or shared, 0.
    pub const TAG: usize = 7;
    /// The communicator's handle; only the lower half means something where handles are `int`s
    /// ([`INT_HANDLES`](super::header::INT_HANDLES)).
    pub const COMM: usize = 9;
    /// The window's or the file's handle. In calls that some processes make together, the identity of what they are
    /// operations of ([`super::kind::MEETING`]), and in the places of requests what `MPI_Intercomm_create` and its kin are
    /// to the leaders: identity and number, zeros elsewhere, and the own leader's world rank.
    pub const OBJECT: usize = 10;
    /// The number of the collective operation on its communicator, window or file, from 1, with those that have failed as in
    /// [`group::NUMBER`](super::group::NUMBER); 0 if it is not counted. Not written by all ([`super::has_no_number`]).
    pub const NUMBER: usize = 11;
    /// How many requests the call was given.
    pub const REQUESTS: usize = 12;
    /// The thread.
    pub const THREAD: usize = 13;
    /// Where its stack was when it came into the call. Means nothing to readers.
    pub const STACK: usize = 14;
    /// The tag of what `MPI_Sendrecv` and its kin receive.
    pub const RECEIVED_TAG: usize = 15;
    /// The places of a site for which there was no room elsewhere.
    pub const PLACES: usize = 16;
    /// The handles of the first requests.
    pub const HANDLES: usize = 24;
    /// How many of them there may be.
    pub const MOST_HANDLES: usize = 64;
    /// The length of an entry.
    pub const LENGTH: usize = HANDLES + MOST_HANDLES;
}

/// Who is in a communicator, a window or a file, and which collective operations there were on it.
pub mod group {
    /// The first one's first word.
    pub const AREA: usize = super::slot::AREA + super::slot::COUNT * super::slot::LENGTH;
    /// How many there may be.
    pub const COUNT: usize = 44;
    /// What it is, [`super::kind`]; 0 of a free entry. Written last.
    pub const KIND: usize = 0;
    /// The handle; [`NO_HANDLE`] of what is gone.
    pub const HANDLE: usize = 1;
    /// What no handle is as a word: neither an `int` with its sign nor an address.
    pub const NO_HANDLE: u64 = 1 << 63 | 1;
    /// The same on all ranks.
    pub const IDENTITY: usize = 2;
    /// That of the communicator with the processes that have spawned this world.
    pub const PARENT: u64 = 3;
    /// How many collective operations have begun on it, and from bit [`FAILED_SHIFT`] how many have returned an error: of
    /// these, nobody knows whether the others have counted them, too.
    pub const NUMBER: usize = 3;
    /// From this bit on.
    pub const FAILED_SHIFT: u32 = 48;
    /// The last operations, by their numbers modulo [`HISTORY_WORDS`]: function, and site from bit 32.
    pub const HISTORY: usize = 4;
    /// How many.
    pub const HISTORY_WORDS: usize = 4;
    /// Its name, in bytes up to a NUL.
    pub const NAME: usize = 8;
    /// Its words.
    pub const NAME_WORDS: usize = 8;
    /// The own group.
    pub const OWN: usize = 16;
    /// The other group, of a communicator between two; its size is 0 elsewhere.
    pub const OTHER: usize = 20;
    /// Relative to one of the two: how many processes.
    pub const SIZE: usize = 0;
    /// The first one's world rank, or where the list of world ranks begins in the area of members, in halves of words.
    pub const FIRST: usize = 1;
    /// How far they are apart.
    pub const STRIDE: usize = 2;
    /// Whether that is so ([`REGULAR`]), or there is a list ([`LISTED`]), or neither.
    pub const FORM: usize = 3;
    /// World ranks are evenly spaced.
    pub const REGULAR: u64 = 1;
    /// World ranks are listed.
    pub const LISTED: u64 = 2;
    /// In a list: a process that is not in the world.
    pub const NOBODY: u32 = u32::MAX;
    /// The length of an entry.
    pub const LENGTH: usize = 24;
}

/// Values of [`group::KIND`].
pub mod kind {
    /// A communicator.
    pub const COMMUNICATOR: u64 = 1;
    /// A window.
    pub const WINDOW: u64 = 2;
    /// A file.
    pub const FILE: u64 = 3;
    /// One of these that was freed: its identity and its operations stay, so that others see that this process has come
    /// to them, until the entry is needed.
    pub const GONE: u64 = 4;
    /// What calls of some processes are the operations of, such as `MPI_Comm_create_group`: those with one group, tag and
    /// communicator, or with one group and string. It has no handle, and is [`GONE`] as long as this process is in no such call.
    pub const MEETING: u64 = 5;
}

/// World ranks of members, two in a word, the lower half first.
pub mod members {
    /// The first word.
    pub const AREA: usize = super::group::AREA + super::group::COUNT * super::group::LENGTH;
    /// How many words.
    pub const WORDS: usize = 512;
}

/// Requests that are not complete.
pub mod request {
    /// The first one's first word.
    pub const AREA: usize = super::members::AREA + super::members::WORDS;
    /// How many there may be.
    pub const COUNT: usize = 256;
    /// An entry is one of so many that follow the one of the handle's hash.
    pub const REACH: usize = 8;
    /// The handle.
    pub const HANDLE: usize = 0;
    /// [`ACTIVE`], [`PERSISTENT`], [`CLAIMED`], and the function from bit 8; 0 of a free entry.
    pub const STATE: usize = 1;
    /// The operation is under way.
    pub const ACTIVE: u64 = 1;
    /// It is started again and again.
    pub const PERSISTENT: u64 = 2;
    /// The entry is being written.
    pub const CLAIMED: u64 = 4;
    /// There was another request with this handle, which was not complete as far as anybody knew: so the MPI gives the handle to
    /// several operations that are complete already, or the other one is gone in a way that nobody has seen.
    pub const SHARED: u64 = 8;
    /// The bits of these.
    pub const KIND: u64 = 0xff;
    /// The function in the state: so many bits.
    pub const FUNCTION_SHIFT: u32 = 8;
    /// Destination, source or root, as the application has passed it.
    pub const PEER: usize = 2;
    /// The tag.
    pub const TAG: usize = 3;
    /// The communicator's handle.
    pub const COMM: usize = 4;
    /// The site of the call that has made it.
    pub const SITE: usize = 5;
    /// The number of the collective operation, as in [`group::NUMBER`](super::group::NUMBER), or 0. Of `MPI_Psend_init`: how
    /// many parts the message has ([`PARTITIONS`]), and from bit [`READY_SHIFT`] how many are ready since it was started.
    pub const NUMBER: usize = 6;
    /// The bits of the number of parts.
    pub const PARTITIONS: u64 = 0xffff_ffff;
    /// Those of the parts that are ready.
    pub const READY_SHIFT: u32 = 32;
    /// How often it was started, of a persistent request.
    pub const STARTS: usize = 7;
    /// The length of an entry.
    pub const LENGTH: usize = 8;

    /// Is a handle that of operations which are complete when their functions return? MPICH and its kin have such handles,
    /// which are built in, where handles are `int`s, and Open MPI has one, which is `empty` if it is known.
    pub const fn is_complete_at_once(handle: u64, has_int_handles: bool, empty: u64) -> bool {
        if has_int_handles {
            handle as u32 & 0xfc00_0000 == 0x6c00_0000
        } else {
            handle == empty && empty != 0
        }
    }

    /// Where a handle is first looked for.
    pub const fn place(handle: u64) -> usize {
        (handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % COUNT
    }
}

/// Locks of windows that this process holds.
pub mod lock {
    /// The first one's first word.
    pub const AREA: usize = super::request::AREA + super::request::COUNT * super::request::LENGTH;
    /// How many there may be.
    pub const COUNT: usize = 16;
    /// The window's handle; 0 of a free entry.
    pub const WINDOW: usize = 0;
    /// The target, or [`super::UNKNOWN`] for all.
    pub const TARGET: usize = 1;
    /// Is it exclusive?
    pub const EXCLUSIVE: usize = 2;
    /// The site of the call.
    pub const SITE: usize = 3;
    /// The length of an entry.
    pub const LENGTH: usize = 4;
}

/// Epochs of windows, by the process that they are with.
pub mod epoch {
    /// The first one's first word.
    pub const AREA: usize = super::lock::AREA + super::lock::COUNT * super::lock::LENGTH;
    /// How many there may be.
    pub const COUNT: usize = 64;
    /// The window's handle; 0 of a free entry.
    pub const WINDOW: usize = 0;
    /// In the place of a handle: the entry is being written.
    pub const CLAIMED: u64 = u64::MAX;
    /// The other process, as a rank of the world.
    pub const PEER: usize = 1;
    /// How often the window was opened to it (`MPI_Win_post`).
    pub const POSTED: usize = 2;
    /// How often the process has begun to reach it (`MPI_Win_start`, counted when the call begins).
    pub const STARTED: usize = 3;
    /// How many of these are over (`MPI_Win_complete`).
    pub const COMPLETED: usize = 4;
    /// How many of those that the window was opened for are over (`MPI_Win_wait`).
    pub const WAITED: usize = 5;
    /// The length of an entry.
    pub const LENGTH: usize = 6;
}

/// Call sites: [`header::DEPTH`] words each, of places: the module's number plus 1 from bit 56, and the offset in it.
/// 0 is no place. The site of number 1 is the first.
pub mod site {
    /// The first one's first word.
    pub const AREA: usize = super::epoch::AREA + super::epoch::COUNT * super::epoch::LENGTH;
    /// How many words there are.
    pub const WORDS: usize = super::WORDS - AREA;
    /// The module of a place: so many bits.
    pub const MODULE_SHIFT: u32 = 56;
}

const _: () = assert!(site::AREA + 512 * 4 <= WORDS, "there is room for sites");

/// Are functions of a class about messages between two ranks, or about requests? Then their calls have no number.
pub const fn has_no_number(class: FunctionClass) -> bool {
    use FunctionClass::{Completion, Partitioned, PointToPoint};
    matches!(class, PointToPoint | Partitioned | Completion)
}

/// The functions that programs call in loops, which the tool notes on its fast path: messages and probes, collective operations,
/// the completion of their requests, and what [only tells](only_tells) something.
pub const FAST: [bool; FunctionId::COUNT] = table(false);

/// Those of them of which it is not written, without call sites, when a call began: messages, and what returns at once.
pub const NO_TIME: [bool; FunctionId::COUNT] = table(true);

const fn table(has_no_time: bool) -> [bool; FunctionId::COUNT] {
    let mut table = [false; FunctionId::COUNT];
    let mut index = 0;
    while index < table.len() {
        if let Some(function) = FunctionId::from_index(index) {
            let shape = Shape::of(function);
            let is_wanted = !has_no_time || is_over_soon(&shape);
            let is_quick = is_quick(&shape) && is_wanted || only_tells(function);
            table[index] = !function.is_large_count() && is_quick;
        }
        index += 1;
    }
    table
}

const fn is_quick(shape: &Shape) -> bool {
    let is_now = matches!(shape.timing, Timing::Blocking);
    let is_started = matches!(shape.timing, Timing::Started) && shape.new_request != NONE;
    match shape.class {
        FunctionClass::PointToPoint => {
            (is_now || is_started)
                && shape.communicator != NONE
                && (shape.destination != NONE || shape.source != NONE)
        }
        FunctionClass::Collective => {
            shape.is_of_all() || is_started && shape.new_communicator == NONE
        }
        FunctionClass::Completion => !matches!(shape.completion, Completion::None),
        _ => false,
    }
}

const fn is_over_soon(shape: &Shape) -> bool {
    let is_message = matches!(shape.class, FunctionClass::PointToPoint)
        && !matches!(shape.pattern, Pattern::Nothing);
    is_message || matches!(shape.timing, Timing::Started) || shape.flag != NONE
}

/// The folders below which runs have their folders, unless `MPI_TOOL_RUN` names one: the first one that can be had is
/// taken. A user's own, by the user's number.
pub fn run_roots(user: u32) -> [PathBuf; 2] {
    let temporary = env::var_os("TMPDIR").filter(|folder| !folder.is_empty());
    let temporary = temporary.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    [PathBuf::from("/dev/shm"), temporary].map(|folder| folder.join(format!("mpi-tool-{user}")))
}

/// May two processes be of one world, as its names say? Each is a name and the host that it is of. Ranks and sizes are to be
/// compared, too.
pub fn may_be_one_world(one: (&str, &str), other: (&str, &str)) -> bool {
    let ((one, one_host), (other, other_host)) = (one, other);
    let is_for_all = |name: &str| !name.starts_with(OF_HOST);
    if one.is_empty() || other.is_empty() {
        return true;
    }
    if is_for_all(one) && is_for_all(other) || one_host == other_host {
        return one == other;
    }
    true
}

/// When a process started, in clock ticks after the machine did, and which process has started it: by the contents of
/// `/proc/PID/stat`. A process's name, which is in parentheses, may contain anything.
pub fn started_and_parent(stat: &str) -> Option<(u64, u64)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some((fields.get(19)?.parse().ok()?, fields.get(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::may_be_one_world;

    /// Names for all hosts must be the same. Those that hosts have themselves are compared on one host only.
    #[test]
    fn worlds_are_told_apart_by_their_names() {
        for (one, other, is_one) in [
            (("slurm-1.0", "n1"), ("slurm-1.0", "n2"), true),
            (("slurm-1.0", "n1"), ("slurm-1.1", "n2"), false),
            (("~mpiexec-7-1", "n1"), ("~mpiexec-9-1", "n2"), true),
            (("~mpiexec-7-1", "n1"), ("~mpiexec-9-1", "n1"), false),
            (("", "n1"), ("~mpiexec-9-1", "n1"), true),
        ] {
            assert_eq!(may_be_one_world(one, other), is_one, "{one:?} {other:?}");
        }
    }
}
