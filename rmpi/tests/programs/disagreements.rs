//! Processes that disagree about windows and their memory: all get the same error, and no memory is touched.

use rmpi::{
    Active, Assertion, Communicator, ErrorClass, MpiDatatype, RmpiResult, Window, window_scope,
};

/// Three bytes of padding, which need not be initialised.
#[derive(Clone, Copy, MpiDatatype)]
#[repr(C)]
struct Padded {
    a: u8,
    b: u32,
}

/// As long, and laid out in another way.
#[derive(Clone, Copy, MpiDatatype)]
#[repr(C)]
struct Other {
    b: u32,
    a: u8,
}

/// The same as three numbers in a row.
#[derive(Clone, Copy, MpiDatatype)]
#[repr(C)]
struct Point {
    x: f64,
    y: f64,
    z: f64,
}

fn class<T>(result: RmpiResult<T>) -> Option<ErrorClass> {
    result.err().map(|error| error.class())
}

/// A window of `T`s on process 0, and of `U`s on the others.
fn types<T: MpiDatatype, U: MpiDatatype>(
    world: &Communicator<'_>,
    one: T,
    other: U,
) -> RmpiResult<Option<ErrorClass>> {
    if world.rank()? == 0 {
        let mut memory = vec![one; 10];
        return Ok(window_scope(|scope| {
            class(Window::create(scope, world, &mut memory, None, Active))
        }));
    }
    let mut memory = vec![other; 10];
    Ok(window_scope(|scope| class(Window::create(scope, world, &mut memory, None, Active))))
}

/// The same, of memory that is attached.
fn attached_types<T: MpiDatatype + 'static, U: MpiDatatype + 'static>(
    world: &Communicator<'_>,
    one: T,
    other: U,
) -> RmpiResult<Option<ErrorClass>> {
    let mut window = Window::create_dynamic(world, None, Active)?;
    if world.rank()? == 0 {
        Ok(class(window.attach(vec![one; 10])))
    } else {
        Ok(class(window.attach(vec![other; 10])))
    }
}

/// Of two pieces of attached memory, the processes take back different ones.
fn detach(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut window = Window::create_dynamic(world, None, Active)?;
    let first = window.attach(vec![1_u64; 512])?;
    let second = window.attach(vec![2_u64; 512])?;
    let (given_up, mut kept) = if rank == 0 { (first, second) } else { (second, first) };
    let result = window.detach(given_up);
    if size == 1 {
        let memory = result?;
        assert_eq!(memory, [1; 512]);
    } else {
        assert_eq!(class(result), Some(ErrorClass::NOT_SAME));
    }
    // Most likely at the address of what would have been given back.
    let sevens = std::hint::black_box(vec![7_u64; 512]);
    let value = [0xdead_u64; 3];
    let next = (rank + 1) % size;
    window.fence(Assertion::NONE, |epoch| epoch.attached(&kept, next)?.put(&value, 0))?;
    assert_eq!(sevens, [7; 512]);
    let written = window.local_of(&mut kept)?.iter().filter(|number| **number == 0xdead).count();
    // With two processes and more, each writes where the next one's other memory is: still attached.
    assert_eq!(written, if size == 1 || rank > 1 { 3 } else { 0 }, "on rank {rank}");
    // What all have is detached as ever.
    let both = window.attach(vec![3_u64; 4])?;
    assert_eq!(window.detach(both)?, [3; 4]);
    Ok(())
}

/// Memory of another window, on one process only.
fn of_another_window(world: &Communicator<'_>) -> RmpiResult {
    let mut one = Window::create_dynamic(world, None, Active)?;
    let mut other = Window::create_dynamic(world, None, Active)?;
    let (here, there) = (one.attach(vec![1_u8; 8])?, other.attach(vec![2_u8; 8])?);
    let first = world.rank()? == 0;
    let result = one.detach(if first { there } else { here });
    let expected = if first { ErrorClass::WIN } else { ErrorClass::NOT_SAME };
    assert_eq!(class(result), Some(expected));
    Ok(())
}

/// A group with a process that has not the window: MPICH would wait for it for ever.
fn foreign_group(world: &Communicator<'_>) -> RmpiResult {
    let Some(mine) = world.split(Some(world.rank()? as u32), 0)? else { return Ok(()) };
    let mut window = Window::<u64, _>::allocate(&mine, 4, None, Active)?;
    let (all, own) = (world.group()?, mine.group()?);
    let refused = (world.size()? > 1).then_some(ErrorClass::GROUP);
    for _ in 0..2 {
        if refused.is_some() {
            assert_eq!(class(window.post(&all, Assertion::NONE, |_| Ok(()))), refused);
            assert_eq!(class(window.start(&all, Assertion::NONE, |_| Ok(()))), refused);
        }
        window.post(&own, Assertion::NONE, |exposure| {
            if refused.is_some() {
                assert_eq!(class(exposure.start(&all, Assertion::NONE, |_| Ok(()))), refused);
            }
            exposure.start(&own, Assertion::NONE, |epoch| epoch.process(0).put(&[5], 1))
        })?;
        assert_eq!(window.local(), [0, 5, 0, 0]);
    }
    window.free()
}

/// A process that is not in the group of an epoch does not expose its memory, so it is not accessed.
fn not_started(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut window = Window::<u64, _>::allocate(world, 4, None, Active)?;
    if rank == 0 {
        let me = world.group()?.incl(&[0])?;
        window.post(&me, Assertion::NONE, |exposure| {
            exposure.start(&me, Assertion::NONE, |epoch| {
                for other in 1..size {
                    let put = epoch.process(other).put(&[7], 0);
                    assert_eq!(class(put), Some(ErrorClass::RANK));
                }
                epoch.process(0).put(&[1], 2)
            })
        })?;
    }
    world.barrier()?;
    assert_eq!(window.local(), [0, 0, u64::from(rank == 0), 0]);
    window.free()
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    let differ = (size > 1).then_some(ErrorClass::NOT_SAME);
    let padded = Padded { a: 1, b: 2 };
    assert_eq!(types(world, padded, 0_u64)?, differ);
    assert_eq!(types(world, padded, [0_u8; 8])?, differ);
    assert_eq!(types(world, padded, Other { b: padded.b, a: padded.a })?, differ);
    assert_eq!(types(world, 1_i64, 1.0_f64)?, differ);
    assert_eq!(types(world, padded, padded)?, None);
    // Only names differ.
    assert_eq!(types(world, Point { x: 0.0, y: 0.0, z: 0.0 }, [0.0_f64; 3])?, None);
    assert_eq!(types(world, 1_usize, 1_u64)?, None);
    assert_eq!(attached_types(world, padded, 0_u64)?, differ);
    assert_eq!(attached_types(world, padded, padded)?, None);
    detach(world)?;
    of_another_window(world)?;
    foreign_group(world)?;
    not_started(world)?;
    world.barrier()?;
    if rank == 0 {
        println!("right on {size} ranks");
    }
    Ok(())
}
