//! Plain data: elements whose type a message's envelope says.

use core::ffi::c_int;

use crate::{MpiDatatype, Predefined, Tag, TypeMap};

/// What travels between [`TypedCommunicator`](crate::TypedCommunicator)s as it lies in memory: the types
/// of MPI's predefined datatypes (`f64`, `i32`, `u8`, `Aint`, …) and arrays of them.
///
/// A structure is not: MPI's envelope has no room for its name. It travels by `send_value`, or as what
/// it consists of.
///
/// Arrays count as their elements, as everywhere in MPI: what is sent as `[[f64; 3]]` can be received as
/// `[f64]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    note = "plain are numbers and arrays of numbers; everything else that `serde` knows travels by \
            `send_value` and `recv_value`"
)]
pub trait Plain: MpiDatatype + sealed::Plain {}

mod sealed {
    pub trait Plain {}
}

impl<T: Plain, const N: usize> sealed::Plain for [T; N] {}
impl<T: Plain, const N: usize> Plain for [T; N] {}

/// The tag of messages that are serialised.
pub(crate) const SERIALIZED: Tag = Tag::new(1);
/// The tag of the first predefined datatype; the others follow, in their order.
const FIRST: u32 = 16;

/// The tag that says of which elements a message consists.
pub(crate) const fn tag_of<T: Plain>() -> Tag {
    match T::TYPE_MAP.flat().0 {
        TypeMap::Predefined(predefined) => Tag::new(FIRST + *predefined as u32),
        _ => panic!("plain types consist of predefined ones"),
    }
}

macro_rules! plain {
    ($($variant:ident $ty:ty = $constant:ident;)*) => {
        $(
            impl sealed::Plain for $ty {}
            impl Plain for $ty {}
        )*

        /// What a tag says: the datatype, and the name of its type.
        pub(crate) fn of_tag(tag: Tag) -> Option<(&'static TypeMap, &'static str)> {
            let code = tag.into_raw() - FIRST as c_int;
            $(
                if code == Predefined::$variant as c_int {
                    let name = core::any::type_name::<$ty>();
                    let name = name.strip_prefix("rmpi::typemap::").unwrap_or(name);
                    return Some((<$ty as crate::SendDatatype>::TYPE_MAP, name));
                }
            )*
            None
        }
    };
}
crate::typemap::predefined! { plain }
