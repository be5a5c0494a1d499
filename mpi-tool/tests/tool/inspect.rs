//! What is said of programs of every kind.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{
    Outcome, abi, compile, compile_plain, has_mpi4py, mpi_name, mpi_tool, mpi_tool_command,
    setting, text, write_program,
};

/// The JSON, and whether the exit status says the same.
fn inspect(words: &[&str]) -> Value {
    read(&mpi_tool(Path::new("/"), &[&["inspect", "--json"], words].concat()))
}

fn read(outcome: &Outcome) -> Value {
    let found: Value = serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    assert_eq!(found["schema"], "mpi-tool-inspect/1");
    let status = match (found["kind"].as_str(), found["interception"].as_str()) {
        (Some("missing"), _) => 2,
        (_, Some("yes")) => 0,
        (_, Some("no")) => 1,
        _ => 3,
    };
    assert_eq!(outcome.status, Some(status), "{outcome:?}");
    found
}

/// A 32-bit program's header, and no more than that.
pub(crate) fn elf32(folder: &Path) -> PathBuf {
    let path = folder.join("program32");
    let mut header = b"\x7fELF\x01\x01\x01".to_vec();
    header.resize(16, 0);
    // Executable, for Intel 80386, version 1.
    header.extend([2, 0, 3, 0, 1, 0, 0, 0]);
    header.resize(52, 0);
    write_program(&path, header);
    path
}

/// A copy of a program that takes the rights of another user: of one that is not us.
pub(crate) fn setuid_program(folder: &Path, program: &Path) -> PathBuf {
    let copy = folder.join("setuid");
    fs::copy(program, &copy).unwrap();
    if copy.metadata().unwrap().uid() != 0 {
        // Only root can give programs away; so it is one of root's.
        return "/usr/bin/su".into();
    }
    std::os::unix::fs::chown(&copy, Some(65534), Some(65534)).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
    copy
}

#[test]
fn an_mpi_program() {
    let program = compile("calls");
    let found = inspect(&[text(&program), "an argument"]);
    assert_eq!(found["kind"], "dynamic");
    assert_eq!(found["interception"], "yes");
    assert_eq!(found["bindings"], json!(["C"]));
    assert_eq!(found["mpi"]["abi"], abi());
    let (implementation, version) = match mpi_name().as_str() {
        "mpich-debian" => ("MPICH", "4.0.2".to_owned()),
        name => {
            let name = name.trim_end_matches("-abi");
            let (kind, version) = name.split_once('-').unwrap();
            (if kind == "openmpi" { "Open MPI" } else { "MPICH" }, version.to_owned())
        }
    };
    assert_eq!(found["mpi"]["implementation"], implementation);
    assert_eq!(found["mpi"]["version"], version);
    // The file that the dynamic linker itself takes.
    let linker = Path::new("/lib64/ld-linux-x86-64.so.2");
    let listed = Outcome::of(Command::new(linker).arg("--list").arg(&program));
    let taken = listed.stdout.lines().find(|line| line.trim().starts_with("libmpi")).unwrap();
    let taken = taken.split_whitespace().find(|word| word.starts_with('/')).unwrap();
    let library = found["mpi"]["path"].as_str().unwrap();
    assert_eq!(fs::canonicalize(library).unwrap(), fs::canonicalize(taken).unwrap());
}

#[test]
fn the_text_says_the_same() {
    let program = compile("calls");
    let outcome = mpi_tool(Path::new("/"), &["inspect", text(&program)]);
    assert_eq!(outcome.status, Some(0));
    for line in [
        format!("program:      {}\n", text(&program)),
        "kind:         dynamically linked\n".into(),
        format!(", {} ABI\n", abi()),
        "bindings:     C\n".into(),
        "interception: yes: it is linked to libmpi".into(),
    ] {
        assert!(outcome.stdout.contains(&line), "{line}: {outcome:?}");
    }
}

#[test]
fn a_fortran_program() {
    let found = inspect(&[text(&compile("fortran"))]);
    assert_eq!(found["bindings"], json!(["C", "mpif.h or use mpi", "use mpi_f08"]));
}

/// MPI is behind another library, which is found by a RUNPATH with `$ORIGIN`.
#[test]
fn a_program_whose_library_uses_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| fs::write(folder.path().join(name), content).unwrap();
    write("inner.c", "#include <mpi.h>\nint inner(void) { int f; return MPI_Initialized(&f); }\n");
    write("outer.c", "int inner(void); int main(void) { return inner(); }\n");
    fs::create_dir(folder.path().join("deep")).unwrap();
    let compile = |compiler: std::ffi::OsString, arguments: &[&str]| {
        let mut cc = Command::new(compiler);
        let outcome = Outcome::of(cc.args(arguments).current_dir(folder.path()));
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
    };
    compile(setting("MPICC"), &["-shared", "-fPIC", "inner.c", "-o", "deep/libinner.so"]);
    compile(
        "cc".into(),
        &[
            "outer.c",
            "-o",
            "outer",
            "-Ldeep",
            "-linner",
            "-Wl,-rpath,$ORIGIN/deep",
            "-Wl,--allow-shlib-undefined",
        ],
    );
    let found = inspect(&[text(&folder.path().join("outer"))]);
    assert_eq!(found["mpi"]["abi"], abi(), "{found}");
    assert_eq!(found["bindings"], json!(["C"]));
    assert_eq!(found["missing_libraries"], json!([]));
}

#[test]
fn programs_without_mpi() {
    let dynamic = inspect(&[text(&compile_plain("nothing", "plain", &[]))]);
    assert_eq!(
        (&dynamic["kind"], &dynamic["interception"]),
        (&json!("dynamic"), &json!("unknown"))
    );
    assert_eq!(dynamic["mpi"], Value::Null);
    let fixed = inspect(&[text(&compile_plain("nothing", "plain-static", &["-static"]))]);
    assert_eq!((&fixed["kind"], &fixed["interception"]), (&json!("static"), &json!("no")));
    let moved = inspect(&[text(&compile_plain("nothing", "plain-static-pie", &["-static-pie"]))]);
    assert_eq!((&moved["kind"], &moved["interception"]), (&json!("static"), &json!("no")));
}

#[test]
fn programs_that_contain_their_mpi() {
    for (name, flags, kind) in
        [("own-mpi-static", &["-static"][..], "static"), ("own-mpi", &[], "dynamic")]
    {
        let found = inspect(&[text(&compile_plain("static_mpi", name, flags))]);
        assert_eq!((&found["kind"], &found["interception"]), (&json!(kind), &json!("no")));
        assert!(found["reason"].as_str().unwrap().starts_with("MPI is statically linked"));
    }
}

/// Debian's MPICH comes with a `libmpich.a`. What that needs itself is not at hand, and the program
/// is not run.
#[test]
fn a_program_that_is_linked_to_a_static_mpich() {
    if mpi_name() != "mpich-debian" {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let usr = fs::canonicalize(setting("MPICC")).unwrap();
    let usr = usr.parent().unwrap().parent().unwrap();
    let mut cc = Command::new("cc");
    cc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/calls.c"));
    cc.arg("-I").arg(usr.join("include/x86_64-linux-gnu/mpich"));
    cc.arg(usr.join("lib/x86_64-linux-gnu/libmpich.a"));
    cc.args(["-Wl,--unresolved-symbols=ignore-all", "-lm", "-o", "calls"]);
    let linked = Outcome::of(cc.current_dir(folder.path()));
    assert_eq!(linked.status, Some(0), "{linked:?}");
    let program = folder.path().join("calls");
    for stripped in [false, true] {
        if stripped {
            assert_eq!(Outcome::of(Command::new("strip").arg(&program)).status, Some(0));
        }
        let found = inspect(&[text(&program)]);
        assert_eq!((&found["kind"], &found["interception"]), (&json!("dynamic"), &json!("no")));
        assert!(found["reason"].as_str().unwrap().starts_with("MPI is statically linked"));
    }
}

#[test]
fn programs_for_other_processors() {
    let folder = tempfile::tempdir().unwrap();
    let found = inspect(&[text(&elf32(folder.path()))]);
    assert_eq!((&found["kind"], &found["interception"]), (&json!("32-bit"), &json!("no")));
    // e_machine says AArch64.
    let mut arm = fs::read(compile("calls")).unwrap();
    arm[18..20].copy_from_slice(&183_u16.to_le_bytes());
    write_program(&folder.path().join("arm"), arm);
    let found = inspect(&[text(&folder.path().join("arm"))]);
    assert_eq!((&found["kind"], &found["interception"]), (&json!("other-processor"), &json!("no")));
}

#[test]
fn a_setuid_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("calls");
    let found = inspect(&[text(&setuid_program(folder.path(), &program))]);
    assert_eq!((&found["setuid"], &found["interception"]), (&json!(true), &json!("no")));
    // Its owner's rights are ours.
    let own = folder.path().join("own");
    fs::copy(&program, &own).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o4755)).unwrap();
    let found = inspect(&[text(&own)]);
    assert_eq!((&found["setuid"], &found["interception"]), (&json!(false), &json!("yes")));
}

#[test]
fn scripts_and_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        write_program(&path, content);
        text(&path).to_owned()
    };
    for (file, kind, interception) in [
        (write("job", b"#!/bin/sh\nexec ./app\n"), "script", "unknown"),
        (write("text", b"just text\n"), "no-program", "no"),
        (write("empty", b""), "no-program", "no"),
        (write("cut-off", b"\x7fELF\x02\x01"), "other-processor", "no"),
        ("/no/such/program".into(), "missing", "no"),
    ] {
        let found = inspect(&[&file]);
        assert_eq!((&found["kind"], &found["interception"]), (&json!(kind), &json!(interception)));
    }
    let outcome = mpi_tool(Path::new("/"), &["inspect", "/no/such/program"]);
    assert_eq!(
        (outcome.status, outcome.said()),
        (Some(2), vec!["/no/such/program: no such program"])
    );
}

#[test]
fn a_python_program() {
    let folder = tempfile::tempdir().unwrap();
    write_program(&folder.path().join("app"), "#!/usr/bin/env python3\nimport mpi4py.MPI\n");
    let with = |mpi4py: bool, words: &[&str]| {
        let mut command =
            mpi_tool_command(folder.path(), &[&["inspect", "--json"], words].concat());
        command.env_remove("PYTHONPATH");
        if mpi4py {
            command.env("PYTHONPATH", setting("MPI4PY"));
        }
        read(&Outcome::of(&mut command))
    };
    let without = with(false, &["python3", "app"]);
    assert_eq!((&without["kind"], &without["interception"]), (&json!("python"), &json!("unknown")));
    if !has_mpi4py() {
        return;
    }
    for words in [&["python3", "app"][..], &["./app"], &["env", "A=b", "python3", "-m", "app"]] {
        let found = with(true, words);
        assert_eq!((&found["kind"], &found["interception"]), (&json!("python"), &json!("yes")));
        assert_eq!(found["mpi"]["abi"], abi());
        assert_eq!(found["bindings"], json!(["mpi4py"]));
        assert!(Path::new(found["mpi"]["path"].as_str().unwrap()).is_file());
    }
}
