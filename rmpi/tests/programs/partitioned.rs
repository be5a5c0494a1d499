//! Partitioned messages around a ring: parts made ready in any order and by several threads, other parts at the receiver,
//! what is refused, and what a drop in each state does. Right on any number of ranks.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use std::thread;

use rmpi::{
    Communicator, ErrorClass, MpiDatatype, Multiple, PartitionedCommunicator, RmpiResult, Tag,
};

const TAG: Tag = Tag::new(3);

fn main() -> RmpiResult {
    let context = rmpi::init_thread(Multiple)?;
    let world = context.world();
    let size = world.size()?;
    let ring = PartitionedCommunicator::new(world)?;
    match ring.psend_init(0, vec![0_u8], 1, TAG) {
        // Before MPI-4.
        Err(error) if error.class() == ErrorClass::UNSUPPORTED_OPERATION => {}
        prepared => {
            // A message from each to the first, which receives them all.
            let mut receives = Vec::new();
            if world.rank()? == 0 {
                for from in 0..size {
                    receives.push(ring.precv_init(from, vec![0_u8], 1, TAG)?);
                }
            }
            drop((prepared?, receives));
            orders(&ring)?;
            structures(&ring)?;
            threads(world, &ring)?;
            states(&ring)?;
            dropped(&ring)?;
            other_lengths(&ring)?;
            refusals(&ring)?;
            calls_between(world, &ring)?;
            refused_sender_starts(world, &ring)?;
        }
    }
    drop(ring);
    if world.rank()? == 0 {
        println!("partitioned: right on {size} ranks");
    }
    context.finalize()
}

/// The ranks to the left and to the right.
fn neighbours(ring: &PartitionedCommunicator<'_>) -> RmpiResult<(usize, usize)> {
    let (rank, size) = (ring.rank()?, ring.size()?);
    Ok(((rank + size - 1) % size, (rank + 1) % size))
}

/// What a process sends at an index in a step.
fn value(rank: usize, step: usize, index: usize) -> f64 {
    (rank * 1_000_000 + step * 10_000 + index) as f64
}

/// The parts in three orders, over many steps; short and long ones; in as many parts at the receiver, and in more.
fn orders(ring: &PartitionedCommunicator<'_>) -> RmpiResult {
    let rank = ring.rank()?;
    let (left, right) = neighbours(ring)?;
    for (length, there, here) in [(12, 6, 6), (12, 4, 6), (12, 6, 4), (48_000, 8, 8), (5, 1, 5)] {
        let mut send = ring.psend_init(right, vec![0.0; length], there, TAG)?;
        let mut receive = ring.precv_init(left, vec![0.0; length], here, TAG)?;
        for step in 0..6 {
            receive.start()?;
            send.start()?;
            let parts = send.partitions()?;
            assert_eq!(parts.len(), there);
            let mut order: Vec<usize> = (0..there).collect();
            match step % 3 {
                0 => order.reverse(),
                1 => order.rotate_left(there / 2),
                _ => {}
            }
            for number in &order {
                let mut part = parts.get(*number)?;
                assert_eq!(part.len(), length / there);
                for (index, place) in part.iter_mut().enumerate() {
                    *place = value(rank, step, number * (length / there) + index);
                }
                if step % 2 == 0 {
                    part.ready()?;
                }
            }
            if step == 1 {
                parts.ready_list(&order)?;
            } else if step % 2 == 1 {
                parts.ready_range(0..1)?;
                parts.ready_range(1..there)?;
            }
            // Each part, when it has come, has what was sent. Not all MPIs tell of each.
            let arrivals = receive.arrivals()?;
            for number in (0..here).rev() {
                let part = loop {
                    if let Some(part) = arrivals.get(number)? {
                        break part;
                    }
                };
                assert_eq!(part.len(), length / here);
                for (index, got) in part.iter().enumerate() {
                    assert_eq!(*got, value(left, step, number * (length / here) + index));
                }
            }
            if step == 4 {
                while !receive.test()? {}
                while !send.test()? {}
            } else {
                receive.wait()?;
                send.wait()?;
            }
            assert!(!send.is_active() && !receive.is_active());
            assert!(
                (0..length)
                    .all(|index| receive.buffer().unwrap()[index] == value(left, step, index))
            );
            assert_eq!(send.buffer()?[0], value(rank, step, 0));
        }
        assert_eq!(send.free()?.len(), length);
        assert_eq!(receive.free()?[0], value(left, 5, 0));
    }
    Ok(())
}

#[derive(Clone, Copy, Default, PartialEq, Debug, MpiDatatype)]
struct Particle {
    position: [f64; 3],
    charge: i64,
}

#[derive(Clone, Copy, Default, MpiDatatype)]
struct Padded {
    position: f64,
    charge: i8,
}

/// Structures, and arrays of elements. The second message of a pair of processes is another one than the first.
fn structures(ring: &PartitionedCommunicator<'_>) -> RmpiResult {
    let rank = ring.rank()?;
    let (left, right) = neighbours(ring)?;
    let particle = |rank: usize, number: usize| Particle {
        position: [rank as f64, number as f64, 0.5],
        charge: number as i64,
    };
    let particles = (0..10).map(|number| particle(rank, number)).collect();
    let mut send = ring.psend_init(right, particles, 5, TAG)?;
    let mut rows = ring.psend_init(right, vec![[rank as u16; 3]; 4], 2, TAG)?;
    let mut receive = ring.precv_init(left, vec![Particle::default(); 10], 2, TAG)?;
    let mut their_rows = ring.precv_init(left, vec![[0_u16; 3]; 4], 4, TAG)?;
    receive.start()?;
    their_rows.start()?;
    send.start()?;
    rows.start()?;
    rows.ready_all()?;
    send.ready_all()?;
    // The sends first: the receives are started, and need no call to go on.
    rows.wait()?;
    send.wait()?;
    their_rows.wait()?;
    receive.wait()?;
    assert!((0..10).all(|number| receive.buffer().unwrap()[number] == particle(left, number)));
    assert_eq!(their_rows.buffer()?, [[left as u16; 3]; 4]);
    let padded = vec![Padded::default(); 10];
    assert_eq!(class(ring.psend_init(right, padded.clone(), 2, TAG)), Some(ErrorClass::TYPE));
    assert_eq!(class(ring.precv_init(left, padded, 2, TAG)), Some(ErrorClass::TYPE));
    Ok(())
}

/// Threads fill parts and make them ready, and others wait for them; then threads only fill them.
fn threads(world: &Communicator<'_, Multiple>, ring: &PartitionedCommunicator<'_>) -> RmpiResult {
    let rank = ring.rank()?;
    let (left, right) = neighbours(ring)?;
    let mut send = ring.psend_init(right, vec![0.0; 4000], 8, TAG)?;
    let mut receive = ring.precv_init(left, vec![0.0; 4000], 8, TAG)?;
    let open_mpi = rmpi::get_library_version()?.contains("Open MPI");
    for step in 0..10 {
        receive.start()?;
        send.start()?;
        if open_mpi {
            // It loses partitions then, in C as well.
            let unsupported = Some(ErrorClass::UNSUPPORTED_OPERATION);
            assert_eq!(
                (class(send.share(world)), class(receive.share(world))),
                (unsupported, unsupported)
            );
            send.ready_all()?;
            receive.wait()?;
            send.wait()?;
            continue;
        }
        let (parts, arrivals) = (send.share(world)?, receive.share(world)?);
        thread::scope(|threads| {
            for thread in 0..2 {
                threads.spawn(move || {
                    for number in (thread..parts.len()).step_by(2) {
                        let mut part = parts.get(number).unwrap();
                        part.iter_mut().enumerate().for_each(|(index, place)| {
                            *place = value(rank, step, number * 500 + index);
                        });
                        part.ready().unwrap();
                    }
                });
                threads.spawn(move || {
                    for number in (thread..arrivals.len()).step_by(2) {
                        let part = loop {
                            match arrivals.get(number).unwrap() {
                                Some(part) => break part,
                                None => thread::yield_now(),
                            }
                        };
                        assert!(part.iter().enumerate().all(|(index, got)| {
                            *got == value(left, step, number * 500 + index)
                        }));
                    }
                });
            }
        });
        receive.wait()?;
        send.wait()?;
    }
    receive.start()?;
    send.start()?;
    let parts = send.partitions()?;
    let mut all: Vec<_> =
        (0..parts.len()).map(|number| parts.get(number)).collect::<RmpiResult<_>>()?;
    thread::scope(|threads| {
        for part in &mut all {
            let (number, values) = (part.number(), &mut **part);
            threads.spawn(move || values.fill(value(rank, 0, number)));
        }
    });
    for part in all {
        part.ready()?;
    }
    receive.wait()?;
    send.wait()?;
    assert!((0..4000).all(|index| receive.buffer().unwrap()[index] == value(left, 0, index / 500)));
    Ok(())
}

fn class<T>(result: RmpiResult<T>) -> Option<ErrorClass> {
    result.err().map(|error| error.class())
}

const REFUSED: Option<ErrorClass> = Some(ErrorClass::REQUEST);

/// What is refused in each state.
fn states(ring: &PartitionedCommunicator<'_>) -> RmpiResult {
    let (left, right) = neighbours(ring)?;
    let mut send = ring.psend_init(right, vec![1_i32; 6], 3, TAG)?;
    let mut receive = ring.precv_init(left, vec![0_i32; 6], 3, TAG)?;
    assert_eq!(class(send.partitions()), REFUSED);
    assert_eq!(class(receive.arrivals()), REFUSED);
    assert_eq!(class(send.wait()), REFUSED);
    assert_eq!(class(send.test()), REFUSED);
    assert_eq!(class(send.ready_all()), REFUSED);
    assert_eq!(class(receive.wait()), REFUSED);
    assert_eq!(class(receive.test()), REFUSED);
    send.buffer_mut()?[5] = 7;

    receive.start()?;
    send.start()?;
    assert_eq!(class(send.start()), REFUSED);
    assert_eq!(class(receive.start()), REFUSED);
    assert_eq!(class(send.buffer()), REFUSED);
    assert_eq!(class(send.buffer_mut()), REFUSED);
    assert_eq!(class(receive.buffer()), REFUSED);
    assert_eq!(class(receive.buffer_mut()), REFUSED);
    let parts = send.partitions()?;
    assert_eq!(class(parts.get(3)), Some(ErrorClass::ARG));
    assert_eq!(class(receive.arrivals()?.get(3)), Some(ErrorClass::ARG));
    let first = parts.get(0)?;
    assert_eq!(class(parts.get(0)), REFUSED, "it is taken");
    assert_eq!(class(parts.ready_range(0..3)), REFUSED, "it is taken");
    assert_eq!(class(parts.ready_list(&[1, 2, 1])), REFUSED, "one occurs twice");
    assert_eq!(class(parts.ready_range(1..4)), Some(ErrorClass::ARG));
    parts.ready_range(2..2)?;
    first.ready()?;
    assert_eq!(class(parts.get(0)), REFUSED, "it is ready");
    assert_eq!(class(parts.ready_list(&[0])), REFUSED, "it is ready");
    drop(parts.get(1)?);
    core::mem::forget(parts.get(1)?);
    assert_eq!(class(parts.get(1)), REFUSED, "it was forgotten");
    assert_eq!(class(send.wait()), REFUSED, "two parts are not ready");
    let parts = send.partitions()?;
    parts.get(1)?.fill(5);
    parts.ready_range(1..3)?;
    receive.wait()?;
    send.wait()?;
    assert_eq!(receive.buffer()?, [1, 1, 5, 5, 1, 7]);

    Ok(())
}

/// A send that is dropped goes as it is; a receive that is dropped has come; what was never started is freed.
fn dropped(ring: &PartitionedCommunicator<'_>) -> RmpiResult {
    let (left, right) = neighbours(ring)?;
    let mut send = ring.psend_init(right, vec![1_u8, 2, 3, 4], 4, TAG)?;
    let mut receive = ring.precv_init(left, vec![0_u8; 4], 2, TAG)?;
    receive.start()?;
    send.start()?;
    let parts = send.partitions()?;
    parts.get(2)?.ready()?;
    core::mem::forget(parts.get(0)?);
    drop(send);
    receive.wait()?;
    assert_eq!(receive.buffer()?, [1, 2, 3, 4]);
    drop(receive);

    let mut send = ring.psend_init(right, vec![1_u8; 400], 4, TAG)?;
    let mut receive = ring.precv_init(left, vec![0_u8; 400], 2, TAG)?;
    receive.start()?;
    send.start()?;
    send.ready_all()?;
    drop(receive);
    drop(send);

    let send = ring.psend_init(right, vec![1_u8; 400], 4, TAG)?;
    let receive = ring.precv_init(left, vec![0_u8; 400], 2, TAG)?;
    drop(receive);
    drop(send);
    Ok(())
}

/// A sender with more than the receiver, and with other elements: nothing is received, and nothing written behind.
fn other_lengths(ring: &PartitionedCommunicator<'_>) -> RmpiResult {
    let (left, right) = neighbours(ring)?;
    let longer = ring.psend_init(right, vec![1_u32; 4000], 2, TAG)?;
    let mut receive = ring.precv_init(left, vec![7_u32; 2], 2, TAG)?;
    // As many bytes.
    let bytes = ring.psend_init(right, vec![1_u8; 80], 2, TAG)?;
    let mut words = ring.precv_init(left, vec![7_u64; 10], 2, TAG)?;
    for _ in 0..2 {
        assert_eq!(class(receive.start()), Some(ErrorClass::TRUNCATE));
        assert_eq!(class(words.start()), Some(ErrorClass::TRUNCATE));
    }
    assert!(!receive.is_active());
    assert_eq!(receive.free()?, [7, 7]);
    assert_eq!(words.buffer()?, [7; 10]);
    drop((longer, bytes));
    Ok(())
}

/// Calls of MPI after a start, before the parts are ready: nothing is complete before they are, and the buffer is not
/// accessible before it is sent.
fn calls_between(
    world: &Communicator<'_, Multiple>,
    ring: &PartitionedCommunicator<'_>,
) -> RmpiResult {
    const PARTS: usize = 3;
    let (left, right) = neighbours(ring)?;
    for length in [1, 1000, 100_000] {
        let mut send = ring.psend_init(right, vec![0; PARTS * length], PARTS, TAG)?;
        let mut receive = ring.precv_init(left, vec![0; PARTS * length], PARTS, TAG)?;
        for step in 1..5 {
            send.start()?;
            receive.start()?;
            world.barrier()?;
            for number in 0..PARTS {
                for _ in 0..100 {
                    assert!(!send.test()?, "part {number} is not ready");
                }
                let mut part = send.partitions()?.get(number)?;
                part.fill(step);
                part.ready()?;
            }
            if step % 2 == 0 {
                while !send.test()? {}
            } else {
                send.wait()?;
            }
            send.buffer_mut()?.fill(-1);
            receive.wait()?;
            assert!(receive.buffer()?.iter().all(|value| *value == step), "step {step}");
        }
    }
    Ok(())
}

/// Receives that are refused, and one that is dropped before it starts, although their senders start: nothing is written to
/// their memory, nor behind it.
fn refused_sender_starts(
    world: &Communicator<'_, Multiple>,
    ring: &PartitionedCommunicator<'_>,
) -> RmpiResult {
    let (left, right) = neighbours(ring)?;
    let mut longer = ring.psend_init(right, vec![1_u8; 40_000], 4, TAG)?;
    let mut unused = ring.psend_init(right, vec![1_u8; 4000], 4, TAG)?;
    let mut short = ring.precv_init(left, vec![7_u8; 4000], 4, TAG)?;
    let dropped = ring.precv_init(left, vec![7_u8; 4000], 4, TAG)?;
    assert_eq!(class(short.start()), Some(ErrorClass::TRUNCATE));
    drop(dropped);
    // Where the memory was.
    let memory = vec![5_u8; 4000];
    longer.start()?;
    unused.start()?;
    longer.ready_all()?;
    unused.ready_all()?;
    for _ in 0..1000 {
        assert!(!(longer.test()? && unused.test()?), "nobody receives it");
        world.barrier()?;
    }
    assert_eq!(short.free()?, [7; 4000]);
    assert_eq!(memory, [5; 4000]);
    // They would wait.
    core::mem::forget((longer, unused));
    Ok(())
}

fn refusals(ring: &PartitionedCommunicator<'_>) -> RmpiResult {
    let size = ring.size()?;
    for parts in [0, 3, 20, usize::MAX] {
        assert_eq!(class(ring.psend_init(0, vec![0; 10], parts, TAG)), Some(ErrorClass::ARG));
        assert_eq!(class(ring.precv_init(0, vec![0; 10], parts, TAG)), Some(ErrorClass::ARG));
    }
    assert_eq!(class(ring.psend_init(0, Vec::<u8>::new(), 1, TAG)), Some(ErrorClass::ARG));
    assert_eq!(class(ring.psend_init(0, vec![[0_u8; 0]; 10], 2, TAG)), Some(ErrorClass::TYPE));
    let error = ring.psend_init(size, vec![0; 10], 2, TAG).map(drop).unwrap_err();
    assert_eq!((error.class(), error.function()), (ErrorClass::RANK, Some("MPI_Psend_init")));
    assert_eq!(class(ring.precv_init(size, vec![0; 10], 2, TAG)), Some(ErrorClass::RANK));
    Ok(())
}
