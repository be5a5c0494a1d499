//! What a window says, for programs: an object on a line each time, and Prometheus' text format.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::sample::{Call, How};
use super::window::{RankSummary, Summary};
use crate::report::symbols::{Frame, Symbols};

/// One object.
pub(super) fn of(summary: &Summary, symbols: &mut Symbols) -> Value {
    let worlds: Vec<Value> = summary
        .worlds
        .iter()
        .map(|(name, world)| {
            let ranks: Vec<Value> = world
                .ranks
                .iter()
                .map(|rank| {
                    let waits = rank.waits.iter();
                    let waits = waits.map(|(whom, share)| json!({"for": whom, "share": share}));
                    json!({
                        "rank": rank.rank,
                        "host": rank.host,
                        "state": word(rank.now),
                        "in_mpi": rank.in_mpi,
                        "calls": rank.calls,
                        "calls_per_second": rank.calls_per_second,
                        "mostly": rank.mostly.as_ref().map(|(how, call, share)| {
                            let mut value = place(*how, call, symbols);
                            value["share"] = json!(share);
                            value
                        }),
                        "waits": waits.collect::<Vec<_>>(),
                        "stands": rank.stands,
                    })
                })
                .collect();
            let causes: Vec<Value> = world
                .causes
                .iter()
                .map(|cause| {
                    let doing = cause.doing.as_ref();
                    json!({
                        "rank": cause.rank,
                        "waiting": cause.waiting,
                        "share": cause.share,
                        "doing": doing.map(|(how, call)| place(*how, call, symbols)),
                    })
                })
                .collect();
            json!({
                "world": name, "size": world.size, "unseen": world.unseen, "hidden": world.hidden,
                "ranks": ranks, "causes": causes,
            })
        })
        .collect();
    json!({
        "schema": "mpi-tool-top/1", "seconds": summary.seconds, "looks": summary.looks, "worlds": worlds,
    })
}

pub(super) fn word(how: How) -> &'static str {
    match how {
        How::Outside => "outside of MPI",
        How::InMpi => "in MPI",
        How::Stopped => "stopped",
        How::Finalized => "finalized",
        How::Gone => "gone",
    }
}

fn place(how: How, (function, site): &Call, symbols: &mut Symbols) -> Value {
    let site: Vec<Value> = symbols.of_site(site).iter().map(Frame::to_json).collect();
    json!({"state": word(how), "function": function.to_string(), "site": site})
}

/// Samples of a rank: further labels, and values.
type Samples = Vec<(String, f64)>;

/// The text format of Prometheus and OpenMetrics.
pub(super) fn openmetrics(summary: &Summary) -> String {
    let one = |value: f64| vec![(String::new(), value)];
    let mut text = String::new();
    family(
        &mut text,
        summary,
        "mpi_rank_in_mpi_ratio",
        "gauge",
        "Share of the last seconds in MPI",
        |rank| one(rank.in_mpi),
    );
    family(
        &mut text,
        summary,
        "mpi_rank_calls",
        "counter",
        "Calls of MPI functions since the start",
        |rank| one(rank.calls as f64),
    );
    family(
        &mut text,
        summary,
        "mpi_rank_stands",
        "gauge",
        "1 if in one call for all of the last seconds",
        |rank| one(f64::from(u8::from(rank.stands))),
    );
    let help = "Share of the last seconds in which the rank waited for another one";
    family(&mut text, summary, "mpi_rank_waits_ratio", "gauge", help, |rank| {
        rank.waits.iter().map(|(whom, share)| (format!(",for=\"{whom}\""), *share)).collect()
    });
    text.push_str("# EOF\n");
    text
}

/// A metric of all ranks.
fn family(
    text: &mut String,
    summary: &Summary,
    name: &str,
    kind: &str,
    help: &str,
    samples: impl Fn(&RankSummary) -> Samples,
) {
    let _ = writeln!(text, "# TYPE {name} {kind}\n# HELP {name} {help}");
    // A counter's samples have a name of their own.
    let total = if kind == "counter" { "_total" } else { "" };
    for (world, of) in &summary.worlds {
        for rank in &of.ranks {
            for (more, value) in samples(rank) {
                let (world, host) = (escaped(world), escaped(&rank.host));
                let rank = rank.rank;
                let _ = writeln!(
                    text,
                    "{name}{total}{{world=\"{world}\",rank=\"{rank}\",host=\"{host}\"{more}}} {value}"
                );
            }
        }
    }
}

/// As a label's value is written.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hang::live::window::tests::example;

    #[test]
    fn metrics_are_as_the_format_wants_them() {
        let text = openmetrics(&example().summary());
        for line in [
            "# TYPE mpi_rank_in_mpi_ratio gauge",
            "mpi_rank_in_mpi_ratio{world=\"\",rank=\"0\",host=\"node\"} 0.2",
            "# TYPE mpi_rank_calls counter",
            "mpi_rank_calls_total{world=\"\",rank=\"1\",host=\"node\"} 7",
            "mpi_rank_stands{world=\"\",rank=\"1\",host=\"node\"} 1",
            "mpi_rank_waits_ratio{world=\"\",rank=\"1\",host=\"node\",for=\"0\"} 0.8",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
        assert!(text.ends_with("# EOF\n"));
        assert_eq!(escaped("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
    }

    #[test]
    fn an_object_has_shares_and_causes() {
        let value = of(&example().summary(), &mut Symbols::default());
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas/mpi-tool-top-1.json");
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
        compiler.add_resource("top:/1", schema).unwrap();
        let schema = compiler.compile("top:/1", &mut schemas).unwrap();
        if let Err(error) = schemas.validate(&value, schema) {
            panic!("{error:#}");
        }
        let world = &value["worlds"][0];
        assert_eq!(value["looks"], 10);
        assert_eq!(world["ranks"][1]["waits"][0], json!({"for": 0, "share": 0.8}));
        assert_eq!(world["causes"][0]["waiting"], json!([1]));
        assert_eq!(world["causes"][0]["doing"]["function"], "MPI_Send");
    }
}
