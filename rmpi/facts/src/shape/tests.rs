use super::*;

/// What the standard says of functions of all kinds.
#[test]
fn patterns() {
    use FunctionId::*;
    let known = [
        (MPI_Send, Pattern::Send, Timing::Blocking),
        (MPI_Isend_c, Pattern::Send, Timing::Started),
        (MPI_Ssend_init, Pattern::Send, Timing::Persistent),
        (MPI_Psend_init, Pattern::Send, Timing::Persistent),
        (MPI_Precv_init, Pattern::Receive, Timing::Persistent),
        (MPI_Recv, Pattern::Receive, Timing::Blocking),
        (MPI_Imrecv, Pattern::Receive, Timing::Started),
        (MPI_Mprobe, Pattern::Nothing, Timing::Blocking),
        (MPI_Sendrecv_replace, Pattern::SendReceive, Timing::Blocking),
        (MPI_Isendrecv, Pattern::SendReceive, Timing::Started),
        (MPI_Ibcast, Pattern::Broadcast, Timing::Started),
        (MPI_Gatherv_init_c, Pattern::Gather, Timing::Persistent),
        (MPI_Iscatter, Pattern::Scatter, Timing::Started),
        (MPI_Allgatherv, Pattern::Allgather, Timing::Blocking),
        (MPI_Ialltoallw_c, Pattern::Alltoall, Timing::Started),
        (MPI_Reduce, Pattern::Reduce, Timing::Blocking),
        (MPI_Allreduce_init, Pattern::Allreduce, Timing::Persistent),
        (MPI_Scan, Pattern::Allreduce, Timing::Blocking),
        (MPI_Iexscan, Pattern::Exscan, Timing::Started),
        (MPI_Reduce_scatter, Pattern::ReduceScatter, Timing::Blocking),
        (MPI_Reduce_scatter_block, Pattern::ReduceScatter, Timing::Blocking),
        (MPI_Reduce_local, Pattern::Nothing, Timing::Blocking),
        (MPI_Barrier, Pattern::Nothing, Timing::Blocking),
        (MPI_Neighbor_allgatherv, Pattern::NeighborAllgather, Timing::Blocking),
        (MPI_Ineighbor_alltoallw, Pattern::NeighborAlltoall, Timing::Started),
        (MPI_Put, Pattern::Put, Timing::Epoch),
        (MPI_Rget, Pattern::Get, Timing::Started),
        (MPI_Accumulate_c, Pattern::Accumulate, Timing::Epoch),
        (MPI_Rget_accumulate, Pattern::GetAccumulate, Timing::Started),
        (MPI_Fetch_and_op, Pattern::GetAccumulate, Timing::Epoch),
        (MPI_Compare_and_swap, Pattern::GetAccumulate, Timing::Epoch),
        (MPI_Win_create, Pattern::Nothing, Timing::Blocking),
        (MPI_File_read_at_all, Pattern::Read, Timing::Blocking),
        (MPI_File_iwrite_shared, Pattern::Write, Timing::Started),
        (MPI_File_write_ordered_begin, Pattern::Write, Timing::Started),
        (MPI_File_read_all_end, Pattern::SplitEnd, Timing::Blocking),
        (MPI_Pack, Pattern::Nothing, Timing::Blocking),
        (MPI_Unpack_external, Pattern::Nothing, Timing::Blocking),
        (MPI_Buffer_attach, Pattern::Nothing, Timing::Blocking),
    ];
    for (function, pattern, timing) in known {
        let shape = Shape::of(function);
        assert_eq!((shape.pattern, shape.timing), (pattern, timing), "{function}");
    }
}

/// What moves through a window, and has no request, is the only thing that an epoch ends.
#[test]
fn epochs() {
    use Pattern::{Accumulate, Get, GetAccumulate, Put};
    for function in FunctionId::all() {
        let Shape { pattern, timing, new_request, .. } = Shape::of(function);
        let is_one_sided = matches!(pattern, Put | Get | Accumulate | GetAccumulate);
        assert_eq!(timing == Timing::Epoch, is_one_sided && new_request == NONE, "{function}");
    }
}

/// The functions that complete requests are those that MPI-5.0, 3.7.3 and 3.7.5, lists, and no
/// others.
#[test]
fn completions() {
    use FunctionId::*;
    let known = [
        (MPI_Wait, Completion::All),
        (MPI_Testall, Completion::All),
        (MPI_Waitany, Completion::Any),
        (MPI_Testsome, Completion::Some),
        (MPI_Request_get_status_any, Completion::None),
        (MPI_Request_free, Completion::None),
        (MPI_Startall, Completion::None),
        (MPI_Pready, Completion::None),
    ];
    for (function, completion) in known {
        assert_eq!(Shape::of(function).completion, completion, "{function}");
    }
    let completing = FunctionId::all()
        .filter(|&function| Shape::of(function).completion != Completion::None)
        .count();
    assert_eq!(completing, 8, "Wait and Test, each alone, all, any, some");
}

/// A function that frees an object has the address of its handle.
#[test]
fn addresses_of_handles_are_no_handles() {
    assert_eq!(Shape::of(FunctionId::MPI_Comm_free).communicator, NONE);
    assert_eq!(Shape::of(FunctionId::MPI_Win_free).window, NONE);
    assert_eq!(Shape::of(FunctionId::MPI_File_close).file, NONE);
    assert_eq!(Shape::of(FunctionId::MPI_Op_free).operation, NONE);
    assert_eq!(Shape::of(FunctionId::MPI_Comm_free).new_communicator, NONE);
    assert_eq!(Shape::of(FunctionId::MPI_Group_free).new_group, NONE);
    assert_eq!(Shape::of(FunctionId::MPI_Group_incl).new_group, 3);
    assert_eq!(Shape::of(FunctionId::MPI_Comm_dup).communicator, 0);
    assert_eq!(Shape::of(FunctionId::MPI_Comm_dup).new_communicator, 1);
    assert_eq!(Shape::of(FunctionId::MPI_Comm_get_parent).new_communicator, 0);
    assert_eq!(Shape::of(FunctionId::MPI_Intercomm_create).new_communicator, 5);
    assert_eq!(Shape::of(FunctionId::MPI_File_open).communicator, 0);
    assert_eq!(Shape::of(FunctionId::MPI_File_sync).file, 0);
}

/// Positions in the standard's prototypes, of a function of each kind.
#[test]
fn positions() {
    let sendrecv = Shape::of(FunctionId::MPI_Sendrecv);
    let positions = |data: Data| (data.buffer, data.count, data.datatype);
    assert_eq!(positions(sendrecv.sent), (0, 1, 2));
    assert_eq!(positions(sendrecv.received), (5, 6, 7));
    assert_eq!((sendrecv.destination, sendrecv.source, sendrecv.tags), (3, 8, (4, 9)));
    assert_eq!((sendrecv.communicator, sendrecv.statuses), (10, 11));
    let reduce = Shape::of(FunctionId::MPI_Reduce);
    assert_eq!(positions(reduce.sent), (0, 2, 3));
    assert_eq!(positions(reduce.received), (1, 2, 3));
    assert_eq!((reduce.operation, reduce.root, reduce.communicator), (4, 5, 6));
    let swap = Shape::of(FunctionId::MPI_Compare_and_swap);
    assert_eq!(positions(swap.sent), (0, NONE, 3));
    assert_eq!(positions(swap.received), (2, NONE, 3));
    let psend = Shape::of(FunctionId::MPI_Psend_init);
    assert_eq!((psend.sent.partitions, psend.sent.count, psend.sent.datatype), (1, 2, 3));
    let precv = Shape::of(FunctionId::MPI_Precv_init);
    assert_eq!((precv.received.partitions, positions(precv.received)), (1, (0, 2, 3)));
    assert_eq!(precv.sent.buffer, NONE);
    let alltoallw = Shape::of(FunctionId::MPI_Alltoallw);
    assert!(alltoallw.sent.array_of_counts && alltoallw.sent.array_of_datatypes);
    assert_eq!((alltoallw.sent.datatype, alltoallw.received.datatype), (3, 7));
    let get = Shape::of(FunctionId::MPI_Get_accumulate);
    assert_eq!((positions(get.sent), positions(get.received)), ((0, 1, 2), (3, 4, 5)));
    let waitsome = Shape::of(FunctionId::MPI_Waitsome);
    assert_eq!((waitsome.request_count, waitsome.requests), (0, 1));
    assert!(waitsome.array_of_statuses && !sendrecv.array_of_statuses);
    let testany = Shape::of(FunctionId::MPI_Testany);
    assert_eq!((testany.flag, testany.statuses, testany.array_of_statuses), (3, 4, false));
    assert_eq!((waitsome.out_count, waitsome.index, waitsome.statuses), (2, 3, 4));
}

/// The blocking operations of the standard's chapter on collective communication.
#[test]
fn operations_of_all_processes() {
    let all = [
        "Barrier",
        "Bcast",
        "Gather",
        "Gatherv",
        "Scatter",
        "Scatterv",
        "Allgather",
        "Allgatherv",
        "Alltoall",
        "Alltoallv",
        "Alltoallw",
        "Reduce",
        "Allreduce",
        "Reduce_scatter_block",
        "Reduce_scatter",
        "Scan",
        "Exscan",
    ];
    let functions = (0..FunctionId::COUNT).filter_map(FunctionId::from_index);
    let of_all = functions.filter(|function| Shape::of(*function).is_of_all());
    let mut found: Vec<_> = of_all.map(|function| function.name()).collect();
    let large =
        all.into_iter().filter(|name| *name != "Barrier").map(|name| format!("MPI_{name}_c"));
    let mut expected: Vec<_> =
        all.into_iter().map(|name| format!("MPI_{name}")).chain(large).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// What the standard says of functions of all kinds: whether they may have to wait for another process.
#[test]
fn calls_that_may_wait() {
    use FunctionId::*;
    for waits in [
        MPI_Send,
        MPI_Ssend_c,
        MPI_Recv,
        MPI_Mrecv,
        MPI_Sendrecv,
        MPI_Sendrecv_replace,
        MPI_Wait,
        MPI_Waitany,
        MPI_Waitsome,
        MPI_Waitall,
        MPI_Probe,
        MPI_Mprobe,
        MPI_Barrier,
        MPI_Bcast_c,
        MPI_Scan,
        MPI_Neighbor_alltoallw,
    ] {
        assert!(Shape::may_wait(waits), "{waits}");
    }
    for other in [
        MPI_Isend,
        MPI_Send_init,
        MPI_Start,
        MPI_Test,
        MPI_Testall,
        MPI_Testsome,
        MPI_Iprobe,
        MPI_Improbe,
        MPI_Ibcast,
        MPI_Bcast_init,
        MPI_Comm_rank,
        MPI_Request_free,
        MPI_Cancel,
        MPI_Pready,
        MPI_Parrived,
        MPI_Put,
        MPI_Get_count,
        MPI_Buffer_attach,
        MPI_Cart_coords,
        MPI_Ineighbor_alltoall,
        MPI_File_read_all,
        MPI_Wtime,
    ] {
        assert!(!Shape::may_wait(other), "{other}");
    }
}
