//! A thread's calls, as records in its chunk of the file.

use core::cell::Cell;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mpi_facts::trace::{CALL, Fields, LONGEST, Moved, STARTS, UNKNOWN, Writer, zigzag};
use mpi_tool_layer::{FunctionId, ThreadWord};

use crate::store::{self, Chunk};
use crate::{names, run};

/// What a thread records with. Only its own thread uses it.
pub(crate) struct Recorder {
    thread: u64,
    /// How many calls there were.
    calls: Cell<u64>,
    /// Where records go; `None` if there is no room in the file.
    chunk: Cell<Option<Chunk>>,
    /// How many bytes of records the chunk has.
    used: Cell<usize>,
    /// How many chunks there were.
    chunks: Cell<u64>,
    /// The end of the last call, shifted.
    last: Cell<u64>,
    /// A record is being written: a call of a signal handler that comes meanwhile is lost.
    is_writing: Cell<bool>,
    /// Megabytes, as the user has set it.
    ring: u64,
}

/// The last thread's number, plus 1.
static THREADS: AtomicU64 = AtomicU64::new(0);

/// By how many bits ticks are shifted: so that a unit of time is some 10 ns.
static SHIFT: AtomicU64 = AtomicU64::new(0);

/// Sets by how many bits ticks are shifted.
pub(crate) fn set_shift(shift: u64) {
    SHIFT.store(shift, Relaxed);
}

/// The arguments of a call that are recorded: at most one communicator and five integers.
pub(crate) struct Record {
    numbers: [u64; 6],
    count: usize,
}

impl Record {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { numbers: [0; 6], count: 0 }
    }

    /// Of a call of which nothing is known: 0 for each field that the function has.
    #[inline(always)]
    pub(crate) const fn none(function: FunctionId) -> Self {
        let Fields { communicator, tag, received_tag, source, destination, root } =
            Fields::of(function);
        let count = communicator as usize
            + tag as usize
            + received_tag as usize
            + source as usize
            + destination as usize
            + root as usize;
        Self { numbers: [0; 6], count }
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, number: u64) {
        if let Some(place) = self.numbers.get_mut(self.count) {
            *place = number;
            self.count += 1;
        }
    }

    #[inline(always)]
    pub(crate) fn put_signed(&mut self, number: i64) {
        self.put(zigzag(number));
    }
}

impl Recorder {
    /// This thread's recorder. `None` if there can be no file.
    #[inline(always)]
    pub(crate) fn of_this_thread(ring: u64) -> Option<&'static Self> {
        let recorder = with_exposed_provenance::<Self>(ThreadWord::get());
        // SAFETY: the word must be 0 or the address of a recorder that stays and that no other thread uses: only `first`
        // sets it, to one that it has made for this thread and that is never freed.
        match unsafe { recorder.as_ref() } {
            Some(recorder) => Some(recorder),
            None => Self::first(ring),
        }
    }

    /// The thread's first call.
    #[cold]
    #[inline(never)]
    fn first(ring: u64) -> Option<&'static Self> {
        run::begin();
        if !store::is_open() {
            return None;
        }
        let recorder = Box::leak(Box::new(Self {
            thread: THREADS.fetch_add(1, Relaxed),
            calls: Cell::new(0),
            chunk: Cell::new(None),
            used: Cell::new(0),
            chunks: Cell::new(0),
            last: Cell::new(0),
            is_writing: Cell::new(false),
            ring,
        }));
        ThreadWord::set((&raw const *recorder).expose_provenance());
        Some(recorder)
    }

    /// The thread's number in the process.
    #[inline(always)]
    pub(crate) fn thread(&self) -> u64 {
        self.thread
    }

    /// How many calls were recorded.
    #[inline(always)]
    pub(crate) fn calls(&self) -> u64 {
        self.calls.get()
    }

    /// Records a piece of data of the call that comes next.
    pub(crate) fn moved(&self, moved: &Moved) {
        self.write(None, |writer| writer.put_moved(moved));
    }

    /// Records that the call that comes next starts an operation that an earlier call has prepared.
    pub(crate) fn starts(&self, (thread, number): (u64, u64)) {
        self.write(None, |writer| {
            writer.put(STARTS);
            writer.put(thread);
            writer.put(number);
        });
    }

    /// Records a call that is over.
    #[inline(always)]
    pub(crate) fn call(
        &self,
        function: FunctionId,
        begin: u64,
        end: u64,
        has_failed: bool,
        fields: &Record,
    ) {
        let shift = SHIFT.load(Relaxed);
        let (begin, end) = (begin >> shift, end >> shift);
        self.write(Some(begin), |writer| {
            writer.put(CALL + names::of_function(function));
            writer.put_signed(begin.wrapping_sub(self.last.get()).cast_signed());
            writer.put(end.wrapping_sub(begin) << 1 | u64::from(has_failed));
            for number in &fields.numbers[..fields.count] {
                writer.put(*number);
            }
        });
        self.last.set(end);
        self.calls.set(self.calls.get() + 1);
    }

    /// Writes a record. If that is of a call, its beginning is given.
    #[inline(always)]
    fn write(&self, begin: Option<u64>, record: impl FnOnce(&mut Writer<'_>)) {
        if self.is_writing.replace(true) {
            store::lost(1);
            return;
        }
        let has_room =
            self.chunk.get().is_some_and(|chunk| self.used.get() + LONGEST <= chunk.room());
        if !has_room {
            self.next_chunk(begin);
        }
        if let Some(chunk) = self.chunk.get() {
            // SAFETY: the range must lie in the chunk's room, which was looked at, and be used by nobody else: the chunk
            // is this thread's, and `is_writing` keeps a signal handler out.
            let place = unsafe { chunk.place(self.used.get()) };
            let mut writer = Writer::new(place);
            record(&mut writer);
            let used = self.used.get() + writer.length();
            self.used.set(used);
            chunk.set_used(used);
        } else if begin.is_some() {
            store::lost(1);
        }
        self.is_writing.set(false);
    }

    #[cold]
    #[inline(never)]
    fn next_chunk(&self, begin: Option<u64>) {
        if let Some(begin) = begin.filter(|_| self.last.get() == 0) {
            self.last.set(begin);
        }
        let number = self.chunks.get();
        let chunk = store::next_chunk(self.chunk.take(), number, self.ring);
        if let Some(chunk) = chunk {
            chunk.begin(self.thread, number, self.calls.get(), self.last.get());
        }
        self.chunks.set(number + 1);
        self.chunk.set(chunk);
        self.used.set(0);
    }
}

const _: () = assert!(UNKNOWN > u32::MAX as u64, "no thread has this number");
