//! `mpi-tool doctor` and `mpi-tool demo`, on this machine and on made-up ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Outcome, abi, mpi_tool_command, setting, text, write_program};

/// What the launchers of Debian 12 print of themselves.
const OPEN_MPI: &str = "mpiexec (OpenRTE) 4.1.4";
const HYDRA: &str = "HYDRA build details:\n    Version:                                 4.0.2";

/// The folder of this MPI's launcher.
fn bin() -> PathBuf {
    Path::new(&setting("MPIEXEC")).parent().unwrap().into()
}

/// `mpi-tool` on a machine that has programs in these folders only, and a C compiler.
fn on(path: &[&Path], arguments: &[&str]) -> Command {
    let path: Vec<_> =
        path.iter().copied().chain([Path::new("/usr/bin"), Path::new("/bin")]).collect();
    let mut command = mpi_tool_command(Path::new("/"), arguments);
    command.env("PATH", std::env::join_paths(path).unwrap()).env_remove("MPICC");
    command
}

/// A folder with what the tests themselves need, where `PATH` has no other.
fn bare(folder: &Path) -> PathBuf {
    let bare = folder.join("bare");
    fs::create_dir(&bare).unwrap();
    for name in ["timeout", "cat"] {
        symlink(Path::new("/usr/bin").join(name), bare.join(name)).unwrap();
    }
    bare
}

fn diagnosis(command: &mut Command) -> (Option<i32>, Value) {
    let outcome = Outcome::of(command);
    let json = serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    (outcome.status, json)
}

/// What is said of the MPIs of a launcher in this folder.
fn of_launcher<'a>(diagnosis: &'a Value, folder: &Path) -> Vec<&'a Value> {
    let launcher = |mpi: &Value| PathBuf::from(mpi["launcher"].as_str().unwrap_or_default());
    let all = diagnosis["mpis"].as_array().unwrap().iter();
    all.filter(|mpi| launcher(mpi).starts_with(folder)).collect()
}

fn problems(diagnosis: &Value) -> Vec<&str> {
    let all = diagnosis["problems"].as_array().unwrap().iter();
    for problem in all.clone() {
        assert!(!problem["todo"].as_str().unwrap().is_empty(), "{problem}");
    }
    all.map(|problem| problem["what"].as_str().unwrap()).collect()
}

/// A launcher that says this of itself, and is otherwise this script.
fn fake(folder: &Path, says: &str, script: &str) -> PathBuf {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then cat <<'END'\n{says}\nEND\nexit; fi\n{script}\n"
    );
    write_program(&bin.join("mpiexec"), script);
    bin
}

/// A library that is called as an MPI's, and says that it is one.
fn fake_library(folder: &Path, name: &str, says: &str) {
    let lib = folder.join("lib");
    fs::create_dir_all(&lib).unwrap();
    let source = folder.join("library.c");
    fs::write(&source, format!("const char text[] = \"{says}\";\n")).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", &format!("-Wl,-soname,{name}"), "-o"])
        .arg(lib.join(name))
        .arg(source);
    assert!(cc.status().unwrap().success());
}

#[test]
fn this_machine_works() {
    let (status, diagnosis) = diagnosis(&mut on(&[&bin()], &["doctor", "--json"]));
    assert_eq!(status, Some(0), "{diagnosis:#}");
    assert_eq!(
        (&diagnosis["schema"], &diagnosis["works"]),
        (&"mpi-tool-doctor/1".into(), &true.into())
    );
    let found = of_launcher(&diagnosis, &bin());
    let this = found.iter().find(|mpi| mpi["mpi"]["abi"] == abi()).unwrap();
    // Init, Comm_rank, Comm_size and Finalize, two Sendrecv and an Allreduce in each of ten steps, on two ranks.
    assert_eq!(
        this["test"],
        format!("two ranks, {} calls counted", 2 * (4 + 10 * 3)),
        "{diagnosis:#}"
    );
    assert!(this["tools"].as_array().unwrap().contains(&"call-counter".into()), "{diagnosis:#}");
    let outcome = Outcome::of(&mut on(&[&bin()], &["doctor"]));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains(&format!(", {} ABI: works\n", abi())), "{outcome:?}");
}

#[test]
fn a_machine_without_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = on(&[], &["doctor", "--json"]);
    // No launcher of the system, either.
    let bare = bare(folder.path());
    command.env("PATH", &bare).env_remove("LD_LIBRARY_PATH");
    let (status, diagnosis) = diagnosis(&mut command);
    assert_eq!(status, Some(1), "{diagnosis:#}");
    assert_eq!(diagnosis["works"], false);
    let mpis = diagnosis["mpis"].as_array().unwrap();
    // The system may have an MPI's library for itself.
    assert!(
        mpis.iter().all(|mpi| mpi["launcher"].is_null() && mpi["works"] == false),
        "{diagnosis:#}"
    );
    let says_so = problems(&diagnosis).iter().any(|what| what.starts_with("no MPI was found"));
    assert_eq!(says_so, mpis.is_empty(), "{diagnosis:#}");

    let outcome = Outcome::of(mpi_tool_command(Path::new("/"), &["demo"]).env("PATH", &bare));
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
    assert_eq!(
        outcome.said(),
        [
            "the example has run under no MPI: there is no MPI with a launcher in PATH; `mpi-tool doctor` says what to do"
        ]
    );
}

#[test]
fn a_broken_mpicc_is_told_and_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let mpicc = folder.path().join("mpicc");
    write_program(&mpicc, "#!/bin/sh\necho 'cannot open configuration' >&2\nexit 1\n");
    let (status, diagnosis) = diagnosis(&mut on(&[folder.path(), &bin()], &["doctor", "--json"]));
    assert_eq!(status, Some(0), "{diagnosis:#}");
    let line =
        format!("{}: not a compiler wrapper of an MPI: cannot open configuration", text(&mpicc));
    assert!(problems(&diagnosis).contains(&line.as_str()), "{diagnosis:#}");

    write_program(&mpicc, "#!/bin/sh\nexit 0\n");
    let (status, silent) =
        self::diagnosis(&mut on(&[folder.path(), &bin()], &["doctor", "--json"]));
    assert_eq!(status, Some(0), "{silent:#}");
    let line = format!("{}: not a compiler wrapper of an MPI: it prints nothing", text(&mpicc));
    assert!(problems(&silent).iter().any(|what| what.starts_with(&line)), "{silent:#}");
}

/// One that works, and one whose launcher fails, does not end, or is of no MPI that is there.
#[test]
fn two_mpis() {
    let folder = tempfile::tempdir().unwrap();
    let (says, library, version) = match abi() {
        "openmpi" => (HYDRA, "libmpi.so.12", "MPICH"),
        _ => (OPEN_MPI, "libmpi.so.40", "4.1.4"),
    };
    let fails = fake(folder.path(), says, "echo 'no network' >&2; exit 7");
    fake_library(folder.path(), library, version);
    let (status, both) = diagnosis(&mut on(&[&fails, &bin()], &["doctor", "--json"]));
    assert_eq!(status, Some(0), "{both:#}");
    assert!(of_launcher(&both, &bin()).iter().any(|mpi| mpi["works"] == true), "{both:#}");
    let broken = of_launcher(&both, &fails);
    assert_eq!(broken.len(), 1, "{both:#}");
    assert_eq!(broken[0]["works"], false);
    let what = broken[0]["problem"]["what"].as_str().unwrap();
    assert!(what.ends_with("two ranks fail (exit status: 7): no network"), "{what}");

    // Alone, it does not work, and it must not take for ever.
    let hangs = fake(folder.path(), says, "sleep 600 & wait");
    let begin = Instant::now();
    let mut alone = on(&[&hangs], &["doctor", "--json", "--timeout", "1"]);
    alone.env_remove("LD_LIBRARY_PATH");
    let (_, alone) = diagnosis(&mut alone);
    assert!(begin.elapsed() < Duration::from_secs(100), "{:?}", begin.elapsed());
    let hanging = of_launcher(&alone, &hangs);
    let what = hanging[0]["problem"]["what"].as_str().unwrap();
    assert!(what.contains("two ranks did not end within 1 s"), "{what}");
}

#[test]
fn a_launcher_without_a_library() {
    let folder = tempfile::tempdir().unwrap();
    let bin = fake(folder.path(), "nothing that is known", "exit 1");
    let path = std::env::join_paths([&bin, &bare(folder.path())]).unwrap();
    let mut command = on(&[], &["doctor", "--json"]);
    let (_, diagnosis) = diagnosis(command.env("PATH", path).env_remove("LD_LIBRARY_PATH"));
    assert_eq!(of_launcher(&diagnosis, &bin), [&Value::Null; 0], "{diagnosis:#}");
    let line = format!(
        "{}/mpiexec does not say of which MPI it is (--version): it says: nothing that is known",
        text(&bin)
    );
    assert!(problems(&diagnosis).contains(&line.as_str()), "{diagnosis:#}");
}

/// One that needs a library that is not there, one that prints nothing, and one that does not end.
#[test]
fn launchers_that_do_not_say_whose_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str, script: &str| {
        let bin = folder.path().join(name);
        fs::create_dir(&bin).unwrap();
        write_program(&bin.join("mpiexec"), script);
        bin
    };
    let lacks = folder.path().join("lacks");
    fs::create_dir(&lacks).unwrap();
    fake_library(folder.path(), "libgone.so.1", "any");
    let library = folder.path().join("lib/libgone.so.1");
    let source = folder.path().join("launcher.c");
    fs::write(&source, "extern const char text[];\nint main(void) { return text[0]; }\n").unwrap();
    let mut cc = Command::new("cc");
    cc.arg("-o").arg(lacks.join("mpiexec")).arg(source).arg(&library);
    assert!(cc.status().unwrap().success());
    fs::remove_file(library).unwrap();
    let silent = made("silent", "#!/bin/sh\n");
    let hangs = made("hangs", "#!/bin/sh\n/bin/sleep 600 & wait\n");
    let path = [&lacks, &silent, &hangs, &bare(folder.path())];
    let mut command = on(&[], &["doctor", "--json"]);
    command.env("PATH", std::env::join_paths(path).unwrap()).env_remove("LD_LIBRARY_PATH");
    let (_, diagnosis) = diagnosis(&mut command);
    let said = problems(&diagnosis);
    for (bin, why) in [
        (&lacks, "libgone.so.1: cannot open shared object file"),
        (&silent, ": it prints nothing"),
        (&hangs, ": it did not end within 10 s"),
    ] {
        let is_it = |what: &&&str| what.starts_with(text(bin)) && what.contains(why);
        assert_eq!(said.iter().filter(is_it).count(), 1, "{why}: {diagnosis:#}");
    }
}

/// The library, the launcher and the compiler of an MPI below a folder whose name has a space in it.
#[test]
fn an_mpi_in_a_folder_with_a_space() {
    let (_, here) = diagnosis(&mut on(&[&bin()], &["doctor", "--json"]));
    let found = of_launcher(&here, &bin());
    let this = found.iter().find(|mpi| mpi["mpi"]["abi"] == abi()).unwrap();
    let library = fs::canonicalize(this["mpi"]["path"].as_str().unwrap()).unwrap();
    let launcher = this["launcher"].as_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [bin, lib] = ["bin", "lib"].map(|name| folder.path().join("my mpi").join(name));
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(&lib).unwrap();
    for (name, real) in [("mpiexec", launcher), ("mpicc", text(Path::new(&setting("MPICC"))))] {
        write_program(&bin.join(name), format!("#!/bin/sh\nexec {real} \"$@\"\n"));
    }
    // The library itself is a copy: what is behind a link has no space in its path. It finds others beside it.
    let name = this["mpi"]["soname"].as_str().unwrap();
    for entry in fs::read_dir(library.parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != name {
            symlink(entry.path(), lib.join(entry.file_name())).unwrap();
        }
    }
    fs::copy(&library, lib.join(name)).unwrap();
    let mut command = on(&[&bin], &["doctor", "--json"]);
    let (status, diagnosis) = diagnosis(command.env("MPICC", bin.join("mpicc")));
    assert_eq!(status, Some(0), "{diagnosis:#}");
    let found = of_launcher(&diagnosis, &bin);
    let this = found.iter().find(|mpi| mpi["mpi"]["abi"] == abi()).unwrap();
    assert_eq!(this["works"], true, "{diagnosis:#}");
    assert!(this["mpi"]["path"].as_str().unwrap().starts_with(text(&lib)), "{diagnosis:#}");
    let of_wrapper = |what: &&&str| what.contains("mpicc");
    assert_eq!(problems(&diagnosis).iter().filter(of_wrapper).count(), 0, "{diagnosis:#}");
}

/// A launcher of the right family that does not tell ranks who they are.
#[test]
fn ranks_that_do_not_find_each_other() {
    // Open MPI's processes that no launcher has started start one themselves.
    if abi() == "openmpi" {
        return;
    }
    let (_, here) = diagnosis(&mut on(&[&bin()], &["doctor", "--json"]));
    let this = of_launcher(&here, &bin());
    let library = this.iter().find(|mpi| mpi["mpi"]["abi"] == abi()).unwrap()["mpi"]["path"]
        .as_str()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let twice = fake(folder.path(), HYDRA, "shift 2\n\"$@\" && exec \"$@\"");
    fs::create_dir(folder.path().join("lib")).unwrap();
    let link = folder.path().join("lib").join(Path::new(library).file_name().unwrap());
    symlink(library, link).unwrap();
    let (_, diagnosis) = diagnosis(&mut on(&[&twice], &["doctor", "--json"]));
    let alone = of_launcher(&diagnosis, &twice);
    let alone = alone.iter().find(|mpi| mpi["mpi"]["abi"] == abi()).unwrap();
    assert_eq!(
        alone["problem"]["what"],
        "also without tools, each process is rank 0 of 1: the launcher and the library are not of one MPI",
        "{diagnosis:#}"
    );
}

#[test]
fn the_demo_shows_a_profile() {
    let outcome = Outcome::of(&mut on(&[&bin()], &["demo", "-n", "2", "--steps", "5"]));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    for words in [
        "example: 2 ranks, 5 steps, ",
        "# mpi-profile ",
        "MPI_Allreduce, example.c:",
        " all_changes < example.c:",
        "mpi-tool check -- ",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {outcome:?}");
    }
}
