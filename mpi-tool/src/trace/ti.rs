//! A trace for SimGrid, which replays it on a machine that it simulates: its *time-independent* traces.
//!
//! A rank has a file with an action a line, and `trace.txt` lists these files. What was computed between two calls is an
//! action, too: one floating-point operation a nanosecond, so a simulated processor of a gigaflop a second needs as long
//! as the real one did.
//!
//! The format knows `MPI_COMM_WORLD` only, so ranks are the world's. A message on another communicator has a tag of its
//! own, above all tags of the world's messages. A collective operation of all ranks that the format has is written as such
//! one. Any other one is written as the messages that make its ranks wait as they did: from or to its root, or if it has
//! none, to its first rank and from there.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use mpi_facts::{FunctionId, Pattern, Shape, Timing};

use super::csv;
use super::messages::{Message, Messages, Place};
use super::read::Trace;
use super::waits::{self, Operation};

/// What a call does.
#[derive(Debug, Clone)]
enum Action {
    Isend {
        to: u32,
        tag: i64,
        bytes: u64,
    },
    Send {
        to: u32,
        tag: i64,
        bytes: u64,
    },
    Irecv {
        from: u32,
        tag: i64,
        bytes: u64,
    },
    Recv {
        from: u32,
        tag: i64,
        bytes: u64,
    },
    /// For a message from a rank to this one.
    Wait {
        from: u32,
        tag: i64,
    },
    Collective(String),
}

impl Action {
    /// A call does first what does not wait.
    const fn order(&self) -> u8 {
        match self {
            Self::Isend { .. } => 0,
            Self::Send { .. } => 1,
            Self::Irecv { .. } => 2,
            Self::Recv { .. } => 3,
            Self::Wait { .. } => 4,
            Self::Collective(_) => 5,
        }
    }

    /// As SimGrid's format has it.
    fn text(&self, rank: u32) -> String {
        match self {
            Self::Isend { to, tag, bytes } => format!("isend {to} {tag} {bytes}"),
            Self::Send { to, tag, bytes } => format!("send {to} {tag} {bytes}"),
            Self::Irecv { from, tag, bytes } => format!("irecv {from} {tag} {bytes}"),
            Self::Recv { from, tag, bytes } => format!("recv {from} {tag} {bytes}"),
            Self::Wait { from, tag } => format!("wait {from} {rank} {tag}"),
            Self::Collective(text) => text.clone(),
        }
    }
}

/// Tags of a world in which communicators do not count.
struct Tags {
    /// Those of messages on other communicators than `MPI_COMM_WORLD`, by these and by their tags there.
    others: HashMap<(u64, i64), i64>,
    next: i64,
}

impl Tags {
    fn of(trace: &Trace, messages: &Messages) -> Self {
        let on_world = messages.matched.iter().filter(|one| communicator(trace, one).is_none());
        let most = on_world.map(|message| message.tag).max().unwrap_or(0);
        Self { others: HashMap::new(), next: most + 1 }
    }

    fn new_one(&mut self) -> i64 {
        self.next += 1;
        self.next - 1
    }

    fn tag(&mut self, trace: &Trace, message: &Message) -> i64 {
        let Some(identity) = communicator(trace, message) else { return message.tag };
        let Self { others, next } = self;
        *others.entry((identity, message.tag)).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }
}

/// The identity of a message's communicator, unless that is `MPI_COMM_WORLD`.
fn communicator(trace: &Trace, message: &Message) -> Option<u64> {
    let communicators = &trace.processes[message.sent.process()].communicators;
    let known = communicators.get(&message.communicator()?)?;
    (known.name != "MPI_COMM_WORLD").then_some(known.identity)
}

/// Writes the folder. Returns what was left out, as sentences.
pub(super) fn write(folder: &Path, trace: &Trace, messages: &Messages) -> Result<Vec<String>> {
    let (ranks, left_out) = actions(trace, messages)?;
    fs::create_dir_all(folder)
        .with_context(|| format!("{}: cannot make the folder", folder.display()))?;
    let whole = folder
        .canonicalize()
        .with_context(|| format!("{}: cannot find the folder", folder.display()))?;
    let mut list = String::new();
    for (rank, text) in ranks.iter().enumerate() {
        let path = whole.join(format!("rank-{rank}.txt"));
        fs::write(&path, text).with_context(|| format!("{}: cannot write it", path.display()))?;
        let _ = writeln!(list, "{}", path.display());
    }
    let path = whole.join("trace.txt");
    fs::write(&path, list).with_context(|| format!("{}: cannot write it", path.display()))?;
    Ok(left_out)
}

/// The text of each rank's file, and what was left out.
fn actions(trace: &Trace, messages: &Messages) -> Result<(Vec<String>, Vec<String>)> {
    for (number, process) in (0..).zip(&trace.processes) {
        let size = process.size.unwrap_or(0) as usize;
        if process.world != 0 || process.rank != Some(number) || size != trace.processes.len() {
            bail!(
                "SimGrid's traces are of all ranks of one MPI_COMM_WORLD, and {} is none of these; name the run folders of \
                 all hosts, and of one world",
                process.path.display()
            );
        }
        if process.threads.iter().filter(|thread| !thread.calls.is_empty()).count() > 1 {
            bail!(
                "SimGrid's traces have one thread a rank, and several threads of rank {number} call MPI"
            );
        }
    }
    let mut actions: HashMap<Place, Vec<Action>> = HashMap::new();
    let mut add = |place: Place, action: Action| actions.entry(place).or_default().push(action);
    let mut tags = Tags::of(trace, messages);
    for message in &messages.matched {
        let tag = tags.tag(trace, message);
        let [from, to] = [message.sent, message.received]
            .map(|place| u32::try_from(place.process()).unwrap_or(u32::MAX));
        let bytes = message.bytes;
        let [sent, asked] = [message.sent, message.asked].map(|place| place.of(trace));
        let shape = Shape::looked_up(sent.function);
        let is_blocking = shape.timing == Timing::Blocking && shape.pattern == Pattern::Send;
        // A send that was over before the receive began has not waited, whatever SimGrid takes its MPI's limit to be.
        let sending = if is_blocking && sent.end >= asked.begin {
            Action::Send { to, tag, bytes }
        } else {
            Action::Isend { to, tag, bytes }
        };
        add(message.sent, sending);
        if message.asked == message.received {
            add(message.received, Action::Recv { from, tag, bytes });
        } else {
            add(message.asked, Action::Irecv { from, tag, bytes });
            add(message.received, Action::Wait { from, tag });
        }
    }
    let mut left_out = Vec::new();
    let mut skipped = 0;
    for operation in waits::operations(trace) {
        if Shape::looked_up(operation.function).timing != Timing::Blocking {
            skipped += 1;
            continue;
        }
        match collective(trace, &operation) {
            Some(text) => {
                for call in &operation.calls {
                    add(*call, Action::Collective(text.clone()));
                }
            }
            None => as_messages(trace, &operation, tags.new_one(), &mut add),
        }
    }
    // Actions of one kind stay in their order, which is that of messages of one envelope.
    actions.values_mut().for_each(|actions| actions.sort_by_key(Action::order));
    if skipped > 0 {
        left_out.push(format!("{skipped} collective operations that do not block are left out"));
    }
    let [sends, receives] = messages.unmatched;
    if sends + receives > 0 {
        left_out.push(format!(
            "{sends} sends without a receive and {receives} receives without a send are left out"
        ));
    }
    let texts = (0..).zip(&trace.processes).map(|(rank, process)| {
        let mut text = format!("{rank} init\n");
        let mut last = 0;
        for (thread, calls) in process.threads.iter().enumerate() {
            let mut order: Vec<usize> = (0..calls.calls.len()).collect();
            order.sort_by_key(|at| {
                (calls.calls[*at].begin, core::cmp::Reverse(calls.calls[*at].number))
            });
            for at in order {
                let call = &calls.calls[at];
                if call.begin > last {
                    let _ = writeln!(text, "{rank} compute {}", call.begin - last);
                }
                last = last.max(call.end);
                let place = Place::new(rank as usize, thread, at);
                for action in actions.get(&place).into_iter().flatten() {
                    let _ = writeln!(text, "{rank} {}", action.text(rank));
                }
            }
        }
        let _ = writeln!(text, "{rank} finalize");
        text
    });
    Ok((texts.collect(), left_out))
}

/// A collective operation as an action: `None` if the format has none for it, or not with these sizes.
fn collective(trace: &Trace, operation: &Operation) -> Option<String> {
    let ranks = operation.calls.len();
    if ranks != trace.processes.len() {
        return None;
    }
    let bytes: Vec<[u64; 3]> = operation
        .calls
        .iter()
        .map(|place| csv::bytes(&trace.processes[place.process()], place.thread(), place.of(trace)))
        .collect();
    // The same on all ranks, or none.
    let same = |of: fn(&[u64; 3]) -> u64| {
        let mut all = bytes.iter().map(of);
        let first = all.next()?;
        all.all(|one| one == first).then_some(first)
    };
    let root = operation.root(trace).map(|place| place.process());
    let block = |whole: u64| whole.is_multiple_of(ranks as u64).then(|| whole / ranks as u64);
    let is_scan = operation.function == FunctionId::MPI_Scan;
    match Shape::looked_up(operation.function).pattern {
        Pattern::Nothing if operation.function == FunctionId::MPI_Barrier => {
            Some("barrier".to_owned())
        }
        Pattern::Broadcast => {
            // The root has sent what the others have received.
            let bytes = same(|[sent, received, _]| sent + received)?;
            Some(format!("bcast {bytes} {}", root?))
        }
        Pattern::Allreduce if !is_scan => {
            Some(format!("allreduce {} 0", same(|[.., reduced]| *reduced)?))
        }
        Pattern::Reduce => Some(format!("reduce {} 0 {}", same(|[.., reduced]| *reduced)?, root?)),
        Pattern::Alltoall => {
            let block = block(same(|[sent, ..]| *sent)?)?;
            let is_regular = operation.function == FunctionId::MPI_Alltoall;
            is_regular.then(|| format!("alltoall {block} {block}"))
        }
        Pattern::Allgather => {
            let block = same(|[sent, ..]| *sent)?;
            Some(format!("allgather {block} {block}"))
        }
        Pattern::Gather => {
            let block = same(|[sent, ..]| *sent)?;
            Some(format!("gather {block} {block} {}", root?))
        }
        Pattern::Scatter => {
            let block = same(|[_, received, _]| *received)?;
            Some(format!("scatter {block} {block} {}", root?))
        }
        _ => None,
    }
}

/// A collective operation as messages, by which its ranks wait for each other as in that.
fn as_messages(
    trace: &Trace,
    operation: &Operation,
    tag: i64,
    add: &mut impl FnMut(Place, Action),
) {
    let rank = |place: &Place| u32::try_from(place.process()).unwrap_or(u32::MAX);
    let bytes = |place: &Place| {
        let sums = csv::bytes(&trace.processes[place.process()], place.thread(), place.of(trace));
        sums.into_iter().max().unwrap_or(0)
    };
    let root = operation.root(trace).or(operation.calls.first().copied());
    let Some(root) = root else { return };
    let others = || operation.calls.iter().filter(move |place| **place != root);
    let pattern = Shape::looked_up(operation.function).pattern;
    let (mut to_root, mut from_root) = (true, true);
    if operation.root(trace).is_some() {
        let gives = matches!(pattern, Pattern::Broadcast | Pattern::Scatter);
        (to_root, from_root) = (!gives, gives);
    }
    // All of them are of one kind, whose order stays.
    let mut text = |place: Place, text: String| add(place, Action::Collective(text));
    if to_root {
        for other in others() {
            text(*other, format!("isend {} {tag} {}", rank(&root), bytes(other)));
            text(root, format!("recv {} {tag} {}", rank(other), bytes(other)));
        }
    }
    if from_root {
        for other in others() {
            text(root, format!("isend {} {tag} {}", rank(other), bytes(other)));
            text(*other, format!("recv {} {tag} {}", rank(&root), bytes(other)));
        }
    }
}

#[cfg(test)]
mod tests {
    use mpi_facts::FunctionId::{
        MPI_Allreduce, MPI_Barrier, MPI_Bcast, MPI_Recv, MPI_Scan, MPI_Send, MPI_Sendrecv,
    };
    use mpi_facts::trace::Way::{Received, Reduced, Sent};

    use super::super::read::made_up::{call, process, trace};
    use super::*;

    fn written(trace: &Trace) -> Vec<String> {
        let (texts, left_out) = actions(trace, &Messages::of(trace)).unwrap();
        assert_eq!(left_out, [""; 0]);
        texts
    }

    /// By SimGrid's description of the format: peer, tag and bytes of messages; what is computed between calls.
    #[test]
    fn messages_and_computing_are_actions() {
        let trace = trace(vec![
            process(0, vec![call(MPI_Send, 100, 130).tagged(5).with(Sent, 1, 8)]),
            process(1, vec![call(MPI_Recv, 20, 120).tagged(5).with(Received, 0, 8)]),
        ]);
        assert_eq!(
            written(&trace),
            [
                "0 init\n0 compute 100\n0 send 1 5 8\n0 finalize\n",
                "1 init\n1 compute 20\n1 recv 0 5 8\n1 finalize\n",
            ]
        );
    }

    /// A send that had ended before the receive began was buffered, and an exchange never waits for its own send.
    #[test]
    fn what_has_not_waited_does_not_wait() {
        let trace = trace(vec![
            process(
                0,
                vec![
                    call(MPI_Send, 0, 10).tagged(1).with(Sent, 1, 8),
                    call(MPI_Sendrecv, 10, 40).tagged(2).with(Sent, 1, 4).with(Received, 1, 4),
                ],
            ),
            process(
                1,
                vec![
                    call(MPI_Sendrecv, 20, 40).tagged(2).with(Sent, 0, 4).with(Received, 0, 4),
                    call(MPI_Recv, 40, 50).tagged(1).with(Received, 0, 8),
                ],
            ),
        ]);
        let texts = written(&trace);
        assert_eq!(texts[0], "0 init\n0 isend 1 1 8\n0 isend 1 2 4\n0 recv 1 2 4\n0 finalize\n");
        let own = "1 init\n1 compute 20\n1 isend 0 2 4\n1 recv 0 2 4\n1 recv 0 1 8\n1 finalize\n";
        assert_eq!(texts[1], own);
    }

    /// Those that the format has, and a scan, which it has not.
    #[test]
    fn collective_operations_are_actions_or_messages() {
        let own = |rank: u32| {
            let way = if rank == 1 { Sent } else { Received };
            process(
                rank,
                vec![
                    call(MPI_Barrier, 0, 1).on_world(),
                    call(MPI_Bcast, 1, 2).moving(way, 100),
                    call(MPI_Allreduce, 2, 3).moving(Reduced, 16),
                    call(MPI_Scan, 3, 4).moving(Reduced, 8),
                ],
            )
        };
        let trace = trace(vec![own(0), own(1)]);
        let begin = |rank| {
            format!("{rank} init\n{rank} barrier\n{rank} bcast 100 1\n{rank} allreduce 16 0\n")
        };
        assert_eq!(
            written(&trace),
            [
                begin(0) + "0 recv 1 1 8\n0 isend 1 1 8\n0 finalize\n",
                begin(1) + "1 isend 0 1 8\n1 recv 0 1 8\n1 finalize\n",
            ]
        );
    }

    #[test]
    fn a_part_of_the_ranks_is_refused() {
        let mut trace = trace(vec![process(0, Vec::new()), process(1, Vec::new())]);
        trace.processes.remove(0);
        let error = actions(&trace, &Messages::of(&trace)).unwrap_err().to_string();
        assert!(error.contains("all ranks of one MPI_COMM_WORLD"), "{error}");
    }
}
