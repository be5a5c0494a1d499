//! Type maps against what is known of layouts. No MPI is called: this runs under Miri.

#![allow(dead_code, reason = "fields are there for their layout")]

use core::marker::PhantomData;
use core::mem::offset_of;
use core::num::{NonZero, Wrapping};

use rmpi::{
    Aint, Byte, CBool, Count, DoubleInt, Field, FloatInt, LongDouble, LongDoubleInt, LongInt,
    MpiDatatype, Offset, Predefined, SendDatatype, ShortInt, TwoInt, TypeMap,
};

const I32: &TypeMap = &TypeMap::Predefined(Predefined::I32);
const U8: &TypeMap = &TypeMap::Predefined(Predefined::U8);
const F64: &TypeMap = &TypeMap::Predefined(Predefined::F64);

/// What the safety contract asks for: data within the type, and none of it twice. Gives for each
/// byte whether it is data (of a pair as if its padding came last).
fn check<T: SendDatatype>() -> Vec<bool> {
    fn mark(map: &TypeMap, offset: usize, bytes: &mut [bool]) {
        match map {
            TypeMap::Predefined(predefined) => {
                for byte in &mut bytes[offset..][..predefined.size()] {
                    assert!(!*byte, "named twice");
                    *byte = true;
                }
            }
            TypeMap::Array { element, length } => {
                for i in 0..*length {
                    mark(element, offset + i * element.extent(), bytes);
                }
            }
            TypeMap::Struct { fields, size } => {
                for field in *fields {
                    assert!(field.offset + field.map.extent() <= *size);
                    mark(field.map, offset + field.offset, bytes);
                }
            }
        }
    }
    let mut bytes = vec![false; size_of::<T>()];
    assert_eq!(T::TYPE_MAP.extent(), size_of::<T>());
    mark(T::TYPE_MAP, 0, &mut bytes);
    assert_eq!(T::TYPE_MAP.size(), bytes.iter().filter(|&&named| named).count());
    let data = T::TYPE_MAP.data();
    assert_eq!(data.start, bytes.iter().position(|named| *named).unwrap_or(0));
    // MPI_SHORT_INT has its padding between the two numbers, and not last.
    let end = bytes.iter().rposition(|named| *named).map_or(0, |last| last + 1);
    assert!(end <= data.end && data.end <= size_of::<T>(), "{data:?}");
    bytes
}

/// As [`check`], of a type that can be received.
fn check_both<T: MpiDatatype>() -> Vec<bool> {
    check::<T>()
}

#[test]
fn predefined_sizes() {
    let extent_and_size = |map: &TypeMap| (map.extent(), map.size());
    assert_eq!(extent_and_size(FloatInt::TYPE_MAP), (8, 8));
    assert_eq!(extent_and_size(DoubleInt::TYPE_MAP), (16, 12));
    assert_eq!(extent_and_size(LongInt::TYPE_MAP), (16, 12));
    assert_eq!(extent_and_size(TwoInt::TYPE_MAP), (8, 8));
    assert_eq!(extent_and_size(ShortInt::TYPE_MAP), (8, 6));
    assert_eq!(extent_and_size(LongDouble::TYPE_MAP), (16, 16));
    assert_eq!(extent_and_size(LongDoubleInt::TYPE_MAP), (32, 20));
    assert_eq!(extent_and_size(CBool::TYPE_MAP), (1, 1));
    assert_eq!(extent_and_size(Byte::TYPE_MAP), (1, 1));
    assert_eq!(extent_and_size(Aint::TYPE_MAP), (8, 8));
    assert_eq!(extent_and_size(Count::TYPE_MAP), (8, 8));
    assert_eq!(extent_and_size(Offset::TYPE_MAP), (8, 8));
    assert_eq!(usize::TYPE_MAP, &TypeMap::Predefined(Predefined::Usize));
    assert_eq!((Predefined::Complex32.size(), Predefined::Complex64.size()), (8, 16));
    check_both::<f32>();
    check_both::<LongDoubleInt>();
    #[cfg(feature = "num-complex")]
    check_both::<num_complex::Complex<f64>>();
}

/// Where the data of a value ends, which is where MPI's own copies of it may end.
#[test]
fn data_ends_before_padding() {
    assert_eq!(DoubleInt::TYPE_MAP.data(), 0..12);
    assert_eq!(LongInt::TYPE_MAP.data(), 0..12);
    assert_eq!(ShortInt::TYPE_MAP.data(), 0..8);
    assert_eq!(LongDoubleInt::TYPE_MAP.data(), 0..20);
    assert_eq!(<[[DoubleInt; 2]; 2]>::TYPE_MAP.data(), 0..60);
    assert_eq!(<[u8; 0]>::TYPE_MAP.data(), 0..0);
    assert_eq!(<()>::TYPE_MAP.data(), 0..0);
    assert_eq!(InC::TYPE_MAP.data(), 0..24);
    assert_eq!(<[InRust; 0]>::TYPE_MAP.data(), 0..0);

    #[derive(Clone, Copy, MpiDatatype)]
    #[repr(C, align(64))]
    struct Wide {
        none: [f64; 0],
        a: u8,
        b: u16,
    }
    assert_eq!(Wide::TYPE_MAP.data(), 0..4);
    assert_eq!(<[Wide; 3]>::TYPE_MAP.data(), 0..132);
    check_both::<Wide>();
}

#[test]
fn types_that_stand_for_others() {
    assert_eq!(bool::TYPE_MAP, CBool::TYPE_MAP);
    assert_eq!(char::TYPE_MAP, u32::TYPE_MAP);
    assert_eq!(NonZero::<i32>::TYPE_MAP, I32);
    assert_eq!(Wrapping::<i32>::TYPE_MAP, I32);
    check_both::<Wrapping<[u16; 3]>>();
    assert_eq!(check_both::<()>(), []);
    assert_eq!(check_both::<PhantomData<str>>(), []);
}

#[test]
fn c_bool() {
    assert!(CBool::from(true).get() && !CBool::from(false).get());
    assert!(bool::from(CBool(2)));
    assert_eq!(CBool(1), CBool(255));
    assert_ne!(CBool(1), CBool(0));
    assert_eq!(LongDouble::from_ne_bytes([7; 16]).to_ne_bytes(), [7; 16]);
}

#[test]
fn flat_arrays() {
    assert_eq!(<[[f64; 3]; 2]>::TYPE_MAP.flat(), (F64, 6));
    assert_eq!(<[[f64; 3]; 0]>::TYPE_MAP.flat(), (F64, 0));
    assert_eq!(f64::TYPE_MAP.flat(), (F64, 1));
    const FLAT: (&TypeMap, usize) = <[Wrapping<[u8; 5]>; 5]>::TYPE_MAP.flat();
    assert_eq!(FLAT, (U8, 25));
    assert_eq!(<[[(); usize::MAX]; 2]>::TYPE_MAP.flat(), (<()>::TYPE_MAP, usize::MAX));
    assert_eq!(<[[(); usize::MAX]; 2]>::TYPE_MAP.size(), 0);
    assert_eq!(<[DoubleInt; 3]>::TYPE_MAP.size(), 36);
    assert_eq!(<[DoubleInt; 3]>::TYPE_MAP.extent(), 48);
}

#[derive(Clone, Copy, MpiDatatype)]
#[repr(C)]
struct InC {
    a: u8,
    b: i32,
    c: u8,
    r#type: f64,
}

#[test]
fn struct_in_c_order() {
    assert_eq!(
        InC::TYPE_MAP,
        &TypeMap::Struct {
            fields: &[
                Field { offset: 0, map: U8 },
                Field { offset: 4, map: I32 },
                Field { offset: 8, map: U8 },
                Field { offset: 16, map: F64 },
            ],
            size: 24,
        }
    );
    let bytes = check_both::<InC>();
    let named: Vec<usize> = (0..24).filter(|&i| bytes[i]).collect();
    assert_eq!(named, [0, 4, 5, 6, 7, 8, 16, 17, 18, 19, 20, 21, 22, 23]);
    assert_eq!(InC::TYPE_MAP.flat(), (InC::TYPE_MAP, 1));
}

#[derive(Clone, Copy, MpiDatatype)]
struct InRust {
    a: u8,
    b: u64,
    c: u16,
}

#[derive(Clone, Copy, MpiDatatype)]
struct Nested {
    first: InC,
    many: [InRust; 3],
    pair: DoubleInt,
    last: u8,
}

#[test]
fn struct_in_rust_order() {
    check_both::<InRust>();
    assert_eq!(InRust::TYPE_MAP.size(), 11);
    assert_eq!(InRust::TYPE_MAP.extent(), 16);
    let TypeMap::Struct { fields, .. } = InRust::TYPE_MAP else { panic!("no struct") };
    assert_eq!(fields[1].offset, offset_of!(InRust, b));
}

#[test]
fn nested() {
    check_both::<Nested>();
    assert_eq!(Nested::TYPE_MAP.size(), 14 + 3 * 11 + 12 + 1);
    check_both::<[Nested; 2]>();
    assert_eq!(<[Nested; 2]>::TYPE_MAP.size(), 120);
}

#[derive(Clone, Copy, MpiDatatype)]
struct Pair<A, B> {
    a: A,
    b: B,
}

#[derive(Clone, Copy, MpiDatatype)]
#[repr(C)]
struct Matrix<T, const N: usize = 2>([[T; N]; N])
where
    T: Default;

/// No field's bound implies the `T: Copy` that `derive(Copy)` wants.
#[derive(Clone, Copy, MpiDatatype)]
struct Tagged<'a, T: ?Sized + 'a> {
    value: i32,
    tag: PhantomData<&'a T>,
    unit: PhantomData<Self>,
}

#[test]
fn generic() {
    check_both::<Pair<u8, f64>>();
    assert_eq!(Pair::<u8, f64>::TYPE_MAP.size(), 9);
    // Sent only, as one of its fields is.
    check::<Pair<bool, Pair<char, NonZero<u8>>>>();
    assert_eq!(Pair::<bool, Pair<char, NonZero<u8>>>::TYPE_MAP.size(), 6);

    check_both::<Matrix<f64>>();
    let TypeMap::Struct { fields: [Field { offset: 0, map }], size: 36 } =
        Matrix::<i32, 3>::TYPE_MAP
    else {
        panic!("one field of 36 bytes")
    };
    assert_eq!(map.flat(), (I32, 9));

    check_both::<Tagged<'static, u8>>();
    assert_eq!(Tagged::<u8>::TYPE_MAP.size(), 4);

    /// In a generic function the map is a constant too.
    fn size<T: MpiDatatype>() -> usize {
        const { Pair::<T, [T; 2]>::TYPE_MAP.size() }
    }
    assert_eq!(size::<u16>(), 6);
}

#[derive(Clone, Copy, MpiDatatype)]
struct Tuple(u8, [f32; 2], u8);

#[derive(Clone, Copy, MpiDatatype)]
struct Unit;

#[derive(Clone, Copy, MpiDatatype)]
#[repr(C, packed)]
struct Packed {
    a: u8,
    b: f64,
    c: i32,
}

#[test]
fn kinds_of_structs() {
    check_both::<Tuple>();
    assert_eq!((Tuple::TYPE_MAP.size(), Tuple::TYPE_MAP.extent()), (10, 12));
    assert_eq!(Unit::TYPE_MAP, &TypeMap::Struct { fields: &[], size: 0 });
    assert_eq!(
        Packed::TYPE_MAP,
        &TypeMap::Struct {
            fields: &[
                Field { offset: 0, map: U8 },
                Field { offset: 1, map: F64 },
                Field { offset: 9, map: I32 },
            ],
            size: 13,
        }
    );
    assert_eq!(check_both::<Packed>(), [true; 13]);
}

#[derive(Clone, Copy, SendDatatype)]
#[repr(u8)]
enum Side {
    Left,
    Right = 7,
}

#[derive(Clone, Copy, SendDatatype)]
#[repr(i32)]
enum Sign {
    Minus = -1,
    Plus = 1,
}

#[derive(Clone, Copy, SendDatatype)]
#[repr(C)]
struct Message {
    valid: bool,
    side: Side,
    sign: Sign,
}

#[test]
fn sent_only() {
    assert_eq!(Side::TYPE_MAP, U8);
    assert_eq!(Sign::TYPE_MAP, I32);
    assert_eq!(check::<[Sign; 2]>(), [true; 8]);
    assert_eq!(
        Message::TYPE_MAP,
        &TypeMap::Struct {
            fields: &[
                Field { offset: 0, map: CBool::TYPE_MAP },
                Field { offset: 1, map: U8 },
                Field { offset: 4, map: I32 },
            ],
            size: 8,
        }
    );
    check::<Message>();
}

/// What is named is initialised: Miri sees it when not.
#[test]
fn named_bytes_are_initialised() {
    fn bytes<T: SendDatatype>(value: &T) -> Vec<u8> {
        let start = core::ptr::from_ref(value).cast::<u8>();
        let named = check::<T>();
        // SAFETY: the read requires an initialised byte within the value: `check` gives one entry for
        // each of its bytes, and `filter` leaves those that the type map names, which `SendDatatype`
        // promises to be initialised.
        let byte = |i| unsafe { *start.add(i) };
        (0..named.len()).filter(|&i| named[i]).map(byte).collect()
    }
    let message = Message { valid: true, side: Side::Right, sign: Sign::Plus };
    assert_eq!(bytes(&message)[..2], [1, 7]);
    assert_eq!(bytes(&message)[2..], 1_i32.to_ne_bytes());
    assert_eq!(bytes(&Tuple(1, [0.0; 2], 2)).iter().map(|&byte| u32::from(byte)).sum::<u32>(), 3);
    assert_eq!(bytes(&InC { a: 5, b: 0, c: 6, r#type: 0.0 }).len(), 14);
    assert_eq!(bytes(&Pair { a: 'x', b: [true, false] }).len(), 6);
    let packed = Packed { a: 1, b: 2.0, c: 3 };
    assert_eq!(bytes(&packed)[9..], 3_i32.to_ne_bytes());
}

/// Somewhere else than `::rmpi`, and where names of the prelude are hidden.
mod renamed {
    pub(crate) mod facade {
        pub(crate) use rmpi as mpi;
    }

    #[allow(non_camel_case_types)]
    struct u8;
    struct Copy;
    struct TypeMap;

    #[derive(Clone, core::marker::Copy, rmpi::MpiDatatype)]
    #[mpi(crate = "self::facade::mpi")]
    pub(crate) struct Text {
        a: i32,
    }

    #[derive(Clone, core::marker::Copy, rmpi::SendDatatype)]
    #[mpi(crate = facade::mpi)]
    #[repr(u8)]
    pub(crate) enum Plain {
        A,
        B,
    }
}

#[test]
fn crate_renamed() {
    check_both::<renamed::Text>();
    assert_eq!(renamed::Plain::TYPE_MAP, U8);
}

/// A type from a macro arrives in a group.
macro_rules! of {
    ($name:ident, $ty:ty) => {
        #[derive(Clone, Copy, MpiDatatype)]
        struct $name($ty);
    };
}
of! { FromMacro, [u8; 4] }

/// What a reexporting crate's macro would write.
mod reexport {
    pub(crate) use rmpi as mpi;

    macro_rules! wrapped {
        ($name:ident, $ty:ty) => {
            #[derive(Clone, Copy, rmpi::MpiDatatype)]
            #[mpi(crate = $crate::reexport::mpi)]
            struct $name($ty);
        };
    }
    pub(crate) use wrapped;
}
reexport::wrapped! { FromReexport, [u8; 4] }

#[test]
fn from_a_macro() {
    assert_eq!(check_both::<FromMacro>(), [true; 4]);
    assert_eq!(check_both::<FromReexport>(), [true; 4]);
}
