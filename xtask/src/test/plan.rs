//! Which rounds a run has: which tests, under which MPI.

use anyhow::Result;

use super::data::{Data, Touched};
use super::machine::Machine;
use super::results::Results;
use super::round::{Build, Round, build_of};
use super::turns::Turns;
use super::{Profile, is_first};
use crate::environment::{self, Mpi};
use crate::tools::serving;

pub(super) struct Plan<'a> {
    data: &'a Data,
    machine: &'a Machine,
    profile: Profile,
    long: bool,
    /// What the commit has, where commits take turns.
    turns: Option<&'a Turns<'a>>,
    /// What else the user has chosen, as cargo-nextest's filters.
    chosen: Vec<String>,
    /// What the tests that are chosen are compiled with, if that is known.
    build: Option<Build>,
}

/// Tests that start no MPI.
const UNIT: &str =
    "kind(lib) | kind(bin) | kind(proc-macro) | binary(=typemap) | binary(=template)";

/// What has turns, by its name in `tests.toml`: what runs under Debian's MPI with the tools of the first MPI.
pub(super) const DEBIAN: &str = "under Debian's MPI";

/// Tests that take tools of another ABI, which are built only for them.
pub(super) const FOREIGN: &str = "tools of another ABI";

impl<'a> Plan<'a> {
    pub(super) fn new(data: &'a Data, machine: &'a Machine, profile: Profile, long: bool) -> Self {
        Self { data, machine, profile, long, turns: None, chosen: Vec::new(), build: None }
    }

    /// Only what the commit has.
    pub(super) fn by_turns(mut self, turns: Option<&'a Turns<'a>>) -> Self {
        self.turns = turns;
        self
    }

    /// Only a suite, only tests whose names have one of these parts, only what a change touches.
    pub(super) fn only(
        mut self,
        suite: Option<&str>,
        names: &[String],
        touched: Option<&'a Touched>,
    ) -> Self {
        self.chosen.extend(suite.map(|suite| format!("binary(={suite})")));
        if !names.is_empty() {
            let each: Vec<_> = names.iter().map(|name| format!("test({name})")).collect();
            self.chosen.push(each.join(" | "));
        }
        self.chosen.extend(touched.and_then(filter_of));
        self.build = suite.and_then(build_of);
        self
    }

    /// All rounds, in their order: what is most likely to fail comes first.
    pub(super) fn rounds(&self, mpis: &[Mpi], results: &mut Results) -> Result<Vec<Round>> {
        let mut rounds = Vec::new();
        for (index, mpi) in mpis.iter().enumerate() {
            let mut base = self.filter(mpi, results);
            if self.profile == Profile::Unit {
                base.push(UNIT.to_owned());
            }
            if index > 0 {
                // Those without MPI are the same.
                base.push(
                    "not (package(mpi-tool) & kind(bin) | package(xtask) | package(rmpi-facts))"
                        .to_owned(),
                );
            }
            let part = self.turns.and_then(|turns| Some((turns, turns.part(&mpi.name)?)));
            if index == 0 {
                let others = self.turns.into_iter().flat_map(Turns::tests_of_others);
                base.extend(others.map(|tests| format!("not {tests}")));
            }
            let builds = [Build::Neutral, Build::Linked].into_iter();
            for build in builds.filter(|build| self.build.is_none_or(|chosen| chosen == *build)) {
                let mut round = self.round(build, mpi, &base)?;
                if let Some((_, (part, of))) = part {
                    round.takes_part(part, of);
                }
                rounds.push(round);
            }
            if let Some((turns, _)) = part {
                rounds.extend(self.touched_by_change(mpi, &base, &turns.few_touched)?);
            }
        }
        if self.profile != Profile::Unit && self.profile != Profile::Quick {
            // What the other MPIs have of it is in their turns.
            let without_first = self.turns.is_some_and(|turns| !turns.has(DEBIAN));
            for mpi in mpis.iter().skip(without_first.into()).filter(|mpi| is_first(mpi)) {
                rounds.extend(self.under_debian(mpi, results)?);
            }
        }
        Ok(rounds)
    }

    /// Suites that the last commits touch run whole on the other MPI, too, unless these touch many: the part has a bit of each.
    fn touched_by_change(
        &self,
        mpi: &Mpi,
        base: &[String],
        suites: &[String],
    ) -> Result<Vec<Round>> {
        if suites.is_empty() || !is_first(mpi) {
            return Ok(Vec::new());
        }
        let mut filter = base.to_vec();
        let each: Vec<_> = suites.iter().map(|suite| format!("binary(={suite})")).collect();
        filter.push(each.join(" | "));
        let mut round = self.round(Build::Neutral, mpi, &filter)?;
        round.title += ", what the last commits touch";
        Ok(vec![round])
    }

    /// What all tests of a run are, but for what is left out under an MPI.
    fn filter(&self, mpi: &Mpi, results: &mut Results) -> Vec<String> {
        let mut filter = self.chosen.clone();
        for skip in self.data.skip.iter().filter(|skip| skip.is_for(self.profile, mpi)) {
            let is_missing = skip.without.as_deref().is_none_or(|what| !self.machine.has(what));
            if !is_missing || self.long && skip.reason.contains("--long") {
                continue;
            }
            filter.push(format!("not {}", skip.filter()));
            results.leave_out(format!("{}: {}", mpi.name, skip.reason));
        }
        filter
    }

    fn round(&self, build: Build, mpi: &Mpi, filter: &[String]) -> Result<Round> {
        let all = filter.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" & ");
        let mut round = Round::of(build, mpi, if all.is_empty() { "all()" } else { &all })?;
        round.variable("LONG", if self.long { "1" } else { "0" });
        for (name, value) in &self.machine.browser {
            round.variable(name, value);
        }
        if self.profile != Profile::All || !is_first(mpi) {
            round.variable("RMPI_RANDOM_SECONDS", "15");
        }
        if self.profile == Profile::Unit {
            round.is_unit();
        }
        Ok(round)
    }

    /// What runs under Debian's MPI of the same ABI, with the tools of an MPI: the wheels are without Fortran, and Debian's
    /// programs are linked to Debian's MPIs.
    fn under_debian(&self, mpi: &Mpi, results: &mut Results) -> Result<Vec<Round>> {
        let programs = || {
            anyhow::ensure!(serving(mpi) == mpi.name, "{} has its tools", serving(mpi));
            environment::programs(mpi)
        };
        let of_openmpi = if mpi.abi() == "openmpi" { "all()" } else { "not test(_of_openmpi)" };
        let mut rounds = Vec::new();
        for (what, filter, variables) in [
            ("Fortran", "binary(=fortran)", environment::fortran(mpi)),
            ("Fortran that hangs", "binary(=tool) & test(gfortran_)", environment::fortran(mpi)),
            ("Debian's programs", &format!("binary(=debian) & {of_openmpi}"), programs()),
        ] {
            match variables {
                Err(reason) => results.leave_out(format!("{}: {what}, {reason:#}", mpi.name)),
                Ok(variables) => {
                    let mut filters = self.chosen.clone();
                    filters.push(filter.to_owned());
                    let mut round = self.round(Build::Neutral, mpi, &filters)?;
                    round.title = format!("{}, {what}", mpi.name);
                    for (name, value) in variables {
                        round.variable(name, &value);
                    }
                    rounds.push(round);
                }
            }
        }
        if mpi.name == "mpich-5.0.2" && self.profile == Profile::All {
            results.leave_out(format!(
                "{}: of Debian's programs LAMMPS and HPCC, which are linked to Open MPI, NetPIPE -z, which hangs there, \
                 and ScaLAPACK on four ranks, which takes minutes there",
                mpi.name
            ));
        }
        Ok(rounds)
    }
}

/// What a change touches, as a filter; nothing if it touches everything.
fn filter_of(touched: &Touched) -> Option<String> {
    let Touched::Only { suites, packages } = touched else { return None };
    let suites = suites.iter().map(|suite| format!("binary(={suite})"));
    let all: Vec<_> =
        suites.chain(packages.iter().map(|package| format!("package(={package})"))).collect();
    Some(if all.is_empty() { "none()".to_owned() } else { all.join(" | ") })
}
