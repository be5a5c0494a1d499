//! Wrong combinations are told before the start, in one line each, and the application runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::common::{
    FINE, Outcome, abi, compile, compile_plain, compile_with, foreign_tool, launcher, mpi_tool,
    mpi_tool_command, run_two, setting, text,
};
use crate::inspect::{elf32, setuid_program};

/// The application ran, and `mpi-tool` has said this line and nothing else.
fn expect_line(outcome: &Outcome, stdout: &[&str], line: &str) {
    assert_eq!(outcome.said(), [line], "{outcome:?}");
    assert_eq!((outcome.status, outcome.lines()), (Some(0), stdout.to_vec()), "{outcome:?}");
}

/// The command that would be started is the user's own.
fn expect_unchanged(command: &[&str], line: &str) {
    let options = ["run", "-tcall-counter", "--dry-run", "--"];
    let outcome = mpi_tool(Path::new("/"), &[&options[..], command].concat());
    assert_eq!(outcome.said(), [line], "{outcome:?}");
    assert_eq!(outcome.stdout, format!("{}\n", command.join(" ")));
}

#[test]
fn a_tool_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let outcome = run_two(folder.path(), &["--tool", "call-conter"], &[text(&program)]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
    let said = outcome.said();
    assert_eq!(said.len(), 1, "{outcome:?}");
    assert!(said[0].starts_with("there is no tool named call-conter; the tools are: "), "{said:?}");
    assert!(said[0].contains("call-counter"), "{said:?}");
    let (_, looked) = said[0].split_once(". mpi-tool has looked in ").expect("it says where");
    assert!(looked.split(", ").any(|folder| folder == "target/tools"), "{said:?}");

    let outcome = run_two(folder.path(), &["--tool", "./libmine.so"], &[text(&program)]);
    assert_eq!(outcome.status, Some(2));
    assert_eq!(outcome.said(), ["./libmine.so: No such file or directory (os error 2)"]);

    fs::write(folder.path().join("libtext.so"), "text").unwrap();
    let outcome = run_two(folder.path(), &["--tool", "./libtext.so"], &[text(&program)]);
    assert_eq!(outcome.status, Some(2));
    let path = fs::canonicalize(folder.path()).unwrap().join("libtext.so");
    assert_eq!(outcome.said(), [format!("{}: not a shared object for x86-64", path.display())]);

    for (words, line) in [
        ("./", "a directory, not a shared object"),
        ("./libpipe.so", "not a shared object for x86-64"),
        ("./libloop.so", "Too many levels of symbolic links (os error 40)"),
    ] {
        let place = |name: &str| folder.path().join(name);
        let _ = Command::new("mkfifo").arg(place("libpipe.so")).output();
        let _ = symlink("libloop.so", place("libloop.so"));
        let outcome = run_two(folder.path(), &["--tool", words], &[text(&program)]);
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        let said = outcome.said();
        assert!(said.len() == 1 && said[0].ends_with(line), "{said:?}");
    }
}

/// What would break the application, preloaded or in a stack.
#[test]
fn a_library_that_is_no_tool() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let mpi = mpi_tool(folder.path(), &["inspect", "--json", text(&program)]);
    let mpi: serde_json::Value = serde_json::from_str(&mpi.stdout).unwrap();
    let library = mpi["mpi"]["path"].as_str().unwrap();
    for stack in [&[][..], &["--qmpi"]] {
        let run = |tool: &str| {
            run_two(folder.path(), &[&["-t", tool], stack].concat(), &[text(&program)])
        };
        let outcome = run(library);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        let real = fs::canonicalize(library).unwrap();
        let line = format!(
            "{}: an MPI library, not a tool (it defines PMPI_Init); the application loads its own MPI",
            real.display()
        );
        assert_eq!(outcome.said(), [line]);
        let stacks = crate::common::tool("qmpi");
        for name in ["qmpi", text(&stacks)] {
            let outcome = run(name);
            assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
            let line = format!(
                "{name}: libqmpi.so runs stacks and is not a tool; name the tools, and add --qmpi to make a stack of them"
            );
            assert_eq!(outcome.said(), [line]);
        }
    }
}

#[test]
fn a_tool_of_another_abi() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let (foreign, foreign_abi) = foreign_tool("call_counter");
    let outcome = run_two(folder.path(), &["--tool", text(&foreign)], &[text(&program)]);
    let said = outcome.said();
    assert_eq!(said.len(), 1, "{outcome:?}");
    let begin = format!(
        "{}: built for the {foreign_abi} ABI only (`mpi-tool build` makes other builds), but {} uses ",
        text(&foreign),
        text(&program)
    );
    let end = format!(", of the {} ABI; it runs without this tool", abi());
    assert!(said[0].starts_with(&begin) && said[0].ends_with(&end), "{said:?}");
    assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
    assert!(!outcome.stderr.contains("call-counter 0.1.0"), "{outcome:?}");

    let strict = ["--strict", "--tool", text(&foreign)];
    let outcome = run_two(folder.path(), &strict, &[text(&program)]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""));
    // Nothing runs, so nothing is said of what runs.
    let said = outcome.said();
    assert_eq!(said.len(), 2, "{said:?}");
    let end = format!(", of the {} ABI", abi());
    assert!(said[0].starts_with(&begin) && said[0].ends_with(&end), "{said:?}");
    assert_eq!(said[1], "nothing was started (--strict)");
}

#[test]
fn a_program_without_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile_plain("nothing", "nothing", &[]);
    let outcome = run_two(folder.path(), &["--tool", "call-counter"], &[text(&program)]);
    let line = format!(
        "{}: no MPI found: it is not linked to an MPI library; it runs without tools (--abi chooses \
         tools for it)",
        text(&program)
    );
    expect_line(&outcome, &["no MPI here", "no MPI here"], &line);
}

#[test]
fn a_program_that_contains_its_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let flags: [&[&str]; 2] = [&["-static"], &[]];
    for (name, flags) in ["static-mpi", "half-static-mpi"].into_iter().zip(flags) {
        let program = compile_plain("static_mpi", name, flags);
        let command = ["run", "-tcall-counter", "--", text(&program)];
        let line = format!(
            "{}: MPI is statically linked: its calls do not go through the dynamic linker; it runs \
             without tools",
            text(&program)
        );
        expect_line(&mpi_tool(folder.path(), &command), &["an MPI of its own"], &line);
    }
}

#[test]
fn a_program_for_32_bit_processors() {
    let folder = tempfile::tempdir().unwrap();
    let program = elf32(folder.path());
    let line = format!(
        "{}: it is a 32-bit program; tools are 64-bit; it runs without tools",
        text(&program)
    );
    let [mpiexec, n, two] = launcher("2");
    expect_unchanged(&[&mpiexec, &n, &two, text(&program)], &line);
}

#[test]
fn a_setuid_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = setuid_program(folder.path(), &compile("calls"));
    let line = format!(
        "{}: it is setuid, so the dynamic linker ignores LD_PRELOAD; it runs without tools",
        text(&program)
    );
    let [mpiexec, n, two] = launcher("2");
    expect_unchanged(&[&mpiexec, &n, &two, text(&program)], &line);
}

#[test]
fn a_program_that_is_not_there() {
    expect_unchanged(
        &["mpiexec", "-n", "2", "/no/program", "-x"],
        "/no/program: no such program on this machine; the command is started without tools",
    );
    let folder = tempfile::tempdir().unwrap();
    let outcome = run_two(folder.path(), &["--tool", "call-counter"], &["./no-program"]);
    let line =
        "./no-program: no such program on this machine; the command is started without tools";
    assert_eq!(outcome.said(), [line]);
    let [mpiexec, n, two] = launcher("2");
    let mut by_hand = Command::new(mpiexec);
    let by_hand = Outcome::of(by_hand.args([&n, &two, "./no-program"]).current_dir(folder.path()));
    assert_ne!(by_hand.status, Some(0));
    assert_eq!(outcome.status, by_hand.status);
}

#[test]
fn a_command_without_an_application() {
    let mpiexec = setting("MPIEXEC").into_string().unwrap();
    let command = ["run", "-tcall-counter", "--", &mpiexec, "-n", "2"];
    let outcome = mpi_tool(Path::new("/"), &command);
    assert_eq!(outcome.status, Some(2));
    assert_eq!(outcome.said(), [format!("the command names no application: {mpiexec} -n 2")]);
}

/// A C tool has no entry points for Fortran, today and tomorrow.
#[test]
fn a_fortran_program_and_a_tool_that_knows_c_only() {
    let folder = tempfile::tempdir().unwrap();
    let shared = ["-shared", "-fPIC"];
    let c_tool = compile_with(setting("MPICC"), "c_tool", "libc_only.so", &shared);
    let program = compile("fortran");
    let command = ["run", "-t", text(&c_tool), "--dry-run", "--", text(&program)];
    let outcome = mpi_tool(folder.path(), &command);
    assert_eq!(
        outcome.said(),
        [format!(
            "c_only: {} has no entry points for Fortran, so it will not see all calls of {}, a \
             Fortran program",
            fs::canonicalize(&c_tool).unwrap().display(),
            text(&program)
        )]
    );
    assert!(outcome.stdout.contains("LD_PRELOAD="), "{outcome:?}");
}

#[test]
fn a_tool_twice_without_a_stack() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let outcome = run_two(folder.path(), &["-tcall-counter", "-tcall-counter"], &[text(&program)]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        outcome.said(),
        ["call-counter is named twice; only a stack (--qmpi) can have a tool at several levels"]
    );
}

#[test]
fn a_tool_that_cannot_be_a_level() {
    let folder = tempfile::tempdir().unwrap();
    let shared = ["-shared", "-fPIC"];
    let library = compile_plain("nothing", "libno_level.so", &shared);
    let program = compile("calls");
    let outcome = run_two(folder.path(), &["-t", text(&library), "--qmpi"], &[text(&program)]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""));
    let said = outcome.said();
    assert!(said.len() == 1 && said[0].contains(" cannot be a level of a stack: "), "{said:?}");
}

/// As MPI's Fortran library may be, which comes in a package of its own.
#[test]
fn another_library_that_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libmpi_mpifh.so.77");
    let shared = ["-shared", "-fPIC", "-Wl,-soname,libmpi_mpifh.so.77"];
    fs::copy(compile_plain("nothing", "libmpi_mpifh.so.77", &shared), &library).unwrap();
    let flags = ["-Wl,--no-as-needed", text(&library)];
    let program = compile_with(setting("MPICC"), "calls", "calls-with-fortran", &flags);
    let command = ["run", "-tcall-counter", "--dry-run", "--", text(&program)];
    let with_library = mpi_tool_command(folder.path(), &command)
        .env("LD_LIBRARY_PATH", libraries_and(folder.path()))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&with_library.stderr), "");
    let outcome = mpi_tool(folder.path(), &command);
    assert_eq!(
        outcome.said(),
        [format!(
            "{}: it needs libmpi_mpifh.so.77, not found on this machine (LD_LIBRARY_PATH?); it may \
             not start",
            text(&program)
        )]
    );
    assert!(outcome.stdout.contains("libcall_counter.so"), "{outcome:?}");
}

/// What the MPI needs, and a folder more.
fn libraries_and(folder: &Path) -> String {
    let own = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    // An empty name would be the current folder.
    [text(folder), &own].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":")
}

/// The dynamic linker takes a blank in LD_PRELOAD for the end of a name.
#[test]
fn a_tool_in_a_folder_with_a_blank() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("my tools");
    fs::create_dir(&place).unwrap();
    let copy = place.join("libcall_counter.so");
    fs::copy(crate::common::tool("call_counter"), &copy).unwrap();
    let program = compile("calls");
    let outcome = run_two(folder.path(), &["-t", text(&copy)], &[text(&program)]);
    let said = outcome.said();
    assert_eq!(said.len(), 1, "{outcome:?}");
    assert!(said[0].contains("has a space or a colon in its path"), "{said:?}");
    assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
}

/// An MPI whose library is on other machines only: by a name that none on this one has.
#[test]
fn a_library_that_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let name = match abi() {
        // Of Open MPI 1.3.
        "openmpi" => "libmpi.so.0",
        "standard" => "libmpi_abi.so.0",
        // As Cray names it, with a compiler that does not exist.
        _ => "libmpi_nowhere_1.so.12",
    };
    // Stands for the library while the program is linked.
    let shared = ["-shared", "-fPIC", &format!("-Wl,-soname,{name}")];
    let library = compile_plain("nothing", name, &shared);
    let object = compile_with(setting("MPICC"), "calls", "calls.o", &["-c"]);
    let program = folder.path().join("calls");
    let mut cc = Command::new("cc");
    cc.args(["-Wl,--no-as-needed", "-Wl,--unresolved-symbols=ignore-all", "-o"]);
    let linked = Outcome::of(cc.args([&program, &object, &library]));
    assert_eq!(linked.status, Some(0), "{linked:?}");
    let command = ["run", "-tcall-counter", "--dry-run", "--", "./calls"];
    let outcome = mpi_tool(folder.path(), &command);
    let said = outcome.said();
    assert_eq!(said.len(), 1, "{outcome:?}");
    assert!(said[0].starts_with(&format!("./calls: it is linked to {name}")), "{said:?}");
    let end = "which is not found on this machine (LD_LIBRARY_PATH?); it gets tools of that ABI";
    assert!(said[0].ends_with(end), "{said:?}");
    assert!(outcome.stdout.contains("libcall_counter.so"), "{outcome:?}");
}
