//! Where numbers stand in the header, in a chunk and in a definition.

/// Words of the header.
pub mod header {
    /// [`super::super::MAGIC`], written last.
    pub const MAGIC: usize = 0;
    /// [`super::super::VERSION`]
    pub const VERSION: usize = 1;
    /// The rank in `MPI_COMM_WORLD`, or [`super::super::UNKNOWN`].
    pub const RANK: usize = 2;
    /// The size of `MPI_COMM_WORLD`, or [`super::super::UNKNOWN`].
    pub const SIZE: usize = 3;
    /// The process.
    pub const PID: usize = 4;
    /// By how many bits ticks are shifted to the right.
    pub const SHIFT: usize = 5;
    /// Nanoseconds a tick, as the bits of a `f64`; 0 as long as that is not known.
    pub const RATE: usize = 6;
    /// The clock's ticks, not shifted, at a moment when the file was made.
    pub const TICKS: usize = 7;
    /// Nanoseconds since 1970 at that moment.
    pub const CREATED: usize = 8;
    /// The ticks at `MPI_Finalize`, or 0.
    pub const END_TICKS: usize = 9;
    /// Nanoseconds since 1970 then.
    pub const ENDED: usize = 10;
    /// Calls that are not in the file, since there was no room for them.
    pub const LOST: usize = 11;
    /// Bytes of chunks that were used again for later calls, in a file that keeps the last ones only.
    pub const OVERWRITTEN: usize = 12;
    /// What the MPI calls `MPI_ANY_SOURCE`.
    pub const ANY_SOURCE: usize = 13;
    /// `MPI_ANY_TAG`.
    pub const ANY_TAG: usize = 14;
    /// `MPI_PROC_NULL`.
    pub const PROC_NULL: usize = 15;
    /// The host's name, in bytes up to a NUL.
    pub const HOST: usize = 16;
    /// Its words.
    pub const HOST_WORDS: usize = 16;
    /// The program's path, its last bytes if it is long.
    pub const PROGRAM: usize = 32;
    /// Its words.
    pub const PROGRAM_WORDS: usize = 64;
    /// What tells worlds apart: the launcher's name for the job.
    pub const WORLD: usize = 96;
    /// Its words.
    pub const WORLD_WORDS: usize = 16;
    /// What the user has left out: bits of [`super::filter`].
    pub const FILTER: usize = 112;
    /// The ticks, not shifted, when the application switched tracing off for the first time, or 0.
    pub const FIRST_OFF: usize = 113;
    /// The ticks when it switched tracing on for the last time; [`super::super::UNKNOWN`] while it is off.
    pub const LAST_ON: usize = 114;
    /// How many places a call site has at most; 0 if calls have none.
    pub const DEPTH: usize = 115;
}

/// What is left out of a trace.
pub mod filter {
    /// All functions but chosen ones.
    pub const FUNCTIONS: u64 = 1;
    /// Short calls that have moved nothing.
    pub const SHORT: u64 = 2;
    /// All ranks but chosen ones.
    pub const RANKS: u64 = 4;
}

/// Words at the beginning of a chunk.
pub mod chunk {
    /// The whole chunk's length in bytes; 0 where no chunk is.
    pub const LENGTH: usize = 0;
    /// How many bytes of records there are.
    pub const USED: usize = 1;
    /// The thread's number in the process, from 0, or [`super::super::UNKNOWN`] if the chunk has definitions.
    pub const THREAD: usize = 2;
    /// The how-manieth chunk of the thread it is, from 0.
    pub const SEQUENCE: usize = 3;
    /// The number of the thread's first call in it.
    pub const FIRST: usize = 4;
    /// The time from which the first distance counts, not shifted.
    pub const TIME: usize = 5;
    /// How many words these are.
    pub const WORDS: usize = 6;
    /// Where records begin, in bytes.
    pub const RECORDS: usize = WORDS * 8;
}

/// Kinds of definitions. Each is followed by the length of the rest in bytes, so that a reader may skip it. Numbers come
/// first, and the rest of the rest is a name.
pub mod define {
    /// A function: its number in this file, and its name.
    pub const FUNCTION: u64 = 1;
    /// A communicator: its number in this file, its identity, the sizes of its group and of the other one (or 0), and its
    /// name.
    pub const COMMUNICATOR: u64 = 2;
    /// A function of which calls were made that are not in the file, as the user has left it out: 0, and its name. Only
    /// those are named whose calls [hide](super::super::Hidden) something.
    pub const LEFT_OUT: u64 = 3;
    /// A program or library that calls come from: its number in this file, and a piece of its path, which goes behind the
    /// pieces before.
    pub const MODULE: u64 = 4;
    /// The build ID of one: its number, and the ID in hexadecimal digits.
    pub const BUILD_ID: u64 = 5;
    /// A call site: its number in this file, and for each of its places, the call's own first, the number of the program or
    /// library, and the offset in it. There is no name.
    pub const SITE: u64 = 6;
}
