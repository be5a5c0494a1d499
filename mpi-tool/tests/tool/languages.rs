//! Programs that hang, in Fortran and in Rust: ranks and lines are named as they are in C.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::setting;
use crate::hang::{Job, verdict};

/// The line of a source file that ends in a comment, which begins with a mark.
pub(crate) fn line_of(source: &Path, mark: &str, comment: &str) -> u64 {
    let text = fs::read_to_string(source).unwrap();
    let end = format!("{mark} {comment}");
    let lines: Vec<_> = text.lines().zip(1..).filter(|(line, _)| line.ends_with(&end)).collect();
    assert_eq!(lines.len(), 1, "{}: one line is {comment}", source.display());
    lines[0].1
}

/// The ranks that are named, with the function and the innermost line in a source file. Without that of `MPI_Finalize` in
/// Fortran: with Open MPI's module, gfortran 12 gives that call the line of another statement, as `objdump -dl` shows.
pub(crate) fn culprits(answer: &Value, source: &Path) -> BTreeSet<(u64, String, Option<u64>)> {
    let is_fortran = source.extension().is_some_and(|extension| extension == "F90");
    let is_rust = source.extension().is_some_and(|extension| extension == "rs");
    let name = source.file_name().unwrap().to_str().unwrap();
    let culprits = answer["culprits"].as_array().unwrap().iter();
    culprits
        .map(|culprit| {
            let frames = culprit["site"].as_array().unwrap();
            let here =
                |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with(name));
            let function = culprit["function"].as_str().unwrap_or_default().to_owned();
            // Functions of rmpi are none of the program's, and are not named.
            let shown = if is_rust { &frames[..frames.len().min(1)] } else { &frames[..] };
            let line = shown.iter().find(here).and_then(|frame| frame["line"].as_u64());
            let line = line.filter(|_| !is_fortran || function != "MPI_Finalize");
            (culprit["rank"].as_u64().unwrap(), function, line)
        })
        .collect()
}

/// Runs the three faults of a program. `lines` are the comments of the lines that must be named: of the cycle's receive, the
/// barrier, the receive whose tag nobody sends, and the end where that has a line.
fn all_are_named(
    program: &Path,
    source: &Path,
    mark: &str,
    lines: [&str; 3],
    finalize: Option<&str>,
) {
    let line = |comment: &str| Some(line_of(source, mark, comment));
    let [receive, barrier, tag_5] = lines.map(line);
    let finalize = finalize.and_then(line);
    let tag_6 = line("tag 6");
    let call = |rank, function: &str, line| (rank, function.to_owned(), line);
    for (what, named) in [
        ("receive cycle", vec![call(0, "MPI_Recv", receive), call(1, "MPI_Recv", receive)]),
        (
            "missing collective",
            vec![call(0, "MPI_Barrier", barrier), call(1, "MPI_Finalize", finalize)],
        ),
        ("wrong tag", vec![call(0, "MPI_Recv", tag_5), call(1, "MPI_Ssend", tag_6)]),
    ] {
        let named: BTreeSet<_> = named.into_iter().collect();
        let mut job = Job::of(program, 2, &[what], true);
        job.until(what, |answer| {
            verdict(answer) == "deadlock"
                && answer["worlds"][0]["certain"] == true
                && culprits(answer, source) == named
        });
    }
}

/// With the module `mpi` and with `mpif.h`, under Debian's MPI: the wheels are without Fortran.
#[test]
fn gfortran_programs_that_hang_are_named() {
    let folder = TempDir::new().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fortran/hang.F90");
    let words = |variable: &str| -> Vec<String> {
        setting(variable).to_str().unwrap().split_whitespace().map(str::to_owned).collect()
    };
    for (name, options) in [("hang", &[][..]), ("hang_mpif_h", &["-DWITH_MPIF_H"])] {
        let (compiler, program) = (words("FORTRAN"), folder.path().join(name));
        let mut fortran = Command::new(&compiler[0]);
        fortran.args(&compiler[1..]).args(["-g", "-O1"]).args(options);
        fortran.arg(&source).arg("-o").arg(&program);
        let output = fortran.args(words("FORTRAN_LIBRARIES")).output().expect("the compiler runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        all_are_named(&program, &source, "!", ["cycle", "barrier", "tag 5"], None);
    }
}

/// By way of rmpi, which finalizes MPI when its context goes, at the end of `main`.
#[test]
fn rust_programs_that_hang_are_named() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rmpi/tests/tools/hang.rs");
    let program = test_support::program("hang");
    all_are_named(&program, &source, "//", ["receive", "barrier", "receive"], Some("finalize"));
}
