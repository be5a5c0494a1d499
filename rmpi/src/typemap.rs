//! A datatype as data: the type maps of MPI-5.0, section 5.1.
//!
//! [`SendDatatype::TYPE_MAP`] says where in a value of a Rust type the data is. It is known at
//! compile time and holds no handle of MPI, so nothing here calls MPI. Padding is in no type map:
//! what a value does not initialise never travels.

use core::ffi::{c_int, c_long, c_short};
use core::marker::PhantomData;
use core::num::{NonZero, Wrapping};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("rmpi sends `usize` and `isize` as 64-bit integers: it needs a 64-bit target");

/// The predefined datatypes, once: calls `callback!` with rows of variant, Rust type and C constant.
macro_rules! predefined {
    ($callback:ident) => {
        $callback! {
            I8 i8 = MPI_INT8_T;
            I16 i16 = MPI_INT16_T;
            I32 i32 = MPI_INT32_T;
            I64 i64 = MPI_INT64_T;
            U8 u8 = MPI_UINT8_T;
            U16 u16 = MPI_UINT16_T;
            U32 u32 = MPI_UINT32_T;
            U64 u64 = MPI_UINT64_T;
            Isize isize = MPI_INT64_T;
            Usize usize = MPI_UINT64_T;
            F32 f32 = MPI_FLOAT;
            F64 f64 = MPI_DOUBLE;
            CBool $crate::typemap::CBool = MPI_C_BOOL;
            Byte $crate::typemap::Byte = MPI_BYTE;
            Aint $crate::typemap::Aint = MPI_AINT;
            Count $crate::typemap::Count = MPI_COUNT;
            Offset $crate::typemap::Offset = MPI_OFFSET;
            LongDouble $crate::typemap::LongDouble = MPI_LONG_DOUBLE;
            FloatInt $crate::typemap::FloatInt = MPI_FLOAT_INT;
            DoubleInt $crate::typemap::DoubleInt = MPI_DOUBLE_INT;
            LongInt $crate::typemap::LongInt = MPI_LONG_INT;
            TwoInt $crate::typemap::TwoInt = MPI_2INT;
            ShortInt $crate::typemap::ShortInt = MPI_SHORT_INT;
            LongDoubleInt $crate::typemap::LongDoubleInt = MPI_LONG_DOUBLE_INT;
            Complex32 $crate::typemap::complex::Complex<f32> = MPI_C_FLOAT_COMPLEX;
            Complex64 $crate::typemap::complex::Complex<f64> = MPI_C_DOUBLE_COMPLEX;
        }
    };
}
pub(crate) use predefined;

/// `num_complex::Complex`, or in its place a type of the same layout that nobody outside can name:
/// the rows of [`predefined!`] are the same with and without the feature.
pub(crate) mod complex {
    #[cfg(feature = "num-complex")]
    pub(crate) use num_complex::Complex;

    #[cfg(not(feature = "num-complex"))]
    #[derive(Clone, Copy)]
    #[repr(C)]
    #[allow(dead_code, reason = "only its layout is used")]
    pub(crate) struct Complex<T> {
        re: T,
        im: T,
    }
}

/// The type map of `T`, for short.
const fn map_of<T: SendDatatype>() -> &'static TypeMap {
    T::TYPE_MAP
}

macro_rules! declare {
    ($($variant:ident $ty:ty = $constant:ident;)*) => {
        /// A predefined datatype of MPI.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Predefined {
            $(
                #[doc = concat!("`", stringify!($constant), "`.")]
                $variant,
            )*
        }

        impl Predefined {
            /// How many bytes lie between one element and the next.
            pub const fn extent(self) -> usize {
                match self {
                    $(Self::$variant => size_of::<$ty>(),)*
                }
            }
        }

        $(
            // SAFETY: the trait requires the layout of the C type of that constant, which is this
            // one's, and data that is initialised: all bytes are, but for the padding of the pairs,
            // which MPI leaves out by itself.
            unsafe impl SendDatatype for $ty {
                const TYPE_MAP: &'static TypeMap = &TypeMap::Predefined(Predefined::$variant);
            }
            // SAFETY: the trait requires that any bits are a value: the types consist of numbers and
            // bytes.
            unsafe impl MpiDatatype for $ty {}
        )*
    };
}
predefined! { declare }

impl Predefined {
    /// How many bytes of data an element has (`MPI_Type_size`): less than its
    /// [extent](Self::extent) if it has padding. [`DoubleInt`] has 12 in 16.
    pub const fn size(self) -> usize {
        match self {
            Self::DoubleInt => size_of::<f64>() + size_of::<c_int>(),
            Self::LongInt => size_of::<c_long>() + size_of::<c_int>(),
            Self::ShortInt => size_of::<c_short>() + size_of::<c_int>(),
            Self::LongDoubleInt => size_of::<LongDouble>() + size_of::<c_int>(),
            _ => self.extent(),
        }
    }
}

impl Predefined {
    /// The first of those that are the same datatype of MPI.
    const fn kind(self) -> Self {
        match self {
            Self::Isize => Self::I64,
            Self::Usize => Self::U64,
            other => other,
        }
    }

    /// How many bytes there are to the end of the data: the pairs end with an `int`, behind which there may be
    /// padding.
    pub(crate) const fn data(self) -> usize {
        match self {
            Self::DoubleInt => core::mem::offset_of!(DoubleInt, index) + size_of::<c_int>(),
            Self::LongInt => core::mem::offset_of!(LongInt, index) + size_of::<c_int>(),
            Self::ShortInt => core::mem::offset_of!(ShortInt, index) + size_of::<c_int>(),
            Self::LongDoubleInt => core::mem::offset_of!(LongDoubleInt, index) + size_of::<c_int>(),
            _ => self.extent(),
        }
    }
}

/// `MPI_C_BOOL`: what a `bool` is received as. MPI brings any byte, and a `bool` is only two of
/// them.
#[derive(Debug, Clone, Copy, Default)]
#[repr(transparent)]
pub struct CBool(
    /// As C sees it: everything but zero is true.
    pub u8,
);

impl CBool {
    /// Whether it is true, that is, not zero.
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for CBool {
    fn from(value: bool) -> Self {
        CBool(value.into())
    }
}

impl From<CBool> for bool {
    fn from(value: CBool) -> Self {
        value.get()
    }
}

/// True is true, whatever the byte.
impl PartialEq for CBool {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for CBool {}

macro_rules! integers {
    ($($(#[$doc:meta])* $name:ident $inner:ty = $constant:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[repr(transparent)]
            pub struct $name(
                #[doc = concat!("The value of type `", $constant, "`.")]
                pub $inner,
            );
        )*
    };
}
integers! {
    /// `MPI_BYTE`: a byte that MPI never converts.
    Byte u8 = "unsigned char";
    /// `MPI_AINT`: an address or a displacement.
    Aint mpi_sys::MPI_Aint = "MPI_Aint";
    /// `MPI_COUNT`: a count of elements or bytes.
    Count mpi_sys::MPI_Count = "MPI_Count";
    /// `MPI_OFFSET`: an offset in a file.
    Offset mpi_sys::MPI_Offset = "MPI_Offset";
}

/// `MPI_LONG_DOUBLE`: C's `long double`, which Rust has no arithmetic for.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(16))]
pub struct LongDouble([u8; 16]);

impl LongDouble {
    /// The number that these bytes are in memory.
    pub const fn from_ne_bytes(bytes: [u8; 16]) -> Self {
        LongDouble(bytes)
    }

    /// Its bytes in memory. On x86-64 the last six mean nothing.
    pub const fn to_ne_bytes(self) -> [u8; 16] {
        self.0
    }
}

macro_rules! pairs {
    ($($name:ident $value:ty = $constant:literal $(, $derive:ident)?;)*) => {
        $(
            #[doc = concat!("`", $constant, "`: a value and where it is, for `MPI_MINLOC` and `MPI_MAXLOC`.")]
            #[derive(Debug, Clone, Copy, Default $(, $derive)?)]
            #[repr(C)]
            pub struct $name {
                /// What is compared.
                pub value: $value,
                /// What comes along, mostly a rank.
                pub index: c_int,
            }
        )*
    };
}
pairs! {
    FloatInt f32 = "MPI_FLOAT_INT", PartialEq;
    DoubleInt f64 = "MPI_DOUBLE_INT", PartialEq;
    LongInt c_long = "MPI_LONG_INT", PartialEq;
    TwoInt c_int = "MPI_2INT", PartialEq;
    ShortInt c_short = "MPI_SHORT_INT", PartialEq;
    LongDoubleInt LongDouble = "MPI_LONG_DOUBLE_INT";
}

/// Where in a value of a type its data is, and of which predefined datatypes it consists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeMap {
    /// MPI knows it already.
    Predefined(Predefined),
    /// Elements one after the other (`MPI_Type_contiguous`).
    Array {
        /// Each of them.
        element: &'static TypeMap,
        /// How many.
        length: usize,
    },
    /// Fields at their offsets (`MPI_Type_create_struct`, resized to `size`).
    Struct {
        /// Those that hold data, in any order.
        fields: &'static [Field],
        /// `size_of` the type, padding included.
        size: usize,
    },
}

/// See [`TypeMap::runs`].
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Which predefined datatype, or what else there is to say.
    kind: usize,
    offset: usize,
    count: usize,
    /// Of one.
    size: usize,
}

/// A field of [`TypeMap::Struct`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field {
    /// How many bytes it lies behind the start of the value.
    pub offset: usize,
    /// What is there.
    pub map: &'static TypeMap,
}

impl TypeMap {
    /// How many bytes lie between one element and the next: `size_of` the type.
    pub const fn extent(&self) -> usize {
        match self {
            TypeMap::Predefined(predefined) => predefined.extent(),
            TypeMap::Array { element, length } => element.extent() * *length,
            TypeMap::Struct { size, .. } => *size,
        }
    }

    /// How many bytes of data there are, padding not counted.
    pub const fn size(&self) -> usize {
        match self {
            TypeMap::Predefined(predefined) => predefined.size(),
            TypeMap::Array { element, length } => element.size() * *length,
            TypeMap::Struct { fields, .. } => {
                let (mut sum, mut i) = (0, 0);
                while i < fields.len() {
                    sum += fields[i].map.size();
                    i += 1;
                }
                sum
            }
        }
    }

    /// From the first byte of data to the last one: what lies before and behind is padding. Empty if there
    /// is no data.
    ///
    /// ```
    /// use rmpi::SendDatatype;
    ///
    /// // A double and an int, in 16 bytes.
    /// assert_eq!(rmpi::DoubleInt::TYPE_MAP.data(), 0..12);
    /// assert_eq!(<[rmpi::DoubleInt; 2]>::TYPE_MAP.data(), 0..28);
    /// ```
    pub const fn data(&self) -> core::ops::Range<usize> {
        match self {
            TypeMap::Predefined(predefined) => 0..predefined.data(),
            TypeMap::Array { length: 0, .. } => 0..0,
            TypeMap::Array { element, length } => {
                let data = element.data();
                if data.start == data.end {
                    return 0..0;
                }
                data.start..(*length - 1) * element.extent() + data.end
            }
            TypeMap::Struct { fields, .. } => {
                let (mut start, mut end, mut i) = (usize::MAX, 0, 0);
                while i < fields.len() {
                    let data = fields[i].map.data();
                    if data.start != data.end {
                        let (first, last) =
                            (fields[i].offset + data.start, fields[i].offset + data.end);
                        start = if first < start { first } else { start };
                        end = if last > end { last } else { end };
                    }
                    i += 1;
                }
                if end == 0 { 0..0 } else { start..end }
            }
        }
    }

    /// What two types have in common whose values are laid out the same: of the same predefined datatypes
    /// of MPI at the same places, and of the same size. A hash of 128 bits (FNV-1a).
    pub(crate) fn identity(&self) -> u128 {
        let mut layout = Vec::new();
        self.runs(&mut layout);
        let numbers = layout.iter().flat_map(|run| [run.kind, run.offset, run.count]);
        numbers.chain([self.extent()]).flat_map(usize::to_le_bytes).fold(
            0x6c62_272e_07bb_0142_62b8_2175_6295_c58d,
            |hash: u128, byte| {
                (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
            },
        )
    }

    /// Its data as runs of predefined datatypes, one after the other in memory, so that an array of three
    /// numbers has the same as a struct of three.
    fn runs(&self, runs: &mut Vec<Run>) {
        match self {
            TypeMap::Predefined(predefined) => {
                let kind = predefined.kind() as usize;
                runs.push(Run { kind, offset: 0, count: 1, size: predefined.extent() });
            }
            TypeMap::Array { element, length } => {
                let mut of_one = Vec::new();
                element.runs(&mut of_one);
                match &mut of_one[..] {
                    _ if *length == 0 => {}
                    // All of it is of one kind.
                    [run] if run.count * run.size == element.extent() => {
                        run.count *= length;
                        runs.push(*run);
                    }
                    _ => {
                        // As many as there are would be too many to write down.
                        runs.push(Run { kind: usize::MAX, offset: 0, count: *length, size: 0 });
                        let extent = element.extent();
                        runs.push(Run { kind: usize::MAX, offset: 0, count: extent, size: 0 });
                        runs.push(Run {
                            kind: usize::MAX,
                            offset: 0,
                            count: of_one.len(),
                            size: 0,
                        });
                        runs.append(&mut of_one);
                    }
                }
            }
            TypeMap::Struct { fields, .. } => {
                let mut fields: Vec<&Field> = fields.iter().collect();
                fields.sort_by_key(|field| field.offset);
                for field in fields {
                    let mut of_field = Vec::new();
                    field.map.runs(&mut of_field);
                    for mut run in of_field {
                        run.offset += field.offset;
                        match runs.last_mut() {
                            Some(last)
                                if run.size > 0
                                    && last.kind == run.kind
                                    && last.offset + last.count * last.size == run.offset =>
                            {
                                last.count += run.count;
                            }
                            _ => runs.push(run),
                        }
                    }
                }
            }
        }
    }

    /// What arrays of arrays consist of in the end, and how many of it: any other type is one of
    /// itself. MPI takes a count anyway, so an array needs no datatype of its own.
    ///
    /// ```
    /// use rmpi::SendDatatype;
    ///
    /// assert_eq!(<[[f64; 3]; 2]>::TYPE_MAP.flat(), (f64::TYPE_MAP, 6));
    /// ```
    pub const fn flat(&'static self) -> (&'static TypeMap, usize) {
        let (mut map, mut count) = (self, 1_usize);
        while let TypeMap::Array { element, length } = map {
            // Only arrays of nothing can be that many.
            count = count.saturating_mul(*length);
            map = element;
        }
        (map, count)
    }
}

/// A type whose values MPI can send, as what [`TYPE_MAP`](Self::TYPE_MAP) says.
///
/// It is derived for structs, and for enums without fields that say of which size they are:
///
/// ```
/// use rmpi::{Predefined, SendDatatype, TypeMap};
///
/// #[derive(Clone, Copy, SendDatatype)]
/// #[repr(u8)]
/// enum Side {
///     Left,
///     Right,
/// }
///
/// #[derive(Clone, Copy, SendDatatype)]
/// struct Halo {
///     side: Side,
///     last: bool,
/// }
///
/// assert_eq!(Side::TYPE_MAP, &TypeMap::Predefined(Predefined::U8));
/// assert_eq!(Halo::TYPE_MAP.size(), 2);
/// ```
///
/// What is received needs [`MpiDatatype`] too, whose derive gives both. The derive names this crate
/// `::rmpi`; `#[mpi(crate = "path")]` on the type names it otherwise.
///
/// # Safety
///
/// [`TYPE_MAP`](Self::TYPE_MAP) describes this type's layout: its [extent](TypeMap::extent) is
/// `size_of::<Self>()`, and every byte it names lies within, belongs to the predefined datatype it
/// is said to, is named once, and is initialised in every value. Padding is never named, nor is what
/// only some values have, such as the fields of an enum.
#[diagnostic::on_unimplemented(
    message = "MPI cannot send `{Self}`: it has no type map",
    label = "not a `SendDatatype`",
    note = "derive `MpiDatatype` for a struct (`SendDatatype` if it is only sent), `SendDatatype` \
            for an enum without fields; a type of another crate travels as an `rmpi::Foreign`, by bytemuck's traits \
            (feature `bytemuck`)",
    note = "pointers, references and what owns memory mean nothing in another process: send what \
            they point to"
)]
pub unsafe trait SendDatatype: Copy {
    /// Where its data is.
    const TYPE_MAP: &'static TypeMap;
}

/// A type that MPI can receive into: whatever comes is a value of it.
///
/// ```
/// use rmpi::{MpiDatatype, SendDatatype};
///
/// #[derive(Clone, Copy, MpiDatatype)]
/// struct Particle {
///     position: [f64; 3],
///     charge: i8,
/// }
///
/// assert_eq!(Particle::TYPE_MAP.size(), 25);
/// assert_eq!(Particle::TYPE_MAP.extent(), 32);
/// ```
///
/// The derive implements [`SendDatatype`] as well, so one does not derive both. Private fields are
/// received like public ones: do not derive it for a type that holds them to more than their types
/// do.
///
/// # Safety
///
/// Whatever the bytes named by [`TYPE_MAP`](SendDatatype::TYPE_MAP) are overwritten with, and
/// whatever the others then are, the result is a valid value.
#[diagnostic::on_unimplemented(
    message = "MPI cannot receive into `{Self}`: not known to be valid whatever comes",
    label = "not an `MpiDatatype`",
    note = "derive `MpiDatatype` for a struct all of whose fields have it; what owns memory, such as a `String`, a `Vec` or \
            a map, travels as a value of a `TypedCommunicator` (feature `serde`): `send_value`, `gather_values`",
    note = "`bool` can be sent, but not received: not every byte is a valid `bool`; receive \
            `CBool` or `u8`. So it is with `char` (`u32`), `NonZero` and enums (their integers)",
    note = "a field of such a type: let the struct have `rmpi::CBool` in place of `bool`, or derive \
            `SendDatatype` alone, if it is only sent"
)]
pub unsafe trait MpiDatatype: SendDatatype {}

// SAFETY: the trait requires the layout that the map says, initialised: a `bool` is one byte, 0 or 1,
// as C's.
unsafe impl SendDatatype for bool {
    const TYPE_MAP: &'static TypeMap = map_of::<CBool>();
}

// SAFETY: the trait requires the layout that the map says, initialised: a `char` has the size and
// alignment of a `u32`, and no padding.
unsafe impl SendDatatype for char {
    const TYPE_MAP: &'static TypeMap = map_of::<u32>();
}

macro_rules! non_zero {
    ($($ty:ty)*) => {
        $(
            // SAFETY: the trait requires the layout that the map says, initialised: a `NonZero` has the
            // layout of its integer, and no padding.
            unsafe impl SendDatatype for NonZero<$ty> {
                const TYPE_MAP: &'static TypeMap = map_of::<$ty>();
            }
        )*
    };
}
non_zero! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

// SAFETY: the trait requires the layout that the map says: an array has its elements one after the
// other, with nothing between them, and they are as `T` promises.
unsafe impl<T: SendDatatype, const N: usize> SendDatatype for [T; N] {
    const TYPE_MAP: &'static TypeMap = &TypeMap::Array { element: T::TYPE_MAP, length: N };
}
// SAFETY: the trait requires that any bits are a value: an array is one if all of its elements are.
unsafe impl<T: MpiDatatype, const N: usize> MpiDatatype for [T; N] {}

// SAFETY: the trait requires the layout that the map says: `Wrapping<T>` is `repr(transparent)`, and
// has that of `T`.
unsafe impl<T: SendDatatype> SendDatatype for Wrapping<T> {
    const TYPE_MAP: &'static TypeMap = T::TYPE_MAP;
}
// SAFETY: the trait requires that any bits are a value: `Wrapping<T>` is one if its `T` is.
unsafe impl<T: MpiDatatype> MpiDatatype for Wrapping<T> {}

/// No data at all.
const EMPTY: &TypeMap = &TypeMap::Struct { fields: &[], size: 0 };

// SAFETY: the trait requires the layout that the map says: the type has no bytes, and the map names
// none.
unsafe impl<T: ?Sized> SendDatatype for PhantomData<T> {
    const TYPE_MAP: &'static TypeMap = EMPTY;
}
// SAFETY: the trait requires that any bits are a value: the type has no bytes, so nothing is received.
unsafe impl<T: ?Sized> MpiDatatype for PhantomData<T> {}

// SAFETY: the trait requires the layout that the map says: the type has no bytes, and the map names
// none.
unsafe impl SendDatatype for () {
    const TYPE_MAP: &'static TypeMap = EMPTY;
}
// SAFETY: the trait requires that any bits are a value: the type has no bytes, so nothing is received.
unsafe impl MpiDatatype for () {}
