use super::*;
use FunctionId::{
    MPI_Allreduce, MPI_Barrier, MPI_Bcast, MPI_Finalize, MPI_Recv, MPI_Send, MPI_Sendrecv,
    MPI_Wait, MPI_Win_flush, MPI_Win_lock, MPI_Win_unlock_all,
};

mod unknown;

const WORLD: u64 = 1;

/// A rank in its own code.
fn outside() -> State {
    State {
        condition: Condition::Still,
        calls: vec![],
        pending: vec![],
        progress: BTreeMap::new(),
        starts: BTreeMap::new(),
        knows_all: true,
        epochs: Some(BTreeMap::new()),
        locks: vec![],
    }
}

/// The first ranks of the world.
fn all(size: u32) -> Members {
    Members::regular(0, 1, size.into()).unwrap()
}

fn inside(function: FunctionId, what: What) -> State {
    State { calls: vec![Doing { function, what }], ..outside() }
}

fn message(is_sent: bool, with: Who, tag: i32) -> Message {
    Message { is_sent, with, tag: Some(tag), comm: Some(WORLD), is_ready: true }
}

fn receives(from: u32, tag: i32) -> State {
    inside(MPI_Recv, What::Messages(vec![message(false, Who::Rank(from), tag)]))
}

fn sends(to: u32, tag: i32) -> State {
    inside(MPI_Send, What::Messages(vec![message(true, Who::Rank(to), tag)]))
}

fn finalizes() -> State {
    inside(MPI_Finalize, What::Finalize)
}

/// In a collective operation on a world of so many ranks; `history` are the functions of operations 1, 2 and so on.
fn collective(size: u32, history: &[FunctionId]) -> State {
    let (number, function) = (history.len() as u64, history[history.len() - 1]);
    let members = [all(size), Members::NONE];
    let (on, start, needs) = (WORLD, None, Needs::All);
    let what =
        What::Collective(Collective { on, number, failed: 0, start, function, members, needs });
    State { progress: progress(history), ..inside(function, what) }
}

fn progress(history: &[FunctionId]) -> BTreeMap<u64, Progress> {
    let last = (1..).zip(history.iter().copied()).collect();
    BTreeMap::from([(WORLD, Progress { number: history.len() as u64, failed: 0, last })])
}

fn judge(states: impl IntoIterator<Item = State>) -> Verdict {
    let states: BTreeMap<u32, State> = (0..).zip(states).collect();
    World::new(states.len() as u32, &states).judge()
}

fn culprits(verdict: &Verdict) -> Vec<(u32, Why)> {
    verdict.culprits.iter().map(|culprit| (culprit.rank, culprit.why)).collect()
}

#[test]
fn receives_in_a_circle_are_a_cycle() {
    let verdict = judge([receives(1, 0), receives(2, 0), receives(0, 0)]);
    assert_eq!(verdict.kind, Kind::Deadlock);
    assert_eq!(culprits(&verdict), [(0, Why::Cycle), (1, Why::Cycle), (2, Why::Cycle)]);
    let path: Vec<_> = verdict.path.iter().map(|edge| (edge.from, edge.to)).collect();
    assert_eq!(path, [(0, 1), (1, 2), (2, 0)]);
}

/// Two of many: those that wait for them are stuck and are not named.
#[test]
fn the_shortest_cycle_is_named() {
    let mut states =
        vec![receives(1, 0), receives(2, 0), receives(0, 0), receives(4, 0), receives(3, 0)];
    states.extend((5..40).map(|_| receives(0, 0)));
    let verdict = judge(states);
    assert_eq!(culprits(&verdict), [(3, Why::Cycle), (4, Why::Cycle)]);
    assert_eq!(verdict.stuck.len(), 40);
}

#[test]
fn a_message_that_is_on_its_way_is_no_deadlock() {
    let verdict = judge([receives(1, 5), sends(0, 5)]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Running, vec![]));
    // Another tag, or another communicator.
    let verdict = judge([receives(1, 5), sends(0, 6)]);
    assert_eq!(culprits(&verdict), [(0, Why::Cycle), (1, Why::Cycle)]);
    let mut other = sends(0, 5);
    if let What::Messages(messages) = &mut other.calls[0].what {
        messages[0].comm = Some(7);
    }
    assert_eq!(judge([receives(1, 5), other]).kind, Kind::Deadlock);
    // A request that is under way is enough.
    let state =
        State { pending: vec![message(true, Who::Rank(0), 5)], ..collective(2, &[MPI_Barrier]) };
    assert_eq!(judge([receives(1, 5), state]).kind, Kind::Waiting);
}

#[test]
fn a_rank_that_computes_is_named_and_nobody_is_stuck() {
    let states = [collective(3, &[MPI_Allreduce]), outside(), receives(1, 1)];
    let verdict = judge(states);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Computing)]));
    assert!(verdict.stuck.is_empty());
}

#[test]
fn a_rank_that_makes_calls_is_not_named() {
    for calls in [vec![], receives(0, 1).calls] {
        let polling = State { condition: Condition::Moving, calls, ..outside() };
        let verdict = judge([collective(2, &[MPI_Barrier]), polling]);
        assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![]));
    }
}

#[test]
fn who_finalizes_does_nothing_any_more() {
    // A missing barrier, and a message that was never sent.
    let verdict = judge([collective(2, &[MPI_Barrier]), finalizes()]);
    assert_eq!(verdict.kind, Kind::Deadlock);
    assert_eq!(culprits(&verdict), [(1, Why::Finalizing), (0, Why::Cycle)]);
    let verdict = judge([receives(1, 3), finalizes()]);
    assert_eq!(culprits(&verdict), [(1, Why::Finalizing), (0, Why::Cycle)]);
    // All are there: nobody waits for anybody.
    assert_eq!(judge([finalizes(), finalizes()]).kind, Kind::Running);
}

/// The first rank has left its broadcast as the root, and is in the barrier, which is the other one's first call.
#[test]
fn operations_in_another_order_are_named() {
    let verdict = judge([collective(2, &[MPI_Bcast, MPI_Barrier]), collective(2, &[MPI_Barrier])]);
    assert_eq!(verdict.kind, Kind::Deadlock);
    assert_eq!(culprits(&verdict), [(0, Why::Mismatch), (1, Why::Mismatch)]);
    let reason = Reason::Mismatch { on: WORLD, number: 1, ours: MPI_Barrier, theirs: MPI_Bcast };
    assert_eq!(verdict.path, [Edge { from: 1, to: 0, reason, is_choice: false }]);
    // The same operation, at which all are: it is under way.
    let all = || collective(2, &[MPI_Bcast, MPI_Barrier]);
    assert_eq!(judge([all(), all()]).kind, Kind::Running);
}

#[test]
fn who_has_ended_is_named() {
    let dead = State { condition: Condition::Dead, ..outside() };
    let verdict = judge([collective(3, &[MPI_Barrier]), dead, collective(3, &[MPI_Barrier])]);
    assert_eq!(verdict.kind, Kind::Deadlock);
    assert_eq!(culprits(&verdict), [(1, Why::Dead), (0, Why::InVain)]);
    let stopped = State { condition: Condition::Stopped, ..receives(0, 1) };
    let verdict = judge([collective(2, &[MPI_Barrier]), stopped]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Stopped)]));
}

/// A receive from any source ends if one of the others can go on, and does not if all are stuck.
#[test]
fn any_source_needs_one_of_many() {
    let any = || {
        let what = What::Messages(vec![message(false, Who::AnyOf(all(3)), 0)]);
        inside(MPI_Recv, what)
    };
    let verdict = judge([any(), collective(3, &[MPI_Barrier]), outside()]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(2, Why::Computing)]));
    let verdict = judge([any(), collective(3, &[MPI_Barrier]), any()]);
    assert_eq!(verdict.kind, Kind::Deadlock);
    assert_eq!(verdict.stuck.len(), 3);
    assert_eq!(judge([any(), sends(0, 0), outside()]).kind, Kind::Running);
}

/// Of several requests, some may be complete already: the barrier's rank is not named, as rank 2 may be the cause.
#[test]
fn several_requests_accuse_nobody_too_early() {
    let receive = |from| Operation::Message(message(false, Who::Rank(from), 0));
    let waits = |of| inside(MPI_Wait, What::Requests { of, is_all: false, is_known: true });
    let verdict =
        judge([waits(vec![receive(1), receive(2)]), collective(3, &[MPI_Barrier]), outside()]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(2, Why::Computing)]));
    let verdict = judge([waits(vec![receive(1)]), finalizes()]);
    assert_eq!(culprits(&verdict), [(1, Why::Finalizing), (0, Why::Cycle)]);
    let unknown =
        inside(MPI_Wait, What::Requests { of: vec![receive(1)], is_all: false, is_known: false });
    assert_eq!(judge([unknown, finalizes()]).kind, Kind::Waiting);
}

/// The message to rank 1, which is through, may have arrived, and most often has: who does not send is named.
#[test]
fn of_two_halves_the_one_that_cannot_be_over_is_named() {
    let both = vec![message(true, Who::Rank(1), 1), message(false, Who::Rank(2), 2)];
    let verdict = judge([inside(MPI_Sendrecv, What::Messages(both)), finalizes(), receives(0, 0)]);
    assert_eq!(culprits(&verdict), [(0, Why::Cycle), (2, Why::Cycle)]);
    let reasons: Vec<_> = verdict.path.iter().map(|edge| (edge.from, edge.reason)).collect();
    assert_eq!(reasons, [(0, Reason::Send), (2, Reason::Send)]);
    // Both halves are with one rank: it is that one, whichever half it is.
    let both = vec![message(true, Who::Rank(1), 1), message(false, Who::Rank(1), 2)];
    let verdict = judge([inside(MPI_Sendrecv, What::Messages(both)), outside()]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Computing)]));
    assert!(verdict.edges.iter().all(|edge| !edge.is_choice), "{verdict:?}");
}

/// In a call on a window with a lock at a target, or at all of three ranks.
fn locks(target: Option<u32>, is_exclusive: bool) -> What {
    let targets = target.map_or_else(|| all(3), Members::one);
    What::Lock { window: 9, target, targets, is_exclusive }
}

fn holds(target: Option<u32>, is_exclusive: bool) -> Vec<Lock> {
    vec![Lock { window: 9, target, is_exclusive }]
}

#[test]
fn a_lock_is_waited_for_at_its_holder() {
    let waits = inside(MPI_Win_lock, locks(Some(0), true));
    let holder = State { locks: holds(Some(0), true), ..receives(0, 4) };
    let verdict = judge([outside(), holder.clone(), waits.clone()]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(0, Why::Computing)]));
    let verdict = judge([collective(3, &[MPI_Barrier]), holder, waits.clone()]);
    assert_eq!(verdict.kind, Kind::Deadlock);
    assert!(verdict.edges.iter().any(|edge| (edge.from, edge.to) == (2, 1)));
    // Another target's lock, and one's own.
    let other = State { locks: holds(Some(1), true), ..finalizes() };
    assert_eq!(judge([outside(), other, waits]).kind, Kind::Waiting);
}

/// Shared locks go together, and two ranks in calls on a window do not wait for each other: a target that computes is
/// what they wait for.
#[test]
fn ranks_that_share_a_lock_do_not_wait_for_each_other() {
    let flushes = |is_exclusive| State {
        locks: holds(None, is_exclusive),
        ..inside(MPI_Win_flush, locks(Some(1), is_exclusive))
    };
    let computes = || State { locks: holds(None, false), ..outside() };
    for is_exclusive in [false, true] {
        let target = if is_exclusive { outside() } else { computes() };
        let verdict = judge([flushes(is_exclusive), target, flushes(is_exclusive)]);
        let named = culprits(&verdict);
        assert_eq!((verdict.kind, named), (Kind::Waiting, vec![(1, Why::Computing)]));
        let reasons: Vec<_> = verdict.edges.iter().map(|edge| (edge.to, edge.reason)).collect();
        assert_eq!(reasons, [(1, Reason::Progress); 2]);
    }
    // The target is in MPI: what they do there is done soon.
    let verdict = judge([flushes(false), collective(3, &[MPI_Barrier]), flushes(false)]);
    assert!(verdict.stuck.is_empty(), "{verdict:?}");
    // At all targets.
    let unlocks =
        State { locks: holds(None, false), ..inside(MPI_Win_unlock_all, locks(None, false)) };
    let verdict = judge([unlocks.clone(), computes(), unlocks]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Computing)]));
    // A shared lock stands in the way of an exclusive one.
    let holder = State { locks: holds(Some(0), false), ..receives(2, 4) };
    let wants = inside(MPI_Win_lock, locks(Some(0), true));
    assert_eq!(judge([receives(1, 1), holder.clone(), wants]).kind, Kind::Deadlock);
    let wants = inside(MPI_Win_lock, locks(Some(0), false));
    assert_eq!(judge([receives(2, 1), holder, wants]).stuck, BTreeSet::new());
}

/// A message that both sides have begun waits for the one that does not call MPI.
#[test]
fn a_rank_that_computes_after_it_has_begun_is_named() {
    let computes = State { pending: vec![message(false, Who::Rank(0), 5)], ..outside() };
    let verdict = judge([sends(1, 5), computes.clone()]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Computing)]));
    assert_eq!(verdict.edges[0].reason, Reason::Progress);
    // Where it waits in MPI, or polls, the message moves.
    let waits = State { calls: collective(2, &[MPI_Barrier]).calls, ..computes.clone() };
    assert_eq!(judge([sends(1, 5), waits]).stuck, BTreeSet::new());
    let polls = State { condition: Condition::Moving, ..computes };
    assert_eq!(judge([sends(1, 5), polls]).kind, Kind::Running);
}

/// The neighbour that has not begun may not be the only one that is needed: one that has begun must go on with it.
#[test]
fn who_has_begun_an_operation_must_go_on_with_it() {
    let history = [FunctionId::MPI_Ineighbor_alltoall];
    let operation = |needs| Collective {
        on: WORLD,
        number: 1,
        failed: 0,
        start: None,
        function: history[0],
        members: [all(3), Members::NONE],
        needs,
    };
    let waits = |needs| State {
        progress: progress(&history),
        ..inside(
            MPI_Wait,
            What::Requests {
                of: vec![Operation::Collective(operation(needs))],
                is_all: false,
                is_known: true,
            },
        )
    };
    let computes = State { progress: progress(&history), ..outside() };
    // Rank 2 waits for rank 0, and has not begun.
    let verdict = judge([waits(Needs::Some), computes.clone(), receives(0, 1)]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Computing)]));
    let verdict = judge([waits(Needs::All), computes, receives(0, 1)]);
    assert_eq!(culprits(&verdict), [(0, Why::Cycle), (2, Why::Cycle)]);
}

/// A persistent operation is waited for at those that have started it less often. Who has freed it has done all.
#[test]
fn who_has_not_started_a_persistent_operation_is_named() {
    let history = [FunctionId::MPI_Allreduce_init];
    let knows = |starts: u64, state: State| State {
        progress: progress(&history),
        starts: BTreeMap::from([((WORLD, 1), starts)]),
        ..state
    };
    let waits = || {
        let operation = Collective {
            on: WORLD,
            number: 1,
            failed: 0,
            start: Some(3),
            function: history[0],
            members: [all(3), Members::NONE],
            needs: Needs::All,
        };
        let of = vec![Operation::Collective(operation)];
        knows(3, inside(MPI_Wait, What::Requests { of, is_all: false, is_known: true }))
    };
    let verdict = judge([waits(), knows(2, receives(0, 5)), waits()]);
    assert_eq!(verdict.kind, Kind::Deadlock);
    assert_eq!(culprits(&verdict), [(0, Why::Cycle), (1, Why::Cycle)]);
    let reason = Reason::Again { number: 1, start: 3, function: history[0] };
    assert!(verdict.edges.contains(&Edge { from: 2, to: 1, reason, is_choice: false }));
    let verdict = judge([waits(), knows(2, outside()), waits()]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Computing)]));
    // All have started it, or have no such operation any more.
    assert_eq!(judge([waits(), waits(), waits()]).kind, Kind::Running);
    let freed = State { progress: progress(&history), ..receives(0, 5) };
    assert!(judge([waits(), freed, waits()]).edges.iter().all(|edge| edge.from == 1));
}

/// What surely has arrived is not what a rank waits for, and all that it may wait for are named.
#[test]
fn of_several_requests_those_that_are_open_are_named() {
    let request = |from| Operation::Message(message(false, Who::Rank(from), 0));
    let waits = |of: &[u32]| State {
        pending: of.iter().map(|from| message(false, Who::Rank(*from), 0)).collect(),
        ..inside(
            FunctionId::MPI_Waitall,
            What::Requests {
                of: of.iter().map(|from| request(*from)).collect(),
                is_all: true,
                is_known: true,
            },
        )
    };
    let barrier = || collective(4, &[MPI_Barrier]);
    let sent = || State { pending: vec![message(true, Who::Rank(0), 0)], ..barrier() };
    // Rank 2's message is under way; those of ranks 1 and 3 may have come before.
    let verdict = judge([waits(&[1, 2, 3]), barrier(), sent(), barrier()]);
    assert_eq!(verdict.kind, Kind::Deadlock);
    let named: Vec<u32> = culprits(&verdict).into_iter().map(|(rank, _)| rank).collect();
    assert_eq!(named, [0, 1, 3]);
    // Two receives from rank 2, which has sent once: the other one may be what is missing.
    let verdict = judge([waits(&[2, 2]), barrier(), sent(), barrier()]);
    assert_eq!(verdict.kind, Kind::Waiting);
    // Ranks that have sent compute: they are waited for.
    let computes = State { calls: vec![], ..sent() };
    let verdict = judge([waits(&[1, 2]), outside(), computes, barrier()]);
    assert_eq!(verdict.kind, Kind::Waiting);
    assert_eq!(culprits(&verdict), [(1, Why::Computing), (2, Why::Computing)]);
}

#[test]
fn a_rank_that_has_not_started_mpi_is_named() {
    let starts = || inside(FunctionId::MPI_Init, What::Start);
    let states = BTreeMap::from([(0, starts()), (2, starts())]);
    let verdict = World::new(3, &states).judge();
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Missing)]));
    assert_eq!(judge([starts(), starts()]).kind, Kind::Running);
}

/// A broadcast's rank may get the data by way of a rank that computes: the one that waits for it in turn is not
/// accused. The root is needed in any case.
#[test]
fn a_broadcast_needs_its_root_and_some_others() {
    let bcast = |needs| {
        let mut state = collective(3, &[MPI_Bcast]);
        if let What::Collective(collective) = &mut state.calls[0].what {
            collective.needs = needs;
        }
        state
    };
    let verdict = judge([bcast(Needs::Some), receives(0, 1), outside()]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(2, Why::Computing)]));
    let verdict = judge([bcast(Needs::Root(1)), receives(0, 1), outside()]);
    assert_eq!(culprits(&verdict), [(0, Why::Cycle), (1, Why::Cycle)]);
}

/// Worlds of many ranks take time and memory that grow with them, not with their square: waits are few.
#[test]
fn many_ranks_are_judged() {
    const MANY: u32 = 65_536;
    let begin = std::time::Instant::now();
    let any = || {
        let what = What::Messages(vec![message(false, Who::AnyOf(all(MANY)), 0)]);
        inside(MPI_Recv, what)
    };
    let few = |verdict: &Verdict| assert!(verdict.edges.len() <= MANY as usize * (MOST + 1));
    // Half of them have not come to a barrier, as one of them receives for ever.
    let barrier = || collective(MANY, &[MPI_Barrier]);
    let late = |rank| if rank == 1 { receives(0, 5) } else { outside() };
    let verdict = judge((0..MANY).map(|rank| if rank % 2 == 0 { barrier() } else { late(rank) }));
    few(&verdict);
    assert_eq!(culprits(&verdict), [(0, Why::Cycle), (1, Why::Cycle)]);
    // All of them receive from anybody: nobody will send. But if one computes, it may.
    let verdict = judge((0..MANY).map(|_| any()));
    few(&verdict);
    assert_eq!((verdict.kind, verdict.stuck.len()), (Kind::Deadlock, MANY as usize));
    let verdict = judge((0..MANY).map(|rank| if rank == MANY - 1 { outside() } else { any() }));
    assert_eq!((verdict.kind, verdict.stuck.len()), (Kind::Waiting, 0));
    // In a ring, and in a row whose end goes on.
    let verdict = judge((0..MANY).map(|rank| receives((rank + 1) % MANY, 0)));
    assert_eq!((verdict.path.len(), verdict.culprits.len()), (MANY as usize, MANY as usize));
    let verdict = judge(
        (0..MANY).map(|rank| if rank + 1 == MANY { outside() } else { receives(rank + 1, 0) }),
    );
    assert_eq!(
        (verdict.kind, culprits(&verdict)),
        (Kind::Waiting, vec![(MANY - 1, Why::Computing)])
    );
    // All but one are in MPI_Finalize.
    let verdict = judge((0..MANY).map(|rank| if rank == 7 { receives(0, 0) } else { finalizes() }));
    few(&verdict);
    assert_eq!(culprits(&verdict), [(0, Why::Finalizing), (7, Why::Cycle)]);
    // With work that grows with the square, each of these would take minutes.
    let taken = begin.elapsed();
    assert!(taken < std::time::Duration::from_secs(100), "{taken:?}");
}

/// The same of those that have locked all targets of a window, and of those that wait for its locks.
#[test]
fn locks_of_many_ranks_are_judged() {
    const MANY: u32 = 65_536;
    let begin = std::time::Instant::now();
    let few = |verdict: &Verdict| assert!(verdict.edges.len() <= MANY as usize * (2 * MOST + 1));
    let barrier = || State { locks: holds(None, false), ..collective(MANY, &[MPI_Barrier]) };
    let wants = |function, target: Option<u32>, is_exclusive| {
        let targets = target.map_or_else(|| all(MANY), Members::one);
        inside(function, What::Lock { window: 9, target, targets, is_exclusive })
    };
    let half = |even: &dyn Fn(u32) -> State, odd: &dyn Fn(u32) -> State| {
        let verdict =
            judge((0..MANY).map(|rank| if rank % 2 == 0 { even(rank) } else { odd(rank) }));
        few(&verdict);
        verdict
    };
    // Half of them hold shared locks of all and wait for the others, which want exclusive ones: of one, or of one each.
    for target in [|_| 0, |rank| rank] {
        let verdict = half(&|_| barrier(), &|rank| wants(MPI_Win_lock, Some(target(rank)), true));
        assert_eq!((verdict.kind, verdict.stuck.len()), (Kind::Deadlock, MANY as usize));
        // A holder that works may unlock.
        let works = |rank| {
            if rank == MANY - 2 {
                State { locks: holds(None, false), ..outside() }
            } else {
                barrier()
            }
        };
        let verdict = half(&works, &|rank| wants(MPI_Win_lock, Some(target(rank)), true));
        assert_eq!((verdict.kind, verdict.stuck.len()), (Kind::Waiting, 0));
    }
    // Shared locks are in nobody's way, but targets have to call MPI.
    let flushes = |_| State { locks: holds(None, false), ..wants(MPI_Win_flush, None, false) };
    let verdict = half(&flushes, &|_| barrier());
    assert_eq!((verdict.kind, verdict.stuck.len()), (Kind::Waiting, 0));
    let verdict = half(&flushes, &|_| State { locks: holds(None, false), ..outside() });
    assert_eq!((verdict.kind, verdict.culprits.len()), (Kind::Waiting, MOST));
    let taken = begin.elapsed();
    assert!(taken < std::time::Duration::from_secs(100), "{taken:?}");
}

/// Ranks that have got an error from another number of operations may have counted others.
#[test]
fn operations_that_have_failed_are_not_compared() {
    let fails = |failed| {
        let mut state = collective(3, &[MPI_Bcast, MPI_Barrier]);
        state.progress.get_mut(&WORLD).unwrap().failed = failed;
        let What::Collective(call) = &mut state.calls[0].what else { unreachable!() };
        call.failed = failed;
        state
    };
    let barrier = || collective(3, &[MPI_Barrier]);
    assert_eq!(judge([fails(1), barrier(), outside()]).kind, Kind::Running);
    assert_eq!(judge([fails(0), barrier(), outside()]).kind, Kind::Deadlock);
    // All of them had an error.
    let verdict =
        judge([fails(1), fails(1), State { progress: BTreeMap::new(), ..receives(0, 5) }]);
    assert_eq!(verdict.kind, Kind::Deadlock);
}

#[test]
fn what_is_outside_of_mpi_is_told() {
    let what = What::Outside("a file");
    let verdict =
        judge([inside(FunctionId::MPI_File_write_at, what), collective(2, &[MPI_Barrier])]);
    assert_eq!(culprits(&verdict), [(0, Why::Outside("a file"))]);
}

/// In `MPI_Intercomm_create` of the first two ranks and the third one; `is_leader` says whether this one is its group's leader.
fn makes_between(number: u64, is_leader: bool) -> State {
    let function = FunctionId::MPI_Intercomm_create;
    let on = |on, members| Collective {
        on,
        number,
        failed: 0,
        start: None,
        function,
        members: [members, Members::NONE],
        needs: Needs::All,
    };
    let what = What::Between {
        group: on(10, all(2)),
        leaders: is_leader.then(|| on(11, Members::regular(0, 2, 2).unwrap())),
        leader: Some(0),
    };
    let come = |identity| (identity, Progress { number, failed: 0, last: BTreeMap::new() });
    let known = if is_leader { vec![come(10), come(11)] } else { vec![come(10)] };
    State { progress: known.into_iter().collect(), ..inside(function, what) }
}

/// By way of its leader, a group needs the other group's leader; who has made it before, and goes on, is not waited for.
#[test]
fn a_group_waits_for_the_other_groups_leader() {
    let verdict = judge([makes_between(1, true), makes_between(1, false), receives(1, 0)]);
    assert_eq!(verdict.kind, Kind::Deadlock);
    let path: Vec<_> = verdict.path.iter().map(|edge| (edge.from, edge.to)).collect();
    assert_eq!(path, [(0, 2), (2, 1), (1, 0)]);
    assert_eq!(verdict.stuck.len(), 3);
    // The leader has what it needs: it goes on, and so do the others.
    let come = |identity| (identity, Progress { number: 1, failed: 0, last: BTreeMap::new() });
    let gone_on = State { progress: [come(11), come(12)].into(), ..receives(1, 0) };
    let verdict = judge([makes_between(1, true), makes_between(1, false), gone_on]);
    assert_ne!(verdict.kind, Kind::Deadlock);
    // It has found the other one and has gone on: it is not waited for any more.
    let met = State { progress: makes_between(1, true).progress, ..receives(1, 0) };
    let verdict = judge([met, makes_between(1, false), outside()]);
    assert_ne!(verdict.kind, Kind::Deadlock);
    // One of its own that computes.
    let verdict = judge([makes_between(1, true), outside(), receives(1, 0)]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Computing)]));
}

/// A message of which a part is not ready is waited for at its sender, and nobody is stuck where that may make it ready.
#[test]
fn a_part_that_is_not_ready_is_waited_for() {
    let part = Message { is_ready: false, ..message(true, Who::Rank(0), 5) };
    let keeps = State { pending: vec![part.clone()], ..receives(0, 7) };
    let verdict = judge([receives(1, 5), keeps]);
    assert_eq!(culprits(&verdict), [(0, Why::Cycle), (1, Why::Cycle)]);
    assert_eq!(verdict.path[0].reason, Reason::Ready);
    // It computes, or waits for the message itself, which another thread may make ready.
    let computes = State { pending: vec![part.clone()], ..outside() };
    assert_eq!(culprits(&judge([receives(1, 5), computes])), [(1, Why::Computing)]);
    let operation = Operation::Message(part.clone());
    let what = What::Requests { of: vec![operation], is_all: false, is_known: true };
    let waits = State { pending: vec![part], ..inside(MPI_Wait, what) };
    assert_ne!(judge([receives(1, 5), waits]).kind, Kind::Deadlock);
}

/// A process that is stopped does nothing, wherever it is.
#[test]
fn who_was_stopped_in_a_call_is_waited_for() {
    let stopped = State { condition: Condition::Stopped, ..receives(0, 5) };
    let verdict = judge([sends(1, 5), stopped]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Stopped)]));
    let waits: Vec<_> = verdict.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    assert_eq!(waits, [(0, 1)]);
}

/// Of a rank that waits in several threads, the call is told that is on the way.
#[test]
fn the_call_of_the_cycle_is_told() {
    let mut first = receives(2, 0);
    first.calls.extend(receives(1, 7).calls);
    let verdict = judge([first, receives(0, 7), receives(0, 1)]);
    assert_eq!(verdict.kind, Kind::Deadlock);
    for edge in verdict.path.iter().filter(|edge| edge.from == 0) {
        assert_eq!(verdict.calls.get(&0), Some(&usize::from(edge.to == 1)));
    }
}
