//! A tool that communicates: before MPI ends, rank 0 tells the sum of all ranks. Tools below see nothing of it.

use mpi_tool_layer::rmpi::MpiOp;
use mpi_tool_layer::{MpiInterceptionLayer, RunningMpi, Tool, install_pmpi_layer, say};

struct SumOfRanks;

impl MpiInterceptionLayer for SumOfRanks {}

impl Tool for SumOfRanks {
    const NEW: Self = SumOfRanks;

    fn ending(&self, mpi: &RunningMpi) {
        let sum = mpi.with_world(|world| {
            let mut sum = 0;
            world.allreduce(&world.rank()?, &mut sum, MpiOp::SUM).map(|()| sum)
        });
        match (mpi.position(), sum) {
            (Some((0, _)), Some(Ok(sum))) => say(format_args!("sum of ranks: {sum}")),
            (Some((0, _)), Some(Err(error))) => say(format_args!("sum of ranks: {error}")),
            _ => {}
        }
    }
}

install_pmpi_layer!(SumOfRanks, name = "sum_of_ranks");
