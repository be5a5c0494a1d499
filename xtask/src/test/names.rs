//! The names of tests: those that `tests.toml` has must exist.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use super::data::Data;
use super::round::Round;
use crate::environment::Mpi;
use crate::step::output;

/// A test, by its test program and its name.
type Name = (String, String);

/// Refuses data that name what no test has, in a run that has built all tests.
pub(super) fn exist(data: &Data, rounds: &[Round]) -> Result<()> {
    let mut all = BTreeSet::new();
    for round in rounds {
        all.extend(listed(round)?);
    }
    let strange = strange(data, &all);
    if !strange.is_empty() {
        bail!("xtask/tests.toml names what no test has:\n  {}", strange.join("\n  "));
    }
    Ok(())
}

/// What a round's programs list.
fn listed(round: &Round) -> Result<BTreeSet<Name>> {
    let list: serde_json::Value =
        serde_json::from_str(&output(round.nextest("list")?.args(["--message-format", "json"]))?)?;
    let mut names = BTreeSet::new();
    for suite in list["rust-suites"].as_object().into_iter().flat_map(|suites| suites.values()) {
        let program = suite["binary-name"].as_str().unwrap_or_default();
        for test in suite["testcases"].as_object().into_iter().flat_map(|tests| tests.keys()) {
            names.insert((program.to_owned(), test.clone()));
        }
    }
    Ok(names)
}

/// What the data name that is not there, of the test programs that are listed.
fn strange(data: &Data, all: &BTreeSet<Name>) -> Vec<String> {
    let is_listed = |suite: &str| all.iter().any(|(program, _)| program == suite);
    let mut strange = Vec::new();
    for (suites, tests) in data.named() {
        for test in tests {
            let is_it = |(program, name): &&Name| {
                (suites.is_empty() || suites.contains(program)) && name.contains(test)
            };
            if suites.iter().all(|suite| is_listed(suite)) && all.iter().find(is_it).is_none() {
                strange.push(format!("{test}, of {}", suites.join(", ")));
            }
        }
    }
    let suites = data.named().flat_map(|(suites, _)| suites);
    for suite in suites.chain(data.covers.values().flatten()) {
        if super::round::build_of(suite).is_none() {
            strange.push(format!("the suite {suite}"));
        }
    }
    let packages = super::data::package_folders();
    for package in data.covers.keys() {
        if !packages.values().any(|name| name == package) {
            strange.push(format!("the package {package}"));
        }
    }
    strange.sort();
    strange.dedup();
    strange
}

/// What is left out of a suite under an MPI, for tables: the tests, and why.
pub(crate) fn left_out_on(mpi: &Mpi, suite: &str) -> Result<Vec<(String, String, String)>> {
    let data = Data::read()?;
    let of_suite = data.skip.iter().filter(|skip| {
        skip.suites.iter().any(|one| one == suite)
            && skip.without.is_none()
            && skip.is_for(super::Profile::All, mpi)
    });
    Ok(of_suite.map(|skip| (skip.filter(), skip.tests.join(", "), skip.reason.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test that was renamed would run, or be left out, without a word.
    #[test]
    fn a_name_that_no_test_has_is_refused() {
        let data: Data = toml::from_str(
            "[[skip]]\nsuites = [\"check\"]\ntests = [\"races_\", \"gone\"]\nreason = \"slow\"\n\
             [[skip]]\nsuites = [\"nowhere\"]\nreason = \"slow\"\n\
             [[turn]]\nwhat = \"a\"\nsuites = [\"check\"]\ntests = [\"went\"]\nturns = [1]\nseconds = 9\n\
             [covers]\nmpi-check = [\"check\"]\nno-tool = []\n",
        )
        .unwrap();
        let all = BTreeSet::from([("check".to_owned(), "races_are_told_when_asked".to_owned())]);
        assert_eq!(
            strange(&data, &all),
            ["gone, of check", "the package no-tool", "the suite nowhere", "went, of check"]
        );
    }

    /// Without a build, the suites and packages.
    #[test]
    fn the_data_name_suites_and_packages_that_exist() {
        let data = Data::read().unwrap();
        assert_eq!(strange(&data, &BTreeSet::new()), Vec::<String>::new());
    }
}
