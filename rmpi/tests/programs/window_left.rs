//! One process leaves a window, by an error, while the others begin an epoch in which they write to its memory. They
//! may wait for ever, and so may it: the test ends the program then. But nobody writes to memory that was given back.
//! With `scope`, the memory is borrowed; with `hints`, the process changes hints, which is no epoch of its own.

use rmpi::{
    Active, AnyTag, Assertion, Communicator, Info, LockType, MpiOp, RmpiResult, Tag, Window,
    window_scope,
};

const LENGTH: usize = 1000;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    match std::env::args().nth(1).as_deref() {
        Some("scope") => scope(world),
        Some("hints") => hints(world),
        _ => together(world),
    }
}

/// All leave it at once.
fn together(world: &Communicator<'_>) -> RmpiResult {
    let size = world.size()?;
    let mut memory = vec![0; LENGTH];
    let result = window_scope(|scope| -> RmpiResult {
        let mut window = Window::create(scope, world, &mut memory[..], None, Active)?;
        let ones = [1_u64; LENGTH];
        window.fence(Assertion::NONE, |epoch| epoch.process(0).put(&ones, 0))?;
        world.process(size).send(&1, Tag::new(0))
    });
    assert!(result.is_err());
    assert_eq!(memory[0], u64::from(world.rank()? == 0));
    let mut sum = 0;
    world.allreduce(&1, &mut sum, MpiOp::SUM)?;
    // And with locks, in memory of MPI's.
    let window = Window::<u64, _>::allocate(world, 1, None, rmpi::Passive)?;
    let mut window = window;
    window.lock(LockType::Shared, 0, Assertion::NONE, |_| Ok(()))?;
    drop(window);
    assert_eq!(sum, size);
    if world.rank()? == 0 {
        println!("right on {size} ranks");
    }
    Ok(())
}

/// Looks at memory for a while, in which MPI goes on.
fn watch(world: &Communicator<'_>, memory: &[u64]) -> RmpiResult {
    for _ in 0..20_000 {
        world.any_source().iprobe(AnyTag)?;
    }
    let changed = std::hint::black_box(memory).iter().filter(|word| **word != 0).count();
    println!("rank {}: {changed} words changed", world.rank()?);
    Ok(())
}

fn scope(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut memory = vec![0; LENGTH];
    let result = window_scope(|scope| -> RmpiResult {
        let mut window = Window::create(scope, world, &mut memory[..], None, Active)?;
        if rank == 0 {
            world.process(size).send(&1, Tag::new(0))?;
        }
        let ones = [1; LENGTH];
        println!("rank {rank} begins an epoch");
        window.fence(Assertion::NONE, |epoch| epoch.process(0).put(&ones, 0))
    });
    if rank == 0 {
        assert!(result.is_err());
        watch(world, &memory)?;
    }
    world.barrier()
}

fn hints(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let mut window = Window::<u64, _>::allocate(world, LENGTH, None, Active)?;
    if rank == 0 {
        window.set_info(&Info::new(world)?)?;
        return watch(world, window.local());
    }
    let ones = [1; LENGTH];
    println!("rank {rank} begins an epoch");
    window.fence(Assertion::NONE, |epoch| epoch.process(0).put(&ones, 0))
}
