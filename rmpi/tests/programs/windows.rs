//! One-sided communication: every kind of window, epoch and operation, with known answers, the same as
//! messages give; and errors. Right on any number of ranks.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use core::ffi::c_void;

use rmpi::mpi_sys::{MPI_Aint, MPI_Win, MPI_Win_allocate};
use rmpi::{
    Active, Assertion, Communicator, Datatype, DatatypeRef, ErrorClass, LockType, MpiOp, Passive,
    RmpiContext, RmpiResult, Strided, StridedMut, Tag, TargetLayout, Test, TypeDynamicBufferMut,
    TypeDynamicBufferRef, Window,
};

const TAG: Tag = Tag::new(2);
const NONE: Assertion = Assertion::NONE;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    fences(world)?;
    datatypes(&context, world)?;
    no_memory(world)?;
    shared_buffers(world)?;
    groups(world)?;
    locks(world)?;
    atomics(world)?;
    requests(world)?;
    borrowed(world)?;
    shared(world)?;
    dynamic(world)?;
    names(&context, world)?;
    errors(&context, world)?;
    world.barrier()?;
    if world.rank()? == 0 {
        println!("windows: right on {} ranks", world.size()?);
    }
    Ok(())
}

/// A process that asks for too much, or gets nothing, has no window, and neither do the others; nobody waits.
fn no_memory(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let last = rank == size - 1;
    for length in [1 << 44, usize::MAX / 8, usize::MAX] {
        let length = if last { length } else { 4 };
        let refused = Window::<f64, _>::allocate(world, length, None, Active).map(drop);
        assert_eq!(refused.unwrap_err().class(), ErrorClass::SIZE);
        let refused = Window::<f64, _, _>::allocate_shared(world, length, None, Passive).map(drop);
        assert_eq!(refused.unwrap_err().class(), ErrorClass::SIZE);
    }
    // No memory at all, of an MPI that says that it has given some.
    let allocate = |size, unit, info, comm, base: *mut c_void, window: *mut MPI_Win| {
        // SAFETY: `MPI_Win_allocate` requires what it gets here: the arguments are those that rmpi passes. The
        // address that it writes is a pointer, and may be written over.
        unsafe {
            let result = MPI_Win_allocate(size as MPI_Aint, unit as i32, info, comm, base, window);
            if last {
                base.cast::<*mut c_void>().write(core::ptr::null_mut());
            }
            result
        }
    };
    // SAFETY: `allocate_with` requires a function that does what `MPI_Win_allocate` does, or says that it has
    // failed: rmpi does not rely on the address before it has looked at it.
    let refused = unsafe { Window::<f64, _>::allocate_with(allocate, world, 4, None, Active) };
    assert_eq!(refused.map(drop).unwrap_err().class(), ErrorClass::NO_MEM);
    Ok(())
}

/// Several may have the same memory of a window: not as origin and as result of one operation.
fn shared_buffers(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let mut window = Window::<i64, _>::allocate(world, 8, None, Passive)?;
    window.lock(LockType::Exclusive, rank, NONE, |epoch| {
        let (memory, target) = (epoch.own(0..8)?, epoch.target());
        for (origin, result) in [(0..2, 0..2), (0..2, 1..3), (1..3, 0..2), (3..4, 3..4)] {
            let (origin, result) = (memory.range(origin)?, memory.range(result)?);
            let error = target.get_accumulate(origin, result, 6, MpiOp::SUM).unwrap_err();
            assert_eq!(error.class(), ErrorClass::BUFFER);
            let error = target.rget_accumulate(origin, result, 6, MpiOp::SUM).unwrap_err();
            assert_eq!(error.class(), ErrorClass::BUFFER);
        }
        memory.set(0, 5)?;
        target.get_accumulate(memory.range(0..1)?, memory.range(1..2)?, 6, MpiOp::SUM)
    })?;
    window.lock(LockType::Exclusive, rank, NONE, |epoch| {
        // Nothing is read of this origin.
        let same = epoch.own(2..3)?;
        epoch.target().get_accumulate(same, same, 7, MpiOp::NO_OP)
    })?;
    assert_eq!(window.lock_local(|memory| memory.to_vec())?, [5, 0, 0, 0, 0, 0, 5, 0]);
    window.free()
}

/// Numbers that only this rank has.
fn numbers(rank: usize, length: usize) -> Vec<f64> {
    (0..length).map(|i| (rank * 1000 + i * i) as f64 / 3.0).collect()
}

/// What put and get bring is what a message brings.
fn fences(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for length in [0, 1, 7, 1000, 100_000] {
        let mine = numbers(rank, length);
        let mut message = vec![0.0; length];
        let (from, to) = (world.process(left), world.process(right));
        to.sendrecv(&mine, TAG, &from, &mut message, TAG)?;

        let mut window = Window::<f64, _>::allocate(world, 2 * length + 2, None, Active)?;
        assert!(window.local().iter().all(|value| *value == 0.0), "it begins with zeros");
        window.fence(NONE, |epoch| epoch.process(right).put(&mine, 1))?;
        assert_eq!(window.local()[1..=length], message, "put");
        assert!(window.local()[0] == 0.0 && window.local()[length + 1] == 0.0);

        window.local_mut()[1..=length].copy_from_slice(&mine);
        let mut got = vec![0.0; length];
        // Nobody writes to this process's memory, which has changed.
        // SAFETY: `noput` requires that no process writes to this one's memory in the epoch: all
        // processes call this fence, and only get in it.
        let nobody_puts = unsafe { Assertion::noput() };
        window.fence(nobody_puts, |epoch| epoch.process(left).get(&mut got, 1..length + 1))?;
        assert_eq!(got, message, "get");

        // From this process's own part of the window.
        window.fence(NONE, |epoch| {
            epoch.process(right).put(epoch.own(1..length + 1)?, length + 2)?;
            epoch.process_null().put(&mine, 1_000_000)
        })?;
        assert_eq!(window.local()[length + 2..], message, "put from the window");
        assert_eq!(window.length(right), Some(2 * length + 2));
        window.free()?;
    }
    // The sum of all ranks' numbers, on each: what allreduce gives.
    let mine: Vec<i64> = (0..10).map(|i| (rank * i) as i64).collect();
    let mut sums = vec![0_i64; 10];
    world.allreduce(&mine, &mut sums, MpiOp::SUM)?;
    let mut window = Window::<i64, _>::allocate(world, 10, None, Active)?;
    window.fence(NONE, |epoch| {
        (0..size).try_for_each(|other| epoch.process(other).accumulate(&mine, 0, MpiOp::SUM))
    })?;
    assert_eq!(window.local(), sums);
    Ok(())
}

fn datatypes(context: &RmpiContext, world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    // A column of this process's matrix of 5 x 4 becomes a column of the neighbour's.
    let matrix = numbers(rank, 20);
    let theirs = numbers(left, 20);
    let mut window = Window::<f64, _>::allocate(world, 20, None, Active)?;
    let column = Strided::new(context, &matrix[1..], 5, 1, 4)?;
    let place = TargetLayout::strided(context, 5, 1, 4)?;
    assert_eq!(place.values(), 5);
    window.fence(NONE, |epoch| epoch.process(right).put(&column, (3, &place)))?;
    for (i, value) in window.local().iter().enumerate() {
        let expected = if i % 4 == 3 { theirs[i - 2] } else { 0.0 };
        assert_eq!(*value, expected, "{i}");
    }
    // Back, into a row and into a column.
    let mut row = [0.0; 5];
    let mut other = vec![0.0; 20];
    let mut into = StridedMut::new(context, &mut other, 5, 1, 4)?;
    window.fence(NONE, |epoch| {
        epoch.process(right).get(&mut row, (3, &place))?;
        epoch.process(right).get(&mut into, (3, &place))
    })?;
    drop(into);
    let column: Vec<_> = matrix.iter().skip(1).step_by(4).copied().collect();
    assert_eq!(row[..], column);
    assert_eq!(other.iter().step_by(4).copied().collect::<Vec<_>>(), column);
    // Twice the column, by an accumulate of a layout.
    window.fence(NONE, |epoch| epoch.process(right).accumulate(&row, (3, &place), MpiOp::SUM))?;
    assert_eq!(window.local()[3], 2.0 * theirs[1]);

    // Datatypes that are known only as the program runs: every other number of eight.
    let number = DatatypeRef::of::<f64>(context)?;
    let halves = Datatype::vector(context, 4, 1, 2, &number)?.commit()?;
    let every_other = TargetLayout::<f64>::of(halves.as_ref(), 1)?;
    let mut got = [0.0; 7];
    let from = TypeDynamicBufferRef::of_slice(&matrix, 1, halves.as_ref())?;
    let into = TypeDynamicBufferMut::of_slice(&mut got, 1, halves.as_ref())?;
    window.fence(NONE, |epoch| epoch.process(right).put(from, 0))?;
    window.fence(NONE, |epoch| epoch.process(right).get(into, (0, &every_other)))?;
    assert_eq!(window.local()[..4], [theirs[0], theirs[2], theirs[4], theirs[6]]);
    assert_eq!(got, [matrix[0], 0.0, matrix[4], 0.0, got[4], 0.0, got[6]]);
    assert_eq!(every_other.values(), 4);

    // Arrays are elements, too.
    let mut vectors = Window::<[f64; 3], _>::allocate(world, 2, None, Active)?;
    let vector = [[1.0, 2.0, rank as f64]];
    vectors.fence(NONE, |epoch| {
        epoch.process(right).put(&vector, 1)?;
        epoch.process(right).accumulate(&[[1.0_f64, 2.0, 3.0]], 0, MpiOp::REPLACE)
    })?;
    assert_eq!(vectors.local(), [[1.0, 2.0, 3.0], [1.0, 2.0, left as f64]]);
    Ok(())
}

/// Post, start, complete and wait, around a ring.
fn groups(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let group = world.group()?;
    let (from, to) = (group.incl(&[left])?, group.incl(&[right])?);
    let mut window = Window::<i64, _>::allocate(world, 4, None, Active)?;
    for round in 0..10 {
        let mine = [rank as i64, round];
        // SAFETY: `nostore` requires that this process has not written to its memory since the last
        // synchronisation: it only reads there, in any round, and others put.
        let nothing_stored = unsafe { Assertion::nostore() };
        window.post(&from, nothing_stored, |exposure| {
            exposure.start(&to, NONE, |epoch| epoch.process(right).put(&mine, 1))
        })?;
        assert_eq!(window.local(), [0, left as i64, round, 0]);
        // And back, with a test in place of the wait.
        let mut got = [0; 2];
        let tests = window.post(&to, NONE, |exposure| {
            exposure.start(&from, NONE, |epoch| epoch.process(left).get(&mut got, 0))?;
            let mut tests = 1;
            while !exposure.test()? {
                tests += 1;
            }
            assert!(exposure.test()?, "it stays so");
            Ok(tests)
        })?;
        assert!(tests > 0);
        assert_eq!(got, [0, ((left + size - 1) % size) as i64]);
    }
    // Rank 0 accesses the others, which only expose.
    if rank == 0 && size > 1 {
        let others: Vec<_> = (1..size).collect();
        let mut got = vec![0; size];
        window.start(&group.incl(&others)?, NONE, |epoch| {
            for (other, got) in got.iter_mut().enumerate().skip(1) {
                epoch.process(other).get(got, 1)?;
            }
            Ok(())
        })?;
        assert!((1..size).all(|other| got[other] == other as i64 - 1), "{got:?}");
    } else if size > 1 {
        // SAFETY: `noput` requires that no process writes to this one's memory in the epoch: it is
        // exposed to rank 0 alone, which only gets.
        let nobody_puts = unsafe { Assertion::noput() };
        window.post(&group.incl(&[0])?, nobody_puts, |_| Ok(()))?;
    }
    window.free()
}

fn locks(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let right = (rank + 1) % size;
    let mut window = Window::<i64, _>::allocate(world, size + 1, None, Passive)?;
    // One after the other: no number is lost.
    for _ in 0..5 {
        let (mut count, mine) = (0, rank as i64);
        window.lock(LockType::Exclusive, 0, NONE, |epoch| {
            epoch.flushed(0, |part| part.target().get(&mut count, 0))?;
            count += 1;
            epoch.flushed_local(0, |part| part.target().put(&count, 0))?;
            epoch.target().put(&mine, rank + 1)
        })?;
    }
    world.barrier()?;
    let mut expected: Vec<i64> = (0..size as i64).collect();
    expected.insert(0, 5 * size as i64);
    if rank == 0 {
        window.lock_local(|memory| assert_eq!(memory, expected))?;
    }
    let mut got = vec![0; size + 1];
    window.lock(LockType::Shared, 0, NONE, |epoch| epoch.target().get(&mut got, 0))?;
    assert_eq!(got, expected);
    // A part of an epoch has the rights of its lock and no more: another process's memory is not its own.
    if size > 1 {
        let value = -1;
        let all = window.lock(LockType::Shared, 0, NONE, |epoch| {
            epoch.flushed_all(|part| part.flushed(1, |part| part.target().put(&value, 0)))
        });
        let local = window.lock(LockType::Shared, 0, NONE, |epoch| {
            epoch.flushed_local_all(|part| {
                part.flushed_local(1, |part| part.target().put(&value, 0))
            })
        });
        let flush =
            window.lock(LockType::Shared, 0, NONE, |epoch| epoch.flushed_all(|part| part.flush(1)));
        for result in [all, local, flush] {
            assert_eq!(result.unwrap_err().class(), ErrorClass::RANK);
        }
    }
    world.barrier()?;

    // All at once, each in its own place, with each flush.
    let mine = [rank as i64 + 7];
    let mut twice = [0; 2];
    let (first, second) = twice.split_at_mut(1);
    window.lock_all(NONE, |epoch| {
        epoch.process(right).put(&mine, size)?;
        epoch.flush_local(right)?;
        epoch.flush(right)?;
        epoch.flush_local_all()?;
        epoch.flush_all()?;
        epoch.flushed_all(|part| part.process(right).get(&mut *first, size))?;
        // In the same epoch, what came back is used for more.
        let next = [first[0] + 1];
        epoch.flushed(right, |part| part.target().put(&next, size))?;
        epoch.flushed_local_all(|part| part.process(right).get(&mut *second, size))?;
        // Copies of this process's own memory, while others may write to it.
        world.barrier()?;
        epoch.sync()?;
        let own = epoch.own(size..size + 1)?;
        let left = (rank + size - 1) % size;
        let mut copy = [0];
        own.copy_to(&mut copy)?;
        assert_eq!((own.get(0)?, copy[0]), (left as i64 + 8, left as i64 + 8));
        epoch.sync()
    })?;
    assert_eq!(twice, [mine[0], mine[0] + 1]);
    Ok(())
}

fn atomics(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut window = Window::<i64, _>::allocate(world, 3, None, Passive)?;
    // A ticket each.
    let mut tickets = [0_i64; 10];
    window.lock_all(NONE, |epoch| {
        for ticket in &mut tickets {
            epoch.flushed(0, |part| part.target().fetch_and_op(&1, ticket, 0, MpiOp::SUM))?;
        }
        Ok(())
    })?;
    let mut all = vec![0; 10 * size];
    world.allgather(&tickets, &mut all)?;
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..10 * size as i64), "{all:?}");
    // A lock of the program's own.
    let mut held = -1;
    window.lock_all(NONE, |epoch| {
        loop {
            let mine = rank as i64 + 1;
            epoch.flushed(0, |part| part.target().compare_and_swap(&mine, &0, &mut held, 1))?;
            if held == 0 {
                break;
            }
        }
        let mut value = 0;
        epoch.flushed(0, |part| part.target().get(&mut value, 2))?;
        let next = value + 1;
        epoch.flushed(0, |part| part.target().put(&next, 2))?;
        let mut before = 0;
        epoch.flushed(0, |part| part.target().fetch_and_op(&0, &mut before, 1, MpiOp::REPLACE))?;
        assert_eq!(before, rank as i64 + 1);
        Ok(())
    })?;
    world.barrier()?;
    let mut got = [0; 3];
    window.lock(LockType::Shared, 0, NONE, |epoch| {
        epoch.target().get_accumulate(&[], &mut got, 0, MpiOp::NO_OP)
    })?;
    assert_eq!(got, [10 * size as i64, 0, size as i64]);
    world.barrier()?;
    let mut before = [0; 2];
    if rank == size - 1 {
        window.lock(LockType::Exclusive, 0, NONE, |epoch| {
            epoch.target().get_accumulate(&[5, 6], &mut before, 1..3, MpiOp::MAX)
        })?;
        assert_eq!(before, [0, size as i64]);
    }
    window.free()
}

fn requests(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut window = Window::<f64, _>::allocate(world, 10, None, Passive)?;
    let mine = numbers(rank, 5);
    let mut got = [0.0; 5];
    let mut later = [0.0; 5];
    window.lock_all(NONE, |epoch| {
        let to = epoch.process(right);
        // A buffer that moves in comes back.
        let back = to.rput(mine.clone(), 0)?.wait()?;
        assert_eq!(back, mine);
        epoch.flush(right)?;
        to.raccumulate(&mine, 0, MpiOp::SUM)?.wait()?;
        epoch.flush(right)?;
        assert_eq!(to.rget(&mut got, 0)?.wait()?[4], 2.0 * mine[4]);
        let (_, before) = to.rget_accumulate(&mine, vec![0.0; 5], 0, MpiOp::SUM)?.wait()?;
        assert_eq!(before[4], 2.0 * mine[4]);
        epoch.flush(right)?;
        let mut request = to.rget(&mut later, 0)?;
        while let Test::Pending(still) = request.test()? {
            request = still;
        }
        // Forgotten ones are waited for before the epoch ends.
        core::mem::forget(to.rput(&mine, 5)?);
        Ok(())
    })?;
    assert_eq!(got[4], 2.0 * mine[4]);
    assert_eq!(later[4], 3.0 * mine[4]);
    world.barrier()?;
    let theirs = numbers(left, 5);
    window.lock_local(|memory| {
        assert_eq!(memory[4], 3.0 * theirs[4]);
        assert_eq!(memory[5..], theirs);
    })
}

/// Memory of this program, which it has back afterwards.
fn borrowed(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    // As long as each likes.
    let mut memory = vec![0_i32; 3 + rank];
    let mine = rank as i32;
    rmpi::window_scope(|scope| {
        let mut window = Window::create(scope, world, &mut memory, None, Active)?;
        assert_eq!(window.length(right), Some(3 + right));
        window.fence(NONE, |epoch| epoch.process(right).put(&mine, 2 + right))?;
        window.local_mut()[0] = -1;
        Ok::<_, rmpi::Error>(())
    })?;
    assert_eq!((memory[0], memory[2 + rank]), (-1, left as i32));
    Ok(())
}

fn shared(world: &Communicator<'_>) -> RmpiResult {
    let node = world.split_type(Some(rmpi::SplitType::Shared), 0, None)?.expect("a node");
    let (rank, size) = (node.rank()?, node.size()?);
    let mut window = Window::<i64, _, _>::allocate_shared(&node, 4, None, Passive)?;
    window.lock_all(NONE, |epoch| {
        // Straight into the neighbour's memory.
        epoch.segment((rank + 1) % size)?.set(1, rank as i64)?;
        epoch.sync()?;
        node.barrier()?;
        epoch.sync()?;
        let left = ((rank + size - 1) % size) as i64;
        assert_eq!(epoch.own(0..4)?.get(1)?, left);
        let mut all = [0; 4];
        epoch.segment(rank)?.copy_to(&mut all)?;
        assert_eq!(all, [0, left, 0, 0]);
        node.barrier()?;
        // And as any window.
        epoch.flushed((rank + 1) % size, |part| part.target().put(&[9_i64], 3))
    })?;
    node.barrier()?;
    assert_eq!(window.segment(rank)?.get(3)?, 9);
    window.segment(rank)?.range(0..2)?.copy_from(&[5, 6])?;
    assert_eq!(window.segment(rank)?.get(0)?, 5);
    assert_eq!(window.segment(rank)?.get(4).unwrap_err().class(), ErrorClass::RMA_RANGE);
    assert_eq!(window.segment(size).unwrap_err().class(), ErrorClass::RANK);
    node.barrier()?;
    window.free()
}

fn dynamic(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut window = Window::create_dynamic(world, None, Active)?;
    let mut some = window.attach(vec![0_i64; 5 + rank])?;
    let others = window.attach(vec![[0.5_f32; 2]; 3])?;
    let mine = [rank as i64 + 10];
    window.fence(NONE, |epoch| {
        epoch.attached(&some, right)?.put(&mine, 4 + right)?;
        epoch.attached(&others, right)?.put(&[[1.5, 2.5]], 1)
    })?;
    assert_eq!(window.local_of(&mut some)?[4 + rank], left as i64 + 10);
    assert_eq!(window.detach(others)?, [[0.5, 0.5], [1.5, 2.5], [0.5, 0.5]]);
    // It can be attached again, and outlives its detachment.
    let some = window.detach(some)?;
    let mut some = window.attach(some)?;
    let outside = window.fence(NONE, |epoch| epoch.attached(&some, right)?.put(&mine, 5 + right));
    assert_eq!(outside.unwrap_err().class(), ErrorClass::RMA_RANGE);
    window.local_of(&mut some)?[0] = 3;
    // What is left is the window's to free.
    window.free()?;

    let mut window = Window::create_dynamic(world, None, Passive)?;
    assert_eq!(
        window.lock_local_of(&mut some, |_| ()).unwrap_err().class(),
        ErrorClass::WIN,
        "it was another window's"
    );
    let mut sums = window.attach(vec![0_i64; 2])?;
    window.lock(LockType::Shared, right, NONE, |epoch| {
        epoch.attached(&sums, right)?.accumulate(&[1_i64, 2], 0, MpiOp::SUM)?;
        if size > 1 {
            let class = epoch.attached(&sums, rank).unwrap_err().class();
            assert_eq!(class, ErrorClass::RANK, "it is not locked");
        }
        Ok(())
    })?;
    world.barrier()?;
    window.lock_local_of(&mut sums, |sums| assert_eq!(sums, [1, 2]))?;
    window.detach(sums)?;
    Ok(())
}

fn names(context: &RmpiContext, world: &Communicator<'_>) -> RmpiResult {
    let mut info = rmpi::Info::new(context)?;
    // What MPI believes is promised, not set, however it is written.
    for key in [
        c"no_locks",
        c" No_Locks ",
        c"same_size",
        c"same_disp_unit",
        c"accumulate_ops",
        c"accumulate_ordering",
    ] {
        let error = info.set(key, c"true").unwrap_err();
        assert_eq!(error.class(), ErrorClass::INFO_KEY, "{key:?}");
    }
    assert_eq!(info.get_nkeys()?, 0);
    // SAFETY: `promise` requires that what the key says is true of all that gets the info: it is one window,
    // whose epochs are `Active`, so that it has no locks.
    unsafe { info.promise(c"no_locks", c"true")? };
    assert_eq!(info.get(c"no_locks")?.as_deref(), Some("true"));
    let window = Window::<u8, _>::allocate(world, 1, Some(&info), Active)?;
    window.set_name(c"halo")?;
    assert_eq!(window.get_name()?, "halo");
    assert_eq!(window.get_group()?.size()?, world.size()?);
    assert_eq!((window.rank(), window.size()), (world.rank()?, world.size()?));
    window.set_info(&info)?;
    window.get_info()?.free()?;
    Ok(())
}

fn errors(context: &RmpiContext, world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut window = Window::<f64, _>::allocate(world, 10, None, Active)?;
    let class = |result: RmpiResult| result.unwrap_err().class();
    let mut got = [0.0_f64; 4];
    let layout = TargetLayout::strided(context, 4, 1, 3)?;
    window.fence(NONE, |epoch| {
        let me = epoch.process(rank);
        assert_eq!(class(me.put(&[1.0; 4], 7)), ErrorClass::RMA_RANGE, "behind the end");
        assert_eq!(class(me.put(&[1.0; 4], usize::MAX)), ErrorClass::RMA_RANGE);
        assert_eq!(class(me.put(&[1.0; 11], 0)), ErrorClass::RMA_RANGE);
        assert_eq!(class(me.put(&[1.0; 4], (1, &layout))), ErrorClass::RMA_RANGE);
        assert_eq!(class(me.put(&[1.0; 4], 0..3)), ErrorClass::COUNT);
        assert_eq!(class(me.put(&[1.0; 3], (0, &layout))), ErrorClass::COUNT);
        assert_eq!(class(me.accumulate(&[1.0], 0, MpiOp::BAND)), ErrorClass::OP);
        assert_eq!(class(me.accumulate(&[1.0], 0, MpiOp::NO_OP)), ErrorClass::OP);
        let nobody = epoch.process(size);
        assert_eq!(nobody.length(), None);
        assert_eq!(class(nobody.put(&[1.0], 0)), ErrorClass::RANK);
        assert_eq!(class(nobody.get(&mut got, 0)), ErrorClass::RANK);
        Ok(())
    })?;
    assert_eq!(window.local(), [0.0; 10], "nothing was written");
    assert_eq!(got, [0.0; 4]);
    assert_eq!(class(TargetLayout::<f64>::strided(context, 4, 3, 2).map(drop)), ErrorClass::ARG);
    // SAFETY: `noput` requires that no process writes to this one's memory in the epoch: there is no
    // epoch, since `start` refuses this assertion.
    let for_others = unsafe { Assertion::noput() };
    let start = window.start(&world.group()?, for_others, |_| Ok(()));
    assert_eq!(class(start), ErrorClass::ASSERT);
    // An error of the function ends the epoch, and comes out.
    let error = window.fence(NONE, |epoch| epoch.process(rank).put(&[1.0], 10));
    assert_eq!(class(error), ErrorClass::RMA_RANGE);
    window.fence(NONE, |epoch| epoch.process(rank).put(&[1.0], 9))?;
    assert_eq!(window.local()[9], 1.0);

    let mut passive = Window::<f64, _>::allocate(world, 1, None, Passive)?;
    let (other, mut there) = (1.0, 0.0);
    let nobody = passive.lock(LockType::Shared, size, NONE, |_| Ok(()));
    assert_eq!(class(nobody), ErrorClass::RANK);
    passive.lock_all(NONE, |epoch| {
        let me = epoch.process(rank);
        let swap = me.compare_and_swap(&other, &other, &mut there, 0);
        assert_eq!(class(swap), ErrorClass::TYPE, "not of floating-point numbers");
        assert_eq!(class(epoch.flush(size)), ErrorClass::RANK);
        assert_eq!(class(epoch.segment(rank).map(drop)), ErrorClass::RMA_FLAVOR);
        Ok(())
    })?;
    // Processes that mean different things find out, all of them.
    if size > 1 {
        let error = if rank == 0 {
            Window::<f64, _>::allocate(world, 1, None, Active).map(drop)
        } else {
            Window::<f64, _>::allocate(world, 1, None, Passive).map(drop)
        };
        assert_eq!(class(error), ErrorClass::NOT_SAME);
        let error = if rank == 0 {
            Window::<f64, _>::allocate(world, 1, None, Active).map(drop)
        } else {
            Window::<f32, _>::allocate(world, 1, None, Active).map(drop)
        };
        assert_eq!(class(error), ErrorClass::NOT_SAME);
    }
    Ok(())
}
