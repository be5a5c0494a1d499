//! `xtask/tests.toml`: what runs leave out, and which suites a change touches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::Profile;
use super::turns::Turn;
use crate::environment::{self, Mpi};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Data {
    pub(super) skip: Vec<Skip>,
    pub(super) turn: Vec<Turn>,
    /// The suites that ask for a package.
    pub(super) covers: BTreeMap<String, Vec<String>>,
}

/// Tests that some runs leave out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Skip {
    #[serde(default)]
    pub(super) suites: Vec<String>,
    #[serde(default)]
    pub(super) tests: Vec<String>,
    #[serde(default)]
    profiles: Vec<String>,
    #[serde(default)]
    mpis: Vec<String>,
    pub(super) without: Option<String>,
    pub(super) reason: String,
}

impl Skip {
    pub(super) fn is_for(&self, profile: Profile, mpi: &Mpi) -> bool {
        let is_in = |list: &[String], names: &[&str]| {
            list.is_empty() || list.iter().any(|one| names.contains(&one.as_str()))
        };
        is_in(&self.profiles, &[&profile.name()]) && is_in(&self.mpis, &[&mpi.name, mpi.abi()])
    }

    /// The tests, as cargo-nextest's filters say it.
    pub(super) fn filter(&self) -> String {
        filter(&self.suites, &self.tests)
    }
}

/// Tests, by parts of their names, of some suites, as cargo-nextest's filters say it.
pub(super) fn filter(suites: &[String], tests: &[String]) -> String {
    let all = |predicate: &str, names: &[String]| {
        let each: Vec<_> = names.iter().map(|name| format!("{predicate}{name})")).collect();
        format!("({})", each.join(" | "))
    };
    let (of_suites, of_tests) = (all("binary(=", suites), all("test(", tests));
    match (suites.is_empty(), tests.is_empty()) {
        (false, false) => format!("({of_suites} & {of_tests})"),
        (true, _) => of_tests,
        (_, true) => of_suites,
    }
}

/// How many suites at most are few.
const FEW: usize = 3;

/// What a change touches.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Touched {
    Everything,
    /// Suites, and packages whose own tests.
    Only {
        suites: BTreeSet<String>,
        packages: BTreeSet<String>,
    },
}

impl Skip {
    /// Could one of these tests be among those of a suite, or with parts of names, or that a change touches?
    pub(super) fn could_be(
        &self,
        suite: Option<&str>,
        names: &[String],
        touched: Option<&Touched>,
    ) -> bool {
        let of_suite = |suite: &str| self.suites.iter().any(|own| own == suite);
        let is_named = |name: &String| self.tests.iter().any(|test| test.contains(name));
        let is_touched = |touched: &Touched| match touched {
            Touched::Everything => true,
            Touched::Only { suites, .. } => suites.iter().any(|suite| of_suite(suite)),
        };
        suite.is_none_or(of_suite)
            && (names.is_empty() || names.iter().any(is_named))
            && touched.is_none_or(is_touched)
    }
}

impl Data {
    pub(super) fn read() -> Result<Self> {
        let file = environment::root().join("xtask/tests.toml");
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        toml::from_str(&text).with_context(|| file.display().to_string())
    }

    /// The suites and tests that it names, together.
    pub(super) fn named(&self) -> impl Iterator<Item = (&[String], &[String])> {
        let skips = self.skip.iter().map(|skip| (&*skip.suites, &*skip.tests));
        skips.chain(self.turn.iter().map(|turn| (&*turn.suites, &*turn.tests)))
    }

    /// The suites that changes of files touch, if these are few: those that CI runs whole for a change.
    pub(super) fn few_touched(&self, files: &BTreeSet<String>) -> Vec<String> {
        let Touched::Only { mut suites, .. } = self.touched(files) else { return Vec::new() };
        // The program that has most tests is not whole, for a change of one tool.
        suites.retain(|suite| !["tool", "mpi4py"].contains(&suite.as_str()));
        if suites.len() > FEW { Vec::new() } else { suites.into_iter().collect() }
    }

    /// What changes of files touch.
    pub(super) fn touched(&self, files: &BTreeSet<String>) -> Touched {
        let packages = package_folders();
        let (mut suites, mut touched) = (BTreeSet::new(), BTreeSet::new());
        for file in files {
            // A test of its own, and what it starts.
            if let Some(name) = file.strip_prefix("system-tests/tests/") {
                match name.split(['/', '.']).next() {
                    Some("c" | "programs" | "python" | "visibility") | None => {
                        return Touched::Everything;
                    }
                    Some("check") => {
                        suites.extend(["check".to_owned(), "check_programs".to_owned()]);
                    }
                    Some("stack") => suites.extend(self.covers["qmpi-shim"].iter().cloned()),
                    Some(suite) => _ = suites.insert(suite.to_owned()),
                }
                continue;
            }
            // Pages, whose commands a test runs.
            if file.ends_with(".md") && !file.starts_with("mpi-tool") {
                continue;
            }
            let longest = packages
                .iter()
                .filter(|(folder, _)| file.starts_with(&format!("{folder}/")))
                .max_by_key(|(folder, _)| folder.len());
            let Some((_, package)) = longest else { continue };
            let Some(asked) = self.covers.get(package) else { return Touched::Everything };
            suites.extend(asked.iter().cloned());
            touched.insert(package.clone());
        }
        Touched::Only { suites, packages: touched }
    }
}

/// The packages of the workspace, by their folders.
pub(super) fn package_folders() -> BTreeMap<String, String> {
    let root = environment::root();
    let mut packages = BTreeMap::new();
    let mut look = |folder: &str| {
        let manifest = fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap_or_default();
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = \""));
        if let Some(name) = name {
            packages.insert(folder.to_owned(), name.trim_end_matches('"').to_owned());
        }
    };
    for folder in [
        "bench-harness",
        "mpi-check-engine",
        "mpi-tool",
        "mpi-tool-layer",
        "mpi-tool-python",
        "qmpi-shim",
        "rmpi",
        "rmpi/actors",
        "rmpi/facts",
        "rmpi/macros",
        "rmpi/mpi-sys",
        "rmpi/pgas",
        "system-tests",
        "test-support",
        "tool-macros",
        "universal",
        "xtask",
    ] {
        look(folder);
    }
    for entry in fs::read_dir(root.join("tools")).into_iter().flatten().flatten() {
        look(&format!("tools/{}", entry.file_name().to_string_lossy()));
    }
    packages
}
