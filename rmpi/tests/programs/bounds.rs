//! Datatypes and layouts that would have MPI read or write what is not the buffer's: refused, or kept within.

use rmpi::{
    Active, Assertion, Datatype, DatatypeRef, ErrorClass, LockType, MpiDatatype, MpiOp, Order,
    Passive, RmpiContext, RmpiResult, Strided, Tag, TargetLayout, TypeDynamicBufferMut,
    TypeDynamicBufferRef, UserOp, Window, window_scope,
};

/// Three bytes of padding inside.
#[derive(Clone, Copy, MpiDatatype)]
#[repr(C)]
struct Padded {
    a: u8,
    b: u32,
}

/// Nothing but padding behind the first byte.
#[derive(Clone, Copy, Debug, PartialEq, MpiDatatype)]
#[repr(C, align(256))]
struct Wide(u8);

/// As above, in pages.
#[derive(Clone, Copy, Debug, PartialEq, MpiDatatype)]
#[repr(C, align(4096))]
struct Wider(u8);

/// Padding inside and behind, as most structures have it.
#[derive(Clone, Copy, Debug, PartialEq, MpiDatatype)]
struct Particle {
    position: [f64; 3],
    charge: u16,
}

fn class<T>(result: RmpiResult<T>) -> Option<ErrorClass> {
    result.err().map(|error| error.class())
}

/// An element whose successor lies before it: MPICH writes such a row in front of the buffer.
fn backwards(context: &RmpiContext) -> RmpiResult {
    let bytes = DatatypeRef::of::<u8>(context)?;
    let one = Datatype::subarray(context, &[2, 64], &[1, 1], &[1, 63], Order::C, &bytes)?;
    for extent in [-1, -64, isize::MIN] {
        assert_eq!(class(Datatype::resized(context, &one, 192, extent)), Some(ErrorClass::ARG));
    }
    // An extent of zero is one: all elements lie upon one another.
    let heap = Datatype::resized(context, &one, 0, 0)?.commit()?;
    let mut memory = [0_u8; 128];
    assert!(TypeDynamicBufferMut::from_bytes(&mut memory, 5, heap.as_ref()).is_ok());
    assert!(TypeDynamicBufferMut::from_bytes(&mut memory[..127], 5, heap.as_ref()).is_err());
    Ok(())
}

/// Whatever the depth, bounds are those of the data.
fn nested(context: &RmpiContext) -> RmpiResult {
    let numbers = DatatypeRef::of::<i32>(context)?;
    // Backwards by strides: data from -8 to 4.
    let back = Datatype::vector(context, 3, 1, -1, &numbers)?;
    // The same, 8 bytes on: from 0 to 12.
    let forth = Datatype::hindexed(context, &[1], &[8], &back)?;
    // Two, 20 bytes apart, in a type that says of itself that it has one byte: from 0 to 32.
    let two = Datatype::hvector(context, 2, 1, 20, &forth)?;
    let two = Datatype::resized(context, &two, 40, 1)?.commit()?;
    let mut memory = [0_u8; 40];
    for (count, bytes) in [(0, 0), (1, 32), (2, 33), (9, 40)] {
        let (exact, short) = (&mut memory[..bytes], bytes.saturating_sub(1));
        assert!(TypeDynamicBufferMut::from_bytes(exact, count, two.as_ref()).is_ok());
        let result = TypeDynamicBufferMut::from_bytes(&mut memory[..short], count, two.as_ref());
        assert_eq!(result.is_ok(), count == 0);
    }
    let back = back.commit()?;
    let before = TypeDynamicBufferRef::from_bytes(&memory, 1, back.as_ref());
    assert_eq!(class(before), Some(ErrorClass::COUNT));
    assert_eq!(class(TargetLayout::<i32>::of(back.as_ref(), 1)), Some(ErrorClass::ARG));
    Ok(())
}

/// What has no data is received, packed and unpacked like nothing.
fn empty(context: &RmpiContext) -> RmpiResult {
    let (comm, bytes) = (context.comm_self(), DatatypeRef::of::<u8>(context)?);
    let none = Datatype::contiguous(context, 0, &bytes)?;
    let apart = Datatype::resized(context, &none, 0, 16)?;
    let some = Datatype::create_struct(context, &[2, 0, 3], &[0, 8, 64], &[&none, &bytes, &bytes])?;
    // Bounds without data, beside data: Open MPI would write elsewhere than it says.
    let beside = Datatype::create_struct(context, &[2, 3], &[0, 64], &[&apart, &bytes]);
    assert_eq!(class(beside), Some(ErrorClass::ARG));
    let rows = Datatype::vector(context, 2, 2, 3, &some)?;
    for datatype in [none.commit()?, apart.commit()?, some.commit()?, rows.commit()?] {
        let size = usize::try_from(datatype.size()?).unwrap_or(0);
        let mut memory = [0_u8; 2048];
        let buffer = TypeDynamicBufferMut::from_bytes(&mut memory, 2, datatype.as_ref())?;
        comm.unpack(&vec![7; 2 * size], &mut 0, buffer)?;
        assert_eq!(memory.iter().filter(|byte| **byte == 7).count(), 2 * size);
        rmpi::scope(|scope| {
            let mut theirs = [0_u8; 2048];
            let buffer = TypeDynamicBufferRef::from_bytes(&memory, 2, datatype.as_ref())?;
            comm.process(0).isend(scope, buffer, Tag::new(0))?;
            let buffer = TypeDynamicBufferMut::from_bytes(&mut theirs, 2, datatype.as_ref())?;
            comm.process(0).recv(buffer, Tag::new(0))?;
            assert_eq!(theirs, memory);
            Ok(())
        })?;
    }
    Ok(())
}

/// Padding of a window's memory need not be initialised: no layout names it.
fn padding(context: &RmpiContext) -> RmpiResult {
    let bytes = DatatypeRef::of::<u8>(context)?;
    assert_eq!(class(TargetLayout::<Padded>::of(bytes, 5)), Some(ErrorClass::TYPE));
    let mut memory = [Padded { a: 1, b: 2 }; 4];
    let mut got = [0_u8; 10];
    window_scope(|scope| {
        let mut window = Window::create(scope, context.comm_self(), &mut memory, None, Active)?;
        // As much data, by the type's own layout.
        let layout = TargetLayout::<Padded>::strided(context, 2, 1, 2)?;
        let buffer = TypeDynamicBufferMut::from_bytes(&mut got, 10, bytes)?;
        window.fence(Assertion::NONE, |epoch| epoch.process(0).get(buffer, (0, &layout)))
    })?;
    let one = [&1_u8.to_ne_bytes()[..], &2_u32.to_ne_bytes()].concat();
    assert_eq!(got, [one.clone(), one].concat()[..]);
    Ok(())
}

/// A reduction whose elements have padding: MPI's own memory ends before the last one does.
fn padded_elements<T: MpiDatatype + PartialEq + std::fmt::Debug + Send + Sync>(
    context: &RmpiContext,
    of: fn(u16) -> T,
    value: fn(&T) -> u16,
) -> RmpiResult {
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    let op = UserOp::create(context, true, |input: &[T], inout: &mut [T]| {
        assert_eq!(input.len(), inout.len());
        for (a, b) in input.iter().zip(inout) {
            *b = of(value(a) + value(b));
        }
    })?;
    for length in [0_usize, 1, 2, 3, 8] {
        let mine: Vec<T> = (0..length).map(|i| of((i + rank) as u16)).collect();
        let sum = |i: usize, ranks: usize| ((0..ranks).map(|rank| i + rank).sum::<usize>()) as u16;
        for _ in 0..5 {
            let mut all = vec![of(0); length];
            world.allreduce(&mine, &mut all, &op)?;
            assert!(all.iter().enumerate().all(|(i, one)| value(one) == sum(i, size)), "{all:?}");
            let root = world.process(0);
            if rank == 0 {
                root.reduce_root(&mine, &mut all, &op)?;
                assert!(all.iter().enumerate().all(|(i, one)| value(one) == sum(i, size)));
            } else {
                root.reduce(&mine, &op)?;
            }
            world.scan(&mine, &mut all, &op)?;
            assert!(all.iter().enumerate().all(|(i, one)| value(one) == sum(i, rank + 1)));
            world.exscan(&mine, &mut all, &op)?;
            if rank > 0 {
                assert!(all.iter().enumerate().all(|(i, one)| value(one) == sum(i, rank)));
            }
            let parts: Vec<T> = (0..size).flat_map(|_| mine.clone()).collect();
            let mut part = vec![of(0); length];
            world.reduce_scatter_block(&parts, &mut part[..], &op)?;
            assert!(part.iter().enumerate().all(|(i, one)| value(one) == sum(i, size)));
        }
        let mut twice = mine.clone();
        rmpi::reduce_local(context, &mine, &mut twice, &op)?;
        assert!(twice.iter().zip(&mine).all(|(two, one)| value(two) == 2 * value(one)));
    }
    Ok(())
}

/// MPI does not know how a type is aligned: what it allocates may not do, and then no process has a window.
fn pages(context: &RmpiContext) -> RmpiResult {
    #[derive(Clone, Copy, MpiDatatype)]
    #[repr(align(4096))]
    struct Page(u8);

    for communicator in [context.world(), context.comm_self()] {
        for length in [1, communicator.rank()?, 3] {
            match Window::<Page, _>::allocate(communicator, length, None, Active) {
                Ok(mut window) => window.local_mut().iter_mut().for_each(|page| page.0 = 1),
                Err(error) => assert_eq!(error.class(), ErrorClass::NO_MEM),
            }
        }
    }
    Ok(())
}

/// Windows that no process has addresses for: MPIs crash when they add their sizes up.
fn more_than_there_is(context: &RmpiContext) {
    for communicator in [context.world(), context.comm_self()] {
        for length in [usize::MAX, isize::MAX as usize, isize::MAX as usize / 8, 1 << 60, 1 << 46] {
            let error = Window::<u64, _>::allocate(communicator, length, None, Active).unwrap_err();
            assert_eq!(error.class(), ErrorClass::SIZE, "{length}: {error}");
        }
    }
}

/// Blocks for reading may overlap: many values in little memory, which is no other buffer's.
fn read_often(context: &RmpiContext) -> RmpiResult {
    let mut memory = [7_i64; 9];
    let mut window = Window::<i64, _>::allocate(context.comm_self(), 8, None, Passive)?;
    window.lock_local(|memory| memory.fill(5))?;
    {
        // The result begins 8 bytes behind 64 bytes of values, which are one number eight times.
        let (number, result) = memory.split_at_mut(1);
        let eight = Strided::new(context, number, 8, 1, 0)?;
        window.lock(LockType::Exclusive, 0, Assertion::NONE, |epoch| {
            epoch.target().get_accumulate(&eight, result, 0, MpiOp::SUM)
        })?;
    }
    assert_eq!(memory, [7, 5, 5, 5, 5, 5, 5, 5, 5]);
    window.lock_local(|memory| assert_eq!(memory, [12; 8]))?;
    // One part of the window's own memory is still refused where it is another one's.
    window.lock(LockType::Exclusive, 0, Assertion::NONE, |epoch| {
        let shared =
            epoch.target().get_accumulate(epoch.own(0..2)?, epoch.own(1..3)?, 4, MpiOp::SUM);
        assert_eq!(class(shared), Some(ErrorClass::BUFFER));
        Ok(())
    })?;

    // More data than there can be memory: what MPI computes of it would overflow.
    let byte = [0_u8];
    for count in [(1 << 47) + 1, 1 << 59] {
        assert_eq!(class(Strided::new(context, &byte, count, 1, 0)), Some(ErrorClass::COUNT));
        let bytes = DatatypeRef::of::<u8>(context)?;
        let often = match Datatype::vector(context, count, 1, 0, &bytes) {
            // This MPI has no large counts.
            Err(error) if error.class() == ErrorClass::UNSUPPORTED_OPERATION => return Ok(()),
            made => made?.commit()?,
        };
        let buffer = TypeDynamicBufferRef::of_slice(&byte, 1, often.as_ref());
        assert_eq!(class(buffer), Some(ErrorClass::COUNT));
    }
    Strided::new(context, &byte, 1 << 47, 1, 0).map(drop)
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    backwards(&context)?;
    nested(&context)?;
    empty(&context)?;
    padding(&context)?;
    pages(&context)?;
    more_than_there_is(&context);
    read_often(&context)?;
    padded_elements(&context, |value| Wide(value as u8), |wide| wide.0.into())?;
    padded_elements(&context, |value| Wider(value as u8), |wide| wide.0.into())?;
    padded_elements(
        &context,
        |charge| Particle { position: [charge.into(); 3], charge },
        |particle| particle.charge,
    )?;
    let mut sum = 0;
    world.allreduce(&1, &mut sum, MpiOp::SUM)?;
    assert_eq!(sum, world.size()?);
    if world.rank()? == 0 {
        println!("right on {sum} ranks");
    }
    Ok(())
}
