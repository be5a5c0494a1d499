//! Programs that users wrote first in C or Python, each as a function. Right on any number of ranks.

use rmpi::{
    CBool, Communicator, Datatype, DatatypeRef, Exchange, MpiDatatype, RequestSlice, RmpiContext,
    RmpiResult, Tag, TypeDynamicBufferMut,
};

const TAG: Tag = Tag::new(0);

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    requests(world)?;
    structured(&context, world)?;
    counts(world)?;
    structures(world)?;
    any_order(world)?;
    if world.rank()? == 0 {
        println!("right on {} ranks", world.size()?);
    }
    Ok(())
}

/// Hundreds of sends and receives are complete in any order, and tell of which kind they are.
fn requests(world: &Communicator<'_>) -> RmpiResult {
    const COUNT: usize = 256;
    let (rank, size) = (world.rank()?, world.size()?);
    let before = (rank + size - 1) % size;
    let (next, previous) = (world.process((rank + 1) % size), world.process(before));
    let mut received = vec![0; COUNT];
    rmpi::scope(|scope| -> RmpiResult {
        let mut requests = Vec::new();
        for value in &mut received {
            requests.push(Some(Exchange::Outgoing(next.isend(scope, &rank, TAG)?)));
            requests.push(Some(Exchange::Incoming(previous.irecv(scope, value, TAG)?)));
        }
        let mut incoming = 0;
        while let Some(done) = RequestSlice::new(&mut requests).waitany()? {
            incoming += done.buffer.incoming().map_or(0, |value| usize::from(*value == before));
        }
        assert_eq!(incoming, COUNT);
        Ok(())
    })?;
    assert_eq!(received, [before; COUNT]);
    Ok(())
}

/// A structure whose order in memory is another one at the root.
fn structured(context: &RmpiContext, world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let int = DatatypeRef::of::<i32>(context)?;
    let reversed = Datatype::create_struct(context, &[1; 3], &[8, 4, 0], &[&int, &int, &int])?;
    let reversed = reversed.commit()?;
    let mut ints = if rank == 0 { [3, 2, 1] } else { [0; 3] };
    if rank == 0 {
        let buffer = TypeDynamicBufferMut::of_slice(&mut ints, 1, reversed.as_ref())?;
        world.process(0).bcast(buffer)?;
    } else {
        world.process(0).bcast(&mut ints)?;
    }
    assert_eq!(ints, if rank == 0 { [3, 2, 1] } else { [1, 2, 3] });
    Ok(())
}

/// As many numbers to each process, and back, as its rank says.
fn counts(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let root = world.process(0);
    let blocks: Vec<Vec<usize>> = (0..size).map(|rank| (0..rank).collect()).collect();
    let mine = root.scatterv_vec((rank == 0).then_some(&blocks[..]))?;
    assert_eq!(mine, (0..rank).collect::<Vec<_>>());
    assert_eq!(root.gatherv_vec(&mine)?, (rank == 0).then(|| blocks.concat()));
    Ok(())
}

/// A structure with a flag, a tuple and an array.
fn structures(world: &Communicator<'_>) -> RmpiResult {
    #[derive(Debug, Clone, Copy, Default, PartialEq, MpiDatatype)]
    struct State {
        is_last: CBool,
        ints: [i32; 4],
        pair: ([f32; 2], u8),
    }
    let (rank, size) = (world.rank()?, world.size()?);
    let sent = State { is_last: true.into(), ints: [1, -2, 3, -4], pair: ([-0.1, 0.1], 7) };
    let mut state = if rank == 0 { sent } else { State::default() };
    world.process(0).bcast(&mut state)?;
    assert_eq!(state, sent);
    let flags = world.allgatherv_vec(&[CBool::from(rank % 2 == 0)])?;
    assert!(flags.iter().enumerate().all(|(rank, flag)| bool::from(*flag) == (rank % 2 == 0)));
    assert_eq!(flags.len(), size);
    Ok(())
}

/// Synchronous sends are complete when their receivers have begun, in any order.
fn any_order(world: &Communicator<'_>) -> RmpiResult {
    let mut received = 0.0;
    rmpi::scope(|scope| -> RmpiResult {
        if world.rank()? > 0 {
            world.any_source().irecv(scope, &mut received, TAG)?;
            return Ok(());
        }
        let mut requests = Vec::new();
        for rank in 1..world.size()? {
            requests.push(Some(world.process(rank).issend(scope, &1.5, TAG)?));
        }
        let mut complete = 0;
        while RequestSlice::new(&mut requests).waitany()?.is_some() {
            complete += 1;
        }
        assert_eq!(complete, requests.len());
        Ok(())
    })?;
    assert_eq!(received, if world.rank()? == 0 { 0.0 } else { 1.5 });
    Ok(())
}
