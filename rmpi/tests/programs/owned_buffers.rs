//! Buffers that move into operations and come back: from a wait, a test, one of many, or under a
//! condition. Right on any number of ranks.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use std::sync::Arc;

use rmpi::{
    Communicator, ErrorClass, Exchange, Lent, OwnedPersistentRequest, Process, RequestSlice,
    RmpiResult, Tag,
};

const TAG: Tag = Tag::new(5);

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    containers(world)?;
    many(world)?;
    failed(world)?;
    conditional(world)?;
    conditional_borrowed(world)?;
    both_directions(world)?;
    steps(world)?;
    left_behind(world)?;
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

/// Sends and receives in one set of requests: the buffers of both come back, whichever is complete first.
fn both_directions(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let mine = [rank as u32; 20];
    let mut theirs = [[0_u32; 20]; 3];
    rmpi::scope(|scope| -> RmpiResult {
        let mut requests = Vec::new();
        for theirs in &mut theirs {
            let receive = world.process(left).irecv(scope, &mut theirs[..], TAG)?;
            requests.push(Some(Exchange::Incoming(receive)));
            let send = world.process(right).isend(scope, &mine, TAG)?;
            requests.push(Some(Exchange::Outgoing(send)));
        }
        let mut seen = Vec::new();
        while let Some(done) = RequestSlice::new(&mut requests).waitany()? {
            assert_eq!(done.index % 2 == 1, matches!(done.buffer, Exchange::Outgoing(_)));
            match done.buffer {
                Exchange::Outgoing(sent) => assert_eq!(sent, &mine),
                Exchange::Incoming(theirs) => {
                    assert_eq!(done.status.get_count::<u32>()?, Some(20));
                    assert_eq!(theirs, [left as u32; 20]);
                    // It is this process's again, while others are on their way.
                    theirs[0] = 77;
                }
            }
            seen.push(done.index);
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
        Ok(())
    })?;
    assert!(theirs.iter().all(|theirs| theirs[0] == 77 && theirs[19] == left as u32));

    // Of buffers that moved in, of two types; those that are dropped meanwhile are waited for.
    let sent = world.process(right).isend_owned(vec![1.5_f32; 4], TAG)?;
    let received = world.process(left).irecv_owned(vec![0.0_f32; 4].into_boxed_slice(), TAG)?;
    let mut requests = [Some(Exchange::Outgoing(sent)), Some(Exchange::Incoming(received))];
    let done = RequestSlice::new(&mut requests).waitall_status()?;
    assert_eq!(done.len(), 2);
    for done in done {
        match done.index {
            0 => assert_eq!(done.buffer.outgoing(), Some(vec![1.5; 4])),
            _ => assert_eq!(done.buffer.incoming().as_deref(), Some(&[1.5; 4][..])),
        }
    }
    Ok(())
}

/// What exchanges messages step after step, and keeps them.
struct Halo<'c> {
    messages: Vec<OwnedPersistentRequest<'c, Vec<usize>>>,
}

impl<'c> Halo<'c> {
    fn new(left: Process<'c>, right: Process<'c>) -> RmpiResult<Self> {
        let messages = vec![
            left.send_init_owned(vec![0; 50], Tag::new(0))?,
            right.ssend_init_owned(vec![0; 50], Tag::new(1))?,
            left.recv_init_owned(vec![0; 50], Tag::new(1))?,
            right.recv_init_owned(vec![0; 50], Tag::new(0))?,
        ];
        Ok(Self { messages })
    }

    fn begin(&mut self, number: usize) -> RmpiResult {
        for message in &mut self.messages[..2] {
            message.buffer_mut()?.fill(number);
        }
        OwnedPersistentRequest::startall(&mut self.messages)
    }
}

fn class<T>(result: RmpiResult<T>) -> Option<ErrorClass> {
    result.err().map(|error| error.class())
}

fn steps(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = neighbours(world)?;
    let mut halo = Halo::new(world.process(left), world.process(right))?;
    for step in 0..20 {
        // Moving it moves no memory that MPI uses.
        let mut moved = Box::new(halo);
        moved.begin(step * size + rank)?;
        for message in &mut moved.messages {
            assert!(message.is_active());
            assert_eq!(class(message.buffer()), Some(ErrorClass::REQUEST));
            assert_eq!(class(message.buffer_mut()), Some(ErrorClass::REQUEST));
            assert_eq!(class(message.start()), Some(ErrorClass::REQUEST));
        }
        halo = *moved;
        if step % 2 == 0 {
            OwnedPersistentRequest::waitall(&mut halo.messages)?;
        } else {
            let status = halo.messages[2].wait()?;
            assert_eq!((status.source(), status.tag()), (Some(left), Some(Tag::new(1))));
            while halo.messages[3].test()?.is_none() {}
            OwnedPersistentRequest::waitall(&mut halo.messages)?;
        }
        assert_eq!(halo.messages[2].buffer()?, [step * size + left; 50]);
        assert_eq!(halo.messages[3].buffer()?, [step * size + right; 50]);
        assert_eq!(class(halo.messages[0].wait()), Some(ErrorClass::REQUEST));
        assert_eq!(class(halo.messages[0].test()), Some(ErrorClass::REQUEST));
    }
    let buffers: Vec<_> = halo.messages.into_iter().map(OwnedPersistentRequest::free).collect();
    assert_eq!(buffers[2].as_ref().map(|buffer| buffer[49]), Ok(19 * size + left));
    Ok(())
}

/// Started and dropped, they are waited for, and so they are where they are refused to be freed. One that fails tells
/// it, and can be dropped.
fn left_behind(world: &Communicator<'_>) -> RmpiResult {
    let (left, right) = neighbours(world)?;
    let (left, right) = (world.process(left), world.process(right));
    let mut halo = Halo::new(left, right)?;
    halo.begin(1)?;
    drop(halo);
    let mut halo = Halo::new(left, right)?;
    halo.begin(2)?;
    // The receives before the sends that wait for them.
    halo.messages.drain(..).rev().for_each(drop);
    let mut sent = right.send_init_owned(vec![1_u8; 100], TAG)?;
    let mut short = left.recv_init_owned(vec![0_u8; 10], TAG)?;
    short.start()?;
    sent.start()?;
    // Open MPI does not always say that there was more.
    assert!(class(short.wait()).is_none_or(|class| class == ErrorClass::TRUNCATE));
    sent.wait()?;
    assert_eq!(class(sent.free().map(drop)), None);
    drop(short);
    let mut halo = Halo::new(left, right)?;
    halo.begin(3)?;
    let refused = halo.messages.remove(2).free();
    assert_eq!(class(refused), Some(ErrorClass::REQUEST));
    let nobody = world.process(world.size()?);
    assert_eq!(class(nobody.send_init_owned(vec![1], TAG)), Some(ErrorClass::RANK));
    OwnedPersistentRequest::waitall(&mut halo.messages)?;
    world.barrier()
}
