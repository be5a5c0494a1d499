//! Which launcher belongs to a compiler wrapper. Everything that has an `mpicc` and wants its `mpiexec` asks
//! here.
//!
//! `mpiexec` in the search path may be another MPI's: where several are installed, each name leads to one of
//! them by links that are set one by one. (Debian's `mpicc` may be MPICH's while its `mpiexec` is Open MPI's.)
//! So the launcher is looked for beside the wrapper, along the wrapper's links, and by the wrapper's suffix
//! (`mpicc.mpich`, `mpiexec.mpich`); and both are asked whose they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{Mpi, find_program};
use crate::step::output;

/// Whose a launcher or a compiler wrapper is. Members of one family start each other's programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// MPICH and its relatives: Hydra starts their programs.
    Mpich,
    OpenMpi,
}

impl Family {
    fn name(self) -> &'static str {
        match self {
            Self::Mpich => "MPICH",
            Self::OpenMpi => "Open MPI",
        }
    }
}

/// The names of the macros that `mpi.h` defines where a wrapper compiles.
fn macros(mpicc: &Path) -> Result<Vec<String>> {
    let mut compiler = Command::new(mpicc);
    compiler.args(["-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"]);
    let lines = output(&mut compiler)?;
    let names = lines.lines().filter_map(|line| line.split_whitespace().nth(1));
    Ok(names.map(str::to_owned).collect())
}

const OF_OPEN_MPI: [&str; 2] = ["OPEN_MPI", "OMPI_MAJOR_VERSION"];
const OF_MPICH: [&str; 3] = ["MPICH_VERSION", "MPICH_NUMVERSION", "I_MPI_VERSION"];

/// Whose the header is that a wrapper compiles with.
fn family_of_compiler(mpicc: &Path) -> Result<Family> {
    let macros = macros(mpicc)?;
    let has = |names: &[&str]| names.iter().any(|name| macros.iter().any(|own| own == name));
    if has(&OF_OPEN_MPI) {
        Ok(Family::OpenMpi)
    } else if has(&OF_MPICH) || has(&["MPI_ABI_VERSION"]) {
        Ok(Family::Mpich)
    } else {
        bail!("{}: its mpi.h is of no MPI that is known here", mpicc.display())
    }
}

/// Whether a wrapper compiles for MPI-5's own ABI: its `mpi.h` says this and names no implementation. (MPICH 5
/// names the version of that ABI in its own header, too.)
fn is_standard(mpicc: &Path) -> Result<bool> {
    let macros = macros(mpicc)?;
    let has = |name: &str| macros.iter().any(|own| own == name);
    Ok(has("MPI_ABI_VERSION") && !OF_MPICH.iter().chain(&OF_OPEN_MPI).any(|name| has(name)))
}

/// Whose a launcher says that it is.
fn family_of_launcher(mpiexec: &Path) -> Option<Family> {
    let said = output(Command::new(mpiexec).arg("--version")).ok()?;
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if has(&["Open MPI", "OpenRTE", "PRRTE", "prterun"]) {
        Some(Family::OpenMpi)
    } else if has(&["HYDRA", "Hydra", "Intel(R) MPI", "MPICH", "MVAPICH"]) {
        Some(Family::Mpich)
    } else {
        None
    }
}

/// A path, what it is a link to, and so on to the file itself.
fn links(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    // As many as the kernel follows.
    for _ in 0..40 {
        let last = &all[all.len() - 1];
        let Ok(target) = fs::read_link(last) else { break };
        let next = last.parent().unwrap_or(Path::new("/")).join(target);
        all.push(next);
    }
    all
}

/// The launchers that may belong to a wrapper, the likeliest first.
fn candidates(mpicc: &Path) -> Vec<PathBuf> {
    let links = links(mpicc);
    let mut all = Vec::new();
    // The last name with a suffix says most: the others lead there.
    for path in links.iter().rev() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some((_, suffix)) = name.split_once('.') {
            all.extend(
                ["mpiexec", "mpirun"].map(|name| path.with_file_name(format!("{name}.{suffix}"))),
            );
        }
    }
    for path in &links {
        all.extend(["mpiexec", "mpirun", "mpiexec.hydra"].map(|name| path.with_file_name(name)));
    }
    all.retain(|path| path.is_file());
    all.dedup();
    all
}

/// The launcher of a compiler wrapper.
///
/// # Errors
/// There is none beside it that is of the same MPI.
pub(super) fn launcher_of(mpicc: &Path) -> Result<PathBuf> {
    let family = family_of_compiler(mpicc)?;
    let candidates = candidates(mpicc);
    let of_it = candidates.iter().find(|mpiexec| family_of_launcher(mpiexec) == Some(family));
    let Some(mpiexec) = of_it else {
        let beside: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        let beside = if beside.is_empty() { "none at all".into() } else { beside.join(", ") };
        bail!(
            "{} is {}'s, and there is no launcher of {} beside it (found: {beside})",
            mpicc.display(),
            family.name(),
            family.name()
        );
    };
    Ok(mpiexec.clone())
}

/// The MPI that a compiler wrapper compiles for, by its name or its path.
///
/// # Errors
/// There is no such program, or no launcher that belongs to it.
pub(crate) fn of_compiler(mpicc: &str) -> Result<Mpi> {
    let file = find_program(mpicc).with_context(|| format!("{mpicc}: no such program"))?;
    let mpicc = std::path::absolute(file)?;
    let (mpiexec, libraries) = (launcher_of(&mpicc)?, library_folders(&mpicc));
    // The ABI is told by the name.
    let name = match family_of_compiler(&mpicc)? {
        Family::OpenMpi => "openmpi-given",
        Family::Mpich if is_standard(&mpicc)? => "mpich-given-abi",
        Family::Mpich => "mpich-given",
    };
    Ok(Mpi { name: name.into(), mpicc, mpiexec, libraries })
}

/// The folders that a wrapper has libraries from, if they are in others than where programs look anyway: a
/// program that it compiles may not find them by itself.
fn library_folders(mpicc: &Path) -> Option<PathBuf> {
    let show = |option| output(Command::new(mpicc).arg(option)).ok();
    // MPICH's and Open MPI's name for it.
    let words = show("-show").or_else(|| show("--showme"))?;
    let folders: Vec<&str> = words
        .split_whitespace()
        // Intel's wrapper quotes it.
        .filter_map(|word| Some(word.strip_prefix("-L")?.trim_matches(['"', '\''])))
        .filter(|folder| !["/lib", "/usr/lib"].iter().any(|own| folder.starts_with(own)))
        .filter(|folder| Path::new(folder).is_dir())
        .collect();
    (!folders.is_empty()).then(|| folders.join(":").into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Folders with what stands for MPIs.
    struct Machine(PathBuf);

    impl Machine {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn program(&self, path: &str, says: &str) -> PathBuf {
            let file = self.0.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            file
        }

        fn link(&self, path: &str, to: &str) -> PathBuf {
            let link = self.0.join(path);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(to, &link).unwrap();
            link
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const MPICH: &str = "#define MPICH_VERSION \"4.0.2\"";
    const OPEN_MPI: &str = "#define OPEN_MPI 1";

    /// As on a Debian where `mpicc` is MPICH's and `mpiexec` Open MPI's.
    #[test]
    fn links_of_two_mpis_are_not_mixed() {
        let machine = Machine::new("debian");
        machine.program("bin/mpicc.mpich", MPICH);
        machine.program("bin/opal_wrapper", OPEN_MPI);
        machine.link("bin/mpicc.openmpi", "opal_wrapper");
        let hydra = machine.program("bin/mpiexec.mpich", "HYDRA build details:");
        let orte = machine.program("bin/mpiexec.openmpi", "mpiexec (OpenRTE) 4.1.4");
        machine.link("etc/alternatives/mpi", "../../bin/mpicc.mpich");
        machine.link("etc/alternatives/mpirun", "../../bin/mpiexec.openmpi");
        machine.link("bin/mpiexec", "../etc/alternatives/mpirun");
        let mpicc = machine.link("bin/mpicc", "../etc/alternatives/mpi");
        let same = |found: PathBuf, wanted: &Path| {
            assert_eq!(fs::canonicalize(&found).unwrap(), wanted, "{}", found.display());
        };
        same(launcher_of(&mpicc).unwrap(), &hydra);
        same(launcher_of(&machine.0.join("bin/mpicc.openmpi")).unwrap(), &orte);
    }

    /// In a prefix of its own, the launcher is the one beside it; a wrapper that is a link from elsewhere leads
    /// there.
    #[test]
    fn the_launcher_of_a_prefix_is_beside_its_compiler() {
        let machine = Machine::new("prefix");
        machine.program("opt/bin/mpicc", OPEN_MPI);
        let own = machine.program("opt/bin/mpiexec", "mpiexec (Open MPI) 5.0.11");
        machine.program("usr/bin/mpiexec", "HYDRA build details:");
        let link = machine.link("usr/bin/mpicc-of-opt", "../../opt/bin/mpicc");
        for mpicc in [machine.0.join("opt/bin/mpicc"), link] {
            let found = launcher_of(&mpicc).unwrap();
            assert_eq!(fs::canonicalize(found).unwrap(), own);
        }
    }

    /// The wrapper alone leads to all that `cargo xtask test` knows of the MPI that it tests with: a program that it
    /// compiles is started by the right launcher, and finds its library.
    #[test]
    fn a_compiler_leads_to_its_launcher_and_libraries() {
        let setting = |name: &str| {
            let value = std::env::var(name);
            value.unwrap_or_else(|_| {
                panic!("{name} is not set: run the tests by `cargo xtask test`")
            })
        };
        let mpi = of_compiler(&setting("MPICC")).unwrap();
        let real = |path: &Path| fs::canonicalize(path).unwrap();
        assert_eq!(real(&mpi.mpiexec), real(Path::new(&setting("MPIEXEC"))));
        let name = setting("MPI_NAME");
        assert_eq!(mpi.abi() == "openmpi", name.starts_with("openmpi"), "{name}");
        assert_eq!(mpi.abi() == "standard", name.ends_with("-abi"), "{name}");
        if let Some(libraries) = mpi.libraries {
            // Cargo puts folders of its own in front.
            let all = setting("LD_LIBRARY_PATH");
            let mut all =
                std::env::split_paths(&all).filter_map(|folder| fs::canonicalize(folder).ok());
            assert!(all.any(|folder| folder == real(&libraries)), "{}", libraries.display());
        } else {
            assert!(name.ends_with("-debian"), "{name}: no libraries");
        }
    }

    /// Where Debian's two MPIs are installed, each one's compiler has its own launcher, whatever `mpicc` and
    /// `mpiexec` are.
    #[test]
    fn installed_mpis_are_not_mixed() {
        for (mpicc, says) in
            [("mpicc.mpich", "HYDRA"), ("mpicc.openmpi", "OpenRTE"), ("/usr/bin/mpicc", "")]
        {
            if find_program(mpicc).is_none() {
                continue;
            }
            let Ok(mpi) = of_compiler(mpicc) else {
                panic!("{mpicc} has no launcher");
            };
            let said = output(Command::new(&mpi.mpiexec).arg("--version")).unwrap();
            assert!(said.contains(says), "{mpicc}: {said}");
            let is_openmpi = ["OpenRTE", "Open MPI"].iter().any(|name| said.contains(name));
            assert_eq!(is_openmpi, mpi.abi() == "openmpi", "{mpicc}: {said}");
        }
    }

    #[test]
    fn a_launcher_of_another_mpi_is_refused() {
        let machine = Machine::new("other");
        let mpicc = machine.program("bin/mpicc", MPICH);
        let none = launcher_of(&mpicc).unwrap_err().to_string();
        assert!(none.contains("none at all"), "{none}");
        let mpiexec = machine.program("bin/mpiexec", "mpiexec (OpenRTE) 4.1.4");
        let other = launcher_of(&mpicc).unwrap_err().to_string();
        assert!(
            other.contains("is MPICH's") && other.contains(mpiexec.to_str().unwrap()),
            "{other}"
        );
    }
}
