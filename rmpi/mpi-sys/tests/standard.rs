//! The function list against the MPI Forum's data and TUM QMPI's ids.

mod common;

use std::collections::BTreeMap;
use std::process::Command;

use common::{expect_none, lines, signatures};

/// In MPI-1, removed by MPI-3.0: not in the Forum's data of MPI-5.0.
const REMOVED: [&str; 10] = [
    "MPI_Address",
    "MPI_Errhandler_create",
    "MPI_Errhandler_get",
    "MPI_Errhandler_set",
    "MPI_Type_extent",
    "MPI_Type_hindexed",
    "MPI_Type_hvector",
    "MPI_Type_lb",
    "MPI_Type_struct",
    "MPI_Type_ub",
];

#[test]
fn is_sorted_and_names_its_methods_by_the_rule() {
    let lines = lines();
    assert_eq!(lines.len(), 700);
    assert!(lines.is_sorted_by(|a, b| a.name < b.name), "not sorted by name");
    for line in &lines {
        assert_eq!(line.method, line.name["MPI_".len()..].to_lowercase());
    }
}

#[test]
fn agrees_with_the_mpi_forums_data() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/standard.py");
    let output = Command::new("python3").arg(script).output().expect("python3 runs");
    assert!(
        output.status.success(),
        "{}\nThe package pympistandard is needed: run the tests by `cargo xtask test`.",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = String::from_utf8(output.stdout).unwrap();
    let theirs: BTreeMap<&str, &str> =
        output.lines().map(|line| line.split_once('\t').unwrap()).collect();
    let ours = signatures();
    assert_eq!(theirs.len(), 690, "MPI-5.0 has 690 functions");

    let mut differences = Vec::new();
    for (name, signature) in &theirs {
        match ours.get(*name) {
            None => differences.push(format!("{name}: not in the list: {signature}")),
            Some(ours) if ours != signature => {
                differences
                    .push(format!("{name}:\n    list:     {ours}\n    standard: {signature}"));
            }
            Some(_) => {}
        }
    }
    for name in ours.keys() {
        if !theirs.contains_key(&**name) && !REMOVED.contains(&&**name) {
            differences.push(format!("{name}: not in the standard"));
        }
    }
    expect_none("the list and the MPI Forum's data", &differences);
}

#[test]
fn has_the_ids_of_tum_qmpi() {
    let theirs: BTreeMap<&str, u32> = include_str!("qmpi_ids.tsv")
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(id, name)| (name, id.parse().unwrap()))
        .collect();
    assert_eq!(theirs.len(), 360);
    let differences: Vec<String> = lines()
        .iter()
        .filter(|line| line.tum_qmpi != theirs.get(&*line.name).copied())
        .map(|line| {
            let theirs = theirs.get(&*line.name);
            format!("{}: list {:?}, TUM QMPI {theirs:?}", line.name, line.tum_qmpi)
        })
        .collect();
    expect_none("the list and TUM QMPI's ids", &differences);
    let listed = lines().iter().filter(|line| line.tum_qmpi.is_some()).count();
    assert_eq!(listed, 360, "an id of TUM QMPI is not in the list");
}
