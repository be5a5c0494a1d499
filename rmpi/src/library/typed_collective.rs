//! Collective operations on values of any type that `serde` knows: the bytes of a message of each, moved as
//! vectors of unknown length. A process that has no value sends no bytes, so that nobody waits for it.

use serde::{Serialize, de::DeserializeOwned};

use super::blocks::split_blocks_ref;
use super::error::{Error, ErrorClass};
use super::process::Process;
use super::typed::{MessageError, MessageResult, TypedCommunicator, decode, encode};
use crate::plain::SERIALIZED;
use crate::{Format, Single};

/// The message of a process of this rank as its value; no bytes say that it has none.
fn value_of<V, F: Format>(message: &[u8], rank: usize) -> MessageResult<V>
where
    V: DeserializeOwned + 'static,
{
    if message.is_empty() { Err(MessageError::NoValue { rank }) } else { decode::<V, F>(message) }
}

/// The values of messages that lie one after the other, by rank.
fn values_of<V, F: Format>(messages: &[u8], lengths: &[usize]) -> MessageResult<Vec<V>>
where
    V: DeserializeOwned + 'static,
{
    let messages = split_blocks_ref(messages, lengths)
        .ok_or(Error::refused(ErrorClass::OTHER, "MPI told more lengths than it received bytes"))?;
    messages.iter().enumerate().map(|(rank, message)| value_of::<V, F>(message, rank)).collect()
}

fn no_value() -> MessageError {
    Error::refused(ErrorClass::ARG, "the root has to give a value, as `Some(&value)`").into()
}

fn one_value_each() -> MessageError {
    Error::refused(ErrorClass::COUNT, "a value is needed for each process of the communicator")
        .into()
}

/// What is sent: the message, or no bytes for an error, which is returned after the others know of it.
fn sent(message: &MessageResult<Vec<u8>>) -> &[u8] {
    message.as_ref().map_or(&[], Vec::as_slice)
}

/// Sends bytes to a process that waits for them; no bytes where they are more than this MPI sends in a message.
fn send_or_tell(to: &Process<'_>, bytes: &[u8]) -> MessageResult {
    let result = to.send(bytes, SERIALIZED);
    if result.is_err_and(|error| error.class() == ErrorClass::UNSUPPORTED_OPERATION) {
        // Nothing of it was sent.
        let nothing: &[u8] = &[];
        to.send(nothing, SERIALIZED)?;
    }
    Ok(result?)
}

impl<F: Format> TypedCommunicator<'_, Single, F> {
    fn root(&self, rank: usize) -> MessageResult<Process<'_>> {
        let root = self.communicator().process(rank);
        root.root()?;
        Ok(root)
    }

    /// Sends a value of the root's to all processes, where the others give `None`, and what they give is not used.
    /// C: `MPI_Bcast` of the length (one `MPI_UINT64_T`), and `MPI_Bcast` of the bytes. Collective, blocks.
    ///
    /// # Errors
    /// [`MessageError::Unsendable`] if the value has no serialised form, at the root, and
    /// [`NoValue`](MessageError::NoValue) at the others; [`MessageError::Type`] if the root has another type; what MPI
    /// says, [`ARG`](ErrorClass::ARG) if the root gives `None`.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::TypedCommunicator<'_>) -> rmpi::MessageResult {
    /// let settings = (world.rank()? == 0).then(|| ("water".to_owned(), vec![Some(1.5), None]));
    /// let (material, numbers) = world.broadcast_value(0, settings.as_ref())?;
    /// # Ok(()) }
    /// ```
    pub fn broadcast_value<V>(&self, root: usize, value: Option<&V>) -> MessageResult<V>
    where
        V: Serialize + DeserializeOwned + 'static,
    {
        let process = self.root(root)?;
        if !process.is_this()? {
            return self.broadcast_from(root);
        }
        let message = value.ok_or_else(no_value).and_then(encode::<V, F>);
        process.bcast_vec(&mut sent(&message).to_vec())?;
        decode::<V, F>(&message?)
    }

    /// What another process broadcasts.
    fn broadcast_from<V: DeserializeOwned + 'static>(&self, root: usize) -> MessageResult<V> {
        let mut message = Vec::new();
        self.root(root)?.bcast_vec(&mut message)?;
        value_of::<V, F>(&message, root)
    }

    /// Collects a value of each process at the root, in the order of the ranks; `None` at the others.
    /// C: `MPI_Gather` of the lengths (one `MPI_UINT64_T` each), and `MPI_Gatherv` of the bytes. Collective, blocks.
    ///
    /// # Errors
    /// [`MessageError::Unsendable`] if the value has no serialised form, at this process, and
    /// [`NoValue`](MessageError::NoValue) with its rank at the root; [`MessageError::Type`] at the root if a process has
    /// another type; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::TypedCommunicator<'_>) -> rmpi::MessageResult {
    /// let name = format!("rank {}", world.rank()?);
    /// if let Some(names) = world.gather_values(0, &name)? {
    ///     println!("{}", names.join(", "));
    /// }
    /// # Ok(()) }
    /// ```
    pub fn gather_values<V>(&self, root: usize, value: &V) -> MessageResult<Option<Vec<V>>>
    where
        V: Serialize + DeserializeOwned + 'static,
    {
        let root = self.root(root)?;
        let message = encode::<V, F>(value);
        let received = root.gatherv_vec_counts(sent(&message))?;
        message?;
        received.map(|(messages, lengths)| values_of::<V, F>(&messages, &lengths)).transpose()
    }

    /// Collects a value of each process at all of them, in the order of the ranks.
    /// C: `MPI_Allgather` of the lengths (one `MPI_UINT64_T` each), and `MPI_Allgatherv` of the bytes. Collective,
    /// blocks.
    ///
    /// # Errors
    /// [`MessageError::Unsendable`] if the value has no serialised form, at this process, and
    /// [`NoValue`](MessageError::NoValue) with its rank at the others; [`MessageError::Type`] if a process has another
    /// type; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::TypedCommunicator<'_>) -> rmpi::MessageResult {
    /// let hosts: Vec<Option<String>> = world.allgather_values(&std::env::var("HOSTNAME").ok())?;
    /// # Ok(()) }
    /// ```
    pub fn allgather_values<V>(&self, value: &V) -> MessageResult<Vec<V>>
    where
        V: Serialize + DeserializeOwned + 'static,
    {
        let message = encode::<V, F>(value);
        let (messages, lengths) = self.communicator().allgatherv_vec_counts(sent(&message))?;
        message?;
        values_of::<V, F>(&messages, &lengths)
    }

    /// Sends a value of the root's to each process; the others give `None`, and what they give is not used.
    /// C: `MPI_Scatter` of the lengths (one `MPI_UINT64_T` each), and `MPI_Scatterv` of the bytes. Collective, blocks.
    ///
    /// # Errors
    /// [`MessageError::Unsendable`] if a value has no serialised form, at the root, and
    /// [`NoValue`](MessageError::NoValue) at the others; [`MessageError::Type`] if the root has another type; what MPI
    /// says, [`COUNT`](ErrorClass::COUNT) if the root does not give a value for each process.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::TypedCommunicator<'_>) -> rmpi::MessageResult {
    /// let size = world.size()?;
    /// let files = (world.rank()? == 0).then(|| vec!["input.dat".to_owned(); size]);
    /// let file = world.scatter_values(0, files.as_deref())?;
    /// # Ok(()) }
    /// ```
    pub fn scatter_values<V>(&self, root: usize, values: Option<&[V]>) -> MessageResult<V>
    where
        V: Serialize + DeserializeOwned + 'static,
    {
        let process = self.root(root)?;
        if !process.is_this()? {
            return value_of::<V, F>(&process.scatterv_vec(None)?, root);
        }
        let (messages, result) = self.messages_to(values.unwrap_or_default())?;
        let mine = process.scatterv_vec(Some(&messages))?;
        result?;
        value_of::<V, F>(&mine, root)
    }

    /// Sends a value to each process, and receives one of each, in the order of the ranks.
    /// C: `MPI_Alltoall` of the lengths (one `MPI_UINT64_T` each), and `MPI_Alltoallv` of the bytes. Collective, blocks.
    ///
    /// # Errors
    /// [`MessageError::Unsendable`] if a value has no serialised form, at this process, and
    /// [`NoValue`](MessageError::NoValue) with its rank at the others; [`MessageError::Type`] if a process has another
    /// type; what MPI says, [`COUNT`](ErrorClass::COUNT) if this process does not give a value for each.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::TypedCommunicator<'_>) -> rmpi::MessageResult {
    /// let questions: Vec<String> = (0..world.size()?).map(|rank| format!("To rank {rank}")).collect();
    /// let asked = world.alltoall_values(&questions)?;
    /// # Ok(()) }
    /// ```
    pub fn alltoall_values<V>(&self, values: &[V]) -> MessageResult<Vec<V>>
    where
        V: Serialize + DeserializeOwned + 'static,
    {
        let (messages, result) = self.messages_to(values)?;
        let received = self.communicator().alltoallv_vec(&messages)?;
        result?;
        let values = received.iter().enumerate();
        values.map(|(rank, message)| value_of::<V, F>(message, rank)).collect()
    }

    /// A message for each process, or no bytes for any, and why.
    fn messages_to<V>(&self, values: &[V]) -> MessageResult<(Vec<Vec<u8>>, MessageResult)>
    where
        V: Serialize + DeserializeOwned + 'static,
    {
        let size = self.communicator().known_size()?;
        let messages = if values.len() == size {
            values.iter().map(encode::<V, F>).collect()
        } else {
            Err(one_value_each())
        };
        Ok(match messages {
            Ok(messages) => (messages, Ok(())),
            Err(error) => (vec![Vec::new(); size], Err(error)),
        })
    }

    /// Combines the values of all processes by a function, at the root; `None` at the others.
    ///
    /// The function gets the result of some ranks and that of those that follow, in this order: it has to be
    /// associative, and need not be commutative. Each process calls it as often as it has something to combine, some
    /// never: it may send and receive, and must not call collective operations, in which the others would not take part.
    ///
    /// C: `MPI_Send` and `MPI_Mprobe`, `MPI_Mrecv` along a binomial tree, on a duplicate of the communicator, which
    /// the first reduction makes (`MPI_Comm_dup`). Collective, blocks. If the function panics, the others wait.
    ///
    /// # Errors
    /// [`MessageError::Unsendable`] if a value has no serialised form, at this process, and
    /// [`NoValue`](MessageError::NoValue) at those that would have combined it, such as the root, with the rank that
    /// they had nothing of; [`MessageError::Type`] if a process has another type; what MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::TypedCommunicator<'_>, words: Vec<String>) -> rmpi::MessageResult {
    /// use std::collections::BTreeMap;
    /// let counts: BTreeMap<String, u64> = words.into_iter().map(|word| (word, 1)).collect();
    /// let all = world.reduce_values(0, counts, |mut sum, more| {
    ///     for (word, count) in more {
    ///         *sum.entry(word).or_default() += count;
    ///     }
    ///     sum
    /// })?;
    /// # Ok(()) }
    /// ```
    pub fn reduce_values<V>(
        &self,
        root: usize,
        value: V,
        combine: impl FnMut(V, V) -> V,
    ) -> MessageResult<Option<V>>
    where
        V: Serialize + DeserializeOwned + 'static,
    {
        let is_root = self.root(root)?.is_this()?;
        let reduced = self.reduce_to_first(value, combine);
        if root == 0 {
            return reduced;
        }
        let communicator = self.reductions()?;
        if communicator.known_rank()? == 0 {
            let message = reduced.and_then(|value| value.ok_or_else(no_value));
            let message = message.and_then(|value| encode::<V, F>(&value));
            send_or_tell(&communicator.process(root), sent(&message))?;
            message?;
        } else if is_root {
            let (message, _) = communicator.process(0).receive_vec::<u8>(SERIALIZED)?;
            reduced?;
            return value_of::<V, F>(&message, 0).map(Some);
        } else {
            reduced?;
        }
        Ok(None)
    }

    /// Combines the values of all processes by a function, at all of them: as [`reduce_values`](Self::reduce_values) at
    /// rank 0, and [`broadcast_value`](Self::broadcast_value) from there. So all have the same result. Collective,
    /// blocks.
    ///
    /// # Errors
    /// As [`reduce_values`](Self::reduce_values), at all processes: [`NoValue`](MessageError::NoValue) with rank 0 at those
    /// that do not know better.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::TypedCommunicator<'_>) -> rmpi::MessageResult {
    /// let longest = world.allreduce_values(format!("rank {}", world.rank()?), |a, b| {
    ///     if b.len() > a.len() { b } else { a }
    /// })?;
    /// # Ok(()) }
    /// ```
    pub fn allreduce_values<V>(&self, value: V, combine: impl FnMut(V, V) -> V) -> MessageResult<V>
    where
        V: Serialize + DeserializeOwned + 'static,
    {
        let root = self.root(0)?;
        let is_root = root.is_this()?;
        let reduced = self.reduce_to_first(value, combine);
        if !is_root {
            let value = self.broadcast_from(0);
            reduced?;
            return value;
        }
        let value = reduced.and_then(|value| value.ok_or_else(no_value));
        let message = value.as_ref().map_err(Clone::clone).and_then(encode::<V, F>);
        root.bcast_vec(&mut sent(&message).to_vec())?;
        // As the others read it, whatever a format leaves out.
        value_of::<V, F>(&message?, 0)
    }

    /// The combined value at rank 0, by a binomial tree: each rank combines its own value with the partial results of the ranks
    /// behind it, in rank order, and sends the result to its parent. A rank that has got an error sends an empty message, so
    /// that its parent does not wait for ever.
    fn reduce_to_first<V>(
        &self,
        value: V,
        mut combine: impl FnMut(V, V) -> V,
    ) -> MessageResult<Option<V>>
    where
        V: Serialize + DeserializeOwned + 'static,
    {
        let communicator = self.reductions()?;
        let (rank, size) = (communicator.known_rank()?, communicator.known_size()?);
        let mut mine = Ok(value);
        let mut distance = 1;
        while distance < size {
            if rank & distance != 0 {
                let message = mine.and_then(|value| encode::<V, F>(&value));
                send_or_tell(&communicator.process(rank - distance), sent(&message))?;
                return message.map(|_| None);
            }
            let next = rank + distance;
            if next < size {
                let theirs = communicator.process(next).receive_vec::<u8>(SERIALIZED);
                let theirs = theirs.map_err(MessageError::from);
                let theirs = theirs.and_then(|(message, _)| value_of::<V, F>(&message, next));
                mine = mine.and_then(|mine| Ok(combine(mine, theirs?)));
            }
            distance *= 2;
        }
        mine.map(Some)
    }
}
