//! Pages of simulated runs in a browser.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::browser::load;
use crate::simulated::Simulated;
use crate::{mpi_tool, report};

/// The fields of an object by their paths, as the page shows them.
fn flatten(value: &Value, path: &str, into: &mut Vec<(String, String)>) {
    for (name, inner) in value.as_object().unwrap() {
        let here = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match inner {
            Value::Object(_) => flatten(inner, &here, into),
            Value::Null => {}
            Value::String(text) => into.push((here, text.clone())),
            other => into.push((here, other.to_string())),
        }
    }
}

/// Do both say the same? Numbers may be written in two ways.
fn equal(one: &str, other: &str) -> bool {
    one == other
        || matches!((one.parse::<f64>(), other.parse::<f64>()), (Ok(one), Ok(other)) if one == other)
}

/// Every number of every table is in the page, nothing is asked for, and nobody complains.
#[test]
fn a_browser_shows_all_numbers() {
    for ranks in [2, 64, 1024] {
        let folder = tempfile::tempdir().unwrap();
        let run = Simulated { longer: Some((4, 1.5)), ..Simulated::of(ranks) }.report();
        fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
        let outcome = report(folder.path(), &["run.json", "-o", "page.html"]);
        assert_eq!(
            (outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()),
            (Some(0), "", "")
        );
        let page = folder.path().join("page.html");
        let size = fs::metadata(&page).unwrap().len();
        assert!(size <= 500_000, "{ranks} ranks: {size} bytes");
        let cost = format!(
            "about 0.010000 s of each rank in the mean, or 0.100 % of the run; most, 0.010000 s, of rank {}.",
            ranks - 1
        );
        assert!(fs::read_to_string(&page).unwrap().contains(&cost), "{cost}");
        let shown = load(&page);
        assert_eq!(
            (shown.console.as_slice(), shown.requests.as_slice()),
            (&[][..], &[][..]),
            "{ranks} ranks"
        );
        let lists = ["rows", "hosts", "communicators", "timeline", "matrix", "measures", "keys"];
        let lists = lists.map(|name| (name, &run[name]));
        for (name, list) in lists.into_iter().chain([("segments", &run["segments"]["rows"])]) {
            let table = shown.table(&format!("data-{name}"));
            let (header, lines) = table.split_first().unwrap();
            let expected = list.as_array().unwrap();
            assert_eq!(lines.len(), expected.len(), "{name}");
            for (line, expected) in lines.iter().zip(expected) {
                let mut fields = Vec::new();
                flatten(expected, "", &mut fields);
                for (field, value) in fields {
                    let column = header.iter().position(|column| *column == field);
                    let column =
                        column.unwrap_or_else(|| panic!("{name} has no {field}: {header:?}"));
                    assert!(
                        equal(&line[column], &value),
                        "{name}.{field}: {} is not {value}",
                        line[column]
                    );
                }
            }
        }
        // The curated sections: least and most are named, and each call site has its callers.
        for words in
            ["What limits this run", "Parallel efficiency", "called by /opt/app/main.c:", "node0"]
        {
            assert!(shown.document.contains(words), "{words}");
        }
        let share = &run["share"];
        for (rank, share) in [("least_rank", "least"), ("most_rank", "most")]
            .map(|(rank, part)| (&run["share"][rank], &share[part]))
        {
            let words = format!("rank {rank} with <b>{:.1} %", share.as_f64().unwrap() * 100.0);
            assert!(shown.document.contains(&words), "{words}");
        }
        // The code that takes longest beyond the mean, with a strip of all ranks.
        let (_, code) = shown.document.split_once("<section id=\"segments\"").unwrap();
        let (code, _) = code.split_once("</section>").unwrap();
        let segment = &run["segments"]["rows"][4];
        assert!(code.contains("<h3>Between MPI_Waitall at part4.c:14 (f4) and "), "{code}");
        let seconds = |of: &Value| of.as_f64().unwrap() / 1e9;
        let (busiest, mean) = (seconds(&segment["busiest"]), seconds(&segment["time"]["mean"]));
        let words = format!(
            "<b>{:.3} s</b> longer than the mean: {busiest:.3} s, and the mean is {mean:.3} s",
            busiest - mean
        );
        assert!(code.contains(&words), "{words}: {code}");
        assert!(code.contains("<svg class=\"strip\""), "{code}");
        let last = format!("Ranks 0 to {} from left to right, from 0 to {busiest:.6} s", ranks - 1);
        assert!(code.contains(&last), "{last}: {code}");
        assert!(code.len() < 60_000, "{}", code.len());
        let single = shown.table("data-run");
        let busiest = ["segments.rank", &run["segments"]["rank"].to_string()].map(str::to_owned);
        assert!(single.contains(&busiest.to_vec()), "{single:?}");
        // Rank 0 has sent to the right.
        let row =
            shown.table("row\" tabindex=\"0\" role=\"region\" aria-label=\"what the rank has sent");
        assert!(
            row.iter().any(|row| row[..3] == ["1", "100", "80000"].map(str::to_owned)),
            "{row:?}"
        );
    }
}

/// A page of many ranks can be used within a second, the best of some loads on a machine that may be busy.
#[test]
fn a_large_page_is_ready_soon() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.json"), Simulated::of(1024).report().to_string()).unwrap();
    assert_eq!(report(folder.path(), &["run.json", "-o", "page.html"]).status, Some(0));
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    let (before, behind) = page.split_once("<meta http-equiv").unwrap();
    let (_, behind) = behind.split_once('>').unwrap();
    let clock = "<script>addEventListener('load', () => { document.title = `ready ${performance.now()}` })</script>";
    let page = format!("{before}{behind}").replace("</body>", &format!("{clock}</body>"));
    let timed = folder.path().join("timed.html");
    fs::write(&timed, page).unwrap();
    let time = || {
        let document = load(&timed).document;
        let (_, behind) = document.split_once("<title>ready ").unwrap();
        behind.split_once('<').unwrap().0.parse::<f64>().unwrap()
    };
    let best = (0..4).map(|_| time()).find(|time| *time < 1000.0);
    assert!(best.is_some(), "a second is not enough");
}

/// A page is a report: it can be printed as the report can, and be made a page again.
#[test]
fn a_page_is_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let run = Simulated::of(4).report();
    fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
    let printed = |arguments: &[&str]| {
        let outcome = report(folder.path(), arguments);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        outcome.stdout
    };
    printed(&["run.json", "-o", "page.html"]);
    for options in [&["--by", "function"][..], &["--matrix"], &["--to", "csv"], &["--to", "json"]] {
        let of = |name: &'static str| [&[name], options].concat();
        assert_eq!(printed(&of("run.json")), printed(&of("page.html")), "{options:?}");
    }
    printed(&["page.html", "-o", "again.html"]);
    let [one, other] = ["page.html", "again.html"]
        .map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
    assert_eq!(one, other);
}

/// Names that an application or a person chose are text, whatever they look like.
#[test]
fn names_cannot_run_anything() {
    let hostile =
        "</script><script>document.title='broken'</script><img src=x onerror=alert(1)>\u{2028}\"'&";
    let mut run = Simulated::of(4).report();
    run["communicators"][0]["name"] = json!(hostile);
    run["tool"] = json!(hostile);
    run["hosts"][0]["name"] = json!(hostile);
    run["sites"][0][0]["file"] = json!(hostile);
    run["sites"][0][0]["frames"][0]["function"] = json!(hostile);
    run["sites"][0][0]["frames"][0]["file"] = json!(hostile);
    run["rows"][0]["function"] = json!(hostile);
    run["rows"][0]["calls"] = json!(u64::MAX);
    run["matrix"][0]["function"] = json!(hostile);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
    assert_eq!(report(folder.path(), &["run.json", "-o", "page.html"]).status, Some(0));
    let shown = load(&folder.path().join("page.html"));
    assert_eq!(shown.console, [""; 0]);
    assert!(!shown.document.contains("<title>broken") && !shown.document.contains("<img"));
    let names: BTreeSet<_> = shown.table("data-communicators").into_iter().flatten().collect();
    assert!(names.contains(hostile), "{names:?}");
}

#[test]
fn a_comparison_is_a_page_too() {
    let folder = tempfile::tempdir().unwrap();
    // From 1 % of the run to 4 %: less would not be called a change between single runs.
    for (name, slower) in [("before.json", None), ("after.json", Some((17, 3.0)))] {
        let run = Simulated { slower, ..Simulated::of(8) };
        fs::write(folder.path().join(name), run.report().to_string()).unwrap();
    }
    let outcome = report(folder.path(), &["before.json", "after.json", "-o", "page.html"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let shown = load(&folder.path().join("page.html"));
    assert_eq!((shown.console.as_slice(), shown.requests.as_slice()), (&[][..], &[][..]));
    assert_eq!([shown.table("data-sites").len(), shown.table("data-segments").len()], [41, 41]);
    let (_, code) = shown.document.split_once("<h2>Code between two calls</h2>").unwrap();
    assert!(code.split("</tr>").nth(1).unwrap().contains("between MPI_"), "{code}");
    let (_, sites) = shown.document.split_once("<h2>Call sites</h2>").unwrap();
    let first = sites.split("</tr>").nth(1).unwrap();
    assert!(first.contains(" f17 ") && first.contains("<strong>slower</strong>"), "{first}");
}

/// A site takes more and more of the run: 1, 2 and 3 % of it.
#[test]
fn scaling_is_a_page_too() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["4.json", "8.json", "16.json"];
    for (name, ranks, part) in [(files[0], 4, 0.0), (files[1], 8, 1.0), (files[2], 16, 2.0)] {
        let run = Simulated { slower: Some((17, part)), ..Simulated::of(ranks) };
        fs::write(folder.path().join(name), run.report().to_string()).unwrap();
    }
    let outcome = mpi_tool(folder.path(), &[&["scaling", "-o", "page.html"], &files[..]].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let shown = load(&folder.path().join("page.html"));
    assert_eq!((shown.console.as_slice(), shown.requests.as_slice()), (&[][..], &[][..]));
    // A header, and a line for each number of ranks and for each call site.
    assert_eq!([shown.table("data-sizes").len(), shown.table("data-sites").len()], [4, 41]);
    let (_, sites) = shown.document.split_once("<h2>Call sites</h2>").unwrap();
    assert!(sites.split("</tr>").nth(1).unwrap().contains(" f17 "), "{sites}");
    for curve in ["measured, 16 ranks: 1.00", "ideal, 16 ranks: 4.00"] {
        assert!(shown.document.contains(curve), "{curve}");
    }
}

/// The text tells of the tool's own time where it is 1 % of the run or more.
#[test]
fn a_tool_that_takes_long_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Simulated::of(2).report();
    for (sum, is_told) in [(20_000_000_u64, false), (400_000_000, true)] {
        run["overhead"]["sum"] = json!(sum);
        fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
        let text = report(folder.path(), &["run.json"]).stdout;
        assert_eq!(
            text.contains("\nmpi-profile itself took 2.0 % of the run\n"),
            is_told,
            "{text}"
        );
        assert_eq!(text.contains("itself took"), is_told, "{text}");
    }
}
