//! Every collective operation in its three forms: blocking, in the background, and persistent where
//! MPI has it. Right on any number of ranks.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use rmpi::{CBool, Communicator, ErrorClass, MpiOp, Process, RmpiResult, TypeDynamicBufferRef};

/// Runs the three forms of an operation with new buffers, and looks at what came.
macro_rules! forms {
    ($on:expr, $name:ident $start:ident $init:ident,
        { $($setup:tt)* }, ($($argument:expr),*), { $($check:tt)* }
    ) => {
        {
            $($setup)*
            $on.$name($($argument),*)?;
            $($check)*
        }
        {
            $($setup)*
            rmpi::scope(|scope| $on.$start(scope, $($argument),*)?.wait().map(drop))?;
            $($check)*
        }
        {
            $($setup)*
            let done = rmpi::scope(|scope| {
                let mut request = $on.$init(scope, $($argument),*)?;
                request.start()?;
                request.wait()
            });
            match done {
                Ok(_) => { $($check)* }
                Err(error) if error.class() == ErrorClass::UNSUPPORTED_OPERATION => {}
                Err(error) => return Err(error),
            }
        }
    };
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    for communicator in [world, &world.dup()?] {
        all(communicator)?;
        vectors(communicator)?;
        reductions(communicator)?;
        for root in 0..communicator.size()? {
            rooted(communicator.process(root))?;
            rooted_vectors(communicator.process(root))?;
        }
        persistent(communicator)?;
        refused(communicator)?;
    }
    // Requests that nobody waits for; several at a time.
    left(world)?;
    if world.rank()? == 0 {
        println!("collectives: right on {} ranks", world.size()?);
    }
    context.finalize()
}

/// What a rank sends to another one.
fn value(from: usize, to: usize, i: usize) -> i32 {
    (from * 10_000 + to * 100 + i) as i32
}

fn all(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    forms!(world, barrier ibarrier barrier_init, {}, (), {});

    let expected: Vec<i32> = (0..size * 3).map(|i| value(i / 3, 0, i % 3)).collect();
    let mine: Vec<i32> = (0..3).map(|i| value(rank, 0, i)).collect();
    forms!(world, allgather iallgather allgather_init,
        { let mut all = vec![0; 3 * size]; }, (&mine, &mut all),
        { assert_eq!(all, expected, "allgather"); });
    forms!(world, allgather_in_place iallgather_in_place allgather_in_place_init,
        { let mut all = vec![0; 3 * size]; all[3 * rank..][..3].copy_from_slice(&mine); },
        (&mut all),
        { assert_eq!(all, expected, "allgather in place"); });
    // Arrays, and a bool that comes as a byte.
    let mut arrays = vec![[0; 3]; size];
    world.allgather(&mine, &mut arrays)?;
    assert_eq!(arrays.concat(), expected, "allgather of arrays");
    let mut odd = vec![CBool(7); size];
    world.allgather(&(rank % 2 == 1), &mut odd)?;
    assert!((0..size).all(|rank| odd[rank].get() == (rank % 2 == 1)), "allgather of bool");

    let to_each: Vec<i32> = (0..size * 2).map(|i| value(rank, i / 2, i % 2)).collect();
    let of_each: Vec<i32> = (0..size * 2).map(|i| value(i / 2, rank, i % 2)).collect();
    forms!(world, alltoall ialltoall alltoall_init,
        { let mut received = vec![0; 2 * size]; }, (&to_each, &mut received),
        { assert_eq!(received, of_each, "alltoall"); });
    forms!(world, alltoall_in_place ialltoall_in_place alltoall_in_place_init,
        { let mut parts = to_each.clone(); }, (&mut parts),
        { assert_eq!(parts, of_each, "alltoall in place"); });
    // Nothing at all: Rust's pointers to no bytes look like MPI_IN_PLACE.
    let mut nothing: [u8; 0] = [];
    world.allgather(&[0_u8; 0], &mut nothing)?;
    world.alltoall(&[0_u8; 0], &mut nothing)?;
    Ok(())
}

/// How much a rank sends to another one.
fn length(from: usize, to: usize) -> usize {
    (from + 2 * to) % 4
}

fn block(from: usize, to: usize) -> Vec<i32> {
    (0..length(from, to)).map(|i| value(from, to, i)).collect()
}

fn vectors(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mine = block(rank, 1);
    let expected: Vec<Vec<i32>> = (0..size).map(|from| block(from, 1)).collect();
    let lengths: Vec<usize> = expected.iter().map(Vec::len).collect();
    let total = lengths.iter().sum();
    // Blocks in the order of the ranks, with a gap behind.
    forms!(world, allgatherv iallgatherv allgatherv_init,
    {
        let mut buffer = vec![-1; total + 5];
        let mut blocks = rmpi::split_blocks(&mut buffer, &lengths).expect("long enough");
    },
    (&mine, &mut blocks),
    {
        assert_eq!(blocks, expected, "allgatherv");
        assert_eq!(buffer[total..], [-1; 5], "allgatherv wrote behind its blocks");
    });
    forms!(world, allgatherv_in_place iallgatherv_in_place allgatherv_in_place_init,
        {
            let mut buffer = vec![-1; total];
            let mut blocks = rmpi::split_blocks(&mut buffer, &lengths).expect("long enough");
            blocks[rank].copy_from_slice(&mine);
        },
        (&mut blocks),
        { assert_eq!(blocks, expected, "allgatherv in place"); });

    let send: Vec<Vec<i32>> = (0..size).map(|to| block(rank, to)).collect();
    let receive: Vec<Vec<i32>> = (0..size).map(|from| block(from, rank)).collect();
    let joined = send.concat();
    let send_lengths: Vec<usize> = send.iter().map(Vec::len).collect();
    let send = rmpi::split_blocks_ref(&joined, &send_lengths).expect("as long");
    let lengths: Vec<usize> = receive.iter().map(Vec::len).collect();
    let total = lengths.iter().sum();
    forms!(world, alltoallv ialltoallv alltoallv_init,
        {
            let mut buffer = vec![-1; total];
            let mut blocks = rmpi::split_blocks(&mut buffer, &lengths).expect("long enough");
        },
        (&send, &mut blocks),
        { assert_eq!(blocks, receive, "alltoallv"); });
    forms!(world, alltoallw ialltoallw alltoallw_init,
        {
            let mut buffer = vec![-1; total];
            let mut blocks = rmpi::split_blocks(&mut buffer, &lengths).expect("long enough");
        },
        (&send, &mut blocks),
        { assert_eq!(blocks, receive, "alltoallw"); });
    // Of different types: integers to even ranks, numbers to odd ones.
    let (numbers, integers) = ([rank as f64 / 4.0], [rank as i32]);
    let either = |to: usize| {
        if to.is_multiple_of(2) {
            TypeDynamicBufferRef::from_slice(&integers, world)
        } else {
            TypeDynamicBufferRef::from_slice(&numbers, world)
        }
    };
    let send: Vec<_> = (0..size).map(either).collect::<RmpiResult<_>>()?;
    if rank % 2 == 0 {
        let mut received = vec![[-1_i32]; size];
        alltoallw(world, &send, &mut received)?;
        assert!((0..size).all(|from| received[from] == [from as i32]), "alltoallw of integers");
    } else {
        let mut received = vec![[0.0_f64]; size];
        alltoallw(world, &send, &mut received)?;
        assert!((0..size).all(|from| received[from] == [from as f64 / 4.0]), "alltoallw of f64");
    }

    // On the stack and on the heap: too far apart for an int, so it is the large-count function.
    let here = [rank as u8; 4];
    let there = vec![100 + rank as u8; 4 * size];
    let mut send: Vec<&[u8]> = there.chunks_exact(4).collect();
    send[0] = &here;
    let mut received = vec![0; 4 * size];
    let mut blocks = rmpi::split_blocks(&mut received, &vec![4; size]).expect("as long");
    match world.alltoallv(&send, &mut blocks) {
        Err(error) if error.class() == ErrorClass::UNSUPPORTED_OPERATION => {}
        result => {
            result?;
            let offset = if rank == 0 { 0 } else { 100 };
            assert!((0..size).all(|from| blocks[from] == [offset + from as u8; 4]), "far apart");
        }
    }

    // In place the lengths have to be the same both ways.
    let length = |from: usize, to: usize| (from + to) % 3;
    let block = |from: usize, to: usize| -> Vec<i32> {
        (0..length(from, to)).map(|i| value(from, to, i)).collect()
    };
    let lengths: Vec<usize> = (0..size).map(|other| length(rank, other)).collect();
    let send: Vec<i32> = (0..size).flat_map(|to| block(rank, to)).collect();
    let receive: Vec<Vec<i32>> = (0..size).map(|from| block(from, rank)).collect();
    forms!(world, alltoallv_in_place ialltoallv_in_place alltoallv_in_place_init,
        {
            let mut buffer = send.clone();
            let mut blocks = rmpi::split_blocks(&mut buffer, &lengths).expect("as long");
        },
        (&mut blocks), { assert_eq!(blocks, receive, "alltoallv in place"); });
    forms!(world, alltoallw_in_place ialltoallw_in_place alltoallw_in_place_init,
        {
            let mut buffer = send.clone();
            let mut blocks = rmpi::split_blocks(&mut buffer, &lengths).expect("as long");
        },
        (&mut blocks), { assert_eq!(blocks, receive, "alltoallw in place"); });
    Ok(())
}

/// Blocks that are arrays: as mutable references.
fn alltoallw<T: rmpi::MpiDatatype, const N: usize>(
    world: &Communicator<'_>,
    send: &[TypeDynamicBufferRef<'_>],
    receive: &mut [[T; N]],
) -> RmpiResult {
    let mut receive: Vec<&mut [T]> = receive.iter_mut().map(|block| &mut block[..]).collect();
    world.alltoallw(send, &mut receive)
}

fn reductions(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mine: Vec<i64> = (0..5).map(|i| (rank * 10 + i) as i64).collect();
    let sum = |ranks: usize| -> Vec<i64> {
        (0..5).map(|i| (10 * (ranks * ranks.saturating_sub(1) / 2) + ranks * i) as i64).collect()
    };
    forms!(world, allreduce iallreduce allreduce_init,
        { let mut result = vec![0; 5]; }, (&mine, &mut result, MpiOp::SUM),
        { assert_eq!(result, sum(size), "allreduce"); });
    forms!(world, allreduce_in_place iallreduce_in_place allreduce_in_place_init,
        { let mut result = mine.clone(); }, (&mut result, MpiOp::SUM),
        { assert_eq!(result, sum(size), "allreduce in place"); });
    forms!(world, scan iscan scan_init,
        { let mut result = vec![0; 5]; }, (&mine, &mut result, MpiOp::SUM),
        { assert_eq!(result, sum(rank + 1), "scan"); });
    forms!(world, scan_in_place iscan_in_place scan_in_place_init,
        { let mut result = mine.clone(); }, (&mut result, MpiOp::SUM),
        { assert_eq!(result, sum(rank + 1), "scan in place"); });
    forms!(world, exscan iexscan exscan_init,
        { let mut result = vec![0; 5]; }, (&mine, &mut result, MpiOp::SUM),
        { if rank > 0 { assert_eq!(result, sum(rank), "exscan"); } });
    forms!(world, exscan_in_place iexscan_in_place exscan_in_place_init,
        { let mut result = mine.clone(); }, (&mut result, MpiOp::SUM),
        { if rank > 0 { assert_eq!(result, sum(rank), "exscan in place"); } });

    // Element i of rank r is r + i.
    let numbers: Vec<i64> = (0..2 * size).map(|i| (rank + i) as i64).collect();
    let total = |i: usize| (size * (size - 1) / 2 + size * i) as i64;
    let part = [total(2 * rank), total(2 * rank + 1)];
    forms!(world, reduce_scatter_block ireduce_scatter_block reduce_scatter_block_init,
        { let mut result = [0; 2]; }, (&numbers, &mut result[..], MpiOp::SUM),
        { assert_eq!(result, part, "reduce_scatter_block"); });
    forms!(world, reduce_scatter_block_in_place ireduce_scatter_block_in_place
            reduce_scatter_block_in_place_init,
        { let mut result = numbers.clone(); }, (&mut result, MpiOp::SUM),
        { assert_eq!(result[..2], part, "reduce_scatter_block in place"); });

    let lengths: Vec<usize> = (0..size).map(|rank| (rank + 1) % 3).collect();
    let start: usize = lengths[..rank].iter().sum();
    let numbers: Vec<i64> = (0..lengths.iter().sum()).map(|i| (rank + i) as i64).collect();
    let part: Vec<i64> = (start..start + lengths[rank]).map(total).collect();
    forms!(world, reduce_scatter ireduce_scatter reduce_scatter_init,
        { let mut result = vec![0; part.len()]; }, (&numbers, &lengths, &mut result, MpiOp::SUM),
        { assert_eq!(result, part, "reduce_scatter"); });
    forms!(world, reduce_scatter_in_place ireduce_scatter_in_place reduce_scatter_in_place_init,
        { let mut result = numbers.clone(); }, (&mut result, &lengths, MpiOp::SUM),
        { assert_eq!(result[..part.len()], part, "reduce_scatter in place"); });

    // The operations, by formulas of their own.
    let reduce = |value: u32, op: MpiOp| -> RmpiResult<u32> {
        let mut result = 0;
        world.allreduce(&value, &mut result, op)?;
        Ok(result)
    };
    let (this, last) = (rank as u32, size as u32 - 1);
    let factorial = (1..=last + 1).product();
    assert_eq!(reduce(this + 1, MpiOp::PROD)?, factorial, "PROD");
    assert_eq!(reduce(this + 3, MpiOp::MAX)?, last + 3, "MAX");
    assert_eq!(reduce(this + 3, MpiOp::MIN)?, 3, "MIN");
    assert_eq!(reduce(1 << rank, MpiOp::BOR)?, (1 << size) - 1, "BOR");
    assert_eq!(reduce(!(1 << rank), MpiOp::BAND)?, !((1 << size) - 1), "BAND");
    assert_eq!(reduce(1, MpiOp::BXOR)?, size as u32 % 2, "BXOR");
    assert_eq!(reduce(this, MpiOp::LAND)?, 0, "LAND");
    assert_eq!(reduce(this, MpiOp::LOR)?, u32::from(size > 1), "LOR");
    assert_eq!(reduce(1, MpiOp::LXOR)?, size as u32 % 2, "LXOR");
    // Vectors of vectors.
    let mut result = [[0.0; 3]; 2];
    world.allreduce(&[[1.0, 2.0, 3.0]; 2], &mut result, MpiOp::SUM)?;
    assert_eq!(result, [[1.0, 2.0, 3.0].map(|x| x * size as f64); 2], "arrays");
    Ok(())
}

fn rooted(root: Process<'_>) -> RmpiResult {
    let world = root.communicator();
    let (rank, size) = (world.rank()?, world.size()?);
    let is_root = root.rank() == Some(rank);
    forms!(root, bcast ibcast bcast_init,
        { let mut numbers = if is_root { [1.5, 2.5] } else { [0.0; 2] }; }, (&mut numbers),
        { assert_eq!(numbers, [1.5, 2.5], "bcast"); });

    let mine: Vec<i32> = (0..3).map(|i| value(rank, 0, i)).collect();
    let expected: Vec<i32> = (0..size * 3).map(|i| value(i / 3, 0, i % 3)).collect();
    let sum: Vec<i32> = (0..3).map(|i| (0..size).map(|rank| value(rank, 0, i)).sum()).collect();
    // Everybody with both buffers, as in C.
    forms!(root, gather_root igather_root gather_root_init,
        { let mut all = vec![0; 3 * size]; }, (&mine, &mut all),
        { if is_root { assert_eq!(all, expected, "gather"); } });
    forms!(root, scatter_root iscatter_root scatter_root_init,
        { let mut part = vec![0; 3]; }, (&expected, &mut part),
        { assert_eq!(part, mine, "scatter"); });
    forms!(root, reduce_root ireduce_root reduce_root_init,
        { let mut result = vec![0; 3]; }, (&mine, &mut result, MpiOp::SUM),
        { if is_root { assert_eq!(result, sum, "reduce"); } });
    // Each with its own.
    if is_root {
        forms!(root, gather_in_place igather_in_place gather_in_place_init,
            { let mut all = vec![0; 3 * size]; all[3 * rank..][..3].copy_from_slice(&mine); },
            (&mut all),
            { assert_eq!(all, expected, "gather in place"); });
        forms!(root, scatter_in_place iscatter_in_place scatter_in_place_init,
            {}, (&expected), {});
        forms!(root, reduce_in_place ireduce_in_place reduce_in_place_init,
            { let mut result = mine.clone(); }, (&mut result, MpiOp::SUM),
            { assert_eq!(result, sum, "reduce in place"); });
    } else {
        forms!(root, gather igather gather_init, {}, (&mine), {});
        forms!(root, scatter iscatter scatter_init,
            { let mut part = vec![0; 3]; }, (&mut part),
            { assert_eq!(part, mine, "scatter of the others"); });
        forms!(root, reduce ireduce reduce_init, {}, (&mine, MpiOp::SUM), {});
    }
    Ok(())
}

fn rooted_vectors(root: Process<'_>) -> RmpiResult {
    let world = root.communicator();
    let (rank, size) = (world.rank()?, world.size()?);
    let mine = block(rank, 1);
    let all: Vec<Vec<i32>> = (0..size).map(|from| block(from, 1)).collect();
    let lengths: Vec<usize> = all.iter().map(Vec::len).collect();
    let joined = all.concat();
    let send = rmpi::split_blocks_ref(&joined, &lengths).expect("as long");
    if root.rank() == Some(rank) {
        forms!(root, gatherv_root igatherv_root gatherv_root_init,
            {
                let mut buffer = vec![-1; joined.len()];
                let mut blocks = rmpi::split_blocks(&mut buffer, &lengths).expect("as long");
            },
            (&mine, &mut blocks), { assert_eq!(blocks, all, "gatherv"); });
        forms!(root, gatherv_in_place igatherv_in_place gatherv_in_place_init,
            {
                let mut buffer = vec![-1; joined.len()];
                let mut blocks = rmpi::split_blocks(&mut buffer, &lengths).expect("as long");
                blocks[rank].copy_from_slice(&mine);
            },
            (&mut blocks), { assert_eq!(blocks, all, "gatherv in place"); });
        forms!(root, scatterv_root iscatterv_root scatterv_root_init,
            { let mut part = vec![0; mine.len()]; }, (&send, &mut part),
            { assert_eq!(part, mine, "scatterv"); });
        forms!(root, scatterv_in_place iscatterv_in_place scatterv_in_place_init,
            {}, (&send), {});
    } else {
        forms!(root, gatherv igatherv gatherv_init, {}, (&mine), {});
        forms!(root, gatherv igatherv gatherv_init, {}, (&mine), {});
        forms!(root, scatterv iscatterv scatterv_init,
            { let mut part = vec![0; mine.len()]; }, (&mut part),
            { assert_eq!(part, mine, "scatterv of the others"); });
        forms!(root, scatterv iscatterv scatterv_init,
            { let mut part = vec![0; mine.len()]; }, (&mut part),
            { assert_eq!(part, mine, "scatterv of the others"); });
    }
    Ok(())
}

/// A prepared operation is started often, with new numbers.
fn persistent(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (mut mine, mut sum) = ([0_usize; 2], [0_usize; 2]);
    let lengths = vec![1; size];
    let mut all = vec![0; size];
    let mut blocks = rmpi::split_blocks(&mut all, &lengths).expect("as long");
    let result: RmpiResult = rmpi::scope(|scope| {
        let mut reduction = world.allreduce_init(scope, &mut mine[..], &mut sum[..], MpiOp::SUM)?;
        let mut gather = world.allgatherv_init(scope, vec![rank], &mut blocks)?;
        for round in 0..3 {
            reduction.send_buffer_mut().expect("not started")[1] = rank * round;
            reduction.start()?;
            gather.start()?;
            assert!(reduction.get().is_none() && reduction.send_buffer_mut().is_none());
            gather.wait()?;
            reduction.wait()?;
            let sum = &reduction.get().expect("complete").1;
            assert_eq!(sum[1], round * size * (size - 1) / 2, "round {round}");
            let all = &gather.get().expect("complete").buffers.1;
            assert!((0..size).all(|rank| all[rank][0] == rank), "allgatherv in round {round}");
        }
        let (_, sum) = reduction.free()?;
        assert_eq!(sum[1], size * (size - 1));
        Ok(())
    });
    match result {
        Err(error) if error.class() == ErrorClass::UNSUPPORTED_OPERATION => Ok(()),
        result => result,
    }
}

/// What is refused before MPI sees it, at all ranks.
fn refused(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let class = |result: RmpiResult| result.expect_err("it should be refused").class();
    let (mut one, two) = ([0_i32], [0_i32; 2]);
    let mut odd = vec![0_i32; size + 1];
    if size > 1 {
        assert_eq!(class(world.allgather(&one, &mut odd)), ErrorClass::COUNT);
        assert_eq!(class(world.alltoall_in_place(&mut odd)), ErrorClass::COUNT);
        let other = world.process((rank + 1) % size);
        assert_eq!(class(other.gather_in_place(&mut odd)), ErrorClass::ROOT);
        assert_eq!(class(other.reduce_in_place(&mut one, MpiOp::SUM)), ErrorClass::ROOT);
    }
    assert_eq!(class(world.allreduce(&two[..], &mut one[..], MpiOp::SUM)), ErrorClass::COUNT);
    let this = world.process(rank);
    assert_eq!(class(this.gather(&one)), ErrorClass::ROOT);
    assert_eq!(class(this.scatterv(&mut one)), ErrorClass::ROOT);
    assert_eq!(class(this.reduce(&two[..], MpiOp::SUM)), ErrorClass::ROOT);
    let mut blocks = vec![vec![0_i32]; size + 1];
    assert_eq!(class(world.allgatherv(&one, &mut blocks)), ErrorClass::COUNT);
    assert_eq!(
        class(world.reduce_scatter(&two[..], &vec![1; size + 2], &mut one[..], MpiOp::SUM)),
        ErrorClass::COUNT
    );
    // Elements of 3 bytes that lie 4 bytes apart: arrays count as bytes, which do.
    if size > 1 {
        let mut bytes = vec![0_u8; 4 * size];
        let mut blocks: Vec<&mut [u8]> =
            bytes.chunks_exact_mut(4).map(|chunk| &mut chunk[..3]).collect();
        world.allgatherv(&[[rank as u8; 3]], &mut blocks)?;
        assert!((0..size).all(|rank| blocks[rank] == [rank as u8; 3]), "blocks with gaps");
    }
    assert!(world.process(size).bcast(&mut one).is_err(), "there is no such root");
    Ok(())
}

/// The scope waits for what is dropped and forgotten, with its counts.
fn left(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut first = vec![0; size];
    let mut sum = 0;
    rmpi::scope(|scope| {
        world.iallgather(scope, &rank, &mut first)?;
        core::mem::forget(world.iallreduce(scope, &rank, &mut sum, MpiOp::SUM)?);
        world.barrier()
    })?;
    assert!((0..size).all(|rank| first[rank] == rank), "a dropped request");
    assert_eq!(sum, size * (size - 1) / 2, "a forgotten request");
    // With counts per process.
    let mut all = vec![0; size];
    let mut blocks = rmpi::split_blocks(&mut all, &vec![1; size]).expect("as long");
    let mine = [rank + 1];
    rmpi::scope(|scope| world.iallgatherv(scope, &mine, &mut blocks).map(core::mem::forget))?;
    assert!((0..size).all(|rank| blocks[rank] == [rank + 1]), "a forgotten request with counts");
    Ok(())
}
