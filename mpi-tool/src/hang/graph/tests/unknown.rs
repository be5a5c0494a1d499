//! What nobody knows, and what is not judged.

use super::*;

/// Nobody is accused of what nobody knows.
#[test]
fn what_is_unknown_can_go_on() {
    let unknown = inside(MPI_Recv, What::Messages(vec![message(false, Who::Unknown, 0)]));
    assert_eq!(judge([unknown, finalizes()]).kind, Kind::Waiting);
    let full = State { knows_all: false, ..receives(0, 0) };
    assert_eq!(judge([collective(2, &[MPI_Barrier]), full]).kind, Kind::Waiting);
    let states = BTreeMap::from([(0, collective(2, &[MPI_Barrier]))]);
    let verdict = World::new(2, &states).judge();
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(1, Why::Missing)]));
}

/// Who waits for another world is named, and nobody is stuck: whether it comes is not known here.
#[test]
fn who_waits_for_another_world_is_named() {
    let far = Far { have_spawned: true, rank: Some(1), size: 2 };
    let waits = || inside(MPI_Recv, What::World(far));
    let verdict = judge([waits(), collective(2, &[MPI_Barrier])]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(0, Why::World(far))]));
    // A cycle beside it is one all the same.
    let verdict = judge([waits(), receives(2, 0), receives(1, 0)]);
    assert_eq!(culprits(&verdict), [(1, Why::Cycle), (2, Why::Cycle)]);
    let verdict = judge([waits(), receives(0, 0)]);
    assert_eq!((verdict.kind, culprits(&verdict)), (Kind::Waiting, vec![(0, Why::World(far))]));
}
