//! Tuples as datatypes.
//!
//! How a tuple lies in memory is the compiler's choice, so its type map has the offsets that `offset_of!` gives when
//! the program is compiled, as that of a derived struct has. Padding is in no type map, and what two programs have at
//! different offsets still matches: MPI compares the types of the elements, in their order, and not where they lie.

use core::mem::offset_of;

use crate::{Field, MpiDatatype, SendDatatype, TypeMap};

macro_rules! tuples {
    ($($($T:ident $index:tt),+;)*) => {$(
        // SAFETY: the trait requires the layout that the map says: offsets and size are the compiler's, the
        // elements do not overlap, and what is named of each is initialised, by its own type map. Padding is not
        // named.
        unsafe impl<$($T: SendDatatype),+> SendDatatype for ($($T,)+) {
            const TYPE_MAP: &'static TypeMap = &TypeMap::Struct {
                fields: &[$(Field { offset: offset_of!(Self, $index), map: $T::TYPE_MAP }),+],
                size: size_of::<Self>(),
            };
        }
        // SAFETY: the trait requires that any bits are a value: a tuple is one if all of its elements are, and
        // the bytes that the map does not name are padding.
        unsafe impl<$($T: MpiDatatype),+> MpiDatatype for ($($T,)+) {}
    )*};
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_name_all_data_and_no_padding() {
        type Mixed = (i8, f64, u16, [i32; 3]);
        let map = Mixed::TYPE_MAP;
        assert_eq!((map.extent(), map.size()), (size_of::<Mixed>(), 1 + 8 + 2 + 12));
        let TypeMap::Struct { fields, .. } = map else { panic!("{map:?}") };
        // In the order of the elements, wherever the compiler has put them.
        let maps: Vec<_> = fields.iter().map(|field| field.map).collect();
        assert_eq!(maps, [i8::TYPE_MAP, f64::TYPE_MAP, u16::TYPE_MAP, <[i32; 3]>::TYPE_MAP]);
        let value: Mixed = (1, 2.0, 3, [4, 5, 6]);
        let start = core::ptr::from_ref(&value).addr();
        let places = [
            core::ptr::from_ref(&value.0).addr(),
            core::ptr::from_ref(&value.1).addr(),
            core::ptr::from_ref(&value.2).addr(),
            core::ptr::from_ref(&value.3).addr(),
        ];
        assert!(fields.iter().zip(places).all(|(field, place)| start + field.offset == place));
    }
}
