//! What rmpi promises not to compile, and why the compiler says that it does not.
//!
//! The messages are those of one compiler and of MPICH's ABI, in which handles are integers; elsewhere
//! the programs only have to fail. After a change: `TRYBUILD=overwrite`, and read what changed.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The compiler that wrote the messages.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn promises() {
    let cases = Path::new("tests/compile_fail");
    let compiler = Command::new("rustc").arg("--version").output().unwrap().stdout;
    let written_here = String::from_utf8_lossy(&compiler).starts_with(COMPILER);
    if written_here && mpi_sys::ABI == mpi_sys::Abi::Mpich {
        trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
        return;
    }
    // Without the messages, beside which others are written.
    let folder = tempfile::tempdir().unwrap();
    for case in fs::read_dir(cases).unwrap().map(|case| case.unwrap().path()) {
        if case.extension().is_some_and(|extension| extension == "rs") {
            fs::copy(&case, folder.path().join(case.file_name().unwrap())).unwrap();
        }
    }
    // SAFETY: `set_var` requires that no other thread reads or writes the environment meanwhile: this
    // is the only test of its process, and it has started no thread yet.
    unsafe { std::env::set_var("TRYBUILD", "overwrite") };
    trybuild::TestCases::new().compile_fail(folder.path().join("*.rs"));
}
