//! Tests that start programs under an MPI, with tools, and look at what comes of them: `tests`, a file a suite.
//!
//! They link no MPI and know none but by what `cargo xtask test` says, so they are compiled once and run under every MPI.
//! What they start is compiled for each: programs in C by `test_support`, programs and tools in Rust by `cargo xtask test`.
