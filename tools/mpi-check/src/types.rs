//! Datatypes: how large they are, and their signatures, by which MPI says what matches.
//!
//! A signature is the sequence of basic datatypes. It is kept as a hash that can be put together: of two sequences one
//! after the other, and of one many times. Basic datatypes that languages name differently (`MPI_INT`, `MPI_INTEGER`,
//! `MPI_INT32_T`) count as one.

use std::sync::OnceLock;

use mpi_tool_layer::PredefinedDatatype;
use mpi_tool_layer::mpi_sys::MPI_Datatype;

/// The sequence of basic datatypes of some data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signature {
    /// How many basic elements.
    pub(crate) elements: u64,
    /// Of their sequence.
    pub(crate) hash: u64,
    /// The basic datatype, if all are the same; 0 if not.
    pub(crate) uniform: u8,
    /// The first [`FIRST`] basic datatypes, the first one in the lowest bits; 0 if they are not known.
    pub(crate) first: u64,
    /// Packed data, which match any, or what is not known.
    pub(crate) is_any: bool,
}

/// How many basic datatypes at the beginning of a sequence are known one by one, and in how many bits each.
const FIRST: u32 = 10;
const BITS: u32 = 6;

const BASE: u64 = 0x9e37_79b9_7f4a_7c15 | 1;

impl Signature {
    pub(crate) const EMPTY: Self =
        Self { elements: 0, hash: 0, uniform: 0, first: 0, is_any: false };
    pub(crate) const ANY: Self = Self { is_any: true, ..Self::EMPTY };

    fn basic(code: u8) -> Self {
        let hash = (u64::from(code) + 1).wrapping_mul(0xff51_afd7_ed55_8ccd);
        Self { elements: 1, hash, uniform: code, first: code.into(), is_any: false }
    }

    /// This sequence, and then another.
    pub(crate) fn then(self, next: Self) -> Self {
        if self.elements == 0 && !self.is_any {
            return next;
        }
        if next.elements == 0 && !next.is_any {
            return self;
        }
        Self {
            elements: self.elements.wrapping_add(next.elements),
            hash: self.hash.wrapping_add(power(self.elements).wrapping_mul(next.hash)),
            uniform: if self.uniform == next.uniform { self.uniform } else { 0 },
            first: match u32::try_from(self.elements) {
                Ok(before) if before < FIRST => {
                    (self.first | next.first << (BITS * before)) & ((1 << (BITS * FIRST)) - 1)
                }
                _ => self.first,
            },
            is_any: self.is_any || next.is_any,
        }
    }

    /// This sequence, so many times.
    pub(crate) fn times(self, mut times: u64) -> Self {
        if times == 1 || times > 0 && self.is_any {
            return self;
        }
        let (mut result, mut part) = (Self::EMPTY, self);
        while times > 0 {
            if times & 1 == 1 {
                result = result.then(part);
            }
            part = part.then(part);
            times >>= 1;
        }
        result
    }

    /// Are both the same, as far as is known?
    pub(crate) fn may_equal(self, other: Self) -> bool {
        self.is_any || other.is_any || self.elements == other.elements && self.hash == other.hash
    }

    /// May data of this signature be received as the other one, which may be longer?
    pub(crate) fn may_begin(self, other: Self) -> bool {
        if self.is_any || other.is_any || self.elements == 0 {
            return true;
        }
        if self.elements == other.elements {
            return self.hash == other.hash;
        }
        if self.uniform != 0 && other.uniform != 0 {
            return self.uniform == other.uniform;
        }
        // One has several basic datatypes: both begin alike, as far as is known.
        let known = self.elements.min(other.elements).min(FIRST.into()) as u32;
        let mask = (1 << (BITS * known)) - 1;
        self.first == 0 || other.first == 0 || (self.first ^ other.first) & mask == 0
    }

    /// The first basic datatypes, by name.
    fn names(self) -> impl Iterator<Item = &'static str> {
        let code = move |at: u32| (self.first >> (BITS * at)) as usize & ((1 << BITS) - 1);
        (0..FIRST)
            .map(code)
            .take_while(|code| *code != 0)
            .filter_map(|code| NAMES.get(code).copied())
    }

    /// In words: `4 MPI_INT`.
    pub(crate) fn describe(self) -> String {
        match (self.is_any, self.elements, NAMES.get(usize::from(self.uniform))) {
            (true, ..) => "packed data".into(),
            (_, 0, _) => "no data".into(),
            (_, elements, Some(name)) if self.uniform != 0 => format!("{elements} {name}"),
            (_, elements, _) => {
                let shown: Vec<_> = self.names().take(4).collect();
                match shown.len() as u64 {
                    0 => format!("{elements} elements of several basic datatypes"),
                    all if all == elements => shown.join(", "),
                    _ => format!("{elements} elements ({}, …)", shown.join(", ")),
                }
            }
        }
    }
}

/// `BASE` to a power.
fn power(mut exponent: u64) -> u64 {
    let (mut result, mut part) = (1_u64, BASE);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(part);
        }
        part = part.wrapping_mul(part);
        exponent >>= 1;
    }
    result
}

/// Names of codes, by their numbers.
const NAMES: [&str; 33] = [
    "",
    "MPI_BYTE",
    "MPI_CHAR",
    "MPI_UNSIGNED_CHAR",
    "MPI_SHORT",
    "MPI_UNSIGNED_SHORT",
    "MPI_INT",
    "MPI_UNSIGNED",
    "MPI_LONG",
    "MPI_UNSIGNED_LONG",
    "MPI_FLOAT",
    "MPI_DOUBLE",
    "MPI_LONG_DOUBLE",
    "MPI_C_BOOL",
    "MPI_C_FLOAT_COMPLEX",
    "MPI_C_DOUBLE_COMPLEX",
    "MPI_C_LONG_DOUBLE_COMPLEX",
    "MPI_FLOAT_INT",
    "MPI_DOUBLE_INT",
    "MPI_LONG_INT",
    "MPI_2INT",
    "MPI_SHORT_INT",
    "MPI_LONG_DOUBLE_INT",
    "MPI_LOGICAL",
    "MPI_2REAL",
    "MPI_2DOUBLE_PRECISION",
    "MPI_LOGICAL1",
    "MPI_LOGICAL2",
    "MPI_LOGICAL8",
    "MPI_LOGICAL16",
    "MPI_WCHAR",
    "MPI_INTEGER16",
    "MPI_REAL2",
];

/// What operations a basic datatype is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Integer,
    Float,
    Complex,
    Logical,
    Byte,
    Pair,
    /// `MPI_CHAR`, `MPI_WCHAR`, `MPI_CHARACTER`: for printing, not for counting.
    Character,
    Other,
}

/// The codes of a pair's two parts, whose sequence is what matches it.
fn parts(code: u8) -> Option<[u8; 2]> {
    Some(match code {
        17 => [10, 6],
        18 => [11, 6],
        19 => [8, 6],
        20 => [6, 6],
        21 => [4, 6],
        22 => [12, 6],
        24 => [10, 10],
        25 => [11, 11],
        _ => return None,
    })
}

/// A basic datatype: its code, size, extent and family. Code 0 is not taken apart.
fn basic(name: &str) -> (u8, u64, u64, Family) {
    use Family::{Byte, Character, Complex, Float, Integer, Logical, Other, Pair};
    let (code, size, family) = match name {
        "MPI_BYTE" => (1, 1, Byte),
        "MPI_CHAR" | "MPI_CHARACTER" => (2, 1, Character),
        "MPI_SIGNED_CHAR" | "MPI_INT8_T" | "MPI_INTEGER1" => (2, 1, Integer),
        "MPI_UNSIGNED_CHAR" | "MPI_UINT8_T" => (3, 1, Integer),
        "MPI_SHORT" | "MPI_INT16_T" | "MPI_INTEGER2" => (4, 2, Integer),
        "MPI_UNSIGNED_SHORT" | "MPI_UINT16_T" => (5, 2, Integer),
        "MPI_INT" | "MPI_INT32_T" | "MPI_INTEGER" | "MPI_INTEGER4" => (6, 4, Integer),
        "MPI_UNSIGNED" | "MPI_UINT32_T" => (7, 4, Integer),
        "MPI_LONG" | "MPI_LONG_LONG_INT" | "MPI_INT64_T" | "MPI_AINT" | "MPI_COUNT"
        | "MPI_OFFSET" | "MPI_INTEGER8" => (8, 8, Integer),
        "MPI_UNSIGNED_LONG" | "MPI_UNSIGNED_LONG_LONG" | "MPI_UINT64_T" => (9, 8, Integer),
        "MPI_FLOAT" | "MPI_REAL" | "MPI_REAL4" => (10, 4, Float),
        "MPI_DOUBLE" | "MPI_DOUBLE_PRECISION" | "MPI_REAL8" => (11, 8, Float),
        "MPI_LONG_DOUBLE" | "MPI_REAL16" => (12, 16, Float),
        "MPI_C_BOOL" | "MPI_CXX_BOOL" => (13, 1, Logical),
        "MPI_C_FLOAT_COMPLEX" | "MPI_CXX_FLOAT_COMPLEX" | "MPI_COMPLEX" | "MPI_COMPLEX8" => {
            (14, 8, Complex)
        }
        "MPI_C_DOUBLE_COMPLEX"
        | "MPI_CXX_DOUBLE_COMPLEX"
        | "MPI_DOUBLE_COMPLEX"
        | "MPI_COMPLEX16" => (15, 16, Complex),
        "MPI_C_LONG_DOUBLE_COMPLEX" | "MPI_CXX_LONG_DOUBLE_COMPLEX" | "MPI_COMPLEX32" => {
            (16, 32, Complex)
        }
        "MPI_FLOAT_INT" => (17, 8, Pair),
        "MPI_DOUBLE_INT" => (18, 12, Pair),
        "MPI_LONG_INT" => (19, 12, Pair),
        "MPI_2INT" | "MPI_2INTEGER" => (20, 8, Pair),
        "MPI_SHORT_INT" => (21, 6, Pair),
        "MPI_LONG_DOUBLE_INT" => (22, 20, Pair),
        "MPI_LOGICAL" | "MPI_LOGICAL4" => (23, 4, Logical),
        "MPI_2REAL" => (24, 8, Pair),
        "MPI_2DOUBLE_PRECISION" => (25, 16, Pair),
        "MPI_LOGICAL1" => (26, 1, Logical),
        "MPI_LOGICAL2" => (27, 2, Logical),
        "MPI_LOGICAL8" => (28, 8, Logical),
        "MPI_LOGICAL16" => (29, 16, Logical),
        "MPI_WCHAR" => (30, 4, Character),
        "MPI_INTEGER16" => (31, 16, Integer),
        "MPI_REAL2" => (32, 2, Float),
        _ => (0, 1, Other),
    };
    let extent = match code {
        18 | 19 => 16,
        21 => 8,
        22 => 32,
        _ => size,
    };
    (code, size, extent, family)
}

/// What is known of a datatype.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypeInfo {
    pub(crate) signature: Signature,
    /// Bytes of data.
    pub(crate) size: u64,
    /// From one element to the next.
    pub(crate) extent: i64,
    /// Where data begin and end.
    pub(crate) span: (i64, i64),
    /// There are no gaps: the data of `n` elements are `n * size` bytes at the buffer's address.
    pub(crate) is_dense: bool,
    pub(crate) family: Family,
    pub(crate) is_predefined: bool,
    pub(crate) is_committed: bool,
}

impl TypeInfo {
    /// What `count` elements of it cover, from an address on: the first byte and the one behind the last.
    pub(crate) fn range(&self, address: u64, count: u64) -> Option<(u64, u64)> {
        if count == 0 || self.size == 0 || self.extent < 0 {
            return None;
        }
        let last = i64::try_from(count - 1).ok()?.checked_mul(self.extent)?;
        let begin = i64::try_from(address).ok()?.checked_add(self.span.0)?;
        let end = i64::try_from(address).ok()?.checked_add(last)?.checked_add(self.span.1)?;
        (begin >= 0 && begin < end).then_some((begin as u64, end as u64))
    }
}

/// A predefined datatype. To be asked when MPI runs.
pub(crate) fn predefined(datatype: MPI_Datatype) -> Option<&'static TypeInfo> {
    static ALL: OnceLock<Vec<TypeInfo>> = OnceLock::new();
    let number = PredefinedDatatype::of_handle(datatype)?.index();
    ALL.get_or_init(|| {
        PredefinedDatatype::all()
            .map(|datatype| {
                let (code, size, extent, family) = basic(datatype.name());
                TypeInfo {
                    signature: match parts(code) {
                        _ if code == 0 => Signature::ANY,
                        Some([one, two]) => Signature::basic(one).then(Signature::basic(two)),
                        None => Signature::basic(code),
                    },
                    size,
                    extent: extent as i64,
                    span: (0, size as i64),
                    is_dense: size == extent,
                    family,
                    is_predefined: true,
                    is_committed: true,
                }
            })
            .collect()
    })
    .get(number)
}
