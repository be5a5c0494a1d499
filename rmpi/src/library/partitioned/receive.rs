//! The receiver's side.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use rmpi_macros::wraps;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::process::tag_of;
use super::super::request::{OwnedRequest, may_start, not_started, started};
use super::super::sys::{self, MPI_Request, c_int};
use super::PartitionedCommunicator;
use super::parts::{ANEW, Agreed, Envelope, Parts, for_threads};
use crate::{MessageTag, MpiDatatype, Multiple, Single, ThreadLevel};

/// What the sender has said of its buffer.
#[derive(Debug)]
enum Sender<'c> {
    /// Nothing yet.
    Awaited(OwnedRequest<'c, Box<Agreed>>),
    /// It goes with this one.
    Agrees,
    /// It is another one.
    Disagrees,
}

/// What threads use of a receive at the same time.
#[derive(Debug)]
struct Incoming<T> {
    /// A request of `MPI_Precv_init`, or null where MPI has freed it.
    raw: MPI_Request,
    parts: Parts<T>,
    /// Does the sender have as many parts?
    as_many: bool,
}

/// A message that is received often, whose parts arrive one by one: the buffer, which moved in, and MPI's request. The
/// number of parts can be another one than the sender's; the whole must be as long, and of the same type.
///
/// After [`start`](Self::start), a part can be read once it has arrived: [`arrivals`](Self::arrivals) and
/// [`share`](Self::share) tell. The whole is accessible after a [`wait`](Self::wait).
///
/// Dropped, a receive that was started is waited for, since MPI cannot cancel it, and one that was not, until the sender
/// has prepared its side. Forgotten, or dropped by a panic, it leaks the buffer, so that MPI never uses memory of others.
#[derive(Debug)]
#[must_use = "it is freed when it is dropped"]
pub struct PartitionedReceive<'c, T: MpiDatatype> {
    incoming: Incoming<T>,
    /// Was it started, and has MPI not said that it is complete?
    active: bool,
    /// Its tag is known once the sender has told it.
    envelope: Envelope,
    /// Is the request to be made by the next start?
    anew: bool,
    sender: Sender<'c>,
}

impl PartitionedCommunicator<'_> {
    /// Prepares to receive a message from a process, in so many parts of one length, to be started often.
    /// C: `MPI_Irecv`, by which the sender tells its length; `MPI_Precv_init` comes with the first start, when that is known:
    /// Open MPI would receive before. Local.
    ///
    /// # Errors
    /// As [`psend_init`](Self::psend_init), but for what MPI says, of which the first start tells.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::PartitionedCommunicator<'_>) -> rmpi::RmpiResult {
    /// let mut receive = world.precv_init(0, vec![0.0; 100], 5, rmpi::Tag::new(0))?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Irecv)]
    pub fn precv_init<T: MpiDatatype + 'static>(
        &self,
        from: usize,
        buffer: Vec<T>,
        partitions: usize,
        tag: impl MessageTag,
    ) -> RmpiResult<PartitionedReceive<'_, T>> {
        let process = self.words.process(from);
        let rank = process.peer()?;
        tag_of(tag)?;
        // From here on, its drop frees the buffer.
        let mut receive = PartitionedReceive {
            incoming: Incoming {
                raw: sys::MPI_REQUEST_NULL,
                parts: Parts::new(buffer, partitions)?,
                as_many: false,
            },
            active: false,
            envelope: Envelope { communicator: self.data.as_raw(), rank, tag: 0 },
            anew: true,
            sender: Sender::Disagrees,
        };
        receive.sender = Sender::Awaited(process.irecv_owned(Box::default(), tag)?);
        Ok(receive)
    }
}

impl<T: MpiDatatype> PartitionedReceive<'_, T> {
    /// Hears what the sender has said of its buffer, the first time.
    fn hear(&mut self) -> RmpiResult {
        // If MPI fails, what has come is not known, and nothing may be received.
        match core::mem::replace(&mut self.sender, Sender::Disagrees) {
            Sender::Awaited(request) => {
                let (theirs, ours) = (request.wait()?.0, self.incoming.parts.agreed(0));
                if theirs[..2] == ours[..2]
                    && let Ok(tag) = c_int::try_from(theirs[3])
                {
                    self.sender = Sender::Agrees;
                    self.incoming.as_many = theirs[2] == ours[2];
                    self.envelope.tag = tag;
                }
            }
            known => self.sender = known,
        }
        Ok(())
    }

    /// Makes the request. C: `MPI_Precv_init`.
    #[wraps(MPI_Precv_init)]
    fn prepare(&mut self) -> RmpiResult {
        let raw = self.incoming.parts.as_raw()?;
        let count = self.incoming.parts.len() as c_int;
        let Envelope { communicator, rank, tag } = self.envelope;
        // SAFETY: MPI_Precv_init requires `count` times `raw.count` elements of the datatype, which stay until the request
        // is freed: the parts are so many, and `self` keeps them until then. The rank was looked at when `self` was made,
        // whose communicator is borrowed; the tag is one of the sender's, and an info may be null. It writes one handle to
        // `request`.
        self.incoming.raw = output(sys::MPI_REQUEST_NULL, |request| unsafe {
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
            unsafe { sys::MPI_Request_free(&mut self.incoming.raw) };
            self.incoming.raw = sys::MPI_REQUEST_NULL;
            self.anew = true;
        }
    }

    /// Starts the message. C: `MPI_Precv_init` the first time, under Open MPI each time; `MPI_Start`. Local, but for the first
    /// time: that waits, by `MPI_Wait`, until the sender has prepared its side. So prepare what you send before you start
    /// what you receive.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it was started and not waited for; [`TRUNCATE`](ErrorClass::TRUNCATE) if the
    /// sender's buffer has another length or datatype; what MPI says.
    ///
    /// ```no_run
    /// # fn example(receive: &mut rmpi::PartitionedReceive<'_, f64>) -> rmpi::RmpiResult {
    /// receive.start()?;
    /// receive.wait()?;
    /// println!("{:?}", receive.buffer()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Start)]
    pub fn start(&mut self) -> RmpiResult {
        if self.active {
            return Err(started());
        }
        self.hear()?;
        if !matches!(self.sender, Sender::Agrees) {
            return Err(Error::refused(
                ErrorClass::TRUNCATE,
                "the sender's buffer has another length or datatype than the receiver's: nothing is received",
            ));
        }
        if self.anew {
            self.prepare()?;
            self.anew = false;
        }
        may_start(self.active, self.incoming.raw)?;
        // SAFETY: MPI_Start asks for an inactive persistent request, whose buffer nobody uses but what has arrived: this
        // one is neither active nor freed, as was looked at above, and an active one gives out only what has arrived. What
        // comes is as long as the buffer, as the sender has said.
        check(unsafe { mpi.call(&mut self.incoming.raw) })?;
        self.active = true;
        Ok(())
    }

    /// What has arrived, while the message is started, on this thread.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it is not started.
    pub fn arrivals(&self) -> RmpiResult<Arrivals<'_, T>> {
        if !self.active {
            return Err(not_started());
        }
        Ok(Arrivals { incoming: &self.incoming, _thread: PhantomData })
    }

    /// What has arrived, while the message is started, for all threads. A communicator of level [`Multiple`] shows that
    /// all threads may call MPI; any will do.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it is not started; [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION)
    /// under Open MPI, which loses parts, in C as well, if threads call it at once (tried: 5.0.11).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_, rmpi::Multiple>, receive: &rmpi::PartitionedReceive<'_, f64>) -> rmpi::RmpiResult {
    /// let arrivals = receive.share(world)?;
    /// std::thread::scope(|threads| {
    ///     for number in 0..arrivals.len() {
    ///         threads.spawn(move || -> rmpi::RmpiResult {
    ///             let values = loop {
    ///                 if let Some(values) = arrivals.get(number)? {
    ///                     break values;
    ///                 }
    ///             };
    ///             println!("{values:?}");
    ///             Ok(())
    ///         });
    ///     }
    /// });
    /// # Ok(()) }
    /// ```
    pub fn share<'s>(
        &'s self,
        runtime: &'s Communicator<'_, Multiple>,
    ) -> RmpiResult<Arrivals<'s, T, Multiple>> {
        let _ = runtime;
        for_threads()?;
        if !self.active {
            return Err(not_started());
        }
        Ok(Arrivals { incoming: &self.incoming, _thread: PhantomData })
    }

    /// Waits until the whole message has come. C: `MPI_Wait`. Blocks, not local.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it is not started; what MPI says.
    ///
    /// ```no_run
    /// # fn example(receive: &mut rmpi::PartitionedReceive<'_, f64>) -> rmpi::RmpiResult {
    /// receive.start()?;
    /// receive.wait()
    /// # }
    /// ```
    #[wraps(MPI_Wait)]
    pub fn wait(&mut self) -> RmpiResult {
        if !self.active {
            return Err(not_started());
        }
        let raw = &mut self.incoming.raw;
        // SAFETY: MPI_Wait asks for a request that was not freed, which an active one was not. The status is ignored.
        let result = check(unsafe { mpi.call(raw, sys::MPI_STATUS_IGNORE) });
        match result {
            Ok(()) => self.ended(),
            Err(_) => self.active = *raw != sys::MPI_REQUEST_NULL,
        }
        result
    }

    /// Asks whether the whole message has arrived. C: `MPI_Test`. Local.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    ///
    /// ```no_run
    /// # fn example(receive: &mut rmpi::PartitionedReceive<'_, f64>) -> rmpi::RmpiResult {
    /// receive.start()?;
    /// while !receive.test()? {}
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Test)]
    pub fn test(&mut self) -> RmpiResult<bool> {
        if !self.active {
            return Err(not_started());
        }
        let raw = &mut self.incoming.raw;
        // SAFETY: MPI_Test asks for a request that was not freed, which an active one was not. It writes an int to what
        // `output` lends; the status is ignored.
        let result = output(0, |flag| unsafe { mpi.call(raw, flag, sys::MPI_STATUS_IGNORE) });
        let complete = result.as_ref().is_ok_and(|flag| *flag != 0);
        if complete {
            self.ended();
        } else {
            self.active = *raw != sys::MPI_REQUEST_NULL;
        }
        result.map(|_| complete)
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
        // while the request is inactive, and to start it takes `&mut self`, as does `buffer_mut`. Any bits are values.
        Ok(unsafe { &*self.incoming.parts.all() })
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
        Ok(unsafe { &mut *self.incoming.parts.all() })
    }

    /// Frees the request and gives the buffer back. C: `MPI_Request_free`. Local, but waits until the sender has prepared
    /// its side.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it was started and not waited for, which is done then, as by a drop; what MPI
    /// says, and the buffer is leaked.
    ///
    /// ```no_run
    /// # fn example(receive: rmpi::PartitionedReceive<'_, f64>) -> rmpi::RmpiResult {
    /// let numbers: Vec<f64> = receive.free()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Request_free)]
    pub fn free(mut self) -> RmpiResult<Vec<T>> {
        if self.active {
            return Err(started());
        }
        self.hear()?;
        // There is nothing left in it that a drop would free, but for the buffer.
        let mut this = ManuallyDrop::new(self);
        let raw = &mut this.incoming.raw;
        if *raw != sys::MPI_REQUEST_NULL {
            // SAFETY: MPI_Request_free asks for a request that was not freed, as MPI would have made null of it.
            check(unsafe { mpi.call(raw) })?;
        }
        // SAFETY: `take` asks that nobody uses the memory any more: the request was inactive and is freed, and `this` is
        // neither used nor dropped any more.
        Ok(unsafe { this.incoming.parts.take() })
    }
}

impl<T: MpiDatatype> Drop for PartitionedReceive<'_, T> {
    fn drop(&mut self) {
        if self.active {
            if std::thread::panicking() {
                return;
            }
            // The first call tells an operation's error, and the second that it has ended.
            if self.wait().is_err() && self.active {
                let _ = self.wait();
            }
        }
        if self.active {
            // MPI may go on using the buffer, which is leaked.
            return;
        }
        if !std::thread::panicking() {
            // What the sender tells is not left for the next one. An error leaves nothing to be done.
            let _ = self.hear();
        }
        let raw = &mut self.incoming.raw;
        if *raw != sys::MPI_REQUEST_NULL {
            // SAFETY: MPI_Request_free asks for a request that was not freed, as MPI would have made null of it. MPI runs
            // as long as the communicator, which is borrowed.
            unsafe { sys::MPI_Request_free(raw) };
        }
        // SAFETY: `take` asks that nobody uses the memory any more: the request is inactive and freed, and `self` ends.
        drop(unsafe { self.incoming.parts.take() });
    }
}

/// The parts of a [`PartitionedReceive`] that is started; of level [`Multiple`] for all threads.
#[derive(Debug)]
pub struct Arrivals<'a, T, L: ThreadLevel = Single> {
    incoming: &'a Incoming<T>,
    _thread: PhantomData<L::Marker>,
}

impl<T, L: ThreadLevel> Copy for Arrivals<'_, T, L> {}
impl<T, L: ThreadLevel> Clone for Arrivals<'_, T, L> {
    fn clone(&self) -> Self {
        *self
    }
}

// SAFETY: `Send` and `Sync` ask that threads may use all that is reached from here at once: they call MPI, which MPI allows
// them at this level, as a communicator has shown; they read values, which `T` allows. The handle
// is not changed while arrivals are borrowed.
unsafe impl<T: Sync> Send for Arrivals<'_, T, Multiple> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Arrivals<'_, T, Multiple> {}

impl<'a, T: MpiDatatype, L: ThreadLevel> Arrivals<'a, T, L> {
    /// How many parts there are.
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub const fn len(&self) -> usize {
        self.incoming.parts.len()
    }

    /// A part, if it has arrived. C: `MPI_Parrived`. Local.
    ///
    /// If the sender has another number of parts, all arrive together, and `MPI_Request_get_status` says so: of single parts,
    /// Open MPI 5.0.11 says then that they have arrived when they have not.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if the message has no partition of that number; what MPI says.
    ///
    /// ```no_run
    /// # fn example(arrivals: rmpi::Arrivals<'_, f64>) -> rmpi::RmpiResult {
    /// if let Some(values) = arrivals.get(3)? {
    ///     println!("{values:?}");
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Parrived)]
    pub fn get(&self, number: usize) -> RmpiResult<Option<&'a [T]>> {
        let c_number = self.incoming.parts.number(number)?;
        let values = self.incoming.parts.part(number)?;
        let raw = self.incoming.raw;
        if !self.incoming.as_many {
            // SAFETY: MPI_Request_get_status asks for a request that was not freed, which an active one was not. It writes
            // an int to what `output` lends; the status is ignored.
            let flag = output(0, |flag| unsafe {
                sys::MPI_Request_get_status(raw, flag, sys::MPI_STATUS_IGNORE)
            })?;
            // SAFETY: as below, of all parts.
            return Ok((flag != 0).then(|| unsafe { &*values }));
        }
        // SAFETY: MPI_Parrived asks for a request of a partitioned receive and a part of it, which were looked at. It
        // writes an int to what `output` lends.
        let flag = output(0, |flag| unsafe { mpi.call(raw, c_number, flag) })?;
        // SAFETY: a reference asks for initialised values to which nobody writes while it lives: MPI has said that the
        // part has arrived, and does not write to it before the next start, for which nothing may borrow the receive. Any
        // bits are values.
        Ok((flag != 0).then(|| unsafe { &*values }))
    }
}
