//! Looks into what has been received, and lends MPI a status where the application wants none.

use mpi_tool_layer::{
    CallResult, Communicator, MpiInterceptionLayer, OwnStatus, RankKind, Source, StatusMut, Tag,
    Tool, TypeDynamicBufferMut, install_pmpi_layer, next, received_bytes,
};

struct Received;

impl MpiInterceptionLayer for Received {
    fn recv<'c>(
        &self,
        next_f: impl next::MPI_Recv<'c>,
        buf: TypeDynamicBufferMut<'c>,
        source: Source<'c>,
        tag: Tag,
        comm: Communicator<'c>,
        status: StatusMut<'_>,
    ) -> CallResult<'c> {
        let mut own = OwnStatus::new();
        let status = own.for_ignored(status);
        let accepted = next_f(buf, source, tag, comm, status)?;

        let bytes = status.get(accepted).and_then(received_bytes).unwrap_or(0);
        let from = match source.kind() {
            RankKind::Rank(rank) => format!("rank {rank}"),
            RankKind::AnySource => "anyone".to_owned(),
            other => format!("{other:?}"),
        };
        // Nothing, if they are no integers.
        let first = buf.to_vec::<i32>(accepted).and_then(|values| values.first().copied());
        let line = format!("received {bytes} bytes from {from}, the first value: {first:?}");
        eprintln!("{line}");
        Ok(accepted)
    }
}

impl Tool for Received {
    const NEW: Self = Received;
}

install_pmpi_layer!(Received, name = "received");
