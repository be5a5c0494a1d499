//! Grids and graphs, and collective operations with neighbours.

use rmpi::{
    CartCommunicator, Communicator, DistGraphCommunicator, ErrorClass, ErrorHandler,
    GraphCommunicator, Neighborhood, Tag, TopologyKind,
};

fn main() -> rmpi::RmpiResult {
    eprintln!("L{}", line!());
    let context = rmpi::init()?;
    eprintln!("L{}", line!());
    let world = context.world();
    eprintln!("L{}", line!());
    assert_eq!(world.topo_test()?, TopologyKind::Undefined);
    grids(world)?;
    graphs(world)?;
    dist_graphs(world)
}

fn grids(world: &Communicator<'_>) -> rmpi::RmpiResult {
    eprintln!("L{}", line!());
    let size = world.size()?;
    eprintln!("L{}", line!());
    let mut dims = [0, 0];
    rmpi::dims_create(world, size, &mut dims)?;
    eprintln!("L{}", line!());
    assert_eq!(dims[0] * dims[1], size);
    eprintln!("L{}", line!());
    assert!(rmpi::dims_create(world, 5, &mut [2, 0]).is_err());

    for (dims, periods) in [
        (&[0, 1][..], &[false, false][..]),
        (&[size + 1], &[false]),
        (&[usize::MAX, 2], &[false, false]),
        (&[1], &[]),
    ] {
        let refused = world.cart_create(dims, periods, false);
        assert_eq!(refused.unwrap_err().class(), ErrorClass::DIMS);
    }
    eprintln!("L{}", line!());
    let smaller = world.cart_create(&[size.max(2) - 1], &[true], false)?;
    eprintln!("L{}", line!());
    assert_eq!(smaller.is_some(), size == 1 || world.rank()? < size - 1);
    drop(smaller);

    eprintln!("L{}", line!());
    let torus = world.cart_create(&dims, &[true, false], true)?.expect("all are in it");
    eprintln!("L{}", line!());
    assert_eq!(torus.get_errhandler()?, Some(ErrorHandler::Return));
    eprintln!("L{}", line!());
    assert_eq!(torus.topo_test()?, TopologyKind::Cartesian);
    eprintln!("L{}", line!());
    assert_eq!((torus.ndims(), torus.indegree()), (2, 4));
    eprintln!("L{}", line!());
    let rank = torus.rank()?;
    eprintln!("L{}", line!());
    let mine = torus.coords(rank)?;
    eprintln!("L{}", line!());
    assert_eq!(torus.get()?, (dims.to_vec(), vec![true, false], mine.clone()));
    eprintln!("L{}", line!());
    let (x, y) = (mine[0] as i32, mine[1] as i32);
    eprintln!("L{}", line!());
    assert_eq!(torus.rank_at(&[x, y])?, rank);
    eprintln!("L{}", line!());
    assert_eq!(torus.rank_at(&[x - dims[0] as i32, y])?, rank, "it wraps around");
    torus.rank_at(&[i32::MIN, y])?;
    for outside in [&[x, -1][..], &[x, dims[1] as i32], &[x]] {
        assert_eq!(torus.rank_at(outside).unwrap_err().class(), ErrorClass::DIMS);
    }
    eprintln!("L{}", line!());
    assert_eq!(torus.coords(size).unwrap_err().class(), ErrorClass::RANK);
    eprintln!("L{}", line!());
    assert_eq!(torus.shift(2, 1).unwrap_err().class(), ErrorClass::DIMS);
    eprintln!("L{}", line!());
    let (below, above) = torus.shift(0, 1)?;
    eprintln!("L{}", line!());
    assert_eq!(above.rank(), Some(torus.rank_at(&[x + 1, y])?));
    eprintln!("L{}", line!());
    let (far_below, far_above) = torus.shift(0, i32::MAX)?;
    eprintln!("L{}", line!());
    assert_eq!(far_above.rank(), Some(torus.rank_at(&[x + i32::MAX % dims[0] as i32, y])?));
    eprintln!("L{}", line!());
    let mut from = usize::MAX;
    far_below.sendrecv(&rank, Tag::new(1), &far_above, &mut from, Tag::new(1))?;
    eprintln!("L{}", line!());
    assert_eq!(Some(from), far_above.rank());
    eprintln!("L{}", line!());
    let mut from = usize::MAX;
    above.sendrecv(&rank, Tag::new(0), &below, &mut from, Tag::new(0))?;
    eprintln!("L{}", line!());
    assert_eq!(Some(from), below.rank());
    eprintln!("L{}", line!());
    let (_, beyond) = torus.shift(1, i32::MAX)?;
    eprintln!("L{}", line!());
    assert_eq!(beyond.rank(), None, "MPI_PROC_NULL");

    eprintln!("L{}", line!());
    let row = torus.sub(&[false, true])?;
    eprintln!("L{}", line!());
    assert_eq!((row.ndims(), row.size()?), (1, dims[1]));
    eprintln!("L{}", line!());
    assert_eq!(row.coords(row.rank()?)?, [mine[1]]);
    eprintln!("L{}", line!());
    assert!(torus.sub(&[true]).is_err());
    if world.cart_map(&dims, &[true, false])?.is_none() {
        println!("not in the grid");
    }

    eprintln!("L{}", line!());
    let neighbors = [torus.shift(0, 1)?, torus.shift(1, 1)?];
    eprintln!("L{}", line!());
    let ranks: Vec<_> =
        neighbors.iter().flat_map(|(below, above)| [below.rank(), above.rank()]).collect();
    exchange(&torus, &ranks, &ranks)?;

    eprintln!("L{}", line!());
    let copy = CartCommunicator::new(torus.dup()?)?;
    eprintln!("L{}", line!());
    assert_eq!(copy.get()?.0, dims);
    eprintln!("L{}", line!());
    assert!(GraphCommunicator::new(torus.dup()?).is_err());
    eprintln!("L{}", line!());
    let point = torus.sub(&[false, false])?;
    eprintln!("L{}", line!());
    assert_eq!((point.ndims(), point.size()?, point.indegree()), (0, 1, 0));
    torus.into_communicator().free()
}

fn graphs(world: &Communicator<'_>) -> rmpi::RmpiResult {
    eprintln!("L{}", line!());
    let size = world.size()?;
    // A star, with the first process in the middle.
    eprintln!("L{}", line!());
    let star: Vec<Vec<usize>> =
        (0..size).map(|rank| if rank == 0 { (1..size).collect() } else { vec![0] }).collect();
    eprintln!("L{}", line!());
    let graph = world.graph_create(&star, false)?.expect("all are in it");
    eprintln!("L{}", line!());
    assert_eq!(graph.get_errhandler()?, Some(ErrorHandler::Return));
    eprintln!("L{}", line!());
    let rank = graph.rank()?;
    eprintln!("L{}", line!());
    assert_eq!(graph.neighbors(rank)?, star[rank]);
    eprintln!("L{}", line!());
    assert_eq!(graph.neighbors_count(0)?, size - 1);
    eprintln!("L{}", line!());
    assert_eq!(graph.dims_get()?, (size, 2 * (size - 1)));
    eprintln!("L{}", line!());
    assert_eq!(graph.get()?, star);
    eprintln!("L{}", line!());
    assert_eq!(graph.neighbors(size).unwrap_err().class(), ErrorClass::RANK);
    eprintln!("L{}", line!());
    let refused = world.graph_create(&[[size]], false);
    eprintln!("L{}", line!());
    assert_eq!(refused.unwrap_err().class(), ErrorClass::RANK);
    eprintln!("L{}", line!());
    let refused = world.graph_create(&vec![[0]; size + 1], false);
    eprintln!("L{}", line!());
    assert_eq!(refused.unwrap_err().class(), ErrorClass::DIMS);
    world.graph_map(&star)?;
    eprintln!("L{}", line!());
    let ranks: Vec<_> = star[rank].iter().map(|rank| Some(*rank)).collect();
    exchange(&graph, &ranks, &ranks)
}

fn dist_graphs(world: &Communicator<'_>) -> rmpi::RmpiResult {
    eprintln!("L{}", line!());
    let (rank, size) = (world.rank()?, world.size()?);
    eprintln!("L{}", line!());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    eprintln!("L{}", line!());
    let ring = world.dist_graph_create_adjacent(&[left], &[right], None, None, false)?;
    eprintln!("L{}", line!());
    assert_eq!(ring.get_errhandler()?, Some(ErrorHandler::Return));
    eprintln!("L{}", line!());
    let neighbors = ring.neighbors()?;
    eprintln!("L{}", line!());
    assert_eq!((neighbors.sources, neighbors.destinations), (vec![left], vec![right]));
    eprintln!("L{}", line!());
    assert!(!ring.weighted() && neighbors.weights.is_none());
    exchange(&ring, &[Some(left)], &[Some(right)])?;

    // From all to the first one, with weights.
    eprintln!("L{}", line!());
    let to_first: &[usize] = if rank == 0 { &[] } else { &[0] };
    eprintln!("L{}", line!());
    let to_weights: &[u32] = if rank == 0 { &[] } else { &[7] };
    eprintln!("L{}", line!());
    let (from, from_weights): (Vec<usize>, Vec<u32>) =
        (1..if rank == 0 { size } else { 1 }).map(|rank| (rank, 7)).unzip();
    eprintln!("L{}", line!());
    let weights = Some((&from_weights[..], to_weights));
    eprintln!("L{}", line!());
    let funnel = world.dist_graph_create_adjacent(&from, to_first, weights, None, false)?;
    eprintln!("L{}", line!());
    let neighbors = funnel.neighbors()?;
    eprintln!("L{}", line!());
    assert_eq!((neighbors.sources, neighbors.destinations), (from.clone(), to_first.to_vec()));
    eprintln!("L{}", line!());
    assert_eq!(neighbors.weights, Some((from_weights.clone(), to_weights.to_vec())));
    eprintln!("L{}", line!());
    let some = |ranks: &[usize]| ranks.iter().map(|rank| Some(*rank)).collect::<Vec<_>>();
    exchange(&funnel, &some(&from), &some(to_first))?;

    // Each tells the edge that leaves its left neighbour, which is one to this process.
    eprintln!("L{}", line!());
    let ring = world.dist_graph_create(&[left], &[1], &[rank], Some(&[3]), None, false)?;
    eprintln!("L{}", line!());
    let neighbors = ring.neighbors()?;
    eprintln!("L{}", line!());
    assert_eq!((neighbors.sources, neighbors.destinations), (vec![left], vec![right]));
    eprintln!("L{}", line!());
    assert_eq!(neighbors.weights, Some((vec![3], vec![3])));
    eprintln!("L{}", line!());
    let again = DistGraphCommunicator::new(ring.dup()?)?;
    exchange(&again, &[Some(left)], &[Some(right)])?;
    eprintln!("L{}", line!());
    let alone = world.dist_graph_create(&[], &[], &[], None, None, false)?;
    eprintln!("L{}", line!());
    assert_eq!((alone.indegree(), alone.outdegree()), (0, 0));
    exchange(&alone, &[], &[])?;

    eprintln!("L{}", line!());
    let refused = world.dist_graph_create_adjacent(&[size], &[], None, None, false);
    eprintln!("L{}", line!());
    assert_eq!(refused.unwrap_err().class(), ErrorClass::RANK);
    eprintln!("L{}", line!());
    let refused = world.dist_graph_create(&[0], &[2], &[0], None, None, false);
    eprintln!("L{}", line!());
    assert_eq!(refused.unwrap_err().class(), ErrorClass::ARG);
    eprintln!("L{}", line!());
    let refused = world.dist_graph_create(&[0], &[1], &[0], Some(&[]), None, false);
    eprintln!("L{}", line!());
    assert_eq!(refused.unwrap_err().class(), ErrorClass::ARG);
    Ok(())
}

/// Debian's MPICH delivers wrong data in `Neighbor_alltoallw`.
fn has_alltoallw() -> rmpi::RmpiResult<bool> {
    Ok(!rmpi::get_library_version()?.contains("4.0.2"))
}

/// All collective operations with neighbours, which are `None` where nobody is.
fn exchange(
    neighborhood: &Neighborhood<'_>,
    sources: &[Option<usize>],
    destinations: &[Option<usize>],
) -> rmpi::RmpiResult {
    const NOBODY: [i64; 2] = [-1, -1];
    eprintln!("L{}", line!());
    assert_eq!(neighborhood.indegree(), sources.len());
    eprintln!("L{}", line!());
    assert_eq!(neighborhood.outdegree(), destinations.len());
    eprintln!("L{}", line!());
    let rank = neighborhood.rank()? as i64;
    eprintln!("L{}", line!());
    let nobodies = || vec![NOBODY; sources.len()];
    eprintln!("L{}", line!());
    let expect = |received: &[[i64; 2]], what: &str| {
        let expected: Vec<_> =
            sources.iter().map(|from| from.map_or(NOBODY, |from| [from as i64, 1])).collect();
        assert_eq!(received, expected, "{what} of rank {rank}");
    };

    eprintln!("L{}", line!());
    let one = [rank, 1];
    eprintln!("L{}", line!());
    let mut received = nobodies();
    eprintln!("L{}", line!());
    neighborhood.neighbor_allgather(&one, &mut received)?;
    eprintln!("L{}", line!());
    expect(&received, "allgather");
    eprintln!("L{}", line!());
    let mut received = nobodies();
    eprintln!("L{}", line!());
    rmpi::scope(|scope| {
        neighborhood.ineighbor_allgather(scope, &one, &mut received)?.wait().map(drop)
    })?;
    eprintln!("L{}", line!());
    expect(&received, "iallgather");

    eprintln!("L{}", line!());
    let mine = vec![[rank, 1]; destinations.len()];
    eprintln!("L{}", line!());
    let mut received = nobodies();
    eprintln!("L{}", line!());
    neighborhood.neighbor_alltoall(&mine, &mut received)?;
    eprintln!("L{}", line!());
    expect(&received, "alltoall");
    eprintln!("L{}", line!());
    let mut received = nobodies();
    eprintln!("L{}", line!());
    rmpi::scope(|scope| {
        neighborhood.ineighbor_alltoall(scope, &mine, &mut received)?.wait().map(drop)
    })?;
    eprintln!("L{}", line!());
    expect(&received, "ialltoall");
    eprintln!("L{}", line!());
    let mut received = nobodies();
    eprintln!("L{}", line!());
    let persistent = rmpi::scope(|scope| {
        let mut request = neighborhood.neighbor_alltoall_init(scope, &mine, &mut received)?;
        for _ in 0..2 {
            request.start()?;
            request.wait()?;
        }
        Ok(())
    });
    eprintln!("L{}", line!());
    match persistent {
        Ok(()) => expect(&received, "alltoall_init"),
        Err(error) => later(error)?,
    }

    eprintln!("L{}", line!());
    let mut received = nobodies();
    eprintln!("L{}", line!());
    let mut blocks: Vec<&mut [i64]> = received.iter_mut().map(|block| &mut block[..]).collect();
    eprintln!("L{}", line!());
    neighborhood.neighbor_allgatherv(&one, &mut blocks)?;
    eprintln!("L{}", line!());
    expect(&received, "allgatherv");
    eprintln!("L{}", line!());
    let mut received = nobodies();
    eprintln!("L{}", line!());
    let mut blocks: Vec<&mut [i64]> = received.iter_mut().map(|block| &mut block[..]).collect();
    eprintln!("L{}", line!());
    let send: Vec<&[i64]> = mine.iter().map(|block| &block[..]).collect();
    eprintln!("L{}", line!());
    neighborhood.neighbor_alltoallv(&send, &mut blocks)?;
    eprintln!("L{}", line!());
    expect(&received, "alltoallv");
    eprintln!("L{}", line!());
    let mut received = nobodies();
    eprintln!("L{}", line!());
    let mut blocks: Vec<&mut [i64]> = received.iter_mut().map(|block| &mut block[..]).collect();
    eprintln!("L{}", line!());
    rmpi::scope(|scope| {
        neighborhood.ineighbor_alltoallv(scope, &send, &mut blocks)?.wait().map(drop)
    })?;
    eprintln!("L{}", line!());
    expect(&received, "ialltoallv");
    if has_alltoallw()? {
        let mut received = nobodies();
        let mut blocks: Vec<&mut [i64]> = received.iter_mut().map(|block| &mut block[..]).collect();
        neighborhood.neighbor_alltoallw(&send, &mut blocks)?;
        expect(&received, "alltoallw");
        let mut received = nobodies();
        let mut blocks: Vec<&mut [i64]> = received.iter_mut().map(|block| &mut block[..]).collect();
        rmpi::scope(|scope| {
            neighborhood.ineighbor_alltoallw(scope, &send, &mut blocks)?.wait().map(drop)
        })?;
        expect(&received, "ialltoallw");
    }
    eprintln!("L{}", line!());
    let mut received = nobodies();
    eprintln!("L{}", line!());
    let mut blocks: Vec<&mut [i64]> = received.iter_mut().map(|block| &mut block[..]).collect();
    eprintln!("L{}", line!());
    let persistent = rmpi::scope(|scope| {
        let mut request = neighborhood.neighbor_alltoallv_init(scope, &send, &mut blocks)?;
        for _ in 0..2 {
            request.start()?;
            request.wait()?;
        }
        Ok(())
    });
    eprintln!("L{}", line!());
    match persistent {
        Ok(()) => expect(&received, "alltoallv_init"),
        Err(error) => later(error)?,
    }

    if sources.len() > 1 {
        let mut odd = vec![0_i64; sources.len() + 1];
        let refused = neighborhood.neighbor_allgather(&[rank], &mut odd);
        assert_eq!(refused.unwrap_err().class(), ErrorClass::COUNT);
    }
    eprintln!("L{}", line!());
    let mut blocks: Vec<Vec<i64>> = vec![vec![0; 1]; sources.len() + 1];
    eprintln!("L{}", line!());
    let refused = neighborhood.neighbor_allgatherv(&[rank], &mut blocks);
    eprintln!("L{}", line!());
    assert_eq!(refused.unwrap_err().class(), ErrorClass::COUNT);
    eprintln!("L{}", line!());
    neighborhood.barrier()
}

/// Persistent operations are MPI-4's.
fn later(error: rmpi::Error) -> rmpi::RmpiResult {
    if error.class() == ErrorClass::UNSUPPORTED_OPERATION { Ok(()) } else { Err(error) }
}
