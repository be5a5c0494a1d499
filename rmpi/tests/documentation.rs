//! `docs/rmpi.md` says which functions of MPI are wrapped; the source says it, too.

mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tokens::Source;

macro_rules! functions {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        const FUNCTIONS: &[(&str, &str)] = &[$((stringify!($c_name), stringify!($class))),*];
    };
}
mpi_sys::mpi_functions! { [functions] }

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The sources in a folder, at any depth.
fn sources(folder: &Path) -> Vec<String> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources.extend(self::sources(&path));
        } else {
            sources.push(fs::read_to_string(path).unwrap());
        }
    }
    sources
}

/// Where MPI-5.0 has the functions of a class.
fn chapter(class: &str) -> u32 {
    match class {
        "PointToPoint" | "Completion" | "Buffering" | "Status" => 3,
        "Partitioned" => 4,
        "Datatype" => 5,
        "Collective" | "Operation" => 6,
        "Communicator" | "Group" | "Attribute" => 7,
        "Topology" | "Neighborhood" => 8,
        "Environment" | "ErrorHandling" => 9,
        "Info" => 10,
        "Process" => 11,
        "OneSided" => 12,
        "GeneralizedRequest" => 13,
        "Io" => 14,
        "ToolInterface" => 15,
        "Conversion" => 19,
        other => panic!("which chapter has {other}?"),
    }
}

/// Text for people: which functions of each class are wrapped, and which are not.
fn table() -> String {
    let wrapped = Source::new(&sources(&root().join("rmpi/src/library"))).wrapped();
    let all: BTreeSet<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
    type Sides = (Vec<&'static str>, Vec<&'static str>);
    let mut classes: BTreeMap<(u32, &str), Sides> = BTreeMap::new();
    for (name, class) in FUNCTIONS {
        let base = name.strip_suffix("_c").filter(|base| all.contains(base)).unwrap_or(name);
        let (yes, no) = classes.entry((chapter(class), *class)).or_default();
        // The large-count form is taken by the wrapper of the other.
        let has = wrapped.contains(*name) || base != *name && wrapped.contains(base);
        if has { yes.push(name) } else { no.push(name) }
    }
    let mut table =
        String::from("| chapter | class | wrapped | through `mpi_sys` only |\n|---|---|---|---|\n");
    for ((chapter, class), (yes, no)) in classes {
        let short: Vec<_> =
            no.iter().map(|name| format!("`{}`", name.strip_prefix("MPI_").unwrap())).collect();
        let _ = writeln!(
            table,
            "| {chapter} | {class} | {} of {} | {} |",
            yes.len(),
            yes.len() + no.len(),
            short.join(" ")
        );
    }
    table
}

#[test]
fn the_table_of_wrapped_functions_is_true() {
    let page = fs::read_to_string(root().join("docs/rmpi.md")).unwrap();
    let table = table();
    assert!(page.contains(&table), "docs/rmpi.md should have this table:\n\n{table}");
}

/// Every method that the pages name exists in the source.
#[test]
fn what_the_pages_name_exists() {
    let functions = Source::new(&sources(&root().join("rmpi/src"))).functions();
    // How many names a page has at least: none is overlooked because the page has another form.
    for (page, least) in
        [("docs/rmpi.md", 50), ("docs/rmpi-from-c.md", 9), ("docs/side-by-side.md", 2)]
    {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let mut checked = 0;
        for cell in text.split('`').skip(1).step_by(2).filter(|cell| cell.ends_with("()")) {
            let name = cell.trim_end_matches("()").rsplit("::").next().unwrap();
            if !name.starts_with(|c: char| c.is_lowercase()) {
                continue;
            }
            assert!(functions.contains(name), "{page} names {cell}, which does not exist");
            checked += 1;
        }
        assert!(checked >= least, "{page}: {checked}");
    }
}

/// The names of the crates that a package is compiled from, build scripts aside.
fn dependencies(arguments: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// A tool gets rmpi only if it asks for it, and then neither `serde` nor what comes with it, nor other crates' types.
#[test]
fn tools_depend_on_no_serialisation() {
    let without = dependencies(&["--package", "call-counter"]);
    assert!(without.contains("mpi-tool-layer") && !without.contains("rmpi"), "{without:?}");
    assert!(!without.contains("syn"), "{without:?}");
    let with = dependencies(&["--package", "mpi-tool-layer", "--features", "rmpi"]);
    assert!(with.contains("rmpi"), "{with:?}");
    for tree in [without, with] {
        for absent in ["serde", "postcard", "bytemuck", "ndarray"] {
            assert!(!tree.contains(absent), "{tree:?}");
        }
    }
}
