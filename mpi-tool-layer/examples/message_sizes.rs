//! Counts messages by their size: how many are empty, of up to 64 bytes, of up to 4 KiB, and so on.

use mpi_tool_layer::{
    Call, CallResult, Compiled, Counter, Counters, Flow, FunctionClass, MpiInterceptionLayer,
    ThreadCounters, Tool, install_pmpi_layer,
};

const NAMES: [&str; 5] = ["empty", "1 to 64 B", "65 B to 4 KiB", "4 KiB to 256 KiB", "larger"];
const LIMITS: [u64; 4] = [0, 64, 4 << 10, 256 << 10];

struct MessageSizes {
    messages: ThreadCounters<{ NAMES.len() }>,
}

impl MpiInterceptionLayer for MessageSizes {
    const COMPILED: Compiled = Compiled::Once;

    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        // The call goes on; if MPI refuses it, there is nothing to count.
        let accepted = next_f()?;
        if call.class() == FunctionClass::PointToPoint && !call.is_persistent() {
            for transfer in call.transfers(accepted).filter(|part| part.flow == Flow::Sent) {
                let bytes = transfer.bytes(accepted);
                let class = LIMITS.iter().position(|limit| bytes <= *limit);
                self.messages.add(class.unwrap_or(LIMITS.len()), 1);
            }
        }
        Ok(accepted)
    }
}

impl Counters for MessageSizes {
    fn unit(&self) -> &'static str {
        "messages"
    }
    fn len(&self) -> usize {
        NAMES.len()
    }
    fn name(&self, index: usize) -> &'static str {
        NAMES[index]
    }
    fn class(&self, _: usize) -> &'static str {
        "point-to-point"
    }
    fn counter(&self, index: usize) -> Counter<'_> {
        self.messages.counter(index)
    }
}

impl Tool for MessageSizes {
    const NEW: Self = MessageSizes { messages: ThreadCounters::new() };

    fn counters(&self) -> Option<&dyn Counters> {
        Some(self)
    }
}

install_pmpi_layer!(MessageSizes, name = "message-sizes");
