//! Which build of each tool an application gets, and what is wrong with that.

use std::env;
use std::path::Path;

use anyhow::{Result, bail};
use mpi_facts::Abi;

use crate::elf::Machine;
use crate::inspect::{Binding, Inspection, Interception, Kind, is_of_thread_sanitizer};
use crate::mpi::Mpi;
use crate::problem::Problem;
use crate::request::ToolRequest;
use crate::tools::{self, Build, STACK_LIBRARY};
use crate::words::base;

/// The tools that the user wants, with all their builds.
pub(crate) struct Wanted<'a> {
    tools: Vec<(&'a ToolRequest, Vec<Build>)>,
    /// The builds of the library that runs stacks, if it shall.
    stack: Option<Vec<Build>>,
}

/// What an application gets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// The shared objects to preload, in this order.
    pub(crate) preload: Vec<String>,
    /// What must be set beside.
    pub(crate) variables: Vec<(String, String)>,
    /// How many of the tools it gets.
    pub(crate) tools: usize,
}

impl<'a> Wanted<'a> {
    /// Finds the tools.
    ///
    /// # Errors
    /// One is not there, or cannot be what is wanted of it.
    pub(crate) fn find(requests: &'a [ToolRequest], stack: bool) -> Result<Self> {
        let mut tools: Vec<(&ToolRequest, Vec<Build>)> = Vec::new();
        for request in requests {
            let builds = tools::of_name(&request.name)?;
            if builds.iter().any(|build| build.name == STACK_LIBRARY) {
                bail!(
                    "{}: libqmpi.so runs stacks and is not a tool; name the tools, and add --qmpi to make a stack of them",
                    request.name
                );
            }
            if stack
                && let Some(build) = builds.iter().find(|build| !build.is_level && !build.universal)
            {
                bail!(
                    "{} cannot be a level of a stack: {} was not made by install_qmpi_layer! and calls no PMPI_ \
                     function; without --qmpi it can be preloaded",
                    request.name,
                    build.path.display()
                );
            }
            if !stack && tools.iter().any(|(_, known)| known[0].path == builds[0].path) {
                bail!(
                    "{} is named twice; only a stack (--qmpi) can have a tool at several levels",
                    request.name
                );
            }
            tools.push((request, builds));
        }
        let stack = if stack { Some(tools::of_name(STACK_LIBRARY)?) } else { None };
        Ok(Self { tools, stack })
    }

    pub(crate) fn count(&self) -> usize {
        self.tools.len()
    }

    /// The tools' names with what is set for each alone.
    pub(crate) fn options(&self) -> impl Iterator<Item = (&str, &[(&'static str, String)])> {
        self.tools.iter().map(|(request, builds)| (builds[0].name.as_str(), &*request.options))
    }

    /// For an application whose tools must be of an ABI, if that is known.
    pub(crate) fn select(
        &self,
        application: &Inspection,
        abi: Option<Abi>,
        problems: &mut Vec<Problem>,
    ) -> Selection {
        let name = &application.program;
        let reason = &application.reason;
        // The other hosts may have it.
        if application.kind == Kind::Missing {
            problems.push(Problem::new(
                format!("{name}: no such program on this machine"),
                "the command is started without tools",
            ));
            return Selection::default();
        }
        if application.interception == Interception::No {
            problems.push(Problem::new(format!("{name}: {reason}"), "it runs without tools"));
            return Selection::default();
        }
        let Some(abi) = abi else {
            // What starts others, or loads MPI when it runs.
            let is_open = application.loads_mpi_late
                || [Kind::Script, Kind::Python].contains(&application.kind);
            if let Some(selection) = self.universal().filter(|_| is_open) {
                return selection;
            }
            problems.push(Problem::new(
                format!("{name}: {reason}"),
                "it runs without tools (--abi chooses tools for it)",
            ));
            return Selection::default();
        };
        if let Some(mpi) = application.mpi.as_ref().filter(|mpi| mpi.abi != abi) {
            problems.push(Problem::new(
                format!(
                    "{name}: its MPI ({}) has the {} ABI, not the {} ABI that --abi names",
                    mpi.soname,
                    mpi.abi.name(),
                    abi.name()
                ),
                "it runs without tools, as those of another ABI read its memory wrongly (leave --abi out)",
            ));
            return Selection::default();
        }
        let is_missing = application.mpi.as_ref().is_some_and(|mpi| mpi.path.is_none());
        if is_missing {
            problems.push(Problem::new(
                format!("{name}: {reason} (LD_LIBRARY_PATH?)"),
                "it gets tools of that ABI",
            ));
        }
        let known = application.mpi.as_ref().map(|mpi| &mpi.soname);
        let missing: Vec<&str> = application
            .missing_libraries
            .iter()
            .filter(|name| Some(*name) != known)
            .map(String::as_str)
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(" and ");
            problems.push(Problem::new(
                format!("{name}: it needs {missing}, not found on this machine (LD_LIBRARY_PATH?)"),
                "it may not start",
            ));
        }
        let uses = match &application.mpi {
            Some(mpi) => format!("{name} uses {}", mpi.title()),
            None => format!("{name} seems to use it"),
        };
        if let (Some(mpi), Some(other)) = (&application.mpi, application.other_mpis.first()) {
            problems.push(Problem::new(
                format!("{name}: two MPI libraries come with it, {} and {}", mpi.soname, other.soname),
                "it gets tools for the first one, and calls of the other one may be missing in what they report",
            ));
        }
        let (mut selection, builds) = self.of_abi(abi, &uses, problems);
        if !selection.preload.is_empty() {
            // A sanitizer's runtime ends a process in which it does not come first.
            let (behind, first): (Vec<_>, Vec<_>) = application
                .sanitizers
                .iter()
                .map(|path| path.display().to_string())
                .partition(|path| is_of_thread_sanitizer(base(path)));
            selection.preload.splice(0..0, first);
            if !behind.is_empty() {
                selection.set_for_thread_sanitizer();
            }
        }
        if !is_missing {
            warn_of_fortran(application, abi, &builds, problems);
        }
        let late = application.mpi.as_ref().filter(|mpi| mpi.abi == abi);
        if let Some(mpi) = late.filter(|_| application.kind == Kind::Python && !builds.is_empty()) {
            selection.add_late_mpi(mpi);
        }
        selection
    }

    /// For applications that cannot be looked at.
    pub(crate) fn select_unseen(
        &self,
        what: &str,
        abi: Option<Abi>,
        problems: &mut Vec<Problem>,
    ) -> Selection {
        let Some(abi) = abi else {
            if let Some(selection) = self.universal() {
                return selection;
            }
            problems.push(Problem::new(
                format!("{what}: it is unknown which MPI their programs use"),
                "they run without tools (--abi chooses tools for them)",
            ));
            return Selection::default();
        };
        self.of_abi(abi, &format!("{what} seems to use it"), problems).0
    }

    /// What finds out itself in the process, where all tools have such a build.
    fn universal(&self) -> Option<Selection> {
        let of = |builds: &[Build]| {
            let universal = builds.iter().filter(|build| build.universal);
            let mut paths = universal.map(|build| build.path.display().to_string());
            paths.find(|path| !path.contains([' ', ':']))
        };
        if self.stack.is_some() {
            return None;
        }
        let preload =
            self.tools.iter().map(|(_, builds)| of(builds)).collect::<Option<Vec<_>>>()?;
        Some(Selection { tools: preload.len(), preload, variables: Vec::new() })
    }

    fn of_abi(
        &self,
        abi: Abi,
        uses: &str,
        problems: &mut Vec<Problem>,
    ) -> (Selection, Vec<&Build>) {
        let mut builds = Vec::new();
        for (request, all) in &self.tools {
            builds.extend(fitting(&request.name, all, abi, uses, problems));
        }
        let tools = builds.len();
        let text = |build: &Build| build.path.display().to_string();
        let paths: Vec<_> = builds.iter().map(|build| text(build)).collect();
        let Some(stack) = &self.stack else {
            return (Selection { preload: paths, variables: Vec::new(), tools }, builds);
        };
        let stack = if builds.is_empty() {
            None
        } else {
            fitting("libqmpi.so", stack, abi, uses, problems)
        };
        let Some(stack) = stack else { return (Selection::default(), Vec::new()) };
        let variables = vec![("TOOLS".to_owned(), paths.join(":"))];
        (Selection { preload: vec![text(stack)], variables, tools }, builds)
    }
}

/// The first build of the ABI.
fn fitting<'a>(
    name: &str,
    builds: &'a [Build],
    abi: Abi,
    uses: &str,
    problems: &mut Vec<Problem>,
) -> Option<&'a Build> {
    let mut reason = None;
    let fits = |build: &&Build| !build.universal && build.abi.is_none_or(|own| own == abi);
    for build in builds.iter().filter(fits) {
        if let Some(other) = build.machine.filter(|machine| *machine != Machine::OWN) {
            // The dynamic linker would leave it out with a word of its own for each process.
            let (path, other, own) = (build.path.display(), other.name(), Machine::OWN.name());
            reason = Some(format!("{path} is for {other}, and this mpi-tool is for {own}"));
            continue;
        }
        // The dynamic linker takes both for the end of a name.
        if build.path.display().to_string().contains([' ', ':']) {
            reason = Some(format!(
                "{} has a space or a colon in its path, so it cannot be preloaded",
                build.path.display()
            ));
            continue;
        }
        return Some(build);
    }
    let reason = reason.unwrap_or_else(|| {
        let mut abis: Vec<_> = builds.iter().filter_map(|build| build.abi).map(Abi::name).collect();
        abis.dedup();
        format!(
            "built for the {} ABI only (`mpi-tool build` makes other builds)",
            abis.join(" and the ")
        )
    });
    problems.push(Problem::new(
        format!("{name}: {reason}, but {uses}, of the {} ABI", abi.name()),
        "it runs without this tool",
    ));
    None
}

/// A tool without entry points for Fortran sees what the MPI's Fortran library calls in C: in MPICH
/// all but most of `mpi_f08`, in Open MPI nothing.
fn warn_of_fortran(
    application: &Inspection,
    abi: Abi,
    builds: &[&Build],
    problems: &mut Vec<Problem>,
) {
    let has = |binding| application.bindings.contains(&binding);
    let blind = match abi {
        Abi::OpenMpi => application.is_fortran(),
        _ => has(Binding::F08),
    };
    if !blind {
        return;
    }
    for build in builds.iter().filter(|build| !build.has_fortran()) {
        let what = format!(
            "{}: {} has no entry points for Fortran, so it will not see all calls of {}, a Fortran program",
            build.name,
            build.path.display(),
            application.program,
        );
        problems.push(Problem::new(what, ""));
    }
}

impl Selection {
    /// What MPI needs in a program with ThreadSanitizer, unless the user has said something else. With either, the program dies in
    /// `MPI_Init`: UCX puts functions of its own in place of the C library's, which threads call before the sanitizer knows
    /// them, and PMIx wants memory at addresses that the sanitizer does not give.
    fn set_for_thread_sanitizer(&mut self) {
        let needed = [("UCX_MEM_EVENTS", "n"), ("PMIX_MCA_gds", "hash")];
        let unset = needed.into_iter().filter(|(name, _)| env::var_os(name).is_none());
        self.variables.extend(unset.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    /// MPI that comes by `dlopen` is there from the start, behind the tools.
    fn add_late_mpi(&mut self, mpi: &Mpi) {
        if let Some(path) = mpi.path.as_deref().filter(|path| !has_separator(path)) {
            self.preload.push(path.display().to_string());
        }
        // mpi4py asks the process for MPI first, and finds the tool.
        if env::var_os("MPI4PY_MPIABI").is_none() {
            let name = if mpi.abi == Abi::Standard { "mpiabi" } else { mpi.abi.name() };
            self.variables.push(("MPI4PY_MPIABI".into(), name.into()));
        }
    }
}

fn has_separator(path: &Path) -> bool {
    path.display().to_string().contains([' ', ':'])
}
