//! Calls that come again with the arguments that they had, and that move what they moved: a thread gives these a number,
//! and each further record is short and of one length.
//!
//! They are messages, and collective operations that are over when they return, with predefined datatypes: what such a call
//! moves follows from its arguments, and of what it receives from its status. Calls that only tell something move nothing.
//! Of a message that goes on when its call has returned, it is known what is to be kept until it is complete.
//! The handle of a communicator may mean another one after that is freed. Then nothing repeats any more that was known
//! ([`circumstances`]).

use core::cell::{Cell, Ref, RefCell};
use core::ffi::c_void;
use core::sync::atomic::{Ordering::SeqCst, compiler_fence};

use mpi_facts::trace::{DEFINES, MOST_DEFINED, MOST_MOVED, Moved, first_of_repeat};
use mpi_facts::{NONE, Pattern, Position, Shape, only_tells};
use mpi_tool_layer::mpi_sys::{MPI_Comm, MPI_Datatype, MPI_IN_PLACE, c_int, pmpi};
use mpi_tool_layer::{
    Accepted, Call, Datatypes, FunctionId, Keeps, KeptMessage, MESSAGES, STARTED_MESSAGES, Word,
    functions,
};

use crate::arrivals::{Arrival, Arrived};
use crate::recorder::{Record, Recorder};
use crate::{circumstances, names};

/// The functions whose calls may repeat: no lengths of what they move are in arrays, and none makes an object.
pub(crate) const REPEATING: [bool; FunctionId::COUNT] = functions!(|function| {
    let shape = Shape::of(function);
    let has_arrays = shape.sent.array_of_counts
        || shape.received.array_of_counts
        || shape.sent.array_of_datatypes
        || shape.received.array_of_datatypes;
    !function.is_large_count()
        && (MESSAGES[function as usize]
            || STARTED_MESSAGES[function as usize]
            || shape.is_of_all() && !has_arrays
            || only_tells(function))
});

/// How many of them there are.
const FUNCTIONS: usize = PLACES.1;

/// For each of these functions its place among them, and how many there are.
const PLACES: ([u8; FunctionId::COUNT], usize) = {
    let mut places = [0; FunctionId::COUNT];
    let (mut count, mut index) = (0, 0);
    while index < REPEATING.len() {
        places[index] = count as u8;
        count += REPEATING[index] as usize;
        index += 1;
    }
    (places, count)
};

/// The place of a function that may repeat.
#[inline(always)]
fn place_of(function: FunctionId) -> usize {
    static PLACE: [u8; FunctionId::COUNT] = PLACES.0;
    PLACE[function as usize].into()
}

/// May a call repeat another one?
#[inline(always)]
pub(crate) fn may_repeat<'c>(call: impl Call<'c>) -> bool {
    static MAY: [bool; FunctionId::COUNT] = REPEATING;
    MAY[call.function() as usize]
}

/// Does a call that may repeat start a message, which goes on when it has returned?
#[inline(always)]
pub(crate) fn starts_message<'c>(call: impl Call<'c>) -> bool {
    STARTED_MESSAGES[call.function() as usize]
}

/// The arguments that decide what a call's record says and what it moves; nothing where the function has none.
#[derive(Clone, Copy)]
struct Arguments {
    communicator: MPI_Comm,
    sent: Data,
    received: Data,
    destination: c_int,
    source: c_int,
    root: c_int,
    tag: c_int,
    received_tag: c_int,
}

#[derive(Clone, Copy)]
struct Data {
    count: c_int,
    datatype: MPI_Datatype,
    /// A `bool` as a number, which is compared in fewer instructions.
    is_in_place: u8,
}

impl Arguments {
    /// Of nothing.
    fn none() -> Self {
        let data = Data { count: 0, datatype: pmpi::MPI_DATATYPE_NULL, is_in_place: 0 };
        Self {
            communicator: pmpi::MPI_COMM_NULL,
            sent: data,
            received: data,
            destination: 0,
            source: 0,
            root: 0,
            tag: 0,
            received_tag: 0,
        }
    }

    fn of<'c>(call: impl Call<'c>) -> Self {
        let shape = call.shape();
        let int = |position| call.get::<c_int>(position).unwrap_or(0);
        let none = Self::none();
        let data = |data: mpi_facts::Data, is_in_place| Data {
            count: int(data.count),
            datatype: call.get(data.datatype).unwrap_or(none.sent.datatype),
            is_in_place: u8::from(is_in_place),
        };
        let [sent_in_place, received_in_place] = are_in_place(call);
        Self {
            communicator: call.get(shape.communicator).unwrap_or(none.communicator),
            sent: data(shape.sent, sent_in_place),
            received: data(shape.received, received_in_place),
            destination: int(shape.destination),
            source: int(shape.source),
            root: int(shape.root),
            tag: int(shape.tags.0),
            received_tag: int(shape.tags.1),
        }
    }

    /// Does a call have these? Only what the function has is compared, once.
    #[inline(always)]
    fn are_of<'c>(&self, call: impl Call<'c>) -> bool {
        let shape = call.shape();
        let (sent, received) = (shape.sent, shape.received);
        is_same(call, shape.tags.0, self.tag)
            && is_same(call, shape.communicator, self.communicator)
            && is_same(call, shape.destination, self.destination)
            && is_same(call, shape.source, self.source)
            && is_same(call, shape.root, self.root)
            && (shape.tags.1 == shape.tags.0 || is_same(call, shape.tags.1, self.received_tag))
            && is_same(call, sent.count, self.sent.count)
            && is_same(call, sent.datatype, self.sent.datatype)
            && (received.count == sent.count || is_same(call, received.count, self.received.count))
            && (received.datatype == sent.datatype
                || is_same(call, received.datatype, self.received.datatype))
            && self.are_in_place_as(call)
    }

    /// Only one of the two can be, as the function says.
    #[inline(always)]
    fn are_in_place_as<'c>(&self, call: impl Call<'c>) -> bool {
        let [sent, received] = are_in_place(call);
        match may_be_in_place(call) {
            [true, _] => u8::from(sent) == self.sent.is_in_place,
            [_, true] => u8::from(received) == self.received.is_in_place,
            _ => true,
        }
    }
}

/// Is an argument this one, if there is one?
#[inline(always)]
fn is_same<'c, T: Word + PartialEq>(call: impl Call<'c>, position: Position, known: T) -> bool {
    call.get::<T>(position).is_none_or(|argument| argument == known)
}

/// May the buffer that a collective operation sends from, or the one that it receives to, stand for the other one? The standard
/// allows the former, but where the root scatters, the latter, and none of a broadcast, which has one buffer.
#[inline(always)]
fn may_be_in_place<'c>(call: impl Call<'c>) -> [bool; 2] {
    match call.shape().pattern {
        _ if !call.is_of_all() => [false, false],
        Pattern::Nothing | Pattern::Broadcast => [false, false],
        Pattern::Scatter => [false, true],
        _ => [true, false],
    }
}

/// Does each of the two?
#[inline(always)]
fn are_in_place<'c>(call: impl Call<'c>) -> [bool; 2] {
    let shape = call.shape();
    let is =
        |position| call.get::<*const c_void>(position).is_some_and(|buffer| buffer == MPI_IN_PLACE);
    let [sent, received] = may_be_in_place(call);
    [sent && is(shape.sent.buffer), received && is(shape.received.buffer)]
}

/// A call that may come again, and what is known of it.
pub(crate) struct Repeat {
    /// Where it is among what the thread knows.
    place: u8,
    /// The circumstances in which it repeats.
    during: Cell<u64>,
    arguments: Cell<Arguments>,
    /// The first bytes of the records of further calls.
    first: Cell<u32>,
    function: Cell<FunctionId>,
    /// What the status says, if the call receives a message, else [`Arrived::NOTHING`].
    arrived: Cell<Arrived>,
    /// What is kept of the message that the call starts, if anything is.
    kept: RefCell<Option<KeptMessage>>,
    record: Cell<Record>,
    moved: Cell<[Option<Moved>; MOST_MOVED]>,
    /// What arrives for it later.
    pub(crate) arrival: Arrival,
    /// The last call that was looked for here and was another one.
    candidate: Cell<u64>,
    /// The call that has come after this one, of the function's calls.
    then: Cell<Option<&'static Repeat>>,
}

impl Repeat {
    fn none(place: u8) -> Self {
        Self {
            place,
            during: Cell::new(circumstances::NEVER),
            arguments: Cell::new(Arguments::none()),
            first: Cell::new(u32::MAX),
            function: Cell::new(FunctionId::MPI_Send),
            arrived: Cell::new(Arrived::NOTHING),
            kept: RefCell::new(None),
            record: Cell::new(Record::none(FunctionId::MPI_Send)),
            moved: Cell::new([None; MOST_MOVED]),
            arrival: Arrival::unknown(),
            candidate: Cell::new(0),
            then: Cell::new(None),
        }
    }

    /// Where it is among what the thread knows.
    #[inline(always)]
    pub(crate) fn place(&self) -> u8 {
        self.place
    }

    /// Is what is known of it true now?
    #[inline(always)]
    pub(crate) fn is_known_now(&self) -> bool {
        self.during.get() == circumstances::now()
    }

    /// The first bytes of its records.
    #[inline(always)]
    pub(crate) fn first(&self) -> u32 {
        self.first.get()
    }

    /// What is kept of the message that the call starts, if anything is. `None` in a signal handler that comes while something
    /// is learned here.
    #[inline(always)]
    pub(crate) fn kept(&self) -> Option<Ref<'_, Option<KeptMessage>>> {
        self.kept.try_borrow().ok()
    }

    /// Is a call this one, of a function that is known to be the same? [`Repeats::leave`] sees to that.
    #[inline(always)]
    fn is<'c>(&self, call: impl Call<'c>) -> bool {
        self.is_known_now() && self.arguments.get().are_of(call)
    }

    /// Has a call that began as this one received what this one has?
    #[inline(always)]
    pub(crate) fn has_ended_so<'c>(&self, call: impl Call<'c>, accepted: Accepted<'c>) -> bool {
        self.arrived.get() == Arrived::NOTHING || self.has_arrived(call, accepted)
    }

    /// The same of a call that receives a message from somebody. No for any other one.
    #[inline(always)]
    pub(crate) fn has_arrived<'c>(&self, call: impl Call<'c>, accepted: Accepted<'c>) -> bool {
        call.status(accepted).is_some_and(|status| Arrived::at_once(status) == self.arrived.get())
    }
}

/// How many calls a thread knows at a time.
const KNOWN: usize = 64;

/// The place of no call.
pub(crate) const NOWHERE: u8 = KNOWN as u8;

/// The calls of a thread that may come again.
pub(crate) struct Repeats {
    /// The last places are of no call.
    known: &'static [Repeat; KNOWN + 1],
    /// For each function the call that it has repeated last, unless that was to receive something from nobody.
    last: [Cell<&'static Repeat>; FUNCTIONS],
    /// How many have got a number.
    numbers: Cell<u32>,
    is_learning: Cell<bool>,
}

/// Whether a call repeats.
pub(crate) enum Found {
    /// It does.
    Repeats(&'static Repeat),
    /// It does not, and may be learned here.
    MayBe(&'static Repeat),
    /// It does not.
    No,
}

impl Repeats {
    /// Makes one of which nothing repeats, at a place in memory: it is larger than what may be on the stack of a thread.
    ///
    /// # Safety
    /// It can be written there.
    pub(crate) unsafe fn make_at(place: *mut Self) {
        let known: Vec<Repeat> = (0..=NOWHERE).map(Repeat::none).collect();
        let known: &'static [Repeat] = known.leak();
        let Ok(known) = known.try_into() else { unreachable!("as many as are counted") };
        let known: &'static [Repeat; KNOWN + 1] = known;
        // SAFETY: the places are those of the fields, all of which can be written, as the caller says.
        unsafe {
            let last = (&raw mut (*place).last).cast::<Cell<&'static Repeat>>();
            (0..FUNCTIONS).for_each(|at| last.add(at).write(Cell::new(&known[KNOWN])));
            (&raw mut (*place).known).write(known);
            (&raw mut (*place).numbers).write(Cell::new(0));
            (&raw mut (*place).is_learning).write(Cell::new(false));
        }
    }

    /// The call that a call repeats, if that is the function's last one, or the one that has come after that before: as in
    /// loops over neighbours.
    #[inline(always)]
    pub(crate) fn last_or_next<'c>(&self, call: impl Call<'c>) -> Option<&'static Repeat> {
        let place = &self.last[place_of(call.function())];
        let last = place.get();
        if last.is(call) {
            return Some(last);
        }
        let next = last.then.get()?;
        if next.function.get() != call.function() || !next.is(call) {
            return None;
        }
        place.set(next);
        Some(next)
    }

    /// The call that a call repeats.
    #[inline(always)]
    pub(crate) fn find<'c>(&self, call: impl Call<'c>) -> Found {
        let hash = hash(call);
        let place = (hash >> 32) as usize % KNOWN;
        let (one, other) = (&self.known[place], &self.known[place ^ 1]);
        for place in [one, other] {
            if place.function.get() == call.function() && place.is(call) {
                if call.shape().statuses == NONE || place.arrived.get() != Arrived::NOTHING {
                    let last = self.last[place_of(call.function())].replace(place);
                    if !core::ptr::eq(last, self.nothing()) {
                        last.then.set(Some(place));
                    }
                }
                place.candidate.set(0);
                return Found::Repeats(place);
            }
        }
        let now = circumstances::now();
        if !circumstances::are_usual(now) {
            return Found::No;
        }
        let place = if other.during.get() != now && one.during.get() == now { other } else { one };
        // A call that comes once need not be known, and what is known does not give way to it.
        let is_again = place.candidate.replace(hash ^ now) == hash ^ now;
        if is_again { Found::MayBe(place) } else { Found::No }
    }

    /// What is known of the call whose records begin so: its function, what records say of the arguments, and what moves.
    /// `None` if others have taken its place since.
    pub(crate) fn contents(
        &self,
        first: u32,
    ) -> Option<(FunctionId, Record, [Option<Moved>; MOST_MOVED])> {
        let is_it = |repeat: &&Repeat| repeat.first.get() == first;
        let repeat = self.known.iter().find(is_it)?;
        Some((repeat.function.get(), repeat.record.get(), repeat.moved.get()))
    }

    /// What is known at a place.
    #[inline(always)]
    pub(crate) fn at(&self, place: u8) -> Option<&Repeat> {
        self.known.get(usize::from(place))
    }

    /// Begins to learn something, with a number that nothing has. Then [`learned`](Self::learned) must follow. A signal handler
    /// that comes meanwhile learns nothing.
    pub(crate) fn learns(&self) -> Option<u32> {
        if self.numbers.get() >= MOST_DEFINED || self.is_learning.replace(true) {
            return None;
        }
        Some(self.numbers.get())
    }

    /// Something was learned, with the number, or was not.
    pub(crate) fn learned(&self, is_it: bool) {
        self.numbers.set(self.numbers.get() + u32::from(is_it));
        self.is_learning.set(false);
    }

    /// What is no call.
    #[inline(always)]
    fn nothing(&self) -> &'static Repeat {
        &self.known[KNOWN]
    }

    /// A place is going to be another call's, perhaps of another function: no function has it at hand any more.
    fn leave(&self, place: &Repeat) {
        for last in self.last.iter().filter(|last| core::ptr::eq(last.get(), place)) {
            last.set(self.nothing());
        }
    }

    /// Nothing repeats any more.
    pub(crate) fn forget(&self) {
        for repeat in self.known {
            repeat.during.set(circumstances::NEVER);
        }
    }
}

/// A number of a call that is the same for calls that repeat it.
#[inline(always)]
fn hash<'c>(call: impl Call<'c>) -> u64 {
    let shape = call.shape();
    let int = |position| u64::from(call.get::<c_int>(position).unwrap_or(0).cast_unsigned());
    let numbers = [
        int(shape.destination) << 32 | int(shape.tags.0),
        int(shape.source) << 32 | int(shape.sent.count),
        int(shape.root) << 32 | int(shape.received.count),
        call.function() as u64,
    ];
    let mix = |hash: u64, number: u64| {
        (hash.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    numbers.into_iter().fold(0, mix)
}

/// A call that is going to be known, and what it has moved.
pub(crate) struct Learned {
    place: &'static Repeat,
    moved: Cell<[Option<Moved>; MOST_MOVED]>,
    count: Cell<usize>,
}

impl Learned {
    /// Nothing yet, of a call that [may be](Found::MayBe) learned at a place.
    pub(crate) const fn at(place: &'static Repeat) -> Self {
        Self { place, moved: Cell::new([None; MOST_MOVED]), count: Cell::new(0) }
    }

    /// The call has moved this.
    pub(crate) fn add(&self, moved: Moved) {
        let count = self.count.get();
        let mut all = self.moved.get();
        if let Some(place) = all.get_mut(count) {
            *place = Some(moved);
        }
        self.moved.set(all);
        self.count.set(count + 1);
    }

    /// All of it, if it is little and the call's own.
    fn all(&self) -> Option<[Option<Moved>; MOST_MOVED]> {
        let moved = self.moved.get();
        let is_own = moved.iter().flatten().all(|moved| moved.of.is_none());
        (self.count.get() <= MOST_MOVED && is_own).then_some(moved)
    }
}

impl Recorder {
    /// A call that was accepted, and that is recorded, may repeat from now on, if what it moves, and what is kept of it, can be
    /// told from its arguments.
    #[cold]
    #[inline(never)]
    pub(crate) fn learn<'c>(
        &self,
        learned: &Learned,
        call: impl Call<'c>,
        accepted: Accepted<'c>,
        record: &Record,
        keeps: Keeps,
    ) {
        let (repeats, place) = (&self.repeats, learned.place);
        let during = circumstances::now();
        let shape = call.shape();
        let is_predefined = |data: mpi_facts::Data, is_in_place| {
            call.get::<MPI_Datatype>(data.datatype)
                .is_none_or(|datatype| is_in_place || Datatypes::predefined(datatype).is_some())
        };
        let [sent_in_place, received_in_place] = are_in_place(call);
        let Some(moved) = learned.all() else { return };
        let kept = match keeps {
            Keeps::Nothing => None,
            Keeps::Message(kept) => Some(kept),
            Keeps::Another => return,
        };
        let has_moved = moved.iter().flatten().count() > 0;
        let arrived =
            call.status(accepted).filter(|_| has_moved).map_or(Arrived::NOTHING, Arrived::at_once);
        // To and from nobody, nothing moves, whatever it is.
        let is_known = !has_moved
            || is_predefined(shape.sent, sent_in_place)
                && is_predefined(shape.received, received_in_place)
                && (shape.statuses == NONE || arrived != Arrived::NOTHING);
        if !is_known
            || !circumstances::are_usual(during)
            || record.fields.communicator && !names::is_told_apart(record.communicator)
        {
            return;
        }
        // This may be a signal handler that has come while it was read.
        let Ok(mut known_kept) = place.kept.try_borrow_mut() else { return };
        let Some(number) = repeats.learns() else { return };
        place.during.set(circumstances::NEVER);
        compiler_fence(SeqCst);
        repeats.leave(place);
        place.arrival.forget();
        let kind = names::kind_of(call.function());
        let is_written = self.write_alone(|writer| {
            writer.put(DEFINES);
            writer.put(number.into());
            writer.put(kind);
            record.put(writer);
            writer.put(moved.iter().flatten().count() as u64);
            moved.iter().flatten().for_each(|moved| writer.put_moved(moved));
        });
        if is_written {
            place.arguments.set(Arguments::of(call));
            place.first.set(first_of_repeat(number));
            place.function.set(call.function());
            place.arrived.set(arrived);
            *known_kept = kept;
            place.record.set(*record);
            place.moved.set(moved);
            compiler_fence(SeqCst);
            place.during.set(during);
        }
        repeats.learned(is_written);
    }
}
