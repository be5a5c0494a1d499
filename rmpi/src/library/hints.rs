//! Values of hints over which an MPI ends the program or hangs.

use core::ffi::CStr;

use super::error::{Error, ErrorClass, RmpiResult};

/// What a hint may be.
#[derive(Debug, Clone, Copy)]
enum Values {
    /// A whole number between these.
    Number(u64, u64),
    /// Anything but these words.
    Not(&'static [&'static str]),
}

/// A hint that MPI does not look at before it computes with it.
#[derive(Debug)]
struct Hint {
    key: &'static str,
    values: Values,
    /// What is wrong with other values, and what to do.
    reason: &'static str,
}

/// The hints, and what was seen with other values: `rmpi/tests/programs/hints.rs` tries them.
const HINTS: [Hint; 5] = [
    // Open MPI divides by it.
    Hint {
        key: "cb_nodes",
        values: Values::Number(1, i32::MAX as u64),
        reason: "the hint cb_nodes is a number of processes from 1 to 2147483647, over others MPI may end the program: \
                 leave it out, and MPI chooses",
    },
    // ROMIO, which is MPICH's, divides by it and allocates it. Its processes meet each time that they have come
    // so much further: with a few bytes, they take minutes for some kilobytes.
    Hint {
        key: "cb_buffer_size",
        values: Values::Number(1024, 1 << 30),
        reason: "the hint cb_buffer_size is a number of bytes from 1024 to 1073741824, over others MPI may end the program \
                 or hang: leave it out, and MPI chooses",
    },
    // ROMIO goes on by that much until it is at the end: for ever by 0, and it cannot count to more.
    Hint {
        key: "ind_rd_buffer_size",
        values: Values::Number(1, 1 << 30),
        reason: "the hint ind_rd_buffer_size is a number of bytes from 1 to 1073741824, over others MPI may end the \
                 program or hang: leave it out, and MPI chooses",
    },
    Hint {
        key: "ind_wr_buffer_size",
        values: Values::Number(1, 1 << 30),
        reason: "the hint ind_wr_buffer_size is a number of bytes from 1 to 1073741824, over others MPI may end the \
                 program or hang: leave it out, and MPI chooses",
    },
    // An assertion of ROMIO's fails.
    Hint {
        key: "romio_cb_pfr",
        values: Values::Not(&["enable", "automatic"]),
        reason: "the hint romio_cb_pfr is neither enable nor automatic, over which MPICH ends the program: leave it out",
    },
];

impl Values {
    fn has(self, value: &[u8]) -> bool {
        match self {
            // No sign, and nothing behind: what a number begins with, MPIs take for all of it.
            Self::Number(least, most) => core::str::from_utf8(value)
                .ok()
                .filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|value| value.parse().ok())
                .is_some_and(|number: u64| (least..=most).contains(&number)),
            Self::Not(words) => {
                !words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
            }
        }
    }
}

/// Refuses a value over which an MPI ends the program or hangs, whichever MPI this one is. Spaces and case do
/// not matter, as they may not to an MPI.
pub(super) fn can_be(key: &CStr, value: &CStr) -> RmpiResult {
    let (key, value) = (key.to_bytes().trim_ascii(), value.to_bytes().trim_ascii());
    match HINTS.iter().find(|hint| key.eq_ignore_ascii_case(hint.key.as_bytes())) {
        Some(hint) if !hint.values.has(value) => {
            Err(Error::refused(ErrorClass::INFO_VALUE, hint.reason))
        }
        _ => Ok(()),
    }
}
