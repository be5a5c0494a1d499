//! Format, lints, documentation, and what may lie in the repository, as CI wants them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::environment;
use crate::publish;
use crate::step::{cargo, output, run, step};

pub(crate) fn run_all() -> Result<()> {
    let mpi = environment::mpich()?;
    let cargo = || {
        let mut cargo = cargo();
        cargo.current_dir(environment::root()).envs(mpi.variables());
        cargo
    };
    step("Files", files)?;
    step("The way from the list to a tool", reading_path)?;
    step("Documentation for authors of tools", documentation_of_the_layer)?;
    step("Crates for crates.io", publish::lint)?;
    step("Format", || run(cargo().args(["fmt", "--all", "--check"])))?;
    step("Lints", || {
        run(cargo()
            .args(["clippy", "--quiet", "--workspace", "--all-targets"])
            .args(["--", "--deny", "warnings"]))
    })?;
    step("Documentation", || {
        run(cargo()
            .args(["doc", "--quiet", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "--deny warnings"))
    })
}

/// How the names of sources end.
const SOURCES: &[&str] =
    &["rs", "toml", "md", "c", "h", "cc", "F90", "py", "sh", "stderr", "html", "css", "js", "svg"];

/// Other files, by their paths; `*` at an end stands for one name in a folder.
const NAMED: &[&str] = &[
    ".ci/*",
    ".gitignore",
    "Cargo.lock",
    "LICENSE-*",
    "bench-harness/tests/thesis_reference.json",
    "docs/schemas/mpi-tool-check-1.json",
    "docs/schemas/mpi-tool-report-1.json",
    "docs/schemas/mpi-tool-report-2.json",
    "docs/schemas/mpi-tool-trace-1.json",
    "mpi-tool-layer/tests/programs/*",
    "mpi-tool-layer/tests/visibility/rsmpi/Cargo.lock",
    "mpi-tool-layer/LICENSE-*",
    "mpi-tool/LICENSE-*",
    "packaging/easybuild/*",
    "packaging/spack/repo.yaml",
    "rmpi/LICENSE-*",
    "rmpi/actors/LICENSE-*",
    "rmpi/facts/LICENSE-*",
    "rmpi/macros/LICENSE-*",
    "rmpi/mpi-sys/LICENSE-*",
    "rmpi/pgas/LICENSE-*",
    "rmpi/mpi-sys/tests/qmpi_ids.tsv",
    "rmpi/tests/valgrind.supp",
    "tool-macros/LICENSE-*",
    "xtask/environments/*",
];

/// Why a file is not one of this project; nothing if it is.
fn is_strange(path: &str, contents: &[u8]) -> Option<&'static str> {
    let is_named = NAMED.iter().any(|name| match name.strip_suffix('*') {
        Some(folder) => path.strip_prefix(folder).is_some_and(|rest| !rest.contains('/')),
        None => path == *name,
    });
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    if !is_named && !extension.is_some_and(|extension| SOURCES.contains(&extension)) {
        return Some("neither source nor data that xtask/src/lint.rs names");
    }
    let Ok(text) = std::str::from_utf8(contents) else { return Some("not text") };
    if text.contains('\0') {
        return Some("not text");
    }
    let is_long = extension == Some("rs") && text.lines().count() > MOST_LINES;
    (is_long && path != THE_LIST).then_some("too long to be read at once: more than 600 lines")
}

/// So many lines has a file in Rust, but for the list of MPI's functions.
const MOST_LINES: usize = 600;
const THE_LIST: &str = "rmpi/facts/src/list.rs";

/// The files that a page names between backquotes in the numbered lines of a section.
fn named_in_order<'a>(page: &'a str, section: &str) -> Vec<&'a str> {
    let lines = page.lines().skip_while(|line| *line != section).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("## "));
    let is_numbered = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    // A file may be named in the second line of a number.
    let lines = lines.skip_while(|line| !is_numbered(line)).take_while(|line| !line.is_empty());
    lines
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|name| name.ends_with(".rs") && name.contains('/'))
        .collect()
}

/// A newcomer reads what leads from the list to a tool in an hour: at most ten files and 2,500 lines.
fn reading_path() -> Result<()> {
    let root = environment::root();
    let page = "docs/architecture.md";
    let text = fs::read_to_string(root.join(page)).context(page)?;
    let files = named_in_order(&text, "## From the list to a tool");
    let mut lines = 0;
    for file in &files {
        let text = fs::read_to_string(root.join(file)).with_context(|| (*file).to_owned())?;
        lines += text.lines().count();
    }
    if files.len() > 10 || lines > 2500 || !files.contains(&THE_LIST) {
        bail!("{page} names {} files with {lines} lines to be read first: {files:?}", files.len());
    }
    Ok(())
}

/// Lines of documentation and of code in a file, without its tests and without comments.
fn documented(source: &str) -> [usize; 2] {
    let lines = source.lines().map(str::trim).take_while(|line| *line != "#[cfg(test)]");
    lines.fold([0, 0], |[documentation, code], line| {
        let is_documentation = line.starts_with("///") || line.starts_with("//!");
        let is_code = !line.is_empty() && !line.starts_with("//");
        [documentation + usize::from(is_documentation), code + usize::from(is_code)]
    })
}

/// Authors of tools read the framework: it has three lines of documentation for ten of code.
fn documentation_of_the_layer() -> Result<()> {
    let root = environment::root();
    let mut git = Command::new("git");
    git.current_dir(&root).args(["ls-files", "mpi-tool-layer/src/*.rs"]);
    let (mut documentation, mut code) = (0, 0);
    for path in output(&mut git)?.lines() {
        let file = root.join(path);
        if path.contains("/tests") || !file.exists() {
            continue;
        }
        let source = fs::read_to_string(&file).with_context(|| path.to_owned())?;
        let [of_documentation, of_code] = documented(&source);
        documentation += of_documentation;
        code += of_code;
    }
    if documentation * 10 < code * 3 {
        bail!(
            "mpi-tool-layer has {documentation} lines of documentation for {code} of code, where {} are wanted",
            (code * 3).div_ceil(10)
        );
    }
    Ok(())
}

/// Refuses what is neither source nor data that is known here: packages, programs, what a test left behind.
fn files() -> Result<()> {
    let root = environment::root();
    let mut git = Command::new("git");
    git.current_dir(&root);
    // Also what would come in by the next commit.
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut strange = Vec::new();
    for path in output(&mut git)?.split_terminator('\0') {
        let file = root.join(path);
        // Removed, and still in the index.
        if !file.exists() {
            continue;
        }
        let contents = fs::read(&file).with_context(|| path.to_owned())?;
        strange.extend(is_strange(path, &contents).map(|reason| format!("{path}: {reason}")));
    }
    if !strange.is_empty() {
        bail!("files that do not belong here:\n  {}", strange.join("\n  "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_programs_are_refused() {
        for (path, contents) in [
            ("mpi-1.0.0-py3-none-any.whl", &b"PK\x03\x04"[..]),
            ("core", b"\x7fELF"),
            ("tests/report.json", b"{}"),
            ("xtask/environments/more/mpich.txt", b"mpich"),
            ("src/lib.rs", b"\x7fELF\x00"),
            (".ci/run", b"\xff\xfe"),
        ] {
            assert!(is_strange(path, contents).is_some(), "{path}");
        }
    }

    #[test]
    fn documentation_is_counted_without_tests() {
        let source = "//! Module.\n\n// A comment.\n/// One.\nfn one() {\n}\n\n#[cfg(test)]\nmod tests {\n/// Two.\n}\n";
        assert_eq!(documented(source), [2, 2]);
    }

    #[test]
    fn long_files_are_refused() {
        let of = |lines: usize| "//\n".repeat(lines).into_bytes();
        assert_eq!(is_strange("src/lib.rs", &of(600)), None);
        assert!(is_strange("src/lib.rs", &of(601)).is_some());
        assert_eq!([THE_LIST, "docs/page.md"].map(|path| is_strange(path, &of(999))), [None; 2]);
    }

    #[test]
    fn files_are_named_in_numbered_lines() {
        let page = "## One\n1. `no/way.rs`\n## Two\ntext `a/b.rs`\n\n1. `a/c.rs`: `word`\n   and `d/e.rs`\n2. `f.rs`\n\n`g/h.rs`\n";
        assert_eq!(named_in_order(page, "## Two"), ["a/c.rs", "d/e.rs"]);
    }

    #[test]
    fn sources_and_named_data_are_not() {
        for path in
            ["src/lib.rs", "docs/design.md", ".ci/run", "Cargo.lock", "xtask/environments/imb.txt"]
        {
            assert_eq!(is_strange(path, "text, auch äöü".as_bytes()), None, "{path}");
        }
    }
}
