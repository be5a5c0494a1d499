//! Calls that come again with the arguments that they had: a thread gives these a number, and each further record is short
//! and of one length.
//!
//! Only messages to and from nobody are among them, on `MPI_COMM_WORLD`, whose handle never means another communicator.

use core::cell::Cell;

use mpi_facts::trace::{DEFINES, MOST_DEFINED, first_of_repeat};
use mpi_tool_layer::mpi_sys::{MPI_Comm, c_int};
use mpi_tool_layer::{Call, FunctionId, MESSAGES, Word};

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
pub(crate) struct Repeats([Repeat; FUNCTIONS]);

/// Arguments of a function, and the first bytes of the record of a call that has them.
struct Repeat {
    communicator: Cell<MPI_Comm>,
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
        Self(core::array::from_fn(|_| Repeat {
            communicator: Cell::new(MPI_Comm::from_word(0)),
            tag: Cell::new(NO_TAG),
            received_tag: Cell::new(NO_TAG),
            first: Cell::new(u32::MAX),
            others: Cell::new(0),
        }))
    }

    /// The first bytes of a call's record, if it repeats. The call is to and from nobody.
    #[inline(always)]
    pub(crate) fn first<'c>(&self, call: impl Call<'c>) -> Option<u32> {
        let shape = call.shape();
        let repeat = &self.0[place_of(call.function())];
        let int = |position| call.get::<c_int>(position);
        let is_it = int(shape.tags.0) == Some(repeat.tag.get())
            && call.communicator().map(|comm| comm.raw()) == Some(repeat.communicator.get())
            && (shape.tags.0 == shape.tags.1
                || int(shape.tags.1) == Some(repeat.received_tag.get()));
        is_it.then(|| repeat.first.get())
    }

    /// Nothing repeats any more.
    pub(crate) fn forget(&self) {
        for repeat in &self.0 {
            repeat.tag.set(NO_TAG);
            repeat.others.set(0);
        }
    }
}

impl Recorder {
    /// A call to and from nobody on `MPI_COMM_WORLD` was recorded, whose arguments may repeat from now on.
    #[cold]
    #[inline(never)]
    pub(crate) fn learn(&self, function: FunctionId, comm: MPI_Comm, record: Record) {
        let repeat = &self.repeats.0[place_of(function)];
        let others = repeat.others.get();
        repeat.others.set(others.wrapping_add(1));
        let is_time = others >= PATIENCE && others.is_power_of_two();
        if repeat.tag.get() != NO_TAG && !is_time {
            return;
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
        repeat.communicator.set(comm);
        repeat.received_tag.set(record.received_tag);
        repeat.first.set(first_of_repeat(number as u32));
        repeat.tag.set(record.tag);
    }
}
