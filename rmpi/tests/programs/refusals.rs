//! Numbers that are no rank, no root, no tag, no class of errors; ports that nobody opened; requests that cannot be
//! cancelled. rmpi refuses them, also where the MPI does not look: the test runs it with Open MPI's checks switched
//! off. And what may be made up: buffers at any address.

use rmpi::{
    AccessMode, AnyTag, Assertion, ErrorClass, File, LockType, MpiDatatype, MpiOp, Passive,
    RmpiContext, RmpiResult, Tag, Window, add_error_class, add_error_code, add_error_string,
};

fn class<T>(result: RmpiResult<T>) -> Option<ErrorClass> {
    result.err().map(|error| error.class())
}

fn ranks(context: &RmpiContext) -> RmpiResult {
    let (world, tag) = (context.world(), Tag::new(0));
    let mut number = 0;
    for rank in [world.size()?, 1000, 1 << 20, i32::MAX as usize, usize::MAX] {
        let nobody = world.process(rank);
        let results = [
            class(nobody.send(&1, tag)),
            class(nobody.ssend(&1, tag)),
            class(nobody.recv(&mut number, tag)),
            class(nobody.recv_status(&mut number, AnyTag)),
            class(nobody.probe(tag)),
            class(nobody.iprobe(tag)),
            class(nobody.mprobe(tag)),
            class(nobody.improbe(tag)),
            class(nobody.isend_owned(vec![1], tag)),
            class(nobody.irecv_owned(vec![1], tag)),
            class(nobody.sendrecv(&1, tag, &world.process_null(), &mut number, tag)),
            class(world.process_null().sendrecv(&1, tag, &nobody, &mut number, tag)),
            class(nobody.sendrecv_replace(&mut number, tag, &world.process_null(), tag)),
            class(nobody.bcast(&mut number)),
            class(nobody.gather(&1)),
            class(nobody.scatter(&mut number)),
            class(nobody.reduce(&1, MpiOp::SUM)),
            class(world.intercomm_create(rank, world.process(0), tag)),
            class(world.spawn(c"none", &[], 1, None, rank)),
            class(world.group()?.incl(&[rank])),
            rmpi::scope(|scope| class(nobody.isend(scope, &1, tag))),
            rmpi::scope(|scope| class(nobody.irecv(scope, &mut number, tag))),
            rmpi::scope(|scope| class(nobody.send_init(scope, &1, tag))),
            rmpi::scope(|scope| class(nobody.recv_init(scope, &mut number, tag))),
            rmpi::scope(|scope| class(nobody.ibcast(scope, &mut number))),
        ];
        assert_eq!(results, [Some(ErrorClass::RANK); 25], "rank {rank}");
    }
    Ok(())
}

/// `MPI_PROC_NULL` takes part in messages, and is no root.
fn roots(context: &RmpiContext) -> RmpiResult {
    let world = context.world();
    let nobody = world.process_null();
    let (mut number, mut all) = (0, vec![0; world.size()?]);
    let mut blocks: Vec<Vec<i32>> = vec![vec![0]; world.size()?];
    let results = [
        class(nobody.bcast(&mut number)),
        class(nobody.gather(&1)),
        class(nobody.gather_root(&1, &mut all)),
        class(nobody.gather_in_place(&mut all)),
        class(nobody.scatter(&mut number)),
        class(nobody.scatter_root(&all, &mut number)),
        class(nobody.scatter_in_place(&all)),
        class(nobody.gatherv(&1)),
        class(nobody.gatherv_root(&1, &mut blocks)),
        class(nobody.scatterv(&mut number)),
        class(nobody.reduce(&1, MpiOp::SUM)),
        class(nobody.reduce_root(&1, &mut number, MpiOp::SUM)),
        class(nobody.reduce_in_place(&mut number, MpiOp::SUM)),
        rmpi::scope(|scope| class(nobody.ibcast(scope, &mut number))),
        rmpi::scope(|scope| class(nobody.bcast_init(scope, &mut number))),
    ];
    assert_eq!(results, [Some(ErrorClass::ROOT); 15]);
    Ok(())
}

/// An element without bytes: slices of it may have any address, also that of `MPI_IN_PLACE`.
#[derive(Debug, Clone, Copy, PartialEq, MpiDatatype)]
#[repr(C)]
struct Nothing {}

fn nothing(context: &RmpiContext) -> RmpiResult {
    let world = context.world();
    let size = world.size()?;
    let one = rmpi::mpi_sys::MPI_IN_PLACE.cast::<Nothing>();
    // SAFETY: a slice of elements without bytes requires an address that is aligned and not null.
    let (send, receive) = unsafe {
        (core::slice::from_raw_parts(one, size), core::slice::from_raw_parts_mut(one, size))
    };
    world.allgather(&send[..1], &mut *receive)?;
    world.alltoall(send, &mut *receive)?;
    world.process(0).bcast(&mut *receive)?;
    world.process(0).gather_root(&send[..1], &mut *receive)?;
    world.process(0).scatter_root(send, &mut receive[..1])?;
    Ok(())
}

/// Ports that this process has not opened, or has closed.
fn ports(context: &RmpiContext) -> RmpiResult {
    let refused = Some(ErrorClass::PORT);
    for port in [c"", c"x", c"tag#2147483647$", c"tag#1000000$connentry#4142$", c"tag#-100000$"] {
        assert_eq!(class(rmpi::close_port(context, port)), refused, "{port:?}");
    }
    // Some MPIs have none.
    if let Ok(port) = rmpi::open_port(context, None) {
        rmpi::close_port(context, &port)?;
        assert_eq!(class(rmpi::close_port(context, &port)), refused);
    }
    Ok(())
}

fn tags(context: &RmpiContext) -> RmpiResult {
    let me = context.comm_self();
    let mut number = 0_u8;
    // A message from nobody has no tag.
    let status = me.process_null().recv_status(&mut number, Tag::new(5))?;
    assert_eq!((status.tag(), status.source()), (None, None));
    for raw in [-1, -2, -32766, i32::MIN, rmpi::mpi_sys::MPI_ANY_TAG] {
        assert_eq!(Tag::from_raw(raw), None);
    }
    assert_eq!(Tag::from_raw(77), Some(Tag::new(77)));
    for value in [1 << 31, u32::MAX] {
        assert_eq!(class(me.process(0).send(&1_u8, Tag::new(value))), Some(ErrorClass::TAG));
        assert_eq!(class(me.process(0).iprobe(Tag::new(value))), Some(ErrorClass::TAG));
    }
    rmpi::scope(|scope| {
        me.process(0).isend(scope, &9_u8, Tag::new(77))?;
        let status = me.process(0).recv_status(&mut number, AnyTag)?;
        assert_eq!(status.tag(), Some(Tag::new(77)));
        Ok(())
    })?;
    assert_eq!(number, 9);
    Ok(())
}

fn errors(context: &RmpiContext) -> RmpiResult {
    for raw in [-1, 0, 10_000, 0x4000_0000, i32::MAX, i32::MIN] {
        let made = add_error_code(context, ErrorClass::from_raw(raw));
        assert_eq!(class(made), Some(ErrorClass::ARG), "class {raw}");
    }
    let own = add_error_class(context)?;
    let error = add_error_code(context, own)?;
    add_error_string(context, error, c"one of this program's")?;
    assert_eq!((error.class(), error.text().as_str()), (own, "one of this program's"));
    let standard = add_error_code(context, ErrorClass::IO)?;
    assert_eq!(standard.class(), ErrorClass::IO);
    // As long as there is no text, that of the code is MPI's affair; it comes to an end.
    let _ = standard.text();
    Ok(())
}

fn cancel(context: &RmpiContext) -> RmpiResult {
    let me = context.comm_self();
    let mut window = Window::<u64, _>::allocate(me, 8, None, Passive)?;
    let (mut got, refused) = ([1_u64; 8], Some(ErrorClass::REQUEST));
    window.lock(LockType::Shared, 0, Assertion::NONE, |epoch| {
        let mut request = epoch.target().rget(&mut got, 0)?;
        assert_eq!(class(request.cancel()), refused);
        request.wait().map(drop)
    })?;
    assert_eq!(got, [0; 8]);
    let name = format!("rmpi-refusals-{}-{}", std::process::id(), context.world().rank()?);
    let path = std::env::temp_dir().join(name);
    let mode = AccessMode::RDWR | AccessMode::CREATE | AccessMode::DELETE_ON_CLOSE;
    let file = File::open(me, &path, mode, None)?;
    rmpi::scope(|scope| {
        let mut request = file.iwrite_at(scope, 0, &got)?;
        assert_eq!(class(request.cancel()), refused);
        request.wait().map(drop)
    })?;
    let mut sum = 0;
    rmpi::scope(|scope| {
        let mut request = me.iallreduce(scope, &1, &mut sum, MpiOp::SUM)?;
        assert_eq!(class(request.cancel()), refused);
        request.wait().map(drop)
    })?;
    assert_eq!(sum, 1);
    file.close()
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    ranks(&context)?;
    roots(&context)?;
    nothing(&context)?;
    ports(&context)?;
    tags(&context)?;
    errors(&context)?;
    cancel(&context)?;
    let world = context.world();
    world.barrier()?;
    if world.rank()? == 0 {
        println!("right on {} ranks", world.size()?);
    }
    Ok(())
}
