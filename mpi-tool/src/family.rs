//! Which MPI a launcher belongs to, and whether its processes find each other in a program of another MPI.
//!
//! A launcher tells each process its rank in a language of its own: Hydra (MPICH, Intel MPI, MVAPICH) speaks
//! PMI, Open MPI's launcher PMIx. A program that does not understand it believes that it was started
//! alone: as many times as there are processes, it is rank 0 of 1.

use mpi_facts::Abi;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::elf::Elf;
use crate::limited::{self, Outcome};
use crate::mpi::Mpi;
use crate::problem::Problem;
use crate::words::{base, in_path, is_executable};

/// MPIs that understand each other's launchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// MPICH, Intel MPI, MVAPICH, Cray MPICH
    Mpich,
    OpenMpi,
}

/// A launcher that says whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launcher {
    pub(crate) family: Family,
    /// `Open MPI 5.0.11`, `MPICH 4.0.2`
    title: String,
}

/// How long a launcher may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(10);

impl Launcher {
    /// Asks a launcher; `None` if it does not say, as Slurm's, which serves all.
    pub(crate) fn of(word: &str) -> Option<Self> {
        let name = base(word);
        let own_name = ["orterun", "prterun", "prun"].contains(&name);
        if !own_name && !name.starts_with("mpi") {
            return None;
        }
        let said = version(word).unwrap_or_default();
        Self::read(&said)
            .or(own_name.then(|| Self { family: Family::OpenMpi, title: "Open MPI".into() }))
    }

    /// Why a launcher does not say whose it is, in its own words where it has some.
    pub(crate) fn silence(launcher: &Path) -> String {
        match answer(launcher.as_os_str()) {
            Err(error) => error.to_string(),
            Ok(answer) if answer.status.is_none() => {
                format!("it did not end within {} s", PATIENCE.as_secs())
            }
            Ok(answer) => {
                let said = answer.stderr.lines().chain(answer.stdout.lines());
                let said = said.map(str::trim).find(|line| !line.is_empty());
                said.map_or_else(
                    || "it prints nothing".to_owned(),
                    |line| format!("it says: {line}"),
                )
            }
        }
    }

    /// Reads what `--version` prints.
    fn read(said: &str) -> Option<Self> {
        let title = |name: &str, version: Option<&str>| match version {
            Some(version) => format!("{name} {version}"),
            None => name.to_owned(),
        };
        for line in said.lines() {
            // mpiexec (Open MPI) 5.0.11; mpirun (OpenRTE) 4.1.4; prterun (PRRTE) 3.0.11
            for (mark, name) in
                [("(Open MPI)", "Open MPI"), ("(OpenRTE)", "Open MPI"), ("(PRRTE)", "PRRTE")]
            {
                if let Some((_, version)) = line.split_once(mark) {
                    let version = version.split_whitespace().next();
                    return Some(Self { family: Family::OpenMpi, title: title(name, version) });
                }
            }
        }
        if said.contains("Intel(R) MPI") {
            return Some(Self { family: Family::Mpich, title: "Intel MPI".into() });
        }
        if said.contains("HYDRA") || said.contains("MPICH") {
            let version = said.lines().find_map(|line| line.trim().strip_prefix("Version:"));
            return Some(Self {
                family: Family::Mpich,
                title: title("MPICH", version.map(str::trim)),
            });
        }
        None
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn abi(&self) -> Abi {
        match self.family {
            Family::Mpich => Abi::Mpich,
            Family::OpenMpi => Abi::OpenMpi,
        }
    }

    /// Says what is wrong if this launcher cannot tell the program's processes their ranks. Says nothing where
    /// that is not certain.
    pub(crate) fn mismatch(&self, word: &str, program: &str, mpi: &Mpi) -> Option<Problem> {
        let family = mpi.family()?;
        if family == self.family || (family == Family::Mpich && speaks_pmix(mpi)) {
            return None;
        }
        let right = match right_launcher(mpi, family) {
            Some(path) => path.display().to_string(),
            None => format!("the launcher of {}", mpi.title()),
        };
        let what = format!(
            "{program} uses {}, but {word} is the launcher of {}: each process will be rank 0 of 1, or fail \
             (use {right} instead)",
            mpi.title(),
            self.title
        );
        Some(Problem::new(what, "the command is started as it is"))
    }
}

/// Whether an MPI of MPICH's family was built for, or told to use, what Open MPI's launcher speaks.
fn speaks_pmix(mpi: &Mpi) -> bool {
    let told = ["I_MPI_PMI", "I_MPI_PMI_LIBRARY"].iter().any(|name| env::var_os(name).is_some());
    let library = mpi.path.as_deref().and_then(|path| Elf::read(path).ok().flatten());
    told || library.is_some_and(|library| {
        let names = |name: &String| name == "PMIx_Init";
        library.needed.iter().any(|name| name.starts_with("libpmix."))
            || library.imports.iter().chain(&library.exports).any(names)
    })
}

/// A launcher of the family, beside the library or in `PATH`.
fn right_launcher(mpi: &Mpi, family: Family) -> Option<PathBuf> {
    let names: &[&str] = match family {
        Family::Mpich => &["mpiexec", "mpiexec.mpich", "mpiexec.hydra"],
        Family::OpenMpi => &["mpiexec", "mpiexec.openmpi"],
    };
    // PREFIX/lib/libmpi.so, /usr/lib/x86_64-linux-gnu/libmpi.so
    let library = mpi.path.as_deref().and_then(|path| fs::canonicalize(path).ok());
    let folder = library.as_deref().and_then(Path::parent);
    let prefixes = folder.into_iter().flat_map(|folder| folder.ancestors().skip(1).take(4));
    let beside =
        prefixes.flat_map(|prefix| names.iter().map(move |name| prefix.join("bin").join(name)));
    let in_path = names.iter().filter_map(|name| in_path(name));
    let is_right = |path: &PathBuf| {
        is_executable(path)
            && path.to_str().and_then(Launcher::of).is_some_and(|found| found.family == family)
    };
    beside.chain(in_path).find(is_right)
}

/// What a program prints with `--version`. One that does not end is ended.
fn version(program: &str) -> Option<String> {
    let said = answer(program.as_ref()).ok()?;
    Some(said.stdout + &said.stderr)
}

fn answer(program: &OsStr) -> io::Result<Outcome> {
    let mut command = Command::new(program);
    // Tools that are preloaded are not asked.
    command.arg("--version").env_remove("LD_PRELOAD").stdin(Stdio::null());
    limited::run(&mut command, PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::{Family, Launcher};

    /// What the launchers of Debian 12, of the wheels, and of Intel print first.
    #[test]
    fn launchers_say_whose_they_are() {
        for (said, family, title) in [
            ("mpiexec (Open MPI) 5.0.11\n\nReport bugs to", Family::OpenMpi, "Open MPI 5.0.11"),
            ("mpirun.openmpi (OpenRTE) 4.1.4\n", Family::OpenMpi, "Open MPI 4.1.4"),
            ("prterun (PRRTE) 3.0.11\n", Family::OpenMpi, "PRRTE 3.0.11"),
            (
                "HYDRA build details:\n    Version:                                 4.0.2\n    Release",
                Family::Mpich,
                "MPICH 4.0.2",
            ),
            (
                "Intel(R) MPI Library for Linux* OS, Version 2021.13 Build 20240515",
                Family::Mpich,
                "Intel MPI",
            ),
        ] {
            let launcher = Launcher::read(said).unwrap();
            assert_eq!((launcher.family, &*launcher.title), (family, title), "{said}");
        }
        for other in ["", "slurm 22.05.8", "mpiexec: unknown option --version"] {
            assert_eq!(Launcher::read(other), None, "{other}");
        }
    }
}
