//! Buffers that move into operations and come back: from a wait, a test, one of many, or under a
//! condition. Right on any number of ranks.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use std::sync::Arc;

use rmpi::{Communicator, Lent, RequestSlice, RmpiResult, Tag};

const TAG: Tag = Tag::new(5);

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    containers(world)?;
    many(world)?;
    failed(world)?;
    conditional(world)?;
    conditional_borrowed(world)?;
    if world.rank()? == 0 {
        println!("owned buffers: right on {} ranks", world.size()?);
    }
    context.finalize()
}

/// The ranks to the left and to the right.
fn neighbours(world: &Communicator<'_>) -> RmpiResult<(usize, usize)> {
    let (rank, size) = (world.rank()?, world.size()?);
    Ok(((rank + size - 1) % size, (rank + 1) % size))
}

/// All that owns elements; and one memory for many sends at once.
fn containers(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let (to, from) = (world.process(right), world.process(left));

    let sent = to.isend_owned(vec![rank; 10].into_boxed_slice(), TAG)?;
    let (got, _) = from.irecv_owned(vec![0_usize; 10].into_boxed_slice(), TAG)?.wait()?;
    assert_eq!(*got, [left; 10]);
    assert_eq!(*sent.wait()?.0, [rank; 10]);

    let sent = to.isend_owned(Box::new(rank), TAG)?;
    assert_eq!(*from.irecv_owned(Box::new(0_usize), TAG)?.wait()?.0, left);
    sent.wait()?;

    let sent = to.isend_owned(format!("rank {rank:4}"), TAG)?;
    let (got, _) = from.irecv_owned(vec![0_u8; 9], TAG)?.wait()?;
    assert_eq!(got, format!("rank {left:4}").into_bytes());
    assert_eq!(sent.wait()?.0, format!("rank {rank:4}"));

    let shared: Arc<[usize]> = vec![rank; 1000].into();
    let mut sends = Vec::new();
    let mut receives = Vec::new();
    for other in 0..world.size()? {
        receives.push(Some(world.process(other).irecv_owned(vec![0_usize; 1000], TAG)?));
        sends.push(Some(world.process(other).isend_owned(Arc::clone(&shared), TAG)?));
    }
    for done in RequestSlice::new(&mut receives).waitall_status()? {
        assert_eq!(done.buffer, vec![done.index; 1000]);
    }
    RequestSlice::new(&mut sends).waitall()?;
    assert_eq!(Arc::strong_count(&shared), 1, "all came back");

    // Leaked, and never used by others; the message arrives all the same.
    core::mem::forget(to.isend_owned(vec![rank; 100], TAG)?);
    assert_eq!(from.irecv_owned(vec![0; 100], TAG)?.wait()?.0, vec![left; 100]);
    Ok(())
}

/// Any, some and all of a collection.
fn many(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    for way in 0..6 {
        let mut sends = Vec::new();
        let mut receives = Vec::new();
        for other in 0..size {
            receives.push(Some(world.process(other).irecv_owned(vec![0; 3], TAG)?));
            sends.push(Some(world.process(other).isend_owned(vec![rank, other, way], TAG)?));
        }
        let mut slice = RequestSlice::new(&mut receives);
        let mut seen = Vec::new();
        while seen.len() < size {
            match way {
                0 => seen.extend(slice.waitany()?),
                1 => seen.extend(slice.testany()?.flatten()),
                2 => seen.extend(slice.waitsome()?),
                3 => seen.extend(slice.testsome()?),
                4 => seen.extend(slice.testall()?.into_iter().flatten()),
                _ => seen.extend(slice.waitall_status()?),
            }
        }
        for done in seen {
            assert_eq!(done.buffer, [done.index, rank, way]);
            assert_eq!(done.status.source(), Some(done.index));
        }
        assert!(slice.waitany()?.is_none(), "none is left");
        assert!(receives.iter().all(Option::is_none));
        // Those that are dropped are waited for.
        drop(sends);
    }
    Ok(())
}

/// An operation that does not begin drops its buffer, and one that fails too.
fn failed(world: &Communicator<'_>) -> RmpiResult {
    let nowhere = world.process(world.size()?);
    let shared = Arc::new(vec![1.0; 10]);
    assert!(nowhere.isend_owned(Arc::clone(&shared), TAG).is_err());
    assert_eq!(Arc::strong_count(&shared), 1);

    let me = world.process(world.rank()?);
    let short = me.irecv_owned(vec![0_u8; 1], TAG)?;
    let long = me.isend_owned(vec![1_u8; 100], TAG)?;
    match short.wait() {
        Err(error) => assert_eq!(error.class(), rmpi::ErrorClass::TRUNCATE),
        // Open MPI does not say that there was more.
        Ok((got, _)) => assert_eq!(got, [1]),
    }
    long.wait()?;
    Ok(())
}

/// A send under a condition; later a wait under the same condition; the buffer in use before, between
/// as far as it is here, and after.
fn conditional(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut buffer = Lent::from(vec![rank as f64; 1000]);
    buffer.get_mut().expect("it is here")[0] = 42.0;
    if rank == 0 && size > 1 {
        buffer = buffer.lend(|buffer| world.process(1).isend_owned(buffer, TAG))?;
        assert!(buffer.get().is_none(), "MPI has it");
    } else if rank == 1 {
        buffer = buffer.lend(|buffer| world.process(0).irecv_owned(buffer, TAG))?;
    }
    // What everybody does meanwhile.
    let elsewhere: f64 = (0..1000).map(f64::from).sum();
    assert_eq!(elsewhere, 499_500.0);
    if rank == 1 {
        while buffer.get().is_none() {
            buffer = buffer.test()?;
        }
    }
    let (mut buffer, _status) = buffer.wait()?;
    assert_eq!(buffer[0], 42.0);
    assert_eq!(buffer[1], if rank == 1 { 0.0 } else { rank as f64 });
    buffer[1] = -1.0;
    Ok(())
}

/// The same with a borrowed buffer: what is not complete is an `Option`, and the scope gives the buffer back.
fn conditional_borrowed(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut buffer = vec![rank; 1000];
    rmpi::scope(|scope| {
        let mut request = None;
        if rank == 0 && size > 1 {
            request = Some(world.process(1).isend(scope, &buffer, TAG)?);
        } else if rank == 1 {
            assert_eq!(
                world.process(0).irecv_owned(vec![9_usize; 1000], TAG)?.wait()?.0,
                [0; 1000]
            );
        }
        // MPI only reads it: so may everybody.
        assert_eq!(buffer[0], rank);
        if let Some(request) = request {
            request.wait()?;
        }
        Ok::<_, rmpi::Error>(())
    })?;
    buffer[0] = 1;
    assert_eq!(buffer.len(), 1000);
    Ok(())
}
