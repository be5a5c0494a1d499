//! The file, and the mapped chunks of it that threads write to.

use core::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, Release},
};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};

use mpi_facts::trace::{HEADER, LONGEST, PAGE, UNKNOWN, Writer, chunk, header};
use mpi_tool_layer::{InChild, MappedFile, is_forked_child, may_have_bytes, say};

/// The longest chunk, in bytes. A thread's first ones are shorter.
const LONGEST_CHUNK: usize = 1 << 16;

/// The file, once it is there.
static STORE: Mutex<Option<Store>> = Mutex::new(None);

/// There is a file.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

struct Store {
    file: File,
    header: Chunk,
    /// In bytes.
    length: usize,
    /// As many as the longest part has bytes.
    zeros: Box<[u8]>,
    /// Of a file that may have so many bytes only, chunks that no thread writes to any more, oldest first: where they are,
    /// and how long.
    full: VecDeque<(usize, usize)>,
    definitions: Option<Chunk>,
    /// How many bytes of the definitions' chunk are used.
    defined: usize,
    definition_chunks: u64,
    /// It was said that there is no room.
    has_complained: bool,
}

/// A part of the file in memory. It belongs to the thread that has got it from [`next_chunk`], until that gives it back
/// there.
#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    mapped: MappedFile,
    /// Where it is in the file.
    offset: usize,
    length: usize,
}

impl Chunk {
    /// How many bytes of records there may be.
    #[inline(always)]
    pub(crate) fn room(self) -> usize {
        self.length - chunk::RECORDS
    }

    /// Where a record goes that begins so many bytes behind the first one.
    ///
    /// # Safety
    /// `at + LONGEST` is not beyond the room, and nobody else uses that memory while the reference lives.
    #[inline(always)]
    pub(crate) unsafe fn place<'a>(self, at: usize) -> &'a mut [u8; LONGEST] {
        // SAFETY: the memory must be there and be nobody else's: the caller says so, and the chunk is mapped.
        unsafe { self.mapped.address().add(chunk::RECORDS + at).cast().as_mut() }
    }

    /// A word at the beginning.
    #[inline(always)]
    fn word(&self, number: usize) -> &AtomicU64 {
        debug_assert!((number + 1) * 8 <= self.length);
        // SAFETY: the memory must be there, aligned, and written by atomics only: the chunk is mapped, at a multiple of
        // the page's size, and is longer; records begin behind the words of a chunk, and the header has none.
        unsafe { self.mapped.address().cast::<AtomicU64>().add(number).as_ref() }
    }

    /// So many bytes of records are whole.
    #[inline(always)]
    pub(crate) fn set_used(self, used: usize) {
        self.word(chunk::USED).store(used as u64, Release);
    }

    /// The chunk is a thread's from now on.
    pub(crate) fn begin(self, thread: u64, sequence: u64, first: u64, time: u64) {
        self.set_used(0);
        for (word, value) in [
            (chunk::THREAD, thread),
            (chunk::SEQUENCE, sequence),
            (chunk::FIRST, first),
            (chunk::TIME, time),
            (chunk::LENGTH, self.length as u64),
        ] {
            self.word(word).store(value, Release);
        }
    }

    /// Maps a part of the file, whose memory is there.
    fn map(file: &File, offset: usize, length: usize) -> io::Result<Self> {
        MappedFile::new(file, offset, length, InChild::Copy).map(|mapped| Self {
            mapped,
            offset,
            length,
        })
    }

    /// Takes the chunk out of the memory. It stays in the file.
    fn unmap(self) {
        // SAFETY: nobody may use the memory any more: the chunk's owner has given it back.
        unsafe { self.mapped.unmap() };
    }
}

/// Is there a file?
pub(crate) fn is_open() -> bool {
    IS_OPEN.load(Relaxed)
}

/// Begins with an empty file, and fills its header by a function.
pub(crate) fn open(file: File, fill: impl FnOnce(&dyn Fn(usize, u64))) -> io::Result<()> {
    let zeros = vec![0; LONGEST_CHUNK.max(HEADER)].into_boxed_slice();
    grow(&file, 0, &zeros[..HEADER])?;
    let header = Chunk::map(&file, 0, HEADER)?;
    fill(&|at, value| header.word(at).store(value, Release));
    let store = Store {
        file,
        header,
        length: HEADER,
        zeros,
        full: VecDeque::new(),
        definitions: None,
        defined: 0,
        definition_chunks: 0,
        has_complained: false,
    };
    *STORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(store);
    IS_OPEN.store(true, Release);
    Ok(())
}

/// Sets a word of the file's header.
pub(crate) fn set(at: usize, value: u64) {
    with(|store| store.header.word(at).store(value, Release));
}

/// So many calls are not recorded.
#[cold]
pub(crate) fn lost(calls: u64) {
    with(|store| store.header.word(header::LOST).fetch_add(calls, Relaxed));
}

/// Does something with the file. `None` without one, in a signal handler that has come while this thread was here, and in a forked
/// child: the file is its parent's.
fn with<R>(f: impl FnOnce(&mut Store) -> R) -> Option<R> {
    thread_local! {
        static IS_INSIDE: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
    }
    if is_forked_child() || IS_INSIDE.replace(true) {
        return None;
    }
    let result = STORE.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(f);
    IS_INSIDE.set(false);
    result
}

/// Makes room in the file, so that no store to it can fail later: by zeros. Their pages are in memory at once and lie
/// together, so that the first stores to them take a sixth of the time that they take where `posix_fallocate` has made the
/// room (ext4, 64 kB).
fn grow(file: &File, offset: usize, zeros: &[u8]) -> io::Result<()> {
    may_have_bytes((offset + zeros.len()) as u64)?;
    let written = file.write_all_at(zeros, offset as u64);
    if written.is_err() {
        // What there was room for is no chunk.
        let _ = file.set_len(offset as u64);
    }
    written
}

impl Store {
    /// A new part of the file, or the oldest one again if the file is as long as it may be.
    fn chunk(&mut self, length: usize, most: Option<usize>) -> Option<Chunk> {
        if most.is_some_and(|most| self.length + length > most)
            && let Some((offset, length)) = self.full.pop_front()
        {
            self.header.word(header::OVERWRITTEN).fetch_add(length as u64, Relaxed);
            return Chunk::map(&self.file, offset, length).ok();
        }
        // It was said that nothing more is recorded: asking the system again would cost each call.
        if self.has_complained {
            return None;
        }
        let new = grow(&self.file, self.length, &self.zeros[..length])
            .and_then(|()| Chunk::map(&self.file, self.length, length));
        match new {
            Ok(chunk) => {
                self.length += length;
                Some(chunk)
            }
            Err(error) => {
                if !core::mem::replace(&mut self.has_complained, true) {
                    say(format_args!(
                        "mpi-trace: no room for the trace: {error}; this process's further calls are not recorded"
                    ));
                }
                None
            }
        }
    }
}

/// Where a thread's next records go, and gives back where its last ones went. `ring`: how many megabytes the file may
/// have; 0 for any.
pub(crate) fn next_chunk(last: Option<Chunk>, number: u64, ring: u64) -> Option<Chunk> {
    let length = (PAGE << number.min(16)).min(LONGEST_CHUNK);
    let most = (ring > 0).then(|| (ring as usize).saturating_mul(1 << 20));
    with(|store| {
        if let Some(last) = last {
            last.unmap();
            if most.is_some() {
                store.full.push_back((last.offset, last.length));
            }
        }
        store.chunk(length, most)
    })
    .flatten()
}

/// As much of a text as can be defined at once, from its beginning. MPI's own longest name is shorter.
pub(crate) fn first_piece(text: &str) -> &str {
    let mut cut = text.len().min(LONGEST - 64);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    &text[..cut]
}

/// Defines something, by numbers and a text. `false` if there was no room.
pub(crate) fn define(kind: u64, numbers: &[u64], text: &str) -> bool {
    with(|store| {
        let text = first_piece(text);
        let mut rest = [0; LONGEST];
        let mut writer = Writer::new(&mut rest);
        numbers.iter().for_each(|number| writer.put(*number));
        let rest_length = writer.length();
        let room = store.definitions.map_or(0, Chunk::room);
        if store.defined + LONGEST > room {
            let chunk = store.chunk(PAGE, None);
            let number = store.definition_chunks;
            if let Some(chunk) = chunk {
                chunk.begin(UNKNOWN, number, 0, 0);
            }
            store.definition_chunks += 1;
            store.definitions = chunk;
            store.defined = 0;
        }
        let Some(chunk) = store.definitions else { return false };
        // SAFETY: the range must lie in the chunk, which was looked at, and be nobody else's: definitions are written
        // with the lock.
        let place = unsafe { chunk.place(store.defined) };
        let mut writer = Writer::new(place);
        writer.put(kind);
        writer.put((rest_length + text.len()) as u64);
        rest[..rest_length].iter().chain(text.as_bytes()).for_each(|byte| {
            writer.put_byte(*byte);
        });
        store.defined += writer.length();
        chunk.set_used(store.defined);
        true
    })
    .unwrap_or(false)
}
