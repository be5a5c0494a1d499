//! `mpi-tool run`: the launcher's command line, with the tools in front of each application.

use std::env;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Result, bail};

use crate::cli::{Format, Run};
use crate::inspect::{Inspection, Kind};
use crate::launcher::CommandLine;
use crate::mpi::Abi;
use crate::request::{absolute, own_variable};
use crate::selection::{Selection, Wanted};

impl Run {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let folder = env::current_dir()?;
        let line = CommandLine::read(&self.command, &folder);
        let wanted = Wanted::find(&self.tools, self.qmpi)?;
        let mut problems = Vec::new();

        let launcher = line.launcher.map(|at| self.command[at].as_str());
        let mut selections = Vec::new();
        for application in &line.applications {
            let words = &self.command[application.words.clone()];
            let inspection = Inspection::of(words, &application.folder);
            let abi = self.abi.or_else(|| abi(&inspection, launcher));
            selections.push(wanted.select(&inspection, abi, &mut problems));
        }
        let in_file = line.file.as_ref().map(|option| {
            let abi = self.abi.or_else(|| launcher.and_then(launcher_abi));
            problems.push(format!(
                "{option}: the applications in that file are not looked at; the tools go to the \
                 launcher's environment"
            ));
            wanted.select_unseen(option, abi, &mut problems)
        });
        if line.applications.is_empty() && in_file.is_none() {
            bail!("the command names no application: {}", self.command.join(" "));
        }

        let mut variables = self.variables(&wanted);
        let count = selections.iter().filter(|selection| selection.tools > 0).count();
        let some = selections.iter().any(|selection| selection.tools < wanted.count());
        if count > 0
            && some
            && selections.len() > 1
            && !variables.iter().any(|v| v.0 == "MPI_TOOL_MERGE")
        {
            problems
                .push("not all ranks have all tools: each rank makes a report of its own".into());
            variables.push(("MPI_TOOL_MERGE".into(), "0".into()));
        }
        for problem in &problems {
            eprintln!("mpi-tool: {problem}");
        }
        if self.strict && !problems.is_empty() {
            bail!("nothing was started (--strict)");
        }

        let mut words = Vec::new();
        let mut next = 0;
        for (application, selection) in line.applications.iter().zip(&selections) {
            words.extend_from_slice(&self.command[next..application.words.start]);
            next = application.words.end;
            words.extend(self.wrapper(selection, &variables));
            let own = &self.command[application.words.clone()];
            let found_here = !own[0].contains('/') && crate::words::in_path(&own[0]).is_none();
            // `env` looks in PATH only; some launchers look in the working folder, too.
            let here = found_here && application.folder.join(&own[0]).is_file();
            words.push(if here { format!("./{}", own[0]) } else { own[0].clone() });
            words.extend_from_slice(&own[1..]);
        }
        words.extend_from_slice(&self.command[next..]);
        if let Some(selection) = &in_file {
            words.splice(0..0, self.wrapper(selection, &variables));
        }
        self.start(&words)
    }

    /// What stands in front of an application so that its ranks, and nobody else, have the tools.
    fn wrapper(&self, selection: &Selection, variables: &[(String, String)]) -> Vec<String> {
        if selection.preload.is_empty() {
            return Vec::new();
        }
        let mut words = vec!["/usr/bin/env".to_owned()];
        if self.qmpi {
            words.extend(["-u".into(), "QMPI_STACK".into()]);
        }
        let mut preload = selection.preload.clone();
        preload.extend(env::var("LD_PRELOAD").ok().filter(|own| !own.is_empty()));
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
    if !Path::new(launcher).file_name()?.to_str()?.starts_with("mpi") {
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
