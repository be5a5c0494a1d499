//! The verdict for programs to read: `docs/mpi-watch.md` has the schema.

use serde_json::{Value, json};

use super::convert::peers_of;
use super::graph::{Kind, Reason};
use super::reading::{Reading, World};
use super::text::{doing, groups, name, number, site_of_other, verdict, wait, why, why_word, word};
use crate::report::symbols::{Frame, Symbols};
use mpi_facts::watch::kind;
use mpi_facts::{NONE, Shape};

/// One object.
pub(super) fn of(reading: &Reading, symbols: &mut Symbols) -> Value {
    let worlds = || reading.worlds.iter().enumerate();
    let mut ranks = Vec::new();
    let mut sames = Vec::new();
    let mut culprits = Vec::new();
    let mut verdicts = Vec::new();
    for (at, world) in worlds() {
        ranks.extend(world.ranks.keys().map(|rank| rank_of(reading, at, world, *rank, symbols)));
        sames.extend(groups(world, symbols).into_iter().map(|same| {
            json!({"world": at, "ranks": same.ranks, "doing": same.doing, "sentence": same.sentence})
        }));
        for culprit in &world.verdict.culprits {
            let rank = world.ranks.get(&culprit.rank);
            let thread = rank.and_then(|rank| rank.thread());
            culprits.push(json!({
                "world": at,
                "rank": culprit.rank,
                "function": thread.map(|thread| thread.function.to_string()),
                "site": thread.map(|thread| site(&symbols.of_site(&thread.site))),
                "why": why_word(world, culprit),
                "sentence": why(reading, world, culprit, symbols),
            }));
        }
        verdicts.push(verdict_of(reading, at, world, symbols));
    }
    json!({
        "schema": "mpi-tool-hang/1",
        "run": reading.folder.display().to_string(),
        "seconds": reading.seconds,
        "worlds": verdicts,
        "ranks": ranks,
        "groups": sames,
        "culprits": culprits,
        "problems": reading.problems,
    })
}

fn verdict_of(reading: &Reading, at: usize, world: &World, symbols: &mut Symbols) -> Value {
    let edges: Vec<Value> = world
        .verdict
        .edges
        .iter()
        .map(|edge| {
            let reason = match edge.reason {
                Reason::Mismatch { .. } => "mismatch",
                Reason::Missing { .. } | Reason::Again { .. } => "collective",
                Reason::Lead => "lead",
                Reason::Ready => "ready",
                Reason::Send => "send",
                Reason::Receive => "receive",
                Reason::Unlock => "unlock",
                Reason::Post => "post",
                Reason::Complete => "complete",
                Reason::Progress => "progress",
                Reason::Start => "start",
                Reason::Finalize => "finalize",
            };
            json!({"from": edge.from, "to": edge.to, "reason": reason, "or_others": edge.is_choice})
        })
        .collect();
    let path: Vec<Value> = world
        .verdict
        .path
        .iter()
        .map(|edge| {
            let other = site_of_other(world, edge, symbols);
            let mut value = json!({
                "from": edge.from, "to": edge.to, "sentence": wait(world, edge, symbols),
            });
            if let Reason::Mismatch { theirs, .. } = edge.reason {
                value["called"] = json!({"function": theirs.to_string(), "site": site(&other)});
            }
            value
        })
        .collect();
    let verdict_word = match world.verdict.kind {
        Kind::Deadlock => "deadlock",
        Kind::Waiting => "waiting",
        Kind::Running => "running",
    };
    json!({
        "world": at,
        "size": world.size,
        "unseen": world.seen.unseen(),
        "unseen_why": world.seen.sentence(),
        "finalized": world.seen.finalized,
        "verdict": verdict_word,
        "certain": !world.is_uncertain && world.others.is_empty() && !world.has_handlers && !world.is_past,
        "alive": !world.is_past,
        "stuck": world.verdict.stuck,
        "waits": edges,
        "path": path,
        "text": verdict(reading, world, symbols),
    })
}

fn rank_of(
    reading: &Reading,
    at: usize,
    world: &World,
    number_of: u32,
    symbols: &mut Symbols,
) -> Value {
    let rank = &world.ranks[&number_of];
    let thread = rank.thread();
    let state = &world.states[&number_of];
    let peers = state.calls.first().map(|call| peers_of(&call.what)).unwrap_or_default();
    let shape = thread.map(|thread| Shape::looked_up(thread.function));
    let tag =
        thread.filter(|_| shape.is_some_and(|shape| shape.tags.0 != NONE)).map(|thread| thread.tag);
    let comm = thread
        .filter(|_| shape.is_some_and(|shape| shape.communicator != NONE))
        .and_then(|thread| rank.snapshot.group(kind::COMMUNICATOR, thread.comm));
    let active = rank.snapshot.requests.iter().filter(|request| request.is_active);
    let pending: Vec<Value> = active
        .map(|request| {
            let place = (!request.site.is_empty()).then(|| symbols.of_site(&request.site));
            json!({"function": request.function.to_string(), "peer": request.peer, "tag": request.tag,
                   "site": place.map(|frames| site(&frames))})
        })
        .collect();
    json!({
        "world": at,
        "rank": number_of,
        "host": rank.snapshot.host,
        "pid": rank.snapshot.pid,
        "state": word(rank),
        "doing": doing(rank, symbols),
        "inside": !rank.inside.is_empty(),
        "function": thread.map(|thread| thread.function.to_string()),
        "site": thread.map(|thread| site(&symbols.of_site(&thread.site))),
        "peers": peers,
        "tag": tag,
        "communicator": comm.map(|comm| json!({
            "name": comm.name, "label": name(comm), "identity": format!("{:016x}", comm.identity),
        })),
        "number": thread.map(number).filter(|number| *number > 0),
        "pending": pending,
        "calls": rank.snapshot.calls(),
        "moved": rank.moved,
        "since": thread.and_then(|thread| rank.snapshot.age(thread.since, reading.now)),
        "threads": rank.inside.len(),
    })
}

/// A call site: the innermost frame first.
fn site(frames: &[Frame]) -> Vec<Value> {
    let frame = |frame: &Frame| {
        let mut value = frame.to_json();
        value["text"] = frame.short().into();
        value
    };
    frames.iter().map(frame).collect()
}
