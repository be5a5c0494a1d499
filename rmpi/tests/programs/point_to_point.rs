//! Every form of a send and a receive, around a ring. Right on any number of ranks.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use rmpi::{
    AnyTag, Communicator, ErrorClass, MpiDatatype, Request, RequestSlice, RmpiResult, Tag, Test,
};

#[derive(Debug, Clone, Copy, PartialEq, Default, MpiDatatype)]
struct Particle {
    charge: i8,
    position: [f64; 3],
    id: u32,
}

const TAG: Tag = Tag::new(11);

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    blocking(&context, world)?;
    values(world)?;
    probes(world)?;
    scopes(world)?;
    slices(world)?;
    owned(world)?;
    persistent(world)?;
    null(world)?;
    cancelled(world)?;
    if world.rank()? == 0 {
        println!("point-to-point: right on {} ranks", world.size()?);
    }
    context.finalize()
}

/// The ranks to the left and to the right.
fn neighbours(world: &Communicator<'_>) -> RmpiResult<(usize, usize)> {
    let (rank, size) = (world.rank()?, world.size()?);
    Ok(((rank + size - 1) % size, (rank + 1) % size))
}

fn blocking(context: &rmpi::RmpiContext, world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let (to, from) = (world.process(right), world.process(left));
    let mut got = [0_u64; 4];
    let mine = [rank as u64; 4];
    let wanted = [left as u64; 4];

    let status = to.sendrecv(&mine, TAG, &from, &mut got, TAG)?;
    assert_eq!(got, wanted);
    assert_eq!((status.source(), status.tag()), (Some(left), Some(TAG)));
    assert_eq!(status.get_count::<u64>()?, Some(4));
    assert_eq!(status.get_count::<[u64; 2]>()?, Some(2));
    assert_eq!(status.get_count::<[u64; 3]>()?, None);

    let mut both = mine;
    to.sendrecv_replace(&mut both, TAG, &from, AnyTag)?;
    assert_eq!(both, wanted);
    at_once(world)?;

    context.buffer_attach(vec![0; 1000 + rmpi::BSEND_OVERHEAD])?;
    to.bsend(&mine, TAG)?;
    got = [0; 4];
    world.any_source().recv(&mut got, TAG)?;
    assert_eq!(got, wanted);
    assert!(context.buffer_attach(vec![0; 10]).is_err(), "there is one already");
    assert_eq!(context.buffer_detach()?.len(), 1000 + rmpi::BSEND_OVERHEAD);

    // Blocking sends to itself would wait for ever.
    if world.size()? > 1 {
        for mode in 0..2 {
            if rank % 2 == 0 {
                if mode == 0 { to.send(&mine, TAG)? } else { to.ssend(&mine, TAG)? }
            }
            if left % 2 == 0 {
                from.recv(&mut got, TAG)?;
                assert_eq!(got, wanted);
            }
        }
    }
    Ok(())
}

/// Single values, arrays, vectors, a struct with padding, bool to u8, empty messages.
fn values(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let (to, from) = (world.process(right), world.process(left));
    let particle = |rank: usize| Particle {
        charge: -(rank as i8),
        position: [rank as f64, 0.5, -1.0],
        id: 7 + rank as u32,
    };
    let mine = vec![particle(rank); 3];
    let mut got = vec![Particle::default(); 5];
    let status = to.sendrecv(&mine, TAG, &from, &mut got, TAG)?;
    assert_eq!(status.get_count::<Particle>()?, Some(3));
    assert_eq!(status.get_elements::<Particle>()?, Some(3 * 5));
    assert_eq!(got[..3], vec![particle(left); 3]);
    assert_eq!(got[3..], vec![Particle::default(); 2]);

    let mut got = 0_i32;
    to.sendrecv(&(rank as i32), TAG, &from, &mut got, TAG)?;
    assert_eq!(got, left as i32);

    let mut got = [9_u8; 2];
    to.sendrecv(&[true, false], TAG, &from, &mut got, TAG)?;
    assert_eq!(got, [1, 0]);

    let status = to.sendrecv(rmpi::NullBuffer, TAG, &from, &mut [0_u8; 0], TAG)?;
    assert_eq!(status.get_count::<u8>()?, Some(0));
    Ok(())
}

fn probes(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let text = format!("from {rank}").into_bytes();
    let wanted = format!("from {left}").into_bytes();
    rmpi::scope(|scope| {
        for matched in [false, true] {
            let sent = world.process(right).isend(scope, &text, TAG)?;
            let source = world.any_source();
            let mut got = Vec::new();
            if matched {
                let (message, status) = loop {
                    if let Some(found) = source.improbe(AnyTag)? {
                        break found;
                    }
                };
                got.resize(status.get_count::<u8>()?.expect("bytes"), 0);
                assert_eq!(message.mrecv(&mut got)?.source(), Some(left));
            } else {
                while source.iprobe(TAG)?.is_none() {}
                let status = source.probe(TAG)?;
                got.resize(status.get_count::<u8>()?.expect("bytes"), 0);
                source.recv(&mut got, TAG)?;
            }
            assert_eq!(got, wanted);
            sent.wait()?;
        }
        Ok(())
    })
}

/// Buffers come back from `wait` and are used again; what is left is waited for.
fn scopes(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()? as i64;
    let (left, right) = neighbours(world)?;
    let (to, from) = (world.process(right), world.process(left));
    let mut mine = [rank, 0];
    let mut got = [0_i64; 2];
    rmpi::scope(|scope| {
        let (mut mine, mut got) = (&mut mine, &mut got);
        for round in 0..10 {
            mine[1] = round;
            let receive = from.irecv(scope, got, TAG)?;
            let send = to.issend(scope, mine, TAG)?;
            got = receive.wait()?;
            mine = send.wait()?;
            assert_eq!(*got, [left as i64, round]);
        }
        Ok::<_, rmpi::Error>(())
    })?;

    got = [0; 2];
    mine[1] = 99;
    rmpi::scope(|scope| {
        let receive = from.irecv(scope, &mut got, TAG)?;
        core::mem::forget(receive);
        let _dropped = to.isend(scope, &mine, TAG)?;
        Ok::<_, rmpi::Error>(())
    })?;
    assert_eq!(got, [left as i64, 99], "the scope waits for what was forgotten");
    Ok(())
}

fn slices(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mine = [rank as u16; 3];
    for way in 0..6 {
        let mut blocks = vec![[0_u16; 3]; size];
        rmpi::scope(|scope| {
            let mut receives: Vec<Option<Request<'_, &mut [u16; 3]>>> = Vec::new();
            let mut sends = Vec::new();
            for (other, block) in blocks.iter_mut().enumerate() {
                receives.push(Some(world.process(other).irecv(scope, block, TAG)?));
            }
            for other in 0..size {
                sends.push(Some(world.process(other).isend(scope, &mine, TAG)?.without_buffer()));
            }
            let mut slice = RequestSlice::new(&mut receives);
            let mut done = 0;
            let check = |completed: &rmpi::Completed<&mut [u16; 3]>| {
                assert_eq!(completed.status.source(), Some(completed.index));
                assert_eq!(*completed.buffer, [completed.index as u16; 3]);
            };
            while done < size {
                match way {
                    0 => {
                        slice.waitall()?;
                        done = size;
                    }
                    1 => {
                        let all = slice.waitall_status()?;
                        all.iter().for_each(check);
                        done = all.len();
                    }
                    2 => {
                        check(&slice.waitany()?.expect("one is left"));
                        done += 1;
                    }
                    3 => {
                        let some = slice.waitsome()?;
                        some.iter().for_each(check);
                        done += some.len();
                    }
                    4 => match slice.testany()? {
                        Some(Some(completed)) => {
                            check(&completed);
                            done += 1;
                        }
                        Some(None) => panic!("one is left"),
                        None => {}
                    },
                    _ => {
                        let some = slice.testsome()?;
                        some.iter().for_each(check);
                        done += some.len();
                    }
                }
            }
            assert!(slice.waitany()?.is_none(), "none is left");
            assert!(slice.waitsome()?.is_empty());
            assert!(receives.iter().all(Option::is_none));
            while RequestSlice::new(&mut sends).testall()?.is_none() {}
            Ok::<_, rmpi::Error>(())
        })?;
        for (other, block) in blocks.iter().enumerate() {
            assert_eq!(*block, [other as u16; 3], "way {way}");
        }
    }
    Ok(())
}

fn owned(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let send = world.process(right).isend_owned(vec![rank; 1000], TAG)?;
    let mut receive = world.process(left).irecv_owned(vec![0_usize; 1000], TAG)?;
    let (got, status) = loop {
        match receive.test()? {
            Test::Complete(done) => break done,
            Test::Pending(still) => receive = still,
        }
    };
    assert_eq!(status.get_count::<usize>()?, Some(1000));
    assert_eq!(got, vec![left; 1000]);
    assert_eq!(send.wait()?.0, vec![rank; 1000]);
    Ok(())
}

fn persistent(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let mut got = [0_usize; 2];
    rmpi::scope(|scope| {
        let mut send = world.process(right).send_init(scope, vec![rank, 0], TAG)?;
        let mut receive = world.process(left).recv_init(scope, &mut got[..], TAG)?;
        for round in 0..5 {
            send.buffer_mut().expect("not started")[1] = round;
            receive.start()?;
            assert!(receive.start().is_err(), "it is started");
            assert!(receive.buffer().is_none(), "MPI has it");
            send.start()?;
            let status = receive.wait()?;
            assert_eq!(status.source(), Some(left));
            assert_eq!(receive.buffer(), Some(&[left, round][..]));
            while send.test()?.is_none() {}
        }
        assert_eq!(send.free()?, vec![rank, 4]);
        receive.start()?;
        world.process(right).send(&[7_usize, 8], TAG)?;
        // Left as it is: the scope waits for it and frees it.
        Ok::<_, rmpi::Error>(())
    })?;
    assert_eq!(got, [7, 8]);
    Ok(())
}

fn null(world: &Communicator<'_>) -> RmpiResult {
    let nobody = world.process_null();
    nobody.send(&[1.0], TAG)?;
    let mut untouched = [2.5];
    let status = nobody.recv_status(&mut untouched, AnyTag)?;
    assert_eq!((status.source(), status.get_count::<f64>()?), (None, Some(0)));
    assert_eq!(untouched, [2.5]);
    Ok(())
}

fn cancelled(world: &Communicator<'_>) -> RmpiResult {
    let mut nothing = [0.5];
    rmpi::scope(|scope| {
        let mut request = world.any_source().irecv(scope, &mut nothing, Tag::new(12))?;
        request.cancel()?;
        let (_, status) = request.wait_status()?;
        assert!(status.test_cancelled()?);
        Ok(())
    })
}

/// A send and a receive in one operation that does not block, where MPI has it.
fn at_once(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let (to, from) = (world.process(right), world.process(left));
    let (mine, mut got) = ([rank as u64; 4], [0_u64; 6]);
    let mut both = [rank as i16; 3000];
    rmpi::scope(|scope| -> RmpiResult {
        let request = match to.isendrecv(scope, &mine, TAG, &from, &mut got, AnyTag) {
            Err(error) if error.class() == ErrorClass::UNSUPPORTED_OPERATION => return Ok(()),
            request => request?,
        };
        let mut replace = to.isendrecv_replace(scope, &mut both, TAG, &from, TAG)?;
        assert_eq!(replace.cancel().unwrap_err().class(), ErrorClass::REQUEST);
        let ((sent, received), status) = request.wait_status()?;
        assert_eq!((sent, &received[..4], received[5]), (&mine, &[left as u64; 4][..], 0));
        assert_eq!(status.get_count::<u64>()?, Some(4));
        assert_eq!(replace.wait()?, &[left as i16; 3000]);
        // One of them may be nobody.
        let nobody = world.process_null();
        to.isendrecv(scope, &mine, TAG, &nobody, rmpi::NullBuffer, TAG)?;
        let mut got = [0_u64; 4];
        rmpi::scope(|inner| {
            nobody.isendrecv(inner, rmpi::NullBuffer, TAG, &from, &mut got, TAG)?.wait().map(drop)
        })?;
        assert_eq!(got, [left as u64; 4]);
        let copy = world.dup()?;
        let other = rmpi::scope(|inner| {
            to.isendrecv(inner, &mine, TAG, &copy.process(left), &mut got, TAG).map(drop)
        });
        assert_eq!(other.unwrap_err().class(), ErrorClass::COMM);
        Ok(())
    })
}
