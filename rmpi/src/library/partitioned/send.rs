//! The sender's side.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut, Range};
use core::sync::atomic::{AtomicU8, Ordering};

use rmpi_macros::wraps;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::process::tag_of;
use super::super::request::{OwnedRequest, may_start, not_started, started};
use super::super::sys::{self, MPI_Request, c_int};
use super::PartitionedCommunicator;
use super::parts::{ANEW, Agreed, Envelope, Parts, for_threads};
use crate::{MessageTag, Multiple, SendDatatype, Single, ThreadLevel};

/// Nobody has it, and it is not ready.
const FREE: u8 = 0;
/// There is a [`Partition`] of it.
const TAKEN: u8 = 1;
/// MPI has it.
const READY: u8 = 2;

/// What threads use of a send at the same time.
#[derive(Debug)]
struct Outgoing<T> {
    /// A request of `MPI_Psend_init`, or null where MPI has freed it.
    raw: MPI_Request,
    parts: Parts<T>,
    /// Who has each part, while the send is started.
    states: Box<[AtomicU8]>,
}

impl<T> Outgoing<T> {
    /// Takes a part that nobody has.
    fn claim(&self, number: usize, new: u8) -> RmpiResult<c_int> {
        let c_number = self.parts.number(number)?;
        // Acquires what the one before has written.
        self.states[number]
            .compare_exchange(FREE, new, Ordering::Acquire, Ordering::Relaxed)
            .map(|_| c_number)
            .map_err(|_| {
                Error::refused(
                    ErrorClass::REQUEST,
                    "the partition is ready, or somebody else has it",
                )
            })
    }

    /// Takes several for MPI, or none.
    fn claim_all(&self, numbers: impl Iterator<Item = usize> + Clone) -> RmpiResult {
        for (claimed, number) in numbers.clone().enumerate() {
            if let Err(error) = self.claim(number, READY) {
                for number in numbers.take(claimed) {
                    self.states[number].store(FREE, Ordering::Release);
                }
                return Err(error);
            }
        }
        Ok(())
    }
}

/// A message that is sent often, in parts that are made ready one by one: the buffer, which moved in, and MPI's request.
///
/// After [`start`](Self::start), each part can be written to until it is ready, in any order, and by other threads:
/// [`partitions`](Self::partitions) and [`share`](Self::share) give access to them. What is ready is locked until a
/// [`wait`](Self::wait).
///
/// Dropped, a send that was started is made ready, with what the parts contain, and waited for, since MPI cannot cancel
/// it. Forgotten, or dropped by a panic, it leaks the buffer, so that MPI never uses memory of others.
#[derive(Debug)]
#[must_use = "it is freed when it is dropped"]
pub struct PartitionedSend<'c, T: SendDatatype> {
    outgoing: Outgoing<T>,
    /// Was it started, and has MPI not said that it is complete?
    active: bool,
    envelope: Envelope,
    /// Was the request freed after its end, to be made anew?
    anew: bool,
    /// Tells the receiver the length.
    agreed: Option<OwnedRequest<'c, Box<Agreed>>>,
}

impl PartitionedCommunicator<'_> {
    /// Prepares a message to a process, in so many parts of one length, to be started often. C: `MPI_Psend_init`; and an
    /// `MPI_Isend` that tells the receiver the length. Local.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if the buffer's length is no multiple of the number of parts, or 0;
    /// [`TYPE`](ErrorClass::TYPE) if the elements have padding or no data, and [`COUNT`](ErrorClass::COUNT) for parts of 2 GiB
    /// or more under Open MPI, which has their length in 32 bits (5.0.11 sends other memory if they have 4 GiB);
    /// [`RANK`](ErrorClass::RANK) if there is no such process; [`TAG`](ErrorClass::TAG) if this communicator has prepared as many
    /// sends as MPI has tags;
    /// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) if MPI is older than 4.0; what MPI says. The buffer is
    /// dropped then.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::PartitionedCommunicator<'_>) -> rmpi::RmpiResult {
    /// let mut send = world.psend_init(1, vec![0.0; 100], 10, rmpi::Tag::new(0))?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Psend_init)]
    pub fn psend_init<T: SendDatatype + 'static>(
        &self,
        to: usize,
        buffer: Vec<T>,
        partitions: usize,
        tag: impl MessageTag,
    ) -> RmpiResult<PartitionedSend<'_, T>> {
        let process = self.words.process(to);
        let rank = process.peer()?;
        tag_of(tag)?;
        let parts = Parts::new(buffer, partitions)?;
        let envelope = Envelope { communicator: self.data.as_raw(), rank, tag: self.next_tag()? };
        let states = (0..parts.len()).map(|_| AtomicU8::new(FREE)).collect();
        // From here on, its drop frees the buffer.
        let mut send = PartitionedSend {
            outgoing: Outgoing { raw: sys::MPI_REQUEST_NULL, parts, states },
            active: false,
            envelope,
            anew: false,
            agreed: None,
        };
        send.prepare(mpi)?;
        let agreed = Box::new(send.outgoing.parts.agreed(envelope.tag));
        send.agreed = Some(process.isend_owned(agreed, tag)?);
        Ok(send)
    }

    /// An error of a function of this communicator.
    #[cold]
    #[inline(never)]
    pub(super) fn blame(&self, error: &mut Error, place: &'static crate::place::Place) {
        self.words.blame(error, place);
    }
}

impl<T: SendDatatype> PartitionedSend<'_, T> {
    /// Makes the request.
    fn prepare(&mut self, mpi: impl crate::call::MPI_Psend_init) -> RmpiResult {
        let raw = self.outgoing.parts.as_raw()?;
        let count = self.outgoing.parts.len() as c_int;
        let Envelope { communicator, rank, tag } = self.envelope;
        // SAFETY: MPI_Psend_init requires `count` times `raw.count` elements of the datatype, which stay until the request
        // is freed: the parts are so many, and `self` keeps them until then. Rank and tag were looked at when `self` was
        // made, whose communicator is borrowed, and an info may be null. It writes one handle to `request`.
        self.outgoing.raw = output(sys::MPI_REQUEST_NULL, |request| unsafe {
            mpi.call(
                raw.pointer,
                count,
                raw.count,
                raw.datatype,
                rank,
                tag,
                communicator,
                sys::MPI_INFO_NULL,
                request,
            )
        })?;
        Ok(())
    }

    /// MPI has said that the message is complete.
    fn ended(&mut self) {
        self.active = false;
        if ANEW {
            // SAFETY: MPI_Request_free asks for a request that was not freed, which one that was active was not.
            unsafe { sys::MPI_Request_free(&mut self.outgoing.raw) };
            self.outgoing.raw = sys::MPI_REQUEST_NULL;
            self.anew = true;
        }
    }

    /// Starts the message: from now on its parts can be made ready. C: `MPI_Start`; under Open MPI, after the first time,
    /// `MPI_Psend_init` before, since 5.0.11 does not wait for requests that are started again. Local.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it was started and not waited for; what MPI says.
    ///
    /// ```no_run
    /// # fn example(send: &mut rmpi::PartitionedSend<'_, f64>) -> rmpi::RmpiResult {
    /// send.start()?;
    /// send.partitions()?.ready_range(0..10)?;
    /// send.wait()
    /// # }
    /// ```
    #[wraps(MPI_Start)]
    pub fn start(&mut self) -> RmpiResult {
        if self.anew && !self.active {
            self.prepare(super::super::Library)?;
            self.anew = false;
        }
        may_start(self.active, self.outgoing.raw)?;
        for state in &mut self.outgoing.states {
            *state.get_mut() = FREE;
        }
        // SAFETY: MPI_Start asks for an inactive persistent request, whose buffer nobody uses but as a partitioned send
        // allows: this one is neither active nor freed, as was looked at above, and an active one gives out only parts
        // that are not ready.
        check(unsafe { mpi.call(&mut self.outgoing.raw) })?;
        self.active = true;
        Ok(())
    }

    /// The parts of the message, while it is started, on this thread. Other threads can fill them through
    /// `&mut *partition`, which is a slice; to make them ready there, see [`share`](Self::share).
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it is not started.
    ///
    /// ```no_run
    /// # fn example(send: &rmpi::PartitionedSend<'_, f64>) -> rmpi::RmpiResult {
    /// let parts = send.partitions()?;
    /// let (mut first, mut second) = (parts.get(0)?, parts.get(1)?);
    /// std::thread::scope(|threads| {
    ///     let (first, second) = (&mut *first, &mut *second);
    ///     threads.spawn(|| first.fill(1.0));
    ///     threads.spawn(|| second.fill(2.0));
    /// });
    /// first.ready()?;
    /// second.ready()
    /// # }
    /// ```
    pub fn partitions(&self) -> RmpiResult<Partitions<'_, T>> {
        if !self.active {
            return Err(not_started());
        }
        Ok(Partitions { outgoing: &self.outgoing, _thread: PhantomData })
    }

    /// The parts of the message, while it is started, for all threads. A communicator of level [`Multiple`] shows that all
    /// threads may call MPI; any will do.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it is not started; [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION)
    /// under Open MPI, which loses parts, in C as well, if threads call it at once (tried: 5.0.11).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_, rmpi::Multiple>, send: &rmpi::PartitionedSend<'_, f64>) -> rmpi::RmpiResult {
    /// let parts = send.share(world)?;
    /// std::thread::scope(|threads| {
    ///     for number in 0..parts.len() {
    ///         threads.spawn(move || -> rmpi::RmpiResult {
    ///             let mut part = parts.get(number)?;
    ///             part.fill(number as f64);
    ///             part.ready()
    ///         });
    ///     }
    /// });
    /// # Ok(()) }
    /// ```
    pub fn share<'s>(
        &'s self,
        runtime: &'s Communicator<'_, Multiple>,
    ) -> RmpiResult<Partitions<'s, T, Multiple>> {
        let _ = runtime;
        for_threads()?;
        if !self.active {
            return Err(not_started());
        }
        Ok(Partitions { outgoing: &self.outgoing, _thread: PhantomData })
    }

    /// Makes ready what is not, as it is. C: `MPI_Pready_list`. Local.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it is not started; what MPI says.
    ///
    /// ```no_run
    /// # fn example(send: &mut rmpi::PartitionedSend<'_, f64>) -> rmpi::RmpiResult {
    /// send.start()?;
    /// send.partitions()?.get(3)?.fill(1.0);
    /// send.ready_all()?;
    /// send.wait()
    /// # }
    /// ```
    #[wraps(MPI_Pready_list)]
    pub fn ready_all(&mut self) -> RmpiResult {
        if !self.active {
            return Err(not_started());
        }
        let mut list: Vec<c_int> = Vec::new();
        for (number, state) in (0..).zip(&mut self.outgoing.states) {
            // Also a part that was taken and forgotten: nobody has it any more, since `self` is borrowed mutably.
            if core::mem::replace(state.get_mut(), READY) != READY {
                list.push(number);
            }
        }
        if list.is_empty() {
            return Ok(());
        }
        // SAFETY: MPI_Pready_list asks for an active request of a partitioned send and for so many parts of it that are
        // not ready, which nobody writes to from now on: that it is active was asked above, and the list has each part
        // that was not ready, once.
        check(unsafe { mpi.call(list.len() as c_int, list.as_ptr(), self.outgoing.raw) })
    }

    /// Refuses to wait for parts that nobody can make ready meanwhile.
    fn all_ready(&mut self) -> RmpiResult {
        let mut ready = true;
        for state in &mut self.outgoing.states {
            let state = state.get_mut();
            if *state != READY {
                // A part that was taken and forgotten can be taken again.
                (*state, ready) = (FREE, false);
            }
        }
        if ready {
            return Ok(());
        }
        Err(Error::refused(
            ErrorClass::REQUEST,
            "a partition is not ready: the wait would not end; `ready_all` makes ready what is left",
        ))
    }

    /// Waits until the message is sent, and the buffer accessible. C: `MPI_Wait`. Blocks, not local.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it is not started, or a part is not ready; what MPI says.
    ///
    /// ```no_run
    /// # fn example(send: &mut rmpi::PartitionedSend<'_, f64>) -> rmpi::RmpiResult {
    /// send.start()?;
    /// send.ready_all()?;
    /// send.wait()
    /// # }
    /// ```
    #[wraps(MPI_Wait)]
    pub fn wait(&mut self) -> RmpiResult {
        if !self.active {
            return Err(not_started());
        }
        self.all_ready()?;
        // SAFETY: MPI_Wait asks for a request that was not freed, which an active one was not. The status is ignored.
        let result = check(unsafe { mpi.call(&mut self.outgoing.raw, sys::MPI_STATUS_IGNORE) });
        match result {
            Ok(()) => self.ended(),
            Err(_) => self.active = self.outgoing.raw != sys::MPI_REQUEST_NULL,
        }
        result
    }

    /// Is the message sent, and the buffer accessible? It is not before all parts are ready. C: `MPI_Test`. Local.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it is not started; what MPI says.
    ///
    /// ```no_run
    /// # fn example(send: &mut rmpi::PartitionedSend<'_, f64>) -> rmpi::RmpiResult {
    /// send.start()?;
    /// send.ready_all()?;
    /// while !send.test()? {}
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Test)]
    pub fn test(&mut self) -> RmpiResult<bool> {
        if !self.active {
            return Err(not_started());
        }
        // SAFETY: MPI_Test asks for a request that was not freed, which an active one was not. It writes an int to what
        // `output` lends; the status is ignored.
        let flag = output(0, |flag| unsafe {
            mpi.call(&mut self.outgoing.raw, flag, sys::MPI_STATUS_IGNORE)
        })?;
        if flag != 0 {
            self.ended();
        }
        Ok(flag != 0)
    }

    /// Was it started, and has nothing said that it is complete?
    pub const fn is_active(&self) -> bool {
        self.active
    }

    /// The whole buffer, while the message is not started.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it was started and not waited for.
    pub fn buffer(&self) -> RmpiResult<&[T]> {
        if self.active {
            return Err(started());
        }
        // SAFETY: a reference asks for initialised values to which nobody writes while it lives: MPI does not use them
        // while the request is inactive, and to start it takes `&mut self`, as does `buffer_mut`. Partitions borrow
        // `self`, and are gone before a `&mut self` has made it inactive.
        Ok(unsafe { &*self.outgoing.parts.all() })
    }

    /// The whole buffer, to change it, while the message is not started.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it was started and not waited for.
    pub fn buffer_mut(&mut self) -> RmpiResult<&mut [T]> {
        if self.active {
            return Err(started());
        }
        // SAFETY: as in `buffer`; and nobody else has a reference, since `self` is borrowed mutably.
        Ok(unsafe { &mut *self.outgoing.parts.all() })
    }

    /// Frees the request and gives the buffer back. C: `MPI_Request_free`. Local, but may wait until the receiver has
    /// prepared its side.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it was started and not waited for, which is done then, as by a drop; what MPI
    /// says, and the buffer is leaked.
    ///
    /// ```no_run
    /// # fn example(send: rmpi::PartitionedSend<'_, f64>) -> rmpi::RmpiResult {
    /// let numbers: Vec<f64> = send.free()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Request_free)]
    pub fn free(mut self) -> RmpiResult<Vec<T>> {
        if self.active {
            return Err(started());
        }
        if let Some(agreed) = self.agreed.take() {
            agreed.wait()?;
        }
        let mut this = ManuallyDrop::new(self);
        if this.outgoing.raw != sys::MPI_REQUEST_NULL {
            // SAFETY: MPI_Request_free asks for a request that was not freed, as MPI would have made null of it.
            check(unsafe { mpi.call(&mut this.outgoing.raw) })?;
        }
        // SAFETY: the states are not used any more, and `this` is not dropped.
        drop(unsafe { core::ptr::read(&this.outgoing.states) });
        // SAFETY: `take` asks that nobody uses the memory any more: the request was inactive and is freed, and `this` is
        // neither used nor dropped any more.
        Ok(unsafe { this.outgoing.parts.take() })
    }
}

impl<T: SendDatatype> Drop for PartitionedSend<'_, T> {
    fn drop(&mut self) {
        if self.active {
            if std::thread::panicking() {
                return;
            }
            // What fails leaves a request that the wait tells of.
            let _ = self.ready_all();
            // The first call tells an operation's error, and the second that it has ended.
            if self.wait().is_err() && self.active {
                let _ = self.wait();
            }
        }
        if self.active {
            // MPI may go on using the buffer, which is leaked.
            return;
        }
        if self.outgoing.raw != sys::MPI_REQUEST_NULL {
            // SAFETY: MPI_Request_free asks for a request that was not freed, as MPI would have made null of it. MPI runs
            // as long as the communicator, which is borrowed.
            unsafe { sys::MPI_Request_free(&mut self.outgoing.raw) };
        }
        // SAFETY: `take` asks that nobody uses the memory any more: the request is inactive and freed, and `self` ends.
        drop(unsafe { self.outgoing.parts.take() });
    }
}

/// The parts of a [`PartitionedSend`] that is started; of level [`Multiple`] for all threads.
#[derive(Debug)]
pub struct Partitions<'a, T, L: ThreadLevel = Single> {
    outgoing: &'a Outgoing<T>,
    _thread: PhantomData<L::Marker>,
}

impl<T, L: ThreadLevel> Copy for Partitions<'_, T, L> {}
impl<T, L: ThreadLevel> Clone for Partitions<'_, T, L> {
    fn clone(&self) -> Self {
        *self
    }
}

// SAFETY: `Send` and `Sync` ask that threads may use all that is reached from here at once: they make parts ready, which
// MPI allows them at this level, as a communicator has shown; they get mutable access to values, which `T` allows, each
// part one thread at a time, by an atomic state. The handle is not changed while parts are borrowed.
unsafe impl<T: Send> Send for Partitions<'_, T, Multiple> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Partitions<'_, T, Multiple> {}

impl<'a, T: SendDatatype, L: ThreadLevel> Partitions<'a, T, L> {
    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub const fn len(&self) -> usize {
        self.outgoing.parts.len()
    }

    /// A part, to write to it. No call.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it is ready, or somebody else has it; [`ARG`](ErrorClass::ARG) if the message has no partition
    /// of that number.
    pub fn get(&self, number: usize) -> RmpiResult<Partition<'a, T, L>> {
        let c_number = self.outgoing.claim(number, TAKEN)?;
        let values = self.outgoing.parts.part(number)?;
        Ok(Partition {
            outgoing: self.outgoing,
            number: c_number,
            values,
            _values: PhantomData,
            _thread: PhantomData,
        })
    }

    /// Makes several ready. C: `MPI_Pready_range`, whose last number is in the range. Local.
    ///
    /// # Errors
    /// As [`get`](Self::get), for each, and none is made ready then; what MPI says.
    ///
    /// ```no_run
    /// # fn example(parts: rmpi::Partitions<'_, f64>) -> rmpi::RmpiResult {
    /// parts.ready_range(0..parts.len())
    /// # }
    /// ```
    #[wraps(MPI_Pready_range)]
    pub fn ready_range(&self, numbers: Range<usize>) -> RmpiResult {
        if numbers.is_empty() {
            return Ok(());
        }
        let first = self.outgoing.parts.number(numbers.start)?;
        let last = self.outgoing.parts.number(numbers.end - 1)?;
        self.outgoing.claim_all(numbers)?;
        // SAFETY: MPI_Pready_range asks for an active request of a partitioned send and for parts of it that are not
        // ready, which nobody writes to from now on: who has made `self` has looked if it is active, which it is while it
        // is borrowed; the parts were claimed above, when nobody had them.
        check(unsafe { mpi.call(first, last, self.outgoing.raw) })
    }

    /// Makes several ready. C: `MPI_Pready_list`. Local.
    ///
    /// # Errors
    /// As [`ready_range`](Self::ready_range); also if a number occurs twice.
    ///
    /// ```no_run
    /// # fn example(parts: rmpi::Partitions<'_, f64>) -> rmpi::RmpiResult {
    /// parts.ready_list(&[0, 2, 4])
    /// # }
    /// ```
    #[wraps(MPI_Pready_list)]
    pub fn ready_list(&self, numbers: &[usize]) -> RmpiResult {
        let list: Vec<c_int> = numbers
            .iter()
            .map(|number| self.outgoing.parts.number(*number))
            .collect::<RmpiResult<_>>()?;
        self.outgoing.claim_all(numbers.iter().copied())?;
        // SAFETY: MPI_Pready_list asks for what MPI_Pready_range does, and for so many numbers: as there. The list is no
        // longer than there are parts, since each was claimed.
        check(unsafe { mpi.call(list.len() as c_int, list.as_ptr(), self.outgoing.raw) })
    }
}

/// A part of a [`PartitionedSend`], to write to until it is ready. Dropped, it is not ready, and can be taken again.
#[derive(Debug)]
#[must_use = "dropped, it is not ready"]
pub struct Partition<'a, T, L: ThreadLevel = Single> {
    outgoing: &'a Outgoing<T>,
    number: c_int,
    /// Nobody else uses these values as long as the part's state is `TAKEN`.
    values: *mut [T],
    _values: PhantomData<&'a mut [T]>,
    _thread: PhantomData<L::Marker>,
}

// SAFETY: `Send` asks that another thread may use what is reached from here: the values, which `T` allows; an atomic state;
// and MPI, at this level, as `Partitions`.
unsafe impl<T: Send> Send for Partition<'_, T, Multiple> {}
// SAFETY: `Sync` asks that threads may use a reference at once: they only read the values, which `T` allows.
unsafe impl<T: Sync> Sync for Partition<'_, T, Multiple> {}

impl<T, L: ThreadLevel> Partition<'_, T, L> {
    /// Its number.
    pub const fn number(&self) -> usize {
        self.number.unsigned_abs() as usize
    }

    /// Lets MPI send it. C: `MPI_Pready`. Local.
    ///
    /// # Errors
    /// What MPI says. It counts as ready all the same.
    ///
    /// ```no_run
    /// # fn example(parts: rmpi::Partitions<'_, f64>) -> rmpi::RmpiResult {
    /// let mut part = parts.get(0)?;
    /// part.fill(1.0);
    /// part.ready()
    /// # }
    /// ```
    #[wraps(MPI_Pready)]
    pub fn ready(self) -> RmpiResult {
        let this = ManuallyDrop::new(self);
        this.outgoing.states[this.number()].store(READY, Ordering::Release);
        // SAFETY: MPI_Pready asks for an active request of a partitioned send and for a part of it that is not ready,
        // which nobody writes to from now on: the send is active while its parts are borrowed, the part was this one's,
        // which is gone, and nobody gets what is `READY`.
        check(unsafe { mpi.call(this.number, this.outgoing.raw) })
    }
}

impl<T, L: ThreadLevel> Deref for Partition<'_, T, L> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: a reference asks for initialised values to which nobody writes while it lives: they are this part's alone.
        unsafe { &*self.values }
    }
}

impl<T, L: ThreadLevel> DerefMut for Partition<'_, T, L> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { &mut *self.values }
    }
}

impl<T, L: ThreadLevel> Drop for Partition<'_, T, L> {
    fn drop(&mut self) {
        self.outgoing.states[self.number()].store(FREE, Ordering::Release);
    }
}
