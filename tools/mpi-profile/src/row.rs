//! What the profile tells apart, and what it measures.

use mpi_tool_layer::{FunctionId, Measure, MeasureUnit, Part, PartKind, RowKey, Site};

/// A function called from a place. `MPI_Send` and `MPI_Send_c` are one function here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) function: FunctionId,
    pub(crate) site: Site,
}

impl RowKey for Row {
    const PARTS: &'static [Part] = &[
        Part { name: "function", kind: PartKind::Function },
        Part { name: "site", kind: PartKind::Site },
    ];

    const COARSE: usize = FunctionId::COUNT;

    #[inline(always)]
    fn parts(self) -> [u32; 4] {
        [self.function as u32, self.site.number(), 0, 0]
    }

    fn coarse([function, ..]: [u32; 4]) -> [u32; 4] {
        [function, Site::OTHERS.number(), 0, 0]
    }
}

pub(crate) const MEASURES: &[Measure] = &[
    Measure { name: "time", unit: MeasureUnit::Ticks },
    Measure { name: "sent", unit: MeasureUnit::Bytes },
    Measure { name: "received", unit: MeasureUnit::Bytes },
];

/// How many functions with their places a thread has room for: about a megabyte, used as far as it is needed.
pub(crate) const ROWS: usize = 8192;
