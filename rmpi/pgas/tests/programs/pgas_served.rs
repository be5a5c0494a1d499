//! Active messages that a thread handles, while the program does something else. Right on any number of ranks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmpi::{MpiDatatype, MpiOp, Multiple};
use rmpi_actors::Settings;
use rmpi_pgas::{ActiveMessage, Error, Here, Remote, serve};

/// What a thread has, and what its program can see of it.
struct State {
    count: u64,
    seen: Arc<AtomicU64>,
}

/// Adds to a process's count, and says how it was, and where.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Add(u64);

impl ActiveMessage<State> for Add {
    type Answer = [u64; 3];
    fn run(self, state: &mut State, here: Here) -> [u64; 3] {
        let before = state.count;
        state.count += self.0;
        state.seen.store(state.count, Ordering::Release);
        [before, here.rank as u64, here.sender as u64]
    }
}

fn main() -> Result<(), Error> {
    let context = rmpi::init_thread(Multiple)?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    for settings in [Settings::default(), Settings::default().buffer(1).away(1).receives(1)] {
        let seen = Arc::new(AtomicU64::new(0));
        let state = State { count: 0, seen: seen.clone() };
        let main = |remote: Remote<State, Add>| -> Result<Remote<State, Add>, Error> {
            assert_eq!((remote.rank(), remote.size()), (rank, size));
            let next = (rank + 1) % size;
            let [_, at, sender] = remote.call(next, Add(1))?.wait()?;
            assert_eq!((at, sender), (next as u64, rank as u64));
            // Here the program calls nothing, and waits for messages that only its thread can handle.
            while seen.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            // Collective operations of the program go on beside it.
            let mut sum = 0;
            world.allreduce(&1_u64, &mut sum, MpiOp::SUM)?;
            assert_eq!(sum, size as u64);
            // Several threads of the program, and answers that nobody waits for.
            std::thread::scope(|threads| {
                for thread in 0..3_usize {
                    let remote = remote.clone();
                    threads.spawn(move || {
                        let pending: Vec<_> = (0..50)
                            .map(|n| remote.call((n + thread) % size, Add(10)).unwrap())
                            .collect();
                        for (n, pending) in pending.into_iter().enumerate() {
                            if n % 3 > 0 {
                                let [_, at, _] = pending.wait().unwrap();
                                assert_eq!(at as usize, (n + thread) % size);
                            }
                        }
                    });
                }
            });
            (0..size).try_for_each(|to| remote.post(to, Add(1000)))?;
            assert!(remote.call(size, Add(0)).is_err());
            Ok(remote)
        };
        let (state, result) = serve(world, state, settings, main)?;
        // Nobody handles what comes too late.
        assert_eq!(result?.post(0, Add(1)), Err(Error::Ended));
        let mut sum = 0;
        world.allreduce(&state.count, &mut sum, MpiOp::SUM)?;
        assert_eq!(sum, (size * (1 + 3 * 50 * 10 + 1000 * size)) as u64);
        assert_eq!(state.count % 10, 1);
    }
    if rank == 0 {
        println!("served: right on {size} ranks");
    }
    Ok(())
}
