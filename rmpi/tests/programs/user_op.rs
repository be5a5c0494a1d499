//! Reduction operations that are functions of the program, and pairs for `MPI_MINLOC`.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use rmpi::{Byte, DoubleInt, ErrorClass, MpiDatatype, MpiOp, RmpiContext, RmpiResult, UserOp};

/// x -> a x + b.
#[derive(Debug, Clone, Copy, PartialEq, MpiDatatype)]
struct Affine {
    small: u8,
    a: i64,
    b: i32,
}

impl Affine {
    fn after(self, first: Self) -> Self {
        let b = self.a as i32 * first.b + self.b;
        Self { small: self.small.max(first.small), a: self.a * first.a, b }
    }
}

/// MPI's own memory need not be aligned like this.
#[derive(Debug, Clone, Copy, PartialEq, MpiDatatype)]
#[repr(align(256))]
struct Aligned(u64);

fn product(a: &[i64; 4], b: &[i64; 4]) -> [i64; 4] {
    let cell = |row: usize, column: usize| a[row * 2] * b[column] + a[row * 2 + 1] * b[column + 2];
    [cell(0, 0), cell(0, 1), cell(1, 0), cell(1, 1)]
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    check(&context)?;
    context.finalize()
}

fn check(context: &RmpiContext) -> RmpiResult {
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);

    // A closure that captures.
    let modulus = [1_000_007_u64];
    let times = UserOp::create(context, true, |input: &[u64], inout: &mut [u64]| {
        assert_eq!(input.len(), inout.len());
        for (a, b) in input.iter().zip(inout) {
            *b = *a * *b % modulus[0];
        }
    })?;
    assert!(times.commutative()?);
    let mine: Vec<u64> = (0..1000).map(|i| i + 1000 * rank as u64).collect();
    let mut result = vec![0; 1000];
    world.allreduce(&mine, &mut result, &times)?;
    for (i, value) in result.iter().enumerate() {
        let expected = (0..size as u64)
            .fold(1, |product, rank| product * (i as u64 + 1000 * rank) % modulus[0]);
        assert_eq!(*value, expected, "product of element {i}");
    }

    // The same in the background; the operation is borrowed for the scope.
    let mut later = vec![0; 1000];
    rmpi::scope(|scope| world.iallreduce(scope, &mine, &mut later, &times)?.wait().map(drop))?;
    assert_eq!(later, result, "in the background");
    times.free()?;

    // Matrices: arrays as whole elements, in the order of the ranks.
    let matrices = UserOp::create(context, false, |a: &[[i64; 4]], b: &mut [[i64; 4]]| {
        for (a, b) in a.iter().zip(b) {
            *b = product(a, b);
        }
    })?;
    assert!(!matrices.commutative()?);
    let of = |rank: usize, i: usize| [1 + i as i64, rank as i64, 1, rank as i64 + 1];
    let mine: Vec<[i64; 4]> = (0..3).map(|i| of(rank, i)).collect();
    let up_to = |last: usize, i: usize| {
        (1..=last).fold(of(0, i), |matrix, rank| product(&matrix, &of(rank, i)))
    };
    let mut all = [[0; 4]; 3];
    world.allreduce(&mine, &mut all[..], &matrices)?;
    for (i, matrix) in all.iter().enumerate() {
        assert_eq!(*matrix, up_to(size - 1, i), "matrix {i}");
    }
    world.scan(&mine, &mut all[..], &matrices)?;
    for (i, matrix) in all.iter().enumerate() {
        assert_eq!(*matrix, up_to(rank, i), "matrix {i} up to rank {rank}");
    }
    let mut local = [mine[1]];
    rmpi::reduce_local(context, &[mine[0]], &mut local, &matrices)?;
    assert_eq!(local, [product(&mine[0], &mine[1])], "reduce_local");

    // A struct with padding.
    let compose = UserOp::create(context, false, |f: &[Affine], g: &mut [Affine]| {
        for (f, g) in f.iter().zip(g) {
            *g = f.after(*g);
        }
    })?;
    let of = |rank: usize| Affine { small: rank as u8, a: rank as i64 + 2, b: rank as i32 };
    let expected = (1..size).fold(of(0), |function, rank| function.after(of(rank)));
    let root = world.process(size - 1);
    let mut function = Affine { small: 0, a: 0, b: 0 };
    root.reduce_root(&of(rank), &mut function, &compose)?;
    if rank == size - 1 {
        assert_eq!(function, expected, "composition");
    }
    let or = UserOp::create(context, true, |a: &[Aligned], b: &mut [Aligned]| {
        for (a, b) in a.iter().zip(b) {
            assert_eq!(core::ptr::from_ref(a).addr() % 256, 0, "a reference has to be aligned");
            b.0 |= a.0;
        }
    })?;
    let mut union = [Aligned(0); 3];
    let mine = [1, 2, 3].map(|i| Aligned(i << (2 * rank)));
    world.allreduce(&mine[..], &mut union[..], &or)?;
    let expected = |i: u64| (0..size).fold(0, |union, rank| union | i << (2 * rank));
    assert_eq!(union, [1, 2, 3].map(|i| Aligned(expected(i))), "aligned elements");
    drop(or);

    // A predefined operation takes no structs.
    let error = world.allreduce(&of(rank), &mut function, MpiOp::SUM).unwrap_err();
    assert_eq!(error.class(), ErrorClass::OP, "{error}");
    // Nor bytes.
    let error = world.allreduce(&Byte(1), &mut Byte(0), MpiOp::SUM).unwrap_err();
    assert_eq!(error.class(), ErrorClass::OP, "{error}");

    // Where is the least? Values fall towards the middle rank.
    let distance = (rank as f64 - (size / 2) as f64).abs();
    let mut least = DoubleInt::default();
    world.allreduce(
        &DoubleInt { value: distance, index: rank as i32 },
        &mut least,
        MpiOp::MINLOC,
    )?;
    assert_eq!(least, DoubleInt { value: 0.0, index: (size / 2) as i32 }, "MINLOC");

    // 64 at a time; what is forgotten stays, what is dropped can be had again.
    core::mem::forget(matrices);
    let mut operations = Vec::new();
    let error = loop {
        match UserOp::create(context, true, |_: &[u8], _: &mut [u8]| {}) {
            Ok(operation) => operations.push(operation),
            Err(error) => break error,
        }
    };
    assert_eq!((operations.len(), error.class()), (62, ErrorClass::NO_SPACE), "{error}");
    operations.pop();
    drop(UserOp::create(context, true, |_: &[u8], _: &mut [u8]| {})?);
    drop(operations);
    if rank == 0 {
        println!("user operations: right on {size} ranks");
    }
    Ok(())
}
