//! Writes down each access of a file: function, file, offset, bytes, when it began and how long it took, also of those that
//! end in another call.

use std::sync::Arc;

use mpi_tool_layer::{
    AnyLog, Call, CallResult, Cell, Clock, Compiled, Files, FunctionClass, FunctionId, Log,
    MpiInterceptionLayer, PendingRequests, Tool, install_qmpi_layer, received_bytes_at_once,
};

struct IoLog {
    accesses: Log<6>,
    files: Files,
    pending: PendingRequests<Access>,
}

/// An access that has begun.
struct Access {
    function: FunctionId,
    file: Option<Arc<str>>,
    offset: Option<i64>,
    begin: u64,
}

impl IoLog {
    fn ended(&self, of: Access, bytes: Option<u64>) {
        let time = Cell::Ticks(Clock::now() - of.begin);
        let cells = [of.function.name().into(), of.file.into(), of.offset.into(), bytes.into()];
        let [function, file, offset, bytes] = cells;
        self.accesses.add([function, file, offset, bytes, Cell::moment(of.begin), time]);
    }
}

impl MpiInterceptionLayer for IoLog {
    const WATCHES_COMPLETION: bool = true;
    const COMPILED: Compiled = Compiled::Once;

    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        if call.completes_requests() {
            return self.pending.complete(call, next_f, |access, status| {
                self.ended(access, status.map(received_bytes_at_once));
                None
            });
        }
        if call.class() != FunctionClass::Io || !(call.moves_data() || call.file().is_none()) {
            return next_f();
        }
        let access = Access {
            function: call.function(),
            file: self.files.name_of(call),
            offset: call.offset(),
            begin: Clock::now(),
        };
        let accepted = self.files.around(call, next_f)?;
        match call.new_request(accepted) {
            Some(request) => self.pending.insert(request, access),
            None => self.ended(access, call.status(accepted).map(received_bytes_at_once)),
        }
        Ok(accepted)
    }
}

impl Tool for IoLog {
    const NEW: Self = IoLog {
        accesses: Log::new("accesses", ["function", "file", "offset", "bytes", "at", "time"]),
        files: Files::new(),
        pending: PendingRequests::new(),
    };

    fn log(&self) -> Option<&AnyLog> {
        Some(self.accesses.any())
    }
}

install_qmpi_layer!(IoLog, name = "io-log");
