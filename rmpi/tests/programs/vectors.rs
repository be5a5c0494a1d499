//! Vectors whose lengths only their owners know, in collective operations. Right on any number of ranks.

use rmpi::{Communicator, ErrorClass, MpiDatatype, RmpiResult};

#[derive(Debug, Clone, Copy, Default, PartialEq, MpiDatatype)]
struct Particle {
    position: [f64; 3],
    charge: i8,
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    allgather(world)?;
    rooted(world)?;
    alltoall(world)?;
    refusals(world)?;
    lies(world)?;
    if world.rank()? == 0 {
        println!("vectors: right on {} ranks", world.size()?);
    }
    Ok(())
}

/// What `from` has for `to`: nothing for some, a lot for others.
fn block(from: usize, to: usize) -> Vec<Particle> {
    let count = [0, 3, 1, 2000][(from + 3 * to) % 4];
    let particle = |n| Particle { position: [n as f64, from as f64, to as f64], charge: n as i8 };
    (0..count).map(particle).collect()
}

fn allgather(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (all, counts) = world.allgatherv_vec_counts(&block(rank, 0))?;
    let expected: Vec<_> = (0..size).map(|from| block(from, 0)).collect();
    assert_eq!(all, expected.concat());
    assert_eq!(counts, expected.iter().map(Vec::len).collect::<Vec<_>>());
    let ranks = world.allgatherv_vec(&vec![rank; rank])?;
    assert_eq!(ranks, (0..size).flat_map(|rank| vec![rank; rank]).collect::<Vec<_>>());
    // Arrays count as values, and nothing at all is something to gather.
    let triples = world.allgatherv_vec(&[[rank as i16, 7, 8]])?;
    assert_eq!(triples, (0..size).map(|rank| [rank as i16, 7, 8]).collect::<Vec<_>>());
    assert_eq!(world.allgatherv_vec::<f32>(&[])?, []);
    Ok(())
}

fn rooted(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    for root in 0..size {
        let process = world.process(root);
        let all = process.gatherv_vec(&block(rank, root))?;
        let expected: Vec<_> = (0..size).map(|from| block(from, root)).collect();
        assert_eq!(all, (rank == root).then(|| expected.concat()));
        let counts = process.gatherv_vec_counts(&block(rank, root))?.map(|(_, counts)| counts);
        let lengths = expected.iter().map(Vec::len).collect();
        assert_eq!(counts, (rank == root).then_some(lengths));

        let blocks: Option<Vec<_>> =
            (rank == root).then(|| (0..size).map(|to| block(root, to)).collect());
        assert_eq!(process.scatterv_vec(blocks.as_deref())?, block(root, rank));
        let parts = blocks.map(|blocks| {
            let counts: Vec<usize> = blocks.iter().map(Vec::len).collect();
            (blocks.concat(), counts)
        });
        let parts = parts.as_ref().map(|(all, counts)| (&all[..], &counts[..]));
        assert_eq!(process.scatterv_flat(parts)?, block(root, rank));

        let mut vector = if rank == root { block(root, 1) } else { block(rank, 2) };
        process.bcast_vec(&mut vector)?;
        assert_eq!(vector, block(root, 1));
        process.bcast_vec(&mut vector)?;
        assert_eq!(vector, block(root, 1));
    }
    Ok(())
}

fn alltoall(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let send: Vec<_> = (0..size).map(|to| block(rank, to)).collect();
    let expected: Vec<_> = (0..size).map(|from| block(from, rank)).collect();
    assert_eq!(world.alltoallv_vec(&send)?, expected);
    let slices: Vec<&[Particle]> = send.iter().map(Vec::as_slice).collect();
    assert_eq!(world.alltoallv_vec(&slices)?, expected);
    let counts: Vec<usize> = send.iter().map(Vec::len).collect();
    let (all, counts) = world.alltoallv_flat(&send.concat(), &counts)?;
    assert_eq!(all, expected.concat());
    assert_eq!(counts, expected.iter().map(Vec::len).collect::<Vec<_>>());
    // Each process has something for itself only.
    let mut own = vec![Vec::new(); size];
    own[rank].push(rank as u8);
    assert_eq!(world.alltoallv_vec(&own)?, own);
    Ok(())
}

/// Where one process gives wrong arguments, all return an error, and nobody waits.
fn refusals(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    for wrong in 0..size {
        let count = if rank == wrong { size + 1 } else { size };
        let error = world.alltoallv_vec(&vec![vec![1.0]; count]).unwrap_err();
        assert_eq!(error.class(), ErrorClass::COUNT);
        let length = if rank == wrong { size - 1 } else { size };
        let error = world.alltoallv_flat(&vec![1.0; length], &vec![1; size]).unwrap_err();
        assert_eq!(error.class(), ErrorClass::COUNT);
        let root = world.process(wrong);
        // The root gives nothing.
        assert_eq!(root.scatterv_vec::<f64>(None).unwrap_err().class(), ErrorClass::COUNT);
        assert_eq!(root.scatterv_flat::<f64>(None).unwrap_err().class(), ErrorClass::COUNT);
        let too_many = vec![vec![1_u8; 2]; size + 1];
        let error = root.scatterv_vec(Some(&too_many)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::COUNT);
        let counts = vec![usize::MAX; size];
        let error = root.scatterv_flat(Some((&[1_u8, 2], &counts))).unwrap_err();
        assert_eq!(error.class(), ErrorClass::COUNT);
    }
    let nobody = world.process(size);
    assert_eq!(nobody.gatherv_vec(&[1]).unwrap_err().class(), ErrorClass::RANK);
    assert_eq!(nobody.bcast_vec(&mut vec![1]).unwrap_err().class(), ErrorClass::RANK);
    assert_eq!(world.process_null().gatherv_vec(&[1]).unwrap_err().class(), ErrorClass::ROOT);
    assert!(world.process_null().scatterv_vec::<u8>(None).is_err());
    // They work as before.
    assert_eq!(world.allgatherv_vec(&[rank])?, (0..size).collect::<Vec<_>>());
    Ok(())
}

/// The last process does by hand what the functions do, and tells other lengths than it sends.
fn lies(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    if size == 1 {
        return Ok(());
    }
    let liar = rank == size - 1;
    // More than fits an address space: everybody returns an error, before there is anything to wait for.
    for length in [u64::MAX, u64::MAX - 1, 1 << 63, 1 << 61] {
        let class = if liar {
            world.allgather(&length, &mut vec![0_u64; size])?;
            None
        } else {
            Some(world.allgatherv_vec(&[1.0]).unwrap_err().class())
        };
        let expected = if length == u64::MAX { ErrorClass::COUNT } else { ErrorClass::NO_MEM };
        assert!(class.is_none_or(|class| class == expected), "{length}: {class:?}");
        if liar {
            world.alltoall(vec![length; size], &mut vec![0_u64; size])?;
        } else {
            assert!(world.alltoallv_flat(&vec![1.0; size], &vec![1; size]).is_err());
        }
    }
    // Less than it has told: what did not come is 0, or MPI says so.
    if liar {
        world.process(0).gather(&1000_u64)?;
        world.process(0).gatherv(&[7.0; 3])?;
    } else if let Some((all, _)) = world.process(0).gatherv_vec_counts(&[1.0; 2]).unwrap_or(None) {
        assert!(all.iter().all(|number| [0.0, 1.0, 7.0].contains(number)));
    }
    // More than it has told: no more is received.
    for length in [3, 100, 50_000] {
        if liar {
            world.process(0).gather(&2_u64)?;
            let _ = world.process(0).gatherv(vec![7.0; length]);
            continue;
        }
        match world.process(0).gatherv_vec(&[1.0; 2]) {
            Ok(all) => assert!(rank > 0 || all.is_some_and(|all| all.len() == 2 * size)),
            // Of which class it is depends on the MPI.
            Err(error) => assert_eq!((error.function(), rank), (Some("MPI_Gatherv"), 0), "{error}"),
        }
    }
    // Elements of another size: whatever comes of it, it is an error or as many elements as were told.
    if size == 2 {
        world.barrier()?;
        if liar {
            if let Ok((all, counts)) = world.allgatherv_vec_counts(&[7_u8; 16]) {
                assert_eq!((all.len(), counts), (18, vec![2, 16]));
            }
        } else if let Ok((all, counts)) = world.allgatherv_vec_counts(&[1_u8; 2].map(u16::from)) {
            assert_eq!((all.len(), counts), (18, vec![2, 16]));
        }
    }
    world.barrier()
}
