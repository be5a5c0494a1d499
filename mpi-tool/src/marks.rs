//! Whether the ranks of a run have left a report: each tool notes that in a file (`mpi_facts::Mark`).

use std::fs;

use mpi_facts::{MARKS_VARIABLE, Mark};
use tempfile::TempPath;

use crate::temporary;

/// The file in which the tools of a run note what they have done.
pub(crate) struct Marks(TempPath);

impl Marks {
    /// A new one, where that can be.
    pub(crate) fn new() -> Option<Self> {
        let file = temporary::builder().tempfile_in(temporary::root()?).ok()?;
        file.path().to_str()?;
        Some(Self(file.into_temp_path()))
    }

    /// What tells the ranks where it is.
    pub(crate) fn variable(&self) -> Option<(String, String)> {
        Some((MARKS_VARIABLE.to_owned(), self.0.to_str()?.to_owned()))
    }

    /// Have ranks on this host started MPI with tools that report, and has none of them left a report?
    pub(crate) fn is_nothing_left(&self) -> bool {
        let marks = fs::read(&self.0).unwrap_or_default();
        let has = |mark: Mark| marks.contains(&(mark as u8));
        has(Mark::Started) && !has(Mark::Reported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_started_can_be_left_out() {
        let marks = Marks::new().unwrap();
        let (_, path) = marks.variable().unwrap();
        for (notes, is_said) in [("", false), ("SS", true), ("SSR", false), ("R", false)] {
            fs::write(&path, notes).unwrap();
            assert_eq!(marks.is_nothing_left(), is_said, "{notes}");
        }
        drop(marks);
        assert!(fs::metadata(&path).is_err());
    }
}
