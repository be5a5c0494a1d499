//! A trace as a table for programs: a line a call, by the time when it began.

use std::io::Write;

use ::csv::Writer;
use anyhow::Result;
use mpi_facts::trace::Partner;

use super::read::{Call, Process, Single, Trace, sums};

/// Writes a header and a line for each call. Times are in nanoseconds since the first call of all.
pub(super) fn write<'a>(
    out: &mut dyn Write,
    calls: impl IntoIterator<Item = Result<Single<'a>>>,
) -> Result<()> {
    let mut out = Writer::from_writer(out);
    out.write_record([
        "rank",
        "thread",
        "function",
        "begin",
        "end",
        "communicator",
        "source",
        "destination",
        "root",
        "tag",
        "receive_tag",
        "sent",
        "received",
        "reduced",
        "error",
        "world",
        "host",
        "pid",
        "number",
        "site",
    ])?;
    for one in calls {
        let Single { process, thread, call, bytes: [sent, received, reduced], .. } = one?;
        let text = |number: Option<i64>| number.map_or(String::new(), |number| number.to_string());
        let rank =
            |rank: Option<i64>| rank.map_or(String::new(), |rank| process.special.rank(rank));
        let tag = |tag: Option<i64>| tag.map_or(String::new(), |tag| process.special.tag(tag));
        out.write_record([
            text(process.rank.map(i64::from)),
            thread.to_string(),
            call.function.name().to_owned(),
            call.begin.to_string(),
            call.end.to_string(),
            communicator(process, call.communicator),
            rank(call.source),
            rank(call.destination),
            rank(call.root),
            tag(call.tag),
            tag(call.received_tag),
            sent.to_string(),
            received.to_string(),
            reduced.to_string(),
            u8::from(call.has_failed).to_string(),
            process.world.to_string(),
            process.host.clone(),
            process.pid.to_string(),
            call.number.to_string(),
            process.site(&call).map_or(String::new(), |site| site.path.clone()),
        ])?;
    }
    out.flush()?;
    Ok(())
}

/// All calls of a run that is in memory, as [`Stream`](super::read::Stream) has them.
pub(super) fn sorted(trace: &Trace) -> Vec<Result<Single<'_>>> {
    let mut calls: Vec<_> =
        trace.calls().map(|(process, thread, call)| Single::of(process, thread, call)).collect();
    calls.sort_by_key(Single::key);
    calls.into_iter().map(Ok).collect()
}

/// How many bytes have moved in a call: sent, received, reduced.
pub(super) fn bytes(process: &Process, thread: usize, call: &Call) -> [u64; 3] {
    sums(process.threads[thread].data(call))
}

/// With whom a call has exchanged data, as world ranks, if it is one process.
pub(super) fn peer(process: &Process, thread: usize, call: &Call) -> Option<i64> {
    let own = i64::from(process.rank?);
    let mut peers = process.threads[thread].data(call).iter().map(|moved| match moved.peer {
        Partner::At(distance) => Some(own + distance),
        _ => None,
    });
    let first = peers.next()??;
    peers.all(|peer| peer == Some(first)).then_some(first)
}

/// A communicator's name, or its identity if it has none.
pub(super) fn communicator(process: &Process, number: Option<u64>) -> String {
    match number {
        None | Some(0) => String::new(),
        Some(number) => match process.communicators.get(&number) {
            Some(known) if !known.name.is_empty() => known.name.clone(),
            Some(known) => format!("{:016x}", known.identity),
            None => "unknown".to_owned(),
        },
    }
}
