//! Numbers that lie anywhere are sorted over all processes.

use rmpi::RmpiResult;

const COUNT: usize = 1000;
const SAMPLES: usize = 16;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    let mut state = rank as u32 + 1;
    let random = |_| {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        state &= 0x7fff_ffff;
        state as i32
    };
    let mut numbers: Vec<i32> = (0..COUNT).map(random).collect();
    numbers.sort_unstable();

    let mine: [i32; SAMPLES] = std::array::from_fn(|i| numbers[i * COUNT / SAMPLES]);
    let mut samples = vec![0; size * SAMPLES];
    world.allgather(&mine, &mut samples)?;
    samples.sort_unstable();

    // The numbers are sorted: what goes to a process lies together.
    let mut blocks = Vec::new();
    let mut rest = &numbers[..];
    for other in 1..size {
        let splitter = samples[other * SAMPLES];
        let end = rest.partition_point(|number| *number < splitter);
        let (block, behind) = rest.split_at(end);
        blocks.push(block);
        rest = behind;
    }
    blocks.push(rest);
    let mut mine = world.alltoallv_vec(&blocks)?.concat();
    mine.sort_unstable();

    let part = [mine.len() as i32, mine[0], mine[mine.len() - 1]];
    let parts = world.process(0).gatherv_vec(&[part])?;
    for (i, part) in parts.into_iter().flatten().enumerate() {
        let [count, first, last] = part;
        println!("rank {i}: {count} numbers from {first} to {last}");
    }
    Ok(())
}
