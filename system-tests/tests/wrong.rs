//! Levels that are no tools: MPI libraries, libraries that run stacks, and files of all other kinds. Each is
//! refused in one line that says what it is.

mod stack;

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_facts::Abi;
use stack::{expect_bad_level, expect_fine, expect_skip, expect_stop, program, with_tools};
use test_support::{Run, build_folder, tool, universal};

const MPI: &str = "an MPI library, not a tool (it defines PMPI_Init)";

/// The MPI library that the test programs are linked to, by the dynamic linker's own word.
fn mpi_library() -> PathBuf {
    let output = Command::new("ldd").arg(program()).output().expect("ldd runs");
    let listed = String::from_utf8(output.stdout).unwrap();
    let line = listed.lines().find(|line| line.trim_start().starts_with("libmpi")).unwrap();
    line.split_whitespace().find(|word| word.starts_with('/')).unwrap().into()
}

/// Compiles C without MPI's header.
fn compile_plain(name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let output = build_folder().join(name);
    let file = build_folder().join(format!("{name}.c"));
    fs::write(&file, source).unwrap();
    let mut cc = Command::new("cc");
    let result = cc.arg("-o").arg(&output).arg(&file).args(flags).output().expect("cc runs");
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    output
}

/// The program's own MPI library, by its path and by its bare name: without a look at it, its `PMPI_X` would
/// become the functions of the level below, and MPI would call the stack without end.
#[test]
fn an_mpi_library() {
    let library = mpi_library();
    expect_bad_level(&library, MPI);
    let name = Path::new(library.file_name().unwrap());
    expect_bad_level(name, MPI);
}

/// The library of another MPI is an MPI library first, and of another ABI second.
#[test]
fn the_library_of_another_mpi() {
    let own = test_support::abi();
    for (mpi, library, abi) in [
        ("mpich-5.0.2", "libmpi.so.12", Abi::Mpich),
        ("mpich-5.0.2", "libmpi_abi.so.1", Abi::Standard),
        ("openmpi-5.0.11", "libmpi.so.40", Abi::OpenMpi),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/mpi");
        let library = fs::canonicalize(folder).unwrap().join(mpi).join("lib").join(library);
        if abi != own {
            expect_bad_level(&library, MPI);
        }
    }
}

/// An MPI that has its `PMPI_X` in a library of their own looks like a PMPI tool but for its name.
#[test]
fn an_mpi_library_without_pmpi_functions_of_its_own() {
    let soname = match test_support::abi() {
        Abi::Mpich => "libmpi.so.12",
        Abi::OpenMpi => "libmpi.so.40",
        Abi::Standard => "libmpi_abi.so.1",
    };
    let source = "int PMPI_Init(int *, char ***); int MPI_Init(int *c, char ***v) { return PMPI_Init(c, v); }";
    let library = compile_plain(
        "libfront.so",
        source,
        &["-shared", "-fPIC", &format!("-Wl,-soname,{soname}")],
    );
    expect_bad_level(&library, &format!("an MPI library, not a tool (its soname is {soname})"));
    // The same tool under a name of its own is a level.
    let tool = compile_plain("libordinary.so", source, &["-shared", "-fPIC"]);
    expect_fine(&with_tools(&[&tool]).run());
}

/// `libqmpi.so` in its own stack, the one of TUM's (by what it exports), and a universal build of ours.
#[test]
fn a_library_that_runs_stacks() {
    let what = "libqmpi.so itself, which runs a stack and cannot be a level of one";
    expect_bad_level(&tool("qmpi"), what);
    expect_bad_level(&universal("qmpi"), what);
    let source = "int MPI_Init(int *c, char ***v) { return 0; } \
                  int QMPI_Table_query(int id, void **f, void *t) { return 1; } \
                  int exec_func(void *f, int l, int id, void *v, ...) { return 0; }";
    expect_bad_level(&compile_plain("libtums.so", source, &["-shared", "-fPIC"]), what);
    // A tool for TUM's QMPI may carry these functions for itself.
    let more =
        "int PMPI_Init(int *, char ***); char *get_interceptions(int id) { return \"NULL\"; }";
    let own = compile_plain("libown.so", &format!("{source} {more}"), &["-shared", "-fPIC"]);
    expect_fine(&with_tools(&[&own]).run());
}

/// Without the build for this ABI, which would be the level.
#[test]
fn a_universal_build_alone() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("libcall_counter.so");
    fs::copy(universal("call_counter"), &alone).unwrap();
    let abi = test_support::abi().name();
    expect_bad_level(
        &alone,
        &format!(
            "a universal build, but the build for this MPI, {abi}/libcall_counter.so beside it, is missing"
        ),
    );
}

#[test]
fn files_of_other_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    expect_bad_level(folder.path(), "a directory, not a shared object");
    fs::write(
        place("libtext.so"),
        "a text, and a long one, so that a header would fit into it: ".repeat(9),
    )
    .unwrap();
    expect_bad_level(&place("libtext.so"), "not a shared object");
    fs::write(place("libempty.so"), "").unwrap();
    expect_bad_level(&place("libempty.so"), "not a shared object");
    symlink("libloop.so", place("libloop.so")).unwrap();
    expect_bad_level(&place("libloop.so"), "cannot be opened: Too many levels of symbolic links");
    symlink("gone", place("libgone.so")).unwrap();
    expect_bad_level(&place("libgone.so"), "no such file");
    // Nobody will ever write to it, and the other one never ends.
    let pipe = CString::new(place("libpipe.so").as_os_str().as_bytes()).unwrap();
    // SAFETY: `mkfifo` reads the C string, which lives until it returns.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    expect_bad_level(&place("libpipe.so"), "a pipe, a device or a socket, not a shared object");
    expect_bad_level(Path::new("/dev/zero"), "a pipe, a device or a socket, not a shared object");

    let data = fs::read(tool("call_counter")).unwrap();
    let mut bits32 = data.clone();
    bits32[4] = 1;
    fs::write(place("lib32.so"), bits32).unwrap();
    expect_bad_level(&place("lib32.so"), "a 32-bit shared object; this process is a 64-bit one");
    let mut other = data.clone();
    // EM_AARCH64
    other[18..20].copy_from_slice(&[183, 0]);
    fs::write(place("libarm.so"), other).unwrap();
    expect_bad_level(&place("libarm.so"), "a shared object for another kind of processor");
    fs::write(place("libhalf.so"), &data[..data.len() / 2]).unwrap();
    expect_bad_level(&place("libhalf.so"), "damaged or cut off");
    let object = compile_plain("object.o", "int x;", &["-c"]);
    expect_bad_level(&object, "an object file or a program, not a shared object");
    expect_bad_level(program(), "not a tool: it exports neither");
}

/// A stack file knows no separator: blanks and colons are part of a path. `TOOLS` splits at colons only.
#[test]
fn blanks_and_colons_in_paths() {
    let run = Run::new(program(), 2).preload(tool("qmpi"));
    let folder = run.folder.path().join("my tools: new");
    fs::create_dir(&folder).unwrap();
    let copy = folder.join("lib counter.so");
    fs::copy(tool("call_counter"), &copy).unwrap();
    let file = run.folder.path().join("stack.toml");
    fs::write(&file, format!("[[level]]\npath = {copy:?}\n")).unwrap();
    let outcome = run.variable("QMPI_STACK", file.to_str().unwrap()).run();
    expect_fine(&outcome);
    assert!(outcome.stderr.contains("MPI_Send: 10"), "{}", outcome.stderr);

    let run = Run::new(program(), 2).preload(tool("qmpi"));
    let blank = run.folder.path().join("my tools");
    fs::create_dir(&blank).unwrap();
    let copy = blank.join("lib counter.so");
    fs::copy(tool("call_counter"), &copy).unwrap();
    let outcome = run.variable("TOOLS", copy.to_str().unwrap()).run();
    expect_fine(&outcome);
    assert!(outcome.stderr.contains("MPI_Send: 10"), "{}", outcome.stderr);
}

/// Lists that name no file.
#[test]
fn lists_of_odd_words() {
    let run = |tools: &str| Run::new(program(), 2).preload(tool("qmpi")).variable("TOOLS", tools);
    expect_stop(&run(" "), &["libqmpi: level 1 ( ): "]);
    expect_skip(run(" "), &["libqmpi: level 1 ( ): "], false);
    expect_stop(
        &run(":"),
        &["libqmpi: level 1 (): an empty path", "libqmpi: level 2 (): an empty path"],
    );
    expect_stop(&run("libnowhere.so"), &["libqmpi: level 1 (libnowhere.so): cannot be loaded: "]);
}
