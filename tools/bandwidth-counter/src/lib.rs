//! Counts the data that an application sends, receives and reduces, by datatype and function class.
//!
//! What is sent or reduced counts when the call succeeds that starts it, what is received when it has
//! arrived: as much as the status says, or as a collective operation is sure to give. Writes to files
//! are sent and reads received, by their statuses both.

mod pending;
mod rows;

use mpi_tool_layer::mpi_sys::{MPI_Datatype, MPI_File, MPI_Request, MPI_Status};
use mpi_tool_layer::{
    Accepted, AnyCall, Call, CallResult, Compiled, Contents, Counters, Datatypes, Flow, HandleMap,
    InOut, MpiInterceptionLayer, PendingRequests, Rank, RankKind, Tool, Transfer,
    install_qmpi_layer, next, received_bytes, received_bytes_at_once,
};

use pending::{Amount, Pending};
use rows::{Class, Rows};

struct BandwidthCounter {
    moved: Rows,
    datatypes: Datatypes,
    requests: PendingRequests<Pending>,
    /// Split collective reads and writes, one a file.
    split: HandleMap<Pending>,
}

impl MpiInterceptionLayer for BandwidthCounter {
    const WATCHES_COMPLETION: bool = true;
    const COMPILED: Compiled = Compiled::ForCommunication;

    #[inline(always)]
    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        if call.completes_requests() {
            return self.requests.complete(call, next_f, |mut pending, status| {
                if pending.finish() {
                    self.completed(&pending, status);
                }
                pending.is_persistent().then_some(pending)
            });
        }
        let peers = [call.destination(), call.source()];
        let is_nobody =
            |peer: Option<Rank>| peer.is_none_or(|peer| peer.kind() == RankKind::ProcNull);
        if call.moves_few() && peers != [None, None] && peers.into_iter().all(is_nobody) {
            // Nothing will move, whatever comes of it.
            return next_f();
        }
        let accepted = next_f()?;
        if call.starts_requests() {
            for request in call.requests() {
                self.started(*request);
            }
        } else if call.moves_few() && !call.is_started() && !call.is_persistent() {
            // Messages and broadcasts, for example: where the tool must be quick.
            let [first, second] = call.few_transfers(accepted);
            if let Some(transfer) = first {
                self.moved_now(call, accepted, transfer);
            }
            if let Some(transfer) = second {
                self.moved_now(call, accepted, transfer);
            }
        } else if call.moves_data() {
            self.moved(call.erase(), accepted);
        }
        Ok(accepted)
    }

    fn request_free<'c>(
        &self,
        next_f: impl next::MPI_Request_free<'c>,
        request: InOut<'c, MPI_Request>,
    ) -> CallResult<'c> {
        self.requests.free(request.get(), || next_f(request))
    }

    fn type_free<'c>(
        &self,
        next_f: impl next::MPI_Type_free<'c>,
        datatype: InOut<'c, MPI_Datatype>,
    ) -> CallResult<'c> {
        if let Some(datatype) = datatype.get() {
            self.datatypes.forget(datatype);
        }
        next_f(datatype)
    }

    fn file_close<'c>(
        &self,
        next_f: impl next::MPI_File_close<'c>,
        fh: InOut<'c, MPI_File>,
    ) -> CallResult<'c> {
        if let Some(file) = fh.get() {
            self.split.remove(file);
        }
        next_f(fh)
    }
}

impl BandwidthCounter {
    /// A piece of the data of a blocking call.
    #[inline(always)]
    fn moved_now<'c>(&self, call: impl Call<'c>, accepted: Accepted<'c>, transfer: Transfer<'c>) {
        let class = Class::of(call.class());
        let status = || call.status(accepted);
        let bytes = transfer.at_most.then(|| status().map_or(0, received_bytes_at_once));
        match (Datatypes::predefined(transfer.datatype()), bytes) {
            (Some(datatype), None) => {
                self.moved.add(class, transfer.flow, datatype, transfer.count());
            }
            (Some(datatype), Some(bytes))
                if bytes % datatype.size() == 0 && bytes / datatype.size() <= transfer.count() =>
            {
                self.moved.add(class, transfer.flow, datatype, bytes / datatype.size());
            }
            (_, bytes) => self.moved_slowly(class, accepted, transfer, bytes),
        }
    }

    /// The data of any other call; not in each function's own code.
    #[inline(never)]
    fn moved<'c>(&self, call: AnyCall<'c>, accepted: Accepted<'c>) {
        if call.is_split_end() {
            let pending = call.file().and_then(|file| self.split.remove(file.raw()));
            if let Some(pending) = pending {
                self.completed(&pending, call.status(accepted));
            }
        } else if call.is_started() || call.is_persistent() {
            self.prepared(call, accepted);
        } else {
            for transfer in call.transfers(accepted) {
                self.moved_now(call, accepted, transfer);
            }
        }
    }

    /// A piece of data of any datatype: `bytes` of it, or as many elements as it says.
    #[inline(never)]
    fn moved_slowly<'c>(
        &self,
        class: Class,
        accepted: Accepted<'c>,
        transfer: Transfer<'c>,
        bytes: Option<u64>,
    ) {
        let contents = self.datatypes.contents(&transfer, accepted);
        self.add(class, transfer.flow, &contents, transfer.count(), bytes);
    }

    /// Counts so many elements, or as many bytes of them as a status tells of. More than there was room for
    /// cannot have come: then MPI has set no status, and it has what was there before.
    fn add(&self, class: Class, flow: Flow, contents: &Contents, count: u64, bytes: Option<u64>) {
        let add = |datatype, elements| self.moved.add(class, flow, datatype, elements);
        match bytes {
            None => contents.elements(count, add),
            Some(bytes) if bytes > contents.size().saturating_mul(count) => {}
            Some(bytes) => contents.elements_in(bytes, add),
        }
    }

    /// A call that starts an operation, or prepares a persistent one.
    fn prepared<'c>(&self, call: AnyCall<'c>, accepted: Accepted<'c>) {
        let class = Class::of(call.class());
        let mut pending: Option<Pending> = None;
        for transfer in call.transfers(accepted) {
            if !call.is_persistent() && pending::is_at_start(transfer.flow, transfer.at_most) {
                self.moved_now(call, accepted, transfer);
                continue;
            }
            let contents = self.datatypes.contents(&transfer, accepted);
            let Transfer { flow, at_most, .. } = transfer;
            let amount = Amount { flow, contents, count: transfer.count(), at_most };
            match &mut pending {
                None => pending = Some(Pending::new(class, call.is_persistent(), amount)),
                Some(pending) => pending.push(amount),
            }
        }
        let Some(pending) = pending else { return };
        if let Some(request) = call.new_request(accepted) {
            self.requests.insert(request, pending);
        } else if let Some(file) = call.file() {
            self.split.insert(file.raw(), pending);
        }
    }

    /// A persistent request is started.
    fn started(&self, request: MPI_Request) {
        self.requests.update(request, |pending| {
            pending.start();
            for Amount { flow, contents, count, .. } in pending.at_start() {
                self.add(pending.class(), *flow, contents, *count, None);
            }
        });
    }

    /// An operation is complete, with a status, or has failed. A cancelled one has moved nothing.
    #[inline(always)]
    fn completed(&self, pending: &Pending, status: Option<&MPI_Status>) {
        let Some(status) = status else { return };
        if let Some(Amount { flow, contents: Contents::Predefined(datatype), count, .. }) =
            pending.as_receive()
            && let arrived = arrived(pending.class(), status)
            && arrived % datatype.size() == 0
            && arrived / datatype.size() <= *count
        {
            self.moved.add(pending.class(), *flow, *datatype, arrived / datatype.size());
        } else {
            self.completed_slowly(pending, status);
        }
    }

    #[inline(never)]
    fn completed_slowly(&self, pending: &Pending, status: &MPI_Status) {
        for Amount { flow, contents, count, at_most } in pending.at_completion() {
            let bytes = at_most.then(|| arrived(pending.class(), status));
            self.add(pending.class(), *flow, contents, *count, bytes);
        }
    }
}

/// How many bytes a status tells of: none if the operation was cancelled.
#[inline(always)]
fn arrived(class: Class, status: &MPI_Status) -> u64 {
    // Of what cannot be cancelled, MPI need not say that it was not.
    if class.may_be_cancelled() {
        received_bytes(status).unwrap_or(0)
    } else {
        received_bytes_at_once(status)
    }
}

impl Tool for BandwidthCounter {
    const NEW: Self = BandwidthCounter {
        moved: Rows::new(),
        datatypes: Datatypes::new(),
        requests: PendingRequests::new(),
        split: HandleMap::new(),
    };

    fn counters(&self) -> Option<&dyn Counters> {
        Some(&self.moved)
    }
}

install_qmpi_layer!(BandwidthCounter);
