//! Panics that are caught leave nothing behind that others wait for, where all processes come to the end of what
//! they began. Right on any number of ranks. With an argument, the first process panics while all others wait for it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rmpi::{
    Active, Assertion, AttributeCopy, Communicator, Keyval, LockType, MpiOp, Passive, RmpiContext,
    RmpiResult, Tag, UserOp, Window, window_scope,
};

const TAG: Tag = Tag::new(3);

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    if std::env::args().len() > 1 {
        assert!(rank != 0, "the first process panics alone");
        return world.process(0).recv(&mut 0_u8, TAG);
    }
    // What is said of these panics would look as if something had gone wrong.
    std::panic::set_hook(Box::new(|_| {}));
    requests(world)?;
    windows(world)?;
    objects(&context)?;
    let mut sum = 0;
    world.allreduce(&1, &mut sum, MpiOp::SUM)?;
    assert_eq!(sum, size);
    if rank == 0 {
        println!("panics: right on {size} ranks");
    }
    Ok(())
}

/// Runs what panics at its end.
fn panics<R>(f: impl FnOnce() -> RmpiResult<R>) {
    let result = catch_unwind(AssertUnwindSafe(f));
    assert!(result.is_err(), "it did not panic");
}

/// Panics on the first process alone.
fn panics_on_first<R>(world: &Communicator<'_>, f: impl FnOnce(bool) -> RmpiResult<R>) {
    let first = world.rank() == Ok(0);
    let result = catch_unwind(AssertUnwindSafe(|| f(first)));
    assert_eq!(result.is_err(), first);
}

fn requests(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = (world.process((rank + size - 1) % size), world.process((rank + 1) % size));
    let mine = [rank as u64 + 1; 1000];
    let theirs = [(rank + size - 1) as u64 % size as u64 + 1; 1000];

    let mut got = [0; 1000];
    panics(|| {
        rmpi::scope(|scope| -> RmpiResult {
            let _receive = left.irecv(scope, &mut got, TAG)?;
            // The inner scope ends before the outer one.
            rmpi::scope(|inner| -> RmpiResult {
                let _send = right.isend(inner, &mine, TAG)?;
                panic!("with a request in each scope")
            })
        })
    });
    assert_eq!(got, theirs, "the scopes waited");

    let mut got = [0; 1000];
    panics(|| {
        rmpi::scope(|scope| -> RmpiResult {
            let mut receive = left.recv_init(scope, &mut got, TAG)?;
            let mut send = right.send_init(scope, &mine, TAG)?;
            let _idle = right.send_init(scope, &mine, TAG)?;
            receive.start()?;
            send.start()?;
            panic!("with persistent requests")
        })
    });
    assert_eq!(got, theirs, "the scope waited for what was started");

    let (mut sum, one) = ([0; 4], [1_usize; 4]);
    panics_on_first(world, |first| {
        rmpi::scope(|scope| {
            let _sum = world.iallreduce(scope, &one, &mut sum, MpiOp::SUM)?;
            assert!(!first, "in a collective operation");
            Ok(())
        })
    });
    assert_eq!(sum, [size; 4]);

    // Nobody answers these, and nobody waits for them: their buffers are leaked.
    let unanswered = Tag::new(4);
    panics(|| -> RmpiResult {
        let _request = left.irecv_owned(vec![0_u8; 100], unanswered)?;
        panic!("with an owned request")
    });
    panics(|| -> RmpiResult {
        let _send = right.isend_owned(vec![7_u8; 100_000], TAG)?;
        panic!("with an owned request that is answered")
    });
    let mut got = vec![0_u8; 100_000];
    left.recv(&mut got, TAG)?;
    assert!(got.iter().all(|byte| *byte == 7), "the buffer was not freed");
    Ok(())
}

fn windows(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let next = (rank + 1) % size;
    let (seven, mut got) = ([7_u64; 4], [0; 4]);

    let mut window = Window::<u64, _>::allocate(world, 4, None, Active)?;
    window.local_mut().fill(5);
    panics_on_first(world, |first| {
        window.fence(Assertion::NONE, |epoch| {
            epoch.process(next).get(&mut got, 0)?;
            assert!(!first, "between fences");
            Ok(())
        })
    });
    assert_eq!(got, [5; 4], "the epoch ended");
    let everybody = world.group()?;
    panics_on_first(world, |first| {
        window.post(&everybody, Assertion::NONE, |exposure| {
            exposure.start(&everybody, Assertion::NONE, |epoch| {
                epoch.process(next).put(&seven, 0)?;
                assert!(!first, "between start and completion");
                Ok(())
            })
        })
    });
    assert_eq!(window.local(), seven, "both epochs ended");
    drop(window);

    let mut locked = Window::<u64, _>::allocate(world, 4, None, Passive)?;
    for lock_type in [LockType::Exclusive, LockType::Shared] {
        panics_on_first(world, |first| {
            locked.lock(lock_type, next, Assertion::NONE, |epoch| {
                epoch.target().put(&seven, 0)?;
                assert!(!first, "with a lock");
                Ok(())
            })
        });
    }
    world.barrier()?;
    panics_on_first(world, |first| {
        locked.lock_local(|memory| {
            assert_eq!(memory, [7; 4], "the epochs ended");
            assert!(!first, "with its own memory");
        })
    });
    panics_on_first(world, |first| {
        locked.lock_all(Assertion::NONE, |epoch| {
            let _request = epoch.process(next).rget(vec![0; 4], 0)?;
            epoch.flushed(next, |part| {
                part.target().get(&mut got, 0)?;
                assert!(!first, "in a part of an epoch");
                Ok(())
            })
        })
    });
    assert_eq!(got, seven, "the part was completed");
    world.barrier()?;
    drop(locked);

    let mut memory = [0_u64; 4];
    panics(|| {
        window_scope(|scope| -> RmpiResult {
            let mut window = Window::create(scope, world, &mut memory[..], None, Active)?;
            window.fence(Assertion::NONE, |epoch| epoch.process(next).put(&seven, 0))?;
            panic!("with a window over borrowed memory")
        })
    });
    assert_eq!(memory, seven);
    Ok(())
}

fn objects(context: &RmpiContext) -> RmpiResult {
    let world = context.world();
    panics(|| -> RmpiResult {
        let copy = world.dup()?;
        let key = Keyval::<u64>::new(context, AttributeCopy::Share)?;
        copy.set_attr(&key, 7.into())?;
        rmpi::scope(|scope| -> RmpiResult {
            let _copy = copy.idup(scope)?;
            panic!("with communicators and a key")
        })
    });
    /// Panics when it is dropped.
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("what a function keeps");
        }
    }
    // More than there are slots for.
    for _ in 0..100 {
        let bomb = Bomb;
        let op = UserOp::create(context, true, move |_: &[u8], _: &mut [u8]| {
            let _ = &bomb;
        })?;
        panics(|| op.free());
    }
    Ok(())
}
