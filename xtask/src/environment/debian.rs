//! MPIs, Fortran and programs of Debian's packages: what is installed, or unpacked below `target/mpi`, without
//! root. And an MPICH that is built from Debian's source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{Mpi, find_program, folder};
use crate::step::{output, run, step};

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
pub(crate) fn debian_openmpi() -> Result<Mpi> {
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
            // No empty name at the end, which would be the current folder.
            let mut folders = vec![lib.display().to_string()];
            folders.extend(word("LD_LIBRARY_PATH").next().map(str::to_owned));
            Ok(vec![
                ("FORTRAN", words.join(" ")),
                ("FORTRAN_LIBRARIES", "-lmpifort -lmpi".into()),
                ("LD_LIBRARY_PATH", folders.join(":")),
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
    let libraries = prefix.join("usr/lib/x86_64-linux-gnu");
    // Where Debian's alternatives for BLAS and LAPACK are.
    let kinds = ["", "openblas-pthread", "blas", "lapack"];
    add_libraries(&mut variables, &kinds.map(|kind| libraries.join(kind)));
    // As many threads as the machine has would wait for each other.
    variables.extend(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"].map(|name| (name, "1".into())));
    Ok((prefix.join("usr"), variables))
}

/// The MPI under which tools of an MPI's ABI run with programs in Fortran, and what the tests must
/// know of it: all variables, of which none stays as the other MPI has it but the compiler of tools.
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
    variables.push(("MPICC", of.mpicc.display().to_string()));
    if mpi.libraries.is_none() {
        // The installed MPI finds its libraries; the other one's, of the same names, are not for it.
        variables.push(("LD_LIBRARY_PATH", String::new()));
    }
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
    let kinds = ["", "blas", "lapack"];
    add_libraries(&mut variables, &kinds.map(|kind| libraries.join(kind)));
    // Of several that are installed in part, the others are in `/usr`.
    variables.push(("PROGRAMS", format!("{}:/usr", prefix.join("usr").display())));
    Ok(variables)
}

/// Debian's Chromium: the installed one, or its packages, unpacked. The variables say where it is.
///
/// # Errors
/// Why there is none, for people.
pub(crate) fn chromium() -> Result<Vec<(&'static str, String)>> {
    if let Some(installed) = find_program("chromium") {
        return Ok(vec![("CHROMIUM", installed.display().to_string())]);
    }
    let prefix = folder("chromium-debian");
    let complete = prefix.join("complete");
    if !complete.exists() {
        if find_program("apt-get").is_none() || find_program("dpkg-deb").is_none() {
            bail!("no chromium, and no apt-get to fetch Debian's packages with");
        }
        step(&format!("Unpacking Debian's Chromium into {}", prefix.display()), || {
            unpack(&prefix, &["chromium"])?;
            fs::write(&complete, "")?;
            Ok(())
        })?;
    }
    let lib = prefix.join("usr/lib");
    let libraries = ["x86_64-linux-gnu", "x86_64-linux-gnu/nss", "x86_64-linux-gnu/pulseaudio"]
        .map(|name| lib.join(name));
    Ok(vec![
        // The script around it wants files in /etc.
        ("CHROMIUM", lib.join("chromium/chromium").display().to_string()),
        ("CHROMIUM_LIBRARIES", libraries.map(|path| path.display().to_string()).join(":")),
    ])
}

/// apt-get with lists of its own, which needs no root.
pub(super) fn apt(folder: &Path) -> Command {
    let mut apt = Command::new("apt-get");
    apt.current_dir(folder)
        .arg("-oDebug::NoLocking=1")
        .arg(format!("-oDir::State::lists={}", folder.join("lists").display()))
        .args(["-oDir::Cache::pkgcache=", "-oDir::Cache::srcpkgcache=", "-qq"]);
    apt
}

/// A folder for apt-get that names where this machine has its packages from, for their sources.
fn source_packages(folder: &Path) -> Result<PathBuf> {
    let sources = folder.join("sources");
    fs::create_dir_all(&sources)?;
    let apt = Path::new("/etc/apt");
    let mut lists = vec![apt.join("sources.list")];
    if let Ok(more) = fs::read_dir(apt.join("sources.list.d")) {
        lists.extend(more.filter_map(|entry| Some(entry.ok()?.path())));
    }
    for list in lists {
        let (Ok(text), Some(name)) = (fs::read_to_string(&list), list.file_name()) else {
            continue;
        };
        // Of both ways to write it.
        let lines = text.lines().map(|line| match line.strip_prefix("deb ") {
            Some(rest) => format!("deb-src {rest}\n"),
            None if line.starts_with("Types:") => "Types: deb-src\n".to_owned(),
            None => format!("{line}\n"),
        });
        fs::write(sources.join(name), lines.collect::<String>())?;
    }
    Ok(sources)
}

/// Has libraries found in these folders, too.
fn add_libraries(variables: &mut Vec<(&'static str, String)>, folders: &[PathBuf]) {
    let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let folders = folders.join(":");
    match variables.iter_mut().find(|(name, _)| *name == "LD_LIBRARY_PATH") {
        Some((_, path)) if path.is_empty() => *path = folders,
        Some((_, path)) => *path = format!("{path}:{folders}"),
        None => variables.push(("LD_LIBRARY_PATH", folders)),
    }
}

/// Unpacks Debian's packages, and of those that they need what is not installed.
pub(super) fn unpack(prefix: &Path, wanted: &[&str]) -> Result<()> {
    let debs = prefix.join("debs");
    fs::create_dir_all(debs.join("lists/partial"))?;
    run(apt(&debs).arg("update"))?;
    let packages = missing(&mut apt(&debs), wanted)?;
    run(apt(&debs).arg("download").args(packages))?;
    unpack_all(&debs, prefix)
}

/// Of Debian's packages and those that they need, what is not installed: the names.
pub(super) fn missing(apt: &mut Command, wanted: &[&str]) -> Result<Vec<String>> {
    let install = ["install", "--print-uris", "--no-install-recommends", "-y"];
    let missing = output(apt.args(install).args(wanted))?;
    // Each line: 'address' name_version_architecture.deb size hash
    let name = |line: &str| Some(line.split_whitespace().nth(1)?.split('_').next()?.to_owned());
    Ok(missing.lines().filter_map(name).collect())
}

/// Unpacks the packages in a folder, and removes them.
pub(super) fn unpack_all(debs: &Path, prefix: &Path) -> Result<()> {
    for entry in fs::read_dir(debs)? {
        let deb = entry?.path();
        if deb.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(prefix))?;
            fs::remove_file(&deb)?;
        }
    }
    Ok(())
}

/// Fetches Debian's source package of MPICH into a folder that this makes anew, and unpacks it, or one folder of it:
/// where that is.
pub(crate) fn mpich_source(build: &Path, folder: Option<&str>) -> Result<PathBuf> {
    if build.exists() {
        fs::remove_dir_all(build)?;
    }
    if find_program("apt-get").is_none() {
        bail!("no apt-get to fetch Debian's source package of MPICH with");
    }
    fs::create_dir_all(build.join("lists/partial"))?;
    let sources = source_packages(build)?;
    let apt = || {
        let mut apt = apt(build);
        apt.arg(format!("-oDir::Etc::sourceparts={}", sources.display()))
            .arg("-oDir::Etc::sourcelist=/dev/null");
        apt
    };
    run(apt().arg("update"))?;
    run(apt().args(["source", "--download-only", "mpich"]))?;
    let archive = fs::read_dir(build)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.to_string_lossy().contains(".orig.tar"))
        .context("Debian's source package has no .orig.tar")?;
    let source = build.join("source");
    fs::create_dir_all(&source)?;
    let mut tar = Command::new("tar");
    tar.arg("xf").arg(archive).args(["--strip-components=1", "-C"]).arg(&source);
    if let Some(folder) = folder {
        tar.args(["--wildcards", "--no-wildcards-match-slash", &format!("*/{folder}")]);
    }
    run(&mut tar)?;
    Ok(folder.map_or(source.clone(), |folder| source.join(folder)))
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
        let source = mpich_source(&build, None)?;
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
