//! What the profile tells apart, and what it measures.

use mpi_tool_layer::{
    FunctionId, Measure, MeasureUnit, Part, PartKind, Parts, RowKey, Site, SizeClass, TrackedComm,
};

/// A function called from a place, on a communicator, with so many data. `MPI_Send` and `MPI_Send_c` are one function
/// here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) function: FunctionId,
    pub(crate) site: Site,
    pub(crate) communicator: TrackedComm,
    pub(crate) size: SizeClass,
    /// The phase that the application is in; 0 for none.
    pub(crate) phase: u32,
}

/// Stands for a phase in which nothing is measured: such a row is never added to.
pub(crate) const UNMEASURED: u32 = u32::MAX - 1;
/// Stands for all phases together, where there is no room for each.
const OTHER_PHASES: u32 = u32::MAX;

impl RowKey for Row {
    const PARTS: &'static [Part] = &[
        Part { name: "function", kind: PartKind::Function },
        Part { name: "site", kind: PartKind::Site },
        Part { name: "communicator", kind: PartKind::Communicator },
        Part { name: "size", kind: PartKind::Size },
        Part { name: "phase", kind: PartKind::Phase },
    ];

    /// A function has a communicator or none, and so it is with sizes. It may be called in a phase and in none.
    const COARSE: usize = 2 * FunctionId::COUNT;

    /// Places, or functions if places are not told apart.
    const HINTS: usize = 1 << 16;

    const SEGMENTS: bool = true;

    #[inline(always)]
    fn hint(self) -> usize {
        const { assert!(FunctionId::COUNT < 1 << 10) };
        (self.function as usize) << 6 ^ self.site.number() as usize
    }

    #[inline(always)]
    fn parts(self) -> Parts {
        let Self { function, site, communicator, size, phase } = self;
        [function as u32, site.number(), communicator.number(), size.number(), phase]
    }

    fn coarse([function, _, communicator, size, phase]: Parts) -> Parts {
        let others = |part, others| if part == 0 { 0 } else { others };
        let communicator = others(communicator, TrackedComm::OTHERS.number());
        let size = others(size, SizeClass::OTHERS.number());
        [function, Site::OTHERS.number(), communicator, size, others(phase, OTHER_PHASES)]
    }
}

pub(crate) const MEASURES: &[Measure] = &[
    Measure { name: "time", unit: MeasureUnit::Ticks },
    Measure { name: "sent", unit: MeasureUnit::Bytes },
    Measure { name: "received", unit: MeasureUnit::Bytes },
    Measure { name: "wait", unit: MeasureUnit::Ticks },
];

/// How many functions with their places a thread has room for: two megabytes, used as far as they are needed.
pub(crate) const ROWS: usize = 8192;
