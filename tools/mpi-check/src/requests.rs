//! Requests from their start to their completion, and the buffers that MPI uses meanwhile.

mod faults;
mod one_sided;
mod partitions;
mod places;

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use mpi_facts::{Data, NONE, Pattern, Timing};
use mpi_tool_layer::mpi_sys::{MPI_Request, pmpi};
use mpi_tool_layer::{FunctionClass, FunctionId, Site, Word};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::areas::Area;
use crate::arguments::Checked;
use crate::findings::{Class, Other, report};
use crate::messages::Receive;
use crate::sanitizer::{self, Ticket};
use crate::waits::Need;
use crate::{epochs, extensions, waits};
use faults::check_gone;
pub(crate) use faults::{check_all_gone, first, refused};
pub(crate) use one_sided::flushed;
use one_sided::{Remote, one_sided_buffers};
use partitions::Partitions;
pub(crate) use partitions::{arrived, naming};
use places::Places;

/// Memory that MPI uses until a request is complete.
#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    area: Area,
    /// MPI writes to it.
    is_received: bool,
    /// Of what is sent, when the operation started.
    checksum: Option<u64>,
}

impl Buffer {
    fn new(area: Area, is_received: bool) -> Self {
        Self { area, is_received, checksum: None }
    }
}

/// What a call gives, and what it gets.
pub(crate) type Buffers = [Option<Buffer>; 2];

/// A request that the application has.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// No other one has this number.
    id: u64,
    function: FunctionId,
    /// Where it was made.
    site: Site,
    /// Where it was started.
    started: Site,
    is_persistent: bool,
    is_active: bool,
    buffers: Buffers,
    /// The operation, as a sanitizer knows it.
    ticket: Ticket,
    pub(crate) receive: Option<Receive>,
    pub(crate) send: Option<crate::messages::Send>,
    /// What its completion needs.
    need: Need,
    partitions: Option<Box<Partitions>>,
    /// Of a persistent collective operation: who gives this process something.
    givers: Option<Box<Givers>>,
    /// The communicator that is there when it is complete.
    made: Option<u64>,
    /// Of a one-sided operation: the place at its target.
    remote: Option<Remote>,
}

/// Who gives this process something in a persistent collective operation, each time that it is started. Starts are counted on
/// each process, whatever else it starts in between.
#[derive(Debug, Clone)]
struct Givers {
    /// The operation's, the same on all its processes.
    identity: u64,
    /// How many processes take part.
    size: u32,
    /// How often it was started; `None` if MPI has refused a start.
    starts: Option<u64>,
    /// By their ranks in the world.
    ranks: Vec<u32>,
}

/// The numbers of a call's requests: without memory from elsewhere for the few that most calls have.
pub(crate) type Ids = SmallVec<[u64; 4]>;

/// By their handles. Several may have one: MPIs give one handle to all that were complete at once.
type ByHandle = FxHashMap<u64, SmallVec<[Request; 1]>>;

/// All requests, and if there are many, where the buffers of the active ones are.
#[derive(Default)]
struct Requests {
    by_handle: ByHandle,
    places: Option<Places>,
}

static REQUESTS: Mutex<Option<Requests>> = Mutex::new(None);

/// How many handles the table has. Who asks without the lock sees what its own thread has made at least.
static KNOWN: AtomicUsize = AtomicUsize::new(0);

fn with<R>(action: impl FnOnce(&mut ByHandle) -> R) -> R {
    with_places(|requests| action(&mut requests.by_handle))
}

fn with_places<R>(action: impl FnOnce(&mut Requests) -> R) -> R {
    let mut requests = REQUESTS.lock().unwrap_or_else(PoisonError::into_inner);
    let requests = requests.get_or_insert_default();
    let result = action(requests);
    KNOWN.store(requests.by_handle.len(), Relaxed);
    result
}

/// The buffers of a call that this process gives and gets.
fn buffers(checked: &Checked<'_>) -> Buffers {
    let shape = checked.shape;
    if shape.class == FunctionClass::OneSided {
        return one_sided_buffers(checked);
    }
    if shape.class == FunctionClass::Io {
        return file_buffers(checked);
    }
    let is_used = matches!(shape.class, FunctionClass::PointToPoint | FunctionClass::Collective)
        && checked.is_sound
        && shape.sent.partitions == NONE
        && shape.received.partitions == NONE
        && checked.comm.as_ref().is_some_and(|comm| !comm.is_inter)
        && !checked.is_for_nobody();
    if !is_used {
        return [None, None];
    }
    let is_root = checked.is_root();
    let has_root = shape.root != NONE;
    let (gives, gets) = match shape.pattern {
        Pattern::Send => (true, false),
        Pattern::Receive => (false, true),
        Pattern::Broadcast => (is_root, !is_root),
        Pattern::Scatter => (is_root, true),
        Pattern::Gather | Pattern::Reduce => (true, !has_root || is_root),
        Pattern::Nothing => (false, false),
        // The first process gets nothing.
        Pattern::Exscan => (true, checked.comm.as_ref().is_some_and(|comm| comm.rank != 0)),
        _ => (true, true),
    };
    let one = |data: &Data, is_received: bool| {
        if data.array_of_counts || data.array_of_datatypes {
            return None;
        }
        let (count, datatype) = match (data.count, data.datatype) {
            (NONE, _) | (_, NONE) => {
                let other = if is_received { &shape.sent } else { &shape.received };
                (other.count, other.datatype)
            }
            both => both,
        };
        let count = u64::try_from(checked.int(count)?).ok()?;
        let area = Area::of(checked, checked.word(data.buffer)?, count, datatype)?;
        Some(Buffer::new(area, is_received))
    };
    // `MPI_Sendrecv_replace` and in-place operations use one buffer for both.
    let shares = shape.sent.buffer == shape.received.buffer;
    let sent = if gives && !(shares && gets) { one(&shape.sent, false) } else { None };
    let received = if gets { one(&shape.received, true) } else { None };
    [sent, received]
}

/// The same, and which of them MPI writes to.
pub(crate) fn areas_of(checked: &Checked<'_>) -> SmallVec<[(Area, bool); 2]> {
    buffers(checked).into_iter().flatten().map(|it| (it.area, it.is_received)).collect()
}

/// What a call of a file writes there, and what it reads.
fn file_buffers(checked: &Checked<'_>) -> Buffers {
    let one = |data, is_received| Some(Buffer::new(Area::of_data(checked, data)?, is_received));
    match checked.shape.pattern {
        Pattern::Write if checked.is_sound => [one(&checked.shape.sent, false), None],
        Pattern::Read if checked.is_sound => [None, one(&checked.shape.received, true)],
        _ => [None, None],
    }
}

/// A call is about to be passed on that uses buffers: none of them may be in use. The buffers of a call that has or makes
/// a request, with what is in them if the operation starts now.
pub(crate) fn check_buffers(checked: &Checked<'_>) -> Buffers {
    let timing = checked.shape.timing;
    if timing == Timing::Blocking && KNOWN.load(Relaxed) == 0 && !epochs::may_fetch() {
        return [None, None];
    }
    if timing == Timing::Epoch {
        if KNOWN.load(Relaxed) != 0 {
            let remote = Remote::of(checked);
            let own = one_sided_buffers(checked);
            check_overlap(&own, remote.as_ref(), checked.function, checked.site);
        }
        return [None, None];
    }
    let own = buffers(checked);
    let is_one_sided = checked.shape.class == FunctionClass::OneSided;
    // What an operation of an epoch gets is compared with the others of its epoch.
    let those = own.iter().flatten().filter(|own| !(is_one_sided && own.is_received));
    epochs::check_pending(checked, those.map(|own| &own.area));
    if own.iter().all(Option::is_none) || timing == Timing::Persistent {
        return own;
    }
    let remote = if is_one_sided { Remote::of(checked) } else { None };
    check_overlap(&own, remote.as_ref(), checked.function, checked.site);
    if timing == Timing::Started { with_checksums(own) } else { own }
}

fn check_overlap(own: &Buffers, remote: Option<&Remote>, function: FunctionId, site: Site) {
    let found = with_places(|requests| {
        let mut ours = own.iter().flatten();
        ours.find_map(|buffer| {
            requests
                .that_needs(buffer, remote)
                .map(|(request, is_received)| (request.function, request.started, is_received))
        })
    });
    if let Some((theirs, started, is_received)) = found {
        let what = if is_received { "receiving into" } else { "sending" };
        let message = format!(
            "{function} uses a buffer that {theirs} is still {what}: wait for its request first"
        );
        let other = Other::new("started at", started);
        report(Class::BufferInUse, function, site, "overlap", &message, Some(other));
    }
}

fn with_checksums(mut buffers: Buffers) -> Buffers {
    for buffer in buffers.iter_mut().flatten().filter(|buffer| !buffer.is_received) {
        buffer.checksum = buffer.area.checksum();
    }
    buffers
}

/// A call has made a request.
pub(crate) fn made(
    checked: &Checked<'_>,
    handle: MPI_Request,
    buffers: Buffers,
    receive: Option<Receive>,
    send: Option<crate::messages::Send>,
    need: Need,
) {
    let is_persistent = checked.shape.timing == Timing::Persistent;
    static LAST: AtomicU64 = AtomicU64::new(0);
    let mut request = Request {
        id: LAST.fetch_add(1, Relaxed) + 1,
        function: checked.function,
        site: checked.site,
        started: checked.site,
        is_persistent,
        is_active: !is_persistent,
        buffers,
        ticket: Ticket::NONE,
        receive,
        send,
        need,
        partitions: Partitions::of(checked),
        givers: None,
        made: None,
        remote: Remote::of(checked),
    };
    if request.is_active {
        request.watch();
    }
    faults::is_back(handle.to_word());
    with_places(|requests| {
        if request.remote.is_some() {
            one_sided::begun();
        }
        if let Some(places) = requests.places.as_mut().filter(|_| request.is_active) {
            places.add(&request, handle.to_word());
        }
        let all = requests.by_handle.entry(handle.to_word()).or_default();
        all.push(request);
        // Which of them a completion is of, is not sure: MPI has completed them already, as it does with sends, or the one
        // before is complete, and its thread has yet to be told.
        if all.len() > 1 && (crate::messages::has_threads() || !all.iter().all(is_send)) {
            all.iter_mut().for_each(Request::let_go);
        }
    });
}

/// A request that was just made is that of a call that makes a communicator. Is it known?
pub(crate) fn set_made(handle: MPI_Request, comm: u64) -> bool {
    with(|requests| {
        let request = requests.get_mut(&handle.to_word()).and_then(|all| all.last_mut());
        request.map(|request| request.made = Some(comm)).is_some()
    })
}

fn is_send(request: &Request) -> bool {
    request.buffers.iter().flatten().all(|buffer| !buffer.is_received) && !request.is_persistent
}

/// The requests that handles mean now, before a call that may complete them: 0 of one that is not known.
pub(crate) fn ids_of(handles: &[MPI_Request]) -> Ids {
    if handles.is_empty() {
        return Ids::new();
    }
    with(|requests| {
        let newest = |handle: &MPI_Request| {
            requests.get(&handle.to_word()).and_then(|all| all.last()).map_or(0, |one| one.id)
        };
        handles.iter().map(newest).collect()
    })
}

/// `MPI_Start` and `MPI_Startall` are about to be passed on.
pub(crate) fn starting(handles: &[MPI_Request], function: FunctionId, site: Site) {
    if handles.len() > 1 {
        faults::check_twice(handles, function, site);
        check_each_other(handles, function, site);
    }
    for handle in handles {
        let state = with(|requests| {
            let request = requests.get(&handle.to_word())?.first()?;
            Some((
                request.function,
                request.is_persistent,
                request.is_active,
                request.started,
                request.buffers.clone(),
            ))
        });
        if *handle == pmpi::MPI_REQUEST_NULL {
            let message = format!("{function} of MPI_REQUEST_NULL");
            report(Class::InvalidArgument, function, site, "null", &message, None);
            continue;
        }
        let Some((made_by, is_persistent, is_active, started, buffers)) = state else {
            check_gone(*handle, function, site);
            continue;
        };
        if !is_persistent {
            let message = format!("{function} of a request of {made_by}, which is not persistent");
            let other = Other::new("made at", started);
            report(Class::RequestLifecycle, function, site, "kind", &message, Some(other));
        } else if is_active {
            let message = format!("{function} of a request that is already active, of {made_by}");
            let other = Other::new("started before at", started);
            report(Class::RequestLifecycle, function, site, "active", &message, Some(other));
        } else {
            check_overlap(&buffers, None, function, site);
        }
    }
}

/// How many requests that are started by one call are compared with each other.
const TOGETHER: usize = 64;

/// Requests that are started by one call must not use each other's buffers.
fn check_each_other(handles: &[MPI_Request], function: FunctionId, site: Site) {
    if handles.len() > TOGETHER {
        return;
    }
    let found = with(|requests| {
        let of = |handle: &MPI_Request| match &requests.get(&handle.to_word())?[..] {
            [request] if request.is_persistent && !request.is_active => Some(request),
            _ => None,
        };
        let all: SmallVec<[&Request; 8]> = handles.iter().filter_map(of).collect();
        let buffers = |request: &Request| request.buffers.clone().into_iter().flatten();
        let meet = |one: &Request, two: &Request| {
            one.id != two.id
                && buffers(one).any(|ours| {
                    buffers(two).any(|theirs| {
                        (ours.is_received || theirs.is_received)
                            && ours.area.meets_at_all(&theirs.area)
                    })
                })
        };
        let mut pairs = all
            .iter()
            .enumerate()
            .flat_map(|(at, one)| all[at + 1..].iter().map(move |two| (*one, *two)));
        let (one, two) = pairs.find(|(one, two)| meet(one, two))?;
        Some((one.function, two.function, two.site))
    });
    if let Some((one, two, made)) = found {
        let message = format!(
            "{function} starts a request of {one} and one of {two} that use the same buffer"
        );
        let other = Other::new("the other one made at", made);
        report(Class::BufferInUse, function, site, "overlap", &message, Some(other));
    }
}

/// What the completion of requests needs; nothing of those of which nobody knows.
pub(crate) fn needs_of(handles: &[MPI_Request]) -> SmallVec<[Need; 4]> {
    with(|requests| {
        let mut needs = SmallVec::new();
        for handle in handles.iter().filter(|handle| **handle != pmpi::MPI_REQUEST_NULL) {
            match requests.get(&handle.to_word()).map(|all| &all[..]) {
                Some([request]) if request.is_active => request.add_needs(&mut needs),
                _ => needs.push(Need::Nothing),
            }
        }
        needs
    })
}

impl Request {
    /// Adds what its completion needs.
    fn add_needs(&self, needs: &mut SmallVec<[Need; 4]>) {
        if self.partitions.as_ref().is_some_and(|partitions| partitions.wait_for_more()) {
            return needs.push(Need::Unready);
        }
        let Some(givers) = &self.givers else { return needs.push(self.need) };
        let ranks = givers.ranks.iter();
        match givers.starts.filter(|_| ranks.len() > 0) {
            Some(number) => needs.extend(ranks.map(|rank| Need::Entered {
                identity: givers.identity,
                number,
                rank: *rank,
            })),
            None => needs.push(Need::Nothing),
        }
    }
}

/// A request that was just made is that of a persistent collective operation, to which these ranks of the world give something.
pub(crate) fn set_givers(handle: MPI_Request, identity: u64, size: u32, ranks: Vec<u32>) {
    with(|requests| {
        if let Some(request) = requests.get_mut(&handle.to_word()).and_then(|all| all.last_mut()) {
            request.givers = Some(Box::new(Givers { identity, size, starts: Some(0), ranks }));
        }
    });
}

/// Persistent collective operations are about to be started: others may wait for it.
pub(crate) fn starting_collectives(handles: &[MPI_Request]) {
    with(|requests| {
        for handle in handles {
            let request = requests.get_mut(&handle.to_word()).and_then(|all| all.first_mut());
            if let Some(givers) = request.and_then(|request| request.givers.as_mut())
                && let Some(starts) = &mut givers.starts
            {
                *starts += 1;
                waits::entering(givers.identity, *starts, givers.size);
            }
        }
    });
}

/// MPI has refused to start some of these requests, and nobody knows which.
pub(crate) fn not_started(handles: &[MPI_Request]) {
    with(|requests| {
        for handle in handles {
            let request = requests.get_mut(&handle.to_word()).and_then(|all| all.first_mut());
            if let Some(givers) = request.and_then(|request| request.givers.as_mut()) {
                givers.starts = None;
                // The others need not wait either.
                waits::entering(givers.identity, u64::MAX, givers.size);
            }
        }
    });
}

/// What requests receive that a call waits for.
pub(crate) fn receives_of(handles: &[MPI_Request]) -> Vec<Receive> {
    with(|requests| {
        let of = |handle: &MPI_Request| requests.get(&handle.to_word())?.first()?.receive.clone();
        handles.iter().filter_map(of).collect()
    })
}

/// What persistent requests that are about to be started send.
pub(crate) fn sends_of(handles: &[MPI_Request]) -> Vec<(MPI_Request, crate::messages::Send)> {
    with(|requests| {
        let of = |handle: &MPI_Request| {
            let request = requests.get(&handle.to_word())?.first()?;
            let send = request.send.clone();
            let send = send.filter(|_| request.is_persistent && !request.is_active)?;
            Some((*handle, send))
        };
        handles.iter().filter_map(of).collect()
    })
}

/// MPI has started them.
pub(crate) fn started(
    handle: MPI_Request,
    site: Site,
) -> Option<(Option<Receive>, Option<crate::messages::Send>)> {
    with_places(|requests| {
        let request = requests.by_handle.get_mut(&handle.to_word())?.first_mut()?;
        request.is_active = true;
        request.started = site;
        request.receive.iter_mut().for_each(|receive| receive.is_cancelled = false);
        request.partitions.iter_mut().for_each(|partitions| partitions.start());
        request.buffers = with_checksums(core::mem::take(&mut request.buffers));
        request.watch();
        if let Some(places) = &mut requests.places {
            places.add(request, handle.to_word());
        }
        Some((request.receive.clone(), request.send.clone()))
    })
}

/// What the completion of a persistent request needs, from now on.
pub(crate) fn set_need(handle: MPI_Request, need: Need) {
    with(|requests| {
        if let Some(request) = requests.get_mut(&handle.to_word()).and_then(|all| all.first_mut()) {
            request.need = need;
        }
    });
}

/// Replaces what is known of a started receive.
pub(crate) fn set_receive(handle: MPI_Request, receive: Option<Receive>) {
    with(|requests| {
        if let Some(request) = requests.get_mut(&handle.to_word()).and_then(|all| all.first_mut()) {
            request.receive = receive;
        }
    });
}

/// A request is complete: what it was. `id` is its number, as it was before the call.
pub(crate) fn completed(
    handle: MPI_Request,
    id: u64,
    function: FunctionId,
    site: Site,
) -> Option<Request> {
    let key = handle.to_word();
    let (request, others) = with(|requests| {
        let all = requests.get_mut(&key)?;
        let at = all.iter().position(|request| request.id == id).unwrap_or(0);
        let request = all.get_mut(at)?;
        if request.is_persistent {
            let before = request.clone();
            request.is_active = false;
            sanitizer::end(request.ticket);
            return before.is_active.then_some((before, Vec::new()));
        }
        let request = all.remove(at);
        sanitizer::end(request.ticket);
        // No other one with this handle is complete for the application either, but from now on nobody knows which is.
        let others: Vec<Request> = all.iter().cloned().collect();
        all.iter_mut().for_each(Request::let_go);
        if all.is_empty() {
            requests.remove(&key);
            faults::gone(key);
        }
        Some((request, others))
    })?;
    for request in others.iter().chain([&request]) {
        request.check_unchanged(function, site);
    }
    if let Some(comm) = request.made {
        crate::objects::set_pending(comm, false);
    }
    Some(request)
}

/// MPI has refused a call that completes requests. Which of those that are still there are complete, nobody knows: an MPI may
/// leave the handle of a request whose operation has failed, and a persistent one has its handle in any case. So persistent
/// ones may be started or freed from now on, and the others are forgotten.
pub(crate) fn not_told(handles: &[MPI_Request], ids: &[u64]) {
    let left: SmallVec<[Request; 4]> = with_places(|requests| {
        let one = |(handle, id): (&MPI_Request, &u64)| {
            let key = handle.to_word();
            let all = requests.by_handle.get_mut(&key)?;
            let at = all.iter().position(|request| request.id == *id && request.is_active)?;
            if handles.len() > 1 && all[at].partitions.is_some() {
                // More parts of it may become ready.
                return None;
            }
            sanitizer::end(all[at].ticket);
            if all[at].is_persistent {
                all[at].is_active = false;
                return Some(all[at].clone());
            }
            let request = all.remove(at);
            if all.is_empty() {
                requests.by_handle.remove(&key);
            }
            Some(request)
        };
        handles.iter().zip(ids).filter_map(one).collect()
    });
    for request in &left {
        request.receive.iter().for_each(crate::messages::unsure);
        if let Some(comm) = request.made {
            crate::objects::set_pending(comm, false);
        }
    }
}

impl Request {
    /// The operation starts: a sanitizer watches its buffers.
    fn watch(&mut self) {
        // After an error, what was started before may count as not complete.
        sanitizer::end(self.ticket);
        let buffers = self.buffers.iter().flatten();
        let areas = buffers.map(|buffer| (&buffer.area, buffer.is_received));
        let parts = self.partitions.iter().filter_map(|partitions| partitions.received());
        let parts: SmallVec<[Area; 1]> = parts.collect();
        let areas = areas.chain(parts.iter().map(|area| (area, true)));
        self.ticket = sanitizer::begin(self.function, self.started, areas);
    }

    /// The buffers count as the application's, whether or not the operation is complete.
    fn let_go(&mut self) {
        self.buffers = [None, None];
        sanitizer::end(self.ticket);
    }

    /// Was the request made by a function that only sends?
    fn is_for_send(&self) -> bool {
        let shape = mpi_facts::Shape::looked_up(self.function);
        shape.class == FunctionClass::PointToPoint && shape.pattern == Pattern::Send
    }

    /// What is sent must be as it was.
    fn check_unchanged(&self, function: FunctionId, site: Site) {
        // Who has seen the store has told of it.
        let is_of_parts = self.partitions.as_ref().is_some_and(|partitions| partitions.is_told());
        if is_of_parts || sanitizer::has_told(self.started) {
            return;
        }
        let mut buffers = self.buffers.iter().flatten();
        let changed = buffers.any(|buffer| buffer.area.is_changed(buffer.checksum))
            || self.partitions.as_ref().is_some_and(|partitions| partitions.are_changed());
        if changed {
            let message = format!(
                "the buffer that {} sends was changed before the operation was complete, as {function} says here",
                self.function
            );
            let other = Other::new("started at", self.started);
            report(Class::BufferInUse, self.function, site, "changed", &message, Some(other));
        }
    }
}

/// MPI has said that an operation is complete without completing its request: its buffers are the application's again.
pub(crate) fn looked_at() {
    with(|requests| {
        requests.values_mut().flatten().for_each(Request::let_go);
    });
}

/// The application cancels a request. If that is of a send, its message may never come.
pub(crate) fn cancelling(handle: Option<MPI_Request>, site: Site) {
    if handle == Some(pmpi::MPI_REQUEST_NULL) {
        let (function, message) = (FunctionId::MPI_Cancel, "MPI_Cancel of MPI_REQUEST_NULL");
        report(Class::InvalidArgument, function, site, "null", message, None);
        return;
    }
    handle.into_iter().for_each(|handle| faults::check_cancelled(handle, site));
    let receive = handle.and_then(|handle| {
        with(|requests| {
            let all = requests.get_mut(&handle.to_word())?;
            let receives = all.iter_mut().filter_map(|request| request.receive.as_mut());
            receives.for_each(|receive| receive.is_cancelled = true);
            all.last()?.receive.clone()
        })
    });
    match receive {
        Some(receive) => crate::messages::cancelling_receive(&receive),
        None => crate::messages::cancelling(),
    }
}

/// The application frees a request.
pub(crate) fn freeing(handle: MPI_Request, site: Site) {
    let key = handle.to_word();
    let function = FunctionId::MPI_Request_free;
    if handle == pmpi::MPI_REQUEST_NULL {
        report(
            Class::InvalidArgument,
            function,
            site,
            "null",
            "MPI_Request_free of MPI_REQUEST_NULL",
            None,
        );
        return;
    }
    let request = with(|requests| {
        let all = requests.get_mut(&key)?;
        let request = all.remove(0);
        // When the operation is complete, nobody says.
        sanitizer::end(request.ticket);
        // Which of several it is, nobody knows.
        all.iter_mut().for_each(Request::let_go);
        if all.is_empty() {
            requests.remove(&key);
            faults::gone(key);
        }
        Some(request)
    });
    let Some(request) = request else { return check_gone(handle, function, site) };
    request.check_must_end(function, site);
    if request.is_active
        && let Some(receive) = &request.receive
    {
        crate::messages::freed(receive);
    }
    // MPI-4.1, 3.9: a send may be freed at any time, and is deallocated when it is complete.
    if request.is_persistent && request.is_active && !request.is_for_send() {
        let message = format!(
            "a persistent request of {} is freed while it is active: wait for it first",
            request.function
        );
        let other = Other::new("started at", request.started);
        report(Class::RequestLifecycle, function, site, "freed", &message, Some(other));
    }
}

/// MPI is over: what is still there.
pub(crate) fn report_left() {
    let left: Vec<Request> =
        with(|requests| std::mem::take(requests).into_values().flatten().collect());
    // Who calls MPI past this tool may have completed them.
    if !left.is_empty() && extensions::may_be_past() {
        return;
    }
    for request in left {
        let function = request.function;
        if request.is_active {
            let what = if request.is_persistent { "started here" } else { "of this call" };
            let message = format!(
                "the request of {function} {what} was never completed (MPI_Wait, MPI_Test)"
            );
            report(Class::RequestLifecycle, function, request.started, "left", &message, None);
        } else {
            let message =
                format!("the persistent request of {function} was never freed (MPI_Request_free)");
            report(Class::Leak, function, request.site, "request", &message, None);
        }
    }
}
