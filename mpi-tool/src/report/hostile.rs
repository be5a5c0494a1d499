//! Reports that nobody should write: each of them is shown or refused, and breaks nothing.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::read::Run;
use super::symbols::Symbols;
use super::*;

/// A small report with all that a report may have.
fn whole() -> Value {
    let spread =
        json!({"sum": 6, "mean": 3.0, "least": 2, "least_rank": 0, "most": 4, "most_rank": 1});
    let measured = json!({"count": 2, "sum": 6, "mean": 3.0, "least": 2, "least_rank": 0, "most": 4, "most_rank": 1,
        "variation": 0.3, "by_rank": spread});
    json!({
        "schema": "mpi-tool-report/2", "tool": "t", "version": "1", "complete": true, "ranks": 2, "rank": null,
        "reason": null, "wall": spread, "inside": spread, "useful": spread,
        "share": {"least": 0.5, "least_rank": 0, "most": 0.6, "most_rank": 1},
        "efficiency": {"parallel": 0.5, "load_balance": 0.7, "communication": 0.8, "within_hosts": 0.9,
            "between_hosts": 0.9},
        "hosts": [{"name": "h", "ranks": 2, "useful": spread,
            "by_rank": {"rank": [0, 1], "wall": [3, 4], "inside": [1, 2]}}],
        "phases": [{"phase": 2, "name": "solver", "ranks": 2, "wall": spread, "inside": spread, "useful": spread,
            "efficiency": {"parallel": 0.5, "load_balance": 0.7, "communication": 0.8}},
            {"phase": 3, "ranks": 1, "wall": spread, "inside": spread, "useful": spread, "efficiency": null}],
        "segments": {"rank": 1, "rows": [
            {"before": "MPI_Init", "before_site": null, "after": "MPI_Send", "after_site": 1, "phase": null, "ranks": 2,
                "time": spread, "busiest": 4},
            {"before": "MPI_Send", "before_site": 1, "after": "MPI_Bcast", "after_site": "others", "phase": 2, "ranks": 1,
                "time": spread, "busiest": 0},
        ], "elsewhere": {"sum": -3, "busiest": -2}},
        "lost": 0, "events": "calls",
        "measures": [{"name": "time", "unit": "nanoseconds"}, {"name": "wait", "unit": "nanoseconds"},
            {"name": "sent", "unit": "bytes"}],
        "sites": [[{"file": "/a", "build_id": "", "offset": 1,
            "frames": [{"function": "f", "file": "/a.c", "line": 3}]}]],
        "communicators": [{"identity": "0000000000000001", "name": "W", "size": 2, "remote_size": null}],
        "rows": [
            {"function": "MPI_Send", "site": 1, "communicator": 1, "size": 8, "phase": 2, "calls": 2, "ranks": 2,
                "time": measured, "wait": null, "sent": measured},
            {"function": "MPI_Bcast", "site": null, "communicator": "others", "size": 8, "phase": null, "calls": 2,
                "ranks": 2, "time": measured, "wait": measured, "sent": null},
        ],
        "matrix": [
            {"function": "MPI_Send", "flow": "sent", "peer": 1, "messages": 2, "bytes": 16, "ranks": [[0, 1, 0, 1]]},
            {"function": "MPI_Recv", "flow": "received", "peer": -1, "messages": 2, "bytes": 16,
                "ranks": [[1, 1, 0, 1]]},
            {"function": "MPI_Bcast", "flow": "sent", "peer": null, "messages": 2, "bytes": 16, "ranks": null},
        ],
    })
}

/// Values that somebody may put into a report.
fn hostile() -> impl Strategy<Value = Value> {
    let script = "</script><script>alert(1)</script>";
    prop_oneof![
        Just(Value::Null),
        Just(json!(u64::MAX)),
        Just(json!(i64::MIN)),
        Just(json!(1e300)),
        Just(json!(-1)),
        Just(json!(0)),
        Just(json!(4_000_000_000_u64)),
        Just(json!(script)),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[0, u64::MAX, 1, u64::MAX]])),
        Just(json!([[0, 4_000_000_000_u64, 0, 1]])),
        Just(json!([script, {"a": [script]}])),
        any::<u64>().prop_map(|number| json!(number)),
        any::<String>().prop_map(|text| json!(text)),
    ]
}

/// Puts a value somewhere: `choices` say where, at each level.
fn replace(value: &mut Value, choices: &[usize], with: Value) {
    let Some((choice, rest)) = choices.split_first() else {
        *value = with;
        return;
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let index = choice % fields.len();
            if let Some(inner) = fields.values_mut().nth(index) {
                replace(inner, rest, with);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let index = choice % items.len();
            replace(&mut items[index], rest, with);
        }
        other => *other = with,
    }
}

/// Everything that can be made of a report.
fn shown(value: &Value) {
    let read = || Run::of("hostile.json".to_owned(), value.clone());
    if read().is_err() {
        return;
    }
    for by in [By::Function, By::Site, By::Communicator, By::Size, By::Phase, By::Peer, By::Segment]
    {
        for to in [Format::Text, Format::Json, Format::Csv] {
            for matrix in [None, Some(Flow::Sent)] {
                let asked = Report { by, matrix, ..Report::of("hostile.json") };
                let _ = asked.print(&mut Vec::new(), read().unwrap(), &mut Symbols::default(), to);
            }
        }
    }
    let _ = placement::write(&mut Vec::new(), &read().unwrap(), To::Text, None);
    let run = read().unwrap();
    let frames = frames(&run.table, &mut Symbols::default());
    let _ = export::pprof::write(&mut Vec::new(), &run, &frames);
    let _ = export::hatchet::write(&mut Vec::new(), &run, &frames);
    let mut page = Vec::new();
    if html::write(&mut page, read().unwrap(), &mut Symbols::default()).is_ok() {
        let page = String::from_utf8(page).unwrap();
        // The report and the page's own.
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script").count(), 2);
        assert!(html::data(&page).is_some_and(|data| serde_json::from_str::<Value>(data).is_ok()));
    }
    let mut larger = whole();
    larger["ranks"] = 4.into();
    scaling::try_hostile(value, &larger);
    let ours = [read().unwrap(), Run::of("whole.json".to_owned(), whole()).unwrap()];
    let (one, other) = ours.split_at(1);
    for (before, after) in [(one, other), (other, one), (one, one)] {
        if let Ok(comparison) = Comparison::of(before, after, &mut Symbols::default()) {
            for to in [To::Text, To::Json, To::Csv, To::Html] {
                comparison.write(&mut Vec::new(), to, 0).unwrap();
            }
        }
    }
}

#[test]
fn the_whole_report_is_shown() {
    Run::of("whole.json".to_owned(), whole()).unwrap();
    shown(&whole());
    let mut larger = whole();
    larger["ranks"] = 4.into();
    assert!(scaling::try_hostile(&whole(), &larger));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn broken_reports_break_nothing(
        changes in prop::collection::vec((prop::collection::vec(any::<usize>(), 1..6), hostile()), 1..4),
    ) {
        let mut value = whole();
        for (choices, with) in changes {
            replace(&mut value, &choices, with);
        }
        // Without this, most are refused at once.
        value["schema"] = "mpi-tool-report/2".into();
        shown(&value);
    }
}
