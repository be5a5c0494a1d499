//! Pictures of which the standard says who can go on. Sections are those of MPI-5.0.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use mpi_check_engine::{
    Board, Channel, Entered, Exchange, How, LOOKS, Lock, Need, Operation, POLLS, Patience, Picture,
    Rank, STRICT, State, Wanted, Whom,
};

const COMM: u64 = 7;

fn blocked(needs: Vec<Need>) -> Rank {
    Rank { state: State::Blocked, needs, has_posted: true, ..Rank::default() }
}

fn any_of(needs: Vec<Need>) -> Rank {
    Rank { is_any: true, ..blocked(needs) }
}

fn polling(needs: Vec<Need>) -> Rank {
    Rank { state: State::Polling, is_any: true, needs, ..Rank::default() }
}

fn running() -> Rank {
    Rank::default()
}

fn over() -> Rank {
    Rank { state: State::Over, ..Rank::default() }
}

fn from(source: u32, tag: i64) -> Need {
    Need::Message(Wanted { identity: COMM, source: Some(source), tag: Some(tag) })
}

fn from_anybody(tag: i64) -> Need {
    Need::Message(Wanted { identity: COMM, source: None, tag: Some(tag) })
}

fn sent(source: u32, target: u32, tag: i64) -> Channel {
    Channel { identity: COMM, source, target, tag }
}

fn all(number: u64) -> Need {
    Need::Collective { identity: COMM, number, root: None }
}

fn root(number: u64, root: u32) -> Need {
    Need::Collective { identity: COMM, number, root: Some(root) }
}

fn picture(ranks: Vec<Rank>) -> Picture {
    let members = (0..ranks.len() as u32).collect();
    Picture {
        ranks,
        members: BTreeMap::from([(COMM, members)]),
        exposures: Some(BTreeMap::new()),
        ..Picture::default()
    }
}

fn operation(mut of: Picture, number: u64, come: &[u32]) -> Picture {
    let expected = of.members[&COMM].len() as u32;
    let operation = Operation { root_is_here: false, expected, come: come.to_vec() };
    of.operations.insert((COMM, number), operation);
    of
}

fn stuck(of: &Picture) -> Vec<usize> {
    of.stuck(&How::default())
}

/// 3.5: "both processes receive first" never ends.
#[test]
fn two_that_receive_first_wait_for_ever() {
    let of = picture(vec![blocked(vec![from(1, 0)]), blocked(vec![from(0, 0)])]);
    let found = of.standstill(&How::default()).unwrap();
    assert_eq!(found.ranks().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(found.chain(0), [0, 1, 0]);
    assert_eq!(found.cycle(), Some(vec![0, 1]));
}

/// 3.5: the same with two sends that are not buffered, of which nobody has asked for the messages.
#[test]
fn two_that_send_first_wait_for_ever() {
    let send = |key, target| blocked(vec![Need::Receiver { key, target }]);
    let mut of = picture(vec![send(10, 1), send(11, 0)]);
    of.under_way = vec![sent(0, 1, 0), sent(1, 0, 0)];
    of.channels = BTreeMap::from([(10, sent(0, 1, 0)), (11, sent(1, 0, 0))]);
    of.unasked = vec![10, 11];
    assert_eq!(stuck(&of), [0, 1]);
    // Somebody has asked for one of them.
    of.unasked = vec![11];
    of.asked = vec![10];
    assert_eq!(stuck(&of), []);
}

/// 3.8.2: a probe has taken the message of a synchronous send, and who has taken it waits for another one.
#[test]
fn a_message_that_a_probe_has_taken_is_not_received() {
    let sends = blocked(vec![Need::Receiver { key: 10, target: 1 }]);
    let mut of = picture(vec![sends.clone(), blocked(vec![from(0, 5)])]);
    of.probed = vec![10];
    assert_eq!(stuck(&of), [0, 1]);
    // Who has taken it may still receive it.
    of.ranks[1] = Rank::default();
    assert_eq!(stuck(&of), []);
    // It is being received.
    let mut of = picture(vec![sends, blocked(vec![from(0, 5)])]);
    of.asked = vec![10];
    assert_eq!(stuck(&of), []);
}

/// 3.4: of what a call waits for, that is named of which it is sure: MPI may have a copy of the message.
#[test]
fn a_receive_is_named_before_a_send_that_may_be_over() {
    let both = blocked(vec![Need::Receiver { key: 10, target: 1 }, from(2, 7)]);
    let mut of = picture(vec![both, blocked(vec![from(2, 0)]), blocked(vec![from(0, 0)])]);
    of.unasked = vec![10];
    of.channels = BTreeMap::from([(10, sent(0, 1, 3))]);
    let found = of.standstill(&How::default()).unwrap();
    assert_eq!(found.waits[0].need, Some(from(2, 7)));
    assert_eq!(found.cycle(), Some(vec![0, 2]));
}

/// 3.5: a receive gets only a message that fits.
#[test]
fn a_receive_from_anybody_with_another_tag_takes_nothing() {
    let send = blocked(vec![Need::Receiver { key: 10, target: 1 }]);
    let receive = |tag| Rank { open: 1, ..blocked(vec![from_anybody(tag)]) };
    let with = |tag| {
        let mut of = picture(vec![send.clone(), receive(tag)]);
        of.under_way = vec![sent(0, 1, 5)];
        of.channels = BTreeMap::from([(10, sent(0, 1, 5))]);
        of.unasked = vec![10];
        of
    };
    assert_eq!(stuck(&with(6)), [0, 1]);
    assert_eq!(stuck(&with(5)), []);
    // Another receive is pending, of which nobody knows what it asks for.
    let mut of = with(6);
    of.ranks[1].open = 2;
    assert_eq!(stuck(&of), []);
    // A probe posts no receive: the one that is counted is another one.
    let mut of = with(6);
    of.ranks[1].has_posted = false;
    assert_eq!(stuck(&of), []);
    // Nobody knows whose message it is.
    let mut of = with(6);
    of.channels.clear();
    assert_eq!(stuck(&of), []);
}

/// 3.2.4: only those of the communicator send on it.
#[test]
fn only_members_send() {
    let mut of = picture(vec![blocked(vec![from_anybody(0)]), over(), running()]);
    assert_eq!(stuck(&of), []);
    of.members.insert(COMM, vec![0, 1]);
    assert_eq!(stuck(&of), [0]);
    of.members.clear();
    assert_eq!(stuck(&of), []);
}

/// 3.7.5: `MPI_Waitall` needs all, `MPI_Waitany` one.
#[test]
fn a_wait_for_several_needs_a_message_for_each() {
    let needs = vec![from_anybody(0), from(1, 0)];
    let with = |rank: Rank, messages: &[Channel]| {
        let mut of = picture(vec![rank, over()]);
        of.under_way = messages.to_vec();
        stuck(&of)
    };
    let message = sent(1, 0, 0);
    assert_eq!(with(blocked(needs.clone()), &[message]), [0]);
    assert_eq!(with(blocked(needs.clone()), &[message, message]), []);
    assert_eq!(with(any_of(needs.clone()), &[message]), []);
    assert_eq!(with(any_of(needs), &[]), [0]);
    // The same receive twice.
    assert_eq!(with(blocked(vec![from(1, 0), from(1, 0)]), &[message]), [0]);
}

/// 3.4: a standard send may be through, as MPI has a copy, while its call waits for something else.
#[test]
fn a_standard_send_holds_up_nobody_who_waits_for_something_else() {
    // MPI_Sendrecv to one that is in MPI_Finalize, from one that computes.
    let of = |needs: Vec<Need>| {
        let mut of = picture(vec![blocked(needs), over(), running()]);
        of.under_way = vec![sent(0, 1, 0)];
        of.channels = BTreeMap::from([(10, sent(0, 1, 0))]);
        of.unasked = vec![10];
        of
    };
    let receiver = Need::Receiver { key: 10, target: 1 };
    let mut both = of(vec![receiver, from(2, 0)]);
    assert_eq!(stuck(&both), []);
    // A synchronous one is not.
    both.synchronous.insert(10);
    assert_eq!(stuck(&both), [0]);
    both.synchronous.clear();
    // What it receives is there: that it stands shows that MPI has no copy.
    both.under_way.push(sent(2, 0, 0));
    assert_eq!(stuck(&both), [0]);
    // There is another receive for that message, or may be.
    both.unsent = vec![sent(2, 0, 0)];
    assert_eq!(stuck(&both), []);
    both.unsent.clear();
    both.ranks[0].open = 1;
    assert_eq!(stuck(&both), []);
    // Of two sends, one may be through.
    let other = Need::Receiver { key: 11, target: 2 };
    let mut two = of(vec![receiver, other]);
    two.unasked.push(11);
    assert_eq!(stuck(&two), []);
    two.ranks[2] = over();
    assert_eq!(stuck(&two), [0]);
    assert_eq!(stuck(&of(vec![receiver])), [0]);
}

/// How many messages there are is told with what is found.
#[test]
fn the_first_need_that_is_not_met_is_told() {
    let mut of = picture(vec![blocked(vec![from(1, 0), from(1, 1)]), over()]);
    of.under_way = vec![sent(1, 0, 0)];
    let found = of.standstill(&How::default()).unwrap();
    let wait = &found.waits[0];
    assert_eq!((wait.messages, wait.messages_there), (2, 1));
    assert_eq!(wait.need, Some(from(1, 1)));
    assert_eq!(wait.whom, Whom::Ranks(vec![1]));
    assert_eq!(found.cycle(), None);
    assert_eq!(found.chain(0), [0, 1]);
}

/// 6.1, example 6.27: two operations on two communicators in different orders.
#[test]
fn operations_in_different_orders_wait_for_each_other() {
    let on = |identity| blocked(vec![Need::Collective { identity, number: 1, root: None }]);
    let mut of = picture(vec![on(1), on(2)]);
    for (identity, rank) in [(1, 0), (2, 1)] {
        of.members.insert(identity, vec![0, 1]);
        let operation = Operation { root_is_here: false, expected: 2, come: vec![rank] };
        of.operations.insert((identity, 1), operation);
    }
    let found = of.standstill(&How::default()).unwrap();
    assert_eq!(found.cycle(), Some(vec![0, 1]));
}

/// 6.3: nobody leaves a barrier before all have come.
#[test]
fn a_barrier_needs_each_member() {
    let of = |last: Rank| operation(picture(vec![blocked(vec![all(1)]), running(), last]), 1, &[0]);
    assert_eq!(stuck(&of(running())), []);
    // The other one runs, but this one never comes.
    assert_eq!(stuck(&of(over())), [0]);
    assert_eq!(stuck(&of(blocked(vec![from(0, 0)]))), [0, 2]);
    let found = of(over()).standstill(&How::default()).unwrap();
    assert_eq!(found.waits[0].whom, Whom::Ranks(vec![1, 2]));
    // All have come, and the operation is not under way any more.
    assert_eq!(stuck(&picture(vec![blocked(vec![all(1)]), over()])), []);
}

/// 6.3: who is in it is not known of more than some ranks. Then anybody who can go on may be the one.
#[test]
fn where_members_are_not_known_anybody_may_come() {
    let mut of = operation(picture(vec![blocked(vec![all(1)]), running(), over()]), 1, &[0]);
    of.members.clear();
    assert_eq!(stuck(&of), []);
    of.ranks[1] = over();
    assert_eq!(stuck(&of), [0]);
}

/// 6.1: a process may leave as soon as its part is done. A broadcast needs its root.
#[test]
fn a_broadcast_needs_its_root() {
    let of = |first: Rank, last: Rank| {
        operation(picture(vec![first, blocked(vec![root(1, 0)]), last]), 1, &[1])
    };
    assert_eq!(stuck(&of(running(), over())), []);
    assert_eq!(stuck(&of(over(), running())), [1]);
    let mut with_root = of(over(), over());
    with_root.operations.get_mut(&(COMM, 1)).unwrap().root_is_here = true;
    assert_eq!(stuck(&with_root), []);
    // It has stood there for long, so its MPI waits for all.
    let strict = How { is_strict: true, polling: Vec::new() };
    assert_eq!(with_root.stuck(&strict), [1]);
    assert_eq!(of(running(), over()).stuck(&strict), []);
}

/// 6.1: a root that needs nobody's data may leave, and may not.
#[test]
fn who_needs_no_data_waits_only_where_nobody_comes() {
    let need = Need::Attendance { identity: COMM, number: 1 };
    let of = |other: Rank| operation(picture(vec![blocked(vec![need]), other]), 1, &[0]);
    let strict = How { is_strict: true, polling: Vec::new() };
    assert_eq!(stuck(&of(over())), [0]);
    let other = of(blocked(vec![from(0, 0)]));
    assert_eq!(stuck(&other), []);
    assert_eq!(other.stuck(&strict), [0, 1]);
    assert_eq!(of(running()).stuck(&strict), []);
}

/// 6.11: a scan needs those before.
#[test]
fn a_scan_needs_those_before() {
    let need = |rank| Need::Entered { identity: COMM, number: 1, rank };
    let with = |entered: &[u64]| {
        let first = Rank {
            entered: entered
                .iter()
                .map(|number| Entered { identity: COMM, number: *number, size: 2 })
                .collect(),
            ..over()
        };
        stuck(&picture(vec![first, blocked(vec![need(0)])]))
    };
    assert_eq!(with(&[]), [1]);
    assert_eq!(with(&[1]), []);
}

/// 12.5.3: who holds an exclusive lock excludes all, who holds a shared one excludes exclusive ones.
#[test]
fn locks_exclude() {
    let lock = |window, target, alone| Lock::new(window, target, alone);
    assert!(lock(1, Some(0), true).excludes(lock(1, Some(0), false)));
    assert!(lock(1, None, false).excludes(lock(1, Some(3), true)));
    assert!(!lock(1, Some(0), false).excludes(lock(1, Some(0), false)));
    assert!(!lock(1, Some(0), true).excludes(lock(1, Some(1), true)));
    assert!(!lock(1, Some(0), true).excludes(lock(2, Some(0), true)));
    // Two that each want what the other one has.
    let wants = |has: u64, wants: u64| Rank {
        locks: vec![lock(has, Some(0), true)],
        ..blocked(vec![Need::Unlocked(lock(wants, Some(0), true))])
    };
    let found = picture(vec![wants(1, 2), wants(2, 1)]).standstill(&How::default()).unwrap();
    assert_eq!(found.cycle(), Some(vec![0, 1]));
    let mut holder = running();
    holder.locks = vec![lock(1, Some(0), true)];
    assert_eq!(stuck(&picture(vec![holder, wants(2, 1)])), []);
}

/// 12.5.2: who starts an epoch waits for the post, who awaits its end for the completion.
#[test]
fn epochs_need_their_other_side() {
    let start = Need::Post { key: 5, count: 2, rank: 1 };
    let mut of = picture(vec![blocked(vec![start]), over()]);
    of.exposures = Some(BTreeMap::from([(5, 1)]));
    assert_eq!(stuck(&of), [0]);
    of.exposures = Some(BTreeMap::from([(5, 2)]));
    assert_eq!(stuck(&of), []);
    of.exposures = None;
    assert_eq!(stuck(&of), []);
}

/// 4.2: nobody else makes partitions ready.
#[test]
fn partitions_are_for_their_process() {
    let of = picture(vec![blocked(vec![Need::Unready]), running()]);
    let found = of.standstill(&How::default()).unwrap();
    assert_eq!(found.waits[0].whom, Whom::Itself);
}

/// 7.6.2: two groups meet.
#[test]
fn groups_meet() {
    let need = Need::OtherGroup { identity: COMM, number: 1 };
    let mut of = operation(picture(vec![blocked(vec![need]), over()]), 1, &[0]);
    assert_eq!(stuck(&of), []);
    of.members.insert(9, vec![1]);
    of.meetings.insert((COMM, 1), (9, 4));
    assert_eq!(stuck(&of), []);
    let operation = Operation { root_is_here: false, expected: 1, come: Vec::new() };
    of.operations.insert((9, 4), operation);
    assert_eq!(stuck(&of), [0]);
}

/// A rank that polls may do anything, unless it has polled for long.
#[test]
fn who_polls_counts_when_it_is_said() {
    let of = picture(vec![polling(vec![from(1, 0)]), blocked(vec![from(0, 0)])]);
    assert_eq!(stuck(&of), []);
    let how = How { is_strict: false, polling: vec![0] };
    let found = of.standstill(&how).unwrap();
    assert!(found.has_polling());
    assert_eq!(found.ranks().collect::<Vec<_>>(), [0, 1]);
    let nothing = picture(vec![polling(vec![Need::Nothing]), blocked(vec![from(0, 0)])]);
    assert_eq!(nothing.stuck(&how), []);
}

/// Ranks are judged when some looks in a row have shown the same, and more is said the longer they stand.
#[test]
fn looks_are_counted() {
    let mut patience = Patience::default();
    let mut rank = polling(vec![from(1, 0)]);
    let mut looks = Vec::new();
    for look in 0..=POLLS {
        let is_judged = patience.look(vec![(0, 3), (1, 8)], || false);
        assert_eq!(is_judged, look >= LOOKS, "look {look}");
        if is_judged {
            rank.polls = u64::from(look) * 2000;
            let now = Duration::from_millis(250) * look;
            let how = patience.how(now, &picture(vec![rank.clone(), over()]));
            assert_eq!(how.is_strict, look >= STRICT);
            looks.push(how.polling);
        }
    }
    assert_eq!(looks.pop(), Some(vec![0]));
    assert!(looks.iter().all(Vec::is_empty));
    assert!(patience.is_same(&[(0, 3), (1, 8)]));
    // One has gone on.
    assert!(!patience.look(vec![(0, 3), (1, 9)], || false));
    // Nobody waits.
    assert!(!patience.look(Vec::new(), || false));
    (0..LOOKS - 1).for_each(|_| assert!(!patience.look(Vec::new(), || true)));
    assert!(patience.look(Vec::new(), || true));
}

/// Who polls with pauses is not named.
#[test]
fn who_sleeps_between_polls_may_stop() {
    let mut patience = Patience::default();
    let mut rank = polling(vec![from(1, 0)]);
    for look in 0..=POLLS {
        if patience.look(vec![(0, 3)], || false) {
            rank.polls = u64::from(look) * 200;
            let now = Duration::from_millis(250) * look;
            let how = patience.how(now, &picture(vec![rank.clone(), over()]));
            assert_eq!(how.polling, []);
        }
    }
}

/// What hosts have written.
#[derive(Clone)]
struct Shared {
    own: u32,
    written: Rc<RefCell<BTreeMap<u32, Vec<u64>>>>,
    picture: Rc<RefCell<Vec<Picture>>>,
}

impl Board for Shared {
    fn own(&self) -> u32 {
        self.own
    }

    fn first(&self) -> u32 {
        0
    }

    fn count(&self) -> u32 {
        2
    }

    fn write(&mut self, words: &[u64]) {
        self.written.borrow_mut().insert(self.own, words.to_vec());
    }

    fn read(&self, host: u32) -> Option<Vec<u64>> {
        self.written.borrow().get(&host).cloned()
    }

    fn look(&self) -> Picture {
        self.picture.borrow()[self.own as usize].clone()
    }

    fn is_complete(&self) -> bool {
        true
    }
}

/// Some looks of two hosts, each of which sees its own rank of two. `change`: what happens before a look. What is found.
fn over_hosts(
    ranks: [Rank; 2],
    mut change: impl FnMut(usize, &mut Vec<Picture>),
) -> Option<Vec<u32>> {
    let [first, second] = ranks;
    let of_host = |ranks| Picture { hosts: vec![0, 1], ..picture(ranks) };
    let pictures = vec![of_host(vec![first, running()]), of_host(vec![running(), second])];
    let (written, picture) = (Rc::default(), Rc::new(RefCell::new(pictures)));
    let board = |own| Shared { own, written: Rc::clone(&written), picture: Rc::clone(&picture) };
    let mut boards = [board(0), board(1)];
    let mut exchanges = [Exchange::default(), Exchange::default()];
    for look in 0..8 {
        change(look, &mut picture.borrow_mut());
        for (board, exchange) in boards.iter_mut().zip(&mut exchanges) {
            let seen = board.look();
            if let Some((all, found)) = exchange.look(&seen, board) {
                assert!(all.is_of_all);
                assert_eq!(board.own, 0);
                return Some(found.ranks().collect());
            }
        }
    }
    None
}

/// 3.5, with the two on different hosts.
#[test]
fn hosts_are_judged_together() {
    let wait = |source| blocked(vec![from(source, 0)]);
    assert_eq!(over_hosts([wait(1), wait(0)], |_, _| ()), Some(vec![0, 1]));
    assert_eq!(over_hosts([wait(1), over()], |_, _| ()), Some(vec![0]));
    assert_eq!(over_hosts([wait(1), running()], |_, _| ()), None);
}

/// Whoever has gone on between the questions was not stuck.
#[test]
fn hosts_must_answer_the_same_twice() {
    let wait = |source| blocked(vec![from(source, 0)]);
    let goes_on = |_: usize, pictures: &mut Vec<Picture>| pictures[1].ranks[1].sequence += 2;
    assert_eq!(over_hosts([wait(1), wait(0)], goes_on), None);
}

/// A record that was sent and not taken may be of the message that somebody waits for.
#[test]
fn records_under_way_are_waited_for() {
    let wait = |source| blocked(vec![from(source, 0)]);
    let sender = Rank { sent: 1, ..wait(0) };
    assert_eq!(over_hosts([wait(1), sender.clone()], |_, _| ()), None);
    let taker = Rank { taken: 1, ..wait(1) };
    assert_eq!(over_hosts([taker, sender], |_, _| ()), Some(vec![0, 1]));
}

/// What one host writes, another one reads.
#[test]
fn needs_go_through_words() {
    let needs = [
        Need::Nothing,
        from(3, 5),
        from_anybody(0),
        Need::Message(Wanted { identity: 1, source: None, tag: None }),
        Need::Receiver { key: 9, target: 2 },
        all(4),
        root(4, 1),
        Need::Attendance { identity: 1, number: 2 },
        Need::Post { key: 1, count: 2, rank: 3 },
        Need::Completion { key: 1, count: 2, rank: 3 },
        Need::Entered { identity: 1, number: 2, rank: 3 },
        Need::Unlocked(Lock::new(1, None, true)),
        Need::Unlocked(Lock::new(1, Some(2), false)),
        Need::Unready,
        Need::OtherGroup { identity: 1, number: 2 },
    ];
    for need in needs {
        let (kind, words) = need.to_words();
        assert_eq!(Need::from_words(kind, words), need);
    }
}
