//! What the lines of a printed report are about, by its rows.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Table;
use crate::cli::By;

/// What calls of a function a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// All, or those for which a row says nothing.
    All,
    /// Those for which there was no room, in words for a reader.
    Others(&'static str),
    /// Those on communicators of which nobody knows how they were made.
    Unknown,
    /// From a site, by its number from 0.
    Site(usize),
    /// On a communicator, by its number from 0.
    Communicator(usize),
    /// With data of up to so many bytes.
    Size(u64),
    /// In a phase.
    Phase(u64),
}

impl What {
    /// What a row says.
    pub(super) fn of(table: &Table, row: &Value, by: By) -> Result<Self> {
        let value = match by {
            By::Function | By::Peer | By::Segment => return Ok(Self::All),
            By::Site => &row["site"],
            By::Communicator => &row["communicator"],
            By::Size => &row["size"],
            By::Phase => &row["phase"],
        };
        let number = match value {
            Value::Null => return Ok(Self::All),
            Value::String(word) if word == "unknown" => return Ok(Self::Unknown),
            Value::String(_) => {
                return Ok(Self::Others(match by {
                    By::Function | By::Peer | By::Segment | By::Site => "other places",
                    By::Communicator => "other communicators",
                    By::Size => "other sizes",
                    By::Phase => "other phases",
                }));
            }
            number => number.as_u64(),
        };
        let index = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        Ok(match by {
            By::Function | By::Peer | By::Segment => Self::All,
            By::Site => Self::Site(
                index
                    .filter(|index| *index < table.sites.len())
                    .context("a row has a site that is not there")?,
            ),
            By::Communicator => Self::Communicator(
                index
                    .filter(|index| matches!(table.communicators.get(*index), Some(Some(_))))
                    .context("a row has a communicator that is not there")?,
            ),
            By::Size => Self::Size(number.context("a row has a size that is no number")?),
            By::Phase => Self::Phase(number.context("a row has a phase that is no number")?),
        })
    }
}
