//! A layer that does nothing but follow communicators.

use super::Communicators;
use crate::{Call, CallResult, Compiled, MpiInterceptionLayer, Tool};

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
        COMMUNICATORS.around(call, next_f)
    }
}

impl Tool for CommunicatorLayer {
    const NEW: Self = Self;
}
