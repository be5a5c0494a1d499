//! Says when MPI starts and ends.

use mpi_tool_layer::{MpiInterceptionLayer, RunningMpi, Tool, install_qmpi_layer, say};

struct Hooks;

impl MpiInterceptionLayer for Hooks {}

fn tell(what: &str, mpi: &RunningMpi) {
    match mpi.position() {
        Some((rank, ranks)) => say(format_args!("hooks: {what} at {rank} of {ranks}")),
        None => say(format_args!("hooks: {what} without a world")),
    }
}

impl Tool for Hooks {
    const NEW: Self = Hooks;

    fn started(&self, mpi: &RunningMpi) {
        tell("starts", mpi);
    }

    fn ending(&self, mpi: &RunningMpi) {
        tell("ends", mpi);
    }
}

install_qmpi_layer!(Hooks, name = "hooks");
