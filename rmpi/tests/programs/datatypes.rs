//! Derived datatypes, strided buffers and packed data. Right on any number of ranks.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use rmpi::{
    AnyTag, Combiner, Communicator, Datatype, DatatypeRef, Dimension, Distribution, ErrorClass,
    MpiDatatype, Order, Packed, RmpiContext, RmpiResult, Section, Sections, Strided, StridedMut,
    Tag, TypeDynamicBufferMut, TypeDynamicBufferRef,
};

#[derive(Debug, Clone, Copy, PartialEq, Default, MpiDatatype)]
struct Particle {
    position: [f64; 3],
    charge: i8,
}

const TAG: Tag = Tag::new(5);

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    builders(&context)?;
    large(&context)?;
    refused(&context)?;
    columns(world)?;
    halo(world)?;
    sections(world)?;
    scattered(world)?;
    distributed(world)?;
    packed(world)?;
    external(&context)?;
    if world.rank()? == 0 {
        println!("datatypes: right on {} ranks", world.size()?);
    }
    context.finalize()
}

/// The ranks to the left and to the right.
fn neighbours(world: &Communicator<'_>) -> RmpiResult<(usize, usize)> {
    let (rank, size) = (world.rank()?, world.size()?);
    Ok(((rank + size - 1) % size, (rank + 1) % size))
}

/// Every constructor: size, bounds, how it was made.
fn builders(context: &RmpiContext) -> RmpiResult {
    let number = DatatypeRef::of::<f64>(context)?;
    assert_eq!(number.combiner()?, Combiner::NAMED);
    assert_eq!(number.get_name()?, "MPI_DOUBLE");

    let three = Datatype::contiguous(context, 3, &number)?;
    assert_eq!((three.size()?, three.get_extent()?), (24, (0, 24)));
    assert_eq!(three.combiner()?, Combiner::CONTIGUOUS);

    let vector = Datatype::vector(context, 4, 1, 5, &number)?;
    assert_eq!((vector.size()?, vector.get_extent()?), (32, (0, 128)));
    assert_eq!(vector.combiner()?, Combiner::VECTOR);
    let hvector = Datatype::hvector(context, 4, 1, 40, &number)?;
    assert_eq!((hvector.size()?, hvector.get_extent()?), (32, (0, 128)));
    assert_eq!(hvector.combiner()?, Combiner::HVECTOR);
    let backwards = Datatype::vector(context, 4, 1, -5, &number)?;
    assert_eq!(backwards.get_true_extent()?, (-120, 128));

    let indexed = Datatype::indexed(context, &[3, 2, 1], &[0, 4, 8], &number)?;
    assert_eq!((indexed.size()?, indexed.get_extent()?), (48, (0, 72)));
    assert_eq!(indexed.combiner()?, Combiner::INDEXED);
    let hindexed = Datatype::hindexed(context, &[3, 2, 1], &[0, 32, 64], &number)?;
    assert_eq!((hindexed.size()?, hindexed.get_extent()?), (48, (0, 72)));
    assert_eq!(hindexed.combiner()?, Combiner::HINDEXED);
    let block = Datatype::indexed_block(context, 2, &[1, 5], &number)?;
    assert_eq!((block.size()?, block.get_extent()?), (32, (8, 48)));
    assert_eq!(block.combiner()?, Combiner::INDEXED_BLOCK);
    let hblock = Datatype::hindexed_block(context, 2, &[8, 40], &number)?;
    assert_eq!((hblock.size()?, hblock.get_extent()?), (32, (8, 48)));
    assert_eq!(hblock.combiner()?, Combiner::HINDEXED_BLOCK);

    // By hand what the derive makes.
    let byte = DatatypeRef::of::<i8>(context)?;
    let offsets = [
        core::mem::offset_of!(Particle, position) as isize,
        core::mem::offset_of!(Particle, charge) as isize,
    ];
    let fields = Datatype::create_struct(context, &[3, 1], &offsets, &[&number, &byte])?;
    assert_eq!(fields.combiner()?, Combiner::STRUCT);
    let particle = Datatype::resized(context, &fields, 0, size_of::<Particle>() as isize)?;
    let derived = DatatypeRef::of::<Particle>(context)?;
    assert_eq!(particle.size()?, derived.size()?);
    assert_eq!(particle.get_extent()?, derived.get_extent()?);
    assert_eq!(particle.get_true_extent()?, derived.get_true_extent()?);
    assert_eq!(particle.combiner()?, Combiner::RESIZED);
    let mixed = Datatype::create_struct(context, &[1, 2], &[0, 40], &[&particle, &three])?;
    assert_eq!(mixed.size()?, 25 + 48);

    let part = Datatype::subarray(context, &[4, 6], &[2, 3], &[1, 2], Order::C, &number)?;
    assert_eq!((part.size()?, part.get_extent()?), (48, (0, 192)));
    assert_eq!(part.get_true_extent()?, (64, 72));
    assert_eq!(part.combiner()?, Combiner::SUBARRAY);
    let part = Datatype::subarray(context, &[6, 4], &[3, 2], &[2, 1], Order::Fortran, &number)?;
    assert_eq!(part.get_true_extent()?, (64, 72));

    // What it was made of may go.
    let committed = Datatype::dup(context, &part)?.commit()?;
    part.free()?;
    committed.set_name(c"a part")?;
    assert_eq!(committed.get_name()?, "a part");
    assert_eq!(committed.as_ref().size()?, 48);
    assert_eq!(committed.combiner()?, Combiner::DUP);
    committed.free()
}

/// More than an `int` counts, where MPI can.
fn large(context: &RmpiContext) -> RmpiResult {
    let byte = DatatypeRef::of::<u8>(context)?;
    let large = 1_usize << 32;
    match Datatype::contiguous(context, large, &byte) {
        Ok(many) => {
            assert_eq!(many.size()?, 1 << 32);
            let blocks = Datatype::indexed(context, &[large, 1], &[0, large as isize], &byte)?;
            assert_eq!(blocks.size()?, (1 << 32) + 1);
        }
        Err(error) => assert_eq!(error.class(), ErrorClass::UNSUPPORTED_OPERATION, "{error}"),
    }
    Ok(())
}

/// Nothing that MPI would believe.
fn refused(context: &RmpiContext) -> RmpiResult {
    let class = |result: RmpiResult<rmpi::UncommittedDatatype<'_>>| result.unwrap_err().class();
    let number = DatatypeRef::of::<f64>(context)?;
    let made = Datatype::indexed(context, &[1, 2], &[0], &number);
    assert_eq!(class(made), ErrorClass::ARG);
    let made = Datatype::create_struct(context, &[1], &[0], &[&number, &number]);
    assert_eq!(class(made), ErrorClass::ARG);
    let made = Datatype::subarray(context, &[4], &[2], &[3], Order::C, &number);
    assert_eq!(class(made), ErrorClass::ARG);
    assert_eq!(class(Datatype::contiguous(context, usize::MAX, &number)), ErrorClass::COUNT);
    assert_eq!(class(Datatype::hvector(context, 9, 1, isize::MAX, &number)), ErrorClass::COUNT);
    // Sizes that would overflow in MPI, to something small.
    let mut nested = Datatype::contiguous(context, 1 << 30, &number)?;
    let error = loop {
        match Datatype::contiguous(context, 1 << 30, &nested) {
            Ok(larger) => nested = larger,
            Err(error) => break error,
        }
    };
    assert_eq!(error.class(), ErrorClass::COUNT);

    // What does not lie within.
    let mut numbers = [0.0_f64; 10];
    let vector = Datatype::vector(context, 4, 1, 3, &number)?.commit()?;
    assert!(TypeDynamicBufferRef::of_slice(&numbers, 1, vector.as_ref()).is_ok());
    assert!(TypeDynamicBufferRef::of_slice(&numbers[1..], 1, vector.as_ref()).is_err());
    assert!(TypeDynamicBufferMut::of_slice(&mut numbers, 2, vector.as_ref()).is_err());
    assert!(TypeDynamicBufferRef::of_slice(&numbers, usize::MAX, vector.as_ref()).is_err());
    let backwards = Datatype::vector(context, 4, 1, -3, &number)?.commit()?;
    assert!(TypeDynamicBufferRef::of_slice(&numbers, 1, backwards.as_ref()).is_err());
    let small = Datatype::resized(context, &vector, 0, 8)?.commit()?;
    assert!(TypeDynamicBufferRef::of_slice(&numbers, 1, small.as_ref()).is_ok());
    assert!(TypeDynamicBufferRef::of_slice(&numbers, 2, small.as_ref()).is_err());
    let shrinking = Datatype::resized(context, &number, 0, -8).map(drop).unwrap_err();
    assert_eq!(shrinking.class(), ErrorClass::ARG);
    // Padding never travels.
    let error = TypeDynamicBufferRef::of_slice(&[Particle::default()], 1, number).unwrap_err();
    assert_eq!(error.class(), ErrorClass::TYPE);

    assert!(Strided::new(context, &numbers, 4, 1, 3).is_ok());
    assert!(Strided::new(context, &numbers, 4, 2, 3).is_err());
    assert!(Strided::new(context, &numbers, usize::MAX, 1, usize::MAX).is_err());
    assert!(Strided::new(context, &numbers, 0, 9, 9).is_ok());
    assert!(StridedMut::new(context, &mut numbers, 4, 2, 1).is_err());
    Ok(())
}

const ROWS: usize = 6;
const COLUMNS: usize = 8;

/// What the matrix of a rank has in a place.
fn value(rank: usize, row: usize, column: usize) -> f64 {
    (rank * 1000 + row * COLUMNS + column) as f64
}

fn matrix(rank: usize) -> Vec<f64> {
    (0..ROWS * COLUMNS).map(|at| value(rank, at / COLUMNS, at % COLUMNS)).collect()
}

/// Column 2 to the right, into column 5.
fn columns(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let (to, from) = (world.process(right), world.process(left));
    let mine = matrix(rank);
    let right_matrix = |got: &[f64]| {
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                let (of, from) = if column == 5 { (left, 2) } else { (rank, column) };
                assert_eq!(got[row * COLUMNS + column], value(of, row, from), "row {row}");
            }
        }
    };

    let mut got = mine.clone();
    let column = Strided::new(world, &mine[2..], ROWS, 1, COLUMNS)?;
    let mut into = StridedMut::new(world, &mut got[5..], ROWS, 1, COLUMNS)?;
    to.sendrecv(&column, TAG, &from, &mut into, TAG)?;
    drop(into);
    right_matrix(&got);

    // In a scope; the requests keep the datatypes.
    let mut got = mine.clone();
    let into = StridedMut::new(world, &mut got[5..], ROWS, 1, COLUMNS)?;
    rmpi::scope(|scope| {
        let receive = from.irecv(scope, into, TAG)?;
        to.isend(scope, &column, TAG)?.wait()?;
        drop(receive.wait()?);
        RmpiResult::Ok(())
    })?;
    right_matrix(&got);

    // Forgotten: the scope waits.
    let mut got = mine.clone();
    let into = StridedMut::new(world, &mut got[5..], ROWS, 1, COLUMNS)?;
    rmpi::scope(|scope| {
        std::mem::forget(from.irecv(scope, into, TAG)?);
        to.send(&column, TAG)
    })?;
    right_matrix(&got);

    // A column of structs, two at a time, into plain memory.
    let particles: Vec<_> =
        (0..12).map(|i| Particle { position: [f64::from(i); 3], charge: i as i8 }).collect();
    let mut got = [Particle::default(); 4];
    let some = Strided::new(world, &particles[1..], 2, 2, 6)?;
    to.sendrecv(some, TAG, &from, &mut got, TAG)?;
    assert_eq!(got, [particles[1], particles[2], particles[7], particles[8]]);

    // Columns of a resized datatype begin a number apart: a transposition.
    let number = DatatypeRef::of::<f64>(world)?;
    let column = Datatype::vector(world, ROWS, 1, COLUMNS as isize, &number)?;
    let columns = Datatype::resized(world, &column, 0, 8)?.commit()?;
    let mut transposed = [0.0_f64; ROWS * COLUMNS];
    let all = TypeDynamicBufferRef::of_slice(&mine, COLUMNS, columns.as_ref())?;
    to.sendrecv(all, TAG, &from, &mut transposed, TAG)?;
    for (at, got) in transposed.iter().enumerate() {
        assert_eq!(*got, value(left, at % ROWS, at / ROWS));
    }
    Ok(())
}

/// The border of a subarray to the neighbour's halo.
fn halo(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let number = DatatypeRef::of::<f64>(world)?;
    let part = |start: usize| {
        let (sizes, subsizes) = ([ROWS, COLUMNS], [ROWS - 2, 1]);
        Datatype::subarray(world, &sizes, &subsizes, &[1, start], Order::C, &number)?.commit()
    };
    let (border, halo) = (part(COLUMNS - 2)?, part(0)?);
    let mine = matrix(rank);
    let mut got = mine.clone();
    let into = TypeDynamicBufferMut::of_slice(&mut got, 1, halo.as_ref())?;
    let from = TypeDynamicBufferRef::of_slice(&mine, 1, border.as_ref())?;
    world.process(right).sendrecv(from, TAG, &world.process(left), into, TAG)?;
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let is_halo = column == 0 && (1..ROWS - 1).contains(&row);
            let (of, from) = if is_halo { (left, COLUMNS - 2) } else { (rank, column) };
            assert_eq!(got[row * COLUMNS + column], value(of, row, from));
        }
    }
    Ok(())
}

/// An upper triangle, and fields of bytes.
fn scattered(world: &Communicator<'_>) -> RmpiResult {
    let (left, right) = neighbours(world)?;
    let (to, from) = (world.process(right), world.process(left));
    let number = DatatypeRef::of::<i32>(world)?;
    let triangle = Datatype::indexed(world, &[3, 2, 1], &[0, 4, 8], &number)?.commit()?;
    let mine: Vec<i32> = (0..9).map(|i| i + 100 * world.rank().unwrap_or(0) as i32).collect();
    let mut got = [-1_i32; 9];
    let into = TypeDynamicBufferMut::of_slice(&mut got, 1, triangle.as_ref())?;
    let buffer = TypeDynamicBufferRef::of_slice(&mine, 1, triangle.as_ref())?;
    let status = to.sendrecv(buffer, TAG, &from, into, AnyTag)?;
    assert_eq!(status.get_count::<i32>()?, Some(6));
    let wanted = |at: i32| at + 100 * left as i32;
    let wanted: [i32; 9] =
        [wanted(0), wanted(1), wanted(2), -1, wanted(4), wanted(5), -1, -1, wanted(8)];
    assert_eq!(got, wanted);

    // The same particle, of a datatype made by hand and of the derive.
    let fields =
        [&DatatypeRef::of::<f64>(world)? as &dyn rmpi::AnyDatatype, &DatatypeRef::of::<i8>(world)?];
    let particle = Datatype::create_struct(world, &[3, 1], &[0, 24], &fields)?;
    let particle = Datatype::resized(world, &particle, 0, 25)?.commit()?;
    let mut bytes = [0_u8; 50];
    for (i, bytes) in bytes.as_chunks_mut::<25>().0.iter_mut().enumerate() {
        for number in 0..3 {
            bytes[number * 8..][..8].copy_from_slice(&(i as f64 + 0.5).to_ne_bytes());
        }
        bytes[24] = i as u8;
    }
    let mut got = [Particle::default(); 2];
    let dense = TypeDynamicBufferRef::from_bytes(&bytes, 2, particle.as_ref())?;
    to.sendrecv(dense, TAG, &from, &mut got, TAG)?;
    let wanted = [0.5, 1.5].map(|number| Particle { position: [number; 3], charge: number as i8 });
    assert_eq!(got, wanted);
    Ok(())
}

/// The parts of a distributed array are all of it, each element once.
fn distributed(world: &Communicator<'_>) -> RmpiResult {
    let number = DatatypeRef::of::<i32>(world)?;
    let block = Dimension { size: 6, distribution: Distribution::Block(None), processes: 2 };
    let cyclic = Dimension { size: 5, distribution: Distribution::Cyclic(Some(2)), processes: 2 };
    let numbers: Vec<i32> = (0..30).collect();
    let mut seen = [0_u32; 30];
    for rank in 0..4 {
        let part =
            Datatype::darray(world, 4, rank, &[block, cyclic], Order::C, &number)?.commit()?;
        assert_eq!(part.combiner()?, Combiner::DARRAY);
        let count = part.size()? as usize / 4;
        let mut bytes = vec![0_u8; world.pack_size::<i32>(count)?];
        let mut length = 0;
        let buffer = TypeDynamicBufferRef::of_slice(&numbers, 1, part.as_ref())?;
        world.pack(buffer, &mut bytes, &mut length)?;
        let mut got = vec![0_i32; count];
        world.unpack(&bytes[..length], &mut 0, &mut got)?;
        for number in got {
            seen[number as usize] += 1;
        }
    }
    assert_eq!(seen, [1; 30]);
    let wrong = Dimension { processes: 3, ..block };
    assert!(Datatype::darray(world, 4, 0, &[wrong, cyclic], Order::C, &number).is_err());
    let wrong = Dimension { distribution: Distribution::Block(Some(2)), ..block };
    assert!(Datatype::darray(world, 4, 0, &[wrong, cyclic], Order::C, &number).is_err());
    assert!(Datatype::darray(world, 4, 4, &[block, cyclic], Order::C, &number).is_err());
    Ok(())
}

/// Packed by one, unpacked by the other.
fn packed(world: &Communicator<'_>) -> RmpiResult {
    let rank = world.rank()?;
    let (left, right) = neighbours(world)?;
    let particle = |rank: usize| Particle { position: [rank as f64, 1.0, 2.0], charge: rank as i8 };
    let size = world.pack_size::<i32>(1)? + world.pack_size::<Particle>(2)?;
    assert!(size >= 4 + 50);
    let mut bytes = vec![0_u8; size];
    let mut length = 0;
    world.pack(&(rank as i32), &mut bytes, &mut length)?;
    world.pack(&[particle(rank); 2], &mut bytes, &mut length)?;
    assert!(length <= size);

    let mut got = vec![0_u8; size];
    let (to, from) = (world.process(right), world.process(left));
    let buffer = Packed(&mut got);
    let status = to.sendrecv(Packed(&bytes[..length]), TAG, &from, buffer, TAG)?;
    assert_eq!(status.get_count::<u8>()?, Some(length));

    let (mut number, mut particles, mut position) = (0_i32, [Particle::default(); 2], 0);
    world.unpack(&got[..length], &mut position, &mut number)?;
    let middle = position;
    world.unpack(&got[..length], &mut position, &mut particles)?;
    assert_eq!((number, particles), (left as i32, [particle(left); 2]));
    assert_eq!(position, length);

    // Nothing is read or written beyond the bytes.
    let error = world.unpack(&got[..length - 1], &mut middle.clone(), &mut particles).unwrap_err();
    assert_eq!(error.class(), ErrorClass::TRUNCATE);
    assert!(world.unpack(&got, &mut (size + 1), &mut number).is_err());
    assert!(world.pack(&7_i32, &mut [0; 3], &mut 0).is_err());
    assert!(world.pack(&7_i32, &mut [0; 8], &mut usize::MAX.clone()).is_err());
    Ok(())
}

/// Bytes that are the same everywhere.
fn external(context: &RmpiContext) -> RmpiResult {
    assert_eq!(rmpi::pack_external_size::<i32>(context, 2)?, 8);
    let mut bytes = [0_u8; 20];
    let mut position = 0;
    rmpi::pack_external(context, &0x0102_0304_i32, &mut bytes, &mut position)?;
    assert_eq!(position, 4);
    rmpi::pack_external(context, &[1.0_f64, -2.0], &mut bytes, &mut position)?;
    assert_eq!(position, 20);
    let mut wanted = vec![1, 2, 3, 4];
    wanted.extend(1.0_f64.to_be_bytes());
    wanted.extend((-2.0_f64).to_be_bytes());
    // MPICH 3.4 leaves the bytes in this machine's order.
    if !rmpi::get_library_version()?.contains("3.4.3") {
        assert_eq!(bytes[..], wanted[..]);
    }

    let (mut number, mut numbers, mut position) = (0_i32, [0.0_f64; 2], 0);
    rmpi::unpack_external(context, &bytes, &mut position, &mut number)?;
    rmpi::unpack_external(context, &bytes, &mut position, &mut numbers)?;
    assert_eq!((number, numbers, position), (0x0102_0304, [1.0, -2.0], 20));
    assert!(rmpi::unpack_external(context, &bytes[..7], &mut 0, &mut numbers[0]).is_err());
    assert!(rmpi::pack_external(context, &numbers, &mut bytes, &mut 8).is_err());
    Ok(())
}

/// Parts of one matrix, some to send and some to receive into, at the same time.
fn sections(world: &Communicator<'_>) -> RmpiResult {
    let (left, right) = neighbours(world)?;
    let (rows, width) = (4, 6);
    let mine: Vec<(u8, f64)> =
        (0..rows * width).map(|at| (at as u8, world.rank().unwrap_or(0) as f64)).collect();
    let all = Sections::<(u8, f64), 3, 3>::new(
        world,
        mine.len(),
        [Section::column(0, 0..4, 6), Section::column(5, 0..4, 6), Section::row(0, 1..5, 6)],
        // What is read may overlap.
        [Section::column(1, 1..4, 6), Section::row(1, 1..5, 6), Section::blocks(8, 2, 2, 6)],
    )?;
    let mut matrix = mine.clone();
    // The same again: the sections are for any slice of the length.
    for _ in 0..3 {
        let ([first, last, top], [column, row, blocks]) = all.of(&mut matrix)?;
        rmpi::scope(|scope| -> RmpiResult {
            let (left, right) = (world.process(left), world.process(right));
            left.irecv(scope, first, Tag::new(0))?;
            left.irecv(scope, last, Tag::new(1))?;
            left.irecv(scope, top, Tag::new(2))?;
            right.isend(scope, blocks, Tag::new(0))?;
            right.isend(scope, column, Tag::new(1))?;
            right.isend(scope, row, Tag::new(2))?;
            Ok(())
        })?;
    }
    let mut expected = mine;
    let theirs = left as f64;
    for (at, from) in [(0, 8), (6, 9), (12, 14), (18, 15), (5, 7), (11, 13), (17, 19)] {
        expected[at] = (from, theirs);
    }
    (0..4).for_each(|n| expected[1 + n] = (7 + n as u8, theirs));
    assert_eq!(matrix, expected);

    let refused = |written: [Section; 2], read: [Section; 1], length: usize| {
        Sections::<f64, 2, 1>::new(world, length, written, read).unwrap_err().class()
    };
    let (column, row) = (Section::column(1, 0..4, 6), Section::row(2, 0..6, 6));
    let aside = Section::range(0..0);
    assert_eq!(refused([column, row], [aside], 24), ErrorClass::ARG);
    assert_eq!(refused([column, aside], [row], 24), ErrorClass::ARG);
    assert_eq!(refused([Section::blocks(0, 2, 2, 1), aside], [aside], 24), ErrorClass::ARG);
    assert_eq!(refused([column, aside], [aside], 19), ErrorClass::COUNT);
    assert_eq!(refused([aside; 2], [Section::range(25..25)], 24), ErrorClass::COUNT);
    let huge = Section::blocks(usize::MAX, usize::MAX, usize::MAX, usize::MAX);
    assert_eq!(refused([aside; 2], [huge], 24), ErrorClass::COUNT);
    let error = all.of(&mut vec![(0, 0.0); 25]).unwrap_err();
    assert_eq!(error.class(), ErrorClass::COUNT);
    Ok(())
}
