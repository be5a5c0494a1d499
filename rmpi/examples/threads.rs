//! `MPI_THREAD_MULTIPLE`: four threads a rank, each with a communicator of its own and all with one.
//! Right on any number of ranks.

use rmpi::{Communicator, MessageResult, Multiple, RmpiResult, Tag, TypedCommunicator};

const THREADS: usize = 4;

fn main() -> RmpiResult {
    let context = rmpi::init_thread(Multiple)?;
    assert_eq!(context.query_thread()?, rmpi::Level::Multiple);
    let world = context.world();
    let own: Vec<Communicator<'_, Multiple>> =
        (0..THREADS).map(|_| Ok(context.share(world.dup()?))).collect::<RmpiResult<_>>()?;

    let messages = TypedCommunicator::from_communicator(context.share(world.dup()?));

    std::thread::scope(|threads| {
        for (number, mine) in own.iter().enumerate() {
            let (context, messages) = (&context, &messages);
            threads.spawn(move || {
                assert!(!context.is_thread_main().unwrap());
                ring(mine, Tag::new(0), number).unwrap();
                // One communicator for all: the tag tells the threads apart.
                ring(context.world(), Tag::new(number as u32), number).unwrap();
                // Here nothing does: whose probe finds a message receives it.
                stream(messages, number).unwrap();
            });
        }
    });
    if world.rank()? == 0 {
        println!("threads: right on {} ranks", world.size()?);
    }
    Ok(())
}

fn ring(communicator: &Communicator<'_>, tag: Tag, number: usize) -> RmpiResult {
    let (rank, size) = (communicator.rank()?, communicator.size()?);
    let left = communicator.process((rank + size - 1) % size);
    let right = communicator.process((rank + 1) % size);
    for round in 0..100 {
        let mine = [rank, number, round];
        let mut got = [0; 3];
        rmpi::scope(|scope| {
            let receive = left.irecv(scope, &mut got, tag)?;
            right.isend(scope, &mine, tag)?.wait()?;
            receive.wait()
        })?;
        assert_eq!(got, [left.rank().unwrap(), number, round]);
    }
    Ok(())
}

/// All threads send to the right and receive from the left, by one communicator: lengths that differ, and
/// values of one length a message.
fn stream(messages: &TypedCommunicator<'_>, number: usize) -> MessageResult {
    let (rank, size) = (messages.rank()?, messages.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for round in 0..50 {
        let length = 1 + 100 * number + 40 * round;
        let sent =
            messages.process(right).isend_owned(vec![(rank * 10_000 + length) as u64; length])?;
        let (got, _) = messages.process(left).recv_vec::<u64>()?;
        assert!(got.iter().all(|&value| value == (left * 10_000 + got.len()) as u64));
        sent.wait()?;
    }
    Ok(())
}
