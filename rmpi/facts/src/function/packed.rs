//! What the list says, in tables without addresses: those would be relocated in every process that has a tool.

use super::texts::Texts;
use super::{
    ALL, CLASSES, Direction, FunctionClass, LISTED, MpiVersion, NAMES, NUMBERS, Parameter,
    ParameterKind, RESULTS, TUM_IDS, VERSIONS,
};

/// A parameter as the list has it, for the compiler only: each of its texts is an address, which the dynamic linker would
/// have to relocate in every process.
pub(crate) struct Listed {
    pub(crate) name: &'static str,
    pub(crate) rust_type: &'static str,
    pub(crate) length: &'static str,
    pub(crate) direction: Direction,
    pub(crate) kind: ParameterKind,
    pub(crate) root_only: bool,
}

/// What a program has of the list: parameters and results with the numbers of their texts.
struct Packed {
    parameters: [Parameter; LISTED.len()],
    results: [u16; ALL.len()],
    texts: Texts,
}

const PACKED: Packed = {
    let mut texts = Texts::new();
    let mut parameters = [Parameter::NONE; LISTED.len()];
    let mut index = 0;
    while index < LISTED.len() {
        let Listed { name, rust_type, length, direction, kind, root_only } = LISTED[index];
        parameters[index] = Parameter {
            name: texts.number(name),
            rust_type: texts.number(rust_type),
            length: texts.number(length),
            direction,
            kind,
            root_only,
        };
        index += 1;
    }
    let mut results = [0; ALL.len()];
    let mut index = 0;
    while index < ALL.len() {
        results[index] = texts.number(RESULTS[index]);
        index += 1;
    }
    Packed { parameters, results, texts }
};

pub(super) static PARAMETERS: [Parameter; LISTED.len()] = PACKED.parameters;
pub(super) static RESULT_TEXTS: [u16; ALL.len()] = PACKED.results;
pub(super) static TEXTS: [&str; PACKED.texts.count()] = PACKED.texts.all();

/// Where each function's parameters begin.
pub(super) static FIRSTS: [u16; ALL.len()] = {
    let mut firsts = [0; ALL.len()];
    let mut index = 1;
    while index < ALL.len() {
        firsts[index] = firsts[index - 1] + NUMBERS[index - 1] as u16;
        index += 1;
    }
    firsts
};

pub(super) static COUNTS: [u8; ALL.len()] = {
    let mut counts = [0; ALL.len()];
    let mut index = 0;
    while index < ALL.len() {
        counts[index] = NUMBERS[index] as u8;
        index += 1;
    }
    counts
};

/// Where each function's name begins, and behind the last one, where that ends.
pub(super) static STARTS: [u16; ALL.len() + 1] = {
    let mut starts = [0; ALL.len() + 1];
    let (mut function, mut index) = (0, 0);
    while index < NAMES.len() {
        if NAMES.as_bytes()[index] == 0 {
            function += 1;
            starts[function] = index as u16 + 1;
        }
        index += 1;
    }
    starts
};

pub(super) static CLASS_OF: [FunctionClass; ALL.len()] = CLASSES;
pub(super) static VERSION_OF: [MpiVersion; ALL.len()] = VERSIONS;
pub(super) static TUM_ID_OF: [Option<u16>; ALL.len()] = TUM_IDS;

/// A piece of a text or an array, in constants.
pub(super) const fn piece<T>(all: &[T], first: usize, count: usize) -> &[T] {
    all.split_at(first).1.split_at(count).0
}
