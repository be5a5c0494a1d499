//! The MPIs of this machine: launchers in `PATH`, and the libraries that belong to them.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use mpi_facts::Abi;

use crate::elf::Elf;
use crate::family::{Family, Launcher};
use crate::libraries::Libraries;
use crate::mpi::Mpi;
use crate::words::is_executable;

/// An MPI library, and the launcher that starts its ranks.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) mpi: Mpi,
    pub(crate) launcher: Option<PathBuf>,
    /// Libraries that it needs and that are not found.
    pub(crate) missing: Vec<String>,
}

/// A launcher that no library was found for.
#[derive(Debug)]
pub(crate) struct Lonely {
    pub(crate) launcher: PathBuf,
    /// `Open MPI 5.0.11`; nothing if it does not say whose it is.
    pub(crate) title: Option<String>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) mpis: Vec<Installed>,
    pub(crate) lonely: Vec<Lonely>,
}

/// The names of launchers, those first that a user would take.
const LAUNCHERS: [&str; 8] = [
    "mpiexec",
    "mpirun",
    "mpiexec.mpich",
    "mpiexec.hydra",
    "mpiexec.openmpi",
    "mpirun.openmpi",
    "orterun",
    "prterun",
];

/// Where a library lies below the prefix of its launcher: as it is built, in wheels, Debian, Fedora, Intel's.
const BELOW: [&str; 11] = [
    "lib",
    "lib64",
    "lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu/openmpi/lib",
    "lib/aarch64-linux-gnu",
    "lib/aarch64-linux-gnu/openmpi/lib",
    "lib/release",
    "lib/openmpi/lib",
    "lib/mpich/lib",
    "lib64/openmpi/lib",
    "lib64/mpich/lib",
];

impl Machine {
    pub(crate) fn look() -> Self {
        let mut machine = Self::default();
        // Two launchers of one family in one folder are the same MPI's.
        let mut seen = BTreeSet::new();
        let mut of_linker = Vec::new();
        for abi in Abi::ALL {
            of_linker.extend(in_linkers_folders(abi));
        }
        for launcher in launchers() {
            let said = launcher.to_str().and_then(Launcher::of);
            let folder = launcher.parent().and_then(|folder| fs::canonicalize(folder).ok());
            let family = said.as_ref().map(|said| said.family);
            if !seen.insert((folder, family.map(|family| family == Family::Mpich))) {
                continue;
            }
            let libraries = family.map(|family| of_launcher(&launcher, family, &of_linker));
            let libraries = libraries.unwrap_or_default();
            if libraries.is_empty() {
                let title = said.map(|said| said.title().to_owned());
                machine.lonely.push(Lonely { launcher, title });
                continue;
            }
            for mpi in libraries {
                machine.add(mpi, Some(launcher.clone()));
            }
        }
        for mpi in of_linker {
            machine.add(mpi, None);
        }
        machine
    }

    /// Each library once, with the launcher that was found first.
    fn add(&mut self, mpi: Mpi, launcher: Option<PathBuf>) {
        let file = |mpi: &Mpi| mpi.path.as_deref().and_then(|path| fs::canonicalize(path).ok());
        let known = self.mpis.iter().any(|known| file(&known.mpi) == file(&mpi));
        if known {
            return;
        }
        let library = mpi.path.as_deref().and_then(|path| Elf::read(path).ok().flatten());
        let missing = library.map(|library| Libraries::of(&library).missing).unwrap_or_default();
        self.mpis.push(Installed { mpi, launcher, missing });
    }
}

/// All launchers of `PATH`, each file once.
fn launchers() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for folder in env::split_paths(&path).filter(|folder| folder.is_absolute()) {
        for name in LAUNCHERS {
            let launcher = folder.join(name);
            if is_executable(&launcher) && seen.insert(fs::canonicalize(&launcher).ok()) {
                found.push(launcher);
            }
        }
    }
    found
}

/// The libraries of a launcher: those of its prefix, one for each ABI, else those that the dynamic linker finds.
fn of_launcher(launcher: &Path, family: Family, of_linker: &[Mpi]) -> Vec<Mpi> {
    let real = fs::canonicalize(launcher).unwrap_or_else(|_| launcher.into());
    let prefixes = [launcher, &real].map(|path| path.parent().and_then(Path::parent));
    let mut found: Vec<Mpi> = Vec::new();
    for abi in Abi::ALL {
        let folders = prefixes.iter().flatten();
        let folders = folders.flat_map(|prefix| BELOW.map(|folder| prefix.join(folder)));
        let files = folders.flat_map(|folder| names(abi).map(move |name| folder.join(name)));
        let mut mpis = files.filter_map(|file| in_file(&file)).chain(of_linker.iter().cloned());
        found.extend(mpis.find(|mpi| mpi.abi == abi && mpi.family() == Some(family)));
    }
    found
}

/// A library that the dynamic linker would find for a program that has only its name.
fn in_linkers_folders(abi: Abi) -> Vec<Mpi> {
    let find = |name: &str| {
        let asking = Elf { needed: vec![name.into()], ..Elf::default() };
        let found = Libraries::of(&asking).found.into_iter().next()?;
        Mpi::new(name, Some(&found.path))
    };
    names(abi).filter_map(find).collect()
}

fn names(abi: Abi) -> impl Iterator<Item = &'static str> {
    abi.library_names().iter().filter_map(|name| name.to_str().ok())
}

fn in_file(file: &Path) -> Option<Mpi> {
    file.is_file().then(|| Mpi::in_file(file)).flatten()
}
