//! A thread's calls, as records in its chunk of the file.

use core::cell::Cell;
use core::mem::offset_of;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release},
    compiler_fence,
};

use mpi_facts::trace::{
    ENDS, FOUND, Fields, LONGEST, MATCHED, Moved, Partner, REPEAT, REPEATED_DATA, STARTS, UNKNOWN,
    Writer, put_repeat, zigzag,
};
use mpi_tool_layer::arch::add_in_one_step;
use mpi_tool_layer::{CallResult, FunctionId, ThreadWord, aside};

use crate::repeats::Repeats;

use crate::store::{self, Chunk};
use crate::{filter, names, run, sites};

/// What a thread records with. Only its own thread uses it.
pub(crate) struct Recorder {
    thread: u64,
    /// How many calls there were before the records from [`counted`](Self::counted) on, which are all of calls that repeat.
    calls: Cell<u64>,
    /// So many bytes of the chunk have calls that are counted.
    counted: Cell<usize>,
    /// Where records go; `None` if there is no room in the file.
    chunk: Cell<Option<Chunk>>,
    /// How many bytes of records the chunk has, and [`BUSY`] in addition.
    used: Cell<usize>,
    /// With more than so many, it has no room for another record.
    limit: Cell<usize>,
    /// How many chunks there were.
    chunks: Cell<u64>,
    /// The end of the last call, as readers know it: shifted and back, unless its record has times that are not.
    last: Cell<u64>,
    /// Calls that come again.
    pub(crate) repeats: Repeats,
    /// There are records that belong to the next call.
    has_data: Cell<bool>,
    /// Megabytes, as the user has set it.
    ring: u64,
}

/// What the used bytes have in addition while a record is being written: a call of a signal handler that comes meanwhile
/// is lost. No chunk is as long.
const BUSY: usize = 1 << 30;

/// The last thread's number, plus 1.
static THREADS: AtomicU64 = AtomicU64::new(0);

/// How many megabytes the file may have; 0 for any.
static RING: AtomicU64 = AtomicU64::new(0);

/// Only so many megabytes of the last calls are kept; 0 keeps all.
pub(crate) fn set_ring(megabytes: u64) {
    RING.store(megabytes, Relaxed);
}

/// The address of the recorder of a thread that has none yet, or 0.
extern "C" fn first() -> u64 {
    Recorder::first().map_or(0, |recorder| (&raw const *recorder).expose_provenance() as u64)
}

/// By how many bits ticks are shifted: so that a unit of time is some 10 ns.
static SHIFT: AtomicU64 = AtomicU64::new(0);

/// Sets by how many bits ticks are shifted.
pub(crate) fn set_shift(shift: u64) {
    SHIFT.store(shift, Relaxed);
}

/// The arguments of a call that are recorded. Which of them there are is known when the tool is compiled, so that nothing
/// is left of the others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) fields: Fields,
    pub(crate) communicator: u64,
    pub(crate) tag: i32,
    pub(crate) received_tag: i32,
    pub(crate) source: i32,
    pub(crate) destination: i32,
    pub(crate) root: i32,
    /// Where the call comes from, in files that say so.
    pub(crate) site: u32,
}

impl Record {
    /// 0 for each field that there is.
    #[inline(always)]
    pub(crate) const fn zeros(fields: Fields) -> Self {
        Self {
            fields,
            communicator: 0,
            tag: 0,
            received_tag: 0,
            source: 0,
            destination: 0,
            root: 0,
            site: 0,
        }
    }

    /// Of a call of which nothing is known.
    #[inline(always)]
    pub(crate) fn none(function: FunctionId) -> Self {
        Self::zeros(Fields::of(function))
    }

    /// The fields with whether there are.
    #[inline(always)]
    const fn all(&self) -> [(bool, u64); 6] {
        let has = self.fields;
        [
            (has.communicator, self.communicator),
            (has.tag, small(self.tag)),
            (has.received_tag, small(self.received_tag)),
            (has.source, small(self.source)),
            (has.destination, small(self.destination)),
            (has.root, small(self.root)),
        ]
    }

    /// Writes the fields that there are.
    pub(crate) fn put(&self, writer: &mut Writer<'_>) {
        self.all().into_iter().filter(|(has, _)| *has).for_each(|(_, number)| writer.put(number));
    }

    /// Writes numbers, and behind them the fields that there are: all as one word, or the fields, if they are small enough.
    #[inline(always)]
    fn put_behind(&self, first: [u64; 3], writer: &mut Writer<'_>) {
        let all = self.all();
        let (mut bits, mut word, mut count) = (0, 0, 0);
        let mut add = |(has, number): (bool, u64)| {
            if has {
                bits |= number;
                word |= number << (8 * count);
                count += 1;
            }
        };
        add(all[0]);
        add(all[1]);
        add(all[2]);
        add(all[3]);
        add(all[4]);
        add(all[5]);
        let [kind, distance, duration] = first;
        // No function has six fields, which would be more than a word with the three numbers.
        if kind | distance | duration | bits < 0x80 && count <= 5 {
            let first = kind | distance << 8 | duration << 16;
            writer.put_small(first | word << 24, 3 + count);
            return;
        }
        writer.put(kind);
        writer.put(distance);
        writer.put(duration);
        if bits < 0x80 {
            writer.put_small(word, count);
        } else {
            all.into_iter().filter(|(has, _)| *has).for_each(|(_, number)| writer.put(number));
        }
    }
}

/// What [`zigzag`] makes of a number, in fewer instructions.
#[inline(always)]
const fn small(number: i32) -> u64 {
    ((number << 1) ^ (number >> 31)).cast_unsigned() as u64
}

const _: () = assert!(small(i32::MIN) == zigzag(i32::MIN as i64) && small(-3) == zigzag(-3));

/// A chunk, and how many bytes of records it has.
#[derive(Clone, Copy)]
struct Room {
    chunk: Chunk,
    used: usize,
}

impl Recorder {
    /// This thread's recorder. `None` if there can be no file.
    #[inline(always)]
    pub(crate) fn of_this_thread() -> Option<&'static Self> {
        let mut address = ThreadWord::get();
        if address == 0 {
            // The call's arguments stay where they are.
            address = aside!(first) as usize;
        }
        // SAFETY: the address must be 0 or that of a recorder that stays and that no other thread uses: `first` returns no
        // others, of its own thread, which it has never freed, and only it sets the word.
        unsafe { with_exposed_provenance::<Self>(address).as_ref() }
    }

    /// The thread's first call.
    fn first() -> Option<&'static Self> {
        run::begin();
        if !store::is_open() {
            return None;
        }
        let mut recorder = Box::<Self>::new_uninit();
        let place = recorder.as_mut_ptr();
        // SAFETY: the place is the box's, and all of its fields are written.
        let recorder = unsafe {
            (&raw mut (*place).thread).write(THREADS.fetch_add(1, Relaxed));
            (&raw mut (*place).calls).write(Cell::new(0));
            (&raw mut (*place).counted).write(Cell::new(1));
            (&raw mut (*place).chunk).write(Cell::new(None));
            (&raw mut (*place).used).write(Cell::new(1));
            (&raw mut (*place).limit).write(Cell::new(0));
            (&raw mut (*place).chunks).write(Cell::new(0));
            (&raw mut (*place).last).write(Cell::new(0));
            Repeats::make_at(&raw mut (*place).repeats);
            (&raw mut (*place).has_data).write(Cell::new(false));
            (&raw mut (*place).ring).write(RING.load(Relaxed));
            Box::leak(recorder.assume_init())
        };
        ThreadWord::set((&raw const *recorder).expose_provenance());
        Some(recorder)
    }

    /// The thread's number in the process.
    #[inline(always)]
    pub(crate) fn thread(&self) -> u64 {
        self.thread
    }

    /// How many calls were recorded.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.get()
            + ((self.used.get() % BUSY).saturating_sub(self.counted.get()) / REPEAT) as u64
    }

    /// Counts the calls of records up to this one.
    #[inline(always)]
    fn count(&self, used: usize) {
        self.calls.set(self.calls());
        self.counted.set(used);
    }

    /// Something will refer to the call that comes next.
    #[inline(always)]
    pub(crate) fn is_referred_to(&self) {
        self.has_data.set(true);
    }

    /// Records a piece of data of the call that comes next.
    pub(crate) fn moved(&self, moved: &Moved) {
        self.write(|writer| writer.put_moved(moved));
    }

    /// Records that the call that comes next starts an operation that an earlier call has prepared.
    pub(crate) fn starts(&self, (thread, number): (u64, u64)) {
        self.write(|writer| {
            writer.put(STARTS);
            writer.put(thread);
            writer.put(number);
        });
    }

    /// Records that a send is complete in the call that comes next, which was given so many requests.
    pub(crate) fn ends(&self, (thread, number): (u64, u64), requests: u64) {
        self.write(|writer| {
            writer.put(ENDS);
            writer.put(thread);
            writer.put(number);
            writer.put(requests);
        });
    }

    /// Records that the call that comes next, a probe, has found a message.
    pub(crate) fn found(&self, peer: Partner, tag: i32) {
        self.write(|writer| {
            writer.put(FOUND);
            writer.put_partner(peer);
            writer.put_signed(tag.into());
        });
    }

    /// Records that the call that comes next receives what an earlier one has matched.
    pub(crate) fn matched(&self, (thread, number): (u64, u64)) {
        self.write(|writer| {
            writer.put(MATCHED);
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
        record: &Record,
    ) {
        let has_data = self.has_data.replace(false);
        if filter::is_too_short(function, end.wrapping_sub(begin)) && !has_data && !has_failed {
            return;
        }
        let shift = SHIFT.load(Relaxed);
        let place = self.room(Some(begin));
        let (begin, end) = (begin >> shift, end >> shift);
        if let Some((room, place)) = place {
            let mut writer = Writer::new(place);
            let kind = names::kind_of(function);
            let distance = zigzag(begin.wrapping_sub(self.last.get() >> shift).cast_signed());
            let duration = end.wrapping_sub(begin) << 1 | u64::from(has_failed);
            record.put_behind([kind, distance, duration], &mut writer);
            if sites::depth() != 0 {
                writer.put(record.site.into());
            }
            self.written_and_counted(room, writer.length());
        }
        self.last.set(end << shift);
        self.calls.set(self.calls.get() + 1);
    }

    /// Writes a record that belongs to the next call.
    fn write(&self, record: impl FnOnce(&mut Writer<'_>)) {
        self.has_data.set(true);
        self.write_alone(record);
    }

    /// Writes a record that belongs to no call. `false` if there was no room.
    pub(crate) fn write_alone(&self, record: impl FnOnce(&mut Writer<'_>)) -> bool {
        let Some((room, place)) = self.room(None) else { return false };
        let mut writer = Writer::new(place);
        record(&mut writer);
        self.written_and_counted(room, writer.length());
        true
    }

    /// Where the next record goes. If that is of a call, its beginning is given. [`Self::written`] must follow.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "`BUSY` lends the place to one at a time")]
    fn room(&self, begin: Option<u64>) -> Option<(Room, &mut [u8; LONGEST])> {
        let mut used = self.begin();
        if used > self.limit.get() {
            if used >= BUSY {
                self.give_up();
                store::lost(1);
                return None;
            }
            used = self.next_chunk(begin);
        }
        self.count(used);
        let Some(chunk) = self.chunk.get() else {
            if begin.is_some() {
                store::lost(1);
            }
            self.used.set(used);
            return None;
        };
        // SAFETY: the range must lie in the chunk's room, which was looked at, and be used by nobody else: the chunk is
        // this thread's, and `BUSY` keeps a signal handler out.
        Some((Room { chunk, used }, unsafe { chunk.place(used) }))
    }

    /// Begins to write a record. Returns how much of the chunk is used, or at least [`BUSY`] if one is being written already;
    /// then [`give_up`](Self::give_up) must follow.
    #[inline(always)]
    fn begin(&self) -> usize {
        // SAFETY: a number must be there that no other thread has: it is this recorder's, and only its thread has it. A signal
        // handler of this thread comes before the addition or after it.
        unsafe {
            add_in_one_step::<{ offset_of!(Self, used) }>(core::ptr::from_ref(self).cast(), BUSY)
        }
    }

    /// Nothing is written.
    #[cold]
    fn give_up(&self) {
        self.used.set(self.used.get() - BUSY);
    }

    /// A record of so many bytes is whole.
    #[inline(always)]
    fn written(&self, Room { chunk, used }: Room, length: usize) {
        chunk.set_used(used + length);
        compiler_fence(Release);
        self.used.set(used + length);
    }

    /// A record of so many bytes is whole, other than of a call that repeats.
    #[inline(always)]
    fn written_and_counted(&self, room: Room, length: usize) {
        self.counted.set(room.used + length);
        self.written(room, length);
    }

    /// This thread's recorder, if it has one already.
    #[inline(always)]
    pub(crate) fn known() -> Option<&'static Self> {
        // SAFETY: the address must be 0 or that of a recorder that stays and that no other thread uses: only `first` sets the
        // word, to that of its own thread's recorder, which is never freed.
        unsafe { with_exposed_provenance::<Self>(ThreadWord::get()).as_ref() }
    }

    /// Records a call that repeats one that has a number: by the first bytes of its record. Nothing is recorded, and the
    /// answer is no, if that takes more than a few instructions.
    #[inline(always)]
    pub(crate) fn repeat(&self, first: u32, begin: u64, end: u64) -> bool {
        let last = self.last.get();
        // Half as far as a record can tell: that is compared in one instruction. A call that ends at `last` is not near, either.
        let is_near = last.wrapping_sub(end) >= 0_u64.wrapping_sub(1 << 31);
        if begin < last || !is_near {
            return false;
        }
        let Some((room, place)) = self.room_at_once() else { return false };
        put_repeat(place, first, begin as u32, end as u32);
        self.last.set(end);
        self.written(room, REPEAT);
        true
    }

    /// Room for a record that may be left out, where there is some without more ado.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "as in `room`")]
    fn room_at_once(&self) -> Option<(Room, &mut [u8; LONGEST])> {
        let used = self.begin();
        if used > self.limit.get() {
            self.give_up();
            return None;
        }
        // SAFETY: there must be a chunk: without one, more is used than the limit.
        let chunk = unsafe { self.chunk.get().unwrap_unchecked() };
        // SAFETY: the range must lie in the chunk's room, which was looked at, and be used by nobody else: the chunk is this
        // thread's, and `BUSY` keeps a signal handler out.
        Some((Room { chunk, used }, unsafe { chunk.place(used) }))
    }

    /// Records data that have a number, of the call that comes next, by their record. As [`repeat`](Self::repeat), it may do
    /// nothing and say no.
    #[inline(always)]
    pub(crate) fn repeat_data(&self, data: u32) -> bool {
        let Some((room, place)) = self.room_at_once() else { return false };
        self.count(room.used);
        place[..REPEATED_DATA].copy_from_slice(&data.to_le_bytes());
        self.has_data.set(true);
        self.written_and_counted(room, REPEATED_DATA);
        true
    }

    /// Records such a call in any case, with what it has moved unless it has failed. Returns its result.
    #[cold]
    #[inline(never)]
    pub(crate) fn repeat_slowly<'c>(
        &self,
        first: u32,
        begin: u64,
        end: u64,
        result: CallResult<'c>,
    ) -> CallResult<'c> {
        match self.repeats.contents(first) {
            Some((function, record, moved)) => {
                if result.is_ok() {
                    moved.iter().flatten().for_each(|moved| self.moved(moved));
                }
                self.call(function, begin, end, result.is_err(), &record);
            }
            // Its place was another call's, in a signal handler, while it was under way.
            None => store::lost(1),
        }
        result
    }

    /// Goes on to another chunk, if there is one. Returns how much of it is used.
    #[cold]
    #[inline(never)]
    fn next_chunk(&self, begin: Option<u64>) -> usize {
        if let Some(begin) = begin.filter(|_| self.last.get() == 0) {
            self.last.set(begin);
        }
        let number = self.chunks.get();
        let calls = self.calls();
        let chunk = store::next_chunk(self.chunk.take(), number, self.ring);
        if let Some(chunk) = chunk {
            chunk.begin(self.thread, number, calls, self.last.get());
        }
        self.chunks.set(number + 1);
        self.chunk.set(chunk);
        if self.ring != 0 {
            // What was defined may be overwritten before this chunk is.
            self.repeats.forget();
        }
        self.limit.set(chunk.map_or(0, |chunk| chunk.room() - LONGEST));
        // Without a chunk, the next record finds no room.
        let used = usize::from(chunk.is_none());
        self.calls.set(calls);
        self.counted.set(used);
        self.used.set(BUSY + used);
        used
    }
}

const _: () = assert!(UNKNOWN > u32::MAX as u64, "no thread has this number");
