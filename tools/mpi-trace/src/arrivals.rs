//! What arrives in a later call than the one that has started to receive it.
//!
//! A call that comes again and again ([`Repeat`]) often receives the same each time. Then a thread gives that a number, too, and
//! the call in which it arrives has a record of four bytes for it, whatever call that is.

use core::cell::Cell;

use mpi_facts::trace::{DEFINES_DATA, Moved, Way, first_of_wait, number_of_repeat, repeated_data};
use mpi_tool_layer::mpi_sys::{MPI_Status, c_int};
use mpi_tool_layer::received_bytes_at_once;

use crate::recorder::Recorder;
use crate::repeats::{NOWHERE, Repeat};

/// The call that has started an operation, or none that is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Started {
    /// Its thread and its number there.
    call: u64,
    /// The place of what it repeats, or [`NOWHERE`].
    place: u8,
}

impl Started {
    pub(crate) const UNTRACED: Self = Self { call: u64::MAX, place: NOWHERE };
    const NUMBER: u32 = 44;

    /// The call that the thread records next.
    #[inline(always)]
    pub(crate) fn next_of(recorder: &Recorder) -> Self {
        let call = recorder.thread() << Self::NUMBER | recorder.calls();
        Self { call, place: NOWHERE }
    }

    /// The same, for what an operation that it starts will refer to.
    #[inline(always)]
    pub(crate) fn made_by(recorder: &Recorder) -> Self {
        recorder.is_referred_to();
        Self::next_of(recorder)
    }

    /// The same of a call that repeats another one.
    #[inline(always)]
    pub(crate) fn again(recorder: &Recorder, repeat: &Repeat) -> Self {
        Self { place: repeat.place(), ..Self::next_of(recorder) }
    }

    /// Is it the call that the thread records next?
    pub(crate) fn is_next_of(self, recorder: &Recorder) -> bool {
        self.call == Self::next_of(recorder).call
    }

    pub(crate) const fn parts(self) -> (u64, u64) {
        (self.call >> Self::NUMBER, self.call & ((1 << Self::NUMBER) - 1))
    }
}

/// What has arrived, by a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrived {
    bytes: u64,
    source: c_int,
    tag: c_int,
}

impl Arrived {
    /// No status says this: of a call that receives nothing, or from nobody.
    pub(crate) const NOTHING: Self = Self { bytes: u64::MAX, source: 0, tag: 0 };

    /// In a call that is over when it returns.
    #[inline(always)]
    pub(crate) fn at_once(status: &MPI_Status) -> Self {
        Self::of(received_bytes_at_once(status), status)
    }

    #[inline(always)]
    fn of(bytes: u64, status: &MPI_Status) -> Self {
        Self { bytes, source: status.MPI_SOURCE, tag: status.MPI_TAG }
    }
}

/// What arrives for a call that comes again.
pub(crate) struct Arrival {
    /// The last call that was the same; only of that it is known.
    call: Cell<u64>,
    known: Cell<Arrived>,
    /// The number of it.
    number: Cell<u32>,
    /// What has arrived last that was not known, and whether it had before.
    candidate: Cell<Arrived>,
    is_again: Cell<bool>,
}

impl Arrival {
    pub(crate) const fn unknown() -> Self {
        Self {
            call: Cell::new(u64::MAX),
            known: Cell::new(Arrived::NOTHING),
            number: Cell::new(0),
            candidate: Cell::new(Arrived::NOTHING),
            is_again: Cell::new(false),
        }
    }

    /// Of another call from now on.
    pub(crate) fn forget(&self) {
        self.call.set(u64::MAX);
        self.known.set(Arrived::NOTHING);
        self.candidate.set(Arrived::NOTHING);
        self.is_again.set(false);
    }

    /// The record of what is known.
    #[inline(always)]
    pub(crate) fn record(&self) -> u32 {
        repeated_data(self.number.get())
    }

    /// The first bytes of the record of a call of `MPI_Wait` in which it arrives.
    #[inline(always)]
    pub(crate) fn first_of_wait(&self) -> u32 {
        first_of_wait(self.number.get())
    }

    /// The call has come once more.
    #[inline(always)]
    pub(crate) fn begin(&self, started: Started) {
        self.call.set(started.call);
    }
}

impl Recorder {
    /// The call that has started an operation, if it is the last one that repeats what is known.
    #[inline(always)]
    fn last_started(&self, started: Started) -> Option<&Repeat> {
        let repeat = self.repeats.at(started.place)?;
        (repeat.arrival.call.get() == started.call && repeat.is_known_now()).then_some(repeat)
    }

    /// What arrives for a call, if so many bytes with this status are what has arrived before.
    #[inline(always)]
    pub(crate) fn known_arrival(
        &self,
        started: Started,
        bytes: u64,
        status: &MPI_Status,
    ) -> Option<&Arrival> {
        let Repeat { arrival, .. } = self.last_started(started)?;
        (arrival.known.get() == Arrived::of(bytes, status)).then_some(arrival)
    }

    /// The same, and records that it has arrived. Otherwise [`arrives`](Self::arrives) follows if anything has.
    #[inline(always)]
    pub(crate) fn arrives_again(&self, started: Started, bytes: u64, status: &MPI_Status) -> bool {
        let Some(Repeat { arrival, .. }) = self.last_started(started) else { return false };
        let arrived = Arrived::of(bytes, status);
        let is_known = arrival.known.get() == arrived;
        let is_again = !is_known && arrival.candidate.replace(arrived) == arrived;
        arrival.is_again.set(is_again);
        is_known && self.repeat_data(arrival.record())
    }

    /// This has arrived, which was not known. If it comes twice, it may come again.
    #[cold]
    #[inline(never)]
    pub(crate) fn arrives(&self, started: Started, moved: Moved) {
        let Some(repeat) = self.last_started(started) else { return };
        let arrival = &repeat.arrival;
        if moved.way != Way::Received || !arrival.is_again.replace(false) {
            return;
        }
        let arrived = arrival.candidate.get();
        let Some(number) = self.repeats.learns() else { return };
        let moved = Moved { of: None, ..moved };
        let is_written = self.write_alone(|writer| {
            writer.put(DEFINES_DATA);
            writer.put(number.into());
            writer.put(number_of_repeat(repeat.first()).into());
            writer.put_moved(&moved);
        });
        self.repeats.learned(is_written);
        // The definition may have gone to another chunk than what it is about, which is forgotten then.
        if is_written && repeat.is_known_now() {
            arrival.number.set(number);
            arrival.known.set(arrived);
        }
    }
}
