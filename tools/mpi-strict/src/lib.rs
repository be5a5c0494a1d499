//! Takes away what MPI need not give: standard sends become synchronous ones, and blocking collective operations begin
//! together, after a barrier. A right program has the same results. One that leans on buffering, or on a collective
//! operation that returns early, stands, and `mpi-watch` or `mpi-check` behind this tool says where.

use mpi_tool_layer::mpi_sys::{MPI_Comm, MPI_Count, MPI_Datatype, MPI_Request, c_int, c_void};
use mpi_tool_layer::{
    Call, CommunicatorLayer, Compiled, FunctionId, LayerChain, Members, RawMpiInterceptionLayer,
    Returned, Tool, UnsafeBox, install_qmpi_layer,
};

struct Strict;

/// May this tool let the processes of a communicator wait for each other? Not where some may not have the tool.
fn has_tool_everywhere(comm: MPI_Comm) -> bool {
    match CommunicatorLayer::communicators().members(comm) {
        Some((Members::Regular { .. }, None)) => true,
        Some((Members::Listed(ranks), None)) => !ranks.contains(&u32::MAX),
        _ => false,
    }
}

/// Sends that go on as another function of the same parameters.
macro_rules! becomes {
    ($($name:ident as $other:ident ($($arg:ident: $ty:ty),*);)*) => {
        $(
            fn $name<F>(&self, next_f: UnsafeBox<'_, F>, $($arg: $ty),*) -> c_int
            where
                F: FnOnce($($ty),*) -> c_int,
            {
                // SAFETY: a synchronous send wants what a standard one wants, which the application has passed.
                unsafe { next_f.table().$other($($arg),*) }
            }
        )*
    };
}

// SAFETY: a layer must do what the standard says of each function. A standard send may wait for its receive, as a
// synchronous one does, and so may each process in a collective operation wait for all others.
unsafe impl RawMpiInterceptionLayer for Strict {
    const COMPILED: Compiled = Compiled::Once;

    becomes! {
        send as ssend (buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm);
        send_c as ssend_c (buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm);
        isend as issend (buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request);
        isend_c as issend_c (buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request);
        send_init as ssend_init (buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request);
        send_init_c as ssend_init_c (buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request);
    }

    fn around_call<'c, F, R>(&self, call: impl Call<'c>, next: UnsafeBox<'_, F>) -> R
    where
        F: FnOnce() -> R,
        R: Returned,
    {
        if call.is_of_all()
            && call.function() != FunctionId::MPI_Barrier
            && let Some(comm) = call.communicator()
            && has_tool_everywhere(comm.raw())
        {
            // SAFETY: a barrier wants a communicator, which this one is: the kit knows it. All its processes come to this
            // operation, in the same order as to all others on it, each with this tool. If the barrier fails, so will the
            // call, which tells the application.
            unsafe { next.table().barrier(comm.raw()) };
        }
        // SAFETY: the application's own call.
        unsafe { next.unwrap()() }
    }
}

impl Tool for Strict {
    const NEW: Self = Strict;
}

type Both = LayerChain<CommunicatorLayer, Strict>;
install_qmpi_layer!(Both, name = "mpi-strict");
