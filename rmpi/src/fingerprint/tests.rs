use std::collections::{BTreeMap, HashMap};
use std::num::NonZero;

use proptest::collection::vec;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Unread, fingerprint, parts};
use crate::Postcard;

fn encode<T: Serialize + DeserializeOwned + 'static>(value: &T) -> Result<Vec<u8>, String> {
    super::encode::<T, Postcard>(value)
}

fn decode<T: DeserializeOwned + 'static>(message: &[u8]) -> Result<T, Unread> {
    super::decode::<T, Postcard>(message)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    Circle(f64),
    Line((i32, i32), (i32, i32)),
    Named { name: String, parts: Vec<Shape> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Drawing {
    shapes: Vec<Shape>,
    index: BTreeMap<String, u64>,
    note: Option<Box<str>>,
    first: char,
    raw: [i8; 5],
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Point),
        any::<f64>().prop_filter("equal to itself", |x| !x.is_nan()).prop_map(Shape::Circle),
        any::<((i32, i32), (i32, i32))>().prop_map(|(a, b)| Shape::Line(a, b)),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        (".*", vec(inner, 0..4)).prop_map(|(name, parts)| Shape::Named { name, parts })
    })
}

fn drawing() -> impl Strategy<Value = Drawing> {
    let index = proptest::collection::btree_map(".*", any::<u64>(), 0..5);
    let note = proptest::option::of(".*".prop_map(String::into_boxed_str));
    (vec(shape(), 0..5), index, note, any::<char>(), any::<[i8; 5]>())
        .prop_map(|(shapes, index, note, first, raw)| Drawing { shapes, index, note, first, raw })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_encoded_is_decoded(drawing in drawing()) {
        let message = encode(&drawing).unwrap();
        prop_assert_eq!(decode::<Drawing>(&message), Ok(drawing));
    }

    /// Another type never comes out, and both are named.
    #[test]
    fn another_type_is_refused(drawing in drawing()) {
        let message = encode(&drawing).unwrap();
        let other = decode::<Vec<Shape>>(&message);
        let name = std::any::type_name::<Drawing>().to_owned();
        prop_assert_eq!(other, Err(Unread::Other(name, None)));
    }

    /// Garbage is an error or, behind a true header, a value: it neither crashes nor fills the memory.
    #[test]
    fn garbage_does_no_harm(garbage in vec(any::<u8>(), 0..300)) {
        prop_assert!(decode::<Drawing>(&garbage).is_err());
        let _ = parts(&garbage);
        let empty = encode(&Vec::<Shape>::new()).unwrap();
        let header = &empty[..empty.len() - parts(&empty).unwrap().body.len()];
        let _ = decode::<Vec<Shape>>(&[header, &garbage].concat());
    }

    /// A message that is cut is an error. One bit another way is an error or another value, never the same one.
    #[test]
    fn damage_is_found_or_harmless(
        drawing in drawing(),
        place in any::<proptest::sample::Index>(),
        bit in 0..8,
    ) {
        let message = encode(&drawing).unwrap();
        let place = place.index(message.len());
        prop_assert!(decode::<Drawing>(&message[..place]).is_err());
        let mut damaged = message.clone();
        damaged[place] ^= 1_u8 << bit;
        let header = message.len() - parts(&message).unwrap().body.len();
        // The name is for people, and nothing depends on it; its length says where the value begins.
        let (length, fixed) = (4..6, 14);
        if place < fixed && !length.contains(&place) {
            prop_assert!(decode::<Drawing>(&damaged).is_err());
        } else if place >= header || length.contains(&place) {
            // To the bit, as it is encoded: zeros of either sign are equal.
            let read = decode::<Drawing>(&damaged).ok().map(|read| encode(&read).unwrap());
            prop_assert!(read != Some(message));
        }
    }
}

/// A sequence that says to be long allocates what came, not what it says.
#[test]
fn untrusted_lengths() {
    let empty = encode(&Vec::<u64>::new()).unwrap();
    let mut message = empty[..empty.len() - 1].to_vec();
    message.extend([0xff; 9]);
    message.push(1);
    message.extend([1, 2, 3]);
    assert!(matches!(decode::<Vec<u64>>(&message), Err(Unread::Malformed(_))));
    let empty = encode(&String::new()).unwrap();
    let mut message = empty[..empty.len() - 1].to_vec();
    message.extend([0xff, 0xff, 0xff, 0xff, 0x0f, b'a']);
    assert!(matches!(decode::<String>(&message), Err(Unread::Malformed(_))));
}

#[test]
fn what_is_left_behind_a_value_is_an_error() {
    let mut message = encode(&7_u8).unwrap();
    assert_eq!(decode::<u8>(&message), Ok(7));
    message.push(0);
    assert!(matches!(decode::<u8>(&message), Err(Unread::Malformed(_))));
}

/// Types of one name: what two versions of a program have.
macro_rules! version {
    ($module:ident: $($item:tt)*) => {
        mod $module {
            use serde::{Deserialize, Serialize};
            $($item)*
        }
    };
}

/// The fingerprint without the name.
fn structure<T: DeserializeOwned>() -> u64 {
    super::of_types::trace_of("same", &mut |trace| T::deserialize(trace).is_ok())
}

#[test]
fn the_structure_tells_versions_apart() {
    version! { base: #[derive(Serialize, Deserialize)] pub(super) struct M { _a: u32, _b: Inner }
    #[derive(Serialize, Deserialize)] pub(super) enum Inner { A, B(Option<u8>) } }
    version! { same: #[derive(Serialize, Deserialize)] pub(super) struct M { _a: u32, _b: Inner }
    #[derive(Serialize, Deserialize)] pub(super) enum Inner { A, B(Option<u8>) } }
    version! { field_renamed: #[derive(Serialize, Deserialize)] pub(super) struct M { _a: u32, _c: Inner }
    #[derive(Serialize, Deserialize)] pub(super) enum Inner { A, B(Option<u8>) } }
    version! { field_wider: #[derive(Serialize, Deserialize)] pub(super) struct M { _a: u64, _b: Inner }
    #[derive(Serialize, Deserialize)] pub(super) enum Inner { A, B(Option<u8>) } }
    version! { deep_change: #[derive(Serialize, Deserialize)] pub(super) struct M { _a: u32, _b: Inner }
    #[derive(Serialize, Deserialize)] pub(super) enum Inner { A, B(Option<i8>) } }
    version! { variant_more: #[derive(Serialize, Deserialize)] pub(super) struct M { _a: u32, _b: Inner }
    #[derive(Serialize, Deserialize)] pub(super) enum Inner { A, B(Option<u8>), C } }
    let base = structure::<base::M>();
    assert_eq!(base, structure::<same::M>());
    for other in [
        structure::<field_renamed::M>(),
        structure::<field_wider::M>(),
        structure::<deep_change::M>(),
        structure::<variant_more::M>(),
    ] {
        assert_ne!(base, other);
    }
}

#[test]
fn each_of_many_types_has_its_own() {
    #[derive(Serialize, Deserialize)]
    struct Tree {
        left: Option<Box<Tree>>,
        right: Option<Box<Tree>>,
    }
    let all = [
        fingerprint::<u8>(),
        fingerprint::<i8>(),
        fingerprint::<()>(),
        fingerprint::<(u8,)>(),
        fingerprint::<(u8, u8)>(),
        fingerprint::<[u8; 2]>(),
        fingerprint::<[u8; 3]>(),
        fingerprint::<Vec<u8>>(),
        fingerprint::<Option<u8>>(),
        fingerprint::<String>(),
        fingerprint::<Result<u8, u8>>(),
        fingerprint::<HashMap<u8, u8>>(),
        fingerprint::<BTreeMap<u8, u8>>(),
        fingerprint::<NonZero<u8>>(),
        fingerprint::<std::net::IpAddr>(),
        fingerprint::<Tree>(),
        fingerprint::<Shape>(),
        fingerprint::<Drawing>(),
    ];
    let different: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len());
    // Asked for twice, the same.
    assert_eq!(fingerprint::<Drawing>(), all[all.len() - 1]);
}
