//! Windows of each kind, and messages that are too long, between processes and from a process to itself, with
//! `multiple` at the highest level of threads: the test runs it over each of Open MPI's transports, with what rmpi sets
//! itself.

use rmpi::{
    Active, Assertion, Communicator, MpiDatatype, MpiOp, Multiple, RmpiResult, Tag, Window,
    window_scope,
};

fn main() -> RmpiResult {
    // Open MPI 4.1 has windows for one rank at this level only where there is a network.
    if std::env::args().any(|argument| argument == "multiple") {
        run(rmpi::init_thread(Multiple)?.world())
    } else {
        run(rmpi::init()?.world())
    }
}

fn run(world: &Communicator<'_>) -> RmpiResult {
    let size = world.size()?;
    for length in [100, 1000, 5_000, 100_000, 1_000_000] {
        for step in [0, 1] {
            too_long(world, length, step)?;
        }
    }
    let mut memory = vec![0_u64; size];
    window_scope(|scope| -> RmpiResult {
        fill(world, Window::create(scope, world, &mut memory[..], None, Active)?).map(drop)
    })?;
    let window = fill(world, Window::<u64, _>::allocate(world, size, None, Active)?)?;
    let mut sum = 0;
    world.allreduce(&1, &mut sum, MpiOp::SUM)?;
    assert_eq!(sum, size);
    if world.rank()? == 0 {
        println!("right on {size} ranks");
    }
    drop(window);
    Ok(())
}

/// Each process puts a number to each one.
fn fill<'w, T>(
    world: &Communicator<'_>,
    mut window: Window<'w, T, Active>,
) -> RmpiResult<Window<'w, T, Active>>
where
    T: MpiDatatype + From<u8> + PartialEq + std::fmt::Debug,
{
    let (rank, size) = (world.rank()?, world.size()?);
    let seven = [T::from(7)];
    window.fence(Assertion::NONE, |epoch| {
        (0..size).try_for_each(|to| epoch.process(to).put(&seven, rank))
    })?;
    assert!(window.local().iter().all(|one| *one == seven[0]), "{:?}", window.local());
    Ok(window)
}

/// A message to the process so many ranks further.
fn too_long(world: &Communicator<'_>, length: usize, step: usize) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (to, from) = ((rank + step) % size, (rank + size - step % size) % size);
    let (mine, mut memory) = (vec![u64::MAX; length], vec![0_u64; 2 * length]);
    let (got, behind) = memory.split_at_mut(10);
    rmpi::scope(|scope| -> RmpiResult {
        world.process(to).isend(scope, &mine, Tag::new(0))?;
        // What it says is not asked here.
        let _ = world.process(from).recv(got, Tag::new(0));
        Ok(())
    })?;
    let changed = behind.iter().filter(|word| **word != 0).count();
    assert_eq!(changed, 0, "{length} words, {step} ranks further");
    world.barrier()
}
