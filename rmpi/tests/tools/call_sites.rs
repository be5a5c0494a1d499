//! Calls from places that the program says itself: "site FUNCTION LINE LINE … COUNT", where the lines are those of the
//! call and of its callers, as far as they are in this file. rmpi's own frames, and those of the standard library, are
//! between them.

use std::hint::black_box;

use rmpi::{Communicator, RmpiResult};

fn site(lines: &[u32], count: u32) {
    let lines: Vec<_> = lines.iter().map(|line| format!("call_sites.rs:{line}")).collect();
    println!("site MPI_Barrier {} {count}", lines.join(" "));
}

const INNER: u32 = line!() + 3;
#[inline(never)]
fn barrier(world: &Communicator<'_>) -> RmpiResult {
    world.barrier()?;
    black_box(Ok(()))
}

const MIDDLE: u32 = line!() + 3;
#[inline(never)]
fn generic<T: Copy>(world: &Communicator<'_>, value: T) -> RmpiResult {
    barrier(world)?;
    black_box(value);
    Ok(())
}

const ALWAYS: u32 = line!() + 3;
#[inline(always)]
fn inlined(world: &Communicator<'_>) -> RmpiResult {
    world.barrier()?;
    black_box(Ok(()))
}

trait Work {
    fn work(&self) -> RmpiResult;
}

struct Guard<'a>(&'a Communicator<'a>);

const METHOD: u32 = line!() + 2;
impl Work for Guard<'_> {
    fn work(&self) -> RmpiResult {
        self.0.barrier()?;
        black_box(Ok(()))
    }
}

const DROP: u32 = line!() + 2;
impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.barrier().unwrap();
        black_box(());
    }
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let is_first = world.rank()? == 0;

    let (loop_line, once) = (line!() + 2, line!() + 4);
    for round in 0..10 {
        generic(world, round)?;
    }
    generic(world, "once")?;

    let closure_line = line!() + 1;
    let closure = |_: u32| inlined(world);
    let called = line!() + 1;
    (0..7).try_for_each(closure)?;

    let made = line!() + 1;
    let guard: Box<dyn Work> = Box::new(Guard(world));
    let worked = line!() + 1;
    guard.work()?;
    let dropped = line!() + 1;
    drop(guard);
    black_box(made);

    if is_first {
        site(&[INNER, MIDDLE, loop_line], 10);
        site(&[INNER, MIDDLE, once], 1);
        site(&[ALWAYS, closure_line, called], 7);
        site(&[METHOD + 1, worked], 1);
        site(&[DROP + 1, dropped], 1);
    }
    Ok(())
}
