//! The counters: elements by function class, flow and datatype, reported as elements and bytes.

use mpi_tool_layer::{
    Counter, Counters, Flow, FunctionClass, PredefinedDatatype, Tally, ThreadCounters,
};

/// A class of functions that move data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Class(u8);

const CLASSES: [FunctionClass; 6] = [
    FunctionClass::PointToPoint,
    FunctionClass::Partitioned,
    FunctionClass::Collective,
    FunctionClass::Neighborhood,
    FunctionClass::OneSided,
    FunctionClass::Io,
];

impl Class {
    #[inline(always)]
    pub(crate) const fn of(class: FunctionClass) -> Self {
        match class {
            FunctionClass::Partitioned => Self(1),
            FunctionClass::Collective => Self(2),
            FunctionClass::Neighborhood => Self(3),
            FunctionClass::OneSided => Self(4),
            FunctionClass::Io => Self(5),
            _ => Self(0),
        }
    }
}

const FLOWS: usize = Flow::ALL.len();
const DATATYPES: usize = PredefinedDatatype::COUNT;
const UNITS: [&str; 2] = ["elements", "bytes"];

/// How many elements have moved.
pub(crate) struct Rows(ThreadCounters<{ CLASSES.len() * FLOWS * DATATYPES }>);

impl Rows {
    pub(crate) const fn new() -> Self {
        Self(ThreadCounters::new())
    }
}

impl Tally<Class> for Rows {
    #[inline(always)]
    fn moved(&self, class: Class, flow: Flow, datatype: PredefinedDatatype, elements: u64) {
        self.0.add(
            (usize::from(class.0) * FLOWS + flow as usize) * DATATYPES + datatype.index(),
            elements,
        );
    }
}

/// What a reported counter is of.
struct Row {
    /// Which of the elements' counters.
    elements: usize,
    class: FunctionClass,
    flow: Flow,
    datatype: PredefinedDatatype,
    unit: &'static str,
}

impl Row {
    fn of(index: usize) -> Self {
        let elements = index / UNITS.len();
        let flow = elements / DATATYPES;
        Self {
            elements,
            class: CLASSES[flow / FLOWS],
            flow: Flow::ALL[flow % FLOWS],
            datatype: PredefinedDatatype::at(elements % DATATYPES),
            unit: UNITS[index % UNITS.len()],
        }
    }
}

impl Counters for Rows {
    fn unit(&self) -> &'static str {
        "elements and bytes"
    }

    fn len(&self) -> usize {
        CLASSES.len() * FLOWS * DATATYPES * UNITS.len()
    }

    fn name(&self, index: usize) -> &'static str {
        let row = Row::of(index);
        row.datatype.flow_name(row.flow)
    }

    fn class(&self, index: usize) -> &'static str {
        Row::of(index).class.name()
    }

    fn unit_of(&self, index: usize) -> Option<&'static str> {
        Some(Row::of(index).unit)
    }

    fn counter(&self, index: usize) -> Counter<'_> {
        let row = Row::of(index);
        let elements = self.0.counter(row.elements);
        if row.unit == "bytes" { elements.times_size_of(row.datatype) } else { elements }
    }
}
