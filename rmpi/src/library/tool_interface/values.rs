//! Types and values of variables.

use core::ffi::{CStr, c_char, c_void};

use super::super::error::{Error, ErrorClass, RmpiResult, check};
use super::super::sys::{self, MPI_Datatype, MPI_T_enum, c_int};

/// The value of a variable, all elements of it; integers of all widths as the widest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ToolValue {
    /// `MPI_INT`, `MPI_COUNT`, `MPI_INT32_T`, `MPI_INT64_T`
    Signed(Vec<i64>),
    /// `MPI_UNSIGNED`, `MPI_UNSIGNED_LONG`, `MPI_UNSIGNED_LONG_LONG`, `MPI_UINT32_T`, `MPI_UINT64_T`
    Unsigned(Vec<u64>),
    /// `MPI_DOUBLE`
    Double(Vec<f64>),
    /// `MPI_C_BOOL`
    Bool(Vec<bool>),
    /// `MPI_CHAR`: a text.
    Text(String),
}

/// How the elements of a variable lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Signed(usize),
    Unsigned(usize),
    Double,
    Bool,
    Text,
}

impl Form {
    /// That of a datatype, if it is one of variables.
    pub(super) fn of(raw: MPI_Datatype) -> Option<Self> {
        let forms = [
            (sys::MPI_INT, Self::Signed(4)),
            (sys::MPI_UNSIGNED, Self::Unsigned(4)),
            (sys::MPI_UNSIGNED_LONG, Self::Unsigned(size_of::<core::ffi::c_ulong>())),
            (sys::MPI_UNSIGNED_LONG_LONG, Self::Unsigned(8)),
            (sys::MPI_COUNT, Self::Signed(size_of::<sys::MPI_Count>())),
            (sys::MPI_CHAR, Self::Text),
            (sys::MPI_DOUBLE, Self::Double),
            (sys::MPI_C_BOOL, Self::Bool),
            (sys::MPI_INT32_T, Self::Signed(4)),
            (sys::MPI_INT64_T, Self::Signed(8)),
            (sys::MPI_UINT32_T, Self::Unsigned(4)),
            (sys::MPI_UINT64_T, Self::Unsigned(8)),
        ];
        forms.into_iter().find(|(datatype, _)| *datatype == raw).map(|(_, form)| form)
    }

    const fn size(self) -> usize {
        match self {
            Self::Signed(size) | Self::Unsigned(size) => size,
            Self::Double => 8,
            Self::Bool | Self::Text => 1,
        }
    }

    /// What MPI writes of a variable of so many elements.
    pub(super) fn read(
        self,
        count: c_int,
        call: impl FnOnce(*mut c_void) -> c_int,
    ) -> RmpiResult<ToolValue> {
        let count = usize::try_from(count).unwrap_or(0);
        // Of eight bytes, for their alignment; and a word more, for a zero behind a text.
        let mut words = vec![0_u64; (count * self.size()).div_ceil(8) + 1];
        check(call(words.as_mut_ptr().cast()))?;
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        Ok(self.decode(&bytes, count))
    }

    fn decode(self, bytes: &[u8], count: usize) -> ToolValue {
        fn each<const N: usize, T>(bytes: &[u8], count: usize, of: fn([u8; N]) -> T) -> Vec<T> {
            let (elements, _) = bytes.as_chunks::<N>();
            elements.iter().take(count).map(|element| of(*element)).collect()
        }
        match self {
            Self::Signed(4) => {
                ToolValue::Signed(each(bytes, count, |bytes| i32::from_ne_bytes(bytes).into()))
            }
            Self::Signed(_) => ToolValue::Signed(each(bytes, count, i64::from_ne_bytes)),
            Self::Unsigned(4) => {
                ToolValue::Unsigned(each(bytes, count, |bytes| u32::from_ne_bytes(bytes).into()))
            }
            Self::Unsigned(_) => ToolValue::Unsigned(each(bytes, count, u64::from_ne_bytes)),
            Self::Double => ToolValue::Double(each(bytes, count, f64::from_ne_bytes)),
            Self::Bool => ToolValue::Bool(each(bytes, count, |[byte]| byte != 0)),
            Self::Text => ToolValue::Text(until_zero(bytes)),
        }
    }
}

fn until_zero(bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes);
    String::from_utf8_lossy(text).into_owned()
}

/// Room for a text of MPI's, which tells its length.
pub(super) struct Text {
    bytes: Vec<u8>,
    pub(super) length: c_int,
}

impl Text {
    /// Longer than any name or description that is known.
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; 1 << 14], length: 1 << 14 }
    }

    pub(super) fn pointer(&mut self) -> *mut c_char {
        self.bytes.as_mut_ptr().cast()
    }

    pub(super) fn into_string(self) -> String {
        until_zero(&self.bytes)
    }
}

/// The names of an enumeration's values.
///
/// # Safety
/// It is null or an enumeration, and `MPI_T` is initialized and may be called by this thread.
pub(super) unsafe fn items(raw: MPI_T_enum) -> RmpiResult<Vec<(i32, String)>> {
    if raw == sys::MPI_T_ENUM_NULL {
        return Ok(Vec::new());
    }
    let (mut count, mut name) = (0, Text::new());
    let pointer = name.pointer();
    // SAFETY: MPI_T_enum_get_info asks for an enumeration, as the caller promises, and room for a text of `length`; it
    // writes two ints.
    check(unsafe { sys::MPI_T_enum_get_info(raw, &mut count, pointer, &mut name.length) })?;
    (0..count)
        .map(|index| {
            let (mut value, mut name) = (0, Text::new());
            let pointer = name.pointer();
            // SAFETY: MPI_T_enum_get_item asks for the same, and for a number that is less than what MPI has just said.
            check(unsafe {
                sys::MPI_T_enum_get_item(raw, index, &mut value, pointer, &mut name.length)
            })?;
            Ok((value, name.into_string()))
        })
        .collect()
}

/// A variable of a type that `MPI_T` does not have.
pub(super) fn unknown_type() -> Error {
    Error::refused(
        ErrorClass::UNSUPPORTED_OPERATION,
        "the variable is of a type that rmpi does not know",
    )
}

/// A variable of an object that was not given.
pub(super) fn other_binding() -> Error {
    Error::refused(
        ErrorClass::UNSUPPORTED_OPERATION,
        "the variable is one of an object: of a communicator if `binding` says so, which is given then; of others, it \
         cannot be read here",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_their_bytes_say() {
        let bytes = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_ne_bytes()).collect()
        };
        let decoded = Form::Signed(4).decode(&bytes(&[u32::MAX, 5, 9]), 2);
        assert_eq!(decoded, ToolValue::Signed(vec![-1, 5]));
        let decoded = Form::Unsigned(4).decode(&bytes(&[u32::MAX, 5, 9]), 2);
        assert_eq!(decoded, ToolValue::Unsigned(vec![4_294_967_295, 5]));
        let decoded = Form::Unsigned(8).decode(&u64::MAX.to_ne_bytes(), 1);
        assert_eq!(decoded, ToolValue::Unsigned(vec![u64::MAX]));
        let decoded = Form::Double.decode(&1.5_f64.to_ne_bytes(), 1);
        assert_eq!(decoded, ToolValue::Double(vec![1.5]));
        assert_eq!(Form::Bool.decode(&[1, 0, 1, 1], 3), ToolValue::Bool(vec![true, false, true]));
        assert_eq!(Form::Text.decode(b"auto\0\0xx", 8), ToolValue::Text("auto".into()));
        assert_eq!(Form::Text.decode(b"full", 4), ToolValue::Text("full".into()));
        assert_eq!(Form::Signed(4).decode(&bytes(&[1]), 0), ToolValue::Signed(Vec::new()));
    }

    #[test]
    fn mpi_writes_no_further_than_there_is_room() {
        let mut length = 0;
        for (form, count) in
            [(Form::Text, 384), (Form::Signed(4), 3), (Form::Bool, 9), (Form::Double, 2)]
        {
            let read = form.read(count, |pointer| {
                let size = form.size() * count as usize;
                // SAFETY: `write_bytes` asks for so many bytes to write to, for which `read` has made room: Miri and
                // valgrind look.
                unsafe { pointer.cast::<u8>().write_bytes(b'1', size + 1) };
                length += size;
                sys::MPI_SUCCESS
            });
            assert!(read.is_ok());
        }
        assert_eq!(length, 384 + 12 + 9 + 16);
        assert!(Form::Text.read(1, |_| sys::MPI_ERR_OTHER).is_err());
    }
}
