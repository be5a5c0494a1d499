//! A high-level layer that does nothing: it must cost what the raw one costs.

use mpi_tool_layer::{MpiInterceptionLayer, Tool, install_qmpi_layer};

struct EmptyHigh;

impl MpiInterceptionLayer for EmptyHigh {}

impl Tool for EmptyHigh {
    const NEW: Self = EmptyHigh;
}

install_qmpi_layer!(EmptyHigh);
