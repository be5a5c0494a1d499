//! Files: every way to read and write, views, file pointers, errors. Right on any number of ranks.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use std::path::{Path, PathBuf};

use rmpi::{
    AccessMode, Combiner, Communicator, Datatype, DatatypeRef, ErrorClass, File, RmpiResult,
    Strided, StridedMut, Tag, Whence,
};

const BLOCK: usize = 10;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let path = agreed_path(world)?;
    explicit_offsets(world, &path)?;
    pointers(world, &path)?;
    shared_pointer(world, &path)?;
    views(world, &path)?;
    non_blocking(world, &path)?;
    split(world, &path)?;
    no_view(world, &path)?;
    far(world, &path)?;
    properties(world, &path)?;
    errors(world, &path)?;
    // Last, since Open MPI synchronises no file while an operation of any is pending.
    forgotten(world, &path)?;
    if world.rank()? == 0 {
        println!("files: right on {} ranks", world.size()?);
    }
    context.finalize()
}

/// A name that the first process chooses.
fn agreed_path(world: &Communicator<'_>) -> RmpiResult<PathBuf> {
    let tag = Tag::new(1);
    let mut number = std::process::id();
    for other in 1..world.size()? {
        if world.rank()? == 0 {
            world.process(other).send(&number, tag)?;
        } else if world.rank()? == other {
            world.process(0).recv(&mut number, tag)?;
        }
    }
    Ok(std::env::temp_dir().join(format!("rmpi-files-{number}")))
}

/// A new file, which is deleted when it is closed.
fn new<'ctx>(world: &Communicator<'ctx>, path: &Path) -> RmpiResult<File<'ctx>> {
    let mode = AccessMode::CREATE | AccessMode::RDWR | AccessMode::DELETE_ON_CLOSE;
    let file = File::open(world, path, mode, None)?;
    assert!(file.get_amode()?.contains(AccessMode::RDWR));
    assert_eq!(file.get_size()?, 0);
    // Nobody writes before all have looked.
    world.dup()?.free()?;
    Ok(file)
}

/// Where everybody sees what everybody wrote, and nobody writes before all have read.
fn written(world: &Communicator<'_>, file: &mut File<'_>) -> RmpiResult {
    file.sync()?;
    world.dup()?.free()?;
    file.sync()
}

fn block(rank: usize) -> [f64; BLOCK] {
    core::array::from_fn(|i| (rank * 100 + i) as f64)
}

fn explicit_offsets(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let other = (rank + 1) % size;
    let at = |rank: usize| (rank * BLOCK * 8) as u64;
    let mut file = new(world, path)?;
    let status = file.write_at_all(at(rank), &block(rank))?;
    assert_eq!(status.get_count::<f64>()?, Some(BLOCK));
    written(world, &mut file)?;
    assert_eq!(file.get_size()?, at(size));
    let mut got = [0.0_f64; BLOCK];
    let status = file.read_at_all(at(other), &mut got)?;
    assert_eq!(status.get_count::<f64>()?, Some(BLOCK));
    assert_eq!(got, block(other));
    written(world, &mut file)?;

    file.write_at(at(rank), &[rank as f64; 3])?;
    written(world, &mut file)?;
    let mut got = vec![0.0_f64; BLOCK];
    file.read_at(at(other), &mut got)?;
    assert_eq!(got[..3], [other as f64; 3]);
    assert_eq!(got[3..], block(other)[3..]);

    // A short read at the end, and one behind it.
    let mut got = [7.0_f64; BLOCK];
    let status = file.read_at(at(size) - 16, &mut got)?;
    assert_eq!(status.get_count::<f64>()?, Some(2));
    assert_eq!(got[..2], block(size - 1)[BLOCK - 2..]);
    assert_eq!(got[2..], [7.0; BLOCK - 2]);
    assert_eq!(file.read_at(at(size) + 100, &mut got)?.get_count::<f64>()?, Some(0));
    file.close()
}

fn pointers(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let other = (rank + 1) % size;
    let start = |rank: usize| (rank * 16) as i64;
    let mut file = new(world, path)?;
    file.seek(start(rank), Whence::Set)?;
    file.write(&[rank as u8; 6])?;
    file.write_all(&[rank as u8 + 100; 10])?;
    assert_eq!(file.get_position()?, start(rank + 1) as u64);
    written(world, &mut file)?;

    let mut got = [0_u8; 8];
    file.seek(start(other), Whence::Set)?;
    file.read(&mut got)?;
    let (first, second) = (other as u8, other as u8 + 100);
    assert_eq!(got, [first, first, first, first, first, first, second, second]);
    file.seek(2, Whence::Current)?;
    file.read_all(&mut got)?;
    assert_eq!(got[..6], [second; 6]);
    file.seek(-4, Whence::End)?;
    assert_eq!(file.get_position()?, start(size) as u64 - 4);
    assert_eq!(file.read(&mut got)?.get_count::<u8>()?, Some(4));
    assert_eq!(got[..4], [size as u8 + 99; 4]);
    assert!(file.seek(-1, Whence::Set).is_err());
    file.close()
}

fn shared_pointer(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mut file = new(world, path)?;
    // Each as long as its rank, in their order.
    let mine = vec![rank as u8 + 1; rank + 1];
    file.write_ordered(&mine)?;
    written(world, &mut file)?;
    let all = size * (size + 1) / 2;
    assert_eq!(file.get_position_shared()?, all as u64);
    written(world, &mut file)?;
    file.seek_shared(0, Whence::Set)?;
    let mut got = vec![0_u8; rank + 1];
    file.read_ordered(&mut got)?;
    assert_eq!(got, mine);
    written(world, &mut file)?;

    // Whoever comes first.
    file.seek_shared(0, Whence::Set)?;
    file.write_shared(&[rank as i32; 2])?;
    written(world, &mut file)?;
    assert_eq!(file.get_position_shared()?, size as u64 * 8);
    written(world, &mut file)?;
    file.seek_shared(0, Whence::Set)?;
    let mut got = [-1_i32; 2];
    file.read_shared(&mut got)?;
    assert!(got[0] == got[1] && (0..size as i32).contains(&got[0]), "{got:?}");
    let mut all = vec![-1_i32; 2 * size];
    file.read_at(0, &mut all)?;
    all.sort_unstable();
    assert_eq!(all, (0..2 * size).map(|i| (i / 2) as i32).collect::<Vec<_>>());
    file.close()
}

fn views(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let number = DatatypeRef::of::<i32>(world)?;
    let mut file = new(world, path)?;
    // Two numbers of each in turn, after a header of 8 bytes.
    let two = Datatype::contiguous(world, 2, &number)?;
    let mine = Datatype::resized(world, &two, 0, 8 * size as isize)?.commit()?;
    let displacement = 8 + 8 * rank as u64;
    file.set_view(displacement, number, mine.as_ref(), c"native", None)?;
    assert_eq!(file.get_byte_offset(3)?, displacement + 8 * size as u64 + 4);
    let numbers: [i32; 6] = core::array::from_fn(|i| (rank * 10 + i) as i32);
    file.write_all(&numbers)?;
    assert_eq!(file.get_position()?, 6, "in elements of the view");
    let view = file.get_view()?;
    assert_eq!((view.displacement, view.datarep.as_str()), (displacement, "native"));
    assert_eq!(view.etype.combiner()?, Combiner::NAMED);
    assert_eq!(view.filetype.size()?, 8);
    assert_eq!(view.filetype.get_extent()?, (0, 8 * size as i64));
    drop(view);
    written(world, &mut file)?;

    let mut got = [0_i32; 3];
    file.read_at(2, &mut got)?;
    assert_eq!(got, numbers[2..5]);

    // All of them as bytes.
    let byte = DatatypeRef::of::<u8>(world)?;
    file.set_view(8, byte, byte, c"native", None)?;
    let mut all = vec![0_i32; 6 * size];
    file.read_all(&mut all)?;
    for (at, number) in all.iter().enumerate() {
        let (round, of, element) = (at / (2 * size), at / 2 % size, at % 2);
        assert_eq!(*number, (of * 10 + round * 2 + element) as i32);
    }

    written(world, &mut file)?;

    // Strided in memory, dense in the file.
    let source: Vec<i32> = (0..10).map(|i| i + 100 * rank as i32).collect();
    let every_other = Strided::new(world, &source, 5, 1, 2)?;
    file.write_at_all(20 * rank as u64, &every_other)?;
    written(world, &mut file)?;
    let mut got = [-1_i32; 10];
    let mut into = StridedMut::new(world, &mut got[1..], 5, 1, 2)?;
    file.read_at(20 * rank as u64, &mut into)?;
    drop(into);
    for i in 0..5 {
        assert_eq!((got[2 * i], got[2 * i + 1]), (-1, source[2 * i]));
    }

    // No view at all.
    let nothing = Datatype::contiguous(world, 0, &number)?.commit()?;
    assert!(file.set_view(0, number, nothing.as_ref(), c"native", None).is_err());
    assert!(file.set_view(0, nothing.as_ref(), number, c"native", None).is_err());
    let three = DatatypeRef::of::<[u8; 3]>(world)?;
    assert!(file.set_view(0, number, three, c"native", None).is_err());
    let backwards = Datatype::vector(world, 2, 1, -3, &number)?.commit()?;
    assert!(file.set_view(0, number, backwards.as_ref(), c"native", None).is_err());
    file.close()
}

/// Some MPIs lack the collective ones.
fn is_there<T>(result: RmpiResult<T>) -> RmpiResult<Option<T>> {
    match result {
        Err(error) if error.class() == ErrorClass::UNSUPPORTED_OPERATION => Ok(None),
        other => other.map(Some),
    }
}

fn non_blocking(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let at = |rank: usize| (rank * BLOCK * 8) as u64;
    let other = (rank + 1) % size;
    let mut file = new(world, path)?;
    let mine = block(rank);
    rmpi::scope(|scope| {
        let (_, status) = file.iwrite_at(scope, at(rank), &mine)?.wait_status()?;
        assert_eq!(status.get_count::<f64>()?, Some(BLOCK));
        RmpiResult::Ok(())
    })?;
    written(world, &mut file)?;

    let mut got = [0.0_f64; BLOCK];
    let mut forgotten = [0.0_f64; BLOCK];
    rmpi::scope(|scope| {
        let request = file.iread_at(scope, at(other), &mut got)?;
        // The scope waits for what is forgotten.
        std::mem::forget(file.iread_at(scope, at(rank), &mut forgotten)?);
        let (got, status) = request.wait_status()?;
        assert_eq!(status.get_count::<f64>()?, Some(BLOCK));
        assert_eq!(*got, block(other));
        RmpiResult::Ok(())
    })?;
    assert_eq!(forgotten, mine);

    let mut got = [0.0_f64; BLOCK];
    rmpi::scope(|scope| {
        if let Some(request) = is_there(file.iread_at_all(scope, at(other), &mut got))? {
            assert_eq!(*request.wait()?, block(other));
        }
        RmpiResult::Ok(())
    })?;

    written(world, &mut file)?;

    // By file pointers.
    file.seek(at(rank) as i64, Whence::Set)?;
    rmpi::scope(|scope| {
        file.iwrite(scope, &[-1.0_f64; 2])?.wait()?;
        if let Some(request) = is_there(file.iwrite_all(scope, &[-2.0_f64; 2]))? {
            request.wait()?;
        } else {
            file.write(&[-2.0_f64; 2])?;
        }
        RmpiResult::Ok(())
    })?;
    written(world, &mut file)?;
    file.seek(at(other) as i64, Whence::Set)?;
    let (mut first, mut second) = ([0.0_f64; 2], [0.0_f64; 4]);
    rmpi::scope(|scope| {
        assert_eq!(*file.iread(scope, &mut first)?.wait()?, [-1.0; 2]);
        RmpiResult::Ok(())
    })?;
    file.read(&mut second)?;
    assert_eq!(second, [-2.0, -2.0, block(other)[4], block(other)[5]]);
    written(world, &mut file)?;

    file.seek_shared(0, Whence::Set)?;
    let one = [rank as u8];
    rmpi::scope(|scope| file.iwrite_shared(scope, &one)?.wait().map(drop))?;
    written(world, &mut file)?;
    file.seek_shared(0, Whence::Set)?;
    let mut one = [255_u8];
    rmpi::scope(|scope| file.iread_shared(scope, &mut one)?.wait().map(drop))?;
    assert!(usize::from(one[0]) < size);
    file.close()
}

fn split(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let at = |rank: usize| (rank * BLOCK * 8) as u64;
    let other = (rank + 1) % size;
    let mut file = new(world, path)?;
    let operation = file.write_at_all_begin(at(rank), block(rank).to_vec())?;
    // One at a time, and no other collective access, nor what waits for all operations.
    let mut byte = [0_u8];
    let refused = [
        class(file.write_all_begin(vec![0_u8])),
        class(file.write_all(&[0_u8])),
        class(file.write_at_all(0, &[0_u8])),
        class(file.write_ordered(&[0_u8])),
        class(file.read_all(&mut byte)),
        class(file.read_at_all(0, &mut byte)),
        class(file.read_ordered(&mut byte)),
        rmpi::scope(|scope| class(file.iwrite_all(scope, &[0_u8]))),
        rmpi::scope(|scope| class(file.iread_at_all(scope, 0, &mut byte))),
        class(file.seek_shared(0, Whence::Set)),
    ];
    assert_eq!(refused, [Some(ErrorClass::REQUEST); 10]);
    let (mine, status) = operation.end()?;
    assert_eq!(mine, block(rank));
    assert_eq!(status.get_count::<f64>()?, Some(BLOCK));
    written(world, &mut file)?;
    let (got, _) = file.read_at_all_begin(at(other), vec![0.0_f64; BLOCK])?.end()?;
    assert_eq!(got, block(other));
    written(world, &mut file)?;

    file.seek(at(rank) as i64, Whence::Set)?;
    drop(file.write_all_begin(vec![rank as f64; 2])?);
    written(world, &mut file)?;
    file.seek(at(other) as i64, Whence::Set)?;
    let (got, _) = file.read_all_begin(Box::new([0.0_f64; 2]))?.end()?;
    assert_eq!(*got, [other as f64; 2]);
    written(world, &mut file)?;

    file.seek_shared(0, Whence::Set)?;
    file.write_ordered_begin(vec![rank as u8; 3])?.end()?;
    written(world, &mut file)?;
    file.seek_shared(0, Whence::Set)?;
    let (got, _) = file.read_ordered_begin(vec![255_u8; 3])?.end()?;
    assert_eq!(got, [rank as u8; 3]);
    file.close()
}

fn class<T>(result: RmpiResult<T>) -> Option<ErrorClass> {
    result.err().map(|error| error.class())
}

/// A split operation that was forgotten is pending for ever.
fn forgotten(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    let mode = AccessMode::CREATE | AccessMode::RDWR;
    let mut file = File::open(world, path, mode, None)?;
    let byte = DatatypeRef::of::<u8>(world)?;
    core::mem::forget(file.write_all_begin(vec![1_u8; 3])?);
    let refused = [
        class(file.set_view(8, byte, byte, c"native", None)),
        class(file.set_size(1000)),
        class(file.preallocate(1000)),
        class(file.sync()),
        class(file.close()),
    ];
    assert_eq!(refused, [Some(ErrorClass::REQUEST); 5]);
    if world.rank()? == 0 {
        rmpi::file_delete(world, path, None)?;
    }
    world.barrier()
}

/// Where MPI has refused a view, nothing uses what it has of it.
fn no_view(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    let mode = AccessMode::CREATE | AccessMode::RDWR;
    let mut file = File::open(world, path, mode, None)?;
    let byte = DatatypeRef::of::<u8>(world)?;
    let error = file.set_view(0, byte, byte, c"no such representation", None).unwrap_err();
    assert_eq!(error.class(), ErrorClass::UNSUPPORTED_DATAREP, "{error}");
    let mut got = [0_u8];
    let refused = [
        class(file.seek(0, Whence::Set)),
        class(file.seek_shared(0, Whence::Set)),
        class(file.get_position()),
        class(file.get_position_shared()),
        class(file.get_byte_offset(0)),
        class(file.get_view()),
        class(file.set_view(0, byte, byte, c"native", None)),
        class(file.set_size(0)),
        class(file.preallocate(0)),
        class(file.sync()),
        class(file.read_at(0, &mut got)),
        class(file.write_all(&got)),
        rmpi::scope(|scope| class(file.iread(scope, &mut got))),
        class(file.read_all_begin(vec![0_u8])),
    ];
    assert_eq!(refused, [Some(ErrorClass::FILE); 14]);
    drop(file);
    if world.rank()? == 0 {
        rmpi::file_delete(world, path, None)?;
    }
    world.barrier()
}

/// Offsets and pointers whose bytes MPICH would compute with an overflow: at another place of the file.
fn far(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    let mut file = new(world, path)?;
    file.write_at_all(0, &[7_u8; 64])?;
    written(world, &mut file)?;
    let number = DatatypeRef::of::<f64>(world)?;
    let sparse = Datatype::resized(world, &number, 0, 1 << 40)?.commit()?;
    let refused = Some(ErrorClass::ARG);
    let far = i64::MAX as u64;
    for offset in [1_u64 << 40, 1 << 60, (1 << 60) + 1, far - 8, far] {
        file.set_view(0, number, sparse.as_ref(), c"native", None)?;
        let mut got = [0.0_f64; 2];
        let places = [
            class(file.write_at(offset, &[1.0; 2])),
            class(file.write_at_all(offset, &[1.0; 2])),
            class(file.read_at(offset, &mut got)),
            class(file.read_at_all(offset, &mut got)),
            class(file.get_byte_offset(offset)),
            class(file.seek(offset as i64, Whence::Set)),
            class(file.seek(offset as i64, Whence::Current)),
            class(file.seek_shared(offset as i64, Whence::End)),
            class(file.seek_shared(offset as i64, Whence::Current)),
            rmpi::scope(|scope| class(file.iread_at(scope, offset, &mut got))),
            class(file.write_at_all_begin(offset, vec![1.0_f64])),
        ];
        assert_eq!(places, [refused; 11], "{offset:x}");
    }
    assert_eq!(class(file.set_view(far, number, sparse.as_ref(), c"native", None)), refused);
    assert_eq!(class(file.seek(i64::MIN, Whence::Current)), refused);
    // One step after the other: 2^22 elements of 2^40 bytes.
    file.seek(1 << 21, Whence::Set)?;
    assert_eq!(class(file.seek(1 << 21, Whence::Current)), refused);
    file.seek(-(1 << 21) + 1, Whence::Current)?;
    assert_eq!(file.get_position()?, 1);
    // Much data, at no far offset.
    let holes = Datatype::resized(world, &number, 0, 1 << 60)?.commit()?;
    file.set_view(0, number, holes.as_ref(), c"native", None)?;
    assert_eq!(class(file.read_at(0, &mut [0.0_f64; 8])), refused);
    let byte = DatatypeRef::of::<u8>(world)?;
    // Elements 2^60 bytes apart. Reads behind the end move the file pointer, too: the fifth would be at 2^62.
    let leaps = Datatype::resized(world, &byte, 0, 1 << 60)?.commit()?;
    for together in [false, true] {
        let read = |file: &File<'_>| {
            if together { file.read_all(&mut 0_u8) } else { file.read(&mut 0_u8) }
        };
        file.set_view(0, byte, leaps.as_ref(), c"native", None)?;
        for place in 0..4 {
            assert_eq!(file.get_position()?, place);
            read(&file)?;
        }
        assert_eq!(class(read(&file)), refused);
        assert_eq!(file.get_position()?, 4);
        assert_eq!(class(file.write(&0_u8)), refused);
        assert_eq!(rmpi::scope(|scope| class(file.iread(scope, vec![0_u8]))), refused);
        assert_eq!(class(file.write_all_begin(vec![0_u8])), refused);
    }
    file.set_view(0, byte, byte, c"native", None)?;
    // The view of each file at first.
    assert_eq!(class(file.read_at(far, &mut [0_u8])), refused);
    assert_eq!(class(file.seek(i64::MAX, Whence::Set)), refused);
    let mut got = [0_u8; 64];
    file.read_at_all(0, &mut got)?;
    assert_eq!(got, [7; 64], "nothing was written");
    file.close()
}

fn properties(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    let mut file = new(world, path)?;
    // Open MPI 5.0 sometimes fails to set a size, on some ranks only, with MPI_ERR_OTHER.
    if !rmpi::get_library_version()?.contains("Open MPI") || world.size()? == 1 {
        file.set_size(1000)?;
        assert_eq!(file.get_size()?, 1000);
        written(world, &mut file)?;
        file.preallocate(2000)?;
        assert!(file.get_size()? >= 2000);
        written(world, &mut file)?;
        file.set_size(10)?;
        assert_eq!(file.get_size()?, 10);
    }
    assert!(file.set_size(u64::MAX).is_err());
    assert!(!file.get_atomicity()?);
    file.set_atomicity(true)?;
    assert!(file.get_atomicity()?);
    assert_eq!(file.get_group()?.size()?, world.size()?);
    file.set_info(&file.get_info()?)?;
    assert_eq!(file.get_type_extent(DatatypeRef::of::<f64>(world)?)?, 8);
    file.close()
}

fn errors(world: &Communicator<'_>, path: &Path) -> RmpiResult {
    world.dup()?.free()?;
    let error = File::open(world, path, AccessMode::RDONLY, None).unwrap_err();
    assert_eq!(error.class(), ErrorClass::NO_SUCH_FILE, "{error}");
    let none = path.with_extension("none");
    let error = rmpi::file_delete(world, &none, None).unwrap_err();
    assert_eq!(error.class(), ErrorClass::NO_SUCH_FILE, "{error}");
    assert!(File::open(world, path, AccessMode::RDONLY | AccessMode::WRONLY, None).is_err());
    assert!(File::open(world, "a\0b", AccessMode::RDONLY, None).is_err());

    // Reading what was opened for writing, and an offset that is none.
    let mode = AccessMode::CREATE | AccessMode::WRONLY;
    let file = File::open(world, path, mode, None)?;
    assert!(file.read_at(0, &mut [0_u8; 4]).is_err());
    assert!(file.read_at(u64::MAX, &mut [0_u8; 4]).is_err());
    file.close()?;
    let mode = AccessMode::RDONLY;
    let file = File::open(world, path, mode, None)?;
    assert!(file.write_at(0, &[0_u8; 4]).is_err());
    drop(file);
    if world.rank()? == 0 {
        rmpi::file_delete(world, path, None)?;
    }
    Ok(())
}
