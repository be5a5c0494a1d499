//! Counts the data that an application sends, receives and reduces, by datatype and function class:
//! [`Traffic`] says when data have moved.

mod rows;

use mpi_tool_layer::{
    Call, CallResult, Compiled, Counters, FunctionId, MpiInterceptionLayer, TRAFFIC, Tool, Traffic,
    install_qmpi_layer,
};

use rows::{Class, Rows};

struct BandwidthCounter {
    moved: Rows,
    traffic: Traffic<Class>,
}

impl MpiInterceptionLayer for BandwidthCounter {
    const WATCHES_COMPLETION: bool = true;
    const COMPILED: Compiled = Compiled::ForCommunication;
    const AROUND: &'static [bool; FunctionId::COUNT] = &TRAFFIC;

    #[inline(always)]
    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        self.traffic.around(&self.moved, || Class::of(call.class()), call, next_f)
    }
}

impl Tool for BandwidthCounter {
    const NEW: Self = BandwidthCounter { moved: Rows::new(), traffic: Traffic::new() };

    fn counters(&self) -> Option<&dyn Counters> {
        Some(&self.moved)
    }
}

install_qmpi_layer!(BandwidthCounter);
