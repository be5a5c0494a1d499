//! A layer that does nothing but follow communicators.

use mpi_sys::MPI_Comm;

use super::Communicators;
use crate::{Call, CallResult, Compiled, InOut, MpiInterceptionLayer, Tool, next};

/// Follows the application's communicators for another layer, such as a raw one: the upper part of a
/// [`LayerChain`](crate::LayerChain). What it has seen, [`communicators`](Self::communicators) tells. All layers of a tool share it.
#[derive(Debug)]
pub struct CommunicatorLayer;

static COMMUNICATORS: Communicators = Communicators::new();

impl CommunicatorLayer {
    /// The communicators that the tool's layers have seen.
    pub fn communicators() -> &'static Communicators {
        &COMMUNICATORS
    }
}

impl MpiInterceptionLayer for CommunicatorLayer {
    const COMPILED: Compiled = Compiled::Once;

    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let accepted = next_f()?;
        COMMUNICATORS.made(call, accepted);
        Ok(accepted)
    }

    fn comm_free<'c>(
        &self,
        next_f: impl next::MPI_Comm_free<'c>,
        comm: InOut<'c, MPI_Comm>,
    ) -> CallResult<'c> {
        COMMUNICATORS.comm_free(next_f, comm)
    }

    fn comm_disconnect<'c>(
        &self,
        next_f: impl next::MPI_Comm_disconnect<'c>,
        comm: InOut<'c, MPI_Comm>,
    ) -> CallResult<'c> {
        COMMUNICATORS.comm_disconnect(next_f, comm)
    }
}

impl Tool for CommunicatorLayer {
    const NEW: Self = Self;
}
