//! How many messages of which size have arrived, by source and tag.

use mpi_tool_layer::{
    AnyTable, Call, CallResult, Communicators, Compiled, Exchange, Flow, Measure, MeasureUnit,
    MpiInterceptionLayer, Part, PartKind, Parts, PredefinedDatatype, RowKey, SizeClass, Table,
    Tally, Tool, Traffic, install_qmpi_layer,
};

/// Source, tag and size class.
#[derive(Clone, Copy)]
struct Key([u32; 3]);

impl RowKey for Key {
    const PARTS: &'static [Part] = &[
        Part { name: "source", kind: PartKind::Number },
        Part { name: "tag", kind: PartKind::Number },
        Part { name: "size", kind: PartKind::Size },
    ];
    const COARSE: usize = 1;
    fn parts(self) -> Parts {
        let Self([source, tag, size]) = self;
        [source, tag, size, 0, 0]
    }
    fn coarse(_: Parts) -> Parts {
        [u32::MAX, u32::MAX, SizeClass::OTHERS.number(), 0, 0]
    }
}

struct Seen {
    messages: Table<Key, 1>,
    communicators: Communicators,
}

impl Tally<()> for Seen {
    fn moved(&self, (): (), _: Flow, _: PredefinedDatatype, _: u64) {}
    fn communicators(&self) -> Option<&Communicators> {
        Some(&self.communicators)
    }
    fn exchanged(&self, (): (), Exchange { flow, peer, bytes, message_tag }: Exchange) {
        if let (Flow::Received, Some(tag)) = (flow, message_tag) {
            let source = peer.world_rank().unwrap_or(u32::MAX);
            let key = Key([source, tag.cast_unsigned(), SizeClass::of(bytes).number()]);
            self.messages.add(key, 1, [Some(bytes)]);
        }
    }
}

struct Arrivals {
    seen: Seen,
    traffic: Traffic<()>,
}

impl MpiInterceptionLayer for Arrivals {
    const WATCHES_COMPLETION: bool = true;
    const COMPILED: Compiled = Compiled::ForCommunication;

    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let passed_on = || self.traffic.around(&self.seen, || (), call, next_f);
        self.seen.communicators.around(call, passed_on)
    }
}

const BYTES: Measure = Measure { name: "received", unit: MeasureUnit::Bytes };

impl Tool for Arrivals {
    const NEW: Self = Arrivals {
        seen: Seen {
            messages: Table::new("messages", &[BYTES], 4096),
            communicators: Communicators::new(),
        },
        traffic: Traffic::new(),
    };

    fn table(&self) -> Option<&AnyTable> {
        Some(self.seen.messages.any())
    }
}

install_qmpi_layer!(Arrivals, name = "arrivals");
