//! Collective operations on values of any type that `serde` knows. Right on any number of ranks.

use std::collections::BTreeMap;

use rmpi::{AnyTag, ErrorClass, Format, MessageError, MessageResult, Tag, TypedCommunicator};
use serde::de::DeserializeOwned;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

type Dictionary = BTreeMap<String, Vec<Option<f64>>>;

/// A value that some processes cannot send.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Stubborn(bool);

impl Serialize for Stubborn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 {
            Err(S::Error::custom("it does not want to"))
        } else {
            serializer.serialize_newtype_struct("Stubborn", &false)
        }
    }
}

fn main() -> MessageResult {
    let context = rmpi::init()?;
    let world = TypedCommunicator::new(context.world())?;
    rooted(&world)?;
    to_all(&world)?;
    reductions(&world)?;
    beside_messages(&world)?;
    no_values(&world)?;
    other_types(&world)?;
    let world = other_format(world)?;
    let size = world.size()?;
    let is_first = world.rank()? == 0;
    // Also in halves, of which each reduces on its own.
    let color = Some(world.rank()? as u32 % 2);
    let half = world.into_communicator().split(color, 0)?.expect("a color was given");
    let half = TypedCommunicator::from_communicator(half);
    assert_eq!(half.allreduce_values(1_u32, |a, b| a + b)?, half.size()? as u32);
    drop(half.into_communicator());
    if is_first {
        println!("typed collectives: right on {size} ranks");
    }
    Ok(())
}

/// Of a rank; some are long, some are empty.
fn dictionary(rank: usize) -> Dictionary {
    (0..[0, 3, 1000][rank % 3])
        .map(|n| (format!("{rank}.{n}"), vec![Some(n as f64), None]))
        .collect()
}

fn rooted(world: &TypedCommunicator<'_>) -> MessageResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let all: Vec<_> = (0..size).map(dictionary).collect();
    for root in 0..size {
        let mine = (rank == root).then(|| dictionary(root + 1));
        assert_eq!(world.broadcast_value(root, mine.as_ref())?, dictionary(root + 1));
        // What the others give is not used.
        assert_eq!(world.broadcast_value(root, Some(&dictionary(rank)))?, dictionary(root));
        let gathered = world.gather_values(root, &dictionary(rank))?;
        assert_eq!(gathered, (rank == root).then(|| all.clone()));
        let values = (rank == root).then_some(&all[..]);
        assert_eq!(world.scatter_values(root, values)?, dictionary(rank));
    }
    // A value whose serialised form has no bytes.
    world.broadcast_value(0, Some(&()))?;
    assert_eq!(world.allgather_values(&())?.len(), size);
    Ok(())
}

fn to_all(world: &TypedCommunicator<'_>) -> MessageResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let all: Vec<_> = (0..size).map(dictionary).collect();
    assert_eq!(world.allgather_values(&dictionary(rank))?, all);
    let letters: Vec<String> = (0..size).map(|to| format!("{rank} to {to}")).collect();
    let expected: Vec<String> = (0..size).map(|from| format!("{from} to {rank}")).collect();
    assert_eq!(world.alltoall_values(&letters)?, expected);
    Ok(())
}

fn reductions(world: &TypedCommunicator<'_>) -> MessageResult {
    let (rank, size) = (world.rank()?, world.size()?);
    // To join texts is associative, and not commutative.
    let join = |a: String, b: String| a + "," + &b;
    let mine = format!("<{rank}>");
    let expected: Vec<String> = (0..size).map(|rank| format!("<{rank}>")).collect();
    let expected = expected.join(",");
    for root in 0..size {
        let joined = world.reduce_values(root, mine.clone(), join)?;
        assert_eq!(joined, (rank == root).then(|| expected.clone()));
    }
    assert_eq!(world.allreduce_values(mine, join)?, expected);
    // All together combine one time less than there are values.
    let mut calls = 0_usize;
    world.allreduce_values((), |(), ()| calls += 1)?;
    assert_eq!(world.allgather_values(&calls)?.iter().sum::<usize>(), size - 1);
    Ok(())
}

/// Messages that are on their way are not taken for parts of a reduction, nor those for messages.
fn beside_messages(world: &TypedCommunicator<'_>) -> MessageResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let sent = world.process((rank + 1) % size).isend_value(&format!("of {rank}"))?;
    let sum = world.allreduce_values(format!("{rank}"), |a, b| a + &b)?;
    assert_eq!(sum, (0..size).map(|rank| rank.to_string()).collect::<String>());
    let before = (rank + size - 1) % size;
    assert_eq!(world.any_source().recv_value::<String>()?.0, format!("of {before}"));
    sent.wait()?;
    Ok(())
}

/// What a process gets if another one had no value.
fn check<V: std::fmt::Debug>(result: MessageResult<V>, rank: usize, wrong: usize) {
    match result.unwrap_err() {
        MessageError::Unsendable { name, reason } => {
            assert_eq!((rank, name), (wrong, "typed_collectives::Stubborn"));
            assert!(!reason.is_empty());
        }
        error => {
            assert!(rank != wrong && error == MessageError::NoValue { rank: wrong }, "{error}");
        }
    }
}

/// A process that has no value gets an error, and so do those that need it. Nobody waits.
fn no_values(world: &TypedCommunicator<'_>) -> MessageResult {
    let (rank, size) = (world.rank()?, world.size()?);
    for wrong in 0..size {
        let mine = Stubborn(rank == wrong);
        check(world.broadcast_value(wrong, Some(&mine)), rank, wrong);
        check(world.allgather_values(&mine), rank, wrong);
        check(world.scatter_values(wrong, Some(&vec![mine.clone(); size])), rank, wrong);
        check(world.alltoall_values(&vec![mine.clone(); size]), rank, wrong);
        for root in 0..size {
            let gathered = world.gather_values(root, &mine);
            let reduced = world.reduce_values(root, mine.clone(), |a, _| a);
            if rank == root || rank == wrong {
                check(gathered, rank, wrong);
                // Of whom the root had nothing depends on the tree. Rank 0 sends its value only to another root.
                assert_eq!(reduced.is_err(), (wrong, root) != (0, 0));
            } else {
                assert_eq!(gathered, Ok(None));
                assert!(matches!(reduced, Ok(None) | Err(MessageError::NoValue { .. })));
            }
        }
        let reduced = world.allreduce_values(mine, |a, _| a);
        let is_of_no_value = |error: &MessageError| match error {
            MessageError::Unsendable { .. } => rank == wrong,
            MessageError::NoValue { .. } => rank != wrong,
            _ => false,
        };
        assert!(reduced.as_ref().is_err_and(is_of_no_value), "{reduced:?}");

        let refused = world.broadcast_value::<String>(wrong, None).unwrap_err();
        let class = |error| match error {
            MessageError::Mpi(error) => error.class(),
            error => panic!("{error}"),
        };
        if rank == wrong {
            assert_eq!(class(refused), ErrorClass::ARG);
            assert_eq!(
                class(world.scatter_values::<u8>(wrong, None).unwrap_err()),
                ErrorClass::COUNT
            );
            assert_eq!(
                class(world.alltoall_values(&vec![1_u8; size + 1]).unwrap_err()),
                ErrorClass::COUNT
            );
        } else {
            assert_eq!(refused, MessageError::NoValue { rank: wrong });
            assert_eq!(
                world.scatter_values::<u8>(wrong, None),
                Err(MessageError::NoValue { rank: wrong })
            );
            let error = world.alltoall_values(&vec![1_u8; size]).unwrap_err();
            assert_eq!(error, MessageError::NoValue { rank: wrong });
        }
    }
    let error = world.gather_values(size, &1).unwrap_err();
    assert!(matches!(error, MessageError::Mpi(error) if error.class() == ErrorClass::RANK));
    Ok(())
}

/// One process has another type than the others: who receives its value gets an error with both.
fn other_types(world: &TypedCommunicator<'_>) -> MessageResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let named = |error: MessageError, expected: &str, received: &str| {
        let (expected, received) = (expected.to_owned(), received.to_owned());
        assert_eq!(error, MessageError::Type { expected, received });
    };
    if rank == 0 {
        let all = world.allgather_values(&1_i64);
        if size > 1 {
            named(all.unwrap_err(), "i64", "u64");
        }
        world.broadcast_value(0, Some(&1_i64))?;
        let reduced = world.reduce_values(0, 1_i64, |a, b| a + b);
        if size > 1 {
            named(reduced.unwrap_err(), "i64", "u64");
        }
    } else {
        named(world.allgather_values(&1_u64).unwrap_err(), "u64", "i64");
        named(world.broadcast_value::<u64>(0, None).unwrap_err(), "u64", "i64");
        assert_eq!(world.reduce_values(0, 1_u64, |a, b| a + b)?, None);
    }
    world.communicator().barrier()?;
    Ok(())
}

#[derive(Debug, Clone, Copy)]
struct Json;

impl Format for Json {
    const NAME: &'static str = "json";
    fn serialize<V: Serialize>(value: &V, message: &mut Vec<u8>) -> Result<(), String> {
        serde_json::to_writer(message, value).map_err(|error| error.to_string())
    }
    fn deserialize<V: DeserializeOwned>(bytes: &[u8]) -> Result<V, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

/// Everything that has values has them in the form of the communicator, and another form is an error.
fn other_format(world: TypedCommunicator<'_>) -> MessageResult<TypedCommunicator<'_>> {
    let (rank, size) = (world.rank()?, world.size()?);
    let sent = world.process(rank).isend_value(&"in postcard".to_owned())?;
    let (postcard, _) = world.communicator().any_source().receive_vec::<u8>(AnyTag)?;
    sent.wait()?;
    let world = world.with_format::<Json>();
    let bytes = world.communicator();
    let text = serde_json::json!({ "rank": rank, "of": [size] });
    let all = world.allgather_values(&text)?;
    assert_eq!(all[size - 1], serde_json::json!({ "rank": size - 1, "of": [size] }));
    let joined = world.allreduce_values(vec![rank], |mut a, b| {
        a.extend(b);
        a
    })?;
    assert!(joined.iter().copied().eq(0..size));
    let sent = bytes.process(rank).isend_owned(postcard, Tag::new(1))?;
    let other = world.process(rank).recv_value::<String>().unwrap_err();
    assert!(
        matches!(&other, MessageError::Type { received, .. } if received.contains("another format")),
        "{other}"
    );
    sent.wait()?;
    let sent = world.process((rank + 1) % size).isend_value(&7)?;
    // What is behind the header is what anybody would read.
    let (message, _) = bytes.any_source().receive_vec::<u8>(AnyTag)?;
    assert!(message.ends_with(b"i327"), "{message:?}");
    sent.wait()?;
    bytes.barrier()?;
    let sent = world.process((rank + 1) % size).isend_value(&7)?;
    assert_eq!(world.any_source().recv_value::<i32>()?.0, 7);
    sent.wait()?;
    bytes.barrier()?;
    Ok(world.with_format())
}
