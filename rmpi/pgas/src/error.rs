//! Errors of the library.

use core::fmt;

/// What the library refuses, or what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An index that the array does not have. Nothing was sent.
    NoSuchElement {
        /// The index.
        index: usize,
        /// How many elements there are.
        length: usize,
    },
    /// Another number of values than of indices. Nothing was sent.
    Lengths {
        /// How many indices.
        indices: usize,
        /// How many values.
        values: usize,
    },
    /// Places that were found in an array of another length or layout, or on another number of processes. Nothing was
    /// sent.
    OtherArray,
    /// More than 2^32 - 1 elements of one process, or operations of one batch.
    TooLong(usize),
    /// Something that must be the same on all processes is not.
    Differs(&'static str),
    /// A distributed value that is not there, or of another type.
    NoSuchDarc(u64),
    /// The thread that handles messages has ended.
    Ended,
    /// What actors or MPI say.
    Actors(rmpi_actors::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchElement { index, length } => {
                write!(f, "element {index} of an array with {length} elements; nothing was sent")
            }
            Self::Lengths { indices, values } => {
                write!(
                    f,
                    "{values} values for {indices} indices: give as many, or a single one; "
                )?;
                write!(f, "nothing was sent")
            }
            Self::OtherArray => {
                write!(
                    f,
                    "these places were found in an array of another length, layout or number of "
                )?;
                write!(f, "processes: find them in this one; nothing was sent")
            }
            Self::TooLong(length) => {
                write!(f, "{length} elements on one process or in one batch: at most 2^32 - 1")
            }
            Self::Differs(what) => write!(f, "{what} must be the same on all processes"),
            Self::NoSuchDarc(id) => {
                write!(f, "no distributed value {id} of this type: it was collected, or never made")
            }
            Self::Ended => {
                write!(f, "the thread that handles messages has ended: `serve` returns its error")
            }
            Self::Actors(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

impl From<rmpi_actors::Error> for Error {
    fn from(error: rmpi_actors::Error) -> Self {
        Self::Actors(error)
    }
}

impl From<rmpi::Error> for Error {
    fn from(error: rmpi::Error) -> Self {
        Self::Actors(error.into())
    }
}
