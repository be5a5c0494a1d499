//! The calls of a run by their beginnings, of which not all are in memory: a piece of the file for each thread, and the calls
//! that others are inside of.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::slice;

use anyhow::{Context as _, Result};
use mpi_facts::trace::Moved;

use super::{Call, Chunk, Opened, Process, Progress, Source, Thread, not_a_trace, sums};

/// A call by itself.
pub(in crate::trace) struct Single<'a> {
    pub(in crate::trace) process: &'a Process,
    pub(in crate::trace) thread: usize,
    pub(in crate::trace) call: Call,
    /// How many bytes it has sent, received, and reduced.
    pub(in crate::trace) bytes: [u64; 3],
    /// Of how many pieces of data these are.
    pub(super) pieces: usize,
}

/// By what calls are sorted: beginning, world, rank, thread, number.
type Key = (i64, usize, Option<u32>, usize, u64);

impl<'a> Single<'a> {
    /// A call of a run that is in memory.
    pub(in crate::trace) fn of(process: &'a Process, thread: usize, call: &Call) -> Self {
        Self::new(process, thread, process.threads[thread].data(call), call)
    }

    fn new(process: &'a Process, thread: usize, data: &[Moved], call: &Call) -> Self {
        Self { process, thread, call: call.clone(), bytes: sums(data), pieces: data.len() }
    }

    pub(in crate::trace) fn key(&self) -> Key {
        let Self { process, thread, call, .. } = self;
        (call.begin, process.world, process.rank, *thread, call.number)
    }
}

/// All calls, one after the other.
pub(in crate::trace) struct Stream<'a> {
    threads: Vec<ThreadStream<'a>>,
    /// The next call of each thread, and which thread that is.
    next: BinaryHeap<Reverse<(Key, usize)>>,
    /// When the first call of all began.
    first: i64,
    progress: &'a Progress,
}

impl<'a> Stream<'a> {
    /// Reads everything once: what is around others is written behind them, but began before.
    pub(in crate::trace) fn of(opened: &'a Opened) -> Result<Self> {
        // They are read again when they are taken.
        opened.progress.expect(2 * opened.bytes());
        let mut threads = Vec::new();
        let mut first = i64::MAX;
        for mut scan in opened.threads() {
            let mut around = Vec::new();
            while scan.read()? {
                first = scan
                    .calls
                    .iter()
                    .chain(&scan.around)
                    .fold(first, |first, one| first.min(one.call.begin));
                scan.calls.clear();
                around.append(&mut scan.around);
            }
            around.sort_by_key(|one: &Single<'_>| (one.call.begin, one.call.number));
            let mut thread = scan.again();
            thread.around_before = around.into();
            threads.push(thread);
        }
        let next = BinaryHeap::new();
        let mut stream = Self { threads, next, first, progress: &opened.progress };
        for number in 0..stream.threads.len() {
            stream.look(number)?;
        }
        Ok(stream)
    }

    /// Notes the next call of a thread.
    fn look(&mut self, number: usize) -> Result<()> {
        if let Some(one) = self.threads[number].peek()? {
            self.next.push(Reverse((one.key(), number)));
        }
        Ok(())
    }

    fn take(&mut self, number: usize) -> Result<Option<Single<'a>>> {
        let mut one = self.threads[number].take();
        self.look(number)?;
        if let Some(one) = &mut one {
            one.call.begin = one.call.begin.wrapping_sub(self.first);
            one.call.end = one.call.end.wrapping_sub(self.first);
        }
        Ok(one)
    }
}

impl<'a> Iterator for Stream<'a> {
    type Item = Result<Single<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(Reverse((_, number))) = self.next.pop() else {
            self.progress.end();
            return None;
        };
        self.take(number).transpose()
    }
}

/// The calls of a thread, piece by piece.
pub(super) struct ThreadStream<'a> {
    process: &'a Process,
    source: &'a Source,
    progress: &'a Progress,
    number: usize,
    all: &'a [Chunk],
    rest: slice::Iter<'a, Chunk>,
    thread: Thread,
    records: Vec<u8>,
    /// When the last call began of those that are around no other one, in the process's own ticks.
    latest: i64,
    /// The calls of the piece, and apart those that are around others before them.
    calls: VecDeque<Single<'a>>,
    around: Vec<Single<'a>>,
    /// All calls that are around others, if they are known, by their beginnings.
    around_before: VecDeque<Single<'a>>,
}

impl Opened {
    /// Each thread's calls.
    pub(super) fn threads(&self) -> impl Iterator<Item = ThreadStream<'_>> {
        let progress = &self.progress;
        self.files.iter().flat_map(move |(process, source)| {
            let threads = source.chunks.chunk_by(|one, other| one.thread == other.thread);
            threads.map(move |chunks| ThreadStream::new(process, source, chunks, progress))
        })
    }
}

impl<'a> ThreadStream<'a> {
    fn new(
        process: &'a Process,
        source: &'a Source,
        all: &'a [Chunk],
        progress: &'a Progress,
    ) -> Self {
        let number =
            all.first().map_or(0, |chunk| usize::try_from(chunk.thread).unwrap_or(usize::MAX));
        Self {
            process,
            source,
            progress,
            number,
            all,
            rest: all.iter(),
            thread: Thread::new(process.has_sites),
            records: Vec::new(),
            latest: i64::MIN,
            calls: VecDeque::new(),
            around: Vec::new(),
            around_before: VecDeque::new(),
        }
    }

    fn again(&self) -> Self {
        Self::new(self.process, self.source, self.all, self.progress)
    }

    /// Reads the next piece. Is there one?
    pub(super) fn read(&mut self) -> Result<bool> {
        let Some(chunk) = self.rest.next() else { return Ok(false) };
        let Self { process, source, thread, records, .. } = self;
        let mut read = || -> Result<()> {
            if chunk.read(&source.file, records)? {
                thread.read(chunk, records, &source.functions, process.clock.shift)?;
            }
            Ok(())
        };
        read().with_context(|| not_a_trace(process))?;
        for call in &thread.calls {
            let is_around = call.begin < self.latest;
            self.latest = self.latest.max(call.begin);
            let mut one = Single::new(process, self.number, thread.data(call), call);
            let clock = process.clock;
            one.call.begin = clock.time(call.begin);
            one.call.end = clock.time(call.end);
            if is_around { self.around.push(one) } else { self.calls.push_back(one) }
        }
        thread.forget();
        self.progress.add(chunk.length as u64);
        Ok(true)
    }

    /// How many calls and pieces of data the piece has that was read last, and forgets them.
    pub(super) fn count(&mut self) -> [u64; 2] {
        let Self { calls, around, .. } = self;
        let all = calls.drain(..).chain(around.drain(..));
        all.fold([0; 2], |[calls, pieces], one| [calls + 1, pieces + one.pieces as u64])
    }

    /// The next call.
    fn peek(&mut self) -> Result<Option<&Single<'a>>> {
        while self.calls.is_empty() && self.read()? {
            self.around.clear();
        }
        Ok(if self.is_around_next() { self.around_before.front() } else { self.calls.front() })
    }

    /// Is the next call one that is around others?
    fn is_around_next(&self) -> bool {
        let key = |one: &Single<'_>| (one.call.begin, one.call.number);
        match (self.around_before.front(), self.calls.front()) {
            (Some(around), Some(call)) => key(around) < key(call),
            (around, _) => around.is_some(),
        }
    }

    fn take(&mut self) -> Option<Single<'a>> {
        if self.is_around_next() { self.around_before.pop_front() } else { self.calls.pop_front() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use mpi_facts::FunctionId;
    use mpi_facts::trace::{CALL, HEADER, MAGIC, PAGE, UNKNOWN, VERSION, chunk, define, header};

    use super::super::chunks::{Bytes, chunks};
    use super::super::rounded::numbers;
    use super::*;
    use crate::trace::csv::sorted;

    fn put(page: &mut [u8], at: usize, word: u64) {
        page[at * 8..at * 8 + 8].copy_from_slice(&word.to_ne_bytes());
    }

    /// A piece of a file that has one page.
    fn piece(thread: u64, sequence: u64, first: u64, records: &[u8]) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        let words = [
            (chunk::LENGTH, PAGE as u64),
            (chunk::USED, records.len() as u64),
            (chunk::THREAD, thread),
            (chunk::SEQUENCE, sequence),
            (chunk::FIRST, first),
            (chunk::TIME, 1000),
        ];
        words.into_iter().for_each(|(at, word)| put(&mut page, at, word));
        page[chunk::RECORDS..chunk::RECORDS + records.len()].copy_from_slice(records);
        page
    }

    /// A process's file, in which function 0 is one without arguments.
    fn file(rank: u64, pieces: &[Vec<u8>]) -> Vec<u8> {
        let mut page = vec![0; HEADER];
        let words = [
            (header::MAGIC, MAGIC),
            (header::VERSION, VERSION),
            (header::RANK, rank),
            (header::SIZE, 2),
            (header::RATE, 1_f64.to_bits()),
        ];
        words.into_iter().for_each(|(at, word)| put(&mut page, at, word));
        let name = FunctionId::MPI_Initialized.name();
        let definition = numbers(&[define::FUNCTION, 1 + name.len() as u64, 0]);
        let definition = [&definition, name.as_bytes()].concat();
        [page, piece(UNKNOWN, 0, 0, &definition), pieces.concat()].concat()
    }

    /// Calls of function 0, each by the distance of its beginning from the last one's end, and by its length.
    fn calls(of: &[(i64, u64)]) -> Vec<u8> {
        let records = of.iter().map(|(distance, length)| {
            let zigzag = (distance << 1 ^ distance >> 63).cast_unsigned();
            numbers(&[CALL, zigzag, length << 1])
        });
        records.flatten().collect()
    }

    /// Two processes, one of them with two threads, one thread with two pieces, and calls that are around others: written
    /// behind them, also in the next piece.
    #[test]
    fn calls_come_by_their_beginnings_as_they_do_from_memory() {
        let folder = tempfile::tempdir().unwrap();
        // From 1010 to 1020, from 1030 to 1040, around both from 1005 to 1050, and from 1060 to 1070.
        let nested = calls(&[(10, 10), (10, 10), (-35, 45), (10, 10)]);
        // From 1002 to 1003, and around all of the piece before from 1001 on.
        let around = calls(&[(2, 1), (-2, 200)]);
        let other = calls(&[(0, 5), (30, 5)]);
        let first =
            file(0, &[piece(0, 0, 0, &nested), piece(1, 0, 0, &other), piece(0, 1, 4, &around)]);
        let second = file(1, &[piece(0, 0, 0, &calls(&[(10, 10), (10, 10)]))]);
        fs::write(folder.path().join("one.trace"), first).unwrap();
        fs::write(folder.path().join("two.trace"), second).unwrap();
        let paths = [folder.path().to_owned()];
        let seen = |one: &Single<'_>| (one.key(), one.call.end, one.call.function, one.bytes);
        let opened = Opened::open(&paths).unwrap();
        let streamed: Vec<_> =
            Stream::of(&opened).unwrap().map(|one| seen(&one.unwrap())).collect();
        let begins: Vec<_> =
            streamed.iter().map(|(key, ..)| (key.2.unwrap(), key.3, key.0)).collect();
        let expected = [
            (0, 1, 0),
            (0, 0, 1),
            (0, 0, 2),
            (0, 0, 5),
            (0, 0, 10),
            (1, 0, 10),
            (0, 0, 30),
            (1, 0, 30),
            (0, 1, 35),
            (0, 0, 60),
        ];
        assert_eq!(begins, expected);
        let trace = Opened::open(&paths).unwrap().read().unwrap();
        let in_memory: Vec<_> =
            sorted(&trace).iter().map(|one| seen(one.as_ref().unwrap())).collect();
        assert_eq!(streamed, in_memory);
    }

    /// The process may write on between a look at the pieces and the reading of one.
    #[test]
    fn a_piece_whose_place_others_have_taken_is_gone() {
        let with = |sequence| Bytes::InMemory(file(0, &[piece(0, sequence, 0, &calls(&[(0, 5)]))]));
        let (before, after) = (with(0), with(7));
        let all = chunks(&before).unwrap();
        let mut records = Vec::new();
        assert!(all[1].read(&before, &mut records).unwrap());
        assert_eq!(records, calls(&[(0, 5)]));
        assert!(!all[1].read(&after, &mut records).unwrap());
    }
}
