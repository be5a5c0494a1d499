//! `mpi-tool new` and `mpi-tool build`, by cargo and under a real MPI.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{
    FINE, Outcome, abi, compile, launcher, mpi_name, mpi_tool, setting, text, write_program,
};

#[test]
fn a_new_tool_builds_and_runs() {
    if mpi_name() == "mpich-debian" {
        // It takes a minute or two; another MPICH has the same ABI.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = mpi_tool(folder.path(), &["new", "tools/my-profiler"]);
    assert_eq!(made.status, Some(0), "{made:?}");
    let project = folder.path().join("tools/my-profiler");
    for file in ["Cargo.toml", "src/lib.rs", "README.md"] {
        assert!(project.join(file).is_file(), "{file}");
    }
    // The versions of dependencies that are here already.
    let framework = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::copy(framework.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();

    let mpicc = setting("MPICC").into_string().unwrap();
    // The compiler needs more time than a run.
    let mut build = Command::new("timeout");
    build.args(["1500", "nice", env!("CARGO_BIN_EXE_mpi-tool")]);
    build.args(["build", "--profile", "dev", "--universal"]);
    build.args(["--mpicc", &mpicc, "--mpicc", &mpicc]);
    // What it is made of stays for the next time.
    build.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-tool"));
    let built = Outcome::of(build.current_dir(&project));
    assert_eq!(built.status, Some(0), "{built:?}");
    let tools = fs::canonicalize(&project).unwrap().join("target/tools");
    let tool = tools.join(abi()).join("libmy_profiler.so");
    let universal = tools.join("libmy_profiler.so");
    let files = format!("{}\n{}\n", tool.display(), universal.display());
    assert_eq!(built.stdout, files, "{built:?}");
    assert!(
        built.said().contains(
            &format!("{mpicc}: has the {} ABI, like {mpicc}; the same tools serve both", abi())
                .as_str()
        ),
        "{built:?}"
    );

    // It is found in the project's folder.
    let [mpiexec, n, two] = launcher("2");
    let program = compile("calls");
    for stack in [&[][..], &["--qmpi"]] {
        let run = [&["run", "--tool", "my-profiler"], stack].concat();
        let words = ["--", &mpiexec, &n, &two, text(&program)];
        let outcome = mpi_tool(&project, &[&run[..], &words[..]].concat());
        assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
        let title = "# my-profiler 0.1.0: nanoseconds, summed over 2 ranks";
        assert!(outcome.stderr.contains(title), "{outcome:?}");
        assert!(outcome.stderr.contains("\nMPI_Barrier: "), "{outcome:?}");
    }
    // And by hand, without a word on the ABI.
    let mut by_hand = Command::new("timeout");
    by_hand.args(["60", &mpiexec, &n, &two]).arg(&program).env("LD_PRELOAD", &universal);
    let outcome = Outcome::of(&mut by_hand);
    assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
    assert!(outcome.stderr.contains("# my-profiler 0.1.0: nanoseconds, summed over 2 ranks"));

    let listed = mpi_tool(&project, &["list", "my-profiler"]);
    let description = "my-profiler 0.1.0: Measures the time that is spent in each MPI function\n";
    assert!(listed.stdout.starts_with(description), "{listed:?}");
}

#[test]
fn what_is_there_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("mine")).unwrap();
    for (arguments, line) in [
        (&["new", "mine"][..], "mine exists already; nothing was written"),
        (
            &["new", "2fast"],
            "`2fast` cannot be a tool's name: a name begins with a letter and contains only letters, digits, - and _",
        ),
        (
            &["new", "yours", "--framework", "mine"],
            "mine is not the framework's source tree (it has no mpi-tool-layer); --framework says \
             where that is, a path or a git URL",
        ),
    ] {
        let outcome = mpi_tool(folder.path(), arguments);
        assert_eq!((outcome.status, outcome.said()), (Some(2), vec![line]));
        assert!(!folder.path().join("yours").exists());
    }
    let git = ["new", "yours", "--framework", "https://example.org/rmpi.git"];
    assert_eq!(mpi_tool(folder.path(), &git).status, Some(0));
    let manifest = fs::read_to_string(folder.path().join("yours/Cargo.toml")).unwrap();
    let dependency = "mpi-tool-layer = { git = \"https://example.org/rmpi.git\" }\n";
    assert!(manifest.contains(dependency), "{manifest}");
}

#[test]
fn what_is_no_mpi_is_not_built_for() {
    let folder = tempfile::tempdir().unwrap();
    let framework = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let no_tools = format!(
        "no tools in this folder; building the framework's own, in {}",
        framework.display()
    );
    let build = |arguments: &[&str]| mpi_tool(folder.path(), &[&["build"], arguments].concat());
    let outcome = build(&["--mpicc", "/no/mpicc"]);
    assert_eq!(outcome.status, Some(2));
    assert_eq!(
        outcome.said(),
        [no_tools.as_str(), "/no/mpicc: No such file or directory (os error 2)"]
    );
    let outcome = build(&["--mpicc", "false"]);
    assert_eq!(outcome.status, Some(2));
    assert_eq!(
        outcome.said()[1..],
        [
            "false: not a compiler wrapper of an MPI: it prints nothing when it shall preprocess a program (-E)"
        ]
    );
    let outcome = build(&["--package", "no-tool"]);
    assert_eq!(outcome.status, Some(2));
    let said = outcome.said();
    assert!(
        said.len() == 2 && said[1].contains(": there is no tool named no-tool; the tools are ")
    );
    assert!(said[1].contains("call-counter") && said[1].contains("qmpi-shim"), "{said:?}");

    // A project that is none is not passed over.
    fs::write(folder.path().join("Cargo.toml"), "[package]\nname = 7\n").unwrap();
    let outcome = build(&[]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.said()[0].starts_with("./Cargo.toml: error: "), "{outcome:?}");
}

/// A project of one tool, `mine`, and a cargo that builds it, which runs a piece of shell script first.
fn with_a_cargo(folder: &Path, script: &str) {
    fs::write(folder.join("Cargo.toml"), "").unwrap();
    let cargo = format!(
        "#!/bin/sh\n\
         if [ \"$1\" = metadata ]; then\n\
         echo '{{\"workspace_root\": \"{0}\", \"target_directory\": \"{0}/target\", \"packages\": [\
         {{\"name\": \"mine\", \"targets\": [{{\"kind\": [\"cdylib\"]}}], \
         \"dependencies\": [{{\"name\": \"mpi-tool-layer\", \"kind\": null}}]}}]}}'\nexit\nfi\n\
         cd {0}\n{script}\n\
         echo '{{\"reason\": \"compiler-artifact\", \"target\": {{\"kind\": [\"cdylib\"]}}, \
         \"filenames\": [\"{0}/libmine.so\"]}}'\n",
        text(folder)
    );
    write_program(&folder.join("cargo"), cargo);
    fs::write(folder.join("libmine.so"), "").unwrap();
}

/// Tools need no MPI: without one they are built for all ABIs, and `--abi` chooses.
#[test]
fn without_an_mpi_all_abis_are_built_for() {
    let folder = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(folder.path()).unwrap();
    with_a_cargo(&here, "echo \"abi ${MPI_ABI-none}, mpicc ${MPICC-none}\" >> asked");
    write_program(&here.join("wrapper"), "#!/bin/sh\necho 'ABI: openmpi'\n");
    let build = |arguments: &[&str]| {
        let mut build = Command::new(env!("CARGO_BIN_EXE_mpi-tool"));
        build.arg("build").args(arguments).current_dir(&here).env("CARGO", here.join("cargo"));
        // The folder has no compiler wrapper of a usual name.
        build.env("PATH", &here).env_remove("MPICC").env("MPI_ABI", "mine");
        let _ = fs::remove_file(here.join("asked"));
        let outcome = Outcome::of(&mut build);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        let asked = fs::read_to_string(here.join("asked")).unwrap();
        (outcome, asked.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let (outcome, asked) = build(&[]);
    assert_eq!(
        outcome.said()[0],
        "no MPI found (no mpicc, no mpicc.mpich, no mpicc.openmpi, no mpicc_abi in PATH), so the tools are \
         built for all ABIs; choose with --mpicc or --abi"
    );
    let all = ["mpich", "openmpi", "standard"];
    assert_eq!(asked, all.map(|abi| format!("abi {abi}, mpicc none")));
    for abi in all {
        assert!(here.join("target/tools").join(abi).join("libmine.so").is_file(), "{abi}");
    }
    let (outcome, asked) = build(&["--abi", "standard", "--abi", "mpich", "--abi", "standard"]);
    assert_eq!(asked, ["abi standard, mpicc none", "abi mpich, mpicc none"]);
    assert_eq!(outcome.said()[0], "building for the standard ABI");
    // A compiler wrapper is asked what it is; no variable says it in its place.
    let (_, asked) = build(&["--abi", "mpich", "--mpicc", "./wrapper"]);
    assert_eq!(asked, ["abi mpich, mpicc none", "abi none, mpicc ./wrapper"]);
}

/// Cargo says what it compiles, while it does: minutes without a word would look like a hang.
#[test]
fn a_build_shows_its_progress() {
    let folder = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(folder.path()).unwrap();
    write_program(&here.join("mpicc"), "#!/bin/sh\ncat > rest\necho 'ABI: mpich'\n");
    // Says something only where it may, and goes on when somebody has read it.
    let script = "case \" $* \" in *' --quiet '*|*' -q '*) ;; *) echo '   Compiling mine v0.1.0' >&2 ;; esac\n\
         n=0; while [ ! -e read ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done\n\
         [ -e read ] || exit 1";
    with_a_cargo(&here, script);
    let mut build = Command::new(env!("CARGO_BIN_EXE_mpi-tool"));
    build.args(["build", "--mpicc", "./mpicc"]).current_dir(&here).env("CARGO", here.join("cargo"));
    build.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut build = build.spawn().unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(build.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.contains("Compiling mine") {
            fs::write(here.join("read"), "").unwrap();
        }
        said.push(line);
    }
    let output = build.wait_with_output().unwrap();
    assert!(output.status.success(), "{said:?}");
    assert_eq!(
        said,
        [
            "mpi-tool: building for the mpich ABI, with ./mpicc",
            "mpi-tool: the first build for an ABI takes some minutes",
            "   Compiling mine v0.1.0",
        ]
    );
    let tool = here.join("target/tools/mpich/libmine.so");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}\n", tool.display()));
}
