//! Tuples, types of other crates, and arrays of `ndarray`. Right on any number of ranks.

use bytemuck::{Pod, Zeroable};
use ndarray::{Array, Array1, Array2, Array3, ArrayView2, ArrayView3, Axis, arr0, s};
use rmpi::{
    Communicator, DatatypeRef, ErrorClass, Foreign, MpiDatatype, MpiOp, RmpiResult, SendDatatype,
    Strided, StridedMut, Tag, UserOp,
};

const TAG: Tag = Tag::new(3);

/// As another crate has it, which knows nothing of MPI.
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Point {
    x: f32,
    id: u32,
    y: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, MpiDatatype)]
struct Tagged {
    kind: u8,
    point: Foreign<Point>,
    pair: (u8, i64),
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    tuples(world)?;
    foreign(world)?;
    arrays(world)?;
    views(world)?;
    if world.rank()? == 0 {
        println!("foreign_types: right on {} ranks", world.size()?);
    }
    Ok(())
}

fn around<S: rmpi::BufferRef, R: rmpi::BufferMut>(
    world: &Communicator<'_>,
    send: S,
    receive: R,
) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = (world.process((rank + size - 1) % size), world.process((rank + 1) % size));
    right.sendrecv(send, TAG, &left, receive, TAG).map(drop)
}

fn before(world: &Communicator<'_>) -> RmpiResult<usize> {
    Ok((world.rank()? + world.size()? - 1) % world.size()?)
}

fn tuples(world: &Communicator<'_>) -> RmpiResult {
    type Mixed = (u8, f64, (i16, [u32; 3]), i8);
    let of = |rank: usize| -> Vec<Mixed> {
        (0..50).map(|n| (n, rank as f64, (-3, [n.into(), 1, rank as u32]), -1)).collect()
    };
    let mut theirs = vec![Mixed::default(); 50];
    around(world, of(world.rank()?), &mut theirs)?;
    assert_eq!(theirs, of(before(world)?));
    // No padding travels.
    assert_eq!(DatatypeRef::of::<Mixed>(world)?.size()?, 1 + 8 + 2 + 12 + 1);
    assert!(size_of::<Mixed>() > Mixed::TYPE_MAP.size());

    // A tuple is what a struct of the same elements is.
    #[derive(Clone, Copy, MpiDatatype)]
    struct Same {
        first: u8,
        second: f64,
    }
    let mut theirs = (0_u8, 0.0_f64);
    around(world, &Same { first: 7, second: 2.5 }, &mut theirs)?;
    assert_eq!(theirs, (7, 2.5));

    // Sums of pairs, by a function of the program.
    let add = UserOp::create(world, true, |more: &[(u8, u64)], all: &mut [(u8, u64)]| {
        for (more, all) in more.iter().zip(all) {
            *all = (all.0.max(more.0), all.1 + more.1);
        }
    })?;
    let (rank, size) = (world.rank()?, world.size()?);
    let mut sums = vec![(0_u8, 0_u64); 3];
    world.allreduce(vec![(rank as u8, rank as u64 + 1); 3], &mut sums, &add)?;
    assert_eq!(sums, vec![(size as u8 - 1, (size * (size + 1) / 2) as u64); 3]);
    // What can only be sent, in a tuple.
    let mut came = (rmpi::CBool(0), 0_u32);
    around(world, &(true, 'x'), &mut came)?;
    assert_eq!((came.0.get(), came.1), (true, u32::from('x')));
    Ok(())
}

fn foreign(world: &Communicator<'_>) -> RmpiResult {
    let of = |rank: usize| -> Vec<Point> {
        (0..40).map(|n| Point { x: n as f32, id: rank as u32, y: 0.5 }).collect()
    };
    let mine = of(world.rank()?);
    let mut theirs = vec![Point::default(); 40];
    around(world, Foreign::slice(&mine), Foreign::slice_mut(&mut theirs))?;
    assert_eq!(theirs, of(before(world)?));
    let mut one = Point::default();
    around(world, Foreign::value(&mine[3]), Foreign::value_mut(&mut one))?;
    assert_eq!(one, theirs[3]);
    // In a struct, and as a vector of unknown length.
    let pair = (5, -9);
    let tagged = vec![Tagged { kind: 1, point: Foreign(mine[1]), pair }; 5];
    let mut came = [Tagged::default(); 5];
    around(world, &tagged, &mut came)?;
    assert_eq!(came, [Tagged { kind: 1, point: Foreign(theirs[1]), pair }; 5]);
    let myself = world.process(world.rank()?);
    let sent = myself.isend_owned(Foreign::from_values(mine.clone()), TAG)?;
    let (points, _) = myself.receive_vec::<Foreign<Point>>(TAG)?;
    assert_eq!(Foreign::into_values(points), mine);
    sent.wait()?;
    // Bytes are bytes: what can only be sent is received as numbers, and checked.
    let sent = myself.isend_owned(vec![Foreign(true), Foreign(false)], TAG)?;
    let (mut bytes, _) = myself.receive_vec::<u8>(TAG)?;
    sent.wait()?;
    assert_eq!(bytemuck::checked::try_cast_slice::<u8, bool>(&bytes), Ok(&[true, false][..]));
    bytes[0] = 2;
    assert!(bytemuck::checked::try_cast_slice::<u8, bool>(&bytes).is_err());
    Ok(())
}

fn number(rank: usize) -> impl Fn((usize, usize)) -> f64 {
    move |(row, column)| (1000 * rank + 10 * row + column) as f64
}

/// Arrays are buffers.
fn arrays(world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let mine = Array2::from_shape_fn((4, 6), number(rank));
    let theirs_are = Array2::from_shape_fn((4, 6), number(before(world)?));
    let mut theirs = Array2::<f64>::zeros((4, 6));
    around(world, &mine, &mut theirs)?;
    assert_eq!(theirs, theirs_are);
    // Rows of one in rows of another.
    let mut rows = Array2::<f64>::zeros((4, 6));
    around(world, mine.slice(s![1..3, ..]), rows.slice_mut(s![0..2, ..]))?;
    assert_eq!(rows.slice(s![0..2, ..]), theirs_are.slice(s![1..3, ..]));
    // Reductions, and an array that moves in.
    let mut sum = Array1::<i64>::zeros(5);
    world.allreduce(Array::from_elem(5, rank as i64), &mut sum, MpiOp::SUM)?;
    assert_eq!(sum, Array::from_elem(5, (size * (size - 1) / 2) as i64));
    let myself = world.process(rank);
    let receive = myself.irecv_owned(Array3::<i32>::zeros((2, 3, 4)), TAG)?;
    let (_, sent) = (myself.isend_owned(Array3::<i32>::ones((2, 3, 4)), TAG)?.wait()?, 24);
    let (ones, status) = receive.wait()?;
    assert_eq!((ones, status.get_count::<i32>()?), (Array3::ones((2, 3, 4)), Some(sent)));
    // Elements that lie apart are refused, with what to do instead.
    for error in [
        around(world, mine.column(2), rmpi::NullBuffer).unwrap_err(),
        around(world, rmpi::NullBuffer, theirs.slice_mut(s![.., ..;2])).unwrap_err(),
        around(world, mine.t(), rmpi::NullBuffer).unwrap_err(),
        world.allreduce(mine.column(2), &mut [0.0; 4][..], MpiOp::SUM).unwrap_err(),
    ] {
        assert_eq!(error.class(), ErrorClass::TYPE);
        assert!(error.to_string().contains("of_view"), "{error}");
    }
    Ok(())
}

/// What lies apart travels in the order of the view, into what lies apart, too.
fn views(world: &Communicator<'_>) -> RmpiResult {
    let of = |rank: usize| {
        Array3::from_shape_fn((3, 4, 5), |(i, j, k)| {
            (1000 * rank + 100 * i + 10 * j + k + 1) as i32
        })
    };
    let (mine, theirs) = (of(world.rank()?), of(before(world)?));
    macro_rules! travels {
        ($array:ident => $view:expr, $view_mut:expr) => {{
            let view = |$array: ArrayView3<'_, i32>| $view.iter().copied().collect::<Vec<i32>>();
            let expected = view(theirs.view());
            let mut came = vec![0; expected.len()];
            let $array = mine.view();
            around(world, &Strided::of_view(world, $view)?, &mut came)?;
            assert_eq!(came, expected);
            let mut all = Array3::<i32>::zeros((3, 4, 5));
            let mut $array = all.view_mut();
            around(world, &came, StridedMut::of_view(world, $view_mut)?)?;
            // These came to their places, and nothing else to others.
            let sent = came;
            assert_eq!(view(all.view()).len(), sent.len());
            let sender = (before(world)? + world.size()? - 1) % world.size()?;
            let theirs_sent = view(of(sender).view());
            assert_eq!(view(all.view()), theirs_sent);
            assert_eq!(all.iter().filter(|&&element| element != 0).count(), sent.len());
        }};
    }
    travels!(a => a.slice(s![.., .., 2]), a.slice_mut(s![.., .., 2]));
    travels!(a => a.slice(s![1, .., ..]), a.slice_mut(s![1, .., ..]));
    travels!(a => a.slice(s![.., 1..3, ..]), a.slice_mut(s![.., 1..3, ..]));
    travels!(a => a.slice(s![..;2, ..;-1, 1..;3]), a.slice_mut(s![..;2, ..;-1, 1..;3]));
    travels!(a => a.slice(s![..;-1, .., ..;-2]), a.slice_mut(s![..;-1, .., ..;-2]));
    travels!(a => a.view().reversed_axes(), a.view_mut().reversed_axes());
    travels!(a => a.index_axis(Axis(1), 3), a.index_axis_mut(Axis(1), 3));
    travels!(a => a.slice(s![0, 0, 0]), a.slice_mut(s![0, 0, 0]));
    travels!(a => a.slice(s![.., 2..2, ..]), a.slice_mut(s![.., 2..2, ..]));

    // Elements of structure, with padding; and one element often.
    let particles = Array2::from_shape_fn((3, 3), |(i, j)| (i as u8, j as f64));
    let mut came = vec![(0_u8, 0.0_f64); 3];
    around(world, &Strided::of_view(world, particles.column(1))?, &mut came)?;
    assert_eq!(came, [(0, 1.0), (1, 1.0), (2, 1.0)]);
    let one = arr0([7_i32, 8]);
    let often: ArrayView2<'_, [i32; 2]> = one.broadcast((2, 3)).unwrap();
    let mut came = vec![[0; 2]; 6];
    around(world, &Strided::of_view(world, often)?, &mut came)?;
    assert_eq!(came, [[7, 8]; 6]);
    let too_often = one.broadcast((1 << 40, 1 << 20)).unwrap();
    let error = Strided::of_view(world, too_often).unwrap_err();
    assert_eq!(error.class(), ErrorClass::COUNT);

    // Two columns of one matrix at once.
    let mut matrix = Array2::<f64>::zeros((4, 6));
    let columns = [Array1::from_elem(4, 1.0), Array1::from_elem(4, 2.0)];
    {
        let (first, last) = matrix.multi_slice_mut((s![.., 0], s![.., 5]));
        let (first, last) = (StridedMut::of_view(world, first)?, StridedMut::of_view(world, last)?);
        let myself = world.process(world.rank()?);
        rmpi::scope(|scope| -> RmpiResult {
            myself.irecv(scope, first, Tag::new(0))?;
            myself.irecv(scope, last, Tag::new(1))?;
            myself.isend(scope, &columns[1], Tag::new(1))?;
            myself.isend(scope, &columns[0], Tag::new(0))?;
            Ok(())
        })?;
    }
    assert_eq!((matrix.column(0), matrix.column(5)), (columns[0].view(), columns[1].view()));
    assert_eq!(matrix.sum(), 12.0);
    Ok(())
}
