//! `mpi-tool doctor`: what works on this machine, why the rest does not, and what to do about it.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use mpi_facts::Abi;
use serde::Serialize;
use serde_json::Value;

use crate::builds;
use crate::example::{Example, Start};
use crate::family::Launcher;
use crate::installed::{Installed, Lonely, Machine};
use crate::limited::{self, Outcome};
use crate::mpi::Mpi;
use crate::out::outln;
use crate::tools::{self, Build, STACK_LIBRARY};
use crate::words::in_path;

/// Say what works on this machine, why the rest does not, and what to do
///
/// Finds the MPIs: launchers in PATH, the libraries below their prefixes, and those in LD_LIBRARY_PATH and the system's
/// folders. Lists the tools for each, and runs two ranks of a small program with the call counter.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool doctor
  mpi-tool doctor --json
  PATH=/opt/mpi/bin:$PATH mpi-tool doctor

Exit status: 0 if tools work with at least one MPI, 1 if with none.")]
pub(crate) struct Doctor {
    /// Print one JSON object, for programs to read
    #[arg(long)]
    json: bool,
    /// For how many seconds two ranks may run
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
}

/// Of the JSON.
const SCHEMA: &str = "mpi-tool-doctor/1";

/// The tool by which calls are counted.
const COUNTER: &str = "call-counter";

const RANKS: u32 = 2;
const STEPS: u32 = 10;

/// What there is to say.
#[derive(Debug, Serialize)]
struct Diagnosis {
    schema: &'static str,
    version: &'static str,
    /// At least one MPI works with tools.
    works: bool,
    mpis: Vec<Verdict>,
    problems: Vec<Trouble>,
}

/// What there is to say of an MPI.
#[derive(Debug, Serialize)]
struct Verdict {
    mpi: Mpi,
    launcher: Option<PathBuf>,
    /// Those of its ABI.
    tools: Vec<String>,
    works: bool,
    /// What the test has shown.
    test: Option<String>,
    /// In an allocation of Slurm: what srun may be told to start it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    srun: Option<ByMpi>,
    problem: Option<Trouble>,
}

/// The values of srun's `--mpi`, each tried with two ranks.
#[derive(Debug, Serialize)]
struct ByMpi {
    /// Both are ranks of one world.
    fits: Vec<String>,
    /// They are not, or do not end.
    fails: Vec<String>,
}

/// What is wrong, and what to do.
#[derive(Debug, Serialize)]
struct Trouble {
    what: String,
    todo: String,
}

impl Trouble {
    fn new(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { what: what.into(), todo: todo.into() }
    }
}

impl Doctor {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let diagnosis = self.diagnose();
        if self.json {
            outln!("{:#}", serde_json::to_value(&diagnosis)?);
        } else {
            diagnosis.show();
        }
        Ok(if diagnosis.works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn diagnose(&self) -> Diagnosis {
        let machine = Machine::look();
        let tools = tools::all();
        let mut problems = Vec::new();
        if tools.is_empty() {
            problems.push(Trouble::new("no tools were found", no_tools(None)));
        }
        let example = match Example::get() {
            // Nothing is tried where there is no MPI.
            _ if machine.mpis.is_empty() => None,
            Ok(example) => Some(example),
            Err(error) => {
                let todo = "install a C compiler, or mpi-tool's wheel, which has the program; until then no MPI is tried";
                problems.push(Trouble::new(format!("{error:#}"), todo));
                None
            }
        };
        if machine.mpis.is_empty() {
            problems.push(Trouble::new(
                "no MPI was found: no MPI library below the prefix of a launcher (mpiexec) in PATH, or in LD_LIBRARY_PATH and \
                 the system's folders",
                "install one (`pip install mpich`, `apt-get install mpich`), or load its module, so that its mpiexec is in PATH",
            ));
        }
        problems.extend(machine.lonely.iter().map(lonely));
        problems.extend(builds::compilers().iter().filter_map(|mpicc| broken(mpicc)));
        let srun = example.as_ref().and_then(|_| Srun::of_allocation());
        let judge = |installed| self.judge(installed, &tools, example.as_ref(), srun.as_ref());
        let mpis: Vec<_> = machine.mpis.iter().map(judge).collect();
        let works = mpis.iter().any(|verdict| verdict.works);
        Diagnosis { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), works, mpis, problems }
    }

    fn judge(
        &self,
        installed: &Installed,
        tools: &[Build],
        example: Option<&Example>,
        srun: Option<&Srun>,
    ) -> Verdict {
        let Installed { mpi, launcher, missing } = installed;
        let of_abi = tools.iter().filter(|tool| tool.abi == Some(mpi.abi));
        let names: BTreeSet<_> = of_abi.map(|tool| tool.name.as_str()).collect();
        let mut verdict = Verdict {
            mpi: mpi.clone(),
            launcher: launcher.clone(),
            tools: names
                .into_iter()
                .filter(|name| *name != STACK_LIBRARY)
                .map(Into::into)
                .collect(),
            works: false,
            test: None,
            srun: None,
            problem: None,
        };
        if let (Some(srun), Some(example), true) = (srun, example, missing.is_empty()) {
            verdict.srun = Some(srun.try_all(mpi, example));
        }
        let tested = match launcher {
            None => Err(Trouble::new(
                "no launcher for it was found in PATH",
                "install the launcher of this MPI (its mpiexec), or add its folder to PATH; under a scheduler's launcher \
                 (srun), tools work without this test",
            )),
            Some(_) if !missing.is_empty() => Err(Trouble::new(
                format!("it needs {}, not found", missing.join(" and ")),
                "add the folder of these libraries to LD_LIBRARY_PATH, or install them",
            )),
            Some(launcher) => match example {
                Some(example) => self.test(mpi, launcher, tools, example),
                None => Err(Trouble::new("it was not tried", "see below")),
            },
        };
        match tested {
            Ok(test) => {
                verdict.works = true;
                verdict.test = Some(test);
            }
            Err(trouble) => verdict.problem = Some(trouble),
        }
        verdict
    }

    /// Two ranks of the example with the call counter; where that fails, without it.
    fn test(
        &self,
        mpi: &Mpi,
        launcher: &Path,
        tools: &[Build],
        example: &Example,
    ) -> Result<String, Trouble> {
        let shown = launcher.display();
        let by_hand = format!("`{shown} -n 2 hostname` shows whether the launcher works at all");
        let counter = tools.iter().find(|tool| tool.name == COUNTER && tool.abi == Some(mpi.abi));
        let run = |tool: Option<&Path>, variables: &[(&str, String)]| {
            let (ranks, steps) = (RANKS, STEPS);
            let start = Start { launcher, options: &[], mpi, ranks, steps, tool, variables };
            let outcome = example.run(&start, Duration::from_secs(self.timeout.max(1)));
            outcome.map_err(|error| Trouble::new(format!("{error:#}"), by_hand.clone()))
        };
        let Some(counter) = counter else {
            judged(&run(None, &[])?, self.timeout, &by_hand)?;
            let what = format!(
                "there is no {COUNTER} for the {} ABI; without tools it works",
                mpi.abi.name()
            );
            return Err(Trouble::new(what, no_tools(Some(mpi.abi))));
        };
        let folder = tempfile::tempdir().map_err(|error| {
            Trouble::new(error.to_string(), "make the folder for temporary files writable (TMPDIR)")
        })?;
        let report = folder.path().join("calls.json");
        let variables = [
            ("MPI_TOOL_FORMAT", "json".to_owned()),
            ("MPI_TOOL_OUTPUT", report.display().to_string()),
        ];
        let with_tool = judged(&run(Some(&counter.path), &variables)?, self.timeout, &by_hand);
        if let Err(trouble) = with_tool {
            // The tool is not to be blamed for what happens without it, too.
            return Err(match judged(&run(None, &[])?, self.timeout, &by_hand) {
                Ok(()) => Trouble::new(
                    format!("with {COUNTER}, {}; without it, it works", trouble.what),
                    format!(
                        "report this, with the output of `mpi-tool inspect {}`",
                        example.program.display()
                    ),
                ),
                Err(trouble) => {
                    Trouble::new(format!("also without tools, {}", trouble.what), trouble.todo)
                }
            });
        }
        counted(&report).map_err(|what| {
            Trouble::new(what, "report this, with the output of `mpi-tool doctor --json`")
        })
    }
}

/// Slurm's launcher, in an allocation.
struct Srun {
    launcher: PathBuf,
    /// What `--mpi` may be.
    kinds: Vec<String>,
}

impl Srun {
    /// How long two ranks may run, and the list of kinds take.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// The one of the allocation that this process is in; `None` if it is in none.
    fn of_allocation() -> Option<Self> {
        env::var_os("SLURM_JOB_ID")?;
        let launcher = in_path("srun")?;
        let mut command = Command::new(&launcher);
        let outcome = limited::run(command.arg("--mpi=list"), Self::PATIENCE).ok()?;
        let said = outcome.stdout.lines().chain(outcome.stderr.lines());
        let kinds = kinds(said);
        (!kinds.is_empty()).then_some(Self { launcher, kinds })
    }

    fn try_all(&self, mpi: &Mpi, example: &Example) -> ByMpi {
        let fits = |kind: &String| {
            let kind = format!("--mpi={kind}");
            // The allocation may have one processor, and this process may be a step of it.
            let options = ["--overlap", "--overcommit", &kind];
            let (launcher, ranks) = (&*self.launcher, RANKS);
            let start = Start {
                launcher,
                options: &options,
                mpi,
                ranks,
                steps: 1,
                tool: None,
                variables: &[],
            };
            let outcome = example.run(&start, Self::PATIENCE);
            outcome.is_ok_and(|outcome| judged(&outcome, 0, "").is_ok())
        };
        let (fits, fails) = self.kinds.iter().cloned().partition(fits);
        ByMpi { fits, fails }
    }
}

/// What `srun --mpi=list` says, a word a line, behind a line that announces it. Versions of one kind are not tried one by one.
fn kinds<'a>(said: impl Iterator<Item = &'a str>) -> Vec<String> {
    let words = said.map(|line| line.trim().trim_start_matches("srun: "));
    let words = words.filter(|word| !word.is_empty() && !word.contains([' ', ':', '.']));
    words.filter(|word| *word != "none").map(Into::into).collect()
}

/// Why a run is none of two ranks.
fn judged(outcome: &Outcome, timeout: u64, by_hand: &str) -> Result<(), Trouble> {
    let said = outcome.stderr.lines().chain(outcome.stdout.lines());
    let said = said.map(str::trim).find(|line| line.chars().any(char::is_alphanumeric));
    let said = said.map(|line| format!(": {line}")).unwrap_or_default();
    let Some(status) = outcome.status else {
        return Err(Trouble::new(
            format!("two ranks did not end within {timeout} s{said}"),
            format!("{by_hand}; --timeout gives it more time"),
        ));
    };
    if !status.success() {
        return Err(Trouble::new(format!("two ranks fail ({status}){said}"), by_hand));
    }
    if outcome.stdout.contains(&format!("example: {RANKS} ranks, ")) {
        return Ok(());
    }
    if outcome.stdout.contains("example: 1 ranks, ") {
        return Err(Trouble::new(
            "each process is rank 0 of 1: the launcher and the library are not of one MPI",
            "put the launcher of this MPI first in PATH",
        ));
    }
    Err(Trouble::new(format!("two ranks do not say what they should{said}"), by_hand))
}

/// Reads what the call counter has counted of the example's calls.
fn counted(report: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(report)
        .map_err(|error| format!("the call counter has written no report: {error}"))?;
    let report: Value = serde_json::from_str(&text)
        .map_err(|error| format!("the call counter's report cannot be read: {error}"))?;
    let all = report["counters"].as_array().cloned().unwrap_or_default();
    let count = |name: &str| {
        let found = all.iter().find(|counter| counter["name"] == name);
        found.and_then(|counter| counter["total"].as_u64()).unwrap_or(0)
    };
    let (ranks, steps) = (u64::from(RANKS), u64::from(STEPS));
    for (name, wanted) in [
        ("MPI_Init", ranks),
        ("MPI_Sendrecv", 2 * ranks * steps),
        ("MPI_Allreduce", ranks * steps),
        ("MPI_Finalize", ranks),
    ] {
        if count(name) != wanted {
            return Err(format!(
                "of {wanted} calls of {name}, the call counter has seen {}",
                count(name)
            ));
        }
    }
    let total: u64 = all.iter().filter_map(|counter| counter["total"].as_u64()).sum();
    Ok(format!("two ranks, {total} calls counted"))
}

fn no_tools(abi: Option<Abi>) -> String {
    let build = match abi {
        Some(abi) => format!("`mpi-tool build --abi {}`", abi.name()),
        None => "`mpi-tool build`".into(),
    };
    match tools::source_tree() {
        Some(_) => format!("{build} builds them; MPI_TOOL_PATH names the folders of others"),
        None => "install mpi-tool's wheel, which has them, or set MPI_TOOL_PATH to the folders that they are in".into(),
    }
}

fn lonely(lonely: &Lonely) -> Trouble {
    let launcher = lonely.launcher.display();
    match &lonely.title {
        Some(title) => Trouble::new(
            format!("{launcher} is the launcher of {title}, but no library of this MPI was found"),
            "add the folder of its libmpi.so to LD_LIBRARY_PATH, or install it",
        ),
        None => Trouble::new(
            format!(
                "{launcher} does not say of which MPI it is (--version): {}",
                Launcher::silence(&lonely.launcher)
            ),
            format!("`{launcher} --version` shows why; tools may work with it all the same"),
        ),
    }
}

/// A compiler wrapper that does not compile: no tool needs it, but whoever has it will.
fn broken(mpicc: &str) -> Option<Trouble> {
    let error = builds::abi(mpicc).err()?;
    let todo = "repair or remove it, or choose another by MPICC; tools run without it";
    Some(Trouble::new(format!("{error:#}"), todo))
}

impl Diagnosis {
    fn show(&self) {
        let line = |key: &str, value: &str| outln!("  {:<10}{value}", format!("{key}:"));
        for Verdict { mpi, launcher, tools, works, test, srun, problem } in &self.mpis {
            let answer = if *works { "works" } else { "does not work" };
            outln!("{}, {} ABI: {answer}", mpi.title(), mpi.abi.name());
            line(
                "library",
                &mpi.path.as_ref().map_or("not found".into(), |path| path.display().to_string()),
            );
            line(
                "launcher",
                &launcher.as_ref().map_or("none".into(), |path| path.display().to_string()),
            );
            line("tools", &if tools.is_empty() { "none".into() } else { tools.join(", ") });
            if let Some(test) = test {
                line("test", test);
            }
            if let Some(ByMpi { fits, fails }) = srun {
                let options = |kinds: &[String]| {
                    kinds.iter().map(|kind| format!("--mpi={kind}")).collect::<Vec<_>>().join(", ")
                };
                line(
                    "srun",
                    &match (&**fits, &**fails) {
                        ([], fails) => {
                            format!("two ranks do not find each other by {}", options(fails))
                        }
                        (fits, []) => options(fits),
                        (fits, fails) => format!("{}, not {}", options(fits), options(fails)),
                    },
                );
            }
            if let Some(Trouble { what, todo }) = problem {
                line("problem", what);
                line("to do", todo);
            }
        }
        for Trouble { what, todo } in &self.problems {
            outln!("{what}");
            line("to do", todo);
        }
        let good = self.mpis.iter().filter(|verdict| verdict.works).count();
        match self.mpis.iter().find(|verdict| verdict.works) {
            Some(Verdict { launcher: Some(launcher), .. }) => outln!(
                "\nTools work with {good} of {} MPIs. Try: mpi-tool run -- {} -n 2 ./app",
                self.mpis.len(),
                launcher.display()
            ),
            _ => outln!("\nTools work with none of {} MPIs.", self.mpis.len()),
        }
        if good > 0
            && crate::example::is_root()
            && self.mpis.iter().any(|verdict| verdict.works && verdict.mpi.abi == Abi::OpenMpi)
        {
            outln!(
                "You are root: Open MPI's launcher was told that this is meant (OMPI_ALLOW_RUN_AS_ROOT=1, \
                 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1), and wants it for your programs, too."
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::kinds;

    /// As Slurm 22.05 and 20.11 print it.
    #[test]
    fn kinds_of_mpi_are_read() {
        for said in [
            "MPI plugin types are...\n\tcray_shasta\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n",
            "srun: MPI types are...\nsrun: cray_shasta\nsrun: pmi2\nsrun: none\nsrun: pmix\n",
        ] {
            assert_eq!(kinds(said.lines()), ["cray_shasta", "pmi2", "pmix"]);
        }
    }
}
