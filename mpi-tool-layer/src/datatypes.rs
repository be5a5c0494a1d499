//! What data are made of: the predefined datatypes in a datatype.
//!
//! A tool that reports how much of which type was moved wants `MPI_DOUBLE` and not the name of a
//! structure. [`Datatypes`] finds out what a derived datatype is made of (`MPI_Type_get_envelope`,
//! `MPI_Type_get_contents`), once a datatype, and remembers it by its handle. A predefined one is
//! found in a small table of handles, without a lock.
//!
//! MPI is asked only about datatypes that it has used ([`UsedDatatype`]), the predefined ones
//! included: an optional datatype that an MPI lacks has a handle, too, and a question about it is
//! an error.
//!
//! A datatype is taken apart recursively, down to predefined ones. Datatypes that MPI makes for the
//! answers are the tool's to free, which it does when the whole datatype is known. What is kept is
//! two views: sums by predefined datatype, for whole elements, and the order of the parts, for the
//! incomplete element at the end of a short message.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use mpi_sys::{MPI_Datatype, pmpi};

use crate::call::asking::UsedDatatype;
use crate::call::{Accepted, Flow, Transfer, Word};
use crate::handles::HandleMap;

/// The names, the names behind a flow, and the handles of all predefined datatypes. Those in
/// brackets some ABI has no name for.
macro_rules! predefined {
    ([$($optional:ident)*] $($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name),)* "other"];
        const FLOWS: &[[&str; Flow::ALL.len()]] = &[
            $([
                concat!("sent ", stringify!($name)),
                concat!("received ", stringify!($name)),
                concat!("reduced ", stringify!($name)),
            ],)*
            ["sent other", "received other", "reduced other"],
        ];

        /// Read at run time: in one ABI, handles are addresses in the library. Null are those that an
        /// ABI has no name for.
        #[allow(non_snake_case, unused_variables, reason = "most ABIs have names for all")]
        fn handles() -> [MPI_Datatype; NAMES.len() - 1] {
            $(let $optional = pmpi::MPI_DATATYPE_NULL;)*
            {
                use pmpi::*;
                [$($name),*]
            }
        }
    };
}

predefined! {
    [MPI_LOGICAL16 MPI_INTEGER16 MPI_REAL2 MPI_COMPLEX4]
    MPI_CHAR MPI_SIGNED_CHAR MPI_UNSIGNED_CHAR MPI_BYTE MPI_PACKED MPI_WCHAR
    MPI_SHORT MPI_UNSIGNED_SHORT MPI_INT MPI_UNSIGNED MPI_LONG MPI_UNSIGNED_LONG
    MPI_LONG_LONG_INT MPI_UNSIGNED_LONG_LONG
    MPI_INT8_T MPI_UINT8_T MPI_INT16_T MPI_UINT16_T MPI_INT32_T MPI_UINT32_T MPI_INT64_T
    MPI_UINT64_T MPI_AINT MPI_COUNT MPI_OFFSET
    MPI_FLOAT MPI_DOUBLE MPI_LONG_DOUBLE
    MPI_C_BOOL MPI_C_FLOAT_COMPLEX MPI_C_DOUBLE_COMPLEX MPI_C_LONG_DOUBLE_COMPLEX
    MPI_CXX_BOOL MPI_CXX_FLOAT_COMPLEX MPI_CXX_DOUBLE_COMPLEX MPI_CXX_LONG_DOUBLE_COMPLEX
    MPI_FLOAT_INT MPI_DOUBLE_INT MPI_LONG_INT MPI_2INT MPI_SHORT_INT MPI_LONG_DOUBLE_INT
    MPI_CHARACTER MPI_LOGICAL MPI_INTEGER MPI_REAL MPI_DOUBLE_PRECISION MPI_COMPLEX
    MPI_DOUBLE_COMPLEX MPI_2REAL MPI_2DOUBLE_PRECISION MPI_2INTEGER
    MPI_LOGICAL1 MPI_LOGICAL2 MPI_LOGICAL4 MPI_LOGICAL8 MPI_LOGICAL16
    MPI_INTEGER1 MPI_INTEGER2 MPI_INTEGER4 MPI_INTEGER8 MPI_INTEGER16
    MPI_REAL2 MPI_REAL4 MPI_REAL8 MPI_REAL16
    MPI_COMPLEX4 MPI_COMPLEX8 MPI_COMPLEX16 MPI_COMPLEX32
}

/// A predefined datatype. Those that have two names are one (`MPI_LONG_LONG` is
/// `MPI_LONG_LONG_INT`), as are those that have the same handle in an ABI: the first in the order
/// of [`all`](Self::all).
///
/// It is a number from 0, so that tools have arrays of counters by datatype. The numbers are the
/// same under all ABIs, whichever of the datatypes an MPI has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PredefinedDatatype(u8);

/// Sizes in bytes, of those that MPI has accepted: an optional one that an MPI lacks must not be
/// asked about. 0 where that has not been. They are atomics that reports read, also in signal
/// handlers.
static SIZES: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

impl PredefinedDatatype {
    /// How many there are, [`OTHER`](Self::OTHER) included.
    pub const COUNT: usize = NAMES.len();

    /// Data of a datatype that MPI does not take apart, an extension of its own for example, and of
    /// incomplete elements: counted in bytes, as elements of one. It is the last.
    pub const OTHER: Self = Self(Self::COUNT as u8 - 1);

    /// All of them, in the order of their numbers.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// The one of a number, the inverse of [`index`](Self::index).
    ///
    /// # Panics
    /// If the number is not below [`COUNT`](Self::COUNT).
    pub const fn at(index: usize) -> Self {
        assert!(index < Self::COUNT, "no predefined datatype has this number");
        Self(index as u8)
    }

    /// Its number, below [`COUNT`](Self::COUNT).
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The standard's name, `MPI_INT`, or `other`.
    pub const fn name(self) -> &'static str {
        NAMES[self.index()]
    }

    /// The same behind `sent`, `received` or `reduced`: the name of a counter, as text that is
    /// there for ever.
    pub const fn flow_name(self, flow: Flow) -> &'static str {
        FLOWS[self.index()][flow as usize]
    }

    /// An element's size in bytes; 0 of a datatype that the application has not used. MPI was asked
    /// when [`Datatypes::contents`] met it first; this only reads the answer, and may be called
    /// anywhere.
    #[inline(always)]
    pub fn size(self) -> u64 {
        if self == Self::OTHER {
            return 1;
        }
        SIZES[self.index()].load(Relaxed)
    }

    /// The predefined datatype of a handle, if it is one, whether the application has used it or not. Asks MPI nothing.
    /// To be called when MPI has been started: before, handles that are addresses may not be known.
    #[inline]
    pub fn of_handle(datatype: MPI_Datatype) -> Option<Self> {
        TABLE.get_or_init(Table::new);
        Self::of(datatype)
    }

    /// The predefined datatype of a handle, if it is one.
    #[inline(always)]
    fn of(datatype: MPI_Datatype) -> Option<Self> {
        let table = TABLE.get()?;
        let key = datatype.to_word();
        let mut place = Table::place(key);
        loop {
            let (found, index) = table.0[place];
            if found == key && index != Table::EMPTY {
                return Some(Self(index));
            }
            if index == Table::EMPTY {
                return None;
            }
            place = (place + 1) % Table::PLACES;
        }
    }

    /// Remembers the size, at the datatype's first use. Two threads may both ask; they get the same
    /// answer.
    fn learn_size(self, datatype: UsedDatatype) {
        if self.size() == 0 {
            SIZES[self.index()].store(datatype.size(), Relaxed);
        }
    }
}

impl fmt::Display for PredefinedDatatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Handles, and whose they are: a hash table of fixed size, at most half full, in which a handle is
/// found by a multiplication and as a rule one comparison.
struct Table([(u64, u8); Table::PLACES]);

/// Made at the first question, when MPI is there: before, handles that are addresses may be null.
static TABLE: OnceLock<Table> = OnceLock::new();

impl Table {
    /// A power of two, and more than twice as many as there are datatypes.
    const PLACES: usize = 256;
    /// No datatype's number.
    const EMPTY: u8 = u8::MAX;
    /// So that a search always ends at an empty place, and soon.
    const ENOUGH: () = assert!(NAMES.len() < Self::PLACES / 2);

    /// Where to look first: the highest eight bits of the product, for 256 places.
    #[inline(always)]
    const fn place(key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
    }

    /// Fills the table with the handles of this process's MPI. What has two names is found by the
    /// first one's number.
    #[cold]
    fn new() -> Self {
        let () = Self::ENOUGH;
        let mut table = Self([(0, Self::EMPTY); Self::PLACES]);
        for (index, datatype) in handles().into_iter().enumerate() {
            let key = datatype.to_word();
            // What an MPI lacks is null.
            if key == 0 || datatype == pmpi::MPI_DATATYPE_NULL {
                continue;
            }
            let mut place = Self::place(key);
            while table.0[place].1 != Self::EMPTY && table.0[place].0 != key {
                place = (place + 1) % Self::PLACES;
            }
            if table.0[place].1 == Self::EMPTY {
                table.0[place] = (key, index as u8);
            }
        }
        table
    }
}

/// What a datatype is made of. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Contents {
    /// One predefined element.
    Predefined(PredefinedDatatype),
    /// Others: a datatype that the application has made (`MPI_Type_vector`,
    /// `MPI_Type_create_struct`), or one that MPI does not take apart.
    Derived(Arc<Derived>),
}

/// What a derived datatype is made of. Gaps and displacements are not kept: only data count.
#[derive(Debug)]
pub struct Derived {
    /// In bytes.
    size: u64,
    /// How many elements of each predefined datatype.
    totals: Vec<(PredefinedDatatype, u64)>,
    /// In the order of the type map: how many times what.
    parts: Vec<(u64, Contents)>,
}

impl Contents {
    /// How many bytes of data there are in one element, without gaps (`MPI_Type_size`).
    #[inline(always)]
    pub fn size(&self) -> u64 {
        match self {
            Self::Predefined(datatype) => datatype.size(),
            Self::Derived(derived) => derived.size,
        }
    }

    /// Tells how many predefined elements so many of this datatype have: `each` gets each
    /// predefined datatype once, with the number of its elements. For data whose amount is a count:
    /// what is sent, or received for sure.
    #[inline(always)]
    pub fn elements(&self, count: u64, mut each: impl FnMut(PredefinedDatatype, u64)) {
        match self {
            Self::Predefined(datatype) => each(*datatype, count),
            Self::Derived(derived) => {
                for (datatype, number) in &derived.totals {
                    each(*datatype, number * count);
                }
            }
        }
    }

    /// Tells what so many bytes are, which need not be whole elements of this datatype: what a
    /// receive got, by its status. They are taken in the order of the type map, and `each` may get
    /// a predefined datatype several times. Bytes of no whole predefined element are of
    /// [`OTHER`](PredefinedDatatype::OTHER).
    pub fn elements_in(&self, bytes: u64, mut each: impl FnMut(PredefinedDatatype, u64)) {
        self.walk(bytes, &mut each);
    }

    /// [`elements_in`](Self::elements_in), for itself: whole elements at once, and then the parts
    /// of the incomplete one, each as far as there are bytes.
    fn walk(&self, bytes: u64, each: &mut dyn FnMut(PredefinedDatatype, u64)) {
        if bytes == 0 {
            return;
        }
        let size = self.size();
        let (whole, mut rest) = match bytes.checked_div(size) {
            Some(whole) => (whole, bytes % size),
            None => (0, bytes),
        };
        if whole > 0 {
            self.elements(whole, &mut *each);
        }
        if let Self::Derived(derived) = self {
            for (number, part) in &derived.parts {
                let of_part = rest.min(number * part.size());
                part.walk(of_part, each);
                rest -= of_part;
            }
        }
        if rest > 0 {
            each(PredefinedDatatype::OTHER, rest);
        }
    }

    /// Contents of parts, with their sums.
    fn derived(parts: Vec<(u64, Contents)>) -> Self {
        let mut totals: Vec<(PredefinedDatatype, u64)> = Vec::new();
        let mut size = 0;
        for (number, part) in &parts {
            size += number * part.size();
            part.elements(*number, |datatype, elements| {
                match totals.iter_mut().find(|(known, _)| *known == datatype) {
                    Some((_, total)) => *total += elements,
                    None => totals.push((datatype, elements)),
                }
            });
        }
        Self::Derived(Arc::new(Derived { size, totals, parts }))
    }
}

/// The contents of the application's datatypes, found at their first use. A layer has one, as a
/// static or as a part of it, for all threads.
///
/// A layer calls [`forget`](Self::forget) before `MPI_Type_free`, since MPI may give the handle to
/// another datatype afterwards.
///
/// What it is asked are the [transfers](crate::Call::transfers) of an accepted call:
/// [`contents`](Self::contents) of each, and of these [`elements`](Contents::elements), or for what
/// a status tells of [`elements_in`](Contents::elements_in). A tool that keeps the contents until a
/// request is complete clones them; a later `MPI_Type_free` does no harm then.
#[derive(Debug)]
pub struct Datatypes {
    /// By the handles of derived datatypes. Predefined ones are in [`TABLE`], for all instances.
    derived: HandleMap<Contents>,
}

impl Datatypes {
    /// None yet.
    pub const fn new() -> Self {
        Self { derived: HandleMap::new() }
    }

    /// What the datatype of a transfer is made of. Of a transfer without data that is nothing: MPI
    /// need not have looked at the datatype then, which may be null or freed.
    ///
    /// The first question about a datatype asks MPI, for derived ones in several calls for each
    /// level of the construction; later ones look the handle up, of predefined datatypes without a
    /// lock.
    #[inline(always)]
    pub fn contents<'c>(&self, transfer: &Transfer<'c>, accepted: Accepted<'c>) -> Contents {
        match Self::predefined(transfer.datatype()) {
            Some(predefined) => Contents::Predefined(predefined),
            None => self.find(transfer, accepted),
        }
    }

    /// The predefined datatype of a handle, if [`contents`](Self::contents) has said before that it
    /// is one: the fast way. It asks MPI nothing, so it is safe with any handle.
    #[inline(always)]
    pub fn predefined(datatype: MPI_Datatype) -> Option<PredefinedDatatype> {
        PredefinedDatatype::of(datatype).filter(|predefined| predefined.size() > 0)
    }

    /// The slow way: a predefined datatype's first use, and derived ones. Two threads may decode
    /// the same datatype, and insert the same.
    #[cold]
    #[inline(never)]
    fn find<'c>(&self, transfer: &Transfer<'c>, accepted: Accepted<'c>) -> Contents {
        let Some(used) = UsedDatatype::of(transfer, accepted) else {
            return Contents::derived(Vec::new());
        };
        let datatype = used.handle();
        TABLE.get_or_init(Table::new);
        if let Some(predefined) = PredefinedDatatype::of(datatype) {
            predefined.learn_size(used);
            return Contents::Predefined(predefined);
        }
        if let Some(known) = self.derived.get(datatype) {
            return known;
        }
        let mut made = Vec::new();
        let contents = decode(used, &mut HashMap::new(), &mut made).0;
        for datatype in made {
            // SAFETY: `free` wants a datatype that `contents` has returned, is not predefined, and
            // is not used any more. `decode` puts each that it got so here, once for each time that
            // it got it, and only derived ones; it is over.
            unsafe { datatype.free() };
        }
        self.derived.insert(datatype, contents.clone());
        contents
    }

    /// Forgets a datatype: `MPI_Type_free` is about to free it. Operations that still use it go on;
    /// what they move is known from their start.
    pub fn forget(&self, datatype: MPI_Datatype) {
        self.derived.remove(datatype);
    }
}

impl Default for Datatypes {
    fn default() -> Self {
        Self::new()
    }
}

/// The contents of a valid datatype, and whether its handle is one that must be freed if it came
/// from `MPI_Type_get_contents`: those that did are `made`. They live as long as something is
/// `known` of their handles, which MPI would use again.
///
/// Sizes check the result: where the parts are not as large as MPI says that the datatype is, it is
/// opaque, and counts as bytes of [`OTHER`](PredefinedDatatype::OTHER). So a combiner that is not
/// known here (of a later version of MPI) makes a coarse answer and no wrong one.
fn decode(
    datatype: UsedDatatype,
    known: &mut HashMap<u64, Contents>,
    made: &mut Vec<UsedDatatype>,
) -> (Contents, bool) {
    if let Some(predefined) = PredefinedDatatype::of(datatype.handle()) {
        predefined.learn_size(datatype);
        return (Contents::Predefined(predefined), false);
    }
    let envelope = datatype.envelope();
    let size = datatype.size();
    let opaque =
        || Contents::derived(vec![(size, Contents::Predefined(PredefinedDatatype::OTHER))]);
    let Some(envelope) = envelope else { return (opaque(), false) };
    if let Some(contents) = known.get(&datatype.handle().to_word()) {
        return (contents.clone(), true);
    }
    let Some((numbers, datatypes)) = envelope.contents() else { return (opaque(), true) };
    let mut children = Vec::with_capacity(datatypes.len());
    for child in datatypes {
        let (contents, owned) = decode(child, known, made);
        if owned {
            made.push(child);
        }
        children.push(contents);
    }
    let parts = if let [child] = &children[..] {
        // One datatype, so many times: however it was put together.
        let times = size.checked_div(child.size()).unwrap_or(0);
        vec![(times, child.clone())]
    } else {
        // A structure, whose numbers are their number and the lengths of its blocks; a pair has one
        // of each.
        let structure = numbers.len() > children.len();
        children
            .into_iter()
            .enumerate()
            .map(|(i, child)| {
                let length = if structure { numbers[i + 1] } else { 1 };
                (u64::try_from(length).unwrap_or(0), child)
            })
            .collect()
    };
    let contents = Contents::derived(merged(parts));
    let contents = if contents.size() == size { contents } else { opaque() };
    known.insert(datatype.handle().to_word(), contents.clone());
    (contents, true)
}

/// Neighbours of the same predefined datatype become one part, and parts of nothing go.
fn merged(parts: Vec<(u64, Contents)>) -> Vec<(u64, Contents)> {
    let mut merged: Vec<(u64, Contents)> = Vec::new();
    for (number, part) in parts {
        match (merged.last_mut(), &part) {
            (Some((total, Contents::Predefined(last))), Contents::Predefined(this))
                if last == this =>
            {
                *total += number;
            }
            _ if number > 0 => merged.push((number, part)),
            _ => {}
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str) -> PredefinedDatatype {
        PredefinedDatatype::all().find(|datatype| datatype.name() == name).unwrap()
    }

    /// A predefined datatype with a size, as if the application had used it.
    fn sized(name: &str, size: u64) -> Contents {
        let datatype = find(name);
        SIZES[datatype.index()].store(size, Relaxed);
        Contents::Predefined(datatype)
    }

    /// What so many bytes are, sorted by name.
    fn walk(contents: &Contents, bytes: u64) -> Vec<(&'static str, u64)> {
        let mut sums: Vec<(&'static str, u64)> = Vec::new();
        contents.elements_in(bytes, |datatype, number| {
            match sums.iter_mut().find(|(name, _)| *name == datatype.name()) {
                Some((_, sum)) => *sum += number,
                None => sums.push((datatype.name(), number)),
            }
        });
        sums.sort_unstable();
        sums
    }

    /// Two ints, three doubles and a byte, twice: 66 bytes of data.
    #[test]
    fn parts_of_a_structure_are_what_its_type_map_says() {
        let (int, double, byte) =
            (sized("MPI_INT", 4), sized("MPI_DOUBLE", 8), sized("MPI_BYTE", 1));
        let structure = Contents::derived(vec![(2, int), (3, double), (1, byte)]);
        let two = Contents::derived(vec![(2, structure.clone())]);
        assert_eq!((structure.size(), two.size()), (33, 66));
        let whole = [("MPI_BYTE", 2), ("MPI_DOUBLE", 6), ("MPI_INT", 4)];
        assert_eq!(walk(&two, 66), whole);
        assert_eq!(walk(&structure, 66), whole);
        assert_eq!(walk(&two, 8), [("MPI_INT", 2)]);
        assert_eq!(walk(&two, 16), [("MPI_DOUBLE", 1), ("MPI_INT", 2)]);
        assert_eq!(walk(&two, 37), [("MPI_BYTE", 1), ("MPI_DOUBLE", 3), ("MPI_INT", 3)]);
        // Half a double is no double.
        assert_eq!(walk(&two, 12), [("MPI_INT", 2), ("other", 4)]);
        assert_eq!(walk(&two, 0), []);
        // Two datatypes that MPI says to be as large, received as 70 bytes.
        assert_eq!(walk(&Contents::derived(Vec::new()), 5), [("other", 5)]);
    }

    #[test]
    fn names() {
        assert_eq!(find("MPI_DOUBLE").flow_name(Flow::Received), "received MPI_DOUBLE");
        assert_eq!(PredefinedDatatype::OTHER.flow_name(Flow::Sent), "sent other");
    }
}
