//! Calls, and how they are read from the records of a thread.

use core::ops::Deref;
use std::collections::HashMap;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use mpi_facts::FunctionId;
use mpi_facts::trace::{
    CALL, DEFINES, DEFINES_DATA, ENDS, FOUND, Fields, MATCHED, MOST_DEFINED, MOST_MOVED, Moved,
    Partner, REPEATS, REPEATS_DATA, Reader, STARTS, WAITS, Way,
};

use super::chunks::Chunk;
use crate::trace::polls::Loop;

/// What a function was called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::trace) struct Arguments {
    pub(in crate::trace) function: FunctionId,
    pub(in crate::trace) communicator: Option<u64>,
    pub(in crate::trace) tag: Option<i64>,
    pub(in crate::trace) received_tag: Option<i64>,
    pub(in crate::trace) source: Option<i64>,
    pub(in crate::trace) destination: Option<i64>,
    pub(in crate::trace) root: Option<i64>,
    /// The number of the call's site in the process's file, or 0.
    pub(in crate::trace) site: u32,
}

impl Arguments {
    /// None, of a function that has none that records tell of.
    const fn none(function: FunctionId) -> Self {
        Self {
            function,
            communicator: None,
            tag: None,
            received_tag: None,
            source: None,
            destination: None,
            root: None,
            site: 0,
        }
    }

    /// Those that a record has.
    fn read(function: FunctionId, records: &mut Reader<'_>) -> Option<Self> {
        let fields = Fields::of(function);
        let communicator = if fields.communicator { Some(records.number()?) } else { None };
        let mut signed = |has| if has { Some(Some(records.signed()?)) } else { Some(None) };
        Some(Self {
            function,
            communicator,
            tag: signed(fields.tag)?,
            received_tag: signed(fields.received_tag)?,
            source: signed(fields.source)?,
            destination: signed(fields.destination)?,
            root: signed(fields.root)?,
            site: 0,
        })
    }
}

/// What calls have in common that come again: there are many calls, and few of these.
#[derive(Debug, Clone)]
struct Kind {
    arguments: Arguments,
    /// What each of the calls moves. Of other calls, the thread has it.
    moved: Vec<Moved>,
}

/// A function with its arguments that has a number.
struct Defined {
    kind: Rc<Kind>,
    /// The number of the last call that has repeated so.
    last: Option<u64>,
}

/// A call that is over.
#[derive(Debug, Clone)]
pub(in crate::trace) struct Call {
    kind: Rc<Kind>,
    /// Nanoseconds: since 1970 as long as the file is read, later since the trace's beginning.
    pub(in crate::trace) begin: i64,
    pub(in crate::trace) end: i64,
    /// Its number in its thread.
    pub(in crate::trace) number: u64,
    /// Where its data are among the thread's, and how many.
    data: usize,
    count: u32,
    pub(in crate::trace) has_failed: bool,
}

impl Deref for Call {
    type Target = Arguments;

    fn deref(&self) -> &Arguments {
        &self.kind.arguments
    }
}

#[cfg(test)]
impl Call {
    /// For a trace that is made up: its data are those of its thread from a place on.
    pub(super) fn made_up(arguments: Arguments, [begin, end]: [i64; 2]) -> Self {
        let kind = Rc::new(Kind { arguments, moved: Vec::new() });
        Self { kind, begin, end, number: 0, data: 0, count: 0, has_failed: false }
    }

    pub(super) fn set_data(&mut self, data: usize, count: usize) {
        (self.data, self.count) = (data, u32::try_from(count).unwrap());
    }

    pub(in crate::trace) fn arguments_mut(&mut self) -> &mut Arguments {
        &mut Rc::make_mut(&mut self.kind).arguments
    }
}

/// How many bytes are in pieces of data: sent, received, reduced.
pub(in crate::trace) fn sums(data: &[Moved]) -> [u64; 3] {
    let mut sums = [0_u64; 3];
    for moved in data {
        let sum = &mut sums[match moved.way {
            Way::Sent => 0,
            Way::Received => 1,
            Way::Reduced => 2,
        }];
        *sum = sum.saturating_add(moved.bytes);
    }
    sums
}

/// A thread's calls.
#[derive(Default)]
pub(in crate::trace) struct Thread {
    /// Have the calls in the file sites?
    has_sites: bool,
    /// In the order in which they ended.
    pub(in crate::trace) calls: Vec<Call>,
    pub(in crate::trace) data: Vec<Moved>,
    /// Which calls, by their places, have started what the calls of a thread and a number have prepared.
    pub(in crate::trace) starts: Vec<(usize, (u64, u64))>,
    /// Which calls, by their places, have completed sends that the calls of a thread and a number have started or prepared, and
    /// how many requests each was given.
    pub(in crate::trace) ended: Vec<(usize, (u64, u64), u64)>,
    /// By the places of probes: the sender and the tag of the message that each has found.
    pub(in crate::trace) found: HashMap<usize, (Partner, i64)>,
    /// By the places of calls that receive what was matched before: the thread and the number of the call that has done so.
    pub(in crate::trace) matched: HashMap<usize, (u64, u64)>,
    /// Calls that [poll](super::super::polls) for a message, in their order: each loop is as one call.
    pub(in crate::trace) loops: Vec<Loop>,
    /// Where the data begin that belong to the next call.
    begun: usize,
    /// The sequence number of the next chunk, if none was overwritten.
    sequence: u64,
    /// Functions with their arguments that have numbers, by these.
    defined: HashMap<u32, Defined>,
    /// Data that have numbers, by these, and of which function with its arguments they are.
    defined_data: HashMap<u32, (u32, Moved)>,
    /// The same of calls whose records have their arguments, by these.
    known: HashMap<Arguments, Rc<Kind>>,
}

impl Thread {
    /// Of a file whose calls have sites, or have none.
    pub(super) fn new(has_sites: bool) -> Self {
        Self { has_sites, ..Self::default() }
    }

    /// The data that have moved in a call.
    pub(in crate::trace) fn data<'a>(&'a self, call: &'a Call) -> &'a [Moved] {
        match call.count {
            0 => &call.kind.moved,
            count => &self.data[call.data..call.data + count as usize],
        }
    }

    /// Where the call of a number is, if it is in the file.
    pub(in crate::trace) fn place(&self, number: u64) -> Option<usize> {
        let at = self.calls.partition_point(|call| call.number < number);
        self.calls.get(at).is_some_and(|call| call.number == number).then_some(at)
    }

    /// Forgets calls, but not what records that follow need.
    pub(super) fn forget(&mut self) {
        self.calls.clear();
        self.data.drain(..self.begun);
        self.begun = 0;
        self.starts.clear();
        self.ended.clear();
        self.found.clear();
        self.matched.clear();
        // Arguments that do not come again must not add up.
        if self.known.len() > 1 << 12 {
            self.known.clear();
        }
    }

    /// A call is over. The data are its own that were read since the one before it.
    fn add(&mut self, kind: Rc<Kind>, [begin, end]: [u64; 2], number: u64, has_failed: bool) {
        let (begin, end) = (begin.cast_signed(), end.cast_signed());
        let data = self.begun;
        self.begun = self.data.len();
        let count = u32::try_from(self.begun - data).unwrap_or(u32::MAX);
        self.calls.push(Call { kind, begin, end, number, data, count, has_failed });
    }

    /// Reads records. Returns how many calls cannot be read as what they repeat is not there.
    pub(super) fn read(
        &mut self,
        chunk: &Chunk,
        records: &[u8],
        functions: &HashMap<u64, FunctionId>,
        shift: u32,
    ) -> Result<u64> {
        let lost = self.read_whole(chunk, records, functions, shift);
        lost.context("it is damaged: a call cannot be read")
    }

    /// The same; `None` if they are damaged.
    fn read_whole(
        &mut self,
        chunk: &Chunk,
        records: &[u8],
        functions: &HashMap<u64, FunctionId>,
        shift: u32,
    ) -> Option<u64> {
        if self.sequence != chunk.sequence {
            // Calls between are not there, and what is left of the data before them was one of these calls'.
            self.begun = self.data.len();
        }
        self.sequence = chunk.sequence.wrapping_add(1);
        let mut lost = 0;
        let mut next = chunk.first;
        // The end of the last call: as the next distance counts from it, and as it is told.
        let mut last = chunk.time;
        let mut ended = last;
        let mut records = Reader::new(records);
        while !records.is_empty() {
            let kind = records.number()?;
            match kind {
                STARTS => {
                    let prepared = (records.number()?, records.number()?);
                    self.starts.push((self.calls.len(), prepared));
                }
                ENDS => {
                    let started = (records.number()?, records.number()?);
                    self.ended.push((self.calls.len(), started, records.number()?));
                }
                DEFINES => self.define(&mut records, functions)?,
                FOUND => {
                    let found = (records.partner()?, records.signed()?);
                    self.found.insert(self.calls.len(), found);
                }
                MATCHED => {
                    let matched = (records.number()?, records.number()?);
                    self.matched.insert(self.calls.len(), matched);
                }
                REPEATS => {
                    let (number, begin, end) = records.repeat(last)?;
                    last = end;
                    ended = last;
                    // What it repeats was overwritten, of a call that was under way when its thread went on to another
                    // chunk.
                    match self.defined.get_mut(&number) {
                        Some(defined) => {
                            defined.last = Some(next);
                            let kind = Rc::clone(&defined.kind);
                            if self.begun < self.data.len() {
                                self.data.extend_from_slice(&kind.moved);
                            }
                            self.add(kind, [begin, end], next, false);
                        }
                        None => lost += 1,
                    }
                    next += 1;
                }
                WAITS => {
                    let (number, begin, end) = records.repeat(last)?;
                    last = end;
                    ended = last;
                    match self.repeated_data(number, chunk.thread) {
                        Some(moved) => {
                            self.data.push(moved);
                            let kind = self.kind(Arguments::none(FunctionId::MPI_Wait));
                            self.add(kind, [begin, end], next, false);
                        }
                        None => lost += 1,
                    }
                    next += 1;
                }
                DEFINES_DATA => self.define_data(&mut records)?,
                REPEATS_DATA => {
                    // As with a call: it may have been overwritten.
                    match self.repeated_data(records.number_of_repeat()?, chunk.thread) {
                        Some(moved) => self.data.push(moved),
                        None => lost += 1,
                    }
                }
                kind if kind < CALL => self.data.push(records.moved(kind)?),
                kind => {
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
                    let mut arguments = Arguments::read(function, &mut records)?;
                    if self.has_sites {
                        arguments.site = u32::try_from(records.number()?).ok()?;
                    }
                    let kind = self.kind(arguments);
                    self.add(kind, [begin, ended], next, duration & 1 == 1);
                    next += 1;
                }
            }
        }
        Some(lost)
    }

    /// What calls with these arguments have in common.
    fn kind(&mut self, arguments: Arguments) -> Rc<Kind> {
        let new = || Rc::new(Kind { arguments, moved: Vec::new() });
        Rc::clone(self.known.entry(arguments).or_insert_with(new))
    }

    /// Reads a function with its arguments that has a number from now on.
    fn define(
        &mut self,
        records: &mut Reader<'_>,
        functions: &HashMap<u64, FunctionId>,
    ) -> Option<()> {
        let number = u32::try_from(records.number()?).ok()?;
        let function = *functions.get(&records.number()?.checked_sub(CALL)?)?;
        let arguments = Arguments::read(function, records)?;
        let count = usize::try_from(records.number()?).ok()?;
        if number >= MOST_DEFINED || count > MOST_MOVED {
            return None;
        }
        let mut piece = || {
            let kind = records.number()?;
            records.moved(kind)
        };
        let moved = (0..count).map(|_| piece()).collect::<Option<_>>()?;
        let kind = Rc::new(Kind { arguments, moved });
        self.defined.insert(number, Defined { kind, last: None });
        Some(())
    }

    /// The data of a number, for the last call that has repeated what they belong to.
    fn repeated_data(&self, number: u32, thread: u64) -> Option<Moved> {
        let (of, moved) = self.defined_data.get(&number)?;
        let last = self.defined.get(of)?.last?;
        Some(Moved { of: Some((thread, last)), ..*moved })
    }

    /// Reads data that have a number from now on.
    fn define_data(&mut self, records: &mut Reader<'_>) -> Option<()> {
        let [number, of] =
            [u32::try_from(records.number()?).ok()?, u32::try_from(records.number()?).ok()?];
        let kind = records.number()?;
        let moved = records.moved(kind).filter(|moved| moved.of.is_none())?;
        if number >= MOST_DEFINED {
            return None;
        }
        // Whose data they are may have been overwritten.
        self.defined_data.insert(number, (of, moved));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use mpi_facts::trace::{
        LONGEST, REPEAT, Writer, first_of_repeat, first_of_wait, put_repeat, repeated_data,
    };

    use super::super::rounded::numbers;
    use super::*;

    const FUNCTION: FunctionId = FunctionId::MPI_Initialized;
    const MOVED: Moved =
        Moved { way: Way::Received, of: None, peer: Partner::At(1), tag: Some(7), bytes: 24 };

    fn twelve(first: u32, begin: u32) -> Vec<u8> {
        let mut bytes = [0; LONGEST];
        put_repeat(&mut bytes, first, begin, begin + 1);
        bytes[..REPEAT].to_vec()
    }

    /// Data of number 2 for calls of number 1, in an `MPI_Wait` and in another call.
    fn arrivals() -> Vec<u8> {
        let mut bytes = [0; LONGEST];
        let mut writer = Writer::new(&mut bytes);
        writer.put_moved(&MOVED);
        let length = writer.length();
        let defines = [numbers(&[DEFINES_DATA, 2, 1]), bytes[..length].to_vec()].concat();
        let (start, wait) = (first_of_repeat(1), first_of_wait(2));
        let data = repeated_data(2).to_le_bytes().to_vec();
        let other = numbers(&[CALL, 0, 0]);
        [twelve(start, 1010), defines, twelve(wait, 1020), twelve(start, 1030), data, other]
            .concat()
    }

    fn read(records: &[u8]) -> (Thread, u64) {
        let length = records.len();
        let chunk = Chunk { thread: 3, sequence: 0, first: 10, time: 1000, at: 0, length };
        let mut thread = Thread::default();
        let lost = thread.read(&chunk, records, &HashMap::from([(0, FUNCTION)]), 0).unwrap();
        (thread, lost)
    }

    #[test]
    fn data_with_a_number_are_those_of_the_last_call_that_repeats() {
        let (thread, lost) = read(&[numbers(&[DEFINES, 1, CALL, 0]), arrivals()].concat());
        let told: Vec<_> = thread
            .calls
            .iter()
            .map(|call| (call.number, call.function, thread.data(call).to_vec()))
            .collect();
        let of = |number| vec![Moved { of: Some((3, number)), ..MOVED }];
        let expected = [
            (10, FUNCTION, vec![]),
            (11, FunctionId::MPI_Wait, of(10)),
            (12, FUNCTION, vec![]),
            (13, FUNCTION, of(12)),
        ];
        assert_eq!((&told[..], lost), (&expected[..], 0));
    }

    /// In a ring, a definition may have been overwritten: nothing is made up, and the rest is read.
    #[test]
    fn data_of_what_was_overwritten_are_lost() {
        let (thread, lost) = read(&arrivals());
        assert_eq!((thread.calls.len(), thread.data.len(), lost), (1, 0, 4));
        assert_eq!((thread.calls[0].number, thread.calls[0].function), (13, FUNCTION));
    }
}
