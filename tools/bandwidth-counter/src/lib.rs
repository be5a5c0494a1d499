//! Counts the data that an application sends, receives and reduces, by datatype and function class:
//! [`Traffic`] says when data have moved.

mod rows;

use mpi_tool_layer::mpi_sys::{MPI_Datatype, MPI_File, MPI_Request};
use mpi_tool_layer::{
    Call, CallResult, Compiled, Counters, FunctionId, InOut, MpiInterceptionLayer, TRAFFIC, Tool,
    Traffic, install_qmpi_layer, next,
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

    fn request_free<'c>(
        &self,
        next_f: impl next::MPI_Request_free<'c>,
        request: InOut<'c, MPI_Request>,
    ) -> CallResult<'c> {
        self.traffic.request_free(next_f, request)
    }

    fn type_free<'c>(
        &self,
        next_f: impl next::MPI_Type_free<'c>,
        datatype: InOut<'c, MPI_Datatype>,
    ) -> CallResult<'c> {
        self.traffic.type_free(next_f, datatype)
    }

    fn file_close<'c>(
        &self,
        next_f: impl next::MPI_File_close<'c>,
        fh: InOut<'c, MPI_File>,
    ) -> CallResult<'c> {
        self.traffic.file_close(next_f, fh)
    }
}

impl Tool for BandwidthCounter {
    const NEW: Self = BandwidthCounter { moved: Rows::new(), traffic: Traffic::new() };

    fn counters(&self) -> Option<&dyn Counters> {
        Some(&self.moved)
    }
}

install_qmpi_layer!(BandwidthCounter);
