//! Each wrapper calls one function of C, which tools see; `pmpi_mode` calls them, too, and no tool
//! does. Prints what a tool should have counted on this rank, for `tests/examples.rs`.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use rmpi::{
    Active, AnyTag, Assertion, Communicator, Lent, LockType, MpiOp, Passive, RequestSlice,
    RmpiResult, Tag, TypedCommunicator, Window, pmpi_mode,
};

const TAG: Tag = Tag::new(1);

fn main() -> RmpiResult {
    // MPI is initialized once, and its two communicators return errors.
    expect("MPI_Initialized", 1);
    expect("MPI_Init", 1);
    expect("MPI_Comm_set_errhandler", 2);
    let context = rmpi::init()?;
    let world = context.world();

    expect("MPI_Comm_rank", 1);
    let me = world.process(world.rank()?);
    // Is there such a process? A communicator's first message asks, once.
    expect("MPI_Comm_size", 1);
    expect("MPI_Sendrecv", 1);
    me.sendrecv(&[1.0; 3], TAG, &me, &mut [0.0; 3], TAG)?;
    expect("MPI_Isend", 2);
    expect("MPI_Irecv", 2);
    expect("MPI_Wait", 2);
    expect("MPI_Waitall", 1);
    let mut got = [0_u8; 10];
    let (first, second) = got.split_at_mut(5);
    rmpi::scope(|scope| {
        let receive = me.irecv(scope, first, TAG)?;
        me.isend(scope, &[1_u8; 5], TAG)?.wait()?;
        let last = me.irecv(scope, second, AnyTag)?;
        let mut both = [Some(receive.without_buffer()), None];
        both[1] = Some(me.isend(scope, &[2_u8; 5], TAG)?.without_buffer());
        RequestSlice::new(&mut both).waitall()?;
        last.wait()?;
        Ok::<_, rmpi::Error>(())
    })?;
    assert_eq!(got, [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
    // Left to the scope, which waits once.
    expect("MPI_Isend", 1);
    expect("MPI_Wait", 1);
    expect("MPI_Recv", 1);
    rmpi::scope(|scope| {
        core::mem::forget(me.isend(scope, &[3_u8; 5], TAG)?);
        me.recv(&mut [0_u8; 5], TAG)
    })?;

    // A size that the operation needs is asked for once.
    expect("MPI_Allreduce", 2);
    let mut greatest = 0;
    world.allreduce(&4, &mut greatest, MpiOp::MAX)?;
    world.allreduce(&5, &mut greatest, MpiOp::MAX)?;
    assert_eq!(greatest, 5);
    expect("MPI_Comm_dup", 2);
    expect("MPI_Comm_free", 2);
    world.dup()?.free()?;
    let copy = world.dup()?;
    expect("MPI_Comm_size", 2);
    expect("MPI_Allgather", 3);
    let size = world.size()?;
    for _ in 0..3 {
        copy.allgather(&4, &mut vec![0; size])?;
    }
    drop(copy);

    owned(world)?;
    typed(world)?;
    windows(world, me.rank().expect("a rank"))?;

    hidden().expect("no errors");
    expect("MPI_Finalize", 1);
    context.finalize()?;
    report();
    println!("counted: right on {size} ranks");
    Ok(())
}

/// Operations that own their buffers: completed as others are.
fn owned(world: &Communicator<'_>) -> RmpiResult {
    expect("MPI_Comm_rank", 1);
    let me = world.process(world.rank()?);
    expect("MPI_Irecv", 3);
    expect("MPI_Isend", 3);
    expect("MPI_Waitany", 1);
    expect("MPI_Waitall", 2);
    let mut receives = Vec::new();
    let mut sends = Vec::new();
    for number in 0..3_u8 {
        receives.push(Some(me.irecv_owned(vec![9_u8; 4], TAG)?));
        sends.push(Some(me.isend_owned([number; 4].to_vec(), TAG)?));
    }
    let mut slice = RequestSlice::new(&mut receives);
    let first = slice.waitany()?.expect("three are left");
    assert_eq!(first.buffer, [first.index as u8; 4]);
    assert_eq!(slice.waitall_status()?.len(), 2);
    RequestSlice::new(&mut sends).waitall()?;

    // Away under a condition, and waited for once; one that is dropped is waited for, too.
    expect("MPI_Isend", 2);
    expect("MPI_Recv", 2);
    expect("MPI_Wait", 2);
    let mut numbers = Lent::from(vec![1_u8; 5]);
    for away in [false, true] {
        if away {
            numbers = numbers.lend(|numbers| me.isend_owned(numbers, TAG))?;
            me.recv(&mut [0_u8; 5], TAG)?;
        }
        numbers = Lent::from(numbers.wait()?.0);
    }
    let dropped = me.isend_owned(vec![3_u8; 5], TAG)?;
    me.recv(&mut [0_u8; 5], TAG)?;
    drop(dropped);
    Ok(())
}

/// One message each, and for its receiver a matched probe.
fn typed(world: &Communicator<'_>) -> RmpiResult {
    expect("MPI_Comm_size", 1);
    expect("MPI_Comm_rank", 1);
    expect("MPI_Comm_dup", 1);
    expect("MPI_Comm_free", 1);
    let typed = TypedCommunicator::new(world)?;
    let me = typed.process(typed.rank()?);
    expect("MPI_Isend", 3);
    expect("MPI_Wait", 3);
    expect("MPI_Mprobe", 3);
    expect("MPI_Mrecv", 3);
    // Where memory is made for a message, what came is counted again before it is used.
    expect("MPI_Get_count", 1 + 2 + 2);
    let sent = me.isend_owned(vec![1.0; 100_000])?;
    me.recv(&mut vec![0.0; 100_000]).expect("of this type");
    sent.wait()?;
    let sent = me.isend_owned(vec![1_i16; 3])?;
    assert_eq!(me.recv_vec::<i16>().expect("of this type").0, [1; 3]);
    sent.wait()?;
    let sent = me.isend_value(&Some("text".to_owned())).expect("it has a form");
    assert_eq!(me.recv_value::<Option<String>>().expect("of this type").0, Some("text".into()));
    sent.wait()?;
    expect("MPI_Improbe", 1);
    assert!(me.try_recv_vec::<f64>().expect("no message").is_none());
    Ok(())
}

/// One-sided communication with this process itself.
fn windows(world: &Communicator<'_>, rank: usize) -> RmpiResult {
    const NONE: Assertion = Assertion::NONE;
    // What all windows begin with: a communicator of their own, what the processes have, and errors that return; and
    // what they end with, when all have come.
    let begins = |function| {
        expect(function, 1);
        expect("MPI_Comm_dup", 1);
        expect("MPI_Comm_size", 1);
        expect("MPI_Comm_rank", 1);
        expect("MPI_Barrier", 1);
        expect("MPI_Comm_free", 1);
        expect("MPI_Win_set_errhandler", 1);
        expect("MPI_Allgather", 1);
        expect("MPI_Win_free", 1);
    };
    begins("MPI_Win_allocate");
    let mut window = Window::<i64, _>::allocate(world, 4, None, Active)?;
    expect("MPI_Win_fence", 2);
    expect("MPI_Put", 1);
    expect("MPI_Get", 1);
    expect("MPI_Accumulate", 1);
    let mut got = [0; 1];
    window.fence(NONE, |epoch| {
        epoch.process(rank).put(&[1, 2], 0)?;
        epoch.process(rank).accumulate(&[3], 2, MpiOp::SUM)?;
        epoch.process(rank).get(&mut got, 3)
    })?;
    // Nothing of an operation that is refused.
    expect("MPI_Win_fence", 2);
    window.fence(NONE, |epoch| epoch.process(rank).put(&[1, 2], 3)).unwrap_err();
    expect("MPI_Comm_group", 1);
    expect("MPI_Group_free", 1);
    let group = world.group()?;
    // Do its processes have the window? Asked once a group.
    expect("MPI_Win_get_group", 1);
    expect("MPI_Group_size", 2);
    expect("MPI_Group_translate_ranks", 1);
    expect("MPI_Group_free", 1);
    expect("MPI_Put", 1);
    expect("MPI_Win_post", 1);
    expect("MPI_Win_start", 1);
    expect("MPI_Win_complete", 1);
    expect("MPI_Win_wait", 1);
    window.post(&group, NONE, |exposure| {
        exposure.start(&group, NONE, |epoch| epoch.process(rank).put(&[], 0))
    })?;
    drop(group);
    assert_eq!(window.local(), [1, 2, 3, 0]);
    window.free()?;

    begins("MPI_Win_create");
    // For memory at any place, the library's version is asked once: see docs/one-sided.md.
    #[repr(align(16))]
    struct Aligned([i64; 4]);
    let Aligned(memory) = &mut Aligned([0; 4]);
    rmpi::window_scope(|scope| {
        let mut window = Window::create(scope, world, memory, None, Passive)?;
        expect("MPI_Win_lock", 2);
        expect("MPI_Win_unlock", 2);
        expect("MPI_Fetch_and_op", 1);
        expect("MPI_Compare_and_swap", 1);
        expect("MPI_Get_accumulate", 1);
        expect("MPI_Win_flush", 2);
        expect("MPI_Win_flush_local", 1);
        let (mut one, mut two, mut three) = (0, 0, [0]);
        window.lock(LockType::Exclusive, rank, NONE, |epoch| {
            epoch.flushed(rank, |part| {
                part.target().fetch_and_op(&1, &mut one, 0, MpiOp::SUM)?;
                part.target().compare_and_swap(&1, &0, &mut two, 1)?;
                part.target().get_accumulate(&[5], &mut three, 2, MpiOp::REPLACE)
            })?;
            epoch.flush(rank)?;
            epoch.flush_local(rank)
        })?;
        window.lock_local(|memory| assert_eq!(memory, [1, 1, 5, 0]))?;
        expect("MPI_Win_lock_all", 1);
        expect("MPI_Win_unlock_all", 1);
        expect("MPI_Win_flush_all", 1);
        expect("MPI_Win_flush_local_all", 1);
        expect("MPI_Win_sync", 1);
        expect("MPI_Rput", 1);
        expect("MPI_Rget", 1);
        expect("MPI_Raccumulate", 1);
        expect("MPI_Rget_accumulate", 1);
        // One is left to the epoch, which waits once.
        expect("MPI_Wait", 4);
        let (mut one, mut two) = ([0], [0]);
        window.lock_all(NONE, |epoch| {
            let target = epoch.process(rank);
            target.rput(&[7], 3)?.wait()?;
            epoch.flushed_all(|_| Ok(()))?;
            target.rget(&mut one, 3)?.wait()?;
            epoch.flush_local_all()?;
            epoch.sync()?;
            target.raccumulate(&[1], 0, MpiOp::SUM)?.wait()?;
            core::mem::forget(target.rget_accumulate(&[1], &mut two, 1, MpiOp::SUM)?);
            Ok(())
        })?;
        assert_eq!((one, two), ([7], [1]));
        Ok::<_, rmpi::Error>(())
    })?;
    assert_eq!(*memory, [2, 2, 5, 7]);

    begins("MPI_Win_create_dynamic");
    let mut window = Window::create_dynamic(world, None, Active)?;
    expect("MPI_Win_attach", 1);
    expect("MPI_Allgather", 1);
    let attached = window.attach(vec![0_i64; 3])?;
    expect("MPI_Allgather", 1);
    expect("MPI_Win_detach", 1);
    assert_eq!(window.detach(attached)?, [0; 3]);
    drop(window);

    begins("MPI_Win_allocate_shared");
    let window = Window::<i64, _, _>::allocate_shared(world, 3, None, Active)?;
    expect("MPI_Win_shared_query", 1);
    window.segment(rank)?.set(1, 4)
}

/// The same calls, which no tool sees.
fn hidden() -> pmpi_mode::RmpiResult {
    // SAFETY: `assume_initialized` requires MPI to run while the context is used, at its level, with
    // errors that return, and no other caller meanwhile: `main` keeps a context of that level, whose
    // `init` has the world's errors return, and this is its thread.
    let context = unsafe { pmpi_mode::RmpiContext::<rmpi::Single>::assume_initialized() };
    let world = context.world();
    let me = world.process(world.rank()?);
    for _ in 0..10 {
        me.sendrecv(&[1.0; 3], TAG, &me, &mut [0.0; 3], TAG)?;
        world.barrier()?;
        world.allreduce(&4, &mut 0, pmpi_mode::MpiOp::SUM)?;
    }
    Ok(())
}

use counts::{expect, report};

mod counts {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    static EXPECTED: Mutex<BTreeMap<&str, u64>> = Mutex::new(BTreeMap::new());

    pub(super) fn expect(function: &'static str, times: u64) {
        *EXPECTED.lock().unwrap().entry(function).or_default() += times;
    }

    pub(super) fn report() {
        for (function, times) in &*EXPECTED.lock().unwrap() {
            println!("{function}: {times}");
        }
    }
}
