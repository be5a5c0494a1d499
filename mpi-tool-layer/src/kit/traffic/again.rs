//! Messages that calls start again and again with the same arguments: what is kept of each is known from the first one.

use mpi_sys::MPI_Request;

use super::pending::{self, Amount, Pending};
use super::whom::{Kept, Place, receives_matched};
use super::{Tally, Traffic, is_to_nobody, starts_message};
use crate::call::Shape;
use crate::pending_requests::Held;
use crate::{
    Accepted, Call, Contents, Datatypes, Flow, FunctionClass, FunctionId, PredefinedDatatype,
    Transfer, functions,
};

/// What [`Traffic`] keeps of a message that a call has started, until that is complete.
///
/// A program that exchanges messages in a loop starts the same ones in each round. A layer that knows a call by its arguments
/// can pass it on in a few instructions and have the same kept as of the first one, for the call that completes it:
///
/// ```
/// use mpi_tool_layer::{Call, CallResult, Keeps, KeptMessage, Tally, Traffic};
///
/// /// Passes on a call with the arguments that another one had, of which this is known.
/// fn again<'c>(
///     traffic: &Traffic<u8>, tally: &impl Tally<u8>, known: Option<&KeptMessage>, call: impl Call<'c>,
///     next_f: impl FnOnce() -> CallResult<'c>,
/// ) -> CallResult<'c> {
///     let accepted = next_f()?;
///     if let (Some(known), Some(request)) = (known, call.new_request(accepted)) {
///         traffic.keep(tally, 0, known, request);
///     }
///     Ok(accepted)
/// }
///
/// /// Passes on any other call. Returns what is to be known of it, if others like it may be passed on by `again`.
/// fn first<'c>(
///     traffic: &Traffic<u8>, tally: &impl Tally<u8>, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
/// ) -> Option<Option<KeptMessage>> {
///     let accepted = traffic.around(tally, || 0, call, next_f).ok()?;
///     match traffic.keeps(tally, call, accepted) {
///         Keeps::Nothing => Some(None),
///         Keeps::Message(known) => Some(Some(known)),
///         Keeps::Another => None,
///     }
/// }
/// ```
///
/// What the call has moved at once, a message that is sent, the layer must know, too: nobody is told of it by
/// [`keep`](Traffic::keep). It must also know when the handle of the communicator means another one than before.
#[derive(Debug, Clone)]
pub struct KeptMessage {
    flow: Flow,
    datatype: PredefinedDatatype,
    count: u64,
    at_most: bool,
    peer: Option<Kept>,
}

/// What [`Traffic`] keeps of a call, and of any other one with the same arguments.
#[derive(Debug, Clone)]
pub enum Keeps {
    /// Nothing: the call starts no message, or one to nobody, or one that the layer does not [follow](Tally::follows).
    Nothing,
    /// One message.
    Message(KeptMessage),
    /// Something else, or what can be told of this call only: the datatype is not a predefined one.
    Another,
}

/// The functions that start one message, such as `MPI_Isend` and `MPI_Irecv`: for these, [`Traffic::keeps`] may answer other
/// than [`Keeps::Nothing`]. Their large-count twins are not among them, nor what receives a matched message.
pub const STARTED_MESSAGES: [bool; FunctionId::COUNT] = functions!(|function| {
    super::starts(&Shape::of(function)) && !function.is_large_count() && !receives_matched(function)
});

impl<T: Copy + Send + Sync> Traffic<T> {
    /// What is kept of an accepted call that has been passed through [`around`](Self::around).
    pub fn keeps<'c>(
        &self,
        tally: &impl Tally<T>,
        call: impl Call<'c>,
        accepted: Accepted<'c>,
    ) -> Keeps {
        if !call.is_started() && !call.is_persistent() || is_to_nobody(call) {
            return Keeps::Nothing;
        }
        if !starts_message(call) || receives_matched(call.function()) {
            return Keeps::Another;
        }
        let [Some(transfer), None] = call.few_transfers(accepted) else { return Keeps::Another };
        let Some(datatype) = Datatypes::predefined(transfer.datatype()) else {
            return Keeps::Another;
        };
        let mut kept = KeptMessage::of(&transfer, datatype);
        if pending::is_at_start(kept.flow, kept.at_most) {
            let is_followed = tally.follows(call.function(), || kept.bytes());
            return if is_followed { Keeps::Message(kept) } else { Keeps::Nothing };
        }
        if let Some(communicators) = tally.communicators() {
            kept.peer = Some(self.whom.kept(communicators, Place::of(call, None), &transfer));
        }
        Keeps::Message(kept)
    }

    /// A call has started such a message that was not passed through [`around`](Self::around), by a request: what
    /// [`around`](Self::around) would keep is kept. What the call itself has moved the layer knows.
    #[inline(always)]
    pub fn keep(&self, tally: &impl Tally<T>, tag: T, message: &KeptMessage, request: MPI_Request) {
        self.keep_with(tally, tag, message, message.peer.clone(), request);
    }

    /// What is kept of a request that is complete, for a call that is over and was not passed through
    /// [`around`](Self::around). `None` if nothing is kept, and also if it is not at hand, where [`may_keep`](Self::may_keep)
    /// says yes. Then, and if it is not [ended](Complete::end), the call is to be passed through
    /// [`around`](Self::around) all the same ([`may_be_over`](Self::may_be_over)).
    #[inline(always)]
    pub fn complete(&self, request: MPI_Request) -> Option<Complete<'_, T>> {
        self.requests.hold(request).map(Complete)
    }

    /// Is anything kept of a request? Perhaps, if not no. Not to be asked while [what is kept](Complete) is at hand.
    #[inline(always)]
    pub fn may_keep(&self, request: MPI_Request) -> bool {
        self.requests.may_have(request)
    }

    /// The same with a peer that may not be known yet.
    #[inline(always)]
    pub(super) fn keep_with(
        &self,
        tally: &impl Tally<T>,
        tag: T,
        message: &KeptMessage,
        peer: Option<Kept>,
        request: MPI_Request,
    ) {
        let &KeptMessage { flow, datatype, count, at_most, .. } = message;
        let bytes = if pending::is_at_start(flow, at_most) { 0 } else { message.bytes() };
        let amount = Amount { flow, contents: Contents::Predefined(datatype), count, at_most };
        let (tag, class) = (tally.kept(tag, bytes), FunctionClass::PointToPoint);
        self.requests.insert(request, Pending::new(tag, class, false, amount, peer));
    }
}

/// What is kept of an operation that is complete: see [`Traffic::complete`].
///
/// A layer whose calls of `MPI_Wait` and `MPI_Waitall` take a [fast path](crate::FastPath) asks for
/// each of their requests, and leaves the call to [`around`](Traffic::around) only if it does not know all that has arrived:
///
/// ```
/// use mpi_tool_layer::mpi_sys::MPI_Status;
/// use mpi_tool_layer::{Call, CallResult, Tally, Traffic};
///
/// /// Notes what a call has completed that is over, and that may be over (`may_be_over`).
/// fn waited<'c>(
///     traffic: &Traffic<u8>, tally: &impl Tally<u8>, call: impl Call<'c>, result: CallResult<'c>,
///     note: impl Fn(u8, &MPI_Status) -> bool,
/// ) {
///     let statuses = result.map_or(&[][..], |accepted| call.statuses(accepted));
///     let mut is_known = result.is_ok() && statuses.len() == call.requests().len();
///     for (request, status) in call.requests().iter().zip(statuses) {
///         let complete = traffic.complete(*request);
///         match complete.filter(|complete| note(complete.tag(), status)) {
///             Some(complete) => complete.end(),
///             None => is_known &= !traffic.may_keep(*request),
///         }
///     }
///     if !is_known {
///         // Only what has not ended is told of.
///         let _ = traffic.around(tally, || 0, call, || result);
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Complete<'a, T>(Held<'a, Pending<T>>);

impl<T: Copy> Complete<'_, T> {
    /// The tag of the call that has started it.
    #[inline(always)]
    pub fn tag(&self) -> T {
        self.0.get().tag()
    }

    /// The layer knows all that there is to know: nothing is kept any more. Not of persistent requests.
    #[inline(always)]
    pub fn end(self) {
        self.0.end();
    }
}

impl KeptMessage {
    /// Of a piece of data of this datatype, without its peer.
    #[inline(always)]
    pub(super) fn of(transfer: &Transfer<'_>, datatype: PredefinedDatatype) -> Self {
        let Transfer { flow, at_most, .. } = *transfer;
        Self { flow, datatype, count: transfer.count(), at_most, peer: None }
    }

    /// How many bytes it has, or has room for.
    #[inline(always)]
    pub(super) fn bytes(&self) -> u64 {
        self.datatype.size().saturating_mul(self.count)
    }
}
