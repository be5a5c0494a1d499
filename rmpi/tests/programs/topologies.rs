//! Grids and graphs, and collective operations with neighbours.

use rmpi::{
    CartCommunicator, Communicator, DistGraphCommunicator, ErrorClass, ErrorHandler,
    GraphCommunicator, Neighborhood, Tag, TopologyKind,
};

fn main() -> rmpi::RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    assert_eq!(world.topo_test()?, TopologyKind::Undefined);
    grids(world)?;
    graphs(world)?;
    dist_graphs(world)?;
    if world.rank()? == 0 {
        println!("topologies: right on {} ranks", world.size()?);
    }
    Ok(())
}

fn grids(world: &Communicator<'_>) -> rmpi::RmpiResult {
    let size = world.size()?;
    let mut dims = [0, 0];
    rmpi::dims_create(world, size, &mut dims)?;
    assert_eq!(dims[0] * dims[1], size);
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
    let smaller = world.cart_create(&[size.max(2) - 1], &[true], false)?;
    assert_eq!(smaller.is_some(), size == 1 || world.rank()? < size - 1);
    drop(smaller);

    let torus = world.cart_create(&dims, &[true, false], true)?.expect("all are in it");
    assert_eq!(torus.get_errhandler()?, Some(ErrorHandler::Return));
    assert_eq!(torus.topo_test()?, TopologyKind::Cartesian);
    assert_eq!((torus.ndims(), torus.indegree()), (2, 4));
    let rank = torus.rank()?;
    let mine = torus.coords(rank)?;
    assert_eq!(torus.get()?, (dims.to_vec(), vec![true, false], mine.clone()));
    let (x, y) = (mine[0] as i32, mine[1] as i32);
    assert_eq!(torus.rank_at(&[x, y])?, rank);
    assert_eq!(torus.rank_at(&[x - dims[0] as i32, y])?, rank, "it wraps around");
    torus.rank_at(&[i32::MIN, y])?;
    for outside in [&[x, -1][..], &[x, dims[1] as i32], &[x]] {
        assert_eq!(torus.rank_at(outside).unwrap_err().class(), ErrorClass::DIMS);
    }
    assert_eq!(torus.coords(size).unwrap_err().class(), ErrorClass::RANK);
    assert_eq!(torus.shift(2, 1).unwrap_err().class(), ErrorClass::DIMS);
    let (below, above) = torus.shift(0, 1)?;
    assert_eq!(above.rank(), Some(torus.rank_at(&[x + 1, y])?));
    let (far_below, far_above) = torus.shift(0, i32::MAX)?;
    assert_eq!(far_above.rank(), Some(torus.rank_at(&[x + i32::MAX % dims[0] as i32, y])?));
    let mut from = usize::MAX;
    far_below.sendrecv(&rank, Tag::new(1), &far_above, &mut from, Tag::new(1))?;
    assert_eq!(Some(from), far_above.rank());
    let mut from = usize::MAX;
    above.sendrecv(&rank, Tag::new(0), &below, &mut from, Tag::new(0))?;
    assert_eq!(Some(from), below.rank());
    let (_, beyond) = torus.shift(1, i32::MAX)?;
    assert_eq!(beyond.rank(), None, "MPI_PROC_NULL");

    let row = torus.sub(&[false, true])?;
    assert_eq!((row.ndims(), row.size()?), (1, dims[1]));
    assert_eq!(row.coords(row.rank()?)?, [mine[1]]);
    assert!(torus.sub(&[true]).is_err());
    if world.cart_map(&dims, &[true, false])?.is_none() {
        println!("not in the grid");
    }

    let neighbors = [torus.shift(0, 1)?, torus.shift(1, 1)?];
    let ranks: Vec<_> =
        neighbors.iter().flat_map(|(below, above)| [below.rank(), above.rank()]).collect();
    exchange(&torus, &ranks, &ranks)?;

    let copy = CartCommunicator::new(torus.dup()?)?;
    assert_eq!(copy.get()?.0, dims);
    assert!(GraphCommunicator::new(torus.dup()?).is_err());
    // Before 5, MPICH fails or hangs when there is no dimension left.
    if !is_old_mpich()? {
        let point = torus.sub(&[false, false])?;
        assert_eq!((point.ndims(), point.size()?, point.indegree()), (0, 1, 0));
    }
    torus.into_communicator().free()
}

fn graphs(world: &Communicator<'_>) -> rmpi::RmpiResult {
    let size = world.size()?;
    // A star, with the first process in the middle.
    let star: Vec<Vec<usize>> =
        (0..size).map(|rank| if rank == 0 { (1..size).collect() } else { vec![0] }).collect();
    let graph = world.graph_create(&star, false)?.expect("all are in it");
    assert_eq!(graph.get_errhandler()?, Some(ErrorHandler::Return));
    let rank = graph.rank()?;
    assert_eq!(graph.neighbors(rank)?, star[rank]);
    assert_eq!(graph.neighbors_count(0)?, size - 1);
    assert_eq!(graph.dims_get()?, (size, 2 * (size - 1)));
    assert_eq!(graph.get()?, star);
    assert_eq!(graph.neighbors(size).unwrap_err().class(), ErrorClass::RANK);
    let refused = world.graph_create(&[[size]], false);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::RANK);
    let refused = world.graph_create(&vec![[0]; size + 1], false);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::DIMS);
    world.graph_map(&star)?;
    let ranks: Vec<_> = star[rank].iter().map(|rank| Some(*rank)).collect();
    exchange(&graph, &ranks, &ranks)
}

fn dist_graphs(world: &Communicator<'_>) -> rmpi::RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let ring = world.dist_graph_create_adjacent(&[left], &[right], None, None, false)?;
    assert_eq!(ring.get_errhandler()?, Some(ErrorHandler::Return));
    let neighbors = ring.neighbors()?;
    assert_eq!((neighbors.sources, neighbors.destinations), (vec![left], vec![right]));
    assert!(!ring.weighted() && neighbors.weights.is_none());
    exchange(&ring, &[Some(left)], &[Some(right)])?;

    // From all to the first one, with weights.
    let to_first: &[usize] = if rank == 0 { &[] } else { &[0] };
    let to_weights: &[u32] = if rank == 0 { &[] } else { &[7] };
    let (from, from_weights): (Vec<usize>, Vec<u32>) =
        (1..if rank == 0 { size } else { 1 }).map(|rank| (rank, 7)).unzip();
    let weights = Some((&from_weights[..], to_weights));
    let funnel = world.dist_graph_create_adjacent(&from, to_first, weights, None, false)?;
    let neighbors = funnel.neighbors()?;
    assert_eq!((neighbors.sources, neighbors.destinations), (from.clone(), to_first.to_vec()));
    assert_eq!(neighbors.weights, Some((from_weights.clone(), to_weights.to_vec())));
    let some = |ranks: &[usize]| ranks.iter().map(|rank| Some(*rank)).collect::<Vec<_>>();
    exchange(&funnel, &some(&from), &some(to_first))?;

    // Each tells the edge that leaves its left neighbour, which is one to this process.
    let ring = world.dist_graph_create(&[left], &[1], &[rank], Some(&[3]), None, false)?;
    let neighbors = ring.neighbors()?;
    assert_eq!((neighbors.sources, neighbors.destinations), (vec![left], vec![right]));
    assert_eq!(neighbors.weights, Some((vec![3], vec![3])));
    let again = DistGraphCommunicator::new(ring.dup()?)?;
    exchange(&again, &[Some(left)], &[Some(right)])?;
    let alone = world.dist_graph_create(&[], &[], &[], None, None, false)?;
    assert_eq!((alone.indegree(), alone.outdegree()), (0, 0));
    exchange(&alone, &[], &[])?;

    let refused = world.dist_graph_create_adjacent(&[size], &[], None, None, false);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::RANK);
    let refused = world.dist_graph_create(&[0], &[2], &[0], None, None, false);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::ARG);
    let refused = world.dist_graph_create(&[0], &[1], &[0], Some(&[]), None, false);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::ARG);
    Ok(())
}

/// Not MPICH before 4.1, as Debian's, which delivers wrong data in `Neighbor_alltoallw`.
fn is_fixed() -> rmpi::RmpiResult<bool> {
    let version = rmpi::get_library_version()?;
    Ok(!version.contains("4.0.2") && !version.contains("3.4.3"))
}

/// Is this MPICH before 5, or Intel MPI, which is made of it?
fn is_old_mpich() -> rmpi::RmpiResult<bool> {
    let version = rmpi::get_library_version()?;
    let number = version.strip_prefix("MPICH Version:").map(str::trim_start);
    Ok(number.is_some_and(|number| number.starts_with(['3', '4'])) || version.contains("Intel"))
}

/// All collective operations with neighbours, which are `None` where nobody is.
fn exchange(
    neighborhood: &Neighborhood<'_>,
    sources: &[Option<usize>],
    destinations: &[Option<usize>],
) -> rmpi::RmpiResult {
    const NOBODY: [i64; 2] = [-1, -1];
    assert_eq!(neighborhood.indegree(), sources.len());
    assert_eq!(neighborhood.outdegree(), destinations.len());
    let rank = neighborhood.rank()? as i64;
    let nobodies = || vec![NOBODY; sources.len()];
    let expect = |received: &[[i64; 2]], what: &str| {
        let expected: Vec<_> =
            sources.iter().map(|from| from.map_or(NOBODY, |from| [from as i64, 1])).collect();
        assert_eq!(received, expected, "{what} of rank {rank}");
    };

    let one = [rank, 1];
    let mut received = nobodies();
    neighborhood.neighbor_allgather(&one, &mut received)?;
    expect(&received, "allgather");
    let mut received = nobodies();
    rmpi::scope(|scope| {
        neighborhood.ineighbor_allgather(scope, &one, &mut received)?.wait().map(drop)
    })?;
    expect(&received, "iallgather");

    let mine = vec![[rank, 1]; destinations.len()];
    let mut received = nobodies();
    neighborhood.neighbor_alltoall(&mine, &mut received)?;
    expect(&received, "alltoall");
    let mut received = nobodies();
    rmpi::scope(|scope| {
        neighborhood.ineighbor_alltoall(scope, &mine, &mut received)?.wait().map(drop)
    })?;
    expect(&received, "ialltoall");
    let mut received = nobodies();
    let persistent = rmpi::scope(|scope| {
        let mut request = neighborhood.neighbor_alltoall_init(scope, &mine, &mut received)?;
        for _ in 0..2 {
            request.start()?;
            request.wait()?;
        }
        Ok(())
    });
    match persistent {
        Ok(()) => expect(&received, "alltoall_init"),
        Err(error) => later(error)?,
    }

    let mut received = nobodies();
    let mut blocks: Vec<&mut [i64]> = received.iter_mut().map(|block| &mut block[..]).collect();
    neighborhood.neighbor_allgatherv(&one, &mut blocks)?;
    expect(&received, "allgatherv");
    let mut received = nobodies();
    let mut blocks: Vec<&mut [i64]> = received.iter_mut().map(|block| &mut block[..]).collect();
    let send: Vec<&[i64]> = mine.iter().map(|block| &block[..]).collect();
    neighborhood.neighbor_alltoallv(&send, &mut blocks)?;
    expect(&received, "alltoallv");
    let mut received = nobodies();
    let mut blocks: Vec<&mut [i64]> = received.iter_mut().map(|block| &mut block[..]).collect();
    rmpi::scope(|scope| {
        neighborhood.ineighbor_alltoallv(scope, &send, &mut blocks)?.wait().map(drop)
    })?;
    expect(&received, "ialltoallv");
    if is_fixed()? {
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
    let mut received = nobodies();
    let mut blocks: Vec<&mut [i64]> = received.iter_mut().map(|block| &mut block[..]).collect();
    let persistent = rmpi::scope(|scope| {
        let mut request = neighborhood.neighbor_alltoallv_init(scope, &send, &mut blocks)?;
        for _ in 0..2 {
            request.start()?;
            request.wait()?;
        }
        Ok(())
    });
    match persistent {
        Ok(()) => expect(&received, "alltoallv_init"),
        Err(error) => later(error)?,
    }

    if sources.len() > 1 {
        let mut odd = vec![0_i64; sources.len() + 1];
        let refused = neighborhood.neighbor_allgather(&[rank], &mut odd);
        assert_eq!(refused.unwrap_err().class(), ErrorClass::COUNT);
    }
    let mut blocks: Vec<Vec<i64>> = vec![vec![0; 1]; sources.len() + 1];
    let refused = neighborhood.neighbor_allgatherv(&[rank], &mut blocks);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::COUNT);
    neighborhood.barrier()
}

/// Persistent operations are MPI-4's.
fn later(error: rmpi::Error) -> rmpi::RmpiResult {
    if error.class() == ErrorClass::UNSUPPORTED_OPERATION { Ok(()) } else { Err(error) }
}
