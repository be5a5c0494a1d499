//! The tools on this machine: shared objects with the note that the framework's macros put into
//! them (`mpi_facts::note`).

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use mpi_facts::{Abi, note};

use crate::elf::{self, Elf, Machine};

/// The name in the note of `libqmpi.so`.
pub(crate) const STACK_LIBRARY: &str = "qmpi";

/// One build of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Build {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: String,
    /// Nothing where a foreign tool does not tell.
    pub(crate) abi: Option<Abi>,
    /// What it was built against: `MPICH 5.0.2`.
    pub(crate) mpi: String,
    /// It can be a level of a stack.
    pub(crate) is_level: bool,
    /// It opens the tool's build for the MPI of the process, which lies beside it.
    pub(crate) universal: bool,
    /// The kind of processor that it is for.
    pub(crate) machine: Option<Machine>,
    pub(crate) path: PathBuf,
}

impl Build {
    /// Looks at a file. `None` if it has no note, so is no tool of this framework.
    fn read(path: &Path) -> Option<Self> {
        let (note, machine) = elf::note(path)?;
        let value = |key: &str| note::value(&note, key).unwrap_or_default().to_owned();
        let is = |role: &str| value("roles").split(' ').any(|known| known == role);
        // One file under the names of all tools.
        let universal = is("universal");
        Some(Self {
            name: if universal { plain(&stem(path)) } else { value("name") },
            version: value("version"),
            description: value("description"),
            abi: Abi::of_name(&value("abi")),
            mpi: value("mpi"),
            is_level: is("level"),
            universal,
            machine,
            path: path.into(),
        })
    }

    /// A tool that somebody names by its path: perhaps one that knows nothing of this framework.
    pub(crate) fn at(path: &Path) -> Result<Self> {
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) => bail!("{}: {error}", path.display()),
        };
        if let Some(build) = Self::read(&path) {
            if let Some(other) = build.machine.filter(|machine| *machine != Machine::OWN) {
                bail!(of_other_machine(&path, other));
            }
            return Ok(build);
        }
        if path.is_dir() {
            bail!("{}: a directory, not a shared object", path.display());
        }
        let elf = Elf::read(&path).with_context(|| path.display().to_string())?;
        let own = Machine::OWN;
        let elf = match elf {
            Some(elf) if elf.machine == Some(own) => elf,
            Some(Elf { machine: Some(other), .. }) => bail!(of_other_machine(&path, other)),
            _ => bail!("{}: not a shared object for {}", path.display(), own.name()),
        };
        if elf.exports.iter().any(|name| name == "PMPI_Init") {
            bail!(
                "{}: an MPI library, not a tool (it defines PMPI_Init); the application loads its own MPI",
                path.display()
            );
        }
        let linked = elf.needed.iter().find_map(|name| Abi::of_library(name));
        let open_mpi = || {
            let mut imports = elf.imports.iter();
            imports.any(|name| name.starts_with("ompi_mpi_")).then_some(Abi::OpenMpi)
        };
        Ok(Self {
            name: stem(&path),
            version: String::new(),
            description: "a tool of another framework".into(),
            abi: linked.or_else(open_mpi),
            mpi: String::new(),
            // A PMPI tool's PMPI_ functions become the next level's.
            is_level: elf.has("get_interceptions")
                || elf.imports.iter().any(|name| name.starts_with("PMPI_")),
            universal: false,
            machine: elf.machine,
            path,
        })
    }

    /// Has it entry points for Fortran? Reads the file.
    pub(crate) fn has_fortran(&self) -> bool {
        let elf = Elf::read(&self.path).ok().flatten();
        elf.is_some_and(|elf| elf.exports.iter().any(|name| name.starts_with("mpi_init")))
    }
}

fn of_other_machine(path: &Path, other: Machine) -> String {
    format!(
        "{}: a shared object for {}; this mpi-tool is for {}, and starts programs for it",
        path.display(),
        other.name(),
        Machine::OWN.name()
    )
}

/// `call_counter` of `libcall_counter.so`
pub(crate) fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.strip_prefix("lib").unwrap_or(&stem).into()
}

/// What a universal build opens.
fn beside(universal: &Path) -> Vec<Build> {
    let builds = Abi::ALL.into_iter().filter_map(|abi| note::build_beside(universal, abi));
    builds.filter_map(|path| Build::read(&fs::canonicalize(path).ok()?)).collect()
}

/// Where tools are looked for, in this order; in each, also one folder deeper, but in the program's
/// own: that may be `/usr/bin`, or one of Cargo's with thousands of files below it.
pub(crate) fn folders() -> Vec<PathBuf> {
    let path = env::var_os("MPI_TOOL_PATH").unwrap_or_default();
    let mut folders: Vec<_> =
        env::split_paths(&path).filter(|path| !path.as_os_str().is_empty()).collect();
    if let Some(own) = own_folder() {
        folders.extend([own.join("../lib/mpi-tools"), own.join("../tools"), own]);
    }
    folders.extend(source_tree().map(|tree| tree.join("target/tools")));
    folders.push("target/tools".into());
    folders
}

fn own_folder() -> Option<PathBuf> {
    Some(env::current_exe().ok()?.parent()?.into())
}

/// The source tree that this program was built from; `None` if that was a package of crates.io, which Cargo unpacks
/// into a folder of the package's name and version, and if this program is for other machines.
pub(crate) fn source_tree() -> Option<PathBuf> {
    if option_env!("MPI_TOOL_PACKAGED").is_some() {
        return None;
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = concat!(env!("CARGO_PKG_NAME"), "-", env!("CARGO_PKG_VERSION"));
    own.parent().filter(|_| !own.ends_with(package)).map(Into::into)
}

/// All builds, in the order in which they are found.
pub(crate) fn all() -> Vec<Build> {
    let own = own_folder();
    let mut seen = BTreeSet::new();
    let mut builds = Vec::new();
    for folder in folders() {
        let (deeper, files): (Vec<_>, Vec<_>) =
            entries(&folder).into_iter().partition(|path| path.is_dir());
        let deeper = if own.as_ref() == Some(&folder) { Vec::new() } else { deeper };
        for file in files.into_iter().chain(deeper.iter().flat_map(|path| entries(path))) {
            if file.extension().is_some_and(|extension| extension == "so")
                && let Ok(file) = fs::canonicalize(file)
                && seen.insert(file.clone())
            {
                builds.extend(Build::read(&file));
            }
        }
    }
    builds
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// The builds of a tool that was asked for, universal ones behind the others.
///
/// # Errors
/// There is no such tool; the message says which there are.
pub(crate) fn of_name(name: &str) -> Result<Vec<Build>> {
    if name.contains('/') || name.ends_with(".so") {
        let build = Build::at(Path::new(name))?;
        let mut builds = if build.universal { beside(&build.path) } else { Vec::new() };
        builds.push(build);
        return Ok(builds);
    }
    let all = all();
    let wanted = plain(name);
    let mut found: Vec<_> =
        all.iter().filter(|tool| plain(&tool.name) == wanted).cloned().collect();
    found.sort_by_key(|build| build.universal);
    if found.is_empty() {
        let names: BTreeSet<_> = all
            .iter()
            .filter(|tool| tool.name != STACK_LIBRARY)
            .map(|tool| tool.name.as_str())
            .collect();
        let looked: Vec<_> = folders().iter().map(|folder| folder.display().to_string()).collect();
        let looked = looked.join(", ");
        if names.is_empty() {
            bail!(
                "there is no tool named {name}: no tools were found; `mpi-tool build` builds them, and \
                 MPI_TOOL_PATH names the folders that they are in. mpi-tool has looked in {looked}"
            );
        }
        let names = Vec::from_iter(names).join(", ");
        bail!(
            "there is no tool named {name}; the tools are: {names}. mpi-tool has looked in {looked}"
        );
    }
    Ok(found)
}

/// `call-counter`, `call_counter`
fn plain(name: &str) -> String {
    name.replace('_', "-")
}
