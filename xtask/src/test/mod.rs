//! The tests: what is built for them, which of them run under which MPI, and what came of them.
//!
//! A run has a few *rounds*: each is one call of cargo-nextest, with the environment of one MPI. Tests that start programs
//! (`system-tests`, `mpi-tool`) link no MPI: they are compiled once, and all rounds take the same ones. Only what links an MPI
//! is compiled for each: rmpi's own tests, and the programs and tools that the others start.

mod aarch64;
mod change;
mod data;
mod flicker;
mod machine;
mod names;
mod plan;
mod results;
mod round;
mod turns;

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::environment::{self, Mpi};
use crate::step::run;
use crate::tools::{Builds, build_tools, compile_for, serving_builds};

pub(crate) use flicker::Flicker;
pub(crate) use names::left_out_on;
pub(crate) use results::{Ran, Results};
pub(crate) use round::{Build, Round, neutral_build};

use data::{Data, Touched};
use machine::Machine;
use plan::{FOREIGN, Plan};
use turns::Turns;

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// What starts no MPI: facts, type maps, graphs, reports, readers. A minute
    Unit,
    /// Most of what runs on MPICH, in a few minutes
    Quick,
    /// What CI runs: every suite on MPICH; the longest tests, a part on another MPI and more, as commits take turns
    Ci,
    /// Everything, on MPICH and Open MPI, and what may differ on two more MPIs
    All,
}

impl Profile {
    /// As the command line and `tests.toml` say it.
    fn name(self) -> String {
        self.to_possible_value().expect("no profile is hidden").get_name().to_owned()
    }

    /// The MPIs of a run that names none.
    fn mpis(self) -> &'static [&'static str] {
        match self {
            Self::Unit | Self::Quick => &USUAL[..1],
            Self::Ci | Self::All => &[USUAL[0], USUAL[1], EXTRA[0], EXTRA[1]],
        }
    }
}

/// Run tests: without options, most of what runs on MPICH, in a few minutes
#[derive(Args)]
pub(crate) struct Test {
    /// How much: quick if nothing is said; all if an MPI, a suite or a name is
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// Only under MPIs whose name has this in it, also under such as are not usually tested; without a profile, MPICH 5.0.2
    #[arg(long)]
    mpi: Option<String>,
    /// Only test programs of this name, such as lifecycle
    #[arg(long)]
    suite: Option<String>,
    /// Only what the changes since a commit touch; without a commit, the changes since the last one
    #[arg(long, value_name = "COMMIT", num_args = 0..=1, default_missing_value = "HEAD")]
    touched: Option<String>,
    /// Also what takes a quarter of an hour and more, with each tool alone, and every package on every MPI
    #[arg(long)]
    long: bool,
    /// Takes texts as they are now where a test has kept another one: read what git shows then
    #[arg(long)]
    accept: bool,
    /// Takes the tools as they were built before
    #[arg(long)]
    no_build: bool,
    /// Fails, and says what was left out, if the tests have not ended after so many minutes
    #[arg(long)]
    minutes: Option<u64>,
    /// Only prints what is run and what is left out; with a commit, as if that were the last one
    #[arg(long, value_name = "COMMIT", num_args = 0..=1, default_missing_value = "HEAD")]
    plan: Option<String>,
    /// The tools, and what links MPI, are compiled for a processor of rustc's, such as x86-64-v4, in folders of their own
    #[arg(long, value_name = "CPU")]
    target_cpu: Option<String>,
    /// Parts of names of tests
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// What is built for another processor, below an emulator: unit tests, and tools with programs; with a suite, all of it
    #[arg(long, conflicts_with_all = ["profile", "touched", "long", "accept", "minutes", "plan", "target_cpu"])]
    arch: Option<Arch>,
    /// Passed on to cargo-nextest
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// A processor that is not this machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Arch {
    Aarch64,
}

impl Test {
    fn profile(&self) -> Profile {
        let is_chosen = self.mpi.is_some() || self.suite.is_some() || !self.names.is_empty();
        self.profile.unwrap_or(if is_chosen { Profile::All } else { Profile::Quick })
    }

    pub(crate) fn run(self) -> Result<()> {
        if let Some(Arch::Aarch64) = self.arch {
            return aarch64::test(&aarch64::Choice {
                mpi: self.mpi.as_deref(),
                suite: self.suite.as_deref(),
                names: &self.names,
                no_build: self.no_build,
                arguments: &self.arguments,
            });
        }
        if let Some(processor) = &self.target_cpu {
            compile_for(processor.clone());
        }
        let start = Instant::now();
        let data = Data::read()?;
        let mut results = Results::default();
        let mut mpis = self.mpis(&mut results)?;
        let touched = match &self.touched {
            Some(commit) => Some(data.touched(&change::files_since(commit)?)),
            None => None,
        };
        let touched = touched.filter(|touched| *touched != Touched::Everything);
        let is_whole = self.suite.is_none() && self.names.is_empty() && touched.is_none();
        let takes_turns = self.profile() == Profile::Ci && self.mpi.is_none() && is_whole;
        let commit = self.plan.as_deref().unwrap_or("HEAD");
        let turns = takes_turns.then(|| Turns::at(commit, &data)).transpose()?;
        let is_now = |what: &str| turns.as_ref().is_none_or(|turns| turns.has(what));
        // The first one has no turns.
        mpis.retain(|mpi| mpi.name == USUAL[0] || is_now(&mpi.name));
        if let Some(turns) = &turns {
            eprintln!("{}", turns.words());
            turns.left_out().into_iter().for_each(|words| results.leave_out(words));
        }
        let with_foreign =
            self.profile() != Profile::Quick
                && is_now(FOREIGN)
                && data.skip.iter().filter(|skip| skip.without.as_deref() == Some(FOREIGN)).any(
                    |skip| skip.could_be(self.suite.as_deref(), &self.names, touched.as_ref()),
                );
        // What is refused is refused before anything is built for minutes.
        let is_built = self.no_build || self.plan.is_some() || self.profile() == Profile::Unit;
        let builds = if is_built { Vec::new() } else { serving_builds(&mpis, with_foreign)? };
        let rounds = thread::scope(|scope| {
            // A build of tools has one processor busy for much of its time. Tests, which are in other folders, are compiled
            // meanwhile.
            let tools = scope.spawn(|| builds.iter().try_for_each(Builds::run));
            let mut rounds = || {
                round::fetch()?;
                let mut machine = Machine::look();
                machine.lacks.iter().for_each(|reason| results.leave_out(reason.clone()));
                if with_foreign {
                    machine.gets(FOREIGN);
                }
                let plan = Plan::new(&data, &machine, self.profile(), self.long)
                    .by_turns(turns.as_ref())
                    .only(self.suite.as_deref(), &self.names, touched.as_ref());
                let mut rounds = plan.rounds(&mpis, &mut results)?;
                for round in &mut rounds {
                    round.variable("INSTA_UPDATE", if self.accept { "always" } else { "no" });
                }
                if is_whole && self.profile() != Profile::Unit && self.plan.is_none() {
                    // Those of the first MPI, which has all tests.
                    names::exist(&data, &rounds[..2])?;
                }
                Ok(rounds)
            };
            let rounds = rounds();
            tools.join().expect("nothing panics there").and(rounds)
        })?;
        // What is run, by its name.
        type Work<'a> = (String, Box<dyn FnOnce(&mut Results) + 'a>);
        type OfMpi = fn(&Mpi, &mut Results);
        let mut work: Vec<Work<'_>> = Vec::new();
        for round in rounds {
            let (title, more) = (round.title.clone(), &self.arguments);
            work.push((title, Box::new(move |results| round.run(more, results))));
        }
        if matches!(self.profile(), Profile::Ci | Profile::All) && is_whole {
            for mpi in mpis.iter().filter(|mpi| mpi.name == USUAL[0]) {
                let others: [(&str, OfMpi); 2] = [
                    (round::DOCUMENTATION, round::documentation),
                    (round::SANITIZER, round::sanitized),
                ];
                for (what, run) in others.into_iter().filter(|(what, _)| is_now(what)) {
                    work.push((what.to_owned(), Box::new(move |results| run(mpi, results))));
                }
            }
        }
        if self.plan.is_some() {
            work.iter().for_each(|(title, _)| println!("{title}"));
            results.say_left_out();
            return Ok(());
        }
        for (title, run) in work {
            if self.is_late(start) {
                results.fail(format!("{title}: there was no time for it (--minutes)"));
                continue;
            }
            run(&mut results);
        }
        if self.is_late(start) {
            results.fail("the run took longer than it may (--minutes)".to_owned());
        }
        results.end(start.elapsed())
    }

    fn is_late(&self, start: Instant) -> bool {
        self.minutes.is_some_and(|minutes| start.elapsed() > Duration::from_secs(60 * minutes))
    }

    /// The MPIs to test under. What is an extra, and not on this machine, is left out.
    fn mpis(&self, results: &mut Results) -> Result<Vec<Mpi>> {
        let named = |name: &str| match &self.mpi {
            // A whole name stands for this one only.
            Some(part) if environment::MPIS.iter().any(|(_, name, _)| name == part) => name == part,
            Some(part) => name.contains(part.as_str()),
            // Who looks for one test wants one answer.
            None if self.profile.is_none() => name == USUAL[0],
            None => self.profile().mpis().contains(&name),
        };
        let mut mpis = Vec::new();
        for (_, name, find) in environment::MPIS.into_iter().filter(|(_, name, _)| named(name)) {
            match find() {
                Ok(mpi) => mpis.push(mpi),
                // An extra, where there is no Debian.
                Err(reason) if name.ends_with("-debian") => {
                    results.leave_out(format!("{name}: {reason}"));
                }
                Err(reason) => return Err(reason),
            }
        }
        if mpis.is_empty() {
            let all = environment::MPIS.map(|(_, name, _)| name);
            bail!("no MPI of that name; there are {}", all.join(", "));
        }
        Ok(mpis)
    }
}

/// Those on which all is tested, and whose tools serve the other MPIs of their ABIs.
const USUAL: [&str; 2] = ["mpich-5.0.2", "openmpi-5.0.11"];

/// Another ABI, and an older version.
const EXTRA: [&str; 2] = ["mpich-5.0.2-abi", "mpich-debian"];

pub(crate) fn is_first(mpi: &Mpi) -> bool {
    USUAL.contains(&mpi.name.as_str())
}

/// Tools in MPICH's own QMPI.
pub(crate) fn mpich_with_qmpi() -> Result<()> {
    let mpi = environment::mpich_with_qmpi()?;
    build_tools(&mpi)?;
    let mut round = Round::new("tools in MPICH's own QMPI", &mpi, "binary(=mpich_qmpi)")?;
    round.takes_ignored();
    let mut results = Results::default();
    let start = Instant::now();
    round.run(&[], &mut results);
    results.end(start.elapsed())
}

/// Prints the MPI Forum's data in the list's words.
pub(crate) fn standard() -> Result<()> {
    let packages = environment::site_packages(&environment::checks()?)?;
    run(Command::new("python3")
        .arg(environment::root().join("rmpi/mpi-sys/tests/standard.py"))
        .env("PYTHONPATH", packages))
}
