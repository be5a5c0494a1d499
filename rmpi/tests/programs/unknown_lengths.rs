//! Messages whose length the receiver does not know. Right on any number of ranks.

use std::collections::BTreeMap;

use rmpi::{AnyTag, Communicator, ErrorClass, MpiDatatype, RmpiResult, Tag};

#[derive(Debug, Clone, Copy, Default, PartialEq, MpiDatatype)]
struct Particle {
    position: [f64; 3],
    charge: i8,
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    around(world)?;
    of_anybody(world)?;
    nobody(world)?;
    parts_of_elements(world)?;
    if world.rank()? == 0 {
        println!("unknown_lengths: right on {} ranks", world.size()?);
    }
    Ok(())
}

fn particle(number: usize) -> Particle {
    Particle { position: [number as f64, 0.5, -1.0], charge: number as i8 }
}

/// Each process sends as many elements as its rank says, of several types, to the next one.
fn around(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let before = (rank + size - 1) % size;
    let (left, right) = (world.process(before), world.process((rank + 1) % size));
    let numbers: Vec<f64> = (0..rank).map(|n| n as f64).collect();
    let particles: Vec<Particle> = (0..1000 * rank).map(particle).collect();
    let triples = vec![[rank as i32, 2, 3]; rank + 1];
    let pairs = vec![(rank as u8, 1.5_f64, -(rank as i16)); 10 * rank];
    rmpi::scope(|scope| -> RmpiResult {
        right.isend(scope, &numbers, Tag::new(0))?;
        right.isend(scope, &particles, Tag::new(1))?;
        right.isend(scope, &triples, Tag::new(2))?;
        right.isend(scope, &pairs, Tag::new(3))?;
        let (came, status) = left.receive_vec::<f64>(Tag::new(0))?;
        assert_eq!(came, (0..before).map(|n| n as f64).collect::<Vec<_>>());
        assert_eq!((status.source(), status.tag()), (Some(before), Some(Tag::new(0))));
        assert_eq!(status.get_count::<f64>()?, Some(before));
        // Not in the order in which they were sent.
        let (came, _) = left.receive_vec::<(u8, f64, i16)>(Tag::new(3))?;
        assert_eq!(came, vec![(before as u8, 1.5, -(before as i16)); 10 * before]);
        let (came, _) = left.receive_vec::<[i32; 3]>(Tag::new(2))?;
        assert_eq!(came, vec![[before as i32, 2, 3]; before + 1]);
        let (came, _) = left.receive_vec::<Particle>(Tag::new(1))?;
        assert_eq!(came, (0..1000 * before).map(particle).collect::<Vec<_>>());
        Ok(())
    })
}

/// The first process takes what comes, of whom it comes.
fn of_anybody(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let sent = world.process(0).isend_owned(vec![rank as u64; 3 * rank + 1], Tag::new(7))?;
    if rank == 0 {
        let mut came = BTreeMap::new();
        while came.len() < size {
            // Half of them without waiting.
            let found = if came.len() % 2 == 0 {
                world.any_source().try_receive_vec::<u64>(Tag::new(7))?
            } else {
                Some(world.any_source().receive_vec::<u64>(AnyTag)?)
            };
            let Some((numbers, status)) = found else { continue };
            assert_eq!(status.tag(), Some(Tag::new(7)));
            assert!(came.insert(status.source(), numbers).is_none());
        }
        for of in 0..size {
            assert_eq!(came[&Some(of)], vec![of as u64; 3 * of + 1]);
        }
        assert!(world.any_source().try_receive_vec::<u64>(AnyTag)?.is_none());
    }
    sent.wait()?;
    world.barrier()
}

/// What comes of no process is empty.
fn nobody(world: &Communicator<'_>) -> RmpiResult {
    let (came, status) = world.process_null().receive_vec::<Particle>(Tag::new(0))?;
    assert!(came.is_empty() && status.source().is_none());
    Ok(())
}

/// A message that is no whole number of elements is an error, and is gone.
fn parts_of_elements(world: &Communicator<'_>) -> RmpiResult {
    let myself = world.process(world.rank()?);
    let sent = myself.isend_owned(vec![1_u8; 9], Tag::new(0))?;
    let error = myself.receive_vec::<f64>(Tag::new(0)).unwrap_err();
    assert_eq!(error.class(), ErrorClass::TYPE);
    sent.wait()?;
    assert!(myself.try_receive_vec::<u8>(AnyTag)?.is_none());
    let wrong = world.process(world.size()?).receive_vec::<u8>(AnyTag).unwrap_err();
    assert_eq!(wrong.class(), ErrorClass::RANK);
    Ok(())
}
