//! The profile on the screen when a run is over: with source lines, which the ranks do not look up.
//!
//! The ranks leave it in a folder as JSON, and `mpi-tool` prints it as `mpi-tool report` would. If a rank cannot reach the
//! folder, as on another host, the tool there prints its own text instead: nothing is lost.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use tempfile::TempDir;

use super::partial;
use super::read::Run;
use super::symbols::Symbols;
use crate::cli::{Format, Report};
use crate::out::{errln, say};
use crate::request::own_variable;
use crate::temporary;

/// The tool whose reports come on the screen.
pub(crate) const TOOL: &str = "mpi-profile";

/// What the ranks call their report.
const REPORT: &str = "profile.json";

/// So many worlds of a run have their profile printed. There are more where MPI does not know which ranks belong together,
/// and where a program starts others.
const MOST_WORLDS: usize = 4;

/// How one gets more lines than are printed.
pub(crate) const REST: &str =
    "`mpi-tool run --format json --output PATH` keeps all for `mpi-tool report`";

/// The folder of a run.
pub(crate) struct Screen(TempDir);

impl Screen {
    /// For a run with these variables. `None` if the user has said in any way what is to become of the report, or if there
    /// can be no folder.
    pub(crate) fn of(variables: &[(String, String)]) -> Option<Self> {
        let is_said = |option: &&str| {
            let names = [format!("MPI_TOOL_{option}"), own_variable(TOOL, option)];
            variables.iter().any(|(name, value)| names.contains(name) && !value.is_empty())
        };
        if ["OUTPUT", "FORMAT", "MERGE", "ALL_RANKS"].iter().any(is_said) {
            return None;
        }
        let folder = temporary::builder().tempdir_in(temporary::root()?).ok()?;
        folder.path().to_str()?;
        Some(Self(folder))
    }

    /// What tells the ranks where to leave the report.
    pub(crate) fn variables(&self) -> [(String, String); 3] {
        // In a path that a tool is given, % has a meaning.
        let path = self.path().display().to_string().replace('%', "%%");
        [("OUTPUT", path.as_str()), ("FORMAT", "json"), ("VERBOSE", "0")]
            .map(|(option, value)| (own_variable(TOOL, option), value.to_owned()))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join(REPORT)
    }

    /// Prints what the ranks have left; nothing if that is nothing, since then they have said why.
    pub(crate) fn show(self) {
        let worlds = self.worlds();
        for world in worlds.iter().take(MOST_WORLDS) {
            match text(world) {
                Ok(text) => say(format_args!("{text}")),
                Err(error) => errln!("mpi-tool: the profile cannot be shown: {error:#}"),
            }
        }
        if worlds.len() > MOST_WORLDS {
            errln!(
                "mpi-tool: {} more profiles, of ranks that MPI does not count to these, are not shown; \
                 --format json --output PATH keeps all",
                worlds.len() - MOST_WORLDS
            );
        }
    }

    /// The reports of all worlds, the first one first. One of which only single ranks have left reports has these in its place.
    fn worlds(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.0.path()).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let whole = names.filter(|name| !name.ends_with(".part"));
        let mut worlds: Vec<_> = whole
            .map(|name| self.0.path().join(partial::without_rank(&name).unwrap_or(&name)))
            .collect();
        // `profile.json` comes before what has more behind that.
        worlds.sort();
        worlds.dedup();
        worlds
    }
}

/// A report as `mpi-tool report` prints it, if it is told no more than its name.
fn text(file: &Path) -> Result<String> {
    let mut symbols = Symbols::default();
    let mut out = Vec::new();
    let report = Report { rest: REST, ..Report::of(file) };
    report.print(&mut out, Run::read(file)?, &mut symbols, Format::Text)?;
    symbols.complain();
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_says_what_becomes_of_the_report_gets_that() {
        let said = |name: &str, value: &str| Screen::of(&[(name.into(), value.into())]).is_none();
        for name in [
            "MPI_TOOL_OUTPUT",
            "MPI_TOOL_FORMAT",
            "MPI_TOOL_MERGE",
            "MPI_TOOL_ALL_RANKS",
            "MPI_TOOL_MPI_PROFILE_OUTPUT",
            "MPI_TOOL_MPI_PROFILE_MERGE",
        ] {
            assert!(said(name, "1"), "{name}");
            assert!(!said(name, ""), "{name}");
        }
        assert!(!said("MPI_TOOL_CALL_COUNTER_OUTPUT", "calls.json"));
        assert!(!said("MPI_TOOL_MPI_PROFILE_DEPTH", "4"));
    }

    #[test]
    fn each_world_has_one_report() {
        let screen = Screen::of(&[]).unwrap();
        let folder = screen.0.path().to_owned();
        for name in [
            "profile.json",
            "profile.json.rank0",
            "profile.json.spawned7.rank0",
            "profile.json.spawned7.rank12",
            "profile.json.process99",
            "profile.json.host.rank.7",
            "profile.json.host.12.part",
        ] {
            fs::write(folder.join(name), "").unwrap();
        }
        let worlds = screen.worlds();
        let names: Vec<_> =
            worlds.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        let wanted = [
            "profile.json",
            "profile.json.host.rank.7",
            "profile.json.process99",
            "profile.json.spawned7",
        ];
        assert_eq!(names, wanted);
        drop(screen);
        assert!(!folder.exists());
    }
}
