//! `mpi-tool` under a real MPI. `cargo xtask test` sets what the tests want: `MPICC`, `MPIEXEC`,
//! `MPI_NAME`, `MPI_TOOLS` (the folder with the tools' builds) and `MPI4PY`.

mod book;
mod check;
mod clocks;
mod common;
mod doctor;
mod epochs;
mod exports;
mod faults;
mod folders;
mod generated;
mod guard;
mod hang;
mod hosts;
mod innocent;
mod inspect;
mod languages;
mod launchers;
mod list;
mod loops;
mod missing;
mod mounts;
mod outputs;
mod projects;
mod report;
mod run;
mod screen;
mod sessions;
mod standing;
mod stuck;
mod told;
mod trace;
mod worlds;
mod wrong;
