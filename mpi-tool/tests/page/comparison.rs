//! Comparisons of simulated runs.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::simulated::Simulated;
use crate::{Outcome, report};

/// Eighteen equal runs, and three in which a site is 10 % slower and all lines have moved.
fn runs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: String, run: Simulated| {
        fs::write(folder.path().join(name), run.report().to_string()).unwrap();
    };
    for seed in 1..=18 {
        write(format!("equal{seed}.json"), Simulated { seed, ..Simulated::of(8) });
    }
    for seed in 31..=33 {
        let slower = Some((17, 0.1));
        write(format!("slow{seed}.json"), Simulated { seed, slower, moved: 7, ..Simulated::of(8) });
    }
    folder
}

fn compared(folder: &Path, arguments: &[&str]) -> Outcome {
    let outcome = report(folder, arguments);
    assert_eq!(outcome.stderr, "", "{arguments:?}");
    outcome
}

#[test]
fn a_slower_site_is_first() {
    let folder = runs();
    let sides = [
        "equal1.json",
        "equal2.json",
        "equal3.json",
        "--",
        "slow31.json",
        "slow32.json",
        "slow33.json",
    ];
    let outcome =
        compared(folder.path(), &[&sides[..], &["--to", "json", "--fail-above", "5%"]].concat());
    assert_eq!(outcome.status, Some(1));
    let comparison: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let first = &comparison["sites"][0];
    assert_eq!(
        (&first["verdict"], comparison["changed"].as_bool()),
        (&"slower".into(), Some(true))
    );
    assert!(first["name"].as_str().unwrap().contains("part2.c:34 f17 "), "{first}");
    let change = first["change"].as_f64().unwrap();
    assert!((0.05..0.15).contains(&change), "{first}");
    assert_eq!(comparison["sites"].as_array().unwrap().len(), 40);

    let text = compared(folder.path(), &sides).stdout;
    let line = text.lines().skip_while(|line| !line.ends_with("what, where")).nth(1).unwrap();
    assert!(line.contains(" slower  ") && line.contains(" f17 "), "{text}");
    let above = compared(folder.path(), &[&sides[..], &["--fail-above", "20%"]].concat());
    assert_eq!(above.status, Some(0));
    // One run of each side.
    let text = compared(folder.path(), &["equal1.json", "slow31.json"]).stdout;
    let line = text.lines().skip_while(|line| !line.ends_with("what, where")).nth(1).unwrap();
    assert!(line.contains(" f17 "), "{text}");
}

#[test]
fn equal_runs_have_not_changed() {
    let folder = runs();
    for pair in 1..=9 {
        let (one, other) =
            (format!("equal{}.json", 2 * pair - 1), format!("equal{}.json", 2 * pair));
        let outcome = compared(folder.path(), &[&one, &other, "--fail-above", "0%"]);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stdout);
        assert!(outcome.stdout.contains("\nno change beyond noise\n"), "{}", outcome.stdout);
    }
    let nine: Vec<String> = (1..=18).map(|run| format!("equal{run}.json")).collect();
    let words: Vec<&str> = nine.iter().map(String::as_str).collect();
    for three in words.chunks(6) {
        let arguments = [&three[..3], &["--"], &three[3..]].concat();
        let outcome = compared(folder.path(), &arguments);
        assert!(outcome.stdout.contains("\nno change beyond noise\n"), "{}", outcome.stdout);
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = runs();
    for (arguments, reason) in [
        (&["equal1.json", "equal2.json", "equal3.json"][..], "A1 A2 A3 -- B1 B2 B3"),
        (&["equal1.json", "nothing.json"], "nothing.json"),
        (&["equal1.json", "equal2.json", "--fail-above", "much"], "percent"),
    ] {
        let outcome = report(folder.path(), arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
    }
}
