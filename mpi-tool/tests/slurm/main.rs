//! Jobs of a real Slurm, with one node and with several, by each tool. `cargo xtask test` sets what the tests want, as for the
//! tests in `tool`.

mod cluster;
#[allow(dead_code, reason = "the tests in `tool` need more of it")]
#[path = "../tool/common.rs"]
mod common;
mod ends;
mod nodes;
mod tools;
