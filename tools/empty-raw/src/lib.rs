//! A raw layer that does nothing: what interception itself costs.

use mpi_tool_layer::{RawMpiInterceptionLayer, Tool, install_qmpi_layer};

struct EmptyRaw;

// SAFETY: every call goes on to MPI as it came.
unsafe impl RawMpiInterceptionLayer for EmptyRaw {}

impl Tool for EmptyRaw {
    const NEW: Self = EmptyRaw;
}

install_qmpi_layer!(EmptyRaw);
