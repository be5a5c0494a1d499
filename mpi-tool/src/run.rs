//! `mpi-tool run`: the launcher's command line, with the tools in front of each application.

use std::cell::LazyCell;
use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::process::{self, Command, ExitCode};
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};
use mpi_facts::Abi;
use mpi_facts::watch::{GUARD_VARIABLE, JOB_VARIABLE};

use crate::cli::{Check, Format, Guard, Run};
use crate::containers::Container;
use crate::family::Launcher;
use crate::hang::Live;
use crate::inspect::{Inspection, Kind, is_of_sanitizer, is_of_thread_sanitizer};
use crate::launcher::{CommandLine, ListOfApplications};
use crate::marks::Marks;
use crate::out::{errln, outln};
use crate::problem::Problem;
use crate::report::screen::{self, Screen};
use crate::request::{ToolRequest, absolute, own_variable};
use crate::selection::{Selection, Wanted};
use crate::supervised;
use crate::words::{
    base, behind_env, behind_wrappers, container, in_path, is_executable, is_queue, preloads,
};

/// What the applications of a command get.
#[derive(Debug, Default)]
struct Plan<'a> {
    /// In their order.
    selections: Vec<Selection>,
    /// Those that the launcher reads from a file.
    in_file: Option<Selection>,
    /// One may spawn further processes.
    spawns: bool,
    /// In which they run.
    containers: Vec<Container<'a>>,
}

impl Plan<'_> {
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
            spawned: self.spawned,
            abi: self.abi,
            strict: false,
            hang_after: self.hang_after,
            kill: self.kill,
            on_hang: self.on_hang.clone(),
            live: false,
            dry_run: self.dry_run,
            command: self.command.clone(),
        }
        .run()
    }
}

impl Run {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        if self.live && !self.dry_run {
            Live::check()?;
        }
        let folder = env::current_dir()?;
        let line = CommandLine::read(&self.command, &folder);
        if let Some(missing) = self.missing(&line, &folder) {
            errln!("mpi-tool: {missing}; nothing was started");
            return Ok(ExitCode::from(NOT_STARTED));
        }
        let mut tools = self.tools.clone();
        let watches = self.live || self.hang_after.is_some();
        if !watches && tools.is_empty() {
            tools.push(ToolRequest::named(screen::TOOL));
        }
        let place = |tools: &[ToolRequest], name| tools.iter().position(|tool| tool.is_for(name));
        if watches && place(&tools, "mpi-watch").is_none() {
            tools.push(ToolRequest::named("mpi-watch"));
        }
        let wanted = Wanted::find(&tools, self.qmpi)?;
        let mut problems = Vec::new();
        let plan = self.plan(&line, &folder, &wanted, &mut problems)?;

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
        variables.retain(|(name, _)| ![JOB_VARIABLE, GUARD_VARIABLE].contains(&name.as_str()));
        let name = new_name();
        let (mut guard, mut live) = (None, None);
        if watches && !self.dry_run {
            let named = env::var_os("MPI_TOOL_RUN").filter(|folder| !folder.is_empty());
            let remove = named.is_none();
            let folder = named.map_or_else(Guard::new_folder, |folder| Ok(folder.into()))?;
            variables.retain(|(name, _)| name != "MPI_TOOL_RUN");
            variables.push(("MPI_TOOL_RUN".into(), absolute(&folder.display().to_string())));
            if self.live {
                fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
                live = Some(Live::new(folder.clone(), remove)?);
            }
            if let Some(after) = self.hang_after {
                // The process is the launcher's when there is one.
                let (process, after, kills) = (process::id(), after.as_secs(), self.kill.is_some());
                let on_hang = self.on_hang.clone();
                let name = Some(name.clone());
                let watching = Guard { folder, process, after, remove, name, kills, on_hang };
                if watching.set_mark() {
                    let name = watching.name.clone().unwrap_or_default();
                    variables.push((GUARD_VARIABLE.into(), name));
                }
                guard = Some(watching);
            }
        }
        // What is only printed may be run several times.
        if !self.dry_run {
            variables.push((JOB_VARIABLE.into(), name));
        }
        let profiles = tools.iter().filter(|tool| tool.is_for(screen::TOOL)).count();
        let is_run = profiles == 1 && !self.dry_run;
        let screen = is_run.then(|| Screen::of(&variables)).flatten();
        variables.extend(screen.iter().flat_map(Screen::variables));
        let marks = if self.dry_run { None } else { Marks::new() };
        variables.extend(marks.iter().flat_map(Marks::variable));
        let status = self.start(&self.words(&line, &plan, &variables), guard, live)?;
        if let Some(screen) = screen {
            screen.show();
        }
        if marks.is_some_and(|marks| marks.is_nothing_left()) {
            errln!(
                "mpi-tool: no rank on this host left a report: all were killed by SIGKILL (as by a launcher when one fails, or for lack \
                 of memory), or the program itself handles the signal that ended it, or it ended by `exec` or a system call"
            );
        }
        Ok(status)
    }

    /// What makes it impossible to start anything: there is no launcher, or, without one, no program.
    fn missing(&self, line: &CommandLine, folder: &Path) -> Option<String> {
        let start = &self.command[behind_wrappers(&self.command, folder)..];
        let starter = start.first().map_or("", |word| base(word));
        if is_queue(starter) {
            return Some(format!(
                "{starter} only queues a job: write `mpi-tool run` into its script, in front of the launcher"
            ));
        }
        if starter == "salloc" {
            let then = "write `mpi-tool run` there, or name the launcher behind salloc";
            return Some(format!("salloc without a command starts a shell, or none: {then}"));
        }
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
        folder: &Path,
        wanted: &Wanted<'_>,
        problems: &mut Vec<Problem>,
    ) -> Result<Plan<'_>> {
        let word = line.launcher.map(|at| self.command[at].as_str());
        // It is asked once, and only if something depends on it.
        let launcher = LazyCell::new(|| word.and_then(Launcher::of));
        let launcher_abi = || launcher.as_ref().map(Launcher::abi);
        let mut plan = Plan::default();
        if line.launcher.is_some()
            && let Some((_, around)) = container(&self.command, folder)
        {
            plan.containers.push(around);
        }
        for application in &line.applications {
            let words = &self.command[application.words.clone()];
            let inspection = Inspection::of(words, &application.folder);
            let program = &words[behind_wrappers(words, &application.folder)..];
            if let Some(starter) = Container::read(program, &application.folder) {
                problems.push(Problem::new(
                    format!("{}: the image says which program runs, so that no tool can stand in front of it", starter.by),
                    "it runs without tools (name the program behind the image)",
                ));
                plan.selections.push(Selection::default());
                continue;
            }
            if let Some((_, inner)) = container(words, &application.folder) {
                let is_hidden = inner.hides(&inspection);
                plan.containers.push(inner);
                if is_hidden {
                    let what = format!("{} in a container", inspection.program);
                    let abi = self.abi.or_else(launcher_abi);
                    plan.selections.push(wanted.select_unseen(&what, abi, problems));
                    continue;
                }
            }
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
        if let Some(file) = &line.file {
            plan.in_file = Some(self.plan_of_file(file, wanted, launcher_abi, problems));
        } else if line.applications.is_empty() {
            bail!("the command names no application: {}", self.command.join(" "));
        }
        let hides = |container: &&Container<'_>| {
            let all = plan.selections.iter().flat_map(|selection| &selection.preload);
            all.map(Path::new).any(|library| !container.shows(library))
        };
        if let Some(container) = plan.containers.iter().find(hides) {
            let library = plan.selections.iter().find_map(|selection| selection.preload.first());
            let folder = library.and_then(|library| Path::new(library).parent()).unwrap_or(folder);
            problems.push(Problem::new(
                format!(
                    "{}: the container may not see the tools, which are in {}",
                    container.by,
                    folder.display()
                ),
                "bind that folder to the same place in it",
            ));
        }
        Ok(plan)
    }

    /// What the applications of a file get: the launcher has it in its environment, as they can have nothing in front of them.
    fn plan_of_file(
        &self,
        file: &ListOfApplications,
        wanted: &Wanted<'_>,
        launcher_abi: impl Fn() -> Option<Abi> + Copy,
        problems: &mut Vec<Problem>,
    ) -> Selection {
        let option = &file.option;
        let mut found: Option<Selection> = None;
        for (words, folder) in file.read() {
            let inspection = Inspection::of(&words, &folder);
            let abi = self.abi.or_else(|| abi(&inspection, launcher_abi));
            let mut own = Vec::new();
            let selection = wanted.select(&inspection, abi, &mut own);
            if found.get_or_insert_with(|| selection.clone()).preload != selection.preload {
                own.push(Problem::new(
                    format!("{option}: the applications in that file want different tools"),
                    "all get those of the first one",
                ));
            }
            own.retain(|problem| !problems.contains(problem));
            problems.append(&mut own);
        }
        found.unwrap_or_else(|| {
            problems.push(Problem::new(
                format!("{option}: mpi-tool cannot read the applications in that file"),
                "the launcher gets the tools, too",
            ));
            wanted.select_unseen(option, self.abi.or_else(launcher_abi), problems)
        })
    }

    /// The command with the tools.
    fn words(
        &self,
        line: &CommandLine,
        plan: &Plan<'_>,
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
            let inside = container(&self.command[start..end], &application.folder);
            let start = start + inside.map_or(0, |(at, _)| at);
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
        // What the user preloads comes behind the tools, unless it must be first.
        let is_first = |library: &str| is_of_sanitizer(library) && !is_of_thread_sanitizer(library);
        let preloaded = preloaded.iter().flat_map(|libraries| libraries.split([':', ' ']));
        let (mut preload, behind): (Vec<_>, Vec<_>) =
            preloaded.map(str::to_owned).partition(|library| is_first(base(library)));
        preload.retain(|library| !selection.preload.contains(library));
        preload.extend(selection.preload.iter().cloned().chain(behind));
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

    /// Runs the launcher, or prints how it would be run.
    fn start(
        &self,
        words: &[String],
        guard: Option<Guard>,
        live: Option<Live>,
    ) -> Result<ExitCode> {
        if self.dry_run {
            let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
            outln!("{}", quoted.join(" "));
            return Ok(ExitCode::SUCCESS);
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        supervised::run(&mut command, guard, self.kill, live).or_else(|error| {
            errln!("mpi-tool: {}: {error}; nothing was started", words[0]);
            Ok(ExitCode::from(NOT_STARTED))
        })
    }
}

/// A name for a run that no other one has, in a few letters.
fn new_name() -> String {
    let mut hasher = DefaultHasher::new();
    let host = rustix::system::uname();
    (host.nodename().to_bytes(), process::id(), SystemTime::now()).hash(&mut hasher);
    format!("{:08x}", hasher.finish() as u32)
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
