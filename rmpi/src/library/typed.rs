use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr;
use std::sync::OnceLock;

use super::buffer::{RawBuffer, TypeDynamicBufferMut, TypedBuffer};
use super::communicator::Communicator;
use super::datatype::{ElementOf, handle};
use super::error::{Error, ErrorClass, RmpiResult};
use super::process::{Message, Process, Source};
use super::request::OwnedRequest;
use super::status::Status;
use super::sys::{self, MPI_Comm, MPI_Count};
use crate::plain::{SERIALIZED, of_tag, tag_of};
use crate::{AnyTag, Format, Multiple, Plain, Postcard, Single, TypeMap, fingerprint};
#[cfg(feature = "serde")]
use serde::{Serialize, de::DeserializeOwned};

/// A communicator whose messages say of which type they are: who expects another type gets an error
/// that names both, and nothing is misread.
///
/// Plain data ([`Plain`]) travels as it lies in memory, in one message of its own datatype: the
/// envelope's tag says which. With the feature `serde`, values of any type that `serde` knows travel in
/// one message of bytes, which begins with the type's fingerprint and name. A receiver learns the length
/// by a matched probe, which at [`Multiple`] no other thread comes between. `docs/messages.md` describes the protocol.
///
/// There are no tags to choose: another communicator is another stream of messages, and an enumeration
/// tells messages of one stream apart. Messages of one sender arrive in the order in which they were sent.
///
/// ```no_run
/// let context = rmpi::init()?;
/// let world = rmpi::TypedCommunicator::new(context.world())?;
/// match world.rank()? {
///     0 => world.process(1).send(&[1.0, 2.0])?,
///     1 => {
///         let (numbers, _status) = world.process(0).recv_vec::<f64>()?;
///         assert_eq!(numbers, [1.0, 2.0]);
///     }
///     _ => {}
/// }
/// # Ok::<(), rmpi::MessageError>(())
/// ```
///
/// Collective operations on values of any type that `serde` knows are here, too, with the feature: `broadcast_value`,
/// `gather_values`, `scatter_values`, `allgather_values`, `alltoall_values`, `reduce_values`, `allreduce_values`. Those on
/// plain data are the [communicator](Self::communicator)'s.
#[derive(Debug)]
#[repr(C)]
pub struct TypedCommunicator<'ctx, L: crate::ThreadLevel = Single, F: Format = Postcard> {
    messages: Communicator<'ctx, L>,
    reductions: Reductions,
    _format: PhantomData<fn() -> F>,
}

/// A duplicate for the messages of reductions, which no receiver of other messages may get. The first reduction makes it;
/// it is dropped with the communicator that it is beside, and so while MPI runs.
#[derive(Debug)]
#[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "who reduces values makes one"))]
struct Reductions(OnceLock<Duplicate>);

#[derive(Debug)]
#[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "as above"))]
struct Duplicate(MPI_Comm);

// SAFETY: `Send` and `Sync` ask that other threads may use and free the handle: that is done through the typed
// communicator beside it only, which is on another thread only where MPI may be called there.
unsafe impl Send for Duplicate {}
// SAFETY: as above.
unsafe impl Sync for Duplicate {}

impl Drop for Duplicate {
    fn drop(&mut self) {
        // SAFETY: MPI_Comm_free requires a communicator, freed once: `reductions` has put one here that is nobody
        // else's. MPI runs, since a communicator that it outlives is dropped together with this.
        unsafe { sys::MPI_Comm_free(&mut self.0) };
    }
}

impl<'ctx, F: Format> Deref for TypedCommunicator<'ctx, Multiple, F> {
    type Target = TypedCommunicator<'ctx, Single, F>;
    fn deref(&self) -> &TypedCommunicator<'ctx, Single, F> {
        // SAFETY: the cast asks that both types look the same: they are `repr(C)`, with communicators whose types
        // differ in markers of no size only, which are `repr(C)`, too, and two fields of one type. What a single
        // thread may do is allowed at this level on each thread, and the reference stays on its thread, since the
        // target is not `Sync`.
        unsafe { &*ptr::from_ref(self).cast() }
    }
}

/// What a message's reception can end in, other than a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// What MPI says.
    Mpi(Error),
    /// The message has another type than was expected. It is gone.
    Type {
        /// What was to be received.
        expected: String,
        /// What the message has.
        received: String,
    },
    /// The message is longer than the buffer. It is gone.
    Length {
        /// Elements of the buffer.
        expected: usize,
        /// Elements of the message.
        received: usize,
    },
    /// The message is damaged, or its sender does not use a [`TypedCommunicator`]. It is gone.
    Malformed {
        /// What was to be received.
        expected: String,
        /// What is wrong.
        reason: String,
    },
    /// A process of a collective operation had no value, and got an error that says why. All others took part, and
    /// none waits.
    NoValue {
        /// Its rank.
        rank: usize,
    },
    /// The value has no serialised form.
    Unsendable {
        /// Its type.
        name: &'static str,
        /// What is wrong.
        reason: String,
    },
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mpi(error) => error.fmt(f),
            Self::Type { expected, received } => {
                write!(f, "a message of type {received} came where {expected} was expected")
            }
            Self::Length { expected, received } => {
                write!(f, "a message of {received} elements came where {expected} have room")
            }
            Self::Malformed { expected, reason } => {
                write!(f, "a message came that is no {expected}: {reason}")
            }
            Self::NoValue { rank } => {
                write!(f, "rank {rank} had no value to send: the error it got says why")
            }
            Self::Unsendable { name, reason } => {
                write!(f, "a value of type {name} cannot be sent: {reason}")
            }
        }
    }
}

impl std::error::Error for MessageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Mpi(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Error> for MessageError {
    fn from(error: Error) -> Self {
        Self::Mpi(error)
    }
}

/// The result of a typed reception.
pub type MessageResult<T = ()> = Result<T, MessageError>;

/// A process of a [`TypedCommunicator`], to send to and to receive from.
#[derive(Debug, Clone, Copy)]
pub struct TypedProcess<'c, F: Format = Postcard> {
    process: Process<'c>,
    source: TypedSource<'c, F>,
}

/// Where messages of a [`TypedCommunicator`] come from: a [`TypedProcess`], or any.
#[derive(Debug, Clone, Copy)]
pub struct TypedSource<'c, F: Format = Postcard>(Source<'c>, PhantomData<fn() -> F>);

impl<'c, F: Format> Deref for TypedProcess<'c, F> {
    type Target = TypedSource<'c, F>;
    fn deref(&self) -> &TypedSource<'c, F> {
        &self.source
    }
}

impl<'ctx, L: crate::ThreadLevel> TypedCommunicator<'ctx, L> {
    /// This communicator, for typed messages only.
    ///
    /// Other messages must not be on their way in it; where they are, who receives them gets
    /// an error.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let halves = world.split(Some(world.rank()? as u32 % 2), 0)?.expect("a color was given");
    /// let halves = rmpi::TypedCommunicator::from_communicator(halves);
    /// # Ok(()) }
    /// ```
    pub const fn from_communicator(communicator: Communicator<'ctx, L>) -> Self {
        Self {
            messages: communicator,
            reductions: Reductions(OnceLock::new()),
            _format: PhantomData,
        }
    }
}

impl<'ctx, L: crate::ThreadLevel, F: Format> TypedCommunicator<'ctx, L, F> {
    /// The same communicator, in which values have another form from now on: at all of its processes.
    ///
    /// Messages that are on their way in the former one are an error for who receives them.
    pub fn with_format<G: Format>(self) -> TypedCommunicator<'ctx, L, G> {
        let Self { messages, reductions, _format } = self;
        TypedCommunicator { messages, reductions, _format: PhantomData }
    }

    /// The communicator, for any messages again. Collective, if values were reduced in it, as its drop is.
    pub fn into_communicator(self) -> Communicator<'ctx, L> {
        self.messages
    }
}

impl<'ctx> TypedCommunicator<'ctx> {
    /// A duplicate for typed messages. C: `MPI_Comm_dup`. Collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let messages = rmpi::TypedCommunicator::new(world)?;
    /// # Ok(()) }
    /// ```
    pub fn new(communicator: &Communicator<'ctx>) -> RmpiResult<Self> {
        communicator.dup().map(Self::from_communicator)
    }
}

impl<'ctx, F: Format> TypedCommunicator<'ctx, Single, F> {
    /// The communicator below, for collective operations. Messages that it sends are none of these.
    pub const fn communicator(&self) -> &Communicator<'ctx> {
        &self.messages
    }

    /// The duplicate for reductions. C: `MPI_Comm_dup`, the first time. Collective.
    #[cfg(feature = "serde")]
    pub(super) fn reductions(&self) -> RmpiResult<Communicator<'_>> {
        let Duplicate(raw) = match self.reductions.0.get() {
            Some(duplicate) => duplicate,
            None => {
                let made = Duplicate(self.messages.dup()?.into_raw());
                self.reductions.0.get_or_init(|| made)
            }
        };
        // SAFETY: `borrow_raw` asks for an intracommunicator whose errors return, which nobody frees before the end of
        // the lifetime, and that this thread may call MPI: `dup` has made it, and it is freed with `self`, which is
        // borrowed and on this thread.
        Ok(unsafe { Communicator::borrow_raw(*raw) })
    }

    /// This process's rank. C: `MPI_Comm_rank`. Local.
    ///
    /// # Errors
    /// What MPI says.
    pub fn rank(&self) -> RmpiResult<usize> {
        self.messages.rank()
    }

    /// How many processes there are. C: `MPI_Comm_size`. Local.
    ///
    /// # Errors
    /// What MPI says.
    pub fn size(&self) -> RmpiResult<usize> {
        self.messages.size()
    }

    /// The process of a rank.
    pub fn process(&self, rank: usize) -> TypedProcess<'_, F> {
        let process = self.messages.process(rank);
        TypedProcess { process, source: TypedSource(process.into(), PhantomData) }
    }

    /// Any process, to receive from.
    pub fn any_source(&self) -> TypedSource<'_, F> {
        TypedSource(self.messages.any_source(), PhantomData)
    }
}

impl<'c, F: Format> TypedProcess<'c, F> {
    /// Sends plain data. C: `MPI_Send`. Local or not: it may block until the message is received.
    ///
    /// # Errors
    /// As [`Process::send`].
    ///
    /// ```no_run
    /// # fn example(to: rmpi::TypedProcess<'_>) -> rmpi::RmpiResult {
    /// to.send(&[1.0, 2.0])?;
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn send<T: Plain>(&self, elements: &[T]) -> RmpiResult {
        self.process.send(elements, const { tag_of::<T>() })
    }

    /// Begins to send plain data that the request keeps. C: `MPI_Isend`. Local.
    ///
    /// # Errors
    /// As [`Process::send`].
    ///
    /// ```no_run
    /// # fn example(to: rmpi::TypedProcess<'_>) -> rmpi::RmpiResult {
    /// let request = to.isend_owned(vec![1.0, 2.0])?;
    /// let (numbers, _status) = request.wait()?;
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn isend_owned<B>(&self, elements: B) -> RmpiResult<OwnedRequest<'c, B>>
    where
        B: TypedBuffer<Element: Plain> + 'static,
    {
        self.process.isend_owned(elements, const { tag_of::<B::Element>() })
    }

    /// Sends a value in its serialised form. C: `MPI_Send` of bytes. Local or not, as
    /// [`send`](Self::send).
    ///
    /// # Errors
    /// [`MessageError::Unsendable`] if it has none, such as a sequence of unknown length; what MPI says.
    ///
    /// ```no_run
    /// # fn example(to: rmpi::TypedProcess<'_>) -> rmpi::MessageResult {
    /// to.send_value(&("temperatures".to_owned(), vec![Some(1.5), None]))?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "serde")]
    pub fn send_value<T>(&self, value: &T) -> MessageResult
    where
        T: Serialize + DeserializeOwned + 'static,
    {
        Ok(self.process.send(&encode::<T, F>(value)?, SERIALIZED)?)
    }

    /// Begins to send a value in its serialised form, which the request keeps: the value itself is free
    /// at once. C: `MPI_Isend` of bytes. Local.
    ///
    /// # Errors
    /// As [`send_value`](Self::send_value).
    ///
    /// ```no_run
    /// # fn example(to: rmpi::TypedProcess<'_>) -> rmpi::MessageResult {
    /// let request = to.isend_value(&vec!["to", "everybody"].join(" "))?;
    /// request.wait()?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "serde")]
    pub fn isend_value<T>(&self, value: &T) -> MessageResult<OwnedRequest<'c, Vec<u8>>>
    where
        T: Serialize + DeserializeOwned + 'static,
    {
        Ok(self.process.isend_owned(encode::<T, F>(value)?, SERIALIZED)?)
    }
}

#[cfg(feature = "serde")]
pub(super) fn encode<T, F: Format>(value: &T) -> MessageResult<Vec<u8>>
where
    T: Serialize + DeserializeOwned + 'static,
{
    let name = core::any::type_name::<T>();
    fingerprint::encode::<T, F>(value).map_err(|reason| MessageError::Unsendable { name, reason })
}

/// The value of a message.
#[cfg(feature = "serde")]
pub(super) fn decode<T, F: Format>(message: &[u8]) -> MessageResult<T>
where
    T: DeserializeOwned + 'static,
{
    let expected = || core::any::type_name::<T>().to_owned();
    fingerprint::decode::<T, F>(message).map_err(|unread| match unread {
        fingerprint::Unread::Malformed(reason) => {
            MessageError::Malformed { expected: expected(), reason }
        }
        fingerprint::Unread::Other(name, fingerprint) => {
            let received = match fingerprint {
                None => name,
                Some(other) => format!(
                    "{name} (of other fields, or in another format: fingerprint {other:016x}, and here {:016x})",
                    fingerprint::fingerprint_in::<T, F>()
                ),
            };
            MessageError::Type { expected: expected(), received }
        }
    })
}

/// A message that was found, and is to be received.
struct Found<'c> {
    message: Message<'c>,
    status: Status,
}

impl<'c, F: Format> TypedSource<'c, F> {
    fn wait(&self) -> RmpiResult<Found<'c>> {
        let (message, status) = self.0.mprobe(AnyTag)?;
        Ok(Found { message, status })
    }

    fn look(&self) -> RmpiResult<Option<Found<'c>>> {
        let found = self.0.improbe(AnyTag)?;
        Ok(found.map(|(message, status)| Found { message, status }))
    }

    /// Receives plain data into the beginning of a slice; the status tells how much.
    /// C: `MPI_Mprobe`, `MPI_Get_count`, `MPI_Mrecv`. Blocks, not local.
    ///
    /// # Errors
    /// [`MessageError::Type`] if the message has another type, [`MessageError::Length`] if it is longer
    /// than the slice, which is left as it was then; the message is gone. What MPI says.
    ///
    /// ```no_run
    /// # fn example(from: rmpi::TypedProcess<'_>) -> rmpi::MessageResult {
    /// let mut numbers = [0.0; 100];
    /// let length = from.recv(&mut numbers)?.get_count::<f64>()?;
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn recv<T: Plain>(&self, elements: &mut [T]) -> MessageResult<Status> {
        self.wait()?.into_slice(elements)
    }

    /// Receives plain data of any length. C: as [`recv`](Self::recv). Blocks, not local.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::TypedCommunicator<'_>) -> rmpi::MessageResult {
    /// let (numbers, status) = world.any_source().recv_vec::<f64>()?;
    /// println!("{} numbers from {:?}", numbers.len(), status.source());
    /// # Ok(()) }
    /// ```
    pub fn recv_vec<T: Plain>(&self) -> MessageResult<(Vec<T>, Status)> {
        self.wait()?.into_vec()
    }

    /// Receives plain data of any length, if there is a message.
    /// C: `MPI_Improbe`, and if there is one `MPI_Get_count`, `MPI_Mrecv`. Local.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::TypedCommunicator<'_>) -> rmpi::MessageResult {
    /// while let Some((numbers, _status)) = world.any_source().try_recv_vec::<f64>()? {
    ///     println!("{numbers:?}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn try_recv_vec<T: Plain>(&self) -> MessageResult<Option<(Vec<T>, Status)>> {
        self.look()?.map(Found::into_vec).transpose()
    }

    /// Receives a value that came in its serialised form.
    /// C: `MPI_Mprobe`, `MPI_Get_count`, `MPI_Mrecv`. Blocks, not local.
    ///
    /// # Errors
    /// [`MessageError::Type`] if the message has another type, [`MessageError::Malformed`] if it is no
    /// value of this one; the message is gone. What MPI says.
    ///
    /// ```no_run
    /// # fn example(from: rmpi::TypedProcess<'_>) -> rmpi::MessageResult {
    /// let (named, _status) = from.recv_value::<(String, Vec<Option<f64>>)>()?;
    /// println!("{}: {:?}", named.0, named.1);
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "serde")]
    pub fn recv_value<T: DeserializeOwned + 'static>(&self) -> MessageResult<(T, Status)> {
        self.wait()?.into_value::<T, F>()
    }

    /// Receives a value that came in its serialised form, if there is a message.
    /// C: `MPI_Improbe`, and if there is one `MPI_Get_count`, `MPI_Mrecv`. Local.
    ///
    /// # Errors
    /// As [`recv_value`](Self::recv_value).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::TypedCommunicator<'_>) -> rmpi::MessageResult {
    /// while let Some((text, status)) = world.any_source().try_recv_value::<String>()? {
    ///     println!("{:?} says {text}", status.source());
    /// }
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "serde")]
    pub fn try_recv_value<T: DeserializeOwned + 'static>(
        &self,
    ) -> MessageResult<Option<(T, Status)>> {
        self.look()?.map(Found::into_value::<T, F>).transpose()
    }
}

/// How errors call plain data.
fn name_of<T>() -> String {
    format!("[{}]", core::any::type_name::<T>())
}

impl Found<'_> {
    #[inline]
    fn into_slice<T: Plain>(self, elements: &mut [T]) -> MessageResult<Status> {
        let count = match self.status.get_count::<T>()? {
            Some(count) if self.status.tag() == const { Some(tag_of::<T>()) } => count,
            _ => return Err(self.other(name_of::<T>())),
        };
        let expected = elements.len();
        let Some(elements) = elements.get_mut(..count) else {
            self.into_vec::<T>()?;
            return Err(MessageError::Length { expected, received: count });
        };
        Ok(self.message.mrecv(elements)?)
    }

    fn into_vec<T: Plain>(self) -> MessageResult<(Vec<T>, Status)> {
        match self.status.get_count::<T>()? {
            Some(count) if self.status.tag() == const { Some(tag_of::<T>()) } => {
                let element = ElementOf::<T>::get()?;
                self.elements(
                    count,
                    count.saturating_mul(element.per_value),
                    ElementOf::<T>::FLAT.0,
                )
            }
            _ => Err(self.other(name_of::<T>())),
        }
    }

    /// Receives as many values as the message has, which are so many elements of a datatype.
    fn elements<T: crate::MpiDatatype>(
        self,
        values: usize,
        elements: usize,
        datatype: &'static TypeMap,
    ) -> MessageResult<(Vec<T>, Status)> {
        let mut vector = Vec::<T>::with_capacity(values);
        let raw = RawBuffer {
            pointer: vector.as_mut_ptr().cast(),
            count: elements as MPI_Count,
            datatype: handle(datatype)?,
        };
        debug_assert!(elements * datatype.extent() <= values * size_of::<T>());
        // SAFETY: `from_raw` asks for memory that MPI may write to as so many elements, that nobody else uses,
        // and that nobody reads before: `vector` has room for so many values, which the elements fill, and
        // `mrecv` only writes.
        let status = self.message.mrecv(unsafe { TypeDynamicBufferMut::from_raw(raw) })?;
        if status.get_count::<T>()? != Some(values) {
            return Err(
                Error::refused(ErrorClass::OTHER, "MPI received less than it had found").into()
            );
        }
        // SAFETY: `set_len` asks for so many initialised values within the capacity: MPI says that it wrote so
        // many, for which there is room, and any bits are values.
        unsafe { vector.set_len(values) };
        Ok((vector, status))
    }

    fn bytes(self) -> MessageResult<(Vec<u8>, Status)> {
        // Every message is a number of bytes.
        let length = self.status.get_count::<u8>()?.unwrap_or(0);
        self.elements(length, length, <u8 as crate::SendDatatype>::TYPE_MAP)
    }

    #[cfg(feature = "serde")]
    fn into_value<T, F: Format>(self) -> MessageResult<(T, Status)>
    where
        T: DeserializeOwned + 'static,
    {
        let expected = || core::any::type_name::<T>().to_owned();
        if self.status.tag() != Some(SERIALIZED) {
            return Err(self.other(expected()));
        }
        let (message, status) = self.bytes()?;
        Ok((decode::<T, F>(&message)?, status))
    }

    /// Receives a message of another type than was expected, and says of which.
    #[cold]
    fn other(self, expected: String) -> MessageError {
        let tag = self.status.tag();
        if let Some((map, name)) = tag.and_then(of_tag) {
            let (map, per_value) = map.flat();
            debug_assert_eq!(per_value, 1);
            let count = self.status.get_count::<u8>();
            // Room for its bytes; the datatype is that of the sender, where it is one of ours.
            let result = count.map_err(MessageError::from).and_then(|bytes| {
                let bytes = bytes.unwrap_or(0);
                let size = map.size();
                if bytes % size != 0 {
                    self.bytes()?;
                    let reason = format!("{bytes} bytes are no whole number of {name}");
                    return Err(MessageError::Malformed { expected: expected.clone(), reason });
                }
                let elements = bytes / size;
                let words = (elements * map.extent()).div_ceil(size_of::<u128>());
                let mut room = vec![MaybeUninit::<u128>::uninit(); words];
                let raw = RawBuffer {
                    pointer: room.as_mut_ptr().cast(),
                    count: elements as MPI_Count,
                    datatype: handle(map)?,
                };
                // SAFETY: `from_raw` asks for memory that MPI may write to as so many elements, that nobody
                // else uses, and that nobody reads before: `room` has so many bytes, and `mrecv` only writes.
                self.message.mrecv(unsafe { TypeDynamicBufferMut::from_raw(raw) })?;
                Ok(())
            });
            return match result {
                Ok(()) => MessageError::Type { expected, received: format!("[{name}]") },
                Err(error) => error,
            };
        }
        match self.bytes() {
            Ok((message, _)) if tag == Some(SERIALIZED) => match fingerprint::parts(&message) {
                Some(parts) => MessageError::Type { expected, received: parts.name.to_owned() },
                None => {
                    let reason = "it does not begin as one of rmpi's".to_owned();
                    MessageError::Malformed { expected, reason }
                }
            },
            Ok(_) => {
                let reason = match tag {
                    Some(tag) => format!("its tag, {}, is none of rmpi's", tag.value()),
                    None => "it has no tag".to_owned(),
                };
                MessageError::Malformed { expected, reason }
            }
            Err(error) => error,
        }
    }
}
