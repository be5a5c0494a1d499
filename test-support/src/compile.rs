//! Programs and libraries in C, compiled once for all tests that run them.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use mpi_facts::FunctionId;
use object::{Object as _, ObjectSymbol as _};
use tempfile::TempDir;

use crate::kept::kept;
use crate::settings::{abi, setting};

/// A folder for what a test writes itself, gone with the temporary files of the run.
pub fn build_folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().unwrap()).path()
}

/// The C library of the MPI in use.
fn mpi_library() -> PathBuf {
    let names = abi().library_names().iter().map(|name| name.to_str().expect("names are ASCII"));
    let folders = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut files = env::split_paths(&folders)
        .flat_map(|folder| names.clone().map(move |name| folder.join(name)));
    let in_folders = files.find(|file| file.exists());
    in_folders
        .or_else(|| {
            // An installed MPI is where the compiler looks, too, which says a path if it has found one.
            names.clone().find_map(|name| {
                let mut mpicc = Command::new(setting("MPICC"));
                let said = mpicc.arg(format!("-print-file-name={name}")).output().ok()?.stdout;
                let path = PathBuf::from(String::from_utf8(said).ok()?.trim());
                path.is_absolute().then_some(path)
            })
        })
        .expect("the MPI in use has a library")
}

/// The functions of the list that the MPI in use has.
fn present() -> BTreeSet<FunctionId> {
    let library = fs::read(mpi_library()).unwrap();
    let file = object::File::parse(&*library).expect("the MPI's library is a shared object");
    let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let names: BTreeSet<&str> = symbols.filter_map(|symbol| symbol.name().ok()).collect();
    // Only what tools can intercept.
    let is_present = |name: &&&str| names.contains(&*format!("P{name}"));
    names.iter().filter(is_present).filter_map(|name| name.parse().ok()).collect()
}

/// The folder with `calls.h`, by which programs say what they call.
fn calls_header() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let library = mpi_library();
        let changed = fs::metadata(&library).and_then(|data| data.modified()).unwrap();
        let header = kept("calls.h", &(&library, changed), &[], |folder| {
            let mut calls = String::new();
            for function in present() {
                let _ = writeln!(
                    calls,
                    "#define HAVE_{function} 1\n#ifndef {function}\n\
                     #define {function}(...) (expect_call(\"{function}\"), {function}(__VA_ARGS__))\n#endif"
                );
            }
            fs::write(folder.join("calls.h"), calls).unwrap();
        });
        header.parent().expect("a file is in a folder").to_owned()
    };
    FOLDER.get_or_init(make).clone()
}

/// A file of `tests/c`, of the crate whose test this is.
fn source(file: &str) -> PathBuf {
    env::current_dir().expect("a test has its crate's folder").join("tests/c").join(file)
}

/// Compiles `tests/c/NAME.c`.
pub fn compile(name: &str) -> PathBuf {
    let flags = ["-pthread", "-Wall", "-Werror", "-Wno-deprecated-declarations"];
    compile_with(&source(&format!("{name}.c")), name, &flags)
}

/// Compiles `tests/c/NAME.cc`.
pub fn compile_cxx(name: &str) -> PathBuf {
    let flags = ["-pthread", "-Wno-deprecated-declarations", "-lstdc++"];
    compile_with(&source(&format!("{name}.cc")), name, &flags)
}

/// Compiles a source of an MPI program with more flags.
pub fn compile_with(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let calls = calls_header();
    let calls = calls.to_str().expect("a path in the project is UTF-8");
    let first = ["-g", "-O1", "-I", calls];
    compile_by(setting("MPICC").into(), source, name, &first, &[flags, &["-lm"]].concat())
}

/// Compiles a source with a compiler: with flags before the source, and with others behind it. The files beside the source
/// may be included.
pub fn compile_by(
    compiler: OsString,
    source: &Path,
    name: &str,
    before: &[&str],
    behind: &[&str],
) -> PathBuf {
    let beside = source.parent().expect("a file is in a folder");
    kept(name, &(&compiler, source, before, behind), &[beside], |folder| {
        let mut command = Command::new(&compiler);
        command.args(before).arg("-I").arg(beside).arg(source).args(behind);
        made(command.arg("-o").arg(folder.join(name)));
    })
}

/// Runs a compiler, which must succeed.
///
/// # Panics
/// With what it has said, if it does not.
pub fn made(compiler: &mut Command) {
    let output = compiler.output().expect("the compiler runs");
    assert!(output.status.success(), "{compiler:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// A tool of a version of this framework that there is not yet: `tests/c/other_version.c`.
pub fn stranger() -> PathBuf {
    let source = source("other_version.c");
    compile_with(&source, "libother_version.so", &["-shared", "-fPIC"])
}
