//! `mpi-tool top` of many ranks, whose state files the test writes: no machine for tests has so many. What is said stays short,
//! the worst comes first, and a look takes a bounded time.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use mpi_facts::FunctionId;
use mpi_facts::watch::{
    EXTENSION, MAGIC, UNKNOWN, VERSION, WORDS, group, header, kind, module, phase, site, slot,
};
use serde_json::Value;

use crate::common::{mpi_tool, text};

/// What a rank does in such a run.
pub(crate) struct Does {
    function: FunctionId,
    is_inside: bool,
    /// How many barriers it has begun on `MPI_COMM_WORLD`.
    barriers: u64,
}

/// The file of a rank of so many, 32 on a host. Whoever wants may look at it as at one of `mpi-watch`.
fn write(folder: &Path, rank: u32, size: u32, does: &Does) {
    let mut words = vec![0_u64; site::AREA + 1];
    let text = |words: &mut [u64], at: usize, text: &str| {
        for (word, bytes) in words[at..].iter_mut().zip(text.as_bytes().chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    for (at, value) in [
        (header::MAGIC, MAGIC),
        (header::VERSION, VERSION),
        (header::RANK, rank.into()),
        (header::SIZE, size.into()),
        (header::PID, (100_000 + rank).into()),
        (header::CREATED, u64::try_from(now).unwrap()),
        (header::PHASE, phase::RUNNING),
        (header::DEPTH, 1),
        (header::MODULES, 1),
        (header::SITES, 1),
        (header::LAUNCHED, UNKNOWN),
        (header::ANY_SOURCE, u64::MAX),
        (header::PROC_NULL, u64::MAX - 1),
        (header::ANY_TAG, u64::MAX),
        (header::READY, 1),
        (slot::AREA + slot::ENTERED, 10),
        (slot::AREA + slot::THREAD, (100_000 + rank).into()),
        (slot::AREA + slot::SITE, 1),
        (slot::AREA + slot::COMM, 77),
        (slot::AREA + slot::NUMBER, does.barriers),
        (group::AREA + group::KIND, kind::COMMUNICATOR),
        (group::AREA + group::HANDLE, 77),
        (group::AREA + group::IDENTITY, 1),
        (group::AREA + group::NUMBER, does.barriers),
        (group::AREA + group::OWN + group::SIZE, size.into()),
        (group::AREA + group::OWN + group::STRIDE, 1),
        (group::AREA + group::OWN + group::FORM, group::REGULAR),
        (site::AREA, 1 << site::MODULE_SHIFT | 0x1234),
    ] {
        words[at] = value;
    }
    let outside = if does.is_inside { 0 } else { slot::OUTSIDE };
    words[slot::AREA + slot::FUNCTION] = does.function as u64 | outside;
    for word in 0..group::HISTORY_WORDS {
        words[group::AREA + group::HISTORY + word] = FunctionId::MPI_Barrier as u64;
    }
    let host = format!("node{:03}", rank / 32);
    text(&mut words, header::HOST, &host);
    text(&mut words, header::PROGRAM, "/apps/solver");
    text(&mut words, header::WORLD, "job.0");
    text(&mut words, module::AREA + module::PATH, "/apps/solver");
    let file = File::create(folder.join(format!("{host}-{rank}.{EXTENSION}"))).unwrap();
    // What is not written is zeros, which take no room.
    file.set_len(8 * WORDS as u64).unwrap();
    for part in [0..group::AREA + group::LENGTH, site::AREA..site::AREA + 1] {
        let bytes: Vec<u8> =
            words[part.clone()].iter().flat_map(|word| word.to_le_bytes()).collect();
        file.write_all_at(&bytes, 8 * part.start as u64).unwrap();
    }
}

/// A run folder with so many ranks.
pub(crate) fn crowd(size: u32, does: impl Fn(u32) -> Does) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    (0..size).for_each(|rank| write(folder.path(), rank, size, &does(rank)));
    folder
}

fn top(folder: &Path, options: &[&str]) -> String {
    let outcome = mpi_tool(folder, &[&["top", text(folder), "--once"], options].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    outcome.stdout
}

fn object(folder: &Path, options: &[&str]) -> Value {
    serde_json::from_str(&top(folder, &[options, &["--json"]].concat())).unwrap()
}

/// How much of a processor's time a look takes at most, in seconds: looking takes a fifth of the time, or less.
fn look(folder: &Path) -> f64 {
    let said = object(folder, &["--window", "3s"]);
    let looks = said["looks"].as_u64().unwrap();
    assert!(looks >= 2, "{} looks", looks);
    said["seconds"].as_f64().unwrap() / (looks - 1) as f64 / 5.0
}

/// All are in a barrier but one, which has received something and works.
pub(crate) fn waits_for(late: u32) -> impl Fn(u32) -> Does {
    move |rank| match rank == late {
        true => Does { function: FunctionId::MPI_Recv, is_inside: false, barriers: 4 },
        false => Does { function: FunctionId::MPI_Barrier, is_inside: true, barriers: 5 },
    }
}

/// So many seconds of a processor's time may a look at a thousand ranks take: ten times what it takes in a build without
/// optimization on a slow machine.
const LONGEST: f64 = 1.0;

#[test]
fn of_many_ranks_the_one_is_named_that_is_waited_for() {
    for size in [1_024, 10_000] {
        let folder = crowd(size, waits_for(17));
        let said = top(folder.path(), &["--window", "1s"]);
        let lines: Vec<_> = said.lines().collect();
        let hosts = size.div_ceil(32);
        assert!(
            lines[0].starts_with(&format!("{size} ranks of {size} on {hosts} hosts, ")),
            "{said}"
        );
        let others = format!("ranks 0-16, 18-{}", size - 1);
        assert!(
            lines[1].starts_with(&format!("{others} wait 100 % of the last "))
                && lines[1].contains(
                    " for rank 17, which is outside of MPI after MPI_Recv at solver+0x1234"
                ),
            "{said}"
        );
        assert!(
            lines[2].starts_with(&format!("{others}: in one call for all of that time")),
            "{said}"
        );
        // Two lines are a table of all ranks: those that stand first.
        assert!(
            lines[4].ends_with(&format!("{others} are in MPI_Barrier at solver+0x1234")),
            "{said}"
        );
        assert!(
            lines[5].ends_with("rank 17 is outside of MPI after MPI_Recv at solver+0x1234"),
            "{said}"
        );
        assert_eq!(lines.len(), 6, "{said}");

        // Some of them only.
        let said = object(folder.path(), &["--window", "1s", "--filter", "16-18 MPI_Barrier"]);
        let world = &said["worlds"][0];
        assert_eq!((&world["size"], &world["hidden"]), (&size.into(), &(size - 2).into()));
        let ranks: Vec<_> =
            world["ranks"].as_array().unwrap().iter().map(|rank| &rank["rank"]).collect();
        assert_eq!(ranks, [16, 18]);

        let took = look(folder.path());
        println!("a look at {size} ranks takes {took:.3} s of a processor's time, or less");
        assert!(took < LONGEST * f64::from(size) / 1000.0, "{size}: {took} s");
    }
}

/// Where each rank is elsewhere, lines are cut off.
#[test]
fn the_text_does_not_grow_with_the_ranks() {
    let folder = crowd(1_024, |rank| Does {
        function: FunctionId::from_index(rank as usize % 200).unwrap(),
        is_inside: false,
        barriers: 0,
    });
    let said = top(folder.path(), &["--window", "500ms"]);
    assert_eq!(said.lines().count(), 23, "{said}");
    assert_eq!(said.lines().last(), Some("… and 180 more lines (--top 0 has all)"));
    assert!(said.lines().all(|line| line.chars().count() < 200), "{said}");
    let all = top(folder.path(), &["--window", "500ms", "--top", "0"]);
    assert_eq!(all.lines().count(), 202, "{all}");
}
