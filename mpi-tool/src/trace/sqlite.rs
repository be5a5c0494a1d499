//! A trace as a database of SQLite: its calls, its messages with both of their calls, the waits with their causes, and the
//! program's own time between calls.
//!
//! Rows have numbers from 1, by which tables name those of others. Times are in nanoseconds since the first call of all.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use anyhow::Result;
use rusqlite::types::Value;
use rusqlite::{Connection, params};

use super::causes::{Activity, Causes, Described, OfWait, SpotNumber};
use super::csv;
use super::efficiency::{Efficiency, Factors};
use super::messages::{Messages, Place};
use super::path::{Idle, outer_calls};
use super::read::{Clocks, Site, Trace};
use super::waits::{self, Wait};
use super::whole;
use crate::report::export::sqlite::database;

/// What there is. `docs/mpi-trace.md` says what it means.
const TABLES: &str = "
    create table run (schema text, end integer, hosts integer, clock_error integer, messages_without_receive integer,
        messages_without_send integer, waiting integer, started integer, time integer, useful_mean real,
        useful_most integer, ideal integer, ideal_without_files integer, untold text);
    create table processes (process integer primary key, rank integer, size integer, world integer, host text, pid integer,
        program text, threads integer, lost integer, overwritten_bytes integer, finalized integer, time integer, mpi integer,
        late_sender integer, late_receiver integer, collective integer);
    create table sites (site integer primary key, path text);
    create table frames (site integer, depth integer, function text, file text, line integer, primary key (site, depth))
        without rowid;
    create table calls (call integer primary key, process integer, thread integer, number integer, function text, begin integer,
        end integer, communicator text, source, destination, root, tag, receive_tag, peer integer, sent integer,
        received integer, reduced integer, error integer, site integer);
    create table messages (message integer primary key, sent_in integer, received_in integer, asked_in integer,
        communicator text, tag integer, bytes integer, sent_bytes integer);
    create table segments (segment integer primary key, process integer, thread integer, begin integer, end integer,
        before integer, after integer);
    create table waits (wait integer primary key, call integer, kind text, process integer, for_process integer,
        until integer, time integer);
    create table causes (cause integer primary key, kind text, before_function text, before_site integer,
        after_function text, after_site integer, function text, site integer, why text, time real, direct real);
    create table wait_causes (wait integer, cause integer, process integer, via integer, time real, longest_begin integer,
        longest integer);
";

/// Writes the database in place of the file, if there is one.
pub(super) fn write(path: &Path, trace: &Trace, messages: &Messages) -> Result<()> {
    database(path, |connection| fill(connection, trace, messages))
}

fn fill(connection: &Connection, trace: &Trace, messages: &Messages) -> Result<()> {
    let operations = waits::operations(trace);
    let waits = waits::of_operations(trace, messages, &operations);
    let (causes, parts) = Causes::with_parts(trace, messages, &operations, &waits);
    let efficiency = Efficiency::of(trace, messages, &operations);
    connection.execute_batch(TABLES)?;
    run(connection, trace, messages, &causes, efficiency.as_ref())?;
    processes(connection, trace, &waits)?;
    let mut sites = Sites { connection, known: HashMap::new() };
    let numbers = Numbers::of(trace);
    calls(connection, trace, &mut sites)?;
    sent(connection, trace, messages, &numbers)?;
    segments(connection, trace, &numbers)?;
    waited(connection, &waits, &numbers)?;
    caused(connection, &causes, &parts, &mut sites)
}

/// The numbers of calls: by process, thread and place there.
struct Numbers(Vec<Vec<i64>>);

impl Numbers {
    fn of(trace: &Trace) -> Self {
        let mut next = 1;
        let mut first = |calls: usize| {
            next += calls as i64;
            next - calls as i64
        };
        let of_process = |process: &super::read::Process| {
            process.threads.iter().map(|thread| thread.calls.len()).collect::<Vec<_>>()
        };
        let counts: Vec<Vec<usize>> = trace.processes.iter().map(of_process).collect();
        Self(counts.into_iter().map(|of| of.into_iter().map(&mut first).collect()).collect())
    }

    fn number(&self, place: Place) -> i64 {
        self.0[place.process()][place.thread()] + place.call() as i64
    }
}

/// The call sites, which are written when they are first named.
struct Sites<'a> {
    connection: &'a Connection,
    known: HashMap<String, i64>,
}

impl Sites<'_> {
    fn number(&mut self, site: Option<&Rc<Site>>) -> Result<Option<i64>> {
        let Some(site) = site else { return Ok(None) };
        if let Some(number) = self.known.get(&site.path) {
            return Ok(Some(*number));
        }
        let number = self.known.len() as i64 + 1;
        self.known.insert(site.path.clone(), number);
        self.connection
            .prepare_cached("insert into sites values (?, ?)")?
            .execute(params![number, site.path])?;
        let mut statement =
            self.connection.prepare_cached("insert into frames values (?, ?, ?, ?, ?)")?;
        for (depth, frame) in (1_i64..).zip(&site.frames) {
            let (file, line) = frame.line.as_ref().map(|(file, line)| (file, *line)).unzip();
            statement.execute(params![number, depth, frame.function, file, line])?;
        }
        Ok(Some(number))
    }
}

/// SQLite's numbers have a sign: greater ones become inexact.
fn number(value: u64) -> Value {
    i64::try_from(value).map_or(Value::Real(value as f64), Value::Integer)
}

/// Processes count from 1, too.
fn process(at: usize) -> i64 {
    at as i64 + 1
}

/// A number, or a word that stands in its place: `any`.
fn number_or_word(text: String) -> Value {
    text.parse().map_or(Value::Text(text), Value::Integer)
}

fn run(
    connection: &Connection,
    trace: &Trace,
    messages: &Messages,
    causes: &Causes,
    efficiency: Option<&Efficiency>,
) -> Result<()> {
    let clock_error = match trace.clocks {
        Clocks::Corrected(error) => Some(error),
        Clocks::Unknown | Clocks::Uneven => None,
    };
    let [sends, receives] = messages.unmatched.map(number);
    let factors = efficiency.map(|of| of.factors);
    let of_efficiency = || efficiency.and_then(|of| of.untold).map(|why| why.text().to_owned());
    let untold = whole::untold(trace).or_else(of_efficiency);
    let ideal = factors.and_then(|Factors { ideal, .. }| ideal);
    connection.execute(
        "insert into run values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            "mpi-tool-trace-database/1",
            trace.end(),
            trace.hosts as i64,
            clock_error,
            sends,
            receives,
            causes.waiting,
            efficiency.map(|of| of.started),
            factors.map(|of| of.time),
            factors.map(|of| of.mean),
            factors.map(|of| of.most),
            ideal,
            factors.and_then(|of| of.without_files),
            untold,
        ],
    )?;
    Ok(())
}

fn processes(connection: &Connection, trace: &Trace, waits: &[Wait]) -> Result<()> {
    let mut statement = connection
        .prepare("insert into processes values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for ((at, of), idle) in trace.processes.iter().enumerate().zip(Idle::of(trace, waits)) {
        let [late_sender, late_receiver, collective] = idle.waiting;
        statement.execute(params![
            process(at),
            of.rank,
            of.size,
            of.world as i64,
            of.host,
            number(of.pid),
            of.program,
            of.threads.len() as i64,
            number(of.lost),
            number(of.overwritten),
            of.is_over,
            idle.time,
            idle.mpi,
            late_sender,
            late_receiver,
            collective,
        ])?;
    }
    Ok(())
}

fn calls(connection: &Connection, trace: &Trace, sites: &mut Sites<'_>) -> Result<()> {
    let mut statement = connection.prepare(
        "insert into calls (process, thread, number, function, begin, end, communicator, source, destination, root, tag,
            receive_tag, peer, sent, received, reduced, error, site)
            values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for (at, of) in trace.processes.iter().enumerate() {
        let mut of_numbers: HashMap<u32, Option<i64>> = HashMap::new();
        for (thread, calls) in of.threads.iter().enumerate() {
            for call in &calls.calls {
                let site = match of_numbers.get(&call.site) {
                    Some(known) => *known,
                    None => {
                        let number = sites.number(of.site(call))?;
                        of_numbers.insert(call.site, number);
                        number
                    }
                };
                let rank = |rank: Option<i64>| {
                    rank.map_or(Value::Null, |rank| number_or_word(of.special.rank(rank)))
                };
                let tag = |tag: Option<i64>| {
                    tag.map_or(Value::Null, |tag| number_or_word(of.special.tag(tag)))
                };
                let communicator = call.communicator.filter(|number| *number > 0);
                let [sent, received, reduced] = csv::bytes(of, thread, call).map(number);
                statement.execute(params![
                    process(at),
                    thread as i64,
                    number(call.number),
                    call.function.name(),
                    call.begin,
                    call.end,
                    communicator.map(|_| csv::communicator(of, communicator)),
                    rank(call.source),
                    rank(call.destination),
                    rank(call.root),
                    tag(call.tag),
                    tag(call.received_tag),
                    csv::peer(of, thread, call),
                    sent,
                    received,
                    reduced,
                    call.has_failed,
                    site,
                ])?;
            }
        }
    }
    Ok(())
}

fn sent(
    connection: &Connection,
    trace: &Trace,
    messages: &Messages,
    numbers: &Numbers,
) -> Result<()> {
    let mut statement = connection.prepare(
        "insert into messages (sent_in, received_in, asked_in, communicator, tag, bytes, sent_bytes)
            values (?, ?, ?, ?, ?, ?, ?)",
    )?;
    for message in &messages.matched {
        let sender = &trace.processes[message.sent.process()];
        statement.execute(params![
            numbers.number(message.sent),
            numbers.number(message.received),
            numbers.number(message.asked),
            csv::communicator(sender, message.communicator()),
            message.tag,
            number(message.bytes),
            number(message.sent_bytes),
        ])?;
    }
    Ok(())
}

/// The time between two calls that follow each other, and are in no other one.
fn segments(connection: &Connection, trace: &Trace, numbers: &Numbers) -> Result<()> {
    let mut statement = connection.prepare(
        "insert into segments (process, thread, begin, end, before, after) values (?, ?, ?, ?, ?, ?)",
    )?;
    for (at, of) in trace.processes.iter().enumerate() {
        for (thread, calls) in of.threads.iter().enumerate() {
            for two in outer_calls(&calls.calls).windows(2) {
                let [before, after] = [two[0], two[1]].map(|call| &calls.calls[call]);
                let places = [two[0], two[1]].map(|call| Place::new(at, thread, call));
                // Where calls are missing, nobody knows what was there.
                let between = after.number.wrapping_sub(before.number);
                let is_whole =
                    two[1].checked_sub(two[0]).map(|calls| calls as u64) == Some(between);
                let is_off = of.off.is_some_and(|(from, until)| {
                    from < after.begin && until.is_none_or(|until| until > before.end)
                });
                if before.end < after.begin && is_whole && !is_off {
                    let [before_number, after_number] = places.map(|place| numbers.number(place));
                    statement.execute(params![
                        process(at),
                        thread as i64,
                        before.end,
                        after.begin,
                        before_number,
                        after_number,
                    ])?;
                }
            }
        }
    }
    Ok(())
}

fn waited(connection: &Connection, waits: &[Wait], numbers: &Numbers) -> Result<()> {
    let mut statement = connection.prepare(
        "insert into waits (call, kind, process, for_process, until, time) values (?, ?, ?, ?, ?, ?)",
    )?;
    for Wait { kind, call, culprit, until, time, .. } in waits {
        statement.execute(params![
            numbers.number(*call),
            kind.name(),
            process(call.process()),
            process(*culprit),
            numbers.number(*until),
            time,
        ])?;
    }
    Ok(())
}

fn caused(
    connection: &Connection,
    causes: &Causes,
    parts: &[OfWait],
    sites: &mut Sites<'_>,
) -> Result<()> {
    let mut spot = |of: Option<SpotNumber>| -> Result<(Option<&'static str>, Option<i64>)> {
        let Some(of) = of else { return Ok((None, None)) };
        let spot = &causes.spots[of as usize];
        Ok((Some(spot.function.name()), sites.number(spot.site.as_ref())?))
    };
    let mut statement =
        connection.prepare("insert into causes values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    let mut numbers: HashMap<Activity, i64> = HashMap::new();
    for (cause, at) in causes.all.iter().zip(1_i64..) {
        let Described { kind, before, after, call, why } = cause.activity.described();
        let (before, before_site) = spot(before)?;
        let (after, after_site) = spot(after)?;
        let (function, site) = spot(call)?;
        statement.execute(params![
            at,
            kind,
            before,
            before_site,
            after,
            after_site,
            function,
            site,
            why,
            cause.time,
            cause.direct,
        ])?;
        numbers.insert(cause.activity, at);
    }
    let mut statement =
        connection.prepare("insert into wait_causes values (?, ?, ?, ?, ?, ?, ?)")?;
    for part in parts {
        statement.execute(params![
            part.wait as i64 + 1,
            numbers.get(&part.activity),
            process(part.process),
            part.via.map(process),
            part.time,
            part.longest.0,
            part.longest.1,
        ])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use mpi_facts::FunctionId::{MPI_Comm_size, MPI_Finalize, MPI_Init, MPI_Recv, MPI_Send};
    use mpi_facts::trace::Way::{Received, Sent};

    use super::super::causes::simulated::at_random;
    use super::super::read::made_up::{call, process, trace};
    use super::*;

    fn written(trace: &Trace) -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.sqlite");
        write(&path, trace, &Messages::of(trace)).unwrap();
        let connection = Connection::open(path).unwrap();
        (folder, connection)
    }

    fn texts(connection: &Connection, select: &str) -> Vec<String> {
        let mut statement = connection.prepare(select).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// Rank 0 computes from line 5 to line 6 for 800 ns, and rank 1 waits for its message for 700.
    #[test]
    fn a_wait_leads_to_the_code_that_causes_it() {
        let trace = trace(vec![
            process(
                0,
                vec![
                    call(MPI_Init, 0, 100),
                    call(MPI_Comm_size, 150, 200).in_line(5),
                    call(MPI_Send, 1000, 1010).in_line(6).with(Sent, 1, 8),
                    call(MPI_Finalize, 1100, 1110),
                ],
            ),
            process(
                1,
                vec![
                    call(MPI_Init, 0, 100),
                    call(MPI_Comm_size, 150, 200).in_line(5),
                    call(MPI_Recv, 300, 1020).in_line(7).with(Received, 0, 8),
                    call(MPI_Finalize, 1100, 1110),
                ],
            ),
        ]);
        let (_folder, connection) = written(&trace);
        let why = texts(&connection, "
            select processes.rank || ' waits in ' || calls.function || ' for ' || waits.time || ', as ' || late.rank || ' computes '
                || sum(wait_causes.time) || ' from ' || one.path || ' to ' || other.path
            from wait_causes
            join waits using (wait) join calls using (call) join causes using (cause)
            join processes on processes.process = waits.process
            join processes as late on late.process = wait_causes.process
            join sites as one on one.site = before_site join sites as other on other.site = after_site
            where causes.kind = 'computing' group by waits.wait, causes.cause");
        assert_eq!(
            why,
            ["1 waits in MPI_Recv for 700, as 0 computes 700.0 from made-up.c:5 to made-up.c:6"]
        );
        let sent = texts(&connection, "
            select one.process || ' ' || one.end || ' ' || other.process || ' ' || other.begin || ' ' || bytes || ' ' || messages.communicator
            from messages join calls as one on one.call = sent_in join calls as other on other.call = received_in");
        assert_eq!(sent, ["1 1010 2 300 8 MPI_COMM_WORLD"]);
        let segments = texts(&connection, "
            select (segments.end - segments.begin) || ' ' || before.function || ' ' || after.function from segments
            join calls as before on before.call = before join calls as after on after.call = segments.after
            where segments.process = 1 order by segments.begin");
        assert_eq!(
            segments,
            ["50 MPI_Init MPI_Comm_size", "800 MPI_Comm_size MPI_Send", "90 MPI_Send MPI_Finalize"]
        );
    }

    /// The causes of each wait add up to the wait, and all waits to the waiting time of the run: of programs made at random.
    #[test]
    fn causes_add_up_to_their_waits() {
        for seed in 0..5 {
            let trace = at_random(seed, false).0.run();
            let (_folder, connection) = written(&trace);
            for (table, id) in [("waits", "wait"), ("causes", "cause")] {
                let wrong = texts(
                    &connection,
                    &format!(
                        "
                        select '{id} ' || {id} || ': ' || {table}.time || ', ' || sum(wait_causes.time)
                        from {table} left join wait_causes using ({id}) group by {id}
                        having abs({table}.time - ifnull(sum(wait_causes.time), 0)) > 1e-6 * {table}.time"
                    ),
                );
                assert_eq!(wrong, [""; 0], "seed {seed}");
            }
            let of_run = texts(&connection, "
                select (waiting = (select sum(time) from waits)) || ' ' || (select count(*) from calls) from run");
            assert_eq!(of_run, [format!("1 {}", trace.calls().count())]);
        }
    }
}
