//! Every guard can be forgotten: nothing is freed then, and nothing goes wrong. Right on any number of
//! ranks.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use core::mem::forget;
use std::sync::Arc;

use rmpi::{
    Active, Assertion, AttributeCopy, Communicator, Datatype, DatatypeRef, ErrorClass, Info,
    Keyval, MpiOp, Passive, RmpiResult, Tag, UserOp, Window,
};

const TAG: Tag = Tag::new(3);

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    requests(world)?;
    objects(&context, world)?;
    operations(&context, world)?;
    // UCX aborts at the end where a window was never freed; Debian's MPICH 4.0.2 and Open MPI 4.1.4 go by it.
    let version = rmpi::get_library_version()?;
    if !version.contains("ch4:ucx") && !version.contains("Open MPI v4.1.4") {
        windows(world)?;
    }
    // All of it still works.
    let mut sum = 0;
    world.allreduce(&1, &mut sum, MpiOp::SUM)?;
    assert_eq!(sum, world.size()?);
    if world.rank()? == 0 {
        println!("forgotten: right on {} ranks", world.size()?);
    }
    Ok(())
}

fn requests(world: &Communicator<'_>) -> RmpiResult {
    let me = world.process(world.rank()?);
    // The buffers of these are leaked, and never used by others.
    forget(me.isend_owned(vec![7_u8; 100], TAG)?);
    forget(me.irecv_owned(vec![0_u8; 100], TAG)?);
    let mut got = [0_u8; 100];
    rmpi::scope(|scope| {
        forget(me.irecv(scope, &mut got, TAG)?);
        forget(me.isend(scope, &[8_u8; 100], TAG)?);
        // Never started, and started and not waited for.
        forget(me.send_init(scope, &[9_u8; 100], TAG)?);
        let mut started = me.send_init(scope, vec![9_u8; 100], Tag::new(4))?;
        started.start()?;
        forget(started);
        me.recv(&mut [0_u8; 100], Tag::new(4))
    })?;
    assert_eq!(got, [8; 100], "the scope waited");
    // A message that is never received.
    rmpi::scope(|scope| {
        let sent = me.isend(scope, rmpi::NullBuffer, TAG)?;
        let (message, _) = me.mprobe(TAG)?;
        message.mrecv(rmpi::NullBuffer)?;
        sent.wait().map(drop)
    })
}

fn objects(context: &rmpi::RmpiContext, world: &Communicator<'_>) -> RmpiResult {
    forget(world.dup()?);
    forget(world.group()?);
    forget(Info::new(context)?);
    let number = DatatypeRef::of::<f64>(context)?;
    forget(Datatype::contiguous(context, 3, &number)?.commit()?);
    forget(Datatype::contiguous(context, 4, &number)?);
    let key = Keyval::<String>::new(context, AttributeCopy::Share)?;
    let copy = world.dup()?;
    copy.set_attr(&key, Arc::new("kept".to_owned()))?;
    forget(key);
    forget(copy);
    // A context that finalizes nothing, since another one does.
    // SAFETY: `assume_initialized` requires MPI to run while the context is used, at its level, with
    // errors that return: `main` keeps a context of that level on this thread, and this one is not
    // used.
    forget(unsafe { rmpi::RmpiContext::<rmpi::Single>::assume_initialized() });
    assert_eq!(rmpi::init().map(drop).unwrap_err().class(), ErrorClass::OTHER);
    Ok(())
}

/// The closure of a forgotten operation is never called with what it borrows gone.
fn operations(context: &rmpi::RmpiContext, world: &Communicator<'_>) -> RmpiResult {
    for _ in 0..3 {
        let factor = [2_i64];
        let op = UserOp::create(context, true, |input: &[i64], inout: &mut [i64]| {
            for (to, from) in inout.iter_mut().zip(input) {
                *to = (*to).max(*from) * factor[0] / 2;
            }
        })?;
        let mut greatest = 0_i64;
        world.allreduce(&5, &mut greatest, &op)?;
        assert_eq!(greatest, 5);
        forget(op);
    }
    Ok(())
}

/// Nobody writes to memory of a forgotten window when it is no longer the window's.
fn windows(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let right = (rank + 1) % size;
    let mut memory = [0_i32; 2];
    let (first, second) = memory.split_at_mut(1);
    let mine = [rank as i32 + 5];
    rmpi::window_scope(|scope| {
        // The scope frees it, after the other one.
        let mut window = Window::create(scope, world, first, None, Active)?;
        window.fence(Assertion::NONE, |epoch| epoch.process(right).put(&mine, 0))?;
        forget(window);
        let mut window = Window::create(scope, world, second, None, Passive)?;
        window.lock_all(Assertion::NONE, |epoch| {
            // The epoch waits for it before it ends.
            forget(epoch.process(right).rput(&mine, 0)?);
            Ok(())
        })?;
        world.barrier()
    })?;
    assert_eq!(memory, [((rank + size - 1) % size) as i32 + 5; 2]);
    // What MPI allocated, and what was attached, is leaked.
    forget(Window::<f64, _>::allocate(world, 10, None, Active)?);
    let mut window = Window::create_dynamic(world, None, Active)?;
    let attached = window.attach(vec![1_u8; 10])?;
    // Dropped, it is still attached: the memory is the window's.
    drop(attached);
    forget(window.attach(vec![2_u8; 10])?);
    window.fence(Assertion::NONE, |_| Ok(()))?;
    forget(window);
    Ok(())
}
