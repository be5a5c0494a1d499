//! Messages that say of which type they are: plain data as it lies in memory, and values of any type
//! that `serde` knows. Who expects another type learns of both. Right on any number of ranks.
//!
//! With the argument `typed`, no message is forged, so that the program is right for whoever checks its datatypes.

use std::collections::BTreeMap;

use rmpi::{MessageError, MessageResult, Tag, TypedCommunicator};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Work {
    Integrate { from: f64, to: f64, steps: u32 },
    Count(BTreeMap<String, u64>),
    Stop,
}

/// Another program's idea of it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Result {
    rank: usize,
    value: Option<f64>,
}

fn main() -> MessageResult {
    let context = rmpi::init()?;
    let world = TypedCommunicator::new(context.world())?;
    plain(&world)?;
    values(&world)?;
    other_types(&world)?;
    if std::env::args().all(|argument| argument != "typed") {
        raw(&world)?;
    }
    if world.rank()? == 0 {
        println!("typed messages: right on {} ranks", world.size()?);
    }
    Ok(())
}

/// The ranks to the left and to the right.
fn neighbours(world: &TypedCommunicator<'_>) -> MessageResult<(usize, usize)> {
    let (rank, size) = (world.rank()?, world.size()?);
    Ok(((rank + size - 1) % size, (rank + 1) % size))
}

fn plain(world: &TypedCommunicator<'_>) -> MessageResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let (to, from) = (world.process(right), world.process(left));
    // From a hundred bytes to a million, and nothing.
    for length in [0, 1, 13, 1000, 125_000] {
        let sent = to.isend_owned(vec![rank as f64; length])?;
        let (got, status) = from.recv_vec::<f64>()?;
        assert_eq!(got, vec![left as f64; length]);
        assert_eq!(status.source(), Some(left));
        assert_eq!(sent.wait()?.0.len(), length);

        let sent = to.isend_owned(vec![rank as i32; length].into_boxed_slice())?;
        let mut got = vec![-1; length + 1];
        let status = world.any_source().recv(&mut got)?;
        assert_eq!(status.get_count::<i32>()?, Some(length));
        assert_eq!((&got[..length], got[length]), (&vec![left as i32; length][..], -1));
        sent.wait()?;
    }
    // Pairs have padding, which does not travel.
    let pair = |rank| rmpi::DoubleInt { value: 0.5, index: rank as i32 };
    let sent = to.isend_owned(vec![pair(rank); 3])?;
    assert_eq!(from.recv_vec::<rmpi::DoubleInt>()?.0, vec![pair(left); 3]);
    sent.wait()?;
    // Arrays are their elements.
    let sent = to.isend_owned(vec![[rank as u16, 1, 2]; 4])?;
    assert_eq!(from.recv_vec::<u16>()?.0.len(), 12);
    sent.wait()?;
    if world.size()? > 1 {
        if rank == 0 {
            world.process(1).send(&[1_u8, 2, 3])?;
        } else if rank == 1 {
            let mut got = [0_u8; 3];
            world.process(0).recv(&mut got)?;
            assert_eq!(got, [1, 2, 3]);
        }
    }
    Ok(())
}

fn values(world: &TypedCommunicator<'_>) -> MessageResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let work = |rank: usize| {
        let count = (0..rank).map(|i| (format!("word {i}"), i as u64)).collect();
        [Work::Integrate { from: 0.0, to: rank as f64, steps: 100 }, Work::Count(count), Work::Stop]
    };
    for (mine, theirs) in work(rank).into_iter().zip(work(left)) {
        let sent = world.process(right).isend_value(&mine)?;
        assert_eq!(world.process(left).recv_value::<Work>()?.0, theirs);
        sent.wait()?;
    }
    // One waits for another's answers without knowing when they come.
    if rank == 0 {
        for _ in 1..world.size()? {
            let (result, status) = loop {
                if let Some(found) = world.any_source().try_recv_value::<Result>()? {
                    break found;
                }
            };
            assert_eq!(Some(result.rank), status.source());
            assert_eq!(result.value, (result.rank % 2 == 0).then_some(result.rank as f64));
        }
    } else {
        let value = (rank % 2 == 0).then_some(rank as f64);
        world.process(0).send_value(&Result { rank, value })?;
    }
    world.communicator().barrier()?;
    Ok(())
}

/// What was expected, and what came.
fn names<T: std::fmt::Debug>(result: MessageResult<T>) -> (String, String) {
    match result.unwrap_err() {
        MessageError::Type { expected, received } => (expected, received),
        other => panic!("{other}"),
    }
}

fn pair(expected: &str, received: &str) -> (String, String) {
    (expected.to_owned(), received.to_owned())
}

fn other_types(world: &TypedCommunicator<'_>) -> MessageResult {
    let me = world.process(world.rank()?);
    let mut untouched = [7.5_f64; 100];

    let sent = me.isend_owned(vec![1_i64; 100])?;
    assert_eq!(names(me.recv(&mut untouched)), pair("[f64]", "[i64]"));
    sent.wait()?;
    // The same bytes to MPI, and another type all the same.
    let sent = me.isend_owned(vec![1_u64; 3])?;
    assert_eq!(names(me.recv_vec::<usize>()), pair("[usize]", "[u64]"));
    sent.wait()?;
    let sent = me.isend_owned(vec![rmpi::Byte(1); 3])?;
    assert_eq!(names(me.recv_vec::<u8>()), pair("[u8]", "[Byte]"));
    sent.wait()?;
    let sent = me.isend_owned(vec![1_f32; 4])?;
    assert_eq!(names(me.recv_vec::<[f32; 3]>()), pair("[[f32; 3]]", "[f32]"));
    sent.wait()?;

    let sent = me.isend_value(&Work::Stop)?;
    assert_eq!(names(me.recv(&mut untouched)), pair("[f64]", "typed_messages::Work"));
    sent.wait()?;
    let sent = me.isend_value(&Work::Stop)?;
    let found = names(me.recv_value::<Result>());
    assert_eq!(found, pair("typed_messages::Result", "typed_messages::Work"));
    sent.wait()?;
    let sent = me.isend_owned(vec![1.0; 1000])?;
    assert_eq!(names(me.recv_value::<Work>()), pair("typed_messages::Work", "[f64]"));
    sent.wait()?;
    let error = MessageError::Type { expected: "[f64]".into(), received: "[i64]".into() };
    assert_eq!(error.to_string(), "a message of type [i64] came where [f64] was expected");

    let sent = me.isend_owned(vec![1.5; 101])?;
    let error = me.recv(&mut untouched).unwrap_err();
    assert_eq!(error, MessageError::Length { expected: 100, received: 101 });
    sent.wait()?;
    assert_eq!(untouched, [7.5; 100]);
    // Each of these is gone.
    assert!(world.communicator().any_source().iprobe(rmpi::AnyTag)?.is_none());
    Ok(())
}

/// What does not come from a typed communicator is not misread: bytes with the tags of other datatypes.
fn raw(world: &TypedCommunicator<'_>) -> MessageResult {
    let me = world.process(world.rank()?);
    let other = world.communicator().process(world.rank()?);
    // No tag of ours; that of serialised messages; those of elements.
    for tag in [0, 1, 2, 15, 16, 26, 1000] {
        for length in [0, 1, 3, 17, 10_000] {
            let sent = other.isend_owned(vec![0x5a_u8; length], Tag::new(tag))?;
            let error = me.recv_value::<Work>().unwrap_err();
            assert!(
                matches!(error, MessageError::Malformed { .. } | MessageError::Type { .. }),
                "{error}"
            );
            sent.wait()?;
            let sent = other.isend_owned(vec![0x5a_u8; length], Tag::new(tag))?;
            assert!(me.recv_vec::<i64>().is_err(), "{length} bytes with tag {tag}");
            sent.wait()?;
        }
    }
    let sent = other.isend_owned(vec![1_u8; 10], Tag::new(99))?;
    let error = me.recv_vec::<f64>().unwrap_err().to_string();
    assert_eq!(error, "a message came that is no [f64]: its tag, 99, is none of rmpi's");
    sent.wait()?;
    Ok(())
}
