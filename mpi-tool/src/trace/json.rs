//! A trace as one JSON object, for programs: `docs/schemas/mpi-tool-trace-1.json` says what is in it.

use std::io::{BufWriter, Write};
use std::rc::Rc;

use anyhow::Result;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq as _, Serializer as _};
use serde_json::{Map, Value, json};

use super::Found;
use super::causes::{Causes, Described, Spot, SpotNumber};
use super::csv;
use super::efficiency::{Efficiency, Factors, Untold};
use super::messages::{Message, Messages, Place};
use super::path::{Idle, Path};
use super::read::{Call, Clocks, Process, Site, Trace};
use super::text;
use super::waits::{self, Wait};
use super::whole;
use crate::report::symbols::Frame;

/// What each number of an event is.
const EVENT: [&str; 11] = [
    "process",
    "thread",
    "function",
    "begin",
    "end",
    "communicator",
    "peer",
    "tag",
    "sent",
    "received",
    "error",
];

/// So many links of a cause are written, the longest: of many ranks, there may be one for each two.
const MOST_LINKS: usize = 1000;

/// Writes the object piece by piece, so that it need not be in memory.
pub(super) fn write(
    out: &mut dyn Write,
    trace: &Trace,
    messages: &Messages,
    found: &Found,
) -> Result<()> {
    let Found { waits, causes, efficiency, untold } = found;
    let mut serializer = serde_json::Serializer::new(BufWriter::new(out));
    let mut object = serializer.serialize_map(None)?;
    object.serialize_entry("schema", "mpi-tool-trace/1")?;
    object.serialize_entry("unit", "nanoseconds")?;
    object.serialize_entry("end", &trace.end())?;
    object.serialize_entry("hosts", &trace.hosts)?;
    let idle = Idle::of(trace, waits);
    let processes: Vec<Value> =
        trace.processes.iter().zip(&idle).map(|(one, idle)| process(one, idle)).collect();
    object.serialize_entry("processes", &processes)?;
    let (early, most) = messages.violations(trace);
    let [sends, receives] = messages.unmatched;
    object.serialize_entry(
        "summary",
        &json!({
            "calls": trace.calls().count(),
            "messages": messages.matched.len(),
            "sends_without_receive": sends,
            "receives_without_send": receives,
            "messages_before_sending": early,
            "most_before_sending": most,
            "left_out": text::left_out(trace),
            "warnings": whole::warnings(trace),
            "untold": untold,
            "clock_error": match trace.clocks {
                Clocks::Corrected(error) => Some(error),
                Clocks::Unknown | Clocks::Uneven => None,
            },
        }),
    )?;
    object.serialize_entry("efficiency", &efficiency.as_ref().map(self::efficiency))?;
    object.serialize_entry("waits", &grouped(trace, waits))?;
    object.serialize_entry("causes", &self::causes(trace, causes))?;
    object
        .serialize_entry("critical_path", &untold.is_none().then(|| critical_path(trace, waits)))?;
    object.serialize_entry("event_columns", &EVENT)?;
    object.serialize_entry("events", &Events(trace))?;
    object.serialize_entry("messages", &Sent(trace, messages))?;
    SerializeMap::end(object)?;
    serializer.into_inner().flush()?;
    Ok(())
}

/// All calls, by process and thread.
struct Events<'a>(&'a Trace);

impl Serialize for Events<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(None)?;
        for (number, process) in self.0.processes.iter().enumerate() {
            for (thread, calls) in process.threads.iter().enumerate() {
                for call in &calls.calls {
                    all.serialize_element(&event(number, process, thread, call))?;
                }
            }
        }
        all.end()
    }
}

fn event(number: usize, process: &Process, thread: usize, call: &Call) -> Value {
    let [sent, received, reduced] = csv::bytes(process, thread, call);
    let communicator = call.communicator.filter(|number| *number > 0);
    json!([
        number,
        thread,
        call.function.name(),
        call.begin,
        call.end,
        communicator.map(|_| csv::communicator(process, communicator)),
        csv::peer(process, thread, call),
        call.tag,
        sent.saturating_add(reduced),
        received,
        call.has_failed,
    ])
}

/// All messages, by the time when they were sent.
struct Sent<'a>(&'a Trace, &'a Messages);

impl Serialize for Sent<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(trace, messages) = self;
        serializer.collect_seq(messages.matched.iter().map(|message| {
            let Message { sent, received, asked, tag, bytes, sent_bytes, .. } = message;
            let process = &trace.processes[sent.process()];
            let side = |place: &Place| {
                let call = place.of(trace);
                json!({
                    "process": place.process(),
                    "rank": trace.processes[place.process()].rank,
                    "thread": place.thread(),
                    "function": call.function.name(),
                    "begin": call.begin,
                    "end": call.end,
                })
            };
            json!({
                "from": side(sent),
                "to": side(received),
                "asked": asked.of(trace).begin,
                "tag": tag,
                "bytes": bytes,
                "sent_bytes": sent_bytes,
                "communicator": csv::communicator(process, message.communicator()),
            })
        }))
    }
}

fn process(process: &Process, idle: &Idle) -> Value {
    json!({
        "rank": process.rank,
        "size": process.size,
        "world": process.world,
        "host": process.host,
        "pid": process.pid,
        "program": process.program,
        "file": process.path.display().to_string(),
        "threads": process.threads.len(),
        "bytes": process.bytes,
        "lost": process.lost,
        "overwritten_bytes": process.overwritten,
        "finalized": process.is_over,
        "time": idle.time,
        "mpi": idle.mpi,
        "late_sender": idle.waiting[0],
        "late_receiver": idle.waiting[1],
        "collective": idle.waiting[2],
        "other_mpi": idle.other(),
    })
}

/// How much of the time is computing, and what the rest is lost by.
fn efficiency(found: &Efficiency) -> Value {
    let mut all = factors(&found.factors);
    let windows = found.windows.iter().map(|window| {
        let mut one = factors(&window.factors);
        one.insert("begin".to_owned(), window.begin.into());
        one.insert("end".to_owned(), window.end.into());
        Value::Object(one)
    });
    all.insert("started".to_owned(), found.started.into());
    all.insert("mpi".to_owned(), found.mpi.into());
    all.insert("kept".to_owned(), found.kept.into());
    all.insert("untold".to_owned(), found.untold.map(Untold::text).into());
    all.insert("windows".to_owned(), windows.collect());
    Value::Object(all)
}

fn factors(factors: &Factors) -> Map<String, Value> {
    let Factors { time, mean, most, ideal, without_files } = factors;
    let times = [
        ("time", (*time).into()),
        ("useful_mean", (*mean).into()),
        ("useful_most", (*most).into()),
        ("ideal", (*ideal).into()),
        ("ideal_without_files", (*without_files).into()),
        ("parallel", factors.parallel().into()),
        ("load_balance", factors.load_balance().into()),
        ("communication", factors.communication().into()),
        ("serialization", factors.serialization().into()),
        ("input_and_output", factors.input_and_output().into()),
        ("transfer", factors.transfer().into()),
    ];
    times.into_iter().map(|(name, value): (_, Value)| (name.to_owned(), value)).collect()
}

/// Why ranks wait.
fn causes(trace: &Trace, causes: &Causes) -> Value {
    let rank = |process: usize| trace.processes[process].rank;
    let spot = |number: SpotNumber| {
        let Spot { function, site } = &causes.spots[number as usize];
        json!({"function": function.name(), "site": frames(site)})
    };
    let all = causes.all.iter().map(|cause| {
        let Described { kind, before, after, call, why } = cause.activity.described();
        let ranks = cause.ranks.iter().map(|of| {
            json!({
                "process": of.process,
                "rank": rank(of.process),
                "time": of.time,
                "longest_begin": of.longest.0,
                "longest": of.longest.1,
            })
        });
        let (links, rest) = cause.links.split_at(MOST_LINKS.min(cause.links.len()));
        let links = links.iter().map(|link| {
            json!({
                "rank": rank(link.process),
                "via": link.via.and_then(rank),
                "waiting": rank(link.waiting),
                "time": link.time,
            })
        });
        json!({
            "kind": kind,
            "before": before.map(spot),
            "after": after.map(spot),
            "call": call.map(spot),
            "why": why,
            "time": cause.time,
            "direct": cause.direct,
            "ranks": ranks.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
            "other_links": rest.len(),
            "other_links_time": rest.iter().map(|link| link.time).sum::<f64>(),
        })
    });
    json!({
        "waiting": causes.waiting,
        "shortened": causes.shortened,
        "all": all.collect::<Vec<_>>(),
    })
}

/// The functions that a call is in.
fn frames(site: &Option<Rc<Site>>) -> Option<Vec<Value>> {
    site.as_ref().map(|site| site.frames.iter().map(Frame::to_json).collect())
}

/// What the run's length consists of.
fn critical_path(trace: &Trace, waits: &[Wait]) -> Value {
    let path = Path::of(trace, waits);
    let [computing, mpi] = path.times();
    let rank = |process: usize| trace.processes[process].rank;
    let pieces = path.pieces.iter().map(|piece| {
        json!({
            "process": piece.process,
            "rank": rank(piece.process),
            "function": piece.function.map(|function| function.name()),
            "begin": piece.begin,
            "end": piece.end,
        })
    });
    let parts = path.parts().into_iter().map(|(process, function, time, pieces)| {
        json!({
            "process": process,
            "rank": rank(process),
            "function": function.map(|function| function.name()),
            "time": time,
            "pieces": pieces,
        })
    });
    json!({
        "begin": path.begin,
        "end": path.end,
        "computing": computing,
        "mpi": mpi,
        "changes": path.changes,
        "parts": parts.collect::<Vec<_>>(),
        "pieces": pieces.collect::<Vec<_>>(),
    })
}

fn grouped(trace: &Trace, waits: &[Wait]) -> Vec<Value> {
    let groups = waits::grouped(trace, waits);
    let one = |(group, time, calls): (waits::Group, i64, u64)| {
        json!({
            "cause": group.kind.name(),
            "function": group.function.name(),
            "rank": trace.processes[group.waiting].rank,
            "culprit": trace.processes[group.culprit].rank,
            "time": time,
            "calls": calls,
            "site": frames(&group.site),
            "culprit_site": frames(&group.until),
        })
    };
    groups.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use mpi_facts::trace::filter;

    use super::super::causes::simulated::at_random;
    use super::*;

    /// Of programs at random, the object is as its schema says; the efficiencies are those that were found.
    #[test]
    fn the_object_is_as_its_schema_says() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas/mpi-tool-trace-1.json");
        let text = std::fs::read_to_string(file).unwrap();
        let mut compiler = boon::Compiler::new();
        let mut schemas = boon::Schemas::new();
        compiler.add_resource("trace:/1", serde_json::from_str(&text).unwrap()).unwrap();
        let schema = compiler.compile("trace:/1", &mut schemas).unwrap();
        for seed in 0..6 {
            let mut trace = at_random(seed, false).0.run();
            // What is not known is null.
            trace.processes[0].filter = if seed == 4 { filter::RANKS } else { 0 };
            trace.processes[0].lost = u64::from(seed == 5);
            let messages = Messages::of(&trace);
            let found = Found::of(&trace, &messages);
            let mut out = Vec::new();
            write(&mut out, &trace, &messages, &found).unwrap();
            let value: Value = serde_json::from_slice(&out).unwrap();
            if let Err(error) = schemas.validate(&value, schema) {
                panic!("seed {seed}: {error:#}");
            }
            let written = &value["efficiency"];
            if seed == 5 {
                let untold = "calls of rank 0 were not recorded, and what is missing would count as computing";
                assert_eq!(value["summary"]["untold"], untold);
                assert!(written.is_null() && value["critical_path"].is_null());
                continue;
            }
            let path = &value["critical_path"];
            let [begin, end, computing, mpi] =
                ["begin", "end", "computing", "mpi"].map(|name| path[name].as_i64().unwrap());
            assert_eq!(end - begin, computing + mpi);
            let efficiency = found.efficiency.unwrap();
            assert_eq!(written["serialization"].as_f64(), efficiency.factors.serialization());
            assert_eq!(written["ideal"].as_i64(), efficiency.factors.ideal);
            assert_eq!(written["ideal"].is_null(), seed == 4);
            let windows = written["windows"].as_array().unwrap();
            assert_eq!(windows.len(), 20);
            assert_eq!(windows[7]["transfer"].as_f64(), efficiency.windows[7].factors.transfer());
        }
    }
}
