//! Each wrapper calls one function of C, which tools see; `pmpi_mode` calls them, too, and no tool
//! does. Prints what a tool should have counted on this rank, for `tests/examples.rs`.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use rmpi::{
    AnyTag, Communicator, Lent, MpiOp, RequestSlice, RmpiResult, Tag, TypedCommunicator, pmpi_mode,
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

/// The same calls, which no tool sees.
fn hidden() -> pmpi_mode::RmpiResult {
    // SAFETY: MPI runs until the other context ends, and errors return.
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
