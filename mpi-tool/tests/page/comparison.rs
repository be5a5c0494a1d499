//! Comparisons of simulated runs.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::simulated::Simulated;
use crate::{Outcome, report, schema};

/// Eighteen equal runs, and three in which a site is 10 % slower and all lines have moved.
fn runs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: String, run: Simulated| {
        fs::write(folder.path().join(name), run.report().to_string()).unwrap();
    };
    for seed in 1..=18 {
        write(format!("equal{seed}.json"), Simulated { seed, ..Simulated::of(8) });
    }
    for seed in 41..=43 {
        let longer = Some((17, 0.2));
        write(format!("long{seed}.json"), Simulated { seed, longer, moved: 7, ..Simulated::of(8) });
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

/// The code from f17 to f18 takes 20 % longer: 0.9 s × 3 of 115 parts of what ranks compute. Nothing else has changed.
#[test]
fn code_that_computes_longer_is_named() {
    let folder = runs();
    let sides = [
        "equal1.json",
        "equal2.json",
        "equal3.json",
        "--",
        "long41.json",
        "long42.json",
        "long43.json",
    ];
    let with = |options: &[&str]| compared(folder.path(), &[&sides[..], options].concat());
    let outcome = with(&["--to", "json", "--fail-above", "10%"]);
    assert_eq!(outcome.status, Some(1), "{}", outcome.stdout);
    let comparison: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let names = |list: &str| -> Vec<&str> {
        let items = comparison[list].as_array().unwrap().iter();
        items.filter(|of| of["verdict"] != "noise").map(|of| of["name"].as_str().unwrap()).collect()
    };
    let code =
        "between MPI_File_write_at at part2.c:34 (f17) and MPI_Allreduce at part3.c:35 (f18)";
    assert_eq!((names("sites"), names("segments")), (vec![], vec![code]));
    let first = &comparison["segments"][0];
    assert_eq!(first["verdict"], "slower");
    // The parts of 39 segments are 7 times those from 1 to 5, and 1, 2, 3 and 4.
    let run: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("equal1.json")).unwrap())
            .unwrap();
    let mean = run["useful"]["mean"].as_f64().unwrap() / 1e9 * 0.9 * 3.0 / 115.0;
    let near = |of: &Value, expected: f64| {
        let found = of.as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 0.05, "{found} is not {expected}");
    };
    near(&first["mean_before"], mean);
    near(&first["mean_after"], 1.2 * mean);
    // 39 segments, and what belongs to none.
    assert_eq!(comparison["segments"].as_array().unwrap().len(), 40);
    schema::check(&comparison);

    assert_eq!(with(&["--fail-above", "40%"]).status, Some(0));
    let text = with(&[]).stdout;
    assert!(text.contains("\nchanged beyond noise: 0 call sites, 1 segments\n"), "{text}");
    let lines: Vec<_> =
        text.lines().skip_while(|line| !line.ends_with("  code")).skip(1).take(2).collect();
    assert!(lines[0].ends_with(&format!(" slower  {code}")), "{text}");
    assert!(!lines[1].contains(" slower "), "{text}");
    let csv = with(&["--to", "csv"]).stdout;
    let of_segments: Vec<_> = csv.lines().filter(|line| line.starts_with("segment,")).collect();
    assert_eq!(of_segments.len(), 40);
    assert!(of_segments[0].contains(code) && of_segments[0].ends_with(",slower"), "{csv}");

    // Where one side does not tell of segments, it is said, and nothing else is lost.
    let mut without = run;
    without.as_object_mut().unwrap().remove("segments");
    fs::write(folder.path().join("without.json"), without.to_string()).unwrap();
    let text = compared(folder.path(), &["without.json", "equal2.json"]).stdout;
    assert!(text.contains("\nwithout.json has no segments, so it is unknown "), "{text}");
    let json = compared(folder.path(), &["without.json", "equal2.json", "--to", "json"]).stdout;
    let comparison: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(comparison["segments"], Value::Null);
    schema::check(&comparison);
    let text = compared(folder.path(), &["without.json", "without.json"]).stdout;
    assert!(!text.contains("segments"), "{text}");
}

/// One run of each side: of what each rank comes to 100 times, only what is far beyond noise is a change. By hand: the code
/// from f4 to f5 has 5 of 115 parts of 0.9 × 5.8 s, which is 0.23 s. Four standard errors of times that vary by as much as they
/// are long are 4 × √(1 / 100 + 1 / 100) = 57 %. 150 % longer, ln 2.5 = 92 %, is beyond that, and is 0.34 s, more than 2 % of the
/// run. 70 % longer, ln 1.7 = 53 %, is not.
#[test]
fn single_runs_say_little_of_code() {
    let folder = tempfile::tempdir().unwrap();
    for (name, longer) in [("before.json", 0.0), ("much.json", 1.5), ("little.json", 0.7)] {
        let run = Simulated { longer: Some((4, longer)), ..Simulated::of(8) };
        fs::write(folder.path().join(name), run.report().to_string()).unwrap();
    }
    for (name, status) in [("much.json", 1), ("little.json", 0)] {
        let outcome = compared(folder.path(), &["before.json", name, "--fail-above", "5%"]);
        assert_eq!(outcome.status, Some(status), "{}", outcome.stdout);
    }
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
