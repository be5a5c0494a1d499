//! Serialised messages: what they begin with, and the fingerprint of a type in it.
//!
//! A header of 14 bytes and a name: four bytes that only such a message begins with, the last of them
//! the protocol's version; the name's length (`u16`) and the fingerprint (`u64`), little-endian; the
//! name. Behind it the value, in postcard's format.

/// What a message begins with.
const MAGIC: [u8; 4] = *b"rmp\x01";
#[cfg(feature = "serde")]
const FIXED: usize = MAGIC.len() + 2 + 8;
/// Names are cut here: generic types have long ones, and the fingerprint tells them apart.
#[cfg(feature = "serde")]
const LONGEST_NAME: usize = 512;

/// A received message, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts<'m> {
    pub(crate) name: &'m str,
    #[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "who reads values compares it"))]
    pub(crate) fingerprint: u64,
    #[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "as above"))]
    pub(crate) body: &'m [u8],
}

/// Takes a message apart; `None` if it is none of rmpi's. Any bytes may come.
pub(crate) fn parts(message: &[u8]) -> Option<Parts<'_>> {
    let rest = message.strip_prefix(&MAGIC)?;
    let (length, rest) = rest.split_first_chunk()?;
    let (fingerprint, rest) = rest.split_first_chunk()?;
    let (name, body) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    let name = core::str::from_utf8(name).ok()?;
    Some(Parts { name, fingerprint: u64::from_le_bytes(*fingerprint), body })
}

#[cfg(feature = "serde")]
pub(crate) use of_types::*;

#[cfg(feature = "serde")]
mod of_types {
    use core::any::{TypeId, type_name};
    use core::fmt;
    use std::cell::RefCell;
    use std::collections::HashMap;

    use serde::Serialize;
    use serde::de::value::U32Deserializer;
    use serde::de::{
        DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
        SeqAccess, VariantAccess, Visitor,
    };

    use super::{FIXED, LONGEST_NAME, MAGIC, parts};
    use crate::Format;

    /// A value as a message. The error says why the value cannot be one.
    pub(crate) fn encode<T, F: Format>(value: &T) -> Result<Vec<u8>, String>
    where
        T: Serialize + DeserializeOwned + 'static,
    {
        let name = name_of::<T>();
        let mut message = Vec::with_capacity(FIXED + name.len() + size_of::<T>());
        message.extend_from_slice(&MAGIC);
        // At most LONGEST_NAME.
        message.extend_from_slice(&(name.len() as u16).to_le_bytes());
        message.extend_from_slice(&fingerprint_in::<T, F>().to_le_bytes());
        message.extend_from_slice(name.as_bytes());
        F::serialize(value, &mut message)?;
        let is_kept = message
            .get(..FIXED + name.len())
            .is_some_and(|header| header.starts_with(&MAGIC) && header.ends_with(name.as_bytes()));
        match is_kept {
            true => Ok(message),
            false => Err("the format has not kept what was in the message before".to_owned()),
        }
    }

    /// As messages have it.
    fn name_of<T>() -> &'static str {
        let name = type_name::<T>();
        let mut end = name.len().min(LONGEST_NAME);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        &name[..end]
    }

    /// Why a message is not read.
    #[derive(Debug, PartialEq, Eq)]
    pub(crate) enum Unread {
        /// It has another type: its name, and the fingerprint if only that is another.
        Other(String, Option<u64>),
        /// It is damaged, or not of rmpi.
        Malformed(String),
    }

    /// The value of a message. Any bytes may come: nothing is made of those of another type.
    pub(crate) fn decode<T, F: Format>(message: &[u8]) -> Result<T, Unread>
    where
        T: DeserializeOwned + 'static,
    {
        let Some(found) = parts(message) else {
            return Err(Unread::Malformed("it does not begin as one of rmpi's".into()));
        };
        if found.fingerprint != fingerprint_in::<T, F>() {
            let same = name_of::<T>() == found.name;
            let fingerprint = same.then_some(found.fingerprint);
            return Err(Unread::Other(found.name.to_owned(), fingerprint));
        }
        F::deserialize(found.body).map_err(Unread::Malformed)
    }

    /// The fingerprint of a type in a form: another one in each.
    pub(crate) fn fingerprint_in<T: DeserializeOwned + 'static, F: Format>() -> u64 {
        let mut hash = fingerprint::<T>();
        for byte in F::NAME.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash
    }

    /// The fingerprint of a type: a hash of its name and of all that it asks a deserialiser for: names
    /// of structures, fields and variants, and the types of the fields, as deep as they go. It is the
    /// same in every program that has the same type, and another one after each change that postcard
    /// would misread.
    pub(crate) fn fingerprint<T: DeserializeOwned + 'static>() -> u64 {
        thread_local!(static KNOWN: RefCell<HashMap<TypeId, u64>> = RefCell::default());
        let id = TypeId::of::<T>();
        let known = KNOWN.with_borrow(|known| known.get(&id).copied());
        known.unwrap_or_else(|| {
            let made = trace_of(type_name::<T>(), &mut |trace| T::deserialize(trace).is_ok());
            KNOWN.with_borrow_mut(|known| known.insert(id, made));
            made
        })
    }

    /// Recursive types end somewhere.
    const DEEPEST: u32 = 12;
    const MOST_QUESTIONS: u32 = 4096;
    const MOST_PASSES: u32 = 64;

    /// Has the type deserialise itself from nothing, and notes what it asks for. Each pass takes other
    /// variants of enumerations. What stops a pass (a type that refuses the value it gets) stops it in
    /// every program.
    pub(super) fn trace_of(name: &str, pass: &mut dyn FnMut(&mut Trace) -> bool) -> u64 {
        // FNV-1a.
        let hash = 0xcbf2_9ce4_8422_2325;
        let mut trace = Trace { hash, questions: 0, depth: 0, pass: 0, variants: 1 };
        trace.note("type", name);
        while trace.pass < trace.variants.min(MOST_PASSES) {
            (trace.questions, trace.depth) = (0, 0);
            let to_the_end = pass(&mut trace);
            trace.note(if to_the_end { "pass" } else { "stopped" }, "");
            trace.pass += 1;
        }
        trace.hash
    }

    pub(super) struct Trace {
        hash: u64,
        questions: u32,
        depth: u32,
        pass: u32,
        /// Passes that show all variants, as far as is known.
        variants: u32,
    }

    /// Nothing more is asked.
    #[derive(Debug)]
    pub(super) struct Stop;

    impl fmt::Display for Stop {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the value of a trace was refused")
        }
    }

    impl std::error::Error for Stop {}

    impl serde::de::Error for Stop {
        fn custom<M: fmt::Display>(_: M) -> Self {
            Self
        }
    }

    impl Trace {
        fn note(&mut self, what: &str, name: &str) {
            // Both ends are marked, so that no two texts run together.
            for byte in what.bytes().chain([0xfe]).chain(name.bytes()).chain([0xff]) {
                self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }

        fn ask(&mut self, what: &str, name: &str) -> Result<(), Stop> {
            self.note(what, name);
            self.questions += 1;
            if self.questions > MOST_QUESTIONS { Err(Stop) } else { Ok(()) }
        }

        fn is_deep(&self) -> bool {
            self.depth >= DEEPEST
        }

        /// What is inside.
        fn inside<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
            // A tuple in a tuple in a tuple, without end, is possible in a type that does so by hand.
            if self.depth >= 4 * DEEPEST {
                return Err(Stop);
            }
            self.depth += 1;
            let result = f(self);
            self.depth -= 1;
            result
        }

        fn fields<'de, V: Visitor<'de>>(
            &mut self,
            count: usize,
            visitor: V,
        ) -> Result<V::Value, Stop> {
            self.inside(|trace| visitor.visit_seq(Elements { trace, left: count }))
        }

        fn names(&mut self, kind: &str, names: &[&str]) {
            for name in names {
                self.note(kind, name);
            }
            self.note("end", "");
        }
    }

    /// So many elements, traced.
    struct Elements<'t> {
        trace: &'t mut Trace,
        left: usize,
    }

    impl<'de> SeqAccess<'de> for Elements<'_> {
        type Error = Stop;

        fn next_element_seed<S: DeserializeSeed<'de>>(
            &mut self,
            seed: S,
        ) -> Result<Option<S::Value>, Stop> {
            if self.left == 0 {
                return Ok(None);
            }
            self.left -= 1;
            seed.deserialize(&mut *self.trace).map(Some)
        }

        fn size_hint(&self) -> Option<usize> {
            Some(self.left)
        }
    }

    impl<'de> MapAccess<'de> for Elements<'_> {
        type Error = Stop;

        fn next_key_seed<S: DeserializeSeed<'de>>(
            &mut self,
            seed: S,
        ) -> Result<Option<S::Value>, Stop> {
            self.next_element_seed(seed)
        }

        fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Stop> {
            seed.deserialize(&mut *self.trace)
        }
    }

    /// A variant, traced.
    struct Variant<'t> {
        trace: &'t mut Trace,
        index: u32,
    }

    impl<'de> EnumAccess<'de> for Variant<'_> {
        type Error = Stop;
        type Variant = Self;

        fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Stop> {
            let index: U32Deserializer<Stop> = self.index.into_deserializer();
            Ok((seed.deserialize(index)?, self))
        }
    }

    impl<'de> VariantAccess<'de> for Variant<'_> {
        type Error = Stop;

        fn unit_variant(self) -> Result<(), Stop> {
            self.trace.ask("unit variant", "")
        }

        fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Stop> {
            self.trace.ask("newtype variant", "")?;
            self.trace.inside(|trace| seed.deserialize(trace))
        }

        fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Stop> {
            self.trace.ask("tuple variant", &len.to_string())?;
            self.trace.fields(len, visitor)
        }

        fn struct_variant<V: Visitor<'de>>(
            self,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Stop> {
            self.trace.ask("struct variant", "")?;
            self.trace.names("field", fields);
            self.trace.fields(fields.len(), visitor)
        }
    }

    macro_rules! values {
        ($($function:ident $visit:ident $value:expr;)*) => {$(
            fn $function<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
                self.ask(stringify!($function), "")?;
                visitor.$visit($value)
            }
        )*};
    }

    impl<'de> Deserializer<'de> for &mut Trace {
        type Error = Stop;

        // One and not zero: some types refuse zero.
        values! {
            deserialize_bool visit_bool true;
            deserialize_i8 visit_i8 1;
            deserialize_i16 visit_i16 1;
            deserialize_i32 visit_i32 1;
            deserialize_i64 visit_i64 1;
            deserialize_i128 visit_i128 1;
            deserialize_u8 visit_u8 1;
            deserialize_u16 visit_u16 1;
            deserialize_u32 visit_u32 1;
            deserialize_u64 visit_u64 1;
            deserialize_u128 visit_u128 1;
            deserialize_f32 visit_f32 1.0;
            deserialize_f64 visit_f64 1.0;
            deserialize_char visit_char '1';
            deserialize_str visit_str "1";
            deserialize_string visit_str "1";
            deserialize_bytes visit_bytes b"1";
            deserialize_byte_buf visit_bytes b"1";
            deserialize_identifier visit_u32 0;
        }

        fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
            self.ask("unit", "")?;
            visitor.visit_unit()
        }

        // What describes itself: postcard has no such thing.
        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
            self.note("any", "");
            Err(Stop)
        }

        fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
            self.note("ignored", "");
            Err(Stop)
        }

        fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
            self.ask("option", "")?;
            if self.is_deep() {
                return visitor.visit_none();
            }
            self.inside(|trace| visitor.visit_some(trace))
        }

        fn deserialize_unit_struct<V: Visitor<'de>>(
            self,
            name: &'static str,
            visitor: V,
        ) -> Result<V::Value, Stop> {
            self.ask("unit struct", name)?;
            visitor.visit_unit()
        }

        fn deserialize_newtype_struct<V: Visitor<'de>>(
            self,
            name: &'static str,
            visitor: V,
        ) -> Result<V::Value, Stop> {
            self.ask("newtype struct", name)?;
            self.inside(|trace| visitor.visit_newtype_struct(trace))
        }

        fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
            self.ask("sequence", "")?;
            let count = usize::from(!self.is_deep());
            self.fields(count, visitor)
        }

        fn deserialize_tuple<V: Visitor<'de>>(
            self,
            len: usize,
            visitor: V,
        ) -> Result<V::Value, Stop> {
            self.ask("tuple", &len.to_string())?;
            self.fields(len, visitor)
        }

        fn deserialize_tuple_struct<V: Visitor<'de>>(
            self,
            name: &'static str,
            len: usize,
            visitor: V,
        ) -> Result<V::Value, Stop> {
            self.ask("tuple struct", name)?;
            self.note("length", &len.to_string());
            self.fields(len, visitor)
        }

        fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
            self.ask("map", "")?;
            let left = usize::from(!self.is_deep());
            self.inside(|trace| visitor.visit_map(Elements { trace, left }))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            name: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Stop> {
            self.ask("struct", name)?;
            self.names("field", fields);
            self.fields(fields.len(), visitor)
        }

        fn deserialize_enum<V: Visitor<'de>>(
            self,
            name: &'static str,
            variants: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Stop> {
            self.ask("enum", name)?;
            self.names("variant", variants);
            let count = variants.len().min(MOST_PASSES as usize) as u32;
            if count == 0 {
                return Err(Stop);
            }
            // As many passes as the variants of this one and of one that may be inside.
            self.variants = self.variants.max(count * if self.depth > 0 { 4 } else { 1 });
            // In deep places the first one, by which a recursive type ends, as a rule.
            let index = if self.is_deep() { 0 } else { (self.pass / (1 + self.depth % 3)) % count };
            self.inside(|trace| visitor.visit_enum(Variant { trace, index }))
        }

        fn is_human_readable(&self) -> bool {
            false
        }
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests;
