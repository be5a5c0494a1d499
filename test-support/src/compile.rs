//! Programs and libraries in C, compiled once for all tests that run them.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use mpi_facts::FunctionId;
use tempfile::TempDir;

use crate::settings::setting;

macro_rules! present {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        /// The functions that the MPI library has which the tools are built for.
        fn present() -> Vec<FunctionId> {
            let mut all = BTreeSet::new();
            $(mpi_sys::if_exported! { $c_name { all.insert(FunctionId::$c_name); } })*
            all.into_iter().collect()
        }
    };
}
mpi_sys::mpi_functions! { [present] }

/// The folder with what is compiled, kept for all tests of a file.
pub fn build_folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let mut calls = String::new();
            for function in present() {
                let _ = writeln!(
                    calls,
                    "#define HAVE_{function} 1\n#ifndef {function}\n\
                     #define {function}(...) (expect_call(\"{function}\"), {function}(__VA_ARGS__))\n#endif"
                );
            }
            fs::write(folder.path().join("calls.h"), calls).unwrap();
            folder
        })
        .path()
}

/// Makes a file once for all tests that use it: a program that is written anew cannot be started meanwhile.
pub fn once(file: PathBuf, make: impl FnOnce()) -> PathBuf {
    static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if !made.contains(&file) {
        make();
        made.insert(file.clone());
    }
    file
}

/// A file of `tests/c`, of the crate whose test this is.
fn source(file: &str) -> PathBuf {
    env::current_dir().expect("a test has its crate's folder").join("tests/c").join(file)
}

/// Compiles `tests/c/NAME.c`, once for all tests that run it.
pub fn compile(name: &str) -> PathBuf {
    once(build_folder().join(name), || {
        let flags = ["-pthread", "-Wall", "-Werror", "-Wno-deprecated-declarations"];
        compile_with(&source(&format!("{name}.c")), name, &flags);
    })
}

/// Compiles `tests/c/NAME.cc`.
pub fn compile_cxx(name: &str) -> PathBuf {
    let flags = ["-pthread", "-Wno-deprecated-declarations", "-lstdc++"];
    compile_with(&source(&format!("{name}.cc")), name, &flags)
}

/// Compiles a source with more flags.
pub fn compile_with(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let program = build_folder().join(name);
    let mut mpicc = Command::new(setting("MPICC"));
    mpicc.args(["-g", "-O1", "-o"]).arg(&program).arg(source).args(flags).arg("-lm");
    mpicc.arg("-I").arg(build_folder()).arg("-I").arg(source.parent().unwrap());
    let output = mpicc.output().expect("mpicc runs");
    assert!(output.status.success(), "{mpicc:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// A tool of a version of this framework that there is not yet: `tests/c/other_version.c`.
pub fn stranger() -> PathBuf {
    let name = "libother_version.so";
    once(build_folder().join(name), || {
        compile_with(&source("other_version.c"), name, &["-shared", "-fPIC"]);
    })
}
