//! The kernels in one program, whose name no other crate's example has. `KERNEL` says which one runs.

#![allow(clippy::duplicate_mod, reason = "each kernel is a program of its own, too")]

#[path = "../../examples/histogram.rs"]
mod histogram;
#[path = "../../examples/index_gather.rs"]
mod index_gather;
#[path = "../../examples/permute_matrix.rs"]
mod permute_matrix;
#[path = "../../examples/random_permutation.rs"]
mod random_permutation;
#[path = "../../examples/triangle_counting.rs"]
mod triangle_counting;
#[path = "../../examples/triangular_solve.rs"]
mod triangular_solve;

fn main() -> Result<(), rmpi_pgas::Error> {
    match std::env::var("KERNEL").as_deref() {
        Ok("histogram") => histogram::main(),
        Ok("index_gather") => index_gather::main(),
        Ok("random_permutation") => random_permutation::main(),
        Ok("permute_matrix") => permute_matrix::main(),
        Ok("triangle_counting") => triangle_counting::main(),
        Ok("triangular_solve") => triangular_solve::main(),
        other => panic!("KERNEL is {other:?}"),
    }
}
