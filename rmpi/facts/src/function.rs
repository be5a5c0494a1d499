//! Which function a call is of, and what the standard says of it.
//!
//! [`FunctionId`] and what is known of each function expand from the list of functions (`list.rs`), which the tests of
//! `mpi-sys` compare with the MPI Forum's data. All of it is constant data: questions that the compiler can answer cost
//! nothing.

use core::ffi::CStr;
use core::fmt;
use core::str::FromStr;

pub use class::FunctionClass;
pub(crate) use packed::Listed;
use packed::{
    CLASS_OF, COUNTS, FIRSTS, PARAMETERS, RESULT_TEXTS, STARTS, TEXTS, TUM_ID_OF, VERSION_OF, piece,
};
pub use parameter::{Direction, Parameter, ParameterKind};

/// `FunctionId` and the descriptions, from the lines of the list.
macro_rules! functions {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// One of the 700 MPI functions: the 690 of MPI-5.0 and the ten that MPI-3.0 removed. The
        /// number is its rank in the order of the C names, so it is an index into arrays of
        /// [`COUNT`](Self::COUNT) elements; it changes when a version of MPI adds functions.
        ///
        /// Whether the MPI of a process has a function is another question
        /// (`NextFunctions::available` of mpi-tool-layer). Of a function and its
        /// large-count twin each is one here. A text becomes one by [`parse`](str::parse), if it is
        /// the exact C name.
        #[allow(non_camel_case_types)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum FunctionId {
            $(
                #[doc = concat!("`", stringify!($c_name), "`, since MPI-", stringify!($version), ".")]
                $c_name,
            )*
        }

        /// All functions, by their numbers.
        const ALL: &[FunctionId] = &[$(FunctionId::$c_name),*];

        const CLASSES: [FunctionClass; ALL.len()] = [$(FunctionClass::$class),*];
        const VERSIONS: [MpiVersion; ALL.len()] = [$(MpiVersion::parse(stringify!($version))),*];
        const TUM_IDS: [Option<u16>; ALL.len()] = [$(tum_qmpi!($tum)),*];
        static METHODS: [&str; ALL.len()] = [$(stringify!($name)),*];

        /// The names of the library's own functions, one behind the other: those of the list follow the `P`.
        const NAMES: &str = concat!($("P", stringify!($c_name), "\0"),*);

        /// How many parameters each function has.
        const NUMBERS: [usize; ALL.len()] = [$({
            const NAMES: &[&str] = &[$(stringify!($arg)),*];
            NAMES.len()
        }),*];

        /// The parameters of all functions, one behind the other.
        const LISTED: &[Listed] = &[$($(
            Listed {
                name: stringify!($arg),
                rust_type: stringify!($ty),
                length: concat!($(stringify!($len))?),
                direction: direction!($dir),
                kind: ParameterKind::$kind,
                root_only: is_given!($($root)?),
            },
        )*)*];

        const RESULTS: [&str; ALL.len()] = [$(stringify!($ret)),*];
    };
}

/// Is an optional part there?
macro_rules! is_given {
    () => {
        false
    };
    ($part:ident) => {
        true
    };
}

macro_rules! tum_qmpi {
    (-) => {
        None
    };
    ($id:literal) => {
        Some($id)
    };
}

/// The list's word for a direction, as a value.
macro_rules! direction {
    (in) => {
        Direction::In
    };
    (out) => {
        Direction::Out
    };
    (inout) => {
        Direction::InOut
    };
}

mpi_functions! { [functions] }

impl FunctionId {
    /// How many functions there are.
    pub const COUNT: usize = ALL.len();

    /// All functions, sorted by name: in the order of their numbers.
    pub fn all() -> impl ExactSizeIterator<Item = FunctionId> + DoubleEndedIterator {
        ALL.iter().copied()
    }

    /// The function of a number below [`COUNT`](Self::COUNT): the inverse of `function as usize`.
    /// `None` of other numbers.
    pub const fn from_index(index: usize) -> Option<FunctionId> {
        if index < ALL.len() { Some(ALL[index]) } else { None }
    }

    /// The name of the library's own function, with its NUL.
    const fn whole_name(self) -> &'static str {
        let (start, end) = (STARTS[self as usize] as usize, STARTS[self as usize + 1] as usize);
        NAMES.split_at(end).0.split_at(start).1
    }

    /// The C name, `MPI_Send`.
    pub const fn name(self) -> &'static str {
        let whole = self.whole_name();
        whole.split_at(whole.len() - 1).0.split_at(1).1
    }

    /// The name under which the library has the function for tools, `PMPI_Send`.
    pub const fn second_name(self) -> &'static str {
        let whole = self.whole_name();
        whole.split_at(whole.len() - 1).0
    }

    /// The C name, as C wants it: with a NUL at its end.
    pub fn c_name(self) -> &'static CStr {
        c_string(&self.whole_name()[1..])
    }

    /// The name under which the library has the function for tools, `PMPI_Send`, with a NUL at its end.
    pub fn pmpi_name(self) -> &'static CStr {
        c_string(self.whole_name())
    }

    /// The bytes of [`pmpi_name`](Self::pmpi_name) with the NUL at their end, without a look at each.
    pub const fn pmpi_bytes(self) -> &'static [u8] {
        self.whole_name().as_bytes()
    }

    /// The name of the layers' method, `send`: the C name in lower case, without `MPI_`. A
    /// high-level layer has no method of its own for `send_c`.
    pub const fn method_name(self) -> &'static str {
        METHODS[self as usize]
    }

    /// Is it the large-count twin of another function (`MPI_Send_c`)? By its name.
    pub const fn is_large_count(self) -> bool {
        matches!(self.name().as_bytes(), [.., b'_', b'c'])
    }

    /// What the function is about: the name of its group in reports.
    pub const fn class(self) -> FunctionClass {
        CLASS_OF[self as usize]
    }

    /// The first version of the standard that has the function. For the ten that MPI-3.0 removed,
    /// too, it is the one that brought them.
    pub fn first_version(self) -> MpiVersion {
        VERSION_OF[self as usize]
    }

    /// The function's id in TUM's QMPI, where it has one: 360 functions do.
    pub fn tum_qmpi_id(self) -> Option<u16> {
        TUM_ID_OF[self as usize]
    }

    /// What the function returns, as Rust writes it: `c_int`, mostly an error code.
    pub const fn result(self) -> &'static str {
        TEXTS[RESULT_TEXTS[self as usize] as usize]
    }

    /// The parameters as the list has them, for constants: a program has [`parameters`](Self::parameters).
    #[inline]
    pub(crate) const fn listed(self) -> &'static [Listed] {
        let (first, count) = (FIRSTS[self as usize], COUNTS[self as usize]);
        piece(LISTED, first as usize, count as usize)
    }

    /// What the function returns, as the list has it: see [`listed`](Self::listed).
    #[inline]
    pub(crate) const fn listed_result(self) -> &'static str {
        RESULTS[self as usize]
    }

    /// The parameters, in order: as many as `Call::arguments` of mpi-tool-layer has words.
    pub const fn parameters(self) -> &'static [Parameter] {
        let (first, count) = (FIRSTS[self as usize], COUNTS[self as usize]);
        piece(&PARAMETERS, first as usize, count as usize)
    }
}

/// A text of [`NAMES`], each of which ends with a NUL and has no other one.
fn c_string(text: &'static str) -> &'static CStr {
    CStr::from_bytes_with_nul(text.as_bytes()).expect("an identifier has no NUL")
}

impl fmt::Display for FunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no MPI function's: what [`FunctionId`]'s `from_str` returns. Its text says what
/// names look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownFunction;

impl fmt::Display for UnknownFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no MPI function of this name (C names, as in MPI_Send)")
    }
}

impl core::error::Error for UnknownFunction {}

impl FromStr for FunctionId {
    type Err = UnknownFunction;

    fn from_str(name: &str) -> Result<Self, UnknownFunction> {
        let rank = ALL.binary_search_by(|function| function.name().cmp(name));
        rank.map(|index| ALL[index]).map_err(|_| UnknownFunction)
    }
}

/// A version of the MPI standard. Versions are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MpiVersion {
    /// 5 in MPI-5.0.
    pub major: u8,
    /// 0 in MPI-5.0.
    pub minor: u8,
}

impl MpiVersion {
    /// A version as the list has it: two digits and a dot.
    const fn parse(text: &str) -> Self {
        let [major, b'.', minor] = text.as_bytes() else { panic!("a version is x.y") };
        Self { major: *major - b'0', minor: *minor - b'0' }
    }
}

impl fmt::Display for MpiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

mod class;
mod packed;
mod parameter;
mod texts;

#[cfg(test)]
mod tests;
