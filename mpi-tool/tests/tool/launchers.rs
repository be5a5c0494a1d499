//! Launchers of another MPI than the application's, and launchers that are not there.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{
    Outcome, abi, compile, compile_plain, launcher, mpi_tool, mpi_tool_command, setting, text,
    write_program,
};

/// What the launchers of Debian 12 print of themselves.
const OPEN_MPI: &str =
    "mpiexec (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/";
const HYDRA: &str = "HYDRA build details:\n    Version:                                 4.0.2";

/// A launcher that says this of itself, and starts the program behind `-n 2` twice, without telling the
/// processes anything.
fn fake(folder: &Path, says: &str) {
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then cat <<'END'\n{says}\nEND\nexit; fi\n\
         shift 2\n\"$@\" && exec \"$@\"\n"
    );
    write_program(&folder.join("mpiexec"), script);
}

/// The launcher of another family, what it says, and its title.
fn other() -> (&'static str, &'static str) {
    if abi() == "openmpi" { (HYDRA, "MPICH 4.0.2") } else { (OPEN_MPI, "Open MPI 4.1.4") }
}

fn run(folder: &Path, options: &[&str], command: &[&str]) -> Outcome {
    mpi_tool(folder, &[&["run", "-tcall-counter", "-onone"], options, &["--"], command].concat())
}

/// The start and the end of the one line, between which the versions of the application's MPI stand.
fn expect_mismatch(line: &str, program: &str, launcher: &str, title: &str) {
    let begin = format!("{program} uses ");
    let middle = format!(
        ", but {launcher} is the launcher of {title}: each process will be rank 0 of 1, or fail (use "
    );
    assert!(line.starts_with(&begin) && line.contains(&middle), "{line}");
}

#[test]
fn a_launcher_of_another_mpi_is_told_and_started() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let program = text(&program);
    let (says, title) = other();
    fake(folder.path(), says);
    let command = ["./mpiexec", "-n", "2", program];

    let outcome = run(folder.path(), &[], &command);
    let said = outcome.said();
    assert_eq!(said.len(), 1, "{outcome:?}");
    expect_mismatch(said[0], program, "./mpiexec", title);
    assert!(said[0].ends_with(" instead); the command is started as it is"), "{said:?}");
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(outcome.lines(), ["rank 0 of 1 is fine", "rank 0 of 1 is fine"], "{outcome:?}");

    let outcome = run(folder.path(), &["--strict"], &command);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
    let said = outcome.said();
    expect_mismatch(said[0], program, "./mpiexec", title);
    assert!(said[0].ends_with(" instead)"), "{said:?}");
    assert_eq!(said[1..], ["nothing was started (--strict)"]);

    // Two applications of the same MPI are one line.
    let two = ["./mpiexec", "-n", "1", program, ":", "-n", "1", program];
    let outcome = run(folder.path(), &["--dry-run"], &two);
    assert_eq!(outcome.said().len(), 1, "{outcome:?}");
}

/// Where nothing is wrong, or where that is not certain, nothing is said.
#[test]
fn other_launchers_are_not_accused() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let program = text(&program);
    let own = if abi() == "openmpi" { OPEN_MPI } else { HYDRA };
    for says in [own, "slurm 22.05.8", ""] {
        fake(folder.path(), says);
        let outcome = run(folder.path(), &["--dry-run"], &["./mpiexec", "-n", "2", program]);
        assert_eq!(outcome.said(), [""; 0], "{says}");
    }
    fake(folder.path(), other().0);
    // One process is rank 0 of 1 in any case.
    let outcome = run(folder.path(), &["--dry-run"], &["./mpiexec", "-n", "1", program]);
    assert_eq!(outcome.said(), [""; 0]);
    // A launcher of that name that is Slurm's, and none at all.
    fs::rename(folder.path().join("mpiexec"), folder.path().join("srun")).unwrap();
    for command in [&["./srun", "-n", "2", program][..], &[program]] {
        let outcome = run(folder.path(), &["--dry-run"], command);
        assert_eq!(outcome.said(), [""; 0]);
    }
    let own = launcher("2");
    let outcome = run(folder.path(), &["--dry-run"], &[&own[0], "-n", "2", program]);
    assert_eq!(outcome.said(), [""; 0]);
}

/// A program that has another library under the name of MPICH's or Open MPI's, which may serve any launcher.
#[test]
fn a_library_that_only_bears_the_name_is_not_accused() {
    let folder = tempfile::tempdir().unwrap();
    let soname = if abi() == "openmpi" { "libmpi.so.40" } else { "libmpi.so.12" };
    let shared = ["-shared", "-fPIC", &format!("-Wl,-soname,{soname}")];
    let library = folder.path().join(soname);
    fs::copy(compile_plain("nothing", &format!("named-{soname}"), &shared), &library).unwrap();
    let flags =
        ["-Wl,--no-as-needed", text(&library), &format!("-Wl,-rpath,{}", text(folder.path()))];
    let program = compile_plain("nothing", "other-library", &flags);
    fake(folder.path(), other().0);
    let command =
        ["run", "-tcall-counter", "--dry-run", "--", "./mpiexec", "-n", "2", text(&program)];
    let mut command = mpi_tool_command(folder.path(), &command);
    let outcome = Outcome::of(command.env_remove("LD_LIBRARY_PATH"));
    assert!(!outcome.stderr.contains("is the launcher of"), "{outcome:?}");
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
}

/// A launcher that does not answer is not waited for without end.
#[test]
fn a_launcher_that_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && exec sleep 60\nshift 2\nexec \"$@\"\n";
    write_program(&folder.path().join("mpiexec"), script);
    let program = compile("calls");
    let start = Instant::now();
    let outcome = run(folder.path(), &[], &["./mpiexec", "-n", "2", text(&program)]);
    assert_eq!((outcome.status, outcome.said()), (Some(0), vec![]), "{outcome:?}");
    assert_eq!(outcome.lines(), ["rank 0 of 1 is fine"]);
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
}

/// The private launcher of the other family: the line names the right one.
#[test]
fn a_real_launcher_of_another_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let program = text(&program);
    let (mpi, title) = if abi() == "openmpi" {
        ("mpich-5.0.2", "MPICH 5.0.2")
    } else {
        ("openmpi-5.0.11", "Open MPI 5.0.11")
    };
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/mpi");
    let other = fs::canonicalize(all).unwrap().join(mpi).join("bin/mpiexec");
    let outcome = run(folder.path(), &["--dry-run"], &[text(&other), "-n", "2", program]);
    let said = outcome.said();
    assert_eq!(said.len(), 1, "{outcome:?}");
    expect_mismatch(said[0], program, text(&other), title);
    let (_, advice) = said[0].split_once("(use ").unwrap();
    let advice = advice.strip_suffix(" instead); the command is started as it is").unwrap();
    let real = |path: &str| fs::canonicalize(path).unwrap();
    assert_eq!(real(advice), real(&setting("MPIEXEC").into_string().unwrap()), "{said:?}");
}

/// One line, which is right, and the status that a shell has for it.
#[test]
fn a_launcher_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let here = folder.path();
    write_program(&here.join("mpirunner"), "#!/bin/sh\nexec \"$@\"\n");
    fs::write(here.join("mpiexec.text"), "no program").unwrap();
    fs::create_dir(here.join("mpirun")).unwrap();
    for (word, line) in [
        ("mpiexce", "mpiexce: no such program in PATH; nothing was started"),
        ("./mpiexec", "./mpiexec: no such program; nothing was started"),
        ("mpiexec.nowhere", "mpiexec.nowhere: no such program in PATH; nothing was started"),
        (
            "mpirunner",
            "mpirunner: no such program in PATH (./mpirunner is in this folder); nothing was started",
        ),
        ("./mpiexec.text", "./mpiexec.text: not executable; nothing was started"),
        ("./mpirun", "./mpirun: a directory, not a program; nothing was started"),
    ] {
        for options in [&[][..], &["--strict"]] {
            let outcome = run(here, options, &[word, "-n", "2", text(&program)]);
            assert_eq!(outcome.said(), [line], "{outcome:?}");
            assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(127), ""), "{word}");
        }
    }
    let outcome = run(here, &[], &["timeout", "9", "./mpiexec.nowhere", "-n", "2", text(&program)]);
    assert_eq!(outcome.said(), ["./mpiexec.nowhere: no such program; nothing was started"]);
    assert_eq!(outcome.status, Some(127), "{outcome:?}");
}
