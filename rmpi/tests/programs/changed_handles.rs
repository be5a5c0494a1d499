//! MPI gives a changed handle back, and an error with it: the handle counts whatever the error is. Some MPIs free a
//! request when its operation has failed, and some take another one for it. Here a function does so that stands for
//! MPI's, and a message that is too long.

use std::cell::Cell;
use std::ptr;

use rmpi::mpi_sys::{self as sys, MPI_Request, MPI_Status, c_int};
use rmpi::{
    Active, Communicator, ErrorClass, MpiOp, OwnedRequest, PersistentRequest, RequestSlice,
    RmpiResult, Tag, Window,
};

const TAG: Tag = Tag::new(7);

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    freed_by_a_wait(world)?;
    freed_by_a_test(world)?;
    freed_by_an_error_of_free(world)?;
    another_one_by_a_start(world)?;
    another_one_by_a_startall(world)?;
    single(world)?;
    sets(world)?;
    windows(world)?;
    for length in [100, 5_000] {
        too_long(world, length)?;
    }
    let mut sum = 0;
    world.allreduce(&1, &mut sum, MpiOp::SUM)?;
    assert_eq!(sum, world.size()?);
    if world.rank()? == 0 {
        println!("right on {sum} ranks");
    }
    Ok(())
}

/// What a function says that has freed a request.
const FAILED: c_int = sys::MPI_ERR_TRUNCATE;

/// Ends a request as some MPIs do when its operation has failed: frees it, and says so.
///
/// # Safety
/// It is the address of a request.
unsafe fn free(request: *mut MPI_Request) -> c_int {
    // SAFETY: MPI_Wait and MPI_Request_free ask for a request, which the caller promises.
    unsafe {
        assert_eq!(sys::MPI_Wait(request, sys::MPI_STATUS_IGNORE), sys::MPI_SUCCESS);
        if *request != sys::MPI_REQUEST_NULL {
            assert_eq!(sys::MPI_Request_free(request), sys::MPI_SUCCESS);
        }
        assert!(*request == sys::MPI_REQUEST_NULL);
    }
    FAILED
}

fn class<T>(result: RmpiResult<T>) -> Option<ErrorClass> {
    result.err().map(|error| error.class())
}

/// The request is freed, its slot is nobody else's, and the buffer is there.
fn is_gone(mut request: PersistentRequest<'_, Vec<i32>>) -> RmpiResult {
    assert_eq!(request.buffer(), Some(&[5][..]), "nobody uses the buffer any more");
    request.buffer_mut().expect("so it can be changed")[0] = 6;
    let refused = Some(ErrorClass::REQUEST);
    assert_eq!(class(request.start()), refused);
    assert_eq!(class(PersistentRequest::startall(std::slice::from_mut(&mut request))), refused);
    assert_eq!(class(request.wait()), refused);
    assert_eq!(class(request.test()), refused);
    assert_eq!(request.free()?, [6]);
    Ok(())
}

fn freed_by_a_wait(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    rmpi::scope(|scope| {
        let mut request = me.send_init(scope, vec![5], TAG)?;
        request.start()?;
        me.recv(&mut 0, TAG)?;
        // SAFETY: a function that does as MPI_Wait may where it fails.
        let result = unsafe { request.wait_with(|raw: *mut MPI_Request, _| free(raw)) };
        assert_eq!(class(result), Some(ErrorClass::TRUNCATE));
        // It takes a free slot, if the one before gave up its own.
        let mut other = me.send_init(scope, vec![8], TAG)?;
        is_gone(request)?;
        let mut got = 0;
        other.start()?;
        me.recv(&mut got, TAG)?;
        other.wait()?;
        assert_eq!(got, 8);
        Ok(())
    })
}

fn freed_by_a_test(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    rmpi::scope(|scope| {
        let mut request = me.send_init(scope, vec![5], TAG)?;
        request.start()?;
        me.recv(&mut 0, TAG)?;
        // SAFETY: a function that does as MPI_Test may where it fails.
        let result = unsafe { request.test_with(|raw: *mut MPI_Request, _, _| free(raw)) };
        assert_eq!(class(result), Some(ErrorClass::TRUNCATE));
        is_gone(request)
    })
}

fn freed_by_an_error_of_free(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    rmpi::scope(|scope| {
        let request = me.send_init(scope, vec![5], TAG)?;
        // SAFETY: a function that does as MPI_Request_free may where it fails.
        let result = unsafe { request.free_with(|raw: *mut MPI_Request| free(raw)) };
        assert_eq!(class(result), Some(ErrorClass::TRUNCATE));
        // The end of the scope frees what is left, once.
        Ok(())
    })
}

/// As Open MPI does where it still has to do with the last message of a request.
fn another_one_by_a_start(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    let (mut got, first, second) = (0, [5], [6]);
    rmpi::scope(|scope| {
        let mut request = me.send_init(scope, &first, TAG)?;
        let mut other = me.send_init(scope, &second, TAG)?;
        // SAFETY: a function that does as MPI_Start: it starts a request that is at the address afterwards. The
        // buffer of the other one lives as long.
        unsafe {
            let others = take(&mut other);
            request.start_with(|raw: *mut MPI_Request| {
                assert_eq!(sys::MPI_Request_free(raw), sys::MPI_SUCCESS);
                *raw = others;
                sys::MPI_Start(raw)
            })?;
        }
        me.recv(&mut got, TAG)?;
        request.wait()?;
        Ok(())
    })?;
    assert_eq!(got, 6);
    Ok(())
}

fn another_one_by_a_startall(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    let (mut got, first, second) = (0, [5], [6]);
    rmpi::scope(|scope| {
        let mut request = me.send_init(scope, &first, TAG)?;
        let mut other = me.send_init(scope, &second, TAG)?;
        // SAFETY: as above, of MPI_Startall.
        unsafe {
            let others = take(&mut other);
            let requests = std::slice::from_mut(&mut request);
            PersistentRequest::startall_with(
                |count: c_int, raw: *mut MPI_Request| {
                    assert_eq!(sys::MPI_Request_free(raw), sys::MPI_SUCCESS);
                    *raw = others;
                    sys::MPI_Startall(count, raw)
                },
                requests,
            )?;
        }
        me.recv(&mut got, TAG)?;
        request.wait()?;
        Ok(())
    })?;
    assert_eq!(got, 6);
    Ok(())
}

/// The handle of a request that is somebody else's from now on.
///
/// # Safety
/// Whoever gets it frees it.
unsafe fn take<B>(request: &mut PersistentRequest<'_, B>) -> MPI_Request {
    let mut handle = sys::MPI_REQUEST_NULL;
    // SAFETY: a function that does as MPI_Start may where it fails: it leaves no request.
    let result = unsafe {
        request.start_with(|raw: *mut MPI_Request| {
            handle = ptr::replace(raw, sys::MPI_REQUEST_NULL);
            FAILED
        })
    };
    assert!(result.is_err());
    handle
}

fn single(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    let dropped = Cell::new(0);
    rmpi::scope(|scope| -> RmpiResult {
        for how in 0..3 {
            let request = me.isend(scope, &[5], TAG)?;
            me.recv(&mut 0, TAG)?;
            // SAFETY: functions that do as MPI's may where they fail.
            let failed = unsafe {
                match how {
                    0 => class(request.wait_with(|raw: *mut MPI_Request, _| free(raw))),
                    1 => class(request.wait_status_with(|raw: *mut MPI_Request, _| free(raw))),
                    _ => class(request.test_with(|raw: *mut MPI_Request, _, _| free(raw))),
                }
            };
            assert_eq!(failed, Some(ErrorClass::TRUNCATE));
        }
        Ok(())
    })?;
    for how in 0..2 {
        let request = me.isend_owned(vec![5], TAG)?;
        me.recv(&mut 0, TAG)?;
        // SAFETY: as above.
        let failed = unsafe {
            match how {
                0 => class(request.wait_with(|raw: *mut MPI_Request, _| free(raw))),
                _ => class(request.test_with(|raw: *mut MPI_Request, _, _| free(raw))),
            }
        };
        assert_eq!(failed, Some(ErrorClass::TRUNCATE));
        dropped.set(dropped.get() + 1);
    }
    assert_eq!(dropped.get(), 2);
    Ok(())
}

/// The second one fails, and is freed; the others are as they were.
///
/// # Safety
/// There are two requests at least at the address.
unsafe fn second_fails(requests: *mut MPI_Request) -> c_int {
    // SAFETY: `free` asks for the address of a request, which the caller promises.
    unsafe { free(requests.add(1)) }
}

fn sets(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    for how in 0..6 {
        let mut requests: Vec<Option<OwnedRequest<'_, Vec<i32>>>> = Vec::new();
        for number in 0..3 {
            requests.push(Some(me.isend_owned(vec![number], TAG)?));
            me.recv(&mut 0, TAG)?;
        }
        let mut slice = RequestSlice::new(&mut requests);
        // SAFETY: functions that do as MPI's may where one of the operations fails.
        let failed = unsafe {
            match how {
                0 => class(slice.waitany_with(|_, raw: *mut MPI_Request, _, _| second_fails(raw))),
                1 => {
                    class(slice.testany_with(|_, raw: *mut MPI_Request, _, _, _| second_fails(raw)))
                }
                2 => class(slice.waitall_with(|_, raw: *mut MPI_Request, _| second_fails(raw))),
                3 => {
                    class(slice.testall_with(|_, raw: *mut MPI_Request, _, _: *mut MPI_Status| {
                        second_fails(raw)
                    }))
                }
                4 => class(
                    slice.waitsome_with(|_, raw: *mut MPI_Request, _, _, _| second_fails(raw)),
                ),
                _ => class(
                    slice.testsome_with(|_, raw: *mut MPI_Request, _, _, _| second_fails(raw)),
                ),
            }
        };
        assert_eq!(failed, Some(ErrorClass::TRUNCATE));
        let left: Vec<bool> = requests.iter().map(Option::is_some).collect();
        assert_eq!(left, [true, false, true]);
        assert_eq!(RequestSlice::new(&mut requests).waitall_status()?.len(), 2);
    }
    Ok(())
}

/// A window that is freed, and an error with it, is not freed again at the end of the scope.
fn windows(world: &Communicator<'_>) -> RmpiResult {
    let mut memory = [0_u64; 10];
    rmpi::window_scope(|scope| -> RmpiResult {
        let window = Window::create(scope, world, &mut memory, None, Active)?;
        // SAFETY: a function that does as MPI_Win_free may where it fails.
        let result = unsafe {
            window.free_with(|raw: *mut sys::MPI_Win| {
                assert_eq!(sys::MPI_Win_free(raw), sys::MPI_SUCCESS);
                sys::MPI_ERR_WIN
            })
        };
        assert_eq!(class(result), Some(ErrorClass::WIN));
        Ok(())
    })
}

/// A persistent receive whose message is too long, again and again, in a scope that frees what is left.
fn too_long(world: &Communicator<'_>, length: usize) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = (world.process((rank + size - 1) % size), world.process((rank + 1) % size));
    let (mine, mut memory) = (vec![3_u64; length], vec![0_u64; length + 10]);
    let (got, behind) = memory.split_at_mut(10);
    for how in 0..4 {
        rmpi::scope(|scope| -> RmpiResult {
            let mut send = right.send_init(scope, &mine, TAG)?;
            let mut receive = left.recv_init(scope, &mut *got, TAG)?;
            receive.start()?;
            send.start()?;
            let failed = match how {
                0 | 1 => class(receive.wait()),
                _ => loop {
                    match receive.test() {
                        Ok(None) => {}
                        other => break class(other),
                    }
                },
            };
            // Open MPI says nothing of a short one from a process to itself.
            assert!(failed == Some(ErrorClass::TRUNCATE) || size == 1 && failed.is_none());
            send.wait()?;
            if how % 2 == 1 {
                // Either MPI has freed it, or it has ended, and says so.
                let again = class(receive.wait());
                assert!([None, Some(ErrorClass::REQUEST)].contains(&again), "{again:?}");
            }
            Ok(())
        })?;
        world.barrier()?;
    }
    assert!(behind.iter().all(|word| *word == 0), "nothing is written behind");
    Ok(())
}
