//! `mpi-tool run`: the launcher's command line, with the tools in front of each application.

use std::env;
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Result, bail};

use crate::cli::{Format, Run};
use crate::inspect::{Inspection, Kind};
use crate::launcher::CommandLine;
use crate::mpi::Abi;
use crate::request::{absolute, own_variable};
use crate::selection::{Selection, Wanted};
use crate::words::{base, behind_env, in_path, preloads};

/// What the applications of a command get.
#[derive(Debug, Default)]
struct Plan {
    /// In their order.
    selections: Vec<Selection>,
    /// Those that the launcher reads from a file.
    in_file: Option<Selection>,
    /// One may spawn further processes.
    spawns: bool,
}

impl Plan {
    /// Do some ranks have tools that others lack?
    fn is_mixed(&self, wanted: usize) -> bool {
        let some = self.selections.iter().any(|selection| selection.tools > 0);
        some && self.selections.iter().any(|selection| selection.tools < wanted)
            && self.selections.len() > 1
    }
}

impl Run {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let folder = env::current_dir()?;
        let line = CommandLine::read(&self.command, &folder);
        let wanted = Wanted::find(&self.tools, self.qmpi)?;
        let mut problems = Vec::new();
        let plan = self.plan(&line, &wanted, &mut problems)?;

        let mut variables = self.variables(&wanted);
        let is_set = variables.iter().any(|(name, _)| name == "MPI_TOOL_MERGE");
        if plan.is_mixed(wanted.count()) && !is_set {
            problems.push("not all ranks have all tools, so each rank reports for itself".into());
            variables.push(("MPI_TOOL_MERGE".into(), "0".into()));
        }
        for problem in &problems {
            eprintln!("mpi-tool: {problem}");
        }
        if self.strict && !problems.is_empty() {
            bail!("nothing was started (--strict)");
        }
        self.start(&self.words(&line, &plan, &variables))
    }

    /// What each application gets.
    fn plan(
        &self,
        line: &CommandLine,
        wanted: &Wanted<'_>,
        problems: &mut Vec<String>,
    ) -> Result<Plan> {
        let launcher = line.launcher.map(|at| self.command[at].as_str());
        let mut plan = Plan::default();
        for application in &line.applications {
            let words = &self.command[application.words.clone()];
            let inspection = Inspection::of(words, &application.folder);
            let abi = self.abi.or_else(|| abi(&inspection, launcher));
            plan.selections.push(wanted.select(&inspection, abi, problems));
            plan.spawns |= inspection.spawns;
        }
        if let Some(option) = &line.file {
            let abi = self.abi.or_else(|| launcher.and_then(launcher_abi));
            problems.push(format!(
                "{option}: the applications in that file are not looked at, and the launcher gets \
                 the tools, too"
            ));
            plan.in_file = Some(wanted.select_unseen(option, abi, problems));
        } else if line.applications.is_empty() {
            bail!("the command names no application: {}", self.command.join(" "));
        }
        Ok(plan)
    }

    /// The command with the tools.
    fn words(
        &self,
        line: &CommandLine,
        plan: &Plan,
        variables: &[(String, String)],
    ) -> Vec<String> {
        let mut words = Vec::new();
        // Spawned processes have the launcher's environment, and applications that are listed in a
        // file can have nothing in front of them.
        let of_spawned = plan.selections.iter().find(|selection| selection.tools > 0);
        let of_spawned = of_spawned.filter(|_| plan.spawns || self.spawned);
        let environment = || env::var("LD_PRELOAD").ok().filter(|own| !own.is_empty());
        if let Some(selection) = plan.in_file.as_ref().or(of_spawned) {
            words.extend(self.wrapper(selection, variables, environment().as_slice()));
        }
        let mut next = 0;
        for (application, selection) in line.applications.iter().zip(&plan.selections) {
            let Range { start, end } = application.words;
            // What `env` is to do comes before, and what is preloaded already stays.
            let start = start + behind_env(&self.command[start..end], &application.folder);
            words.extend_from_slice(&self.command[next..start]);
            next = end;
            let own = &self.command[start..end];
            let mut preloaded = preloads(&self.command[..start]);
            if preloaded.is_empty() {
                preloaded.extend(environment());
            }
            let wrapper = self.wrapper(selection, variables, &preloaded);
            if wrapper.is_empty() {
                words.extend_from_slice(own);
                continue;
            }
            words.extend(wrapper);
            if own[0].contains('=') {
                // Which `env` would take for a variable.
                words.extend(["/bin/sh", "-c", r#"exec "$0" "$@""#].map(Into::into));
            }
            // `env` looks in PATH only, some launchers in the working folder, too.
            let is_here = !own[0].contains('/')
                && in_path(&own[0]).is_none()
                && application.folder.join(&own[0]).is_file();
            words.push(if is_here { format!("./{}", own[0]) } else { own[0].clone() });
            words.extend_from_slice(&own[1..]);
        }
        words.extend_from_slice(&self.command[next..]);
        words
    }

    /// What stands in front of an application so that its ranks, and nobody else, have the tools.
    fn wrapper(
        &self,
        selection: &Selection,
        variables: &[(String, String)],
        preloaded: &[String],
    ) -> Vec<String> {
        if selection.preload.is_empty() {
            return Vec::new();
        }
        let mut words = vec!["/usr/bin/env".to_owned()];
        if self.qmpi {
            words.extend(["-u".into(), "QMPI_STACK".into()]);
        }
        let mut preload = selection.preload.clone();
        preload.extend_from_slice(preloaded);
        words.push(format!("LD_PRELOAD={}", preload.join(":")));
        let all = selection.variables.iter().chain(variables);
        words.extend(all.map(|(name, value)| format!("{name}={value}")));
        words
    }

    /// What the options say, in the tools' words, and what is set already.
    fn variables(&self, wanted: &Wanted<'_>) -> Vec<(String, String)> {
        let mut variables: Vec<(String, String)> = env::vars()
            .filter(|(name, _)| name.starts_with("MPI_TOOL_") && name != "MPI_TOOL_PATH")
            .chain(
                env::vars().filter(|(name, _)| name.starts_with("QMPI_") && name != "QMPI_STACK"),
            )
            .collect();
        let mut set = |name: String, value: String| {
            variables.retain(|(known, _)| *known != name);
            variables.push((name, value));
        };
        if let Some(output) = &self.output {
            set("MPI_TOOL_OUTPUT".into(), absolute(output));
        }
        if let Some(format) = self.format {
            let format = match format {
                Format::Text => "text",
                Format::Json => "json",
                Format::Csv => "csv",
            };
            set("MPI_TOOL_FORMAT".into(), format.into());
        }
        if self.no_merge {
            set("MPI_TOOL_MERGE".into(), "0".into());
        }
        if self.no_signals {
            set("MPI_TOOL_SIGNALS".into(), "0".into());
        }
        for (tool, options) in wanted.options() {
            for (option, value) in options {
                set(own_variable(tool, option), value.clone());
            }
        }
        variables
    }

    /// Becomes the launcher: signals, terminal and exit status are its own.
    fn start(&self, words: &[String]) -> Result<ExitCode> {
        if self.dry_run {
            let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
            println!("{}", quoted.join(" "));
            return Ok(ExitCode::SUCCESS);
        }
        let error = Command::new(&words[0]).args(&words[1..]).exec();
        eprintln!("mpi-tool: {}: {error}", words[0]);
        Ok(ExitCode::from(127))
    }
}

/// Of which ABI tools must be: by what the application is linked to, else by the launcher.
fn abi(inspection: &Inspection, launcher: Option<&str>) -> Option<Abi> {
    match (&inspection.mpi, inspection.kind) {
        (Some(mpi), _) => Some(mpi.abi),
        // Programs that may start others, or load MPI when they run.
        (None, Kind::Script | Kind::Python) => launcher.and_then(launcher_abi),
        (None, _) if inspection.loads_mpi_late => launcher.and_then(launcher_abi),
        (None, _) => None,
    }
}

/// The MPI that a launcher belongs to, by what it says of itself.
fn launcher_abi(launcher: &str) -> Option<Abi> {
    let name = base(launcher);
    if ["orterun", "prterun", "prun"].contains(&name) {
        return Some(Abi::OpenMpi);
    }
    if !name.starts_with("mpi") {
        return None;
    }
    let mut version = Command::new(launcher);
    let output = version.arg("--version").stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if said.contains("Open MPI") || said.contains("OpenRTE") || said.contains("PRRTE") {
        Some(Abi::OpenMpi)
    } else if said.contains("HYDRA") || said.contains("Intel(R) MPI") || said.contains("MPICH") {
        Some(Abi::Mpich)
    } else {
        None
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_what_is_quoted() {
        for word in ["a b", "it's", "$HOME", "", "x;y", "*", "--a=b"] {
            let script = format!("printf %s {}", quoted(word));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
