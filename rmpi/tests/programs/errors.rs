//! What can go wrong in safe code is an `Err` of the class that the standard has for it, and the
//! program goes on. Right on any number of ranks.
//!
//! Open MPI, as it comes, copies a message of some thousand bytes straight to the receiver's memory, and
//! writes behind the end of too short a buffer, in C. rmpi starts it with other settings: see `docs/rmpi.md`.

use core::fmt::Debug;

use rmpi::{AnyTag, Communicator, Error, ErrorClass, MpiOp, RequestSlice, RmpiResult, Tag};

const TAG: Tag = Tag::new(5);

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    a_second_init();
    invalid_ranks(world)?;
    invalid_tags(world)?;
    truncation(world)?;
    truncation_of_many(world)?;
    buffers(&context, world)?;
    collective(world)?;
    what_would_crash_an_mpi(&context, world)?;
    invalid_handles(&context)?;
    processes_of_two_communicators(world)?;
    texts(world);
    places(world)?;
    still_works(world)?;
    if world.rank()? == 0 {
        println!("errors: right on {} ranks", world.size()?);
    }
    Ok(())
}

#[track_caller]
fn expect<T: Debug>(result: RmpiResult<T>, class: ErrorClass) -> Error {
    let error = result.expect_err("that is an error");
    assert_eq!(error.class(), class, "{error}");
    assert!(!error.to_string().is_empty());
    error
}

fn a_second_init() {
    expect(rmpi::init(), ErrorClass::OTHER);
    expect(rmpi::init_thread(rmpi::Multiple), ErrorClass::OTHER);
    expect(
        rmpi::pmpi_mode::init().map_err(|error| {
            // The other mode has types of its own.
            // SAFETY: `from_raw` requires a code that MPI gave or one of its classes: another `Error`
            // holds one of these.
            unsafe { Error::from_raw(error.code()) }.expect("a code")
        }),
        ErrorClass::OTHER,
    );
}

fn invalid_ranks(world: &Communicator<'_>) -> RmpiResult {
    let size = world.size()?;
    for rank in [size, size + 1, i32::MAX as usize, usize::MAX, u32::MAX as usize] {
        let nobody = world.process(rank);
        expect(nobody.send(&1, TAG), ErrorClass::RANK);
        expect(nobody.ssend(&1, TAG), ErrorClass::RANK);
        expect(nobody.recv(&mut 1, TAG), ErrorClass::RANK);
        expect(nobody.recv_status(&mut 1, TAG), ErrorClass::RANK);
        expect(nobody.probe(AnyTag), ErrorClass::RANK);
        expect(nobody.iprobe(AnyTag), ErrorClass::RANK);
        expect(nobody.isend_owned(vec![1], TAG), ErrorClass::RANK);
        expect(nobody.irecv_owned(vec![1], TAG), ErrorClass::RANK);
        rmpi::scope(|scope| {
            expect(nobody.isend(scope, &1, TAG), ErrorClass::RANK);
            expect(nobody.send_init(scope, &1, TAG), ErrorClass::RANK);
        });
    }
    Ok(())
}

fn invalid_tags(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    for tag in [u32::MAX, u32::MAX - 1, i32::MAX as u32 + 1] {
        expect(me.send(&1, Tag::new(tag)), ErrorClass::TAG);
        expect(me.recv(&mut 1, Tag::new(tag)), ErrorClass::TAG);
    }
    Ok(())
}

/// A message that is longer than the buffer: nothing behind the buffer changes.
fn truncation(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    for long in [2, 100, 100_000] {
        let message = vec![7_u8; long];
        let mut memory = vec![1_u8; long + 10];
        let (short, behind) = memory.split_at_mut(1);

        let sent = me.isend_owned(message.clone(), TAG)?;
        expect(me.recv(&mut *short, TAG), ErrorClass::TRUNCATE);
        drop(sent);
        assert!(behind.iter().all(|byte| *byte == 1));

        let sent = me.isend_owned(message.clone(), TAG)?;
        rmpi::scope(|scope| {
            let request = me.irecv(scope, &mut *short, TAG)?;
            truncated(request.wait());
            Ok::<_, Error>(())
        })?;
        drop(sent);
        assert!(behind.iter().all(|byte| *byte == 1));

        let sent = me.isend_owned(message.clone(), TAG)?;
        truncated(me.irecv_owned(vec![0_u8], TAG)?.wait());
        drop(sent);

        let sent = me.isend_owned(message, TAG)?;
        let (message, _) = me.mprobe(TAG)?;
        expect(message.mrecv(&mut *short), ErrorClass::TRUNCATE);
        drop(sent);
        assert!(behind.iter().all(|byte| *byte == 1));
    }
    Ok(())
}

/// Open MPI does not tell of a short message to oneself that its buffer was too short for.
#[track_caller]
fn truncated<T: Debug>(result: RmpiResult<T>) {
    if result.is_err() || !is_open_mpi() {
        expect(result, ErrorClass::TRUNCATE);
    }
}

fn is_open_mpi() -> bool {
    rmpi::get_library_version().is_ok_and(|version| version.contains("Open MPI"))
}

/// One of several fails; the others arrive.
fn truncation_of_many(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    for way in 0..5 {
        let mut received = [vec![0_u8; 4], vec![0; 1], vec![0; 4]];
        rmpi::scope(|scope| {
            let mut requests = Vec::new();
            for (i, buffer) in (0..).zip(&mut received) {
                requests.push(Some(me.irecv(scope, buffer, Tag::new(20 + i))?));
            }
            let sent: Vec<_> = (0..3)
                .map(|i| me.isend_owned(vec![i as u8 + 1; 4], Tag::new(20 + i)))
                .collect::<Result<_, _>>()?;
            let mut slice = RequestSlice::new(&mut requests);
            let mut failures = 0;
            // A failure leaves what is pending; at the end all are complete.
            for _ in 0..1_000_000 {
                let (result, any) = match way {
                    0 => (slice.waitall(), true),
                    1 => (slice.waitall_status().map(drop), true),
                    2 => match slice.waitany() {
                        Ok(completed) => (Ok(()), completed.is_none()),
                        Err(error) => (Err(error), false),
                    },
                    3 => match slice.waitsome() {
                        Ok(completed) => (Ok(()), completed.is_empty()),
                        Err(error) => (Err(error), false),
                    },
                    _ => match slice.testall() {
                        Ok(completed) => (Ok(()), completed.is_some()),
                        Err(error) => (Err(error), false),
                    },
                };
                if let Err(error) = result {
                    let allowed = [ErrorClass::TRUNCATE, ErrorClass::IN_STATUS];
                    assert!(allowed.contains(&error.class()), "way {way}: {error}");
                    failures += 1;
                    continue;
                }
                if any {
                    break;
                }
            }
            // MPICH's MPI_Testall tells of it until the others are complete, too.
            let all_told = failures == 1 || way == 4 && failures > 1;
            assert!(all_told || is_open_mpi() && failures == 0, "way {way}: {failures} failures");
            drop(sent);
            Ok::<_, Error>(())
        })?;
        assert_eq!(received[0], [1; 4], "way {way}");
        assert_eq!(received[2], [3; 4], "way {way}");
    }
    Ok(())
}

fn buffers(context: &rmpi::RmpiContext, world: &Communicator<'_>) -> RmpiResult {
    expect(context.buffer_detach(), ErrorClass::BUFFER);
    // No buffer is attached. On a communicator of its own: Open MPI counts the message as one that was
    // sent, and no later one arrives.
    let copy = world.dup()?;
    assert!(copy.process(copy.rank()?).bsend(&[1.0; 1000], TAG).is_err());

    let datatype = rmpi::DatatypeRef::of::<f64>(world)?;
    let mut bytes = [0_u8; 20];
    for count in [3, 1000, usize::MAX, i64::MAX as usize] {
        expect(rmpi::TypeDynamicBufferRef::from_bytes(&bytes, count, datatype), ErrorClass::COUNT);
        expect(
            rmpi::TypeDynamicBufferMut::from_bytes(&mut bytes, count, datatype),
            ErrorClass::COUNT,
        );
    }
    rmpi::TypeDynamicBufferMut::from_bytes(&mut bytes, 2, datatype)?;
    Ok(())
}

/// Lengths and ranks that do not go with the communicator; the same on all ranks.
fn collective(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let nobody = world.process(size);
    assert!(nobody.bcast(&mut 1).is_err());
    expect(world.allgather(&[1, 2][..], &mut vec![0; 2 * size + 1]), ErrorClass::COUNT);
    expect(world.allgather(&[1, 2][..], &mut vec![0; size]), ErrorClass::COUNT);
    expect(world.alltoall(vec![1; size], &mut vec![0; 2 * size]), ErrorClass::COUNT);
    expect(world.allreduce(&[1, 2][..], &mut [0][..], MpiOp::SUM), ErrorClass::COUNT);
    let other = world.process((rank + 1) % size);
    if size > 1 {
        expect(other.gather_in_place(&mut vec![0; size]), ErrorClass::ROOT);
    }
    expect(world.process(rank).gather(&1), ErrorClass::ROOT);
    expect(world.allgatherv(&1, &mut Vec::<&mut [i32]>::new()), ErrorClass::COUNT);
    // An operation that the standard does not have for the type.
    let bytes = [rmpi::Byte(1)];
    expect(world.allreduce(&bytes, &mut [rmpi::Byte(0)], MpiOp::SUM), ErrorClass::OP);
    Ok(())
}

/// Some MPIs divide by zero, write where they should not or never come back.
fn what_would_crash_an_mpi(context: &rmpi::RmpiContext, world: &Communicator<'_>) -> RmpiResult {
    for (nodes, dims) in [(6, [65536, 65536, 0]), (0, [0; 3]), (i32::MAX as usize, [0; 3])] {
        expect(rmpi::dims_create(context, nodes, &mut dims.clone()), ErrorClass::DIMS);
    }
    assert!(world.cart_create(&[1; 20], &[true; 20], false).is_err());
    let long = "x".repeat(100_000);
    let mode = rmpi::AccessMode::RDONLY;
    expect(rmpi::File::open(world, &long, mode, None), ErrorClass::BAD_FILE);
    let status = world.process_null().recv_status(&mut [0_u8; 3], AnyTag)?;
    assert_eq!(status.get_count::<[u8; 0]>()?, None);
    assert!(world.process(0).send(&[[(); usize::MAX]; 3][..], TAG).is_err());
    let mut greatest = 0;
    rmpi::scope(|scope| {
        let mut request = world.iallreduce(scope, &1, &mut greatest, MpiOp::MAX)?;
        expect(request.cancel(), ErrorClass::REQUEST);
        request.wait().map(drop)
    })?;
    // A struct ends behind the last of its data: nine bytes are none.
    let datatype = rmpi::DatatypeRef::of::<Padded>(context)?;
    let mut nine = vec![0_u8; 9];
    if let Ok(mut buffer) = rmpi::TypeDynamicBufferMut::from_bytes(&mut nine, 1, datatype) {
        assert!(buffer.as_mut_slice::<Padded>()?.is_none());
    }
    Ok(())
}

#[derive(Clone, Copy, rmpi::MpiDatatype)]
struct Padded {
    _number: u64,
    _byte: u8,
}

/// Safe code has none; tools can.
fn invalid_handles(context: &rmpi::RmpiContext) -> RmpiResult {
    let _ = context;
    // SAFETY: `borrow_raw` requires a communicator, and this is none: a null handle, which MPI compares
    // with its constant before it follows it. That MPI refuses it is what is tested.
    let null = unsafe { Communicator::<rmpi::Single>::borrow_raw(rmpi::mpi_sys::MPI_COMM_NULL) };
    expect(null.rank(), ErrorClass::COMM);
    expect(null.size(), ErrorClass::COMM);
    expect(null.process(0).send(&1, TAG), ErrorClass::COMM);
    expect(null.dup(), ErrorClass::COMM);
    Ok(())
}

fn processes_of_two_communicators(world: &Communicator<'_>) -> RmpiResult {
    let other = world.dup()?;
    let (to, from) = (world.process(0), other.process(0));
    expect(to.sendrecv(&1, TAG, &from, &mut 2, TAG), ErrorClass::COMM);
    other.free()
}

fn texts(world: &Communicator<'_>) {
    let error = expect(world.process(usize::MAX).send(&1, TAG), ErrorClass::RANK);
    assert!(format!("{error:?}").contains("RANK"), "{error:?}");
    assert!(error.to_string().contains("RANK"), "{error}");
    let _: &dyn std::error::Error = &error;
}

/// An error says of which function it is, and who got it, in which communicator.
fn places(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let nobody = world.process(size);
    let error = expect(nobody.send(&1, TAG), ErrorClass::RANK);
    assert_eq!(error.function(), Some("MPI_Send"));
    assert_eq!((error.communicator(), error.rank()), (Some("MPI_COMM_WORLD"), Some(rank)));
    let place = format!("(MPI_ERR_RANK; MPI_Send, rank {rank} of MPI_COMM_WORLD)");
    assert!(error.to_string().ends_with(&place), "{error}");
    assert!(format!("{error:?}").contains("MPI_Send"), "{error:?}");
    // What differs is where they come from.
    assert_eq!(error, nobody.recv(&mut 1, TAG).unwrap_err());

    // In the order of the ranks backwards, with a name and without one.
    let reversed = world.split(Some(0), -(rank as i32))?.expect("a color was given");
    reversed.set_name(c"")?;
    let error = expect(reversed.process(size).bcast(&mut 1), ErrorClass::RANK);
    let unnamed = format!("a communicator of {size}");
    assert_eq!((error.communicator(), error.rank()), (Some(&unnamed[..]), Some(size - 1 - rank)));
    assert_eq!(error.function(), Some("MPI_Bcast"));
    reversed.set_name(c"reversed")?;
    let error =
        expect(reversed.any_source().receive_vec::<i32>(Tag::new(u32::MAX)), ErrorClass::TAG);
    assert_eq!((error.communicator(), error.function()), (Some("reversed"), Some("MPI_Mprobe")));
    drop(reversed);
    assert_eq!(error.communicator(), Some("reversed"));

    // One that MPI found, of a function that has no communicator to ask.
    let me = world.process(rank);
    let long = [1_u8; 100];
    let error = rmpi::scope(|scope| {
        let receive = me.irecv_owned(vec![0_u8; 10], TAG)?.into_scope(scope);
        me.isend(scope, &long, TAG)?;
        receive.wait().map(drop)
    });
    // Open MPI does not say that there was more.
    if let Err(error) = error {
        assert_eq!((error.function(), error.communicator()), (Some("MPI_Wait"), None));
        assert!(error.to_string().ends_with("(MPI_ERR_TRUNCATE; MPI_Wait)"), "{error}");
    }
    // Of a communicator whose name changes all the time, there is an end to what is kept.
    let copy = world.dup()?;
    let mut named = 0;
    for number in 0..1500 {
        copy.set_name(&std::ffi::CString::new(format!("copy {number}")).expect("a text"))?;
        let error = copy.process(size).recv(&mut 1, TAG).unwrap_err();
        assert_eq!(error.function(), Some("MPI_Recv"));
        named += usize::from(error.communicator().is_some());
    }
    assert!((900..=1024).contains(&named), "{named}");
    Ok(())
}

fn still_works(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    let mut got = 0;
    me.sendrecv(&42, TAG, &me, &mut got, TAG)?;
    assert_eq!(got, 42);
    Ok(())
}
