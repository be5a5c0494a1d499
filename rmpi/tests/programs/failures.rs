//! What processes do when others fail: functions that only some MPIs have. Right on any number of ranks. With an argument, the
//! last process dies, and the others go on; the launcher has to let them.

use rmpi::{Communicator, Error, ErrorClass, MpiOp, PartitionedCommunicator, RmpiResult, Tag};

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    if std::env::args().nth(1).is_some() {
        one_fails(world)?;
        if rank == 0 {
            println!("failures: {} of {size} went on", size - 1);
        }
        // Not every MPI ends where a process has failed.
        std::process::exit(0);
    }
    let result = nobody_fails(world);
    if let Err(error) = result {
        // What the library lacks says so, and of which function.
        assert_eq!(error.class(), ErrorClass::UNSUPPORTED_OPERATION, "{error}");
        assert!(error.function().is_some_and(|name| name.starts_with("MPIX_Comm_")), "{error}");
    }
    if rank == 0 {
        let how = if result.is_ok() { "with" } else { "without" };
        println!("failures: right on {size} ranks, {how} what MPI calls fault tolerance");
    }
    context.finalize()
}

fn nobody_fails(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut flag = !(1 << rank);
    world.agree(&mut flag)?;
    assert_eq!(flag, (0..size).fold(!0, |bits, rank| bits & !(1 << rank)));
    if rmpi::get_library_version()?.contains("Open MPI") {
        // They do not end where a process has failed.
        let refused = PartitionedCommunicator::new(world).map(drop).unwrap_err();
        assert_eq!(refused.class(), ErrorClass::UNSUPPORTED_OPERATION, "{refused}");
    }
    world.failure_ack()?;
    assert_eq!(world.failure_get_acked()?.size()?, 0);
    let all = world.shrink()?;
    assert_eq!((all.size()?, all.rank()?), (size, rank));
    all.barrier()?;

    let revoked = world.dup()?;
    world.barrier()?;
    if rank == 0 {
        revoked.revoke()?;
    }
    // The others hear of it when they wait, or before.
    let error = loop {
        if let Err(error) = revoked.barrier() {
            break error;
        }
    };
    assert_eq!(error.class(), ErrorClass::REVOKED, "{error}");
    assert!(error.to_string().contains("MPIX_ERR_REVOKED"), "{error}");
    match revoked.is_revoked() {
        Ok(is) => assert!(is),
        Err(error) => assert_eq!(error.class(), ErrorClass::UNSUPPORTED_OPERATION),
    }
    let rest = revoked.shrink()?;
    assert_eq!(rest.size()?, size);
    rest.barrier()?;
    world.barrier()
}

fn is_failure(error: &Error) -> bool {
    [ErrorClass::PROC_FAILED, ErrorClass::REVOKED].contains(&error.class())
}

fn one_fails(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    assert!(size > 2, "somebody dies, and two go on");
    world.barrier()?;
    if rank == size - 1 {
        std::process::abort();
    }
    // Nothing comes of the one that died.
    let mut buffer = [7_u8; 10];
    let error = world.process(size - 1).recv(&mut buffer, Tag::new(0)).unwrap_err();
    assert_eq!(error.class(), ErrorClass::PROC_FAILED, "{error}");
    assert!(error.to_string().contains("MPIX_ERR_PROC_FAILED"), "{error}");
    assert_eq!(buffer, [7; 10]);
    world.failure_ack()?;
    let failed = world.failure_get_acked()?;
    assert_eq!(failed.size()?, 1);
    // An operation whose buffers are the library's until then.
    let lost = world.process(size - 1).irecv_owned(vec![0_u8; 10], Tag::new(1));
    assert!(lost.and_then(rmpi::OwnedRequest::wait).is_err_and(|error| is_failure(&error)));

    let rest = world.shrink()?;
    assert_eq!((rest.size()?, rest.rank()?), (size - 1, rank));
    let mut sum = 0;
    rest.allreduce(&(rank + 1), &mut sum, MpiOp::SUM)?;
    assert_eq!(sum, (1..size).sum());
    let mut flag = 0b110 | i32::from(rank == 0);
    rest.agree(&mut flag)?;
    assert_eq!(flag, 0b110);
    Ok(())
}
