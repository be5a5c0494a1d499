//! Numbers that lie anywhere are sorted: afterwards no process has a larger one than the next process. Nobody knows before
//! how many numbers go where.

use rmpi::{Communicator, MpiOp, RmpiResult};

/// The numbers of all processes, in order.
fn sort(world: &Communicator<'_>, numbers: &[u64]) -> RmpiResult<Vec<u64>> {
    let (size, samples) = (world.size()?, 16);
    let mine: Vec<u64> = (0..samples).map(|i| numbers[i * numbers.len() / samples]).collect();
    let mut all = world.allgatherv_vec(&mine)?;
    all.sort_unstable();
    let splitters: Vec<u64> = (1..size).map(|i| all[i * samples]).collect();
    let mut buckets = vec![Vec::new(); size];
    for number in numbers {
        buckets[splitters.partition_point(|splitter| splitter <= number)].push(*number);
    }
    let mut numbers = world.alltoallv_vec(&buckets)?.concat();
    numbers.sort_unstable();
    Ok(numbers)
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    let mut state = rank as u64 + 88_172_645_463_325_252;
    let random = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let numbers: Vec<u64> = (0..10_000).map(random).collect();
    let sorted = sort(world, &numbers)?;

    // The same numbers as before, and no process has a larger one than the next.
    let mut sums = [numbers, sorted.clone()].map(|numbers| numbers.iter().fold(0, |a, b| a ^ b));
    world.allreduce_in_place(&mut sums, MpiOp::BXOR)?;
    assert_eq!(sums[0], sums[1]);
    assert!(sorted.is_sorted());
    let ends = world.allgatherv_vec(&[sorted[0], sorted[sorted.len() - 1]])?;
    assert!(ends.is_sorted());
    if rank == 0 {
        println!("right on {size} ranks");
    }
    Ok(())
}
