//! `mpi-tool build`: a project's tools, for each ABI of the MPIs that are found.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::fs;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use mpi_facts::{Abi, note};
use serde_json::Value;

use crate::cli::Build;
use crate::limited;
use crate::out::{errln, outln};
use crate::tools::source_tree;
use crate::words::{in_path, is_executable};

/// The framework's package that makes universal builds.
const UNIVERSAL: &str = "mpi-tool-universal";

impl Build {
    pub(crate) fn run(&self) -> Result<()> {
        let project = self.project()?;
        let targets = self.targets()?;
        let output = self.output.clone().unwrap_or_else(|| project.root.join("target/tools"));
        let mut files = BTreeSet::new();
        for target in &targets {
            errln!("mpi-tool: building for {target}");
            if !project.was_built(target.abi) {
                errln!("mpi-tool: the first build for an ABI takes some minutes");
            }
            for library in project.build(target, &self.profile)? {
                let file = library.file_name().context("a library has a name")?;
                files.insert(file.to_owned());
                let place = note::build_beside(&output.join(file), target.abi);
                let place = place.context("a folder has files in it")?;
                outln!("{}", put(&library, place)?.display());
            }
        }
        if self.universal
            && let Some(target) = targets.first()
        {
            // Of no ABI, whichever it is compiled for, and of no tool.
            let tree = source_tree().context(
                "universal builds are made from the framework's source tree, and this mpi-tool was built from \
                 its package alone; install it from the source tree",
            )?;
            let mut framework = Project::read(&tree)?;
            framework.packages = vec![UNIVERSAL.into()];
            errln!("mpi-tool: building the universal builds, which choose among these");
            for library in framework.build(target, &self.profile)? {
                for file in &files {
                    outln!("{}", put(&library, output.join(file))?.display());
                }
            }
        }
        Ok(())
    }

    fn project(&self) -> Result<Project> {
        let here = match &self.project {
            Some(folder) => Some(Project::read(folder)?),
            None if Path::new("Cargo.toml").is_file() => Some(Project::read(Path::new("."))?),
            None => None,
        };
        let has_tools = |project: &Project| self.project.is_some() || !project.packages.is_empty();
        let mut project = match here.filter(has_tools) {
            Some(project) => project,
            None => {
                let framework = source_tree().context(
                    "no tools in this folder; `mpi-tool new NAME` creates one. The framework's own tools are in its \
                     source tree, which --project names (this mpi-tool was built from its package alone)",
                )?;
                errln!(
                    "mpi-tool: no tools in this folder; building the framework's own, in {}",
                    framework.display()
                );
                Project::read(&framework)?
            }
        };
        for wanted in &self.package {
            if !project.packages.contains(wanted) {
                bail!(
                    "{}: there is no tool named {wanted}; the tools are {}",
                    project.root.display(),
                    project.packages.join(", ")
                );
            }
        }
        if !self.package.is_empty() {
            project.packages.retain(|package| self.package.contains(package));
        }
        if project.packages.is_empty() {
            bail!(
                "{}: there are no tools here; a tool is a package of type cdylib that depends on mpi-tool-layer",
                project.root.display()
            );
        }
        Ok(project)
    }

    /// What to build for: each ABI that was asked for, else those of the MPIs that are found, else all.
    fn targets(&self) -> Result<Vec<Target>> {
        let mut targets: Vec<Target> = Vec::new();
        for &abi in &self.abi {
            if targets.iter().all(|known| known.abi != abi) {
                targets.push(Target { abi, mpicc: None });
            }
        }
        let mut add = |mpicc: String| -> Result<()> {
            let abi = abi(&mpicc)?;
            match targets.iter().find(|known| known.abi == abi) {
                Some(first) => errln!(
                    "mpi-tool: {mpicc}: has {}, like {first}; the same tools serve both",
                    format_args!("the {} ABI", abi.name()),
                    first = first.mpicc.as_deref().unwrap_or("the tools of --abi"),
                ),
                None => targets.push(Target { abi, mpicc: Some(mpicc) }),
            }
            Ok(())
        };
        if !(self.mpicc.is_empty() && self.abi.is_empty()) {
            for mpicc in &self.mpicc {
                add(mpicc.clone())?;
            }
            return Ok(targets);
        }
        for mpicc in compilers() {
            if let Err(error) = add(mpicc) {
                errln!("mpi-tool: {error:#}");
            }
        }
        if targets.is_empty() {
            errln!(
                "mpi-tool: no MPI found (no {} in PATH), so the tools are built for all ABIs; choose with --mpicc or --abi",
                WRAPPERS.join(", no ")
            );
            targets.extend(Abi::ALL.map(|abi| Target { abi, mpicc: None }));
        }
        Ok(targets)
    }
}

const WRAPPERS: [&str; 4] = ["mpicc", "mpicc.mpich", "mpicc.openmpi", "mpicc_abi"];

/// The compiler wrappers of this machine: that of `MPICC`, and those in `PATH`.
pub(crate) fn compilers() -> Vec<String> {
    let mut seen = BTreeSet::new();
    let found = WRAPPERS.iter().filter_map(|name| in_path(name));
    let named = env::var("MPICC").ok().filter(|mpicc| !mpicc.trim().is_empty());
    let all = named.into_iter().chain(found.map(|path| path.display().to_string()));
    // Debian's mpicc is a link to one of the others; wrappers are links to one program, which looks at its name.
    let is_new = |mpicc: &String| {
        let file = fs::canonicalize(mpicc).unwrap_or_else(|_| mpicc.clone().into());
        seen.insert((file, Path::new(mpicc).file_name().map(ToOwned::to_owned)))
    };
    all.filter(is_new).collect()
}

/// What tools are built for.
struct Target {
    abi: Abi,
    /// The compiler wrapper of an MPI of this ABI. Tools need none.
    mpicc: Option<String>,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} ABI", self.abi.name())?;
        match &self.mpicc {
            Some(mpicc) => write!(f, ", with {mpicc}"),
            None => Ok(()),
        }
    }
}

/// How long a compiler wrapper may take to run the preprocessor.
const PATIENCE: Duration = Duration::from_secs(60);

/// The ABI that programs have which a compiler wrapper compiles.
pub(crate) fn abi(mpicc: &str) -> Result<Abi> {
    const PROBE: &str = "#include <mpi.h>
#if defined(OPEN_MPI)
ABI: openmpi
#elif defined(MPI_ABI_VERSION) && defined(MPI_H_ABI)
ABI: standard
#elif defined(MPICH_VERSION) || defined(MPICH_NUMVERSION) || defined(I_MPI_VERSION)
ABI: mpich
#endif
";
    // A command with options, or a file in a folder that may have a space in its name.
    let mut words = mpicc.split_whitespace();
    let mut compiler = if is_executable(Path::new(mpicc)) {
        Command::new(mpicc)
    } else {
        let mut compiler = Command::new(words.next().context("--mpicc is empty")?);
        compiler.args(words);
        compiler
    };
    compiler.args(["-E", "-P", "-x", "c", "-"]);
    let mut probe = tempfile::tempfile()?;
    probe.write_all(PROBE.as_bytes())?;
    probe.rewind()?;
    let output = limited::run(compiler.stdin(probe), PATIENCE);
    let output = output.map_err(|error| anyhow!("{mpicc}: {error}"))?;
    if output.status.is_none() {
        bail!("{mpicc}: it did not end within {} s", PATIENCE.as_secs());
    }
    let said = output.stdout;
    let abi = said.lines().find_map(|line| Abi::of_name(line.trim().strip_prefix("ABI: ")?));
    abi.ok_or_else(|| {
        let reason = match output.stderr.lines().next() {
            Some(line) => line,
            None if said.trim().is_empty() => {
                "it prints nothing when it shall preprocess a program (-E)"
            }
            None => "its mpi.h has none of the ABIs that tools are built for",
        };
        anyhow!("{mpicc}: not a compiler wrapper of an MPI: {reason}")
    })
}

/// A Cargo workspace or package.
struct Project {
    root: PathBuf,
    target: PathBuf,
    /// Those that are tools.
    packages: Vec<String>,
}

impl Project {
    fn read(folder: &Path) -> Result<Self> {
        let manifest = folder.join("Cargo.toml");
        let mut metadata = cargo();
        metadata.args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]);
        let output = metadata.arg(&manifest).output().context("cargo does not run")?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("{}: {}", manifest.display(), errors.trim());
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let path = |key: &str| metadata[key].as_str().map(PathBuf::from).context("cargo metadata");
        let packages = metadata["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|package| is_tool(package));
        Ok(Self {
            root: path("workspace_root")?,
            target: path("target_directory")?,
            packages: packages
                .filter_map(|package| Some(package["name"].as_str()?.into()))
                .collect(),
        })
    }

    /// Where an ABI's parts are built, and stay for the next time.
    fn target_of(&self, abi: Abi) -> PathBuf {
        self.target.join("mpi-tool").join(abi.name())
    }

    fn was_built(&self, abi: Abi) -> bool {
        self.target_of(abi).is_dir()
    }

    /// Builds the tools and returns their shared objects. Cargo shows on standard error what it is doing.
    fn build(&self, target: &Target, profile: &str) -> Result<Vec<PathBuf>> {
        let mut build = cargo();
        build.args(["build", "--profile", profile]);
        build.arg("--message-format=json-render-diagnostics");
        build.arg("--manifest-path").arg(self.root.join("Cargo.toml"));
        // Cargo reads the settings of the folder that it is started in.
        let settings = self.root.join(".cargo/config.toml");
        if settings.is_file() && !env::current_dir()?.starts_with(fs::canonicalize(&self.root)?) {
            build.arg("--config").arg(settings);
        }
        build.arg("--target-dir").arg(self.target_of(target.abi));
        for package in &self.packages {
            build.args(["--package", package]);
        }
        match &target.mpicc {
            // It is asked, unless this says what it is.
            Some(mpicc) => build.env("MPICC", mpicc).env_remove("MPI_ABI"),
            None => build.env("MPI_ABI", target.abi.name()),
        };
        build.stderr(Stdio::inherit());
        let output = build.output().context("cargo does not run")?;
        if !output.status.success() {
            bail!("the tools could not be built for {target}");
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        let artifacts = messages
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|message| message["reason"] == "compiler-artifact")
            .filter(|message| has_kind(&message["target"], "cdylib"));
        let files = artifacts.flat_map(|artifact| {
            let files = artifact["filenames"].as_array().cloned().unwrap_or_default();
            files.into_iter().filter_map(|file| Some(PathBuf::from(file.as_str()?)))
        });
        Ok(files
            .filter(|file| file.extension().is_some_and(|extension| extension == "so"))
            .collect())
    }
}

fn is_tool(package: &Value) -> bool {
    let all = |key: &str| package[key].as_array().cloned().unwrap_or_default();
    all("targets").iter().any(|target| has_kind(target, "cdylib"))
        && package["name"] != UNIVERSAL
        && all("dependencies").iter().any(|dependency| {
            dependency["name"] == "mpi-tool-layer" && dependency["kind"].is_null()
        })
}

fn has_kind(target: &Value, kind: &str) -> bool {
    target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|known| known == kind))
}

fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Puts a library where it shall be. A process that has the old one mapped keeps it.
fn put(library: &Path, path: PathBuf) -> Result<PathBuf> {
    let new = path.with_extension("so.new");
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
        .and_then(|()| fs::copy(library, &new))
        .and_then(|_| fs::rename(&new, &path))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
