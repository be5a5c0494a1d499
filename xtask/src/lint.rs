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
    step("Assembly", assembly)?;
    step("The way from the list to a tool", reading_path)?;
    step("Crates for crates.io", publish::lint)?;
    step("Format", || run(cargo().args(["fmt", "--all", "--check"])))?;
    step("Lints", || {
        run(cargo()
            .args(["clippy", "--quiet", "--workspace", "--all-targets"])
            .args(["--", "--deny", "warnings"]))
    })?;
    step("Documentation", || {
        run(cargo()
            .args(["doc", "--quiet", "--workspace", "--no-deps", "--all-features"])
            .env("RUSTDOCFLAGS", "--deny warnings"))
    })
}

/// How the names of sources end.
const SOURCES: &[&str] = &[
    "rs", "toml", "md", "c", "h", "cc", "F90", "py", "sh", "stderr", "html", "css", "js", "svg",
    "snap",
];

/// Other files, by their paths; `*` at an end stands for one name in a folder.
const NAMED: &[&str] = &[
    ".ci/*",
    ".gitignore",
    "Cargo.lock",
    "LICENSE-*",
    "bench-harness/tests/thesis_reference.json",
    "docs/schemas/mpi-tool-check-1.json",
    "docs/schemas/mpi-tool-comparison-1.json",
    "docs/schemas/mpi-tool-log-1.json",
    "docs/schemas/mpi-tool-report-1.json",
    "docs/schemas/mpi-tool-report-2.json",
    "docs/schemas/mpi-tool-samples-1.json",
    "docs/schemas/mpi-tool-scaling-1.json",
    "docs/schemas/mpi-tool-top-1.json",
    "docs/schemas/mpi-tool-trace-1.json",
    "system-tests/tests/programs/*",
    "system-tests/tests/visibility/rsmpi/Cargo.lock",
    "mpi-check-engine/LICENSE-*",
    "mpi-tool-layer/LICENSE-*",
    "mpi-tool-python/LICENSE-*",
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
    "system-tests/tests/valgrind.supp",
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
    let is_text = std::str::from_utf8(contents).is_ok_and(|text| !text.contains('\0'));
    (!is_text).then_some("not text")
}

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

/// What a newcomer reads, from the list to a tool, is there.
fn reading_path() -> Result<()> {
    let root = environment::root();
    let page = "docs/architecture.md";
    let text = fs::read_to_string(root.join(page)).context(page)?;
    let files = named_in_order(&text, "## From the list to a tool");
    let missing: Vec<_> = files.iter().filter(|file| !root.join(file).is_file()).collect();
    if !missing.is_empty() || !files.contains(&THE_LIST) {
        bail!(
            "{page} leads from the list to a tool by {files:?}, of which these are not there: {missing:?}"
        );
    }
    Ok(())
}

/// The places where assembly may be: what depends on the processor, and tables of addresses, which are data.
const WITH_ASSEMBLY: [&str; 2] = ["mpi-tool-layer/src/arch/", "rmpi/mpi-sys/src/pmpi.rs"];

/// Has a source assembly that is to be elsewhere?
fn has_strange_assembly(path: &str, text: &str) -> bool {
    let is_allowed = WITH_ASSEMBLY.iter().any(|place| path.starts_with(place));
    // The name is in two parts, so that this file does not contain it.
    path.ends_with(".rs") && !is_allowed && text.contains(concat!("asm", "!"))
}

/// All assembly is in the room for what depends on the processor.
fn assembly() -> Result<()> {
    let root = environment::root();
    let mut git = Command::new("git");
    git.current_dir(&root).args(["ls-files", "-z", "*.rs"]);
    let mut strange = Vec::new();
    for path in output(&mut git)?.split_terminator('\0') {
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        if has_strange_assembly(path, &text) {
            strange.push(path.to_owned());
        }
    }
    if !strange.is_empty() {
        bail!("assembly outside of {}:\n  {}", WITH_ASSEMBLY.join(" and "), strange.join("\n  "));
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
    fn assembly_has_one_room() {
        let with = concat!("core::arch::naked_asm", "!(\"ret\")");
        for path in ["tools/mpi-watch/src/lib.rs", "mpi-tool-layer/src/kit/arch.rs"] {
            assert!(has_strange_assembly(path, with), "{path}");
            assert!(!has_strange_assembly(path, "fn asm() {}"), "{path}");
        }
        for path in ["mpi-tool-layer/src/arch/x86_64/clock.rs", "docs/design.md"] {
            assert!(!has_strange_assembly(path, with), "{path}");
        }
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
