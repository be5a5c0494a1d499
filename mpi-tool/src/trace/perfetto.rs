//! A trace for Perfetto (ui.perfetto.dev): Google's `TracePacket`s.
//!
//! Each rank is a track below its host's, and has tracks of its own for further threads. Calls are slices. A message is
//! a flow: it leaves from the send, and ends at a slice without length, `arrived`, at the end of the call in which it
//! was received, since Perfetto draws arrows from the end of a slice to the beginning of another one. So does the arrow from the
//! code that makes a call wait: its time between two calls is a slice, and it ends where the call has waited until.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use anyhow::Result;

use super::causes::Causes;
use super::messages::{Messages, Place};
use super::path::outer_calls;
use super::read::{Call, Trace};
use super::{csv, waits};
use crate::protobuf::Message;

/// Field numbers of `perfetto/protos/trace`, as released.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;
    pub(super) mod packet {
        pub(in super::super) const TIMESTAMP: u32 = 8;
        pub(in super::super) const SEQUENCE: u32 = 10;
        pub(in super::super) const TRACK_EVENT: u32 = 11;
        pub(in super::super) const INTERNED: u32 = 12;
        pub(in super::super) const SEQUENCE_FLAGS: u32 = 13;
        pub(in super::super) const TRACK: u32 = 60;
    }
    pub(super) mod event {
        pub(in super::super) const ANNOTATION: u32 = 4;
        pub(in super::super) const TYPE: u32 = 9;
        pub(in super::super) const NAME_ID: u32 = 10;
        pub(in super::super) const TRACK: u32 = 11;
        pub(in super::super) const COUNTER: u32 = 30;
        pub(in super::super) const FLOW: u32 = 47;
        pub(in super::super) const FLOW_END: u32 = 48;
    }
    pub(super) mod track {
        pub(in super::super) const ID: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const PARENT: u32 = 5;
        pub(in super::super) const COUNTER: u32 = 8;
        pub(in super::super) const CHILD_ORDER: u32 = 11;
        pub(in super::super) const RANK: u32 = 12;
    }
    pub(super) mod annotation {
        pub(in super::super) const INTEGER: u32 = 4;
        pub(in super::super) const TEXT: u32 = 6;
        pub(in super::super) const NAME: u32 = 10;
    }
}

/// Code that makes others wait, and the moment until which a call has waited.
const LATE: &str = "computes too long";
const WAITED: &str = "has waited until here";

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const COUNTER: u64 = 4;
/// Children of a track in the order of their ranks.
const EXPLICIT: u64 = 3;

/// Writes packets of one sequence.
struct Packets<'a> {
    out: BufWriter<&'a mut dyn Write>,
    names: HashMap<&'static str, u64>,
    is_first: bool,
}

impl Packets<'_> {
    fn packet(&mut self, mut packet: Message) -> io::Result<()> {
        // Incremental state is cleared at the first packet, and needed from then on.
        let flags = if core::mem::take(&mut self.is_first) { 3 } else { 2 };
        packet.number(field::packet::SEQUENCE, 1);
        packet.number(field::packet::SEQUENCE_FLAGS, flags);
        let mut whole = Message::default();
        whole.inside(field::TRACE_PACKET, &packet);
        self.out.write_all(whole.as_bytes())
    }

    fn track(&mut self, id: u64, parent: Option<u64>, name: &str, rank: u64) -> io::Result<()> {
        let mut track = Message::default();
        track.number(field::track::ID, id).bytes(field::track::NAME, name.as_bytes());
        if let Some(parent) = parent {
            track.number(field::track::PARENT, parent);
        }
        track.number(field::track::CHILD_ORDER, EXPLICIT).number(field::track::RANK, rank);
        let mut packet = Message::default();
        packet.inside(field::packet::TRACK, &track);
        self.packet(packet)
    }

    /// A name's number, which the packet defines if it is new.
    fn name(&mut self, name: &'static str, packet: &mut Message) -> u64 {
        let next = self.names.len() as u64 + 1;
        *self.names.entry(name).or_insert_with(|| {
            let mut entry = Message::default();
            entry.number(1, next).bytes(2, name.as_bytes());
            let mut interned = Message::default();
            interned.inside(2, &entry);
            packet.inside(field::packet::INTERNED, &interned);
            next
        })
    }

    fn begin(
        &mut self,
        track: u64,
        time: i64,
        name: &'static str,
        rest: &Message,
    ) -> io::Result<()> {
        let mut packet = Message::default();
        let name = self.name(name, &mut packet);
        let mut event = Message::default();
        event.number(field::event::TYPE, SLICE_BEGIN).number(field::event::TRACK, track);
        event.number(field::event::NAME_ID, name);
        event.fields_of(rest);
        packet.number(field::packet::TIMESTAMP, time.cast_unsigned());
        packet.inside(field::packet::TRACK_EVENT, &event);
        self.packet(packet)
    }

    fn end(&mut self, track: u64, time: i64) -> io::Result<()> {
        let mut event = Message::default();
        event.number(field::event::TYPE, SLICE_END).number(field::event::TRACK, track);
        let mut packet = Message::default();
        packet.number(field::packet::TIMESTAMP, time.cast_unsigned());
        packet.inside(field::packet::TRACK_EVENT, &event);
        self.packet(packet)
    }
}

/// Code that makes ranks wait, and the waits: by arrows from the one to the other.
#[derive(Default)]
struct Arrows {
    /// The code before a call: when it begins, and its arrows.
    late: HashMap<Place, (i64, Vec<u64>)>,
    /// Until when a call waits, and its arrow.
    waits: HashMap<Place, (i64, u64)>,
}

impl Arrows {
    /// From the code that has most of the part that code has in a wait. Arrows have numbers from `next` on.
    fn of(trace: &Trace, messages: &Messages, next: u64) -> Self {
        let operations = waits::operations(trace);
        let waits = waits::of_operations(trace, messages, &operations);
        let (_, parts) = Causes::with_parts(trace, messages, &operations, &waits);
        let mut arrows = Self::default();
        let outer: Vec<Vec<Vec<usize>>> = trace
            .processes
            .iter()
            .map(|of| of.threads.iter().map(|thread| outer_calls(&thread.calls)).collect())
            .collect();
        let mut flow = next;
        for of_wait in parts.chunk_by(|one, other| one.wait == other.wait) {
            let code = of_wait.iter().filter(|part| part.activity.described().kind == "computing");
            let Some(part) = code.max_by(|one, other| one.time.total_cmp(&other.time)) else {
                continue;
            };
            let wait = waits[part.wait];
            let (from, until) = (part.longest.0, part.longest.0 + part.longest.1);
            let threads = trace.processes[part.process].threads.iter().zip(&outer[part.process]);
            // The calls of the thread right before and right behind.
            let gap = threads.enumerate().find_map(|(number, (thread, outer))| {
                let behind = outer.partition_point(|call| thread.calls[*call].begin < until);
                let [before, after] = [outer.get(behind.checked_sub(1)?)?, outer.get(behind)?];
                let begin = thread.calls[*before].end;
                (begin <= from).then(|| (Place::new(part.process, number, *after), begin))
            });
            if let Some((after, begin)) = gap {
                arrows.late.entry(after).or_insert((begin, Vec::new())).1.push(flow);
                arrows.waits.insert(wait.call, (wait.begin + wait.time, flow));
                flow += 1;
            }
        }
        arrows
    }
}

/// Writes the trace.
pub(super) fn write(out: &mut dyn Write, trace: &Trace, messages: &Messages) -> Result<()> {
    let arrows = Arrows::of(trace, messages, messages.matched.len() as u64 + 1);
    let mut packets = Packets { out: BufWriter::new(out), names: HashMap::new(), is_first: true };
    let mut hosts: Vec<&str> = trace.processes.iter().map(|process| &*process.host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    for (number, host) in hosts.iter().enumerate() {
        packets.track(1 + number as u64, None, host, number as u64)?;
    }
    let mut leaving: HashMap<Place, Vec<u64>> = HashMap::new();
    let mut arriving: HashMap<Place, Vec<u64>> = HashMap::new();
    for (number, message) in (1..).zip(&messages.matched) {
        leaving.entry(message.sent).or_default().push(number);
        arriving.entry(message.received).or_default().push(number);
    }
    let mut next = 1 + hosts.len() as u64;
    for (at, process) in trace.processes.iter().enumerate() {
        let host = hosts.binary_search(&&*process.host).unwrap_or(0) as u64 + 1;
        let rank = process.rank.map_or(u64::MAX >> 32, u64::from);
        let mut name = match process.rank {
            Some(rank) => format!("rank {rank}"),
            None => format!("process {}", process.pid),
        };
        if process.world > 0 {
            name = format!("world {}, {name}", process.world);
        }
        let own = next;
        packets.track(own, Some(host), &name, (process.world as u64) << 32 | rank)?;
        next += 1;
        for (number, thread) in process.threads.iter().enumerate() {
            let track = if number == 0 {
                own
            } else {
                packets.track(next, Some(own), &format!("thread {number}"), number as u64)?;
                next += 1;
                next - 1
            };
            let mut order: Vec<usize> = (0..thread.calls.len()).collect();
            order.sort_by_key(|index| {
                let call = &thread.calls[*index];
                (call.begin, core::cmp::Reverse(call.end), core::cmp::Reverse(call.number))
            });
            // The ends of the calls that are open, the outermost first.
            let mut open: Vec<(i64, Vec<u64>)> = Vec::new();
            for index in order {
                let call = &thread.calls[index];
                while let Some((end, flows)) = open.pop_if(|(end, _)| *end <= call.begin) {
                    close(&mut packets, track, end, &flows)?;
                }
                let place = Place::new(at, number, index);
                if let Some((begin, flows)) = arrows.late.get(&place)
                    && *begin < call.begin
                {
                    let mut rest = Message::default();
                    for flow in flows {
                        rest.fixed(field::event::FLOW, *flow);
                    }
                    packets.begin(track, *begin, LATE, &rest)?;
                    packets.end(track, call.begin)?;
                }
                let mut rest = annotations(trace, place, call);
                for flow in leaving.get(&place).into_iter().flatten() {
                    rest.fixed(field::event::FLOW, *flow);
                }
                packets.begin(track, call.begin, call.function.name(), &rest)?;
                if let Some((end, flow)) = arrows.waits.get(&place) {
                    let mut rest = Message::default();
                    rest.fixed(field::event::FLOW_END, *flow);
                    packets.begin(track, *end, WAITED, &rest)?;
                    packets.end(track, *end)?;
                }
                open.push((call.end, arriving.remove(&place).unwrap_or_default()));
            }
            while let Some((end, flows)) = open.pop() {
                close(&mut packets, track, end, &flows)?;
            }
        }
    }
    in_flight(&mut packets, trace, messages, next)?;
    packets.out.flush()?;
    Ok(())
}

/// Ends a slice, and shows what has arrived in it.
fn close(packets: &mut Packets<'_>, track: u64, end: i64, flows: &[u64]) -> io::Result<()> {
    packets.end(track, end)?;
    for flow in flows {
        let mut rest = Message::default();
        rest.fixed(field::event::FLOW_END, *flow);
        packets.begin(track, end, "arrived", &rest)?;
        packets.end(track, end)?;
    }
    Ok(())
}

/// What one reads beside a call.
fn annotations(trace: &Trace, place: Place, call: &Call) -> Message {
    let process = &trace.processes[place.process()];
    let mut all = Message::default();
    let mut number = |name: &str, number: i64| {
        let mut one = Message::default();
        one.bytes(field::annotation::NAME, name.as_bytes());
        one.number(field::annotation::INTEGER, number.cast_unsigned());
        all.inside(field::event::ANNOTATION, &one);
    };
    if let Some(peer) = csv::peer(process, place.thread(), call) {
        number("peer", peer);
    }
    if let Some(tag) = call.tag {
        number("tag", tag);
    }
    if let Some(root) = call.root {
        number("root", root);
    }
    let bytes = csv::bytes(process, place.thread(), call);
    for (name, bytes) in ["sent", "received", "reduced"].into_iter().zip(bytes) {
        if bytes > 0 {
            number(name, bytes.cast_signed());
        }
    }
    let communicator = csv::communicator(process, call.communicator);
    let site = process.site(call).map_or("", |site| &site.path);
    for (name, text) in [("communicator", &*communicator), ("site", site)] {
        if !text.is_empty() {
            let mut one = Message::default();
            one.bytes(field::annotation::NAME, name.as_bytes());
            one.bytes(field::annotation::TEXT, text.as_bytes());
            all.inside(field::event::ANNOTATION, &one);
        }
    }
    all
}

/// How many bytes are on their way, over all ranks: from the beginning of a send to the end of the call that received it.
fn in_flight(
    packets: &mut Packets<'_>,
    trace: &Trace,
    messages: &Messages,
    track: u64,
) -> io::Result<()> {
    let mut changes = Vec::new();
    for message in &messages.matched {
        let bytes = message.bytes.cast_signed();
        changes.push((message.sent.of(trace).begin, bytes));
        changes.push((message.received.of(trace).end, -bytes));
    }
    if changes.is_empty() {
        return Ok(());
    }
    let mut definition = Message::default();
    definition.number(field::track::ID, track).bytes(field::track::NAME, b"bytes in flight");
    definition.inside(field::track::COUNTER, &Message::default());
    let mut packet = Message::default();
    packet.inside(field::packet::TRACK, &definition);
    packets.packet(packet)?;
    changes.sort_unstable();
    let mut sum = 0_i64;
    let mut changes = changes.into_iter().peekable();
    while let Some((time, change)) = changes.next() {
        sum += change;
        if changes.peek().is_some_and(|(next, _)| *next == time) {
            continue;
        }
        let mut event = Message::default();
        event.number(field::event::TYPE, COUNTER).number(field::event::TRACK, track);
        event.number(field::event::COUNTER, sum.cast_unsigned());
        let mut packet = Message::default();
        packet.number(field::packet::TIMESTAMP, time.cast_unsigned());
        packet.inside(field::packet::TRACK_EVENT, &event);
        packets.packet(packet)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use mpi_facts::FunctionId::{MPI_Comm_size, MPI_Init, MPI_Recv, MPI_Send};
    use mpi_facts::trace::Way::{Received, Sent};

    use super::super::read::made_up::{call, process, trace};
    use super::*;

    /// The fields of a message: numbers as they are, and of others their bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u32, u64, &[u8])> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let length = bytes.iter().position(|byte| *byte < 0x80).unwrap() + 1;
            let (number, rest) = bytes.split_at(length);
            *bytes = rest;
            number.iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f))
        }
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let (number, length) = match key & 7 {
                0 => (varint(&mut bytes), 0),
                1 => (u64::from_le_bytes(bytes[..8].try_into().unwrap()), 8),
                _ => (0, varint(&mut bytes) as usize),
            };
            let (inner, rest) = bytes.split_at(length);
            all.push(((key >> 3) as u32, number, inner));
            bytes = rest;
        }
        all
    }

    /// Rank 0 computes from 200 to 1000, and rank 1 waits for its message from 300 on.
    #[test]
    fn an_arrow_leads_from_the_code_to_the_wait() {
        let trace = trace(vec![
            process(
                0,
                vec![
                    call(MPI_Init, 0, 100),
                    call(MPI_Comm_size, 150, 200),
                    call(MPI_Send, 1000, 1010).with(Sent, 1, 8),
                ],
            ),
            process(
                1,
                vec![call(MPI_Init, 0, 100), call(MPI_Recv, 300, 1020).with(Received, 0, 8)],
            ),
        ]);
        let mut out = Vec::new();
        write(&mut out, &trace, &Messages::of(&trace)).unwrap();
        let mut names: HashMap<u64, String> = HashMap::new();
        let mut events = Vec::new();
        for (_, _, packet) in fields(&out) {
            let packet = fields(packet);
            let inner = |field: u32| packet.iter().find(|one| one.0 == field);
            if let Some((_, _, interned)) = inner(field::packet::INTERNED) {
                let entry = fields(fields(interned)[0].2);
                names.insert(entry[0].1, String::from_utf8(entry[1].2.to_vec()).unwrap());
            }
            let Some((_, _, event)) = inner(field::packet::TRACK_EVENT) else { continue };
            let event = fields(event);
            let number = |field: u32| event.iter().find(|one| one.0 == field).map(|one| one.1);
            let name = number(field::event::NAME_ID).map_or("", |name| &names[&name]);
            let flows = [number(field::event::FLOW), number(field::event::FLOW_END)];
            let time = inner(field::packet::TIMESTAMP).unwrap().1;
            let kind = number(field::event::TYPE).unwrap();
            events.push((name.to_owned(), time, kind, number(field::event::TRACK), flows));
        }
        let at = |name: &str| events.iter().position(|event| event.0 == name).unwrap();
        let (late, waited) = (at(LATE), at(WAITED));
        let (late_track, recv_track) = (events[at("MPI_Send")].3, events[at("MPI_Recv")].3);
        assert_eq!(events[late], (LATE.to_owned(), 200, SLICE_BEGIN, late_track, [Some(2), None]));
        assert_eq!(events[late + 1], (String::new(), 1000, SLICE_END, late_track, [None; 2]));
        assert_eq!(
            events[waited],
            (WAITED.to_owned(), 1000, SLICE_BEGIN, recv_track, [None, Some(2)])
        );
        assert_eq!(events[waited + 1].1, 1000);
        // The message's own arrow has another number.
        assert_eq!(events[at("MPI_Send")].4, [Some(1), None]);
    }
}
