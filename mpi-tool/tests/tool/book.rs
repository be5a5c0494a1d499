//! Every command line of the README and of the book is run, page by page, or stands in a list that says why not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{
    Outcome, compile_with, has_mpi4py, launcher, limited, mpi_name, setting, text, tool, universal,
};

/// Beginnings of commands that are not run here, and why.
const NOT_RUN: [(&str, &str); 18] = [
    ("pip install", "`cargo xtask wheel` makes what it installs, and tries it"),
    ("tar -xzf", "`cargo xtask wheel` makes it"),
    ("apt-get install", "`cargo xtask wheel --debian` makes it"),
    ("module ", "`cargo xtask wheel` makes what it loads"),
    ("eb ", "needs EasyBuild, and what `cargo xtask wheel` makes"),
    ("spack ", "needs Spack"),
    ("cd target/wheel && spack", "needs Spack"),
    (
        "cargo install",
        "takes minutes; `cargo xtask package` and `cargo xtask wheel` build the same",
    ),
    ("cargo xtask", "is what runs these tests, or takes hours"),
    (
        "cargo new",
        "`projects::` makes and builds a project, and system-tests/tests/pages.rs runs this one's tool",
    ),
    ("cd mpi-time", "the folder of the project above"),
    ("cd call-times", "the folder of a project that `projects::` makes"),
    ("mpi-tool new", "`projects::` makes one"),
    ("MPI_ABI=mpich cargo build", "`cargo xtask test` builds all tools"),
    ("mpi-tool build", "`projects::` builds one"),
    ("mpif90", "needs a Fortran compiler: system-tests/tests/fortran.rs, under Debian's MPIs"),
    ("smpirun", "needs SimGrid: `exports::` replays a trace where it is installed"),
    ("mpi-tool run -- mpiexec -n 4 example", "is printed by `mpi-tool demo`"),
];

/// Commands whose exit status is not 0: the page, how they begin, and which it may be.
const STATUS: [(&str, &str, &[i32]); 5] = [
    // As the page says.
    ("docs/check.md", "mpi-tool check -- mpiexec -n 2 ./halo", &[66]),
    ("docs/hangs.md", "mpi-tool run --hang-after", &[124]),
    ("docs/right.md", "mpi-tool check --fail", &[1]),
    // Whether two runs differ is the machine's affair.
    ("docs/comparing.md", "bash compare.sh", &[0, 1]),
    (
        "docs/comparing.md",
        "mpi-tool report a1.json a2.json a3.json -- b1.json b2.json b3.json --fail-above",
        &[0, 1],
    ),
];

/// Pages that show their programs, so that what is printed must be as they show it, but for numbers.
const SHOWN: [&str; 3] = ["docs/first-profile.md", "docs/hangs.md", "docs/right.md"];

/// Lines that are printed only where there is something to say: how busy the machine is decides that.
const SOMETIMES: [&str; 4] = [
    "load imbalance costs",
    "communication costs",
    "start-up and shutdown take",
    " than the mean ",
];

/// What stands in a command for something that differs from run to run.
const REPLACED: [(&str, &str); 4] = [
    ("mpi-trace-hydra-node1-40247-5f0c2a91", "\"$MPI_TOOL_RUN\""),
    // Other tests have runs of their own.
    ("mpi-tool hang --svg", "mpi-tool hang \"$MPI_TOOL_RUN\" --svg"),
    ("mpi-tool clean", "mpi-tool clean \"$MPI_TOOL_RUN\""),
    ("python3 ring.py", "\"$PYTHON\" ring.py"),
];

#[derive(Debug)]
struct Line {
    number: usize,
    command: String,
    shown: Vec<String>,
}

struct Page {
    name: String,
    lines: Vec<Line>,
    /// Programs that the page shows, by their names.
    files: BTreeMap<String, String>,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn pages() -> Vec<Page> {
    let mut names: Vec<String> = ["README.md", "CONTRIBUTING.md"].map(str::to_owned).into();
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    names.into_iter().map(read).collect()
}

/// The commands of a page, which stand behind `$ ` in blocks of the kind `console`, and the programs behind a line
/// `<!-- file NAME -->`.
fn read(name: String) -> Page {
    let text = fs::read_to_string(root().join(&name)).unwrap();
    let (mut lines, mut files) = (Vec::<Line>::new(), BTreeMap::new());
    let mut block = None;
    let mut file: Option<&str> = None;
    for (number, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if let Some(kind) = start.strip_prefix("```") {
            block = match block {
                None => Some(kind),
                Some(_) => {
                    file = None;
                    None
                }
            };
        } else if let (Some(_), Some(file)) = (block, file) {
            let content: &mut String = files.entry(file.to_owned()).or_default();
            writeln!(content, "{line}").unwrap();
        } else if block == Some("console") {
            match start.strip_prefix("$ ") {
                Some(command) => {
                    let command = command.split("   #").next().unwrap().trim().to_owned();
                    lines.push(Line { number: number + 1, command, shown: Vec::new() });
                }
                None => lines.last_mut().expect("a command first").shown.push(start.to_owned()),
            }
        } else if let Some(name) = line.strip_prefix("<!-- file ") {
            file = name.strip_suffix(" -->");
        }
    }
    Page { name, lines, files, text }
}

/// Why a command of a page is not run, if it is not.
fn not_run(line: &Line) -> Option<&'static str> {
    if line.command.contains("ring.py") && !has_mpi4py()
        || line.command.contains("ring.json") && !has_mpi4py()
    {
        return Some("mpi4py does not find this MPI");
    }
    NOT_RUN.iter().find(|(start, _)| line.command.starts_with(start)).map(|(_, why)| *why)
}

/// A folder in which the commands of a page find what they name.
fn prepare(folder: &Path, page: &Page) {
    for (name, content) in &page.files {
        fs::write(folder.join(name), content).unwrap();
    }
    // Programs of people, on pages that do not show them.
    let calls = compile_with(setting("MPICC"), "calls", "calls-with-lines", &["-g"]);
    for name in ["application", "app", "solver", "waits", "before", "after"] {
        fs::copy(&calls, folder.join(name)).unwrap();
    }
    let shown = |other: &str, file: &str| read(other.to_owned()).files[file].clone();
    if page.name == "docs/comparing.md" {
        let heat = shown("docs/first-profile.md", "heat.c");
        assert!(heat.contains("STEPS = 100"));
        fs::write(folder.join("heat.c"), heat.replace("STEPS = 100", "STEPS = 10")).unwrap();
    }
    if page.name == "docs/mpi-watch.md" {
        fs::write(folder.join("stuck.c"), shown("docs/hangs.md", "stuck.c")).unwrap();
        let mut cc = Command::new(setting("MPICC"));
        cc.args(["-g", "-o", "solver", "stuck.c"]).current_dir(folder);
        assert!(cc.status().unwrap().success());
    }
    // Tools by hand, at the places that pages name.
    let tools = tool("call_counter").parent().unwrap().to_owned();
    let anywhere = universal("call_counter").parent().unwrap().to_owned();
    for (link, target) in [
        ("target/release", &tools),
        ("target/tools", &anywhere),
        (".local/lib/mpi-tools", &anywhere),
        ("libcall_counter.so", &tool("call_counter")),
        ("libfirst.so", &tool("call_counter")),
        ("libsecond.so", &tool("empty_raw")),
    ] {
        let link = folder.join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }
    fs::create_dir(folder.join("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_mpi-tool"), folder.join("bin/mpi-tool")).unwrap();
}

/// A shell that runs the commands of a page in its folder.
fn shell(folder: &Path) -> Command {
    let [mpiexec, ..] = launcher("1");
    let programs = PathBuf::from(mpiexec).parent().unwrap().to_owned();
    let joined = |first: &[&Path], variable: &str| {
        let rest = std::env::var_os(variable).unwrap_or_default();
        let all = first.iter().map(|path| (*path).to_owned()).chain(std::env::split_paths(&rest));
        std::env::join_paths(all).unwrap()
    };
    let tools = tool("call_counter").parent().unwrap().to_owned();
    let python = root().join("python");
    let mpi4py = std::env::var_os("MPI4PY").unwrap_or_default();
    let mut shell = limited("bash");
    shell
        .current_dir(folder)
        .env("PATH", joined(&[&folder.join("bin"), &programs], "PATH"))
        .env("LD_LIBRARY_PATH", joined(&[&tools], "LD_LIBRARY_PATH"))
        .env("PYTHONPATH", joined(&[&python, Path::new(&mpi4py)], "PYTHONPATH"))
        .env("PYTHON", "python3")
        .env("MPI_TOOL_PATH", &tools)
        .env("MPI_TOOL_RUN", folder.join("run"))
        .env("HOME", folder);
    shell
}

/// A line without what differs from run to run: numbers are `0`, with or without a sign, paths are `/`, and blanks are one.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for word in line.split_whitespace() {
        let unsigned = word.trim_start_matches(['+', '-']);
        let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit());
        let word = if is_number { unsigned } else { word };
        if word.starts_with('/') {
            shape.push('/');
        } else {
            for c in word.chars() {
                let c = if c.is_ascii_digit() { '0' } else { c };
                if !(c == '0' && shape.ends_with('0')) {
                    shape.push(c);
                }
            }
        }
        shape.push(' ');
    }
    shape.replace("0.0", "0").trim_end().to_owned()
}

/// What was printed has each line that the page shows; one that ends in `…` may go on.
fn compare(page: &Page, line: &Line, printed: &str) {
    let printed_shapes: Vec<String> = printed.lines().map(shape).collect();
    let is_certain =
        |shown: &&String| *shown != "…" && !SOMETIMES.iter().any(|words| shown.contains(words));
    for shown in line.shown.iter().filter(is_certain) {
        let expected = shape(shown.trim_end_matches('…'));
        let is_there = printed_shapes.iter().any(|line| match shown.ends_with('…') {
            true => line.starts_with(&expected),
            false => *line == expected,
        });
        assert!(
            is_there,
            "{}:{}: `{}` should print a line like\n{shown}\nand prints\n{printed}",
            page.name, line.number, line.command
        );
    }
}

/// Runs the commands of a page in order, in one shell.
fn run(page: &Page, done: &mut BTreeSet<String>) {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), page);
    let mut script = "set -m\n".to_owned();
    let mut begun = Vec::new();
    for line in page.lines.iter().filter(|line| not_run(line).is_none()) {
        // What does the same on several pages is run once.
        let is_alone = ["mpi-tool doctor", "mpi-tool demo"].contains(&line.command.as_str());
        if is_alone && !done.insert(line.command.clone()) {
            continue;
        }
        let mut command = line.command.clone();
        if command == "mpi-tool hang" {
            command += " \"$MPI_TOOL_RUN\"";
        }
        for (word, other) in REPLACED {
            command = command.replace(word, other);
        }
        writeln!(script, "{{\n{command}\n}} >out{0} 2>err{0}; echo $? >status{0}", line.number)
            .unwrap();
        if command.ends_with('&') {
            // A person would see that it hangs.
            script += "until mpi-tool hang \"$MPI_TOOL_RUN\" 2>&1 | grep -q Deadlock; do sleep 0.2; done\n";
        }
        begun.push(line);
    }
    if ["docs/comparing.md", "docs/mpi-tool.md"].contains(&page.name.as_str()) {
        let profile = "mpi-tool run --tool mpi-profile --format json --output before.json -- mpiexec -n 2 ./app\n\
            for name in profile after a1 a2 a3 b1 b2 b3; do cp before.json $name.json; done\n";
        script = format!("{profile}{script}");
    }
    script += "kill %1 2>/dev/null; wait; exit 0\n";
    fs::write(folder.path().join("page.sh"), &script).unwrap();
    let outcome = Outcome::of(shell(folder.path()).arg("page.sh"));
    assert_eq!(outcome.status, Some(0), "{}: {outcome:?}\n{script}", page.name);
    for line in begun {
        let read = |kind: &str| {
            let file = folder.path().join(format!("{kind}{}", line.number));
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", text(&file)))
        };
        let status: i32 = read("status").trim().parse().unwrap();
        let printed = read("out") + &read("err");
        let expected = STATUS
            .iter()
            .find(|(name, start, _)| page.name == *name && line.command.starts_with(start));
        let expected = expected.map_or(&[0][..], |(_, _, statuses)| statuses);
        let place = format!("{}:{}", page.name, line.number);
        assert!(
            expected.contains(&status),
            "{place}: `{}` ended with {status}\n{printed}",
            line.command
        );
        if SHOWN.contains(&page.name.as_str()) {
            compare(page, line, &printed);
        }
    }
}

#[test]
fn every_command_of_the_pages_runs() {
    let pages = pages();
    let lines = || pages.iter().flat_map(|page| &page.lines);
    for (start, why) in NOT_RUN {
        assert!(
            lines().any(|line| line.command.starts_with(start))
                || start == "mpi-tool new"
                || start == "cd call-times",
            "no page has `{start}` any more, of which it is said that it {why}"
        );
    }
    for (name, start, _) in STATUS {
        let page = pages.iter().find(|page| page.name == name).unwrap();
        assert!(page.lines.iter().any(|line| line.command.starts_with(start)), "{name}: {start}");
    }
    if !mpi_name().starts_with("mpich-5") {
        // One MPI is enough for pages: other tests run the commands under all.
        eprintln!("the pages' commands are run under MPICH 5 only");
        return;
    }
    let mut done = BTreeSet::new();
    let mut count = 0;
    for page in &pages {
        if page.lines.iter().any(|line| not_run(line).is_none()) {
            run(page, &mut done);
            count += page.lines.len();
        }
    }
    assert!(count > 50, "{count}");
}

/// Commands in the text, which may leave out what is clear: their options are those of the command.
#[test]
fn every_option_in_the_pages_exists() {
    let mut helps = BTreeMap::new();
    let mut help = |command: &str| -> String {
        let read = || {
            let mut mpi_tool = Command::new(env!("CARGO_BIN_EXE_mpi-tool"));
            Outcome::of(mpi_tool.args([command, "--help"])).stdout
        };
        helps.entry(command.to_owned()).or_insert_with(read).clone()
    };
    let mut checked = 0;
    for page in pages() {
        // Blocks of code have other quotes.
        let text: String = page.text.split("```").step_by(2).collect();
        let in_text = text.split('`').skip(1).step_by(2).map(str::to_owned);
        let all = in_text.chain(page.lines.iter().map(|line| line.command.clone()));
        for code in all.filter(|code| code.starts_with("mpi-tool ")) {
            let mut words = code.split_whitespace().skip(1).take_while(|word| *word != "--");
            let Some(command) = words.next().filter(|word| word.chars().all(char::is_lowercase))
            else {
                continue;
            };
            let help = help(command);
            assert!(!help.is_empty(), "{}: `{code}`: there is no such command", page.name);
            for option in words.filter(|word| word.starts_with("--")) {
                let option = option.split('=').next().unwrap();
                let has = help.split_whitespace().any(|word| {
                    word.trim_end_matches(',').split(['=', '[', '<']).next() == Some(option)
                });
                assert!(has, "{}: `{code}`: `mpi-tool {command}` has no {option}", page.name);
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "{checked}");
}

/// What people from C see as their own code is that: each part of the page compiles, with the variables that it takes as
/// given.
#[test]
fn c_of_the_page_for_people_from_c_compiles() {
    let page = fs::read_to_string(root().join("docs/rmpi-from-c.md")).unwrap();
    let parts = page.split("```c\n").skip(1).map(|part| part.split("```").next().unwrap());
    let mut program =
        "#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\n#include <stdlib.h>\nvoid compute(void);\n"
            .to_owned();
    let mut count = 0;
    for part in parts {
        count += 1;
        if part.starts_with("int main(") {
            program += part;
        } else {
            let given = "int rank, int size, int left, int right, int count, double value, double *mine, \
                double *theirs, double *numbers, int *all, void *particles";
            // Older MPIs lack these.
            let version = if part.contains("MPI_Psend_init") { 4 } else { 1 };
            let part = format!("void part{count}({given}) {{ {{\n{part}}} }}");
            writeln!(program, "#if MPI_VERSION >= {version}\n{part}\n#endif").unwrap();
        }
    }
    assert!(count >= 7, "{count}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.c"), program).unwrap();
    let mut cc = Command::new(setting("MPICC"));
    cc.args(["-fsyntax-only", "-Wall", "-Wno-unused-but-set-variable", "-Werror", "page.c"]);
    let outcome = Outcome::of(cc.current_dir(folder.path()));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}
