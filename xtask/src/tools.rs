//! Builds of the tools, in a folder for each MPI.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::Result;

use crate::environment::{self, Mpi};
use crate::step::{cargo, run, step};
use crate::test::is_first;

/// What the tools, and the programs and tests that link an MPI, are compiled for. The compiler's own choice has no name.
static PROCESSOR: OnceLock<String> = OnceLock::new();

/// From now on they are compiled for a processor that rustc knows, as `-C target-cpu` has it, in folders of their own.
pub(crate) fn compile_for(processor: String) {
    PROCESSOR.get_or_init(|| processor);
}

/// Has `cargo` compile for it.
pub(crate) fn for_processor(command: &mut Command) {
    if let Some(processor) = PROCESSOR.get() {
        command.env("RUSTFLAGS", format!("-C target-cpu={processor}"));
    }
}

/// The folder for an MPI, by name.
fn folder_name(mpi: &str) -> String {
    PROCESSOR.get().map_or_else(|| mpi.to_owned(), |processor| format!("{mpi}-{processor}"))
}

/// The MPI whose build of the tools an MPI's tests take.
pub(crate) fn serving(mpi: &Mpi) -> &str {
    match mpi.abi() {
        "mpich" => "mpich-5.0.2",
        "openmpi" => "openmpi-5.0.11",
        _ => &mpi.name,
    }
}

/// Builds of some packages for an MPI.
pub(crate) struct Builds {
    mpi: Mpi,
    packages: Vec<String>,
}

impl Builds {
    pub(crate) fn run(&self) -> Result<()> {
        let has_universal = self.packages.iter().any(|package| package == UNIVERSAL);
        build(&self.mpi, &self.packages)?;
        if has_universal { lay_out_universal(&self.mpi) } else { Ok(()) }
    }
}

/// The builds of tools that tests under some MPIs take, one for each MPI that has some: those that serve them, the universal
/// ones, and a tool of another ABI if it is asked for.
pub(crate) fn serving_builds(mpis: &[Mpi], with_foreign: bool) -> Result<Vec<Builds>> {
    let mut builds = Vec::new();
    for mpi in [environment::mpich()?, environment::openmpi()?] {
        let mut packages = Vec::new();
        if mpis.iter().any(|tested| serving(tested) == mpi.name) {
            packages = tool_packages()?;
        } else if with_foreign {
            packages.push(FOREIGN.to_owned());
        }
        if mpi.abi() == "mpich" {
            // By itself, it would keep one processor busy and leave the other one idle.
            packages.push(UNIVERSAL.to_owned());
        }
        if !packages.is_empty() {
            builds.push(Builds { mpi, packages });
        }
    }
    for tested in mpis.iter().filter(|tested| serving(tested) == tested.name && !is_first(tested)) {
        // Only the tests of `mpi-tool`, which run on the first ones, take these.
        let is_wanted = |tool: &String| !["mpi-trace", "mpi-watch"].contains(&tool.as_str());
        let packages = tool_packages()?.into_iter().filter(is_wanted).collect();
        builds.push(Builds { mpi: tested.clone(), packages });
    }
    Ok(builds)
}

/// The tool whose builds for other ABIs are tested.
const FOREIGN: &str = "call-counter";

/// The package of the universal builds.
pub(crate) const UNIVERSAL: &str = "mpi-tool-universal";

/// Where the tools are that are built for an MPI.
pub(crate) fn tools_folder(mpi: &str) -> PathBuf {
    environment::root().join("target/tools").join(folder_name(mpi))
}

/// Builds the tools for an MPI and returns the folder with their shared objects.
pub(crate) fn build_tools(mpi: &Mpi) -> Result<PathBuf> {
    build(mpi, &tool_packages()?)
}

/// The packages of all tools, and of the library that runs stacks of them.
pub(crate) fn tool_packages() -> Result<Vec<String>> {
    let mut packages = vec!["qmpi-shim".to_owned()];
    for entry in fs::read_dir(environment::root().join("tools"))? {
        packages.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(packages)
}

/// Those of them that users get: without the tools that do nothing, which are for measuring interception itself.
pub(crate) fn shipped_packages() -> Result<Vec<String>> {
    let mut packages = tool_packages()?;
    packages.retain(|package| !package.starts_with("empty-"));
    packages.sort();
    Ok(packages)
}

/// `cargo build --release` for an MPI, in a folder of its own: in one for all MPIs, each would throw away what was
/// built for the one before, and every run would build all tools again.
pub(crate) fn release_build(mpi: &Mpi) -> Command {
    let mut build = cargo();
    build.args(["build", "--release", "--target-dir"]).arg(builds_folder(mpi));
    build.current_dir(environment::root()).envs(mpi.variables());
    for_processor(&mut build);
    build
}

fn builds_folder(mpi: &Mpi) -> PathBuf {
    environment::root().join("target/builds").join(folder_name(&mpi.name))
}

/// Where cargo puts what links an MPI, and what is compiled for its ABI, for tests.
pub(crate) fn linked_folder(mpi: &Mpi) -> PathBuf {
    builds_folder(mpi)
}

/// Where [`release_build`] puts what it builds.
pub(crate) fn release_folder(mpi: &Mpi) -> PathBuf {
    builds_folder(mpi).join("release")
}

/// Makes universal builds of some tools, which take what [`build_tools`] makes for each ABI.
pub(crate) fn build_universal() -> Result<()> {
    let mpi = environment::mpich()?;
    step("Building for any MPI", || {
        run(release_build(&mpi).args(["--quiet", "--package", UNIVERSAL]))?;
        lay_out_universal(&mpi)
    })
}

/// Puts them where they find the builds for each ABI.
fn lay_out_universal(mpi: &Mpi) -> Result<()> {
    let folder = tools_folder("universal");
    fs::create_dir_all(&folder)?;
    for tool in ["call_counter", "bandwidth_counter", "empty_raw", "qmpi"] {
        let file = folder.join(format!("lib{tool}.so"));
        let _ = fs::remove_file(&file);
        fs::copy(release_folder(mpi).join("libuniversal.so"), file)?;
    }
    let builds =
        [("mpich", "mpich-5.0.2"), ("openmpi", "openmpi-5.0.11"), ("standard", "mpich-5.0.2-abi")];
    for (abi, mpi) in builds {
        let link = folder.join(abi);
        let _ = fs::remove_file(&link);
        symlink(Path::new("..").join(folder_name(mpi)), link)?;
    }
    Ok(())
}

/// The same for some of them.
pub(crate) fn build(mpi: &Mpi, packages: &[String]) -> Result<PathBuf> {
    let folder = tools_folder(&mpi.name);
    step(&format!("Building the tools for {}", mpi.name), || {
        let mut build = release_build(mpi);
        build.arg("--quiet");
        run(build.args(packages.iter().map(|package| format!("--package={package}"))))?;
        fs::create_dir_all(&folder)?;
        for package in packages.iter().filter(|package| *package != UNIVERSAL) {
            let library = match package.as_str() {
                "qmpi-shim" => "libqmpi.so".to_owned(),
                tool => format!("lib{}.so", tool.replace('-', "_")),
            };
            let built = release_folder(mpi).join(&library);
            // A new file: another process may have the old one mapped.
            let _ = fs::remove_file(folder.join(&library));
            fs::copy(built, folder.join(&library))?;
        }
        Ok(())
    })?;
    Ok(folder)
}
