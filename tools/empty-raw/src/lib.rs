//! A raw layer that does nothing: what interception itself costs.

use mpi_tool_layer::{RawMpiInterceptionLayer, Tool, install_qmpi_layer};

struct EmptyRaw;

// SAFETY: a layer must do what the MPI standard says of each function. MPI does it: every call goes on as it
// came, and its result goes back.
unsafe impl RawMpiInterceptionLayer for EmptyRaw {}

impl Tool for EmptyRaw {
    const NEW: Self = EmptyRaw;
}

install_qmpi_layer!(EmptyRaw);
