//! `MPI_THREAD_MULTIPLE`: four threads a rank, each with a communicator of its own and all with one.
//! Right on any number of ranks.

use rmpi::{Communicator, Multiple, RmpiResult, Tag};

const THREADS: usize = 4;

fn main() -> RmpiResult {
    let context = rmpi::init_thread(Multiple)?;
    assert_eq!(context.query_thread()?, rmpi::Level::Multiple);
    let world = context.world();
    let own: Vec<Communicator<'_, Multiple>> =
        (0..THREADS).map(|_| Ok(context.share(world.dup()?))).collect::<RmpiResult<_>>()?;

    std::thread::scope(|threads| {
        for (number, mine) in own.iter().enumerate() {
            let context = &context;
            threads.spawn(move || {
                assert!(!context.is_thread_main().unwrap());
                ring(mine, Tag::new(0), number).unwrap();
                // One communicator for all: the tag tells the threads apart.
                ring(context.world(), Tag::new(number as u32), number).unwrap();
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
