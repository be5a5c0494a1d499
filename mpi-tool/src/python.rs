//! Which MPI a Python program uses: mpi4py's choice, asked of the Python that will run it.

use mpi_facts::Abi;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::elf::Elf;
use crate::libraries::Libraries;
use crate::mpi::Mpi;

/// Finds the module as `import` would, which loads an MPI library at most and starts no MPI.
const ASK: &str = r#"
import importlib.util
spec = importlib.util.find_spec("mpi4py.MPI")
if spec:
    print("module", spec.origin)
    for line in open("/proc/self/maps"):
        path = line.split(None, 5)[-1].strip()
        if path.rsplit("/", 1)[-1].startswith("libmpi"):
            print("library", path)
"#;

/// What mpi4py chose.
pub(crate) enum Choice {
    /// There is no mpi4py.
    NoMpi4py,
    /// It found no MPI library.
    NoMpi,
    /// This.
    Mpi(Mpi),
}

/// Asks a Python.
pub(crate) fn choice(python: &str, folder: &Path) -> Choice {
    let mut command = Command::new(python);
    command.args(["-c", ASK]).current_dir(folder).stdin(Stdio::null());
    // The tools that the user preloads by hand would answer for MPI.
    command.env_remove("LD_PRELOAD");
    let Ok(output) = command.output() else { return Choice::NoMpi4py };
    let said = String::from_utf8_lossy(&output.stdout);
    let paths = |key: &str| {
        said.lines()
            .filter_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
            .map(PathBuf::from)
            .collect::<Vec<_>>()
    };
    let Some(module) = paths("module").into_iter().next() else {
        let found_mpi4py = String::from_utf8_lossy(&output.stderr).contains("cannot load MPI");
        return if found_mpi4py { Choice::NoMpi } else { Choice::NoMpi4py };
    };
    if let Some(mpi) = paths("library").iter().find_map(|path| Mpi::in_file(path)) {
        return Choice::Mpi(mpi);
    }
    // One that is linked to its MPI, or one that was told by MPI4PY_MPIABI.
    let linked = Elf::read(&module).ok().flatten().and_then(|module| {
        let libraries = Libraries::of(&module);
        let found = libraries
            .found
            .iter()
            .find_map(|library| Mpi::new(library.soname.as_deref()?, Some(&library.path)));
        found.or_else(|| libraries.missing.iter().find_map(|name| Mpi::new(name, None)))
    });
    linked.or_else(|| told(&module)).map_or(Choice::NoMpi, Choice::Mpi)
}

/// `MPI.openmpi.cpython-311-x86_64-linux-gnu.so`: mpi4py will look for the library itself.
fn told(module: &Path) -> Option<Mpi> {
    let abi = match module.file_name()?.to_str()?.split('.').nth(1)? {
        "mpiabi" => Abi::Standard,
        name => Abi::of_name(name)?,
    };
    let soname = abi.library_names()[0].to_str().expect("it is ASCII");
    let needs = Elf { needed: vec![soname.into()], path: module.into(), ..Elf::default() };
    let found = Libraries::of(&needs).found.into_iter().next();
    Mpi::new(soname, found.as_ref().map(|library| library.path.as_path()))
}
