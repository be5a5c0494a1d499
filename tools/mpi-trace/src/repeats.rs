//! Calls that come again with the arguments that they had: a thread gives these a number, and each further record is short
//! and of one length.
//!
//! Only messages to and from nobody are among them, on `MPI_COMM_WORLD`, whose handle never means another communicator.

use core::cell::Cell;

use mpi_facts::trace::{DEFINES, MOST_DEFINED, first_of_repeat};
use mpi_tool_layer::mpi_sys::{MPI_PROC_NULL, c_int, pmpi};
use mpi_tool_layer::{Call, FunctionId, MESSAGES, TrackedComm, aside};

use crate::names;
use crate::recorder::{Record, Recorder};

/// How many functions of messages there are.
const FUNCTIONS: usize = PLACES.1;

/// For each function of messages its place among them, and how many there are.
const PLACES: ([u8; FunctionId::COUNT], usize) = {
    let mut places = [0; FunctionId::COUNT];
    let (mut count, mut index) = (0, 0);
    while index < MESSAGES.len() {
        places[index] = count as u8;
        count += MESSAGES[index] as usize;
        index += 1;
    }
    (places, count)
};

/// The place of a function of messages.
#[inline(always)]
fn place_of(function: FunctionId) -> usize {
    static PLACE: [u8; FunctionId::COUNT] = PLACES.0;
    PLACE[function as usize].into()
}

/// For each function of messages the arguments that repeat.
pub(crate) struct Repeats {
    all: [Repeat; FUNCTIONS],
    missed: Missed,
}

/// The last call whose arguments were others.
struct Missed {
    function: Cell<FunctionId>,
    tag: Cell<c_int>,
    received_tag: Cell<c_int>,
}

/// Arguments of a function, and the first bytes of the record of a call that has them.
struct Repeat {
    tag: Cell<c_int>,
    received_tag: Cell<c_int>,
    first: Cell<u32>,
    /// How many calls have had other arguments.
    others: Cell<u32>,
}

/// No message has this tag: tags are positive, and MPI has other negative numbers for what is none.
const NO_TAG: c_int = c_int::MIN;

/// A function's arguments give way to others after so many calls with others, and after twice as many the next time. So a
/// program with other tags in each call does not define them again and again.
const PATIENCE: u32 = 64;

impl Repeats {
    /// Nothing repeats.
    pub(crate) fn new() -> Self {
        let all = core::array::from_fn(|_| Repeat {
            tag: Cell::new(NO_TAG),
            received_tag: Cell::new(NO_TAG),
            first: Cell::new(u32::MAX),
            others: Cell::new(0),
        });
        let missed = Missed {
            function: Cell::new(FunctionId::MPI_Send),
            tag: Cell::new(NO_TAG),
            received_tag: Cell::new(NO_TAG),
        };
        Self { all, missed }
    }

    /// The first bytes of a call's record, if it repeats. The call is to and from nobody.
    #[inline(always)]
    pub(crate) fn first<'c>(&self, call: impl Call<'c>) -> Option<u32> {
        let repeat = &self.all[place_of(call.function())];
        let [tag, received_tag] = tags(call);
        let is_it = tag == repeat.tag.get()
            && is_on_world(call)
            && (!has_received_tag(call) || received_tag == repeat.received_tag.get());
        is_it.then(|| repeat.first.get())
    }

    /// A call to and from nobody does not repeat. From now on it may.
    #[inline(always)]
    pub(crate) fn missed<'c>(&self, call: impl Call<'c>) {
        if is_on_world(call) {
            let [tag, received_tag] = tags(call);
            self.missed.function.set(call.function());
            self.missed.tag.set(tag);
            self.missed.received_tag.set(received_tag);
            // The call's arguments stay where they are.
            aside!(learn);
        }
    }

    /// Nothing repeats any more.
    pub(crate) fn forget(&self) {
        for repeat in &self.all {
            repeat.tag.set(NO_TAG);
            repeat.others.set(0);
        }
    }
}

#[inline(always)]
fn is_on_world<'c>(call: impl Call<'c>) -> bool {
    call.communicator().is_some_and(|comm| comm.raw() == pmpi::MPI_COMM_WORLD)
}

/// The call's tag, and that of what it receives, if that is another parameter.
#[inline(always)]
fn tags<'c>(call: impl Call<'c>) -> [c_int; 2] {
    let tag = |position| call.get(position).unwrap_or(NO_TAG);
    let shape = call.shape();
    [tag(shape.tags.0), if has_received_tag(call) { tag(shape.tags.1) } else { NO_TAG }]
}

#[inline(always)]
fn has_received_tag<'c>(call: impl Call<'c>) -> bool {
    call.shape().tags.0 != call.shape().tags.1
}

/// The thread's last call that has not repeated may do so from now on.
extern "C" fn learn() -> u64 {
    if let Some(recorder) = Recorder::known() {
        recorder.learn();
    }
    0
}

impl Recorder {
    #[cold]
    fn learn(&self) {
        let Missed { function, tag, received_tag } = &self.repeats.missed;
        let function = function.get();
        let repeat = &self.repeats.all[place_of(function)];
        let others = repeat.others.get();
        repeat.others.set(others.wrapping_add(1));
        let is_time = others >= PATIENCE && others.is_power_of_two();
        if repeat.tag.get() != NO_TAG && !is_time {
            return;
        }
        let mut record = Record::none(function);
        record.communicator = names::of_communicator(TrackedComm::WORLD);
        record.tag = tag.get();
        if record.fields.received_tag {
            record.received_tag = received_tag.get();
        }
        if record.fields.source {
            record.source = MPI_PROC_NULL;
        }
        if record.fields.destination {
            record.destination = MPI_PROC_NULL;
        }
        // In a signal handler that has come while this was at work, it waits for the next call.
        let Ok(mut defined) = self.defined.try_borrow_mut() else { return };
        let is_it = |known: &(FunctionId, Record)| *known == (function, record);
        let number = defined.iter().position(is_it).unwrap_or(defined.len());
        if number == MOST_DEFINED {
            return;
        }
        if number == defined.len() {
            defined.push((function, record));
        }
        drop(defined);
        let kind = names::kind_of(function);
        let is_written = self.write_alone(|writer| {
            writer.put(DEFINES);
            writer.put(number as u64);
            writer.put(kind);
            record.put(writer);
        });
        if !is_written {
            return;
        }
        repeat.received_tag.set(record.received_tag);
        repeat.first.set(first_of_repeat(number as u32));
        repeat.tag.set(record.tag);
    }
}
