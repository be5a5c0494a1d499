//! Programs that reach MPI in other ways than by the dynamic linker's usual one, or that have something which must come first:
//! their calls are seen, or it is said that they are not.

use std::fs;

use test_support::Run;

use crate::common::{Outcome, abi, compile_source, launcher, limited, mpi_tool, tool, universal};

/// A sanitizer's runtime ends a process in which it is not the first library.
#[test]
fn a_program_with_a_sanitizer_runs_and_is_counted() {
    let source = r#"
        #include <mpi.h>
        #include <stdio.h>
        #include <stdlib.h>
        int main(int argc, char **argv)
        {
            MPI_Init(&argc, &argv);
            char *room = malloc(10);
            MPI_Barrier(MPI_COMM_WORLD);
            if (argc > 1) room[10 + argc] = 1;
            free(room);
            MPI_Finalize();
            puts("fine");
            return 0;
        }
    "#;
    let folder = tempfile::tempdir().unwrap();
    let [mpiexec, n, one] = launcher("1");
    for sanitizer in ["address", "undefined"] {
        let flag = format!("-fsanitize={sanitizer}");
        compile_source(folder.path(), "sanitized", source, &[&flag]);
        let inspect = mpi_tool(folder.path(), &["inspect", "./sanitized"]);
        assert!(inspect.stdout.contains("san.so"), "{inspect:?}");
        let run = |fault: &[&str]| {
            // MPI itself leaves memory behind.
            let leaks = "ASAN_OPTIONS=detect_leaks=0";
            let words = ["run", "--tool", "call-counter", "--", &mpiexec, &n, &one, "env", leaks];
            mpi_tool(folder.path(), &[&words[..], &["./sanitized"], fault].concat())
        };
        let fine = run(&[]);
        assert_eq!((fine.status, fine.lines()), (Some(0), vec!["fine"]), "{fine:?}");
        assert!(fine.stderr.contains("\nMPI_Barrier: 1\n"), "{fine:?}");
        if sanitizer == "address" {
            let wrong = run(&["wrong"]);
            assert!(wrong.stderr.contains("heap-buffer-overflow"), "{wrong:?}");
            assert_ne!(wrong.status, Some(0));
        }
    }
}

/// ThreadSanitizer's runtime comes behind the tools, and what MPI needs beside it is set, unless it is set already: mpi-check says
/// where the program touches a buffer that MPI uses.
#[test]
fn a_program_with_thread_sanitizer_is_told_of_its_loads() {
    let source = r#"
        #include <mpi.h>
        #include <stdio.h>
        int main(int argc, char **argv)
        {
            int value = 1, got = 0;
            MPI_Request request;
            MPI_Init(&argc, &argv);
            MPI_Irecv(&got, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request); /* begin */
            printf("%d\n", got); /* load */
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Finalize();
            return 0;
        }
    "#;
    let folder = tempfile::tempdir().unwrap();
    let [mpiexec, n, one] = launcher("1");
    compile_source(folder.path(), "threads", source, &["-g", "-fsanitize=thread"]);
    let check = |more: &[&str]| {
        let words = [&["check"], more, &["--", &*mpiexec, &*n, &*one, "./threads"]].concat();
        mpi_tool(folder.path(), &words)
    };
    let started = check(&["--dry-run"]);
    assert!(!started.stdout.contains("libtsan"), "{started:?}");
    for variable in [" UCX_MEM_EVENTS=n ", " PMIX_MCA_gds=hash "] {
        assert!(started.stdout.contains(variable), "{started:?}");
    }
    let checked = check(&[]);
    let line = |end: &str| {
        source.lines().position(|line| line.ends_with(&format!("/* {end} */"))).unwrap() + 1
    };
    let [load, begin] = ["load", "begin"].map(line);
    let said = format!(":{load} main, rank 0: the program reads a buffer that MPI_Irecv");
    assert!(checked.stderr.contains(&said), "{checked:?}");
    let other = format!(":{begin} main)");
    assert!(checked.stderr.contains(&other), "{checked:?}");
    // The sanitizer's own.
    assert_ne!(checked.status, Some(0), "{checked:?}");
}

/// As ctypes does: functions that are looked up in an opened library are its own, whatever is preloaded.
#[test]
fn calls_that_go_to_an_opened_library_are_said_to_be_unseen() {
    let source = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <string.h>
        int main(int argc, char **argv)
        {
            int flags = strcmp(argv[2], "deep") ? RTLD_LOCAL : RTLD_LOCAL | RTLD_DEEPBIND;
            void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | flags) : NULL;
            if (!library) return 9;
            if (!strcmp(argv[2], "all")) library = RTLD_DEFAULT;
            int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(library, "MPI_Init");
            int (*finalize)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
            if (!init || !finalize) return 8;
            if (!strcmp(argv[2], "nothing")) return 0;
            return init(NULL, NULL) || finalize();
        }
    "#;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("opens.c");
    fs::write(&file, source).unwrap();
    let program = folder.path().join("opens");
    let made = Outcome::of(limited("cc").arg("-o").arg(&program).arg(&file).arg("-ldl"));
    assert_eq!(made.status, Some(0), "{made:?}");
    // One of the names that this MPI may have.
    let names = test_support::abi().library_names().iter();
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    let is_there =
        |name: &String| Run::new(&program, 1).arguments(&[name, "nothing"]).run().status == Some(0);
    let name = names.find(is_there).unwrap();
    for counter in [tool("call_counter"), universal("call_counter")] {
        for (way, is_behind, said) in [
            ("handle", false, Some("preload the library behind the tool")),
            ("deep", false, Some("preload the library behind the tool")),
            ("handle", true, Some("from the library itself (dlsym on its handle")),
            ("nothing", false, None),
            ("nothing", true, None),
        ] {
            let mut run = Run::new(&program, 1).arguments(&[&name, way]).preload(&counter);
            if is_behind {
                run = run.preload(&name);
            }
            let outcome = run.run();
            outcome.expect_success(way);
            let is_said = outcome.stderr.contains("call-counter: ");
            assert_eq!(is_said, said.is_some(), "{way}, {is_behind}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(said.unwrap_or("")), "{way}: {}", outcome.stderr);
        }
        // What is said helps.
        let run = Run::new(&program, 1).arguments(&[&name, "all"]).preload(&counter).preload(&name);
        let outcome = run.run();
        outcome.expect_success("all");
        assert!(outcome.stderr.contains("\nMPI_Finalize: 1\n"), "{}", outcome.stderr);
    }
}

/// Two MPIs in one program: said before it starts.
#[test]
fn two_libraries_of_mpi_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (name, soname) = match abi() {
        "openmpi" => ("libmpi.so.12", "libmpi.so.12"),
        _ => ("libmpi.so.40", "libmpi.so.40"),
    };
    // What stands for the other one has its name, which is all that is known of it before.
    fs::write(folder.path().join("other.c"), "int other_mpi(void) { return 1; }").unwrap();
    let mut cc = limited("cc");
    cc.args(["-shared", "-fPIC", "-o", name, "other.c"]).arg(format!("-Wl,-soname,{soname}"));
    assert_eq!(Outcome::of(cc.current_dir(folder.path())).status, Some(0));
    let source = "#include <mpi.h>\nint other_mpi(void);\nint main(void) { MPI_Init(0, 0); return other_mpi() - 1 + MPI_Finalize(); }";
    compile_source(folder.path(), "both", source, &[&format!("./{name}"), "-Wl,-rpath,$ORIGIN"]);
    let inspect = mpi_tool(folder.path(), &["inspect", "./both"]);
    assert!(inspect.stdout.contains("two MPI libraries come with it"), "{inspect:?}");
    let dry = ["run", "--tool", "call-counter", "--dry-run", "--", "./both"];
    let dry = mpi_tool(folder.path(), &dry);
    assert!(dry.stderr.contains("two MPI libraries come with it"), "{dry:?}");
}
