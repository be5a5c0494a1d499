//! `mpi-tool run`: the launcher's command line, with the tools in front of each application.

use std::cell::LazyCell;
use std::env;
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{self, Command, ExitCode};

use anyhow::{Result, bail};
use mpi_facts::Abi;

use crate::cli::{Check, Format, Guard, Run};
use crate::family::Launcher;
use crate::inspect::{Inspection, Kind};
use crate::launcher::CommandLine;
use crate::out::{errln, outln};
use crate::problem::Problem;
use crate::report::screen::{self, Screen};
use crate::request::{ToolRequest, absolute, own_variable};
use crate::selection::{Selection, Wanted};
use crate::supervised;
use crate::words::{behind_env, in_path, is_executable, preloads};

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

impl Check {
    /// Runs the command with mpi-check.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let mut options = Vec::new();
        if self.fail {
            options.push(("FAIL", "1".to_owned()));
        }
        if let Some(file) = &self.suppress {
            if !file.is_file() {
                bail!("{}: there is no such file (--suppress)", file.display());
            }
            options.push(("SUPPRESS", absolute(&file.display().to_string())));
        }
        let tool = ToolRequest { name: "mpi-check".into(), options };
        Run {
            tools: vec![tool],
            output: self.output.clone(),
            format: self.format,
            no_merge: false,
            no_signals: false,
            qmpi: false,
            spawned: false,
            abi: None,
            strict: false,
            hang_after: None,
            kill: None,
            dry_run: self.dry_run,
            command: self.command.clone(),
        }
        .run()
    }
}

impl Run {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let folder = env::current_dir()?;
        let line = CommandLine::read(&self.command, &folder);
        if let Some(missing) = self.missing(&line, &folder) {
            errln!("mpi-tool: {missing}; nothing was started");
            return Ok(ExitCode::from(NOT_STARTED));
        }
        let mut tools = self.tools.clone();
        if self.hang_after.is_none() && tools.is_empty() {
            tools.push(ToolRequest::named(screen::TOOL));
        }
        let place = |tools: &[ToolRequest], name| tools.iter().position(|tool| tool.is_for(name));
        if self.hang_after.is_some() && place(&tools, "mpi-watch").is_none() {
            tools.push(ToolRequest::named("mpi-watch"));
        }
        let wanted = Wanted::find(&tools, self.qmpi)?;
        let mut problems = Vec::new();
        let plan = self.plan(&line, &wanted, &mut problems)?;

        let [check, strict] = ["mpi-check", "mpi-strict"].map(|name| place(&tools, name));
        if let (Some(check), Some(strict)) = (check, strict)
            && check < strict
        {
            problems.push(Problem::new(
                "mpi-check stands before mpi-strict, so that it does not see what mpi-strict adds",
                "name --tool mpi-strict first",
            ));
        }
        let mut variables = self.variables(&wanted);
        let is_set = variables.iter().any(|(name, _)| name == "MPI_TOOL_MERGE");
        if plan.is_mixed(wanted.count()) && !is_set {
            problems
                .push(Problem::new("not all ranks have all tools", "each rank reports for itself"));
            variables.push(("MPI_TOOL_MERGE".into(), "0".into()));
        }
        for problem in &problems {
            match self.strict {
                true => errln!("mpi-tool: {}", problem.alone()),
                false => errln!("mpi-tool: {problem}"),
            }
        }
        if self.strict && !problems.is_empty() {
            bail!("nothing was started (--strict)");
        }
        let mut guard = None;
        if let Some(after) = self.hang_after.filter(|_| !self.dry_run) {
            let named = env::var_os("MPI_TOOL_RUN").filter(|folder| !folder.is_empty());
            let remove = named.is_none();
            let folder = named.map_or_else(Guard::new_folder, |folder| Ok(folder.into()))?;
            variables.retain(|(name, _)| name != "MPI_TOOL_RUN");
            variables.push(("MPI_TOOL_RUN".into(), absolute(&folder.display().to_string())));
            // This process becomes the launcher, or will know it.
            guard = Some(Guard { folder, process: process::id(), after: after.as_secs(), remove });
        }
        let profiles = tools.iter().filter(|tool| tool.is_for(screen::TOOL)).count();
        let is_run = profiles == 1 && !self.dry_run;
        let screen = is_run.then(|| Screen::of(&variables)).flatten();
        variables.extend(screen.iter().flat_map(Screen::variables));
        let status = self.start(&self.words(&line, &plan, &variables), guard, screen.is_some())?;
        if let Some(screen) = screen {
            screen.show();
        }
        Ok(status)
    }

    /// What makes it impossible to start anything: there is no launcher, or, without one, no program.
    fn missing(&self, line: &CommandLine, folder: &Path) -> Option<String> {
        // A command that is only printed may be for another machine.
        if self.dry_run {
            return None;
        }
        let first = Some(0).filter(|_| line.launcher != Some(0));
        let mut words = first.into_iter().chain(line.launcher).map(|at| self.command[at].as_str());
        words.find_map(|word| not_startable(word, folder))
    }

    /// What each application gets.
    fn plan(
        &self,
        line: &CommandLine,
        wanted: &Wanted<'_>,
        problems: &mut Vec<Problem>,
    ) -> Result<Plan> {
        let word = line.launcher.map(|at| self.command[at].as_str());
        // It is asked once, and only if something depends on it.
        let launcher = LazyCell::new(|| word.and_then(Launcher::of));
        let launcher_abi = || launcher.as_ref().map(Launcher::abi);
        let mut plan = Plan::default();
        for application in &line.applications {
            let words = &self.command[application.words.clone()];
            let inspection = Inspection::of(words, &application.folder);
            // One rank alone is rank 0 of 1 in any case.
            let is_alone = line.applications.len() == 1 && application.is_one;
            if let (Some(word), Some(mpi)) = (word, &inspection.mpi)
                && !is_alone
                && let Some(launcher) = &*launcher
                && let Some(problem) = launcher.mismatch(word, &inspection.program, mpi)
                && !problems.contains(&problem)
            {
                problems.push(problem);
            }
            let abi = self.abi.or_else(|| abi(&inspection, launcher_abi));
            plan.selections.push(wanted.select(&inspection, abi, problems));
            plan.spawns |= inspection.spawns;
        }
        if let Some(option) = &line.file {
            let abi = self.abi.or_else(launcher_abi);
            problems.push(Problem::new(
                format!("{option}: mpi-tool does not read the applications in that file"),
                "the launcher gets the tools, too",
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

    /// Becomes the launcher: signals, terminal and exit status are its own. With `--kill` it stays a child, since the exit
    /// status may be another one, and if there `is_more` to do behind it.
    fn start(&self, words: &[String], guard: Option<Guard>, is_more: bool) -> Result<ExitCode> {
        if self.dry_run {
            let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
            outln!("{}", quoted.join(" "));
            return Ok(ExitCode::SUCCESS);
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        let error = if is_more || self.kill.is_some() {
            match supervised::run(&mut command, guard, self.kill) {
                Ok(status) => return Ok(status),
                Err(error) => error,
            }
        } else {
            guard.as_ref().map_or(Ok(()), Guard::start)?;
            command.exec()
        };
        errln!("mpi-tool: {}: {error}; nothing was started", words[0]);
        Ok(ExitCode::from(NOT_STARTED))
    }
}

/// The exit status of shells where there is no such program.
const NOT_STARTED: u8 = 127;

/// Why a word cannot be started as a program by its name; `None` if it can.
fn not_startable(word: &str, folder: &Path) -> Option<String> {
    if !word.contains('/') {
        if in_path(word).is_some() {
            return None;
        }
        let here = is_executable(&folder.join(word));
        let hint = if here { format!(" (./{word} is in this folder)") } else { String::new() };
        return Some(format!("{word}: no such program in PATH{hint}"));
    }
    let path = folder.join(word);
    if is_executable(&path) {
        return None;
    }
    Some(match path.metadata() {
        Ok(data) if data.is_dir() => format!("{word}: a directory, not a program"),
        Ok(_) => format!("{word}: not executable"),
        Err(error) if error.kind() == ErrorKind::NotFound => format!("{word}: no such program"),
        Err(error) => format!("{word}: {error}"),
    })
}

/// Of which ABI tools must be: by what the application is linked to, else by the launcher.
fn abi(inspection: &Inspection, launcher: impl Fn() -> Option<Abi>) -> Option<Abi> {
    match (&inspection.mpi, inspection.kind) {
        (Some(mpi), _) => Some(mpi.abi),
        // Programs that may start others, or load MPI when they run.
        (None, Kind::Script | Kind::Python) => launcher(),
        (None, _) if inspection.loads_mpi_late => launcher(),
        (None, _) => None,
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
