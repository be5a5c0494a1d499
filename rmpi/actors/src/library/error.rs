//! Errors of the library.

use core::fmt;

use super::mpi;

/// What the library refuses, or MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The rank that a message was for is none. Nothing was sent.
    NoSuchProcess {
        /// The rank.
        rank: usize,
        /// How many processes there are.
        processes: usize,
    },
    /// The main program has said that it sends no more to this mailbox in this scope. Nothing was sent.
    Done {
        /// The type of the mailbox's messages.
        mailbox: &'static str,
    },
    /// Settings that cannot be, or that differ between processes.
    Settings(&'static str),
    /// Other processes had errors in this scope; all messages have been handled.
    Elsewhere {
        /// How many processes.
        processes: u64,
    },
    /// Tasks wait for something that cannot happen, since no message is left on any process. They did not run.
    Stuck {
        /// How many tasks, on all processes together.
        tasks: u64,
    },
    /// What MPI says.
    Mpi(mpi::Error),
}

/// Is there such a process?
pub(super) const fn check_rank(rank: usize, processes: usize) -> Result<(), Error> {
    if rank < processes { Ok(()) } else { Err(Error::NoSuchProcess { rank, processes }) }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchProcess { rank, processes } => {
                write!(f, "a message for rank {rank}, but there are {processes} processes: ")?;
                write!(f, "send to a rank under {processes}; nothing was sent")
            }
            Self::Done { mailbox } => {
                write!(f, "a message for mailbox `{mailbox}` after `done`: send before it, ")?;
                write!(f, "or in a handler; nothing was sent")
            }
            Self::Settings(reason) => write!(f, "settings of a selector: {reason}"),
            Self::Elsewhere { processes } => {
                write!(f, "{processes} other processes had an error in this scope, and tell of it")
            }
            Self::Stuck { tasks } => {
                write!(
                    f,
                    "{tasks} tasks of `spawn_when` wait, but no message is left that could make "
                )?;
                write!(f, "their conditions true: look at what they wait for; they did not run")
            }
            Self::Mpi(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

impl From<mpi::Error> for Error {
    fn from(error: mpi::Error) -> Self {
        Self::Mpi(error)
    }
}
