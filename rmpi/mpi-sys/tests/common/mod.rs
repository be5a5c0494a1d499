//! The function list as its text says it, for the checks against other sources.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;

/// A line of the list.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) version: (u32, u32),
    pub(crate) tum_qmpi: Option<u32>,
    pub(crate) signature: String,
}

pub(crate) fn lines() -> Vec<Line> {
    include_str!("../../../facts/src/list.rs")
        .lines()
        .filter(|line| line.starts_with("    MPI_"))
        .map(|line| {
            let mut words = line.trim().trim_end_matches(';').splitn(6, ' ');
            let mut word = || words.next().expect("a line has six parts").to_owned();
            let (name, method, _class, version) = (word(), word(), word(), word());
            let (major, minor) = version.split_once('.').expect("a version is x.y");
            Line {
                name,
                method,
                version: (major.parse().unwrap(), minor.parse().unwrap()),
                tum_qmpi: word().parse().ok(),
                signature: word(),
            }
        })
        .collect()
}

/// Fails with all differences, one a line.
pub(crate) fn expect_none(what: &str, differences: &[String]) {
    assert!(
        differences.is_empty(),
        "{what}: {} differences\n  {}\n",
        differences.len(),
        differences.join("\n  ")
    );
}

/// By name.
pub(crate) fn signatures() -> BTreeMap<String, String> {
    lines().into_iter().map(|line| (line.name, line.signature)).collect()
}
