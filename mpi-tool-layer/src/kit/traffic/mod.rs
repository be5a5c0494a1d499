//! The data that calls move: when they have moved, and how many elements of which datatypes they were.

mod again;
mod pending;
mod whom;

use core::ffi::c_int;

pub use again::{Complete, Keeps, KeptMessage, STARTED_MESSAGES};
use mpi_sys::{MPI_File, MPI_Request, MPI_Status};
use pending::{Amount, Pending};
use std::sync::Arc;

use super::tracking::Groups;
use whom::{Place, Whom, makes_place, receives_matched};

use super::peers::Peer;
use crate::call::{
    Completion, Pattern, Shape, Timing, freed, may_be_one_of, may_complete, may_move_two,
};
use crate::{
    Accepted, AnyCall, Call, CallResult, Communicators, Contents, Datatypes, Flow, FunctionClass,
    FunctionId, HandleMap, PendingRequests, PredefinedDatatype, Rank, RankKind, Transfer,
    functions, received_bytes, received_bytes_at_once,
};

/// What a layer does with data that have moved: see [`Traffic`].
pub trait Tally<T> {
    /// So many elements of a datatype have moved, by the call or the operation that `tag` was given for. Data without
    /// elements may be told of, too.
    fn moved(&self, tag: T, flow: Flow, datatype: PredefinedDatatype, elements: u64);

    /// Data will move later than the call, or whenever a persistent request is started: so many bytes at most. Returns
    /// the tag with which they come back; unless a tool has another one, that is the call's. All that the call moves at
    /// once has been told of before.
    fn kept(&self, tag: T, bytes: u64) -> T {
        let _ = bytes;
        tag
    }

    /// A persistent operation that moves data is started. The tag is that of the call that has prepared it.
    fn restarted(&self, tag: T) {
        let _ = tag;
    }

    /// Does the layer want to be told when a send is [complete](Self::sent) that the call starts and that does not block? It
    /// is remembered until then.
    fn follows(&self, function: FunctionId, bytes: impl FnOnce() -> u64) -> bool {
        let _ = (function, bytes);
        false
    }

    /// A send that does not block is complete in this call: one that the layer [follows](Self::follows), or a persistent
    /// one. The tag is that of the call that has started or prepared it.
    fn sent(&self, tag: T) {
        let _ = tag;
    }

    /// So many bytes have arrived, with this status, by an operation that does not block. Does the layer know all else that
    /// there is to know of them? Then nothing more is told. The tag is that of the call that has started to receive them. For
    /// layers that know such calls [again](Traffic::keep).
    #[inline(always)]
    fn knows(&self, tag: T, bytes: u64, status: &MPI_Status) -> bool {
        let _ = (tag, bytes, status);
        false
    }

    /// The application's communicators, if the tool wants to know [with whom](Self::exchanged) data move. It must
    /// have told them of all calls ([`Communicators::made`]).
    fn communicators(&self) -> Option<&Communicators> {
        None
    }

    /// Data have moved to or from a process, or with none in particular: each message is told of, also one without
    /// data. They are those that [`moved`](Self::moved) has told of. Only where there are
    /// [communicators](Self::communicators).
    fn exchanged(&self, tag: T, exchange: Exchange) {
        let _ = (tag, exchange);
    }
}

/// The functions whose calls [`Traffic::around`] must see: those that move data, start or complete what does, or make a
/// window or a matched message. For [`AROUND`](crate::MpiInterceptionLayer::AROUND).
pub const TRAFFIC: [bool; FunctionId::COUNT] = functions!(|function| {
    let shape = Shape::of(function);
    !matches!(shape.pattern, Pattern::Nothing)
        || !matches!(shape.completion, Completion::None)
        || makes_place(function)
        || receives_matched(function)
        || frees(function)
        || matches!(function, FunctionId::MPI_Start | FunctionId::MPI_Startall)
});

/// Data that have moved between this process and a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Which way.
    pub flow: Flow,
    /// With whom.
    pub peer: Peer,
    /// How many bytes.
    pub bytes: u64,
    /// The message's tag, as its status says it: of what was received.
    pub message_tag: Option<c_int>,
}

/// Follows the data of all calls, for a layer that wants to know what an application sends, receives and reduces,
/// and when: what is sent or reduced has moved when the call succeeds that starts it, what is received when it has
/// arrived, as much as the status says, or as a collective operation is sure to give. Writes to files are sent and
/// reads received, by their statuses both. `docs/report.md` has the rules in full.
///
/// The layer passes each call through [`around`](Self::around), with a *tag* of its choice, which comes back with the
/// call's data, also when they arrive in another call, much later. It is asked for the tag after the call, where that
/// moves data. It must
/// [watch completion](crate::MpiInterceptionLayer::WATCHES_COMPLETION).
///
/// ```
/// use mpi_tool_layer::{
///     Call, CallResult, Compiled, Flow, FunctionClass, FunctionId, MpiInterceptionLayer, PredefinedDatatype,
///     TRAFFIC, Tally, ThreadCounters, Tool, Traffic,
/// };
///
/// /// How many bytes arrive in messages, and how many in other ways.
/// struct Arrivals {
///     bytes: Bytes,
///     traffic: Traffic<bool>,
/// }
///
/// struct Bytes(ThreadCounters<2>);
///
/// impl Tally<bool> for Bytes {
///     fn moved(&self, is_message: bool, flow: Flow, datatype: PredefinedDatatype, elements: u64) {
///         if flow == Flow::Received {
///             self.0.add(usize::from(is_message), elements * datatype.size());
///         }
///     }
/// }
///
/// impl MpiInterceptionLayer for Arrivals {
///     const WATCHES_COMPLETION: bool = true;
///     const COMPILED: Compiled = Compiled::ForCommunication;
///     const AROUND: &'static [bool; FunctionId::COUNT] = &TRAFFIC;
///
///     fn around<'c>(
///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         let is_message = call.class() == FunctionClass::PointToPoint;
///         self.traffic.around(&self.bytes, || is_message, call, next_f)
///     }
/// }
/// ```
///
/// `around` needs to see [`TRAFFIC`] only.
#[derive(Debug)]
pub struct Traffic<T> {
    datatypes: Datatypes,
    requests: PendingRequests<Pending<T>>,
    /// Split collective reads and writes, one a file.
    split: HandleMap<Pending<T>>,
    whom: Whom,
}

impl<T: Copy + Send + Sync> Traffic<T> {
    /// Nothing is known yet.
    pub const fn new() -> Self {
        Self {
            datatypes: Datatypes::new(),
            requests: PendingRequests::new(),
            split: HandleMap::new(),
            whom: Whom::new(),
        }
    }

    /// Passes a call on, and tells `tally` of the data that have moved.
    #[inline(always)]
    pub fn around<'c, C: Call<'c>>(
        &self,
        tally: &impl Tally<T>,
        tag: impl FnOnce() -> T,
        call: C,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        if const { may_complete::<C>() } && call.completes_requests() {
            return self.requests.complete(call, next_f, |mut pending, status| {
                if pending.finish() {
                    self.completed(tally, &pending, status);
                }
                pending.is_persistent().then_some(pending)
            });
        }
        if const { may_be_one_of::<C>(&FREES) } && FREES[call.function() as usize] {
            return self.freeing(call.erase(), next_f);
        }
        if is_to_nobody(call) {
            // Nothing will move, whatever comes of it.
            return next_f();
        }
        let matched = if receives_matched(call.function()) && tally.communicators().is_some() {
            self.whom.take_matched(call.erase())
        } else {
            None
        };
        let matched = matched.as_ref();
        let accepted = next_f()?;
        if makes_place(call.function())
            && let Some(communicators) = tally.communicators()
        {
            self.whom.made(call.erase(), accepted, communicators);
        }
        if call.starts_requests() {
            for request in call.requests() {
                self.started(tally, *request);
            }
        } else if call.moves_few() && !call.is_started() && !call.is_persistent() {
            // Messages and broadcasts, for example: where the tool must be quick.
            let tag = tag();
            let [first, second] = call.few_transfers(accepted);
            if let Some(transfer) = first {
                self.moved_now(tally, tag, call, accepted, matched, transfer);
            }
            if const { may_move_two::<C>() }
                && let Some(transfer) = second
            {
                self.moved_now(tally, tag, call, accepted, matched, transfer);
            }
        } else if starts_message(call)
            && let [Some(transfer), None] = call.few_transfers(accepted)
            && let Some(datatype) = Datatypes::predefined(transfer.datatype())
            && let Some(request) = call.new_request(accepted)
        {
            let place = Place::of(call, matched);
            let start = Start { function: call.function(), request, place, transfer, datatype };
            self.message_started(tally, tag(), start);
        } else if call.moves_data() {
            self.moved(tally, tag(), call.erase(), accepted, matched);
        }
        Ok(accepted)
    }

    /// Is a call sure to move nothing, since it is to and from `MPI_PROC_NULL`? Such a call need not be passed through
    /// [`around`](Self::around).
    #[inline(always)]
    pub fn moves_nothing<'c>(call: impl Call<'c>) -> bool {
        !call.completes_requests() && is_to_nobody(call)
    }

    /// May a call that completes requests be passed through [`around`](Self::around) when it is over already? Where one thread
    /// calls MPI.
    #[inline(always)]
    pub fn may_be_over(&self) -> bool {
        !self.requests.several_threads()
    }

    /// Passes on a call that frees a request or a datatype, or closes a file: what was kept of it is gone.
    #[cold]
    #[inline(never)]
    fn freeing<'c>(
        &self,
        call: AnyCall<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        match call.function() {
            FunctionId::MPI_Request_free => {
                // SAFETY: the first parameter must be the address of a request: it is this function's only one.
                let request = unsafe { freed(call) };
                return self.requests.free(request, next_f);
            }
            FunctionId::MPI_Type_free => {
                // SAFETY: as above, of a datatype.
                let datatype: Option<_> = unsafe { freed(call) };
                datatype.into_iter().for_each(|datatype| self.datatypes.forget(datatype));
            }
            FunctionId::MPI_File_close => {
                // SAFETY: as above, of a file.
                let file: Option<MPI_File> = unsafe { freed(call) };
                drop(file.and_then(|file| self.split.remove(file)));
            }
            _ => {}
        }
        next_f()
    }

    /// A piece of the data of a blocking call.
    #[inline(always)]
    fn moved_now<'c>(
        &self,
        tally: &impl Tally<T>,
        tag: T,
        call: impl Call<'c>,
        accepted: Accepted<'c>,
        matched: Option<&Arc<Groups>>,
        transfer: Transfer<'c>,
    ) {
        let status = || call.status(accepted);
        let bytes = transfer.at_most.then(|| status().map_or(0, received_bytes_at_once));
        match (Datatypes::predefined(transfer.datatype()), bytes) {
            (Some(datatype), None) => {
                tally.moved(tag, transfer.flow, datatype, transfer.count());
            }
            (Some(datatype), Some(bytes))
                if bytes % datatype.size() == 0 && bytes / datatype.size() <= transfer.count() =>
            {
                tally.moved(tag, transfer.flow, datatype, bytes / datatype.size());
            }
            (_, bytes) => self.moved_slowly(tally, tag, accepted, transfer, bytes),
        }
        if let Some(communicators) = tally.communicators() {
            let place = Place::of(call, matched);
            let status = if transfer.at_most { status() } else { None };
            self.exchanged(tally, communicators, tag, accepted, place, transfer, status);
        }
    }

    /// With whom a piece of data has moved.
    #[cold]
    #[inline(never)]
    #[allow(
        clippy::too_many_arguments,
        reason = "out of the way of calls whose peers nobody wants to know"
    )]
    fn exchanged<'c>(
        &self,
        tally: &impl Tally<T>,
        communicators: &Communicators,
        tag: T,
        accepted: Accepted<'c>,
        place: Place<'_>,
        transfer: Transfer<'c>,
        status: Option<&MPI_Status>,
    ) {
        let kept = self.whom.kept(communicators, place, &transfer);
        let peer = match status {
            Some(status) => kept.completed(status),
            None => Some(kept.known()),
        };
        if let Some(peer) = peer {
            let size = match Datatypes::predefined(transfer.datatype()) {
                Some(datatype) => datatype.size(),
                None => self.datatypes.contents(&transfer, accepted).size(),
            };
            let bytes = transfer.at_most.then(|| status.map_or(0, received_bytes_at_once));
            let bytes = moved_bytes(size, transfer.count(), bytes);
            let message_tag = status.map(|status| status.MPI_TAG);
            tally.exchanged(tag, Exchange { flow: transfer.flow, peer, bytes, message_tag });
        }
    }

    /// The data of any other call; not in each function's own code.
    #[inline(never)]
    fn moved<'c>(
        &self,
        tally: &impl Tally<T>,
        tag: T,
        call: AnyCall<'c>,
        accepted: Accepted<'c>,
        matched: Option<&Arc<Groups>>,
    ) {
        if call.is_split_end() {
            let pending = call.file().and_then(|file| self.split.remove(file.raw()));
            if let Some(pending) = pending {
                self.completed(tally, &pending, call.status(accepted));
            }
        } else if call.is_started() || call.is_persistent() {
            self.prepared(tally, tag, call, accepted, matched);
        } else {
            for transfer in call.transfers(accepted) {
                self.moved_now(tally, tag, call, accepted, matched, transfer);
            }
        }
    }

    /// A piece of data of any datatype: `bytes` of it, or as many elements as it says.
    #[inline(never)]
    fn moved_slowly<'c>(
        &self,
        tally: &impl Tally<T>,
        tag: T,
        accepted: Accepted<'c>,
        transfer: Transfer<'c>,
        bytes: Option<u64>,
    ) {
        let contents = self.datatypes.contents(&transfer, accepted);
        add(tally, tag, transfer.flow, &contents, transfer.count(), bytes);
    }

    /// A message of a predefined datatype is on its way: as [`prepared`](Self::prepared) of any operation, and quicker.
    #[inline(never)]
    fn message_started(&self, tally: &impl Tally<T>, tag: T, start: Start<'_, '_>) {
        let Start { function, request, place, transfer, datatype } = start;
        let Transfer { flow, at_most, .. } = transfer;
        let message = KeptMessage::of(&transfer, datatype);
        let communicators = tally.communicators();
        let mut peer =
            communicators.map(|communicators| self.whom.kept(communicators, place, &transfer));
        if pending::is_at_start(flow, at_most) {
            let bytes = message.bytes();
            tally.moved(tag, flow, datatype, transfer.count());
            if let Some(peer) = peer.take() {
                let exchange = Exchange { flow, peer: peer.known(), bytes, message_tag: None };
                tally.exchanged(tag, exchange);
            }
            if !tally.follows(function, || bytes) {
                return;
            }
        }
        self.keep_with(tally, tag, &message, peer, request);
    }

    /// A call that starts an operation, or prepares a persistent one.
    fn prepared<'c>(
        &self,
        tally: &impl Tally<T>,
        tag: T,
        call: AnyCall<'c>,
        accepted: Accepted<'c>,
        matched: Option<&Arc<Groups>>,
    ) {
        let mut pending: Option<Pending<T>> = None;
        let mut bytes = 0_u64;
        for transfer in call.transfers(accepted) {
            let Transfer { flow, at_most, .. } = transfer;
            let is_over = !call.is_persistent() && pending::is_at_start(flow, at_most);
            if is_over {
                self.moved_now(tally, tag, call, accepted, matched, transfer);
                let is_send = flow == Flow::Sent && call.class() == FunctionClass::PointToPoint;
                let size = || self.datatypes.contents(&transfer, accepted).size();
                let bytes = || size().saturating_mul(transfer.count());
                if !is_send || !tally.follows(call.function(), bytes) {
                    continue;
                }
            }
            let communicators = tally.communicators().filter(|_| !is_over);
            let peer = communicators.map(|communicators| {
                self.whom.kept(communicators, Place::of(call, matched), &transfer)
            });
            let contents = self.datatypes.contents(&transfer, accepted);
            if !is_over {
                bytes = bytes.saturating_add(contents.size().saturating_mul(transfer.count()));
            }
            let amount = Amount { flow, contents, count: transfer.count(), at_most };
            match &mut pending {
                None => {
                    let is_persistent = call.is_persistent();
                    pending = Some(Pending::new(tag, call.class(), is_persistent, amount, peer));
                }
                Some(pending) => pending.push(amount, peer),
            }
        }
        let Some(mut pending) = pending else { return };
        pending.set_tag(tally.kept(tag, bytes));
        if let Some(request) = call.new_request(accepted) {
            self.requests.insert(request, pending);
        } else if let Some(file) = call.file() {
            self.split.insert(file.raw(), pending);
        }
    }

    /// A persistent request is started.
    fn started(&self, tally: &impl Tally<T>, request: MPI_Request) {
        self.requests.update(request, |pending| {
            pending.start();
            tally.restarted(pending.tag());
            for (Amount { flow, contents, count, .. }, peer) in pending.at_start() {
                add(tally, pending.tag(), *flow, contents, *count, None);
                if let Some(peer) = peer {
                    let bytes = moved_bytes(contents.size(), *count, None);
                    let (flow, peer) = (*flow, peer.known());
                    let exchange = Exchange { flow, peer, bytes, message_tag: None };
                    tally.exchanged(pending.tag(), exchange);
                }
            }
        });
    }

    /// An operation is complete, with a status, or has failed. A cancelled one has moved nothing.
    #[inline(always)]
    fn completed(&self, tally: &impl Tally<T>, pending: &Pending<T>, status: Option<&MPI_Status>) {
        let Some(status) = status else { return };
        if pending.is_send() {
            tally.sent(pending.tag());
        }
        let receive = pending.as_receive();
        let arrived = receive.and_then(|_| arrived(pending.class(), status));
        if arrived.is_some_and(|bytes| tally.knows(pending.tag(), bytes, status)) {
            return;
        }
        if let Some((Amount { flow, contents: Contents::Predefined(datatype), count, .. }, peer)) =
            receive
            && let Some(bytes) = arrived
            && bytes % datatype.size() == 0
            && bytes / datatype.size() <= *count
        {
            tally.moved(pending.tag(), *flow, *datatype, bytes / datatype.size());
            if let Some(peer) = peer.and_then(|peer| peer.completed(status)) {
                let message_tag = Some(status.MPI_TAG);
                tally.exchanged(pending.tag(), Exchange { flow: *flow, peer, bytes, message_tag });
            }
        } else {
            completed_slowly(tally, pending, status);
        }
    }
}

/// A message that a call has started.
struct Start<'a, 'c> {
    function: FunctionId,
    request: MPI_Request,
    place: Place<'a>,
    transfer: Transfer<'c>,
    datatype: PredefinedDatatype,
}

/// The functions that free something that is kept here.
static FREES: [bool; FunctionId::COUNT] = functions!(|function| frees(function));

const fn frees(function: FunctionId) -> bool {
    use FunctionId::{MPI_File_close, MPI_Request_free, MPI_Type_free};
    matches!(function, MPI_File_close | MPI_Request_free | MPI_Type_free)
}

/// Does a call start one message, which goes on when it has returned?
#[inline(always)]
fn starts_message<'c>(call: impl Call<'c>) -> bool {
    starts(&call.shape())
}

/// The same of a function with this shape.
#[inline(always)]
const fn starts(shape: &Shape) -> bool {
    matches!(shape.timing, Timing::Started)
        && matches!(shape.class, FunctionClass::PointToPoint)
        && matches!(shape.pattern, Pattern::Send | Pattern::Receive)
}

/// Is it a message to or from `MPI_PROC_NULL`, or both?
#[inline(always)]
fn is_to_nobody<'c>(call: impl Call<'c>) -> bool {
    let peers = [call.destination(), call.source()];
    let is_nobody = |peer: Option<Rank>| peer.is_none_or(|peer| peer.kind() == RankKind::ProcNull);
    call.moves_few() && peers != [None, None] && peers.into_iter().all(is_nobody)
}

#[inline(never)]
fn completed_slowly<T: Copy>(tally: &impl Tally<T>, pending: &Pending<T>, status: &MPI_Status) {
    let arrived = arrived(pending.class(), status);
    for (Amount { flow, contents, count, at_most }, peer) in pending.at_completion() {
        // A cancelled operation has moved nothing.
        let bytes = at_most.then_some(arrived.unwrap_or(0));
        add(tally, pending.tag(), *flow, contents, *count, bytes);
        let is_cancelled = *at_most && arrived.is_none();
        if let Some(peer) = peer.filter(|_| !is_cancelled).and_then(|peer| peer.completed(status)) {
            let message_tag = at_most.then_some(status.MPI_TAG);
            let bytes = moved_bytes(contents.size(), *count, bytes);
            tally.exchanged(pending.tag(), Exchange { flow: *flow, peer, bytes, message_tag });
        }
    }
}

/// Tells of so many elements, or of as many bytes of them as a status tells of. More than there was room for
/// cannot have come: then MPI has set no status, and it has what was there before.
fn add<T: Copy>(
    tally: &impl Tally<T>,
    tag: T,
    flow: Flow,
    contents: &Contents,
    count: u64,
    bytes: Option<u64>,
) {
    let add = |datatype, elements| tally.moved(tag, flow, datatype, elements);
    match bytes {
        None => contents.elements(count, add),
        Some(bytes) if bytes > contents.size().saturating_mul(count) => {}
        Some(bytes) => contents.elements_in(bytes, add),
    }
}

/// How many bytes [`add`] tells of, of elements of a size.
fn moved_bytes(size: u64, count: u64, bytes: Option<u64>) -> u64 {
    let most = size.saturating_mul(count);
    match bytes {
        None => most,
        Some(bytes) if bytes > most => 0,
        Some(bytes) => bytes,
    }
}

/// How many bytes a status tells of; `None` if the operation was cancelled.
#[inline(always)]
fn arrived(class: FunctionClass, status: &MPI_Status) -> Option<u64> {
    // Of what is no message, MPI need not say that it was not cancelled.
    if class == FunctionClass::PointToPoint {
        received_bytes(status)
    } else {
        Some(received_bytes_at_once(status))
    }
}

impl<T: Copy + Send + Sync> Default for Traffic<T> {
    fn default() -> Self {
        Self::new()
    }
}
