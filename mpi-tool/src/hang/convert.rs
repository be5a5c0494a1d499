//! From what a rank's file says to what the graph is made of: handles become identities, ranks in communicators ranks
//! of the world, and a function what it waits for.

use std::collections::{BTreeMap, BTreeSet};

use mpi_facts::watch::{full, group, kind, request};
use mpi_facts::{Completion, FunctionClass, FunctionId, NONE, Pattern, Shape, Timing};

use super::file::{Count, Group, Request, Snapshot, Thread};
use super::graph::{
    Collective, Condition, Doing, Epochs, Far, Lock, Members, Message, Needs, Operation, Progress,
    State, What, Who,
};

/// What the graph knows of a rank. `threads` are those that were in one call all the time.
pub(super) fn state(snapshot: &Snapshot, threads: &[&Thread], condition: Condition) -> State {
    let calls = threads
        .iter()
        .map(|thread| Doing { function: thread.function, what: what(snapshot, thread) });
    let active = snapshot.requests.iter().filter(|request| request.is_active);
    let started = snapshot.requests.iter().filter(|request| request.is_persistent);
    State {
        condition,
        calls: calls.collect(),
        pending: active.filter_map(|request| message_of(snapshot, request)).collect(),
        progress: snapshot.groups.iter().map(|group| (group.identity, progress(group))).collect(),
        starts: started.filter_map(|request| starts(snapshot, request)).collect(),
        knows_all: snapshot.full & (full::GROUPS | full::GONE) == 0,
        locks: locks(snapshot).collect(),
        epochs: (snapshot.full & full::EPOCHS == 0).then(|| epochs(snapshot)),
    }
}

/// The epochs that a process has had with others, of windows that are known.
fn epochs(snapshot: &Snapshot) -> BTreeMap<(u64, u32), Epochs> {
    let known = snapshot.epochs.iter().filter_map(|(window, peer, epochs)| {
        let window = snapshot.group(kind::WINDOW, *window)?;
        Some(((window.identity, *peer), *epochs))
    });
    known.collect()
}

/// How often a persistent collective operation was started: by the identity of what it is on, and its number there.
fn starts(snapshot: &Snapshot, request: &Request) -> Option<((u64, u64), u64)> {
    let group = snapshot.group(kind::COMMUNICATOR, request.comm)?;
    let number = request.number.all;
    (number > 0).then_some(((group.identity, number), request.starts))
}

/// The locks of windows that a process holds.
fn locks(snapshot: &Snapshot) -> impl Iterator<Item = Lock> {
    snapshot.locks.iter().filter_map(|lock| {
        let window = snapshot.group(kind::WINDOW, lock.window)?;
        let target = match lock.target {
            Some(target) => Some(world_rank(window, target)?),
            None => None,
        };
        Some(Lock { window: window.identity, target, is_exclusive: lock.is_exclusive })
    })
}

fn progress(group: &Group) -> Progress {
    let kept = group.history.len() as u64;
    let Count { all: number, failed } = group.number;
    let first = number.saturating_sub(kept - 1).max(1);
    let last = (first..=number).filter_map(|number| {
        let word = group.history[number as usize % group::HISTORY_WORDS];
        Some((number, FunctionId::from_index((word & 0xffff_ffff) as usize)?))
    });
    Progress { number, failed, last: last.collect() }
}

/// Those that one communicates with: the other group, where there is one.
fn peers(group: &Group) -> Option<&Members> {
    if group.sizes[1] > 0 { group.other.as_ref() } else { group.own.as_ref() }
}

fn world_rank(group: &Group, rank: i32) -> Option<u32> {
    peers(group)?.get(u32::try_from(rank).ok()?)
}

/// All processes that a collective operation is of, those of both groups; `None` if one is not known or not of the world.
fn members(group: &Group) -> Option<[Members; 2]> {
    let own = group.own.clone()?;
    let other = if group.sizes[1] > 0 { group.other.clone()? } else { Members::NONE };
    (own.are_in_world() && other.are_in_world()).then_some([own, other])
}

/// The other side of a message.
fn who(snapshot: &Snapshot, comm: u64, rank: i32) -> Who {
    if rank == snapshot.proc_null {
        return Who::Nobody;
    }
    let Some(group) = snapshot.group(kind::COMMUNICATOR, comm) else { return Who::Unknown };
    if rank == snapshot.any_source {
        let all = peers(group).filter(|all| all.are_in_world());
        return all.map_or(Who::Unknown, |all| Who::AnyOf(all.clone()));
    }
    world_rank(group, rank).map_or(Who::Unknown, Who::Rank)
}

fn message(snapshot: &Snapshot, is_sent: bool, comm: u64, rank: i32, tag: Option<i32>) -> Message {
    Message {
        is_sent,
        with: who(snapshot, comm, rank),
        tag: tag.filter(|tag| *tag != snapshot.any_tag),
        is_ready: true,
        comm: snapshot.group(kind::COMMUNICATOR, comm).map(|group| group.identity),
    }
}

/// The message of a request.
fn message_of(snapshot: &Snapshot, request: &Request) -> Option<Message> {
    let is_sent = match Shape::looked_up(request.function).pattern {
        Pattern::Send => true,
        Pattern::Receive => false,
        _ => return None,
    };
    let found = message(snapshot, is_sent, request.comm, request.peer, Some(request.tag));
    Some(Message { is_ready: request.is_ready, ..found })
}

fn collective(
    snapshot: &Snapshot,
    group: &Group,
    number: Count,
    function: FunctionId,
    root: Option<i32>,
) -> Option<Collective> {
    use Pattern::{Broadcast, Exscan, Gather, Reduce, Scatter};
    let Count { all: number, failed } = number;
    let shape = Shape::looked_up(function);
    let root = root.and_then(|root| world_rank(group, root));
    let is_own = root.is_some() && root == snapshot.rank;
    let needs = match (shape.pattern, root) {
        (Broadcast | Scatter, Some(root)) if !is_own && group.sizes[1] == 0 => Needs::Root(root),
        (Broadcast | Scatter | Gather | Reduce | Exscan, _) => Needs::Some,
        _ if function == FunctionId::MPI_Scan || function == FunctionId::MPI_Iscan => Needs::Some,
        _ if shape.class == FunctionClass::Neighborhood => Needs::Some,
        _ => Needs::All,
    };
    // It may need nobody any more, and work in the application's own operation.
    if needs == Needs::Some && snapshot.has_operations && shape.operation != NONE {
        return None;
    }
    let members = members(group)?;
    let (on, start) = (group.identity, None);
    (number > 0).then_some(Collective { on, number, failed, start, function, members, needs })
}

/// A call that some processes make together.
fn meeting(
    snapshot: &Snapshot,
    identity: u64,
    number: Count,
    function: FunctionId,
) -> Option<Collective> {
    collective(snapshot, snapshot.meeting(identity)?, number, function, None)
}

/// What `MPI_Intercomm_create` waits for.
fn between(snapshot: &Snapshot, thread: &Thread) -> What {
    let function = thread.function;
    let [identity, number, leader] = thread.handles[..] else { return What::Nothing };
    let leaders = meeting(snapshot, identity, Count::of(number), function);
    meeting(snapshot, thread.object, thread.number, function).map_or(What::Nothing, |group| {
        What::Between { group, leaders, leader: u32::try_from(leader).ok() }
    })
}

/// Processes of another world that one communicates with by a communicator, or one of them by its rank there; `None` if it has
/// no such processes, or others beside them.
fn far(snapshot: &Snapshot, comm: u64, rank: Option<i32>) -> Option<Far> {
    let group = snapshot.group(kind::COMMUNICATOR, comm)?;
    let others = group.other.as_ref().filter(|others| others.iter().next().is_none())?;
    let rank = rank.filter(|rank| *rank != snapshot.any_source);
    let rank = rank.and_then(|rank| u32::try_from(rank).ok());
    let is_there = rank.is_none_or(|rank| (rank as usize) < others.size());
    let have_spawned = group.identity == group::PARENT;
    is_there.then_some(Far { have_spawned, rank, size: group.sizes[1] })
}

/// The same of a call that waits for them.
fn far_of_call(snapshot: &Snapshot, thread: &Thread, shape: &Shape) -> Option<Far> {
    let function = thread.function;
    let is_probe = matches!(function, FunctionId::MPI_Probe | FunctionId::MPI_Mprobe);
    let rank = match shape.pattern {
        _ if function == FunctionId::MPI_Comm_disconnect => None,
        _ if shape.communicator == NONE => return None,
        Pattern::Send => Some(thread.peer),
        Pattern::Receive | Pattern::SendReceive if shape.source != NONE => Some(thread.source),
        _ if is_probe => Some(thread.source),
        _ if thread.number.all > 0 => None,
        _ => return None,
    };
    if rank == Some(snapshot.proc_null) { None } else { far(snapshot, thread.comm, rank) }
}

/// What a call waits for.
fn what(snapshot: &Snapshot, thread: &Thread) -> What {
    use FunctionId::{
        MPI_Bsend, MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_create_from_group,
        MPI_Comm_create_group, MPI_Comm_disconnect, MPI_Comm_join, MPI_Finalize, MPI_Init,
        MPI_Init_thread, MPI_Intercomm_create, MPI_Intercomm_create_from_groups, MPI_Mprobe,
        MPI_Probe, MPI_Waitall, MPI_Win_complete, MPI_Win_start, MPI_Win_wait,
    };
    let function = thread.function;
    let shape = Shape::looked_up(function);
    // Libraries for files call MPI in their own calls.
    if thread.is_nested && shape.class != FunctionClass::Io {
        return What::Nothing;
    }
    match function {
        MPI_Init | MPI_Init_thread => return What::Start,
        // Callbacks may do what others wait for.
        MPI_Finalize if snapshot.has_last_callbacks || thread.is_nested => return What::Nothing,
        MPI_Finalize => return What::Finalize,
        MPI_Comm_disconnect => {
            return far_of_call(snapshot, thread, shape).map_or(What::Nothing, What::World);
        }
        MPI_Bsend => return What::Nothing,
        MPI_Comm_accept | MPI_Comm_connect | MPI_Comm_join => {
            return What::Outside("another program to connect");
        }
        MPI_Comm_create_group | MPI_Comm_create_from_group => {
            let found = meeting(snapshot, thread.object, thread.number, function);
            return found.map_or(What::Nothing, What::Collective);
        }
        MPI_Intercomm_create | MPI_Intercomm_create_from_groups => {
            return between(snapshot, thread);
        }
        _ => {}
    }
    // A flag says that the function does not wait.
    if shape.completion != Completion::None && shape.flag == NONE {
        return requests(snapshot, thread, function == MPI_Waitall);
    }
    if shape.timing != Timing::Blocking && shape.timing != Timing::Epoch || shape.flag != NONE {
        return What::Nothing;
    }
    if let Some(far) = far_of_call(snapshot, thread, shape) {
        return What::World(far);
    }
    let has_comm = shape.communicator != NONE;
    let sent = || message(snapshot, true, thread.comm, thread.peer, Some(thread.tag));
    match shape.pattern {
        Pattern::Send if has_comm => return What::Messages(vec![sent()]),
        Pattern::Receive if shape.source != NONE && has_comm => {
            let tag = Some(thread.tag);
            return What::Messages(vec![message(snapshot, false, thread.comm, thread.source, tag)]);
        }
        Pattern::SendReceive if has_comm => {
            let tag = Some(thread.received_tag);
            let received = message(snapshot, false, thread.comm, thread.source, tag);
            return What::Messages(vec![sent(), received]);
        }
        _ if matches!(function, MPI_Probe | MPI_Mprobe) => {
            let tag = Some(thread.tag);
            return What::Messages(vec![message(snapshot, false, thread.comm, thread.source, tag)]);
        }
        _ => {}
    }
    let on_object = |kind| snapshot.group(kind, thread.object);
    let counted = |group: &Group| collective(snapshot, group, thread.number, function, None);
    match shape.class {
        FunctionClass::OneSided if is_on(kind::WINDOW, function) => {
            let Some(window) = on_object(kind::WINDOW) else { return What::Nothing };
            if let Some(collective) = counted(window) {
                return What::Collective(collective);
            }
            let window_is = window.identity;
            match function {
                MPI_Win_start | MPI_Win_complete => {
                    return What::Epoch { window: window_is, is_target: false };
                }
                MPI_Win_wait => return What::Epoch { window: window_is, is_target: true },
                _ if !is_passive(function) => return What::Nothing,
                _ => {}
            }
            lock(snapshot, thread, window, shape.target != NONE)
        }
        FunctionClass::Io if is_on(kind::FILE, function) => {
            match on_object(kind::FILE).and_then(counted) {
                Some(collective) => What::Collective(collective),
                None => What::Outside("the file system, or a lock of the file"),
            }
        }
        _ if has_comm && thread.number.all > 0 => {
            let Some(group) = snapshot.group(kind::COMMUNICATOR, thread.comm) else {
                return What::Nothing;
            };
            let root = (shape.root != NONE).then_some(thread.peer);
            let found = collective(snapshot, group, thread.number, function, root);
            found.map_or(What::Nothing, What::Collective)
        }
        _ => What::Nothing,
    }
}

/// Is a call of the function on a communicator, a window or a file? Those that end it have it as what they change.
pub(super) fn is_on(what: u64, function: FunctionId) -> bool {
    let shape = Shape::looked_up(function);
    match what {
        kind::WINDOW => shape.window != NONE || function == FunctionId::MPI_Win_free,
        kind::FILE => shape.file != NONE || function == FunctionId::MPI_File_close,
        _ => shape.communicator != NONE,
    }
}

/// May the function wait for a lock of a window, or for its end?
fn is_passive(function: FunctionId) -> bool {
    let name = function.name();
    name.starts_with("MPI_Win_lock")
        || name.starts_with("MPI_Win_unlock")
        || name.starts_with("MPI_Win_flush")
        || Shape::looked_up(function).timing == Timing::Epoch
}

/// What a call on a window waits for, at one target or at all of them.
fn lock(snapshot: &Snapshot, thread: &Thread, window: &Group, has_target: bool) -> What {
    let target = if has_target { world_rank(window, thread.peer) } else { None };
    if has_target && target.is_none() {
        return What::Nothing;
    }
    let targets = match target {
        Some(target) => Members::one(target),
        None => members(window).map_or(Members::NONE, |[own, _]| own),
    };
    let window = window.identity;
    let is_exclusive = if thread.function == FunctionId::MPI_Win_lock {
        thread.tag == 1
    } else {
        let is_it =
            |lock: &Lock| lock.window == window && (target.is_none() || lock.target == target);
        locks(snapshot).any(|lock| is_it(&lock) && lock.is_exclusive)
    };
    What::Lock { window, target, targets, is_exclusive }
}

/// What the requests of a call are for.
fn requests(snapshot: &Snapshot, thread: &Thread, is_all: bool) -> What {
    let mut of = Vec::new();
    let mut of_world = None;
    let mut is_known = thread.requests as usize == thread.handles.len();
    let Snapshot { request_null, request_empty, has_int_handles, .. } = *snapshot;
    let is_complete = |handle: u64| {
        handle == request_null
            || request::is_complete_at_once(handle, has_int_handles, request_empty)
    };
    for handle in thread.handles.iter().filter(|handle| !is_complete(**handle)) {
        let Some(request) = snapshot.requests.iter().find(|known| known.handle == *handle) else {
            is_known = false;
            continue;
        };
        if !request.is_active {
            continue;
        }
        if request.is_shared {
            is_known = false;
            continue;
        }
        let has_root = request.number.all == 0 && request.peer != snapshot.proc_null;
        if let Some(far) = far(snapshot, request.comm, Some(request.peer).filter(|_| has_root)) {
            of_world = Some(far);
            continue;
        }
        let group = snapshot.group(kind::COMMUNICATOR, request.comm);
        let found = if request.number.all > 0 {
            let root = Shape::looked_up(request.function).root != NONE;
            let root = root.then_some(request.peer);
            group
                .and_then(|group| {
                    collective(snapshot, group, request.number, request.function, root)
                })
                .map(|found| {
                    let start = request.is_persistent.then_some(request.starts);
                    Operation::Collective(Collective { start, ..found })
                })
        } else {
            message_of(snapshot, request).map(Operation::Message)
        };
        match found {
            Some(operation) => of.push(operation),
            None => is_known = false,
        }
    }
    match of_world {
        Some(far) if of.is_empty() && is_known => What::World(far),
        Some(_) => What::Requests { of, is_all, is_known: false },
        None => What::Requests { of, is_all, is_known },
    }
}

/// The ranks of the world that a call communicates with, as far as it says so.
pub(super) fn peers_of(what: &What) -> Vec<u32> {
    let of_message = |message: &Message| match &message.with {
        Who::Rank(rank) => vec![*rank],
        Who::AnyOf(ranks) => ranks.iter().collect(),
        Who::Nobody | Who::Unknown => vec![],
    };
    let all: BTreeSet<u32> = match what {
        What::Messages(messages) => messages.iter().flat_map(of_message).collect(),
        What::Requests { of, .. } => of
            .iter()
            .flat_map(|operation| match operation {
                Operation::Message(message) => of_message(message),
                Operation::Collective(_) => vec![],
            })
            .collect(),
        What::Lock { target, .. } => target.iter().copied().collect(),
        _ => BTreeSet::new(),
    };
    all.into_iter().collect()
}

/// The ranks of a world by their numbers.
pub(super) type Ranks<T> = BTreeMap<u32, T>;
